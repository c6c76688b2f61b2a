/* The store's life, batches, limits and nodes. */
#include <stdlib.h>

#include "cluster/internal.h"

static int init(struct sl_store *store, struct sl_error *err)
{
    if (sl_table_init(&store->pods_by_name) < 0 || sl_table_init(&store->pods_by_uid) < 0 ||
        sl_table_init(&store->homes) < 0 || sl_table_init(&store->others) < 0 ||
        sl_wants_init(&store->wants) < 0) {
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
    if (pthread_mutex_init(&store->door, NULL) != 0) {
        sl_error_set(err, SL_ERR_SYSTEM, "cannot make a mutex");
        pthread_mutex_destroy(&store->lock);
        free(store);
        return NULL;
    }
    if (init(store, err) < 0) {
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
    sl_map_free(&store->spaces);
}

static void free_homes(struct sl_store *store)
{
    size_t bucket = 0;
    for (struct sl_chain *link = sl_table_pop(&store->homes, &bucket); link != NULL;
         link = sl_table_pop(&store->homes, &bucket)) {
        struct sl_home *home = SL_CONTAINER(link, struct sl_home, by_name);
        sl_home_retire(store, home);
        sl_node_unref(home->node);
        free(home);
    }
}

void sl_store_free(struct sl_store *store)
{
    if (store == NULL) {
        return;
    }
    free_pods(store);
    sl_others_free(store);
    free_homes(store);
    sl_boxes_free(&store->retired);
    sl_picture_free(store->current);
    sl_wants_free(&store->wants);
    sl_table_free(&store->pods_by_name);
    sl_table_free(&store->pods_by_uid);
    sl_table_free(&store->homes);
    free(store->order);
    free(store->gather);
    pthread_mutex_destroy(&store->door);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

void sl_store_set_limits(struct sl_store *store, const struct sl_store_limits *limits)
{
    pthread_mutex_lock(&store->lock);
    store->limits = *limits;
    pthread_mutex_unlock(&store->lock);
}

void sl_store_set_one_equal_share(struct sl_store *store, bool on)
{
    pthread_mutex_lock(&store->lock);
    store->one_equal_share = on;
    pthread_mutex_unlock(&store->lock);
}

void sl_store_stats(struct sl_store *store, struct sl_store_stats *out)
{
    pthread_mutex_lock(&store->lock);
    *out = store->stats;
    pthread_mutex_unlock(&store->lock);
}

void sl_store_begin(struct sl_store *store)
{
    pthread_mutex_lock(&store->lock);
    store->batch = true;
    pthread_mutex_unlock(&store->lock);
}

int sl_store_end(struct sl_store *store, struct sl_error *err)
{
    pthread_mutex_lock(&store->lock);
    store->batch = false;
    int rc = sl_store_settle(store);
    pthread_mutex_unlock(&store->lock);
    return rc < 0 ? sl_error_nomem(err) : 0;
}

/* ---- nodes ---- */

/* Gives the home another node (NULL: none) and returns the one it had. Making a node known needs
 * room in store->order; otherwise this cannot fail. */
static struct sl_node *swap_node(struct sl_store *store, struct sl_home *home, struct sl_node *node)
{
    struct sl_node *old = home->node;
    home->node = node;
    if (old == NULL && node != NULL) {
        sl_order_add(store, home);
    }
    if (old != NULL && node == NULL) {
        sl_order_remove(store, home);
        sl_home_retire(store, home);
    }
    sl_home_touch(store, home);
    store->generation++;
    store->dirty = true;
    return old;
}

static int put_node(struct sl_store *store, struct sl_node *node, struct sl_error *err)
{
    struct sl_home *home = sl_home_find(store, sl_str_of(node->name));
    bool known = home != NULL && home->node != NULL;
    if (known) {
        home->seen = store->sweep;
    }
    if (known && home->node == node) {
        sl_node_unref(node);
        return 0;
    }
    if (!known && store->n_order >= store->limits.max_nodes) {
        store->stats.limit_hits++;
        sl_error_set(err, SL_ERR_LIMIT,
                     "node %s: %zu nodes are known, the maximum (cluster.maxNodes)", node->name,
                     store->n_order);
        sl_node_unref(node);
        return -1;
    }
    home = sl_home_get(store, sl_str_of(node->name));
    if (home == NULL || sl_order_reserve(store) < 0) {
        sl_home_sweep(store, home);
        sl_node_unref(node);
        return sl_error_nomem(err);
    }
    uint64_t generation = store->generation;
    home->seen = store->sweep;
    struct sl_node *old = swap_node(store, home, node);
    int rc = sl_store_settle(store);
    if (rc < 0) {
        old = swap_node(store, home, old);
        store->generation = generation;
        sl_home_sweep(store, home);
        sl_error_nomem(err);
    }
    sl_node_unref(old);
    return rc;
}

void sl_home_forget(struct sl_store *store, struct sl_home *home)
{
    sl_claims_leave(store, home);
    struct sl_node *old = swap_node(store, home, NULL);
    (void)sl_store_settle(store); /* without memory a later call publishes it */
    sl_node_unref(old);
    sl_home_sweep(store, home);
}

int sl_store_put_node(struct sl_store *store, struct sl_node *node, struct sl_error *err)
{
    pthread_mutex_lock(&store->lock);
    int rc = put_node(store, node, err);
    pthread_mutex_unlock(&store->lock);
    return rc;
}

struct sl_node *sl_store_node(struct sl_store *store, struct sl_str name)
{
    pthread_mutex_lock(&store->lock);
    const struct sl_home *home = sl_home_find(store, name);
    struct sl_node *node = home == NULL || home->node == NULL ? NULL : sl_node_ref(home->node);
    pthread_mutex_unlock(&store->lock);
    return node;
}

int sl_store_delete_node(struct sl_store *store, struct sl_str name, struct sl_error *err)
{
    int rc = 0;
    pthread_mutex_lock(&store->lock);
    struct sl_home *home = sl_home_find(store, name);
    if (home == NULL || home->node == NULL) {
        rc = sl_error_set(err, SL_ERR_NOTFOUND, "node %.*s is not known", (int)name.len, name.s);
    } else {
        sl_home_forget(store, home);
    }
    pthread_mutex_unlock(&store->lock);
    return rc;
}
