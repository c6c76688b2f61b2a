/* Every allocation of a lane fails in turn, alone and with all that follow. After each failure it
 * was reported, nothing had changed, and trying again succeeds; nothing leaks. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "sliced/promise.h"
#include "unit/lack.h"
#include "unit/test.h"

enum { TRIES_MAX = 500, PODS = 40 };

static const int64_t s = 1000000;

/* What may lack memory. */
struct story {
    struct sl_promise *promise;
    int64_t mixes_at;   /* the pod from which on widths differ; PODS: none */
    int64_t answers[4]; /* of the end */
    bool hit;
};

enum kind { ARRIVE, ADOPT, UNSTART, NODES, CAPACITY };

static int attempt(struct story *story, enum kind kind, int64_t i, struct sl_error *err)
{
    static const struct sl_promise_node nodes[] = {{2, 4, 0}, {1, 4, 0}, {3, 4, 0}, {4, 8, 0}};
    const struct sl_promise_pod pod = {.id = (uint64_t)i,
                                       .width = i >= story->mixes_at ? 1 + i % 2 : 1,
                                       .submit_us = i * s,
                                       .timeout_us = (1 + i % 7) * 100 * s,
                                       .priority = i % 5 == 0};
    switch (kind) {
    case ARRIVE:
        return sl_promise_arrive(story->promise, &pod, i * s, err);
    case ADOPT:
        return sl_promise_adopt(story->promise, &pod, i * s, i * s, err);
    case UNSTART:
        return sl_promise_unstart(story->promise, (uint64_t)i, PODS * s, err);
    case NODES:
        return sl_promise_set_nodes(story->promise, nodes, (size_t)i, 0, err);
    case CAPACITY:
        break;
    }
    return sl_promise_set_capacity(story->promise, i, 0, err);
}

static void succeed(struct story *story, enum kind kind, int64_t i)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    const uint32_t waiting = sl_promise_waiting(story->promise);
    const uint32_t running = sl_promise_running(story->promise);
    const int done = attempt(story, kind, i, &err);
    if (done != 0) {
        assert_int_equal(done, -1);
        assert_int_equal(err.code, SL_ERR_NOMEM);
        story->hit = lack_disarm() || story->hit;
        assert_true(story->hit);
        assert_int_equal(sl_promise_waiting(story->promise), waiting);
        assert_int_equal(sl_promise_running(story->promise), running);
        assert_int_equal(attempt(story, kind, i, &err), 0);
    }
}

/* Pods come, some start, some are found running; the nodes change; then nominations expire. */
static void play(struct story *story, size_t n, bool forever)
{
    struct sl_promise_config config;
    sl_promise_defaults(&config);
    story->promise = sl_promise_new(&config);
    story->hit = false;
    assert_non_null(story->promise);
    if (n > 0) {
        lack_arm(n, forever);
    }
    succeed(story, CAPACITY, 5);
    succeed(story, NODES, 2);
    for (int64_t i = 1; i <= PODS; i++) {
        succeed(story, i % 6 == 1 ? ADOPT : ARRIVE, i);
        if (i % 6 == 2) {
            assert_int_equal(sl_promise_start(story->promise, (uint64_t)i, i * s, NULL), 0);
        }
    }
    succeed(story, NODES, 4);
    for (int64_t i = 2; i <= PODS; i += 6) {
        succeed(story, UNSTART, i);
    }
    story->hit = lack_disarm() || story->hit;
    story->answers[0] = sl_promise_longest_us(story->promise, 0, PODS * s);
    story->answers[1] = sl_promise_longest_us(story->promise, 1, PODS * s);
    story->answers[2] = 0;
    for (uint64_t i = 1; i <= PODS; i++) {
        story->answers[2] += sl_promise_admits(story->promise, i, PODS * s) ? INT64_C(1) << i : 0;
    }
    story->answers[3] = sl_promise_is_mixed(story->promise);
    sl_promise_free(story->promise);
}

static void each_allocation_fails(int64_t mixes_at, bool forever)
{
    struct story expected = {.mixes_at = mixes_at};
    struct story story = {.mixes_at = mixes_at};
    const int64_t live = lack.live;
    play(&expected, 0, false);
    assert_int_equal(expected.answers[3], mixes_at < PODS);
    size_t n = 1;
    for (story.hit = true; story.hit; n++) {
        assert_true(n < TRIES_MAX);
        play(&story, n, forever);
        assert_memory_equal(story.answers, expected.answers, sizeof(story.answers));
        assert_int_equal(lack.live, live);
    }
    assert_true(n > 20);
}

TEST_THAT(a_lane_that_counts_units_survives_each_lack_of_memory)
{
    each_allocation_fails(PODS + 1, false);
    each_allocation_fails(PODS + 1, true);
}

TEST_THAT(a_mixed_lane_survives_each_lack_of_memory)
{
    for (int64_t mixes_at = 1; mixes_at < PODS; mixes_at += 7) {
        each_allocation_fails(mixes_at, false);
        each_allocation_fails(mixes_at, true);
    }
}

TEST_THAT(without_memory_there_is_no_lane)
{
    struct sl_promise_config config;
    sl_promise_defaults(&config);
    lack_arm(1, false);
    assert_null(sl_promise_new(&config));
    assert_true(lack_disarm());
}
