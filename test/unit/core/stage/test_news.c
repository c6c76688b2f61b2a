/* News of pods where many items are waited for: they wait for their namespace's turn, nothing of
 * them is lost, and other namespaces' are taken meanwhile. */
#include "stage_rig.h"

#include "core/stage/internal.h"

enum { WAITERS = 40, ITEMS = 10, PODS = 2000, ROOM = 20000, LOOKS_MAX = 1 << 18 };

static uint64_t looks_of(const struct stage_rig *rig)
{
    struct sl_stages_stats stats;
    sl_stages_stats(rig->stages, &stats);
    return stats.looks;
}

/* A pod waits for ten items, with which each pod that has a=1 is compared. */
static void wait_for_ten(struct stage_rig *rig, const char *prefix, int i, const char *labels)
{
    char after[512] = "";
    char name[32];
    size_t len = 0;
    for (int k = 0; k < ITEMS; k++) {
        len += (size_t)snprintf(after + len, sizeof(after) - len, "%s(a in (1,x%d-%d),b!=1)",
                                k == 0 ? "" : ",", i, k);
    }
    (void)snprintf(name, sizeof(name), "%sw%d", prefix, i);
    stage_rig_wait(rig, name, labels, after);
}

/* Pods of the namespace wait for 400 items. */
static void wait_for_much(struct stage_rig *rig, const char *space)
{
    char prefix[16];
    (void)snprintf(prefix, sizeof(prefix), "%s-", space);
    rig->space = space;
    for (int i = 0; i < WAITERS; i++) {
        wait_for_ten(rig, prefix, i, "");
    }
    stage_rig_read_nothing(rig);
}

static void tell_of_many(struct stage_rig *rig, const char *space)
{
    rig->space = space;
    for (int i = 0; i < PODS; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "p%d", i);
        stage_rig_pod(rig, name, name, "a=1 b=1", "Running");
    }
}

/* Returns whether there is more. */
static bool collect_once(struct stage_rig *rig)
{
    rig->len = 0;
    rig->log[0] = '\0';
    return sl_stages_collect(rig->stages, stage_rig_visit, rig);
}

static void collect_all(struct stage_rig *rig)
{
    for (unsigned rounds = 0; collect_once(rig); rounds++) {
        assert_true(rounds < PODS);
    }
}

static int set_up(void **state)
{
    *state = stage_rig_new(ROOM);
    return 0;
}

TEST_FIXTURE(set_up, stage_rig_tear_down)

TEST_ON(struct stage_rig *rig, news_of_a_crowded_namespace_leave_turns_to_others)
{
    wait_for_much(rig, "greedy");
    wait_for_much(rig, "calm");
    stage_rig_wait(rig, "last", "", "(c=1)");
    stage_rig_read_nothing(rig);
    collect_all(rig);
    uint64_t looks = looks_of(rig);
    tell_of_many(rig, "greedy");
    rig->space = "calm";
    stage_rig_pod(rig, "done", "done", "c=1", "Succeeded");
    assert_int_equal(looks_of(rig), looks); /* whoever tells is not kept waiting */
    assert_true(collect_once(rig));
    assert_in_range(looks_of(rig) - looks, 1, LOOKS_MAX);
    assert_non_null(strstr(rig->log, "last None\n"));
    collect_all(rig);
    assert_true(looks_of(rig) - looks >= (uint64_t)PODS * WAITERS * ITEMS);
}

TEST_ON(struct stage_rig *rig, the_latest_news_of_a_pod_alone_count)
{
    wait_for_much(rig, "ns");
    collect_all(rig);
    uint64_t looks = looks_of(rig);
    for (int i = 0; i < PODS; i++) {
        stage_rig_pod(rig, "p", "p", i % 2 == 0 ? "a=1" : "a=1 b=1",
                      i == PODS - 1 ? "Succeeded" : "Running");
    }
    assert_false(collect_once(rig));
    assert_in_range(looks_of(rig) - looks, 1, 2 * WAITERS * ITEMS);
    assert_string_equal(rig->log, ""); /* b=1: none names it */
}

/* One waits for the pod first, two for its label: it succeeds and is gone while news wait. */
static void succeed_and_go_in_a_crowd(struct stage_rig *rig)
{
    wait_for_much(rig, "ns");
    stage_rig_wait(rig, "one", "", "pod/first");
    stage_rig_wait(rig, "two", "", "(c=1)");
    stage_rig_read_nothing(rig);
    collect_all(rig);
    stage_rig_pod(rig, "first", "first", "c=1", "Succeeded");
    stage_rig_gone(rig, "first");
}

TEST_ON(struct stage_rig *rig, who_succeeded_and_is_gone_before_its_turn_counts)
{
    succeed_and_go_in_a_crowd(rig);
    collect_all(rig);
    assert_non_null(strstr(rig->log, "one None\n"));
    stage_rig_pod(rig, "second", "second", "c=1", "Running"); /* and who came anew, by that */
    stage_rig_gone(rig, "second");
    stage_rig_pod(rig, "second", "third", "c=1", "Failed");
    collect_all(rig);
    assert_non_null(strstr(rig->log, "two StageFailed"));
}

/* As where news do not wait. */
TEST_ON(struct stage_rig *rig, who_succeeded_counts_though_another_of_its_name_came_before_its_turn)
{
    succeed_and_go_in_a_crowd(rig);
    stage_rig_pod(rig, "first", "second", "c=1", "Pending");
    collect_all(rig);
    stage_rig_gone(rig, "first");
    collect_all(rig);
    assert_non_null(strstr(rig->log, "one None\n"));
    assert_non_null(strstr(rig->log, "two None\n"));
}

/* A namespace may have news of three times as many pods as it leaves for others: of more, what they
 * may concern is read. */
TEST_ON(struct stage_rig *rig, news_without_room_are_read_instead)
{
    struct sl_stage_read read;
    wait_for_much(rig, "ns");
    stage_rig_wait(rig, "of-a-job", "", "job/j");
    rig->space = "calm";
    stage_rig_wait(rig, "of-a-pod", "", "p0");
    stage_rig_read_nothing(rig);
    collect_all(rig);
    sl_stages_set_max(rig->stages, (size_t)2 * WAITERS * ITEMS);
    tell_of_many(rig, "ns");
    assert_in_range(rig->stages->n_news, 0, 2 * WAITERS * ITEMS);
    unsigned reads = 0;
    while (sl_stages_next_read(rig->stages, rig->now_us, &read)) {
        assert_true(sl_str_eq(read.namespace, SL_STR("ns")));
        assert_int_not_equal(read.kind, SL_STAGE_JOB);
        sl_stages_read_end(rig->stages, read.id, true, rig->now_us);
        reads++;
    }
    assert_int_equal(reads, WAITERS * ITEMS);
    sl_stages_clear(rig->stages); /* news that wait go with their namespace */
    assert_int_equal(rig->stages->n_news, 0);
    assert_null(rig->stages->news.ring.first);
}

/* Each of the pods behind waits for items that name all of the others and none: a search from one
 * that is named would take millions of looks. */
TEST_ON(struct stage_rig *rig, a_search_for_cycles_is_given_up_in_time)
{
    for (int i = 0; i < 200; i++) {
        wait_for_ten(rig, "", i, "a=1 b=1 group=behind");
    }
    stage_rig_read_nothing(rig);
    collect_all(rig);
    stage_rig_wait(rig, "first", "", "middle");
    stage_rig_wait(rig, "middle", "", "(group=behind)");
    uint64_t looks = looks_of(rig);
    (void)collect_once(rig);
    assert_in_range(looks_of(rig) - looks, 1, LOOKS_MAX);
    stage_rig_wait(rig, "other", "", "other"); /* others' are found in the next round */
    (void)collect_once(rig);
    assert_non_null(strstr(rig->log, "other StageCycle"));
}
