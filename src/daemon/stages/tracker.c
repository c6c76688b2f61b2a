/* One lock, held for no input or output; it is taken after the queue's plan and the store's lock.
 */
#include "daemon/stages/tracker.h"

#include <pthread.h>
#include <stdlib.h>

#include "kube/client/url.h"
#include "kube/watch/list_read.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/time.h"

enum { PATH_BYTES_MAX = 8192, STORE_READS_MAX = 1024 };

static const int64_t log_every_us = SL_SECOND_US;

/* A reading under way. */
struct reading {
    struct sl_stage_tracker *tracker;
    uint64_t id;
    char *path;
    enum sl_stage_kind kind;
    bool used;
    bool lacking; /* memory for an object */
};

struct sl_stage_tracker {
    struct sl_stage_tracker_options options;
    pthread_mutex_t lock; /* guards what follows */
    struct sl_stages *stages;
    struct reading reading[SL_STAGE_READS_MAX]; /* its use; the rest is its caller's */
    int64_t logged_us;                          /* when the log had the last failure */
    int64_t timer_us; /* when the first of the timers goes off; INT64_MAX: none is set */
    uint64_t reads, failures;
};

static void tracker_lock(struct sl_stage_tracker *tracker)
{
    (void)pthread_mutex_lock(&tracker->lock);
}

/* Unlocks, and wakes the queue if there is something to collect. */
static void tracker_unlock(struct sl_stage_tracker *tracker)
{
    bool changed = sl_stages_changed(tracker->stages);
    (void)pthread_mutex_unlock(&tracker->lock);
    if (changed) {
        tracker->options.wake(tracker->options.context);
    }
}

static enum sl_pod_phase phase_of(const struct sl_job_facts *job)
{
    return job->complete ? SL_POD_SUCCEEDED : job->failed ? SL_POD_FAILED : SL_POD_RUNNING;
}

/* The namespace of a Job from a watch or list is never empty. */
static struct sl_str namespace_of(struct sl_str namespace)
{
    return namespace.len > 0 ? namespace : SL_STR("default");
}

/* ---- readings from the API server ---- */

static void begin_reads(struct sl_stage_tracker *tracker);

static void on_object(void *context, const struct sl_object *object)
{
    struct reading *reading = context;
    struct sl_stage_tracker *tracker = reading->tracker;
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_pod *pod = object->pod == NULL ? NULL : sl_pod_new(object->pod, &err);
    tracker_lock(tracker);
    if (object->job != NULL) {
        sl_stages_read_job(tracker->stages, reading->id, object->job->name, object->job->uid,
                           phase_of(object->job));
    } else if (pod != NULL) {
        sl_stages_read_pod(tracker->stages, reading->id, pod);
    }
    reading->lacking = reading->lacking || err.code == SL_ERR_NOMEM;
    tracker_unlock(tracker);
    sl_pod_unref(pod);
}

static void on_resume(void *context)
{
    struct sl_stage_tracker *tracker = context;
    tracker_lock(tracker);
    tracker->timer_us = INT64_MAX;
    tracker_unlock(tracker);
    begin_reads(tracker);
}

/* Sets a timer for the next try of a failed reading. Without memory for it, the next collect
 * tries. */
static void set_timer(struct sl_stage_tracker *tracker)
{
    int64_t now_us = sl_clock_monotonic_us();
    tracker_lock(tracker);
    int64_t wake_us = sl_stages_wake(tracker->stages);
    bool set = wake_us > now_us && wake_us < tracker->timer_us;
    tracker->timer_us = set ? wake_us : tracker->timer_us;
    (void)pthread_mutex_unlock(&tracker->lock);
    if (set && sl_client_after(tracker->options.client, wake_us - now_us, on_resume, tracker) < 0) {
        tracker_lock(tracker);
        tracker->timer_us = INT64_MAX;
        (void)pthread_mutex_unlock(&tracker->lock);
    }
}

/* Allows one logged failure a second in all, so that names without an object do not fill the
 * log. */
static bool is_worth_a_line(struct sl_stage_tracker *tracker)
{
    int64_t now_us = sl_clock_monotonic_us();
    tracker_lock(tracker);
    bool due = tracker->logged_us == 0 || now_us - tracker->logged_us >= log_every_us;
    tracker->logged_us = due ? now_us : tracker->logged_us;
    (void)pthread_mutex_unlock(&tracker->lock);
    return due;
}

/* On the client's thread; if the reading could not begin, on its caller's. */
static void end_reading(struct reading *reading, bool ok, const struct sl_error *why)
{
    struct sl_stage_tracker *tracker = reading->tracker;
    if (!ok && is_worth_a_line(tracker)) {
        sl_log(SL_LOG_WARN, "a predecessor in sliced.dev/after could not be read", "path",
               reading->path == NULL ? "" : reading->path, "problem", why->message, (char *)NULL);
    }
    free(reading->path);
    reading->path = NULL;
    tracker_lock(tracker);
    sl_stages_read_end(tracker->stages, reading->id, ok, sl_clock_monotonic_us());
    reading->used = false;
    tracker->failures += !ok;
    tracker_unlock(tracker);
}

static void on_done(void *context, bool ok, const struct sl_error *err)
{
    struct reading *reading = context;
    struct sl_stage_tracker *tracker = reading->tracker;
    end_reading(reading, ok && !reading->lacking, err);
    begin_reads(tracker);
}

static char *make_path(const struct sl_stage_read *read)
{
    static const char *const fields[] = {
        [SL_STAGE_POD] = "/pods?fieldSelector=metadata.name%3D",
        [SL_STAGE_JOB] = "/jobs?fieldSelector=metadata.name%3D",
        [SL_STAGE_SELECTOR] = "/pods?labelSelector=",
    };
    struct sl_buf path;
    size_t len = 0;
    sl_buf_init(&path, PATH_BYTES_MAX);
    sl_buf_puts(&path,
                read->kind == SL_STAGE_JOB ? "/apis/batch/v1/namespaces/" : "/api/v1/namespaces/");
    sl_url_put(&path, read->namespace);
    sl_buf_puts(&path, fields[read->kind]);
    sl_url_put(&path, read->text);
    sl_buf_putc(&path, '\0');
    if (path.failed != SL_BUF_OK) {
        sl_buf_free(&path);
        return NULL;
    }
    return sl_buf_steal(&path, &len);
}

/* With the lock held. NULL: the maximum is under way. */
static struct reading *free_slot(struct sl_stage_tracker *tracker)
{
    for (int i = 0; i < SL_STAGE_READS_MAX; i++) {
        if (!tracker->reading[i].used) {
            return &tracker->reading[i];
        }
    }
    return NULL;
}

/* NULL: nothing is to be read now. */
static struct reading *next_reading(struct sl_stage_tracker *tracker)
{
    struct sl_stage_read read;
    tracker_lock(tracker);
    struct reading *reading = free_slot(tracker);
    if (reading != NULL && !sl_stages_next_read(tracker->stages, sl_clock_monotonic_us(), &read)) {
        reading = NULL;
    }
    if (reading != NULL) {
        *reading = (struct reading){.tracker = tracker,
                                    .id = read.id,
                                    .path = make_path(&read),
                                    .kind = read.kind,
                                    .used = true};
        tracker->reads++;
    }
    tracker_unlock(tracker);
    return reading;
}

/* As many at a time as stages allow. */
static void begin_reads(struct sl_stage_tracker *tracker)
{
    struct reading *reading = next_reading(tracker);
    while (reading != NULL) {
        struct sl_error err = {.code = SL_ERR_NONE};
        const struct sl_list_read list = {
            .client = tracker->options.client,
            .kind = reading->kind == SL_STAGE_JOB ? SL_OBJECT_JOB : SL_OBJECT_POD,
            .path = reading->path,
            .timeout_us = tracker->options.timeout_us,
            .object = on_object,
            .done = on_done,
            .context = reading,
        };
        int result = reading->path == NULL ? sl_error_nomem(&err) : sl_list_read(&list, &err);
        if (result < 0) {
            end_reading(reading, false, &err);
        }
        reading = next_reading(tracker);
    }
    set_timer(tracker);
}

/* ---- an embedded cluster ---- */

/* A pod that is deleted while it runs has succeeded: no kubelet could say so. */
static void on_store(void *context, struct sl_pod *pod, bool there)
{
    struct sl_stage_tracker *tracker = context;
    struct sl_pod *ended = NULL;
    if (!there && sl_pod_holds(pod)) {
        ended = sl_pod_bound_to(pod, pod->node, pod->assignment, SL_POD_SUCCEEDED);
    }
    tracker_lock(tracker);
    sl_stages_pod(tracker->stages, ended != NULL ? ended : pod);
    if (!there) {
        sl_stages_pod_gone(tracker->stages, sl_str_of(pod->namespace), sl_str_of(pod->name));
    }
    tracker_unlock(tracker);
    sl_pod_unref(ended);
}

/* The store tells of all its pods at once. */
static void read_store(struct sl_stage_tracker *tracker)
{
    struct sl_stage_read read;
    uint64_t first = 1;
    uint64_t last = 0;
    for (int i = 0; i < STORE_READS_MAX && first > 0; i++) {
        tracker_lock(tracker);
        for (first = 0; sl_stages_next_read(tracker->stages, 0, &read); last = read.id) {
            first = first == 0 ? read.id : first;
        }
        (void)pthread_mutex_unlock(&tracker->lock);
        if (first > 0) {
            sl_store_set_watch(tracker->options.store, on_store, tracker);
            tracker_lock(tracker);
            for (uint64_t id = first; id <= last; id++) {
                sl_stages_read_end(tracker->stages, id, true, 0);
            }
            tracker_unlock(tracker);
        }
    }
}

/* ---- for the queue ---- */

struct sl_stages *sl_stage_tracker_stages(struct sl_stage_tracker *tracker)
{
    return tracker == NULL ? NULL : tracker->stages;
}

void sl_stage_tracker_lock(struct sl_stage_tracker *tracker)
{
    if (tracker != NULL) {
        tracker_lock(tracker);
    }
}

void sl_stage_tracker_unlock(struct sl_stage_tracker *tracker)
{
    if (tracker != NULL) {
        (void)pthread_mutex_unlock(&tracker->lock);
    }
}

void sl_stage_tracker_collect(struct sl_stage_tracker *tracker, struct sl_engine *engine,
                              int64_t now_us)
{
    if (tracker->options.client == NULL) {
        read_store(tracker);
    }
    tracker_lock(tracker);
    bool more = sl_engine_collect(engine, now_us, NULL, NULL);
    (void)pthread_mutex_unlock(&tracker->lock);
    if (more) {
        tracker->options.wake(tracker->options.context);
    }
    if (tracker->options.client != NULL) {
        begin_reads(tracker);
    }
}

/* ---- metrics ---- */

/* The source of the rows. */
struct moment {
    struct sl_stages_stats stages;
    uint64_t reads, failures;
};

#define COUNT(member) SL_METRIC_AT(SL_METRIC_U64, struct moment, member)
static const struct sl_metric rows[] = {
    {"sliced_stages_waiting_pods", SL_METRIC_GAUGE, "Waiting pods with sliced.dev/after.", NULL,
     COUNT(stages.waiters)},
    {"sliced_stages_items", SL_METRIC_GAUGE,
     "Different items that waiting pods name in sliced.dev/after.", NULL, COUNT(stages.targets)},
    {"sliced_stages_predecessors", SL_METRIC_GAUGE,
     "Pods and Jobs known for the items of sliced.dev/after.", NULL, COUNT(stages.records)},
    {"sliced_stages_refused_total", SL_METRIC_COUNTER,
     "Items and predecessors for which queue.maxPredecessors left no room.", NULL,
     COUNT(stages.refused)},
    {"sliced_stages_reads_total", SL_METRIC_COUNTER, "Readings of what pods wait for.", NULL,
     COUNT(reads)},
    {"sliced_stages_read_failures_total", SL_METRIC_COUNTER,
     "Readings of what pods wait for that failed.", NULL, COUNT(failures)},
};
#undef COUNT

const struct sl_metric_table sl_stage_tracker_metrics[] = {SL_METRIC_TABLE(rows), {NULL, 0}};

void sl_stage_tracker_write_metrics(struct sl_stage_tracker *tracker, struct sl_buf *out)
{
    struct moment moment;
    tracker_lock(tracker);
    sl_stages_stats(tracker->stages, &moment.stages);
    moment.reads = tracker->reads;
    moment.failures = tracker->failures;
    (void)pthread_mutex_unlock(&tracker->lock);
    sl_metric_write(sl_stage_tracker_metrics, &moment, out);
}

/* ---- for watches ---- */

void sl_stage_tracker_pod(struct sl_stage_tracker *tracker, const struct sl_pod *pod)
{
    tracker_lock(tracker);
    sl_stages_pod(tracker->stages, pod);
    tracker_unlock(tracker);
}

void sl_stage_tracker_pod_gone(struct sl_stage_tracker *tracker, struct sl_str namespace,
                               struct sl_str name)
{
    tracker_lock(tracker);
    sl_stages_pod_gone(tracker->stages, namespace_of(namespace), name);
    tracker_unlock(tracker);
}

void sl_stage_tracker_job(void *context, const struct sl_job_facts *job)
{
    struct sl_stage_tracker *tracker = context;
    tracker_lock(tracker);
    sl_stages_job(tracker->stages, namespace_of(job->namespace), job->name, job->uid,
                  phase_of(job));
    tracker_unlock(tracker);
}

void sl_stage_tracker_job_gone(void *context, struct sl_str namespace, struct sl_str name)
{
    struct sl_stage_tracker *tracker = context;
    tracker_lock(tracker);
    sl_stages_job_gone(tracker->stages, namespace_of(namespace), name);
    tracker_unlock(tracker);
}

void sl_stage_tracker_listed(struct sl_stage_tracker *tracker, bool jobs)
{
    tracker_lock(tracker);
    sl_stages_reread(tracker->stages, jobs);
    tracker_unlock(tracker);
    if (tracker->options.client != NULL) {
        begin_reads(tracker);
    }
}

bool sl_stage_tracker_wants_jobs(struct sl_stage_tracker *tracker)
{
    struct sl_stages_stats stats;
    tracker_lock(tracker);
    sl_stages_stats(tracker->stages, &stats);
    (void)pthread_mutex_unlock(&tracker->lock);
    return stats.jobs > 0;
}

/* ---- life ---- */

struct sl_stage_tracker *sl_stage_tracker_new(const struct sl_stage_tracker_options *options,
                                              struct sl_error *err)
{
    struct sl_stage_tracker *tracker = calloc(1, sizeof(*tracker));
    if (tracker == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    tracker->options = *options;
    tracker->timer_us = INT64_MAX;
    tracker->stages = sl_stages_new(0, err); /* the engine says for how many */
    if (tracker->stages == NULL) {
        free(tracker);
        return NULL;
    }
    (void)pthread_mutex_init(&tracker->lock, NULL);
    if (options->store != NULL) {
        sl_store_set_watch(options->store, on_store, tracker);
    }
    return tracker;
}

void sl_stage_tracker_free(struct sl_stage_tracker *tracker)
{
    if (tracker == NULL) {
        return;
    }
    if (tracker->options.store != NULL) {
        sl_store_set_watch(tracker->options.store, NULL, NULL);
    }
    sl_stages_free(tracker->stages);
    (void)pthread_mutex_destroy(&tracker->lock);
    free(tracker);
}
