/* Carries out one step of a cut under way (sliced/cut_run.h) and tells how its write ended: gives a
 * node's actuator the order to cut its GPUs, or takes the order's mark off the node again. */
#ifndef SLICED_KUBE_CUTTER_H
#define SLICED_KUBE_CUTTER_H

#include "cluster/store.h"
#include "kube/write/change.h"
#include "sliced/cut_run.h"

struct sl_kube_cutter;

struct sl_kube_cutter_options {
    struct sl_change_options change; /* of each object that a step writes */
    struct sl_store *store;          /* tells which entries of the mig-manager's file nodes use */
    const char *mig_namespace;       /* of the ConfigMap that the mig-manager reads; copied */
    const char *mig_config_map;
    const char *mps_namespace; /* the same for nos' device plugin */
    const char *mps_config_map;
};

struct sl_kube_cutter *sl_kube_cutter_new(const struct sl_kube_cutter_options *options,
                                          struct sl_error *err);
/* All that was given to it has ended, or the client was freed, which ends it. NULL is allowed. */
void sl_kube_cutter_free(struct sl_kube_cutter *cutter);

struct sl_cut_write {
    enum sl_cut_step step;        /* SL_CUT_ORDER or SL_CUT_FINISH */
    const struct sl_node *node;   /* for an order: as the cut was decided. A reference is taken */
    const struct sl_cut_run *run; /* copied */
    uint64_t leadership;          /* in which it was decided: in another nothing is written */
};

/* err: why it is not written, or not known to be. */
typedef void (*sl_cut_done)(void *call, enum sl_cut_write_end end, const struct sl_error *err);

/* context is the struct sl_kube_cutter. done is called exactly once, on the client's thread, or on
 * the caller's before this returns. Any thread; never blocks on the network.
 *
 * An order is refused, and nothing is written, when the actuator could not read it or it would take
 * away what is in use, when another cut of the node is under way, or when somebody has had the GPUs
 * cut otherwise since it was decided. A node that was made anew gets none. */
void sl_kube_cut(void *context, const struct sl_cut_write *write, sl_cut_done done, void *call);

#endif
