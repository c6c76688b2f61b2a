/* A node becomes another when it has other units out of service: its pods are judged anew. */
#include "unit/core/plan/plan_rig.h"

TEST_THAT(a_pod_waits_only_while_enough_units_are_out_of_service)
{
    static const struct {
        unsigned at; /* of the GPUs among what is absent */
        int64_t units;
        const char *told, *state;
    } rows[] = {
        {0, 4, "refuse all: Never\n", "Refused Never"},
        {1, 4, "refuse all: Never\n", "Refused Never"},
        {0, 9, "", "Held NoRoom"},
        {1, 8, "", "Held NoRoom"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct plan_rig *rig = plan_rig_new();
        struct sl_absent before[2] = {{.key = 1, .units = 1}, {.key = 1, .units = 1}};
        struct sl_absent after[2] = {{.key = 1, .units = 1}, {.key = 1, .units = 1}};
        struct plan_rig_node *n1[] = {plan_rig_node(rig, "n1", 2), plan_rig_node(rig, "n1", 2)};
        (void)state;
        before[rows[i].at] = (struct sl_absent){.key = sl_hash(GPU, strlen(GPU)), .units = 8};
        after[rows[i].at] = before[rows[i].at];
        after[rows[i].at].units = rows[i].units;
        n1[0]->node.absent = before;
        n1[1]->node.absent = after;
        n1[0]->node.n_absent = n1[1]->node.n_absent = (uint16_t)(rows[i].at + 1);
        n1[1]->away = true;
        plan_rig_put(rig, plan_rig_pod(rig, "all", GPU, 8, 50));
        assert_string_equal(plan_rig_plan(rig), "");
        assert_string_equal(plan_rig_state(rig, "all"), "Held NoRoom");
        n1[0]->away = true;
        n1[1]->away = false;
        assert_string_equal(plan_rig_plan(rig), rows[i].told);
        assert_string_equal(plan_rig_state(rig, "all"), rows[i].state);
        plan_rig_free(rig);
    }
}
