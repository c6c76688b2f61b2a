/* Events on pods of a real cluster. */
#ifndef SLICED_DAEMON_LIVE_EVENTS_H
#define SLICED_DAEMON_LIVE_EVENTS_H

#include "daemon/live/parts.h"

/* Makes the events where they are on, and the watcher of waiting pods where there is no queue. */
int sl_cluster_make_events(struct sl_cluster *cluster, struct sl_error *err);

/* Queues an Event; context is the cluster. False: the queue of Events was full. */
bool sl_cluster_tell(void *context, const struct sl_event_note *note);

/* Tells the owner that the pod was bound; context is the cluster. */
void sl_cluster_tell_bound(void *context, const struct sl_binding *binding);

#endif
