/* Counts the instances that a device will hold: those that stay, those that pods need, those that
 * it keeps, and those with which demand fills the rest. */
#ifndef SLICED_CORE_CUT_SHAPE_H
#define SLICED_CORE_CUT_SHAPE_H

#include "core/cut/node/node.h"

/* Must the device be cut for what pods need of it? */
bool sl_cut_device_changes(const struct sl_cut_device *device);

/* Can the device give one more such unit to a pod of the plan? */
bool sl_cut_device_can_give(const struct sl_cut_device *device, unsigned unit);

/* Adds one more such unit to what pods need (by 1), or takes one off (by -1). */
void sl_cut_device_need(struct sl_cut_device *device, unsigned unit, int by);

/* Sets counts to the instances beside those that stay once the device is cut: those needed, then
 * as many of the free ones as fit, the largest first. Returns the worth of those that do not, by
 * their memory slices; those in demand are worth more. */
int64_t sl_cut_device_keep(const struct sl_cut_device *device, uint8_t counts[SL_MIG_PROFILES_MAX]);

/* Fills what counts leave with the profiles in demand, each in proportion, what is free elsewhere
 * counted. plain: only profiles without attributes. apart: with those that pods need of the device
 * first. */
void sl_cut_device_fill(const struct sl_cut_device *device, bool plain, bool apart,
                        uint8_t counts[SL_MIG_PROFILES_MAX]);

#endif
