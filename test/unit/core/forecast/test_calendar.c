/* Free units over time, against a table of one row a second. Numbers are the same in every run. */
#include "core/forecast/calendar.h"

#include "unit/test.h"

enum { BINS = 3, SECONDS = 40, USES = 12, ROUNDS = 300, UNITS = 8, WIDEST = 5 };

struct use {
    uint32_t bin;
    int64_t from_us;
    int64_t until_us;
    int64_t units;
};

static uint64_t dice;

static int64_t draw(int64_t n)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(dice >> 33) % n;
}

/* The last row holds for ever. */
static int64_t table[BINS][SECONDS];

static void note(const struct use *use, int sign)
{
    for (int64_t at = use->from_us; at < SECONDS && at < use->until_us; at++) {
        table[use->bin][at] -= sign * use->units;
    }
}

static int64_t least_of(uint32_t bin, int64_t from, int64_t until)
{
    int64_t least = INT64_MAX;
    for (int64_t at = from; at < until; at++) {
        const int64_t units = table[bin][at < SECONDS ? at : SECONDS - 1];
        least = units < least ? units : least;
    }
    return least;
}

static void check_bin(const struct sl_calendar *calendar, uint32_t bin)
{
    const int64_t units = 1 + draw(UNITS);
    const int64_t run = 1 + draw(SECONDS);
    int64_t wanted = 0;
    while (wanted < SECONDS && least_of(bin, wanted, wanted + run) < units) {
        wanted++;
    }
    wanted = wanted == SECONDS ? INT64_MAX : wanted;
    int64_t least = 0;
    assert_int_equal(sl_calendar_earliest(calendar, bin, units, run, INT64_MAX, &least), wanted);
    if (wanted < INT64_MAX) {
        assert_int_equal(least, least_of(bin, wanted, wanted + run));
        assert_int_equal(sl_calendar_earliest(calendar, bin, units, run, wanted, &least), wanted);
        assert_int_equal(sl_calendar_earliest(calendar, bin, units, run, wanted - 1, &least),
                         INT64_MAX);
    }
    const int64_t from = draw(SECONDS);
    assert_int_equal(sl_calendar_least(calendar, bin, from, from + run),
                     least_of(bin, from, from + run));
    int64_t over = 0;
    while (over < SECONDS && table[bin][over] >= 0) {
        over++;
    }
    assert_int_equal(sl_calendar_overuse(calendar, bin), over == SECONDS ? INT64_MAX : over);
}

static void check(const struct sl_calendar *calendar)
{
    int64_t clear = INT64_MAX;
    for (uint32_t bin = 0; bin < BINS; bin++) {
        check_bin(calendar, bin);
        int64_t at = SECONDS;
        while (at > 0 && table[bin][at - 1] >= WIDEST) {
            at--;
        }
        clear = at < SECONDS && at < clear ? at : clear;
    }
    assert_int_equal(sl_calendar_clear(calendar), clear);
}

TEST_THAT(units_are_free_where_and_when_nobody_uses_them)
{
    struct sl_calendar calendar = {.widest = WIDEST};
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct use uses[USES];
        dice = seed;
        assert_int_equal(sl_calendar_begin(&calendar, BINS, USES), 0);
        for (uint32_t bin = 0; bin < BINS; bin++) {
            sl_calendar_set(&calendar, bin, 0, UNITS);
            for (size_t at = 0; at < SECONDS; at++) {
                table[bin][at] = UNITS;
            }
        }
        for (size_t i = 0; i < USES; i++) { /* all of them, so that each step is in use */
            const int64_t from = draw(SECONDS - 1);
            const int64_t until = from + 1 + draw(SECONDS - 1 - from);
            uses[i] = (struct use){(uint32_t)draw(BINS), from, draw(8) == 0 ? INT64_MAX : until,
                                   1 + draw(4)};
            sl_calendar_use(&calendar, uses[i].bin, uses[i].from_us, uses[i].until_us,
                            uses[i].units);
            note(&uses[i], 1);
            check(&calendar);
        }
        for (size_t i = USES; i > 0; i--) { /* and back */
            const struct use *use = &uses[i - 1];
            sl_calendar_use(&calendar, use->bin, use->from_us, use->until_us, -use->units);
            note(use, -1);
            check(&calendar);
        }
    }
    sl_calendar_free(&calendar);
}
