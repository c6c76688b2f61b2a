/* Guarantees of a model: tenants that select it come first there. Of four M1, which a is
 * guaranteed, and four M2 a's share is six, b's two; of the M1 it is a's four. */
#include "tenant_rig.h"

static struct plan_rig_node *node(struct tenant_rig *rig, const char *name, unsigned gpus,
                                  const char *model)
{
    static struct sl_label labels[PLAN_NODES];
    struct plan_rig_node *n = plan_rig_node(rig->plan, name, gpus);
    struct sl_label *label = &labels[rig->plan->n_nodes - 1];
    *label = (struct sl_label){.key = SL_MODEL_LABEL, .value = model};
    n->node.label = label;
    n->node.n_labels = 1;
    n->node.site_digest = sl_hash(model, strlen(model));
    return n;
}

static void guarantee(struct tenant_rig *rig, const char *tenant, const char *model, int64_t units)
{
    struct sl_tenant_units *one = &rig->tenants.guarantee[rig->tenants.n_guarantees];
    rig->tenants.n_guarantees++;
    *one = (struct sl_tenant_units){.resource = GPU, .units = units};
    (void)snprintf(one->tenant, sizeof(one->tenant), "%s", tenant);
    (void)snprintf(one->model, sizeof(one->model), "%s", model);
}

static void begin(struct tenant_rig *rig)
{
    rig->plan = plan_rig_new();
    rig->plan->config.preemption = false;
    (void)node(rig, "n1", 4, "M1");
    (void)node(rig, "n2", 4, "M2");
    tenant_rig_add(rig, "a", 1);
    tenant_rig_add(rig, "b", 1);
    guarantee(rig, "a", "M1", 4);
    tenant_rig_configure(rig);
}

static void end(struct tenant_rig *rig)
{
    plan_rig_free(rig->plan);
}

TEST_FIXTURE_OF(struct tenant_rig, begin, end)

TEST_ON(struct tenant_rig *rig, who_is_guaranteed_a_model_comes_first_there)
{
    rig->plan->config.order.kind = SL_ORDER_SJF;
    tenant_rig_configure(rig);
    wait_for(rig, "M1", "b1 b2 b3 b4", 1000);
    assert_string_equal(started(rig), "b1 b2 b3 b4"); /* borrowed */
    wait_for(rig, "M1", "b5", 10);                    /* the shortest */
    wait_for(rig, "M1", "a1 a2 a3 a4", 2000);
    assert_string_equal(started(rig), "");
    pass(rig, 5);
    assert_string_equal(started(rig), "");
    assert_int_equal(due_of(rig, "a1"), 5);
    assert_int_equal(due_of(rig, "b5"), -1);
    end_all(rig, "b1");
    assert_string_equal(started(rig), "a1");
    end_all(rig, "b2 b3 b4");
    assert_string_equal(started(rig), "a2 a3 a4");
    wait_for(rig, "M1", "a5", 2000); /* has a place on the share of all models, and none there */
    assert_string_equal(started(rig), "");
    assert_int_equal(due_of(rig, "a5"), -1);
    end_all(rig, "a1");
    assert_string_equal(started(rig), "a5");
    end_all(rig, "a2");
    assert_string_equal(started(rig), "b5");
}

/* It has one condition more, and no other pod's turn. Those that select none are as before. */
TEST_ON(struct tenant_rig *rig, nobody_gains_by_the_model_that_a_pod_selects)
{
    wait_all(rig, "a1 a2 a3 a4 a5 a6 a7 a8", 1000);
    assert_string_equal(started(rig), "a1 a2 a3 a4 a5 a6 a7 a8");
    wait_for(rig, "M1", "b1 a9", 10); /* b has no part of the M1; a has, but no more of all */
    wait_all(rig, "b2", 1000);
    wait_for(rig, "M2", "b3", 1000); /* which nobody is guaranteed */
    wait_all(rig, "b4", 10);
    assert_string_equal(started(rig), "");
    assert_int_equal(due_of(rig, "b1"), -1); /* and keeps none of b's two units */
    assert_int_equal(due_of(rig, "a9"), -1);
    assert_int_equal(due_of(rig, "b2"), 0);
    assert_int_equal(due_of(rig, "b3"), 0);
    assert_int_equal(due_of(rig, "b4"), -1);
}

/* Others of its tenant get the place that it had while it was nominated. */
TEST_ON(struct tenant_rig *rig, a_pod_whose_nomination_ends_waits_for_its_model_again)
{
    wait_all(rig, "a1 a2 a3 a4 a5 a6 a7 a8", 1000);
    assert_string_equal(started(rig), "a1 a2 a3 a4 a5 a6 a7 a8");
    wait_for(rig, "M1", "b1", 1000);
    end_all(rig, "a1");
    (void)plan_rig_plan(rig->plan);
    assert_string_equal(plan_rig_state(rig->plan, "b1"), "Nominated None");
    sl_planner_failed(rig->plan->planner, SL_STR("b1"), rig->plan->now_us);
    wait_all(rig, "b2 b3 b4", 1000);
    assert_string_equal(started(rig), "b2");
    assert_int_equal(due_of(rig, "b1"), -1);
    assert_int_equal(due_of(rig, "b3"), 0);
    assert_int_equal(due_of(rig, "b4"), -1);
}

static int64_t share_of(const struct tenant_rig *rig, unsigned tenant, const char *model)
{
    const struct sl_planner *planner = rig->plan->planner;
    const struct sl_plan_account_lane *account =
        sl_plan_account_of(sl_plan_lane_find(planner, sl_hash(GPU, strlen(GPU))), model);
    const struct sl_plan_part *part =
        sl_plan_part_of(account, sl_tenancy_at(planner->tenancy, tenant));
    return part == NULL ? -1 : sl_share_size(part->share) / (SL_SHARE_ONE / 10);
}

static void assert_shares(const struct tenant_rig *rig, const char *model, int64_t a, int64_t b)
{
    assert_int_equal(share_of(rig, 0, model), a);
    assert_int_equal(share_of(rig, 1, model), b);
}

/* In tenths. */
TEST_ON(struct tenant_rig *rig, parts_of_a_model_follow_the_nodes_that_have_it)
{
    guarantee(rig, "b", "M2", 1);
    tenant_rig_configure(rig);
    wait_for(rig, "M1", "a1 b1", 1000);
    wait_for(rig, "M2", "a2 b2", 1000);
    (void)started(rig);
    assert_shares(rig, "", 55, 25);
    assert_shares(rig, "M1", 40, 0);
    assert_shares(rig, "M2", 15, 25);
    (void)node(rig, "n3", 2, "M1");
    (void)started(rig);
    assert_shares(rig, "", 65, 35);
    assert_shares(rig, "M1", 50, 10);
    assert_shares(rig, "M2", 15, 25);
    rig->plan->node[2].away = true;
    (void)node(rig, "n3", 2, "M2"); /* the same, with another label */
    (void)started(rig);
    assert_shares(rig, "", 65, 35);
    assert_shares(rig, "M1", 40, 0);
    assert_shares(rig, "M2", 25, 35);
    rig->plan->node[0].away = true; /* a1 and b1 are gone with it */
    (void)started(rig);
    assert_shares(rig, "", 45, 15);
    assert_shares(rig, "M1", 0, 0);
}

/* ---- pods that change ---- */

/* The same pod, which now selects the model. */
static void select_now(struct tenant_rig *rig, const char *name, const char *model)
{
    const struct sl_pod *was = &plan_rig_find(rig->plan, name)->pod;
    struct plan_rig_pod *p =
        tenant_rig_pod(rig, name, was->namespace, GPU, 1, was->timeout_s, model);
    p->pod.created_us = was->created_us;
    plan_rig_put(rig->plan, p);
}

/* Nor by a turn that came before: not while it waits, and not while it is nominated. */
TEST_ON(struct tenant_rig *rig, a_pod_that_selects_a_model_later_waits_for_it)
{
    wait_all(rig, "a1 a2 a3 a4 a5 a6 a7 a8", 1000);
    assert_string_equal(started(rig), "a1 a2 a3 a4 a5 a6 a7 a8");
    wait_all(rig, "b1 b2", 1000);
    assert_string_equal(started(rig), "");
    assert_int_equal(due_of(rig, "b1"), 0);
    select_now(rig, "b1", "M1");
    assert_string_equal(started(rig), "");
    assert_int_equal(due_of(rig, "b1"), -1);
    end_all(rig, "a8");
    (void)plan_rig_plan(rig->plan);
    assert_string_equal(plan_rig_state(rig->plan, "b2"), "Nominated None");
    select_now(rig, "b2", "M1");
    assert_string_equal(started(rig), "");
    assert_int_equal(due_of(rig, "b2"), -1);
}

/* ---- records ---- */

static void assert_due(struct tenant_rig *rig)
{
    assert_string_equal(started(rig), "");
    assert_int_equal(due_of(rig, "a1"), 5);
    assert_int_equal(due_of(rig, "a4"), 5);
    assert_int_equal(due_of(rig, "a5"), -1);
    assert_int_equal(due_of(rig, "b5"), -1);
}

/* Those that run count by what they select: none of the others' are on the share of the M1. */
TEST_ON(struct tenant_rig *rig, pods_that_are_due_on_a_model_stay_so_over_restarts)
{
    wait_for(rig, "M1", "b1 b2", 1000);
    wait_all(rig, "b3 b4 b6 b7 b8 b9", 1000);
    assert_string_equal(started(rig), "b3 b4 b1 b2 b6 b7 b8 b9"); /* those on its share first */
    wait_for(rig, "M1", "a1 a2 a3 a4 a5 b5", 2000);
    assert_string_equal(started(rig), "");
    pass(rig, 5);
    assert_due(rig);
    for (int i = 0; i < 2; i++) {
        tenant_rig_configure(rig);
        assert_due(rig);
        tenant_rig_take_over(rig, 1 << 20);
        tenant_rig_take_over(rig, 1 << 20);
        assert_due(rig);
    }
    end_all(rig, "b1 b2");
    assert_string_equal(started(rig), "a1 a2");
}

/* One of before that there were guarantees of models, too. */
TEST_ON(struct tenant_rig *rig, a_guarantee_that_comes_counts_from_then_on)
{
    rig->tenants.n_guarantees = 0;
    tenant_rig_configure(rig);
    wait_all(rig, "b1 b2 b3 b4 b5 b6 b7 b8", 1000);
    (void)started(rig);
    wait_for(rig, "M1", "a1", 1000);
    wait_all(rig, "a2", 1000);
    (void)started(rig);
    pass(rig, 5);
    assert_string_equal(started(rig), "");
    rig->tenants.n_guarantees = 1;
    tenant_rig_configure(rig);
    assert_string_equal(started(rig), "");
    assert_int_equal(due_of(rig, "a1"), 0);
    assert_int_equal(due_of(rig, "a2"), 5);
    rig->tenants.n_guarantees = 0;
    tenant_rig_configure(rig);
    assert_string_equal(started(rig), "");
    assert_int_equal(due_of(rig, "a1"), 5);
}

/* ---- rows ---- */

static void write_row(void *context, const struct sl_tenant_row *row)
{
    struct plan_rig *plan = context;
    plan_rig_log(plan, "%s %s %lld of %lld + %lld, %zu wait, %zu due; ", row->tenant, row->model,
                 (long long)row->held, (long long)row->guaranteed,
                 (long long)row->borrowed / SL_SHARE_ONE, row->pods_waiting, row->pods_due);
}

TEST_ON(struct tenant_rig *rig, rows_tell_of_a_model_what_pods_select)
{
    wait_for(rig, "M1", "b1 b2 b3", 1000);
    (void)started(rig);
    wait_all(rig, "a1 a2 a3 a4 b4", 1000);
    (void)started(rig);
    wait_for(rig, "M1", "a5 a6 b5", 2000);
    assert_string_equal(started(rig), "");
    rig->plan->log[0] = '\0';
    sl_planner_tenants(rig->plan->planner, write_row, rig->plan);
    assert_string_equal(rig->plan->log,
                        "a  4 of 4 + 0, 2 wait, 2 due; b  4 of 0 + 2, 1 wait, 0 due; "
                        "a M1 0 of 4 + 0, 2 wait, 2 due; "
                        "b M1 3 of 0 + 3, 1 wait, 0 due; ");
}

static void count_run(void *context, const struct sl_pod *pod)
{
    (void)pod;
    ++*(int *)context;
}

/* Also while b has no more than its share of all models, and others are idle. */
TEST_ON(struct tenant_rig *rig, a_guarantee_of_a_model_is_reclaimed)
{
    int ends = 0;
    rig->tenants.reclaim = true;
    tenant_rig_configure(rig);
    wait_for(rig, "M1", "b1 b2", 1000); /* b's share of all is two */
    assert_string_equal(started(rig), "b1 b2");
    wait_for(rig, "M1", "a1 a2", 1000);
    assert_string_equal(started(rig), "a1 a2");
    struct plan_rig_pod *p = tenant_rig_pod(rig, "a3", "a", GPU, 1, 1000, "M1");
    p->pod.priority = 10;
    plan_rig_put(rig->plan, p);
    assert_string_equal(plan_rig_plan(rig->plan), "release a3\n");
    assert_int_equal(due_of(rig, "a3"), 0);
    (void)sl_planner_reclaim(rig->plan->planner, SL_STR("a3"), "n1", count_run, &ends);
    assert_int_equal(ends, 1);
}
