/* What is made of a GPU's series beside the pods that are on it, and what placement makes of that.
 */
#include "unit/core/usage/usage_rig.h"

TEST_FIXTURE(set_up, tear_down)

TEST_THAT(by_asks_nothing_that_is_measured_gives_room)
{
    struct scene *scene = *state;
    scene->rule.sharing = SL_SHARING_ASKS;
    runs(scene, 10000, SAME);
    uses(scene, 30, 1000);
    struct sl_measured measured = judged(scene);
    assert_int_equal(measured.room_mib, -1);
    assert_int_equal(measured.used_mib, 1000);
    assert_int_equal(measured.state, SL_SERIES_GOOD);
    assert_true(fits(scene, 6000, SAME));
    assert_false(fits(scene, 6001, SAME));
}

TEST_ON(struct scene *scene, cbp_gives_what_steady_pods_leave)
{
    scene->rule.sharing = SL_SHARING_CBP;
    runs(scene, 10000, SAME);
    (void)judged(scene);
    uses(scene, 30, 4000);
    struct sl_measured measured = judged(scene);
    assert_int_equal(measured.room_mib, 12000);
    assert_int_equal(measured.by, SL_SHARING_CBP);
    assert_true(fits(scene, 12000, OTHER));
    assert_false(fits(scene, 12001, OTHER));
}

TEST_ON(struct scene *scene, pp_gives_what_is_foreseen_where_cbp_does_not)
{
    scene->rule.sharing = SL_SHARING_CBP;
    runs(scene, 15000, SAME);
    (void)judged(scene);
    for (int i = 0; i < 60; i++) {
        uses(scene, 1, 15900 - 230 * i);
    }
    assert_int_equal(judged(scene).room_mib, -1);
    scene->rule.sharing = SL_SHARING_CBP_PP;
    struct sl_measured measured = judged(scene);
    assert_int_equal(measured.by, SL_SHARING_CBP_PP);
    /* and never what is held */
    assert_int_equal(measured.room_mib, TOTAL - (15900 - 230 * 40));
}

TEST_THAT(what_is_not_known_well_gives_no_room)
{
    struct scene *scene = *state;
    runs(scene, 16000, SAME);
    learn(scene, SAME, 100);
    assert_int_equal(judged(scene).state, SL_SERIES_ABSENT);
    uses(scene, 19, 1000);
    assert_int_equal(judged(scene).state, SL_SERIES_SHORT);
    uses(scene, 1, 1000);
    assert_int_equal(judged(scene).state, SL_SERIES_GOOD);
    assert_true(fits(scene, 4000, SAME));
    scene->now += 6;
    uses(scene, 1, 1000);
    assert_int_equal(judged(scene).state, SL_SERIES_GAPPY);
    assert_int_equal(judged(scene).room_mib, -1);
    assert_false(fits(scene, 1, SAME));
    scene->now += 31;
    assert_int_equal(judged(scene).state, SL_SERIES_STALE);
    assert_int_equal(judged(scene).used_mib, -1);
}

TEST_ON(struct scene *scene, peaks_count_what_workloads_came_to_use_in_former_lives)
{
    runs(scene, 8000, SAME);
    runs(scene, 8000, SAME);
    (void)judged(scene);
    uses(scene, 30, 1000);
    assert_int_equal(judged(scene).room_mib, 0); /* nothing is known of it: it may take its ask */
    assert_false(fits(scene, 1000, OTHER));
    learn(scene, SAME, 200); /* and a fiftieth, rounded up: 205 of 1000 */
    struct sl_measured measured = judged(scene);
    int32_t reserve = (8000 - 1640) / (TAUGHT + 1);
    assert_int_equal(measured.known[0].workload, SAME);
    assert_int_equal(measured.known[0].permille, 205);
    assert_int_equal(measured.known[0].lives, TAUGHT);
    assert_int_equal(measured.room_mib, TOTAL - 2 * 1640);
    assert_int_equal(measured.reserve_mib, reserve);
    assert_int_equal(measured.by, SL_SHARING_PEAKS);
    /* of the same workload: what is expected of it, beside what it or another could use beyond */
    assert_true(fits(scene, 16000, SAME)); /* 3280 and 4240 */
    assert_false(fits(scene, 32000, SAME));
    /* unknown: all of its ask, of which it will not use a part */
    assert_true(fits(scene, TOTAL - 2 * 1640, OTHER));
    assert_false(fits(scene, TOTAL - 2 * 1640 + 1, OTHER));
}

TEST_ON(struct scene *scene, each_workload_on_the_gpu_is_known_by_its_own_past)
{
    learn(scene, SAME, 100);
    learn(scene, OTHER, 500);
    runs(scene, 8000, SAME);
    runs(scene, 8000, OTHER);
    runs(scene, 1000, OTHER + 1); /* nothing is known of it */
    (void)judged(scene);
    uses(scene, 30, 1000);
    struct sl_measured measured = judged(scene);
    assert_int_equal(measured.room_mib, TOTAL - 824 - 4088 - 1000);
    assert_int_equal(measured.known[0].permille, 511);
    assert_int_equal(measured.known[1].permille, 103);
    assert_int_equal(measured.known[2].workload, 0);
    assert_true(fits(scene, 12000, OTHER)); /* 6132 and 1956, where 10088 are left */
    assert_false(fits(scene, 12000, OTHER + 1));
}

TEST_ON(struct scene *scene, memory_that_grows_is_counted_as_grown)
{
    learn(scene, SAME, 100);
    runs(scene, 16000, SAME);
    (void)judged(scene);
    for (int i = 0; i < 30; i++) {
        uses(scene, 1, 1000 + 40 * i); /* 40 MiB a second: 2400 more in a minute */
    }
    struct sl_measured measured = judged(scene);
    assert_true(measured.room_mib < TOTAL - 2160 - 2300);
    assert_true(measured.room_mib > TOTAL - 2160 - 2500);
}

TEST_ON(struct scene *scene, memory_that_grows_as_expected_is_counted_once)
{
    learn(scene, SAME, 500);
    runs(scene, 8000, SAME);
    (void)judged(scene);
    for (int i = 0; i < 30; i++) {
        uses(scene, 1, 1000 + 100 * i);
    }
    assert_int_equal(judged(scene).room_mib, TOTAL - 4088);
}

TEST_ON(struct scene *scene, what_pods_that_have_gone_used_does_not_count)
{
    learn(scene, SAME, 400);
    runs(scene, 8000, SAME);
    runs(scene, 8000, SAME);
    (void)judged(scene);
    uses(scene, 30, 6000);
    assert_int_equal(judged(scene).room_mib, TOTAL - 2 * 3272);
    scene->rig->n_pods = 1;
    scene->now++;
    (void)judged(scene);
    uses(scene, 2, 500);
    assert_int_equal(judged(scene).room_mib, TOTAL - 6000); /* two samples say little */
    uses(scene, 1, 500);
    assert_int_equal(judged(scene).room_mib, TOTAL - 3272);
}

TEST_ON(struct scene *scene, what_was_measured_is_said_in_words)
{
    struct sl_ask ask = ask_of(1000, SAME);
    struct sl_ask silent = ask_of(0, 0);
    char text[200];
    scene->rule.sharing = SL_SHARING_CBP;
    runs(scene, 10000, SAME);
    (void)judged(scene);
    uses(scene, 19, 4000);
    (void)judged(scene);
    sl_usage_text(rig_view(scene->rig), &ask, text, sizeof(text));
    assert_string_equal(text, "GPU 0: 4000 of 16000 MiB used, Short: 19 of 20 samples for cbp");
    uses(scene, 1, 4000);
    (void)judged(scene);
    sl_usage_text(rig_view(scene->rig), &ask, text, sizeof(text));
    assert_string_equal(text, "GPU 0: 4000 of 16000 MiB used, room for 12000 by cbp");
    sl_usage_text(scene->rig->view, &ask, text, 12);
    assert_string_equal(text, "GPU 0: 4000");
    sl_usage_text(scene->rig->view, &silent, text, sizeof(text));
    assert_string_equal(text, "");
    scene->now += 20;
    uses(scene, 1, 4000);
    (void)judged(scene);
    sl_usage_text(rig_view(scene->rig), &ask, text, sizeof(text));
    assert_string_equal(text, "GPU 0: 4000 of 16000 MiB used, Gappy");
    scene->now += 100;
    (void)judged(scene);
    sl_usage_text(rig_view(scene->rig), &ask, text, sizeof(text));
    assert_string_equal(text, "GPU 0: Stale");
}

TEST_ON(struct scene *scene, undeclared_memory_gives_no_room_to_others)
{
    learn(scene, SAME, 100);
    learn(scene, 0, 100);
    runs(scene, 16000, SAME);
    runs(scene, 0, 0);
    uses(scene, 30, 100);
    assert_int_equal(judged(scene).room_mib, -1);
    assert_false(fits(scene, 1, SAME));
}

TEST_ON(struct scene *scene, a_room_measured_beside_other_pods_is_void)
{
    learn(scene, SAME, 100);
    runs(scene, 16000, SAME);
    uses(scene, 30, 1000);
    assert_true(judged(scene).room_mib > 4000);
    assert_true(fits(scene, 4000, SAME));
    scene->rig->measured[0].load = 0;
    runs(scene, 4000, SAME);
    assert_int_equal(rig_view(scene->rig)->measured[0].load, 1000); /* it may be all busy now */
    scene->rig->measured[0].load = -1;
    assert_int_equal(rig_view(scene->rig)->measured[0].load, -1);
    assert_false(fits(scene, 4000, SAME)); /* not before it is measured again ... */
    uses(scene, 1, 1500);
    (void)judged(scene);
    assert_true(fits(scene, 4000, SAME));
    uses(scene, 1, 1500);
    (void)judged(scene);
    assert_true(fits(scene, 9000, OTHER));
    assert_false(sl_view_overcommitted(scene->rig->view)); /* declared beyond the GPU, on purpose */
}

TEST_ON(struct scene *scene, a_room_takes_one_pod_at_a_time)
{
    learn(scene, SAME, 100);
    runs(scene, 16000, SAME);
    uses(scene, 30, 1000);
    (void)judged(scene);
    struct sl_ask two = ask_of(1000, SAME);
    two.item[0].count = 2;
    assert_int_equal(rig_verdict(scene->rig, two).reason, SL_REASON_MEMORY_TAKEN);
}

TEST_ON(struct scene *scene, what_is_used_beyond_all_asks_is_taken)
{
    scene->rule.sharing = SL_SHARING_ASKS;
    runs(scene, 4000, SAME);
    uses(scene, 3, 4000 + SL_USAGE_OVER_MIN_MIB);
    (void)judged(scene); /* sees these pods together for the first time */
    uses(scene, 3, 4000 + SL_USAGE_OVER_MIN_MIB);
    assert_int_equal(judged(scene).over_mib, 0);
    uses(scene, 2, 9000);
    assert_int_equal(judged(scene).over_mib, 0);
    uses(scene, 1, 9001);
    assert_int_equal(judged(scene).over_mib, 5000); /* three samples agree */
    assert_true(fits(scene, 7000, OTHER));
    assert_false(fits(scene, 7001, OTHER));
    runs(scene, 1000, OTHER);
    (void)judged(scene);
    assert_int_equal(judged(scene).over_mib, 5000); /* beside the newcomer's ask, though that ... */
    uses(scene, 19, 9200);
    assert_int_equal(judged(scene).over_mib, 5000); /* ... may be part of what is used by now */
    uses(scene, 3, 9200);
    assert_int_equal(judged(scene).over_mib, 4200);
}

/* A pod that goes takes no more with it than it had asked for: what the others used stays. */
TEST_ON(struct scene *scene, what_a_pod_that_went_had_used_is_free_once_three_samples_show_it)
{
    scene->rule.sharing = SL_SHARING_ASKS;
    runs(scene, 8000, SAME);
    runs(scene, 8000, OTHER);
    (void)judged(scene);
    for (int i = 0; i < 30; i++) {
        uses(scene, 1, 15000);
        assert_int_equal(judged(scene).over_mib, 0);
    }
    scene->rig->n_pods = 1;
    rig_view(scene->rig);
    assert_true(fits(scene, TOTAL - 15000, OTHER)); /* before anything is measured */
    assert_false(fits(scene, TOTAL - 15000 + 1, OTHER));
    (void)judged(scene);
    uses(scene, 2, 7000);
    assert_int_equal(judged(scene).over_mib, 7000);
    uses(scene, 1, 7000);
    assert_int_equal(judged(scene).over_mib, 0);
    assert_true(fits(scene, 8000, OTHER));
}

TEST_ON(struct scene *scene, the_share_of_memory_of_gpushare_counts_what_is_used_too)
{
    struct rig *rig = scene->rig;
    unsigned pool = rig_pool(rig, "aliyun.com/gpu-mem", SL_KIND_MEMORY, 16);
    (void)pool;
    rig->device[0].memory_units = 16; /* GiB, of 1000 MiB here */
    scene->rule.sharing = SL_SHARING_ASKS;
    struct sl_ask ask = rig_ask("aliyun.com/gpu-mem", 4);
    rig_run(rig, ask, "aliyun.com/gpu-mem=0")->started_us = 1;
    (void)judged(scene);
    uses(scene, 3, 6500);
    assert_int_equal(judged(scene).over_mib, 2500);
    ask.item[0].count = 9;
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_FITS);
    ask.item[0].count = 10;
    assert_int_not_equal(rig_verdict(rig, ask).reason, SL_REASON_FITS);
}

static int32_t expected(struct scene *scene, uint32_t workload)
{
    return sl_peaks_expected(scene->peaks, sl_peaks_node("node-1"), workload, 0).permille;
}

/* Seconds pass in each of which the GPU is judged. */
static void lives(struct scene *scene, int seconds, int64_t mib)
{
    for (int i = 0; i < seconds; i++) {
        uses(scene, 1, mib);
        (void)judged(scene);
    }
}

/* The pods that came first go; from then on the others use that much. */
static void go(struct scene *scene, unsigned n, int64_t mib)
{
    struct rig *rig = scene->rig;
    for (unsigned i = 0; i < rig->n_pods; i++) {
        rig->pods[i].pod.phase = i < n ? SL_POD_SUCCEEDED : rig->pods[i].pod.phase;
    }
    lives(scene, 2, mib);
}

TEST_ON(struct scene *scene, use_beyond_what_is_expected_is_unlearned)
{
    learn(scene, SAME, 100);
    learn(scene, OTHER, 100);
    learn(scene, OTHER + 1, 100);
    runs(scene, 8000, SAME);
    runs(scene, 4000, OTHER);
    (void)judged(scene);
    uses(scene, 30, 1200); /* expected: 824 and 412 */
    assert_int_equal(judged(scene).room_mib, TOTAL - 1236);
    uses(scene, 2, 3000);
    (void)judged(scene);
    assert_true(sl_peaks_expected(scene->peaks, sl_peaks_node("node-1"), SAME, 0).permille <
                1000); /* it may pass */
    uses(scene, 1, 3000);
    assert_int_equal(judged(scene).room_mib, TOTAL - 12000); /* the asks */
    assert_int_equal(sl_peaks_expected(scene->peaks, sl_peaks_node("node-1"), SAME, 0).permille,
                     1000);
    assert_int_equal(sl_peaks_expected(scene->peaks, sl_peaks_node("node-1"), OTHER, 0).permille,
                     1000);
    assert_true(sl_peaks_expected(scene->peaks, sl_peaks_node("node-1"), OTHER + 1, 0).permille <
                1000); /* is not there */
}

TEST_ON(struct scene *scene, lives_that_ended_teach_their_peak)
{
    for (int life = 0; life < TAUGHT; life++) {
        assert_int_equal(expected(scene, SAME), life == 0 ? 1000 : 501);
        runs(scene, 8000, SAME);
        lives(scene, 2, 1000);
        lives(scene, 2, 4000);
        lives(scene, 2, 1000);
        go(scene, (unsigned)life + 1, 0);
    }
    assert_int_equal(expected(scene, SAME), 501);
}

TEST_ON(struct scene *scene, a_peak_between_two_judgements_is_learned)
{
    for (int life = 0; life < TAUGHT; life++) {
        runs(scene, 8000, SAME);
        lives(scene, SL_USAGE_LIFE_WINDOWS, 1000);
        uses(scene, 3, 6000);
        uses(scene, 3, 1000);
        (void)judged(scene);
        go(scene, (unsigned)life + 1, 0);
    }
    assert_int_equal(expected(scene, SAME), 751);
}

TEST_ON(struct scene *scene, short_lives_teach_nothing)
{
    for (int life = 0; life < 2 * TAUGHT; life++) {
        struct sl_pod *pod = runs(scene, 8000, SAME);
        (void)judged(scene);
        uses(scene, 5, 1000);
        (void)judged(scene); /* one window with samples */
        pod->phase = SL_POD_SUCCEEDED;
        scene->now++;
        (void)judged(scene);
    }
    assert_int_equal(expected(scene, SAME), 1000);
}

/* Only the sum is measured; what falls as a pod goes was its own. */
TEST_ON(struct scene *scene, a_pod_beside_others_teaches_what_goes_with_it)
{
    runs(scene, 4000, OTHER);
    lives(scene, 5, 3000);
    for (unsigned life = 0; life < TAUGHT; life++) {
        runs(scene, 8000, SAME);
        lives(scene, 5, 5000);
        scene->rig->pods[scene->rig->n_pods - 1].pod.phase = SL_POD_SUCCEEDED;
        lives(scene, 2, 3000);
    }
    assert_int_equal(expected(scene, SAME), 251);
    assert_int_equal(expected(scene, OTHER), 1000);
}

/* The exporter's clock may be ahead: its last samples are of the pod that went, too. */
TEST_ON(struct scene *scene, samples_from_before_a_pod_went_teach_nothing_of_it)
{
    runs(scene, 4000, OTHER);
    lives(scene, 5, 3000);
    for (unsigned life = 0; life < TAUGHT; life++) {
        runs(scene, 8000, SAME);
        lives(scene, 5, 7000);
        scene->rig->pods[scene->rig->n_pods - 1].pod.phase = SL_POD_SUCCEEDED;
        uses(scene, 3, 7000);
        scene->now -= 3;
        (void)judged(scene);
        scene->now += 3;
        lives(scene, 2, 3000);
    }
    assert_int_equal(expected(scene, SAME), 501);
}

/* It may have been the pod that gave memory back before it went: all that is sure is that none used
 * more than all. */
TEST_ON(struct scene *scene, what_was_given_back_may_have_been_anybodys)
{
    for (unsigned life = 0; life < TAUGHT; life++) {
        runs(scene, 8000, SAME);
        runs(scene, 8000, OTHER);
        lives(scene, 30, 6000);
        lives(scene, 30, 3000);
        go(scene, 2 * life + 1, 2000); /* 1000 were its own, 3000 may have been */
        go(scene, 2 * life + 2, 0);
    }
    assert_int_equal(expected(scene, SAME), 501);
    assert_int_equal(expected(scene, OTHER), 626); /* 2000, and 3000 */
}

TEST_ON(struct scene *scene, pods_that_go_together_teach_what_both_used)
{
    for (unsigned life = 0; life < TAUGHT; life++) {
        runs(scene, 8000, SAME);
        runs(scene, 8000, OTHER);
        lives(scene, 5, 2000);
        go(scene, 2 * life + 2, 0);
    }
    assert_int_equal(expected(scene, SAME), 251);
    assert_int_equal(expected(scene, OTHER), 251);
}

/* A pod that hides behind many others teaches no more than is sure. */
TEST_ON(struct scene *scene, a_crowded_gpu_teaches_what_is_sure)
{
    scene->rig->pool[0].capacity = SL_USAGE_LIVES_MAX + 2;
    scene->rig->pool[0].replicas = SL_USAGE_LIVES_MAX + 2;
    for (int i = 0; i < SL_USAGE_LIVES_MAX + 2; i++) {
        runs(scene, 800, i < TAUGHT ? SAME : OTHER);
    }
    lives(scene, 35, 8000);
    for (unsigned i = 0; i < TAUGHT; i++) {
        go(scene, i + 1, 8000 - 400 * (i + 1));
        lives(scene, 35, 8000 - 400 * (i + 1));
    }
    assert_int_equal(expected(scene, SAME), 501);
    go(scene, SL_USAGE_LIVES_MAX + 2, 0);
    assert_int_equal(expected(scene, OTHER), 1000);
}

/* ---- load ---- */

/* As uses(), and a part of the time busy, in permille. */
static void works(struct scene *scene, int seconds, int64_t busy)
{
    for (int i = 0; i < seconds; i++) {
        uses(scene, 1, 1000);
        assert_true(
            sl_series_put(&scene->series, (int64_t)scene->now * SECOND, SL_FIGURE_BUSY, busy));
    }
}

TEST_ON(struct scene *scene, load_is_measured_since_the_last_pod_came)
{
    works(scene, 30, 0);
    assert_int_equal(judged(scene).load, 0);
    runs(scene, 1000, SAME);
    (void)judged(scene);
    works(scene, 19, 900);
    struct sl_measured measured = judged(scene);
    assert_int_equal(measured.load, 1000); /* until it is known */
    assert_false(measured.settled);
    works(scene, 1, 900);
    measured = judged(scene);
    assert_int_equal(measured.load, 900);
    assert_true(measured.settled);
    runs(scene, 1000, SAME)->started_us = 0; /* on its way */
    works(scene, 30, 900);
    assert_int_equal(judged(scene).load, 1000);
}

TEST_ON(struct scene *scene, load_is_measured_since_the_last_pod_went)
{
    runs(scene, 1000, SAME);
    runs(scene, 1000, SAME);
    works(scene, 40, 900);
    assert_int_equal(judged(scene).load, 900);
    scene->rig->n_pods = 1;
    assert_int_equal(judged(scene).load, 1000);
    works(scene, 20, 100);
    assert_int_equal(judged(scene).load, 100);
}

TEST_ON(struct scene *scene, pods_that_ran_before_the_daemon_started_have_a_load_at_once)
{
    runs(scene, 1000, SAME);
    works(scene, 20, 300);
    assert_int_equal(judged(scene).load, 300);
}

TEST_ON(struct scene *scene, memory_that_is_busier_than_the_processors_is_the_load)
{
    runs(scene, 1000, SAME);
    works(scene, 20, 300);
    assert_true(
        sl_series_put(&scene->series, (int64_t)scene->now * SECOND, SL_FIGURE_BANDWIDTH, 800));
    assert_int_equal(judged(scene).load, 800);
}

TEST_ON(struct scene *scene, load_of_which_nothing_recent_is_known_is_not_guessed)
{
    runs(scene, 1000, SAME);
    assert_int_equal(judged(scene).load, -1); /* absent */
    uses(scene, 30, 1000);
    assert_int_equal(judged(scene).load, -1); /* memory alone */
    works(scene, 30, 500);
    assert_int_equal(judged(scene).load, 500);
    scene->now += 6;
    works(scene, 1, 500);
    assert_int_equal(judged(scene).load, -1); /* gappy */
    works(scene, CAP, 500);
    assert_int_equal(judged(scene).load, 500);
    scene->now += 31;
    assert_int_equal(judged(scene).load, -1); /* stale */
}

/* Whoever creates a pod writes its memory and its images (which make the workload): the load is the
 * GPU's, whatever they say. */
TEST_ON(struct scene *scene, load_does_not_depend_on_what_pods_say_of_themselves)
{
    static const struct {
        int32_t mib;
        uint32_t workload;
    } says[] = {{0, 0}, {1, SAME}, {TOTAL, SAME}, {INT32_MAX, OTHER}};
    learn(scene, SAME, 1);
    for (size_t i = 0; i < sizeof says / sizeof says[0]; i++) {
        scene->rig->n_pods = 0;
        (void)judged(scene);
        runs(scene, says[i].mib, says[i].workload);
        works(scene, 20, 640);
        scene->unit = (struct sl_usage_unit){0};
        assert_int_equal(judged(scene).load, 640);
        assert_int_equal(sl_measured_left(&rig_view(scene->rig)->measured[0]), 500);
    }
}
