/* Shao et al., GPU Scheduling for Short Tasks in Private Cloud, Table II: one queue of 20 tasks on
 * 2 GPUs. Draws the same over many seeds, and shows where the paper's queue lies among them. Its
 * "response" ends when a task starts: its "finish" is later by the mean run time. */
#include <stdlib.h>

#include "evidence/reproduce.h"
#include "evidence/trial.h"
#include "sim/output/plot.h"
#include "sim/output/report.h"

static const char jobs[] = "tasks=20,gap=exp:25,runtime=loguniform:1:3,estimate=exact";

static const struct row {
    const char *policy;
    double response; /* in the paper; 0: not there */
    double finish;
} rows[] = {
    {"fifo", 563.989, 771.633}, {"sjf", 252.187, 459.394}, {"p", 288.516, 496.586}, {"hrrn", 0, 0},
    {"bounded", 0, 0},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
static const char policies[] = "fifo,sjf,p,hrrn,bounded";

struct figures {
    struct sl_band response;
    struct sl_band finish;
    struct sl_band of_fifo;
};

static void values_measure(const struct sl_trial *trial, size_t policy, double *values,
                           struct figures *out)
{
    size_t n = trial->experiment.seeds;
    sl_trial_values(trial, sl_mean_wait, policy, values);
    out->response = sl_band_of(values, n);
    sl_trial_values(trial, sl_mean_response, policy, values);
    out->finish = sl_band_of(values, n);
    sl_trial_ratios(trial, sl_mean_wait, policy, 0, values);
    out->of_fifo = sl_band_of(values, n);
}

static double paper_ratio(const struct row *row)
{
    return row->response / rows[0].response;
}

static const char *inside_band(const struct row *row, const struct sl_band *band)
{
    double ratio = paper_ratio(row);
    if (row->response <= 0) {
        return "-";
    }
    return ratio >= band->p5 && ratio <= band->p95 ? "yes" : "no";
}

static void put_paper(struct sl_columns *columns, const struct row *row)
{
    if (row->response <= 0) {
        sl_columns_put(columns, 1, "-");
        sl_columns_put(columns, 2, "-");
        sl_columns_put(columns, 3, "-");
        return;
    }
    sl_columns_put(columns, 1, "%.3f", row->response);
    sl_columns_put(columns, 2, "%.3f", row->finish);
    sl_columns_put(columns, 3, "%.3f", paper_ratio(row));
}

static void print_table(const struct figures *figures, uint32_t seeds, struct sl_buf *out)
{
    static const char *const head[] = {"",        "paper: response, s", "finish, s",
                                       "of FIFO", "here: response, s",  "finish, s",
                                       "of FIFO", "paper inside"};
    struct sl_columns columns;
    sl_columns_init(&columns, sizeof(head) / sizeof(head[0]));
    sl_columns_row(&columns);
    for (size_t i = 0; i < columns.n_columns; i++) {
        sl_columns_put(&columns, i, "%s", head[i]);
    }
    for (size_t p = 0; p < ROWS; p++) {
        const struct figures *f = &figures[p];
        sl_columns_row(&columns);
        sl_columns_put(&columns, 0, "%s", rows[p].policy);
        put_paper(&columns, &rows[p]);
        sl_columns_put(&columns, 4, "%.1f (%.1f-%.1f)", f->response.median, f->response.p5,
                       f->response.p95);
        sl_columns_put(&columns, 5, "%.1f (%.1f-%.1f)", f->finish.median, f->finish.p5,
                       f->finish.p95);
        sl_columns_put(&columns, 6, "%.3f (%.3f-%.3f)", f->of_fifo.median, f->of_fifo.p5,
                       f->of_fifo.p95);
        sl_columns_put(&columns, 7, "%s", inside_band(&rows[p], &f->of_fifo));
    }
    sl_buf_puts(out, "Short tasks (Shao et al., Table II): 20 tasks on 2 GPUs, gaps exponential of "
                     "mean 25 s,\nlog10 of the run time even in 1..3, the timeout is the run "
                     "time; response is until the start here,\nas in the paper: in slicesim run it "
                     "is until the end, which is called finish here\n\n");
    sl_columns_print(&columns, out);
    sl_buf_printf(out,
                  "\nresponse: from submission to start, finish: from submission to end; means "
                  "over the tasks.\nhere: medians over %u random queues, p5-p95 in parentheses; "
                  "of FIFO: response over FIFO's\non the same queue; paper inside: its one queue "
                  "lies in our p5-p95\n",
                  seeds);
}

static void band_json(struct sl_buf *out, const char *name, const struct sl_band *band)
{
    sl_buf_printf(out, "\"%s\": {\"p5\": %.6f, \"median\": %.6f, \"p95\": %.6f}", name, band->p5,
                  band->median, band->p95);
}

static void print_json(const struct figures *figures, uint32_t seeds, struct sl_buf *out)
{
    sl_buf_printf(out, "{\"experiment\": \"short-tasks\", \"seeds\": %u, \"rows\": [\n", seeds);
    for (size_t p = 0; p < ROWS; p++) {
        sl_buf_printf(out, "  {\"policy\": \"%s\", ", rows[p].policy);
        if (rows[p].response > 0) {
            sl_buf_printf(out,
                          "\"paper\": {\"response\": %.3f, \"finish\": %.3f, \"ofFifo\": %.6f, "
                          "\"inside\": %s},\n   ",
                          rows[p].response, rows[p].finish, paper_ratio(&rows[p]),
                          inside_band(&rows[p], &figures[p].of_fifo)[0] == 'y' ? "true" : "false");
        }
        band_json(out, "response", &figures[p].response);
        sl_buf_puts(out, ", ");
        band_json(out, "finish", &figures[p].finish);
        sl_buf_puts(out, ",\n   ");
        band_json(out, "ofFifo", &figures[p].of_fifo);
        sl_buf_puts(out, p + 1 < ROWS ? "},\n" : "}\n");
    }
    sl_buf_puts(out, "]}\n");
}

static void print_csv(const struct figures *figures, struct sl_buf *out)
{
    sl_buf_puts(out, "policy,paper_response,paper_finish,response_p5,response_median,response_p95,"
                     "finish_p5,finish_median,finish_p95,of_fifo_p5,of_fifo_median,of_fifo_p95\n");
    for (size_t p = 0; p < ROWS; p++) {
        const struct figures *f = &figures[p];
        sl_buf_printf(out, "%s,", rows[p].policy);
        if (rows[p].response > 0) {
            sl_buf_printf(out, "%.3f,%.3f", rows[p].response, rows[p].finish);
        } else {
            sl_buf_putc(out, ',');
        }
        sl_buf_printf(out, ",%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f\n", f->response.p5,
                      f->response.median, f->response.p95, f->finish.p5, f->finish.median,
                      f->finish.p95, f->of_fifo.p5, f->of_fifo.median, f->of_fifo.p95);
    }
}

int sl_reproduce_short_tasks(const struct sl_reproduce_options *options, struct sl_buf *out,
                             struct sl_error *err)
{
    struct figures figures[ROWS];
    double *values = malloc(options->seeds * sizeof(*values));
    if (values == NULL) {
        return sl_error_nomem(err);
    }
    struct sl_trial *trial = sl_trial_run(jobs, "2", policies, options, "short tasks", err);
    if (trial == NULL) {
        free(values);
        return -1;
    }
    for (size_t p = 0; p < ROWS; p++) {
        values_measure(trial, p, values, &figures[p]);
    }
    switch (options->output) {
    case SL_OUTPUT_TABLE:
        print_table(figures, options->seeds, out);
        break;
    case SL_OUTPUT_CSV:
        print_csv(figures, out);
        break;
    case SL_OUTPUT_JSON:
        print_json(figures, options->seeds, out);
        break;
    case SL_OUTPUT_SVG:
        sl_plot(&trial->experiment, out);
        break;
    }
    sl_trial_free(trial);
    free(values);
    return 0;
}
