/* GET /api/v1/nodes and /api/v1/nodes/{name}: devices, instances, pools, and who uses them. */
#include "server/api.h"
#include "server/grid.h"
#include "server/handlers.h"
#include "sliced/overcommit.h"

#include <stdio.h>

enum { LIMIT_DEFAULT = 500, LIMIT_MAX = 5000, USERS_TEXT = 320, PROBLEM_TEXT = 1024 };

/* What is wrong with the node's labels, and with what its pods hold. NULL: nothing. */
static const char *problem_text(const struct sl_view *view, char out[PROBLEM_TEXT])
{
    const char *problem = view->node->problem;
    int n = problem == NULL ? 0 : snprintf(out, PROBLEM_TEXT, "%s; ", problem);
    if (n < 0 || n >= PROBLEM_TEXT) {
        return problem;
    }
    sl_overcommit_text(view, out + n, (size_t)(PROBLEM_TEXT - n));
    return out[n] == '\0' ? problem : out;
}

/* ---- JSON ---- */

static void write_pools(struct sl_writer *w, const struct sl_view *view)
{
    sl_write_array(w);
    for (unsigned i = 0; i < view->node->n_pools; i++) {
        const struct sl_pool *pool = &view->node->pool[i];
        sl_write_object(w);
        sl_write_key(w, "resource");
        sl_write_text(w, pool->resource);
        sl_write_key(w, "kind");
        sl_write_text(w, sl_kind_name(pool->kind));
        sl_write_key(w, "profile");
        sl_write_text(w, pool->profile == NULL ? NULL : pool->profile->name);
        sl_write_key(w, "capacity");
        sl_write_i64(w, pool->capacity);
        sl_write_key(w, "used");
        sl_write_i64(w, view->pool_used[i]);
        sl_write_key(w, "free");
        sl_write_i64(w, sl_view_free_units(view, i));
        sl_write_key(w, "replicas");
        sl_write_i64(w, pool->replicas);
        sl_write_key(w, "memoryMiB");
        sl_write_i64(w, pool->memory_mib);
        sl_write_key(w, "equalMemory");
        sl_write_bool(w, pool->equal_memory);
        sl_write_key(w, "oneEach");
        sl_write_bool(w, pool->one_each);
        sl_write_key(w, "declaredMiB");
        sl_write_i64(w, view->pool_mib[i]);
        sl_write_key(w, "onDevices");
        sl_write_bool(w, pool->on_devices);
        sl_write_object_end(w);
    }
    sl_write_array_end(w);
}

/* Does the resident hold something of that instance, or, with instance -1, of the device without
 * an instance of its own? */
static bool holds(const struct sl_view *view, const struct sl_resident *resident, int device,
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
        if (holds(view, resident, device, instance)) {
            sl_write_object(w);
            sl_write_key(w, "namespace");
            sl_write_text(w, resident->pod->namespace);
            sl_write_key(w, "name");
            sl_write_text(w, resident->pod->name);
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
        sl_write_key(w, "profile");
        sl_write_text(w, instance->profile == NULL ? NULL : instance->profile->name);
        sl_write_key(w, "start");
        if (instance->start >= 0) {
            sl_write_i64(w, instance->start);
        } else {
            sl_write_null(w);
        }
        sl_write_key(w, "resource");
        sl_write_text(w, node->pool[instance->pool].resource);
        sl_write_key(w, "used");
        sl_write_i64(w, view->instance_used[i]);
        sl_write_key(w, "pods");
        write_users(w, view, (int)device, (int)i);
        sl_write_object_end(w);
    }
    sl_write_array_end(w);
}

static void write_device(struct sl_writer *w, const struct sl_view *view, unsigned d)
{
    const struct sl_device *device = &view->node->device[d];
    const struct sl_device_use *use = &view->device[d];
    sl_write_object(w);
    sl_write_key(w, "index");
    sl_write_i64(w, device->index);
    sl_write_key(w, "uuid");
    sl_write_text(w, device->uuid);
    sl_write_key(w, "product");
    sl_write_text(w, device->product);
    sl_write_key(w, "model");
    sl_write_text(w, device->model == NULL ? NULL : device->model->name);
    sl_write_key(w, "memoryMiB");
    sl_write_i64(w, device->memory_mib);
    sl_write_key(w, "healthy");
    sl_write_bool(w, device->healthy);
    sl_write_key(w, "mig");
    sl_write_bool(w, device->mig);
    sl_write_key(w, "used");
    sl_write_object(w);
    sl_write_key(w, "whole");
    sl_write_bool(w, use->whole);
    sl_write_key(w, "instances");
    sl_write_i64(w, use->instances);
    sl_write_key(w, "replicas");
    sl_write_i64(w, use->replicas);
    sl_write_key(w, "memoryUnits");
    sl_write_i64(w, use->memory_units);
    sl_write_key(w, "declaredMiB");
    sl_write_i64(w, use->declared_mib);
    sl_write_object_end(w);
    sl_write_key(w, "memoryUnits");
    sl_write_i64(w, device->memory_units);
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
    sl_write_key(w, "assumed");
    sl_write_bool(w, resident->assumed);
    sl_write_key(w, "devices");
    sl_api_parts(w, view->node, resident->pod, view->part + resident->first_part,
                 resident->n_parts);
    sl_write_object_end(w);
}

static void write_node(struct sl_writer *w, const struct sl_view *view)
{
    const struct sl_node *node = view->node;
    char problem[PROBLEM_TEXT];
    sl_write_object(w);
    sl_write_key(w, "name");
    sl_write_text(w, node->name);
    sl_write_key(w, "product");
    sl_write_text(w, node->product);
    sl_write_key(w, "model");
    sl_write_text(w, node->model == NULL ? NULL : node->model->name);
    sl_write_key(w, "layout");
    sl_write_text(w, sl_layout_name(node->layout));
    sl_write_key(w, "dynamicMig");
    sl_write_bool(w, node->dynamic_mig);
    sl_write_key(w, "problem");
    sl_write_text(w, problem_text(view, problem));
    sl_write_key(w, "pools");
    write_pools(w, view);
    sl_write_key(w, "devices");
    sl_write_array(w);
    for (unsigned i = 0; i < node->n_devices; i++) {
        write_device(w, view, i);
    }
    sl_write_array_end(w);
    sl_write_key(w, "pods");
    sl_write_array(w);
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
    char text[PROBLEM_TEXT];
    const char *problem = problem_text(view, text);
    if (node->n_pools == 0) {
        sl_grid_text(table, node->name);
        sl_grid_text(table, node->product);
        for (unsigned i = 0; i < 5; i++) {
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
        sl_grid_i64(table, view->pool_used[i]);
        sl_grid_i64(table, sl_view_free_units(view, i));
        sl_grid_text(table, sl_layout_name(node->layout));
        sl_grid_text(table, problem);
    }
}

static void pools_table(struct sl_grid *table, size_t max_bytes)
{
    static const char *const head[] = {"NODE", "PRODUCT", "RESOURCE", "KIND",   "CAPACITY",
                                       "USED", "FREE",    "LAYOUT",   "PROBLEM"};
    sl_grid_init(table, sizeof(head) / sizeof(head[0]), head, max_bytes);
}

/* "ns/a, ns/b" */
static void users_text(const struct sl_view *view, int device, int instance, char *out, size_t size)
{
    size_t len = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < view->n_residents; i++) {
        const struct sl_resident *resident = &view->resident[i];
        if (!holds(view, resident, device, instance) || len + 1 >= size) {
            continue;
        }
        int n = snprintf(out + len, size - len, "%s%s/%s", len == 0 ? "" : ", ",
                         resident->pod->namespace, resident->pod->name);
        len += n > 0 ? (size_t)n : 0;
        len = len >= size ? size - 1 : len;
    }
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
    sl_grid_text(table,
                 instance == NULL || instance->profile == NULL ? NULL : instance->profile->name);
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
        sl_grid_text(&table, sl_pod_phase_name(resident->pod->phase));
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

/* The first view whose node stands behind that name. */
static size_t first_after(const struct sl_snapshot *snapshot, struct sl_str name)
{
    size_t low = 0;
    size_t high = name.len == 0 ? 0 : snapshot->n_nodes;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(snapshot->view[middle]->node->name, name.s) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void write_list(struct sl_request *request, size_t from, size_t to)
{
    const struct sl_snapshot *snapshot = request->snapshot;
    struct sl_writer w = {.buf = &request->reply};
    sl_write_object(&w);
    sl_write_key(&w, "generation");
    sl_write_i64(&w, (int64_t)snapshot->generation);
    sl_write_key(&w, "total");
    sl_write_i64(&w, (int64_t)snapshot->n_nodes);
    sl_write_key(&w, "continue");
    sl_write_text(&w, to < snapshot->n_nodes && to > 0 ? snapshot->view[to - 1]->node->name : NULL);
    sl_write_key(&w, "items");
    sl_write_array(&w);
    for (size_t i = from; i < to && request->reply.failed == SL_BUF_OK; i++) {
        write_node(&w, snapshot->view[i]);
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
    if (sl_request_only(request, "output, limit, continue") < 0 ||
        sl_request_number(request, "limit", LIMIT_DEFAULT, LIMIT_MAX, &limit) < 0 ||
        sl_request_output(request, &as_table) < 0) {
        return;
    }
    const struct sl_snapshot *snapshot = sl_request_snapshot(request);
    size_t from = first_after(snapshot, sl_request_query(request, "continue"));
    size_t left = snapshot->n_nodes - from;
    size_t to = from + ((size_t)limit < left ? (size_t)limit : left);
    if (as_table) {
        write_list_table(request, from, to);
    } else {
        write_list(request, from, to);
    }
}

void sl_api_node(struct sl_request *request)
{
    bool as_table = false;
    if (sl_request_only(request, "output") < 0 || sl_request_output(request, &as_table) < 0) {
        return;
    }
    const struct sl_snapshot *snapshot = sl_request_snapshot(request);
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
