/* The pods of a lane in their order: a sorted array. */
#include "core/plan_internal.h"

#include <stdlib.h>

enum { MOVES = 2 }; /* for each pod: above that, merging costs less than inserting */

int sl_plan_compare(const struct sl_planner *planner, const struct sl_plan_pod *a,
                    const struct sl_plan_pod *b)
{
    return sl_order_compare(&planner->config.order, &a->item, &b->item, planner->order_now_us);
}

uint32_t sl_plan_queue_place(const struct sl_planner *planner, const struct sl_plan_lane *lane,
                             const struct sl_plan_pod *pod)
{
    uint32_t low = 0;
    uint32_t high = lane->n_queue;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sl_plan_compare(planner, lane->queue[middle], pod) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool sl_plan_queue_reserve(struct sl_plan_lane *lane, size_t n)
{
    if (n <= lane->queue_cap) {
        return true;
    }
    size_t cap = lane->queue_cap < 16 ? 16 : lane->queue_cap;
    while (cap < n) {
        cap *= 2;
    }
    if (cap > UINT32_MAX) {
        return false;
    }
    struct sl_plan_pod **fresh = realloc(lane->queue, cap * sizeof(struct sl_plan_pod *));
    if (fresh == NULL) {
        return false;
    }
    lane->queue = fresh;
    lane->queue_cap = (uint32_t)cap;
    return true;
}

void sl_plan_queue_add(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    struct sl_plan_lane *lane = sl_plan_lane_of(pod);
    uint32_t at = sl_plan_queue_place(planner, lane, pod);
    memmove(lane->queue + at + 1, lane->queue + at,
            (lane->n_queue - at) * sizeof(struct sl_plan_pod *));
    lane->queue[at] = pod;
    lane->n_queue++;
    pod->queued = true;
    planner->n_nominated += pod->nominated;
    planner->dirty = true;
    sl_plan_bound_arrive(planner, pod);
}

void sl_plan_queue_remove(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    struct sl_plan_lane *lane = sl_plan_lane_of(pod);
    uint32_t at = sl_plan_queue_place(planner, lane, pod);
    while (lane->queue[at] != pod) {
        at++; /* only where two have the same UID, submission and timeout */
    }
    lane->n_queue--;
    memmove(lane->queue + at, lane->queue + at + 1,
            (lane->n_queue - at) * sizeof(struct sl_plan_pod *));
    lane->at -= at < lane->at;
    pod->queued = false;
    planner->n_nominated -= pod->nominated;
    if (lane->reserve.pod == pod) {
        sl_plan_reserve_end(planner, lane);
        planner->dirty = true;
    }
    if (lane->preemptor == pod) {
        sl_plan_preempt_end(planner, lane);
    }
}

/* The end of the run of pods that are in order from start on. */
static size_t run_end(struct sl_plan_pod *const *pods, size_t start, size_t n,
                      int (*compare)(const void *, const struct sl_plan_pod *,
                                     const struct sl_plan_pod *),
                      const void *context)
{
    size_t end = start + 1;
    while (end < n && compare(context, pods[end - 1], pods[end]) <= 0) {
        end++;
    }
    return end;
}

static void merge(struct sl_plan_pod **pods, struct sl_plan_pod **scratch, size_t start,
                  size_t middle, size_t end,
                  int (*compare)(const void *, const struct sl_plan_pod *,
                                 const struct sl_plan_pod *),
                  const void *context)
{
    size_t a = start;
    size_t b = middle;
    size_t n = 0;
    while (a < middle && b < end) {
        bool second = compare(context, pods[b], pods[a]) < 0;
        scratch[n] = second ? pods[b] : pods[a];
        b += second;
        a += !second;
        n++;
    }
    memcpy(scratch + n, pods + a, (middle - a) * sizeof(struct sl_plan_pod *));
    n += middle - a; /* those from b on stand where they are to be */
    memcpy(pods + start, scratch, n * sizeof(struct sl_plan_pod *));
}

/* Where only neighbours have changed places a few moves do. False, and only some of it done, when
 * it would take many. */
static bool insert_all(struct sl_plan_pod **pods, size_t n,
                       int (*compare)(const void *, const struct sl_plan_pod *,
                                      const struct sl_plan_pod *),
                       const void *context)
{
    size_t moves = 0;
    for (size_t i = 1; i < n && moves <= MOVES * n; i++) {
        struct sl_plan_pod *pod = pods[i];
        size_t at = i;
        while (at > 0 && moves <= MOVES * n && compare(context, pod, pods[at - 1]) < 0) {
            pods[at] = pods[at - 1];
            at--;
            moves++;
        }
        pods[at] = pod;
    }
    return moves <= MOVES * n;
}

void sl_plan_sort(struct sl_plan_pod **pods, struct sl_plan_pod **scratch, size_t n,
                  int (*compare)(const void *context, const struct sl_plan_pod *a,
                                 const struct sl_plan_pod *b),
                  const void *context)
{
    bool again = n > 1 && !insert_all(pods, n, compare, context);
    while (again) {
        size_t start = 0;
        again = false;
        while (start < n) {
            size_t middle = run_end(pods, start, n, compare, context);
            if (middle >= n) {
                break;
            }
            size_t end = run_end(pods, middle, n, compare, context);
            merge(pods, scratch, start, middle, end, compare, context);
            again = again || start > 0 || end < n;
            start = end;
        }
    }
}

static int compare_in_order(const void *context, const struct sl_plan_pod *a,
                            const struct sl_plan_pod *b)
{
    return sl_plan_compare(context, a, b);
}

bool sl_plan_queue_order(struct sl_planner *planner, int64_t now_us)
{
    if (sl_order_is_static(planner->config.order.kind)) {
        planner->order_now_us = now_us;
        return true;
    }
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        if (!sl_plan_grow(&planner->sort, &planner->sort_cap, lane->n_queue,
                          sizeof(struct sl_plan_pod *))) {
            return false;
        }
    }
    planner->order_now_us = now_us;
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        sl_plan_sort(lane->queue, planner->sort, lane->n_queue, compare_in_order, planner);
    }
    return true;
}
