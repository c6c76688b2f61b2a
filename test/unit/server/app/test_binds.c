/* Binds that take their time: over real sockets, with a binder that ends when the test says so. */
#include "unit/server/rig.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "server/app/app.h"
#include "server/routes.h"
#include "util/clock.h"
#include "util/time.h"

#define MIG "nvidia.com/gpu"

enum { CALLS_MAX = 16, WAIT_S = 120, REPLY_MAX = 1 << 14 };

/* What the binder was given and has not told the end of. */
struct given {
    sl_bind_done done;
    void *call;
    char pod[64];
    char assignment[SL_ASSIGNMENT_TEXT_MAX];
    uint64_t leadership;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct given given[CALLS_MAX];
    size_t n;
    struct given resolved; /* the last one */
    size_t n_resolved;
    sl_fetch_done fetched; /* of the pod that is looked for */
    void *fetch;
    char looked_for[64];
    size_t n_fetches;
    const char *missing;
    const char *unsynced;
    _Atomic uint64_t leadership;
    bool keep;              /* connections are asked to stay */
    struct sl_app *at_once; /* the binder ends its first call itself, once another request waits */
    char bound[64];
} g = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

static void take_binding(void *context, const struct sl_binding *binding, sl_bind_done done,
                         void *call)
{
    (void)context;
    (void)pthread_mutex_lock(&g.lock);
    struct given *given = &g.given[g.n++];
    given->done = done;
    given->call = call;
    given->leadership = binding->leadership;
    (void)snprintf(given->pod, sizeof(given->pod), "%.*s", (int)binding->name.len, binding->name.s);
    (void)snprintf(given->assignment, sizeof(given->assignment), "%s", binding->assignment);
    (void)pthread_cond_broadcast(&g.more);
    (void)pthread_mutex_unlock(&g.lock);
    if (g.at_once != NULL) {
        while (atomic_load(&g.at_once->metrics.binds[SL_BIND_IN_PROGRESS]) == 0) {
            (void)sched_yield();
        }
        done(call, SL_BIND_END_BOUND, NULL);
    }
}

static void take_lost(void *context, const struct sl_binding *binding, sl_bind_done done,
                      void *call)
{
    (void)context;
    (void)binding;
    g.resolved.done = done;
    g.resolved.call = call;
    g.n_resolved++;
}

static void take_fetch(void *context, const struct sl_binding *pod, sl_fetch_done done, void *call)
{
    (void)context;
    (void)pthread_mutex_lock(&g.lock);
    g.fetched = done;
    g.fetch = call;
    (void)snprintf(g.looked_for, sizeof(g.looked_for), "%.*s/%.*s/%.*s", (int)pod->namespace.len,
                   pod->namespace.s, (int)pod->name.len, pod->name.s, (int)pod->uid.len,
                   pod->uid.s);
    g.n_fetches++;
    (void)pthread_cond_broadcast(&g.more);
    (void)pthread_mutex_unlock(&g.lock);
}

/* The i-th binding that the binder was given, once it has come. */
static struct given *wait_given(size_t i)
{
    struct timespec end;
    (void)clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += WAIT_S;
    (void)pthread_mutex_lock(&g.lock);
    while (g.n <= i) {
        assert_int_equal(pthread_cond_timedwait(&g.more, &g.lock, &end), 0);
    }
    (void)pthread_mutex_unlock(&g.lock);
    return &g.given[i];
}

static void wait_fetch(void)
{
    (void)pthread_mutex_lock(&g.lock);
    while (g.n_fetches == 0) {
        (void)pthread_cond_wait(&g.more, &g.lock);
    }
    (void)pthread_mutex_unlock(&g.lock);
}

static size_t count_given(void)
{
    (void)pthread_mutex_lock(&g.lock);
    size_t n = g.n;
    (void)pthread_mutex_unlock(&g.lock);
    return n;
}

static void end(struct given *given, enum sl_bind_end how, const char *text)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    (void)sl_error_set(&err, SL_ERR_SYSTEM, "%s", text);
    given->done(given->call, how, &err);
}

static const char *missing(void *context)
{
    (void)context;
    return g.missing;
}

static const char *unsynced(void *context)
{
    (void)context;
    return g.unsynced;
}

static void note_bound(void *context, const struct sl_binding *binding)
{
    (void)context;
    (void)snprintf(g.bound, sizeof(g.bound), "%.*s", (int)binding->name.len, binding->name.s);
}

static uint64_t leadership(void *context)
{
    (void)context;
    return atomic_load(&g.leadership);
}

struct rig {
    struct sl_store *store;
    struct sl_app *app;
};

static int set_up(void **state)
{
    static struct rig rig;
    struct sl_config config;
    struct sl_error err = {.code = SL_ERR_NONE};
    sl_config_defaults(&config);
    config.server.threads = 2;
    config.server.shutdown_timeout_us = 300 * SL_SECOND_US;
    (void)snprintf(config.server.listen, sizeof(config.server.listen), "127.0.0.1:0");
    rig.store = rig_store(RIG_NODE("n1", MIG, "2") RIG_NODE("n2", MIG, "2")
                              RIG_POD("p", "u-p", MIG, "1") RIG_POD("q", "u-q", MIG, "2"));
    const struct sl_app_options options = {
        .config = &config,
        .service = &sl_service,
        .store = rig.store,
        .binder = {.bind = take_binding, .resolve = take_lost, .fetch = take_fetch},
        .hooks = {.missing = missing,
                  .unsynced = unsynced,
                  .leadership = leadership,
                  .bound = note_bound},
    };
    g.n = 0;
    g.n_resolved = 0;
    g.n_fetches = 0;
    g.missing = NULL;
    g.keep = false;
    g.at_once = NULL;
    g.bound[0] = '\0';
    rig.app = sl_app_new(&options, &err);
    assert_non_null(rig.app);
    atomic_store(&rig.app->synced, true);
    assert_int_equal(sl_app_serve(rig.app, &err), 0);
    *state = &rig;
    return 0;
}

static int tear_down(void **state)
{
    struct rig *rig = *state;
    sl_app_free(rig->app);
    sl_store_free(rig->store);
    return 0;
}

/* ---- a client ---- */

static int ask(const struct rig *rig, const char *path, const char *body)
{
    char text[1024];
    const struct timeval wait = {.tv_sec = WAIT_S};
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)sl_server_port(rig->app->server)),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    int n =
        snprintf(text, sizeof(text), "%s %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %zu\r\n\r\n%s",
                 body[0] == '\0' ? "GET" : "POST", path, g.keep ? "" : "Connection: close\r\n",
                 strlen(body), body);
    assert_int_equal(send(fd, text, (size_t)n, 0), n);
    return fd;
}

static int ask_bind(const struct rig *rig, const char *pod, const char *node)
{
    char body[256];
    (void)snprintf(body, sizeof(body),
                   "{\"PodName\":\"%s\",\"PodNamespace\":\"default\",\"PodUID\":\"u-%s\","
                   "\"Node\":\"%s\"}",
                   pod, pod, node);
    return ask(rig, "/scheduler/bind", body);
}

/* The body of the reply, until the next call. */
static const char *reply(int fd)
{
    static char text[REPLY_MAX];
    size_t len = 0;
    for (ssize_t n = 1; n > 0 && len < sizeof(text) - 1;) {
        n = recv(fd, text + len, sizeof(text) - 1 - len, 0);
        assert_true(n >= 0);
        len += (size_t)n;
    }
    text[len] = '\0';
    (void)close(fd);
    const char *body = strstr(text, "\r\n\r\n");
    assert_non_null(body);
    return body + 4;
}

static void assert_reply(int fd, const char *part)
{
    const char *text = reply(fd);
    if (strstr(text, part) == NULL) {
        fail_msg("no %s in %s", part, text);
    }
}

/* True when a reply can be read without waiting. */
static bool answered(int fd)
{
    char c = 0;
    return recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

static struct sl_store_stats stats(const struct rig *rig)
{
    struct sl_store_stats out;
    sl_store_stats(rig->store, &out);
    return out;
}

static size_t reserved(const struct rig *rig)
{
    const struct sl_snapshot *snapshot = sl_store_acquire(rig->store);
    size_t n = snapshot->n_reserved;
    sl_store_release(rig->store, snapshot);
    return n;
}

/* ---- */

TEST_FIXTURE(set_up, tear_down)

TEST_ON(const struct rig *rig, the_reply_comes_when_the_binding_has_ended)
{
    int fd = ask_bind(rig, "p", "n1");
    struct given *given = wait_given(0);
    assert_string_equal(given->pod, "p");
    assert_string_not_equal(given->assignment, "");
    assert_int_equal(reserved(rig), 1);
    assert_false(answered(fd));
    end(given, SL_BIND_END_BOUND, "");
    assert_reply(fd, "{\"Error\":\"\"}");
    assert_int_equal(stats(rig).binds, 1);
    assert_int_equal(reserved(rig), 0);
    assert_string_equal(g.bound, "p");
    assert_reply(ask_bind(rig, "p", "n1"), "{\"Error\":\"\"}");
    assert_int_equal(count_given(), 1);
}

TEST_ON(const struct rig *rig, a_binding_that_surely_failed_gives_its_devices_back)
{
    int fd = ask_bind(rig, "q", "n1");
    end(wait_given(0), SL_BIND_END_FAILED, "the pod is gone");
    assert_reply(fd, "{\"Error\":\"the pod is gone\"}");
    assert_int_equal(stats(rig).rollbacks, 1);
    assert_string_equal(g.bound, "");
    fd = ask_bind(rig, "p", "n1");
    end(wait_given(1), SL_BIND_END_BOUND, "");
    assert_reply(fd, "{\"Error\":\"\"}");
}

TEST_ON(const struct rig *rig, an_unknown_outcome_keeps_the_reservation_and_the_next_bind_finds_out)
{
    int fd = ask_bind(rig, "p", "n1");
    struct given *first = wait_given(0);
    end(first, SL_BIND_END_UNKNOWN, "no answer in time");
    assert_reply(fd, "no answer in time");
    assert_int_equal(reserved(rig), 1);
    assert_int_equal(stats(rig).rollbacks, 0);

    assert_reply(ask_bind(rig, "p", "n2"), "is being bound to node n1");
    assert_int_equal(count_given(), 1);
    fd = ask_bind(rig, "p", "n1");
    struct given *second = wait_given(1);
    assert_string_equal(second->assignment, first->assignment);
    end(second, SL_BIND_END_BOUND, "");
    assert_reply(fd, "{\"Error\":\"\"}");
    assert_int_equal(reserved(rig), 0);
    assert_int_equal(stats(rig).binds, 1);
}

/* Its devices were chosen before the other replica led and may be somebody else's by now. */
TEST_THAT(an_unknown_outcome_of_an_earlier_term_is_looked_up_and_not_sent_again)
{
    const struct rig *rig = *state;
    int fd = ask_bind(rig, "p", "n1");
    end(wait_given(0), SL_BIND_END_UNKNOWN, "no answer in time");
    assert_reply(fd, "no answer in time");
    (void)atomic_fetch_add(&g.leadership, 1);

    assert_reply(ask_bind(rig, "p", "n1"), "before another replica led");
    assert_int_equal(count_given(), 1);
    assert_int_equal(reserved(rig), 1);

    sl_binds_resolve(&rig->app->binds, sl_clock_monotonic_ns() / 1000 + INT64_C(70000000),
                     INT64_C(60000000));
    assert_int_equal(g.n_resolved, 1);
    end(&g.resolved, SL_BIND_END_FAILED, "the pod was not bound");
    assert_int_equal(reserved(rig), 0);
    fd = ask_bind(rig, "p", "n1"); /* chooses anew */
    assert_int_equal(wait_given(1)->leadership, wait_given(0)->leadership + 1);
    end(wait_given(1), SL_BIND_END_BOUND, "");
    assert_reply(fd, "{\"Error\":\"\"}");
}

TEST_ON(const struct rig *rig, a_second_bind_waits_for_the_first_and_gets_its_outcome)
{
    static const enum sl_bind_end ends[] = {SL_BIND_END_FAILED, SL_BIND_END_UNKNOWN,
                                            SL_BIND_END_BOUND};
    /* after an unknown outcome the first of three finds a reservation too */
    static const uint64_t in_progress[] = {2, 4, 7};
    for (size_t i = 0; i < 3; i++) {
        int first = ask_bind(rig, "p", "n1");
        struct given *given = wait_given(i);
        int second = ask_bind(rig, "p", "n1");
        int third = ask_bind(rig, "p", "n1");
        /* on the same threads, so that both have been looked at */
        while (atomic_load(&rig->app->metrics.binds[SL_BIND_IN_PROGRESS]) < in_progress[i]) {
            assert_reply(ask(rig, "/healthz", ""), "ok");
        }
        assert_false(answered(second));
        end(given, ends[i], "for all of them");
        const char *expected = ends[i] == SL_BIND_END_BOUND ? "{\"Error\":\"\"}" : "for all";
        assert_reply(first, expected);
        assert_reply(second, expected);
        assert_reply(third, expected);
    }
    assert_int_equal(count_given(), 3);
    assert_int_equal(stats(rig).binds, 1);
}

/* As on an embedded cluster. */
TEST_ON(const struct rig *rig, who_waits_is_answered_by_a_binding_that_ends_at_once)
{
    g.at_once = rig->app;
    int first = ask_bind(rig, "p", "n1");
    (void)wait_given(0);
    int second = ask_bind(rig, "p", "n1");
    assert_reply(second, "{\"Error\":\"\"}");
    assert_reply(first, "{\"Error\":\"\"}");
    assert_int_equal(count_given(), 1);
}

TEST_ON(const struct rig *rig, a_client_that_went_away_changes_nothing_of_the_outcome)
{
    int fd = ask_bind(rig, "p", "n1");
    struct given *given = wait_given(0);
    (void)close(fd);
    assert_reply(ask(rig, "/healthz", ""), "ok");
    end(given, SL_BIND_END_BOUND, "");
    assert_int_equal(stats(rig).binds, 1);
    assert_reply(ask_bind(rig, "p", "n1"), "{\"Error\":\"\"}");
}

TEST_ON(const struct rig *rig, while_it_is_bound_filter_offers_its_node_alone)
{
    const char *body = "{\"Pod\":{\"metadata\":{\"name\":\"q\",\"uid\":\"u-q\"},\"spec\":{"
                       "\"containers\":[{\"resources\":{\"limits\":{\"" MIG "\":\"2\"}}}]}},"
                       "\"NodeNames\":[\"n0\",\"n1\",\"n2\"]}";
    int fd = ask_bind(rig, "q", "n1");
    struct given *given = wait_given(0);
    const char *text = reply(ask(rig, "/scheduler/filter", body));
    assert_non_null(strstr(text, "\"NodeNames\":[\"n1\"]"));
    assert_non_null(strstr(text, "\"FailedNodes\":{\"n0\":\"its devices are reserved on another "
                                 "node\",\"n2\":\"its"));
    end(given, SL_BIND_END_FAILED, "no");
    assert_reply(fd, "no");
    assert_reply(ask(rig, "/scheduler/filter", body), "\"NodeNames\":[\"n1\",\"n2\"]");
}

static void *drain(void *context)
{
    const struct rig *rig = context;
    return sl_app_drain(rig->app) ? context : NULL;
}

TEST_ON(struct rig *rig, draining_waits_for_bindings)
{
    pthread_t thread;
    void *result = NULL;
    int fd = ask_bind(rig, "p", "n1");
    struct given *given = wait_given(0);
    assert_int_equal(pthread_create(&thread, NULL, drain, rig), 0);
    while (!atomic_load(&rig->app->http.draining)) {
        (void)sched_yield();
    }
    assert_false(answered(fd));
    end(given, SL_BIND_END_BOUND, "");
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, rig);
    assert_reply(fd, "{\"Error\":\"\"}");
}

TEST_THAT(stopping_leaves_nobody_waiting_and_the_ledger_still_learns_the_outcome)
{
    const struct rig *rig = *state;
    int fd = ask_bind(rig, "p", "n1");
    int other = ask_bind(rig, "q", "n2");
    (void)wait_given(1);
    sl_app_stop(rig->app);
    (void)close(fd);
    (void)close(other);
    size_t of_p = strcmp(g.given[0].pod, "p") == 0 ? 0 : 1;
    end(&g.given[of_p], SL_BIND_END_BOUND, "");
    end(&g.given[1 - of_p], SL_BIND_END_UNKNOWN, "");
    assert_int_equal(stats(rig).binds, 1);
    assert_int_equal(reserved(rig), 1);
}

TEST_ON(const struct rig *rig, what_is_unknown_for_long_is_looked_at)
{
    char node[64] = "";
    int fd = ask_bind(rig, "p", "n1");
    end(wait_given(0), SL_BIND_END_UNKNOWN, "?");
    assert_reply(fd, "?");
    int64_t now = sl_clock_monotonic_ns() / 1000;
    sl_binds_resolve(&rig->app->binds, now, INT64_C(60000000));
    assert_int_equal(g.n_resolved, 0);
    assert_true(sl_binds_node(&rig->app->binds, SL_STR("u-p"), node, sizeof(node)));
    assert_string_equal(node, "n1");

    sl_binds_resolve(&rig->app->binds, now + INT64_C(70000000), INT64_C(60000000));
    sl_binds_resolve(&rig->app->binds, now + INT64_C(80000000), INT64_C(60000000));
    assert_int_equal(g.n_resolved, 1); /* one look at a time */
    end(&g.resolved, SL_BIND_END_UNKNOWN, "?");
    assert_int_equal(reserved(rig), 1);

    sl_binds_resolve(&rig->app->binds, now + INT64_C(700000000), INT64_C(60000000));
    assert_int_equal(g.n_resolved, 2);
    fd = ask_bind(rig, "p", "n1"); /* waits for the look */
    while (atomic_load(&rig->app->metrics.binds[SL_BIND_IN_PROGRESS]) == 0) {
        assert_reply(ask(rig, "/healthz", ""), "ok");
    }
    end(&g.resolved, SL_BIND_END_FAILED, "the pod was not bound");
    assert_reply(fd, "the pod was not bound");
    assert_int_equal(reserved(rig), 0);
    assert_int_equal(count_given(), 1);
    assert_false(sl_binds_node(&rig->app->binds, SL_STR("u-p"), node, sizeof(node)));
}

/* ---- the scheduler is ahead of our watch ---- */

TEST_ON(const struct rig *rig, a_pod_that_is_not_known_is_looked_for_and_bound)
{
    int fd = ask_bind(rig, "x", "n1");
    wait_fetch();
    assert_string_equal(g.looked_for, "default/x/u-x");
    assert_false(answered(fd));
    rig_load(rig->store, RIG_POD("x", "u-x", MIG, "1"));
    g.fetched(g.fetch);
    end(wait_given(0), SL_BIND_END_BOUND, "");
    assert_reply(fd, "{\"Error\":\"\"}");
    assert_int_equal(g.n_fetches, 1);
    assert_int_equal(atomic_load(&rig->app->metrics.binds[SL_BIND_UNKNOWN_POD]), 0);
    assert_int_equal(atomic_load(&rig->app->metrics.binds[SL_BIND_RESERVED]), 1);
}

TEST_ON(const struct rig *rig, a_pod_that_was_made_anew_is_looked_for_too)
{
    rig_load(rig->store, RIG_POD("x", "u-old", MIG, "1"));
    int fd = ask_bind(rig, "x", "n1");
    wait_fetch();
    rig_load(rig->store, RIG_POD("x", "u-x", MIG, "1"));
    g.fetched(g.fetch);
    end(wait_given(0), SL_BIND_END_BOUND, "");
    assert_reply(fd, "{\"Error\":\"\"}");
}

TEST_ON(const struct rig *rig, a_pod_that_is_not_there_either_is_refused_after_one_look)
{
    int fd = ask_bind(rig, "x", "n1");
    wait_fetch();
    g.fetched(g.fetch);
    assert_reply(fd, "pod default/x is not known");
    assert_int_equal(g.n_fetches, 1);
    assert_int_equal(count_given(), 0);
    assert_int_equal(atomic_load(&rig->app->metrics.binds[SL_BIND_UNKNOWN_POD]), 1);
}

TEST_ON(const struct rig *rig, who_leads_no_more_after_the_look_binds_nothing)
{
    int fd = ask_bind(rig, "x", "n1");
    wait_fetch();
    rig_load(rig->store, RIG_POD("x", "u-x", MIG, "1"));
    g.missing = "another replica leads";
    g.fetched(g.fetch);
    assert_reply(fd, "sliced is not ready: another replica leads");
    assert_int_equal(count_given(), 0);
    assert_int_equal(reserved(rig), 0);
}

TEST_ON(const struct rig *rig, stopping_does_not_wait_for_a_look)
{
    int fd = ask_bind(rig, "x", "n1");
    wait_fetch();
    sl_app_stop(rig->app);
    g.fetched(g.fetch);
    (void)close(fd);
}

/* Else a scheduler would ask a replica that has lost the lease for as long as it lives. */
TEST_ON(const struct rig *rig, a_verb_that_cannot_be_served_ends_the_connection)
{
    g.keep = true;
    g.missing = "another replica leads";
    /* reply() reads to the end of the connection, which the client has not asked for */
    assert_reply(ask_bind(rig, "p", "n1"), "another replica leads");
    assert_reply(
        ask(rig, "/scheduler/filter", "{\"Pod\":{\"metadata\":{\"name\":\"p\"}},\"NodeNames\":[]}"),
        "another replica leads");
    assert_reply(ask(rig, "/scheduler/prioritize",
                     "{\"Pod\":{\"metadata\":{\"name\":\"p\"}},\"NodeNames\":[]}"),
                 "another replica leads");
}

TEST_ON(const struct rig *rig, what_is_missing_is_told_by_verbs_and_readiness)
{
    g.missing = "another replica leads";
    assert_reply(ask(rig, "/readyz", ""), "not ready: another replica leads");
    assert_reply(ask_bind(rig, "p", "n1"), "sliced is not ready: another replica leads");
    assert_reply(
        ask(rig, "/scheduler/filter", "{\"Pod\":{\"metadata\":{\"name\":\"p\"}},\"NodeNames\":[]}"),
        "\"Error\":\"sliced is not ready: another replica leads\"");
    assert_reply(ask(rig, "/scheduler/prioritize",
                     "{\"Pod\":{\"metadata\":{\"name\":\"p\"}},\"NodeNames\":[]}"),
                 "sliced is not ready: another replica leads");
    assert_int_equal(reserved(rig), 0);
    g.missing = NULL;
    assert_reply(ask(rig, "/readyz", ""), "ok");
}

TEST_ON(const struct rig *rig, a_standby_tells_whether_it_could_take_over)
{
    g.missing = "another replica leads";
    assert_reply(ask(rig, "/syncz", ""), "ok");
    g.unsynced = "waiting for the list of nodes";
    assert_reply(ask(rig, "/syncz", ""), "not ready: waiting for the list of nodes");
    g.unsynced = NULL;
}
