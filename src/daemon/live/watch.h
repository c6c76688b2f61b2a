/* The watch of a real cluster, and whether it shows enough to decide on. */
#ifndef SLICED_DAEMON_LIVE_WATCH_H
#define SLICED_DAEMON_LIVE_WATCH_H

#include "daemon/live/parts.h"

/* Says what is missing before this replica may decide; NULL: nothing. cluster is a struct
 * sl_cluster: struct sl_hooks has these as they are. */
const char *sl_cluster_missing(void *cluster);

/* The same, whoever leads: what is missing before this replica could take the lead over. */
const char *sl_cluster_unsynced(void *cluster);

/* Sums over all watches since the start. Returns sl_sync_missing's text, or why there is no watch.
 */
const char *sl_cluster_sync_stats(struct sl_cluster *cluster, struct sl_sync_stats *out);

/* The configured times of lists and watches. */
struct sl_reflector_times sl_cluster_watch_times(const struct sl_cluster *cluster);

/* Begins the watch; begins it anew when this replica has come to lead: a new leader's snapshot must
 * show all decisions of the one before, and a watch may lag, so that only a new list is sure to
 * have them. On the main thread. */
void sl_cluster_look_anew(struct sl_cluster *cluster);

/* Ends the watch and keeps its counts. */
void sl_cluster_end_watch(struct sl_cluster *cluster);

/* Watches Jobs while some pod waits for one. On the main thread. */
void sl_cluster_follow_jobs(struct sl_cluster *cluster);

#endif
