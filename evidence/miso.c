/* reproduce miso: MISO (Li et al., SoCC'22) cuts each GPU for the jobs that are on it, by
 * how fast they run on which slice. Plays its method, whole GPUs and the best static cut on the
 * speeds that it measured. It moves running jobs to other slices, which sliced never does. */
#include <stdio.h>
#include <stdlib.h>

#include "evidence/reproduce.h"
#include "sim/input/csv.h"
#include "sim/input/cuts.h"
#include "sim/input/rng.h"
#include "sim/output/report.h"
#include "sim/play/crew.h"

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

struct study {
    struct kind kind[KINDS_MAX];
    size_t n_kinds;
    struct cut cut[CUTS_MAX]; /* the first is one instance of the whole GPU */
    size_t n_cuts;
    uint64_t seed;
    struct outcome *outcome; /* by seed */
};

enum scheme { WHOLE, STATIC, MISO, SCHEMES };

struct outcome {
    double completion[SCHEMES]; /* mean seconds from submission to end */
    size_t cut;                 /* the best static one */
};

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

static struct kind *kind_named(struct study *study, const char *name)
{
    for (size_t i = 0; i < study->n_kinds; i++) {
        if (strcmp(study->kind[i].name, name) == 0) {
            return &study->kind[i];
        }
    }
    if (study->n_kinds == KINDS_MAX) {
        return NULL;
    }
    struct kind *kind = &study->kind[study->n_kinds++];
    *kind = (struct kind){.speed = {0}};
    (void)snprintf(kind->name, sizeof(kind->name), "%s", name);
    return kind;
}

enum column { MODEL, BATCH, PROFILE, SPEED, COLUMNS };

static int name_length(struct sl_str text)
{
    return text.len < 30 ? (int)text.len : 30;
}

static int take_speed(struct study *study, const struct sl_csv *csv, const int *column,
                      struct sl_error *err)
{
    char name[64];
    const struct sl_str *field = csv->field;
    int slice = slice_of(field[column[PROFILE]]);
    int64_t millionths = 0;
    (void)snprintf(name, sizeof(name), "%.*s/%.*s", name_length(field[column[MODEL]]),
                   field[column[MODEL]].s, name_length(field[column[BATCH]]),
                   field[column[BATCH]].s);
    if (slice < 0) {
        return sl_csv_wrong(csv, column[PROFILE], "a profile of the A100 40 GB", err);
    }
    if (sl_csv_time(csv, column[SPEED], 1000000, &millionths, err) < 0) {
        return -1;
    }
    struct kind *kind = kind_named(study, name);
    if (kind == NULL) {
        return sl_error_set(err, SL_ERR_LIMIT, "more than %d models and batch sizes", KINDS_MAX);
    }
    kind->speed[slice] = (double)millionths / 1e6;
    return 0;
}

static int read_rows(struct study *study, struct sl_csv *csv, struct sl_error *err)
{
    static const char *const names[COLUMNS] = {"model", "batch", "profile", "speed_vs_7g"};
    int column[COLUMNS];
    for (int i = 0; i < COLUMNS; i++) {
        column[i] = sl_csv_need(csv, names[i], err);
        if (column[i] < 0) {
            return -1;
        }
    }
    int rc = sl_csv_next(csv, err);
    while (rc == 1) {
        rc = take_speed(study, csv, column, err) < 0 ? -1 : sl_csv_next(csv, err);
    }
    for (size_t i = 0; rc == 0 && i < study->n_kinds; i++) {
        if (study->kind[i].speed[SLICES - 1] <= 0) {
            return sl_error_set(err, SL_ERR_FIELD, "%s has no speed on %s", study->kind[i].name,
                                slices[SLICES - 1]);
        }
    }
    return rc;
}

static int study_read(struct study *study, const char *folder, struct sl_error *err)
{
    char path[PATH_TEXT];
    struct sl_csv csv;
    if (folder == NULL) {
        return sl_error_set(err, SL_ERR_NOTFOUND,
                            "needs --data FOLDER with miso/mig_iter_time.csv");
    }
    (void)snprintf(path, sizeof(path), "%s/miso/mig_iter_time.csv", folder);
    if (sl_csv_open(&csv, path, err) < 0) {
        return sl_csv_locate(path, err);
    }
    int rc = read_rows(study, &csv, err);
    sl_csv_close(&csv);
    if (rc == 0 && study->n_kinds == 0) {
        rc = sl_error_set(err, SL_ERR_FIELD, "no measured speed");
    }
    return rc < 0 ? sl_csv_locate(path, err) : 0;
}

static void study_cuts(struct study *study)
{
    const struct sl_mig_model *model = sl_model_named(SL_STR("NVIDIA-A100-SXM4-40GB"));
    struct sl_counts counts[CUTS_MAX];
    unsigned index[SLICES];
    unsigned wanted = 0;
    for (int i = 0; i < SLICES; i++) {
        index[i] = (unsigned)(sl_mig_profile_find(model, sl_str_of(slices[i])) - model->profiles);
        wanted |= 1U << index[i];
    }
    study->n_cuts = sl_counts_maximal(model, wanted, counts, CUTS_MAX);
    for (size_t c = 0; c < study->n_cuts; c++) {
        struct cut *cut = &study->cut[c];
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
    const struct study *study;
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
static double speeds_best(const struct study *study, const struct kind *const *kind, int n,
                          int given[AT_ONCE])
{
    double best = -1;
    int trial[AT_ONCE] = {0};
    for (size_t c = 0; c < study->n_cuts; c++) {
        int free[SLICES];
        if (study->cut[c].n < n) {
            continue;
        }
        memcpy(free, study->cut[c].count, sizeof(free));
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
static void gpu_recut(struct play *play, struct gpu *gpu, bool arrival)
{
    const struct kind *kind[AT_ONCE];
    int given[AT_ONCE] = {0};
    bool same = !arrival;
    for (int i = 0; i < gpu->n; i++) {
        kind[i] = gpu->job[i]->kind;
    }
    if (gpu->n == 0 || speeds_best(play->study, kind, gpu->n, given) < 0) {
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
            speeds_best(play->study, kind, gpu->n + 1, given) >= 0) {
            best = gpu;
        }
    }
    if (best == NULL) {
        return false;
    }
    best->job[best->n++] = job;
    gpu_recut(play, best, true);
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
            gpu_recut(play, gpu, false);
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

static void draw_jobs(const struct study *study, uint64_t seed, struct play *play)
{
    struct sl_rng rng;
    double at = 0;
    sl_rng_seed(&rng, seed, 1);
    for (int i = 0; i < JOBS; i++) {
        struct job *job = &play->job[i];
        double span = sl_rng_log((double)LONGEST_S / SHORTEST_S);
        job->kind = &study->kind[sl_rng_below(&rng, study->n_kinds)];
        job->submit = at;
        job->left = SHORTEST_S * sl_rng_exp(sl_rng_unit(&rng) * span);
        at += GAP_S * sl_rng_exponential(&rng);
    }
}

static double play_with(const struct study *study, uint64_t seed, const struct cut *cut)
{
    struct play play = {.study = study, .cut = cut};
    draw_jobs(study, seed, &play);
    return play_run(&play);
}

static int study_seed(void *context, size_t index, struct sl_error *err)
{
    struct study *study = context;
    struct outcome *out = &study->outcome[index];
    uint64_t seed = study->seed + index;
    (void)err;
    out->completion[MISO] = play_with(study, seed, NULL);
    out->completion[STATIC] = -1;
    for (size_t c = 0; c < study->n_cuts; c++) {
        double mean = play_with(study, seed, &study->cut[c]);
        if (study->cut[c].count[SLICES - 1] == 1) {
            out->completion[WHOLE] = mean;
        }
        if (mean >= 0 && (out->completion[STATIC] < 0 || mean < out->completion[STATIC])) {
            out->completion[STATIC] = mean;
            out->cut = c;
        }
    }
    return 0;
}

/* ---- the report ---- */

static const struct row {
    const char *name;
    double of_whole; /* published; 0: not there */
    double of_static;
} rows[SCHEMES] = {
    [WHOLE] = {"whole GPUs", 1, 0},
    [STATIC] = {"best static cut", 0, 1},
    [MISO] = {"MISO's method", 1 - 0.49, 1 - 0.16},
};

/* seeds values: the completion of one scheme, over that of another unless `of` is SCHEMES. */
static struct sl_band band_of(const struct study *study, uint32_t seeds, enum scheme scheme,
                              enum scheme of, double *values)
{
    for (uint32_t i = 0; i < seeds; i++) {
        const double *completion = study->outcome[i].completion;
        values[i] = completion[scheme] / (of == SCHEMES ? 1 : completion[of]);
    }
    return sl_band_of(values, seeds);
}

/* The cut that was best under the most seeds. */
static size_t commonest_cut(const struct study *study, uint32_t seeds, uint32_t *times)
{
    uint32_t count[CUTS_MAX] = {0};
    size_t best = 0;
    for (uint32_t i = 0; i < seeds; i++) {
        count[study->outcome[i].cut]++;
    }
    for (size_t c = 0; c < study->n_cuts; c++) {
        best = count[c] > count[best] ? c : best;
    }
    *times = count[best];
    return best;
}

static void put_ratio(struct sl_columns *columns, size_t column, struct sl_band band, double paper)
{
    sl_columns_put(columns, column, "%.3f (%.3f-%.3f)", band.median, band.p5, band.p95);
    if (paper > 0) {
        sl_columns_put(columns, column + 1, "%.2f", paper);
    } else {
        sl_columns_put(columns, column + 1, "-");
    }
}

static void write_table(const struct study *study, uint32_t seeds, double *values,
                        struct sl_buf *out)
{
    static const char *const head[] = {"",          "mean completion, s", "of whole GPUs",
                                       "published", "of best static",     "published"};
    struct sl_columns columns;
    uint32_t times = 0;
    sl_buf_printf(out,
                  "MISO (Li et al., SoCC'22): %d jobs on %d A100 40GB, gaps exponential of mean "
                  "%d s, run times\non a whole GPU of %d to %d s, their logarithm even; measured "
                  "speeds of %zu models and batch sizes;\njobs stand still for %d s when their GPU "
                  "is cut anew\n\n",
                  JOBS, GPUS, GAP_S, SHORTEST_S, LONGEST_S, study->n_kinds, PAUSE_S);
    sl_columns_init(&columns, sizeof(head) / sizeof(head[0]));
    sl_columns_row(&columns);
    for (size_t i = 0; i < columns.n_columns; i++) {
        sl_columns_put(&columns, i, "%s", head[i]);
    }
    for (enum scheme s = 0; s < SCHEMES; s++) {
        struct sl_band is = band_of(study, seeds, s, SCHEMES, values);
        sl_columns_row(&columns);
        sl_columns_put(&columns, 0, "%s", rows[s].name);
        sl_columns_put(&columns, 1, "%.0f (%.0f-%.0f)", is.median, is.p5, is.p95);
        put_ratio(&columns, 2, band_of(study, seeds, s, WHOLE, values), rows[s].of_whole);
        put_ratio(&columns, 4, band_of(study, seeds, s, STATIC, values), rows[s].of_static);
    }
    sl_columns_print(&columns, out);
    const char *text = study->cut[commonest_cut(study, seeds, &times)].text;
    sl_buf_printf(
        out,
        "\n%u seeds: medians, p5-p95 in parentheses. Best static: the best of %zu cuts in "
        "hindsight, the same on\nall GPUs; most often (%u times) %s\n",
        seeds, study->n_cuts, times, text);
}

static void write_rows(const struct study *study, uint32_t seeds, bool json, double *values,
                       struct sl_buf *out)
{
    sl_buf_puts(out, json ? "{\"experiment\": \"miso\", \"rows\": [\n"
                          : "scheme,completion_s,of_whole,of_static\n");
    for (enum scheme s = 0; s < SCHEMES; s++) {
        double is = band_of(study, seeds, s, SCHEMES, values).median;
        double whole = band_of(study, seeds, s, WHOLE, values).median;
        double fixed = band_of(study, seeds, s, STATIC, values).median;
        if (json) {
            sl_buf_printf(out,
                          "  {\"scheme\": \"%s\", \"completion\": %.6f, \"ofWhole\": %.6f, "
                          "\"ofStatic\": %.6f}%s\n",
                          rows[s].name, is, whole, fixed, s + 1 < SCHEMES ? "," : "");
        } else {
            sl_buf_printf(out, "%s,%.6f,%.6f,%.6f\n", rows[s].name, is, whole, fixed);
        }
    }
    sl_buf_puts(out, json ? "]}\n" : "");
}

int sl_reproduce_miso(const struct sl_reproduce_options *options, struct sl_buf *out,
                      struct sl_error *err)
{
    struct sl_crew crew = {options->threads, options->progress, "cutting"};
    struct study *study = calloc(1, sizeof(*study));
    double *values = calloc(options->seeds, sizeof(*values));
    int rc = -1;
    if (study != NULL) {
        study->seed = options->seed;
        study->outcome = calloc(options->seeds, sizeof(*study->outcome));
    }
    if (study == NULL || values == NULL || study->outcome == NULL) {
        (void)sl_error_nomem(err);
        goto done;
    }
    if (study_read(study, options->data, err) == 0) {
        study_cuts(study);
        rc = sl_crew_run(&crew, options->seeds, study_seed, study, err);
    }
    if (rc == 0 && options->output == SL_OUTPUT_TABLE) {
        write_table(study, options->seeds, values, out);
    } else if (rc == 0) {
        write_rows(study, options->seeds, options->output == SL_OUTPUT_JSON, values, out);
    }
done:
    if (study != NULL) {
        free(study->outcome);
    }
    free(study);
    free(values);
    return rc;
}
