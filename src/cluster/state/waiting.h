/* The order of waiting pods. */
#ifndef SLICED_CLUSTER_STATE_WAITING_H
#define SLICED_CLUSTER_STATE_WAITING_H

#include "cluster/state/entry.h"

/* Appends the pod to the waiting ones. */
void sl_waiting_add(struct sl_store *store, struct sl_entry *entry);
void sl_waiting_remove(struct sl_store *store, struct sl_entry *entry);
/* Puts store->waiting in order of creation time and UID. */
void sl_waiting_sort(struct sl_store *store);

#endif
