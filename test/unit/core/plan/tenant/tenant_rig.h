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

/* Not put yet. model: NULL: it selects none. */
static inline struct plan_rig_pod *tenant_rig_pod(struct tenant_rig *rig, const char *name,
                                                  const char *namespace, const char *resource,
                                                  int64_t units, int64_t timeout_s,
                                                  const char *model)
{
    static const char *const models[] = {"M1", "M2"};
    static const struct sl_match selects[] = {
        {.key = SL_MODEL_LABEL, .op = SL_MATCH_IN, .value = &models[0], .n_values = 1},
        {.key = SL_MODEL_LABEL, .op = SL_MATCH_IN, .value = &models[1], .n_values = 1}};
    struct plan_rig_pod *p = plan_rig_pod(rig->plan, name, resource, units, timeout_s);
    p->pod.namespace = namespace;
    p->pod.created_us -= PLAN_PODS - rig->plan->n_pods; /* they come in order */
    if (model != NULL) {
        unsigned i = strcmp(model, models[0]) == 0 ? 0 : 1;
        p->constraints = (struct sl_constraints){
            .selector = &selects[i], .n_selector = 1, .digest = 7 + (uint64_t)i};
        p->pod.constraints = &p->constraints;
    }
    return p;
}

/* Waits from now on. */
static inline struct plan_rig_pod *tenant_rig_wait(struct tenant_rig *rig, const char *name,
                                                   const char *namespace, const char *resource,
                                                   int64_t units, int64_t timeout_s)
{
    struct plan_rig_pod *p = tenant_rig_pod(rig, name, namespace, resource, units, timeout_s, NULL);
    plan_rig_put(rig->plan, p);
    return p;
}

/* "a1 a2": names, each a pod of the namespace that it begins with, for a GPU of the model. */
static inline void wait_for(struct tenant_rig *rig, const char *model, const char *names,
                            int64_t timeout_s)
{
    static const char *const namespaces[] = {"a", "b", "c"};
    char name[8];
    int n = 0;
    for (const char *at = names; sscanf(at, "%7s%n", name, &n) == 1; at += n) {
        plan_rig_put(rig->plan, tenant_rig_pod(rig, name, namespaces[name[0] - 'a'], GPU, 1,
                                               timeout_s, model));
    }
}

static inline void wait_all(struct tenant_rig *rig, const char *names, int64_t timeout_s)
{
    wait_for(rig, NULL, names, timeout_s);
}

static inline void bind_all(struct tenant_rig *rig)
{
    for (unsigned i = 0; i < rig->plan->n_pods; i++) {
        struct sl_queue_row row;
        const char *name = rig->plan->pod[i]->name;
        if (plan_rig_row(rig->plan, name, &row) && row.state == SL_QUEUE_NOMINATED) {
            plan_rig_bind(rig->plan, name);
        }
    }
}

/* Plans, binds, and returns the names of those that started, in order. */
static inline const char *started(struct tenant_rig *rig)
{
    static char names[256];
    names[0] = '\0';
    for (bool more = true; more;) {
        char log[PLAN_LOG];
        (void)snprintf(log, sizeof(log), "%s", plan_rig_plan(rig->plan));
        more = false;
        for (char *line = log; line != NULL && *line != '\0';) {
            char name[8];
            size_t len = strlen(names);
            if (sscanf(line, "nomination %7s", name) == 1 ||
                sscanf(line, "backfill %7s", name) == 1) {
                (void)snprintf(names + len, sizeof(names) - len, "%s%s", len == 0 ? "" : " ", name);
                more = true;
            }
            line = strchr(line, '\n');
            line += line != NULL;
        }
        bind_all(rig);
    }
    return names;
}

static inline void end_all(struct tenant_rig *rig, const char *names)
{
    char name[8];
    int n = 0;
    for (const char *at = names; sscanf(at, "%7s%n", name, &n) == 1; at += n) {
        plan_rig_end(rig->plan, name);
    }
}

static inline void pass(struct tenant_rig *rig, int64_t s)
{
    rig->plan->now_us += SECONDS(s);
}

/* For how many seconds it has been due; -1: it is not. */
static inline int64_t due_of(struct tenant_rig *rig, const char *name)
{
    const struct sl_plan_pod *pod = sl_plan_find(rig->plan->planner, sl_str_of(name));
    assert_non_null(pod);
    return pod->item.due_us == INT64_MAX ? -1 : (rig->plan->now_us - pod->item.due_us) / 1000000;
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
