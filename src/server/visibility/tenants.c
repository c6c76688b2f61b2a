/* clustertenantqueues, and tenantqueues: of each namespace those of the tenant whose it is. Neither
 * names a pod, and in a namespace no other tenant is told of. */
#include "server/visibility/kinds.h"

#include "util/data/map.h"
#include "util/data/vec.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME_MAX_BYTES = 400 };

static int look_at_tenants(struct sl_vis_look *look, struct sl_error *err)
{
    const struct sl_queue_reader *queue = &look->app->queue;
    if (queue->list(queue->context, SIZE_MAX, &look->queue, err) < 0) {
        return -1;
    }
    look->now_us = look->queue.now_us;
    if (look->queue.tenants_omitted > 0) {
        sl_metrics_limit(&look->app->metrics, SL_LIMIT_TENANTS);
    }
    return 0;
}

/* A name is a part of a path: the resource's '/' becomes '.'. */
static int add_row(struct sl_vis_look *look, const struct sl_tenant_row *tenant,
                   const char *namespace, struct sl_error *err)
{
    char name[NAME_MAX_BYTES];
    bool whole = namespace == NULL;
    int n =
        snprintf(name, sizeof(name), "%s%s%s%s%s", whole ? tenant->tenant : "", whole ? "." : "",
                 tenant->resource, tenant->model[0] == '\0' ? "" : ".", tenant->model);
    struct sl_vis_row *row = sl_vis_look_add(look, err);
    if (row == NULL) {
        return -1;
    }
    for (char *at = name; *at != '\0'; at++) {
        *at = *at == '/' ? '.' : *at;
    }
    size_t len = n < 0 ? 0 : strlen(name);
    const char *copy = sl_arena_strdup(&look->arena, name, len);
    if (copy == NULL) {
        return sl_error_nomem(err);
    }
    row->name = sl_str_of(copy);
    row->namespace = namespace == NULL ? SL_STR("") : sl_str_of(namespace);
    row->uid = sl_str_of(tenant->resource); /* where two names became one */
    row->tenant = tenant;
    return 0;
}

int sl_vis_tenants_collect(struct sl_vis_look *look, struct sl_error *err)
{
    int result = look_at_tenants(look, err);
    for (size_t i = 0; result == 0 && i < look->queue.n_tenants; i++) {
        result = add_row(look, &look->queue.tenant[i], NULL, err);
    }
    return result;
}

/* ---- what they had ---- */

static int compare_spent(const void *a, const void *b)
{
    return strcmp(((const struct sl_spent *)a)->name, ((const struct sl_spent *)b)->name);
}

int sl_vis_spent_collect(struct sl_vis_look *look, struct sl_error *err)
{
    const struct sl_usage_reader *usage = &look->app->usage;
    size_t n = 0;
    if (usage->spent(usage->context, &look->spent, &n, err) < 0) {
        return -1;
    }
    if (n == SL_SPENT_ROWS_MAX) {
        sl_metrics_limit(&look->app->metrics, SL_LIMIT_TENANTS);
    }
    qsort(look->spent, n, sizeof(*look->spent), compare_spent);
    for (size_t i = 0; i < n; i++) {
        struct sl_vis_row *row = sl_vis_look_add(look, err);
        if (row == NULL) {
            return -1;
        }
        row->name = sl_str_of(look->spent[i].name);
        row->spent = &look->spent[i];
    }
    return 0;
}

/* ---- by namespace ---- */

/* The namespaces with pods, each once. */
struct spaces {
    struct sl_map known;
    struct sl_queue_space *space;
    size_t n;
    size_t cap;
};

static int add_space(struct spaces *spaces, const struct sl_pod *pod, struct sl_error *err)
{
    size_t len = strlen(pod->namespace);
    if (sl_map_get(&spaces->known, pod->namespace, len) != NULL) {
        return 0;
    }
    if (sl_vec_reserve(&spaces->space, &spaces->cap, spaces->n + 1, sizeof(*spaces->space)) < 0 ||
        sl_map_put(&spaces->known, pod->namespace, len, (void *)pod->namespace, NULL) < 0) {
        return sl_error_nomem(err);
    }
    spaces->space[spaces->n++] = (struct sl_queue_space){.namespace = pod->namespace};
    return 0;
}

static int find_spaces(const struct sl_vis_look *look, struct spaces *spaces, struct sl_error *err)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < look->queue.n; i++) {
        result = add_space(spaces, look->queue.row[i].pod, err);
    }
    for (size_t i = 0; result == 0 && i < look->snapshot->n_nodes; i++) {
        const struct sl_view *view = look->snapshot->view[i];
        for (unsigned r = 0; result == 0 && r < view->n_residents; r++) {
            result = add_space(spaces, view->resident[r].pod, err);
        }
    }
    return result;
}

static int by_tenant(const void *key, const void *row)
{
    return strcmp(key, ((const struct sl_tenant_row *)row)->tenant);
}

/* The rows stand by tenant. */
static int add_own(struct sl_vis_look *look, const struct sl_queue_space *space,
                   struct sl_error *err)
{
    const struct sl_queue_list *queue = &look->queue;
    const struct sl_tenant_row *end = queue->tenant + queue->n_tenants;
    const struct sl_tenant_row *row =
        bsearch(space->tenant, queue->tenant, queue->n_tenants, sizeof(*row), by_tenant);
    int result = 0;
    while (row != NULL && row > queue->tenant && by_tenant(space->tenant, row - 1) == 0) {
        row--;
    }
    for (; result == 0 && row != NULL && row < end && by_tenant(space->tenant, row) == 0; row++) {
        result = add_row(look, row, space->namespace, err);
    }
    return result;
}

static int compare_spaces(const void *a, const void *b)
{
    return strcmp(((const struct sl_queue_space *)a)->namespace,
                  ((const struct sl_queue_space *)b)->namespace);
}

int sl_vis_tenants_in_collect(struct sl_vis_look *look, struct sl_error *err)
{
    const struct sl_queue_reader *queue = &look->app->queue;
    struct spaces spaces = {.n = 0};
    int result = look_at_tenants(look, err);
    if (result == 0 && look->queue.n_tenants > 0) {
        result = find_spaces(look, &spaces, err);
    }
    if (result == 0 && spaces.n > 0) {
        qsort(spaces.space, spaces.n, sizeof(*spaces.space), compare_spaces);
        queue->tenants_of(queue->context, spaces.space, spaces.n);
    }
    for (size_t i = 0; result == 0 && i < spaces.n; i++) {
        result = add_own(look, &spaces.space[i], err);
    }
    sl_map_free(&spaces.known);
    free(spaces.space);
    return result;
}
