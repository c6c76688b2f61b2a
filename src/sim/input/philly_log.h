/* The job log of Microsoft's Philly trace (cluster_job_log): JSON, an array of jobs. */
#ifndef SLICED_SIM_PHILLY_LOG_H
#define SLICED_SIM_PHILLY_LOG_H

#include "sim/input/workload.h"
#include "util/buf.h"

/* Calls take with each job: its GPUs are those of the last attempt that had any, its run time is
 * the sum of attempts whose start and end are known. Both may be 0; name and namespace are valid
 * during the call. text is what the log holds. -1 with *err set, at the line, column and path in
 * the log. */
int sl_philly_log_read(const struct sl_buf *text,
                       int (*take)(void *context, const struct sl_trace_job *job,
                                   struct sl_error *err),
                       void *context, struct sl_error *err);

#endif
