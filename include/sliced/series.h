/* The last samples of one GPU or MIG instance, in a ring, so that nothing grows with time. The
 * owner provides the memory. */
#ifndef SLICED_SERIES_H
#define SLICED_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SL_SERIES_UNKNOWN = -1, SL_SERIES_CAP_MAX = 1024 };

/* A figure that was not measured at that time is SL_SERIES_UNKNOWN. */
struct sl_sample {
    int64_t at_us; /* Unix microseconds, by the measuring side's clock */
    int32_t used_mib;
    int16_t busy;      /* permille of the time in which something ran */
    int16_t bandwidth; /* permille of the memory bandwidth */
};

/* Which figure of a sample. */
enum sl_figure_of {
    SL_FIGURE_USED,      /* MiB */
    SL_FIGURE_BUSY,      /* permille */
    SL_FIGURE_BANDWIDTH, /* permille */
    SL_FIGURE_POD_USED,  /* MiB of one pod; no sample keeps it */
    SL_FIGURE_POWER,     /* milliwatts; no sample keeps it: see sliced/energy.h */
};

struct sl_series {
    struct sl_sample *sample; /* cap of them; a zeroed series of cap 0 keeps nothing */
    uint16_t cap;
    uint16_t first; /* of n, which wrap at cap */
    uint16_t n;
};

/* Adds a figure. Times may come in any order; figures of one time share a sample. When the ring is
 * full the oldest sample goes. Returns false, with nothing changed, when the ring is full of
 * younger samples, when the sample has that figure already or keeps none such, or when the value is
 * out of range (below 0; above 1000 for a permille). */
bool sl_series_put(struct sl_series *series, int64_t at_us, enum sl_figure_of figure,
                   int64_t value);

/* Forgets the samples that are younger than that. */
void sl_series_cut(struct sl_series *series, int64_t until_us);

/* Returns the i-th sample, the oldest first; i below n. */
const struct sl_sample *sl_series_at(const struct sl_series *series, size_t i);

enum sl_series_state {
    SL_SERIES_GOOD,
    SL_SERIES_ABSENT, /* nothing was ever measured */
    SL_SERIES_STALE,  /* the last sample is too old, or from the future */
    SL_SERIES_SHORT,  /* too few samples since the given time */
    SL_SERIES_GAPPY,  /* two neighbours lie too far apart */
};
/* "Good", "Absent", ... */
const char *sl_series_state_name(enum sl_series_state state);

struct sl_window_rule {
    int64_t now_us;
    int64_t since_us;  /* older samples do not count, unless fewer than least are younger ... */
    bool back;         /* ... and this is set: then the last `least` samples count */
    size_t least;      /* samples, 1 and more */
    int64_t stale_us;  /* age of the last sample at which a series is stale */
    int64_t gap_us;    /* between neighbours, at most */
    int64_t future_us; /* by which clocks may differ */
};

/* Writes the used memory of the window's samples, the oldest first, to used (room for series->n),
 * and how many to *n. Samples without used memory are left out. Any state but GOOD leaves *n 0. */
enum sl_series_state sl_series_window(const struct sl_series *series,
                                      const struct sl_window_rule *rule, int32_t *used, size_t *n);

/* Returns the mean of the figure over the samples from since_us on; SL_SERIES_UNKNOWN when none has
 * it. */
int64_t sl_series_mean(const struct sl_series *series, enum sl_figure_of figure, int64_t since_us);
/* The lowest and the highest used memory among the last `most` samples from since_us on; n: how
 * many of these have it. */
struct sl_extent {
    int32_t lowest_mib;
    int32_t highest_mib;
    size_t n;
    int64_t last_us; /* of the youngest of them; 0: none */
};
struct sl_extent sl_series_extent(const struct sl_series *series, int64_t since_us, size_t most);
/* Returns the last known value; SL_SERIES_UNKNOWN when there is none. */
int64_t sl_series_last(const struct sl_series *series, enum sl_figure_of figure);

#endif
