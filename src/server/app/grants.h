/* Victims that the verb preempt has granted, by the pod for which they end. kube-scheduler may know
 * that they are gone before our own watch does: if filter still counted them, it would refuse the
 * pod where room has just been made, and others would be ended for it elsewhere. */
#ifndef SLICED_SERVER_GRANTS_H
#define SLICED_SERVER_GRANTS_H

#include <pthread.h>

#include "sliced/preempt.h"

enum {
    SL_GRANTS_MAX = 64,          /* preemptors remembered; the oldest makes room */
    SL_GRANT_VICTIMS_MAX = 4096, /* of one preemptor over all nodes; the rest is forgotten */
};

/* Hashes: should two UIDs ever share one, filter passes a node that bind then refuses. */
struct sl_grant_row {
    uint64_t node;
    uint64_t victim;
};

struct sl_grant {
    uint64_t preemptor;
    int64_t at_ns; /* monotonic */
    size_t n;
    _Atomic unsigned refs;
    struct sl_grant_row row[];
};

struct sl_grants {
    pthread_mutex_t lock; /* held for a few instructions */
    unsigned next;
    struct sl_grant *slot[SL_GRANTS_MAX];
};

void sl_grants_init(struct sl_grants *grants);
void sl_grants_free(struct sl_grants *grants);

/* An empty grant with room for n rows (at most SL_GRANT_VICTIMS_MAX); NULL when out of memory. */
struct sl_grant *sl_grant_new(struct sl_str preemptor, size_t n, int64_t now_ns);
void sl_grant_unref(struct sl_grant *grant); /* NULL is allowed */

/* Takes the grant over; it replaces the preemptor's last one. */
void sl_grants_put(struct sl_grants *grants, struct sl_grant *grant);

/* The pod's grant, if it is recent: new reference; else NULL. */
struct sl_grant *sl_grants_get(struct sl_grants *grants, struct sl_str preemptor, int64_t now_ns);

/* Does the ask fit on the node without the granted victims? A victim that is not seen going counts
 * for a few seconds only: kube-scheduler uses one of the nodes that were granted, and the victims
 * on the others stay. */
bool sl_grant_fits(const struct sl_grant *grant, const struct sl_view *view,
                   const struct sl_ask *ask, int64_t now_ns);

#endif
