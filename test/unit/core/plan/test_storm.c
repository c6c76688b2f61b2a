/* Whatever happens, in any order: nominations and what runs never need a device twice, rows and
 * numbers agree, and nothing is lost. Random, but the same in every run. */
#include "plan_rig.h"

#include "sliced/constraint.h"

enum { SEEDS = 25, STEPS = 400, LIVE = 24 };

struct storm {
    struct plan_rig *rig;
    uint64_t random;
    unsigned came;
    struct plan_rig_pod *live[LIVE]; /* wait or run; NULL: free slot */
};

static unsigned pick(struct storm *s, unsigned n)
{
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(s->random >> 33) % n;
}

static void come(struct storm *s, unsigned slot)
{
    char name[PLAN_NAME];
    snprintf(name, sizeof(name), "p%04u", s->came);
    s->came++;
    bool memory = pick(s, 3) == 0;
    struct plan_rig_pod *p =
        plan_rig_pod(s->rig, name, memory ? MEM : GPU, 1 + pick(s, memory ? 16 : 3),
                     pick(s, 5) == 0 ? 0 : 1 + pick(s, 300));
    if (!memory && pick(s, 5) == 0) { /* of both; items are in order of name */
        p->item[1] = p->item[0];
        p->item[0] = (struct sl_ask_item){
            .resource = MEM, .key = sl_hash(MEM, strlen(MEM)), .count = 4, .kind = SL_KIND_MEMORY};
        p->pod.n_items = 2;
    }
    p->pod.priority = (int32_t)pick(s, 3);
    p->pod.gate = pick(s, 6) == 0 ? SL_GATE_OTHERS : SL_GATE_OURS;
    p->constraints.digest = 1 + pick(s, 3);
    p->constraints.cpu_milli = (int64_t)p->constraints.digest * 100;
    p->pod.constraints = &p->constraints;
    if (pick(s, 20) == 0) {
        p->pod.malformed = "no";
    }
    s->live[slot] = p;
    plan_rig_put(s->rig, p);
}

/* The same pod, put again with something else about it. */
static void change(struct storm *s, unsigned slot)
{
    struct plan_rig_pod *old = s->live[slot];
    struct plan_rig_pod *p = plan_rig_pod(s->rig, old->name, GPU, 1, 1 + pick(s, 300));
    for (unsigned i = 0; i < 2; i++) {
        p->item[i] = old->item[i];
    }
    p->pod.n_items = old->pod.n_items;
    p->pod.created_us = old->pod.created_us;
    p->pod.priority = old->pod.priority;
    p->constraints = old->constraints;
    p->pod.constraints = &p->constraints;
    if (pick(s, 4) == 0) {
        p->item[0].count = 1;
    } else if (pick(s, 2) == 0) { /* kube-scheduler has it, and maybe makes room for it */
        p->pod.timeout_s = old->pod.timeout_s;
        p->pod.gate = SL_GATE_NONE;
        p->pod.tried = pick(s, 2) == 0;
        (void)snprintf(p->nominated, sizeof(p->nominated), "n%u", pick(s, 5));
        p->pod.nominated = pick(s, 3) == 0 ? NULL : p->nominated;
    }
    p->pod.malformed = pick(s, 20) == 0 ? "no" : NULL;
    s->live[slot] = p;
    plan_rig_put(s->rig, p);
}

static void configure(struct storm *s)
{
    struct sl_plan_config *config = &s->rig->config;
    config->order.kind = (enum sl_order_kind)pick(s, SL_ORDER_KINDS);
    config->backfill = pick(s, 4) != 0;
    config->autoscaler_pods = (int32_t)pick(s, 3);
    config->n_limits = (uint8_t)pick(s, 2);
    config->limit[0] = (struct sl_plan_limit){GPU, SECONDS(250)};
    config->n_headrooms = (uint8_t)pick(s, 2);
    config->headroom[0] = (struct sl_plan_headroom){"", SECONDS(100), 1};
    config->n_overrides = (uint8_t)pick(s, 2);
    config->override[0] = (struct sl_plan_override){
        .of_priority = true, .priority = 1, .weights = {SL_ORDER_ONE, 0, SL_ORDER_ONE}};
    plan_rig_configure(s->rig);
}

static void change_nodes(struct storm *s)
{
    struct plan_rig *rig = s->rig;
    char name[PLAN_NAME];
    unsigned what = pick(s, 4);
    if (what == 0 && rig->n_nodes < 5) {
        snprintf(name, sizeof(name), "n%u", rig->n_nodes);
        struct plan_rig_node *n = plan_rig_node(rig, name, 1 + pick(s, 4));
        plan_rig_share(n, 16);
        n->node.host.cpu_milli = 300 + pick(s, 2000);
        n->node.site_digest = rig->n_nodes;
    } else if (what == 1 && rig->n_nodes > 1) {
        rig->n_nodes--; /* and what ran there is gone */
        struct plan_rig_node *gone = &rig->node[rig->n_nodes];
        for (unsigned i = 0; i < LIVE; i++) {
            if (s->live[i] != NULL && s->live[i]->bound != NULL &&
                strcmp(s->live[i]->bound->node, gone->name) == 0) {
                plan_rig_end(rig, s->live[i]->name);
                s->live[i] = NULL;
            }
        }
        plan_rig_cluster(rig);
        plan_rig_cluster(rig);
        sl_view_free(rig->view[rig->n_nodes]);
        sl_view_free(rig->old[rig->n_nodes]);
        rig->view[rig->n_nodes] = NULL;
        rig->old[rig->n_nodes] = NULL;
    } else if (what == 2) {
        struct plan_rig_node *n = &rig->node[pick(s, rig->n_nodes)];
        n->device[0].healthy = !n->device[0].healthy;
    }
}

/* Whom the API server does not let go waits as after an expiry. */
static void deny(struct plan_rig *rig, const char *name)
{
    struct sl_queue_row row;
    assert_true(plan_rig_row(rig, name, &row));
    bool goes = row.state == SL_QUEUE_NOMINATED || row.state == SL_QUEUE_RELEASED;
    sl_planner_denied(rig->planner, sl_str_of(name), rig->now_us);
    assert_true(plan_rig_row(rig, name, &row));
    bool limited = row.reason == SL_HOLD_LIMIT; /* by a limit that came after its turn */
    assert_true(!goes || limited || (row.state == SL_QUEUE_HELD && row.reason == SL_HOLD_EXPIRED));
}

static void happen(struct storm *s)
{
    struct plan_rig *rig = s->rig;
    unsigned slot = pick(s, LIVE);
    struct plan_rig_pod *p = s->live[slot];
    struct sl_queue_row row;
    unsigned what = pick(s, 12);
    if (p == NULL) {
        come(s, slot);
    } else if (p->bound != NULL) {
        if (what < 6) {
            plan_rig_end(rig, p->name);
            s->live[slot] = NULL;
        } else if (what < 9) {
            p->bound->deleting = true;
            p->bound->gone_s = (uint32_t)(rig->now_us / SECONDS(1)) + pick(s, 60);
        }
    } else if (what < 4 && plan_rig_row(rig, p->name, &row) && row.state == SL_QUEUE_NOMINATED) {
        plan_rig_bind(rig, p->name);
    } else if (what == 4) {
        sl_planner_failed(rig->planner, sl_str_of(p->name), rig->now_us);
    } else if (what == 5) {
        sl_planner_remove(rig->planner, sl_str_of(p->name), rig->now_us);
        s->live[slot] = NULL;
    } else if (what == 6) {
        plan_rig_put(s->rig, p); /* news that say nothing new */
    } else if (what < 9) {
        change(s, slot);
    } else if (what == 9) {
        sl_planner_heard(rig->planner, sl_str_of(p->name), rig->now_us);
    } else if (what == 10) {
        deny(rig, p->name);
    } else {
        sl_planner_denied(rig->planner, SL_STR("nobody"), rig->now_us);
    }
}

static void nothing_is_given_twice(struct storm *s)
{
    struct plan_rig *rig = s->rig;
    struct sl_pod *pods[LIVE];
    struct sl_pod *made[LIVE];
    unsigned n = 0;
    unsigned n_made = 0;
    for (unsigned i = 0; i < LIVE; i++) {
        struct sl_queue_row row;
        if (s->live[i] != NULL && s->live[i]->bound != NULL) {
            pods[n] = s->live[i]->bound;
            n++;
        } else if (s->live[i] != NULL && plan_rig_row(rig, s->live[i]->name, &row) &&
                   row.state == SL_QUEUE_NOMINATED) {
            made[n_made] = sl_pod_bound_to(row.pod, row.node, row.assignment, SL_POD_PENDING);
            assert_non_null(made[n_made]);
            pods[n] = made[n_made];
            n++;
            n_made++;
        }
    }
    for (unsigned i = 0; i < rig->n_nodes; i++) {
        struct sl_view *view = sl_view_new(&rig->node[i].node, pods, n);
        assert_non_null(view);
        for (unsigned r = 0; r < view->n_residents; r++) {
            if (view->resident[r].pod->phase == SL_POD_PENDING) {
                assert_false(view->resident[r].assumed);
            }
        }
        for (unsigned p = 0; p < view->n_pools; p++) {
            assert_true(view->pool_used[p] <= rig->node[i].pool[p].capacity);
        }
        sl_view_free(view);
    }
    for (unsigned i = 0; i < n_made; i++) {
        sl_pod_unref(made[i]);
    }
}

static void count_row(void *context, const struct sl_queue_row *row)
{
    size_t *count = context;
    char text[SL_PLAN_TEXT_MAX];
    count[row->state]++;
    assert_true(sl_queue_text(row, SECONDS(1000000), text, sizeof(text)) > 0);
    assert_true((row->ahead > 0) == (row->first != NULL));
}

static void rows_and_numbers_agree(struct storm *s)
{
    struct plan_rig *rig = s->rig;
    struct sl_error err = {0};
    struct sl_plan_stats stats;
    size_t count[SL_QUEUE_STATES] = {0};
    size_t waiting = 0;
    for (unsigned i = 0; i < LIVE; i++) {
        waiting += s->live[i] != NULL && s->live[i]->bound == NULL;
    }
    assert_int_equal(sl_planner_estimate(rig->planner, rig->now_us, &err), 0);
    assert_int_equal(sl_planner_visit(rig->planner, rig->now_us, SIZE_MAX, count_row, count),
                     waiting);
    sl_planner_stats(rig->planner, &stats);
    assert_memory_equal(count, stats.waiting, sizeof(count));
}

/* A run that has nothing more to do does not want to be run again at once. */
static void it_comes_to_rest(struct storm *s)
{
    for (int i = 0; i < 50 && sl_planner_wake(s->rig->planner) <= s->rig->now_us; i++) {
        plan_rig_run(s->rig, 1000);
    }
    assert_true(sl_planner_wake(s->rig->planner) > s->rig->now_us);
}

static void rage(uint64_t seed)
{
    struct storm s = {.rig = plan_rig_new(), .random = seed};
    s.rig->config.hold_us = SECONDS(30);
    s.rig->config.hold_max_us = SECONDS(200);
    configure(&s);
    plan_rig_share(plan_rig_node(s.rig, "n0", 4), 16);
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned times = 1 + pick(&s, 4);
        for (unsigned i = 0; i < times; i++) {
            happen(&s);
        }
        if (pick(&s, 10) == 0) {
            change_nodes(&s);
        }
        if (pick(&s, 25) == 0) {
            configure(&s);
        }
        s.rig->now_us += SECONDS(pick(&s, 20));
        plan_rig_cluster(s.rig);
        plan_rig_run(s.rig, pick(&s, 3) == 0 ? 1 : 1000);
        it_comes_to_rest(&s);
        nothing_is_given_twice(&s);
        rows_and_numbers_agree(&s);
    }
    plan_rig_free(s.rig);
}

TEST_THAT(whatever_happens_nominations_hold_and_numbers_agree)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        rage(seed);
    }
}
