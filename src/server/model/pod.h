/* What is shown of a pod, of its units on a node, and texts about both. */
#ifndef SLICED_SERVER_MODEL_POD_H
#define SLICED_SERVER_MODEL_POD_H

#include "server/model/field.h"
#include "sliced/view.h"

/* Of a struct sl_pod. */
extern const struct sl_field sl_model_pod[];

/* Places on a node that are a pod's, or would be. */
struct sl_model_parts {
    const struct sl_node *node;
    const struct sl_pod *pod;
    const struct sl_assignment_part *part;
    unsigned n;
};
/* Their fields: a list, "devices". */
extern const struct sl_field sl_model_parts[];

/* A pod on a node, or what is set aside there for one that waits. */
struct sl_model_resident {
    struct sl_model_parts parts; /* the first */
    const struct sl_pod *pod;
    const char *node;      /* where it is, also when it still waits */
    const char *state;     /* its phase, or Nominated */
    const char *picked_by; /* sliced, or devicePlugin: then the places are a plan */
    const struct sl_resident *resident;
    int64_t end_us;     /* when its timeout ends it; 0: not known */
    int64_t left_us;    /* until then; -1: not known, or it is over */
    int64_t timeout_us; /* -1: it has none */
    bool set_aside;
};
extern const struct sl_field sl_model_resident[];
void sl_model_resident_of(const struct sl_view *view, const struct sl_resident *resident,
                          int64_t now_us, struct sl_model_resident *out);

/* Writes "nvidia.com/gpu=2,..." into out, cut when it is longer. */
void sl_model_ask_text(const struct sl_pod *pod, char *out, size_t size);

/* Writes "0/4 1/0*2": device/start, the amount when it is not 1; "?" where only the kubelet knows.
 */
void sl_model_parts_text(const struct sl_model_parts *parts, char *out, size_t size);

/* Writes the same of a pod on a node, never empty: " (assumed)" behind devices that are only
 * thought to be its own, " (set aside)" behind those of a pod that still waits, "unknown" and why
 * where there are none. */
void sl_model_resident_text(const struct sl_model_resident *resident, char *out, size_t size);

/* Are the pod's devices a plan only, as the node's device plugin picks the units? */
bool sl_model_is_plan(const struct sl_pod *pod);

#endif
