/* Compares waiting pods; only core needs this part of an order. */
#ifndef SLICED_CORE_ORDER_H
#define SLICED_CORE_ORDER_H

#include "sliced/order.h"

/* True when two pods never change their order, so that a sorted list stays sorted. False for hrrn,
 * where waiting counts. */
bool sl_order_is_static(enum sl_order_kind kind);

/* The members of a waiting pod that orders compare. Times in microseconds, submissions since the
 * epoch. 0 <= timeout_us <= 2^31 s; 0 <= submit_us < 2^58 (the year 11100). */
struct sl_order_item {
    int64_t timeout_us;
    int64_t submit_us;
    int64_t due_us; /* since when it is due, where config->due counts; INT64_MAX: it is not */
    const struct sl_order_weights *weights; /* of its override; NULL: the config's */
    struct sl_str uid;
    int32_t priority;
};

/* Returns below 0 when a goes first, above 0 when b does. Pods equal in the order go by submission,
 * then by UID; 0 when these are equal too. A total order at any one time. */
int sl_order_compare(const struct sl_order_config *config, const struct sl_order_item *a,
                     const struct sl_order_item *b, int64_t now_us);

/* Computes the pod's P and its parts. */
void sl_order_explain(const struct sl_order_config *config, const struct sl_order_item *item,
                      struct sl_order_parts *out);

#endif
