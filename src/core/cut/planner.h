/* The planner's memory and its parts. A run reads the nodes, walks the pods in order (walk.c),
 * opens nodes for them (open.c), and decides their placements last (planner.c). */
#ifndef SLICED_CORE_CUT_PLANNER_H
#define SLICED_CORE_CUT_PLANNER_H

#include "core/cut/node/node.h"
#include "core/cut/tally.h"

enum {
    SL_CUT_MODELS_MAX = 16,
    SL_CUT_WORK = 2400000, /* of one run; a unit takes some 6 ns */
};

/* A node that may be cut. */
struct sl_cut_candidate {
    struct sl_cut_node node;
    struct sl_host_use started; /* by the pods that the plan starts there */
    size_t view;                /* index */
    int64_t ready_us;           /* when a cut begun now is done */
    size_t drains_for;          /* as in the site */
    bool opened;
    bool making; /* a cut is under way there: pods may wait for what it makes */
    bool held;   /* a pod that has room there is counted on it */
    bool out;
};

struct sl_cut_weights {
    const struct sl_mig_model *model;
    int64_t weight[SL_MIG_PROFILES_MAX];
    int64_t supply[SL_MIG_PROFILES_MAX]; /* free instances of each profile, on all nodes */
};

struct sl_cutter {
    const struct sl_cut_input *input; /* of the run */
    struct sl_cut_table table;
    struct sl_cut_candidate *candidate; /* by view */
    size_t n_candidates;
    size_t candidate_cap;
    struct sl_cut_device *device;
    size_t device_cap;
    struct sl_cut_weights weights[SL_CUT_MODELS_MAX];
    unsigned n_weights;
    struct sl_cut_tally
        failed; /* by ask and constraints: the latest start that no cut is ahead of */
    struct sl_cut_tally spent;  /* work, by namespace */
    struct sl_cut_tally looked; /* pods for which drains were looked for, by namespace */
    int64_t work;               /* left */
    size_t *opened;             /* candidates */
    size_t n_opened;
    size_t n_making;   /* nodes whose cut is under way, the first ones opened */
    size_t max_opened; /* with these */
    size_t opened_cap;
    int32_t *place; /* by pod: its candidate, -1: none */
    size_t place_cap;
    /* the output */
    struct sl_cut_plan *plan;
    size_t plan_cap;
    struct sl_cut *cut;
    size_t cut_cap;
    size_t *pod;
    size_t pod_cap;
    struct sl_cut_drain drain[2];
};

/* ---- candidates.c ---- */

/* Reads all nodes that may be cut. -1: out of memory. */
int sl_cut_read_candidates(struct sl_cutter *cutter);
/* Forgets what pods of the plan need; nodes that are out stay out. */
void sl_cut_reset_candidates(struct sl_cutter *cutter);
/* Opens the nodes whose cut is under way. */
void sl_cut_open_making(struct sl_cutter *cutter);

/* Sets *out to what the pod asks for; false where that is nothing, or cannot be understood. */
bool sl_cut_ask(const struct sl_pod *pod, struct sl_ask *out);
/* Identifies the pod's namespace in tallies. */
uint64_t sl_cut_space(const struct sl_pod *pod);
/* Returns the work that was spent on pods of the pod's namespace; NULL where that is more than what
 * is left: each namespace may use half of what the others leave. */
int64_t *sl_cut_spent(struct sl_cutter *cutter, const struct sl_pod *pod);

/* Returns what a check of the pod's constraints on one node costs beside the look at the node. */
int64_t sl_cut_match_work(const struct sl_pod *pod);

/* Returns when the pod starts without a cut, INT64_MAX: unknown, or never. */
int64_t sl_cut_latest(const struct sl_cut_pod *pod);
/* Would a cut of the node let the pod start earlier than without? */
bool sl_cut_is_ahead(const struct sl_cut_candidate *candidate, const struct sl_cut_pod *pod);
/* Takes the pod's ask of the node, if the node admits the pod too. */
bool sl_cut_take(struct sl_cutter *cutter, struct sl_cut_candidate *candidate,
                 const struct sl_pod *pod, const struct sl_ask *ask, bool thorough);

/* ---- walk.c ---- */

/* Gives the pods, in order, what nodes can have. */
void sl_cut_walk(struct sl_cutter *cutter);

/* ---- open.c ---- */

/* Finds the best further node for the pod (an index), -1: none. */
int64_t sl_cut_best_node(struct sl_cutter *cutter, size_t pod, const struct sl_ask *ask);

/* ---- drain.c ---- */

/* Writes the drains for pods that no cut serves now. Returns how many. */
size_t sl_cut_find_drains(struct sl_cutter *cutter);

#endif
