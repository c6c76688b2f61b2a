/* An order that does more than compare two pods keeps an account of waiting and running pods, and
 * delays starts that would make others late. NULL stands for an order that only compares. A new
 * order is one file that fills this table, and a row in decide/order.c. No function fails: without
 * memory a pod is missing from the account, and nothing is delayed for it. */
#ifndef SLICED_CORE_PLAN_STATE_ORDER_H
#define SLICED_CORE_PLAN_STATE_ORDER_H

#include "sliced/plan.h"

struct sl_plan_lane;
struct sl_plan_node;
struct sl_plan_pod;
struct sl_plan_ran;
struct sl_planner;

enum { SL_PLAN_URGENT_MAX = 64 }; /* pods tried at a time before one that yields */

/* May a pod that fits start? */
enum sl_plan_admission {
    SL_PLAN_ADMITTED,
    SL_PLAN_REFUSED,      /* on every node: it would make another late */
    SL_PLAN_REFUSED_HERE, /* on this node it would */
};

struct sl_plan_order {
    /* The account. Calls that repeat themselves do no harm. */
    void (*begin)(struct sl_planner *planner); /* takes in nominated pods; others arrive later */
    void (*end)(struct sl_planner *planner);   /* frees it all */
    void (*arrive)(struct sl_planner *planner, struct sl_plan_pod *pod);  /* waits in its lane */
    void (*leave)(struct sl_planner *planner, struct sl_plan_pod *pod);   /* no longer waits */
    void (*start)(struct sl_planner *planner, struct sl_plan_pod *pod);   /* has a nomination */
    void (*unstart)(struct sl_planner *planner, struct sl_plan_pod *pod); /* lost its nomination */
    /* Its nomination was bound: ran stands for it from now on. */
    void (*bound)(struct sl_planner *planner, struct sl_plan_pod *pod, struct sl_plan_ran *ran);
    void (*adopt)(struct sl_planner *planner, const struct sl_pod *pod); /* others started it */
    void (*ended)(struct sl_planner *planner, struct sl_plan_ran *ran);
    void (*capacity)(struct sl_planner *planner);                     /* the nodes have changed */
    void (*forget)(struct sl_plan_lane *lane);                        /* the lane is freed */
    bool (*remembers)(const struct sl_plan_lane *lane, bool crowded); /* keep the idle lane? */

    /* The run. */
    void (*tell)(struct sl_planner *planner); /* the run begins */
    /* Must others be tried before the pod? urgent then writes them, SL_PLAN_URGENT_MAX at most. */
    bool (*yields)(struct sl_planner *planner, const struct sl_plan_pod *pod);
    size_t (*urgent)(const struct sl_planner *planner, const struct sl_plan_pod *pod,
                     struct sl_plan_pod **out);
    enum sl_plan_admission (*admit)(struct sl_planner *planner, const struct sl_plan_pod *pod,
                                    const struct sl_plan_node *node);
    /* May a pod that does not fit have the lane's reservation? */
    bool (*may_reserve)(struct sl_planner *planner, const struct sl_plan_pod *pod);
    /* The pod of the lane that must go next after refusals; NULL: none. */
    struct sl_plan_pod *(*due)(const struct sl_planner *planner, const struct sl_plan_lane *lane);
    /* The pod that must go next lacks something other than units: no pod waits for it until some
     * node has more room. */
    void (*set_aside)(struct sl_planner *planner, struct sl_plan_pod *pod);
    /* Do all pods of the lane start in time though drained nodes' free units idle? */
    bool (*spares)(struct sl_planner *planner, const struct sl_plan_lane *lane);
    /* When pods that the last run refused may be admitted even if nothing changes. */
    int64_t (*wake)(const struct sl_plan_lane *lane);
    /* The latest start that the pod is promised; 0: none. */
    int64_t (*latest)(const struct sl_planner *planner, const struct sl_plan_pod *pod);
    bool spares_idle_lanes; /* the only open lane reserves nothing while nothing is free */
};

#endif
