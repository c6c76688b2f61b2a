/* Events (events.k8s.io/v1) on pods, for their users, and on nodes, for operators. They are queued,
 * aggregated into series and rate limited; an Event that does not fit into the bounded queue is
 * counted and dropped, never waited for. */
#ifndef SLICED_KUBE_EVENTS_H
#define SLICED_KUBE_EVENTS_H

#include "kube/client/client.h"

struct sl_events;

struct sl_events_options {
    struct sl_client *client;
    const char *controller; /* reportingController: "sliced.dev/scheduler" */
    const char *instance;   /* reportingInstance, at most 128 bytes; longer ones are cut */
    double per_second;      /* over all objects; 0: no limit */
    unsigned burst;
    int64_t repeat_us; /* the same (object, reason, note) is told again after that long at the
                        * earliest, as a series; another note is a new Event at once */
    size_t max_queued; /* waiting to be sent: of those that go ahead, and of the others. Each
                        * namespace has a share of it, and its turn */
    size_t
        max_remembered; /* (object, reason) pairs for aggregation, least recently used go first */
};

enum sl_event_kind { SL_EVENT_POD, SL_EVENT_NODE };

struct sl_event_note {
    enum sl_event_kind kind; /* of the object that it is about */
    struct sl_str namespace; /* of the pod; a node has none */
    struct sl_str name;
    struct sl_str uid; /* of a node it may be empty: then its name stands for it, as the kubelet's
                        * own Events have it */
    bool warning;      /* type Warning, else Normal; goes ahead */
    bool ahead;        /* goes ahead of Normal ones without this that wait to be sent, too */
    bool once; /* named by object and reason: while the API server keeps such an Event (an hour), it
                * takes no second one, not from another replica either */
    const char *reason; /* "Bound", "Waiting", ...: at most 128 */
    const char *action; /* "Binding", "Scheduling": at most 128 */
    const char *note;   /* a sentence, at most 1,024 bytes; a longer one is cut */
};

/* The client must outlive it; text is copied. */
struct sl_events *sl_events_new(const struct sl_events_options *options, struct sl_error *err);

/* Drops queued Events. Not on the client's thread. NULL is allowed. */
void sl_events_free(struct sl_events *events);

/* Queues a note; any thread; never blocks on the network. False: there was no place for it. */
bool sl_events_tell(struct sl_events *events, const struct sl_event_note *note);

/* Every note told ends as one of these, sooner or later. */
struct sl_events_stats {
    uint64_t sent;       /* Events created, and series patched */
    uint64_t aggregated; /* counted in a series, or overtaken by a newer note before it was sent */
    uint64_t dropped;    /* queue or memory full */
    uint64_t failed;     /* the API server did not take it */
};
void sl_events_stats(struct sl_events *events, struct sl_events_stats *out);

#endif
