/* Which rule of the site a pod is against. */
#include "core/plan_internal.h"

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
    const struct sl_plan_limit *least = NULL;
    for (unsigned i = 0; i < planner->config.n_limits; i++) {
        const struct sl_plan_limit *limit = &planner->config.limit[i];
        if (pod->item.timeout_us > limit->max_timeout_us && is_for(limit->resource, pod->pod) &&
            (least == NULL || limit->max_timeout_us < least->max_timeout_us)) {
            least = limit;
        }
    }
    return least;
}
