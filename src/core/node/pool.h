/* Tells what a pool's units are, for the code that places pods on them. */
#ifndef SLICED_CORE_POOL_H
#define SLICED_CORE_POOL_H

#include "sliced/node.h"

/* True when the pool's units sit on instances, false when they sit on devices. */
bool sl_pool_on_instances(const struct sl_node *node, unsigned pool);

/* True when the node is repartitioned on demand and tells where the pool's instances are. */
bool sl_pool_is_remade(const struct sl_node *node, unsigned pool);

/* Returns the GPU memory of one unit of the pool, in MiB, on that device or that instance (an
 * index, else -1); both are -1 for a pool without on_devices. A replica without a share of its own
 * has all of its device's. 0: unknown. */
int64_t sl_node_unit_mib(const struct sl_node *node, unsigned pool, int device, int instance);

/* Returns the GPU memory of a unit on that instance, whose pool the node knows; MiB, 0: unknown. */
int64_t sl_memory_of_instance(const struct sl_node *node, unsigned instance);

#endif
