/* Giving the lead up, and two who want it. */
#include "lease_rig.h"

TEST_FIXTURE_OF(struct election, NULL, end)

/* ---- giving it up ---- */

TEST_ON(struct election *e, who_stops_gives_it_up_after_it_has_stopped_leading)
{
    json_t *object = NULL;
    start(e, NULL);
    become_leader(e);

    sl_lease_stop(e->lease, 20000 * MS);
    e->lease = NULL;

    unsigned last = fake_api_requests(e->rig.api) - 1;
    json_t *spec = spec_of(e, last, &object);
    assert_string_equal(fake_api_request(e->rig.api, last)->method, "PUT");
    assert_string_equal(text(spec, "holderIdentity"), "");
    assert_int_equal(number(spec, "leaseDurationSeconds"), 1);
    assert_int_equal(number(spec, "leaseTransitions"), 0);
    assert_int_equal(e->changes.done, 2);
    assert_int_equal(e->changes.reply.status, false);
    assert_false(atomic_load(&e->store.leader_at_release));
    assert_non_null(strstr(e->store.object, "\"holderIdentity\":\"\""));
    json_decref(object);
}

TEST_ON(struct election *e, who_stops_without_leading_writes_nothing)
{
    start(e, OTHER);
    serve_well(e);
    run(e);
    fake_api_wait(e->rig.api, 2);
    sl_lease_stop(e->lease, 20000 * MS);
    e->lease = NULL;
    assert_int_equal(fake_api_count(e->rig.api, "PUT", NULL), 0);
    assert_int_equal(e->changes.done, 0);
}

/* Serves the write, and is silent about it. */
static void serve_and_hang(void *context, const struct fake_request *request,
                           struct fake_answer *reply)
{
    serve(context, request, reply);
    if (reply->free_body) {
        free((void *)reply->body); /* NOLINT(clang-analyzer-unix.Malloc): serve made it */
    }
    reply->body = NULL;
    reply->free_body = false;
    reply->kind = FAKE_HANG;
}

TEST_ON(struct election *e, a_lease_that_may_be_ours_is_given_up_too)
{
    start(e, NULL);
    fake_api_add(e->rig.api,
                 (struct fake_answer){
                     .method = "POST", .times = 1, .fn = serve_and_hang, .context = &e->store});
    serve_well(e);
    run(e);
    fake_api_wait(e->rig.api, 2); /* the creation hangs */

    sl_lease_stop(e->lease, 20000 * MS);
    e->lease = NULL;

    assert_int_equal(e->changes.done, 0);
    assert_non_null(strstr(e->store.object, "\"holderIdentity\":\"\""));
}

TEST_ON(struct election *e, a_stop_waits_no_longer_than_it_may)
{
    start(e, NULL);
    e->options.renew_deadline_us = 3000000 * MS;
    e->options.lease_duration_us = 4000000 * MS;
    become_leader(e);
    turn(e, (struct fake_answer){.kind = FAKE_HANG});

    sl_lease_stop(e->lease, 50 * MS); /* its call would hang for 25 minutes */
    e->lease = NULL;
}

/* ---- two of them ---- */

struct pair {
    struct sl_lease *_Atomic lease[2];
    atomic_bool leads[2];
    atomic_bool both;
};

struct half {
    struct pair *pair;
    unsigned at;
    struct pending changes;
};

static void on_half_changed(void *context, bool leader)
{
    struct half *half = context;
    struct pair *pair = half->pair;
    const struct sl_reply reply = {.status = leader};
    struct sl_lease *other = atomic_load(&pair->lease[1 - half->at]);
    if (leader &&
        (atomic_load(&pair->leads[1 - half->at]) || (other != NULL && sl_lease_held(other)))) {
        atomic_store(&pair->both, true);
    }
    atomic_store(&pair->leads[half->at], leader);
    pending_done(&half->changes, &reply);
}

TEST_ALONE(of_two_one_leads_and_the_other_follows_when_it_is_cut_off)
{
    struct election e;
    struct rig second = {.api = NULL};
    struct pair pair = {.both = false};
    struct half half[2] = {{&pair, 0, PENDING_INIT}, {&pair, 1, PENDING_INIT}};
    struct sl_error err;
    start(&e, NULL);
    second = e.rig;
    second.access.token = "second";
    second.options.access = &second.access;
    rig_start_client(&second);
    serve_well(&e);
    e.options.changed = on_half_changed;
    e.options.context = &half[0];
    run(&e);
    atomic_store(&pair.lease[0], e.lease);
    pending_wait(&half[0].changes, 1);
    struct sl_lease_options options = e.options;
    options.client = second.client;
    options.identity = "you";
    options.context = &half[1];
    struct sl_lease *lease = sl_lease_start(&options, &err);
    assert_non_null(lease);
    atomic_store(&pair.lease[1], lease);

    /* the first is cut off: its thread stands still, it is told nothing */
    struct block block = BLOCK_INIT;
    atomic_store(&pair.leads[0], false); /* what counts is sl_lease_held */
    block_close(&block, e.rig.client);
    while (!atomic_load(&pair.leads[1])) { /* its last renewal may be seen late */
        fake_clock_pass(second.client, e.options.lease_duration_us);
    }
    assert_true(sl_lease_held(lease));

    assert_false(sl_lease_held(e.lease));
    assert_false(atomic_load(&pair.both));

    /* and back: the second stops, the first is let go */
    block_open(&block);
    pending_wait(&half[0].changes, 2);
    atomic_store(&pair.lease[1], NULL);
    sl_lease_stop(lease, 20000 * MS);
    pending_wait(&half[0].changes, 3);
    assert_true(sl_lease_held(e.lease));
    assert_false(atomic_load(&pair.both));
    sl_client_free(second.client);
    end(&e);
}

TEST_ALONE(periods_that_cannot_work_are_refused)
{
    static const int64_t periods[][3] = {
        {1000, 1000, 100}, {1000, 900, 800}, {1000, 900, 0}, {900, 1000, 100}};
    struct election e;
    struct sl_error err;
    start(&e, NULL);
    for (size_t i = 0; i < 4; i++) {
        struct sl_lease_options options = e.options;
        options.lease_duration_us = periods[i][0] * MS;
        options.renew_deadline_us = periods[i][1] * MS;
        options.retry_period_us = periods[i][2] * MS;
        assert_null(sl_lease_start(&options, &err));
        assert_int_equal(err.code, SL_ERR_FIELD);
    }
    e.options.identity = "";
    assert_null(sl_lease_start(&e.options, &err));
    end(&e);
}
