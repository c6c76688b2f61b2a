/* Lists: what a list did not name is deleted. Whatever is put is marked with the number of the last
 * sweep that was begun; marks below a sweep's own number are of what it did not see. */
#include "cluster/internal.h"

void sl_store_sweep_begin(struct sl_store *store, enum sl_sweep kind)
{
    pthread_mutex_lock(&store->lock);
    store->sweep++;
    store->sweep_from[kind] = store->sweep;
    pthread_mutex_unlock(&store->lock);
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
    for (size_t i = 0; i <= store->homes.mask; i++) {
        struct sl_chain *link = store->homes.bucket[i];
        while (link != NULL) {
            struct sl_home *home = SL_CONTAINER(link, struct sl_home, by_name);
            link = link->next;
            if (home->node != NULL && home->seen < from) {
                sl_home_forget(store, home);
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
    pthread_mutex_lock(&store->lock);
    bool batch = store->batch;
    store->batch = true; /* all go with one snapshot */
    size_t n = sweep[kind](store, store->sweep_from[kind]);
    store->batch = batch;
    store->sweep_from[kind] = 0;
    (void)sl_store_settle(store); /* without memory a later call publishes it */
    pthread_mutex_unlock(&store->lock);
    return n;
}

void sl_store_sweep_keep_node(struct sl_store *store, struct sl_str name)
{
    pthread_mutex_lock(&store->lock);
    struct sl_home *home = sl_home_find(store, name);
    if (home != NULL) {
        home->seen = store->sweep;
    }
    pthread_mutex_unlock(&store->lock);
}

void sl_store_sweep_keep_pod(struct sl_store *store, struct sl_str ns, struct sl_str name)
{
    pthread_mutex_lock(&store->lock);
    struct sl_entry *entry = sl_entry_find(store, ns, name);
    if (entry != NULL) {
        entry->seen = store->sweep;
    }
    sl_others_keep(store, ns, name);
    pthread_mutex_unlock(&store->lock);
}
