/* Nodes as such: what they are without GPUs, what cannot be one, and how long they live. */
#include "node_rig.h"

#include "core/request/count.h"

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct node_rig *rig, a_node_without_gpus_is_a_node)
{
    given(rig, "kubernetes.io/arch=amd64", "cpu=8 memory=32Gi pods=110");
    check(rig, "unknown\n");
    assert_false(sl_node_has_gpus(rig->made));
    assert_int_equal(sl_node_pool(rig->made, 42), -1);
    assert_null(rig->made->product);
    assert_null(rig->made->model);
    assert_false(rig->made->dynamic_mig);
}

TEST_ON(struct node_rig *rig, the_first_internal_address_is_kept)
{
    struct sl_address_facts second = {SL_STR("InternalIP"), SL_STR("fd00::7"), NULL};
    struct sl_address_facts first = {SL_STR("InternalIP"), SL_STR("10.0.0.7"), &second};
    struct sl_address_facts odd = {SL_STR("InternalIP"), SL_STR("10.0.0.1/@evil"), &first};
    struct sl_address_facts outer = {SL_STR("ExternalIP"), SL_STR("192.0.2.1"), &odd};
    rig->node.addresses = &outer;
    given(rig, "", "cpu=8");
    assert_string_equal(make(rig)->address, "10.0.0.7");
    first.type = SL_STR("Hostname");
    assert_string_equal(make(rig)->address, "fd00::7");
    second.address = SL_STR("");
    assert_null(make(rig)->address);
}

TEST_ON(struct node_rig *rig, an_allocatable_beyond_all_counts_is_cut_and_one_below_zero_is_none)
{
    given(rig, "", "nvidia.com/gpu=-99999999999999999999 aliyun.com/gpu-mem=99999999999999999999");
    describe(rig);
    assert_int_equal(rig->made->n_pools, 1);
    assert_int_equal(rig->made->pool[0].capacity, SL_UNITS_MAX);
    assert_non_null(strstr(rig->made->problem,
                           "[nvidia.com/gpu]: \"-99999999999999999999\" is not a whole number"));
    assert_non_null(strstr(rig->made->problem, "is too large, taken for "));
    given(rig, "", "memory=8E pods=-1");
    assert_true(make(rig)->host.memory_bytes == SL_HOST_MAX - 1);
    assert_int_equal(rig->made->host.pods, -1);
}

TEST_ON(struct node_rig *rig, a_long_problem_is_cut)
{
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

TEST_ON(struct node_rig *rig, a_node_without_a_usable_name_is_an_error)
{
    char text[254];
    memset(text, 'n', sizeof(text));
    rig->node.name = (struct sl_str){0};
    check_refused(rig, SL_ERR_FIELD);
    rig->node.name = (struct sl_str){text, sizeof(text)};
    check_refused(rig, SL_ERR_FIELD);
    rig->node.name = (struct sl_str){"a\0b", 3};
    check_refused(rig, SL_ERR_FIELD);
}

TEST_ON(struct node_rig *rig, the_most_of_everything_is_kept_and_one_more_is_an_error)
{
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

TEST_ON(struct node_rig *rig, a_node_lives_in_memory_of_its_own_and_counts_references)
{
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

static void check_texts(const struct sl_node *a, const struct sl_node *b)
{
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->product, b->product);
    assert_string_equal(a->problem, b->problem);
    assert_string_equal(a->device[0].uuid, b->device[0].uuid);
    assert_string_equal(a->device[1].uuid, b->device[1].uuid);
    assert_string_equal(a->device[1].product, b->device[1].product);
    assert_int_equal(a->n_labels, b->n_labels);
    for (unsigned i = 0; i < a->n_labels; i++) {
        assert_string_equal(a->label[i].key, b->label[i].key);
        assert_string_equal(a->label[i].value, b->label[i].value);
    }
    assert_int_equal(a->n_taints, 1);
    assert_string_equal(a->taint[0].key, b->taint[0].key);
    assert_string_equal(a->taint[0].value, b->taint[0].value);
    for (unsigned i = 0; i < a->n_pools; i++) {
        assert_string_equal(a->pool[i].resource, b->pool[i].resource);
        assert_ptr_equal(a->pool[i].profile, b->pool[i].profile);
    }
}

TEST_ON(struct node_rig *rig, marks_are_made_on_a_copy_that_stands_alone)
{
    struct sl_taint_facts taint = {.key = SL_STR("gpu"), .effect = SL_STR("NoSchedule")};
    static const int16_t first[] = {0, 7};
    given(rig, A30 "zone=a", "nvidia.com/gpu=3 nvidia.com/mig-9g.9gb=1");
    rig->node.taints = &taint;
    device(rig, 0, "")->uuid = SL_STR("GPU-0");
    device(rig, 1, "")->uuid = SL_STR("GPU-1");
    device(rig, 2, "")->unhealthy = true;
    (void)make(rig);
    struct sl_node *marked = sl_node_marked(rig->made, first, 2);
    struct sl_node *again = sl_node_marked(marked, first, 2);
    struct sl_node *free_again = sl_node_marked(marked, NULL, 0);

    assert_ptr_not_equal(marked, rig->made);
    assert_ptr_equal(again, marked);
    check_texts(marked, rig->made);
    sl_node_unref(again);
    sl_node_unref(marked);
    check_texts(free_again, rig->made);
    assert_false(free_again->device[2].healthy);
    assert_true(free_again->device[0].healthy);
    sl_node_unref(free_again);
    marked = sl_node_marked(rig->made, first, 2);
    sl_node_unref(rig->made);
    rig->made = marked;
    assert_string_equal(marked->name, "gpu-1");
    assert_false(marked->device[0].healthy);
    assert_true(marked->device[1].healthy);
}

/* By the label that pods select, word for word; by the product where a cloud's label names it. */
TEST_ON(struct node_rig *rig, a_node_is_of_the_model_that_pods_select)
{
    facts_pair(&rig->facts, &rig->node.allocatable, "nvidia.com/gpu", "4");
    facts_pair(&rig->facts, &rig->node.labels, "cloud.google.com/gke-accelerator", "nvidia-l4");
    const struct sl_node *node = make(rig);
    assert_true(sl_node_is_of(node, ""));
    assert_true(sl_node_is_of(node, node->product));
    facts_pair(&rig->facts, &rig->node.labels, SL_MODEL_LABEL, "Tesla-T4-SHARED");
    node = make(rig);
    assert_true(sl_node_is_of(node, "Tesla-T4-SHARED"));
    assert_false(sl_node_is_of(node, "Tesla-T4"));
    assert_false(sl_node_is_of(node, "nvidia-l4"));
}

TEST_THAT(layouts_have_names)
{
    assert_string_equal(sl_layout_name(SL_LAYOUT_UNKNOWN), "unknown");
    assert_string_equal(sl_layout_name(SL_LAYOUT_ANNOTATED), "annotated");
    assert_string_equal(sl_layout_name((enum sl_layout)(SL_LAYOUT_ANNOTATED + 1)), "unknown");
}

static const struct node_row rows[] = {
    MADE(an_allocatable_that_is_no_count_is_a_problem, "",
         "nvidia.com/gpu=1500m aliyun.com/gpu-mem=-3 nvidia.com/mig-1g.6gb=many",
         "unknown\n! allocatable[nvidia.com/gpu]: \"1500m\" is not a whole number; "
         "allocatable[aliyun.com/gpu-mem]: \"-3\" is not a whole number; "
         "allocatable[nvidia.com/mig-1g.6gb]: \"many\" is not a whole number\n"),
};

TEST_ON_EACH(struct node_rig *rig, a_node_is_made_of, rows)
{
    check_row(rig, row);
}
