/* A planner remembers much, so that a change costs little: it decides as one would that was told of
 * the same cluster and the same pods just now. Numbers are the same in every run. */
#include "plan_rig.h"

#define SHARED "nvidia.com/gpu.shared" /* only the last node has it, and that comes and goes */

enum { STEPS = 120, NODES = 6 };

struct world {
    struct plan_rig *rig;
    uint64_t random;
    int64_t end_us[PLAN_PODS]; /* of who runs; 0: waits, or has ended */
    bool over[PLAN_PODS];
    bool pairs; /* some pods ask for two resources: their reasons may be those of before */
};

static unsigned draw(struct world *w, unsigned n)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(w->random >> 33) % n;
}

static void ask_for_gpus_too(struct world *w, struct plan_rig_pod *p)
{
    p->item[1] = (struct sl_ask_item){.resource = GPU,
                                      .key = sl_hash(GPU, strlen(GPU)),
                                      .kind = SL_KIND_WHOLE,
                                      .count = 1 + (int64_t)draw(w, 2)};
    p->pod.n_items = 2;
}

static void arrive(struct world *w)
{
    char name[PLAN_NAME];
    bool shares = draw(w, 3) == 0;
    bool rare = draw(w, 12) == 0;
    (void)snprintf(name, sizeof(name), "p%03u", w->rig->n_pods);
    struct plan_rig_pod *p =
        plan_rig_pod(w->rig, name,
                     rare     ? SHARED
                     : shares ? MEM
                              : GPU,
                     1 + draw(w, shares && !rare ? 9 : 4), 60 * (1 + (int64_t)draw(w, 40)));
    if (w->pairs && shares && !rare && draw(w, 3) == 0) {
        ask_for_gpus_too(w, p);
    }
    p->pod.priority = draw(w, 4) == 0 ? 10 : 0;
    if (draw(w, 3) == 0) {
        p->constraints.cpu_milli = 1000 * (1 + (int64_t)draw(w, 6));
        p->constraints.digest = (uint64_t)p->constraints.cpu_milli;
        p->pod.constraints = &p->constraints;
    }
    plan_rig_put(w->rig, p);
}

static bool waits(const struct world *w, unsigned i)
{
    return w->rig->pod[i]->bound == NULL && !w->over[i];
}

/* Does the edit end what its owner held it back by? */
static bool lets_go(struct plan_rig *rig, const struct plan_rig_pod *was,
                    const struct plan_rig_pod *is)
{
    struct sl_queue_row row;
    return (was->pod.gate == SL_GATE_OTHERS && is->pod.gate != SL_GATE_OTHERS) ||
           (plan_rig_row(rig, was->name, &row) && row.reason == SL_HOLD_LIMIT);
}

/* Somebody edits a pod that waits. */
static void edit(struct world *w)
{
    unsigned i = draw(w, w->rig->n_pods + 1);
    if (i == w->rig->n_pods || !waits(w, i)) {
        return;
    }
    const struct plan_rig_pod *was = w->rig->pod[i];
    struct plan_rig_pod *p = plan_rig_pod(w->rig, was->name, was->item[0].resource,
                                          was->item[0].count, was->pod.timeout_s);
    w->over[i] = true; /* the other stands for it */
    p->pod.priority = was->pod.priority;
    p->pod.created_us = was->pod.created_us;
    p->pod.gate = was->pod.gate;
    p->item[1] = was->item[1];
    p->pod.n_items = was->pod.n_items;
    p->constraints = was->constraints;
    p->pod.constraints = was->pod.constraints == NULL ? NULL : &p->constraints;
    switch (draw(w, 5)) {
    case 0:
        p->pod.priority = 10 * (int32_t)draw(w, 3);
        break;
    case 1:
        p->pod.timeout_s = 60 * (1 + (int64_t)draw(w, 40));
        break;
    case 2:
        p->item[0].count = 1 + draw(w, 4);
        break;
    case 3: /* another resource: its lane is another */
        p->item[0] = (struct sl_ask_item){.resource = GPU,
                                          .key = sl_hash(GPU, strlen(GPU)),
                                          .kind = SL_KIND_WHOLE,
                                          .count = 1 + (int64_t)draw(w, 4)};
        p->pod.n_items = 1;
        break;
    default:
        p->pod.gate = p->pod.gate == SL_GATE_OURS ? SL_GATE_OTHERS : SL_GATE_OURS;
        break;
    }
    if (lets_go(w->rig, was, p)) { /* its wait begins now: another planner cannot know */
        p->pod.created_us = w->rig->now_us;
    }
    plan_rig_put(w->rig, p);
}

static void change_node(struct world *w)
{
    struct plan_rig_node *n = &w->rig->node[draw(w, w->rig->n_nodes)];
    unsigned d = draw(w, n->node.n_devices);
    switch (draw(w, 6)) {
    case 0:
        n->device[d].healthy = !n->device[d].healthy;
        break;
    case 1:
        n->node.unschedulable = !n->node.unschedulable;
        n->node.site_digest = 1 + n->node.unschedulable;
        break;
    case 2:
        n->node.host.cpu_milli = 4000 * (1 + (int64_t)draw(w, 3));
        break;
    case 3:
        n->away = n != w->rig->node && !n->away; /* the first stays */
        break;
    case 4: /* one goes as another comes */
        w->rig->node[2].away = !w->rig->node[NODES - 2].away;
        w->rig->node[NODES - 2].away = !w->rig->node[2].away;
        break;
    default:
        w->rig->n_nodes =
            w->rig->n_nodes == NODES ? NODES - 1 : NODES; /* the last goes and comes */
        break;
    }
}

static void reload(struct world *w)
{
    w->rig->config.backfill = draw(w, 3) > 0;
    w->rig->config.n_limits = (uint8_t)draw(w, 2);
    w->rig->config.limit[0].max_timeout_us = SECONDS(1800);
    plan_rig_configure(w->rig);
}

static void change(struct world *w)
{
    for (unsigned i = draw(w, 4); i > 0; i--) {
        arrive(w);
    }
    for (unsigned i = 0; i < w->rig->n_pods; i++) {
        if (w->end_us[i] != 0 && w->end_us[i] <= w->rig->now_us) {
            plan_rig_end(w->rig, w->rig->pod[i]->name);
            w->end_us[i] = 0;
            w->over[i] = true;
        }
    }
    if (draw(w, 4) == 0) {
        change_node(w);
    }
    if (draw(w, 3) == 0) {
        edit(w);
    }
    if (draw(w, 25) == 0) {
        reload(w);
    }
    if (draw(w, 9) == 0) { /* whoever waits may leave */
        unsigned i = draw(w, w->rig->n_pods + 1);
        if (i < w->rig->n_pods && waits(w, i)) {
            sl_planner_remove(w->rig->planner, sl_str_of(w->rig->pod[i]->name), w->rig->now_us);
            w->over[i] = true;
        }
    }
}

/* How each pod stands after a run. */
static const char *decide(struct world *w)
{
    struct plan_rig *rig = w->rig;
    struct sl_error err = {0};
    (void)plan_rig_run(rig, 1000);
    assert_int_equal(sl_planner_estimate(rig->planner, rig->now_us, &err), 0);
    rig->log[0] = '\0';
    for (unsigned i = 0; i < rig->n_pods; i++) {
        const char *name = rig->pod[i]->name;
        struct sl_queue_row row;
        if (waits(w, i) && plan_rig_row(rig, name, &row)) {
            bool has = row.state == SL_QUEUE_NOMINATED;
            plan_rig_log(rig, "%s %s %s %s %u %s\n", name, sl_queue_state_name(row.state),
                         has ? row.node : "", has ? row.assignment : "", row.ahead,
                         row.first == NULL ? "" : row.first->name);
            if (!w->pairs) {
                plan_rig_log(rig, "  %s %s %lld\n", sl_hold_reason_name(row.reason),
                             sl_estimate_name(row.estimate), (long long)row.start_us);
            }
        }
    }
    return rig->log;
}

static void compare(struct world *w)
{
    static char log[PLAN_LOG];
    struct sl_planner *old = w->rig->planner;
    const struct sl_view *views[PLAN_NODES];
    struct sl_error err = {0};
    plan_rig_cluster(w->rig);
    (void)snprintf(log, sizeof(log), "%s", decide(w));
    w->rig->planner = sl_planner_new(&w->rig->config, &err);
    assert_non_null(w->rig->planner);
    for (unsigned i = 0; i < w->rig->n_pods; i++) {
        if (waits(w, i)) {
            plan_rig_put(w->rig, w->rig->pod[i]);
        }
    }
    unsigned n = plan_rig_views(w->rig, views);
    assert_int_equal(sl_planner_cluster(w->rig->planner, views, n, w->rig->now_us, &err), 0);
    assert_string_equal(log, decide(w));
    sl_planner_free(w->rig->planner);
    w->rig->planner = old;
}

static void bind_nominated(struct world *w)
{
    for (unsigned i = 0; i < w->rig->n_pods; i++) {
        struct sl_queue_row row;
        const char *name = w->rig->pod[i]->name;
        if (waits(w, i) && plan_rig_row(w->rig, name, &row) && row.state == SL_QUEUE_NOMINATED) {
            plan_rig_bind(w->rig, name);
            w->end_us[i] = w->rig->now_us + SECONDS(1 + draw(w, 1500));
        }
    }
}

static void play(enum sl_order_kind order, uint64_t seed)
{
    struct world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    w->rig = plan_rig_new();
    w->random = seed;
    w->pairs = seed / 2 == 1;
    w->rig->config.order.kind = order;
    w->rig->config.preemption = false;
    if (seed % 2 == 0) {
        struct sl_plan_headroom *kept = &w->rig->config.headroom[0];
        (void)snprintf(kept->resource, sizeof(kept->resource), "%s", GPU);
        kept->units = 3;
        kept->max_timeout_us = SECONDS(600);
        w->rig->config.n_headrooms = 1;
    }
    plan_rig_configure(w->rig);
    for (unsigned n = 0; n < NODES; n++) {
        char name[PLAN_NAME];
        (void)snprintf(name, sizeof(name), "n%u", n);
        struct plan_rig_node *node = plan_rig_node(w->rig, name, 1 + n % 4);
        node->node.host.cpu_milli = INT64_C(4000) * (1 + n % 3);
        plan_rig_share(node, 8);
        if (n == NODES - 1) {
            node->pool[0] = node->pool[1];
            node->pool[1] = (struct sl_pool){.resource = SHARED,
                                             .key = sl_hash(SHARED, strlen(SHARED)),
                                             .kind = SL_KIND_REPLICA,
                                             .capacity = INT64_C(2) * node->node.n_devices,
                                             .replicas = 2,
                                             .on_devices = true};
        }
    }
    for (unsigned step = 0; step < STEPS; step++) {
        w->rig->now_us += SECONDS(1 + draw(w, 90));
        change(w);
        compare(w);
        bind_nominated(w);
    }
    assert_true(w->rig->n_pods > STEPS);
    w->rig->n_nodes = NODES;
    plan_rig_free(w->rig);
    free(w);
}

TEST_THAT(what_is_remembered_changes_no_decision)
{
    static const enum sl_order_kind orders[] = {SL_ORDER_FIFO, SL_ORDER_SJF, SL_ORDER_P,
                                                SL_ORDER_HRRN};
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        for (uint64_t seed = 1; seed <= 4; seed++) {
            play(orders[i], seed);
        }
    }
}
