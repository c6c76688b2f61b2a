/* Lanes that count units, with pods of one priority that run as long as they state, against a plain
 * account of the rule in sliced/promise.h: free times are a sorted vector, one entry for each unit,
 * and everything is laid out anew at each question. It shares the allowances with the lane. Numbers
 * are the same in every run. */
#include <string.h>

#include "core/promise/allowance.h"
#include "core/promise/lane.h"
#include "unit/test.h"

enum { PODS = 40, UNITS = 6, ROUNDS = 400, STEPS = 90 };

static const int64_t s = 1000000;

/* When each unit is free, and the last start. */
struct layout {
    int64_t free_us[UNITS];
    int64_t last_us;
};

struct pod {
    struct sl_promise_pod pod;
    int64_t started_us;
    int64_t base_us;
    enum { ABSENT, WAITS, RUNS, OVER, WITHDRAWN } is;
};

struct account {
    struct sl_promise *promise;
    struct pod pod[PODS]; /* in order of arrival, which is the lane's */
    size_t n;
    int64_t now_us;
    int64_t width_max;
    uint64_t random;
    struct layout fifo;
    int64_t longest_us;
    struct sl_allowance allowance;
    struct layout base;
};

static unsigned draw(struct account *a, unsigned n)
{
    a->random = a->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(a->random >> 33) % n;
}

static int64_t most(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

/* ---- layouts ---- */

static void sort(int64_t *free_us)
{
    for (size_t i = 1; i < UNITS; i++) {
        const int64_t at_us = free_us[i];
        size_t k = i;
        for (; k > 0 && free_us[k - 1] > at_us; k--) {
            free_us[k] = free_us[k - 1];
        }
        free_us[k] = at_us;
    }
}

/* Starts a pod behind all that were started; when that is. */
static int64_t lay(struct layout *layout, int64_t width, int64_t run_us, int64_t from_us)
{
    const int64_t at_us = most(most(layout->last_us, from_us), layout->free_us[width - 1]);
    for (int64_t i = 0; i < width; i++) {
        layout->free_us[i] = at_us + run_us;
    }
    sort(layout->free_us);
    layout->last_us = at_us;
    return at_us;
}

/* First come, first served. */
static void play_fifo(struct account *a)
{
    a->fifo = (struct layout){.last_us = 0};
    a->longest_us = 0;
    for (size_t i = 0; i < a->n; i++) {
        const struct sl_promise_pod *pod = &a->pod[i].pod;
        if (a->pod[i].is != WITHDRAWN) {
            const int64_t at_us = lay(&a->fifo, pod->width, pod->timeout_us, pod->submit_us);
            a->longest_us = most(a->longest_us, at_us - pod->submit_us);
        }
    }
}

/* The units by when those that run end. */
static struct layout units_now(const struct account *a)
{
    struct layout now = {.last_us = a->now_us};
    size_t used = 0;
    for (size_t i = 0; i < a->n; i++) {
        const struct pod *pod = &a->pod[i];
        for (int64_t unit = 0; pod->is == RUNS && unit < pod->pod.width; unit++) {
            now.free_us[used++] = pod->started_us + pod->pod.timeout_us;
        }
    }
    while (used < UNITS) {
        now.free_us[used++] = a->now_us;
    }
    sort(now.free_us);
    return now;
}

static void lay_out_base(struct account *a)
{
    a->base = units_now(a);
    for (size_t i = 0; i < a->n; i++) {
        if (a->pod[i].is == WAITS) {
            const struct sl_promise_pod *pod = &a->pod[i].pod;
            a->pod[i].base_us = lay(&a->base, pod->width, pod->timeout_us, a->now_us);
        }
    }
}

/* ---- the rule ---- */

static bool is_late(const struct account *a, size_t i, int64_t at_us)
{
    return at_us > a->pod[i].pod.submit_us + a->allowance.wait_us && at_us > a->pod[i].base_us;
}

/* The lane ends close to the virtual FIFO, or no later than if no pod overtook. */
static bool ends_in_time(const struct account *a, const struct layout *end)
{
    const int64_t lag_us = a->allowance.lag_us;
    bool good = a->promise->widest <= 1 ||
                end->last_us <= most(a->fifo.last_us, a->now_us) + lag_us ||
                end->last_us <= a->base.last_us;
    for (size_t i = 0; i < UNITS; i++) {
        good = good && (end->free_us[i] <= most(a->fifo.free_us[i], a->now_us) + lag_us ||
                        end->free_us[i] <= a->base.free_us[i]);
    }
    return good;
}

static bool may_overtake(const struct account *a, size_t asked)
{
    struct layout with = units_now(a);
    const int64_t width = a->pod[asked].pod.width;
    for (int64_t i = 0; i < width; i++) { /* where it fits is the caller's question */
        with.free_us[i] = a->now_us + a->pod[asked].pod.timeout_us;
    }
    sort(with.free_us);
    for (size_t i = 0; i < a->n; i++) {
        if (a->pod[i].is == WAITS && i != asked) {
            const struct sl_promise_pod *pod = &a->pod[i].pod;
            if (is_late(a, i, lay(&with, pod->width, pod->timeout_us, a->now_us))) {
                return false;
            }
        }
    }
    return ends_in_time(a, &with);
}

static bool overtakes_none(const struct account *a, size_t asked)
{
    int64_t units = 0;
    bool first = true;
    for (size_t i = 0; i < a->n; i++) {
        const bool ahead = a->pod[i].is == WAITS && i <= asked;
        units += a->pod[i].is == RUNS || ahead ? a->pod[i].pod.width : 0;
        first = first && !(ahead && i < asked);
    }
    return first || units <= UNITS;
}

/* ---- questions ---- */

static void look(struct account *a)
{
    play_fifo(a);
    assert_int_equal(sl_promise_longest_us(a->promise, 0, a->now_us), a->longest_us);
    sl_promise_allowance(a->promise, a->promise->order[0], &a->allowance);
    lay_out_base(a);
}

static bool ask(struct account *a, size_t i)
{
    look(a);
    const bool got = sl_promise_admits(a->promise, a->pod[i].pod.id, a->now_us);
    assert_int_equal(got, overtakes_none(a, i) || may_overtake(a, i));
    assert_int_equal(sl_promise_latest_start(a->promise, a->pod[i].pod.id, a->now_us),
                     a->pod[i].pod.submit_us + a->allowance.wait_us);
    return got;
}

/* Some units are given to nobody until a time. */
static void ask_to_spare(struct account *a)
{
    const struct sl_promise_idle idle = {1, 1 + draw(a, 3), a->now_us + (1 + draw(a, 60)) * s};
    bool good = true;
    look(a);
    struct layout with = units_now(a);
    for (int64_t i = 0; i < idle.units; i++) {
        with.free_us[i] = idle.until_us;
    }
    sort(with.free_us);
    for (size_t i = 0; i < a->n; i++) {
        if (a->pod[i].is == WAITS) {
            const struct sl_promise_pod *pod = &a->pod[i].pod;
            good = good && !is_late(a, i, lay(&with, pod->width, pod->timeout_us, a->now_us));
        }
    }
    assert_int_equal(sl_promise_spares(a->promise, &idle, 1, a->now_us), good);
}

/* ---- what happens ---- */

static void arrive(struct account *a)
{
    struct pod *pod = &a->pod[a->n];
    *pod = (struct pod){.pod = {.id = a->n + 1,
                                .width = 1 + draw(a, (unsigned)a->width_max),
                                .submit_us = a->now_us,
                                .timeout_us = (1 + draw(a, 60)) * s},
                        .is = WAITS};
    a->n++;
    assert_int_equal(sl_promise_arrive(a->promise, &pod->pod, a->now_us, NULL), 0);
}

static int64_t units_free(const struct account *a)
{
    int64_t units = UNITS;
    for (size_t i = 0; i < a->n; i++) {
        units -= a->pod[i].is == RUNS ? a->pod[i].pod.width : 0;
    }
    return units;
}

static void happen(struct account *a, size_t i)
{
    struct pod *pod = &a->pod[i];
    const uint64_t id = pod->pod.id;
    if (pod->is == RUNS && pod->started_us == a->now_us && draw(a, 6) == 0) {
        assert_int_equal(sl_promise_unstart(a->promise, id, a->now_us, NULL), 0);
        pod->is = WAITS;
    } else if (pod->is == WAITS && draw(a, 30) == 0) {
        assert_int_equal(sl_promise_withdraw(a->promise, id, a->now_us, NULL), 0);
        pod->is = WITHDRAWN;
    } else if (pod->is == WAITS && ask(a, i) && pod->pod.width <= units_free(a)) {
        assert_int_equal(sl_promise_start(a->promise, id, a->now_us, NULL), 0);
        pod->is = RUNS;
        pod->started_us = a->now_us;
    }
}

/* Goes on for so long, or until the first pod ends. */
static void pass_time(struct account *a, int64_t us)
{
    int64_t until_us = a->now_us + us;
    for (size_t i = 0; i < a->n; i++) {
        const int64_t end_us = a->pod[i].started_us + a->pod[i].pod.timeout_us;
        until_us = a->pod[i].is == RUNS && end_us < until_us ? end_us : until_us;
    }
    a->now_us = until_us;
    for (size_t i = 0; i < a->n; i++) {
        struct pod *pod = &a->pod[i];
        if (pod->is == RUNS && pod->started_us + pod->pod.timeout_us == until_us) {
            assert_int_equal(sl_promise_end(a->promise, pod->pod.id, until_us, NULL), 0);
            pod->is = OVER;
        }
    }
}

TEST_THAT(a_lane_of_units_answers_as_its_rule_says)
{
    static struct account a;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct sl_promise_config config;
        sl_promise_defaults(&config);
        config.c_permille = seed % 3 == 0 ? 1000 : seed % 3 == 1 ? 1150 : 3000;
        a = (struct account){.random = seed, .width_max = 1 + (int64_t)(seed % 3)};
        a.promise = sl_promise_new(&config);
        assert_non_null(a.promise);
        assert_int_equal(sl_promise_set_capacity(a.promise, UNITS, 0, NULL), 0);
        for (unsigned step = 0; step < STEPS; step++) {
            pass_time(&a, draw(&a, 3) == 0 ? 0 : draw(&a, 8 * (unsigned)s));
            if (a.n < PODS && draw(&a, 2) == 0) {
                arrive(&a);
            }
            for (unsigned k = 0; a.n > 0 && k < 6; k++) {
                happen(&a, draw(&a, (unsigned)a.n));
            }
            if (a.n > 0 && draw(&a, 4) == 0) {
                ask_to_spare(&a);
            }
        }
        sl_promise_free(a.promise);
    }
}
