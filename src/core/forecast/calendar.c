/* Free units over time: a list of steps for each bin. Equal neighbours are one step, so that the
 * steps are at most the bins and the two ends of each span of use. */
#include "core/forecast/calendar.h"

#include <stdbool.h>
#include <stdlib.h>

#include "util/check.h"
#include "util/data/vec.h"

enum { SPLITS = 2 }; /* steps more while a use is noted */

void sl_calendar_free(struct sl_calendar *calendar)
{
    free(calendar->step);
    free(calendar->clear_us);
}

int sl_calendar_begin(struct sl_calendar *calendar, size_t n, size_t spans)
{
    const size_t steps = n + 2 * spans + SPLITS;
    if (sl_vec_reserve(&calendar->step, &calendar->steps_cap, steps, sizeof(*calendar->step)) !=
            0 ||
        sl_vec_reserve(&calendar->clear_us, &calendar->clear_cap, n + 1,
                       sizeof(*calendar->clear_us)) != 0) {
        return -1;
    }
    calendar->n = n;
    for (size_t i = n; i < steps; i++) {
        calendar->step[i].next = i + 1 == steps ? SL_CALENDAR_END : (uint32_t)(i + 1);
    }
    calendar->unused = (uint32_t)n;
    return 0;
}

static void note_clear(struct sl_calendar *calendar, uint32_t bin)
{
    const struct sl_calendar_step *step = &calendar->step[bin];
    int64_t clear_us = step->at_us;
    for (; step->next != SL_CALENDAR_END; step = &calendar->step[step->next]) {
        if (step->free < calendar->widest) {
            clear_us = calendar->step[step->next].at_us;
        }
    }
    calendar->clear_us[bin] = step->free < calendar->widest ? INT64_MAX : clear_us;
}

void sl_calendar_set(struct sl_calendar *calendar, uint32_t bin, int64_t now_us, int64_t units)
{
    calendar->step[bin] = (struct sl_calendar_step){now_us, units, SL_CALENDAR_END};
    note_clear(calendar, bin);
}

/* Returns the step of the bin that begins at that time, which it makes if need be. */
static uint32_t split(struct sl_calendar *calendar, uint32_t bin, int64_t at_us)
{
    struct sl_calendar_step *step = calendar->step;
    uint32_t i = bin;
    while (step[i].next != SL_CALENDAR_END && step[step[i].next].at_us <= at_us) {
        i = step[i].next;
    }
    if (step[i].at_us >= at_us) {
        return i;
    }
    const uint32_t made = calendar->unused;
    if (made == SL_CALENDAR_END) { /* more uses than were announced */
        SL_CHECK(false);
        return i;
    }
    calendar->unused = step[made].next;
    step[made] = (struct sl_calendar_step){at_us, step[i].free, step[i].next};
    step[i].next = made;
    return made;
}

static void join_equals(struct sl_calendar *calendar, uint32_t bin)
{
    struct sl_calendar_step *step = calendar->step;
    for (uint32_t i = bin; step[i].next != SL_CALENDAR_END;) {
        const uint32_t next = step[i].next;
        if (step[next].free != step[i].free) {
            i = next;
            continue;
        }
        step[i].next = step[next].next;
        step[next].next = calendar->unused;
        calendar->unused = next;
    }
}

void sl_calendar_use(struct sl_calendar *calendar, uint32_t bin, int64_t from_us, int64_t until_us,
                     int64_t units)
{
    const uint32_t first = split(calendar, bin, from_us);
    const uint32_t end = until_us == INT64_MAX ? SL_CALENDAR_END : split(calendar, bin, until_us);
    for (uint32_t i = first; i != end; i = calendar->step[i].next) {
        calendar->step[i].free -= units;
    }
    join_equals(calendar, bin);
    note_clear(calendar, bin);
}

int64_t sl_calendar_least(const struct sl_calendar *calendar, uint32_t bin, int64_t from_us,
                          int64_t until_us)
{
    const struct sl_calendar_step *step = calendar->step;
    int64_t least = INT64_MAX;
    for (uint32_t i = bin; i != SL_CALENDAR_END && step[i].at_us < until_us; i = step[i].next) {
        const bool over = step[i].next != SL_CALENDAR_END && step[step[i].next].at_us <= from_us;
        least = !over && step[i].free < least ? step[i].free : least;
    }
    return least;
}

int64_t sl_calendar_earliest(const struct sl_calendar *calendar, uint32_t bin, int64_t units,
                             int64_t run_us, int64_t limit_us, int64_t *least)
{
    const struct sl_calendar_step *step = calendar->step;
    int64_t start_us = step[bin].at_us;
    *least = INT64_MAX;
    for (uint32_t i = bin; start_us <= limit_us; i = step[i].next) {
        const bool last = step[i].next == SL_CALENDAR_END;
        if (step[i].free < units) {
            if (last) {
                break;
            }
            start_us = step[step[i].next].at_us;
            *least = INT64_MAX;
            continue;
        }
        *least = step[i].free < *least ? step[i].free : *least;
        if (last || step[step[i].next].at_us - start_us >= run_us) {
            return start_us;
        }
    }
    return INT64_MAX;
}

int64_t sl_calendar_overuse(const struct sl_calendar *calendar, uint32_t bin)
{
    const struct sl_calendar_step *step = calendar->step;
    for (uint32_t i = bin; i != SL_CALENDAR_END; i = step[i].next) {
        if (step[i].free < 0) {
            return step[i].at_us;
        }
    }
    return INT64_MAX;
}

int64_t sl_calendar_clear(const struct sl_calendar *calendar)
{
    int64_t clear_us = INT64_MAX;
    for (size_t i = 0; i < calendar->n; i++) {
        clear_us = calendar->clear_us[i] < clear_us ? calendar->clear_us[i] : clear_us;
    }
    return clear_us;
}
