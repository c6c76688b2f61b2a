/* Connections and the time by which each must have done what is next: the HTTP library closes one
 * on which nothing moves, but not one on which a byte moves now and then for ever. When there are
 * too many, one that is waited for makes room for the next. */
#ifndef SLICED_SERVER_DEADLINES_H
#define SLICED_SERVER_DEADLINES_H

#include <pthread.h>

#include "server/metrics.h"

/* So many kinds of addresses are told apart: those of many strangers and one friend mostly are. */
enum { SL_ADDRESSES = 4096 };

/* Of one connection; lives within it. */
struct sl_deadline {
    struct sl_deadline *next;
    struct sl_deadline *prev;
    int fd;
    uint16_t address;         /* of the peer, hashed: below SL_ADDRESSES */
    _Atomic bool proven;      /* its peer has shown who it is */
    _Atomic int64_t since_ns; /* on the monotonic clock: since then the peer is waited for */
    _Atomic int64_t at_ns;    /* until then; 0: it is not waited for, the server is at work */
    _Atomic unsigned what;    /* enum sl_limit: what is counted when that has passed */
};

struct sl_deadlines {
    pthread_mutex_t lock; /* guards the list; who holds it finds all its sockets open */
    struct sl_deadline *first;
    size_t n;
};

void sl_deadlines_init(struct sl_deadlines *deadlines);
void sl_deadlines_free(struct sl_deadlines *deadlines);

/* From here on until sl_deadlines_remove the socket must stay open. address: what the peers of one
 * address have in common. Returns how many connections there are now. */
size_t sl_deadlines_add(struct sl_deadlines *deadlines, struct sl_deadline *deadline, int fd,
                        uint16_t address);
void sl_deadlines_remove(struct sl_deadlines *deadlines, struct sl_deadline *deadline);

/* These two take no lock; for the connection's own thread. */
void sl_deadline_set(struct sl_deadline *deadline, enum sl_limit what, int64_t now_ns,
                     int64_t patience_ns);
void sl_deadline_clear(struct sl_deadline *deadline);

/* Shuts down the sockets whose time has passed, so that the library finds them closed; counts each
 * once. Linear in the connections. */
void sl_deadlines_enforce(struct sl_deadlines *deadlines, int64_t now_ns,
                          struct sl_metrics *metrics);

/* Shuts down the socket of one connection that waits for its peer, other than keep: one whose peer
 * has not proven who it is before others, of the address that has most of these, the one that has
 * been waited for longest. So whoever fills the server ends his own connections, and a peer that
 * speaks at once is heard. Requests that are being answered are safe. Linear; false: all are. */
bool sl_deadlines_make_room(struct sl_deadlines *deadlines, const struct sl_deadline *keep);

#endif
