/* Dependencies between jobs; private to the files of workloads. */
#ifndef SLICED_SIM_WORKLOAD_AFTER_H
#define SLICED_SIM_WORKLOAD_AFTER_H

#include "sim/input/workload.h"
#include "sliced/stage.h"

enum { SL_WORKLOAD_UID_TEXT = 37, SL_WORKLOAD_AFTER_TEXT = SL_STAGE_ITEMS_MAX * 16 };

/* False: out of memory. */
bool sl_workload_keep_after(struct sl_workload *workload, const struct sl_trace_job *facts,
                            struct sl_job *job);
/* Finds the jobs by their names. -1: *err says where the trace is wrong. */
int sl_workload_link(struct sl_workload *workload, struct sl_error *err);

/* The annotation; empty where there is none. */
struct sl_str sl_workload_put_after(const struct sl_job *job, char out[SL_WORKLOAD_AFTER_TEXT]);
void sl_workload_put_uid(size_t index, char out[SL_WORKLOAD_UID_TEXT]);

#endif
