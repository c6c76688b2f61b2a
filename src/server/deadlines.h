/* Connections and the time by which each must have done what is next: the HTTP library closes one
 * on which nothing moves, but not one on which a byte moves now and then for ever. */
#ifndef SLICED_SERVER_DEADLINES_H
#define SLICED_SERVER_DEADLINES_H

#include <pthread.h>

#include "server/metrics.h"

/* Of one connection; lives within it. */
struct sl_deadline {
    struct sl_deadline *next;
    struct sl_deadline *prev;
    int fd;
    _Atomic int64_t at_ns; /* on the monotonic clock; 0: there is none */
    _Atomic unsigned what; /* enum sl_limit: what is counted when it has passed */
};

struct sl_deadlines {
    pthread_mutex_t lock; /* guards the list; who holds it finds all its sockets open */
    struct sl_deadline *first;
};

void sl_deadlines_init(struct sl_deadlines *deadlines);
void sl_deadlines_free(struct sl_deadlines *deadlines);

/* From here on until sl_deadlines_remove the socket must stay open. */
void sl_deadlines_add(struct sl_deadlines *deadlines, struct sl_deadline *deadline, int fd);
void sl_deadlines_remove(struct sl_deadlines *deadlines, struct sl_deadline *deadline);

/* These two take no lock; for the connection's own thread. */
void sl_deadline_set(struct sl_deadline *deadline, enum sl_limit what, int64_t at_ns);
void sl_deadline_clear(struct sl_deadline *deadline);

/* Shuts down the sockets whose time has passed, so that the library finds them closed; counts each
 * once. Linear in the connections. */
void sl_deadlines_enforce(struct sl_deadlines *deadlines, int64_t now_ns,
                          struct sl_metrics *metrics);

#endif
