/* The queue's own records of waiting pods. */
#ifndef SLICED_DAEMON_QUEUE_ENTRY_H
#define SLICED_DAEMON_QUEUE_ENTRY_H

#include "server/app/queue_reader.h"
#include "sliced/notice.h"
#include "util/data/list.h"

struct sl_queue_call;
struct sl_queue_worker;

/* The subject of the last word to a waiting pod's owner. */
enum sl_queue_word {
    SL_QUEUE_WORD_NONE, /* none so far, or none worth repeating */
    SL_QUEUE_WORD_STAGED,
    SL_QUEUE_WORD_QUEUED,
    SL_QUEUE_WORD_EXCLUDED, /* from nodes with room, or from all */
    SL_QUEUE_WORD_REFUSED,
};

/* Does the condition sliced.dev/Queued on the pod say True? */
enum sl_queue_shown {
    SL_QUEUE_SHOWN_BEFORE, /* as the pod showed it when this leadership read it */
    SL_QUEUE_SHOWN_TRUE,   /* it was written */
    SL_QUEUE_SHOWN_OVER,   /* it was ended */
};

/* Other threads read state with the lock status held. */
struct sl_queue_entry {
    struct sl_pod *pod;             /* reference: as it was told last */
    char *node;                     /* of the nomination; NULL: it has none, or no memory */
    char *left;                     /* the node of the last nomination that expired */
    uint64_t released;              /* number of its last release without a nomination */
    uint64_t round;                 /* the last reading of all that told of it */
    SL_TIMES(int64_t nominated_us;  /* its last nomination */
             int64_t told_us;       /* when its owner was told last; 0: never */
             int64_t told_start_us; /* the estimated start that was told; 0: none */
             int64_t ignored_us;    /* when its ignored words were told */
    );
    int64_t deadline_s; /* of its nomination or release; 0: its own, or none */
    enum sl_queue_word told_of;
    enum sl_queue_shown shown;
    struct sl_notice notice;    /* as its condition was written last */
    struct sl_queue_try *tried; /* its last nominations that ended, with texts of their own; with
                                 * the lock plan held; NULL: none */
    unsigned n_tried;           /* of SL_QUEUE_TRIES_MAX; the first one first */
    size_t position;            /* in the queue, from 1, at the last look at all */
    enum sl_queue_state state;
    enum sl_hold_reason reason; /* of the last expiry */
    bool named;                 /* a node was, or may have been, written on it as its nomination */
    bool withdrawn;             /* its nomination is being taken back, whatever the pod shows */
    bool heard;                 /* kube-scheduler has asked about it; with the lock status held */
    bool refused;               /* its owner is to be told that it is refused */
    bool unsaid;                /* its owner is to be told which of its words are ignored */
    uint64_t ignored;           /* a hash of what was told about ignored words; 0: nothing */
    char uid[];
};

/* NULL: there is none. */
struct sl_queue_entry *sl_queue_find(struct sl_queue_worker *worker, struct sl_str uid);
/* Adds an entry, HELD; NULL: out of memory. */
struct sl_queue_entry *sl_queue_add(struct sl_queue_worker *worker, struct sl_str uid);
/* Notes that the entry is NOMINATED from now on. */
void sl_queue_nominated(struct sl_queue_worker *worker, struct sl_queue_entry *entry,
                        int64_t now_us);
/* The nomination is over: bound, expired, failed or gone. Its state is HELD then. */
void sl_queue_withdraw(struct sl_queue_worker *worker, struct sl_queue_entry *entry);
/* Notes how its nomination, or its release without one, has ended: before it is withdrawn. why may
 * be NULL. What memory does not suffice for is left out. */
void sl_queue_note_try(struct sl_queue_worker *worker, struct sl_queue_entry *entry,
                       enum sl_queue_try_end end, const char *why);
/* Takes the entry out and frees it. */
void sl_queue_forget(struct sl_queue_worker *worker, struct sl_queue_entry *entry);
void sl_queue_forget_all(struct sl_queue_worker *worker);
void sl_queue_set_state(struct sl_queue_worker *worker, struct sl_queue_entry *entry,
                        enum sl_queue_state state);

#endif
