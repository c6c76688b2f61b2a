/* Every allocation of the engine fails in turn: what is reported as failed goes on with the next
 * call, and in the end all is as it would have been. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "engine_rig.h"

#include "unit/lack.h"

enum { TRIES_MAX = 2000, PODS = 4 };

/* What is done with commands has its memory. */
static bool act(void *context, const struct sl_engine_command *command)
{
    bool armed = lack.armed;
    lack.armed = false;
    bool done = engine_act(context, command);
    lack.armed = armed;
    return done;
}

/* Whether an allocation failed. */
static bool try(struct engine_rig *rig, size_t n, bool forever)
{
    static const char *const asks[PODS] = {"gpu=1", "mig-1g.5gb=9", "mig-7g.40gb=2", "gpu=1"};
    struct sl_error err = {0};
    int put[PODS];
    for (unsigned i = 0; i < PODS; i++) {
        char name[] = "a";
        name[0] = (char)('a' + i);
        engine_wait(rig, name, asks[i]);
    }
    engine_gone(rig, "d");
    (void)engine_node(rig, SL_ACTUATOR_NONE, NULL, SMALL);
    (void)engine_node(rig, SL_ACTUATOR_MIG_MANAGER, LARGE, HALF);
    (void)engine_node(rig, SL_ACTUATOR_NOS_MIG, "1g.5gb* 1g.5gb", "7g.40gb*");
    engine_cluster(rig);
    engine_tell(rig, (struct engine_ask){.name = "r", .asks = "mig-1g.5gb=1"});
    engine_run_on(rig, "r", "n2", NULL);
    engine_cluster(rig);
    lack_arm(n, forever);
    for (unsigned i = 0; i < PODS - 1; i++) {
        put[i] = sl_engine_put(rig->engine, rig->pod[i].pod, rig->now_us, &err);
    }
    int plan = sl_engine_plan(rig->engine, rig->now_us, act, rig, &err);
    bool planned = !lack.hit;
    lack.armed = false;
    engine_cluster(rig);
    lack.armed = true;
    int cut = sl_engine_cut(rig->engine, rig->now_us, act, rig, &err);
    bool hit = lack_disarm();
    assert_true(plan == 0 || (plan < 0 && hit && !planned));
    assert_true(cut >= 0 || (hit && sl_engine_wake(rig->engine) <= rig->now_us + 5 * SL_SECOND_US));
    sl_engine_audit(rig->engine);
    for (unsigned i = 0; i < PODS - 1; i++) {
        assert_true(put[i] == 0 ||
                    sl_engine_put(rig->engine, rig->pod[i].pod, rig->now_us, &err) == 0);
    }
    return hit;
}

static void fail_in_turn(struct engine_rig *rig, bool forever)
{
    unsigned failed = 0;
    bool hit = true;
    for (size_t n = 1; hit; n++) {
        assert_true(n < TRIES_MAX);
        memset(rig, 0, sizeof(*rig));
        engine_begin(rig);
        rig->config.cutting.enabled = true;
        engine_configure(rig);
        hit = try(rig, n, forever);
        failed += hit;
        for (unsigned i = 0; i < 3; i++) {
            (void)engine_later(rig, 2 * SL_SECOND_US);
        }
        assert_string_equal(engine_state(rig, "a"), "Nominated None");
        assert_int_equal(engine_status(rig, 1).phase, SL_PHASE_CUTTING);
        assert_string_equal(engine_state(rig, "b"), "Held Cut");
        assert_string_equal(engine_state(rig, "c"), "Held NoRoom");
        engine_end(rig);
    }
    assert_true(failed > 10);
}

TEST_FIXTURE_OF(struct engine_rig, NULL, NULL)

TEST_ON(struct engine_rig *rig, one_allocation_fails)
{
    fail_in_turn(rig, false);
}

TEST_ON(struct engine_rig *rig, all_allocations_fail_for_a_while)
{
    fail_in_turn(rig, true);
}
