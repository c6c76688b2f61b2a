/* Private to the queue at work.
 *
 * Locks, in the order in which they may be taken: listing, plan, then the store's, then mail;
 * status is taken last and alone. The store calls the feed with its lock held: that only takes
 * mail. */
#ifndef SLICED_DAEMON_QUEUE_INTERNAL_H
#define SLICED_DAEMON_QUEUE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "daemon/queue.h"
#include "sliced/pace.h"
#include "util/map.h"

/* What a word on a waiting pod was about. */
enum sl_queue_word {
    SL_QUEUE_WORD_NONE, /* nothing that would be worth one */
    SL_QUEUE_WORD_STAGED,
    SL_QUEUE_WORD_QUEUED,
    SL_QUEUE_WORD_EXCLUDED, /* from nodes with room, or from all */
    SL_QUEUE_WORD_REFUSED,
};

/* A waiting pod as the queue's thread knows it. Others read state with the lock status held. */
struct sl_queue_entry {
    struct sl_pod *pod;                 /* reference: as it was told last */
    char *node;                         /* of the claim; NULL: it has none, or no memory */
    char *left;                         /* where its claim lapsed last */
    struct sl_queue_call *call;         /* its release is under way; NULL: none is */
    struct sl_queue_entry *prev, *next; /* CLAIMED: by time of the claim, the oldest first */
    struct sl_queue_entry *todo;        /* of this round */
    uint64_t claim;                     /* number of the claim or release; 0: none */
    uint64_t round;                     /* the last reading of all that told of it */
    int64_t claimed_us;
    int64_t deadline_s;    /* that its claim or release was made by; 0: its own, or none */
    int64_t told_us;       /* when its owner was told last; 0: never */
    int64_t told_start_us; /* the estimated start that was told; 0: none */
    enum sl_queue_word told_of;
    enum sl_queue_state state;
    enum sl_hold_reason reason; /* of the last lapse */
    bool stale;                 /* its claim counts in the window no more */
    bool again;     /* its release came to nothing, or waits for the one before: later */
    bool withdrawn; /* its nomination is being taken back, whatever the pod shows */
    bool stray;     /* carries a nomination behind its gate that is not of its claim */
    bool listed;    /* in todo, as these say */
    bool heard;     /* kube-scheduler has asked about it; with the lock status held */
    bool failed;    /* its claim could not be made true */
    bool release;
    bool lapsed;
    bool refused;       /* its owner is to be told so */
    bool unsaid;        /* and what of it is passed over */
    uint64_t ignored;   /* a hash of what was told of that; 0: nothing */
    int64_t ignored_us; /* when */
    char uid[];
};

struct sl_queue_letter {
    struct sl_pod *pod; /* reference */
    bool waits;
};

/* A release under way, and its end. */
struct sl_queue_call {
    struct sl_queue_call *next;
    struct sl_queuer *queuer;
    uint64_t claim;
    uint64_t space; /* a hash of its namespace */
    enum sl_release_end end;
    char text[384]; /* why */
    char uid[];
};

/* What came in and is not looked at yet. */
struct sl_queue_mail {
    struct sl_queue_letter *letter;
    size_t n, cap;
    struct sl_map last;         /* by UID: the place, from 1, of the last letter about the pod */
    struct sl_queue_call *ends; /* newest first */
    bool lost;                  /* a letter had no place: all is read again */
    bool changed;               /* the cluster, the configuration, or the term */
};

enum { SL_QUEUE_WAIT_BUCKETS = 14, SL_QUEUE_ERROR_BUCKETS = 10 };
enum { SL_QUEUE_TURNS = 1024 /* namespaces told apart in telling */ };
enum { SL_QUEUE_TOLD = 20 /* owners told in a second, or of a round's refusals */ };

struct sl_queue_counts {
    uint64_t runs, run_us, rereads, bound, wrong, refused, withdrawn;
    uint64_t ends[SL_RELEASE_ENDS];
    uint64_t wait[SL_QUEUE_WAIT_BUCKETS + 1]; /* from submission to bound */
    uint64_t wait_us;
    uint64_t error[SL_QUEUE_ERROR_BUCKETS + 1]; /* between the start that was told and the real */
    uint64_t error_us;
};

struct sl_queuer {
    struct sl_queuer_options options;
    struct sl_config config; /* of the queue's thread */
    pthread_t thread;
    bool started;

    pthread_mutex_t listing;            /* taken before plan; guards what is listed for readers */
    struct sl_queue_shared *listed;     /* NULL: nothing */
    uint64_t listed_round, listed_term; /* that it is of */
    int64_t listed_us;                  /* when it was made, monotonic */
    int64_t listing_us;                 /* how long that took */
    _Atomic uint64_t rounds, terms;     /* go up with every plan, and every change of the leader */
    _Atomic uint64_t listings;          /* how often all rows were made */

    pthread_mutex_t plan; /* guards the planner and the snapshot that it has borrowed */
    struct sl_planner *planner;
    const struct sl_snapshot *snapshot; /* NULL: none */
    int64_t estimated_us;               /* when estimates were worked out last */

    pthread_mutex_t status; /* guards entries' states, counts and what follows */
    struct sl_map entries;  /* by UID; the set changes with plan held as well */
    struct sl_queue_counts counts;
    struct sl_pace pace;
    unsigned outstanding; /* claims */
    unsigned stale;       /* of them: old */
    uint64_t term;        /* in which is planned; 0: not now */
    bool heard;           /* kube-scheduler has asked about any pod */

    pthread_mutex_t mail; /* guards what follows */
    pthread_cond_t woken;
    pthread_cond_t settled;
    struct sl_queue_mail box;
    struct sl_config *fresh; /* NULL: no new one */
    uint64_t posted;         /* goes up with everything that comes in */
    uint64_t planned;        /* all up to there is planned for */
    size_t max_letters;
    bool stop;

    /* of the queue's thread alone */
    struct sl_queue_entry *oldest, *newest; /* claims */
    struct sl_queue_entry *todo;
    uint64_t last_claim;
    uint64_t round;
    int64_t now_us;    /* of this round; guarded by plan, as is the next */
    int64_t at_ns;     /* monotonic, when it was that */
    int64_t wake_us;   /* when to plan again though nothing comes in */
    int64_t pause_us;  /* after failures of the API server; 0: none */
    int64_t denied_us; /* when the log had the last refusal of the API server */
    int64_t
        paused_until_us;   /* no release is tried again before; after some failures, none at all */
    int64_t told_round_us; /* of the last look at all */
    uint64_t told_rounds;  /* looks */
    uint64_t told_turn[SL_QUEUE_TURNS]; /* the look in which one of the namespace was told last */
    int64_t tell_rest_us;               /* until the next one at least, for what it took */
    size_t untold; /* entries that want a first word, as of that look, and those new since */
    unsigned ignored_left; /* pods of which that may still be told in this round */
    unsigned failures;     /* of releases, in a row */
    uint64_t failed_in;    /* as a call's space: where the first of them was */
    bool failed_for_all;   /* they are not of one namespace among others */
    bool silent;           /* kube-scheduler is */
    bool again;            /* some entry is to be released again */
    bool stray;            /* some entry is */
    bool full;             /* the window may have been in the way of a claim */
    bool unread;           /* all is to be read again */
    bool short_of_memory;
};

/* The queue's time (Unix, microseconds). What it was at the last round, and what has passed since,
 * by a clock that nobody can put. With plan held. */
int64_t sl_queue_now(const struct sl_queuer *queuer, int64_t monotonic_ns);
/* The time of a round that begins now: follows the clock that people see. Where that was put, what
 * runs out in the queue runs out as much later. */
int64_t sl_queue_follow_clock(struct sl_queuer *queuer, int64_t real_us, int64_t monotonic_ns);

/* One round: reads the mail, plans, and does what the plan says. Returns when to come again though
 * nothing comes in (in the queue's time). */
int64_t sl_queue_round(struct sl_queuer *queuer, int64_t now_us);

/* Applies the mail that was taken. False: something was lost, all is to be read again. */
bool sl_queue_read_mail(struct sl_queuer *queuer, struct sl_queue_mail *mail, int64_t now_us);
/* Takes all mail out of the box. *posted: what it brings the plan up to. */
struct sl_queue_mail sl_queue_take_mail(struct sl_queuer *queuer, uint64_t *posted);
void sl_queue_free_mail(struct sl_queue_mail *mail);
/* The store's feed and news. */
void sl_queue_feed(void *context, struct sl_pod *pod, bool waits);
void sl_queue_published(void *context);
/* The end of a release; context is its struct sl_queue_call. */
void sl_queue_released(void *context, enum sl_release_end end, const struct sl_error *err);

struct sl_queue_entry *sl_queue_find(struct sl_queuer *queuer, struct sl_str uid);
/* A new one, HELD; NULL when out of memory. */
struct sl_queue_entry *sl_queue_add(struct sl_queuer *queuer, struct sl_str uid);
void sl_queue_claimed(struct sl_queuer *queuer, struct sl_queue_entry *entry, int64_t now_us);
/* Claims that are older than the window's patience do not count in it any more. */
void sl_queue_age(struct sl_queuer *queuer, int64_t now_us);
/* The claim is over: bound, lapsed, failed or gone. Its state is HELD then. */
void sl_queue_unclaim(struct sl_queuer *queuer, struct sl_queue_entry *entry);
/* Takes the entry out and frees it. */
void sl_queue_forget(struct sl_queuer *queuer, struct sl_queue_entry *entry);
void sl_queue_forget_all(struct sl_queuer *queuer);
void sl_queue_set_state(struct sl_queuer *queuer, struct sl_queue_entry *entry,
                        enum sl_queue_state state);

/* What a plan says is to be done: act for sl_planner_run, and what follows after it. */
void sl_queue_act(void *context, const struct sl_plan_action *action);
/* True when claims came to nothing, so that it is worth planning again. */
bool sl_queue_follow_up(struct sl_queuer *queuer, int64_t now_us);
void sl_queue_release_again(struct sl_queuer *queuer);
/* The API server refused to let it go, and says why: its claim is over. */
void sl_queue_deny(struct sl_queuer *queuer, struct sl_queue_entry *entry, const char *why,
                   int64_t now_us);
/* The pod has changed, or a release of it has ended: is there a nomination to be taken back? */
void sl_queue_note_nomination(struct sl_queuer *queuer, struct sl_queue_entry *entry);

/* Tells owners: of what happened to one pod, and from time to time of all. With plan held. */
void sl_queue_tell_one(struct sl_queuer *queuer, struct sl_queue_entry *entry, int64_t now_us);
/* What of the pod is passed over, when that is news; of one pod not more than once a minute, of all
 * SL_QUEUE_TOLD a round, the others with all. */
void sl_queue_tell_ignored(struct sl_queuer *queuer, struct sl_queue_entry *entry, int64_t now_us);
void sl_queue_tell_lapse(struct sl_queuer *queuer, struct sl_queue_entry *entry);
void sl_queue_tell_denied(struct sl_queuer *queuer, const struct sl_queue_entry *entry,
                          const char *why);
void sl_queue_tell_all(struct sl_queuer *queuer, int64_t now_us);
/* When that has to be again, or wake_us when it is earlier. */
int64_t sl_queue_tell_time(const struct sl_queuer *queuer, int64_t wake_us);

/* Rows for readers, as struct sl_queue has them. */
/* now: though more has come in that is not planned for yet. */
int sl_queue_rows_now(struct sl_queuer *queuer, size_t max, struct sl_queue_list *out,
                      struct sl_error *err);
int sl_queue_rows(void *context, size_t max, struct sl_queue_list *out, struct sl_error *err);
int sl_queue_row_of(void *context, struct sl_str uid, struct sl_queue_list *out,
                    struct sl_error *err);
bool sl_queue_settle(void *context, int64_t timeout_us);

/* Histograms. */
void sl_queue_note_wait(struct sl_queue_counts *counts, int64_t us);
void sl_queue_note_error(struct sl_queue_counts *counts, int64_t us);
void sl_queue_metrics(void *context, struct sl_buf *out);
void sl_queue_stats(void *context, struct sl_queue_stats *out);

#endif
