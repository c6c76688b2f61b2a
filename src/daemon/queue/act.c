/* Carries out the engine's commands: nominations in the store, releases, expiries. On the queue's
 * thread, with plan held. */
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
                             const struct sl_engine_command *command, bool *bound)
{
    struct sl_bind_result result;
    sl_store_nominate(worker->options.store, sl_str_of(entry->uid), sl_str_of(command->node),
                      sl_str_of(command->assignment), &result);
    *bound = result.code == SL_BIND_ALREADY || result.code == SL_BIND_IN_PROGRESS ||
             result.code == SL_BIND_OTHER_NODE;
    return *bound || result.code == SL_BIND_RESERVED;
}

static bool act_nominate(struct sl_queue_worker *worker, struct sl_queue_entry *entry,
                         const struct sl_engine_command *command)
{
    free(entry->node);
    entry->node = strdup(command->node);
    bool done = entry->node != NULL && devices_nominate(worker, entry, command, command->bound);
    (void)pthread_mutex_lock(&worker->status);
    worker->counts.refused += !done;
    if (done && entry->told_start_us > 0) {
        int64_t off_us = worker->now_us - entry->told_start_us;
        sl_histogram_observe(&worker->times.error, off_us < 0 ? -off_us : off_us);
    }
    (void)pthread_mutex_unlock(&worker->status);
    if (done) {
        sl_queue_tenant_nominated(worker, entry->pod->namespace, command->due_us);
    }
    note_deadline(entry);
    sl_queue_nominated(worker, entry, worker->now_us);
    sl_log_pod(
        done ? SL_LOG_INFO : SL_LOG_WARN, sl_str_of(entry->pod->namespace),
        sl_str_of(entry->pod->name), done ? "pod nominated" : "nomination refused by the ledger",
        "node", command->node, "assignment", command->assignment, "#waitedSeconds",
        SL_LOG_NUMBER((worker->now_us - entry->pod->created_us) / SL_SECOND_US), (char *)NULL);
    if (!done) {
        sl_queue_note_try(worker, entry, SL_QUEUE_TRY_REFUSED, NULL);
        sl_queue_withdraw(worker, entry);
    }
    return done;
}

static void leave_node(struct sl_queue_entry *entry)
{
    free(entry->left);
    entry->left = entry->node;
    entry->node = NULL;
}

static bool act_expire(struct sl_queue_worker *worker, struct sl_queue_entry *entry,
                       const struct sl_engine_command *command)
{
    bool given_back = sl_store_withdraw(worker->options.store, sl_str_of(entry->uid));
    bool in_time = command->reason != SL_HOLD_EXPIRED;
    sl_queue_note_try(worker, entry, in_time ? SL_QUEUE_TRY_WITHDRAWN : SL_QUEUE_TRY_EXPIRED, NULL);
    sl_queue_withdraw(worker, entry);
    leave_node(entry);
    entry->reason = command->reason;
    sl_log_pod_share(SL_LOG_INFO, sl_str_of(entry->pod->namespace), sl_str_of(entry->pod->name),
                     "nomination expired", "node", entry->left, "reason",
                     sl_hold_reason_name(command->reason), (char *)NULL);
    (void)pthread_mutex_lock(&worker->status);
    worker->counts.withdrawn += in_time;
    (void)pthread_mutex_unlock(&worker->status);
    if (given_back || in_time) {
        sl_queue_tell_expiry(worker, entry);
    }
    return given_back || in_time;
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

static bool act_release(struct sl_queue_worker *worker, struct sl_queue_entry *entry,
                        const struct sl_engine_command *command)
{
    const struct sl_queue_worker_options *options = &worker->options;
    size_t len = strlen(entry->uid);
    if (command->bare && entry->released != command->release) {
        entry->released = command->release;
        entry->nominated_us = worker->now_us;
        note_deadline(entry);
        sl_queue_set_state(worker, entry, SL_QUEUE_RELEASED);
    }
    if (options->release == NULL) {
        return true;
    }
    struct sl_queue_call *call = calloc(1, sizeof(*call) + len + 1);
    if (call == NULL) {
        return false;
    }
    const struct sl_release wanted = release_of(worker, entry);
    memcpy(call->uid, entry->uid, len);
    call->worker = worker;
    call->number = command->release;
    call->leaderships = atomic_load(&worker->leaderships);
    (void)snprintf(call->namespace, sizeof(call->namespace), "%s", entry->pod->namespace);
    entry->named = entry->named || wanted.node.len > 0;
    if (wanted.node.len > 0 && !wanted.nominated) {
        sl_queue_show_ended(entry);
    }
    options->release(options->releaser, &wanted, sl_queue_released, call);
    return true;
}

static void act_withdraw(struct sl_queue_worker *worker, struct sl_queue_entry *entry,
                         const struct sl_engine_command *command)
{
    const struct sl_queue_worker_options *options = &worker->options;
    const char *node = command->node != NULL ? command->node : entry->left;
    if (options->withdraw == NULL || node == NULL ||
        (!entry->named && entry->pod->nominated == NULL)) {
        return;
    }
    struct sl_release wanted = release_of(worker, entry);
    wanted.node = sl_str_of(node);
    options->withdraw(options->releaser, &wanted);
    entry->withdrawn = true;
}

static void act_refuse(struct sl_queue_worker *worker, struct sl_queue_entry *entry,
                       const struct sl_engine_command *command, int64_t now_us)
{
    entry->refused = true;
    sl_queue_set_state(worker, entry, SL_QUEUE_REFUSED);
    sl_log_pod_share(SL_LOG_INFO, sl_str_of(entry->pod->namespace), sl_str_of(entry->pod->name),
                     "pod refused", "reason", sl_hold_reason_name(command->reason), (char *)NULL);
    if (worker->refusals_left > 0) {
        worker->refusals_left--;
        sl_queue_tell_one(worker, entry, now_us);
    }
    worker->untold += entry->refused; /* later, with all */
}

bool sl_queue_act(void *context, const struct sl_engine_command *command)
{
    struct sl_queue_worker *worker = context;
    struct sl_queue_entry *entry = sl_queue_find(worker, sl_str_of(command->pod->uid));
    bool done = entry != NULL;
    switch (done ? command->kind : SL_DO_CUT_END) {
    case SL_DO_NOMINATE:
        done = act_nominate(worker, entry, command);
        break;
    case SL_DO_RELEASE:
        done = act_release(worker, entry, command);
        break;
    case SL_DO_EXPIRE:
        done = act_expire(worker, entry, command);
        break;
    case SL_DO_WITHDRAW:
        act_withdraw(worker, entry, command);
        break;
    case SL_DO_REFUSE:
        act_refuse(worker, entry, command, worker->now_us);
        break;
    default: /* cuts: the partitioner's */
        break;
    }
    return done;
}

void sl_queue_deny(struct sl_queue_worker *worker, struct sl_queue_entry *entry, const char *why)
{
    (void)sl_store_withdraw(worker->options.store, sl_str_of(entry->uid));
    sl_queue_note_try(worker, entry, SL_QUEUE_TRY_RELEASE_REFUSED, why);
    sl_queue_set_state(worker, entry, SL_QUEUE_HELD);
    leave_node(entry);
    sl_queue_tell_denied(worker, entry, why);
}
