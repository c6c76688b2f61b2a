/* sum_over_time((max by (tenant, resource, kind) (sliced_tenant_units))[30d:1h]): only the leader
 * tells of tenants, so that the replicas' series follow each other and are one before they are
 * summed. A span is looked at in 720 places, which bounds what the question costs. */
#include "telemetry/prometheus/spent.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "kube/client/url.h"
#include "telemetry/prometheus/standing.h"
#include "util/data/map.h"
#include "util/time.h"

enum { PLACES = 720, QUERY_MAX_BYTES = 8 << 10 };

static const int64_t again_us = 15 * SL_MINUTE_US;

static const struct {
    const char *name;
    int64_t days;
} spans[] = {{"1d", 1}, {"7d", 7}, {"30d", 30}, {"90d", 90}};
static const char *const kinds[SL_SPENT_KINDS] = {"share", "held",    "borrowed",
                                                  "lent",  "waiting", [SL_SPENT_USED] = "used"};

struct rows {
    struct sl_spent *row;
    size_t n;
};

struct sl_spents {
    struct sl_standing *question;
    struct sl_config_selector own;
    struct rows fresh;     /* of the answer that is read */
    struct sl_map by_name; /* of them */
    double *hours;         /* of the series that is read */
    double step_hours;

    pthread_mutex_t lock; /* guards what follows */
    struct rows known;    /* row NULL: nothing yet */
    char error[200]; /* why the last question was not answered; "": it was, or none was asked */
};

static int64_t step_s(unsigned span)
{
    return spans[span].days * SL_DAY_S / PLACES;
}

/* NULL: there are too many, or no memory. */
static struct sl_spent *row_get(struct sl_spents *spents, const struct sl_answer_series *metric)
{
    struct rows *fresh = &spents->fresh;
    if (fresh->row == NULL || fresh->n == SL_SPENT_ROWS_MAX) {
        return NULL;
    }
    struct sl_spent *row = &fresh->row[fresh->n];
    *row = (struct sl_spent){.hours[SL_SPENT_USED] = -1};
    (void)snprintf(row->tenant, sizeof(row->tenant), "%.63s", metric->node[0]);
    (void)snprintf(row->resource, sizeof(row->resource), "%.255s", metric->node[1]);
    (void)snprintf(row->since, sizeof(row->since), "%.7s", metric->node[3]);
    (void)snprintf(row->name, sizeof(row->name), "%s.%s.%s", row->tenant, row->resource,
                   row->since);
    for (char *at = row->name; *at != '\0'; at++) {
        *at = *at == '/' ? '.' : *at;
    }
    struct sl_spent *known = sl_map_get(&spents->by_name, row->name, strlen(row->name));
    if (known == NULL &&
        sl_map_put(&spents->by_name, row->name, strlen(row->name), row, NULL) == 0) {
        fresh->n++;
        known = row;
    }
    return known;
}

static bool take_series(void *context, const struct sl_answer_series *metric)
{
    struct sl_spents *spents = context;
    unsigned span = 0;
    unsigned kind = 0;
    while (span < sizeof(spans) / sizeof(spans[0]) &&
           strcmp(metric->node[3], spans[span].name) != 0) {
        span++;
    }
    while (kind < SL_SPENT_KINDS && strcmp(metric->node[2], kinds[kind]) != 0) {
        kind++;
    }
    if (span == sizeof(spans) / sizeof(spans[0]) || kind == SL_SPENT_KINDS) {
        return false;
    }
    struct sl_spent *row = row_get(spents, metric);
    spents->hours = row == NULL ? NULL : &row->hours[kind];
    spents->step_hours = (double)step_s(span) / SL_HOUR_S;
    return row != NULL;
}

static void take_sample(void *context, int64_t at_us, double value)
{
    const struct sl_spents *spents = context;
    (void)at_us;
    *spents->hours = value >= 0 && value < 1e12 ? value * spents->step_hours : 0;
}

static void put(void *context, struct sl_buf *path)
{
    struct sl_spents *spents = context;
    struct sl_buf query;
    free(spents->fresh.row);
    spents->fresh = (struct rows){.row = calloc(SL_SPENT_ROWS_MAX, sizeof(struct sl_spent))};
    sl_map_free(&spents->by_name);
    spents->by_name = (struct sl_map){.len = 0};
    sl_buf_init(&query, QUERY_MAX_BYTES);
    for (unsigned i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
        sl_buf_puts(&query, i == 0 ? "" : " or ");
        sl_standing_put(&query,
                        "label_replace(sum_over_time((max by (tenant,resource,kind) "
                        "(sliced_tenant_units{@}))",
                        &spents->own);
        sl_buf_printf(&query, "[%s:%llds]),\"since\",\"%s\",\"\",\"\")", spans[i].name,
                      (long long)step_s(i), spans[i].name);
    }
    sl_buf_puts(path, "/api/v1/query?query=");
    sl_url_put(path, (struct sl_str){query.data, query.len});
    bool whole = query.failed == SL_BUF_OK && spents->fresh.row != NULL;
    path->failed = whole ? path->failed : SL_BUF_NOMEM;
    sl_buf_free(&query);
}

static void ended(void *context, const struct sl_error *err)
{
    struct sl_spents *spents = context;
    (void)pthread_mutex_lock(&spents->lock);
    if (err == NULL) {
        struct rows old = spents->known;
        spents->known = spents->fresh;
        spents->fresh = old; /* freed before the next question */
    }
    (void)snprintf(spents->error, sizeof(spents->error), "%.*s", (int)sizeof(spents->error) - 1,
                   err == NULL ? "" : err->message);
    (void)pthread_mutex_unlock(&spents->lock);
}

struct sl_spents *sl_spents_new(struct sl_client *client, const struct sl_config *config)
{
    struct sl_spents *spents = calloc(1, sizeof(*spents));
    if (spents == NULL) {
        return NULL;
    }
    const struct sl_standing_options options = {
        .client = client,
        .timeout_us = config->telemetry.timeout_us,
        .again_us = again_us,
        .answer = {.node_label = {SL_STR("tenant"), SL_STR("resource"), SL_STR("kind"),
                                  SL_STR("since")},
                   .series = take_series,
                   .sample = take_sample,
                   .context = spents},
        .put = put,
        .ended = ended};
    (void)sl_config_selector_read(sl_str_of(config->telemetry.own), &spents->own);
    (void)pthread_mutex_init(&spents->lock, NULL);
    spents->question = sl_standing_new(&options);
    if (spents->question == NULL) {
        sl_spents_free(spents);
        return NULL;
    }
    return spents;
}

void sl_spents_free(struct sl_spents *spents)
{
    if (spents != NULL) {
        sl_standing_free(spents->question);
        sl_map_free(&spents->by_name);
        free(spents->fresh.row);
        free(spents->known.row);
        (void)pthread_mutex_destroy(&spents->lock);
        free(spents);
    }
}

int sl_spents_read(struct sl_spents *spents, struct sl_spent **out, size_t *n, struct sl_error *err)
{
    int result = 0;
    sl_standing_want(spents->question);
    (void)pthread_mutex_lock(&spents->lock);
    *n = spents->known.n;
    *out = spents->known.row == NULL ? NULL : malloc((*n + 1) * sizeof(**out));
    if (*out != NULL) {
        memcpy(*out, spents->known.row, *n * sizeof(**out));
    } else if (spents->known.row != NULL) {
        result = sl_error_nomem(err);
    } else {
        bool asked = spents->error[0] == '\0';
        result = asked
                     ? sl_error_set(err, SL_ERR_LIMIT,
                                    "Prometheus is being asked what tenants had: ask again")
                     : sl_error_set(err, SL_ERR_SYSTEM,
                                    "Prometheus does not tell what tenants had: %s", spents->error);
    }
    (void)pthread_mutex_unlock(&spents->lock);
    return result;
}
