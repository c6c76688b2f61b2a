/* Events (events.k8s.io/v1) on pods: what a user should know. Queued, aggregated into series, rate
 * limited; the queue is bounded and what does not fit is counted and dropped, never waited for. */
#ifndef SLICED_KUBE_EVENTS_H
#define SLICED_KUBE_EVENTS_H

#include "kube/client.h"

struct sl_events;

struct sl_events_options {
    struct sl_client *client;
    const char *controller; /* reportingController: "sliced.dev/scheduler" */
    const char *instance;   /* reportingInstance */
    double per_second;      /* over all pods */
    unsigned burst;
    int64_t
        repeat_us; /* the same (pod, reason, note) is told again after that long at the earliest */
    size_t max_queued;
    size_t max_remembered; /* (pod, reason) pairs for aggregation, least recently used go first */
};

struct sl_event_note {
    struct sl_str namespace; /* of the pod */
    struct sl_str name;
    struct sl_str uid;
    bool warning;       /* type Warning, else Normal */
    const char *reason; /* "Bound", "Waiting", ...: at most 128 */
    const char *action; /* "Binding", "Scheduling" */
    const char *note;   /* a sentence, at most 1,024 bytes */
};

struct sl_events *sl_events_new(const struct sl_events_options *options, struct sl_error *err);
void sl_events_free(struct sl_events *events); /* what is queued is dropped */

/* Queues a note; any thread; never blocks. */
void sl_events_tell(struct sl_events *events, const struct sl_event_note *note);

struct sl_events_stats {
    uint64_t sent, aggregated, dropped, failed;
};
void sl_events_stats(struct sl_events *events, struct sl_events_stats *out);

#endif
