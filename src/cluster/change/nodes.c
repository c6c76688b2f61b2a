/* Takes in nodes from the API server or the embedded cluster's user. */
#include "cluster/change/nodes.h"

#include "cluster/bind/nominations.h"
#include "cluster/publish/snapshot.h"
#include "cluster/state/state.h"

/* Gives the host another node (NULL: none) and returns the one it had. Making a node known needs
 * room in store->order; otherwise this cannot fail. */
static struct sl_node *swap_node(struct sl_store *store, struct sl_host_entry *host,
                                 struct sl_node *node)
{
    struct sl_node *old = host->node;
    host->node = node;
    if (old == NULL && node != NULL) {
        sl_order_add(store, host);
    }
    if (old != NULL && node == NULL) {
        sl_order_remove(store, host);
        sl_host_retire(store, host);
    }
    sl_host_touch(store, host);
    store->generation++;
    store->dirty = true;
    return old;
}

static int put_node(struct sl_store *store, struct sl_node *node, struct sl_error *err)
{
    struct sl_host_entry *host = sl_host_find(store, sl_str_of(node->name));
    bool known = host != NULL && host->node != NULL;
    if (known) {
        host->seen = store->sweep;
    }
    if (known && host->node == node) {
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
    host = sl_host_get(store, sl_str_of(node->name));
    if (host == NULL || sl_order_reserve(store) < 0) {
        sl_host_drop_unused(store, host);
        sl_node_unref(node);
        return sl_error_nomem(err);
    }
    uint64_t generation = store->generation;
    host->seen = store->sweep;
    struct sl_node *old = swap_node(store, host, node);
    int rc = sl_store_settle(store);
    if (rc < 0) {
        old = swap_node(store, host, old);
        store->generation = generation;
        sl_host_drop_unused(store, host);
        sl_error_nomem(err);
    }
    sl_node_unref(old);
    return rc;
}

void sl_host_forget(struct sl_store *store, struct sl_host_entry *host)
{
    sl_nominations_leave(store, host);
    host->withheld = false;
    host->n_measured = 0;
    struct sl_node *old = swap_node(store, host, NULL);
    (void)sl_store_settle(store); /* without memory a later call publishes it */
    sl_node_unref(old);
    sl_host_drop_unused(store, host);
}

int sl_store_put_node(struct sl_store *store, struct sl_node *node, struct sl_error *err)
{
    (void)pthread_mutex_lock(&store->lock);
    int rc = put_node(store, node, err);
    (void)pthread_mutex_unlock(&store->lock);
    return rc;
}

struct sl_node *sl_store_node(struct sl_store *store, struct sl_str name)
{
    (void)pthread_mutex_lock(&store->lock);
    const struct sl_host_entry *host = sl_host_find(store, name);
    struct sl_node *node = host == NULL || host->node == NULL ? NULL : sl_node_ref(host->node);
    (void)pthread_mutex_unlock(&store->lock);
    return node;
}

int sl_store_delete_node(struct sl_store *store, struct sl_str name, struct sl_error *err)
{
    int rc = 0;
    (void)pthread_mutex_lock(&store->lock);
    struct sl_host_entry *host = sl_host_find(store, name);
    if (host == NULL || host->node == NULL) {
        rc = sl_error_set(err, SL_ERR_NOTFOUND, "node %.*s is not known", (int)name.len, name.s);
    } else {
        sl_host_forget(store, host);
    }
    (void)pthread_mutex_unlock(&store->lock);
    return rc;
}
