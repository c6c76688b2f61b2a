/* HTTP client of the API server on libcurl: one thread runs all transfers (curl_multi), so a
 * thousand calls in flight cost no thread each. Calls come from any thread, answers are told on the
 * client's thread. Keep-alive, HTTP/2 where the server has it, a rate limit with priorities,
 * Retry-After, bounded retries with jitter for calls that may be repeated. */
#ifndef SLICED_KUBE_CLIENT_H
#define SLICED_KUBE_CLIENT_H

#include "kube/access/kubeconfig.h"
#include "util/buf.h"

struct sl_client;

enum sl_call_priority {
    SL_CALL_LEASE,  /* few, and behind nothing: a leader that cannot renew stops leading */
    SL_CALL_BIND,   /* bindings: behind none of the others */
    SL_CALL_STREAM, /* watches and what streams in once: takes no place among calls in flight */
    SL_CALL_NORMAL, /* lists, reads, patches */
    SL_CALL_LOW,    /* events */
    SL_CALL_PRIORITIES,
};

struct sl_client_options {
    const struct sl_kube_access *access; /* must outlive the client */
    const char *user_agent;
    double qps;             /* calls a second over all priorities; 0: no limit */
    unsigned burst;         /* tokens that may be saved up */
    unsigned max_in_flight; /* without watches; an eighth of it (one at least) is for binds alone;
                             * leases need none */
    unsigned max_queued;    /* of each priority; further calls are refused (SL_ERR_LIMIT) */
    int64_t connect_timeout_us;
    size_t max_reply; /* of a collected body */
};

/* The part of an object that the answer has. A server that knows no other form answers the object
 * whole. */
enum sl_call_form {
    SL_FORM_OBJECT,
    SL_FORM_METADATA, /* PartialObjectMetadata: less to encode and to read */
    SL_FORM_TABLE,    /* meta.k8s.io/v1 Table: as people read it */
};

/* How a call ended. status 0: there was no HTTP answer, err says why. For an answer other than 2xx
 * err has the message of the API server's Status, and reason its reason. maybe_done: the request of
 * this or an earlier try may have reached the server, though no answer came. */
struct sl_reply {
    int status;
    bool maybe_done;
    struct sl_str body;     /* collected; empty when streamed */
    char reason[64];        /* Status.reason: "Conflict", "Expired", ... or empty */
    int64_t retry_after_us; /* from Retry-After, else 0 */
    struct sl_error err;
};

typedef void (*sl_call_done)(void *context, const struct sl_reply *reply);

/* A piece of a body that is streamed (status 200 only). -1 with *err set ends the call. */
typedef int (*sl_call_data)(void *context, const char *data, size_t len, struct sl_error *err);

struct sl_call_options {
    const char *method;       /* "GET" */
    const char *path;         /* "/api/v1/pods?limit=500", copied */
    const char *content_type; /* of the body, NULL: application/json */
    struct sl_str body;       /* copied; empty: none */
    enum sl_call_priority priority;
    enum sl_call_form form;
    bool repeatable;    /* may be sent again after a failure (GET, or an idempotent write); a
                         * stream never is once data was told of it */
    unsigned max_tries; /* 0: 1; one more after a 401, with new credentials */
    int64_t timeout_us; /* of one try, whole; 0: none (a watch) */
    int64_t within_us;  /* from now to its end, all tries and its time in a queue included: after
                         * that it is not sent any more; 0: whenever */
    int64_t silence_us; /* no byte of an answer for that long ends the try (SL_ERR_SYSTEM); 0: none
                         */
    sl_call_data data;  /* NULL: the body is collected */
    sl_call_done done;  /* exactly once, on the client's thread; may start further calls */
    void *context;
};

struct sl_client *sl_client_new(const struct sl_client_options *options, struct sl_error *err);

/* Ends all calls (done is called with status 0), runs the timers that are left, and ends the
 * thread. Not on the client's thread. NULL is allowed. */
void sl_client_free(struct sl_client *client);

/* Starts a call. 0 when done will be called; -1 (and no call of done) when it was refused. *id,
 * when not NULL, names the call for sl_client_cancel. */
int sl_client_call(struct sl_client *client, const struct sl_call_options *options, uint64_t *id,
                   struct sl_error *err);
/* Ends a call early; done is called with status 0, on the client's thread, never from within this
 * call. Any thread. An id that is over, or 0, is no harm. */
void sl_client_cancel(struct sl_client *client, uint64_t id);

/* Runs fn on the client's thread, once, after delay_us, or earlier when the client is stopped (then
 * calls and further timers are refused), so that what context owns can always be freed. 0, or -1
 * when out of memory or stopped: fn is not run. */
int sl_client_after(struct sl_client *client, int64_t delay_us, void (*fn)(void *context),
                    void *context);

struct sl_client_stats {
    uint64_t calls, retries; /* taken; tries after the first */
    uint64_t throttled;      /* calls that had to wait for the rate limit */
    uint64_t refused;        /* not taken: queue full, or stopping */
    uint64_t failures;       /* ended without an answer, or with 400 and above */
    unsigned in_flight, queued;
    unsigned sockets; /* open, idle ones too */
};
void sl_client_stats(struct sl_client *client, struct sl_client_stats *out);

#endif
