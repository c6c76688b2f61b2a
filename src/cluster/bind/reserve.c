/* Reserving: chooses and takes devices for a pod whose binding is on its way. */
#include <stdio.h>

#include "cluster/bind/equal_share.h"
#include "cluster/bind/nominees.h"
#include "cluster/bind/outcome.h"
#include "cluster/bind/take.h"
#include "cluster/publish/snapshot.h"
#include "cluster/state/state.h"
#include "sliced/preempt.h"

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
    [SL_BIND_NOT_NOMINATED] = "NotNominated",
};

const char *sl_bind_code_name(enum sl_bind_code code)
{
    return (size_t)code < sizeof(code_names) / sizeof(code_names[0]) ? code_names[code] : "Unknown";
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

/* Takes the devices of the pod's own nomination, if they are free: scratch is the nominated node
 * without it. */
static bool nominated_devices_take(struct sl_scratch *scratch, const struct sl_ask *ask,
                                   const char *nominated, struct sl_assignment *out)
{
    return nominated != NULL &&
           sl_assignment_parse(scratch->view->node, ask, sl_str_of(nominated), out) &&
           sl_scratch_take_exactly(scratch, ask, out);
}

/* Takes the pod's nomination out of the scratch of its node. Returns the nomination's assignment,
 * NULL when the pod has none there. */
static const char *own_nomination(const struct sl_entry *entry, struct sl_scratch *scratch)
{
    const struct sl_view *view = scratch->view;
    if (!sl_state_nominated(&entry->state)) {
        return NULL;
    }
    const struct sl_pod *bound = entry->state.reservation->bound;
    for (uint32_t i = 0; i < view->n_residents; i++) {
        if (view->resident[i].pod == bound) {
            sl_scratch_remove(scratch, i);
            scratch->returning = true;
            return bound->assignment;
        }
    }
    return NULL;
}

/* Chooses devices beside the room of nominees. */
static bool choose_beside(const struct sl_store *store, struct sl_scratch *scratch,
                          const struct sl_pod *pod, const struct sl_ask *ask,
                          struct sl_assignment *assignment, struct sl_verdict *verdict)
{
    struct sl_pod *nominee[SL_NOMINEES_MAX];
    size_t n = sl_nominees_list(store, pod, scratch->view->node->name, nominee);
    return n > 0 ? sl_choose_beside(scratch->view, nominee, n, ask, assignment, verdict)
                 : sl_choose_on(scratch, ask, assignment, verdict);
}

/* Chooses devices; result->assignment gets them as text. False: the result says why not. */
static bool devices_choose(const struct sl_store *store, const struct sl_view *view,
                           const struct sl_entry *entry, const struct sl_bind *bind,
                           struct sl_bind_result *result)
{
    struct sl_ask ask;
    struct sl_scratch scratch;
    struct sl_assignment assignment = {0};
    const struct sl_pod *pod = entry->state.pod;
    sl_pod_ask(pod, &ask);
    sl_scratch_init(&scratch, view);
    const char *nominated = own_nomination(entry, &scratch);
    bool own = nominated_devices_take(&scratch, &ask, nominated, &assignment);
    scratch.returning = false;
    if (!own && !choose_beside(store, &scratch, pod, &ask, &assignment, &result->verdict)) {
        char why[256] = ": ";
        sl_verdict_text(&result->verdict, &ask, pod->malformed, why + 2, sizeof(why) - 2);
        sl_refuse_node(result, SL_BIND_NO_ROOM, bind, why);
        return false;
    }
    const struct sl_pod *equal =
        store->one_equal_share ? sl_equal_share(store, view, &ask, &assignment) : NULL;
    if (equal != NULL) {
        char why[256];
        (void)snprintf(
            why, sizeof(why),
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

static void reserve_pod(struct sl_store *store, const struct sl_bind *bind,
                        struct sl_bind_result *result)
{
    struct sl_entry *entry = sl_entry_find(store, bind->ns, bind->name);
    if (!may_reserve(store, entry, bind, result)) {
        return;
    }
    struct sl_host_entry *host = sl_bind_host(store, bind, result);
    if (host != NULL && devices_choose(store, host->shown->view, entry, bind, result)) {
        (void)sl_bind_take(store, entry, host, false, bind->now_us, result);
    }
}

void sl_store_reserve(struct sl_store *store, struct sl_str ns, struct sl_str name,
                      struct sl_str uid, struct sl_str node, int64_t now_us,
                      struct sl_bind_result *result)
{
    const struct sl_bind bind = {ns, name, uid, node, now_us};
    result->nominated = false;
    result->verdict = (struct sl_verdict){0};
    result->assignment[0] = '\0';
    result->text[0] = '\0';
    (void)pthread_mutex_lock(&store->lock);
    size_t expired = sl_ledger_expire(store, now_us);
    reserve_pod(store, &bind, result);
    if (result->code == SL_BIND_NO_ROOM || result->code == SL_BIND_OTHER_NODE) {
        store->stats.conflicts++;
    } else if (result->code == SL_BIND_FULL) {
        store->stats.limit_hits++;
    }
    if (expired > 0) {
        (void)sl_store_settle(store); /* without memory a later call publishes it */
    }
    (void)pthread_mutex_unlock(&store->lock);
}
