/* Plots of an experiment. */
#include "sim/output/plot.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/output/report.h"
#include "sim/output/svg.h"

enum {
    WIDTH = 960,
    MARGIN = 24,
    HEAD = 58,
    BARS_HEIGHT = 24,
    CDF_HEIGHT = 220,
    PANELS = 4,
    GANTT_POLICIES = 8
};

struct page {
    const struct sl_experiment *experiment;
    struct sl_buf *out;
    double y; /* where the next block begins */
};

static const char *name_of(const struct page *page, size_t policy)
{
    return page->experiment->policies->policy[policy].name;
}

/* ---- side by side ---- */

static const struct panel {
    const char *title;
    const char *figure;
} panels[PANELS] = {
    {"mean response, s", "response_mean"},
    {"longest wait, s", "wait_max"},
    {"mean slowdown", "slowdown_mean"},
    {"utilisation", "utilisation"},
};

static const struct sl_figure *figure_of(const char *name)
{
    size_t i = 0;
    while (strcmp(sl_figure_at(i)->name, name) != 0) {
        i++;
    }
    return sl_figure_at(i);
}

static void draw_panel(struct page *page, const struct panel *panel, double x, double width)
{
    const struct sl_experiment *experiment = page->experiment;
    const struct sl_figure *figure = figure_of(panel->figure);
    struct sl_band band[SL_POLICIES_MAX];
    double *values = malloc(((size_t)experiment->seeds + 1) * sizeof(*values));
    double most = 0;
    if (values == NULL) {
        page->out->failed = SL_BUF_NOMEM;
        return;
    }
    for (size_t p = 0; p < experiment->policies->n; p++) {
        for (size_t s = 0; s < experiment->seeds; s++) {
            values[s] = figure->of(sl_experiment_at(experiment, s, p));
        }
        band[p] = sl_band_of(values, experiment->seeds);
        most = band[p].p95 > most ? band[p].p95 : most;
    }
    free(values);
    sl_svg_text(page->out, x, page->y, SL_SVG_LEFT, "ink", panel->title);
    double scale = most > 0 ? (width - 60) / most : 0;
    for (size_t p = 0; p < experiment->policies->n; p++) {
        double y = page->y + 10 + (double)p * BARS_HEIGHT;
        char number[32];
        sl_svg_bar(page->out, x, y, band[p].median * scale, BARS_HEIGHT - 8, (unsigned)p,
                   name_of(page, p));
        if (band[p].p95 > band[p].p5) {
            double middle = y + (BARS_HEIGHT - 8) / 2.0;
            sl_svg_line(page->out, x + band[p].p5 * scale, middle, x + band[p].p95 * scale, middle,
                        "whisker");
        }
        (void)snprintf(number, sizeof(number), "%.*f", figure->decimals > 2 ? 3 : 1,
                       band[p].median);
        sl_svg_text(page->out, x + band[p].p95 * scale + 5, y + 12, SL_SVG_LEFT, "dim small",
                    number);
    }
}

static void draw_bars(struct page *page)
{
    double names = 150;
    double width = (WIDTH - 2 * MARGIN - names) / PANELS;
    for (size_t p = 0; p < page->experiment->policies->n; p++) {
        char name[28];
        (void)snprintf(name, sizeof(name), "%.24s", name_of(page, p));
        double y = page->y + 10 + (double)p * BARS_HEIGHT;
        sl_svg_bar(page->out, MARGIN, y + 2, 10, 10, (unsigned)p, NULL);
        sl_svg_text(page->out, MARGIN + 16, y + 12, SL_SVG_LEFT, "ink small", name);
    }
    for (size_t i = 0; i < PANELS; i++) {
        draw_panel(page, &panels[i], MARGIN + names + (double)i * width, width - 10);
    }
    page->y += 10 + (double)page->experiment->policies->n * BARS_HEIGHT + 40;
}

/* ---- waits ---- */

static void draw_waits(struct page *page)
{
    const struct sl_experiment *experiment = page->experiment;
    double share[SL_QUANTILES];
    double most = 0;
    for (int q = 0; q < SL_QUANTILES; q++) {
        share[q] = (double)q / (SL_QUANTILES - 1);
    }
    for (size_t p = 0; p < experiment->policies->n; p++) {
        /* the last thousandths of one policy would press all others against the axis */
        double nearly_all = experiment->detail[p].wait[(SL_QUANTILES - 1) * 98 / 100];
        most = nearly_all > most ? nearly_all : most;
    }
    const struct sl_axes axes = {.x = MARGIN + 40,
                                 .y = page->y + 26,
                                 .width = WIDTH - 2 * MARGIN - 50,
                                 .height = CDF_HEIGHT - 70,
                                 .max_x = most > 0 ? most : 1,
                                 .max_y = 1};
    sl_svg_text(page->out, MARGIN, page->y, SL_SVG_LEFT, "ink", "share of jobs that wait at most");
    sl_axes_draw(page->out, &axes, "seconds", "");
    for (size_t p = 0; p < experiment->policies->n; p++) {
        sl_axes_curve(page->out, &axes, experiment->detail[p].wait, share, SL_QUANTILES,
                      (unsigned)p);
    }
    page->y += CDF_HEIGHT + 10;
}

/* ---- Gantt ---- */

enum { LANE = 12, GAP = 3 };

static double gantt_height(const struct sl_gantt *gantt)
{
    double height = 70;
    for (size_t i = 0; i < gantt->n_devices; i++) {
        height += gantt->device[i].lanes * (gantt->device[i].lanes > 4 ? 5 : LANE) + GAP;
    }
    return height;
}

static void draw_gantt(struct page *page, size_t policy, const struct sl_gantt *gantt,
                       double span_us)
{
    const struct sl_detail *detail = &page->experiment->detail[policy];
    double top[SL_GANTT_DEVICES_MAX] = {0};
    double lane[SL_GANTT_DEVICES_MAX] = {0};
    double y = page->y + 12;
    const double left = MARGIN + 110;
    const double scale = (WIDTH - left - MARGIN) / span_us;
    char title[200];
    (void)snprintf(title, sizeof(title), "%s: which job ran where (seed %llu)%s",
                   name_of(page, policy), (unsigned long long)page->experiment->seed,
                   gantt->n_left_out > 0 ? ", the first devices and jobs" : "");
    sl_svg_text(page->out, MARGIN, page->y, SL_SVG_LEFT, "ink", title);
    for (size_t i = 0; i < gantt->n_devices; i++) {
        top[i] = y;
        lane[i] = gantt->device[i].lanes > 4 ? 5 : LANE;
        double height = gantt->device[i].lanes * lane[i];
        sl_svg_text(page->out, left - 6, y + height / 2 + 4, SL_SVG_RIGHT, "dim small",
                    gantt->device[i].name);
        sl_svg_line(page->out, left, y + height + GAP / 2.0, WIDTH - MARGIN, y + height + GAP / 2.0,
                    "grid");
        y += height + GAP;
    }
    for (size_t i = 0; i < gantt->n; i++) {
        const struct sl_gantt_bar *bar = &gantt->bar[i];
        const struct sl_sim_job *run = &detail->run.job[bar->job];
        const struct sl_job *job = &detail->workload.job[bar->job];
        double width = (double)(run->end_us - run->start_us) * scale;
        char tip[400];
        (void)snprintf(tip, sizeof(tip), "%.200s: waited %.1f s, ran %.1f s", job->name,
                       (double)(run->start_us - job->submit_us) / 1e6,
                       (double)(run->end_us - run->start_us) / 1e6);
        sl_svg_bar(page->out, left + (double)run->start_us * scale,
                   top[bar->device] + bar->lane * lane[bar->device],
                   width > 0.4 ? width - 0.3 : 0.4, lane[bar->device] - 1, (unsigned)bar->job, tip);
    }
    const struct sl_axes axes = {
        .x = left, .width = WIDTH - left - MARGIN, .max_x = span_us / 1e6, .max_y = 1, .height = 1};
    double step = sl_tick(axes.max_x, 7);
    for (int i = 0; i < 20 && i * step <= axes.max_x; i++) {
        char number[24];
        sl_short_number(i * step, number);
        sl_svg_text(page->out, sl_axes_x(&axes, i * step), y + 14, SL_SVG_MIDDLE, "dim small",
                    number);
    }
    sl_svg_text(page->out, WIDTH - MARGIN, y + 28, SL_SVG_RIGHT, "dim small", "seconds");
    page->y += gantt_height(gantt);
}

/* ---- the page ---- */

struct charts {
    struct sl_gantt gantt[GANTT_POLICIES];
    size_t n;
    double span_us;
    double height;
};

static int make_charts(const struct sl_experiment *experiment, struct charts *charts)
{
    size_t n = experiment->policies->n < GANTT_POLICIES ? experiment->policies->n : GANTT_POLICIES;
    memset(charts, 0, sizeof(*charts));
    charts->span_us = 1;
    for (size_t p = 0; p < n; p++) {
        const struct sl_sim_run *run = &experiment->detail[p].run;
        if (sl_gantt_make(experiment->fleet, run, &charts->gantt[p]) < 0) {
            return -1;
        }
        charts->n++;
        charts->height += gantt_height(&charts->gantt[p]);
        charts->span_us =
            (double)run->end_us > charts->span_us ? (double)run->end_us : charts->span_us;
    }
    return 0;
}

void sl_plot(const struct sl_experiment *experiment, struct sl_buf *out)
{
    struct page page = {.experiment = experiment, .out = out, .y = HEAD};
    struct charts charts;
    char title[128];
    if (make_charts(experiment, &charts) < 0) {
        out->failed = SL_BUF_NOMEM;
    }
    double height =
        HEAD + 50 + (double)experiment->policies->n * BARS_HEIGHT + CDF_HEIGHT + 10 + charts.height;
    (void)snprintf(title, sizeof(title), "%zu policies, %u %s", experiment->policies->n,
                   experiment->seeds, experiment->seeds == 1 ? "run" : "seeds");
    sl_svg_begin(out, WIDTH, height, title);
    sl_svg_text(out, MARGIN, 28, SL_SVG_LEFT, "ink head", title);
    if (experiment->seeds > 1) {
        sl_svg_text(out, WIDTH - MARGIN, 28, SL_SVG_RIGHT, "dim small",
                    "bars: medians over seeds, lines p5 to p95");
    }
    draw_bars(&page);
    draw_waits(&page);
    for (size_t p = 0; p < charts.n; p++) {
        draw_gantt(&page, p, &charts.gantt[p], charts.span_us);
        sl_gantt_free(&charts.gantt[p]);
    }
    sl_svg_end(out);
}
