/* What the parts of stages share. stage.c: who waits; stage_target.c: for what; stage_index.c: by
 * labels; stage_record.c: what there is; stage_turn.c: what is read next; stage_cycle.c: cycles;
 * stage_text.c: what is told; stage_read.c: the annotation. */
#ifndef SLICED_CORE_STAGE_INTERNAL_H
#define SLICED_CORE_STAGE_INTERNAL_H

#include "sliced/stage.h"
#include "util/map.h"

enum {
    SL_STAGE_GONE_MAX = 64, /* pods deleted while a selector is read; with more it is read again */
    SL_STAGE_TEXT_MAX = 256,
    SL_STAGE_KEY_MAX = 2048, /* a namespace, a kind, and an annotation at most */
    SL_STAGE_KINDS = SL_STAGE_SELECTOR + 1,
    SL_STAGE_SPACE_READS = SL_STAGE_READS_MAX / 2, /* at a time, of one namespace */
    SL_STAGE_RESTS = 7,     /* pauses after readings that failed: 1 s, and twice as long each */
    SL_STAGE_FAILURES = 16, /* in a row, whatever was read: then all rest for a moment */
};

/* Targets in the order in which they are to be read. */
struct sl_stage_turns {
    struct sl_stage_target *first, *last;
};

struct sl_stage_waiter;

/* A namespace in which somebody waits. */
struct sl_stage_space {
    struct sl_stage_waiter *waiters;
    struct sl_stage_target *open; /* selectors that ask for no label, as "a!=b" */
    struct sl_map buckets;        /* by hash of a label */
    struct sl_map records;        /* of selectors: the first of a pod's, by its name */
    struct sl_stage_turns unread;
    struct sl_stage_space *ring_prev,
        *ring_next;     /* of those with something to be read; NULL: not */
    uint32_t n_reading; /* targets */
    bool doubted;       /* cycles may have come, */
    bool broken;        /* or gone */
    size_t refs;        /* waiters and targets */
    size_t used;        /* targets and records: of stages->max */
    char name[];
};

enum sl_stage_side { SL_STAGE_WAITERS, SL_STAGE_TARGETS, SL_STAGE_SIDES };

/* Under a label, as in struct sl_pod: who waits and has it, and, each in as few as may be, the
 * selectors and Jobs that ask for it. */
struct sl_stage_bucket {
    uint64_t hash;
    struct sl_stage_filing *first[SL_STAGE_SIDES];
    size_t n[SL_STAGE_SIDES];
};

struct sl_stage_filing {
    struct sl_stage_bucket *bucket;
    void *owner; /* the waiter, or target */
    struct sl_stage_filing *prev, *next;
};

struct sl_stage_filings {
    struct sl_stage_filing *filing;
    uint32_t n;
    bool done; /* also with none */
};

/* A pod or Job that counts for a target. */
struct sl_stage_record {
    enum sl_pod_phase phase;
    bool seen;    /* since the reading began */
    uint64_t uid; /* its hash */
    struct sl_stage_target *target;
    struct sl_stage_record *prev, *next; /* of a selector: those of other selectors for the pod */
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
    struct sl_stage_target *prev, *next; /* of the namespace's open ones */
    struct sl_stage_turns *turns;        /* that it is in: its namespace's, or a rest; NULL: none */
    struct sl_stage_target *turn_prev, *turn_next;
    int64_t rest_us;              /* until then it rests */
    uint32_t failures;            /* of readings, in a row */
    struct sl_stage_record *only; /* POD, JOB */
    struct sl_map records;        /* SELECTOR: by name */
    size_t count[SL_POD_UNKNOWN + 1];
    struct sl_stage_filings filings;
    uint64_t mark;              /* of a search for cycles */
    uint64_t reading;           /* its number; 0: is not being read */
    struct sl_stage_gone *gone; /* while it is read */
    struct sl_stage_rule *rule; /* not of a POD; of a JOB: for the label that its pods have */
    uint64_t *hash;
    struct sl_str text; /* in key */
    enum sl_stage_kind kind;
    uint32_t n_rules;
    uint32_t filed_by; /* the rule; n_rules: it is open */
    bool known;        /* was read once */
    bool stale;        /* the reading under way is not enough */
    bool full;         /* there was no room for all its pods */
    bool past;         /* something succeeded and is gone */
    char key[];        /* "NAMESPACE/KIND/TEXT" */
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
    struct sl_stage_filings filings;
    uint32_t n_links;
    bool malformed;
    bool cyclic;
    bool own;     /* cyclic: it names itself */
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
    struct sl_stage_space *ring; /* the namespace whose turn it is to have something read */
    struct sl_stage_turns rest[SL_STAGE_RESTS];
    int64_t rest_us;   /* nothing is read before */
    uint32_t failures; /* of readings, in a row */
    struct sl_stage_target *reads[SL_STAGE_READS_MAX];
    size_t n_jobs;
    size_t n_records;
    size_t n_starved;
    size_t n_full;
    size_t n_doubted; /* namespaces */
    size_t reviewed;  /* place in spaces up to which the last review came */
    bool feeds;       /* there may be room for who is starved, */
    bool refills;     /* and for records of who is full */
    uint64_t n_refused;
    uint64_t looks;
    uint64_t mark;
    uint64_t reading; /* the last number */
};

/* ---- stage.c ---- */

void sl_stage_touch(struct sl_stages *stages, struct sl_stage_waiter *waiter);
/* Something changed about the target: whoever waits for it is to be told. */
void sl_stage_touch_all(struct sl_stages *stages, const struct sl_stage_target *target);
/* Is there room for one more item, or record, of the namespace's share? spare: and for so many
 * more. */
bool sl_stage_has_room(const struct sl_stages *stages, const struct sl_stage_space *space,
                       size_t spare);
/* The namespace has one less. */
void sl_stage_give_back(struct sl_stages *stages, struct sl_stage_space *space);
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
/* Does the target name that pod, or the Job that made it? */
bool sl_stage_names(const struct sl_stage_target *target, const struct sl_pod *pod);

/* ---- stage_index.c ---- */

/* Under its labels; -1: out of memory. */
int sl_stage_file_waiter(struct sl_stage_waiter *waiter);
int sl_stage_file_target(struct sl_stage_target *target);
void sl_stage_unfile_target(struct sl_stage_target *target);
void sl_stage_unfile(struct sl_stage_space *space, enum sl_stage_side side,
                     struct sl_stage_filings *filings);

/* Goes through the selectors and Jobs that name a pod, each once; in between none may come or go.
 */
struct sl_stage_naming {
    struct sl_stages *stages;
    const struct sl_stage_space *space;
    const struct sl_pod *pod;
    struct sl_stage_filing *filing;
    struct sl_stage_target *open;
    uint32_t label; /* the next */
};

void sl_stage_naming_begin(struct sl_stage_naming *naming, struct sl_stages *stages,
                           const struct sl_stage_space *space, const struct sl_pod *pod);
struct sl_stage_target *sl_stage_naming_next(struct sl_stage_naming *naming);

/* The same for the waiting pods that a selector or Job names. */
struct sl_stage_named {
    struct sl_stages *stages;
    const struct sl_stage_target *target;
    struct sl_stage_filing *filing;
    struct sl_stage_waiter *waiter; /* where it is a look at all */
    uint32_t rule;
    uint32_t hash; /* of the rule: the next */
};

void sl_stage_named_begin(struct sl_stage_named *named, struct sl_stages *stages,
                          const struct sl_stage_target *target);
struct sl_stage_waiter *sl_stage_named_next(struct sl_stage_named *named);

/* ---- stage_read.c ---- */

bool sl_stage_has_label(const uint64_t *label, uint32_t n_labels, uint64_t hash);

/* ---- stage_turn.c: namespaces take turns, and what could not be read rests by itself ---- */

/* It is to be read; being read, it is to be read once more. */
void sl_stage_unread(struct sl_stages *stages, struct sl_stage_target *target);
/* Out of its turns. */
void sl_stage_take_out(struct sl_stages *stages, struct sl_stage_target *target);
/* The next to be read, still in its turns; NULL: none now. */
struct sl_stage_target *sl_stage_next(struct sl_stages *stages, int64_t now_us);
/* Its reading begins; ends. */
void sl_stage_turn_begin(struct sl_stages *stages, struct sl_stage_target *target);
void sl_stage_turn_end(struct sl_stage_target *target);
/* It could not be read: again after a rest, longer each time. */
void sl_stage_turn_failed(struct sl_stages *stages, struct sl_stage_target *target, int64_t now_us);

/* ---- stage_record.c ---- */

/* Forgets all that is known of it, before it is freed. */
void sl_stage_forget(struct sl_stages *stages, struct sl_stage_target *target);

/* ---- stage_cycle.c ---- */

/* Somebody of the namespace waits for something else than before; broken: who was in a cycle. */
void sl_stage_cycle_doubt(struct sl_stages *stages, struct sl_stage_space *space, bool broken);
/* Looks for cycles where that is so, once for however many changes, and marks all who are in one.
 * What is too much for one time is left for the next. */
void sl_stage_cycle_review(struct sl_stages *stages);

/* ---- stage_text.c ---- */

/* What may become of the waiter, and why. */
enum sl_hold_reason sl_stage_verdict(const struct sl_stage_waiter *waiter, char *out, size_t size);
size_t sl_stage_records(const struct sl_stage_target *target);

#endif
