/* Where each lane has room: a tree of maxima over the nodes. */
#include "core/plan/nodes/nodes.h"

#include <stdlib.h>

static int64_t largest_of(const struct sl_view *view, const struct sl_plan_lane *lane,
                          int64_t *free_units, int64_t *capacity)
{
    int pool = view == NULL || lane->nowhere ? -1 : sl_view_pool(view, lane->key);
    *free_units = pool < 0 ? 0 : view->room[pool].free;
    *capacity = pool < 0 ? 0 : view->room[pool].capacity;
    return pool < 0 ? 0 : view->room[pool].largest;
}

void sl_plan_room_set(struct sl_plan_lane *lane, const struct sl_plan_node *node)
{
    int64_t units = 0;
    int64_t capacity = 0;
    uint32_t at = lane->leaves + node->index;
    int64_t largest = largest_of(node->view, lane, &units, &capacity);
    lane->free += units - lane->node_free[node->index];
    lane->capacity += capacity - lane->node_capacity[node->index];
    lane->node_free[node->index] = units;
    lane->node_capacity[node->index] = capacity;
    lane->tree[at] = largest;
    for (at /= 2; at > 0; at /= 2) {
        size_t left = 2 * (size_t)at;
        int64_t a = lane->tree[left];
        int64_t b = lane->tree[left + 1];
        int64_t most = a > b ? a : b;
        if (lane->tree[at] == most) {
            break;
        }
        lane->tree[at] = most;
    }
}

bool sl_plan_room_build(const struct sl_planner *planner, struct sl_plan_lane *lane)
{
    uint32_t leaves = sl_plan_leaves_for(planner->fleet.n);
    int64_t *tree = calloc((size_t)2 * leaves, sizeof(*tree));
    int64_t *units = calloc((size_t)2 * leaves, sizeof(*units));
    if (tree == NULL || units == NULL) {
        free(tree);
        free(units);
        return false;
    }
    free(lane->tree);
    free(lane->node_free);
    lane->tree = tree;
    lane->node_free = units;
    lane->node_capacity = units + leaves;
    lane->leaves = leaves;
    lane->free = 0;
    lane->capacity = 0;
    for (size_t i = 0; i < planner->fleet.n; i++) {
        uint32_t at = leaves + (uint32_t)i;
        lane->tree[at] = largest_of(planner->fleet.node[i]->view, lane, &lane->node_free[i],
                                    &lane->node_capacity[i]);
        lane->free += lane->node_free[i];
        lane->capacity += lane->node_capacity[i];
    }
    for (uint32_t at = leaves - 1; at > 0; at--) {
        size_t left = 2 * (size_t)at;
        int64_t a = tree[left];
        int64_t b = tree[left + 1];
        tree[at] = a > b ? a : b;
    }
    return true;
}
