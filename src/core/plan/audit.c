/* Walks all of the planner and checks that its parts agree: for tests, as it takes as long as there
 * are pods and nodes. */
#include "core/plan/decide/decide.h"
#include "util/check.h"

struct audit {
    const struct sl_planner *planner;
    size_t stands[SL_STANDS]; /* pods */
    size_t queued;            /* pods in queues */
    size_t on_nodes;          /* nominations in nodes' lists */
    size_t with_class;
};

/* Each pod of the list stands where the list is for, and no other does. */
static void audit_list(const struct audit *audit, enum sl_plan_stand stand)
{
    size_t n = 0;
    for (const struct sl_plan_pod *pod = sl_plan_pod_first(audit->planner, stand); pod != NULL;
         pod = sl_plan_pod_next(pod)) {
        SL_CHECK(pod->stand == stand);
        n++;
    }
    SL_CHECK(n == audit->stands[stand]);
}

static void audit_pod(struct audit *audit, const struct sl_plan_pod *pod)
{
    const struct sl_plan_nomination *nomination = pod->nomination;
    audit->stands[pod->stand]++;
    audit->with_class += pod->class != NULL;
    SL_CHECK((nomination != NULL) == (pod->stand == SL_STAND_NOMINATED));
    SL_CHECK(nomination == NULL || strcmp(nomination->pod->uid, pod->pod->uid) == 0);
    SL_CHECK(pod->class != NULL || pod->state == SL_QUEUE_REFUSED ||
             (nomination != NULL && nomination->broken)); /* the next run withdraws it */
    SL_CHECK(!pod->released || nomination == NULL);
    SL_CHECK(sl_plan_find(audit->planner, pod->item.uid) == pod);
}

static void audit_rooms(const struct sl_planner *planner, const struct sl_plan_lane *lane)
{
    int64_t units = 0;
    int64_t capacity = 0;
    int64_t largest = 0;
    for (size_t i = 0; i < planner->fleet.n; i++) {
        units += lane->node_free[i];
        capacity += lane->node_capacity[i];
        int64_t most = lane->tree[lane->leaves + i];
        largest = most > largest ? most : largest;
        const struct sl_plan_node *node = planner->fleet.node[i];
        if (!node->stale && node->view != NULL && !lane->nowhere) {
            int pool = sl_view_pool(node->view, lane->key);
            SL_CHECK(most == (pool < 0 ? 0 : node->view->room[pool].largest));
        }
    }
    SL_CHECK(units == lane->free && capacity == lane->capacity && largest == lane->tree[1]);
}

static void audit_lane(struct audit *audit, const struct sl_plan_lane *lane)
{
    const struct sl_planner *planner = audit->planner;
    uint32_t members = 0;
    uint32_t refs = lane->nowhere;
    for (const struct sl_plan_ask *ask = sl_plan_ask_first(planner); ask != NULL;
         ask = sl_plan_ask_next(ask)) {
        members += ask->lane[0] == lane ? ask->members : 0;
        for (unsigned i = 0; i < ask->ask.n; i++) {
            refs += ask->lane[i] == lane;
        }
    }
    SL_CHECK(members == lane->members && refs == lane->refs);
    SL_CHECK(lane->n_queue <= lane->members && lane->members <= lane->queue_cap);
    for (uint32_t i = 0; i < lane->n_queue; i++) {
        SL_CHECK(sl_plan_is_queued(lane->queue[i]) && sl_plan_lane_of(lane->queue[i]) == lane);
        SL_CHECK(i == 0 || sl_plan_compare(planner, lane->queue[i - 1], lane->queue[i]) < 0);
    }
    audit->queued += lane->n_queue;
    SL_CHECK(lane->reserve.pod == NULL || sl_plan_is_queued(lane->reserve.pod));
    SL_CHECK(lane->reserve.pod != NULL || !lane->reserve.active);
    SL_CHECK(lane->preemptor == NULL || sl_plan_is_queued(lane->preemptor));
    for (unsigned i = 0; i < SL_PLAN_RETRIES; i++) {
        const struct sl_plan_pod *pod = lane->retry[i].pod;
        SL_CHECK(pod == NULL || (pod->nomination != NULL && sl_plan_lane_of(pod) == lane));
    }
    if (lane->leaves > 0 && planner->ready) {
        audit_rooms(planner, lane);
    }
}

static void audit_node(struct audit *audit, const struct sl_plan_node *node)
{
    for (const struct sl_plan_pod *pod = node->nominations; pod != NULL;
         pod = pod->nomination->next) {
        SL_CHECK(pod->nomination->node == node);
        SL_CHECK(strcmp(pod->nomination->pod->node, node->node->name) == 0);
        audit->on_nodes++;
    }
    SL_CHECK(node->stale || node->view == NULL ||
             node->view == (node->own != NULL ? node->own : node->base));
    SL_CHECK((node->drain_us > 0) == (node->drain_for != NULL));
}

static void audit_nodes(struct audit *audit)
{
    const struct sl_planner *planner = audit->planner;
    size_t drains = 0;
    size_t news = 0;
    for (size_t i = 0; i < planner->fleet.n; i++) {
        const struct sl_plan_node *node = planner->fleet.node[i];
        SL_CHECK(node->index == i);
        SL_CHECK(i == 0 || strcmp(planner->fleet.node[i - 1]->node->name, node->node->name) < 0);
        SL_CHECK(!planner->ready || (node->base != NULL && planner->fleet.base[i] == node->base));
        SL_CHECK(planner->fleet.grown[planner->fleet.leaves + i] == node->seq);
        audit_node(audit, node);
        drains += node->drain_us > 0;
        news += node->news;
    }
    for (const struct sl_plan_node *node = planner->fleet.gone; node != NULL;
         node = node->stale_next) {
        SL_CHECK(node->base == NULL && node->nominations != NULL);
        audit_node(audit, node);
    }
    SL_CHECK(drains == planner->fleet.n_drains);
    SL_CHECK(planner->news.all || news == planner->news.n);
}

static void audit_shared(const struct audit *audit)
{
    const struct sl_planner *planner = audit->planner;
    size_t pods = 0;
    size_t members = 0;
    size_t at = 0;
    for (const struct sl_plan_space *space = sl_map_next(&planner->spaces, &at); space != NULL;
         space = sl_map_next(&planner->spaces, &at)) {
        SL_CHECK(space->refs > 0 && space->refusals <= SL_PLAN_REFUSALS_MAX);
        pods += space->refs;
    }
    SL_CHECK(pods == planner->pods.len);
    pods = 0;
    at = 0;
    for (const struct sl_plan_class *class = sl_map_next(&planner->asks.classes, &at);
         class != NULL; class = sl_map_next(&planner->asks.classes, &at)) {
        SL_CHECK(class->refs > 0);
        pods += class->refs;
    }
    for (const struct sl_plan_ask *ask = sl_plan_ask_first(planner); ask != NULL;
         ask = sl_plan_ask_next(ask)) {
        members += ask->members;
    }
    SL_CHECK(pods == audit->with_class && members == audit->with_class);
}

void sl_planner_audit(const struct sl_planner *planner)
{
    struct audit audit = {.planner = planner};
    size_t reserves = 0;
    size_t lanes = 0;
    size_t at = 0;
    for (const struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        audit_pod(&audit, pod);
    }
    for (const struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        audit_lane(&audit, lane);
        reserves += lane->reserve.active;
        lanes++;
    }
    audit_nodes(&audit);
    audit_list(&audit, SL_STAND_NOMINATED);
    audit_list(&audit, SL_STAND_RESTING);
    audit_list(&audit, SL_STAND_REFUSED);
    SL_CHECK(audit.on_nodes == audit.stands[SL_STAND_NOMINATED]);
    SL_CHECK(audit.queued == audit.stands[SL_STAND_HELD] + audit.stands[SL_STAND_RELEASED]);
    SL_CHECK(lanes == planner->n_lanes);
    SL_CHECK(reserves == planner->n_reserves);
    audit_shared(&audit);
    audit_list(&audit, SL_STAND_CAPPED);
    sl_plan_bounded_audit(planner);
    sl_plan_tenants_audit(planner);
}
