/* Claims: devices that the plan has set aside for a pod whose turn has come. */
#include <stdio.h>

#include "cluster/internal.h"

void sl_claims_add(struct sl_store *store, struct sl_reservation *claim)
{
    claim->prev = NULL;
    claim->next = store->claims;
    if (claim->next != NULL) {
        claim->next->prev = claim;
    }
    store->claims = claim;
    store->n_claimed++;
}

void sl_claims_remove(struct sl_store *store, struct sl_reservation *claim)
{
    if (claim->prev != NULL) {
        claim->prev->next = claim->next;
    } else {
        store->claims = claim->next;
    }
    if (claim->next != NULL) {
        claim->next->prev = claim->prev;
    }
    store->n_claimed--;
}

void sl_claims_leave(struct sl_store *store, struct sl_home *home)
{
    struct sl_entry *entry = home->pods.first;
    while (entry != NULL) {
        struct sl_entry *next = entry->link[SL_PLACE_HOME].next;
        if (sl_state_claimed(&entry->state)) {
            sl_entry_give_back(store, entry);
        }
        entry = next;
    }
}

/* False: the result says why not. */
static bool may_claim(const struct sl_entry *entry, const struct sl_bind *bind,
                      struct sl_bind_result *result)
{
    const struct sl_pod *pod = entry->state.pod;
    if (sl_pod_has_node(pod) || sl_state_reserved(&entry->state)) {
        sl_refuse_standing(entry, bind, result);
        return false;
    }
    if (sl_state_claimed(&entry->state)) {
        sl_refuse_pod(result, SL_BIND_NOT_CLAIMED, bind, "has a claim on node %s",
                      entry->state.reservation->bound->node);
        return false;
    }
    if (sl_pod_finished(pod) || pod->deleting) {
        sl_refuse_pod(result, SL_BIND_FINISHED, bind, "%s",
                      pod->deleting ? "is being deleted" : "has ended");
        return false;
    }
    if (pod->malformed != NULL) {
        sl_refuse_pod(result, SL_BIND_NOT_CLAIMED, bind, "is malformed: %s", pod->malformed);
        return false;
    }
    return true;
}

/* Are the devices that the text names free? result->assignment gets them as we write them. */
static bool read_claim(const struct sl_view *view, const struct sl_pod *pod, struct sl_str text,
                       const struct sl_bind *bind, struct sl_bind_result *result)
{
    struct sl_ask ask;
    struct sl_scratch scratch;
    struct sl_assignment assignment;
    sl_pod_ask(pod, &ask);
    sl_scratch_init(&scratch, view);
    if (!sl_assignment_parse(view->node, &ask, text, &assignment)) {
        sl_refuse_node(result, SL_BIND_NOT_CLAIMED, bind, ": it has no such devices to be claimed");
        return false;
    }
    if (!sl_scratch_take_exactly(&scratch, &ask, &assignment) ||
        sl_assignment_format(view->node, &ask, &assignment, result->assignment,
                             sizeof(result->assignment)) == 0) {
        result->assignment[0] = '\0';
        sl_refuse_node(result, SL_BIND_NOT_CLAIMED, bind, ": the devices are not free any more");
        return false;
    }
    return true;
}

static void claim(struct sl_store *store, struct sl_bind *bind, struct sl_str assignment,
                  struct sl_bind_result *result)
{
    struct sl_entry *entry = sl_entry_find_uid(store, bind->uid);
    if (entry == NULL) {
        result->code = SL_BIND_UNKNOWN_POD;
        snprintf(result->text, sizeof(result->text), "no pod with the UID %.*s is known",
                 bind->uid.len < 128 ? (int)bind->uid.len : 128, bind->uid.s);
        return;
    }
    bind->ns = sl_str_of(entry->state.pod->namespace);
    bind->name = sl_str_of(entry->state.pod->name);
    if (!may_claim(entry, bind, result)) {
        return;
    }
    struct sl_home *home = sl_bind_home(store, bind, result);
    if (home != NULL && read_claim(home->box->view, entry->state.pod, assignment, bind, result)) {
        (void)sl_bind_take(store, entry, home, true, 0, result);
    }
}

void sl_store_claim(struct sl_store *store, struct sl_str uid, struct sl_str node,
                    struct sl_str assignment, struct sl_bind_result *result)
{
    struct sl_bind bind = {.uid = uid, .node = node};
    result->verdict = (struct sl_verdict){0};
    result->assignment[0] = '\0';
    result->text[0] = '\0';
    pthread_mutex_lock(&store->lock);
    claim(store, &bind, assignment, result);
    pthread_mutex_unlock(&store->lock);
}

bool sl_store_unclaim(struct sl_store *store, struct sl_str uid)
{
    pthread_mutex_lock(&store->lock);
    struct sl_entry *entry = sl_entry_find_uid(store, uid);
    bool found = entry != NULL && sl_state_claimed(&entry->state);
    if (found) {
        sl_entry_give_back(store, entry);
        (void)sl_store_settle(store); /* without memory a later call publishes it */
    }
    pthread_mutex_unlock(&store->lock);
    return found;
}

size_t sl_store_unclaim_all(struct sl_store *store)
{
    pthread_mutex_lock(&store->lock);
    size_t n = store->n_claimed;
    while (store->claims != NULL) {
        sl_entry_give_back(store, store->claims->entry);
    }
    (void)sl_store_settle(store); /* without memory a later call publishes it */
    pthread_mutex_unlock(&store->lock);
    return n;
}

bool sl_store_claimed_node(struct sl_store *store, struct sl_str uid, char *out, size_t size)
{
    pthread_mutex_lock(&store->lock);
    const struct sl_entry *entry = sl_entry_find_uid(store, uid);
    bool found = entry != NULL && sl_state_claimed(&entry->state);
    if (found) {
        snprintf(out, size, "%s", entry->state.reservation->bound->node);
    }
    pthread_mutex_unlock(&store->lock);
    return found;
}
