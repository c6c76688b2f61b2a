/* The queue's own records of waiting pods. Only its thread changes them. */
#include "daemon/queue/entry.h"

#include <stdlib.h>

#include "daemon/queue/worker.h"

enum { WHY_MAX = 240 };

struct sl_queue_entry *sl_queue_find(struct sl_queue_worker *worker, struct sl_str uid)
{
    return sl_map_get(&worker->entries, uid.s, uid.len);
}

struct sl_queue_entry *sl_queue_add(struct sl_queue_worker *worker, struct sl_str uid)
{
    (void)pthread_mutex_lock(&worker->status);
    struct sl_queue_entry *entry = SL_MAP_ADD(&worker->entries, struct sl_queue_entry, uid, uid);
    (void)pthread_mutex_unlock(&worker->status);
    worker->untold += entry != NULL;
    return entry;
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
    (void)pthread_mutex_lock(&worker->status);
    entry->state = SL_QUEUE_NOMINATED;
    entry->heard = false;
    (void)pthread_mutex_unlock(&worker->status);
}

void sl_queue_withdraw(struct sl_queue_worker *worker, struct sl_queue_entry *entry)
{
    if (entry->state == SL_QUEUE_NOMINATED) {
        sl_queue_set_state(worker, entry, SL_QUEUE_HELD);
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
    worker->untold = 0;
    worker->unshown = 0;
    worker->told_round_us = 0;
}
