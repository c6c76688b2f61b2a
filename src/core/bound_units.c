/* Units by the time they come free: a binary heap. */
#include "bound_internal.h"

#include <stdlib.h>

int sl_units_reserve(struct sl_units *units, size_t n)
{
    if (n <= units->cap) {
        return 0;
    }
    size_t cap = units->cap < 16 ? 16 : units->cap;
    while (cap < n) {
        cap *= 2;
    }
    struct sl_group *group = realloc(units->group, cap * sizeof(*group));
    if (group == NULL) {
        return -1;
    }
    units->group = group;
    units->cap = cap;
    return 0;
}

void sl_units_add(struct sl_units *units, int64_t at, int64_t count)
{
    size_t i = units->n++;
    while (i > 0 && units->group[(i - 1) / 2].at > at) {
        units->group[i] = units->group[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    units->group[i] = (struct sl_group){at, count};
}

/* Puts a group in place of the first. */
static void sink(struct sl_units *units, struct sl_group group)
{
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= units->n) {
            break;
        }
        if (child + 1 < units->n && units->group[child + 1].at < units->group[child].at) {
            child++;
        }
        if (units->group[child].at >= group.at) {
            break;
        }
        units->group[i] = units->group[child];
        i = child;
    }
    units->group[i] = group;
}

int64_t sl_units_take(struct sl_units *units, int64_t count, int64_t from)
{
    int64_t at = from;
    while (count > 0 && units->n > 0) {
        struct sl_group *first = &units->group[0];
        at = first->at > at ? first->at : at;
        if (first->units > count) {
            first->units -= count;
            break;
        }
        count -= first->units;
        const struct sl_group last = units->group[--units->n];
        if (units->n > 0) {
            sink(units, last);
        }
    }
    return at;
}

static int by_time(const void *a, const void *b)
{
    const struct sl_group *x = a;
    const struct sl_group *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

void sl_units_sort(struct sl_units *units)
{
    if (units->n > 1) {
        qsort(units->group, units->n, sizeof(*units->group), by_time);
    }
}

void sl_units_copy(struct sl_units *to, const struct sl_units *from)
{
    to->n = from->n;
    if (from->n > 0) {
        memcpy(to->group, from->group, from->n * sizeof(*from->group));
    }
}
