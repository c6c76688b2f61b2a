/* Makes reservations true: posts the Binding with the assignment on it. When an answer does not
 * come or leaves doubt, it reads the pod, and never guesses. After a binding it sets
 * spec.activeDeadlineSeconds where only the annotation sliced.dev/timeout says it. */
#ifndef SLICED_KUBE_BINDER_H
#define SLICED_KUBE_BINDER_H

#include "cluster/binding.h"
#include "cluster/store.h"
#include "kube/write/change.h"

struct sl_kube_binder;

/* The store tells the pods' timeouts. */
struct sl_kube_binder *sl_kube_binder_new(const struct sl_change_options *options,
                                          struct sl_store *store, struct sl_error *err);
/* All that was given to it has ended, or the client was freed, which ends it. NULL is allowed. */
void sl_kube_binder_free(struct sl_kube_binder *binder);

/* context is the struct sl_kube_binder. done is called exactly once, on the client's thread, or on
 * the caller's before this returns. Text of binding is copied.
 *   BOUND    the API server said so, or the pod was read with that UID on that node
 *   FAILED   surely not bound, now or later: nothing was sent or it was refused; or the pod is
 * gone, made anew, being deleted, or on another node UNKNOWN  a POST may have been carried out, or
 * may yet, and the pod could not be read in time, or was read without a node; also when the client
 * was stopped meanwhile */
void sl_kube_bind(void *context, const struct sl_binding *binding, sl_bind_done done, void *call);

/* Finds out, by reading alone, how a binding ended that was UNKNOWN so long ago that no POST of it
 * can be carried out any more: a pod without a node is FAILED. Else as sl_kube_bind; UNKNOWN when
 * the pod could not be read. */
void sl_kube_resolve(void *context, const struct sl_binding *binding, sl_bind_done done,
                     void *call);

/* Sets activeDeadlineSeconds when the pod stands on a node by our assignment, has a timeout and no
 * deadline, and this replica leads: a crash may have left that undone. Any thread. */
void sl_kube_set_deadline(struct sl_kube_binder *binder, const struct sl_pod *pod,
                          uint64_t leadership);

/* The same, when the watch tells of the pod again, if its deadline could not be set before. The
 * last 256 such pods are remembered; the others' turn comes with the next list. */
void sl_kube_retry_deadline(struct sl_kube_binder *binder, const struct sl_pod *pod,
                            uint64_t leadership);

/* Shortens activeDeadlineSeconds so that the pod, which has started and states a timeout, is ended
 * at now_us, by the kubelet: false when it states none, or would end before anyway, or this replica
 * does not lead. Any thread. */
bool sl_kube_end_early(struct sl_kube_binder *binder, const struct sl_pod *pod, int64_t now_us,
                       uint64_t leadership);

/* True when the API server has nothing of this binder's left to carry out: no binding is under way,
 * and none has ended as UNKNOWN within the last two minutes. */
bool sl_kube_binder_is_quiet(struct sl_kube_binder *binder);

struct sl_kube_binder_stats {
    uint64_t ends[SL_BIND_ENDS];
    uint64_t posts, reads;
    uint64_t deadlines; /* set */
    uint64_t deadlines_shortened;
    uint64_t deadline_failures; /* given up */
    unsigned in_flight;         /* bindings */
};
void sl_kube_binder_stats(struct sl_kube_binder *binder, struct sl_kube_binder_stats *out);

#endif
