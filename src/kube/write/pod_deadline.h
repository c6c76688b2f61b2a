/* Sets spec.activeDeadlineSeconds where only the annotation sliced.dev/timeout says it, and
 * shortens it for a pod that is to end. */
#ifndef SLICED_KUBE_POD_DEADLINE_H
#define SLICED_KUBE_POD_DEADLINE_H

#include <pthread.h>
#include <stdatomic.h>

#include "kube/client/client.h"
#include "sliced/pod.h"

enum { SL_POD_DEADLINES_MISSED = 256 };

struct sl_pod_deadlines {
    struct sl_client *client;
    int64_t try_us;
    atomic_uint_least64_t set;
    atomic_uint_least64_t shortened;
    atomic_uint_least64_t failures; /* given up */
    atomic_uint n_missed;
    pthread_mutex_t lock;                     /* guards what follows */
    uint64_t missed[SL_POD_DEADLINES_MISSED]; /* pods by UID's hash; 0: none; the oldest goes */
    unsigned next_missed;
};

void sl_pod_deadlines_init(struct sl_pod_deadlines *deadlines, struct sl_client *client,
                           int64_t try_us);
/* The client was freed, or all its calls have ended. */
void sl_pod_deadlines_free(struct sl_pod_deadlines *deadlines);

/* The pod has a timeout and no deadline. */
bool sl_pod_deadline_wanted(const struct sl_pod *pod);

/* Sets it, unless the pod is gone or made anew. Any thread. */
void sl_pod_deadline_set(struct sl_pod_deadlines *deadlines, const struct sl_pod *pod);

/* Sets it to that many seconds from the pod's start, likewise; the API server refuses more than
 * there are. */
void sl_pod_deadline_shorten(struct sl_pod_deadlines *deadlines, const struct sl_pod *pod,
                             int64_t seconds);

/* Has sl_pod_deadline_missed look once at a pod whose deadline was set with its release, as far as
 * is known: its next event tells. */
void sl_pod_deadline_look(struct sl_pod_deadlines *deadlines, const struct sl_pod *pod);

/* True once for each time that the deadline could not be set, or was to be looked at. */
bool sl_pod_deadline_missed(struct sl_pod_deadlines *deadlines, const struct sl_pod *pod);

#endif
