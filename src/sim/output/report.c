/* An experiment as a table, CSV or JSON. One table of figures makes all three. */
#include "sim/output/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/data/vec.h"
#include "util/time.h"

/* ---- figures ---- */

#define FIGURE(function, member)                                                                   \
    static double function(const struct sl_result *result)                                         \
    {                                                                                              \
        return (double)result->member;                                                             \
    }

FIGURE(jobs, jobs)
FIGURE(response_mean, response.mean)
FIGURE(response_p50, response.p50)
FIGURE(response_p95, response.p95)
FIGURE(response_p99, response.p99)
FIGURE(response_max, response.max)
FIGURE(wait_mean, wait.mean)
FIGURE(wait_p50, wait.p50)
FIGURE(wait_p95, wait.p95)
FIGURE(wait_p99, wait.p99)
FIGURE(wait_max, wait.max)
FIGURE(slowdown_mean, slowdown.mean)
FIGURE(slowdown_p50, slowdown.p50)
FIGURE(slowdown_p95, slowdown.p95)
FIGURE(slowdown_p99, slowdown.p99)
FIGURE(slowdown_max, slowdown.max)
FIGURE(finish, finish)
FIGURE(makespan, makespan)
FIGURE(utilisation, utilisation)
FIGURE(allocation, allocation)
FIGURE(fragmentation, fragmentation)
FIGURE(fairness, fairness)
FIGURE(killed, killed)
FIGURE(never, never)
FIGURE(backfills, backfills)
FIGURE(cuts, cuts)

static const struct sl_figure figures[] = {
    {"jobs", "jobs run", "", jobs, 0},
    {"response_mean", "response mean", "s", response_mean, 1},
    {"response_p50", "response p50", "s", response_p50, 1},
    {"response_p95", "response p95", "s", response_p95, 1},
    {"response_p99", "response p99", "s", response_p99, 1},
    {"response_max", "response max", "s", response_max, 1},
    {"wait_mean", "wait mean", "s", wait_mean, 1},
    {"wait_p50", "wait p50", "s", wait_p50, 1},
    {"wait_p95", "wait p95", "s", wait_p95, 1},
    {"wait_p99", "wait p99", "s", wait_p99, 1},
    {"wait_max", "wait max", "s", wait_max, 1},
    {"slowdown_mean", "slowdown mean", "", slowdown_mean, 2},
    {"slowdown_p50", "slowdown p50", "", slowdown_p50, 2},
    {"slowdown_p95", "slowdown p95", "", slowdown_p95, 2},
    {"slowdown_p99", "slowdown p99", "", slowdown_p99, 2},
    {"slowdown_max", "slowdown max", "", slowdown_max, 2},
    {"finish", "finish mean", "s", finish, 1},
    {"makespan", "makespan", "s", makespan, 1},
    {"utilisation", "utilisation", "", utilisation, 4},
    {"allocation", "allocation", "", allocation, 4},
    {"fragmentation", "fragmentation", "", fragmentation, 4},
    {"fairness", "fairness", "", fairness, 4},
    {"killed", "killed by timeout", "", killed, 0},
    {"never_started", "never started", "", never, 0},
    {"backfills", "backfills", "", backfills, 0},
    {"cuts", "cuts", "", cuts, 0},
};

const struct sl_figure *sl_figure_at(size_t i)
{
    return i < sizeof(figures) / sizeof(figures[0]) ? &figures[i] : NULL;
}

struct sl_band sl_band_of(double *values, size_t n)
{
    sl_sort(values, n);
    return (struct sl_band){sl_percentile(values, n, 5), sl_percentile(values, n, 50),
                            sl_percentile(values, n, 95)};
}

/* ---- columns ---- */

void sl_columns_init(struct sl_columns *columns, size_t n_columns)
{
    *columns = (struct sl_columns){
        .n_columns = n_columns < SL_COLUMNS_MAX ? n_columns : SL_COLUMNS_MAX, .cell = NULL};
}

void sl_columns_row(struct sl_columns *columns)
{
    if (sl_vec_reserve(&columns->cell, &columns->cap_rows, columns->n_rows + 1,
                       columns->n_columns * SL_CELL_MAX) < 0) {
        columns->failed = true;
        return;
    }
    memset(columns->cell[columns->n_rows * columns->n_columns], 0,
           columns->n_columns * SL_CELL_MAX);
    columns->n_rows++;
}

void sl_columns_put(struct sl_columns *columns, size_t column, const char *format, ...)
{
    va_list arguments;
    if (columns->failed || columns->n_rows == 0 || column >= columns->n_columns) {
        return;
    }
    char *cell = columns->cell[(columns->n_rows - 1) * columns->n_columns + column];
    va_start(arguments, format);
    (void)vsnprintf(cell, SL_CELL_MAX, format, arguments);
    va_end(arguments);
}

void sl_columns_print(struct sl_columns *columns, struct sl_buf *out)
{
    int width[SL_COLUMNS_MAX] = {0};
    size_t cells = columns->n_rows * columns->n_columns;
    if (columns->failed) {
        out->failed = SL_BUF_NOMEM;
    }
    for (size_t i = 0; i < cells; i++) {
        int len = (int)strlen(columns->cell[i]);
        int *widest = &width[i % columns->n_columns];
        *widest = len > *widest ? len : *widest;
    }
    for (size_t i = 0; i < cells; i++) {
        size_t column = i % columns->n_columns;
        bool last = column + 1 == columns->n_columns;
        if (column == 0) {
            sl_buf_printf(out, "%-*s", last ? 0 : width[0], columns->cell[i]);
        } else {
            sl_buf_printf(out, "  %*s", width[column], columns->cell[i]);
        }
        sl_buf_puts(out, last ? "\n" : "");
    }
    free(columns->cell);
    columns->cell = NULL;
}

/* ---- the table ---- */

static void cell_of(struct sl_columns *columns, size_t column, const struct sl_figure *figure,
                    double *values, size_t n)
{
    if (n == 1) {
        sl_columns_put(columns, column, "%.*f", figure->decimals, values[0]);
        return;
    }
    struct sl_band band = sl_band_of(values, n);
    if (band.p95 > band.p5) {
        sl_columns_put(columns, column, "%.*f (%.*f-%.*f)", figure->decimals, band.median,
                       figure->decimals, band.p5, figure->decimals, band.p95);
    } else {
        sl_columns_put(columns, column, "%.*f", figure->decimals, band.median);
    }
}

/* Leaves out rows that are 0 everywhere. */
static bool worth_a_row(const struct sl_experiment *experiment, const struct sl_figure *figure)
{
    for (size_t i = 0; i < experiment->n; i++) {
        double value = figure->of(&experiment->result[i]);
        if (value < 0 || value > 0) {
            return true;
        }
    }
    return figure->decimals > 0;
}

void sl_report_table(const struct sl_experiment *experiment, struct sl_buf *out)
{
    size_t n = experiment->policies->n;
    struct sl_columns columns;
    double *values = malloc(experiment->seeds * sizeof(*values));
    if (values == NULL) {
        out->failed = SL_BUF_NOMEM;
        return;
    }
    sl_columns_init(&columns, n + 1);
    sl_columns_row(&columns);
    for (size_t p = 0; p < n; p++) {
        sl_columns_put(&columns, p + 1, "%s", experiment->policies->policy[p].name);
    }
    for (size_t i = 0; sl_figure_at(i) != NULL; i++) {
        const struct sl_figure *figure = sl_figure_at(i);
        if (!worth_a_row(experiment, figure)) {
            continue;
        }
        sl_columns_row(&columns);
        sl_columns_put(&columns, 0, "%s%s%s", figure->title, figure->unit[0] != '\0' ? ", " : "",
                       figure->unit);
        for (size_t p = 0; p < n; p++) {
            for (size_t s = 0; s < experiment->seeds; s++) {
                values[s] = figure->of(sl_experiment_at(experiment, s, p));
            }
            cell_of(&columns, p + 1, figure, values, experiment->seeds);
        }
    }
    sl_columns_print(&columns, out);
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

static void field_write(struct sl_buf *out, const char *text)
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
    for (size_t i = 0; sl_figure_at(i) != NULL; i++) {
        sl_buf_printf(out, ",%s", sl_figure_at(i)->name);
    }
    sl_buf_putc(out, '\n');
    for (size_t r = 0; r < experiment->n; r++) {
        const struct sl_result *result = &experiment->result[r];
        field_write(out, experiment->policies->policy[result->policy].name);
        sl_buf_printf(out, ",%llu", (unsigned long long)result->seed);
        for (size_t i = 0; sl_figure_at(i) != NULL; i++) {
            const struct sl_figure *figure = sl_figure_at(i);
            sl_buf_printf(out, ",%.*f", figure->decimals > 0 ? 6 : 0, figure->of(result));
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
        field_write(out, experiment->policies->policy[policy].name);
        int64_t start_us = run->start_us - detail->run.begin_us;
        int64_t end_us = run->end_us - detail->run.begin_us;
        sl_buf_printf(out, ",%llu,%lld.%06lld,", (unsigned long long)experiment->seed,
                      (long long)(start_us / SL_SECOND_US), (long long)(start_us % SL_SECOND_US));
        field_write(out, pod);
        sl_buf_putc(out, ',');
        field_write(out, experiment->fleet->node[run->node]->name);
        sl_buf_putc(out, ',');
        field_write(out, run->place);
        sl_buf_printf(out, ",%lld.%06lld,%s\n", (long long)(end_us / SL_SECOND_US),
                      (long long)(end_us % SL_SECOND_US),
                      run->outcome == SL_SIM_KILLED ? "killed" : "done");
    }
    free(order);
}

void sl_report_decisions(const struct sl_experiment *experiment, struct sl_buf *out)
{
    sl_buf_puts(out, "policy,seed,time,pod,node,devices,end,outcome\n");
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
