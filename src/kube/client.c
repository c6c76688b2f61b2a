/* The client's thread: queues by priority, timers, and libcurl's multi handle. */
#include "kube/client_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { POLL_MAX_MS = 1000 };

static int64_t clock_us(clockid_t id)
{
    struct timespec now;
    (void)clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t sl_kube_monotonic_us(void)
{
    return clock_us(CLOCK_MONOTONIC);
}

int64_t sl_kube_real_us(void)
{
    return clock_us(CLOCK_REALTIME);
}

/* ---- calls ---- */

static void call_free(struct sl_call *call)
{
    if (call == NULL) {
        return;
    }
    free(call->url);
    free(call->body);
    free(call->method);
    free(call->content_type);
    sl_buf_free(&call->collected);
    free(call);
}

static char *join(const char *a, const char *b)
{
    size_t len = strlen(a) + strlen(b) + 1;
    char *text = malloc(len);
    if (text != NULL) {
        (void)snprintf(text, len, "%s%s", a, b);
    }
    return text;
}

static struct sl_call *call_new(const struct sl_client *client,
                                const struct sl_call_options *options)
{
    struct sl_call *call = calloc(1, sizeof(*call));
    if (call == NULL) {
        return NULL;
    }
    call->options = *options;
    call->url = join(client->options.access->server, options->path);
    call->method = join(options->method, "");
    if (options->content_type != NULL) {
        call->content_type = join(options->content_type, "");
    }
    if (options->body.len > 0) {
        call->body = malloc(options->body.len);
        if (call->body != NULL) {
            memcpy(call->body, options->body.s, options->body.len);
        }
    }
    sl_buf_init(&call->collected, client->options.max_reply);
    if (call->url == NULL || call->method == NULL ||
        (options->content_type != NULL && call->content_type == NULL) ||
        (options->body.len > 0 && call->body == NULL)) {
        call_free(call);
        return NULL;
    }
    return call;
}

static void enqueue(struct sl_client *client, struct sl_call *call)
{
    enum sl_call_priority priority = call->options.priority;
    call->next = NULL;
    *client->tail[priority] = call;
    client->tail[priority] = &call->next;
    client->stats.queued++;
}

int sl_client_call(struct sl_client *client, const struct sl_call_options *options, uint64_t *id,
                   struct sl_error *err)
{
    struct sl_call *call = call_new(client, options);
    if (call == NULL) {
        return sl_error_nomem(err);
    }
    (void)pthread_mutex_lock(&client->lock);
    bool full = client->stats.queued >= client->options.max_queued;
    bool stopped = client->stop;
    if (full || stopped) {
        client->stats.refused++;
    } else {
        call->id = ++client->last_id;
        client->stats.calls++;
        if (id != NULL) {
            *id = call->id;
        }
        enqueue(client, call);
    }
    (void)pthread_mutex_unlock(&client->lock);
    if (full || stopped) {
        call_free(call);
        return stopped ? sl_error_set(err, SL_ERR_CONFLICT, "the client is being stopped")
                       : sl_error_set(err, SL_ERR_LIMIT, "%u calls are waiting already",
                                      client->options.max_queued);
    }
    (void)curl_multi_wakeup(client->multi);
    return 0;
}

void sl_client_cancel(struct sl_client *client, uint64_t id)
{
    struct sl_cancel *cancel = malloc(sizeof(*cancel));
    if (cancel == NULL) {
        return; /* the call then ends by its own time-out */
    }
    cancel->id = id;
    (void)pthread_mutex_lock(&client->lock);
    cancel->next = client->cancels;
    client->cancels = cancel;
    (void)pthread_mutex_unlock(&client->lock);
    (void)curl_multi_wakeup(client->multi);
}

int sl_client_after(struct sl_client *client, int64_t delay_us, void (*fn)(void *context),
                    void *context)
{
    struct sl_timer *timer = malloc(sizeof(*timer));
    if (timer == NULL) {
        return -1;
    }
    timer->due_us = sl_kube_monotonic_us() + delay_us;
    timer->fn = fn;
    timer->context = context;
    (void)pthread_mutex_lock(&client->lock);
    struct sl_timer **at = &client->timers;
    while (*at != NULL && (*at)->due_us <= timer->due_us) {
        at = &(*at)->next;
    }
    timer->next = *at;
    *at = timer;
    (void)pthread_mutex_unlock(&client->lock);
    (void)curl_multi_wakeup(client->multi);
    return 0;
}

void sl_client_stats(struct sl_client *client, struct sl_client_stats *out)
{
    (void)pthread_mutex_lock(&client->lock);
    *out = client->stats;
    (void)pthread_mutex_unlock(&client->lock);
}

/* ---- the client's thread ---- */

static void end_call(struct sl_call *call, const struct sl_reply *reply)
{
    call->options.done(call->options.context, reply);
    call_free(call);
}

static void end_unanswered(struct sl_call *call, enum sl_error_code code, const char *why)
{
    struct sl_reply reply = {.maybe_done = call->tries > 0};
    (void)sl_error_set(&reply.err, code, "%s", why);
    end_call(call, &reply);
}

static void drop_active(struct sl_client *client, struct sl_call *call)
{
    struct sl_call **at = &client->active;
    while (*at != call) {
        at = &(*at)->next;
    }
    *at = call->next;
    sl_transfer_end(client, call);
    (void)pthread_mutex_lock(&client->lock);
    client->stats.in_flight--;
    (void)pthread_mutex_unlock(&client->lock);
}

/* Takes the first queued call that may go now; NULL and the time to wait when none may. */
static struct sl_call *take_next(struct sl_client *client, int64_t now_us, int64_t *wait_us)
{
    struct sl_call *found = NULL;
    (void)pthread_mutex_lock(&client->lock);
    for (int p = 0; p < SL_CALL_PRIORITIES && found == NULL; p++) {
        for (struct sl_call **at = &client->queue[p]; *at != NULL; at = &(*at)->next) {
            struct sl_call *call = *at;
            bool stream = call->options.data != NULL && call->options.timeout_us == 0;
            if (call->not_before_us > now_us) {
                int64_t wait = call->not_before_us - now_us;
                *wait_us = wait < *wait_us ? wait : *wait_us;
                continue;
            }
            if (!stream && client->stats.in_flight >= client->options.max_in_flight) {
                continue; /* the end of another one wakes us */
            }
            if (!sl_bucket_take(&client->bucket, now_us)) {
                int64_t wait = sl_bucket_wait_us(&client->bucket, now_us);
                *wait_us = wait < *wait_us ? wait : *wait_us;
                client->stats.throttled++;
                p = SL_CALL_PRIORITIES;
                break;
            }
            *at = call->next;
            if (call->next == NULL) {
                client->tail[p] = at;
            }
            client->stats.queued--;
            client->stats.in_flight++;
            found = call;
            break;
        }
    }
    (void)pthread_mutex_unlock(&client->lock);
    return found;
}

static void start_calls(struct sl_client *client, int64_t *wait_us)
{
    struct sl_call *call = take_next(client, sl_kube_monotonic_us(), wait_us);
    while (call != NULL) {
        struct sl_error err;
        call->next = client->active;
        client->active = call;
        if (sl_transfer_start(client, call, &err) < 0) {
            drop_active(client, call);
            end_unanswered(call, err.code, err.message);
        }
        call = take_next(client, sl_kube_monotonic_us(), wait_us);
    }
}

static void finish(struct sl_client *client, struct sl_call *call, CURLcode result)
{
    struct sl_reply reply;
    int64_t at_us = 0;
    sl_transfer_reply(call, result, &reply);
    bool again = sl_transfer_again(client, call, &reply, sl_kube_monotonic_us(), &at_us);
    drop_active(client, call);
    (void)pthread_mutex_lock(&client->lock);
    if (again && !client->stop) {
        call->not_before_us = at_us;
        client->stats.retries++;
        enqueue(client, call);
    } else {
        again = false;
        client->stats.failures += reply.status == 0 || reply.status >= 400;
    }
    (void)pthread_mutex_unlock(&client->lock);
    if (!again) {
        end_call(call, &reply);
    }
}

static void finish_transfers(struct sl_client *client)
{
    int left = 0;
    const CURLMsg *message = curl_multi_info_read(client->multi, &left);
    while (message != NULL) {
        if (message->msg == CURLMSG_DONE) {
            struct sl_call *call = NULL;
            CURLcode result = message->data.result;
            (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
            finish(client, call, result);
        }
        message = curl_multi_info_read(client->multi, &left);
    }
}

static void run_timers(struct sl_client *client, int64_t *wait_us)
{
    for (;;) {
        int64_t now_us = sl_kube_monotonic_us();
        (void)pthread_mutex_lock(&client->lock);
        struct sl_timer *timer = client->timers;
        if (timer != NULL && timer->due_us <= now_us) {
            client->timers = timer->next;
        } else {
            if (timer != NULL && timer->due_us - now_us < *wait_us) {
                *wait_us = timer->due_us - now_us;
            }
            timer = NULL;
        }
        (void)pthread_mutex_unlock(&client->lock);
        if (timer == NULL) {
            return;
        }
        timer->fn(timer->context);
        free(timer);
    }
}

static struct sl_call *unqueue(struct sl_client *client, uint64_t id)
{
    for (int p = 0; p < SL_CALL_PRIORITIES; p++) {
        for (struct sl_call **at = &client->queue[p]; *at != NULL; at = &(*at)->next) {
            struct sl_call *call = *at;
            if (id == 0 || call->id == id) {
                *at = call->next;
                if (call->next == NULL) {
                    client->tail[p] = at;
                }
                client->stats.queued--;
                return call;
            }
        }
    }
    return NULL;
}

/* Ends the call of that id, or any call when id is 0; false when there is none. */
static bool end_early(struct sl_client *client, uint64_t id, const char *why)
{
    (void)pthread_mutex_lock(&client->lock);
    struct sl_call *call = unqueue(client, id);
    (void)pthread_mutex_unlock(&client->lock);
    if (call == NULL) {
        call = client->active;
        while (call != NULL && id != 0 && call->id != id) {
            call = call->next;
        }
        if (call == NULL) {
            return false;
        }
        drop_active(client, call);
    }
    end_unanswered(call, SL_ERR_CONFLICT, why);
    return true;
}

static void run_cancels(struct sl_client *client)
{
    (void)pthread_mutex_lock(&client->lock);
    struct sl_cancel *cancels = client->cancels;
    client->cancels = NULL;
    (void)pthread_mutex_unlock(&client->lock);
    while (cancels != NULL) {
        struct sl_cancel *next = cancels->next;
        (void)end_early(client, cancels->id, "cancelled");
        free(cancels);
        cancels = next;
    }
}

static bool stopping(struct sl_client *client)
{
    (void)pthread_mutex_lock(&client->lock);
    bool stop = client->stop;
    (void)pthread_mutex_unlock(&client->lock);
    return stop;
}

static void *run(void *context)
{
    struct sl_client *client = context;
    while (!stopping(client)) {
        int64_t wait_us = (int64_t)POLL_MAX_MS * 1000;
        int running = 0;
        run_cancels(client);
        run_timers(client, &wait_us);
        start_calls(client, &wait_us);
        (void)curl_multi_perform(client->multi, &running);
        finish_transfers(client);
        /* what the answers started is taken up before waiting: curl_multi_wakeup was called */
        (void)curl_multi_poll(client->multi, NULL, 0, (int)((wait_us + 999) / 1000), NULL);
    }
    while (end_early(client, 0, "the client is being stopped")) {
    }
    return NULL;
}

/* ---- life ---- */

struct sl_client *sl_client_new(const struct sl_client_options *options, struct sl_error *err)
{
    struct sl_client *client = calloc(1, sizeof(*client));
    if (client == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    client->options = *options;
    for (int p = 0; p < SL_CALL_PRIORITIES; p++) {
        client->tail[p] = &client->queue[p];
    }
    client->jitter = (uint64_t)sl_kube_real_us() ^ (uint64_t)(uintptr_t)client;
    sl_bucket_init(&client->bucket, options->qps, options->burst, sl_kube_monotonic_us());
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    client->user_agent = join(options->user_agent, "");
    client->multi = curl_multi_init();
    client->auth = sl_auth_new(options->access, err);
    if (client->user_agent == NULL || client->multi == NULL || client->auth == NULL) {
        (void)sl_error_nomem(err);
        goto fail;
    }
    (void)pthread_mutex_init(&client->lock, NULL);
    int code = pthread_create(&client->thread, NULL, run, client);
    if (code != 0) {
        (void)pthread_mutex_destroy(&client->lock);
        (void)sl_error_set(err, SL_ERR_SYSTEM, "cannot start a thread: %s", strerror(code));
        goto fail;
    }
    return client;
fail:
    sl_auth_free(client->auth);
    (void)curl_multi_cleanup(client->multi);
    free(client->user_agent);
    free(client);
    return NULL;
}

void sl_client_free(struct sl_client *client)
{
    if (client == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&client->lock);
    client->stop = true;
    (void)pthread_mutex_unlock(&client->lock);
    (void)curl_multi_wakeup(client->multi);
    (void)pthread_join(client->thread, NULL);
    while (client->timers != NULL) {
        struct sl_timer *next = client->timers->next;
        free(client->timers);
        client->timers = next;
    }
    while (client->cancels != NULL) {
        struct sl_cancel *next = client->cancels->next;
        free(client->cancels);
        client->cancels = next;
    }
    (void)curl_multi_cleanup(client->multi);
    sl_auth_free(client->auth);
    (void)pthread_mutex_destroy(&client->lock);
    free(client->user_agent);
    free(client);
}

/* ---- waiting ---- */

struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool over;
    struct sl_buf *body;
    struct sl_reply *reply;
};

static void wake_waiter(void *context, const struct sl_reply *reply)
{
    struct waiter *waiter = context;
    (void)pthread_mutex_lock(&waiter->lock);
    *waiter->reply = *reply;
    waiter->reply->body = (struct sl_str){NULL, 0};
    if (waiter->body != NULL) {
        sl_buf_append(waiter->body, reply->body.s, reply->body.len);
    }
    waiter->over = true;
    (void)pthread_cond_signal(&waiter->done);
    (void)pthread_mutex_unlock(&waiter->lock);
}

int sl_client_call_wait(struct sl_client *client, const struct sl_call_options *options,
                        struct sl_buf *body, struct sl_reply *reply)
{
    struct waiter waiter = {.body = body, .reply = reply};
    struct sl_call_options mine = *options;
    *reply = (struct sl_reply){.status = 0};
    (void)pthread_mutex_init(&waiter.lock, NULL);
    (void)pthread_cond_init(&waiter.done, NULL);
    mine.done = wake_waiter;
    mine.context = &waiter;
    int result = sl_client_call(client, &mine, NULL, &reply->err);
    if (result == 0) {
        (void)pthread_mutex_lock(&waiter.lock);
        while (!waiter.over) {
            (void)pthread_cond_wait(&waiter.done, &waiter.lock);
        }
        (void)pthread_mutex_unlock(&waiter.lock);
        result = reply->status == 0 ? -1 : 0;
    }
    (void)pthread_cond_destroy(&waiter.done);
    (void)pthread_mutex_destroy(&waiter.lock);
    return result;
}
