/* Nominations: devices that the plan has set aside for a pod whose turn has come. */
#ifndef SLICED_CLUSTER_BIND_NOMINATIONS_H
#define SLICED_CLUSTER_BIND_NOMINATIONS_H

struct sl_host_entry;
struct sl_store;

/* Gives back what is nominated there; publishes nothing. */
void sl_nominations_leave(struct sl_store *store, struct sl_host_entry *host);

#endif
