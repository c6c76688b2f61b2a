/* What workloads have come to use: how many lives, between which bounds, how many workloads. */
#include "../rig.h"

#include "sliced/peaks.h"

enum { W = 5, HERE = 1, THERE = 2, ELSEWHERE = 3 };

static int32_t permille(const struct sl_past *peaks, int32_t margin)
{
    return sl_peaks_expected(peaks, HERE, W, margin).permille;
}

static void learn(struct sl_past *peaks, int times, int32_t low, int32_t high)
{
    for (int i = 0; i < times; i++) {
        sl_peaks_learn(peaks, HERE, W, low, high);
    }
}

TEST_THAT(the_highest_of_the_last_lives_counts)
{
    struct sl_past *peaks = sl_past_new(64);
    assert_int_equal(permille(peaks, 0), 1000);
    learn(peaks, 1, 700, 700);
    assert_int_equal(permille(peaks, 0), 701);
    assert_int_equal(permille(peaks, 150), 806); /* one alone shows no difference */
    learn(peaks, 1, 100, 100);
    assert_int_equal(sl_peaks_expected(peaks, HERE, W, 0).lives, 2);
    assert_int_equal(permille(peaks, 0), 701);
    learn(peaks, SL_PAST_VALUES - 2, 100, 100);
    assert_int_equal(permille(peaks, 0), 701);
    learn(peaks, 1, -3, -3); /* the first is forgotten */
    assert_int_equal(sl_peaks_expected(peaks, HERE, W, 0).lives, SL_PAST_VALUES);
    assert_int_equal(permille(peaks, 0), 101);
    learn(peaks, 1, 5000, 5000);
    assert_int_equal(permille(peaks, 0), 1000);
    sl_past_free(peaks);
}

TEST_THAT(the_margin_is_what_lives_differ_by_and_a_fiftieth)
{
    struct sl_past *peaks = sl_past_new(64);
    learn(peaks, 2, 500, 500);
    assert_int_equal(permille(peaks, 300), 511);
    learn(peaks, 1, 450, 450);
    assert_int_equal(permille(peaks, 300), 561); /* a tenth and a fiftieth */
    assert_int_equal(permille(peaks, 50), 526);  /* no more than is configured */
    learn(peaks, 1, 100, 100);
    assert_int_equal(permille(peaks, 300), 651);
    sl_past_free(peaks);
}

/* Of pods that shared a GPU with others often only bounds are known. */
TEST_THAT(lives_that_may_have_used_more_show_nothing)
{
    struct sl_past *peaks = sl_past_new(64);
    learn(peaks, 1, 300, 300);
    learn(peaks, 5, 0, 900);
    assert_int_equal(sl_peaks_expected(peaks, HERE, W, 0).lives,
                     1); /* one alone shows that it is 300 */
    learn(peaks, 1, 0, 320);
    assert_int_equal(sl_peaks_expected(peaks, HERE, W, 0).lives, 2);
    assert_int_equal(permille(peaks, 0), 301);
    learn(peaks, 1, 600, 900); /* now 300 does not explain all of them */
    assert_int_equal(sl_peaks_expected(peaks, HERE, W, 0).lives, 2);
    assert_int_equal(permille(peaks, 0), 601);
    sl_past_free(peaks);
}

/* A pod that lives on may still grow: what it shows counts only while no life has ended. */
TEST_THAT(pods_that_live_on_show_a_peak_until_one_has_ended)
{
    struct sl_past *peaks = sl_past_new(64);
    sl_peaks_glimpse(peaks, HERE, W, 200);
    assert_int_equal(permille(peaks, 150), 231);
    assert_int_equal(sl_peaks_expected(peaks, HERE, W, 150).lives, 0);
    sl_peaks_glimpse(peaks, HERE, W, 600);
    sl_peaks_glimpse(peaks, HERE, W, 100); /* another pod that only waits shows nothing */
    assert_int_equal(permille(peaks, 0), 601);
    assert_int_equal(permille(peaks, 150), 691);
    learn(peaks, 1, 0, 900); /* it may have used more */
    assert_int_equal(permille(peaks, 0), 901);
    learn(peaks, 1, 500, 500);
    assert_int_equal(permille(peaks, 0), 501);
    sl_peaks_forget(peaks, HERE, W);
    assert_int_equal(permille(peaks, 0), 1000);
    sl_past_free(peaks);
}

TEST_THAT(the_least_lately_learned_goes_first)
{
    struct sl_past *peaks = sl_past_new(8);
    for (uint32_t workload = 0; workload < 4; workload++) {
        for (int i = 0; i < 3; i++) {
            sl_peaks_learn(peaks, HERE, workload, 100, 100);
        }
    }
    sl_peaks_learn(peaks, HERE, 0, 100, 100);
    sl_peaks_learn(peaks, HERE, 99, 100, 100);
    assert_int_equal(sl_peaks_expected(peaks, HERE, 0, 0).lives, 4);
    assert_int_equal(sl_peaks_expected(peaks, HERE, 99, 0).lives, 1);
    for (uint32_t workload = 100; workload < 103; workload++) {
        sl_peaks_learn(peaks, HERE, workload, 100, 100);
    }
    assert_int_equal(sl_peaks_expected(peaks, HERE, 1, 0).permille, 1000);
    assert_int_equal(sl_peaks_expected(peaks, HERE, 102, 0).lives, 1);
    sl_past_free(peaks);
}

static int32_t within(int32_t permille)
{
    return permille < 0 ? 0 : permille > 1000 ? 1000 : permille;
}

/* The least peak that explains all lives, as the header says it, for lives at random. */
TEST_THAT(the_expected_peak_is_the_least_that_explains_all_lives)
{
    uint64_t seed = 3;
    unsigned known = 0;
    for (unsigned round = 0; round < 20000; round++) {
        struct sl_past *peaks = sl_past_new(8);
        int32_t low[4];
        int32_t high[4];
        unsigned n = 1 + rig_random(&seed, 4);
        int32_t margin = (int32_t)rig_random(&seed, 200);
        for (unsigned i = 0; i < n; i++) {
            low[i] = (int32_t)rig_random(&seed, 103) * 10 - 20 + (int32_t)rig_random(&seed, 3) - 1;
            high[i] = low[i] + (int32_t)rig_random(&seed, 3) * (int32_t)rig_random(&seed, 100);
            sl_peaks_learn(peaks, HERE, W, low[i], high[i]);
            low[i] = within(low[i]);
            high[i] = within(high[i]);
        }
        int32_t least = 0; /* peak at which nobody surely used more and one is known to use less */
        int32_t spread = 1000;
        for (unsigned i = 0; i < n; i++) {
            spread = high[i] < spread ? high[i] : spread;
        }
        for (unsigned i = 0; i < n; i++) {
            least = low[i] > least ? low[i] : least;
        }
        least = spread > least ? spread : least;
        unsigned lives = 0; /* that show it: their bound is at most a tenth above */
        for (unsigned i = 0; i < n; i++) {
            lives += high[i] * 10 <= least * 11;
        }
        int32_t differ = 20 + (least == 0 ? 0 : (least - spread) * 1000 / least);
        differ = differ < margin && lives > 1 ? differ : margin; /* one shows no difference */
        int32_t expected = least + least * differ / 1000 + 1;
        struct sl_peak_expected is = sl_peaks_expected(peaks, HERE, W, margin);
        assert_int_equal(is.lives, lives);
        assert_int_equal(is.permille, lives == 0 ? 1000 : within(expected));
        known += is.permille < 1000;
        sl_past_free(peaks);
    }
    assert_in_range(known, 4000, 18000);
}

/* Any node's exporter may lie, but not two. */
TEST_THAT(what_one_node_shows_counts_there_until_another_agrees)
{
    struct sl_past *peaks = sl_past_new(64);
    for (int i = 0; i < 3; i++) {
        sl_peaks_learn(peaks, THERE, W, 100, 100);
        sl_peaks_glimpse(peaks, THERE, W, 100);
    }
    assert_int_equal(sl_peaks_expected(peaks, THERE, W, 0).permille, 101);
    assert_int_equal(permille(peaks, 0), 1000);
    sl_peaks_learn(peaks, ELSEWHERE, W, 400, 600);
    assert_int_equal(permille(peaks, 0), 601); /* not the least that explains the lives of both */
    assert_int_equal(sl_peaks_expected(peaks, HERE, W, 0).lives, 1);
    sl_peaks_forget(peaks, HERE, W);
    assert_int_equal(sl_peaks_expected(peaks, THERE, W, 0).permille, 1000);
    sl_past_free(peaks);
}

TEST_THAT(another_node_only_makes_more_be_expected)
{
    struct sl_past *peaks = sl_past_new(64);
    learn(peaks, 2, 500, 500);
    struct sl_peak_expected before = sl_peaks_expected(peaks, HERE, W, 0);
    for (int i = 0; i < 2 * SL_PAST_VALUES; i++) {
        sl_peaks_learn(peaks, THERE, W, 10, 10);
    }
    assert_int_equal(permille(peaks, 0), before.permille);
    assert_int_equal(sl_peaks_expected(peaks, HERE, W, 0).lives, before.lives);
    assert_true(permille(peaks, 300) > before.permille); /* they differ */
    sl_peaks_learn(peaks, THERE, W, 800, 800);
    assert_int_equal(permille(peaks, 0), 801);
    sl_past_free(peaks);
}

TEST_THAT(what_living_pods_of_one_node_show_counts_there)
{
    struct sl_past *peaks = sl_past_new(64);
    sl_peaks_glimpse(peaks, THERE, W, 100);
    assert_int_equal(permille(peaks, 0), 1000);
    sl_peaks_glimpse(peaks, ELSEWHERE, W, 300);
    assert_int_equal(permille(peaks, 0), 301);
    sl_past_free(peaks);
}

/* However many nodes there are. */
TEST_THAT(the_last_nodes_count)
{
    struct sl_past *peaks = sl_past_new(256);
    sl_peaks_learn(peaks, THERE, W, 900, 900);
    for (uint32_t node = 100; node < 100 + SL_PAST_VALUES; node++) {
        sl_peaks_learn(peaks, node, W, 200, 200);
    }
    assert_int_equal(permille(peaks, 0), 201);
    assert_int_equal(sl_peaks_expected(peaks, HERE, W, 0).lives, SL_PAST_VALUES - 1);
    sl_past_free(peaks);
}
