/* Pods, nodes, views and verdicts on victims without memory: nothing comes of it, nothing leaks,
 * and it is said. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "admit_rig.h"

#include "core/place/uids.h"
#include "sliced/preempt.h"
#include "unit/lack.h"

#define GPU "nvidia.com/gpu"

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct rig *rig, without_memory_there_is_no_pod_node_or_view)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    asks(rig, GPU "=1");
    rig->node.allocatable = facts_pairs(&rig->facts, GPU "=4");
    rig->pod.node_name = SL_STR("n1");
    const int64_t live = lack.live;
    lack_arm(1, true);
    assert_null(sl_pod_new(&rig->pod, &err));
    assert_int_equal(err.code, SL_ERR_NOMEM);
    err.code = SL_ERR_NONE;
    assert_null(sl_node_new(&rig->node, &err));
    assert_int_equal(err.code, SL_ERR_NOMEM);
    assert_true(lack_disarm());
    (void)constraints_of(rig);
    struct sl_node *node = node_of(rig);
    lack_arm(1, true);
    assert_null(sl_pod_bound_to(rig->made, "n1", NULL, SL_POD_RUNNING));
    assert_null(sl_view_new(node, &rig->made, 1));
    assert_true(lack_disarm());
    assert_int_equal(rig->made->refs, 1);
    assert_int_equal(node->refs, 1);
    sl_pod_unref(rig->made);
    sl_node_unref(rig->made_node);
    rig->made = NULL;
    rig->made_node = NULL;
    assert_int_equal(lack.live, live);
}

TEST_ON(struct rig *rig, without_memory_no_victim_is_spared_or_named)
{
    const struct sl_str victim = SL_STR("u1");
    bool keep = false;
    asks(rig, GPU "=1");
    rig->node.allocatable = facts_pairs(&rig->facts, GPU "=1");
    rig->pod.node_name = SL_STR("n1");
    rig->pod.uid = SL_STR("u1");
    (void)constraints_of(rig);
    struct sl_view *view = sl_view_new(node_of(rig), &rig->made, 1);
    struct sl_ask ask;
    sl_pod_ask(rig->made, &ask);
    const int64_t live = lack.live;
    size_t n = 1;
    for (bool hit = true; hit; n++) {
        lack_arm(n, false);
        const int result = sl_preempt(view, &ask, &victim, 1, &keep, NULL);
        hit = lack_disarm();
        assert_int_equal(result, hit ? -1 : 1);
        assert_int_equal(lack.live, live);
    }
    assert_true(n > 2);
    assert_true(keep);
    sl_view_free(view);
}
