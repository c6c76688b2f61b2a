/* Carries out the engine's commands for cuts: the store withholds the node, kube/cut writes, Events
 * and the log tell of it. */
#include <stdio.h>
#include <stdlib.h>

#include "daemon/cut/internal.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/time.h"

enum { REST = 20 /* times as long as a plan of cuts took */ };

static const int64_t rest_min_us = 100 * SL_MS_US;

static const struct sl_histogram_scale seconds_scale = {
    .unit = SL_SECOND_US,
    .decimals = 6,
    .n = 10,
    .bound = {SL_SECOND_US, 2 * SL_SECOND_US, 5 * SL_SECOND_US, 10 * SL_SECOND_US,
              20 * SL_SECOND_US, 40 * SL_SECOND_US, 90 * SL_SECOND_US, 3 * SL_MINUTE_US,
              6 * SL_MINUTE_US, 15 * SL_MINUTE_US}};

/* ---- writes ---- */

/* Any thread. */
static void note_written(void *context, enum sl_cut_write_end end, const struct sl_error *err)
{
    struct sl_cut_call *call = context;
    struct sl_partitioner *partitioner = call->partitioner;
    call->end = end;
    (void)snprintf(call->text, sizeof(call->text), "%s", err == NULL ? "" : err->message);
    (void)pthread_mutex_lock(&partitioner->mail);
    call->next = partitioner->ended;
    partitioner->ended = call;
    (void)pthread_mutex_unlock(&partitioner->mail);
    partitioner->options.wake(partitioner->options.context);
}

/* False: out of memory. */
static bool begin_write(struct sl_partitioner *partitioner, const struct sl_engine_command *command)
{
    size_t len = strlen(command->node);
    struct sl_cut_call *call = calloc(1, sizeof(*call) + len + 1);
    if (call == NULL) {
        return false;
    }
    memcpy(call->node, command->node, len);
    call->partitioner = partitioner;
    call->number = command->write;
    const struct sl_cut_write write = {
        .step = command->step,
        .node = command->view->node,
        .run = command->run,
        .leadership = partitioner->leadership,
    };
    partitioner->options.write(partitioner->options.cutter, &write, note_written, call);
    return true;
}

static void tell_writes(struct sl_partitioner *partitioner, int64_t now_us)
{
    (void)pthread_mutex_lock(&partitioner->mail);
    struct sl_cut_call *call = partitioner->ended;
    partitioner->ended = NULL;
    (void)pthread_mutex_unlock(&partitioner->mail);
    while (call != NULL) {
        struct sl_cut_call *next = call->next;
        bool written = call->end == SL_CUT_WRITTEN;
        sl_engine_wrote(partitioner->engine, call->node, call->number, call->end,
                        written ? NULL : call->text, now_us);
        if (!written) {
            sl_log(SL_LOG_WARN, "a node's cut was not written", "node", call->node, "reason",
                   call->text, (char *)NULL);
        }
        free(call);
        call = next;
    }
}

/* ---- commands ---- */

static void tell_node(const struct sl_partitioner *partitioner, const char *node,
                      const char *reason, bool warning, const char *text)
{
    const struct sl_event_note note = {
        .kind = SL_EVENT_NODE,
        .name = sl_str_of(node),
        .warning = warning,
        .reason = reason,
        .action = "Partitioning",
        .note = text,
    };
    if (partitioner->options.tell != NULL) {
        (void)partitioner->options.tell(partitioner->options.context, &note);
    }
}

static bool begin_cut(struct sl_partitioner *partitioner, const struct sl_engine_command *command)
{
    char text[SL_CUT_WORDS_MAX + 64];
    if (!sl_store_cut_begin(partitioner->options.store, sl_str_of(command->node), command->cut,
                            command->n_cuts, command->limits, command->why, SL_PLAN_TEXT_MAX)) {
        sl_log(SL_LOG_DEBUG, "a node cannot be cut as planned any more", "node", command->node,
               "reason", command->why, (char *)NULL);
        partitioner->counts.refused++;
        return false;
    }
    partitioner->counts.begun++;
    /* those who read a node's Events may not read the names of pods */
    (void)snprintf(text, sizeof(text), "%s, for %zu pod%s that wait%s", command->text,
                   command->n_pods, command->n_pods == 1 ? "" : "s",
                   command->n_pods == 1 ? "s" : "");
    tell_node(partitioner, command->node, "Cutting", false, text);
    sl_log(SL_LOG_INFO, "a node's GPUs are being cut", "node", command->node, "name",
           command->run->name, "cut", command->text, "pods", command->pods, (char *)NULL);
    return true;
}

static void hold_cut(struct sl_partitioner *partitioner, const struct sl_engine_command *command)
{
    sl_store_cut_hold(partitioner->options.store, sl_str_of(command->node));
    partitioner->counts.resumed++;
    sl_log(SL_LOG_INFO, "a cut is under way that was begun before", "node", command->node, "name",
           command->run->name, (char *)NULL);
}

static void end_cut(struct sl_partitioner *partitioner, const struct sl_engine_command *command)
{
    char text[SL_CUT_WORDS_MAX + 2 * sizeof(((struct sl_error *)NULL)->message)];
    const struct sl_cut_run *run = command->run;
    const char *outcome = sl_cut_outcome_name(run->outcome);
    bool done = run->outcome == SL_CUT_DONE;
    bool unwritten = run->outcome == SL_CUT_REFUSED || run->outcome == SL_CUT_BAD_FILE;
    const char *trouble = unwritten ? command->trouble : "";
    partitioner->counts.ends[run->outcome]++;
    if (done && !run->resumed) {
        sl_histogram_observe(&partitioner->seconds, command->took_us);
    }
    (void)snprintf(text, sizeof(text), "%s: %s%s%s", outcome, command->text,
                   trouble[0] != '\0' ? ": " : "", trouble);
    tell_node(partitioner, command->node, done ? "Cut" : "CutFailed", !done,
              done ? "its GPUs are cut" : text);
    sl_log(done ? SL_LOG_INFO : SL_LOG_WARN, "a node's cut has ended", "node", command->node,
           "name", run->name, "outcome", outcome, "#seconds",
           SL_LOG_NUMBER(command->took_us / SL_SECOND_US), (char *)NULL);
    (void)sl_store_cut_end(partitioner->options.store, sl_str_of(command->node));
}

static bool act(void *context, const struct sl_engine_command *command)
{
    struct sl_partitioner *partitioner = context;
    bool done = true;
    switch (command->kind) {
    case SL_DO_CUT_BEGIN:
        done = begin_cut(partitioner, command);
        break;
    case SL_DO_CUT_HOLD:
        hold_cut(partitioner, command);
        break;
    case SL_DO_CUT_WRITE:
        done = begin_write(partitioner, command);
        break;
    case SL_DO_CUT_END:
        end_cut(partitioner, command);
        break;
    default: /* pods: the queue's */
        break;
    }
    return done;
}

/* ---- a round ---- */

/* With status held. It rests after a plan for many times as long as that took. */
static void plan_cuts(struct sl_partitioner *partitioner, int64_t now_us)
{
    int64_t begin_us = sl_clock_monotonic_us();
    int planned = sl_engine_cut(partitioner->engine, now_us, act, partitioner, NULL);
    int64_t took_us = sl_clock_monotonic_us() - begin_us;
    int64_t rest_us = took_us * REST > rest_min_us ? took_us * REST : rest_min_us;
    if (planned != 0) {
        partitioner->counts.plans++;
        partitioner->counts.plan_us += (uint64_t)took_us;
        sl_engine_rest(partitioner->engine, now_us + rest_us);
    }
}

void sl_partitioner_round(struct sl_partitioner *partitioner, const struct sl_snapshot *snapshot,
                          int64_t now_us)
{
    (void)pthread_mutex_lock(&partitioner->status);
    tell_writes(partitioner, now_us);
    if (!sl_engine_follow(partitioner->engine, now_us, act, partitioner)) {
        plan_cuts(partitioner, now_us);
    } /* else the store publishes the node, and the next round plans with it */
    sl_cut_count_gpus(partitioner, snapshot, now_us);
    (void)pthread_mutex_unlock(&partitioner->status);
}

void sl_partitioner_lock(struct sl_partitioner *partitioner)
{
    if (partitioner != NULL) {
        (void)pthread_mutex_lock(&partitioner->status);
    }
}

void sl_partitioner_unlock(struct sl_partitioner *partitioner)
{
    if (partitioner != NULL) {
        (void)pthread_mutex_unlock(&partitioner->status);
    }
}

/* ---- life ---- */

void sl_partitioner_begin(struct sl_partitioner *partitioner, struct sl_engine *engine,
                          uint64_t leadership)
{
    sl_store_cut_end_all(partitioner->options.store);
    (void)pthread_mutex_lock(&partitioner->status);
    partitioner->engine = engine;
    partitioner->leadership = leadership;
    (void)pthread_mutex_unlock(&partitioner->status);
}

void sl_partitioner_end(struct sl_partitioner *partitioner)
{
    (void)pthread_mutex_lock(&partitioner->status);
    partitioner->engine = NULL;
    partitioner->leadership = 0;
    (void)pthread_mutex_unlock(&partitioner->status);
}

struct sl_partitioner *sl_partitioner_new(const struct sl_partitioner_options *options,
                                          struct sl_error *err)
{
    struct sl_partitioner *partitioner = calloc(1, sizeof(*partitioner));
    if (partitioner == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    partitioner->options = *options;
    partitioner->seconds.scale = &seconds_scale;
    (void)pthread_mutex_init(&partitioner->status, NULL);
    (void)pthread_mutex_init(&partitioner->mail, NULL);
    return partitioner;
}

void sl_partitioner_free(struct sl_partitioner *partitioner)
{
    if (partitioner == NULL) {
        return;
    }
    while (partitioner->ended != NULL) {
        struct sl_cut_call *next = partitioner->ended->next;
        free(partitioner->ended);
        partitioner->ended = next;
    }
    (void)pthread_mutex_destroy(&partitioner->status);
    (void)pthread_mutex_destroy(&partitioner->mail);
    free(partitioner);
}
