/* The partitioner's parts. Private to this room.
 *
 * Only the queue's thread changes places; it does so under status, as readers copy from them. Ended
 * writes arrive under mail, from any thread. */
#ifndef SLICED_DAEMON_CUT_INTERNAL_H
#define SLICED_DAEMON_CUT_INTERNAL_H

#include <pthread.h>

#include "daemon/cut/partitioner.h"
#include "sliced/cut_run.h"
#include "util/data/map.h"

/* A node of which something is known: a cut under way, an earlier one, a drain. */
struct sl_cut_place {
    struct sl_cut_record record;
    struct sl_cut_run *run; /* NULL: none */
    uint64_t node;          /* hash of the UID of the run's node: another is made anew */
    uint64_t write;         /* number of the write under way; 0: none */
    int64_t begun_us;       /* of the run */
    size_t n_made;          /* how many of run->cut pods may wait for; 0: none does */
    int64_t expected_us;    /* its end */
    int64_t drained_us;     /* until then the node drains; 0: it does not */
    uint64_t drained_for;   /* hash of the UID of the pod for which it drains */
    /* with the keys and GPUs that the plan told last */
    struct sl_cut_drain drain;
    int64_t refused_us; /* until then it is left out: the store refused a cut of it */
    uint64_t round;     /* in which it was seen last */
    bool draining;      /* the plan of this round wants it */
    bool planned;       /* its cut is planned, and waits for more pods */
    char trouble[sizeof(((struct sl_error *)NULL)->message)]; /* of its last write; empty: none */
    char ended[SL_CUT_NAME_MAX]; /* name of the last run: the watch may show it for a while */
    char cut[SL_PARTITION_WORDS_MAX];
    char pods[SL_PARTITION_WORDS_MAX];
    char why[SL_PARTITION_WORDS_MAX];
    struct sl_map uids; /* keys: the UIDs of the pods for which it is cut, owned */
    char name[];
};

/* A write under way, or one that has ended and is not noted yet. */
struct sl_cut_call {
    struct sl_partitioner *partitioner;
    struct sl_cut_call *next;
    uint64_t number;
    enum sl_cut_write_end end;
    char text[sizeof(((struct sl_error *)NULL)->message)];
    char node[];
};

enum { SL_CUT_GPU_STATES = SL_PHASES };

struct sl_cut_counts {
    uint64_t ends[SL_CUT_OUTCOMES]; /* runs */
    uint64_t begun;
    uint64_t resumed;
    uint64_t refused; /* by the store */
    uint64_t plans;
    uint64_t plan_us;
    uint64_t gpus[SL_CUT_GPU_STATES]; /* now */
    uint64_t bars[SL_CUT_BARS];       /* nodes, as the metrics are read */
    uint64_t idle_slices; /* now: memory slices of free instances that no pod waits for */
};

struct sl_partitioner {
    struct sl_partitioner_options options;
    struct sl_config config;
    struct sl_cutter *cutter;
    struct sl_planner *planner; /* of this round */
    uint64_t leadership;        /* 0: does not lead */
    uint64_t last_write;
    uint64_t round;
    size_t under_way; /* runs begun here: nodes cannot make up others */
    struct sl_cut_batch batch;
    int64_t next_ask_us;      /* the next plan of cuts, earliest */
    struct sl_cut_seen *seen; /* pods that have started on nodes of nos' agents, by pod */
    size_t n_seen;
    struct sl_histogram seconds;
    int64_t
        seconds_us[SL_ACTUATOR_NOS_MPS + 1]; /* of cuts over all nodes, as learned; by actuator */

    pthread_mutex_t status; /* guards the places against readers, and counts */
    struct sl_map places;   /* by node name */
    struct sl_cut_counts counts;

    pthread_mutex_t mail;
    struct sl_cut_call *ended;
};

/* ---- places.c ---- */

struct sl_cut_place *sl_cut_place_find(const struct sl_partitioner *partitioner, const char *node);
/* Finds or makes it. NULL: out of memory. */
struct sl_cut_place *sl_cut_place_of(struct sl_partitioner *partitioner, const char *node);
/* Forgets places of which nothing is left to remember, and all of them. */
void sl_cut_places_sweep(struct sl_partitioner *partitioner, int64_t now_us);
void sl_cut_places_free(struct sl_partitioner *partitioner);
void sl_cut_place_forget_pods(struct sl_cut_place *place);
/* Frees the run, without a word. */
void sl_cut_drop(struct sl_partitioner *partitioner, struct sl_cut_place *place);

/* ---- follow.c ---- */

/* Notes writes that have ended, and takes the next step of each run. Returns when to look again. */
int64_t sl_cut_follow(struct sl_partitioner *partitioner, const struct sl_snapshot *snapshot,
                      int64_t now_us);
/* Begins a run of these cuts; the store withholds the node already. */
void sl_cut_begin(struct sl_partitioner *partitioner, struct sl_cut_place *place,
                  const struct sl_view *view, const struct sl_cut_plan *plan, int64_t now_us);

/* Lets the pods for which the node is cut, or was to be, wait as all others. */
void sl_cut_untell_pods(const struct sl_partitioner *partitioner, struct sl_cut_place *place);

/* ---- seen.c ---- */

/* Notes which pods on nodes of nos' agents have started, and forgets those that are gone. */
void sl_cut_see(struct sl_partitioner *partitioner, const struct sl_snapshot *snapshot,
                int64_t now_us);

/* ---- want.c ---- */

/* Plans cuts for the pods that wait, and begins those whose time has come. Returns when to ask
 * again.
 */
int64_t sl_cut_want(struct sl_partitioner *partitioner, const struct sl_snapshot *snapshot,
                    int64_t now_us);

struct sl_cut_limits sl_cut_limits_now(const struct sl_partitioner *partitioner, int64_t now_us);

/* ---- report.c ---- */

void sl_cut_count_gpus(struct sl_partitioner *partitioner, const struct sl_snapshot *snapshot,
                       int64_t now_us);

#endif
