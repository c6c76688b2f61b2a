/* GET /api/v1/partitions: the nodes whose GPUs may be cut, how they are cut, and what is under way.
 */
#include "server/api/api.h"
#include "server/api/handlers.h"
#include "server/model/partition.h"
#include "util/clock.h"

enum { LIMIT_DEFAULT = 500, LIMIT_MAX = 5000 };

/* May its GPUs be cut? Of a node that is asked for by its name it is said why not. */
static bool is_listed(const struct sl_request *request, const struct sl_view *view)
{
    struct sl_str name = sl_request_query(request, "node"); /* empty: all */
    bool could = request->live->config.partitioning.enabled && sl_node_has_gpus(view->node);
    bool selected = view->node->partition.actuator != SL_ACTUATOR_NONE;
    return name.len == 0 ? selected
                         : (selected || could) && sl_str_eq(name, sl_str_of(view->node->name));
}

static size_t count_nodes(const struct sl_request *request)
{
    const struct sl_snapshot *snapshot = request->snapshot;
    size_t n = 0;
    for (size_t i = 0; i < snapshot->n_nodes; i++) {
        n += is_listed(request, snapshot->view[i]) ? 1 : 0;
    }
    return n;
}

static void write_json(struct sl_request *request, size_t limit)
{
    const struct sl_snapshot *snapshot = request->snapshot;
    struct sl_writer w = {.buf = &request->reply};
    size_t total = count_nodes(request);
    size_t shown = 0;
    sl_write_object(&w);
    sl_write_member_bool(&w, "enabled", request->live->config.partitioning.enabled);
    sl_write_member_i64(&w, "total", (int64_t)total);
    sl_write_member_array(&w, "items");
    for (size_t i = 0; i < snapshot->n_nodes && shown < limit; i++) {
        if (is_listed(request, snapshot->view[i])) {
            struct sl_model_partition partition;
            sl_model_partition_of(&request->app->partitions, snapshot->view[i], sl_clock_real_us(),
                                  &partition);
            sl_fields_item(&w, sl_model_partition, SL_SEEN_IN_LISTS, &partition);
            shown++;
        }
    }
    sl_write_array_end(&w);
    sl_write_member_i64(&w, "omitted", (int64_t)(total - shown));
    sl_write_object_end(&w);
    sl_buf_putc(&request->reply, '\n');
}

static void write_table(struct sl_request *request, size_t limit)
{
    const struct sl_snapshot *snapshot = request->snapshot;
    struct sl_model_partition partition;
    struct sl_grid table;
    size_t total = count_nodes(request);
    size_t shown = 0;
    if (total == 0) {
        sl_buf_puts(&request->reply, request->live->config.partitioning.enabled
                                         ? "No node matches partitioning.nodeSelector.\n"
                                         : "Nothing is cut: partitioning.enabled is false.\n");
        return;
    }
    sl_fields_grid(&table, sl_model_partition, sl_model_cut_gpus.sub, request->reply.max);
    for (size_t i = 0; i < snapshot->n_nodes && shown < limit; i++) {
        if (is_listed(request, snapshot->view[i])) {
            sl_model_partition_of(&request->app->partitions, snapshot->view[i], sl_clock_real_us(),
                                  &partition);
            sl_fields_rows(&table, sl_model_partition, &sl_model_cut_gpus, &partition);
            shown++;
        }
    }
    sl_grid_write(&table, &request->reply);
    sl_grid_free(&table);
    if (shown < total) {
        sl_buf_printf(&request->reply, "(%zu more node%s: ?limit=)\n", total - shown,
                      total - shown == 1 ? "" : "s");
    }
}

void sl_api_partitions(struct sl_request *request)
{
    int64_t limit = 0;
    bool as_table = false;
    if (sl_request_only(request, "output, limit, node") < 0 ||
        sl_request_number(request, "limit", LIMIT_DEFAULT, LIMIT_MAX, &limit) < 0 ||
        sl_request_output(request, &as_table) < 0) {
        return;
    }
    const char *missing = sl_app_missing(request->app);
    if (request->live->config.partitioning.enabled && missing != NULL) {
        (void)sl_error_set(&request->err, SL_ERR_CONFLICT, "%s", missing);
        sl_api_queue_failed(request); /* the leader alone knows what is under way */
        return;
    }
    (void)sl_app_snapshot(request);
    if (as_table) {
        write_table(request, (size_t)limit);
    } else {
        write_json(request, (size_t)limit);
    }
}
