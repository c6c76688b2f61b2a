/* GET /api/v1/queue: the pods that wait, in the order in which they are to go, and why. */
#include "server/api/api.h"
#include "server/api/handlers.h"
#include "util/term/grid.h"
#include "util/time.h"

#include <stdio.h>

enum { LIMIT_DEFAULT = 500, LIMIT_MAX = 100000, QUEUE_MAX = 100000, LEADER_MAX = 256 };

static void write_amount(struct sl_writer *w, const char *key, struct sl_order_amount amount)
{
    sl_write_key(w, key);
    sl_write_double(w, (double)amount.whole + (double)amount.millionths / SL_ORDER_ONE);
}

static void write_parts(struct sl_writer *w, const struct sl_order_parts *parts)
{
    sl_write_member_object(w, "P");
    write_amount(w, "value", parts->p);
    write_amount(w, "priority", parts->priority);
    write_amount(w, "timeout", parts->timeout);
    write_amount(w, "submission", parts->submission);
    sl_write_object_end(w);
}

static void write_start(struct sl_writer *w, const struct sl_queue_row *row, int64_t now_us)
{
    sl_write_member_object(w, "estimatedStart");
    sl_write_member_text(w, "sure", sl_estimate_name(row->estimate));
    sl_write_key(w, "at");
    sl_api_time(w, row->start_us);
    int64_t left_us = row->start_us - now_us;
    int64_t left_s = left_us <= 0 ? 0 : (left_us - 1) / SL_SECOND_US + 1; /* as in the sentence */
    sl_write_member_known(w, "inSeconds", row->estimate == SL_ESTIMATE_NONE ? -1 : left_s);
    sl_write_key(w, "usuallyAt");
    sl_api_time(w, row->usual_start_us);
    sl_write_object_end(w);
}

void sl_api_queue_members(struct sl_writer *w, const struct sl_queue_row *row, int64_t now_us)
{
    char text[SL_PLAN_TEXT_MAX];
    (void)sl_queue_text(row, now_us, text, sizeof(text));
    sl_write_member_text(w, "state", sl_queue_state_name(row->state));
    sl_write_member_text(w, "reason", sl_hold_reason_name(row->reason));
    sl_write_member_text(w, "text", text);
    sl_write_key(w, "since");
    sl_api_time(w, row->since_us);
    sl_write_member_i64(w, "waitedSeconds", (now_us - row->pod->created_us) / SL_SECOND_US);
    sl_write_member_i64(w, "ahead", row->ahead);
    sl_write_key(w, "first");
    if (row->first == NULL) {
        sl_write_null(w);
    } else {
        sl_write_object(w);
        sl_write_member_text(w, "namespace", row->first->namespace);
        sl_write_member_text(w, "name", row->first->name);
        sl_write_object_end(w);
    }
    sl_write_member_i64(w, "plannedTimeoutSeconds", row->timeout_us / SL_SECOND_US);
    sl_write_member_known(w, "usualRuntimeSeconds",
                          row->usual_us > 0 ? row->usual_us / SL_SECOND_US : -1);
    write_parts(w, &row->parts);
    write_start(w, row, now_us);
    sl_write_key(w, "latestStart");
    sl_api_time(w, row->latest_start_us);
    sl_write_key(w, "nomination");
    if (row->state == SL_QUEUE_NOMINATED) {
        sl_write_object(w);
        sl_write_member_text(w, "node", row->node);
        sl_write_member_text(w, "assignment", row->assignment);
        sl_write_object_end(w);
    } else {
        sl_write_null(w);
    }
    sl_write_member_i64(w, "expiries", row->expiries);
}

/* The rows that are asked for, and how far they are written. */
struct selection {
    struct sl_queue_list list;
    struct sl_str namespace; /* empty: all */
    struct sl_str resource;  /* empty: all */
    const char *find;        /* a part of NAMESPACE/NAME; empty: all */
    size_t skip;
    size_t limit;
    size_t position; /* of the row written last, in the whole queue, from 1 */
    size_t skipped;
    size_t shown;
    size_t omitted; /* beyond the limit */
};

enum { POD_TEXT = 320 };

static bool is_found(const struct selection *selection, const struct sl_pod *pod)
{
    char text[POD_TEXT];
    if (selection->find[0] == '\0') {
        return true;
    }
    (void)snprintf(text, sizeof(text), "%s/%s", pod->namespace, pod->name);
    return strstr(text, selection->find) != NULL;
}

static bool is_selected(const struct selection *selection, const struct sl_pod *pod)
{
    if ((selection->namespace.len > 0 &&
         !sl_str_eq(selection->namespace, sl_str_of(pod->namespace))) ||
        !is_found(selection, pod)) {
        return false;
    }
    bool found = selection->resource.len == 0;
    for (uint32_t i = 0; i < pod->n_items && !found; i++) {
        found = sl_str_eq(selection->resource, sl_str_of(pod->items[i].resource));
    }
    return found;
}

/* Returns the next row to write; NULL: there are no more. */
static const struct sl_queue_row *selection_next(struct selection *selection)
{
    while (selection->position < selection->list.n) {
        const struct sl_queue_row *row = &selection->list.row[selection->position++];
        if (!is_selected(selection, row->pod)) {
            continue;
        }
        if (selection->skipped < selection->skip) {
            selection->skipped++;
        } else if (selection->shown < selection->limit) {
            selection->shown++;
            return row;
        } else {
            selection->omitted++;
        }
    }
    return NULL;
}

static void write_json(struct sl_request *request, struct selection *selection)
{
    struct sl_writer w = {.buf = &request->reply};
    const struct sl_queue_row *row = selection_next(selection);
    sl_write_object(&w);
    sl_write_key(&w, "at");
    sl_api_time(&w, selection->list.now_us);
    sl_write_member_text(&w, "order", sl_order_name(request->live->config.queue.order));
    sl_write_member_i64(&w, "total", (int64_t)selection->list.total);
    sl_write_member_array(&w, "items");
    for (; row != NULL; row = selection_next(selection)) {
        sl_write_object(&w);
        sl_write_member_i64(&w, "position", (int64_t)selection->position);
        sl_api_pod_members(&w, row->pod);
        sl_api_queue_members(&w, row, selection->list.now_us);
        sl_write_object_end(&w);
    }
    sl_write_array_end(&w);
    sl_write_member_i64(&w, "skipped", (int64_t)selection->skipped);
    sl_write_member_i64(&w, "omitted", (int64_t)selection->omitted);
    sl_write_object_end(&w);
    sl_buf_putc(&request->reply, '\n');
}

/* ---- table ---- */

static void put_duration(struct sl_grid *table, int64_t us)
{
    char text[32];
    (void)sl_queue_duration_text(us, text, sizeof(text));
    sl_grid_text(table, text);
}

/* Writes a past span as kubectl prints ages: "45s", "12m", "3h20m", "5d". */
static void put_age(struct sl_grid *table, int64_t us)
{
    long long s = us <= 0 ? 0 : us / SL_SECOND_US;
    if (s < 2 * SL_MINUTE_S) {
        sl_grid_printf(table, "%llds", s);
    } else if (s < 3 * SL_HOUR_S) {
        sl_grid_printf(table, "%lldm", s / SL_MINUTE_S);
    } else if (s < 2 * SL_DAY_S) {
        sl_grid_printf(table, "%lldh%lldm", s / SL_HOUR_S, s % SL_HOUR_S / SL_MINUTE_S);
    } else {
        sl_grid_printf(table, "%lldd", s / SL_DAY_S);
    }
}

static void put_row(struct sl_grid *table, const struct sl_queue_row *row, size_t position,
                    int64_t now_us)
{
    char ask[SL_PLAN_TEXT_MAX];
    sl_api_ask_text(row->pod, ask, sizeof(ask));
    sl_grid_i64(table, (int64_t)position);
    sl_grid_text(table, row->pod->namespace);
    sl_grid_text(table, row->pod->name);
    sl_grid_text(table, ask);
    sl_grid_i64(table, row->pod->priority);
    put_duration(table, row->timeout_us);
    put_age(table, now_us - row->pod->created_us);
    sl_grid_text(table, sl_queue_state_name(row->state));
    sl_grid_text(table, row->reason == SL_HOLD_NONE ? NULL : sl_hold_reason_name(row->reason));
    sl_grid_i64(table, row->ahead);
    if (row->estimate == SL_ESTIMATE_NONE) {
        sl_grid_text(table, NULL);
    } else {
        put_duration(table, row->start_us - now_us);
    }
    sl_grid_text(table, row->node);
}

static void write_table(struct sl_request *request, struct selection *selection)
{
    static const char *const head[] = {"POS",      "NAMESPACE", "NAME",     "ASK",
                                       "PRIORITY", "TIMEOUT",   "WAITED",   "STATE",
                                       "REASON",   "AHEAD",     "START-IN", "NODE"};
    struct sl_grid table;
    const struct sl_queue_row *row = selection_next(selection);
    sl_grid_init(&table, sizeof(head) / sizeof(head[0]), head, request->reply.max);
    for (; row != NULL; row = selection_next(selection)) {
        put_row(&table, row, selection->position, selection->list.now_us);
    }
    if (selection->shown == 0) {
        sl_buf_puts(&request->reply, selection->list.total == 0
                                         ? "No pods wait.\n"
                                         : "Pods wait, but none that you ask for.\n");
    } else {
        sl_grid_write(&table, &request->reply);
    }
    sl_grid_free(&table);
    if (selection->omitted > 0) {
        sl_buf_printf(&request->reply, "(%zu more pod%s: ?limit=)\n", selection->omitted,
                      selection->omitted == 1 ? "" : "s");
    }
}

void sl_api_queue_failed(struct sl_request *request)
{
    const struct sl_hooks *hooks = &request->app->hooks;
    const char *missing = sl_app_missing(request->app);
    char leader[LEADER_MAX] = "";
    if (request->err.code != SL_ERR_CONFLICT) {
        (void)sl_request_fail_err(request);
        return;
    }
    if (missing != NULL && hooks->leader != NULL) {
        hooks->leader(hooks->context, leader, sizeof(leader));
    }
    (void)sl_error_set(&request->err, SL_ERR_SYSTEM, "no queue is kept here now: %s%s%s",
                       missing == NULL ? "the first plan is being made" : missing,
                       leader[0] == '\0' ? "" : ", ", leader);
    (void)sl_request_fail(request, 503);
}

void sl_api_queue(struct sl_request *request)
{
    const struct sl_queue_reader *queue = &request->app->queue;
    int64_t limit = 0;
    int64_t skip = 0;
    bool as_table = false;
    if (sl_request_only(request, "output, limit, skip, find, namespace, resource") < 0 ||
        sl_request_number(request, "limit", LIMIT_DEFAULT, LIMIT_MAX, &limit) < 0 ||
        sl_request_number(request, "skip", 0, QUEUE_MAX, &skip) < 0 ||
        sl_request_output(request, &as_table) < 0) {
        return;
    }
    if (queue->list == NULL) {
        (void)sl_error_set(&request->err, SL_ERR_NOTFOUND,
                           "there is no queue here: it is off (queue.enabled)");
        (void)sl_request_fail(request, 404);
        return;
    }
    struct sl_str find = sl_request_query(request, "find");
    struct selection selection = {.namespace = sl_request_query(request, "namespace"),
                                  .resource = sl_request_query(request, "resource"),
                                  .find = find.len == 0 ? "" : find.s,
                                  .skip = (size_t)skip,
                                  .limit = (size_t)limit};
    bool all = selection.namespace.len > 0 || selection.resource.len > 0 || find.len > 0;
    size_t most = all ? QUEUE_MAX : selection.skip + selection.limit;
    if (queue->list(queue->context, most, &selection.list, &request->err) < 0) {
        sl_api_queue_failed(request);
    } else {
        selection.omitted = selection.list.total - selection.list.n;
        (as_table ? write_table : write_json)(request, &selection);
    }
    sl_queue_list_free(&selection.list);
}
