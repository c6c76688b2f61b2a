/* The calendar of a mixed lane, and who may start beside the reserved starts in it. */
#include "core/promise/reserved.h"

#include <stdlib.h>
#include <string.h>

#include "core/promise/allowance.h"
#include "core/promise/lane.h"

enum {
    STEPS_FREE = 256, /* so many steps need no credit */
    BINS_A_STEP = 16, /* looked through for one pod */
    SPARED_MAX = 512, /* bins with units that idle */
};

static struct sl_bins *bins_of(struct sl_promise *promise)
{
    return &promise->mixed.fifo.bins; /* their keys and units count */
}

static bool is_reserved(const struct sl_promise *promise, const struct sl_promise_member *member)
{
    return member->layout == promise->mixed.layout;
}

static void use_from(struct sl_promise *promise, const struct sl_promise_member *member,
                     uint32_t bin, int64_t at_us, int64_t units)
{
    sl_calendar_use(&promise->mixed.calendar, bin, at_us,
                    at_us + sl_promise_estimate(promise, member), units);
}

static void reserve(struct sl_promise *promise, struct sl_promise_member *member, uint32_t bin,
                    int64_t at_us)
{
    member->bin = bin;
    member->reserved_us = at_us;
    member->layout = promise->mixed.layout;
    use_from(promise, member, bin, at_us, member->pod.width);
}

static void give_back(struct sl_promise *promise, struct sl_promise_member *member)
{
    use_from(promise, member, member->bin, member->reserved_us, -member->pod.width);
    member->layout = 0;
}

static bool is_admitted(const struct sl_promise *promise, const struct sl_promise_member *member,
                        uint32_t bin)
{
    return (member->sites >> promise->mixed.fifo.bins.bin[bin].site & 1) != 0;
}

/* Reserves the earliest start, by limit_us at the latest: among equals the tightest bin. */
static bool reserve_earliest(struct sl_promise *promise, struct sl_promise_member *member,
                             int64_t limit_us)
{
    const struct sl_bins *bins = bins_of(promise);
    const int64_t run_us = sl_promise_estimate(promise, member);
    int64_t at_us = INT64_MAX;
    int64_t tightest = INT64_MAX;
    uint32_t best = SL_BIN_NONE;
    const size_t n = member->pod.width <= bins->largest ? bins->n : 0;
    promise->mixed.steps += n;
    for (uint32_t bin = 0; bin < n; bin++) {
        int64_t least = 0;
        if (!is_admitted(promise, member, bin)) {
            continue;
        }
        const int64_t found_us =
            sl_calendar_earliest(&promise->mixed.calendar, bin, member->pod.width, run_us,
                                 at_us < limit_us ? at_us : limit_us, &least);
        if (found_us < at_us || (found_us == at_us && least < tightest && best != SL_BIN_NONE)) {
            at_us = found_us;
            tightest = least;
            best = bin;
        }
    }
    if (best != SL_BIN_NONE) {
        reserve(promise, member, best, at_us);
    }
    return best != SL_BIN_NONE;
}

/* Keeps the start that the last layout reserved. */
static bool reserve_as_before(struct sl_promise *promise, struct sl_promise_member *member)
{
    const struct sl_mixed *mixed = &promise->mixed;
    const int64_t at_us =
        member->reserved_us > promise->now_us ? member->reserved_us : promise->now_us;
    const bool known = member->layout != 0 && member->layout + 1 == mixed->layout;
    const bool fits =
        known && is_admitted(promise, member, member->bin) &&
        sl_calendar_least(&mixed->calendar, member->bin, at_us,
                          at_us + sl_promise_estimate(promise, member)) >= member->pod.width;
    if (fits) {
        reserve(promise, member, member->bin, at_us);
    }
    return fits;
}

static int64_t free_now(const struct sl_promise *promise, uint32_t bin)
{
    return promise->mixed.calendar.step[bin].free;
}

/* Returns the bin of its node that suits a pod best that runs; of any node if it is unknown. */
static uint32_t bin_for(struct sl_promise *promise, const struct sl_promise_member *member)
{
    const struct sl_bins *bins = bins_of(promise);
    if (member->bin < bins->n && bins->bin[member->bin].key == member->node) {
        return member->bin;
    }
    const size_t first = sl_bins_find(bins, member->node);
    const bool known = first < bins->n && bins->named[first].key == member->node;
    uint32_t best = SL_BIN_NONE;
    for (size_t i = known ? first : 0;
         i < bins->n && (!known || bins->named[i].key == member->node); i++) {
        const uint32_t bin = bins->named[i].bin;
        if (best == SL_BIN_NONE ||
            sl_bins_suits(free_now(promise, bin), free_now(promise, best), member->pod.width)) {
            best = bin;
        }
    }
    return best;
}

/* Returns the place in line of the last pod with a reserved start in the bin at that time;
 * n_first: there is none. */
static size_t last_there(const struct sl_promise *promise, uint32_t bin, int64_t at_us)
{
    const struct sl_mixed *mixed = &promise->mixed;
    for (size_t i = mixed->n_first; i > 0; i--) {
        const struct sl_promise_member *member = mixed->first[i - 1];
        if (is_reserved(promise, member) && member->bin == bin && member->reserved_us <= at_us &&
            at_us < member->reserved_us + sl_promise_estimate(promise, member)) {
            return i - 1;
        }
    }
    return mixed->n_first;
}

static void move(struct sl_promise *promise, size_t line)
{
    struct sl_mixed *mixed = &promise->mixed;
    struct sl_promise_member *member = mixed->first[line];
    size_t at = mixed->n_moved++;
    for (; at > 0 && mixed->moved[at - 1].line > line; at--) {
        mixed->moved[at] = mixed->moved[at - 1];
    }
    mixed->moved[at] = (struct sl_mixed_moved){(uint32_t)line, member->bin, member->reserved_us};
    give_back(promise, member);
}

/* Takes reserved starts out of the bin until no more is used than there is. False: what runs uses
 * too much. */
static bool clear_bin(struct sl_promise *promise, uint32_t bin)
{
    for (int64_t at_us = sl_calendar_overuse(&promise->mixed.calendar, bin); at_us < INT64_MAX;
         at_us = sl_calendar_overuse(&promise->mixed.calendar, bin)) {
        const size_t line = last_there(promise, bin, at_us);
        if (line == promise->mixed.n_first) {
            return false;
        }
        move(promise, line);
    }
    return true;
}

static int compare_priorities(const struct sl_promise_member *a, const struct sl_promise_member *b)
{
    return (a->pod.priority > b->pod.priority) - (a->pod.priority < b->pod.priority);
}

/* Pays for so many steps; false when the credit does not suffice. */
static bool may_pay(struct sl_promise *promise, size_t cost)
{
    struct sl_mixed *mixed = &promise->mixed;
    if (cost > STEPS_FREE && cost > mixed->credit) {
        return false;
    }
    mixed->credit -= cost > STEPS_FREE ? cost : 0;
    return true;
}

/* Brings the allowances up to date. Without credit, W and the virtual FIFO's end are older. */
static void refresh_allowances(struct sl_promise *promise)
{
    struct sl_mixed *mixed = &promise->mixed;
    if (mixed->allowed == promise->state) {
        return;
    }
    if (mixed->looked != promise->state &&
        may_pay(promise, promise->n_waiting + promise->n_running)) {
        sl_mixed_look_ahead(promise);
    }
    mixed->allowed = promise->state;
    mixed->lag_us = INT64_MAX;
    for (unsigned r = 0; r < promise->n_ranks; r++) {
        struct sl_allowance allowance;
        sl_promise_allowance(promise, promise->order[r], &allowance);
        mixed->wait_us[promise->order[r]] = allowance.wait_us;
        mixed->lag_us = allowance.lag_us < mixed->lag_us ? allowance.lag_us : mixed->lag_us;
    }
}

/* Returns whether a pod that gave way starts soon enough nevertheless. over: compared with that of
 * the pod which it gave way to, its priority is lower (< 0), equal (0) or higher (> 0). */
static bool is_in_time(struct sl_promise *promise, const struct sl_promise_member *member, int over)
{
    if (over != 0) {
        return over < 0;
    }
    refresh_allowances(promise);
    return member->reserved_us <= member->pod.submit_us + promise->mixed.wait_us[member->rank];
}

/* Returns whether a pod as wide as any finds its node about when it does in the virtual FIFO. */
static bool is_clear_in_time(struct sl_promise *promise)
{
    struct sl_mixed *mixed = &promise->mixed;
    const int64_t clear_us = sl_calendar_clear(&mixed->calendar);
    if (clear_us <= mixed->clear_us) {
        return true;
    }
    refresh_allowances(promise);
    return clear_us <= mixed->last_fifo_us + mixed->lag_us;
}

/* Reserves starts anew for those that gave way to that pod (NULL: to units that idle). False: one
 * of them would be late. */
static bool settle_moved(struct sl_promise *promise, const struct sl_promise_member *tried)
{
    struct sl_mixed *mixed = &promise->mixed;
    bool kept = true;
    for (size_t i = 0; i < mixed->n_moved; i++) {
        const struct sl_mixed_moved *moved = &mixed->moved[i];
        struct sl_promise_member *member = mixed->first[moved->line];
        const int over = tried == NULL ? 0 : compare_priorities(member, tried);
        const bool found = reserve_earliest(promise, member, INT64_MAX);
        const bool early = found && member->reserved_us <= moved->at_us;
        kept = kept && (early || ((found || over < 0) && is_in_time(promise, member, over)));
    }
    return kept && (tried == NULL || is_clear_in_time(promise));
}

static void undo_moves(struct sl_promise *promise)
{
    struct sl_mixed *mixed = &promise->mixed;
    for (size_t i = 0; i < mixed->n_moved; i++) {
        struct sl_promise_member *member = mixed->first[mixed->moved[i].line];
        if (is_reserved(promise, member)) {
            give_back(promise, member);
        }
    }
    for (size_t i = 0; i < mixed->n_moved; i++) {
        const struct sl_mixed_moved *moved = &mixed->moved[i];
        reserve(promise, mixed->first[moved->line], moved->bin, moved->at_us);
    }
    mixed->n_moved = 0;
}

/* ---- the layout of the first in line ---- */

/* Answers change when the next reserved start comes. */
static void note_next(struct sl_promise *promise)
{
    for (size_t i = 0; i < promise->mixed.n_first; i++) {
        const int64_t at_us = promise->mixed.first[i]->reserved_us;
        if (at_us > promise->now_us && at_us <= promise->due_us) {
            promise->due_us = at_us - 1;
        }
    }
}

static void lay_out_running(struct sl_promise *promise)
{
    promise->due_us = INT64_MAX;
    for (size_t i = 0; i < promise->n_running; i++) {
        struct sl_promise_member *member = promise->running[i];
        const int64_t end_us = promise->now_us + sl_promise_rest(promise, member);
        member->bin = bin_for(promise, member);
        if (member->bin != SL_BIN_NONE) {
            sl_calendar_use(&promise->mixed.calendar, member->bin, promise->now_us, end_us,
                            member->pod.width);
        }
    }
}

static void lay_out_first(struct sl_promise *promise)
{
    struct sl_mixed *mixed = &promise->mixed;
    mixed->n_first = 0;
    for (unsigned r = 0; r < promise->n_ranks; r++) {
        const struct sl_promise_rank *rank = &promise->rank[promise->order[r]];
        for (size_t i = rank->first; i < rank->used && mixed->n_first < SL_MIXED_RESERVED; i++) {
            struct sl_promise_member *member = rank->slot[i];
            if (member == NULL) {
                continue;
            }
            member->sites = mixed->sites == NULL
                                ? UINT64_MAX
                                : mixed->sites(mixed->sites_context, member->pod.id);
            if (reserve_as_before(promise, member) ||
                reserve_earliest(promise, member, INT64_MAX)) {
                mixed->first[mixed->n_first++] = member;
            }
        }
    }
}

static int by_start(const void *a, const void *b)
{
    const struct sl_promise_member *const *x = a;
    const struct sl_promise_member *const *y = b;
    const int64_t x_us = (*x)->reserved_us;
    const int64_t y_us = (*y)->reserved_us;
    return x_us != y_us ? (x_us > y_us) - (x_us < y_us) : sl_lane_compare(&(*x)->pod, &(*y)->pod);
}

/* Reserves an earlier start for each pod that may have one now. No other becomes later. */
static void move_up(struct sl_promise *promise)
{
    const struct sl_mixed *mixed = &promise->mixed;
    struct sl_promise_member *order[SL_MIXED_RESERVED];
    for (size_t i = 0; i < mixed->n_first; i++) {
        order[i] = mixed->first[i];
    }
    qsort(order, mixed->n_first, sizeof(struct sl_promise_member *), by_start);
    for (size_t i = 0; i < mixed->n_first; i++) {
        struct sl_promise_member *member = order[i];
        const uint32_t bin = member->bin;
        const int64_t at_us = member->reserved_us;
        if (at_us > promise->now_us) {
            give_back(promise, member);
            if (!reserve_earliest(promise, member, at_us - 1)) {
                reserve(promise, member, bin, at_us);
            }
        }
    }
}

static bool lay_out(struct sl_promise *promise)
{
    struct sl_mixed *mixed = &promise->mixed;
    const struct sl_bins *bins = bins_of(promise);
    /* All that wait may start before the next layout. */
    const size_t spans = promise->n_running + promise->n_waiting + SL_MIXED_RESERVED + SPARED_MAX;
    mixed->unplaced = NULL;
    if (sl_calendar_begin(&mixed->calendar, bins->n, spans) != 0) {
        return false;
    }
    mixed->layout++;
    mixed->state = promise->state;
    mixed->calendar.widest = mixed->widest < bins->largest ? mixed->widest : bins->largest;
    for (uint32_t bin = 0; bin < bins->n; bin++) {
        sl_calendar_set(&mixed->calendar, bin, promise->now_us, bins->bin[bin].units);
    }
    lay_out_running(promise);
    lay_out_first(promise);
    if (mixed->grown) {
        move_up(promise);
        mixed->grown = false;
    }
    mixed->clear_us = sl_calendar_clear(&mixed->calendar);
    note_next(promise);
    return true;
}

/* Brings the layout up to date. False: out of memory. */
static bool refresh(struct sl_promise *promise)
{
    const struct sl_mixed *mixed = &promise->mixed;
    const bool holds =
        mixed->layout > 0 && mixed->state == promise->state && mixed->unplaced == NULL;
    return holds || lay_out(promise);
}

bool sl_reserved_is_due(struct sl_promise *promise, const struct sl_promise_member *member)
{
    return !refresh(promise) ||
           (is_reserved(promise, member) && member->reserved_us <= promise->now_us);
}

/* ---- who may go ---- */

/* Moves every reserved start out of the way, but none of a higher priority. */
static void move_all(struct sl_promise *promise, int32_t priority)
{
    for (size_t i = promise->mixed.n_first; i > 0; i--) {
        const struct sl_promise_member *member = promise->mixed.first[i - 1];
        if (is_reserved(promise, member) && member->pod.priority <= priority) {
            move(promise, i - 1);
        }
    }
}

enum verdict {
    FULL, /* what runs leaves no room */
    LATE, /* another pod would be late */
    KEPT, /* all start in time */
};

/* Uses the bin for a start now; those whose reserved starts give way get others. */
static enum verdict use_bin(struct sl_promise *promise, const struct sl_promise_member *member,
                            uint32_t bin, bool anew)
{
    promise->mixed.n_moved = 0;
    if (anew) {
        move_all(promise, member->pod.priority);
    }
    use_from(promise, member, bin, promise->now_us, member->pod.width);
    if (!clear_bin(promise, bin)) {
        return FULL;
    }
    return settle_moved(promise, member) ? KEPT : LATE;
}

/* Judges a start in that bin now. Changes nothing. */
static enum verdict try_bin(struct sl_promise *promise, struct sl_promise_member *member,
                            uint32_t bin, bool anew)
{
    const bool reserved = is_reserved(promise, member);
    const uint32_t own_bin = member->bin;
    const int64_t own_us = member->reserved_us;
    if (reserved) {
        give_back(promise, member);
    }
    const enum verdict verdict = use_bin(promise, member, bin, anew);
    use_from(promise, member, bin, promise->now_us, -member->pod.width);
    undo_moves(promise);
    if (reserved) {
        reserve(promise, member, own_bin, own_us);
    }
    return verdict;
}

/* Judges a start in that bin now. anew: the others' reserved starts must be laid out anew. */
static enum verdict judge(struct sl_promise *promise, struct sl_promise_member *member,
                          uint32_t bin, bool pays, bool *anew)
{
    *anew = false;
    const enum verdict verdict = try_bin(promise, member, bin, false);
    const size_t cost = promise->mixed.n_first * bins_of(promise)->n / BINS_A_STEP;
    if (verdict != LATE || (pays && !may_pay(promise, cost))) {
        return verdict;
    }
    *anew = true;
    return try_bin(promise, member, bin, true);
}

bool sl_reserved_admits(struct sl_promise *promise, struct sl_promise_member *member, uint64_t node)
{
    const struct sl_bins *bins = bins_of(promise);
    if (!refresh(promise)) {
        return member == sl_promise_first(promise);
    }
    bool anew = false;
    bool full = true;
    for (size_t i = node == 0 ? 0 : sl_bins_find(bins, node);
         i < bins->n && (node == 0 || bins->named[i].key == node); i++) {
        const enum verdict verdict = judge(promise, member, bins->named[i].bin, true, &anew);
        if (verdict == KEPT) {
            return true;
        }
        full = full && verdict == FULL;
    }
    return full && node != 0; /* the caller knows of room that the bins do not show */
}

void sl_reserved_starts(struct sl_promise *promise, struct sl_promise_member *member)
{
    struct sl_mixed *mixed = &promise->mixed;
    mixed->grown = true;
    if (!mixed->active || mixed->layout == 0 || mixed->state != promise->state) {
        return;
    }
    if (is_reserved(promise, member)) {
        size_t line = 0;
        while (mixed->first[line] != member) {
            line++;
        }
        mixed->n_first--;
        memmove(&mixed->first[line], &mixed->first[line + 1],
                (mixed->n_first - line) * sizeof(struct sl_promise_member *));
        give_back(promise, member);
    }
    mixed->unplaced = member;
}

/* Returns the bin of the node in which a pod that just starts delays nobody. That it was admitted
 * has been paid for. */
static uint32_t bin_to_start(struct sl_promise *promise, struct sl_promise_member *member,
                             bool *anew)
{
    const struct sl_bins *bins = bins_of(promise);
    for (size_t i = sl_bins_find(bins, member->node);
         i < bins->n && bins->named[i].key == member->node; i++) {
        if (judge(promise, member, bins->named[i].bin, false, anew) == KEPT) {
            return bins->named[i].bin;
        }
    }
    return bin_for(promise, member);
}

void sl_reserved_placed(struct sl_promise *promise, struct sl_promise_member *member)
{
    struct sl_mixed *mixed = &promise->mixed;
    if (mixed->unplaced != member || mixed->state + 1 != promise->state) {
        return;
    }
    mixed->unplaced = NULL;
    /* W, too, is as before: the virtual FIFO knows of no start. */
    mixed->looked = mixed->looked == mixed->state ? promise->state : mixed->looked;
    mixed->allowed = mixed->allowed == mixed->state ? promise->state : mixed->allowed;
    mixed->state = promise->state;
    bool anew = false;
    member->bin = bin_to_start(promise, member, &anew);
    if (member->bin != SL_BIN_NONE && use_bin(promise, member, member->bin, anew) == FULL) {
        (void)settle_moved(promise, member);
    }
    mixed->clear_us = sl_calendar_clear(&mixed->calendar);
    (void)sl_promise_rest(promise, member);
    note_next(promise);
}

/* ---- units that idle ---- */

struct spared {
    uint32_t bin;
    int64_t units;
    int64_t until_us;
};

/* Returns the bin's units that no pod that runs has. */
static int64_t unused_now(const struct sl_promise *promise, uint32_t bin)
{
    int64_t unused = free_now(promise, bin);
    for (size_t i = 0; i < promise->mixed.n_first; i++) {
        const struct sl_promise_member *member = promise->mixed.first[i];
        const bool now = member->bin == bin && member->reserved_us <= promise->now_us;
        unused += now ? member->pod.width : 0;
    }
    return unused > 0 ? unused : 0;
}

/* Uses the node's free units bin by bin, and notes that. Returns how many notes there are then. */
static size_t use_idle(struct sl_promise *promise, const struct sl_promise_idle *idle,
                       struct spared *out, size_t n)
{
    const struct sl_bins *bins = bins_of(promise);
    int64_t left = idle->units;
    for (size_t i = sl_bins_find(bins, idle->node);
         i < bins->n && bins->named[i].key == idle->node && left > 0 && n < SPARED_MAX; i++) {
        const uint32_t bin = bins->named[i].bin;
        const int64_t free = unused_now(promise, bin);
        const int64_t units = free < left ? free : left;
        out[n++] = (struct spared){bin, units, idle->until_us};
        sl_calendar_use(&promise->mixed.calendar, bin, promise->now_us, idle->until_us, units);
        left -= units;
    }
    return n;
}

bool sl_reserved_spares(struct sl_promise *promise, const struct sl_promise_idle *idle, size_t n)
{
    struct sl_mixed *mixed = &promise->mixed;
    struct spared spared[SPARED_MAX];
    size_t n_spared = 0;
    if (!refresh(promise)) {
        return false;
    }
    mixed->n_moved = 0;
    for (size_t i = 0; i < n; i++) {
        n_spared = use_idle(promise, &idle[i], spared, n_spared);
    }
    for (size_t i = 0; i < n_spared; i++) {
        (void)clear_bin(promise, spared[i].bin);
    }
    const bool kept = n_spared < SPARED_MAX && settle_moved(promise, NULL);
    for (size_t i = 0; i < n_spared; i++) {
        sl_calendar_use(&mixed->calendar, spared[i].bin, promise->now_us, spared[i].until_us,
                        -spared[i].units);
    }
    undo_moves(promise);
    return kept;
}
