#include "sim/play/stages.h"

#include <stdlib.h>

int sl_sim_stages_init(struct sl_sim_stages *stages, const struct sl_workload *workload,
                       struct sl_error *err)
{
    *stages = (struct sl_sim_stages){.workload = workload};
    if (!workload->staged) {
        return 0;
    }
    stages->pod = calloc(workload->n, sizeof(struct sl_pod *));
    stages->stages = sl_stages_new(0, err); /* the engine says for how many */
    return stages->pod == NULL || stages->stages == NULL ? sl_error_nomem(err) : 0;
}

void sl_sim_stages_free(struct sl_sim_stages *stages)
{
    for (size_t i = 0; stages->pod != NULL && i < stages->workload->n; i++) {
        sl_pod_unref(stages->pod[i]);
    }
    sl_stages_free(stages->stages);
    free(stages->pod);
    *stages = (struct sl_sim_stages){.stages = NULL};
}

void sl_sim_stages_tell(struct sl_sim_stages *stages, size_t job, struct sl_pod *pod)
{
    const struct sl_job *facts = &stages->workload->job[job];
    if (stages->stages != NULL && (facts->after != NULL || facts->followed)) {
        struct sl_pod *old = stages->pod[job];
        stages->pod[job] = sl_pod_ref(pod);
        sl_pod_unref(old);
        sl_stages_pod(stages->stages, pod);
    }
}

void sl_sim_stages_read(struct sl_sim_stages *stages)
{
    struct sl_stage_read read;
    while (stages->stages != NULL && sl_stages_next_read(stages->stages, 0, &read)) {
        size_t job = sl_workload_stage_job(read.text);
        if (job < stages->workload->n && stages->pod[job] != NULL) {
            sl_stages_read_pod(stages->stages, read.id, stages->pod[job]);
        }
        sl_stages_read_end(stages->stages, read.id, true, 0);
    }
}
