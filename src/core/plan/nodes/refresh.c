/* Rebuilds views of changed nodes and drops nominations that no longer hold. */
#include "core/plan/nodes/nodes.h"

/* Does every part of the nomination still have its place? Books it when it does. */
static bool nomination_holds(struct sl_scratch *scratch, const struct sl_pod *nomination)
{
    const struct sl_node *node = scratch->view->node;
    struct sl_assignment assignment;
    if (!sl_assignment_read(node, nomination->items, nomination->n_items,
                            sl_str_of(nomination->assignment), &assignment)) {
        return false;
    }
    for (unsigned i = 0; i < assignment.n; i++) {
        const struct sl_assignment_part *part = &assignment.part[i];
        int pool = sl_view_pool(scratch->view, nomination->items[part->item].key);
        const struct sl_ask_item *item = &nomination->items[part->item];
        if (pool < 0 || !sl_scratch_can_give(scratch, (unsigned)pool, item, part)) {
            return false;
        }
        sl_scratch_take(scratch, (unsigned)pool, item, part, 1);
    }
    return true;
}

/* The node may have been cordoned, tainted or labelled since, so that kube-scheduler would refuse
 * it. */
static bool is_admitted(struct sl_plan_run *run, const struct sl_plan_pod *pod,
                        const struct sl_plan_node *node)
{
    return pod->class != NULL && sl_plan_admits(run, pod->class, node->node);
}

/* Drops nominations whose devices were taken or whose node no longer admits the pod. */
static void check_nominations(struct sl_plan_run *run, struct sl_plan_node *node)
{
    struct sl_scratch scratch;
    sl_scratch_init(&scratch, node->base);
    struct sl_plan_pod *next = NULL;
    for (struct sl_plan_pod *pod = node->nominations; pod != NULL; pod = next) {
        struct sl_plan_nomination *nomination = pod->nomination;
        next = nomination->next;
        nomination->shown = sl_plan_shows(node->base, nomination->pod);
        if (nomination->broken || !is_admitted(run, pod, node) ||
            (!nomination->shown && !nomination_holds(&scratch, nomination->pod))) {
            sl_plan_expire(run, pod, SL_HOLD_NO_ROOM);
        }
    }
}

static bool hides_a_nomination(const struct sl_plan_node *node)
{
    bool hidden = false;
    for (const struct sl_plan_pod *pod = node->nominations; pod != NULL;
         pod = pod->nomination->next) {
        hidden = hidden || !pod->nomination->shown;
    }
    return hidden;
}

static bool freshen_node(struct sl_plan_run *run, struct sl_plan_node *node)
{
    struct sl_planner *planner = run->planner;
    check_nominations(run, node);
    struct sl_view *own = NULL;
    if (hides_a_nomination(node)) {
        own = sl_plan_node_with(planner, node, NULL);
        if (own == NULL) {
            return false;
        }
    }
    if (!node->shrunk || node->seq == 0) {
        sl_plan_node_grown(planner, node);
    }
    sl_plan_node_take(planner, node, own);
    return true;
}

void sl_plan_expire_gone(struct sl_plan_run *run)
{
    struct sl_plan_fleet *fleet = &run->planner->fleet;
    while (fleet->gone != NULL) {
        struct sl_plan_node *node = fleet->gone;
        while (node->nominations != NULL) {
            sl_plan_expire(run, node->nominations, SL_HOLD_NO_ROOM);
        }
        fleet->gone = node->stale_next;
        sl_plan_node_free(node);
    }
}

bool sl_plan_refresh(struct sl_plan_run *run)
{
    struct sl_planner *planner = run->planner;
    if (!planner->ready) {
        return true;
    }
    while (planner->fleet.stale != NULL) {
        struct sl_plan_node *node = planner->fleet.stale;
        if (!freshen_node(run, node)) {
            return false;
        }
        planner->fleet.stale = node->stale_next;
        node->stale = false;
    }
    bool built = sl_plan_relane(planner);
    bool counted = false; /* units of a resource, for headroom */
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        counted = counted || (lane->leaves == 0 && planner->config.n_headrooms > 0);
        built = built && (lane->leaves > 0 || sl_plan_room_build(planner, lane));
    }
    if (built) {
        sl_plan_judge_all(planner, counted);
        if (planner->order != NULL) {
            planner->order->capacity(planner);
        }
    }
    return built;
}
