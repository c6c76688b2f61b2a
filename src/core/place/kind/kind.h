/* How units of each kind are found, taken and given back on a scratch copy of a view's counters. */
#ifndef SLICED_CORE_PLACE_KIND_H
#define SLICED_CORE_PLACE_KIND_H

#include "core/node/pool.h"
#include "sliced/view.h"

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

/* An item of an ask that is being placed. */
struct sl_target {
    struct sl_scratch *scratch;
    unsigned pool;
    uint8_t number;                 /* of the item in the ask */
    const struct sl_ask_item *item; /* the item to book; may be NULL */
    struct sl_place_how how;
    struct sl_assignment *assignment;
};

/* Books a part and appends it to the assignment; false when that is full. */
bool sl_target_add(const struct sl_target *target, int device, int instance, int64_t amount);

/* ---- kinds ---- */

/* How units of a kind are placed on a node that knows its devices. */
struct sl_kind_place {
    /* Returns the free units of those wanted on the device; i is an index in the node's devices.
     * NULL: such units are on instances alone (sl_room_of_instance). */
    int64_t (*free)(const struct sl_scratch *scratch, unsigned pool, unsigned i,
                    struct sl_wanted wanted);
    /* Returns what the pool has for the item (NULL: for any). NULL: the sum of its places. */
    struct sl_room (*room)(const struct sl_scratch *scratch, unsigned pool,
                           const struct sl_ask_item *item, bool any_health);
    /* May the device hold what was assigned there? NULL: as much as is free. */
    bool (*holds)(const struct sl_scratch *scratch, unsigned i);
    /* Finds places for up to count units, books them and returns how many found one. */
    int64_t (*place)(const struct sl_target *target, struct sl_wanted wanted, int64_t count);
};

/* By kind; each in a file of its name. */
extern const struct sl_kind_place *const sl_kind_places[SL_KIND_COUNT];
#define KIND(kind, name, ...) extern const struct sl_kind_place sl_place_##name;
SL_KINDS(KIND)
#undef KIND

static inline const struct sl_kind_place *sl_pool_places(const struct sl_pool *pool)
{
    return sl_kind_places[pool->kind];
}

/* Returns the free units of the pool on the instance, an index in the node's instances. */
int64_t sl_room_of_instance(const struct sl_scratch *scratch, unsigned pool, unsigned i,
                            struct sl_wanted wanted);

/* True when a unit of the pool on the device is of the size that is wanted. */
static inline bool sl_wanted_is_of_size(const struct sl_node *node, unsigned pool, unsigned device,
                                        struct sl_wanted wanted)
{
    return wanted.size == SL_ANY_SIZE ||
           wanted.size == sl_node_unit_mib(node, pool, (int)device, -1);
}

/* May the device be given? any_health includes unhealthy ones. */
static inline bool sl_device_usable(const struct sl_device *device, bool any_health)
{
    return device->healthy || any_health;
}

/* True when replicas or a share of memory of the device may be given; it may have both. */
static inline bool sl_device_shareable(const struct sl_device *device,
                                       const struct sl_device_use *use, bool any_health)
{
    return sl_device_usable(device, any_health) && !device->mig && !use->whole &&
           use->instances == 0;
}

#endif
