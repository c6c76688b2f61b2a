#include "sim/play/stages.h"

#include <stdlib.h>

int sl_sim_stages_init(struct sl_sim_stages *stages, const struct sl_workload *workload,
                       struct sl_error *err)
{
    *stages = (struct sl_sim_stages){.workload = workload};
    if (!workload->staged) {
        return 0;
    }
    stages->phase = calloc(workload->n, sizeof(*stages->phase));
    if (stages->phase == NULL) {
        return sl_error_nomem(err);
    }
    stages->stages = sl_stages_new(0, err); /* the engine says for how many */
    return stages->stages == NULL ? -1 : 0;
}

void sl_sim_stages_free(struct sl_sim_stages *stages)
{
    sl_stages_free(stages->stages);
    free(stages->phase);
    *stages = (struct sl_sim_stages){.stages = NULL};
}

int sl_sim_stages_tell(struct sl_sim_stages *stages, size_t job, enum sl_pod_phase phase,
                       struct sl_error *err)
{
    const struct sl_job *facts = &stages->workload->job[job];
    if (stages->stages == NULL || (facts->after == NULL && !facts->followed)) {
        return 0;
    }
    struct sl_pod *pod = sl_workload_stage_pod(stages->workload, job, phase, err);
    if (pod == NULL) {
        return -1;
    }
    stages->phase[job] = (uint8_t)(phase + 1);
    sl_stages_pod(stages->stages, pod);
    sl_pod_unref(pod);
    return 0;
}

static int read_answer(struct sl_sim_stages *stages, const struct sl_stage_read *read,
                       struct sl_error *err)
{
    size_t job = sl_workload_stage_job(read->text);
    struct sl_pod *pod = NULL;
    if (job < stages->workload->n && stages->phase[job] > 0) {
        enum sl_pod_phase phase = (enum sl_pod_phase)(stages->phase[job] - 1);
        pod = sl_workload_stage_pod(stages->workload, job, phase, err);
        if (pod == NULL) {
            return -1;
        }
        sl_stages_read_pod(stages->stages, read->id, pod);
        sl_pod_unref(pod);
    }
    sl_stages_read_end(stages->stages, read->id, true, 0);
    return 0;
}

int sl_sim_stages_read(struct sl_sim_stages *stages, struct sl_error *err)
{
    struct sl_stage_read read;
    while (stages->stages != NULL && sl_stages_next_read(stages->stages, 0, &read)) {
        if (read_answer(stages, &read, err) < 0) {
            return -1;
        }
    }
    return 0;
}
