/* GET /api/v1/partitions: the nodes whose GPUs may be cut, how they are cut, and what is under way.
 */
#include "server/api/api.h"
#include "server/api/handlers.h"
#include "util/clock.h"
#include "util/term/grid.h"
#include "util/time.h"

#include <stdio.h>

enum { LIMIT_DEFAULT = 500, LIMIT_MAX = 5000, CUT_TEXT = 256 };

/* The instances of one profile on one device, or the slices of one size. */
struct group {
    const struct sl_mig_profile *profile;
    unsigned n;
    unsigned used;
    const char *resource; /* of slices; else NULL */
};

/* Counts the device's instances by profile, in their order; returns how many groups there are. */
static unsigned count_groups(const struct sl_view *view, unsigned device,
                             struct group group[SL_MIG_INSTANCES_MAX])
{
    const struct sl_node *node = view->node;
    unsigned n = 0;
    for (unsigned i = 0; i < node->n_instances; i++) {
        const struct sl_instance *instance = &node->instance[i];
        if (instance->device != device) {
            continue;
        }
        unsigned at = 0;
        if (instance->slices > 0) {
            group[n++] = (struct group){.n = instance->slices,
                                        .used = (unsigned)view->instance_used[i],
                                        .resource = node->pool[instance->pool].resource};
            continue;
        }
        while (at < n && group[at].profile != instance->profile) {
            at++;
        }
        if (at == n) {
            group[n++] = (struct group){.profile = instance->profile};
        }
        group[at].n++;
        group[at].used += view->instance_used[i] > 0 ? 1 : 0;
    }
    return n;
}

/* "7g.80gb", "10gb", "unknown" */
static const char *group_name(const struct group *group)
{
    if (group->resource != NULL) {
        return strrchr(group->resource, '-') + 1; /* of "nvidia.com/gpu-10gb" */
    }
    return group->profile == NULL ? "unknown" : group->profile->name;
}

/* "7x 1g.10gb (2 used)", "whole", "no instance" */
static void device_text(const struct sl_view *view, unsigned device, char *out, size_t size)
{
    struct group group[SL_MIG_INSTANCES_MAX];
    unsigned n = count_groups(view, device, group);
    size_t len = 0;
    (void)snprintf(out, size, "%s", view->node->device[device].mig ? "no instance" : "whole");
    for (unsigned i = 0; i < n && len < size; i++) {
        int wrote = snprintf(out + len, size - len, "%s%ux %s", i == 0 ? "" : ", ", group[i].n,
                             group_name(&group[i]));
        len += wrote > 0 ? (size_t)wrote : 0;
        if (group[i].used > 0 && len < size) {
            wrote = snprintf(out + len, size - len, " (%u used)", group[i].used);
            len += wrote > 0 ? (size_t)wrote : 0;
        }
    }
}

static void read_status(const struct sl_request *request, const struct sl_view *view,
                        struct sl_partition_status *out)
{
    const struct sl_partition_reader *reader = &request->app->partitions;
    *out = (struct sl_partition_status){.phase = SL_PHASE_IDLE};
    if (reader->status != NULL) {
        reader->status(reader->context, view, sl_clock_real_us(), out);
    }
}

/* ---- JSON ---- */

static void write_devices(struct sl_writer *w, const struct sl_view *view)
{
    struct group group[SL_MIG_INSTANCES_MAX];
    sl_write_member_array(w, "devices");
    for (unsigned d = 0; d < view->node->n_devices; d++) {
        unsigned n = count_groups(view, d, group);
        sl_write_object(w);
        sl_write_member_i64(w, "index", view->node->device[d].index);
        sl_write_member_bool(w, "mig", view->node->device[d].mig);
        sl_write_member_array(w, "instances");
        for (unsigned i = 0; i < n; i++) {
            sl_write_object(w);
            sl_write_member_text(w, "profile", group_name(&group[i]));
            sl_write_member_i64(w, "count", group[i].n);
            sl_write_member_i64(w, "used", group[i].used);
            sl_write_object_end(w);
        }
        sl_write_array_end(w);
        sl_write_object_end(w);
    }
    sl_write_array_end(w);
}

static void write_text_or_null(struct sl_writer *w, const char *key, const char *text)
{
    sl_write_member_text(w, key, text[0] == '\0' ? NULL : text);
}

static void write_node(struct sl_request *request, struct sl_writer *w, const struct sl_view *view)
{
    struct sl_partition_status status;
    read_status(request, view, &status);
    sl_write_object(w);
    sl_write_member_text(w, "node", view->node->name);
    sl_write_member_text(w, "actuator", sl_actuator_name(view->node->partition.actuator));
    sl_write_member_text(w, "state", sl_partition_phase_name(status.phase));
    sl_write_key(w, "since");
    sl_api_time(w, status.since_us);
    sl_write_key(w, "until");
    sl_api_time(w, status.until_us);
    sl_write_member_i64(w, "cutSeconds", status.seconds_us / SL_SECOND_US);
    sl_write_member_i64(w, "failures", status.failures);
    write_text_or_null(w, "cut", status.cut);
    write_text_or_null(w, "pods", status.pods);
    write_text_or_null(w, "why", status.why);
    write_text_or_null(w, "text", status.text);
    write_devices(w, view);
    sl_write_object_end(w);
}

/* ---- the list ---- */

/* May its GPUs be cut? Of a node that is asked for by its name it is said why not. */
static bool is_listed(const struct sl_request *request, const struct sl_view *view)
{
    struct sl_str name = sl_request_query(request, "node"); /* empty: all */
    bool could = request->live->config.partitioning.enabled && sl_node_has_gpus(view->node);
    bool selected = view->node->partition.actuator != SL_ACTUATOR_NONE;
    return name.len == 0 ? selected
                         : (selected || could) && sl_str_eq(name, sl_str_of(view->node->name));
}

static size_t count_nodes(const struct sl_request *request)
{
    const struct sl_snapshot *snapshot = request->snapshot;
    size_t n = 0;
    for (size_t i = 0; i < snapshot->n_nodes; i++) {
        n += is_listed(request, snapshot->view[i]) ? 1 : 0;
    }
    return n;
}

static void write_json(struct sl_request *request, size_t limit)
{
    const struct sl_snapshot *snapshot = request->snapshot;
    struct sl_writer w = {.buf = &request->reply};
    size_t total = count_nodes(request);
    size_t shown = 0;
    sl_write_object(&w);
    sl_write_member_bool(&w, "enabled", request->live->config.partitioning.enabled);
    sl_write_member_i64(&w, "total", (int64_t)total);
    sl_write_member_array(&w, "items");
    for (size_t i = 0; i < snapshot->n_nodes && shown < limit; i++) {
        if (is_listed(request, snapshot->view[i])) {
            write_node(request, &w, snapshot->view[i]);
            shown++;
        }
    }
    sl_write_array_end(&w);
    sl_write_member_i64(&w, "omitted", (int64_t)(total - shown));
    sl_write_object_end(&w);
    sl_buf_putc(&request->reply, '\n');
}

/* One row for each GPU; what holds for the node stands in the first. */
static void add_rows(struct sl_request *request, struct sl_grid *table, const struct sl_view *view)
{
    const struct sl_node *node = view->node;
    struct sl_partition_status status;
    char text[CUT_TEXT];
    read_status(request, view, &status);
    for (unsigned d = 0; d < node->n_devices || d == 0; d++) {
        sl_grid_text(table, node->name);
        sl_grid_text(table, sl_actuator_name(node->partition.actuator));
        if (d < node->n_devices) {
            device_text(view, d, text, sizeof(text));
            sl_grid_i64(table, node->device[d].index);
            sl_grid_text(table, text);
        } else {
            sl_grid_text(table, NULL);
            sl_grid_text(table, "unknown");
        }
        sl_grid_text(table, sl_partition_phase_name(status.phase));
        sl_grid_text(table, d == 0 ? status.cut : NULL);
        sl_grid_text(table, d == 0 ? status.pods : NULL);
        sl_grid_text(table, d == 0 ? status.why : NULL);
        sl_grid_text(table, d == 0 ? status.text : NULL);
    }
}

static void write_table(struct sl_request *request, size_t limit)
{
    static const char *const head[] = {"NODE", "ACTUATOR", "GPU", "INSTANCES", "STATE",
                                       "CUT",  "PODS",     "WHY", "TEXT"};
    const struct sl_snapshot *snapshot = request->snapshot;
    struct sl_grid table;
    size_t total = count_nodes(request);
    size_t shown = 0;
    if (total == 0) {
        sl_buf_puts(&request->reply, request->live->config.partitioning.enabled
                                         ? "No node matches partitioning.nodeSelector.\n"
                                         : "Nothing is cut: partitioning.enabled is false.\n");
        return;
    }
    sl_grid_init(&table, sizeof(head) / sizeof(head[0]), head, request->reply.max);
    for (size_t i = 0; i < snapshot->n_nodes && shown < limit; i++) {
        if (is_listed(request, snapshot->view[i])) {
            add_rows(request, &table, snapshot->view[i]);
            shown++;
        }
    }
    sl_grid_write(&table, &request->reply);
    sl_grid_free(&table);
    if (shown < total) {
        sl_buf_printf(&request->reply, "(%zu more node%s: ?limit=)\n", total - shown,
                      total - shown == 1 ? "" : "s");
    }
}

void sl_api_partitions(struct sl_request *request)
{
    int64_t limit = 0;
    bool as_table = false;
    if (sl_request_only(request, "output, limit, node") < 0 ||
        sl_request_number(request, "limit", LIMIT_DEFAULT, LIMIT_MAX, &limit) < 0 ||
        sl_request_output(request, &as_table) < 0) {
        return;
    }
    const char *missing = sl_app_missing(request->app);
    if (request->live->config.partitioning.enabled && missing != NULL) {
        (void)sl_error_set(&request->err, SL_ERR_CONFLICT, "%s", missing);
        sl_api_queue_failed(request); /* the leader alone knows what is under way */
        return;
    }
    (void)sl_app_snapshot(request);
    if (as_table) {
        write_table(request, (size_t)limit);
    } else {
        write_json(request, (size_t)limit);
    }
}
