/* The contents of a node's devices after a cut, as texts. Private to this room. */
#ifndef SLICED_KUBE_CUT_LAYOUT_H
#define SLICED_KUBE_CUT_LAYOUT_H

#include "codec/write.h"
#include "sliced/cut.h"

enum { SL_CUT_PROFILE_MAX = 32 };

/* A device of the node with its cut. */
struct sl_cut_device {
    int index;
    bool mig;
    const struct sl_mig_model *model;
    const struct sl_device *known; /* NULL: only the cut names it */
    const struct sl_cut *cut;      /* NULL: it stays as it is */
};

/* Lists the devices that the node or the cuts name, by index. Returns how many, or -1 with *err: a
 * cut that no device of a known model can have, or an instance of an unknown profile. */
int sl_cut_devices(const struct sl_node *node, const struct sl_cut *cut, size_t n,
                   struct sl_cut_device out[SL_NODE_DEVICES_MAX], struct sl_error *err);

/* Instances of one profile on a device, or slices of one size ("10gb"). */
struct sl_cut_group {
    char profile[SL_CUT_PROFILE_MAX];
    unsigned n;
};

/* Counts by profile what the device has after the cut, in the order of the first of each; returns
 * how many groups there are. A profile has the name that the node's driver gives it, where the node
 * shows that ("3g.39gb" where NVIDIA's table says "3g.40gb"): agents take only their driver's
 * names.
 */
size_t sl_cut_groups(const struct sl_node *node, const struct sl_cut_device *device,
                     struct sl_cut_group out[SL_MIG_INSTANCES_MAX]);

/* Writes the value of the annotation sliced.dev/devices (docs/devices.md). unsure: nobody knows
 * what came of the cuts. */
void sl_cut_write_devices(const struct sl_node *node, const struct sl_cut_device *device, size_t n,
                          bool unsure, struct sl_writer *w);

#endif
