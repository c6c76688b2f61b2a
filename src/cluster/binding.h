/* A binding to make of a reservation, and how that can end: shared by callers and makers of
 * bindings. */
#ifndef SLICED_CLUSTER_BINDING_H
#define SLICED_CLUSTER_BINDING_H

#include <stdint.h>

#include "util/error.h"
#include "util/str.h"

/* The binding to make. */
struct sl_binding {
    struct sl_str namespace;
    struct sl_str name;
    struct sl_str uid;
    struct sl_str node;
    const char *assignment;
    uint64_t leadership; /* in which the node was chosen */
    bool nominated;      /* the pod had a nomination: its deadline was set when it was released */
};

enum sl_bind_end {
    SL_BIND_END_BOUND,
    SL_BIND_END_FAILED,  /* the pod surely is not bound */
    SL_BIND_END_UNKNOWN, /* the pod may be bound or not */
    SL_BIND_ENDS,
};

/* err says why it is not bound, or not known to be. */
typedef void (*sl_bind_done)(void *call, enum sl_bind_end end, const struct sl_error *err);

/* The look for a pod has ended: the store knows the pod now if it exists. */
typedef void (*sl_fetch_done)(void *call);

#endif
