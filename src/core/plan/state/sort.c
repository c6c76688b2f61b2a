/* Sorts pods that are nearly in order in few steps. */
#include "core/plan/state/state.h"

enum { MOVES = 2 }; /* for each pod: beyond, merging costs less than inserting */

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

static void merge_runs(struct sl_plan_pod **pods, struct sl_plan_pod **scratch, size_t start,
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
    n += middle - a; /* pods from b on are in place */
    memcpy(pods + start, scratch, n * sizeof(struct sl_plan_pod *));
}

/* Inserts each pod, which is cheap where only neighbours changed places. False: gave up half-way,
 * as it would take many moves. */
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
            merge_runs(pods, scratch, start, middle, end, compare, context);
            again = again || start > 0 || end < n;
            start = end;
        }
    }
}
