/* Private to the client: a call on its way, and the client itself. client.c calls loop.c, which
 * runs all else; transfer.c and poll.c call sockets.c; calls.c calls none of them. */
#ifndef SLICED_KUBE_CLIENT_INTERNAL_H
#define SLICED_KUBE_CLIENT_INTERNAL_H

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "kube/access/auth.h"
#include "kube/client/client.h"
#include "kube/client/pacing.h"
#include "util/clock.h"
#include "util/data/list.h"

/* Calls wait in a queue of their priority, or until it is time to repeat them. */
enum { SL_QUEUE_DELAYED = SL_CALL_PRIORITIES, SL_QUEUES };

struct sl_call_queue {
    struct sl_list calls;
    unsigned n;
};

struct sl_call {
    struct sl_link link;         /* in a queue, or among the active calls */
    struct sl_call_queue *queue; /* while it waits */
    struct sl_call_options options;
    uint64_t id;
    char *url;
    char *body;
    char *method;
    char *content_type;
    unsigned tries;
    int64_t ends_us;       /* monotonic: it is over by then, sent or not; INT64_MAX: no bound */
    int64_t not_before_us; /* monotonic: waits for its repetition until then */
    bool throttled;        /* was counted as such */
    bool unauthorized;     /* the server said 401 once */
    bool maybe_done;       /* a try was sent and not answered */
    bool told;             /* data was told of the stream */
    /* of the current try */
    CURL *easy;
    struct curl_slist *headers;
    struct curl_slist *connect_to;
    uint64_t credentials;         /* serial */
    int64_t started_us, heard_us; /* monotonic; heard: the last byte of an answer */
    size_t body_at;               /* bytes of the body that libcurl took */
    struct sl_buf collected;
    struct sl_error data_err; /* set when the receiver of a stream ended it */
    bool data_failed;
    bool expired; /* by timeout_us or silence_us */
    int64_t retry_after_us;
    char curl_error[CURL_ERROR_SIZE];
};

struct sl_timer {
    struct sl_timer *next;
    int64_t due_us; /* monotonic */
    void (*fn)(void *context);
    void *context;
};

struct sl_cancel {
    struct sl_cancel *next;
    uint64_t id;
};

enum { SL_HEARD_MAX = 64, SL_SOCKETS_MAX = 1024 };

struct sl_socket {
    curl_socket_t fd;
    uint64_t cookie; /* tells it from a later socket with the same number */
    bool watched;    /* libcurl waits for something on it */
};

struct sl_client {
    struct sl_client_options options;
    char *user_agent;
    CURLM *multi;
    struct sl_auth *auth;
    pthread_t thread;
    int epoll_fd, wake_fd;
    atomic_bool woken; /* there is word in a queue that the thread has not looked at */
    /* guarded by lock */
    pthread_mutex_t lock;
    struct sl_call_queue queue[SL_QUEUES]; /* in order of arrival; the delayed by not_before_us */
    struct sl_timer *timers;               /* by due time */
    struct sl_cancel *cancels;
    struct sl_client_stats stats;
    int64_t queue_end_us; /* no queued call ends before; INT64_MAX: never */
    uint64_t last_id;
    bool stop;
    /* only the client's thread looks at what follows */
    struct sl_list active;
    unsigned taken;      /* active calls that take a place */
    int64_t curl_due_us; /* monotonic: libcurl wants to be called then; INT64_MAX: never */
    struct sl_bucket bucket;
    uint64_t jitter;
    int64_t heard_us[SL_HEARD_MAX];           /* by local port: the last byte of calls that ended */
    struct sl_socket sockets[SL_SOCKETS_MAX]; /* open; libcurl closes some silently: see sweep */
    unsigned n_sockets;
};

static inline struct sl_call *sl_call_of(struct sl_link *link)
{
    return link == NULL ? NULL : SL_CONTAINER(link, struct sl_call, link);
}

/* Leases and streams take no place among the calls in flight, so none of them waits behind calls
 * that do. */
static inline bool sl_call_takes_place(const struct sl_call *call)
{
    return call->options.priority != SL_CALL_LEASE && call->options.priority != SL_CALL_STREAM;
}

/* Shortens the wait to until_us, which may be past. */
static inline void sl_wait_shorten(int64_t *wait_us, int64_t until_us)
{
    if (until_us < *wait_us) {
        *wait_us = until_us < 0 ? 0 : until_us;
    }
}

/* Calls that wait (calls.c). Each takes the lock. */
void sl_call_free(struct sl_call *call); /* NULL is allowed */
/* Takes the call over and names it (*id, when not NULL), or leaves it to the caller (-1): its queue
 * is full, or the client stops. */
int sl_calls_add(struct sl_client *client, struct sl_call *call, uint64_t *id,
                 struct sl_error *err);
/* The call is repeated at that time (monotonic). False: the client stops, or the call ends before.
 */
bool sl_calls_add_delayed(struct sl_client *client, struct sl_call *call, int64_t at_us);
/* Calls whose time to be repeated has come go to the end of their queue. */
void sl_calls_wake_delayed(struct sl_client *client, int64_t now_us, int64_t *wait_us);
bool sl_calls_has_next(struct sl_client *client);
/* Takes the first call that may go now; NULL and the time to wait when none may. */
struct sl_call *sl_calls_take_next(struct sl_client *client, int64_t now_us, int64_t *wait_us);
/* Takes that call out; id NULL: any. NULL: there is none. */
struct sl_call *sl_calls_take(struct sl_client *client, const uint64_t *id);
/* Takes a call that has to be over by now; NULL and the time to wait when there is none. */
struct sl_call *sl_calls_take_late(struct sl_client *client, int64_t now_us, int64_t *wait_us);

/* The client's thread (loop.c). */
void *sl_client_run(void *context);

/* The open sockets (sockets.c). use: libcurl opens and closes those of the handle by us. */
void sl_sockets_use(struct sl_client *client, CURL *easy);
/* NULL: not open. */
struct sl_socket *sl_sockets_find(struct sl_client *client, curl_socket_t fd);
/* Ends the connections from that local port. */
void sl_sockets_shut_down(struct sl_client *client, long port);

/* Waiting (poll.c). wake: from any thread, after word was left in a queue. poll: waits for word, or
 * wait_us, and lets libcurl do what is due. own: the calling thread is the client's. free: of what
 * a failed init left too. */
int sl_client_poll_init(struct sl_client *client, struct sl_error *err);
void sl_client_poll_free(struct sl_client *client);
void sl_client_own(const struct sl_client *client);
void sl_client_wake(void *context); /* the client */
void sl_client_poll(struct sl_client *client, int64_t wait_us);

/* Makes the easy handle of the next try and gives it to the multi handle. */
int sl_transfer_start(struct sl_client *client, struct sl_call *call,
                      const struct sl_credentials *credentials, struct sl_error *err);

/* Ends the try: takes the easy handle away and frees what belongs to it. */
void sl_transfer_end(struct sl_client *client, struct sl_call *call);

/* The call's time is up. When nothing at all was heard on its connection meanwhile, the connection
 * is dead, and is shut down: libcurl would go on to share it (HTTP/2) with calls to come. */
void sl_transfer_give_up(struct sl_client *client, const struct sl_call *call);

/* Notes when the connection of a call that ends was last heard. */
void sl_transfer_note_heard(struct sl_client *client, const struct sl_call *call);

/* When the try is over for want of an answer (monotonic); INT64_MAX: never. */
int64_t sl_transfer_deadline(const struct sl_call *call);

/* True when the server may have got the request of the try that is running. */
bool sl_transfer_sent(const struct sl_call *call);

/* How the try ended, which libcurl ended with result. reply->body points into the call. */
void sl_transfer_reply(struct sl_call *call, CURLcode result, struct sl_reply *reply);

/* True when it may be sent again after that reply, at *at_us (monotonic). */
bool sl_transfer_again(struct sl_client *client, struct sl_call *call, const struct sl_reply *reply,
                       int64_t now_us, int64_t *at_us);

#endif
