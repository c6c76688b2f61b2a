/* When two tellings of a pod say the same. */
#include "pod_rig.h"

#include "core/request/pod_read.h"

TEST_FIXTURE(set_up, tear_down)

/* One container asks a device plugin for two, or each of two for one. */
TEST_ON(struct pod_rig *rig, an_ask_of_one_container_is_not_that_of_two)
{
    asks(rig, "nvidia.com/gpu.shared=2");
    struct sl_pod *together = sl_pod_ref((struct sl_pod *)make(rig));
    rig->pod.containers = NULL;
    facts_container(&rig->facts, &rig->pod.containers, "a", NULL, "nvidia.com/gpu.shared=1");
    facts_container(&rig->facts, &rig->pod.containers, "b", NULL, "nvidia.com/gpu.shared=1");
    const struct sl_pod *apart = make(rig);
    assert_int_equal(apart->items[0].count, together->items[0].count);
    assert_false(sl_pod_same_ask(together, apart));
    assert_false(sl_pod_same(together, apart));
    sl_pod_unref(together);
}

/* More labels than are remembered hide none that may pass for a name of an exporter's. */
TEST_ON(struct pod_rig *rig, a_label_that_poses_makes_another_pod_of_it_behind_any_number_of_others)
{
    asks(rig, "nvidia.com/gpu=1");
    for (int i = 0; i < 2 * SL_POD_LABELS_MAX; i++) {
        char key[32];
        (void)snprintf(key, sizeof(key), "l%03d", i);
        facts_pair(&rig->facts, &rig->pod.labels, key, "x");
    }
    struct sl_pod *plain = sl_pod_ref((struct sl_pod *)make(rig));
    facts_pair(&rig->facts, &rig->pod.labels, "exported_pod", "victim");
    const struct sl_pod *posing = make(rig);
    assert_false(plain->poses);
    assert_true(posing->poses);
    assert_int_equal(plain->n_labels, posing->n_labels);
    assert_false(sl_pod_same(plain, posing));
    sl_pod_unref(plain);
}
