/* Reserve, commit, roll back, expire: what each answers and what each leaves behind. */
#include "unit/cluster/fixture.h"

enum { EXPIRE_US = 30 * 1000000 };

static void expect_stats(struct sl_store *store, struct sl_store_stats expected)
{
    struct sl_store_stats stats;
    sl_store_stats(store, &stats);
    assert_int_equal(stats.binds, expected.binds);
    assert_int_equal(stats.conflicts, expected.conflicts);
    assert_int_equal(stats.expiries, expected.expiries);
    assert_int_equal(stats.rollbacks, expected.rollbacks);
    assert_int_equal(stats.limit_hits, expected.limit_hits);
}

static size_t reserved_now(struct sl_store *store)
{
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    size_t n = snapshot->n_reserved;
    sl_store_release(store, snapshot);
    return n;
}

/* Everything that a reservation shows is back as if it had not been. */
static void expect_free_again(struct sl_store *store)
{
    assert_int_equal(free_now(store, "gpu-1", SLICE), 8);
    assert_int_equal(reserved_now(store), 0);
    assert_false(sl_store_rollback(store, SL_STR("u-a")));
}

TEST_FIXTURE(setup_slices, teardown)

TEST_ON(struct sl_store *store, reserving_takes_devices_at_once_and_says_which)
{
    struct sl_bind_result result;
    reserve(store, "a", "u-a", "gpu-1", 0, &result);
    assert_int_equal(result.code, SL_BIND_RESERVED);
    assert_string_equal(result.assignment, SLICE "=0/0");
    assert_string_equal(result.text, "");
    assert_int_equal(free_now(store, "gpu-1", SLICE), 7);
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    assert_int_equal(snapshot->n_reserved, 1);
    assert_int_equal(snapshot->n_bound, 1);
    assert_int_equal(snapshot->n_waiting, 1);
    const struct sl_view *view = view_at(snapshot, "gpu-1");
    assert_int_equal(view->n_residents, 1);
    assert_string_equal(view->resident[0].pod->node, "gpu-1");
    assert_string_equal(view->resident[0].pod->assignment, SLICE "=0/0");
    assert_false(view->resident[0].assumed);
    sl_store_release(store, snapshot);
    struct sl_pod *pod = sl_store_pod(store, SL_STR("default"), SL_STR("a"));
    assert_string_equal(pod->node, "gpu-1");
    sl_pod_unref(pod);
}

TEST_ON(struct sl_store *store, a_second_call_for_the_same_bind_waits_for_the_first)
{
    struct sl_bind_result result;
    reserve(store, "a", "u-a", "gpu-1", 0, &result);
    reserve(store, "a", "u-a", "gpu-1", 0, &result);
    assert_int_equal(result.code, SL_BIND_IN_PROGRESS);
    assert_string_equal(result.text, "pod default/a is being bound to node gpu-1 by another call");
    reserve(store, "a", "u-a", "gpu-2", 0, &result);
    assert_int_equal(result.code, SL_BIND_OTHER_NODE);
    assert_string_equal(result.text, "pod default/a is being bound to node gpu-1, not gpu-2");
    assert_int_equal(free_now(store, "gpu-1", SLICE), 7);
    assert_int_equal(free_now(store, "gpu-2", SLICE), 8);
}

TEST_ON(struct sl_store *store, a_committed_bind_asked_again_is_a_success_with_the_same_devices)
{
    struct sl_bind_result first;
    struct sl_bind_result again;
    reserve(store, "a", "u-a", "gpu-1", 0, &first);
    assert_true(sl_store_commit(store, SL_STR("u-a"), SL_POD_RUNNING));
    assert_int_equal(reserved_now(store), 0);
    reserve(store, "a", "u-a", "gpu-1", 5, &again);
    assert_int_equal(again.code, SL_BIND_ALREADY);
    assert_string_equal(again.assignment, first.assignment);
    reserve(store, "a", "u-a", "gpu-2", 5, &again);
    assert_int_equal(again.code, SL_BIND_OTHER_NODE);
    assert_string_equal(again.text, "pod default/a is bound to node gpu-1, not gpu-2");
    assert_string_equal(again.assignment, "");
    assert_int_equal(free_now(store, "gpu-1", SLICE), 7);
    expect_stats(store, (struct sl_store_stats){.binds = 1, .conflicts = 1});
}

TEST_ON(struct sl_store *store, commit_sets_the_phase)
{
    assert_int_equal(reserve_code(store, "a", "u-a", "gpu-1"), SL_BIND_RESERVED);
    assert_true(sl_store_commit(store, SL_STR("u-a"), SL_POD_RUNNING));
    struct sl_pod *pod = sl_store_pod(store, SL_STR("default"), SL_STR("a"));
    assert_int_equal(pod->phase, SL_POD_RUNNING);
    assert_string_equal(pod->node, "gpu-1");
    sl_pod_unref(pod);
}

/* On an embedded cluster no kubelet says it. */
TEST_ON(struct sl_store *store, a_pod_that_runs_once_it_is_bound_has_started_then)
{
    struct sl_bind_result result;
    reserve(store, "a", "u-a", "gpu-1", 17, &result);
    assert_true(sl_store_commit(store, SL_STR("u-a"), SL_POD_RUNNING));
    struct sl_pod *pod = sl_store_pod(store, SL_STR("default"), SL_STR("a"));
    assert_int_equal(pod->started_us, 17);
    sl_pod_unref(pod);
    put_pod(store, (struct pod_spec){.name = "b", .uid = "u-b", .resource = SLICE});
    reserve(store, "b", "u-b", "gpu-1", 18, &result);
    assert_true(sl_store_commit(store, SL_STR("u-b"), SL_POD_PENDING));
    pod = sl_store_pod(store, SL_STR("default"), SL_STR("b"));
    assert_int_equal(pod->started_us, 0);
    sl_pod_unref(pod);
}

TEST_ON(struct sl_store *store, commit_of_a_pod_that_has_ended_meanwhile_frees_its_devices)
{
    assert_int_equal(reserve_code(store, "a", "u-a", "gpu-1"), SL_BIND_RESERVED);
    assert_true(sl_store_commit(store, SL_STR("u-a"), SL_POD_SUCCEEDED));
    expect_free_again(store);
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    assert_int_equal(snapshot->n_bound, 0);
    assert_int_equal(view_at(snapshot, "gpu-1")->n_residents, 0);
    sl_store_release(store, snapshot);
}

TEST_ON(struct sl_store *store, commit_of_a_bind_already_seen_is_true_and_counts_once)
{
    assert_int_equal(reserve_code(store, "a", "u-a", "gpu-1"), SL_BIND_RESERVED);
    put_pod(store, (struct pod_spec){.name = "a",
                                     .uid = "u-a",
                                     .node = "gpu-1",
                                     .resource = SLICE,
                                     .assignment = SLICE "=0/0"});
    assert_int_equal(reserved_now(store), 0);
    assert_true(sl_store_commit(store, SL_STR("u-a"), SL_POD_PENDING));
    assert_false(sl_store_rollback(store, SL_STR("u-a")));
    assert_int_equal(free_now(store, "gpu-1", SLICE), 7);
    expect_stats(store, (struct sl_store_stats){.binds = 1});
}

TEST_ON(struct sl_store *store, commit_without_a_reservation_is_false)
{
    assert_false(sl_store_commit(store, SL_STR("u-a"), SL_POD_RUNNING));
    assert_false(sl_store_commit(store, SL_STR("nobody"), SL_POD_RUNNING));
    assert_false(sl_store_commit(store, SL_STR(""), SL_POD_RUNNING));
    assert_false(sl_store_rollback(store, SL_STR("")));
}

TEST_ON(struct sl_store *store, a_rolled_back_pod_waits_again_and_its_devices_are_free)
{
    assert_int_equal(reserve_code(store, "a", "u-a", "gpu-1"), SL_BIND_RESERVED);
    assert_true(sl_store_rollback(store, SL_STR("u-a")));
    expect_free_again(store);
    assert_false(sl_store_commit(store, SL_STR("u-a"), SL_POD_RUNNING));
    assert_int_equal(reserve_code(store, "a", "u-a", "gpu-2"), SL_BIND_RESERVED);
    assert_true(sl_store_commit(store, SL_STR("u-a"), SL_POD_RUNNING));
    assert_int_equal(free_now(store, "gpu-2", SLICE), 7);
    expect_stats(store, (struct sl_store_stats){.binds = 1, .rollbacks = 1});
}

TEST_ON(struct sl_store *store, no_room_says_why_with_numbers)
{
    struct sl_bind_result result;
    assert_int_equal(reserve_code(store, "a", "u-a", "gpu-1"), SL_BIND_RESERVED);
    reserve(store, "b", "u-b", "gpu-1", 0, &result);
    assert_int_equal(result.code, SL_BIND_NO_ROOM);
    assert_int_equal(result.verdict.reason, SL_REASON_INSUFFICIENT);
    assert_int_equal(result.verdict.asked, 8);
    assert_int_equal(result.verdict.free, 7);
    assert_int_equal(result.verdict.capacity, 8);
    assert_string_equal(result.text, "node gpu-1: " SLICE ": 8 asked, 7 free of 8");
    assert_string_equal(result.assignment, "");
    expect_stats(store, (struct sl_store_stats){.conflicts = 1});
}

TEST_ON(struct sl_store *store, a_malformed_ask_has_no_room_anywhere)
{
    struct sl_bind_result result;
    put_pod(store,
            (struct pod_spec){.name = "m", .uid = "u-m", .resource = SLICE, .count = "1500m"});
    reserve(store, "m", "u-m", "gpu-1", 0, &result);
    assert_int_equal(result.code, SL_BIND_NO_ROOM);
    assert_int_equal(result.verdict.reason, SL_REASON_MALFORMED_ASK);
    assert_true(strlen(result.text) > strlen("node gpu-1: "));
}

TEST_ON(struct sl_store *store, what_is_not_known_is_named)
{
    struct sl_bind_result result;
    reserve(store, "x", "u-x", "gpu-1", 0, &result);
    assert_int_equal(result.code, SL_BIND_UNKNOWN_POD);
    assert_string_equal(result.text, "pod default/x is not known");
    reserve(store, "a", "u-a", "gpu-9", 0, &result);
    assert_int_equal(result.code, SL_BIND_UNKNOWN_NODE);
    assert_string_equal(result.text, "node gpu-9 is not known");
    put_pod(store,
            (struct pod_spec){.name = "c", .uid = "u-c", .node = "gpu-9", .resource = SLICE});
    reserve(store, "a", "u-a", "gpu-9", 0, &result);
    assert_int_equal(result.code, SL_BIND_UNKNOWN_NODE);
}

TEST_ON(struct sl_store *store, another_uid_is_another_pod)
{
    struct sl_bind_result result;
    reserve(store, "a", "u-old", "gpu-1", 0, &result);
    assert_int_equal(result.code, SL_BIND_OTHER_UID);
    assert_string_equal(result.text, "pod default/a has the UID \"u-a\", not \"u-old\"");
    put_pod(store, (struct pod_spec){.name = "n", .uid = "", .resource = SLICE});
    assert_int_equal(reserve_code(store, "n", "", "gpu-1"), SL_BIND_OTHER_UID);
}

TEST_ON(struct sl_store *store, what_has_ended_or_is_going_is_not_bound)
{
    struct sl_bind_result result;
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .resource = SLICE, .phase = "Failed"});
    reserve(store, "a", "u-a", "gpu-1", 0, &result);
    assert_int_equal(result.code, SL_BIND_FINISHED);
    assert_string_equal(result.text, "pod default/a has ended");
    put_pod(store,
            (struct pod_spec){.name = "b", .uid = "u-b", .resource = SLICE, .deleting = true});
    reserve(store, "b", "u-b", "gpu-1", 0, &result);
    assert_int_equal(result.code, SL_BIND_FINISHED);
    assert_string_equal(result.text, "pod default/b is being deleted");
}

static int setup_one_reservation(void **state)
{
    struct sl_store_limits limits = roomy;
    limits.max_reservations = 1;
    return setup_slices_within(state, &limits);
}

TEST_THAT_WITH(reservations_have_a_maximum, setup_one_reservation, teardown)
{
    struct sl_store *store = *state;
    struct sl_bind_result result;
    assert_int_equal(reserve_code(store, "a", "u-a", "gpu-1"), SL_BIND_RESERVED);
    reserve(store, "b", "u-b", "gpu-2", 0, &result);
    assert_int_equal(result.code, SL_BIND_FULL);
    assert_string_equal(result.text, "pod default/b must wait: 1 binds are under way, the maximum "
                                     "(cluster.maxReservations)");
    expect_stats(store, (struct sl_store_stats){.limit_hits = 1});
    assert_true(sl_store_commit(store, SL_STR("u-a"), SL_POD_PENDING));
    assert_int_equal(reserve_code(store, "b", "u-b", "gpu-2"), SL_BIND_RESERVED);
}

TEST_ON(struct sl_store *store, long_names_make_a_text_that_is_cut_and_whole)
{
    struct sl_bind_result result;
    char name[600];
    for (size_t i = 0; i + 2 < sizeof(name); i += 2) {
        memcpy(name + i, "\xc3\xa9", 3);
    }
    for (size_t shift = 0; shift < 2; shift++) {
        sl_store_reserve(store, sl_str_of(&"ns"[shift]), sl_str_of(name), SL_STR("u"),
                         SL_STR("gpu-1"), 0, &result);
        assert_int_equal(result.code, SL_BIND_UNKNOWN_POD);
        size_t len = strlen(result.text);
        assert_in_range(len, sizeof(result.text) - 3, sizeof(result.text) - 1);
        assert_int_equal((unsigned char)result.text[len - 1], 0xa9);
    }
}

/* ---- expiry ---- */

TEST_ON(struct sl_store *store, a_reservation_expires_when_its_time_is_over)
{
    struct sl_bind_result result;
    reserve(store, "a", "u-a", "gpu-1", 1000, &result);
    assert_int_equal(sl_store_expire(store, 1000 + EXPIRE_US - 1), 0);
    assert_int_equal(free_now(store, "gpu-1", SLICE), 7);
    assert_int_equal(sl_store_expire(store, 1000 + EXPIRE_US), 1);
    expect_free_again(store);
    expect_stats(store, (struct sl_store_stats){.expiries = 1});
}

TEST_ON(struct sl_store *store, nothing_expires_while_expires_are_held)
{
    struct sl_bind_result result;
    reserve(store, "a", "u-a", "gpu-1", 1000, &result);
    sl_store_hold_expiry(store, true);
    assert_int_equal(sl_store_expire(store, INT64_MAX), 0);
    reserve(store, "b", "u-b", "gpu-1", 1000 + EXPIRE_US, &result); /* looks for what has expired */
    struct sl_store_stats stats;
    sl_store_stats(store, &stats);
    assert_int_equal(stats.expiries, 0);
    sl_store_hold_expiry(store, false);
    assert_int_equal(sl_store_expire(store, 1000 + EXPIRE_US), 1);
}

TEST_ON(struct sl_store *store, a_bind_does_not_wait_for_what_has_expired)
{
    struct sl_bind_result result;
    reserve(store, "a", "u-a", "gpu-1", 0, &result);
    reserve(store, "b", "u-b", "gpu-1", EXPIRE_US - 1, &result);
    assert_int_equal(result.code, SL_BIND_NO_ROOM);
    reserve(store, "b", "u-b", "gpu-1", EXPIRE_US, &result);
    assert_int_equal(result.code, SL_BIND_RESERVED);
    assert_int_equal(free_now(store, "gpu-1", SLICE), 0);
}

TEST_ON(struct sl_store *store, what_expires_shows_even_when_the_bind_is_refused)
{
    struct sl_bind_result result;
    reserve(store, "a", "u-a", "gpu-1", 0, &result);
    reserve(store, "x", "u-x", "gpu-1", EXPIRE_US, &result);
    assert_int_equal(result.code, SL_BIND_UNKNOWN_POD);
    expect_free_again(store);
}

TEST_ON(struct sl_store *store, a_clock_that_goes_back_keeps_the_order_of_expiry)
{
    static const int64_t at[] = {500, 100, 900, 100, 700};
    for (int i = 0; i < 5; i++) {
        char name[8];
        struct sl_bind_result result;
        snprintf(name, sizeof(name), "p%d", i);
        put_pod(store, (struct pod_spec){.name = name, .uid = name, .resource = SLICE});
        reserve(store, name, name, "gpu-1", at[i], &result);
        assert_int_equal(result.code, SL_BIND_RESERVED);
    }
    assert_int_equal(sl_store_expire(store, EXPIRE_US + 99), 0);
    assert_int_equal(sl_store_expire(store, EXPIRE_US + 100), 2);
    assert_true(sl_store_commit(store, SL_STR("p4"), SL_POD_PENDING));
    assert_int_equal(sl_store_expire(store, EXPIRE_US + 899), 1);
    assert_int_equal(sl_store_expire(store, EXPIRE_US + 900), 1);
    assert_int_equal(free_now(store, "gpu-1", SLICE), 7);
}

TEST_ON(struct sl_store *store, a_time_near_the_end_of_time_does_not_overflow)
{
    struct sl_bind_result result;
    reserve(store, "a", "u-a", "gpu-1", INT64_MAX - 1, &result);
    assert_int_equal(result.code, SL_BIND_RESERVED);
    assert_int_equal(sl_store_expire(store, INT64_MAX - 1), 0);
    assert_int_equal(sl_store_expire(store, INT64_MAX), 1);
}

/* ---- what the API server says meanwhile ---- */

TEST_ON(struct sl_store *store, bound_elsewhere_by_the_api_server_drops_the_reservation)
{
    assert_int_equal(reserve_code(store, "a", "u-a", "gpu-1"), SL_BIND_RESERVED);
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .node = "gpu-2", .resource = SLICE});
    expect_free_again(store);
    assert_int_equal(free_now(store, "gpu-2", SLICE), 7);
    expect_stats(store, (struct sl_store_stats){.conflicts = 1});
}

TEST_ON(struct sl_store *store, news_of_the_unbound_pod_keeps_the_reservation)
{
    assert_int_equal(reserve_code(store, "a", "u-a", "gpu-1"), SL_BIND_RESERVED);
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .resource = SLICE, .created_us = 77});
    put_pod(store,
            (struct pod_spec){
                .name = "a", .uid = "u-a", .resource = SLICE, .created_us = 78, .deleting = true});
    assert_int_equal(free_now(store, "gpu-1", SLICE), 7);
    assert_true(sl_store_commit(store, SL_STR("u-a"), SL_POD_PENDING));
    struct sl_pod *pod = sl_store_pod(store, SL_STR("default"), SL_STR("a"));
    assert_int_equal(pod->created_us, 78);
    assert_true(pod->deleting);
    assert_string_equal(pod->assignment, SLICE "=0/0");
    sl_pod_unref(pod);
    assert_int_equal(free_now(store, "gpu-1", SLICE), 7);
}

TEST_ON(struct sl_store *store, the_end_of_the_pod_ends_its_reservation)
{
    for (int way = 0; way < 3; way++) {
        put_pod(store,
                (struct pod_spec){.name = "a", .uid = way == 0 ? "u-a" : "u-c", .resource = SLICE});
        assert_int_equal(reserve_code(store, "a", way == 0 ? "u-a" : "u-c", "gpu-1"),
                         SL_BIND_RESERVED);
        if (way == 0) {
            put_pod(store, (struct pod_spec){.name = "a", .uid = "u-b2", .resource = SLICE});
        } else if (way == 1) {
            put_pod(store, (struct pod_spec){
                               .name = "a", .uid = "u-c", .resource = SLICE, .phase = "Failed"});
            assert_int_equal(delete_pod(store, "a"), 0);
        } else {
            assert_int_equal(delete_pod(store, "a"), 0);
        }
        expect_free_again(store);
        assert_false(sl_store_commit(store, SL_STR("u-a"), SL_POD_RUNNING));
        assert_false(sl_store_commit(store, SL_STR("u-c"), SL_POD_RUNNING));
    }
}

TEST_ON(struct sl_store *store, a_reservation_outlives_its_node)
{
    assert_int_equal(reserve_code(store, "a", "u-a", "gpu-1"), SL_BIND_RESERVED);
    assert_int_equal(sl_store_delete_node(store, SL_STR("gpu-1"), NULL), 0);
    assert_true(sl_store_commit(store, SL_STR("u-a"), SL_POD_RUNNING));
    put_node(store, sliced_node("gpu-1", 8));
    assert_int_equal(free_now(store, "gpu-1", SLICE), 7);
}

TEST_ON(struct sl_store *store, binds_in_a_batch_see_it_and_count_at_once)
{
    sl_store_begin(store);
    put_node(store, sliced_node("gpu-3", 8));
    put_pod(store,
            (struct pod_spec){.name = "c", .uid = "u-c", .node = "gpu-2", .resource = SLICE});
    put_pod(store, (struct pod_spec){.name = "d", .uid = "u-d", .resource = SLICE, .count = "2"});
    assert_int_equal(reserve_code(store, "b", "u-b", "gpu-2"), SL_BIND_NO_ROOM);
    assert_int_equal(reserve_code(store, "b", "u-b", "gpu-3"), SL_BIND_RESERVED);
    assert_int_equal(reserve_code(store, "d", "u-d", "gpu-3"), SL_BIND_NO_ROOM);
    assert_true(sl_store_rollback(store, SL_STR("u-b")));
    assert_int_equal(reserve_code(store, "d", "u-d", "gpu-3"), SL_BIND_RESERVED);
    assert_int_equal(free_now(store, "gpu-3", SLICE), -1);
    assert_int_equal(sl_store_end(store, NULL), 0);
    assert_int_equal(free_now(store, "gpu-3", SLICE), 6);
    assert_int_equal(free_now(store, "gpu-2", SLICE), 7);
}

TEST_THAT(every_code_has_a_name)
{
    for (int code = SL_BIND_RESERVED; code <= SL_BIND_NOMEM; code++) {
        const char *name = sl_bind_code_name((enum sl_bind_code)code);
        assert_non_null(name);
        assert_string_not_equal(name, "Unknown");
        for (int other = SL_BIND_RESERVED; other < code; other++) {
            assert_string_not_equal(name, sl_bind_code_name((enum sl_bind_code)other));
        }
    }
    assert_string_equal(sl_bind_code_name(SL_BIND_RESERVED), "Reserved");
}
