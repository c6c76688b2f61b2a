/* A day of changing demand. Arrivals are a Poisson process whose rate follows the hour: thinned
 * from the highest rate, as Lewis and Shedler do (1979). */
#include "sim/experiments/day.h"

#include <stdio.h>

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
};

const struct sl_day_kind sl_day_kinds[SL_DAY_PROFILES] = {
    {"1g.5gb", 1, 0.45, 0, 2400},     {"2g.10gb", 2, 0.25, 0, 2700},
    {"3g.20gb", 3, 0.15, 0.45, 3000}, {"4g.20gb", 4, 0.15, 0.55, 3000},
    {"7g.40gb", 7, 0, 0, 3600}, /* in bursts alone */
};

struct maker {
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

/* A job's timeout is up to twice its run time. */
static int job_add(struct maker *maker, const struct sl_day_kind *kind, double at_s)
{
    char resource[64];
    double run_s = draw_run_s(maker, kind);
    double timeout_s = run_s * (1 + sl_rng_unit(&maker->rng));
    (void)snprintf(resource, sizeof(resource), "nvidia.com/mig-%s", kind->profile);
    const struct sl_trace_job facts = {
        .resource = maker->whole ? SL_STR("nvidia.com/gpu") : sl_str_of(resource),
        .count = 1,
        .submit_us = (int64_t)(at_s * (double)SL_SECOND_US),
        .run_us = (int64_t)run_s * SL_SECOND_US,
        .timeout_us = (int64_t)timeout_s * SL_SECOND_US,
    };
    return sl_workload_add(maker->out, &facts, maker->err);
}

/* The kind's share of the work asked for at that time. */
static double share_at(const struct sl_day_kind *kind, double at_s)
{
    double part = (at_s - MORNING_S) / (EVENING_S - MORNING_S);
    part = part < 0 ? 0 : part;
    part = part > 1 ? 1 : part;
    return kind->morning + (kind->evening - kind->morning) * part;
}

static int steady_make(struct maker *maker, const struct sl_day_kind *kind)
{
    double most = kind->morning > kind->evening ? kind->morning : kind->evening;
    if (most <= 0) {
        return 0;
    }
    double per_s = SL_DAY_LOAD * SL_DAY_GPUS * most * 7 / (kind->slices * mean_run_s(kind));
    double at_s = sl_rng_exponential(&maker->rng) / per_s;
    while (at_s < SL_DAY_LENGTH_S) {
        if (sl_rng_unit(&maker->rng) * most < share_at(kind, at_s) &&
            job_add(maker, kind, at_s) < 0) {
            return -1;
        }
        at_s += sl_rng_exponential(&maker->rng) / per_s;
    }
    return 0;
}

static int burst_make(struct maker *maker)
{
    const struct sl_day_kind *kind = &sl_day_kinds[sl_rng_below(&maker->rng, SL_DAY_PROFILES)];
    double at_s = sl_rng_unit(&maker->rng) * (SL_DAY_LENGTH_S - SL_DAY_BURST_S);
    for (int i = 0; i < SL_DAY_BURST_GPUS * 7 / kind->slices; i++) {
        if (job_add(maker, kind, at_s + sl_rng_unit(&maker->rng) * SL_DAY_BURST_S) < 0) {
            return -1;
        }
    }
    return 0;
}

int sl_day_generate(uint64_t seed, bool whole, struct sl_workload *out, struct sl_error *err)
{
    struct maker maker = {.out = out, .whole = whole, .err = err};
    for (unsigned p = 0; p < SL_DAY_PROFILES; p++) {
        sl_rng_seed(&maker.rng, seed, STREAM_STEADY + p);
        if (steady_make(&maker, &sl_day_kinds[p]) < 0) {
            return -1;
        }
    }
    sl_rng_seed(&maker.rng, seed, STREAM_BURSTS);
    for (int i = 0; i < SL_DAY_BURSTS; i++) {
        if (burst_make(&maker) < 0) {
            return -1;
        }
    }
    return sl_workload_finish(out, err);
}
