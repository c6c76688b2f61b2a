/* Who may decide when: leadership, the watch and bindings together, against a scripted API server.
 */
#include "cluster_rig.h"

/* From now on no call on the lease succeeds, and it has run out. */
static void break_lease(struct scene *scene)
{
    atomic_store(&lease.broken, true);
    (void)fake_api_requests(scene->api); /* takes the lock: what was being answered has been */
    fake_clock_advance(NULL, lease_us);
}

/* ---- a binding ---- */

struct outcome {
    _Atomic bool done;
    enum sl_bind_end end;
    char text[384];
};

static void note_end(void *call, enum sl_bind_end end, const struct sl_error *err)
{
    struct outcome *outcome = call;
    outcome->end = end;
    (void)snprintf(outcome->text, sizeof(outcome->text), "%s", err == NULL ? "" : err->message);
    atomic_store(&outcome->done, true);
}

static const struct sl_binding binding = {.namespace = {"default", 7},
                                          .name = {"p", 1},
                                          .uid = {"u-p", 3},
                                          .node = {"n1", 2},
                                          .assignment = "nvidia.com/gpu=0"};

static struct outcome bind_in(struct scene *scene, uint64_t leadership)
{
    struct outcome outcome = {.done = false};
    struct sl_binding of_term = binding;
    int64_t until = (int64_t)time(NULL) + WAIT_S;
    of_term.leadership = leadership;
    scene->binder.bind(scene->binder.context, &of_term, note_end, &outcome);
    while (!atomic_load(&outcome.done)) {
        assert_true((int64_t)time(NULL) <= until);
        (void)sched_yield();
    }
    return outcome;
}

static struct outcome bind_pod(struct scene *scene)
{
    return bind_in(scene, scene->hooks.leadership(scene->hooks.context));
}

/* ---- */

TEST_FIXTURE(set_up, NULL)

/* ---- the queue: first, as later tests put the clock forward for good ---- */

#define SMALL "/api/v1/namespaces/default/pods/s"

TEST_THAT(the_leader_releases_the_pod_whose_turn_has_come)
{
    struct scene scene;
    begin_with(&scene, true, true);
    fake_api_add(scene.api, (struct fake_answer){.method = "PATCH", .path = SMALL});
    wait_missing(&scene, "");
    assert_int_equal(sl_store_put_pod(scene.store, small_pod(), NULL), 0);
    wait_requests(&scene, "PATCH", SMALL, 2);
    const struct fake_request *first =
        fake_api_request(scene.api, place_of(&scene, "PATCH", SMALL, 1));
    const struct fake_request *second =
        fake_api_request(scene.api, place_of(&scene, "PATCH", SMALL, 2));
    assert_string_equal(first->path, SMALL "/status");
    assert_non_null(strstr(first->body, "\"nominatedNodeName\":\"n1\""));
    assert_string_equal(second->path, SMALL);
    assert_non_null(strstr(second->body, "sliced.dev/released"));
    end(&scene);
}

TEST_THAT(in_a_small_cluster_it_writes_no_node)
{
    struct scene scene;
    nominate_from = 2;
    begin_with(&scene, true, true);
    fake_api_add(scene.api, (struct fake_answer){.method = "PATCH", .path = SMALL});
    wait_missing(&scene, "");
    assert_int_equal(sl_store_put_pod(scene.store, small_pod(), NULL), 0);
    wait_requests(&scene, "PATCH", SMALL, 1);
    const struct fake_request *only =
        fake_api_request(scene.api, place_of(&scene, "PATCH", SMALL, 1));
    assert_string_equal(only->path, SMALL);
    assert_non_null(strstr(only->body, "sliced.dev/released"));
    assert_true(sl_store_withdraw(scene.store, SL_STR("u-s"))); /* the ledger has it */
    end(&scene);
}

TEST_THAT(a_standby_releases_nothing)
{
    struct scene scene;
    atomic_store(&lease.exists, true);
    atomic_store(&lease.other, true);
    atomic_store(&lease.renewed, true);
    begin_with(&scene, true, true);
    wait_missing(&scene, "another replica leads");
    wait_requests(&scene, "GET", PODS, 1);
    const struct sl_queue_reader queue = sl_cluster_queue_reader(scene.cluster);
    assert_int_equal(sl_store_put_pod(scene.store, small_pod(), NULL), 0);
    assert_true(queue.settle(queue.context, (int64_t)WAIT_S * 1000000));
    assert_int_equal(fake_api_count(scene.api, "PATCH", SMALL), 0);
    assert_false(sl_store_withdraw(scene.store, SL_STR("u-s")));
    end(&scene);
}

/* ---- */

TEST_THAT(it_leads_first_and_one_list_is_enough)
{
    struct scene scene;
    begin(&scene, true);
    assert_string_not_equal(missing(&scene), "");
    wait_missing(&scene, "");
    assert_true(place_of(&scene, "POST", LEASES, 1) < place_of(&scene, "GET", NODES, 1));
    assert_int_equal(fake_api_count(scene.api, "GET", NODES), 1);
    assert_int_equal(fake_api_count(scene.api, "GET", PODS), 1);
    assert_true(atomic_load(&scene.wakes) >= 1);
    assert_int_equal(bind_pod(&scene).end, SL_BIND_END_BOUND);
    end(&scene);
    assert_string_equal(lease.ours, ""); /* it was given up */
}

TEST_THAT(the_lease_is_not_given_up_while_a_binding_may_be_carried_out)
{
    struct scene scene;
    struct outcome outcome = {.done = false};
    begin(&scene, true);
    wait_missing(&scene, "");
    fake_api_clear(scene.api);
    fake_api_add(scene.api, (struct fake_answer){.path = BINDING, .kind = FAKE_HANG});
    fake_api_add(scene.api, (struct fake_answer){.path = LEASES, .fn = give_lease});
    struct sl_binding now = binding;
    now.leadership = scene.hooks.leadership(scene.hooks.context);
    scene.binder.bind(scene.binder.context, &now, note_end, &outcome);
    wait_requests(&scene, "POST", BINDING, 1);
    sl_cluster_stop(scene.cluster);
    assert_true(atomic_load(&outcome.done));
    assert_int_equal(outcome.end, SL_BIND_END_UNKNOWN);
    assert_string_not_equal(lease.ours, "");
    end(&scene);
}

TEST_THAT(without_an_election_it_leads_at_once)
{
    struct scene scene;
    begin(&scene, false);
    wait_missing(&scene, "");
    assert_int_equal(fake_api_count(scene.api, NULL, LEASES), 0);
    end(&scene);
}

TEST_THAT(a_standby_watches_and_takes_over_after_a_list_of_its_own_time)
{
    struct scene scene;
    atomic_store(&lease.exists, true);
    atomic_store(&lease.other, true);
    atomic_store(&lease.renewed, true);
    begin(&scene, true);
    wait_missing(&scene, "another replica leads");
    wait_requests(&scene, "GET", PODS, 1);
    struct outcome outcome = bind_pod(&scene);
    assert_int_equal(outcome.end, SL_BIND_END_FAILED);
    assert_int_equal(fake_api_count(scene.api, "POST", BINDING), 0);

    atomic_store(&lease.other, false); /* given up: nobody holds it */
    wait_missing(&scene, "");
    assert_int_equal(fake_api_count(scene.api, "GET", NODES), 2);
    assert_int_equal(fake_api_count(scene.api, "GET", PODS), 2);
    assert_true(place_of(&scene, "PUT", LEASES, 1) < place_of(&scene, "GET", PODS, 2));
    assert_int_equal(bind_pod(&scene).end, SL_BIND_END_BOUND);
    end(&scene);
}

TEST_THAT(who_cannot_renew_stops_binding_and_goes_on_when_nobody_led_meanwhile)
{
    struct scene scene;
    begin(&scene, true);
    wait_missing(&scene, "");
    break_lease(&scene);
    wait_missing(&scene, "no replica leads, it tries to take the lease");
    assert_int_equal(bind_pod(&scene).end, SL_BIND_END_FAILED);
    assert_int_equal(fake_api_count(scene.api, "POST", BINDING), 0);

    atomic_store(&lease.broken, false);
    wait_missing(&scene, "");
    assert_int_equal(fake_api_count(scene.api, "GET", PODS), 1);
    uint64_t leadership = scene.hooks.leadership(scene.hooks.context);
    assert_int_equal(bind_in(&scene, leadership - 1).end, SL_BIND_END_FAILED);
    assert_int_equal(fake_api_count(scene.api, "POST", BINDING), 0);
    assert_int_equal(bind_in(&scene, leadership).end, SL_BIND_END_BOUND);
    end(&scene);
}

TEST_THAT(who_leads_again_after_another_looks_anew)
{
    struct scene scene;
    struct sl_buf text;
    begin(&scene, true);
    wait_missing(&scene, "");
    break_lease(&scene);
    wait_missing(&scene, "no replica leads, it tries to take the lease");
    lease.version += 2;
    lease.ours[0] = '\0'; /* another took it and has given it up again, unseen */
    (void)snprintf(lease.acquired, sizeof(lease.acquired), "2026-01-02T00:00:00.000000Z");
    atomic_store(&lease.broken, false);

    wait_missing(&scene, "");
    assert_int_equal(fake_api_count(scene.api, "GET", PODS), 2);
    assert_int_equal(bind_pod(&scene).end, SL_BIND_END_BOUND);
    sl_buf_init(&text, 1 << 16);
    scene.hooks.metrics(scene.hooks.context, &text);
    sl_buf_putc(&text, '\0');
    /* counters go on over a watch made anew */
    assert_non_null(strstr(text.data, "sliced_reflector_lists_total{resource=\"pods\"} 2\n"));
    assert_non_null(strstr(text.data, "sliced_leader 1\n"));
    assert_non_null(strstr(text.data, "sliced_synced 1\n"));
    sl_buf_free(&text);
    end(&scene);
}

TEST_THAT(no_reservation_ends_by_the_clock)
{
    struct scene scene;
    struct sl_bind_result result;
    begin(&scene, false);
    wait_missing(&scene, "");
    assert_int_equal(sl_store_put_pod(scene.store, small_pod(), NULL), 0);
    sl_store_reserve(scene.store, SL_STR("default"), SL_STR("s"), SL_STR("u-s"), SL_STR("n1"), 1,
                     &result);
    assert_int_equal(result.code, SL_BIND_RESERVED);
    assert_int_equal(sl_store_expire(scene.store, INT64_MAX), 0);
    end(&scene);
}

static void note_fetched(void *call)
{
    atomic_store((_Atomic bool *)call, true);
}

TEST_THAT(a_pod_that_the_watch_has_not_told_of_is_read)
{
    struct scene scene;
    static _Atomic bool fetched;
    static const char body[] =
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"s\",\"namespace\":"
        "\"default\",\"uid\":\"u-s\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{"
        "\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}";
    static const struct sl_binding s = {
        .namespace = {"default", 7}, .name = {"s", 1}, .uid = {"u-s", 3}};
    atomic_store(&fetched, false);
    begin(&scene, true);
    fake_api_add(scene.api,
                 (struct fake_answer){.path = "/api/v1/namespaces/default/pods/s", .body = body});
    wait_missing(&scene, "");
    scene.binder.fetch(scene.binder.fetcher, &s, note_fetched, (void *)&fetched);
    while (!atomic_load(&fetched)) {
        (void)sched_yield();
    }
    struct sl_pod *pod = sl_store_pod(scene.store, s.namespace, s.name);
    assert_non_null(pod);
    sl_pod_unref(pod);
    end(&scene);
}

#define BOUND_POD(name, version)                                                                   \
    "{\"metadata\":{\"namespace\":\"default\",\"name\":\"" name "\",\"uid\":\"u-" name             \
    "\",\"resourceVersion\":\"" version "\",\"labels\":{\"version\":\"" version                    \
    "\"}},\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\",\"resources\":{"           \
    "\"limits\":{\"nvidia.com/"                                                                    \
    "gpu\":\"1\"}}}]},\"status\":{\"phase\":\"Running\",\"conditions\":[{"                         \
    "\"type\":\"sliced.dev/Queued\",\"status\":\"True\"}]}}"
#define WORD(name, version) "{\"type\":\"MODIFIED\",\"object\":" BOUND_POD(name, version) "}\n"
#define SHOWN               "/api/v1/namespaces/default/pods/p/status"

static void wait_pod(struct scene *scene, struct sl_str name)
{
    int64_t until = (int64_t)time(NULL) + WAIT_S;
    struct sl_pod *pod = NULL;
    while (pod == NULL) {
        assert_true((int64_t)time(NULL) <= until);
        sl_cluster_tick(scene->cluster, &score);
        (void)sched_yield();
        pod = sl_store_pod(scene->store, SL_STR("default"), name);
    }
    sl_pod_unref(pod);
}

static void wait_failures(struct scene *scene, unsigned n)
{
    static const char name[] = "sliced_queue_conditions_total{outcome=\"failed\"} ";
    int64_t until = (int64_t)time(NULL) + WAIT_S;
    for (unsigned failures = 0; failures < n; (void)sched_yield()) {
        struct sl_buf text;
        assert_true((int64_t)time(NULL) <= until);
        sl_buf_init(&text, 1 << 20);
        scene->hooks.metrics(scene->hooks.context, &text);
        sl_buf_putc(&text, '\0');
        assert_int_equal(text.failed, SL_BUF_OK);
        const char *found = strstr(text.data, name);
        assert_non_null(found);
        failures = (unsigned)strtoul(found + strlen(name), NULL, 10);
        sl_buf_free(&text);
    }
}

/* Puts the clock forward until there are n requests. A step in vain costs a while, and there may be
 * eight: a failure counts as one a moment before its rest of up to four minutes begins. */
static void pass_until_shown(struct scene *scene, unsigned n)
{
    int64_t until = (int64_t)time(NULL) + 2 * (int64_t)WAIT_S;
    while (fake_api_count(scene->api, "PATCH", SHOWN) < n) {
        int64_t next = (int64_t)time(NULL) + 5;
        assert_true((int64_t)time(NULL) <= until);
        fake_clock_advance(NULL, INT64_C(31000000));
        while (fake_api_count(scene->api, "PATCH", SHOWN) < n && (int64_t)time(NULL) < next) {
            sl_cluster_tick(scene->cluster, &score);
            (void)sched_yield();
        }
    }
}

/* An API server that refuses is asked once, whatever is told of the pod, and again after a while,
 * even if nothing is told. */
TEST_THAT(a_condition_that_cannot_be_ended_is_tried_again_ever_more_rarely)
{
    struct scene scene;
    bound_pods =
        "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[" BOUND_POD(
            "p", "5") "]}";
    words = WORD("p", "6") WORD("p", "7") WORD("p", "8") WORD("z", "9");
    refused = SHOWN;
    begin_with(&scene, false, true);
    wait_missing(&scene, "");
    wait_pod(&scene, SL_STR("z"));     /* all words have been heard; its own condition gets 404 */
    for (unsigned n = 1; n < 4; n++) { /* rests of 1, 2 and 4 minutes */
        wait_failures(&scene, n);
        fake_clock_advance(NULL, (INT64_C(30000000) << n) - INT64_C(30000000));
        sl_cluster_tick(scene.cluster, &score);
        assert_int_equal(fake_api_count(scene.api, "PATCH", SHOWN), n);
        pass_until_shown(&scene, n + 1);
    }
    assert_non_null(strstr(fake_api_request(scene.api, place_of(&scene, "PATCH", SHOWN, 4))->body,
                           "\"Bound\""));
    end(&scene);
}

TEST_THAT(owners_are_told)
{
    struct scene scene;
    begin(&scene, true);
    wait_missing(&scene, "");
    wait_requests(&scene, "POST", EVENTS, 1);
    const struct fake_request *request =
        fake_api_request(scene.api, place_of(&scene, "POST", EVENTS, 1));
    assert_non_null(strstr(request->path, "/namespaces/default/events"));
    assert_non_null(strstr(request->body, "NeverFits"));
    assert_non_null(strstr(request->body, "3 nvidia.com/gpu asked, the largest node has 2 in all"));
    scene.hooks.bound(scene.hooks.context, &binding);
    wait_requests(&scene, "POST", EVENTS, 2);
    request = fake_api_request(scene.api, place_of(&scene, "POST", EVENTS, 2));
    assert_non_null(strstr(request->body, "\"Bound\""));
    assert_non_null(strstr(request->body, "bound to node n1: nvidia.com/gpu=0"));
    end(&scene);
}

TEST_THAT(the_state_says_who_leads_and_how_the_watch_is)
{
    struct scene scene;
    struct sl_buf text;
    begin(&scene, true);
    wait_missing(&scene, "");
    sl_buf_init(&text, 1 << 16);
    struct sl_writer w = {.buf = &text};
    sl_write_object(&w);
    scene.hooks.state(scene.hooks.context, &w);
    sl_write_object_end(&w);
    sl_buf_putc(&text, '\0');
    assert_int_equal(text.failed, SL_BUF_OK);
    static const char *const parts[] = {"\"leads\":true",        "\"election\":true",
                                        "\"missing\":null",      "\"lists\":1",
                                        "\"access\":\"a test\"", "\"events\":{\"sent\":"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strstr(text.data, parts[i]) == NULL) {
            fail_msg("no %s in %s", parts[i], text.data);
        }
    }
    assert_non_null(strstr(text.data, lease.ours));
    sl_buf_free(&text);
    end(&scene);
}

TEST_THAT(a_standby_is_in_sync_and_labels_its_pod_when_it_leads)
{
    struct scene scene;
    own_pod = "me";
    atomic_store(&lease.exists, true);
    atomic_store(&lease.other, true);
    atomic_store(&lease.renewed, true);
    begin(&scene, true);
    fake_api_add(scene.api,
                 (struct fake_answer){
                     .path = LABELS, .body = "{\"items\":[{\"metadata\":{\"name\":\"former\"}}]}"});
    assert_non_null(scene.hooks.unsynced(scene.hooks.context));
    wait_requests(&scene, "GET", "/api/v1/pods?watch", 1);
    while (scene.hooks.unsynced(scene.hooks.context) != NULL) {
        (void)sched_yield();
    }
    wait_missing(&scene, "another replica leads");
    assert_int_equal(fake_api_count(scene.api, NULL, LABELS), 0);

    atomic_store(&lease.other, false);
    wait_missing(&scene, "");
    wait_requests(&scene, "PATCH", LABELS "/me", 1);
    wait_requests(&scene, "PATCH", LABELS "/former", 1);
    end(&scene);
}
