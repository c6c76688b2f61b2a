/* Strategy single: all GPUs of a node are cut alike, for pods that ask for nvidia.com/gpu. */
#include "unit/core/cut/cut_rig.h"

#define SINGLE "nvidia.com/mig.strategy=single"

static size_t single(struct cut_rig *rig, size_t n, const char *const *gpu)
{
    return rig_node(rig, SL_ACTUATOR_MIG_MANAGER, A100, SINGLE, n, gpu);
}

/* A pod for so many GPUs of at least so many GiB; 0: it states none. */
static void wait_for(struct cut_rig *rig, unsigned gpus, unsigned gib)
{
    char asks[32];
    char memory[64];
    (void)snprintf(asks, sizeof(asks), "gpu=%u", gpus);
    (void)snprintf(memory, sizeof(memory), "sliced.dev/min-gpu-memory=%uGi", gib);
    (void)rig_wait(rig, asks, gib > 0 ? memory : NULL);
}

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct cut_rig *rig, the_smallest_instances_that_suffice_are_made)
{
    static const struct {
        unsigned gpus;
        unsigned gib;
        const char *told;
    } rows[] = {
        {14, 4, "node-0: GPU 0 into 7x 1g.5gb; GPU 1 into 7x 1g.5gb: 0\n"},
        {15, 4, ""},
        {8, 5, "node-0: GPU 0 into 4x 1g.10gb; GPU 1 into 4x 1g.10gb: 0\n"},
        {8, 9, "node-0: GPU 0 into 4x 1g.10gb; GPU 1 into 4x 1g.10gb: 0\n"},
        {9, 9, ""},
        {4, 11, "node-0: GPU 0 into 2x 3g.20gb; GPU 1 into 2x 3g.20gb: 0\n"},
        {5, 18, ""},
        {2, 20, "node-0: GPU 0 into 1x 7g.40gb; GPU 1 into 1x 7g.40gb: 0\n"},
        {2, 39, "node-0: GPU 0 into 1x 7g.40gb; GPU 1 into 1x 7g.40gb: 0\n"},
        {1, 40, ""},
        {3, 0, ""},
        {2, 0, "node-0: GPU 0 into 1x 7g.40gb; GPU 1 into 1x 7g.40gb: 0\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        (void)single(rig, GPUS("2g.10gb 2g.10gb 2g.10gb", "2g.10gb 2g.10gb 2g.10gb"));
        wait_for(rig, rows[i].gpus, rows[i].gib);
        assert_string_equal(rig_told(rig), rows[i].told);
        rig_clear(rig);
    }
}

/* What one pod needs bounds what the next may: neither is cut off by the other. */
TEST_ON(struct cut_rig *rig, the_needs_of_all_pods_are_met_together)
{
    (void)single(rig, GPUS("7g.40gb", "7g.40gb"));
    wait_for(rig, 2, 18);
    wait_for(rig, 3, 4);
    wait_for(rig, 9, 20); /* never: the pods before and behind it are served all the same */
    wait_for(rig, 2, 4);
    assert_string_equal(rig_told(rig),
                        "node-0: GPU 0 into 2x 3g.20gb; GPU 1 into 2x 3g.20gb: 0 3\n");
    rig_clear(rig);
    (void)single(rig, GPUS("3g.20gb 3g.20gb", "3g.20gb 3g.20gb"));
    wait_for(rig, 1, 0);
    wait_for(rig, 2, 4); /* one GPU is left */
    wait_for(rig, 1, 4);
    assert_string_equal(rig_told(rig),
                        "node-0: GPU 0 into 1x 7g.40gb; GPU 1 into 1x 7g.40gb: 0 2\n");
}

/* The second node is looked at for the first pod, too, and keeps nothing of that. */
TEST_ON(struct cut_rig *rig, a_node_that_was_only_looked_at_is_as_before)
{
    static const struct {
        unsigned gpus;
        unsigned gib;
        const char *told;
    } rows[] = {
        {1, 18, "node-0: GPU 0 into 2x 3g.20gb: 0\nnode-1: GPU 0 into 7x 1g.5gb: 1\n"},
        {1, 0, "node-0: GPU 0 into 1x 7g.40gb: 0\nnode-1: GPU 0 into 7x 1g.5gb: 1\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        (void)single(rig, GPUS("2g.10gb"));
        (void)rig_node(rig, SL_ACTUATOR_MIG_MANAGER, A100, SINGLE " a=b", GPUS("2g.10gb"));
        wait_for(rig, rows[i].gpus, rows[i].gib);
        wait_for(rig, 7, 4);
        assert_string_equal(rig_told(rig), rows[i].told);
        rig_clear(rig);
    }
}

TEST_ON(struct cut_rig *rig, mig_mode_is_switched_for_all_or_none)
{
    (void)single(rig, GPUS(NULL, NULL));
    wait_for(rig, 3, 18);
    assert_string_equal(rig_told(rig), "");
    rig->input.limits.mig_mode = true;
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 2x 3g.20gb; GPU 1 into 2x 3g.20gb: 0\n");
    rig_clear(rig);
    (void)single(rig, GPUS("7g.40gb", "7g.40gb"));
    (void)rig_wait(rig, "gpu=1",
                   "sliced.dev/min-gpu-memory=41Gi"); /* not even a whole GPU has it */
    assert_string_equal(rig_told(rig), "");
}

TEST_ON(struct cut_rig *rig, a_node_that_is_cut_as_needed_is_left_as_it_is)
{
    (void)single(rig, GPUS("3g.20gb 3g.20gb", "3g.20gb 3g.20gb"));
    wait_for(rig, 4, 18);
    assert_string_equal(rig_told(rig), "");
    rig_clear(rig);
    (void)single(rig, GPUS("3g.20gb 3g.20gb", "3g.20gb"));
    wait_for(rig, 4, 18);
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 2x 3g.20gb; GPU 1 into 2x 3g.20gb: 0\n");
}

TEST_ON(struct cut_rig *rig, only_asks_for_nvidia_com_gpu_alone_count)
{
    (void)single(rig, GPUS("7g.40gb", "7g.40gb"));
    (void)rig_wait(rig, "mig-3g.20gb=1", NULL);
    (void)rig_wait(rig, "gpu=1 mig-1g.5gb=1", "sliced.dev/min-gpu-memory=5Gi");
    assert_string_equal(rig_told(rig), "");
    (void)MANAGED(rig, A100, "7g.40gb"); /* another serves the first */
    assert_string_equal(rig_told(rig), "node-1: GPU 0 into 2x 3g.20gb: 0\n");
}

/* The cut under way makes instances of one profile: none else is waited for. */
TEST_ON(struct cut_rig *rig, pods_that_come_later_wait_for_what_a_cut_under_way_makes)
{
    struct sl_cut cut[2];
    (void)single(rig, GPUS("7g.40gb", "7g.40gb"));
    wait_for(rig, 1, 18);
    rig_plan(rig);
    assert_int_equal(rig->output.plan[0].n_cuts, 2); /* four of 3g.20gb */
    memcpy(cut, rig->output.plan[0].cut, sizeof(cut));
    rig->site[0] = (struct sl_cut_site){
        .out = true, .making = cut, .n_making = 2, .made_us = rig_now + 20 * rig_second};
    rig->pod[0].has_room = true;
    rig->pod[0].made = 1;
    wait_for(rig, 1, 0);  /* a whole board */
    wait_for(rig, 1, 20); /* more memory than they have */
    wait_for(rig, 3, 4);
    wait_for(rig, 1, 4); /* nothing is left for it */
    assert_string_equal(rig_told(rig), "node-0: : 3\n");
}
