/* Gives the store what core makes of the series. */
#include <stdio.h>

#include "telemetry/internal.h"
#include "util/clock.h"
#include "util/data/sat.h"
#include "util/data/vec.h"
#include "util/log.h"
#include "util/time.h"

enum { MIB_STEP = 32, STEP = 20 };

static const int64_t forget_us = SL_HOUR_US;

/* Rounds to steps, so that the views of nodes on which little happens stay as they are. */
static void coarsen(struct sl_measured *measured)
{
    int32_t *const down[] = {&measured->room_mib};
    int32_t *const near[] = {&measured->used_mib, &measured->over_mib, &measured->reserve_mib,
                             &measured->held_mib};
    int16_t *const share[] = {&measured->busy, &measured->bandwidth, &measured->load};
    for (size_t i = 0; i < sizeof(down) / sizeof(down[0]); i++) {
        *down[i] = *down[i] < 0 ? *down[i] : *down[i] / MIB_STEP * MIB_STEP;
    }
    for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++) {
        *near[i] = *near[i] < 0 || *near[i] > INT32_MAX - MIB_STEP
                       ? *near[i]
                       : (*near[i] + MIB_STEP - 1) / MIB_STEP * MIB_STEP;
    }
    for (size_t i = 0; i < sizeof(share) / sizeof(share[0]); i++) {
        *share[i] = *share[i] < 0 ? *share[i] : (int16_t)((*share[i] + STEP / 2) / STEP * STEP);
    }
}

/* Does anything on the node share GPUs by memory or replicas? Views of others show no telemetry. */
static bool shares(const struct sl_node *node)
{
    bool found = false;
    for (unsigned i = 0; i < node->n_pools; i++) {
        found = found || sl_kinds[node->pool[i].kind].shares;
    }
    return found;
}

/* Room for all nodes and devices of the snapshot. False when out of memory. */
static bool make_room(struct sl_telemetry *telemetry)
{
    const struct sl_snapshot *snapshot = telemetry->snapshot;
    size_t devices = 0;
    for (size_t i = 0; i < snapshot->n_nodes; i++) {
        devices += snapshot->view[i]->node->n_devices;
    }
    telemetry->n_given = 0;
    telemetry->n_measured = 0;
    return sl_vec_reserve(&telemetry->given, &telemetry->cap_given, snapshot->n_nodes,
                          sizeof(*telemetry->given)) == 0 &&
           sl_vec_reserve(&telemetry->measured, &telemetry->cap_measured, devices,
                          sizeof(*telemetry->measured)) == 0;
}

static void judge_instances(struct sl_telemetry *telemetry, struct sl_unit_node *home,
                            const struct sl_usage_rule *rule)
{
    for (struct sl_unit *unit = home->first; unit != NULL; unit = unit->next) {
        if (unit->instance < 0) {
            continue;
        }
        (void)sl_usage_last(&unit->series, rule, telemetry->used, &unit->measured);
        telemetry->stats.by_state[unit->measured.state]++;
    }
}

/* Charges the node's pods, and their namespaces, with what its GPUs drew since the last time. The
 * rows are the units in their order. */
static void charge_pods(struct sl_telemetry *telemetry, const struct sl_view *view,
                        struct sl_unit_node *home, size_t n)
{
    struct sl_unit *unit = home->first;
    if (sl_vec_reserve(&telemetry->charge, &telemetry->cap_charge, view->n_residents,
                       sizeof(*telemetry->charge)) < 0) {
        return; /* the next time */
    }
    for (unsigned i = 0; i < view->n_residents; i++) {
        telemetry->charge[i].mj = 0;
    }
    for (size_t i = 0; i < n && unit != NULL; i++, unit = unit->next) {
        int64_t mj = unit->energy.mj - unit->charged_mj;
        unit->charged_mj = unit->energy.mj;
        telemetry->nobodys_mj = sl_sat_add(
            telemetry->nobodys_mj,
            mj == 0 ? 0 : sl_usage_charge(view, telemetry->row, n, i, mj, telemetry->charge));
    }
    for (unsigned i = 0; i < view->n_residents; i++) {
        const struct sl_pod *pod = view->resident[i].pod;
        int64_t mj = telemetry->charge[i].mj;
        (void)sl_accounts_charge(&telemetry->pods, sl_str_of(pod->uid), mj);
        bool kept = sl_accounts_charge(&telemetry->spaces, sl_str_of(pod->namespace), mj);
        telemetry->nobodys_mj = sl_sat_add(telemetry->nobodys_mj, kept ? 0 : mj);
    }
}

/* Permille of the time since it began to run in which the pod's GPUs were busy; -1: not known of
 * each. */
static int64_t busy_of(const struct sl_unit_node *home, const struct sl_pod_use *use,
                       int64_t since_us)
{
    int64_t sum = 0;
    int64_t n = 0;
    unsigned i = 0;
    for (const struct sl_unit *unit = home->first; unit != NULL; unit = unit->next, i++) {
        if ((use->row[i / 64] >> i % 64 & 1) != 0) {
            int64_t busy = sl_series_mean(&unit->series, SL_FIGURE_BUSY, since_us);
            sum = busy < 0 || sum < 0 ? -1 : sum + busy;
            n++;
        }
    }
    return n == 0 || sum < 0 ? -1 : sum / n;
}

/* Units that the pod holds count as much as its GPUs are busy. Out of memory: the next time. */
static void note_used(struct sl_telemetry *telemetry, const struct sl_unit_node *home,
                      const struct sl_pod *pod, const struct sl_pod_use *use)
{
    int64_t busy =
        pod->set_aside || pod->started_us <= 0 ? -1 : busy_of(home, use, pod->started_us);
    for (unsigned i = 0; i < pod->n_items && busy >= 0; i++) {
        char name[SL_USED_NAME_MAX];
        (void)snprintf(name, sizeof(name), "%s/%s", pod->namespace, pod->items[i].resource);
        struct sl_account *account = sl_accounts_open(&telemetry->held, sl_str_of(name));
        if (account != NULL) {
            account->sum = sl_sat_add(account->sum, sl_sat_mul(pod->items[i].count, busy));
        }
    }
}

/* Returns how many rows the node has. */
static size_t judge_pods(struct sl_telemetry *telemetry, const struct sl_view *view,
                         const struct sl_unit_node *home, const struct sl_usage_rule *rule)
{
    size_t n = sl_units_rows(home, rule, telemetry->row, SL_USAGE_ROWS_MAX);
    sl_usage_agree(view, telemetry->row, n);
    uint64_t gpus = 0;
    for (unsigned i = 0; n > 0 && i < view->n_residents; i++) {
        struct sl_pod_use use;
        sl_usage_pod(view, &view->resident[i], telemetry->row, n, rule->now_us, &use);
        note_used(telemetry, home, view->resident[i].pod, &use);
        bool idle = use.idle_us >= telemetry->config->telemetry.idle_us;
        telemetry->stats.idle_pods += idle;
        telemetry->stats.over_pods += use.over_mib > 0;
        gpus |= idle ? use.held : 0;
        if ((idle || use.over_mib > 0) && telemetry->watch.seen != NULL) {
            telemetry->watch.seen(telemetry->watch.context, view, &view->resident[i], &use,
                                  rule->now_us);
        }
    }
    telemetry->stats.idle_gpus += (size_t)__builtin_popcountll(gpus);
    return n;
}

/* Each set of pods teaches once, when it is first known how busy they are. */
static void teach(struct sl_telemetry *telemetry, const struct sl_view *view, unsigned device,
                  struct sl_unit *unit)
{
    if (unit->measured.settled && unit->taught != unit->measured.pods) {
        unit->taught = unit->measured.pods;
        sl_suffer_learn(&telemetry->suffer, view, device, unit->measured.load);
    }
}

static void judge_node(struct sl_telemetry *telemetry, const struct sl_view *view,
                       const struct sl_usage_rule *rule)
{
    struct sl_unit_node *home = sl_units_node(&telemetry->units, sl_str_of(view->node->name));
    if (home == NULL) {
        return;
    }
    home->round = telemetry->units.round;
    bool shared = home->first != NULL && shares(view->node);
    size_t n = shared ? view->node->n_devices : 0;
    struct sl_measured *out = &telemetry->measured[telemetry->n_measured];
    for (unsigned i = 0; i < view->node->n_devices; i++) {
        const struct sl_device *device = &view->node->device[i];
        struct sl_unit *unit = sl_units_of_gpu(home, device->index, device->uuid);
        struct sl_measured measured = sl_measured_none;
        if (unit != NULL) {
            struct sl_usage_names names;
            sl_unit_names(unit, rule->gap_us, &names);
            sl_usage_tell(view, &names, &unit->usage);
            sl_usage_judge(view, i, &unit->series, rule, &unit->usage, telemetry->peaks,
                           telemetry->used, &unit->measured);
            telemetry->stats.by_state[unit->measured.state] += unit->series.n > 0;
            teach(telemetry, view, i, unit);
            measured = unit->measured;
            coarsen(&measured);
            memcpy(measured.suffer, telemetry->suffer.list, sizeof(measured.suffer));
        }
        if (shared) {
            out[i] = measured;
        }
    }
    judge_instances(telemetry, home, rule);
    charge_pods(telemetry, view, home, judge_pods(telemetry, view, home, rule));
    if (n > 0 || home->given) {
        telemetry->given[telemetry->n_given++] =
            (struct sl_node_measured){sl_str_of(view->node->name), out, n};
        telemetry->n_measured += n;
        home->given = n > 0;
    }
}

struct sl_usage_rule sl_telemetry_rule(const struct sl_config *config, int64_t now_us)
{
    return (struct sl_usage_rule){.sharing = config->telemetry.sharing,
                                  .now_us = now_us,
                                  .stale_us = config->telemetry.stale_us,
                                  .gap_us = config->telemetry.gap_us,
                                  .future_us = SL_FUTURE_US,
                                  .horizon_us = config->telemetry.horizon_us,
                                  .margin_permille = (int32_t)(config->telemetry.margin / 1000),
                                  .least = 20};
}

int64_t sl_telemetry_now(struct sl_telemetry *telemetry)
{
    int64_t now_us = sl_clock_real_us();
    int64_t ahead_us = now_us - sl_clock_monotonic_us();
    int64_t step_us = ahead_us - telemetry->ahead_us;
    if (step_us > SL_FUTURE_US || step_us < -SL_FUTURE_US) {
        telemetry->ahead_us = ahead_us;
        telemetry->begun_us = telemetry->begun_us > now_us ? now_us : telemetry->begun_us;
        sl_units_restart(&telemetry->units, now_us, SL_FUTURE_US);
    }
    return now_us;
}

void sl_telemetry_judge(struct sl_telemetry *telemetry)
{
    struct sl_error err = {0};
    const struct sl_snapshot *snapshot = telemetry->snapshot;
    if (!make_room(telemetry)) {
        return;
    }
    (void)pthread_mutex_lock(&telemetry->lock);
    int64_t now_us = sl_telemetry_now(telemetry);
    struct sl_usage_rule rule = sl_telemetry_rule(telemetry->config, now_us);
    rule.apart = telemetry->apart;
    memset(telemetry->stats.by_state, 0, sizeof(telemetry->stats.by_state));
    telemetry->stats.idle_pods = 0;
    telemetry->stats.idle_gpus = 0;
    telemetry->stats.over_pods = 0;
    telemetry->units.round++;
    sl_accounts_free(&telemetry->held);
    for (size_t i = 0; i < snapshot->n_nodes; i++) {
        judge_node(telemetry, snapshot->view[i], &rule);
    }
    sl_units_forget(&telemetry->units, now_us - forget_us);
    sl_accounts_close(&telemetry->pods, 0);
    sl_accounts_close(&telemetry->spaces, telemetry->units.max);
    (void)pthread_mutex_unlock(&telemetry->lock);
    if (sl_store_put_measured(telemetry->store, telemetry->given, telemetry->n_given, &err) < 0) {
        sl_log(SL_LOG_WARN, "cannot keep what was measured", "error", err.message, (char *)NULL);
    }
}
