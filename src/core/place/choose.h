/* The steps that view, fit, score and preempt share to take units out of a scratch copy, whatever
 * their kind. */
#ifndef SLICED_CORE_CHOOSE_H
#define SLICED_CORE_CHOOSE_H

#include "core/place/kind/kind.h"
#include "sliced/fit.h"

/* Returns what the pool can still give on these counters. any_health includes unhealthy devices. If
 * item is not NULL, only units with the GPU memory that it needs count. */
struct sl_room sl_scratch_room(const struct sl_scratch *scratch, unsigned pool,
                               const struct sl_ask_item *item, bool any_health);

/* True when the part's place has room beside the present use, on a healthy device or not. */
bool sl_scratch_can_hold(const struct sl_scratch *scratch, unsigned pool,
                         const struct sl_assignment_part *part);

/* True when the part, which no pod holds yet, can be given: beside what a resident's needs, a
 * healthy device, units that are free, and memory that is not over-committed. */
bool sl_scratch_can_give(const struct sl_scratch *scratch, unsigned pool,
                         const struct sl_ask_item *item, const struct sl_assignment_part *part);

/* Finds places for up to count units of the number-th item, books them and appends the parts to the
 * assignment. Returns how many units found a place. */
int64_t sl_scratch_place(struct sl_scratch *scratch, unsigned pool, const struct sl_ask_item *item,
                         uint8_t number, int64_t count, struct sl_place_how how,
                         struct sl_assignment *assignment);

/* Finds places for all n items together and books them. Every item's pool must exist. Returns false
 * when an item has no place beside those before it: *failed is its index, and the caller frees the
 * booked parts with sl_scratch_undo. */
bool sl_scratch_choose(struct sl_scratch *scratch, const struct sl_ask_item *item, unsigned n,
                       bool any_health, struct sl_assignment *assignment, unsigned *failed);

/* As sl_assignment_parse(), for n items outside of an ask. */
bool sl_assignment_read(const struct sl_node *node, const struct sl_ask_item *item, unsigned n,
                        struct sl_str text, struct sl_assignment *out);

/* Sets *out to the instances in use on a device, without its free ones; one of unknown start is put
 * where it fits. Returns false when the device's model is unknown or the instances do not fit. */
bool sl_layout_in_use(const struct sl_node *node, const int32_t *instance_used, unsigned device,
                      struct sl_mig_layout *out);

/* Adds to lost[p], for each profile p of the device's model with bit p set in wanted, the number of
 * instances that fit beside the use `before` and no longer beside the use `after`. */
void sl_lost_room(const struct sl_node *node, const int32_t *before, const int32_t *after,
                  unsigned device, unsigned wanted, uint8_t lost[SL_MIG_PROFILES_MAX]);

/* Sets view->idle and view->gap. The rest of the view, except its digest, must be complete. */
void sl_view_measure_idle(struct sl_view *view);

/* Returns the steps of a device with that many units of memory and replicas; either may be 0. */
int32_t sl_idle_steps(int64_t units, int32_t replicas);

/* Returns the device's idle steps under that use. */
int32_t sl_idle_gap(const struct sl_device *device, const struct sl_device_use *use, int64_t units,
                    int32_t replicas);

/* Computes view->digest. The rest of the view must be complete. */
uint64_t sl_view_digest(const struct sl_view *view);

/* Returns the index of the profile in the model, -1 when the model does not have it. */
int sl_model_index(const struct sl_mig_model *model, const struct sl_mig_profile *profile);

#endif
