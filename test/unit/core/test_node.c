/* Nodes: pools, devices and instances from labels, allocatable and annotations. What a node was
 * judged to be is compared as text, see describe(). */
#include "facts_rig.h"

#include "sliced/node.h"

struct node_rig {
    struct facts_rig facts;
    struct sl_node_facts node;
    struct sl_node *made;
    char text[16384];
};

static int set_up(void **state)
{
    struct node_rig *rig = calloc(1, sizeof(*rig));
    assert_non_null(rig);
    facts_init(&rig->facts);
    rig->node.name = SL_STR("gpu-1");
    *state = rig;
    return 0;
}

static int tear_down(void **state)
{
    struct node_rig *rig = *state;
    sl_node_unref(rig->made);
    facts_free(&rig->facts);
    free(rig);
    return 0;
}

static void given(struct node_rig *rig, const char *labels, const char *allocatable)
{
    rig->node.labels = facts_pairs(&rig->facts, labels);
    rig->node.allocatable = facts_pairs(&rig->facts, allocatable);
}

static struct sl_device_facts *device(struct node_rig *rig, int index, const char *instances)
{
    return facts_device(&rig->facts, &rig->node, index, instances);
}

static void add(struct node_rig *rig, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(struct node_rig *rig, const char *format, ...)
{
    va_list args;
    size_t len = strlen(rig->text);
    va_start(args, format);
    (void)vsnprintf(rig->text + len, sizeof(rig->text) - len, format, args);
    va_end(args);
}

static const struct sl_node *make(struct node_rig *rig)
{
    struct sl_error err = {0};
    sl_node_unref(rig->made);
    rig->made = sl_node_new(&rig->node, &err);
    if (rig->made == NULL) {
        fail_msg("%s", err.message);
    }
    return rig->made;
}

/* One line a pool: resource kind [profile] capacity[xreplicas] on|off; one line a device:
 * index whole|mig [sick] [units] and its instances as profile@start. Instances must name a pool
 * that is on. */
static void describe(struct node_rig *rig)
{
    const struct sl_node *n = make(rig);
    rig->text[0] = '\0';
    add(rig, "%s\n", sl_layout_name(n->layout));
    for (unsigned p = 0; p < n->n_pools; p++) {
        const struct sl_pool *pool = &n->pool[p];
        assert_true(pool->key == sl_hash(pool->resource, strlen(pool->resource)));
        assert_int_equal(sl_node_pool(n, pool->key), p);
        assert_true(p == 0 || strcmp(n->pool[p - 1].resource, pool->resource) < 0);
        add(rig, "%s %s%s%s %lld", pool->resource, sl_kind_name(pool->kind),
            pool->profile != NULL ? " " : "", pool->profile != NULL ? pool->profile->name : "",
            (long long)pool->capacity);
        if (pool->replicas != 1) {
            add(rig, "x%d", (int)pool->replicas);
        }
        add(rig, pool->on_devices ? " on\n" : " off\n");
    }
    unsigned i = 0;
    for (unsigned d = 0; d < n->n_devices; d++) {
        add(rig, "%d %s%s", n->device[d].index, n->device[d].mig ? "mig" : "whole",
            n->device[d].healthy ? "" : " sick");
        if (n->device[d].memory_units > 0) {
            add(rig, " %lld", (long long)n->device[d].memory_units);
        }
        for (; i < n->n_instances && n->instance[i].device == d; i++) {
            assert_true(n->instance[i].pool < n->n_pools);
            assert_true(n->pool[n->instance[i].pool].on_devices);
            add(rig, " %s@%d", n->instance[i].profile != NULL ? n->instance[i].profile->name : "?",
                n->instance[i].start);
        }
        add(rig, "\n");
    }
    assert_int_equal(i, n->n_instances);
    if (n->problem != NULL) {
        add(rig, "! %s\n", n->problem);
    }
}

static void check(struct node_rig *rig, const char *expected)
{
    describe(rig);
    assert_string_equal(rig->text, expected);
}

/* The starts of all instances of one device are legal together. */
static void check_placements(const struct sl_node *node)
{
    struct sl_mig_layout layout = {0};
    for (unsigned i = 0; i < node->n_instances; i++) {
        const struct sl_instance *instance = &node->instance[i];
        assert_true(instance->start >= 0);
        assert_true(i == 0 || node->instance[i - 1].start < instance->start);
        struct sl_mig_placement placement = {(uint8_t)(instance->profile - node->model->profiles),
                                             (uint8_t)instance->start};
        assert_true(sl_mig_can_place(node->model, &layout, placement));
        sl_mig_place(node->model, &layout, placement);
    }
}

#define A100                                                                                       \
    "nvidia.com/gpu.product=NVIDIA-A100-SXM4-40GB nvidia.com/gpu.memory=40960 "                    \
    "nvidia.com/mig.strategy=mixed "
#define A30                                                                                        \
    "nvidia.com/gpu.product=NVIDIA-A30 nvidia.com/gpu.memory=24576 "                               \
    "nvidia.com/mig.strategy=mixed "
#define T4 "nvidia.com/gpu.product=Tesla-T4 nvidia.com/gpu.memory=15360 "

static void a_node_without_gpus_is_a_node(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "kubernetes.io/arch=amd64", "cpu=8 memory=32Gi pods=110");
    check(rig, "unknown\n");
    assert_false(sl_node_has_gpus(rig->made));
    assert_int_equal(sl_node_pool(rig->made, 42), -1);
    assert_null(rig->made->product);
    assert_null(rig->made->model);
    assert_false(rig->made->dynamic_mig);
}

static void whole_gpus_are_devices(void **state)
{
    struct node_rig *rig = *state;
    given(rig, T4 "nvidia.com/gpu.count=2 nvidia.com/gpu.replicas=1", "nvidia.com/gpu=2 cpu=8");
    check(rig, "inferred\nnvidia.com/gpu whole 2 on\n0 whole\n1 whole\n");
    assert_true(sl_node_has_gpus(rig->made));
    assert_string_equal(rig->made->product, "Tesla-T4");
    assert_string_equal(rig->made->device[1].product, "Tesla-T4");
    assert_int_equal(rig->made->device[1].memory_mib, 15360);
    assert_null(rig->made->device[1].uuid);
    assert_null(rig->made->model);
}

static void whole_gpus_need_no_labels(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "nvidia.com/gpu=3");
    check(rig, "inferred\nnvidia.com/gpu whole 3 on\n0 whole\n1 whole\n2 whole\n");
}

static void allocatable_is_believed_over_the_count_label(void **state)
{
    struct node_rig *rig = *state;
    given(rig, T4 "nvidia.com/gpu.count=4", "nvidia.com/gpu=3");
    check(rig, "inferred\nnvidia.com/gpu whole 3 on\n0 whole\n1 whole\n2 whole\n"
               "! nvidia.com/gpu.count: 4, but allocatable makes 3\n");
}

static void more_gpus_than_can_be_told_apart_are_counts(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "nvidia.com/gpu=65");
    check(rig, "unknown\nnvidia.com/gpu whole 65 off\n! GPUs: 65 are too many to be told apart\n");
}

static void a_model_is_found_by_its_product(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "nvidia.com/gpu.product=NVIDIA-A30", "nvidia.com/gpu=1");
    const struct sl_node *node = make(rig);
    assert_non_null(node->model);
    assert_string_equal(node->model->name, "A30-24GB");
    assert_ptr_equal(node->device[0].model, node->model);
    assert_int_equal(node->device[0].memory_mib, 24576);
}

static void replicas_multiply_devices(void **state)
{
    struct node_rig *rig = *state;
    given(rig,
          "nvidia.com/gpu.product=Tesla-T4-SHARED nvidia.com/gpu.count=2 "
          "nvidia.com/gpu.replicas=4 nvidia.com/gpu.sharing-strategy=time-slicing",
          "nvidia.com/gpu=8");
    check(rig, "inferred\nnvidia.com/gpu replica 8x4 on\n0 whole\n1 whole\n");
    assert_string_equal(rig->made->product, "Tesla-T4");
}

static void renamed_replicas_are_replicas(void **state)
{
    struct node_rig *rig = *state;
    given(rig,
          T4 "nvidia.com/gpu.count=2 nvidia.com/gpu.replicas=4 "
             "nvidia.com/gpu.sharing-strategy=mps",
          "nvidia.com/gpu=0 nvidia.com/gpu.shared=8");
    check(rig, "inferred\nnvidia.com/gpu.shared replica 8x4 on\n0 whole\n1 whole\n");
}

static void replicas_are_told_from_the_count_when_not_labelled(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "nvidia.com/gpu.count=2", "nvidia.com/gpu.shared=10");
    check(rig, "inferred\nnvidia.com/gpu.shared replica 10x5 on\n0 whole\n1 whole\n");
}

static void a_failed_gpu_takes_its_replicas_along(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "nvidia.com/gpu.count=4 nvidia.com/gpu.replicas=4", "nvidia.com/gpu=8");
    check(rig, "inferred\nnvidia.com/gpu replica 8x4 on\n0 whole\n1 whole\n"
               "! nvidia.com/gpu.count: 4, but allocatable makes 2\n");
}

static void replicas_of_nobody_knows_what_are_counts(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "nvidia.com/gpu.shared=8");
    check(rig, "unknown\nnvidia.com/gpu.shared replica 8 off\n");
    given(rig, "nvidia.com/gpu.count=3 nvidia.com/gpu.replicas=5", "nvidia.com/gpu=8");
    check(rig, "unknown\nnvidia.com/gpu replica 8 off\n"
               "! nvidia.com/gpu: 8 allocatable, not what count and replicas in the labels make\n");
}

static void a_replicas_label_that_allocatable_denies_is_not_believed(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "nvidia.com/gpu.count=3 nvidia.com/gpu.replicas=4", "nvidia.com/gpu=6");
    check(rig, "inferred\nnvidia.com/gpu replica 6x2 on\n0 whole\n1 whole\n2 whole\n"
               "! nvidia.com/gpu: 6 allocatable, no multiple of the replicas in the labels\n");
}

static void whole_gpus_beside_shared_ones_are_counts(void **state)
{
    struct node_rig *rig = *state;
    given(rig, T4 "nvidia.com/gpu.count=4 nvidia.com/gpu.replicas=4",
          "nvidia.com/gpu=2 nvidia.com/gpu.shared=8");
    check(rig, "unknown\nnvidia.com/gpu whole 2 off\nnvidia.com/gpu.shared replica 8 off\n");
}

static void single_with_full_gpus_has_one_layout(void **state)
{
    struct node_rig *rig = *state;
    given(rig,
          "nvidia.com/gpu.product=NVIDIA-A30-MIG-1g.6gb nvidia.com/gpu.count=8 "
          "nvidia.com/gpu.memory=5952 nvidia.com/mig.strategy=single",
          "nvidia.com/gpu=8");
    check(rig, "inferred\nnvidia.com/gpu mig 1g.6gb 8 on\n"
               "0 mig 1g.6gb@0 1g.6gb@1 1g.6gb@2 1g.6gb@3\n"
               "1 mig 1g.6gb@0 1g.6gb@1 1g.6gb@2 1g.6gb@3\n");
    assert_string_equal(rig->made->product, "NVIDIA-A30");
    assert_int_equal(rig->made->device[0].memory_mib, 24576);
}

static void single_that_is_not_full_is_counts(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "nvidia.com/gpu.product=NVIDIA-A30-MIG-1g.6gb nvidia.com/gpu.count=6",
          "nvidia.com/gpu=6");
    check(rig, "unknown\nnvidia.com/gpu mig 1g.6gb 6 off\n");
    assert_non_null(rig->made->model);
}

static void single_with_replicas_shares_instances(void **state)
{
    struct node_rig *rig = *state;
    given(rig,
          "nvidia.com/gpu.product=NVIDIA-A30-MIG-2g.12gb-SHARED nvidia.com/gpu.count=2 "
          "nvidia.com/gpu.replicas=3",
          "nvidia.com/gpu=6");
    check(rig, "inferred\nnvidia.com/gpu replica 2g.12gb 6x3 on\n0 mig 2g.12gb@0 2g.12gb@2\n");
    given(rig,
          "nvidia.com/gpu.product=NVIDIA-A30-MIG-2g.12gb nvidia.com/gpu.count=2 "
          "nvidia.com/gpu.replicas=3",
          "nvidia.com/gpu.shared=6");
    check(rig,
          "inferred\nnvidia.com/gpu.shared replica 2g.12gb 6x3 on\n0 mig 2g.12gb@0 2g.12gb@2\n");
}

static void single_unevenly_partitioned_is_a_problem(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "nvidia.com/gpu.product=NVIDIA-A100-SXM4-40GB-MIG-INVALID nvidia.com/gpu.count=0",
          "nvidia.com/gpu=0");
    check(rig, "unknown\n! nvidia.com/gpu.product says MIG-INVALID: strategy single needs all GPUs "
               "partitioned alike\n");
    assert_string_equal(rig->made->product, "NVIDIA-A100-SXM4-40GB");
}

static void single_with_an_unknown_profile_is_schedulable_by_count(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "nvidia.com/gpu.product=NVIDIA-Z9-MIG-1g.99gb", "nvidia.com/gpu=4");
    check(rig, "unknown\nnvidia.com/gpu mig 4 off\n");
}

static void mixed_full_gpus_have_one_layout(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=2 nvidia.com/mig-1g.6gb.count=8",
          "nvidia.com/gpu=0 nvidia.com/mig-1g.6gb=8 nvidia.com/mig-2g.12gb=0");
    check(rig, "inferred\nnvidia.com/mig-1g.6gb mig 1g.6gb 8 on\n"
               "0 mig 1g.6gb@0 1g.6gb@1 1g.6gb@2 1g.6gb@3\n"
               "1 mig 1g.6gb@0 1g.6gb@1 1g.6gb@2 1g.6gb@3\n");
}

static void mixed_profiles_that_fill_each_gpu_alike_have_one_layout(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A100 "nvidia.com/gpu.count=8", "nvidia.com/mig-1g.5gb=8 nvidia.com/mig-2g.10gb=24");
    const struct sl_node *node = make(rig);
    assert_int_equal(node->layout, SL_LAYOUT_INFERRED);
    assert_int_equal(node->n_devices, 8);
    assert_int_equal(node->n_instances, 32);
    given(rig, A100 "nvidia.com/gpu.count=8", "nvidia.com/mig-3g.20gb=8 nvidia.com/mig-4g.20gb=8");
    assert_int_equal(make(rig)->n_instances, 16);
}

static void mixed_on_one_gpu_has_one_layout_with_legal_placements(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A100 "nvidia.com/gpu.count=1 nvidia.com/gpu.replicas=0",
          "nvidia.com/gpu=0 nvidia.com/mig-1g.5gb=2 nvidia.com/mig-2g.10gb=1 "
          "nvidia.com/mig-3g.20gb=1");
    const struct sl_node *node = make(rig);
    assert_int_equal(node->layout, SL_LAYOUT_INFERRED);
    assert_null(node->problem);
    assert_int_equal(node->n_devices, 1);
    assert_int_equal(node->n_instances, 4);
    check_placements(node);
}

static void mixed_that_no_gpu_could_hold_is_counts_and_a_problem(void **state)
{
    struct node_rig *rig = *state;
    given(rig,
          A100 "nvidia.com/gpu.count=1 nvidia.com/gpu.replicas=0 nvidia.com/mig-1g.5gb.count=3 "
               "nvidia.com/mig-1g.5gb.memory=4864 nvidia.com/mig-2g.10gb.count=1",
          "nvidia.com/gpu=0 nvidia.com/mig-1g.5gb=3 nvidia.com/mig-2g.10gb=1 "
          "nvidia.com/mig-3g.20gb=1");
    check(rig, "unknown\nnvidia.com/mig-1g.5gb mig 1g.5gb 3 off\n"
               "nvidia.com/mig-2g.10gb mig 2g.10gb 1 off\n"
               "nvidia.com/mig-3g.20gb mig 3g.20gb 1 off\n! nvidia.com/gpu.count: 1, but the MIG "
               "instances allocatable do not fit on so many GPUs\n");
    assert_non_null(rig->made->model);
}

static void mixed_with_several_ways_is_counts(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=2", "nvidia.com/mig-1g.6gb=6");
    check(rig, "unknown\nnvidia.com/mig-1g.6gb mig 1g.6gb 6 off\n");
    given(rig, A30, "nvidia.com/mig-1g.6gb=4");
    check(rig, "unknown\nnvidia.com/mig-1g.6gb mig 1g.6gb 4 off\n");
}

static void gpus_that_are_not_partitioned_stay_whole(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=3", "nvidia.com/gpu=2 nvidia.com/mig-2g.12gb=2");
    check(rig, "inferred\nnvidia.com/gpu whole 2 on\nnvidia.com/mig-2g.12gb mig 2g.12gb 2 on\n"
               "0 whole\n1 whole\n2 mig 2g.12gb@0 2g.12gb@2\n");
}

static void whole_gpus_are_known_though_the_partitioned_are_not(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=3", "nvidia.com/gpu=1 nvidia.com/mig-1g.6gb=5");
    check(rig, "inferred\nnvidia.com/gpu whole 1 on\nnvidia.com/mig-1g.6gb mig 1g.6gb 5 off\n"
               "0 whole\n");
}

static void instances_without_a_gpu_left_for_them_are_a_problem(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=1", "nvidia.com/gpu=1 nvidia.com/mig-1g.6gb=4");
    check(rig, "inferred\nnvidia.com/gpu whole 1 on\nnvidia.com/mig-1g.6gb mig 1g.6gb 4 off\n"
               "0 whole\n! nvidia.com/gpu.count: 1, which leaves no GPU for the MIG instances "
               "allocatable\n");
}

static void replicas_of_instances_are_counted_by_their_labels(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=1 nvidia.com/mig-2g.12gb.replicas=5",
          "nvidia.com/mig-2g.12gb=10");
    check(rig, "inferred\nnvidia.com/mig-2g.12gb replica 2g.12gb 10x5 on\n"
               "0 mig 2g.12gb@0 2g.12gb@2\n");
    given(rig, A30 "nvidia.com/gpu.count=1 nvidia.com/mig-2g.12gb.count=2",
          "nvidia.com/mig-2g.12gb.shared=4");
    check(rig, "inferred\nnvidia.com/mig-2g.12gb.shared replica 2g.12gb 4x2 on\n"
               "0 mig 2g.12gb@0 2g.12gb@2\n");
}

static void unknown_profiles_are_schedulable_by_count(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=1", "nvidia.com/mig-9g.99gb=2");
    check(rig, "unknown\nnvidia.com/mig-9g.99gb mig 2 off\n");
    given(rig, "", "nvidia.com/mig-1g.5gb=2");
    check(rig, "unknown\nnvidia.com/mig-1g.5gb mig 2 off\n");
}

static void media_profiles_keep_their_names(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=1", "nvidia.com/mig-1g.6gb=3 nvidia.com/mig-1g.6gb.me=1");
    describe(rig);
    assert_int_equal(rig->made->n_instances, 4);
    assert_string_equal(rig->made->pool[1].profile->name, "1g.6gb+me");
    assert_int_equal(rig->made->layout, SL_LAYOUT_INFERRED);
}

static void the_annotation_says_what_is_where(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=3",
          "nvidia.com/gpu=1 nvidia.com/mig-1g.6gb=3 nvidia.com/mig-2g.12gb=1");
    device(rig, 4, NULL)->uuid = SL_STR("GPU-4");
    device(rig, 2, "1g.6gb@3 2g.12gb@0");
    device(rig, 1, "1g.6gb@2 1g.6gb@0");
    check(rig, "annotated\nnvidia.com/gpu whole 1 on\nnvidia.com/mig-1g.6gb mig 1g.6gb 3 on\n"
               "nvidia.com/mig-2g.12gb mig 2g.12gb 1 on\n1 mig 1g.6gb@0 1g.6gb@2\n"
               "2 mig 2g.12gb@0 1g.6gb@3\n4 whole\n");
    assert_string_equal(rig->made->device[2].uuid, "GPU-4");
    assert_null(rig->made->device[0].uuid);
}

static void starts_not_said_are_found_around_those_that_are(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A100, "nvidia.com/mig-1g.5gb=1 nvidia.com/mig-3g.20gb=1 nvidia.com/mig-2g.10gb=1");
    device(rig, 0, "2g.10gb 1g.5gb@1 3g.20gb");
    check(rig, "annotated\nnvidia.com/mig-1g.5gb mig 1g.5gb 1 on\n"
               "nvidia.com/mig-2g.10gb mig 2g.10gb 1 on\nnvidia.com/mig-3g.20gb mig 3g.20gb 1 on\n"
               "0 mig 1g.5gb@1 2g.10gb@2 3g.20gb@4\n");
}

static void instances_that_cannot_stand_there_are_a_problem_and_have_no_start(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30, "nvidia.com/mig-2g.12gb=2");
    device(rig, 0, "2g.12gb@0 2g.12gb@1");
    check(rig, "annotated\nnvidia.com/mig-2g.12gb mig 2g.12gb 2 on\n"
               "0 mig 2g.12gb@-1 2g.12gb@0\n! GPU 0 cannot hold the instances described on it\n");
}

static void an_annotation_that_allocatable_denies_makes_that_pool_counts(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30, "nvidia.com/gpu=1 nvidia.com/mig-1g.6gb=3 nvidia.com/mig-2g.12gb=1");
    device(rig, 0, "1g.6gb 1g.6gb 2g.12gb");
    device(rig, 1, NULL);
    check(rig, "annotated\nnvidia.com/gpu whole 1 on\nnvidia.com/mig-1g.6gb mig 1g.6gb 3 off\n"
               "nvidia.com/mig-2g.12gb mig 2g.12gb 1 on\n0 mig 2g.12gb@0\n1 whole\n"
               "! nvidia.com/mig-1g.6gb: 3 allocatable, instances known for it: 2\n");
}

static void annotated_instances_that_are_not_allocatable_are_left_out(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30, "nvidia.com/mig-1g.6gb=2 nvidia.com/mig-2g.12gb=0");
    device(rig, 0, "1g.6gb@0 1g.6gb@1 2g.12gb@2");
    check(rig, "annotated\nnvidia.com/mig-1g.6gb mig 1g.6gb 2 on\n0 mig 1g.6gb@0 1g.6gb@1\n"
               "! MIG instances: 1 described that are not allocatable\n");
}

static void unhealthy_devices_may_be_missing_from_allocatable_or_not(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30, "nvidia.com/gpu=1 nvidia.com/mig-2g.12gb=2");
    device(rig, 0, "2g.12gb@0 2g.12gb@2");
    device(rig, 1, NULL);
    device(rig, 2, NULL)->unhealthy = true;
    const char *rest = "nvidia.com/mig-2g.12gb mig 2g.12gb 2 on\n0 mig 2g.12gb@0 2g.12gb@2\n"
                       "1 whole\n2 whole sick\n";
    char expected[256];
    (void)snprintf(expected, sizeof(expected), "annotated\nnvidia.com/gpu whole 1 on\n%s", rest);
    check(rig, expected);
    given(rig, A30, "nvidia.com/gpu=2 nvidia.com/mig-2g.12gb=2");
    (void)snprintf(expected, sizeof(expected), "annotated\nnvidia.com/gpu whole 2 on\n%s", rest);
    check(rig, expected);
}

static void one_node_may_have_several_models(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A100, "nvidia.com/mig-1g.10gb=3 nvidia.com/gpu=1");
    struct sl_device_facts *h100 = device(rig, 0, "1g.10gb@0 1g.10gb@1");
    h100->product = SL_STR("NVIDIA-H100-80GB-HBM3");
    h100->memory_mib = 81559;
    device(rig, 1, "1g.10gb@0");
    device(rig, 2, NULL)->product = SL_STR("Tesla-T4");
    describe(rig);
    const struct sl_node *node = rig->made;
    assert_int_equal(node->layout, SL_LAYOUT_ANNOTATED);
    assert_null(node->problem);
    assert_null(node->model);
    assert_ptr_equal(node->device[0].model, sl_mig_model_find(SL_STR("NVIDIA-H100-80GB-HBM3"), 0));
    assert_non_null(node->device[0].model);
    assert_string_equal(node->device[0].product, "NVIDIA-H100-80GB-HBM3");
    assert_int_equal(node->device[0].memory_mib, 81559);
    assert_ptr_equal(node->device[1].model, sl_mig_model_find(SL_STR("NVIDIA-A100-SXM4-40GB"), 0));
    assert_null(node->device[2].model);
    assert_int_equal(node->device[2].memory_mib, 0);
    assert_int_equal(node->n_instances, 3);
    assert_int_equal(node->instance[0].profile->memory, 1);
    assert_int_equal(node->instance[2].profile->memory, 2);
    assert_true(node->pool[1].on_devices);
}

static void an_annotation_needs_no_known_model(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "nvidia.com/mig-1g.99gb.me=1 nvidia.com/mig-2g.99gb=1");
    device(rig, 0, "2g.99gb@4 1g.99gb+me");
    check(rig, "annotated\nnvidia.com/mig-1g.99gb.me mig 1 on\nnvidia.com/mig-2g.99gb mig 1 on\n"
               "0 mig ?@-1 ?@4\n");
}

static void a_gb_that_the_driver_rounds_otherwise_is_the_same_profile(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "nvidia.com/gpu.product=NVIDIA-A100-SXM4-80GB nvidia.com/gpu.memory=81920",
          "nvidia.com/mig-3g.39gb=2");
    device(rig, 0, "3g.40gb@0 3g.40gb@4");
    check(rig, "annotated\nnvidia.com/mig-3g.39gb mig 3g.40gb 2 on\n0 mig 3g.40gb@0 3g.40gb@4\n");
}

static void an_annotated_single_node_ties_nvidia_gpu_to_instances(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "nvidia.com/gpu.product=NVIDIA-A30-MIG-1g.6gb nvidia.com/mig.strategy=single",
          "nvidia.com/gpu=3");
    device(rig, 0, "1g.6gb@0 1g.6gb@3");
    device(rig, 1, "1g.6gb@1");
    const char *expected = "annotated\nnvidia.com/gpu mig 1g.6gb 3 on\n0 mig 1g.6gb@0 1g.6gb@3\n"
                           "1 mig 1g.6gb@1\n";
    check(rig, expected);
    given(rig, "nvidia.com/mig.strategy=single", "nvidia.com/gpu=3");
    for (struct sl_device_facts *d = rig->node.devices; d != NULL; d = d->next) {
        d->product = SL_STR("NVIDIA-A30");
    }
    check(rig, expected);
}

static void annotated_replicas_spread_evenly_or_not_at_all(void **state)
{
    struct node_rig *rig = *state;
    device(rig, 0, NULL);
    device(rig, 1, NULL);
    given(rig, T4 "nvidia.com/gpu.replicas=4", "nvidia.com/gpu=8");
    check(rig, "annotated\nnvidia.com/gpu replica 8x4 on\n0 whole\n1 whole\n");
    given(rig, T4 "nvidia.com/gpu.replicas=4", "nvidia.com/gpu=6");
    check(rig, "annotated\nnvidia.com/gpu replica 6 off\n0 whole\n1 whole\n"
               "! nvidia.com/gpu: 6 allocatable, GPUs known for it: 2\n");
    given(rig, "", "nvidia.com/gpu.shared=6");
    check(rig, "annotated\nnvidia.com/gpu.shared replica 6x3 on\n0 whole\n1 whole\n");
    given(rig, "", "nvidia.com/gpu.shared=7");
    check(rig, "annotated\nnvidia.com/gpu.shared replica 7 off\n0 whole\n1 whole\n"
               "! nvidia.com/gpu.shared: 7 allocatable, GPUs known for it: 2\n");
    rig->node.devices->unhealthy = true;
    given(rig, "nvidia.com/gpu.replicas=7", "nvidia.com/gpu.shared=7");
    check(rig, "annotated\nnvidia.com/gpu.shared replica 7x7 on\n0 whole sick\n1 whole\n");
}

static void an_unusable_annotation_is_told_and_inference_goes_on(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "nvidia.com/gpu=1");
    rig->node.problem = SL_STR("annotation sliced.dev/devices: not JSON");
    check(rig, "inferred\nnvidia.com/gpu whole 1 on\n0 whole\n"
               "! annotation sliced.dev/devices: not JSON\n");
    rig->node.problem = (struct sl_str){0};
    device(rig, 3, NULL);
    device(rig, 3, NULL);
    check(rig, "inferred\nnvidia.com/gpu whole 1 on\n0 whole\n"
               "! annotation sliced.dev/devices: two devices have one index\n");
    rig->node.devices = NULL;
    device(rig, -1, NULL);
    check(rig, "inferred\nnvidia.com/gpu whole 1 on\n0 whole\n"
               "! annotation sliced.dev/devices: an index is out of range\n");
    rig->node.devices = NULL;
    device(rig, 0, "1g.6gb 1g.6gb 1g.6gb 1g.6gb 1g.6gb 1g.6gb 1g.6gb 1g.6gb 1g.6gb");
    check(rig, "inferred\nnvidia.com/gpu whole 1 on\n0 whole\n"
               "! annotation sliced.dev/devices: too many instances on one device\n");
}

static void what_nos_reports_is_free_and_used_together(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=3 nos.nebuly.com/gpu-partitioning=mig",
          "nvidia.com/gpu=1 nvidia.com/mig-1g.6gb=4 nvidia.com/mig-2g.12gb=1");
    rig->node.annotations = facts_pairs(&rig->facts, "nos.nebuly.com/status-gpu-0-1g.6gb-free=1 "
                                                     "nos.nebuly.com/status-gpu-1-1g.6gb-used=2 "
                                                     "nos.nebuly.com/status-gpu-0-1g.6gb-used=1 "
                                                     "nos.nebuly.com/spec-gpu-0-1g.6gb=4 "
                                                     "nos.nebuly.com/status-partitioning-plan=7 "
                                                     "nos.nebuly.com/status-gpu-0-10gb-free=3 "
                                                     "nos.nebuly.com/status-gpu-x-1g.6gb-free=3 "
                                                     "nos.nebuly.com/status-gpu--free=3 "
                                                     "nos.nebuly.com/status-gpu-free=3 "
                                                     "nos.nebuly.com/status-gpu-0-2g.12gb-used=1");
    describe(rig);
    assert_string_equal(sl_layout_name(rig->made->layout), "annotated");
    assert_true(rig->made->dynamic_mig);
    assert_null(rig->made->problem);
    assert_int_equal(rig->made->n_devices, 3);
    assert_int_equal(rig->made->n_instances, 5);
    assert_true(rig->made->device[0].mig && rig->made->device[1].mig);
    assert_false(rig->made->device[2].mig);
    for (unsigned i = 0; i < 5; i++) {
        assert_true(rig->made->instance[i].start >= 0);
        assert_int_equal(rig->made->instance[i].device, i < 3 ? 0 : 1);
    }
}

static void gpus_that_nos_has_not_cut_yet_are_not_whole_when_none_is_allocatable(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=2", "nvidia.com/gpu=0 nvidia.com/mig-1g.6gb=1");
    rig->node.annotations = facts_pairs(&rig->facts, "nos.nebuly.com/status-gpu-0-1g.6gb-free=1 "
                                                     "nos.nebuly.com/status-gpu-0-2g.12gb-free=0");
    check(rig, "annotated\nnvidia.com/mig-1g.6gb mig 1g.6gb 1 on\n0 mig 1g.6gb@0\n1 mig\n");
}

static void nos_reports_that_allocatable_denies_are_counts(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=1", "nvidia.com/mig-1g.6gb=3");
    rig->node.annotations = facts_pairs(&rig->facts, "nos.nebuly.com/status-gpu-0-1g.6gb-free=4");
    check(rig, "annotated\nnvidia.com/mig-1g.6gb mig 1g.6gb 3 off\n0 mig\n"
               "! nvidia.com/mig-1g.6gb: 3 allocatable, instances known for it: 4\n");
    rig->node.annotations = facts_pairs(&rig->facts, "nos.nebuly.com/status-gpu-0-1g.6gb-free=99");
    describe(rig);
    assert_string_equal(rig->made->problem, "nos reports too many instances on one GPU");
}

static void dynamic_partitioning_is_said_by_labels_or_an_annotation(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "sliced.dev/partitioning=dynamic", "");
    assert_true(make(rig)->dynamic_mig);
    given(rig, "sliced.dev/partitioning=static nos.nebuly.com/gpu-partitioning=mps", "");
    assert_false(make(rig)->dynamic_mig);
    rig->node.annotations = facts_pairs(&rig->facts, "sliced.dev/partitioning=dynamic");
    assert_true(make(rig)->dynamic_mig);
}

static void a_dynamic_node_shows_the_gpus_that_wait_to_be_cut(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=2 nos.nebuly.com/gpu-partitioning=mig",
          "nvidia.com/gpu=0");
    check(rig, "inferred\n0 mig\n1 mig\n");
    assert_non_null(rig->made->model);
    given(rig, A30 "nvidia.com/gpu.count=2", "nvidia.com/gpu=0");
    check(rig, "unknown\n");
}

static void gpushare_memory_is_shared_out_evenly_and_the_rest_is_nobodys(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "aliyun.com/gpu-mem=31 aliyun.com/gpu-count=2");
    check(rig, "inferred\naliyun.com/gpu-mem memory 31 on\n0 whole 15\n1 whole 15\n");
    given(rig, "nvidia.com/gpu.count=3", "aliyun.com/gpu-mem=45");
    check(rig, "inferred\naliyun.com/gpu-mem memory 45 on\n0 whole 15\n1 whole 15\n2 whole 15\n");
}

static void gpushares_count_may_stand_in_capacity(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "aliyun.com/gpu-mem=32");
    rig->node.capacity = facts_pairs(&rig->facts, "aliyun.com/gpu-count=4 aliyun.com/gpu-mem=32");
    check(rig, "inferred\naliyun.com/gpu-mem memory 32 on\n0 whole 8\n1 whole 8\n2 whole 8\n"
               "3 whole 8\n");
}

static void memory_of_an_unknown_number_of_gpus_is_taken_for_one(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "aliyun.com/gpu-mem=24");
    check(rig, "inferred\naliyun.com/gpu-mem memory 24 on\n0 whole 24\n! nothing says how many "
               "GPUs share aliyun.com/gpu-mem: taken for one\n");
}

static void memory_follows_the_sizes_of_the_gpus(void **state)
{
    struct node_rig *rig = *state;
    device(rig, 0, NULL)->memory_mib = 15109;
    device(rig, 1, NULL)->memory_mib = 24258;
    given(rig, "", "aliyun.com/gpu-mem=37 aliyun.com/gpu-count=2"); /* GiB, counted down */
    check(rig, "annotated\naliyun.com/gpu-mem memory 37 on\n0 whole 14\n1 whole 23\n");
    given(rig, "", "aliyun.com/gpu-mem=39367"); /* MiB */
    check(rig, "annotated\naliyun.com/gpu-mem memory 39367 on\n0 whole 15109\n1 whole 24258\n");
    given(rig, "", "aliyun.com/gpu-mem=100"); /* something else: in proportion */
    check(rig, "annotated\naliyun.com/gpu-mem memory 100 on\n0 whole 38\n1 whole 61\n");
    given(rig, "", "aliyun.com/gpu-mem=9223372036854775807"); /* beyond proportions */
    check(rig, "annotated\naliyun.com/gpu-mem memory 9223372036854775807 on\n"
               "0 whole 4611686018427387903\n1 whole 4611686018427387903\n");
}

static void whole_gpus_and_memory_are_the_same_devices(void **state)
{
    struct node_rig *rig = *state;
    given(rig, T4 "nvidia.com/gpu.count=2",
          "nvidia.com/gpu=2 aliyun.com/gpu-mem=30 aliyun.com/gpu-count=2");
    check(rig, "inferred\naliyun.com/gpu-mem memory 30 on\nnvidia.com/gpu whole 2 on\n"
               "0 whole 15\n1 whole 15\n");
    given(rig, T4, "nvidia.com/gpu=2 aliyun.com/gpu-mem=30 aliyun.com/gpu-count=3");
    check(rig, "inferred\naliyun.com/gpu-mem memory 30 off\nnvidia.com/gpu whole 2 on\n"
               "0 whole\n1 whole\n"
               "! aliyun.com/gpu-mem: 30 allocatable on 3, GPUs known for it: 2\n");
}

static void memory_is_not_on_partitioned_gpus(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30, "aliyun.com/gpu-mem=24 aliyun.com/gpu-count=1 nvidia.com/mig-1g.6gb=1");
    device(rig, 0, "1g.6gb@0");
    device(rig, 1, NULL);
    check(rig, "annotated\naliyun.com/gpu-mem memory 24 on\nnvidia.com/mig-1g.6gb mig 1g.6gb 1 on\n"
               "0 mig 1g.6gb@0\n1 whole 24\n");
}

static void less_memory_than_gpus_is_counts(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "aliyun.com/gpu-mem=1 aliyun.com/gpu-count=2");
    check(rig, "unknown\naliyun.com/gpu-mem memory 1 off\n"
               "! aliyun.com/gpu-mem: 1 allocatable on 2, GPUs known for it: 2\n");
}

static void an_allocatable_that_is_no_count_is_a_problem(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "nvidia.com/gpu=1500m aliyun.com/gpu-mem=-3 nvidia.com/mig-1g.6gb=many");
    check(rig, "unknown\n! allocatable[nvidia.com/gpu]: \"1500m\" is not a whole number; "
               "allocatable[aliyun.com/gpu-mem]: \"-3\" is not a whole number; "
               "allocatable[nvidia.com/mig-1g.6gb]: \"many\" is not a whole number\n");
}

static void a_long_problem_is_cut(void **state)
{
    struct node_rig *rig = *state;
    char problem[600];
    memset(problem, 'x', sizeof(problem));
    rig->node.problem = (struct sl_str){problem, sizeof(problem)};
    assert_int_equal(strlen(make(rig)->problem), SL_NODE_PROBLEM_MAX - 1);
}

static void check_refused(struct node_rig *rig, enum sl_error_code code)
{
    struct sl_error err = {0};
    assert_null(sl_node_new(&rig->node, &err));
    assert_int_equal(err.code, code);
    assert_true(strlen(err.message) > 10);
    assert_null(sl_node_new(&rig->node, NULL));
}

static void a_node_without_a_usable_name_is_an_error(void **state)
{
    struct node_rig *rig = *state;
    char text[254];
    memset(text, 'n', sizeof(text));
    rig->node.name = (struct sl_str){0};
    check_refused(rig, SL_ERR_FIELD);
    rig->node.name = (struct sl_str){text, sizeof(text)};
    check_refused(rig, SL_ERR_FIELD);
    rig->node.name = (struct sl_str){"a\0b", 3};
    check_refused(rig, SL_ERR_FIELD);
}

static void the_most_of_everything_is_kept_and_one_more_is_an_error(void **state)
{
    struct node_rig *rig = *state;
    char text[64];
    rig->node.labels = facts_pairs(&rig->facts, A100);
    for (int i = 0; i < SL_NODE_DEVICES_MAX; i++) {
        device(rig, i, "1g.5gb 1g.5gb 1g.5gb 1g.5gb 1g.5gb 1g.5gb 1g.5gb");
    }
    facts_pair(&rig->facts, &rig->node.allocatable, "nvidia.com/mig-1g.5gb", "448");
    for (int i = 1; i < SL_NODE_POOLS_MAX; i++) {
        (void)snprintf(text, sizeof(text), "nvidia.com/mig-x%d", i);
        facts_pair(&rig->facts, &rig->node.allocatable, text, "1");
    }
    const struct sl_node *node = make(rig);
    assert_int_equal(node->n_devices, SL_NODE_DEVICES_MAX);
    assert_int_equal(node->n_pools, SL_NODE_POOLS_MAX);
    assert_int_equal(node->n_instances, 7 * SL_NODE_DEVICES_MAX);
    facts_pair(&rig->facts, &rig->node.allocatable, "nvidia.com/mig-y", "1");
    check_refused(rig, SL_ERR_LIMIT);
    rig->node.allocatable = NULL;
    device(rig, SL_NODE_DEVICES_MAX, NULL);
    check_refused(rig, SL_ERR_LIMIT);
}

static void a_node_lives_in_memory_of_its_own_and_counts_references(void **state)
{
    struct node_rig *rig = *state;
    given(rig, T4, "nvidia.com/gpu=1");
    struct sl_device_facts *d = device(rig, 0, NULL);
    d->uuid = facts_text(&rig->facts, "GPU-1", 5);
    d->product = facts_text(&rig->facts, "Tesla-T4", 8);
    rig->node.problem = facts_text(&rig->facts, "odd", 3);
    rig->node.name = facts_text(&rig->facts, "n", 1);
    (void)make(rig);
    facts_free(&rig->facts);
    assert_ptr_equal(sl_node_ref(rig->made), rig->made);
    sl_node_unref(rig->made);
    assert_string_equal(rig->made->name, "n");
    assert_string_equal(rig->made->product, "Tesla-T4");
    assert_string_equal(rig->made->device[0].uuid, "GPU-1");
    assert_string_equal(rig->made->device[0].product, "Tesla-T4");
    assert_string_equal(rig->made->pool[0].resource, "nvidia.com/gpu");
    assert_string_equal(rig->made->problem, "odd");
    sl_node_unref(NULL);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_node_without_gpus_is_a_node),
        TEST(whole_gpus_are_devices),
        TEST(whole_gpus_need_no_labels),
        TEST(allocatable_is_believed_over_the_count_label),
        TEST(more_gpus_than_can_be_told_apart_are_counts),
        TEST(a_model_is_found_by_its_product),
        TEST(replicas_multiply_devices),
        TEST(renamed_replicas_are_replicas),
        TEST(replicas_are_told_from_the_count_when_not_labelled),
        TEST(a_failed_gpu_takes_its_replicas_along),
        TEST(replicas_of_nobody_knows_what_are_counts),
        TEST(a_replicas_label_that_allocatable_denies_is_not_believed),
        TEST(whole_gpus_beside_shared_ones_are_counts),
        TEST(single_with_full_gpus_has_one_layout),
        TEST(single_that_is_not_full_is_counts),
        TEST(single_with_replicas_shares_instances),
        TEST(single_unevenly_partitioned_is_a_problem),
        TEST(single_with_an_unknown_profile_is_schedulable_by_count),
        TEST(mixed_full_gpus_have_one_layout),
        TEST(mixed_profiles_that_fill_each_gpu_alike_have_one_layout),
        TEST(mixed_on_one_gpu_has_one_layout_with_legal_placements),
        TEST(mixed_that_no_gpu_could_hold_is_counts_and_a_problem),
        TEST(mixed_with_several_ways_is_counts),
        TEST(gpus_that_are_not_partitioned_stay_whole),
        TEST(whole_gpus_are_known_though_the_partitioned_are_not),
        TEST(instances_without_a_gpu_left_for_them_are_a_problem),
        TEST(replicas_of_instances_are_counted_by_their_labels),
        TEST(unknown_profiles_are_schedulable_by_count),
        TEST(media_profiles_keep_their_names),
        TEST(the_annotation_says_what_is_where),
        TEST(starts_not_said_are_found_around_those_that_are),
        TEST(instances_that_cannot_stand_there_are_a_problem_and_have_no_start),
        TEST(an_annotation_that_allocatable_denies_makes_that_pool_counts),
        TEST(annotated_instances_that_are_not_allocatable_are_left_out),
        TEST(unhealthy_devices_may_be_missing_from_allocatable_or_not),
        TEST(one_node_may_have_several_models),
        TEST(an_annotation_needs_no_known_model),
        TEST(a_gb_that_the_driver_rounds_otherwise_is_the_same_profile),
        TEST(an_annotated_single_node_ties_nvidia_gpu_to_instances),
        TEST(annotated_replicas_spread_evenly_or_not_at_all),
        TEST(an_unusable_annotation_is_told_and_inference_goes_on),
        TEST(what_nos_reports_is_free_and_used_together),
        TEST(gpus_that_nos_has_not_cut_yet_are_not_whole_when_none_is_allocatable),
        TEST(nos_reports_that_allocatable_denies_are_counts),
        TEST(dynamic_partitioning_is_said_by_labels_or_an_annotation),
        TEST(a_dynamic_node_shows_the_gpus_that_wait_to_be_cut),
        TEST(gpushare_memory_is_shared_out_evenly_and_the_rest_is_nobodys),
        TEST(gpushares_count_may_stand_in_capacity),
        TEST(memory_of_an_unknown_number_of_gpus_is_taken_for_one),
        TEST(memory_follows_the_sizes_of_the_gpus),
        TEST(whole_gpus_and_memory_are_the_same_devices),
        TEST(memory_is_not_on_partitioned_gpus),
        TEST(less_memory_than_gpus_is_counts),
        TEST(an_allocatable_that_is_no_count_is_a_problem),
        TEST(a_long_problem_is_cut),
        TEST(a_node_without_a_usable_name_is_an_error),
        TEST(the_most_of_everything_is_kept_and_one_more_is_an_error),
        TEST(a_node_lives_in_memory_of_its_own_and_counts_references),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
