/* Tells which entries of a file that all nodes share are kept when it is written: those that a
 * node's label names, since an agent reads its entry again when it restarts; those of cuts under
 * way; and those of the last orders, which the watch may not show yet. Private to this room. */
#ifndef SLICED_KUBE_CUT_KEEP_H
#define SLICED_KUBE_CUT_KEEP_H

#include <pthread.h>

#include "cluster/store.h"
#include "util/data/map.h"

enum { SL_CUT_KEPT_ORDERS = 128 };

struct sl_cut_kept {
    struct sl_store *store;
    pthread_mutex_t lock;
    uint64_t order[SL_CUT_KEPT_ORDERS]; /* names without their attempt, hashed; 0: none; a ring */
    unsigned next;
    /* while a file is read, on the client's thread */
    const struct sl_snapshot *snapshot;
    struct sl_map names; /* of nodes; a cut under way without its attempt */
    bool all;            /* out of memory: nothing is removed */
};

void sl_cut_kept_init(struct sl_cut_kept *kept, struct sl_store *store);
void sl_cut_kept_free(struct sl_cut_kept *kept);

/* Notes an order: the name without its attempt. Any thread. */
void sl_cut_kept_note(struct sl_cut_kept *kept, struct sl_str stem);

/* Reads what nodes use, and forgets it again. */
void sl_cut_kept_read(struct sl_cut_kept *kept);
void sl_cut_kept_forget(struct sl_cut_kept *kept);

/* Returns the order's name at the end of a name that has the node's before it, as keys of nos'
 * ConfigMap; else the name as it is. */
struct sl_str sl_cut_order_of(struct sl_str name);

/* Is the entry kept? One whose name is no order's, "sliced-<hash>-<attempt>", is not ours, and is
 * kept. context is the struct sl_cut_kept,
 * between read and forget. */
bool sl_cut_kept_keeps(void *context, struct sl_str name);

#endif
