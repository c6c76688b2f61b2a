/* Picks a node for a pod: the best score among nodes that have room, meet its constraints and where
 * it delays no pod ahead; among equals the first by name. */
#include "core/plan/decide/decide.h"

#include "sliced/admit.h"

/* ---- the search ---- */

struct search {
    struct sl_plan_run *run;
    struct sl_plan_pod *pod;
    struct sl_plan_pick *out;
    int32_t best;
    bool roomy;        /* some node has room */
    bool blocked;      /* on some admitted node it would delay others */
    bool held_off;     /* some node is barred to the pod */
    bool kept;         /* a blocked node makes room for another pod */
    bool refused;      /* on some node the order does not let it start now */
    int64_t window_us; /* a pod that ends by then may get a blocked node */
    struct sl_plan_node *blocker;
};

static bool is_barred(const struct search *search, const struct sl_plan_node *node)
{
    const struct sl_plan_pod *pod = search->pod;
    return pod->bad_node != NULL && node->seq <= pod->bad_seq &&
           strcmp(pod->bad_node->name, node->node->name) == 0;
}

/* Does the pod leave the room that kube-scheduler makes on the node for another? */
static bool leaves_room(const struct search *search, struct sl_plan_node *node)
{
    struct sl_assignment assignment;
    int64_t at_us = 0;
    return sl_plan_reserve_allows(search->run, search->pod, node, &assignment, &at_us) &&
           sl_plan_preempt_allows(search->run->planner, node, search->pod, &assignment);
}

/* CPU, memory and a place; the other constraints are met. */
static bool has_host_room(const struct sl_plan_class *class, const struct sl_plan_node *node)
{
    const struct sl_host_use use = sl_host_use_of(node->view);
    return sl_host_admits(&node->node->host, &use, class->constraints) == SL_CONSTRAINT_NONE;
}

static void consider_node(struct search *search, struct sl_plan_node *node)
{
    struct sl_plan_run *run = search->run;
    const struct sl_plan_class *class = search->pod->class;
    struct sl_score score;
    sl_plan_spend(run, 1);
    if (is_barred(search, node)) {
        search->held_off = true;
        return;
    }
    if (!sl_fit(node->view, &class->ask->ask, NULL)) {
        return;
    }
    search->roomy = true;
    if (!sl_plan_admits(run, class, node->node) || !has_host_room(class, node) ||
        !sl_scorer_score(run->scorer, node->view, &score)) {
        return;
    }
    if (search->out->node != NULL && score.total <= search->best) {
        return; /* nodes come by name */
    }
    int64_t at_us = INT64_MAX;
    if (run->planner->n_reserves > 0 &&
        !sl_plan_reserve_allows(run, search->pod, node, &search->out->assignment, &at_us)) {
        search->blocked = true;
        search->window_us = sl_plan_later(search->window_us, at_us);
        search->blocker = search->blocker == NULL ? node : search->blocker;
        return;
    }
    int64_t now_us = run->planner->now_us;
    if (sl_plan_drained(run->planner, node, search->pod, now_us) > now_us) {
        search->blocked = true;
        search->window_us = sl_plan_later(search->window_us, node->drain_us);
        search->held_off = true; /* pods of its class need not give way to the drain's pod */
        return;
    }
    if (sl_plan_preempt_holds_node(run, node, search->pod) && !leaves_room(search, node)) {
        search->blocked = true;
        search->kept = true;
        return;
    }
    if (!sl_plan_bounded_admits_on(run, search->pod, node)) {
        search->refused = true;
        search->window_us = /* as long a pod is refused too, unless it is due */
            sl_plan_later(search->window_us, now_us + search->pod->item.timeout_us - 1);
        return;
    }
    search->out->node = node;
    search->best = score.total;
}

/* Considers the nodes below a point of the tree that have room for count units and have grown after
 * since. */
static void descend_tree(struct search *search, const struct sl_plan_lane *lane, uint32_t at,
                         int64_t count, uint64_t since)
{
    search->run->planner->looked++;
    if (lane->tree[at] < count || !sl_plan_has_grown(search->run->planner, at, since) ||
        search->run->checks == 0) {
        return;
    }
    if (at < lane->leaves) {
        descend_tree(search, lane, 2 * at, count, since);
        descend_tree(search, lane, 2 * at + 1, count, since);
        return;
    }
    consider_node(search, sl_plan_node_at(search->run->planner, at - lane->leaves));
}

/* Why the pod is held, if that is known without a look at nodes; SL_HOLD_NONE: it is not. */
static enum sl_hold_reason known_reason(struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    struct sl_plan_class *class = pod->class;
    if (class->failed_seq == planner->seq.room) {
        return class->failed_reason;
    }
    if (!sl_plan_has_room(class->ask)) {
        class->failed_seq = planner->seq.room;
        class->failed_reason = SL_HOLD_NO_ROOM;
        return SL_HOLD_NO_ROOM;
    }
    int64_t end = sl_sat_add(planner->now_us, pod->item.timeout_us);
    if (class->window_epoch == planner->seq.kept && end > class->window_us &&
        pod->item.priority <= class->window_priority && !sl_plan_bounded_is_due(planner, pod)) {
        return class->window_reason;
    }
    return sl_plan_headroom(planner, pod) ? SL_HOLD_NONE : SL_HOLD_HEADROOM;
}

bool sl_plan_must_search(struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    return known_reason(planner, pod) == SL_HOLD_NONE;
}

static void prepare_scorer(struct sl_plan_run *run, const struct sl_plan_ask *ask)
{
    if (run->scored != ask) {
        sl_scorer_init(run->scorer, &ask->ask, run->demand, &run->planner->config.score);
        run->scored = ask;
    }
}

static void look_for_nodes(struct search *search, struct sl_plan_node *only)
{
    struct sl_plan_class *class = search->pod->class;
    const struct sl_plan_ask *ask = class->ask;
    if (only != NULL) {
        consider_node(search, only);
        return;
    }
    descend_tree(search, ask->lane[0], 1, ask->ask.item[0].count, class->failed_seq);
}

/* No node will do: notes what this means for other pods of the class. */
static enum sl_hold_reason conclude_search(const struct search *search)
{
    struct sl_planner *planner = search->run->planner;
    struct sl_plan_class *class = search->pod->class;
    if (search->blocked || search->refused) {
        enum sl_hold_reason why = search->refused ? SL_HOLD_PROMISE : SL_HOLD_BEHIND;
        if (!search->held_off) {
            class->window_epoch = planner->seq.kept;
            class->window_us = search->window_us;
            class->window_priority =
                search->kept || search->refused ? search->pod->item.priority : INT32_MAX;
            class->window_reason = why;
        }
        return why;
    }
    bool excluded =
        search->roomy || (class->failed_seq > 0 && class->failed_reason == SL_HOLD_CONSTRAINT);
    enum sl_hold_reason reason = excluded ? SL_HOLD_CONSTRAINT : SL_HOLD_NO_ROOM;
    if (!search->held_off && search->run->checks > 0) {
        class->failed_seq = planner->seq.room;
        class->failed_reason = reason;
    }
    return reason;
}

void sl_plan_pick(struct sl_plan_run *run, struct sl_plan_pod *pod, struct sl_plan_node *only,
                  struct sl_plan_pick *out)
{
    out->node = NULL;
    out->reason = only != NULL ? SL_HOLD_NONE : known_reason(run->planner, pod);
    if (out->reason != SL_HOLD_NONE) {
        return;
    }
    prepare_scorer(run, pod->class->ask);
    sl_plan_charge(run, pod->space);
    sl_plan_spend(run, SL_PLAN_SEARCH);
    bool again = true;
    for (size_t moves = 0; again; moves++) { /* a start that moves may move back */
        struct search search = {.run = run, .pod = pod, .out = out, .window_us = INT64_MIN};
        look_for_nodes(&search, only);
        again = false;
        if (out->node == NULL && only == NULL) {
            again = search.blocker != NULL && moves < run->planner->n_reserves &&
                    sl_plan_reserve_move(run, search.blocker);
            out->reason = again ? SL_HOLD_NONE : conclude_search(&search);
        }
    }
    if (out->node != NULL) {
        int64_t at_us = 0;
        (void)sl_plan_reserve_allows(run, pod, out->node, &out->assignment, &at_us);
    }
    sl_plan_charge(run, NULL);
}
