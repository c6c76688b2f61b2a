/* The waiting pods as the queue's thread knows them. Only that thread changes them. */
#include <stdlib.h>

#include "daemon/queue_internal.h"

struct sl_queue_entry *sl_queue_find(struct sl_queuer *queuer, struct sl_str uid)
{
    return sl_map_get(&queuer->entries, uid.s, uid.len);
}

struct sl_queue_entry *sl_queue_add(struct sl_queuer *queuer, struct sl_str uid)
{
    struct sl_queue_entry *entry = calloc(1, sizeof(*entry) + uid.len + 1);
    if (entry == NULL) {
        return NULL;
    }
    memcpy(entry->uid, uid.s, uid.len);
    (void)pthread_mutex_lock(&queuer->status);
    int result = sl_map_put(&queuer->entries, entry->uid, uid.len, entry, NULL);
    (void)pthread_mutex_unlock(&queuer->status);
    if (result < 0) {
        free(entry);
        return NULL;
    }
    queuer->untold++;
    return entry;
}

void sl_queue_set_state(struct sl_queuer *queuer, struct sl_queue_entry *entry,
                        enum sl_queue_state state)
{
    (void)pthread_mutex_lock(&queuer->status);
    entry->state = state;
    (void)pthread_mutex_unlock(&queuer->status);
}

void sl_queue_claimed(struct sl_queuer *queuer, struct sl_queue_entry *entry, int64_t now_us)
{
    entry->claimed_us = now_us;
    entry->stale = false;
    entry->claim = ++queuer->last_claim;
    entry->next = NULL;
    entry->prev = queuer->newest;
    if (queuer->newest != NULL) {
        queuer->newest->next = entry;
    } else {
        queuer->oldest = entry;
    }
    queuer->newest = entry;
    (void)pthread_mutex_lock(&queuer->status);
    entry->state = SL_QUEUE_CLAIMED;
    entry->heard = false;
    queuer->outstanding++;
    (void)pthread_mutex_unlock(&queuer->status);
}

void sl_queue_unclaim(struct sl_queuer *queuer, struct sl_queue_entry *entry)
{
    if (entry->state != SL_QUEUE_CLAIMED) {
        return;
    }
    struct sl_queue_entry **before = entry->prev != NULL ? &entry->prev->next : &queuer->oldest;
    struct sl_queue_entry **behind = entry->next != NULL ? &entry->next->prev : &queuer->newest;
    *before = entry->next;
    *behind = entry->prev;
    entry->prev = NULL;
    entry->next = NULL;
    entry->claim = 0;
    (void)pthread_mutex_lock(&queuer->status);
    queuer->outstanding--;
    queuer->stale -= entry->stale ? 1 : 0;
    entry->state = SL_QUEUE_HELD;
    (void)pthread_mutex_unlock(&queuer->status);
    entry->stale = false;
}

void sl_queue_age(struct sl_queuer *queuer, int64_t now_us)
{
    int64_t since_us = now_us - sl_pace_patience_us(&queuer->pace);
    for (struct sl_queue_entry *entry = queuer->oldest;
         entry != NULL && entry->claimed_us <= since_us; entry = entry->next) {
        if (!entry->stale) {
            entry->stale = true;
            (void)pthread_mutex_lock(&queuer->status);
            queuer->stale++;
            (void)pthread_mutex_unlock(&queuer->status);
        }
    }
}

void sl_queue_forget(struct sl_queuer *queuer, struct sl_queue_entry *entry)
{
    sl_queue_unclaim(queuer, entry);
    (void)pthread_mutex_lock(&queuer->status);
    (void)sl_map_remove(&queuer->entries, entry->uid, strlen(entry->uid));
    (void)pthread_mutex_unlock(&queuer->status);
    sl_pod_unref(entry->pod);
    free(entry->node);
    free(entry->left);
    free(entry);
}

void sl_queue_forget_all(struct sl_queuer *queuer)
{
    size_t at = 0;
    struct sl_queue_entry *entry = sl_map_next(&queuer->entries, &at);
    while (entry != NULL) {
        struct sl_queue_entry *next = sl_map_next(&queuer->entries, &at);
        sl_queue_forget(queuer, entry);
        entry = next;
    }
    queuer->todo = NULL;
    queuer->untold = 0;
    queuer->told_round_us = 0;
}
