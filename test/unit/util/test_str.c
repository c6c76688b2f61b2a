/* Pieces of borrowed text. */
#include "unit/test.h"
#include "util/str.h"

TEST_THAT(a_pattern_is_the_text_or_how_it_begins)
{
    assert_true(sl_str_like(SL_STR("team-a"), "team-a"));
    assert_false(sl_str_like(SL_STR("team-a"), "team-"));
    assert_false(sl_str_like(SL_STR("team"), "team-*"));
    assert_true(sl_str_like(SL_STR("team-a"), "team-*"));
    assert_true(sl_str_like(SL_STR("team-"), "team-*"));
    assert_true(sl_str_like(SL_STR(""), "*"));
}

TEST_THAT(text_is_cut_at_a_separator)
{
    struct sl_str rest = SL_STR("a,,b");
    assert_true(sl_str_eq(sl_str_cut(&rest, ','), SL_STR("a")));
    assert_true(sl_str_eq(sl_str_cut(&rest, ','), SL_STR("")));
    assert_non_null(rest.s);
    assert_true(sl_str_eq(sl_str_cut(&rest, ','), SL_STR("b")));
    assert_null(rest.s);
    assert_int_equal(sl_str_cut(&rest, ',').len, 0);
}
