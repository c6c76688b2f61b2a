/* An engine with a cluster of its own: nodes of two GPUs, pods that wait, a kube-scheduler and
 * agents that do what the test says. Each command is written down as a line. */
#ifndef SLICED_TEST_ENGINE_RIG_H
#define SLICED_TEST_ENGINE_RIG_H

#include "sliced/engine.h"
#include "unit/core/cut/cut_rig.h"
#include "unit/core/plan/plan_defaults.h"
#include "util/time.h"

enum { ENGINE_NODES = 4, ENGINE_PODS = 128, ENGINE_TEXT = 64, ENGINE_LOG = 1 << 15 };

#define GPU   "nvidia.com/gpu"
#define SMALL "1g.5gb 1g.5gb 1g.5gb 1g.5gb 1g.5gb 1g.5gb 1g.5gb"
#define LARGE "7g.40gb"
#define HALF  "3g.20gb 3g.20gb"

struct engine_node {
    char name[8];
    const char *uid;
    enum sl_actuator actuator;
    const char *gpu[2];            /* what each holds, as struct rig_token says; NULL: whole */
    char held[2][ENGINE_TEXT * 4]; /* behind gpu, when the agent has cut it */
    char config[SL_CUT_NAME_MAX];  /* of the mig-manager; empty: none */
    const char *state;             /* its last word */
    char cut[SL_CUT_NAME_MAX];     /* sliced.dev/cut; empty: none */
    const char *cut_text;          /* sliced.dev/cut-text, NULL: none */
    bool away;                     /* nobody knows the node */
    bool absent;                   /* its units are, while they are being cut */
    bool withheld;                 /* a cut is under way */
    struct sl_node *node;
    struct sl_view *view, *old;
};

struct engine_pod {
    char name[16];
    struct sl_pod *pod;
    struct sl_pod *there; /* where it runs, or is to */
    uint64_t release;     /* number of the one under way; 0: none */
    bool waits;
};

struct engine_rig {
    struct cut_rig cut; /* for its facts */
    struct sl_engine_config config;
    struct sl_engine *engine;
    struct sl_stages *stages;
    sl_engine_do_fn act; /* the rig is its context */
    struct engine_node node[ENGINE_NODES];
    unsigned n_nodes;
    const struct sl_view *view[ENGINE_NODES];
    struct engine_pod pod[ENGINE_PODS];
    unsigned n_pods;
    int64_t now_us;
    /* what is done with commands */
    bool refuses_nominations, refuses_cuts, refuses_releases, refuses_writes;
    bool bound_already; /* the pod that is nominated */
    bool holds;         /* a nomination that expires cannot be given back */
    /* the last of its kind */
    uint64_t write;
    struct sl_cut_run run;
    int result; /* of sl_engine_plan, and of sl_engine_cut */
    int cuts;
    char log[ENGINE_LOG];
    size_t len;
};

static inline void engine_log(struct engine_rig *rig, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline void engine_log(struct engine_rig *rig, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(rig->log + rig->len, sizeof(rig->log) - rig->len, format, args);
    va_end(args);
    assert_true(n > 0 && (size_t)n < sizeof(rig->log) - rig->len);
    rig->len += (size_t)n;
}

/* ---- life ---- */

static inline void engine_defaults(struct sl_engine_config *config)
{
    *config =
        (struct sl_engine_config){.max_predecessors = 100, .max_releases = 100, .releases = true};
    plan_defaults(&config->plan);
    config->plan.order.kind = SL_ORDER_FIFO;
    config->plan.preemption = false;
    config->cutting = (struct sl_engine_cutting){
        .max_nodes = 2,
        .timeout_us = 15 * SL_MINUTE_US,
        .backoff_us = SL_MINUTE_US,
        .max_backoff_us = 8 * SL_MINUTE_US,
    };
}

static inline bool engine_act(void *context, const struct sl_engine_command *command);

static inline void engine_begin(struct engine_rig *rig)
{
    struct sl_error err;
    rig->act = engine_act;
    facts_init(&rig->cut.facts);
    engine_defaults(&rig->config);
    rig->now_us = rig_now;
    rig->stages = sl_stages_new(100, &err);
    assert_non_null(rig->stages);
    rig->engine = sl_engine_new(&rig->config, rig->stages, &err);
    assert_non_null(rig->engine);
}

static inline void engine_end(struct engine_rig *rig)
{
    struct sl_stages_stats stats;
    sl_engine_free(rig->engine);
    sl_stages_stats(rig->stages, &stats);
    assert_int_equal(stats.waiters, 0);
    sl_stages_free(rig->stages);
    for (unsigned i = 0; i < rig->n_nodes; i++) {
        sl_view_free(rig->node[i].view);
        sl_view_free(rig->node[i].old);
        sl_node_unref(rig->node[i].node);
    }
    for (unsigned i = 0; i < rig->n_pods; i++) {
        sl_pod_unref(rig->pod[i].pod);
        sl_pod_unref(rig->pod[i].there);
    }
    facts_free(&rig->cut.facts);
}

/* Takes what the test has changed in the configuration. */
static inline void engine_configure(struct engine_rig *rig)
{
    struct sl_error err;
    assert_int_equal(sl_engine_configure(rig->engine, &rig->config, &err), 0);
}

/* ---- nodes ---- */

/* Makes the node as its members say. */
static inline void engine_show(struct engine_rig *rig, unsigned i)
{
    struct engine_node *n = &rig->node[i];
    struct sl_node_facts facts = {.name = sl_str_of(n->name), .actuator = n->actuator};
    struct sl_error err;
    facts.uid = sl_str_of(n->uid);
    facts.labels =
        facts_pairs(&rig->cut.facts, "nvidia.com/gpu.product=" A100 " nvidia.com/gpu.count=2"
                                     " nvidia.com/mig.strategy=mixed");
    if (n->config[0] != '\0') {
        facts_pair(&rig->cut.facts, &facts.labels, "nvidia.com/mig.config", n->config);
        facts_pair(&rig->cut.facts, &facts.labels, "nvidia.com/mig.config.state", n->state);
    }
    if (n->cut[0] != '\0') {
        facts_pair(&rig->cut.facts, &facts.annotations, "sliced.dev/cut", n->cut);
    }
    if (n->cut_text != NULL) {
        facts_pair(&rig->cut.facts, &facts.annotations, "sliced.dev/cut-text", n->cut_text);
    }
    for (unsigned d = 0; d < 2; d++) {
        const char *gpu = n->absent ? "" : n->gpu[d];
        if (n->actuator != SL_ACTUATOR_NOS_MIG) {
            (void)facts_device(&rig->cut.facts, &facts, (int)d, n->gpu[d]);
        }
        if (gpu == NULL) {
            rig_count(&rig->cut, &facts.allocatable, GPU);
        }
        for (const char *at = gpu; at != NULL && *at != '\0';) {
            struct rig_token token;
            char resource[96];
            at = rig_token(at, &token);
            rig_resource(token.name, resource);
            rig_count(&rig->cut, &facts.allocatable, resource);
            if (n->actuator == SL_ACTUATOR_NOS_MIG) {
                rig_report(&rig->cut, &facts, d, &token);
            }
        }
    }
    sl_node_unref(n->node);
    n->node = sl_node_new(&facts, &err);
    if (n->node == NULL) {
        fail_msg("%s", err.message);
    }
}

/* Adds a node, in order of name: "n0", "n1", ... */
static inline struct engine_node *engine_node(struct engine_rig *rig, enum sl_actuator actuator,
                                              const char *first, const char *second)
{
    unsigned i = rig->n_nodes++;
    struct engine_node *n = &rig->node[i];
    assert_true(i < ENGINE_NODES);
    *n = (struct engine_node){.actuator = actuator, .uid = "", .gpu = {first, second}};
    (void)snprintf(n->name, sizeof(n->name), "n%u", i);
    engine_show(rig, i);
    return n;
}

/* Does the view show the node as it is, with these pods? */
static inline bool engine_is_shown(const struct engine_node *node, struct sl_pod *const *there,
                                   size_t n)
{
    const struct sl_view *view = node->view;
    size_t found = 0;
    for (size_t i = 0; view != NULL && i < view->n_residents; i++) {
        for (size_t k = 0; k < n; k++) {
            found += view->resident[i].pod == there[k];
        }
    }
    return view != NULL && view->node == node->node && view->withheld == node->withheld &&
           found == n && view->n_residents == n;
}

/* Tells the engine of the cluster as it is, nominations included. A node that has not changed keeps
 * its view. */
static inline void engine_cluster(struct engine_rig *rig)
{
    struct sl_error err;
    size_t n_views = 0;
    for (unsigned i = 0; i < rig->n_nodes; i++) {
        struct engine_node *node = &rig->node[i];
        struct sl_pod *there[ENGINE_PODS];
        size_t n = 0;
        for (unsigned k = 0; k < rig->n_pods; k++) {
            struct sl_pod *pod = rig->pod[k].there;
            if (pod != NULL && strcmp(pod->node, node->name) == 0) {
                there[n++] = pod;
            }
        }
        if (!engine_is_shown(node, there, n)) {
            sl_view_free(node->old);
            node->old = node->view;
            const struct sl_host_use use = {.withheld = node->withheld};
            node->view = sl_view_new_beside(node->node, there, n, &use);
            assert_non_null(node->view);
        }
        if (!node->away) {
            rig->view[n_views++] = node->view;
        }
    }
    assert_int_equal(sl_engine_cluster(rig->engine, rig->view, n_views, NULL, rig->now_us, &err),
                     0);
}

/* ---- pods ---- */

static inline struct engine_pod *engine_find(struct engine_rig *rig, const char *name)
{
    for (unsigned i = rig->n_pods; i > 0; i--) {
        if (strcmp(rig->pod[i - 1].name, name) == 0) {
            return &rig->pod[i - 1];
        }
    }
    fail_msg("no pod %s", name);
    return NULL;
}

/* What is told of a pod; its name may begin with a namespace: "ns/a". */
struct engine_ask {
    const char *name;
    const char *asks; /* "gpu=1 mig-1g.5gb=2", by names of nvidia.com */
    const char *after;
    const char *timeout;
    const char *nominated;
    int64_t deadline_s; /* 0: none */
    int64_t created_us; /* 0: now */
    int32_t priority;
    bool ungated;
};

static inline struct sl_pod *engine_make(struct engine_rig *rig, const struct engine_ask *ask)
{
    struct sl_error err;
    const char *slash = strchr(ask->name, '/');
    struct sl_pod_facts facts = {
        .name = sl_str_of(slash == NULL ? ask->name : slash + 1),
        .uid = sl_str_of(ask->name),
        .nominated = sl_str_of(ask->nominated),
        .priority = ask->priority,
        .deadline_s = ask->deadline_s,
        .created_us = ask->created_us > 0 ? ask->created_us : rig->now_us,
    };
    if (slash != NULL) {
        facts.namespace = facts_text(&rig->cut.facts, ask->name, (size_t)(slash - ask->name));
    }
    if (ask->after != NULL) {
        facts_pair(&rig->cut.facts, &facts.annotations, "sliced.dev/after", ask->after);
    }
    if (ask->timeout != NULL) {
        facts_pair(&rig->cut.facts, &facts.annotations, "sliced.dev/timeout", ask->timeout);
    }
    if (!ask->ungated) {
        facts_pair(&rig->cut.facts, &facts.gates, "sliced.dev/queue", "");
    }
    struct sl_container_facts *main =
        facts_container(&rig->cut.facts, &facts.containers, "main", NULL, ask->asks);
    for (struct sl_pair *pair = main->limits; pair != NULL; pair = pair->next) {
        char key[96];
        (void)snprintf(key, sizeof(key), "nvidia.com/%s", pair->key.s);
        pair->key = facts_text(&rig->cut.facts, key, strlen(key));
    }
    struct sl_pod *pod = sl_pod_new(&facts, &err);
    if (pod == NULL) {
        fail_msg("%s", err.message);
    }
    return pod;
}

/* Tells of a pod that waits; one of that name is told of anew. */
static inline void engine_tell(struct engine_rig *rig, struct engine_ask ask)
{
    struct sl_error err;
    struct engine_pod *p = NULL;
    for (unsigned i = 0; i < rig->n_pods && p == NULL; i++) {
        bool same = strcmp(rig->pod[i].name, ask.name) == 0 && rig->pod[i].waits;
        p = same ? &rig->pod[i] : NULL;
    }
    if (p == NULL) {
        assert_true(rig->n_pods < ENGINE_PODS);
        p = &rig->pod[rig->n_pods++];
        *p = (struct engine_pod){.waits = true};
        (void)snprintf(p->name, sizeof(p->name), "%s", ask.name);
    }
    ask.created_us = p->pod == NULL ? ask.created_us : p->pod->created_us;
    sl_pod_unref(p->pod);
    p->pod = engine_make(rig, &ask);
    assert_int_equal(sl_engine_put(rig->engine, p->pod, rig->now_us, &err), 0);
}

static inline void engine_wait(struct engine_rig *rig, const char *name, const char *asks)
{
    engine_tell(rig, (struct engine_ask){.name = name, .asks = asks});
}

/* It waits no more, and runs nowhere. */
static inline void engine_gone(struct engine_rig *rig, const char *name)
{
    struct engine_pod *p = engine_find(rig, name);
    if (p->waits) {
        sl_engine_remove(rig->engine, sl_str_of(name), false, rig->now_us);
    }
    sl_pod_unref(p->there);
    p->there = NULL;
    p->waits = false;
    p->name[0] = '\0';
}

/* It runs on the node since now. */
static inline void engine_run_on(struct engine_rig *rig, const char *name, const char *node,
                                 const char *assignment)
{
    struct engine_pod *p = engine_find(rig, name);
    struct sl_pod *there = sl_pod_bound_to(p->pod, node, assignment, SL_POD_RUNNING);
    assert_non_null(there);
    there->started_us = rig->now_us;
    sl_pod_unref(p->there);
    p->there = there;
    p->waits = false;
    sl_engine_remove(rig->engine, sl_str_of(name), true, rig->now_us);
}

/* It is bound where it is nominated. */
static inline void engine_bind(struct engine_rig *rig, const char *name)
{
    const struct sl_pod *there = engine_find(rig, name)->there;
    assert_non_null(there);
    char node[ENGINE_TEXT];
    char assignment[SL_ASSIGNMENT_TEXT_MAX];
    (void)snprintf(node, sizeof(node), "%s", there->node);
    (void)snprintf(assignment, sizeof(assignment), "%s", there->assignment);
    engine_run_on(rig, name, node, assignment);
}

/* The release under way ends so. */
static inline enum sl_release_after engine_released(struct engine_rig *rig, const char *name,
                                                    enum sl_release_end end)
{
    struct engine_pod *p = engine_find(rig, name);
    uint64_t number = p->release;
    assert_true(number > 0);
    p->release = 0;
    enum sl_release_after after = sl_engine_released(
        rig->engine, sl_str_of(name), sl_str_of(p->pod->namespace), number, end, rig->now_us);
    if (after == SL_AFTER_REFUSED) {
        sl_pod_unref(p->there);
        p->there = NULL;
    }
    return after;
}

/* ---- commands ---- */

static inline bool engine_nominate(struct engine_rig *rig, struct engine_pod *p,
                                   const struct sl_engine_command *command)
{
    engine_log(rig, "nominate %s %s %s%s%s\n", p->name, command->node, command->assignment,
               command->backfilled ? " ahead" : "", rig->refuses_nominations ? " (refused)" : "");
    *command->bound = rig->bound_already;
    if (rig->refuses_nominations) {
        return false;
    }
    assert_null(p->there);
    p->there = sl_pod_bound_to(p->pod, command->node, command->assignment, SL_POD_PENDING);
    assert_non_null(p->there);
    return true;
}

static inline bool engine_expire(struct engine_rig *rig, struct engine_pod *p,
                                 const struct sl_engine_command *command)
{
    engine_log(rig, "expire %s %s %s: %s\n", p->name, command->node, command->assignment,
               sl_hold_reason_name(command->reason));
    if (!rig->holds) {
        sl_pod_unref(p->there);
        p->there = NULL;
    }
    return !rig->holds;
}

static inline bool engine_act_for_pod(struct engine_rig *rig,
                                      const struct sl_engine_command *command)
{
    struct engine_pod *p = engine_find(rig, command->pod->uid);
    switch (command->kind) {
    case SL_DO_NOMINATE:
        return engine_nominate(rig, p, command);
    case SL_DO_EXPIRE:
        return engine_expire(rig, p, command);
    case SL_DO_RELEASE:
        engine_log(rig, "release %s%s%s\n", p->name, command->bare ? " bare" : "",
                   rig->refuses_releases ? " (not now)" : "");
        p->release = rig->refuses_releases ? p->release : command->release;
        return !rig->refuses_releases;
    case SL_DO_WITHDRAW:
        engine_log(rig, "withdraw %s %s\n", p->name, command->node == NULL ? "-" : command->node);
        return true;
    default:
        assert_int_equal(command->kind, SL_DO_REFUSE);
        engine_log(rig, "refuse %s %s\n", p->name, sl_hold_reason_name(command->reason));
        return true;
    }
}

static inline bool engine_act(void *context, const struct sl_engine_command *command)
{
    struct engine_rig *rig = context;
    if (command->run != NULL) {
        rig->run = *command->run;
    }
    if (command->view != NULL || command->kind == SL_DO_CUT_END) {
        struct engine_node *node = &rig->node[command->node[1] - '0'];
        node->withheld = command->kind != SL_DO_CUT_END &&
                         (command->kind != SL_DO_CUT_BEGIN || !rig->refuses_cuts);
    }
    switch (command->kind) {
    case SL_DO_CUT_BEGIN:
        engine_log(rig, "begin %s: %s for %s%s\n", command->node, command->text, command->pods,
                   rig->refuses_cuts ? " (refused)" : "");
        return !rig->refuses_cuts;
    case SL_DO_CUT_HOLD:
        engine_log(rig, "hold %s\n", command->node);
        return true;
    case SL_DO_CUT_WRITE:
        engine_log(rig, "write %s %s%s\n", command->node,
                   command->step == SL_CUT_ORDER ? "order" : "end",
                   rig->refuses_writes ? " (not now)" : "");
        rig->write = rig->refuses_writes ? rig->write : command->write;
        return !rig->refuses_writes;
    case SL_DO_CUT_END:
        engine_log(rig, "end %s %s %s%s%s after %d s\n", command->node,
                   sl_cut_outcome_name(command->run->outcome), command->text,
                   command->trouble[0] == '\0' ? "" : ": ", command->trouble,
                   (int)(command->took_us / SL_SECOND_US));
        return true;
    default:
        return engine_act_for_pod(rig, command);
    }
}

/* ---- rounds ---- */

/* One round, as the programs make it. Returns the commands of it, a line each. */
static inline const char *engine_round(struct engine_rig *rig)
{
    struct sl_error err;
    rig->len = 0;
    rig->log[0] = '\0';
    engine_cluster(rig);
    if (sl_engine_follow(rig->engine, rig->now_us, rig->act, rig)) {
        engine_cluster(rig); /* a node is withheld no longer */
    }
    while (sl_engine_collect(rig->engine, rig->now_us, NULL, NULL)) {
    }
    rig->result = sl_engine_plan(rig->engine, rig->now_us, rig->act, rig, &err);
    sl_engine_audit(rig->engine);
    engine_cluster(rig);
    rig->cuts = sl_engine_cut(rig->engine, rig->now_us, rig->act, rig, &err);
    sl_engine_audit(rig->engine);
    return rig->log;
}

static inline const char *engine_later(struct engine_rig *rig, int64_t us)
{
    rig->now_us += us;
    return engine_round(rig);
}

/* "Held NoRoom" */
static inline const char *engine_state(struct engine_rig *rig, const char *name)
{
    static char text[ENGINE_TEXT];
    struct sl_queue_row row;
    if (!sl_planner_row(sl_engine_planner(rig->engine), sl_str_of(name), rig->now_us, &row)) {
        return "unknown";
    }
    (void)snprintf(text, sizeof(text), "%s %s", sl_queue_state_name(row.state),
                   sl_hold_reason_name(row.reason));
    return text;
}

static inline struct sl_partition_status engine_status(struct engine_rig *rig, unsigned node)
{
    struct sl_partition_status status;
    sl_engine_node(rig->engine, rig->node[node].view, rig->now_us, &status);
    assert_int_equal(status.phase, sl_engine_phase(rig->engine, rig->node[node].name, rig->now_us));
    return status;
}

/* ---- the agent of a node ---- */

/* The last write is done: it stands on the node, and the agent begins. */
static inline void engine_written(struct engine_rig *rig, unsigned node)
{
    struct engine_node *n = &rig->node[node];
    bool begins = rig->run.outcome == SL_CUT_RUNNING;
    (void)snprintf(n->cut, sizeof(n->cut), "%s", begins ? rig->run.name : "");
    if (begins && !rig->run.announces) {
        (void)snprintf(n->config, sizeof(n->config), "%s", rig->run.name);
        n->state = "pending";
        n->absent = true;
    }
    engine_show(rig, node);
    sl_engine_wrote(rig->engine, n->name, rig->write, SL_CUT_WRITTEN, NULL, rig->now_us);
}

/* Of the mig-manager the file is written before the order. */
static inline void engine_ordered(struct engine_rig *rig, unsigned node)
{
    bool announces = rig->run.announces;
    engine_written(rig, node);
    if (announces) {
        assert_non_null(strstr(engine_round(rig), " order\n"));
        engine_written(rig, node);
    }
    (void)engine_round(rig);
}

/* The agent has made the cuts of the run. */
static inline void engine_made(struct engine_rig *rig, unsigned node)
{
    struct engine_node *n = &rig->node[node];
    for (unsigned i = 0; i < rig->run.n_cuts; i++) {
        const struct sl_cut *cut = &rig->run.cut[i];
        char *at = n->held[cut->device];
        size_t len = 0;
        at[0] = '\0';
        for (unsigned k = 0; k < cut->n; k++) {
            len += (size_t)snprintf(
                at + len, sizeof(n->held[0]) - len, "%s%s@%d", k == 0 ? "" : " ",
                n->node->model->profiles[cut->instance[k].profile].name, cut->instance[k].start);
        }
        n->gpu[cut->device] = cut->whole ? NULL : at;
    }
    n->absent = false;
    n->state = "success";
    engine_show(rig, node);
}

#endif
