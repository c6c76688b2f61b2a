/* Kubernetes resource quantities, exact.
 * Grammar: k8s.io/apimachinery/pkg/api/resource, "Quantity": a signed decimal number and a suffix
 * (n u m, none, k M G T P E; Ki Mi Gi Ti Pi Ei; e<int> or E<int>). */
#ifndef SLICED_QUANTITY_H
#define SLICED_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* whole + nano / 10^9. Both have the same sign or are 0; |nano| < 10^9. Digits finer than a nano
 * are rounded away from zero, as Kubernetes does. */
struct sl_quantity {
    int64_t whole;
    int32_t nano;
};

enum sl_quantity_result {
    SL_QUANTITY_OK = 0,
    SL_QUANTITY_SYNTAX = -1, /* not a quantity */
    SL_QUANTITY_RANGE = -2,  /* a quantity, but beyond +-(2^63 - 1) (Kubernetes caps, we refuse) */
};

/* Parses all of text[0..len). *out is set only on SL_QUANTITY_OK. The grammar needs at least one
 * digit: "Mi", "-" and ".", which Go reads as 0, are refused. */
enum sl_quantity_result sl_quantity_parse(const char *text, size_t len, struct sl_quantity *out);

bool sl_quantity_is_integer(struct sl_quantity q);

/* The value rounded away from zero to a multiple of 1 (like Go's Value()); SL_QUANTITY_RANGE above
 * INT64_MAX. */
enum sl_quantity_result sl_quantity_ceil(struct sl_quantity q, int64_t *out);

/* The value in thousandths, rounded away from zero (like Go's MilliValue()); SL_QUANTITY_RANGE on
 * overflow. */
enum sl_quantity_result sl_quantity_milli(struct sl_quantity q, int64_t *out);

/* Returns < 0, 0 or > 0 as a is less than, equal to or greater than b. */
int sl_quantity_cmp(struct sl_quantity a, struct sl_quantity b);

#endif
