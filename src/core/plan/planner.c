/* Makes, reconfigures and frees the planner. */
#include "core/plan/decide/decide.h"

#include <stdlib.h>

static int check_config(const struct sl_plan_config *config, struct sl_error *err)
{
    const char *wrong = NULL;
    if (config->order.kind >= SL_ORDER_KINDS) {
        wrong = "there is no such order";
    } else if (sl_tenants_on(config->tenants) && config->order.kind == SL_ORDER_HRRN) {
        wrong = "tenants need another order than hrrn";
    } else if (config->default_timeout_us <= 0) {
        wrong = "the default timeout must be above 0";
    } else if (config->hold_us <= 0 || config->hold_max_us < config->hold_us) {
        wrong = "nominations must be held for a time above 0 and at most their longest time-out";
    } else if (config->n_limits > SL_PLAN_RULES_MAX || config->n_headrooms > SL_PLAN_RULES_MAX ||
               config->n_overrides > SL_PLAN_RULES_MAX) {
        wrong = "there are too many limits, headrooms or overrides";
    }
    return wrong == NULL ? 0 : sl_error_set(err, SL_ERR_FIELD, "%s", wrong);
}

struct sl_planner *sl_planner_new(const struct sl_plan_config *config, struct sl_error *err)
{
    if (check_config(config, err) < 0) {
        return NULL;
    }
    struct sl_planner *planner = calloc(1, sizeof(*planner));
    if (planner == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    planner->lane = sl_plan_nowhere_new();
    planner->nowhere = planner->lane;
    if (planner->lane == NULL || sl_vec_reserve(&planner->scratch.heap, &planner->scratch.heap_cap,
                                                1, sizeof(struct sl_plan_lane *)) < 0) {
        free(planner->lane);
        free(planner);
        (void)sl_error_nomem(err);
        return NULL;
    }
    if (sl_plan_tenants_set(planner, config->tenants, err) < 0) {
        sl_planner_free(planner);
        return NULL;
    }
    sl_plan_set_config(planner, config);
    planner->n_lanes = 1;
    sl_plan_touch(planner, SL_PLAN_ROOM | SL_PLAN_KINDS);
    return planner;
}

static void free_nodes(struct sl_planner *planner)
{
    for (size_t i = 0; i < planner->fleet.n; i++) {
        sl_plan_node_free(planner->fleet.node[i]);
    }
    while (planner->fleet.gone != NULL) {
        struct sl_plan_node *node = planner->fleet.gone;
        planner->fleet.gone = node->stale_next;
        sl_plan_node_free(node);
    }
    free(planner->fleet.node);
    free(planner->fleet.base);
    free(planner->fleet.grown);
    free(planner->offers.at);
    free(planner->news.node);
}

void sl_planner_free(struct sl_planner *planner)
{
    if (planner == NULL) {
        return;
    }
    if (planner->order != NULL) {
        planner->order->end(planner);
    }
    size_t at = 0;
    for (struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        sl_plan_pod_free(planner, pod);
    }
    while (sl_plan_ran_first(planner) != NULL) {
        sl_plan_ran_forget(planner, sl_plan_ran_first(planner));
    }
    planner->nowhere->refs = 0;
    sl_plan_lane_tidy(planner);
    free_nodes(planner);
    sl_map_free(&planner->pods);
    sl_map_free(&planner->asks.classes);
    sl_map_free(&planner->asks.by_key);
    sl_map_free(&planner->rans.by_uid);
    sl_map_free(&planner->spaces);
    free(planner->scratch.heap);
    free(planner->scratch.bid);
    free(planner->scratch.pod_list);
    free(planner->scratch.sort);
    free(planner->scratch.end);
    sl_past_free(planner->past);
    sl_supply_free(&planner->scratch.supply);
    sl_tenancy_free(planner->tenancy);
    sl_plan_record_free(planner);
    free(planner);
}

int sl_planner_configure(struct sl_planner *planner, const struct sl_plan_config *config,
                         struct sl_error *err)
{
    return check_config(config, err) < 0 ? -1 : sl_plan_restart(planner, config, false, err);
}

int sl_planner_namespace(struct sl_planner *planner, struct sl_str namespace, struct sl_str tenant,
                         int64_t now_us, struct sl_error *err)
{
    sl_plan_advance(planner, now_us);
    int changed =
        planner->tenancy == NULL ? 0 : sl_tenancy_label(planner->tenancy, namespace, tenant);
    if (changed <= 0) {
        return changed < 0 ? sl_error_nomem(err) : 0;
    }
    planner->relabelled = true; /* many may follow: the next run begins anew */
    sl_plan_touch(planner, SL_PLAN_RUN);
    return 0;
}
