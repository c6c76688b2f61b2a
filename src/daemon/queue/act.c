/* Carries out a plan: nominations in the store, releases, expiries. On the queue's thread, with
 * plan held. */
#include "daemon/queue/act.h"

#include <stdio.h>
#include <stdlib.h>

#include "daemon/queue/report.h"
#include "daemon/queue/tell.h"
#include "daemon/queue/worker.h"
#include "util/log.h"
#include "util/time.h"

/* Enforces the timeout by which the pod was ordered, even if its owner changes it before the
 * release has ended. */
static void note_deadline(struct sl_queue_entry *entry)
{
    entry->deadline_s = entry->pod->has_deadline ? 0 : entry->pod->timeout_s;
}

/* Sets the pod's devices aside. True also if it is being bound already. */
static bool devices_nominate(struct sl_queue_worker *worker, const struct sl_queue_entry *entry,
                             const struct sl_plan_action *action, bool *bound)
{
    struct sl_bind_result result;
    sl_store_nominate(worker->options.store, sl_str_of(entry->uid), sl_str_of(action->node),
                      sl_str_of(action->assignment), &result);
    *bound = result.code == SL_BIND_ALREADY || result.code == SL_BIND_IN_PROGRESS ||
             result.code == SL_BIND_OTHER_NODE;
    return *bound || result.code == SL_BIND_RESERVED;
}

static void act_nominate(struct sl_queue_worker *worker, struct sl_queue_entry *entry,
                         const struct sl_plan_action *action)
{
    bool bound = false;
    free(entry->node);
    entry->node = strdup(action->node);
    entry->failed = entry->node == NULL || !devices_nominate(worker, entry, action, &bound);
    entry->release = !bound && !entry->failed;
    (void)pthread_mutex_lock(&worker->status);
    worker->counts.refused += entry->failed ? 1 : 0;
    if (!entry->failed && entry->told_start_us > 0) {
        int64_t off_us = worker->now_us - entry->told_start_us;
        sl_histogram_observe(&worker->times.error, off_us < 0 ? -off_us : off_us);
    }
    (void)pthread_mutex_unlock(&worker->status);
    note_deadline(entry);
    sl_queue_nominated(worker, entry, worker->now_us);
    sl_log_pod(entry->failed ? SL_LOG_WARN : SL_LOG_INFO, sl_str_of(entry->pod->namespace),
               sl_str_of(entry->pod->name),
               entry->failed ? "nomination refused by the ledger" : "pod nominated", "node",
               action->node, "assignment", action->assignment, "#waitedSeconds",
               SL_LOG_NUMBER((worker->now_us - entry->pod->created_us) / SL_SECOND_US),
               (char *)NULL);
}

static void act_expire(struct sl_queue_worker *worker, struct sl_queue_entry *entry,
                       const struct sl_plan_action *action)
{
    bool given_back = sl_store_withdraw(worker->options.store, sl_str_of(entry->uid));
    bool in_time = action->reason != SL_HOLD_EXPIRED;
    sl_queue_note_try(worker, entry, in_time ? SL_QUEUE_TRY_WITHDRAWN : SL_QUEUE_TRY_EXPIRED, NULL);
    sl_queue_withdraw(worker, entry);
    free(entry->left);
    entry->left = entry->node;
    entry->node = NULL;
    entry->again = false;
    entry->reason = action->reason;
    sl_log_pod_share(SL_LOG_INFO, sl_str_of(entry->pod->namespace), sl_str_of(entry->pod->name),
                     "nomination expired", "node", entry->left, "reason",
                     sl_hold_reason_name(action->reason), (char *)NULL);
    entry->expired = given_back || in_time;
    (void)pthread_mutex_lock(&worker->status);
    worker->counts.withdrawn += in_time;
    (void)pthread_mutex_unlock(&worker->status);
}

void sl_queue_act(void *context, const struct sl_plan_action *action)
{
    struct sl_queue_worker *worker = context;
    struct sl_queue_entry *entry = sl_queue_find(worker, sl_str_of(action->pod->uid));
    if (entry == NULL) {
        return;
    }
    switch (action->kind) {
    case SL_PLAN_NOMINATE:
        act_nominate(worker, entry, action);
        break;
    case SL_PLAN_EXPIRE:
        act_expire(worker, entry, action);
        break;
    case SL_PLAN_RELEASE:
        entry->nomination = ++worker->last_nomination;
        entry->nominated_us = worker->now_us;
        entry->release = true;
        note_deadline(entry);
        sl_queue_set_state(worker, entry, SL_QUEUE_RELEASED);
        break;
    case SL_PLAN_REFUSE:
        entry->refused = true;
        sl_queue_set_state(worker, entry, SL_QUEUE_REFUSED);
        sl_log_pod_share(SL_LOG_INFO, sl_str_of(entry->pod->namespace), sl_str_of(entry->pod->name),
                         "pod refused", "reason", sl_hold_reason_name(action->reason),
                         (char *)NULL);
        break;
    }
    if (!entry->listed) {
        entry->listed = true;
        entry->todo = worker->todo;
        worker->todo = entry;
    }
}

/* ---- releases ---- */

/* kube-scheduler needs no name on the pod, as filter passes the nominated node alone. A name saves
 * it the search, which only in a large cluster costs more than writing the name. A name that stands
 * on the pod, or may, has to be replaced: kube-scheduler tries that node first. The same patch ends
 * the pod's condition. */
static bool is_named(const struct sl_queue_worker *worker, const struct sl_queue_entry *entry)
{
    bool large = worker->snapshot == NULL ||
                 worker->snapshot->n_nodes >= (size_t)worker->config.queue.nominate_from;
    return large || entry->named || entry->pod->nominated != NULL || sl_queue_stands(entry);
}

static struct sl_release release_of(const struct sl_queue_worker *worker,
                                    const struct sl_queue_entry *entry)
{
    const struct sl_pod *pod = entry->pod;
    bool goes_there = entry->state != SL_QUEUE_RELEASED && entry->node != NULL;
    const char *node = goes_there && is_named(worker, entry) ? entry->node : "";
    return (struct sl_release){
        .namespace = sl_str_of(pod->namespace),
        .name = sl_str_of(pod->name),
        .uid = sl_str_of(pod->uid),
        .node = sl_str_of(node),
        .deadline_s = entry->deadline_s,
        .leadership = worker->leadership,
        .gated = pod->gate != SL_GATE_NONE,
        .queued = sl_queue_stands(entry),
        .nominated =
            !entry->withdrawn && pod->nominated != NULL && strcmp(pod->nominated, node) == 0,
    };
}

static void pod_release(struct sl_queue_worker *worker, struct sl_queue_entry *entry)
{
    const struct sl_queue_worker_options *options = &worker->options;
    size_t len = strlen(entry->uid);
    if (options->release == NULL) {
        return;
    }
    struct sl_queue_call *call = entry->call == NULL ? calloc(1, sizeof(*call) + len + 1) : NULL;
    if (call == NULL) { /* an earlier release has to end first, or there is no memory */
        entry->again = true;
        worker->again = true;
        return;
    }
    const struct sl_release wanted = release_of(worker, entry);
    memcpy(call->uid, entry->uid, len);
    call->worker = worker;
    call->nomination = entry->nomination;
    (void)snprintf(call->namespace, sizeof(call->namespace), "%s", entry->pod->namespace);
    entry->call = call;
    entry->named = entry->named || wanted.node.len > 0;
    if (wanted.node.len > 0 && !wanted.nominated) {
        sl_queue_show_ended(entry);
    }
    options->release(options->context, &wanted, sl_queue_released, call);
}

static void nomination_withdraw(struct sl_queue_worker *worker, struct sl_queue_entry *entry,
                                const char *node)
{
    const struct sl_queue_worker_options *options = &worker->options;
    if (options->withdraw == NULL || (!entry->named && entry->pod->nominated == NULL)) {
        return;
    }
    struct sl_release wanted = release_of(worker, entry);
    wanted.node = sl_str_of(node);
    options->withdraw(options->context, &wanted);
    entry->withdrawn = true;
}

/* A new nomination of the pod replaces the expired one on the API server. */
static void expiry_follow_up(struct sl_queue_worker *worker, struct sl_queue_entry *entry)
{
    bool replaced = entry->release && !entry->failed;
    if (entry->left != NULL && entry->call == NULL && !replaced) {
        nomination_withdraw(worker, entry, entry->left);
    }
    sl_queue_tell_expiry(worker, entry);
}

/* An earlier leader may have ended between nominating the pod and opening its gate. kube-scheduler
 * counts a gated pod's nomination against other pods too, so that it must be withdrawn. */
void sl_queue_note_nomination(struct sl_queue_worker *worker, struct sl_queue_entry *entry)
{
    entry->stray =
        entry->call == NULL && entry->pod->gate == SL_GATE_OURS && entry->pod->nominated != NULL;
    worker->stray = worker->stray || entry->stray;
}

static void withdraw_strays(struct sl_queue_worker *worker)
{
    size_t at = 0;
    worker->stray = false;
    for (struct sl_queue_entry *entry = sl_map_next(&worker->entries, &at); entry != NULL;
         entry = sl_map_next(&worker->entries, &at)) {
        if (entry->stray && entry->state != SL_QUEUE_NOMINATED &&
            entry->state != SL_QUEUE_RELEASED) {
            nomination_withdraw(worker, entry, entry->pod->nominated);
        }
        entry->stray = false;
    }
}

bool sl_queue_follow_up(struct sl_queue_worker *worker, int64_t now_us)
{
    bool again = false;
    unsigned told = 0;
    struct sl_queue_entry *entry = worker->todo;
    worker->todo = NULL;
    while (entry != NULL) {
        struct sl_queue_entry *next = entry->todo;
        entry->todo = NULL;
        entry->listed = false;
        if (entry->expired) {
            expiry_follow_up(worker, entry);
        }
        if (entry->failed) {
            entry->again = false;
            sl_queue_note_try(worker, entry, SL_QUEUE_TRY_REFUSED, NULL);
            sl_queue_withdraw(worker, entry);
            sl_planner_failed(worker->planner, sl_str_of(entry->uid), now_us);
            again = true;
        } else if (entry->release) {
            pod_release(worker, entry);
        }
        if (entry->refused && told < SL_QUEUE_TOLD) {
            sl_queue_tell_one(worker, entry, now_us);
            told++;
        }
        if (entry->refused) {
            worker->untold++; /* later, with all */
        }
        entry->expired = false;
        entry->failed = false;
        entry->release = false;
        entry = next;
    }
    if (worker->stray) {
        withdraw_strays(worker);
    }
    return again;
}

void sl_queue_deny(struct sl_queue_worker *worker, struct sl_queue_entry *entry, const char *why,
                   int64_t now_us)
{
    bool nominated = entry->state == SL_QUEUE_NOMINATED;
    (void)sl_store_withdraw(worker->options.store, sl_str_of(entry->uid));
    sl_planner_denied(worker->planner, sl_str_of(entry->uid), now_us);
    sl_queue_note_try(worker, entry, SL_QUEUE_TRY_RELEASE_REFUSED, why);
    sl_queue_withdraw(worker, entry);
    sl_queue_set_state(worker, entry, SL_QUEUE_HELD);
    entry->nomination = 0;
    entry->again = false;
    if (nominated && entry->node != NULL) {
        nomination_withdraw(worker, entry, entry->node);
    }
    free(entry->node);
    entry->node = NULL;
    sl_queue_tell_denied(worker, entry, why);
}

void sl_queue_release_again(struct sl_queue_worker *worker)
{
    size_t at = 0;
    worker->again = false;
    for (struct sl_queue_entry *entry = sl_map_next(&worker->entries, &at); entry != NULL;
         entry = sl_map_next(&worker->entries, &at)) {
        if (entry->again) {
            entry->again = false;
            pod_release(worker, entry);
        }
    }
}
