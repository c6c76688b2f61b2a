/* Cuts: withholds a node while its GPUs are cut. The check and the withholding share a critical
 * section with nominations and binds, so that no pod is given what is about to go. */
#include <stdio.h>

#include "cluster/publish/snapshot.h"
#include "cluster/state/state.h"

/* False with a reason while a pod is about to start on the node. */
static bool nobody_comes(const struct sl_host_entry *host, char *reason, size_t size)
{
    for (struct sl_link *at = host->pods.first; at != NULL; at = at->next) {
        const struct sl_state *state = &SL_CONTAINER(at, struct sl_entry, on_host)->state;
        if (state->reservation != NULL) {
            (void)snprintf(reason, size, "pod %s/%s is about to start there", state->pod->namespace,
                           state->pod->name);
            return false;
        }
    }
    return true;
}

static void host_withhold(struct sl_store *store, struct sl_host_entry *host, bool withheld)
{
    host->withheld = withheld;
    sl_host_touch(store, host);
    store->generation++;
    store->dirty = true;
}

static bool cut_begin(struct sl_store *store, struct sl_str node, const struct sl_cut *cut,
                      size_t n, struct sl_cut_limits limits, char *reason, size_t size)
{
    struct sl_host_entry *host = sl_host_find(store, node);
    if (host == NULL || host->node == NULL) {
        (void)snprintf(reason, size, "the node is not known");
        return false;
    }
    if (sl_host_refresh(store, host) < 0) {
        (void)snprintf(reason, size, "out of memory");
        return false;
    }
    if (host->shown->view->withheld) {
        (void)snprintf(reason, size, "the node is being cut");
        return false;
    }
    if (!nobody_comes(host, reason, size) ||
        !sl_cut_allowed(host->shown->view, cut, n, limits, reason, size)) {
        return false;
    }
    uint64_t generation = store->generation;
    host_withhold(store, host, true);
    if (sl_store_settle(store) < 0) {
        host_withhold(store, host, false);
        store->generation = generation;
        (void)snprintf(reason, size, "out of memory");
        return false;
    }
    return true;
}

bool sl_store_cut_begin(struct sl_store *store, struct sl_str node, const struct sl_cut *cut,
                        size_t n, struct sl_cut_limits limits, char *reason, size_t size)
{
    (void)pthread_mutex_lock(&store->lock);
    bool begun = cut_begin(store, node, cut, n, limits, reason, size);
    (void)pthread_mutex_unlock(&store->lock);
    return begun;
}

void sl_store_cut_hold(struct sl_store *store, struct sl_str node)
{
    (void)pthread_mutex_lock(&store->lock);
    struct sl_host_entry *host = sl_host_find(store, node);
    if (host != NULL) {
        host_withhold(store, host, true);
    }
    (void)sl_store_settle(store); /* without memory a later call publishes it */
    (void)pthread_mutex_unlock(&store->lock);
}

/* ---- the end ---- */

static bool cut_end(struct sl_store *store, struct sl_host_entry *host)
{
    bool withheld = host != NULL && host->withheld;
    if (withheld) {
        host_withhold(store, host, false);
    }
    return withheld;
}

bool sl_store_cut_end(struct sl_store *store, struct sl_str node)
{
    (void)pthread_mutex_lock(&store->lock);
    bool ended = cut_end(store, sl_host_find(store, node));
    (void)sl_store_settle(store); /* without memory a later call publishes it */
    (void)pthread_mutex_unlock(&store->lock);
    return ended;
}

size_t sl_store_cut_end_all(struct sl_store *store)
{
    size_t n = 0;
    (void)pthread_mutex_lock(&store->lock);
    for (size_t i = 0; i < store->n_order; i++) {
        n += cut_end(store, store->order[i]);
    }
    (void)sl_store_settle(store); /* without memory a later call publishes it */
    (void)pthread_mutex_unlock(&store->lock);
    return n;
}
