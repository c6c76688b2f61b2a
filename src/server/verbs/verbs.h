/* Steps that several of the extender's verbs have in common. */
#ifndef SLICED_SERVER_VERBS_H
#define SLICED_SERVER_VERBS_H

#include "codec/write.h"
#include "server/verbs/candidates.h"

/* The pod of a body, and what it asks for. */
struct sl_asked {
    struct sl_pod *pod; /* reference of the caller: sl_asked_free */
    struct sl_ask ask;
};

/* Ends the body and reads its pod; tells the queue that kube-scheduler has asked. -1 after
 * sl_request_fail. */
int sl_asked_take(struct sl_request *request, struct sl_asked *out);
void sl_asked_free(struct sl_asked *asked);
/* Tells the queue that kube-scheduler has asked about the pod. */
void sl_verb_heard(const struct sl_request *request, struct sl_str uid);

/* Begins a body of ExtenderArgs whose candidates are collected. whole: their nodes, where the body
 * has them, are appended to request->reply as they came, each with a comma behind. */
int sl_verb_begin_args(struct sl_request *request, bool whole);

/* Pods of the queue that go before one that names another scheduler. */
struct sl_ahead {
    size_t n; /* 0: there are none, or the pod is the queue's */
    struct sl_plan_front front[SL_PLAN_FRONTS_MAX];
    char text[SL_PLAN_TEXT_MAX]; /* the sentence against it where they can start */
};

/* The queue's sentence against the pod now, in *status; NULL: there is none, or the pod is not the
 * queue's. Filter and bind both ask here, so that bind lets no pod through which filter holds.
 * Fills *ahead in any case: the caller frees its references by sl_plan_fronts_free. */
const char *sl_verb_held(const struct sl_request *request, const struct sl_pod *pod,
                         struct sl_queue_status *status, struct sl_ahead *ahead);

/* 0 when decisions may be made. -1 with request->err set while the daemon does not know the whole
 * cluster, or does not lead. */
int sl_verb_ready(struct sl_request *request);

#endif
