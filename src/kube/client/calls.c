/* Calls that wait: in a queue of their priority, or until it is time to repeat them. */
#include <stdlib.h>

#include "kube/client/internal.h"

void sl_call_free(struct sl_call *call)
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

/* ---- in and out: the lock is held ---- */

/* Behind another call of the queue; NULL: before all. */
static void queue_put(struct sl_client *client, struct sl_call *call, struct sl_call_queue *queue,
                      struct sl_link *behind)
{
    sl_list_add_behind(&queue->calls, &call->link, behind);
    queue->n++;
    call->queue = queue;
    client->stats.queued++;
    client->queue_end_us =
        call->ends_us < client->queue_end_us ? call->ends_us : client->queue_end_us;
}

static void queue_remove(struct sl_client *client, struct sl_call *call)
{
    sl_list_remove(&call->queue->calls, &call->link);
    call->queue->n--;
    call->queue = NULL;
    client->stats.queued--;
}

/* ---- calls that come ---- */

int sl_calls_add(struct sl_client *client, struct sl_call *call, uint64_t *id, struct sl_error *err)
{
    struct sl_call_queue *queue = &client->queue[call->options.priority];
    (void)pthread_mutex_lock(&client->lock);
    bool stopped = client->stop;
    bool taken = !stopped && queue->n < client->options.max_queued;
    if (taken) {
        call->id = ++client->last_id;
        if (id != NULL) {
            *id = call->id;
        }
        client->stats.calls++;
        queue_put(client, call, queue, queue->calls.last);
    } else {
        client->stats.refused++;
    }
    (void)pthread_mutex_unlock(&client->lock);
    if (taken) {
        return 0;
    }
    return stopped ? sl_error_set(err, SL_ERR_CONFLICT, "the client is being stopped")
                   : sl_error_set(err, SL_ERR_LIMIT, "%u calls are waiting already",
                                  client->options.max_queued);
}

bool sl_calls_add_delayed(struct sl_client *client, struct sl_call *call, int64_t at_us)
{
    struct sl_call_queue *delayed = &client->queue[SL_QUEUE_DELAYED];
    (void)pthread_mutex_lock(&client->lock);
    bool taken = !client->stop && at_us < call->ends_us;
    if (taken) {
        struct sl_link *behind = delayed->calls.last;
        while (behind != NULL && sl_call_of(behind)->not_before_us > at_us) {
            behind = behind->prev;
        }
        call->not_before_us = at_us;
        call->throttled = false;
        queue_put(client, call, delayed, behind);
        client->stats.retries++;
    }
    (void)pthread_mutex_unlock(&client->lock);
    return taken;
}

void sl_calls_wake_delayed(struct sl_client *client, int64_t now_us, int64_t *wait_us)
{
    const struct sl_list *delayed = &client->queue[SL_QUEUE_DELAYED].calls;
    (void)pthread_mutex_lock(&client->lock);
    struct sl_call *call = sl_call_of(delayed->first);
    while (call != NULL && call->not_before_us <= now_us) {
        struct sl_call_queue *queue = &client->queue[call->options.priority];
        queue_remove(client, call);
        queue_put(client, call, queue, queue->calls.last);
        call = sl_call_of(delayed->first);
    }
    if (call != NULL) {
        sl_wait_shorten(wait_us, call->not_before_us - now_us);
    }
    (void)pthread_mutex_unlock(&client->lock);
}

/* ---- calls that go ---- */

/* Binds may take every place in flight; the others leave some, so that a server which lets calls
 * hang does not keep pods from being bound. */
static bool call_has_place(const struct sl_client *client, const struct sl_call *call)
{
    unsigned max = client->options.max_in_flight;
    unsigned kept = max < 2 ? 0 : max < 8 ? 1 : max / 8;
    kept = call->options.priority == SL_CALL_BIND ? 0 : kept;
    return !sl_call_takes_place(call) || client->taken < max - kept;
}

/* NULL when none may go now. Lock held. */
static struct sl_call *queue_next(const struct sl_client *client)
{
    for (int i = 0; i < SL_CALL_PRIORITIES; i++) {
        struct sl_call *call = sl_call_of(client->queue[i].calls.first);
        if (call != NULL && call_has_place(client, call)) {
            return call;
        }
    }
    return NULL;
}

bool sl_calls_has_next(struct sl_client *client)
{
    (void)pthread_mutex_lock(&client->lock);
    bool found = queue_next(client) != NULL;
    (void)pthread_mutex_unlock(&client->lock);
    return found;
}

struct sl_call *sl_calls_take_next(struct sl_client *client, int64_t now_us, int64_t *wait_us)
{
    (void)pthread_mutex_lock(&client->lock);
    struct sl_call *call = queue_next(client);
    if (call != NULL && sl_bucket_take(&client->bucket, now_us)) {
        queue_remove(client, call);
        client->stats.in_flight++;
    } else if (call != NULL) {
        sl_wait_shorten(wait_us, sl_bucket_wait_us(&client->bucket, now_us));
        client->stats.throttled += !call->throttled;
        call->throttled = true;
        call = NULL;
    }
    (void)pthread_mutex_unlock(&client->lock);
    return call;
}

/* ---- calls that end without their turn ---- */

struct sl_call *sl_calls_take(struct sl_client *client, const uint64_t *id)
{
    struct sl_call *call = NULL;
    (void)pthread_mutex_lock(&client->lock);
    for (int i = 0; call == NULL && i < SL_QUEUES; i++) {
        call = sl_call_of(client->queue[i].calls.first);
        while (call != NULL && id != NULL && call->id != *id) {
            call = sl_call_of(call->link.next);
        }
    }
    if (call != NULL) {
        queue_remove(client, call);
    }
    (void)pthread_mutex_unlock(&client->lock);
    return call;
}

/* Lock held. NULL: none; then queue_end_us is the first end of all. */
static struct sl_call *queue_find_late(struct sl_client *client, int64_t now_us)
{
    int64_t end_us = INT64_MAX;
    if (client->queue_end_us > now_us) {
        return NULL;
    }
    for (int i = 0; i < SL_QUEUES; i++) {
        struct sl_call *call = sl_call_of(client->queue[i].calls.first);
        for (; call != NULL; call = sl_call_of(call->link.next)) {
            if (call->ends_us <= now_us) {
                return call;
            }
            end_us = call->ends_us < end_us ? call->ends_us : end_us;
        }
    }
    client->queue_end_us = end_us;
    return NULL;
}

struct sl_call *sl_calls_take_late(struct sl_client *client, int64_t now_us, int64_t *wait_us)
{
    (void)pthread_mutex_lock(&client->lock);
    struct sl_call *late = queue_find_late(client, now_us);
    if (late != NULL) {
        queue_remove(client, late);
    } else if (client->queue_end_us < INT64_MAX) {
        sl_wait_shorten(wait_us, client->queue_end_us - now_us);
    }
    (void)pthread_mutex_unlock(&client->lock);
    return late;
}
