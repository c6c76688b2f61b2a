/* A cluster and a queue put together by hand, with a clock of their own, for the tests of the plan.
 * What the planner does is written down as lines: "nomination a on n1: nvidia.com/gpu=0". */
#ifndef SLICED_TEST_PLAN_RIG_H
#define SLICED_TEST_PLAN_RIG_H

#include <stdio.h>
#include <stdlib.h>

#include "core/plan/state/calls.h"
#include "unit/core/plan/plan_defaults.h"
#include "unit/test.h"

#define GPU "nvidia.com/gpu"
#define MEM "aliyun.com/gpu-mem"

enum { PLAN_NODES = 16, PLAN_PODS = 4096, PLAN_NAME = 24, PLAN_LOG = 1 << 16 };

#define SECONDS(n) ((int64_t)(n)*1000000)

struct plan_rig_node {
    struct sl_node node;
    struct sl_device device[8];
    struct sl_pool pool[2];
    char name[PLAN_NAME];
    bool away; /* the planner is not told of it */
};

struct plan_rig_pod {
    struct sl_pod pod;
    struct sl_constraints constraints;
    struct sl_ask_item item[2];
    char name[PLAN_NAME];
    char nominated[PLAN_NAME];
    struct sl_pod *bound; /* runs */
};

struct plan_rig {
    struct sl_plan_config config;
    struct sl_planner *planner;
    struct plan_rig_node node[PLAN_NODES];
    struct sl_view *view[PLAN_NODES];
    struct sl_view *old[PLAN_NODES];
    unsigned n_nodes;
    struct plan_rig_pod *pod[PLAN_PODS];
    unsigned n_pods;
    int64_t now_us;
    char log[PLAN_LOG];
};

/* Strict submission order, with backfill; a test about another order configures it. */
static inline struct plan_rig *plan_rig_new(void)
{
    struct plan_rig *rig = calloc(1, sizeof(*rig));
    struct sl_error err = {0};
    assert_non_null(rig);
    plan_defaults(&rig->config);
    rig->config.order.kind = SL_ORDER_FIFO;
    rig->planner = sl_planner_new(&rig->config, &err);
    assert_non_null(rig->planner);
    rig->now_us = SECONDS(1000000);
    return rig;
}

static inline void plan_rig_configure(struct plan_rig *rig)
{
    struct sl_error err = {0};
    assert_int_equal(sl_planner_configure(rig->planner, &rig->config, &err), 0);
}

static inline void plan_rig_free(struct plan_rig *rig)
{
    sl_planner_free(rig->planner);
    for (unsigned i = 0; i < rig->n_nodes; i++) {
        sl_view_free(rig->view[i]);
        sl_view_free(rig->old[i]);
        assert_int_equal(rig->node[i].node.refs, 1000000);
    }
    for (unsigned i = 0; i < rig->n_pods; i++) {
        sl_pod_unref(rig->pod[i]->bound);
        assert_int_equal(rig->pod[i]->pod.refs, 1000000);
        free(rig->pod[i]);
    }
    free(rig);
}

/* Nodes are added in order of name. */
static inline struct plan_rig_node *plan_rig_node(struct plan_rig *rig, const char *name,
                                                  unsigned gpus)
{
    assert_true(rig->n_nodes < PLAN_NODES && gpus <= 8);
    struct plan_rig_node *n = &rig->node[rig->n_nodes];
    rig->n_nodes++;
    uint32_t refs = n->node.refs > 0 ? n->node.refs : 1000000; /* of one that was there before */
    snprintf(n->name, sizeof(n->name), "%s", name);
    n->node = (struct sl_node){
        .name = n->name,
        .layout = SL_LAYOUT_ANNOTATED,
        .n_devices = (uint16_t)gpus,
        .n_pools = 1,
        .device = n->device,
        .pool = n->pool,
        .host = {-1, -1, -1},
        .refs = refs,
    };
    n->pool[0] = (struct sl_pool){.resource = GPU,
                                  .key = sl_hash(GPU, strlen(GPU)),
                                  .kind = SL_KIND_WHOLE,
                                  .capacity = gpus,
                                  .replicas = 1,
                                  .on_devices = true};
    for (unsigned i = 0; i < gpus; i++) {
        n->device[i] = (struct sl_device){.index = (int16_t)i, .healthy = true};
    }
    return n;
}

/* Memory that can be shared beside whole GPUs; its name sorts before theirs. */
static inline void plan_rig_share(struct plan_rig_node *n, int64_t units)
{
    n->pool[1] = n->pool[0];
    n->pool[0] = (struct sl_pool){.resource = MEM,
                                  .key = sl_hash(MEM, strlen(MEM)),
                                  .kind = SL_KIND_MEMORY,
                                  .capacity = units * n->node.n_devices,
                                  .replicas = 1,
                                  .on_devices = true};
    n->node.n_pools = 2;
    for (unsigned i = 0; i < n->node.n_devices; i++) {
        n->device[i].memory_units = units;
    }
}

static inline struct plan_rig_pod *plan_rig_find(struct plan_rig *rig, const char *name)
{
    for (unsigned i = rig->n_pods; i > 0; i--) {
        if (strcmp(rig->pod[i - 1]->name, name) == 0) {
            return rig->pod[i - 1];
        }
    }
    fail_msg("no pod %s", name);
    return NULL;
}

/* Not put yet. */
static inline struct plan_rig_pod *plan_rig_pod(struct plan_rig *rig, const char *name,
                                                const char *resource, int64_t count,
                                                int64_t timeout_s)
{
    assert_true(rig->n_pods < PLAN_PODS);
    struct plan_rig_pod *p = calloc(1, sizeof(*p));
    assert_non_null(p);
    struct sl_resource parsed;
    rig->pod[rig->n_pods] = p;
    rig->n_pods++;
    (void)snprintf(p->name, sizeof(p->name), "%.*s", (int)sizeof(p->name) - 1, name);
    p->item[0] = (struct sl_ask_item){
        .resource = resource, .key = sl_hash(resource, strlen(resource)), .count = count};
    assert_true(sl_resource_parse(sl_str_of(resource), &parsed));
    p->item[0].kind = parsed.kind;
    p->item[0].shape = parsed.shape;
    p->pod = (struct sl_pod){
        .namespace = "ns",
        .name = p->name,
        .uid = p->name,
        .gate = SL_GATE_OURS,
        .created_us = rig->now_us,
        .timeout_s = timeout_s,
        .items = p->item,
        .n_items = 1,
        .refs = 1000000,
    };
    return p;
}

static inline void plan_rig_put(struct plan_rig *rig, struct plan_rig_pod *p)
{
    struct sl_error err = {0};
    assert_int_equal(sl_planner_put(rig->planner, &p->pod, rig->now_us, &err), 0);
}

/* A pod for so many GPUs waits from now on. */
static inline struct plan_rig_pod *plan_rig_wait(struct plan_rig *rig, const char *name,
                                                 int64_t gpus, int64_t timeout_s)
{
    struct plan_rig_pod *p = plan_rig_pod(rig, name, GPU, gpus, timeout_s);
    plan_rig_put(rig, p);
    return p;
}

/* Returns how many views the planner is told of. */
static inline unsigned plan_rig_views(const struct plan_rig *rig,
                                      const struct sl_view *views[PLAN_NODES])
{
    unsigned n = 0;
    for (unsigned i = 0; i < rig->n_nodes; i++) {
        if (!rig->node[i].away) {
            views[n] = rig->view[i];
            n++;
        }
    }
    return n;
}

/* Tells the planner of the cluster as it is. The views before stay until the next call. */
static inline void plan_rig_cluster(struct plan_rig *rig)
{
    struct sl_error err = {0};
    struct sl_pod *pods[PLAN_PODS];
    const struct sl_view *views[PLAN_NODES];
    unsigned n = 0;
    for (unsigned i = 0; i < rig->n_pods; i++) {
        if (rig->pod[i]->bound != NULL) {
            pods[n] = rig->pod[i]->bound;
            n++;
        }
    }
    for (unsigned i = 0; i < rig->n_nodes; i++) {
        struct sl_view *fresh = sl_view_new(&rig->node[i].node, pods, n);
        assert_non_null(fresh);
        sl_view_free(rig->old[i]);
        rig->old[i] = rig->view[i];
        rig->view[i] = fresh;
    }
    n = plan_rig_views(rig, views);
    assert_int_equal(sl_planner_cluster(rig->planner, views, n, rig->now_us, &err), 0);
}

/* It runs on that node since now; assignment may be NULL. */
static inline void plan_rig_start(struct plan_rig *rig, struct plan_rig_pod *p, const char *node,
                                  const char *assignment)
{
    p->bound = sl_pod_bound_to(&p->pod, node, assignment, SL_POD_RUNNING);
    assert_non_null(p->bound);
    p->bound->started_us = rig->now_us;
    sl_planner_remove(rig->planner, sl_str_of(p->name), rig->now_us);
}

/* A pod that ran before anybody planned. */
static inline struct plan_rig_pod *plan_rig_run_on(struct plan_rig *rig, const char *name,
                                                   const char *node, int64_t gpus,
                                                   int64_t timeout_s)
{
    struct plan_rig_pod *p = plan_rig_pod(rig, name, GPU, gpus, timeout_s);
    plan_rig_start(rig, p, node, NULL);
    return p;
}

static inline bool plan_rig_row(struct plan_rig *rig, const char *name, struct sl_queue_row *row)
{
    return sl_planner_row(rig->planner, sl_str_of(name), rig->now_us, row);
}

/* The nominated pod is bound where its nomination is. */
static inline void plan_rig_bind(struct plan_rig *rig, const char *name)
{
    struct sl_queue_row row;
    assert_true(plan_rig_row(rig, name, &row));
    assert_int_equal(row.state, SL_QUEUE_NOMINATED);
    struct plan_rig_pod *p = plan_rig_find(rig, name);
    p->bound = sl_pod_bound_to(&p->pod, row.node, row.assignment, SL_POD_RUNNING);
    assert_non_null(p->bound);
    p->bound->started_us = rig->now_us;
    sl_planner_remove(rig->planner, sl_str_of(name), rig->now_us);
}

static inline void plan_rig_end(struct plan_rig *rig, const char *name)
{
    struct plan_rig_pod *p = plan_rig_find(rig, name);
    assert_non_null(p->bound);
    sl_pod_unref(p->bound);
    p->bound = NULL;
}

static inline void plan_rig_log(struct plan_rig *rig, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline void plan_rig_log(struct plan_rig *rig, const char *format, ...)
{
    va_list args;
    size_t len = strlen(rig->log);
    va_start(args, format);
    (void)vsnprintf(rig->log + len, sizeof(rig->log) - len, format, args);
    va_end(args);
}

static inline void plan_rig_act(void *context, const struct sl_plan_action *action)
{
    struct plan_rig *rig = context;
    const char *name = action->pod->name;
    switch (action->kind) {
    case SL_PLAN_NOMINATE:
        plan_rig_log(rig, "%s %s on %s: %s\n", action->backfilled ? "backfill" : "nomination", name,
                     action->node, action->assignment);
        break;
    case SL_PLAN_RELEASE:
        plan_rig_log(rig, "release %s\n", name);
        break;
    case SL_PLAN_EXPIRE:
        plan_rig_log(rig, "expire %s on %s: %s\n", name, action->node,
                     sl_hold_reason_name(action->reason));
        break;
    case SL_PLAN_REFUSE:
        plan_rig_log(rig, "refuse %s: %s\n", name, sl_hold_reason_name(action->reason));
        break;
    }
}

/* What a run does, as text; before and after it all parts of the planner agree. */
static inline const char *plan_rig_run(struct plan_rig *rig, size_t max_nominations)
{
    struct sl_error err = {0};
    rig->log[0] = '\0';
    sl_planner_audit(rig->planner);
    assert_int_equal(
        sl_planner_run(rig->planner, NULL, max_nominations, rig->now_us, plan_rig_act, rig, &err),
        0);
    sl_planner_audit(rig->planner);
    return rig->log;
}

static inline const char *plan_rig_plan(struct plan_rig *rig)
{
    plan_rig_cluster(rig);
    return plan_rig_run(rig, 1000);
}

/* "Held NoRoom" */
static inline const char *plan_rig_state(struct plan_rig *rig, const char *name)
{
    static char text[64];
    struct sl_queue_row row;
    if (!plan_rig_row(rig, name, &row)) {
        return "unknown";
    }
    snprintf(text, sizeof(text), "%s %s", sl_queue_state_name(row.state),
             sl_hold_reason_name(row.reason));
    return text;
}

static inline int plan_rig_set_up(void **state)
{
    *state = plan_rig_new();
    return 0;
}

static inline int plan_rig_tear_down(void **state)
{
    plan_rig_free(*state);
    return 0;
}

#endif
