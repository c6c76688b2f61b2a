/* Which asks some node could ever take: judged again only against changed nodes. */
#include "core/plan/nodes/nodes.h"

static bool could_take(struct sl_planner *planner, size_t node, const struct sl_ask *ask)
{
    struct sl_verdict verdict;
    planner->judged++;
    return sl_fit(planner->fleet.node[node]->base, ask, &verdict) ||
           !sl_reason_is_never(verdict.reason);
}

static bool is_hopeless(const struct sl_planner *planner, const struct sl_ask *ask)
{
    bool hopeless = false;
    for (unsigned i = 0; i < ask->n && !hopeless; i++) {
        hopeless = ask->item[i].count > sl_plan_offer_most(planner, ask->item[i].key);
    }
    return hopeless;
}

static bool find_taker(struct sl_planner *planner, struct sl_plan_ask *ask)
{
    for (size_t i = 0; i < planner->fleet.n; i++) {
        if (could_take(planner, i, &ask->ask)) {
            ask->taker = (uint32_t)i;
            return true;
        }
    }
    return false;
}

/* Only changed nodes can change the answer. */
static bool find_again(struct sl_planner *planner, struct sl_plan_ask *ask)
{
    if (ask->taken && !planner->fleet.node[ask->taker]->news) {
        return true;
    }
    for (size_t i = 0; i < planner->news.n; i++) {
        if (could_take(planner, planner->news.node[i], &ask->ask)) {
            ask->taker = planner->news.node[i];
            return true;
        }
    }
    return ask->taken && find_taker(planner, ask);
}

/* Do DeviceClasses offer all that no node does now? Labels tell of their GPUs too, but no device
 * plugin will come to offer these. */
static bool is_by_dra(const struct sl_planner *planner, const struct sl_ask *ask)
{
    bool any = false;
    for (unsigned i = 0; i < ask->n; i++) {
        bool offered = sl_plan_offer_now(planner, ask->item[i].key) > 0;
        if (!offered && !sl_dra_offers(&planner->news.dra, ask->item[i].key)) {
            return false;
        }
        any = any || !offered;
    }
    return any;
}

void sl_planner_set_dra(struct sl_planner *planner, const struct sl_dra *dra)
{
    if (!sl_dra_same(&planner->news.dra, dra)) {
        planner->news.dra = *dra;
        sl_plan_touch(planner, SL_PLAN_KINDS | SL_PLAN_RUN);
    }
}

void sl_plan_judge(struct sl_planner *planner, struct sl_plan_ask *ask)
{
    bool known = ask->never_seq > planner->news.set && !planner->news.all;
    bool never = planner->fleet.n > 0;
    if (never && !is_hopeless(planner, &ask->ask)) {
        never = known ? !find_again(planner, ask) : !find_taker(planner, ask);
    }
    ask->taken = !never;
    ask->by_dra = planner->fleet.n > 0 && is_by_dra(planner, &ask->ask);
    ask->never = never || ask->by_dra;
    ask->never_seq = planner->seq.kinds;
}

void sl_plan_news(struct sl_planner *planner, struct sl_plan_node *node)
{
    sl_plan_touch(planner, SL_PLAN_KINDS);
    if (node->news) {
        return;
    }
    node->news = true;
    if (sl_vec_reserve(&planner->news.node, &planner->news.cap, planner->news.n + 1,
                       sizeof(*planner->news.node)) < 0) {
        planner->news.all = true;
        return;
    }
    planner->news.node[planner->news.n] = node->index;
    planner->news.n++;
}

static void news_end(struct sl_planner *planner)
{
    for (size_t i = 0; i < planner->fleet.n; i++) {
        planner->fleet.node[i]->news = false;
    }
    planner->news.n = 0;
    planner->news.all = false;
}

void sl_plan_news_set(struct sl_planner *planner)
{
    news_end(planner);
    planner->news.set = planner->seq.kinds;
    sl_plan_touch(planner, SL_PLAN_KINDS);
}

void sl_plan_judge_all(struct sl_planner *planner, bool changed)
{
    if (planner->news.settled != planner->seq.kinds) {
        for (struct sl_plan_ask *ask = sl_plan_ask_first(planner); ask != NULL;
             ask = sl_plan_ask_next(ask)) {
            if (ask->never_seq != planner->seq.kinds) {
                sl_plan_judge(planner, ask);
            }
        }
        planner->news.settled = planner->seq.kinds;
        news_end(planner);
        for (struct sl_plan_pod *pod = sl_plan_pod_first(planner, SL_STAND_RESTING); pod != NULL;
             pod = sl_plan_pod_next(pod)) {
            pod->retry_us = 0; /* a change of nodes ends time-outs */
        }
        changed = true;
    }
    if (changed) {
        sl_plan_settle_all(planner);
    }
}
