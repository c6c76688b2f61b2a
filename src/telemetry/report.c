/* Tells the server and the metrics what is known. */
#include <stdio.h>
#include <stdlib.h>

#include "telemetry/internal.h"
#include "util/clock.h"

void sl_telemetry_stats(struct sl_telemetry *telemetry, struct sl_telemetry_stats *out)
{
    (void)pthread_mutex_lock(&telemetry->lock);
    *out = telemetry->stats;
    out->over = telemetry->units.over;
    out->units = telemetry->units.n;
    out->bytes = sl_units_bytes(&telemetry->units);
    (void)pthread_mutex_unlock(&telemetry->lock);
}

static void read_status(void *context, struct sl_usage_status *out)
{
    struct sl_telemetry *telemetry = context;
    (void)pthread_mutex_lock(&telemetry->lock);
    *out = (struct sl_usage_status){.answered = telemetry->answered,
                                    .answered_us = telemetry->stats.answered_us,
                                    .units = telemetry->units.n};
    (void)snprintf(out->error, sizeof(out->error), "%s", telemetry->error);
    (void)pthread_mutex_unlock(&telemetry->lock);
}

#define AT(kind, member) SL_METRIC_AT(kind, struct sl_telemetry_stats, member)
static const struct sl_metric rows[] = {
    {"sliced_telemetry_questions_total", SL_METRIC_COUNTER,
     "Questions to Prometheus, or to exporters, by outcome.", "outcome=\"answered\"",
     AT(SL_METRIC_U64, answers)},
    {.labels = "outcome=\"failed\"", AT(SL_METRIC_U64, failures)},
    {"sliced_telemetry_last_answer_timestamp_seconds", SL_METRIC_GAUGE,
     "Unix time of the last answer; 0: there was none. More than two minutes ago is an alarm.",
     NULL, AT(SL_METRIC_MS_OF_US, answered_us)},
    {"sliced_telemetry_samples_total", SL_METRIC_COUNTER,
     "Samples: taken, refused because they were known, too old or out of range, and refused "
     "because "
     "they are from the future: then a clock is wrong.",
     "outcome=\"taken\"", AT(SL_METRIC_U64, samples)},
    {.labels = "outcome=\"refused\"", AT(SL_METRIC_U64, refused)},
    {.labels = "outcome=\"future\"", AT(SL_METRIC_U64, future)},
    {"sliced_telemetry_strangers_total", SL_METRIC_COUNTER,
     "Series whose labels name no node that is known (telemetry.nodeLabels).", NULL,
     AT(SL_METRIC_U64, strangers)},
    {"sliced_telemetry_units", SL_METRIC_GAUGE,
     "GPUs and MIG instances of which something was measured, by what their samples are good for: "
     "Short ones have too few since the last pod came, Gappy ones lie too far apart.",
     "state=\"Good\"", AT(SL_METRIC_U64, by_state[SL_SERIES_GOOD])},
    {.labels = "state=\"Absent\"", AT(SL_METRIC_U64, by_state[SL_SERIES_ABSENT])},
    {.labels = "state=\"Stale\"", AT(SL_METRIC_U64, by_state[SL_SERIES_STALE])},
    {.labels = "state=\"Short\"", AT(SL_METRIC_U64, by_state[SL_SERIES_SHORT])},
    {.labels = "state=\"Gappy\"", AT(SL_METRIC_U64, by_state[SL_SERIES_GAPPY])},
    {"sliced_telemetry_idle_pods", SL_METRIC_GAUGE,
     "Pods on whose GPUs nothing has run for telemetry.idleAfter and more.", NULL,
     AT(SL_METRIC_U64, idle_pods)},
    {"sliced_telemetry_idle_gpus", SL_METRIC_GAUGE, "GPUs of which such pods hold all or a part.",
     NULL, AT(SL_METRIC_U64, idle_gpus)},
    {"sliced_telemetry_over_pods", SL_METRIC_GAUGE,
     "Pods that use more GPU memory than they declare, as far as it is known.", NULL,
     AT(SL_METRIC_U64, over_pods)},
    {"sliced_telemetry_units_over_total", SL_METRIC_COUNTER,
     "Series passed over because telemetry.maxUnits are kept already, or all that their node can "
     "have.",
     NULL, AT(SL_METRIC_U64, over)},
    {"sliced_telemetry_bytes", SL_METRIC_GAUGE, "Memory in which samples are kept.", NULL,
     AT(SL_METRIC_U64, bytes)},
    {"sliced_telemetry_work_seconds_total", SL_METRIC_COUNTER,
     "Time spent on reading answers and judging GPUs.", NULL, AT(SL_METRIC_US, work_us)},
};
#undef AT

static void put_joules(struct sl_buf *out, const char *name, struct sl_str namespace, int64_t mj)
{
    sl_buf_printf(out, "%s{pod_namespace=\"", name);
    sl_metric_label(out, namespace);
    sl_buf_printf(out, "\"} %lld.%03d\n", (long long)(mj / 1000), (int)(mj % 1000));
}

static void write_energy(const void *source, const char *name, struct sl_buf *out)
{
    const struct sl_telemetry *telemetry = source;
    size_t at = 0;
    put_joules(out, name, SL_STR(""), telemetry->nobodys_mj);
    for (const struct sl_account *account = sl_map_next(&telemetry->spaces.map, &at);
         account != NULL; account = sl_map_next(&telemetry->spaces.map, &at)) {
        put_joules(out, name, (struct sl_str){account->name, account->len}, account->sum);
    }
}

/* of struct sl_telemetry, whose lock is held */
static const struct sl_metric locked_rows[] = {
    {"sliced_telemetry_energy_joules_total", SL_METRIC_COUNTER,
     "What GPUs drew, by the namespace of the pods that held them; empty: nobody did, or nobody "
     "knows who.",
     "pod_namespace", .write = write_energy},
};

const struct sl_metric_table sl_telemetry_metrics[] = {
    SL_METRIC_TABLE(rows), SL_METRIC_TABLE(locked_rows), {NULL, 0}};

static void write_metrics(void *context, struct sl_buf *out)
{
    struct sl_telemetry *telemetry = context;
    struct sl_telemetry_stats stats;
    sl_telemetry_stats(telemetry, &stats);
    sl_metric_write(&sl_telemetry_metrics[0], &stats, out);
    (void)pthread_mutex_lock(&telemetry->lock);
    sl_metric_write(&sl_telemetry_metrics[1], telemetry, out);
    (void)pthread_mutex_unlock(&telemetry->lock);
}

static int by_place(const void *a, const void *b)
{
    const struct sl_usage_row *x = a;
    const struct sl_usage_row *y = b;
    int32_t left = x->gpu != y->gpu ? x->gpu : x->instance;
    int32_t right = x->gpu != y->gpu ? y->gpu : y->instance;
    return (left > right) - (left < right);
}

static size_t read_node(void *context, struct sl_str node, struct sl_usage_row *out, size_t max)
{
    struct sl_telemetry *telemetry = context;
    struct sl_usage_rule rule = sl_telemetry_rule(telemetry->config, sl_clock_real_us());
    (void)pthread_mutex_lock(&telemetry->lock);
    size_t n = sl_units_rows(sl_units_node(&telemetry->units, node), &rule, out, max);
    (void)pthread_mutex_unlock(&telemetry->lock);
    qsort(out, n, sizeof(*out), by_place);
    return n;
}

static int64_t read_joules(void *context, const char *uid, const char *namespace)
{
    struct sl_telemetry *telemetry = context;
    (void)pthread_mutex_lock(&telemetry->lock);
    int64_t mj = uid != NULL ? sl_accounts_read(&telemetry->pods, sl_str_of(uid))
                             : sl_accounts_read(&telemetry->spaces, sl_str_of(namespace));
    (void)pthread_mutex_unlock(&telemetry->lock);
    return mj < 0 ? -1 : mj / 1000;
}

static int read_used(void *context, struct sl_used **out, size_t *n)
{
    struct sl_telemetry *telemetry = context;
    size_t at = 0;
    *n = 0;
    (void)pthread_mutex_lock(&telemetry->lock);
    *out = calloc(telemetry->held.map.len + 1, sizeof(**out));
    for (const struct sl_account *account = sl_map_next(&telemetry->held.map, &at);
         account != NULL && *out != NULL; account = sl_map_next(&telemetry->held.map, &at)) {
        struct sl_used *row = &(*out)[(*n)++];
        (void)snprintf(row->name, sizeof(row->name), "%s", account->name);
        row->milli = account->sum;
    }
    (void)pthread_mutex_unlock(&telemetry->lock);
    return *out == NULL ? -1 : 0;
}

static void read_history(void *context, struct sl_history *out)
{
    struct sl_telemetry *telemetry = context;
    if (telemetry->hour != NULL) {
        sl_hour_read(telemetry->hour, out);
    }
}

static int read_spent(void *context, struct sl_spent **out, size_t *n, struct sl_error *err)
{
    const struct sl_telemetry *telemetry = context;
    return sl_spents_read(telemetry->spents, out, n, err);
}

struct sl_usage_reader sl_telemetry_reader(struct sl_telemetry *telemetry)
{
    if (telemetry == NULL) {
        return (struct sl_usage_reader){.context = NULL};
    }
    return (struct sl_usage_reader){.context = telemetry,
                                    .status = read_status,
                                    .node = read_node,
                                    .joules = read_joules,
                                    .used = read_used,
                                    .metrics = write_metrics,
                                    .history = read_history,
                                    .spent = telemetry->spents == NULL ? NULL : read_spent};
}
