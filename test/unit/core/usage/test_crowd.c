/* The pods that share a GPU: what they ask for, what is expected of them, and what is kept back. */
#include "unit/core/usage/usage_rig.h"

static struct sl_pod *runs_ask(struct scene *scene, const struct sl_ask *ask, const char *where)
{
    struct sl_pod *pod = rig_run(scene->rig, *ask, where);
    pod->started_us = (int64_t)scene->now * SECOND + 1;
    return pod;
}

/* ---- which GPUs ---- */

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct scene *scene, only_gpus_whose_replicas_share_known_memory_are_shared_by_use)
{
    struct sl_pool *pool = &scene->rig->pool[0];
    struct sl_device *device = &scene->rig->device[0];
    runs(scene, 4000, SAME);
    uses(scene, 30, 1000);
    assert_true(judged(scene).by_use);
    pool->equal_memory = true; /* MPS bounds each by itself */
    assert_false(judged(scene).by_use);
    assert_int_equal(judged(scene).room_mib, -1);
    pool->equal_memory = false;
    pool->slices = true; /* so do slices */
    assert_false(judged(scene).by_use);
    pool->slices = false;
    pool->on_devices = false; /* nobody knows on which GPU */
    assert_false(judged(scene).by_use);
    pool->on_devices = true;
    device->mig = true;
    assert_false(judged(scene).by_use);
    device->mig = false;
    device->memory_mib = 0;
    assert_false(judged(scene).by_use);
    device->memory_mib = 1;
    assert_true(judged(scene).by_use);
}

/* ---- what is asked for ---- */

TEST_ON(struct scene *scene, what_a_pod_asks_for_on_a_gpu_is_taken_in_mib)
{
    struct rig *rig = scene->rig;
    struct sl_ask gpu = rig_ask("nvidia.com/gpu", 1);
    struct sl_ask share = rig_ask("aliyun.com/gpu-mem", 4);
    struct sl_ask two = ask_of(1000, SAME);
    two.item[0].count = 2;
    rig_pool(rig, "aliyun.com/gpu-mem", SL_KIND_MEMORY, 16);
    rig_pool(rig, "nvidia.com/gpu", SL_KIND_WHOLE, 2);
    rig->device[rig_device(rig, 16)].memory_mib = TOTAL;
    rig->device[0].memory_units = 16;
    scene->rule.sharing = SL_SHARING_ASKS;
    runs_ask(scene, &two, SHARED "=0*2");
    runs_ask(scene, &share, "aliyun.com/gpu-mem=0*4");
    runs_ask(scene, &gpu, "nvidia.com/gpu=1"); /* on the other GPU: not counted */
    (void)judged(scene);
    uses(scene, 3, 2000 + 4000 + SL_USAGE_OVER_MIN_MIB);
    assert_int_equal(judged(scene).over_mib, 0);
    uses(scene, 3, 2000 + 4000 + SL_USAGE_OVER_MIN_MIB + 1);
    assert_int_equal(judged(scene).over_mib, SL_USAGE_OVER_MIN_MIB + 1);
}

/* The share of replicas need not be what the pod names first. */
TEST_ON(struct scene *scene, a_pod_is_known_by_the_item_that_declares_memory)
{
    struct sl_ask ask = rig_ask2("aliyun.com/gpu-mem", 1, SHARED, 1);
    struct sl_ask replica = ask_of(4000, SAME);
    rig_pool(scene->rig, "aliyun.com/gpu-mem", SL_KIND_MEMORY, 16);
    scene->rig->device[0].memory_units = 16;
    ask.item[1] = replica.item[0];
    learn(scene, SAME, 100);
    runs_ask(scene, &ask, "aliyun.com/gpu-mem=0;" SHARED "=0");
    (void)judged(scene);
    uses(scene, 20, 100);
    assert_int_equal(judged(scene).known[0].workload, SAME);
    assert_int_equal(judged(scene).room_mib, TOTAL - 5000 * 103 / 1000);
}

TEST_ON(struct scene *scene, a_whole_gpu_may_be_used_whole)
{
    struct sl_ask gpu = rig_ask("nvidia.com/gpu", 1);
    rig_pool(scene->rig, "nvidia.com/gpu", SL_KIND_WHOLE, 1);
    scene->rule.sharing = SL_SHARING_ASKS;
    runs_ask(scene, &gpu, "nvidia.com/gpu=0");
    (void)judged(scene);
    uses(scene, 9, 9000);
    assert_int_equal(judged(scene).over_mib, 0);
}

/* Nor does it hide what is in use. */
TEST_ON(struct scene *scene, who_states_no_memory_declares_none_of_what_is_used)
{
    scene->rule.sharing = SL_SHARING_ASKS;
    runs(scene, 1000, SAME);
    (void)judged(scene);
    uses(scene, 9, 9000);
    assert_int_equal(judged(scene).over_mib, 8000);
    struct sl_pod *silent = runs(scene, 0, 0);
    silent->phase = SL_POD_PENDING;
    assert_int_equal(judged(scene).over_mib, 8000);
    silent->phase = SL_POD_FAILED;
    scene->now += 100; /* no samples any more */
    assert_int_equal(judged(scene).over_mib, 8000);
    assert_false(fits(scene, TOTAL - 9000 + 1, OTHER));
}

TEST_ON(struct scene *scene, nobody_on_a_gpu_leaves_what_is_used_to_be_told)
{
    scene->rule.sharing = SL_SHARING_ASKS;
    (void)judged(scene);
    uses(scene, 3, 9000); /* a process outside Kubernetes */
    assert_int_equal(judged(scene).over_mib, 9000);
}

/* Lives are kept of some pods only: the others are not free. */
TEST_ON(struct scene *scene, more_pods_than_lives_are_kept_of_count_too)
{
    scene->rule.sharing = SL_SHARING_ASKS;
    scene->rig->pool[0].capacity = INT64_C(2) * SL_USAGE_LIVES_MAX;
    scene->rig->pool[0].replicas = 2 * SL_USAGE_LIVES_MAX;
    for (int i = 0; i < SL_USAGE_LIVES_MAX; i++) {
        runs(scene, 50, SAME);
    }
    (void)judged(scene);
    uses(scene, 25, 12000);
    (void)judged(scene);
    runs(scene, 3000, OTHER);
    (void)judged(scene);
    uses(scene, 3, 12000);
    (void)judged(scene);
    assert_true(fits(scene, 1000, OTHER));
    assert_false(fits(scene, 1001, OTHER));
    uses(scene, 20, 12000); /* seen long enough */
    (void)judged(scene);
    assert_true(fits(scene, 4000, OTHER));
    assert_false(fits(scene, 4001, OTHER));
}

/* Before it is measured again, what one that went has used is not free for one that comes. */
TEST_ON(struct scene *scene, more_pods_than_are_told_apart_count_as_if_they_had_come_since)
{
    scene->rule.sharing = SL_SHARING_ASKS;
    scene->rig->pool[0].capacity = INT64_C(2) * SL_MEASURED_SEEN;
    scene->rig->pool[0].replicas = 2 * SL_MEASURED_SEEN;
    for (int i = 0; i < SL_MEASURED_SEEN; i++) {
        runs(scene, 500, SAME);
    }
    struct sl_pod *large = runs(scene, 6000, OTHER);
    (void)judged(scene);
    uses(scene, 25, 14000);
    assert_int_equal(judged(scene).over_mib, 0);
    assert_true(fits(scene, 2000, OTHER));
    large->phase = SL_POD_SUCCEEDED;
    runs(scene, 6000, OTHER);
    assert_int_equal(rig_view(scene->rig)->measured[0].over_mib, 6000);
    assert_false(fits(scene, 1, OTHER));
}

/* A pod is met after a sample showed what others have come to use. */
TEST_ON(struct scene *scene, a_pod_that_comes_counts_on_top_of_what_others_use_by_then)
{
    scene->rule.sharing = SL_SHARING_ASKS;
    runs(scene, 4000, SAME);
    (void)judged(scene);
    uses(scene, 30, 3000);
    (void)judged(scene);
    uses(scene, 3, 12000);
    struct sl_pod *pod = runs(scene, 2000, OTHER);
    pod->phase = SL_POD_PENDING; /* for long */
    assert_int_equal(judged(scene).held_mib, 14000);
    uses(scene, 3, 13000);
    assert_int_equal(judged(scene).held_mib, 15000);
    pod->phase = SL_POD_RUNNING;
    (void)judged(scene);
    uses(scene, 3, 15000);
    assert_int_equal(judged(scene).held_mib, 15000);
}

/* Whoever makes pods that never run could make others' use forgotten. */
TEST_ON(struct scene *scene, pods_that_never_used_anything_leave_nothing)
{
    scene->rule.sharing = SL_SHARING_ASKS;
    runs(scene, 4000, SAME);
    (void)judged(scene);
    uses(scene, 25, 15000);
    (void)judged(scene);
    for (int i = 0; i < 4; i++) {
        struct sl_pod *pod = runs(scene, 3000, OTHER);
        pod->phase = SL_POD_PENDING;
        (void)judged(scene);
        uses(scene, 1, 4000);
        (void)judged(scene);
        pod->phase = SL_POD_FAILED;
        (void)judged(scene);
        uses(scene, 1, 4000);
        (void)judged(scene);
    }
    uses(scene, 3, 4000);
    assert_int_equal(judged(scene).over_mib, 11000);
}

/* Nor does one of a few MiB that names a large ask. */
TEST_ON(struct scene *scene, a_pod_that_used_little_leaves_no_more_than_that)
{
    scene->rule.sharing = SL_SHARING_ASKS;
    runs(scene, 4000, SAME);
    (void)judged(scene);
    uses(scene, 25, 14000);
    (void)judged(scene);
    struct sl_pod *pod = runs(scene, 12000, OTHER);
    (void)judged(scene);
    for (int i = 0; i < 5; i++) {
        uses(scene, 1, 14500);
        (void)judged(scene);
    }
    pod->phase = SL_POD_SUCCEEDED;
    (void)judged(scene);
    uses(scene, 3, 4000);
    assert_int_equal(judged(scene).over_mib, 10000);
}

TEST_ON(struct scene *scene, after_a_restart_the_first_sample_counts)
{
    scene->rule.sharing = SL_SHARING_ASKS;
    runs(scene, 4000, SAME);
    (void)judged(scene);
    uses(scene, 1, 12000);
    assert_int_equal(judged(scene).over_mib, 8000);
    assert_int_equal(judged(scene).held_mib, 12000); /* its ask is part of that */
    runs(scene, 2000, OTHER);
    assert_int_equal(judged(scene).held_mib, 14000);
}

/* When a pod has started is the kubelet's word, by a clock that may be behind ours. */
TEST_ON(struct scene *scene, after_a_restart_pods_count_with_their_asks_until_they_are_seen)
{
    scene->rule.sharing = SL_SHARING_CBP;
    runs(scene, 8000, OTHER)->started_us = 1;
    uses(scene, 40, 1000);
    assert_int_equal(judged(scene).room_mib, TOTAL - 1000 - 8000);
    uses(scene, 19, 1000);
    assert_int_equal(judged(scene).room_mib, TOTAL - 1000 - 8000);
    uses(scene, 1, 1000);
    assert_int_equal(judged(scene).room_mib, TOTAL - 1000);
}

/* ---- the window ---- */

/* Nothing is forgotten of those that were there: only what a newcomer may use is not known yet. */
TEST_THAT(a_pod_that_comes_counts_beside_what_is_known_of_the_others)
{
    struct scene *scene = *state;
    learn(scene, SAME, 100);
    runs(scene, 8000, SAME);
    (void)judged(scene);
    uses(scene, 30, 800);
    (void)judged(scene);
    runs(scene, 3000, OTHER);
    (void)judged(scene);
    assert_int_equal(judged(scene).state, SL_SERIES_GOOD);
    assert_int_equal(judged(scene).room_mib, TOTAL - 8000 * 103 / 1000 - 3000);
    runs(scene, 8000, SAME)->phase = SL_POD_PENDING; /* it is there, and has not started */
    assert_int_equal(judged(scene).room_mib, TOTAL - 2 * (8000 * 103 / 1000) - 3000);
}

/* More is used than is expected of those that are there: newcomers come on top of that. */
TEST_ON(struct scene *scene, a_pod_that_comes_counts_beside_what_is_used)
{
    learn(scene, SAME, 100);
    runs(scene, 8000, SAME);
    (void)judged(scene);
    uses(scene, 30, 870);
    (void)judged(scene);
    runs(scene, 3000, OTHER);
    uses(scene, 1, 870);
    assert_int_equal(judged(scene).room_mib, TOTAL - 870 - 3000);
}

/* Published rules take the last samples, from before the newcomer too: it counts with its ask. */
TEST_ON(struct scene *scene, by_published_rules_pods_that_come_count_with_their_asks)
{
    scene->rule.sharing = SL_SHARING_CBP;
    uses(scene, 25, 1000);
    (void)judged(scene);
    runs(scene, 8000, SAME);
    uses(scene, 1, 1000);
    assert_int_equal(judged(scene).room_mib, TOTAL - 1000 - 8000);
    runs(scene, 4000, SAME);
    uses(scene, 1, 1000);
    assert_int_equal(judged(scene).room_mib, TOTAL - 1000 - 12000);
    uses(scene, 18, 1000);
    assert_int_equal(judged(scene).room_mib, TOTAL - 1000 - 12000);
    uses(scene, 1, 1000);
    assert_int_equal(judged(scene).room_mib, TOTAL - 1000 - 4000);
    uses(scene, 1, 1000);
    assert_int_equal(judged(scene).room_mib, TOTAL - 1000);
}

/* Neither is one that says nothing given any, before it was seen. */
TEST_ON(struct scene *scene, by_published_rules_a_silent_newcomer_leaves_nothing)
{
    scene->rule.sharing = SL_SHARING_CBP;
    uses(scene, 25, 1000);
    (void)judged(scene);
    runs(scene, 0, 0);
    uses(scene, 1, 1000);
    assert_int_equal(judged(scene).room_mib, 0);
}

TEST_ON(struct scene *scene, by_published_rules_freed_memory_is_noticed_by_samples_from_after_it)
{
    scene->rule.sharing = SL_SHARING_CBP;
    runs(scene, 8000, SAME);
    runs(scene, 8000, SAME);
    (void)judged(scene);
    uses(scene, 60, 12000);
    assert_int_equal(judged(scene).room_mib, TOTAL - 12000);
    scene->rig->n_pods = 1;
    (void)judged(scene);
    uses(scene, 20, 2000);
    assert_int_equal(judged(scene).room_mib, TOTAL - 2000);
}

TEST_ON(struct scene *scene, mean_load_is_told_with_the_last_memory)
{
    runs(scene, 8000, SAME);
    uses(scene, 3, 1000);
    uses(scene, 1, 1234);
    for (int64_t i = 0; i < 4; i++) {
        const int64_t at_us = (scene->now - i) * SECOND;
        assert_true(sl_series_put(&scene->series, at_us, SL_FIGURE_BUSY, 100 * i));
        assert_true(sl_series_put(&scene->series, at_us, SL_FIGURE_BANDWIDTH, 10 * i));
    }
    struct sl_measured measured = judged(scene);
    assert_int_equal(measured.used_mib, 1234);
    assert_int_equal(measured.busy, 150);
    assert_int_equal(measured.bandwidth, 15);
}

/* As a nomination does that a new leader makes anew. */
TEST_ON(struct scene *scene, a_pod_that_goes_and_comes_back_counts_on)
{
    scene->rule.sharing = SL_SHARING_CBP;
    runs(scene, 12000, SAME)->phase = SL_POD_PENDING;
    for (unsigned there = 3; there-- > 0;) {
        scene->rig->n_pods = there % 2 == 0 ? 1 : 0;
        (void)judged(scene);
    }
    uses(scene, 25, 0);
    assert_int_equal(judged(scene).room_mib, TOTAL - 12000);
}

/* Seconds pass in each of which the GPU is judged, that busy. */
static struct sl_measured is_busy(struct scene *scene, int seconds, int64_t permille)
{
    for (int i = 0; i < seconds; i++) {
        uses(scene, 1, 1000);
        assert_true(
            sl_series_put(&scene->series, (int64_t)scene->now * SECOND, SL_FIGURE_BUSY, permille));
        (void)judged(scene);
    }
    return scene->rig->measured[0];
}

TEST_ON(struct scene *scene, load_is_measured_from_when_all_pods_run)
{
    (void)is_busy(scene, 3, 0);
    struct sl_pod *pod = runs(scene, 8000, SAME);
    pod->phase = SL_POD_PENDING; /* its image is pulled */
    assert_false(is_busy(scene, 25, 0).settled);
    pod->phase = SL_POD_RUNNING;
    assert_false(is_busy(scene, 19, 900).settled);
    assert_true(is_busy(scene, 2, 900).settled);
    assert_int_equal(scene->rig->measured[0].load, 900);
}

/* ---- what is expected ---- */

TEST_ON(struct scene *scene, room_is_never_below_nothing)
{
    learn(scene, SAME, 100);
    runs(scene, 8000, SAME);
    uses(scene, 20, TOTAL + 500);
    assert_int_equal(judged(scene).room_mib, 0);
}

/* Of two former lives the next is higher than all with a chance of one in three. */
TEST_ON(struct scene *scene, the_largest_of_what_pods_could_use_beyond_is_kept_back)
{
    learn(scene, SAME, 99);   /* 101 of 1000 with a fiftieth on top, rounded up */
    learn(scene, OTHER, 499); /* 509 */
    runs(scene, 4000, SAME);
    runs(scene, 4000, OTHER);
    (void)judged(scene);
    uses(scene, 20, 1000);
    struct sl_measured measured = judged(scene);
    assert_int_equal(measured.known[0].permille, 509);
    assert_int_equal(measured.known[1].permille, 101);
    assert_int_equal(measured.room_mib, TOTAL - 4000 * 101 / 1000 - 4000 * 509 / 1000);
    assert_int_equal(measured.reserve_mib, (4000 - 4000 * 101 / 1000) / 3);
    sl_peaks_learn(scene->peaks, sl_peaks_node("node-1"), SAME, 99,
                   99); /* three lives: one in four */
    assert_int_equal(judged(scene).reserve_mib, (4000 - 4000 * 101 / 1000) / 4);
}

/* Only the sum is measured otherwise, and memory that is given back makes its bounds wide. */
TEST_ON(struct scene *scene, what_a_series_tells_of_a_pod_is_learned_as_it_is)
{
    scene->rule.horizon_us = 0;
    runs(scene, 8000, OTHER);
    for (int life = 0; life < 2; life++) {
        struct sl_pod *pod = runs(scene, 8000, SAME);
        const struct sl_usage_names names = {
            .pod = {sl_usage_pod_key(sl_str_of(pod->namespace), sl_str_of(pod->name))},
            .used_mib = {1000},
            .n = 1};
        for (int i = 0; i < 30; i++) {
            uses(scene, 1, i < 25 ? 6000 : 3000);
            sl_usage_tell(rig_view(scene->rig), &names, &scene->unit);
            (void)judged(scene);
        }
        pod->phase = SL_POD_SUCCEEDED;
        (void)judged(scene);
        uses(scene, 3, 2900);
        (void)judged(scene);
    }
    assert_in_range(sl_peaks_expected(scene->peaks, sl_peaks_node("node-1"), SAME, 0).permille, 125,
                    126);
    assert_int_equal(sl_peaks_expected(scene->peaks, sl_peaks_node("node-1"), OTHER, 0).lives,
                     0); /* it lives on */
}

/* Whoever serves the series might lie. */
TEST_ON(struct scene *scene, no_series_tells_a_pod_below_what_it_surely_used)
{
    for (int life = 0; life < 2; life++) {
        struct sl_pod *pod = runs(scene, 8000, SAME);
        const struct sl_usage_names names = {
            .pod = {sl_usage_pod_key(sl_str_of(pod->namespace), sl_str_of(pod->name))},
            .used_mib = {1},
            .n = 1};
        (void)judged(scene);
        for (int i = 0; i < 5; i++) {
            sl_usage_tell(rig_view(scene->rig), &names, &scene->unit);
            uses(scene, 1, 7000);
            (void)judged(scene);
        }
        pod->phase = SL_POD_SUCCEEDED;
        (void)judged(scene);
        uses(scene, 3, 0);
        (void)judged(scene);
    }
    assert_in_range(sl_peaks_expected(scene->peaks, sl_peaks_node("node-1"), SAME, 0).permille, 875,
                    876);
}

/* By a published rule, a dip of a few samples makes nothing free. */
TEST_ON(struct scene *scene, by_published_rules_what_is_held_stays_taken)
{
    scene->rule.sharing = SL_SHARING_CBP;
    runs(scene, 8000, SAME);
    (void)judged(scene);
    uses(scene, 4, 14000);
    (void)judged(scene);
    uses(scene, 18, 9000);
    assert_int_equal(judged(scene).room_mib, TOTAL - 14000);
    uses(scene, 2, 9000);
    assert_int_equal(judged(scene).room_mib, TOTAL - 9000);
}

/* One pod above its ask is nothing of its neighbours', and a context of CUDA is in no ask. */
TEST_ON(struct scene *scene, contexts_of_cuda_void_nothing_that_was_learned)
{
    unsigned n = 0;
    learn(scene, SAME, 250);
    runs(scene, 8000, SAME);
    runs(scene, 1000, OTHER);
    (void)judged(scene);
    uses(scene, 25, 2000 + 1000 + SL_USAGE_CONTEXT_MIB);
    (void)judged(scene);
    (void)sl_past_values(scene->peaks, sl_peaks_key(sl_peaks_node("node-1"), SAME), &n);
    assert_int_equal(n, TAUGHT);
    uses(scene, 3, 6000);
    (void)judged(scene);
    (void)sl_past_values(scene->peaks, sl_peaks_key(sl_peaks_node("node-1"), SAME), &n);
    assert_int_equal(n, 0);
    learn(scene, SAME, 250);
    (void)judged(scene); /* they are as they were: not again */
    (void)sl_past_values(scene->peaks, sl_peaks_key(sl_peaks_node("node-1"), SAME), &n);
    assert_int_equal(n, TAUGHT);
}
