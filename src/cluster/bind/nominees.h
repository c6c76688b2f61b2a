/* Pods that kube-scheduler has nominated to nodes. */
#ifndef SLICED_CLUSTER_NOMINEES_H
#define SLICED_CLUSTER_NOMINEES_H

#include "cluster/store.h"

/* As sl_store_nominees(), borrowed, with the lock held; node: those of that node alone, NULL: of
 * any. */
size_t sl_nominees_list(const struct sl_store *store, const struct sl_pod *pod, const char *node,
                        struct sl_pod *out[SL_NOMINEES_MAX]);

#endif
