/* label_replace(max(...),"of","waiting","","") or ...: all lines of the hour in one answer. */
#include "telemetry/prometheus/hour.h"

#include <math.h>
#include <stdlib.h>

#include "telemetry/prometheus/standing.h"
#include "util/clock.h"
#include "util/time.h"

static const int64_t again_us = SL_MINUTE_US;

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
    struct sl_standing *question;
    double *line;            /* of the series that is read */
    struct sl_history fresh; /* of the answer that is read */
    struct sl_history known; /* with the question's lock */
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

static void put(void *context, struct sl_standing_query *query)
{
    struct sl_hour *hour = context;
    long long end_s = (long long)(sl_clock_real_us() / SL_SECOND_US);
    empty(&hour->fresh);
    hour->fresh.end_us = end_s * SL_SECOND_US;
    sl_buf_printf(&query->path, "/api/v1/query_range?start=%lld&end=%lld&step=%d&",
                  end_s - (SL_HISTORY_POINTS - 1LL) * SL_HISTORY_STEP_S, end_s, SL_HISTORY_STEP_S);
    for (unsigned i = 0; i < SL_HISTORY_LINES; i++) {
        sl_standing_put(query, "of", lines[i].name, lines[i].query);
    }
}

static void keep(void *context)
{
    struct sl_hour *hour = context;
    hour->known = hour->fresh;
}

struct sl_hour *sl_hour_new(struct sl_client *client, const struct sl_config *config)
{
    struct sl_hour *hour = calloc(1, sizeof(*hour));
    if (hour == NULL) {
        return NULL;
    }
    const struct sl_standing_options options = {.client = client,
                                                .config = config,
                                                .again_us = again_us,
                                                .answer = {.node_label = {SL_STR("of")},
                                                           .series = take_series,
                                                           .sample = take_sample,
                                                           .context = hour},
                                                .put = put,
                                                .keep = keep};
    empty(&hour->known);
    hour->question = sl_standing_new(&options);
    if (hour->question == NULL) {
        sl_hour_free(hour);
        return NULL;
    }
    return hour;
}

void sl_hour_free(struct sl_hour *hour)
{
    if (hour != NULL) {
        sl_standing_free(hour->question);
        free(hour);
    }
}

void sl_hour_read(struct sl_hour *hour, struct sl_history *out)
{
    const char *error = sl_standing_begin(hour->question);
    *out = hour->known;
    memcpy(out->error, error, sizeof(out->error));
    sl_standing_end(hour->question);
}
