/* The plan against an independent model of few nodes of whole GPUs, where counts say everything
 * (of GPUs, CPU, memory and pods):
 * nobody is given what another has, no device idles that a waiting pod could use without delaying
 * the one that it would overtake, and a reserved start is kept. Numbers are the same in every run.
 */
#include "plan_rig.h"

enum { ROUNDS = 200, ARRIVALS = 15, STEPS = 1500, MODEL_PODS = 64, HOST_ASK = 3 };

enum { GPUS, CPU, MEMORY, COUNT, KINDS };

struct model_pod {
    struct plan_rig_pod *pod;
    int64_t asks[KINDS];
    int64_t timeout; /* seconds */
    int64_t arrived; /* number */
    int64_t start;   /* of the nomination or the run, seconds */
    int64_t run;     /* seconds that it really runs */
    int64_t promise; /* latest start that it was told, INT64_MAX: none */
    int node;        /* of the nomination or the run, -1: waits */
    bool running;
    bool stuck;  /* never takes its nomination */
    bool struck; /* did not take a nomination: nothing is reserved for it */
    bool done;
};

struct model {
    struct plan_rig *rig;
    struct sl_planner *twin; /* the same, fed in another order */
    char twin_log[PLAN_LOG];
    struct model_pod pod[MODEL_PODS];
    unsigned n_pods;
    int64_t has[PLAN_NODES][KINDS]; /* -1: any number */
    int64_t now;                    /* seconds since the rig's start */
    uint64_t random;
    bool sticky; /* some pods never take their nominations */
    bool hosts;  /* CPU, memory and pods are bounded */
};

static unsigned pick(struct model *m, unsigned n)
{
    m->random = m->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(m->random >> 33) % n;
}

static int64_t end_of(const struct model *m, const struct model_pod *pod)
{
    int64_t late = m->now - (pod->start + pod->timeout);
    return late > 0 ? m->now + late : m->now - late;
}

static bool holds_gpus(const struct model_pod *pod)
{
    return !pod->done && pod->node >= 0;
}

/* Does the node have room for the pod from that time on, as far as timeouts tell? extra stands on
 * extra_node too, from now. INT64_MIN: as things are. */
static bool has_room(const struct model *m, const struct model_pod *asks, int node, int64_t at,
                     const struct model_pod *extra, int extra_node)
{
    int64_t used[KINDS] = {0};
    for (unsigned i = 0; i < m->n_pods; i++) {
        const struct model_pod *pod = &m->pod[i];
        const bool there = holds_gpus(pod) && pod->node == node && end_of(m, pod) > at;
        for (unsigned k = 0; k < KINDS && there; k++) {
            used[k] += pod->asks[k];
        }
    }
    for (unsigned k = 0; k < KINDS && extra != NULL; k++) {
        used[k] += extra_node == node && m->now + extra->timeout > at ? extra->asks[k] : 0;
    }
    bool room = true;
    for (unsigned k = 0; k < KINDS; k++) {
        const bool counts = asks->asks[k] > 0 && m->has[node][k] >= 0;
        room = room && (!counts || used[k] + asks->asks[k] <= m->has[node][k]);
    }
    return room;
}

/* When the pod can start at the earliest, if extra starts on that node now. */
static int64_t earliest(const struct model *m, const struct model_pod *pod,
                        const struct model_pod *extra, int extra_node)
{
    for (int64_t at = m->now; at < m->now + 1000; at++) {
        for (unsigned n = 0; n < m->rig->n_nodes; n++) {
            if (has_room(m, pod, (int)n, at, extra, extra_node)) {
                return at;
            }
        }
    }
    return INT64_MAX;
}

static bool is_ahead(const struct model *m, const struct model_pod *a, const struct model_pod *b)
{
    if (m->rig->config.order.kind == SL_ORDER_SJF && a->timeout != b->timeout) {
        return a->timeout < b->timeout;
    }
    return a->arrived < b->arrived;
}

static bool is_expired(const struct model *m, const struct model_pod *pod)
{
    struct sl_queue_row row;
    assert_true(plan_rig_row(m->rig, pod->pod->name, &row));
    return row.reason == SL_HOLD_EXPIRED;
}

static bool waits(const struct model *m, const struct model_pod *pod)
{
    return !pod->done && pod->node < 0 && !is_expired(m, pod);
}

static struct model_pod *first_waiting(struct model *m)
{
    struct model_pod *first = NULL;
    for (unsigned i = 0; i < m->n_pods; i++) {
        struct model_pod *pod = &m->pod[i];
        if (waits(m, pod) && !pod->struck && (first == NULL || is_ahead(m, pod, first))) {
            first = pod;
        }
    }
    return first;
}

/* ---- what must hold after each plan ---- */

static void nobody_has_what_another_has(const struct model *m)
{
    bool taken[PLAN_NODES][8] = {0};
    for (unsigned i = 0; i < m->n_pods; i++) {
        const struct model_pod *pod = &m->pod[i];
        struct sl_queue_row row;
        if (!holds_gpus(pod)) {
            continue;
        }
        const char *text = pod->running ? pod->pod->bound->assignment : NULL;
        if (text == NULL) {
            assert_true(plan_rig_row(m->rig, pod->pod->name, &row));
            assert_int_equal(row.state, SL_QUEUE_NOMINATED);
            text = row.assignment;
        }
        int64_t count = 0;
        for (const char *at = strchr(text, '='); at != NULL; at = strchr(at + 1, ',')) {
            long device = strtol(at + 1, NULL, 10);
            assert_in_range(device, 0, m->has[pod->node][GPUS] - 1);
            assert_false(taken[pod->node][device]);
            taken[pod->node][device] = true;
            count++;
        }
        assert_int_equal(count, pod->asks[GPUS]);
    }
}

static void nothing_idles_that_could_be_used(struct model *m)
{
    const struct model_pod *first = first_waiting(m);
    if (first == NULL) {
        return;
    }
    int64_t before = earliest(m, first, NULL, -1);
    for (unsigned i = 0; i < m->n_pods; i++) {
        const struct model_pod *pod = &m->pod[i];
        for (unsigned n = 0; n < m->rig->n_nodes && waits(m, pod); n++) {
            if (!has_room(m, pod, (int)n, INT64_MIN, NULL, -1)) {
                continue;
            }
            if (pod == first) {
                fail_msg("%s could start", pod->pod->name);
            }
            if (earliest(m, first, pod, (int)n) <= before) {
                fail_msg("%s could start on node %u without delaying %s", pod->pod->name, n,
                         first->pod->name);
            }
        }
    }
}

static void reserved_starts_are_kept(struct model *m)
{
    for (unsigned i = 0; i < m->n_pods; i++) {
        struct model_pod *pod = &m->pod[i];
        struct sl_queue_row row;
        if (pod->done || pod->running || !plan_rig_row(m->rig, pod->pod->name, &row)) {
            continue;
        }
        if (row.estimate == SL_ESTIMATE_RESERVED) {
            int64_t at = (row.start_us - SECONDS(1000000)) / SECONDS(1);
            assert_int_equal(at, earliest(m, pod, NULL, -1));
            if (m->rig->config.order.kind == SL_ORDER_FIFO && !m->sticky) {
                assert_true(at <= pod->promise);
                pod->promise = at;
            }
        } else if (row.estimate == SL_ESTIMATE_NOW) {
            assert_true(pod->start <= pod->promise);
        }
    }
}

/* ---- what happens ---- */

static struct model_pod *model_find(struct model *m, const char *name)
{
    for (unsigned i = 0; i < m->n_pods; i++) {
        if (strcmp(m->pod[i].pod->name, name) == 0) {
            return &m->pod[i];
        }
    }
    fail_msg("no pod %s", name);
    return NULL;
}

static void act(void *context, const struct sl_plan_action *action)
{
    struct model *m = context;
    struct model_pod *pod = model_find(m, action->pod->name);
    plan_rig_act(m->rig, action);
    if (action->kind == SL_PLAN_NOMINATE) {
        pod->node = (int)strtol(action->node + 1, NULL, 10);
        pod->start = m->now;
    } else if (action->kind == SL_PLAN_EXPIRE) {
        pod->node = -1;
        pod->promise = INT64_MAX;
        pod->struck = pod->struck || action->reason == SL_HOLD_EXPIRED;
    }
}

static void act_twin(void *context, const struct sl_plan_action *action)
{
    struct model *m = context;
    size_t len = strlen(m->twin_log);
    (void)snprintf(m->twin_log + len, sizeof(m->twin_log) - len, "%s %s on %s: %s\n",
                   action->kind == SL_PLAN_EXPIRE ? "expire"
                   : action->backfilled           ? "backfill"
                                                  : "nomination",
                   action->pod->name, action->node,
                   action->kind == SL_PLAN_EXPIRE ? sl_hold_reason_name(action->reason)
                                                  : action->assignment);
}

static void arrive(struct model *m, unsigned most_gpus)
{
    struct model_pod *pod = &m->pod[m->n_pods];
    char name[PLAN_NAME];
    snprintf(name, sizeof(name), "p%03u", m->n_pods);
    *pod = (struct model_pod){.asks = {1 + (int64_t)pick(m, most_gpus), 0, 0, 1},
                              .timeout = 1 + (int64_t)pick(m, 6),
                              .arrived = m->n_pods,
                              .promise = INT64_MAX,
                              .node = -1,
                              .stuck = m->sticky && pick(m, 8) == 0};
    pod->run = pick(m, 2) == 0 ? pod->timeout : 1 + (int64_t)pick(m, (unsigned)pod->timeout);
    pod->pod = plan_rig_pod(m->rig, name, GPU, pod->asks[GPUS], pod->timeout);
    if (m->hosts && pick(m, 2) == 0) {
        struct sl_constraints *constraints = &pod->pod->constraints;
        pod->asks[CPU] = (int64_t)pick(m, HOST_ASK + 1);
        pod->asks[MEMORY] = (int64_t)pick(m, HOST_ASK + 1);
        constraints->cpu_milli = pod->asks[CPU];
        constraints->memory_bytes = pod->asks[MEMORY];
        constraints->digest = (uint64_t)(1 + pod->asks[CPU] * (HOST_ASK + 1) + pod->asks[MEMORY]);
        pod->pod->pod.constraints = constraints;
    }
    m->n_pods++;
}

static void feed(struct model *m, unsigned from)
{
    struct sl_error err = {0};
    for (unsigned i = from; i < m->n_pods; i++) {
        plan_rig_put(m->rig, m->pod[i].pod);
    }
    for (unsigned i = m->n_pods; i > from; i--) {
        assert_int_equal(sl_planner_put(m->twin, &m->pod[i - 1].pod->pod, m->rig->now_us, &err), 0);
    }
}

static void bind_and_end(struct model *m)
{
    for (unsigned i = 0; i < m->n_pods; i++) {
        struct model_pod *pod = &m->pod[i];
        if (pod->running && !pod->done && pod->start + pod->run <= m->now) {
            plan_rig_end(m->rig, pod->pod->name);
            pod->done = true;
        }
    }
}

static void bind_nominations(struct model *m)
{
    for (unsigned i = 0; i < m->n_pods; i++) {
        struct model_pod *pod = &m->pod[i];
        if (!pod->done && !pod->running && pod->node >= 0 && !pod->stuck) {
            plan_rig_bind(m->rig, pod->pod->name);
            sl_planner_remove(m->twin, sl_str_of(pod->pod->name), m->rig->now_us);
            pod->running = true;
        }
    }
}

static void plan_both(struct model *m)
{
    struct sl_error err = {0};
    const struct sl_view *views[PLAN_NODES];
    plan_rig_cluster(m->rig);
    for (unsigned i = 0; i < m->rig->n_nodes; i++) {
        views[i] = m->rig->view[i];
    }
    assert_int_equal(sl_planner_cluster(m->twin, views, m->rig->n_nodes, m->rig->now_us, &err), 0);
    m->rig->log[0] = '\0';
    m->twin_log[0] = '\0';
    assert_int_equal(sl_planner_run(m->rig->planner, NULL, 1000, m->rig->now_us, act, m, &err), 0);
    assert_int_equal(sl_planner_run(m->twin, NULL, 1000, m->rig->now_us, act_twin, m, &err), 0);
    assert_string_equal(m->rig->log, m->twin_log);
}

static bool all_ran(const struct model *m)
{
    bool all = true;
    for (unsigned i = 0; i < m->n_pods; i++) {
        all = all && (m->pod[i].done || m->pod[i].stuck);
    }
    return all;
}

static void play(enum sl_order_kind kind, uint64_t seed)
{
    struct sl_error err = {0};
    struct model *m = calloc(1, sizeof(*m));
    assert_non_null(m);
    m->rig = plan_rig_new();
    m->random = seed;
    m->sticky = seed % 2 == 0;
    m->hosts = seed % 4 < 2;
    m->rig->config.order.kind = kind;
    m->rig->config.hold_us = SECONDS(3);
    m->rig->config.hold_max_us = SECONDS(8);
    m->rig->config.preemption = false;
    plan_rig_configure(m->rig);
    m->twin = sl_planner_new(&m->rig->config, &err);
    assert_non_null(m->twin);
    unsigned nodes = 1 + pick(m, 4);
    unsigned most = 0;
    for (unsigned i = 0; i < nodes; i++) {
        char name[PLAN_NAME];
        snprintf(name, sizeof(name), "n%u", i);
        unsigned gpus = 1 + pick(m, 4);
        most = gpus > most ? gpus : most;
        struct sl_host *host = &plan_rig_node(m->rig, name, gpus)->node.host;
        if (m->hosts) { /* any pod has room while no other is there */
            host->cpu_milli = pick(m, 4) == 0 ? -1 : HOST_ASK + (int64_t)pick(m, 4);
            host->memory_bytes = pick(m, 4) == 0 ? -1 : HOST_ASK + (int64_t)pick(m, 4);
            host->pods = pick(m, 2) == 0 ? -1 : 1 + (int64_t)pick(m, 3);
        }
        m->has[i][GPUS] = gpus;
        m->has[i][CPU] = host->cpu_milli;
        m->has[i][MEMORY] = host->memory_bytes;
        m->has[i][COUNT] = host->pods;
    }
    for (unsigned step = 0; step < ARRIVALS || !all_ran(m); step++) {
        unsigned from = m->n_pods;
        unsigned come = step < ARRIVALS ? pick(m, 4) : 0;
        assert_true(step < STEPS); /* whoever does not come blocks nobody for good */
        for (unsigned i = 0; i < come; i++) {
            arrive(m, most);
        }
        feed(m, from);
        bind_and_end(m);
        plan_both(m);
        nobody_has_what_another_has(m);
        nothing_idles_that_could_be_used(m);
        reserved_starts_are_kept(m);
        bind_nominations(m);
        m->now++;
        m->rig->now_us += SECONDS(1);
    }
    sl_planner_free(m->twin);
    plan_rig_free(m->rig);
    free(m);
}

TEST_THAT(plans_in_order_of_submission_hold_the_properties)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        play(SL_ORDER_FIFO, seed);
    }
}

TEST_THAT(plans_by_shortest_timeout_hold_the_properties)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        play(SL_ORDER_SJF, seed);
    }
}
