/* Pods that kube-scheduler has nominated to nodes: who asks for room there leaves theirs. */
#include "cluster/bind/nominees.h"

#include "cluster/state/state.h"

/* Puts the pod behind those of its priority; the last one makes room. */
static size_t insert(struct sl_pod *out[SL_NOMINEES_MAX], size_t n, struct sl_pod *pod)
{
    size_t at = n < SL_NOMINEES_MAX ? n : SL_NOMINEES_MAX - 1;
    if (n == SL_NOMINEES_MAX && out[at]->priority >= pod->priority) {
        return n;
    }
    for (; at > 0 && out[at - 1]->priority < pod->priority; at--) {
        out[at] = out[at - 1];
    }
    out[at] = pod;
    return n < SL_NOMINEES_MAX ? n + 1 : n;
}

size_t sl_nominees_list(const struct sl_store *store, const struct sl_pod *pod, const char *node,
                        struct sl_pod *out[SL_NOMINEES_MAX])
{
    size_t n = 0;
    const struct sl_link *at = store->heeds_nominees ? store->nominees.first : NULL;
    for (; at != NULL; at = at->next) {
        struct sl_pod *nominee = SL_CONTAINER(at, struct sl_entry, in_nominees)->state.pod;
        if (nominee->priority >= pod->priority && strcmp(nominee->uid, pod->uid) != 0 &&
            (node == NULL || strcmp(nominee->nominated, node) == 0)) {
            n = insert(out, n, nominee);
        }
    }
    return n;
}

size_t sl_store_nominees(struct sl_store *store, const struct sl_pod *pod,
                         struct sl_pod *out[SL_NOMINEES_MAX])
{
    (void)pthread_mutex_lock(&store->lock);
    size_t n = sl_nominees_list(store, pod, NULL, out);
    for (size_t i = 0; i < n; i++) {
        (void)sl_pod_ref(out[i]);
    }
    (void)pthread_mutex_unlock(&store->lock);
    return n;
}

void sl_store_heed_nominees(struct sl_store *store, bool on)
{
    (void)pthread_mutex_lock(&store->lock);
    store->heeds_nominees = on;
    (void)pthread_mutex_unlock(&store->lock);
}
