/* What is remembered of how a node's cuts went. */
#include "sliced/cut_run.h"
#include "unit/test.h"

#define SECOND INT64_C(1000000)
#define MINUTE (60 * SECOND)

static const struct sl_cut_rules rules = {
    .timeout_us = 15 * MINUTE, .backoff_us = MINUTE, .max_backoff_us = 8 * MINUTE};

TEST_THAT(an_order_that_was_not_written_may_be_made_again)
{
    struct sl_cut_record record = {0};
    struct sl_cut_run run = {.outcome = SL_CUT_REFUSED, .digest = 7};
    sl_cut_record_note(&record, &run, &rules, 0);
    assert_int_equal(record.out_until_us, MINUTE);
    assert_int_equal(record.failed[0], 0);
}

TEST_THAT(failures_leave_a_node_out_for_twice_as_long_each_time)
{
    struct sl_cut_record record = {0};
    struct sl_cut_run run = {.outcome = SL_CUT_FAILED, .digest = 7};
    static const int64_t minutes[] = {1, 2, 4, 8, 8, 8};
    for (unsigned i = 0; i < sizeof(minutes) / sizeof(minutes[0]); i++) {
        run.digest++;
        sl_cut_record_note(&record, &run, &rules, 0);
        assert_int_equal(record.out_until_us, minutes[i] * MINUTE);
        assert_int_equal(record.failures, i + 1);
    }
    run.outcome = SL_CUT_DONE;
    sl_cut_record_note(&record, &run, &rules, 30 * SECOND);
    assert_int_equal(record.failures, 0);
    assert_int_equal(record.out_until_us, 0);
}

/* A run that was resumed and left tried nothing; every other failure counts. */
TEST_THAT(a_run_that_was_resumed_and_left_is_no_failure)
{
    for (unsigned i = 0; i < 4; i++) {
        struct sl_cut_record record = {0};
        const struct sl_cut_run run = {.outcome = i < 2 ? SL_CUT_LEFT : SL_CUT_HALF_APPLIED,
                                       .resumed = i % 2 == 0};
        sl_cut_record_note(&record, &run, &rules, 0);
        assert_int_equal(record.failures, i > 0);
        assert_int_equal(record.out_until_us, i > 0 ? MINUTE : 0);
    }
}

static void note(struct sl_cut_record *record, enum sl_cut_outcome outcome, bool moved,
                 uint64_t digest)
{
    const struct sl_cut_run run = {.outcome = outcome, .digest = digest, .moved = moved};
    sl_cut_record_note(record, &run, &rules, 0);
}

TEST_THAT(a_cut_is_given_up_when_it_failed_twice_running_as_it_was_applied)
{
    static const struct {
        enum sl_cut_outcome outcome;
        bool moved;
        bool given_up;
    } rows[] = {
        {SL_CUT_FAILED, true, true},       {SL_CUT_HALF_APPLIED, true, true},
        {SL_CUT_NOT_FOLLOWED, true, true}, {SL_CUT_FAILED, false, false}, /* the file was behind */
        {SL_CUT_WEDGED, true, false},                                     /* clients did not go */
        {SL_CUT_SILENT, false, false},     {SL_CUT_REFUSED, false, false},
        {SL_CUT_LEFT, false, false},       {SL_CUT_TAKEN, false, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sl_cut_record record = {0};
        note(&record, rows[i].outcome, rows[i].moved, 7);
        assert_int_equal(record.failed[0], 0);
        note(&record, rows[i].outcome, rows[i].moved, 7);
        assert_int_equal(record.failed[0], rows[i].given_up ? 7 : 0);
    }
}

TEST_THAT(a_failure_is_forgotten_when_another_cut_is_done_or_fails)
{
    struct sl_cut_record record = {0};
    note(&record, SL_CUT_HALF_APPLIED, true, 7);
    note(&record, SL_CUT_DONE, true, 8);
    note(&record, SL_CUT_HALF_APPLIED, true, 7);
    note(&record, SL_CUT_HALF_APPLIED, true, 8);
    note(&record, SL_CUT_HALF_APPLIED, true, 7);
    assert_int_equal(record.failed[0], 0);
    for (uint64_t digest = 1; digest <= SL_CUT_FAILED_KEPT + 1; digest++) {
        note(&record, SL_CUT_HALF_APPLIED, true, digest);
        note(&record, SL_CUT_HALF_APPLIED, true, digest);
        assert_int_equal(record.failed[0], digest);
    }
    assert_int_equal(record.failed[SL_CUT_FAILED_KEPT - 1], 2);
}

static void note_at(struct sl_cut_record *record, enum sl_cut_outcome outcome, uint64_t digest,
                    int64_t now_us)
{
    const struct sl_cut_run run = {.outcome = outcome, .digest = digest, .begun_us = now_us};
    sl_cut_record_note(record, &run, &rules, now_us);
}

/* The first failure leaves the node out for a minute, the second for two, at most for eight. */
TEST_THAT(no_end_of_another_cut_changes_for_how_long_one_is_given_up)
{
    static const enum sl_cut_outcome ends[] = {SL_CUT_DONE, SL_CUT_TAKEN, SL_CUT_FAILED};
    static const int64_t until_us = (1 + 2 + 8) * MINUTE;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct sl_cut_record record = {0};
        note_at(&record, SL_CUT_HALF_APPLIED, 7, 0);
        note_at(&record, SL_CUT_HALF_APPLIED, 7, MINUTE);
        note_at(&record, ends[i], 8, 4 * MINUTE);
        assert_int_equal(sl_cut_record_failed(&record, until_us - 1)[0], 7);
        note_at(&record, ends[i], 9, until_us - SECOND);
        assert_int_equal(sl_cut_record_failed(&record, until_us)[0], 0);
        note_at(&record, SL_CUT_NOT_FOLLOWED, 10, until_us);
        note_at(&record, SL_CUT_NOT_FOLLOWED, 10, until_us);
        assert_int_equal(sl_cut_record_failed(&record, until_us)[0], 10);
        assert_int_equal(sl_cut_record_failed(&record, until_us)[1], 0);
    }
}

TEST_THAT(no_node_is_left_out_for_longer_than_the_rules_say)
{
    static const struct sl_cut_rules most = {
        .timeout_us = 15 * MINUTE, .backoff_us = MINUTE, .max_backoff_us = 5 * MINUTE};
    static const int64_t minutes[] = {1, 2, 4, 5, 5};
    struct sl_cut_record record = {0};
    struct sl_cut_run run = {.outcome = SL_CUT_FAILED, .digest = 7};
    for (unsigned i = 0; i < sizeof(minutes) / sizeof(minutes[0]); i++) {
        sl_cut_record_note(&record, &run, &most, 0);
        assert_int_equal(record.out_until_us, minutes[i] * MINUTE);
    }
}

TEST_THAT(what_a_cut_takes_is_learned)
{
    struct sl_cut_record record = {0};
    struct sl_cut_run run = {.outcome = SL_CUT_DONE, .begun_us = 1000 * MINUTE};
    assert_int_equal(sl_cut_seconds_us(NULL, 0, SL_ACTUATOR_MIG_MANAGER), 60 * SECOND);
    assert_int_equal(sl_cut_seconds_us(&record, 7 * SECOND, SL_ACTUATOR_MIG_MANAGER), 7 * SECOND);
    assert_int_equal(sl_cut_seconds_us(&record, 0, SL_ACTUATOR_NOS_MIG), 10 * SECOND);
    sl_cut_record_note(&record, &run, &rules, run.begun_us + 20 * SECOND);
    assert_int_equal(sl_cut_seconds_us(&record, 7 * SECOND, SL_ACTUATOR_MIG_MANAGER), 20 * SECOND);
    sl_cut_record_note(&record, &run, &rules, run.begun_us + 40 * SECOND);
    assert_int_equal(sl_cut_seconds_us(&record, 0, SL_ACTUATOR_MIG_MANAGER), 25 * SECOND);
    run.resumed = true;
    sl_cut_record_note(&record, &run, &rules, run.begun_us + 400 * SECOND);
    assert_int_equal(sl_cut_seconds_us(&record, 0, SL_ACTUATOR_MIG_MANAGER), 25 * SECOND);
}

/* The last four plans that failed twice, and no other's memory. */
TEST_THAT(failed_plans_are_remembered_the_last_first)
{
    struct {
        struct sl_cut_record record;
        uint64_t behind;
    } kept = {.behind = 99};
    for (uint64_t digest = 1; digest <= 6; digest++) {
        struct sl_cut_run run = {.outcome = SL_CUT_FAILED, .digest = digest, .moved = true};
        sl_cut_record_note(&kept.record, &run, &rules, 60 * MINUTE);
        sl_cut_record_note(&kept.record, &run, &rules, 60 * MINUTE);
        for (uint64_t k = 0; k < SL_CUT_FAILED_KEPT; k++) {
            assert_int_equal(kept.record.failed[k], digest > k ? digest - k : 0);
        }
    }
    assert_int_equal(kept.behind, 99);
}

TEST_THAT(a_clock_that_is_put_moves_all_times_of_a_run_that_are_set)
{
    struct sl_cut_run run = {
        .begun_us = 10, .ordered_us = 20, .news_us = 40, .wake_us = INT64_MAX, .digest = 7};
    sl_times_move(&run, 5);
    assert_int_equal(run.begun_us, 15);
    assert_int_equal(run.ordered_us, 25);
    assert_int_equal(run.pause_us, 0); /* not set */
    assert_int_equal(run.news_us, 45);
    assert_true(run.wake_us == INT64_MAX);
    run.pause_us = 30;
    run.wake_us = 50;
    sl_times_move(&run, -5);
    assert_int_equal(run.begun_us, 10);
    assert_int_equal(run.pause_us, 25);
    assert_int_equal(run.wake_us, 45);
    assert_int_equal(run.digest, 7);
}
