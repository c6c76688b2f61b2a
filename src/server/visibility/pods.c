/* queuedpods and runningpods. */
#include "server/visibility/kinds.h"

static void set_pod(struct sl_vis_row *row, const struct sl_pod *pod)
{
    row->pod = pod;
    row->namespace = sl_str_of(pod->namespace);
    row->name = sl_str_of(pod->name);
    row->uid = sl_str_of(pod->uid == NULL ? "" : pod->uid);
    row->created_us = pod->created_us;
}

int sl_vis_queued_collect(struct sl_vis_look *look, struct sl_error *err)
{
    const struct sl_queue_reader *queue = &look->app->queue;
    if (queue->list(queue->context, SIZE_MAX, &look->queue, err) < 0) {
        return -1;
    }
    look->now_us = look->queue.now_us;
    for (size_t i = 0; i < look->queue.n; i++) {
        struct sl_vis_row *row = sl_vis_look_add(look, err);
        if (row == NULL) {
            return -1;
        }
        set_pod(row, look->queue.row[i].pod);
        row->queued = &look->queue.row[i];
        row->position = i + 1;
    }
    return 0;
}

static int collect_residents(struct sl_vis_look *look, const struct sl_view *view,
                             struct sl_error *err)
{
    for (unsigned i = 0; i < view->n_residents; i++) {
        const struct sl_resident *resident = &view->resident[i];
        if (resident->pod->set_aside) {
            continue; /* it waits */
        }
        struct sl_vis_row *row = sl_vis_look_add(look, err);
        if (row == NULL) {
            return -1;
        }
        set_pod(row, resident->pod);
        row->view = view;
        row->resident = resident;
    }
    return 0;
}

int sl_vis_running_collect(struct sl_vis_look *look, struct sl_error *err)
{
    for (size_t i = 0; i < look->snapshot->n_nodes; i++) {
        if (collect_residents(look, look->snapshot->view[i], err) < 0) {
            return -1;
        }
    }
    return 0;
}
