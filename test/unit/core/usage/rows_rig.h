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

#endif
