/* How reservations end: by commit, rollback or expiry. */
#include "cluster/bind/outcome.h"

#include "cluster/publish/feed.h"
#include "cluster/publish/snapshot.h"
#include "cluster/state/state.h"

size_t sl_ledger_expire(struct sl_store *store, int64_t now_us)
{
    size_t n = 0;
    const struct sl_reservation *first = sl_reservation_first(&store->reservations);
    while (!store->expiry_held && first != NULL && first->expires_us <= now_us) {
        sl_entry_give_back(store, first->entry);
        store->stats.expiries++;
        n++;
        first = sl_reservation_first(&store->reservations);
    }
    return n;
}

/* The pod as bound in that phase, pinned; where no kubelet says when it started, it starts now.
 * Without memory for a copy the reservation's own pod serves: it has the same devices, and the API
 * server's next news of the pod mends the rest. */
static struct sl_pod *committed_pod(struct sl_store *store, const struct sl_state *state,
                                    enum sl_pod_phase phase)
{
    const struct sl_reservation *reservation = state->reservation;
    struct sl_pod *pod = NULL;
    if (reservation->outdated || reservation->bound->phase != phase) {
        pod = sl_pod_given(state->pod, reservation->bound, phase);
    }
    if (pod != NULL && phase == SL_POD_RUNNING && pod->started_us == 0) {
        pod->started_us = reservation->taken_us; /* nobody else has seen the copy yet */
    }
    if (pod == NULL) {
        pod = sl_pod_ref(reservation->bound);
    }
    (void)sl_wants_pin(&store->wants, pod); /* rows are there: both pods are pinned already */
    return pod;
}

bool sl_store_commit(struct sl_store *store, struct sl_str uid, enum sl_pod_phase phase)
{
    (void)pthread_mutex_lock(&store->lock);
    struct sl_entry *entry = sl_entry_find_uid(store, uid);
    bool stands = entry != NULL && sl_pod_has_node(entry->state.pod);
    if (entry != NULL && sl_state_reserved(&entry->state)) {
        const struct sl_state old = entry->state;
        struct sl_state next = {committed_pod(store, &old, phase), NULL, NULL};
        next.host = sl_pod_holds(next.pod) ? old.host : NULL;
        sl_entry_apply(store, entry, &next);
        entry->bound = store->sweep;
        sl_wants_record(&store->wants, next.pod);
        store->stats.binds++;
        (void)sl_store_settle(store); /* without memory a later call publishes it */
        sl_feed_tell(store, old.pod, next.pod);
        sl_state_drop(store, &old, &next);
        stands = true;
    }
    (void)pthread_mutex_unlock(&store->lock);
    return stands;
}

bool sl_store_rollback(struct sl_store *store, struct sl_str uid)
{
    (void)pthread_mutex_lock(&store->lock);
    struct sl_entry *entry = sl_entry_find_uid(store, uid);
    bool found = entry != NULL && sl_state_reserved(&entry->state);
    if (found) {
        sl_entry_give_back(store, entry);
        store->stats.rollbacks++;
        (void)sl_store_settle(store); /* without memory a later call publishes it */
    }
    (void)pthread_mutex_unlock(&store->lock);
    return found;
}

void sl_store_hold_expiry(struct sl_store *store, bool hold)
{
    (void)pthread_mutex_lock(&store->lock);
    store->expiry_held = hold;
    (void)pthread_mutex_unlock(&store->lock);
}

size_t sl_store_expire(struct sl_store *store, int64_t now_us)
{
    (void)pthread_mutex_lock(&store->lock);
    size_t n = sl_ledger_expire(store, now_us);
    (void)sl_store_settle(store); /* publishes also changes for which earlier calls had no memory */
    (void)pthread_mutex_unlock(&store->lock);
    return n;
}
