/* An experiment as a table, CSV or JSON. One table of figures makes all three. */
#include "sim/output/report.h"

#include <stdio.h>
#include <stdlib.h>

#include "util/term/grid.h"
#include "util/time.h"

enum { TABLE_MAX_BYTES = 1 << 20 };

/* ---- figures ---- */

#define AT(member) offsetof(struct sl_result, member)

enum kind { REAL, SIZE, COUNT };

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): members in the order of a row
static const struct figure {
    const char *name;  /* in CSV: response_mean */
    const char *title; /* in the table: "response mean" */
    const char *unit;  /* "s", "" */
    enum kind kind;    /* of the member: a double, a size_t, a uint64_t */
    size_t at;         /* in the result */
    int decimals;
} figures[] = {
    {"jobs", "jobs run", "", SIZE, AT(jobs), 0},
    {"response_mean", "response mean", "s", REAL, AT(response.mean), 1},
    {"response_p50", "response p50", "s", REAL, AT(response.p50), 1},
    {"response_p95", "response p95", "s", REAL, AT(response.p95), 1},
    {"response_p99", "response p99", "s", REAL, AT(response.p99), 1},
    {"response_max", "response max", "s", REAL, AT(response.max), 1},
    {"wait_mean", "wait mean", "s", REAL, AT(wait.mean), 1},
    {"wait_p50", "wait p50", "s", REAL, AT(wait.p50), 1},
    {"wait_p95", "wait p95", "s", REAL, AT(wait.p95), 1},
    {"wait_p99", "wait p99", "s", REAL, AT(wait.p99), 1},
    {"wait_max", "wait max", "s", REAL, AT(wait.max), 1},
    {"slowdown_mean", "slowdown mean", "", REAL, AT(slowdown.mean), 2},
    {"slowdown_p50", "slowdown p50", "", REAL, AT(slowdown.p50), 2},
    {"slowdown_p95", "slowdown p95", "", REAL, AT(slowdown.p95), 2},
    {"slowdown_p99", "slowdown p99", "", REAL, AT(slowdown.p99), 2},
    {"slowdown_max", "slowdown max", "", REAL, AT(slowdown.max), 2},
    {"finish", "finish mean", "s", REAL, AT(finish), 1},
    {"makespan", "makespan", "s", REAL, AT(makespan), 1},
    {"utilisation", "utilisation", "", REAL, AT(utilisation), 4},
    {"allocation", "allocation", "", REAL, AT(allocation), 4},
    {"fragmentation", "fragmentation", "", REAL, AT(fragmentation), 4},
    {"fairness", "fairness", "", REAL, AT(fairness), 4},
    {"killed", "killed by timeout", "", SIZE, AT(killed), 0},
    {"never_started", "never started", "", SIZE, AT(never), 0},
    {"backfills", "backfills", "", COUNT, AT(backfills), 0},
    {"cuts", "cuts", "", COUNT, AT(cuts), 0},
};

enum { FIGURES = sizeof(figures) / sizeof(figures[0]) };

static double value_of(const struct figure *figure, const struct sl_result *result)
{
    const char *member = (const char *)result + figure->at;
    double real = 0;
    size_t size = 0;
    uint64_t count = 0;
    switch (figure->kind) {
    case REAL:
        memcpy(&real, member, sizeof(real));
        break;
    case SIZE:
        memcpy(&size, member, sizeof(size));
        break;
    case COUNT:
        memcpy(&count, member, sizeof(count));
        break;
    }
    return real + (double)size + (double)count;
}

struct sl_band sl_band_of(double *values, size_t n)
{
    sl_sort(values, n);
    return (struct sl_band){sl_percentile(values, n, 5), sl_percentile(values, n, 50),
                            sl_percentile(values, n, 95)};
}

/* ---- the table ---- */

static void cell_of(struct sl_grid *grid, const struct figure *figure, double *values, size_t n)
{
    if (n == 1) {
        sl_grid_printf(grid, "%.*f", figure->decimals, values[0]);
        return;
    }
    struct sl_band band = sl_band_of(values, n);
    if (band.p95 > band.p5) {
        sl_grid_printf(grid, "%.*f (%.*f-%.*f)", figure->decimals, band.median, figure->decimals,
                       band.p5, figure->decimals, band.p95);
    } else {
        sl_grid_printf(grid, "%.*f", figure->decimals, band.median);
    }
}

/* Leaves out rows that are 0 everywhere. */
static bool worth_a_row(const struct sl_experiment *experiment, const struct figure *figure)
{
    for (size_t i = 0; i < experiment->n; i++) {
        double value = value_of(figure, &experiment->result[i]);
        if (value < 0 || value > 0) {
            return true;
        }
    }
    return figure->decimals > 0;
}

void sl_report_table(const struct sl_experiment *experiment, struct sl_buf *out)
{
    size_t n = experiment->policies->n;
    struct sl_grid grid;
    double *values = malloc(experiment->seeds * sizeof(*values));
    if (values == NULL) {
        out->failed = SL_BUF_NOMEM;
        return;
    }
    sl_grid_init_figures(&grid, (unsigned)n + 1, TABLE_MAX_BYTES);
    sl_grid_text(&grid, "");
    for (size_t p = 0; p < n; p++) {
        sl_grid_text(&grid, experiment->policies->policy[p].name);
    }
    for (size_t i = 0; i < FIGURES; i++) {
        const struct figure *figure = &figures[i];
        if (!worth_a_row(experiment, figure)) {
            continue;
        }
        sl_grid_printf(&grid, "%s%s%s", figure->title, figure->unit[0] != '\0' ? ", " : "",
                       figure->unit);
        for (size_t p = 0; p < n; p++) {
            for (size_t s = 0; s < experiment->seeds; s++) {
                values[s] = value_of(figure, sl_experiment_at(experiment, s, p));
            }
            cell_of(&grid, figure, values, experiment->seeds);
        }
    }
    sl_grid_write(&grid, out);
    sl_grid_free(&grid);
    free(values);
    if (experiment->seeds > 1) {
        sl_buf_printf(out, "%u seeds: medians, p5-p95 in parentheses\n", experiment->seeds);
    }
    for (size_t p = 0; p < n; p++) {
        if (experiment->result[p].cut != NULL) {
            sl_buf_printf(out, "best static cut, %s, seed %llu: %s\n",
                          experiment->policies->policy[p].name,
                          (unsigned long long)experiment->seed, experiment->result[p].cut);
        }
    }
}

/* ---- CSV ---- */

void sl_report_csv_field(struct sl_buf *out, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        sl_buf_puts(out, text);
        return;
    }
    sl_buf_putc(out, '"');
    for (const char *c = text; *c != '\0'; c++) {
        sl_buf_puts(out, *c == '"' ? "\"" : "");
        sl_buf_putc(out, *c);
    }
    sl_buf_putc(out, '"');
}

void sl_report_csv(const struct sl_experiment *experiment, struct sl_buf *out)
{
    sl_buf_puts(out, "policy,seed");
    for (size_t i = 0; i < FIGURES; i++) {
        sl_buf_printf(out, ",%s", figures[i].name);
    }
    sl_buf_putc(out, '\n');
    for (size_t r = 0; r < experiment->n; r++) {
        const struct sl_result *result = &experiment->result[r];
        sl_report_csv_field(out, experiment->policies->policy[result->policy].name);
        sl_buf_printf(out, ",%llu", (unsigned long long)result->seed);
        for (size_t i = 0; i < FIGURES; i++) {
            const struct figure *figure = &figures[i];
            sl_buf_printf(out, ",%.*f", figure->decimals > 0 ? 6 : 0, value_of(figure, result));
        }
        sl_buf_putc(out, '\n');
    }
}

/* ---- JSON ---- */

void sl_report_json_text(struct sl_buf *out, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            sl_buf_putc(out, '\\');
            sl_buf_putc(out, *c);
        } else if ((unsigned char)*c < 0x20) {
            sl_buf_printf(out, "\\u%04x", (unsigned)(unsigned char)*c);
        } else {
            sl_buf_putc(out, *c);
        }
    }
}

static void write_summary(struct sl_buf *out, const char *name, const struct sl_summary *of)
{
    sl_buf_printf(out,
                  " \"%s\": {\"mean\": %.6f, \"p50\": %.6f, \"p95\": %.6f, \"p99\": %.6f, "
                  "\"max\": %.6f},\n   ",
                  name, of->mean, of->p50, of->p95, of->p99, of->max);
}

static void json_run(const struct sl_experiment *experiment, const struct sl_result *result,
                     struct sl_buf *out)
{
    sl_buf_puts(out, "  {\"policy\": \"");
    sl_report_json_text(out, experiment->policies->policy[result->policy].name);
    sl_buf_printf(out, "\", \"seed\": %llu, \"jobs\": %zu,\n   ", (unsigned long long)result->seed,
                  result->jobs);
    write_summary(out, "response", &result->response);
    write_summary(out, "wait", &result->wait);
    write_summary(out, "slowdown", &result->slowdown);
    sl_buf_printf(out,
                  " \"makespan\": %.6f, \"utilisation\": %.6f, \"allocation\": %.6f,\n    "
                  "\"fragmentation\": %.6f, \"fairness\": %.6f, \"finish\": %.6f,\n    "
                  "\"killed\": %zu, \"neverStarted\": %zu, \"backfills\": %llu",
                  result->makespan, result->utilisation, result->allocation, result->fragmentation,
                  result->fairness, result->finish, result->killed, result->never,
                  (unsigned long long)result->backfills);
    if (experiment->partitioning != NULL) {
        sl_buf_printf(out, ", \"cuts\": %llu", (unsigned long long)result->cuts);
    }
    if (result->cut != NULL) {
        sl_buf_printf(out, ",\n    \"cut\": \"%s\"", result->cut);
    }
    sl_buf_putc(out, '}');
}

void sl_report_json(const struct sl_experiment *experiment, struct sl_buf *out)
{
    sl_buf_puts(out, "{\"runs\": [\n");
    for (size_t i = 0; i < experiment->n; i++) {
        json_run(experiment, &experiment->result[i], out);
        sl_buf_puts(out, i + 1 < experiment->n ? ",\n" : "\n");
    }
    sl_buf_puts(out, "]}\n");
}

/* ---- decisions ---- */

static void put_seconds(struct sl_buf *out, int64_t us)
{
    sl_buf_printf(out, ",%lld.%06lld", (long long)(us / SL_SECOND_US),
                  (long long)(us % SL_SECOND_US));
}

static void decisions_of(const struct sl_experiment *experiment, size_t policy, struct sl_buf *out)
{
    const struct sl_detail *detail = &experiment->detail[policy];
    size_t *order = calloc(detail->run.started + 1, sizeof(*order));
    if (order == NULL) {
        out->failed = SL_BUF_NOMEM;
        return;
    }
    for (size_t i = 0; i < detail->run.n; i++) {
        if (detail->run.job[i].node >= 0) {
            order[detail->run.job[i].order] = i;
        }
    }
    for (size_t k = 0; k < detail->run.started; k++) {
        const struct sl_job *job = &detail->workload.job[order[k]];
        const struct sl_sim_job *run = &detail->run.job[order[k]];
        char pod[SL_ASSIGNMENT_TEXT_MAX];
        (void)snprintf(pod, sizeof(pod), "%s/%s", job->namespace, job->name);
        sl_report_csv_field(out, experiment->policies->policy[policy].name);
        sl_buf_printf(out, ",%llu", (unsigned long long)experiment->seed);
        put_seconds(out, run->start_us - detail->run.begin_us);
        sl_buf_putc(out, ',');
        sl_report_csv_field(out, pod);
        sl_buf_putc(out, ',');
        sl_report_csv_field(out, experiment->fleet->node[run->node]->name);
        sl_buf_putc(out, ',');
        sl_report_csv_field(out, run->place);
        put_seconds(out, run->end_us - detail->run.begin_us);
        sl_buf_puts(out, run->outcome == SL_SIM_KILLED ? ",killed" : ",done");
        put_seconds(out, run->start_us - job->submit_us);
        sl_buf_putc(out, '\n');
    }
    free(order);
}

void sl_report_decisions(const struct sl_experiment *experiment, struct sl_buf *out)
{
    sl_buf_puts(out, "policy,seed,time,pod,node,devices,end,outcome,wait\n");
    for (size_t p = 0; p < experiment->policies->n; p++) {
        decisions_of(experiment, p, out);
    }
}

void sl_report_commands(const struct sl_experiment *experiment, struct sl_buf *out)
{
    for (size_t p = 0; p < experiment->policies->n; p++) {
        const struct sl_buf *commands = &experiment->detail[p].commands;
        sl_buf_append(out, commands->data, commands->len);
        out->failed = commands->failed != SL_BUF_OK ? commands->failed : out->failed;
    }
}
