/* The queue on a real cluster. */
#ifndef SLICED_DAEMON_LIVE_QUEUE_H
#define SLICED_DAEMON_LIVE_QUEUE_H

#include "daemon/live/parts.h"

/* Makes the releaser and the queue, where it is configured; try_us: of one call. */
int sl_cluster_make_queue(struct sl_cluster *cluster, int64_t try_us, struct sl_error *err);

#endif
