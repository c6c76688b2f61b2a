/* Files and base64. */
#include "kube/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int read_all(int file, size_t max, struct sl_arena *arena, struct sl_str *out,
                    struct sl_error *err)
{
    char *data = sl_arena_alloc(arena, max + 1);
    size_t len = 0;
    if (data == NULL) {
        return sl_error_nomem(err);
    }
    for (;;) {
        ssize_t n = read(file, data + len, max + 1 - len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return sl_error_set(err, SL_ERR_SYSTEM, "%s", strerror(errno));
        }
        if (n == 0) {
            break;
        }
        len += (size_t)n;
        if (len > max) {
            return sl_error_set(err, SL_ERR_LIMIT, "longer than %zu bytes", max);
        }
    }
    data[len] = '\0';
    *out = (struct sl_str){data, len};
    return 0;
}

int sl_file_read(const char *path, size_t max, struct sl_arena *arena, struct sl_str *out,
                 struct sl_error *err)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return sl_error_set(err, SL_ERR_SYSTEM, "%s: %s", path, strerror(errno));
    }
    int result = read_all(file, max, arena, out, err);
    (void)close(file);
    return result < 0 ? sl_error_wrap(err, "%s", path) : 0;
}

static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

int sl_base64_decode(struct sl_str text, struct sl_arena *arena, struct sl_str *out,
                     struct sl_error *err)
{
    char *data = sl_arena_alloc(arena, text.len / 4 * 3 + 4);
    size_t len = 0;
    uint32_t bits = 0;
    unsigned digits = 0;
    unsigned padding = 0;
    if (data == NULL) {
        return sl_error_nomem(err);
    }
    for (size_t i = 0; i < text.len; i++) {
        char c = text.s[i];
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
            continue;
        }
        int digit = c == '=' ? 0 : digit_of(c);
        padding += c == '=';
        if (digit < 0 || (c != '=' && padding > 0) || padding > 2) {
            return sl_error_set(err, SL_ERR_SYNTAX, "not base64 at byte %zu", i);
        }
        bits = bits << 6 | (uint32_t)digit;
        digits++;
        if (digits % 4 == 0) {
            data[len++] = (char)(bits >> 16 & 0xff);
            data[len++] = (char)(bits >> 8 & 0xff);
            data[len++] = (char)(bits & 0xff);
        }
    }
    if (digits % 4 != 0) {
        return sl_error_set(err, SL_ERR_SYNTAX, "base64 text is cut short");
    }
    *out = (struct sl_str){data, len - padding};
    data[out->len] = '\0';
    return 0;
}
