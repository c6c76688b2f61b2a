/* Any text as an answer of Prometheus. */
#include "samples.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void *make(const struct sl_answer_options *options)
{
    return sl_answer_new(options);
}

static void free_decoder(void *decoder)
{
    sl_answer_free(decoder);
}

static void reset(void *decoder)
{
    sl_answer_reset(decoder);
}

static int feed(void *decoder, const char *data, size_t len, struct sl_error *err)
{
    return sl_answer_feed(decoder, data, len, err);
}

static int finish(void *decoder, struct sl_error *err)
{
    return sl_answer_finish(decoder, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct samples_decoder how = {make, free_decoder, reset, feed, finish};
    samples_play(&how, data, size);
    return 0;
}
