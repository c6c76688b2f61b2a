/* Compares the orders of the queue on queues long enough for starving: mean response (until a job
 * starts, as in Shao et al.) with that of the shortest job first, longest wait with FIFO's. Draws
 * the curve of the bounded order over c. */
#include <stdio.h>
#include <stdlib.h>

#include "evidence/reproduce.h"
#include "evidence/trial.h"
#include "sim/output/report.h"
#include "sim/output/svg.h"

enum { SETTINGS = 3, ESTIMATES = 2, ORDERS = 6, CURVE = 7, POLICIES = ORDERS + CURVE };

static const struct setting {
    const char *title;
    const char *jobs;
    const char *gpus;
} settings[SETTINGS] = {
    {"1,000 tasks, 9 GPUs (load 0.96)", "tasks=1000", "9"},
    {"100 tasks, 2 GPUs (overload)", "tasks=100", "2"},
    {"1,000 tasks, 2 GPUs (overload)", "tasks=1000", "2"},
};

static const struct estimate {
    const char *title;
    const char *value;
} estimates[ESTIMATES] = {
    {"exact timeouts", "exact"},
    {"timeouts 1-5 times the run time", "factor:1:5"},
};

enum { FIFO, SJF, P, P_QUARTER, HRRN, BOUNDED, FIRST_C };
static const char *const names[POLICIES] = {
    "fifo",
    "sjf",
    "p",
    "p:gamma=0.25",
    "hrrn",
    "bounded",
    "bounded:c=1",
    "bounded:c=1.05",
    "bounded:c=1.1",
    "bounded:c=1.3",
    "bounded:c=1.5",
    "bounded:c=2",
    "bounded:c=3",
};

struct point {
    double response; /* medians over seeds */
    double longest;
    double response_of_sjf;
    double longest_of_fifo;
    double longest_of_fifo_max; /* in the worst seed */
};

struct grid {
    struct point point[SETTINGS][ESTIMATES][POLICIES];
};

/* The curve is drawn for exact timeouts. */
static size_t policies_of(size_t estimate)
{
    return estimate == 0 ? POLICIES : ORDERS;
}

static void point_measure(const struct sl_trial *trial, size_t policy, double *values,
                          struct point *out)
{
    size_t n = trial->experiment.seeds;
    sl_trial_values(trial, sl_mean_wait, policy, values);
    out->response = sl_band_of(values, n).median;
    sl_trial_values(trial, sl_longest_wait, policy, values);
    out->longest = sl_band_of(values, n).median;
    sl_trial_ratios(trial, sl_mean_wait, policy, SJF, values);
    out->response_of_sjf = sl_band_of(values, n).median;
    sl_trial_ratios(trial, sl_longest_wait, policy, FIFO, values);
    out->longest_of_fifo = sl_band_of(values, n).median;
    out->longest_of_fifo_max = values[n - 1]; /* sorted now */
}

static int points_run(size_t s, size_t e, const struct sl_reproduce_options *options,
                      double *values, struct grid *grid, struct sl_error *err)
{
    char jobs[128];
    char doing[128];
    struct sl_buf list;
    struct sl_reproduce_options quick = *options;
    quick.output = SL_OUTPUT_TABLE; /* no details are needed */
    sl_buf_init(&list, 1024);
    for (size_t p = 0; p < policies_of(e); p++) {
        sl_buf_printf(&list, "%s%s", p > 0 ? "," : "", names[p]);
    }
    sl_buf_putc(&list, '\0');
    (void)snprintf(jobs, sizeof(jobs), "%s,estimate=%s", settings[s].jobs, estimates[e].value);
    (void)snprintf(doing, sizeof(doing), "%zu/%d %s, %s", s * ESTIMATES + e + 1,
                   SETTINGS * ESTIMATES, settings[s].title, estimates[e].title);
    struct sl_trial *trial = list.failed != SL_BUF_OK ? NULL
                                                      : sl_trial_run(jobs, settings[s].gpus,
                                                                     list.data, &quick, doing, err);
    if (list.failed != SL_BUF_OK) {
        (void)sl_error_nomem(err);
    }
    sl_buf_free(&list);
    if (trial == NULL) {
        return -1;
    }
    for (size_t p = 0; p < policies_of(e); p++) {
        point_measure(trial, p, values, &grid->point[s][e][p]);
    }
    sl_trial_free(trial);
    return 0;
}

/* ---- reports ---- */

static void table_of(const struct grid *grid, size_t s, size_t e, struct sl_buf *out)
{
    static const char *const head[] = {"",
                                       "mean response, s",
                                       "longest wait, s",
                                       "mean / sjf's",
                                       "longest / fifo's",
                                       "in the worst seed"};
    struct sl_columns columns;
    sl_columns_init(&columns, sizeof(head) / sizeof(head[0]));
    sl_columns_row(&columns);
    for (size_t i = 0; i < columns.n_columns; i++) {
        sl_columns_put(&columns, i, "%s", head[i]);
    }
    for (size_t p = 0; p < policies_of(e); p++) {
        const struct point *point = &grid->point[s][e][p];
        sl_columns_row(&columns);
        sl_columns_put(&columns, 0, "%s", names[p]);
        sl_columns_put(&columns, 1, "%.0f", point->response);
        sl_columns_put(&columns, 2, "%.0f", point->longest);
        sl_columns_put(&columns, 3, "%.3f", point->response_of_sjf);
        sl_columns_put(&columns, 4, "%.3f", point->longest_of_fifo);
        sl_columns_put(&columns, 5, "%.3f", point->longest_of_fifo_max);
    }
    sl_buf_printf(out, "%s, %s\n", settings[s].title, estimates[e].title);
    sl_columns_print(&columns, out);
    sl_buf_putc(out, '\n');
}

static void print_table(const struct grid *grid, uint32_t seeds, struct sl_buf *out)
{
    sl_buf_puts(out, "Orders of the queue: gaps exponential of mean 25 s, log10 of the run time "
                     "even in 1..3\n\n");
    for (size_t s = 0; s < SETTINGS; s++) {
        for (size_t e = 0; e < ESTIMATES; e++) {
            table_of(grid, s, e, out);
        }
    }
    sl_buf_printf(out,
                  "medians over %u seeds; response: from submission to start; ratios are taken "
                  "seed by seed.\nbounded is c=%.2f\n",
                  seeds, SL_PROMISE_C_DEFAULT / 1000.0);
}

static void print_rows(const struct grid *grid, uint32_t seeds, bool json, struct sl_buf *out)
{
    if (json) {
        sl_buf_printf(out, "{\"experiment\": \"orders\", \"seeds\": %u, \"rows\": [\n", seeds);
    } else {
        sl_buf_puts(out, "setting,timeouts,policy,response_s,longest_wait_s,response_of_sjf,"
                         "longest_of_fifo,longest_of_fifo_max\n");
    }
    for (size_t i = 0; i < (size_t)SETTINGS * ESTIMATES * POLICIES; i++) {
        size_t s = i / (ESTIMATES * (size_t)POLICIES);
        size_t e = i / POLICIES % ESTIMATES;
        size_t p = i % POLICIES;
        const struct point *point = &grid->point[s][e][p];
        bool last = s + 1 == SETTINGS && e + 1 == ESTIMATES && p + 1 == policies_of(e);
        if (p >= policies_of(e)) {
            continue;
        }
        sl_buf_printf(out,
                      json ? "  {\"setting\": \"%s\", \"timeouts\": \"%s\", \"policy\": \"%s\", "
                             "\"response\": %.6f, \"longestWait\": %.6f, \"responseOfSjf\": %.6f, "
                             "\"longestOfFifo\": %.6f, \"longestOfFifoMax\": %.6f}%s\n"
                           : "\"%s\",%s,%s,%.6f,%.6f,%.6f,%.6f,%.6f%s\n",
                      settings[s].title, estimates[e].value, names[p], point->response,
                      point->longest, point->response_of_sjf, point->longest_of_fifo,
                      point->longest_of_fifo_max, json && !last ? "," : "");
    }
    sl_buf_puts(out, json ? "]}\n" : "");
}

/* ---- the curve ---- */

enum { LABEL_HEIGHT = 12, LETTER_WIDTH = 6 };

static void range_widen(double value, double *low, double *high)
{
    *low = value < *low ? value : *low;
    *high = value > *high ? value : *high;
}

/* c = 1, 1.05, 1.1, 1.15 (the default), 1.3, ... */
static size_t curve_at(size_t i)
{
    static const size_t order[CURVE + 1] = {FIRST_C,     FIRST_C + 1, FIRST_C + 2, BOUNDED,
                                            FIRST_C + 3, FIRST_C + 4, FIRST_C + 5, FIRST_C + 6};
    return order[i];
}

/* Places of names drawn so far; a dot without room for its name shows it under the pointer only. */
struct labels {
    size_t n;
    struct {
        double x, y, width; /* left end and baseline */
    } box[POLICIES];
};

static bool is_free(const struct labels *labels, const struct sl_axes *axes, double x, double y,
                    double width)
{
    if (x < axes->x || x + width > axes->x + axes->width || y > axes->y + axes->height) {
        return false;
    }
    for (size_t i = 0; i < labels->n; i++) {
        if (x < labels->box[i].x + labels->box[i].width && labels->box[i].x < x + width &&
            y < labels->box[i].y + LABEL_HEIGHT && labels->box[i].y < y + LABEL_HEIGHT) {
            return false;
        }
    }
    return true;
}

static void draw_dot(struct sl_buf *out, const struct sl_axes *axes, const struct point *point,
                     const char *name, unsigned colour, struct labels *labels)
{
    static const double up[] = {-6, 16, -18, 28};
    double x = sl_axes_x(axes, point->longest_of_fifo);
    double y = sl_axes_y(axes, point->response_of_sjf);
    double width = (double)strlen(name) * LETTER_WIDTH;
    sl_svg_bar(out, x - 4, y - 4, 8, 8, colour, name);
    for (size_t i = 0; i < 2 * sizeof(up) / sizeof(up[0]); i++) {
        double left = i % 2 == 0 ? x + 7 : x - 7 - width;
        double base = y + up[i / 2];
        if (is_free(labels, axes, left, base, width)) {
            labels->box[labels->n].x = left;
            labels->box[labels->n].y = base;
            labels->box[labels->n++].width = width;
            sl_svg_text(out, left, base, SL_SVG_LEFT, "ink small", name);
            return;
        }
    }
}

static void draw_setting(struct sl_buf *out, const struct point *point, const char *title, double y)
{
    double x[CURVE + 1];
    double height[CURVE + 1];
    struct labels labels = {.n = 0};
    struct sl_axes axes = {.x = 80,
                           .y = y + 30,
                           .width = 820,
                           .height = 220,
                           .min_x = 1,
                           .max_x = 1,
                           .min_y = 1,
                           .max_y = 1};
    for (size_t p = 0; p < POLICIES; p++) {
        range_widen(point[p].longest_of_fifo, &axes.min_x, &axes.max_x);
        range_widen(point[p].response_of_sjf, &axes.min_y, &axes.max_y);
    }
    double pad_x = (axes.max_x - axes.min_x) * 0.05 + 0.01;
    double pad_y = (axes.max_y - axes.min_y) * 0.05 + 0.01;
    axes.min_x -= pad_x;
    axes.max_x += pad_x;
    axes.min_y -= pad_y;
    axes.max_y += pad_y;
    sl_svg_text(out, 24, y, SL_SVG_LEFT, "ink", title);
    sl_axes_draw(out, &axes, "longest wait / FIFO's", "mean response / SJF's");
    for (size_t i = 0; i <= CURVE; i++) {
        x[i] = point[curve_at(i)].longest_of_fifo;
        height[i] = point[curve_at(i)].response_of_sjf;
    }
    sl_axes_curve(out, &axes, x, height, CURVE + 1, 0);
    /* names find room in this order */
    draw_dot(out, &axes, &point[BOUNDED], "c=1.15", 0, &labels);
    for (size_t p = 0; p < BOUNDED; p++) {
        draw_dot(out, &axes, &point[p], names[p], (unsigned)p + 1, &labels);
    }
    for (size_t p = FIRST_C; p < POLICIES; p++) {
        draw_dot(out, &axes, &point[p], names[p] + strlen("bounded:"), 0, &labels);
    }
}

static void grid_plot(const struct grid *grid, uint32_t seeds, struct sl_buf *out)
{
    char text[128];
    enum { PANEL = 320 };
    sl_svg_begin(out, 960, 60 + SETTINGS * PANEL, "Orders of the queue: mean against longest wait");
    sl_svg_text(out, 24, 28, SL_SVG_LEFT, "ink head",
                "Bounded shortest job first over c, and the other orders");
    (void)snprintf(text, sizeof(text), "medians over %u seeds, exact timeouts", seeds);
    sl_svg_text(out, 936, 28, SL_SVG_RIGHT, "dim small", text);
    for (size_t s = 0; s < SETTINGS; s++) {
        draw_setting(out, grid->point[s][0], settings[s].title, 64 + (double)s * PANEL);
    }
    sl_svg_end(out);
}

int sl_reproduce_orders(const struct sl_reproduce_options *options, struct sl_buf *out,
                        struct sl_error *err)
{
    struct grid *grid = calloc(1, sizeof(*grid));
    double *values = malloc(options->seeds * sizeof(*values));
    int rc = grid == NULL || values == NULL ? sl_error_nomem(err) : 0;
    for (size_t i = 0; i < (size_t)SETTINGS * ESTIMATES && rc == 0; i++) {
        bool needed = options->output != SL_OUTPUT_SVG || i % ESTIMATES == 0;
        rc = needed ? points_run(i / ESTIMATES, i % ESTIMATES, options, values, grid, err) : 0;
    }
    if (rc == 0) {
        switch (options->output) {
        case SL_OUTPUT_TABLE:
            print_table(grid, options->seeds, out);
            break;
        case SL_OUTPUT_CSV:
        case SL_OUTPUT_JSON:
            print_rows(grid, options->seeds, options->output == SL_OUTPUT_JSON, out);
            break;
        case SL_OUTPUT_SVG:
            grid_plot(grid, options->seeds, out);
            break;
        }
    }
    free(grid);
    free(values);
    return rc;
}
