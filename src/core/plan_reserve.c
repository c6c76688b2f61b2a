/* Reservations (EASY backfill): when and where the first pod of a resource that cannot start will,
 * by the enforced ends of what runs; and what those behind it may still do now. */
#include "core/plan_internal.h"

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- one node ---- */

static void book(struct sl_scratch *scratch, const struct sl_ask *ask,
                 const struct sl_assignment *assignment)
{
    for (unsigned i = 0; i < assignment->n; i++) {
        const struct sl_assignment_part *part = &assignment->part[i];
        int pool = sl_view_pool(scratch->view, ask->item[part->item].key);
        if (pool >= 0) {
            sl_scratch_take(scratch, (unsigned)pool, &ask->item[part->item], part, 1);
        }
    }
}

static bool is_on(const struct sl_plan_reserve *reserve, const struct sl_plan_node *node)
{
    return reserve->active && reserve->node == node;
}

/* Does the pod fit beside what others have reserved there? Reserved devices may be in use still, so
 * that they cannot be given back on the same counters: these are spoilt where there are any. */
static bool fits_beside(const struct sl_planner *planner, const struct sl_scratch *scratch,
                        const struct sl_plan_node *node, const struct sl_plan_pod *pod,
                        struct sl_assignment *out)
{
    struct sl_scratch copy;
    memcpy(&copy, scratch, sizeof copy);
    for (const struct sl_plan_lane *lane = planner->lane; planner->n_reserves > 0 && lane != NULL;
         lane = lane->next) {
        if (is_on(&lane->reserve, node) && lane->reserve.pod != pod) {
            book(&copy, &lane->reserve.pod->class->ask->ask, &lane->reserve.assignment);
        }
    }
    return sl_choose_on(&copy, &pod->class->ask->ask, out, NULL);
}

/* CPU, memory and pods of the node, as residents end. */
struct host {
    const struct sl_constraints *constraints;
    const struct sl_host *has;
    int64_t cpu_milli;
    int64_t memory_bytes;
    int64_t pods;
};

static struct host host_of(const struct sl_plan_node *node, const struct sl_plan_pod *pod)
{
    const struct sl_view *view = node->view;
    return (struct host){pod->class->constraints, &node->node->host, view->cpu_milli,
                         view->memory_bytes, view->n_pods};
}

static bool host_fits(const struct host *host)
{
    int64_t cpu = host->constraints == NULL ? 0 : host->constraints->cpu_milli;
    int64_t memory = host->constraints == NULL ? 0 : host->constraints->memory_bytes;
    const struct sl_host *has = host->has;
    return (has->cpu_milli < 0 || cpu == 0 ||
            sl_plan_add(host->cpu_milli, cpu) <= has->cpu_milli) &&
           (has->memory_bytes < 0 || memory == 0 ||
            sl_plan_add(host->memory_bytes, memory) <= has->memory_bytes) &&
           (has->pods < 0 || host->pods < has->pods);
}

static void host_join(struct host *host, const struct sl_pod *pod)
{
    if (pod->constraints != NULL) {
        host->cpu_milli = sl_plan_add(host->cpu_milli, pod->constraints->cpu_milli);
        host->memory_bytes = sl_plan_add(host->memory_bytes, pod->constraints->memory_bytes);
    }
    host->pods++;
}

/* Of a sum that was cut nobody knows what is left when one leaves. */
static int64_t without(int64_t sum, int64_t part)
{
    return sum == INT64_MAX ? sum : sum - part;
}

static void host_leave(struct host *host, const struct sl_pod *pod)
{
    if (pod->constraints != NULL) {
        host->cpu_milli = without(host->cpu_milli, pod->constraints->cpu_milli);
        host->memory_bytes = without(host->memory_bytes, pod->constraints->memory_bytes);
    }
    host->pods--;
}

/* When the pod fits on the node at the earliest; INT64_MAX: not by the ends of its residents. */
static int64_t earliest_on(struct sl_planner *planner, struct sl_plan_node *node,
                           const struct sl_plan_pod *pod, struct sl_assignment *out)
{
    const struct sl_view *view = node->view;
    struct host host = host_of(node, pod);
    struct sl_scratch scratch;
    sl_scratch_init(&scratch, view);
    int64_t at_us = planner->now_us;
    uint32_t i = 0;
    for (;;) {
        while (i < node->n_ends && node->end[i].at_us <= at_us) {
            sl_scratch_remove(&scratch, node->end[i].resident);
            host_leave(&host, view->resident[node->end[i].resident].pod);
            i++;
        }
        if (host_fits(&host) && fits_beside(planner, &scratch, node, pod, out)) {
            return at_us;
        }
        if (i >= node->n_ends) {
            return INT64_MAX;
        }
        at_us = node->end[i].at_us;
    }
}

/* ---- a bound that costs little ---- */

/* Do pools of the node draw on the same devices, so that the end of one kind may help another? */
static bool is_mixed(const struct sl_node *node)
{
    for (unsigned i = 1; i < node->n_pools; i++) {
        if (node->pool[i].kind != node->pool[0].kind) {
            return true;
        }
    }
    return false;
}

static int64_t units_held(const struct sl_pod *pod, uint64_t key)
{
    for (unsigned i = 0; i < pod->n_items; i++) {
        if (pod->items[i].key == key) {
            return pod->items[i].count;
        }
    }
    return 0;
}

/* Not before that can the node have the units of the item. INT64_MAX: never by ends. */
static int64_t not_before(const struct sl_planner *planner, const struct sl_plan_node *node,
                          const struct sl_ask_item *item)
{
    const struct sl_view *view = node->view;
    int pool = sl_view_pool(view, item->key);
    if (pool < 0 || item->count > view->room[pool].most) {
        return INT64_MAX;
    }
    if (item->count <= view->room[pool].largest) {
        return planner->now_us;
    }
    bool mixed = is_mixed(node->node);
    int64_t units = view->room[pool].free;
    for (uint32_t i = 0; i < node->n_ends; i++) {
        int64_t held = units_held(view->resident[node->end[i].resident].pod, item->key);
        units = sl_plan_add(units, held);
        if (mixed || (held > 0 && units >= item->count)) {
            return later(planner->now_us, node->end[i].at_us);
        }
    }
    return INT64_MAX;
}

bool sl_plan_is_enough(const struct sl_view *view, const struct sl_ask *ask)
{
    for (unsigned i = 0; i < ask->n; i++) {
        int pool = sl_view_pool(view, ask->item[i].key);
        if (pool < 0 || ask->item[i].count > view->room[pool].most) {
            return false;
        }
    }
    return true;
}

int64_t sl_plan_not_before(struct sl_planner *planner, struct sl_plan_node *node,
                           const struct sl_ask *ask)
{
    int64_t at_us = INT64_MIN;
    if (!sl_plan_node_ends(planner, node)) {
        planner->lacking = true;
        return INT64_MAX;
    }
    for (unsigned i = 0; i < ask->n; i++) {
        at_us = later(at_us, not_before(planner, node, &ask->item[i]));
    }
    return at_us;
}

static int64_t bid_of(struct sl_planner *planner, struct sl_plan_node *node,
                      const struct sl_plan_pod *pod)
{
    const struct sl_ask *ask = &pod->class->ask->ask;
    if (!sl_plan_is_enough(node->view, ask) || !sl_plan_admits(planner, pod->class, node->node) ||
        sl_plan_preempt_keeps(planner, node, pod)) {
        return INT64_MAX;
    }
    return sl_plan_not_before(planner, node, ask);
}

/* ---- all nodes ---- */

static bool is_lower(struct sl_plan_bid a, struct sl_plan_bid b)
{
    return a.at_us != b.at_us ? a.at_us < b.at_us : a.node < b.node;
}

static void sink(struct sl_plan_bid *bid, size_t n, size_t at)
{
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < n; child++) {
            least = is_lower(bid[child], bid[least]) ? child : least;
        }
        if (least == at) {
            return;
        }
        struct sl_plan_bid swap = bid[at];
        bid[at] = bid[least];
        bid[least] = swap;
        at = least;
    }
}

static size_t collect_bids(struct sl_planner *planner, const struct sl_plan_pod *pod,
                           const struct sl_plan_node *but)
{
    size_t n = 0;
    for (size_t i = 0; i < planner->n_nodes; i++) {
        int64_t at_us =
            planner->node[i] == but ? INT64_MAX : bid_of(planner, planner->node[i], pod);
        if (at_us < INT64_MAX) {
            planner->bid[n] = (struct sl_plan_bid){at_us, (uint32_t)i};
            n++;
        }
    }
    for (size_t i = n / 2; i > 0; i--) {
        sink(planner->bid, n, i - 1);
    }
    return n;
}

/* The earliest time and, among equals, the first node by name; no later than limit. */
static bool find(struct sl_planner *planner, const struct sl_plan_pod *pod,
                 const struct sl_plan_node *but, int64_t limit, struct sl_plan_reserve *out)
{
    struct sl_assignment assignment;
    bool found = false;
    if (!sl_plan_grow(&planner->bid, &planner->bid_cap, planner->n_nodes, sizeof *planner->bid)) {
        planner->lacking = true;
        return false;
    }
    size_t n = collect_bids(planner, pod, but);
    for (unsigned tries = 0; n > 0 && tries < SL_PLAN_EXACT_MAX; tries++) {
        struct sl_plan_bid bid = planner->bid[0];
        struct sl_plan_node *node = planner->node[bid.node];
        if (bid.at_us > limit ||
            (found && (bid.at_us > out->at_us ||
                       (bid.at_us == out->at_us && bid.node > out->node->index)))) {
            break;
        }
        n--;
        planner->bid[0] = planner->bid[n];
        sink(planner->bid, n, 0);
        int64_t at_us = earliest_on(planner, node, pod, &assignment);
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

/* ---- reservations ---- */

void sl_plan_reserve_end(struct sl_planner *planner, struct sl_plan_lane *lane)
{
    planner->n_reserves -= lane->reserve.active;
    planner->epoch += lane->reserve.active;
    lane->reserve.active = false;
    lane->reserve.pod = NULL;
    lane->reserve.node = NULL;
}

static void activate(struct sl_planner *planner, struct sl_plan_lane *lane)
{
    planner->n_reserves += !lane->reserve.active;
    lane->reserve.active = true;
    lane->reserve.fixed = false;
    planner->epoch++;
}

bool sl_plan_reserve(struct sl_planner *planner, struct sl_plan_lane *lane, struct sl_plan_pod *pod)
{
    struct sl_plan_reserve *reserve = &lane->reserve;
    if (reserve->pod == pod && reserve->node != NULL && reserve->touch == planner->touch &&
        reserve->at_us > planner->now_us && sl_plan_node_ends_hold(planner, reserve->node)) {
        activate(planner, lane);
        return true;
    }
    if (pod->class->timeless_seq == planner->touch + 1) {
        return false;
    }
    sl_plan_reserve_end(planner, lane);
    const struct sl_plan_node *barred =
        sl_plan_is_barred(planner, pod) ? sl_plan_node_find(planner, pod->bad_node->name) : NULL;
    if (!find(planner, pod, barred, INT64_MAX, reserve)) {
        reserve->node = NULL;
        pod->class->timeless_seq = planner->touch + 1;
        return false;
    }
    reserve->pod = pod;
    reserve->touch = planner->touch;
    activate(planner, lane);
    return true;
}

bool sl_plan_reserve_move(struct sl_planner *planner, struct sl_plan_node *node)
{
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        struct sl_plan_reserve *reserve = &lane->reserve;
        if (!is_on(reserve, node) || reserve->fixed) {
            continue;
        }
        struct sl_plan_reserve other = *reserve;
        if (find(planner, reserve->pod, node, reserve->at_us, &other)) {
            *reserve = other;
            reserve->touch = planner->touch;
            planner->epoch++;
            return true;
        }
        reserve->fixed = true;
    }
    return false;
}

/* ---- backfill ---- */

/* The devices that the reservation's pod gets at its time, when it still finds room, beside that
 * assignment of another pod (may be NULL). */
static bool choose_then(const struct sl_plan_node *node, const struct sl_plan_reserve *reserve,
                        const struct sl_plan_pod *pod, const struct sl_assignment *assignment,
                        struct sl_assignment *out)
{
    const struct sl_view *view = node->view;
    struct host host = host_of(node, reserve->pod);
    struct sl_scratch scratch;
    sl_scratch_init(&scratch, view);
    if (assignment != NULL) {
        book(&scratch, &pod->class->ask->ask, assignment);
        host_join(&host, pod->pod);
    }
    for (uint32_t i = 0; i < node->n_ends && node->end[i].at_us <= reserve->at_us; i++) {
        sl_scratch_remove(&scratch, node->end[i].resident);
        host_leave(&host, view->resident[node->end[i].resident].pod);
    }
    return host_fits(&host) && sl_choose_on(&scratch, &reserve->pod->class->ask->ask, out, NULL);
}

bool sl_plan_reserve_allows(struct sl_planner *planner, const struct sl_plan_pod *pod,
                            struct sl_plan_node *node, struct sl_assignment *out, int64_t *at_us)
{
    int64_t end = sl_plan_add(planner->now_us, pod->item.timeout_us);
    const struct sl_plan_reserve *first = NULL;
    unsigned delayed = 0;
    *at_us = INT64_MIN;
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        struct sl_plan_reserve *reserve = &lane->reserve;
        if (is_on(reserve, node) && reserve->pod != pod && end > reserve->at_us) {
            first = reserve;
            delayed++;
            *at_us = later(*at_us, reserve->at_us);
        }
    }
    const struct sl_ask *ask = &pod->class->ask->ask;
    if (delayed == 0) {
        return sl_choose(node->view, ask, out, NULL);
    }
    if (!sl_plan_node_ends(planner, node)) {
        planner->lacking = true;
        return false;
    }
    struct sl_assignment moved;
    if (delayed == 1 && sl_choose(node->view, ask, out, NULL) &&
        choose_then(node, first, pod, out, &moved)) {
        return true;
    }
    struct sl_scratch scratch;
    sl_scratch_init(&scratch, node->view);
    return fits_beside(planner, &scratch, node, pod, out);
}

bool sl_plan_leaves_room(const struct sl_plan_node *node, const struct sl_plan_pod *other,
                         const struct sl_plan_pod *pod, const struct sl_assignment *assignment)
{
    const struct sl_view *view = node->view;
    struct host host = host_of(node, other);
    struct sl_scratch scratch;
    sl_scratch_init(&scratch, view);
    book(&scratch, &pod->class->ask->ask, assignment);
    host_join(&host, pod->pod);
    for (unsigned i = 0; i < view->n_residents; i++) {
        if (view->resident[i].pod->deleting) {
            sl_scratch_remove(&scratch, i);
            host_leave(&host, view->resident[i].pod);
        }
    }
    return host_fits(&host) && sl_choose_on(&scratch, &other->class->ask->ask, NULL, NULL);
}

bool sl_plan_reserve_adjust(struct sl_planner *planner, struct sl_plan_node *node)
{
    bool backfilled = false;
    for (struct sl_plan_lane *lane = planner->lane; planner->n_reserves > 0 && lane != NULL;
         lane = lane->next) {
        struct sl_plan_reserve *reserve = &lane->reserve;
        backfilled = backfilled || reserve->active;
        if (is_on(reserve, node) && sl_plan_node_ends(planner, node)) {
            (void)choose_then(node, reserve, NULL, NULL, &reserve->assignment);
        }
    }
    return backfilled;
}
