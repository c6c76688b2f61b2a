/* Growth by doubling. */
#include "util/data/vec.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST = 16 };

int sl_vec_reserve(void *items, size_t *cap, size_t n, size_t size)
{
    size_t wanted = *cap < FIRST / 2 ? FIRST : *cap * 2;
    size_t bytes = 0;
    void *held = NULL;
    if (n <= *cap) {
        return 0;
    }
    wanted = wanted < n ? n : wanted;
    if (__builtin_mul_overflow(wanted, size, &bytes)) {
        return -1;
    }
    memcpy(&held, items, sizeof(held)); /* copied: items points to a pointer of another type */
    void *grown = realloc(held, bytes);
    if (grown == NULL) {
        return -1;
    }
    memcpy(items, &grown, sizeof(grown));
    *cap = wanted;
    return 0;
}
