/* slicenodes, partitions and usages: what the nodes have. None of them names a pod. */
#include "server/visibility/kinds.h"

#include "server/api/api.h"
#include "util/time.h"

#include <stdio.h>

enum { CELL_MAX = 512, NAME_MAX_BYTES = 320 };

const char *sl_vis_node_field(const struct sl_vis_row *row, struct sl_str name)
{
    if (sl_str_eq(name, SL_STR("metadata.name"))) {
        return row->name.s;
    }
    return sl_str_eq(name, SL_STR("status.node")) ? row->view->node->name : NULL;
}

static int add_node(struct sl_vis_look *look, const struct sl_view *view, struct sl_error *err)
{
    struct sl_vis_row *row = sl_vis_look_add(look, err);
    if (row == NULL) {
        return -1;
    }
    row->name = sl_str_of(view->node->name);
    row->view = view;
    return 0;
}

/* ---- slicenodes ---- */

int sl_vis_nodes_collect(struct sl_vis_look *look, struct sl_error *err)
{
    for (size_t i = 0; i < look->snapshot->n_nodes; i++) {
        const struct sl_view *view = look->snapshot->view[i];
        const struct sl_node *node = view->node;
        bool has_gpus = node->n_pools > 0 || node->n_devices > 0 || node->n_absent > 0;
        if (has_gpus && add_node(look, view, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int64_t used_of(const struct sl_view *view, unsigned pool)
{
    return view->pool_used[pool] - sl_view_set_aside_units(view, pool);
}

static void write_resources(struct sl_writer *w, const struct sl_view *view)
{
    sl_write_member_array(w, "resources");
    for (unsigned i = 0; i < view->node->n_pools; i++) {
        const struct sl_pool *pool = &view->node->pool[i];
        sl_write_object(w);
        sl_write_member_text(w, "resource", pool->resource);
        sl_write_member_text(w, "kind", sl_kind_name(pool->kind));
        sl_write_member_i64(w, "capacity", pool->capacity);
        sl_write_member_i64(w, "used", used_of(view, i));
        sl_write_member_i64(w, "setAside", sl_view_set_aside_units(view, i));
        sl_write_member_i64(w, "free", sl_view_free_units(view, i));
        sl_write_object_end(w);
    }
    sl_write_array_end(w);
}

static void write_instances(struct sl_writer *w, const struct sl_view *view, unsigned device)
{
    sl_write_member_array(w, "instances");
    for (unsigned i = 0; i < view->node->n_instances; i++) {
        const struct sl_instance *instance = &view->node->instance[i];
        if (instance->device != device) {
            continue;
        }
        sl_write_object(w);
        sl_write_member_text(w, "profile",
                             instance->profile == NULL ? NULL : instance->profile->name);
        sl_write_member_i64(w, "start", instance->start);
        sl_write_member_bool(w, "taken", view->instance_used[i] > 0);
        sl_write_object_end(w);
    }
    sl_write_array_end(w);
}

static void write_devices(struct sl_writer *w, const struct sl_view *view)
{
    sl_write_member_array(w, "devices");
    for (unsigned d = 0; d < view->node->n_devices; d++) {
        const struct sl_device *device = &view->node->device[d];
        sl_write_object(w);
        sl_write_member_i64(w, "index", device->index);
        sl_write_member_text(w, "uuid", device->uuid);
        if (device->memory_mib > 0) {
            sl_write_member_i64(w, "memoryMiB", device->memory_mib);
        }
        sl_write_member_bool(w, "healthy", device->healthy);
        sl_write_member_bool(w, "mig", device->mig);
        write_instances(w, view, d);
        sl_write_object_end(w);
    }
    sl_write_array_end(w);
}

void sl_vis_nodes_write(struct sl_writer *w, const struct sl_vis_look *look,
                        const struct sl_vis_row *row)
{
    const struct sl_node *node = row->view->node;
    char problem[SL_API_PROBLEM_MAX];
    (void)look;
    sl_write_member_object(w, "status");
    sl_write_member_text(w, "product", node->product);
    sl_write_member_text(w, "layout", sl_layout_name(node->layout));
    sl_write_member_text(w, "problem", sl_api_problem(row->view, problem));
    write_resources(w, row->view);
    write_devices(w, row->view);
    sl_write_object_end(w);
}

enum units { USED, SET_ASIDE, FREE, CAPACITY };

static int64_t units_of(const struct sl_view *view, unsigned pool, enum units which)
{
    switch (which) {
    case USED:
        return used_of(view, pool);
    case SET_ASIDE:
        return sl_view_set_aside_units(view, pool);
    case FREE:
        return sl_view_free_units(view, pool);
    case CAPACITY:
        break;
    }
    return view->node->pool[pool].capacity;
}

/* "mig-1g.6gb=3,gpu=1": what is not 0. */
static void cell_units(struct sl_writer *w, const struct sl_view *view, enum units which)
{
    struct sl_buf text;
    sl_buf_init(&text, CELL_MAX);
    for (unsigned i = 0; i < view->node->n_pools && text.failed == SL_BUF_OK; i++) {
        const char *resource = view->node->pool[i].resource;
        const char *slash = strchr(resource, '/');
        int64_t units = units_of(view, i, which);
        if (units != 0) {
            sl_buf_printf(&text, "%s%s=%lld", text.len > 0 ? "," : "",
                          slash == NULL ? resource : slash + 1, (long long)units);
        }
    }
    sl_write_str(w, text.len == 0 ? SL_STR("0") : (struct sl_str){text.data, text.len});
    sl_buf_free(&text);
}

void sl_vis_nodes_cells(struct sl_writer *w, const struct sl_vis_look *look,
                        const struct sl_vis_row *row)
{
    const struct sl_view *view = row->view;
    char problem[SL_API_PROBLEM_MAX];
    (void)look;
    sl_vis_write_shown(w, view->node->product);
    sl_write_i64(w, view->node->n_devices);
    cell_units(w, view, USED);
    cell_units(w, view, SET_ASIDE);
    cell_units(w, view, FREE);
    sl_vis_write_shown(w, sl_api_problem(view, problem));
    cell_units(w, view, CAPACITY);
    sl_write_text(w, sl_layout_name(view->node->layout));
}

/* ---- partitions ---- */

bool sl_vis_partitions_there(const struct sl_app *app, const struct sl_config *config)
{
    return app->partitions.status != NULL && config->partitioning.enabled;
}

int sl_vis_partitions_collect(struct sl_vis_look *look, struct sl_error *err)
{
    for (size_t i = 0; i < look->snapshot->n_nodes; i++) {
        const struct sl_view *view = look->snapshot->view[i];
        if (view->node->partition.actuator != SL_ACTUATOR_NONE && add_node(look, view, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static void read_partition(const struct sl_vis_look *look, const struct sl_vis_row *row,
                           struct sl_partition_status *out)
{
    const struct sl_partition_reader *reader = &look->app->partitions;
    *out = (struct sl_partition_status){.phase = SL_PHASE_IDLE};
    reader->status(reader->context, row->view, look->now_us, out);
}

/* Instances of a profile over all GPUs of the node: "4x 1g.6gb, 2x 2g.12gb". */
static void write_profiles(struct sl_writer *w, const struct sl_node *node)
{
    struct sl_buf text;
    sl_buf_init(&text, CELL_MAX);
    for (unsigned i = 0; i < node->n_instances && text.failed == SL_BUF_OK; i++) {
        const struct sl_mig_profile *profile = node->instance[i].profile;
        unsigned n = 0;
        bool first = profile != NULL;
        for (unsigned j = 0; j < node->n_instances; j++) {
            bool same = node->instance[j].profile == profile;
            first = first && !(same && j < i);
            n += same ? 1 : 0;
        }
        if (first) {
            sl_buf_printf(&text, "%s%ux %s", text.len > 0 ? ", " : "", n, profile->name);
        }
    }
    sl_write_str(w, (struct sl_str){text.data == NULL ? "" : text.data, text.len});
    sl_buf_free(&text);
}

void sl_vis_partitions_write(struct sl_writer *w, const struct sl_vis_look *look,
                             const struct sl_vis_row *row)
{
    struct sl_partition_status status;
    read_partition(look, row, &status);
    sl_write_member_object(w, "status");
    sl_write_member_text(w, "actuator", sl_actuator_name(row->view->node->partition.actuator));
    sl_write_member_text(w, "state", sl_partition_phase_name(status.phase));
    sl_write_key(w, "instances");
    write_profiles(w, row->view->node);
    sl_write_key(w, "since");
    sl_api_time(w, status.since_us);
    sl_write_key(w, "until");
    sl_api_time(w, status.until_us / SL_SECOND_US * SL_SECOND_US);
    sl_write_member_i64(w, "failures", status.failures);
    sl_write_member_text(w, "cut", status.cut);
    sl_write_member_text(w, "why", status.why);
    sl_write_member_text(w, "text", status.text);
    sl_write_object_end(w);
}

void sl_vis_partitions_cells(struct sl_writer *w, const struct sl_vis_look *look,
                             const struct sl_vis_row *row)
{
    struct sl_partition_status status;
    read_partition(look, row, &status);
    sl_write_text(w, sl_actuator_name(row->view->node->partition.actuator));
    sl_write_text(w, sl_partition_phase_name(status.phase));
    write_profiles(w, row->view->node);
    sl_vis_write_shown(w, status.cut);
    sl_vis_write_shown(w, status.why);
    sl_vis_write_shown(w, status.text);
}

/* ---- usages ---- */

bool sl_vis_usages_there(const struct sl_app *app, const struct sl_config *config)
{
    (void)config;
    return app->usage.node != NULL;
}

static int add_usage(struct sl_vis_look *look, const struct sl_view *view,
                     const struct sl_usage_row *usage, struct sl_error *err)
{
    char name[NAME_MAX_BYTES];
    int n = usage->instance < 0
                ? snprintf(name, sizeof(name), "%s.gpu%d", view->node->name, (int)usage->gpu)
                : snprintf(name, sizeof(name), "%s.gpu%d.%d", view->node->name, (int)usage->gpu,
                           (int)usage->instance);
    struct sl_vis_row *row = sl_vis_look_add(look, err);
    if (row == NULL) {
        return -1;
    }
    const char *copy = sl_arena_strdup(&look->arena, name, n < 0 ? 0 : (size_t)n);
    struct sl_usage_row *own = sl_arena_alloc(&look->arena, sizeof(*own));
    if (copy == NULL || own == NULL) {
        return sl_error_nomem(err);
    }
    *own = *usage;
    row->name = sl_str_of(copy);
    row->view = view;
    row->usage = own;
    return 0;
}

int sl_vis_usages_collect(struct sl_vis_look *look, struct sl_error *err)
{
    const struct sl_usage_reader *reader = &look->app->usage;
    for (size_t i = 0; i < look->snapshot->n_nodes; i++) {
        const struct sl_view *view = look->snapshot->view[i];
        struct sl_usage_row usage[SL_USAGE_ROWS_MAX];
        size_t n =
            reader->node(reader->context, sl_str_of(view->node->name), usage, SL_USAGE_ROWS_MAX);
        for (size_t u = 0; u < n; u++) {
            if (add_usage(look, view, &usage[u], err) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

void sl_vis_usages_write(struct sl_writer *w, const struct sl_vis_look *look,
                         const struct sl_vis_row *row)
{
    const struct sl_usage_row *usage = row->usage;
    (void)look;
    sl_write_member_object(w, "status");
    sl_write_member_text(w, "node", row->view->node->name);
    sl_write_member_i64(w, "gpu", usage->gpu);
    sl_write_member_text(w, "profile", usage->profile);
    sl_write_member_known(w, "usedMiB", usage->measured.used_mib);
    sl_write_member_known(w, "busyPermille", usage->measured.busy);
    sl_write_member_known(w, "bandwidthPermille", usage->measured.bandwidth);
    sl_write_member_known(w, "powerWatts", usage->watts);
    sl_write_member_known(w, "energyJoules", usage->joules);
    sl_write_member_known(w, "roomMiB", usage->measured.room_mib);
    sl_write_member_text(w, "state", sl_series_state_name(usage->measured.state));
    sl_write_key(w, "sampledAt");
    sl_api_time(w, usage->sampled_us);
    sl_write_object_end(w);
}

void sl_vis_usages_cells(struct sl_writer *w, const struct sl_vis_look *look,
                         const struct sl_vis_row *row)
{
    const struct sl_usage_row *usage = row->usage;
    char percent[SL_API_PERCENT_MAX];
    (void)look;
    sl_write_text(w, row->view->node->name);
    sl_write_i64(w, usage->gpu);
    sl_write_known(w, usage->measured.used_mib);
    sl_write_text(w, sl_api_percent(usage->measured.busy, percent));
    sl_vis_write_duration(w, usage->idle_us);
    sl_write_known(w, usage->watts);
    sl_write_text(w, sl_series_state_name(usage->measured.state));
    sl_write_text(w, sl_api_percent(usage->measured.bandwidth, percent));
    sl_write_known(w, usage->measured.room_mib);
    sl_write_known(w, usage->joules);
}
