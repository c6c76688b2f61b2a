/* What comes before room when kube-scheduler asks whether a pod may go to a node. */
#ifndef SLICED_CANDIDATE_H
#define SLICED_CANDIDATE_H

#include "sliced/plan.h"

/* A pod and a node. Pointers are borrowed. */
struct sl_candidate {
    const struct sl_ask *ask;
    const struct sl_view *view;        /* NULL: the node is not known */
    const struct sl_plan_front *front; /* of the queue, that go before the pod */
    size_t n_fronts;
    bool stands; /* the pod's devices are reserved on a node, for a binding that has not ended */
    bool here;   /* and this is the node */
};

enum sl_candidacy {
    SL_CANDIDATE_PASSES,  /* whatever room there is */
    SL_CANDIDATE_REFUSED, /* for *reason */
    SL_CANDIDATE_BEHIND,  /* a front can start there */
    SL_CANDIDATE_IF_ROOM, /* that is all it needs */
};

/* Sets *reason where the node is refused. A pod whose binding has not ended stays where its devices
 * are reserved: it may be bound there already (kubernetes#96579), and another bind for that node
 * will tell. */
enum sl_candidacy sl_candidate_judge(const struct sl_candidate *candidate, enum sl_reason *reason);

#endif
