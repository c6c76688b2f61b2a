/* The jobs of a simulation as its stages see them: told as they start and end, and read when
 * another waits for them. An ended one stays, as in a cluster until it is deleted. */
#ifndef SLICED_SIM_STAGES_H
#define SLICED_SIM_STAGES_H

#include "sim/input/workload.h"
#include "sliced/stage.h"

struct sl_sim_stages {
    const struct sl_workload *workload;
    struct sl_stages *stages; /* NULL: no job waits for others */
    struct sl_pod **pod;      /* by job: as it was told last; references */
};

/* -1: out of memory. Free with sl_sim_stages_free, after a failure too. */
int sl_sim_stages_init(struct sl_sim_stages *stages, const struct sl_workload *workload,
                       struct sl_error *err);
void sl_sim_stages_free(struct sl_sim_stages *stages);

/* The job is submitted, starts, or ends: its pod as it is then. */
void sl_sim_stages_tell(struct sl_sim_stages *stages, size_t job, struct sl_pod *pod);
/* Answers the readings that stages want. */
void sl_sim_stages_read(struct sl_sim_stages *stages);

#endif
