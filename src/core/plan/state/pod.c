/* Pods by their UID, and how they compare. */
#include "core/plan/state/state.h"

#include <stdlib.h>

struct sl_plan_pod *sl_plan_find(const struct sl_planner *planner, struct sl_str uid)
{
    return uid.len == 0 ? NULL : sl_map_get(&planner->pods, uid.s, uid.len);
}

int sl_plan_hex(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

uint64_t sl_plan_number_of(const char *uid)
{
    uint64_t number = 0;
    unsigned digits = 0;
    for (const char *c = uid; *c != '\0' && digits < 16; c++) {
        int digit = sl_plan_hex(*c);
        if (digit < 0 && *c != '-') {
            break;
        }
        number = digit < 0 ? number : number << 4 | (unsigned)digit;
        digits += digit >= 0;
    }
    return digits == 16 ? number : sl_rank_hash(uid, strlen(uid));
}

void sl_plan_advance(struct sl_planner *planner, int64_t now_us)
{
    planner->now_us = now_us > planner->now_us ? now_us : planner->now_us;
}

int64_t sl_plan_timeout(const struct sl_planner *planner, const struct sl_pod *pod)
{
    return pod->timeout_s > 0 ? pod->timeout_s * SL_SECOND_US : planner->config.default_timeout_us;
}

static const struct sl_order_weights *weights_of(const struct sl_planner *planner,
                                                 const struct sl_pod *pod)
{
    for (unsigned i = 0; i < planner->config.n_overrides; i++) {
        const struct sl_plan_override *rule = &planner->config.override[i];
        bool here = rule->namespace[0] == '\0' || strcmp(rule->namespace, pod->namespace) == 0;
        if (here && (!rule->of_priority || rule->priority == pod->priority)) {
            return &rule->weights;
        }
    }
    return NULL;
}

struct sl_order_item sl_plan_item_of(const struct sl_planner *planner, const struct sl_pod *pod,
                                     int64_t opened_us)
{
    int64_t submit_us = pod->created_us > opened_us ? pod->created_us : opened_us;
    return (struct sl_order_item){
        .timeout_us = sl_plan_timeout(planner, pod),
        .submit_us = submit_us > 0 ? submit_us : 0,
        .due_us = INT64_MAX,
        .weights = weights_of(planner, pod),
        .uid = sl_str_of(pod->uid),
        .priority = pod->priority,
    };
}

void sl_plan_pod_free(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    if (pod->class != NULL) {
        sl_plan_class_unref(planner, pod->class);
    }
    if (pod->nomination != NULL) {
        sl_pod_unref(pod->nomination->pod);
        free(pod->nomination);
    }
    sl_pod_unref(pod->pod);
    sl_node_unref(pod->bad_node);
    sl_plan_space_unref(planner, pod->space);
    free(pod->why);
    free(pod->cut);
    free(pod->drain_text);
    free(pod);
}
