/* Stages: which waiting pods have to wait for others to succeed first, by the annotation
 * sliced.dev/after. One object, told of the pods that wait and of what there is of pods and Jobs;
 * it answers for each waiting pod whether it may go. Pure, for one thread.
 *
 * The annotation names items, with commas between them, all of the pod's own namespace:
 *   pod/NAME, or NAME alone   that pod
 *   job/NAME                  that Job
 *   (SELECTOR)                all pods with these labels, in the syntax of Kubernetes' selectors:
 *                             key=value, key!=value, key in (a,b), key notin (a,b), key, !key, with
 *                             commas between them
 * A selector of one requirement needs no parentheses, except one that is a key alone: that would be
 * a pod's name.
 *
 * A pod has succeeded when its phase says so, a Job by its condition Complete, a selector when at
 * least one pod matches and all that match have succeeded. What has succeeded and is gone counts,
 * as long as somebody waits for it; made anew, it counts as it is now. */
#ifndef SLICED_STAGE_H
#define SLICED_STAGE_H

#include "sliced/plan.h"

enum {
    SL_STAGE_ITEMS_MAX = 16,  /* of one annotation */
    SL_STAGE_RULES_MAX = 32,  /* requirements in all selectors of one annotation */
    SL_STAGE_HASHES_MAX = 96, /* values in them */
    SL_STAGE_READS_MAX = 8,   /* items that are read at a time */
};

enum sl_stage_kind { SL_STAGE_POD, SL_STAGE_JOB, SL_STAGE_SELECTOR };

/* A requirement on labels: one of hash[first..first + n) is there, or, negated, none is. */
struct sl_stage_rule {
    uint16_t first;
    uint16_t n;
    bool negated;
};

struct sl_stage_item {
    enum sl_stage_kind kind;
    struct sl_str text; /* a name, or the selector without its parentheses; borrowed */
    uint16_t rule;      /* its first; SELECTOR */
    uint16_t n_rules;
};

struct sl_after {
    uint16_t n, n_rules, n_hashes;
    struct sl_stage_item item[SL_STAGE_ITEMS_MAX];
    struct sl_stage_rule rule[SL_STAGE_RULES_MAX];
    uint64_t hash[SL_STAGE_HASHES_MAX]; /* as in struct sl_pod's label */
};

/* Reads the annotation's text. -1: *err says which item is wrong and why. */
int sl_after_parse(struct sl_str text, struct sl_after *out, struct sl_error *err);

/* Do these labels, as in struct sl_pod, meet the rules? */
bool sl_stage_matches(const struct sl_stage_rule *rule, uint32_t n_rules, const uint64_t *hash,
                      const uint64_t *label, uint32_t n_labels);

struct sl_stages;

/* max: how many items and pods that selectors match are remembered. */
struct sl_stages *sl_stages_new(size_t max, struct sl_error *err);
void sl_stages_free(struct sl_stages *stages); /* NULL is allowed */
void sl_stages_set_max(struct sl_stages *stages, size_t max);

/* ---- who waits ---- */

/* A pod that waits, new or changed; without the annotation it may go. Takes a reference of its own.
 * -1: out of memory; it may not go before it is put again. */
int sl_stages_put(struct sl_stages *stages, struct sl_pod *pod, struct sl_error *err);
/* It waits no more. Unknown UIDs are no harm. */
void sl_stages_remove(struct sl_stages *stages, struct sl_str uid);
void sl_stages_clear(struct sl_stages *stages); /* nobody waits */

/* ---- what there is ---- */

/* A pod is there, as told by a watch; most are of no interest. */
void sl_stages_pod(struct sl_stages *stages, const struct sl_pod *pod);
void sl_stages_pod_gone(struct sl_stages *stages, struct sl_str namespace, struct sl_str name);
/* A Job: SL_POD_SUCCEEDED with the condition Complete, SL_POD_FAILED with Failed. */
void sl_stages_job(struct sl_stages *stages, struct sl_str namespace, struct sl_str name,
                   struct sl_str uid, enum sl_pod_phase phase);
void sl_stages_job_gone(struct sl_stages *stages, struct sl_str namespace, struct sl_str name);
/* The watch of pods, or of Jobs, may have missed something: all is to be read. */
void sl_stages_reread(struct sl_stages *stages, bool jobs);

/* ---- what is to be read ---- */

/* What somebody waits for, to be read whole: the pod or Job of that name, or the pods that a
 * selector matches. Text is valid until the next call. */
struct sl_stage_read {
    uint64_t id;
    enum sl_stage_kind kind;
    struct sl_str namespace;
    struct sl_str text;
};

/* The next that is to be read and is not being read; false: nothing now. Namespaces take turns,
 * each with half of the readings at most at a time. now_us: of a clock that is never put. */
bool sl_stages_next_read(struct sl_stages *stages, int64_t now_us, struct sl_stage_read *out);
/* When a pause after readings that failed is over; INT64_MAX: there is none. */
int64_t sl_stages_wake(const struct sl_stages *stages);
/* What a reading found: as sl_stages_pod and sl_stages_job, for what the reading is for. Watches
 * may know better meanwhile: then that holds. */
void sl_stages_read_pod(struct sl_stages *stages, uint64_t id, const struct sl_pod *pod);
void sl_stages_read_job(struct sl_stages *stages, uint64_t id, struct sl_str name,
                        struct sl_str uid, enum sl_pod_phase phase);
/* It has ended. Not ok: it is to be read again, after a pause that doubles from 1 s to 64 s. Others
 * do not pause, unless nothing that was read lately could be: then all do, for a second. */
void sl_stages_read_end(struct sl_stages *stages, uint64_t id, bool ok, int64_t now_us);

/* ---- who may go ---- */

/* Tells of each waiting pod of which something may have changed since the last call:
 * SL_HOLD_NONE, STAGE, STAGE_FAILED or STAGE_CYCLE, and why, for people (NULL with NONE). True: not
 * all cycles could be looked for, and it is worth to call it again soon. */
bool sl_stages_collect(struct sl_stages *stages,
                       void (*visit)(void *context, struct sl_str uid, enum sl_hold_reason stage,
                                     const char *why),
                       void *context);
bool sl_stages_changed(const struct sl_stages *stages); /* is there anything to collect? */

struct sl_stages_stats {
    size_t waiters;   /* pods with the annotation */
    size_t targets;   /* different items that are waited for */
    size_t jobs;      /* of them: Jobs */
    size_t records;   /* pods and Jobs known for them */
    uint64_t refused; /* items or pods that there was no room for */
    uint64_t looks;   /* how often a pod and an item were looked at, whether it names it */
};
void sl_stages_stats(const struct sl_stages *stages, struct sl_stages_stats *out);

#endif
