/* Pods in the store. */
#include "cluster/state/entry.h"

#include <stdlib.h>

#include "cluster/state/state.h"
#include "cluster/state/waiting.h"

static uint32_t hash_name(struct sl_str ns, struct sl_str name)
{
    return (uint32_t)(sl_hash(ns.s, ns.len) * 31 + sl_hash(name.s, name.len));
}

static bool text_is(const char *text, struct sl_str wanted)
{
    return sl_str_eq(sl_str_of(text), wanted);
}

struct sl_entry *sl_entry_find(const struct sl_store *store, struct sl_str ns, struct sl_str name)
{
    uint32_t hash = hash_name(ns, name);
    for (struct sl_chain *link = sl_table_at(&store->pods_by_name, hash); link != NULL;
         link = link->next) {
        struct sl_entry *entry = SL_CONTAINER(link, struct sl_entry, by_name);
        if (link->hash == hash && text_is(entry->state.pod->name, name) &&
            text_is(entry->state.pod->namespace, ns)) {
            return entry;
        }
    }
    return NULL;
}

struct sl_entry *sl_entry_find_uid(const struct sl_store *store, struct sl_str uid)
{
    if (uid.len == 0) {
        return NULL;
    }
    uint32_t hash = (uint32_t)sl_hash(uid.s, uid.len);
    for (struct sl_chain *link = sl_table_at(&store->pods_by_uid, hash); link != NULL;
         link = link->next) {
        struct sl_entry *entry = SL_CONTAINER(link, struct sl_entry, by_uid);
        if (link->hash == hash && text_is(entry->state.pod->uid, uid)) {
            return entry;
        }
    }
    return NULL;
}

static bool state_waits(const struct sl_state *state)
{
    return !sl_state_reserved(state) && sl_pod_waits(state->pod);
}

static bool state_is_nominee(const struct sl_state *state)
{
    const struct sl_pod *pod = state->pod;
    return state_waits(state) && pod->nominated != NULL && pod->gate == SL_GATE_NONE;
}

/* The list and the count that the reservation or nomination is in. */
static struct sl_list *list_of(struct sl_store *store, const struct sl_reservation *reservation,
                               size_t **n)
{
    *n = reservation->nomination ? &store->n_nominated : &store->n_reserved;
    return reservation->nomination ? &store->nominations : &store->reservations;
}

static void entry_join(struct sl_store *store, struct sl_entry *entry)
{
    const struct sl_state *state = &entry->state;
    if (state->pod == NULL) {
        return;
    }
    struct sl_str uid = sl_str_of(state->pod->uid);
    sl_table_add(&store->pods_by_name, &entry->by_name,
                 hash_name(sl_str_of(state->pod->namespace), sl_str_of(state->pod->name)));
    if (uid.len > 0) {
        sl_table_add(&store->pods_by_uid, &entry->by_uid, (uint32_t)sl_hash(uid.s, uid.len));
    }
    if (state->host != NULL) {
        sl_list_add_last(&state->host->pods, &entry->on_host);
        state->host->n_pods++;
        store->n_bound += sl_state_nominated(state) ? 0 : 1;
    }
    if (state_waits(state)) {
        sl_waiting_add(store, entry);
        sl_wants_waiting(&store->wants, state->pod, 1);
    }
    if (state_is_nominee(state)) {
        sl_list_add_last(&store->nominees, &entry->in_nominees);
    }
    if (state->reservation != NULL) {
        size_t *n = NULL;
        sl_reservation_add(list_of(store, state->reservation, &n), state->reservation);
        ++*n;
    }
}

static void entry_leave(struct sl_store *store, struct sl_entry *entry)
{
    const struct sl_state *state = &entry->state;
    if (state->pod == NULL) {
        return;
    }
    sl_table_remove(&store->pods_by_name, &entry->by_name);
    if (sl_str_of(state->pod->uid).len > 0) {
        sl_table_remove(&store->pods_by_uid, &entry->by_uid);
    }
    if (state->host != NULL) {
        sl_list_remove(&state->host->pods, &entry->on_host);
        state->host->n_pods--;
        store->n_bound -= sl_state_nominated(state) ? 0 : 1;
    }
    if (state_waits(state)) {
        sl_waiting_remove(store, entry);
        sl_wants_waiting(&store->wants, state->pod, -1);
    }
    if (state_is_nominee(state)) {
        sl_list_remove(&store->nominees, &entry->in_nominees);
    }
    if (state->reservation != NULL) {
        size_t *n = NULL;
        sl_list_remove(list_of(store, state->reservation, &n), &state->reservation->link);
        --*n;
    }
}

void sl_entry_apply(struct sl_store *store, struct sl_entry *entry, const struct sl_state *next)
{
    const struct sl_state old = entry->state;
    entry_leave(store, entry);
    entry->state = *next;
    entry_join(store, entry);
    bool same = old.host == next->host && sl_state_pod(&old) == sl_state_pod(next);
    if (!same && old.host != NULL) {
        sl_host_touch(store, old.host);
    }
    if (!same && next->host != NULL) {
        sl_host_touch(store, next->host);
    }
    store->generation++;
    store->dirty = true;
}

void sl_state_drop(struct sl_store *store, const struct sl_state *old, const struct sl_state *next)
{
    if (old->reservation != NULL && old->reservation != next->reservation) {
        sl_wants_unpin(&store->wants, old->reservation->bound);
        sl_pod_unref(old->reservation->bound);
        free(old->reservation);
    }
    if (old->pod != NULL && old->pod != next->pod) {
        sl_wants_unpin(&store->wants, old->pod);
        sl_pod_unref(old->pod);
    }
    if (old->host != next->host) {
        sl_host_drop_unused(store, old->host);
    }
}

void sl_entry_give_back(struct sl_store *store, struct sl_entry *entry)
{
    const struct sl_state old = entry->state;
    const struct sl_state next = {old.pod, NULL, NULL};
    sl_entry_apply(store, entry, &next);
    sl_state_drop(store, &old, &next);
}
