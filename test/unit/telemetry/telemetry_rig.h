/* Telemetry of nodes with a GPU each, for the tests of what it asks and when. This header stands in
 * for the HTTP client and the clocks of the program that includes it: nothing is sent, and time
 * passes as told. */
#ifndef SLICED_TEST_TELEMETRY_RIG_H
#define SLICED_TEST_TELEMETRY_RIG_H

#include "unit/cluster/fixture.h"

#include "telemetry/internal.h"
#include "util/clock.h"
#include "util/time.h"

enum { RIG_CALLS = 256, RIG_TIMERS = 64, RIG_NODES = 256 };

struct rig_call {
    struct sl_call_options options; /* done NULL: the place is free */
    char path[4096];
    int64_t ends_us;
};

struct rig_timer {
    void (*fn)(void *context); /* NULL: the place is free */
    void *context;
    int64_t delay_us;
    int64_t due_us;
};

static struct {
    int64_t monotonic_us;
    int64_t ahead_us; /* of the real clock */
    int64_t least_us; /* no timer may be set to less */
    struct rig_call call[RIG_CALLS];
    struct rig_timer timer[RIG_TIMERS];
    unsigned n_calls;          /* ever */
    unsigned n_timers;         /* ever */
    size_t last;               /* of the timers: was set last */
    unsigned most;             /* calls at the same time */
    unsigned asked[RIG_NODES]; /* exporters, by the number of the node */
    bool knows_pods;
    struct sl_config config;
    struct sl_store *store;
    struct sl_telemetry *telemetry;
} rig;

/* ---- the clocks and the client ---- */

int64_t sl_clock_monotonic_us(void)
{
    return rig.monotonic_us;
}

int64_t sl_clock_monotonic_ns(void)
{
    return rig.monotonic_us * 1000;
}

int64_t sl_clock_real_us(void)
{
    return rig.monotonic_us + rig.ahead_us;
}

struct sl_client *sl_client_new(const struct sl_client_options *options, struct sl_error *err)
{
    (void)options;
    (void)err;
    return (struct sl_client *)(void *)&rig;
}

void sl_client_free(struct sl_client *client)
{
    (void)client;
}

int sl_client_after(struct sl_client *client, int64_t delay_us, void (*fn)(void *context),
                    void *context)
{
    size_t i = 0;
    (void)client;
    assert_true(delay_us >= rig.least_us);
    while (rig.timer[i].fn != NULL) {
        i++;
        assert_true(i < RIG_TIMERS);
    }
    rig.timer[i] = (struct rig_timer){fn, context, delay_us, rig.monotonic_us + delay_us};
    rig.last = i;
    rig.n_timers++;
    return 0;
}

int sl_client_call(struct sl_client *client, const struct sl_call_options *options, uint64_t *id,
                   struct sl_error *err)
{
    size_t i = 0;
    unsigned n = 1;
    const char *node = strstr(options->path, "//n");
    (void)client;
    (void)err;
    while (rig.call[i].options.done != NULL) {
        i++;
        assert_true(i < RIG_CALLS);
    }
    struct rig_call *call = &rig.call[i];
    if (id != NULL) {
        *id = i + 1;
    }
    call->options = *options;
    call->ends_us = rig.monotonic_us + options->timeout_us;
    (void)snprintf(call->path, sizeof(call->path), "%s", options->path);
    rig.n_calls++;
    if (node != NULL) {
        unsigned long number = strtoul(node + strlen("//n"), NULL, 10);
        assert_true(number < RIG_NODES);
        rig.asked[number]++;
    }
    for (size_t k = 0; k < RIG_CALLS; k++) {
        n += k != i && rig.call[k].options.done != NULL;
    }
    rig.most = n > rig.most ? n : rig.most;
    return 0;
}

/* ---- answers ---- */

static inline void rig_end_call(struct rig_call *call, const struct sl_reply *reply)
{
    struct sl_call_options options = call->options;
    call->options.done = NULL;
    options.done(options.context, reply);
}

static inline void rig_hang_up(struct rig_call *call)
{
    struct sl_reply reply = {.status = 0};
    (void)sl_error_set(&reply.err, SL_ERR_SYSTEM, "no answer within a while");
    rig_end_call(call, &reply);
}

/* Negative: whoever asked takes no such answer. */
static inline int rig_answer(struct rig_call *call, const char *text)
{
    struct sl_reply reply = {.status = 200};
    struct sl_error err = {0};
    int rc = call->options.data(call->options.context, text, strlen(text), &err);
    if (rc < 0) {
        reply.err = err;
    }
    rig_end_call(call, &reply);
    return rc;
}

/* ---- time ---- */

/* The timer that was set last fires now. Returns to what delay it was set. */
static inline int64_t rig_tick(void)
{
    struct rig_timer timer = rig.timer[rig.last];
    assert_non_null(timer.fn);
    rig.timer[rig.last].fn = NULL;
    timer.fn(timer.context);
    return timer.delay_us;
}

static inline void rig_pass(int64_t us)
{
    rig.monotonic_us += us;
    for (size_t i = 0; i < RIG_TIMERS; i++) {
        struct rig_timer timer = rig.timer[i];
        if (timer.fn != NULL && timer.due_us <= rig.monotonic_us) {
            rig.timer[i].fn = NULL;
            timer.fn(timer.context);
        }
    }
    for (size_t i = 0; i < RIG_CALLS; i++) {
        if (rig.call[i].options.done != NULL && rig.call[i].ends_us <= rig.monotonic_us) {
            rig_hang_up(&rig.call[i]);
        }
    }
}

/* ---- telemetry ---- */

static inline bool rig_knows_all(void *context)
{
    (void)context;
    return rig.knows_pods;
}

static inline void rig_begin(void)
{
    memset(&rig, 0, sizeof(rig));
    rig.monotonic_us = SL_HOUR_US;
    rig.ahead_us = INT64_C(1790000000) * SL_SECOND_US;
    rig.knows_pods = true;
    sl_config_defaults(&rig.config);
}

static inline void rig_ask_exporters(void)
{
    (void)snprintf(rig.config.telemetry.exporters, sizeof(rig.config.telemetry.exporters),
                   "http://{node}:9400/metrics");
}

static inline void rig_start(void)
{
    struct sl_error err = {0};
    const struct sl_pod_watch watch = {.knows_all = rig_knows_all};
    rig.store = store_of(&roomy);
    rig.telemetry = sl_telemetry_new(&rig.config, rig.store, &err);
    assert_non_null(rig.telemetry);
    sl_telemetry_watch_pods(rig.telemetry, &watch);
    assert_int_equal(sl_telemetry_start(rig.telemetry, &err), 0);
}

static inline void rig_node(unsigned number)
{
    char name[16];
    (void)snprintf(name, sizeof(name), "n%u", number);
    put_node(rig.store, whole_node(name, 1));
}

static inline void rig_end(void)
{
    sl_telemetry_free(rig.telemetry);
    sl_store_free(rig.store);
}

#endif
