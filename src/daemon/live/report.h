/* Reports the state of the connection to a real cluster. */
#ifndef SLICED_DAEMON_LIVE_REPORT_H
#define SLICED_DAEMON_LIVE_REPORT_H

#include "daemon/live/parts.h"

/* Writes members of /api/v1/state; context is the cluster. */
void sl_cluster_state(void *context, struct sl_writer *w);
/* The last one has no rows. */
extern const struct sl_metric_table sl_cluster_metrics[];
/* As struct sl_hooks has it; context is the cluster. */
void sl_cluster_write_metrics(void *context, struct sl_buf *out);

#endif
