/* Who goes first among waiting pods. Every order is one row of one table: its name and one small
 * function that compares two pods. All of it is integers: the same order on every machine. */
#ifndef SLICED_ORDER_H
#define SLICED_ORDER_H

#include "util/str.h"

enum sl_order_kind {
    SL_ORDER_FIFO,    /* by priority, then submission: as kube-scheduler */
    SL_ORDER_SJF,     /* by priority, then the shorter timeout */
    SL_ORDER_P,       /* by P = alpha*priority - beta*timeout - gamma*submission, highest first:
                         Shao et al., GPU Scheduling for Short Tasks in Private Cloud, eq. 1 */
    SL_ORDER_HRRN,    /* by priority, then (wait + timeout)/timeout, highest first */
    SL_ORDER_BOUNDED, /* as sjf, but only those go that sl_bound_admits(): sliced/bound.h */
    SL_ORDER_KINDS,
};

/* Weights are fixed point, in millionths. */
enum { SL_ORDER_ONE = 1000000 };
/* What a weight may be at most: 10^9 for alpha, 10^6 for beta and gamma; none is below 0. With
 * these every part of P fits in struct sl_order_amount. */
#define SL_ORDER_ALPHA_MAX  (INT64_C(1000000000) * SL_ORDER_ONE)
#define SL_ORDER_WEIGHT_MAX (INT64_C(1000000) * SL_ORDER_ONE)

struct sl_order_weights {
    int64_t alpha; /* per unit of spec.priority */
    int64_t beta;  /* per second of timeout */
    int64_t gamma; /* per second of submission */
};

struct sl_order_config {
    enum sl_order_kind kind;
    struct sl_order_weights weights; /* of P; the other orders take none */
};

/* bounded; alpha 10^9, so that the priority dominates, beta and gamma 1. */
void sl_order_defaults(struct sl_order_config *config);

/* "fifo", "sjf", "p", "hrrn", "bounded". */
const char *sl_order_name(enum sl_order_kind kind);
/* What the order does, in one line, for documentation. */
const char *sl_order_summary(enum sl_order_kind kind);
/* False (and *out untouched) when there is no order of that name. */
bool sl_order_parse(struct sl_str name, enum sl_order_kind *out);

/* True when two pods keep their order for good, so that a sorted list stays sorted. False for hrrn,
 * where waiting counts. */
bool sl_order_is_static(enum sl_order_kind kind);

/* A weight as people write it: digits, and up to six behind a point ("1", "0.25"). False (and *out
 * untouched) for anything else and above max. */
bool sl_order_weight_parse(struct sl_str text, int64_t max, int64_t *out);

/* What an order may know of a waiting pod. Times in microseconds, submissions since the epoch.
 * 0 <= timeout_us <= 2^31 s; 0 <= submit_us < 2^58 (the year 11100). */
struct sl_order_item {
    int64_t timeout_us;
    int64_t submit_us;
    const struct sl_order_weights *weights; /* of its namespace or class; NULL: the config's */
    struct sl_str uid;
    int32_t priority;
};

/* < 0: a goes before b; > 0: behind. Equal in the order: the earlier submission, then the smaller
 * UID; 0 only when these are equal too. At one now a total order. */
int sl_order_compare(const struct sl_order_config *config, const struct sl_order_item *a,
                     const struct sl_order_item *b, int64_t now_us);

/* A number with six decimals: whole + millionths / 10^6, where 0 <= millionths < 10^6. */
struct sl_order_amount {
    int64_t whole;
    int32_t millionths;
};

/* P of a pod and what it is made of, for an explanation: p = priority - timeout - submission. What
 * lies below a millionth is cut off, in p too, so that the parts add up to p; sl_order_compare()
 * cuts nothing. */
struct sl_order_parts {
    struct sl_order_amount p;
    struct sl_order_amount priority;   /* alpha * priority */
    struct sl_order_amount timeout;    /* beta * timeout in seconds */
    struct sl_order_amount submission; /* gamma * submission in seconds */
};

void sl_order_explain(const struct sl_order_config *config, const struct sl_order_item *item,
                      struct sl_order_parts *out);

enum { SL_ORDER_AMOUNT_TEXT = 32 };
/* "-3600.25", "12": no more decimals than it has. */
void sl_order_amount_print(struct sl_order_amount amount, char text[SL_ORDER_AMOUNT_TEXT]);

#endif
