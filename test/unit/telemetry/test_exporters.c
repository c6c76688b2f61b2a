/* Whose turn it is among exporters, and how clocks that are set are borne. */
#include "telemetry_rig.h"

static const int64_t interval_us = SL_SECOND_US;
static const int64_t timeout_us = 10 * SL_SECOND_US;

/* ---- what exporters do ---- */

static struct rig_call *call_of(unsigned node)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "http://n%u:9400/metrics", node);
    for (size_t i = 0; i < RIG_CALLS; i++) {
        if (rig.call[i].options.done != NULL && strcmp(rig.call[i].path, path) == 0) {
            return &rig.call[i];
        }
    }
    return NULL;
}

/* False: it is not asked now. */
static bool answer_well(unsigned node, int mib)
{
    char page[256];
    struct rig_call *call = call_of(node);
    (void)snprintf(page, sizeof(page),
                   "DCGM_FI_DEV_FB_USED{gpu=\"0\"} %d\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 0\n"
                   "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 100\n",
                   mib);
    if (call != NULL) {
        assert_int_equal(rig_answer(call, page), 0);
    }
    return call != NULL;
}

/* That many nodes with a GPU, whose exporters are about to be asked. */
static void begin_with(unsigned nodes)
{
    rig_begin();
    rig_ask_exporters();
    rig.config.telemetry.interval_us = interval_us;
    rig.config.telemetry.timeout_us = timeout_us;
    rig_start();
    for (unsigned i = 0; i < nodes; i++) {
        rig_node(i);
    }
    rig_pass(SL_ASK_SOON_US);
}

static struct sl_usage_row row_of(const char *node)
{
    struct sl_usage_row row = {.gpu = -1};
    struct sl_usage_reader reader = sl_telemetry_reader(rig.telemetry);
    (void)reader.node(reader.context, sl_str_of(node), &row, 1);
    return row;
}

static struct sl_usage_status status_now(void)
{
    struct sl_usage_status status;
    struct sl_usage_reader reader = sl_telemetry_reader(rig.telemetry);
    reader.status(reader.context, &status);
    return status;
}

/* ---- turns ---- */

TEST_THAT(one_that_hangs_keeps_nobody_waiting)
{
    begin_with(3);
    for (int i = 0; i < 9; i++) {
        assert_true(answer_well(1, 100 + i));
        assert_true(answer_well(2, 100 + i));
        rig_pass(interval_us);
        assert_int_equal(row_of("n1").measured.used_mib, 100 + i);
    }
    assert_int_equal(rig.asked[0], 1);
    assert_string_equal(status_now().error, "");
    rig_pass(interval_us);
    rig_pass(interval_us);
    assert_string_equal(status_now().error, "n0: no answer within a while");
    assert_true(status_now().answered);
    rig_end();
}

TEST_THAT(any_number_that_hang_leave_turns_to_one_that_answers)
{
    enum { HANG = 200, GOOD = HANG };
    begin_with(HANG + 1);
    while (!answer_well(GOOD, 1)) { /* each of them takes a place once, for as long as it may */
        rig_pass(interval_us);
        assert_true(rig.monotonic_us < SL_HOUR_US + HANG / 48 * timeout_us + 2 * timeout_us);
    }
    unsigned before = rig.asked[GOOD];
    for (int i = 0; i < 60; i++) {
        rig_pass(interval_us);
        assert_true(answer_well(GOOD, 2 + i));
    }
    assert_int_equal(rig.asked[GOOD], before + 60);
    assert_true(rig.most <= SL_EXPORTERS_AT_ONCE);
    unsigned least = HANG;
    for (unsigned i = 0; i < HANG; i++) {
        least = rig.asked[i] < least ? rig.asked[i] : least;
    }
    assert_true(least >= 2); /* each of them has its turn, too */
    rig_end();
}

/* Answers well every other time, and hangs in between. */
TEST_THAT(who_answers_now_and_then_takes_no_turns_of_one_that_always_does)
{
    enum { FLAP = 200, GOOD = FLAP, AT_FIRST = 60 };
    begin_with(FLAP + 1);
    for (int i = 0; i < 2 * AT_FIRST; i++) {
        for (unsigned k = 0; k < FLAP; k++) {
            (void)(rig.asked[k] % 2 == 0 && answer_well(k, 1));
        }
        bool answers = answer_well(GOOD, 1);
        assert_true(answers || i < AT_FIRST);
        rig_pass(interval_us);
    }
    rig_end();
}

TEST_THAT(one_that_was_slow_is_as_quick_as_others_once_it_answers)
{
    begin_with(2);
    rig_pass(timeout_us);
    rig_pass(interval_us);
    for (int i = 0; i < 5; i++) {
        assert_true(answer_well(0, 1));
        assert_true(answer_well(1, 1));
        rig_pass(interval_us);
    }
    assert_string_equal(status_now().error, "");
    rig_end();
}

TEST_THAT(a_node_that_is_gone_is_asked_no_more_and_a_new_one_soon)
{
    begin_with(2);
    assert_true(answer_well(0, 1));
    rig_hang_up(call_of(1));
    rig_pass(interval_us);
    assert_string_equal(status_now().error, "n1: no answer within a while");
    rig_hang_up(call_of(1));
    assert_int_equal(sl_store_delete_node(rig.store, SL_STR("n1"), NULL), 0);
    rig_node(5);
    rig_pass(interval_us);
    rig_pass(interval_us);
    assert_non_null(call_of(5));
    assert_null(call_of(1));
    (void)answer_well(0, 1);
    (void)answer_well(5, 1);
    rig_pass(interval_us);
    assert_string_equal(status_now().error, "");
    rig_end();
}

/* ---- clocks ---- */

static void live(int seconds, int mib)
{
    for (int i = 0; i < seconds; i++) {
        assert_true(answer_well(0, mib));
        rig_pass(interval_us);
    }
    assert_int_equal(row_of("n0").measured.used_mib, mib);
}

TEST_THAT(after_a_clock_that_was_ahead_samples_count_at_once)
{
    enum { AHEAD = 600 };
    begin_with(1);
    live(5, 1000);
    rig.ahead_us += AHEAD * SL_SECOND_US;
    live(25, 2000);
    int64_t drawn = row_of("n0").joules;
    rig.ahead_us -= AHEAD * SL_SECOND_US;
    live(3, 3000);
    struct sl_usage_row row = row_of("n0");
    assert_int_equal(row.measured.state, SL_SERIES_GOOD);
    assert_int_equal(row.watts, 100);
    assert_true(row.joules > drawn);
    assert_true(row.idle_us >= SL_SECOND_US && row.idle_us < 60 * SL_SECOND_US);
    rig_end();
}

TEST_THAT(a_clock_that_was_ahead_at_the_start_keeps_no_energy_out)
{
    begin_with(1);
    rig.ahead_us -= SL_HOUR_US;
    live(5, 1000);
    assert_true(row_of("n0").joules >= 200);
    rig_end();
}
