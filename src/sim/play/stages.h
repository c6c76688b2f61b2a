/* Jobs that wait for others to succeed: reports the simulation's jobs to the daemon's stages. */
#ifndef SLICED_SIM_STAGES_H
#define SLICED_SIM_STAGES_H

#include "sim/input/workload.h"
#include "sliced/stage.h"

struct sl_sim_stages {
    const struct sl_workload *workload;
    struct sl_stages *stages; /* NULL: no job waits for others */
    uint8_t *phase;           /* by job: enum sl_pod_phase + 1; 0: is not there yet */
};

/* -1: out of memory. Free with sl_sim_stages_free, after a failure too. */
int sl_sim_stages_init(struct sl_sim_stages *stages, const struct sl_workload *workload,
                       struct sl_error *err);
void sl_sim_stages_free(struct sl_sim_stages *stages);

/* The job is submitted (PENDING), starts, or ends. */
int sl_sim_stages_tell(struct sl_sim_stages *stages, size_t job, enum sl_pod_phase phase,
                       struct sl_error *err);

/* As sl_stages_collect; first answers the readings that stages want. */
int sl_sim_stages_collect(struct sl_sim_stages *stages,
                          void (*visit)(void *context, struct sl_str uid, enum sl_hold_reason stage,
                                        const char *why),
                          void *context, struct sl_error *err);

#endif
