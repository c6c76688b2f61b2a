/* sum_over_time((max by (tenant, resource, kind) (sliced_tenant_units))[30d:1h]): only the leader
 * tells of tenants, so that the replicas' series follow each other and are one before they are
 * summed. A span is looked at in 720 places, which bounds what the question costs. */
#include "telemetry/prometheus/spent.h"

#include <stdio.h>
#include <stdlib.h>

#include "telemetry/prometheus/standing.h"
#include "util/data/map.h"
#include "util/time.h"

enum { PLACES = 720 };

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
    struct rows fresh;     /* of the answer that is read */
    struct sl_map by_name; /* of them */
    double *hours;         /* of the series that is read */
    double step_hours;
    struct rows known; /* row NULL: nothing yet; with the question's lock */
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

static void put(void *context, struct sl_standing_query *query)
{
    struct sl_spents *spents = context;
    free(spents->fresh.row);
    spents->fresh = (struct rows){.row = calloc(SL_SPENT_ROWS_MAX, sizeof(struct sl_spent))};
    sl_map_free(&spents->by_name);
    sl_buf_puts(&query->path, "/api/v1/query?");
    for (unsigned i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
        char hours[160];
        (void)snprintf(hours, sizeof(hours),
                       "sum_over_time((max by (tenant,resource,kind) (sliced_tenant_units{@}))"
                       "[%s:%llds])",
                       spans[i].name, (long long)step_s(i));
        sl_standing_put(query, "since", spans[i].name, hours);
    }
    query->text.failed = spents->fresh.row == NULL ? SL_BUF_NOMEM : query->text.failed;
}

static void keep(void *context)
{
    struct sl_spents *spents = context;
    struct rows old = spents->known;
    spents->known = spents->fresh;
    spents->fresh = old; /* freed before the next question */
}

struct sl_spents *sl_spents_new(struct sl_client *client, const struct sl_config *config)
{
    struct sl_spents *spents = calloc(1, sizeof(*spents));
    if (spents == NULL) {
        return NULL;
    }
    const struct sl_standing_options options = {
        .client = client,
        .config = config,
        .again_us = again_us,
        .answer = {.node_label = {SL_STR("tenant"), SL_STR("resource"), SL_STR("kind"),
                                  SL_STR("since")},
                   .series = take_series,
                   .sample = take_sample,
                   .context = spents},
        .put = put,
        .keep = keep};
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
        free(spents);
    }
}

int sl_spents_read(struct sl_spents *spents, struct sl_spent **out, size_t *n, struct sl_error *err)
{
    const char *error = sl_standing_begin(spents->question);
    bool known = spents->known.row != NULL;
    *n = spents->known.n;
    *out = known ? malloc((*n + 1) * sizeof(**out)) : NULL;
    if (*out != NULL) {
        memcpy(*out, spents->known.row, *n * sizeof(**out));
    } else if (known) {
        (void)sl_error_nomem(err);
    } else if (error[0] == '\0') {
        (void)sl_error_set(err, SL_ERR_LIMIT,
                           "Prometheus is being asked what tenants had: ask again");
    } else {
        (void)sl_error_set(err, SL_ERR_SYSTEM, "Prometheus does not tell what tenants had: %s",
                           error);
    }
    sl_standing_end(spents->question);
    return *out == NULL ? -1 : 0;
}
