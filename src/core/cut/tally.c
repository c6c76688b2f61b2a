/* Open addressing; nothing is ever taken out. */
#include "core/cut/tally.h"

#include <stdlib.h>
#include <string.h>

int sl_cut_tally_clear(struct sl_cut_tally *tally, size_t n)
{
    size_t cap = 16;
    while (cap < 2 * n) {
        cap *= 2;
    }
    if (cap > tally->cap) {
        struct sl_cut_count *more = realloc(tally->count, cap * sizeof(*more));
        if (more == NULL) {
            return -1;
        }
        tally->count = more;
        tally->cap = cap;
    }
    memset(tally->count, 0, tally->cap * sizeof(tally->count[0]));
    return 0;
}

void sl_cut_tally_free(struct sl_cut_tally *tally)
{
    free(tally->count);
    *tally = (struct sl_cut_tally){0};
}

int64_t *sl_cut_tally_at(struct sl_cut_tally *tally, uint64_t key)
{
    key = key == 0 ? 1 : key;
    size_t at = key & (tally->cap - 1);
    while (tally->count[at].key != 0 && tally->count[at].key != key) {
        at = (at + 1) & (tally->cap - 1);
    }
    tally->count[at].key = key;
    return &tally->count[at].value;
}
