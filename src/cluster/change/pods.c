/* Takes in pods from the API server or the embedded cluster's user. The store keeps pods that ask
 * for our resources, also malformed ones, to count and explain them. For other pods it keeps only
 * their use of the node (others.c). */
#include "cluster/change/pods.h"

#include <stdlib.h>

#include "cluster/change/others.h"
#include "cluster/publish/feed.h"
#include "cluster/publish/snapshot.h"
#include "cluster/state/state.h"
#include "cluster/state/waiting.h"
#include "util/data/share.h"

static bool is_ours(const struct sl_pod *pod)
{
    return pod->n_items > 0 || pod->malformed != NULL;
}

static bool same_uid(const struct sl_pod *a, const struct sl_pod *b)
{
    return sl_str_eq(sl_str_of(a->uid), sl_str_of(b->uid));
}

/* No API server gives two pods one UID, but the store must not let a pod that holds devices go
 * uncounted for it: such a pod counts without its UID, by its name. One that waits is refused, as
 * it would be bound by its UID. */
static bool has_anothers_uid(const struct sl_store *store, const struct sl_entry *entry,
                             const struct sl_pod *pod)
{
    const struct sl_entry *same = sl_entry_find_uid(store, sl_str_of(pod->uid));
    return same != NULL && same != entry && (entry != NULL || sl_pod_holds(pod));
}

/* Is the news older than the entry? spec.nodeName is set once in a pod's life: news without it was
 * sent before the binding we know, and would free devices in use. Only a list begun after we knew
 * of the binding proves otherwise: the API server's store was set back. After a read ahead of the
 * watch, the watch may still report an earlier pod of that name; a list begun later is right. */
static bool is_outdated(const struct sl_store *store, const struct sl_entry *entry,
                        const struct sl_pod *pod)
{
    const struct sl_pod *known = entry->state.pod;
    if (!same_uid(known, pod)) {
        return entry->ahead && entry->seen >= store->sweep_from[SL_SWEEP_PODS] &&
               pod->created_us > 0 && known->created_us >= pod->created_us;
    }
    return sl_pod_has_node(known) && !sl_pod_has_node(pod) && !sl_pod_finished(pod) &&
           entry->bound >= store->sweep_from[SL_SWEEP_PODS];
}

/* The pod with the devices it was given on its present node; NULL: none. A reservation counts if
 * the binding carries its assignment: another replica may have bound the pod first. */
static const struct sl_pod *given_to(const struct sl_state *state, const struct sl_pod *pod)
{
    const struct sl_pod *given = sl_state_reserved(state) ? state->reservation->bound : state->pod;
    bool stands = same_uid(given, pod) && sl_pod_has_node(given) && sl_pod_has_node(pod) &&
                  strcmp(given->node, pod->node) == 0;
    bool bound_by_us = !sl_state_reserved(state) ||
                       sl_str_eq(sl_str_of(given->assignment), sl_str_of(pod->assignment));
    return stands && bound_by_us ? given : NULL;
}

/* Keeps decisions made from labels and annotations of the pod, which its editors may since rewrite.
 * Steals the pod; NULL when out of memory. */
static struct sl_pod *keep_decided(const struct sl_entry *entry, struct sl_pod *pod)
{
    const struct sl_pod *known = entry->state.pod;
    const struct sl_pod *given = given_to(&entry->state, pod);
    struct sl_pod *kept = NULL;
    if (given != NULL && !sl_pod_has_given(pod, given)) {
        kept = sl_pod_given(pod, given, pod->phase);
    } else if (same_uid(known, pod) && known->gate_seen && !pod->gate_seen &&
               !sl_pod_has_node(pod)) {
        kept = sl_pod_bound_to(pod, pod->node, pod->assignment, pod->phase);
        if (kept != NULL) {
            kept->gate_seen = true; /* its owner may have taken the gate off */
        }
    } else {
        return pod;
    }
    sl_pod_unref(pod);
    return kept;
}

/* A reservation outlives news of its pod only while the end of the bind is open; a nomination only
 * while the pod still waits for these devices. */
static bool reservation_outlives(const struct sl_state *state, const struct sl_pod *pod)
{
    if (state->reservation == NULL || !same_uid(state->pod, pod) || sl_pod_has_node(pod)) {
        return false;
    }
    return state->reservation->nomination ? sl_pod_waits(pod) && sl_pod_same_ask(state->pod, pod)
                                          : !sl_pod_finished(pod);
}

void sl_entry_remove(struct sl_store *store, struct sl_entry *entry)
{
    const struct sl_state old = entry->state;
    const struct sl_state none = {NULL, NULL, NULL};
    sl_entry_apply(store, entry, &none);
    (void)sl_store_settle(store); /* without memory a later call publishes it */
    sl_feed_tell(store, old.pod, NULL);
    sl_state_drop(store, &old, &none);
    sl_entry_free(store, entry);
}

/* NULL: out of memory. */
static struct sl_entry *entry_new(struct sl_store *store, struct sl_str ns)
{
    struct sl_entry *entry = calloc(1, sizeof(*entry));
    struct sl_namespace *namespace = sl_map_get(&store->namespaces, ns.s, ns.len);
    if (entry != NULL && namespace == NULL) {
        namespace = SL_MAP_ADD(&store->namespaces, struct sl_namespace, name, ns);
        if (namespace != NULL) {
            namespace->len = ns.len;
        }
    }
    if (entry == NULL || namespace == NULL) {
        free(entry);
        return NULL;
    }
    namespace->n++;
    entry->namespace = namespace;
    return entry;
}

void sl_entry_free(struct sl_store *store, struct sl_entry *entry)
{
    struct sl_namespace *namespace = entry->namespace;
    namespace->n--;
    if (namespace->n == 0) {
        (void)sl_map_remove(&store->namespaces, namespace->name, namespace->len);
        free(namespace);
    }
    free(entry);
}

/* Plans the entry's state with the new pod; pins the pod. -1: out of memory. */
static int state_plan(struct sl_store *store, const struct sl_state *old, struct sl_pod *pod,
                      struct sl_state *next)
{
    *next = (struct sl_state){pod, NULL, NULL};
    if (reservation_outlives(old, pod)) {
        next->reservation = old->reservation;
        next->host = old->host;
    } else if (sl_pod_holds(pod)) {
        next->host = sl_host_get(store, sl_str_of(pod->node));
        if (next->host == NULL) {
            return -1;
        }
    }
    if (sl_wants_pin(&store->wants, pod) < 0) {
        sl_host_drop_unused(store, next->host);
        return -1;
    }
    return 0;
}

/* Counts how a reservation fared by the news, tells the feed, then drops the old state. */
static void reservation_account(struct sl_store *store, const struct sl_state *old,
                                const struct sl_state *next)
{
    const struct sl_reservation *reservation = old->reservation;
    if (reservation != NULL && next->reservation != NULL) {
        next->reservation->outdated = true;
    } else if (sl_state_reserved(old) && same_uid(old->pod, next->pod) &&
               sl_pod_has_node(next->pod)) {
        if (strcmp(reservation->bound->node, next->pod->node) == 0) {
            store->stats.binds++;
            sl_wants_record(&store->wants, next->pod);
            store->dirty = true; /* demand goes out with the next publish */
        } else {
            store->stats.conflicts++;
        }
    }
    sl_feed_tell(store, old->pod, next->pod);
    sl_state_drop(store, old, next);
}

/* Changes an entry (one not yet in the store: all zero) to show pod. Takes the pod on success. */
static int entry_change(struct sl_store *store, struct sl_entry *entry, struct sl_pod *pod)
{
    const struct sl_state old = entry->state;
    struct sl_state next;
    if (state_plan(store, &old, pod, &next) < 0) {
        return -1;
    }
    uint64_t generation = store->generation;
    sl_entry_apply(store, entry, &next);
    if (sl_store_settle(store) < 0) {
        sl_entry_apply(store, entry, &old);
        store->generation = generation;
        sl_pod_ref(pod); /* the caller's own, which goes with the state */
        sl_state_drop(store, &next, &old);
        return -1;
    }
    entry->bound = sl_pod_has_node(pod) ? store->sweep : entry->bound;
    reservation_account(store, &old, &next);
    return 0;
}

static int pod_check(struct sl_store *store, const struct sl_entry *entry, const struct sl_pod *pod,
                     struct sl_error *err)
{
    const struct sl_entry *same = sl_entry_find_uid(store, sl_str_of(pod->uid));
    if (same != NULL && same != entry) {
        return sl_error_set(err, SL_ERR_CONFLICT, "pod %s/%s has the UID of pod %s/%s",
                            pod->namespace, pod->name, same->state.pod->namespace,
                            same->state.pod->name);
    }
    /* a pod that holds devices is kept in any case, or they would be given twice */
    size_t all = store->pods_by_name.len;
    const struct sl_namespace *namespace =
        sl_map_get(&store->namespaces, pod->namespace, strlen(pod->namespace));
    size_t own = namespace == NULL ? 0 : namespace->n;
    if (entry != NULL || sl_pod_holds(pod) || sl_share_allows(own, all, store->limits.max_pods)) {
        return 0;
    }
    store->stats.limit_hits++;
    return all < store->limits.max_pods
               ? sl_error_set(err, SL_ERR_LIMIT,
                              "pod %s/%s: %zu pods of its namespace are known, its share of "
                              "cluster.maxPods",
                              pod->namespace, pod->name, own)
               : sl_error_set(err, SL_ERR_LIMIT,
                              "pod %s/%s: %zu pods are known, the maximum (cluster.maxPods)",
                              pod->namespace, pod->name, all);
}

/* 1: the pod is taken; 0: it asks for none of our resources; -1: error. */
static int pod_put_current(struct sl_store *store, struct sl_entry *entry, struct sl_pod *pod,
                           bool ahead, struct sl_error *err)
{
    if (!is_ours(pod)) {
        int rc = sl_others_put(store, pod, err);
        if (rc == 0 && entry != NULL) {
            sl_entry_remove(store, entry);
        }
        (void)sl_store_settle(store); /* without memory a later call publishes it */
        return rc;
    }
    if (pod_check(store, entry, pod, err) < 0) {
        return -1;
    }
    if (entry != NULL) {
        return entry_change(store, entry, pod) < 0 ? sl_error_nomem(err) : 1;
    }
    entry = entry_new(store, sl_str_of(pod->namespace));
    if (entry == NULL) {
        return sl_error_nomem(err);
    }
    entry->seen = store->sweep;
    entry->ahead = ahead;
    if (entry_change(store, entry, pod) < 0) {
        sl_entry_free(store, entry);
        return sl_error_nomem(err);
    }
    return 1;
}

/* News that change nothing, as kubelets and this daemon write them often, cost no snapshot and no
 * plan. A pod that waits is replaced all the same, for its member queued. Takes the pod if so. */
static bool pod_keep(struct sl_store *store, struct sl_entry *entry, struct sl_pod *pod)
{
    struct sl_pod *known = entry->state.pod;
    if (known != pod && (entry->state.reservation != NULL || !sl_pod_same(known, pod))) {
        return false;
    }
    entry->bound = sl_pod_has_node(pod) ? store->sweep : entry->bound;
    if (entry->state.host == NULL && sl_wants_pin(&store->wants, pod) == 0) {
        entry->state.pod = pod;
        sl_wants_unpin(&store->wants, known);
        pod = known;
    }
    sl_pod_unref(pod);
    return true;
}

/* Steals the pod. */
static int pod_put(struct sl_store *store, struct sl_pod *pod, bool ahead, struct sl_error *err)
{
    struct sl_entry *entry = sl_entry_find(store, sl_str_of(pod->namespace), sl_str_of(pod->name));
    if (has_anothers_uid(store, entry, pod)) {
        struct sl_pod *with = pod;
        pod = sl_pod_without_uid(with);
        sl_pod_unref(with);
    }
    if (pod == NULL) {
        return sl_error_nomem(err);
    }
    bool outdated = entry != NULL && is_outdated(store, entry, pod);
    if (entry != NULL) {
        entry->seen = store->sweep;
        entry->ahead = ahead || (entry->ahead && outdated);
    }
    if (entry != NULL && !outdated) {
        pod = keep_decided(entry, pod);
    }
    if (pod == NULL) {
        return sl_error_nomem(err);
    }
    bool same = entry != NULL && !outdated && pod_keep(store, entry, pod);
    if (same) {
        return 0;
    }
    int rc = outdated ? 0 : pod_put_current(store, entry, pod, ahead, err);
    if (rc > 0 && sl_others_drop(store, sl_str_of(pod->namespace), sl_str_of(pod->name))) {
        (void)sl_store_settle(store); /* without memory a later call publishes it */
    }
    if (rc <= 0) {
        sl_pod_unref(pod);
    }
    return rc < 0 ? -1 : 0;
}

static int pod_put_locked(struct sl_store *store, struct sl_pod *pod, bool ahead,
                          struct sl_error *err)
{
    (void)pthread_mutex_lock(&store->lock);
    int rc = pod_put(store, pod, ahead, err);
    (void)pthread_mutex_unlock(&store->lock);
    return rc;
}

int sl_store_put_pod(struct sl_store *store, struct sl_pod *pod, struct sl_error *err)
{
    return pod_put_locked(store, pod, false, err);
}

int sl_store_put_pod_ahead(struct sl_store *store, struct sl_pod *pod, struct sl_error *err)
{
    return pod_put_locked(store, pod, true, err);
}

int sl_store_delete_pod(struct sl_store *store, struct sl_str ns, struct sl_str name,
                        struct sl_str uid, struct sl_error *err)
{
    int rc = 0;
    (void)pthread_mutex_lock(&store->lock);
    struct sl_entry *entry = sl_entry_find(store, ns, name);
    struct sl_str own = entry == NULL ? uid : sl_str_of(entry->state.pod->uid);
    if (entry != NULL && uid.len > 0 && own.len > 0 && !sl_str_eq(own, uid)) {
        rc = sl_error_set(err, SL_ERR_NOTFOUND, "pod %.*s/%.*s has another UID", (int)ns.len, ns.s,
                          (int)name.len, name.s);
    } else if (entry != NULL) {
        sl_entry_remove(store, entry);
    } else if (sl_others_drop(store, ns, name)) {
        (void)sl_store_settle(store); /* without memory a later call publishes it */
    } else {
        rc = sl_error_set(err, SL_ERR_NOTFOUND, "pod %.*s/%.*s is not known", (int)ns.len, ns.s,
                          (int)name.len, name.s);
    }
    (void)pthread_mutex_unlock(&store->lock);
    return rc;
}

struct sl_pod *sl_store_pod(struct sl_store *store, struct sl_str ns, struct sl_str name)
{
    (void)pthread_mutex_lock(&store->lock);
    const struct sl_entry *entry = sl_entry_find(store, ns, name);
    struct sl_pod *pod = NULL;
    if (entry != NULL) {
        pod = sl_pod_ref(sl_state_nominated(&entry->state) ? entry->state.pod
                                                           : sl_state_pod(&entry->state));
    }
    (void)pthread_mutex_unlock(&store->lock);
    return pod;
}

size_t sl_store_visit_waiting(struct sl_store *store, size_t max,
                              void (*visit)(void *context, const struct sl_pod *pod), void *context)
{
    (void)pthread_mutex_lock(&store->lock);
    sl_waiting_sort(store);
    struct sl_link *at = store->waiting.first;
    for (size_t i = 0; i < max && at != NULL; i++) {
        visit(context, SL_CONTAINER(at, struct sl_entry, in_waiting)->state.pod);
        at = at->next;
    }
    size_t n = store->n_waiting;
    (void)pthread_mutex_unlock(&store->lock);
    return n;
}
