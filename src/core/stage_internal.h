/* What the parts of stages share. stage.c: who waits; stage_target.c: for what; stage_record.c:
 * what there is; stage_cycle.c: cycles; stage_text.c: what is told; stage_read.c: the annotation.
 */
#ifndef SLICED_CORE_STAGE_INTERNAL_H
#define SLICED_CORE_STAGE_INTERNAL_H

#include "sliced/stage.h"
#include "util/map.h"

enum {
    SL_STAGE_GONE_MAX = 64, /* pods deleted while a selector is read; with more it is read again */
    SL_STAGE_TEXT_MAX = 256,
    SL_STAGE_KEY_MAX = 2048, /* a namespace, a kind, and an annotation at most */
    SL_STAGE_KINDS = SL_STAGE_SELECTOR + 1,
};

struct sl_stage_waiter;

/* A namespace in which somebody waits. */
struct sl_stage_space {
    struct sl_stage_waiter *waiters;
    struct sl_stage_target *target[SL_STAGE_KINDS];
    size_t refs; /* waiters and targets */
    char name[];
};

/* A pod or Job that counts for a target. */
struct sl_stage_record {
    enum sl_pod_phase phase;
    bool seen;    /* since the reading began */
    uint64_t uid; /* its hash */
    char name[];
};

struct sl_stage_gone {
    uint32_t n;
    uint64_t hash[SL_STAGE_GONE_MAX]; /* of names */
};

/* An item, and all who wait for it. */
struct sl_stage_target {
    struct sl_stage_space *space;
    struct sl_stage_link *links;
    struct sl_stage_target *prev, *next; /* of the namespace and kind */
    struct sl_stage_target *unread_prev, *unread_next;
    struct sl_stage_record *only; /* POD, JOB */
    struct sl_map records;        /* SELECTOR: by name */
    size_t count[SL_POD_UNKNOWN + 1];
    size_t members;             /* waiting pods that it names, or whose Job it names */
    uint64_t mark;              /* of a search for cycles */
    uint64_t reading;           /* its number; 0: is not being read */
    struct sl_stage_gone *gone; /* while it is read */
    struct sl_stage_rule *rule; /* not of a POD; of a JOB: for the label that its pods have */
    uint64_t *hash;
    struct sl_str text; /* in key */
    enum sl_stage_kind kind;
    uint32_t n_rules;
    bool unread; /* is in the list of those to be read */
    bool known;  /* was read once */
    bool stale;  /* the reading under way is not enough */
    bool full;   /* there was no room for all its pods */
    bool past;   /* something succeeded and is gone */
    char key[];  /* "NAMESPACE/KIND/TEXT" */
};

struct sl_stage_link {
    struct sl_stage_waiter *waiter;
    struct sl_stage_target *target;
    struct sl_stage_link *prev, *next; /* of the target */
};

struct sl_stage_waiter {
    struct sl_pod *pod; /* reference */
    struct sl_stage_space *space;
    struct sl_stage_waiter *prev, *next; /* of the namespace */
    struct sl_stage_waiter *changed_prev, *changed_next;
    struct sl_stage_waiter *visit; /* of a search: the next to look at */
    struct sl_stage_waiter *from;  /* of a search: who waits for it */
    uint64_t mark;
    char *why; /* malformed or in a cycle: the text; NULL: none, or no memory for it */
    struct sl_stage_link *link;
    uint32_t n_links;
    bool of_job; /* a Job made it */
    bool malformed;
    bool cyclic;
    bool starved; /* there was no room for what it waits for, or no memory */
    bool changed; /* is in the list */
    char key[];   /* "NAMESPACE/NAME", and behind the NUL the UID */
};

struct sl_stages {
    size_t max;
    struct sl_map waiters; /* by UID */
    struct sl_map by_name; /* by "NAMESPACE/NAME" */
    struct sl_map spaces;
    struct sl_map targets;
    struct sl_stage_waiter *changed;
    struct sl_stage_target *unread, *unread_last;
    struct sl_stage_target *reads[SL_STAGE_READS_MAX];
    size_t n_jobs;
    size_t n_records;
    size_t n_starved;
    size_t n_full;
    uint64_t n_refused;
    uint64_t mark;
    uint64_t reading; /* the last number */
};

/* ---- stage.c ---- */

void sl_stage_touch(struct sl_stages *stages, struct sl_stage_waiter *waiter);
/* Something changed about the target: whoever waits for it is to be told. */
void sl_stage_touch_all(struct sl_stages *stages, const struct sl_stage_target *target);
bool sl_stage_has_room(const struct sl_stages *stages);
struct sl_stage_waiter *sl_stage_waiter_find(const struct sl_stages *stages, struct sl_str space,
                                             struct sl_str name);

/* ---- stage_target.c ---- */

struct sl_stage_target *sl_stage_target_find(const struct sl_stages *stages, struct sl_str space,
                                             enum sl_stage_kind kind, struct sl_str text);
/* The one of that item, made when there is none; NULL: out of memory. */
struct sl_stage_target *sl_stage_target_get(struct sl_stages *stages, struct sl_stage_space *space,
                                            const struct sl_after *after,
                                            const struct sl_stage_item *item);
/* Nobody waits for it any more. */
void sl_stage_target_drop(struct sl_stages *stages, struct sl_stage_target *target);
struct sl_stage_space *sl_stage_space_find(const struct sl_stages *stages, struct sl_str name);
/* A reference, made when there is none; NULL: out of memory. */
struct sl_stage_space *sl_stage_space_get(struct sl_stages *stages, struct sl_str name);
void sl_stage_space_unref(struct sl_stages *stages, struct sl_stage_space *space);
/* Does the pod have a label that the Job controller puts on its pods? */
bool sl_stage_is_of_job(const struct sl_pod *pod);
/* Does the target name that pod, or the Job that made it? */
bool sl_stage_names(const struct sl_stage_target *target, const struct sl_pod *pod);

/* ---- stage_record.c ---- */

/* It is to be read; being read, it is to be read once more. */
void sl_stage_unread(struct sl_stages *stages, struct sl_stage_target *target);
/* Forgets all that is known of it, before it is freed. */
void sl_stage_forget(struct sl_stages *stages, struct sl_stage_target *target);

/* ---- stage_cycle.c ---- */

/* Looks for cycles that the waiter is in, and marks all who are in one. */
void sl_stage_cycle_find(struct sl_stages *stages, struct sl_stage_waiter *waiter);
/* Looks again at those of the namespace that were in cycles. */
void sl_stage_cycle_review(struct sl_stages *stages, struct sl_stage_space *space);

/* ---- stage_text.c ---- */

/* What may become of the waiter, and why. */
enum sl_hold_reason sl_stage_verdict(const struct sl_stage_waiter *waiter, char *out, size_t size);
size_t sl_stage_records(const struct sl_stage_target *target);

#endif
