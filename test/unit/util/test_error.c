/* The error object: what callers may rely on. */
#include <string.h>

#include "unit/test.h"
#include "util/error.h"

TEST_THAT(set_fills_code_and_text_and_clears_the_place)
{
    struct sl_error err = {.line = 7, .column = 8, .field = "spec"};

    assert_int_equal(sl_error_set(&err, SL_ERR_TYPE, "found %d", 3), -1);

    assert_int_equal(err.code, SL_ERR_TYPE);
    assert_string_equal(err.message, "found 3");
    assert_int_equal(err.line, 0);
    assert_int_equal(err.column, 0);
    assert_string_equal(err.field, "");
}

TEST_THAT(wrap_puts_context_before_and_keeps_the_place)
{
    struct sl_error err;
    (void)sl_error_set(&err, SL_ERR_SYSTEM, "no such file");
    err.line = 4;

    assert_int_equal(sl_error_wrap(&err, "reading %s", "a.yaml"), -1);

    assert_string_equal(err.message, "reading a.yaml: no such file");
    assert_int_equal(err.code, SL_ERR_SYSTEM);
    assert_int_equal(err.line, 4);
}

TEST_THAT(too_long_text_is_cut_and_terminated)
{
    char text[2 * sizeof(((struct sl_error *)0)->message)];
    struct sl_error err;
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';

    (void)sl_error_set(&err, SL_ERR_LIMIT, "%s", text);
    assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
    (void)sl_error_wrap(&err, "%s", text);
    assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
}

TEST_THAT(a_null_error_is_allowed)
{
    assert_int_equal(sl_error_set(NULL, SL_ERR_LIMIT, "x"), -1);
    assert_int_equal(sl_error_wrap(NULL, "x"), -1);
    assert_int_equal(sl_error_nomem(NULL), -1);
}

TEST_THAT(every_code_has_a_name_of_its_own)
{
    for (int a = SL_ERR_NONE; a <= SL_ERR_INTERNAL; a++) {
        assert_string_not_equal(sl_error_code_name((enum sl_error_code)a), "Unknown");
        for (int b = SL_ERR_NONE; b < a; b++) {
            assert_string_not_equal(sl_error_code_name((enum sl_error_code)a),
                                    sl_error_code_name((enum sl_error_code)b));
        }
    }
    assert_string_equal(sl_error_code_name((enum sl_error_code)99), "Unknown");
}
