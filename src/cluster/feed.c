/* What the queue hears of the pods that wait. */
#include "cluster/internal.h"

/* A pod without a UID cannot be bound by us, nor told from another: the queue does not hear of it.
 */
static bool is_fed(const struct sl_pod *pod)
{
    return pod != NULL && pod->uid[0] != '\0' && sl_pod_waits(pod);
}

void sl_feed_tell(struct sl_store *store, struct sl_pod *old, struct sl_pod *next)
{
    if (store->feed == NULL || old == next) {
        return;
    }
    bool was = is_fed(old);
    bool is = is_fed(next);
    if (was && (!is || strcmp(old->uid, next->uid) != 0)) {
        store->feed(store->feed_context, old, false);
    }
    if (is) {
        store->feed(store->feed_context, next, true);
    }
}

void sl_store_set_feed(struct sl_store *store, sl_store_feed feed, void *context)
{
    pthread_mutex_lock(&store->lock);
    store->feed = feed;
    store->feed_context = context;
    for (size_t i = 0; feed != NULL && i <= store->pods_by_name.mask; i++) {
        for (struct sl_chain *link = store->pods_by_name.bucket[i]; link != NULL;
             link = link->next) {
            struct sl_pod *pod = SL_CONTAINER(link, struct sl_entry, by_name)->state.pod;
            if (is_fed(pod)) {
                feed(context, pod, true);
            }
        }
    }
    pthread_mutex_unlock(&store->lock);
}
