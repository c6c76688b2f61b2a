/* Workloads from a generator: tasks=20,gap=exp:25,runtime=loguniform:1:3,... docs/simulator.md has
 * the keys. */
#ifndef SLICED_SIM_GENERATE_H
#define SLICED_SIM_GENERATE_H

#include "sim/input/rng.h"
#include "sim/input/workload.h"

enum { SL_MIX_MAX = 32, SL_MIX_TEXT_MAX = 128 };

enum sl_distribution_kind {
    SL_DISTRIBUTION_CONSTANT,
    SL_DISTRIBUTION_UNIFORM,
    SL_DISTRIBUTION_EXP,
    SL_DISTRIBUTION_LOGUNIFORM,
    SL_DISTRIBUTION_LOGNORMAL,
};

struct sl_distribution {
    enum sl_distribution_kind kind;
    double a;
    double b;
};

/* "exp:25". -1 with *err set. */
int sl_distribution_parse(struct sl_str text, struct sl_distribution *out, struct sl_error *err);
/* Seconds drawn, as microseconds: 0..SL_CSV_TIME_MAX. */
int64_t sl_distribution_draw(const struct sl_distribution *distribution, struct sl_rng *rng);

/* The stated timeout of a job: its run time times a factor drawn evenly from low..high. */
struct sl_estimate_error {
    double low; /* both 1: exact */
    double high;
};
int sl_estimate_parse(struct sl_str text, struct sl_estimate_error *out, struct sl_error *err);
bool sl_estimate_random(const struct sl_estimate_error *estimate);

struct sl_mix {
    uint32_t n;
    char text[SL_MIX_MAX][SL_MIX_TEXT_MAX];
    double share[SL_MIX_MAX]; /* cumulated, the last is the sum */
    int64_t count[SL_MIX_MAX];
};

struct sl_generator {
    int64_t tasks;
    struct sl_distribution gap;
    struct sl_distribution runtime;
    struct sl_estimate_error estimate;
    struct sl_mix ask;
    struct sl_mix priority;
    struct sl_mix namespace;
};

/* Reads KEY=VALUE,... over the defaults, which are those of the paper's short tasks. */
int sl_generator_parse(struct sl_str text, struct sl_generator *out, struct sl_error *err);

/* Fills an initialised, empty workload with the jobs of the seed. */
int sl_generate(const struct sl_generator *generator, uint64_t seed, struct sl_workload *out,
                struct sl_error *err);

/* Draws run times, or timeouts, anew for all jobs of a workload. */
void sl_redraw_run_times(struct sl_workload *workload, const struct sl_distribution *runtime,
                         uint64_t seed);
void sl_redraw_timeouts(struct sl_workload *workload, const struct sl_estimate_error *estimate,
                        uint64_t seed);

#endif
