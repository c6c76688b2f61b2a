/* Pods that kube-scheduler has nominated to nodes. */
#ifndef SLICED_CLUSTER_NOMINEES_H
#define SLICED_CLUSTER_NOMINEES_H

#include "cluster/store.h"

/* As sl_nominees_on() of sl_store_nominees(), with the lock held. Returns how many. */
size_t sl_nominees_list(const struct sl_store *store, const struct sl_pod *pod, const char *node,
                        struct sl_pod *out[SL_NOMINEES_MAX]);

#endif
