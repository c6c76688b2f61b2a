/* A change of one object on the API server: written, and written again, until it is known how it
 * ended. When an answer leaves that open, the object is read; nothing is guessed. One call or one
 * timer at a time carries a change on, on the client's thread; only its first call is the caller's.
 */
#ifndef SLICED_KUBE_CHANGE_H
#define SLICED_KUBE_CHANGE_H

#include <stdatomic.h>

#include "codec/object.h"
#include "kube/client/client.h"

/* The next step of a change, or its end. */
enum sl_change_turn {
    /* the change ends */
    SL_CHANGE_DONE,
    SL_CHANGE_GONE,    /* the object is gone or was made anew, or the like */
    SL_CHANGE_REFUSED, /* surely not carried out: the API server does not take it of this object */
    SL_CHANGE_FAILED,  /* surely not carried out */
    SL_CHANGE_UNKNOWN, /* it may have been carried out, or may yet */
    SL_CHANGE_ENDS,
    /* it goes on */
    SL_CHANGE_WRITE = SL_CHANGE_ENDS,
    SL_CHANGE_WRITE_LATER, /* after a delay, doubled each time */
    SL_CHANGE_READ,
    SL_CHANGE_READ_LATER,
};

struct sl_change_options {
    struct sl_client *client;
    /* Asked before each write: does this replica lead, and has it not lost the lead since that
     * leadership? Any thread. NULL: it does. */
    bool (*leads)(void *context, uint64_t leadership);
    void *context;
    int64_t timeout_us; /* of one change, all tries and reads */
    int64_t try_us; /* of one call, its waiting for the rate limit included: a write that leads()
                     * allowed is not sent later than that */
    int64_t backoff_us; /* before a repetition, doubled for each */
    int64_t backoff_max_us;
};

/* The changes of one owner. */
struct sl_changes {
    struct sl_change_options options;
    atomic_int_least64_t timeout_us; /* of the changes that begin from now on */
    atomic_uint_least64_t ends[SL_CHANGE_ENDS];
    atomic_uint_least64_t writes;
    atomic_uint_least64_t reads;
    atomic_uint_least64_t repeats; /* of calls, after the first try */
    atomic_uint in_flight;
};

void sl_changes_init(struct sl_changes *changes, const struct sl_change_options *options);
bool sl_changes_lead(const struct sl_changes *changes, uint64_t leadership);

struct sl_change;

/* How a kind of change is made. */
struct sl_change_kind {
    enum sl_call_priority priority;
    enum sl_object_kind object; /* a pod, a node or a ConfigMap */
    bool reads_on;        /* after its leadership is lost: still reads how an earlier write ended */
    bool waits_for_place; /* a full queue of calls is tried again; else it gives up */
    /* Writes the body, and of *call what is special (method PATCH is set); the path's end. NULL:
     * the path is that of all objects of the kind, as a POST that makes one has it. */
    const char *(*write)(struct sl_change *change, struct sl_call_options *call,
                         struct sl_buf *body);
    /* Judges the answer to a write. If it is no success, change->err says why. */
    enum sl_change_turn (*answered)(struct sl_change *change, const struct sl_reply *reply);
    /* Judges how the object stands, a pod or a node, which has that UID. */
    enum sl_change_turn (*judge)(struct sl_change *change, const struct sl_object *object);
    /* Judges the text of an object of another kind. SL_CHANGE_READ_LATER with *err: it cannot be
     * read. NULL: judge takes it. */
    enum sl_change_turn (*read)(struct sl_change *change, struct sl_str text, struct sl_error *err);
    /* Judges that there is no such object. NULL: the change ends as GONE. */
    enum sl_change_turn (*absent)(struct sl_change *change);
    /* Notes the end, before the change is counted out. NULL: there is nothing to note. */
    void (*ending)(struct sl_change *change, enum sl_change_turn end);
    /* Tells of the end, exactly once; the change is freed behind it. */
    void (*ended)(struct sl_change *change, enum sl_change_turn end);
};

/* The first member of a struct that its owner allocates; it is freed at the end. */
struct sl_change {
    struct sl_changes *changes;
    const struct sl_change_kind *kind;
    struct sl_str namespace, name, uid; /* in the same memory; uid empty: whichever it is */
    uint64_t leadership;                /* in which it was decided: in another nothing is written */
    bool maybe;                         /* a write may have been carried out, or may yet */
    bool unread;                        /* only the object can tell what the last answer meant */
    struct sl_error err;                /* why it is not done yet */
    unsigned tries;                     /* repetitions since the last progress */
    int64_t deadline_us;                /* monotonic */
    int64_t try_end_us;                 /* of the call under way, monotonic */
    uint64_t jitter;                    /* seed */
};

/* Allocates a struct of that size, zeroed, which begins with a change, and copies of the n texts
 * behind it, to which these point then; the first three name the object. NULL: out of memory. */
void *sl_change_new(size_t size, struct sl_changes *changes, const struct sl_change_kind *kind,
                    struct sl_str *const text[], size_t n, uint64_t leadership);

/* Begins a change with SL_CHANGE_WRITE or SL_CHANGE_READ. It may be over, and gone, when this
 * returns. */
void sl_change_begin(struct sl_change *change, enum sl_change_turn first);

/* The end when nothing more can be found out: UNKNOWN, or FAILED if surely nothing was carried out.
 */
enum sl_change_turn sl_change_give_up(const struct sl_change *change);

#endif
