/* Cuts during a simulation. */
#include "sim/play/cuts.h"

#include <stdlib.h>

#include "sim/input/recut.h"
#include "util/data/vec.h"

enum { PODS_MAX = 10000 };

static void pods_forget(struct sl_sim_cut *cut)
{
    for (size_t i = 0; i < cut->n_pods; i++) {
        sl_pod_unref(cut->pod[i]);
    }
    cut->n_pods = 0;
}

/* ---- life ---- */

int sl_sim_cuts_init(struct sl_sim_cuts *cuts, const struct sl_sim_cutting *how,
                     const struct sl_fleet *fleet, struct sl_error *err)
{
    *cuts = (struct sl_sim_cuts){.how = how, .fleet = fleet, .due_us = INT64_MAX};
    cuts->node = calloc(fleet->n, sizeof(struct sl_node *));
    if (cuts->node == NULL) {
        return sl_error_nomem(err);
    }
    for (size_t i = 0; i < fleet->n; i++) {
        cuts->node[i] = sl_node_ref(fleet->node[i]);
    }
    if (how == NULL) {
        return 0;
    }
    cuts->under_way = calloc(fleet->n, sizeof(*cuts->under_way));
    cuts->site = calloc(fleet->n, sizeof(*cuts->site));
    cuts->drain = calloc(fleet->n, sizeof(*cuts->drain));
    cuts->cutter = sl_cutter_new(err);
    bool made = cuts->under_way != NULL && cuts->site != NULL && cuts->drain != NULL &&
                cuts->cutter != NULL;
    return made ? 0 : sl_error_nomem(err);
}

void sl_sim_cuts_free(struct sl_sim_cuts *cuts)
{
    for (size_t i = 0; cuts->node != NULL && i < cuts->fleet->n; i++) {
        sl_node_unref(cuts->node[i]);
        if (cuts->under_way != NULL) {
            pods_forget(&cuts->under_way[i]);
            free(cuts->under_way[i].pod);
        }
    }
    free(cuts->node);
    free(cuts->under_way);
    free(cuts->site);
    free(cuts->drain);
    free(cuts->pod);
    sl_cutter_free(cuts->cutter);
}

int64_t sl_sim_cuts_next(const struct sl_sim_cuts *cuts)
{
    int64_t at_us = cuts->due_us;
    for (size_t i = 0; cuts->n_under_way > 0 && i < cuts->fleet->n; i++) {
        if (cuts->under_way[i].n > 0 && cuts->under_way[i].end_us < at_us) {
            at_us = cuts->under_way[i].end_us;
        }
    }
    return at_us;
}

void sl_sim_cuts_changed(struct sl_sim_cuts *cuts, int64_t now_us)
{
    if (cuts->how == NULL) {
        return;
    }
    if (cuts->how->rule == NULL) {
        cuts->due_us = now_us; /* though a batch waits: it may grow */
    } else if (cuts->due_us == INT64_MAX) {
        cuts->due_us = now_us + cuts->how->window_us;
    }
}

/* ---- nodes ---- */

static int node_become(struct sl_sim_cuts *cuts, size_t node, const struct sl_cut *cut, size_t n,
                       const char *under_way, struct sl_error *err)
{
    struct sl_node *fresh = sl_node_recut(cuts->node[node], cut, n, under_way, err);
    if (fresh == NULL) {
        return -1;
    }
    sl_node_unref(cuts->node[node]);
    cuts->node[node] = fresh;
    return 0;
}

int sl_sim_cuts_report(struct sl_sim_cuts *cuts, size_t node, const struct sl_view *view,
                       struct sl_error *err)
{
    const struct sl_node *is = cuts->node[node];
    bool same = cuts->how == NULL || cuts->how->actuator != SL_ACTUATOR_NOS_MIG ||
                cuts->under_way[node].n > 0;
    bool told = same;
    for (unsigned i = 0; !told && i < is->n_instances; i++) {
        same = is->instance[i].in_use == (view->instance_used[i] > 0);
        told = !same;
    }
    if (!told || same) {
        return 0;
    }
    if (node_become(cuts, node, NULL, 0, NULL, err) < 0) {
        return -1;
    }
    for (unsigned i = 0; i < cuts->node[node]->n_instances; i++) {
        /* no other part has seen the node yet */
        cuts->node[node]->instance[i].in_use = view->instance_used[i] > 0;
    }
    return 1;
}

int sl_sim_cuts_end(struct sl_sim_cuts *cuts, struct sl_planner *planner, int64_t now_us,
                    const struct sl_sim_ear *ear, struct sl_error *err)
{
    for (size_t i = 0; cuts->n_under_way > 0 && i < cuts->fleet->n; i++) {
        struct sl_sim_cut *cut = &cuts->under_way[i];
        if (cut->n == 0 || cut->end_us > now_us) {
            continue;
        }
        if (node_become(cuts, i, cut->cut, cut->n, NULL, err) < 0) {
            return -1;
        }
        for (size_t k = 0; k < cut->n_pods; k++) {
            sl_planner_set_cut(planner, sl_str_of(cut->pod[k]->uid), "", NULL, 0);
        }
        pods_forget(cut);
        cut->n = 0;
        cuts->n_under_way--;
        ear->touch(ear->context, i);
        sl_sim_cuts_changed(cuts, now_us);
    }
    return 0;
}

/* ---- planning ---- */

/* Returns the node whose cut under way is for the pod, its index + 1; 0: none. */
static size_t cut_for(const struct sl_sim_cuts *cuts, const struct sl_queue_row *row)
{
    bool cut = row->cut_node != NULL && cuts->how->rule == NULL;
    for (size_t i = 0; cut && i < cuts->fleet->n; i++) {
        if (cuts->under_way[i].n > 0 && strcmp(cuts->node[i]->name, row->cut_node) == 0) {
            return i + 1;
        }
    }
    return 0;
}

static void pod_collect(void *context, const struct sl_queue_row *row)
{
    struct sl_sim_cuts *cuts = context;
    struct sl_cut_pod pod;
    bool wants = sl_queue_wants_cut(row, cuts->now_us, &pod);
    pod.made = cut_for(cuts, row);
    pod.has_room = pod.has_room || pod.made > 0;
    if (cuts->short_of_memory || (!wants && pod.made == 0)) {
        return;
    }
    if (sl_vec_reserve(&cuts->pod, &cuts->cap_pods, cuts->n_pods + 1, sizeof(*cuts->pod)) < 0) {
        cuts->short_of_memory = true;
        return;
    }
    cuts->pod[cuts->n_pods++] = pod;
}

static int pods_collect(struct sl_sim_cuts *cuts, struct sl_planner *planner, int64_t now_us,
                        struct sl_error *err)
{
    cuts->n_pods = 0;
    cuts->short_of_memory = false;
    cuts->now_us = SL_SIM_EPOCH_US + now_us;
    if (sl_planner_estimate(planner, SL_SIM_EPOCH_US + now_us, err) < 0) {
        return -1;
    }
    (void)sl_planner_visit(planner, SL_SIM_EPOCH_US + now_us, PODS_MAX, pod_collect, cuts);
    return cuts->short_of_memory ? sl_error_nomem(err) : 0;
}

/* Tells the planner for which pods the node is cut, so that no other node is cut for them. */
static int pods_note(struct sl_sim_cuts *cuts, struct sl_planner *planner,
                     const struct sl_cut_plan *plan, struct sl_error *err)
{
    struct sl_sim_cut *cut = &cuts->under_way[plan->view];
    const char *node = cuts->node[plan->view]->name;
    if (sl_vec_reserve(&cut->pod, &cut->cap_pods, cut->n_pods + plan->n_pods,
                       sizeof(struct sl_pod *)) < 0) {
        return sl_error_nomem(err);
    }
    for (size_t i = 0; i < plan->n_pods; i++) {
        /* the planner of the queue holds the pod too; only its count of references changes */
        struct sl_pod *pod = (struct sl_pod *)cuts->pod[plan->pod[i]].pod;
        cut->pod[cut->n_pods++] = sl_pod_ref(pod);
        sl_planner_set_cut(planner, sl_str_of(pod->uid), node, "cut", plan->start_us);
    }
    return 0;
}

static int cut_begin(struct sl_sim_cuts *cuts, struct sl_planner *planner,
                     const struct sl_view *view, const struct sl_cut_plan *plan, int64_t now_us,
                     struct sl_error *err)
{
    struct sl_sim_cut *cut = &cuts->under_way[plan->view];
    char why[256];
    if (plan->n_cuts == 0) { /* the one under way serves them, too */
        return pods_note(cuts, planner, plan, err);
    }
    if (!sl_cut_allowed(view, plan->cut, plan->n_cuts, (struct sl_cut_limits){0}, why,
                        sizeof(why))) {
        return sl_error_set(err, SL_ERR_INTERNAL, "node %s may not be cut so: %s", view->node->name,
                            why);
    }
    if (node_become(cuts, plan->view, NULL, 0, "sliced-cut", err) < 0 ||
        pods_note(cuts, planner, plan, err) < 0) {
        return -1;
    }
    memcpy(cut->cut, plan->cut, plan->n_cuts * sizeof(cut->cut[0]));
    cut->n = plan->n_cuts;
    cut->end_us = now_us + cuts->how->seconds_us;
    cuts->n_under_way++;
    cuts->begun++;
    return 0;
}

static void site_read(struct sl_sim_cuts *cuts, size_t i)
{
    struct sl_cut_site *site = &cuts->site[i];
    const struct sl_sim_drain *drain = &cuts->drain[i];
    *site = (struct sl_cut_site){
        .making = cuts->under_way[i].cut,
        .n_making = cuts->how->rule == NULL ? cuts->under_way[i].n : 0,
        .made_us = SL_SIM_EPOCH_US + cuts->under_way[i].end_us,
        .out = cuts->under_way[i].n > 0 || !sl_node_can_recut(cuts->node[i]),
        .seconds_us = cuts->how->seconds_us,
        .drains_until_us = drain->until_us,
    };
    for (size_t k = 0; drain->until_us > 0 && k < cuts->n_pods; k++) {
        site->drains_for = cuts->pod[k].pod == drain->pod ? k + 1 : site->drains_for;
    }
}

/* The planner decides on its cuts; the daemon's, or the rule given for comparison. */
static int cuts_decide(struct sl_sim_cuts *cuts, const struct sl_view *const *view,
                       const struct sl_demand *demand, int64_t now_us, struct sl_cut_output *output,
                       struct sl_error *err)
{
    for (size_t i = 0; i < cuts->fleet->n; i++) {
        site_read(cuts, i);
    }
    const struct sl_cut_input input = {
        .view = view,
        .site = cuts->site,
        .n_views = cuts->fleet->n,
        .pod = cuts->pod,
        .n_pods = cuts->n_pods,
        .demand = demand,
        .max_plans = cuts->how->max_nodes - cuts->n_under_way,
        .drain = cuts->how->drain,
        .now_us = SL_SIM_EPOCH_US + now_us,
    };
    return cuts->how->rule != NULL ? cuts->how->rule(cuts->how->state, &input, output, err)
                                   : sl_cutter_plan(cuts->cutter, &input, output, err);
}

/* Begins the drains of the plan, and ends those that it does not want any more. */
static void drains_set(struct sl_sim_cuts *cuts, struct sl_planner *planner,
                       const struct sl_view *const *view, const struct sl_cut_output *output)
{
    for (size_t i = 0; i < cuts->fleet->n; i++) {
        const struct sl_cut_drain *drain = NULL;
        for (size_t k = 0; k < output->n_drains; k++) {
            drain = output->drain[k].view == i ? &output->drain[k] : drain;
        }
        if (drain != NULL || cuts->drain[i].until_us > 0) {
            sl_planner_drain(planner, sl_str_of(view[i]->node->name),
                             drain == NULL ? SL_STR("") : sl_str_of(cuts->pod[drain->pod].pod->uid),
                             drain == NULL ? 0 : drain->until_us, drain == NULL ? NULL : drain->key,
                             drain == NULL ? 0 : drain->n_keys);
        }
        cuts->drain[i] = (struct sl_sim_drain){0};
        if (drain != NULL) {
            cuts->drain[i] = (struct sl_sim_drain){cuts->pod[drain->pod].pod, drain->until_us};
        }
    }
}

static bool is_due(struct sl_sim_cuts *cuts, const struct sl_cut_output *output, int64_t now_us)
{
    int64_t due_us = INT64_MAX;
    bool due =
        cuts->how->rule != NULL || sl_cut_batch_is_due(&cuts->batch, output, cuts->how->window_us,
                                                       SL_SIM_EPOCH_US + now_us, &due_us);
    cuts->due_us = due || due_us == INT64_MAX ? INT64_MAX : due_us - SL_SIM_EPOCH_US;
    return due;
}

int sl_sim_cuts_plan(struct sl_sim_cuts *cuts, struct sl_planner *planner,
                     const struct sl_view *const *view, const struct sl_demand *demand,
                     int64_t now_us, const struct sl_sim_ear *ear, struct sl_error *err)
{
    struct sl_cut_output output = {.n_plans = 0};
    if (cuts->how == NULL || cuts->due_us > now_us) {
        return 0;
    }
    cuts->due_us = INT64_MAX;
    if (pods_collect(cuts, planner, now_us, err) < 0 ||
        cuts_decide(cuts, view, demand, now_us, &output, err) < 0) {
        return -1;
    }
    bool due = is_due(cuts, &output, now_us);
    for (size_t i = 0; i < output.n_plans; i++) {
        const struct sl_cut_plan *plan = &output.plan[i];
        if (plan->n_cuts > 0 && !due) {
            continue;
        }
        if (cut_begin(cuts, planner, view[plan->view], plan, now_us, err) < 0) {
            return -1;
        }
        ear->touch(ear->context, plan->view);
    }
    drains_set(cuts, planner, view, &output);
    return 0;
}
