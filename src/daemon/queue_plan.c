/* One round of the queue: what came in goes to the planner, and what the planner says is done. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/queue_internal.h"
#include "server/process.h"
#include "util/log.h"

enum { PLANS_PER_ROUND = 4, FAILURES_MIN = 3 };

static const int64_t pause_first_us = 1000000;
static const int64_t pause_max_us = 30000000;
static const int64_t memory_us = 1000000; /* until all is tried again when memory was short */
static const int64_t idle_us = INT64_C(3600000000);

/* ---- what came in ---- */

/* It waits no more. Was it bound, and where? */
static void note_end(struct sl_queuer *queuer, const struct sl_queue_entry *entry, int64_t now_us)
{
    struct sl_pod *pod = sl_store_pod(queuer->options.store, sl_str_of(entry->pod->namespace),
                                      sl_str_of(entry->pod->name));
    bool bound = pod != NULL && strcmp(pod->uid, entry->uid) == 0 && pod->node != NULL;
    if (bound) {
        bool claimed = entry->state == SL_QUEUE_CLAIMED;
        (void)pthread_mutex_lock(&queuer->status);
        queuer->counts.bound += claimed ? 1 : 0;
        queuer->counts.wrong +=
            claimed && entry->node != NULL && strcmp(entry->node, pod->node) != 0 ? 1 : 0;
        sl_queue_note_wait(&queuer->counts, now_us - entry->pod->created_us);
        if (claimed && !entry->stale) {
            sl_pace_bound(&queuer->pace, now_us - entry->claimed_us, queuer->full, now_us);
        }
        (void)pthread_mutex_unlock(&queuer->status);
    }
    sl_pod_unref(pod);
}

/* False: out of memory. */
static bool put(struct sl_queuer *queuer, struct sl_pod *pod, int64_t now_us)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_str uid = sl_str_of(pod->uid);
    struct sl_queue_entry *entry = sl_queue_find(queuer, uid);
    if (entry == NULL) {
        entry = sl_queue_add(queuer, uid);
        if (entry == NULL) {
            return false;
        }
    }
    struct sl_pod *old = entry->pod;
    entry->pod = sl_pod_ref(pod);
    entry->round = queuer->round;
    sl_queue_tell_ignored(queuer, entry, now_us);
    sl_pod_unref(old);
    entry->withdrawn = false;
    sl_queue_note_nomination(queuer, entry);
    int result = sl_planner_put(queuer->planner, pod, now_us, &err);
    if (result == 0 && queuer->options.stages != NULL) {
        result = sl_stager_put(queuer->options.stages, pod, &err);
    }
    if (result == 0) {
        return true;
    }
    if (err.code != SL_ERR_NOMEM) {
        sl_log(SL_LOG_ERROR, "a pod has no place in the queue", "namespace", pod->namespace, "pod",
               pod->name, "reason", err.message, (char *)NULL);
        return true;
    }
    return false;
}

static void remove_entry(struct sl_queuer *queuer, struct sl_queue_entry *entry, int64_t now_us)
{
    sl_planner_remove(queuer->planner, sl_str_of(entry->uid), now_us);
    if (queuer->options.stages != NULL) {
        sl_stager_remove(queuer->options.stages, sl_str_of(entry->uid));
    }
    sl_queue_forget(queuer, entry);
}

/* Does anybody wait elsewhere than where all has failed? */
static bool others_wait(const struct sl_queuer *queuer)
{
    size_t at = 0;
    const struct sl_queue_entry *entry = sl_map_next(&queuer->entries, &at);
    while (entry != NULL) {
        const char *namespace = entry->pod->namespace;
        if (sl_hash(namespace, strlen(namespace)) != queuer->failed_in) {
            return true;
        }
        entry = sl_map_next(&queuer->entries, &at);
    }
    return false;
}

/* What fails for the pods of one namespace alone, as those that are too large for the API server's
 * store, is no reason to keep others waiting. */
static void note_failure(struct sl_queuer *queuer, int64_t now_us, const struct sl_queue_call *call)
{
    if (queuer->failures == 0) {
        queuer->failed_in = call->space;
        queuer->failed_for_all = false;
    }
    queuer->failures++;
    queuer->failed_for_all = queuer->failed_for_all || call->space != queuer->failed_in;
    queuer->pause_us = queuer->pause_us == 0 ? pause_first_us : queuer->pause_us * 2;
    queuer->pause_us = queuer->pause_us > pause_max_us ? pause_max_us : queuer->pause_us;
    if (now_us >= queuer->paused_until_us) {
        queuer->paused_until_us = now_us + queuer->pause_us;
        sl_log(SL_LOG_WARN, "a pod could not be released", "uid", call->uid, "reason", call->text,
               (char *)NULL);
    }
}

/* That is about the pod, and no reason to keep others waiting. */
static void note_denial(struct sl_queuer *queuer, int64_t now_us, const struct sl_queue_call *call)
{
    if (now_us - queuer->denied_us >= pause_first_us) {
        queuer->denied_us = now_us;
        sl_log(SL_LOG_WARN, "the API server refused to release a pod", "uid", call->uid, "reason",
               call->text, (char *)NULL);
    }
}

static void note_release(struct sl_queuer *queuer, int64_t now_us, const struct sl_queue_call *call)
{
    if (call->end == SL_RELEASE_FAILED || call->end == SL_RELEASE_UNKNOWN) {
        note_failure(queuer, now_us, call);
        return;
    }
    if (call->end == SL_RELEASE_REFUSED) {
        note_denial(queuer, now_us, call);
    }
    if (call->end != SL_RELEASE_GONE) {
        queuer->failures = 0;
        queuer->pause_us = 0;
    }
}

/* A claim whose release is of unknown end lapses; a release without a claim would never end. */
static bool is_due_again(const struct sl_queue_entry *entry, const struct sl_queue_call *call)
{
    bool open = call->end == SL_RELEASE_FAILED ||
                (call->end == SL_RELEASE_UNKNOWN && entry->state == SL_QUEUE_RELEASED);
    return open && entry->claim == call->claim && entry->claim != 0;
}

static void take_end(struct sl_queuer *queuer, const struct sl_queue_call *call, int64_t now_us)
{
    struct sl_queue_entry *entry = sl_queue_find(queuer, sl_str_of(call->uid));
    (void)pthread_mutex_lock(&queuer->status);
    queuer->counts.ends[call->end]++;
    (void)pthread_mutex_unlock(&queuer->status);
    note_release(queuer, now_us, call);
    if (entry == NULL || entry->call != call) {
        return; /* of an earlier term, or of a pod that came and went */
    }
    entry->call = NULL;
    bool current = entry->claim == call->claim && entry->claim != 0;
    if (call->end == SL_RELEASE_RELEASED) {
        sl_planner_released(queuer->planner, sl_str_of(entry->uid), now_us);
    }
    if (call->end == SL_RELEASE_GONE) {
        (void)sl_store_unclaim(queuer->options.store, sl_str_of(entry->uid));
        remove_entry(queuer, entry, now_us);
    } else if (call->end == SL_RELEASE_REFUSED && current) {
        sl_queue_deny(queuer, entry, call->text, now_us);
    } else if (is_due_again(entry, call)) {
        entry->again = true;
        queuer->again = true;
    } else {
        sl_queue_note_nomination(queuer, entry);
    }
}

bool sl_queue_read_mail(struct sl_queuer *queuer, struct sl_queue_mail *mail, int64_t now_us)
{
    const struct sl_queue_scope scope = sl_config_scope(&queuer->config);
    bool read = true;
    for (size_t i = 0; i < mail->n; i++) {
        struct sl_pod *pod = mail->letter[i].pod;
        struct sl_queue_entry *entry = NULL;
        bool ours = sl_pod_is_queued(pod, &scope);
        if (mail->letter[i].waits && ours) {
            read = put(queuer, pod, now_us) && read;
            continue;
        }
        entry = sl_queue_find(queuer, sl_str_of(pod->uid));
        if (entry != NULL) {
            if (mail->letter[i].waits) { /* its gate is open, and it is the queue's no more */
                (void)sl_store_unclaim(queuer->options.store, sl_str_of(pod->uid));
            }
            note_end(queuer, entry, now_us);
            remove_entry(queuer, entry, now_us);
        }
    }
    for (const struct sl_queue_call *call = mail->ends; call != NULL; call = call->next) {
        take_end(queuer, call, now_us);
    }
    return read && !mail->lost;
}

/* What the store has is the truth: entries that it does not tell of are gone. False: out of memory.
 */
static bool read_all(struct sl_queuer *queuer, int64_t now_us)
{
    uint64_t posted = 0;
    queuer->round++;
    (void)pthread_mutex_lock(&queuer->status);
    queuer->counts.rereads++;
    (void)pthread_mutex_unlock(&queuer->status);
    sl_store_set_feed(queuer->options.store, sl_queue_feed, queuer);
    struct sl_queue_mail mail = sl_queue_take_mail(queuer, &posted);
    bool read = sl_queue_read_mail(queuer, &mail, now_us);
    sl_queue_free_mail(&mail);
    size_t at = 0;
    struct sl_queue_entry *entry = read ? sl_map_next(&queuer->entries, &at) : NULL;
    while (entry != NULL) {
        struct sl_queue_entry *next = sl_map_next(&queuer->entries, &at);
        if (entry->round != queuer->round) {
            note_end(queuer, entry, now_us);
            remove_entry(queuer, entry, now_us);
        }
        entry = next;
    }
    return read;
}

/* ---- the term ---- */

static void leave(struct sl_queuer *queuer)
{
    sl_store_set_feed(queuer->options.store, NULL, NULL);
    sl_queue_forget_all(queuer);
    if (queuer->options.stages != NULL) {
        sl_stager_clear(queuer->options.stages);
    }
    sl_planner_free(queuer->planner);
    queuer->planner = NULL;
    if (queuer->snapshot != NULL) {
        sl_store_release(queuer->options.store, queuer->snapshot);
        queuer->snapshot = NULL;
    }
    (void)sl_store_unclaim_all(queuer->options.store);
}

/* False: out of memory. */
static bool enter(struct sl_queuer *queuer)
{
    struct sl_plan_config config;
    struct sl_error err = {.code = SL_ERR_NONE};
    sl_config_plan(&queuer->config, &config);
    (void)sl_store_unclaim_all(queuer->options.store);
    queuer->planner = sl_planner_new(&config, &err);
    if (queuer->planner == NULL) {
        sl_log(SL_LOG_ERROR, "the queue cannot begin", "reason", err.message, (char *)NULL);
        return false;
    }
    if (queuer->options.release != NULL) { /* only who is released can be left waiting */
        sl_planner_heard(queuer->planner, SL_STR(""), queuer->now_us);
    }
    queuer->silent = false;
    queuer->failures = 0;
    queuer->pause_us = 0;
    queuer->paused_until_us = 0;
    queuer->again = false;
    queuer->unread = true;
    return true;
}

/* With plan held. */
static void follow_term(struct sl_queuer *queuer, int64_t now_us)
{
    const struct sl_queuer_options *options = &queuer->options;
    uint64_t term = options->term == NULL ? 1 : options->term(options->context);
    queuer->now_us = now_us;
    if (term == queuer->term) {
        return;
    }
    (void)atomic_fetch_add(&queuer->terms, 1);
    if (queuer->planner != NULL) {
        leave(queuer);
    }
    bool entered = term != 0 && enter(queuer);
    (void)pthread_mutex_lock(&queuer->status);
    queuer->term = entered ? term : 0;
    sl_pace_init(&queuer->pace, (unsigned)queuer->config.queue.max_releases);
    (void)pthread_mutex_unlock(&queuer->status);
}

/* With plan held. */
static void follow_config(struct sl_queuer *queuer)
{
    struct sl_plan_config config;
    struct sl_error err = {.code = SL_ERR_NONE};
    (void)pthread_mutex_lock(&queuer->mail);
    struct sl_config *fresh = queuer->fresh;
    queuer->fresh = NULL;
    (void)pthread_mutex_unlock(&queuer->mail);
    if (fresh == NULL) {
        return;
    }
    queuer->unread = queuer->unread || !sl_config_same_scope(fresh, &queuer->config);
    queuer->config = *fresh;
    free(fresh);
    sl_config_plan(&queuer->config, &config);
    if (queuer->planner != NULL && sl_planner_configure(queuer->planner, &config, &err) < 0) {
        sl_log(SL_LOG_ERROR, "the queue keeps its configuration", "reason", err.message,
               (char *)NULL);
    }
    (void)pthread_mutex_lock(&queuer->status);
    sl_pace_set_max(&queuer->pace, (unsigned)queuer->config.queue.max_releases);
    (void)pthread_mutex_unlock(&queuer->status);
}

/* ---- is kube-scheduler there? ---- */

/* With plan held. True when it was heard of since. */
static bool listen(struct sl_queuer *queuer, int64_t now_us)
{
    (void)pthread_mutex_lock(&queuer->status);
    bool heard = queuer->heard && queuer->planner != NULL && queuer->options.release != NULL;
    queuer->heard = false;
    if (heard) {
        sl_planner_heard(queuer->planner, SL_STR(""), now_us);
    }
    for (struct sl_queue_entry *entry = heard ? queuer->oldest : NULL; entry != NULL;
         entry = entry->next) {
        if (entry->heard) {
            sl_planner_heard(queuer->planner, sl_str_of(entry->uid), now_us);
            entry->heard = false;
        }
    }
    (void)pthread_mutex_unlock(&queuer->status);
    return heard;
}

/* Says it once, and when it is over. */
static void note_silence(struct sl_queuer *queuer, int64_t now_us)
{
    int64_t since_us = sl_planner_silent(queuer->planner, now_us);
    bool silent = since_us > 0;
    if (silent && !queuer->silent) {
        char text[24];
        (void)snprintf(text, sizeof(text), "%" PRId64, (now_us - since_us) / 1000000);
        sl_log(SL_LOG_WARN, "kube-scheduler has not been heard of: claims are held until it is",
               "seconds", text, (char *)NULL);
    } else if (!silent && queuer->silent) {
        sl_log(SL_LOG_INFO, "kube-scheduler has been heard of again, or no pod waits for it",
               (char *)NULL);
    }
    queuer->silent = silent;
}

/* ---- the plan ---- */

/* False: out of memory. */
static bool look(struct sl_queuer *queuer, int64_t now_us)
{
    const struct sl_snapshot *old = queuer->snapshot;
    queuer->snapshot = sl_store_acquire(queuer->options.store);
    int result = sl_planner_cluster(queuer->planner, queuer->snapshot->view,
                                    queuer->snapshot->n_nodes, now_us, NULL);
    if (old != NULL) {
        sl_store_release(queuer->options.store, old);
    }
    return result == 0;
}

/* How many claims may be made now. */
static size_t allowed(const struct sl_queuer *queuer, int64_t now_us)
{
    unsigned fresh = queuer->outstanding - queuer->stale;
    unsigned window = sl_pace_window(&queuer->pace);
    unsigned max = (unsigned)queuer->config.queue.max_releases;
    unsigned left = queuer->outstanding < max ? max - queuer->outstanding : 0;
    if (queuer->options.release == NULL) {
        return left;
    }
    if (queuer->failures >= FAILURES_MIN && now_us < queuer->paused_until_us &&
        (queuer->failed_for_all || !others_wait(queuer))) {
        return 0;
    }
    window = fresh < window ? window - fresh : 0;
    return window < left ? window : left;
}

/* False: out of memory. */
static bool plan(struct sl_queuer *queuer, int64_t now_us)
{
    bool ok = true;
    bool again = true;
    for (int i = 0; again && ok && i < PLANS_PER_ROUND; i++) {
        sl_queue_age(queuer, now_us);
        size_t max = allowed(queuer, now_us);
        unsigned before = queuer->outstanding;
        ok = look(queuer, now_us) && sl_planner_run(queuer->planner, &queuer->snapshot->demand, max,
                                                    now_us, sl_queue_act, queuer, NULL) == 0;
        queuer->full = queuer->outstanding >= before + max;
        again = sl_queue_follow_up(queuer, now_us);
    }
    return ok && !again;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t wake_time(const struct sl_queuer *queuer, int64_t now_us)
{
    int64_t wake_us = earlier(sl_planner_wake(queuer->planner), now_us + idle_us);
    if (queuer->unread || queuer->short_of_memory) {
        wake_us = earlier(wake_us, now_us + memory_us);
    }
    if (now_us < queuer->paused_until_us) {
        wake_us = earlier(wake_us, queuer->paused_until_us);
    }
    if (queuer->full && queuer->outstanding > queuer->stale && queuer->options.release != NULL) {
        const struct sl_queue_entry *entry = queuer->oldest;
        while (entry->stale) {
            entry = entry->next;
        }
        wake_us = earlier(wake_us, entry->claimed_us + sl_pace_patience_us(&queuer->pace));
    }
    return sl_queue_tell_time(queuer, wake_us);
}

static void set_stage(void *context, struct sl_str uid, enum sl_hold_reason stage, const char *why)
{
    struct sl_queuer *queuer = context;
    sl_planner_set_stage(queuer->planner, uid, stage, why, queuer->now_us);
}

/* With plan held. */
static void work(struct sl_queuer *queuer, struct sl_queue_mail *mail, int64_t now_us)
{
    int64_t begin_ns = sl_clock_monotonic_ns();
    queuer->ignored_left = SL_QUEUE_TOLD;
    if (!sl_queue_read_mail(queuer, mail, now_us) || queuer->unread) {
        queuer->unread = !read_all(queuer, now_us);
    }
    if (queuer->options.stages != NULL) {
        sl_stager_collect(queuer->options.stages, set_stage, queuer);
    }
    if (queuer->again && now_us >= queuer->paused_until_us) {
        sl_queue_release_again(queuer);
    }
    queuer->short_of_memory = !plan(queuer, now_us);
    int64_t took_ns = sl_clock_monotonic_ns() - begin_ns;
    (void)pthread_mutex_lock(&queuer->status);
    queuer->counts.runs++;
    queuer->counts.run_us += (uint64_t)(took_ns > 0 ? took_ns / 1000 : 0);
    (void)pthread_mutex_unlock(&queuer->status);
    sl_queue_tell_all(queuer, now_us);
    note_silence(queuer, now_us);
    queuer->wake_us = wake_time(queuer, now_us);
}

static void settled(struct sl_queuer *queuer, uint64_t posted)
{
    (void)pthread_mutex_lock(&queuer->mail);
    queuer->planned = posted;
    (void)pthread_cond_broadcast(&queuer->settled);
    (void)pthread_mutex_unlock(&queuer->mail);
}

int64_t sl_queue_round(struct sl_queuer *queuer, int64_t now_us)
{
    uint64_t posted = 0;
    struct sl_queue_mail mail = sl_queue_take_mail(queuer, &posted);
    int64_t wake_us = now_us + idle_us;
    (void)pthread_mutex_lock(&queuer->plan);
    uint64_t before = queuer->term;
    follow_term(queuer, now_us);
    follow_config(queuer);
    bool heard = listen(queuer, now_us);
    bool due = (heard && queuer->outstanding > 0) || mail.n > 0 || mail.changed || mail.lost ||
               mail.ends != NULL || queuer->term != before || queuer->unread ||
               now_us >= queuer->wake_us;
    if (queuer->planner != NULL && due) {
        (void)atomic_fetch_add(&queuer->rounds, 1);
        work(queuer, &mail, now_us);
    }
    wake_us = queuer->planner != NULL ? queuer->wake_us : wake_us;
    (void)pthread_mutex_unlock(&queuer->plan);
    sl_queue_free_mail(&mail);
    settled(queuer, posted);
    return wake_us;
}
