/* The annotations that gpushare's device plugin reads on a pod; the Binding carries them beside our
 * own. */
#ifndef SLICED_KUBE_GPUSHARE_H
#define SLICED_KUBE_GPUSHARE_H

#include <stdatomic.h>

#include "cluster/binding.h"
#include "cluster/store.h"

enum { SL_GPUSHARE_INDEX_MAX = 256 };

/* index "": the binding gives no share of a GPU that is known, nothing is to be written. */
struct sl_gpushare_marks {
    char index[SL_GPUSHARE_INDEX_MAX]; /* of the GPU, as nvidia-smi counts; several: "0,1" */
    int64_t device_units;              /* all units of that GPU */
    int64_t pod_units;
    int64_t assume_ns; /* Unix nanoseconds */
};

/* The next time stamp: the clock's, or one more than the last where that is not later. All bindings
 * share it, so that no two pods of a node have the same and "oldest" is unambiguous. */
int64_t sl_gpushare_next_ns(_Atomic int64_t *last_ns, int64_t now_us);

/* Reads pod and node from the store; some 100 ns for a binding without a share of memory. */
void sl_gpushare_marks_of(struct sl_store *store, const struct sl_binding *binding,
                          _Atomic int64_t *last_ns, int64_t now_us, struct sl_gpushare_marks *out);

#endif
