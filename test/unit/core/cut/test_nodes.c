/* Which node is cut for the pods that wait. */
#include "unit/core/cut/cut_rig.h"

#include "sliced/constraint.h"

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct cut_rig *rig, the_node_that_loses_least_is_cut)
{
    static const struct {
        const char *first;
        const char *second;
        const char *told;
    } rows[] = {
        {"7g.40gb", "", "node-1: GPU 0 into 1x 4g.20gb: 0\n"},
        {"", "", "node-0: GPU 0 into 1x 4g.20gb: 0\n"},
        {"3g.20gb@4", "1g.5gb@0", "node-0: GPU 0 into 1x 3g.20gb + 1x 4g.20gb: 0\n"},
        {"3g.20gb 3g.20gb", "2g.10gb 2g.10gb", "node-1: GPU 0 into 1x 2g.10gb + 1x 4g.20gb: 0\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        (void)MANAGED(rig, A100, rows[i].first);
        (void)MANAGED(rig, A100, rows[i].second);
        (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
        assert_string_equal(rig_told(rig), rows[i].told);
        rig_clear(rig);
    }
}

/* One GPU more is worth less than one pod more, and more than nothing. */
TEST_ON(struct cut_rig *rig, the_node_that_serves_more_of_the_next_pods_is_cut_though_it_loses_more)
{
    (void)MANAGED(rig, A100, "");
    (void)MANAGED(rig, A100, "7g.40gb", "7g.40gb", "7g.40gb");
    rig->input.max_plans = 1;
    (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
    (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
    assert_string_equal(rig_told(rig),
                        "node-1: GPU 0 into 1x 4g.20gb; GPU 1 into 1x 4g.20gb: 0 1\n");
    rig->input.max_plans = 2;
    rig->n_pods = 1;
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 1x 4g.20gb: 0\n");
    rig->n_pods = 2;
}

/* An instance in demand is worth four that nobody wants. */
TEST_ON(struct cut_rig *rig, free_instances_in_demand_weigh_more)
{
    static struct sl_demand demand;
    (void)MANAGED(rig, A100, "1g.5gb");
    (void)MANAGED(rig, A100, "2g.10gb");
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 1x 7g.40gb: 0\n");
    demand = (struct sl_demand){.n = 1, .row = {{.kind = SL_KIND_MIG, .weight = 1}}};
    assert_true(sl_mig_shape_parse(SL_STR("1g.5gb"), &demand.row[0].shape));
    rig->input.demand = &demand;
    assert_string_equal(rig_told(rig), "node-1: GPU 0 into 1x 7g.40gb: 0\n");
}

/* Beside the few nodes that would lose least, those with the most room are looked at. */
/* Nothing is lost on either node: one GPU is cut rather than two, though it has more room. */
TEST_ON(struct cut_rig *rig, the_node_of_which_fewer_gpus_change_is_cut)
{
    size_t first = NOS(rig, A100, "4g.20gb*", "4g.20gb*");
    rig_run(rig, first, "mig-4g.20gb=2", 0);
    (void)NOS(rig, A100, "", "");
    (void)rig_wait(rig, "mig-3g.20gb=2", NULL);
    assert_string_equal(rig_told(rig), "node-1: GPU 0 into 2x 3g.20gb: 0\n");
}

/* The label may count fewer GPUs than the node shows, or none. */
TEST_ON(struct cut_rig *rig, nodes_are_read_however_many_gpus_their_label_counts)
{
    for (size_t i = 0; i < 3; i++) {
        (void)MANAGED(rig, A100, "7g.40gb", "7g.40gb", "7g.40gb", "7g.40gb", "7g.40gb", "7g.40gb");
        rig->node[i].node->partition.n_gpus = 0;
    }
    (void)rig_wait(rig, "mig-1g.5gb=1", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 7x 1g.5gb: 0\n");
}

TEST_ON(struct cut_rig *rig, many_nodes_that_lose_less_hide_none_that_serves_more)
{
    for (unsigned i = 0; i < 20; i++) {
        char label[16];
        (void)snprintf(label, sizeof(label), "kind=%u", i);
        (void)rig_node(rig, SL_ACTUATOR_MIG_MANAGER, A100, label, GPUS(""));
    }
    (void)MANAGED(rig, A100, "7g.40gb", "7g.40gb");
    rig->input.max_plans = 1;
    (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
    (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
    assert_string_equal(rig_told(rig),
                        "node-20: GPU 0 into 1x 4g.20gb; GPU 1 into 1x 4g.20gb: 0 1\n");
}

/* The nodes hold the same, but a GPU of the first may not be cut. */
TEST_ON(struct cut_rig *rig, nodes_that_hold_the_same_are_not_alike_where_less_may_be_cut)
{
    size_t first = MANAGED(rig, A100, "", "");
    (void)MANAGED(rig, A100, "", "");
    rig->node[first].node->device[0].healthy = false;
    rig_view(rig, first);
    rig->input.max_plans = 1;
    (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
    (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
    assert_string_equal(rig_told(rig),
                        "node-1: GPU 0 into 1x 4g.20gb; GPU 1 into 1x 4g.20gb: 0 1\n");
}

/* The nodes hold the same under names that their drivers spell differently. */
TEST_ON(struct cut_rig *rig, nodes_are_not_alike_whose_free_units_have_other_names)
{
    for (unsigned last = 0; last < 2; last++) {
        static const char *const gpu[] = {"1g.10gb 4g.39gb", "1g.10gb 4g.40gb"};
        (void)MANAGED(rig, "NVIDIA-A100-SXM4-80GB", gpu[last]);
        (void)MANAGED(rig, "NVIDIA-A100-SXM4-80GB", gpu[1 - last]);
        rig->input.max_plans = 1;
        (void)rig_wait(rig, "mig-2g.20gb=1", NULL);
        (void)rig_wait(rig, "mig-4g.40gb=1", NULL);
        rig_plan(rig);
        assert_int_equal(rig->output.n_plans, 1);
        assert_int_equal(rig->output.plan[0].view, 1 - last);
        assert_int_equal(rig->output.plan[0].n_pods, 2);
        rig_clear(rig);
    }
}

TEST_ON(struct cut_rig *rig, nodes_of_every_kind_are_looked_at)
{
    (void)MANAGED(rig, A30, "4g.24gb");
    (void)MANAGED(rig, A30, "");
    (void)MANAGED(rig, A100, "7g.40gb");
    (void)MANAGED(rig, A100, "");
    (void)rig_wait(rig, "mig-2g.12gb=1", NULL);
    (void)rig_wait(rig, "mig-2g.10gb=1", NULL);
    assert_string_equal(rig_told(rig), "node-1: GPU 0 into 2x 2g.12gb: 0\n"
                                       "node-3: GPU 0 into 3x 2g.10gb: 1\n");
}

TEST_ON(struct cut_rig *rig, a_pod_that_starts_no_later_without_takes_no_part)
{
    (void)MANAGED(rig, A100, "");
    struct sl_cut_pod *soon = rig_wait(rig, "mig-3g.20gb=1", NULL);
    (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
    (void)rig_wait(rig, "mig-3g.20gb=1", NULL);
    soon->start_us = rig_now + 60 * rig_second;
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 1x 3g.20gb + 1x 4g.20gb: 1 2\n");
    soon->start_us = rig_now + 61 * rig_second;
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 1x 3g.20gb + 1x 4g.20gb: 0 1\n");
}

TEST_ON(struct cut_rig *rig, a_cut_that_saves_less_waiting_than_it_takes_is_not_made)
{
    (void)MANAGED(rig, A100, "");
    struct sl_cut_pod *pod = rig_wait(rig, "mig-3g.20gb=1", NULL);
    pod->start_us = rig_now + 119 * rig_second; /* a cut takes 60 s */
    assert_string_equal(rig_told(rig), "");
    pod->start_us = rig_now + 120 * rig_second;
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 2x 3g.20gb: 0\n");
}

/* The same ask fails at once when a pod ahead that would start later failed with it. */
TEST_ON(struct cut_rig *rig, a_pod_with_the_ask_of_one_that_failed_is_served_where_it_waits_longer)
{
    (void)MANAGED(rig, A100, "");
    rig_wait(rig, "mig-4g.20gb=1", NULL)->start_us = rig_now + 60 * rig_second;
    rig_wait(rig, "mig-4g.20gb=1", NULL)->start_us = rig_now + 3600 * rig_second;
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 1x 4g.20gb: 1\n");
}

/* The first node is out of ways to be cut: the second is asked as if nobody had been there. */
TEST_ON(struct cut_rig *rig, a_plan_begins_anew_when_one_of_its_nodes_must_be_left_out)
{
    size_t first = MANAGED(rig, A100, "");
    (void)MANAGED(rig, A100, "");
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 1x 7g.40gb: 0\n"
                                       "node-1: GPU 0 into 1x 7g.40gb: 1\n");
    rig->site[first].failed[0] = rig->output.plan[0].digest;
    assert_string_equal(rig_told(rig), "node-1: GPU 0 into 1x 7g.40gb: 0\n");
}

/* ---- CPU and memory ---- */

static void constrain(struct cut_rig *rig, size_t i, struct sl_constraints *constraints)
{
    rig->waiting[i]->constraints = constraints;
}

TEST_ON(struct cut_rig *rig, cpu_and_memory_that_pods_of_the_plan_take_count)
{
    struct sl_constraints some = {.cpu_milli = 2000, .memory_bytes = 300, .digest = 1};
    (void)MANAGED(rig, A100, "7g.40gb");
    for (unsigned i = 0; i < 3; i++) {
        (void)rig_wait(rig, "mig-1g.5gb=1", NULL);
        constrain(rig, i, &some);
    }
    rig->node[0].node->host.cpu_milli = 4000;
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 7x 1g.5gb: 0 1\n");
    rig->node[0].node->host.cpu_milli = -1;
    rig->node[0].node->host.memory_bytes = 899;
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 7x 1g.5gb: 0 1\n");
    rig->node[0].node->host.memory_bytes = 900;
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 7x 1g.5gb: 0 1 2\n");
    for (unsigned i = 0; i < 3; i++) {
        constrain(rig, i, NULL);
    }
}

/* A node whose CPU is full helps a pod as little as no node. */
TEST_ON(struct cut_rig *rig, pods_of_one_ask_and_other_constraints_are_tried_each)
{
    struct sl_constraints much = {.cpu_milli = 9000, .digest = 1};
    struct sl_constraints little = {.cpu_milli = 1000, .digest = 2};
    (void)MANAGED(rig, A100, "7g.40gb");
    rig->node[0].node->host.cpu_milli = 4000;
    (void)rig_wait(rig, "mig-1g.5gb=1", NULL);
    (void)rig_wait(rig, "mig-1g.5gb=1", NULL);
    constrain(rig, 0, &much);
    constrain(rig, 1, &little);
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 7x 1g.5gb: 1\n");
    constrain(rig, 0, NULL);
    constrain(rig, 1, NULL);
}

TEST_ON(struct cut_rig *rig, asks_for_more_memory_are_other_asks)
{
    (void)MANAGED(rig, A100, "7g.40gb");
    (void)rig_wait(rig, "mig-1g.5gb=1", "sliced.dev/min-gpu-memory=5Gi"); /* never */
    (void)rig_wait(rig, "mig-1g.5gb=1", "sliced.dev/min-gpu-memory=4Gi");
    (void)rig_wait(rig, "mig-1g.5gb=8", NULL); /* never */
    (void)rig_wait(rig, "mig-1g.5gb=1", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 7x 1g.5gb: 1 3\n");
}

/* ---- words ---- */

TEST_ON(struct cut_rig *rig, a_cut_is_told_by_gpu_and_profile)
{
    char text[64];
    struct sl_cut cut[2] = {{.device = 0, .whole = true}, {.device = 3}};
    (void)MANAGED(rig, A30, "4g.24gb", "4g.24gb");
    const struct sl_node *node = rig->node[0].node;
    size_t len = sl_cut_text(node, cut, 2, text, sizeof(text));
    assert_int_equal(len, strlen(text));
    assert_string_equal(text, "GPU 0 into a whole GPU; GPU 3 into nothing");
    cut[1].n = 3;
    cut[1].instance[0].profile = 2;
    assert_true(sl_cut_text(node, cut, 2, text, sizeof(text)) > 0);
    assert_string_equal(text, "GPU 0 into a whole GPU; GPU 3 into 2x 1g.6gb + 1x 2g.12gb");
    (void)sl_cut_text(node, cut, 2, text, 12);
    assert_true(strlen(text) < 12);
}

TEST_ON(struct cut_rig *rig, cuts_are_read_from_their_text)
{
    static const char *const texts[] = {
        "GPU 0 into 2x 1g.5gb + 1x 1g.5gb+me + 1x 2g.10gb; GPU 3 into 7x 1g.5gb",
        "GPU 1 into a whole GPU; GPU 2 into nothing",
        "GPU 0 into 4x 5gb + 2x 10gb",
    };
    static const char *const odd[] = {
        "",
        "sliced-1234-1",
        "GPU",
        "GPU x into 1x 1g.5gb",
        "GPU 0 into",
        "GPU -1 into 1x 1g.5gb",
        "GPU 0 into 1x",
        "GPU 0 into 8x 9g.90gb",
        "GPU 0 into 9x 1g.5gb",
        "GPU 0 into 99999999999999999999x 5gb",
        "GPU 0 into 1x 1g.5gb - 1x 1g.5gb",
        "GPU 0 into 0x 5gb",
        "GPU 70000 into nothing",
        "GPU 0 into 1x 5gb; GPU 1 into 1x 5gb; GPU 2 into 1x 5gb",
    };
    struct sl_cut cut[2];
    char text[256];
    const struct sl_node *node = rig->node[MANAGED(rig, A100, "7g.40gb")].node;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        size_t n = sl_cut_text_read(node, texts[i], cut, 2);
        (void)sl_cut_text(node, cut, n, text, sizeof(text));
        assert_string_equal(text, texts[i]);
    }
    for (size_t i = 1; i < sizeof(odd) / sizeof(odd[0]); i++) {
        if (sl_cut_text_read(node, odd[i], cut, 2) != 0) {
            fail_msg("%s", odd[i]);
        }
    }
}
