/* One lock, held for no input or output; it is taken after the queue's plan and the store's lock.
 */
#include "daemon/stages.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "kube/clock.h"
#include "kube/list_read.h"
#include "kube/url.h"
#include "server/metrics.h"
#include "util/log.h"

enum { PATH_BYTES_MAX = 8192, STORE_READS_MAX = 1024 };

static const int64_t log_every_us = 1000000;

/* A reading under way. */
struct reading {
    struct sl_stager *stager;
    uint64_t id;
    char *path;
    enum sl_stage_kind kind;
    bool used;
    bool lacking; /* memory for an object */
};

struct sl_stager {
    struct sl_stager_options options;
    pthread_mutex_t lock; /* guards what follows */
    struct sl_stages *stages;
    struct reading reading[SL_STAGE_READS_MAX]; /* its use; the rest is its caller's */
    int64_t logged_us;                          /* when the log had the last failure */
    int64_t timer_us; /* when the first of the timers goes off; INT64_MAX: none is set */
    uint64_t reads, failures;
};

static void lock(struct sl_stager *stager)
{
    (void)pthread_mutex_lock(&stager->lock);
}

/* Unlocks, and wakes who collects when there is reason to. */
static void unlock(struct sl_stager *stager)
{
    bool changed = sl_stages_changed(stager->stages);
    (void)pthread_mutex_unlock(&stager->lock);
    if (changed) {
        stager->options.wake(stager->options.context);
    }
}

static enum sl_pod_phase phase_of(const struct sl_job_facts *job)
{
    return job->complete ? SL_POD_SUCCEEDED : job->failed ? SL_POD_FAILED : SL_POD_RUNNING;
}

/* Jobs that a watch or list tells of have one, as all that have a namespace. */
static struct sl_str namespace_of(struct sl_str namespace)
{
    return namespace.len > 0 ? namespace : SL_STR("default");
}

/* ---- readings from the API server ---- */

static void begin_reads(struct sl_stager *stager);

static void on_object(void *context, const struct sl_object *object)
{
    struct reading *reading = context;
    struct sl_stager *stager = reading->stager;
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_pod *pod = object->pod == NULL ? NULL : sl_pod_new(object->pod, &err);
    lock(stager);
    if (object->job != NULL) {
        sl_stages_read_job(stager->stages, reading->id, object->job->name, object->job->uid,
                           phase_of(object->job));
    } else if (pod != NULL) {
        sl_stages_read_pod(stager->stages, reading->id, pod);
    }
    reading->lacking = reading->lacking || err.code == SL_ERR_NOMEM;
    unlock(stager);
    sl_pod_unref(pod);
}

static void on_resume(void *context)
{
    struct sl_stager *stager = context;
    lock(stager);
    stager->timer_us = INT64_MAX;
    unlock(stager);
    begin_reads(stager);
}

/* What could not be read rests: until when? Without memory for a timer the next collect sees. */
static void set_timer(struct sl_stager *stager)
{
    int64_t now_us = sl_kube_monotonic_us();
    lock(stager);
    int64_t wake_us = sl_stages_wake(stager->stages);
    bool set = wake_us > now_us && wake_us < stager->timer_us;
    stager->timer_us = set ? wake_us : stager->timer_us;
    (void)pthread_mutex_unlock(&stager->lock);
    if (set && sl_client_after(stager->options.client, wake_us - now_us, on_resume, stager) < 0) {
        lock(stager);
        stager->timer_us = INT64_MAX;
        (void)pthread_mutex_unlock(&stager->lock);
    }
}

/* Whoever names nonsense must not fill the log: one of a second's failures stands for all. */
static bool is_worth_a_line(struct sl_stager *stager)
{
    int64_t now_us = sl_kube_monotonic_us();
    lock(stager);
    bool due = stager->logged_us == 0 || now_us - stager->logged_us >= log_every_us;
    stager->logged_us = due ? now_us : stager->logged_us;
    (void)pthread_mutex_unlock(&stager->lock);
    return due;
}

/* On the client's thread, or, when it could not begin, on the one that began it. */
static void end_reading(struct reading *reading, bool ok, const struct sl_error *why)
{
    struct sl_stager *stager = reading->stager;
    if (!ok && is_worth_a_line(stager)) {
        sl_log(SL_LOG_WARN, "what sliced.dev/after names could not be read", "path",
               reading->path == NULL ? "" : reading->path, "problem", why->message, (char *)NULL);
    }
    free(reading->path);
    reading->path = NULL;
    lock(stager);
    sl_stages_read_end(stager->stages, reading->id, ok, sl_kube_monotonic_us());
    reading->used = false;
    stager->failures += !ok;
    unlock(stager);
}

static void on_done(void *context, bool ok, const struct sl_error *err)
{
    struct reading *reading = context;
    struct sl_stager *stager = reading->stager;
    end_reading(reading, ok && !reading->lacking, err);
    begin_reads(stager);
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

/* With the lock held. NULL: as many are under way as may be. */
static struct reading *free_slot(struct sl_stager *stager)
{
    for (int i = 0; i < SL_STAGE_READS_MAX; i++) {
        if (!stager->reading[i].used) {
            return &stager->reading[i];
        }
    }
    return NULL;
}

/* NULL: nothing is to be read now. */
static struct reading *next_reading(struct sl_stager *stager)
{
    struct sl_stage_read read;
    lock(stager);
    struct reading *reading = free_slot(stager);
    if (reading != NULL && !sl_stages_next_read(stager->stages, sl_kube_monotonic_us(), &read)) {
        reading = NULL;
    }
    if (reading != NULL) {
        *reading = (struct reading){.stager = stager,
                                    .id = read.id,
                                    .path = make_path(&read),
                                    .kind = read.kind,
                                    .used = true};
        stager->reads++;
    }
    unlock(stager);
    return reading;
}

/* As many at a time as stages allow. */
static void begin_reads(struct sl_stager *stager)
{
    struct reading *reading = next_reading(stager);
    while (reading != NULL) {
        struct sl_error err = {.code = SL_ERR_NONE};
        const struct sl_list_read list = {
            .client = stager->options.client,
            .kind = reading->kind == SL_STAGE_JOB ? SL_OBJECT_JOB : SL_OBJECT_POD,
            .path = reading->path,
            .timeout_us = stager->options.timeout_us,
            .object = on_object,
            .done = on_done,
            .context = reading,
        };
        int result = reading->path == NULL ? sl_error_nomem(&err) : sl_list_read(&list, &err);
        if (result < 0) {
            end_reading(reading, false, &err);
        }
        reading = next_reading(stager);
    }
    set_timer(stager);
}

/* ---- an embedded cluster ---- */

/* What is deleted there while it runs has ended: there is no kubelet that could say so. */
static void on_store(void *context, struct sl_pod *pod, bool there)
{
    struct sl_stager *stager = context;
    struct sl_pod *ended = NULL;
    if (!there && sl_pod_holds(pod)) {
        ended = sl_pod_bound_to(pod, pod->node, pod->assignment, SL_POD_SUCCEEDED);
    }
    lock(stager);
    sl_stages_pod(stager->stages, ended != NULL ? ended : pod);
    if (!there) {
        sl_stages_pod_gone(stager->stages, sl_str_of(pod->namespace), sl_str_of(pod->name));
    }
    unlock(stager);
    sl_pod_unref(ended);
}

/* The store tells of all its pods at once. */
static void read_store(struct sl_stager *stager)
{
    struct sl_stage_read read;
    uint64_t first = 1;
    uint64_t last = 0;
    for (int i = 0; i < STORE_READS_MAX && first > 0; i++) {
        lock(stager);
        for (first = 0; sl_stages_next_read(stager->stages, 0, &read); last = read.id) {
            first = first == 0 ? read.id : first;
        }
        (void)pthread_mutex_unlock(&stager->lock);
        if (first > 0) {
            sl_store_set_watch(stager->options.store, on_store, stager);
            lock(stager);
            for (uint64_t id = first; id <= last; id++) {
                sl_stages_read_end(stager->stages, id, true, 0);
            }
            unlock(stager);
        }
    }
}

/* ---- for the queue ---- */

int sl_stager_put(struct sl_stager *stager, struct sl_pod *pod, struct sl_error *err)
{
    lock(stager);
    int result = sl_stages_put(stager->stages, pod, err);
    (void)pthread_mutex_unlock(&stager->lock);
    return result;
}

void sl_stager_remove(struct sl_stager *stager, struct sl_str uid)
{
    lock(stager);
    sl_stages_remove(stager->stages, uid);
    (void)pthread_mutex_unlock(&stager->lock);
}

void sl_stager_clear(struct sl_stager *stager)
{
    lock(stager);
    sl_stages_clear(stager->stages);
    (void)pthread_mutex_unlock(&stager->lock);
}

void sl_stager_collect(struct sl_stager *stager,
                       void (*visit)(void *context, struct sl_str uid, enum sl_hold_reason stage,
                                     const char *why),
                       void *context)
{
    if (stager->options.client == NULL) {
        read_store(stager);
    }
    lock(stager);
    bool more = sl_stages_collect(stager->stages, visit, context);
    (void)pthread_mutex_unlock(&stager->lock);
    if (more) {
        stager->options.wake(stager->options.context);
    }
    if (stager->options.client != NULL) {
        begin_reads(stager);
    }
}

void sl_stager_metrics(struct sl_stager *stager, struct sl_buf *out)
{
    struct sl_stages_stats stats;
    lock(stager);
    sl_stages_stats(stager->stages, &stats);
    uint64_t reads = stager->reads;
    uint64_t failures = stager->failures;
    (void)pthread_mutex_unlock(&stager->lock);
    sl_metrics_family(out, "sliced_stages", "gauge",
                      "Waiting pods with sliced.dev/after, different items that they name, and "
                      "pods and Jobs known for these.");
    sl_buf_printf(out,
                  "sliced_stages{what=\"waiting\"} %zu\n"
                  "sliced_stages{what=\"items\"} %zu\n"
                  "sliced_stages{what=\"predecessors\"} %zu\n",
                  stats.waiters, stats.targets, stats.records);
    sl_metrics_single(out, "sliced_stages_refused_total", "counter",
                      "Items and predecessors for which queue.maxPredecessors left no room.",
                      stats.refused);
    sl_metrics_family(out, "sliced_stages_reads_total", "counter",
                      "Readings of what pods wait for.");
    sl_buf_printf(out,
                  "sliced_stages_reads_total{what=\"begun\"} %" PRIu64 "\n"
                  "sliced_stages_reads_total{what=\"failed\"} %" PRIu64 "\n",
                  reads, failures);
}

/* ---- for watches ---- */

void sl_stager_pod(struct sl_stager *stager, const struct sl_pod *pod)
{
    lock(stager);
    sl_stages_pod(stager->stages, pod);
    unlock(stager);
}

void sl_stager_pod_gone(struct sl_stager *stager, struct sl_str namespace, struct sl_str name)
{
    lock(stager);
    sl_stages_pod_gone(stager->stages, namespace_of(namespace), name);
    unlock(stager);
}

void sl_stager_job(struct sl_stager *stager, const struct sl_job_facts *job)
{
    lock(stager);
    sl_stages_job(stager->stages, namespace_of(job->namespace), job->name, job->uid, phase_of(job));
    unlock(stager);
}

void sl_stager_job_gone(struct sl_stager *stager, struct sl_str namespace, struct sl_str name)
{
    lock(stager);
    sl_stages_job_gone(stager->stages, namespace_of(namespace), name);
    unlock(stager);
}

void sl_stager_listed(struct sl_stager *stager, bool jobs)
{
    lock(stager);
    sl_stages_reread(stager->stages, jobs);
    unlock(stager);
    if (stager->options.client != NULL) {
        begin_reads(stager);
    }
}

bool sl_stager_wants_jobs(struct sl_stager *stager)
{
    struct sl_stages_stats stats;
    lock(stager);
    sl_stages_stats(stager->stages, &stats);
    (void)pthread_mutex_unlock(&stager->lock);
    return stats.jobs > 0;
}

/* ---- life ---- */

struct sl_stager *sl_stager_new(const struct sl_stager_options *options, struct sl_error *err)
{
    struct sl_stager *stager = calloc(1, sizeof(*stager));
    if (stager == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    stager->options = *options;
    stager->timer_us = INT64_MAX;
    stager->stages = sl_stages_new(options->max, err);
    if (stager->stages == NULL) {
        free(stager);
        return NULL;
    }
    (void)pthread_mutex_init(&stager->lock, NULL);
    if (options->store != NULL) {
        sl_store_set_watch(options->store, on_store, stager);
    }
    return stager;
}

void sl_stager_free(struct sl_stager *stager)
{
    if (stager == NULL) {
        return;
    }
    if (stager->options.store != NULL) {
        sl_store_set_watch(stager->options.store, NULL, NULL);
    }
    sl_stages_free(stager->stages);
    (void)pthread_mutex_destroy(&stager->lock);
    free(stager);
}

void sl_stager_set_max(struct sl_stager *stager, size_t max)
{
    lock(stager);
    sl_stages_set_max(stager->stages, max);
    unlock(stager);
}
