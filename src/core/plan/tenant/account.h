/* The accounts of the order by tenants: what it keeps of pods and lanes. */
#ifndef SLICED_CORE_PLAN_TENANT_ACCOUNT_H
#define SLICED_CORE_PLAN_TENANT_ACCOUNT_H

#include "core/plan/tenant/tenants.h"

/* A resource of a pod, or that on the only model that the pod selects. */
struct sl_plan_need {
    struct sl_plan_account_lane *account; /* that counts it; NULL: none yet */
    int64_t units;
    struct sl_share_pod *virtual; /* NULL: not told to the share yet */
    const char *model;            /* "": all */
    unsigned item;                /* of the pod */
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
    bool leaves; /* it is being deleted, and soon gone */
    unsigned n;
    struct sl_plan_need need[];
};

/* A tenant's share of a lane, and the units that its pods hold. */
struct sl_plan_part {
    struct sl_share *share;
    int64_t held;      /* units, by pods that are nominated or run */
    int64_t held_long; /* by those that run for longer than borrowMaxTimeout, */
    int64_t leaving;   /* by those that are being deleted and soon gone */
    int64_t given;     /* back, while sl_plan_reclaim() chooses; else 0 */
};

/* The lane's first has all of it; others follow, one for each model that is guaranteed. */
struct sl_plan_account_lane {
    struct sl_plan_account_lane *next;
    const struct sl_plan_lane *lane;
    struct sl_plan_part *part[SL_TENANTS_MAX];
    size_t n;         /* parts may be in use up to this index */
    size_t needs;     /* of records */
    int64_t of;       /* the lane's capacity by which the shares were sized, */
    int64_t capacity; /* the model's part of it, */
    uint64_t kinds;   /* by seq.kinds, */
    size_t tenants;   /* with so many tenants */
    const char *model;
    char resource[];
};

/* NULL: the tenant has had no pod there. */
static inline struct sl_plan_part *sl_plan_part_of(const struct sl_plan_account_lane *account,
                                                   const struct sl_tenant *tenant)
{
    return account == NULL ? NULL : account->part[tenant->index];
}

/* NULL: the lane has none of the model. */
static inline struct sl_plan_account_lane *sl_plan_account_of(const struct sl_plan_lane *lane,
                                                              const char *model)
{
    struct sl_plan_account_lane *account = lane == NULL ? NULL : lane->account;
    while (account != NULL && strcmp(account->model, model) != 0) {
        account = account->next;
    }
    return account;
}

/* The first of the lane's accounts, or of those of lanes behind it; NULL: there is none. */
static inline struct sl_plan_account_lane *sl_plan_account_first(const struct sl_plan_lane *lane)
{
    while (lane != NULL && lane->account == NULL) {
        lane = lane->next;
    }
    return lane == NULL ? NULL : lane->account;
}

static inline struct sl_plan_account_lane *
sl_plan_account_next(const struct sl_plan_account_lane *account)
{
    return account->next != NULL ? account->next : sl_plan_account_first(account->lane->next);
}

/* Its start on the share; INT64_MAX: it waits there, or comes there later. */
static inline int64_t sl_plan_need_start(const struct sl_plan_need *need)
{
    return need->virtual == NULL ? INT64_MAX : sl_share_facts_of(need->virtual)->start_us;
}

/* By which the record of the shares knows the pod there. */
static inline uint64_t sl_plan_need_number(const struct sl_plan_account_pod *record, unsigned i)
{
    const struct sl_plan_need *need = &record->need[i];
    return record->number + need->item + (need->model[0] == '\0' ? 0 : SL_ASK_ITEMS_MAX);
}

/* ---- accounts.c ---- */

/* Opens the accounts of a lane that has none. False: out of memory. */
bool sl_plan_accounts_open(struct sl_planner *planner, struct sl_plan_lane *lane,
                           const char *resource);
/* Forgets them. */
void sl_plan_accounts_close(struct sl_plan_lane *lane);
/* Returns the tenant's part, which it makes if need be. NULL: out of memory. */
struct sl_plan_part *sl_plan_part_get(struct sl_planner *planner,
                                      struct sl_plan_account_lane *account,
                                      const struct sl_tenant *tenant);
/* Sizes all parts by the units that there are now. */
void sl_plan_parts_size(const struct sl_planner *planner, struct sl_plan_account_lane *account);
/* The units of the lane that are of the account's model. */
int64_t sl_plan_account_capacity(const struct sl_planner *planner,
                                 const struct sl_plan_account_lane *account);

/* ---- tenants.c ---- */

/* Are the record's needs those of the pod, which may have changed? */
bool sl_plan_needs_are(const struct sl_planner *planner, const struct sl_plan_account_pod *record,
                       const struct sl_pod *pod);

#endif
