/* Traces: FORMAT:FILE to a workload. Each format is one row of a table. */
#ifndef SLICED_SIM_TRACE_H
#define SLICED_SIM_TRACE_H

#include "sim/input/workload.h"
#include "util/buf.h"

enum { SL_TRACE_GPUS_PER_POD = 8 };

struct sl_trace_how {
    const struct sl_buf *text; /* what sl_trace_load read, with a header; NULL: the file is read */
    uint64_t seed;             /* for values that a format lacks (adaptdl: run times) */
    /* A pod runs on one node: of the formats whose jobs are gangs, a job with more GPUs than this
     * becomes several pods of this many, each a job of its own. 0: SL_TRACE_GPUS_PER_POD. */
    int64_t gpus_per_pod;
};

/* The text of the file, into an empty buffer; for standard input, which can be read only once. */
int sl_trace_load(const char *format_and_file, struct sl_buf *out, struct sl_error *err);

/* Errors begin with "file:line:column: field: ". */
int sl_trace_read(const char *format_and_file, const struct sl_trace_how *how,
                  struct sl_workload *out, struct sl_error *err);

/* True when a workload of that format differs from seed to seed. */
bool sl_trace_random(const char *format_and_file);

/* Splits "format:file"; false when there is no colon. */
bool sl_trace_split(const char *text, struct sl_str *format, const char **file);

#endif
