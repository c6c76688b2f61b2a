/* What a reservation has to become, and how that can end: shared by those who ask for a binding and
 * those who make it true. */
#ifndef SLICED_CLUSTER_BINDING_H
#define SLICED_CLUSTER_BINDING_H

#include <stdint.h>

#include "util/error.h"
#include "util/str.h"

/* What has to be made true. */
struct sl_binding {
    struct sl_str namespace;
    struct sl_str name;
    struct sl_str uid;
    struct sl_str node;
    const char *assignment;
    uint64_t term; /* of leadership, in which it was chosen */
    bool claimed;  /* the pod had a claim: its deadline was set when it was released */
};

enum sl_bind_end {
    SL_BIND_END_BOUND,
    SL_BIND_END_FAILED,  /* it surely is not bound */
    SL_BIND_END_UNKNOWN, /* nobody could say */
    SL_BIND_ENDS,
};

/* err says why it is not bound, or not known to be. */
typedef void (*sl_bind_done)(void *call, enum sl_bind_end end, const struct sl_error *err);

/* A pod was looked for: the store knows it now if it is there. */
typedef void (*sl_fetch_done)(void *call);

#endif
