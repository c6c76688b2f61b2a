/* reproduce sharing: GPUs shared by asks, by CBP and PP, by peaks, and by an oracle. */
#include <stdio.h>
#include <stdlib.h>

#include "evidence/reproduce.h"
#include "evidence/sharing/stage.h"
#include "sim/output/report.h"
#include "sim/play/crew.h"

enum { GENERATED = SL_SHARING_PUBLISHED, RIG = GENERATED + 3, LOADS = RIG + 8 };

static const struct {
    const char *name;          /* in rows */
    const char *title;         /* of the table */
    struct sl_sharing_mix mix; /* of a load that is not published */
} loads[LOADS] = {
    {"published-1x",
     "Ferikoglou et al.: 30 jobs on a V100, which use 6994 MiB each and ask for as much",
     {.at_first = 1}},
    {"published-2x", "The same, asks of twice that", {.at_first = 1}},
    {"published-3x", "The same, asks of three times that", {.at_first = 1}},
    {"generated",
     "Generated: 500 jobs on eight T4, 70 % of them of ten workloads",
     {.repeated = 0.7, .at_first = 1}},
    {"repeated",
     "Generated: 500 jobs on eight T4, all of them of ten workloads",
     {.repeated = 1, .at_first = 1}},
    {"changing",
     "The same, but the first half of the jobs uses three tenths of that",
     {.repeated = 1, .at_first = 0.3}},
    {"engines-50",
     "25 inference engines on a GPU of 16 GiB, which ask for 50 % more than they use",
     {.over_percent = 50}},
    {"engines-100", "The same, 100 % more", {.over_percent = 100}},
    {"engines-150", "The same, 150 % more", {.over_percent = 150}},
    {"engines-250", "The same, 250 % more", {.over_percent = 250}},
    {"again-50",
     "The same engines once more after that, 50 % more",
     {.over_percent = 50, .repeated = 1}},
    {"again-100", "The same, 100 % more", {.over_percent = 100, .repeated = 1}},
    {"again-150", "The same, 150 % more", {.over_percent = 150, .repeated = 1}},
    {"again-250", "The same, 250 % more", {.over_percent = 250, .repeated = 1}},
};

static const char *const schemes[SL_SCHEMES] = {"asks", "cbp", "cbp-pp", "peaks", "oracle"};

struct study {
    uint64_t seed;
    uint32_t seeds;
    const struct sl_sharing_published *published; /* NULL: no data */
    struct sl_sharing_outcome *outcome;           /* by load, scheme, seed */
};

static struct sl_sharing_outcome *outcome_at(const struct study *study, size_t load, size_t scheme,
                                             size_t seed)
{
    return &study->outcome[(load * SL_SCHEMES + scheme) * study->seeds + seed];
}

static int study_play(void *context, size_t index, struct sl_error *err)
{
    struct study *study = context;
    size_t which = index / study->seeds / SL_SCHEMES;
    uint64_t seed = study->seed + index % study->seeds;
    struct sl_sharing_load load = {.n = 0};
    if (study->published == NULL && which < GENERATED) {
        return 0;
    }
    int rc = which >= RIG ? sl_sharing_rig(seed, loads[which].mix, &load, err)
             : which >= GENERATED
                 ? sl_sharing_generate(seed, loads[which].mix, &load, err)
                 : sl_sharing_published_load(study->published, (unsigned)which, seed, &load, err);
    if (rc == 0) {
        rc = sl_sharing_play(&load, (enum sl_sharing_scheme)(index / study->seeds % SL_SCHEMES),
                             &study->outcome[index], err);
    }
    sl_sharing_load_free(&load);
    return rc;
}

/* ---- figures ---- */

static const struct figure {
    const char *title;
    const char *name;  /* in CSV */
    const char *field; /* in JSON */
    size_t at;         /* in the outcome */
    int decimals;
    bool ratio; /* over that of asks, too */
} figures[] = {
#define AT(member) offsetof(struct sl_sharing_outcome, member)
    {"pending, s", "pending_s", "pending", AT(pending_mean_s), 0, true},
    {"p99", "pending_p99_s", "pendingP99", AT(pending_p99_s), 0, false},
    {"memory", "memory", "memory", AT(memory), 2, true},
    {"GPU busy", "busy", "busy", AT(busy), 2, true},
    {"p99 slowdown", "slowdown_p99", "slowdownP99", AT(slowdown_p99), 2, false},
    {"makespan, s", "makespan_s", "makespan", AT(makespan_s), 0, false},
    {"energy, kJ", "energy_kj", "energy", AT(energy_kj), 0, true},
    {"pushed out", "pushed", "pushed", AT(pushed), 0, false},
    {"beyond asks", "beyond", "beyond", AT(beyond), 0, false},
#undef AT
};
enum { FIGURES = sizeof(figures) / sizeof(figures[0]) };

static double figure_of(const struct sl_sharing_outcome *outcome, const struct figure *figure)
{
    double value = 0;
    memcpy(&value, (const char *)outcome + figure->at, sizeof(value));
    return value;
}

/* Medians over the seeds; of_asks: of the ratios to asks in the same seed. */
static double median_of(const struct study *study, size_t load, size_t scheme,
                        const struct figure *figure, bool of_asks, double *values)
{
    for (uint32_t s = 0; s < study->seeds; s++) {
        double base = figure_of(outcome_at(study, load, SL_SCHEME_ASKS, s), figure);
        double value = figure_of(outcome_at(study, load, scheme, s), figure);
        values[s] = of_asks ? (base > 0 ? value / base : 1) : value;
    }
    return sl_band_of(values, study->seeds).median;
}

static double most_of(const struct study *study, size_t load, size_t scheme,
                      const struct figure *figure)
{
    double most = 0;
    for (uint32_t s = 0; s < study->seeds; s++) {
        double value = figure_of(outcome_at(study, load, scheme, s), figure);
        most = value > most ? value : most;
    }
    return most;
}

/* ---- the report ---- */

static void put_scheme(struct sl_columns *columns, const struct study *study, size_t load,
                       size_t scheme, double *values)
{
    size_t column = 1;
    sl_columns_row(columns);
    sl_columns_put(columns, 0, "%s", schemes[scheme]);
    for (size_t f = 0; f < FIGURES; f++) {
        double is = median_of(study, load, scheme, &figures[f], false, values);
        double most = most_of(study, load, scheme, &figures[f]);
        if (figures[f].at >= offsetof(struct sl_sharing_outcome, pushed)) {
            sl_columns_put(columns, column++, "%g (%g)", is, most);
        } else {
            sl_columns_put(columns, column++, "%.*f", figures[f].decimals, is);
        }
        if (figures[f].ratio) {
            sl_columns_put(columns, column++, "%.2f",
                           median_of(study, load, scheme, &figures[f], true, values));
        }
    }
}

static void put_run(struct sl_columns *columns, const char *name, const struct sl_sharing_run *run,
                    const struct sl_sharing_run *asks)
{
    sl_columns_row(columns);
    sl_columns_put(columns, 0, "%s", name);
    sl_columns_put(columns, 1, "%.0f", run->pending_s);
    sl_columns_put(columns, 2, "%.2f", run->pending_s / asks->pending_s);
    sl_columns_put(columns, 4, "%.2f", run->memory);
    sl_columns_put(columns, 5, "%.2f", run->memory / asks->memory);
    sl_columns_put(columns, 6, "%.2f", run->busy);
    sl_columns_put(columns, 7, "%.2f", run->busy / asks->busy);
    sl_columns_put(columns, 9, "%.0f", run->makespan_s);
    sl_columns_put(columns, 10, "%.0f", run->energy_kj);
    sl_columns_put(columns, 11, "%.2f", run->energy_kj / asks->energy_kj);
    sl_columns_put(columns, 12, "%u", run->restarts);
}

static void write_load(const struct study *study, size_t load, double *values, struct sl_buf *out)
{
    struct sl_columns columns;
    size_t n = 1;
    for (size_t f = 0; f < FIGURES; f++) {
        n += figures[f].ratio ? 2 : 1;
    }
    sl_columns_init(&columns, n);
    sl_columns_row(&columns);
    n = 1;
    for (size_t f = 0; f < FIGURES; f++) {
        sl_columns_put(&columns, n++, "%s", figures[f].title);
        if (figures[f].ratio) {
            sl_columns_put(&columns, n++, "of asks");
        }
    }
    for (size_t scheme = 0; scheme < SL_SCHEMES; scheme++) {
        put_scheme(&columns, study, load, scheme, values);
    }
    if (load < GENERATED) {
        const struct sl_sharing_run *asks = &study->published->asks[load];
        put_run(&columns, "published: asks", asks, asks);
        put_run(&columns, "published: cbp-pp", &study->published->cbp_pp[load], asks);
    }
    sl_buf_printf(out, "%s\n", loads[load].title);
    sl_columns_print(&columns, out);
    sl_buf_putc(out, '\n');
}

static void write_table(const struct study *study, double *values, struct sl_buf *out)
{
    for (size_t load = study->published == NULL ? GENERATED : 0; load < LOADS; load++) {
        write_load(study, load, values, out);
    }
    sl_buf_printf(out,
                  "medians over %u seeds; ratios are taken seed by seed. Pending: until a GPU is "
                  "given. Slowdown: from\nthen to the end, restarts included, over the time alone. "
                  "Pushed out: containers that got no memory and\nbegan anew, in parentheses the "
                  "most of one seed; beyond asks: because some pod used more than it asked for\n",
                  study->seeds);
    if (study->published == NULL) {
        sl_buf_puts(out, "The published jobs need --data FOLDER with ferikoglou/\n");
    }
}

static void write_row(const struct study *study, size_t load, size_t scheme, bool json,
                      double *values, struct sl_buf *out)
{
    sl_buf_printf(out, json ? "  {\"load\": \"%s\", \"sharing\": \"%s\"" : "%s,%s",
                  loads[load].name, schemes[scheme]);
    for (size_t f = 0; f < FIGURES; f++) {
        double is = median_of(study, load, scheme, &figures[f], false, values);
        if (json) {
            sl_buf_printf(out, ", \"%s\": %.6f", figures[f].field, is);
        } else {
            sl_buf_printf(out, ",%.6f", is);
        }
    }
    double most = most_of(study, load, scheme, &figures[FIGURES - 2]);
    sl_buf_printf(out, json ? ", \"pushedMost\": %.0f}" : ",%.0f\n", most);
}

static void write_rows(const struct study *study, bool json, double *values, struct sl_buf *out)
{
    const char *between = "";
    sl_buf_puts(out, json ? "{\"experiment\": \"sharing\", \"rows\": [\n" : "load,sharing");
    for (size_t f = 0; !json && f < FIGURES; f++) {
        sl_buf_printf(out, ",%s", figures[f].name);
    }
    sl_buf_puts(out, json ? "" : ",pushed_most\n");
    for (size_t load = study->published == NULL ? GENERATED : 0; load < LOADS; load++) {
        for (size_t scheme = 0; scheme < SL_SCHEMES; scheme++) {
            sl_buf_puts(out, json ? between : "");
            write_row(study, load, scheme, json, values, out);
            between = ",\n";
        }
    }
    sl_buf_puts(out, json ? "\n]}\n" : "");
}

int sl_reproduce_sharing(const struct sl_reproduce_options *options, struct sl_buf *out,
                         struct sl_error *err)
{
    struct sl_crew crew = {options->threads, options->progress, "sharing"};
    struct sl_sharing_published *published = NULL;
    struct study study = {.seed = options->seed, .seeds = options->seeds};
    size_t n = (size_t)LOADS * SL_SCHEMES * options->seeds;
    double *values = malloc(options->seeds * sizeof(*values));
    int rc = -1;
    study.outcome = calloc(n, sizeof(*study.outcome));
    if (study.outcome == NULL || values == NULL) {
        (void)sl_error_nomem(err);
        goto done;
    }
    if (options->data != NULL) {
        published = sl_sharing_published_read(options->data, err);
        if (published == NULL) {
            goto done;
        }
    }
    study.published = published;
    rc = sl_crew_run(&crew, n, study_play, &study, err);
    if (rc == 0 && options->output == SL_OUTPUT_TABLE) {
        write_table(&study, values, out);
    } else if (rc == 0) {
        write_rows(&study, options->output == SL_OUTPUT_JSON, values, out);
    }
done:
    sl_sharing_published_free(published);
    free(study.outcome);
    free(values);
    return rc;
}
