/* Which node a pod gets: of those with room that its constraints admit and where it delays nobody
 * ahead, the one with the best score; among equals the first by name. */
#include "core/plan_internal.h"

#include <stdlib.h>

/* ---- what a search costs ---- */

static void spend(struct sl_planner *planner, size_t n)
{
    planner->looked += n;
    planner->checks -= n < planner->checks ? n : planner->checks;
    if (planner->spender != NULL) {
        planner->spender->spent += n;
    }
}

bool sl_plan_is_spent(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    return pod->space->run == planner->run && pod->space->spent > planner->checks;
}

static void begin_search(struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    struct sl_plan_space *space = pod->space;
    space->spent = space->run == planner->run ? space->spent : 0;
    space->run = planner->run;
    planner->spender = space;
    spend(planner, SL_PLAN_SEARCH);
}

/* ---- constraints ---- */

/* May answers be kept by kind of node? */
static bool is_general(const struct sl_constraints *constraints)
{
    return constraints == NULL || !constraints->by_name;
}

bool sl_plan_admits(struct sl_planner *planner, const struct sl_plan_class *class,
                    const struct sl_node *node)
{
    const struct sl_constraints *constraints = class->constraints;
    if (!is_general(constraints)) {
        spend(planner, class->weight);
        return sl_constraints_admit(constraints, node) == SL_CONSTRAINT_NONE;
    }
    uint64_t pod = constraints == NULL ? 0 : constraints->digest;
    uint64_t slot = (pod ^ (node->site_digest * UINT64_C(0x9e3779b97f4a7c15))) >> 20;
    struct sl_plan_memo *memo = &planner->memo[slot % SL_PLAN_MEMO];
    if (!memo->known || memo->pod != pod || memo->site != node->site_digest) {
        spend(planner, class->weight);
        *memo = (struct sl_plan_memo){
            .pod = pod,
            .site = node->site_digest,
            .answer = sl_constraints_admit(constraints, node) == SL_CONSTRAINT_NONE,
            .known = true,
        };
    }
    return memo->answer != 0;
}

/* ---- headroom ---- */

/* Units of the item's resource that the pod has to leave; 0: none. */
static int64_t headroom_of(const struct sl_planner *planner, const struct sl_plan_pod *pod,
                           const struct sl_ask_item *item)
{
    int64_t units = 0;
    for (unsigned r = 0; r < planner->config.n_headrooms; r++) {
        const struct sl_plan_headroom *rule = &planner->config.headroom[r];
        bool for_it = rule->resource[0] == '\0' || strcmp(rule->resource, item->resource) == 0;
        if (for_it && pod->item.timeout_us > rule->max_timeout_us) {
            units = rule->units > units ? rule->units : units;
        }
    }
    return units;
}

bool sl_plan_needs_headroom(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    const struct sl_ask *ask = &pod->class->ask->ask;
    bool any = false;
    for (unsigned i = 0; i < ask->n && planner->config.n_headrooms > 0; i++) {
        any = any || headroom_of(planner, pod, &ask->item[i]) > 0;
    }
    return any;
}

bool sl_plan_headroom(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    const struct sl_plan_ask *ask = pod->class->ask;
    bool left = true;
    for (unsigned i = 0; i < ask->ask.n && planner->config.n_headrooms > 0; i++) {
        const struct sl_ask_item *item = &ask->ask.item[i];
        int64_t keep = headroom_of(planner, pod, item);
        left = left && (keep == 0 || ask->lane[i]->free - item->count >= keep);
    }
    return left;
}

static int earlier_freed(const void *a, const void *b)
{
    const struct sl_plan_freed *x = a;
    const struct sl_plan_freed *y = b;
    return (x->at_us > y->at_us) - (x->at_us < y->at_us);
}

int64_t sl_plan_headroom_time(struct sl_planner *planner, const struct sl_plan_lane *lane,
                              const struct sl_plan_pod *pod)
{
    const struct sl_ask_item *item = &pod->class->ask->ask.item[0];
    int64_t lacking = sl_plan_add(item->count, headroom_of(planner, pod, item)) - lane->free;
    ptrdiff_t n = sl_plan_freed_list(planner, lane);
    if (n < 0) {
        planner->lacking = true;
        return INT64_MAX;
    }
    if (n > 1) {
        qsort(planner->freed, (size_t)n, sizeof *planner->freed, earlier_freed);
    }
    int64_t at_us = planner->now_us;
    for (ptrdiff_t i = 0; i < n && lacking > 0; i++) {
        at_us = planner->freed[i].at_us > at_us ? planner->freed[i].at_us : at_us;
        lacking -= planner->freed[i].units;
    }
    return lacking > 0 ? INT64_MAX : at_us;
}

/* ---- the search ---- */

struct search {
    struct sl_planner *planner;
    struct sl_plan_pod *pod;
    struct sl_plan_pick *out;
    int32_t best;
    uint32_t roomy;    /* nodes with room */
    uint32_t blocked;  /* of those admitted: where it would delay others */
    uint32_t held_off; /* not looked at for the pod's own sake */
    bool kept;         /* of the blocked: room is made there for another */
    int64_t window_us; /* a pod that ends by then may find one of those */
    struct sl_plan_node *blocker;
};

static bool is_barred(const struct search *search, const struct sl_plan_node *node)
{
    const struct sl_plan_pod *pod = search->pod;
    return pod->bad_node != NULL && node->seq <= pod->bad_seq &&
           strcmp(pod->bad_node->name, node->node->name) == 0;
}

/* Room is made there for another: does the pod leave it? */
static bool leaves_room(const struct search *search, const struct sl_plan_node *node)
{
    const struct sl_planner *planner = search->planner;
    struct sl_assignment *assignment = &search->out->assignment;
    if (planner->n_reserves == 0) {
        (void)sl_choose(node->view, &search->pod->class->ask->ask, assignment, NULL);
    }
    return sl_plan_preempt_allows(planner, node, search->pod, assignment);
}

static void consider(struct search *search, struct sl_plan_node *node)
{
    struct sl_planner *planner = search->planner;
    const struct sl_plan_class *class = search->pod->class;
    struct sl_score score;
    spend(planner, 1);
    if (is_barred(search, node)) {
        search->held_off++;
        return;
    }
    if (!sl_fit(node->view, &class->ask->ask, NULL)) {
        return;
    }
    search->roomy++;
    if (!sl_plan_admits(planner, class, node->node) ||
        sl_constraints_admit_now(class->constraints, node->view) != SL_CONSTRAINT_NONE ||
        !sl_scorer_score(&planner->scorer, node->view, &score)) {
        return;
    }
    if (search->out->node != NULL &&
        (score.total < search->best ||
         (score.total == search->best && node->index > search->out->node->index))) {
        return;
    }
    int64_t at_us = INT64_MAX;
    if (planner->n_reserves > 0 &&
        !sl_plan_reserve_allows(planner, search->pod, node, &search->out->assignment, &at_us)) {
        search->blocked++;
        search->window_us = at_us > search->window_us ? at_us : search->window_us;
        search->blocker = search->blocker == NULL ? node : search->blocker;
        return;
    }
    if (sl_plan_preempt_keeps(planner, node, search->pod) && !leaves_room(search, node)) {
        search->blocked++;
        search->kept = true;
        search->window_us =
            planner->now_us > search->window_us ? planner->now_us : search->window_us;
        return;
    }
    search->out->node = node;
    search->best = score.total;
}

/* All nodes below a point of the tree that have room for so many and grew since. */
static void descend(struct search *search, const struct sl_plan_lane *lane, uint32_t at,
                    int64_t count, uint64_t since)
{
    search->planner->looked++;
    if (lane->tree[at] < count || search->planner->grown[at] <= since ||
        search->planner->checks == 0) {
        return;
    }
    if (at < lane->leaves) {
        descend(search, lane, 2 * at, count, since);
        descend(search, lane, 2 * at + 1, count, since);
        return;
    }
    consider(search, search->planner->node[at - lane->leaves]);
}

static bool has_room(const struct sl_plan_ask *ask)
{
    bool room = true;
    for (unsigned i = 0; i < ask->ask.n; i++) {
        room = room && ask->lane[i]->tree[1] >= ask->ask.item[i].count;
    }
    return room;
}

/* What is known without a look at nodes; SL_HOLD_NONE when it takes one. */
static enum sl_hold_reason known_reason(struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    struct sl_plan_class *class = pod->class;
    if (class->failed_seq == planner->seq) {
        return class->failed_reason;
    }
    if (!has_room(class->ask)) {
        class->failed_seq = planner->seq;
        class->failed_reason = SL_HOLD_NO_ROOM;
        return SL_HOLD_NO_ROOM;
    }
    int64_t end = sl_plan_add(planner->now_us, pod->item.timeout_us);
    if (class->window_epoch == planner->epoch && end > class->window_us &&
        pod->item.priority <= class->window_priority) {
        return SL_HOLD_BEHIND;
    }
    return sl_plan_headroom(planner, pod) ? SL_HOLD_NONE : SL_HOLD_HEADROOM;
}

bool sl_plan_must_search(struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    return known_reason(planner, pod) == SL_HOLD_NONE;
}

static void prepare_scorer(struct sl_planner *planner, const struct sl_plan_ask *ask)
{
    if (planner->scored != ask) {
        sl_scorer_init(&planner->scorer, &ask->ask, planner->demand, &planner->config.score);
        planner->scored = ask;
    }
}

/* Where the pod names the node that it was sent to before, that one if it will do. */
static void look(struct search *search, struct sl_plan_node *only)
{
    struct sl_plan_class *class = search->pod->class;
    const struct sl_plan_ask *ask = class->ask;
    if (only != NULL) {
        consider(search, only);
        return;
    }
    descend(search, ask->lane[0], 1, ask->ask.item[0].count, class->failed_seq);
}

/* No node will do: what that says about others of the class. */
static enum sl_hold_reason conclude(const struct search *search)
{
    struct sl_planner *planner = search->planner;
    struct sl_plan_class *class = search->pod->class;
    if (search->blocked > 0) {
        if (search->held_off == 0) {
            class->window_epoch = planner->epoch;
            class->window_us = search->window_us;
            class->window_priority = search->kept ? search->pod->item.priority : INT32_MAX;
        }
        return SL_HOLD_BEHIND;
    }
    bool excluded =
        search->roomy > 0 || (class->failed_seq > 0 && class->failed_reason == SL_HOLD_CONSTRAINT);
    enum sl_hold_reason reason = excluded ? SL_HOLD_CONSTRAINT : SL_HOLD_NO_ROOM;
    if (search->held_off == 0 && planner->checks > 0) {
        class->failed_seq = planner->seq;
        class->failed_reason = reason;
    }
    return reason;
}

void sl_plan_pick(struct sl_planner *planner, struct sl_plan_pod *pod, struct sl_plan_node *only,
                  struct sl_plan_pick *out)
{
    out->node = NULL;
    out->assignment.n = 0;
    out->reason = only != NULL ? SL_HOLD_NONE : known_reason(planner, pod);
    if (out->reason != SL_HOLD_NONE) {
        return;
    }
    prepare_scorer(planner, pod->class->ask);
    begin_search(planner, pod);
    bool again = true;
    while (again) {
        struct search search = {.planner = planner, .pod = pod, .out = out, .window_us = INT64_MIN};
        look(&search, only);
        again = false;
        if (out->node == NULL && only == NULL) {
            again = search.blocker != NULL && sl_plan_reserve_move(planner, search.blocker);
            out->reason = again ? SL_HOLD_NONE : conclude(&search);
        } else if (out->node == NULL) {
            out->reason = SL_HOLD_NO_ROOM;
        }
    }
    if (out->node != NULL && planner->n_reserves == 0) {
        (void)sl_choose(out->node->view, &pod->class->ask->ask, &out->assignment, NULL);
    } else if (out->node != NULL) {
        int64_t at_us = 0;
        (void)sl_plan_reserve_allows(planner, pod, out->node, &out->assignment, &at_us);
    }
    planner->spender = NULL;
}
