/* Waiting pods in order, against a plain list: which comes next that is narrow enough, and where a
 * pod is. Numbers are the same in every run. */
#include <stdlib.h>

#include "core/forecast/lane_order.h"
#include "core/forecast/waits.h"
#include "unit/test.h"

enum { PODS = 40, STEPS = 4000 };

struct play {
    struct sl_waits waits;
    struct sl_wait list[PODS]; /* in order */
    size_t n;
    uint64_t serial;
    uint64_t random;
};

static unsigned draw(struct play *play, unsigned n)
{
    play->random = play->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(play->random >> 33) % n;
}

/* ---- what happens ---- */

static void push(struct play *play)
{
    const uint64_t serial = ++play->serial;
    const struct sl_wait wait = {.pod = {.id = serial,
                                         .width = 1 + (int64_t)draw(play, 9),
                                         .submit_us = (int64_t)serial - (int64_t)draw(play, 6),
                                         .priority = (int32_t)draw(play, 3) / 2},
                                 .run_us = (int64_t)(serial % 5),
                                 .serial = serial};
    size_t i = play->n++;
    for (; i > 0 && sl_lane_compare(&wait.pod, &play->list[i - 1].pod) < 0; i--) {
        play->list[i] = play->list[i - 1];
    }
    play->list[i] = wait;
    const struct sl_wait *before = &play->waits.wait[play->waits.first];
    const uint64_t first = sl_waits_is_empty(&play->waits) ? 0 : before->serial;
    const bool moved = sl_waits_push(&play->waits, &wait);
    const bool leads = play->waits.wait[play->waits.first].serial != first && first != 0;
    assert_true(moved || !leads); /* who leads by another's place must be told */
}

static void take(struct play *play, size_t i)
{
    const size_t slot = sl_waits_find(&play->waits, &play->list[i]);
    assert_true(slot < play->waits.size);
    sl_waits_remove(&play->waits, slot);
    play->n--;
    for (; i < play->n; i++) {
        play->list[i] = play->list[i + 1];
    }
}

static void copy_over(struct play *play)
{
    struct sl_waits copy = {.size = 0};
    assert_int_equal(sl_waits_reserve(&copy, PODS), 0);
    for (uint64_t i = 1; i <= 20; i++) { /* it held others before */
        (void)sl_waits_push(&copy, &(struct sl_wait){.pod = {.id = i, .width = 1}, .serial = i});
    }
    sl_waits_copy(&copy, &play->waits);
    sl_waits_free(&play->waits);
    play->waits = copy;
}

/* ---- what must hold ---- */

static void check(const struct play *play)
{
    const struct sl_waits *waits = &play->waits;
    assert_int_equal(sl_waits_is_empty(waits), play->n == 0);
    if (play->n > 0) {
        assert_int_equal(waits->wait[waits->first].serial, play->list[0].serial);
    }
    for (int64_t units = 0; units <= 9; units++) {
        const struct sl_waits_room room = {units / 2, units, 1 + units % 4};
        size_t slot = sl_waits_next(waits, waits->first, &room);
        for (size_t i = 0; i < play->n; i++) {
            const struct sl_wait *wait = &play->list[i];
            if (wait->pod.width <= room.units ||
                (wait->pod.width <= room.brief_units && wait->run_us <= room.run_us)) {
                assert_true(slot < waits->size);
                assert_int_equal(waits->wait[slot].serial, wait->serial);
                slot = sl_waits_next(waits, slot + 1, &room);
            }
        }
        assert_int_equal(slot, waits->size);
    }
    const struct sl_wait unknown = {.pod = {.id = 1, .width = 1}, .serial = UINT64_MAX};
    assert_int_equal(sl_waits_find(waits, &unknown), waits->size);
}

TEST_THAT(waiting_pods_are_found_in_their_order)
{
    static struct play play;
    play.random = 1;
    assert_int_equal(sl_waits_reserve(&play.waits, 1), 0);
    for (unsigned step = 0; step < STEPS; step++) {
        const unsigned what = draw(&play, 100);
        if (what == 0) {
            sl_waits_clear(&play.waits);
            play.n = 0;
        } else if (what < 4) {
            copy_over(&play);
        } else if (play.n > 0 && (what < 50 || play.n == PODS)) {
            take(&play, draw(&play, 3) == 0 ? draw(&play, (unsigned)play.n) : 0);
        } else {
            assert_int_equal(sl_waits_reserve(&play.waits, play.n + 1), 0);
            push(&play);
        }
        check(&play);
    }
    sl_waits_free(&play.waits);
}

TEST_THAT(a_pod_that_was_removed_is_not_found)
{
    struct sl_waits waits = {.size = 0};
    const struct sl_wait first = {.pod = {.id = 1, .width = 2}, .serial = 1};
    const struct sl_wait second = {.pod = {.id = 2, .width = 2}, .serial = 2};
    assert_int_equal(sl_waits_reserve(&waits, 2), 0);
    assert_int_equal(sl_waits_find(&waits, &first), waits.size);
    (void)sl_waits_push(&waits, &first);
    (void)sl_waits_push(&waits, &second);
    sl_waits_remove(&waits, sl_waits_find(&waits, &second));
    assert_int_equal(sl_waits_find(&waits, &second), waits.size);
    sl_waits_remove(&waits, sl_waits_find(&waits, &first));
    assert_int_equal(sl_waits_find(&waits, &first), waits.size);
    assert_true(sl_waits_is_empty(&waits));
    sl_waits_free(&waits);
}
