/* The steps that view, fit, score and preempt share: taking units out of a scratch copy. */
#ifndef SLICED_CORE_CHOOSE_H
#define SLICED_CORE_CHOOSE_H

#include "sliced/fit.h"

struct sl_room {
    int64_t free;    /* over all devices */
    int64_t largest; /* the most that one item may ask */
};

/* What the pool can still give on these counters; any_health counts unhealthy devices too. item may
 * be NULL; else only what has the GPU memory that it needs counts. */
struct sl_room sl_scratch_room(const struct sl_scratch *scratch, unsigned pool,
                               const struct sl_ask_item *item, bool any_health);

/* Does it say how much GPU memory it needs of each unit? */
static inline bool sl_item_has_memory(const struct sl_ask_item *item)
{
    return item->memory_mib > 0 || item->least_mib > 0;
}

/* The most units of an item that the GPU memory allows there, beside what is declared of it
 * (gpu_memory.c). */
int64_t sl_memory_on_instance(const struct sl_scratch *scratch, unsigned pool,
                              const struct sl_ask_item *item, unsigned i);
int64_t sl_memory_on_device(const struct sl_scratch *scratch, unsigned pool,
                            const struct sl_ask_item *item, unsigned i);
int64_t sl_memory_by_counts(const struct sl_scratch *scratch, unsigned pool,
                            const struct sl_ask_item *item);
int64_t sl_memory_of_instance(const struct sl_node *node, unsigned instance);

/* The smallest size of a unit that will do, above *size; false when there is none. */
bool sl_memory_next_size(const struct sl_node *node, unsigned pool, const struct sl_ask_item *item,
                         int64_t *size);

/* Of the GPU memory that the ask would be given there, how much it says that it needs at least: 0
 * to 100, rounded half up. -1 where it says nothing, does not fit, or nobody knows. */
int32_t sl_memory_share_needed(const struct sl_view *view, const struct sl_ask *ask);

/* Has the place of the part the GPU memory that the item needs of it, beside what is declared? */
bool sl_scratch_has_memory(const struct sl_scratch *scratch, unsigned pool,
                           const struct sl_ask_item *item, const struct sl_assignment_part *part);

/* Do the units of the pool sit on instances (else on devices)? */
bool sl_pool_on_instances(const struct sl_node *node, unsigned pool);

/* Books (sign 1) or gives back (sign -1) one part of the item. */
void sl_scratch_take(struct sl_scratch *scratch, unsigned pool, const struct sl_ask_item *item,
                     const struct sl_assignment_part *part, int sign);

/* Could the part be held there beside what is in use now? Health does not matter. */
bool sl_scratch_can_hold(const struct sl_scratch *scratch, unsigned pool,
                         const struct sl_assignment_part *part);

/* Puts up to count units of the number-th item somewhere, books them and appends the parts. Returns
 * how many were put. any_memory: it does not matter whether they have what the item needs.
 * spare_untouched: a share of memory prefers devices that are in use already. any_part: it goes in
 * parts of any size to the devices with the most room. */
struct sl_place_how {
    bool any_health;
    bool any_memory;
    bool spare_untouched;
    bool any_part;
};
int64_t sl_scratch_place(struct sl_scratch *scratch, unsigned pool, const struct sl_ask_item *item,
                         uint8_t number, int64_t count, struct sl_place_how how,
                         struct sl_assignment *assignment);

/* All items at once; else *failed says which did not find its place beside those that did, and the
 * caller has to sl_scratch_undo the assignment. The items' pools must exist. */
bool sl_scratch_choose(struct sl_scratch *scratch, const struct sl_ask_item *item, unsigned n,
                       bool any_health, struct sl_assignment *assignment, unsigned *failed);

/* Gives back the parts of an assignment from the first-th on, and forgets them. */
void sl_scratch_undo(struct sl_scratch *scratch, const struct sl_ask_item *item,
                     struct sl_assignment *assignment, unsigned first);

/* No units in use at all. */
void sl_scratch_clear(struct sl_scratch *scratch, const struct sl_view *view);

/* Books a resident again that sl_scratch_remove took out. */
void sl_scratch_restore(struct sl_scratch *scratch, unsigned resident);

/* sl_assignment_parse for items outside an ask. */
bool sl_assignment_read(const struct sl_node *node, const struct sl_ask_item *item, unsigned n,
                        struct sl_str text, struct sl_assignment *out);

/* The layout of what is in use on a device of a known model: free instances are not in it. One
 * whose start is not known stands where it fits. False when nothing can be said (no model). */
bool sl_layout_in_use(const struct sl_node *node, const int32_t *instance_used, unsigned device,
                      struct sl_mig_layout *out);

/* Adds to lost[p], for each profile p of the device's model that is wanted (bit p of the set), how
 * many instances of it fit beside what is in use before and not beside what is in use after. */
void sl_lost_room(const struct sl_node *node, const int32_t *before, const int32_t *after,
                  unsigned device, unsigned wanted, uint8_t lost[SL_MIG_PROFILES_MAX]);

/* May the node make other instances than it has, and knows it where those of the pool are? */
bool sl_pool_is_remade(const struct sl_node *node, unsigned pool);

/* Sets view->idle and view->gap from the rest of it. */
void sl_view_measure_idle(struct sl_view *view);

/* Steps of a device with so many units of memory and replicas, either may be 0. */
int32_t sl_idle_steps(int64_t units, int32_t replicas);

/* Idle steps of a device that is used like that. */
int32_t sl_idle_gap(const struct sl_device *device, const struct sl_device_use *use, int64_t units,
                    int32_t replicas);

/* For view->digest: the view is complete but for it. */
uint64_t sl_view_digest(const struct sl_view *view);

/* Index of the profile in the model, -1 when it is none of its. */
int sl_model_index(const struct sl_mig_model *model, const struct sl_mig_profile *profile);

#endif
