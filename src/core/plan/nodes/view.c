/* Views of nodes with the nominations that the cluster does not show yet. */
#include "core/plan/nodes/nodes.h"

#include "sliced/admit.h"

bool sl_plan_shows(const struct sl_view *view, const struct sl_pod *pod)
{
    for (unsigned i = 0; i < view->n_residents; i++) {
        const struct sl_resident *resident = &view->resident[i];
        if (resident->pod->created_us == pod->created_us &&
            strcmp(resident->pod->uid, pod->uid) == 0) {
            return true;
        }
    }
    return false;
}

struct sl_view *sl_plan_node_with(struct sl_planner *planner, const struct sl_plan_node *node,
                                  struct sl_pod *more)
{
    const struct sl_view *base = node->base;
    size_t n = base->n_residents;
    if (sl_vec_reserve(&planner->scratch.pod_list, &planner->scratch.pod_cap, n + 1,
                       sizeof(struct sl_pod *)) < 0) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        planner->scratch.pod_list[i] = base->resident[i].pod;
    }
    struct sl_host_use use = sl_host_use_of(base);
    for (const struct sl_plan_pod *pod = node->nominations; pod != NULL || more != NULL;
         pod = pod == NULL ? NULL : pod->nomination->next) {
        struct sl_pod *nomination = pod == NULL ? more : pod->nomination->pod;
        more = pod == NULL ? NULL : more;
        if (pod != NULL && pod->nomination->shown) {
            continue;
        }
        if (sl_vec_reserve(&planner->scratch.pod_list, &planner->scratch.pod_cap, n + 1,
                           sizeof(struct sl_pod *)) < 0) {
            return NULL;
        }
        planner->scratch.pod_list[n] = nomination;
        n++;
        sl_host_use_add(&use, nomination);
    }
    const struct sl_host_use others = {.withheld = base->withheld,
                                       .measured = base->measured,
                                       .n_measured =
                                           base->measured == NULL ? 0 : base->node->n_devices};
    struct sl_view *view = sl_view_new_beside(node->node, planner->scratch.pod_list, n, &others);
    if (view != NULL) {
        view->cpu_milli = use.cpu_milli;
        view->memory_bytes = use.memory_bytes;
        view->n_pods = use.n_pods;
    }
    return view;
}

static int32_t least_priority(const struct sl_view *view)
{
    int32_t least = INT32_MAX;
    for (unsigned i = 0; i < view->n_residents; i++) {
        int32_t priority = view->resident[i].pod->priority;
        least = priority < least ? priority : least;
    }
    return least;
}

void sl_plan_node_take(struct sl_planner *planner, struct sl_plan_node *node, struct sl_view *own)
{
    sl_view_free(node->own);
    node->own = own;
    node->view = own != NULL ? own : node->base;
    node->n_ends = 0;
    node->least_priority = least_priority(node->view);
    sl_plan_touch(planner, SL_PLAN_NODES);
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        if (lane->leaves > 0) {
            sl_plan_room_set(lane, node);
        }
    }
}
