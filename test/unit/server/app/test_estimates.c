/* The line of those who ask for estimates: one that asks on and on keeps nobody from a turn. */
#include "unit/server/rig.h"

#include <pthread.h>
#include <time.h>

#include "server/app/estimates.h"
#include "util/time.h"

enum { REQUESTS = SL_ESTIMATES_WAITING + 8, WAIT_S = 120 };

/* The queue answers once its gate is open; a pod's name stands for its request. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open;
    int64_t spent_us;
    unsigned n_asked;
    const struct sl_pod *asked[REQUESTS];
    unsigned resumed;
} g = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

struct scene {
    struct sl_queue_reader queue;
    struct sl_estimates estimates;
    struct sl_request request[REQUESTS];
    struct sl_estimate_request asks[REQUESTS];
    unsigned n;
};

/* In the place of the HTTP library's. */
void MHD_suspend_connection(struct MHD_Connection *connection)
{
    (void)connection;
}

void MHD_resume_connection(struct MHD_Connection *connection)
{
    (void)connection;
    (void)pthread_mutex_lock(&g.lock);
    g.resumed++;
    (void)pthread_cond_broadcast(&g.changed);
    (void)pthread_mutex_unlock(&g.lock);
}

static int answer_when_open(void *context, struct sl_pod *pod, struct sl_queue_what_if *out,
                            struct sl_error *err)
{
    (void)context;
    (void)err;
    (void)pthread_mutex_lock(&g.lock);
    g.asked[g.n_asked++] = pod;
    (void)pthread_cond_broadcast(&g.changed);
    while (!g.open) {
        (void)pthread_cond_wait(&g.changed, &g.lock);
    }
    out->position = g.n_asked;
    out->spent_us = g.spent_us;
    (void)pthread_mutex_unlock(&g.lock);
    return 0;
}

static void wait_until(const unsigned *count, unsigned n)
{
    struct timespec end;
    (void)clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += WAIT_S;
    (void)pthread_mutex_lock(&g.lock);
    while (*count < n) {
        assert_int_equal(pthread_cond_timedwait(&g.changed, &g.lock, &end), 0);
    }
    (void)pthread_mutex_unlock(&g.lock);
}

static void gate_open(void)
{
    (void)pthread_mutex_lock(&g.lock);
    g.open = true;
    (void)pthread_cond_broadcast(&g.changed);
    (void)pthread_mutex_unlock(&g.lock);
}

static void begin(struct scene *scene)
{
    g.open = false;
    g.spent_us = 0;
    g.n_asked = 0;
    g.resumed = 0;
    *scene = (struct scene){.queue = {.what_if = answer_when_open}};
    sl_estimates_init(&scene->estimates, &scene->queue);
    scene->estimates.rest_ns = 0;
    scene->estimates.rest_most_ns = 0;
    scene->estimates.wait_ns = SL_MINUTE_NS * 60;
}

static void end(struct scene *scene)
{
    gate_open();
    sl_estimates_stop(&scene->estimates);
    sl_estimates_free(&scene->estimates);
}

/* The pod is the request's own address: nobody looks into it. */
static struct sl_pod *pod_of(struct sl_estimate_request *ask)
{
    return (void *)ask;
}

/* The refusal's code; SL_ERR_NONE: it waits. */
static enum sl_error_code ask(struct scene *scene, uint64_t who)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_estimate_request *new = &scene->asks[scene->n];
    *new = (struct sl_estimate_request){
        .request = &scene->request[scene->n], .who = who, .pod = pod_of(new)};
    scene->n++;
    (void)sl_estimates_ask(&scene->estimates, new, NULL, &err);
    return err.code;
}

static void assert_order(struct scene *scene, const unsigned *order, unsigned n)
{
    wait_until(&g.n_asked, n);
    for (unsigned i = 0; i < n; i++) {
        assert_ptr_equal(g.asked[i], pod_of(&scene->asks[order[i]]));
    }
}

TEST_FIXTURE_OF(struct scene, begin, end)

TEST_ON(struct scene *scene, who_asks_on_and_on_waits_behind_the_others)
{
    assert_int_equal(ask(scene, 1), SL_ERR_NONE);
    wait_until(&g.n_asked, 1); /* under way */
    assert_int_equal(ask(scene, 1), SL_ERR_NONE);
    for (unsigned i = 0; i < 3; i++) { /* its one place in the line is taken */
        assert_int_equal(ask(scene, 1), SL_ERR_LIMIT);
    }
    assert_int_equal(ask(scene, 2), SL_ERR_NONE);
    assert_int_equal(ask(scene, 3), SL_ERR_NONE);
    gate_open();
    assert_order(scene, (const unsigned[]){0, 1, 5, 6}, 4);
    wait_until(&g.resumed, 4);
    assert_int_equal(ask(scene, 1), SL_ERR_NONE); /* it has a turn again when it waits no more */
    wait_until(&g.resumed, 5);
    assert_int_equal(scene->asks[5].result, 0);
    assert_int_equal(scene->asks[5].what_if.position, 3);
}

/* It would be an hour's wait, for what another asked or others have in the queue. */
TEST_ON(struct scene *scene, a_dear_estimate_takes_no_turn_from_others)
{
    g.spent_us = SL_HOUR_US;
    gate_open();
    assert_int_equal(ask(scene, 1), SL_ERR_NONE);
    wait_until(&g.resumed, 1);
    assert_int_equal(ask(scene, 2), SL_ERR_NONE);
    wait_until(&g.resumed, 2);
    assert_int_equal(scene->asks[1].result, 0);
}

TEST_ON(struct scene *scene, the_line_is_bounded)
{
    assert_int_equal(ask(scene, 1), SL_ERR_NONE);
    wait_until(&g.n_asked, 1);
    for (unsigned i = 0; i < SL_ESTIMATES_WAITING; i++) {
        assert_int_equal(ask(scene, 2 + i), SL_ERR_NONE);
    }
    assert_int_equal(ask(scene, 1), SL_ERR_LIMIT);
    gate_open();
    wait_until(&g.resumed, 1 + SL_ESTIMATES_WAITING);
    assert_int_equal(ask(scene, 1), SL_ERR_NONE);
}

TEST_ON(struct scene *scene, nobody_waits_for_ever)
{
    scene->estimates.rest_ns = SL_MINUTE_NS * 60;
    gate_open();
    assert_int_equal(ask(scene, 1), SL_ERR_NONE);
    wait_until(&g.resumed, 1);
    scene->estimates.wait_ns = SL_MS_NS;
    assert_int_equal(ask(scene, 2), SL_ERR_NONE);
    wait_until(&g.resumed, 2);
    assert_int_equal(scene->asks[1].result, -1);
    assert_int_equal(scene->asks[1].err.code, SL_ERR_LIMIT);
    assert_int_equal(g.n_asked, 1);
}

TEST_ALONE(the_end_answers_all_that_wait)
{
    static struct scene scene;
    begin(&scene);
    assert_int_equal(ask(&scene, 1), SL_ERR_NONE);
    wait_until(&g.n_asked, 1);
    assert_int_equal(ask(&scene, 2), SL_ERR_NONE);
    sl_estimates_close(&scene.estimates);
    assert_int_equal(g.resumed, 1);
    assert_int_equal(scene.asks[1].err.code, SL_ERR_SYSTEM);
    assert_int_equal(ask(&scene, 3), SL_ERR_SYSTEM);
    end(&scene);
    assert_int_equal(g.resumed, 2);
    assert_int_equal(scene.asks[0].result, 0);
}

static uint64_t who(const char *user)
{
    return sl_estimate_who(sl_str_of(user));
}

TEST_ALONE(service_accounts_of_a_namespace_are_one)
{
    assert_int_equal(who("system:serviceaccount:a:x"), who("system:serviceaccount:a:y"));
    assert_int_not_equal(who("system:serviceaccount:a:x"), who("system:serviceaccount:b:x"));
    assert_int_not_equal(who("system:serviceaccount:a:x"), who("system:serviceaccount:aa:x"));
    assert_int_not_equal(who("alice"), who("bob"));
    assert_int_not_equal(who("alice:x"), who("alice:y"));
    assert_int_not_equal(who("a"), who("system:serviceaccount:a:x"));
    assert_int_equal(who(""), 0);
    assert_int_equal(who("system:serviceaccount:"), who("system:serviceaccount:"));
}
