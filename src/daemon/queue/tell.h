/* Tells owners what becomes of their waiting pods. With plan held. */
#ifndef SLICED_DAEMON_QUEUE_TELL_H
#define SLICED_DAEMON_QUEUE_TELL_H

#include "daemon/queue/entry.h"

enum { SL_QUEUE_TURNS = 1024 /* namespaces told apart */ };

/* How many namespaces have of something. */
struct sl_queue_shares {
    size_t all;
    uint32_t of[SL_QUEUE_TURNS];
};
enum { SL_QUEUE_TOLD = 20 /* owners told in a second, or of a round's refusals */ };

/* Tells that the pod is refused, if it still is. */
void sl_queue_tell_one(struct sl_queue_worker *worker, struct sl_queue_entry *entry,
                       int64_t now_us);
/* Tells which words of the pod are ignored, when that is news: of one pod at most once a minute, of
 * all SL_QUEUE_TOLD a round; sl_queue_tell_all tells the others. */
void sl_queue_tell_ignored(struct sl_queue_worker *worker, struct sl_queue_entry *entry,
                           int64_t now_us);
void sl_queue_tell_expiry(struct sl_queue_worker *worker, struct sl_queue_entry *entry);
void sl_queue_tell_denied(struct sl_queue_worker *worker, const struct sl_queue_entry *entry,
                          const char *why);
/* Does the pod's condition say that it is queued, as far as is known? */
bool sl_queue_stands(const struct sl_queue_entry *entry);
/* Its nomination has ended the condition in one patch. */
void sl_queue_show_ended(struct sl_queue_entry *entry);
/* A condition could not be written: it is tried again. */
void sl_queue_show_failed(struct sl_queue_worker *worker, const struct sl_queue_call *call,
                          int64_t now_us);
/* Looks at all pods, unless it did so recently, and tells owners what is due. */
void sl_queue_tell_all(struct sl_queue_worker *worker, int64_t now_us);
/* When sl_queue_tell_all is to be called next, or wake_us if it is earlier. */
int64_t sl_queue_tell_time(const struct sl_queue_worker *worker, int64_t wake_us);

#endif
