/* Sentences: what fits of them, and where they are cut. */
#include <stdio.h>
#include <string.h>

#include "core/request/text.h"
#include "unit/test.h"

TEST_THAT(text_is_cut_where_it_is_full_and_stays_so)
{
    for (size_t size = 1; size <= 12; size++) {
        struct sl_text text;
        char out[16];
        memset(out, '?', sizeof(out));
        sl_text_init(&text, out, size);
        assert_string_equal(out, "");
        sl_text_puts(&text, "");
        sl_text_puts(&text, "abc");
        sl_text_i64(&text, -45);
        sl_text_puts(&text, "xyz");
        sl_text_puts(&text, "");
        char expected[16];
        (void)snprintf(expected, size, "abc-45xyz");
        assert_string_equal(out, expected);
        assert_int_equal(text.len, strlen(expected));
        assert_int_equal(text.cut, size <= 9);
        assert_int_equal(out[size], '?');
        sl_text_puts(&text, "!");
        assert_int_equal(strchr(out, '!') != NULL, size > 10);
    }
}

TEST_THAT(text_of_no_size_is_cut_at_once)
{
    struct sl_text text;
    char out = '?';
    sl_text_init(&text, &out, 0);
    sl_text_puts(&text, "abc");
    assert_true(text.cut);
    assert_int_equal(text.len, 0);
    assert_int_equal(out, '?');
}

TEST_THAT(no_character_is_cut_in_pieces)
{
    static const struct {
        size_t size;
        const char *expected;
    } rows[] = {
        {2, "a"}, {3, "a"}, {4, "a\xc3\xa9"}, {7, "a\xc3\xa9"}, {8, "a\xc3\xa9\xf0\x9f\x98\x80"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sl_text text;
        char out[16];
        sl_text_init(&text, out, rows[i].size);
        sl_text_puts(&text, "a\xc3\xa9\xf0\x9f\x98\x80");
        assert_string_equal(out, rows[i].expected);
    }
}

/* What users wrote is escaped, and an escape is there whole or not at all. */
TEST_THAT(shown_text_ends_before_what_does_not_fit)
{
    char whole[64];
    struct sl_text all;
    sl_text_init(&all, whole, sizeof(whole));
    sl_text_puts(&all, "12");
    sl_text_shown(&all, SL_STR("ab\ncd\x1b"));
    assert_false(all.cut);
    for (size_t size = 3; size <= all.len + 1; size++) {
        struct sl_text text;
        char out[64];
        sl_text_init(&text, out, size);
        sl_text_puts(&text, "12");
        sl_text_shown(&text, SL_STR("ab\ncd\x1b"));
        assert_memory_equal(out, whole, text.len);
        assert_int_equal(text.cut, size < all.len + 1);
        assert_true(text.len < size && text.len + 6 >= size); /* but for one escape */
        sl_text_puts(&text, "34");
        assert_null(strstr(out, "34"));
    }
}

TEST_THAT(numbers_are_written_up_to_the_largest)
{
    static const int64_t values[] = {0, 7, -1, 10, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        struct sl_text text;
        char out[32];
        char expected[32];
        sl_text_init(&text, out, sizeof(out));
        sl_text_i64(&text, values[i]);
        (void)snprintf(expected, sizeof(expected), "%lld", (long long)values[i]);
        assert_string_equal(out, expected);
    }
}

TEST_THAT(quotes_hold_the_beginning_of_a_long_text)
{
    char long_text[SL_TEXT_QUOTED_MAX + 1];
    memset(long_text, 'x', sizeof(long_text));
    for (size_t len = SL_TEXT_QUOTED_MAX - 1; len <= sizeof(long_text); len++) {
        struct sl_text text;
        char out[128];
        sl_text_init(&text, out, sizeof(out));
        sl_text_quoted(&text, (struct sl_str){long_text, len});
        bool cut = len > SL_TEXT_QUOTED_MAX;
        assert_int_equal(text.len, cut ? SL_TEXT_QUOTED_MAX + 5 : len + 2);
        assert_string_equal(out + text.len - 4, cut ? "...\"" : "xxx\"");
    }
}

TEST_THAT(sentences_are_parted)
{
    struct sl_text text;
    char out[32];
    sl_text_init(&text, out, sizeof(out));
    sl_text_next(&text, "a");
    sl_text_next(&text, "b");
    assert_string_equal(out, "a; b");
}
