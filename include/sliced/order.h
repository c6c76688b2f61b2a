/* The orders in which waiting pods go. Every order is one row of one table: its name and a function
 * that compares two pods. All arithmetic is in integers, so that every machine finds the same
 * order. */
#ifndef SLICED_ORDER_H
#define SLICED_ORDER_H

#include "util/str.h"

enum sl_order_kind {
    SL_ORDER_FIFO,    /* by priority, then submission: as kube-scheduler */
    SL_ORDER_SJF,     /* by priority, then the shorter timeout */
    SL_ORDER_P,       /* by P = alpha*priority - beta*timeout - gamma*submission, highest first:
                         Shao et al., GPU Scheduling for Short Tasks in Private Cloud, eq. 1 */
    SL_ORDER_HRRN,    /* by priority, then (wait + timeout)/timeout, highest first */
    SL_ORDER_BOUNDED, /* as sjf, among pods that sl_promise_admits() lets go: sliced/promise.h */
    SL_ORDER_KINDS,
};

/* Weights are fixed point, in millionths. */
enum { SL_ORDER_ONE = 1000000 };
/* alpha is 0..10^9, beta and gamma are 0..10^6, so that every part of P fits in struct
 * sl_order_amount. */
#define SL_ORDER_ALPHA_MAX  (INT64_C(1000000000) * SL_ORDER_ONE)
#define SL_ORDER_WEIGHT_MAX (INT64_C(1000000) * SL_ORDER_ONE)

struct sl_order_weights {
    int64_t alpha; /* per unit of spec.priority */
    int64_t beta;  /* per second of timeout */
    int64_t gamma; /* per second of submission */
};

struct sl_order_config {
    enum sl_order_kind kind;
    struct sl_order_weights weights; /* of P; other orders ignore them */
    bool due; /* with tenants: those that are due go first, and no priority counts */
};

/* Their names in configurations, by kind; NULL ends them. */
extern const char *const sl_order_words[SL_ORDER_KINDS + 1];

const char *sl_order_name(enum sl_order_kind kind);
/* False, with *out untouched, when no order has that name. */
bool sl_order_parse(struct sl_str name, enum sl_order_kind *out);

/* Reads a weight of digits, with up to six behind a point ("1", "0.25"), into millionths. False,
 * with *out untouched, for any other text and above max. */
bool sl_order_weight_parse(struct sl_str text, int64_t max, int64_t *out);

/* A number with six decimals: whole + millionths / 10^6, where 0 <= millionths < 10^6. */
struct sl_order_amount {
    int64_t whole;
    int32_t millionths;
};

/* A pod's P and its parts, for an explanation: p = priority - timeout - submission. All are cut off
 * below a millionth, p too, so that the parts add up to it; sl_order_compare() cuts nothing. */
struct sl_order_parts {
    struct sl_order_amount p;
    struct sl_order_amount priority;   /* alpha * priority */
    struct sl_order_amount timeout;    /* beta * timeout in seconds */
    struct sl_order_amount submission; /* gamma * submission in seconds */
};

enum { SL_ORDER_AMOUNT_TEXT = 32 };
/* Writes "-3600.25" or "12", without trailing zeros. */
void sl_order_amount_print(struct sl_order_amount amount, char text[SL_ORDER_AMOUNT_TEXT]);

#endif
