/* For how long nothing has run: what was not seen counts as work. */
#include "../rig.h"

#include "sliced/spell.h"

enum { SECOND = 1000000, GAP = 10 * SECOND, STALE = 30 * SECOND, FUTURE = 5 * SECOND };

static void take(struct sl_spell *spell, int64_t second, bool busy)
{
    sl_spell_take(spell, second * SECOND, busy, GAP);
}

static int64_t length(const struct sl_spell *spell, int64_t now)
{
    int64_t us = sl_spell_length(spell, now * SECOND, STALE, FUTURE);
    return us < 0 ? us : us / SECOND;
}

TEST_THAT(a_spell_begins_with_the_last_sample_that_was_busy)
{
    struct sl_spell spell = {0};
    assert_int_equal(length(&spell, 1000), -1);
    take(&spell, 1000, true);
    assert_int_equal(length(&spell, 1000), 0);
    for (int at = 1001; at <= 1100; at++) {
        take(&spell, at, false);
    }
    assert_int_equal(length(&spell, 1101), 100);
    take(&spell, 1101, true);
    assert_int_equal(length(&spell, 1101), 0);
}

TEST_THAT(nothing_is_known_of_the_time_before_the_first_sample)
{
    struct sl_spell spell = {0};
    take(&spell, 1000, false);
    assert_int_equal(length(&spell, 1000), 0);
    take(&spell, 1005, false);
    assert_int_equal(length(&spell, 1005), 5);
}

TEST_THAT(a_gap_ends_a_spell)
{
    struct sl_spell spell = {0};
    take(&spell, 1000, false);
    take(&spell, 1010, false);
    assert_int_equal(length(&spell, 1010), 10);
    take(&spell, 1021, false);
    assert_int_equal(length(&spell, 1021), 0);
}

TEST_THAT(stale_samples_and_those_from_the_future_say_nothing)
{
    struct sl_spell spell = {0};
    take(&spell, 1000, false);
    take(&spell, 1008, false);
    assert_int_equal(length(&spell, 1037), 8);
    assert_int_equal(length(&spell, 1038), -1);
    assert_int_equal(length(&spell, 1003), 8);
    assert_int_equal(length(&spell, 1002), -1);
}

TEST_THAT(late_samples_end_a_spell_and_never_make_one)
{
    struct sl_spell spell = {0};
    for (int at = 1000; at <= 1050; at += 5) {
        take(&spell, at, false);
    }
    take(&spell, 1020, false);
    assert_int_equal(length(&spell, 1050), 50);
    take(&spell, 1030, true);
    assert_int_equal(length(&spell, 1050), 20);
    take(&spell, 1010, true);
    assert_int_equal(length(&spell, 1050), 20);
}
