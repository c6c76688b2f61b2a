#include "telemetry/prometheus/standing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "kube/client/url.h"
#include "util/clock.h"
#include "util/time.h"

enum { QUERY_MAX_BYTES = 16 << 10 };

static const int64_t tick_us = SL_SECOND_US;
static const int64_t retry_us = SL_MINUTE_US;

struct sl_standing {
    struct sl_standing_options options;
    struct sl_answer *answer;
    struct sl_config_selector own;
    int64_t timeout_us;
    int64_t next_ns; /* monotonic: not asked before */
    _Atomic bool wanted;

    pthread_mutex_t lock; /* guards what follows, and what the owner keeps */
    char error[SL_STANDING_ERROR_MAX];
};

static void tick(void *context);

static void conclude(struct sl_standing *standing, const struct sl_error *err)
{
    const struct sl_standing_options *options = &standing->options;
    (void)pthread_mutex_lock(&standing->lock);
    if (err == NULL) {
        options->keep(options->answer.context);
    }
    (void)snprintf(standing->error, sizeof(standing->error), "%.*s",
                   (int)sizeof(standing->error) - 1, err == NULL ? "" : err->message);
    (void)pthread_mutex_unlock(&standing->lock);
    int64_t rest_us = err == NULL || options->again_us < retry_us ? options->again_us : retry_us;
    standing->next_ns = sl_clock_monotonic_ns() + rest_us * 1000;
    (void)sl_client_after(options->client, tick_us, tick, standing);
}

static int on_data(void *context, const char *data, size_t len, struct sl_error *err)
{
    return sl_answer_feed(((struct sl_standing *)context)->answer, data, len, err);
}

static void on_done(void *context, const struct sl_reply *reply)
{
    struct sl_standing *standing = context;
    struct sl_error err = reply->err;
    int rc = reply->status == 200 && err.code == SL_ERR_NONE
                 ? sl_answer_finish(standing->answer, &err)
                 : -1;
    conclude(standing, rc < 0 ? &err : NULL);
}

static void ask(struct sl_standing *standing)
{
    const struct sl_standing_options *options = &standing->options;
    struct sl_error err = {0};
    struct sl_standing_query query = {.own = &standing->own};
    struct sl_buf *path = &query.path;
    sl_buf_init(path, (size_t)4 * QUERY_MAX_BYTES);
    sl_buf_init(&query.text, QUERY_MAX_BYTES);
    options->put(options->answer.context, &query);
    sl_buf_puts(path, "query=");
    sl_url_put(path, (struct sl_str){query.text.data, query.text.len});
    sl_buf_putc(path, '\0');
    const struct sl_call_options call = {.method = "GET",
                                         .path = path->data,
                                         .priority = SL_CALL_LOW,
                                         .timeout_us = standing->timeout_us,
                                         .data = on_data,
                                         .done = on_done,
                                         .context = standing};
    sl_answer_reset(standing->answer);
    if (path->failed != SL_BUF_OK || query.text.failed != SL_BUF_OK) {
        (void)sl_error_nomem(&err);
        conclude(standing, &err);
    } else if (sl_client_call(options->client, &call, NULL, &err) < 0) {
        conclude(standing, &err);
    }
    sl_buf_free(path);
    sl_buf_free(&query.text);
}

static void tick(void *context)
{
    struct sl_standing *standing = context;
    bool due =
        sl_clock_monotonic_ns() >= standing->next_ns && atomic_exchange(&standing->wanted, false);
    if (due) {
        ask(standing);
    } else {
        (void)sl_client_after(standing->options.client, tick_us, tick, standing);
    }
}

struct sl_standing *sl_standing_new(const struct sl_standing_options *options)
{
    struct sl_standing *standing = calloc(1, sizeof(*standing));
    if (standing == NULL) {
        return NULL;
    }
    standing->options = *options;
    standing->options.config = NULL;
    standing->timeout_us = options->config->telemetry.timeout_us;
    (void)sl_config_selector_read(sl_str_of(options->config->telemetry.own), &standing->own);
    (void)pthread_mutex_init(&standing->lock, NULL);
    standing->answer = sl_answer_new(&options->answer);
    if (standing->answer == NULL || sl_client_after(options->client, tick_us, tick, standing) < 0) {
        sl_standing_free(standing);
        return NULL;
    }
    return standing;
}

void sl_standing_free(struct sl_standing *standing)
{
    if (standing != NULL) {
        sl_answer_free(standing->answer);
        (void)pthread_mutex_destroy(&standing->lock);
        free(standing);
    }
}

const char *sl_standing_begin(struct sl_standing *standing)
{
    atomic_store(&standing->wanted, true);
    (void)pthread_mutex_lock(&standing->lock);
    return standing->error;
}

void sl_standing_end(struct sl_standing *standing)
{
    (void)pthread_mutex_unlock(&standing->lock);
}

void sl_standing_put(struct sl_standing_query *query, const char *label, const char *value,
                     const char *expression)
{
    struct sl_buf *out = &query->text;
    sl_buf_puts(out, out->len == 0 ? "label_replace(" : " or label_replace(");
    for (; *expression != '\0'; expression++) {
        if (*expression != '@') {
            sl_buf_putc(out, *expression);
            continue;
        }
        for (size_t i = 0; i < query->own->n; i++) {
            sl_buf_printf(out, "%s=\"%s\",", query->own->label[i].key, query->own->label[i].value);
        }
    }
    sl_buf_printf(out, ",\"%s\",\"%s\",\"\",\"\")", label, value);
}
