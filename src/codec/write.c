/* JSON writer. Text that needs no escape, as nearly all does, costs one scan and one copy. */
#include "codec/write.h"

#include "codec/stream/json_scan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/show.h"

/* The comma that is due, if any. */
static void value_separate(struct sl_writer *w)
{
    if (w->comma) {
        sl_buf_putc(w->buf, ',');
    }
}

static void put_raw(struct sl_writer *w, const char *text, size_t len)
{
    value_separate(w);
    sl_buf_append(w->buf, text, len);
    w->comma = true;
}

void sl_write_object(struct sl_writer *w)
{
    put_raw(w, "{", 1);
    w->comma = false;
}

void sl_write_object_end(struct sl_writer *w)
{
    sl_buf_putc(w->buf, '}');
    w->comma = true;
}

void sl_write_array(struct sl_writer *w)
{
    put_raw(w, "[", 1);
    w->comma = false;
}

void sl_write_array_end(struct sl_writer *w)
{
    sl_buf_putc(w->buf, ']');
    w->comma = true;
}

/* One character that is no plain text, at p; returns past it. */
static const char *put_special(struct sl_buf *buf, const char *p, const char *end)
{
    static const char letters[0x20] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r',
    };
    unsigned char c = (unsigned char)*p;
    if (c >= 0x80) { /* JSON is read on terminals too */
        char shown[SL_SHOWN_MAX];
        struct sl_str rest = {p, (size_t)(end - p)};
        sl_buf_append(buf, shown, sl_show_next(&rest, shown));
        return rest.s;
    }
    char letter = c < 0x20 ? letters[c] : (char)c;
    if (letter != '\0') {
        const char pair[2] = {'\\', letter};
        sl_buf_append(buf, pair, sizeof(pair));
    } else {
        static const char hex[] = "0123456789abcdef";
        const char code[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 0xf]};
        sl_buf_append(buf, code, sizeof(code));
    }
    return p + 1;
}

/* The text in quotes, with tail behind it: the closing quote, and the colon of a key. */
static void put_quoted(struct sl_writer *w, struct sl_str text, struct sl_str tail)
{
    struct sl_buf *buf = w->buf;
    const char *p = text.len == 0 ? "" : text.s;
    const char *end = p + text.len;
    if (!sl_buf_reserve(buf, (w->comma ? 1U : 0U) + 1 + text.len + tail.len)) {
        return;
    }
    char *out = buf->data + buf->len;
    if (w->comma) {
        *out++ = ',';
    }
    *out++ = '"';
    const char *special = sl_scan_plain(p, end);
    size_t plain = (size_t)(special - p);
    memcpy(out, p, plain);
    buf->len = (size_t)(out - buf->data) + plain;
    for (p = special; p < end; p = special) {
        p = put_special(buf, p, end);
        special = sl_scan_plain(p, end);
        sl_buf_append(buf, p, (size_t)(special - p));
    }
    sl_buf_append(buf, tail.s, tail.len);
}

void sl_write_key(struct sl_writer *w, const char *key)
{
    sl_write_key_str(w, sl_str_of(key));
}

void sl_write_key_str(struct sl_writer *w, struct sl_str key)
{
    put_quoted(w, key, SL_STR("\":"));
    w->comma = false;
}

void sl_write_str(struct sl_writer *w, struct sl_str value)
{
    put_quoted(w, value, SL_STR("\""));
    w->comma = true;
}

void sl_write_text(struct sl_writer *w, const char *value)
{
    if (value == NULL) {
        sl_write_null(w);
    } else {
        sl_write_str(w, sl_str_of(value));
    }
}

void sl_write_i64(struct sl_writer *w, int64_t value)
{
    value_separate(w);
    sl_buf_i64(w->buf, value);
    w->comma = true;
}

void sl_write_known(struct sl_writer *w, int64_t value)
{
    if (value < 0) {
        sl_write_null(w);
    } else {
        sl_write_i64(w, value);
    }
}

void sl_write_double(struct sl_writer *w, double value)
{
    char text[32];
    int len = 0;
    if (!isfinite(value)) { /* JSON has no word for it */
        sl_write_null(w);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        len = snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    put_raw(w, text, (size_t)len);
}

void sl_write_bool(struct sl_writer *w, bool value)
{
    put_raw(w, value ? "true" : "false", value ? 4 : 5);
}

void sl_write_null(struct sl_writer *w)
{
    put_raw(w, "null", 4);
}
