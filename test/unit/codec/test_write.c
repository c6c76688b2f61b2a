/* The JSON writer: its text to the byte, and that any text it writes is read back equal. */
#include "codec/stream/json.h"
#include "codec/write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit/test.h"

static struct sl_buf buf;
static struct sl_writer w;

static int setup(void **state)
{
    (void)state;
    sl_buf_init(&buf, 1 << 20);
    w = (struct sl_writer){.buf = &buf};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sl_buf_free(&buf);
    return 0;
}

static void assert_written(const char *expected)
{
    assert_int_equal(buf.failed, SL_BUF_OK);
    assert_int_equal(buf.len, strlen(expected));
    assert_memory_equal(buf.data, expected, buf.len);
}

TEST_FIXTURE(setup, teardown)

TEST_THAT(puts_commas_and_colons)
{
    sl_write_object(&w);
    sl_write_key(&w, "a");
    sl_write_array(&w);
    sl_write_i64(&w, 1);
    sl_write_bool(&w, true);
    sl_write_bool(&w, false);
    sl_write_null(&w);
    sl_write_array(&w);
    sl_write_array_end(&w);
    sl_write_object(&w);
    sl_write_object_end(&w);
    sl_write_text(&w, "x");
    sl_write_text(&w, NULL);
    sl_write_array_end(&w);
    sl_write_key_str(&w, SL_STR("b\n"));
    sl_write_object(&w);
    sl_write_key(&w, "c");
    sl_write_double(&w, 0.5);
    sl_write_object_end(&w);
    sl_write_key(&w, "d");
    sl_write_str(&w, (struct sl_str){0});
    sl_write_object_end(&w);
    assert_written("{\"a\":[1,true,false,null,[],{},\"x\",null],\"b\\n\":{\"c\":0.5},\"d\":\"\"}");
}

TEST_THAT(writes_the_extremes_of_integers)
{
    sl_write_array(&w);
    sl_write_i64(&w, INT64_MIN);
    sl_write_i64(&w, 0);
    sl_write_i64(&w, INT64_MAX);
    sl_write_array_end(&w);
    assert_written("[-9223372036854775808,0,9223372036854775807]");
}

TEST_THAT(escapes_what_must_be_and_nothing_else)
{
    sl_write_str(&w,
                 SL_STR("\"\\/\b\f\n\r\t\x01\x1f\x7f \xc3\xa4\xe2\x80\xa8\xf0\x9f\x98\x80<>&'"));
    assert_written("\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f "
                   "\xc3\xa4\\u2028\xf0\x9f\x98\x80<>&'\"");
}

/* A terminal must not obey what a label holds. */
TEST_THAT(escapes_what_must_not_be_shown)
{
    sl_write_str(&w, SL_STR("\xc2\x9b\xe2\x80\xae\xf3\xa0\x80\x81"));
    assert_written("\"\\u009b\\u202e\\udb40\\udc01\"");
}

TEST_THAT(writes_a_nul_as_an_escape)
{
    sl_write_str(&w, SL_STR("a\0b"));
    assert_written("\"a\\u0000b\"");
}

TEST_THAT(replaces_bytes_that_are_no_utf8)
{
    sl_write_str(&w, SL_STR("a\xff"
                            "b\xc3"));
    assert_written("\"a\xef\xbf\xbd"
                   "b\xef\xbf\xbd\"");
}

TEST_THAT(writes_doubles_short_and_exact)
{
    sl_write_array(&w);
    sl_write_double(&w, 0.1);
    sl_write_double(&w, 1.0 / 3.0);
    sl_write_double(&w, -2.0);
    sl_write_double(&w, 1e22);
    sl_write_double(&w, 0.0);
    sl_write_double(&w, 5e-324);
    sl_write_double(&w, NAN);
    sl_write_double(&w, -INFINITY);
    sl_write_array_end(&w);
    assert_written("[0.1,0.3333333333333333,-2,1e+22,0,5e-324,null,null]");
}

TEST_THAT(reads_back_equal_for_random_doubles)
{
    uint64_t bits = 1;
    for (int i = 0; i < 2000; i++) {
        double value;
        bits = bits * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        memcpy(&value, &bits, sizeof(value));
        buf.len = 0;
        w.comma = false;
        sl_write_double(&w, value);
        sl_buf_putc(&buf, '\0');
        if (isfinite(value)) {
            assert_true(strtod(buf.data, NULL) == value);
        } else {
            assert_string_equal(buf.data, "null");
        }
    }
}

static int compare(void *context, const struct sl_event *event, struct sl_error *err)
{
    const struct sl_str *expected = context;
    if (event->type != SL_EVENT_DOCUMENT_END &&
        (event->type != SL_EVENT_STRING || !sl_str_eq(event->text, *expected))) {
        return sl_error_set(err, SL_ERR_INTERNAL, "differs");
    }
    return 0;
}

/* Of every length around the scanner's steps, with an escape at every place. */
TEST_THAT(reads_back_equal_whatever_is_escaped_where)
{
    const struct sl_text_limits limits = {.max_bytes = 9999, .max_string = 999, .max_depth = 1};
    static const char *const specials[] = {"\"", "\x01", "\n", "\xc3\xa4", "\xf0\x9f\x98\x80", ""};
    for (size_t i = 0; i < (size_t)6 * 70 * 70; i++) {
        const char *special = specials[i % 6];
        size_t before = i / 6 % 70;
        size_t after = i / 420;
        char text[200];
        int n = snprintf(text, sizeof(text), "%.*s%s%.*s", (int)before,
                         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                         special, (int)after,
                         "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb");
        struct sl_str expected = {text, (size_t)n};
        struct sl_error err = {0};
        buf.len = 0;
        w.comma = false;
        sl_write_str(&w, expected);
        struct sl_json *json = sl_json_new(&limits, compare, &expected);
        assert_int_equal(sl_json_feed(json, buf.data, buf.len, &err), 0);
        assert_int_equal(sl_json_finish(json, &err), 0);
        sl_json_free(json);
    }
}

TEST_THAT(stops_at_the_maximum_and_says_so)
{
    for (size_t max = 0; max < 20; max++) {
        sl_buf_free(&buf);
        sl_buf_init(&buf, max);
        w = (struct sl_writer){.buf = &buf};
        sl_write_object(&w);
        sl_write_key(&w, "key");
        sl_write_str(&w, SL_STR("a\nvalue\x01"));
        sl_write_key(&w, "b");
        sl_write_i64(&w, 12345678);
        sl_write_object_end(&w);
        assert_int_equal(buf.failed, SL_BUF_FULL);
        assert_true(buf.len <= max);
    }
}
