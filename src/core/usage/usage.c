/* Room, excess and lives of one GPU. */
#include "sliced/usage.h"

#include <string.h>

#include "core/place/choose.h"
#include "core/usage/lives.h"
#include "sliced/harvest.h"
#include "util/data/hash.h"
#include "util/data/sat.h"

/* The pods on the device, summed up. */
struct crowd {
    int64_t asks_mib;     /* declared memory, or shares of memory in MiB */
    int64_t expected_mib; /* of it, by what their workloads have come to use */
    int64_t outlier_mib;  /* kept for one of them that uses more than is expected of it */
    int64_t young_mib;    /* asks of those that were not seen for long enough */
    int64_t unmet_mib;    /* of them, those of which no life is kept */
    struct sl_measured_peak known[SL_MEASURED_KNOWN];
    unsigned n;
    bool undeclared; /* some pod says nothing of its memory */
    bool starting;   /* some pod does not run yet */
};

static bool is_shared(const struct sl_view *view, unsigned device)
{
    const struct sl_node *node = view->node;
    const struct sl_device *d = &node->device[device];
    bool replicas = false;
    for (unsigned i = 0; i < node->n_pools; i++) {
        const struct sl_pool *pool = &node->pool[i];
        replicas = replicas || (sl_kinds[pool->kind].replica && pool->on_devices && !pool->slices &&
                                !pool->equal_memory);
    }
    return replicas && !d->mig && d->memory_mib > 0;
}

static uint32_t workload_of(const struct sl_pod *pod)
{
    return sl_items_workload(pod->items, pod->n_items);
}

static void note_peaks(const struct sl_usage_unit *unit, const struct sl_past *peaks,
                       int32_t margin_permille, struct crowd *crowd)
{
    unsigned n = 0;
    for (unsigned i = 0; i < SL_MEASURED_KNOWN && unit->workload[i] != 0; i++) {
        struct sl_peak_expected peak =
            sl_peaks_expected(peaks, unit->node, unit->workload[i], margin_permille);
        if (peak.permille < 1000 || peak.lives > 0) {
            crowd->known[n++] = (struct sl_measured_peak){
                unit->workload[i], (uint16_t)peak.permille, (uint16_t)peak.lives};
        }
    }
}

static struct sl_usage_life *life_of(struct sl_usage_unit *unit, const struct sl_pod *pod)
{
    return sl_lives_of(unit, sl_hash(pod->uid, strlen(pod->uid)));
}

/* The kubelet's word on when a pod has started is of another clock than the samples. */
static bool runs(const struct sl_pod *pod)
{
    return pod->phase != SL_POD_PENDING;
}

static struct crowd crowd_of(const struct sl_view *view, unsigned device,
                             const struct sl_series *series, const struct sl_usage_rule *rule,
                             struct sl_usage_unit *unit, const struct sl_past *peaks)
{
    const int32_t margin_permille = rule->margin_permille;
    struct crowd crowd = {0};
    bool all_seen = sl_series_extent(series, unit->since_us, rule->least).n == rule->least;
    for (unsigned i = 0; i < view->n_residents; i++) {
        const struct sl_pod *pod = view->resident[i].pod;
        bool there = false;
        int64_t ask = sl_view_ask_mib(view, &view->resident[i], device, &there);
        if (!there) {
            continue;
        }
        crowd.n++;
        crowd.starting = crowd.starting || !runs(pod);
        struct sl_usage_life *life = life_of(unit, pod);
        bool young = life == NULL ? !all_seen : !life->seen;
        crowd.young_mib += !young ? 0 : ask < 0 ? view->node->device[device].memory_mib : ask;
        if (ask < 0) {
            crowd.undeclared = true;
            continue;
        }
        struct sl_peak_expected peak =
            sl_peaks_expected(peaks, unit->node, workload_of(pod), margin_permille);
        int64_t expected = ask * peak.permille / 1000;
        int64_t own = life == NULL ? -1 : sl_lives_own(life);
        if (peak.lives == 0 && own >= 0) {
            own = own * (1000 + margin_permille) / 1000;
            expected = own < ask ? own : ask;
        }
        crowd.asks_mib += ask;
        crowd.unmet_mib += life == NULL && !all_seen ? ask : 0;
        crowd.expected_mib += expected;
        if (life != NULL) {
            life->count_mib = sl_lives_mib(expected);
        }
        int64_t outlier = (ask - expected) / (peak.lives + 1);
        crowd.outlier_mib = outlier > crowd.outlier_mib ? outlier : crowd.outlier_mib;
    }
    note_peaks(unit, peaks, margin_permille, &crowd);
    return crowd;
}

/* ---- lives ---- */

/* From when on samples show the pods as they are: later than all that came before, also those that
 * a clock which was set back since has taken. */
static int64_t from_now(const struct sl_series *series, int64_t now_us)
{
    int64_t last_us = series->n == 0 ? 0 : sl_series_at(series, series->n - 1U)->at_us;
    return last_us > now_us ? last_us + 1 : now_us;
}

static void meet(const struct sl_view *view, unsigned device, int64_t since_us,
                 struct sl_usage_unit *unit)
{
    bool unsure = unit->pods == 0 || unit->crowded;
    unit->crowded = false;
    for (unsigned i = 0; i < view->n_residents; i++) {
        const struct sl_pod *pod = view->resident[i].pod;
        bool there = false;
        int64_t ask = sl_view_ask_mib(view, &view->resident[i], device, &there);
        if (there) {
            const struct sl_lives_pod known = {.pod = sl_hash(pod->uid, strlen(pod->uid)),
                                               .workload = workload_of(pod),
                                               .ask_mib = ask,
                                               .runs = runs(pod)};
            sl_lives_meet(unit, &known, since_us, unsure);
        }
    }
    sl_lives_part(unit);
}

/* Only samples from after the last change of pods: what has ended may still be in others. */
static void watch(const struct sl_series *series, struct sl_usage_unit *unit, int32_t last_mib,
                  struct sl_past *peaks)
{
    int64_t since_us = unit->since_us > unit->measured_us ? unit->since_us : unit->measured_us + 1;
    struct sl_extent since = sl_series_extent(series, since_us, SIZE_MAX);
    if (since.n > 0) {
        sl_lives_measure(unit, &since, last_mib, peaks);
    }
}

/* ---- room ---- */

static struct sl_window_rule window_of(const struct sl_usage_rule *rule, int64_t since_us,
                                       bool back)
{
    return (struct sl_window_rule){.now_us = rule->now_us,
                                   .since_us = since_us,
                                   .back = back,
                                   .least = rule->least,
                                   .stale_us = rule->stale_us,
                                   .gap_us = rule->gap_us,
                                   .future_us = rule->future_us};
}

static int64_t peak_of(const int32_t *used, size_t n)
{
    int64_t peak = 0;
    for (size_t i = 0; i < n; i++) {
        peak = used[i] > peak ? used[i] : peak;
    }
    return peak;
}

/* CBP, and PP where that gives more; never what is held, nor what newcomers may use. */
static void published_room(const int32_t *used, size_t n, int64_t total_mib, bool pp,
                           int64_t held_mib, int64_t young_mib, struct sl_measured *out)
{
    struct sl_cbp cbp = {.room_mib = -1};
    struct sl_pp ahead = {.room_mib = -1};
    (void)sl_cbp_of(used, n, total_mib, &cbp);
    if (pp) {
        (void)sl_pp_of(used, n, total_mib, &ahead);
    }
    int64_t room = cbp.room_mib >= ahead.room_mib ? cbp.room_mib : ahead.room_mib;
    int64_t peak = peak_of(used + n - SL_USAGE_OVER_SAMPLES, SL_USAGE_OVER_SAMPLES);
    int64_t left = total_mib - (peak > held_mib ? peak : held_mib);
    if (room >= 0) {
        out->room_mib = sl_lives_mib((room < left ? room : left) - young_mib);
        out->by = cbp.room_mib >= ahead.room_mib ? SL_SHARING_CBP : SL_SHARING_CBP_PP;
    }
}

/* Gives the room that is left when each pod takes what is expected of it, or, when all of them
 * together already take more, what they will take if they grow on. A part of the room stays in
 * reserve for one pod that uses more than any of its workload before. */
static void peaks_room(const struct crowd *crowd, const struct sl_usage_unit *unit,
                       int64_t total_mib, int64_t peak_mib, int64_t growth_mib,
                       struct sl_measured *out)
{
    bool as_expected = peak_mib <= crowd->expected_mib;
    int64_t taken = sl_lives_taken(unit, as_expected ? peak_mib : peak_mib + growth_mib, true) +
                    crowd->unmet_mib;
    taken = taken > crowd->expected_mib ? taken : crowd->expected_mib;
    if (crowd->undeclared) {
        return;
    }
    out->room_mib = sl_lives_mib(total_mib - taken);
    out->reserve_mib = sl_lives_mib(crowd->outlier_mib);
    memcpy(out->known, crowd->known, sizeof(out->known));
    out->by = SL_SHARING_PEAKS;
}

/* MiB by which use grows until the horizon, if it grows on as from the first of the last n samples
 * to the last. */
static int64_t growth_of(const struct sl_series *series, const int32_t *used, size_t n,
                         int64_t horizon_us)
{
    int64_t grown = (int64_t)used[n - 1] - used[0];
    int64_t span_us = sl_series_at(series, series->n - 1U)->at_us -
                      sl_series_at(series, series->n - (n < series->n ? n : series->n))->at_us;
    return grown <= 0 || span_us <= 0 ? 0 : grown * (horizon_us / 1000) / (span_us / 1000 + 1);
}

/* Samples from before unit->since_us may show pods that have gone, or not yet those that have come:
 * these come on top. */
static void give_room(const struct sl_view *view, unsigned device, const struct sl_series *series,
                      const struct sl_usage_rule *rule, const struct sl_usage_unit *unit,
                      const struct crowd *crowd, int32_t *used, struct sl_measured *out)
{
    int64_t total_mib = view->node->device[device].memory_mib;
    bool published = rule->sharing != SL_SHARING_PEAKS;
    const struct sl_window_rule window = window_of(rule, unit->changed_us, true);
    size_t n = 0;
    out->state = sl_series_window(series, &window, used, &n);
    out->by = rule->sharing;
    if (n == 0) {
        out->samples = (uint16_t)sl_series_extent(series, 0, rule->least).n;
        return;
    }
    if (published) {
        published_room(used, n, total_mib, rule->sharing == SL_SHARING_CBP_PP, unit->held_mib,
                       crowd->young_mib, out);
        return;
    }
    size_t together = sl_series_extent(series, unit->since_us, n).n;
    size_t from = together >= SL_USAGE_OVER_SAMPLES ? n - together : 0;
    peaks_room(crowd, unit, total_mib, peak_of(used + from, n - from),
               growth_of(series, used + from, n - from, rule->horizon_us), out);
}

/* Without fresh samples those that have gone are trusted to have used no more than they asked for.
 */
static void give_held(const struct sl_usage_unit *unit, const struct crowd *crowd, bool fresh,
                      struct sl_measured *out)
{
    int64_t used_mib = fresh ? unit->held_mib : unit->held_mib - (int64_t)unit->gone_mib;
    out->held_mib = sl_lives_mib(sl_lives_taken(unit, used_mib, false) + crowd->unmet_mib);
    out->over_mib = sl_measured_over(out->held_mib, crowd->asks_mib);
}

static void note_seen(const struct sl_view *view, unsigned device, struct sl_measured *out)
{
    unsigned n = 0;
    for (unsigned i = 0; i < view->n_residents && n < SL_MEASURED_SEEN; i++) {
        bool there = false;
        (void)sl_view_ask_mib(view, &view->resident[i], device, &there);
        out->seen[n] = sl_measured_pod(view->resident[i].pod->uid);
        n += there;
    }
    if (n < SL_MEASURED_SEEN) {
        out->seen[n] = 0;
    }
}

/* ---- load ---- */

/* Samples from before the last pod began to run, or one went, are of other pods. */
static void judge_load(const struct sl_series *series, const struct sl_usage_rule *rule,
                       const struct crowd *crowd, int64_t running_us, int32_t *used,
                       struct sl_measured *out)
{
    int64_t since_us = crowd->starting ? INT64_MAX : running_us;
    const struct sl_window_rule window = window_of(rule, since_us, false);
    size_t n = 0;
    enum sl_series_state state = sl_series_window(series, &window, used, &n);
    if (sl_series_last(series, SL_FIGURE_BUSY) < 0 || state == SL_SERIES_GAPPY) {
        return;
    }
    int64_t busy = sl_series_mean(series, SL_FIGURE_BUSY, since_us);
    out->settled = state == SL_SERIES_GOOD && busy >= 0;
    out->load = 1000;
    if (out->settled) {
        out->load = (int16_t)sl_most(busy, sl_series_mean(series, SL_FIGURE_BANDWIDTH, since_us));
    }
}

/* Pods that use more than is expected of all of them show that what was learned holds no longer, of
 * one of them or of more: another GPU is not to find that out anew. */
static bool doubt(const struct sl_view *view, unsigned device, const struct sl_series *series,
                  const struct crowd *crowd, struct sl_usage_unit *unit, struct sl_past *peaks)
{
    struct sl_extent last = sl_series_extent(series, unit->since_us, SL_USAGE_OVER_SAMPLES);
    int64_t contexts_mib = (int64_t)crowd->n * SL_USAGE_CONTEXT_MIB; /* few asks count them */
    if (crowd->undeclared || last.n < SL_USAGE_OVER_SAMPLES || unit->doubted == unit->pods ||
        last.lowest_mib <= crowd->expected_mib + contexts_mib) {
        return false;
    }
    unit->doubted = unit->pods;
    for (unsigned i = 0; i < view->n_residents; i++) {
        bool there = false;
        (void)sl_view_ask_mib(view, &view->resident[i], device, &there);
        if (there) {
            sl_peaks_forget(peaks, unit->node, workload_of(view->resident[i].pod));
        }
    }
    sl_lives_unsettle(unit, last.last_us);
    return true;
}

bool sl_usage_last(const struct sl_series *series, const struct sl_usage_rule *rule, int32_t *used,
                   struct sl_measured *out)
{
    struct sl_window_rule last = window_of(rule, INT64_MAX, true);
    size_t n = 0;
    last.least = 1;
    *out = sl_measured_none;
    out->state = sl_series_window(series, &last, used, &n);
    if (n > 0) {
        out->used_mib = used[0];
        out->busy = (int16_t)sl_series_mean(series, SL_FIGURE_BUSY, 0);
        out->bandwidth = (int16_t)sl_series_mean(series, SL_FIGURE_BANDWIDTH, 0);
    }
    return n > 0;
}

void sl_usage_judge(const struct sl_view *view, unsigned device, const struct sl_series *series,
                    const struct sl_usage_rule *rule, struct sl_usage_unit *unit,
                    struct sl_past *peaks, int32_t *used, struct sl_measured *out)
{
    bool any = sl_usage_last(series, rule, used, out);
    int64_t from_us = from_now(series, rule->now_us + unit->ahead_us);
    unit->node = sl_peaks_node(view->node->name);
    meet(view, device, from_us + 1, unit); /* a sample of this moment is of who has gone */
    out->pods = sl_view_pods_of(view, device);
    out->by_use = rule->sharing != SL_SHARING_ASKS && is_shared(view, device);
    if (unit->pods != out->pods) {
        unit->changed_us = unit->pods == 0 ? 0 : from_us + 1;
        unit->running_us = unit->changed_us;
        unit->pods = out->pods;
        unit->since_us = from_us;
    }
    if (any) {
        sl_lives_look(unit, series, rule->least);
        sl_lives_hold(unit, series, rule->least);
        watch(series, unit, out->used_mib, peaks);
    }
    struct crowd crowd = crowd_of(view, device, series, rule, unit, peaks);
    unit->running_us = crowd.starting ? from_us + 1 : unit->running_us;
    note_seen(view, device, out);
    give_held(unit, &crowd, any, out);
    if (!any) {
        return;
    }
    out->apart = rule->apart;
    judge_load(series, rule, &crowd, unit->running_us, used, out);
    if (doubt(view, device, series, &crowd, unit, peaks)) {
        crowd = crowd_of(view, device, series, rule, unit, peaks);
    }
    if (out->by_use) {
        give_room(view, device, series, rule, unit, &crowd, used, out);
    }
}

void sl_usage_ahead(struct sl_usage_unit *unit, uint32_t round, int64_t at_us, int64_t now_us,
                    int64_t most_us)
{
    int64_t ahead_us = sl_sat_add(at_us, -now_us);
    int64_t known_us = unit->told_round == round ? unit->ahead_us : 0;
    ahead_us = ahead_us < most_us ? ahead_us : most_us;
    unit->ahead_us = ahead_us > known_us ? ahead_us : known_us;
    unit->told_round = round;
}

void sl_usage_restart(struct sl_usage_unit *unit, int64_t from_us)
{
    unit->ahead_us = 0; /* of the clock as it was */
    int64_t *const since[] = {&unit->since_us, &unit->changed_us, &unit->running_us,
                              &unit->measured_us};
    for (size_t i = 0; i < sizeof(since) / sizeof(since[0]); i++) {
        *since[i] = *since[i] == 0 ? 0 : from_us;
    }
    for (unsigned i = 0; i < unit->n; i++) {
        struct sl_usage_life *life = &unit->life[i];
        life->since_us = life->since_us == INT64_MAX ? INT64_MAX : from_us;
        life->grew_us = life->grew_us == 0 ? 0 : from_us;
    }
}

void sl_usage_tell(const struct sl_view *view, const struct sl_usage_names *names,
                   struct sl_usage_unit *unit)
{
    for (unsigned i = 0; names->n > 0 && i < view->n_residents; i++) {
        const struct sl_pod *pod = view->resident[i].pod;
        int32_t mib =
            sl_usage_told(names, sl_usage_pod_key(sl_str_of(pod->namespace), sl_str_of(pod->name)));
        struct sl_usage_life *life = mib > 0 ? life_of(unit, pod) : NULL;
        if (life != NULL && mib > life->told_mib) {
            life->told_mib = mib;
        }
    }
}
