/* queuedpods and runningpods: what the queue says of a pod that waits, and where the others are. */
#include "server/visibility/kinds.h"

#include "server/api/api.h"
#include "server/api/explain.h"
#include "util/time.h"

enum { TEXT_MAX = 512, ASK_ITEMS_MAX = 16 };

static struct sl_str text_or_none(const char *text)
{
    return sl_str_of(text == NULL ? "" : text);
}

static void set_pod(struct sl_vis_row *row, const struct sl_pod *pod)
{
    row->pod = pod;
    row->namespace = sl_str_of(pod->namespace);
    row->name = sl_str_of(pod->name);
    row->uid = text_or_none(pod->uid);
    row->created_us = pod->created_us;
}

static const char *pod_field(const struct sl_vis_row *row, struct sl_str name)
{
    if (sl_str_eq(name, SL_STR("metadata.name"))) {
        return row->pod->name;
    }
    return sl_str_eq(name, SL_STR("metadata.namespace")) ? row->pod->namespace : NULL;
}

static void write_spec(struct sl_writer *w, const struct sl_pod *pod)
{
    sl_write_member_object(w, "spec");
    sl_api_ask(w, pod, ASK_ITEMS_MAX);
    sl_write_member_i64(w, "priority", pod->priority);
    sl_write_member_i64(w, "timeoutSeconds", pod->timeout_s);
    sl_write_object_end(w);
}

/* The cell for what it asks for. */
static void cell_ask(struct sl_writer *w, const struct sl_pod *pod)
{
    char ask[TEXT_MAX];
    sl_api_ask_text(pod, ask, sizeof(ask));
    sl_write_text(w, ask);
}

/* ---- queuedpods ---- */

bool sl_vis_queued_there(const struct sl_app *app, const struct sl_config *config)
{
    return app->queue.list != NULL && config->queue.enabled;
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

/* passing: with what changes as time passes. */
static void write_sentence(struct sl_writer *w, const struct sl_queue_row *queued, int64_t now_us,
                           bool passing)
{
    struct sl_queue_row own = *queued;
    char text[SL_PLAN_TEXT_MAX];
    if (!passing) {
        own.estimate = SL_ESTIMATE_NONE;
        own.silent_us = 0;
    }
    (void)sl_queue_text(&own, now_us, text, sizeof(text));
    sl_vis_write_shown(w, text);
}

/* A start that is overdue has no time that stands still: it is due. */
static void write_start(struct sl_writer *w, const struct sl_queue_row *queued, int64_t now_us)
{
    int64_t at_us = queued->start_us / SL_SECOND_US * SL_SECOND_US;
    sl_write_member_object(w, "estimatedStart");
    sl_write_member_text(w, "sure", sl_estimate_name(queued->estimate));
    sl_write_key(w, "at");
    sl_api_time(w, queued->estimate == SL_ESTIMATE_NONE || queued->start_us <= now_us ? 0 : at_us);
    sl_write_object_end(w);
}

/* What the nodes have against it. It costs time in proportion to the cluster: only one who asks for
 * one pod is told. */
static void write_nodes(struct sl_writer *w, const struct sl_vis_look *look,
                        const struct sl_pod *pod)
{
    struct sl_explain explain;
    if (sl_explain_init(&explain, look->snapshot, pod, look->detail, NULL) < 0) {
        w->buf->failed = SL_BUF_NOMEM;
        return;
    }
    explain.cuts = &look->app->partitions;
    explain.now_us = look->now_us;
    sl_write_key(w, "nodes");
    sl_explain_summary(w, &explain);
    sl_explain_free(&explain);
}

void sl_vis_queued_write(struct sl_writer *w, const struct sl_vis_look *look,
                         const struct sl_vis_row *row)
{
    const struct sl_queue_row *queued = row->queued;
    write_spec(w, row->pod);
    sl_write_member_object(w, "status");
    sl_write_member_i64(w, "position", (int64_t)row->position);
    sl_write_member_text(w, "state", sl_queue_state_name(queued->state));
    sl_write_member_text(w, "reason", sl_hold_reason_name(queued->reason));
    sl_write_key(w, "message");
    write_sentence(w, queued, look->now_us, false);
    sl_write_key(w, "since");
    sl_api_time(w, queued->since_us);
    sl_write_member_i64(w, "ahead", queued->ahead);
    sl_write_member_i64(w, "plannedTimeoutSeconds", queued->timeout_us / SL_SECOND_US);
    write_start(w, queued, look->now_us);
    sl_write_key(w, "latestStart");
    sl_api_time(w, queued->latest_start_us / SL_SECOND_US * SL_SECOND_US);
    sl_write_member_text(w, "node", queued->node);
    sl_write_member_text(w, "devices", queued->assignment);
    sl_write_member_i64(w, "expiries", queued->expiries);
    sl_write_member_text(w, "remedy", sl_hold_reason_remedy(queued->reason));
    if (look->detail != NULL) {
        write_nodes(w, look, row->pod);
    }
    sl_write_object_end(w);
}

void sl_vis_queued_cells(struct sl_writer *w, const struct sl_vis_look *look,
                         const struct sl_vis_row *row)
{
    const struct sl_queue_row *queued = row->queued;
    bool held = queued->reason != SL_HOLD_NONE;
    bool known = queued->estimate != SL_ESTIMATE_NONE;
    int64_t left_us = queued->start_us - look->now_us;
    int64_t waited_us = look->now_us - row->created_us;
    sl_write_i64(w, (int64_t)row->position);
    cell_ask(w, row->pod);
    sl_vis_write_duration(w, queued->timeout_us);
    sl_vis_write_duration(w, waited_us > 0 ? waited_us : 1);
    sl_write_text(w, sl_queue_state_name(queued->state));
    sl_write_text(w, held ? sl_hold_reason_name(queued->reason) : "");
    sl_write_i64(w, queued->ahead);
    if (known && left_us <= 0) {
        sl_write_text(w, "0s");
    } else {
        sl_vis_write_duration(w, known ? left_us : 0);
    }
    sl_vis_write_shown(w, queued->node);
    sl_write_text(w, sl_estimate_name(queued->estimate));
    sl_vis_write_shown(w, queued->assignment);
    sl_write_i64(w, row->pod->priority);
    write_sentence(w, queued, look->now_us, true);
}

const char *sl_vis_queued_field(const struct sl_vis_row *row, struct sl_str name)
{
    if (sl_str_eq(name, SL_STR("status.state"))) {
        return sl_queue_state_name(row->queued->state);
    }
    if (sl_str_eq(name, SL_STR("status.reason"))) {
        return sl_hold_reason_name(row->queued->reason);
    }
    if (sl_str_eq(name, SL_STR("status.node"))) {
        return row->queued->node == NULL ? "" : row->queued->node;
    }
    return pod_field(row, name);
}

/* ---- runningpods ---- */

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

/* When the pod's timeout ends it; 0: that is not known. */
static int64_t end_of(const struct sl_pod *pod)
{
    return pod->started_us > 0 && pod->timeout_s > 0
               ? pod->started_us + pod->timeout_s * SL_SECOND_US
               : 0;
}

static const char *picked_by(const struct sl_pod *pod)
{
    return sl_api_is_plan(pod) ? "devicePlugin" : "sliced";
}

void sl_vis_running_write(struct sl_writer *w, const struct sl_vis_look *look,
                          const struct sl_vis_row *row)
{
    const struct sl_resident *resident = row->resident;
    (void)look;
    write_spec(w, row->pod);
    sl_write_member_object(w, "status");
    sl_write_member_text(w, "phase", sl_pod_phase_name(row->pod->phase));
    sl_write_member_text(w, "node", row->pod->node);
    sl_write_member_bool(w, "assumed", resident->assumed);
    sl_write_member_text(w, "pickedBy", picked_by(row->pod));
    sl_write_key(w, "devices");
    sl_api_parts(w, row->view->node, row->pod, row->view->part + resident->first_part,
                 resident->n_parts);
    sl_write_key(w, "startedAt");
    sl_api_time(w, row->pod->started_us);
    sl_write_key(w, "endsBy");
    sl_api_time(w, end_of(row->pod));
    sl_write_object_end(w);
}

void sl_vis_running_cells(struct sl_writer *w, const struct sl_vis_look *look,
                          const struct sl_vis_row *row)
{
    char text[TEXT_MAX];
    int64_t end_us = end_of(row->pod);
    sl_write_text(w, row->pod->node);
    sl_api_resident_text(row->view, row->resident, text, sizeof(text));
    sl_vis_write_shown(w, text);
    cell_ask(w, row->pod);
    sl_write_text(w, sl_pod_phase_name(row->pod->phase));
    sl_vis_write_duration(w, end_us == 0 ? 0 : end_us - look->now_us);
    sl_vis_write_duration(w, row->pod->timeout_s * SL_SECOND_US);
    sl_write_text(w, picked_by(row->pod));
    sl_write_i64(w, row->pod->priority);
}

const char *sl_vis_running_field(const struct sl_vis_row *row, struct sl_str name)
{
    if (sl_str_eq(name, SL_STR("status.node"))) {
        return row->pod->node;
    }
    if (sl_str_eq(name, SL_STR("status.phase"))) {
        return sl_pod_phase_name(row->pod->phase);
    }
    return pod_field(row, name);
}
