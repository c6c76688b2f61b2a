/* Cheap lower bound on when a node can satisfy an ask: counts units (and whether they have
 * the GPU memory that is stated), ignores constraints. */
#include "core/place/choose.h"
#include "core/plan/nodes/nodes.h"

/* Do pools of the node share devices, so that the end of one kind may help another? */
static bool is_mixed(const struct sl_node *node)
{
    for (unsigned i = 1; i < node->n_pools; i++) {
        if (node->pool[i].kind != node->pool[0].kind) {
            return true;
        }
    }
    return false;
}

static int64_t units_held(const struct sl_pod *pod, uint64_t key)
{
    for (unsigned i = 0; i < pod->n_items; i++) {
        if (pod->items[i].key == key) {
            return pod->items[i].count;
        }
    }
    return 0;
}

/* Lower bound on when the node can have the units of the item. INT64_MAX: never by ends. */
static int64_t not_before(const struct sl_planner *planner, const struct sl_plan_node *node,
                          const struct sl_ask_item *item, const struct sl_plan_end *end, uint32_t n)
{
    const struct sl_view *view = node->view;
    int pool = sl_view_pool(view, item->key);
    if (item->count <= view->room[pool].largest) {
        return planner->now_us;
    }
    bool mixed = is_mixed(node->node);
    int64_t units = view->room[pool].free;
    for (uint32_t i = 0; i < n; i++) {
        int64_t held = units_held(view->resident[end[i].resident].pod, item->key);
        units = sl_sat_add(units, held);
        if (mixed || (held > 0 && units >= item->count)) {
            return sl_plan_later(planner->now_us, end[i].at_us);
        }
    }
    return INT64_MAX;
}

bool sl_plan_is_enough(const struct sl_view *view, const struct sl_ask *ask)
{
    for (unsigned i = 0; i < ask->n; i++) {
        int pool = sl_view_pool(view, ask->item[i].key);
        if (pool < 0 || ask->item[i].count > view->room[pool].most ||
            sl_pool_refuses(&view->node->pool[pool], &ask->item[i])) {
            return false;
        }
    }
    return true;
}

static bool states_memory(const struct sl_ask *ask)
{
    for (unsigned i = 0; i < ask->n; i++) {
        if (sl_item_mib(&ask->item[i]) > 0) {
            return true;
        }
    }
    return false;
}

int64_t sl_plan_not_before(struct sl_plan_run *run, struct sl_plan_node *node,
                           const struct sl_ask *ask)
{
    int64_t at_us = INT64_MIN;
    uint32_t n = 0;
    if (run->usual ? !sl_plan_usual_ends(run->planner, node, &n)
                   : !sl_plan_node_ends(run->planner, node)) {
        run->lacking = true;
        return INT64_MAX;
    }
    const struct sl_plan_end *end = run->usual ? run->planner->scratch.end : node->end;
    n = run->usual ? n : node->n_ends;
    for (unsigned i = 0; i < ask->n; i++) {
        at_us = sl_plan_later(at_us, not_before(run->planner, node, &ask->item[i], end, n));
    }
    /* The units are free, but not with their GPU memory: some pod must end. */
    if (at_us <= run->planner->now_us && states_memory(ask) && !sl_fit(node->view, ask, NULL)) {
        return n == 0 ? INT64_MAX : sl_plan_later(at_us, end[0].at_us);
    }
    return at_us;
}
