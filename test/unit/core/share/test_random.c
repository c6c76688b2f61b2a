/* The share against a slow model of pods of one width, second by second; and what it foretells
 * against what comes. Numbers are the same in every run. */
#include <stdio.h>
#include <stdlib.h>

#include "core/share/share.h"
#include "unit/test.h"
#include "util/time.h"

enum { WORLDS = 100, PODS = 60, NEVER = INT32_MAX };

enum { FIFO, ORDER, MACHINES };

struct pod {
    struct sl_share_pod *pod; /* NULL: not there */
    int number, units;
    int64_t priority;
    int come, timeout;
    int start, run; /* in reality */
    int told;       /* start on the share; NEVER: not yet */
    int foretold;
    bool over;
    /* of the model */
    int from[MACHINES]; /* NEVER: it waits */
    bool gone[MACHINES];
};

struct world {
    struct sl_share *share;
    struct sl_share_config config;
    struct pod pod[PODS];
    int width, slots, now;
    int longest; /* under FIFO */
    bool resizes;
    uint64_t random;
};

static int pick(struct world *w, int n)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (int)((w->random >> 33) % (unsigned)n);
}

/* ---- the model ---- */

static bool is_there(const struct pod *pod, int machine, int now)
{
    return pod->come <= now && !pod->gone[machine] && pod->pod != NULL;
}

static int64_t key_of(const struct world *w, const struct pod *pod, int machine)
{
    if (machine == FIFO || w->config.order.kind == SL_ORDER_FIFO) {
        return -pod->priority * 1000000;
    }
    return w->config.order.kind == SL_ORDER_P ? -(pod->priority - pod->timeout - pod->come)
                                              : -pod->priority * 1000000 + pod->timeout;
}

static bool is_ahead(const struct world *w, const struct pod *a, const struct pod *b, int machine)
{
    int64_t x = key_of(w, a, machine);
    int64_t y = key_of(w, b, machine);
    if (x != y) {
        return x < y;
    }
    return a->come != b->come ? a->come < b->come : a->number < b->number;
}

static struct pod *first_of(struct world *w, int machine, int rule)
{
    struct pod *first = NULL;
    for (int i = 0; i < PODS; i++) {
        struct pod *pod = &w->pod[i];
        if (is_there(pod, machine, w->now) && pod->from[machine] == NEVER &&
            (first == NULL || is_ahead(w, pod, first, rule))) {
            first = pod;
        }
    }
    return first;
}

/* Under bounded, one that has waited for longer than the longest under FIFO goes first. */
static struct pod *next_of(struct world *w, int machine)
{
    struct pod *first = first_of(w, machine, machine);
    struct pod *oldest = first_of(w, machine, FIFO);
    if (machine == ORDER && first != NULL && w->config.order.kind == SL_ORDER_BOUNDED) {
        const struct pod *waits = first_of(w, FIFO, FIFO);
        int longest =
            waits != NULL && w->now - waits->come > w->longest ? w->now - waits->come : w->longest;
        first = (w->now - oldest->come) * 1000 > longest * w->config.c_permille ? oldest : first;
    }
    return first;
}

static void step(struct world *w, int machine)
{
    int free = w->slots;
    for (int i = 0; i < PODS; i++) {
        struct pod *pod = &w->pod[i];
        bool runs = is_there(pod, machine, w->now) && pod->from[machine] != NEVER;
        if (runs && pod->over && pod->from[machine] + pod->run <= w->now) {
            pod->gone[machine] = true;
        }
        free -= runs && !pod->gone[machine];
    }
    for (struct pod *next = next_of(w, machine); next != NULL && free > 0; free--) {
        next->from[machine] = w->now;
        w->longest =
            machine == FIFO && w->now - next->come > w->longest ? w->now - next->come : w->longest;
        next = next_of(w, machine);
    }
}

/* ---- both ---- */

static void on_start(void *context, void *owner, int64_t start_us)
{
    struct pod *pod = owner;
    (void)context;
    assert_int_equal(pod->told, NEVER);
    pod->told = (int)(start_us / SL_SECOND_US);
}

static void play(struct world *w)
{
    sl_share_play(w->share, w->now * SL_SECOND_US, on_start, w);
}

static void come(struct world *w, struct pod *pod)
{
    const struct sl_share_facts facts = {
        .item = {.timeout_us = pod->timeout * SL_SECOND_US,
                 .submit_us = pod->come * SL_SECOND_US,
                 .priority = (int32_t)pod->priority},
        .number = (uint64_t)pod->number,
        .units = pod->units,
        .fifo_us = INT64_MAX,
        .user_us = INT64_MAX,
        .start_us = INT64_MAX,
        .run_us = -1,
        .owner = pod,
    };
    pod->pod = sl_share_arrive(w->share, &facts, SL_STR("u"), w->now * SL_SECOND_US);
    assert_non_null(pod->pod);
}

static void resize(struct world *w)
{
    w->slots = 1 + pick(w, 4);
    sl_share_resize(w->share, (int64_t)SL_SHARE_ONE * w->slots * w->width + pick(w, SL_SHARE_ONE));
}

static void begin(struct world *w, uint64_t seed, enum sl_order_kind kind)
{
    *w = (struct world){.random = seed, .resizes = true};
    w->width = 1 + pick(w, 3);
    w->config = (struct sl_share_config){
        .order = {.kind = kind,
                  .weights = {.alpha = SL_ORDER_ONE, .beta = SL_ORDER_ONE, .gamma = SL_ORDER_ONE}},
        .c_permille = 1000 + 150 * pick(w, 2)};
    w->share = sl_share_new(&w->config);
    assert_non_null(w->share);
    resize(w);
    int spread = 1 + pick(w, 500);
    for (int i = 0; i < PODS; i++) {
        struct pod *pod = &w->pod[i];
        *pod = (struct pod){.number = i,
                            .priority = pick(w, 4) == 0 ? pick(w, 4) : 0,
                            .come = pick(w, spread),
                            .timeout = 1 + pick(w, 40),
                            .units = w->width,
                            .told = NEVER,
                            .foretold = NEVER,
                            .from = {NEVER, NEVER}};
        pod->start = pod->come + pick(w, 3) * pick(w, 60);
        pod->run = 1 + pick(w, pod->timeout);
    }
}

/* Pods come and end in reality. */
static void happen(struct world *w)
{
    for (int i = 0; i < PODS; i++) {
        struct pod *pod = &w->pod[i];
        if (pod->come == w->now) {
            come(w, pod);
        }
        if (pod->start + pod->run == w->now) {
            sl_share_over(w->share, pod->pod, pod->run * SL_SECOND_US, w->now * SL_SECOND_US);
            pod->over = true;
        }
    }
    if (w->resizes && pick(w, 50) == 0) {
        resize(w);
    }
}

static void model_and_share_agree(uint64_t seed, enum sl_order_kind kind)
{
    struct world w;
    bool all = false;
    begin(&w, seed, kind);
    for (; !all; w.now++) {
        assert_true(w.now < PODS * 200);
        play(&w);
        step(&w, FIFO);
        step(&w, ORDER);
        happen(&w);
        play(&w);
        step(&w, FIFO);
        step(&w, ORDER);
        all = true;
        for (int i = 0; i < PODS; i++) {
            const struct pod *pod = &w.pod[i];
            if (pod->told != pod->from[ORDER] && !(pod->over && pod->told == NEVER)) {
                fail_msg("seed %d: pod %d starts at %d, in the model at %d", (int)seed, i,
                         pod->told, pod->from[ORDER]);
            }
            all = all && pod->over && pod->gone[FIFO] && pod->gone[ORDER];
        }
        assert_int_equal(sl_share_longest(w.share), w.longest * SL_SECOND_US);
    }
    assert_int_equal(sl_share_pods(w.share), 0);
    sl_share_free(w.share);
}

static const struct {
    const char *name;
    enum sl_order_kind kind;
    bool foretold; /* bounded also asks when pods would have ended under FIFO, and is told late */
} orders[] = {{"fifo", SL_ORDER_FIFO, true},
              {"sjf", SL_ORDER_SJF, true},
              {"p", SL_ORDER_P, true},
              {"bounded", SL_ORDER_BOUNDED, false}};

TEST_EACH(pods_of_one_width_start_as_in_a_slow_model, orders)
{
    for (uint64_t seed = 0; seed < WORLDS; seed++) {
        model_and_share_agree(seed, row->kind);
    }
}

static void on_told(void *context, void *owner, int64_t start_us)
{
    (void)context;
    ((struct pod *)owner)->foretold = (int)(start_us / SL_SECOND_US);
}

/* Pods end at their timeouts. */
static void time_out(struct world *w)
{
    for (int i = 0; i < PODS; i++) {
        struct pod *pod = &w->pod[i];
        int times = pod->units > w->slots ? pod->units / w->slots : 1;
        if (pod->pod != NULL && !pod->over && pod->told != NEVER &&
            pod->told + pod->timeout * times <= w->now) {
            sl_share_over(w->share, pod->pod, pod->timeout * SL_SECOND_US, w->now * SL_SECOND_US);
            pod->over = true;
        }
    }
}

static void what_is_foretold_comes(uint64_t seed, enum sl_order_kind kind)
{
    struct world w;
    begin(&w, seed, kind);
    int until = pick(&w, 300);
    w.resizes = false;
    w.slots = 1 << pick(&w, 3);
    sl_share_resize(w.share, w.slots * (int64_t)SL_SHARE_ONE);
    for (int i = 0; i < PODS; i++) {
        w.pod[i].units = 1 << pick(&w, 4); /* so that all takes whole seconds */
    }
    for (; w.now < until; w.now++) {
        play(&w);
        happen(&w);
        play(&w);
    }
    w.now--;
    assert_int_equal(sl_share_foretell(w.share, on_told, NULL), 0);
    for (bool waits = true; waits; w.now++) {
        assert_true(w.now < PODS * 400);
        time_out(&w);
        play(&w);
        waits = false;
        for (int i = 0; i < PODS; i++) {
            const struct pod *pod = &w.pod[i];
            bool waited = pod->told == NEVER || pod->told >= until;
            if (waited && pod->told != NEVER && pod->told != pod->foretold) {
                fail_msg("seed %d: pod %d starts at %d, not at %d as foretold", (int)seed, i,
                         pod->told, pod->foretold);
            }
            waits = waits || (pod->pod != NULL && !pod->over);
        }
    }
    sl_share_free(w.share);
}

TEST_EACH(what_is_foretold_comes_if_all_run_as_long_as_they_may, orders)
{
    for (uint64_t seed = 0; seed < WORLDS && row->foretold; seed++) {
        what_is_foretold_comes(seed, row->kind);
    }
}
