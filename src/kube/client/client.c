/* The client as other threads see it: its life, and the calls, cancels and timers that they leave.
 */
#include "kube/client/internal.h"
#include "util/clock.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { SPARE_CONNECTIONS = 16 }; /* for streams */

/* ---- calls ---- */

static char *join_texts(const char *a, const char *b)
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
    call->ends_us =
        options->within_us == 0 ? INT64_MAX : sl_clock_monotonic_us() + options->within_us;
    call->url = join_texts(client->options.access->server, options->path);
    call->method = join_texts(options->method, "");
    if (options->content_type != NULL) {
        call->content_type = join_texts(options->content_type, "");
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
        sl_call_free(call);
        return NULL;
    }
    return call;
}

int sl_client_call(struct sl_client *client, const struct sl_call_options *options, uint64_t *id,
                   struct sl_error *err)
{
    struct sl_call *call = call_new(client, options);
    if (call == NULL) {
        return sl_error_nomem(err);
    }
    if (sl_calls_add(client, call, id, err) < 0) {
        sl_call_free(call);
        return -1;
    }
    sl_client_wake(client);
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
    sl_client_wake(client);
}

int sl_client_after(struct sl_client *client, int64_t delay_us, void (*fn)(void *context),
                    void *context)
{
    struct sl_timer *timer = malloc(sizeof(*timer));
    if (timer == NULL) {
        return -1;
    }
    timer->due_us = sl_clock_monotonic_us() + delay_us;
    timer->fn = fn;
    timer->context = context;
    (void)pthread_mutex_lock(&client->lock);
    bool stopped = client->stop;
    if (!stopped) {
        struct sl_timer **at = &client->timers;
        while (*at != NULL && (*at)->due_us <= timer->due_us) {
            at = &(*at)->next;
        }
        timer->next = *at;
        *at = timer;
    }
    (void)pthread_mutex_unlock(&client->lock);
    if (stopped) {
        free(timer);
        return -1;
    }
    sl_client_wake(client);
    return 0;
}

void sl_client_stats(struct sl_client *client, struct sl_client_stats *out)
{
    (void)pthread_mutex_lock(&client->lock);
    *out = client->stats;
    (void)pthread_mutex_unlock(&client->lock);
}

/* ---- life ---- */

/* Blocks all signals: other threads wait for them. Here they would break transfers, and a SIGPIPE
 * of a TLS write would end the daemon. */
static int start_thread(struct sl_client *client, struct sl_error *err)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&client->thread, NULL, sl_client_run, client);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code == 0
               ? 0
               : sl_error_set(err, SL_ERR_SYSTEM, "cannot start a thread: %s", strerror(code));
}

static void client_free(struct sl_client *client)
{
    sl_auth_free(client->auth); /* first: its wake uses what follows */
    (void)curl_multi_cleanup(client->multi);
    sl_client_poll_free(client);
    (void)pthread_mutex_destroy(&client->lock);
    free(client->user_agent);
    free(client);
}

struct sl_client *sl_client_new(const struct sl_client_options *options, struct sl_error *err)
{
    struct sl_client *client = calloc(1, sizeof(*client));
    if (client == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    client->options = *options;
    client->epoll_fd = -1;
    client->wake_fd = -1;
    client->queue_end_us = INT64_MAX;
    client->options.max_in_flight = options->max_in_flight < 1 ? 1 : options->max_in_flight;
    client->jitter = (uint64_t)sl_clock_real_us() ^ (uint64_t)(uintptr_t)client;
    sl_bucket_init(&client->bucket, options->qps, options->burst, sl_clock_monotonic_us());
    (void)pthread_mutex_init(&client->lock, NULL);
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    client->user_agent = join_texts(options->user_agent, "");
    client->multi = curl_multi_init();
    if (client->user_agent == NULL || client->multi == NULL) {
        (void)sl_error_nomem(err);
        client_free(client);
        return NULL;
    }
    if (sl_client_poll_init(client, err) < 0) {
        client_free(client);
        return NULL;
    }
    /* libcurl's default shrinks with the number of transfers, and would close connections that the
     * next calls use */
    (void)curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS,
                            (long)client->options.max_in_flight + SPARE_CONNECTIONS);
    client->auth = sl_auth_new(options->access, sl_client_wake, client, err);
    if (client->auth == NULL || start_thread(client, err) < 0) {
        client_free(client);
        return NULL;
    }
    return client;
}

void sl_client_free(struct sl_client *client)
{
    if (client == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&client->lock);
    client->stop = true;
    (void)pthread_mutex_unlock(&client->lock);
    sl_client_wake(client);
    (void)pthread_join(client->thread, NULL);
    while (client->cancels != NULL) {
        struct sl_cancel *next = client->cancels->next;
        free(client->cancels);
        client->cancels = next;
    }
    client_free(client);
}
