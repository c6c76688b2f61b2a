/* Estimates for pods that are not there, one at a time. Who asks waits in line, suspended, with one
 * question at a time: however much one asks, another's turn comes after one question of each who
 * came before. Nothing is remembered of who does not wait. */
#ifndef SLICED_SERVER_ESTIMATES_H
#define SLICED_SERVER_ESTIMATES_H

#include <pthread.h>

#include "server/app/queue_reader.h"
#include "server/http/request.h"
#include "util/data/list.h"

enum { SL_ESTIMATES_WAITING = 64 };

/* A request for an estimate, and its answer. It lives until the request has gone on. */
struct sl_estimate_request {
    struct sl_request *request;
    uint64_t who;       /* of sl_estimate_who */
    struct sl_pod *pod; /* the owner's */
    struct sl_queue_what_if what_if;
    struct sl_error err;
    int result; /* -1: err says why, with SL_ERR_LIMIT where its turn did not come */
    /* private */
    struct sl_link link;
    int64_t until_ns;
};

struct sl_estimates {
    const struct sl_queue_reader *queue;
    int64_t wait_ns;      /* nobody waits longer for a turn */
    int64_t rest_ns;      /* from an estimate's end to the next one's beginning, at least */
    int64_t rest_most_ns; /* and at most: one that was dear does not keep others from their turn */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* on the monotonic clock */
    pthread_t thread;
    bool started; /* by the first question */
    bool closed;
    unsigned n;
    struct sl_list waiting; /* by time; who is first has the next turn */
};

void sl_estimates_init(struct sl_estimates *estimates, const struct sl_queue_reader *queue);
/* After sl_estimates_stop. */
void sl_estimates_free(struct sl_estimates *estimates);

/* Who asks, as one that nobody can multiply: the user whom the API server names, but for a service
 * account its namespace, since whoever may make one there may make many. An empty name: whoever
 * reaches the daemon without an API server; they are all one. */
uint64_t sl_estimate_who(struct sl_str user);

/* Suspends the request until the question is answered or its turn has not come in time; it then
 * goes on with wake. -1 with *err set, SL_ERR_LIMIT or SL_ERR_SYSTEM: it does not wait. */
int sl_estimates_ask(struct sl_estimates *estimates, struct sl_estimate_request *estimate,
                     void (*wake)(struct sl_request *request), struct sl_error *err);

/* Refuses all that wait, and all that come. */
void sl_estimates_close(struct sl_estimates *estimates);
/* The same, and waits for the estimate that is being made. */
void sl_estimates_stop(struct sl_estimates *estimates);

#endif
