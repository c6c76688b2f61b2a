/* Lays out when jobs ran on which device, as bars that do not overlap. */
#include "sim/output/plot.h"

#include <stdio.h>
#include <stdlib.h>

struct chart {
    const struct sl_fleet *fleet;
    const struct sl_sim_run *run;
    struct sl_gantt *gantt;
    struct place {
        int32_t node;
        int64_t device; /* -1: only the kubelet knows */
        int64_t free_us[SL_GANTT_LANES_MAX];
    } * place; /* by row of the chart */
    size_t cap;
};

static int by_start(const void *a, const void *b)
{
    const uint32_t *const *left = a;
    const uint32_t *const *right = b;
    return (**left > **right) - (**left < **right);
}

/* Row of a device, made when it is new; SL_GANTT_DEVICES_MAX when there is no room. */
static size_t row_of(struct chart *chart, int32_t node, int64_t device)
{
    struct sl_gantt *gantt = chart->gantt;
    size_t at = 0;
    while (at < gantt->n_devices &&
           (chart->place[at].node != node || chart->place[at].device != device)) {
        at++;
    }
    if (at == gantt->n_devices && at < SL_GANTT_DEVICES_MAX) {
        struct sl_gantt_device *row = &gantt->device[at];
        const char *name = chart->fleet->node[node]->name;
        chart->place[at] = (struct place){.node = node, .device = device};
        if (device >= 0) {
            (void)snprintf(row->name, sizeof(row->name), "%.60s / %lld", name, (long long)device);
        } else {
            (void)snprintf(row->name, sizeof(row->name), "%.60s", name);
        }
        row->lanes = 1;
        gantt->n_devices++;
    }
    return at;
}

static void add_bar(struct chart *chart, size_t job, int64_t device)
{
    const struct sl_sim_job *run = &chart->run->job[job];
    struct sl_gantt *gantt = chart->gantt;
    size_t row = row_of(chart, run->node, device);
    uint32_t lane = 0;
    if (row == SL_GANTT_DEVICES_MAX || gantt->n == SL_GANTT_BARS_MAX) {
        gantt->n_left_out++;
        return;
    }
    struct place *place = &chart->place[row];
    while (lane < SL_GANTT_LANES_MAX && place->free_us[lane] > run->start_us) {
        lane++;
    }
    if (lane == SL_GANTT_LANES_MAX) {
        gantt->n_left_out++;
        return;
    }
    place->free_us[lane] = run->end_us;
    if (lane + 1 > gantt->device[row].lanes) {
        gantt->device[row].lanes = lane + 1;
    }
    gantt->bar[gantt->n++] = (struct sl_gantt_bar){job, (uint32_t)row, lane};
}

/* "nvidia.com/gpu=0,3;nvidia.com/mig-1g.6gb=1/2": the devices, each part one bar. */
static void add_job(struct chart *chart, size_t job)
{
    const char *at = chart->run->job[job].place;
    while (at != NULL && *at != '\0') {
        const char *equals = strchr(at, '=');
        const char *part = equals == NULL ? at + strlen(at) : equals + 1;
        while (*part != '\0' && *part != ';') {
            size_t len = strcspn(part, "/*,;");
            int64_t device = -1;
            if (!sl_str_to_i64((struct sl_str){part, len}, &device)) {
                device = -1;
            }
            add_bar(chart, job, device);
            part += strcspn(part, ",;");
            part += *part == ',' ? 1 : 0;
        }
        at = *part == ';' ? part + 1 : part;
    }
}

int sl_gantt_make(const struct sl_fleet *fleet, const struct sl_sim_run *run, struct sl_gantt *out)
{
    struct chart chart = {.fleet = fleet, .run = run, .gantt = out};
    const uint32_t **order = calloc(run->n + 1, sizeof(uint32_t *));
    memset(out, 0, sizeof(*out));
    out->bar = calloc(SL_GANTT_BARS_MAX, sizeof(*out->bar));
    out->device = calloc(SL_GANTT_DEVICES_MAX, sizeof(*out->device));
    chart.place = calloc(SL_GANTT_DEVICES_MAX, sizeof(*chart.place));
    bool lacking = order == NULL || out->bar == NULL || out->device == NULL || chart.place == NULL;
    size_t n = 0;
    for (size_t i = 0; !lacking && i < run->n; i++) {
        if (run->job[i].node >= 0) {
            order[n++] = &run->job[i].order;
        }
    }
    if (n > 0) {
        qsort((void *)order, n, sizeof(uint32_t *), by_start);
    }
    for (size_t i = 0; i < n; i++) {
        const char *member = (const char *)order[i] - offsetof(struct sl_sim_job, order);
        add_job(&chart, (size_t)((member - (const char *)run->job) / (ptrdiff_t)sizeof(*run->job)));
    }
    free((void *)order);
    free(chart.place);
    if (lacking) {
        sl_gantt_free(out);
    }
    return lacking ? -1 : 0;
}

void sl_gantt_free(struct sl_gantt *gantt)
{
    free(gantt->bar);
    free(gantt->device);
    memset(gantt, 0, sizeof(*gantt));
}
