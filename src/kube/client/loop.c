/* The client's thread: starts calls, repeats them, ends them in time, and runs timers. Callbacks
 * run here and may start or cancel calls: both only leave word in a queue. */
#include <stdlib.h>

#include "kube/client/internal.h"
#include "util/time.h"

static const int64_t poll_max_us = SL_SECOND_US;

/* ---- the end of a call ---- */

static void call_end(struct sl_call *call, const struct sl_reply *reply)
{
    call->options.done(call->options.context, reply);
    sl_call_free(call);
}

static void call_end_unanswered(struct sl_client *client, struct sl_call *call,
                                enum sl_error_code code, const char *why)
{
    struct sl_reply reply = {.maybe_done = call->maybe_done};
    (void)sl_error_set(&reply.err, code, "%s", why);
    (void)pthread_mutex_lock(&client->lock);
    client->stats.failures++;
    (void)pthread_mutex_unlock(&client->lock);
    call_end(call, &reply);
}

static void call_deactivate(struct sl_client *client, struct sl_call *call)
{
    sl_list_remove(&client->active, &call->link);
    client->taken -= sl_call_takes_place(call);
    sl_transfer_end(client, call);
    (void)pthread_mutex_lock(&client->lock);
    client->stats.in_flight--;
    (void)pthread_mutex_unlock(&client->lock);
}

/* ---- starting ---- */

static void start_calls(struct sl_client *client, int64_t *wait_us)
{
    while (sl_calls_has_next(client)) {
        struct sl_credentials credentials = {.authorization = NULL};
        struct sl_error err = {.code = SL_ERR_NONE};
        int ready = sl_auth_get(client->auth, sl_clock_real_us(), &credentials, &err);
        if (ready == SL_AUTH_WAIT) {
            return; /* the plugin's end wakes this thread */
        }
        struct sl_call *call = sl_calls_take_next(client, sl_clock_monotonic_us(), wait_us);
        if (call == NULL) {
            return;
        }
        sl_list_add_first(&client->active, &call->link);
        client->taken += sl_call_takes_place(call);
        if (ready < 0 || sl_transfer_start(client, call, &credentials, &err) < 0) {
            call_deactivate(client, call);
            call_end_unanswered(client, call, err.code, err.message);
        }
    }
}

/* ---- answers ---- */

static void finish_try(struct sl_client *client, struct sl_call *call, CURLcode result)
{
    struct sl_reply reply;
    int64_t at_us = 0;
    sl_transfer_note_heard(client, call);
    sl_transfer_reply(call, result, &reply);
    bool again = sl_transfer_again(client, call, &reply, sl_clock_monotonic_us(), &at_us);
    call_deactivate(client, call);
    if (again && sl_calls_add_delayed(client, call, at_us)) {
        return;
    }
    (void)pthread_mutex_lock(&client->lock);
    client->stats.failures += reply.status == 0 || reply.status >= 400;
    (void)pthread_mutex_unlock(&client->lock);
    call_end(call, &reply);
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
            finish_try(client, (struct sl_call *)(void *)call, result);
        }
        message = curl_multi_info_read(client->multi, &left);
    }
}

/* Ends the tries whose time is up; true when there was one. libcurl does not do it: it counts
 * silence in whole seconds, and does not count while a transfer waits for another's connection. */
static bool finish_expired(struct sl_client *client, int64_t *wait_us)
{
    bool any = false;
    int64_t now_us = sl_clock_monotonic_us();
    struct sl_call *call = sl_call_of(client->active.first);
    while (call != NULL) {
        struct sl_call *next = sl_call_of(call->link.next);
        int64_t deadline_us = sl_transfer_deadline(call);
        if (deadline_us <= now_us) {
            call->expired = true;
            sl_transfer_give_up(client, call);
            finish_try(client, call, CURLE_OPERATION_TIMEDOUT);
            any = true;
        } else if (deadline_us < INT64_MAX) {
            sl_wait_shorten(wait_us, deadline_us - now_us);
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
            sl_wait_shorten(wait_us, timer->due_us - until_us);
        }
        timer = NULL;
    }
    (void)pthread_mutex_unlock(&client->lock);
    return timer;
}

/* Looks only at timers due by until_us: one that sets itself anew without delay would else keep all
 * others waiting. */
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

/* Takes that call out, wherever it is; id NULL: any. NULL: there is none. */
static struct sl_call *take_call(struct sl_client *client, const uint64_t *id)
{
    struct sl_call *call = sl_calls_take(client, id);
    if (call != NULL) {
        return call;
    }
    call = sl_call_of(client->active.first);
    while (call != NULL && id != NULL && call->id != *id) {
        call = sl_call_of(call->link.next);
    }
    if (call != NULL) {
        call->maybe_done = call->maybe_done || sl_transfer_sent(call);
        call_deactivate(client, call);
    }
    return call;
}

static void run_cancels(struct sl_client *client)
{
    (void)pthread_mutex_lock(&client->lock);
    struct sl_cancel *cancels = client->cancels;
    client->cancels = NULL;
    (void)pthread_mutex_unlock(&client->lock);
    while (cancels != NULL) {
        struct sl_cancel *next = cancels->next;
        struct sl_call *call = take_call(client, &cancels->id);
        if (call != NULL) {
            call_end_unanswered(client, call, SL_ERR_CONFLICT, "cancelled");
        }
        free(cancels);
        cancels = next;
    }
}

static void end_late(struct sl_client *client, int64_t now_us, int64_t *wait_us)
{
    struct sl_call *call = sl_calls_take_late(client, now_us, wait_us);
    while (call != NULL) {
        call_end_unanswered(client, call, SL_ERR_CONFLICT, "no time was left when its turn came");
        call = sl_calls_take_late(client, now_us, wait_us);
    }
}

static void end_all(struct sl_client *client)
{
    int64_t unused = 0;
    struct sl_call *call = take_call(client, NULL);
    while (call != NULL) {
        call_end_unanswered(client, call, SL_ERR_CONFLICT, "the client is being stopped");
        call = take_call(client, NULL);
    }
    run_timers(client, INT64_MAX, &unused);
}

/* ---- the loop ---- */

static bool is_stopping(struct sl_client *client)
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
    while (!is_stopping(client)) {
        int64_t wait_us = poll_max_us;
        int64_t now_us = sl_clock_monotonic_us();
        run_timers(client, now_us, &wait_us);
        run_cancels(client);
        end_late(client, now_us, &wait_us); /* before calls start: nothing late is sent, even after
                                               a pause of the process */
        sl_calls_wake_delayed(client, now_us, &wait_us);
        start_calls(client, &wait_us);
        bool ended = finish_expired(client, &wait_us);
        sl_client_poll(
            client,
            ended ? 0 : wait_us); /* an ended try has freed a place, or waits to be repeated */
        finish_transfers(client);
    }
    end_all(client);
    return NULL;
}
