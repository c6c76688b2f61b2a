/* label_replace(max(...),"of","waiting","","") or ...: all lines of the hour in one answer. */
#include "telemetry/hour.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "kube/client/url.h"
#include "telemetry/answer.h"
#include "util/clock.h"
#include "util/time.h"

enum { PATH_MAX_BYTES = 16 << 10 };

static const int64_t tick_us = SL_SECOND_US;
static const int64_t again_ns = SL_MINUTE_US * 1000;

/* Replicas know the same cluster: the largest counts, also while one has just begun. What the queue
 * counts only the leader does. '@': the labels of telemetry.ownSelector. */
#define UNITS(state) "max(sum by (instance) (sliced_pool_units{@state=\"" state "\"}))"
#define LATELY(what) "sum(increase(sliced_queue_" what "[10m]))"
static const struct {
    const char *name, *query;
} lines[SL_HISTORY_LINES] = {
    {"waiting", "max(sliced_cluster_pods{@state=\"waiting\"})"},
    {"running", "max(sliced_cluster_pods{@state=\"bound\"})"},
    {"usedUnits", UNITS("used")},
    {"freeUnits", UNITS("free")},
    {"meanWaitSeconds", LATELY("wait_seconds_sum{@}") "/" LATELY("wait_seconds_count{@}")},
    {"timeouts", LATELY("runs_ended_total{@how=\"timeout\"}")},
};

struct sl_hour {
    struct sl_client *client;
    struct sl_answer *answer;
    int64_t timeout_us;
    struct sl_config_selector own;
    double *line;            /* of the series that is read */
    struct sl_history fresh; /* of the answer that is read */
    int64_t next_ns;         /* monotonic: not asked before */

    pthread_mutex_t lock; /* guards what follows */
    bool wanted;
    struct sl_history known;
};

static bool take_series(void *context, const struct sl_answer_series *metric)
{
    struct sl_hour *hour = context;
    for (unsigned i = 0; i < SL_HISTORY_LINES; i++) {
        if (strcmp(metric->node[0], lines[i].name) == 0) {
            hour->line = hour->fresh.line[i].value;
            return true;
        }
    }
    return false;
}

static void take_sample(void *context, int64_t at_us, double value)
{
    struct sl_hour *hour = context;
    int64_t back = (hour->fresh.end_us - at_us) / (SL_HISTORY_STEP_S * SL_SECOND_US);
    if (at_us <= hour->fresh.end_us && back < SL_HISTORY_POINTS) {
        hour->line[SL_HISTORY_POINTS - 1 - back] = value;
    }
}

static int on_data(void *context, const char *data, size_t len, struct sl_error *err)
{
    return sl_answer_feed(((struct sl_hour *)context)->answer, data, len, err);
}

static void tick(void *context);

static void conclude(struct sl_hour *hour, const struct sl_error *err)
{
    (void)pthread_mutex_lock(&hour->lock);
    if (err == NULL) {
        hour->known = hour->fresh;
    } else {
        (void)snprintf(hour->known.error, sizeof(hour->known.error), "%.*s",
                       (int)sizeof(hour->known.error) - 1, err->message);
    }
    (void)pthread_mutex_unlock(&hour->lock);
    hour->next_ns = sl_clock_monotonic_ns() + again_ns;
    (void)sl_client_after(hour->client, tick_us, tick, hour);
}

static void on_done(void *context, const struct sl_reply *reply)
{
    struct sl_hour *hour = context;
    struct sl_error err = reply->err;
    int rc =
        reply->status == 200 && err.code == SL_ERR_NONE ? sl_answer_finish(hour->answer, &err) : -1;
    conclude(hour, rc < 0 ? &err : NULL);
}

static void empty(struct sl_history *history)
{
    *history = (struct sl_history){.kept = true};
    for (unsigned i = 0; i < SL_HISTORY_LINES; i++) {
        history->line[i].name = lines[i].name;
        for (unsigned k = 0; k < SL_HISTORY_POINTS; k++) {
            history->line[i].value[k] = NAN;
        }
    }
}

static void put_query(struct sl_buf *out, const char *query, const struct sl_config_selector *own)
{
    for (; *query != '\0'; query++) {
        if (*query != '@') {
            sl_buf_putc(out, *query);
            continue;
        }
        for (size_t i = 0; i < own->n; i++) {
            sl_buf_printf(out, "%s=\"%s\",", own->label[i].key, own->label[i].value);
        }
    }
}

static void put_path(struct sl_buf *path, int64_t end_s, const struct sl_config_selector *own)
{
    struct sl_buf query;
    sl_buf_init(&query, PATH_MAX_BYTES);
    for (unsigned i = 0; i < SL_HISTORY_LINES; i++) {
        sl_buf_puts(&query, i == 0 ? "label_replace(" : " or label_replace(");
        put_query(&query, lines[i].query, own);
        sl_buf_printf(&query, ",\"of\",\"%s\",\"\",\"\")", lines[i].name);
    }
    sl_buf_printf(path, "/api/v1/query_range?start=%lld&end=%lld&step=%d&query=",
                  (long long)end_s - (SL_HISTORY_POINTS - 1LL) * SL_HISTORY_STEP_S,
                  (long long)end_s, SL_HISTORY_STEP_S);
    sl_url_put(path, (struct sl_str){query.data, query.len});
    sl_buf_putc(path, '\0');
    path->failed = query.failed != SL_BUF_OK ? query.failed : path->failed;
    sl_buf_free(&query);
}

static void ask(struct sl_hour *hour)
{
    struct sl_error err = {0};
    struct sl_buf path;
    int64_t end_s = sl_clock_real_us() / SL_SECOND_US;
    sl_buf_init(&path, PATH_MAX_BYTES);
    put_path(&path, end_s, &hour->own);
    const struct sl_call_options call = {.method = "GET",
                                         .path = path.data,
                                         .priority = SL_CALL_LOW,
                                         .timeout_us = hour->timeout_us,
                                         .data = on_data,
                                         .done = on_done,
                                         .context = hour};
    empty(&hour->fresh);
    hour->fresh.end_us = end_s * SL_SECOND_US;
    sl_answer_reset(hour->answer);
    if (path.failed != SL_BUF_OK) {
        (void)sl_error_nomem(&err);
        conclude(hour, &err);
    } else if (sl_client_call(hour->client, &call, NULL, &err) < 0) {
        conclude(hour, &err);
    }
    sl_buf_free(&path);
}

static void tick(void *context)
{
    struct sl_hour *hour = context;
    (void)pthread_mutex_lock(&hour->lock);
    bool due = hour->wanted && sl_clock_monotonic_ns() >= hour->next_ns;
    hour->wanted = hour->wanted && !due;
    (void)pthread_mutex_unlock(&hour->lock);
    if (due) {
        ask(hour);
    } else {
        (void)sl_client_after(hour->client, tick_us, tick, hour);
    }
}

struct sl_hour *sl_hour_new(struct sl_client *client, const struct sl_config *config)
{
    struct sl_hour *hour = calloc(1, sizeof(*hour));
    if (hour == NULL) {
        return NULL;
    }
    const struct sl_answer_options options = {.node_label = {SL_STR("of")},
                                              .series = take_series,
                                              .sample = take_sample,
                                              .context = hour};
    hour->client = client;
    hour->timeout_us = config->telemetry.timeout_us;
    (void)sl_config_selector_read(sl_str_of(config->telemetry.own), &hour->own);
    hour->answer = sl_answer_new(&options);
    empty(&hour->known);
    (void)pthread_mutex_init(&hour->lock, NULL);
    if (hour->answer == NULL || sl_client_after(client, tick_us, tick, hour) < 0) {
        sl_hour_free(hour);
        return NULL;
    }
    return hour;
}

void sl_hour_free(struct sl_hour *hour)
{
    if (hour != NULL) {
        sl_answer_free(hour->answer);
        (void)pthread_mutex_destroy(&hour->lock);
        free(hour);
    }
}

void sl_hour_read(struct sl_hour *hour, struct sl_history *out)
{
    (void)pthread_mutex_lock(&hour->lock);
    hour->wanted = true;
    *out = hour->known;
    (void)pthread_mutex_unlock(&hour->lock);
}
