/* Pods: removal, for sweeps and the store's end. */
#ifndef SLICED_CLUSTER_CHANGE_PODS_H
#define SLICED_CLUSTER_CHANGE_PODS_H

struct sl_entry;
struct sl_store;

/* The pod is no longer known; publishes, frees the entry. */
void sl_entry_remove(struct sl_store *store, struct sl_entry *entry);
/* Frees an entry that no table and list holds, and takes it off its namespace's count. */
void sl_entry_free(struct sl_store *store, struct sl_entry *entry);

#endif
