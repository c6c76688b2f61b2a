/* The queue's time: the clock of the day may be put, by hours and either way, and what runs out in
 * the queue does not run out for that, nor last longer. */
#include "queue_rig.h"

struct clocked {
    struct queue_rig rig;
    int64_t real_us;
    int64_t monotonic_ns;
};

/* That much passes, while the clock of the day is put by so much. */
static int64_t pass(struct clocked *clocked, int64_t us, int64_t put_us)
{
    clocked->real_us += us + put_us;
    clocked->monotonic_ns += us * 1000;
    clocked->rig.now_us =
        sl_queue_follow_clock(clocked->rig.worker, clocked->real_us, clocked->monotonic_ns);
    return sl_queue_round(clocked->rig.worker, clocked->rig.now_us);
}

static void begin(struct clocked *clocked, int gpus)
{
    memset(clocked, 0, sizeof(*clocked));
    rig_begin(&clocked->rig);
    rig_start_on(&clocked->rig, gpus);
    clocked->real_us = clocked->rig.now_us;
    clocked->monotonic_ns = 5000;
    (void)pass(clocked, 0, 0);
}

static struct sl_queue_stats stats_of(struct clocked *clocked)
{
    struct sl_queue_stats stats;
    sl_queue_stats(clocked->rig.worker, &stats);
    return stats;
}

TEST_THAT(a_clock_that_is_put_ends_no_turn_and_lengthens_none)
{
    static const int64_t puts[] = {8 * HOUR, -8 * HOUR, 24000 * HOUR, -900 * HOUR, 3 * SECOND};
    for (size_t i = 0; i < sizeof(puts) / sizeof(puts[0]); i++) {
        static struct clocked clocked;
        struct queue_rig *rig = &clocked.rig;
        begin(&clocked, 1);
        int64_t hold_us = rig->config.queue.hold_s * SECOND;
        rig_gated(rig, "a");
        rig_gated(rig, "b");
        (void)pass(&clocked, SECOND, 0);
        assert_string_equal(rig_nominate(rig, "a"), "n1");
        (void)pass(&clocked, SECOND, puts[i]);
        assert_int_equal(rig->now_us, clocked.real_us);
        assert_string_equal(rig_nominate(rig, "a"), "n1");
        assert_int_equal(rig->n_released, 1); /* it is the same nomination */
        (void)pass(&clocked, hold_us - 2 * SECOND, 0);
        assert_string_equal(rig_nominate(rig, "a"), "n1");
        assert_int_equal(stats_of(&clocked).plan.expiries, 0);
        (void)pass(&clocked, 2 * SECOND, 0);
        assert_string_equal(rig_nominate(rig, "a"), "");
        (void)pass(&clocked, 0, 0);
        assert_string_equal(rig_nominate(rig, "b"), "n1");
        assert_int_equal(stats_of(&clocked).plan.expiries, 1);
        rig_end(rig);
    }
}

/* A clock that is put again and again, each time by little. */
TEST_THAT(small_steps_add_up_slowly)
{
    static struct clocked clocked;
    struct queue_rig *rig = &clocked.rig;
    begin(&clocked, 1);
    int64_t begin_us = rig->now_us;
    for (int i = 1; i <= 20; i++) {
        (void)pass(&clocked, SECOND, i % 2 == 0 ? -SECOND : SECOND);
        assert_in_range(rig->now_us - begin_us, i * SECOND * 7 / 8, i * SECOND * 9 / 8);
    }
    (void)pass(&clocked, 60 * SECOND, 0);
    assert_int_equal(rig->now_us, clocked.real_us);
    rig_end(rig);
}

TEST_THAT(a_put_clock_tells_no_owner_anew)
{
    static struct clocked clocked;
    struct queue_rig *rig = &clocked.rig;
    begin(&clocked, 1);
    rig_put(rig, (struct rig_pod){.name = "x", .node = "n1"});
    rig_gated(rig, "a");
    for (int i = 0; i < 60; i++) {
        (void)pass(&clocked, SECOND, 0);
    }
    unsigned told = rig->n_told;
    assert_true(told > 0);
    for (int i = 0; i < 30; i++) {
        (void)pass(&clocked, SECOND, i == 10 ? HOUR : i == 20 ? -HOUR : 0);
    }
    assert_int_equal(rig->n_told, told);
    rig_end(rig);
}
