/* Taking the lead and losing it. Only the fake clock ends a lease. */
#include "lease_rig.h"
#include "util/timestamp.h"

#include <unistd.h>

TEST_FIXTURE_OF(struct election, NULL, end)

/* ---- taking it ---- */

TEST_ON(struct election *e, a_lease_that_is_not_there_is_created)
{
    json_t *object = NULL;
    char holder[32];
    int64_t us = 0;
    start(e, NULL);

    become_leader(e);

    json_t *spec = spec_of(e, 1, &object);
    assert_string_equal(fake_api_request(e->rig.api, 0)->path, PATH "/sliced");
    assert_string_equal(fake_api_request(e->rig.api, 1)->path, PATH);
    assert_string_equal(text(object, "kind"), "Lease");
    assert_string_equal(text(object, "apiVersion"), "coordination.k8s.io/v1");
    assert_string_equal(text(json_object_get(object, "metadata"), "namespace"), "gpu");
    assert_string_equal(text(json_object_get(object, "metadata"), "name"), "sliced");
    assert_string_equal(text(spec, "holderIdentity"), "me");
    assert_int_equal(number(spec, "leaseDurationSeconds"), 3000);
    assert_int_equal(number(spec, "leaseTransitions"), 0);
    assert_int_equal(strlen(text(spec, "renewTime")), strlen("2026-11-21T12:38:09.000000Z"));
    assert_string_equal(text(spec, "renewTime"), text(spec, "acquireTime"));
    assert_true(sl_time_parse(sl_str_of(text(spec, "renewTime")), &us));
    sl_lease_holder(e->lease, holder, sizeof(holder));
    assert_string_equal(holder, "me");
    json_decref(object);
}

TEST_ON(struct election *e, the_holder_renews_what_it_knows_without_reading)
{
    json_t *object = NULL;
    json_t *last = NULL;
    start(e, NULL);
    become_leader(e);

    fake_api_wait(e->rig.api, 6);

    json_t *created = spec_of(e, 1, &object);
    json_t *renewed = spec_of(e, 5, &last);
    assert_int_equal(fake_api_count(e->rig.api, "GET", NULL), 1);
    assert_string_equal(fake_api_request(e->rig.api, 5)->method, "PUT");
    assert_string_equal(fake_api_request(e->rig.api, 5)->path, PATH "/sliced");
    assert_string_equal(text(created, "acquireTime"), text(renewed, "acquireTime"));
    assert_true(strcmp(text(created, "renewTime"), text(renewed, "renewTime")) < 0);
    assert_int_equal(number(renewed, "leaseTransitions"), 0);
    assert_int_equal(e->changes.done, 1);
    json_decref(object);
    json_decref(last);
}

TEST_ALONE(anothers_lease_is_taken_when_it_stood_unchanged_for_its_duration)
{
    /* what the holder's clock said does not matter */
    static const char *const objects[] = {
        OTHER,
        HELD_BY("other", ",\"leaseDurationSeconds\":3600,\"leaseTransitions\":7,"
                         "\"renewTime\":\"1990-01-01T00:00:00.000000Z\""),
        HELD_BY("other", ",\"leaseDurationSeconds\":3600,\"leaseTransitions\":7,"
                         "\"renewTime\":\"2990-01-01T00:00:00.000000Z\""),
    };
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
        struct election e;
        json_t *object = NULL;
        start(&e, objects[i]);
        serve_well(&e);
        run(&e);
        fake_api_wait(e.rig.api, 4);
        assert_int_equal(e.changes.done, 0);

        fake_clock_advance(e.rig.client, 3600000 * MS);
        pending_wait(&e.changes, 1);

        unsigned at = first(&e, "PUT");
        json_t *spec = spec_of(&e, at, &object);
        assert_true(fake_api_request(e.rig.api, at)->at_us -
                        fake_api_request(e.rig.api, 0)->at_us >=
                    3600000 * MS);
        assert_string_equal(text(spec, "holderIdentity"), "me");
        assert_int_equal(number(spec, "leaseTransitions"), 8);
        json_decref(object);
        end(&e);
    }
}

/* Whoever may write the lease writes what Kubernetes takes; a count of 2^31 it would not take of
 * us. */
TEST_ON(struct election *e, numbers_at_their_edges_keep_nobody_from_leading)
{
    json_t *object = NULL;
    start(e,
          HELD_BY("other", ",\"leaseDurationSeconds\":2147483647,\"leaseTransitions\":2147483647"));
    serve_well(e);
    run(e);
    fake_api_wait(e->rig.api, 4);
    fake_clock_advance(e->rig.client, 3600000 * MS);
    pending_wait(&e->changes, 1);
    json_t *spec = spec_of(e, first(e, "PUT"), &object);
    assert_string_equal(text(spec, "holderIdentity"), "me");
    assert_int_equal(number(spec, "leaseTransitions"), 0);
    json_decref(object);
}

TEST_ON(struct election *e, a_holder_that_renews_keeps_it)
{
    char holder[32];
    start(e, OTHER);
    e->store.touched = true;
    serve_well(e);
    run(e);

    for (unsigned looks = 1; looks <= 10; looks++) {
        fake_clock_pass(e->rig.client, 3000000 * MS); /* it holds for 3,600 s */
    }
    fake_api_wait(e->rig.api, 12);

    sl_lease_holder(e->lease, holder, sizeof(holder));
    assert_string_equal(holder, "other");
    assert_int_equal(fake_api_count(e->rig.api, "PUT", NULL), 0);
    assert_int_equal(e->changes.done, 0);
    assert_false(sl_lease_held(e->lease));
}

TEST_ON(struct election *e, a_lease_that_was_given_up_is_taken_at_once)
{
    json_t *object = NULL;
    start(e, HELD_BY("", ",\"leaseDurationSeconds\":3600,\"leaseTransitions\":2"));
    become_leader(e);
    json_t *spec = spec_of(e, 1, &object);
    assert_int_equal(number(spec, "leaseTransitions"), 3);
    json_decref(object);
}

TEST_ON(struct election *e, what_others_wrote_on_the_object_stays)
{
    json_t *object = NULL;
    start(e, "{\"metadata\":{\"labels\":{\"team\":\"x\"}},\"spec\":{\"strategy\":\"S\"}}");
    become_leader(e);
    json_t *spec = spec_of(e, 1, &object);
    assert_string_equal(
        text(json_object_get(json_object_get(object, "metadata"), "labels"), "team"), "x");
    assert_string_equal(text(spec, "strategy"), "S");
    json_decref(object);
}

TEST_ON(struct election *e, who_comes_second_at_the_creation_looks_again)
{
    start(e, OTHER);
    fake_api_add(e->rig.api, (struct fake_answer){.times = 1, .status = 404});
    serve_well(e);
    run(e);
    fake_api_wait(e->rig.api, 5);
    assert_string_equal(fake_api_request(e->rig.api, 1)->method, "POST");
    assert_string_equal(fake_api_request(e->rig.api, 2)->method, "GET");
    assert_int_equal(e->changes.done, 0);
}

TEST_ON(struct election *e, an_answer_of_wrong_types_is_no_lease)
{
    static const char *const bodies[] = {"[]", "null", "{{", "7", ""};
    start(e, NULL);
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        fake_api_add(e->rig.api,
                     (struct fake_answer){.method = "GET", .times = 1, .body = bodies[i]});
    }
    become_leader(e);
    assert_int_equal(first(e, "POST"), 6);
}

TEST_ON(struct election *e, an_answer_that_is_no_object_is_told_as_such)
{
    FILE *file = tmpfile();
    char said[4096] = "";
    int saved = dup(STDERR_FILENO);
    assert_true(file != NULL && saved >= 0);
    start(e, NULL);
    fake_api_add(e->rig.api, (struct fake_answer){.method = "GET", .times = 1, .body = "[]"});
    assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
    become_leader(e);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    assert_true(pread(fileno(file), said, sizeof(said) - 1, 0) > 0);
    assert_non_null(
        strstr(said, "\"the lease could not be read\" reason=\"the answer is no object\"\n"));
    (void)close(saved);
    (void)fclose(file);
}

/* ---- losing it ---- */

TEST_ON(struct election *e, a_leader_whose_calls_hang_is_deposed_by_time)
{
    start(e, NULL);
    become_leader(e);

    turn(e, (struct fake_answer){.kind = FAKE_HANG});
    lease_runs_out(e);
    pending_wait(&e->changes, 2);

    assert_int_equal(e->changes.reply.status, false);
    assert_false(sl_lease_held(e->lease));
    fake_api_clear(e->rig.api);
    serve_well(e); /* the end gives it up */
}

TEST_ALONE(held_turns_false_even_when_the_clients_thread_stands_still)
{
    struct election e;
    struct block block = BLOCK_INIT;
    start(&e, NULL);
    become_leader(&e);
    block_close(&block, e.rig.client);

    lease_runs_out(&e);

    assert_false(sl_lease_held(e.lease));
    block_open(&block);
    end(&e);
}

TEST_ON(struct election *e, a_leader_whose_server_fails_comes_back_as_the_same_holder)
{
    json_t *object = NULL;
    start(e, NULL);
    become_leader(e);

    turn(e, (struct fake_answer){.status = 500});
    lease_runs_out(e);
    pending_wait(&e->changes, 2);
    fake_api_clear(e->rig.api);
    serve_well(e);
    pending_wait(&e->changes, 3);

    assert_int_equal(e->changes.reply.status, true);
    json_t *spec = spec_of(e, fake_api_requests(e->rig.api) - 1, &object);
    assert_int_equal(number(spec, "leaseTransitions"), 0);
    json_decref(object);
}

TEST_ON(struct election *e, a_failure_or_two_do_not_depose)
{
    start(e, NULL);
    become_leader(e);
    unsigned before = fake_api_requests(e->rig.api);
    fake_api_clear(e->rig.api);
    fake_api_add(e->rig.api, (struct fake_answer){.times = 1, .status = 503});
    fake_api_add(e->rig.api, (struct fake_answer){.times = 1, .kind = FAKE_CLOSE});
    fake_api_add(e->rig.api, (struct fake_answer){.times = 1, .status = 429, .retry_after = "9"});
    serve_well(e);

    fake_api_wait(e->rig.api, before + 6);

    assert_int_equal(e->changes.done, 1);
    assert_true(sl_lease_held(e->lease));
}

TEST_ON(struct election *e, who_sees_another_in_its_place_stops_at_once)
{
    start(e, NULL);
    become_leader(e);

    fake_api_clear(e->rig.api);
    fake_api_add(e->rig.api, (struct fake_answer){.method = "PUT", .status = 409});
    fake_api_add(e->rig.api, (struct fake_answer){.method = "GET", .body = OTHER});
    pending_wait(&e->changes, 2); /* long before its deadline */

    assert_int_equal(e->changes.reply.status, false);
    assert_false(sl_lease_held(e->lease));
}

TEST_ON(struct election *e, a_lease_changed_by_a_stranger_is_read_and_renewed)
{
    start(e, NULL);
    become_leader(e);
    unsigned before = fake_api_requests(e->rig.api);
    fake_api_clear(e->rig.api);
    fake_api_add(e->rig.api, (struct fake_answer){.times = 1, .method = "PUT", .status = 409});
    serve_well(e);

    fake_api_wait(e->rig.api, before + 3);

    assert_int_equal(fake_api_count(e->rig.api, "GET", NULL), 2);
    assert_int_equal(e->changes.done, 1);
}

/* ---- saying who leads ---- */

TEST_ON(struct election *e, a_holder_of_whom_nothing_new_is_seen_is_not_said_to_lead_for_ever)
{
    char holder[32];
    start(e, OTHER);
    serve_well(e);
    run(e);
    fake_api_wait(e->rig.api, 2); /* the first answer has been read */
    sl_lease_holder(e->lease, holder, sizeof(holder));
    assert_string_equal(holder, "other");

    turn(e, (struct fake_answer){.status = 500});
    fake_clock_advance(e->rig.client, 3600000 * MS);

    sl_lease_holder(e->lease, holder, sizeof(holder));
    assert_string_equal(holder, "");
    assert_int_equal(e->changes.done, 0);
}
