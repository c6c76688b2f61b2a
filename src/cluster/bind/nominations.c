/* Nominations: devices that the plan has set aside for a pod whose turn has come. */
#include "cluster/bind/nominations.h"

#include <stdio.h>

#include "cluster/bind/take.h"
#include "cluster/publish/snapshot.h"
#include "cluster/state/state.h"

void sl_nominations_leave(struct sl_store *store, struct sl_host_entry *host)
{
    struct sl_link *at = host->pods.first;
    while (at != NULL) {
        struct sl_entry *entry = SL_CONTAINER(at, struct sl_entry, on_host);
        at = at->next;
        if (sl_state_nominated(&entry->state)) {
            sl_entry_give_back(store, entry);
        }
    }
}

/* False: the result says why not. */
static bool may_nominate(const struct sl_entry *entry, const struct sl_bind *bind,
                         struct sl_bind_result *result)
{
    const struct sl_pod *pod = entry->state.pod;
    if (sl_pod_has_node(pod) || sl_state_reserved(&entry->state)) {
        sl_refuse_standing(entry, bind, result);
        return false;
    }
    if (sl_state_nominated(&entry->state)) {
        sl_refuse_pod(result, SL_BIND_NOT_NOMINATED, bind, "has a nomination on node %s",
                      entry->state.reservation->bound->node);
        return false;
    }
    if (sl_pod_finished(pod) || pod->deleting) {
        sl_refuse_pod(result, SL_BIND_FINISHED, bind, "%s",
                      pod->deleting ? "is being deleted" : "has ended");
        return false;
    }
    if (pod->malformed != NULL) {
        sl_refuse_pod(result, SL_BIND_NOT_NOMINATED, bind, "is malformed: %s", pod->malformed);
        return false;
    }
    return true;
}

/* Are the devices that the text names free? Writes them to result->assignment in canonical form. */
static bool nomination_fits(const struct sl_view *view, const struct sl_pod *pod,
                            struct sl_str text, const struct sl_bind *bind,
                            struct sl_bind_result *result)
{
    struct sl_ask ask;
    struct sl_scratch scratch;
    struct sl_assignment assignment;
    sl_pod_ask(pod, &ask);
    sl_scratch_init(&scratch, view);
    if (!sl_assignment_parse(view->node, &ask, text, &assignment)) {
        sl_refuse_node(result, SL_BIND_NOT_NOMINATED, bind,
                       ": it has no such devices to be nominated");
        return false;
    }
    if (!sl_scratch_take_exactly(&scratch, &ask, &assignment) ||
        sl_assignment_format(view->node, &ask, &assignment, result->assignment,
                             sizeof(result->assignment)) == 0) {
        result->assignment[0] = '\0';
        sl_refuse_node(result, SL_BIND_NOT_NOMINATED, bind, ": the devices are not free any more");
        return false;
    }
    return true;
}

static void nominate_pod(struct sl_store *store, struct sl_bind *bind, struct sl_str assignment,
                         struct sl_bind_result *result)
{
    struct sl_entry *entry = sl_entry_find_uid(store, bind->uid);
    if (entry == NULL) {
        result->code = SL_BIND_UNKNOWN_POD;
        (void)snprintf(result->text, sizeof(result->text), "no pod with the UID %.*s is known",
                       bind->uid.len < 128 ? (int)bind->uid.len : 128, bind->uid.s);
        return;
    }
    bind->ns = sl_str_of(entry->state.pod->namespace);
    bind->name = sl_str_of(entry->state.pod->name);
    if (!may_nominate(entry, bind, result)) {
        return;
    }
    struct sl_host_entry *host = sl_bind_host(store, bind, result);
    if (host != NULL &&
        nomination_fits(host->shown->view, entry->state.pod, assignment, bind, result)) {
        (void)sl_bind_take(store, entry, host, true, 0, result);
    }
}

void sl_store_nominate(struct sl_store *store, struct sl_str uid, struct sl_str node,
                       struct sl_str assignment, struct sl_bind_result *result)
{
    struct sl_bind bind = {.uid = uid, .node = node};
    result->verdict = (struct sl_verdict){0};
    result->assignment[0] = '\0';
    result->text[0] = '\0';
    (void)pthread_mutex_lock(&store->lock);
    nominate_pod(store, &bind, assignment, result);
    (void)pthread_mutex_unlock(&store->lock);
}

bool sl_store_withdraw(struct sl_store *store, struct sl_str uid)
{
    (void)pthread_mutex_lock(&store->lock);
    struct sl_entry *entry = sl_entry_find_uid(store, uid);
    bool found = entry != NULL && sl_state_nominated(&entry->state);
    if (found) {
        sl_entry_give_back(store, entry);
        (void)sl_store_settle(store); /* without memory a later call publishes it */
    }
    (void)pthread_mutex_unlock(&store->lock);
    return found;
}

size_t sl_store_withdraw_all(struct sl_store *store)
{
    (void)pthread_mutex_lock(&store->lock);
    size_t n = store->n_nominated;
    while (store->nominations.first != NULL) {
        sl_entry_give_back(store, sl_reservation_first(&store->nominations)->entry);
    }
    (void)sl_store_settle(store); /* without memory a later call publishes it */
    (void)pthread_mutex_unlock(&store->lock);
    return n;
}

bool sl_store_nominated_node(struct sl_store *store, struct sl_str uid, char *out, size_t size)
{
    (void)pthread_mutex_lock(&store->lock);
    const struct sl_entry *entry = sl_entry_find_uid(store, uid);
    bool found = entry != NULL && sl_state_nominated(&entry->state);
    if (found) {
        (void)snprintf(out, size, "%s", entry->state.reservation->bound->node);
    }
    (void)pthread_mutex_unlock(&store->lock);
    return found;
}
