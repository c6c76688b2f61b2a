/* Pods that kube-scheduler has nominated to nodes: who asks for room there leaves theirs. */
#include "cluster/bind/nominees.h"

#include <stdlib.h>

#include "cluster/state/state.h"

/* The order of a node's: filter and bind must leave room for the same of a crowd. */
static int by_rank(const struct sl_pod *a, const struct sl_pod *b)
{
    int later = (a->priority < b->priority) - (a->priority > b->priority);
    return later != 0 ? later : strcmp(a->uid, b->uid);
}

static int by_node(const void *a, const void *b)
{
    const struct sl_pod *x = *(struct sl_pod *const *)a;
    const struct sl_pod *y = *(struct sl_pod *const *)b;
    int later = strcmp(x->nominated, y->nominated);
    return later != 0 ? later : by_rank(x, y);
}

/* The nominee behind the link, or NULL where the pod need not leave it room. */
static struct sl_pod *nominee_of(const struct sl_link *link, const struct sl_pod *pod)
{
    struct sl_pod *nominee = SL_CONTAINER(link, struct sl_entry, in_nominees)->state.pod;
    bool counts = nominee->priority >= pod->priority && strcmp(nominee->uid, pod->uid) != 0;
    return counts ? nominee : NULL;
}

static const struct sl_link *first_of(const struct sl_store *store)
{
    return store->heeds_nominees ? store->nominees.first : NULL;
}

/* Puts the pod in its place; the last one makes room. */
static size_t insert(struct sl_pod *out[SL_NOMINEES_MAX], size_t n, struct sl_pod *pod)
{
    size_t at = n < SL_NOMINEES_MAX ? n : SL_NOMINEES_MAX - 1;
    if (n == SL_NOMINEES_MAX && by_rank(out[at], pod) <= 0) {
        return n;
    }
    for (; at > 0 && by_rank(out[at - 1], pod) > 0; at--) {
        out[at] = out[at - 1];
    }
    out[at] = pod;
    return n < SL_NOMINEES_MAX ? n + 1 : n;
}

size_t sl_nominees_list(const struct sl_store *store, const struct sl_pod *pod, const char *node,
                        struct sl_pod *out[SL_NOMINEES_MAX])
{
    size_t n = 0;
    for (const struct sl_link *at = first_of(store); at != NULL; at = at->next) {
        struct sl_pod *nominee = nominee_of(at, pod);
        if (nominee != NULL && strcmp(nominee->nominated, node) == 0) {
            n = insert(out, n, nominee);
        }
    }
    return n;
}

/* With the lock held. */
static int list_all(const struct sl_store *store, const struct sl_pod *pod, struct sl_nominees *out)
{
    size_t max = 0;
    for (const struct sl_link *at = first_of(store); at != NULL; at = at->next) {
        max += nominee_of(at, pod) != NULL;
    }
    if (max == 0) {
        return 0;
    }
    out->pod = calloc(max, sizeof(struct sl_pod *));
    if (out->pod == NULL) {
        return -1;
    }
    for (const struct sl_link *at = first_of(store); at != NULL && out->n < max; at = at->next) {
        struct sl_pod *nominee = nominee_of(at, pod);
        if (nominee != NULL) {
            out->pod[out->n++] = sl_pod_ref(nominee);
        }
    }
    qsort(out->pod, out->n, sizeof(struct sl_pod *), by_node);
    return 0;
}

int sl_store_nominees(struct sl_store *store, const struct sl_pod *pod, struct sl_nominees *out)
{
    *out = (struct sl_nominees){.n = 0};
    (void)pthread_mutex_lock(&store->lock);
    int result = list_all(store, pod, out);
    (void)pthread_mutex_unlock(&store->lock);
    return result;
}

struct sl_pod *const *sl_nominees_on(const struct sl_nominees *nominees, const char *node,
                                     size_t *n)
{
    size_t begin = 0;
    size_t end = nominees->n;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (strcmp(nominees->pod[middle]->nominated, node) < 0) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    for (; end < nominees->n && end - begin < SL_NOMINEES_MAX &&
           strcmp(nominees->pod[end]->nominated, node) == 0;
         end++) {
    }
    *n = end - begin;
    return *n == 0 ? NULL : nominees->pod + begin;
}

void sl_nominees_free(struct sl_nominees *nominees)
{
    for (size_t i = 0; i < nominees->n; i++) {
        sl_pod_unref(nominees->pod[i]);
    }
    free(nominees->pod);
}

void sl_store_heed_nominees(struct sl_store *store, bool on)
{
    (void)pthread_mutex_lock(&store->lock);
    store->heeds_nominees = on;
    (void)pthread_mutex_unlock(&store->lock);
}
