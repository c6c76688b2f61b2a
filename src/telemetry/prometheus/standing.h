/* A question to Prometheus that never changes: it is asked while somebody looks, one at a time, and
 * no more often than is said. */
#ifndef SLICED_TELEMETRY_PROMETHEUS_STANDING_H
#define SLICED_TELEMETRY_PROMETHEUS_STANDING_H

#include "config/config.h"
#include "kube/client/client.h"
#include "telemetry/prometheus/answer.h"

struct sl_standing;

/* All are called on the client's thread, but want. */
struct sl_standing_options {
    struct sl_client *client; /* borrowed; must end before sl_standing_free() */
    int64_t timeout_us;
    int64_t again_us;                /* from an answer to the next question; from none a minute */
    struct sl_answer_options answer; /* how it is read; has the context */
    /* Begins anew, and writes the path; a buffer that failed is no question. */
    void (*put)(void *context, struct sl_buf *path);
    /* The answer has ended, or (err) there is none. */
    void (*ended)(void *context, const struct sl_error *err);
};

/* NULL: out of memory. */
struct sl_standing *sl_standing_new(const struct sl_standing_options *options);
void sl_standing_free(struct sl_standing *standing); /* NULL is allowed */
/* Somebody looks. Any thread. */
void sl_standing_want(struct sl_standing *standing);

/* Appends an expression in which each '@' stands for the labels of telemetry.ownSelector. */
void sl_standing_put(struct sl_buf *out, const char *query, const struct sl_config_selector *own);

#endif
