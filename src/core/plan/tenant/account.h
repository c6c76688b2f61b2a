/* The accounts of the order by tenants: what it keeps of pods and lanes. */
#ifndef SLICED_CORE_PLAN_TENANT_ACCOUNT_H
#define SLICED_CORE_PLAN_TENANT_ACCOUNT_H

#include "core/plan/tenant/tenants.h"

/* A resource of a pod. */
struct sl_plan_need {
    struct sl_plan_lane *lane;
    int64_t units;
    struct sl_share_pod *virtual; /* NULL: not told to the share yet */
};

/* A pod that waits or runs. */
struct sl_plan_account_pod {
    uint64_t number;
    struct sl_tenant *tenant;
    struct sl_plan_pod *pod; /* NULL: bound */
    struct sl_link coming;   /* while it waits to be told to its shares, */
    struct sl_link turned;   /* and to be placed anew in its queue */
    int64_t due_us;          /* its last start on a share; INT64_MAX: it waits on one */
    int64_t own_us;          /* the same, as foretold, */
    unsigned unknown;        /* but for so many shares */
    int64_t since_us;        /* while it holds units: since when */
    int64_t timeout_us;
    bool comes;
    bool holds; /* units: nominated, or runs */
    bool is_long;
    unsigned n;
    struct sl_plan_need need[];
};

/* A tenant's share of a lane, and the units that its pods hold. */
struct sl_plan_part {
    struct sl_share *share;
    int64_t held;      /* units, by pods that are nominated or run */
    int64_t held_long; /* by those that run for longer than borrowMaxTimeout */
    int64_t given;     /* back, while sl_plan_reclaim() chooses; else 0 */
};

struct sl_plan_account_lane {
    struct sl_plan_part *part[SL_TENANTS_MAX];
    size_t n;         /* parts may be in use up to this index */
    size_t needs;     /* of records */
    int64_t capacity; /* by which the shares were sized, */
    size_t tenants;   /* with so many tenants */
    char resource[];
};

/* NULL: the tenant has had no pod of the lane. */
static inline struct sl_plan_part *sl_plan_part_of(const struct sl_plan_lane *lane,
                                                   const struct sl_tenant *tenant)
{
    return lane->account == NULL ? NULL : lane->account->part[tenant->index];
}

#endif
