/* An order that does more than compare two pods keeps an account of waiting and running pods. NULL
 * stands for an order that only compares. A new order is one file that fills this table, and a row
 * in planner.c. No function fails: without memory a pod is missing from the account, and nothing is
 * delayed for it. */
#ifndef SLICED_CORE_PLAN_STATE_ORDER_H
#define SLICED_CORE_PLAN_STATE_ORDER_H

#include "sliced/plan.h"
#include "util/data/list.h"
#include "util/data/map.h"

struct sl_plan_lane;
struct sl_plan_pod;
struct sl_plan_ran;
struct sl_planner;

/* What the order keeps of a pod, waiting or running, and of a lane: its own. */
struct sl_plan_account_pod;
struct sl_plan_account_lane;

/* The account: the order's own, but for the number of pods set aside. */
struct sl_plan_account {
    struct sl_map ids; /* number of a pod -> its struct sl_plan_account_pod */
    struct sl_list coming;
    struct sl_list turned;
    size_t n_coming;
    size_t n_aside;      /* pods that lack something other than units */
    uint64_t aside_room; /* seq.room when they last came back */
    bool fresh;          /* of tenants: a record is loaded, and nothing was told since */
    bool uncounted;      /* pods run of whose resources no tenant's share has been told */
};

struct sl_plan_order {
    /* The account. Calls that repeat themselves do no harm. */
    void (*begin)(struct sl_planner *planner); /* takes in nominated pods; others are settled */
    void (*end)(struct sl_planner *planner);   /* frees it all */
    void (*settle)(struct sl_planner *planner, struct sl_plan_pod *pod); /* its stand may differ */
    /* Its nomination was bound: ran stands for it from now on. */
    void (*bound)(struct sl_plan_pod *pod, struct sl_plan_ran *ran);
    void (*adopt)(struct sl_planner *planner, const struct sl_pod *pod); /* others started it */
    void (*ended)(struct sl_planner *planner, struct sl_plan_ran *ran);
    void (*capacity)(struct sl_planner *planner); /* the nodes have changed */
    /* Forgets an idle lane, unless what it has learned is worth keeping: false. */
    bool (*forget)(struct sl_plan_lane *lane, bool crowded);

    void (*tell)(struct sl_planner *planner); /* a run begins */
    /* When pods that the last run refused may be admitted even if nothing changes. */
    int64_t (*wake)(const struct sl_plan_lane *lane);
    /* The latest start that the pod is promised; 0: none. */
    int64_t (*latest)(const struct sl_planner *planner, const struct sl_plan_pod *pod);
    /* Since when the pod goes before all that are not due; INT64_MAX: it is not. May be NULL. */
    int64_t (*due)(const struct sl_plan_pod *pod);
};

#endif
