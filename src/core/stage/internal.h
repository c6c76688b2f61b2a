/* Structures and functions that the files of this room share. stage.c: waiting pods; target.c: the
 * items that they wait for; index.c: look-up by labels; record.c: states of pods and Jobs; turn.c:
 * turns of reading; news.c: turns of pods' news; cycle.c: cycles; text.c: texts for people; read.c:
 * parses the annotation; find.c: look-up by names; touch.c: waiters to tell. */
#ifndef SLICED_CORE_STAGE_INTERNAL_H
#define SLICED_CORE_STAGE_INTERNAL_H

#include "core/stage/after.h"
#include "util/data/map.h"
#include "util/data/turns.h"

enum {
    SL_STAGE_GONE_MAX = 64, /* pods deleted while a selector is read; with more it is read again */
    SL_STAGE_TEXT_MAX = 256,
    SL_STAGE_KEY_MAX = 2048, /* a namespace, a kind, and an annotation at most */
    SL_STAGE_KINDS = SL_STAGE_SELECTOR + 1,
    SL_STAGE_SPACE_READS = SL_STAGE_READS_MAX / 2, /* at a time, of one namespace */
    SL_STAGE_RESTS = 7,     /* pauses after readings that failed: 1 s, and twice as long each */
    SL_STAGE_FAILURES = 16, /* failed readings in a row, of any item, after which all rest for a
                               moment */
};

/* A namespace with waiting pods. */
struct sl_stage_space {
    struct sl_list waiters;
    struct sl_list open;       /* selectors that need no label, such as "a!=b" */
    struct sl_map buckets;     /* by hash of a label */
    struct sl_map records;     /* of selectors: a pod's first record, by the pod's name */
    struct sl_turn_space turn; /* targets that are to be read */
    struct sl_map news;        /* of pods, by name, that wait for a turn */
    struct sl_turn_space news_turn;
    uint32_t n_reading; /* targets */
    bool doubted;       /* new cycles may exist */
    bool broken;        /* known cycles may be gone */
    size_t refs;        /* held by waiters and targets */
    size_t used;        /* targets and records, which count against stages->max */
    char name[];
};

enum sl_stage_side { SL_STAGE_WAITERS, SL_STAGE_TARGETS, SL_STAGE_SIDES };

/* One label (its hash, as in struct sl_pod), with the waiters that have it and the selectors and
 * Jobs that ask for it. A selector is filed under the labels of one of its rules: filed_by. */
struct sl_stage_bucket {
    uint64_t hash;
    struct sl_list filings[SL_STAGE_SIDES];
    size_t n[SL_STAGE_SIDES];
};

struct sl_stage_filing {
    struct sl_stage_bucket *bucket;
    void *owner; /* the waiter, or target */
    struct sl_link link;
};

struct sl_stage_filings {
    struct sl_stage_filing *filing;
    uint32_t n;
    bool done; /* filed, even if under no label */
};

/* A pod or Job that counts for a target. */
struct sl_stage_record {
    enum sl_pod_phase phase;
    bool seen;    /* told of since the reading began */
    uint64_t uid; /* its hash */
    struct sl_stage_target *target;
    struct sl_stage_record *prev, *next; /* of a selector: other selectors' records of this pod */
    char name[];
};

struct sl_stage_gone {
    uint32_t n;
    uint64_t hash[SL_STAGE_GONE_MAX]; /* of names */
};

/* One item of sliced.dev/after in a namespace, with the waiters that name it. */
struct sl_stage_target {
    struct sl_stage_space *space;
    struct sl_list links;
    struct sl_link in_open;
    struct sl_list *queue; /* holds its turn: its namespace's queue, or a rest; NULL: none */
    struct sl_link turn;
    int64_t rest_us;              /* end of its rest */
    uint32_t failures;            /* of readings, in a row */
    struct sl_stage_record *only; /* POD, JOB */
    struct sl_map records;        /* SELECTOR: by name */
    size_t count[SL_POD_UNKNOWN + 1];
    struct sl_stage_filings filings;
    uint64_t mark;                 /* of the last search for cycles that visited it */
    uint64_t reading;              /* number of the reading; 0: is not being read */
    struct sl_stage_gone *gone;    /* allocated while it is read */
    struct sl_selector_rule *rule; /* none for a POD; a JOB's asks for its pods' label */
    uint64_t *hash;
    struct sl_str text; /* in key */
    enum sl_stage_kind kind;
    uint32_t n_rules;
    uint32_t filed_by; /* index of a rule; n_rules: it is in space->open */
    bool known;        /* was read at least once */
    bool stale;        /* must be read again after the current reading */
    bool full;         /* some of its pods found no room */
    bool past;         /* a pod or Job succeeded and is gone */
    char key[];        /* "NAMESPACE/KIND/TEXT" */
};

struct sl_stage_link {
    struct sl_stage_waiter *waiter;
    struct sl_stage_target *target;
    struct sl_link in_target;
};

struct sl_stage_waiter {
    struct sl_pod *pod; /* reference */
    struct sl_stage_space *space;
    struct sl_link in_space;
    struct sl_link changed;        /* in stages->changed */
    struct sl_stage_waiter *visit; /* of a search: the next to visit */
    struct sl_stage_waiter *from;  /* of a search: the waiter which led here, and waits for it */
    uint64_t mark;
    char *why; /* text for a malformed annotation or a cycle; NULL: none, or out of memory */
    struct sl_stage_link *link;
    struct sl_stage_filings filings;
    uint32_t n_links;
    bool malformed;
    bool cyclic;
    bool own;     /* cyclic, because it names itself */
    bool starved; /* its items found no room, or no memory */
    char key[];   /* as a target that names the pod has it, and behind the NUL the UID */
};

struct sl_stages {
    size_t max;
    struct sl_map waiters; /* by UID */
    struct sl_map by_name; /* waiters by key */
    struct sl_map spaces;
    struct sl_map targets;
    struct sl_list changed;
    struct sl_turns turns; /* of namespaces with items to read */
    struct sl_turns news;  /* of namespaces with news */
    size_t n_news;
    struct sl_list rest[SL_STAGE_RESTS]; /* targets; the first one's rest ends first */
    int64_t rest_us;                     /* no reading begins before this */
    uint32_t failures;                   /* of readings, in a row */
    struct sl_stage_target *reads[SL_STAGE_READS_MAX];
    size_t n_jobs;
    size_t n_records;
    size_t n_starved;
    size_t n_full;
    size_t n_doubted; /* namespaces */
    size_t reviewed;  /* position in spaces where the last review ended */
    bool feeds;       /* there may be room for starved waiters, */
    bool refills;     /* and for records of full targets */
    uint64_t n_refused;
    uint64_t looks;
    uint64_t mark;
    uint64_t reading; /* number of the last reading */
};

/* ---- touch.c ---- */

/* Puts the waiter on the list of changed ones, which the caller is told of; takes it off. */
void sl_stage_touch(struct sl_stages *stages, struct sl_stage_waiter *waiter);
void sl_stage_untouch(struct sl_stages *stages, struct sl_stage_waiter *waiter);
/* Something changed about the target: puts all its waiters on that list. */
void sl_stage_touch_all(struct sl_stages *stages, const struct sl_stage_target *target);
/* True when the namespace's share has room for one more item or record, and for spare more. */
bool sl_stage_has_room(const struct sl_stages *stages, const struct sl_stage_space *space,
                       size_t spare);
/* Frees the room of one item or record. */
void sl_stage_give_back(struct sl_stages *stages, struct sl_stage_space *space);

/* ---- find.c: look-ups return NULL when there is none ---- */

/* Writes the key of a target of that namespace. Returns its length, 0 for a key that is too long,
 * which no target can have. */
size_t sl_stage_put_key(char out[SL_STAGE_KEY_MAX], struct sl_str space, enum sl_stage_kind kind,
                        struct sl_str text);
struct sl_stage_target *sl_stage_target_find(const struct sl_stages *stages, struct sl_str space,
                                             enum sl_stage_kind kind, struct sl_str text);
struct sl_stage_space *sl_stage_space_find(const struct sl_stages *stages, struct sl_str name);
/* True when the target names that pod, or the Job that made it. */
bool sl_stage_names(const struct sl_stage_target *target, const struct sl_pod *pod);

/* ---- target.c ---- */

/* Returns the item's target, making it when absent; NULL: out of memory. */
struct sl_stage_target *sl_stage_target_get(struct sl_stages *stages, struct sl_stage_space *space,
                                            const struct sl_after *after,
                                            const struct sl_stage_item *item);
/* Frees a target for which no pod waits any more. */
void sl_stage_target_drop(struct sl_stages *stages, struct sl_stage_target *target);
/* Returns a reference to the namespace, making it when absent; NULL: out of memory. */
struct sl_stage_space *sl_stage_space_get(struct sl_stages *stages, struct sl_str name);
void sl_stage_space_unref(struct sl_stages *stages, struct sl_stage_space *space);

/* ---- index.c ---- */

/* Files the waiter, or the target, under its labels. -1: out of memory. */
int sl_stage_file_waiter(struct sl_stage_waiter *waiter);
int sl_stage_file_target(struct sl_stage_target *target);
void sl_stage_unfile_target(struct sl_stage_target *target);
void sl_stage_unfile(struct sl_stage_space *space, enum sl_stage_side side,
                     struct sl_stage_filings *filings);

/* Visits the selectors and Jobs that name a pod, each once; none may be added or removed meanwhile.
 */
struct sl_stage_naming {
    struct sl_stages *stages;
    const struct sl_stage_space *space;
    const struct sl_pod *pod;
    const struct sl_stage_bucket *bucket;
    struct sl_link *filing; /* the next in the bucket */
    struct sl_link *open;   /* the next */
    uint32_t label;         /* the next */
};

void sl_stage_naming_begin(struct sl_stage_naming *naming, struct sl_stages *stages,
                           const struct sl_stage_space *space, const struct sl_pod *pod);
struct sl_stage_target *sl_stage_naming_next(struct sl_stage_naming *naming);

/* Visits the waiting pods that a selector or Job names, in the same way. */
struct sl_stage_named {
    struct sl_stages *stages;
    const struct sl_stage_target *target;
    struct sl_link *filing; /* the next */
    struct sl_link *waiter; /* the next, when all waiters are visited */
    uint32_t rule;
    uint32_t hash; /* the next of the rule */
};

void sl_stage_named_begin(struct sl_stage_named *named, struct sl_stages *stages,
                          const struct sl_stage_target *target);
struct sl_stage_waiter *sl_stage_named_next(struct sl_stage_named *named);

/* ---- turn.c: namespaces take turns, and items that could not be read rest ---- */

/* Queues the target for a reading; while it is being read, for another one. */
void sl_stage_unread(struct sl_stages *stages, struct sl_stage_target *target);
/* Takes the target out of the queue. */
void sl_stage_take_out(struct sl_stages *stages, struct sl_stage_target *target);
/* Returns the next target to read, and leaves it queued; NULL: none now. */
struct sl_stage_target *sl_stage_next(struct sl_stages *stages, int64_t now_us);
/* Begin and end the reading of a target. */
void sl_stage_turn_begin(struct sl_stages *stages, struct sl_stage_target *target);
void sl_stage_turn_end(struct sl_stage_target *target);
/* Ends a failed reading: the target is read again after a rest, which is longer each time. */
void sl_stage_turn_failed(struct sl_stages *stages, struct sl_stage_target *target, int64_t now_us);

/* ---- news.c ---- */

/* Forgets all news of the namespace. */
void sl_stage_news_clear(struct sl_stages *stages, struct sl_stage_space *space);
/* Takes in news, in turns, as many as may be at a time. */
void sl_stage_news_take(struct sl_stages *stages);

/* ---- record.c ---- */

/* Take in that the pod is as told, or is gone. */
void sl_stage_pod_set(struct sl_stages *stages, struct sl_stage_space *space,
                      const struct sl_pod *pod);
void sl_stage_pod_drop(struct sl_stages *stages, struct sl_stage_space *space, struct sl_str name);
/* Notes it for the readings under way, which may still tell of the pod. */
void sl_stage_note_gone(struct sl_stages *stages, const struct sl_stage_space *space,
                        struct sl_str name);

/* Drops all records of a target, before it is freed. */
void sl_stage_forget(struct sl_stages *stages, struct sl_stage_target *target);

/* ---- cycle.c ---- */

/* Notes that a waiter of the namespace waits for other items than before; broken: it was in a
 * cycle. */
void sl_stage_cycle_doubt(struct sl_stages *stages, struct sl_stage_space *space, bool broken);
/* Searches the doubted namespaces for cycles, once for all changes, and marks the waiters in
 * cycles. A review that takes too long goes on in the next call. */
void sl_stage_cycle_review(struct sl_stages *stages);

/* ---- text.c ---- */

/* Returns the waiter's stage, and writes why. */
enum sl_hold_reason sl_stage_verdict(const struct sl_stage_waiter *waiter, char *out, size_t size);
size_t sl_stage_records(const struct sl_stage_target *target);

#endif
