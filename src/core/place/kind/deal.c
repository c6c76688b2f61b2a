/* Replicas dealt out to places. */
#include "core/place/kind/deal.h"

#include <stddef.h>

/* Deals one unit each to the least used places that got none in this round. */
static void last_round(struct sl_place *place, unsigned n, int64_t left)
{
    for (; left > 0; left--) {
        struct sl_place *best = NULL;
        for (unsigned i = 0; i < n; i++) {
            if (!place[i].picked && place[i].taken < place[i].free &&
                (best == NULL || place[i].used < best->used)) {
                best = &place[i];
            }
        }
        if (best == NULL) {
            return;
        }
        best->picked = true;
        best->taken++;
    }
}

/* Deals many rounds at a time, so that the work does not grow with the count. */
void sl_deal(struct sl_place *place, unsigned n, int64_t count)
{
    int64_t left = count;
    while (left > 0) {
        int64_t open = 0;
        int64_t rounds = INT64_MAX;
        for (unsigned i = 0; i < n; i++) {
            if (place[i].taken < place[i].free) {
                open++;
                int64_t free = place[i].free - place[i].taken;
                rounds = free < rounds ? free : rounds;
            }
        }
        if (open == 0) {
            return;
        }
        rounds = left / open < rounds ? left / open : rounds;
        if (rounds == 0) {
            last_round(place, n, left);
            return;
        }
        for (unsigned i = 0; i < n; i++) {
            place[i].taken += place[i].taken < place[i].free ? rounds : 0;
        }
        left -= rounds * open;
    }
}
