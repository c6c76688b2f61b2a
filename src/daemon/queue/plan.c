/* One round of the queue: hands the mail to the planner and carries out its plan. */
#include "daemon/queue/plan.h"

#include <stdlib.h>

#include "daemon/queue/act.h"
#include "daemon/queue/entry.h"
#include "daemon/queue/report.h"
#include "daemon/queue/tell.h"
#include "daemon/queue/worker.h"
#include "server/model/explain.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/time.h"

enum { PLANS_PER_ROUND = 4, LINE_MAX_BYTES = 1024 /* of a record */ };

static const int64_t memory_us = SL_SECOND_US; /* until the next try after memory was short */
static const int64_t idle_us = SL_HOUR_US;

/* ---- mail ---- */

/* The nominated pod is bound to that node; NULL: it is gone. */
static void count_end(struct sl_queue_worker *worker, const struct sl_queue_entry *entry,
                      const char *node, int64_t now_us)
{
    bool elsewhere = node != NULL && entry->node != NULL && strcmp(entry->node, node) != 0;
    worker->counts.gone += node == NULL;
    worker->counts.elsewhere += elsewhere;
    worker->counts.bound += node != NULL && !elsewhere;
    if (node != NULL) {
        sl_histogram_observe(&worker->times.bind, now_us - entry->nominated_us);
    }
}

/* The pod no longer waits: notes where it was bound. False: it was not. */
static bool note_end(struct sl_queue_worker *worker, const struct sl_queue_entry *entry,
                     int64_t now_us)
{
    bool nominated = entry->state == SL_QUEUE_NOMINATED;
    struct sl_pod *pod = sl_store_pod(worker->options.store, sl_str_of(entry->pod->namespace),
                                      sl_str_of(entry->pod->name));
    bool bound = pod != NULL && strcmp(pod->uid, entry->uid) == 0 && pod->node != NULL;
    (void)pthread_mutex_lock(&worker->status);
    if (nominated) {
        count_end(worker, entry, bound ? pod->node : NULL, now_us);
    }
    if (bound) {
        sl_queue_times_wait(&worker->times, &worker->config, pod->namespace,
                            now_us - entry->pod->created_us);
    }
    (void)pthread_mutex_unlock(&worker->status);
    sl_pod_unref(pod);
    return bound;
}

/* False: out of memory. */
static bool pod_put(struct sl_queue_worker *worker, struct sl_pod *pod, int64_t now_us)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_str uid = sl_str_of(pod->uid);
    struct sl_queue_entry *entry = sl_queue_find(worker, uid);
    if (entry == NULL) {
        entry = sl_queue_add(worker, uid);
        if (entry == NULL) {
            return false;
        }
    }
    struct sl_pod *old = entry->pod;
    entry->pod = sl_pod_ref(pod);
    entry->round = worker->round;
    sl_queue_tell_ignored(worker, entry, now_us);
    sl_pod_unref(old);
    entry->withdrawn = false;
    sl_queue_lock_engine(worker);
    int result = sl_engine_put(worker->engine, pod, now_us, &err);
    sl_queue_unlock_engine(worker);
    if (result == 0) {
        return true;
    }
    if (err.code != SL_ERR_NOMEM) {
        sl_log_pod_share(SL_LOG_ERROR, sl_str_of(pod->namespace), sl_str_of(pod->name),
                         "a pod has no place in the queue", "reason", err.message, (char *)NULL);
        return true;
    }
    return false;
}

static void pod_remove(struct sl_queue_worker *worker, struct sl_queue_entry *entry, bool bound,
                       int64_t now_us)
{
    sl_queue_lock_engine(worker);
    sl_engine_remove(worker->engine, sl_str_of(entry->uid), bound, now_us);
    sl_queue_unlock_engine(worker);
    sl_queue_forget(worker, entry);
}

/* entry: NULL where the pod has left the queue. */
static void release_log(const struct sl_queue_entry *entry, enum sl_log_level level,
                        const char *message, const struct sl_queue_call *call)
{
    if (entry == NULL) {
        sl_log(level, message, "uid", call->uid, "reason", call->text, (char *)NULL);
    } else {
        bool went_well = level == SL_LOG_INFO;
        (went_well ? sl_log_pod : sl_log_pod_share)(
            level, sl_str_of(entry->pod->namespace), sl_str_of(entry->pod->name), message, "node",
            entry->node, "reason", call->text, (char *)NULL);
    }
}

static void note_release(const struct sl_queue_entry *entry, const struct sl_queue_call *call,
                         enum sl_release_after after)
{
    if (after == SL_AFTER_PAUSE) {
        release_log(entry, SL_LOG_WARN, "pod not released, which is tried again", call);
    } else if (call->end == SL_RELEASE_REFUSED) { /* about this pod alone: others do not wait */
        release_log(entry, SL_LOG_WARN, "the API server refused to release the pod", call);
    } else if (call->end == SL_RELEASE_RELEASED) {
        release_log(entry, SL_LOG_INFO, "pod released", call);
    }
}

static void release_end(struct sl_queue_worker *worker, const struct sl_queue_call *call,
                        int64_t now_us)
{
    struct sl_str uid = sl_str_of(call->uid);
    struct sl_queue_entry *entry = sl_queue_find(worker, uid);
    (void)pthread_mutex_lock(&worker->status);
    worker->counts.ends[call->end]++;
    (void)pthread_mutex_unlock(&worker->status);
    enum sl_release_after after = SL_AFTER_NOTHING;
    if (call->leaderships == atomic_load(&worker->leaderships)) {
        after = sl_engine_released(worker->engine, uid, sl_str_of(call->namespace), call->number,
                                   call->end, now_us);
    }
    note_release(entry, call, after);
    if (after == SL_AFTER_GONE && entry != NULL) {
        (void)sl_store_withdraw(worker->options.store, uid);
        pod_remove(worker, entry, false, now_us);
    } else if (after == SL_AFTER_REFUSED && entry != NULL) {
        sl_queue_deny(worker, entry, call->text);
    }
}

static bool read_mail(struct sl_queue_worker *worker, struct sl_queue_mail *mail, int64_t now_us)
{
    const struct sl_queue_scope scope = sl_config_scope(&worker->config);
    bool read = true;
    for (size_t i = 0; i < mail->n; i++) {
        struct sl_pod *pod = mail->letter[i].pod;
        struct sl_queue_entry *entry = NULL;
        bool ours = sl_pod_is_queued(pod, &scope);
        if (mail->letter[i].waits && ours) {
            read = pod_put(worker, pod, now_us) && read;
            continue;
        }
        entry = sl_queue_find(worker, sl_str_of(pod->uid));
        if (entry != NULL) {
            if (mail->letter[i].waits) { /* its gate is open: the queue has done its part */
                (void)sl_store_withdraw(worker->options.store, sl_str_of(pod->uid));
            }
            pod_remove(worker, entry, note_end(worker, entry, now_us), now_us);
        }
    }
    for (const struct sl_queue_call *call = mail->ends; call != NULL; call = call->next) {
        (call->shows ? sl_queue_show_failed : release_end)(worker, call, now_us);
    }
    return read && !mail->lost;
}

/* Reads all pods from the store; drops entries of pods that it lacks. False: out of memory. */
static bool read_all(struct sl_queue_worker *worker, int64_t now_us)
{
    uint64_t posted = 0;
    worker->round++;
    (void)pthread_mutex_lock(&worker->status);
    worker->counts.rereads++;
    (void)pthread_mutex_unlock(&worker->status);
    sl_store_set_feed(worker->options.store, sl_queue_feed, worker);
    struct sl_queue_mail mail = sl_queue_take_mail(worker, &posted);
    bool read = read_mail(worker, &mail, now_us);
    sl_queue_free_mail(&mail);
    size_t at = 0;
    struct sl_queue_entry *entry = read ? sl_map_next(&worker->entries, &at) : NULL;
    while (entry != NULL) {
        struct sl_queue_entry *next = sl_map_next(&worker->entries, &at);
        if (entry->round != worker->round) {
            pod_remove(worker, entry, note_end(worker, entry, now_us), now_us);
        }
        entry = next;
    }
    return read;
}

/* ---- the leadership ---- */

static void engine_config(const struct sl_queue_worker *worker, struct sl_engine_config *out)
{
    sl_config_engine(&worker->config, out);
    out->cutting.enabled = worker->options.partitioner != NULL;
    out->releases = worker->options.release != NULL;
}

static void leadership_end(struct sl_queue_worker *worker)
{
    sl_store_set_feed(worker->options.store, NULL, NULL);
    sl_queue_forget_all(worker);
    if (worker->options.partitioner != NULL) {
        sl_partitioner_end(worker->options.partitioner);
    }
    (void)sl_store_cut_end_all(worker->options.store);
    sl_queue_lock_engine(worker);
    sl_engine_free(worker->engine);
    sl_queue_unlock_engine(worker);
    worker->engine = NULL;
    worker->planner = NULL;
    sl_store_release(worker->options.store, worker->snapshot);
    worker->snapshot = NULL;
    (void)sl_store_withdraw_all(worker->options.store);
}

static void log_command(void *context, int64_t now_us, const char *line)
{
    (void)context;
    (void)now_us;
    sl_log(SL_LOG_DEBUG, "command", "line", line, (char *)NULL);
}

static void record_commands(struct sl_queue_worker *worker)
{
    bool shown = worker->config.log.level == SL_LOG_DEBUG;
    sl_engine_record(worker->engine, shown ? log_command : NULL, NULL);
}

/* False: out of memory. */
static bool leadership_begin(struct sl_queue_worker *worker)
{
    struct sl_engine_config config;
    struct sl_error err = {.code = SL_ERR_NONE};
    engine_config(worker, &config);
    (void)sl_store_withdraw_all(worker->options.store);
    sl_queue_lock_engine(worker);
    worker->engine = sl_engine_new(&config, sl_stage_tracker_stages(worker->options.stages), &err);
    sl_queue_unlock_engine(worker);
    worker->planner = worker->engine == NULL ? NULL : sl_engine_planner(worker->engine);
    if (worker->planner == NULL) {
        sl_log(SL_LOG_ERROR, "the queue cannot begin", "reason", err.message, (char *)NULL);
        return false;
    }
    if (worker->options.release != NULL) { /* only a released pod can be left waiting */
        sl_planner_heard(worker->planner, SL_STR(""), worker->now_us);
    }
    record_commands(worker);
    worker->silent = false;
    worker->unread = true;
    worker->anew = true;
    worker->unfound = true;
    worker->keep_us = 0;
    return true;
}

/* With plan held. */
static void follow_leadership(struct sl_queue_worker *worker, int64_t now_us)
{
    const struct sl_queue_worker_options *options = &worker->options;
    uint64_t leadership = options->leadership == NULL ? 1 : options->leadership(options->context);
    worker->now_us = now_us;
    if (leadership == worker->leadership) {
        return;
    }
    (void)atomic_fetch_add(&worker->leaderships, 1);
    if (worker->planner != NULL) {
        leadership_end(worker);
    }
    bool entered = leadership != 0 && leadership_begin(worker);
    if (entered && worker->options.partitioner != NULL) {
        sl_partitioner_begin(worker->options.partitioner, worker->engine, leadership);
    }
    (void)pthread_mutex_lock(&worker->status);
    worker->leadership = entered ? leadership : 0;
    worker->outstanding = 0;
    (void)pthread_mutex_unlock(&worker->status);
}

/* With plan held. */
static void follow_config(struct sl_queue_worker *worker)
{
    struct sl_engine_config config;
    struct sl_error err = {.code = SL_ERR_NONE};
    (void)pthread_mutex_lock(&worker->mail);
    struct sl_config *fresh = worker->fresh;
    worker->fresh = NULL;
    (void)pthread_mutex_unlock(&worker->mail);
    if (fresh == NULL) {
        return;
    }
    worker->unread = worker->unread || !sl_config_same_scope(fresh, &worker->config);
    worker->config = *fresh;
    free(fresh);
    engine_config(worker, &config);
    if (worker->engine != NULL) {
        record_commands(worker);
        sl_queue_lock_engine(worker);
        int result = sl_engine_configure(worker->engine, &config, &err);
        sl_queue_unlock_engine(worker);
        if (result < 0) {
            sl_log(SL_LOG_ERROR, "the queue keeps its configuration", "reason", err.message,
                   (char *)NULL);
        }
    }
    sl_queue_times_configure(&worker->times, &worker->config);
}

/* ---- is kube-scheduler there? ---- */

static void pod_hear(void *context, const struct sl_pod *pod, int64_t nominated_us)
{
    struct sl_queue_worker *worker = context;
    struct sl_queue_entry *entry = sl_queue_find(worker, sl_str_of(pod->uid));
    (void)nominated_us;
    if (entry != NULL && entry->heard) {
        sl_planner_heard(worker->planner, sl_str_of(entry->uid), worker->now_us);
        entry->heard = false;
    }
}

/* With plan held. True: kube-scheduler was heard from since. */
static bool scheduler_hear(struct sl_queue_worker *worker, int64_t now_us)
{
    (void)pthread_mutex_lock(&worker->status);
    bool heard = worker->heard && worker->planner != NULL && worker->options.release != NULL;
    worker->heard = false;
    if (heard) {
        sl_planner_heard(worker->planner, SL_STR(""), now_us);
    }
    if (heard) {
        worker->now_us = now_us;
        sl_planner_nominated(worker->planner, pod_hear, worker);
    }
    (void)pthread_mutex_unlock(&worker->status);
    return heard;
}

/* Logs the begin and the end of kube-scheduler's silence. */
static void note_silence(struct sl_queue_worker *worker, int64_t now_us)
{
    int64_t since_us = sl_planner_silent(worker->planner, now_us);
    bool silent = since_us > 0;
    if (silent && !worker->silent) {
        sl_log(SL_LOG_WARN,
               "kube-scheduler has not been heard from: nominations are held until it is",
               "#seconds", SL_LOG_NUMBER((now_us - since_us) / SL_SECOND_US), (char *)NULL);
    } else if (!silent && worker->silent) {
        sl_log(SL_LOG_INFO, "kube-scheduler has been heard from again, or no pod waits for it",
               (char *)NULL);
    }
    worker->silent = silent;
}

/* ---- the record of the tenants' shares ---- */

/* Before the first pod is told. Without memory it is lost. */
static void record_find(struct sl_queue_worker *worker)
{
    struct sl_buf text;
    sl_buf_init(&text, SL_LEASE_NOTE_MAX);
    if (worker->unfound && worker->options.keep != NULL) {
        worker->options.find(worker->options.context, &text);
        (void)sl_planner_tenants_load(worker->planner, (struct sl_str){text.data, text.len},
                                      worker->now_us, NULL);
    }
    worker->unfound = false;
    sl_buf_free(&text);
}

/* With plan held. Not while pods are missing in the plan: they stand in what was kept before. */
static void record_keep(struct sl_queue_worker *worker, int64_t now_us)
{
    struct sl_plan_config config;
    size_t len = 0;
    if (worker->options.keep == NULL || worker->unread || worker->short_of_memory ||
        !worker->unkept || now_us < worker->keep_us) {
        return;
    }
    worker->keep_us = now_us + worker->config.election.retry_period_us;
    sl_config_plan(&worker->config, &config);
    char *text = sl_planner_tenants_save(worker->planner, SL_LEASE_NOTE_MAX + LINE_MAX_BYTES, &len);
    if (text == NULL && sl_tenants_on(config.tenants)) {
        return;
    }
    bool cut = text != NULL && len > SL_LEASE_NOTE_MAX; /* else every line had room */
    while (cut && (len > SL_LEASE_NOTE_MAX || text[len - 1] != '\n')) {
        len--;
    }
    worker->options.keep(worker->options.context, worker->leadership, (struct sl_str){text, len});
    worker->unkept = false;
    free(text);
    (void)pthread_mutex_lock(&worker->status);
    worker->counts.cuts += cut;
    (void)pthread_mutex_unlock(&worker->status);
}

/* ---- the plan ---- */

/* False: out of memory. */
static bool snapshot_take(struct sl_queue_worker *worker, int64_t now_us)
{
    const struct sl_snapshot *old = worker->snapshot;
    worker->snapshot = sl_store_acquire(worker->options.store);
    sl_planner_set_dra(worker->planner, &worker->snapshot->dra);
    int result =
        sl_engine_cluster(worker->engine, worker->snapshot->view, worker->snapshot->n_nodes,
                          &worker->snapshot->demand, now_us, NULL);
    sl_store_release(worker->options.store, old);
    return result == 0;
}

/* False: out of memory. */
static bool pods_plan(struct sl_queue_worker *worker, int64_t now_us)
{
    int again = 1;
    for (int i = 0; again > 0 && i < PLANS_PER_ROUND; i++) {
        worker->refusals_left = SL_QUEUE_TOLD;
        again = snapshot_take(worker, now_us) ? 1 : -1;
        if (worker->options.stages != NULL) { /* what opened before the snapshot was published */
            sl_stage_tracker_collect(worker->options.stages, worker->engine, now_us);
        }
        if (again > 0) {
            again = sl_engine_plan(worker->engine, now_us, sl_queue_act, worker, NULL);
        }
    }
    return again == 0;
}

/* Guarantees beyond what the nodes have shrink alike: says so when that begins, or differs. */
static void guarantees_check(struct sl_queue_worker *worker)
{
    struct sl_error err = {.message = ""};
    if (worker->now_us < worker->check_us) {
        return;
    }
    worker->check_us = worker->now_us + SL_MINUTE_US;
    (void)sl_planner_tenants_check(worker->planner, &err);
    if (err.message[0] != '\0' && strcmp(err.message, worker->overgiven) != 0) {
        sl_log(SL_LOG_WARN, "tenants are promised more than there is", "reason", err.message,
               (char *)NULL);
    }
    _Static_assert(sizeof(worker->overgiven) == sizeof(err.message), "it is copied whole");
    memcpy(worker->overgiven, err.message, sizeof(err.message));
}

static int64_t earlier_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t wake_time(const struct sl_queue_worker *worker, int64_t now_us)
{
    int64_t wake_us = earlier_of(sl_engine_wake(worker->engine), now_us + idle_us);
    if (worker->unread || worker->short_of_memory) {
        wake_us = earlier_of(wake_us, now_us + memory_us);
    }
    return sl_queue_tell_time(worker, wake_us);
}

static int namespace_tell(void *context, struct sl_str name, struct sl_str tenant)
{
    struct sl_queue_worker *worker = context;
    return sl_planner_namespace(worker->planner, name, tenant, worker->now_us, NULL);
}

/* Before pods come, so that they find their tenants. False: out of memory. */
static bool namespaces_tell(struct sl_queue_worker *worker)
{
    if (worker->options.namespaces == NULL) {
        return true;
    }
    bool told =
        sl_namespaces_tell(worker->options.namespaces, worker->anew, namespace_tell, worker);
    worker->anew = worker->anew && !told;
    return told;
}

/* With plan held. */
static void round_work(struct sl_queue_worker *worker, struct sl_queue_mail *mail, int64_t now_us)
{
    int64_t begin_ns = sl_clock_monotonic_ns();
    worker->ignored_left = SL_QUEUE_TOLD;
    worker->explains_left = SL_EXPLAINS_MAX;
    bool told = namespaces_tell(worker);
    record_find(worker);
    if (!read_mail(worker, mail, now_us) || worker->unread) {
        worker->unread = !read_all(worker, now_us);
    }
    worker->short_of_memory = !pods_plan(worker, now_us) || !told;
    guarantees_check(worker);
    /* with what was nominated just now, or cuts would wait for a round without nominations */
    if (worker->options.partitioner != NULL && snapshot_take(worker, now_us)) {
        sl_partitioner_round(worker->options.partitioner, worker->snapshot, now_us);
    }
    struct sl_plan_front front[SL_PLAN_FRONTS_MAX];
    struct sl_plan_front old[SL_PLAN_FRONTS_MAX];
    bool others = worker->config.queue.scheduler[0] != '\0'; /* go past the queue */
    size_t n_fronts = others ? sl_planner_fronts(worker->planner, front) : 0;
    int64_t took_ns = sl_clock_monotonic_ns() - begin_ns;
    int64_t took_us = took_ns > 0 ? took_ns / SL_US_NS : 0;
    (void)pthread_mutex_lock(&worker->status);
    size_t n_old = worker->n_fronts;
    memcpy(old, worker->front, n_old * sizeof(*old));
    memcpy(worker->front, front, n_fronts * sizeof(*front));
    worker->n_fronts = n_fronts;
    worker->outstanding = sl_engine_outstanding(worker->engine);
    worker->window = sl_engine_window(worker->engine);
    worker->counts.runs++;
    worker->counts.run_us += (uint64_t)took_us;
    sl_queue_recent_add(&worker->recent, took_us);
    (void)pthread_mutex_unlock(&worker->status);
    sl_plan_fronts_free(old, n_old);
    sl_queue_tell_all(worker, now_us);
    note_silence(worker, now_us);
    worker->unkept = true;
    worker->wake_us = wake_time(worker, now_us);
}

int64_t sl_queue_round(struct sl_queue_worker *worker, int64_t now_us)
{
    uint64_t posted = 0;
    struct sl_queue_mail mail = sl_queue_take_mail(worker, &posted);
    int64_t wake_us = now_us + idle_us;
    (void)pthread_mutex_lock(&worker->plan);
    uint64_t before = worker->leadership;
    follow_leadership(worker, now_us);
    follow_config(worker);
    bool heard = scheduler_hear(worker, now_us);
    bool due = (heard && worker->outstanding > 0) || mail.n > 0 || mail.changed || mail.lost ||
               mail.ends != NULL || worker->leadership != before || worker->unread ||
               now_us >= worker->wake_us;
    if (worker->planner != NULL && due) {
        (void)atomic_fetch_add(&worker->rounds, 1);
        round_work(worker, &mail, now_us);
    }
    if (worker->planner != NULL) { /* also later than the plan, which may have come too soon */
        record_keep(worker, now_us);
    }
    wake_us = worker->planner != NULL ? worker->wake_us : wake_us;
    (void)pthread_mutex_unlock(&worker->plan);
    sl_queue_free_mail(&mail);
    sl_queue_settled(worker, posted);
    return wake_us;
}
