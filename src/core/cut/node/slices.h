/* Slices of memory, into which nos in MPS mode cuts GPUs: any sizes that sum up to the memory. */
#ifndef SLICED_CORE_CUT_SLICES_H
#define SLICED_CORE_CUT_SLICES_H

#include "core/cut/node/node.h"

/* Reads the devices of a node that shares them. kept: by instance, the slices that stay, at most
 * those that are there; NULL: those that are in use now. Returns what keeps all of them from being
 * cut now, else SL_CUT_BAR_NONE. */
enum sl_cut_bar sl_cut_slices_read(struct sl_cut_node *node, const uint8_t *kept);

/* Returns the GB of a device with sizes, less those that stay. */
int32_t sl_cut_slices_left(const struct sl_cut_device *device);

/* As sl_cut_device_fits(), for a device with sizes. */
bool sl_cut_slices_fit(const struct sl_cut_device *device,
                       const uint8_t counts[SL_MIG_PROFILES_MAX]);

/* Returns the GB of the slices that the item asks for; 0: none, or more for one container than the
 * node's plugin gives. */
int32_t sl_cut_slice_of(const struct sl_ask_item *item);

/* Finds the unit of that size, or adds it; -1: none. */
int sl_cut_size_add(struct sl_cut_sizes *sizes, int32_t gb);

/* Finds the unit for the item, or adds it to the node's sizes; -1: none. */
int sl_cut_slice_unit(struct sl_cut_node *node, const struct sl_ask_item *item);

/* As sl_cut_node_could(), for a node that shares. */
bool sl_cut_slices_could(const struct sl_cut_node *node, const struct sl_ask *ask);

/* Writes the slices that stay and counts more. */
void sl_cut_slices_write(const struct sl_cut_device *device,
                         const uint8_t counts[SL_MIG_PROFILES_MAX], struct sl_cut *out);

/* Can the device have that cut beside what stays? Sets counts to the others. */
bool sl_cut_slices_allowed(const struct sl_cut_device *device, const struct sl_cut *cut);

#endif
