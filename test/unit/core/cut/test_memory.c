/* Every allocation of a plan of cuts fails in turn: the plan fails with an error, and the next one
 * is as if nothing had been. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "unit/core/cut/cut_rig.h"

#include "unit/lack.h"

static void given_cuts_and_drains(struct cut_rig *rig)
{
    (void)MANAGED(rig, A100, "7g.40gb");
    size_t busy = MANAGED(rig, A100, "3g.20gb 3g.20gb");
    rig_run(rig, busy, "mig-3g.20gb=1", 600);
    for (unsigned i = 0; i < 40; i++) {
        (void)rig_wait(rig, i % 2 == 0 ? "mig-1g.5gb=1" : "mig-7g.40gb=1", NULL);
    }
    rig->input.drain = true;
}

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct cut_rig *rig, a_plan_without_memory_is_an_error_and_harms_no_later_one)
{
    char wanted[1024];
    unsigned failed = 0;
    given_cuts_and_drains(rig);
    (void)snprintf(wanted, sizeof(wanted), "%s", rig_told(rig));
    assert_string_equal(wanted, "node-0: GPU 0 into 7x 1g.5gb: 0 2 4 6 8 10 12\n"
                                "drain node-1 for 1 until 600 s\n");
    bool hit = true;
    for (size_t n = 1; hit; n++) {
        struct sl_error err = {0};
        sl_cutter_free(rig->cutter);
        rig->cutter = sl_cutter_new(&err);
        lack_arm(n, false);
        int rc = sl_cutter_plan(rig->cutter, &rig->input, &rig->output, &err);
        hit = lack_disarm();
        if (rc != 0) {
            assert_true(hit);
            assert_int_equal(rc, -1);
            assert_int_equal(err.code, SL_ERR_NOMEM);
            assert_int_equal(rig->output.n_plans + rig->output.n_drains, 0);
            failed++;
        }
        assert_string_equal(rig_told(rig), wanted);
    }
    assert_true(failed > 8);
}

TEST_THAT(without_memory_there_is_no_cutter)
{
    struct sl_error err = {.code = SL_ERR_LIMIT}; /* of something before */
    sl_cutter_free(sl_cutter_new(&err));
    assert_int_equal(err.code, SL_ERR_LIMIT);
    lack_arm(1, false);
    assert_null(sl_cutter_new(&err));
    assert_true(lack_disarm());
    assert_int_equal(err.code, SL_ERR_NOMEM);
}

TEST_ON(struct cut_rig *rig, without_memory_nothing_is_allowed)
{
    char reason[64];
    given_cuts_and_drains(rig);
    rig_plan(rig);
    const struct sl_cut_plan *plan = &rig->output.plan[0];
    lack_arm(1, false);
    bool allowed = sl_cut_allowed(rig->view[0], plan->cut, plan->n_cuts, (struct sl_cut_limits){0},
                                  reason, sizeof(reason));
    assert_true(lack_disarm());
    assert_false(allowed);
    assert_string_equal(reason, "out of memory");
}
