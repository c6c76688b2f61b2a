/* The agents that cut a fleet's GPUs: they take a node's GPUs away for as long as a cut takes, and
 * give it back with the new instances. The engine decides on the cuts, as in the daemon. */
#ifndef SLICED_SIM_PLAY_CUTS_H
#define SLICED_SIM_PLAY_CUTS_H

#include "sim/input/fleet.h"
#include "sliced/engine.h"

/* How GPUs are cut. */
struct sl_sim_cutting {
    enum sl_actuator actuator; /* of all nodes that can be cut: nos' agents report what is in use */
    int64_t seconds_us;        /* for which a cut takes the node's GPUs away, in all */
    /* over the configuration */
    int64_t window_us; /* -1: as configured, as in the next two */
    int64_t max_nodes;
    int drain;
    /* Plans cuts in place of sliced, for comparisons, a window after the first change. Or NULL. */
    int (*rule)(void *state, const struct sl_cut_input *input, struct sl_cut_output *output,
                struct sl_error *err);
    void *state;
};

/* The agent of a node. */
struct sl_sim_agent {
    int64_t end_us; /* INT64_MAX: it has nothing to do */
    size_t n;
    struct sl_cut cut[SL_NODE_DEVICES_MAX];
    char order[SL_CUT_NAME_MAX]; /* that it had last */
};

struct sl_sim_cuts {
    const struct sl_sim_cutting *how; /* NULL: nothing is ever cut */
    const struct sl_fleet *fleet;
    struct sl_node **node;      /* by fleet->node: as it is now; references */
    struct sl_sim_agent *agent; /* by fleet->node */
    size_t n_working;
    struct sl_engine *engine; /* hears that writes have ended */
    int64_t now_us;
    int64_t rule_us; /* when the rule is asked; INT64_MAX: when something has changed */
    uint64_t begun;  /* cut plans */
    /* Hears that a node has changed. */
    void (*touch)(void *context, size_t node);
    void *context;
    struct sl_error *err;
    bool failed; /* in a command */
};

/* The configuration with how's settings. */
void sl_sim_cutting_apply(const struct sl_sim_cutting *how, struct sl_engine_cutting *out);

/* The caller fills in who hears. -1: *err. Free with sl_sim_cuts_free, after a failure too. */
int sl_sim_cuts_init(struct sl_sim_cuts *cuts, const struct sl_sim_cutting *how,
                     const struct sl_fleet *fleet, struct sl_error *err);
void sl_sim_cuts_free(struct sl_sim_cuts *cuts);

/* When an agent ends next, or the rule is asked; INT64_MAX: never. */
int64_t sl_sim_cuts_next(const struct sl_sim_cuts *cuts);

/* Nodes whose agents have ended have the new instances. True: there were some; -1: *err. */
int sl_sim_cuts_end(struct sl_sim_cuts *cuts, int64_t now_us);

/* Tells that a pod came or ended, or a cut. */
void sl_sim_cuts_changed(struct sl_sim_cuts *cuts, int64_t now_us);
/* May cuts be planned now? The rule for comparison waits for a window. */
bool sl_sim_cuts_due(struct sl_sim_cuts *cuts, int64_t now_us);

/* Carries out a command of the engine; context is the struct sl_sim_cuts. */
bool sl_sim_cuts_act(void *context, const struct sl_engine_command *command);

/* The agent reports which instances are in use, by the view of the node. True when the node is
 * another one now, of which a view is to be made anew; -1: *err. */
int sl_sim_cuts_report(struct sl_sim_cuts *cuts, size_t node, const struct sl_view *view);

#endif
