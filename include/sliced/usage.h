/* Judges what was measured of a GPU by the pods that a view places on it. */
#ifndef SLICED_USAGE_H
#define SLICED_USAGE_H

#include "sliced/peaks.h"
#include "sliced/view.h"

/* Memory that a GPU uses beyond its pods' asks before anybody is held to it: contexts of CUDA and
 * of the driver are in no ask. */
enum {
    SL_USAGE_OVER_MIN_MIB = 512,
    SL_USAGE_OVER_SAMPLES = 3, /* that must all show it, taken with the pods that are there */
    SL_USAGE_LIFE_WINDOWS = 3, /* judgements that a life must have seen to teach anything */
};

struct sl_usage_rule {
    enum sl_sharing sharing;
    int64_t now_us;
    int64_t stale_us; /* as in sl_window_rule */
    int64_t gap_us;
    int64_t future_us;
    int64_t horizon_us;      /* PEAKS: memory grows on as in the window for that long */
    int32_t margin_permille; /* PEAKS: on top of what was seen */
    size_t least;            /* samples that decide; at least SL_HARVEST_SAMPLES_MIN */
};

enum { SL_USAGE_LIVES_MAX = 16 };

/* A pod that runs on the GPU, as long as it is watched. */
struct sl_usage_life {
    uint64_t pod; /* sl_hash of its UID */
    uint32_t workload;
    int32_t permille; /* of the asks of all pods there, that they used at most */
    uint32_t windows; /* judgements in which that was measured */
    bool spoilt;      /* it shared the GPU with another workload, or with undeclared memory */
};

/* What is kept of a GPU between two judgements. A zeroed one is empty. */
struct sl_usage_unit {
    uint64_t pods;    /* sl_view_pods_of() last time */
    int64_t since_us; /* when these pods were first seen together */
    struct sl_usage_life life[SL_USAGE_LIVES_MAX];
    uint8_t n;
};

/* Judges a device whose replicas or memory are shared, or any other: room is only ever given where
 * replicas share its memory, over_mib where a memory pool does too. Residents that have gone teach
 * peaks what they used. used: scratch for series->cap figures. */
void sl_usage_judge(const struct sl_view *view, unsigned device, const struct sl_series *series,
                    const struct sl_usage_rule *rule, struct sl_usage_unit *unit,
                    struct sl_peaks *peaks, int32_t *used, struct sl_measured *out);

/* Says for the ask what was measured of the GPUs that the view shares by use: "GPU 0: 4000 of 15360
 * MiB used, room for 11360 by cbp; GPU 1: Short". Empty where the ask declares no memory of
 * replicas or nothing is shared so. Cut to size bytes, with the NUL. */
void sl_usage_text(const struct sl_view *view, const struct sl_ask *ask, char *out, size_t size);

#endif
