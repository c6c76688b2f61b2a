/* The store's life, batches and settings. */
#include <stdlib.h>

#include "cluster/change/others.h"
#include "cluster/change/pods.h"
#include "cluster/publish/snapshot.h"
#include "cluster/state/state.h"

static int store_init(struct sl_store *store, struct sl_error *err)
{
    if (sl_table_init(&store->pods_by_name) < 0 || sl_table_init(&store->pods_by_uid) < 0 ||
        sl_table_init(&store->hosts) < 0 || sl_table_init(&store->others) < 0) {
        return sl_error_nomem(err);
    }
    store->waiting_sorted = true;
    store->dirty = true;
    return sl_store_settle(store) < 0 ? sl_error_nomem(err) : 0;
}

struct sl_store *sl_store_new(const struct sl_store_limits *limits, struct sl_error *err)
{
    struct sl_store *store = calloc(1, sizeof(*store));
    if (store == NULL) {
        sl_error_nomem(err);
        return NULL;
    }
    store->limits = *limits;
    if (pthread_mutex_init(&store->lock, NULL) != 0) {
        sl_error_set(err, SL_ERR_SYSTEM, "cannot make a mutex");
        free(store);
        return NULL;
    }
    if (pthread_mutex_init(&store->publish_lock, NULL) != 0) {
        sl_error_set(err, SL_ERR_SYSTEM, "cannot make a mutex");
        (void)pthread_mutex_destroy(&store->lock);
        free(store);
        return NULL;
    }
    if (store_init(store, err) < 0) {
        sl_store_free(store);
        return NULL;
    }
    return store;
}

static void free_pods(struct sl_store *store)
{
    size_t bucket = 0;
    for (struct sl_chain *link = sl_table_pop(&store->pods_by_name, &bucket); link != NULL;
         link = sl_table_pop(&store->pods_by_name, &bucket)) {
        struct sl_entry *entry = SL_CONTAINER(link, struct sl_entry, by_name);
        if (entry->state.reservation != NULL) {
            sl_pod_unref(entry->state.reservation->bound);
            free(entry->state.reservation);
        }
        sl_pod_unref(entry->state.pod);
        sl_entry_free(store, entry);
    }
    sl_map_free(&store->namespaces);
}

static void free_hosts(struct sl_store *store)
{
    size_t bucket = 0;
    for (struct sl_chain *link = sl_table_pop(&store->hosts, &bucket); link != NULL;
         link = sl_table_pop(&store->hosts, &bucket)) {
        struct sl_host_entry *host = SL_CONTAINER(link, struct sl_host_entry, by_name);
        sl_host_retire(store, host);
        sl_node_unref(host->node);
        free(host->measured);
        free(host);
    }
}

void sl_store_free(struct sl_store *store)
{
    if (store == NULL) {
        return;
    }
    free_pods(store);
    sl_others_free(store);
    free_hosts(store);
    sl_view_list_free(&store->retired);
    sl_shared_snapshot_free(store->current);
    sl_wants_free(&store->wants);
    sl_table_free(&store->pods_by_name);
    sl_table_free(&store->pods_by_uid);
    sl_table_free(&store->hosts);
    free(store->order);
    free(store->gather);
    (void)pthread_mutex_destroy(&store->publish_lock);
    (void)pthread_mutex_destroy(&store->lock);
    free(store);
}

void sl_store_set_one_equal_share(struct sl_store *store, bool on)
{
    (void)pthread_mutex_lock(&store->lock);
    store->one_equal_share = on;
    (void)pthread_mutex_unlock(&store->lock);
}

void sl_store_stats(struct sl_store *store, struct sl_store_stats *out)
{
    (void)pthread_mutex_lock(&store->lock);
    *out = store->stats;
    (void)pthread_mutex_unlock(&store->lock);
}

void sl_store_begin(struct sl_store *store)
{
    (void)pthread_mutex_lock(&store->lock);
    store->batch = true;
    (void)pthread_mutex_unlock(&store->lock);
}

int sl_store_end(struct sl_store *store, struct sl_error *err)
{
    (void)pthread_mutex_lock(&store->lock);
    store->batch = false;
    int rc = sl_store_settle(store);
    (void)pthread_mutex_unlock(&store->lock);
    return rc < 0 ? sl_error_nomem(err) : 0;
}
