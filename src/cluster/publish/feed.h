/* Reports changes of pods to the queue and to the watcher of all pods. */
#ifndef SLICED_CLUSTER_PUBLISH_FEED_H
#define SLICED_CLUSTER_PUBLISH_FEED_H

struct sl_pod;
struct sl_store;

/* Reports that the pod changed from old to next; NULL: no pod. Call it once the change stands. */
void sl_feed_tell(struct sl_store *store, struct sl_pod *old, struct sl_pod *next);

#endif
