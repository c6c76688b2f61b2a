/* Taking devices for a pod. */
#ifndef SLICED_CLUSTER_BIND_TAKE_H
#define SLICED_CLUSTER_BIND_TAKE_H

#include "cluster/bind/refuse.h"
#include "cluster/state/host.h"

/* The known node that the call names, with its view up to date; NULL: the result says why not. */
struct sl_host_entry *sl_bind_host(struct sl_store *store, const struct sl_bind *bind,
                                   struct sl_bind_result *result);
/* Makes result->assignment on that node part of the pod's state and publishes. Withdraws a
 * nomination of the pod. False: out of memory, as the result says; nothing changed. */
bool sl_bind_take(struct sl_store *store, struct sl_entry *entry, struct sl_host_entry *host,
                  bool nomination, int64_t now_us, struct sl_bind_result *result);

#endif
