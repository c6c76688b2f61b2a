/* A question to Prometheus that never changes: it is asked while somebody looks, one at a time, and
 * no more often than is said. */
#ifndef SLICED_TELEMETRY_PROMETHEUS_STANDING_H
#define SLICED_TELEMETRY_PROMETHEUS_STANDING_H

#include "config/config.h"
#include "kube/client/client.h"
#include "telemetry/prometheus/answer.h"

struct sl_standing;

struct sl_standing_query {
    struct sl_buf path; /* what comes before the query */
    struct sl_buf text;
    const struct sl_config_selector *own; /* telemetry.ownSelector */
};
/* Adds an expression, whose series get that label, to the query; each '@' in it stands for the
 * labels of telemetry.ownSelector. */
void sl_standing_put(struct sl_standing_query *query, const char *label, const char *value,
                     const char *expression);

/* All are called on the client's thread. */
struct sl_standing_options {
    struct sl_client *client;        /* borrowed; must end before sl_standing_free() */
    const struct sl_config *config;  /* read, and not kept */
    int64_t again_us;                /* from an answer to the next question; from none a minute */
    struct sl_answer_options answer; /* how it is read; has the context */
    /* Begins anew, and writes the query; buffers that failed are no question. */
    void (*put)(void *context, struct sl_standing_query *query);
    /* The answer is whole: what was read counts from now on. The lock is held. */
    void (*keep)(void *context);
};

/* NULL: out of memory. */
struct sl_standing *sl_standing_new(const struct sl_standing_options *options);
void sl_standing_free(struct sl_standing *standing); /* NULL is allowed */

/* Somebody looks: what is kept stays as it is until the end of it. Returns why the last question
 * was not answered, which may be kept as long; "": it was, or none was asked. Any thread. */
const char *sl_standing_begin(struct sl_standing *standing);
void sl_standing_end(struct sl_standing *standing);
enum { SL_STANDING_ERROR_MAX = 200 }; /* of that text, with its NUL */

#endif
