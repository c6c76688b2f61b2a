/* The parts of the connection to a real cluster. Private to this room. */
#ifndef SLICED_DAEMON_LIVE_PARTS_H
#define SLICED_DAEMON_LIVE_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "daemon/live/cluster.h"
#include "daemon/live/idlers.h"
#include "daemon/live/unqueued.h"
#include "daemon/live/waiting.h"
#include "daemon/queue/queue.h"
#include "kube/client/client.h"
#include "kube/dra/classes.h"
#include "kube/lease/leader_label.h"
#include "kube/lease/lease.h"
#include "kube/watch/fetch.h"
#include "kube/watch/front_proxy.h"
#include "kube/watch/jobs.h"
#include "kube/watch/sync.h"
#include "kube/watch/unhealthy.h"
#include "kube/write/binder.h"
#include "kube/write/events.h"

enum { SL_IDENTITY_MAX = 200, SL_LEADERSHIP_MAX = 300 };

struct sl_cluster {
    struct sl_cluster_options options;
    struct sl_config config;
    struct sl_config_selector selector; /* of actuators */
    struct sl_actuator_rule actuators;
    char identity[SL_IDENTITY_MAX];
    struct sl_client *client;
    struct sl_lease *lease;        /* NULL: leader election is off, or it was stopped */
    struct sl_leader_label *label; /* NULL: no pod is labelled */
    struct sl_kube_binder *binder;
    struct sl_fetcher *fetcher;
    struct sl_releaser *releaser;
    struct sl_unqueued unqueued;
    struct sl_queue_worker *worker;      /* NULL: queue.enabled is false */
    struct sl_stage_tracker *stages;     /* as the worker */
    struct sl_front_proxy_reader *front; /* NULL: server.visibilityListen is empty */
    struct sl_dra_classes *classes;
    char front_told[384];          /* what was last wrong with it; of the client's thread alone */
    struct sl_kube_cutter *cutter; /* NULL: partitioning.enabled is false */
    struct sl_partitioner *partitioner; /* as the cutter */
    struct sl_idlers *idlers;           /* NULL: events are off, or telemetry; its thread's alone */
    struct sl_waiting *waiting;         /* NULL: there is a queue, or events are off */
    _Atomic uint64_t leaderships;       /* how often leadership came */
    _Atomic bool stopping;              /* does not lead, whatever the lease says */
    _Atomic bool elected;               /* as last told; sl_lease_held is asked beside it */
    struct sl_histogram delay;          /* from event to snapshot */
    pthread_mutex_t lock;               /* guards what follows */
    struct sl_events *events;           /* NULL: off; changed at the end alone */
    struct sl_unhealthy *unhealthy;     /* NULL: gpushare.unhealthyGpus is false; as events */
    struct sl_namespaces *namespaces;   /* NULL: queue.enabled is false; as events */
    struct sl_sync *sync;               /* NULL: not yet, or being made anew */
    uint64_t leadership;       /* the last one in which sync showed all decisions of those before */
    struct sl_sync_stats past; /* of those before it */
    struct sl_buf found;       /* the tenants' record on the lease as it was taken last */
    struct sl_buf kept;        /* the record as the queue's thread gave it last, */
    uint64_t kept_in;          /* in that leadership; 0: not yet */
    /* of the main thread alone */
    char led_as[SL_LEADERSHIP_MAX]; /* sl_lease_leadership of that leadership; empty: not led yet */
    int64_t started_ns;             /* monotonic */
    int64_t round_ns;               /* of the last look at waiting pods */
    struct sl_jobs *jobs;           /* NULL: no pod waits for a Job */
    int64_t jobs_ns;                /* when a pod last waited for a Job */
};

#endif
