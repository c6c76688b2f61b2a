/* What would become of a pod that is not there: it is put into the queue, planned for and looked
 * at, and so are the pods that would wait longer for it. */
#include "core/plan/state/calls.h"
#include "util/data/vec.h"

#include <stdlib.h>

/* When a waiting pod starts as things are. */
struct start {
    const struct sl_pod *pod; /* the planner's reference */
    int64_t at_us;            /* INT64_MAX: not known */
};

struct what_if {
    struct sl_planner *planner;
    int64_t now_us;
    struct start *start;
    size_t n;
    size_t cap;
    const struct sl_pod *pod;
    size_t visited;
    struct sl_plan_what_if *out;
};

static void ignore_action(void *context, const struct sl_plan_action *action)
{
    (void)context;
    (void)action;
}

static int64_t start_of(const struct sl_queue_row *row)
{
    return row->estimate == SL_ESTIMATE_NONE ? INT64_MAX : row->start_us;
}

static void note_start(void *context, const struct sl_queue_row *row)
{
    struct what_if *what_if = context;
    if (what_if->n < what_if->cap) {
        what_if->start[what_if->n] = (struct start){row->pod, start_of(row)};
        what_if->n++;
    }
}

static void note_place(void *context, const struct sl_queue_row *row)
{
    struct what_if *what_if = context;
    what_if->visited++;
    if (row->pod == what_if->pod) {
        what_if->out->position = what_if->visited;
    }
}

static size_t count_delayed(const struct what_if *what_if)
{
    size_t delayed = 0;
    for (size_t i = 0; i < what_if->n; i++) {
        const struct start *before = &what_if->start[i];
        struct sl_queue_row row;
        delayed +=
            sl_planner_row(what_if->planner, sl_str_of(before->pod->uid), what_if->now_us, &row) &&
            start_of(&row) > before->at_us;
    }
    return delayed;
}

static int put_new(struct what_if *what_if, struct sl_pod *pod, struct sl_error *err)
{
    struct sl_queue_row row;
    struct sl_str uid = sl_str_of(pod->uid);
    if (sl_planner_row(what_if->planner, uid, what_if->now_us, &row)) {
        return sl_error_set(err, SL_ERR_FIELD, "a pod with that metadata.uid waits already");
    }
    if (sl_planner_put(what_if->planner, pod, what_if->now_us, err) < 0) {
        return -1;
    }
    return sl_planner_row(what_if->planner, uid, what_if->now_us, &row)
               ? 0
               : sl_error_set(err, SL_ERR_FIELD, "the pod asks for nothing that is queued for");
}

int sl_planner_what_if(struct sl_planner *planner, struct sl_pod *pod,
                       const struct sl_demand *demand, size_t max_nominations, int64_t now_us,
                       struct sl_plan_what_if *out, struct sl_error *err)
{
    struct what_if what_if = {.planner = planner, .now_us = now_us, .pod = pod, .out = out};
    struct sl_plan_stats stats;
    size_t n = 0;
    *out = (struct sl_plan_what_if){.position = 0};
    sl_planner_stats(planner, &stats);
    for (unsigned i = 0; i < SL_QUEUE_STATES; i++) {
        n += stats.waiting[i];
    }
    int result = sl_vec_reserve(&what_if.start, &what_if.cap, n + 1, sizeof(*what_if.start)) < 0
                     ? sl_error_nomem(err)
                     : sl_planner_estimate(planner, now_us, err);
    if (result == 0) {
        (void)sl_planner_visit(planner, now_us, n, note_start, &what_if);
        result = put_new(&what_if, pod, err);
    }
    if (result == 0) {
        result = sl_planner_run(planner, demand, max_nominations, now_us, ignore_action, NULL, err);
    }
    result = result == 0 ? sl_planner_estimate(planner, now_us, err) : result;
    if (result == 0) {
        (void)sl_planner_visit(planner, now_us, n + 1, note_place, &what_if);
        out->delayed = count_delayed(&what_if);
        (void)sl_planner_row(planner, sl_str_of(pod->uid), now_us, &out->row);
    }
    free(what_if.start);
    return result;
}
