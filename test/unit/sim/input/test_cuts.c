/* Cuts by counts: their text, and all that leave no room. */
#include <stdio.h>

#include "sim/input/cuts.h"
#include "unit/test.h"

static const struct sl_mig_model *a100(void)
{
    return sl_model_named(SL_STR("A100-SXM4-40GB"));
}

static unsigned set_of(const struct sl_mig_model *model, const char *const *names)
{
    unsigned set = 0;
    for (; *names != NULL; names++) {
        set |= 1U << (sl_mig_profile_find(model, sl_str_of(*names)) - model->profiles);
    }
    return set;
}

TEST_THAT(a_cut_is_written_as_it_is_read)
{
    static const char *const texts[] = {"7g.40gb*1", "3g.20gb*1+2g.10gb*1+1g.5gb*2",
                                        "4g.20gb*1+3g.20gb*1", "whole"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct sl_counts counts;
        char out[SL_CUT_TEXT_MAX];
        struct sl_error err = {0};
        const char *text = strcmp(texts[i], "whole") == 0 ? "" : texts[i];
        assert_int_equal(sl_counts_parse(sl_str_of(text), a100(), &counts, &err), 0);
        assert_int_equal(sl_counts_print(&counts, a100(), out, sizeof(out)), strlen(texts[i]));
        assert_string_equal(out, texts[i]);
    }
}

TEST_THAT(a_cut_that_no_gpu_can_have_is_refused)
{
    static const char *const cases[][2] = {
        {"7g.40gb+1g.5gb", "does not fit on one"}, {"5g.5gb", "has no MIG profile \"5g.5gb\""},
        {"1g.5gb*0", "expected PROFILE*COUNT"},    {"1g.5gb*x", "expected PROFILE*COUNT"},
        {"1g.5gb*5+2g.10gb*4", "more than 8"},     {"4g.20gb+4g.20gb", "does not fit on one"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sl_counts counts;
        struct sl_error err = {0};
        assert_int_equal(sl_counts_parse(sl_str_of(cases[i][0]), a100(), &counts, &err), -1);
        assert_non_null(strstr(err.message, cases[i][1]));
    }
}

TEST_THAT(an_a100_has_twelve_cuts_that_leave_no_room)
{
    static const char *const base[] = {"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb", NULL};
    struct sl_counts counts[SL_CUTS_MAX];
    char first[SL_CUT_TEXT_MAX];
    char second[SL_CUT_TEXT_MAX];
    char last[SL_CUT_TEXT_MAX];
    assert_int_equal(sl_counts_maximal(a100(), set_of(a100(), base), counts, SL_CUTS_MAX), 12);
    (void)sl_counts_print(&counts[0], a100(), first, sizeof(first));
    (void)sl_counts_print(&counts[1], a100(), second, sizeof(second));
    (void)sl_counts_print(&counts[11], a100(), last, sizeof(last));
    assert_string_equal(first, "7g.40gb*1");
    assert_string_equal(second, "4g.20gb*1+3g.20gb*1");
    assert_string_equal(last, "1g.5gb*7");
}

TEST_THAT(cuts_have_only_the_profiles_of_the_set)
{
    static const char *const some[] = {"2g.10gb", "7g.40gb", NULL};
    struct sl_counts counts[SL_CUTS_MAX];
    char text[SL_CUT_TEXT_MAX];
    assert_int_equal(sl_counts_maximal(a100(), set_of(a100(), some), counts, SL_CUTS_MAX), 2);
    (void)sl_counts_print(&counts[1], a100(), text, sizeof(text));
    assert_string_equal(text, "2g.10gb*3");
    assert_int_equal(sl_counts_maximal(a100(), set_of(a100(), some), counts, 1), 1);
}
