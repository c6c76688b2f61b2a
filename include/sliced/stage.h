/* Stages: the annotation sliced.dev/after makes a pod wait until other pods or Jobs have succeeded.
 * The caller reports waiting pods and the states of pods and Jobs to one object, which tells for
 * each waiting pod whether it may go. Pure, for one thread.
 *
 * The annotation names items, with commas between them, all of the pod's own namespace:
 *   pod/NAME, or NAME alone   that pod
 *   job/NAME                  that Job
 *   (SELECTOR)                all pods with these labels, in the syntax of Kubernetes' selectors:
 *                             key=value, key!=value, key in (a,b), key notin (a,b), key, !key, with
 *                             commas between them
 * A selector of one requirement needs no parentheses, unless it is a key alone, which would read as
 * a pod's name.
 *
 * A pod has succeeded when its phase says so, a Job by its condition Complete, a selector when at
 * least one pod matches and all that match have succeeded. A pod or Job deleted after it succeeded
 * still counts as long as a pod waits for it; created anew, it counts by its new state. */
#ifndef SLICED_STAGE_H
#define SLICED_STAGE_H

#include "sliced/plan.h"

enum {
    SL_STAGE_ITEMS_MAX = 16, /* in one annotation */
    SL_STAGE_READS_MAX = 8,  /* items read at a time */
};

enum sl_stage_kind { SL_STAGE_POD, SL_STAGE_JOB, SL_STAGE_SELECTOR };

struct sl_stages;

/* max: the number of items, and of pods matched by selectors, to remember at most. NULL when out of
 * memory. */
struct sl_stages *sl_stages_new(size_t max, struct sl_error *err);
void sl_stages_free(struct sl_stages *stages); /* NULL is allowed */
void sl_stages_set_max(struct sl_stages *stages, size_t max);

/* ---- who waits ---- */

/* Adds or updates a waiting pod, taking its own reference; without the annotation the pod may go.
 * -1: out of memory; the pod may not go before it is put again. */
int sl_stages_put(struct sl_stages *stages, struct sl_pod *pod, struct sl_error *err);
/* Removes a pod which waits no more. Ignores unknown UIDs. */
void sl_stages_remove(struct sl_stages *stages, struct sl_str uid);
void sl_stages_clear(struct sl_stages *stages); /* removes all waiting pods */

/* ---- what there is ---- */

/* Reports a pod that a watch told of; most pods matter to no waiter. */
void sl_stages_pod(struct sl_stages *stages, const struct sl_pod *pod);
void sl_stages_pod_gone(struct sl_stages *stages, struct sl_str namespace, struct sl_str name);
/* Reports a Job: SL_POD_SUCCEEDED with the condition Complete, SL_POD_FAILED with Failed. */
void sl_stages_job(struct sl_stages *stages, struct sl_str namespace, struct sl_str name,
                   struct sl_str uid, enum sl_pod_phase phase);
void sl_stages_job_gone(struct sl_stages *stages, struct sl_str namespace, struct sl_str name);
/* Makes every item read anew, because the watch of pods, or of Jobs, may have missed something. */
void sl_stages_reread(struct sl_stages *stages, bool jobs);

/* ---- what is to be read ---- */

/* An item to read: the pod or Job of that name, or all pods that the selector matches. Its strings
 * are valid until the next call. */
struct sl_stage_read {
    uint64_t id;
    enum sl_stage_kind kind;
    struct sl_str namespace;
    struct sl_str text;
};

/* Takes the next item to read; false: none now. Namespaces take turns, and none has more than half
 * of the readings at a time. now_us: of a monotonic clock. */
bool sl_stages_next_read(struct sl_stages *stages, int64_t now_us, struct sl_stage_read *out);
/* Returns when the next pause after failed readings ends; INT64_MAX: no pause. */
int64_t sl_stages_wake(const struct sl_stages *stages);
/* Report what a reading found, as sl_stages_pod and sl_stages_job do. When a watch told something
 * newer meanwhile, that holds. */
void sl_stages_read_pod(struct sl_stages *stages, uint64_t id, const struct sl_pod *pod);
void sl_stages_read_job(struct sl_stages *stages, uint64_t id, struct sl_str name,
                        struct sl_str uid, enum sl_pod_phase phase);
/* Ends a reading. Not ok: the item is read again after a pause, which doubles from 1 s to 64 s.
 * Other items do not pause, unless all recent readings failed: then all pause for a second. */
void sl_stages_read_end(struct sl_stages *stages, uint64_t id, bool ok, int64_t now_us);

/* ---- who may go ---- */

/* Visits each waiting pod whose stage may have changed since the last call: SL_HOLD_NONE, STAGE,
 * STAGE_FAILED or STAGE_CYCLE, and why, for people (NULL with NONE). True: some of what was
 * reported, or the search for cycles, waits for its namespace's turn, and the caller should call
 * again soon. */
bool sl_stages_collect(struct sl_stages *stages,
                       void (*visit)(void *context, struct sl_str uid, enum sl_hold_reason stage,
                                     const char *why),
                       void *context);
bool sl_stages_changed(const struct sl_stages *stages); /* is there anything to collect? */

struct sl_stages_stats {
    size_t waiters;   /* pods with the annotation */
    size_t targets;   /* different items that pods wait for */
    size_t jobs;      /* targets that are Jobs */
    size_t records;   /* pods and Jobs known for the targets */
    uint64_t refused; /* items or pods left out for lack of room */
    uint64_t looks;   /* checks whether an item names a pod, so that a test can count work */
};
void sl_stages_stats(const struct sl_stages *stages, struct sl_stages_stats *out);

#endif
