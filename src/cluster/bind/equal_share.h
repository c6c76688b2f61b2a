/* Pods that gpushare's device plugin cannot tell apart. */
#ifndef SLICED_CLUSTER_BIND_EQUAL_SHARE_H
#define SLICED_CLUSTER_BIND_EQUAL_SHARE_H

#include "cluster/store.h"

/* Finds a pod on the node which the plugin could take for this one: it waits for its GPU, asks for
 * as much, and was given another GPU. NULL: there is none. */
const struct sl_pod *sl_equal_share(const struct sl_store *store, const struct sl_view *view,
                                    const struct sl_ask *ask,
                                    const struct sl_assignment *assignment);

#endif
