/* Reservations: devices chosen and taken for a pod whose binding is on its way. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cluster/internal.h"

static const char *const code_names[] = {
    [SL_BIND_RESERVED] = "Reserved",        [SL_BIND_ALREADY] = "Already",
    [SL_BIND_IN_PROGRESS] = "InProgress",   [SL_BIND_OTHER_NODE] = "OtherNode",
    [SL_BIND_UNKNOWN_POD] = "UnknownPod",   [SL_BIND_OTHER_UID] = "OtherUID",
    [SL_BIND_UNKNOWN_NODE] = "UnknownNode", [SL_BIND_NO_ROOM] = "NoRoom",
    [SL_BIND_FINISHED] = "Finished",        [SL_BIND_FULL] = "Full",
    [SL_BIND_NOMEM] = "NoMemory",           [SL_BIND_NOT_CLAIMED] = "NotClaimed",
};

const char *sl_bind_code_name(enum sl_bind_code code)
{
    return (size_t)code < sizeof(code_names) / sizeof(code_names[0]) ? code_names[code] : "Unknown";
}

/* What the scheduler asks for. */
struct bind {
    struct sl_str ns;
    struct sl_str name;
    struct sl_str uid;
    struct sl_str node;
    int64_t now_us;
};

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

static void give_back(struct sl_store *store, struct sl_entry *entry)
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
        give_back(store, store->oldest->entry);
        store->stats.lapses++;
        n++;
    }
    return n;
}

/* ---- reserve ---- */

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

/* "pod NS/NAME " and what is the matter with it. */
__attribute__((format(printf, 4, 5))) static void refuse_pod(struct sl_bind_result *result,
                                                             enum sl_bind_code code,
                                                             const struct bind *bind,
                                                             const char *format, ...)
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

static void refuse_node(struct sl_bind_result *result, enum sl_bind_code code,
                        const struct bind *bind, const char *why)
{
    result->code = code;
    int n = snprintf(result->text, sizeof(result->text), "node %.*s%s", (int)bind->node.len,
                     bind->node.s, why);
    trim(result->text, sizeof(result->text), n);
}

static void refuse_memory(struct sl_bind_result *result)
{
    result->code = SL_BIND_NOMEM;
    snprintf(result->text, sizeof(result->text), "out of memory, nothing was changed");
}

/* The pod is bound or reserved: success, or a refusal that changes nothing. */
static void answer_standing(const struct sl_entry *entry, const struct bind *bind,
                            struct sl_bind_result *result)
{
    const struct sl_pod *pod = sl_state_pod(&entry->state);
    bool reserved = entry->state.reservation != NULL;
    if (!sl_str_eq(sl_str_of(pod->node), bind->node)) {
        refuse_pod(result, SL_BIND_OTHER_NODE, bind, "is %s node %s, not %.*s",
                   reserved ? "being bound to" : "bound to", pod->node, (int)bind->node.len,
                   bind->node.s);
    } else if (reserved) {
        refuse_pod(result, SL_BIND_IN_PROGRESS, bind, "is being bound to node %s by another call",
                   pod->node);
    } else {
        result->code = SL_BIND_ALREADY;
        snprintf(result->assignment, sizeof(result->assignment), "%s",
                 pod->assignment == NULL ? "" : pod->assignment);
    }
}

/* True when the request names a pod that may be reserved now; else the result says why not. */
static bool may_reserve(const struct sl_store *store, const struct sl_entry *entry,
                        const struct bind *bind, struct sl_bind_result *result)
{
    if (entry == NULL) {
        refuse_pod(result, SL_BIND_UNKNOWN_POD, bind, "is not known");
        return false;
    }
    const struct sl_pod *pod = entry->state.pod;
    struct sl_str uid = sl_str_of(pod->uid);
    if (uid.len == 0 || !sl_str_eq(uid, bind->uid)) {
        refuse_pod(result, SL_BIND_OTHER_UID, bind, "has the UID \"%s\", not \"%.*s\"", pod->uid,
                   (int)bind->uid.len, bind->uid.s);
        return false;
    }
    if (sl_pod_has_node(pod) || entry->state.reservation != NULL) {
        answer_standing(entry, bind, result);
        return false;
    }
    if (sl_pod_finished(pod) || pod->deleting) {
        refuse_pod(result, SL_BIND_FINISHED, bind, "%s",
                   pod->deleting ? "is being deleted" : "has ended");
        return false;
    }
    if (store->n_reserved >= store->limits.max_reservations) {
        refuse_pod(result, SL_BIND_FULL, bind,
                   "must wait: %zu binds are under way, the maximum "
                   "(cluster.maxReservations)",
                   store->n_reserved);
        return false;
    }
    return true;
}

/* Chooses devices; result->assignment gets them as text. False: the result says why not. */
static bool choose(const struct sl_view *view, const struct sl_pod *pod, const struct bind *bind,
                   struct sl_bind_result *result)
{
    struct sl_ask ask;
    struct sl_assignment assignment = {0};
    sl_pod_ask(pod, &ask);
    if (!sl_choose(view, &ask, &assignment, &result->verdict)) {
        char why[256] = ": ";
        sl_verdict_text(&result->verdict, &ask, pod->malformed, why + 2, sizeof(why) - 2);
        refuse_node(result, SL_BIND_NO_ROOM, bind, why);
        return false;
    }
    if (sl_assignment_format(view->node, &ask, &assignment, result->assignment,
                             sizeof(result->assignment)) == 0) {
        result->assignment[0] = '\0';
        refuse_node(result, SL_BIND_NO_ROOM, bind, ": the assignment is too long to be written");
        return false;
    }
    return true;
}

static struct sl_reservation *reservation_new(struct sl_store *store, struct sl_entry *entry,
                                              const struct sl_home *home, const char *assignment,
                                              int64_t now_us)
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
    if (__builtin_add_overflow(now_us, store->limits.reservation_us, &reservation->expires_us)) {
        reservation->expires_us = INT64_MAX;
    }
    (void)sl_wants_pin(&store->wants, reservation->bound); /* the pod's own pin has made the rows */
    return reservation;
}

/* Makes the choice part of the state; -1: out of memory, nothing is changed. */
static int take(struct sl_store *store, struct sl_entry *entry, struct sl_home *home,
                const char *assignment, int64_t now_us)
{
    const struct sl_state old = entry->state;
    struct sl_state next = {old.pod, NULL, home};
    next.reservation = reservation_new(store, entry, home, assignment, now_us);
    if (next.reservation == NULL) {
        return -1;
    }
    uint64_t generation = store->generation;
    sl_entry_apply(store, entry, &next);
    if (sl_store_settle(store) < 0) {
        sl_entry_apply(store, entry, &old);
        store->generation = generation;
        sl_state_drop(store, &next, &old);
        return -1;
    }
    return 0;
}

static void reserve(struct sl_store *store, const struct bind *bind, struct sl_bind_result *result)
{
    struct sl_entry *entry = sl_entry_find(store, bind->ns, bind->name);
    if (!may_reserve(store, entry, bind, result)) {
        return;
    }
    struct sl_home *home = sl_home_find(store, bind->node);
    if (home == NULL || home->node == NULL) {
        refuse_node(result, SL_BIND_UNKNOWN_NODE, bind, " is not known");
        return;
    }
    if (sl_home_refresh(store, home) < 0) {
        refuse_memory(result);
        return;
    }
    if (!choose(home->box->view, entry->state.pod, bind, result)) {
        return;
    }
    if (take(store, entry, home, result->assignment, bind->now_us) < 0) {
        result->assignment[0] = '\0';
        refuse_memory(result);
        return;
    }
    result->code = SL_BIND_RESERVED;
}

void sl_store_reserve(struct sl_store *store, struct sl_str ns, struct sl_str name,
                      struct sl_str uid, struct sl_str node, int64_t now_us,
                      struct sl_bind_result *result)
{
    const struct bind bind = {ns, name, uid, node, now_us};
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

/* ---- how it ends ---- */

/* The pod as bound in that phase, pinned. Without memory for a copy the reservation's own serves:
 * same devices, and the API server's next word on the pod mends the rest. */
static struct sl_pod *committed_pod(struct sl_store *store, const struct sl_state *state,
                                    enum sl_pod_phase phase)
{
    const struct sl_reservation *reservation = state->reservation;
    struct sl_pod *pod = NULL;
    if (reservation->outdated || reservation->bound->phase != phase) {
        pod = sl_pod_bound_to(state->pod, reservation->bound->node, reservation->bound->assignment,
                              phase);
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
    if (entry != NULL && entry->state.reservation != NULL) {
        const struct sl_state old = entry->state;
        struct sl_state next = {committed_pod(store, &old, phase), NULL, NULL};
        next.home = sl_pod_holds(next.pod) ? old.home : NULL;
        sl_entry_apply(store, entry, &next);
        sl_wants_record(&store->wants, next.pod);
        store->stats.binds++;
        (void)sl_store_settle(store); /* without memory a later call publishes it */
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
    bool found = entry != NULL && entry->state.reservation != NULL;
    if (found) {
        give_back(store, entry);
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
