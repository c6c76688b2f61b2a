/* Nominations: what they hold, what bind makes of them, and what ends them. And what the queue
 * hears. */
#include "unit/cluster/fixture.h"

#define FIRST  SLICE "=0/0"
#define FOURTH SLICE "=0/3"
#define FIFTH  SLICE "=1/0"

static enum sl_bind_code nomination(struct sl_store *store, const char *uid, const char *node,
                                    const char *assignment, struct sl_bind_result *result)
{
    sl_store_nominate(store, sl_str_of(uid), sl_str_of(node), sl_str_of(assignment), result);
    return result->code;
}

static void nomination_fourth(struct sl_store *store)
{
    struct sl_bind_result result;
    assert_int_equal(nomination(store, "u-a", "gpu-1", FOURTH, &result), SL_BIND_RESERVED);
}

struct counts {
    size_t waiting, bound, reserved, nominated;
};

static void expect_counts(struct sl_store *store, struct counts expected)
{
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    assert_int_equal(snapshot->n_waiting, expected.waiting);
    assert_int_equal(snapshot->n_bound, expected.bound);
    assert_int_equal(snapshot->n_reserved, expected.reserved);
    assert_int_equal(snapshot->n_nominated, expected.nominated);
    sl_store_release(store, snapshot);
}

static void expect_no_nomination(struct sl_store *store, const char *uid)
{
    char node[64] = "untouched";
    assert_false(sl_store_nominated_node(store, sl_str_of(uid), node, sizeof(node)));
    assert_string_equal(node, "untouched");
    assert_false(sl_store_withdraw(store, sl_str_of(uid)));
}

TEST_FIXTURE(setup_slices, teardown)

TEST_ON(struct sl_store *store, a_nomination_shows_as_a_resident_of_a_pod_that_still_waits)
{
    struct sl_bind_result result;
    char node[64];
    assert_int_equal(nomination(store, "u-a", "gpu-1", FOURTH, &result), SL_BIND_RESERVED);
    assert_string_equal(result.assignment, FOURTH);
    assert_string_equal(result.text, "");
    assert_int_equal(free_now(store, "gpu-1", SLICE), 7);
    expect_counts(store, (struct counts){.waiting = 2, .nominated = 1});
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    const struct sl_view *view = view_at(snapshot, "gpu-1");
    assert_int_equal(view->n_residents, 1);
    assert_string_equal(view->resident[0].pod->uid, "u-a");
    assert_string_equal(view->resident[0].pod->assignment, FOURTH);
    assert_false(view->resident[0].assumed);
    assert_int_equal(snapshot->demand.row[0].weight, 2);
    sl_store_release(store, snapshot);
    assert_true(sl_store_nominated_node(store, SL_STR("u-a"), node, sizeof(node)));
    assert_string_equal(node, "gpu-1");
    struct sl_pod *pod = sl_store_pod(store, SL_STR("default"), SL_STR("a"));
    assert_null(pod->node);
    sl_pod_unref(pod);
}

TEST_ON(struct sl_store *store, what_is_nominated_nobody_else_is_given)
{
    nomination_fourth(store);
    assert_int_equal(reserve_code(store, "b", "u-b", "gpu-1"), SL_BIND_NO_ROOM);
    put_pod(store, (struct pod_spec){.name = "c", .uid = "u-c", .resource = SLICE, .count = "7"});
    struct sl_bind_result result;
    reserve(store, "c", "u-c", "gpu-1", 0, &result);
    assert_int_equal(result.code, SL_BIND_RESERVED);
    assert_false(result.nominated);
    assert_string_equal(result.assignment, SLICE "=0/0,0/1,0/2,1/0,1/1,1/2,1/3");
}

TEST_ON(struct sl_store *store, binding_on_the_nominated_node_gives_the_nominated_devices)
{
    struct sl_bind_result result;
    nomination_fourth(store);
    reserve(store, "a", "u-a", "gpu-1", 0, &result);
    assert_int_equal(result.code, SL_BIND_RESERVED);
    assert_true(result.nominated);
    assert_string_equal(result.assignment, FOURTH);
    expect_counts(store, (struct counts){.waiting = 1, .bound = 1, .reserved = 1});
    assert_int_equal(free_now(store, "gpu-1", SLICE), 7);
    expect_no_nomination(store, "u-a");
    assert_true(sl_store_commit(store, SL_STR("u-a"), SL_POD_RUNNING));
    assert_int_equal(free_now(store, "gpu-1", SLICE), 7);
}

TEST_ON(struct sl_store *store, binding_elsewhere_gives_the_nomination_back)
{
    nomination_fourth(store);
    assert_int_equal(reserve_code(store, "a", "u-a", "gpu-2"), SL_BIND_RESERVED);
    assert_int_equal(free_now(store, "gpu-1", SLICE), 8);
    assert_int_equal(free_now(store, "gpu-2", SLICE), 7);
    expect_no_nomination(store, "u-a");
}

TEST_ON(struct sl_store *store, a_nomination_outlives_a_bind_elsewhere_that_finds_no_room)
{
    char node[64];
    nomination_fourth(store);
    assert_int_equal(reserve_code(store, "b", "u-b", "gpu-2"), SL_BIND_RESERVED);
    assert_int_equal(reserve_code(store, "a", "u-a", "gpu-2"), SL_BIND_NO_ROOM);
    assert_int_equal(reserve_code(store, "a", "u-a", "gpu-9"), SL_BIND_UNKNOWN_NODE);
    assert_true(sl_store_nominated_node(store, SL_STR("u-a"), node, sizeof(node)));
    assert_string_equal(node, "gpu-1");
    assert_int_equal(free_now(store, "gpu-1", SLICE), 7);
}

/* The node is remade with four slices on one GPU: the fifth place is gone, the pod's own room is
 * not. */
TEST_THAT(a_nomination_whose_devices_are_gone_still_counts_as_room_for_its_pod)
{
    struct sl_store *store = *state;
    struct sl_bind_result result;
    assert_int_equal(nomination(store, "u-a", "gpu-1", FIFTH, &result), SL_BIND_RESERVED);
    put_node(store, sliced_node("gpu-1", 4));
    put_pod(store, (struct pod_spec){.name = "c", .uid = "u-c", .resource = SLICE, .count = "3"});
    assert_int_equal(reserve_code(store, "c", "u-c", "gpu-1"), SL_BIND_RESERVED);
    assert_int_equal(free_now(store, "gpu-1", SLICE), 0);
    reserve(store, "a", "u-a", "gpu-1", 0, &result);
    assert_int_equal(result.code, SL_BIND_RESERVED);
    assert_int_equal(free_now(store, "gpu-1", SLICE), 0);
    assert_string_equal(result.assignment, FIRST);
}

/* A pod that others bound without a word on its devices: a nomination is no right to more than
 * there is.
 */
TEST_ON(struct sl_store *store, a_nomination_gives_nothing_that_others_hold_by_now)
{
    struct sl_bind_result result;
    const char *all = SLICE "=0/0,0/1,0/2,0/3,1/0,1/1,1/2,1/3";
    assert_int_equal(nomination(store, "u-b", "gpu-1", all, &result), SL_BIND_RESERVED);
    put_pod(store,
            (struct pod_spec){.name = "c", .uid = "u-c", .node = "gpu-1", .resource = SLICE});
    assert_int_equal(reserve_code(store, "b", "u-b", "gpu-1"), SL_BIND_NO_ROOM);
    assert_true(sl_store_withdraw(store, SL_STR("u-b")));
    assert_int_equal(free_now(store, "gpu-1", SLICE), 7);
}

TEST_ON(struct sl_store *store, a_nomination_of_what_is_taken_changes_nothing)
{
    struct sl_bind_result result;
    const char *all = SLICE "=0/0,0/1,0/2,0/3,1/0,1/1,1/2,1/3";
    nomination_fourth(store);
    uint64_t generation = generation_of(store);
    assert_int_equal(nomination(store, "u-b", "gpu-1", all, &result), SL_BIND_NOT_NOMINATED);
    assert_string_equal(result.text, "node gpu-1: the devices are not free any more");
    assert_string_equal(result.assignment, "");
    put_pod(store, (struct pod_spec){.name = "c", .uid = "u-c", .resource = SLICE});
    generation = generation_of(store);
    assert_int_equal(nomination(store, "u-c", "gpu-1", FOURTH, &result), SL_BIND_NOT_NOMINATED);
    assert_int_equal(nomination(store, "u-a", "gpu-2", FIRST, &result), SL_BIND_NOT_NOMINATED);
    assert_string_equal(result.text, "pod default/a has a nomination on node gpu-1");
    assert_int_equal(generation_of(store), generation);
}

TEST_ON(struct sl_store *store, a_nomination_says_what_is_not_known)
{
    struct sl_bind_result result;
    assert_int_equal(nomination(store, "u-x", "gpu-1", FIRST, &result), SL_BIND_UNKNOWN_POD);
    assert_string_equal(result.text, "no pod with the UID u-x is known");
    assert_int_equal(nomination(store, "u-a", "gpu-9", FIRST, &result), SL_BIND_UNKNOWN_NODE);
    assert_string_equal(result.text, "node gpu-9 is not known");
    const char *const bad[] = {"",       "nonsense",  SLICE "=7/0", SLICE "=0/0,0/1",
                               GPU "=0", SLICE "=?*1"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(nomination(store, "u-a", "gpu-1", bad[i], &result), SL_BIND_NOT_NOMINATED);
        assert_string_equal(result.text, "node gpu-1: it has no such devices to be nominated");
    }
    expect_counts(store, (struct counts){.waiting = 2});
}

TEST_ON(struct sl_store *store, only_a_pod_that_waits_gets_a_nomination)
{
    struct sl_bind_result result;
    assert_int_equal(reserve_code(store, "a", "u-a", "gpu-1"), SL_BIND_RESERVED);
    assert_int_equal(nomination(store, "u-a", "gpu-1", FOURTH, &result), SL_BIND_IN_PROGRESS);
    assert_int_equal(nomination(store, "u-a", "gpu-2", FIRST, &result), SL_BIND_OTHER_NODE);
    assert_true(sl_store_commit(store, SL_STR("u-a"), SL_POD_RUNNING));
    assert_int_equal(nomination(store, "u-a", "gpu-1", FOURTH, &result), SL_BIND_ALREADY);
    assert_string_equal(result.assignment, FIRST);
    put_pod(store,
            (struct pod_spec){.name = "d", .uid = "u-d", .resource = SLICE, .deleting = true});
    assert_int_equal(nomination(store, "u-d", "gpu-1", FOURTH, &result), SL_BIND_FINISHED);
    put_pod(store,
            (struct pod_spec){.name = "e", .uid = "u-e", .resource = SLICE, .phase = "Succeeded"});
    assert_int_equal(nomination(store, "u-e", "gpu-1", FOURTH, &result), SL_BIND_FINISHED);
    put_pod(store, (struct pod_spec){.name = "m", .uid = "u-m", .resource = SLICE, .count = "1.5"});
    assert_int_equal(nomination(store, "u-m", "gpu-1", FOURTH, &result), SL_BIND_NOT_NOMINATED);
    assert_non_null(strstr(result.text, "pod default/m is malformed: "));
}

TEST_THAT(nominations_do_not_count_as_reservations)
{
    const struct sl_store_limits tight = {10, 10, 1, 1000};
    struct sl_store *store = store_of(&tight);
    struct sl_bind_result result;
    put_node(store, sliced_node("gpu-1", 8));
    for (int i = 0; i < 3; i++) {
        char name[8];
        char text[64];
        snprintf(name, sizeof(name), "p%d", i);
        snprintf(text, sizeof(text), SLICE "=0/%d", i);
        put_pod(store, (struct pod_spec){.name = name, .uid = name, .resource = SLICE});
        assert_int_equal(nomination(store, name, "gpu-1", text, &result), SL_BIND_RESERVED);
    }
    assert_int_equal(reserve_code(store, "p0", "p0", "gpu-1"), SL_BIND_RESERVED);
    assert_int_equal(reserve_code(store, "p1", "p1", "gpu-1"), SL_BIND_FULL);
    expect_counts(store, (struct counts){.waiting = 2, .bound = 1, .reserved = 1, .nominated = 2});
    sl_store_free(store);
}

TEST_ON(struct sl_store *store, a_nomination_does_not_expire)
{
    nomination_fourth(store);
    assert_int_equal(sl_store_expire(store, INT64_MAX), 0);
    expect_counts(store, (struct counts){.waiting = 2, .nominated = 1});
    assert_false(sl_store_rollback(store, SL_STR("u-a")));
    assert_false(sl_store_commit(store, SL_STR("u-a"), SL_POD_RUNNING));
    expect_counts(store, (struct counts){.waiting = 2, .nominated = 1});
}

TEST_ON(struct sl_store *store, nominations_can_be_given_back_one_by_one_or_all)
{
    struct sl_bind_result result;
    nomination_fourth(store);
    assert_true(sl_store_withdraw(store, SL_STR("u-a")));
    expect_no_nomination(store, "u-a");
    assert_int_equal(free_now(store, "gpu-1", SLICE), 8);
    nomination_fourth(store);
    const char *all = SLICE "=0/0,0/1,0/2,0/3,1/0,1/1,1/2,1/3";
    assert_int_equal(nomination(store, "u-b", "gpu-2", all, &result), SL_BIND_RESERVED);
    assert_int_equal(sl_store_withdraw_all(store), 2);
    assert_int_equal(sl_store_withdraw_all(store), 0);
    expect_counts(store, (struct counts){.waiting = 2});
    assert_int_equal(free_now(store, "gpu-2", SLICE), 8);
}

TEST_ON(struct sl_store *store, a_bind_that_fails_gives_back_what_was_nominated)
{
    nomination_fourth(store);
    assert_int_equal(reserve_code(store, "a", "u-a", "gpu-1"), SL_BIND_RESERVED);
    assert_true(sl_store_rollback(store, SL_STR("u-a")));
    expect_no_nomination(store, "u-a");
    assert_int_equal(free_now(store, "gpu-1", SLICE), 8);
    nomination_fourth(store);
}

/* ---- news that end a nomination ---- */

TEST_THAT(news_that_the_pod_waits_no_more_end_its_nomination)
{
    static const struct pod_spec news[] = {
        {.name = "a", .uid = "u-a", .resource = SLICE, .node = "gpu-2"},
        {.name = "a", .uid = "u-a", .resource = SLICE, .phase = "Failed"},
        {.name = "a", .uid = "u-a", .resource = SLICE, .deleting = true},
        {.name = "a", .uid = "u-a2", .resource = SLICE},
        {.name = "a", .uid = "u-a", .resource = SLICE, .count = "2"},
        {.name = "a", .uid = "u-a", .resource = GPU},
        {.name = "a", .uid = "u-a"},
    };
    for (size_t i = 0; i < sizeof(news) / sizeof(news[0]); i++) {
        void *each = NULL;
        (void)setup_slices(&each);
        nomination_fourth(each);
        put_pod(each, news[i]);
        expect_no_nomination(each, "u-a");
        assert_int_equal(free_now(each, "gpu-1", SLICE), 8);
        struct sl_store_stats stats;
        sl_store_stats(each, &stats);
        assert_int_equal(stats.binds + stats.conflicts, 0);
        (void)teardown(&each);
    }
}

TEST_ON(struct sl_store *store, a_pod_seen_bound_where_it_has_a_nomination_holds_once)
{
    nomination_fourth(store);
    put_pod(
        store,
        (struct pod_spec){
            .name = "a", .uid = "u-a", .resource = SLICE, .node = "gpu-1", .assignment = FOURTH});
    expect_counts(store, (struct counts){.waiting = 1, .bound = 1});
    assert_int_equal(free_now(store, "gpu-1", SLICE), 7);
}

TEST_ON(struct sl_store *store, news_that_leave_the_pod_waiting_leave_its_nomination)
{
    struct sl_bind_result result;
    nomination_fourth(store);
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .resource = SLICE, .created_us = 77});
    expect_counts(store, (struct counts){.waiting = 2, .nominated = 1});
    reserve(store, "a", "u-a", "gpu-1", 0, &result);
    assert_string_equal(result.assignment, FOURTH);
    struct sl_pod *pod = sl_store_pod(store, SL_STR("default"), SL_STR("a"));
    assert_int_equal(pod->created_us, 77);
    sl_pod_unref(pod);
}

TEST_ON(struct sl_store *store, a_deleted_pod_and_a_list_without_it_end_its_nomination)
{
    struct sl_bind_result result;
    nomination_fourth(store);
    assert_int_equal(delete_pod(store, "a"), 0);
    assert_int_equal(free_now(store, "gpu-1", SLICE), 8);
    const char *all = SLICE "=0/0,0/1,0/2,0/3,1/0,1/1,1/2,1/3";
    assert_int_equal(nomination(store, "u-b", "gpu-2", all, &result), SL_BIND_RESERVED);
    sl_store_sweep_begin(store, SL_SWEEP_PODS);
    assert_int_equal(sl_store_sweep_end(store, SL_SWEEP_PODS), 1);
    assert_int_equal(free_now(store, "gpu-2", SLICE), 8);
    expect_counts(store, (struct counts){0});
}

TEST_ON(struct sl_store *store, a_node_that_vanishes_takes_its_nominations_along)
{
    nomination_fourth(store);
    assert_int_equal(sl_store_delete_node(store, SL_STR("gpu-1"), NULL), 0);
    expect_counts(store, (struct counts){.waiting = 2});
    expect_no_nomination(store, "u-a");
    put_node(store, sliced_node("gpu-1", 8));
    assert_int_equal(free_now(store, "gpu-1", SLICE), 8);
}

/* ---- what the queue hears ---- */

struct heard {
    char text[512];
};

static void hear(void *context, struct sl_pod *pod, bool is_waiting)
{
    struct heard *heard = context;
    size_t len = strlen(heard->text);
    snprintf(heard->text + len, sizeof(heard->text) - len, "%c%s ", is_waiting ? '+' : '-',
             pod->uid);
}

static void expect_heard(struct heard *heard, const char *expected)
{
    assert_string_equal(heard->text, expected);
    heard->text[0] = '\0';
}

TEST_ON(struct sl_store *store, the_feed_tells_who_waits_until_it_is_bound)
{
    struct heard heard = {{0}};
    assert_int_equal(delete_pod(store, "b"), 0);
    sl_store_set_feed(store, hear, &heard);
    expect_heard(&heard, "+u-a ");
    nomination_fourth(store);
    assert_int_equal(reserve_code(store, "a", "u-a", "gpu-1"), SL_BIND_RESERVED);
    assert_true(sl_store_rollback(store, SL_STR("u-a")));
    assert_int_equal(reserve_code(store, "a", "u-a", "gpu-1"), SL_BIND_RESERVED);
    expect_heard(&heard, "");
    assert_true(sl_store_commit(store, SL_STR("u-a"), SL_POD_RUNNING));
    expect_heard(&heard, "-u-a ");
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .resource = SLICE, .node = "gpu-1"});
    assert_int_equal(delete_pod(store, "a"), 0);
    expect_heard(&heard, "");
}

TEST_ON(struct sl_store *store, whoever_listens_late_hears_of_reserved_pods_too)
{
    struct heard heard = {{0}};
    assert_int_equal(delete_pod(store, "b"), 0);
    assert_int_equal(reserve_code(store, "a", "u-a", "gpu-1"), SL_BIND_RESERVED);
    sl_store_set_feed(store, hear, &heard);
    expect_heard(&heard, "+u-a ");
    sl_store_set_feed(store, NULL, NULL);
    assert_int_equal(delete_pod(store, "a"), 0);
    expect_heard(&heard, "");
}

TEST_ON(struct sl_store *store, the_feed_tells_of_changes_ends_and_pods_made_anew)
{
    struct heard heard = {{0}};
    assert_int_equal(delete_pod(store, "a"), 0);
    assert_int_equal(delete_pod(store, "b"), 0);
    sl_store_set_feed(store, hear, &heard);
    expect_heard(&heard, "");
    put_pod(store, (struct pod_spec){.name = "p", .uid = "1", .resource = SLICE});
    expect_heard(&heard, "+1 ");
    put_pod(store, (struct pod_spec){.name = "p", .uid = "1", .resource = SLICE, .count = "2"});
    expect_heard(&heard, "+1 ");
    put_pod(store, (struct pod_spec){.name = "p", .uid = "2", .resource = SLICE});
    expect_heard(&heard, "-1 +2 ");
    put_pod(store, (struct pod_spec){.name = "p", .uid = "2", .resource = SLICE, .deleting = true});
    expect_heard(&heard, "-2 ");
    put_pod(store, (struct pod_spec){.name = "p", .uid = "3", .resource = SLICE});
    put_pod(store, (struct pod_spec){.name = "p", .uid = "3"});
    expect_heard(&heard, "+3 -3 ");
    put_pod(store, (struct pod_spec){.name = "q", .uid = "4", .resource = SLICE});
    sl_store_sweep_begin(store, SL_SWEEP_PODS);
    assert_int_equal(sl_store_sweep_end(store, SL_SWEEP_PODS), 1);
    expect_heard(&heard, "+4 -4 ");
    put_pod(store, (struct pod_spec){.name = "r", .uid = "5", .resource = SLICE, .node = "n"});
    put_pod(store, (struct pod_spec){.name = "s", .resource = SLICE});
    put_pod(store, (struct pod_spec){.name = "t", .uid = "6"});
    expect_heard(&heard, "");
}

static void count_call(void *context)
{
    (*(int *)context)++;
}

TEST_ON(struct sl_store *store, each_publication_is_told)
{
    int calls = 0;
    sl_store_set_published(store, count_call, &calls);
    put_node(store, sliced_node("gpu-3", 4));
    assert_int_equal(calls, 1);
    sl_store_begin(store);
    put_node(store, sliced_node("gpu-4", 4));
    nomination_fourth(store);
    assert_int_equal(calls, 1);
    assert_int_equal(sl_store_end(store, NULL), 0);
    assert_int_equal(calls, 2);
    sl_store_set_published(store, NULL, NULL);
    assert_true(sl_store_withdraw(store, SL_STR("u-a")));
    assert_int_equal(calls, 2);
}
