/* Pods in the store: everything that follows from an entry's state is kept here, in one place, so
 * that a change and its taking back are the same function. */
#include <stdlib.h>

#include "cluster/internal.h"

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

struct sl_pod *sl_state_pod(const struct sl_state *state)
{
    return state->reservation != NULL ? state->reservation->bound : state->pod;
}

static bool waits(const struct sl_state *state)
{
    return !sl_state_reserved(state) && sl_pod_waits(state->pod);
}

static bool earlier(const struct sl_entry *a, const struct sl_entry *b)
{
    const struct sl_pod *pod_a = a->state.pod;
    const struct sl_pod *pod_b = b->state.pod;
    if (pod_a->created_us != pod_b->created_us) {
        return pod_a->created_us < pod_b->created_us;
    }
    return strcmp(pod_a->uid, pod_b->uid) < 0;
}

static void list_add(struct sl_list *list, struct sl_entry *entry, enum sl_place place)
{
    entry->link[place].prev = list->last;
    entry->link[place].next = NULL;
    if (list->last != NULL) {
        list->last->link[place].next = entry;
    } else {
        list->first = entry;
    }
    list->last = entry;
}

static void list_remove(struct sl_list *list, struct sl_entry *entry, enum sl_place place)
{
    struct sl_entry *prev = entry->link[place].prev;
    struct sl_entry *next = entry->link[place].next;
    if (prev != NULL) {
        prev->link[place].next = next;
    } else {
        list->first = next;
    }
    if (next != NULL) {
        next->link[place].prev = prev;
    } else {
        list->last = prev;
    }
    entry->link[place].prev = NULL;
    entry->link[place].next = NULL;
}

static void join_waiting(struct sl_store *store, struct sl_entry *entry)
{
    if (store->waiting.last != NULL && earlier(entry, store->waiting.last)) {
        store->waiting_sorted = false;
    }
    list_add(&store->waiting, entry, SL_PLACE_WAITING);
    store->n_waiting++;
    sl_wants_waiting(&store->wants, entry->state.pod, 1);
}

static void join(struct sl_store *store, struct sl_entry *entry)
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
    if (state->home != NULL) {
        list_add(&state->home->pods, entry, SL_PLACE_HOME);
        state->home->n_pods++;
        store->n_bound += sl_state_claimed(state) ? 0 : 1;
    }
    if (waits(state)) {
        join_waiting(store, entry);
    }
    if (sl_state_claimed(state)) {
        sl_claims_add(store, state->reservation);
    } else if (state->reservation != NULL) {
        sl_ledger_add(store, state->reservation);
        store->n_reserved++;
    }
}

static void leave(struct sl_store *store, struct sl_entry *entry)
{
    const struct sl_state *state = &entry->state;
    if (state->pod == NULL) {
        return;
    }
    sl_table_remove(&store->pods_by_name, &entry->by_name);
    if (sl_str_of(state->pod->uid).len > 0) {
        sl_table_remove(&store->pods_by_uid, &entry->by_uid);
    }
    if (state->home != NULL) {
        list_remove(&state->home->pods, entry, SL_PLACE_HOME);
        state->home->n_pods--;
        store->n_bound -= sl_state_claimed(state) ? 0 : 1;
    }
    if (waits(state)) {
        list_remove(&store->waiting, entry, SL_PLACE_WAITING);
        store->n_waiting--;
        sl_wants_waiting(&store->wants, state->pod, -1);
    }
    if (sl_state_claimed(state)) {
        sl_claims_remove(store, state->reservation);
    } else if (state->reservation != NULL) {
        sl_ledger_remove(store, state->reservation);
        store->n_reserved--;
    }
}

void sl_entry_apply(struct sl_store *store, struct sl_entry *entry, const struct sl_state *next)
{
    const struct sl_state old = entry->state;
    leave(store, entry);
    entry->state = *next;
    join(store, entry);
    bool same = old.home == next->home && sl_state_pod(&old) == sl_state_pod(next);
    if (!same && old.home != NULL) {
        sl_home_touch(store, old.home);
    }
    if (!same && next->home != NULL) {
        sl_home_touch(store, next->home);
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
    if (old->home != next->home) {
        sl_home_sweep(store, old->home);
    }
}

/* Merges two runs of those that wait that are in order. */
static struct sl_entry *merge(struct sl_entry *a, struct sl_entry *b)
{
    struct sl_entry *first = NULL;
    struct sl_entry **at = &first;
    while (a != NULL && b != NULL) {
        struct sl_entry **from = earlier(b, a) ? &b : &a;
        *at = *from;
        at = &(*from)->link[SL_PLACE_WAITING].next;
        *from = *at;
    }
    *at = a != NULL ? a : b;
    return first;
}

/* Merge sort on the links: run[i] holds 2^i entries or none. */
void sl_waiting_sort(struct sl_store *store)
{
    if (store->waiting_sorted) {
        return;
    }
    struct sl_entry *run[64] = {NULL};
    struct sl_entry *rest = store->waiting.first;
    while (rest != NULL) {
        struct sl_entry *one = rest;
        rest = rest->link[SL_PLACE_WAITING].next;
        one->link[SL_PLACE_WAITING].next = NULL;
        size_t i = 0;
        for (; run[i] != NULL; i++) {
            one = merge(run[i], one);
            run[i] = NULL;
        }
        run[i] = one;
    }
    struct sl_entry *all = NULL;
    for (size_t i = 0; i < sizeof(run) / sizeof(run[0]); i++) {
        all = merge(run[i], all);
    }
    store->waiting = (struct sl_list){all, NULL};
    for (struct sl_entry *entry = all; entry != NULL; entry = entry->link[SL_PLACE_WAITING].next) {
        entry->link[SL_PLACE_WAITING].prev = store->waiting.last;
        store->waiting.last = entry;
    }
    store->waiting_sorted = true;
}
