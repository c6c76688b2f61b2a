/* The list against an array, over random joins and removals. */
#include <string.h>

#include "unit/test.h"
#include "util/data/list.h"

enum { THINGS = 12, STEPS = 5000 };

struct thing {
    int number;
    struct sl_link link;
};

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void check_order(const struct sl_list *list, const int *order, size_t n)
{
    size_t i = 0;
    struct sl_link *prev = NULL;
    for (struct sl_link *at = list->first; at != NULL; at = at->next) {
        assert_true(i < n);
        assert_int_equal(SL_CONTAINER(at, struct thing, link)->number, order[i]);
        assert_ptr_equal(at->prev, prev);
        prev = at;
        i++;
    }
    assert_int_equal(i, n);
    assert_ptr_equal(list->last, prev);
}

TEST_THAT(list_agrees_with_an_array_over_random_operations)
{
    struct thing thing[THINGS];
    struct sl_list list = {NULL, NULL};
    int order[THINGS];
    size_t n = 0;
    uint32_t seed = 5;
    memset(thing, 0, sizeof(thing));
    for (int i = 0; i < THINGS; i++) {
        thing[i].number = i;
    }
    for (int step = 0; step < STEPS; step++) {
        struct thing *touched = &thing[next_random(&seed) % THINGS];
        size_t at = 0;
        while (at < n && order[at] != touched->number) {
            at++;
        }
        assert_int_equal(sl_list_has(&list, &touched->link), at < n);
        if (at < n) {
            sl_list_remove(&list, &touched->link);
            n--;
            memmove(&order[at], &order[at + 1], (n - at) * sizeof(order[0]));
        } else {
            at = next_random(&seed) % (n + 1);
            if (at == 0) {
                sl_list_add_first(&list, &touched->link);
            } else if (at == n) {
                sl_list_add_last(&list, &touched->link);
            } else {
                sl_list_add_behind(&list, &touched->link, &thing[order[at - 1]].link);
            }
            memmove(&order[at + 1], &order[at], (n - at) * sizeof(order[0]));
            order[at] = touched->number;
            n++;
        }
        check_order(&list, order, n);
    }
}
