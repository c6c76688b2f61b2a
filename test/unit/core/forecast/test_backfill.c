/* FIFO with EASY backfill on two nodes, on cases that fit on a hand. */
#include "core/forecast/backfill.h"
#include "unit/test.h"

enum { PODS_MAX = 64, NEVER = -1 };

struct play {
    struct sl_backfill model;
    int64_t start_us[PODS_MAX + 1]; /* by serial */
    uint64_t last;
};

/* Nodes 1 and 2, of so many units each. */
static void set_up(struct play *play, int64_t first, int64_t second)
{
    *play = (struct play){.last = 0};
    assert_int_equal(sl_backfill_reserve(&play->model, 2, PODS_MAX, PODS_MAX), 0);
    play->model.bins.bin[0] = (struct sl_bin){.key = 1, .units = first};
    play->model.bins.bin[1] = (struct sl_bin){.key = 2, .units = second};
    play->model.bins.n = 2;
    sl_bins_name(&play->model.bins);
    sl_backfill_clear(&play->model, 0);
    for (size_t i = 0; i <= PODS_MAX; i++) {
        play->start_us[i] = NEVER;
    }
}

static void run_on(struct play *play, uint64_t node, int64_t width, int64_t end_us)
{
    const struct sl_run run = {.end_us = end_us, .width = width, .serial = ++play->last};
    assert_true(sl_backfill_start(&play->model, &run, node));
}

/* Queues one more pod; its serial. */
static uint64_t wait_for(struct play *play, int64_t width, int64_t run_us)
{
    const uint64_t serial = ++play->last;
    const struct sl_wait wait = {
        .pod = {.id = serial, .width = width}, .run_us = run_us, .serial = serial};
    sl_backfill_push(&play->model, &wait);
    return serial;
}

static bool note_start(void *context, const struct sl_wait *wait, int64_t at_us)
{
    struct play *play = context;
    play->start_us[wait->serial] = at_us;
    return true;
}

static void play_until(struct play *play, int64_t until_us)
{
    const struct sl_backfill_watch watch = {note_start, play};
    sl_backfill_play(&play->model, until_us, &watch);
}

TEST_THAT(free_units_of_two_nodes_are_no_room_for_one_pod)
{
    struct play play;
    set_up(&play, 2, 2);
    run_on(&play, 1, 1, 100);
    run_on(&play, 2, 1, 200);
    const uint64_t wide = wait_for(&play, 2, 50);
    play_until(&play, INT64_MAX);
    assert_int_equal(play.start_us[wide], 100);
    sl_backfill_free(&play.model);
}

/* Shares of memory: too many units to tell all free counts apart. */
TEST_THAT(a_pod_that_turns_out_not_to_fit_keeps_none_behind_it)
{
    struct play play;
    set_up(&play, 30000, 30000);
    run_on(&play, 1, 29000, 100);
    run_on(&play, 2, 20000, 200);
    const uint64_t first = wait_for(&play, 30000, 50);
    const uint64_t misses = wait_for(&play, 10001, 1000);
    const uint64_t fits = wait_for(&play, 10000, 1000);
    play_until(&play, 1);
    assert_int_equal(play.start_us[first], NEVER);
    assert_int_equal(play.start_us[misses], NEVER);
    assert_int_equal(play.start_us[fits], 0);
    sl_backfill_free(&play.model);
}

TEST_THAT(a_pod_is_backfilled_where_it_does_not_delay_the_first)
{
    struct play play;
    set_up(&play, 2, 2);
    run_on(&play, 1, 1, 100);
    run_on(&play, 2, 1, 200);
    const uint64_t wide = wait_for(&play, 2, 50);      /* node 1 from 100 on */
    const uint64_t lengthy = wait_for(&play, 1, 1000); /* has room on node 2 */
    const uint64_t short_one = wait_for(&play, 1, 100);
    const uint64_t longer = wait_for(&play, 1, 101);
    play_until(&play, INT64_MAX);
    assert_int_equal(play.start_us[lengthy], 0);
    assert_int_equal(play.start_us[short_one], 0);
    assert_int_equal(play.start_us[wide], 100);
    assert_int_equal(play.start_us[longer], 150);
    sl_backfill_free(&play.model);
}

TEST_THAT(a_pod_wider_than_any_node_holds_up_nobody)
{
    struct play play;
    set_up(&play, 2, 1);
    const uint64_t too_wide = wait_for(&play, 3, 1);
    const uint64_t next = wait_for(&play, 1, 1);
    play_until(&play, INT64_MAX);
    assert_int_equal(play.start_us[too_wide], NEVER);
    assert_int_equal(play.start_us[next], 0);
    sl_backfill_free(&play.model);
}

TEST_THAT(news_of_a_run_time_counts_from_now_on)
{
    struct play play;
    set_up(&play, 1, 1);
    run_on(&play, 1, 1, 1000);
    run_on(&play, 2, 1, 2000);
    const uint64_t waits = wait_for(&play, 1, 10);
    play_until(&play, 300);
    const struct sl_wait second = {.serial = 2};
    sl_backfill_set_run(&play.model, &second, 200); /* it ended at 200, as is told at 300 */
    play_until(&play, INT64_MAX);
    assert_int_equal(play.start_us[waits], 300);
    sl_backfill_free(&play.model);
}

/* Ends in front of and behind what runs, so that starts shift either side of the array. */
TEST_THAT(pods_end_in_order_however_they_started)
{
    struct play play;
    set_up(&play, 8, 8);
    for (int64_t i = 0; i < 16; i++) {
        run_on(&play, 1 + (uint64_t)i % 2, 1, 100 + (i * 7) % 16);
    }
    uint64_t serial[32];
    for (size_t i = 0; i < 32; i++) {
        serial[i] = wait_for(&play, 1, i % 2 == 0 ? 1 : 1000);
    }
    play_until(&play, INT64_MAX);
    for (size_t i = 1; i < 32; i++) {
        assert_true(play.start_us[serial[i]] >= play.start_us[serial[i - 1]]);
    }
    assert_int_equal(play.start_us[serial[0]], 100);
    sl_backfill_free(&play.model);
}
