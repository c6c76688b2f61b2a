/* Metrics of the queue, and how it stands. */
#include "daemon/queue/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/queue/clock.h"
#include "daemon/queue/readers.h"
#include "daemon/queue/worker.h"
#include "util/clock.h"
#include "util/data/sat.h"
#include "util/time.h"

enum { RESOURCES_MAX = 32 };

static const struct sl_histogram_scale wait_scale = {
    .unit = SL_SECOND_US,
    .decimals = 6,
    .n = 14,
    .bound = {100 * SL_MS_US, 250 * SL_MS_US, 500 * SL_MS_US, SL_SECOND_US, 2500 * SL_MS_US,
              5 * SL_SECOND_US, 10 * SL_SECOND_US, 30 * SL_SECOND_US, SL_MINUTE_US,
              5 * SL_MINUTE_US, 30 * SL_MINUTE_US, 2 * SL_HOUR_US, 12 * SL_HOUR_US, 3 * SL_DAY_US}};
static const struct sl_histogram_scale error_scale = {
    .unit = SL_SECOND_US,
    .decimals = 6,
    .n = 10,
    .bound = {SL_SECOND_US, 5 * SL_SECOND_US, 15 * SL_SECOND_US, SL_MINUTE_US, 5 * SL_MINUTE_US,
              15 * SL_MINUTE_US, SL_HOUR_US, 2 * SL_HOUR_US, 12 * SL_HOUR_US, 3 * SL_DAY_US}};

/* kube-scheduler binds a pod in milliseconds, or within queue.holdSeconds. */
static const struct sl_histogram_scale bind_scale = {
    .unit = SL_SECOND_US,
    .decimals = 6,
    .n = 13,
    .bound = {5 * SL_MS_US, 10 * SL_MS_US, 25 * SL_MS_US, 50 * SL_MS_US, 100 * SL_MS_US,
              250 * SL_MS_US, 500 * SL_MS_US, SL_SECOND_US, 2500 * SL_MS_US, 5 * SL_SECOND_US,
              10 * SL_SECOND_US, 30 * SL_SECOND_US, SL_MINUTE_US}};

/* ---- times ---- */

/* 0 also where there is no such class. */
static unsigned class_find(const struct sl_queue_times *times, const char *name)
{
    unsigned i = times->n_classes - 1;
    while (i > 0 && strcmp(times->class[i].name, name) != 0) {
        i--;
    }
    return i;
}

static void class_add(struct sl_queue_times *times, const char *name)
{
    unsigned i = times->n_classes;
    if (i < SL_QUEUE_CLASSES_MAX) {
        (void)snprintf(times->class[i].name, sizeof(times->class[i].name), "%s", name);
        times->class[i].wait.scale = &wait_scale;
        atomic_store(&times->n_classes, i + 1);
    }
}

void sl_queue_times_init(struct sl_queue_times *times, const struct sl_config *config)
{
    times->bind.scale = &bind_scale;
    times->error.scale = &error_scale;
    class_add(times, SL_CONFIG_CLASS_OTHER);
    sl_queue_times_configure(times, config);
}

void sl_queue_times_configure(struct sl_queue_times *times, const struct sl_config *config)
{
    for (unsigned i = 0; i < config->queue.n_classes; i++) {
        const char *name = config->queue.class[i].class;
        if (class_find(times, name) == 0 && strcmp(name, SL_CONFIG_CLASS_OTHER) != 0) {
            class_add(times, name);
        }
    }
}

void sl_queue_times_wait(struct sl_queue_times *times, const struct sl_config *config,
                         const char *namespace, int64_t us)
{
    unsigned i = class_find(times, sl_config_class_of(config, namespace));
    sl_histogram_observe(&times->class[i].wait, us);
}

void sl_queue_recent_add(struct sl_queue_recent *recent, int64_t us)
{
    recent->us[recent->next] = us;
    recent->next = (recent->next + 1) % SL_QUEUE_RECENT;
    recent->n += recent->n < SL_QUEUE_RECENT ? 1 : 0;
}

void sl_queue_stats(struct sl_queue_worker *worker, struct sl_queue_stats *out)
{
    *out = (struct sl_queue_stats){.plans = false};
    (void)pthread_mutex_lock(&worker->plan);
    if (worker->planner != NULL) {
        int64_t now_us = sl_queue_now(worker, sl_clock_monotonic_ns());
        int64_t since_us = sl_planner_silent(worker->planner, now_us);
        sl_planner_stats(worker->planner, &out->plan);
        out->silent_us = since_us > 0 ? now_us - since_us : 0;
    }
    (void)pthread_mutex_unlock(&worker->plan);
    (void)pthread_mutex_lock(&worker->status);
    out->plans = worker->leadership != 0;
    out->counts = worker->counts;
    out->recent = worker->recent;
    out->outstanding = worker->outstanding;
    out->window = worker->window;
    (void)pthread_mutex_unlock(&worker->status);
}

/* ---- tenants ---- */

static struct sl_queue_tenant_count *tenant_count(struct sl_queue_tenant_counts *counts,
                                                  const char *tenant)
{
    size_t i = 0;
    while (i < counts->n && strcmp(counts->row[i].tenant, tenant) != 0) {
        i++;
    }
    if (i == SL_TENANTS_MAX) {
        return &counts->row[SL_TENANTS_MAX - 1];
    }
    if (i == counts->n) {
        bool last = i == SL_TENANTS_MAX - 1;
        (void)snprintf(counts->row[i].tenant, SL_TENANT_NAME_MAX, "%s",
                       last ? SL_TENANT_OTHERS : tenant);
        counts->n++;
    }
    return &counts->row[i];
}

void sl_queue_tenant_nominated(struct sl_queue_worker *worker, const char *namespace,
                               int64_t due_us)
{
    const char *tenant = sl_planner_tenant_of(worker->planner, namespace);
    if (tenant == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&worker->status);
    if (worker->tenants == NULL) {
        worker->tenants = calloc(1, sizeof(*worker->tenants));
    }
    if (worker->tenants != NULL) {
        struct sl_queue_tenant_count *count = tenant_count(worker->tenants, tenant);
        count->late += due_us > 0;
        count->early += due_us == 0;
    }
    (void)pthread_mutex_unlock(&worker->status);
}

/* A copy, which the caller frees; NULL: there are none. */
static struct sl_queue_tenant_counts *copy_counts(struct sl_queue_worker *worker)
{
    struct sl_queue_tenant_counts *copy = malloc(sizeof(*copy));
    (void)pthread_mutex_lock(&worker->status);
    bool any = copy != NULL && worker->tenants != NULL;
    if (any) {
        copy->n = worker->tenants->n;
        memcpy(copy->row, worker->tenants->row, copy->n * sizeof(copy->row[0]));
    }
    (void)pthread_mutex_unlock(&worker->status);
    if (!any) {
        free(copy);
    }
    return any ? copy : NULL;
}

/* ---- metrics ---- */

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

/* Pods that no node could ever take are counted last, so that invented names take no real
 * resource's row. */
static void count_rows(struct tally *tally, const struct sl_queue_list *list, bool never)
{
    for (size_t i = 0; i < list->n; i++) {
        if ((list->row[i].reason == SL_HOLD_NEVER) == never) {
            count_row(tally, &list->row[i]);
        }
    }
}

/* The source of the rows. */
struct moment {
    struct sl_queue_stats stats;
    uint64_t in_turn;  /* nominations that were no backfills */
    uint64_t before;   /* runs that ended before their timeout */
    int64_t oldest_us; /* age of the oldest waiting pod */
    struct tally tally;
    struct sl_queue_list list;
    int64_t *used; /* units of list.tenant[i], in thousandths; -1: not known. NULL: of none is */
    struct sl_queue_tenant_counts *tenants; /* NULL: there are none */
};

static void write_waiting(const void *source, const char *name, struct sl_buf *out)
{
    const struct tally *tally = &((const struct moment *)source)->tally;
    for (unsigned i = 0; i < tally->n; i++) {
        for (unsigned k = 0; k < SL_QUEUE_STATES * SL_HOLD_REASONS; k++) {
            unsigned state = k / SL_HOLD_REASONS;
            unsigned reason = k % SL_HOLD_REASONS;
            if (tally->row[i].count[state][reason] == 0) {
                continue;
            }
            sl_buf_printf(out, "%s{resource=\"", name);
            sl_metric_label(out, sl_str_of(tally->row[i].resource));
            sl_buf_printf(out, "\",state=\"%s\",reason=\"%s\"} %u\n",
                          sl_queue_state_name((enum sl_queue_state)state),
                          sl_hold_reason_name((enum sl_hold_reason)reason),
                          tally->row[i].count[state][reason]);
        }
    }
}

/* word: NULL: there is no such label. Rows of models are left out: sums would count them twice. */
static void tenant_sample(struct sl_buf *out, const char *name, const struct sl_tenant_row *row,
                          const char *label, const char *word, double value)
{
    if (row->model[0] != '\0') {
        return;
    }
    sl_buf_printf(out, "%s{tenant=\"", name);
    sl_metric_label(out, sl_str_of(row->tenant));
    sl_buf_puts(out, "\",resource=\"");
    sl_metric_label(out, sl_str_of(row->resource));
    if (word != NULL) {
        sl_buf_printf(out, "\",%s=\"%s", label, word);
    }
    sl_buf_printf(out, "\"} %.10g\n", value);
}

/* The row of "NAMESPACE/RESOURCE", which is cut in two; NULL: there is none. With plan held. */
static const struct sl_tenant_row *tenant_row_of(const struct sl_queue_worker *worker,
                                                 const struct sl_queue_list *list, char *name)
{
    char *slash = strchr(name, '/');
    *slash = '\0';
    const struct sl_tenant_row key = {
        .tenant = worker->planner == NULL ? NULL : sl_planner_tenant_of(worker->planner, name),
        .resource = slash + 1,
        .model = ""};
    return key.tenant == NULL ? NULL
                              : bsearch(&key, list->tenant, list->n_tenants, sizeof(key),
                                        sl_queue_compare_tenants);
}

/* Sums up by tenant what was measured by namespace. */
static void find_used(struct sl_queue_worker *worker, const struct sl_usage_reader *usage,
                      struct moment *moment)
{
    const struct sl_queue_list *list = &moment->list;
    struct sl_used *used = NULL;
    size_t n = 0;
    bool any =
        list->n_tenants > 0 && usage->used != NULL && usage->used(usage->context, &used, &n) == 0;
    moment->used = any ? malloc(list->n_tenants * sizeof(*moment->used)) : NULL;
    if (moment->used == NULL) {
        free(used);
        return;
    }
    for (size_t i = 0; i < list->n_tenants; i++) {
        moment->used[i] = -1;
    }
    (void)pthread_mutex_lock(&worker->plan);
    for (size_t i = 0; i < n; i++) {
        const struct sl_tenant_row *row = tenant_row_of(worker, list, used[i].name);
        int64_t *sum = row == NULL ? NULL : &moment->used[row - list->tenant];
        if (sum != NULL) {
            *sum = sl_sat_add(*sum < 0 ? 0 : *sum, used[i].milli);
        }
    }
    (void)pthread_mutex_unlock(&worker->plan);
    free(used);
}

static void write_tenant_units(const void *source, const char *name, struct sl_buf *out)
{
    const struct moment *moment = source;
    const struct sl_queue_list *list = &moment->list;
    for (size_t i = 0; i < list->n_tenants; i++) {
        const struct sl_tenant_row *row = &list->tenant[i];
        if (moment->used != NULL && moment->used[i] >= 0) {
            tenant_sample(out, name, row, "kind", "used", (double)moment->used[i] / 1000);
        }
        tenant_sample(out, name, row, "kind", "share", (double)row->share / 1e6);
        tenant_sample(out, name, row, "kind", "held", (double)row->held);
        tenant_sample(out, name, row, "kind", "borrowed", (double)row->borrowed / 1e6);
        tenant_sample(out, name, row, "kind", "lent", (double)row->lent / 1e6);
        tenant_sample(out, name, row, "kind", "waiting", (double)row->waiting);
    }
}

static void write_tenant_pods(const void *source, const char *name, struct sl_buf *out)
{
    const struct sl_queue_list *list = &((const struct moment *)source)->list;
    for (size_t i = 0; i < list->n_tenants; i++) {
        const struct sl_tenant_row *row = &list->tenant[i];
        tenant_sample(out, name, row, "state", "waiting", (double)row->pods_waiting);
        tenant_sample(out, name, row, "state", "due", (double)row->pods_due);
        tenant_sample(out, name, row, "state", "running", (double)row->pods_running);
        tenant_sample(out, name, row, "state", "overdue", (double)row->pods_overdue);
    }
}

static void write_tenant_late(const void *source, const char *name, struct sl_buf *out)
{
    const struct sl_queue_list *list = &((const struct moment *)source)->list;
    for (size_t i = 0; i < list->n_tenants; i++) {
        tenant_sample(out, name, &list->tenant[i], "", NULL,
                      (double)list->tenant[i].late_us / SL_SECOND_US);
    }
}

static void write_tenant_nominations(const void *source, const char *name, struct sl_buf *out)
{
    const struct sl_queue_tenant_counts *counts = ((const struct moment *)source)->tenants;
    for (size_t i = 0; counts != NULL && i < 2 * counts->n; i++) {
        const struct sl_queue_tenant_count *row = &counts->row[i / 2];
        sl_buf_printf(out, "%s{tenant=\"", name);
        sl_metric_label(out, sl_str_of(row->tenant));
        sl_buf_printf(out, "\",start=\"%s\"} %llu\n", i % 2 == 0 ? "early" : "late",
                      (unsigned long long)(i % 2 == 0 ? row->early : row->late));
    }
}

#define COUNT(member) SL_METRIC_AT(SL_METRIC_U64, struct moment, stats.member)
static const struct sl_metric rows[] = {
    {"sliced_queue_pods", SL_METRIC_GAUGE,
     "Waiting pods by their first resource, their state and the reason.", "resource, state, reason",
     .write = write_waiting},
    {"sliced_queue_nominations_total", SL_METRIC_COUNTER,
     "Nominations made: in the pod's turn, or ahead of a pod with a reserved start (backfilled).",
     "kind=\"in_turn\"", SL_METRIC_AT(SL_METRIC_U64, struct moment, in_turn)},
    {.labels = "kind=\"backfilled\"", COUNT(plan.backfills)},
    {"sliced_queue_nominations_ended_total", SL_METRIC_COUNTER,
     "Nominations that ended: bound there, bound on another node (bound_elsewhere), not taken in "
     "time (expired), withdrawn for a change of the node, refused by the ledger, or the pod was "
     "gone. Those of a leader that loses the lead are not counted.",
     "outcome=\"bound\"", COUNT(counts.bound)},
    {.labels = "outcome=\"bound_elsewhere\"", COUNT(counts.elsewhere)},
    {.labels = "outcome=\"expired\"", COUNT(plan.expiries)},
    {.labels = "outcome=\"withdrawn\"", COUNT(counts.withdrawn)},
    {.labels = "outcome=\"refused\"", COUNT(counts.refused)},
    {.labels = "outcome=\"gone\"", COUNT(counts.gone)},
    {"sliced_queue_releases_total", SL_METRIC_COUNTER,
     "Pods given to kube-scheduler, by what came of it: released; the pod was gone; the API server "
     "refused it for what the pod is; it failed, for no answer or no good one; unknown.",
     "outcome=\"released\"", COUNT(counts.ends[SL_RELEASE_RELEASED])},
    {.labels = "outcome=\"gone\"", COUNT(counts.ends[SL_RELEASE_GONE])},
    {.labels = "outcome=\"refused\"", COUNT(counts.ends[SL_RELEASE_REFUSED])},
    {.labels = "outcome=\"failed\"", COUNT(counts.ends[SL_RELEASE_FAILED])},
    {.labels = "outcome=\"unknown\"", COUNT(counts.ends[SL_RELEASE_UNKNOWN])},
    {"sliced_queue_runs_ended_total", SL_METRIC_COUNTER,
     "Runs that have ended: at their timeout, or before it.", "how=\"timeout\"",
     COUNT(plan.timeouts)},
    {.labels = "how=\"before\"", SL_METRIC_AT(SL_METRIC_U64, struct moment, before)},
    {"sliced_queue_refusals_total", SL_METRIC_COUNTER, "Pods refused.", NULL, COUNT(plan.refusals)},
    {"sliced_queue_rereads_total", SL_METRIC_COUNTER,
     "Times that all pods were read anew: once a leadership, or when memory was short.", NULL,
     COUNT(counts.rereads)},
    {"sliced_queue_plans_total", SL_METRIC_COUNTER, "Plans made.", NULL, COUNT(counts.runs)},
    {"sliced_queue_plan_seconds_total", SL_METRIC_COUNTER, "Time spent in plans.", NULL,
     SL_METRIC_AT(SL_METRIC_US, struct moment, stats.counts.run_us)},
    {"sliced_queue_record_cuts_total", SL_METRIC_COUNTER,
     "Times that the record of the tenants' shares for the next leader was cut, at 16 KiB.", NULL,
     COUNT(counts.cuts)},
    {"sliced_queue_outstanding", SL_METRIC_GAUGE, "Nominations that are not bound yet.", NULL,
     SL_METRIC_AT(SL_METRIC_UNSIGNED, struct moment, stats.outstanding)},
    {"sliced_queue_window", SL_METRIC_GAUGE, "How many releases may be under way.", NULL,
     SL_METRIC_AT(SL_METRIC_UNSIGNED, struct moment, stats.window)},
    {"sliced_queue_scheduler_silent_seconds", SL_METRIC_GAUGE,
     "For so long nothing was heard from kube-scheduler though pods wait for it; 0 while it is.",
     NULL, SL_METRIC_AT(SL_METRIC_MS_OF_US, struct moment, stats.silent_us)},
    {"sliced_queue_oldest_wait_seconds", SL_METRIC_GAUGE,
     "Age of the oldest waiting pod that is not refused.", NULL,
     SL_METRIC_AT(SL_METRIC_MS_OF_US, struct moment, oldest_us)},
    {"sliced_tenant_units", SL_METRIC_GAUGE,
     "Units of a tenant: its own share, what it holds, what of that it borrows, what others borrow "
     "of its share (lent), what its waiting pods ask for, and, of running pods whose GPUs are "
     "measured, what they hold by how busy these are (used).",
     "tenant, resource, kind", .write = write_tenant_units},
    {"sliced_tenant_pods", SL_METRIC_GAUGE,
     "Pods of a tenant: that wait; of these, that would have started by now on its own share "
     "(due), "
     "and that are due though each run of another tenant began later (overdue); that run.",
     "tenant, resource, state", .write = write_tenant_pods},
    {"sliced_tenant_late_seconds", SL_METRIC_GAUGE,
     "For how long a waiting pod of the tenant has been due; 0: none is.", "tenant, resource",
     .write = write_tenant_late},
    {"sliced_tenant_nominations_total", SL_METRIC_COUNTER,
     "Nominations of a tenant's pods: before they were due (early), or after (late).",
     "tenant, start", .write = write_tenant_nominations},
    {"sliced_tenant_rows_omitted", SL_METRIC_GAUGE,
     "Tenants and resources of which nothing is told: there are more than 2,048.", NULL,
     SL_METRIC_AT(SL_METRIC_U64, struct moment, list.tenants_omitted)},
};
#undef COUNT

static void write_waits(const void *source, const char *name, struct sl_buf *out)
{
    const struct sl_queue_times *times = &((const struct sl_queue_worker *)source)->times;
    unsigned n = atomic_load(&times->n_classes);
    for (unsigned i = 0; i < n; i++) {
        char labels[SL_CONFIG_CLASS_MAX + 16];
        (void)snprintf(labels, sizeof(labels), "class=\"%s\"", times->class[i].name);
        sl_histogram_write(&times->class[i].wait, name, labels, out);
    }
}

#define TIMES(member) SL_METRIC_AT(SL_METRIC_DISTRIBUTED, struct sl_queue_worker, times.member)
static const struct sl_metric time_rows[] = {
    {"sliced_queue_wait_seconds", SL_METRIC_HISTOGRAM,
     "Time from submission to bound, by the class of the pod's namespace "
     "(queue.namespaceClasses).",
     "class", .write = write_waits},
    {"sliced_queue_bind_seconds", SL_METRIC_HISTOGRAM, "Time from nomination to bound.", NULL,
     TIMES(bind)},
    {"sliced_queue_estimate_error_seconds", SL_METRIC_HISTOGRAM,
     "Between the start that an Event told the pod's owner last and the nomination; again with "
     "each "
     "nomination when one expires.",
     NULL, TIMES(error)},
};
#undef TIMES

const struct sl_metric_table sl_queue_metrics[] = {
    SL_METRIC_TABLE(rows), SL_METRIC_TABLE(time_rows), {NULL, 0}};

/* 0: no pod waits. */
static int64_t oldest_age(const struct sl_plan_stats *stats)
{
    int64_t age_us = stats->oldest_us == 0 ? 0 : sl_clock_real_us() - stats->oldest_us;
    return age_us > 0 ? age_us : 0;
}

void sl_queue_write_metrics(void *context, const struct sl_usage_reader *usage, struct sl_buf *out)
{
    struct sl_queue_worker *worker = context;
    struct moment moment = {.tenants = copy_counts(worker)};
    sl_queue_stats(worker, &moment.stats);
    moment.in_turn = moment.stats.plan.nominations - moment.stats.plan.backfills;
    moment.before = moment.stats.plan.ended - moment.stats.plan.timeouts;
    moment.oldest_us = oldest_age(&moment.stats.plan);
    if (sl_queue_rows_now(worker, SIZE_MAX, &moment.list, NULL) == 0) {
        count_rows(&moment.tally, &moment.list, false);
        count_rows(&moment.tally, &moment.list, true);
        find_used(worker, usage, &moment);
    }
    sl_metric_write(&sl_queue_metrics[0], &moment, out); /* its names are the listed pods' */
    sl_queue_list_free(&moment.list);
    free(moment.tenants);
    free(moment.used);
    sl_metric_write(&sl_queue_metrics[1], worker, out);
    if (worker->options.partitioner != NULL) {
        sl_partitioner_write_metrics(worker->options.partitioner, out);
    }
    if (worker->options.stages != NULL) {
        sl_stage_tracker_write_metrics(worker->options.stages, out);
    }
}

/* ---- state ---- */

static int compare_spans(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void write_seconds(struct sl_writer *w, const char *key, int64_t us)
{
    sl_write_key(w, key);
    sl_write_double(w, (double)us / SL_SECOND_US);
}

/* Sorts the times. */
static void write_plan_times(struct sl_writer *w, struct sl_queue_recent *recent)
{
    unsigned last = (recent->next + SL_QUEUE_RECENT - 1) % SL_QUEUE_RECENT;
    int64_t last_us = recent->us[last];
    qsort(recent->us, recent->n, sizeof(recent->us[0]), compare_spans);
    sl_write_key(w, "planSeconds");
    if (recent->n == 0) {
        sl_write_null(w);
        return;
    }
    sl_write_object(w);
    write_seconds(w, "last", last_us);
    write_seconds(w, "median", recent->us[recent->n / 2]);
    write_seconds(w, "worst", recent->us[recent->n - 1]);
    sl_write_member_i64(w, "of", recent->n);
    sl_write_object_end(w);
}

static void write_nominations(struct sl_writer *w, const struct sl_queue_stats *stats)
{
    sl_write_member_i64(w, "nominations", (int64_t)stats->plan.nominations);
    sl_write_member_object(w, "nominationsEnded");
    sl_write_member_i64(w, "bound", (int64_t)stats->counts.bound);
    sl_write_member_i64(w, "bound_elsewhere", (int64_t)stats->counts.elsewhere);
    sl_write_member_i64(w, "expired", (int64_t)stats->plan.expiries);
    sl_write_member_i64(w, "withdrawn", (int64_t)stats->counts.withdrawn);
    sl_write_member_i64(w, "refused", (int64_t)stats->counts.refused);
    sl_write_member_i64(w, "gone", (int64_t)stats->counts.gone);
    sl_write_object_end(w);
}

static void write_releases(struct sl_writer *w, const struct sl_queue_stats *stats)
{
    static const char *const names[SL_RELEASE_ENDS] = {
        [SL_RELEASE_RELEASED] = "released", [SL_RELEASE_GONE] = "gone",
        [SL_RELEASE_REFUSED] = "refused",   [SL_RELEASE_FAILED] = "failed",
        [SL_RELEASE_UNKNOWN] = "unknown",
    };
    sl_write_member_object(w, "releases");
    for (unsigned i = 0; i < SL_RELEASE_ENDS; i++) {
        sl_write_member_i64(w, names[i], (int64_t)stats->counts.ends[i]);
    }
    sl_write_object_end(w);
}

/* Writes the mean wait of the pods that were bound. */
static void write_mean_wait(struct sl_writer *w, const struct sl_queue_times *times)
{
    uint64_t pods = 0;
    uint64_t sum_us = 0;
    for (unsigned i = 0; i < atomic_load(&times->n_classes); i++) {
        sum_us += atomic_load(&times->class[i].wait.sum);
        for (unsigned k = 0; k <= wait_scale.n; k++) {
            pods += atomic_load(&times->class[i].wait.bucket[k]);
        }
    }
    sl_write_key(w, "meanWaitSeconds");
    sl_write_double(w, pods == 0 ? NAN : (double)sum_us / (double)pods / SL_SECOND_US);
}

void sl_queue_write_state(void *context, struct sl_writer *w)
{
    const struct sl_queue_worker *worker = context;
    struct sl_queue_stats stats;
    sl_queue_stats(context, &stats);
    sl_write_member_object(w, "queue");
    sl_write_member_bool(w, "plans", stats.plans);
    sl_write_member_i64(w, "planned", (int64_t)stats.counts.runs);
    write_plan_times(w, &stats.recent);
    write_seconds(w, "schedulerSilentSeconds", stats.silent_us);
    sl_write_member_i64(w, "outstanding", stats.outstanding);
    sl_write_member_i64(w, "window", stats.window);
    write_seconds(w, "oldestWaitSeconds", oldest_age(&stats.plan));
    write_mean_wait(w, &worker->times);
    sl_write_member_object(w, "runsEnded");
    sl_write_member_i64(w, "timeout", (int64_t)stats.plan.timeouts);
    sl_write_member_i64(w, "before", (int64_t)(stats.plan.ended - stats.plan.timeouts));
    sl_write_object_end(w);
    write_nominations(w, &stats);
    write_releases(w, &stats);
    sl_write_object_end(w);
}
