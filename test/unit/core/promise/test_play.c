/* Bounded shortest job first over whole workloads: against what an independent FIFO and an
 * independent layout say. All workloads are the same in every run. */
#include <string.h>

#include "sliced/promise.h"
#include "unit/test.h"

enum { TASKS_MAX = 1000, UNITS_MAX = 16 };

static const int64_t s = 1000000;

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

struct task {
    int64_t submit_us;
    int64_t run_us;
    int64_t width;
};

struct workload {
    size_t n;
    int64_t units;
    int64_t gap_us; /* twice the mean of the time between submissions */
    int64_t width_max;
    struct task task[TASKS_MAX];
};

/* Run times from 10 to 1,280 s, the octaves equally often. */
static void make(struct workload *load, uint64_t seed)
{
    int64_t at = 0;
    seed = seed * 7919 + 17;
    for (size_t i = 0; i < load->n; i++) {
        struct task *task = &load->task[i];
        at += (int64_t)(next_random(&seed) % (uint64_t)load->gap_us);
        const uint64_t octave = next_random(&seed) % 7;
        task->submit_us = at;
        task->run_us = (int64_t)((10000000 + next_random(&seed) % 10000000) << octave);
        task->width = 1 + (int64_t)(next_random(&seed) % (uint64_t)load->width_max);
    }
}

struct outcome {
    int64_t longest_us;
    int64_t total_us; /* of waits */
};

static void count_wait(struct outcome *outcome, int64_t wait_us)
{
    outcome->total_us += wait_us;
    outcome->longest_us = wait_us > outcome->longest_us ? wait_us : outcome->longest_us;
}

static void sort(int64_t *free_us, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const int64_t at = free_us[i];
        size_t k = i;
        while (k > 0 && free_us[k - 1] > at) {
            free_us[k] = free_us[k - 1];
            k--;
        }
        free_us[k] = at;
    }
}

/* One strict FIFO start on sorted free times; when it is. */
static int64_t lay(int64_t *free_us, size_t n, int64_t width, int64_t run_us, int64_t from)
{
    const int64_t at = free_us[width - 1] > from ? free_us[width - 1] : from;
    for (int64_t i = 0; i < width; i++) {
        free_us[i] = at + run_us;
    }
    sort(free_us, n);
    return at;
}

static struct outcome play_fifo(const struct workload *load)
{
    struct outcome outcome = {0, 0};
    int64_t free_us[UNITS_MAX] = {0};
    int64_t last = 0;
    for (size_t i = 0; i < load->n; i++) {
        const struct task *task = &load->task[i];
        last = lay(free_us, (size_t)load->units, task->width, task->run_us,
                   task->submit_us > last ? task->submit_us : last);
        count_wait(&outcome, last - task->submit_us);
    }
    return outcome;
}

/* A lane as a scheduler without any other trouble drives it. */
struct game {
    const struct workload *load;
    struct sl_promise *promise; /* NULL: shortest first */
    size_t waiting[TASKS_MAX];
    size_t n_waiting;
    size_t running[UNITS_MAX];
    size_t n_running;
    int64_t started_us[TASKS_MAX];
    int64_t free_units;
    int64_t now_us;
};

static void submit(struct game *game, size_t index)
{
    const struct task *task = &game->load->task[index];
    size_t i = game->n_waiting++;
    while (i > 0 && task->run_us < game->load->task[game->waiting[i - 1]].run_us) {
        game->waiting[i] = game->waiting[i - 1];
        i--;
    }
    game->waiting[i] = index;
    if (game->promise != NULL) {
        const struct sl_promise_pod pod = {.id = index,
                                           .width = task->width,
                                           .submit_us = task->submit_us,
                                           .timeout_us = task->run_us};
        assert_int_equal(sl_promise_arrive(game->promise, &pod, game->now_us, NULL), 0);
    }
}

static bool start_one(struct game *game, struct outcome *outcome)
{
    for (size_t i = 0; i < game->n_waiting; i++) {
        const size_t index = game->waiting[i];
        const struct task *task = &game->load->task[index];
        if (task->width > game->free_units ||
            (game->promise != NULL && !sl_promise_admits(game->promise, index, game->now_us))) {
            continue;
        }
        count_wait(outcome, game->now_us - task->submit_us);
        game->n_waiting--;
        memmove(&game->waiting[i], &game->waiting[i + 1],
                (game->n_waiting - i) * sizeof(game->waiting[0]));
        game->started_us[index] = game->now_us;
        game->running[game->n_running++] = index;
        game->free_units -= task->width;
        if (game->promise != NULL) {
            assert_int_equal(sl_promise_start(game->promise, index, game->now_us, NULL), 0);
        }
        return true;
    }
    return false;
}

static int64_t end_of(const struct game *game, size_t index)
{
    return game->started_us[index] + game->load->task[index].run_us;
}

static void end_all(struct game *game)
{
    for (size_t i = 0; i < game->n_running;) {
        const size_t index = game->running[i];
        if (end_of(game, index) > game->now_us) {
            i++;
            continue;
        }
        if (game->promise != NULL) {
            assert_int_equal(sl_promise_end(game->promise, index, game->now_us, NULL), 0);
        }
        game->free_units += game->load->task[index].width;
        game->running[i] = game->running[--game->n_running];
    }
}

static struct outcome play(const struct workload *load, bool bounded)
{
    static struct game game;
    struct outcome outcome = {0, 0};
    struct sl_promise_config config;
    sl_promise_defaults(&config);
    game = (struct game){.load = load, .free_units = load->units};
    if (bounded) {
        game.promise = sl_promise_new(&config);
        assert_non_null(game.promise);
        assert_int_equal(sl_promise_set_capacity(game.promise, load->units, 0, NULL), 0);
    }
    size_t next = 0;
    while (next < load->n || game.n_waiting + game.n_running > 0) {
        int64_t now = next < load->n ? load->task[next].submit_us : INT64_MAX;
        for (size_t i = 0; i < game.n_running; i++) {
            const int64_t end = end_of(&game, game.running[i]);
            now = end < now ? end : now;
        }
        assert_true(now < INT64_MAX); /* somebody waits, nobody runs, nobody may go */
        game.now_us = now;
        end_all(&game);
        while (next < load->n && load->task[next].submit_us <= now) {
            submit(&game, next++);
        }
        while (start_one(&game, &outcome)) {
        }
        if (load->width_max == 1) { /* nothing idles while somebody waits */
            assert_true(game.free_units == 0 || game.n_waiting == 0);
        }
    }
    sl_promise_free(game.promise);
    return outcome;
}

static struct workload load;

TEST_THAT(nobody_waits_longer_than_c_times_fifos_longest)
{
    load = (struct workload){.n = 300, .units = 9, .gap_us = 54 * s, .width_max = 1};
    for (uint64_t seed = 1; seed <= 60; seed++) {
        make(&load, seed);
        const struct outcome fifo = play_fifo(&load);
        const struct outcome bounded = play(&load, true);
        assert_true(bounded.longest_us <= fifo.longest_us / 1000 * 1150 + 1000);
        assert_true(bounded.total_us <= fifo.total_us);
    }
}

TEST_THAT(under_overload_it_is_shortest_first_with_a_bound)
{
    load = (struct workload){.n = 100, .units = 2, .gap_us = 50 * s, .width_max = 1};
    unsigned close = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        make(&load, seed);
        const struct outcome fifo = play_fifo(&load);
        const struct outcome shortest = play(&load, false);
        const struct outcome bounded = play(&load, true);
        assert_true(bounded.longest_us <= fifo.longest_us / 1000 * 1150 + 1000);
        close += bounded.total_us <= shortest.total_us / 100 * 102 ? 1 : 0;
    }
    assert_true(close > 20); /* in the median within 1.02 of the shortest first */
}

TEST_THAT(with_wide_pods_nobody_waits_longer_than_proved)
{
    for (uint64_t seed = 1; seed <= 120; seed++) {
        const int64_t units = 2 + (int64_t)(seed % 7);
        load = (struct workload){.n = 150,
                                 .units = units,
                                 .width_max = 1 + (int64_t)(seed % (uint64_t)units),
                                 .gap_us = (60 + (int64_t)(seed % 5) * 60) * s};
        make(&load, seed);
        const struct outcome fifo = play_fifo(&load);
        const struct outcome bounded = play(&load, true);
        assert_true(bounded.longest_us <= fifo.longest_us / 1000 * 1650 + 1000);
    }
}

/* Small lanes with everything that can happen. */
enum { PODS = 10 };

struct member {
    struct sl_promise_pod pod;
    int64_t started_us;
    enum { ABSENT, WAITS, RUNS } is;
};

struct small {
    struct sl_promise *promise;
    struct member member[PODS];
    int64_t units;
    int64_t now_us;
    uint64_t next_id;
};

static int64_t units_in_use(const struct small *small)
{
    int64_t n = 0;
    for (int i = 0; i < PODS; i++) {
        n += small->member[i].is == RUNS ? small->member[i].pod.width : 0;
    }
    return n;
}

static void come(struct small *small, struct member *m, uint64_t *seed)
{
    m->pod = (struct sl_promise_pod){
        .id = small->next_id++,
        .width = 1 + (int64_t)(next_random(seed) % 3),
        .submit_us = small->now_us - (int64_t)(next_random(seed) % 3) * s,
        .timeout_us = (1 + (int64_t)(next_random(seed) % 40)) * s,
        .priority = next_random(seed) % 4 == 0 ? 1 : 0,
    };
    m->is = WAITS;
    assert_int_equal(sl_promise_arrive(small->promise, &m->pod, small->now_us, NULL), 0);
}

/* One step in which pods end early and others turn up running. */
static void stir(struct small *small, struct member *m, uint64_t *seed)
{
    if (m->is == RUNS && next_random(seed) % 4 == 0) {
        assert_int_equal(sl_promise_end(small->promise, m->pod.id, small->now_us, NULL), 0);
        m->is = ABSENT;
    } else if (m->is == ABSENT && next_random(seed) % 8 == 0) {
        m->pod = (struct sl_promise_pod){.id = small->next_id++,
                                         .width = 1 + (int64_t)(next_random(seed) % 3),
                                         .submit_us = small->now_us - 100 * s,
                                         .timeout_us = 60 * s};
        m->started_us = small->now_us - 10 * s;
        m->is = RUNS;
        assert_int_equal(
            sl_promise_adopt(small->promise, &m->pod, m->started_us, small->now_us, NULL), 0);
    } else if (m->is == ABSENT) {
        come(small, m, seed);
    } else if (m->is == WAITS && sl_promise_admits(small->promise, m->pod.id, small->now_us) &&
               units_in_use(small) + m->pod.width <= small->units) {
        assert_int_equal(sl_promise_start(small->promise, m->pod.id, small->now_us, NULL), 0);
        m->is = RUNS;
    }
}

TEST_THAT(whatever_happens_the_next_in_order_may_go)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t random = seed * 15485863;
        struct sl_promise_config config;
        sl_promise_defaults(&config);
        struct small small = {.promise = sl_promise_new(&config), .units = 4, .next_id = 1};
        assert_non_null(small.promise);
        assert_int_equal(sl_promise_set_capacity(small.promise, small.units, 0, NULL), 0);
        for (unsigned step = 0; step < 1500; step++) {
            uint64_t due = 0;
            small.now_us += (int64_t)(next_random(&random) % 4) * s;
            if (next_random(&random) % 64 == 0) {
                small.units = (int64_t)(next_random(&random) % 6);
                assert_int_equal(
                    sl_promise_set_capacity(small.promise, small.units, small.now_us, NULL), 0);
            }
            stir(&small, &small.member[next_random(&random) % PODS], &random);
            if (sl_promise_due(small.promise, &due)) {
                assert_true(sl_promise_admits(small.promise, due, small.now_us));
                assert_true(sl_promise_latest_start(small.promise, due, small.now_us) > -1000 * s);
            }
            assert_in_range(sl_promise_ratio_permille(small.promise), 0, 1000);
        }
        sl_promise_free(small.promise);
    }
}

TEST_THAT(same_workload_is_played_the_same_again)
{
    load = (struct workload){.n = 400, .units = 5, .gap_us = 150 * s, .width_max = 3};
    make(&load, 3);
    const struct outcome first = play(&load, true);
    const struct outcome second = play(&load, true);
    assert_int_equal(first.total_us, second.total_us);
    assert_int_equal(first.longest_us, second.longest_us);
}
