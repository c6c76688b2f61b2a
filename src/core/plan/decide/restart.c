/* Begins anew: all pods and accounts by another configuration, other tenants or another clock. */
#include "core/plan/decide/decide.h"

#include <stdlib.h>

/* The orders that do more than compare two pods. */
static const struct sl_plan_order *const orders[SL_ORDER_KINDS] = {
    [SL_ORDER_BOUNDED] = &sl_plan_bounded,
};

void sl_plan_set_config(struct sl_planner *planner, const struct sl_plan_config *config)
{
    planner->config = *config;
    planner->config.tenants = NULL; /* planner->tenancy has them */
    planner->config.order.due = planner->tenancy != NULL;
    planner->order = planner->tenancy != NULL ? &sl_plan_tenants : orders[config->order.kind];
}

int sl_plan_restart(struct sl_planner *planner, const struct sl_plan_config *config,
                    bool relabelled, struct sl_error *err)
{
    size_t len = 0;
    char *record = sl_planner_tenants_save(planner, SL_PLAN_RECORD_MAX, &len);
    const struct sl_tenancy *before = planner->tenancy;
    planner->relabelled = false;
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        sl_plan_empty(planner, lane, true);
    }
    sl_plan_count_capped(planner, false);
    bool other = config->order.kind != planner->config.order.kind || before != NULL ||
                 sl_tenants_on(config->tenants) ||
                 memcmp(&config->promise, &planner->config.promise, sizeof(config->promise)) != 0;
    if (other && planner->order != NULL) {
        planner->order->end(planner);
    }
    int rc = relabelled ? 0 : sl_plan_tenants_set(planner, config->tenants, err);
    if (rc == 0) {
        sl_plan_set_config(planner, config);
    }
    sl_plan_spaces_renew(planner);
    sl_plan_count_capped(planner, true);
    (void)sl_plan_record_load(planner, (struct sl_str){record, len}, 0, NULL);
    free(record);
    sl_plan_touch(planner, SL_PLAN_RUN);
    if (other && planner->order != NULL) {
        planner->order->begin(planner);
    }
    size_t at = 0;
    for (struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        pod->item = sl_plan_item_of(planner, pod->pod, pod->opened_us);
    }
    sl_plan_settle_all(planner);
    bool preempts = planner->config.preemption ||
                    (planner->tenancy != NULL && sl_tenancy_config(planner->tenancy)->reclaim);
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        bool goes_on = preempts && lane->preemptor != NULL && sl_plan_is_queued(lane->preemptor);
        if (!goes_on) { /* nothing is kept for its preemptor any more */
            sl_plan_preempt_end(planner, lane);
        }
    }
    return rc;
}
