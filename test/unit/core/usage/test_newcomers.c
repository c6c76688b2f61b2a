/* What newcomers on a shared GPU count with, until they were seen for long enough and after that.
 */
#include "unit/core/usage/usage_rig.h"

/* Seconds pass in each of which the GPU is judged. */
static struct sl_measured lives(struct scene *scene, int seconds, int64_t mib)
{
    struct sl_measured measured = sl_measured_none;
    for (int i = 0; i < seconds; i++) {
        uses(scene, 1, mib);
        measured = judged(scene);
    }
    return measured;
}

/* A pod comes, and is met before it uses anything. */
static struct sl_pod *comes(struct scene *scene, int32_t mib, uint32_t workload)
{
    struct sl_pod *pod = runs(scene, mib, workload);
    (void)judged(scene);
    return pod;
}

static int32_t with_margin(int32_t mib)
{
    return mib * 1100 / 1000;
}

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct scene *scene, a_pod_counts_with_what_it_uses_once_it_was_seen)
{
    lives(scene, 25, 0);
    comes(scene, 8000, SAME);
    assert_int_equal(lives(scene, 5, 300).room_mib, TOTAL - 8000);
    assert_int_equal(lives(scene, 14, 2000).room_mib, TOTAL - 8000);
    struct sl_measured measured = lives(scene, 2, 2000);
    assert_int_equal(measured.room_mib, TOTAL - with_margin(2000));
    assert_int_equal(measured.reserve_mib, 8000 - with_margin(2000)); /* it may still grow */
    assert_int_equal(measured.known[0].workload, SAME);
    assert_int_equal(measured.known[0].lives, 0);
}

/* Whoever judges by a clock that is behind is told late: what comes next may be of before. */
TEST_ON(struct scene *scene, samples_of_before_a_pod_came_do_not_show_it_though_they_come_after_it)
{
    lives(scene, 25, 0);
    scene->unit.ahead_us = 40 * (int64_t)SECOND;
    comes(scene, 8000, SAME);
    assert_true(lives(scene, 55, 2000).room_mib <= TOTAL - 8000);
    assert_int_equal(lives(scene, 10, 2000).room_mib, TOTAL - with_margin(2000));
}

TEST_ON(struct scene *scene, a_pod_that_grows_was_not_seen_for_long_enough)
{
    lives(scene, 25, 0);
    comes(scene, 8000, SAME);
    for (int i = 0; i < 40; i++) {
        assert_int_equal(lives(scene, 1, INT64_C(100) * i).room_mib, TOTAL - 8000);
    }
    assert_int_equal(lives(scene, 9, 3900).room_mib, TOTAL - 8000);
    assert_int_equal(lives(scene, 2, 3900).room_mib, TOTAL - with_margin(3900));
}

TEST_ON(struct scene *scene, a_pod_that_has_used_nothing_yet_was_not_seen)
{
    lives(scene, 25, 500);
    comes(scene, 8000, SAME);
    assert_int_equal(lives(scene, 50, 500 + SL_USAGE_STEP_MIB - 1).room_mib, TOTAL - 8500);
}

/* It may load for long before it takes what it needs. */
TEST_ON(struct scene *scene, a_pod_that_has_shown_only_a_context_of_cuda_teaches_nothing)
{
    lives(scene, 25, 0);
    comes(scene, 8000, SAME);
    assert_int_equal(lives(scene, 50, SL_USAGE_CONTEXT_MIB).room_mib, TOTAL - 8000);
    assert_int_equal(sl_peaks_expected(scene->peaks, sl_peaks_node("node-1"), SAME, 0).permille,
                     1000);
    comes(scene, 4000, OTHER); /* that the other one grows again is not taken for its growth */
    lives(scene, 30, SL_USAGE_CONTEXT_MIB + 2000);
    struct sl_measured measured = lives(scene, 10, SL_USAGE_CONTEXT_MIB + 2000);
    assert_int_equal(measured.room_mib,
                     TOTAL - with_margin(2000) - with_margin(SL_USAGE_CONTEXT_MIB + 2000));
}

TEST_ON(struct scene *scene, the_most_of_what_two_pods_were_seen_to_use_counts)
{
    lives(scene, 25, 0);
    comes(scene, 8000, SAME);
    lives(scene, 25, 4000);
    comes(scene, 8000, SAME);
    lives(scene, 25, 5000);
    assert_int_equal(sl_peaks_expected(scene->peaks, sl_peaks_node("node-1"), SAME, 0).permille,
                     501);
    lives(scene, 3, 7000); /* one of them grows on: both may have */
    lives(scene, 12, 7000);
    assert_int_equal(sl_peaks_expected(scene->peaks, sl_peaks_node("node-1"), SAME, 0).permille,
                     751);
}

TEST_ON(struct scene *scene, a_sibling_counts_with_what_a_pod_that_lives_on_was_seen_to_use)
{
    lives(scene, 25, 0);
    comes(scene, 8000, SAME);
    lives(scene, 25, 2000);
    assert_true(fits(scene, 4000, SAME)); /* 1104, and as much as it asks for beyond that */
    comes(scene, 8000, SAME);
    int32_t sibling = 8000 * 276 / 1000; /* a fourth and a tenth of that, rounded up */
    assert_int_equal(lives(scene, 1, 2000).room_mib, TOTAL - with_margin(2000) - sibling);
    comes(scene, 3000, OTHER);
    assert_int_equal(lives(scene, 1, 2000).room_mib, TOTAL - with_margin(2000) - sibling - 3000);
}

/* Whose growth it was nobody knows: each counts with all of it. */
TEST_ON(struct scene *scene, pods_that_come_together_count_with_what_both_use)
{
    lives(scene, 25, 0);
    comes(scene, 7000, SAME);
    comes(scene, 7000, OTHER);
    lives(scene, 10, 3000);
    assert_int_equal(lives(scene, 20, 3000).room_mib, TOTAL - 2 * with_margin(3000));
}

TEST_THAT(short_pods_that_come_and_go_make_nothing_forgotten_of_the_others)
{
    struct scene *scene = *state;
    lives(scene, 25, 0);
    comes(scene, 9000, SAME);
    lives(scene, 30, 2000);
    for (int i = 0; i < 8; i++) {
        struct sl_pod *brief = comes(scene, 1000, (uint32_t)(100 + i));
        struct sl_measured measured = lives(scene, 7, 2500);
        assert_int_equal(measured.state, SL_SERIES_GOOD);
        assert_int_equal(measured.room_mib, TOTAL - with_margin(2000) - 1000);
        brief->phase = SL_POD_SUCCEEDED;
        measured = lives(scene, 4, 2000);
        assert_int_equal(measured.room_mib, TOTAL - with_margin(2000));
    }
}

TEST_ON(struct scene *scene, late_growth_may_have_been_anybodys)
{
    lives(scene, 25, 0);
    comes(scene, 6000, SAME);
    lives(scene, 40, 1000);
    comes(scene, 6000, OTHER);
    assert_int_equal(lives(scene, 40, 2000).room_mib, TOTAL - 2 * with_margin(1000));
    assert_int_equal(lives(scene, 1, 4000).room_mib, TOTAL - 2 * with_margin(3000));
}

/* ---- whatever happens ---- */

enum { STORIES = 60, STEPS = 150, LATE = 8 /* seconds after which a pod grows no more */ };

struct truth {
    struct sl_pod *pod;
    int32_t ask;
    int32_t uses; /* in the end */
    int came;
};

static int32_t use_of(const struct scene *scene, const struct truth *truth)
{
    int age = scene->now - truth->came;
    bool gone = truth->pod->phase == SL_POD_SUCCEEDED;
    return gone ? 0 : age >= LATE ? truth->uses : truth->uses * age / LATE;
}

/* The clock is set to that second, as the owner of series and unit says it. */
static void clock_set(struct scene *scene, int second)
{
    scene->now = second;
    sl_series_cut(&scene->series, (int64_t)second * SECOND);
    sl_usage_restart(&scene->unit, (int64_t)second * SECOND + 1);
}

TEST_ON(struct scene *scene, after_a_clock_that_was_ahead_a_pod_is_seen_at_once)
{
    enum { AHEAD = 600 };
    lives(scene, 25, 0);
    scene->now += AHEAD;
    comes(scene, 8000, SAME);
    lives(scene, 5, 2000);
    clock_set(scene, scene->now - AHEAD);
    assert_int_equal(lives(scene, 22, 2000).room_mib, TOTAL - with_margin(2000));
}

/* What Prometheus tells late, of a time before the pod came, does not show the pod. */
TEST_ON(struct scene *scene, after_a_clock_that_was_behind_a_pod_is_not_seen_before_it_came)
{
    enum { BEHIND = 600 };
    lives(scene, 25, 0);
    comes(scene, 8000, SAME);
    clock_set(scene, scene->now + BEHIND);
    scene->now -= 30;
    uses(scene, 30, 0);
    assert_int_equal(judged(scene).room_mib, TOTAL - 8000);
    assert_false(scene->unit.life[0].shown);
    lives(scene, 21, 2000);
    assert_true(scene->unit.life[0].seen);
}

/* A sample of so many seconds from now is told, when samples of five minutes are asked for. */
static void told_of(struct scene *scene, uint32_t round, int ahead)
{
    int64_t now_us = scene->now * (int64_t)SECOND;
    sl_usage_ahead(&scene->unit, round, now_us + ahead * (int64_t)SECOND, now_us,
                   300 * (int64_t)SECOND);
}

TEST_ON(struct scene *scene, the_newest_sample_of_a_round_says_how_far_its_clock_is_ahead)
{
    told_of(scene, 1, 20);
    told_of(scene, 1, -40);
    assert_int_equal(scene->unit.ahead_us, 20 * (int64_t)SECOND);
    told_of(scene, 2, 5);
    assert_int_equal(scene->unit.ahead_us, 5 * (int64_t)SECOND);
    told_of(scene, 3, -1);
    assert_int_equal(scene->unit.ahead_us, 0);
}

TEST_ON(struct scene *scene, a_liar_hides_its_pods_for_as_long_as_is_asked_for_and_no_longer)
{
    lives(scene, 25, 0);
    told_of(scene, 1, 365 * 24 * 3600);
    comes(scene, 8000, SAME);
    assert_true(lives(scene, 300, 2000).room_mib <= TOTAL - 8000);
    assert_int_equal(lives(scene, 25, 2000).room_mib, TOTAL - with_margin(2000));
}

TEST_ON(struct scene *scene, a_clock_that_is_set_right_is_behind_no_longer)
{
    enum { BEHIND = 200 };
    lives(scene, 25, 0);
    told_of(scene, 1, BEHIND);
    clock_set(scene, scene->now + BEHIND);
    comes(scene, 8000, SAME);
    assert_int_equal(lives(scene, 22, 2000).room_mib, TOTAL - with_margin(2000));
}

struct story {
    struct truth pod[RIG_PODS];
    unsigned n;
    uint64_t seed;
    int64_t last; /* used, by the last sample */
    int64_t come; /* asks of those that came since */
};

static void come(struct scene *scene, struct story *story, unsigned over)
{
    int32_t ask = 200 + (int32_t)rig_random(&story->seed, 9000);
    if (story->n == RIG_PODS || !fits(scene, ask, story->n + 1)) {
        return;
    }
    assert_true(story->last + story->come + ask <= TOTAL);
    story->come += ask;
    story->pod[story->n] = (struct truth){.pod = runs(scene, ask, story->n + 1),
                                          .ask = ask,
                                          .uses = ask * 100 / (int32_t)(100 + over),
                                          .came = scene->now};
    story->n++;
}

static void step(struct scene *scene, struct story *story, unsigned over)
{
    int64_t sum = 0;
    for (unsigned tries = rig_random(&story->seed, 4); tries > 0; tries--) {
        come(scene, story, over);
    }
    for (unsigned i = 0; i < story->n; i++) {
        bool ends = rig_random(&story->seed, 40) == 0 && scene->now > story->pod[i].came + 3;
        story->pod[i].pod->phase = ends ? SL_POD_SUCCEEDED : story->pod[i].pod->phase;
    }
    if (rig_random(&story->seed, 3) == 0) {
        come(scene, story, over);
    }
    scene->now++;
    for (unsigned i = 0; i < story->n; i++) {
        sum += use_of(scene, &story->pod[i]);
    }
    assert_true(sum <= TOTAL); /* nobody runs out of memory */
    assert_true(sl_series_put(&scene->series, (int64_t)scene->now * SECOND, SL_FIGURE_USED, sum));
    story->last = sum;
    story->come = 0;
    (void)judged(scene);
}

/* Pods come whenever they fit, also many between two samples, and go whenever they like. */
static void play(struct scene *scene, enum sl_sharing sharing)
{
    unsigned shared = 0;
    for (unsigned i = 0; i < STORIES; i++) {
        struct story story = {.seed = i};
        scene->rule.sharing = sharing;
        for (unsigned k = 0; k < STEPS; k++) {
            step(scene, &story, i % 4 * 70);
            shared += rig_view(scene->rig)->device[0].declared_mib > TOTAL + SL_USAGE_OVER_MIN_MIB;
        }
        scene->rig->n_pods = 0;
        scene->rig->n_measured = 0;
        scene->unit = (struct sl_usage_unit){0};
        scene->series.n = 0;
    }
    assert_true(sharing == SL_SHARING_ASKS ? shared == 0 : shared > 100);
}

TEST_THAT(by_asks_use_and_the_asks_of_the_unseen_always_fit)
{
    play(*state, SL_SHARING_ASKS);
}

TEST_THAT(by_cbp_use_and_the_asks_of_the_unseen_always_fit)
{
    play(*state, SL_SHARING_CBP);
}

TEST_THAT(by_peaks_use_and_the_asks_of_the_unseen_always_fit)
{
    play(*state, SL_SHARING_PEAKS);
}

/* As one whose nomination ends: it has used nothing, and shows nothing of others. */
TEST_ON(struct scene *scene, a_pod_that_never_ran_teaches_nothing)
{
    struct sl_pod *pod = runs(scene, 8000, SAME);
    pod->phase = SL_POD_PENDING;
    for (int i = 0; i < SL_USAGE_LIFE_WINDOWS + 1; i++) {
        uses(scene, 10, 100);
        (void)judged(scene);
    }
    scene->rig->n_pods = 0;
    (void)judged(scene);
    uses(scene, 25, 100);
    (void)judged(scene);
    assert_int_equal(sl_peaks_expected(scene->peaks, sl_peaks_node("node-1"), SAME, 0).permille,
                     1000);
}
