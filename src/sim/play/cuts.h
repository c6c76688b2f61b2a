/* Cuts during a simulation: asks the daemon's planner of cuts which GPUs to cut for the pods that
 * wait, takes the node's GPUs away for as long as a cut takes, and gives it back with the new
 * instances. */
#ifndef SLICED_SIM_PLAY_CUTS_H
#define SLICED_SIM_PLAY_CUTS_H

#include "sim/input/fleet.h"
#include "sim/input/workload.h"
#include "sliced/cut.h"
#include "sliced/plan.h"

/* How GPUs are cut. */
struct sl_sim_cutting {
    enum sl_actuator actuator; /* of all nodes that can be cut: nos' agents report what is in use */
    int64_t seconds_us;        /* for which a cut takes the node's GPUs away */
    int64_t window_us;         /* planned cuts wait so long at most: see sl_cut_batch_is_due() */
    size_t max_nodes;          /* that are cut at once */
    bool drain;
    /* Plans cuts instead of sl_cutter_plan, for comparisons; or NULL. */
    int (*rule)(void *state, const struct sl_cut_input *input, struct sl_cut_output *output,
                struct sl_error *err);
    void *state;
};

struct sl_sim_cuts {
    const struct sl_sim_cutting *how; /* NULL: nothing is ever cut */
    const struct sl_fleet *fleet;
    struct sl_node **node; /* by fleet->node: as it is now; references */
    struct sl_sim_cut *under_way;
    struct sl_cut_site *site;
    struct sl_sim_drain *drain; /* by node */
    struct sl_cutter *cutter;
    struct sl_cut_pod *pod;
    size_t n_pods;
    size_t cap_pods;
    int64_t now_us; /* while pods are collected, as the planner counts */
    bool short_of_memory;
    size_t n_under_way;
    struct sl_cut_batch batch;
    int64_t due_us; /* when cuts are planned; INT64_MAX: when something has changed */
    uint64_t begun; /* cut plans */
};

/* A drain of a node, by the last plan; until_us is 0 where there is none. */
struct sl_sim_drain {
    const struct sl_pod *pod; /* for which it is; compared only */
    int64_t until_us;
};

/* A cut under way on a node; n is 0 where there is none. */
struct sl_sim_cut {
    int64_t end_us;
    size_t n;
    struct sl_cut cut[SL_NODE_DEVICES_MAX];
    struct sl_pod **pod; /* for which it is; references */
    size_t n_pods;
    size_t cap_pods;
};

/* Hears that a node has changed. */
struct sl_sim_ear {
    void (*touch)(void *context, size_t node);
    void *context;
};

/* -1: *err. Free with sl_sim_cuts_free, after a failure too. */
int sl_sim_cuts_init(struct sl_sim_cuts *cuts, const struct sl_sim_cutting *how,
                     const struct sl_fleet *fleet, struct sl_error *err);
void sl_sim_cuts_free(struct sl_sim_cuts *cuts);

/* When something is to be done though nothing else happens; INT64_MAX: never. */
int64_t sl_sim_cuts_next(const struct sl_sim_cuts *cuts);

/* Tells that a pod came or ended, or a cut: cuts are planned anew at now_us, as the daemon does,
 * though a batch waits; by `rule` a window after the first change. */
void sl_sim_cuts_changed(struct sl_sim_cuts *cuts, int64_t now_us);

/* Gives back the nodes whose cuts have ended. */
int sl_sim_cuts_end(struct sl_sim_cuts *cuts, struct sl_planner *planner, int64_t now_us,
                    const struct sl_sim_ear *ear, struct sl_error *err);

/* Plans and begins cuts, when that is due, for what the planner holds. */
int sl_sim_cuts_plan(struct sl_sim_cuts *cuts, struct sl_planner *planner,
                     const struct sl_view *const *view, const struct sl_demand *demand,
                     int64_t now_us, const struct sl_sim_ear *ear, struct sl_error *err);

/* The agent reports which instances are in use, by the view of the node. True when the node is
 * another one now, of which a view is to be made anew; -1: *err. */
int sl_sim_cuts_report(struct sl_sim_cuts *cuts, size_t node, const struct sl_view *view,
                       struct sl_error *err);

#endif
