/* Leadership: tells by the lease whether this replica may decide. */
#ifndef SLICED_DAEMON_LIVE_LEADERSHIP_H
#define SLICED_DAEMON_LIVE_LEADERSHIP_H

#include "daemon/live/parts.h"

/* Begins to compete for the lease where leader election is on. */
int sl_cluster_start_lease(struct sl_cluster *cluster, struct sl_error *err);

/* Does this replica hold the lease, or need none? */
bool sl_cluster_leads(struct sl_cluster *cluster);

/* The present leadership, counted from 1; 0: this replica does not lead. */
uint64_t sl_cluster_leadership(struct sl_cluster *cluster);

/* Why this replica does not lead; NULL: it leads. */
const char *sl_cluster_missing_leader(struct sl_cluster *cluster);

/* Writes the identity of another replica that leads; empty: none is known. context is the
 * cluster. */
void sl_cluster_leader(void *context, char *out, size_t size);

/* Writes sl_lease_leadership of the present leadership; empty: this replica does not lead. */
void sl_cluster_name_leadership(const struct sl_cluster *cluster, char out[SL_LEADERSHIP_MAX]);

/* The record of the tenants' shares that leaders leave on the lease, as struct
 * sl_queue_worker_options has it. context is the cluster. */
void sl_cluster_keep_record(void *context, uint64_t leadership, struct sl_str text);
void sl_cluster_find_record(void *context, struct sl_buf *out);

#endif
