/* Headroom: units that longer pods leave to shorter ones. */
#include "core/plan/decide/decide.h"

/* Units of the item's resource that the pod has to leave; 0: none. */
static int64_t headroom_of(const struct sl_planner *planner, const struct sl_plan_pod *pod,
                           const struct sl_ask_item *item)
{
    int64_t units = 0;
    for (unsigned r = 0; r < planner->config.n_headrooms; r++) {
        const struct sl_plan_headroom *rule = &planner->config.headroom[r];
        bool for_it = rule->resource[0] == '\0' || strcmp(rule->resource, item->resource) == 0;
        if (for_it && pod->item.timeout_us > rule->max_timeout_us) {
            units = rule->units > units ? rule->units : units;
        }
    }
    return units;
}

bool sl_plan_needs_headroom(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    const struct sl_ask *ask = &pod->class->ask->ask;
    bool any = false;
    for (unsigned i = 0; i < ask->n; i++) {
        any = any || headroom_of(planner, pod, &ask->item[i]) > 0;
    }
    return any;
}

bool sl_plan_headroom(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    const struct sl_plan_ask *ask = pod->class->ask;
    bool left = true;
    for (unsigned i = 0; i < ask->ask.n; i++) {
        const struct sl_ask_item *item = &ask->ask.item[i];
        int64_t keep = headroom_of(planner, pod, item);
        left = left && (keep == 0 || ask->lane[i]->free - item->count >= keep);
    }
    return left;
}

int64_t sl_plan_headroom_time(struct sl_plan_run *run, const struct sl_plan_lane *lane,
                              const struct sl_plan_pod *pod)
{
    struct sl_planner *planner = run->planner;
    const struct sl_ask_item *item = &pod->class->ask->ask.item[0];
    int64_t lacking = sl_sat_add(item->count, headroom_of(planner, pod, item)) - lane->free;
    struct sl_supply *supply = &planner->scratch.supply;
    if (!sl_plan_supply(planner, lane, false)) {
        run->lacking = true;
        return INT64_MAX;
    }
    return sl_supply_units(supply) < lacking ? INT64_MAX
                                             : sl_supply_take(supply, lacking, planner->now_us);
}
