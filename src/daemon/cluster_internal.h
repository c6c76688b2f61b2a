/* Private to the daemon's side towards a cluster. */
#ifndef SLICED_DAEMON_CLUSTER_INTERNAL_H
#define SLICED_DAEMON_CLUSTER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "daemon/cluster.h"
#include "daemon/queue.h"
#include "daemon/waiting.h"
#include "kube/binder.h"
#include "kube/client.h"
#include "kube/events.h"
#include "kube/fetch.h"
#include "kube/jobs.h"
#include "kube/lease.h"
#include "kube/sync.h"
#include "kube/unhealthy.h"

enum { SL_IDENTITY_MAX = 200, SL_TERM_MAX = 300 };

struct sl_cluster {
    struct sl_cluster_options options;
    struct sl_config config;
    char identity[SL_IDENTITY_MAX];
    struct sl_client *client;
    struct sl_lease *lease; /* NULL: leader election is off, or it was stopped */
    struct sl_kube_binder *binder;
    struct sl_fetcher *fetcher;
    struct sl_releaser *releaser;
    struct sl_queuer *queuer;       /* NULL: queue.enabled is false */
    struct sl_stager *stages;       /* as the queuer */
    struct sl_waiting *waiting;     /* NULL: there is a queue, or events are off */
    _Atomic uint64_t terms;         /* how often leadership came */
    _Atomic bool stopping;          /* leads no more, whatever the lease says */
    _Atomic bool elected;           /* as last told; sl_lease_held is asked beside it */
    struct sl_histogram delay;      /* from event to snapshot */
    pthread_mutex_t lock;           /* guards what follows */
    struct sl_events *events;       /* NULL: off; changed at the end alone */
    struct sl_unhealthy *unhealthy; /* NULL: gpushare.unhealthyGpus is false; as events */
    struct sl_sync *sync;           /* NULL: not yet, or being made anew */
    uint64_t term; /* the last one in which sync was known to show all of the terms before */
    struct sl_sync_stats past; /* of those before it */
    /* of the main thread alone */
    char led_as[SL_TERM_MAX]; /* sl_lease_term of that term; empty: not led yet */
    int64_t started_ns;       /* monotonic */
    int64_t round_ns;         /* of the last look at waiting pods */
    struct sl_jobs *jobs;     /* NULL: nobody waits for a Job */
    int64_t jobs_ns;          /* when somebody did last */
};

/* Holds the lease, or needs none. */
bool sl_cluster_leads(struct sl_cluster *cluster);

/* What is missing before it may decide; NULL: nothing. */
const char *sl_cluster_missing(struct sl_cluster *cluster);

/* All since the start; where it stands now. sl_sync_missing's text, or why there is no watch. */
const char *sl_cluster_sync_stats(struct sl_cluster *cluster, struct sl_sync_stats *out);

void sl_cluster_add_stats(struct sl_sync_stats *sum, const struct sl_sync_stats *more);

/* Makes the releaser and the queue, when it is configured; try_us: of one call. */
int sl_cluster_make_queue(struct sl_cluster *cluster, int64_t try_us, struct sl_error *err);

/* What the configuration says of lists and watches. */
struct sl_reflector_times sl_cluster_watch_times(const struct sl_cluster *cluster);

/* Watches Jobs while somebody waits for one. On the main thread. */
void sl_cluster_follow_jobs(struct sl_cluster *cluster);

/* Queues an Event; context is the cluster. False: there was no place for it. */
bool sl_cluster_tell(void *context, const struct sl_event_note *note);

/* Members of /api/v1/state, and metrics. */
void sl_cluster_state(void *context, struct sl_writer *w);
void sl_cluster_metrics(void *context, struct sl_buf *out);

#endif
