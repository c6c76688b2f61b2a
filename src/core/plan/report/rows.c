/* Makes the row of each waiting pod, and the statistics. */
#include "core/plan/report/report.h"

static void set_estimate(const struct sl_planner *planner, const struct sl_plan_pod *pod,
                         struct sl_queue_row *row)
{
    const struct sl_plan_lane *lane = sl_plan_lane_of(pod);
    int64_t now_us = planner->now_us;
    bool reserved =
        sl_plan_is_queued(pod) && lane->reserve.pod == pod && lane->reserve.node != NULL;
    bool cut = row->reason == SL_HOLD_CUT;
    if (cut) {
        row->cut_node = pod->cut->node;
        row->overdue = pod->cut->start_us <= now_us;
    }
    if (pod->nomination != NULL) {
        row->estimate = SL_ESTIMATE_NOW;
        row->start_us = now_us;
    } else if (reserved && (!cut || row->overdue || lane->reserve.at_us <= pod->cut->start_us)) {
        row->estimate = SL_ESTIMATE_RESERVED;
        row->start_us = lane->reserve.at_us > now_us ? lane->reserve.at_us : now_us;
        row->node = lane->reserve.node->node->name;
    } else if (cut) {
        row->estimate = row->overdue ? SL_ESTIMATE_NONE : SL_ESTIMATE_LAID_OUT;
        row->start_us = row->overdue ? 0 : pod->cut->start_us;
        row->node = pod->cut->node;
    } else if (sl_plan_is_queued(pod) && pod->start_us > 0 && sl_plan_is_foreseen(planner, pod)) {
        row->estimate = SL_ESTIMATE_LAID_OUT;
        row->start_us = sl_plan_later(pod->start_us, now_us);
        int64_t by_us = row->tenant != NULL ? row->own_start_us : row->latest_start_us;
        bool sooner = by_us > now_us && by_us < row->start_us;
        row->start_us = sooner ? sl_plan_later(by_us, pod->class->early_us) : row->start_us;
    }
}

/* Sooner than by timeouts, or not worth a word. */
static void set_usual(const struct sl_planner *planner, const struct sl_plan_pod *pod,
                      struct sl_queue_row *row)
{
    row->usual_us = sl_plan_usual(planner, pod->pod);
    bool waits = row->estimate == SL_ESTIMATE_RESERVED || row->estimate == SL_ESTIMATE_LAID_OUT;
    int64_t start_us = sl_plan_later(pod->usual_start_us, planner->now_us);
    bool known = waits && sl_plan_is_queued(pod) && pod->usual_start_us > 0 &&
                 sl_plan_learns(planner) && row->reason != SL_HOLD_CUT;
    row->usual_start_us = known && start_us < row->start_us ? start_us : 0;
}

static const char denied_text[] =
    "the API server refused to let it go (its Event ReleaseRefused says why), and it is tried "
    "again later";

static const char refused_text[] =
    "the API server lets no pod of its namespace go, so these are tried one at a time";

/* A cut is of interest to a pod that waits for room, on any node or on those that it may have. */
static bool lacks_room(enum sl_hold_reason reason)
{
    return reason == SL_HOLD_NO_ROOM || reason == SL_HOLD_CONSTRAINT;
}

static const char service_text[] =
    "the nodes that could take it do not offer all their units now: GPUs are out of service, or "
    "the device plugin is";

static bool lacks_service(const struct sl_planner *planner, const struct sl_ask *ask)
{
    bool lacks = false;
    for (unsigned i = 0; i < ask->n && !lacks; i++) {
        lacks = ask->item[i].count > sl_plan_offer_now(planner, ask->item[i].key);
    }
    return lacks;
}

/* The words about the pod beyond its reason; NULL: none. */
static const char *why_of(const struct sl_planner *planner, const struct sl_plan_pod *pod,
                          enum sl_hold_reason reason)
{
    if (reason == SL_HOLD_STAGE || reason == SL_HOLD_STAGE_FAILED ||
        reason == SL_HOLD_STAGE_CYCLE) {
        return pod->why;
    }
    if (reason == SL_HOLD_CUT) {
        return pod->cut->text;
    }
    if (lacks_room(reason) && pod->drain_text == NULL && sl_plan_is_queued(pod) &&
        lacks_service(planner, &pod->class->ask->ask)) {
        return service_text;
    }
    if (reason != SL_HOLD_EXPIRED) {
        return lacks_room(reason) ? pod->drain_text : NULL;
    }
    return pod->denied                                      ? denied_text
           : pod->strikes == 0 && sl_plan_may_not_come(pod) ? refused_text
                                                            : NULL;
}

static enum sl_hold_reason reason_of(const struct sl_planner *planner,
                                     const struct sl_plan_pod *pod)
{
    enum sl_hold_reason reason = sl_plan_reason(planner, pod);
    return pod->cut != NULL && sl_plan_is_queued(pod) && lacks_room(reason) ? SL_HOLD_CUT : reason;
}

static void make_row(const struct sl_planner *planner, const struct sl_plan_pod *pod,
                     uint32_t place, int64_t now_us, struct sl_queue_row *row)
{
    *row = (struct sl_queue_row){
        .pod = pod->pod,
        .state = pod->state,
        .reason = reason_of(planner, pod),
        .timeout_us = pod->item.timeout_us,
        .latest_start_us = planner->order == NULL ? 0 : planner->order->latest(planner, pod),
        .tenant = pod->space->tenant == NULL ? NULL : pod->space->tenant->name,
        .own_start_us = sl_plan_own_start(planner, pod),
        .since_us = pod->since_us,
        .ready_us = pod->ready_us,
        .expiries = pod->expiries,
    };
    row->why = why_of(planner, pod, row->reason);
    const struct sl_plan_limit *limit =
        row->reason == SL_HOLD_LIMIT ? sl_plan_limit_of(planner, pod) : NULL;
    if (limit != NULL) {
        row->limit = *limit;
    }
    if (row->reason == SL_HOLD_OVER_HEADROOM) {
        row->over = sl_plan_over_headroom(planner, pod);
    }
    sl_order_explain(&planner->config.order, &pod->item, &row->parts);
    if (place > 0) {
        row->ahead = place;
        row->first = sl_plan_lane_of(pod)->queue[0]->pod;
    }
    if (pod->nomination != NULL) {
        row->node = pod->nomination->pod->node;
        row->assignment = pod->nomination->pod->assignment;
        int64_t since_us = sl_plan_silent_since(planner, pod);
        bool silent = since_us < INT64_MAX && now_us - since_us >= sl_plan_silence(planner);
        row->silent_us = silent ? planner->heard_us : 0;
    }
    set_estimate(planner, pod, row);
    set_usual(planner, pod, row);
}

bool sl_planner_row(const struct sl_planner *planner, struct sl_str uid, int64_t now_us,
                    struct sl_queue_row *out)
{
    const struct sl_plan_pod *pod = sl_plan_find(planner, uid);
    if (pod == NULL) {
        return false;
    }
    uint32_t place =
        sl_plan_is_queued(pod) ? sl_plan_queue_place(planner, sl_plan_lane_of(pod), pod) : 0;
    make_row(planner, pod, place, now_us, out);
    return true;
}

/* Nominated pods first, then those that only wait for their turn, then all others. */
static int rank_of(const struct sl_plan_pod *pod)
{
    static const int ranks[SL_QUEUE_STATES] = {
        [SL_QUEUE_NOMINATED] = 0, [SL_QUEUE_HELD] = 1,  [SL_QUEUE_RELEASED] = 1,
        [SL_QUEUE_STAGED] = 2,    [SL_QUEUE_GATED] = 3, [SL_QUEUE_REFUSED] = 4,
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
    if (sl_vec_reserve(&planner->scratch.sort, &planner->scratch.sort_cap, 2 * planner->pods.len,
                       sizeof(struct sl_plan_pod *)) < 0) {
        return planner->pods.len;
    }
    for (struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        planner->scratch.sort[n] = pod;
        n++;
    }
    sl_plan_sort(planner->scratch.sort, planner->scratch.sort + n, n, compare_for_visit, planner);
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        lane->visited = 0;
    }
    for (size_t i = 0; i < n && i < max; i++) {
        const struct sl_plan_pod *pod = planner->scratch.sort[i];
        struct sl_queue_row row;
        uint32_t place = 0;
        if (sl_plan_is_queued(pod)) {
            struct sl_plan_lane *lane = sl_plan_lane_of(pod);
            place = lane->visited; /* the same order as the lane's */
            lane->visited++;
        }
        make_row(planner, pod, place, now_us, &row);
        visit(context, &row);
    }
    return n;
}

void sl_planner_stats(const struct sl_planner *planner, struct sl_plan_stats *out)
{
    *out = planner->stats;
    size_t at = 0;
    for (const struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        int64_t since_us = pod->item.submit_us;
        out->waiting[pod->state]++;
        bool older = out->oldest_us == 0 || since_us < out->oldest_us;
        out->oldest_us = pod->state != SL_QUEUE_REFUSED && older ? since_us : out->oldest_us;
    }
}

bool sl_queue_wants_cut(const struct sl_queue_row *row, int64_t now_us, struct sl_cut_pod *out)
{
    bool known = row->estimate != SL_ESTIMATE_NONE && row->start_us > now_us;
    *out = (struct sl_cut_pod){
        .pod = row->pod,
        .has_room = row->reason == SL_HOLD_PACE,
        .timeout_us = row->timeout_us,
        .ready_us = row->ready_us,
        .start_us = known ? row->start_us : 0,
        .latest_us = row->latest_start_us,
    };
    return row->state == SL_QUEUE_HELD && row->expiries == 0 &&
           (lacks_room(row->reason) || out->has_room);
}
