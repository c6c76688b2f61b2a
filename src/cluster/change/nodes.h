/* Nodes: removal, for sweeps. */
#ifndef SLICED_CLUSTER_CHANGE_NODES_H
#define SLICED_CLUSTER_CHANGE_NODES_H

struct sl_host_entry;
struct sl_store;

/* The node is no longer known; publishes. */
void sl_host_forget(struct sl_store *store, struct sl_host_entry *host);

#endif
