/* When what was written on a waiting pod is written anew. */
#include "sliced/notice.h"
#include "unit/test.h"

#define SECOND INT64_C(1000000)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)

static const int64_t begin_us = 1000 * HOUR;

static struct sl_notice notice(int64_t after_us, size_t position, int64_t start_us)
{
    return (struct sl_notice){.at_us = begin_us + after_us,
                              .position = position,
                              .ahead = (uint32_t)position - 1,
                              .start_us = start_us == 0 ? 0 : begin_us + start_us,
                              .state = SL_QUEUE_HELD,
                              .reason = SL_HOLD_NO_ROOM};
}

static void assert_due(struct sl_notice written, struct sl_notice now, enum sl_notice_due due)
{
    assert_int_equal(sl_notice_due(&written, &now), due);
}

TEST_THAT(what_was_never_written_is_due)
{
    struct sl_notice written = {.at_us = 0};
    assert_due(written, notice(0, 5, 0), SL_NOTICE_CHANGED);
    assert_due(written, (struct sl_notice){.at_us = SECOND}, SL_NOTICE_CHANGED);
}

TEST_THAT(what_stays_as_it_is_stays_written)
{
    assert_due(notice(0, 5, HOUR), notice(300 * HOUR, 5, HOUR), SL_NOTICE_GOOD);
}

TEST_THAT(another_reason_is_news_after_ten_seconds)
{
    struct sl_notice now = notice(9 * SECOND, 5, HOUR);
    now.reason = SL_HOLD_BEHIND;
    assert_due(notice(0, 5, HOUR), now, SL_NOTICE_GOOD);
    now.at_us += SECOND;
    assert_due(notice(0, 5, HOUR), now, SL_NOTICE_CHANGED);
    now.reason = SL_HOLD_NO_ROOM;
    now.state = SL_QUEUE_REFUSED;
    assert_due(notice(0, 5, HOUR), now, SL_NOTICE_CHANGED);
}

TEST_THAT(who_has_become_the_first_is_told_so_soon)
{
    struct sl_notice now = notice(10 * SECOND, 1, 0);
    assert_due(notice(0, 2, 0), now, SL_NOTICE_CHANGED);
    assert_due(now, notice(20 * SECOND, 3, 0), SL_NOTICE_CHANGED);
    assert_due(notice(0, 3, 0), notice(20 * SECOND, 2, 0), SL_NOTICE_GOOD);
}

TEST_THAT(the_end_of_the_wait_is_news_at_once)
{
    static const enum sl_queue_state ends[] = {SL_QUEUE_NOMINATED, SL_QUEUE_RELEASED};
    for (size_t i = 0; i < 2; i++) {
        struct sl_notice now = notice(0, 1, HOUR);
        now.state = ends[i];
        assert_due(notice(0, 5, HOUR), now, SL_NOTICE_CHANGED);
        assert_false(sl_notice_waits(ends[i]));
        assert_due(now, notice(0, 5, HOUR), SL_NOTICE_GOOD); /* it waits again: in ten seconds */
    }
    assert_true(sl_notice_waits(SL_QUEUE_HELD));
    assert_true(sl_notice_waits(SL_QUEUE_STAGED));
    assert_true(sl_notice_waits(SL_QUEUE_GATED));
    assert_true(sl_notice_waits(SL_QUEUE_REFUSED));
}

TEST_THAT(what_could_not_be_written_is_due_after_a_minute)
{
    struct sl_notice written = notice(0, 5, 0);
    written.state = SL_QUEUE_STATES;
    assert_due(written, notice(MINUTE - 1, 5, 0), SL_NOTICE_GOOD);
    assert_due(written, notice(MINUTE, 5, 0), SL_NOTICE_CHANGED);
}

TEST_THAT(a_place_is_news_when_it_moved_by_a_quarter)
{
    assert_due(notice(0, 100, 0), notice(HOUR, 76, 0), SL_NOTICE_GOOD);
    assert_due(notice(0, 100, 0), notice(HOUR, 75, 0), SL_NOTICE_MOVED);
    assert_due(notice(0, 100, 0), notice(HOUR, 125, 0), SL_NOTICE_MOVED);
    assert_due(notice(0, 100, 0), notice(MINUTE - 1, 2, 0), SL_NOTICE_GOOD); /* too soon */
    assert_due(notice(0, 4, 0), notice(MINUTE, 3, 0), SL_NOTICE_MOVED);
}

TEST_THAT(the_number_ahead_counts_as_well)
{
    struct sl_notice now = notice(MINUTE, 100, 0);
    now.ahead = 74;
    assert_due(notice(0, 100, 0), now, SL_NOTICE_MOVED);
    now.ahead = 98;
    assert_due(notice(0, 100, 0), now, SL_NOTICE_GOOD);
}

TEST_THAT(a_start_is_news_when_it_moved_by_a_quarter_of_what_was_left)
{
    assert_due(notice(0, 5, 4 * HOUR), notice(MINUTE, 5, 4 * HOUR + 59 * MINUTE), SL_NOTICE_GOOD);
    assert_due(notice(0, 5, 4 * HOUR), notice(MINUTE, 5, 5 * HOUR), SL_NOTICE_MOVED);
    assert_due(notice(0, 5, 4 * HOUR), notice(MINUTE, 5, 3 * HOUR), SL_NOTICE_MOVED);
    assert_due(notice(0, 5, 4 * HOUR), notice(3 * HOUR, 5, 4 * HOUR + 15 * MINUTE),
               SL_NOTICE_MOVED);
    assert_due(notice(0, 5, 2 * MINUTE), notice(MINUTE, 5, 2 * MINUTE + 59 * SECOND),
               SL_NOTICE_GOOD);
    assert_due(notice(0, 5, 0), notice(MINUTE, 5, HOUR), SL_NOTICE_MOVED);
    assert_due(notice(0, 5, HOUR), notice(MINUTE, 5, 0), SL_NOTICE_MOVED);
}

TEST_THAT(a_pod_that_moves_up_from_far_behind_is_written_of_some_thirty_times)
{
    struct sl_notice written = notice(0, 10000, 0);
    unsigned writings = 1;
    for (size_t position = 10000; position > 0; position--) {
        struct sl_notice now = notice((int64_t)(10000 - position) * HOUR, position, 0);
        if (sl_notice_due(&written, &now) != SL_NOTICE_GOOD) {
            written = now;
            writings++;
        }
    }
    assert_in_range(writings, 25, 35);
}
