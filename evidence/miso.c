/* reproduce miso: MISO (Li et al., SoCC'22) cuts each GPU for the jobs that are on it, by
 * how fast they run on which slice. Plays its method, whole GPUs and the best static cut on the
 * speeds that it measured. It moves running jobs to other slices, which sliced never does. */
#include <stdio.h>
#include <stdlib.h>

#include "evidence/experiments.h"
#include "evidence/shape/study.h"
#include "sim/input/csv/record.h"
#include "sim/input/cuts.h"
#include "sim/input/rng.h"

enum {
    GPUS = 8,
    JOBS = 100,
    GAP_S = 60,      /* mean, between two submissions */
    SHORTEST_S = 60, /* on a whole GPU */
    LONGEST_S = 7200,
    PAUSE_S = 10, /* for which the jobs of a GPU stand still when they get other slices */
    SLICES = 5,   /* profiles that were measured */
    KINDS_MAX = 64,
    AT_ONCE = 7, /* jobs on one GPU */
    CUTS_MAX = 32,
    PATH_TEXT = 4096,
};

static const char *const slices[SLICES] = {"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"};

/* A model at a batch size. */
struct kind {
    char name[64];
    double speed[SLICES]; /* of that on a whole GPU; 0: not measured, since it does not fit */
};

/* A cut that leaves no room. */
struct cut {
    char text[SL_CUT_TEXT_MAX];
    int count[SLICES];
    int n;
};

struct speeds {
    struct kind kind[KINDS_MAX];
    size_t n_kinds;
    struct cut cut[CUTS_MAX]; /* the first is one instance of the whole GPU */
    size_t n_cuts;
};

enum scheme { WHOLE, STATIC, MISO, SCHEMES };

/* ---- the measured speeds ---- */

static int slice_of(struct sl_str name)
{
    for (int i = 0; i < SLICES; i++) {
        if (sl_str_eq(name, sl_str_of(slices[i]))) {
            return i;
        }
    }
    return -1;
}

static struct kind *kind_named(struct speeds *speeds, const char *name)
{
    for (size_t i = 0; i < speeds->n_kinds; i++) {
        if (strcmp(speeds->kind[i].name, name) == 0) {
            return &speeds->kind[i];
        }
    }
    if (speeds->n_kinds == KINDS_MAX) {
        return NULL;
    }
    struct kind *kind = &speeds->kind[speeds->n_kinds++];
    *kind = (struct kind){.speed = {0}};
    (void)snprintf(kind->name, sizeof(kind->name), "%s", name);
    return kind;
}

struct record {
    struct sl_str model;
    struct sl_str batch;
    struct sl_str profile;
    int64_t millionths;
};

static const struct sl_field fields[] = {
    {"model", SL_FIELD_TEXT, .at = offsetof(struct record, model)},
    {"batch", SL_FIELD_TEXT, .at = offsetof(struct record, batch)},
    {"profile", SL_FIELD_TEXT, .at = offsetof(struct record, profile)},
    {"speed_vs_7g", SL_FIELD_SECONDS, .at = offsetof(struct record, millionths)},
};

static int name_length(struct sl_str text)
{
    return text.len < 30 ? (int)text.len : 30;
}

static int take_speed(void *context, void *taken, const struct sl_csv *csv, struct sl_error *err)
{
    struct speeds *speeds = context;
    const struct record *record = taken;
    char name[64];
    int slice = slice_of(record->profile);
    (void)snprintf(name, sizeof(name), "%.*s/%.*s", name_length(record->model), record->model.s,
                   name_length(record->batch), record->batch.s);
    if (slice < 0) {
        return sl_record_wrong(csv, "profile", "a profile of the A100 40 GB", err);
    }
    struct kind *kind = kind_named(speeds, name);
    if (kind == NULL) {
        return sl_error_set(err, SL_ERR_LIMIT, "more than %d models and batch sizes", KINDS_MAX);
    }
    kind->speed[slice] = (double)record->millionths / 1e6;
    return 0;
}

static int speeds_read(struct speeds *speeds, const char *folder, struct sl_error *err)
{
    char path[PATH_TEXT];
    struct record record = {.millionths = 0};
    const struct sl_records records = SL_RECORDS(fields, take_speed, record, speeds);
    (void)snprintf(path, sizeof(path), "%s/miso/mig_iter_time.csv", folder);
    if (sl_records_read(&records, path, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < speeds->n_kinds; i++) {
        if (speeds->kind[i].speed[SLICES - 1] <= 0) {
            return sl_error_set(err, SL_ERR_FIELD, "%s: %s has no speed on %s", path,
                                speeds->kind[i].name, slices[SLICES - 1]);
        }
    }
    return speeds->n_kinds > 0 ? 0 : sl_error_set(err, SL_ERR_FIELD, "%s: no measured speed", path);
}

static void speeds_cuts(struct speeds *speeds)
{
    const struct sl_mig_model *model = sl_model_named(SL_STR("NVIDIA-A100-SXM4-40GB"));
    struct sl_counts counts[CUTS_MAX];
    unsigned index[SLICES];
    unsigned wanted = 0;
    for (int i = 0; i < SLICES; i++) {
        index[i] = (unsigned)(sl_mig_profile_find(model, sl_str_of(slices[i])) - model->profiles);
        wanted |= 1U << index[i];
    }
    speeds->n_cuts = sl_counts_maximal(model, wanted, counts, CUTS_MAX);
    for (size_t c = 0; c < speeds->n_cuts; c++) {
        struct cut *cut = &speeds->cut[c];
        (void)sl_counts_print(&counts[c], model, cut->text, sizeof(cut->text));
        cut->n = (int)sl_counts_instances(&counts[c]);
        for (int i = 0; i < SLICES; i++) {
            cut->count[i] = counts[c].of[index[i]];
        }
    }
}

/* ---- GPUs and their jobs ---- */

struct job {
    const struct kind *kind;
    double submit;
    double left; /* seconds on a whole GPU, when its slice was given */
    double end;
    int slice;
};

struct gpu {
    struct job *job[AT_ONCE];
    int n;
    double since; /* when the slices were given; the jobs run from then on */
};

struct play {
    const struct speeds *speeds;
    const struct cut *cut; /* the static one; NULL: MISO's method */
    struct job job[JOBS];
    struct gpu gpu[GPUS];
    int arrived;
    int placed; /* first come, first served */
    int ended;
    double now;
};

/* The most that the jobs from `at` on can run at together with those slices, and their slices in
 * `given`; negative when one of them fits on none. */
static double speeds_search(const struct kind *const *kind, int n, int at, int free[SLICES],
                            int *given)
{
    double best = -1;
    int trial[AT_ONCE] = {0};
    if (at == n) {
        return 0;
    }
    for (int s = 0; s < SLICES; s++) {
        if (free[s] == 0 || kind[at]->speed[s] <= 0) {
            continue;
        }
        free[s]--;
        double rest = speeds_search(kind, n, at + 1, free, trial);
        free[s]++;
        if (rest >= 0 && rest + kind[at]->speed[s] > best) {
            best = rest + kind[at]->speed[s];
            memcpy(given + at + 1, trial + at + 1, sizeof(*given) * (size_t)(n - at - 1));
            given[at] = s;
        }
    }
    return best;
}

/* MISO's optimiser: among all cuts, the one on which these jobs have the highest sum of speeds. */
static double speeds_best(const struct speeds *speeds, const struct kind *const *kind, int n,
                          int given[AT_ONCE])
{
    double best = -1;
    int trial[AT_ONCE] = {0};
    for (size_t c = 0; c < speeds->n_cuts; c++) {
        int free[SLICES];
        if (speeds->cut[c].n < n) {
            continue;
        }
        memcpy(free, speeds->cut[c].count, sizeof(free));
        double sum = speeds_search(kind, n, 0, free, trial);
        if (sum > best) {
            best = sum;
            memcpy(given, trial, sizeof(trial));
        }
    }
    return best;
}

static double job_speed(const struct job *job)
{
    return job->kind->speed[job->slice];
}

static void job_run(struct job *job, int slice, double since)
{
    job->slice = slice;
    job->end = since + job->left / job_speed(job);
}

/* Cuts the GPU for its jobs. They stand still for a while if any of them changes its slice. */
static void gpu_cut(struct play *play, struct gpu *gpu, bool arrival)
{
    const struct kind *kind[AT_ONCE];
    int given[AT_ONCE] = {0};
    bool same = !arrival;
    for (int i = 0; i < gpu->n; i++) {
        kind[i] = gpu->job[i]->kind;
    }
    if (gpu->n == 0 || speeds_best(play->speeds, kind, gpu->n, given) < 0) {
        return;
    }
    for (int i = 0; i < gpu->n; i++) {
        same = same && given[i] == gpu->job[i]->slice;
    }
    if (same) {
        return;
    }
    double ran = play->now > gpu->since ? play->now - gpu->since : 0;
    int old = arrival ? gpu->n - 1 : gpu->n;
    for (int i = 0; i < old; i++) {
        gpu->job[i]->left -= ran * job_speed(gpu->job[i]);
    }
    gpu->since = play->now + PAUSE_S;
    for (int i = 0; i < gpu->n; i++) {
        job_run(gpu->job[i], given[i], gpu->since);
    }
}

/* The GPU with the fewest jobs that can be cut so that each of them and this one fits. */
static bool place_anew(struct play *play, struct job *job)
{
    struct gpu *best = NULL;
    for (int g = 0; g < GPUS; g++) {
        struct gpu *gpu = &play->gpu[g];
        const struct kind *kind[AT_ONCE + 1];
        int given[AT_ONCE];
        for (int i = 0; i < gpu->n; i++) {
            kind[i] = gpu->job[i]->kind;
        }
        kind[gpu->n] = job->kind;
        if (gpu->n < AT_ONCE && (best == NULL || gpu->n < best->n) &&
            speeds_best(play->speeds, kind, gpu->n + 1, given) >= 0) {
            best = gpu;
        }
    }
    if (best == NULL) {
        return false;
    }
    best->job[best->n++] = job;
    gpu_cut(play, best, true);
    return true;
}

/* On the free slice on which it runs fastest. */
static bool place_static(struct play *play, struct job *job)
{
    struct gpu *best = NULL;
    int at = 0;
    for (int g = 0; g < GPUS; g++) {
        struct gpu *gpu = &play->gpu[g];
        int free[SLICES];
        memcpy(free, play->cut->count, sizeof(free));
        for (int i = 0; i < gpu->n; i++) {
            free[gpu->job[i]->slice]--;
        }
        for (int s = 0; s < SLICES; s++) {
            double speed = job->kind->speed[s];
            if (free[s] > 0 && speed > 0 && (best == NULL || speed > job->kind->speed[at])) {
                best = gpu;
                at = s;
            }
        }
    }
    if (best == NULL) {
        return false;
    }
    best->job[best->n++] = job;
    job_run(job, at, play->now);
    return true;
}

/* ---- time ---- */

static double next_event(const struct play *play)
{
    double at = play->arrived < JOBS ? play->job[play->arrived].submit : -1;
    for (int g = 0; g < GPUS; g++) {
        for (int i = 0; i < play->gpu[g].n; i++) {
            double end = play->gpu[g].job[i]->end;
            at = at < 0 || end < at ? end : at;
        }
    }
    return at;
}

static void end_jobs(struct play *play)
{
    for (int g = 0; g < GPUS; g++) {
        struct gpu *gpu = &play->gpu[g];
        int before = gpu->n;
        for (int i = 0; i < gpu->n;) {
            if (gpu->job[i]->end > play->now) {
                i++;
                continue;
            }
            gpu->job[i] = gpu->job[--gpu->n];
            play->ended++;
        }
        if (play->cut == NULL && gpu->n < before) {
            gpu_cut(play, gpu, false);
        }
    }
}

/* Mean completion time; negative when a job fits on no slice. */
static double play_run(struct play *play)
{
    double sum = 0;
    while (play->ended < JOBS) {
        double at = next_event(play);
        if (at < 0) {
            return -1;
        }
        play->now = at;
        end_jobs(play);
        while (play->arrived < JOBS && play->job[play->arrived].submit <= at) {
            play->arrived++;
        }
        while (play->placed < play->arrived) {
            struct job *job = &play->job[play->placed];
            if (!(play->cut == NULL ? place_anew(play, job) : place_static(play, job))) {
                break;
            }
            play->placed++;
        }
    }
    for (int i = 0; i < JOBS; i++) {
        sum += play->job[i].end - play->job[i].submit;
    }
    return sum / JOBS;
}

static void draw_jobs(const struct speeds *speeds, uint64_t seed, struct play *play)
{
    struct sl_rng rng;
    double at = 0;
    sl_rng_seed(&rng, seed, 1);
    for (int i = 0; i < JOBS; i++) {
        struct job *job = &play->job[i];
        double span = sl_rng_log((double)LONGEST_S / SHORTEST_S);
        job->kind = &speeds->kind[sl_rng_below(&rng, speeds->n_kinds)];
        job->submit = at;
        job->left = SHORTEST_S * sl_rng_exp(sl_rng_unit(&rng) * span);
        at += GAP_S * sl_rng_exponential(&rng);
    }
}

static double play_with(const struct speeds *speeds, uint64_t seed, const struct cut *cut)
{
    struct play play = {.speeds = speeds, .cut = cut};
    draw_jobs(speeds, seed, &play);
    return play_run(&play);
}

/* Mean seconds from submission to end, and of the static scheme which cut was best. */
enum { COMPLETION, CUT, FIGURES };

static int scheme_play(void *context, size_t which, uint64_t seed, double *figure,
                       struct sl_error *err)
{
    const struct speeds *speeds = context;
    (void)err;
    if (which == MISO) {
        figure[COMPLETION] = play_with(speeds, seed, NULL);
        return 0;
    }
    figure[COMPLETION] = -1;
    for (size_t c = 0; c < speeds->n_cuts; c++) {
        if (which == WHOLE && speeds->cut[c].count[SLICES - 1] == 0) {
            continue;
        }
        double mean = play_with(speeds, seed, &speeds->cut[c]);
        if (mean >= 0 && (figure[COMPLETION] < 0 || mean < figure[COMPLETION])) {
            figure[COMPLETION] = mean;
            figure[CUT] = (double)c;
        }
    }
    return 0;
}

/* ---- the report ---- */

enum { SCHEME, OF_WHOLE = 2, PUBLISHED_WHOLE, OF_STATIC, PUBLISHED_STATIC };
static const struct sl_column columns[] = {
    [SCHEME] = SL_COLUMN("", "scheme", 0, 0),
    {"mean completion, s", "completion", 0, 6, SL_HOW_BAND, COMPLETION, SL_OF_NONE},
    [OF_WHOLE] = {"of whole GPUs", "ofWhole", 3, 6, SL_HOW_BAND, COMPLETION, WHOLE},
    [PUBLISHED_WHOLE] = SL_COLUMN("published", NULL, 2, 0),
    [OF_STATIC] = {"of best static", "ofStatic", 3, 6, SL_HOW_BAND, COMPLETION, STATIC},
    [PUBLISHED_STATIC] = SL_COLUMN("published", NULL, 2, 0),
};

/* The cut that was best under the most seeds. */
static size_t commonest_cut(const struct sl_study *study, uint32_t *times)
{
    uint32_t count[CUTS_MAX] = {0};
    size_t best = 0;
    for (uint32_t i = 0; i < study->seeds; i++) {
        count[(size_t)sl_study_at(study, STATIC, i)[CUT]]++;
    }
    for (size_t c = 0; c < CUTS_MAX; c++) {
        best = count[c] > count[best] ? c : best;
    }
    *times = count[best];
    return best;
}

static void fill(struct sl_study *study, const struct speeds *speeds, struct sl_rows *rows)
{
    static const char *const names[SCHEMES] = {"whole GPUs", "best static cut", "MISO's method"};
    uint32_t times = 0;
    sl_buf_printf(&rows->about,
                  "MISO (Li et al., SoCC'22): %d jobs on %d A100 40GB, gaps exponential of mean "
                  "%d s, run times\non a whole GPU of %d to %d s, their logarithm even; measured "
                  "speeds of %zu models and batch sizes;\njobs stand still for %d s when their GPU "
                  "is cut anew\n\n",
                  JOBS, GPUS, GAP_S, SHORTEST_S, LONGEST_S, speeds->n_kinds, PAUSE_S);
    for (size_t s = 0; s < SCHEMES; s++) {
        sl_rows_add(rows, SL_ROW_EVERYWHERE);
        sl_rows_text(rows, SCHEME, "%s", names[s]);
        sl_study_fill(study, s, rows);
        if (s != STATIC) {
            sl_rows_number(rows, PUBLISHED_WHOLE, s == MISO ? 1 - 0.49 : 1);
        }
        if (s != WHOLE) {
            sl_rows_number(rows, PUBLISHED_STATIC, s == MISO ? 1 - 0.16 : 1);
        }
    }
    const char *text = speeds->cut[commonest_cut(study, &times)].text;
    sl_buf_printf(
        &rows->closing,
        "\n%u seeds: medians, p5-p95 in parentheses. Best static: the best of %zu cuts in "
        "hindsight, the same on\nall GPUs; most often (%u times) %s\n",
        study->seeds, speeds->n_cuts, times, text);
}

static int play(const struct sl_reproduce_options *options, struct sl_rows *rows,
                struct sl_error *err)
{
    struct sl_study study = {.value = NULL};
    struct speeds *speeds = calloc(1, sizeof(*speeds));
    if (speeds == NULL) {
        return sl_error_nomem(err);
    }
    int rc = speeds_read(speeds, options->data, err);
    if (rc == 0) {
        speeds_cuts(speeds);
        rc = sl_study_init(&study, SCHEMES, SCHEMES, FIGURES, options, err);
    }
    rc = rc < 0 ? rc : sl_study_play(&study, options, "cutting", scheme_play, speeds, err);
    if (rc == 0) {
        fill(&study, speeds, rows);
    }
    sl_study_free(&study);
    free(speeds);
    return rc;
}

const struct sl_reproduction sl_miso = {
    .name = "miso",
    .summary = "MISO: A100 cut for the jobs on them, against whole GPUs and the best static cut",
    .data = "miso/mig_iter_time.csv",
    .seeds = 100,
    SL_COLUMNS(columns),
    .run = play,
};
