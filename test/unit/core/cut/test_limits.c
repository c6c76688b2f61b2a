/* Asks that lie, and many of them. */
#include "unit/core/cut/cut_rig.h"

#include "core/cut/planner.h"
#include "sliced/constraint.h"
#include "util/data/hash.h"

enum { MANY = 400 };

/* A waiting pod whose ask no annotation could spell. */
static struct sl_cut_pod *wait_oddly(struct cut_rig *rig, struct sl_ask_item item, uint32_t n)
{
    struct sl_cut_pod *pod = rig_wait(rig, "mig-1g.5gb=1", NULL);
    struct sl_pod *odd = rig->waiting[rig->n_pods - 1];
    item.resource = item.resource == NULL ? odd->items[0].resource : item.resource;
    item.key = sl_hash(item.resource, strlen(item.resource));
    odd->items[0] = item;
    odd->n_items = n;
    return pod;
}

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct cut_rig *rig, odd_asks_get_nothing_and_harm_nobody)
{
    struct sl_mig_shape shape = {1, 5, 0};
    const struct sl_ask_item odd[] = {
        {.kind = SL_KIND_MIG, .shape = shape, .count = 0},
        {.kind = SL_KIND_MIG, .shape = shape, .count = -1},
        {.kind = SL_KIND_MIG, .shape = shape, .count = INT64_MIN},
        {.kind = SL_KIND_MIG, .shape = shape, .count = SL_UNITS_MAX},
        {.kind = SL_KIND_MIG, .shape = shape, .count = INT64_MAX},
        {.kind = SL_KIND_MIG, .shape = {99, 9999, 255}, .count = 1},
        {.kind = SL_KIND_MIG, .resource = "nvidia.com/mig-9g.99gb", .count = 1},
        {.kind = SL_KIND_MIG, .shape = shape, .count = 1, .least_mib = INT32_MAX},
        {.kind = SL_KIND_REPLICA, .resource = "nvidia.com/gpu.shared", .count = 1},
        {.kind = SL_KIND_MEMORY, .resource = "aliyun.com/gpu-mem", .count = 1},
        {.kind = SL_KIND_WHOLE, .resource = "nvidia.com/gpu", .count = INT64_MAX},
    };
    (void)MANAGED(rig, A100, "7g.40gb", "");
    (void)NOS(rig, A100, "7g.40gb", "1g.5gb*");
    (void)rig_node(rig, SL_ACTUATOR_MIG_MANAGER, A100, "nvidia.com/mig.strategy=single",
                   GPUS(NULL, NULL));
    rig->input.limits.mig_mode = true;
    rig->input.drain = true;
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        (void)wait_oddly(rig, odd[i], 1);
    }
    (void)wait_oddly(rig, odd[0], 0);
    rig_run(rig, 1, "mig-1g.5gb=1", 60);
    assert_string_equal(rig_told(rig), "");
    (void)rig_wait(rig, "mig-3g.20gb=1", NULL);
    assert_string_equal(rig_told(rig), "node-1: GPU 1 into 1x 1g.5gb + 1x 3g.20gb: 12\n");
}

TEST_ON(struct cut_rig *rig, equal_input_gives_equal_output)
{
    char before[sizeof(rig->text)];
    static const char *const asks[] = {"mig-1g.5gb=3", "mig-3g.20gb=1", "mig-4g.20gb=1",
                                       "mig-2g.10gb=1 mig-1g.5gb=1"};
    for (unsigned i = 0; i < 4; i++) {
        (void)MANAGED(rig, A100, "7g.40gb", "3g.20gb 3g.20gb");
        (void)NOS(rig, A100, "7g.40gb", "2g.10gb* 3g.20gb");
    }
    for (unsigned i = 0; i < 60; i++) {
        (void)rig_wait(rig, asks[i % 4], NULL);
    }
    rig->input.drain = true;
    (void)snprintf(before, sizeof(before), "%s", rig_told(rig));
    assert_string_equal(rig_told(rig), before);
    struct sl_cutter *old = rig->cutter;
    struct sl_error err;
    rig->cutter = sl_cutter_new(&err);
    assert_string_equal(rig_told(rig), before);
    sl_cutter_free(old);
}

/* A plan does not pay for looks of earlier ones: a cutter serves for weeks. */
TEST_ON(struct cut_rig *rig, a_cutter_plans_for_the_last_time_as_for_the_first)
{
    char before[sizeof(rig->text)];
    (void)NOS(rig, A100, "1g.5gb* 2g.10gb* 1g.5gb", "3g.20gb");
    (void)NOS(rig, A100, "4g.20gb* 3g.20gb*");
    (void)SHARED(rig, 80, "20gb* 10gb", "40gb*");
    rig_run(rig, 0, "mig-1g.5gb=1 mig-2g.10gb=1", 900);
    rig_run(rig, 1, "mig-4g.20gb=1", 600);
    rig_run(rig, 1, "mig-3g.20gb=1", 700);
    rig_run(rig, 2, "gpu-20gb=1", 800);
    rig_run(rig, 2, "gpu-40gb=1", 800);
    (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    (void)rig_wait(rig, "gpu-80gb=1", NULL);
    (void)rig_wait(rig, "gpu-50gb=1", NULL);
    rig->input.drain = true;
    (void)snprintf(before, sizeof(before), "%s", rig_told(rig));
    assert_string_equal(before, "node-0: GPU 1 into 1x 3g.20gb + 1x 4g.20gb: 0\n"
                                "node-2: GPU 0 into 1x 10gb + 1x 20gb + 1x 50gb: 3\n"
                                "drain node-1 for 1 until 700 s\n");
    while (rig->cutter->table.packed < SL_CUT_WORK / 10) {
        assert_string_equal(rig_told(rig), before);
    }
}

/* A node that could serve is tried, which is dear, and so are the ways in which what is in use may
 * lie: neither is without bound, or for nothing. */
TEST_ON(struct cut_rig *rig, what_is_tried_is_bounded_and_paid_for)
{
    int64_t spent[2];
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned k = 0; k < (i == 0 ? 150 : 450); k++) {
            char label[32];
            (void)snprintf(label, sizeof(label), "kind=%u", k);
            (void)rig_node(rig, SL_ACTUATOR_MIG_MANAGER, A100, label, GPUS("7g.40gb"));
        }
        (void)rig_wait(rig, "mig-1g.5gb=1", NULL);
        rig_plan(rig);
        spent[i] = SL_CUT_WORK - rig->cutter->work;
        rig_clear(rig);
    }
    assert_int_equal(spent[1], spent[0]);
    for (unsigned i = 0; i < 2; i++) {
        (void)NOS(rig, A100, i == 0 ? "7g.40gb" : "1g.5gb* 1g.5gb* 1g.5gb");
        if (i == 1) {
            rig_run(rig, 0, "mig-1g.5gb=2", 0);
        }
        (void)rig_wait(rig, "mig-2g.10gb=1", NULL);
        rig_plan(rig);
        assert_int_equal(rig->output.n_plans, 1);
        spent[i] = SL_CUT_WORK - rig->cutter->work;
        rig_clear(rig);
    }
    assert_true(spent[1] > 5 * spent[0]);
    int64_t left[2];
    int64_t packed[2];
    for (unsigned i = 0; i < 2; i++) { /* and so is the search for drains */
        for (unsigned k = 0; k < 1 + i; k++) {
            rig_run(rig, NOS(rig, A100, "4g.20gb* 3g.20gb*"), "mig-4g.20gb=1 mig-3g.20gb=1",
                    600 - 60 * k);
        }
        (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
        rig->input.drain = true;
        int64_t before = rig->cutter->table.packed;
        rig_plan(rig);
        assert_int_equal(rig->output.n_drains, 1);
        packed[i] = rig->cutter->table.packed - before;
        left[i] = rig->cutter->work;
        rig_clear(rig);
    }
    assert_true(packed[1] > packed[0] && left[0] - left[1] >= 12 * (packed[1] - packed[0]));
}

/* Nodes of many kinds, of which the last alone loses nothing by a cut, are all looked at, wherever
 * the key puts their kinds. */
TEST_ON(struct cut_rig *rig, the_process_key_decides_nothing)
{
    const unsigned kinds = 100;
    for (uint8_t k = 0; k < 3; k++) {
        const uint8_t key[SL_HASH_KEY] = {k, 7};
        sl_hash_set_key(key);
        for (unsigned i = 0; i < 4 * kinds; i++) {
            char label[32];
            (void)snprintf(label, sizeof(label), "kind=%u", i % kinds);
            (void)rig_node(rig, SL_ACTUATOR_MIG_MANAGER, A100, label, GPUS("7g.40gb"));
        }
        (void)MANAGED(rig, A100, "");
        (void)rig_wait(rig, "mig-1g.5gb=1", NULL);
        assert_string_equal(rig_told(rig), "node-400: GPU 0 into 7x 1g.5gb: 0\n");
        rig_clear(rig);
    }
    const uint8_t none[SL_HASH_KEY] = {0};
    sl_hash_set_key(none);
}

/* Thousands of different asks of one namespace leave work for the pod of another. */
TEST_ON(struct cut_rig *rig, a_namespace_of_liars_leaves_work_for_others)
{
    struct sl_mig_shape shape = {1, 5, 0};
    for (unsigned i = 0; i < RIG_PLANS; i++) {
        (void)NOS(rig, A100, "1g.5gb* 1g.5gb 2g.10gb*", "1g.5gb* 2g.10gb", "1g.5gb* 1g.5gb*",
                  "2g.10gb* 1g.5gb", "1g.5gb*", "1g.5gb* 1g.5gb", "2g.10gb*", "7g.40gb");
        rig_run(rig, i, "mig-1g.5gb=7 mig-2g.10gb=3", 0);
    }
    for (unsigned i = 0; i < MANY; i++) {
        (void)wait_oddly(
            rig,
            (struct sl_ask_item){
                .kind = SL_KIND_MIG, .shape = shape, .count = 30 + i % 9, .memory_mib = (int32_t)i},
            1);
    }
    struct sl_cut_pod *last = rig_wait(rig, "mig-4g.20gb=1", NULL);
    rig->waiting[rig->n_pods - 1]->namespace = "others";
    rig_plan(rig);
    bool served = false;
    for (size_t i = 0; i < rig->output.n_plans; i++) {
        const struct sl_cut_plan *plan = &rig->output.plan[i];
        for (size_t k = 0; k < plan->n_pods; k++) {
            served = served || &rig->pod[plan->pod[k]] == last;
        }
    }
    assert_true(served);
}

/* What a pod's constraints compare is work, too. */
TEST_ON(struct cut_rig *rig, constraints_are_paid_for_by_what_they_compare)
{
    enum { PODS = 10, WEIGHT = 10000 };
    static struct sl_constraints dear[PODS];
    (void)MANAGED(rig, A100, "7g.40gb");
    for (unsigned i = 0; i < PODS; i++) {
        dear[i] = (struct sl_constraints){.affinity = true, .weight = WEIGHT, .digest = 100 + i};
        (void)rig_wait(rig, "mig-1g.5gb=1", NULL);
        rig->waiting[rig->n_pods - 1]->constraints = &dear[i];
    }
    rig_plan(rig);
    assert_int_equal(rig->output.n_plans, 0);
    assert_true(SL_CUT_WORK - rig->cutter->work >= (int64_t)PODS * WEIGHT);
    rig_run(rig, 0, "mig-7g.40gb=1", 600);
    rig_plan(rig);
    rig->input.drain = true;
    rig_plan(rig);
    int64_t left = rig->cutter->work; /* of the looks for drains */
    for (unsigned i = 0; i < PODS; i++) {
        dear[i].weight = 0;
    }
    rig_plan(rig);
    assert_true(left <= rig->cutter->work - WEIGHT);
}

/* Pods ahead that no drain would help leave looks at drains to the pod of another namespace. */
TEST_ON(struct cut_rig *rig, a_namespace_of_hopeless_pods_leaves_drains_to_others)
{
    size_t node = MANAGED(rig, A100, "1g.5gb 1g.5gb");
    rig_run(rig, node, "mig-1g.5gb=1", 600);
    rig->input.drain = true;
    for (unsigned i = 0; i < MANY; i++) {
        (void)rig_wait(rig, i % 2 == 0 ? "mig-7g.40gb=2" : "mig-4g.20gb=2", NULL);
    }
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    rig->waiting[rig->n_pods - 1]->namespace = "others";
    assert_string_equal(rig_told(rig), "drain node-0 for 400 until 600 s\n");
}
