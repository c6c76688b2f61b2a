/* Takes the place of src/kube/client/client.c and what is behind it. */
#include "adversary/fake_client.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adversary/account.h"
#include "adversary/garble.h"
#include "adversary/gauges.h"
#include "adversary/hooks.h"
#include "adversary/world.h"
#include "util/clock.h"

struct call {
    struct call *next;
    uint64_t id;
    struct sl_call_options options;
    char *text; /* method, path, content type and body */
    int64_t ends_us;
    bool cancelled;
    /* of a watch */
    bool open;
    enum world_kind kind;
    uint64_t version;
    int64_t heard_us;
    int64_t over_us;
    bool ended, expired;
};

struct timer {
    struct timer *next;
    int64_t due_us;
    void (*fn)(void *context);
    void *context;
};

struct sl_client {
    pthread_mutex_t lock;
    struct call *calls;
    struct timer *timers;
    uint64_t last_id;
    bool stop;
    struct sl_client_stats stats;
    /* with threads */
    pthread_t thread;
    pthread_cond_t woken;
    struct client_faults faults;
    struct rng rng;
    bool threaded, working;
    bool worked;    /* the last step did something */
    unsigned steps; /* that have ended */
};

static struct sl_client *latest, *measuring;

struct sl_client *client_latest(void)
{
    return latest;
}

struct sl_client *client_measuring(void)
{
    return measuring;
}

static void *must(void *block)
{
    if (block == NULL) {
        abort();
    }
    return block;
}

/* ---- the interface ---- */

static void *run(void *context);

struct sl_client *sl_client_new(const struct sl_client_options *options, struct sl_error *err)
{
    (void)err;
    struct sl_client *client = must(calloc(1, sizeof(*client)));
    pthread_condattr_t attr;
    (void)pthread_mutex_init(&client->lock, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&client->woken, &attr);
    (void)pthread_condattr_destroy(&attr);
    client->threaded = hooks_threads();
    client->rng.state = 1;
    if (strcmp(options->access->server, "https://adversary") == 0) {
        latest = client;
    } else {
        measuring = client;
    }
    if (client->threaded && pthread_create(&client->thread, NULL, run, client) != 0) {
        abort();
    }
    return client;
}

static char *keep(char **at, const char *text, size_t len)
{
    char *copy = *at;
    if (text == NULL) {
        return NULL;
    }
    memcpy(copy, text, len);
    copy[len] = '\0';
    *at += len + 1;
    return copy;
}

static size_t length(const char *text)
{
    return text == NULL ? 0 : strlen(text);
}

int sl_client_call(struct sl_client *client, const struct sl_call_options *options, uint64_t *id,
                   struct sl_error *err)
{
    struct call *call = must(calloc(1, sizeof(*call)));
    int64_t now_us = sl_clock_monotonic_us();
    call->options = *options;
    call->text = must(malloc(length(options->method) + length(options->path) +
                             length(options->content_type) + options->body.len + 4));
    char *at = call->text;
    call->options.method = keep(&at, options->method, length(options->method));
    call->options.path = keep(&at, options->path, length(options->path));
    call->options.content_type = keep(&at, options->content_type, length(options->content_type));
    call->options.body.s =
        keep(&at, options->body.len == 0 ? "" : options->body.s, options->body.len);
    int64_t within = options->within_us > 0 ? options->within_us : INT64_MAX / 4;
    int64_t whole = options->timeout_us > 0 ? options->timeout_us : INT64_MAX / 4;
    call->ends_us = now_us + (within < whole ? within : whole);
    /* before the client's thread has the call: it may be answered at once */
    account_call(options->method, options->path, options->body.s, options->body.len);
    (void)pthread_mutex_lock(&client->lock);
    bool stop = client->stop;
    if (!stop) {
        call->id = ++client->last_id;
        call->next = client->calls;
        client->calls = call;
        client->stats.calls++;
        if (id != NULL) {
            *id = call->id;
        }
        (void)pthread_cond_signal(&client->woken);
    }
    (void)pthread_mutex_unlock(&client->lock);
    if (stop) {
        account_answered(options->method, options->path, options->body.s, options->body.len);
        free(call->text);
        free(call);
        return sl_error_set(err, SL_ERR_CONFLICT, "the client is stopped");
    }
    return 0;
}

void sl_client_cancel(struct sl_client *client, uint64_t id)
{
    (void)pthread_mutex_lock(&client->lock);
    for (struct call *call = client->calls; call != NULL; call = call->next) {
        call->cancelled = call->cancelled || (call->id == id && id != 0);
    }
    (void)pthread_mutex_unlock(&client->lock);
}

int sl_client_after(struct sl_client *client, int64_t delay_us, void (*fn)(void *context),
                    void *context)
{
    struct timer *timer = must(malloc(sizeof(*timer)));
    *timer =
        (struct timer){.due_us = sl_clock_monotonic_us() + delay_us, .fn = fn, .context = context};
    (void)pthread_mutex_lock(&client->lock);
    bool stop = client->stop;
    struct timer **at = &client->timers;
    while (*at != NULL && (*at)->due_us <= timer->due_us) {
        at = &(*at)->next;
    }
    if (!stop) {
        timer->next = *at;
        *at = timer;
    }
    (void)pthread_mutex_unlock(&client->lock);
    if (stop) {
        free(timer);
    }
    return stop ? -1 : 0;
}

void sl_client_stats(struct sl_client *client, struct sl_client_stats *out)
{
    (void)pthread_mutex_lock(&client->lock);
    *out = client->stats;
    (void)pthread_mutex_unlock(&client->lock);
}

/* ---- ends of calls ---- */

static void finish(struct sl_client *client, struct call *call, struct sl_reply *reply)
{
    (void)pthread_mutex_lock(&client->lock);
    struct call **at = &client->calls;
    while (*at != call) {
        at = &(*at)->next;
    }
    *at = call->next;
    client->stats.failures += reply->status < 200 || reply->status >= 400 ? 1 : 0;
    (void)pthread_mutex_unlock(&client->lock);
    if (reply->status == 0 && reply->err.code == SL_ERR_NONE) {
        (void)sl_error_set(&reply->err, SL_ERR_SYSTEM, "no answer");
    }
    account_answered(call->options.method, call->options.path, call->options.body.s,
                     call->options.body.len);
    call->options.done(call->options.context, reply);
    free(call->text);
    free(call);
}

static void fail_call(struct sl_client *client, struct call *call, bool maybe)
{
    struct sl_reply reply = {.status = 0, .maybe_done = maybe};
    finish(client, call, &reply);
}

/* The API server has it, though nobody waits for the answer any more. */
static void carry_out_late(struct sl_client *client, const struct call *call)
{
    const struct world_request request = {.method = call->options.method,
                                          .path = call->options.path,
                                          .content_type = call->options.content_type,
                                          .body = call->options.body.s,
                                          .len = call->options.body.len};
    struct world_reply reply = {.status = 0};
    if (strcmp(call->options.method, "GET") != 0 && rng_chance(&client->rng, 50)) {
        world_answer(&request, &reply);
        free(reply.text);
    }
}

void sl_client_free(struct sl_client *client)
{
    if (client == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&client->lock);
    client->stop = true;
    (void)pthread_cond_signal(&client->woken);
    (void)pthread_mutex_unlock(&client->lock);
    if (client->threaded) {
        (void)pthread_join(client->thread, NULL);
    }
    while (client->calls != NULL || client->timers != NULL) {
        if (client->calls != NULL) {
            carry_out_late(client, client->calls);
            fail_call(client, client->calls, true);
        } else {
            struct timer *timer = client->timers;
            client->timers = timer->next;
            timer->fn(timer->context);
            free(timer);
        }
    }
    (void)pthread_cond_destroy(&client->woken);
    (void)pthread_mutex_destroy(&client->lock);
    latest = latest == client ? NULL : latest;
    measuring = measuring == client ? NULL : measuring;
    free(client);
}

/* ---- answers ---- */

static void set_problem(struct sl_reply *reply, const char *text)
{
    json_t *root = text == NULL ? NULL : json_loads(text, JSON_ALLOW_NUL, NULL);
    const char *message = json_string_value(json_object_get(root, "message"));
    const char *reason = json_string_value(json_object_get(root, "reason"));
    enum sl_error_code code = reply->status == 404   ? SL_ERR_NOTFOUND
                              : reply->status == 409 ? SL_ERR_CONFLICT
                                                     : SL_ERR_SYSTEM;
    (void)sl_error_set(&reply->err, code, "%s", message == NULL ? "no message" : message);
    (void)snprintf(reply->reason, sizeof(reply->reason), "%s", reason == NULL ? "" : reason);
    json_decref(root);
}

/* In pieces of any size; false: the receiver wants no more, or it was cut off. */
static bool stream(struct rng *rng, const struct call *call, const char *text, size_t left,
                   bool cut, struct sl_error *err)
{
    left = cut && left > 0 ? rng_next(rng) % left : left;
    while (left > 0) {
        size_t piece = rng_chance(rng, 70) ? left : 1 + rng_next(rng) % left;
        char *copy = must(malloc(piece)); /* of its exact size, for AddressSanitizer */
        memcpy(copy, text, piece);
        int result = call->options.data(call->options.context, copy, piece, err);
        free(copy);
        if (result < 0) {
            return false;
        }
        text += piece;
        left -= piece;
    }
    return !cut;
}

static void refuse(struct sl_client *client, struct rng *rng, struct call *call)
{
    static const int codes[] = {403, 409, 422, 429, 500, 503, 400};
    static const char *const words[] = {
        "admission webhook \"x\" denied the request: \033[31mno\007\nno",
        "pods \"p\" is forbidden: exceeded quota", "too many requests",
        "User \"s\" cannot patch resource \"pods\" in API group \"\""};
    struct sl_reply reply = {.status = rng_pick(rng, codes)};
    (void)sl_error_set(&reply.err, reply.status == 409 ? SL_ERR_CONFLICT : SL_ERR_SYSTEM, "%s",
                       rng_pick(rng, words));
    reply.retry_after_us = reply.status == 429 ? 100000 : 0;
    finish(client, call, &reply);
}

static void open_watch(struct sl_client *client, struct call *call,
                       const struct world_reply *answer)
{
    (void)pthread_mutex_lock(&client->lock);
    call->open = true;
    call->kind = answer->kind;
    call->version = answer->version;
    call->heard_us = sl_clock_monotonic_us();
    call->over_us = call->heard_us + answer->seconds * 1000000;
    (void)pthread_mutex_unlock(&client->lock);
}

static void deliver(struct sl_client *client, struct rng *rng, struct call *call,
                    const struct client_faults *faults, struct world_reply *answer)
{
    struct sl_reply reply = {.status = answer->status};
    if (answer->status >= 300) {
        set_problem(&reply, answer->text);
    } else if (call->options.data != NULL) {
        bool cut = rng_chance(rng, faults->cut);
        bool whole = stream(rng, call, answer->text, strlen(answer->text), cut, &reply.err);
        if (client == measuring) {
            gauges_told(whole);
        } else {
            world_told_page(answer, whole);
        }
        reply.status = whole ? 200 : 0;
    } else {
        reply.body = (struct sl_str){answer->text, length(answer->text)};
    }
    finish(client, call, &reply);
}

static void measure(struct rng *rng, const char *path, struct world_reply *reply)
{
    world_lock();
    reply->list = -1;
    reply->text = gauges_answer(rng, path);
    reply->status = reply->text == NULL ? 404 : 200;
    world_unlock();
}

static void answer(struct sl_client *client, struct rng *rng, struct call *call,
                   const struct client_faults *faults)
{
    const struct world_request request = {.method = call->options.method,
                                          .path = call->options.path,
                                          .content_type = call->options.content_type,
                                          .body = call->options.body.s,
                                          .len = call->options.body.len};
    struct world_reply reply = {.status = 0};
    bool lost = rng_chance(rng, faults->lost);
    if (rng_chance(rng, faults->refused)) {
        refuse(client, rng, call);
        return;
    }
    if (lost && rng_chance(rng, 50)) {
        fail_call(client, call, rng_chance(rng, 50));
        return;
    }
    if (client == measuring) {
        measure(rng, call->options.path, &reply);
    } else {
        world_answer(&request, &reply);
    }
    if (reply.watch) {
        open_watch(client, call, &reply);
    } else if (lost) {
        fail_call(client, call, true);
    } else {
        deliver(client, rng, call, faults, &reply);
    }
    free(reply.text);
}

/* ---- watches ---- */

static void end_watch(struct sl_client *client, struct rng *rng, struct call *call, bool clean)
{
    static const char gone[] = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":"
                               "\"v1\",\"code\":410,\"reason\":\"Expired\",\"message\":\"too old\"}"
                               "}\n";
    struct sl_reply reply = {.status = clean ? 200 : 0};
    (void)pthread_mutex_lock(&client->lock);
    bool expired = call->expired;
    (void)pthread_mutex_unlock(&client->lock);
    if (expired && !stream(rng, call, gone, strlen(gone), false, &reply.err)) {
        reply.status = 0;
    }
    finish(client, call, &reply);
}

/* True when something was done. */
static bool carry_on(struct sl_client *client, struct rng *rng, struct call *call,
                     const struct client_faults *faults)
{
    int64_t now_us = sl_clock_monotonic_us();
    uint64_t next = 0;
    struct sl_error err = {.code = SL_ERR_NONE};
    (void)pthread_mutex_lock(&client->lock);
    bool ended = call->ended;
    (void)pthread_mutex_unlock(&client->lock);
    bool over = now_us >= call->over_us;
    bool silent =
        call->options.silence_us > 0 && now_us - call->heard_us >= call->options.silence_us;
    if (ended || over || silent || rng_chance(rng, faults->cut)) {
        end_watch(client, rng, call, !silent && (over || rng_chance(rng, 50)));
        return true;
    }
    char *line = world_next_event(call->kind, call->version, &next);
    bool event = line != NULL;
    if (!event && now_us - call->heard_us > 30000000) {
        line = world_bookmark(call->kind, &next);
    }
    if (line == NULL) {
        return false;
    }
    bool cut = rng_chance(rng, faults->cut);
    size_t len = strlen(line);
    line = rng_chance(rng, 10) ? garble_escape(rng, line, &len) : line;
    if (rng_chance(rng, faults->garbled)) {
        line = garble_spoil(rng, line, &len);
        world_told_nonsense();
    }
    line[len] = '\n'; /* in the place of the NUL */
    size_t told = cut ? rng_next(rng) % (len + 1) : len + 1;
    if (cut && told + 1 >= len) { /* its object is whole: it counts, though the line does not end */
        world_told_nonsense();
    }
    bool whole = stream(rng, call, line, told, false, &err) && !cut;
    free(line);
    if (!whole) {
        struct sl_reply reply = {.status = 0, .err = err};
        finish(client, call, &reply);
        return true;
    }
    (void)pthread_mutex_lock(&client->lock);
    call->version = next;
    call->heard_us = now_us;
    (void)pthread_mutex_unlock(&client->lock);
    if (event) {
        world_told_event(call->kind, next);
    }
    return true;
}

void client_end_watches(struct sl_client *client, bool expired)
{
    (void)pthread_mutex_lock(&client->lock);
    for (struct call *call = client->calls; call != NULL; call = call->next) {
        call->ended = call->ended || call->open;
        call->expired = call->expired || (call->open && expired);
    }
    (void)pthread_mutex_unlock(&client->lock);
}

/* ---- steps ---- */

static bool run_timer(struct sl_client *client)
{
    (void)pthread_mutex_lock(&client->lock);
    struct timer *timer = client->timers;
    if (timer != NULL && timer->due_us > sl_clock_monotonic_us()) {
        timer = NULL;
    }
    if (timer != NULL) {
        client->timers = timer->next;
    }
    (void)pthread_mutex_unlock(&client->lock);
    if (timer != NULL) {
        timer->fn(timer->context);
        free(timer);
    }
    return timer != NULL;
}

static struct call *nth_call(struct sl_client *client, unsigned n, unsigned *count)
{
    struct call *found = NULL;
    *count = 0;
    (void)pthread_mutex_lock(&client->lock);
    for (struct call *call = client->calls; call != NULL; call = call->next) {
        if ((*count)++ == n) {
            found = call;
        }
    }
    (void)pthread_mutex_unlock(&client->lock);
    return found;
}

static bool is_cancelled(struct sl_client *client, const struct call *call)
{
    (void)pthread_mutex_lock(&client->lock);
    bool cancelled = call->cancelled;
    (void)pthread_mutex_unlock(&client->lock);
    return cancelled;
}

bool client_step(struct sl_client *client, struct rng *rng, const struct client_faults *faults)
{
    unsigned n = 0;
    if (rng_chance(rng, 30) && run_timer(client)) {
        return true;
    }
    (void)nth_call(client, 0, &n);
    unsigned first = n == 0 ? 0 : rng_below(rng, n);
    unsigned count = n;
    for (unsigned i = 0; i < count; i++) {
        struct call *call = nth_call(client, (first + i) % count, &n);
        if (call == NULL) {
            return true;
        }
        if (is_cancelled(client, call)) {
            fail_call(client, call, true);
            return true;
        }
        if (call->open) {
            if (carry_on(client, rng, call, faults)) {
                return true;
            }
            continue;
        }
        if (sl_clock_monotonic_us() >= call->ends_us) {
            fail_call(client, call, rng_chance(rng, 50));
        } else {
            answer(client, rng, call, faults);
        }
        return true;
    }
    return run_timer(client);
}

/* ---- the thread ---- */

void client_set_faults(struct sl_client *client, const struct client_faults *faults)
{
    (void)pthread_mutex_lock(&client->lock);
    client->faults = *faults;
    (void)pthread_mutex_unlock(&client->lock);
}

static void *run(void *context)
{
    static const struct timespec soon;
    struct sl_client *client = context;
    (void)pthread_mutex_lock(&client->lock);
    while (!client->stop) {
        const struct client_faults faults = client->faults;
        client->working = true;
        (void)pthread_mutex_unlock(&client->lock);
        bool done = client_step(client, &client->rng, &faults);
        (void)pthread_mutex_lock(&client->lock);
        client->working = false;
        client->worked = done;
        client->steps++;
        if (!done && !client->stop) {
            (void)pthread_cond_timedwait(&client->woken, &client->lock, &soon);
        }
    }
    (void)pthread_mutex_unlock(&client->lock);
    return NULL;
}

bool client_is_idle(struct sl_client *client)
{
    uint64_t next = 0;
    (void)pthread_mutex_lock(&client->lock);
    const unsigned step = client->steps;
    while (client->working &&
           client->steps == step) { /* only its end tells whether it does anything */
        (void)pthread_mutex_unlock(&client->lock);
        (void)sched_yield();
        (void)pthread_mutex_lock(&client->lock);
    }
    bool idle = !client->worked;
    bool watched[WORLD_KINDS] = {false};
    for (const struct call *call = client->calls; call != NULL && idle; call = call->next) {
        idle = call->open && !call->ended && !call->cancelled;
        watched[call->kind] = watched[call->kind] || call->open;
        char *line = idle ? world_next_event(call->kind, call->version, &next) : NULL;
        idle = idle && line == NULL;
        free(line);
    }
    (void)pthread_mutex_unlock(&client->lock);
    return idle && watched[WORLD_NODES] && watched[WORLD_PODS];
}
