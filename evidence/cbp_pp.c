/* reproduce cbp-pp: Ferikoglou et al., "Resource Aware GPU Scheduling in Kubernetes
 * Infrastructure": gives the windows on which their scheduler decided to core's Res-Ag, CBP and PP,
 * and compares what these decide, and every number on the way, with what was logged. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "codec/stream/json.h"
#include "evidence/reproduce.h"
#include "sim/output/report.h"
#include "sliced/harvest.h"

enum {
    TOTAL_MIB = 32510, /* of their V100, as their scheduler counted */
    ASK_MIB = 6994,    /* of each job; a run that over-provisions by N % asks for N % more */
    WINDOW_MAX = 4096,
    DECISIONS_MAX = 100000,
    NAME_MAX_LEN = 128,
    PATH_TEXT = 4096,
    RUNS_MAX = 32,
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
    size_t n, cap;
};

/* ---- reading ---- */

enum field { OTHER, POD, BY, FILE_NAME, COV, P80, AC, PRED, USED, FREE };

struct reader {
    struct log *log;
    unsigned depth;
    enum field field; /* of the value that comes */
    int32_t window[WINDOW_MAX];
    size_t n;
};

static enum field field_of(struct sl_str key)
{
    static const char *const names[] = {"",    "pod", "by",   "file", "cov",
                                        "p80", "ac",  "pred", "used", "free"};
    for (enum field f = POD; f <= FREE; f++) {
        if (sl_str_eq(key, sl_str_of(names[f]))) {
            return f;
        }
    }
    return OTHER;
}

static int add_decision(struct log *log, struct sl_error *err)
{
    if (log->n == DECISIONS_MAX) {
        return sl_error_set(err, SL_ERR_LIMIT, "more than %d decisions", DECISIONS_MAX);
    }
    if (log->n == log->cap) {
        size_t cap = log->cap == 0 ? 64 : log->cap * 2;
        struct decision *grown = realloc(log->decision, cap * sizeof(*grown));
        if (grown == NULL) {
            return sl_error_nomem(err);
        }
        log->decision = grown;
        log->cap = cap;
    }
    log->decision[log->n++] = (struct decision){.cov = NAN, .p80 = NAN, .ac = NAN, .pred = NAN};
    return 0;
}

static struct decision *decision_of(struct reader *reader)
{
    return &reader->log->decision[reader->log->n - 1];
}

static int take_text(struct reader *reader, struct sl_str text, struct sl_error *err)
{
    struct decision *decision = decision_of(reader);
    bool by = reader->field == BY;
    char *out = by ? decision->by : reader->field == POD ? decision->pod : decision->file;
    size_t size = by ? sizeof(decision->by) : NAME_MAX_LEN;
    if (by && !sl_str_eq(text, SL_STR("CBP")) && !sl_str_eq(text, SL_STR("PP")) &&
        !sl_str_eq(text, SL_STR("no"))) {
        return sl_error_set(err, SL_ERR_FIELD, "by: expected CBP, PP or no");
    }
    (void)snprintf(out, size, "%.*s", (int)(text.len < size ? text.len : size - 1), text.s);
    return 0;
}

/* What is null was not logged; by no rule means not accepted. */
static int take_null(struct reader *reader, struct sl_error *err)
{
    if (reader->depth != 2) {
        return sl_error_set(err, SL_ERR_TYPE, "expected a number");
    }
    return reader->field == BY ? take_text(reader, SL_STR("no"), err) : 0;
}

static int decision_check(const struct decision *decision, struct sl_error *err)
{
    if (decision->by[0] == '\0') {
        return sl_error_set(err, SL_ERR_FIELD, "by: expected CBP, PP or no, found nothing");
    }
    if (decision->used == NULL && decision->free == NULL) {
        return sl_error_set(err, SL_ERR_FIELD, "expected the window, used or free");
    }
    return 0;
}

static int take_number(struct reader *reader, struct sl_str text, struct sl_error *err)
{
    char digits[64];
    struct decision *decision = decision_of(reader);
    if (text.len >= sizeof(digits)) {
        return sl_error_set(err, SL_ERR_TYPE, "expected a number of fewer than 64 digits");
    }
    (void)snprintf(digits, sizeof(digits), "%.*s", (int)text.len, text.s);
    double value = strtod(digits, NULL);
    switch (reader->field) {
    case COV:
        decision->cov = value;
        break;
    case P80:
        decision->p80 = value;
        break;
    case AC:
        decision->ac = value;
        break;
    case PRED:
        decision->pred = value;
        break;
    case USED:
    case FREE:
        if (reader->n == WINDOW_MAX || value < 0 || value > INT32_MAX) {
            return sl_error_set(err, SL_ERR_LIMIT, "expected at most %d samples of 0 MiB and more",
                                WINDOW_MAX);
        }
        reader->window[reader->n++] = (int32_t)value;
        break;
    default:
        break;
    }
    return 0;
}

static int take_window(struct reader *reader, struct sl_error *err)
{
    struct decision *decision = decision_of(reader);
    int32_t **out = reader->field == USED ? &decision->used : &decision->free;
    size_t *n = reader->field == USED ? &decision->n_used : &decision->n_free;
    free(*out);
    *out = malloc((reader->n + 1) * sizeof(**out));
    if (*out == NULL) {
        return sl_error_nomem(err);
    }
    memcpy(*out, reader->window, reader->n * sizeof(**out));
    *n = reader->n;
    reader->n = 0;
    return 0;
}

static int open_array(struct reader *reader, struct sl_error *err)
{
    bool window = reader->depth == 2 && (reader->field == USED || reader->field == FREE);
    if (reader->depth > 0 && !window) {
        return reader->depth == 2 ? SL_EVENT_SKIP
                                  : sl_error_set(err, SL_ERR_TYPE, "expected a list of objects");
    }
    reader->depth++;
    return SL_EVENT_GO;
}

static int fail_type(const struct reader *reader, struct sl_error *err)
{
    bool text = reader->field >= POD && reader->field <= FILE_NAME;
    bool window = reader->field == USED || reader->field == FREE;
    return sl_error_set(err, SL_ERR_TYPE, "expected a %s",
                        reader->depth < 2              ? "list of objects"
                        : text                         ? "string"
                        : window && reader->depth == 2 ? "list of numbers"
                                                       : "number");
}

/* The text is [{decision}, ...]: depth 1 within the list, 2 within a decision, 3 in a window. */
static int receive(void *context, const struct sl_event *event, struct sl_error *err)
{
    struct reader *reader = context;
    switch (event->type) {
    case SL_EVENT_ARRAY:
        return open_array(reader, err);
    case SL_EVENT_OBJECT:
        if (reader->depth != 1) {
            return reader->depth == 2 && reader->field == OTHER
                       ? SL_EVENT_SKIP
                       : sl_error_set(err, SL_ERR_TYPE, "expected a list of objects");
        }
        reader->depth++;
        return add_decision(reader->log, err) < 0 ? SL_EVENT_FAIL : SL_EVENT_GO;
    case SL_EVENT_ARRAY_END:
        reader->depth--;
        return reader->depth == 2 ? take_window(reader, err) : SL_EVENT_GO;
    case SL_EVENT_OBJECT_END:
        reader->depth--;
        return decision_check(decision_of(reader), err);
    case SL_EVENT_KEY:
        reader->field = field_of(event->text);
        return reader->field == OTHER ? SL_EVENT_SKIP : SL_EVENT_GO;
    case SL_EVENT_STRING:
        return reader->depth == 2 && reader->field >= POD && reader->field <= FILE_NAME
                   ? take_text(reader, event->text, err)
                   : fail_type(reader, err);
    case SL_EVENT_NUMBER:
        return (reader->depth == 2 && reader->field >= COV && reader->field < USED) ||
                       reader->depth == 3
                   ? take_number(reader, event->text, err)
                   : fail_type(reader, err);
    case SL_EVENT_NULL:
        return take_null(reader, err);
    case SL_EVENT_DOCUMENT_END:
        return SL_EVENT_GO;
    default:
        return fail_type(reader, err);
    }
}

/* The folder itself, or its ferikoglou/. */
static FILE *open_log(const char *folder, char *path, struct sl_error *err)
{
    static const char *const places[] = {"ferikoglou/", ""};
    if (folder == NULL) {
        sl_error_set(err, SL_ERR_NOTFOUND, "needs --data FOLDER with ferikoglou/%s", file_name);
        return NULL;
    }
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        (void)snprintf(path, PATH_TEXT, "%s/%s%s", folder, places[i], file_name);
        FILE *file = fopen(path, "re");
        if (file != NULL) {
            return file;
        }
    }
    sl_error_set(err, SL_ERR_NOTFOUND, "no ferikoglou/%s in %s", file_name, folder);
    return NULL;
}

static int log_read(struct log *log, const char *folder, struct sl_error *err)
{
    static const struct sl_text_limits limits = {
        .max_bytes = 1 << 30, .max_string = 4096, .max_depth = 16};
    char path[PATH_TEXT];
    char chunk[16384];
    FILE *file = open_log(folder, path, err);
    struct reader *reader = calloc(1, sizeof(*reader));
    struct sl_json *json = sl_json_new(&limits, receive, reader);
    int rc = -1;
    if (file == NULL) {
        goto done;
    }
    if (reader == NULL || json == NULL) {
        (void)sl_error_nomem(err);
        goto done;
    }
    reader->log = log;
    size_t got = 0;
    rc = 0;
    while (rc == 0 && (got = fread(chunk, 1, sizeof(chunk), file)) > 0) {
        rc = sl_json_feed(json, chunk, got, err);
    }
    if (rc == 0 && ferror(file) != 0) {
        rc = sl_error_set(err, SL_ERR_SYSTEM, "cannot read %s", path);
    }
    rc = rc < 0 ? rc : sl_json_finish(json, err);
    if (rc < 0 && err->line > 0) {
        struct sl_error said = *err;
        rc = sl_error_set(err, said.code, "%s:%u:%u: %s", file_name, said.line, said.column,
                          said.message);
    }
done:
    sl_json_free(json);
    free(reader);
    if (file != NULL) {
        (void)fclose(file);
    }
    return rc;
}

/* ---- replay ---- */

/* One decision of core's, beside the logged one. */
struct replay {
    int64_t ask_mib;
    const char *by;     /* "CBP", "PP" or "no" */
    bool same_decision; /* by the same rule as in the log, or by none */
    int same_p80;       /* 1 or 0; -1: not logged, as below */
    int same_cov;       /* to six decimals */
    int same_ac;
    int same_pred;
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
    struct replay replay = {ask_of(d), "no", false, -1, -1, -1, -1};
    int32_t turned[WINDOW_MAX];
    const int32_t *used = d->used;
    size_t n = d->n_used;
    struct sl_cbp cbp = {.room_mib = -1};
    struct sl_pp pp = {.room_mib = -1};
    if (d->free != NULL) {
        turn_over(d->free, d->n_free, turned);
        (void)sl_pp_of(turned, d->n_free, TOTAL_MIB, &pp);
        replay.same_ac = same(pp.correlation, d->ac, 6);
        replay.same_pred = isnan(d->pred) ? -1 : trunc(pp.free_mib) == d->pred;
        (void)sl_cbp_of(turned, d->n_free, TOTAL_MIB, &cbp);
        replay.same_cov = same(cbp.variation, d->cov, 6);
        used = used == NULL ? turned : used;
        n = d->used == NULL ? d->n_free : n;
    }
    (void)sl_cbp_of(used, n, TOTAL_MIB, &cbp);
    replay.same_p80 = isnan(d->p80) ? -1 : cbp.used80_mib == (int32_t)d->p80;
    if (cbp.room_mib >= replay.ask_mib) {
        replay.by = "CBP";
    } else if (pp.room_mib >= replay.ask_mib) {
        replay.by = "PP";
    }
    replay.same_decision = strcmp(replay.by, d->by) == 0;
    return replay;
}

/* ---- the report ---- */

struct tally {
    const char *file;
    int64_t ask_mib;
    size_t n, by_cbp, by_pp, agreed;
    size_t p80[2], cov[2], ac[2], pred[2]; /* how many were logged, and are the same */
};

static void count(size_t pair[2], int outcome)
{
    pair[0] += outcome >= 0;
    pair[1] += outcome == 1;
}

static void add(struct tally *tally, const struct decision *d, const struct replay *r)
{
    tally->n++;
    tally->by_cbp += strcmp(d->by, "CBP") == 0;
    tally->by_pp += strcmp(d->by, "PP") == 0;
    tally->agreed += r->same_decision;
    count(tally->p80, r->same_p80);
    count(tally->cov, r->same_cov);
    count(tally->ac, r->same_ac);
    count(tally->pred, r->same_pred);
}

static void put_row(struct sl_columns *columns, const struct tally *tally, const char *name)
{
    const size_t *const pair[] = {tally->p80, tally->ac, tally->pred, tally->cov};
    sl_columns_row(columns);
    sl_columns_put(columns, 0, "%s", name);
    if (tally->ask_mib > 0) {
        sl_columns_put(columns, 1, "%lld", (long long)tally->ask_mib);
    }
    sl_columns_put(columns, 2, "%zu", tally->by_cbp);
    sl_columns_put(columns, 3, "%zu", tally->by_pp);
    sl_columns_put(columns, 4, "%zu of %zu", tally->agreed, tally->n);
    for (size_t i = 0; i < sizeof(pair) / sizeof(pair[0]); i++) {
        sl_columns_put(columns, 5 + i, "%zu of %zu", pair[i][1], pair[i][0]);
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

static void write_table(const struct log *log, struct sl_buf *out)
{
    static const char *const head[] = {"log",         "ask, MiB",        "by CBP",
                                       "by PP",       "decided alike",   "80th percentile",
                                       "correlation", "prediction, MiB", "variation"};
    struct tally runs[RUNS_MAX];
    struct tally all = {.file = "all"};
    struct sl_columns columns;
    size_t n = 0;
    for (size_t i = 0; i < log->n; i++) {
        struct replay replay = replay_of(&log->decision[i]);
        add(tally_of(runs, &n, &log->decision[i]), &log->decision[i], &replay);
        add(&all, &log->decision[i], &replay);
    }
    sl_buf_printf(
        out,
        "Ferikoglou et al.: pods that their scheduler accepted by CBP or PP, on a V100 of "
        "%d MiB,\nreplayed with the windows that it logged\n\n",
        TOTAL_MIB);
    sl_columns_init(&columns, sizeof(head) / sizeof(head[0]));
    sl_columns_row(&columns);
    for (size_t i = 0; i < columns.n_columns; i++) {
        sl_columns_put(&columns, i, "%s", head[i]);
    }
    for (size_t i = 0; i < n; i++) {
        put_row(&columns, &runs[i], runs[i].file);
    }
    put_row(&columns, &all, "all");
    sl_columns_print(&columns, out);
    sl_buf_printf(out,
                  "\nThe four columns on the right: how many of the logged numbers come out the "
                  "same (memory to the MiB, others\nto six decimals). Their scheduler took the "
                  "variation from a query for free memory, logged with PP\nalone; for CBP it is "
                  "computed here from the used memory. All decisions alike: %s\n",
                  all.agreed == all.n ? "yes" : "no");
}

static const char *word_of(int outcome, bool json)
{
    if (outcome < 0) {
        return json ? "null" : "";
    }
    return json ? (outcome == 1 ? "true" : "false") : (outcome == 1 ? "yes" : "no");
}

static void write_rows(const struct log *log, bool json, struct sl_buf *out)
{
    sl_buf_puts(out, json ? "{\"experiment\": \"cbp-pp\", \"rows\": [\n"
                          : "log,pod,published,here,ask_mib,same_percentile,same_correlation,"
                            "same_prediction,same_variation\n");
    for (size_t i = 0; i < log->n; i++) {
        const struct decision *d = &log->decision[i];
        struct replay r = replay_of(d);
        sl_buf_puts(out, json ? "  {\"log\": \"" : "");
        sl_report_json_text(out, d->file);
        sl_buf_puts(out, json ? "\", \"pod\": \"" : ",");
        sl_report_json_text(out, d->pod);
        sl_buf_puts(out, json ? "\", \"published\": \"" : ",");
        sl_report_json_text(out, d->by);
        sl_buf_printf(out,
                      json ? "\", \"here\": \"%s\", \"ask\": %lld, \"samePercentile\": %s, "
                             "\"sameCorrelation\": %s, \"samePrediction\": %s, "
                             "\"sameVariation\": %s}%s\n"
                           : ",%s,%lld,%s,%s,%s,%s%s\n",
                      r.by, (long long)r.ask_mib, word_of(r.same_p80, json),
                      word_of(r.same_ac, json), word_of(r.same_pred, json),
                      word_of(r.same_cov, json), json && i + 1 < log->n ? "," : "");
    }
    sl_buf_puts(out, json ? "]}\n" : "");
}

int sl_reproduce_cbp_pp(const struct sl_reproduce_options *options, struct sl_buf *out,
                        struct sl_error *err)
{
    struct log log = {NULL, 0, 0};
    int rc = log_read(&log, options->data, err);
    if (rc == 0 && log.n == 0) {
        rc = sl_error_set(err, SL_ERR_FIELD, "%s holds no decision", file_name);
    }
    if (rc == 0 && options->output == SL_OUTPUT_TABLE) {
        write_table(&log, out);
    } else if (rc == 0) {
        write_rows(&log, options->output == SL_OUTPUT_JSON, out);
    }
    for (size_t i = 0; i < log.n; i++) {
        free(log.decision[i].used);
        free(log.decision[i].free);
    }
    free(log.decision);
    return rc;
}
