/* What a node's digests tell apart: answers about constraints are kept by them. */
#include "node_rig.h"

TEST_THAT_WITH(digests_change_with_what_constraints_see, set_up, tear_down)
{
    static const struct {
        const char *labels, *taint; /* NULL: none */
        bool unschedulable;
        bool site, own; /* does that digest change? */
    } rows[] = {
        {"zone=a kubernetes.io/hostname=x", NULL, false, false, false},
        {"zone=b kubernetes.io/hostname=x", NULL, false, true, true},
        {"zone=a kubernetes.io/hostname=y", NULL, false, false, true},
        {"zone=a kubernetes.io/hostname=x", "broken", false, true, true},
        {"zone=a kubernetes.io/hostname=x", NULL, true, true, true},
    };
    struct node_rig *rig = *state;
    given(rig, rows[0].labels, "nvidia.com/gpu=1");
    uint64_t site = make(rig)->site_digest;
    uint64_t own = rig->made->own_digest;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sl_taint_facts taint = {.key = sl_str_of(rows[i].taint),
                                       .effect = SL_STR("NoSchedule")};
        given(rig, rows[i].labels, "nvidia.com/gpu=1");
        rig->node.taints = rows[i].taint == NULL ? NULL : &taint;
        rig->node.unschedulable = rows[i].unschedulable;
        assert_int_equal(make(rig)->site_digest != site, rows[i].site);
        assert_int_equal(rig->made->own_digest != own, rows[i].own);
    }
}
