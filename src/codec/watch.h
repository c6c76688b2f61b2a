/* Lists, page by page, and watches of one kind of object, as the API server streams them. Holds
 * one object at a time. Skips the part of an object that it cannot read and tells it with the
 * object, which it never drops: users write most of it. */
#ifndef SLICED_CODEC_WATCH_H
#define SLICED_CODEC_WATCH_H

#include "codec/object.h"

enum sl_watch_event {
    SL_WATCH_ADDED,
    SL_WATCH_MODIFIED,
    SL_WATCH_DELETED,
    SL_WATCH_BOOKMARK,
    SL_WATCH_ERROR,
    SL_WATCH_EVENTS,
};

/* The Status that an ERROR event carries; 0 and empty where it says nothing. */
struct sl_watch_status {
    int32_t code;
    struct sl_str reason; /* "Expired" */
    struct sl_str message;
};

/* One event of a watch, or one object of a list (ADDED). Valid during the call. */
struct sl_watch_item {
    enum sl_watch_event event;
    struct sl_str resource_version; /* empty when it could not be read */
    struct sl_str namespace;        /* of the object, where they could be read */
    struct sl_str name;
    const struct sl_object *object;       /* ADDED, MODIFIED, DELETED without a problem */
    const struct sl_watch_status *status; /* ERROR */
    /* Why the event cannot be used; object and status are NULL then: it is no event, is of another
     * kind, or its object has no name. Other parts that cannot be read are the object's own
     * problem. NULL: none. */
    const struct sl_error *problem;
    bool lost; /* with problem: a part of the stream was passed over */
};

/* Returns 0 to go on, -1 with *err set to end the stream. */
typedef int (*sl_watch_fn)(void *context, const struct sl_watch_item *item, struct sl_error *err);

/* How a list page ended. Text is valid until the decoder is reset. */
struct sl_list_meta {
    struct sl_str resource_version; /* never empty */
    struct sl_str next;             /* metadata.continue; empty: this was the last page */
    int64_t remaining;              /* metadata.remainingItemCount; 0 when not said */
};

enum sl_watch_form { SL_WATCH_LIST, SL_WATCH_STREAM };

struct sl_watch;

/* Reads objects of that kind; the items of a list do not say what they are. limits->max_bytes
 * bounds a whole page of a list, or one event of a watch; max_string one text that is kept (a
 * user's annotation may have 256 KiB). NULL when out of memory. */
struct sl_watch *sl_watch_new(enum sl_watch_form form, enum sl_object_kind kind,
                              const struct sl_text_limits *limits, sl_watch_fn receive,
                              void *context);
void sl_watch_free(struct sl_watch *watch); /* NULL is allowed */

/* Back to the beginning, keeping memory, for the next page or stream. */
void sl_watch_reset(struct sl_watch *watch);

/* Takes a piece of any size. 0, or -1 with *err set: out of memory, an error of receive, or a
 * page that is no JSON or beyond a limit; a watch skips such a line instead. Fails the same way
 * until it is reset. */
int sl_watch_feed(struct sl_watch *watch, const char *data, size_t len, struct sl_error *err);

/* The page or stream has ended: -1 when it is not complete, or no list of these objects. *meta (may
 * be NULL) is set for a list. */
int sl_watch_finish(struct sl_watch *watch, struct sl_list_meta *meta, struct sl_error *err);

#endif
