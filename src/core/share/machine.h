/* Units on which pods run in one order, with EASY backfill. */
#ifndef SLICED_CORE_SHARE_MACHINE_H
#define SLICED_CORE_SHARE_MACHINE_H

#include "core/share/share.h"
#include "util/data/list.h"

enum {
    SL_MACHINE_WIDTHS = 48, /* classes of widths: powers of two */
    SL_MACHINES = 3,        /* that a pod is on */
};

enum sl_machine_rule {
    SL_MACHINE_FIFO,  /* by priority, then submission */
    SL_MACHINE_ORDER, /* the configured order; under bounded, pods that wait too long first */
    SL_MACHINE_DUE,   /* pods that have started on their users' parts first, then by the order */
};

/* One pod on one machine. */
struct sl_stay {
    struct sl_share_pod *pod;
    int64_t start_us; /* INT64_MAX: it waits */
    int64_t end_us;   /* while it runs: by its timeout, or as it really ran */
    int64_t held;     /* while it runs: of the machine's size */
    uint32_t place;   /* in its heap of those who wait, or of those who run */
    uint32_t second;  /* in the heap by submission */
    bool overdue;     /* end_us has passed, and it has not ended in reality: in no heap */
};

struct sl_stays {
    struct sl_stay **at;
    size_t n;
    size_t cap;
};

struct sl_machine {
    enum sl_machine_rule rule;
    const struct sl_share_config *config;
    int64_t longest_us;            /* FIFO: the longest wait so far */
    const struct sl_machine *fifo; /* ORDER: of the same pods */
    int64_t size;
    int64_t used;
    size_t n;                                   /* pods on it */
    struct sl_stays waiting[SL_MACHINE_WIDTHS]; /* heaps by the rule, */
    uint64_t widths;                            /* of which these are not empty: bits */
    struct sl_stays oldest;                     /* heap by submission; of ORDER under bounded */
    struct sl_stays running;                    /* heap by end, but for the overdue */
    size_t n_overdue;
    struct sl_stays scratch;
};

/* A pod on all its machines. */
struct sl_share_pod {
    struct sl_share_facts facts;
    struct sl_link all;
    struct sl_share_user *user;
    struct sl_stay stay[SL_MACHINES]; /* by rule; of a machine that it is not on, pod is NULL */
};

void sl_machine_free(struct sl_machine *machine);
/* False: out of memory. */
bool sl_machine_add(struct sl_machine *machine, struct sl_share_pod *pod);
void sl_machine_remove(struct sl_machine *machine, struct sl_share_pod *pod);
/* The pod has become due. */
void sl_machine_due(struct sl_machine *machine, struct sl_share_pod *pod);
/* It has ended in reality, and facts.run_us is known. */
void sl_machine_over(struct sl_machine *machine, struct sl_share_pod *pod, int64_t now_us);
/* The first end. INT64_MAX: none runs. */
int64_t sl_machine_next(const struct sl_machine *machine);
/* Takes a pod off that ends by now_us; NULL: none. */
struct sl_share_pod *sl_machine_end(struct sl_machine *machine, int64_t now_us);
/* Starts the pod that goes next, if there is room; NULL: none. */
struct sl_share_pod *sl_machine_start(struct sl_machine *machine, int64_t now_us);
/* Starts that pod, which waits, at that time. It ends at now_us at the earliest. */
void sl_machine_put(struct sl_machine *machine, struct sl_share_pod *pod, int64_t start_us,
                    int64_t now_us);

#endif
