/* The client's thread: queues by priority, repetitions, deadlines and timers. Callbacks run here
 * and may start or cancel calls: both only leave word in a queue. */
#include "kube/client_internal.h"

#include <stdlib.h>

static const int64_t poll_max_us = 1000000;

static void sooner(int64_t *wait_us, int64_t until_us)
{
    if (until_us < *wait_us) {
        *wait_us = until_us < 0 ? 0 : until_us;
    }
}

/* ---- the end of a call ---- */

static void end_call(struct sl_call *call, const struct sl_reply *reply)
{
    call->options.done(call->options.context, reply);
    sl_call_free(call);
}

static void end_unanswered(struct sl_client *client, struct sl_call *call, enum sl_error_code code,
                           const char *why)
{
    struct sl_reply reply = {.maybe_done = call->maybe_done};
    (void)sl_error_set(&reply.err, code, "%s", why);
    (void)pthread_mutex_lock(&client->lock);
    client->stats.failures++;
    (void)pthread_mutex_unlock(&client->lock);
    end_call(call, &reply);
}

static void drop_active(struct sl_client *client, struct sl_call *call)
{
    struct sl_call **at = &client->active;
    while (*at != call) {
        at = &(*at)->next;
    }
    *at = call->next;
    client->taken -= sl_lane_takes_place(call->lane);
    sl_transfer_end(client, call);
    (void)pthread_mutex_lock(&client->lock);
    client->stats.in_flight--;
    (void)pthread_mutex_unlock(&client->lock);
}

/* ---- queues ---- */

/* Calls whose time to be repeated has come go to the end of their lane. */
static void wake_delayed(struct sl_client *client, int64_t now_us, int64_t *wait_us)
{
    (void)pthread_mutex_lock(&client->lock);
    while (client->delayed != NULL && client->delayed->not_before_us <= now_us) {
        struct sl_call *call = client->delayed;
        struct sl_call_list *lane = &client->lane[call->lane];
        client->delayed = call->next;
        call->next = NULL;
        *lane->tail = call;
        lane->tail = &call->next;
        lane->n++;
    }
    if (client->delayed != NULL) {
        sooner(wait_us, client->delayed->not_before_us - now_us);
    }
    (void)pthread_mutex_unlock(&client->lock);
}

/* Binds may take every place in flight; the others leave some, so that a server which lets calls
 * hang does not keep pods from being bound. */
static bool has_place(const struct sl_client *client, enum sl_lane lane)
{
    unsigned max = client->options.max_in_flight;
    unsigned kept = max < 2 ? 0 : max < 8 ? 1 : max / 8;
    return !sl_lane_takes_place(lane) || client->taken < (lane == SL_LANE_BIND ? max : max - kept);
}

/* The lane whose first call goes next, SL_LANES when none may go now. Lock held. */
static enum sl_lane next_lane(const struct sl_client *client)
{
    enum sl_lane lane = SL_LANE_LEASE;
    while (lane < SL_LANES && (client->lane[lane].first == NULL || !has_place(client, lane))) {
        lane++;
    }
    return lane;
}

static bool may_start(struct sl_client *client)
{
    (void)pthread_mutex_lock(&client->lock);
    bool found = next_lane(client) < SL_LANES;
    (void)pthread_mutex_unlock(&client->lock);
    return found;
}

/* Takes the first queued call that may go now; NULL and the time to wait when none may. */
static struct sl_call *take_next(struct sl_client *client, int64_t now_us, int64_t *wait_us)
{
    struct sl_call *call = NULL;
    (void)pthread_mutex_lock(&client->lock);
    enum sl_lane at = next_lane(client);
    if (at < SL_LANES) {
        struct sl_call_list *lane = &client->lane[at];
        if (sl_bucket_take(&client->bucket, now_us)) {
            call = lane->first;
            lane->first = call->next;
            lane->tail = lane->first == NULL ? &lane->first : lane->tail;
            lane->n--;
            client->stats.queued--;
            client->stats.in_flight++;
        } else {
            sooner(wait_us, sl_bucket_wait_us(&client->bucket, now_us));
            client->stats.throttled += !lane->first->throttled;
            lane->first->throttled = true;
        }
    }
    (void)pthread_mutex_unlock(&client->lock);
    return call;
}

static void start_calls(struct sl_client *client, int64_t *wait_us)
{
    while (may_start(client)) {
        struct sl_credentials credentials = {.authorization = NULL};
        struct sl_error err = {.code = SL_ERR_NONE};
        int ready = sl_auth_get(client->auth, sl_kube_real_us(), &credentials, &err);
        if (ready == SL_AUTH_WAIT) {
            return; /* wakes us */
        }
        struct sl_call *call = take_next(client, sl_kube_monotonic_us(), wait_us);
        if (call == NULL) {
            return;
        }
        call->next = client->active;
        client->active = call;
        client->taken += sl_lane_takes_place(call->lane);
        if (ready < 0 || sl_transfer_start(client, call, &credentials, &err) < 0) {
            drop_active(client, call);
            end_unanswered(client, call, err.code, err.message);
        }
    }
}

/* ---- answers ---- */

static void repeat_at(struct sl_client *client, struct sl_call *call, int64_t at_us)
{
    struct sl_call **at = &client->delayed;
    while (*at != NULL && (*at)->not_before_us <= at_us) {
        at = &(*at)->next;
    }
    call->not_before_us = at_us;
    call->throttled = false;
    call->next = *at;
    *at = call;
    sl_client_bound_queue(client, call);
    client->stats.retries++;
    client->stats.queued++;
}

static void finish(struct sl_client *client, struct sl_call *call, CURLcode result)
{
    struct sl_reply reply;
    int64_t at_us = 0;
    sl_transfer_note_heard(client, call);
    sl_transfer_reply(call, result, &reply);
    bool again = sl_transfer_again(client, call, &reply, sl_kube_monotonic_us(), &at_us);
    drop_active(client, call);
    (void)pthread_mutex_lock(&client->lock);
    again = again && !client->stop && at_us < call->ends_us;
    if (again) {
        repeat_at(client, call, at_us);
    } else {
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
            char *call = NULL;
            CURLcode result = message->data.result;
            (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
            finish(client, (struct sl_call *)(void *)call, result);
        }
        message = curl_multi_info_read(client->multi, &left);
    }
}

/* Deadlines are kept here: libcurl counts silence in whole seconds, and does not count at all while
 * a transfer waits for another's connection. */
/* True when one was. */
static bool finish_expired(struct sl_client *client, int64_t *wait_us)
{
    bool any = false;
    int64_t now_us = sl_kube_monotonic_us();
    struct sl_call *call = client->active;
    while (call != NULL) {
        struct sl_call *next = call->next;
        int64_t deadline_us = sl_transfer_deadline(call);
        if (deadline_us <= now_us) {
            call->expired = true;
            sl_transfer_give_up(client, call);
            finish(client, call, CURLE_OPERATION_TIMEDOUT);
            any = true;
        } else if (deadline_us < INT64_MAX) {
            sooner(wait_us, deadline_us - now_us);
        }
        call = next;
    }
    return any;
}

/* ---- timers ---- */

/* The first timer that is due at until_us, taken out of the list. */
static struct sl_timer *take_timer(struct sl_client *client, int64_t until_us, int64_t *wait_us)
{
    (void)pthread_mutex_lock(&client->lock);
    struct sl_timer *timer = client->timers;
    if (timer != NULL && timer->due_us <= until_us) {
        client->timers = timer->next;
    } else {
        if (timer != NULL) {
            sooner(wait_us, timer->due_us - until_us);
        }
        timer = NULL;
    }
    (void)pthread_mutex_unlock(&client->lock);
    return timer;
}

/* until_us is fixed: a timer that sets itself anew without delay does not keep the others waiting.
 */
static void run_timers(struct sl_client *client, int64_t until_us, int64_t *wait_us)
{
    struct sl_timer *timer = take_timer(client, until_us, wait_us);
    while (timer != NULL) {
        timer->fn(timer->context);
        free(timer);
        timer = take_timer(client, until_us, wait_us);
    }
}

/* ---- ending early ---- */

static struct sl_call *unlink_call(struct sl_call **first, uint64_t id)
{
    while (*first != NULL && (*first)->id != id) {
        first = &(*first)->next;
    }
    struct sl_call *call = *first;
    if (call != NULL) {
        *first = call->next;
    }
    return call;
}

static struct sl_call *unqueue(struct sl_client *client, uint64_t id)
{
    (void)pthread_mutex_lock(&client->lock);
    struct sl_call *call = unlink_call(&client->delayed, id);
    for (int i = 0; call == NULL && i < SL_LANES; i++) {
        struct sl_call_list *lane = &client->lane[i];
        call = unlink_call(&lane->first, id);
        if (call != NULL) {
            lane->n--;
            lane->tail = &lane->first;
            while (*lane->tail != NULL) {
                lane->tail = &(*lane->tail)->next;
            }
        }
    }
    client->stats.queued -= call != NULL;
    (void)pthread_mutex_unlock(&client->lock);
    return call;
}

static void end_early(struct sl_client *client, uint64_t id, const char *why)
{
    struct sl_call *call = unqueue(client, id);
    if (call == NULL) {
        call = client->active;
        while (call != NULL && call->id != id) {
            call = call->next;
        }
        if (call == NULL) {
            return;
        }
        call->maybe_done = call->maybe_done || sl_transfer_sent(call);
        drop_active(client, call);
    }
    end_unanswered(client, call, SL_ERR_CONFLICT, why);
}

static void run_cancels(struct sl_client *client)
{
    (void)pthread_mutex_lock(&client->lock);
    struct sl_cancel *cancels = client->cancels;
    client->cancels = NULL;
    (void)pthread_mutex_unlock(&client->lock);
    while (cancels != NULL) {
        struct sl_cancel *next = cancels->next;
        end_early(client, cancels->id, "cancelled");
        free(cancels);
        cancels = next;
    }
}

/* Any call that is left; 0 when none is. */
static uint64_t any_call(struct sl_client *client)
{
    (void)pthread_mutex_lock(&client->lock);
    const struct sl_call *call = client->active != NULL ? client->active : client->delayed;
    for (int i = 0; call == NULL && i < SL_LANES; i++) {
        call = client->lane[i].first;
    }
    (void)pthread_mutex_unlock(&client->lock);
    return call == NULL ? 0 : call->id;
}

static void end_all(struct sl_client *client)
{
    int64_t unused = 0;
    uint64_t id = any_call(client);
    while (id != 0) {
        end_early(client, id, "the client is being stopped");
        id = any_call(client);
    }
    run_timers(client, INT64_MAX, &unused);
}

/* ---- too late ---- */

/* A queued call that has to be over by now; 0 when none has. */
static uint64_t find_late(struct sl_client *client, int64_t now_us, int64_t *wait_us)
{
    const struct sl_call *late = NULL;
    (void)pthread_mutex_lock(&client->lock);
    int64_t end_us = client->queue_end_us;
    if (end_us <= now_us) {
        end_us = INT64_MAX;
        for (int i = 0; late == NULL && i <= SL_LANES; i++) {
            const struct sl_call *call = i < SL_LANES ? client->lane[i].first : client->delayed;
            while (call != NULL && call->ends_us > now_us) {
                end_us = call->ends_us < end_us ? call->ends_us : end_us;
                call = call->next;
            }
            late = call;
        }
        client->queue_end_us = late == NULL ? end_us : client->queue_end_us;
    }
    (void)pthread_mutex_unlock(&client->lock);
    if (late == NULL && end_us < INT64_MAX) {
        sooner(wait_us, end_us - now_us);
    }
    return late == NULL ? 0 : late->id;
}

static void end_late(struct sl_client *client, int64_t now_us, int64_t *wait_us)
{
    uint64_t id = find_late(client, now_us, wait_us);
    while (id != 0) {
        end_early(client, id, "no time was left when its turn came");
        id = find_late(client, now_us, wait_us);
    }
}

/* ---- the loop ---- */

static bool stopping(struct sl_client *client)
{
    (void)pthread_mutex_lock(&client->lock);
    bool stop = client->stop;
    (void)pthread_mutex_unlock(&client->lock);
    return stop;
}

void *sl_client_run(void *context)
{
    struct sl_client *client = context;
    sl_client_own(client);
    while (!stopping(client)) {
        int64_t wait_us = poll_max_us;
        int64_t now_us = sl_kube_monotonic_us();
        run_timers(client, now_us, &wait_us);
        run_cancels(client);
        end_late(client, now_us, &wait_us); /* after a pause too nothing late is sent */
        wake_delayed(client, now_us, &wait_us);
        start_calls(client, &wait_us);
        bool ended = finish_expired(client, &wait_us);
        sl_client_poll(client, ended ? 0 : wait_us); /* places are free, or a repetition waits */
        finish_transfers(client);
    }
    end_all(client);
    return NULL;
}
