/* Takes messages for the queue's thread: from the store, with its lock held, and from the
 * releaser. */
#ifndef SLICED_DAEMON_QUEUE_MAIL_H
#define SLICED_DAEMON_QUEUE_MAIL_H

#include "kube/write/releaser.h"
#include "sliced/pod.h"
#include "util/data/map.h"

struct sl_queue_worker;

struct sl_queue_letter {
    struct sl_pod *pod; /* reference */
    bool waits;
};

/* A release under way, and its end. */
struct sl_queue_call {
    struct sl_queue_call *next;
    struct sl_queue_worker *worker;
    uint64_t number;      /* of the release */
    uint64_t leaderships; /* as many as the worker had had: numbers begin anew with each */
    char namespace[64];
    enum sl_release_end end;
    bool shows;     /* of a condition instead of a release */
    char text[384]; /* why */
    char uid[];
};

/* Messages that the queue's thread has not read yet. */
struct sl_queue_mail {
    struct sl_queue_letter *letter;
    size_t n;
    size_t cap;
    struct sl_map last;         /* by UID: the place, from 1, of the last letter about the pod */
    struct sl_queue_call *ends; /* newest first */
    bool lost;                  /* a letter had no place: all pods are to be read again */
    bool changed;               /* the cluster, the configuration, or the leadership */
};

/* The store's feed and its news; context is the worker. */
void sl_queue_feed(void *context, struct sl_pod *pod, bool waits);
void sl_queue_published(void *context);
/* The end of a release; context is its struct sl_queue_call. */
void sl_queue_released(void *context, enum sl_release_end end, const struct sl_error *err);

/* The end of the writing of a condition, likewise; only a failure is told. */
void sl_queue_shown(void *context, enum sl_release_end end, const struct sl_error *err);

/* Takes all mail out of the box. *posted: the number of its last message. */
struct sl_queue_mail sl_queue_take_mail(struct sl_queue_worker *worker, uint64_t *posted);
void sl_queue_free_mail(struct sl_queue_mail *mail);

/* Waits until mail comes in or it is until_ns, but at least until rest_ns (monotonic). False: the
 * worker is to stop. */
bool sl_queue_wait_for_mail(struct sl_queue_worker *worker, int64_t rest_ns, int64_t until_ns);
/* Messages up to posted are planned for: wakes callers of sl_queue_settle. */
void sl_queue_settled(struct sl_queue_worker *worker, uint64_t posted);
/* Waits until all mail received so far is planned for; context is the worker. False: it took
 * longer. */
bool sl_queue_settle(void *context, int64_t timeout_us);

#endif
