/* The tree over the pods that wait: what it says after each arrival and departure is what one that
 * is made anew says. Numbers are the same in every run. */
#include <stdlib.h>
#include <string.h>

#include "core/promise/lane.h"
#include "unit/test.h"

enum { PODS = 90, STEPS = 600, UNITS = 8, RANKS = 3 };

static const int64_t s = 1000000;

static unsigned draw(uint64_t *random, unsigned n)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*random >> 33) % n;
}

static bool same_node(const struct sl_promise_rank_node *a, const struct sl_promise_rank_node *b)
{
    return a->work == b->work && a->slack == b->slack && a->units == b->units;
}

static void check_tree(struct sl_promise *promise, struct sl_promise_rank *rank)
{
    const size_t n = 2 * rank->size;
    struct sl_promise_rank_node *kept = calloc(n + 1, sizeof(*kept));
    assert_non_null(kept);
    const int64_t divisor = promise->divisor;
    memcpy(kept, rank->tree, n * sizeof(*kept));
    promise->tree_stale = true;
    sl_promise_rank_refresh(promise);
    assert_int_equal(promise->divisor, promise->capacity - promise->widest + 1);
    const bool narrower = promise->divisor != divisor; /* the widest has gone: known only now */
    for (size_t i = 1; i < n && !narrower; i++) {
        if (!same_node(&kept[i], &rank->tree[i])) {
            fail_msg("node %zu of %zu", i, n);
        }
    }
    free(kept);
}

/* Slots before the first and behind the last are empty, and as many are taken as pods wait. */
static void check_slots(const struct sl_promise_rank *rank)
{
    size_t taken = 0;
    for (size_t i = 0; i < rank->used; i++) {
        assert_true(rank->slot[i] == NULL || (i >= rank->first && rank->slot[i]->place == i));
        taken += rank->slot[i] != NULL;
    }
    assert_int_equal(taken, rank->n);
}

TEST_THAT(the_tree_is_up_to_date_after_each_change)
{
    struct sl_promise_config config;
    uint64_t random = 5;
    bool waits[PODS] = {false};
    sl_promise_defaults(&config);
    struct sl_promise *promise = sl_promise_new(&config);
    assert_non_null(promise);
    assert_int_equal(sl_promise_set_capacity(promise, UNITS, 0, NULL), 0);
    sl_promise_rank_refresh(promise);
    for (unsigned step = 0; step < STEPS; step++) {
        const unsigned i = draw(&random, PODS);
        const int64_t now_us = step * s;
        if (waits[i]) {
            assert_int_equal(sl_promise_withdraw(promise, i, now_us, NULL), 0);
        } else {
            const struct sl_promise_pod pod = {
                .id = i,
                .width = 1 + draw(&random, step % 50 == 0 ? UNITS + 2 : 3),
                .submit_us = now_us - draw(&random, 4) * s, /* mostly the last */
                .timeout_us = (1 + draw(&random, 100)) * s,
                .priority = (int32_t)draw(&random, RANKS),
            };
            assert_int_equal(sl_promise_arrive(promise, &pod, now_us, NULL), 0);
        }
        waits[i] = !waits[i];
        sl_promise_rank_refresh(promise); /* one wider than all before counts now */
        for (unsigned r = 0; r < promise->n_ranks; r++) {
            check_slots(&promise->rank[r]);
            check_tree(promise, &promise->rank[r]);
        }
    }
    sl_promise_free(promise);
}
