/* Nodes: from --gpus, from lists, from manifests; and how much of them is in use. */
#include <stdlib.h>

#include "unit/test.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/input/become.h"
#include "sim/input/fleet.h"
#include "sim/play/share.h"

static struct sl_error error;

static void make(const char *gpus, struct sl_fleet *out)
{
    sl_fleet_init(out);
    if (sl_fleet_gpus(out, gpus, &error) < 0 || sl_fleet_finish(out, &error) < 0) {
        fail_msg("%s: %s", gpus, error.message);
    }
}

static const struct sl_pool *pool_of(const struct sl_node *node, const char *resource)
{
    int i = sl_node_pool(node, sl_hash(resource, strlen(resource)));
    return i < 0 ? NULL : &node->pool[i];
}

TEST_FIXTURE_OF(struct sl_fleet, NULL, sl_fleet_free)

TEST_ON(struct sl_fleet *fleet, a_number_of_gpus_fills_nodes_of_eight)
{
    make("19", fleet);
    assert_int_equal(fleet->n, 3);
    assert_int_equal(pool_of(fleet->node[0], "nvidia.com/gpu")->capacity, 8);
    assert_int_equal(pool_of(fleet->node[2], "nvidia.com/gpu")->capacity, 3);
    assert_int_equal(fleet->node[0]->n_devices, 8);
    assert_null(fleet->node[0]->problem);
}

TEST_ON(struct sl_fleet *fleet, nodes_can_be_given_their_size)
{
    make("3x4", fleet);
    assert_int_equal(fleet->n, 3);
    assert_int_equal(pool_of(fleet->node[1], "nvidia.com/gpu")->capacity, 4);
    assert_int_equal(sl_fleet_find(fleet, fleet->node[1]->name), 1);
    assert_int_equal(sl_fleet_find(fleet, "elsewhere"), -1);
}

TEST_ON(struct sl_fleet *fleet, gpus_of_a_model_can_be_cut_into_instances)
{
    make("2x2:A30:1g.6gb*2+2g.12gb", fleet);
    assert_int_equal(pool_of(fleet->node[0], "nvidia.com/mig-1g.6gb")->capacity, 4);
    assert_int_equal(pool_of(fleet->node[0], "nvidia.com/mig-2g.12gb")->capacity, 2);
    assert_null(pool_of(fleet->node[0], "nvidia.com/gpu"));
    assert_int_equal(fleet->node[0]->n_instances, 6);
    assert_null(fleet->node[0]->problem);
}

TEST_ON(struct sl_fleet *fleet, a_node_is_cut_anew_device_by_device)
{
    make("1x2:A30:1g.6gb*2+2g.12gb", fleet);
    struct sl_node *node = fleet->node[0];
    struct sl_counts large = {{0}};
    struct sl_cut cut[2];
    assert_int_equal(sl_counts_parse(SL_STR("2g.12gb*2"), node->model, &large, &error), 0);
    assert_true(sl_node_can_be_cut(node));
    assert_true(sl_cut_of_counts(node, 1, &large, &cut[0]));
    struct sl_node *fresh = sl_node_become(
        node, &(struct sl_become){.cut = cut, .n = 1, .under_way = "sliced-1"}, &error);
    assert_non_null(fresh);
    assert_null(fresh->problem);
    assert_string_equal(fresh->name, node->name);
    assert_string_equal(fresh->product, node->product);
    assert_int_equal(pool_of(fresh, "nvidia.com/mig-1g.6gb")->capacity, 2);
    assert_int_equal(pool_of(fresh, "nvidia.com/mig-2g.12gb")->capacity, 3);
    assert_int_equal(fresh->instance[0].start, node->instance[0].start);
    assert_true(sl_cut_of_counts(node, 0, &(struct sl_counts){{0}}, &cut[1]));
    struct sl_node *whole = sl_node_become(fresh, &(struct sl_become){.cut = cut, .n = 2}, &error);
    assert_non_null(whole);
    assert_int_equal(pool_of(whole, "nvidia.com/gpu")->capacity, 1);
    assert_int_equal(pool_of(whole, "nvidia.com/mig-2g.12gb")->capacity, 2);
    assert_false(whole->device[0].mig);
    sl_node_unref(whole);
    sl_node_unref(fresh);
}

TEST_ON(struct sl_fleet *whole, the_gpus_of_a_fleet_get_different_cuts)
{
    static const uint16_t of[] = {0, 0, 1, 0};
    const struct sl_mig_model *model = NULL;
    struct sl_counts counts[2] = {{{0}}, {{0}}};
    struct sl_fleet fleet;
    make("2x2:A30", whole);
    sl_fleet_init(&fleet);
    assert_int_equal(sl_fleet_cuttable(whole, &model), 4);
    assert_int_equal(sl_counts_parse(SL_STR("1g.6gb*4"), model, &counts[1], &error), 0);
    assert_int_equal(sl_fleet_copy(whole, &fleet, &error), 0);
    assert_int_equal(sl_fleet_cut(&fleet, counts, of, &error), 0);
    assert_int_equal(sl_fleet_finish(&fleet, &error), 0);
    assert_int_equal(pool_of(fleet.node[0], "nvidia.com/gpu")->capacity, 2);
    assert_int_equal(pool_of(fleet.node[1], "nvidia.com/gpu")->capacity, 1);
    assert_int_equal(pool_of(fleet.node[1], "nvidia.com/mig-1g.6gb")->capacity, 4);
    assert_int_equal(pool_of(whole->node[1], "nvidia.com/gpu")->capacity, 2);
    sl_fleet_free(&fleet);
}

TEST_ON(struct sl_fleet *fleet, gpus_of_no_known_model_are_never_cut)
{
    const struct sl_mig_model *model = NULL;
    make("9", fleet);
    assert_false(sl_node_can_be_cut(fleet->node[0]));
    assert_int_equal(sl_fleet_cuttable(fleet, &model), 0);
}

TEST_ALONE(what_gpus_cannot_be_is_told)
{
    static const char *const cases[][2] = {
        {"", "expected N, NODESxGPUS"},
        {"0", "expected N, NODESxGPUS"},
        {"2x65", "expected N, NODESxGPUS"},
        {"many", "expected N, NODESxGPUS"},
        {"1x1:Voodoo", "\"Voodoo\" is no known model; for example"},
        {"1x1:A30:3g.20gb", "has no MIG profile \"3g.20gb\""},
        {"1x1:A30:1g.6gb*x", "expected PROFILE*COUNT"},
        {"1x1:A30:1g.6gb*5", "does not fit on one A30"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sl_fleet fleet;
        sl_fleet_init(&fleet);
        assert_int_equal(sl_fleet_gpus(&fleet, cases[i][0], &error), -1);
        if (strstr(error.message, cases[i][1]) == NULL) {
            fail_msg("%s: %s", cases[i][0], error.message);
        }
        sl_fleet_free(&fleet);
    }
}

/* Writes text to a file and reads it as a list of nodes. */
static int read_list(struct sl_fleet *fleet, const char *format, const char *text)
{
    char path[] = "/tmp/slicesim-nodes-XXXXXX";
    char name[64];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
    (void)snprintf(name, sizeof(name), "%s:%s", format, path);
    sl_fleet_init(fleet);
    int rc = sl_fleet_list(fleet, name, &error);
    (void)unlink(path);
    return rc;
}

TEST_ON(struct sl_fleet *fleet, openb_nodes_offer_gpus_whole_and_in_thousandths)
{
    assert_int_equal(read_list(fleet, "openb",
                               "sn,cpu_milli,memory_mib,gpu,model\n"
                               "b,64000,262144,2,P100\na,32000,1024,0,\n"),
                     0);
    assert_int_equal(sl_fleet_finish(fleet, &error), 0);
    assert_int_equal(fleet->n, 1);
    assert_int_equal(fleet->without, 1);
    assert_int_equal(pool_of(fleet->node[0], "nvidia.com/gpu")->capacity, 2);
    assert_int_equal(pool_of(fleet->node[0], "aliyun.com/gpu-mem")->capacity, 2000);
    assert_true(pool_of(fleet->node[0], "aliyun.com/gpu-mem")->on_devices);
    assert_int_equal(fleet->node[0]->device[1].memory_units, 1000);
    assert_null(fleet->node[0]->problem);
}

TEST_ALONE(a_wrong_list_names_its_place)
{
    struct sl_fleet fleet;
    assert_int_equal(read_list(&fleet, "csv", "name,gpus\na,99\n"), -1);
    assert_non_null(strstr(error.message, ":2:3: gpus: expected an integer in 0..64"));
    sl_fleet_free(&fleet);
    assert_int_equal(read_list(&fleet, "csv", "name,gpus\na,1\na,1\n"), 0);
    assert_int_equal(sl_fleet_finish(&fleet, &error), -1);
    assert_string_equal(error.message, "two nodes are called \"a\"");
    sl_fleet_free(&fleet);
}

TEST_ON(struct sl_fleet *fleet, manifests_bring_nodes_and_the_pods_that_hold_devices)
{
    static const char *const files[] = {SL_SOURCE_DIR "/deploy/examples/gpushare.yaml"};
    sl_fleet_init(fleet);
    assert_int_equal(sl_fleet_manifests(fleet, files, 1, &error), 0);
    assert_int_equal(sl_fleet_finish(fleet, &error), 0);
    assert_true(fleet->n >= 3);
    assert_true(fleet->n_pods > 0);
    for (size_t i = 1; i < fleet->n; i++) {
        assert_true(strcmp(fleet->node[i - 1]->name, fleet->node[i]->name) < 0);
    }
}

/* ---- shares ---- */

static struct sl_pod *pod_on(const struct sl_fleet *fleet, const char *resource, int64_t count,
                             const char *assignment, const char *uid)
{
    char number[24];
    (void)snprintf(number, sizeof(number), "%lld", (long long)count);
    struct sl_pair limit = {sl_str_of(resource), sl_str_of(number), NULL};
    struct sl_container_facts container = {.name = SL_STR("c"), .limits = &limit};
    const struct sl_pod_facts facts = {
        .name = SL_STR("p"), .uid = sl_str_of(uid), .created_us = 1, .containers = &container};
    struct sl_pod *waiting = sl_pod_new(&facts, &error);
    assert_non_null(waiting);
    struct sl_pod *bound =
        sl_pod_bound_to(waiting, fleet->node[0]->name, assignment, SL_POD_RUNNING);
    sl_pod_unref(waiting);
    assert_non_null(bound);
    return bound;
}

TEST_ON(struct sl_fleet *fleet, shares_add_up_over_kinds)
{
    assert_int_equal(read_list(fleet, "openb", "sn,cpu_milli,memory_mib,gpu,model\nn,0,0,4,P100\n"),
                     0);
    assert_int_equal(sl_fleet_finish(fleet, &error), 0);
    struct sl_pod *pods[] = {
        pod_on(fleet, "nvidia.com/gpu", 1, "nvidia.com/gpu=0", "u1"),
        pod_on(fleet, "aliyun.com/gpu-mem", 250, "aliyun.com/gpu-mem=1*250", "u2"),
        pod_on(fleet, "aliyun.com/gpu-mem", 600, "aliyun.com/gpu-mem=2*600", "u3"),
    };
    struct sl_view *view = sl_view_new(fleet->node[0], pods, 3);
    assert_int_equal(sl_share_capacity(fleet->node[0]), 4000000);
    assert_int_equal(sl_share_busy(view), 1000000 + 250000 + 600000);

    struct sl_workload jobs;
    struct sl_share_asks asks;
    sl_workload_init(&jobs);
    struct sl_trace_job fact = {.resource = SL_STR("aliyun.com/gpu-mem"), .count = 500};
    assert_int_equal(sl_workload_add(&jobs, &fact, &error), 0);
    assert_int_equal(sl_workload_add(&jobs, &fact, &error), 0);
    assert_int_equal(sl_workload_add(&jobs, &fact, &error), 0);
    fact = (struct sl_trace_job){.resource = SL_STR("nvidia.com/gpu"), .count = 2};
    assert_int_equal(sl_workload_add(&jobs, &fact, &error), 0);
    sl_share_asks_of(&jobs, &asks);
    assert_int_equal(asks.n, 2);
    assert_int_equal(asks.popularity[0], 750000);
    /* of the 2.15 GPUs idle, 500/1000 can use 0.75 and 1 but not 0.4; two whole GPUs fit nowhere */
    assert_int_equal(sl_share_fragmented(view, &asks), 400000 * 3 / 4 + 2150000 / 4);
    sl_view_free(view);
    for (size_t i = 0; i < 3; i++) {
        sl_pod_unref(pods[i]);
    }
    sl_workload_free(&jobs);
}

TEST_ON(struct sl_fleet *fleet, an_instance_is_its_memory_slices_share)
{
    make("1x1:A30:1g.6gb*2+2g.12gb", fleet);
    struct sl_pod *pod = pod_on(fleet, "nvidia.com/mig-2g.12gb", 1, NULL, "u1");
    struct sl_view *view = sl_view_new(fleet->node[0], &pod, 1);
    assert_int_equal(sl_share_capacity(fleet->node[0]), 1000000);
    assert_int_equal(sl_share_busy(view), 500000);
    sl_view_free(view);
    sl_pod_unref(pod);
}
