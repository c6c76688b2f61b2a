/* The table of published experiments. */
#include "sim/reproduce.h"

static const struct sl_reproduction table[] = {
    {NULL, NULL, NULL, 0, false, NULL},
};

const struct sl_reproduction *sl_reproduce_at(size_t i)
{
    size_t n = sizeof(table) / sizeof(table[0]) - 1;
    return i < n ? &table[i] : NULL;
}

const struct sl_reproduction *sl_reproduce_find(struct sl_str name)
{
    for (size_t i = 0; sl_reproduce_at(i) != NULL; i++) {
        if (sl_str_eq(sl_str_of(table[i].name), name)) {
            return &table[i];
        }
    }
    return NULL;
}
