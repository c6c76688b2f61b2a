/* Reads the configuration's file, and describes its faults. */
#include <stdio.h>

#include "config/keys.h"
#include "util/process/file.h"

int sl_config_load(const char *path, struct sl_config *config, struct sl_config_warnings *warnings,
                   struct sl_error *err)
{
    struct sl_buf text;
    sl_buf_init(&text, SL_CONFIG_FILE_MAX + 1);
    int rc = sl_file_load(path, &text, err);
    if (rc == 0) {
        rc = sl_config_parse(path, text.data, text.len, config, warnings, err);
    }
    sl_buf_free(&text);
    return rc;
}

void sl_config_describe(const char *name, const struct sl_error *err, char *out, size_t size)
{
    char place[32] = "";
    if (err->line != 0) {
        (void)snprintf(place, sizeof(place), ":%u:%u", err->line, err->column);
    }
    (void)snprintf(out, size, "%s%s: %s%s%s", name, place, err->field,
                   err->field[0] == '\0' ? "" : ": ", err->message);
}
