/* The event loop. At each moment: ends, arrivals, then one plan; a nomination starts its job at
 * once. */
#include "sim/play/loop.h"

#include <stdlib.h>

#include "sim/input/become.h"
#include "sim/play/share.h"
#include "sim/play/stages.h"
#include "sliced/demand.h"
#include "util/data/heap.h"
#include "util/data/vec.h"
#include "util/time.h"

enum { PLACES_MAX = 1 << 30, IDLE_WAKES_MAX = 10000, PART = 256 };

struct end {
    int64_t at_us;
    size_t job; /* from run->n on: a pod of the fleet */
};

struct station {
    struct sl_view *view;
    struct sl_pod **pod; /* pods that run here; references */
    size_t n;
    size_t cap;
    int64_t busy; /* millionths of a GPU */
    int64_t fragmented;
    bool touched;
};

struct simulation {
    const struct sl_sim_input *input;
    struct sl_sim_run *run;
    struct sl_engine *engine;
    struct sl_planner *planner; /* the engine's */
    struct station *station;    /* by fleet->node */
    const struct sl_view **view;
    struct sl_view **old; /* views that the planner may still look at until it has the new ones */
    size_t n_old;
    size_t *touched;
    size_t n_touched;
    struct sl_pod **pod; /* by job: while it waits or runs; references */
    struct end *heap;    /* of running jobs, the earliest end first */
    size_t n_heap;
    size_t *started; /* in the plan that runs now */
    size_t n_started;
    size_t arrived;
    size_t ended; /* jobs */
    size_t waiting;
    int64_t now_us;
    int64_t busy; /* millionths of a GPU, sums over stations */
    int64_t fragmented;
    double busy_then; /* the run's at its end so far */
    double fragmented_then;
    struct sl_share_asks asks;
    struct sl_wants wants;
    struct sl_sim_stages stages;
    struct sl_sim_cuts cuts;
    struct sl_error *err;
    bool failed; /* in a call of the planner's */
};

/* ---- ends ---- */

static bool end_is_before(const void *a, const void *b, const void *context)
{
    const struct end *x = a;
    const struct end *y = b;
    (void)context;
    return x->at_us != y->at_us ? x->at_us < y->at_us : x->job < y->job;
}

static const struct sl_heap_rule by_end = {.size = sizeof(struct end), .is_before = end_is_before};

static void push_end(struct simulation *sim, struct end end)
{
    sim->heap[sim->n_heap++] = end;
    sl_heap_fix(&by_end, sim->heap, sim->n_heap, sim->n_heap - 1);
}

static struct end pop_end(struct simulation *sim)
{
    struct end top = sim->heap[0];
    sim->heap[0] = sim->heap[--sim->n_heap];
    sl_heap_fix(&by_end, sim->heap, sim->n_heap, 0);
    return top;
}

/* ---- nodes ---- */

static void node_touch(void *context, size_t node)
{
    struct simulation *sim = context;
    if (!sim->station[node].touched) {
        sim->station[node].touched = true;
        sim->touched[sim->n_touched++] = node;
    }
}

static int pod_seat(struct simulation *sim, size_t node, struct sl_pod *pod)
{
    struct station *station = &sim->station[node];
    if (sl_vec_reserve(&station->pod, &station->cap, station->n + 1, sizeof(struct sl_pod *)) < 0) {
        return -1;
    }
    station->pod[station->n++] = sl_pod_ref(pod);
    node_touch(sim, node);
    return 0;
}

static void pod_unseat(struct simulation *sim, size_t node, const struct sl_pod *pod)
{
    struct station *station = &sim->station[node];
    for (size_t i = 0; i < station->n; i++) {
        if (station->pod[i] == pod) {
            sl_pod_unref(station->pod[i]);
            station->pod[i] = station->pod[--station->n];
            node_touch(sim, node);
            return;
        }
    }
}

/* The view of a node as it is, and as its agent reports it then. */
static struct sl_view *view_make(struct simulation *sim, size_t node)
{
    const struct station *station = &sim->station[node];
    struct sl_view *fresh = sl_view_new(sim->cuts.node[node], station->pod, station->n);
    int changed = fresh == NULL ? 0 : sl_sim_cuts_report(&sim->cuts, node, fresh);
    if (changed != 0) {
        sl_view_free(fresh);
        fresh = changed < 0 ? NULL : sl_view_new(sim->cuts.node[node], station->pod, station->n);
    }
    return fresh;
}

static int view_rebuild(struct simulation *sim, size_t node)
{
    struct station *station = &sim->station[node];
    struct sl_view *fresh = view_make(sim, node);
    if (fresh == NULL) {
        return sl_error_nomem(sim->err);
    }
    if (station->view != NULL) {
        sim->old[sim->n_old++] = station->view;
    }
    station->view = fresh;
    sim->view[node] = fresh;
    sim->busy -= station->busy;
    sim->fragmented -= station->fragmented;
    station->busy = sl_share_busy(fresh);
    station->fragmented = sl_share_fragmented(fresh, &sim->asks);
    sim->busy += station->busy;
    sim->fragmented += station->fragmented;
    station->touched = false;
    return 0;
}

/* Rebuilds views of touched nodes and hands them to the planner. */
static int views_refresh(struct simulation *sim)
{
    if (sim->n_touched == 0) {
        return 0;
    }
    for (size_t i = 0; i < sim->n_touched; i++) {
        if (view_rebuild(sim, sim->touched[i]) < 0) {
            return -1;
        }
    }
    sim->n_touched = 0;
    int rc = sl_engine_cluster(sim->engine, sim->view, sim->input->fleet->n,
                               sl_wants_top(&sim->wants), SL_SIM_EPOCH_US + sim->now_us, sim->err);
    for (size_t i = 0; rc == 0 && i < sim->n_old; i++) {
        sl_view_free(sim->old[i]);
    }
    sim->n_old = rc == 0 ? 0 : sim->n_old;
    return rc;
}

/* ---- acts of the plan ---- */

static size_t job_of(const struct sl_pod *pod)
{
    return (size_t)strtoull(pod->uid, NULL, 16); /* stops at the first dash */
}

static int64_t run_time(const struct simulation *sim, size_t index, enum sl_sim_outcome *outcome)
{
    const struct sl_job *job = &sim->input->workload->job[index];
    int64_t timeout_us = (int64_t)job->timeout_s * SL_SECOND_US;
    if (sim->pod[index]->timeout_s == 0) { /* of a live queue: it takes as long as is planned for */
        *outcome = SL_SIM_DONE;
        return sim->input->engine->plan.default_timeout_us;
    }
    *outcome = job->run_us > timeout_us ? SL_SIM_KILLED : SL_SIM_DONE;
    return job->run_us > timeout_us ? timeout_us : job->run_us;
}

/* True when the job runs now. */
static bool job_start(struct simulation *sim, const struct sl_engine_command *command, size_t index)
{
    struct sl_sim_job *result = &sim->run->job[index];
    int node = sl_fleet_find(sim->input->fleet, command->node);
    struct sl_pod *pod =
        sl_pod_bound_to(sim->pod[index], command->node, command->assignment, SL_POD_RUNNING);
    if (node < 0 || pod == NULL) {
        sl_pod_unref(pod);
        return false;
    }
    pod->started_us = SL_SIM_EPOCH_US + sim->now_us; /* no other part has seen the copy yet */
    if (pod_seat(sim, (size_t)node, pod) < 0) {
        sl_pod_unref(pod);
        return false;
    }
    sl_pod_unref(sim->pod[index]);
    sim->pod[index] = pod;
    result->node = node;
    result->start_us = sim->now_us;
    result->due_us = command->due_us == 0 ? -1 : command->due_us - SL_SIM_EPOCH_US;
    result->order = (uint32_t)sim->run->started++;
    result->end_us = sim->now_us + run_time(sim, index, &result->outcome);
    sim->run->killed += result->outcome == SL_SIM_KILLED ? 1 : 0;
    sl_sim_stages_tell(&sim->stages, index, pod);
    sim->run->backfills += command->backfilled ? 1 : 0;
    sim->waiting -= result->refused ? 0 : 1;
    push_end(sim, (struct end){result->end_us, index});
    sim->started[sim->n_started++] = index;
    if (sim->input->keep_places) {
        result->place =
            sl_arena_strdup(&sim->run->places, command->assignment, strlen(command->assignment));
        return result->place != NULL;
    }
    return true;
}

static void job_refuse(struct simulation *sim, size_t index)
{
    struct sl_sim_job *result = &sim->run->job[index];
    sim->waiting -= result->refused || result->staged ? 0 : 1;
    result->refused = true;
}

/* Carries out a command of the engine; kube-scheduler takes a pod at once. */
static bool sim_act(void *context, const struct sl_engine_command *command)
{
    struct simulation *sim = context;
    if (command->pod == NULL) {
        return sl_sim_cuts_act(&sim->cuts, command);
    }
    size_t index = job_of(command->pod);
    bool known = !sim->failed && index < sim->run->n;
    if (known && command->kind == SL_DO_NOMINATE) {
        known = sim->run->job[index].node < 0 && job_start(sim, command, index);
    } else if (known && command->kind == SL_DO_RELEASE) {
        (void)sl_engine_released(sim->engine, sl_str_of(command->pod->uid),
                                 sl_str_of(command->pod->namespace), command->release,
                                 SL_RELEASE_RELEASED, SL_SIM_EPOCH_US + sim->now_us);
    } else if (known && command->kind == SL_DO_REFUSE) {
        job_refuse(sim, index);
    } else {
        known = false;
    }
    sim->failed = !known;
    return known;
}

/* Hears of the stage of a submitted job. */
static void note_stage(void *context, struct sl_str uid, enum sl_hold_reason stage)
{
    struct simulation *sim = context;
    struct sl_sim_job *result = &sim->run->job[strtoull(uid.s, NULL, 16)];
    bool staged = stage != SL_HOLD_NONE;
    if (staged != result->staged && !result->refused) {
        sim->waiting += staged ? (size_t)-1 : 1;
    }
    result->staged = staged;
}

static void stages_collect(struct simulation *sim)
{
    sl_sim_stages_read(&sim->stages);
    (void)sl_engine_collect(sim->engine, SL_SIM_EPOCH_US + sim->now_us, note_stage, sim);
}

/* Plans until nothing more can start; nominated jobs run, and the planner hears that they are
 * bound. */
static int jobs_plan(struct simulation *sim)
{
    size_t started = 0;
    do {
        sim->n_started = 0;
        (void)sl_wants_top(&sim->wants); /* the engine reads what this brings up to date */
        if (views_refresh(sim) < 0 || sl_engine_plan(sim->engine, SL_SIM_EPOCH_US + sim->now_us,
                                                     sim_act, sim, sim->err) < 0) {
            return -1;
        }
        if (sim->failed) {
            return sl_error_nomem(sim->err);
        }
        if (views_refresh(sim) < 0) {
            return -1;
        }
        for (size_t i = 0; i < sim->n_started; i++) {
            size_t job = sim->started[i];
            sl_engine_remove(sim->engine, sl_str_of(sim->pod[job]->uid), true,
                             SL_SIM_EPOCH_US + sim->now_us);
            sl_wants_waiting(&sim->wants, sim->pod[job], -1);
            sl_wants_record(&sim->wants, sim->pod[job]);
            sl_wants_unpin(&sim->wants, sim->pod[job]);
        }
        started += sim->n_started;
    } while (sim->n_started > 0); /* the window may have kept others */
    sim->n_started = started;
    return 0;
}

/* ---- time ---- */

static void pass_time(struct simulation *sim, int64_t until_us)
{
    double span = (double)(until_us - sim->now_us) / (double)SL_SECOND_US;
    double busy = (double)sim->busy / SL_SHARE_ONE * span;
    struct sl_sim_run *run = sim->run;
    run->busy += busy;
    run->fragmented += (double)sim->fragmented / SL_SHARE_ONE * span;
    if (sim->waiting > 0) {
        run->busy_waiting += busy;
        run->waiting_s += span;
    }
    sim->now_us = until_us;
}

/* What is counted is counted up to here, though pods of a live cluster may run on. */
static void note_end(struct simulation *sim, int64_t at_us)
{
    sim->run->end_us = at_us;
    sim->busy_then = sim->run->busy;
    sim->fragmented_then = sim->run->fragmented;
}

/* A pod of the fleet ends. */
static void end_resident(struct simulation *sim, const struct sl_pod *pod)
{
    int node = sl_fleet_find(sim->input->fleet, pod->node);
    if (node >= 0) {
        pod_unseat(sim, (size_t)node, pod);
    }
    sl_sim_cuts_changed(&sim->cuts, sim->now_us);
}

static int job_end(struct simulation *sim, struct end end)
{
    const struct sl_sim_job *result = &sim->run->job[end.job];
    struct sl_pod *pod = sim->pod[end.job];
    struct sl_pod *ended =
        sl_pod_bound_to(pod, pod->node, pod->assignment,
                        result->outcome == SL_SIM_DONE ? SL_POD_SUCCEEDED : SL_POD_FAILED);
    if (ended == NULL) {
        return sl_error_nomem(sim->err);
    }
    pod_unseat(sim, (size_t)result->node, pod);
    sl_pod_unref(pod);
    sim->pod[end.job] = NULL;
    note_end(sim, end.at_us);
    sim->ended++;
    sl_sim_cuts_changed(&sim->cuts, sim->now_us);
    sl_sim_stages_tell(&sim->stages, end.job, ended);
    sl_pod_unref(ended);
    return 0;
}

static int end_jobs(struct simulation *sim)
{
    while (sim->n_heap > 0 && sim->heap[0].at_us <= sim->now_us) {
        struct end end = pop_end(sim);
        if (end.job >= sim->run->n) {
            end_resident(sim, sim->input->fleet->pod[end.job - sim->run->n]);
            continue;
        }
        if (job_end(sim, end) < 0) {
            return -1;
        }
    }
    return 0;
}

static int submit_jobs(struct simulation *sim)
{
    const struct sl_workload *workload = sim->input->workload;
    while (sim->arrived < workload->n && workload->job[sim->arrived].submit_us <= sim->now_us) {
        size_t index = sim->arrived;
        struct sl_pod *pod = sl_workload_pod(workload, index, SL_SIM_EPOCH_US, sim->err);
        if (pod == NULL) {
            return -1;
        }
        sim->pod[index] = pod;
        sim->arrived++;
        sl_sim_cuts_changed(&sim->cuts, sim->now_us);
        if (sim->input->part != NULL && sim->arrived % PART == 0) {
            sim->input->part(sim->arrived, workload->n);
        }
        sim->run->job[index].staged = workload->job[index].after != NULL;
        sim->waiting += sim->run->job[index].staged ? 0 : 1;
        if (sl_wants_pin(&sim->wants, pod) < 0) {
            return sl_error_nomem(sim->err);
        }
        sl_wants_waiting(&sim->wants, pod, 1);
        sl_sim_stages_tell(&sim->stages, index, pod);
        if (sl_engine_put(sim->engine, pod, SL_SIM_EPOCH_US + sim->now_us, sim->err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Sees to the cuts under way: until nothing more changes at this moment. */
static int cuts_follow(struct simulation *sim)
{
    bool ended = false;
    do {
        if (views_refresh(sim) < 0) {
            return -1;
        }
        ended = sl_engine_follow(sim->engine, SL_SIM_EPOCH_US + sim->now_us, sim_act, sim);
        if (ended) {
            sl_sim_cuts_changed(&sim->cuts, sim->now_us);
        }
    } while (!sim->cuts.failed && (ended || sim->n_touched > 0));
    return sim->cuts.failed ? -1 : 0;
}

/* Plans cuts once nothing more can start. */
static int cuts_plan(struct simulation *sim)
{
    if (!sl_sim_cuts_due(&sim->cuts, sim->now_us)) {
        return 0;
    }
    if (sl_engine_cut(sim->engine, SL_SIM_EPOCH_US + sim->now_us, sim_act, sim, sim->err) < 0 ||
        sim->cuts.failed) {
        return -1;
    }
    return views_refresh(sim);
}

/* INT64_MAX: no further event. */
static int64_t next_event(const struct simulation *sim, bool *by_wake)
{
    const struct sl_workload *workload = sim->input->workload;
    int64_t at_us = INT64_MAX;
    if (sim->arrived < workload->n) {
        at_us = workload->job[sim->arrived].submit_us;
    }
    if (sim->n_heap > 0 && sim->heap[0].at_us < at_us) {
        at_us = sim->heap[0].at_us;
    }
    if (sl_sim_cuts_next(&sim->cuts) < at_us) {
        at_us = sl_sim_cuts_next(&sim->cuts);
    }
    int64_t wake_us = sl_engine_wake(sim->engine);
    *by_wake = wake_us != INT64_MAX && at_us == INT64_MAX; /* by nothing else, ever */
    if (wake_us != INT64_MAX && wake_us - SL_SIM_EPOCH_US < at_us) {
        at_us = wake_us - SL_SIM_EPOCH_US;
    }
    return at_us;
}

static int sim_play(struct simulation *sim)
{
    const int64_t until_us = sim->input->live == NULL ? INT64_MAX : sim->input->live->until_us;
    size_t idle_wakes = 0;
    bool by_wake = false;
    if (views_refresh(sim) < 0) {
        return -1;
    }
    for (;;) {
        int64_t at_us = next_event(sim, &by_wake);
        bool more = at_us != INT64_MAX && idle_wakes < IDLE_WAKES_MAX;
        bool done = sim->input->live != NULL && sim->ended == sim->run->n;
        if (!more || done) {
            return 0;
        }
        if (at_us > until_us) {
            pass_time(sim, until_us);
            note_end(sim, until_us);
            return 0;
        }
        pass_time(sim, at_us > sim->now_us ? at_us : sim->now_us);
        sim->cuts.now_us = sim->now_us;
        if (end_jobs(sim) < 0 || sl_sim_cuts_end(&sim->cuts, sim->now_us) < 0 ||
            submit_jobs(sim) < 0) {
            return -1;
        }
        stages_collect(sim);
        if (cuts_follow(sim) < 0 || jobs_plan(sim) < 0 || cuts_plan(sim) < 0) {
            return -1;
        }
        if (sim->input->audit) {
            sl_engine_audit(sim->engine);
        }
        idle_wakes = by_wake && sim->n_started == 0 ? idle_wakes + 1 : 0;
    }
}

/* Asks the planner why jobs have not started. */
static int note_never(struct simulation *sim)
{
    struct sl_sim_run *run = sim->run;
    int64_t now_us = SL_SIM_EPOCH_US + sim->now_us;
    for (size_t i = 0; i < run->n; i++) {
        struct sl_queue_row row;
        char text[SL_PLAN_TEXT_MAX];
        if (run->job[i].node >= 0 || sim->pod[i] == NULL ||
            !sl_planner_row(sim->planner, sl_str_of(sim->pod[i]->uid), now_us, &row)) {
            continue;
        }
        run->job[i].why = row.reason;
        if (run->never_text == NULL) {
            size_t len = sl_queue_text(&row, now_us, text, sizeof(text));
            run->never_text = sl_arena_strdup(&run->places, text, len);
            if (run->never_text == NULL) {
                return sl_error_nomem(sim->err);
            }
        }
    }
    return 0;
}

/* ---- life ---- */

/* When a pod of a live cluster ends. It runs on for as long as it is late, as the planner thinks;
 * INT64_MAX: it states no timeout. */
static int64_t resident_end(const struct simulation *sim, const struct sl_pod *pod)
{
    int64_t end_us = pod->started_us + pod->timeout_s * SL_SECOND_US - SL_SIM_EPOCH_US;
    if (pod->gone_s > 0) {
        end_us = pod->gone_s * SL_SECOND_US - SL_SIM_EPOCH_US;
    } else if (pod->timeout_s == 0 || pod->started_us == 0) {
        return INT64_MAX;
    }
    int64_t late_us = sim->now_us - end_us;
    return late_us > 0 ? sim->now_us + late_us : end_us;
}

/* Pods of the manifests run on for ever, those of a live cluster to their timeouts. */
static int seat_residents(struct simulation *sim)
{
    const struct sl_fleet *fleet = sim->input->fleet;
    for (size_t i = 0; i < fleet->n_pods; i++) {
        int node = sl_fleet_find(fleet, fleet->pod[i]->node);
        if (node >= 0 && pod_seat(sim, (size_t)node, fleet->pod[i]) < 0) {
            return sl_error_nomem(sim->err);
        }
        int64_t end_us = sim->input->live == NULL ? INT64_MAX : resident_end(sim, fleet->pod[i]);
        if (end_us < INT64_MAX) {
            push_end(sim, (struct end){end_us, sim->run->n + i});
        }
    }
    for (size_t i = 0; i < fleet->n; i++) {
        node_touch(sim, i);
    }
    return 0;
}

/* A GPU that may be cut counts whole, whatever it is cut into. */
static int64_t node_capacity(const struct simulation *sim, const struct sl_node *node)
{
    return sim->input->cutting != NULL && sl_node_can_be_cut(node)
               ? (int64_t)node->n_devices * SL_SHARE_ONE
               : sl_share_capacity(node);
}

static int sim_prepare(struct simulation *sim)
{
    size_t jobs = sim->input->workload->n;
    size_t nodes = sim->input->fleet->n;
    struct sl_sim_run *run = sim->run;
    sim->now_us = sim->input->live == NULL ? 0 : sim->input->live->begin_us;
    run->begin_us = sim->now_us;
    run->end_us = sim->now_us;
    run->job = calloc(jobs, sizeof(*run->job));
    sim->station = calloc(nodes, sizeof(*sim->station));
    sim->view = calloc(nodes, sizeof(struct sl_view *));
    sim->old = calloc(nodes, sizeof(struct sl_view *));
    sim->touched = calloc(nodes, sizeof(*sim->touched));
    sim->pod = calloc(jobs, sizeof(struct sl_pod *));
    sim->heap = calloc(jobs + sim->input->fleet->n_pods, sizeof(*sim->heap));
    sim->started = calloc(jobs, sizeof(*sim->started));
    if (run->job == NULL || sim->station == NULL || sim->view == NULL || sim->old == NULL ||
        sim->touched == NULL || sim->pod == NULL || sim->heap == NULL || sim->started == NULL) {
        return sl_error_nomem(sim->err);
    }
    run->n = jobs;
    for (size_t i = 0; i < jobs; i++) {
        run->job[i].node = -1;
    }
    for (size_t i = 0; i < nodes; i++) {
        run->capacity += (double)node_capacity(sim, sim->input->fleet->node[i]) / SL_SHARE_ONE;
    }
    sl_share_asks_of(sim->input->workload, &sim->asks);
    if (sl_sim_stages_init(&sim->stages, sim->input->workload, sim->err) < 0) {
        return -1;
    }
    struct sl_engine_config config = *sim->input->engine;
    sl_sim_cutting_apply(sim->input->cutting, &config.cutting);
    sim->engine = sl_engine_new(&config, sim->stages.stages, sim->err);
    if (sim->engine == NULL) {
        return -1;
    }
    sl_engine_record(sim->engine, sim->input->record, sim->input->recorder);
    sim->planner = sl_engine_planner(sim->engine);
    sim->cuts = (struct sl_sim_cuts){.engine = sim->engine, .touch = node_touch, .context = sim};
    if (sl_sim_cuts_init(&sim->cuts, sim->input->cutting, sim->input->fleet, sim->err) < 0) {
        return -1;
    }
    return seat_residents(sim);
}

static void sim_finish(struct simulation *sim)
{
    sl_engine_free(sim->engine); /* first: it borrows the views */
    for (size_t i = 0; sim->station != NULL && i < sim->input->fleet->n; i++) {
        struct station *station = &sim->station[i];
        for (size_t k = 0; k < station->n; k++) {
            sl_pod_unref(station->pod[k]);
        }
        free(station->pod);
        sl_view_free(station->view);
    }
    for (size_t i = 0; i < sim->n_old; i++) {
        sl_view_free(sim->old[i]);
    }
    for (size_t i = 0; sim->pod != NULL && i < sim->arrived; i++) {
        sl_pod_unref(sim->pod[i]);
    }
    sl_wants_free(&sim->wants);
    sl_sim_stages_free(&sim->stages);
    sl_sim_cuts_free(&sim->cuts);
    free(sim->station);
    free((void *)sim->view);
    free(sim->old);
    free(sim->touched);
    free(sim->pod);
    free(sim->heap);
    free(sim->started);
}

int sl_sim_run(const struct sl_sim_input *input, struct sl_sim_run *run, struct sl_error *err)
{
    struct simulation *sim = calloc(1, sizeof(*sim));
    memset(run, 0, sizeof(*run));
    sl_arena_init(&run->places, PLACES_MAX);
    if (sim == NULL) {
        return sl_error_nomem(err);
    }
    sim->input = input;
    sim->run = run;
    sim->err = err;
    int rc = sim_prepare(sim) < 0 || sim_play(sim) < 0 ? -1 : note_never(sim);
    run->cuts = sim->cuts.begun;
    run->fifo_wait_us = rc == 0 ? sl_planner_fifo_wait(sim->planner, 0) : 0;
    if (input->live != NULL) {
        run->busy = sim->busy_then;
        run->fragmented = sim->fragmented_then;
    }
    sim_finish(sim);
    free(sim);
    return rc;
}

void sl_sim_run_free(struct sl_sim_run *run)
{
    free(run->job);
    sl_arena_free(&run->places);
    memset(run, 0, sizeof(*run));
}
