/* Nodes to be scored, and demand. */
#ifndef SLICED_TEST_SCORE_RIG_H
#define SLICED_TEST_SCORE_RIG_H

#include "unit/core/rig.h"

#include "sliced/score.h"

#define GPU    "nvidia.com/gpu"
#define SHARED "nvidia.com/gpu.shared"
#define MEM    "aliyun.com/gpu-mem"
#define MIG1   "nvidia.com/mig-1g.6gb"
#define MIG2   "nvidia.com/mig-2g.12gb"
#define MIG4   "nvidia.com/mig-4g.24gb"

static const struct sl_score_config only_availability = {.weight = {1, 0, 0}};

static inline void add_demand(struct sl_demand *demand, const char *resource, int32_t weight)
{
    struct sl_ask_item item = rig_item(resource, 1);
    demand->row[demand->n] = (struct sl_demand_row){
        .key = item.key, .kind = item.kind, .shape = item.shape, .weight = weight};
    demand->n++;
}

static inline struct sl_score score(struct rig *rig, const struct sl_ask *ask,
                                    const struct sl_demand *demand)
{
    struct sl_score out;
    sl_score(rig_view(rig), ask, demand, &only_availability, &out);
    assert_int_equal(out.total, out.term[SL_TERM_AVAILABILITY]);
    return out;
}

static inline int32_t availability(struct rig *rig, const struct sl_ask *ask,
                                   const struct sl_demand *demand)
{
    return score(rig, ask, demand).term[SL_TERM_AVAILABILITY];
}

/* A30s cut into four, one device offering "1g.6gb" only. */
static inline struct rig *a30(unsigned devices, bool dynamic)
{
    struct rig *rig = rig_new();
    const struct sl_mig_model *model = rig_model("A30-24GB");
    rig->node.model = model;
    rig->node.dynamic_mig = dynamic;
    rig_pool(rig, MIG1, SL_KIND_MIG, 4 * (int64_t)devices);
    rig->pool[0].profile = rig_profile(model, "1g.6gb");
    for (unsigned d = 0; d < devices; d++) {
        rig_device(rig, 0);
        rig->device[d].model = model;
        for (int start = 0; start < 4; start++) {
            rig_instance(rig, d, start, 0);
        }
    }
    return rig;
}

struct base {
    const char *model;
    const char *profile[3];
};

/* Two devices, each with a layout of the base profiles made by chance. */
static inline struct rig *random_partition(uint64_t *seed, const struct base *base)
{
    struct rig *rig = rig_new();
    const struct sl_mig_model *model = rig_model(base->model);
    rig->node.model = model;
    rig->node.dynamic_mig = true;
    for (unsigned p = 0; p < 3; p++) {
        const struct sl_mig_profile *profile = rig_profile(model, base->profile[p]);
        rig_pool(rig, profile->resource, SL_KIND_MIG, 0);
        rig->pool[p].profile = profile;
    }
    for (unsigned d = 0; d < 2; d++) {
        struct sl_mig_layout layout = {0};
        rig_device(rig, 0);
        rig->device[d].model = model;
        for (unsigned start = 0; start < model->memory_slices; start++) {
            unsigned p = rig_random(seed, 3);
            unsigned index = (unsigned)(rig->pool[p].profile - model->profiles);
            struct sl_mig_placement at = {(uint8_t)index, (uint8_t)start};
            if (rig_random(seed, 3) > 0 && sl_mig_can_place(model, &layout, at)) {
                sl_mig_place(model, &layout, at);
                rig_instance(rig, d, (int)start, p);
                rig->pool[p].capacity++;
            }
        }
    }
    return rig;
}

#endif
