/* Pieces of borrowed text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "util/str.h"

static void text_is_cut_at_a_separator(void **state)
{
    struct sl_str rest = SL_STR("a,,b");
    (void)state;
    assert_true(sl_str_eq(sl_str_cut(&rest, ','), SL_STR("a")));
    assert_true(sl_str_eq(sl_str_cut(&rest, ','), SL_STR("")));
    assert_non_null(rest.s);
    assert_true(sl_str_eq(sl_str_cut(&rest, ','), SL_STR("b")));
    assert_null(rest.s);
    assert_int_equal(sl_str_cut(&rest, ',').len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_cut_at_a_separator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
