/* Dealing units out to places, against dealing them one by one. */
#include "unit/core/rig.h"

#include "core/place/kind/deal.h"

enum { PLACES = 5 };

/* The place that is next when one unit goes out in round number round. */
static struct sl_place *next_of(struct sl_place *place, unsigned n, int64_t round, bool last)
{
    struct sl_place *best = NULL;
    for (unsigned i = 0; i < n; i++) {
        bool open = place[i].taken == round && place[i].taken < place[i].free;
        if (open && (best == NULL || (last && place[i].used < best->used))) {
            best = &place[i];
        }
    }
    return best;
}

static void deal_one_by_one(struct sl_place *place, unsigned n, int64_t count)
{
    for (int64_t round = 0, left = count; left > 0; round++) {
        int64_t open = 0;
        for (unsigned i = 0; i < n; i++) {
            open += place[i].taken < place[i].free;
        }
        if (open == 0) {
            return;
        }
        bool last = left < open;
        for (struct sl_place *one = next_of(place, n, round, last); one != NULL && left > 0;
             one = next_of(place, n, round, last)) {
            one->taken++;
            left--;
        }
    }
}

TEST_THAT(many_rounds_at_once_give_what_single_units_give)
{
    uint64_t seed = 5;
    for (unsigned round = 0; round < 20000; round++) {
        struct sl_place place[PLACES] = {{0}};
        struct sl_place expected[PLACES] = {{0}};
        unsigned n = rig_random(&seed, PLACES + 1);
        for (unsigned i = 0; i < n; i++) {
            place[i].used = rig_random(&seed, 4);
            place[i].free = rig_random(&seed, 9);
            expected[i] = place[i];
        }
        int64_t count = rig_random(&seed, 40);
        sl_deal(place, n, count);
        deal_one_by_one(expected, n, count);
        for (unsigned i = 0; i < n; i++) {
            assert_int_equal(place[i].taken, expected[i].taken);
        }
    }
}

TEST_THAT(huge_counts_take_no_longer)
{
    struct sl_place place[] = {{.free = INT64_MAX / 2}, {.free = 3}};
    sl_deal(place, 2, INT64_MAX / 2);
    assert_int_equal(place[1].taken, 3);
    assert_int_equal(place[0].taken, INT64_MAX / 2 - 3);
}
