/* reproduce mig-acceptance: asks for MIG profiles come at constant load to an empty
 * cluster of A100 40GB GPUs, which are partitioned as asked, until a tenth of the asks is refused.
 * The number accepted by then depends on where each instance is put. */
#include <stdio.h>
#include <stdlib.h>

#include "evidence/reproduce.h"
#include "sim/input/rng.h"
#include "sim/output/report.h"
#include "sim/play/crew.h"
#include "sliced/mig.h"
#include "sliced/score.h"

enum {
    DEVICES = 100,
    PROFILES = 6,
    ASKS_MIN = 100,   /* before that a tenth says nothing */
    ASKS_MAX = 50000, /* a policy that refuses less than a tenth for ever */
    STREAMS = 4,
    LOADS = 2,
    POLICIES = 3,
};

static const char *const profiles[PROFILES] = {"1g.5gb",  "1g.10gb", "2g.10gb",
                                               "3g.20gb", "4g.20gb", "7g.40gb"};

static const struct {
    const char *name;
    int share[PROFILES];
} streams[STREAMS] = {
    {"uniform", {1, 1, 1, 1, 1, 1}},
    {"small", {4, 3, 3, 2, 1, 1}},
    {"large", {1, 1, 2, 3, 3, 4}},
    {"bimodal", {3, 1, 1, 1, 1, 3}},
};

/* Slices in use on the average if all were accepted, of all slices. */
static const double loads[LOADS] = {1.25, 1.5};

struct instance {
    int64_t end;
    struct sl_mig_placement placement;
    int16_t device;
};

struct stage {
    const struct sl_mig_model *model;
    struct sl_mig_layout layout[DEVICES];
    struct instance instance[DEVICES * SL_MIG_INSTANCES_MAX];
    unsigned n;
    int64_t weight[SL_MIG_PROFILES_MAX]; /* of the asks of late, by profile */
    uint8_t recent[SL_DEMAND_RECENT];
};

struct outcome {
    double asked;
    double accepted;
    double work; /* slices times the time they are held for, of the accepted */
};

/* ---- policies ---- */

static int lowest_start(const struct stage *stage, unsigned device, unsigned profile)
{
    for (unsigned start = 0; start < stage->model->memory_slices; start++) {
        if (sl_mig_can_place(stage->model, &stage->layout[device],
                             (struct sl_mig_placement){(uint8_t)profile, (uint8_t)start})) {
            return (int)start;
        }
    }
    return -1;
}

/* The first device with room, its lowest start. */
static int first_fit(const struct stage *stage, unsigned profile, struct sl_mig_placement *out)
{
    for (unsigned i = 0; i < DEVICES; i++) {
        int start = lowest_start(stage, i, profile);
        if (start >= 0) {
            *out = (struct sl_mig_placement){(uint8_t)profile, (uint8_t)start};
            return (int)i;
        }
    }
    return -1;
}

/* The device with room that has the fewest free slices, its lowest start. */
static int best_fit(const struct stage *stage, unsigned profile, struct sl_mig_placement *out)
{
    int best = -1;
    int most = 0;
    for (unsigned i = 0; i < DEVICES; i++) {
        int start = lowest_start(stage, i, profile);
        int used = __builtin_popcount(stage->layout[i].memory);
        if (start >= 0 && (best < 0 || used > most)) {
            best = (int)i;
            most = used;
            *out = (struct sl_mig_placement){(uint8_t)profile, (uint8_t)start};
        }
    }
    return best;
}

static int placement_ours(const struct stage *stage, unsigned profile, struct sl_mig_placement *out)
{
    return sl_mig_best_device(stage->model, stage->layout, DEVICES, profile, stage->weight, out);
}

static const struct {
    const char *name;
    int (*choose)(const struct stage *stage, unsigned profile, struct sl_mig_placement *out);
} policies[POLICIES] = {{"firstfit", first_fit}, {"bestfit", best_fit}, {"sliced", placement_ours}};

/* ---- one stream ---- */

static void end_instances(struct stage *stage, int64_t now)
{
    for (unsigned i = 0; i < stage->n;) {
        const struct instance *instance = &stage->instance[i];
        if (instance->end > now) {
            i++;
            continue;
        }
        sl_mig_remove(stage->model, &stage->layout[instance->device], instance->placement);
        stage->instance[i] = stage->instance[--stage->n];
    }
}

static void demand_see(struct stage *stage, int64_t ask, unsigned profile)
{
    uint8_t *slot = &stage->recent[ask % SL_DEMAND_RECENT];
    if (ask >= SL_DEMAND_RECENT) {
        stage->weight[*slot]--;
    }
    *slot = (uint8_t)profile;
    stage->weight[profile]++;
}

struct stream {
    unsigned index[PROFILES]; /* of the profiles in the model */
    int total;                /* of the shares */
    double life;              /* mean, in asks */
};

static struct stream stream_of(const struct sl_mig_model *model, unsigned which, double load)
{
    struct stream stream = {.total = 0};
    double slices = 0;
    for (unsigned i = 0; i < PROFILES; i++) {
        const struct sl_mig_profile *profile = sl_mig_profile_find(model, sl_str_of(profiles[i]));
        stream.index[i] = (unsigned)(profile - model->profiles);
        stream.total += streams[which].share[i];
        slices += streams[which].share[i] * profile->memory;
    }
    stream.life = load * DEVICES * model->memory_slices / (slices / stream.total);
    return stream;
}

static unsigned profile_draw(struct sl_rng *rng, const struct stream *stream, unsigned which)
{
    int at = (int)sl_rng_below(rng, (uint64_t)stream->total);
    unsigned i = 0;
    while (at >= streams[which].share[i]) {
        at -= streams[which].share[i];
        i++;
    }
    return stream->index[i];
}

static void stage_play(struct stage *stage, unsigned which, double load, unsigned policy,
                       uint64_t seed, struct outcome *out)
{
    struct stream stream = stream_of(stage->model, which, load);
    struct sl_rng rng;
    int64_t refused = 0;
    int64_t ask = 0;
    sl_rng_seed(&rng, seed, which);
    while (ask < ASKS_MAX && (ask < ASKS_MIN || refused * 10 < ask)) {
        unsigned profile = profile_draw(&rng, &stream, which);
        int64_t life = 1 + (int64_t)(sl_rng_exponential(&rng) * stream.life);
        struct sl_mig_placement placement;
        end_instances(stage, ask);
        demand_see(stage, ask, profile);
        int device = policies[policy].choose(stage, profile, &placement);
        if (device < 0) {
            refused++;
        } else {
            sl_mig_place(stage->model, &stage->layout[device], placement);
            stage->instance[stage->n++] = (struct instance){ask + life, placement, (int16_t)device};
            out->work += (double)life * stage->model->profiles[profile].memory;
        }
        ask++;
    }
    out->asked = (double)ask;
    out->accepted = (double)(ask - refused);
}

/* ---- all of them ---- */

struct acceptance {
    const struct sl_mig_model *model;
    uint64_t seed;
    uint32_t seeds;
    struct outcome *outcome; /* by case, then seed */
};

enum { CASES = STREAMS * LOADS * POLICIES };

static int outcome_run(void *context, size_t index, struct sl_error *err)
{
    struct acceptance *all = context;
    size_t which = index / all->seeds;
    struct stage *stage = calloc(1, sizeof(*stage));
    if (stage == NULL) {
        return sl_error_nomem(err);
    }
    stage->model = all->model;
    stage_play(stage, (unsigned)(which / POLICIES / LOADS), loads[which / POLICIES % LOADS],
               (unsigned)(which % POLICIES), all->seed + index % all->seeds, &all->outcome[index]);
    free(stage);
    return 0;
}

static struct outcome mean_of(const struct acceptance *all, size_t which)
{
    struct outcome mean = {0};
    for (uint32_t i = 0; i < all->seeds; i++) {
        const struct outcome *outcome = &all->outcome[which * all->seeds + i];
        mean.asked += outcome->asked / all->seeds;
        mean.accepted += outcome->accepted / all->seeds;
        mean.work += outcome->work / all->seeds;
    }
    return mean;
}

static double percent_more(double ours_is, double theirs)
{
    return theirs > 0 ? 100 * (ours_is / theirs - 1) : 0;
}

static void put_row(struct sl_columns *columns, const struct acceptance *all, size_t which)
{
    size_t base = which - which % POLICIES;
    struct outcome is = mean_of(all, which);
    sl_columns_row(columns);
    sl_columns_put(columns, 0, "%s", streams[which / POLICIES / LOADS].name);
    sl_columns_put(columns, 1, "%.0f", 100 * loads[which / POLICIES % LOADS]);
    sl_columns_put(columns, 2, "%s", policies[which % POLICIES].name);
    sl_columns_put(columns, 3, "%.0f", is.accepted);
    sl_columns_put(columns, 4, "%.0f", is.work / 1000);
    for (unsigned p = 0; which % POLICIES == POLICIES - 1 && p < POLICIES - 1; p++) {
        struct outcome other = mean_of(all, base + p);
        sl_columns_put(columns, 5 + p, "%+.1f", percent_more(is.accepted, other.accepted));
    }
}

static void write_table(const struct acceptance *all, struct sl_buf *out)
{
    static const char *const titles[] = {"stream", "load %",           "policy",         "accepted",
                                         "work",   "over first fit %", "over best fit %"};
    enum { TITLES = sizeof(titles) / sizeof(titles[0]) };
    struct sl_columns columns;
    sl_buf_printf(out,
                  "Asks accepted until a tenth was refused, %d %s, mean of %u seeds (at most %d "
                  "asks)\n\n",
                  DEVICES, all->model->name, all->seeds, ASKS_MAX);
    sl_columns_init(&columns, TITLES);
    sl_columns_row(&columns);
    for (unsigned i = 0; i < TITLES; i++) {
        sl_columns_put(&columns, i, "%s", titles[i]);
    }
    for (size_t i = 0; i < CASES; i++) {
        put_row(&columns, all, i);
    }
    sl_columns_print(&columns, out);
}

static void write_csv(const struct acceptance *all, struct sl_buf *out)
{
    sl_buf_printf(out, "stream,load,policy,asked,accepted,work\n");
    for (size_t i = 0; i < CASES; i++) {
        struct outcome is = mean_of(all, i);
        sl_buf_printf(out, "%s,%.2f,%s,%.1f,%.1f,%.0f\n", streams[i / POLICIES / LOADS].name,
                      loads[i / POLICIES % LOADS], policies[i % POLICIES].name, is.asked,
                      is.accepted, is.work);
    }
}

static void write_json(const struct acceptance *all, struct sl_buf *out)
{
    sl_buf_printf(out, "{\"gpus\": %d, \"seeds\": %u, \"runs\": [", DEVICES, all->seeds);
    for (size_t i = 0; i < CASES; i++) {
        struct outcome is = mean_of(all, i);
        sl_buf_printf(out,
                      "%s\n  {\"stream\": \"%s\", \"load\": %.2f, \"policy\": \"%s\", "
                      "\"asked\": %.1f, \"accepted\": %.1f, \"work\": %.0f}",
                      i > 0 ? "," : "", streams[i / POLICIES / LOADS].name,
                      loads[i / POLICIES % LOADS], policies[i % POLICIES].name, is.asked,
                      is.accepted, is.work);
    }
    sl_buf_printf(out, "\n]}\n");
}

static void write_report(const struct acceptance *all, enum sl_output output, struct sl_buf *out)
{
    switch (output) {
    case SL_OUTPUT_CSV:
        write_csv(all, out);
        return;
    case SL_OUTPUT_JSON:
        write_json(all, out);
        return;
    case SL_OUTPUT_TABLE:
    case SL_OUTPUT_SVG:
        break;
    }
    write_table(all, out);
}

int sl_reproduce_mig_acceptance(const struct sl_reproduce_options *options, struct sl_buf *out,
                                struct sl_error *err)
{
    struct sl_crew crew = {options->threads, options->progress, "placing"};
    struct acceptance all = {.seed = options->seed, .seeds = options->seeds};
    all.model = sl_mig_model_find(SL_STR("NVIDIA-A100-SXM4-40GB"), 0);
    all.outcome = calloc((size_t)CASES * all.seeds, sizeof(*all.outcome));
    if (all.outcome == NULL || all.model == NULL) {
        free(all.outcome);
        return sl_error_nomem(err);
    }
    int rc = sl_crew_run(&crew, (size_t)CASES * all.seeds, outcome_run, &all, err);
    if (rc == 0) {
        write_report(&all, options->output, out);
    }
    free(all.outcome);
    return rc;
}
