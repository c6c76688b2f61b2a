/* The agents that cut a fleet's GPUs. Each answers as the real one does: an order is taken up at
 * once, the node shows it, and shows the end. */
#include "sim/play/cuts.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/input/become.h"
#include "sim/input/workload.h"

/* ---- life ---- */

int sl_sim_cuts_init(struct sl_sim_cuts *cuts, const struct sl_sim_cutting *how,
                     const struct sl_fleet *fleet, struct sl_error *err)
{
    cuts->how = how;
    cuts->rule_us = INT64_MAX;
    cuts->fleet = fleet;
    cuts->err = err;
    cuts->node = calloc(fleet->n, sizeof(struct sl_node *));
    cuts->agent = how == NULL ? NULL : calloc(fleet->n, sizeof(*cuts->agent));
    if (cuts->node == NULL || (how != NULL && cuts->agent == NULL)) {
        return sl_error_nomem(err);
    }
    for (size_t i = 0; i < fleet->n; i++) {
        cuts->node[i] = sl_node_ref(fleet->node[i]);
    }
    for (size_t i = 0; how != NULL && i < fleet->n; i++) {
        cuts->agent[i].end_us = INT64_MAX;
    }
    return 0;
}

void sl_sim_cuts_free(struct sl_sim_cuts *cuts)
{
    for (size_t i = 0; cuts->node != NULL && i < cuts->fleet->n; i++) {
        sl_node_unref(cuts->node[i]);
    }
    free(cuts->node);
    free(cuts->agent);
}

int64_t sl_sim_cuts_next(const struct sl_sim_cuts *cuts)
{
    int64_t at_us = cuts->rule_us;
    for (size_t i = 0; cuts->n_working > 0 && i < cuts->fleet->n; i++) {
        at_us = cuts->agent[i].end_us < at_us ? cuts->agent[i].end_us : at_us;
    }
    return at_us;
}

void sl_sim_cutting_apply(const struct sl_sim_cutting *how, struct sl_engine_cutting *out)
{
    out->enabled = how != NULL;
    if (how != NULL) {
        out->batch_us = how->window_us < 0 ? out->batch_us : how->window_us;
        out->max_nodes = how->max_nodes < 0 ? out->max_nodes : (size_t)how->max_nodes;
        out->drain = how->drain < 0 ? out->drain : how->drain > 0;
        out->mig_file_us = 0;                                    /* seconds_us counts all */
        out->report_us = how->rule == NULL ? out->report_us : 0; /* it knows no such bound */
        out->plan = how->rule;
        out->state = how->state;
    }
}

void sl_sim_cuts_changed(struct sl_sim_cuts *cuts, int64_t now_us)
{
    if (cuts->how != NULL && cuts->how->rule != NULL && cuts->rule_us == INT64_MAX) {
        cuts->rule_us = now_us + cuts->how->window_us;
    }
}

bool sl_sim_cuts_due(struct sl_sim_cuts *cuts, int64_t now_us)
{
    if (cuts->how == NULL || (cuts->how->rule != NULL && now_us < cuts->rule_us)) {
        return false;
    }
    cuts->rule_us = INT64_MAX;
    return true;
}

/* ---- nodes ---- */

static int node_become(struct sl_sim_cuts *cuts, size_t node, const struct sl_become *become)
{
    struct sl_node *fresh = sl_node_become(cuts->node[node], become, cuts->err);
    if (fresh == NULL) {
        return -1;
    }
    sl_node_unref(cuts->node[node]);
    cuts->node[node] = fresh;
    cuts->touch(cuts->context, node);
    return 0;
}

int sl_sim_cuts_report(struct sl_sim_cuts *cuts, size_t node, const struct sl_view *view)
{
    const struct sl_node *is = cuts->node[node];
    bool told = cuts->how == NULL || cuts->how->actuator != SL_ACTUATOR_NOS_MIG ||
                is->partition.cut != NULL;
    bool same = true;
    for (unsigned i = 0; !told && same && i < is->n_instances; i++) {
        same = is->instance[i].in_use == (view->instance_used[i] > 0);
    }
    if (told || same) {
        return 0;
    }
    struct sl_node *fresh = sl_node_become(is, &(struct sl_become){.order = NULL}, cuts->err);
    if (fresh == NULL) {
        return -1;
    }
    for (unsigned i = 0; i < fresh->n_instances; i++) {
        /* no other part has seen the node yet */
        fresh->instance[i].in_use = view->instance_used[i] > 0;
    }
    sl_node_unref(cuts->node[node]);
    cuts->node[node] = fresh;
    return 1;
}

int sl_sim_cuts_end(struct sl_sim_cuts *cuts, int64_t now_us)
{
    int ended = 0;
    for (size_t i = 0; cuts->n_working > 0 && i < cuts->fleet->n; i++) {
        struct sl_sim_agent *agent = &cuts->agent[i];
        if (agent->end_us > now_us) {
            continue;
        }
        const struct sl_become become = {.cut = agent->cut,
                                         .n = agent->n,
                                         .order = agent->order,
                                         .done = true,
                                         .under_way = agent->order};
        if (node_become(cuts, i, &become) < 0) {
            return -1;
        }
        agent->end_us = INT64_MAX;
        cuts->n_working--;
        sl_sim_cuts_changed(cuts, now_us);
        ended = 1;
    }
    return ended;
}

/* ---- commands ---- */

/* Withholds the node, as the daemon's store does. */
static bool cut_begin(struct sl_sim_cuts *cuts, size_t node,
                      const struct sl_engine_command *command)
{
    return sl_cut_allowed(command->view, command->cut, command->n_cuts, command->limits,
                          command->why, SL_PLAN_TEXT_MAX) &&
           node_become(cuts, node, &(struct sl_become){.under_way = command->run->name}) == 0;
}

/* The agent takes the order up at once. */
static int order_take(struct sl_sim_cuts *cuts, size_t node, const struct sl_cut_run *run)
{
    struct sl_sim_agent *agent = &cuts->agent[node];
    memcpy(agent->cut, run->cut, run->n_cuts * sizeof(run->cut[0]));
    memcpy(agent->order, run->name, sizeof(agent->order));
    agent->n = run->n_cuts;
    agent->end_us = cuts->now_us + cuts->how->seconds_us;
    cuts->n_working++;
    return node_become(cuts, node,
                       &(struct sl_become){.order = agent->order, .under_way = agent->order});
}

static int step_write(struct sl_sim_cuts *cuts, size_t node,
                      const struct sl_engine_command *command)
{
    const struct sl_cut_run *run = command->run;
    int result = 0;
    if (command->step == SL_CUT_FINISH) {
        const char *order = cuts->agent[node].order;
        result = node_become(cuts, node, &(struct sl_become){.order = order, .done = true});
    } else if (!run->announces) {
        result = order_take(cuts, node, run);
    }
    sl_engine_wrote(cuts->engine, command->node, command->write, SL_CUT_WRITTEN, NULL,
                    SL_SIM_EPOCH_US + cuts->now_us);
    return result;
}

bool sl_sim_cuts_act(void *context, const struct sl_engine_command *command)
{
    struct sl_sim_cuts *cuts = context;
    int node = sl_fleet_find(cuts->fleet, command->node);
    bool done = node >= 0;
    if (done && command->kind == SL_DO_CUT_BEGIN) {
        done = cut_begin(cuts, (size_t)node, command);
        cuts->begun += done;
    } else if (done && command->kind == SL_DO_CUT_WRITE) {
        done = step_write(cuts, (size_t)node, command) == 0;
        cuts->failed = cuts->failed || !done;
    }
    return done;
}
