/* Plays which pods run on the nodes, and which start there as time passes. */
#include "core/forecast/backfill.h"

#include <stdlib.h>
#include <string.h>

#include "util/data/search.h"
#include "util/data/vec.h"

enum { MISSES_MAX = 32 }; /* pods that turn out not to fit, at most in one search */

void sl_backfill_free(struct sl_backfill *model)
{
    sl_bins_free(&model->bins);
    sl_waits_free(&model->waits);
    free(model->run);
}

int sl_backfill_reserve(struct sl_backfill *model, size_t bins, size_t runs, size_t waits)
{
    if (sl_bins_reserve(&model->bins, bins) != 0 ||
        sl_vec_reserve(&model->run, &model->runs_cap, runs, sizeof(*model->run)) != 0) {
        return -1;
    }
    return sl_waits_reserve(&model->waits, waits);
}

static void start_afresh(struct sl_backfill *model, int64_t now_us)
{
    model->now_us = now_us;
    model->stirred = true;
    model->reserved = false;
}

void sl_backfill_clear(struct sl_backfill *model, int64_t now_us)
{
    model->first_run = 0;
    model->n_runs = 0;
    sl_waits_clear(&model->waits);
    sl_bins_clear(&model->bins);
    start_afresh(model, now_us);
}

void sl_backfill_copy(struct sl_backfill *to, const struct sl_backfill *from)
{
    sl_bins_copy(&to->bins, &from->bins);
    sl_waits_copy(&to->waits, &from->waits);
    to->first_run = 0;
    to->n_runs = from->n_runs - from->first_run;
    if (to->n_runs > 0) {
        memcpy(to->run, &from->run[from->first_run], to->n_runs * sizeof(*from->run));
    }
    to->mark = from->mark;
    start_afresh(to, from->now_us);
}

/* ---- pods that run ---- */

static bool ends_before(const void *item, const void *key)
{
    const struct sl_run *run = item;
    const struct sl_run *added = key;
    return run->end_us < added->end_us;
}

/* Inserts a run, and moves the runs on the side with fewer, if that has room. */
static void add_run(struct sl_backfill *model, const struct sl_run *run)
{
    const size_t n = model->n_runs - model->first_run;
    struct sl_run *first = &model->run[model->first_run];
    const size_t at = sl_lower_bound(first, n, sizeof(*run), run, ends_before);
    if (model->first_run > 0 && (at < n - at || model->n_runs == model->runs_cap)) {
        memmove(first - 1, first, at * sizeof(*run));
        model->first_run--;
    } else {
        memmove(&first[at + 1], &first[at], (n - at) * sizeof(*run));
        model->n_runs++;
    }
    model->run[model->first_run + at] = *run;
}

static void remove_run(struct sl_backfill *model, size_t at)
{
    model->n_runs--;
    memmove(&model->run[at], &model->run[at + 1], (model->n_runs - at) * sizeof(*model->run));
}

static void use_units(struct sl_backfill *model, uint32_t bin, int64_t units)
{
    sl_bins_set_free(&model->bins, bin, model->bins.bin[bin].free - units);
}

static int compare_ends(const void *a, const void *b)
{
    const struct sl_run *x = a;
    const struct sl_run *y = b;
    if (x->end_us != y->end_us) {
        return x->end_us < y->end_us ? -1 : 1;
    }
    return (x->serial < y->serial) - (x->serial > y->serial);
}

void sl_backfill_put(struct sl_backfill *model, const struct sl_run *run, uint64_t key)
{
    const uint32_t bin = sl_bins_of_node(&model->bins, key, run->width);
    if (bin != SL_BIN_NONE) {
        use_units(model, bin, run->width);
        model->run[model->n_runs] = *run;
        model->run[model->n_runs++].bin = bin;
    }
}

void sl_backfill_sort(struct sl_backfill *model)
{
    if (model->n_runs > 1) {
        qsort(model->run, model->n_runs, sizeof(*model->run), compare_ends);
    }
}

bool sl_backfill_start(struct sl_backfill *model, const struct sl_run *run, uint64_t key)
{
    struct sl_run placed = *run;
    placed.bin = sl_bins_of_node(&model->bins, key, run->width);
    if (placed.bin == SL_BIN_NONE) {
        return false;
    }
    use_units(model, placed.bin, placed.width);
    add_run(model, &placed);
    model->reserved = false;
    return true;
}

static int64_t next_end(const struct sl_backfill *model)
{
    return model->first_run < model->n_runs ? model->run[model->first_run].end_us : INT64_MAX;
}

static void end_runs(struct sl_backfill *model)
{
    while (next_end(model) <= model->now_us) {
        const struct sl_run *run = &model->run[model->first_run++];
        use_units(model, run->bin, -run->width);
        model->stirred = true;
    }
}

/* Sets when a running pod ends; does nothing when the pod does not run. */
static void set_end(struct sl_backfill *model, uint64_t serial, int64_t run_us)
{
    for (size_t i = model->first_run; i < model->n_runs; i++) {
        struct sl_run run = model->run[i];
        if (run.serial == serial) {
            const int64_t end_us = run_us < 0 ? model->now_us : run.start_us + run_us;
            if (end_us != run.end_us) {
                remove_run(model, i);
                run.end_us = end_us > model->now_us ? end_us : model->now_us;
                add_run(model, &run);
                model->reserved = false;
            }
            return;
        }
    }
}

/* ---- pods that wait ---- */

void sl_backfill_push(struct sl_backfill *model, const struct sl_wait *wait)
{
    if (wait->pod.width <= model->bins.largest) {
        model->stirred = true;
        model->reserved = !sl_waits_push(&model->waits, wait) && model->reserved;
    }
}

static void remove_wait(struct sl_backfill *model, size_t slot)
{
    model->reserved = model->reserved && slot != model->waits.first;
    sl_waits_remove(&model->waits, slot);
}

void sl_backfill_set_run(struct sl_backfill *model, const struct sl_wait *wait, int64_t run_us)
{
    const size_t slot = sl_waits_find(&model->waits, wait);
    if (slot < model->waits.size) {
        sl_waits_set_run(&model->waits, slot, run_us);
    } else {
        set_end(model, wait->serial, run_us);
    }
}

void sl_backfill_withdraw(struct sl_backfill *model, const struct sl_wait *wait)
{
    const size_t slot = sl_waits_find(&model->waits, wait);
    if (slot < model->waits.size) {
        remove_wait(model, slot);
        model->stirred = true;
    } else {
        set_end(model, wait->serial, -1);
    }
}

/* ---- time ---- */

static void start_wait(struct sl_backfill *model, size_t slot, uint32_t bin,
                       const struct sl_backfill_watch *watch)
{
    const struct sl_wait *wait = &model->waits.wait[slot];
    const struct sl_run run = {.start_us = model->now_us,
                               .end_us = model->now_us + wait->run_us,
                               .width = wait->pod.width,
                               .serial = wait->serial,
                               .bin = bin};
    model->stopped = !watch->started(watch->context, wait, model->now_us) || model->stopped;
    use_units(model, bin, run.width);
    add_run(model, &run);
    remove_wait(model, slot);
}

/* Reserves the bin, except `but`, that has room for that many units first, by until_us at the
 * latest; among equals the first in order. False: there is none. */
static bool reserve_bin(struct sl_backfill *model, int64_t width, uint32_t but, int64_t until_us)
{
    uint32_t found = SL_BIN_NONE;
    model->mark++;
    for (size_t i = model->first_run; i < model->n_runs && model->run[i].end_us <= until_us; i++) {
        const struct sl_run *run = &model->run[i];
        struct sl_bin *bin = &model->bins.bin[run->bin];
        bin->gain = bin->mark == model->mark ? bin->gain + run->width : run->width;
        bin->mark = model->mark;
        if (run->bin != but && bin->free + bin->gain >= width) {
            until_us = run->end_us; /* others may end at the same time */
            found = run->bin < found ? run->bin : found;
        }
    }
    if (found != SL_BIN_NONE) {
        const struct sl_bin *bin = &model->bins.bin[found];
        model->reserved_bin = found;
        model->reserved_us = until_us;
        model->reserved_spare = bin->free + bin->gain - width;
    }
    return found != SL_BIN_NONE;
}

/* Returns the bin for a pod behind the first, which it may not delay; SL_BIN_NONE: none. */
static uint32_t bin_behind(struct sl_backfill *model, const struct sl_wait *wait, bool ends,
                           bool *fixed)
{
    const int64_t width = wait->pod.width;
    const int64_t first = model->waits.wait[model->waits.first].pod.width;
    uint32_t bin = sl_bins_choose(&model->bins, width, SL_BIN_NONE);
    if (bin == SL_BIN_NONE || bin != model->reserved_bin || ends ||
        width <= model->reserved_spare) {
        return bin;
    }
    const uint32_t other = sl_bins_choose(&model->bins, width, bin);
    if (other != SL_BIN_NONE || *fixed) {
        return other;
    }
    /* Another bin may have room for the first just as early. */
    *fixed = !reserve_bin(model, first, bin, model->reserved_us);
    return *fixed ? SL_BIN_NONE : bin;
}

/* Returns the room for pods behind the first: once the reserved bin is fixed, there only for those
 * that do not delay it. */
static struct sl_waits_room room_behind(const struct sl_backfill *model, bool fixed)
{
    const uint32_t but = model->reserved_bin;
    const int64_t free = sl_bins_most_free(&model->bins, SL_BIN_NONE);
    if (!fixed || but == SL_BIN_NONE) {
        return (struct sl_waits_room){free, free, INT64_MAX};
    }
    const int64_t own = model->bins.bin[but].free;
    const int64_t spare = own < model->reserved_spare ? own : model->reserved_spare;
    const int64_t other = sl_bins_most_free(&model->bins, but);
    return (struct sl_waits_room){other > spare ? other : spare, free,
                                  model->reserved_us - model->now_us};
}

/* Starts pods behind the first, in order, where the planner would place them. */
static void backfill(struct sl_backfill *model, const struct sl_backfill_watch *watch)
{
    size_t slot = model->waits.first;
    bool fixed = model->reserved_bin == SL_BIN_NONE;
    for (unsigned misses = 0; misses < MISSES_MAX;) {
        const struct sl_waits_room room = room_behind(model, fixed);
        slot = sl_waits_next(&model->waits, slot + 1, &room);
        if (slot >= model->waits.size) {
            return;
        }
        const struct sl_wait *wait = &model->waits.wait[slot];
        const bool ends = model->now_us + wait->run_us <= model->reserved_us;
        const uint32_t bin = bin_behind(model, wait, ends, &fixed);
        if (bin == SL_BIN_NONE) {
            misses++;
        } else {
            model->reserved_spare -= bin == model->reserved_bin && !ends ? wait->pod.width : 0;
            start_wait(model, slot, bin, watch);
        }
    }
}

static void start_all(struct sl_backfill *model, const struct sl_backfill_watch *watch)
{
    struct sl_waits *waits = &model->waits;
    model->stirred = false;
    while (!sl_waits_is_empty(waits) && !model->stopped) {
        const int64_t width = waits->wait[waits->first].pod.width;
        const uint32_t bin = sl_bins_choose(&model->bins, width, SL_BIN_NONE);
        if (bin == SL_BIN_NONE) {
            break;
        }
        start_wait(model, waits->first, bin, watch);
    }
    if (sl_waits_is_empty(waits) || model->stopped) {
        return;
    }
    if (!model->reserved) {
        model->reserved = true;
        model->reserved_bin = SL_BIN_NONE;
        (void)reserve_bin(model, waits->wait[waits->first].pod.width, SL_BIN_NONE, INT64_MAX);
    }
    backfill(model, watch);
}

void sl_backfill_play(struct sl_backfill *model, int64_t until_us,
                      const struct sl_backfill_watch *watch)
{
    model->stopped = false;
    while (!model->stopped) {
        if (until_us == INT64_MAX && sl_waits_is_empty(&model->waits)) {
            break; /* what runs on changes nothing */
        }
        int64_t at_us = next_end(model);
        if (model->stirred || at_us < model->now_us) {
            at_us = model->now_us;
        }
        if (at_us >= until_us) {
            break;
        }
        model->now_us = at_us;
        end_runs(model);
        start_all(model, watch);
    }
    if (until_us != INT64_MAX && until_us > model->now_us) {
        model->now_us = until_us;
    }
}
