/* Private to the client: a call on its way, and the client itself. */
#ifndef SLICED_KUBE_CLIENT_INTERNAL_H
#define SLICED_KUBE_CLIENT_INTERNAL_H

#include <curl/curl.h>
#include <pthread.h>

#include "kube/auth.h"
#include "kube/client.h"
#include "kube/pacing.h"

enum { SL_CURL_ERROR_MAX = CURL_ERROR_SIZE };

struct sl_call {
    struct sl_call *next; /* in a queue or in the list of active calls */
    struct sl_call_options options;
    uint64_t id;
    char *url;
    char *body;
    char *method;
    char *content_type;
    unsigned tries;
    int64_t not_before_us;  /* monotonic: waits for its repetition until then */
    bool fresh_credentials; /* the server said 401 once */
    /* of the current try */
    CURL *easy;
    struct curl_slist *headers;
    struct sl_buf collected;
    struct sl_error data_err; /* set when the receiver of a stream ended it */
    bool data_failed;
    int64_t retry_after_us;
    char curl_error[SL_CURL_ERROR_MAX];
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

struct sl_client {
    struct sl_client_options options;
    char *user_agent;
    CURLM *multi;
    struct sl_auth *auth;
    pthread_t thread;
    /* guarded by lock */
    pthread_mutex_t lock;
    struct sl_call *queue[SL_CALL_PRIORITIES]; /* in order of arrival */
    struct sl_call **tail[SL_CALL_PRIORITIES];
    struct sl_timer *timers; /* by due time */
    struct sl_cancel *cancels;
    struct sl_client_stats stats;
    uint64_t last_id;
    bool stop;
    /* of the client's thread alone */
    struct sl_call *active;
    struct sl_bucket bucket;
    uint64_t jitter;
};

/* Makes the easy handle of the next try and gives it to the multi handle. */
int sl_transfer_start(struct sl_client *client, struct sl_call *call, struct sl_error *err);

/* Ends the try: takes the easy handle away and frees what belongs to it. */
void sl_transfer_end(struct sl_client *client, struct sl_call *call);

/* What came of the try that libcurl ended with result. reply->body points into the call. */
void sl_transfer_reply(const struct sl_call *call, CURLcode result, struct sl_reply *reply);

/* May it be sent again after that reply, and when (monotonic)? */
bool sl_transfer_again(struct sl_client *client, struct sl_call *call, const struct sl_reply *reply,
                       int64_t now_us, int64_t *at_us);

/* Monotonic and Unix microseconds. */
int64_t sl_kube_monotonic_us(void);
int64_t sl_kube_real_us(void);

#endif
