/* The list of connections and its regular check. */
#include "server/deadlines.h"

#include <sys/socket.h>

void sl_deadlines_init(struct sl_deadlines *deadlines)
{
    deadlines->first = NULL;
    (void)pthread_mutex_init(&deadlines->lock, NULL);
}

void sl_deadlines_free(struct sl_deadlines *deadlines)
{
    (void)pthread_mutex_destroy(&deadlines->lock);
}

void sl_deadlines_add(struct sl_deadlines *deadlines, struct sl_deadline *deadline, int fd)
{
    deadline->fd = fd;
    deadline->prev = NULL;
    (void)pthread_mutex_lock(&deadlines->lock);
    deadline->next = deadlines->first;
    if (deadlines->first != NULL) {
        deadlines->first->prev = deadline;
    }
    deadlines->first = deadline;
    (void)pthread_mutex_unlock(&deadlines->lock);
}

void sl_deadlines_remove(struct sl_deadlines *deadlines, struct sl_deadline *deadline)
{
    (void)pthread_mutex_lock(&deadlines->lock);
    if (deadline->prev != NULL) {
        deadline->prev->next = deadline->next;
    } else {
        deadlines->first = deadline->next;
    }
    if (deadline->next != NULL) {
        deadline->next->prev = deadline->prev;
    }
    (void)pthread_mutex_unlock(&deadlines->lock);
}

void sl_deadline_set(struct sl_deadline *deadline, enum sl_limit what, int64_t at_ns)
{
    atomic_store_explicit(&deadline->what, (unsigned)what, memory_order_relaxed);
    atomic_store_explicit(&deadline->at_ns, at_ns, memory_order_release);
}

void sl_deadline_clear(struct sl_deadline *deadline)
{
    atomic_store_explicit(&deadline->at_ns, 0, memory_order_relaxed);
}

void sl_deadlines_enforce(struct sl_deadlines *deadlines, int64_t now_ns,
                          struct sl_metrics *metrics)
{
    (void)pthread_mutex_lock(&deadlines->lock);
    for (struct sl_deadline *at = deadlines->first; at != NULL; at = at->next) {
        int64_t due_ns = atomic_load_explicit(&at->at_ns, memory_order_acquire);
        unsigned what = atomic_load_explicit(&at->what, memory_order_relaxed);
        /* not if the connection has just come on: then it has another deadline */
        if (due_ns != 0 && due_ns <= now_ns &&
            atomic_compare_exchange_strong(&at->at_ns, &due_ns, 0)) {
            (void)shutdown(at->fd, SHUT_RDWR);
            sl_metrics_limit(metrics, (enum sl_limit)what);
        }
    }
    (void)pthread_mutex_unlock(&deadlines->lock);
}
