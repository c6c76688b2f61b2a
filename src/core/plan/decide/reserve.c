/* Reserved starts (EASY backfill): when the enforced ends of running pods free room for the first
 * pod of a resource that does not fit, and which pods behind it may start now. */
#include "core/plan/decide/decide.h"
#include "util/data/heap.h"

static int64_t bid_of(struct sl_plan_run *run, struct sl_plan_node *node,
                      const struct sl_plan_pod *pod)
{
    const struct sl_ask *ask = &pod->class->ask->ask;
    sl_plan_spend(run, 1);
    if (!sl_plan_is_enough(node->view, ask) || !sl_plan_admits(run, pod->class, node->node) ||
        sl_plan_preempt_holds_node(run, node, pod)) {
        return INT64_MAX;
    }
    return sl_plan_not_before(run, node, ask);
}

static bool bid_is_before(const void *a, const void *b, const void *context)
{
    const struct sl_plan_bid *x = a;
    const struct sl_plan_bid *y = b;
    (void)context;
    return x->at_us != y->at_us ? x->at_us < y->at_us : x->node < y->node;
}

static const struct sl_heap_rule by_time = {
    .size = sizeof(struct sl_plan_bid),
    .is_before = bid_is_before,
};

static size_t collect_bids(struct sl_plan_run *run, const struct sl_plan_pod *pod,
                           const struct sl_plan_node *but)
{
    struct sl_planner *planner = run->planner;
    size_t n = 0;
    for (size_t i = 0; i < sl_plan_nodes(planner); i++) {
        int64_t at_us = sl_plan_node_at(planner, i) == but
                            ? INT64_MAX
                            : bid_of(run, sl_plan_node_at(planner, i), pod);
        if (at_us < INT64_MAX) {
            planner->scratch.bid[n] = (struct sl_plan_bid){at_us, (uint32_t)i};
            n++;
        }
    }
    sl_heap_make(&by_time, planner->scratch.bid, n);
    return n;
}

/* Finds the node with room earliest, by limit at the latest; among equals the first by name. */
static bool find_earliest(struct sl_plan_run *run, const struct sl_plan_pod *pod,
                          const struct sl_plan_node *but, int64_t limit,
                          struct sl_plan_reserve *out)
{
    struct sl_planner *planner = run->planner;
    struct sl_assignment assignment;
    bool found = false;
    if (sl_vec_reserve(&planner->scratch.bid, &planner->scratch.bid_cap, sl_plan_nodes(planner),
                       sizeof(*planner->scratch.bid)) < 0) {
        run->lacking = true;
        return false;
    }
    size_t n = collect_bids(run, pod, but);
    for (unsigned tries = 0; n > 0 && tries < SL_PLAN_EXACT_MAX; tries++) {
        struct sl_plan_bid bid = planner->scratch.bid[0];
        struct sl_plan_node *node = sl_plan_node_at(planner, bid.node);
        if (bid.at_us > limit ||
            (found && (bid.at_us > out->at_us ||
                       (bid.at_us == out->at_us && bid.node > out->node->index)))) {
            break;
        }
        n--;
        planner->scratch.bid[0] = planner->scratch.bid[n];
        sl_heap_fix(&by_time, planner->scratch.bid, n, 0);
        int64_t at_us = sl_plan_earliest_on(planner, node, pod, &assignment);
        bool better = at_us < INT64_MAX && at_us <= limit &&
                      (!found || at_us < out->at_us ||
                       (at_us == out->at_us && node->index < out->node->index));
        if (better) {
            found = true;
            out->at_us = at_us;
            out->node = node;
            out->assignment = assignment;
        }
    }
    return found;
}

/* ---- reserved starts ---- */

static void activate_reserve(struct sl_planner *planner, struct sl_plan_lane *lane)
{
    planner->n_reserves += !lane->reserve.active;
    lane->reserve.active = true;
    lane->reserve.fixed = false;
    lane->reserve.later = lane->reserve.at_us > planner->now_us;
    sl_plan_touch(planner, SL_PLAN_KEPT);
}

bool sl_plan_reserve(struct sl_plan_run *run, struct sl_plan_lane *lane, struct sl_plan_pod *pod)
{
    struct sl_planner *planner = run->planner;
    struct sl_plan_reserve *reserve = &lane->reserve;
    if (reserve->pod == pod && reserve->node != NULL && reserve->touch == planner->seq.nodes &&
        reserve->at_us > planner->now_us && sl_plan_node_ends_hold(planner, reserve->node)) {
        activate_reserve(planner, lane);
        return true;
    }
    if (pod->class->timeless_seq == planner->seq.nodes + 1) {
        return false;
    }
    sl_plan_reserve_end(planner, lane);
    const struct sl_plan_node *barred =
        sl_plan_is_barred(planner, pod) ? sl_plan_node_find(planner, pod->bad_node->name) : NULL;
    sl_plan_charge(run, pod->space);
    bool found = find_earliest(run, pod, barred, INT64_MAX, reserve);
    sl_plan_charge(run, NULL);
    if (!found) {
        pod->class->timeless_seq = planner->seq.nodes + 1;
        return false;
    }
    reserve->pod = pod;
    reserve->touch = planner->seq.nodes;
    activate_reserve(planner, lane);
    return true;
}

bool sl_plan_reserve_move(struct sl_plan_run *run, struct sl_plan_node *node)
{
    struct sl_planner *planner = run->planner;
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        struct sl_plan_reserve *reserve = &lane->reserve;
        if (!sl_plan_reserve_is_on(reserve, node) || reserve->fixed) {
            continue;
        }
        struct sl_plan_reserve other = *reserve;
        if (find_earliest(run, reserve->pod, node, reserve->at_us, &other)) {
            *reserve = other;
            reserve->later = reserve->at_us > planner->now_us;
            sl_plan_touch(planner, SL_PLAN_KEPT);
            return true;
        }
        reserve->fixed = true;
    }
    return false;
}

/* ---- backfill ---- */

bool sl_plan_reserve_allows(struct sl_plan_run *run, const struct sl_plan_pod *pod,
                            struct sl_plan_node *node, struct sl_assignment *out, int64_t *at_us)
{
    struct sl_planner *planner = run->planner;
    int64_t end = sl_sat_add(planner->now_us, pod->item.timeout_us);
    const struct sl_plan_reserve *first = NULL;
    unsigned delayed = 0;
    bool hosted = true;
    *at_us = INT64_MIN;
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        struct sl_plan_reserve *reserve = &lane->reserve;
        if (sl_plan_reserve_is_on(reserve, node) && reserve->pod != pod && end > reserve->at_us) {
            if (!sl_plan_node_ends(planner, node)) {
                run->lacking = true;
                return false;
            }
            first = reserve;
            delayed++;
            hosted = hosted && sl_plan_host_then(node, reserve, pod);
            *at_us = sl_plan_later(*at_us, reserve->at_us);
        }
    }
    const struct sl_ask *ask = &pod->class->ask->ask;
    if (delayed == 0) {
        return sl_choose(node->view, ask, out, NULL);
    }
    if (!hosted) {
        return false;
    }
    struct sl_assignment moved;
    if (delayed == 1 && sl_choose(node->view, ask, out, NULL) &&
        sl_plan_choose_then(node, first, pod, out, &moved)) {
        return true;
    }
    struct sl_scratch scratch;
    sl_scratch_init(&scratch, node->view);
    return sl_plan_fits_beside(planner, &scratch, 0, node, pod, out);
}

bool sl_plan_reserve_adjust(struct sl_planner *planner, struct sl_plan_node *node)
{
    bool backfilled = false;
    for (struct sl_plan_lane *lane = planner->lane; planner->n_reserves > 0 && lane != NULL;
         lane = lane->next) {
        struct sl_plan_reserve *reserve = &lane->reserve;
        backfilled = backfilled || reserve->active;
        if (sl_plan_reserve_is_on(reserve, node) && sl_plan_node_ends(planner, node)) {
            (void)sl_plan_choose_then(node, reserve, NULL, NULL, &reserve->assignment);
        }
    }
    return backfilled;
}
