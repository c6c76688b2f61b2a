/* How many pods may be released now, and the pause after releases that failed. */
#include "engine_rig.h"

#include "sliced/pace.h"

/* Room for 28 pods of a small instance. */
static void begin(struct engine_rig *rig)
{
    engine_begin(rig);
    (void)engine_node(rig, SL_ACTUATOR_NONE, SMALL, SMALL);
    (void)engine_node(rig, SL_ACTUATOR_NONE, SMALL, SMALL);
}

TEST_FIXTURE_OF(struct engine_rig, begin, engine_end)

/* So many pods come, a second after each other; their names begin so. */
static void come(struct engine_rig *rig, const char *names, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "%s%02u", names, i);
        engine_wait(rig, name, "mig-1g.5gb=1");
        rig->now_us += SL_SECOND_US;
    }
}

static unsigned count(const char *text, const char *word)
{
    unsigned n = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        n++;
    }
    return n;
}

TEST_ON(struct engine_rig *rig, the_window_bounds_those_that_kube_scheduler_has_not_had_for_long)
{
    come(rig, "p", 24);
    assert_int_equal(sl_engine_room(rig->engine, rig->now_us), SL_PACE_FIRST);
    assert_int_equal(count(engine_round(rig), "nominate "), SL_PACE_FIRST);
    assert_string_equal(engine_state(rig, "p16"), "Held Pace");
    assert_int_equal(sl_engine_room(rig->engine, rig->now_us), 0);
    assert_int_equal(sl_engine_outstanding(rig->engine), SL_PACE_FIRST);
    int64_t wake_us = sl_engine_wake(rig->engine);
    assert_int_equal(wake_us, rig->now_us + SL_SECOND_US);
    assert_int_equal(sl_engine_room(rig->engine, wake_us - 1), 0);
    assert_int_equal(sl_engine_room(rig->engine, wake_us), SL_PACE_FIRST);
    rig->now_us = wake_us;
    assert_int_equal(count(engine_round(rig), "nominate "), 8);
    assert_int_equal(sl_engine_outstanding(rig->engine), 24);
    assert_int_equal(sl_engine_room(rig->engine, wake_us), SL_PACE_FIRST - 8);
    /* nobody waits for the window: its end wakes nobody */
    assert_true(sl_engine_wake(rig->engine) > wake_us + 30 * SL_SECOND_US);
}

TEST_ON(struct engine_rig *rig, the_oldest_of_those_that_are_not_old_yet_ends_the_wait)
{
    come(rig, "p", 10);
    (void)engine_round(rig);
    come(rig, "q", 1);
    (void)engine_later(rig, -SL_SECOND_US / 2); /* half a second after the first ten */
    come(rig, "r", 9);
    rig->now_us -= 9 * SL_SECOND_US;
    assert_int_equal(count(engine_round(rig), "nominate "), 5);
    int64_t wake_us = sl_engine_wake(rig->engine);
    assert_int_equal(wake_us, rig->now_us + SL_SECOND_US / 2);
    rig->now_us = wake_us;
    assert_int_equal(count(engine_round(rig), "nominate "), 4);
}

TEST_ON(struct engine_rig *rig, never_more_are_nominated_than_may_be)
{
    rig->config.max_releases = 5;
    engine_configure(rig);
    assert_int_equal(sl_engine_window(rig->engine), 5);
    come(rig, "p", 8);
    assert_int_equal(count(engine_round(rig), "nominate "), 5);
    assert_int_equal(count(engine_later(rig, 10 * SL_SECOND_US), "nominate "), 0);
    rig->config.max_releases = 3;
    engine_configure(rig);
    assert_int_equal(sl_engine_room(rig->engine, rig->now_us), 0);
    assert_int_equal(sl_engine_window(rig->engine), 3);
    rig->config.max_releases = 7;
    engine_configure(rig);
    assert_int_equal(count(engine_round(rig), "nominate "), 2);
}

/* kube-scheduler is given four times as long as it takes. */
TEST_ON(struct engine_rig *rig, it_is_learned_how_long_kube_scheduler_takes)
{
    rig->config.max_releases = 12;
    engine_configure(rig);
    come(rig, "p", 14);
    (void)engine_round(rig);
    rig->now_us += SL_SECOND_US - 1;
    engine_bind(rig, "p00");
    assert_int_equal(count(engine_round(rig), "nominate "), 1);
    assert_int_equal(sl_engine_wake(rig->engine), rig->now_us + 3 * SL_SECOND_US - 3);
    /* what is bound after that long tells nothing, nor what was not nominated */
    engine_wait(rig, "x", "mig-1g.5gb=1");
    engine_run_on(rig, "x", "n1", "nvidia.com/mig-1g.5gb=1/6");
    rig->now_us += 3 * SL_SECOND_US;
    engine_bind(rig, "p01");
    (void)engine_round(rig);
    assert_int_equal(sl_engine_wake(rig->engine), rig->now_us + SL_SECOND_US - 4);
}

TEST_ON(struct engine_rig *rig, what_expires_halves_the_window_and_what_loses_its_node_does_not)
{
    rig->config.max_releases = 40;
    engine_configure(rig);
    come(rig, "p", 30);
    for (unsigned i = 0; i < 2; i++) {
        (void)engine_later(rig, 2 * SL_SECOND_US);
    }
    assert_int_equal(sl_engine_window(rig->engine), 16);
    rig->node[1].away = true;
    const char *lost = engine_round(rig);
    assert_int_equal(count(lost, ": NoRoom"), 14);
    assert_int_equal(count(lost, "withdraw "), 0); /* their releases have not ended yet */
    assert_int_equal(sl_engine_window(rig->engine), 16);
    assert_true(count(engine_later(rig, rig->config.plan.hold_us), ": Expired") > 0);
    assert_int_equal(sl_engine_window(rig->engine), 12);
}

/* ---- the pause ---- */

/* The release of the pod, which is under way, fails. */
static enum sl_release_after break_off(struct engine_rig *rig, const char *name)
{
    return engine_released(rig, name, SL_RELEASE_FAILED);
}

TEST_ON(struct engine_rig *rig, a_failed_release_pauses_all_twice_as_long_each_time)
{
    static const int64_t seconds[] = {1, 2, 4, 8, 16, 30, 30};
    rig->config.plan.hold_us = SL_HOUR_US;
    engine_configure(rig);
    engine_wait(rig, "a", "mig-1g.5gb=1");
    assert_int_equal(count(engine_round(rig), "release a\n"), 1);
    for (unsigned i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
        assert_int_equal(break_off(rig, "a"), SL_AFTER_PAUSE);
        assert_string_equal(engine_round(rig), "");
        assert_int_equal(sl_engine_wake(rig->engine), rig->now_us + seconds[i] * SL_SECOND_US);
        assert_string_equal(engine_later(rig, seconds[i] * SL_SECOND_US - 1), "");
        assert_string_equal(engine_later(rig, 1), "release a\n");
    }
    /* one that gets through ends that */
    assert_int_equal(engine_released(rig, "a", SL_RELEASE_RELEASED), SL_AFTER_NOTHING);
    engine_wait(rig, "b", "mig-1g.5gb=1");
    (void)engine_round(rig);
    assert_int_equal(break_off(rig, "b"), SL_AFTER_PAUSE);
    (void)engine_round(rig);
    assert_int_equal(sl_engine_wake(rig->engine), rig->now_us + SL_SECOND_US);
}

/* Failures that end while releases pause begin no pause of their own. */
TEST_ON(struct engine_rig *rig, failures_during_a_pause_lengthen_the_next)
{
    come(rig, "p", 3);
    (void)engine_round(rig);
    assert_int_equal(break_off(rig, "p00"), SL_AFTER_PAUSE);
    assert_int_equal(break_off(rig, "p01"), SL_AFTER_NOTHING);
    (void)engine_round(rig);
    assert_int_equal(sl_engine_wake(rig->engine), rig->now_us + SL_SECOND_US);
    assert_int_equal(count(engine_later(rig, SL_SECOND_US), "release "), 2);
    assert_int_equal(break_off(rig, "p02"), SL_AFTER_PAUSE);
    (void)engine_round(rig);
    assert_int_equal(sl_engine_wake(rig->engine), rig->now_us + 4 * SL_SECOND_US);
}

static const struct failures {
    const char *name;
    const char *spaces[3]; /* of the pods whose releases fail */
    const char *other;     /* that waits, too; NULL: none */
    unsigned go;           /* nominations then */
} failures[] = {
    {"of one namespace keep its pods", {"a", "a", "a"}, NULL, 0},
    {"of one namespace keep no other", {"a", "a", "a"}, "b/w", 3},
    {"of two keep all", {"a", "a", "b"}, "c/w", 0},
    {"of two keep all, though the first is alone at last", {"b", "a", "a"}, "c/w", 0},
};

TEST_ON_EACH(struct engine_rig *rig, failures_in_a_row, failures)
{
    for (unsigned i = 0; i < 3; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "%s/p%u", row->spaces[i], i);
        engine_wait(rig, name, "mig-1g.5gb=1");
    }
    (void)engine_round(rig);
    for (unsigned i = 0; i < 3; i++) {
        char name[16];
        assert_int_not_equal(sl_engine_room(rig->engine, rig->now_us), 0);
        (void)snprintf(name, sizeof(name), "%s/p%u", row->spaces[i], i);
        assert_int_equal(break_off(rig, name), i == 0 ? SL_AFTER_PAUSE : SL_AFTER_NOTHING);
    }
    engine_wait(rig, "a/x", "mig-1g.5gb=1");
    engine_wait(rig, "a/y", "mig-1g.5gb=1");
    if (row->other != NULL) {
        engine_wait(rig, row->other, "mig-1g.5gb=1");
    }
    assert_int_equal(count(engine_round(rig), "nominate "), row->go);
    assert_int_not_equal(sl_engine_room(rig->engine, rig->now_us + SL_SECOND_US), 0);
}

/* Neither a pod that is gone nor an unknown end says that the API server answers. */
TEST_ON(struct engine_rig *rig, only_an_answer_ends_the_failures)
{
    static const struct {
        enum sl_release_end end;
        int64_t pause_s; /* after the next failure */
    } ends[] = {
        {SL_RELEASE_RELEASED, 1},
        {SL_RELEASE_REFUSED, 1},
        {SL_RELEASE_GONE, 4},
        {SL_RELEASE_UNKNOWN, 4},
    };
    for (unsigned i = 0; i < 4; i++) {
        engine_end(rig);
        memset(rig, 0, sizeof(*rig));
        begin(rig);
        come(rig, "p", 5);
        (void)engine_round(rig);
        (void)break_off(rig, "p00");
        if (ends[i].end == SL_RELEASE_GONE) {
            (void)break_off(rig, "p01");
        }
        (void)engine_released(rig, "p02", ends[i].end);
        rig->now_us += SL_SECOND_US;
        assert_int_equal(break_off(rig, "p03"), SL_AFTER_PAUSE);
        if (ends[i].pause_s == 1) { /* three in a row are needed */
            (void)break_off(rig, "p04");
        }
        assert_int_not_equal(sl_engine_room(rig->engine, rig->now_us) == 0, ends[i].pause_s == 1);
        (void)engine_round(rig);
        assert_int_equal(sl_engine_wake(rig->engine), rig->now_us + ends[i].pause_s * SL_SECOND_US);
    }
}

TEST_ON(struct engine_rig *rig, a_pause_lasts_as_long_when_the_clock_is_put)
{
    static const int64_t by_us = SL_DAY_US;
    come(rig, "p", 20);
    (void)engine_round(rig);
    (void)break_off(rig, "p00");
    (void)engine_round(rig);
    rig->now_us += by_us;
    sl_engine_rebase(rig->engine, by_us, rig->now_us);
    assert_int_equal(sl_engine_wake(rig->engine), rig->now_us + SL_SECOND_US);
    assert_int_equal(sl_engine_room(rig->engine, rig->now_us), 0);
    assert_string_equal(engine_later(rig, SL_SECOND_US / 2), "");
    assert_int_equal(count(engine_later(rig, SL_SECOND_US / 2), "nominate "), 4);
    assert_int_equal(sl_engine_outstanding(rig->engine), 20);
}
