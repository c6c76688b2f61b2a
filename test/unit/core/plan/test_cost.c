/* What pods cost others, in steps that are counted: pods of which no two are alike, and pods that
 * no node could ever take. */
#include "unit/core/plan/plan_rig.h"

#include "core/plan/decide/decide.h"
#include "core/promise/lane.h"

enum { MANY = 1000, TEXT = 40 };

static char texts[MANY][TEXT];

/* Each asks for a resource that nobody has heard of. */
static void invent(struct plan_rig *rig, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        char name[PLAN_NAME];
        (void)snprintf(texts[i], TEXT, "nvidia.com/mig-x%u.nonsense", i);
        (void)snprintf(name, sizeof(name), "i%u", i);
        plan_rig_put(rig, plan_rig_pod(rig, name, texts[i], 1 + i % 7, 100));
    }
}

/* The cluster as it was told last, but for one view. */
static void tell_of_one(struct plan_rig *rig, unsigned at, const struct sl_view *view)
{
    const struct sl_view *views[PLAN_NODES];
    struct sl_error err = {0};
    for (unsigned i = 0; i < rig->n_nodes; i++) {
        views[i] = i == at ? view : rig->view[i];
    }
    assert_int_equal(sl_planner_cluster(rig->planner, views, rig->n_nodes, rig->now_us, &err), 0);
}

TEST_FIXTURE(plan_rig_set_up, plan_rig_tear_down)

TEST_ON(struct plan_rig *rig, invented_resources_open_no_lane)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_wait(rig, "a", 1, 100);
    (void)plan_rig_plan(rig);
    size_t lanes = rig->planner->n_lanes;
    invent(rig, MANY);
    (void)plan_rig_plan(rig);
    assert_int_equal(rig->planner->n_lanes, lanes);
    assert_string_equal(plan_rig_state(rig, "i7"), "Refused Never");
}

TEST_ON(struct plan_rig *rig, a_pod_that_no_node_could_take_is_judged_once)
{
    for (unsigned i = 0; i < PLAN_NODES; i++) {
        char name[PLAN_NAME];
        (void)snprintf(name, sizeof(name), "n%02u", i);
        plan_rig_node(rig, name, 1 + i % 2);
    }
    (void)plan_rig_plan(rig);
    for (unsigned i = 0; i < MANY; i++) { /* as many as a node has, but of larger GPUs */
        char name[PLAN_NAME];
        (void)snprintf(name, sizeof(name), "m%u", i);
        struct plan_rig_pod *p = plan_rig_pod(rig, name, GPU, 2, 100);
        p->item[0].least_mib = (int32_t)(100000 + i);
        p->pod.min_gpu_memory_mib = (int32_t)(100000 + i);
        plan_rig_put(rig, p);
    }
    invent(rig, MANY);
    (void)plan_rig_plan(rig);
    assert_in_range(rig->planner->judged, 0, MANY * PLAN_NODES);
    uint64_t judged = rig->planner->judged;
    for (unsigned i = 0; i < 10; i++) {
        rig->now_us += SECONDS(1);
        (void)plan_rig_plan(rig);
    }
    assert_int_equal(rig->planner->judged, judged);
    struct plan_rig_node *n = &rig->node[4]; /* one is another: that alone is looked at */
    struct sl_node same = n->node;
    same.site_digest = 77;
    struct sl_view *view = sl_view_new(&same, NULL, 0);
    tell_of_one(rig, 4, view);
    (void)plan_rig_run(rig, 10);
    assert_in_range(rig->planner->judged, judged, judged + UINT64_C(2) * MANY);
    (void)plan_rig_plan(rig);
    sl_view_free(view);
}

/* The node comes back with so many GPUs; the others stay as they are. */
static const char *change_gpus(struct plan_rig *rig, unsigned at, unsigned gpus,
                               struct plan_rig_node *as)
{
    static char log[PLAN_LOG];
    *as = rig->node[at];
    as->node.device = as->device;
    as->node.pool = as->pool;
    as->node.n_devices = (uint16_t)gpus;
    as->pool[0].capacity = gpus;
    struct sl_view *view = sl_view_new(&as->node, NULL, 0);
    tell_of_one(rig, at, view);
    (void)snprintf(log, sizeof(log), "%s", plan_rig_run(rig, 10));
    sl_view_free(rig->view[at]);
    rig->view[at] = view;
    return log;
}

TEST_ON(struct plan_rig *rig, a_pod_is_refused_only_while_no_node_could_take_it)
{
    struct plan_rig_node as[4];
    plan_rig_node(rig, "n1", 3);
    plan_rig_node(rig, "n2", 3);
    plan_rig_node(rig, "n3", 1);
    plan_rig_wait(rig, "two", 2, 100);
    assert_string_equal(plan_rig_plan(rig), "nomination two on n1: nvidia.com/gpu=0,1\n");
    plan_rig_wait(rig, "big", 3, 100);
    assert_string_equal(plan_rig_run(rig, 0), "");
    (void)change_gpus(rig, 1, 2, &as[0]); /* n1 could */
    assert_string_equal(plan_rig_state(rig, "big"), "Held NoRoom");
    assert_string_equal(change_gpus(rig, 0, 2, &as[1]), "refuse big: Never\n");
    assert_string_equal(change_gpus(rig, 2, 2, &as[2]), "");
    assert_string_equal(plan_rig_state(rig, "big"), "Refused Never");
    assert_string_equal(change_gpus(rig, 1, 4, &as[3]),
                        "nomination big on n2: nvidia.com/gpu=0,1,2\n");
}

TEST_ON(struct plan_rig *rig, a_resource_that_a_node_comes_to_offer_has_a_lane_of_its_own)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_put(rig, plan_rig_pod(rig, "m", MEM, 4, 100));
    plan_rig_put(rig, plan_rig_pod(rig, "o", MEM, 3, 100));
    assert_string_equal(plan_rig_plan(rig), "refuse m: Never\nrefuse o: Never\n");
    plan_rig_share(plan_rig_node(rig, "n2", 1), 8);
    assert_string_equal(plan_rig_plan(rig), "nomination m on n2: aliyun.com/gpu-mem=0*4\n"
                                            "nomination o on n2: aliyun.com/gpu-mem=0*3\n");
}

TEST_ON(struct plan_rig *rig, an_instance_that_sliced_may_have_cut_is_waited_for)
{
    struct plan_rig_node *n = plan_rig_node(rig, "n1", 1);
    n->node.dynamic_mig = true;
    n->node.partition.actuator = SL_ACTUATOR_NOS_MIG;
    n->device[0].model = sl_mig_model_find(SL_STR("NVIDIA-A100-SXM4-40GB"), 0);
    plan_rig_put(rig, plan_rig_pod(rig, "small", "nvidia.com/mig-1g.5gb", 7, 100));
    plan_rig_put(rig, plan_rig_pod(rig, "eight", "nvidia.com/mig-1g.5gb", 8, 100));
    plan_rig_put(rig, plan_rig_pod(rig, "other", "nvidia.com/mig-1g.6gb", 1, 100));
    assert_string_equal(plan_rig_plan(rig), "refuse eight: Never\nrefuse other: Never\n");
    assert_string_equal(plan_rig_state(rig, "small"), "Held NoRoom");
}

TEST_ON(struct plan_rig *rig, a_slice_of_memory_that_sliced_may_have_cut_is_waited_for)
{
    struct plan_rig_node *n = plan_rig_node(rig, "n1", 1);
    n->node.partition.actuator = SL_ACTUATOR_NOS_MPS;
    n->device[0].memory_mib = 40000;
    plan_rig_put(rig, plan_rig_pod(rig, "small", "nvidia.com/gpu-7gb", 1, 100));
    plan_rig_put(rig, plan_rig_pod(rig, "all", "nvidia.com/gpu-40gb", 1, 100));
    plan_rig_put(rig, plan_rig_pod(rig, "more", "nvidia.com/gpu-41gb", 1, 100));
    plan_rig_put(rig, plan_rig_pod(rig, "two", "nvidia.com/gpu-7gb", 2, 100));
    assert_string_equal(plan_rig_plan(rig), "refuse more: Never\nrefuse two: Never\n");
    assert_string_equal(plan_rig_state(rig, "small"), "Held NoRoom");
    assert_string_equal(plan_rig_state(rig, "all"), "Held NoRoom");
}

struct wishes {
    char text[256];
    int64_t now_us;
};

static void note_wish(void *context, const struct sl_queue_row *row)
{
    struct wishes *wishes = context;
    struct sl_cut_pod pod;
    bool wants = sl_queue_wants_cut(row, wishes->now_us, &pod);
    size_t len = strlen(wishes->text);
    (void)snprintf(wishes->text + len, sizeof(wishes->text) - len, "%s %s\n", row->pod->name,
                   !wants         ? "wants nothing"
                   : pod.has_room ? "has room"
                                  : "wants a cut");
}

/* Else a GPU on which one of them could start would be cut for the other. */
TEST_ON(struct plan_rig *rig, pods_that_kube_scheduler_does_not_take_yet_keep_their_room)
{
    struct wishes wishes = {.now_us = rig->now_us};
    struct plan_rig_node *n = plan_rig_node(rig, "n1", 1);
    n->node.dynamic_mig = true;
    n->node.partition.actuator = SL_ACTUATOR_NOS_MIG;
    n->device[0].model = sl_mig_model_find(SL_STR("NVIDIA-A100-SXM4-40GB"), 0);
    plan_rig_put(rig, plan_rig_pod(rig, "whole", GPU, 1, 100));
    plan_rig_put(rig, plan_rig_pod(rig, "small", "nvidia.com/mig-1g.5gb", 1, 100));
    plan_rig_cluster(rig);
    assert_string_equal(plan_rig_run(rig, 0), "");
    (void)sl_planner_visit(rig->planner, rig->now_us, 10, note_wish, &wishes);
    assert_non_null(strstr(wishes.text, "whole has room\n"));
    assert_non_null(strstr(wishes.text, "small wants a cut\n"));
}

TEST_ON(struct plan_rig *rig, each_resource_that_none_offers_has_its_pods_for_an_autoscaler)
{
    rig->config.autoscaler_pods = 1;
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 1);
    plan_rig_put(rig, plan_rig_pod(rig, "m1", MEM, 4, 100));
    plan_rig_put(rig, plan_rig_pod(rig, "m2", MEM, 3, 100));
    plan_rig_put(rig, plan_rig_pod(rig, "x1", "nvidia.com/mig-1g.5gb", 1, 100));
    plan_rig_put(rig, plan_rig_pod(rig, "x2", "nvidia.com/mig-1g.5gb", 2, 100));
    assert_string_equal(plan_rig_plan(rig), "release m1\nrelease x1\n");
    assert_string_equal(plan_rig_state(rig, "m2"), "Held Never");
}

/* Classes that were looked at in vain look at nodes that grew since, not at all that have room. */
TEST_ON(struct plan_rig *rig, pods_that_their_constraints_exclude_look_at_what_has_changed)
{
    for (unsigned i = 0; i < PLAN_NODES; i++) {
        char name[PLAN_NAME];
        (void)snprintf(name, sizeof(name), "n%02u", i);
        plan_rig_node(rig, name, 8);
    }
    plan_rig_run_on(rig, "x", "n00", 1, 1000);
    for (unsigned i = 0; i < MANY; i++) {
        char name[PLAN_NAME];
        (void)snprintf(name, sizeof(name), "c%u", i);
        struct plan_rig_pod *p = plan_rig_pod(rig, name, GPU, 1, 100);
        p->constraints = (struct sl_constraints){.affinity = true, .digest = 1 + i};
        p->pod.constraints = &p->constraints;
        plan_rig_put(rig, p);
    }
    assert_string_equal(plan_rig_plan(rig), "");
    uint64_t looked = rig->planner->looked;
    struct sl_view *view = sl_view_new(&rig->node[0].node, NULL, 0);
    tell_of_one(rig, 0, view); /* of 16 nodes with room one has more */
    assert_string_equal(plan_rig_run(rig, 10), "");
    uint64_t each = (rig->planner->looked - looked) / MANY;
    assert_in_range(each, 1, SL_PLAN_SEARCH + 16);
    assert_string_equal(plan_rig_plan(rig), "");
    sl_view_free(view);
}

/* ---- what a run looks at ---- */

enum { DEAR = 20 };

/* Pods which no node admits, and to find that out costs some twentieth of a run each. */
static void put_dear_pods(struct plan_rig *rig, const char *const *namespaces)
{
    enum { WEIGHT = SL_PLAN_CHECKS / DEAR / PLAN_NODES * SL_CONSTRAINTS_OF_A_LOOK };
    for (unsigned i = 0; i < PLAN_NODES; i++) {
        char name[PLAN_NAME];
        (void)snprintf(name, sizeof(name), "n%02u", i);
        plan_rig_node(rig, name, 1);
    }
    for (unsigned i = 0; i < DEAR; i++) {
        char name[PLAN_NAME];
        (void)snprintf(name, sizeof(name), "dear%02u", i);
        struct plan_rig_pod *p = plan_rig_pod(rig, name, GPU, 1, 100);
        p->constraints = (struct sl_constraints){
            .affinity = true, .by_name = true, .weight = WEIGHT, .digest = 1 + i};
        p->pod.constraints = &p->constraints;
        p->pod.namespace = namespaces[i];
        plan_rig_put(rig, p);
        rig->now_us += 1;
    }
}

/* Returns how many runs it took until there was nothing more to do. */
static unsigned run_to_rest(struct plan_rig *rig)
{
    unsigned runs = 0;
    for (; sl_planner_wake(rig->planner) <= rig->now_us; runs++) {
        assert_true(runs < DEAR);
        (void)plan_rig_run(rig, 10);
    }
    return runs;
}

/* Each may use half of what the others leave; its pods go on in the next run. */
TEST_ON(struct plan_rig *rig, a_namespace_leaves_some_of_each_run_to_others)
{
    const char *greedy[DEAR];
    for (unsigned i = 0; i < DEAR; i++) {
        greedy[i] = "greedy";
    }
    put_dear_pods(rig, greedy);
    plan_rig_wait(rig, "other", 1, 100);
    assert_string_equal(plan_rig_plan(rig), "nomination other on n00: nvidia.com/gpu=0\n");
    assert_string_equal(plan_rig_state(rig, "dear00"), "Held Constraint");
    assert_string_equal(plan_rig_state(rig, "dear19"), "Held Pace");
    assert_in_range(run_to_rest(rig), 1, 5);
    assert_string_equal(plan_rig_state(rig, "dear19"), "Held Constraint");
}

TEST_ON(struct plan_rig *rig, a_run_that_has_looked_enough_is_followed_by_the_next_at_once)
{
    static char names[DEAR][PLAN_NAME];
    const char *own[DEAR];
    for (unsigned i = 0; i < DEAR; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "space-%u", i);
        own[i] = names[i];
    }
    put_dear_pods(rig, own);
    plan_rig_wait(rig, "last", 1, 100);
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "last"), "Held Pace");
    assert_in_range(run_to_rest(rig), 1, 5);
    assert_string_equal(plan_rig_state(rig, "last"), "Nominated None");
}

/* Pods that might preempt, which no node admits: to find that out costs a good part of a run each.
 */
TEST_ON(struct plan_rig *rig, the_search_for_victims_is_bounded_with_the_run)
{
    for (unsigned i = 0; i < PLAN_NODES; i++) {
        char name[PLAN_NAME];
        char pod[PLAN_NAME];
        (void)snprintf(name, sizeof(name), "n%02u", i);
        (void)snprintf(pod, sizeof(pod), "x%02u", i);
        plan_rig_node(rig, name, 1)->node.site_digest = UINT64_C(2) * (i + 1);
        plan_rig_run_on(rig, pod, name, 1, 1000);
    }
    for (unsigned i = 0; i < SL_PLAN_PREEMPT_MAX; i++) {
        char name[PLAN_NAME];
        (void)snprintf(name, sizeof(name), "dear%u", i);
        struct plan_rig_pod *p = plan_rig_pod(rig, name, GPU, 1, 100);
        p->constraints =
            (struct sl_constraints){.affinity = true, .weight = UINT16_MAX, .digest = 100 + i};
        p->pod.constraints = &p->constraints;
        p->pod.namespace = "greedy";
        p->pod.priority = 1000;
        plan_rig_put(rig, p);
    }
    plan_rig_cluster(rig);
    uint64_t looked = rig->planner->looked;
    assert_string_equal(plan_rig_run(rig, 10), "");
    assert_in_range(rig->planner->looked - looked, 1, 3 * (SL_PLAN_CHECKS / 2));
}

/* In lanes of several widths a latest start takes a look ahead at all who wait. */
TEST_ON(struct plan_rig *rig, rows_share_one_look_ahead)
{
    rig->config.order.kind = SL_ORDER_BOUNDED;
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 4);
    plan_rig_run_on(rig, "x", "n1", 4, 1000);
    for (unsigned i = 0; i < 100; i++) {
        char name[PLAN_NAME];
        (void)snprintf(name, sizeof(name), "w%u", i);
        plan_rig_wait(rig, name, 1 + i % 4, 100 + i);
    }
    assert_string_equal(plan_rig_plan(rig), "");
    struct sl_queue_row row;
    assert_true(plan_rig_row(rig, "w0", &row));
    const struct sl_promise *bound =
        sl_plan_bounded_promise(sl_plan_lane_of(sl_plan_find(rig->planner, SL_STR("w0"))));
    assert_true(sl_promise_is_mixed(bound));
    uint64_t looks = bound->mixed.looks;
    int64_t latest_us = row.latest_start_us;
    assert_true(latest_us > 0);
    for (unsigned i = 0; i < 100; i++) {
        char name[PLAN_NAME];
        (void)snprintf(name, sizeof(name), "w%u", i);
        assert_true(plan_rig_row(rig, name, &row));
    }
    assert_int_equal(bound->mixed.looks, looks);
    assert_true(plan_rig_row(rig, "w0", &row));
    assert_int_equal(row.latest_start_us, latest_us);
}

/* Pods above may not be delayed, and each that waits below is of a class of its own. */
TEST_ON(struct plan_rig *rig, those_that_the_order_refuses_cost_a_part_of_a_run)
{
    rig->config.order.kind = SL_ORDER_BOUNDED;
    rig->config.preemption = false;
    plan_rig_configure(rig);
    for (unsigned i = 0; i < PLAN_NODES; i++) {
        char name[PLAN_NAME];
        (void)snprintf(name, sizeof(name), "n%02u", i);
        plan_rig_node(rig, name, 8);
        (void)snprintf(name, sizeof(name), "x%02u", i);
        plan_rig_run_on(rig, name, rig->node[i].name, 4, 1000);
    }
    for (unsigned i = 0; i < 2 * MANY; i++) {
        char name[PLAN_NAME];
        bool above = i < 64;
        (void)snprintf(name, sizeof(name), "w%u", i);
        struct plan_rig_pod *p = plan_rig_pod(rig, name, GPU, above ? 8 : 1, above ? 100 : 5000);
        p->constraints = (struct sl_constraints){.cpu_milli = i, .digest = 100 + i};
        p->pod.constraints = &p->constraints;
        p->pod.priority = above ? 100 : 0;
        plan_rig_put(rig, p);
    }
    plan_rig_cluster(rig);
    uint64_t looked = rig->planner->looked;
    assert_string_equal(plan_rig_run(rig, 10), "");
    assert_in_range(rig->planner->looked - looked, 1, SL_PLAN_CHECKS / 4);
    assert_string_equal(plan_rig_state(rig, "w999"), "Held Promise");
    assert_false(rig->planner->hurry);
}
