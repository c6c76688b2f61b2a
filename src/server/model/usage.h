/* What is shown of measured GPUs, and of who uses them. */
#ifndef SLICED_SERVER_MODEL_USAGE_H
#define SLICED_SERVER_MODEL_USAGE_H

#include "server/model/pod.h"
#include "sliced/usage.h"

/* A GPU or an instance. */
struct sl_model_usage {
    const char *node;
    const struct sl_usage_row *row;
    const struct sl_measured *measured;
    struct sl_measured own;
    const char *state;
    const char *room_by; /* NULL: there is no room */
    int64_t memory_mib;  /* of the GPU; 0: not known */
    int64_t pods;
    int64_t pods_on_gpu; /* -1: of instances it is not known */
    int64_t idle_us;     /* -1: it does not idle */
    int64_t since_us;    /* since when it idles; 0: it does not */
};
extern const struct sl_field sl_model_usage[];
/* The measurement as it stands. */
void sl_model_usage_of(const struct sl_view *view, const struct sl_usage_row *row,
                       struct sl_model_usage *out);
/* The same as it holds beside the pods of the view: after a pod has come or gone, samples are too
 * few. And how many pods are there. */
void sl_model_usage_now(const struct sl_view *view, const struct sl_usage_row *row,
                        struct sl_model_usage *out);

/* A pod that has GPUs. */
struct sl_model_pod_use {
    struct sl_model_resident resident; /* the first */
    const struct sl_pod_use *use;
    int64_t joules;   /* -1: not known */
    int64_t since_us; /* since when it idles; 0: it does not */
    bool idle;        /* for so long that it counts */
};
extern const struct sl_field sl_model_pod_use[];

/* The sums over the pods of one namespace. Memory counts where it is known. */
struct sl_model_space {
    const char *name; /* borrowed from a pod of the snapshot */
    const struct sl_view *view;
    uint64_t held; /* of that view's devices, counted already */
    int64_t devices;
    int64_t pods;
    int64_t share; /* of GPUs, in thousandths */
    int64_t idle_pods;
    int64_t idle_share;
    int64_t idle_us; /* sum over idle pods: time by the share of a GPU */
    int64_t declared_mib;
    int64_t used_mib; /* -1: not known */
    int64_t joules;   /* -1: not known */
};
extern const struct sl_field sl_model_space[];

#endif
