/* Writes down what a decoder of samples tells, and holds it to what its receivers count on. */
#ifndef SLICED_TEST_SAMPLES_H
#define SLICED_TEST_SAMPLES_H

#include <math.h>
#include <stdlib.h>

#include "telemetry/answer.h"
#include "util/buf.h"

enum { SAMPLES_OUT_MAX = 1 << 24 };

static inline void samples_check(bool holds)
{
    if (!holds) {
        abort();
    }
}

static inline void samples_label(struct sl_buf *out, const char *label)
{
    samples_check(memchr(label, '\0', SL_LABEL_TEXT_MAX) != NULL);
    sl_buf_putc(out, ' ');
    sl_buf_puts(out, label);
}

/* Wants what its first letter says, so that some series are passed over. */
static inline bool samples_series(void *context, const struct sl_answer_series *metric)
{
    struct sl_buf *out = context;
    sl_buf_putc(out, '\n');
    samples_label(out, metric->name);
    for (size_t i = 0; i < SL_ANSWER_NODE_LABELS; i++) {
        samples_label(out, metric->node[i]);
    }
    samples_label(out, metric->gpu);
    samples_label(out, metric->uuid);
    samples_label(out, metric->instance);
    samples_label(out, metric->profile);
    return metric->name[0] % 4 != 1;
}

static inline void samples_sample(void *context, int64_t at_us, double value)
{
    samples_check(at_us >= 0 && at_us <= INT64_C(4000000000000000) && isfinite(value) != 0);
    sl_buf_printf((struct sl_buf *)context, " %lld=%a", (long long)at_us, value);
}

/* The length of the next piece, of at most those left: any, and often a short one. */
static inline size_t samples_piece(uint64_t *state, size_t left)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407U;
    uint64_t random = *state >> 33;
    size_t most = (random & 3) == 0 ? left : 8;
    size_t len = 1 + (size_t)((random >> 2) % most);
    return len < left ? len : left;
}

/* A copy of its own, so that a read beyond its end is seen. */
static inline char *samples_copy(const char *text, size_t len)
{
    char *piece = malloc(len > 0 ? len : 1);
    samples_check(piece != NULL);
    if (len > 0) {
        memcpy(piece, text, len);
    }
    return piece;
}

static inline void samples_compare(const struct sl_buf *a, const struct sl_buf *b)
{
    samples_check(a->failed == SL_BUF_OK && b->failed == SL_BUF_OK);
    samples_check(a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0));
}

#endif
