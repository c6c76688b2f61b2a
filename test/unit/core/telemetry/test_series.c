/* The ring of samples: what it takes, what it forgets, and which windows decide. */
#include "../rig.h"
#include "util/time.h"

#include "sliced/series.h"

enum { CAP = 24 };

struct ring {
    struct sl_sample room[CAP];
    struct sl_series series;
    int32_t used[CAP];
    size_t n;
};

static int set_up(void **state)
{
    struct ring *ring = calloc(1, sizeof(*ring));
    assert_non_null(ring);
    ring->series = (struct sl_series){.sample = ring->room, .cap = CAP};
    *state = ring;
    return 0;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

static bool put(struct ring *ring, int second, int64_t value)
{
    return sl_series_put(&ring->series, second * SL_SECOND_US, SL_FIGURE_USED, value);
}

static void put_run(struct ring *ring, int from, int to, int64_t value)
{
    for (int second = from; second < to; second++) {
        assert_true(put(ring, second, value));
    }
}

static enum sl_series_state window(struct ring *ring, int now, int since, bool back)
{
    struct sl_window_rule rule = {.now_us = now * SL_SECOND_US,
                                  .since_us = since * SL_SECOND_US,
                                  .back = back,
                                  .least = 20,
                                  .stale_us = 5 * SL_SECOND_US,
                                  .gap_us = 3 * SL_SECOND_US,
                                  .future_us = 2 * SL_SECOND_US};
    return sl_series_window(&ring->series, &rule, ring->used, &ring->n);
}

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct ring *ring, figures_of_one_time_share_a_sample)
{
    assert_true(put(ring, 1, 10));
    assert_true(put(ring, 2, 20));
    assert_true(sl_series_put(&ring->series, SL_SECOND_US, SL_FIGURE_BUSY, 500));
    assert_true(sl_series_put(&ring->series, 2 * SL_SECOND_US, SL_FIGURE_BUSY, 700));
    assert_true(sl_series_put(&ring->series, 2 * SL_SECOND_US, SL_FIGURE_BANDWIDTH, 30));
    assert_int_equal(ring->series.n, 2);
    assert_int_equal(sl_series_at(&ring->series, 0)->busy, 500);
    assert_int_equal(sl_series_at(&ring->series, 0)->bandwidth, SL_SERIES_UNKNOWN);
    assert_int_equal(sl_series_mean(&ring->series, SL_FIGURE_BUSY, 0), 600);
    assert_int_equal(sl_series_mean(&ring->series, SL_FIGURE_BUSY, 2 * SL_SECOND_US), 700);
    assert_int_equal(sl_series_mean(&ring->series, SL_FIGURE_BUSY, 3 * SL_SECOND_US),
                     SL_SERIES_UNKNOWN);
    assert_int_equal(sl_series_last(&ring->series, SL_FIGURE_BANDWIDTH), 30);
}

TEST_ON(struct ring *ring, what_is_told_twice_or_out_of_range_is_refused)
{
    assert_true(put(ring, 5, 10));
    assert_false(put(ring, 5, 11));
    assert_true(put(ring, 7, 12));
    assert_false(put(ring, 7, 11));
    assert_false(put(ring, 8, -1));
    assert_false(put(ring, 8, (int64_t)INT32_MAX + 1));
    assert_false(sl_series_put(&ring->series, 8 * SL_SECOND_US, SL_FIGURE_BUSY, 1001));
    assert_true(sl_series_put(&ring->series, 8 * SL_SECOND_US, SL_FIGURE_BUSY, 1000));
    assert_int_equal(ring->series.n, 3);
    assert_int_equal(sl_series_last(&ring->series, SL_FIGURE_USED), 12);
}

TEST_ON(struct ring *ring, what_is_younger_than_a_time_can_be_forgotten)
{
    for (int second = 1; second <= CAP + 3; second++) {
        assert_true(put(ring, second, second));
    }
    sl_series_cut(&ring->series, 6 * SL_SECOND_US);
    assert_int_equal(sl_series_last(&ring->series, SL_FIGURE_USED), 6);
    assert_true(put(ring, 7, 70));
    assert_int_equal(sl_series_last(&ring->series, SL_FIGURE_USED), 70);
    sl_series_cut(&ring->series, 0);
    assert_int_equal(ring->series.n, 0);
    assert_true(put(ring, 1, 1));
}

TEST_ON(struct ring *ring, samples_may_come_in_any_order)
{
    for (int second = 100; second < 100 + 2 * CAP; second += 2) {
        assert_true(put(ring, second, second));
    }
    assert_false(put(ring, 99, 99)); /* older than a full ring */
    assert_true(put(ring, 103, 103));
    assert_int_equal(sl_series_at(&ring->series, 0)->used_mib, 102);
    assert_int_equal(sl_series_at(&ring->series, 1)->used_mib, 103);
    assert_int_equal(sl_series_at(&ring->series, 2)->used_mib, 104);
    assert_true(put(ring, 99 + 2 * CAP, 7));
    assert_int_equal(sl_series_at(&ring->series, 0)->used_mib, 103);
    assert_int_equal(sl_series_at(&ring->series, CAP - 1)->used_mib, 7);
    assert_int_equal(ring->series.n, CAP);
    ring->series = (struct sl_series){.sample = ring->room, .cap = CAP};
    for (int second = 10; second > 0; second--) {
        assert_true(put(ring, second, second));
    }
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(sl_series_at(&ring->series, i)->used_mib, i + 1);
    }
}

TEST_ON(struct ring *ring, a_full_ring_forgets_its_oldest)
{
    for (int second = 0; second < 3 * CAP; second++) {
        assert_true(put(ring, second, second));
    }
    assert_int_equal(ring->series.n, CAP);
    assert_int_equal(sl_series_at(&ring->series, 0)->used_mib, 2 * CAP);
    assert_int_equal(sl_series_last(&ring->series, SL_FIGURE_USED), 3 * CAP - 1);
    struct sl_series none = {0};
    assert_false(sl_series_put(&none, 1, SL_FIGURE_USED, 1));
}

TEST_ON(struct ring *ring, a_window_is_good_when_long_fresh_and_without_gaps)
{
    assert_int_equal(window(ring, 0, 0, false), SL_SERIES_ABSENT);
    put_run(ring, 0, 19, 7);
    assert_int_equal(window(ring, 19, 0, false), SL_SERIES_SHORT);
    assert_int_equal(ring->n, 0);
    assert_true(put(ring, 19, 8));
    assert_int_equal(window(ring, 19, 0, false), SL_SERIES_GOOD);
    assert_int_equal(ring->n, 20);
    assert_int_equal(ring->used[18], 7);
    assert_int_equal(ring->used[19], 8);
    assert_int_equal(window(ring, 23, 0, false), SL_SERIES_GOOD);
    assert_int_equal(window(ring, 24, 0, false), SL_SERIES_STALE);
    assert_int_equal(window(ring, 17, 0, false), SL_SERIES_GOOD); /* clocks differ by 2 s */
    assert_int_equal(window(ring, 16, 0, false), SL_SERIES_STALE);
    assert_true(put(ring, 22, 8));
    assert_int_equal(window(ring, 22, 0, false), SL_SERIES_GOOD);
    assert_true(put(ring, 26, 8));
    assert_int_equal(window(ring, 26, 0, false), SL_SERIES_GAPPY);
    assert_int_equal(ring->n, 0);
}

TEST_ON(struct ring *ring, a_window_begins_with_the_last_binding_or_looks_back)
{
    put_run(ring, 0, CAP, 7);
    assert_int_equal(window(ring, CAP, 4, false), SL_SERIES_GOOD);
    assert_int_equal(ring->n, 20);
    assert_int_equal(window(ring, CAP, 5, false), SL_SERIES_SHORT);
    assert_int_equal(window(ring, CAP, 5, true), SL_SERIES_GOOD);
    assert_int_equal(ring->n, 20);
    assert_int_equal(window(ring, CAP, 0, true), SL_SERIES_GOOD);
    assert_int_equal(ring->n, CAP);
}

TEST_ON(struct ring *ring, samples_without_memory_do_not_count)
{
    put_run(ring, 0, 20, 7);
    assert_true(sl_series_put(&ring->series, 20 * SL_SECOND_US, SL_FIGURE_BUSY, 1));
    assert_int_equal(window(ring, 20, 0, false), SL_SERIES_GOOD);
    assert_int_equal(ring->n, 20);
    assert_true(sl_series_put(&ring->series, 26 * SL_SECOND_US, SL_FIGURE_BUSY, 1));
    assert_int_equal(window(ring, 26, 0, false), SL_SERIES_STALE);
    assert_string_equal(sl_series_state_name(SL_SERIES_STALE), "Stale");
}
