/* Connections, each with the time by which its peer must have done the next step: the HTTP library
 * closes one on which nothing moves, but not one on which a byte moves now and then for ever. When
 * there are too many, one whose peer is waited for makes room for the next. */
#ifndef SLICED_SERVER_DEADLINES_H
#define SLICED_SERVER_DEADLINES_H

#include <pthread.h>

#include "server/metrics/metrics.h"
#include "util/data/list.h"

/* Values of the hash of an address: many enough to tell one friend from many strangers. */
enum { SL_ADDRESSES = 4096 };

/* A connection's deadline; lives within the connection. */
struct sl_deadline {
    struct sl_link link;
    int fd;
    uint16_t address;         /* of the peer, hashed: below SL_ADDRESSES */
    _Atomic bool proven;      /* the peer has shown its certificate */
    _Atomic int64_t since_ns; /* since when the peer is waited for, monotonic */
    _Atomic int64_t at_ns;    /* until when; 0: it is not waited for, the server is at work */
    _Atomic unsigned what;    /* enum sl_limit: counted when that time has passed */
};

struct sl_deadlines {
    pthread_mutex_t lock; /* guards the list; while it is held, all sockets in the list are open */
    struct sl_list list;
    size_t n;
};

void sl_deadlines_init(struct sl_deadlines *deadlines);
void sl_deadlines_free(struct sl_deadlines *deadlines);

/* The socket must stay open until sl_deadlines_remove. address: a hash of the peer's. Returns how
 * many connections there are now. */
size_t sl_deadlines_add(struct sl_deadlines *deadlines, struct sl_deadline *deadline, int fd,
                        uint16_t address);
void sl_deadlines_remove(struct sl_deadlines *deadlines, struct sl_deadline *deadline);

/* These two take no lock; for the connection's own thread. */
void sl_deadline_set(struct sl_deadline *deadline, enum sl_limit what, int64_t now_ns,
                     int64_t patience_ns);
void sl_deadline_clear(struct sl_deadline *deadline);

/* Shuts down the sockets whose time has passed, so that the library finds them closed, and counts
 * each once. Linear in the connections. */
void sl_deadlines_enforce(struct sl_deadlines *deadlines, int64_t now_ns,
                          struct sl_metrics *metrics);

/* Shuts down the socket of one connection, other than keep, whose peer is waited for. Peers that
 * have not shown a certificate go first; of these, those at the address that has most; of these,
 * the one that has been waited for longest. So whoever fills the server ends its own connections,
 * and a peer that speaks at once is heard. False when all requests are being answered: these are
 * safe. Linear. */
bool sl_deadlines_make_room(struct sl_deadlines *deadlines, const struct sl_deadline *keep);

#endif
