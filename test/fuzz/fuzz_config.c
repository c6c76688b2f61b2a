/* Any bytes as a configuration: an error has a text and changes nothing, and what is accepted is
 * printed and read back to the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* Padding too: nothing at all was written. */
static bool same_bytes(const void *a, const void *b, size_t n)
{
    return memcmp(a, b, n) == 0;
}

static void check_printed(const struct sl_config *config)
{
    struct sl_buf first;
    struct sl_buf second;
    struct sl_config again;
    struct sl_error err = {0};
    sl_buf_init(&first, 65536);
    sl_buf_init(&second, 65536);
    sl_config_print(config, &first);
    check(first.failed == SL_BUF_OK);
    check(sl_config_parse("printed", first.data, first.len, &again, NULL, &err) == 0);
    check(sl_config_keep(config, &again, NULL, 0) == 0);
    sl_config_print(&again, &second);
    check(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
    sl_buf_free(&first);
    sl_buf_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sl_config config;
    struct sl_config before;
    struct sl_error err = {0};
    memset(&config, 0x5a, sizeof(config));
    memset(&before, 0x5a, sizeof(before));
    if (sl_config_parse("fuzz", (const char *)data, size, &config, NULL, &err) == 0) {
        check(err.code == SL_ERR_NONE);
        check_printed(&config);
        return 0;
    }
    char text[1024];
    check(err.code != SL_ERR_NONE && err.message[0] != '\0');
    check(same_bytes(&config, &before, sizeof(config)));
    sl_config_describe("fuzz", &err, text, sizeof(text));
    check(strncmp(text, "fuzz:", 5) == 0);
    return 0;
}
