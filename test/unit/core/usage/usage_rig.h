/* A GPU that pods share, what is measured of it as time passes, and what is judged of that. */
#ifndef SLICED_TEST_USAGE_RIG_H
#define SLICED_TEST_USAGE_RIG_H

#include "unit/core/rig.h"

#include "sliced/overcommit.h"
#include "sliced/usage.h"

#define SHARED "nvidia.com/gpu.shared"

enum { TAUGHT = 2 }; /* lives by learn() */
enum { CAP = 60, SECOND = 1000000, START = 1000, TOTAL = 16000, SAME = 7, OTHER = 8 };

struct scene {
    struct rig *rig;
    struct sl_sample sample[CAP];
    struct sl_series series;
    struct sl_usage_unit unit;
    struct sl_past *peaks;
    struct sl_usage_rule rule;
    int now; /* seconds */
};

static inline int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    assert_non_null(scene);
    scene->rig = rig_new();
    unsigned pool = rig_pool(scene->rig, SHARED, SL_KIND_REPLICA, 10);
    scene->rig->pool[pool].replicas = 10;
    scene->rig->device[rig_device(scene->rig, 0)].memory_mib = TOTAL;
    scene->series = (struct sl_series){.sample = scene->sample, .cap = CAP};
    scene->peaks = sl_past_new(64);
    assert_non_null(scene->peaks);
    scene->rule = (struct sl_usage_rule){.sharing = SL_SHARING_PEAKS,
                                         .stale_us = 30 * (int64_t)SECOND,
                                         .gap_us = 5 * (int64_t)SECOND,
                                         .future_us = SECOND,
                                         .horizon_us = 60 * (int64_t)SECOND,
                                         .margin_permille = 100,
                                         .least = 20};
    scene->now = START;
    *state = scene;
    return 0;
}

static inline int tear_down(void **state)
{
    struct scene *scene = *state;
    rig_free(scene->rig);
    sl_past_free(scene->peaks);
    free(scene);
    return 0;
}

static inline struct sl_ask ask_of(int32_t mib, uint32_t workload)
{
    struct sl_ask ask = rig_ask(SHARED, 1);
    ask.item[0].memory_mib = mib;
    ask.item[0].workload = workload;
    return ask;
}

static inline struct sl_pod *runs(struct scene *scene, int32_t mib, uint32_t workload)
{
    struct sl_ask ask = ask_of(mib, workload);
    struct sl_pod *pod = rig_run(scene->rig, ask, SHARED "=0");
    pod->started_us = (int64_t)scene->now * SECOND + 1;
    return pod;
}

/* Seconds pass in which the GPU uses that much. */
static inline void uses(struct scene *scene, int seconds, int64_t mib)
{
    for (int i = 0; i < seconds; i++) {
        scene->now++;
        assert_true(
            sl_series_put(&scene->series, (int64_t)scene->now * SECOND, SL_FIGURE_USED, mib));
    }
}

static inline struct sl_measured judged(struct scene *scene)
{
    struct rig *rig = scene->rig;
    int32_t used[CAP];
    scene->rule.now_us = (int64_t)scene->now * SECOND;
    sl_usage_judge(rig_view(rig), 0, &scene->series, &scene->rule, &scene->unit, scene->peaks, used,
                   &rig->measured[0]);
    rig->n_measured = 1;
    return rig->measured[0];
}

static inline bool fits(struct scene *scene, int32_t mib, uint32_t workload)
{
    struct sl_ask ask = ask_of(mib, workload);
    return rig_verdict(scene->rig, ask).reason == SL_REASON_FITS;
}

static inline void learn(struct scene *scene, uint32_t workload, int32_t permille)
{
    for (int i = 0; i < TAUGHT; i++) {
        sl_peaks_learn(scene->peaks, sl_peaks_node("node-1"), workload, permille, permille);
    }
}

#endif
