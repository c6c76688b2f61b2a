/* Reports changes of pods to the queue and to the watcher of all pods. */
#include "cluster/publish/feed.h"

#include "cluster/state/state.h"

/* A pod without a UID is kept from the queue: it can neither be bound nor told from another. */
static bool is_fed(const struct sl_pod *pod)
{
    return pod != NULL && pod->uid[0] != '\0' && sl_pod_waits(pod);
}

static void tell_watch(struct sl_store *store, struct sl_pod *old, struct sl_pod *next)
{
    if (old != NULL && (next == NULL || strcmp(old->uid, next->uid) != 0)) {
        store->watch(store->watch_context, old, false);
    }
    if (next != NULL) {
        store->watch(store->watch_context, next, true);
    }
}

void sl_feed_tell(struct sl_store *store, struct sl_pod *old, struct sl_pod *next)
{
    if (store->watch != NULL && old != next) {
        tell_watch(store, old, next);
    }
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

/* Tells of all pods; the lock is held. */
static void visit_all(struct sl_store *store,
                      void (*visit)(void *context, struct sl_pod *pod, bool waits), void *context,
                      bool only_fed)
{
    for (size_t i = 0; i <= store->pods_by_name.mask; i++) {
        for (struct sl_chain *link = store->pods_by_name.bucket[i]; link != NULL;
             link = link->next) {
            struct sl_pod *pod = SL_CONTAINER(link, struct sl_entry, by_name)->state.pod;
            if (!only_fed || is_fed(pod)) {
                visit(context, pod, true);
            }
        }
    }
}

void sl_store_set_feed(struct sl_store *store, sl_store_feed feed, void *context)
{
    (void)pthread_mutex_lock(&store->lock);
    store->feed = feed;
    store->feed_context = context;
    if (feed != NULL) {
        visit_all(store, feed, context, true);
    }
    (void)pthread_mutex_unlock(&store->lock);
}

void sl_store_set_watch(struct sl_store *store, sl_store_watch watch, void *context)
{
    (void)pthread_mutex_lock(&store->lock);
    store->watch = watch;
    store->watch_context = context;
    if (watch != NULL) {
        visit_all(store, watch, context, false);
    }
    (void)pthread_mutex_unlock(&store->lock);
}
