/* Hosts: nodes by name, with their pods and the view built of both. */
#include "cluster/state/host.h"

#include <stdlib.h>

#include "cluster/state/state.h"
#include "util/data/search.h"
#include "util/data/vec.h"

struct sl_host_entry *sl_host_find(const struct sl_store *store, struct sl_str name)
{
    uint32_t hash = (uint32_t)sl_hash(name.s, name.len);
    for (struct sl_chain *link = sl_table_at(&store->hosts, hash); link != NULL;
         link = link->next) {
        struct sl_host_entry *host = SL_CONTAINER(link, struct sl_host_entry, by_name);
        if (link->hash == hash && sl_str_eq((struct sl_str){host->name, host->name_len}, name)) {
            return host;
        }
    }
    return NULL;
}

struct sl_host_entry *sl_host_get(struct sl_store *store, struct sl_str name)
{
    struct sl_host_entry *host = sl_host_find(store, name);
    if (host != NULL) {
        return host;
    }
    host = calloc(1, sizeof(*host) + name.len + 1);
    if (host == NULL) {
        return NULL;
    }
    memcpy(host->name, name.s, name.len);
    host->name_len = (uint32_t)name.len;
    sl_table_add(&store->hosts, &host->by_name, (uint32_t)sl_hash(name.s, name.len));
    return host;
}

void sl_host_touch(struct sl_store *store, struct sl_host_entry *host)
{
    host->stale = true;
    if (!sl_list_has(&store->touched, &host->touched)) {
        sl_list_add_first(&store->touched, &host->touched);
    }
}

void sl_host_drop_unused(struct sl_store *store, struct sl_host_entry *host)
{
    if (host == NULL || host->node != NULL || host->n_pods > 0 || host->n_others > 0) {
        return;
    }
    if (sl_list_has(&store->touched, &host->touched)) {
        sl_list_remove(&store->touched, &host->touched);
    }
    sl_table_remove(&store->hosts, &host->by_name);
    free(host->measured);
    free(host);
}

void sl_host_retire(struct sl_store *store, struct sl_host_entry *host)
{
    if (host->shown != NULL) {
        sl_view_list_add(&store->retired, host->shown);
        host->shown = NULL;
    }
}

int sl_host_refresh(struct sl_store *store, struct sl_host_entry *host)
{
    if (!host->stale || host->node == NULL) {
        host->stale = false;
        return 0;
    }
    if (sl_vec_reserve(&store->gather, &store->cap_gather, host->n_pods, sizeof(struct sl_pod *)) <
        0) {
        return -1;
    }
    size_t n = 0;
    for (struct sl_link *at = host->pods.first; at != NULL; at = at->next) {
        store->gather[n++] = sl_state_pod(&SL_CONTAINER(at, struct sl_entry, on_host)->state);
    }
    struct sl_linked_view *linked = calloc(1, sizeof(*linked));
    if (linked == NULL) {
        return -1;
    }
    const struct sl_host_use others = {host->others_cpu_milli, host->others_memory_kib * 1024,
                                       host->n_others,         host->withheld,
                                       host->measured,         host->n_measured};
    linked->view = sl_view_new_beside(host->node, store->gather, n, &others);
    if (linked->view == NULL) {
        free(linked);
        return -1;
    }
    sl_host_retire(store, host);
    host->shown = linked;
    host->stale = false;
    return 0;
}

int sl_order_reserve(struct sl_store *store)
{
    return sl_vec_reserve(&store->order, &store->cap_order, store->n_order + 1,
                          sizeof(struct sl_host_entry *));
}

static bool host_is_before(const void *item, const void *name)
{
    const struct sl_host_entry *const *host = item;
    return strcmp((*host)->name, name) < 0;
}

/* Where the name stands in store->order, or would. */
static size_t order_place(const struct sl_store *store, const char *name)
{
    return sl_lower_bound(store->order, store->n_order, sizeof(struct sl_host_entry *), name,
                          host_is_before);
}

void sl_order_add(struct sl_store *store, struct sl_host_entry *host)
{
    size_t at = order_place(store, host->name);
    memmove(&store->order[at + 1], &store->order[at],
            (store->n_order - at) * sizeof(struct sl_host_entry *));
    store->order[at] = host;
    store->n_order++;
    store->order_changed = true;
}

void sl_order_remove(struct sl_store *store, struct sl_host_entry *host)
{
    size_t at = order_place(store, host->name);
    store->n_order--;
    memmove(&store->order[at], &store->order[at + 1],
            (store->n_order - at) * sizeof(struct sl_host_entry *));
    store->order_changed = true;
}
