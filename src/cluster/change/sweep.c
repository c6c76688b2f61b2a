/* Sweeps: delete objects that a list did not name. Each put marks its object with the number of the
 * last sweep that was begun; a mark below a sweep's own number shows that the sweep did not see
 * it. */
#include "cluster/change/nodes.h"
#include "cluster/change/others.h"
#include "cluster/change/pods.h"
#include "cluster/publish/snapshot.h"
#include "cluster/state/state.h"

void sl_store_sweep_begin(struct sl_store *store, enum sl_sweep kind)
{
    (void)pthread_mutex_lock(&store->lock);
    store->sweep++;
    store->sweep_from[kind] = store->sweep;
    (void)pthread_mutex_unlock(&store->lock);
}

static size_t sweep_pods(struct sl_store *store, uint64_t from)
{
    size_t n = 0;
    for (size_t i = 0; i <= store->pods_by_name.mask; i++) {
        struct sl_chain *link = store->pods_by_name.bucket[i];
        while (link != NULL) {
            struct sl_entry *entry = SL_CONTAINER(link, struct sl_entry, by_name);
            link = link->next;
            if (entry->seen < from) {
                sl_entry_remove(store, entry);
                n++;
            }
        }
    }
    sl_others_sweep(store, from);
    return n;
}

static size_t sweep_nodes(struct sl_store *store, uint64_t from)
{
    size_t n = 0;
    for (size_t i = 0; i <= store->hosts.mask; i++) {
        struct sl_chain *link = store->hosts.bucket[i];
        while (link != NULL) {
            struct sl_host_entry *host = SL_CONTAINER(link, struct sl_host_entry, by_name);
            link = link->next;
            if (host->node != NULL && host->seen < from) {
                sl_host_forget(store, host);
                n++;
            }
        }
    }
    sl_others_sweep(store, 0);
    return n;
}

size_t sl_store_sweep_end(struct sl_store *store, enum sl_sweep kind)
{
    static size_t (*const sweep[SL_SWEEP_KINDS])(struct sl_store * store, uint64_t from) = {
        [SL_SWEEP_NODES] = sweep_nodes,
        [SL_SWEEP_PODS] = sweep_pods,
    };
    (void)pthread_mutex_lock(&store->lock);
    bool batch = store->batch;
    store->batch = true; /* one snapshot shows all deletions */
    size_t n = sweep[kind](store, store->sweep_from[kind]);
    store->batch = batch;
    store->sweep_from[kind] = 0;
    (void)sl_store_settle(store); /* without memory a later call publishes it */
    (void)pthread_mutex_unlock(&store->lock);
    return n;
}

void sl_store_sweep_keep_node(struct sl_store *store, struct sl_str name)
{
    (void)pthread_mutex_lock(&store->lock);
    struct sl_host_entry *host = sl_host_find(store, name);
    if (host != NULL) {
        host->seen = store->sweep;
    }
    (void)pthread_mutex_unlock(&store->lock);
}

void sl_store_sweep_keep_pod(struct sl_store *store, struct sl_str ns, struct sl_str name)
{
    (void)pthread_mutex_lock(&store->lock);
    struct sl_entry *entry = sl_entry_find(store, ns, name);
    if (entry != NULL) {
        entry->seen = store->sweep;
    }
    sl_others_keep(store, ns, name);
    (void)pthread_mutex_unlock(&store->lock);
}
