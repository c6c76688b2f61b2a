/* GET /api/v1/usage: what GPUs were measured to do, by device, by pod or by namespace. */
#include "server/api/api.h"
#include "server/api/handlers.h"
#include "util/clock.h"
#include "util/data/map.h"
#include "util/term/grid.h"
#include "util/time.h"

#include <stdio.h>
#include <stdlib.h>

enum { LIMIT_DEFAULT = 500, LIMIT_MAX = 5000, PODS_TEXT = 256 };

enum by { BY_DEVICE, BY_POD, BY_NAMESPACE };

/* The sums over the pods of one namespace. Memory counts where it is known. */
struct space {
    const char *name; /* borrowed from a pod of the snapshot */
    const struct sl_view *view;
    uint64_t held; /* of that view's devices, counted already */
    int64_t devices;
    int64_t pods;
    int64_t share; /* of GPUs, in thousandths */
    int64_t idle_pods;
    int64_t idle_share;
    int64_t idle_us; /* sum over idle pods: time by the share of a GPU */
    int64_t declared_mib;
    int64_t used_mib;
};

struct writing {
    struct sl_request *request;
    struct sl_writer *w;   /* NULL: a table */
    struct sl_grid *table; /* NULL: JSON */
    struct sl_str ns;      /* only its pods; empty: all */
    struct sl_str node;    /* only that node; empty: all */
    enum by by;
    int64_t idle_us;      /* a pod that idles for that long counts as idle */
    struct sl_map spaces; /* struct space by name */
    bool failed;          /* out of memory */
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

static void member_idle(struct sl_writer *w, int64_t idle_us, int64_t since_us)
{
    sl_write_member_known(w, "idleSeconds", idle_us < 0 ? -1 : idle_us / SL_SECOND_US);
    sl_write_key(w, "idleSince");
    sl_api_time(w, idle_us > 0 ? since_us : 0);
}

static void cell_or_none(struct sl_grid *table, int64_t value)
{
    if (value < 0) {
        sl_grid_text(table, NULL);
    } else {
        sl_grid_i64(table, value);
    }
}

static void cell_kj(struct sl_grid *table, int64_t joules)
{
    cell_or_none(table, joules < 0 ? -1 : joules / 1000);
}

static void cell_percent(struct sl_grid *table, int64_t permille)
{
    char text[SL_API_PERCENT_MAX];
    sl_grid_text(table, sl_api_percent(permille, text));
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

static unsigned count_on(const struct sl_view *view, int device)
{
    unsigned n = 0;
    for (unsigned i = 0; i < view->n_residents; i++) {
        n += is_on(view, &view->resident[i], device);
    }
    return n;
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

/* The measurement as it holds beside the pods of the view: after a pod has come or gone, samples
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
        cell_or_none(out->table, row->watts);
        cell_kj(out->table, row->joules);
        cell_duration(out->table, row->idle_us);
        sl_grid_text(out->table, sl_series_state_name(m->state));
        cell_or_none(out->table, m->room_mib);
        sl_grid_text(out->table, m->room_mib < 0 ? NULL : sl_sharing_name(m->by));
        return;
    }
    sl_write_object(out->w);
    sl_write_member_text(out->w, "node", view->node->name);
    sl_write_member_i64(out->w, "gpu", row->gpu);
    sl_write_member_known(out->w, "instance", row->instance);
    sl_write_member_text(out->w, "profile", row->profile[0] == '\0' ? NULL : row->profile);
    sl_write_member_i64(out->w, "pods", pods);
    sl_write_member_known(out->w, "usedMiB", m->used_mib);
    sl_write_member_known(out->w, "memoryMiB", total > 0 ? total : -1);
    sl_write_member_known(out->w, "busyPermille", m->busy);
    sl_write_member_known(out->w, "bandwidthPermille", m->bandwidth);
    sl_write_member_known(out->w, "powerWatts", row->watts);
    sl_write_member_known(out->w, "energyJoules", row->joules);
    member_idle(out->w, row->idle_us, row->since_us);
    sl_write_member_text(out->w, "state", sl_series_state_name(m->state));
    sl_write_key(out->w, "sampledAt");
    sl_api_time(out->w, row->sampled_us);
    sl_write_member_known(out->w, "roomMiB", m->room_mib);
    sl_write_member_text(out->w, "roomBy", m->room_mib < 0 ? NULL : sl_sharing_name(m->by));
    sl_write_member_i64(out->w, "overMiB", m->over_mib);
    sl_write_object_end(out->w);
}

/* ---- by pod ---- */

static int64_t joules_of(const struct writing *out, const char *uid, const char *namespace)
{
    const struct sl_usage_reader *reader = &out->request->app->usage;
    return reader->joules(reader->context, uid, namespace);
}

static void write_pod(struct writing *out, const struct sl_view *view,
                      const struct sl_resident *resident, const struct sl_pod_use *use)
{
    const struct sl_pod *pod = resident->pod;
    char text[PODS_TEXT];
    if (!may_show(out)) {
        return;
    }
    int64_t joules = joules_of(out, pod->uid, NULL);
    if (out->table != NULL) {
        sl_grid_text(out->table, pod->namespace);
        sl_grid_text(out->table, pod->name);
        sl_grid_text(out->table, view->node->name);
        sl_api_resident_text(view, resident, text, sizeof(text));
        sl_grid_text(out->table, text);
        cell_or_none(out->table, use->declared_mib);
        cell_or_none(out->table, use->used_mib);
        cell_kj(out->table, joules);
        cell_duration(out->table, use->idle_us);
        return;
    }
    sl_write_object(out->w);
    sl_api_pod_members(out->w, pod);
    sl_write_key(out->w, "devices");
    sl_api_parts(out->w, view->node, pod, view->part + resident->first_part, resident->n_parts);
    sl_write_member_i64(out->w, "gpuPermille", use->share);
    sl_write_member_known(out->w, "declaredMiB", use->declared_mib);
    sl_write_member_known(out->w, "usedMiB", use->used_mib);
    sl_write_member_i64(out->w, "overMiB", use->over_mib);
    sl_write_member_known(out->w, "energyJoules", joules);
    member_idle(out->w, use->idle_us, use->since_us);
    sl_write_member_bool(out->w, "idle", use->idle_us >= out->idle_us);
    sl_write_object_end(out->w);
}

/* ---- by namespace ---- */

/* NULL: out of memory. */
static struct space *space_of(struct writing *out, const char *name)
{
    struct space *space = sl_map_get(&out->spaces, name, strlen(name));
    if (space != NULL) {
        return space;
    }
    space = calloc(1, sizeof(*space));
    if (space == NULL || sl_map_put(&out->spaces, name, strlen(name), space, NULL) < 0) {
        free(space);
        out->failed = true;
        return NULL;
    }
    space->name = name;
    space->used_mib = -1;
    return space;
}

static void count_pod(struct writing *out, const struct sl_view *view, const struct sl_pod *pod,
                      const struct sl_pod_use *use)
{
    struct space *space = space_of(out, pod->namespace);
    if (space == NULL) {
        return;
    }
    space->held = space->view == view ? space->held : 0;
    space->view = view;
    space->devices += __builtin_popcountll(use->held & ~space->held);
    space->held |= use->held;
    space->pods++;
    space->share += use->share;
    space->declared_mib += use->declared_mib < 0 ? 0 : use->declared_mib;
    space->used_mib = use->used_mib < 0     ? space->used_mib
                      : space->used_mib < 0 ? use->used_mib
                                            : space->used_mib + use->used_mib;
    if (use->idle_us >= out->idle_us) {
        space->idle_pods++;
        space->idle_share += use->share;
        space->idle_us += use->idle_us / 1000 * use->share;
    }
}

static void cell_share(struct sl_grid *table, int64_t share)
{
    sl_grid_printf(table, "%lld.%02lld", (long long)share / 1000, (long long)share % 1000 / 10);
}

static void write_space(struct writing *out, const struct space *space)
{
    if (!may_show(out)) {
        return;
    }
    int64_t joules = joules_of(out, NULL, space->name);
    if (out->table != NULL) {
        sl_grid_text(out->table, space->name);
        sl_grid_i64(out->table, space->pods);
        sl_grid_i64(out->table, space->devices);
        cell_share(out->table, space->share);
        sl_grid_i64(out->table, space->idle_pods);
        cell_share(out->table, space->idle_share);
        cell_duration(out->table, space->idle_us);
        sl_grid_i64(out->table, space->declared_mib);
        cell_or_none(out->table, space->used_mib);
        cell_kj(out->table, joules);
        return;
    }
    sl_write_object(out->w);
    sl_write_member_text(out->w, "namespace", space->name);
    sl_write_member_i64(out->w, "pods", space->pods);
    sl_write_member_i64(out->w, "devices", space->devices);
    sl_write_member_i64(out->w, "gpuPermille", space->share);
    sl_write_member_i64(out->w, "idlePods", space->idle_pods);
    sl_write_member_i64(out->w, "idleGpuPermille", space->idle_share);
    sl_write_member_i64(out->w, "idleGpuSeconds", space->idle_us / SL_SECOND_US);
    sl_write_member_i64(out->w, "declaredMiB", space->declared_mib);
    sl_write_member_known(out->w, "usedMiB", space->used_mib);
    sl_write_member_known(out->w, "energyJoules", joules);
    sl_write_object_end(out->w);
}

static int by_name(const void *a, const void *b)
{
    const struct space *const *x = a;
    const struct space *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static void write_spaces(struct writing *out)
{
    size_t n = out->spaces.len;
    const struct space **list = n == 0 ? NULL : calloc(n, sizeof(const struct space *));
    size_t at = 0;
    size_t i = 0;
    out->failed = out->failed || (n > 0 && list == NULL);
    for (; list != NULL && i < n; i++) {
        list[i] = sl_map_next(&out->spaces, &at);
    }
    if (list != NULL) {
        qsort(list, n, sizeof(const struct space *), by_name);
    }
    for (i = 0; list != NULL && i < n; i++) {
        write_space(out, list[i]);
    }
    free(list);
}

static void spaces_free(struct writing *out)
{
    size_t at = 0;
    for (struct space *space = sl_map_next(&out->spaces, &at); space != NULL;
         space = sl_map_next(&out->spaces, &at)) {
        free(space);
    }
    sl_map_free(&out->spaces);
}

/* ---- the walk ---- */

static void write_node(struct writing *out, const struct sl_view *view)
{
    const struct sl_usage_reader *reader = &out->request->app->usage;
    out->n_rows =
        reader->node(reader->context, sl_str_of(view->node->name), out->row, SL_USAGE_ROWS_MAX);
    sl_usage_agree(view, out->row, out->n_rows);
    for (size_t i = 0; out->by == BY_DEVICE && i < out->n_rows; i++) {
        write_device(out, view, &out->row[i]);
    }
    for (unsigned i = 0; out->by != BY_DEVICE && i < view->n_residents; i++) {
        const struct sl_resident *resident = &view->resident[i];
        struct sl_pod_use use;
        if (out->ns.len > 0 && !sl_str_eq(out->ns, sl_str_of(resident->pod->namespace))) {
            continue;
        }
        sl_usage_pod(view, resident, out->row, out->n_rows, out->now_us, &use);
        if (out->by == BY_POD) {
            write_pod(out, view, resident, &use);
        } else {
            count_pod(out, view, resident->pod, &use);
        }
    }
}

static void walk(struct writing *out)
{
    const struct sl_snapshot *snapshot = out->request->snapshot;
    for (size_t i = 0; i < snapshot->n_nodes; i++) {
        if (out->node.len == 0 || sl_str_eq(out->node, sl_str_of(snapshot->view[i]->node->name))) {
            write_node(out, snapshot->view[i]);
        }
    }
    write_spaces(out);
}

static void write_json(struct writing *out)
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
        walk(out);
    }
    sl_write_array_end(&w);
    sl_write_member_i64(&w, "total", (int64_t)out->total);
    sl_write_member_i64(&w, "omitted", (int64_t)(out->total - out->shown));
    sl_write_object_end(&w);
    sl_buf_putc(&out->request->reply, '\n');
}

static void write_table(struct writing *out)
{
    static const struct {
        unsigned n;
        const char *name[SL_GRID_COLUMNS_MAX];
    } head[] = {
        [BY_DEVICE] = {14,
                       {"NODE", "GPU", "INSTANCE", "PODS", "USED MiB", "OF", "BUSY", "BANDWIDTH",
                        "POWER W", "ENERGY kJ", "IDLE", "STATE", "ROOM MiB", "BY"}},
        [BY_POD] = {8,
                    {"NAMESPACE", "POD", "NODE", "DEVICES", "DECLARED MiB", "USED MiB", "ENERGY kJ",
                     "IDLE"}},
        [BY_NAMESPACE] = {10,
                          {"NAMESPACE", "PODS", "DEVICES", "GPUS", "IDLE PODS", "IDLE GPUS",
                           "IDLE GPU TIME", "DECLARED MiB", "USED MiB", "ENERGY kJ"}},
    };
    const struct sl_usage_reader *reader = &out->request->app->usage;
    struct sl_buf *reply = &out->request->reply;
    struct sl_usage_status status;
    struct sl_grid table;
    if (reader->node == NULL) {
        sl_buf_puts(reply,
                    "Nothing is measured: telemetry.url and telemetry.exporters are empty.\n");
        return;
    }
    reader->status(reader->context, &status);
    if (!status.answered || status.error[0] != '\0') {
        sl_buf_printf(reply, "No telemetry%s%s\n", status.error[0] == '\0' ? " yet." : ": ",
                      status.error);
    }
    sl_grid_init(&table, head[out->by].n, head[out->by].name, reply->max);
    out->table = &table;
    walk(out);
    sl_grid_write(&table, reply);
    sl_grid_free(&table);
    if (out->shown < out->total) {
        sl_buf_printf(reply, "(%zu more: ?limit=)\n", out->total - out->shown);
    }
}

static bool by_of(struct sl_str text, enum by *out)
{
    static const struct {
        struct sl_str text;
        enum by by;
    } words[] = {{{"", 0}, BY_DEVICE},
                 {{"device", 6}, BY_DEVICE},
                 {{"pod", 3}, BY_POD},
                 {{"namespace", 9}, BY_NAMESPACE}};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (sl_str_eq(text, words[i].text)) {
            *out = words[i].by;
            return true;
        }
    }
    return false;
}

void sl_api_usage(struct sl_request *request)
{
    struct sl_str by = sl_request_query(request, "by");
    struct writing *out = NULL;
    enum by kind = BY_DEVICE;
    int64_t limit = 0;
    bool as_table = false;
    if (sl_request_only(request, "output, limit, by, namespace, node") < 0 ||
        sl_request_number(request, "limit", LIMIT_DEFAULT, LIMIT_MAX, &limit) < 0 ||
        sl_request_output(request, &as_table) < 0) {
        return;
    }
    if (!by_of(by, &kind)) {
        (void)sl_error_set(&request->err, SL_ERR_FIELD,
                           "expected device, pod or namespace, found \"%.*s\"",
                           (int)(by.len < 64 ? by.len : 64), by.s);
        (void)snprintf(request->err.field, sizeof(request->err.field), "by");
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
                            .node = sl_request_query(request, "node"),
                            .by = kind,
                            .idle_us = request->live->config.telemetry.idle_us,
                            .limit = (size_t)limit,
                            .now_us = sl_clock_real_us()};
    (void)sl_app_snapshot(request);
    if (as_table) {
        write_table(out);
    } else {
        write_json(out);
    }
    if (out->failed) {
        (void)sl_error_nomem(&request->err);
        (void)sl_request_fail_err(request);
    }
    spaces_free(out);
    free(out);
}
