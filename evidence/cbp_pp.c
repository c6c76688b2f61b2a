/* reproduce cbp-pp: Ferikoglou et al., "Resource Aware GPU Scheduling in Kubernetes
 * Infrastructure": gives the windows on which their scheduler decided to core's Res-Ag, CBP and PP,
 * and compares what these decide, and every number on the way, with what was logged. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "evidence/experiments.h"
#include "evidence/shape/data.h"
#include "sliced/harvest.h"

enum {
    TOTAL_MIB = 32510, /* of their V100, as their scheduler counted */
    ASK_MIB = 6994,    /* of each job; a run that over-provisions by N % asks for N % more */
    WINDOW_MAX = 4096,
    DECISIONS_MAX = 100000,
    NAME_MAX_LEN = 128,
    PATH_TEXT = 4096,
    RUNS_MAX = 32,
    NUMBERS = 4, /* that were logged of a decision */
};

static const char file_name[] = "cbp_pp_accept_golden.json";

/* One pod of the log that was accepted, or was not. */
struct decision {
    char pod[NAME_MAX_LEN];
    char by[8];                /* "CBP", "PP", or "no" */
    char file[NAME_MAX_LEN];   /* the run's log */
    double cov, p80, ac, pred; /* NAN: not logged */
    int32_t *used;             /* MiB; NULL: not logged */
    int32_t *free;             /* MiB; NULL: not logged */
    size_t n_used, n_free;
};

struct log {
    struct decision *decision;
    size_t n;
};

/* ---- reading ---- */

/* The member's number; NAN where none was logged. */
static double number_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* The member's text; "" where none was logged. */
static void take_text(const json_t *object, const char *name, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(object, name));
    (void)snprintf(out, size, "%s", text == NULL ? "" : text);
}

/* The member's samples, n of them; *out stays NULL where they were not logged. */
static int take_window(const json_t *object, const char *name, int32_t **out, size_t *n,
                       struct sl_error *err)
{
    const json_t *value = json_object_get(object, name);
    if (value == NULL || json_is_null(value)) {
        return 0;
    }
    *n = json_array_size(value);
    if (!json_is_array(value) || *n > WINDOW_MAX) {
        return sl_error_set(err, SL_ERR_TYPE, "%s: expected a list of at most %d numbers", name,
                            WINDOW_MAX);
    }
    *out = malloc((*n + 1) * sizeof(**out));
    if (*out == NULL) {
        return sl_error_nomem(err);
    }
    for (size_t i = 0; i < *n; i++) {
        double sample = json_number_value(json_array_get(value, i));
        if (!json_is_number(json_array_get(value, i)) || sample < 0 || sample > INT32_MAX) {
            return sl_error_set(err, SL_ERR_FIELD, "%s: expected samples of 0 MiB and more", name);
        }
        (*out)[i] = (int32_t)sample;
    }
    return 0;
}

static int decision_read(const json_t *object, struct decision *out, struct sl_error *err)
{
    take_text(object, "pod", out->pod, sizeof(out->pod));
    take_text(object, "file", out->file, sizeof(out->file));
    take_text(object, "by", out->by, sizeof(out->by));
    out->cov = number_of(object, "cov");
    out->p80 = number_of(object, "p80");
    out->ac = number_of(object, "ac");
    out->pred = number_of(object, "pred");
    if (take_window(object, "used", &out->used, &out->n_used, err) < 0 ||
        take_window(object, "free", &out->free, &out->n_free, err) < 0) {
        return -1;
    }
    if (json_is_null(json_object_get(object, "by"))) {
        (void)snprintf(out->by, sizeof(out->by), "no"); /* by no rule: not accepted */
    }
    if (strcmp(out->by, "CBP") != 0 && strcmp(out->by, "PP") != 0 && strcmp(out->by, "no") != 0) {
        return sl_error_set(err, SL_ERR_FIELD, "by: expected CBP, PP or no");
    }
    return out->used != NULL || out->free != NULL
               ? 0
               : sl_error_set(err, SL_ERR_FIELD, "expected the window, used or free");
}

static int decisions_read(const json_t *list, struct log *log, struct sl_error *err)
{
    size_t n = json_array_size(list);
    if (n == 0 || n > DECISIONS_MAX) {
        return sl_error_set(err, SL_ERR_FIELD, "expected a list of 1 to %d decisions",
                            DECISIONS_MAX);
    }
    log->decision = calloc(n, sizeof(*log->decision));
    if (log->decision == NULL) {
        return sl_error_nomem(err);
    }
    for (; log->n < n; log->n++) {
        if (decision_read(json_array_get(list, log->n), &log->decision[log->n], err) < 0) {
            struct sl_error said = *err;
            log->n++; /* it may hold a window */
            return sl_error_set(err, said.code, "decision %zu: %s", log->n, said.message);
        }
    }
    return 0;
}

static int log_read(struct log *log, const char *folder, struct sl_error *err)
{
    char path[PATH_TEXT];
    json_error_t wrong;
    if (sl_ferikoglou_path(folder, file_name, path, sizeof(path), err) < 0) {
        return -1;
    }
    json_t *list = json_load_file(path, 0, &wrong);
    if (list == NULL) {
        return sl_error_set(err, SL_ERR_SYNTAX, "%s:%d:%d: %s", path, wrong.line, wrong.column,
                            wrong.text);
    }
    int rc = decisions_read(list, log, err);
    json_decref(list);
    if (rc < 0) {
        struct sl_error said = *err;
        rc = sl_error_set(err, said.code, "%s: %s", path, said.message);
    }
    return rc;
}

/* ---- replay ---- */

/* One decision of core's, beside the logged one. */
struct replay {
    int64_t ask_mib;
    const char *by;     /* "CBP", "PP" or "no" */
    bool same_decision; /* by the same rule as in the log, or by none */
    int same[NUMBERS];  /* percentile, correlation, prediction, variation; -1: not logged */
};

/* "OVERPROV_100_custom-scheduler.log.gz": 200 % of a job's memory. */
static int64_t ask_of(const struct decision *decision)
{
    static const char prefix[] = "OVERPROV_";
    const char *number = strstr(decision->file, prefix);
    long percent = number == NULL ? 0 : strtol(number + sizeof(prefix) - 1, NULL, 10);
    return percent < 0 || percent > 10000 ? ASK_MIB : (int64_t)ASK_MIB * (100 + percent) / 100;
}

/* Equal as printed with that many decimals by C's %f, a unit of the last place aside; -1: not
 * logged. */
static int same(double here, double logged, int decimals)
{
    return isnan(logged) ? -1 : fabs(here - logged) <= 1.01 * pow(10, -decimals);
}

static void turn_over(const int32_t *from, size_t n, int32_t *out)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = TOTAL_MIB - from[i];
    }
}

static struct replay replay_of(const struct decision *d)
{
    struct replay replay = {ask_of(d), "no", false, {-1, -1, -1, -1}};
    int32_t turned[WINDOW_MAX];
    const int32_t *used = d->used;
    size_t n = d->n_used;
    struct sl_cbp cbp = {.room_mib = -1};
    struct sl_pp pp = {.room_mib = -1};
    if (d->free != NULL) {
        turn_over(d->free, d->n_free, turned);
        (void)sl_pp_of(turned, d->n_free, TOTAL_MIB, &pp);
        replay.same[1] = same(pp.correlation, d->ac, 6);
        replay.same[2] = isnan(d->pred) ? -1 : trunc(pp.free_mib) == d->pred;
        (void)sl_cbp_of(turned, d->n_free, TOTAL_MIB, &cbp);
        replay.same[3] = same(cbp.variation, d->cov, 6);
        used = used == NULL ? turned : used;
        n = d->used == NULL ? d->n_free : n;
    }
    (void)sl_cbp_of(used, n, TOTAL_MIB, &cbp);
    replay.same[0] = isnan(d->p80) ? -1 : cbp.used80_mib == (int32_t)d->p80;
    if (cbp.room_mib >= replay.ask_mib) {
        replay.by = "CBP";
    } else if (pp.room_mib >= replay.ask_mib) {
        replay.by = "PP";
    }
    replay.same_decision = strcmp(replay.by, d->by) == 0;
    return replay;
}

/* ---- the report ---- */

enum {
    LOG,
    POD,
    PUBLISHED,
    HERE,
    ASK,
    BY_CBP,
    BY_PP,
    ALIKE,
    FIRST_NUMBER,
};
static const struct sl_column columns[] = {
    [LOG] = SL_COLUMN("log", "log", 0, 0),
    [POD] = SL_COLUMN(NULL, "pod", 0, 0),
    [PUBLISHED] = SL_COLUMN(NULL, "published", 0, 0),
    [HERE] = SL_COLUMN(NULL, "here", 0, 0),
    [ASK] = SL_COLUMN("ask, MiB", "ask", 0, 0),
    [BY_CBP] = SL_COLUMN("by CBP", NULL, 0, 0),
    [BY_PP] = SL_COLUMN("by PP", NULL, 0, 0),
    [ALIKE] = SL_COLUMN("decided alike", NULL, 0, 0),
    [FIRST_NUMBER] = SL_COLUMN("80th percentile", "samePercentile", 0, 0),
    SL_COLUMN("correlation", "sameCorrelation", 0, 0),
    SL_COLUMN("prediction, MiB", "samePrediction", 0, 0),
    SL_COLUMN("variation", "sameVariation", 0, 0),
};

/* The decisions of one log, or of all. */
struct tally {
    const char *file;
    int64_t ask_mib; /* 0: several */
    size_t n, by_cbp, by_pp, agreed;
    size_t logged[NUMBERS];
    size_t same[NUMBERS];
};

static void tally_add(struct tally *tally, const struct decision *d, const struct replay *r)
{
    tally->n++;
    tally->by_cbp += strcmp(d->by, "CBP") == 0;
    tally->by_pp += strcmp(d->by, "PP") == 0;
    tally->agreed += r->same_decision;
    for (size_t i = 0; i < NUMBERS; i++) {
        tally->logged[i] += r->same[i] >= 0;
        tally->same[i] += r->same[i] == 1;
    }
}

static struct tally *tally_of(struct tally *tallies, size_t *n, const struct decision *d)
{
    for (size_t i = 0; i < *n; i++) {
        if (strcmp(tallies[i].file, d->file) == 0) {
            return &tallies[i];
        }
    }
    if (*n == RUNS_MAX) {
        return &tallies[RUNS_MAX - 1];
    }
    tallies[*n] = (struct tally){.file = d->file, .ask_mib = ask_of(d)};
    return &tallies[(*n)++];
}

static void tally_row(struct sl_rows *rows, const struct tally *tally)
{
    sl_rows_add(rows, SL_ROW_IN_TABLE);
    sl_rows_text(rows, LOG, "%s", tally->file);
    if (tally->ask_mib > 0) {
        sl_rows_number(rows, ASK, (double)tally->ask_mib);
    }
    sl_rows_number(rows, BY_CBP, (double)tally->by_cbp);
    sl_rows_number(rows, BY_PP, (double)tally->by_pp);
    sl_rows_text(rows, ALIKE, "%zu of %zu", tally->agreed, tally->n);
    for (unsigned i = 0; i < NUMBERS; i++) {
        sl_rows_text(rows, FIRST_NUMBER + i, "%zu of %zu", tally->same[i], tally->logged[i]);
    }
}

static void decision_row(struct sl_rows *rows, const struct decision *d, const struct replay *r)
{
    sl_rows_add(rows, SL_ROW_IN_DATA);
    sl_rows_text(rows, LOG, "%s", d->file);
    sl_rows_text(rows, POD, "%s", d->pod);
    sl_rows_text(rows, PUBLISHED, "%s", d->by);
    sl_rows_text(rows, HERE, "%s", r->by);
    sl_rows_number(rows, ASK, (double)r->ask_mib);
    for (unsigned i = 0; i < NUMBERS; i++) {
        if (r->same[i] >= 0) {
            sl_rows_flag(rows, FIRST_NUMBER + i, r->same[i] == 1);
        }
    }
}

static void fill(const struct log *log, struct sl_rows *rows)
{
    struct tally runs[RUNS_MAX];
    struct tally all = {.file = "all"};
    size_t n = 0;
    sl_buf_printf(
        &rows->about,
        "Ferikoglou et al.: pods that their scheduler accepted by CBP or PP, on a V100 of "
        "%d MiB,\nreplayed with the windows that it logged\n\n",
        TOTAL_MIB);
    for (size_t i = 0; i < log->n; i++) {
        const struct decision *d = &log->decision[i];
        struct replay replay = replay_of(d);
        decision_row(rows, d, &replay);
        tally_add(tally_of(runs, &n, d), d, &replay);
        tally_add(&all, d, &replay);
    }
    for (size_t i = 0; i < n; i++) {
        tally_row(rows, &runs[i]);
    }
    tally_row(rows, &all);
    sl_buf_printf(&rows->closing,
                  "\nThe four columns on the right: how many of the logged numbers come out the "
                  "same (memory to the MiB, others\nto six decimals). Their scheduler took the "
                  "variation from a query for free memory, logged with PP\nalone; for CBP it is "
                  "computed here from the used memory. All decisions alike: %s\n",
                  all.agreed == all.n ? "yes" : "no");
}

static int play(const struct sl_reproduce_options *options, struct sl_rows *rows,
                struct sl_error *err)
{
    struct log log = {NULL, 0};
    int rc = log_read(&log, options->data, err);
    if (rc == 0) {
        fill(&log, rows);
    }
    for (size_t i = 0; i < log.n; i++) {
        free(log.decision[i].used);
        free(log.decision[i].free);
    }
    free(log.decision);
    return rc;
}

const struct sl_reproduction sl_cbp_pp = {
    .name = "cbp-pp",
    .summary = "Ferikoglou et al.: decisions by CBP and PP, replayed with their inputs",
    .data = "ferikoglou/cbp_pp_accept_golden.json",
    .seeds = 1,
    SL_COLUMNS(columns),
    .run = play,
};
