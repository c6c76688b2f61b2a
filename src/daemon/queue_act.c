/* Doing what a plan says: claims in the store, releases, lapses. On the queue's thread, with plan
 * held. */
#include <stdlib.h>

#include "daemon/queue_internal.h"

/* What it was ordered by is enforced, though its owner states another timeout before the release
 * is through. */
static void note_deadline(struct sl_queue_entry *entry)
{
    entry->deadline_s = entry->pod->has_deadline ? 0 : entry->pod->timeout_s;
}

/* Its devices are set aside, or it is being bound already. */
static bool claim(struct sl_queuer *queuer, const struct sl_queue_entry *entry,
                  const struct sl_plan_action *action, bool *bound)
{
    struct sl_bind_result result;
    sl_store_claim(queuer->options.store, sl_str_of(entry->uid), sl_str_of(action->node),
                   sl_str_of(action->assignment), &result);
    *bound = result.code == SL_BIND_ALREADY || result.code == SL_BIND_IN_PROGRESS ||
             result.code == SL_BIND_OTHER_NODE;
    return *bound || result.code == SL_BIND_RESERVED;
}

static void act_claim(struct sl_queuer *queuer, struct sl_queue_entry *entry,
                      const struct sl_plan_action *action)
{
    bool bound = false;
    free(entry->node);
    entry->node = strdup(action->node);
    entry->failed = entry->node == NULL || !claim(queuer, entry, action, &bound);
    entry->release = !bound && !entry->failed;
    (void)pthread_mutex_lock(&queuer->status);
    queuer->counts.refused += entry->failed ? 1 : 0;
    if (!entry->failed && entry->told_start_us > 0) {
        int64_t off_us = queuer->now_us - entry->told_start_us;
        sl_queue_note_error(&queuer->counts, off_us < 0 ? -off_us : off_us);
    }
    (void)pthread_mutex_unlock(&queuer->status);
    note_deadline(entry);
    sl_queue_claimed(queuer, entry, queuer->now_us);
}

static void act_lapse(struct sl_queuer *queuer, struct sl_queue_entry *entry,
                      const struct sl_plan_action *action)
{
    bool given_back = sl_store_unclaim(queuer->options.store, sl_str_of(entry->uid));
    sl_queue_unclaim(queuer, entry);
    free(entry->left);
    entry->left = entry->node;
    entry->node = NULL;
    entry->again = false;
    entry->reason = action->reason;
    entry->lapsed = given_back || action->reason != SL_HOLD_LAPSED;
    if (action->reason == SL_HOLD_LAPSED) {
        (void)pthread_mutex_lock(&queuer->status);
        sl_pace_lapse(&queuer->pace);
        (void)pthread_mutex_unlock(&queuer->status);
    }
}

void sl_queue_act(void *context, const struct sl_plan_action *action)
{
    struct sl_queuer *queuer = context;
    struct sl_queue_entry *entry = sl_queue_find(queuer, sl_str_of(action->pod->uid));
    if (entry == NULL) {
        return;
    }
    switch (action->kind) {
    case SL_PLAN_CLAIM:
        act_claim(queuer, entry, action);
        break;
    case SL_PLAN_LAPSE:
        act_lapse(queuer, entry, action);
        break;
    case SL_PLAN_RELEASE:
        entry->claim = ++queuer->last_claim;
        entry->release = true;
        note_deadline(entry);
        sl_queue_set_state(queuer, entry, SL_QUEUE_RELEASED);
        break;
    case SL_PLAN_REFUSE:
        entry->refused = true;
        sl_queue_set_state(queuer, entry, SL_QUEUE_REFUSED);
        break;
    }
    if (!entry->listed) {
        entry->listed = true;
        entry->todo = queuer->todo;
        queuer->todo = entry;
    }
}

/* ---- releases ---- */

static struct sl_release release_of(const struct sl_queuer *queuer,
                                    const struct sl_queue_entry *entry)
{
    const struct sl_pod *pod = entry->pod;
    const char *node = entry->state == SL_QUEUE_RELEASED || entry->node == NULL ? "" : entry->node;
    return (struct sl_release){
        .namespace = sl_str_of(pod->namespace),
        .name = sl_str_of(pod->name),
        .uid = sl_str_of(pod->uid),
        .node = sl_str_of(node),
        .deadline_s = entry->deadline_s,
        .term = queuer->term,
        .gated = pod->gate != SL_GATE_NONE,
        .nominated =
            !entry->withdrawn && pod->nominated != NULL && strcmp(pod->nominated, node) == 0,
    };
}

static void release(struct sl_queuer *queuer, struct sl_queue_entry *entry)
{
    const struct sl_queuer_options *options = &queuer->options;
    size_t len = strlen(entry->uid);
    if (options->release == NULL) {
        return;
    }
    struct sl_queue_call *call = entry->call == NULL ? calloc(1, sizeof(*call) + len + 1) : NULL;
    if (call == NULL) { /* that of an earlier claim has to end first, or there is no memory */
        entry->again = true;
        queuer->again = true;
        return;
    }
    const struct sl_release wanted = release_of(queuer, entry);
    memcpy(call->uid, entry->uid, len);
    call->queuer = queuer;
    call->claim = entry->claim;
    call->space = sl_hash(wanted.namespace.s, wanted.namespace.len);
    entry->call = call;
    options->release(options->context, &wanted, sl_queue_released, call);
}

static void withdraw(struct sl_queuer *queuer, struct sl_queue_entry *entry, const char *node)
{
    const struct sl_queuer_options *options = &queuer->options;
    if (options->withdraw == NULL) {
        return;
    }
    struct sl_release wanted = release_of(queuer, entry);
    wanted.node = sl_str_of(node);
    options->withdraw(options->context, &wanted);
    entry->withdrawn = true;
    (void)pthread_mutex_lock(&queuer->status);
    queuer->counts.withdrawn++;
    (void)pthread_mutex_unlock(&queuer->status);
}

/* Where it has another claim at once, that nomination replaces this one. */
static void take_back(struct sl_queuer *queuer, struct sl_queue_entry *entry)
{
    bool replaced = entry->release && !entry->failed;
    if (entry->left != NULL && entry->call == NULL && !replaced) {
        withdraw(queuer, entry, entry->left);
    }
    sl_queue_tell_lapse(queuer, entry);
}

/* A leader before this one may have ended between nomination and gate. kube-scheduler counts the
 * nomination against others, behind a gate too, so it has to go where the pod has to wait. */
void sl_queue_note_nomination(struct sl_queuer *queuer, struct sl_queue_entry *entry)
{
    entry->stray =
        entry->call == NULL && entry->pod->gate == SL_GATE_OURS && entry->pod->nominated != NULL;
    queuer->stray = queuer->stray || entry->stray;
}

static void withdraw_strays(struct sl_queuer *queuer)
{
    size_t at = 0;
    queuer->stray = false;
    for (struct sl_queue_entry *entry = sl_map_next(&queuer->entries, &at); entry != NULL;
         entry = sl_map_next(&queuer->entries, &at)) {
        if (entry->stray && entry->state != SL_QUEUE_CLAIMED && entry->state != SL_QUEUE_RELEASED) {
            withdraw(queuer, entry, entry->pod->nominated);
        }
        entry->stray = false;
    }
}

bool sl_queue_follow_up(struct sl_queuer *queuer, int64_t now_us)
{
    bool again = false;
    unsigned told = 0;
    struct sl_queue_entry *entry = queuer->todo;
    queuer->todo = NULL;
    while (entry != NULL) {
        struct sl_queue_entry *next = entry->todo;
        entry->todo = NULL;
        entry->listed = false;
        if (entry->lapsed) {
            take_back(queuer, entry);
        }
        if (entry->failed) {
            entry->again = false;
            sl_queue_unclaim(queuer, entry);
            sl_planner_failed(queuer->planner, sl_str_of(entry->uid), now_us);
            again = true;
        } else if (entry->release) {
            release(queuer, entry);
        }
        if (entry->refused && told < SL_QUEUE_TOLD) {
            sl_queue_tell_one(queuer, entry, now_us);
            told++;
        }
        if (entry->refused) {
            queuer->untold++; /* later, with all */
        }
        entry->lapsed = false;
        entry->failed = false;
        entry->release = false;
        entry = next;
    }
    if (queuer->stray) {
        withdraw_strays(queuer);
    }
    return again;
}

void sl_queue_deny(struct sl_queuer *queuer, struct sl_queue_entry *entry, const char *why,
                   int64_t now_us)
{
    bool claimed = entry->state == SL_QUEUE_CLAIMED;
    (void)sl_store_unclaim(queuer->options.store, sl_str_of(entry->uid));
    sl_planner_denied(queuer->planner, sl_str_of(entry->uid), now_us);
    sl_queue_unclaim(queuer, entry);
    sl_queue_set_state(queuer, entry, SL_QUEUE_HELD);
    entry->claim = 0;
    entry->again = false;
    if (claimed && entry->node != NULL) {
        withdraw(queuer, entry, entry->node);
    }
    free(entry->node);
    entry->node = NULL;
    sl_queue_tell_denied(queuer, entry, why);
}

void sl_queue_release_again(struct sl_queuer *queuer)
{
    size_t at = 0;
    queuer->again = false;
    for (struct sl_queue_entry *entry = sl_map_next(&queuer->entries, &at); entry != NULL;
         entry = sl_map_next(&queuer->entries, &at)) {
        if (entry->again) {
            entry->again = false;
            release(queuer, entry);
        }
    }
}
