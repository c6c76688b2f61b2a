/* The nodes as the plan sees them: what is in use and what claims set aside; and for each resource
 * where there is room. Views are made anew only where something changed. */
#include "core/plan_internal.h"

#include <stdlib.h>

/* ---- nodes ---- */

void sl_plan_node_free(struct sl_plan_node *node)
{
    sl_view_free(node->own);
    sl_node_unref(node->node);
    free(node->end);
    free(node);
}

static struct sl_plan_node *node_new(const struct sl_view *base)
{
    struct sl_plan_node *node = calloc(1, sizeof *node);
    if (node != NULL) {
        node->node = sl_node_ref(base->node);
    }
    return node;
}

void sl_plan_node_stale(struct sl_planner *planner, struct sl_plan_node *node, bool shrunk)
{
    planner->dirty = true;
    if (node->stale) {
        node->shrunk = node->shrunk && shrunk;
    } else if (node->base != NULL) {
        node->stale = true;
        node->shrunk = shrunk;
        node->stale_next = planner->stale;
        planner->stale = node;
    }
}

struct sl_plan_node *sl_plan_node_find(const struct sl_planner *planner, const char *name)
{
    size_t low = 0;
    size_t high = planner->n_nodes;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(planner->node[middle]->node->name, name);
        if (order == 0) {
            return planner->node[middle];
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return NULL;
}

static bool same_host(const struct sl_host *a, const struct sl_host *b)
{
    return a->cpu_milli == b->cpu_milli && a->memory_bytes == b->memory_bytes && a->pods == b->pods;
}

/* Is it, whatever runs there, the same node for every decision? */
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
    for (unsigned i = 0; same && i < a->n_devices; i++) {
        same = a->device[i].healthy == b->device[i].healthy;
    }
    return same;
}

/* A view that replaces the one before. */
static void set_base(struct sl_planner *planner, size_t i, const struct sl_view *view)
{
    struct sl_plan_node *node = planner->node[i];
    if (!same_kind(node->node, view->node) || node->base == NULL) {
        sl_plan_news(planner, node);
        sl_plan_offer_add(planner, view->node);
        (void)sl_plan_relane(planner); /* without memory at the next refresh */
    }
    sl_plan_bound_diff(planner, node->base, view);
    struct sl_node *old = node->node;
    node->node = sl_node_ref(view->node);
    sl_node_unref(old);
    node->base = view;
    planner->base[i] = view;
    sl_plan_node_stale(planner, node, false);
}

/* ---- the set of nodes ---- */

static bool same_set(const struct sl_planner *planner, const struct sl_view *const *view, size_t n)
{
    bool same = planner->n_nodes == n;
    for (size_t i = 0; same && i < n; i++) {
        same = planner->base[i] == view[i] ||
               strcmp(planner->node[i]->node->name, view[i]->node->name) == 0;
    }
    return same;
}

/* A node that is there no more. One with claims is kept until they are given back. */
static void drop_node(struct sl_planner *planner, struct sl_plan_node *node)
{
    sl_plan_bound_diff(planner, node->base, NULL);
    node->base = NULL;
    planner->dirty = true;
    if (node->claims == NULL) {
        sl_plan_node_free(node);
        return;
    }
    node->stale_next = planner->gone;
    planner->gone = node;
}

/* The nodes of the new list: those known move over, others are made. Nothing has changed where it
 * returns false: out of memory. */
static bool match_nodes(const struct sl_planner *planner, const struct sl_view *const *view,
                        size_t n, struct sl_plan_node **out, bool *fresh)
{
    size_t old = 0;
    for (size_t i = 0; i < n; i++) {
        int order = 1;
        while (old < planner->n_nodes) {
            order = strcmp(planner->node[old]->node->name, view[i]->node->name);
            if (order >= 0) {
                break;
            }
            old++;
        }
        bool known = old < planner->n_nodes && order == 0;
        out[i] = known ? planner->node[old] : node_new(view[i]);
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
    while (planner->stale != NULL) {
        struct sl_plan_node *node = planner->stale;
        planner->stale = node->stale_next;
        node->stale = false;
    }
}

static uint32_t leaves_for(size_t n)
{
    uint32_t leaves = 1;
    while (leaves < n) {
        leaves *= 2;
    }
    return leaves;
}

static void set_grown(struct sl_planner *planner, const struct sl_plan_node *node)
{
    uint64_t *tree = planner->grown;
    for (uint32_t at = planner->grown_leaves + node->index; at > 0 && tree[at] < node->seq;
         at /= 2) {
        tree[at] = node->seq;
    }
}

void sl_plan_node_grown(struct sl_planner *planner, struct sl_plan_node *node)
{
    planner->seq++;
    node->seq = planner->seq;
    if (node->base != NULL) { /* else it is not there */
        set_grown(planner, node);
    }
}

static bool replace_nodes(struct sl_planner *planner, const struct sl_view *const *view, size_t n)
{
    uint32_t leaves = leaves_for(n);
    uint64_t *grown = calloc((size_t)2 * leaves, sizeof *grown);
    struct sl_plan_node **node = calloc(n + 1, sizeof(struct sl_plan_node *));
    const struct sl_view **base = calloc(n + 1, sizeof(struct sl_view *));
    bool *fresh = calloc(n + 1, sizeof *fresh);
    if (grown == NULL || node == NULL || base == NULL || fresh == NULL ||
        !match_nodes(planner, view, n, node, fresh)) {
        free(grown);
        free(node);
        free(base);
        free(fresh);
        return false;
    }
    forget_places(planner);
    sl_plan_news_end(planner);
    sl_plan_offer_reset(planner);
    size_t kept = 0;
    for (size_t i = 0; i < planner->n_nodes; i++) {
        while (kept < n && (fresh[kept] || node[kept]->index < i)) {
            kept++;
        }
        if (kept < n && node[kept] == planner->node[i]) {
            kept++;
            continue;
        }
        drop_node(planner, planner->node[i]);
    }
    free(planner->node);
    free(planner->base);
    free(planner->grown);
    free(fresh);
    planner->grown = grown;
    planner->grown_leaves = leaves;
    planner->node = node;
    planner->base = base;
    planner->n_nodes = n;
    planner->set_seq = planner->nodes_seq; /* whoever was judged by then is judged anew */
    planner->nodes_seq++;
    for (size_t i = 0; i < n; i++) {
        node[i]->index = (uint32_t)i;
        base[i] = node[i]->base;
        sl_plan_node_stale(planner, node[i], false);
        sl_plan_offer_add(planner, view[i]->node);
        set_grown(planner, node[i]);
    }
    (void)sl_plan_relane(planner); /* without memory at the next refresh */
    return true;
}

int sl_planner_cluster(struct sl_planner *planner, const struct sl_view *const *view, size_t n,
                       int64_t now_us, struct sl_error *err)
{
    sl_plan_advance(planner, now_us);
    if (!planner->ready || !same_set(planner, view, n)) {
        if (!replace_nodes(planner, view, n)) {
            for (size_t i = 0; i < planner->n_nodes; i++) {
                sl_plan_bound_diff(planner, planner->node[i]->base, NULL);
                planner->node[i]->base = NULL;
                planner->base[i] = NULL;
            }
            planner->ready = false;
            return sl_error_nomem(err);
        }
    }
    bool changed = !planner->ready;
    planner->ready = true;
    for (size_t i = 0; i < n; i++) {
        if (planner->base[i] != view[i]) {
            set_base(planner, i, view[i]);
            changed = true;
        }
    }
    planner->touch += changed;
    sl_plan_ran_check(planner);
    return 0;
}

/* ---- where there is room ---- */

static int64_t largest_of(const struct sl_view *view, const struct sl_plan_lane *lane,
                          uint32_t node, int64_t *free_units, int64_t *capacity)
{
    (void)node;
    int pool = view == NULL || lane->nowhere ? -1 : sl_view_pool(view, lane->key);
    *free_units = pool < 0 ? 0 : view->room[pool].free;
    *capacity = pool < 0 ? 0 : view->room[pool].capacity;
    return pool < 0 ? 0 : view->room[pool].largest;
}

static void set_leaf(struct sl_plan_lane *lane, const struct sl_plan_node *node)
{
    int64_t units = 0;
    int64_t capacity = 0;
    uint32_t at = lane->leaves + node->index;
    int64_t largest = largest_of(node->view, lane, node->index, &units, &capacity);
    lane->free += units - lane->node_free[node->index];
    lane->capacity += capacity - lane->node_capacity[node->index];
    lane->node_free[node->index] = units;
    lane->node_capacity[node->index] = capacity;
    lane->tree[at] = largest;
    for (at /= 2; at > 0; at /= 2) {
        size_t left = 2 * (size_t)at;
        int64_t a = lane->tree[left];
        int64_t b = lane->tree[left + 1];
        int64_t most = a > b ? a : b;
        if (lane->tree[at] == most) {
            break;
        }
        lane->tree[at] = most;
    }
}

static bool build_tree(const struct sl_planner *planner, struct sl_plan_lane *lane)
{
    uint32_t leaves = leaves_for(planner->n_nodes);
    int64_t *tree = calloc((size_t)2 * leaves, sizeof *tree);
    int64_t *units = calloc((size_t)2 * leaves, sizeof *units);
    if (tree == NULL || units == NULL) {
        free(tree);
        free(units);
        return false;
    }
    free(lane->tree);
    free(lane->node_free);
    lane->tree = tree;
    lane->node_free = units;
    lane->node_capacity = units + leaves;
    lane->leaves = leaves;
    lane->free = 0;
    lane->capacity = 0;
    for (size_t i = 0; i < planner->n_nodes; i++) {
        uint32_t at = leaves + (uint32_t)i;
        lane->tree[at] = largest_of(planner->node[i]->view, lane, (uint32_t)i, &lane->node_free[i],
                                    &lane->node_capacity[i]);
        lane->free += lane->node_free[i];
        lane->capacity += lane->node_capacity[i];
    }
    for (uint32_t at = leaves - 1; at > 0; at--) {
        size_t left = 2 * (size_t)at;
        int64_t a = tree[left];
        int64_t b = tree[left + 1];
        tree[at] = a > b ? a : b;
    }
    return true;
}

/* ---- views with claims ---- */

static int64_t cpu_of(const struct sl_pod *pod)
{
    return pod->constraints == NULL ? 0 : pod->constraints->cpu_milli;
}

static int64_t memory_of(const struct sl_pod *pod)
{
    return pod->constraints == NULL ? 0 : pod->constraints->memory_bytes;
}

bool sl_plan_shows(const struct sl_view *view, const struct sl_pod *pod)
{
    for (unsigned i = 0; i < view->n_residents; i++) {
        const struct sl_resident *resident = &view->resident[i];
        if (resident->pod->created_us == pod->created_us &&
            strcmp(resident->pod->uid, pod->uid) == 0) {
            return true;
        }
    }
    return false;
}

/* Where a pod that came first has its place: a view's residents are in order of creation. */
struct sl_view *sl_plan_node_with(struct sl_planner *planner, const struct sl_plan_node *node,
                                  struct sl_pod *more)
{
    const struct sl_view *base = node->base;
    size_t n = base->n_residents;
    if (!sl_plan_grow(&planner->pod_list, &planner->pod_cap, n + 1, sizeof(struct sl_pod *))) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        planner->pod_list[i] = base->resident[i].pod;
    }
    int64_t cpu = base->cpu_milli;
    int64_t memory = base->memory_bytes;
    uint32_t pods = base->n_pods;
    for (const struct sl_plan_pod *pod = node->claims; pod != NULL || more != NULL;
         pod = pod == NULL ? NULL : pod->node_next) {
        struct sl_pod *claim = pod == NULL ? more : pod->claim;
        more = pod == NULL ? NULL : more;
        if (pod != NULL && pod->shown) {
            continue;
        }
        if (!sl_plan_grow(&planner->pod_list, &planner->pod_cap, n + 1, sizeof(struct sl_pod *))) {
            return NULL;
        }
        planner->pod_list[n] = claim;
        n++;
        cpu = sl_plan_add(cpu, cpu_of(claim));
        memory = sl_plan_add(memory, memory_of(claim));
        pods++;
    }
    struct sl_view *view = sl_view_new(node->node, planner->pod_list, n);
    if (view != NULL) {
        view->cpu_milli = cpu;
        view->memory_bytes = memory;
        view->n_pods = pods;
    }
    return view;
}

static int32_t least_priority(const struct sl_view *view)
{
    int32_t least = INT32_MAX;
    for (unsigned i = 0; i < view->n_residents; i++) {
        int32_t priority = view->resident[i].pod->priority;
        least = priority < least ? priority : least;
    }
    return least;
}

void sl_plan_node_take(struct sl_planner *planner, struct sl_plan_node *node, struct sl_view *own)
{
    sl_view_free(node->own);
    node->own = own;
    node->view = own != NULL ? own : node->base;
    node->n_ends = 0;
    node->least_priority = least_priority(node->view);
    planner->touch++;
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        if (lane->leaves > 0) {
            set_leaf(lane, node);
        }
    }
}

/* Does every part of the claim still have its place? Books it when it does. */
static bool holds(struct sl_scratch *scratch, const struct sl_pod *claim)
{
    const struct sl_node *node = scratch->view->node;
    struct sl_assignment assignment;
    if (!sl_assignment_read(node, claim->items, claim->n_items, sl_str_of(claim->assignment),
                            &assignment)) {
        return false;
    }
    for (unsigned i = 0; i < assignment.n; i++) {
        const struct sl_assignment_part *part = &assignment.part[i];
        int pool = sl_view_pool(scratch->view, claim->items[part->item].key);
        const struct sl_ask_item *item = &claim->items[part->item];
        if (pool < 0 || !sl_scratch_can_hold(scratch, (unsigned)pool, part) ||
            !sl_scratch_has_memory(scratch, (unsigned)pool, item, part) ||
            (part->device >= 0 && !node->device[part->device].healthy)) {
            return false;
        }
        int64_t used = scratch->pool_used[pool];
        if (part->amount > node->pool[pool].capacity - used) {
            return false;
        }
        if (node->pool[pool].kind == SL_KIND_MEMORY && part->device >= 0 &&
            part->amount > node->device[part->device].memory_units -
                               scratch->device[part->device].memory_units) {
            return false;
        }
        sl_scratch_take(scratch, (unsigned)pool, item, part, 1);
    }
    return true;
}

/* Cordoned, tainted or labelled otherwise since: kube-scheduler would not place it there. */
static bool is_admitted(struct sl_planner *planner, const struct sl_plan_pod *pod,
                        const struct sl_plan_node *node)
{
    return pod->class != NULL && sl_plan_admits(planner, pod->class, node->node);
}

/* Gives back the claims that what else came to the node has taken the place of, or that the node as
 * it is now would not take. */
static void check_claims(struct sl_planner *planner, struct sl_plan_node *node)
{
    struct sl_scratch scratch;
    sl_scratch_init(&scratch, node->base);
    struct sl_plan_pod *next = NULL;
    for (struct sl_plan_pod *pod = node->claims; pod != NULL; pod = next) {
        next = pod->node_next;
        pod->shown = sl_plan_shows(node->base, pod->claim);
        if (pod->broken || !is_admitted(planner, pod, node) ||
            (!pod->shown && !holds(&scratch, pod->claim))) {
            sl_plan_lapse(planner, pod, SL_HOLD_NO_ROOM);
        }
    }
}

static bool hides_a_claim(const struct sl_plan_node *node)
{
    bool hidden = false;
    for (const struct sl_plan_pod *pod = node->claims; pod != NULL; pod = pod->node_next) {
        hidden = hidden || !pod->shown;
    }
    return hidden;
}

static bool freshen(struct sl_planner *planner, struct sl_plan_node *node)
{
    check_claims(planner, node);
    struct sl_view *own = NULL;
    if (hides_a_claim(node)) {
        own = sl_plan_node_with(planner, node, NULL);
        if (own == NULL) {
            return false;
        }
    }
    if (!node->shrunk || node->seq == 0) {
        sl_plan_node_grown(planner, node);
    }
    sl_plan_node_take(planner, node, own);
    return true;
}

bool sl_plan_refresh(struct sl_planner *planner)
{
    if (!planner->ready) {
        return true;
    }
    while (planner->stale != NULL) {
        struct sl_plan_node *node = planner->stale;
        if (!freshen(planner, node)) {
            return false;
        }
        planner->stale = node->stale_next;
        node->stale = false;
    }
    bool built = sl_plan_relane(planner);
    bool counted = false; /* units of a resource, for headroom */
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        counted = counted || (lane->leaves == 0 && planner->config.n_headrooms > 0);
        built = built && (lane->leaves > 0 || build_tree(planner, lane));
    }
    if (built) {
        sl_plan_judge_all(planner, counted);
        sl_plan_bound_capacity(planner);
    }
    return built;
}
