/* Private to the client: a call on its way, and the client itself. */
#ifndef SLICED_KUBE_CLIENT_INTERNAL_H
#define SLICED_KUBE_CLIENT_INTERNAL_H

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "kube/auth.h"
#include "kube/client.h"
#include "kube/clock.h"
#include "kube/pacing.h"

/* Queues in the order in which they are served. Leases and streams take no place among the calls in
 * flight, so none of them waits behind calls that do. */
enum sl_lane { SL_LANE_LEASE, SL_LANE_BIND, SL_LANE_STREAM, SL_LANE_NORMAL, SL_LANE_LOW, SL_LANES };

static inline bool sl_lane_takes_place(enum sl_lane lane)
{
    return lane != SL_LANE_LEASE && lane != SL_LANE_STREAM;
}

struct sl_call {
    struct sl_call *next; /* in a queue or in the list of active calls */
    struct sl_call_options options;
    enum sl_lane lane;
    uint64_t id;
    char *url;
    char *body;
    char *method;
    char *content_type;
    unsigned tries;
    int64_t ends_us;       /* monotonic: by then it is over, sent or not; INT64_MAX: whenever */
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

struct sl_call_list {
    struct sl_call *first;
    struct sl_call **tail;
    unsigned n;
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
    uint64_t cookie; /* which socket the number stands for */
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
    struct sl_call_list lane[SL_LANES]; /* in order of arrival */
    struct sl_call *delayed;            /* wait for their repetition, by not_before_us */
    struct sl_timer *timers;            /* by due time */
    struct sl_cancel *cancels;
    struct sl_client_stats stats;
    int64_t queue_end_us; /* none that waits in a queue ends before; INT64_MAX: never */
    uint64_t last_id;
    bool stop;
    /* of the client's thread alone */
    struct sl_call *active;
    unsigned taken;      /* active calls that take a place */
    int64_t curl_due_us; /* monotonic: libcurl wants to be called then; INT64_MAX: never */
    struct sl_bucket bucket;
    uint64_t jitter;
    int64_t heard_us[SL_HEARD_MAX];           /* by local port: the last byte of calls that ended */
    struct sl_socket sockets[SL_SOCKETS_MAX]; /* open; libcurl closes some silently: see sweep */
    unsigned n_sockets;
};

/* The client's thread (loop.c). */
void *sl_client_run(void *context);
void sl_call_free(struct sl_call *call); /* NULL is allowed */
/* The call waits in a queue now. Lock held. */
void sl_client_bound_queue(struct sl_client *client, const struct sl_call *call);

/* Waiting (poll.c). wake: from any thread, after word was left in a queue. poll: waits for word, or
 * wait_us, and lets libcurl do what is due. own: the calling thread is the client's. free: of what
 * a failed init left too. */
int sl_client_poll_init(struct sl_client *client, struct sl_error *err);
void sl_client_poll_free(struct sl_client *client);
/* Drops sockets that libcurl has closed without a word, which it does with connections that are
 * still being made: their numbers may be other threads' files by now. */
void sl_client_sweep_sockets(struct sl_client *client);
/* Which socket the number stands for now; false: none. */
bool sl_client_cookie(curl_socket_t fd, uint64_t *out);
/* NULL: not open. */
struct sl_socket *sl_client_socket(struct sl_client *client, curl_socket_t fd);
void sl_client_own(const struct sl_client *client);
void sl_client_wake(struct sl_client *client);
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

/* May the server have got the request of the try that is running? */
bool sl_transfer_sent(const struct sl_call *call);

/* What came of the try that libcurl ended with result. reply->body points into the call. */
void sl_transfer_reply(struct sl_call *call, CURLcode result, struct sl_reply *reply);

/* May it be sent again after that reply, and when (monotonic)? */
bool sl_transfer_again(struct sl_client *client, struct sl_call *call, const struct sl_reply *reply,
                       int64_t now_us, int64_t *at_us);

#endif
