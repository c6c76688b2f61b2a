/* The orders of waiting pods: one comparison each, and the parts of P. */
#include "core/order/order.h"

#include "util/time.h"

#include <stdio.h>

/* Products of a weight and a time, exact: below 2^121 with the ranges in the header. */
__extension__ typedef __int128 wide;

static const struct sl_order_weights *weights_of(const struct sl_order_config *config,
                                                 const struct sl_order_item *item)
{
    return item->weights != NULL ? item->weights : &config->weights;
}

static int by_priority(const struct sl_order_item *a, const struct sl_order_item *b)
{
    return (a->priority < b->priority) - (a->priority > b->priority);
}

static int by_timeout(const struct sl_order_item *a, const struct sl_order_item *b)
{
    return (a->timeout_us > b->timeout_us) - (a->timeout_us < b->timeout_us);
}

/* P in 10^-12: millionths of a weight times microseconds. */
static wide value_of_p(const struct sl_order_weights *w, const struct sl_order_item *item)
{
    static const int64_t second_us = SL_SECOND_US;
    return (wide)w->alpha * item->priority * second_us - (wide)w->beta * item->timeout_us -
           (wide)w->gamma * item->submit_us;
}

static int compare_fifo(const struct sl_order_config *config, const struct sl_order_item *a,
                        const struct sl_order_item *b, int64_t now_us)
{
    (void)config;
    (void)now_us;
    return by_priority(a, b);
}

static int compare_sjf(const struct sl_order_config *config, const struct sl_order_item *a,
                       const struct sl_order_item *b, int64_t now_us)
{
    (void)config;
    (void)now_us;
    const int order = by_priority(a, b);
    return order != 0 ? order : by_timeout(a, b);
}

static int compare_p(const struct sl_order_config *config, const struct sl_order_item *a,
                     const struct sl_order_item *b, int64_t now_us)
{
    (void)now_us;
    const wide p = value_of_p(weights_of(config, a), a);
    const wide q = value_of_p(weights_of(config, b), b);
    return (p < q) - (p > q);
}

/* (wait + T)/T orders as wait/T does. */
static int compare_hrrn(const struct sl_order_config *config, const struct sl_order_item *a,
                        const struct sl_order_item *b, int64_t now_us)
{
    (void)config;
    const int64_t wait_a = now_us > a->submit_us ? now_us - a->submit_us : 0;
    const int64_t wait_b = now_us > b->submit_us ? now_us - b->submit_us : 0;
    const wide p = (wide)wait_a * (b->timeout_us > 0 ? b->timeout_us : 1);
    const wide q = (wide)wait_b * (a->timeout_us > 0 ? a->timeout_us : 1);
    const int order = by_priority(a, b);
    return order != 0 ? order : (p < q) - (p > q);
}

const char *const sl_order_words[SL_ORDER_KINDS + 1] = {
    [SL_ORDER_FIFO] = "fifo", [SL_ORDER_SJF] = "sjf",         [SL_ORDER_P] = "p",
    [SL_ORDER_HRRN] = "hrrn", [SL_ORDER_BOUNDED] = "bounded",
};

static const struct row {
    int (*compare)(const struct sl_order_config *config, const struct sl_order_item *a,
                   const struct sl_order_item *b, int64_t now_us);
    bool changes; /* with time */
} rows[SL_ORDER_KINDS] = {
    [SL_ORDER_FIFO] = {compare_fifo, false},   [SL_ORDER_SJF] = {compare_sjf, false},
    [SL_ORDER_P] = {compare_p, false},         [SL_ORDER_HRRN] = {compare_hrrn, true},
    [SL_ORDER_BOUNDED] = {compare_sjf, false},
};

const char *sl_order_name(enum sl_order_kind kind)
{
    return sl_order_words[kind];
}

bool sl_order_parse(struct sl_str name, enum sl_order_kind *out)
{
    for (unsigned i = 0; i < SL_ORDER_KINDS; i++) {
        if (sl_str_eq(name, sl_str_of(sl_order_words[i]))) {
            *out = (enum sl_order_kind)i;
            return true;
        }
    }
    return false;
}

bool sl_order_is_static(enum sl_order_kind kind)
{
    return !rows[kind].changes;
}

bool sl_order_weight_parse(struct sl_str text, int64_t max, int64_t *out)
{
    int64_t value = 0;
    int64_t unit = SL_ORDER_ONE; /* the weight of the last digit read */
    size_t digits = 0;
    bool point = false;
    for (size_t i = 0; i < text.len; i++) {
        const char c = text.s[i];
        if (c == '.' && !point && digits > 0) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9' || (point && unit == 1) || value > INT64_MAX / 10 - 1) {
            return false;
        }
        unit = point ? unit / 10 : unit;
        value = value * 10 + (c - '0');
        digits++;
    }
    if (digits == 0 || text.s[text.len - 1] == '.' || value > max / unit) {
        return false;
    }
    *out = value * unit;
    return true;
}

static int compare_str(struct sl_str a, struct sl_str b)
{
    const size_t len = a.len < b.len ? a.len : b.len;
    const int order = len == 0 ? 0 : memcmp(a.s, b.s, len);
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

/* Priorities order the pods of one tenant alone. */
static int compare_due(const struct sl_order_config *config, const struct sl_order_item *a,
                       const struct sl_order_item *b, int64_t now_us)
{
    if (a->due_us != b->due_us) {
        return a->due_us < b->due_us ? -1 : 1;
    }
    struct sl_order_item x = *a;
    struct sl_order_item y = *b;
    x.priority = 0;
    y.priority = 0;
    return rows[config->kind].compare(config, &x, &y, now_us);
}

int sl_order_compare(const struct sl_order_config *config, const struct sl_order_item *a,
                     const struct sl_order_item *b, int64_t now_us)
{
    int order = config->due ? compare_due(config, a, b, now_us)
                            : rows[config->kind].compare(config, a, b, now_us);
    if (order == 0) {
        order = (a->submit_us > b->submit_us) - (a->submit_us < b->submit_us);
    }
    return order != 0 ? order : compare_str(a->uid, b->uid);
}

/* Rounds down, also below 0, so that 0 <= millionths. */
static struct sl_order_amount amount_of(int64_t whole, int64_t millionths)
{
    int64_t carry = millionths / SL_ORDER_ONE;
    int64_t rest = millionths % SL_ORDER_ONE;
    if (rest < 0) {
        carry--;
        rest += SL_ORDER_ONE;
    }
    return (struct sl_order_amount){whole + carry, (int32_t)rest};
}

/* Returns weight * us in seconds, cut off below a millionth. Works in pieces, because 128-bit
 * division calls the compiler's library. */
static struct sl_order_amount times_seconds(int64_t weight, int64_t us)
{
    const int64_t whole = weight / SL_ORDER_ONE;
    const int64_t part = weight % SL_ORDER_ONE;
    const int64_t s = us / SL_SECOND_US;
    const int64_t rest = us % SL_SECOND_US;
    return amount_of(whole * s, whole * rest + part * s + part * rest / SL_SECOND_US);
}

void sl_order_explain(const struct sl_order_config *config, const struct sl_order_item *item,
                      struct sl_order_parts *out)
{
    const struct sl_order_weights *w = weights_of(config, item);
    out->priority = amount_of(w->alpha / SL_ORDER_ONE * item->priority,
                              w->alpha % SL_ORDER_ONE * item->priority);
    out->timeout = times_seconds(w->beta, item->timeout_us);
    out->submission = times_seconds(w->gamma, item->submit_us);
    out->p = amount_of(out->priority.whole - out->timeout.whole - out->submission.whole,
                       (int64_t)out->priority.millionths - out->timeout.millionths -
                           out->submission.millionths);
}

void sl_order_amount_print(struct sl_order_amount amount, char text[SL_ORDER_AMOUNT_TEXT])
{
    const bool negative = amount.whole < 0;
    uint64_t whole = (uint64_t)amount.whole;
    int32_t rest = amount.millionths;
    if (negative) { /* -3600.25 is held as -3601 + 0.75 */
        whole = UINT64_C(0) - whole - (rest > 0 ? 1 : 0);
        rest = rest > 0 ? SL_ORDER_ONE - rest : 0;
    }
    (void)snprintf(text, SL_ORDER_AMOUNT_TEXT, "%s%llu.%06d", negative ? "-" : "",
                   (unsigned long long)whole, (int)rest);
    size_t len = strlen(text);
    while (text[len - 1] == '0') {
        text[--len] = '\0';
    }
    if (text[len - 1] == '.') {
        text[len - 1] = '\0';
    }
}
