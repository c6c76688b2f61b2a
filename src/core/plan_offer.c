/* What nodes offer, and which asks could ever come true. Asks for what no node offers have one lane
 * for all of them: whatever names their pods invent, no other lane gets longer, and there is not
 * one more. */
#include "core/plan_internal.h"

#include <stdlib.h>

/* ---- resources ---- */

static size_t place_of(const struct sl_planner *planner, uint64_t key)
{
    size_t low = 0;
    size_t high = planner->n_offers;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (planner->offer[middle].key < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Without memory every resource counts as offered, until all nodes are told anew. */
void sl_plan_offer_add(struct sl_planner *planner, const struct sl_node *node)
{
    for (unsigned i = 0; i < node->n_pools; i++) {
        const struct sl_pool *pool = &node->pool[i];
        size_t at = place_of(planner, pool->key);
        bool known = at < planner->n_offers && planner->offer[at].key == pool->key;
        if (known) {
            int64_t most = planner->offer[at].most;
            planner->offer[at].most = pool->capacity > most ? pool->capacity : most;
            continue;
        }
        planner->moves = true;
        if (!sl_plan_grow(&planner->offer, &planner->offer_cap, planner->n_offers + 1,
                          sizeof *planner->offer)) {
            planner->offers_all = true;
            continue;
        }
        memmove(planner->offer + at + 1, planner->offer + at,
                (planner->n_offers - at) * sizeof *planner->offer);
        planner->offer[at] = (struct sl_plan_offer){pool->key, pool->capacity};
        planner->n_offers++;
    }
}

void sl_plan_offer_reset(struct sl_planner *planner)
{
    planner->n_offers = 0;
    planner->offers_all = false;
    planner->moves = true;
}

/* Units that a node has at most, of those seen since all were told; 0: no node offers it. */
static int64_t most_of(const struct sl_planner *planner, uint64_t key)
{
    size_t at = place_of(planner, key);
    bool known = at < planner->n_offers && planner->offer[at].key == key;
    return planner->offers_all ? INT64_MAX : known ? planner->offer[at].most : 0;
}

bool sl_plan_offers(const struct sl_planner *planner, uint64_t key)
{
    return most_of(planner, key) > 0;
}

/* ---- asks that no node could take ---- */

static bool could_take(struct sl_planner *planner, size_t node, const struct sl_ask *ask)
{
    struct sl_verdict verdict;
    planner->judged++;
    return sl_fit(planner->node[node]->base, ask, &verdict) || !sl_reason_is_never(verdict.reason);
}

static bool is_hopeless(const struct sl_planner *planner, const struct sl_ask *ask)
{
    bool hopeless = false;
    for (unsigned i = 0; i < ask->n && !hopeless; i++) {
        hopeless = ask->item[i].count > most_of(planner, ask->item[i].key);
    }
    return hopeless;
}

static bool find_taker(struct sl_planner *planner, struct sl_plan_ask *ask)
{
    for (size_t i = 0; i < planner->n_nodes; i++) {
        if (could_take(planner, i, &ask->ask)) {
            ask->taker = (uint32_t)i;
            return true;
        }
    }
    return false;
}

/* Only nodes that are others than before can make it another answer. */
static bool find_again(struct sl_planner *planner, struct sl_plan_ask *ask)
{
    if (!ask->never && !planner->node[ask->taker]->news) {
        return true;
    }
    for (size_t i = 0; i < planner->n_news; i++) {
        if (could_take(planner, planner->news[i], &ask->ask)) {
            ask->taker = planner->news[i];
            return true;
        }
    }
    return !ask->never && find_taker(planner, ask);
}

void sl_plan_judge(struct sl_planner *planner, struct sl_plan_ask *ask)
{
    bool known = ask->never_seq > planner->set_seq && !planner->all_news;
    bool never = planner->n_nodes > 0;
    if (never && !is_hopeless(planner, &ask->ask)) {
        never = known ? !find_again(planner, ask) : !find_taker(planner, ask);
    } else if (never) {
        ask->taker = 0;
    }
    ask->never = never;
    ask->never_seq = planner->nodes_seq;
}

void sl_plan_news(struct sl_planner *planner, struct sl_plan_node *node)
{
    planner->nodes_seq++;
    if (node->news) {
        return;
    }
    node->news = true;
    if (!sl_plan_grow(&planner->news, &planner->news_cap, planner->n_news + 1,
                      sizeof *planner->news)) {
        planner->all_news = true;
        return;
    }
    planner->news[planner->n_news] = node->index;
    planner->n_news++;
}

void sl_plan_news_end(struct sl_planner *planner)
{
    for (size_t i = 0; i < planner->n_nodes; i++) {
        planner->node[i]->news = false;
    }
    planner->n_news = 0;
    planner->all_news = false;
}

static void settle_all(struct sl_planner *planner)
{
    size_t at = 0;
    for (struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        sl_plan_settle(planner, pod);
    }
}

void sl_plan_judge_all(struct sl_planner *planner, bool changed)
{
    if (planner->settled_seq != planner->nodes_seq) {
        for (struct sl_plan_ask *ask = planner->ask; ask != NULL; ask = ask->next) {
            if (ask->never_seq != planner->nodes_seq) {
                sl_plan_judge(planner, ask);
            }
        }
        planner->settled_seq = planner->nodes_seq;
        sl_plan_news_end(planner);
        for (struct sl_plan_pod *pod = planner->lapsed.first; pod != NULL; pod = pod->next) {
            pod->retry_us = 0; /* nodes are others: time-outs end */
        }
        changed = true;
    }
    if (changed) {
        settle_all(planner);
    }
}

/* ---- from the lane of what nobody offers ---- */

/* Its pods that move on are in no queue. */
static void take_out(struct sl_planner *planner)
{
    struct sl_plan_lane *nowhere = planner->nowhere;
    uint32_t n = 0;
    for (uint32_t i = 0; i < nowhere->n_queue; i++) {
        struct sl_plan_pod *pod = nowhere->queue[i];
        pod->queued = !pod->class->ask->moving;
        planner->n_nominated -= !pod->queued && pod->nominated;
        nowhere->queue[n] = pod;
        n += pod->queued;
    }
    nowhere->n_queue = n;
    sl_plan_reserve_end(planner, nowhere);
    sl_plan_preempt_end(planner, nowhere);
}

bool sl_plan_relane(struct sl_planner *planner)
{
    bool any = false;
    bool whole = true;
    if (!planner->moves) {
        return true;
    }
    for (struct sl_plan_ask *ask = planner->ask; ask != NULL; ask = ask->next) {
        ask->moving = false;
        for (unsigned i = 0; i < ask->ask.n; i++) {
            ask->moving = ask->moving || (ask->lane[i] == planner->nowhere &&
                                          sl_plan_offers(planner, ask->ask.item[i].key));
        }
        any = any || ask->moving;
    }
    if (any) {
        take_out(planner);
    }
    for (struct sl_plan_ask *ask = planner->ask; any && ask != NULL; ask = ask->next) {
        whole = (!ask->moving || sl_plan_ask_move(planner, ask)) && whole;
    }
    size_t at = 0;
    for (struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); any && pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        if (pod->class != NULL && pod->class->ask->moving) {
            sl_plan_settle(planner, pod);
        }
    }
    planner->moves = !whole;
    return whole;
}
