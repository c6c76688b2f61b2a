/* The rig of the plan with tenants: a pod's namespace is its tenant's name. */
#ifndef SLICED_TEST_TENANT_RIG_H
#define SLICED_TEST_TENANT_RIG_H

#include "core/plan/nodes/nodes.h"
#include "core/plan/tenant/account.h"
#include "unit/core/plan/plan_rig.h"

struct tenant_rig {
    struct plan_rig *plan;
    struct sl_tenants tenants;
};

static inline struct sl_tenant_share *tenant_rig_add(struct tenant_rig *rig, const char *name,
                                                     int64_t weight)
{
    struct sl_tenants *tenants = &rig->tenants;
    struct sl_tenant_share *share = &tenants->share[tenants->n_shares];
    struct sl_tenant_space *space = &tenants->space[tenants->n_spaces];
    tenants->n_shares++;
    tenants->n_spaces++;
    (void)snprintf(share->tenant, sizeof(share->tenant), "%s", name);
    (void)snprintf(space->tenant, sizeof(space->tenant), "%s", name);
    (void)snprintf(space->namespace, sizeof(space->namespace), "%s", name);
    share->weight = weight * SL_TENANT_WEIGHT_ONE;
    return share;
}

static inline void tenant_rig_configure(struct tenant_rig *rig)
{
    rig->plan->config.tenants = &rig->tenants;
    plan_rig_configure(rig->plan);
}

/* Waits from now on. */
static inline struct plan_rig_pod *tenant_rig_wait(struct tenant_rig *rig, const char *name,
                                                   const char *namespace, const char *resource,
                                                   int64_t units, int64_t timeout_s)
{
    struct plan_rig_pod *p = plan_rig_pod(rig->plan, name, resource, units, timeout_s);
    p->pod.namespace = namespace;
    p->pod.created_us -= PLAN_PODS - rig->plan->n_pods; /* they come in order */
    plan_rig_put(rig->plan, p);
    return p;
}

/* Another planner takes over, and is told of what this one saves in so many bytes; of nothing: 0.
 */
static inline void tenant_rig_take_over(struct tenant_rig *rig, size_t max)
{
    struct plan_rig *plan = rig->plan;
    struct sl_error err = {0};
    size_t len = 0;
    char *text = sl_planner_tenants_save(plan->planner, max, &len);
    static bool waits[PLAN_PODS];
    assert_non_null(text);
    for (unsigned i = 0; i < plan->n_pods; i++) {
        waits[i] = sl_plan_find(plan->planner, sl_str_of(plan->pod[i]->name)) != NULL;
    }
    sl_planner_free(plan->planner);
    plan->planner = sl_planner_new(&plan->config, &err);
    assert_non_null(plan->planner);
    if (max > 0) {
        const struct sl_str saved = {text, len};
        assert_true(len <= max);
        assert_int_equal(sl_planner_tenants_load(plan->planner, saved, plan->now_us, &err), 0);
    }
    free(text);
    for (unsigned i = 0; i < plan->n_pods; i++) {
        if (waits[i]) {
            plan_rig_put(plan, plan->pod[i]);
        }
    }
}

#endif
