/* Units by the time at which they come free. Every forecast takes units from a supply and returns
 * them to it. */
#ifndef SLICED_CORE_FORECAST_SUPPLY_H
#define SLICED_CORE_FORECAST_SUPPLY_H

#include <stddef.h>
#include <stdint.h>

/* Work is units times microseconds; 128 bits hold the work of all pods that a lane can have. */
__extension__ typedef __int128 sl_work;

struct sl_supply_group {
    int64_t at_us;
    int64_t units;
};

/* A binary heap by time. Zeroed: empty. */
struct sl_supply {
    struct sl_supply_group *group;
    size_t n;
    size_t cap;
};

void sl_supply_free(struct sl_supply *supply);
/* Makes room for n groups; -1 when out of memory. */
int sl_supply_reserve(struct sl_supply *supply, size_t n);
int64_t sl_supply_units(const struct sl_supply *supply); /* the sum over all groups */
/* The caller has reserved room. */
void sl_supply_add(struct sl_supply *supply, int64_t at_us, int64_t units);
/* Takes the units that come free first. Returns when all of them are free, from_us at the earliest.
 * The supply must have enough. */
int64_t sl_supply_take(struct sl_supply *supply, int64_t units, int64_t from_us);
/* Takes the units that come free first, whenever that is. */
static inline void sl_supply_drop(struct sl_supply *supply, int64_t units)
{
    (void)sl_supply_take(supply, units, 0);
}
/* Sorts the groups, which remain a heap. */
void sl_supply_sort(struct sl_supply *supply);
/* The copy must have reserved room. */
void sl_supply_copy(struct sl_supply *to, const struct sl_supply *from);

#endif
