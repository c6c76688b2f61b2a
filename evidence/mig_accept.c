/* reproduce mig-acceptance: asks for MIG profiles come at constant load to an empty
 * cluster of A100 40GB GPUs, which are partitioned as asked, until a tenth of the asks is refused.
 * The number accepted by then depends on where each instance is put. */
#include <stdlib.h>

#include "evidence/experiments.h"
#include "evidence/shape/study.h"
#include "sim/input/rng.h"
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

enum { ASKED, ACCEPTED, WORK, FIGURES }; /* work: slices times the time they are held for */

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
                       uint64_t seed, double figure[FIGURES])
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
            figure[WORK] += (double)life * stage->model->profiles[profile].memory;
        }
        ask++;
    }
    figure[ASKED] = (double)ask;
    figure[ACCEPTED] = (double)(ask - refused);
}

/* ---- all of them ---- */

enum { CASES = STREAMS * LOADS * POLICIES, OURS = POLICIES - 1 };

enum { STREAM, LOAD_PERCENT, LOAD, POLICY, OVER_FIRST = 7 };
static const struct sl_column columns[] = {
    [STREAM] = SL_COLUMN("stream", "stream", 0, 0),
    [LOAD_PERCENT] = SL_COLUMN("load %", NULL, 0, 0),
    [LOAD] = SL_COLUMN(NULL, "load", 0, 2),
    [POLICY] = SL_COLUMN("policy", "policy", 0, 0),
    {NULL, "asked", 0, 1, SL_HOW_MEAN, ASKED, SL_OF_NONE},
    {"accepted", "accepted", 0, 1, SL_HOW_MEAN, ACCEPTED, SL_OF_NONE},
    {"work", "work", 0, 0, SL_HOW_MEAN, WORK, SL_OF_NONE},
    [OVER_FIRST] = SL_COLUMN("over first fit %", NULL, 1, 0),
    SL_COLUMN("over best fit %", NULL, 1, 0),
};

static int case_play(void *context, size_t which, uint64_t seed, double *figure,
                     struct sl_error *err)
{
    struct stage *stage = calloc(1, sizeof(*stage));
    if (stage == NULL) {
        return sl_error_nomem(err);
    }
    stage->model = context;
    stage_play(stage, (unsigned)(which / POLICIES / LOADS), loads[which / POLICIES % LOADS],
               (unsigned)(which % POLICIES), seed, figure);
    free(stage);
    return 0;
}

static void fill(struct sl_study *study, struct sl_rows *rows)
{
    sl_buf_printf(
        &rows->about,
        "Asks accepted until a tenth was refused, %d A100 40GB, mean of %u seeds (at most "
        "%d asks)\n\n",
        DEVICES, study->seeds, ASKS_MAX);
    for (size_t i = 0; i < CASES; i++) {
        double load = loads[i / POLICIES % LOADS];
        sl_rows_add(rows, SL_ROW_EVERYWHERE);
        sl_rows_text(rows, STREAM, "%s", streams[i / POLICIES / LOADS].name);
        sl_rows_number(rows, LOAD_PERCENT, 100 * load);
        sl_rows_number(rows, LOAD, load);
        sl_rows_text(rows, POLICY, "%s", policies[i % POLICIES].name);
        sl_study_fill(study, i, rows);
        for (unsigned p = 0; i % POLICIES == OURS && p < OURS; p++) {
            double other = sl_study_mean(study, i - OURS + p, ACCEPTED);
            double more = other > 0 ? sl_study_mean(study, i, ACCEPTED) / other - 1 : 0;
            sl_rows_number(rows, OVER_FIRST + p, 100 * more);
        }
    }
}

static int play(const struct sl_reproduce_options *options, struct sl_rows *rows,
                struct sl_error *err)
{
    struct sl_study study;
    const struct sl_mig_model *model = sl_mig_model_find(SL_STR("NVIDIA-A100-SXM4-40GB"), 0);
    int rc = sl_study_init(&study, CASES, POLICIES, FIGURES, options, err);
    rc = rc < 0 ? rc : sl_study_play(&study, options, "placing", case_play, (void *)model, err);
    if (rc == 0) {
        fill(&study, rows);
    }
    sl_study_free(&study);
    return rc;
}

const struct sl_reproduction sl_mig_acceptance = {
    .name = "mig-acceptance",
    .summary = "asks for MIG instances accepted on 100 A100 until a tenth is refused",
    .seeds = 20,
    SL_COLUMNS(columns),
    .run = play,
};
