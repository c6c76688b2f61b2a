/* Lets kube-scheduler have a pod whose turn has come: nominates its node, then opens its gate or,
 * for a pod without one, sets an annotation, which makes the scheduler try it at once. Both patches
 * say the same however often they are sent, so one that may have been lost is sent again. The pod
 * is read when an answer leaves open how it stands. */
#ifndef SLICED_KUBE_RELEASER_H
#define SLICED_KUBE_RELEASER_H

#include "codec/write.h"
#include "kube/write/change.h"
#include "sliced/engine.h"

#define SL_QUEUE_GATE          "sliced.dev/queue"
#define SL_RELEASED_ANNOTATION "sliced.dev/released"
#define SL_QUEUED_CONDITION    "sliced.dev/Queued"

/* Writes the member of a strategic merge patch of a pod's spec that takes our gate off, and no
 * other. */
void sl_release_write_gate(struct sl_writer *w);

struct sl_releaser;

struct sl_releaser *sl_releaser_new(const struct sl_change_options *options, struct sl_error *err);
/* Sets timeout_us for the releases that begin from now on. */
void sl_releaser_set_timeout(struct sl_releaser *releaser, int64_t timeout_us);
/* All that was given to it has ended, or the client was freed, which ends it. NULL is allowed. */
void sl_releaser_free(struct sl_releaser *releaser);

struct sl_release {
    struct sl_str namespace;
    struct sl_str name;
    struct sl_str uid;
    struct sl_str node;  /* to nominate; empty: released without a nomination */
    int64_t deadline_s;  /* spec.activeDeadlineSeconds to set; 0: none, or it has one */
    uint64_t leadership; /* in which it was planned: in another it is not patched */
    bool gated;          /* carries our gate, as far as is known */
    bool queued;         /* its condition says that it is queued: the nomination ends that */
    bool nominated;      /* to that node already */
};

/* err says why it is not released, or not known to be. */
typedef void (*sl_release_done)(void *call, enum sl_release_end end, const struct sl_error *err);

/* releaser is a struct sl_releaser, here and below: struct sl_queue_worker_options has these as
 * they are. done is called exactly once, on the client's thread, or on the caller's before this
 * returns. Text of release is copied. Any thread. */
void sl_release(void *releaser, const struct sl_release *release, sl_release_done done, void *call);

/* Takes the nomination back while the pod's is still that node. Nobody is told if that fails: a
 * wrong nomination costs kube-scheduler one look. Any thread. */
void sl_release_withdraw(void *releaser, const struct sl_release *release);

enum sl_queued_status {
    SL_QUEUED_TRUE,
    SL_QUEUED_FALSE,
    SL_QUEUED_UNKNOWN, /* nobody keeps the condition up any more */
};

/* The condition sliced.dev/Queued of a pod, as kubectl shows it in its status. */
struct sl_queued {
    struct sl_str namespace;
    struct sl_str name;
    struct sl_str uid;
    struct sl_str reason; /* "NoRoom" */
    struct sl_str message;
    enum sl_queued_status status;
    int64_t turned_us;   /* since when it has that status; 0: as what stands there says */
    uint64_t leadership; /* as of a release */
};

/* Writes a strategic merge patch of a pod's status that changes this condition alone. */
void sl_release_write_condition(struct sl_writer *w, const struct sl_queued *queued);

/* Writes the condition; no other of the pod's conditions changes. done as for a release, where
 * RELEASED means that it stands there; NULL: nobody is told. Text is copied. Any thread. */
void sl_release_show(void *releaser, const struct sl_queued *queued, sl_release_done done,
                     void *call);

struct sl_releaser_stats {
    uint64_t repeats;      /* of calls for releases, after the first try */
    uint64_t withdrawn;    /* nominations taken back */
    uint64_t shown;        /* conditions written */
    uint64_t shown_failed; /* given up */
};
void sl_releaser_stats(struct sl_releaser *releaser, struct sl_releaser_stats *out);

#endif
