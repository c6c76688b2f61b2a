/* What a node's labels say of its units' GPU memory, of how replicas are given, and of how
 * mig-manager has cut its GPUs. */
#include "node_rig.h"

#include "core/node/pool.h"

static void pool_is(struct node_rig *rig, const char *resource, int64_t memory_mib, bool equal,
                    bool one_each)
{
    const struct sl_node *n = make(rig);
    int p = sl_node_pool(n, sl_hash(resource, strlen(resource)));
    assert_true(p >= 0);
    assert_int_equal(n->pool[p].memory_mib, memory_mib);
    assert_int_equal(n->pool[p].equal_memory, equal);
    assert_int_equal(n->pool[p].one_each, one_each);
}

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct node_rig *rig, a_whole_gpu_has_the_memory_of_the_label)
{
    given(rig, T4, "nvidia.com/gpu=2");
    pool_is(rig, "nvidia.com/gpu", 15360, false, false);
    assert_int_equal(sl_node_unit_mib(rig->made, 0, 1, -1), 15360);
}

TEST_ON(struct node_rig *rig, memory_is_read_in_mib_in_bytes_or_with_a_unit)
{
    static const struct {
        const char *label;
        int64_t mib;
    } rows[] = {
        {"23028", 23028},
        {"512", 512},
        {"1048576", 1048576},
        {"24146608128", 23028}, /* bytes */
        {"1099511627776", 1048576},
        {"24Gi", 24576},
        {"24GiB", 24576},
        {"24GB", 22888},
        {"23028Mi", 23028},
        {"23028MiB", 23028},
        {"22.5Gi", 23040},
        {"24146608128k", 0}, /* beyond all GPUs */
        {"24", 0},
        {"511", 0}, /* of what? */
        {"0", 0},
        {"-23028", 0},
        {"1048577", 0},
        {"16777216", 0}, /* neither MiB nor bytes */
        {"1099512676352", 0},
        {"9223372036854775807", 0},
        {"99999999999999999999", 0},
        {"2Ti", 0},
        {"-24Gi", 0},
        {"B", 0},
        {"24gb", 0},
        {"unknown", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char labels[128];
        (void)snprintf(labels, sizeof(labels),
                       "nvidia.com/gpu.product=Quadro-X nvidia.com/gpu.memory=%s", rows[i].label);
        given(rig, labels, "nvidia.com/gpu=1");
        const struct sl_node *node = make(rig);
        assert_int_equal(node->device[0].memory_mib, rows[i].mib);
        assert_int_equal(node->pool[0].memory_mib, rows[i].mib);
        assert_int_equal(node->problem == NULL, rows[i].mib > 0);
        assert_true(node->problem == NULL || strstr(node->problem, rows[i].label) != NULL);
        assert_true(node->problem == NULL ||
                    strstr(node->problem, "is no GPU's memory in MiB, ignored") != NULL);
    }
}

TEST_ON(struct node_rig *rig, memory_that_the_product_cannot_have_is_not_believed)
{
    given(rig, "nvidia.com/gpu.product=NVIDIA-A100-SXM4-80GB nvidia.com/gpu.memory=640GB",
          "nvidia.com/gpu=8"); /* of all eight */
    assert_int_equal(make(rig)->device[0].memory_mib, 81920);
    assert_string_equal(rig->made->problem,
                        "GPU memory by the labels: 610351 MiB are more than its "
                        "product has, ignored");
    given(rig, "nvidia.com/gpu.product=NVIDIA-H100-80GB-HBM3 nvidia.com/gpu.memory=1024",
          "nvidia.com/gpu=8");
    assert_int_equal(make(rig)->device[0].memory_mib, 81920);
    assert_string_equal(rig->made->problem,
                        "GPU memory by the labels: 1024 MiB are less than an eighth of what its "
                        "product has, ignored");
    given(rig, A30 "nvidia.com/mig-1g.6gb.memory=512", "nvidia.com/mig-1g.6gb=4");
    pool_is(rig, "nvidia.com/mig-1g.6gb", 5952, false, false);
    assert_non_null(strstr(rig->made->problem, "less than an eighth of what such an instance has"));
    given(rig, A30 "nvidia.com/mig-1g.6gb.memory=24576", "nvidia.com/mig-1g.6gb=4");
    pool_is(rig, "nvidia.com/mig-1g.6gb", 5952, false, false);
    assert_non_null(strstr(rig->made->problem, "more than such an instance has"));
    given(rig, A30 "nvidia.com/mig-1g.6gb.memory=6241124352", "nvidia.com/mig-1g.6gb=4");
    pool_is(rig, "nvidia.com/mig-1g.6gb", 5952, false, false);
    assert_null(rig->made->problem);
}

/* Drivers round the names of profiles; whoever labels a GPU may keep some of it back. */
TEST_ON(struct node_rig *rig, memory_near_that_of_the_profile_is_believed)
{
    static const struct {
        int64_t label;
        bool good;
    } rows[] = {{6451, true}, {6452, false}, {768, true}, {767, false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char labels[160];
        (void)snprintf(labels, sizeof(labels), A30 "nvidia.com/mig-1g.6gb.memory=%lld",
                       (long long)rows[i].label);
        given(rig, labels, "nvidia.com/mig-1g.6gb=4");
        pool_is(rig, "nvidia.com/mig-1g.6gb", rows[i].good ? rows[i].label : 5952, false, false);
        assert_int_equal(rig->made->problem == NULL, rows[i].good);
    }
    assert_string_equal(rig->made->problem,
                        "nvidia.com/mig-1g.6gb: 767 MiB by its label are less than an eighth of "
                        "what such an instance has, ignored");
}

TEST_ON(struct node_rig *rig, annotated_memory_beyond_all_gpus_is_a_problem)
{
    given(rig, T4, "nvidia.com/gpu=1");
    struct sl_device_facts *only = device(rig, 0, NULL);
    only->memory_mib = INT64_C(12884901888); /* bytes */
    assert_int_equal(make(rig)->device[0].memory_mib, 12288);
    only->memory_mib = INT64_C(1) << 30 << 12;
    assert_int_equal(make(rig)->device[0].memory_mib, 15360);
    assert_non_null(strstr(rig->made->problem, "more than any GPU has"));
}

TEST_ON(struct node_rig *rig, a_part_of_an_unknown_number_of_parts_is_unknown)
{
    const char *labels = T4 "nvidia.com/gpu.count=3 nvidia.com/gpu.sharing-strategy=mps ";
    given(rig, labels, "nvidia.com/gpu=8");
    pool_is(rig, "nvidia.com/gpu", 0, true, true);
    assert_int_equal(rig->made->pool[0].total_mib, 3 * 15360);
    given(rig, T4 "nvidia.com/gpu.sharing-strategy=mps ", "nvidia.com/gpu=8");
    pool_is(rig, "nvidia.com/gpu", 0, true, true);
    assert_int_equal(rig->made->pool[0].total_mib, 15360); /* there is one GPU at least */
}

TEST_ON(struct node_rig *rig, an_instance_has_the_memory_of_its_label_else_what_its_driver_leaves)
{
    given(rig, A100 "nvidia.com/gpu.count=1 nvidia.com/mig-1g.5gb.memory=4864",
          "nvidia.com/mig-1g.5gb=3 nvidia.com/mig-2g.10gb=1");
    pool_is(rig, "nvidia.com/mig-1g.5gb", 4864, false, false);
    pool_is(rig, "nvidia.com/mig-2g.10gb", 9856, false, false);
}

TEST_ON(struct node_rig *rig, under_strategy_single_the_label_is_of_an_instance)
{
    given(rig,
          "nvidia.com/gpu.product=NVIDIA-A30-MIG-1g.6gb nvidia.com/gpu.memory=5952 "
          "nvidia.com/mig.strategy=single",
          "nvidia.com/gpu=8");
    pool_is(rig, "nvidia.com/gpu", 5952, false, false);
    assert_int_equal(rig->made->n_instances, 8);
    assert_int_equal(sl_node_unit_mib(rig->made, 0, 0, 0), 5952);
}

TEST_ON(struct node_rig *rig, under_mps_each_replica_has_its_part_and_a_request_is_for_one)
{
    given(rig,
          T4 "nvidia.com/gpu.count=2 nvidia.com/gpu.replicas=4 nvidia.com/gpu.sharing-strategy=mps",
          "nvidia.com/gpu=8");
    pool_is(rig, "nvidia.com/gpu", 15360, true, true);
    assert_int_equal(sl_node_unit_mib(rig->made, 0, 0, -1), 3840);
}

TEST_ON(struct node_rig *rig, time_slicing_shows_every_replica_all_memory)
{
    given(rig,
          T4 "nvidia.com/gpu.count=2 nvidia.com/gpu.replicas=4 "
             "nvidia.com/gpu.sharing-strategy=time-slicing",
          "nvidia.com/gpu.shared=8");
    pool_is(rig, "nvidia.com/gpu.shared", 15360, false, false);
    assert_int_equal(sl_node_unit_mib(rig->made, 0, 0, -1), 15360);
}

TEST_ON(struct node_rig *rig, the_plugins_setting_is_told_by_a_label_or_an_annotation)
{
    const char *labels = T4 "nvidia.com/gpu.count=1 nvidia.com/gpu.replicas=4 "
                            "nvidia.com/gpu.sharing-strategy=time-slicing";
    given(rig, labels, "nvidia.com/gpu=4");
    rig->node.annotations =
        facts_pairs(&rig->facts, "sliced.dev/fail-requests-greater-than-one=true");
    pool_is(rig, "nvidia.com/gpu", 15360, false, true);
    rig->node.annotations =
        facts_pairs(&rig->facts, "sliced.dev/fail-requests-greater-than-one=false");
    pool_is(rig, "nvidia.com/gpu", 15360, false, false);
    given(rig,
          T4 "nvidia.com/gpu.count=1 nvidia.com/gpu.replicas=4 "
             "nvidia.com/gpu.sharing-strategy=mps",
          "nvidia.com/gpu=4");
    pool_is(rig, "nvidia.com/gpu", 15360, true, false); /* MPS whose setting is false */
    rig->node.annotations =
        facts_pairs(&rig->facts, "sliced.dev/fail-requests-greater-than-one=no");
    pool_is(rig, "nvidia.com/gpu", 15360, true, true); /* nothing is said */
    rig->node.annotations = NULL;
    given(rig, "sliced.dev/fail-requests-greater-than-one=true", "nvidia.com/gpu=4");
    pool_is(rig, "nvidia.com/gpu", 0, false, false); /* nothing is shared there */
}

TEST_ON(struct node_rig *rig, replicas_known_by_counts_have_the_memory_of_all_gpus)
{
    /* which of the GPUs are shared is open */
    given(rig,
          T4 "nvidia.com/gpu.count=4 nvidia.com/gpu.replicas=4 "
             "nvidia.com/gpu.sharing-strategy=mps",
          "nvidia.com/gpu=2 nvidia.com/gpu.shared=8");
    pool_is(rig, "nvidia.com/gpu.shared", 3840, true, true);
    const struct sl_pool *pool = &rig->made->pool[1];
    assert_false(pool->on_devices);
    assert_int_equal(pool->total_mib, 4 * 15360);
    assert_int_equal(sl_node_unit_mib(rig->made, 1, -1, -1), 3840);
}

/* Feature discovery says replicas=1 until it knows better, also where the plugin gives replicas the
 * name of GPUs. */
TEST_ON(struct node_rig *rig, units_too_many_for_gpus_are_replicas_of_an_unknown_number)
{
    const char *const a10g = "nvidia.com/gpu.product=NVIDIA-A10G nvidia.com/gpu.memory=23028 ";
    static const struct {
        const char *labels;
        const char *units;
        int64_t total_mib;
    } rows[] = {
        {"nvidia.com/gpu.count=1 nvidia.com/gpu.replicas=1", "nvidia.com/gpu=50", 23028},
        {"nvidia.com/gpu.count=1", "nvidia.com/gpu=4", 23028},
        {"nvidia.com/gpu.count=2", "nvidia.com/gpu=8", INT64_C(2) * 23028},
        {"nvidia.com/gpu.count=8", "nvidia.com/gpu=17", INT64_C(8) * 23028},
        {"nvidia.com/gpu.count=1", "nvidia.com/gpu=3", 0}, /* they may not be counted yet */
        {"nvidia.com/gpu.count=4", "nvidia.com/gpu=8", 0},
        {"nvidia.com/gpu.count=8", "nvidia.com/gpu=16", 0},
        {"nvidia.com/gpu.count=32", "nvidia.com/gpu=32", 0}, /* so the labels say */
        {"", "nvidia.com/gpu=50", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char labels[256];
        (void)snprintf(labels, sizeof(labels), "%s%s", a10g, rows[i].labels);
        given(rig, labels, rows[i].units);
        const struct sl_pool *pool = &make(rig)->pool[0];
        bool shared = rows[i].total_mib > 0;
        assert_int_equal(pool->kind, shared ? SL_KIND_REPLICA : SL_KIND_WHOLE);
        assert_int_equal(pool->total_mib, rows[i].total_mib);
        assert_int_equal(rig->made->n_devices == 0, shared);
        const char *problem = rig->made->problem == NULL ? "" : rig->made->problem;
        assert_int_equal(strstr(problem, "nothing tells how") != NULL, shared);
    }
}

/* An annotation names the GPUs, or their instances, whatever the labels count. */
TEST_ON(struct node_rig *rig, units_that_an_annotation_names_are_no_replicas)
{
    given(rig, T4 "nvidia.com/gpu.count=1", "nvidia.com/gpu=4");
    for (int i = 0; i < 4; i++) {
        (void)device(rig, i, NULL);
    }
    check(rig, "annotated\nnvidia.com/gpu whole 4 on\n0 whole\n1 whole\n2 whole\n3 whole\n");
    rig->node.allocatable = facts_pairs(&rig->facts, "nvidia.com/gpu=6"); /* not these four */
    assert_int_equal(make(rig)->pool[0].kind, SL_KIND_REPLICA);
    rig->node.devices = NULL;
    given(rig,
          "nvidia.com/gpu.product=NVIDIA-A30 nvidia.com/gpu.count=1 "
          "nvidia.com/mig.strategy=single",
          "nvidia.com/gpu=4");
    (void)device(rig, 0, "1g.6gb@0 1g.6gb@1 1g.6gb@2 1g.6gb@3");
    check(rig,
          "annotated\nnvidia.com/gpu mig 1g.6gb 4 on\n0 mig 1g.6gb@0 1g.6gb@1 1g.6gb@2 1g.6gb@3\n");
}

TEST_ON(struct node_rig *rig, shares_span_gpus_only_where_the_node_says_so)
{
    given(rig, "", "aliyun.com/gpu-mem=32 aliyun.com/gpu-count=2");
    assert_false(make(rig)->pool[0].spans);
    given(rig, "sliced.dev/gpushare-several-gpus=true",
          "aliyun.com/gpu-mem=32 aliyun.com/gpu-count=2");
    assert_true(make(rig)->pool[0].spans);
}

/* ---- mig-manager ---- */

TEST_THAT(a_configuration_that_allocatable_denies_is_not_believed)
{
    static const char *const labels[] = {
        A30 "nvidia.com/mig.config=all-2g.12gb",   /* another profile */
        A30 "nvidia.com/mig.config=all-1g.6gb.me", /* the same */
        A30 "nvidia.com/mig.config=custom",        /* nobody knows it */
        A30 "nvidia.com/mig.config=all-",          /* no name */
        A30 "nvidia.com/mig.config=all-1g.6gb nvidia.com/mig.config.state=pending",
        A30 "nvidia.com/mig.config=all-1g.6gb nvidia.com/mig.config.state=failed",
        A30 "nvidia.com/mig.config=all-balanced",
    };
    struct node_rig *rig = *state;
    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
        given(rig, labels[i], "nvidia.com/mig-1g.6gb=8");
        check(rig, "unknown\nnvidia.com/mig-1g.6gb mig 1g.6gb 8 off\n");
    }
    given(rig, A30 "nvidia.com/mig.config=all-1g.6gb", "nvidia.com/mig-1g.6gb=7");
    check(rig, "unknown\nnvidia.com/mig-1g.6gb mig 1g.6gb 7 off\n");
}

TEST_ON(struct node_rig *rig, memory_of_an_instance_of_an_unknown_profile_is_not_known)
{
    given(rig, "", "nvidia.com/mig-9g.9gb=1");
    device(rig, 0, "9g.9gb@0");
    const struct sl_node *node = make(rig);
    assert_int_equal(node->n_instances, 1);
    assert_int_equal(sl_memory_of_instance(node, 0), 0);
}

TEST_ON(struct node_rig *rig, as_many_gpus_are_configured_as_the_label_counts)
{
    given(rig, A100 "nvidia.com/gpu.count=3 nvidia.com/mig.config=all-balanced",
          "nvidia.com/mig-1g.5gb=4 nvidia.com/mig-2g.10gb=2 nvidia.com/mig-3g.20gb=2");
    describe(rig);
    assert_int_equal(rig->made->n_devices, 0);
    given(rig, A100 "nvidia.com/mig.config=all-balanced", /* more of one than of the others */
          "nvidia.com/mig-1g.5gb=4 nvidia.com/mig-2g.10gb=3 nvidia.com/mig-3g.20gb=2");
    describe(rig);
    assert_int_equal(rig->made->n_devices, 0);
}

static const struct node_row rows[] = {
    MADE(a_balanced_configuration_tells_what_each_gpu_holds,
         A100 "nvidia.com/gpu.count=2 nvidia.com/mig.config=all-balanced "
              "nvidia.com/mig.config.state=success",
         "nvidia.com/mig-1g.5gb=4 nvidia.com/mig-2g.10gb=2 nvidia.com/mig-3g.20gb=2",
         "inferred\n"
         "nvidia.com/mig-1g.5gb mig 1g.5gb 4 on\n"
         "nvidia.com/mig-2g.10gb mig 2g.10gb 2 on\n"
         "nvidia.com/mig-3g.20gb mig 3g.20gb 2 on\n"
         "0 mig 2g.10gb@0 1g.5gb@2 1g.5gb@3 3g.20gb@4\n"
         "1 mig 2g.10gb@0 1g.5gb@2 1g.5gb@3 3g.20gb@4\n"),
    MADE(all_of_one_profile_tells_how_many_gpus_there_are, A30 "nvidia.com/mig.config=all-1g.6gb",
         "nvidia.com/mig-1g.6gb=8",
         "inferred\n"
         "nvidia.com/mig-1g.6gb mig 1g.6gb 8 on\n"
         "0 mig 1g.6gb@0 1g.6gb@1 1g.6gb@2 1g.6gb@3\n"
         "1 mig 1g.6gb@0 1g.6gb@1 1g.6gb@2 1g.6gb@3\n"),
    MADE(a_media_profile_is_spelled_with_a_dot,
         A30 "nvidia.com/mig.config=all-1g.6gb.me nvidia.com/gpu.count=2",
         "nvidia.com/mig-1g.6gb.me=2",
         "inferred\n"
         "nvidia.com/mig-1g.6gb.me mig 1g.6gb+me 2 on\n"
         "0 mig 1g.6gb+me@0\n"
         "1 mig 1g.6gb+me@0\n"),
    MADE(configuration_that_does_not_hold_leaves_what_counts_tell,
         A30 "nvidia.com/gpu.count=1 nvidia.com/mig.config=all-2g.12gb", "nvidia.com/mig-1g.6gb=4",
         "inferred\nnvidia.com/mig-1g.6gb mig 1g.6gb 4 on\n"
         "0 mig 1g.6gb@0 1g.6gb@1 1g.6gb@2 1g.6gb@3\n"),
    MADE(one_instance_that_fills_a_gpu_tells_of_one_gpu, A30 "nvidia.com/mig.config=all-4g.24gb",
         "nvidia.com/mig-4g.24gb=1",
         "inferred\n"
         "nvidia.com/mig-4g.24gb mig 4g.24gb 1 on\n"
         "0 mig 4g.24gb@0\n"),
};

TEST_ON_EACH(struct node_rig *rig, a_node_is_made_of, rows)
{
    check_row(rig, row);
}
