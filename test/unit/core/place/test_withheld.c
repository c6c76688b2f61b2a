/* Views of a node whose GPUs are being cut: nothing is given there, and its pods keep their units.
 */
#include "unit/core/rig.h"

#include "core/place/choose.h"
#include "sliced/preempt.h"
#include "sliced/score.h"

TEST_FIXTURE(NULL, rig_free_all)

#define GPU "nvidia.com/gpu"
#define MEM "aliyun.com/gpu-mem"
#define MIG "nvidia.com/mig-1g.6gb"

/* Two GPUs of which a pod holds the second; a cut is under way. */
static struct rig *withheld_gpus(void)
{
    struct rig *rig = rig_of_gpus(2, 16);
    struct sl_ask ask = rig_ask(GPU, 1);
    rig_run(rig, ask, GPU "=1");
    rig->node.partition = (struct sl_partition){.actuator = SL_ACTUATOR_MIG_MANAGER, .cut = "c"};
    return rig;
}

static void check_cutting(struct rig *rig, struct sl_ask ask)
{
    struct sl_verdict verdict = rig_verdict(rig, ask);
    assert_int_equal(verdict.reason, SL_REASON_CUTTING);
    assert_int_equal(verdict.asked, ask.item[0].count);
    assert_false(sl_reason_is_never(verdict.reason));
    assert_false(sl_fit(rig_view(rig), &ask, NULL));
    assert_false(sl_choose(rig_view(rig), &ask, NULL, NULL));
}

TEST_THAT(no_ask_fits_for_now_whatever_the_node_shows)
{
    struct rig *rig = withheld_gpus();
    check_cutting(rig, rig_ask(GPU, 1));
    check_cutting(rig, rig_ask(GPU, 9));  /* more than the node has */
    check_cutting(rig, rig_ask(MIG, 1));  /* not offered */
    check_cutting(rig, rig_ask(MEM, 40)); /* more than a GPU has */
    struct sl_ask two = rig_ask(GPU, 1);
    two.item[1] = rig_ask(MEM, 1).item[0];
    two.n = 2;
    check_cutting(rig, two);
    struct sl_ask careful = rig_ask(GPU, 1);
    careful.item[0].least_mib = 1;
    check_cutting(rig, careful);
}

TEST_THAT(pods_that_ask_for_no_gpu_or_malformed_are_answered_as_ever)
{
    struct rig *rig = withheld_gpus();
    struct sl_ask ask = {.n = 0};
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_NO_ASK);
    ask = rig_ask(GPU, 1);
    ask.malformed = true;
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_MALFORMED_ASK);
}

TEST_THAT(residents_keep_their_units)
{
    struct rig *rig = withheld_gpus();
    const struct sl_view *view = rig_view(rig);
    assert_true(view->withheld);
    assert_true(view->device[1].whole);
    assert_false(view->resident[0].assumed);
    for (unsigned i = 0; i < view->n_pools; i++) {
        assert_int_equal(view->room[i].free, 0);
        assert_int_equal(view->room[i].largest, 0);
        assert_int_equal(view->room[i].next_device, -1);
        assert_true(view->room[i].most > 0);
    }
}

TEST_THAT(no_place_is_given_exactly_either)
{
    struct rig *rig = withheld_gpus();
    struct sl_ask ask = rig_ask(GPU, 1);
    struct sl_assignment assignment;
    struct sl_scratch scratch;
    assert_true(sl_assignment_parse(&rig->node, &ask, SL_STR(GPU "=0"), &assignment));
    sl_scratch_init(&scratch, rig_view(rig));
    assert_false(sl_scratch_take_exactly(&scratch, &ask, &assignment));
    rig->node.partition.cut = NULL;
    sl_scratch_init(&scratch, rig_view(rig));
    assert_true(sl_scratch_take_exactly(&scratch, &ask, &assignment));
}

TEST_THAT(no_victim_has_to_go)
{
    struct rig *rig = withheld_gpus();
    struct sl_ask ask = rig_ask(GPU, 2);
    struct sl_str victim = SL_STR("u0");
    struct sl_verdict verdict;
    bool keep = true;
    assert_int_equal(sl_preempt(rig_view(rig), &ask, &victim, 1, &keep, &verdict), 0);
    assert_int_equal(verdict.reason, SL_REASON_CUTTING);
    assert_false(keep);
}

TEST_THAT(the_caller_may_withhold_a_node_that_shows_no_cut)
{
    struct rig *rig = rig_of_gpus(1, 16);
    const struct sl_host_use others = {.withheld = true};
    struct sl_view *view = sl_view_new_beside(&rig->node, NULL, 0, &others);
    assert_non_null(view);
    assert_true(view->withheld);
    assert_int_equal(view->room[0].free, 0);
    assert_true(view->digest != rig_view(rig)->digest);
    assert_false(rig_view(rig)->withheld);
    sl_view_free(view);
}
