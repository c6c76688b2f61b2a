/* Keeps a picture of one kind of object: paged list, then watch from its resourceVersion with
 * bookmarks. Objects are decoded as they stream in, one at a time. 410 lists anew; a broken watch
 * goes on from the last version seen, after a backoff with jitter; a silent one is replaced. */
#ifndef SLICED_KUBE_REFLECTOR_H
#define SLICED_KUBE_REFLECTOR_H

#include "codec/watch.h"
#include "kube/client/client.h"

/* Called by the reflector, all on the client's thread. */
struct sl_reflector_calls {
    void *context;
    /* A list begins: objects until listed() are the whole truth, others are gone. May be NULL. */
    void (*list_begin)(void *context);
    /* An object, of a list (ADDED) or a watch (ADDED, MODIFIED, DELETED). received_us: when it came
     * in (monotonic). -1 with *err: the object is skipped and counted, or, when memory is short,
     * told again with the next list or watch. */
    int (*object)(void *context, const struct sl_watch_item *item, int64_t received_us,
                  struct sl_error *err);
    /* An object was skipped, by the decoder (item->object is NULL) or by object(): nobody knows how
     * it stands. Its name may be empty. May be NULL. */
    void (*skipped)(void *context, const struct sl_watch_item *item, const struct sl_error *why);
    /* A list is complete (ok), or was given up half way (not ok: keep what you had). */
    void (*listed)(void *context, bool ok);
};

/* Sizes and times of its calls. */
struct sl_reflector_times {
    unsigned page;      /* limit= of a list page; 500 */
    int64_t page_us;    /* a page takes that long at most */
    int64_t watch_us;   /* timeoutSeconds asked of the server; jittered by up to as much again */
    int64_t silence_us; /* a watch without an event or a bookmark for that long is replaced,
                         * whatever bytes came; after a second one a list asks how things stand */
    int64_t backoff_us, backoff_max_us;
};

/* Text is copied. */
struct sl_reflector_options {
    struct sl_client *client;
    enum sl_object_kind kind; /* Node, Pod, Job, ConfigMap or Namespace */
    const char *name;         /* for logs and metrics: "pods" */
    const char *path;         /* "/api/v1/pods" */
    const char *query;        /* selectors, already encoded, or NULL */
    struct sl_reflector_times times;
    struct sl_text_limits limits; /* of one object; max_string: of one text of it that is kept */
    struct sl_reflector_calls calls;
};

struct sl_reflector;
struct sl_reflector *sl_reflector_start(const struct sl_reflector_options *options,
                                        struct sl_error *err);
/* Ends its calls; none of its callbacks runs after it returns. Neither on the client's thread nor
 * from a callback. The client may have been freed before, not meanwhile. NULL is allowed. */
void sl_reflector_stop(struct sl_reflector *reflector);

enum { SL_REFLECTOR_TROUBLE_MAX = 160 };

struct sl_reflector_stats {
    bool synced;     /* a list was complete and nothing since says otherwise (a 410 does) */
    uint64_t lists;  /* begun */
    uint64_t listed; /* complete */
    uint64_t watches, events, bookmarks, skipped, expired, failures;
    int64_t last_event_us; /* Unix microseconds of the last event, bookmark or complete list */
    int64_t news_us;       /* the same, monotonic */
    int64_t lost_us;       /* Unix microseconds: not synced since then */
    char trouble[SL_REFLECTOR_TROUBLE_MAX]; /* why the last try failed; empty: news came since */
};
/* Any thread, also from a callback. */
void sl_reflector_stats(struct sl_reflector *reflector, struct sl_reflector_stats *out);

#endif
