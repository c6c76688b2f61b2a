/* Who waits for whom, and when it ends. */
#include "stage_rig.h"

TEST_FIXTURE(stage_rig_set_up, stage_rig_tear_down)

TEST_ON(struct stage_rig *rig, a_pod_waits_until_another_has_succeeded)
{
    stage_rig_wait(rig, "w", NULL, "pod/a");
    assert_string_equal(stage_rig_collect(rig), "w Stage: it waits for pod/a (not read yet)\n");
    stage_rig_read_nothing(rig);
    assert_string_equal(stage_rig_collect(rig), "w Stage: it waits for pod/a (not there)\n");
    stage_rig_pod(rig, "a", "a-1", NULL, "Pending");
    assert_string_equal(stage_rig_collect(rig), "w Stage: it waits for pod/a (pending)\n");
    stage_rig_pod(rig, "a", "a-1", NULL, "Running");
    assert_string_equal(stage_rig_collect(rig), "w Stage: it waits for pod/a (running)\n");
    stage_rig_pod(rig, "a", "a-1", NULL, "Running");
    assert_string_equal(stage_rig_collect(rig), "");
    stage_rig_pod(rig, "a", "a-1", NULL, "Succeeded");
    assert_string_equal(stage_rig_collect(rig), "w None\n");
}

TEST_ON(struct stage_rig *rig, what_succeeded_counts_when_it_is_gone)
{
    stage_rig_wait(rig, "w", NULL, "a,b");
    stage_rig_read_nothing(rig);
    stage_rig_pod(rig, "a", "a-1", NULL, "Succeeded");
    stage_rig_pod(rig, "b", "b-1", NULL, "Running");
    stage_rig_gone(rig, "a");
    assert_string_equal(stage_rig_collect(rig), "w Stage: it waits for pod/b (running)\n");
    stage_rig_gone(rig, "b");
    assert_string_equal(stage_rig_collect(rig), "w Stage: it waits for pod/b (not there)\n");
    /* made anew it counts as it is now */
    stage_rig_pod(rig, "a", "a-2", NULL, "Running");
    assert_string_equal(stage_rig_collect(rig),
                        "w Stage: it waits for pod/a (running), pod/b (not there)\n");
}

TEST_ON(struct stage_rig *rig, news_of_before_its_end_change_nothing)
{
    stage_rig_wait(rig, "w", NULL, "a");
    stage_rig_read_nothing(rig);
    stage_rig_pod(rig, "a", "a-1", NULL, "Succeeded");
    stage_rig_pod(rig, "a", "a-1", NULL, "Running");
    assert_string_equal(stage_rig_collect(rig), "w None\n");
}

TEST_ON(struct stage_rig *rig, jobs_are_waited_for)
{
    struct sl_stages_stats stats;
    stage_rig_wait(rig, "w", NULL, "job/a");
    stage_rig_read_nothing(rig);
    stage_rig_pod(rig, "a", "a-1", NULL, "Succeeded"); /* a pod, no Job */
    assert_string_equal(stage_rig_collect(rig), "w Stage: it waits for job/a (not there)\n");
    stage_rig_job(rig, "a", "1", SL_POD_RUNNING);
    assert_string_equal(stage_rig_collect(rig), "w Stage: it waits for job/a (running)\n");
    sl_stages_stats(rig->stages, &stats);
    assert_int_equal(stats.jobs, 1);
    stage_rig_job(rig, "a", "1", SL_POD_SUCCEEDED);
    sl_stages_job_gone(rig->stages, SL_STR("ns"), SL_STR("a"));
    assert_string_equal(stage_rig_collect(rig), "w None\n");
}

TEST_ON(struct stage_rig *rig, a_selector_wants_one_at_least_and_all)
{
    stage_rig_wait(rig, "w", NULL, "(app=x)");
    stage_rig_read_nothing(rig);
    stage_rig_pod(rig, "other", "o", "app=y", "Running");
    assert_string_equal(stage_rig_collect(rig),
                        "w Stage: it waits for pods (app=x) (none is there)\n");
    stage_rig_pod(rig, "a", "a", "app=x", "Succeeded");
    stage_rig_pod(rig, "b", "b", "app=x", "Running");
    assert_string_equal(stage_rig_collect(rig),
                        "w Stage: it waits for pods (app=x) (1 of 2 have succeeded)\n");
    stage_rig_pod(rig, "b", "b", "app=x", "Succeeded");
    assert_string_equal(stage_rig_collect(rig), "w None\n");
    stage_rig_gone(rig, "a");
    stage_rig_gone(rig, "b");
    assert_string_equal(stage_rig_collect(rig), "w None\n");
    stage_rig_pod(rig, "c", "c", "app=x", "Running");
    assert_string_equal(stage_rig_collect(rig),
                        "w Stage: it waits for pods (app=x) (0 of 1 have succeeded)\n");
    stage_rig_pod(rig, "c", "c", "app=y", "Running"); /* relabelled */
    assert_string_equal(stage_rig_collect(rig), "w None\n");
}

TEST_ON(struct stage_rig *rig, a_failed_predecessor_fails_who_waits_until_it_is_made_anew)
{
    stage_rig_wait(rig, "w", NULL, "a");
    stage_rig_wait(rig, "x", NULL, "app=x");
    stage_rig_wait(rig, "y", NULL, "job/j");
    stage_rig_read_nothing(rig);
    (void)stage_rig_collect(rig);
    stage_rig_pod(rig, "a", "a-1", NULL, "Failed");
    assert_string_equal(stage_rig_collect(rig),
                        "w StageFailed: pod/a has failed, and sliced.dev/after names it\n");
    stage_rig_pod(rig, "b", "b", "app=x", "Failed");
    stage_rig_pod(rig, "c", "c", "app=x", "Succeeded");
    assert_string_equal(
        stage_rig_collect(rig),
        "x StageFailed: pod/b of pods (app=x) has failed, and sliced.dev/after names it\n");
    stage_rig_job(rig, "j", "1", SL_POD_FAILED);
    assert_string_equal(stage_rig_collect(rig),
                        "y StageFailed: job/j has failed, and sliced.dev/after names it\n");
    stage_rig_gone(rig, "a");
    assert_string_equal(stage_rig_collect(rig), "w Stage: it waits for pod/a (not there)\n");
    stage_rig_pod(rig, "a", "a-2", NULL, "Succeeded");
    assert_string_equal(stage_rig_collect(rig), "w None\n");
}

TEST_ON(struct stage_rig *rig, an_annotation_that_cannot_be_read_is_told)
{
    stage_rig_wait(rig, "w", NULL, "a,,b");
    assert_string_equal(
        stage_rig_collect(rig),
        "w StageFailed: annotation sliced.dev/after: \"\": there is nothing between two commas\n");
    stage_rig_wait(rig, "w", NULL, "a");
    stage_rig_read_nothing(rig);
    assert_string_equal(stage_rig_collect(rig), "w Stage: it waits for pod/a (not there)\n");
}

TEST_ON(struct stage_rig *rig, other_namespaces_do_not_count)
{
    stage_rig_wait(rig, "w", NULL, "a,app=x");
    stage_rig_read_nothing(rig);
    (void)stage_rig_collect(rig);
    struct sl_pod_facts facts = {.namespace = SL_STR("other"),
                                 .name = SL_STR("a"),
                                 .uid = SL_STR("a"),
                                 .phase = SL_STR("Succeeded"),
                                 .labels = facts_pairs(&rig->facts, "app=x")};
    struct sl_pod *pod = sl_pod_new(&facts, NULL);
    sl_stages_pod(rig->stages, pod);
    sl_pod_unref(pod);
    assert_string_equal(stage_rig_collect(rig), "");
}

TEST_ON(struct stage_rig *rig, long_lists_are_told_in_short)
{
    stage_rig_wait(rig, "w", NULL, "a,b,c,d,e");
    stage_rig_read_nothing(rig);
    assert_string_equal(stage_rig_collect(rig),
                        "w Stage: it waits for pod/a (not there), pod/b (not there), pod/c (not "
                        "there) and 2 more\n");
}

/* ---- cycles ---- */

TEST_ON(struct stage_rig *rig, who_waits_for_each_other_is_told_so)
{
    stage_rig_wait(rig, "a", NULL, "b");
    stage_rig_read_nothing(rig);
    stage_rig_wait(rig, "b", NULL, "app=c");
    stage_rig_read_nothing(rig);
    stage_rig_wait(rig, "w", NULL, "a"); /* outside: it waits */
    stage_rig_read_nothing(rig);
    (void)stage_rig_collect(rig);
    stage_rig_wait(rig, "c", "app=c", "pod/a");
    stage_rig_read_nothing(rig);
    const char *log = stage_rig_collect(rig);
    static const char *const whys[] = {
        "a StageCycle: annotations sliced.dev/after form a cycle: pod/c after pod/a after pod/b "
        "after pod/c\n",
        "b StageCycle: annotations sliced.dev/after form a cycle: pod/c after pod/a after pod/b "
        "after pod/c\n",
        "c StageCycle: annotations sliced.dev/after form a cycle: pod/c after pod/a after pod/b "
        "after pod/c\n",
    };
    for (size_t i = 0; i < 3; i++) {
        assert_non_null(strstr(log, whys[i]));
    }
    assert_null(strstr(log, "w Stage"));
    /* one of them gives way */
    sl_stages_remove(rig->stages, SL_STR("c"));
    log = stage_rig_collect(rig);
    assert_non_null(strstr(log, "a Stage: it waits for pod/b (pending)\n"));
    assert_non_null(strstr(log, "b Stage: it waits for pods (app=c) (0 of 1 have succeeded)\n"));
}

/* It waits for another first, which is no part of the cycle. */
TEST_ON(struct stage_rig *rig, a_cycle_is_told_without_those_beside_it)
{
    stage_rig_wait(rig, "beside", NULL, "gone");
    stage_rig_wait(rig, "second", NULL, "first");
    stage_rig_wait(rig, "first", NULL, "beside,second");
    stage_rig_read_nothing(rig);
    const char *log = stage_rig_collect(rig);
    assert_non_null(strstr(log, "first StageCycle: annotations sliced.dev/after form a cycle: "
                                "pod/first after pod/second after pod/first\n"));
    assert_null(strstr(log, "beside StageCycle"));
}

TEST_ON(struct stage_rig *rig, a_pod_that_names_itself_is_a_cycle)
{
    stage_rig_wait(rig, "a", "app=x", "app=x");
    assert_string_equal(
        stage_rig_collect(rig),
        "a StageCycle: annotations sliced.dev/after form a cycle: pod/a after pod/a\n");
}

TEST_ON(struct stage_rig *rig, a_pod_of_the_job_that_it_waits_for_is_a_cycle)
{
    stage_rig_wait(rig, "train-x1", "batch.kubernetes.io/job-name=train", "job/prepare");
    stage_rig_wait(rig, "prepare-x1", "job-name=prepare", "job/train");
    const char *log = stage_rig_collect(rig);
    assert_non_null(strstr(log, "train-x1 StageCycle: "));
    assert_non_null(strstr(log, "prepare-x1 StageCycle: "));
}

TEST_ON(struct stage_rig *rig, the_annotation_may_be_mended)
{
    stage_rig_wait(rig, "a", NULL, "b");
    stage_rig_wait(rig, "b", NULL, "a");
    stage_rig_read_nothing(rig);
    (void)stage_rig_collect(rig);
    stage_rig_wait(rig, "b", NULL, "c");
    stage_rig_read_nothing(rig);
    const char *log = stage_rig_collect(rig);
    assert_non_null(strstr(log, "a Stage: it waits for pod/b (pending)\n"));
    assert_non_null(strstr(log, "b Stage: it waits for pod/c (not there)\n"));
}

/* Whoever has thousands of pods in cycles must not have a search made for each that comes or goes.
 */
TEST_ON(struct stage_rig *rig, cycles_are_looked_for_once_for_many_changes)
{
    enum { RING = 200, GO = 50 };
    struct sl_stages_stats before;
    struct sl_stages_stats after;
    for (int i = 0; i < RING; i++) {
        char name[16];
        char labels[16];
        char wanted[32];
        (void)snprintf(name, sizeof(name), "w%d", i);
        (void)snprintf(labels, sizeof(labels), "x=%d", i);
        (void)snprintf(wanted, sizeof(wanted), "x in (%d,%d)", (i + 1) % RING, (i + 7) % RING);
        stage_rig_wait(rig, name, labels, wanted);
    }
    stage_rig_read_nothing(rig);
    assert_non_null(strstr(stage_rig_collect(rig), " StageCycle"));
    sl_stages_stats(rig->stages, &before);
    for (int i = 0; i < GO; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "w%d", 2 * i);
        sl_stages_remove(rig->stages, sl_str_of(name));
    }
    sl_stages_stats(rig->stages, &after);
    assert_int_equal(after.looks, before.looks);
    assert_true(sl_stages_changed(rig->stages));
    (void)stage_rig_collect(rig);
}

/* ---- readings ---- */

static struct sl_stage_read next_read(struct stage_rig *rig)
{
    struct sl_stage_read read;
    assert_true(sl_stages_next_read(rig->stages, rig->now_us, &read));
    return read;
}

static void found(struct stage_rig *rig, uint64_t id, const char *name, const char *labels,
                  const char *phase)
{
    struct sl_pod *pod = stage_rig_make(rig, name, name, labels, NULL, phase);
    sl_stages_read_pod(rig->stages, id, pod);
    sl_pod_unref(pod);
}

TEST_ON(struct stage_rig *rig, what_is_there_already_is_read)
{
    stage_rig_wait(rig, "w", NULL, "app=x");
    struct sl_stage_read read = next_read(rig);
    assert_int_equal(read.kind, SL_STAGE_SELECTOR);
    assert_true(sl_str_eq(read.namespace, SL_STR("ns")));
    assert_true(sl_str_eq(read.text, SL_STR("app=x")));
    found(rig, read.id, "a", "app=x", "Succeeded");
    found(rig, read.id, "b", "app=y", "Failed"); /* the server said too much */
    sl_stages_read_end(rig->stages, read.id, true, rig->now_us);
    assert_string_equal(stage_rig_collect(rig), "w None\n");
    assert_false(sl_stages_next_read(rig->stages, rig->now_us, &read));
}

TEST_ON(struct stage_rig *rig, a_reading_that_failed_is_made_again)
{
    stage_rig_wait(rig, "w", NULL, "a");
    struct sl_stage_read read = next_read(rig);
    sl_stages_read_end(rig->stages, read.id, false, rig->now_us);
    assert_string_equal(stage_rig_collect(rig), "w Stage: it waits for pod/a (not read yet)\n");
    uint64_t first = read.id;
    assert_false(sl_stages_next_read(rig->stages, rig->now_us, &read));
    rig->now_us += 1000000;
    read = next_read(rig);
    assert_int_not_equal(read.id, first);
    sl_stages_read_end(rig->stages, first, true, rig->now_us); /* over */
    assert_string_equal(stage_rig_collect(rig), "");
    sl_stages_read_end(rig->stages, read.id, true, rig->now_us);
    assert_string_equal(stage_rig_collect(rig), "w Stage: it waits for pod/a (not there)\n");
}

TEST_ON(struct stage_rig *rig, a_reading_does_not_bring_back_what_was_deleted_meanwhile)
{
    stage_rig_wait(rig, "w", NULL, "app=x");
    struct sl_stage_read read = next_read(rig);
    stage_rig_gone(rig, "a");
    stage_rig_pod(rig, "b", "b", "app=x", "Succeeded");
    found(rig, read.id, "a", "app=x", "Running");
    found(rig, read.id, "b", "app=x", "Running");
    sl_stages_read_end(rig->stages, read.id, true, rig->now_us);
    assert_string_equal(stage_rig_collect(rig), "w None\n");
}

TEST_ON(struct stage_rig *rig, after_a_new_list_what_is_gone_is_noticed)
{
    stage_rig_wait(rig, "w", NULL, "app=x,a");
    stage_rig_read_nothing(rig);
    stage_rig_pod(rig, "a", "a", "app=x", "Running");
    stage_rig_pod(rig, "b", "b", "app=x", "Succeeded");
    (void)stage_rig_collect(rig);
    sl_stages_reread(rig->stages, true); /* of Jobs: none */
    struct sl_stage_read read;
    assert_false(sl_stages_next_read(rig->stages, rig->now_us, &read));
    sl_stages_reread(rig->stages, false);
    read = next_read(rig);
    found(rig, read.id, "b", "app=x", "Succeeded");
    sl_stages_reread(rig->stages, false); /* while it is read: once more */
    sl_stages_read_end(rig->stages, read.id, true, rig->now_us);
    read = next_read(rig);
    sl_stages_read_end(rig->stages, read.id, true, rig->now_us);
    read = next_read(rig);
    sl_stages_read_end(rig->stages, read.id, true, rig->now_us);
    assert_false(sl_stages_next_read(rig->stages, rig->now_us, &read));
    assert_string_equal(stage_rig_collect(rig), "w Stage: it waits for pod/a (not there)\n");
}

TEST_ON(struct stage_rig *rig, only_some_are_read_at_a_time)
{
    struct sl_stage_read read;
    stage_rig_wait(rig, "w", NULL, "a,b,c,d,e,f,g,h,i,j");
    int n = 0;
    while (sl_stages_next_read(rig->stages, rig->now_us, &read)) {
        n++;
    }
    assert_int_equal(n, SL_STAGE_READS_MAX / 2); /* the others are for other namespaces */
    sl_stages_remove(rig->stages, SL_STR("w"));  /* nobody wants to know any more */
    sl_stages_read_end(rig->stages, read.id, true, rig->now_us);
    struct sl_stages_stats stats;
    sl_stages_stats(rig->stages, &stats);
    assert_int_equal(stats.targets, 0);
    assert_int_equal(stats.records, 0);
}

/* The watch may have missed the end of the one before. */
TEST_ON(struct stage_rig *rig, a_pod_made_anew_under_its_name_counts_as_what_it_is_now)
{
    static const char *const before[] = {"Failed", "Succeeded"};
    for (int i = 0; i < 2; i++) {
        const char *after = i == 0 ? "app=x" : "app=y";
        const char *name = i == 0 ? "x" : "y";
        char expected[96];
        stage_rig_wait(rig, "w", NULL, after);
        stage_rig_read_nothing(rig);
        char label[16];
        (void)snprintf(label, sizeof(label), "app=%s", name);
        stage_rig_pod(rig, name, "1", label, before[i]);
        (void)stage_rig_collect(rig);
        stage_rig_pod(rig, name, "2", label, "Running");
        (void)snprintf(expected, sizeof(expected),
                       "w Stage: it waits for pods (%s) (0 of 1 have succeeded)\n", label);
        assert_string_equal(stage_rig_collect(rig), expected);
        stage_rig_pod(rig, name, "2", label, "Succeeded");
        assert_string_equal(stage_rig_collect(rig), "w None\n");
        sl_stages_remove(rig->stages, SL_STR("w"));
    }
}

/* ---- bounds ---- */

TEST_ON(struct stage_rig *rig, what_there_is_no_room_for_holds_and_is_looked_at_when_there_is)
{
    struct sl_stages_stats stats;
    sl_stages_set_max(rig->stages, 2);
    stage_rig_wait(rig, "v", NULL, "a,b");
    stage_rig_wait(rig, "w", NULL, "c");
    stage_rig_read_nothing(rig);
    const char *log = stage_rig_collect(rig);
    assert_non_null(strstr(log, "w Stage: it waits for what sliced.dev/after names, for which "
                                "queue.maxPredecessors leaves its namespace no room\n"));
    sl_stages_stats(rig->stages, &stats);
    assert_int_equal(stats.targets, 2);
    assert_true(stats.refused > 0);
    sl_stages_remove(rig->stages, SL_STR("v"));
    assert_true(sl_stages_changed(rig->stages));
    assert_string_equal(stage_rig_collect(rig), "w Stage: it waits for pod/c (not read yet)\n");
}

TEST_ON(struct stage_rig *rig, who_had_no_room_is_looked_at_when_the_configuration_leaves_more)
{
    sl_stages_set_max(rig->stages, 1);
    stage_rig_wait(rig, "v", NULL, "a");
    stage_rig_wait(rig, "w", NULL, "b");
    (void)stage_rig_collect(rig);
    assert_false(sl_stages_changed(rig->stages));
    sl_stages_set_max(rig->stages, 8);
    assert_true(sl_stages_changed(rig->stages));
    assert_string_equal(stage_rig_collect(rig), "w Stage: it waits for pod/b (not read yet)\n");
}

/* However much one namespace asks for, others have room for theirs; and nothing is looked at again
 * and again for who has had its share. */
TEST_ON(struct stage_rig *rig, one_namespace_leaves_room_for_others)
{
    char name[32];
    char after[32];
    sl_stages_set_max(rig->stages, 100);
    for (int i = 0; i < 400; i++) {
        (void)snprintf(name, sizeof(name), "w%d", i);
        (void)snprintf(after, sizeof(after), "x%d", i);
        stage_rig_wait(rig, name, NULL, after);
    }
    (void)stage_rig_collect(rig);
    assert_false(sl_stages_changed(rig->stages));
    struct sl_stages_stats stats;
    sl_stages_stats(rig->stages, &stats);
    assert_in_range(stats.targets, 70, 78);
    rig->space = "others";
    stage_rig_wait(rig, "o", NULL, "a,b,c,d,e");
    assert_non_null(strstr(stage_rig_collect(rig), "o Stage: it waits for pod/a (not read yet)"));
    sl_stages_remove(rig->stages, SL_STR("w0")); /* who goes makes room for one */
    assert_true(sl_stages_changed(rig->stages));
    uint64_t refused = stats.refused;
    (void)stage_rig_collect(rig);
    assert_false(sl_stages_changed(rig->stages));
    sl_stages_stats(rig->stages, &stats);
    assert_in_range(stats.refused - refused, 0, 3);
}

TEST_ON(struct stage_rig *rig, a_selector_with_too_many_pods_holds)
{
    sl_stages_set_max(rig->stages, 16);
    stage_rig_wait(rig, "w", NULL, "app=x");
    stage_rig_read_nothing(rig);
    for (int i = 0; i < 16; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "p%d", i);
        stage_rig_pod(rig, name, name, "app=x", "Succeeded");
    }
    assert_string_equal(stage_rig_collect(rig),
                        "w Stage: it waits for pods (app=x) (more than queue.maxPredecessors "
                        "leaves its namespace room for)\n");
    struct sl_stages_stats stats;
    sl_stages_stats(rig->stages, &stats);
    assert_in_range(stats.refused, 1, 16);
    struct sl_stage_read read;
    assert_false(sl_stages_next_read(rig->stages, rig->now_us, &read)); /* no room yet */
    for (int i = 0; i < 5; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "p%d", i);
        stage_rig_gone(rig, name);
    }
    read = next_read(rig);
    for (int i = 5; i < 16; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "p%d", i);
        found(rig, read.id, name, "app=x", "Succeeded");
    }
    sl_stages_read_end(rig->stages, read.id, true, rig->now_us);
    assert_string_equal(stage_rig_collect(rig), "w None\n");
}

/* How many looks it takes until n pods wait, each for another by a selector, are told of once more,
 * and are gone. */
static uint64_t looks_for(unsigned n, const char *before, const char *behind)
{
    struct stage_rig *rig = stage_rig_new(100000);
    struct sl_stages_stats stats;
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < n; i++) {
            char name[16];
            char labels[64];
            char text[96];
            (void)snprintf(name, sizeof(name), "p%u", i);
            (void)snprintf(labels, sizeof(labels), "app=train step=%u", i + 1);
            (void)snprintf(text, sizeof(text), "%s%u%s", before, (i + 1) / 2, behind);
            struct sl_pod *pod = stage_rig_make(rig, name, name, labels, text, "Pending");
            if (round < 2) {
                sl_stages_pod(rig->stages, pod);
                assert_int_equal(sl_stages_put(rig->stages, pod, NULL), 0);
            } else {
                sl_stages_pod_gone(rig->stages, SL_STR("ns"), sl_str_of(name));
                sl_stages_remove(rig->stages, sl_str_of(name));
            }
            sl_pod_unref(pod);
        }
    }
    sl_stages_stats(rig->stages, &stats);
    stage_rig_free(rig);
    return stats.looks;
}

TEST_THAT(pods_with_a_selector_each_are_not_all_looked_at_for_each_other)
{
    static const char *const after[][2] = {{"step=", ""},
                                           {"(app=train,step=", ")"},
                                           {"(app,step in (", ",y))"},
                                           {"(step,step!=0,step=", ")"}};
    for (size_t i = 0; i < sizeof(after) / sizeof(after[0]); i++) {
        uint64_t looks = looks_for(2000, after[i][0], after[i][1]);
        if (looks > 100000) {
            fail_msg("%s1%s: %llu looks for 2,000 pods", after[i][0], after[i][1],
                     (unsigned long long)looks);
        }
    }
}

/* How many looks one search for cycles takes from a pod whose selector n others meet. */
static uint64_t looks_of_search(unsigned n)
{
    struct stage_rig *rig = stage_rig_new(100000);
    struct sl_stages_stats before;
    struct sl_stages_stats after;
    for (unsigned i = 0; i < n; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "p%u", i);
        stage_rig_wait(rig, name, "app=x", "z");
    }
    stage_rig_wait(rig, "v", NULL, "w");
    (void)stage_rig_collect(rig);
    stage_rig_wait(rig, "w", NULL, "app=x");
    sl_stages_stats(rig->stages, &before);
    (void)stage_rig_collect(rig);
    sl_stages_stats(rig->stages, &after);
    stage_rig_free(rig);
    return after.looks - before.looks;
}

/* The looks bound how long a search for cycles may take. */
TEST_THAT(each_pod_that_a_search_comes_by_is_a_look)
{
    assert_true(looks_of_search(100) >= looks_of_search(10) + 90);
    assert_true(looks_of_search(100) <= looks_of_search(10) + 180);
}

TEST_ON(struct stage_rig *rig, nothing_is_left_when_nobody_waits)
{
    struct sl_stages_stats stats;
    stage_rig_wait(rig, "v", NULL, "a,job/b,app=x");
    stage_rig_wait(rig, "w", "app=x", "v");
    stage_rig_pod(rig, "a", "a", NULL, "Running");
    sl_stages_stats(rig->stages, &stats);
    assert_int_equal(stats.waiters, 2);
    assert_int_equal(stats.targets, 4);
    stage_rig_wait(rig, "v", NULL, NULL); /* the annotation was taken off */
    sl_stages_clear(rig->stages);
    sl_stages_stats(rig->stages, &stats);
    assert_int_equal(stats.waiters + stats.targets + stats.records + stats.jobs, 0);
    assert_string_equal(stage_rig_collect(rig), "");
}

TEST_ON(struct stage_rig *rig, with_more_room_those_are_read_for_whom_there_was_none)
{
    struct sl_stages_stats stats;
    sl_stages_set_max(rig->stages, 4);
    for (unsigned i = 0; i < 6; i++) {
        char name[] = "w0";
        char after[] = "p0";
        name[1] = after[1] = (char)('0' + i);
        stage_rig_wait(rig, name, "", after);
    }
    (void)stage_rig_collect(rig);
    sl_stages_stats(rig->stages, &stats);
    assert_in_range(stats.targets, 1, 4);
    assert_true(stats.refused > 0);
    sl_stages_set_max(rig->stages, 1000);
    assert_true(sl_stages_changed(rig->stages));
    (void)stage_rig_collect(rig);
    sl_stages_stats(rig->stages, &stats);
    assert_int_equal(stats.targets, 6);
}
