/* Which changes of a node count as changes of what it is: they end time-outs. */
#include "unit/core/plan/plan_rig.h"

/* A node with everything that a change could touch, and a copy of it that stands for its next
 * state. */
struct state_of_node {
    struct plan_rig_node is;
    struct sl_instance instance[1];
};

static void describe(struct state_of_node *s)
{
    struct plan_rig_node *n = &s->is;
    *s = (struct state_of_node){.is.node = {.name = n->name,
                                            .layout = SL_LAYOUT_ANNOTATED,
                                            .n_devices = 2,
                                            .device = n->device,
                                            .instance = s->instance,
                                            .pool = n->pool,
                                            .host = {8000, 1 << 20, 110},
                                            .site_digest = 7,
                                            .refs = 1000000}};
    (void)snprintf(n->name, sizeof(n->name), "n1");
    for (unsigned d = 0; d < 3; d++) {
        n->device[d] = (struct sl_device){.index = (int16_t)d, .healthy = true};
    }
    n->pool[0] = (struct sl_pool){.resource = GPU,
                                  .key = sl_hash(GPU, strlen(GPU)),
                                  .kind = SL_KIND_WHOLE,
                                  .capacity = 2,
                                  .replicas = 1,
                                  .on_devices = true};
    plan_rig_share(n, 4);
}

static void does_not_change(struct state_of_node *s)
{
    (void)s;
}

static void gets_cpu(struct state_of_node *s)
{
    s->is.node.host.cpu_milli++;
}

static void gets_memory(struct state_of_node *s)
{
    s->is.node.host.memory_bytes++;
}

static void may_have_more_pods(struct state_of_node *s)
{
    s->is.node.host.pods++;
}

static void is_labelled(struct state_of_node *s)
{
    s->is.node.site_digest++;
}

static void is_cordoned(struct state_of_node *s)
{
    s->is.node.unschedulable = true;
}

static void can_be_repartitioned(struct state_of_node *s)
{
    s->is.node.dynamic_mig = true;
}

static void gets_a_device(struct state_of_node *s)
{
    s->is.node.n_devices++;
}

static void offers_no_whole_gpus(struct state_of_node *s)
{
    s->is.node.n_pools--;
}

static void offers_something_else_first(struct state_of_node *s)
{
    s->is.pool[0].resource = "example.com/gpu-mem";
    s->is.pool[0].key = sl_hash("example.com/gpu-mem", strlen("example.com/gpu-mem"));
}

static void offers_something_else_last(struct state_of_node *s)
{
    s->is.pool[1].resource = "nvidia.com/gpu.shared";
    s->is.pool[1].key = sl_hash("nvidia.com/gpu.shared", strlen("nvidia.com/gpu.shared"));
}

static void offers_less_first(struct state_of_node *s)
{
    s->is.pool[0].capacity--;
}

static void offers_less_last(struct state_of_node *s)
{
    s->is.pool[1].capacity--;
}

static void has_more_than_it_offers(struct state_of_node *s)
{
    static struct sl_absent absent = {.units = 8};
    absent.key = s->is.pool[0].key;
    s->is.node.absent = &absent;
    s->is.node.n_absent = 1;
}

static void loses_its_first_device(struct state_of_node *s)
{
    s->is.device[0].healthy = false;
}

static void loses_its_last_device(struct state_of_node *s)
{
    s->is.device[1].healthy = false;
}

static void tell(struct plan_rig *rig, struct state_of_node *s)
{
    struct sl_error err = {0};
    const struct sl_view *view = NULL;
    sl_view_free(rig->old[0]);
    rig->old[0] = rig->view[0];
    rig->view[0] = sl_view_new(&s->is.node, NULL, 0);
    assert_non_null(rig->view[0]);
    view = rig->view[0];
    assert_int_equal(sl_planner_cluster(rig->planner, &view, 1, rig->now_us, &err), 0);
}

static void free_rig(struct plan_rig *rig)
{
    rig->n_nodes = 1; /* for the views to be freed */
    rig->node[0].node.refs = 1000000;
    plan_rig_free(rig);
}

/* Does the change end the time-out of a pod whose nomination expired? */
static bool ends_time_outs(void (*change)(struct state_of_node *s))
{
    static struct state_of_node before;
    static struct state_of_node after;
    struct plan_rig *rig = plan_rig_new();
    describe(&before);
    describe(&after);
    change(&after);
    plan_rig_wait(rig, "a", 1, 600);
    tell(rig, &before);
    assert_string_equal(plan_rig_run(rig, 1000), "nomination a on n1: nvidia.com/gpu=0\n");
    rig->now_us += rig->config.hold_us;
    (void)plan_rig_run(rig, 1000);
    assert_string_equal(plan_rig_state(rig, "a"), "Held Expired");
    tell(rig, &after);
    (void)plan_rig_run(rig, 1000);
    const bool ended = strcmp(plan_rig_state(rig, "a"), "Held Expired") != 0;
    free_rig(rig);
    assert_int_equal(before.is.node.refs, 1000000);
    assert_int_equal(after.is.node.refs, 1000000);
    return ended;
}

TEST_THAT(a_node_that_becomes_another_ends_time_outs)
{
    static void (*const changes[])(struct state_of_node *) = {
        gets_cpu,
        gets_memory,
        may_have_more_pods,
        is_labelled,
        is_cordoned,
        can_be_repartitioned,
        gets_a_device,
        offers_no_whole_gpus,
        offers_something_else_first,
        offers_something_else_last,
        offers_less_first,
        offers_less_last,
        has_more_than_it_offers,
        loses_its_first_device,
        loses_its_last_device,
    };
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        if (!ends_time_outs(changes[i])) {
            fail_msg("change %zu ends no time-out", i);
        }
    }
}

TEST_THAT(a_node_that_is_told_again_ends_no_time_out)
{
    assert_false(ends_time_outs(does_not_change));
}

TEST_THAT(a_node_of_another_name_takes_the_place_of_one)
{
    static struct state_of_node nodes[2];
    struct plan_rig *rig = plan_rig_new();
    describe(&nodes[0]);
    describe(&nodes[1]);
    (void)snprintf(nodes[1].is.name, sizeof(nodes[1].is.name), "n2");
    plan_rig_wait(rig, "a", 2, 600);
    tell(rig, &nodes[0]);
    assert_string_equal(plan_rig_run(rig, 1000), "nomination a on n1: nvidia.com/gpu=0,1\n");
    tell(rig, &nodes[1]);
    assert_string_equal(plan_rig_run(rig, 1000), "expire a on n1: NoRoom\n"
                                                 "nomination a on n2: nvidia.com/gpu=0,1\n");
    free_rig(rig);
}

TEST_THAT(a_node_that_comes_to_offer_a_resource_has_its_pods)
{
    static struct state_of_node before;
    static struct state_of_node after;
    struct plan_rig *rig = plan_rig_new();
    describe(&before);
    describe(&after);
    before.is.pool[0] = before.is.pool[1];
    before.is.node.n_pools = 1;
    struct plan_rig_pod *p = plan_rig_pod(rig, "a", MEM, 3, 600);
    plan_rig_put(rig, p);
    tell(rig, &before);
    assert_string_equal(plan_rig_run(rig, 1000), "refuse a: Never\n");
    tell(rig, &after);
    assert_string_equal(plan_rig_run(rig, 1000), "nomination a on n1: aliyun.com/gpu-mem=0*3\n");
    free_rig(rig);
}

/* Four pods wait, each for a GPU, 2 of CPU and 1 of memory; others use 4, 4 and 2 pods. */
static unsigned nominated_beside_others(struct sl_host host)
{
    static struct state_of_node node;
    struct plan_rig *rig = plan_rig_new();
    unsigned n = 0;
    describe(&node);
    node.is.node.host = host;
    node.is.node.n_devices = 4;
    node.is.device[3] = (struct sl_device){.index = 3, .healthy = true};
    node.is.pool[1].capacity = 4;
    for (unsigned i = 0; i < 4; i++) {
        static const char *const names[] = {"a", "b", "c", "d"};
        struct plan_rig_pod *p = plan_rig_pod(rig, names[i], GPU, 1, 600);
        p->constraints = (struct sl_constraints){.cpu_milli = 2, .memory_bytes = 1, .digest = 1};
        p->pod.constraints = &p->constraints;
        plan_rig_put(rig, p);
    }
    struct sl_error err = {0};
    rig->view[0] = sl_view_new(&node.is.node, NULL, 0);
    assert_non_null(rig->view[0]);
    rig->view[0]->cpu_milli = 4;
    rig->view[0]->memory_bytes = 4;
    rig->view[0]->n_pods = 2;
    const struct sl_view *view = rig->view[0];
    assert_int_equal(sl_planner_cluster(rig->planner, &view, 1, rig->now_us, &err), 0);
    for (const char *at = strstr(plan_rig_run(rig, 1000), "nomination"); at != NULL;
         at = strstr(at + 1, "nomination")) {
        n++;
    }
    free_rig(rig);
    return n;
}

TEST_THAT(what_others_use_of_a_host_stays_used_beside_nominations)
{
    assert_int_equal(nominated_beside_others((struct sl_host){-1, -1, -1}), 4);
    assert_int_equal(nominated_beside_others((struct sl_host){10, -1, -1}), 3);
    assert_int_equal(nominated_beside_others((struct sl_host){9, -1, -1}), 2);
    assert_int_equal(nominated_beside_others((struct sl_host){-1, 7, -1}), 3);
    assert_int_equal(nominated_beside_others((struct sl_host){-1, 5, -1}), 1);
    assert_int_equal(nominated_beside_others((struct sl_host){-1, -1, 5}), 3);
    assert_int_equal(nominated_beside_others((struct sl_host){-1, -1, 3}), 1);
}

/* Less room, then more, before anybody looked: what is told last counts. */
TEST_THAT_WITH(room_that_came_after_some_was_taken_is_given, plan_rig_set_up, plan_rig_tear_down)
{
    struct plan_rig *rig = *state;
    plan_rig_node(rig, "n1", 3);
    plan_rig_run_on(rig, "x", "n1", 2, 100);
    plan_rig_wait(rig, "a", 2, 100);
    assert_string_equal(plan_rig_plan(rig), "");
    plan_rig_run_on(rig, "y", "n1", 1, 100);
    plan_rig_cluster(rig);
    plan_rig_end(rig, "x");
    plan_rig_cluster(rig);
    assert_string_equal(plan_rig_run(rig, 9), "nomination a on n1: nvidia.com/gpu=1,2\n");
}

/* The rig tells of its nodes in their order; here the second is there before the first. */
TEST_THAT_WITH(a_node_that_comes_before_another_by_name_drops_nothing_there, plan_rig_set_up,
               plan_rig_tear_down)
{
    struct plan_rig *rig = *state;
    struct sl_error err = {0};
    plan_rig_node(rig, "n1", 1);
    plan_rig_node(rig, "n2", 2);
    plan_rig_node(rig, "n3", 1);
    struct sl_view *view[3];
    for (unsigned i = 0; i < 3; i++) {
        view[i] = sl_view_new(&rig->node[i].node, NULL, 0);
        assert_non_null(view[i]);
    }
    const struct sl_view *second[] = {view[1]};
    const struct sl_view *all[] = {view[0], view[1], view[2]};
    const struct sl_view *last[] = {view[1], view[2]};
    plan_rig_wait(rig, "a", 2, 100);
    assert_int_equal(sl_planner_cluster(rig->planner, second, 1, rig->now_us, &err), 0);
    assert_string_equal(plan_rig_run(rig, 9), "nomination a on n2: nvidia.com/gpu=0,1\n");
    assert_int_equal(sl_planner_cluster(rig->planner, all, 3, rig->now_us, &err), 0);
    assert_string_equal(plan_rig_run(rig, 9), "");
    assert_int_equal(sl_planner_cluster(rig->planner, last, 2, rig->now_us, &err), 0);
    assert_string_equal(plan_rig_run(rig, 9), "");
    assert_string_equal(plan_rig_state(rig, "a"), "Nominated None");
    sl_planner_remove(rig->planner, SL_STR("a"), rig->now_us);
    for (unsigned i = 0; i < 3; i++) {
        rig->view[i] = view[i]; /* the rig frees them */
    }
}
