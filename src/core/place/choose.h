/* The steps that view, fit, score and preempt share to take units out of a scratch copy. */
#ifndef SLICED_CORE_CHOOSE_H
#define SLICED_CORE_CHOOSE_H

#include "sliced/fit.h"

enum { SL_ANY_SIZE = -1 };

/* Which units a search looks for. */
struct sl_wanted {
    const struct sl_ask_item
        *item;       /* tells the GPU memory that each unit needs; NULL: any suffices */
    int64_t size;    /* of a unit's GPU memory, in MiB, or SL_ANY_SIZE */
    bool any_health; /* include unhealthy devices */
};

static inline int64_t sl_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t sl_most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t sl_at_least_zero(int64_t n)
{
    return n > 0 ? n : 0;
}

/* True when nothing of the device is in use. */
static inline bool sl_device_untouched(const struct sl_device_use *use)
{
    return !use->whole && use->replicas == 0 && use->memory_units == 0 && use->instances == 0;
}

/* True when the pool's device plugin refuses what one container of the pod asks for. */
static inline bool sl_pool_refuses(const struct sl_pool *pool, const struct sl_ask_item *item)
{
    return pool->one_each && item->each > 1;
}

struct sl_room {
    int64_t free;    /* sum over all devices */
    int64_t largest; /* the most that one item can get */
};

/* Returns what the pool can still give on these counters. any_health includes unhealthy devices. If
 * item is not NULL, only units with the GPU memory that it needs count. */
struct sl_room sl_scratch_room(const struct sl_scratch *scratch, unsigned pool,
                               const struct sl_ask_item *item, bool any_health);

/* The free units of the pool on one instance; the free replicas on one device; whether the whole
 * device is free; the free units of memory on it. i is an index in the node's instances or devices.
 */
int64_t sl_room_of_instance(const struct sl_scratch *scratch, unsigned pool, unsigned i,
                            struct sl_wanted wanted);
int64_t sl_room_of_replicas(const struct sl_scratch *scratch, unsigned pool, unsigned i,
                            struct sl_wanted wanted);
bool sl_room_of_whole(const struct sl_scratch *scratch, unsigned pool, unsigned i,
                      struct sl_wanted wanted);
int64_t sl_room_of_memory(const struct sl_scratch *scratch, unsigned i, bool any_health);

/* Returns the number of GPUs over which the item splits its share of memory; 1 when it does not
 * split. */
unsigned sl_memory_parts(const struct sl_node *node, unsigned pool, const struct sl_ask_item *item);

/* True when the item states the GPU memory that it needs of each unit. */
static inline bool sl_item_has_memory(const struct sl_ask_item *item)
{
    return item->memory_mib > 0 || item->least_mib > 0;
}

/* The workload of the first item that declares the memory of replicas; 0: none does. */
static inline uint32_t sl_items_workload(const struct sl_ask_item *item, uint32_t n)
{
    uint32_t i = 0;
    while (i < n && item[i].workload == 0) {
        i++;
    }
    return i < n ? item[i].workload : 0;
}

/* Returns the GPU memory, in MiB, that a unit for the item has at least; 0: any. */
static inline int64_t sl_item_mib(const struct sl_ask_item *item)
{
    return item->memory_mib > item->least_mib ? item->memory_mib : item->least_mib;
}

/* Return the most units of an item that the GPU memory of an instance, of a device, or of a pool of
 * counts allows, beside what pods there have declared; INT64_MAX when memory sets no limit
 * (gpu_memory.c). */
int64_t sl_memory_on_instance(const struct sl_scratch *scratch, unsigned pool,
                              const struct sl_ask_item *item, unsigned i);
int64_t sl_memory_on_device(const struct sl_scratch *scratch, unsigned pool,
                            const struct sl_ask_item *item, unsigned i);
int64_t sl_memory_by_counts(const struct sl_scratch *scratch, unsigned pool,
                            const struct sl_ask_item *item);

/* Sets *size to the smallest size of a unit, in MiB, that is above *size and enough for the item.
 * Returns false when there is none. */
bool sl_memory_next_size(const struct sl_node *node, unsigned pool, const struct sl_ask_item *item,
                         int64_t *size);

/* True when the part's place has the GPU memory that the item needs, beside what pods there have
 * declared. */
bool sl_scratch_has_memory(const struct sl_scratch *scratch, unsigned pool,
                           const struct sl_ask_item *item, const struct sl_assignment_part *part);

/* Returns the item's units, cut to SL_UNITS_MAX so that no sum overflows, whoever made the pod. */
int64_t sl_scratch_units(const struct sl_ask_item *item);

/* Books a part of the item (sign 1), or frees it (sign -1). A NULL item declares no memory. */
void sl_scratch_take(struct sl_scratch *scratch, unsigned pool, const struct sl_ask_item *item,
                     const struct sl_assignment_part *part, int sign);

/* True when the part's place has room beside the present use, on a healthy device or not. */
bool sl_scratch_can_hold(const struct sl_scratch *scratch, unsigned pool,
                         const struct sl_assignment_part *part);

/* Memory that is used beyond all asks counts as in use, as if it had been asked for (sign 1), or no
 * longer (sign -1). */
void sl_scratch_count_over(struct sl_scratch *scratch, unsigned device, int64_t over_mib, int sign);

struct sl_place_how {
    bool any_health;      /* accept unhealthy devices */
    bool any_memory;      /* accept units with less GPU memory than the item needs */
    bool spare_untouched; /* place a share of memory on devices in use, if possible */
    bool any_part;        /* split a share of memory into parts of any size, devices with the most
                             room first */
};

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

/* Frees the parts of an assignment from index first on, and removes them from it. */
void sl_scratch_undo(struct sl_scratch *scratch, const struct sl_ask_item *item,
                     struct sl_assignment *assignment, unsigned first);

/* Makes a scratch of the view's node with no unit in use. */
void sl_scratch_clear(struct sl_scratch *scratch, const struct sl_view *view);

/* Raises each counter to that of other, a scratch of the same view, where that is more: what fits
 * afterwards fits on either. */
void sl_scratch_raise(struct sl_scratch *scratch, const struct sl_scratch *other);

/* Books a resident again that sl_scratch_remove took out. */
void sl_scratch_restore(struct sl_scratch *scratch, unsigned resident);

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
