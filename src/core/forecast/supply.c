/* Keeps units by the time at which they come free. */
#include "core/forecast/supply.h"

#include <stdlib.h>
#include <string.h>

#include "util/data/heap.h"
#include "util/data/sat.h"
#include "util/data/vec.h"

static bool is_earlier(const void *a, const void *b, const void *context)
{
    const struct sl_supply_group *x = a;
    const struct sl_supply_group *y = b;
    (void)context;
    return x->at_us < y->at_us;
}

static const struct sl_heap_rule by_time = {sizeof(struct sl_supply_group), is_earlier, NULL, NULL};

void sl_supply_free(struct sl_supply *supply)
{
    free(supply->group);
}

int sl_supply_reserve(struct sl_supply *supply, size_t n)
{
    return sl_vec_reserve(&supply->group, &supply->cap, n, sizeof(*supply->group));
}

int64_t sl_supply_units(const struct sl_supply *supply)
{
    int64_t units = 0;
    for (size_t i = 0; i < supply->n; i++) {
        units = sl_sat_add(units, supply->group[i].units);
    }
    return units;
}

void sl_supply_add(struct sl_supply *supply, int64_t at_us, int64_t units)
{
    supply->group[supply->n++] = (struct sl_supply_group){at_us, units};
    sl_heap_fix(&by_time, supply->group, supply->n, supply->n - 1);
}

int64_t sl_supply_take(struct sl_supply *supply, int64_t units, int64_t from_us)
{
    int64_t at_us = from_us;
    while (units > 0 && supply->n > 0) {
        struct sl_supply_group *first = &supply->group[0];
        at_us = first->at_us > at_us ? first->at_us : at_us;
        if (first->units > units) {
            first->units -= units;
            break;
        }
        units -= first->units;
        *first = supply->group[--supply->n];
        sl_heap_fix(&by_time, supply->group, supply->n, 0);
    }
    return at_us;
}

static int compare_groups(const void *a, const void *b)
{
    const struct sl_supply_group *x = a;
    const struct sl_supply_group *y = b;
    return (x->at_us > y->at_us) - (x->at_us < y->at_us);
}

void sl_supply_sort(struct sl_supply *supply)
{
    if (supply->n > 1) {
        qsort(supply->group, supply->n, sizeof(*supply->group), compare_groups);
    }
}

void sl_supply_copy(struct sl_supply *to, const struct sl_supply *from)
{
    to->n = from->n;
    if (from->n > 0) {
        memcpy(to->group, from->group, from->n * sizeof(*from->group));
    }
}
