/* Every allocation of the planner fails in turn, alone and with all that follow. After each failure
 * it was reported, trying again succeeds, the plan is the one that would have been made, and
 * nothing has leaked. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "plan_rig.h"

#include "unit/lack.h"

enum { TRIES_MAX = 5000, STEPS = 19, PODS = 8, TEXT = 8192 };

struct world {
    struct plan_rig *rig;
    struct sl_view *view[3][2]; /* the cluster at three times */
    struct plan_rig_pod *pod[PODS];
    size_t max_nominations;
};

static struct sl_view *view_of(struct plan_rig *rig, unsigned node, struct sl_pod *pod)
{
    struct sl_view *view = sl_view_new(&rig->node[node].node, &pod, pod == NULL ? 0 : 1);
    assert_non_null(view);
    return view;
}

/* A tenant has every second pod. */
static void set_tenants(struct plan_rig *rig)
{
    static const struct sl_tenants tenants = {
        .n_spaces = 1,
        .space = {{.namespace = "even", .tenant = "even"}},
        .n_shares = 1,
        .share = {{.tenant = "even", .weight = SL_TENANT_WEIGHT_ONE, .users = true}}};
    rig->config.tenants = &tenants;
}

static void build(struct world *w, enum sl_order_kind order, bool tenants)
{
    static const struct {
        const char *name;
        int64_t gpus;
        int64_t timeout;
    } pods[] = {{"a", 1, 50}, {"b", 2, 100}, {"c", 1, 10}, {"d", 1, 500},
                {"e", 2, 20}, {"f", 9, 20},  {"g", 3, 30}, {"h", 1, 40}};
    struct plan_rig *rig = plan_rig_new();
    w->rig = rig;
    rig->config.order.kind = order;
    rig->config.autoscaler_pods = 1;
    if (tenants) {
        set_tenants(rig);
    }
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 2);
    plan_rig_node(rig, "n2", 2);
    plan_rig_share(plan_rig_node(rig, "n2", 2), 4); /* as it is in the end */
    for (unsigned i = 0; i < PODS; i++) {
        w->pod[i] = plan_rig_pod(rig, pods[i].name, GPU, pods[i].gpus, pods[i].timeout);
        w->pod[i]->constraints.digest = i;
        w->pod[i]->pod.namespace = i % 2 == 0 ? "even" : "odd";
        w->pod[i]->pod.constraints = &w->pod[i]->constraints;
    }
    for (unsigned i = 6; i < PODS; i++) { /* for what no node offers before */
        struct plan_rig_pod *p = w->pod[i];
        p->item[1] = p->item[0];
        p->item[0] = (struct sl_ask_item){.resource = MEM,
                                          .key = sl_hash(MEM, strlen(MEM)),
                                          .kind = SL_KIND_MEMORY,
                                          .count = pods[i].gpus};
        p->pod.n_items = i == 6 ? 1 : 2;
    }
    struct plan_rig_pod *x = plan_rig_pod(rig, "x", GPU, 1, 100);
    x->bound = sl_pod_bound_to(&x->pod, "n1", GPU "=1", SL_POD_RUNNING);
    assert_non_null(x->bound);
    x->bound->started_us = rig->now_us;
    w->view[0][0] = view_of(rig, 0, NULL);
    w->view[0][1] = view_of(rig, 1, NULL);
    w->view[1][0] = view_of(rig, 0, x->bound);
    w->view[1][1] = view_of(rig, 1, NULL);
    w->view[2][0] = view_of(rig, 0, NULL);
    w->view[2][1] = view_of(rig, 2, NULL);
}

static void destroy(struct world *w)
{
    sl_planner_free(w->rig->planner);
    w->rig->planner = NULL;
    for (unsigned i = 0; i < 6; i++) {
        sl_view_free(w->view[i / 2][i % 2]);
    }
    plan_rig_free(w->rig);
}

static int put(struct world *w, unsigned pod, struct sl_error *err)
{
    return sl_planner_put(w->rig->planner, &w->pod[pod]->pod, w->rig->now_us, err);
}

static int tell(struct world *w, unsigned at, size_t n, struct sl_error *err)
{
    const struct sl_view *views[2] = {w->view[at][0], w->view[at][1]};
    return sl_planner_cluster(w->rig->planner, views, n, w->rig->now_us, err);
}

static int plan(struct world *w, struct sl_error *err)
{
    return sl_planner_run(w->rig->planner, NULL, 100, w->rig->now_us, plan_rig_act, w->rig, err);
}

/* The story: pods come, are nominated, one is removed, one fails, a node goes and comes with
 * something that it did not offer, nominations expire. */
static int step(struct world *w, unsigned i, struct sl_error *err)
{
    struct sl_planner *planner = w->rig->planner;
    switch (i) {
    case 0:
    case 1:
    case 2:
        return put(w, i, err);
    case 3:
        return tell(w, 0, 2, err);
    case 4:
    case 6:
    case 13:
    case 15:
    case 17:
        return plan(w, err);
    case 18:
        return sl_planner_configure(planner, &w->rig->config, err);
    case 5:
        return tell(w, 1, 2, err);
    case 7:
    case 8:
    case 9:
    case 10:
    case 11:
        return put(w, i - 4, err);
    case 12:
        return tell(w, 2, 1, err);
    case 14:
        return tell(w, 2, 2, err);
    default:
        w->rig->now_us += w->rig->config.hold_us;
        return sl_planner_estimate(planner, w->rig->now_us, err);
    }
}

static void after_step(struct world *w, unsigned i)
{
    if (i == 4) {
        sl_planner_remove(w->rig->planner, SL_STR("c"), w->rig->now_us);
        sl_planner_failed(w->rig->planner, SL_STR("a"), w->rig->now_us);
    }
}

static void add_row(void *context, const struct sl_queue_row *row)
{
    char *text = context;
    size_t len = strlen(text);
    (void)snprintf(text + len, TEXT - len, "%s %s %s %s\n", row->pod->name,
                   sl_queue_state_name(row->state), row->node == NULL ? "-" : row->node,
                   row->assignment == NULL ? "-" : row->assignment);
}

/* True when an allocation was failed. */
static bool play(enum sl_order_kind order, bool tenants, size_t n, bool forever, char text[TEXT])
{
    struct world w;
    bool hit = false;
    build(&w, order, tenants);
    if (n > 0) {
        lack_arm(n, forever);
    }
    for (unsigned i = 0; i < STEPS; i++) {
        struct sl_error err = {0};
        if (step(&w, i, &err) < 0) {
            assert_int_equal(err.code, SL_ERR_NOMEM);
            hit = lack_disarm() || hit;
            assert_true(hit);
            if (i == 16) { /* time had moved on already */
                w.rig->now_us -= w.rig->config.hold_us;
            }
            assert_int_equal(step(&w, i, &err), 0);
        }
        after_step(&w, i);
    }
    hit = lack_disarm() || hit;
    text[0] = '\0';
    (void)sl_planner_visit(w.rig->planner, w.rig->now_us, 100, add_row, text);
    destroy(&w);
    return hit;
}

static void each_allocation_fails(enum sl_order_kind order, bool tenants, bool forever)
{
    char expected[TEXT];
    char text[TEXT];
    const int64_t live = lack.live;
    (void)play(order, tenants, 0, false, expected);
    assert_non_null(strstr(expected, "Nominated"));
    size_t n = 1;
    for (bool hit = true; hit; n++) {
        assert_true(n < TRIES_MAX);
        hit = play(order, tenants, n, forever, text);
        if (order != SL_ORDER_BOUNDED && !tenants) { /* these go on with what they can remember */
            assert_string_equal(text, expected);
        }
        assert_int_equal(lack.live, live);
    }
    assert_true(n > 50);
}

TEST_THAT(a_plan_survives_each_lack_of_memory)
{
    each_allocation_fails(SL_ORDER_SJF, false, false);
    each_allocation_fails(SL_ORDER_SJF, false, true);
    each_allocation_fails(SL_ORDER_HRRN, false, false);
}

TEST_THAT(the_bounded_order_survives_each_lack_of_memory)
{
    each_allocation_fails(SL_ORDER_BOUNDED, false, false);
    each_allocation_fails(SL_ORDER_BOUNDED, false, true);
}

TEST_THAT(the_order_by_tenants_survives_each_lack_of_memory)
{
    each_allocation_fails(SL_ORDER_BOUNDED, true, false);
    each_allocation_fails(SL_ORDER_SJF, true, true);
}
