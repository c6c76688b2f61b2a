/* Bounded buffer with a sticky failure. */
#include "util/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void sl_buf_init(struct sl_buf *buf, size_t max)
{
    *buf = (struct sl_buf){.max = max};
}

void sl_buf_free(struct sl_buf *buf)
{
    free(buf->data);
    *buf = (struct sl_buf){.max = buf->max};
}

bool sl_buf_reserve(struct sl_buf *buf, size_t extra)
{
    if (buf->failed != SL_BUF_OK) {
        return false;
    }
    if (extra <= buf->cap - buf->len) {
        return true;
    }
    if (extra > buf->max || buf->len > buf->max - extra) {
        buf->failed = SL_BUF_FULL;
        return false;
    }
    size_t need = buf->len + extra;
    size_t cap = buf->cap < 256 ? 256 : buf->cap * 2;
    if (cap < need) {
        cap = need;
    }
    if (cap > buf->max) {
        cap = buf->max;
    }
    char *data = realloc(buf->data, cap);
    if (data == NULL) {
        buf->failed = SL_BUF_NOMEM;
        return false;
    }
    buf->data = data;
    buf->cap = cap;
    return true;
}

void sl_buf_append(struct sl_buf *buf, const char *data, size_t len)
{
    if (len > 0 && sl_buf_reserve(buf, len)) {
        memcpy(buf->data + buf->len, data, len);
        buf->len += len;
    }
}

void sl_buf_puts(struct sl_buf *buf, const char *text)
{
    sl_buf_append(buf, text, strlen(text));
}

void sl_buf_putc(struct sl_buf *buf, char c)
{
    sl_buf_append(buf, &c, 1);
}

void sl_buf_i64(struct sl_buf *buf, int64_t value)
{
    char digits[20];
    size_t at = sizeof(digits);
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0) {
        sl_buf_putc(buf, '-');
    }
    sl_buf_append(buf, digits + at, sizeof(digits) - at);
}

void sl_buf_printf(struct sl_buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int need = vsnprintf(NULL, 0, format, args);
    va_end(args);
    /* one byte more than is kept, for the NUL that vsnprintf writes */
    if (need < 0 || !sl_buf_reserve(buf, (size_t)need + 1)) {
        return;
    }
    va_start(args, format);
    (void)vsnprintf(buf->data + buf->len, (size_t)need + 1, format, args);
    va_end(args);
    buf->len += (size_t)need;
}

char *sl_buf_steal(struct sl_buf *buf, size_t *len)
{
    char *data = buf->data;
    *len = buf->len;
    *buf = (struct sl_buf){.max = buf->max};
    return data;
}
