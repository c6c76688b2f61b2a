/* Who the tenants are, and how many units each has. */
#ifndef SLICED_CORE_TENANT_H
#define SLICED_CORE_TENANT_H

#include "sliced/tenant.h"
#include "util/data/map.h"

struct sl_tenancy;

struct sl_tenant {
    char name[SL_TENANT_NAME_MAX];
    const struct sl_tenant_share *share; /* the weight one and no caps, where none is configured */
    uint32_t index;                      /* < SL_TENANTS_MAX, and never another's */
    size_t waiting;                      /* pods in the queue */
    size_t running;                      /* pods that hold units, nominated ones too */
    size_t capped;                       /* pods that wait until there are fewer in the queue */
};

/* Copies the configuration. NULL: out of memory. */
struct sl_tenancy *sl_tenancy_new(const struct sl_tenants *tenants);
void sl_tenancy_free(struct sl_tenancy *tenancy); /* NULL is allowed */
const struct sl_tenants *sl_tenancy_config(const struct sl_tenancy *tenancy);

/* The tenant of a namespace. Without memory, and beyond SL_TENANTS_MAX, that of the others. */
struct sl_tenant *sl_tenancy_of(struct sl_tenancy *tenancy, const char *namespace);
/* The same, but NULL where it would be the first of the others, and changes nothing. */
struct sl_tenant *sl_tenancy_find(const struct sl_tenancy *tenancy, const char *namespace);
/* The label of the Namespace names the tenant; "": it has none. 1: that makes a difference to
 * sl_tenancy_of(); -1: out of memory. */
int sl_tenancy_label(struct sl_tenancy *tenancy, struct sl_str namespace, struct sl_str tenant);

/* The same for all that another tenancy was told. -1: out of memory. */
int sl_tenancy_relabel(struct sl_tenancy *tenancy, const struct sl_tenancy *from);

/* The tenants by index, and how many: there are more with namespaces of further ones. */
size_t sl_tenancy_count(const struct sl_tenancy *tenancy);
struct sl_tenant *sl_tenancy_at(const struct sl_tenancy *tenancy, size_t index);

/* Where some guarantee of the resource names the model: the name, which lasts as long as the
 * configuration; NULL: none does. model may be NULL or "". */
const char *sl_tenancy_model(const struct sl_tenancy *tenancy, const char *resource,
                             const char *model);
/* The tenant's part of a resource's units, in millionths of one: what is guaranteed, and by its
 * weight of the rest; no more than its cap. Guarantees beyond the capacity shrink alike. Of a model
 * guarantees that name it count alone; model "": all. */
int64_t sl_tenancy_part(const struct sl_tenancy *tenancy, const struct sl_tenant *tenant,
                        const char *resource, const char *model, int64_t capacity);
/* The most units that its pods may hold; INT64_MAX: no cap. */
int64_t sl_tenancy_cap(const struct sl_tenancy *tenancy, const struct sl_tenant *tenant,
                       const char *resource);
/* The units that are guaranteed to it. */
int64_t sl_tenancy_guarantee(const struct sl_tenancy *tenancy, const struct sl_tenant *tenant,
                             const char *resource, const char *model);
/* The sum of all guarantees of the resource. */
int64_t sl_tenancy_guaranteed(const struct sl_tenancy *tenancy, const char *resource,
                              const char *model);

#endif
