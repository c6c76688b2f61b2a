/* Tests pods against the site's rules: limits and headroom. */
#include "core/plan/state/state.h"

static bool is_for(const char *resource, const struct sl_pod *pod)
{
    bool any = resource[0] == '\0';
    for (unsigned i = 0; i < pod->n_items && !any; i++) {
        any = strcmp(resource, pod->items[i].resource) == 0;
    }
    return any;
}

const struct sl_plan_limit *sl_plan_limit_of(const struct sl_planner *planner,
                                             const struct sl_plan_pod *pod)
{
    const struct sl_plan_limit *own = &pod->space->limit;
    bool over = own->max_timeout_us > 0 && pod->item.timeout_us > own->max_timeout_us;
    const struct sl_plan_limit *least = over ? own : NULL;
    for (unsigned i = 0; i < planner->config.n_limits; i++) {
        const struct sl_plan_limit *limit = &planner->config.limit[i];
        if (pod->item.timeout_us > limit->max_timeout_us && is_for(limit->resource, pod->pod) &&
            (least == NULL || limit->max_timeout_us < least->max_timeout_us)) {
            least = limit;
        }
    }
    return least;
}

static bool is_over(const struct sl_plan_headroom *rule, const struct sl_plan_pod *pod, unsigned i)
{
    const struct sl_plan_ask *ask = pod->class->ask;
    const struct sl_ask_item *item = &ask->ask.item[i];
    int64_t capacity = ask->lane[i]->capacity; /* 0: not known yet */
    bool for_it = rule->resource[0] == '\0' || strcmp(rule->resource, item->resource) == 0;
    return for_it && capacity > 0 && item->count > capacity - rule->units &&
           pod->item.timeout_us > rule->max_timeout_us;
}

struct sl_queue_over sl_plan_over_headroom(const struct sl_planner *planner,
                                           const struct sl_plan_pod *pod)
{
    struct sl_queue_over over = {.units = 0};
    for (unsigned r = 0; r < planner->config.n_headrooms; r++) {
        const struct sl_plan_headroom *rule = &planner->config.headroom[r];
        for (unsigned i = 0; i < pod->class->ask->ask.n; i++) {
            if (is_over(rule, pod, i) && rule->units > over.units) {
                over = (struct sl_queue_over){.units = rule->units,
                                              .max_timeout_us = rule->max_timeout_us,
                                              .capacity = pod->class->ask->lane[i]->capacity,
                                              .item = &pod->pod->items[i]};
            }
        }
    }
    return over;
}
