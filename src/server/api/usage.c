/* GET /api/v1/usage: what GPUs were measured to do, by device, by pod or by namespace. */
#include "server/api/api.h"
#include "server/api/grid.h"
#include "server/api/handlers.h"
#include "util/clock.h"
#include "util/time.h"

#include <stdio.h>
#include <stdlib.h>

enum { LIMIT_DEFAULT = 500, LIMIT_MAX = 5000, PODS_TEXT = 256, NAMESPACES_MAX = 4096 };

/* One line of the answer; by device, by pod or by namespace, with what holds for that. */
struct line {
    const struct sl_view *view;
    const struct sl_usage_row *row;
    const struct sl_pod *pod;
    int device; /* index in the node's devices; -1: a unit that the node does not show */
    int64_t asked_mib;
    int64_t used_mib; /* -1: not known */
    int64_t idle_us;
};

struct writing {
    struct sl_request *request;
    struct sl_writer *w;   /* NULL: a table */
    struct sl_grid *table; /* NULL: JSON */
    struct sl_str ns;      /* only its pods; empty: all */
    size_t limit;
    size_t total;
    size_t shown;
    int64_t now_us;
    struct sl_usage_row row[SL_USAGE_ROWS_MAX]; /* of the node that is written */
    size_t n_rows;
};

static bool may_show(struct writing *out)
{
    out->total++;
    out->shown += out->shown < out->limit;
    return out->total <= out->limit;
}

static void member_or_null(struct sl_writer *w, const char *key, int64_t value)
{
    sl_write_key(w, key);
    if (value < 0) {
        sl_write_null(w);
    } else {
        sl_write_i64(w, value);
    }
}

static void cell_or_none(struct sl_grid *table, int64_t value)
{
    if (value < 0) {
        sl_grid_text(table, NULL);
    } else {
        sl_grid_i64(table, value);
    }
}

static void cell_percent(struct sl_grid *table, int64_t permille)
{
    if (permille < 0) {
        sl_grid_text(table, NULL);
    } else {
        sl_grid_printf(table, "%lld%%", (long long)(permille + 5) / 10);
    }
}

static void cell_duration(struct sl_grid *table, int64_t us)
{
    int64_t seconds = us / SL_SECOND_US;
    if (seconds <= 0) {
        sl_grid_text(table, NULL);
    } else if (seconds < 120) {
        sl_grid_printf(table, "%llds", (long long)seconds);
    } else if (seconds < 7200) {
        sl_grid_printf(table, "%lldm", (long long)seconds / 60);
    } else {
        sl_grid_printf(table, "%lldh", (long long)seconds / 3600);
    }
}

/* ---- what is on a device ---- */

static bool is_on(const struct sl_view *view, const struct sl_resident *resident, int device)
{
    for (unsigned p = 0; p < resident->n_parts; p++) {
        if (view->part[resident->first_part + p].device == device) {
            return true;
        }
    }
    return false;
}

/* MiB that the pod declares on the device; -1: nothing. */
static int64_t declared_on(const struct sl_view *view, const struct sl_resident *resident,
                           int device)
{
    const struct sl_device *d = &view->node->device[device];
    int64_t sum = -1;
    for (unsigned p = 0; p < resident->n_parts; p++) {
        const struct sl_assignment_part *part = &view->part[resident->first_part + p];
        const struct sl_ask_item *item = &resident->pod->items[part->item];
        if (part->device != device) {
            continue;
        }
        int64_t mib = item->kind == SL_KIND_MEMORY && d->memory_units > 0
                          ? part->amount * d->memory_mib / d->memory_units
                          : part->amount * item->memory_mib;
        sum = mib > 0 ? mib + (sum < 0 ? 0 : sum) : sum;
    }
    return sum;
}

static unsigned count_on(const struct sl_view *view, int device)
{
    unsigned n = 0;
    for (unsigned i = 0; i < view->n_residents; i++) {
        n += is_on(view, &view->resident[i], device);
    }
    return n;
}

static const struct sl_usage_row *row_of(const struct writing *out, const struct sl_view *view,
                                         int device)
{
    for (size_t i = 0; i < out->n_rows; i++) {
        if (out->row[i].instance < 0 && out->row[i].gpu == view->node->device[device].index) {
            return &out->row[i];
        }
    }
    return NULL;
}

static int device_of(const struct sl_view *view, int32_t gpu)
{
    for (unsigned i = 0; i < view->node->n_devices; i++) {
        if (view->node->device[i].index == gpu) {
            return (int)i;
        }
    }
    return -1;
}

/* ---- by device ---- */

/* What was measured, as it holds beside the pods of the view: after a pod has come or gone, samples
 * are too few. */
static struct sl_measured measured_now(const struct sl_view *view, int device,
                                       const struct sl_usage_row *row)
{
    struct sl_measured measured = row->measured;
    bool good = measured.state == SL_SERIES_GOOD && device >= 0 && row->instance < 0;
    if (good && measured.pods != sl_view_pods_of(view, (unsigned)device)) {
        measured.state = SL_SERIES_SHORT;
        measured.room_mib = -1;
    }
    return measured;
}

static void write_device(struct writing *out, const struct sl_view *view,
                         const struct sl_usage_row *row)
{
    int device = device_of(view, row->gpu);
    const struct sl_measured now = measured_now(view, device, row);
    const struct sl_measured *m = &now;
    int64_t total = device < 0 || row->instance >= 0 ? -1 : view->node->device[device].memory_mib;
    unsigned pods = device < 0 || row->instance >= 0 ? 0 : count_on(view, device);
    if (!may_show(out)) {
        return;
    }
    if (out->table != NULL) {
        sl_grid_text(out->table, view->node->name);
        sl_grid_i64(out->table, row->gpu);
        if (row->instance < 0) {
            sl_grid_text(out->table, NULL);
        } else {
            sl_grid_printf(out->table, "%d %s", row->instance, row->profile);
        }
        cell_or_none(out->table, row->instance < 0 ? (int64_t)pods : -1);
        cell_or_none(out->table, m->used_mib);
        cell_or_none(out->table, total > 0 ? total : -1);
        cell_percent(out->table, m->busy);
        cell_percent(out->table, m->bandwidth);
        cell_duration(out->table, row->idle_us);
        sl_grid_text(out->table, sl_series_state_name(m->state));
        cell_or_none(out->table, m->room_mib);
        sl_grid_text(out->table, m->room_mib < 0 ? NULL : sl_sharing_name(m->by));
        return;
    }
    sl_write_object(out->w);
    sl_write_member_text(out->w, "node", view->node->name);
    sl_write_member_i64(out->w, "gpu", row->gpu);
    member_or_null(out->w, "instance", row->instance);
    sl_write_member_text(out->w, "profile", row->profile[0] == '\0' ? NULL : row->profile);
    sl_write_member_i64(out->w, "pods", pods);
    member_or_null(out->w, "usedMiB", m->used_mib);
    member_or_null(out->w, "memoryMiB", total > 0 ? total : -1);
    member_or_null(out->w, "busyPermille", m->busy);
    member_or_null(out->w, "bandwidthPermille", m->bandwidth);
    sl_write_member_i64(out->w, "idleSeconds", row->idle_us / SL_SECOND_US);
    sl_write_member_text(out->w, "state", sl_series_state_name(m->state));
    sl_write_key(out->w, "sampledAt");
    sl_api_time(out->w, row->sampled_us);
    member_or_null(out->w, "roomMiB", m->room_mib);
    sl_write_member_text(out->w, "roomBy", m->room_mib < 0 ? NULL : sl_sharing_name(m->by));
    sl_write_member_i64(out->w, "overMiB", m->over_mib);
    sl_write_object_end(out->w);
}

/* ---- by pod ---- */

static struct line line_of_pod(const struct writing *out, const struct sl_view *view,
                               const struct sl_resident *resident)
{
    struct line line = {.view = view, .pod = resident->pod, .asked_mib = -1, .used_mib = 0};
    int64_t started_us = resident->pod->started_us;
    int64_t runs_us = started_us > 0 ? out->now_us - started_us : 0;
    line.idle_us = runs_us;
    for (int d = 0; d < (int)view->node->n_devices; d++) {
        if (!is_on(view, resident, d)) {
            continue;
        }
        const struct sl_usage_row *row = row_of(out, view, d);
        int64_t declared = declared_on(view, resident, d);
        line.asked_mib =
            declared < 0 ? line.asked_mib : declared + (line.asked_mib < 0 ? 0 : line.asked_mib);
        bool alone = row != NULL && row->measured.used_mib >= 0 && count_on(view, d) == 1;
        line.used_mib = !alone || line.used_mib < 0 ? -1 : line.used_mib + row->measured.used_mib;
        bool known = row != NULL && row->measured.state != SL_SERIES_STALE &&
                     row->measured.state != SL_SERIES_ABSENT && row->measured.busy >= 0;
        int64_t idle_us = known ? row->idle_us : 0;
        line.idle_us = idle_us < line.idle_us ? idle_us : line.idle_us;
    }
    return line;
}

static void write_pod(struct writing *out, const struct sl_view *view,
                      const struct sl_resident *resident)
{
    struct line line = line_of_pod(out, view, resident);
    char text[PODS_TEXT];
    if (!may_show(out)) {
        return;
    }
    if (out->table != NULL) {
        sl_grid_text(out->table, line.pod->namespace);
        sl_grid_text(out->table, line.pod->name);
        sl_grid_text(out->table, view->node->name);
        sl_api_resident_text(view, resident, text, sizeof(text));
        sl_grid_text(out->table, text);
        cell_or_none(out->table, line.asked_mib);
        cell_or_none(out->table, line.used_mib);
        cell_duration(out->table, line.idle_us);
        return;
    }
    sl_write_object(out->w);
    sl_api_pod_members(out->w, line.pod);
    sl_write_key(out->w, "devices");
    sl_api_parts(out->w, view->node, line.pod, view->part + resident->first_part,
                 resident->n_parts);
    member_or_null(out->w, "declaredMiB", line.asked_mib);
    member_or_null(out->w, "usedMiB", line.used_mib);
    sl_write_member_i64(out->w, "idleSeconds", line.idle_us / SL_SECOND_US);
    sl_write_object_end(out->w);
}

/* ---- the walk ---- */

static void write_node(struct writing *out, const struct sl_view *view, bool by_pod)
{
    const struct sl_usage_reader *reader = &out->request->app->usage;
    out->n_rows =
        reader->node(reader->context, sl_str_of(view->node->name), out->row, SL_USAGE_ROWS_MAX);
    for (size_t i = 0; !by_pod && i < out->n_rows; i++) {
        write_device(out, view, &out->row[i]);
    }
    for (unsigned i = 0; by_pod && i < view->n_residents; i++) {
        const struct sl_resident *resident = &view->resident[i];
        if (out->ns.len == 0 || sl_str_eq(out->ns, sl_str_of(resident->pod->namespace))) {
            write_pod(out, view, resident);
        }
    }
}

static void walk(struct writing *out, bool by_pod)
{
    const struct sl_snapshot *snapshot = out->request->snapshot;
    for (size_t i = 0; i < snapshot->n_nodes; i++) {
        write_node(out, snapshot->view[i], by_pod);
    }
}

static void write_json(struct writing *out, bool by_pod)
{
    const struct sl_usage_reader *reader = &out->request->app->usage;
    struct sl_writer w = {.buf = &out->request->reply};
    struct sl_usage_status status = {.answered = false};
    out->w = &w;
    sl_write_object(&w);
    sl_write_member_bool(&w, "enabled", reader->node != NULL);
    if (reader->node != NULL) {
        reader->status(reader->context, &status);
        sl_write_member_bool(&w, "answered", status.answered);
        sl_write_key(&w, "answeredAt");
        sl_api_time(&w, status.answered_us);
        sl_write_member_text(&w, "error", status.error[0] == '\0' ? NULL : status.error);
    }
    sl_write_member_array(&w, "items");
    if (reader->node != NULL) {
        walk(out, by_pod);
    }
    sl_write_array_end(&w);
    sl_write_member_i64(&w, "total", (int64_t)out->total);
    sl_write_member_i64(&w, "omitted", (int64_t)(out->total - out->shown));
    sl_write_object_end(&w);
    sl_buf_putc(&out->request->reply, '\n');
}

static void write_table(struct writing *out, bool by_pod)
{
    static const char *const device_head[] = {"NODE",     "GPU",   "INSTANCE", "PODS",
                                              "USED MiB", "OF",    "BUSY",     "BANDWIDTH",
                                              "IDLE",     "STATE", "ROOM MiB", "BY"};
    static const char *const pod_head[] = {"NAMESPACE",    "POD",      "NODE", "DEVICES",
                                           "DECLARED MiB", "USED MiB", "IDLE"};
    const struct sl_usage_reader *reader = &out->request->app->usage;
    struct sl_buf *reply = &out->request->reply;
    struct sl_usage_status status;
    struct sl_grid table;
    if (reader->node == NULL) {
        sl_buf_puts(reply, "Nothing is measured: telemetry.url is empty.\n");
        return;
    }
    reader->status(reader->context, &status);
    if (!status.answered) {
        sl_buf_printf(reply, "Prometheus does not answer%s%s\n",
                      status.error[0] == '\0' ? " yet." : ": ", status.error);
    }
    if (by_pod) {
        sl_grid_init(&table, sizeof(pod_head) / sizeof(pod_head[0]), pod_head, reply->max);
    } else {
        sl_grid_init(&table, sizeof(device_head) / sizeof(device_head[0]), device_head, reply->max);
    }
    out->table = &table;
    walk(out, by_pod);
    sl_grid_write(&table, reply);
    sl_grid_free(&table);
    if (out->shown < out->total) {
        sl_buf_printf(reply, "(%zu more: ?limit=)\n", out->total - out->shown);
    }
}

void sl_api_usage(struct sl_request *request)
{
    struct sl_str by = sl_request_query(request, "by");
    struct writing *out = NULL;
    int64_t limit = 0;
    bool as_table = false;
    if (sl_request_only(request, "output, limit, by, namespace") < 0 ||
        sl_request_number(request, "limit", LIMIT_DEFAULT, LIMIT_MAX, &limit) < 0 ||
        sl_request_output(request, &as_table) < 0) {
        return;
    }
    bool by_pod = sl_str_eq(by, SL_STR("pod"));
    if (by.len > 0 && !by_pod && !sl_str_eq(by, SL_STR("device"))) {
        (void)sl_error_set(&request->err, SL_ERR_FIELD,
                           "by: expected device or pod, found \"%.*s\"",
                           (int)(by.len < 64 ? by.len : 64), by.s);
        (void)sl_request_fail_err(request);
        return;
    }
    out = calloc(1, sizeof(*out));
    if (out == NULL) {
        (void)sl_error_nomem(&request->err);
        (void)sl_request_fail_err(request);
        return;
    }
    *out = (struct writing){.request = request,
                            .ns = sl_request_query(request, "namespace"),
                            .limit = (size_t)limit,
                            .now_us = sl_clock_real_us()};
    (void)sl_app_snapshot(request);
    if (as_table) {
        write_table(out, by_pod);
    } else {
        write_json(out, by_pod);
    }
    free(out);
}
