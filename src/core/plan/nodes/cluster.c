/* Takes in the set of nodes and notes what changed. */
#include "core/plan/nodes/nodes.h"

#include <stdlib.h>

static bool same_host(const struct sl_host *a, const struct sl_host *b)
{
    return a->cpu_milli == b->cpu_milli && a->memory_bytes == b->memory_bytes && a->pods == b->pods;
}

/* Is it the same node for every decision, whatever runs there? */
static bool same_kind(const struct sl_node *a, const struct sl_node *b)
{
    if (a == b) {
        return true;
    }
    bool same = a->site_digest == b->site_digest && a->n_pools == b->n_pools &&
                a->n_devices == b->n_devices && a->n_instances == b->n_instances &&
                a->dynamic_mig == b->dynamic_mig && a->unschedulable == b->unschedulable &&
                same_host(&a->host, &b->host);
    for (unsigned i = 0; same && i < a->n_pools; i++) {
        same = a->pool[i].key == b->pool[i].key && a->pool[i].capacity == b->pool[i].capacity;
    }
    same = same && a->n_absent == b->n_absent;
    for (unsigned i = 0; same && i < a->n_absent; i++) {
        same = a->absent[i].key == b->absent[i].key && a->absent[i].units == b->absent[i].units;
    }
    for (unsigned i = 0; same && i < a->n_devices; i++) {
        same = a->device[i].healthy == b->device[i].healthy;
    }
    return same;
}

/* Replaces the view of the i-th node. */
static void set_base(struct sl_planner *planner, size_t i, const struct sl_view *view)
{
    struct sl_plan_node *node = planner->fleet.node[i];
    if (!same_kind(node->node, view->node) || node->base == NULL ||
        node->base->withheld != view->withheld) {
        sl_plan_news(planner, node);
        sl_plan_offer_add(planner, view->node);
        (void)sl_plan_relane(planner); /* without memory, the next refresh does it */
    }
    sl_plan_ran_diff(planner, node->base, view);
    struct sl_node *old = node->node;
    node->node = sl_node_ref(view->node);
    sl_node_unref(old);
    node->base = view;
    planner->fleet.base[i] = view;
    sl_plan_node_stale(planner, node, false);
}

/* ---- the set of nodes ---- */

static bool same_set(const struct sl_planner *planner, const struct sl_view *const *view, size_t n)
{
    bool same = planner->fleet.n == n;
    for (size_t i = 0; same && i < n; i++) {
        same = planner->fleet.base[i] == view[i] ||
               strcmp(planner->fleet.node[i]->node->name, view[i]->node->name) == 0;
    }
    return same;
}

/* Drops a removed node, or keeps it until its nominations have expired. */
static void drop_node(struct sl_planner *planner, struct sl_plan_node *node)
{
    sl_plan_ran_diff(planner, node->base, NULL);
    node->base = NULL;
    sl_plan_drain_end(planner, node);
    sl_plan_touch(planner, SL_PLAN_RUN);
    if (node->nominations == NULL) {
        sl_plan_node_free(node);
        return;
    }
    node->stale_next = planner->fleet.gone;
    planner->fleet.gone = node;
}

/* Writes the nodes of the new list: moves known ones over, makes others. False: out of memory,
 * nothing changed. */
static bool match_nodes(const struct sl_planner *planner, const struct sl_view *const *view,
                        size_t n, struct sl_plan_node **out, bool *fresh)
{
    size_t old = 0;
    for (size_t i = 0; i < n; i++) {
        int order = 1;
        while (old < planner->fleet.n) {
            order = strcmp(planner->fleet.node[old]->node->name, view[i]->node->name);
            if (order >= 0) {
                break;
            }
            old++;
        }
        bool known = old < planner->fleet.n && order == 0;
        out[i] = known ? planner->fleet.node[old] : sl_plan_node_new(view[i]);
        fresh[i] = !known;
        old += known;
        if (out[i] == NULL) {
            while (i > 0) {
                i--;
                if (fresh[i]) {
                    sl_plan_node_free(out[i]);
                }
            }
            return false;
        }
    }
    return true;
}

static void forget_places(struct sl_planner *planner)
{
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        sl_plan_reserve_end(planner, lane);
        lane->leaves = 0;
    }
    while (planner->fleet.stale != NULL) {
        struct sl_plan_node *node = planner->fleet.stale;
        planner->fleet.stale = node->stale_next;
        node->stale = false;
    }
}

static bool replace_nodes(struct sl_planner *planner, const struct sl_view *const *view, size_t n)
{
    uint32_t leaves = sl_plan_leaves_for(n);
    uint64_t *grown = calloc((size_t)2 * leaves, sizeof(*grown));
    struct sl_plan_node **node = calloc(n + 1, sizeof(struct sl_plan_node *));
    const struct sl_view **base = calloc(n + 1, sizeof(struct sl_view *));
    bool *fresh = calloc(n + 1, sizeof(*fresh));
    if (grown == NULL || node == NULL || base == NULL || fresh == NULL ||
        !match_nodes(planner, view, n, node, fresh)) {
        free(grown);
        free(node);
        free(base);
        free(fresh);
        return false;
    }
    forget_places(planner);
    sl_plan_offer_reset(planner);
    size_t kept = 0;
    for (size_t i = 0; i < planner->fleet.n; i++) {
        while (kept < n && (fresh[kept] || node[kept]->index < i)) {
            kept++;
        }
        if (kept == n || node[kept] != planner->fleet.node[i]) {
            drop_node(planner, planner->fleet.node[i]);
        }
    }
    free(planner->fleet.node);
    free(planner->fleet.base);
    free(planner->fleet.grown);
    free(fresh);
    planner->fleet.grown = grown;
    planner->fleet.leaves = leaves;
    planner->fleet.node = node;
    planner->fleet.base = base;
    planner->fleet.n = n;
    sl_plan_news_set(planner);
    for (size_t i = 0; i < n; i++) {
        node[i]->index = (uint32_t)i;
        base[i] = node[i]->base;
        sl_plan_node_stale(planner, node[i], false);
        sl_plan_offer_add(planner, view[i]->node);
        sl_plan_set_grown(planner, node[i]);
    }
    (void)sl_plan_relane(planner); /* without memory, the next refresh does it */
    return true;
}

int sl_planner_cluster(struct sl_planner *planner, const struct sl_view *const *view, size_t n,
                       int64_t now_us, struct sl_error *err)
{
    sl_plan_advance(planner, now_us);
    if (!planner->ready || !same_set(planner, view, n)) {
        if (!replace_nodes(planner, view, n)) {
            for (size_t i = 0; i < planner->fleet.n; i++) {
                sl_plan_ran_diff(planner, planner->fleet.node[i]->base, NULL);
                planner->fleet.node[i]->base = NULL;
                planner->fleet.node[i]->view = NULL; /* may be the view that is borrowed no more */
                planner->fleet.base[i] = NULL;
            }
            planner->ready = false;
            return sl_error_nomem(err);
        }
    }
    bool changed = !planner->ready;
    uint64_t seq = planner->seq.kinds;
    planner->ready = true;
    for (size_t i = 0; i < n; i++) {
        if (planner->fleet.base[i] != view[i]) {
            set_base(planner, i, view[i]);
            changed = true;
        }
    }
    if (planner->seq.kinds != seq) {
        sl_plan_offer_renew(planner);
        for (size_t i = 0; i < n; i++) {
            sl_plan_offer_add(planner, view[i]->node);
        }
    }
    sl_plan_touch(planner, changed ? SL_PLAN_NODES : 0);
    sl_plan_ran_check(planner);
    return 0;
}
