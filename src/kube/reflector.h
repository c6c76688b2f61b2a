/* Keeps a picture of one kind of object: paged list, then watch from its resourceVersion with
 * bookmarks. Objects are decoded as they stream in, one at a time. 410 lists anew; a broken watch
 * goes on from the last version seen, after a backoff with jitter; a silent one is replaced. */
#ifndef SLICED_KUBE_REFLECTOR_H
#define SLICED_KUBE_REFLECTOR_H

#include "codec/object.h"
#include "kube/client.h"

enum sl_watch_event { SL_WATCH_ADDED, SL_WATCH_MODIFIED, SL_WATCH_DELETED };

/* What the reflector tells, all on the client's thread. */
struct sl_reflector_calls {
    void *context;
    /* A list begins: objects until listed() are the whole truth, others are gone. */
    void (*list_begin)(void *context);
    /* An object, of a list (ADDED) or a watch. -1 with *err: the object is skipped and counted. */
    int (*object)(void *context, enum sl_watch_event event, const struct sl_object *object,
                  struct sl_error *err);
    /* A list is complete (ok), or was given up half way (not ok: keep what you had). */
    void (*listed)(void *context, bool ok);
};

struct sl_reflector_options {
    struct sl_client *client;
    const char *name;   /* for logs and metrics: "pods" */
    const char *path;   /* "/api/v1/pods" */
    const char *query;  /* selectors, already encoded, or NULL */
    unsigned page;      /* limit= of a list page; 500 */
    int64_t watch_us;   /* timeoutSeconds asked of the server; jittered by up to as much again */
    int64_t silence_us; /* a watch with nothing, not even a bookmark, for that long is replaced */
    int64_t backoff_us, backoff_max_us;
    struct sl_text_limits limits; /* of one object */
    struct sl_reflector_calls calls;
};

struct sl_reflector;
struct sl_reflector *sl_reflector_start(const struct sl_reflector_options *options,
                                        struct sl_error *err);
/* Ends its calls; none of its callbacks runs after it returns. Not on the client's thread. */
void sl_reflector_stop(struct sl_reflector *reflector);

struct sl_reflector_stats {
    bool synced; /* a list was complete and nothing since says otherwise */
    uint64_t lists, watches, events, bookmarks, skipped, expired, failures;
    int64_t last_event_us; /* Unix microseconds */
};
void sl_reflector_stats(struct sl_reflector *reflector, struct sl_reflector_stats *out);

#endif
