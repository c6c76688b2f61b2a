/* What there is to tell of the plan: rows, estimated starts, numbers. */
#include "core/plan_internal.h"

#include <stdlib.h>

enum { HOLES = 32 };

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- estimated starts ---- */

static bool add_freed(struct sl_planner *planner, size_t *n, const struct sl_plan_lane *lane,
                      const struct sl_pod *pod, int64_t at_us)
{
    for (unsigned i = 0; i < pod->n_items; i++) {
        if (pod->items[i].key != lane->key) {
            continue;
        }
        if (!sl_plan_grow(&planner->freed, &planner->freed_cap, *n + 1, sizeof *planner->freed)) {
            return false;
        }
        planner->freed[*n] = (struct sl_plan_freed){at_us, pod->items[i].count};
        (*n)++;
    }
    return true;
}

/* From the cluster as it was last told, not from views, that may be out of date here. */
ptrdiff_t sl_plan_freed_list(struct sl_planner *planner, const struct sl_plan_lane *lane)
{
    size_t n = 0;
    bool whole = true;
    for (size_t i = 0; i < planner->n_nodes; i++) {
        const struct sl_plan_node *node = planner->node[i];
        const struct sl_view *view = node->base;
        if (view == NULL || sl_view_pool(view, lane->key) < 0) {
            continue;
        }
        for (unsigned r = 0; r < view->n_residents && whole; r++) {
            const struct sl_pod *pod = view->resident[r].pod;
            whole = add_freed(planner, &n, lane, pod,
                              sl_plan_end(planner, pod, sl_plan_start(planner, pod)));
        }
        for (const struct sl_plan_pod *pod = node->claims; pod != NULL && whole;
             pod = pod->node_next) {
            whole = sl_plan_shows(view, pod->claim) ||
                    add_freed(planner, &n, lane, pod->claim,
                              sl_plan_end(planner, pod->pod, pod->claimed_us));
        }
    }
    return whole ? (ptrdiff_t)n : -1;
}

static void sift_down(struct sl_plan_freed *heap, size_t n, size_t at)
{
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < n; child++) {
            least = heap[child].at_us < heap[least].at_us ? child : least;
        }
        if (least == at) {
            return;
        }
        struct sl_plan_freed swap = heap[at];
        heap[at] = heap[least];
        heap[least] = swap;
        at = least;
    }
}

static void sift_up(struct sl_plan_freed *heap, size_t at)
{
    while (at > 0 && heap[at].at_us < heap[(at - 1) / 2].at_us) {
        struct sl_plan_freed swap = heap[at];
        heap[at] = heap[(at - 1) / 2];
        heap[(at - 1) / 2] = swap;
        at = (at - 1) / 2;
    }
}

static int64_t capacity_of(const struct sl_planner *planner, uint64_t key)
{
    int64_t sum = 0;
    for (size_t i = 0; i < planner->n_nodes; i++) {
        const struct sl_view *view = planner->node[i]->base;
        int pool = view == NULL ? -1 : sl_view_pool(view, key);
        sum = sl_plan_add(sum, pool < 0 ? 0 : view->room[pool].capacity);
    }
    return sum;
}

/* May anything be said of when it starts? What else than units holds it nobody knows the end of. */
static bool is_foreseen(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    enum sl_hold_reason reason = sl_plan_reason(planner, pod);
    return reason != SL_HOLD_CONSTRAINT && reason != SL_HOLD_HEADROOM && !pod->class->ask->never &&
           pod->class->early_us < INT64_MAX;
}

/* Units that are free until the pod that they go to has the rest, on one node. */
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

/* When the pod starts in one of them, the first in which it fits by its timeout; 0: in none. */
static int64_t fill_hole(struct holes *holes, const struct sl_plan_pod *pod, int64_t width)
{
    size_t at = HOLES;
    int64_t start_us = INT64_MAX;
    for (size_t i = 0; i < holes->n; i++) {
        const struct hole *hole = &holes->hole[i];
        int64_t begin_us = later(hole->from_us, pod->class->early_us);
        bool fits =
            width <= hole->units && sl_plan_add(begin_us, pod->item.timeout_us) <= hole->to_us;
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
    add_hole(holes, start_us + pod->item.timeout_us, hole.to_us, width);
    return start_us;
}

/* Pods one after the other, each as soon as its units are free and those ahead have started, and
 * not before one node can have them. */
static bool lay_out(struct sl_planner *planner, struct sl_plan_lane *lane)
{
    int64_t capacity = capacity_of(planner, lane->key);
    ptrdiff_t count = sl_plan_freed_list(planner, lane);
    if (count < 0 || !sl_plan_grow(&planner->freed, &planner->freed_cap,
                                   (size_t)count + lane->n_queue, sizeof *planner->freed)) {
        return false;
    }
    size_t n = (size_t)count;
    struct sl_plan_freed *heap = planner->freed;
    struct holes holes = {.n = 0};
    int64_t units = capacity;
    int64_t at_us = planner->now_us;
    for (size_t i = 0; i < n; i++) {
        units -= heap[i].units;
    }
    for (size_t i = n / 2; i > 0; i--) {
        sift_down(heap, n, i - 1);
    }
    for (uint32_t i = 0; i < lane->n_queue; i++) {
        struct sl_plan_pod *pod = lane->queue[i];
        int64_t width = pod->class->ask->ask.item[0].count;
        pod->start_us = 0;
        if (width > capacity || !is_foreseen(planner, pod)) {
            continue;
        }
        pod->start_us = fill_hole(&holes, pod, width);
        if (pod->start_us > 0) {
            continue;
        }
        while (units < width && n > 0) {
            at_us = heap[0].at_us > at_us ? heap[0].at_us : at_us;
            units += heap[0].units;
            n--;
            heap[0] = heap[n];
            sift_down(heap, n, 0);
        }
        if (units < width) {
            continue;
        }
        pod->start_us = later(at_us, pod->class->early_us);
        add_hole(&holes, at_us, pod->start_us, width);
        units -= width;
        heap[n] = (struct sl_plan_freed){sl_plan_add(pod->start_us, pod->item.timeout_us), width};
        sift_up(heap, n);
        n++;
    }
    return true;
}

int sl_planner_estimate(struct sl_planner *planner, int64_t now_us, struct sl_error *err)
{
    sl_plan_advance(planner, now_us);
    bool whole = sl_plan_early(planner);
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        whole = whole && lay_out(planner, lane);
    }
    return whole ? 0 : sl_error_nomem(err);
}

/* ---- rows ---- */

static bool has_room(const struct sl_plan_ask *ask)
{
    bool room = true;
    for (unsigned i = 0; i < ask->ask.n; i++) {
        const struct sl_plan_lane *lane = ask->lane[i];
        room = room && lane->leaves > 0 && lane->tree[1] >= ask->ask.item[i].count;
    }
    return room;
}

enum sl_hold_reason sl_plan_reason(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    if (!pod->queued) {
        return pod->reason;
    }
    if (pod->run == planner->run && planner->run > 0) {
        return pod->reason;
    }
    const struct sl_plan_lane *lane = sl_plan_lane_of(pod);
    if (lane->rest_run != planner->run || planner->run == 0) {
        return SL_HOLD_NONE; /* it came after the last run */
    }
    return has_room(pod->class->ask) ? lane->rest_reason : SL_HOLD_NO_ROOM;
}

static void set_estimate(const struct sl_planner *planner, const struct sl_plan_pod *pod,
                         struct sl_queue_row *row)
{
    const struct sl_plan_lane *lane = sl_plan_lane_of(pod);
    int64_t now_us = planner->now_us;
    if (pod->claim != NULL) {
        row->estimate = SL_ESTIMATE_NOW;
        row->start_us = now_us;
    } else if (pod->queued && lane->reserve.pod == pod && lane->reserve.node != NULL) {
        row->estimate = SL_ESTIMATE_RESERVED;
        row->start_us = lane->reserve.at_us > now_us ? lane->reserve.at_us : now_us;
        row->node = lane->reserve.node->node->name;
    } else if (pod->queued && pod->start_us > 0 && is_foreseen(planner, pod)) {
        row->estimate = SL_ESTIMATE_LAID_OUT;
        row->start_us = later(pod->start_us, now_us);
        bool sooner = row->latest_start_us > now_us && row->latest_start_us < row->start_us;
        row->start_us = sooner ? later(row->latest_start_us, pod->class->early_us) : row->start_us;
    }
}

static const char denied_text[] =
    "the API server refused to let it go (its Event ReleaseRefused says why), and it is tried "
    "again later";

static const char refused_text[] =
    "the API server lets no pod of its namespace go, so these are tried one at a time";

/* What the planner has to say that the reason alone does not. */
static const char *why_of(const struct sl_plan_pod *pod, enum sl_hold_reason reason)
{
    if (reason == SL_HOLD_STAGE || reason == SL_HOLD_STAGE_FAILED ||
        reason == SL_HOLD_STAGE_CYCLE) {
        return pod->why;
    }
    if (reason != SL_HOLD_LAPSED) {
        return NULL;
    }
    return pod->denied                                      ? denied_text
           : pod->strikes == 0 && sl_plan_may_not_come(pod) ? refused_text
                                                            : NULL;
}

static void make_row(const struct sl_planner *planner, const struct sl_plan_pod *pod,
                     uint32_t place, int64_t now_us, struct sl_queue_row *row)
{
    *row = (struct sl_queue_row){
        .pod = pod->pod,
        .state = pod->state,
        .reason = sl_plan_reason(planner, pod),
        .timeout_us = pod->item.timeout_us,
        .latest_start_us = sl_plan_bound_latest(planner, pod),
        .since_us = pod->since_us,
        .lapses = pod->lapses,
    };
    row->why = why_of(pod, row->reason);
    const struct sl_plan_limit *limit =
        row->reason == SL_HOLD_LIMIT ? sl_plan_limit_of(planner, pod) : NULL;
    if (limit != NULL) {
        row->limit = *limit;
    }
    if (row->reason == SL_HOLD_OVER_HEADROOM) {
        row->over = sl_plan_over_headroom(planner, pod);
    }
    sl_order_explain(&planner->config.order, &pod->item, &row->parts);
    if (pod->queued && place > 0) {
        row->ahead = place;
        row->first = sl_plan_lane_of(pod)->queue[0]->pod;
    }
    if (pod->claim != NULL) {
        row->node = pod->claim->node;
        row->assignment = pod->claim->assignment;
        int64_t since_us = sl_plan_silent_since(planner, pod);
        bool silent = since_us < INT64_MAX && now_us - since_us >= sl_plan_silence(planner);
        row->silent_us = silent ? planner->heard_us : 0;
    }
    set_estimate(planner, pod, row);
}

bool sl_planner_row(const struct sl_planner *planner, struct sl_str uid, int64_t now_us,
                    struct sl_queue_row *out)
{
    const struct sl_plan_pod *pod = sl_plan_find(planner, uid);
    if (pod == NULL) {
        return false;
    }
    uint32_t place = pod->queued ? sl_plan_queue_place(planner, sl_plan_lane_of(pod), pod) : 0;
    make_row(planner, pod, place, now_us, out);
    return true;
}

/* Claimed pods first, then those that may go, then those that something else holds. */
static int rank_of(const struct sl_plan_pod *pod)
{
    static const int ranks[SL_QUEUE_STATES] = {
        [SL_QUEUE_CLAIMED] = 0, [SL_QUEUE_HELD] = 1,  [SL_QUEUE_RELEASED] = 1,
        [SL_QUEUE_STAGED] = 2,  [SL_QUEUE_GATED] = 3, [SL_QUEUE_REFUSED] = 4,
    };
    return ranks[pod->state];
}

static int compare_for_visit(const void *context, const struct sl_plan_pod *a,
                             const struct sl_plan_pod *b)
{
    int order = rank_of(a) - rank_of(b);
    return order != 0 ? order : sl_plan_compare(context, a, b);
}

size_t sl_planner_visit(struct sl_planner *planner, int64_t now_us, size_t max,
                        void (*visit)(void *context, const struct sl_queue_row *row), void *context)
{
    size_t n = 0;
    size_t at = 0;
    if (planner->pods.len == 0) {
        return 0; /* there may be no array yet */
    }
    if (!sl_plan_grow(&planner->sort, &planner->sort_cap, 2 * planner->pods.len,
                      sizeof(struct sl_plan_pod *))) {
        return planner->pods.len;
    }
    for (struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        planner->sort[n] = pod;
        n++;
    }
    sl_plan_sort(planner->sort, planner->sort + n, n, compare_for_visit, planner);
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        lane->at = 0;
    }
    for (size_t i = 0; i < n && i < max; i++) {
        const struct sl_plan_pod *pod = planner->sort[i];
        struct sl_queue_row row;
        uint32_t place = 0;
        if (pod->queued) {
            struct sl_plan_lane *lane = sl_plan_lane_of(pod);
            place = lane->at; /* the same order as the lane's */
            lane->at++;
        }
        make_row(planner, pod, place, now_us, &row);
        visit(context, &row);
    }
    return n;
}

void sl_planner_stats(const struct sl_planner *planner, struct sl_plan_stats *out)
{
    *out = (struct sl_plan_stats){
        .claims = planner->n_claims,
        .lapses = planner->n_lapses,
        .failed = planner->n_failed,
        .backfills = planner->n_backfills,
        .releases = planner->n_releases,
        .refusals = planner->n_refusals,
    };
    memcpy(out->waiting, planner->count, sizeof out->waiting);
    size_t at = 0;
    for (const struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        int64_t since_us = pod->item.submit_us;
        bool older = out->oldest_us == 0 || since_us < out->oldest_us;
        out->oldest_us = pod->state != SL_QUEUE_REFUSED && older ? since_us : out->oldest_us;
    }
}
