/* Reads an answer of Prometheus' /api/v1/query as it comes: a matrix (samples of a range selector)
 * or a vector (one sample of each series). */
#ifndef SLICED_TELEMETRY_ANSWER_H
#define SLICED_TELEMETRY_ANSWER_H

#include "codec/stream/json.h"

enum {
    SL_LABEL_TEXT_MAX = 256, /* of a label that matters, with its NUL; a longer one is as none */
    SL_ANSWER_NODE_LABELS = 4,
    SL_ANSWER_BYTES_MAX = 256 << 20,
};
#define SL_ANSWER_TIME_MAX_S 4e9 /* later samples are as none */

/* The labels of one series that matter; empty where there are none. */
struct sl_answer_series {
    char name[SL_LABEL_TEXT_MAX];
    char node[SL_ANSWER_NODE_LABELS][SL_LABEL_TEXT_MAX]; /* by sl_answer_options.node_label */
    char gpu[SL_LABEL_TEXT_MAX];                         /* index on the node */
    char uuid[SL_LABEL_TEXT_MAX];                        /* of the GPU, the parent of an instance */
    char instance[SL_LABEL_TEXT_MAX];                    /* GPU_I_ID */
    char profile[SL_LABEL_TEXT_MAX];                     /* GPU_I_PROFILE */
    /* The pod that has it, as dcgm-exporter says: exported_pod and exported_namespace where
     * Prometheus gave the exporter's own pod the plain names, else pod and namespace. */
    char exported_pod[SL_LABEL_TEXT_MAX];
    char exported_namespace[SL_LABEL_TEXT_MAX];
    char pod[SL_LABEL_TEXT_MAX];
    char namespace[SL_LABEL_TEXT_MAX];
};

struct sl_answer_options {
    struct sl_str node_label[SL_ANSWER_NODE_LABELS]; /* names; empty ones are left out */
    /* A series begins, with all of its labels. False: its samples are passed over. */
    bool (*series)(void *context, const struct sl_answer_series *metric);
    /* A sample of it: Unix microseconds, and a number that is neither NaN nor infinite. */
    void (*sample)(void *context, int64_t at_us, double value);
    void *context;
};

/* For decoders: where the value of that label goes, of SL_LABEL_TEXT_MAX bytes; NULL: nowhere. */
char *sl_answer_label(const struct sl_answer_options *options, struct sl_answer_series *metric,
                      struct sl_str key);
/* False for what is no number, NaN or infinite. */
bool sl_answer_number(struct sl_str text, double *out);

struct sl_answer;

/* NULL when out of memory. The names of labels must outlive it. */
struct sl_answer *sl_answer_new(const struct sl_answer_options *options);
void sl_answer_free(struct sl_answer *answer); /* NULL is allowed */

/* Back to the beginning, for the next answer. */
void sl_answer_reset(struct sl_answer *answer);

/* Takes a piece of any size: 0, or -1 with *err. */
int sl_answer_feed(struct sl_answer *answer, const char *data, size_t len, struct sl_error *err);
/* The answer has ended. -1 with *err: it is not whole, or its status is not "success"; samples may
 * have been told all the same. */
int sl_answer_finish(struct sl_answer *answer, struct sl_error *err);

#endif
