/* Who failed and is gone fails nobody, also where that is told before its namespace's turn. */
#include "stage_rig.h"

enum { MANY = 40, ITEMS = 10 };

static void wait_for_many_items(struct stage_rig *rig)
{
    rig->space = "ns";
    for (int i = 0; i < MANY; i++) {
        char after[256] = "";
        char name[32];
        size_t len = 0;
        for (int k = 0; k < ITEMS; k++) {
            len += (size_t)snprintf(after + len, sizeof(after) - len, "%sx%d-%d", k == 0 ? "" : ",",
                                    i, k);
        }
        (void)snprintf(name, sizeof(name), "w%d", i);
        stage_rig_wait(rig, name, "", after);
    }
}

static void one_fails_and_goes(struct stage_rig *rig)
{
    stage_rig_wait(rig, "waits", "", "(c=1)");
    stage_rig_read_nothing(rig);
    while (sl_stages_collect(rig->stages, stage_rig_visit, rig)) {
    }
    rig->len = 0;
    rig->log[0] = '\0';
    stage_rig_pod(rig, "first", "first", "c=1", "Failed");
    stage_rig_gone(rig, "first");
    while (sl_stages_collect(rig->stages, stage_rig_visit, rig)) {
    }
    assert_null(strstr(rig->log, "StageFailed"));
}

static int set_up(void **state)
{
    *state = stage_rig_new(20000);
    return 0;
}

TEST_FIXTURE(set_up, stage_rig_tear_down)

TEST_ON(struct stage_rig *rig, who_failed_and_is_gone_fails_nobody)
{
    rig->space = "ns";
    one_fails_and_goes(rig);
}

TEST_ON(struct stage_rig *rig, who_failed_and_is_gone_before_its_turn_fails_nobody)
{
    wait_for_many_items(rig);
    one_fails_and_goes(rig);
}

TEST_ON(struct stage_rig *rig, a_job_that_failed_and_is_gone_fails_nobody)
{
    stage_rig_wait(rig, "waits", "", "job/first");
    stage_rig_read_nothing(rig);
    (void)stage_rig_collect(rig);
    stage_rig_job(rig, "first", "1", SL_POD_FAILED);
    assert_non_null(strstr(stage_rig_collect(rig), "waits StageFailed"));
    sl_stages_job_gone(rig->stages, SL_STR("ns"), SL_STR("first"));
    assert_non_null(strstr(stage_rig_collect(rig), "waits Stage:"));
}
