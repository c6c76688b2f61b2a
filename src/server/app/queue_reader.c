/* Copies of the queue's rows. */
#include "server/app/queue_reader.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { TEXT_PER_ROW = 4096, TEXT_PER_TENANT = 512 };

const char *sl_queue_try_end_name(enum sl_queue_try_end end)
{
    static const char *const names[SL_QUEUE_TRY_ENDS] = {
        [SL_QUEUE_TRY_EXPIRED] = "Expired",
        [SL_QUEUE_TRY_WITHDRAWN] = "Withdrawn",
        [SL_QUEUE_TRY_REFUSED] = "Refused",
        [SL_QUEUE_TRY_RELEASE_REFUSED] = "ReleaseRefused",
    };
    return end < SL_QUEUE_TRY_ENDS ? names[end] : "Unknown";
}

bool sl_queue_may_go(const struct sl_queue_status *status)
{
    return status->state == SL_QUEUE_NOMINATED || status->state == SL_QUEUE_RELEASED;
}

int sl_queue_list_init(struct sl_queue_list *list, size_t max, struct sl_error *err)
{
    *list = (struct sl_queue_list){.n = 0};
    sl_arena_init(&list->text,
                  ((max + 1) * TEXT_PER_ROW) + ((size_t)SL_QUEUE_TENANTS_MAX * TEXT_PER_TENANT));
    list->row = calloc(max > 0 ? max : 1, sizeof(*list->row));
    return list->row == NULL ? sl_error_nomem(err) : 0;
}

static int copy_text(struct sl_queue_list *list, const char **text, struct sl_error *err)
{
    if (*text == NULL) {
        return 0;
    }
    *text = sl_arena_strdup(&list->text, *text, strlen(*text));
    return *text == NULL ? sl_error_nomem(err) : 0;
}

int sl_queue_list_add(struct sl_queue_list *list, const struct sl_queue_row *row,
                      struct sl_error *err)
{
    struct sl_queue_row own = *row; /* its item, if there is one, is the pod's */
    if (copy_text(list, &own.node, err) < 0 || copy_text(list, &own.assignment, err) < 0 ||
        copy_text(list, &own.why, err) < 0 || copy_text(list, &own.tenant, err) < 0) {
        return -1;
    }
    own.cut_node = NULL; /* of interest to who cuts alone */
    /* the count is not const */
    own.pod = sl_pod_ref((struct sl_pod *)row->pod);
    if (row->first != NULL) {
        own.first = sl_pod_ref((struct sl_pod *)row->first);
    }
    list->row[list->n++] = own;
    return 0;
}

int sl_queue_list_tried(struct sl_queue_list *list, const struct sl_queue_try *tried, unsigned n,
                        struct sl_error *err)
{
    for (unsigned i = 0; i < n && i < SL_QUEUE_TRIES_MAX; i++) {
        struct sl_queue_try own = tried[i];
        if (copy_text(list, &own.node, err) < 0 || copy_text(list, &own.why, err) < 0) {
            return -1;
        }
        list->tried[list->n_tried++] = own;
    }
    return 0;
}

int sl_queue_list_tenant(struct sl_queue_list *list, const struct sl_tenant_row *row,
                         struct sl_error *err)
{
    struct sl_tenant_row own = *row;
    if (list->n_tenants == SL_QUEUE_TENANTS_MAX) {
        list->tenants_omitted++;
        return 0;
    }
    if (list->tenant == NULL) {
        list->tenant = calloc(SL_QUEUE_TENANTS_MAX, sizeof(*list->tenant));
    }
    if (list->tenant == NULL) {
        return sl_error_nomem(err);
    }
    if (copy_text(list, &own.tenant, err) < 0 || copy_text(list, &own.resource, err) < 0 ||
        copy_text(list, &own.model, err) < 0) {
        return -1;
    }
    list->tenant[list->n_tenants++] = own;
    return 0;
}

int sl_queue_compare_tenants(const void *a, const void *b)
{
    const struct sl_tenant_row *x = a;
    const struct sl_tenant_row *y = b;
    int by_tenant = strcmp(x->tenant, y->tenant);
    int by_resource = strcmp(x->resource, y->resource);
    return by_tenant != 0 ? by_tenant : by_resource != 0 ? by_resource : strcmp(x->model, y->model);
}

void sl_queue_list_free(struct sl_queue_list *list)
{
    for (size_t i = 0; i < list->n && list->of == NULL; i++) {
        sl_pod_unref((struct sl_pod *)list->row[i].pod);
        sl_pod_unref((struct sl_pod *)list->row[i].first);
    }
    if (list->of == NULL) {
        free(list->row);
        free(list->tenant);
        sl_arena_free(&list->text);
    }
    sl_queue_shared_unref(list->of);
    *list = (struct sl_queue_list){.n = 0};
}

struct sl_queue_shared *sl_queue_shared_new(size_t max, struct sl_error *err)
{
    struct sl_queue_shared *shared = calloc(1, sizeof(*shared));
    if (shared == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    shared->refs = 1;
    if (sl_queue_list_init(&shared->list, max, err) < 0) {
        free(shared);
        return NULL;
    }
    return shared;
}

void sl_queue_shared_unref(struct sl_queue_shared *shared)
{
    if (shared != NULL && atomic_fetch_sub(&shared->refs, 1) == 1) {
        sl_queue_list_free(&shared->list);
        free(shared);
    }
}

void sl_queue_list_share(struct sl_queue_shared *shared, size_t max, struct sl_queue_list *out)
{
    (void)atomic_fetch_add(&shared->refs, 1);
    *out = shared->list;
    out->n = max < out->n ? max : out->n;
    out->text = (struct sl_arena){.max = 0};
    out->of = shared;
}
