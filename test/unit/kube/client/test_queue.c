/* The client's queues: order, limits, ends before time, and many threads at once. */
#include "unit/kube/calls.h"

#include "unit/kube/fake_clock.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HANGS = 4 };

static void restart(struct rig *rig)
{
    sl_client_free(rig->client);
    rig_start_client(rig);
}

/* ---- sockets ---- */

enum { TRIES = 12, PLUGS = 8 };

/* A listener on loopback that takes no more connections; its port. */
static uint16_t fill_listener(int *listener, int plug[PLUGS])
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof(address);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(*listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(getsockname(*listener, (struct sockaddr *)&address, &len), 0);
    assert_int_equal(listen(*listener, 0), 0);
    for (int i = 0; i < PLUGS; i++) {
        plug[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(plug[i], (struct sockaddr *)&address, sizeof(address));
    }
    return ntohs(address.sin_port);
}

/* libcurl closes a connection that is still being made without a word. */
TEST_THAT(sockets_that_were_closed_leave_the_table)
{
    struct rig rig;
    struct sl_client_stats stats;
    int listener = -1;
    int plug[PLUGS];
    int taken[TRIES];
    char url[64];
    rig_start(&rig);
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", fill_listener(&listener, plug));
    rig.access.server = url;
    restart(&rig);
    for (int i = 0; i < TRIES; i++) {
        struct pending pending = PENDING_INIT;
        struct sl_call_options call = rig_get("/x");
        call.repeatable = false;
        call.max_tries = 1;
        rig_call(&rig, call, &pending);
        do {
            sl_client_stats(rig.client, &stats);
            (void)sched_yield();
        } while (stats.in_flight == 0 || stats.sockets == 0);
        fake_clock_advance(rig.client, call.timeout_us);
        pending_wait(&pending, 1);
        taken[i] = open("/dev/null", O_RDONLY | O_CLOEXEC); /* takes the number */
    }
    sl_client_stats(rig.client, &stats);
    assert_true(stats.sockets <= 1);
    rig_end(&rig);
    for (int i = 0; i < TRIES; i++) {
        (void)close(taken[i]);
    }
    for (int i = 0; i < PLUGS; i++) {
        (void)close(plug[i]);
    }
    (void)close(listener);
}

/* ---- order and limits ---- */

struct order {
    struct pending pending;
    char letters[16];
    size_t n;
};

static void note_order(void *context, const struct fake_request *request, struct fake_answer *reply)
{
    struct order *order = context; /* under the fake's lock */
    (void)reply;
    order->letters[order->n++] = request->path[1];
}

struct letter {
    struct rig *rig;
    struct pending *pending;
};

static void ask(struct rig *rig, const char *path, enum sl_call_priority priority,
                struct pending *pending)
{
    struct sl_call_options call = rig_get(path);
    call.priority = priority;
    rig_call(rig, call, pending);
}

/* On the client's thread: none of the calls starts before all are queued. */
static void ask_all(void *context)
{
    const struct letter *letter = context;
    ask(letter->rig, "/low", SL_CALL_LOW, letter->pending);
    ask(letter->rig, "/low", SL_CALL_LOW, letter->pending);
    ask(letter->rig, "/normal", SL_CALL_NORMAL, letter->pending);
    ask(letter->rig, "/normal", SL_CALL_NORMAL, letter->pending);
    ask(letter->rig, "/bind", SL_CALL_BIND, letter->pending);
    ask(letter->rig, "/bind", SL_CALL_BIND, letter->pending);
    ask(letter->rig, "/aim", SL_CALL_LEASE, letter->pending);
}

TEST_THAT(leases_go_first_binds_next_events_last_under_a_rate_limit)
{
    struct rig rig;
    struct order order = {.pending = PENDING_INIT};
    struct sl_client_stats stats;
    struct letter letter = {&rig, &order.pending};
    rig_start(&rig);
    rig.options.qps = 0.001; /* a call in 1,000 s */
    rig.options.burst = 1;
    restart(&rig);
    fake_api_add(rig.api, (struct fake_answer){.fn = note_order, .context = &order});

    assert_int_equal(sl_client_after(rig.client, 0, ask_all, &letter), 0);

    for (unsigned n = 1; n <= 7; n++) {
        pending_wait(&order.pending, n);
        assert_int_equal(fake_api_requests(rig.api), n);
        fake_clock_advance(rig.client, 2000000 * MS);
    }
    sl_client_stats(rig.client, &stats);
    assert_memory_equal(order.letters, "abbnnll", 7);
    assert_int_equal(stats.throttled, 6);
    rig_end(&rig);
}

/* Whatever a name holds, the path is the one that was asked for. */
TEST_THAT(a_path_is_sent_as_it_is)
{
    struct rig rig;
    rig_start(&rig);
    fake_api_add(rig.api, (struct fake_answer){.status = 200});
    assert_int_equal(rig_wait(&rig, rig_get("/pods/.././x")).status, 200);
    assert_string_equal(fake_api_request(rig.api, 0)->path, "/pods/.././x");
    rig_end(&rig);
}

TEST_THAT(calls_wait_for_a_place_and_take_it_as_soon_as_it_is_free)
{
    enum { CALLS = 400 };
    struct rig rig;
    struct pending pending = PENDING_INIT;
    rig_start(&rig);
    rig.options.max_in_flight = 2;
    restart(&rig);
    fake_api_add(rig.api, (struct fake_answer){.status = 200});
    for (int i = 0; i < CALLS; i++) {
        rig_call(&rig, rig_get("/x"), &pending);
    }
    /* were a place seen only at the next look a second later, this would take minutes */
    pending_wait(&pending, CALLS);
    assert_true(fake_api_connections(rig.api) <= 2);
    rig_end(&rig);
}

TEST_THAT(hanging_calls_leave_a_place_for_binds)
{
    struct rig rig;
    struct pending hanging = PENDING_INIT;
    struct sl_client_stats stats;
    rig_start(&rig);
    rig.options.max_in_flight = HANGS + 1;
    restart(&rig);
    fake_api_add(rig.api, (struct fake_answer){.path = "/hang", .kind = FAKE_HANG});
    fake_api_add(rig.api, (struct fake_answer){.path = "/bind"});
    for (int i = 0; i < 2 * HANGS; i++) {
        rig_call(&rig, rig_get("/hang"), &hanging);
    }
    fake_api_wait(rig.api, HANGS);

    assert_int_equal(rig_wait(&rig, rig_post("/bind")).status, 200);

    sl_client_stats(rig.client, &stats);
    assert_int_equal(fake_api_count(rig.api, NULL, "/hang"), HANGS);
    assert_int_equal(stats.in_flight, HANGS);
    assert_int_equal(stats.queued, HANGS);
    rig_end(&rig);
    assert_int_equal(hanging.done, 2 * HANGS);
}

/* A thousand bindings must not cost the leader its lease. */
TEST_THAT(a_lease_waits_for_no_binding)
{
    struct rig rig;
    struct pending hanging = PENDING_INIT;
    struct sl_call_options lease = rig_get("/lease");
    struct sl_call_options bind = rig_post("/bind");
    rig_start(&rig);
    rig.options.max_in_flight = 2;
    rig.options.max_queued = 3;
    restart(&rig);
    fake_api_add(rig.api, (struct fake_answer){.path = "/bind", .kind = FAKE_HANG});
    fake_api_add(rig.api, (struct fake_answer){.path = "/lease"});
    rig_call(&rig, bind, &hanging);
    rig_call(&rig, bind, &hanging);
    fake_api_wait(rig.api, 2);
    for (int i = 0; i < 3; i++) {
        rig_call(&rig, bind, &hanging);
    }
    lease.priority = SL_CALL_LEASE;

    assert_int_equal(rig_wait(&rig, lease).status, 200);

    assert_int_equal(fake_api_count(rig.api, NULL, "/bind"), 2);
    rig_end(&rig);
}

TEST_THAT(a_full_queue_refuses_but_not_calls_of_another_priority)
{
    struct rig rig;
    struct pending hanging = PENDING_INIT;
    struct sl_client_stats stats;
    struct sl_error err;
    struct sl_call_options call = rig_get("/hang");
    rig_start(&rig);
    rig.options.max_in_flight = 2;
    rig.options.max_queued = 3;
    restart(&rig);
    fake_api_add(rig.api, (struct fake_answer){.path = "/hang", .kind = FAKE_HANG});
    fake_api_add(rig.api, (struct fake_answer){.path = "/bind"});
    rig_call(&rig, call, &hanging);
    fake_api_wait(rig.api, 1);
    for (int i = 0; i < 3; i++) {
        rig_call(&rig, call, &hanging);
    }
    call.done = pending_done;
    call.context = &hanging;

    assert_int_equal(sl_client_call(rig.client, &call, NULL, &err), -1);

    assert_int_equal(err.code, SL_ERR_LIMIT);
    assert_int_equal(rig_wait(&rig, rig_post("/bind")).status, 200);
    sl_client_stats(rig.client, &stats);
    assert_int_equal(stats.refused, 1);
    rig_end(&rig);
    assert_int_equal(hanging.done, 4);
}

/* ---- ends before time ---- */

TEST_THAT(a_call_that_hangs_ends_by_its_time)
{
    struct rig rig;
    struct pending pending = PENDING_INIT;
    struct sl_call_options call = rig_get("/hang");
    rig_start(&rig);
    call.timeout_us = 3600000 * MS;
    call.max_tries = 2;
    fake_api_add(rig.api, (struct fake_answer){.kind = FAKE_HANG});
    rig_call(&rig, call, &pending);

    fake_api_wait(rig.api, 1);
    fake_clock_advance(rig.client, call.timeout_us);
    fake_api_wait(rig.api, 2);
    fake_clock_advance(rig.client, call.timeout_us);

    pending_wait(&pending, 1);
    assert_int_equal(pending.reply.status, 0);
    assert_true(pending.reply.maybe_done);
    assert_string_equal(pending.reply.err.message, "no complete answer within 3600000 ms");
    assert_int_equal(fake_api_requests(rig.api), 2);
    rig_end(&rig);
}

TEST_THAT(half_a_body_ends_by_its_time)
{
    struct rig rig;
    struct pending pending = PENDING_INIT;
    struct sl_call_options call = rig_get("/slow");
    rig_start(&rig);
    call.timeout_us = 3600000 * MS;
    fake_api_add(rig.api, (struct fake_answer){
                              .body = "{          }", .piece = 1, .hang = true, .cut_at = 6});
    rig_call(&rig, call, &pending);

    fake_api_wait(rig.api, 1);
    fake_clock_advance(rig.client, call.timeout_us);

    pending_wait(&pending, 1);
    assert_int_equal(pending.reply.status, 0);
    assert_int_equal(pending.reply.body.len, 0);
    rig_end(&rig);
}

TEST_THAT(a_call_is_cancelled_in_flight_in_the_queue_and_before_its_repetition)
{
    struct rig rig;
    struct pending flying = PENDING_INIT;
    struct pending queued = PENDING_INIT;
    struct pending delayed = PENDING_INIT;
    struct sl_call_options call = rig_get("/hang");
    struct sl_call_options again = rig_get("/again");
    rig_start(&rig);
    rig.options.max_in_flight = 2;
    restart(&rig);
    again.max_tries = 2;
    fake_api_add(rig.api, (struct fake_answer){.path = "/hang", .kind = FAKE_HANG});
    fake_api_add(rig.api,
                 (struct fake_answer){.path = "/again", .status = 429, .retry_after = "30"});
    fake_api_add(rig.api, (struct fake_answer){.path = "/bind"});
    uint64_t delayed_id = rig_call(&rig, again, &delayed);
    fake_api_wait(rig.api, 1);
    uint64_t flying_id = rig_call(&rig, call, &flying);
    fake_api_wait(rig.api, 2);
    uint64_t queued_id = rig_call(&rig, call, &queued);

    sl_client_cancel(rig.client, queued_id);
    pending_wait(&queued, 1);
    sl_client_cancel(rig.client, flying_id);
    pending_wait(&flying, 1);
    sl_client_cancel(rig.client, delayed_id);
    pending_wait(&delayed, 1);
    sl_client_cancel(rig.client, 0);
    sl_client_cancel(rig.client, flying_id);

    assert_false(queued.reply.maybe_done);
    assert_true(flying.reply.maybe_done);
    assert_int_equal(delayed.reply.status, 0);
    assert_int_equal(rig_wait(&rig, rig_post("/bind")).status, 200);
    rig_end(&rig);
    assert_int_equal(flying.done + queued.done + delayed.done, 3);
}

TEST_THAT(cancel_of_nothing_ends_nothing)
{
    struct rig rig;
    struct pending hanging = PENDING_INIT;
    rig_start(&rig);
    fake_api_add(rig.api, (struct fake_answer){.path = "/hang", .kind = FAKE_HANG});
    fake_api_add(rig.api, (struct fake_answer){.path = "/bind"});
    rig_call(&rig, rig_get("/hang"), &hanging);
    fake_api_wait(rig.api, 1);

    sl_client_cancel(rig.client, 0);
    sl_client_cancel(rig.client, 12345);

    /* the cancellations are carried out before a call that comes after them */
    assert_int_equal(rig_wait(&rig, rig_post("/bind")).status, 200);
    assert_int_equal(hanging.done, 0);
    rig_end(&rig);
}

static void count_timer(void *context)
{
    (*(unsigned *)context)++;
}

TEST_THAT(stopping_ends_every_call_once_and_runs_every_timer)
{
    struct rig rig;
    struct pending pending = PENDING_INIT;
    struct sl_call_options again = rig_get("/again");
    unsigned timers = 0;
    rig_start(&rig);
    rig.options.max_in_flight = 4;
    restart(&rig);
    again.max_tries = 2;
    fake_api_add(rig.api,
                 (struct fake_answer){.path = "/again", .status = 429, .retry_after = "30"});
    fake_api_add(rig.api, (struct fake_answer){.kind = FAKE_HANG});
    rig_call(&rig, again, &pending);
    fake_api_wait(rig.api, 1);
    for (int i = 0; i < 10; i++) {
        rig_call(&rig, rig_get("/hang"), &pending);
        assert_int_equal(sl_client_after(rig.client, 3600000 * MS, count_timer, &timers), 0);
    }
    fake_api_wait(rig.api, 3);

    rig_end(&rig);

    assert_int_equal(pending.done, 11);
    assert_int_equal(timers, 10);
}

/* ---- calls from callbacks ---- */

struct chain {
    struct pending pending; /* first */
    struct rig *rig;
    unsigned left;
    bool refused;
};

static void next_of_chain(void *context, const struct sl_reply *reply)
{
    struct chain *chain = context;
    struct sl_call_options call = rig_get("/chain");
    struct sl_error err;
    call.done = next_of_chain;
    call.context = chain;
    if (chain->left-- == 0) {
        pending_done(&chain->pending, reply);
    } else if (sl_client_call(chain->rig->client, &call, NULL, &err) < 0) {
        chain->refused = true;
    }
}

TEST_THAT(an_answer_may_lead_to_the_next_call)
{
    struct rig rig;
    struct chain chain = {.pending = PENDING_INIT, .rig = &rig, .left = 300};
    rig_start(&rig);
    fake_api_add(rig.api, (struct fake_answer){.status = 200});
    next_of_chain(&chain, NULL);
    pending_wait(&chain.pending, 1);
    assert_int_equal(fake_api_requests(rig.api), 300);
    rig_end(&rig);
}

TEST_THAT(a_callback_at_the_stop_may_call_and_is_refused)
{
    struct rig rig;
    struct chain chain = {.pending = PENDING_INIT, .rig = &rig, .left = 100};
    rig_start(&rig);
    fake_api_add(rig.api, (struct fake_answer){.kind = FAKE_HANG});
    next_of_chain(&chain, NULL);
    fake_api_wait(rig.api, 1);
    rig_end(&rig);
    assert_true(chain.refused);
}

struct ticks {
    struct pending pending; /* first */
    struct rig *rig;
    unsigned n;
};

static void tick(void *context)
{
    struct ticks *ticks = context;
    const struct sl_reply reply = {.status = 0};
    if (ticks->n++ == 100) {
        pending_done(&ticks->pending, &reply);
    }
    (void)sl_client_after(ticks->rig->client, 0, tick, ticks);
}

TEST_THAT(a_timer_that_sets_itself_anew_lets_calls_through)
{
    struct rig rig;
    struct ticks ticks = {.pending = PENDING_INIT, .rig = &rig};
    rig_start(&rig);
    fake_api_add(rig.api, (struct fake_answer){.status = 200});
    assert_int_equal(sl_client_after(rig.client, 0, tick, &ticks), 0);
    pending_wait(&ticks.pending, 1);
    assert_int_equal(rig_wait(&rig, rig_get("/x")).status, 200);
    rig_end(&rig);
}

/* ---- many threads ---- */

enum { THREADS = 16, CALLS_EACH = 60, BAD_TIMES = 30 };

struct caller {
    struct rig *rig;
    unsigned number;
    unsigned answered;
    struct pending pending;
};

static void *call_much(void *context)
{
    struct caller *caller = context;
    for (unsigned i = 0; i < CALLS_EACH; i++) {
        struct sl_call_options call = rig_get(i % 7 == 3 ? "/bad" : "/x");
        call.priority = (enum sl_call_priority)(i % SL_CALL_PRIORITIES);
        call.max_tries = BAD_TIMES + 1; /* none is left without an answer */
        if (i % 5 == caller->number % 5) {
            caller->answered += rig_wait(caller->rig, call).status != 0;
            continue;
        }
        call.done = pending_done;
        call.context = &caller->pending;
        uint64_t id = 0;
        if (sl_client_call(caller->rig->client, &call, &id, NULL) == 0 && i % 11 == 0) {
            sl_client_cancel(caller->rig->client, id);
        }
    }
    return NULL;
}

TEST_THAT(sixteen_threads_at_once_get_each_answer_once)
{
    struct rig rig;
    struct caller caller[THREADS];
    pthread_t thread[THREADS];
    rig_start(&rig);
    fake_api_add(rig.api,
                 (struct fake_answer){.path = "/bad", .times = BAD_TIMES, .kind = FAKE_CLOSE});
    fake_api_add(rig.api, (struct fake_answer){.status = 200});
    for (unsigned i = 0; i < THREADS; i++) {
        caller[i] = (struct caller){.rig = &rig, .number = i, .pending = PENDING_INIT};
        assert_int_equal(pthread_create(&thread[i], NULL, call_much, &caller[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    }
    sl_client_free(rig.client); /* ends what is under way */
    unsigned done = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        done += caller[i].pending.done;
        assert_int_equal(caller[i].answered, CALLS_EACH / 5);
    }
    assert_int_equal(done, THREADS * (CALLS_EACH - CALLS_EACH / 5));
    fake_api_stop(rig.api);
}
