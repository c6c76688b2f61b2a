/* Extended resources that DeviceClasses offer (Dynamic Resource Allocation, KEP-5004): where no
 * node's device plugin offers such a resource, kube-scheduler allocates devices for it. sliced does
 * not schedule those; it knows their names, so that it does not call them offered by nobody. */
#ifndef SLICED_DRA_H
#define SLICED_DRA_H

#include "sliced/ask.h"

enum { SL_DRA_MAX = 64 }; /* more names are left out */

struct sl_dra {
    uint32_t n;
    uint64_t key[SL_DRA_MAX]; /* as in struct sl_resource */
};

/* Adds a class' spec.extendedResourceName, unless it is none that sliced schedules or is there. */
void sl_dra_add(struct sl_dra *dra, struct sl_str resource);

bool sl_dra_offers(const struct sl_dra *dra, uint64_t key);

/* True when both name the same resources in the same order. */
bool sl_dra_same(const struct sl_dra *a, const struct sl_dra *b);

#endif
