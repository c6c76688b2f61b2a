/* Reserving: devices chosen and taken for a pod whose binding is on its way. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cluster/internal.h"

static const char *const code_names[] = {
    [SL_BIND_RESERVED] = "Reserved",
    [SL_BIND_ALREADY] = "Already",
    [SL_BIND_IN_PROGRESS] = "InProgress",
    [SL_BIND_OTHER_NODE] = "OtherNode",
    [SL_BIND_UNKNOWN_POD] = "UnknownPod",
    [SL_BIND_OTHER_UID] = "OtherUID",
    [SL_BIND_UNKNOWN_NODE] = "UnknownNode",
    [SL_BIND_NO_ROOM] = "NoRoom",
    [SL_BIND_FINISHED] = "Finished",
    [SL_BIND_FULL] = "Full",
    [SL_BIND_HELD] = "Held",
    [SL_BIND_NOMEM] = "NoMemory",
    [SL_BIND_NOT_CLAIMED] = "NotClaimed",
};

const char *sl_bind_code_name(enum sl_bind_code code)
{
    return (size_t)code < sizeof(code_names) / sizeof(code_names[0]) ? code_names[code] : "Unknown";
}

/* Cuts text that filled its buffer at the end of a whole UTF-8 sequence. */
static void trim(char *text, size_t size, int written)
{
    if (written < 0 || (size_t)written < size) {
        return;
    }
    size_t end = size - 1;
    while (end > 0 && ((unsigned char)text[end - 1] & 0xC0) == 0x80) {
        end--;
    }
    if (end > 0 && ((unsigned char)text[end - 1] & 0x80) != 0) {
        text[end - 1] = '\0';
    }
}

void sl_refuse_pod(struct sl_bind_result *result, enum sl_bind_code code,
                   const struct sl_bind *bind, const char *format, ...)
{
    va_list args;
    result->code = code;
    int at = snprintf(result->text, sizeof(result->text), "pod %.*s/%.*s ", (int)bind->ns.len,
                      bind->ns.s, (int)bind->name.len, bind->name.s);
    if (at < 0 || (size_t)at >= sizeof(result->text)) {
        trim(result->text, sizeof(result->text), at);
        return;
    }
    size_t left = sizeof(result->text) - (size_t)at;
    va_start(args, format);
    int more = vsnprintf(result->text + at, left, format, args);
    va_end(args);
    trim(result->text + at, left, more);
}

void sl_refuse_node(struct sl_bind_result *result, enum sl_bind_code code,
                    const struct sl_bind *bind, const char *why)
{
    result->code = code;
    int n = snprintf(result->text, sizeof(result->text), "node %.*s%s", (int)bind->node.len,
                     bind->node.s, why);
    trim(result->text, sizeof(result->text), n);
}

void sl_refuse_memory(struct sl_bind_result *result)
{
    result->code = SL_BIND_NOMEM;
    snprintf(result->text, sizeof(result->text), "out of memory, nothing was changed");
}

void sl_refuse_standing(const struct sl_entry *entry, const struct sl_bind *bind,
                        struct sl_bind_result *result)
{
    const struct sl_pod *pod = sl_state_pod(&entry->state);
    bool reserved = sl_state_reserved(&entry->state);
    if (!sl_str_eq(sl_str_of(pod->node), bind->node)) {
        sl_refuse_pod(result, SL_BIND_OTHER_NODE, bind, "is %s node %s, not %.*s",
                      reserved ? "being bound to" : "bound to", pod->node, (int)bind->node.len,
                      bind->node.s);
    } else if (reserved) {
        sl_refuse_pod(result, SL_BIND_IN_PROGRESS, bind,
                      "is being bound to node %s by another call", pod->node);
    } else {
        result->code = SL_BIND_ALREADY;
        snprintf(result->assignment, sizeof(result->assignment), "%s",
                 pod->assignment == NULL ? "" : pod->assignment);
    }
}

/* True when the request names a pod that may be reserved now; else the result says why not. */
static bool may_reserve(const struct sl_store *store, const struct sl_entry *entry,
                        const struct sl_bind *bind, struct sl_bind_result *result)
{
    if (entry == NULL) {
        sl_refuse_pod(result, SL_BIND_UNKNOWN_POD, bind, "is not known");
        return false;
    }
    const struct sl_pod *pod = entry->state.pod;
    struct sl_str uid = sl_str_of(pod->uid);
    if (uid.len == 0 || !sl_str_eq(uid, bind->uid)) {
        sl_refuse_pod(result, SL_BIND_OTHER_UID, bind, "has the UID \"%s\", not \"%.*s\"", pod->uid,
                      (int)bind->uid.len, bind->uid.s);
        return false;
    }
    if (sl_pod_has_node(pod) || sl_state_reserved(&entry->state)) {
        sl_refuse_standing(entry, bind, result);
        return false;
    }
    if (sl_pod_finished(pod) || pod->deleting) {
        sl_refuse_pod(result, SL_BIND_FINISHED, bind, "%s",
                      pod->deleting ? "is being deleted" : "has ended");
        return false;
    }
    if (store->n_reserved >= store->limits.max_reservations) {
        sl_refuse_pod(result, SL_BIND_FULL, bind,
                      "must wait: %zu binds are under way, the maximum "
                      "(cluster.maxReservations)",
                      store->n_reserved);
        return false;
    }
    return true;
}

/* The devices of the pod's own claim, when they can still be had: scratch is the claimed node
 * without it. */
static bool choose_claimed(struct sl_scratch *scratch, const struct sl_ask *ask,
                           const char *claimed, struct sl_assignment *out)
{
    return claimed != NULL &&
           sl_assignment_parse(scratch->view->node, ask, sl_str_of(claimed), out) &&
           sl_scratch_take_exactly(scratch, ask, out);
}

/* Takes the claim out of the scratch of the node it is on; its assignment, NULL when the pod has no
 * claim there. */
static const char *own_claim(const struct sl_entry *entry, struct sl_scratch *scratch)
{
    const struct sl_view *view = scratch->view;
    if (!sl_state_claimed(&entry->state)) {
        return NULL;
    }
    const struct sl_pod *bound = entry->state.reservation->bound;
    for (uint32_t i = 0; i < view->n_residents; i++) {
        if (view->resident[i].pod == bound) {
            sl_scratch_remove(scratch, i);
            return bound->assignment;
        }
    }
    return NULL;
}

/* Chooses devices; result->assignment gets them as text. False: the result says why not. */
static bool choose(const struct sl_store *store, const struct sl_view *view,
                   const struct sl_entry *entry, const struct sl_bind *bind,
                   struct sl_bind_result *result)
{
    struct sl_ask ask;
    struct sl_scratch scratch;
    struct sl_assignment assignment = {0};
    const struct sl_pod *pod = entry->state.pod;
    sl_pod_ask(pod, &ask);
    sl_scratch_init(&scratch, view);
    const char *claimed = own_claim(entry, &scratch);
    if (!choose_claimed(&scratch, &ask, claimed, &assignment) &&
        !sl_choose_on(&scratch, &ask, &assignment, &result->verdict)) {
        char why[256] = ": ";
        sl_verdict_text(&result->verdict, &ask, pod->malformed, why + 2, sizeof(why) - 2);
        sl_refuse_node(result, SL_BIND_NO_ROOM, bind, why);
        return false;
    }
    const struct sl_pod *equal =
        store->one_equal_share ? sl_equal_share(store, view, &ask, &assignment) : NULL;
    if (equal != NULL) {
        char why[256];
        snprintf(why, sizeof(why),
                 ": waits for gpushare's device plugin to take pod %s/%.100s, which asks for as "
                 "much of another GPU",
                 equal->namespace, equal->name);
        sl_refuse_node(result, SL_BIND_NO_ROOM, bind, why);
        return false;
    }
    if (sl_assignment_format(view->node, &ask, &assignment, result->assignment,
                             sizeof(result->assignment)) == 0) {
        result->assignment[0] = '\0';
        sl_refuse_node(result, SL_BIND_NO_ROOM, bind, ": the assignment is too long to be written");
        return false;
    }
    return true;
}

static struct sl_reservation *reservation_new(struct sl_store *store, struct sl_entry *entry,
                                              const struct sl_home *home, const char *assignment)
{
    struct sl_reservation *reservation = calloc(1, sizeof(*reservation));
    if (reservation == NULL) {
        return NULL;
    }
    const struct sl_pod *pod = entry->state.pod;
    reservation->entry = entry;
    reservation->bound = sl_pod_bound_to(pod, home->name, assignment, pod->phase);
    if (reservation->bound == NULL) {
        free(reservation);
        return NULL;
    }
    (void)sl_wants_pin(&store->wants, reservation->bound); /* the pod's own pin has made the rows */
    return reservation;
}

/* -1: out of memory, nothing is changed. A claim that the pod had is given back. */
static int take(struct sl_store *store, struct sl_entry *entry, struct sl_home *home,
                struct sl_reservation *reservation)
{
    const struct sl_state old = entry->state;
    const struct sl_state next = {old.pod, reservation, home};
    uint64_t generation = store->generation;
    sl_entry_apply(store, entry, &next);
    if (sl_store_settle(store) < 0) {
        sl_entry_apply(store, entry, &old);
        store->generation = generation;
        sl_state_drop(store, &next, &old);
        return -1;
    }
    sl_state_drop(store, &old, &next);
    return 0;
}

bool sl_bind_take(struct sl_store *store, struct sl_entry *entry, struct sl_home *home, bool claim,
                  int64_t now_us, struct sl_bind_result *result)
{
    struct sl_reservation *reservation = reservation_new(store, entry, home, result->assignment);
    bool had_claim = sl_state_claimed(&entry->state);
    if (reservation != NULL) {
        reservation->claim = claim;
        if (__builtin_add_overflow(now_us, store->limits.reservation_us,
                                   &reservation->expires_us)) {
            reservation->expires_us = INT64_MAX;
        }
    }
    if (reservation == NULL || take(store, entry, home, reservation) < 0) {
        result->assignment[0] = '\0';
        sl_refuse_memory(result);
        return false;
    }
    result->code = SL_BIND_RESERVED;
    result->claimed = had_claim;
    return true;
}

struct sl_home *sl_bind_home(struct sl_store *store, const struct sl_bind *bind,
                             struct sl_bind_result *result)
{
    struct sl_home *home = sl_home_find(store, bind->node);
    if (home == NULL || home->node == NULL) {
        sl_refuse_node(result, SL_BIND_UNKNOWN_NODE, bind, " is not known");
        return NULL;
    }
    if (sl_home_refresh(store, home) < 0) {
        sl_refuse_memory(result);
        return NULL;
    }
    return home;
}

static void reserve(struct sl_store *store, const struct sl_bind *bind,
                    struct sl_bind_result *result)
{
    struct sl_entry *entry = sl_entry_find(store, bind->ns, bind->name);
    if (!may_reserve(store, entry, bind, result)) {
        return;
    }
    struct sl_home *home = sl_bind_home(store, bind, result);
    if (home != NULL && choose(store, home->box->view, entry, bind, result)) {
        (void)sl_bind_take(store, entry, home, false, bind->now_us, result);
    }
}

void sl_store_reserve(struct sl_store *store, struct sl_str ns, struct sl_str name,
                      struct sl_str uid, struct sl_str node, int64_t now_us,
                      struct sl_bind_result *result)
{
    const struct sl_bind bind = {ns, name, uid, node, now_us};
    result->claimed = false;
    result->verdict = (struct sl_verdict){0};
    result->assignment[0] = '\0';
    result->text[0] = '\0';
    pthread_mutex_lock(&store->lock);
    size_t lapsed = sl_ledger_lapse(store, now_us);
    reserve(store, &bind, result);
    if (result->code == SL_BIND_NO_ROOM || result->code == SL_BIND_OTHER_NODE) {
        store->stats.conflicts++;
    } else if (result->code == SL_BIND_FULL) {
        store->stats.limit_hits++;
    }
    if (lapsed > 0) {
        (void)sl_store_settle(store); /* without memory a later call publishes it */
    }
    pthread_mutex_unlock(&store->lock);
}
