/* Whose a Namespace is: when the queue's thread tells the planner. */
#include "queue_rig.h"

TEST_FIXTURE_OF(struct queue_rig, rig_begin, rig_end)

static void wake(void *context)
{
    struct queue_rig *rig = context;
    sl_queue_worker_wake(rig->worker);
}

static int count(void *context, struct sl_str name, struct sl_str tenant)
{
    unsigned *n = context;
    (void)name;
    (void)tenant;
    (*n)++;
    return 0;
}

static unsigned left(struct queue_rig *rig)
{
    unsigned n = 0;
    assert_true(sl_namespaces_tell(rig->namespaces, false, count, &n));
    return n;
}

TEST_ON(struct queue_rig *rig, the_planner_is_told_with_the_next_round_whoever_led_before)
{
    const struct sl_namespaces_options options = {.wake = wake, .context = rig};
    struct sl_pair b = {SL_STR("b"), SL_STR("y"), NULL};
    struct sl_pair a = {SL_STR("a"), SL_STR("x"), &b};
    rig->namespaces = sl_namespaces_new(&options, NULL);
    assert_int_equal(sl_namespaces_put(rig->namespaces, SL_STR("n"), &a, NULL), 0);
    rig_start_on(rig, 1);
    rig_round(rig);
    assert_int_equal(sl_namespaces_follow(rig->namespaces, "a", NULL), 0);
    rig_round(rig); /* the wake alone makes it a round */
    assert_int_equal(left(rig), 0);
    rig->leadership = 0;
    rig_round(rig);
    assert_int_equal(sl_namespaces_follow(rig->namespaces, "b", NULL), 0);
    rig_round(rig);
    rig->leadership = 2;
    rig_round(rig);
    assert_int_equal(left(rig), 0);
    sl_namespaces_free(rig->namespaces);
}
