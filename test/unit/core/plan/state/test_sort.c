/* Sorting pods: all come in order, however far from it they were, and equal ones stay as they were.
 */
#include "core/plan/state/state.h"
#include "unit/test.h"

enum { PODS_MAX = 200, ROUNDS = 300 };

struct shelf {
    struct sl_plan_pod pod[PODS_MAX];
    struct sl_plan_pod *sorted[PODS_MAX];
    struct sl_plan_pod *scratch[PODS_MAX];
    uint64_t random;
};

static struct shelf shelf;

static unsigned draw(unsigned n)
{
    shelf.random = shelf.random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(shelf.random >> 33) % n;
}

static int by_time(const void *context, const struct sl_plan_pod *a, const struct sl_plan_pod *b)
{
    (void)context;
    return (a->ready_us > b->ready_us) - (a->ready_us < b->ready_us);
}

static void sort_and_check(size_t n)
{
    sl_plan_sort(shelf.sorted, shelf.scratch, n, by_time, NULL);
    for (size_t i = 1; i < n; i++) {
        const struct sl_plan_pod *before = shelf.sorted[i - 1];
        const struct sl_plan_pod *after = shelf.sorted[i];
        assert_true(before->ready_us < after->ready_us ||
                    (before->ready_us == after->ready_us && before < after));
    }
}

static void put_all(size_t n, unsigned times)
{
    for (size_t i = 0; i < n; i++) {
        shelf.pod[i].ready_us = draw(times);
        shelf.sorted[i] = &shelf.pod[i];
    }
}

TEST_THAT(pods_in_any_order_are_sorted_and_equals_stay)
{
    shelf.random = 1;
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t n = draw(PODS_MAX + 1);
        put_all(n, round % 2 == 0 ? 10 : 1000);
        sort_and_check(n);
    }
}

TEST_THAT(runs_in_order_are_merged)
{
    for (unsigned runs = 1; runs <= 9; runs++) {
        put_all(PODS_MAX, 1);
        for (unsigned i = 0; i < PODS_MAX; i++) {
            shelf.pod[i].ready_us = i * runs % PODS_MAX;
        }
        sort_and_check(PODS_MAX);
    }
}

TEST_THAT(pods_in_reverse_are_sorted)
{
    put_all(PODS_MAX, 1);
    for (unsigned i = 0; i < PODS_MAX; i++) {
        shelf.pod[i].ready_us = PODS_MAX - i;
    }
    sort_and_check(PODS_MAX);
}
