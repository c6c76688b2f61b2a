/* Mixed lanes: W against a virtual FIFO played beside, which shares the model of FIFO with EASY
 * backfill (core/forecast has tests for it); reserved starts by what must hold of them. Numbers are
 * the same in every run. */
#include <stdlib.h>
#include <string.h>

#include "core/promise/allowance.h"
#include "core/promise/lane.h"
#include "unit/test.h"

enum { PODS = 9, NODES = 4, RANKS = 2, ROUNDS = 120, STEPS = 120 };

static const int64_t s = 1000000;
/* The second and the third are devices of one node. */
static const struct sl_promise_node nodes[NODES] = {{11, 4, 0}, {22, 3, 0}, {22, 3, 0}, {33, 2, 0}};
enum { CAPACITY = 12, LARGEST = 4 };

struct pod {
    struct sl_promise_pod pod;
    uint64_t serial;
    uint64_t node;
    int64_t started_us;
    enum { ABSENT, WAITS, RUNS } is;
};

struct account {
    struct sl_promise *promise;
    struct pod pod[PODS];
    size_t running[PODS]; /* as the lane keeps them: the last takes the place of one that ends */
    size_t n_running;
    int64_t now_us;
    uint64_t serial;
    uint64_t random;
    struct sl_learn learn;
    struct sl_backfill fifo;
    struct sl_backfill trial;
    int64_t settled_us[RANKS]; /* W of what has started in the virtual FIFO, by priority */
    int64_t longest_us[RANKS]; /* and of what is foreseen */
    bool ranked[RANKS];        /* a pod of that priority has come */
    int64_t widest;
    int64_t last_fifo_us;
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

static int64_t least(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static int64_t estimate(const struct account *a, size_t i)
{
    return sl_learn_estimate(&a->learn, a->pod[i].pod.timeout_us);
}

/* ---- the virtual FIFO ---- */

static struct sl_wait wait_of(const struct account *a, size_t i)
{
    return (struct sl_wait){
        .pod = a->pod[i].pod, .run_us = estimate(a, i), .serial = a->pod[i].serial};
}

static bool count_settled(void *context, const struct sl_wait *wait, int64_t at_us)
{
    struct account *a = context;
    int64_t *settled_us = &a->settled_us[wait->pod.priority];
    *settled_us = most(*settled_us, at_us - wait->pod.submit_us);
    return true;
}

static void play_fifo(struct account *a)
{
    const struct sl_backfill_watch watch = {count_settled, a};
    sl_backfill_play(&a->fifo, a->now_us, &watch);
}

static bool count_foreseen(void *context, const struct sl_wait *wait, int64_t at_us)
{
    struct account *a = context;
    if (wait->serial == 0) {
        a->last_fifo_us = at_us;
    } else {
        int64_t *longest_us = &a->longest_us[wait->pod.priority];
        *longest_us = most(*longest_us, at_us - wait->pod.submit_us);
    }
    return true;
}

/* One more pod, which stands for those to come: as wide as any, behind all, and it fits no gap. */
static void push_last(const struct account *a, struct sl_backfill *model)
{
    const struct sl_wait last = {.pod = {.id = UINT64_MAX,
                                         .width = least(a->widest, LARGEST),
                                         .submit_us = INT64_MAX,
                                         .priority = INT32_MIN},
                                 .run_us = SL_PROMISE_TIMEOUT_MAX_US};
    sl_backfill_push(model, &last);
}

static void look_ahead(struct account *a)
{
    const struct sl_backfill_watch watch = {count_foreseen, a};
    play_fifo(a);
    memcpy(a->longest_us, a->settled_us, sizeof(a->longest_us));
    sl_backfill_copy(&a->trial, &a->fifo);
    push_last(a, &a->trial);
    sl_backfill_play(&a->trial, INT64_MAX, &watch);
}

/* ---- reserved starts ---- */

static int64_t end_of(const struct account *a, const struct sl_promise_member *member)
{
    return member->reserved_us + sl_promise_estimate(a->promise, member);
}

/* Returns the units that running pods and reserved starts use in the bin at that time, by what the
 * lane expects. */
static int64_t used_then(const struct account *a, uint32_t bin, int64_t at_us, bool reserved)
{
    const struct sl_mixed *mixed = &a->promise->mixed;
    int64_t units = 0;
    for (size_t i = 0; i < a->promise->n_running; i++) {
        const struct sl_promise_member *member = a->promise->running[i];
        const int64_t rest_us =
            sl_learn_rest(&a->learn, member->pod.timeout_us, a->now_us - member->started_us);
        units += member->bin == bin && at_us < a->now_us + rest_us ? member->pod.width : 0;
    }
    for (size_t i = 0; i < mixed->n_first && reserved; i++) {
        const struct sl_promise_member *member = mixed->first[i];
        const bool then = member->reserved_us <= at_us && at_us < end_of(a, member);
        units += member->bin == bin && then ? member->pod.width : 0;
    }
    return units;
}

/* Each of the first in line has room where and when its start is reserved. */
static void check_reserved(const struct account *a)
{
    const struct sl_mixed *mixed = &a->promise->mixed;
    for (size_t i = 0; i < mixed->n_first; i++) {
        const struct sl_promise_member *member = mixed->first[i];
        assert_true(member->reserved_us >= a->now_us);
        assert_true(i == 0 || sl_lane_compare(&mixed->first[i - 1]->pod, &member->pod) < 0);
        for (size_t k = 0; k < mixed->n_first; k++) { /* use grows where one starts */
            const int64_t at_us = mixed->first[k]->reserved_us;
            if (at_us >= member->reserved_us && at_us < end_of(a, member)) {
                assert_true(used_then(a, member->bin, at_us, true) <=
                            mixed->fifo.bins.bin[member->bin].units);
            }
        }
    }
}

struct reserved {
    uint64_t id[PODS];
    int64_t at_us[PODS];
    int64_t latest_us[PODS];
    int32_t priority[PODS];
    size_t n;
};

static void note_reserved(const struct account *a, struct reserved *out)
{
    const struct sl_mixed *mixed = &a->promise->mixed;
    out->n = mixed->n_first;
    for (size_t i = 0; i < mixed->n_first; i++) {
        const struct sl_promise_member *member = mixed->first[i];
        out->id[i] = member->pod.id;
        out->at_us[i] = member->reserved_us;
        out->latest_us[i] = member->pod.submit_us + mixed->wait_us[member->rank];
        out->priority[i] = member->pod.priority;
    }
}

/* After a start: nobody of its priority is later than the lane may make it, nobody above is later
 * at all. */
static void check_delays(const struct account *a, const struct reserved *before, int32_t priority)
{
    for (size_t i = 0; i < before->n; i++) {
        const struct sl_promise_member *member = sl_promise_find(a->promise, before->id[i]);
        if (!member->running && before->priority[i] >= priority) {
            const bool equal = before->priority[i] == priority;
            assert_true(member->reserved_us <= before->at_us[i] ||
                        (equal && member->reserved_us <= before->latest_us[i]));
        }
    }
}

/* ---- questions ---- */

static void check_longest(struct account *a)
{
    look_ahead(a);
    for (int32_t rank = 0; rank < RANKS; rank++) {
        assert_int_equal(sl_promise_longest_us(a->promise, rank, a->now_us), a->longest_us[rank]);
    }
}

/* The answer, which changes no reserved start. */
static bool ask(struct account *a, size_t i, uint64_t node)
{
    struct reserved before;
    struct reserved after;
    check_longest(a);
    (void)sl_promise_is_due(a->promise, a->pod[i].pod.id, a->now_us);
    check_reserved(a);
    note_reserved(a, &before);
    const bool admitted = node == 0
                              ? sl_promise_admits(a->promise, a->pod[i].pod.id, a->now_us)
                              : sl_promise_admits_on(a->promise, a->pod[i].pod.id, node, a->now_us);
    note_reserved(a, &after);
    assert_int_equal(after.n, before.n);
    for (size_t k = 0; k < before.n; k++) {
        assert_int_equal(after.id[k], before.id[k]);
        assert_int_equal(after.at_us[k], before.at_us[k]);
        assert_true(before.id[k] != a->pod[i].pod.id || before.at_us[k] > a->now_us || node != 0 ||
                    admitted);
    }
    return admitted;
}

/* ---- what happens ---- */

static void arrive(struct account *a, size_t i, int64_t width)
{
    struct pod *pod = &a->pod[i];
    pod->pod = (struct sl_promise_pod){.id = ++a->serial,
                                       .width = width,
                                       .submit_us = a->now_us - draw(a, 3) * s,
                                       .timeout_us = (1 + draw(a, 40)) * s,
                                       .priority = draw(a, 4) == 0 ? 1 : 0};
    pod->serial = a->serial;
    pod->is = WAITS;
    pod->node = 0;
    a->ranked[pod->pod.priority] = true;
    a->widest = most(a->widest, width);
    assert_int_equal(sl_promise_arrive(a->promise, &pod->pod, a->now_us, NULL), 0);
    const struct sl_wait wait = wait_of(a, i);
    play_fifo(a);
    sl_backfill_push(&a->fifo, &wait);
}

static void start(struct account *a, size_t i, uint64_t node)
{
    struct pod *pod = &a->pod[i];
    struct reserved before;
    note_reserved(a, &before);
    assert_int_equal(sl_promise_start(a->promise, pod->pod.id, a->now_us, NULL), 0);
    pod->node = node;
    sl_promise_place(a->promise, pod->pod.id, node);
    pod->is = RUNS;
    pod->started_us = a->now_us;
    a->running[a->n_running++] = i;
    if (node != 0) {
        check_delays(a, &before, pod->pod.priority);
        check_reserved(a);
    }
}

static void stop(struct account *a, size_t i)
{
    size_t k = 0;
    while (a->running[k] != i) {
        k++;
    }
    a->running[k] = a->running[--a->n_running];
}

static void end(struct account *a, size_t i)
{
    struct pod *pod = &a->pod[i];
    const struct sl_wait wait = wait_of(a, i);
    const int64_t run_us = a->now_us - pod->started_us;
    assert_int_equal(sl_promise_end(a->promise, pod->pod.id, a->now_us, NULL), 0);
    stop(a, i);
    play_fifo(a);
    sl_backfill_set_run(&a->fifo, &wait, run_us);
    sl_learn_ended(&a->learn, pod->pod.timeout_us, run_us);
    pod->is = ABSENT;
}

static void withdraw(struct account *a, size_t i)
{
    const struct sl_wait wait = wait_of(a, i);
    assert_int_equal(sl_promise_withdraw(a->promise, a->pod[i].pod.id, a->now_us, NULL), 0);
    play_fifo(a);
    sl_backfill_withdraw(&a->fifo, &wait);
    a->pod[i].is = ABSENT;
}

/* Units free in the node's bin with the most, as the lane sees them. */
static int64_t units_free(const struct account *a, uint64_t node)
{
    const struct sl_bins *bins = &a->promise->mixed.fifo.bins;
    int64_t units = 0;
    for (uint32_t bin = 0; bin < bins->n; bin++) {
        if (bins->bin[bin].key == node) {
            units = most(units, bins->bin[bin].units - used_then(a, bin, a->now_us, false));
        }
    }
    return units;
}

static void happen(struct account *a, size_t i)
{
    struct pod *pod = &a->pod[i];
    if (pod->is == ABSENT) {
        arrive(a, i, draw(a, 40) == 0 ? LARGEST + 1 : 1 + draw(a, LARGEST));
    } else if (pod->is == RUNS && pod->started_us == a->now_us && draw(a, 4) == 0) {
        assert_int_equal(sl_promise_unstart(a->promise, pod->pod.id, a->now_us, NULL), 0);
        stop(a, i);
        pod->is = WAITS;
    } else if (pod->is == RUNS && a->now_us > pod->started_us && draw(a, 3) == 0) {
        end(a, i);
    } else if (pod->is == WAITS && draw(a, 16) == 0) {
        withdraw(a, i);
    } else if (pod->is == WAITS) {
        static const uint64_t keys[] = {0, 11, 22, 33, 44};
        const uint64_t node = keys[draw(a, 5)];
        if (ask(a, i, node) && node != 44 && units_free(a, node) >= pod->pod.width) {
            start(a, i, node);
        }
    }
}

static void set_up(struct account *a, uint64_t seed)
{
    struct sl_promise_config config;
    sl_promise_defaults(&config);
    *a = (struct account){.random = seed, .promise = sl_promise_new(&config)};
    assert_non_null(a->promise);
    assert_int_equal(sl_promise_set_nodes(a->promise, nodes, NODES, 0, NULL), 0);
    struct sl_backfill *models[] = {&a->fifo, &a->trial};
    for (size_t m = 0; m < 2; m++) {
        assert_int_equal(sl_backfill_reserve(models[m], NODES, 512, 512), 0);
        for (size_t i = 0; i < NODES; i++) {
            models[m]->bins.bin[i] = (struct sl_bin){.key = nodes[i].key, .units = nodes[i].units};
        }
        models[m]->bins.n = NODES;
        sl_bins_name(&models[m]->bins);
        sl_backfill_clear(models[m], 0);
    }
    assert_false(sl_promise_is_mixed(a->promise));
    arrive(a, 0, 3); /* three units fill no node of four */
    assert_true(sl_promise_is_mixed(a->promise));
}

TEST_THAT(no_start_makes_another_pod_later_than_its_latest_start)
{
    static struct account a;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        set_up(&a, seed);
        for (unsigned step = 0; step < STEPS; step++) {
            a.now_us += draw(&a, 3) == 0 ? 0 : draw(&a, 6 * (unsigned)s);
            for (unsigned k = 0; k < 4; k++) {
                happen(&a, draw(&a, PODS));
            }
        }
        sl_promise_free(a.promise);
        sl_backfill_free(&a.fifo);
        sl_backfill_free(&a.trial);
    }
}
