/* Free units of bins over time, from now on. */
#ifndef SLICED_CORE_FORECAST_CALENDAR_H
#define SLICED_CORE_FORECAST_CALENDAR_H

#include <stddef.h>
#include <stdint.h>

/* From at_us until the next step of its bin, so much is free. */
struct sl_calendar_step {
    int64_t at_us;
    int64_t free;  /* below 0 when running pods hold more than there is */
    uint32_t next; /* SL_CALENDAR_END: none */
};

#define SL_CALENDAR_END UINT32_MAX

/* Zeroed: no bins. */
struct sl_calendar {
    struct sl_calendar_step *step; /* the first of bin i is step i */
    int64_t *clear_us;             /* of each bin: from when on `widest` units stay free */
    size_t n;                      /* bins */
    size_t steps_cap;
    size_t clear_cap;
    uint32_t unused; /* a list of steps */
    int64_t widest;
};

void sl_calendar_free(struct sl_calendar *calendar);
/* Makes room for n bins with so many spans of use in all, and clears them. -1: out of memory. */
int sl_calendar_begin(struct sl_calendar *calendar, size_t n, size_t spans);
/* Sets all that is free in a bin, from now on. */
void sl_calendar_set(struct sl_calendar *calendar, uint32_t bin, int64_t now_us, int64_t units);
/* Uses units of the bin from from_us until until_us (INT64_MAX: for ever); below 0: gives them
 * back. The times of a use must lie after now or at it. */
void sl_calendar_use(struct sl_calendar *calendar, uint32_t bin, int64_t from_us, int64_t until_us,
                     int64_t units);
/* Returns the least that is free in that time. */
int64_t sl_calendar_least(const struct sl_calendar *calendar, uint32_t bin, int64_t from_us,
                          int64_t until_us);
/* Returns when the bin first has units free for run_us, and in *least what is free then at least;
 * INT64_MAX: not by limit_us. */
int64_t sl_calendar_earliest(const struct sl_calendar *calendar, uint32_t bin, int64_t units,
                             int64_t run_us, int64_t limit_us, int64_t *least);
/* Returns when more is used than there is; INT64_MAX: never. */
int64_t sl_calendar_overuse(const struct sl_calendar *calendar, uint32_t bin);
/* Returns from when on `widest` units stay free in some bin; INT64_MAX: never. */
int64_t sl_calendar_clear(const struct sl_calendar *calendar);

#endif
