/* How the server asks the queue which pods wait, whose turn has come, and why the others' has not.
 * Answers are copies; nothing of the planner escapes its lock. */
#ifndef SLICED_SERVER_QUEUE_H
#define SLICED_SERVER_QUEUE_H

#include "codec/write.h"
#include "server/app/usage_reader.h"
#include "sliced/plan.h"
#include "util/buf.h"
#include "util/data/arena.h"

/* One pod, for filter. */
struct sl_queue_status {
    enum sl_queue_state state;
    bool known;                  /* false: the queue has not seen it yet; state is HELD */
    char text[SL_PLAN_TEXT_MAX]; /* the sentence for its owner, never empty */
};

/* May filter pass the pod? It has a nomination, or was released without one. */
bool sl_queue_may_go(const struct sl_queue_status *status);

/* How a nomination of a pod that waits again has ended. */
enum sl_queue_try_end {
    SL_QUEUE_TRY_EXPIRED,         /* kube-scheduler did not bind the pod in time */
    SL_QUEUE_TRY_WITHDRAWN,       /* the node or the pod has changed */
    SL_QUEUE_TRY_REFUSED,         /* by the ledger: the devices were no longer free */
    SL_QUEUE_TRY_RELEASE_REFUSED, /* the API server did not let the pod go, and says why */
    SL_QUEUE_TRY_ENDS,
};
const char *sl_queue_try_end_name(enum sl_queue_try_end end); /* "Expired", ... */

struct sl_queue_try {
    int64_t at_us; /* Unix: the nomination, or the release without one */
    int64_t ended_us;
    enum sl_queue_try_end end;
    const char *node; /* NULL: none, or no memory */
    const char *why;  /* the API server's words, cut; else NULL */
};

enum { SL_QUEUE_TRIES_MAX = 4 }; /* the last ones are kept */

/* A namespace, and whose it is. */
struct sl_queue_space {
    const char *namespace;
    char tenant[SL_TENANT_NAME_MAX]; /* "": nobody's, as far as is known */
};

enum { SL_QUEUE_TENANTS_MAX = 2048 }; /* rows of tenants that readers are told */

struct sl_queue_shared;

/* Rows of the queue: copies, with references to pods of their own and their text in the arena. */
struct sl_queue_list {
    struct sl_queue_row *row; /* in the order in which they are to go */
    size_t n;
    size_t total;   /* rows of the queue; n of them are here */
    int64_t now_us; /* Unix: when the rows were made; for sl_queue_text */
    struct sl_queue_try tried[SL_QUEUE_TRIES_MAX]; /* of a single row's pod, the first one first */
    unsigned n_tried;
    struct sl_tenant_row *tenant; /* by tenant, resource, model; of a list of all rows alone */
    size_t n_tenants;
    size_t tenants_omitted; /* beyond SL_QUEUE_TENANTS_MAX */
    struct sl_arena text;
    struct sl_queue_shared *of; /* has the rows; NULL: this list does */
};

/* A list that many read and nobody changes; counted references. */
struct sl_queue_shared {
    _Atomic unsigned refs;
    struct sl_queue_list list;
};
/* With room for max rows. NULL with *err set when out of memory. */
struct sl_queue_shared *sl_queue_shared_new(size_t max, struct sl_error *err);
void sl_queue_shared_unref(struct sl_queue_shared *shared); /* NULL is allowed */
/* Lists its first max rows; takes a reference. */
void sl_queue_list_share(struct sl_queue_shared *shared, size_t max, struct sl_queue_list *out);

/* Makes a list with room for max rows; its maker sets total and now_us. -1: out of memory. */
int sl_queue_list_init(struct sl_queue_list *list, size_t max, struct sl_error *err);
int sl_queue_list_add(struct sl_queue_list *list, const struct sl_queue_row *row,
                      struct sl_error *err);
/* Copies a tenant's row, or counts it as omitted. -1: out of memory. */
int sl_queue_list_tenant(struct sl_queue_list *list, const struct sl_tenant_row *row,
                         struct sl_error *err);
/* By tenant, resource, then model: the order of a list's rows. For qsort and bsearch. */
int sl_queue_compare_tenants(const void *a, const void *b);
/* Copies the tries of the list's one row; n is at most SL_QUEUE_TRIES_MAX. -1: out of memory. */
int sl_queue_list_tried(struct sl_queue_list *list, const struct sl_queue_try *tried, unsigned n,
                        struct sl_error *err);
/* For every list that was filled, also one whose filling failed. */
void sl_queue_list_free(struct sl_queue_list *list);

/* The place and the start that a pod would have if it came now. */
struct sl_queue_what_if {
    struct sl_queue_list list; /* its row alone; names no other pod */
    size_t position;           /* in the queue, from 1 */
    size_t delayed;            /* waiting pods whose estimated start becomes later, or unknown */
    int64_t spent_us;          /* of processor time, also where there is no answer */
};

/* Any thread may call; no function waits for a plan or for I/O, except as said. A struct of NULLs
 * stands for no queue: every pod may go. */
struct sl_queue_reader {
    void *context;
    /* Takes a mutex for a few instructions: for filter. The sentence is shorter while a plan is
     * being made. */
    void (*status)(void *context, struct sl_str uid, struct sl_queue_status *out);
    /* Lists the pods of the queue that wait and go before this one, which the queue does not plan;
     * returns how many, which the caller frees. As cheap. NULL: none ever do. */
    size_t (*ahead)(void *context, const struct sl_pod *pod,
                    struct sl_plan_front out[SL_PLAN_FRONTS_MAX]);
    /* kube-scheduler has asked about that pod, by whatever verb. As cheap. */
    void (*heard)(void *context, struct sl_str uid);
    /* Lists the first max rows, with estimates not older than a second. Callers at the same time
     * are told the same; where the queue is so long that its rows take a while to make, so are
     * those that ask a little later. May wait for a plan that is being made (milliseconds). -1: out
     * of memory, or SL_ERR_CONFLICT: this replica makes no plan now. The caller frees the list in
     * any case. */
    int (*list)(void *context, size_t max, struct sl_queue_list *out, struct sl_error *err);
    /* The same for one pod, with what was tried: n is 0 when it does not wait. */
    int (*row)(void *context, struct sl_str uid, struct sl_queue_list *out, struct sl_error *err);
    /* Says whose the n namespaces are. May wait as list does. */
    void (*tenants_of)(void *context, struct sl_queue_space *space, size_t n);
    /* As sl_planner_reclaim; 0 where no plan is made. May wait as list does; visit does not. */
    int64_t (*reclaim)(void *context, struct sl_str uid, const char *node,
                       void (*visit)(void *to, const struct sl_pod *run), void *to);
    /* Plans with one more pod, on a copy of the process: nothing changes. Takes about as long as a
     * plan, and waits for it; estimates.h bounds how often. -1: SL_ERR_FIELD: such a pod cannot
     * wait; SL_ERR_CONFLICT as above; SL_ERR_SYSTEM: there is no copy. The caller frees the list in
     * any case. */
    int (*what_if)(void *context, struct sl_pod *pod, struct sl_queue_what_if *out,
                   struct sl_error *err);
    /* Appends the queue's metrics; usage tells what pods that hold units were measured to do. */
    void (*metrics)(void *context, const struct sl_usage_reader *usage, struct sl_buf *out);
    /* Writes the member "queue" of /api/v1/state. */
    void (*state)(void *context, struct sl_writer *w);
    /* Waits until all that the store told before this call is planned for, timeout_us at most.
     * False: it is not. For an embedded cluster, where one request follows another. */
    bool (*settle)(void *context, int64_t timeout_us);
    /* No plan is made from hold(true) to hold(false), of one thread: a plan sees all that an
     * embedded cluster changes at once, units and stages, or nothing of it. */
    void (*hold)(void *context, bool begins);
};

#endif
