/* The tokenizer side by side with another parser, jansson: on random texts, whole and damaged, both
 * accept or both refuse, and what was reported, written down again, is the same value. */
#include "codec/write.h"

#include "unit/codec/stream/json_cases.h"

#include <jansson.h>
#include <stdlib.h>

#include "unit/test.h"

/* ---- events to text again ---- */

static int rewrite(void *context, const struct sl_event *event, struct sl_error *err)
{
    (void)err;
    struct sl_writer *w = context;
    switch (event->type) {
    case SL_EVENT_OBJECT:
        sl_write_object(w);
        break;
    case SL_EVENT_OBJECT_END:
        sl_write_object_end(w);
        break;
    case SL_EVENT_ARRAY:
        sl_write_array(w);
        return SL_EVENT_RUNS;
    case SL_EVENT_ARRAY_END:
        sl_write_array_end(w);
        break;
    case SL_EVENT_KEY:
        sl_write_key_str(w, event->text);
        break;
    case SL_EVENT_STRING:
        sl_write_str(w, event->text);
        break;
    case SL_EVENT_NUMBER:
        if (w->comma) {
            sl_buf_putc(w->buf, ',');
        }
        sl_buf_append(w->buf, event->text.s, event->text.len);
        w->comma = true;
        break;
    case SL_EVENT_BOOL:
        sl_write_bool(w, event->boolean);
        break;
    case SL_EVENT_NULL:
        sl_write_null(w);
        break;
    case SL_EVENT_STRINGS:
        for (size_t i = 0; i < event->run.n; i++) {
            sl_write_str(w, event->run.item[i]);
        }
        break;
    case SL_EVENT_DOCUMENT_END:
        break;
    }
    return SL_EVENT_GO;
}

/* ---- random texts ---- */

static uint64_t seed = 20261121;

static unsigned draw(unsigned below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(seed >> 33) % below;
}

static const char *pick(const char *const *from, unsigned n)
{
    return from[draw(n)];
}

static void random_string(struct sl_buf *buf)
{
    static const char *const parts[] = {"a",
                                        "name-of-a-node-",
                                        "\\n",
                                        "\\\"",
                                        "\\u00e4",
                                        "\\ud83d\\ude00",
                                        "\xc3\xa4",
                                        "\xe2\x82\xac",
                                        "\xf0\x9f\x98\x80",
                                        " ",
                                        "\\/",
                                        "\\u0000",
                                        "nvidia.com/gpu.product",
                                        "{",
                                        "]",
                                        "\\\\"};
    sl_buf_putc(buf, '"');
    for (unsigned n = draw(4); n > 0; n--) {
        sl_buf_puts(buf, pick(parts, sizeof(parts) / sizeof(parts[0])));
    }
    sl_buf_putc(buf, '"');
}

static void random_value(struct sl_buf *buf, unsigned depth)
{
    static const char *const scalars[] = {"0",    "-1",   "12345678", "1.5", "-0.25e-3",
                                          "1E+2", "true", "false",    "null"};
    static const char *const spaces[] = {"", "", "", " ", "\n  ", "\t\r\n"};
    unsigned kind = draw(depth > 4 ? 2 : 5);
    sl_buf_puts(buf, pick(spaces, 6));
    if (kind == 0) {
        sl_buf_puts(buf, pick(scalars, sizeof(scalars) / sizeof(scalars[0])));
    } else if (kind == 1) {
        random_string(buf);
    } else {
        bool object = kind != 2;
        sl_buf_putc(buf, object ? '{' : '[');
        for (unsigned i = 0, n = draw(5); i < n; i++) {
            sl_buf_puts(buf, i == 0 ? "" : ",");
            if (object) {
                random_string(buf);
                sl_buf_putc(buf, ':');
            }
            random_value(buf, depth + 1);
        }
        sl_buf_puts(buf, pick(spaces, 6));
        sl_buf_putc(buf, object ? '}' : ']');
    }
    sl_buf_puts(buf, pick(spaces, 6));
}

static void mutate(struct sl_buf *buf)
{
    static const char bytes[] =
        "{}[]\",:\\0123456789eE+-.truefalsn u\n\x01\x7f\x80\xc3\xa4\xe2\xf0\xff";
    for (unsigned n = draw(3); n > 0 && buf->len > 1; n--) {
        size_t at = draw((unsigned)buf->len);
        size_t len = 1 + draw(buf->len - at < 8 ? (unsigned)(buf->len - at) : 8);
        switch (draw(4)) {
        case 0: /* another byte */
            buf->data[at] = bytes[draw(sizeof(bytes) - 1)];
            break;
        case 1: /* a piece less */
            memmove(buf->data + at, buf->data + at + len, buf->len - at - len);
            buf->len -= len;
            break;
        case 2: /* a piece twice */
            sl_buf_append(buf, "        ", len);
            memmove(buf->data + at + len, buf->data + at, buf->len - at - len);
            break;
        default: /* the end gone */
            buf->len = at;
        }
    }
}

/* ---- side by side ---- */

/* What jansson refuses though it is JSON: numbers beyond its types, a NUL in a key. */
static bool is_known_difference(const json_error_t *error)
{
    enum json_error_code code = json_error_code(error);
    return code == json_error_numeric_overflow || code == json_error_null_byte_in_key;
}

static void assert_agrees_with_jansson(struct sl_str text)
{
    if (text.len > 0 && memchr(text.s, '\0', text.len) != NULL) {
        return; /* jansson 2.14 passes over a raw NUL between tokens */
    }
    struct sl_buf buf;
    json_error_t error;
    struct sl_error err = {0};
    sl_buf_init(&buf, 1 << 20);
    struct sl_writer w = {.buf = &buf};
    const size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL;
    json_t *expected = json_loadb(text.s, text.len, flags, &error);
    int rc = read_text(text, 1 + draw((unsigned)text.len + 1), rewrite, &w, &err);
    if (expected == NULL && is_known_difference(&error)) {
        sl_buf_free(&buf);
        return;
    }
    if ((expected != NULL) != (rc == 0)) {
        fail_msg("%.*s: we say \"%s\" (%u:%u), jansson says \"%s\"", (int)text.len, text.s,
                 err.message, err.line, err.column, error.text);
    }
    if (rc == 0) { /* duplicate keys: the last one wins in both */
        assert_int_equal(buf.failed, SL_BUF_OK);
        json_t *ours = json_loadb(buf.data, buf.len, flags, &error);
        assert_non_null(ours);
        assert_true(json_equal(ours, expected));
        json_decref(ours);
    }
    json_decref(expected);
    sl_buf_free(&buf);
}

TEST_THAT(agrees_with_another_parser_on_random_texts)
{
    for (int round = 0; round < 20000; round++) {
        struct sl_buf buf;
        sl_buf_init(&buf, 1 << 20);
        random_value(&buf, 0);
        if (round % 4 != 0) {
            mutate(&buf);
        }
        assert_agrees_with_jansson((struct sl_str){buf.data, buf.len});
        sl_buf_free(&buf);
    }
}

TEST_THAT(agrees_with_another_parser_on_the_cases)
{
    for (size_t i = 0; i < JSON_ACCEPTED; i++) {
        assert_agrees_with_jansson(json_accepted[i]);
    }
    for (size_t i = 0; i < JSON_REFUSED; i++) {
        assert_agrees_with_jansson(json_refused[i]);
    }
}
