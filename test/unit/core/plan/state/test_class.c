/* Which pods share a class, and what its constraints cost. */
#include "unit/core/plan/plan_rig.h"

#include "core/plan/nodes/nodes.h"

/* A pod that asks for two resources, with constraints. */
static struct plan_rig_pod *pod_of_two(struct plan_rig *rig)
{
    struct plan_rig_pod *p = plan_rig_pod(rig, "p", MEM, 2, 100);
    p->item[0].gpus = 2;
    p->item[1] = (struct sl_ask_item){
        .resource = GPU, .key = sl_hash(GPU, strlen(GPU)), .kind = SL_KIND_WHOLE, .count = 1};
    p->pod.n_items = 2;
    p->pod.gpu_memory_mib = 1000;
    p->pod.min_gpu_memory_mib = 500;
    p->constraints.digest = 3;
    p->pod.constraints = &p->constraints;
    return p;
}

static void asks_for_more(struct plan_rig_pod *p)
{
    p->item[0].count++;
}

static void asks_for_more_of_the_second(struct plan_rig_pod *p)
{
    p->item[1].count++;
}

static void asks_for_more_in_one_container(struct plan_rig_pod *p)
{
    p->item[1].each++; /* which a device plugin may refuse */
}

static void asks_for_another_resource(struct plan_rig_pod *p)
{
    p->item[0].key++;
}

static void asks_for_another_second_resource(struct plan_rig_pod *p)
{
    p->item[1].key++;
}

static void is_split_otherwise(struct plan_rig_pod *p)
{
    p->item[0].gpus = 1;
}

static void splits_the_second(struct plan_rig_pod *p)
{
    p->item[1].gpus = 1;
}

static void asks_for_one(struct plan_rig_pod *p)
{
    p->pod.n_items = 1;
}

static void needs_other_memory(struct plan_rig_pod *p)
{
    p->pod.gpu_memory_mib++;
}

static void is_of_another_workload(struct plan_rig_pod *p)
{
    p->item[1].workload++; /* which may be known to use less */
}

static void needs_larger_gpus(struct plan_rig_pod *p)
{
    p->pod.min_gpu_memory_mib++;
}

static void has_other_constraints(struct plan_rig_pod *p)
{
    p->constraints.digest++;
}

static void has_no_constraints(struct plan_rig_pod *p)
{
    p->pod.constraints = NULL;
}

TEST_FIXTURE(plan_rig_set_up, plan_rig_tear_down)

TEST_ON(struct plan_rig *rig, pods_that_differ_in_what_decides_share_no_class)
{
    static void (*const changes[])(struct plan_rig_pod * p) = {
        asks_for_more,
        asks_for_more_of_the_second,
        asks_for_more_in_one_container,
        asks_for_another_resource,
        asks_for_another_second_resource,
        is_split_otherwise,
        splits_the_second,
        asks_for_one,
        needs_other_memory,
        is_of_another_workload,
        needs_larger_gpus,
        has_other_constraints,
        has_no_constraints,
    };
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        struct plan_rig_pod *p = pod_of_two(rig);
        struct plan_rig_pod *other = pod_of_two(rig);
        struct sl_plan_class *a = sl_plan_class_get(rig->planner, &p->pod);
        changes[i](other);
        assert_false(sl_plan_class_is_of(a, &other->pod));
        struct sl_plan_class *b = sl_plan_class_get(rig->planner, &other->pod);
        assert_ptr_not_equal(a, b);
        const bool same_ask =
            changes[i] == has_other_constraints || changes[i] == has_no_constraints;
        assert_int_equal(a->ask == b->ask, same_ask);
        sl_plan_class_unref(rig->planner, a);
        sl_plan_class_unref(rig->planner, b);
    }
}

TEST_ON(struct plan_rig *rig, pods_that_differ_in_nothing_that_decides_share_a_class)
{
    struct plan_rig_pod *p = pod_of_two(rig);
    struct plan_rig_pod *other = pod_of_two(rig);
    other->pod.timeout_s++;
    other->pod.priority++;
    other->pod.created_us++;
    struct sl_plan_class *a = sl_plan_class_get(rig->planner, &p->pod);
    assert_true(sl_plan_class_is_of(a, &other->pod));
    assert_ptr_equal(sl_plan_class_get(rig->planner, &other->pod), a);
    assert_int_equal(a->ask->ask.n, 2);
    assert_int_equal(a->ask->ask.item[1].count, 1);
    sl_plan_class_unref(rig->planner, a);
    sl_plan_class_unref(rig->planner, a);
}

/* ---- what constraints cost ---- */

static uint32_t weight_of(struct plan_rig *rig, const struct sl_constraints *constraints)
{
    struct plan_rig_pod *p = pod_of_two(rig);
    p->constraints = *constraints;
    struct sl_plan_class *class = sl_plan_class_get(rig->planner, &p->pod);
    const uint32_t weight = class->weight;
    sl_plan_class_unref(rig->planner, class);
    return weight;
}

TEST_ON(struct plan_rig *rig, four_expressions_and_values_cost_as_much_as_a_look_at_a_node)
{
    struct sl_constraints c = {.weight = 3};
    assert_int_equal(weight_of(rig, &c), 0);
    c.weight = 4;
    assert_int_equal(weight_of(rig, &c), 1);
    c.weight = UINT16_MAX;
    assert_int_equal(weight_of(rig, &c), UINT16_MAX / 4);
}

TEST_ON(struct plan_rig *rig, constraints_are_tried_once_on_each_kind_of_node)
{
    struct plan_rig_node *n1 = plan_rig_node(rig, "n1", 1);
    struct plan_rig_node *n2 = plan_rig_node(rig, "n2", 1);
    struct plan_rig_pod *p = pod_of_two(rig);
    p->constraints.digest = 7;
    n2->node.site_digest = 1;
    n2->node.unschedulable = true;
    struct sl_plan_class *class = sl_plan_class_get(rig->planner, &p->pod);
    class->weight = 2;
    struct sl_plan_space space = {.spent = 5};
    struct sl_plan_run run = {.planner = rig->planner, .checks = 100, .spender = &space};
    const uint64_t looked = rig->planner->looked;
    assert_true(sl_plan_admits(&run, class, &n1->node));
    assert_int_equal(run.checks, 98);
    assert_false(sl_plan_admits(&run, class, &n2->node));
    assert_int_equal(run.checks, 96);
    assert_true(sl_plan_admits(&run, class, &n1->node));
    assert_false(sl_plan_admits(&run, class, &n2->node));
    assert_int_equal(run.checks, 96);
    p->constraints.by_name = true; /* then nodes of a kind differ */
    p->constraints.digest = 8;
    n2->node.site_digest = 0;
    assert_true(sl_plan_admits(&run, class, &n1->node));
    assert_false(sl_plan_admits(&run, class, &n2->node));
    assert_true(sl_plan_admits(&run, class, &n1->node));
    assert_int_equal(run.checks, 92);
    n1->node.own_digest = 1; /* a label that no other node has */
    assert_true(sl_plan_admits(&run, class, &n1->node));
    assert_int_equal(run.checks, 90);
    assert_int_equal(rig->planner->looked - looked, 10);
    assert_int_equal(space.spent, 15);
    run.checks = 1;
    n1->node.own_digest = 2;
    assert_true(sl_plan_admits(&run, class, &n1->node));
    assert_int_equal(run.checks, 0);
    class->weight = UINT32_MAX; /* what all nodes cost leaves most of a run */
    run.checks = SL_PLAN_CHECKS;
    n1->node.own_digest = 3;
    assert_true(sl_plan_admits(&run, class, &n1->node));
    assert_in_range(run.checks, SL_PLAN_CHECKS / 4 * 3, SL_PLAN_CHECKS - 1);
    sl_plan_class_unref(rig->planner, class);
}
