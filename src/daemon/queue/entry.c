/* The queue's own records of waiting pods. Only its thread changes them. */
#include "daemon/queue/entry.h"

#include <stdlib.h>

#include "daemon/queue/worker.h"

enum { FAILURES_MIN = 3, WHY_MAX = 240 };

struct sl_queue_entry *sl_queue_find(struct sl_queue_worker *worker, struct sl_str uid)
{
    return sl_map_get(&worker->entries, uid.s, uid.len);
}

struct sl_queue_entry *sl_queue_add(struct sl_queue_worker *worker, struct sl_str uid)
{
    struct sl_queue_entry *entry = calloc(1, sizeof(*entry) + uid.len + 1);
    if (entry == NULL) {
        return NULL;
    }
    memcpy(entry->uid, uid.s, uid.len);
    (void)pthread_mutex_lock(&worker->status);
    int result = sl_map_put(&worker->entries, entry->uid, uid.len, entry, NULL);
    (void)pthread_mutex_unlock(&worker->status);
    if (result < 0) {
        free(entry);
        return NULL;
    }
    worker->untold++;
    return entry;
}

static struct sl_queue_entry *entry_of(struct sl_link *link)
{
    return link == NULL ? NULL : SL_CONTAINER(link, struct sl_queue_entry, in_nominated);
}

struct sl_queue_entry *sl_queue_oldest(const struct sl_queue_worker *worker)
{
    return entry_of(worker->nominated.first);
}

struct sl_queue_entry *sl_queue_next(const struct sl_queue_entry *entry)
{
    return entry_of(entry->in_nominated.next);
}

void sl_queue_set_state(struct sl_queue_worker *worker, struct sl_queue_entry *entry,
                        enum sl_queue_state state)
{
    (void)pthread_mutex_lock(&worker->status);
    entry->state = state;
    (void)pthread_mutex_unlock(&worker->status);
}

void sl_queue_nominated(struct sl_queue_worker *worker, struct sl_queue_entry *entry,
                        int64_t now_us)
{
    entry->nominated_us = now_us;
    entry->stale = false;
    entry->nomination = ++worker->last_nomination;
    sl_list_add_last(&worker->nominated, &entry->in_nominated);
    (void)pthread_mutex_lock(&worker->status);
    entry->state = SL_QUEUE_NOMINATED;
    entry->heard = false;
    worker->outstanding++;
    (void)pthread_mutex_unlock(&worker->status);
}

void sl_queue_withdraw(struct sl_queue_worker *worker, struct sl_queue_entry *entry)
{
    if (entry->state != SL_QUEUE_NOMINATED) {
        return;
    }
    sl_list_remove(&worker->nominated, &entry->in_nominated);
    entry->nomination = 0;
    (void)pthread_mutex_lock(&worker->status);
    worker->outstanding--;
    worker->stale -= entry->stale ? 1 : 0;
    entry->state = SL_QUEUE_HELD;
    (void)pthread_mutex_unlock(&worker->status);
    entry->stale = false;
}

void sl_queue_age(struct sl_queue_worker *worker, int64_t now_us)
{
    int64_t since_us = now_us - sl_pace_patience_us(&worker->pace);
    for (struct sl_queue_entry *entry = sl_queue_oldest(worker);
         entry != NULL && entry->nominated_us <= since_us; entry = sl_queue_next(entry)) {
        if (!entry->stale) {
            entry->stale = true;
            (void)pthread_mutex_lock(&worker->status);
            worker->stale++;
            (void)pthread_mutex_unlock(&worker->status);
        }
    }
}

/* ---- what was tried ---- */

static void try_free(const struct sl_queue_try *tried)
{
    free((char *)tried->node);
    free((char *)tried->why);
}

/* Returns room for one try more, for which the oldest may have to go; NULL: out of memory. */
static struct sl_queue_try *try_add(struct sl_queue_entry *entry)
{
    struct sl_queue_try *tried = entry->tried;
    if (tried == NULL) {
        tried = calloc(SL_QUEUE_TRIES_MAX, sizeof(*tried));
        if (tried == NULL) {
            return NULL;
        }
        entry->tried = tried;
    }
    if (entry->n_tried == SL_QUEUE_TRIES_MAX) {
        try_free(&tried[0]);
        memmove(tried, tried + 1, (SL_QUEUE_TRIES_MAX - 1) * sizeof(*tried));
        entry->n_tried--;
    }
    return &tried[entry->n_tried++];
}

void sl_queue_note_try(struct sl_queue_worker *worker, struct sl_queue_entry *entry,
                       enum sl_queue_try_end end, const char *why)
{
    bool nominated = entry->state == SL_QUEUE_NOMINATED;
    struct sl_queue_try *tried = try_add(entry);
    if (tried != NULL) {
        *tried = (struct sl_queue_try){
            .at_us = entry->nominated_us,
            .ended_us = worker->now_us,
            .end = end,
            .node = nominated && entry->node != NULL ? strdup(entry->node) : NULL,
            .why = why == NULL ? NULL : strndup(why, WHY_MAX),
        };
    }
}

static void tries_free(struct sl_queue_entry *entry)
{
    for (unsigned i = 0; i < entry->n_tried; i++) {
        try_free(&entry->tried[i]);
    }
    free(entry->tried);
}

void sl_queue_forget(struct sl_queue_worker *worker, struct sl_queue_entry *entry)
{
    sl_queue_withdraw(worker, entry);
    (void)pthread_mutex_lock(&worker->status);
    (void)sl_map_remove(&worker->entries, entry->uid, strlen(entry->uid));
    (void)pthread_mutex_unlock(&worker->status);
    sl_pod_unref(entry->pod);
    free(entry->node);
    free(entry->left);
    tries_free(entry);
    free(entry);
}

void sl_queue_forget_all(struct sl_queue_worker *worker)
{
    size_t at = 0;
    struct sl_queue_entry *entry = sl_map_next(&worker->entries, &at);
    while (entry != NULL) {
        struct sl_queue_entry *next = sl_map_next(&worker->entries, &at);
        sl_queue_forget(worker, entry);
        entry = next;
    }
    worker->todo = NULL;
    worker->untold = 0;
    worker->unshown = 0;
    worker->told_round_us = 0;
}

/* ---- how many may go ---- */

/* Do pods of other namespaces wait than the one in which all releases failed? */
static bool others_wait(const struct sl_queue_worker *worker)
{
    size_t at = 0;
    const struct sl_queue_entry *entry = sl_map_next(&worker->entries, &at);
    while (entry != NULL) {
        const char *namespace = entry->pod->namespace;
        if (sl_hash(namespace, strlen(namespace)) != worker->failed_namespace) {
            return true;
        }
        entry = sl_map_next(&worker->entries, &at);
    }
    return false;
}

size_t sl_queue_nominations(const struct sl_queue_worker *worker, int64_t now_us)
{
    unsigned fresh = worker->outstanding - worker->stale;
    unsigned window = sl_pace_window(&worker->pace);
    unsigned max = (unsigned)worker->config.queue.max_releases;
    unsigned left = worker->outstanding < max ? max - worker->outstanding : 0;
    if (worker->options.release == NULL) {
        return left;
    }
    if (worker->failures >= FAILURES_MIN && now_us < worker->paused_until_us &&
        (worker->failed_for_all || !others_wait(worker))) {
        return 0;
    }
    window = fresh < window ? window - fresh : 0;
    return window < left ? window : left;
}
