/* What the extender's verbs share. */
#ifndef SLICED_SERVER_VERBS_H
#define SLICED_SERVER_VERBS_H

#include "codec/write.h"
#include "server/workspace.h"

/* The pod of the body, judged. */
struct sl_asked {
    struct sl_pod *pod; /* reference of the caller: sl_asked_free */
    struct sl_ask ask;
};

/* Ends the body and judges its pod. -1 after sl_request_fail. */
int sl_asked_take(struct sl_request *request, struct sl_asked *out);
void sl_asked_free(struct sl_asked *asked);
/* Tells the queue that kube-scheduler has asked about the pod. */
void sl_verb_heard(const struct sl_request *request, struct sl_str uid);

/* Begins a body whose candidates are collected; sink->node is set. */
int sl_verb_begin_args(struct sl_request *request);

/* What the queue says against the pod now, in *status; NULL: nothing, or the pod is not the
 * queue's. One judge for filter and bind: what one holds the other does not let through. */
const char *sl_verb_held(const struct sl_request *request, const struct sl_pod *pod,
                         struct sl_queue_status *status);

/* -1 with request->err set when no decision may be made: the daemon does not know the whole cluster
 * yet, or it does not lead. */
int sl_verb_ready(struct sl_request *request);

#endif
