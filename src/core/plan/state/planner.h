/* The planner: what lasts from run to run. */
#ifndef SLICED_CORE_PLAN_STATE_PLANNER_H
#define SLICED_CORE_PLAN_STATE_PLANNER_H

#include "core/forecast/supply.h"
#include "core/place/choose.h"
#include "core/plan/state/lane.h"
#include "core/plan/state/order.h"
#include "util/data/map.h"
#include "util/data/past.h"

enum { SL_PLAN_OWNERS = 4096 /* whose pods' run times are remembered */ };
enum { SL_PLAN_RUNS_LEAST = 3 /* of an owner, before anything counts as usual */ };
enum {
    SL_PLAN_MEMO = 1 << 16,  /* cached answers: does a kind of node admit a pod? */
    SL_PLAN_SLICE_MAX = 512, /* GB of the largest slice of memory; no GPU has more */
};

/* Numbers that only grow and tell what still holds. sl_plan_touch() alone changes them. */
struct sl_plan_seq {
    uint64_t room;  /* with each node that has more room */
    uint64_t nodes; /* with each change of a node, or of what is kept on it */
    uint64_t kinds; /* with each change of what nodes are */
    uint64_t kept;  /* with each run and each reserved start that moves */
    bool run;       /* a run may do something */
};

struct sl_plan_memo {
    uint64_t pod;  /* digest of constraints; 0: nothing is known */
    uint64_t site; /* digest of the node without its highest bit, then the answer */
};

/* A resource that nodes offer, and the most that one of them has. */
struct sl_plan_offer {
    uint64_t key;
    int64_t most; /* units that one node has, out of service or not */
    int64_t now;  /* units that one node offers, or could be cut into */
};

struct sl_plan_bid {
    int64_t at_us;
    uint32_t node;
};

/* When a resident of a view ends. */
struct sl_plan_end {
    int64_t at_us;
    uint32_t resident;
};

/* Memory that functions borrow while they run: nothing in it lasts. */
struct sl_plan_scratch {
    struct sl_plan_lane **heap; /* room for all lanes */
    size_t heap_cap;
    struct sl_plan_bid *bid;
    size_t bid_cap;
    struct sl_supply supply;
    struct sl_pod **pod_list;
    size_t pod_cap;
    struct sl_plan_pod **sort;
    size_t sort_cap;
    struct sl_plan_end *end;
    size_t end_cap;
};

/* The parts of the planner. Only the files of its owner, which struct sl_planner names, touch the
 * members of a part, and have functions for what others ask; planner.c frees the parts, audit.c
 * checks them. test/purity holds the sources to that. */

struct sl_plan_asks {
    struct sl_map classes;
    struct sl_map by_key;
    struct sl_list all;
    bool changed; /* they are not those that the last run met */
};

/* The lists of pods. */
enum sl_plan_list {
    SL_LIST_NONE, /* always empty */
    SL_LIST_NOMINATED,
    SL_LIST_RESTING,
    SL_LIST_CAPPED,
    SL_LIST_REFUSED,
    SL_PLAN_LISTS,
};

/* Pods that run, or did. */
struct sl_plan_rans {
    struct sl_map by_uid;
    struct sl_list all;
};

/* The nodes. */
struct sl_plan_fleet {
    struct sl_plan_node **node; /* by name */
    const struct sl_view **base;
    size_t n;
    size_t n_drains;            /* nodes that are drained */
    struct sl_plan_node *stale; /* list */
    struct sl_plan_node *gone;  /* removed nodes with nominations, linked by stale_next */
    uint64_t *grown;            /* tree of maxima of the nodes' seq, as the lanes' trees */
    uint32_t leaves;
};

/* The resources that nodes offer. */
struct sl_plan_offers {
    struct sl_plan_offer *at; /* by key */
    size_t n;
    size_t cap;
    int64_t gb; /* slices of memory, of 1 GB to that */
    bool all;   /* out of memory: all resources count as offered */
    bool fresh; /* a node offers a new resource */
};

/* What asks are to be judged by. */
struct sl_plan_news {
    uint32_t *node; /* nodes that have changed since */
    size_t n;
    size_t cap;
    bool all;          /* out of memory: all nodes count as changed */
    struct sl_dra dra; /* what DeviceClasses offer */
    uint64_t set;      /* seq.kinds when nodes last came or went */
    uint64_t settled;  /* seq.kinds by which all pods were judged */
};

/* Kinds of nodes that constraints tell apart, but by name: the first of them. */
struct sl_plan_sites {
    uint64_t kinds; /* seq.kinds for which they hold */
    uint64_t digest[SL_PROMISE_SITES - 1];
    uint32_t node[SL_PROMISE_SITES - 1]; /* the index of one of each */
    uint8_t n;
};

struct sl_tenancy;
struct sl_plan_record;

struct sl_planner {
    struct sl_plan_config config;
    const struct sl_plan_order *order; /* NULL: config.order only compares pods */
    int64_t now_us;                    /* latest */
    int64_t order_now_us;              /* the time for which queues are ordered */
    SL_TIMES(int64_t heard_us;);       /* kube-scheduler's last sign of life; 0: never */

    /* pods */
    struct sl_map pods;                   /* uid -> struct sl_plan_pod */
    struct sl_plan_asks asks;             /* of state/class.c */
    struct sl_map spaces;                 /* of state/space.c: namespaces */
    struct sl_list listed[SL_PLAN_LISTS]; /* of state/settle.c; nominations by time */
    struct sl_plan_rans rans;             /* of nodes/ran.c */
    struct sl_past *past; /* of state/usual.c: seconds that ended pods ran, by owner; may be NULL */
    bool relabelled;      /* namespaces have other tenants than the spaces say */
    bool uncaps;          /* a tenant with capped pods has fewer in queues now */
    bool names;           /* a queued pod may name a node to be tried first of all */
    struct sl_plan_stats stats;

    /* lanes */
    struct sl_plan_lane *lane;
    struct sl_plan_lane *nowhere; /* the last of them */
    size_t n_lanes;
    size_t n_reserves; /* lanes whose reserved start is active */

    struct sl_plan_account account; /* the order's alone */
    struct sl_tenancy *tenancy;     /* NULL: there are no tenants */
    struct sl_plan_record *record;  /* of tenant/record.c; NULL: there is none */

    struct sl_plan_fleet fleet;   /* of nodes */
    struct sl_plan_offers offers; /* of state/offer.c */
    struct sl_plan_news news;     /* of nodes/judge.c */
    struct sl_plan_sites sites;   /* of decide/sites.c */

    struct sl_plan_seq seq;
    uint64_t runs;     /* with each run: the last one's number */
    uint64_t early;    /* with each time that estimated starts are worked out */
    uint64_t searches; /* with each budget for looks: the last one's number */
    uint64_t judged;   /* with each look at an ask and a node together */
    uint64_t looked;   /* with each look at a node, or a point of a tree, for a pod */

    bool ready; /* a cluster is known */
    bool hurry; /* the last run stopped for its budget */
    bool away;  /* kube-scheduler was silent, as pods showed in the last run */

    struct sl_plan_scratch scratch;
    struct sl_plan_memo memo[SL_PLAN_MEMO]; /* of nodes/admit.c */
};

#endif
