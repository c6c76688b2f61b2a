/* Which characters are shown, and how the others are. */
#include "util/show.h"

#include "util/error.h"

#include "unit/test.h"

static void assert_shown(const char *text, size_t len, const char *expected)
{
    char out[256];
    size_t n = sl_show((struct sl_str){text, len}, out, sizeof(out));
    assert_string_equal(out, expected);
    assert_int_equal(n, strlen(expected));
}

#define ASSERT_SHOWN(text, expected) assert_shown(text, sizeof(text) - 1, expected)

TEST_THAT(what_people_write_is_shown_as_it_is)
{
    ASSERT_SHOWN("", "");
    ASSERT_SHOWN("a b~\"\\'", "a b~\"\\'");
    ASSERT_SHOWN("Gr\xc3\xbc\xc3\x9f\xe2\x82\xac \xf0\x9f\x8e\x89",
                 "Gr\xc3\xbc\xc3\x9f\xe2\x82\xac \xf0\x9f\x8e\x89");
}

TEST_THAT(what_a_terminal_would_obey_or_hide_is_escaped)
{
    ASSERT_SHOWN("\x1b[2J\r\n\t\x7f\0x", "\\u001b[2J\\u000d\\u000a\\u0009\\u007f\\u0000x");
    ASSERT_SHOWN("\xc2\x9b"
                 "31m",
                 "\\u009b31m");                                 /* C1: CSI */
    ASSERT_SHOWN("\xe2\x80\xae\xe2\x81\xa6", "\\u202e\\u2066"); /* bidi */
    ASSERT_SHOWN("a\xe2\x80\x8b\xef\xbb\xbf\xc2\xad", "a\\u200b\\ufeff\\u00ad");
    ASSERT_SHOWN("\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029");
    ASSERT_SHOWN("\xf3\xa0\x81\x81", "\\udb40\\udc41"); /* a tag */
}

TEST_THAT(what_is_no_utf8_is_replaced_byte_by_byte)
{
    ASSERT_SHOWN("\xff\xc3", "\xef\xbf\xbd\xef\xbf\xbd");
    ASSERT_SHOWN("\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"); /* overlong */
    ASSERT_SHOWN("\xed\xa0\x80"
                 "b",
                 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
                 "b"); /* a surrogate */
    ASSERT_SHOWN("\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST_THAT(nothing_is_cut_in_its_middle)
{
    char out[9];
    assert_int_equal(sl_show(SL_STR("abc\x1b"), out, sizeof(out)), 3);
    assert_string_equal(out, "abc");
    assert_int_equal(sl_show(SL_STR("ab\x1b"), out, sizeof(out)), 8);
    assert_string_equal(out, "ab\\u001b");
    assert_int_equal(sl_show(SL_STR("abcdef\xe2\x82\xac"), out, sizeof(out)), 6);
}

/* Their messages reach logs, Events and answers. */
TEST_THAT(errors_show_what_they_quote)
{
    struct sl_error err = {0};
    char text[600];
    (void)sl_error_set(&err, SL_ERR_FIELD, "\"%s\" is odd", "\x1b]0;x\a");
    assert_string_equal(err.message, "\"\\u001b]0;x\\u0007\" is odd");
    memset(text, 'x', sizeof(text));
    memcpy(text + sizeof(err.message) - 3, "\xe2\x82\xac", 3);
    text[sizeof(text) - 1] = '\0';
    (void)sl_error_set(&err, SL_ERR_FIELD, "%s", text);
    assert_int_equal(strlen(err.message), sizeof(err.message) - 3);
}
