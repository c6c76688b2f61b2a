/* FIFO with EASY backfill on one node, where nothing is left to choose, against a plain account of
 * the rule: the first in order that has no room is given the time at which ends make room for it;
 * others start when they end by then or leave it its units. Numbers are the same in every run. */
#include "core/forecast/backfill.h"
#include "unit/test.h"

enum { PODS = 24, UNITS = 7, ROUNDS = 400, NEVER = -1 };

struct pod {
    int64_t width;
    int64_t run_us;
    int64_t end_us; /* once it runs */
    int64_t start_us;
    int32_t priority;
    bool waits;
    bool runs;
};

struct play {
    struct sl_backfill model;
    int64_t told_us[PODS]; /* starts in the model */
    struct pod pod[PODS];
    int64_t now_us;
    bool stirred;
    uint64_t random;
};

static unsigned draw(struct play *play, unsigned n)
{
    play->random = play->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(play->random >> 33) % n;
}

/* ---- the account ---- */

static int64_t free_at(const struct play *play, int64_t at_us)
{
    int64_t units = UNITS;
    for (size_t i = 0; i < PODS; i++) {
        const struct pod *pod = &play->pod[i];
        units -= pod->runs && pod->end_us > at_us ? pod->width : 0;
    }
    return units;
}

static int64_t next_end(const struct play *play, int64_t after_us)
{
    int64_t at_us = INT64_MAX;
    for (size_t i = 0; i < PODS; i++) {
        const struct pod *pod = &play->pod[i];
        at_us = pod->runs && pod->end_us > after_us && pod->end_us < at_us ? pod->end_us : at_us;
    }
    return at_us;
}

static bool is_ahead(const struct play *play, size_t a, size_t b)
{
    const struct pod *x = &play->pod[a];
    const struct pod *y = &play->pod[b];
    return x->priority != y->priority ? x->priority > y->priority : a < b;
}

/* The one that waits next behind that one; behind PODS: the first. */
static size_t next_waiting(const struct play *play, size_t behind)
{
    size_t next = PODS;
    for (size_t i = 0; i < PODS; i++) {
        if (play->pod[i].waits && (behind == PODS || is_ahead(play, behind, i)) &&
            (next == PODS || is_ahead(play, i, next))) {
            next = i;
        }
    }
    return next;
}

static void start(struct play *play, size_t i)
{
    struct pod *pod = &play->pod[i];
    pod->waits = false;
    pod->runs = true;
    pod->start_us = play->now_us;
    pod->end_us = play->now_us + pod->run_us;
}

static void start_all(struct play *play)
{
    size_t first = next_waiting(play, PODS);
    while (first < PODS && play->pod[first].width <= free_at(play, play->now_us)) {
        start(play, first);
        first = next_waiting(play, PODS);
    }
    if (first == PODS) {
        return;
    }
    int64_t at_us = next_end(play, play->now_us);
    while (free_at(play, at_us) < play->pod[first].width) {
        at_us = next_end(play, at_us);
    }
    for (size_t i = next_waiting(play, first); i < PODS; i = next_waiting(play, i)) {
        const struct pod *pod = &play->pod[i];
        bool ends = play->now_us + pod->run_us <= at_us;
        if (pod->width <= free_at(play, play->now_us) &&
            (ends || pod->width <= free_at(play, at_us) - play->pod[first].width)) {
            start(play, i);
        }
    }
}

static void account_until(struct play *play, int64_t until_us)
{
    while (true) {
        int64_t at_us = play->stirred ? play->now_us : next_end(play, play->now_us);
        if (at_us >= until_us) {
            break;
        }
        play->now_us = at_us;
        play->stirred = false;
        start_all(play);
    }
    play->now_us = until_us < INT64_MAX ? until_us : play->now_us;
}

/* ---- the model ---- */

static bool note_start(void *context, const struct sl_wait *wait, int64_t at_us)
{
    struct play *play = context;
    play->told_us[wait->serial - 1] = at_us;
    return true;
}

static void play_until(struct play *play, int64_t until_us)
{
    const struct sl_backfill_watch watch = {note_start, play};
    sl_backfill_play(&play->model, until_us, &watch);
    account_until(play, until_us);
    for (size_t i = 0; i < PODS; i++) {
        assert_int_equal(play->told_us[i], play->pod[i].start_us);
    }
}

static struct sl_wait wait_of(const struct play *play, size_t i)
{
    const struct pod *pod = &play->pod[i];
    return (struct sl_wait){.pod = {.id = i + 1, .width = pod->width, .priority = pod->priority},
                            .run_us = pod->run_us,
                            .serial = i + 1};
}

static void submit(struct play *play, size_t i)
{
    struct pod *pod = &play->pod[i];
    const struct sl_wait wait = wait_of(play, i);
    pod->waits = true;
    play->stirred = true;
    sl_backfill_push(&play->model, &wait);
}

/* One that waits leaves, or one that runs turns out to take another time. */
static void change(struct play *play, size_t i)
{
    struct pod *pod = &play->pod[i];
    const struct sl_wait wait = wait_of(play, i);
    if (pod->waits && draw(play, 2) == 0) {
        pod->waits = false;
        play->stirred = true;
        sl_backfill_withdraw(&play->model, &wait);
    } else if (pod->waits || (pod->runs && pod->end_us > play->now_us)) {
        pod->run_us = 1 + draw(play, 1000000);
        sl_backfill_set_run(&play->model, &wait, pod->run_us);
        if (pod->runs) {
            int64_t end_us = pod->start_us + pod->run_us;
            pod->end_us = end_us > play->now_us ? end_us : play->now_us;
            play->stirred = play->stirred || end_us <= play->now_us;
        }
    }
}

/* Some run when the play begins, told in no order. */
static void set_up(struct play *play, uint64_t seed)
{
    *play = (struct play){.random = seed};
    /* no more run at a time than there are units */
    assert_int_equal(sl_backfill_reserve(&play->model, 1, UNITS, PODS), 0);
    play->model.bins.bin[0] = (struct sl_bin){.key = 1, .units = UNITS};
    play->model.bins.n = 1;
    sl_bins_name(&play->model.bins);
    sl_backfill_clear(&play->model, 0);
    for (size_t i = 0; i < PODS; i++) {
        struct pod *pod = &play->pod[i];
        *pod = (struct pod){.width = 1 + draw(play, i < 3 ? 2 : UNITS),
                            .run_us = 1 + draw(play, 1000000),
                            .start_us = NEVER,
                            .priority = (int32_t)draw(play, 2)};
        play->told_us[i] = NEVER;
        if (i < 3) {
            pod->runs = true;
            pod->end_us = pod->run_us;
            pod->start_us = 0;
            play->told_us[i] = 0;
            const struct sl_run run = {.end_us = pod->end_us, .width = pod->width, .serial = i + 1};
            sl_backfill_put(&play->model, &run, 1);
        }
    }
    sl_backfill_sort(&play->model);
}

TEST_THAT(starts_are_those_of_the_rule)
{
    static struct play play;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        set_up(&play, seed);
        for (size_t i = 3; i < PODS; i++) {
            play_until(&play, play.now_us + draw(&play, 400000));
            submit(&play, i);
            if (draw(&play, 3) == 0) {
                change(&play, draw(&play, PODS));
            }
        }
        play_until(&play, INT64_MAX);
        sl_backfill_free(&play.model);
    }
}
