/* The window of releases against a scheduler that is played: one pod after another, each after a
 * delay that every pod has. */
#include <stdlib.h>

#include "sliced/pace.h"
#include "unit/test.h"

enum { PODS = 4000, OUT_MAX = 1024 };

struct played {
    int64_t service_us; /* of a pod in the scheduler */
    int64_t delay_us;   /* that each has beside it */
    unsigned max;
};

struct outcome {
    double per_second; /* of the second half */
    int64_t wait_us;   /* the longest from nomination to bound, of the second half */
    unsigned window;
};

/* As many as the window lets are out; the scheduler takes them in their order. */
static struct outcome play(const struct played *played)
{
    static int64_t nominated[OUT_MAX];
    struct sl_pace pace;
    struct outcome outcome = {.wait_us = 0};
    int64_t now_us = 0;
    int64_t idle_us = 0; /* when the scheduler has nothing more to do */
    int64_t half_us = 0;
    unsigned first = 0;
    unsigned next = 0;
    static int64_t bound[OUT_MAX];
    sl_pace_init(&pace, played->max);
    for (unsigned done = 0; done < PODS; done++) {
        while (next - first < sl_pace_window(&pace)) {
            int64_t begin_us = now_us > idle_us ? now_us : idle_us;
            idle_us = begin_us + played->service_us;
            nominated[next % OUT_MAX] = now_us;
            bound[next % OUT_MAX] = idle_us + played->delay_us;
            next++;
        }
        now_us = bound[first % OUT_MAX];
        int64_t rtt_us = now_us - nominated[first % OUT_MAX];
        first++;
        sl_pace_bound(&pace, rtt_us, true, now_us);
        if (done == PODS / 2) {
            half_us = now_us;
        }
        if (done > PODS / 2 && rtt_us > outcome.wait_us) {
            outcome.wait_us = rtt_us;
        }
    }
    outcome.per_second = (double)PODS * 5e5 / (double)(now_us - half_us);
    outcome.window = sl_pace_window(&pace);
    return outcome;
}

TEST_THAT(the_scheduler_is_kept_busy_and_few_wait_in_it)
{
    static const struct played cases[] = {
        {5000, 30000, 256},  /* 200 a second */
        {1500, 20000, 256},  /* 670 a second */
        {1500, 100000, 256}, /* far away */
        {20000, 5000, 256},  /* slow */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct outcome outcome = play(&cases[i]);
        const double most = 1e6 / (double)cases[i].service_us;
        assert_true(outcome.per_second >= 0.95 * most);
        assert_true(outcome.wait_us <= cases[i].delay_us + 60 * cases[i].service_us);
    }
}

TEST_THAT(the_window_never_passes_its_maximum)
{
    static const struct played played = {100, 1000000, 64};
    assert_in_range(play(&played).window, 42, 64);
}

TEST_THAT(a_expire_halves_it_down_to_a_minimum)
{
    struct sl_pace pace;
    sl_pace_init(&pace, 256);
    assert_int_equal(sl_pace_window(&pace), SL_PACE_FIRST);
    sl_pace_expiry(&pace);
    sl_pace_expiry(&pace);
    assert_int_equal(sl_pace_window(&pace), SL_PACE_MIN);
    sl_pace_set_max(&pace, 3);
    assert_int_equal(sl_pace_window(&pace), 3);
}

TEST_THAT(it_grows_only_while_it_is_in_the_way)
{
    struct sl_pace pace;
    sl_pace_init(&pace, 256);
    for (int i = 0; i < 100; i++) {
        sl_pace_bound(&pace, 50000, false, INT64_C(50000) * i);
    }
    assert_int_equal(sl_pace_window(&pace), SL_PACE_FIRST);
    int64_t now_us = 6000000;
    for (int i = 0; i < 2 * SL_PACE_FIRST; i++) {
        now_us += 1000;
        sl_pace_bound(&pace, 50000, true, now_us);
    }
    assert_int_equal(sl_pace_window(&pace), SL_PACE_FIRST + SL_PACE_FIRST / 2);
}

TEST_THAT(a_larger_window_that_brings_nothing_is_left_again)
{
    struct sl_pace pace;
    int64_t now_us = 0;
    sl_pace_init(&pace, 256);
    for (int i = 0; i < 500; i++) {
        now_us += 5000;
        sl_pace_bound(&pace, 50000, true, now_us);
        assert_true(sl_pace_window(&pace) <= 36);
    }
    assert_true(sl_pace_window(&pace) <= 24);
}

TEST_THAT(window_after_an_expiry_settles_before_it_is_judged)
{
    struct sl_pace pace;
    sl_pace_init(&pace, 256);
    for (int64_t i = 1; i <= 1000; i++) {
        sl_pace_bound(&pace, 1000, true, i * 1000);
    }
    sl_pace_expiry(&pace);
    const unsigned window = sl_pace_window(&pace);
    for (unsigned i = pace.n; i < window; i++) {
        sl_pace_bound(&pace, 1000, true, 2000000 + i * 1000);
    }
    assert_int_equal(sl_pace_window(&pace), window);
    for (unsigned i = 0; i < window; i++) {
        sl_pace_bound(&pace, 1000, true, 3000000 + i * 1000);
    }
    assert_true(sl_pace_window(&pace) > window);
}

TEST_THAT(clock_that_was_put_back_takes_no_time)
{
    struct sl_pace pace;
    struct sl_pace other;
    sl_pace_init(&pace, 64);
    sl_pace_init(&other, 64);
    for (int64_t i = 1; i <= 400; i++) {
        const bool back = i % 3 == 1;
        sl_pace_bound(&pace, back ? -5000000 : 2000000, i % 50 != 0, i * 10000);
        sl_pace_bound(&other, back ? 1 : 2000000, i % 50 != 0, i * 10000);
        assert_int_equal(sl_pace_window(&pace), sl_pace_window(&other));
        assert_int_equal(sl_pace_patience_us(&pace), sl_pace_patience_us(&other));
    }
}

TEST_THAT(patience_is_a_multiple_of_what_is_usual_and_a_second_at_least)
{
    struct sl_pace pace;
    sl_pace_init(&pace, 256);
    assert_int_equal(sl_pace_patience_us(&pace), 1000000);
    for (int i = 0; i < 100; i++) {
        sl_pace_bound(&pace, 2000000, false, i);
    }
    assert_int_equal(sl_pace_patience_us(&pace), 8000000);
}

/* Binds as many as the window lets out, each so long after the one before; the window then. */
static unsigned round_of(struct sl_pace *pace, int64_t *now_us, int64_t each_us)
{
    for (unsigned n = sl_pace_window(pace); n > 0; n--) {
        *now_us += each_us;
        sl_pace_bound(pace, each_us, true, *now_us);
    }
    return sl_pace_window(pace);
}

/* The first round with another window is not judged; between two tries are eight of rest. */
TEST_THAT(at_a_steady_rate_smaller_and_larger_windows_are_tried_in_turn)
{
    static const unsigned expected[] = {
        24, 24, 16, 16,                 /* the first try brings nothing */
        16, 16, 16, 16, 16, 16, 16, 12, /* rest, and a smaller one */
        12, 12,                         /* which costs nothing */
        12, 12, 12, 12, 12, 12, 12, 18, /* rest, and a larger one */
        18, 12, 12,                     /* which brings nothing */
    };
    struct sl_pace pace;
    int64_t now_us = 0;
    sl_pace_init(&pace, 256);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_int_equal(round_of(&pace, &now_us, 1000), expected[i]);
    }
}

TEST_THAT(a_smaller_window_that_costs_more_than_a_twentieth_is_left_again)
{
    static const struct {
        int64_t each_us; /* 10,000 before */
        unsigned window;
    } cases[] = {{10000, 12}, {10500, 12}, {10600, 16}, {20000, 16}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sl_pace pace;
        int64_t now_us = 1000000;
        sl_pace_init(&pace, 256);
        for (unsigned round = 0; round < 12; round++) {
            (void)round_of(&pace, &now_us, 10000);
        }
        assert_int_equal(round_of(&pace, &now_us, cases[i].each_us), 12);
        assert_int_equal(round_of(&pace, &now_us, cases[i].each_us), cases[i].window);
    }
}

TEST_THAT(a_larger_window_is_kept_when_it_brings_more_than_a_tenth)
{
    static const struct {
        int64_t each_us; /* 1,210 before */
        unsigned window;
    } cases[] = {{1210, 16}, {1100, 16}, {1090, 36}, {500, 36}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sl_pace pace;
        int64_t now_us = 1000000;
        sl_pace_init(&pace, 256);
        assert_int_equal(round_of(&pace, &now_us, 1210), 24);
        assert_int_equal(round_of(&pace, &now_us, cases[i].each_us), 24);
        assert_int_equal(round_of(&pace, &now_us, cases[i].each_us), cases[i].window);
    }
}

TEST_THAT(an_expiry_gives_up_what_is_tried)
{
    struct sl_pace pace;
    int64_t now_us = 0;
    sl_pace_init(&pace, 256);
    assert_int_equal(round_of(&pace, &now_us, 1000), 24);
    sl_pace_expiry(&pace);
    assert_int_equal(sl_pace_window(&pace), 12);
    assert_int_equal(round_of(&pace, &now_us, 1000), 12); /* settles */
    assert_int_equal(round_of(&pace, &now_us, 1000), 18); /* growth begins anew */
}
