/* Reads the configuration's file, and describes its faults. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/keys.h"

/* Reads one byte more than the maximum, to tell a longer file from one of just that size. */
static int read_file(const char *path, char *text, size_t *len, struct sl_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return sl_error_set(err, SL_ERR_SYSTEM, "cannot open: %s", strerror(errno));
    }
    *len = 0;
    ssize_t n = 1;
    while (n > 0 && *len <= SL_CONFIG_FILE_MAX) {
        n = read(fd, text + *len, SL_CONFIG_FILE_MAX + 1 - *len);
        if (n < 0 && errno == EINTR) {
            n = 1;
            continue;
        }
        *len += n > 0 ? (size_t)n : 0;
    }
    int problem = errno;
    (void)close(fd);
    if (n < 0) {
        return sl_error_set(err, SL_ERR_SYSTEM, "cannot read: %s", strerror(problem));
    }
    return 0;
}

int sl_config_load(const char *path, struct sl_config *config, struct sl_config_warnings *warnings,
                   struct sl_error *err)
{
    size_t len = 0;
    char *text = malloc(SL_CONFIG_FILE_MAX + 1);
    if (text == NULL) {
        return sl_error_nomem(err);
    }
    int rc = read_file(path, text, &len, err);
    if (rc == 0) {
        rc = sl_config_parse(path, text, len, config, warnings, err);
    }
    free(text);
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
