/* RFC 3339 times. */
#include "util/timestamp.h"

#include <stdio.h>

#include "unit/test.h"

static int64_t parsed(const char *text)
{
    int64_t us = INT64_MIN;
    assert_true(sl_time_parse(sl_str_of(text), &us));
    return us;
}

TEST_THAT(a_time_in_utc_counts_from_the_epoch)
{
    assert_int_equal(parsed("1970-01-01T00:00:00Z"), 0);
    assert_int_equal(parsed("2026-11-21T12:38:09Z"), INT64_C(1795264689000000));
    assert_int_equal(parsed("2000-02-29T23:59:59Z"), INT64_C(951868799000000));
    assert_int_equal(parsed("1969-12-31T23:59:59Z"), -1000000);
    assert_int_equal(parsed("0001-01-01T00:00:00Z"), INT64_C(-62135596800000000));
    assert_int_equal(parsed("9999-12-31T23:59:59Z"), INT64_C(253402300799000000));
}

TEST_THAT(fractions_count_to_the_microsecond_and_are_cut_below)
{
    assert_int_equal(parsed("1970-01-01T00:00:00.5Z"), 500000);
    assert_int_equal(parsed("1970-01-01T00:00:01.000001Z"), 1000001);
    assert_int_equal(parsed("1970-01-01T00:00:01.000001999Z"), 1000001);
    assert_int_equal(parsed("1969-12-31T23:59:59.25Z"), -750000);
}

TEST_THAT(offsets_are_taken_off)
{
    assert_int_equal(parsed("1970-01-01T01:30:00+01:30"), 0);
    assert_int_equal(parsed("1969-12-31T16:00:00-08:00"), 0);
    assert_int_equal(parsed("1970-01-01t00:00:00z"), 0);
    assert_int_equal(parsed("1970-01-01T00:00:00-00:00"), 0);
}

TEST_THAT(anything_else_is_refused_and_leaves_the_result_alone)
{
    static const char *const bad[] = {
        "",
        "2026-11-21",
        "2026-11-21T12:38:09",
        "2026-11-21 12:38:09Z",
        "2026-11-21T12:38:09Z ",
        " 2026-11-21T12:38:09Z",
        "2026-11-21T12:38:09.Z",
        "2026-11-21T12:38Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-11-00T00:00:00Z",
        "2026-11-21T24:00:00Z",
        "2026-11-21T12:60:00Z",
        "2026-11-21T12:38:60Z",
        "2026-11-21T12:38:09+24:00",
        "2026-11-21T12:38:09+01:60",
        "2026-11-21T12:38:09+0100",
        "2026-11-21T12:38:09+",
        "26-11-21T12:38:09Z",
        "+026-11-21T12:38:09Z",
        "2026-1-21T12:38:09Z",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int64_t us = 42;
        if (sl_time_parse(sl_str_of(bad[i]), &us)) {
            fail_msg("\"%s\" was taken", bad[i]);
        }
        assert_int_equal(us, 42);
    }
    int64_t us;
    assert_false(sl_time_parse(SL_STR("2026-11-21T12:38:09\0"), &us));
}

TEST_THAT(writing_shows_a_fraction_only_where_there_is_one)
{
    char text[32];
    sl_time_format(INT64_C(1795264689000000), text);
    assert_string_equal(text, "2026-11-21T12:38:09Z");
    sl_time_format(INT64_C(1795264689000050), text);
    assert_string_equal(text, "2026-11-21T12:38:09.000050Z");
    sl_time_format(-1, text);
    assert_string_equal(text, "1969-12-31T23:59:59.999999Z");
    sl_time_format(INT64_MIN, text);
    assert_non_null(strchr(text, 'Z'));
    sl_time_format(INT64_MAX, text);
    assert_non_null(strchr(text, 'Z'));
}

/* The calendar by counting, day for day, over two cycles of 400 years. */
TEST_THAT(every_day_of_eight_centuries_reads_back_as_it_was_written)
{
    static const int months[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = 1600;
    int month = 1;
    int day = 1;
    int64_t us = parsed("1600-01-01T00:00:00Z");
    while (year < 2400) {
        char expected[64];
        char text[32];
        (void)snprintf(expected, sizeof(expected), "%04d-%02d-%02dT00:00:00Z", year, month, day);
        sl_time_format(us, text);
        assert_string_equal(text, expected);
        assert_int_equal(parsed(expected), us);
        bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        int length = months[month - 1] + (month == 2 && leap ? 1 : 0);
        day = day == length ? 1 : day + 1;
        if (day == 1) {
            month = month == 12 ? 1 : month + 1;
            year += month == 1;
        }
        us += INT64_C(86400000000);
    }
}
