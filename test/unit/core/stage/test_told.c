/* Stages: a change is told once and to whom it concerns; what a reading finds counts unless a watch
 * knows better. */
#include "stage_rig.h"

static void put(struct stage_rig *rig, const char *name, const char *uid, const char *after)
{
    struct sl_pod *pod = stage_rig_make(rig, name, uid, NULL, after, "Pending");
    assert_int_equal(sl_stages_put(rig->stages, pod, NULL), 0);
    sl_pod_unref(pod);
}

static struct sl_stages_stats stats_of(const struct stage_rig *rig)
{
    struct sl_stages_stats stats;
    sl_stages_stats(rig->stages, &stats);
    return stats;
}

TEST_FIXTURE(stage_rig_set_up, stage_rig_tear_down)

TEST_ON(struct stage_rig *rig, pod_that_has_not_changed_is_not_told_of_again)
{
    put(rig, "w", "w", "a");
    assert_string_equal(stage_rig_collect(rig), "w Stage: it waits for pod/a (not read yet)\n");
    put(rig, "w", "w", "a");
    assert_string_equal(stage_rig_collect(rig), "");
    put(rig, "w", "w", "b");
    assert_string_equal(stage_rig_collect(rig), "w Stage: it waits for pod/b (not read yet)\n");
}

TEST_ON(struct stage_rig *rig, uid_of_another_name_is_another_pod)
{
    put(rig, "x", "x", "w");
    put(rig, "v", "u", "x");
    assert_null(strstr(stage_rig_collect(rig), "Cycle"));
    put(rig, "w", "u", "x");
    assert_non_null(strstr(stage_rig_collect(rig), "u StageCycle"));
    assert_int_equal(stats_of(rig).waiters, 2);
    put(rig, "v", "u", "x");
    assert_non_null(strstr(stage_rig_collect(rig), "x Stage: it waits for pod/w"));
}

TEST_ON(struct stage_rig *rig, first_by_name_of_the_failed_pods_is_named)
{
    static const char *const names[] = {"m", "z", "d", "q", "c", "x", "f"};
    put(rig, "w", "w", "(app=x)");
    (void)stage_rig_collect(rig);
    for (unsigned i = 0; i < 7; i++) {
        stage_rig_pod(rig, names[i], names[i], "app=x", "Failed");
    }
    assert_string_equal(
        stage_rig_collect(rig),
        "w StageFailed: pod/c of pods (app=x) has failed, and sliced.dev/after names it\n");
}

TEST_ON(struct stage_rig *rig, malformed_pod_is_told_of_once_whatever_others_do)
{
    put(rig, "m", "m", "a,,b");
    put(rig, "c", "c", "d");
    put(rig, "d", "d", "c");
    assert_non_null(strstr(stage_rig_collect(rig), "m StageFailed: annotation sliced.dev/after"));
    sl_stages_remove(rig->stages, SL_STR("d"));
    assert_string_equal(stage_rig_collect(rig), "c Stage: it waits for pod/d (not read yet)\n");
    put(rig, "m", "m", "a");
    assert_string_equal(stage_rig_collect(rig), "m Stage: it waits for pod/a (not read yet)\n");
    for (int i = 0; i < 2; i++) {
        put(rig, "m", "m", i == 0 ? "a,,b" : "(");
        assert_non_null(
            strstr(stage_rig_collect(rig), "m StageFailed: annotation sliced.dev/after"));
        assert_int_equal(stats_of(rig).targets, 1); /* d */
    }
    put(rig, "m", "m", "b");
    assert_string_equal(stage_rig_collect(rig), "m Stage: it waits for pod/b (not read yet)\n");
}

TEST_ON(struct stage_rig *rig, cycles_are_told_again_only_when_one_was_broken)
{
    put(rig, "a", "a", "b");
    put(rig, "b", "b", "a");
    put(rig, "c", "c", "d");
    put(rig, "d", "d", "c");
    (void)stage_rig_collect(rig);
    put(rig, "b", "b", "x");
    assert_non_null(strstr(stage_rig_collect(rig), "a Stage: it waits for pod/b"));
    put(rig, "y", "y", "x");
    assert_string_equal(stage_rig_collect(rig), "y Stage: it waits for pod/x (not read yet)\n");
}

TEST_ON(struct stage_rig *rig, cycles_are_found_in_every_namespace)
{
    char space[16];
    rig->space = space;
    for (unsigned i = 0; i < 100; i++) {
        (void)snprintf(space, sizeof(space), "ns%u", i);
        put(rig, "w", space, "w");
        assert_non_null(strstr(stage_rig_collect(rig), "StageCycle"));
    }
    rig->space = NULL;
}

TEST_ON(struct stage_rig *rig, waiter_that_found_no_room_is_in_a_cycle_once_it_has)
{
    sl_stages_set_max(rig->stages, 2);
    put(rig, "v", "v", "a,b");
    put(rig, "w", "w", "w");
    assert_non_null(strstr(stage_rig_collect(rig), "w Stage: it waits for what"));
    sl_stages_remove(rig->stages, SL_STR("v"));
    assert_non_null(strstr(stage_rig_collect(rig), "w StageCycle"));
}

TEST_ON(struct stage_rig *rig, room_is_of_no_use_when_nobody_lacks_it)
{
    sl_stages_set_max(rig->stages, 2);
    put(rig, "v", "v", "a,b");
    put(rig, "w", "w", "c");
    (void)stage_rig_collect(rig);
    sl_stages_remove(rig->stages, SL_STR("v"));
    assert_true(sl_stages_changed(rig->stages)); /* w may have it */
    sl_stages_remove(rig->stages, SL_STR("w"));
    assert_false(sl_stages_changed(rig->stages));
    put(rig, "v", "v", "a,b");
    put(rig, "w", "w", "c");
    (void)stage_rig_collect(rig);
    put(rig, "w", "w", "c,,d"); /* malformed: it asks for no room */
    (void)stage_rig_collect(rig);
    sl_stages_remove(rig->stages, SL_STR("v"));
    assert_false(sl_stages_changed(rig->stages));
}

TEST_ON(struct stage_rig *rig, one_pod_without_room_holds_and_is_read_when_there_is)
{
    struct sl_stage_read read;
    char name[16];
    unsigned n = 0;
    sl_stages_set_max(rig->stages, 16);
    stage_rig_wait(rig, "w", NULL, "app=x");
    stage_rig_read_nothing(rig);
    for (; stats_of(rig).refused == 0; n++) {
        assert_null(strstr(stage_rig_collect(rig), "more than"));
        (void)snprintf(name, sizeof(name), "p%u", n);
        stage_rig_pod(rig, name, name, "app=x", "Succeeded");
    }
    assert_non_null(strstr(stage_rig_collect(rig), "w Stage: it waits for pods (app=x) (more"));
    for (unsigned i = 0; i + 1 < n; i++) {
        (void)snprintf(name, sizeof(name), "p%u", i);
        stage_rig_gone(rig, name);
    }
    assert_true(sl_stages_next_read(rig->stages, rig->now_us, &read));
}

/* ---- readings ---- */

static struct sl_stage_read begin(struct stage_rig *rig)
{
    struct sl_stage_read read;
    assert_true(sl_stages_next_read(rig->stages, rig->now_us, &read));
    return read;
}

TEST_ON(struct stage_rig *rig, reading_of_a_job_finds_that_job_only)
{
    struct sl_str uid = SL_STR("1");
    put(rig, "w", "w", "job/j");
    struct sl_stage_read read = begin(rig);
    assert_int_equal(read.kind, SL_STAGE_JOB);
    struct sl_pod *pod = stage_rig_make(rig, "j", "j", NULL, NULL, "Running");
    sl_stages_read_pod(rig->stages, read.id, pod);
    sl_pod_unref(pod);
    sl_stages_read_job(rig->stages, read.id, SL_STR("i"), uid, SL_POD_RUNNING);
    sl_stages_read_job(rig->stages, read.id + 1, SL_STR("j"), uid, SL_POD_RUNNING);
    assert_int_equal(stats_of(rig).records, 0);
    sl_stages_read_job(rig->stages, read.id, SL_STR("j"), uid, SL_POD_RUNNING);
    assert_int_equal(stats_of(rig).records, 1);
    sl_stages_read_end(rig->stages, read.id, true, rig->now_us);
    assert_string_equal(stage_rig_collect(rig), "w Stage: it waits for job/j (running)\n");
}

TEST_ON(struct stage_rig *rig, reading_of_pods_finds_no_job)
{
    put(rig, "w", "w", "pod/j");
    struct sl_stage_read read = begin(rig);
    sl_stages_read_job(rig->stages, read.id, SL_STR("j"), SL_STR("1"), SL_POD_SUCCEEDED);
    assert_int_equal(stats_of(rig).records, 0);
}

TEST_ON(struct stage_rig *rig, reading_does_not_bring_back_what_was_deleted_meanwhile)
{
    put(rig, "w", "w", "pod/a");
    put(rig, "v", "v", "job/j");
    for (int i = 0; i < 2; i++) {
        struct sl_stage_read read = begin(rig);
        struct sl_pod *pod = stage_rig_make(rig, "a", "a", NULL, NULL, "Succeeded");
        stage_rig_gone(rig, "a");
        sl_stages_job_gone(rig->stages, SL_STR("ns"), SL_STR("j"));
        sl_stages_read_pod(rig->stages, read.id, pod);
        sl_stages_read_job(rig->stages, read.id, SL_STR("j"), SL_STR("1"), SL_POD_SUCCEEDED);
        sl_stages_read_end(rig->stages, read.id, true, rig->now_us);
        sl_pod_unref(pod);
        assert_int_equal(stats_of(rig).records, 0);
    }
    assert_null(strstr(stage_rig_collect(rig), "None"));
}

/* ---- work ---- */

/* An item is compared with a pod only when it is filed under one of its labels, or under none. */
TEST_ON(struct stage_rig *rig, looks_are_at_items_that_ask_for_a_label_of_the_pod)
{
    put(rig, "u", "u", "a=1");
    put(rig, "v", "v", "b in (1,2)");
    put(rig, "w", "w", "a!=1");
    (void)stage_rig_collect(rig);
    uint64_t looks = stats_of(rig).looks;
    stage_rig_pod(rig, "p", "p", "a=2", "Running");
    assert_int_equal(stats_of(rig).looks - looks, 1); /* at a!=1 */
    looks = stats_of(rig).looks;
    stage_rig_pod(rig, "q", "q", "a=1 b=2", "Running");
    assert_int_equal(stats_of(rig).looks - looks, 3);
    looks = stats_of(rig).looks;
    stage_rig_pod(rig, "q", "q", "a=1 b=2", "Running"); /* and at the two that it is noted for */
    assert_int_equal(stats_of(rig).looks - looks, 5);
}

TEST_ON(struct stage_rig *rig, search_for_a_cycle_looks_at_each_item_once)
{
    put(rig, "a", "a", "b");
    put(rig, "b", "b", "c");
    put(rig, "c", "c", "a");
    (void)stage_rig_collect(rig);
    assert_int_equal(stats_of(rig).looks, 3);
}

/* Whatever is reported: what has no room in a key is nobody's name. */
TEST_THAT(names_of_any_length_are_looked_up)
{
    enum { LONGEST = 2100 };
    struct stage_rig *rig = stage_rig_new(10);
    char *name = malloc(LONGEST);
    assert_non_null(name);
    memset(name, 'a', LONGEST);
    stage_rig_wait(rig, "w", NULL, "a, job/a");
    for (size_t len = 1990; len <= LONGEST; len++) {
        sl_stages_pod_gone(rig->stages, SL_STR("ns"), (struct sl_str){name, len});
        sl_stages_job_gone(rig->stages, SL_STR("ns"), (struct sl_str){name, len});
    }
    assert_non_null(strstr(stage_rig_collect(rig), "w Stage: it waits for pod/a"));
    free(name);
    stage_rig_free(rig);
}
