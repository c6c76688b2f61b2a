/* Pods that ask for nothing of ours. These functions publish nothing. */
#ifndef SLICED_CLUSTER_CHANGE_OTHERS_H
#define SLICED_CLUSTER_CHANGE_OTHERS_H

#include "sliced/pod.h"
#include "util/error.h"

struct sl_store;

/* -1: out of memory, nothing is changed. */
int sl_others_put(struct sl_store *store, const struct sl_pod *pod, struct sl_error *err);
/* False: it was not there. */
bool sl_others_drop(struct sl_store *store, struct sl_str ns, struct sl_str name);
/* The running sweep leaves it. */
void sl_others_keep(struct sl_store *store, struct sl_str ns, struct sl_str name);
/* Drops pods that the list did not name, and pods on nodes that turned out to have no GPUs. from:
 * see sl_store.sweep_from; 0: no list. */
void sl_others_sweep(struct sl_store *store, uint64_t from);
void sl_others_free(struct sl_store *store);

#endif
