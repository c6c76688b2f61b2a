/* Any text as the page of an exporter. */
#include "samples.h"

#include "telemetry/scrape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_wanted(void *context, const char *name)
{
    (void)context;
    samples_check(memchr(name, '\0', SL_LABEL_TEXT_MAX) != NULL);
    return name[0] % 4 != 2;
}

static void *make(const struct sl_answer_options *options)
{
    return sl_scrape_new(options, is_wanted);
}

static void free_decoder(void *decoder)
{
    sl_scrape_free(decoder);
}

static void reset(void *decoder)
{
    sl_scrape_reset(decoder, 1700000000000000);
}

static int feed(void *decoder, const char *data, size_t len, struct sl_error *err)
{
    return sl_scrape_feed(decoder, data, len, err);
}

static int finish(void *decoder, struct sl_error *err)
{
    return sl_scrape_finish(decoder, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct samples_decoder how = {make, free_decoder, reset, feed, finish};
    samples_play(&how, data, size);
    return 0;
}
