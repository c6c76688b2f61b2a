/* slicenodes, partitions and usages: what the nodes have. None of them names a pod. */
#include "server/visibility/kinds.h"

#include <stdio.h>

enum { NAME_MAX_BYTES = 320 };

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

/* ---- partitions ---- */

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

/* ---- usages ---- */

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
