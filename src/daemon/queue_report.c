/* What the queue says of itself: counts, and Prometheus' text of them. */
#include <inttypes.h>

#include "daemon/queue_internal.h"
#include "server/metrics.h"
#include "server/process.h"

enum { RESOURCES_MAX = 32 };

/* Upper bounds in microseconds. */
static const int64_t wait_bounds[SL_QUEUE_WAIT_BUCKETS] = {
    100000,   250000,   500000,    1000000,    2500000,    5000000,     10000000,
    30000000, 60000000, 300000000, 1800000000, 7200000000, 43200000000, 259200000000};
static const int64_t error_bounds[SL_QUEUE_ERROR_BUCKETS] = {
    1000000,   5000000,    15000000,   60000000,    300000000,
    900000000, 3600000000, 7200000000, 43200000000, 259200000000};

static void note(uint64_t *bucket, const int64_t *bounds, unsigned n, int64_t us)
{
    unsigned i = 0;
    while (i < n && us > bounds[i]) {
        i++;
    }
    bucket[i]++;
}

void sl_queue_note_wait(struct sl_queue_counts *counts, int64_t us)
{
    us = us < 0 ? 0 : us;
    note(counts->wait, wait_bounds, SL_QUEUE_WAIT_BUCKETS, us);
    counts->wait_us += (uint64_t)us;
}

void sl_queue_note_error(struct sl_queue_counts *counts, int64_t us)
{
    note(counts->error, error_bounds, SL_QUEUE_ERROR_BUCKETS, us);
    counts->error_us += (uint64_t)us;
}

void sl_queue_stats(void *context, struct sl_queue_stats *out)
{
    struct sl_queuer *queuer = context;
    *out = (struct sl_queue_stats){.plans = false};
    (void)pthread_mutex_lock(&queuer->plan);
    if (queuer->planner != NULL) {
        int64_t now_us = sl_queue_now(queuer, sl_clock_monotonic_ns());
        int64_t since_us = sl_planner_silent(queuer->planner, now_us);
        sl_planner_stats(queuer->planner, &out->plan);
        out->silent_us = since_us > 0 ? now_us - since_us : 0;
    }
    (void)pthread_mutex_unlock(&queuer->plan);
    (void)pthread_mutex_lock(&queuer->status);
    const struct sl_queue_counts *counts = &queuer->counts;
    out->plans = queuer->term != 0;
    out->runs = counts->runs;
    out->run_us = counts->run_us;
    out->rereads = counts->rereads;
    out->bound = counts->bound;
    out->wrong = counts->wrong;
    out->refused = counts->refused;
    out->released = counts->ends[SL_RELEASE_RELEASED];
    out->gone = counts->ends[SL_RELEASE_GONE];
    out->denied = counts->ends[SL_RELEASE_REFUSED];
    out->failed = counts->ends[SL_RELEASE_FAILED];
    out->unknown = counts->ends[SL_RELEASE_UNKNOWN];
    out->withdrawn = counts->withdrawn;
    out->outstanding = queuer->outstanding;
    out->window = sl_pace_window(&queuer->pace);
    out->bind_us = queuer->pace.rtt_us;
    (void)pthread_mutex_unlock(&queuer->status);
}

/* ---- metrics ---- */

static void histogram(struct sl_buf *out, const char *name, const char *help,
                      const uint64_t *bucket, const int64_t *bounds, unsigned n, uint64_t sum_us)
{
    const struct sl_buckets buckets = {bucket, bounds, n, sum_us, 1000000, 6};
    sl_metrics_family(out, name, "histogram", help);
    sl_metrics_buckets(out, name, "", &buckets);
}

/* Waiting pods by their first resource, state and reason. */
struct tally {
    struct {
        const char *resource;
        uint32_t count[SL_QUEUE_STATES][SL_HOLD_REASONS];
    } row[RESOURCES_MAX];
    unsigned n;
};

static void count_row(struct tally *tally, const struct sl_queue_row *row)
{
    const char *resource = row->pod->n_items > 0 ? row->pod->items[0].resource : "";
    unsigned i = 0;
    while (i < tally->n && strcmp(tally->row[i].resource, resource) != 0) {
        i++;
    }
    if (i == RESOURCES_MAX) {
        i = RESOURCES_MAX - 1; /* the last counts for all that have no row of their own */
    } else if (i == tally->n) {
        tally->row[tally->n++].resource = i == RESOURCES_MAX - 1 ? "others" : resource;
    }
    tally->row[i].count[row->state][row->reason]++;
}

/* What no node could ever take comes last: invented names have no row in a real one's place. */
static void count_rows(struct tally *tally, const struct sl_queue_list *list, bool never)
{
    for (size_t i = 0; i < list->n; i++) {
        if ((list->row[i].reason == SL_HOLD_NEVER) == never) {
            count_row(tally, &list->row[i]);
        }
    }
}

static void write_waiting(struct sl_buf *out, const struct tally *tally)
{
    static const char name[] = "sliced_queue_pods";
    sl_metrics_family(out, name, "gauge",
                      "Waiting pods by their first resource, their state and the reason.");
    for (unsigned i = 0; i < tally->n; i++) {
        for (unsigned k = 0; k < SL_QUEUE_STATES * SL_HOLD_REASONS; k++) {
            unsigned state = k / SL_HOLD_REASONS;
            unsigned reason = k % SL_HOLD_REASONS;
            if (tally->row[i].count[state][reason] == 0) {
                continue;
            }
            sl_buf_printf(out, "%s{resource=\"", name);
            sl_metrics_label(out, sl_str_of(tally->row[i].resource));
            sl_buf_printf(out, "\",state=\"%s\",reason=\"%s\"} %u\n",
                          sl_queue_state_name((enum sl_queue_state)state),
                          sl_hold_reason_name((enum sl_hold_reason)reason),
                          tally->row[i].count[state][reason]);
        }
    }
}

static void write_counters(struct sl_buf *out, const struct sl_queue_stats *stats)
{
    sl_metrics_family(
        out, "sliced_queue_claims_total", "counter",
        "Claims: made, of these ahead of a pod with a reservation (backfilled), refused by the "
        "store, not taken in time (lapsed), bound, and of these bound on another node than was "
        "nominated (wrong).");
    sl_buf_printf(out,
                  "sliced_queue_claims_total{what=\"made\"} %" PRIu64 "\n"
                  "sliced_queue_claims_total{what=\"backfilled\"} %" PRIu64 "\n"
                  "sliced_queue_claims_total{what=\"refused\"} %" PRIu64 "\n"
                  "sliced_queue_claims_total{what=\"lapsed\"} %" PRIu64 "\n"
                  "sliced_queue_claims_total{what=\"bound\"} %" PRIu64 "\n"
                  "sliced_queue_claims_total{what=\"wrong\"} %" PRIu64 "\n",
                  stats->plan.claims, stats->plan.backfills, stats->refused, stats->plan.lapses,
                  stats->bound, stats->wrong);
    sl_metrics_family(out, "sliced_queue_releases_total", "counter",
                      "Pods given to kube-scheduler, by what came of it.");
    sl_buf_printf(out,
                  "sliced_queue_releases_total{outcome=\"released\"} %" PRIu64 "\n"
                  "sliced_queue_releases_total{outcome=\"gone\"} %" PRIu64 "\n"
                  "sliced_queue_releases_total{outcome=\"refused\"} %" PRIu64 "\n"
                  "sliced_queue_releases_total{outcome=\"failed\"} %" PRIu64 "\n"
                  "sliced_queue_releases_total{outcome=\"unknown\"} %" PRIu64 "\n",
                  stats->released, stats->gone, stats->denied, stats->failed, stats->unknown);
    sl_metrics_single(out, "sliced_queue_refusals_total", "counter", "Pods refused.",
                      stats->plan.refusals);
    sl_metrics_single(out, "sliced_queue_rereads_total", "counter",
                      "Times that all pods were read anew.", stats->rereads);
    sl_metrics_single(out, "sliced_queue_plans_total", "counter", "Plans made.", stats->runs);
    sl_metrics_family(out, "sliced_queue_plan_seconds_total", "counter", "Time spent in plans.");
    sl_buf_printf(out, "sliced_queue_plan_seconds_total %.6f\n", (double)stats->run_us / 1e6);
}

static void write_gauges(struct sl_buf *out, const struct sl_queue_stats *stats)
{
    int64_t age_us = stats->plan.oldest_us == 0 ? 0 : sl_clock_real_us() - stats->plan.oldest_us;
    sl_metrics_single(out, "sliced_queue_outstanding", "gauge", "Claims that are not bound yet.",
                      stats->outstanding);
    sl_metrics_single(out, "sliced_queue_window", "gauge", "How many releases may be under way.",
                      stats->window);
    sl_metrics_family(out, "sliced_queue_bind_seconds", "gauge",
                      "Smoothed time from claim to bound.");
    sl_buf_printf(out, "sliced_queue_bind_seconds %.6f\n", (double)stats->bind_us / 1e6);
    sl_metrics_family(out, "sliced_queue_scheduler_silent_seconds", "gauge",
                      "For so long nothing was heard of kube-scheduler though pods wait for it.");
    sl_buf_printf(out, "sliced_queue_scheduler_silent_seconds %.3f\n",
                  (double)stats->silent_us / 1e6);
    sl_metrics_family(out, "sliced_queue_oldest_wait_seconds", "gauge",
                      "Age of the oldest waiting pod that is not refused.");
    sl_buf_printf(out, "sliced_queue_oldest_wait_seconds %.3f\n",
                  age_us < 0 ? 0 : (double)age_us / 1e6);
}

void sl_queue_metrics(void *context, struct sl_buf *out)
{
    struct sl_queuer *queuer = context;
    struct sl_queue_stats stats;
    struct sl_queue_counts counts;
    struct tally tally = {.n = 0};
    struct sl_queue_list list;
    sl_queue_stats(queuer, &stats);
    if (sl_queue_rows_now(queuer, SIZE_MAX, &list, NULL) == 0) {
        count_rows(&tally, &list, false);
        count_rows(&tally, &list, true);
    }
    write_waiting(out, &tally); /* its names are the pods' */
    sl_queue_list_free(&list);
    (void)pthread_mutex_lock(&queuer->status);
    counts = queuer->counts;
    (void)pthread_mutex_unlock(&queuer->status);
    write_counters(out, &stats);
    write_gauges(out, &stats);
    histogram(out, "sliced_queue_wait_seconds", "Time from submission to bound.", counts.wait,
              wait_bounds, SL_QUEUE_WAIT_BUCKETS, counts.wait_us);
    if (queuer->options.stages != NULL) {
        sl_stager_metrics(queuer->options.stages, out);
    }
    histogram(out, "sliced_queue_estimate_error_seconds",
              "Between the start that its owner was told last and the claim, each claim of a pod.",
              counts.error, error_bounds, SL_QUEUE_ERROR_BUCKETS, counts.error_us);
}
