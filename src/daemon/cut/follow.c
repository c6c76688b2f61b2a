/* Sees each cut through: what the node shows, the next step, its write, its end. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/cut/internal.h"
#include "util/log.h"
#include "util/time.h"

static struct sl_cut_rules rules_of(const struct sl_partitioner *partitioner,
                                    const struct sl_cut_run *run)
{
    bool mps = run->actuator == SL_ACTUATOR_NOS_MPS;
    return (struct sl_cut_rules){
        .timeout_us = partitioner->config.partitioning.timeout_us,
        .backoff_us = partitioner->config.partitioning.backoff_us,
        .max_backoff_us = partitioner->config.partitioning.max_backoff_us,
        .file_us = mps ? partitioner->config.partitioning.mps_delay_us
                       : partitioner->config.partitioning.config_delay_us,
    };
}

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
static bool begin_write(struct sl_partitioner *partitioner, struct sl_cut_place *place,
                        const struct sl_view *view, enum sl_cut_step step, int64_t now_us)
{
    size_t len = strlen(place->name);
    struct sl_cut_call *call = calloc(1, sizeof(*call) + len + 1);
    if (call == NULL) {
        sl_cut_run_wrote(place->run, SL_CUT_WRITE_FAILED, now_us);
        return false;
    }
    memcpy(call->node, place->name, len);
    call->partitioner = partitioner;
    call->number = ++partitioner->last_write;
    place->write = call->number;
    const struct sl_cut_write write = {
        .step = step,
        .node = view->node,
        .run = place->run,
        .leadership = partitioner->leadership,
    };
    partitioner->options.write(partitioner->options.context, &write, note_written, call);
    return true;
}

static void collect_writes(struct sl_partitioner *partitioner, int64_t now_us)
{
    (void)pthread_mutex_lock(&partitioner->mail);
    struct sl_cut_call *call = partitioner->ended;
    partitioner->ended = NULL;
    (void)pthread_mutex_unlock(&partitioner->mail);
    while (call != NULL) {
        struct sl_cut_call *next = call->next;
        struct sl_cut_place *place = sl_cut_place_find(partitioner, call->node);
        if (place != NULL && place->run != NULL && place->write == call->number) {
            place->write = 0;
            sl_cut_run_wrote(place->run, call->end, now_us);
        }
        if (call->end != SL_CUT_WRITTEN) {
            if (place != NULL) {
                (void)snprintf(place->trouble, sizeof(place->trouble), "%s", call->text);
            }
            sl_log(SL_LOG_WARN, "a node's cut was not written", "node", call->node, "reason",
                   call->text, (char *)NULL);
        }
        free(call);
        call = next;
    }
}

/* ---- a run's begin and end ---- */

static void tell_node(const struct sl_partitioner *partitioner, const struct sl_cut_place *place,
                      const char *reason, bool warning, const char *text)
{
    const struct sl_event_note note = {
        .kind = SL_EVENT_NODE,
        .name = sl_str_of(place->name),
        .warning = warning,
        .reason = reason,
        .action = "Partitioning",
        .note = text,
    };
    if (partitioner->options.tell != NULL) {
        (void)partitioner->options.tell(partitioner->options.context, &note);
    }
}

static uint64_t hash_node(const struct sl_node *node)
{
    return node->uid == NULL ? 0 : sl_hash(node->uid, strlen(node->uid));
}

static struct sl_cut_run *add_run(struct sl_partitioner *partitioner, struct sl_cut_place *place,
                                  const struct sl_node *node, int64_t now_us)
{
    struct sl_cut_run *run = calloc(1, sizeof(*run));
    if (run != NULL) {
        (void)pthread_mutex_lock(&partitioner->status);
        place->run = run;
        place->node = hash_node(node);
        place->write = 0;
        place->trouble[0] = '\0';
        place->begun_us = now_us;
        (void)pthread_mutex_unlock(&partitioner->status);
    }
    return run;
}

void sl_cut_begin(struct sl_partitioner *partitioner, struct sl_cut_place *place,
                  const struct sl_view *view, const struct sl_cut_plan *plan, int64_t now_us)
{
    char text[SL_PARTITION_WORDS_MAX + 64];
    struct sl_cut_run *run = add_run(partitioner, place, view->node, now_us);
    if (run == NULL) {
        (void)sl_store_cut_end(partitioner->options.store, sl_str_of(place->name));
        return;
    }
    (void)pthread_mutex_lock(&partitioner->status);
    sl_cut_run_begin(run, view->node, plan->cut, plan->n_cuts, now_us);
    sl_cut_run_note_pods(run, view);
    place->why[0] = '\0';
    partitioner->under_way++;
    partitioner->counts.begun++;
    (void)pthread_mutex_unlock(&partitioner->status);
    /* those who read a node's Events may not read the names of pods */
    (void)snprintf(text, sizeof(text), "%s, for %zu pod%s that wait%s", place->cut, plan->n_pods,
                   plan->n_pods == 1 ? "" : "s", plan->n_pods == 1 ? "s" : "");
    tell_node(partitioner, place, "Cutting", false, text);
    sl_log(SL_LOG_INFO, "a node's GPUs are being cut", "node", place->name, "name", run->name,
           "cut", place->cut, "pods", place->pods, (char *)NULL);
}

/* A cut of an earlier leader, or of this daemon before its restart. */
static void resume(struct sl_partitioner *partitioner, struct sl_cut_place *place,
                   const struct sl_node *node, int64_t now_us)
{
    struct sl_cut_run *run = add_run(partitioner, place, node, now_us);
    if (run == NULL) {
        return;
    }
    if (!sl_cut_run_resume(run, node, now_us)) {
        sl_cut_drop(partitioner, place);
        return;
    }
    sl_store_cut_hold(partitioner->options.store, sl_str_of(place->name));
    (void)pthread_mutex_lock(&partitioner->status);
    (void)snprintf(place->cut, sizeof(place->cut), "%s",
                   node->partition.cut_text == NULL ? run->name : node->partition.cut_text);
    place->pods[0] = '\0';
    /* for pods that wait for it, and for nothing else: the run itself does not know its cuts */
    place->n_made = sl_cut_text_read(node, place->cut, run->cut, SL_NODE_DEVICES_MAX);
    place->expected_us =
        now_us +
        sl_cut_seconds_us(&place->record, partitioner->seconds_us[run->actuator], run->actuator);
    partitioner->counts.resumed++;
    (void)pthread_mutex_unlock(&partitioner->status);
    sl_log(SL_LOG_INFO, "a cut is under way that was begun before", "node", place->name, "name",
           run->name, (char *)NULL);
}

void sl_cut_untell_pods(const struct sl_partitioner *partitioner, struct sl_cut_place *place)
{
    size_t at = 0;
    for (const char *uid = sl_map_next(&place->uids, &at); uid != NULL;
         uid = sl_map_next(&place->uids, &at)) {
        sl_planner_set_cut(partitioner->planner, sl_str_of(uid), NULL, NULL, 0);
    }
    sl_cut_place_forget_pods(place);
}

static void end_run(struct sl_partitioner *partitioner, struct sl_cut_place *place, int64_t now_us)
{
    const struct sl_cut_rules rules = rules_of(partitioner, place->run);
    struct sl_cut_run *run = place->run;
    bool done = run->outcome == SL_CUT_DONE;
    char text[SL_PARTITION_WORDS_MAX + sizeof(place->trouble) + 64];
    const char *outcome = sl_cut_outcome_name(run->outcome);
    (void)pthread_mutex_lock(&partitioner->status);
    sl_cut_record_note(&place->record, run, &rules, now_us);
    (void)snprintf(place->ended, sizeof(place->ended), "%s",
                   run->outcome == SL_CUT_GONE ? "" : run->name);
    (void)snprintf(place->why, sizeof(place->why), "%s", done ? "" : outcome);
    if (done) {
        place->cut[0] = '\0';
        place->pods[0] = '\0';
    }
    partitioner->counts.ends[run->outcome]++;
    (void)pthread_mutex_unlock(&partitioner->status);
    if (done && !run->resumed) {
        int64_t *mean_us = &partitioner->seconds_us[run->actuator];
        sl_histogram_observe(&partitioner->seconds, now_us - place->begun_us);
        *mean_us = sl_cut_mean_us(*mean_us, now_us - place->begun_us);
    }
    bool unwritten = run->outcome == SL_CUT_REFUSED || run->outcome == SL_CUT_BAD_FILE;
    (void)snprintf(text, sizeof(text), "%s: %s%s%s", outcome, place->cut,
                   unwritten && place->trouble[0] != '\0' ? ": " : "",
                   unwritten ? place->trouble : "");
    tell_node(partitioner, place, done ? "Cut" : "CutFailed", !done,
              done ? "its GPUs are cut" : text);
    sl_log(done ? SL_LOG_INFO : SL_LOG_WARN, "a node's cut has ended", "node", place->name, "name",
           run->name, "outcome", outcome, "#seconds",
           SL_LOG_NUMBER((now_us - place->begun_us) / SL_SECOND_US), (char *)NULL);
    sl_cut_untell_pods(partitioner, place);
    sl_cut_drop(partitioner, place);
    (void)sl_store_cut_end(partitioner->options.store, sl_str_of(place->name));
}

/* ---- following ---- */

/* Takes steps until one has to be waited for. view is NULL when the node is gone. */
static int64_t drive(struct sl_partitioner *partitioner, struct sl_cut_place *place,
                     const struct sl_view *view, int64_t now_us)
{
    const struct sl_cut_rules rules = rules_of(partitioner, place->run);
    const struct sl_node *node = view == NULL ? NULL : view->node;
    if (view != NULL) {
        sl_cut_run_look_at_pods(place->run, view);
    }
    while (place->run != NULL) {
        (void)pthread_mutex_lock(&partitioner->status);
        enum sl_cut_step step = sl_cut_run_step(place->run, node, &rules, now_us);
        (void)snprintf(place->why, sizeof(place->why), "%s", sl_cut_run_phase(place->run, node));
        (void)pthread_mutex_unlock(&partitioner->status);
        if (step == SL_CUT_WAIT) {
            return place->run->wake_us;
        }
        if (step == SL_CUT_END) {
            end_run(partitioner, place, now_us);
        } else if (view == NULL) {
            return INT64_MAX; /* never: of a node that is gone, only the end is left */
        } else if (!begin_write(partitioner, place, view, step, now_us)) {
            return now_us + SL_SECOND_US;
        }
    }
    return INT64_MAX;
}

/* A cut that takes twice as long as expected, and at least a minute more, may be stuck: its pods
 * wait no longer for it, so that another can serve them. Returns when that is; INT64_MAX: nobody
 * waits for it. */
static int64_t wait_for_stuck(const struct sl_partitioner *partitioner, struct sl_cut_place *place,
                              int64_t now_us)
{
    int64_t usual_us = place->expected_us - place->begun_us;
    int64_t stuck_us = place->expected_us + (usual_us > SL_MINUTE_US ? usual_us : SL_MINUTE_US);
    if (place->run == NULL || place->n_made == 0) {
        return INT64_MAX;
    }
    if (now_us >= stuck_us) {
        sl_cut_untell_pods(partitioner, place);
        place->n_made = 0;
        return INT64_MAX;
    }
    return stuck_us;
}

static bool has_foreign_cut(const struct sl_cut_place *place, const struct sl_node *node)
{
    const char *cut = node->partition.cut;
    return cut != NULL && (place == NULL || strcmp(cut, place->ended) != 0);
}

static int64_t follow_node(struct sl_partitioner *partitioner, const struct sl_view *view,
                           int64_t now_us)
{
    const struct sl_node *node = view->node;
    struct sl_cut_place *place = sl_cut_place_find(partitioner, node->name);
    bool foreign = has_foreign_cut(place, node);
    if (node->partition.actuator == SL_ACTUATOR_NONE && place == NULL) {
        return INT64_MAX;
    }
    if (place == NULL && foreign) {
        place = sl_cut_place_of(partitioner, node->name);
    }
    if (place == NULL) {
        return INT64_MAX;
    }
    place->round = partitioner->round;
    if (node->partition.cut == NULL) {
        place->ended[0] = '\0'; /* a write that lands late would else withhold the node for ever */
    }
    if (place->run == NULL && foreign) {
        resume(partitioner, place, node, now_us);
    }
    if (place->run == NULL) {
        return INT64_MAX;
    }
    bool same = place->node == hash_node(node);
    int64_t wake_us = drive(partitioner, place, same ? view : NULL, now_us);
    int64_t stuck_us = wait_for_stuck(partitioner, place, now_us);
    return wake_us < stuck_us ? wake_us : stuck_us;
}

int64_t sl_cut_follow(struct sl_partitioner *partitioner, const struct sl_snapshot *snapshot,
                      int64_t now_us)
{
    int64_t wake_us = INT64_MAX;
    size_t at = 0;
    collect_writes(partitioner, now_us);
    for (size_t i = 0; i < snapshot->n_nodes; i++) {
        int64_t us = follow_node(partitioner, snapshot->view[i], now_us);
        wake_us = us < wake_us ? us : wake_us;
    }
    for (struct sl_cut_place *place = sl_map_next(&partitioner->places, &at); place != NULL;
         place = sl_map_next(&partitioner->places, &at)) {
        if (place->run != NULL && place->round != partitioner->round) {
            int64_t us = drive(partitioner, place, NULL, now_us);
            wake_us = us < wake_us ? us : wake_us;
        }
    }
    return wake_us;
}
