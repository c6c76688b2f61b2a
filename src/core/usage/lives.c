/* A pod's use shows when the pod goes: the sum falls by the memory that it used in the end. It used
 * more before only if some pod gave memory back meanwhile. All memory used while it was alone was
 * its own, and it never used more than all pods together. */
#include "core/usage/lives.h"

#include <string.h>

#include "core/place/choose.h"

static const int64_t young_us = SL_USAGE_YOUNG_S * INT64_C(1000000);

struct sl_usage_life *sl_lives_of(struct sl_usage_unit *unit, uint64_t pod)
{
    for (unsigned i = 0; i < unit->n; i++) {
        if (unit->life[i].pod == pod) {
            return &unit->life[i];
        }
    }
    return NULL;
}

/* Puts it before the others. */
static void workload_note(struct sl_usage_unit *unit, uint32_t workload)
{
    unsigned i = 0;
    while (i < SL_MEASURED_KNOWN - 1 && unit->workload[i] != workload && unit->workload[i] != 0) {
        i++;
    }
    for (; workload != 0 && i > 0; i--) {
        unit->workload[i] = unit->workload[i - 1];
    }
    unit->workload[0] = workload != 0 ? workload : unit->workload[0];
}

static void life_drop(struct sl_usage_unit *unit, unsigned i)
{
    unit->n--;
    memmove(&unit->life[i], &unit->life[i + 1], (unit->n - i) * sizeof(unit->life[0]));
}

/* Gives back the place of one that had gone before, of which no sample has told. */
static bool lives_drop_gone(struct sl_usage_unit *unit)
{
    unsigned i = 0;
    while (i < unit->n && !unit->life[i].gone) {
        i++;
    }
    if (i == unit->n) {
        return false;
    }
    life_drop(unit, i);
    return true;
}

static struct sl_usage_life *life_of(struct sl_usage_unit *unit, const struct sl_lives_pod *pod,
                                     bool unsure)
{
    struct sl_usage_life *known = sl_lives_of(unit, pod->pod);
    if (known != NULL) {
        return known;
    }
    if (unit->n == SL_USAGE_LIVES_MAX) {
        unit->crowded = true;
        if (!lives_drop_gone(unit)) {
            return NULL;
        }
    }
    workload_note(unit, pod->workload);
    unit->life[unit->n] = (struct sl_usage_life){.pod = pod->pod,
                                                 .workload = pod->workload,
                                                 .ask_mib = sl_lives_mib(pod->ask_mib),
                                                 .before_mib = unit->held_mib,
                                                 .ups_mib = unsure ? INT32_MAX : 0,
                                                 .since_us = INT64_MAX};
    return &unit->life[unit->n++];
}

static int32_t own_of(const struct sl_usage_life *life)
{
    int32_t own = life->told_mib > 0 ? life->told_mib : life->ups_mib;
    return own < life->most_mib ? own : life->most_mib;
}

static void life_end(struct sl_usage_unit *unit, struct sl_usage_life *life)
{
    int64_t may_mib = life->ask_mib > 0 ? life->ask_mib + SL_USAGE_CONTEXT_MIB : unit->held_mib;
    may_mib = !life->shown ? 0 : may_mib < own_of(life) ? may_mib : own_of(life);
    life->gone = true;
    unit->gone_mib = sl_lives_mib(unit->gone_mib + may_mib);
}

void sl_lives_meet(struct sl_usage_unit *unit, const struct sl_lives_pod *pod, int64_t since_us,
                   bool unsure)
{
    struct sl_usage_life *life = life_of(unit, pod, unsure);
    if (life != NULL) {
        life->met = true;
        life->gone = false; /* it is back: a nomination may end and be made anew */
        life->since_us = life->since_us == INT64_MAX && pod->runs ? since_us : life->since_us;
    }
}

void sl_lives_part(struct sl_usage_unit *unit)
{
    for (unsigned i = 0; i < unit->n; i++) {
        if (!unit->life[i].gone && !unit->life[i].met) {
            life_end(unit, &unit->life[i]);
        }
        unit->life[i].met = false;
    }
}

void sl_lives_look(struct sl_usage_unit *unit, const struct sl_series *series, size_t least)
{
    for (unsigned i = 0; i < unit->n; i++) {
        struct sl_usage_life *life = &unit->life[i];
        size_t shown = sl_series_extent(series, life->since_us, least).n;
        size_t flat = sl_series_extent(series, life->grew_us + 1, least / 2).n;
        life->shown = life->shown || shown > 0;
        life->seen = life->seen || shown == least;
        bool still = life->seen && flat == least / 2;
        bool idles = own_of(life) <= SL_USAGE_CONTEXT_MIB; /* it may load more: who knows when? */
        life->settled = life->settled || (still && !idles);
        life->waits = still && idles;
    }
}

/* ---- what is held ---- */

void sl_lives_hold(struct sl_usage_unit *unit, const struct sl_series *series, size_t least)
{
    struct sl_extent few = sl_series_extent(series, 0, SL_USAGE_OVER_SAMPLES);
    struct sl_extent many = sl_series_extent(series, 0, least);
    bool first = unit->measured_us == 0;
    if (few.n < SL_USAGE_OVER_SAMPLES && !first) {
        return;
    }
    int64_t held = first ? many.highest_mib : sl_most(unit->held_mib, few.lowest_mib);
    struct sl_extent now = sl_series_extent(series, unit->since_us, SL_USAGE_OVER_SAMPLES);
    int64_t fell = now.n < SL_USAGE_OVER_SAMPLES ? 0 : sl_most(held - few.highest_mib, 0);
    int32_t explained = sl_lives_mib(fell < unit->gone_mib ? fell : unit->gone_mib);
    held -= explained;
    unit->gone_mib -= explained;
    if (sl_series_extent(series, unit->since_us, least).n == least) {
        unit->gone_mib = 0; /* they have left nothing more */
    }
    unit->held_mib =
        sl_lives_mib(many.n == least && many.highest_mib < held ? many.highest_mib : held);
    for (unsigned i = 0; i < unit->n; i++) {
        struct sl_usage_life *life = &unit->life[i];
        int32_t before = sl_lives_mib(life->before_mib - explained);
        bool there = life->shown || (life->ups_mib == INT32_MAX && life->since_us < INT64_MAX);
        life->before_mib = there && before < unit->held_mib ? before : unit->held_mib;
    }
}

int64_t sl_lives_taken(const struct sl_usage_unit *unit, int64_t used_mib, bool expected)
{
    int64_t taken = used_mib;
    int64_t come = 0;
    int64_t unshown = 0;
    for (unsigned i = unit->n; i-- > 0;) {
        const struct sl_usage_life *life = &unit->life[i];
        if (!life->gone && !(expected ? life->settled : life->seen)) {
            come += expected ? life->count_mib : life->ask_mib;
            unshown += expected && !life->shown ? life->count_mib : 0;
            taken = sl_most(taken, life->before_mib + come);
        }
    }
    return sl_most(taken, used_mib + unshown);
}

static bool lives_any_young(const struct sl_usage_unit *unit, int64_t at_us)
{
    for (unsigned i = 0; i < unit->n; i++) {
        if (unit->life[i].since_us > at_us - young_us) {
            return true;
        }
    }
    return false;
}

static int32_t permille_of(int64_t mib, int64_t ask_mib)
{
    int64_t permille = (mib * 1000 + ask_mib - 1) / ask_mib;
    return permille < 1000 ? (int32_t)permille : 1000;
}

/* By how much the sum fell as a pod went: between these, by what was measured since. */
struct fall {
    int64_t least_mib;
    int64_t most_mib;
    bool alone;     /* no other went with it */
    bool newcomers; /* some may have grown meanwhile */
};

static void life_teach(uint32_t node, const struct sl_usage_life *life, const struct fall *fall,
                       struct sl_past *peaks)
{
    int64_t low = sl_most(life->surely_mib, fall->alone ? fall->least_mib : 0);
    int64_t high = fall->most_mib + life->back_mib;
    high = fall->newcomers ? sl_most(high, life->ups_mib) : high;
    high = high < life->most_mib ? high : life->most_mib;
    if (life->told_mib > 0) {
        low = sl_most(low, own_of(life)); /* nobody's word counts for more than what is sure */
        high = low;
    }
    bool lived = life->since_us < INT64_MAX &&
                 life->windows >= SL_USAGE_LIFE_WINDOWS; /* not only nominated */
    if (lived && life->workload != 0 && life->ask_mib > 0) {
        sl_peaks_learn(peaks, node, life->workload, permille_of(low, life->ask_mib),
                       permille_of(sl_most(low, high), life->ask_mib));
    }
}

int32_t sl_lives_own(const struct sl_usage_life *life)
{
    return life->settled ? own_of(life) : -1;
}

void sl_lives_unsettle(struct sl_usage_unit *unit, int64_t last_us)
{
    for (unsigned i = 0; i < unit->n; i++) {
        unit->life[i].settled = false;
        unit->life[i].glimpse_mib = 0;
        unit->life[i].grew_us = last_us;
    }
}

static void life_glimpse(uint32_t node, struct sl_usage_life *life, struct sl_past *peaks)
{
    int32_t own = sl_lives_own(life);
    bool known = life->ups_mib < INT32_MAX || life->told_mib > 0 || life->surely_mib == own;
    if (known && own > life->glimpse_mib && life->workload != 0 && life->ask_mib > 0) {
        life->glimpse_mib = own;
        sl_peaks_glimpse(peaks, node, life->workload, permille_of(own, life->ask_mib));
    }
}

static void lives_bury(struct sl_usage_unit *unit, const struct fall *fall, struct sl_past *peaks)
{
    for (unsigned i = 0; i < unit->n;) {
        if (!unit->life[i].gone) {
            i++;
            continue;
        }
        life_teach(unit->node, &unit->life[i], fall, peaks);
        life_drop(unit, i);
    }
}

static bool lives_any_newcomers(const struct sl_usage_unit *unit)
{
    bool any = false;
    for (unsigned i = 0; i < unit->n; i++) {
        const struct sl_usage_life *life = &unit->life[i];
        any = any || (!life->gone && life->shown && !life->settled && !life->waits);
    }
    return any;
}

/* Newcomers grow; without any it may be anybody. */
static void lives_grow(struct sl_usage_unit *unit, int64_t at_us, int64_t grown_mib)
{
    bool newcomers = lives_any_newcomers(unit);
    for (unsigned i = 0; i < unit->n && grown_mib > 0; i++) {
        struct sl_usage_life *life = &unit->life[i];
        if (!life->settled || !newcomers) {
            life->ups_mib = sl_lives_mib(life->ups_mib + grown_mib);
            life->grew_us = at_us;
        }
    }
}

/* The sum changes while no pod goes. Growth while some pod is young is new memory; otherwise it may
 * be memory that was given back before. */
static void sum_move(struct sl_usage_unit *unit, int64_t at_us, int32_t used_mib)
{
    int64_t grown = (int64_t)used_mib - unit->used_mib;
    if (grown > -SL_USAGE_STEP_MIB && grown < SL_USAGE_STEP_MIB) {
        return;
    }
    bool again = grown < 0 || !lives_any_young(unit, at_us);
    lives_grow(unit, at_us, grown);
    for (unsigned i = 0; i < unit->n && again; i++) {
        unit->life[i].back_mib = sl_lives_mib(unit->life[i].back_mib - grown);
    }
    unit->used_mib = used_mib;
}

static void lives_note(struct sl_usage_unit *unit, int32_t used_mib)
{
    bool alone = unit->n == 1 && !unit->crowded;
    for (unsigned i = 0; i < unit->n; i++) {
        struct sl_usage_life *life = &unit->life[i];
        life->most_mib = (int32_t)sl_most(life->most_mib, used_mib);
        life->surely_mib = (int32_t)sl_most(life->surely_mib, alone ? used_mib : 0);
    }
}

void sl_lives_measure(struct sl_usage_unit *unit, const struct sl_extent *since, int32_t last_mib,
                      struct sl_past *peaks)
{
    const int64_t at_us = since->last_us;
    int64_t gone_mib = 0;
    unsigned gone = 0;
    for (unsigned i = 0; i < unit->n; i++) {
        gone += unit->life[i].gone;
        gone_mib += unit->life[i].gone ? unit->life[i].ups_mib : 0;
    }
    if (gone > 0) {
        const struct fall fall = {sl_most((int64_t)unit->used_mib - since->highest_mib, 0),
                                  sl_most((int64_t)unit->used_mib - since->lowest_mib, 0),
                                  gone == 1 && !unit->crowded, lives_any_newcomers(unit)};
        /* the fall hides by how much those that are left have grown meanwhile */
        lives_grow(unit, at_us, since->highest_mib - (unit->used_mib - gone_mib));
        lives_bury(unit, &fall, peaks);
    }
    if (gone > 0 || unit->measured_us == 0) {
        unit->used_mib = last_mib;
    }
    sum_move(unit, at_us, since->highest_mib);
    lives_note(unit, since->highest_mib);
    sum_move(unit, at_us, last_mib);
    lives_note(unit, last_mib);
    unit->measured_us = at_us;
    for (unsigned i = 0; i < unit->n; i++) {
        life_glimpse(unit->node, &unit->life[i], peaks);
        if (unit->life[i].windows < SL_USAGE_LIFE_WINDOWS) {
            unit->life[i].windows++;
        }
    }
}
