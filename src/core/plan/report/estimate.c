/* Estimates starts: lays pods out one after the other by their timeouts; and once more, where that
 * is wanted, as long as they usually run. */
#include "core/plan/report/report.h"

enum { HOLES = 32 };

static int64_t capacity_of(const struct sl_planner *planner, uint64_t key)
{
    int64_t sum = 0;
    for (size_t i = 0; i < sl_plan_nodes(planner); i++) {
        const struct sl_view *view = sl_plan_node_at(planner, i)->base;
        int pool = view == NULL ? -1 : sl_view_pool(view, key);
        sum = sl_sat_add(sum, pool < 0 ? 0 : view->room[pool].capacity);
    }
    return sum;
}

bool sl_plan_is_foreseen(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    enum sl_hold_reason reason = sl_plan_reason(planner, pod);
    return reason != SL_HOLD_CONSTRAINT && reason != SL_HOLD_HEADROOM && !pod->class->ask->never &&
           pod->class->early_us < INT64_MAX;
}

/* Units that idle until the pod ahead which gets them can have all its units on one node. */
struct hole {
    int64_t from_us;
    int64_t to_us;
    int64_t units;
};

struct holes {
    size_t n;
    struct hole hole[HOLES];
};

static void add_hole(struct holes *holes, int64_t from_us, int64_t to_us, int64_t units)
{
    if (from_us < to_us && units > 0 && holes->n < HOLES) {
        holes->hole[holes->n] = (struct hole){from_us, to_us, units};
        holes->n++;
    }
}

/* Start of the pod in the first hole that its length fits into; 0: it fits into none. */
static int64_t fill_hole(struct holes *holes, const struct sl_plan_pod *pod, int64_t width,
                         int64_t length_us)
{
    size_t at = HOLES;
    int64_t start_us = INT64_MAX;
    for (size_t i = 0; i < holes->n; i++) {
        const struct hole *hole = &holes->hole[i];
        int64_t begin_us = sl_plan_later(hole->from_us, pod->class->early_us);
        bool fits = width <= hole->units && sl_sat_add(begin_us, length_us) <= hole->to_us;
        at = fits && begin_us < start_us ? i : at;
        start_us = at == i ? begin_us : start_us;
    }
    if (at == HOLES) {
        return 0;
    }
    const struct hole hole = holes->hole[at];
    holes->n--;
    holes->hole[at] = holes->hole[holes->n];
    add_hole(holes, hole.from_us, hole.to_us, hole.units - width);
    add_hole(holes, hole.from_us, start_us, width);
    add_hole(holes, start_us + length_us, hole.to_us, width);
    return start_us;
}

/* Supplies the lane's capacity: free units now, those of running pods at their ends. */
static bool supply_of(struct sl_planner *planner, const struct sl_plan_lane *lane, int64_t capacity,
                      bool usual)
{
    struct sl_supply *supply = &planner->scratch.supply;
    if (!sl_plan_supply(planner, lane, usual) ||
        sl_supply_reserve(supply, supply->n + lane->n_queue + 1) != 0) {
        return false;
    }
    const int64_t unused = capacity - sl_supply_units(supply);
    if (unused > 0) {
        sl_supply_add(supply, planner->now_us, unused);
    } else { /* nodes lost units that pods still use */
        sl_supply_drop(supply, -unused);
    }
    return true;
}

/* Starts each pod as soon as its units are free, those ahead have started and one node can have
 * it. */
static bool lay_out(struct sl_planner *planner, struct sl_plan_lane *lane, bool usual)
{
    struct sl_supply *supply = &planner->scratch.supply;
    struct holes holes = {.n = 0};
    int64_t capacity = capacity_of(planner, lane->key);
    int64_t at_us = planner->now_us;
    if (!supply_of(planner, lane, capacity, usual)) {
        return false;
    }
    for (uint32_t i = 0; i < lane->n_queue; i++) {
        struct sl_plan_pod *pod = lane->queue[i];
        int64_t width = pod->class->ask->ask.item[0].count;
        pod->start_us = 0;
        if (width > capacity || !sl_plan_is_foreseen(planner, pod)) {
            continue;
        }
        int64_t usual_us = usual ? sl_plan_usual(planner, pod->pod) : 0;
        int64_t length_us = usual_us > 0 ? usual_us : pod->item.timeout_us;
        pod->start_us = fill_hole(&holes, pod, width, length_us);
        if (pod->start_us > 0) {
            continue;
        }
        at_us = sl_supply_take(supply, width, at_us);
        pod->start_us = sl_plan_later(at_us, pod->class->early_us);
        add_hole(&holes, at_us, pod->start_us, width);
        sl_supply_add(supply, sl_sat_add(pod->start_us, length_us), width);
    }
    return true;
}

static bool lay_all_out(struct sl_planner *planner, bool usual)
{
    bool whole = sl_plan_early(planner, usual);
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        whole = whole && lay_out(planner, lane, usual);
    }
    return whole;
}

/* Moves what was laid out to where only rows show it. */
static void keep_usual(struct sl_planner *planner)
{
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        for (uint32_t i = 0; i < lane->n_queue; i++) {
            lane->queue[i]->usual_start_us = lane->queue[i]->start_us;
        }
    }
}

/* By timeouts last: that is what classes and pods keep. */
int sl_planner_estimate(struct sl_planner *planner, int64_t now_us, struct sl_error *err)
{
    bool usual = sl_plan_learns(planner);
    sl_plan_advance(planner, now_us);
    if (!sl_plan_tenants_foretell(planner)) {
        return sl_error_nomem(err);
    }
    bool whole = !usual || lay_all_out(planner, true);
    if (usual) {
        keep_usual(planner);
    }
    whole = lay_all_out(planner, false) && whole;
    return whole ? 0 : sl_error_nomem(err);
}
