/* GET /api/v1/pods/{namespace}/{name}/explain */
#include "server/api/api.h"
#include "server/api/handlers.h"
#include "server/model/explain.h"
#include "server/model/pod.h"
#include "server/model/queue.h"
#include "sliced/usage.h"
#include "util/clock.h"
#include "util/show.h"
#include "util/term/grid.h"

#include <stdio.h>

enum { LIMIT_DEFAULT = 50, LIMIT_MAX = 5000, PARTS_TEXT = 320 };

static const char *state_name(const struct sl_pod *pod)
{
    if (pod->phase == SL_POD_SUCCEEDED || pod->phase == SL_POD_FAILED) {
        return "finished";
    }
    if (pod->deleting) {
        return "deleting";
    }
    return pod->node != NULL ? "bound" : "waiting";
}

/* The pod on its node, as the snapshot has it, or what is set aside for it; NULL: neither. */
static const struct sl_resident *resident_of(const struct sl_explain *explain,
                                             const struct sl_view **view)
{
    const struct sl_pod *pod = explain->pod;
    if (pod->node == NULL) {
        return sl_explain_nomination(explain, view);
    }
    uint32_t place = sl_snapshot_find(explain->snapshot, sl_str_of(pod->node), 0);
    if (place == SL_NODE_NONE) {
        return NULL;
    }
    *view = explain->snapshot->view[place];
    for (unsigned i = 0; i < (*view)->n_residents; i++) {
        if (strcmp((*view)->resident[i].pod->uid, pod->uid) == 0) {
            return &(*view)->resident[i];
        }
    }
    return NULL;
}

static void write_place(struct sl_writer *w, const struct sl_explain *explain)
{
    const struct sl_view *view = NULL;
    const struct sl_resident *resident = resident_of(explain, &view);
    bool bound = explain->pod->node != NULL;
    sl_write_key(w, "assignment");
    if (!bound && resident == NULL) {
        sl_write_null(w);
        return;
    }
    sl_write_object(w);
    sl_write_member_text(w, "node", bound ? explain->pod->node : view->node->name);
    sl_write_member_bool(w, "setAside", !bound);
    sl_write_member_text(w, "annotation", explain->pod->assignment);
    if (resident != NULL) {
        struct sl_model_resident own;
        sl_model_resident_of(view, resident, 0, &own);
        sl_fields_write(w, sl_model_resident, SL_SEEN_ALONE, &own);
    }
    sl_write_object_end(w);
}

static void write_weights(struct sl_writer *w, const int32_t *weight)
{
    sl_write_member_object(w, "weights");
    for (unsigned i = 0; i < SL_TERM_COUNT; i++) {
        sl_write_member_i64(w, sl_term_name((enum sl_term)i), weight[i]);
    }
    sl_write_object_end(w);
}

static void write_numbers(struct sl_writer *w, const struct sl_verdict *verdict)
{
    sl_write_member_i64(w, "asked", verdict->asked);
    sl_write_member_i64(w, "free", verdict->free);
    sl_write_member_i64(w, "capacity", verdict->capacity);
    bool unknown = verdict->reason == SL_REASON_LITTLE_MEMORY && verdict->largest == 0;
    sl_write_member_known(w, "largest", unknown ? -1 : verdict->largest);
}

/* The devices that the pod would get there, or has set aside for it. */
static bool devices_of(const struct sl_explain *explain, const struct sl_explain_row *row,
                       struct sl_assignment *assignment, struct sl_model_parts *out)
{
    const struct sl_view *view = NULL;
    const struct sl_resident *own = row->own ? sl_explain_nomination(explain, &view) : NULL;
    *out =
        (struct sl_model_parts){.node = sl_explain_view(explain, row)->node, .pod = explain->pod};
    if (own == NULL) {
        bool fits = sl_choose(sl_explain_view(explain, row), &explain->ask, assignment, NULL);
        out->part = assignment->part;
        out->n = assignment->n;
        return fits;
    }
    out->part = view->part + own->first_part;
    out->n = own->n_parts;
    return true;
}

static void write_choice(struct sl_writer *w, const struct sl_explain *explain,
                         const struct sl_explain_row *row)
{
    struct sl_assignment assignment = {.n = 0};
    struct sl_model_parts parts;
    sl_write_member_object(w, "score");
    for (unsigned i = 0; i < SL_TERM_COUNT; i++) {
        sl_write_key(w, sl_term_name((enum sl_term)i));
        if (row->score.term[i] == SL_SCORE_UNKNOWN) {
            sl_write_null(w);
        } else {
            sl_write_i64(w, row->score.term[i]);
        }
    }
    sl_write_member_i64(w, "total", row->score.total);
    sl_write_member_i64(w, "wire", row->wire);
    sl_write_object_end(w);
    if (devices_of(explain, row, &assignment, &parts)) {
        sl_fields_write(w, sl_model_parts, SL_SEEN_ALONE, &parts);
    } else {
        sl_write_key(w, "devices");
        sl_write_null(w);
    }
}

/* Appends what follows, if anything. */
static void text_join(char *out, size_t size, const char *more)
{
    size_t len = strlen(out);
    if (more[0] != '\0' && len < size) {
        (void)snprintf(out + len, size - len, "%s%s", len == 0 ? "" : "; ", more);
    }
}

static void row_text(const struct sl_explain *explain, const struct sl_explain_row *row, char *out,
                     size_t size)
{
    (void)sl_verdict_text(&row->verdict, &explain->ask, explain->pod->malformed, out, size);
    const struct sl_view *view = sl_explain_view(explain, row);
    char use[SL_EXPLAIN_TEXT_MAX / 2];
    sl_usage_text(view, &explain->ask, use, sizeof(use));
    text_join(out, size, use);
    sl_contention_text(view, &explain->ask, use, sizeof(use));
    text_join(out, size, row->fits ? use : "");
    sl_explain_bar(explain, row, use, sizeof(use));
    text_join(out, size, use);
}

static void write_row(struct sl_writer *w, const struct sl_explain *explain,
                      const struct sl_explain_row *row)
{
    char text[SL_EXPLAIN_TEXT_MAX];
    row_text(explain, row, text, sizeof(text));
    sl_write_object(w);
    sl_write_member_text(w, "name", explain->snapshot->view[row->place]->node->name);
    sl_write_member_bool(w, "fits", row->fits);
    sl_write_member_text(w, "reason", sl_reason_name(row->verdict.reason));
    sl_write_member_bool(w, "never", sl_reason_is_never(row->verdict.reason));
    sl_write_member_text(w, "text", text);
    write_numbers(w, &row->verdict);
    if (row->fits) {
        write_choice(w, explain, row);
    }
    sl_write_object_end(w);
}

/* Shows rows of nodes only for a pod that waits: for others they say nothing. */
static size_t rows_shown(const struct sl_explain *explain, int64_t limit)
{
    if (strcmp(state_name(explain->pod), "waiting") != 0) {
        return 0;
    }
    return (size_t)limit < explain->n ? (size_t)limit : explain->n;
}

/* Says why the pod waits. The queue's sentence goes first. */
static void why_text(const struct sl_explain *explain, const struct sl_queue_list *queue,
                     char out[SL_EXPLAIN_TEXT_MAX])
{
    if (queue->n > 0) {
        (void)sl_queue_text(&queue->row[0], queue->now_us, out, SL_EXPLAIN_TEXT_MAX);
    } else {
        sl_explain_why(explain, out, SL_EXPLAIN_TEXT_MAX);
    }
}

static void write_queue(struct sl_writer *w, const struct sl_queue_list *queue)
{
    sl_write_key(w, "queue");
    if (queue->n == 0) {
        sl_write_null(w);
        return;
    }
    struct sl_model_queued queued;
    sl_model_queued_of(&queue->row[0], queue->now_us, 0, &queued);
    queued.list = queue;
    sl_fields_item(w, sl_model_queued, SL_SEEN_ALONE, &queued);
}

static void write_json(struct sl_request *request, const struct sl_explain *explain,
                       const struct sl_queue_list *queue, size_t shown)
{
    char why[SL_EXPLAIN_TEXT_MAX];
    struct sl_writer w = {.buf = &request->reply};
    why_text(explain, queue, why);
    sl_write_object(&w);
    sl_write_key(&w, "pod");
    sl_fields_item(&w, sl_model_pod, SL_SEEN_ALONE, explain->pod);
    sl_write_member_text(&w, "state", state_name(explain->pod));
    sl_write_member_text(&w, "why", why);
    sl_write_member_i64(&w, "generation", (int64_t)explain->snapshot->generation);
    write_place(&w, explain);
    write_queue(&w, queue);
    if (shown > 0) {
        sl_write_key(&w, "summary");
        sl_fields_item(&w, sl_model_explain, SL_SEEN_ALONE, explain);
        write_weights(&w, sl_score_weights(&request->live->config.plan.score, &explain->ask));
        sl_write_member_i64(&w, "omitted", (int64_t)(explain->n - shown));
        sl_write_member_array(&w, "nodes");
        for (size_t i = 0; i < shown; i++) {
            write_row(&w, explain, &explain->row[i]);
        }
        sl_write_array_end(&w);
    }
    sl_write_object_end(&w);
    sl_buf_putc(&request->reply, '\n');
}

/* ---- table ---- */

/* Writes the terms that have a weight, all where none has, then what is behind them. */
static void put_terms(struct sl_grid *table, const struct sl_score *score, const int32_t *weight,
                      const char *behind)
{
    char text[SL_EXPLAIN_TEXT_MAX];
    int at = 0;
    bool all = true;
    text[0] = '\0';
    for (unsigned i = 0; i < SL_TERM_COUNT; i++) {
        all = all && weight[i] == 0;
    }
    for (unsigned i = 0; i < SL_TERM_COUNT && at >= 0 && at < PARTS_TEXT; i++) {
        if (score->term[i] != SL_SCORE_UNKNOWN && (all || weight[i] != 0)) {
            int n = snprintf(text + at, (size_t)(PARTS_TEXT - at), "%s%s %d", at > 0 ? ", " : "",
                             sl_term_name((enum sl_term)i), (int)score->term[i]);
            at = n < 0 ? n : at + n;
        }
    }
    text_join(text, sizeof(text), behind);
    sl_grid_text(table, text);
}

static void add_row(struct sl_grid *table, const struct sl_explain *explain,
                    const struct sl_explain_row *row, const int32_t *weight)
{
    const struct sl_view *view = sl_explain_view(explain, row);
    struct sl_assignment assignment = {.n = 0};
    struct sl_model_parts parts;
    char text[SL_EXPLAIN_TEXT_MAX];
    sl_grid_text(table, view->node->name);
    sl_grid_text(table, row->fits ? "yes" : "no");
    sl_grid_text(table, sl_reason_name(row->verdict.reason));
    if (!row->fits) {
        row_text(explain, row, text, sizeof(text));
        sl_grid_text(table, NULL);
        sl_grid_text(table, NULL);
        sl_grid_text(table, NULL);
        sl_grid_text(table, text);
        return;
    }
    text[0] = '\0';
    if (devices_of(explain, row, &assignment, &parts)) {
        sl_model_parts_text(&parts, text, PARTS_TEXT);
    }
    sl_grid_i64(table, row->score.total);
    sl_grid_i64(table, row->wire);
    sl_grid_text(table, text);
    sl_contention_text(view, &explain->ask, text, sizeof(text));
    put_terms(table, &row->score, weight, text);
}

static void write_rows_table(struct sl_request *request, const struct sl_explain *explain,
                             size_t shown)
{
    static const char *const head[] = {"NODE", "FITS",         "REASON", "SCORE",
                                       "WIRE", "DEVICE/START", "DETAIL"};
    struct sl_grid table;
    sl_grid_init(&table, sizeof(head) / sizeof(head[0]), head, request->reply.max);
    const int32_t *weight = sl_score_weights(&request->live->config.plan.score, &explain->ask);
    for (size_t i = 0; i < shown; i++) {
        add_row(&table, explain, &explain->row[i], weight);
    }
    sl_buf_putc(&request->reply, '\n');
    sl_grid_write(&table, &request->reply);
    sl_grid_free(&table);
    if (shown < explain->n) {
        size_t more = explain->n - shown;
        sl_buf_printf(&request->reply, "(%zu more node%s: ?limit=)\n", more, more == 1 ? "" : "s");
    }
}

/* Appends a line. Its text may be a user's: a name, for one. */
static void add_line(struct sl_buf *out, const char *head, const char *text)
{
    struct sl_str rest = sl_str_of(text);
    char shown[SL_SHOWN_MAX];
    sl_buf_printf(out, "%-11s", head);
    while (rest.len > 0) {
        sl_buf_append(out, shown, sl_show_next(&rest, shown));
    }
    sl_buf_putc(out, '\n');
}

/* "gpu-1: Expired, after 60s" */
static void add_try(struct sl_buf *out, const struct sl_queue_try *tried)
{
    char text[SL_EXPLAIN_TEXT_MAX];
    char span[32];
    (void)sl_queue_duration_text(tried->ended_us - tried->at_us, span, sizeof(span));
    (void)snprintf(text, sizeof(text), "%s: %s, after %s%s%s",
                   tried->node == NULL ? "no node" : tried->node, sl_queue_try_end_name(tried->end),
                   span, tried->why == NULL ? "" : ": ", tried->why == NULL ? "" : tried->why);
    add_line(out, "Tried:", text);
}

static void write_table(struct sl_request *request, const struct sl_explain *explain,
                        const struct sl_queue_list *queue, size_t shown)
{
    struct sl_buf *out = &request->reply;
    const struct sl_pod *pod = explain->pod;
    const struct sl_view *view = NULL;
    const struct sl_resident *resident = resident_of(explain, &view);
    char text[SL_EXPLAIN_TEXT_MAX];
    (void)snprintf(text, sizeof(text), "%s/%s", pod->namespace, pod->name);
    add_line(out, "Pod:", text);
    add_line(out, "State:", state_name(pod));
    sl_model_ask_text(pod, text, sizeof(text));
    add_line(out, "Ask:", text);
    why_text(explain, queue, text);
    add_line(out, "Why:", text);
    if (pod->problem != NULL) {
        add_line(out, "Problem:", pod->problem);
    }
    if (queue->n > 0) {
        sl_buf_printf(out, "Queue:     %s, %u ahead\n", sl_queue_state_name(queue->row[0].state),
                      (unsigned)queue->row[0].ahead);
    }
    for (unsigned i = 0; i < queue->n_tried; i++) {
        add_try(out, &queue->tried[i]);
    }
    if (pod->node != NULL || resident != NULL) {
        add_line(out, "Node:", pod->node != NULL ? pod->node : view->node->name);
    }
    if (resident != NULL) {
        struct sl_model_resident own;
        sl_model_resident_of(view, resident, 0, &own);
        sl_model_resident_text(&own, text, sizeof(text));
        add_line(out, "Devices:", text);
        if (sl_model_is_plan(pod)) {
            add_line(out,
                     "Picked by:", "the device plugin, which may take other units of the node");
        }
    }
    if (shown > 0) {
        write_rows_table(request, explain, shown);
    }
}

/* Lists the pod's row, when there is a queue and the pod waits there. Does not ask about a bound
 * pod, of which the queue may not have read yet. */
static int ask_queue(struct sl_request *request, const struct sl_pod *pod,
                     struct sl_queue_list *out)
{
    const struct sl_queue_reader *queue = &request->app->queue;
    const struct sl_queue_scope scope = sl_config_scope(&request->live->config);
    if (queue->row == NULL || pod->node != NULL || pod->phase != SL_POD_PENDING ||
        !sl_pod_is_queued(pod, &scope)) {
        return 0;
    }
    return queue->row(queue->context, sl_str_of(pod->uid), out, &request->err);
}

void sl_api_explain(struct sl_request *request)
{
    struct sl_explain explain;
    int64_t limit = 0;
    bool as_table = false;
    if (sl_request_only(request, "output, limit") < 0 ||
        sl_request_number(request, "limit", LIMIT_DEFAULT, LIMIT_MAX, &limit) < 0 ||
        sl_request_output(request, &as_table) < 0) {
        return;
    }
    struct sl_str ns = request->param[0];
    struct sl_str name = request->param[1];
    struct sl_pod *pod = sl_store_pod(request->app->store, ns, name);
    if (pod == NULL) {
        sl_api_unknown_pod(request, ns, name);
        return;
    }
    struct sl_queue_list queue = {.n = 0};
    if (sl_explain_init(&explain, sl_app_snapshot(request), pod, &request->live->config.plan.score,
                        &request->err) < 0) {
        (void)sl_request_fail_err(request);
    } else {
        size_t shown = rows_shown(&explain, limit);
        sl_explain_cuts(&explain, &request->app->partitions, sl_clock_real_us());
        if (ask_queue(request, pod, &queue) < 0) {
            sl_api_queue_failed(request);
        } else if (as_table) {
            write_table(request, &explain, &queue, shown);
        } else {
            write_json(request, &explain, &queue, shown);
        }
        sl_queue_list_free(&queue);
        sl_explain_free(&explain);
    }
    sl_pod_unref(pod);
}
