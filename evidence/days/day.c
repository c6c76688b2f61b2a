/* A day of changing demand. Arrivals are a Poisson process whose rate follows the hour: thinned
 * from the highest rate, as Lewis and Shedler do (1979). */
#include "evidence/days/day.h"

#include <stdio.h>
#include <string.h>

#include "sim/input/rng.h"
#include "util/time.h"

#define SIGMA 0.8

enum {
    MORNING_S = 8 * 3600,
    EVENING_S = 18 * 3600,
    SHORTEST_S = 60,
    LONGEST_S = 4 * 3600,
    STREAM_STEADY = 1, /* and one for each profile */
    STREAM_BURSTS = 101,
    STREAM_SHORT = 102,
    SHORT_RUN_S = 30, /* the shortest, and the longest */
    SHORT_RUN_TO_S = 120,
    DAY_S = 24 * 3600,
};

const struct sl_day_kind sl_day_kinds[SL_DAY_PROFILES] = {
    {"1g.5gb", 1, 1, 0.45, 0, 2400},     {"2g.10gb", 2, 2, 0.25, 0, 2700},
    {"3g.20gb", 3, 4, 0.15, 0.45, 3000}, {"4g.20gb", 4, 4, 0.15, 0.55, 3000},
    {"7g.40gb", 7, 8, 0, 0, 3600}, /* in bursts alone */
};

#define LONG  .nodes = 25, .gpus = 4, .max_nodes = 25, .length_s = DAY_S
#define SHORT .nodes = 2, .gpus = 8, .max_nodes = 2, .length_s = 600, .cut_s = 8

const struct sl_day sl_days[SL_DAYS] = {
    {"A day: small slices in the morning, large ones in the evening", LONG},
    {"A day: large slices in the morning, small ones in the evening", LONG, .turned = true},
    {"Ten minutes: small slices, large ones, middling ones", SHORT,
     .of_100 = {{60, 20, 15, 0, 5}, {10, 15, 45, 0, 30}, {35, 40, 20, 0, 5}}},
    {"Ten minutes: from small slices to large ones", SHORT,
     .of_100 = {{80, 15, 5, 0, 0}, {35, 30, 25, 0, 10}, {10, 15, 45, 0, 30}}},
    {"Ten minutes: from large slices to small ones", SHORT,
     .of_100 = {{10, 15, 45, 0, 30}, {35, 30, 25, 0, 10}, {80, 15, 5, 0, 0}}},
    {"Ten minutes: all slices alike", SHORT,
     .of_100 = {{25, 25, 25, 0, 25}, {25, 25, 25, 0, 25}, {25, 25, 25, 0, 25}}},
    {"Ten minutes: small slices and whole GPUs", SHORT,
     .of_100 = {{70, 0, 0, 0, 30}, {70, 0, 0, 0, 30}, {70, 0, 0, 0, 30}}},
};

const struct sl_day_kind *sl_day_kind_of(const char *resource)
{
    for (unsigned p = 0; p < SL_DAY_PROFILES; p++) {
        if (strstr(resource, sl_day_kinds[p].profile) != NULL) {
            return &sl_day_kinds[p];
        }
    }
    return NULL;
}

struct maker {
    const struct sl_day *day;
    struct sl_workload *out;
    struct sl_rng rng;
    bool whole;
    struct sl_error *err;
};

static double draw_run_s(struct maker *maker, const struct sl_day_kind *kind)
{
    double s = kind->median_s * sl_rng_exp(SIGMA * sl_rng_normal(&maker->rng));
    s = s < SHORTEST_S ? SHORTEST_S : s;
    return s > LONGEST_S ? LONGEST_S : s;
}

/* The mean of the log-normal distribution, as if it were not cut off. */
static double mean_run_s(const struct sl_day_kind *kind)
{
    return kind->median_s * sl_rng_exp(SIGMA * SIGMA / 2);
}

static int job_add(struct maker *maker, const struct sl_day_kind *kind, double at_s, int64_t run_s,
                   double timeout_s)
{
    char resource[64];
    (void)snprintf(resource, sizeof(resource), "nvidia.com/mig-%s", kind->profile);
    const struct sl_trace_job facts = {
        .resource = maker->whole ? SL_STR("nvidia.com/gpu") : sl_str_of(resource),
        .count = 1,
        .submit_us = (int64_t)(at_s * (double)SL_SECOND_US),
        .run_us = run_s * SL_SECOND_US,
        .timeout_us = (int64_t)timeout_s * SL_SECOND_US,
    };
    return sl_workload_add(maker->out, &facts, maker->err);
}

/* A long day's job's timeout is up to twice its run time. */
static int long_job_add(struct maker *maker, const struct sl_day_kind *kind, double at_s)
{
    double run_s = draw_run_s(maker, kind);
    return job_add(maker, kind, at_s, (int64_t)run_s, run_s * (1 + sl_rng_unit(&maker->rng)));
}

/* The kind's share of the work asked for at that time. */
static double share_at(const struct maker *maker, const struct sl_day_kind *kind, double at_s)
{
    double part = (at_s - MORNING_S) / (EVENING_S - MORNING_S);
    part = part < 0 ? 0 : part;
    part = part > 1 ? 1 : part;
    part = maker->day->turned ? 1 - part : part;
    return kind->morning + (kind->evening - kind->morning) * part;
}

static int steady_make(struct maker *maker, const struct sl_day_kind *kind)
{
    double most = kind->morning > kind->evening ? kind->morning : kind->evening;
    if (most <= 0) {
        return 0;
    }
    int gpus = maker->day->nodes * maker->day->gpus;
    double per_s = SL_DAY_LOAD * gpus * most * 7 / (kind->slices * mean_run_s(kind));
    double at_s = sl_rng_exponential(&maker->rng) / per_s;
    while (at_s < maker->day->length_s) {
        if (sl_rng_unit(&maker->rng) * most < share_at(maker, kind, at_s) &&
            long_job_add(maker, kind, at_s) < 0) {
            return -1;
        }
        at_s += sl_rng_exponential(&maker->rng) / per_s;
    }
    return 0;
}

static int burst_make(struct maker *maker)
{
    const struct sl_day_kind *kind = &sl_day_kinds[sl_rng_below(&maker->rng, SL_DAY_PROFILES)];
    double at_s = sl_rng_unit(&maker->rng) * (maker->day->length_s - SL_DAY_BURST_S);
    for (int i = 0; i < SL_DAY_BURST_GPUS * 7 / kind->slices; i++) {
        if (long_job_add(maker, kind, at_s + sl_rng_unit(&maker->rng) * SL_DAY_BURST_S) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Jobs at even distances, of whole seconds. */
static int short_make(struct maker *maker)
{
    for (int i = 0; i < SL_DAY_SHORT_JOBS; i++) {
        const int *of_100 = maker->day->of_100[i * SL_DAY_PHASES / SL_DAY_SHORT_JOBS];
        int drawn = (int)sl_rng_below(&maker->rng, 100);
        int64_t run_s =
            SHORT_RUN_S + (int64_t)sl_rng_below(&maker->rng, SHORT_RUN_TO_S - SHORT_RUN_S + 1);
        unsigned p = 0;
        for (; drawn >= of_100[p]; p++) {
            drawn -= of_100[p];
        }
        int at_s = i * SL_DAY_SHORT_S / SL_DAY_SHORT_JOBS;
        if (job_add(maker, &sl_day_kinds[p], (double)at_s, run_s, (double)(run_s * 13 + 9) / 10) <
            0) {
            return -1;
        }
    }
    return 0;
}

static int long_make(struct maker *maker, uint64_t seed)
{
    for (unsigned p = 0; p < SL_DAY_PROFILES; p++) {
        sl_rng_seed(&maker->rng, seed, STREAM_STEADY + p);
        if (steady_make(maker, &sl_day_kinds[p]) < 0) {
            return -1;
        }
    }
    sl_rng_seed(&maker->rng, seed, STREAM_BURSTS);
    for (int i = 0; i < SL_DAY_BURSTS; i++) {
        if (burst_make(maker) < 0) {
            return -1;
        }
    }
    return 0;
}

int sl_day_generate(const struct sl_day *day, uint64_t seed, bool whole, struct sl_workload *out,
                    struct sl_error *err)
{
    struct maker maker = {.day = day, .out = out, .whole = whole, .err = err};
    sl_rng_seed(&maker.rng, seed, STREAM_SHORT);
    int rc = sl_day_is_short(day) ? short_make(&maker) : long_make(&maker, seed);
    return rc < 0 ? rc : sl_workload_finish(out, err);
}
