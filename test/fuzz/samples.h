/* Plays any text to a decoder of samples: in one piece and in pieces of random lengths (the input's
 * first byte seeds them) it must tell the same, within what its receivers count on, and one that
 * has been used, and failed, must read the next text as a new one does. */
#ifndef SLICED_TEST_SAMPLES_H
#define SLICED_TEST_SAMPLES_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "telemetry/prometheus/answer.h"
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
    for (size_t i = 0; i < SL_ANSWER_LABELS; i++) {
        samples_label(out, metric->node[i]);
    }
    samples_label(out, metric->gpu);
    samples_label(out, metric->uuid);
    samples_label(out, metric->instance);
    samples_label(out, metric->profile);
    for (size_t i = 0; i < SL_ANSWER_NAMES; i++) {
        samples_label(out, metric->pod.text[i]);
        samples_label(out, metric->namespace.text[i]);
    }
    sl_buf_putc(out, metric->pod.more || metric->namespace.more ? '+' : '.');
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

struct samples_decoder {
    void *(*make)(const struct sl_answer_options *options);
    void (*free)(void *decoder);
    void (*reset)(void *decoder);
    int (*feed)(void *decoder, const char *data, size_t len, struct sl_error *err);
    int (*finish)(void *decoder, struct sl_error *err);
};

static inline void *samples_make(const struct samples_decoder *how, struct sl_buf *out)
{
    const struct sl_answer_options options = {
        .node_label = {SL_STR("Hostname"), SL_STR("hostname"), SL_STR("node"), SL_STR("")},
        .pod_label = {SL_STR("pod"), SL_STR("pod_name")},
        .namespace_label = {SL_STR("namespace")},
        .series = samples_series,
        .sample = samples_sample,
        .context = out};
    sl_buf_init(out, SAMPLES_OUT_MAX);
    void *decoder = how->make(&options);
    samples_check(decoder != NULL);
    return decoder;
}

/* seed 0: in one piece. */
static inline void samples_read(const struct samples_decoder *how, void *decoder,
                                struct sl_buf *out, const char *text, size_t len, uint64_t seed)
{
    struct sl_error err = {0};
    int rc = 0;
    out->len = 0;
    how->reset(decoder);
    for (size_t at = 0; at < len && rc == 0;) {
        size_t n = seed == 0 ? len : samples_piece(&seed, len - at);
        char *piece = samples_copy(text + at, n);
        rc = how->feed(decoder, piece, n, &err);
        free(piece);
        at += n;
    }
    if (rc == 0) {
        rc = how->finish(decoder, &err);
    }
    sl_buf_printf(out, "\n%d %d %s", rc, (int)err.code, err.message);
}

static inline void samples_play(const struct samples_decoder *how, const uint8_t *data, size_t size)
{
    const char *text = (const char *)data + 1;
    struct sl_buf whole;
    struct sl_buf pieces;
    if (size < 1) {
        return;
    }
    void *fresh = samples_make(how, &whole);
    void *used = samples_make(how, &pieces);
    samples_read(how, used, &pieces, text, size / 2, 0);
    samples_read(how, fresh, &whole, text, size - 1, 0);
    samples_read(how, used, &pieces, text, size - 1, (uint64_t)data[0] + 1);
    samples_check(whole.failed == SL_BUF_OK && pieces.failed == SL_BUF_OK);
    samples_check(whole.len == pieces.len && memcmp(whole.data, pieces.data, whole.len) == 0);
    how->free(fresh);
    how->free(used);
    sl_buf_free(&whole);
    sl_buf_free(&pieces);
}

#endif
