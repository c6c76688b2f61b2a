/* Equal shares of memory on different GPUs of a node, one after the other if that is asked for:
 * gpushare's device plugin tells pods apart by size alone. */
#include "unit/cluster/fixture.h"

#define MEM "aliyun.com/gpu-mem"

struct scene {
    struct sl_store *store;
    struct sl_bind_result result;
};

static void set_up_scene(struct scene *scene, bool on)
{
    struct sl_pair allocatable[2];
    struct sl_node_facts facts = {.name = SL_STR("n")};
    allocatable[0] = pair_of(MEM, "32", NULL);
    allocatable[1] = pair_of("aliyun.com/gpu-count", "2", &allocatable[0]);
    facts.allocatable = &allocatable[1];
    scene->store = sl_store_new(&roomy, NULL);
    assert_non_null(scene->store);
    sl_store_set_one_equal_share(scene->store, on);
    assert_int_equal(sl_store_put_node(scene->store, sl_node_new(&facts, NULL), NULL), 0);
}

/* assigned: what the plugin wrote; NULL: nothing. */
static void put(struct scene *scene, const char *name, const char *units, const char *node,
                const char *assigned, const char *phase)
{
    struct sl_pair limit = pair_of(MEM, units, NULL);
    struct sl_container_facts container = {.name = SL_STR("c"), .limits = &limit};
    struct sl_pair taken = pair_of("ALIYUN_COM_GPU_MEM_ASSIGNED", assigned, NULL);
    struct sl_pair index = pair_of("ALIYUN_COM_GPU_MEM_IDX", "0", &taken);
    struct sl_pod_facts facts = {.namespace = SL_STR("default"),
                                 .name = sl_str_of(name),
                                 .uid = sl_str_of(name),
                                 .node_name = sl_str_of(node),
                                 .phase = sl_str_of(phase),
                                 .containers = &container};
    facts.annotations = assigned == NULL ? NULL : &index;
    struct sl_pod *pod = sl_pod_new(&facts, NULL);
    assert_non_null(pod);
    assert_int_equal(sl_store_put_pod(scene->store, pod, NULL), 0);
}

static enum sl_bind_code try_bind(struct scene *scene, const char *name)
{
    sl_store_reserve(scene->store, SL_STR("default"), sl_str_of(name), sl_str_of(name), SL_STR("n"),
                     1, &scene->result);
    return scene->result.code;
}

TEST_THAT(an_equal_share_of_another_gpu_waits_for_the_plugin)
{
    struct scene scene;
    set_up_scene(&scene, true);
    put(&scene, "a", "10", NULL, NULL, NULL);
    put(&scene, "b", "10", NULL, NULL, NULL);
    put(&scene, "c", "4", NULL, NULL, NULL);
    assert_int_equal(try_bind(&scene, "a"), SL_BIND_RESERVED);
    assert_int_equal(try_bind(&scene, "b"), SL_BIND_NO_ROOM);
    assert_string_equal(scene.result.text,
                        "node n: waits for gpushare's device plugin to take pod default/a, which "
                        "asks for as much of another GPU");
    assert_int_equal(try_bind(&scene, "c"), SL_BIND_RESERVED); /* the plugin can tell it */
    put(&scene, "a", "10", "n", "false", "Pending");
    assert_int_equal(try_bind(&scene, "b"), SL_BIND_NO_ROOM);
    put(&scene, "a", "10", "n", "true", "Pending");
    put(&scene, "a", "10", "n", "false", "Pending"); /* its owner takes the plugin's mark off */
    assert_int_equal(try_bind(&scene, "b"), SL_BIND_RESERVED);
    sl_store_free(scene.store);
}

TEST_THAT(a_pod_that_runs_is_not_waited_for)
{
    struct scene scene;
    set_up_scene(&scene, true);
    put(&scene, "a", "10", "n", "false", "Running");
    put(&scene, "b", "10", NULL, NULL, NULL);
    assert_int_equal(try_bind(&scene, "b"), SL_BIND_RESERVED);
    sl_store_free(scene.store);
}

TEST_THAT(equal_shares_of_one_gpu_need_not_wait)
{
    struct scene scene;
    set_up_scene(&scene, true);
    put(&scene, "a", "5", NULL, NULL, NULL);
    put(&scene, "b", "5", NULL, NULL, NULL);
    assert_int_equal(try_bind(&scene, "a"), SL_BIND_RESERVED);
    assert_int_equal(try_bind(&scene, "b"), SL_BIND_RESERVED);
    assert_string_equal(scene.result.assignment, MEM "=0*5");
    sl_store_free(scene.store);
}

TEST_THAT(what_is_only_set_aside_is_not_waited_for)
{
    struct scene scene;
    set_up_scene(&scene, true);
    put(&scene, "a", "10", NULL, NULL, NULL);
    put(&scene, "b", "10", NULL, NULL, NULL);
    sl_store_nominate(scene.store, SL_STR("a"), SL_STR("n"), SL_STR(MEM "=0*10"), &scene.result);
    assert_int_equal(scene.result.code, SL_BIND_RESERVED);
    sl_store_nominate(scene.store, SL_STR("b"), SL_STR("n"), SL_STR(MEM "=1*10"), &scene.result);
    assert_int_equal(scene.result.code, SL_BIND_RESERVED);
    assert_int_equal(try_bind(&scene, "b"), SL_BIND_RESERVED);
    assert_int_equal(try_bind(&scene, "a"), SL_BIND_NO_ROOM);
    assert_true(sl_store_commit(scene.store, SL_STR("b"), SL_POD_RUNNING));
    assert_int_equal(try_bind(&scene, "a"), SL_BIND_RESERVED);
    assert_string_equal(scene.result.assignment, MEM "=0*10");
    sl_store_free(scene.store);
}

TEST_THAT(nobody_waits_unless_it_is_asked_for)
{
    struct scene scene;
    set_up_scene(&scene, false);
    put(&scene, "a", "10", NULL, NULL, NULL);
    put(&scene, "b", "10", NULL, NULL, NULL);
    assert_int_equal(try_bind(&scene, "a"), SL_BIND_RESERVED);
    assert_int_equal(try_bind(&scene, "b"), SL_BIND_RESERVED);
    sl_store_free(scene.store);
}
