/* GET /api/v1/queue: the pods that wait, in the order in which they are to go, and why. */
#include "server/api/api.h"
#include "server/api/handlers.h"
#include "server/model/queue.h"

#include <stdio.h>

enum { LIMIT_DEFAULT = 500, LIMIT_MAX = 100000, QUEUE_MAX = 100000, LEADER_MAX = 256 };

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
    sl_write_member_text(&w, "order", sl_order_name(request->live->config.plan.order.kind));
    sl_write_member_i64(&w, "total", (int64_t)selection->list.total);
    sl_write_member_array(&w, "items");
    for (; row != NULL; row = selection_next(selection)) {
        struct sl_model_queued queued;
        sl_model_queued_of(row, selection->list.now_us, selection->position, &queued);
        sl_fields_item(&w, sl_model_queued, SL_SEEN_IN_LISTS, &queued);
    }
    sl_write_array_end(&w);
    sl_write_member_i64(&w, "skipped", (int64_t)selection->skipped);
    sl_write_member_i64(&w, "omitted", (int64_t)selection->omitted);
    sl_write_object_end(&w);
    sl_buf_putc(&request->reply, '\n');
}

static void write_table(struct sl_request *request, struct selection *selection)
{
    struct sl_grid table;
    const struct sl_queue_row *row = selection_next(selection);
    const struct sl_field *further =
        row == NULL || row->tenant == NULL ? NULL : sl_model_queued_tenant;
    sl_fields_grid(&table, sl_model_queued, further, request->reply.max);
    for (; row != NULL; row = selection_next(selection)) {
        struct sl_model_queued queued;
        sl_model_queued_of(row, selection->list.now_us, selection->position, &queued);
        sl_fields_cells(&table, sl_model_queued, &queued, further, &queued);
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

int sl_api_queue_list(struct sl_request *request, size_t max, struct sl_queue_list *out)
{
    const struct sl_queue_reader *queue = &request->app->queue;
    *out = (struct sl_queue_list){.n = 0};
    if (queue->list == NULL) {
        (void)sl_error_set(&request->err, SL_ERR_NOTFOUND,
                           "there is no queue here: it is off (queue.enabled)");
        return sl_request_fail(request, 404);
    }
    if (queue->list(queue->context, max, out, &request->err) < 0) {
        sl_api_queue_failed(request);
        return -1;
    }
    return 0;
}

void sl_api_queue(struct sl_request *request)
{
    int64_t limit = 0;
    int64_t skip = 0;
    bool as_table = false;
    if (sl_request_only(request, "output, limit, skip, find, namespace, resource") < 0 ||
        sl_request_number(request, "limit", LIMIT_DEFAULT, LIMIT_MAX, &limit) < 0 ||
        sl_request_number(request, "skip", 0, QUEUE_MAX, &skip) < 0 ||
        sl_request_output(request, &as_table) < 0) {
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
    if (sl_api_queue_list(request, most, &selection.list) == 0) {
        selection.omitted = selection.list.total - selection.list.n;
        (as_table ? write_table : write_json)(request, &selection);
    }
    sl_queue_list_free(&selection.list);
}
