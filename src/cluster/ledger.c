/* Reservations that are out: by expiry, and how they end. */
#include <stdlib.h>

#include "cluster/internal.h"

/* ---- the list by expiry ---- */

void sl_ledger_add(struct sl_store *store, struct sl_reservation *reservation)
{
    struct sl_reservation *before = store->newest;
    while (before != NULL && before->expires_us > reservation->expires_us) {
        before = before->prev; /* only after the clock or the limit was turned back */
    }
    reservation->prev = before;
    reservation->next = before == NULL ? store->oldest : before->next;
    if (before != NULL) {
        before->next = reservation;
    } else {
        store->oldest = reservation;
    }
    if (reservation->next != NULL) {
        reservation->next->prev = reservation;
    } else {
        store->newest = reservation;
    }
}

void sl_ledger_remove(struct sl_store *store, struct sl_reservation *reservation)
{
    if (reservation->prev != NULL) {
        reservation->prev->next = reservation->next;
    } else {
        store->oldest = reservation->next;
    }
    if (reservation->next != NULL) {
        reservation->next->prev = reservation->prev;
    } else {
        store->newest = reservation->prev;
    }
}

void sl_entry_give_back(struct sl_store *store, struct sl_entry *entry)
{
    const struct sl_state old = entry->state;
    const struct sl_state next = {old.pod, NULL, NULL};
    sl_entry_apply(store, entry, &next);
    sl_state_drop(store, &old, &next);
}

size_t sl_ledger_lapse(struct sl_store *store, int64_t now_us)
{
    size_t n = 0;
    while (!store->lapses_held && store->oldest != NULL && store->oldest->expires_us <= now_us) {
        sl_entry_give_back(store, store->oldest->entry);
        store->stats.lapses++;
        n++;
    }
    return n;
}

/* ---- how it ends ---- */

/* The pod as bound in that phase, pinned. Without memory for a copy the reservation's own serves:
 * same devices, and the API server's next word on the pod mends the rest. */
static struct sl_pod *committed_pod(struct sl_store *store, const struct sl_state *state,
                                    enum sl_pod_phase phase)
{
    const struct sl_reservation *reservation = state->reservation;
    struct sl_pod *pod = NULL;
    if (reservation->outdated || reservation->bound->phase != phase) {
        pod = sl_pod_given(state->pod, reservation->bound, phase);
    }
    if (pod == NULL) {
        pod = sl_pod_ref(reservation->bound);
    }
    (void)sl_wants_pin(&store->wants, pod); /* rows are there: both pods are pinned already */
    return pod;
}

bool sl_store_commit(struct sl_store *store, struct sl_str uid, enum sl_pod_phase phase)
{
    pthread_mutex_lock(&store->lock);
    struct sl_entry *entry = sl_entry_find_uid(store, uid);
    bool stands = entry != NULL && sl_pod_has_node(entry->state.pod);
    if (entry != NULL && sl_state_reserved(&entry->state)) {
        const struct sl_state old = entry->state;
        struct sl_state next = {committed_pod(store, &old, phase), NULL, NULL};
        next.home = sl_pod_holds(next.pod) ? old.home : NULL;
        sl_entry_apply(store, entry, &next);
        entry->bound = store->sweep;
        sl_wants_record(&store->wants, next.pod);
        store->stats.binds++;
        (void)sl_store_settle(store); /* without memory a later call publishes it */
        sl_feed_tell(store, old.pod, next.pod);
        sl_state_drop(store, &old, &next);
        stands = true;
    }
    pthread_mutex_unlock(&store->lock);
    return stands;
}

bool sl_store_rollback(struct sl_store *store, struct sl_str uid)
{
    pthread_mutex_lock(&store->lock);
    struct sl_entry *entry = sl_entry_find_uid(store, uid);
    bool found = entry != NULL && sl_state_reserved(&entry->state);
    if (found) {
        sl_entry_give_back(store, entry);
        store->stats.rollbacks++;
        (void)sl_store_settle(store); /* without memory a later call publishes it */
    }
    pthread_mutex_unlock(&store->lock);
    return found;
}

void sl_store_hold_lapses(struct sl_store *store, bool hold)
{
    pthread_mutex_lock(&store->lock);
    store->lapses_held = hold;
    pthread_mutex_unlock(&store->lock);
}

size_t sl_store_expire(struct sl_store *store, int64_t now_us)
{
    pthread_mutex_lock(&store->lock);
    size_t n = sl_ledger_lapse(store, now_us);
    (void)sl_store_settle(store); /* also what an earlier call had no memory to publish */
    pthread_mutex_unlock(&store->lock);
    return n;
}
