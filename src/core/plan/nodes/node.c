/* One node of the cluster as the plan sees it. */
#include "core/plan/nodes/nodes.h"
#include "util/data/search.h"

#include <stdlib.h>

void sl_plan_node_free(struct sl_plan_node *node)
{
    sl_view_free(node->own);
    sl_node_unref(node->node);
    free(node->end);
    free(node);
}

struct sl_plan_node *sl_plan_node_new(const struct sl_view *base)
{
    struct sl_plan_node *node = calloc(1, sizeof(*node));
    if (node != NULL) {
        node->node = sl_node_ref(base->node);
    }
    return node;
}

void sl_plan_node_stale(struct sl_planner *planner, struct sl_plan_node *node, bool shrunk)
{
    sl_plan_touch(planner, SL_PLAN_RUN);
    if (node->stale) {
        node->shrunk = node->shrunk && shrunk;
    } else if (node->base != NULL) {
        node->stale = true;
        node->shrunk = shrunk;
        node->stale_next = planner->fleet.stale;
        planner->fleet.stale = node;
    }
}

static bool node_is_below(const void *item, const void *key)
{
    const struct sl_plan_node *const *node = item;
    return strcmp((*node)->node->name, key) < 0;
}

struct sl_plan_node *sl_plan_node_find(const struct sl_planner *planner, const char *name)
{
    size_t at = sl_lower_bound(planner->fleet.node, planner->fleet.n, sizeof(struct sl_plan_node *),
                               name, node_is_below);
    bool known = at < planner->fleet.n && strcmp(planner->fleet.node[at]->node->name, name) == 0;
    return known ? planner->fleet.node[at] : NULL;
}

uint32_t sl_plan_leaves_for(size_t n)
{
    uint32_t leaves = 1;
    while (leaves < n) {
        leaves *= 2;
    }
    return leaves;
}

void sl_plan_set_grown(struct sl_planner *planner, const struct sl_plan_node *node)
{
    uint64_t *tree = planner->fleet.grown;
    for (uint32_t at = planner->fleet.leaves + node->index; at > 0 && tree[at] < node->seq;
         at /= 2) {
        tree[at] = node->seq;
    }
}

void sl_plan_node_grown(struct sl_planner *planner, struct sl_plan_node *node)
{
    sl_plan_touch(planner, SL_PLAN_ROOM);
    node->seq = planner->seq.room;
    if (node->base != NULL) { /* else the node was removed */
        sl_plan_set_grown(planner, node);
    }
}
