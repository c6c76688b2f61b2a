/* Tenants: who shares the cluster, and how much of it is whose. A pod's tenant follows from its
 * namespace alone, as its owner writes all else: the first entry of space that matches, else the
 * label of the Namespace object, else SL_TENANT_OTHERS. */
#ifndef SLICED_TENANT_H
#define SLICED_TENANT_H

#include "util/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SL_TENANT_RULES_MAX = 240, /* of each list */
    SL_TENANT_NAME_MAX = 64,   /* bytes of a tenant, namespace, resource or model, with NUL */
    SL_TENANTS_MAX = 1024,     /* by labels of namespaces, too; further ones belong to the others */
};

#define SL_TENANT_OTHERS "others"

/* Weights are in millionths. */
#define SL_TENANT_WEIGHT_ONE INT64_C(1000000)
#define SL_TENANT_WEIGHT_MAX (INT64_C(1000000) * SL_TENANT_WEIGHT_ONE)

/* A tenant's share and caps. One that no entry names has the weight one, and no caps. */
struct sl_tenant_share {
    char tenant[SL_TENANT_NAME_MAX];
    int64_t weight;         /* of what is not guaranteed; 0: it has no share, and waits for what
                               others leave */
    int64_t max_running;    /* pods that hold units; 0: no cap */
    int64_t max_waiting;    /* pods in the queue; 0: no cap */
    int64_t max_timeout_us; /* 0: no cap */
    bool users;             /* each of its namespaces is a user, with an even part of the share */
};

struct sl_tenant_space {
    char namespace[SL_TENANT_NAME_MAX]; /* "team-a", or how names begin: "team-a-*" */
    char tenant[SL_TENANT_NAME_MAX];
};

/* Units of a resource: guaranteed, or the most that the tenant's pods may hold. */
struct sl_tenant_units {
    char tenant[SL_TENANT_NAME_MAX];
    char resource[SL_TENANT_NAME_MAX]; /* full name */
    char model[SL_TENANT_NAME_MAX];    /* value of the label nvidia.com/gpu.product; "" all */
    int64_t units;
};

struct sl_tenants {
    uint8_t n_shares;
    uint8_t n_spaces;
    uint8_t n_guarantees;
    uint8_t n_caps;
    int64_t borrow_max_timeout_us; /* longer runs of a tenant hold no more than its share; 0: off */
    bool reclaim; /* a pod that is due may preempt borrowed runs, though preemption is off */
    int64_t min_runtime_us;                   /* once they have run for so long; >= 0 */
    char label[2 * SL_TENANT_NAME_MAX + 192]; /* of Namespaces: its value is the tenant; "" none */
    struct sl_tenant_share share[SL_TENANT_RULES_MAX];
    struct sl_tenant_space space[SL_TENANT_RULES_MAX];
    struct sl_tenant_units guarantee[SL_TENANT_RULES_MAX];
    struct sl_tenant_units cap[SL_TENANT_RULES_MAX];
};

/* Units of a resource on nodes whose GPUs are of the model; "": on all. */
typedef int64_t (*sl_tenants_capacity_fn)(const void *context, const char *resource,
                                          const char *model);
/* -1: more is guaranteed than there is; the error names the key and both sums. */
int sl_tenants_check(const struct sl_tenants *tenants, sl_tenants_capacity_fn capacity,
                     const void *context, struct sl_error *err);

/* Is anything shared? Otherwise all is as without tenants. */
static inline bool sl_tenants_on(const struct sl_tenants *tenants)
{
    return tenants != NULL &&
           (tenants->n_shares > 0 || tenants->n_spaces > 0 || tenants->label[0] != '\0');
}

#endif
