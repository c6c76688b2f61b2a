/* Makes reservations true: posts the Binding with the assignment on it, and finds out what became
 * of it by reading the pod, never by guessing. After that it sets spec.activeDeadlineSeconds where
 * only the annotation sliced.dev/timeout says it. */
#ifndef SLICED_KUBE_BINDER_H
#define SLICED_KUBE_BINDER_H

#include "cluster/binding.h"
#include "cluster/store.h"
#include "kube/client.h"

struct sl_kube_binder;

struct sl_kube_binder_options {
    struct sl_client *client;
    struct sl_store *store; /* is asked for the pod's timeout */
    /* Asked before each POST: is it ours to bind what was chosen in that term (does this replica
     * lead, and has it not lost the lead since)? Any thread. NULL: it is. */
    bool (*may_bind)(void *context, uint64_t term);
    void *context;
    int64_t timeout_us; /* of one binding, all tries and reads */
    int64_t try_us;     /* of one POST or GET, its waiting for the rate limit included: a POST that
                         * may_bind allowed is not sent later than that */
    int64_t backoff_us; /* before a repetition, doubled for each */
    int64_t backoff_max_us;
};

struct sl_kube_binder *sl_kube_binder_new(const struct sl_kube_binder_options *options,
                                          struct sl_error *err);
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

/* Finds out, only by reading, what became of a binding that ended as UNKNOWN so long ago that no
 * POST of it can be carried out any more: a pod without a node is FAILED. Else as sl_kube_bind;
 * UNKNOWN when the pod could not be read. */
void sl_kube_resolve(void *context, const struct sl_binding *binding, sl_bind_done done,
                     void *call);

/* Sets activeDeadlineSeconds when the pod stands on a node by our assignment, has a timeout and no
 * deadline, and may_bind. For what a crash may have left undone; any thread. */
void sl_kube_set_deadline(struct sl_kube_binder *binder, const struct sl_pod *pod, uint64_t term);

/* The same for a pod whose deadline could not be set before: when the watch tells of the pod again.
 * It is remembered of the last 256 such pods; the others' turn is the next list. */
void sl_kube_retry_deadline(struct sl_kube_binder *binder, const struct sl_pod *pod, uint64_t term);

/* Nothing of it may be carried out from now on: no binding is under way, and none has ended as
 * UNKNOWN within the last two minutes. */
bool sl_kube_binder_is_quiet(struct sl_kube_binder *binder);

struct sl_kube_binder_stats {
    uint64_t ends[SL_BIND_ENDS];
    uint64_t posts, reads;
    uint64_t deadlines;         /* set */
    uint64_t deadline_failures; /* given up */
    unsigned in_flight;         /* bindings */
};
void sl_kube_binder_stats(struct sl_kube_binder *binder, struct sl_kube_binder_stats *out);

#endif
