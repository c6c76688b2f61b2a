/* What calls about one pod share: its path and its copied name; deadline and backoff of calls that
 * follow each other; how it stands, read from an answer. */
#ifndef SLICED_KUBE_POD_CALL_H
#define SLICED_KUBE_POD_CALL_H

#include "codec/event.h"
#include "kube/client.h"
#include "sliced/facts.h"

/* Of all that the API server tells of an object: no user's object reaches one of them. Whole texts
 * are bounded by the time that their call may take, as nothing of them is held but what is kept of
 * one object. */
extern const struct sl_text_limits sl_kube_text_limits;

/* "/api/v1/namespaces/NS/pods/NAME" and end, NUL-terminated. The caller frees the buffer. */
void sl_pod_path(struct sl_buf *path, struct sl_str ns, struct sl_str name, const char *end);

/* A NUL-terminated copy of text at *at, which moves behind it. */
struct sl_str sl_pod_put_text(char **at, struct sl_str text);

/* Calls about one pod, one after the other, until a deadline. */
struct sl_pod_calls {
    struct sl_client *client;
    struct sl_str namespace, name; /* borrowed */
    enum sl_call_priority priority;
    unsigned tries; /* repetitions so far */
    int64_t try_us; /* of one call, its waiting for the rate limit included */
    int64_t backoff_us;
    int64_t backoff_max_us;
    int64_t deadline_us; /* monotonic */
    int64_t try_end_us;  /* of the call under way, monotonic */
    uint64_t jitter;     /* seed */
};

/* Starts a call of that path's end that ends within try_us and before the deadline, and is tried
 * once: what it takes for granted is asked before each repetition. The caller has set the rest of
 * *call; its context may be gone when this returns 0. Frees the body (NULL: none). -1 with *err. */
int sl_pod_calls_start(struct sl_pod_calls *calls, struct sl_call_options *call, const char *end,
                       struct sl_buf *body, struct sl_error *err);

/* Calls step, on the client's thread, when it is time to try again, not before retry_after_us.
 * -1: no time, or no client, is left. */
int sl_pod_calls_later(struct sl_pod_calls *calls, int64_t retry_after_us,
                       void (*step)(void *context), void *context);

enum sl_pod_reading {
    SL_POD_UNREAD, /* the answer does not say; *err why */
    SL_POD_GONE,   /* there is no pod of that UID any more; *err says what there is */
    SL_POD_READ,   /* judge was called with it */
};
/* What a GET of the pod was answered. */
enum sl_pod_reading sl_pod_read(const struct sl_reply *reply, struct sl_str uid,
                                void (*judge)(void *context, const struct sl_pod_facts *pod),
                                void *context, struct sl_error *err);

#endif
