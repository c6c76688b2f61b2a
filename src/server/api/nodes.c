/* GET /api/v1/nodes and /api/v1/nodes/{name}: devices, instances, pools, and who uses them. */
#include "server/api/api.h"
#include "server/api/handlers.h"
#include "util/data/search.h"
#include "util/term/grid.h"

#include <stdio.h>

enum { LIMIT_DEFAULT = 500, LIMIT_MAX = 5000, USERS_TEXT = 320, VERSION_MAX = 48 };

/* ---- JSON ---- */

/* 0: not known. */
static void write_positive(struct sl_writer *w, const char *key, int64_t value)
{
    sl_write_member_known(w, key, value > 0 ? value : -1);
}

static void write_pools(struct sl_writer *w, const struct sl_view *view)
{
    sl_write_array(w);
    for (unsigned i = 0; i < view->node->n_pools; i++) {
        const struct sl_pool *pool = &view->node->pool[i];
        sl_write_object(w);
        sl_write_member_text(w, "resource", pool->resource);
        sl_write_member_text(w, "kind", sl_kind_name(pool->kind));
        sl_write_member_text(w, "profile", pool->profile == NULL ? NULL : pool->profile->name);
        sl_write_member_i64(w, "capacity", pool->capacity);
        int64_t set_aside = sl_view_set_aside_units(view, i);
        sl_write_member_i64(w, "used", view->pool_used[i] - set_aside);
        sl_write_member_i64(w, "setAside", set_aside);
        sl_write_member_i64(w, "free", sl_view_free_units(view, i));
        sl_write_member_i64(w, "replicas", pool->replicas);
        write_positive(w, "memoryMiB", pool->memory_mib);
        sl_write_member_bool(w, "equalMemory", pool->equal_memory);
        sl_write_member_bool(w, "oneEach", pool->one_each);
        sl_write_member_i64(w, "declaredMiB", view->pool_mib[i]);
        sl_write_member_bool(w, "onDevices", pool->on_devices);
        sl_write_object_end(w);
    }
    sl_write_array_end(w);
}

/* Does the resident hold something of that instance? With instance -1: of the device, without an
 * instance of its own? */
static bool holds_part(const struct sl_view *view, const struct sl_resident *resident, int device,
                       int instance)
{
    for (unsigned i = 0; i < resident->n_parts; i++) {
        const struct sl_assignment_part *part = &view->part[resident->first_part + i];
        if (part->device == device && part->instance == instance) {
            return true;
        }
    }
    return false;
}

static void write_users(struct sl_writer *w, const struct sl_view *view, int device, int instance)
{
    sl_write_array(w);
    for (unsigned i = 0; i < view->n_residents; i++) {
        const struct sl_resident *resident = &view->resident[i];
        if (holds_part(view, resident, device, instance)) {
            sl_write_object(w);
            sl_write_member_text(w, "namespace", resident->pod->namespace);
            sl_write_member_text(w, "name", resident->pod->name);
            sl_write_member_bool(w, "setAside", resident->pod->set_aside);
            sl_write_object_end(w);
        }
    }
    sl_write_array_end(w);
}

static void write_instances(struct sl_writer *w, const struct sl_view *view, unsigned device)
{
    const struct sl_node *node = view->node;
    sl_write_array(w);
    for (unsigned i = 0; i < node->n_instances; i++) {
        const struct sl_instance *instance = &node->instance[i];
        if (instance->device != device) {
            continue;
        }
        sl_write_object(w);
        sl_write_member_text(w, "profile",
                             instance->profile == NULL ? NULL : instance->profile->name);
        sl_write_member_known(w, "start", instance->start);
        write_positive(w, "memorySlices",
                       instance->profile == NULL ? 0 : instance->profile->memory);
        sl_write_member_text(w, "resource", node->pool[instance->pool].resource);
        sl_write_member_i64(w, "units", sl_node_instance_units(node, i));
        sl_write_member_i64(w, "used", view->instance_used[i]);
        sl_write_key(w, "pods");
        write_users(w, view, (int)device, (int)i);
        sl_write_object_end(w);
    }
    sl_write_array_end(w);
}

/* measured: NULL, or of no sample: null. */
static void write_measured(struct sl_writer *w, const struct sl_measured *measured)
{
    sl_write_key(w, "measured");
    if (measured == NULL || (measured->used_mib < 0 && measured->busy < 0)) {
        sl_write_null(w);
        return;
    }
    sl_write_object(w);
    sl_write_member_text(w, "state", sl_series_state_name(measured->state));
    sl_write_member_known(w, "usedMiB", measured->used_mib);
    sl_write_member_known(w, "busyPermille", measured->busy);
    sl_write_object_end(w);
}

static void write_device(struct sl_writer *w, const struct sl_view *view, unsigned d)
{
    const struct sl_device *device = &view->node->device[d];
    const struct sl_device_use *use = &view->device[d];
    sl_write_object(w);
    sl_write_member_i64(w, "index", device->index);
    sl_write_member_text(w, "uuid", device->uuid);
    sl_write_member_text(w, "product", device->product);
    sl_write_member_text(w, "model", device->model == NULL ? NULL : device->model->name);
    write_positive(w, "memoryMiB", device->memory_mib);
    write_positive(w, "memorySlices", device->model == NULL ? 0 : device->model->memory_slices);
    sl_write_member_bool(w, "healthy", device->healthy);
    sl_write_member_bool(w, "mig", device->mig);
    sl_write_member_object(w, "used");
    sl_write_member_bool(w, "whole", use->whole);
    sl_write_member_i64(w, "instances", use->instances);
    sl_write_member_i64(w, "replicas", use->replicas);
    sl_write_member_i64(w, "memoryUnits", use->memory_units);
    int64_t over_mib = view->measured == NULL ? 0 : view->measured[d].over_mib;
    sl_write_member_i64(w, "declaredMiB", use->declared_mib - over_mib);
    sl_write_member_i64(w, "overMiB", over_mib);
    sl_write_object_end(w);
    write_measured(w, view->measured == NULL ? NULL : &view->measured[d]);
    sl_write_member_i64(w, "memoryUnits", device->memory_units);
    sl_write_key(w, "instances");
    write_instances(w, view, d);
    sl_write_key(w, "pods");
    write_users(w, view, (int)d, -1);
    sl_write_object_end(w);
}

static void write_resident(struct sl_writer *w, const struct sl_view *view,
                           const struct sl_resident *resident)
{
    sl_write_object(w);
    sl_api_pod_members(w, resident->pod);
    sl_write_member_bool(w, "setAside", resident->pod->set_aside);
    sl_write_member_bool(w, "assumed", resident->assumed);
    sl_write_key(w, "devices");
    sl_api_parts(w, view->node, resident->pod, view->part + resident->first_part,
                 resident->n_parts);
    sl_write_object_end(w);
}

static void write_node(struct sl_writer *w, const struct sl_view *view)
{
    const struct sl_node *node = view->node;
    char problem[SL_API_PROBLEM_MAX];
    sl_write_object(w);
    sl_write_member_text(w, "name", node->name);
    sl_write_member_text(w, "product", node->product);
    sl_write_member_text(w, "model", node->model == NULL ? NULL : node->model->name);
    sl_write_member_text(w, "layout", sl_layout_name(node->layout));
    sl_write_member_bool(w, "dynamicMig", node->dynamic_mig);
    sl_write_member_bool(w, "cutting", view->withheld);
    sl_write_member_text(w, "problem", sl_api_problem(view, problem));
    sl_write_key(w, "pools");
    write_pools(w, view);
    sl_write_member_array(w, "devices");
    for (unsigned i = 0; i < node->n_devices; i++) {
        write_device(w, view, i);
    }
    sl_write_array_end(w);
    sl_write_member_array(w, "pods");
    for (unsigned i = 0; i < view->n_residents; i++) {
        write_resident(w, view, &view->resident[i]);
    }
    sl_write_array_end(w);
    sl_write_object_end(w);
}

/* ---- tables ---- */

static void add_pool_rows(struct sl_grid *table, const struct sl_view *view)
{
    const struct sl_node *node = view->node;
    char text[SL_API_PROBLEM_MAX];
    const char *problem = sl_api_problem(view, text);
    if (node->n_pools == 0) {
        sl_grid_text(table, node->name);
        sl_grid_text(table, node->product);
        for (unsigned i = 0; i < 6; i++) {
            sl_grid_text(table, NULL);
        }
        sl_grid_text(table, sl_layout_name(node->layout));
        sl_grid_text(table, problem);
    }
    for (unsigned i = 0; i < node->n_pools; i++) {
        sl_grid_text(table, node->name);
        sl_grid_text(table, node->product);
        sl_grid_text(table, node->pool[i].resource);
        sl_grid_text(table, sl_kind_name(node->pool[i].kind));
        sl_grid_i64(table, node->pool[i].capacity);
        int64_t set_aside = sl_view_set_aside_units(view, i);
        sl_grid_i64(table, view->pool_used[i] - set_aside);
        sl_grid_i64(table, set_aside);
        sl_grid_i64(table, sl_view_free_units(view, i));
        sl_grid_text(table, sl_layout_name(node->layout));
        sl_grid_text(table, problem);
    }
}

static void pools_table(struct sl_grid *table, size_t max_bytes)
{
    static const char *const head[] = {"NODE", "PRODUCT",   "RESOURCE", "KIND",   "CAPACITY",
                                       "USED", "SET-ASIDE", "FREE",     "LAYOUT", "PROBLEM"};
    sl_grid_init(table, sizeof(head) / sizeof(head[0]), head, max_bytes);
}

/* "ns/a, ns/b" */
static void users_text(const struct sl_view *view, int device, int instance, char *out, size_t size)
{
    size_t len = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < view->n_residents; i++) {
        const struct sl_resident *resident = &view->resident[i];
        if (!holds_part(view, resident, device, instance) || len + 1 >= size) {
            continue;
        }
        int n = snprintf(out + len, size - len, "%s%s/%s%s", len == 0 ? "" : ", ",
                         resident->pod->namespace, resident->pod->name,
                         resident->pod->set_aside ? " (set aside)" : "");
        len += n > 0 ? (size_t)n : 0;
        len = len >= size ? size - 1 : len;
    }
}

/* Returns NULL where there is none to tell. Slices have their resource's name alone. */
static const char *profile_text(const struct sl_node *node, const struct sl_instance *instance)
{
    if (instance == NULL || instance->slices > 0) {
        return instance == NULL ? NULL : node->pool[instance->pool].resource;
    }
    return instance->profile == NULL ? NULL : instance->profile->name;
}

static void add_device_row(struct sl_grid *table, const struct sl_view *view, unsigned d, int i)
{
    const struct sl_device *device = &view->node->device[d];
    const struct sl_instance *instance = i < 0 ? NULL : &view->node->instance[i];
    char users[USERS_TEXT];
    users_text(view, (int)d, i, users, sizeof(users));
    sl_grid_i64(table, device->index);
    sl_grid_text(table, device->uuid);
    sl_grid_text(table, device->healthy ? "yes" : "no");
    sl_grid_text(table, profile_text(view->node, instance));
    if (instance == NULL || instance->start < 0) {
        sl_grid_text(table, NULL);
    } else {
        sl_grid_i64(table, instance->start);
    }
    sl_grid_text(table, users);
}

static void write_devices_table(const struct sl_view *view, size_t max_bytes, struct sl_buf *out)
{
    static const char *const head[] = {"DEVICE", "UUID", "HEALTHY", "PROFILE", "START", "PODS"};
    struct sl_grid table;
    const struct sl_node *node = view->node;
    sl_grid_init(&table, sizeof(head) / sizeof(head[0]), head, max_bytes);
    for (unsigned d = 0; d < node->n_devices; d++) {
        bool any = false;
        for (unsigned i = 0; i < node->n_instances; i++) {
            if (node->instance[i].device == d) {
                add_device_row(&table, view, d, (int)i);
                any = true;
            }
        }
        if (!any) {
            add_device_row(&table, view, d, -1);
        }
    }
    sl_grid_write(&table, out);
    sl_grid_free(&table);
}

static void write_residents_table(const struct sl_view *view, size_t max_bytes, struct sl_buf *out)
{
    static const char *const head[] = {"POD", "PHASE", "ASK", "DEVICE/START"};
    struct sl_grid table;
    sl_grid_init(&table, sizeof(head) / sizeof(head[0]), head, max_bytes);
    for (unsigned i = 0; i < view->n_residents; i++) {
        const struct sl_resident *resident = &view->resident[i];
        char text[USERS_TEXT];
        sl_grid_printf(&table, "%s/%s", resident->pod->namespace, resident->pod->name);
        sl_grid_text(&table, resident->pod->set_aside ? "Nominated"
                                                      : sl_pod_phase_name(resident->pod->phase));
        sl_api_ask_text(resident->pod, text, sizeof(text));
        sl_grid_text(&table, text);
        sl_api_parts_text(view->node, view->part + resident->first_part, resident->n_parts, text,
                          sizeof(text));
        sl_grid_text(&table, text);
    }
    sl_grid_write(&table, out);
    sl_grid_free(&table);
}

/* ---- handlers ---- */

static bool view_is_upto(const void *item, const void *key)
{
    const struct sl_view *const *view = item;
    return strcmp((*view)->node->name, key) <= 0;
}

/* The place of the first view whose node stands behind that name. */
static size_t first_after(const struct sl_snapshot *snapshot, struct sl_str name)
{
    return name.len == 0 ? 0
                         : sl_lower_bound(snapshot->view, snapshot->n_nodes,
                                          sizeof(struct sl_view *), name.s, view_is_upto);
}

/* What a caller has seen: generations are counted anew by each process. */
static void version_text(const struct sl_request *request, uint64_t generation,
                         char out[VERSION_MAX])
{
    (void)snprintf(out, VERSION_MAX, "%lld-%llu", (long long)request->app->metrics.started_us,
                   (unsigned long long)generation);
}

/* Reads ?since=: the generation of that version in *out. 0: there is none, it is another process's,
 * or nodes have come or gone since, so that all are to be listed. -1 after sl_request_fail. */
static int since_generation(struct sl_request *request, uint64_t *out)
{
    struct sl_str since = sl_request_query(request, "since");
    struct sl_str rest = since;
    struct sl_str process = sl_str_cut(&rest, '-');
    int64_t started_us = 0;
    int64_t generation = 0;
    char ours[VERSION_MAX];
    *out = 0;
    if (since.len == 0) {
        return 0;
    }
    if (!sl_str_to_i64(process, &started_us) || !sl_str_to_i64(rest, &generation) ||
        generation < 0) {
        (void)sl_error_set(&request->err, SL_ERR_FIELD,
                           "\"%.*s\" is not the version of an earlier answer (NUMBER-NUMBER)",
                           (int)(since.len > VERSION_MAX ? VERSION_MAX : since.len), since.s);
        return sl_request_fail_query(request, "since");
    }
    version_text(request, (uint64_t)generation, ours);
    if (sl_str_eq(since, sl_str_of(ours)) &&
        (uint64_t)generation <= request->snapshot->generation &&
        (uint64_t)generation >= request->snapshot->nodes_generation) {
        *out = (uint64_t)generation;
    }
    return 0;
}

static void write_list(struct sl_request *request, size_t from, size_t to, uint64_t since)
{
    const struct sl_snapshot *snapshot = request->snapshot;
    struct sl_writer w = {.buf = &request->reply};
    char version[VERSION_MAX];
    version_text(request, snapshot->generation, version);
    sl_write_object(&w);
    sl_write_member_i64(&w, "generation", (int64_t)snapshot->generation);
    sl_write_member_text(&w, "version", version);
    sl_write_member_bool(&w, "complete", since == 0);
    sl_write_member_i64(&w, "total", (int64_t)snapshot->n_nodes);
    sl_write_member_text(&w, "continue",
                         to < snapshot->n_nodes && to > 0 ? snapshot->view[to - 1]->node->name
                                                          : NULL);
    sl_write_member_array(&w, "items");
    for (size_t i = from; i < to && request->reply.failed == SL_BUF_OK; i++) {
        if (since == 0 || snapshot->view[i]->shown > since) {
            write_node(&w, snapshot->view[i]);
        }
    }
    sl_write_array_end(&w);
    sl_write_object_end(&w);
    sl_buf_putc(&request->reply, '\n');
}

static void write_list_table(struct sl_request *request, size_t from, size_t to)
{
    struct sl_grid table;
    pools_table(&table, request->reply.max);
    for (size_t i = from; i < to; i++) {
        add_pool_rows(&table, request->snapshot->view[i]);
    }
    sl_grid_write(&table, &request->reply);
    sl_grid_free(&table);
    if (to < request->snapshot->n_nodes) {
        size_t more = request->snapshot->n_nodes - to;
        sl_buf_printf(&request->reply, "(%zu more node%s: ?continue=%s)\n", more,
                      more == 1 ? "" : "s",
                      to > 0 ? request->snapshot->view[to - 1]->node->name : "");
    }
}

void sl_api_nodes(struct sl_request *request)
{
    int64_t limit = 0;
    bool as_table = false;
    if (sl_request_only(request, "output, limit, continue, since") < 0 ||
        sl_request_number(request, "limit", LIMIT_DEFAULT, LIMIT_MAX, &limit) < 0 ||
        sl_request_output(request, &as_table) < 0) {
        return;
    }
    const struct sl_snapshot *snapshot = sl_app_snapshot(request);
    uint64_t since = 0;
    if (since_generation(request, &since) < 0) {
        return;
    }
    if (since > 0 && since == snapshot->generation) {
        request->code = 304;
        return;
    }
    size_t from = first_after(snapshot, sl_request_query(request, "continue"));
    size_t left = snapshot->n_nodes - from;
    size_t to = from + ((size_t)limit < left ? (size_t)limit : left);
    if (as_table) {
        write_list_table(request, from, to);
    } else {
        write_list(request, from, to, since);
    }
}

void sl_api_node(struct sl_request *request)
{
    bool as_table = false;
    if (sl_request_only(request, "output") < 0 || sl_request_output(request, &as_table) < 0) {
        return;
    }
    const struct sl_snapshot *snapshot = sl_app_snapshot(request);
    struct sl_str name = request->param[0];
    uint32_t place = sl_snapshot_find(snapshot, name, 0);
    if (place == SL_NODE_NONE) {
        (void)sl_error_set(&request->err, SL_ERR_NOTFOUND, "node %.*s is not known",
                           (int)(name.len > 253 ? 253 : name.len), name.s);
        (void)sl_request_fail(request, 404);
        return;
    }
    const struct sl_view *view = snapshot->view[place];
    struct sl_buf *out = &request->reply;
    if (!as_table) {
        struct sl_writer w = {.buf = out};
        write_node(&w, view);
        sl_buf_putc(out, '\n');
        return;
    }
    struct sl_grid table;
    pools_table(&table, out->max);
    add_pool_rows(&table, view);
    sl_grid_write(&table, out);
    sl_grid_free(&table);
    sl_buf_putc(out, '\n');
    write_devices_table(view, out->max, out);
    if (view->n_residents > 0) {
        sl_buf_putc(out, '\n');
        write_residents_table(view, out->max, out);
    }
}
