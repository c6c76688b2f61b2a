/* Mixed lanes against a plain account of the rule in sliced/promise.h. The account plays its own
 * virtual FIFO and lays pods out anew from what really runs and waits; it shares the model of FIFO
 * with EASY backfill, which core/forecast has tests for, and the allowances. Numbers are the same
 * in every run. */
#include <stdlib.h>
#include <string.h>

#include "core/promise/allowance.h"
#include "core/promise/lane.h"
#include "unit/test.h"

enum { PODS = 9, NODES = 4, RANKS = 2, ROUNDS = 120, STEPS = 120, REFUSALS = SL_MIXED_REFUSALS };

static const int64_t s = 1000000;
/* The second and the third are devices of one node. */
static const struct sl_promise_node nodes[NODES] = {{11, 4}, {22, 3}, {22, 3}, {33, 2}};
enum { CAPACITY = 12, LARGEST = 4 };

struct pod {
    struct sl_promise_pod pod;
    uint64_t serial;
    uint64_t node;
    int64_t started_us;
    enum { ABSENT, WAITS, RUNS } is;
    /* in the last layout */
    bool laid;
    int64_t laid_us;
    int64_t spare_us;
    int64_t before_us;
};

struct refusal {
    int64_t run_us;
    int64_t width;
    uint64_t node;
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
    /* the layout */
    bool has_layout;
    uint64_t state; /* of the lane then */
    int64_t wait_us[RANKS];
    int64_t lag_us;
    int64_t last_laid_us;
    int64_t last_us;
    int64_t least_us;
    int64_t put_in;
    /* the question */
    size_t asked;
    int64_t asked_us;
    bool kept;
    uint64_t refused_state;
    struct refusal refused[REFUSALS];
    size_t n_refused;
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

static size_t pod_of(const struct account *a, uint64_t serial)
{
    size_t i = 0;
    while (i < PODS && (a->pod[i].is == ABSENT || a->pod[i].serial != serial)) {
        i++;
    }
    return i;
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

/* ---- layouts ---- */

/* What runs is expected to go on as the lane has learned. */
static void set_trial(struct account *a, size_t without)
{
    sl_backfill_clear(&a->trial, a->now_us);
    for (size_t k = 0; k < a->n_running; k++) {
        const struct pod *pod = &a->pod[a->running[k]];
        const struct sl_run run = {.start_us = pod->started_us,
                                   .end_us =
                                       a->now_us + sl_learn_rest(&a->learn, pod->pod.timeout_us,
                                                                 a->now_us - pod->started_us),
                                   .width = pod->pod.width,
                                   .serial = pod->serial};
        sl_backfill_put(&a->trial, &run, pod->node);
    }
    sl_backfill_sort(&a->trial);
    for (size_t i = 0; i < PODS; i++) {
        const struct sl_wait wait = wait_of(a, i);
        if (a->pod[i].is == WAITS && i != without) {
            sl_backfill_push(&a->trial, &wait);
        }
    }
}

static bool goes_before(const struct account *a, size_t x, size_t y)
{
    return sl_lane_compare(&a->pod[x].pod, &a->pod[y].pod) < 0;
}

/* The waiting pods in their order; how many. */
static size_t line_of(const struct account *a, size_t line[PODS])
{
    size_t n = 0;
    for (size_t i = 0; i < PODS; i++) {
        if (a->pod[i].is == WAITS) {
            size_t k = n++;
            for (; k > 0 && goes_before(a, i, line[k - 1]); k--) {
                line[k] = line[k - 1];
            }
            line[k] = i;
        }
    }
    return n;
}

static bool note_laid(void *context, const struct sl_wait *wait, int64_t at_us)
{
    struct account *a = context;
    if (wait->serial == 0) {
        a->last_laid_us = at_us;
    } else {
        struct pod *pod = &a->pod[pod_of(a, wait->serial)];
        pod->laid = true;
        pod->laid_us = at_us;
    }
    return true;
}

static void set_allowances(struct account *a)
{
    a->lag_us = INT64_MAX;
    for (int32_t rank = 0; rank < RANKS; rank++) {
        struct sl_allowance allowance;
        if (a->ranked[rank]) {
            const uint8_t index = sl_promise_rank_of(a->promise, rank);
            assert_int_equal(a->promise->rank[index].longest_us, a->longest_us[rank]);
            sl_promise_allowance(a->promise, index, &allowance);
            a->wait_us[rank] = allowance.wait_us;
            a->lag_us = least(a->lag_us, allowance.lag_us);
        }
    }
}

/* How much later than laid out each pod may start, and the least of those before it. A pod of
 * higher priority has nothing to spare for a lower one. */
static void lay_out(struct account *a)
{
    const struct sl_backfill_watch watch = {note_laid, a};
    size_t line[PODS];
    const size_t n = line_of(a, line);
    int64_t least_us = INT64_MAX;
    for (size_t i = 0; i < PODS; i++) {
        a->pod[i].laid = false;
    }
    set_trial(a, PODS);
    push_last(a, &a->trial);
    sl_backfill_play(&a->trial, INT64_MAX, &watch);
    set_allowances(a);
    for (size_t k = 0; k < n; k++) {
        struct pod *pod = &a->pod[line[k]];
        if (k > 0 && a->pod[line[k - 1]].pod.priority > pod->pod.priority) {
            least_us = least(least_us, 0);
        }
        if (pod->laid) {
            pod->before_us = least_us;
            pod->spare_us = pod->pod.submit_us + a->wait_us[pod->pod.priority] - pod->laid_us;
            least_us = least(least_us, pod->spare_us);
        }
    }
    a->has_layout = true;
    a->state = a->promise->state;
    a->put_in = 0;
    a->last_us = a->last_fifo_us + a->lag_us - a->last_laid_us;
    a->least_us = least(a->last_us, n > 0 ? least(least_us, 0) : least_us);
}

static int64_t spare_before(const struct account *a, size_t i)
{
    return a->pod[i].laid ? least(a->pod[i].before_us, a->last_us) : a->least_us;
}

/* ---- a trial ---- */

static bool judge_start(void *context, const struct sl_wait *wait, int64_t at_us)
{
    struct account *a = context;
    if (wait->serial == 0) {
        a->kept = a->kept && at_us <= most(a->last_laid_us, a->last_fifo_us + a->lag_us);
        return true;
    }
    const struct pod *pod = &a->pod[pod_of(a, wait->serial)];
    const int32_t over = pod->pod.priority - a->pod[a->asked].pod.priority;
    const int64_t latest_us = pod->pod.submit_us + a->wait_us[pod->pod.priority];
    const bool no_later = at_us <= (pod->laid ? pod->laid_us : latest_us);
    a->kept = a->kept && (no_later || over < 0 || (over == 0 && at_us <= latest_us));
    return true;
}

static bool try_out(struct account *a, size_t i, uint64_t node)
{
    const struct sl_backfill_watch watch = {judge_start, a};
    const struct sl_run run = {.start_us = a->now_us,
                               .end_us = a->now_us + estimate(a, i),
                               .width = a->pod[i].pod.width,
                               .serial = a->pod[i].serial};
    set_trial(a, i);
    push_last(a, &a->trial);
    a->asked = i;
    a->kept = sl_backfill_start(&a->trial, &run, node);
    if (a->kept) {
        sl_backfill_play(&a->trial, INT64_MAX, &watch);
    }
    return a->kept;
}

/* A pod at least as long and as wide as one that was refused there is refused too. */
static bool was_refused(struct account *a, const struct refusal *asked)
{
    bool refused = false;
    a->n_refused = a->refused_state == a->promise->state ? a->n_refused : 0;
    a->refused_state = a->promise->state;
    for (size_t k = 0; k < a->n_refused; k++) {
        const struct refusal *r = &a->refused[k];
        refused = refused || (asked->run_us >= r->run_us && asked->width >= r->width &&
                              asked->node == r->node);
    }
    return refused;
}

static bool is_admitted(struct account *a, size_t i, uint64_t node)
{
    size_t line[PODS];
    (void)line_of(a, line);
    const int64_t own_us = estimate(a, i);
    if (line[0] == i) {
        return true; /* it is due */
    }
    a->asked_us = own_us + a->put_in / CAPACITY;
    if (a->has_layout && a->asked_us <= spare_before(a, i)) {
        return true;
    }
    if (!a->has_layout || a->state != a->promise->state) {
        lay_out(a);
        a->asked_us = own_us;
        if (own_us <= spare_before(a, i)) {
            return true;
        }
    }
    const struct refusal asked = {own_us, a->pod[i].pod.width, node};
    if (was_refused(a, &asked)) {
        return false;
    }
    if (try_out(a, i, node)) {
        return true;
    }
    if (a->n_refused < REFUSALS) {
        a->refused[a->n_refused++] = asked;
    }
    return false;
}

/* ---- questions ---- */

static void check_longest(struct account *a)
{
    look_ahead(a);
    for (int32_t rank = 0; rank < RANKS; rank++) {
        assert_int_equal(sl_promise_longest_us(a->promise, rank, a->now_us), a->longest_us[rank]);
    }
}

/* Who is ahead of the refused pod and could be made late by it, up to the last of them. */
static void check_urgent(const struct account *a, size_t refused)
{
    uint64_t ids[PODS];
    uint64_t wanted[PODS];
    size_t line[PODS];
    size_t n = 0;
    size_t urgent = 0;
    (void)line_of(a, line);
    for (size_t k = 0; line[k] != refused; k++) {
        const struct pod *pod = &a->pod[line[k]];
        const bool spares =
            pod->pod.priority == a->pod[refused].pod.priority && pod->spare_us >= a->asked_us;
        if (pod->laid && (!spares || pod->laid_us <= a->now_us)) {
            wanted[n++] = pod->pod.id;
            urgent = spares ? urgent : n;
        }
    }
    assert_int_equal(sl_promise_urgent(a->promise, a->pod[refused].pod.id, ids, PODS), urgent);
    assert_memory_equal(ids, wanted, urgent * sizeof(ids[0]));
    if (urgent > 1) {
        assert_true(sl_promise_urgent(a->promise, a->pod[refused].pod.id, ids, 1) <= 1);
    }
}

static bool ask(struct account *a, size_t i)
{
    static const uint64_t keys[] = {0, 11, 22, 33, 44};
    const uint64_t node = keys[draw(a, 5)];
    check_longest(a);
    const bool wanted = is_admitted(a, i, node);
    if (node == 0) {
        assert_int_equal(sl_promise_admits(a->promise, a->pod[i].pod.id, a->now_us), wanted);
    } else {
        assert_int_equal(sl_promise_delays(a->promise, a->pod[i].pod.id, node, a->now_us), !wanted);
    }
    if (!wanted) {
        check_urgent(a, i);
    }
    return wanted;
}

static bool judge_spared(void *context, const struct sl_wait *wait, int64_t at_us)
{
    struct account *a = context;
    const struct pod *pod = &a->pod[pod_of(a, wait->serial)];
    a->kept = a->kept && (at_us <= pod->pod.submit_us + a->wait_us[pod->pod.priority] ||
                          (pod->laid && at_us <= pod->laid_us));
    return true;
}

/* Units of a node idle until a time: does everybody still start in time? */
static void ask_to_spare(struct account *a)
{
    const struct sl_backfill_watch watch = {judge_spared, a};
    size_t line[PODS];
    const struct sl_promise_idle idle = {nodes[draw(a, NODES)].key, 1 + draw(a, 3),
                                         a->now_us + (1 + draw(a, 60)) * s};
    if (line_of(a, line) == 0) {
        assert_true(sl_promise_spares(a->promise, &idle, 1, a->now_us));
        return;
    }
    check_longest(a);
    if (!a->has_layout || a->state != a->promise->state) {
        lay_out(a);
    }
    set_trial(a, PODS);
    a->kept = true;
    for (int64_t unit = 0; unit < idle.units && a->kept; unit++) {
        const struct sl_run run = {.start_us = a->now_us, .end_us = idle.until_us, .width = 1};
        a->kept = sl_backfill_start(&a->trial, &run, idle.node);
    }
    if (a->kept) {
        sl_backfill_play(&a->trial, INT64_MAX, &watch);
    }
    assert_int_equal(sl_promise_spares(a->promise, &idle, 1, a->now_us), a->kept);
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
    pod->laid = false;
    pod->node = 0;
    a->ranked[pod->pod.priority] = true;
    a->widest = most(a->widest, width);
    assert_int_equal(sl_promise_arrive(a->promise, &pod->pod, a->now_us, NULL), 0);
    const struct sl_wait wait = wait_of(a, i);
    play_fifo(a);
    sl_backfill_push(&a->fifo, &wait);
}

static void start(struct account *a, size_t i)
{
    struct pod *pod = &a->pod[i];
    if (!pod->laid || pod->laid_us > a->now_us) {
        a->put_in += pod->pod.width * estimate(a, i);
    }
    assert_int_equal(sl_promise_start(a->promise, pod->pod.id, a->now_us, NULL), 0);
    pod->node = draw(a, 3) == 0 ? 0 : nodes[draw(a, NODES)].key;
    sl_promise_place(a->promise, pod->pod.id, pod->node);
    pod->is = RUNS;
    pod->started_us = a->now_us;
    a->running[a->n_running++] = i;
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

static int64_t units_free(const struct account *a)
{
    int64_t units = CAPACITY;
    for (size_t k = 0; k < a->n_running; k++) {
        units -= a->pod[a->running[k]].pod.width;
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
    } else if (pod->is == WAITS && ask(a, i) && pod->pod.width <= units_free(a)) {
        start(a, i);
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

TEST_THAT(a_mixed_lane_answers_as_its_rule_says)
{
    static struct account a;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        set_up(&a, seed);
        for (unsigned step = 0; step < STEPS; step++) {
            a.now_us += draw(&a, 3) == 0 ? 0 : draw(&a, 6 * (unsigned)s);
            for (unsigned k = 0; k < 4; k++) {
                happen(&a, draw(&a, PODS));
            }
            if (draw(&a, 4) == 0) {
                ask_to_spare(&a);
            }
        }
        sl_promise_free(a.promise);
        sl_backfill_free(&a.fifo);
        sl_backfill_free(&a.trial);
    }
}
