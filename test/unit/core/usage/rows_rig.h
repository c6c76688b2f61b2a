/* A node of which rows were measured. */
#ifndef SLICED_TEST_ROWS_RIG_H
#define SLICED_TEST_ROWS_RIG_H

#include "unit/core/rig.h"

#include "sliced/usage.h"

enum { ROWS = 8, PODS = 8 };

struct scene {
    struct rig *rig;
    struct sl_usage_row row[ROWS];
    size_t n;
    struct sl_usage_charge charge[PODS];
    int64_t rest; /* that nobody was charged with */
};

static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    assert_non_null(scene);
    scene->rig = rig_new();
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    rig_free(scene->rig);
    free(scene);
    return 0;
}

/* Two instances of half a GPU. */
static inline void with_halves(struct scene *scene, const char *resource)
{
    const struct sl_mig_model *model = rig_model("A100-40GB / A800-40GB");
    unsigned pool = rig_pool(scene->rig, resource, SL_KIND_MIG, 2);
    scene->rig->pool[pool].profile = rig_profile(model, "3g.20gb");
    unsigned device = rig_device(scene->rig, 0);
    scene->rig->device[device].model = model;
    rig_instance(scene->rig, device, 0, pool);
    rig_instance(scene->rig, device, 4, pool);
}

#endif
