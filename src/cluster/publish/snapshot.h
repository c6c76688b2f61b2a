/* The published snapshot. */
#ifndef SLICED_CLUSTER_PUBLISH_SNAPSHOT_H
#define SLICED_CLUSTER_PUBLISH_SNAPSHOT_H

struct sl_shared_snapshot;
struct sl_store;

/* Brings views up to date and publishes, unless a batch is open or nothing has changed. -1: out of
 * memory; the old snapshot stays published until a later call succeeds. */
int sl_store_settle(struct sl_store *store);
void sl_shared_snapshot_free(struct sl_shared_snapshot *shared);

#endif
