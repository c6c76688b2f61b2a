/* Reads an answer of Prometheus' /api/v1/query as it comes: a matrix (samples of a range selector)
 * or a vector (one sample of each series). */
#ifndef SLICED_TELEMETRY_PROMETHEUS_ANSWER_H
#define SLICED_TELEMETRY_PROMETHEUS_ANSWER_H

#include "codec/stream/json.h"
#include "sliced/usage.h"

enum {
    SL_LABEL_TEXT_MAX = 256, /* of a label that matters, with its NUL; a longer one is as none */
    SL_ANSWER_LABELS = 4,    /* that may tell one thing */
    SL_ANSWER_NAMES = SL_USAGE_SAID_MAX,
    SL_ANSWER_BYTES_MAX = 256 << 20,
};
#define SL_ANSWER_TIME_MAX_S 4e9 /* later samples are as none */

/* The values of all labels that may name a pod, or its namespace. Prometheus keeps its own label
 * "pod" and calls the exporter's "exported_pod", or "exported_exported_pod" where that is there
 * too; and dcgm-exporter may copy a pod's labels. So no label is surely the exporter's own. */
struct sl_answer_names {
    char text[SL_ANSWER_NAMES][SL_LABEL_TEXT_MAX];
    bool more; /* there are more than that */
};

/* The labels of one series that matter; empty where there are none. */
struct sl_answer_series {
    char name[SL_LABEL_TEXT_MAX];
    char node[SL_ANSWER_LABELS][SL_LABEL_TEXT_MAX]; /* by sl_answer_options.node_label */
    char gpu[SL_LABEL_TEXT_MAX];                    /* index on the node */
    char uuid[SL_LABEL_TEXT_MAX];                   /* of the GPU, the parent of an instance */
    char instance[SL_LABEL_TEXT_MAX];               /* GPU_I_ID */
    char profile[SL_LABEL_TEXT_MAX];                /* GPU_I_PROFILE */
    struct sl_answer_names pod;
    struct sl_answer_names namespace;
};

struct sl_answer_options {
    /* Names of labels; empty ones are left out. Those of pods also count with "exported_" before
     * them, however often. */
    struct sl_str node_label[SL_ANSWER_LABELS];
    struct sl_str pod_label[SL_ANSWER_LABELS];
    struct sl_str namespace_label[SL_ANSWER_LABELS];
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
