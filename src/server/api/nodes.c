/* GET /api/v1/nodes and /api/v1/nodes/{name}: devices, instances, pools, and who uses them. */
#include "server/api/api.h"
#include "server/api/handlers.h"
#include "server/model/node.h"
#include "server/model/pod.h"
#include "util/data/search.h"

#include <stdio.h>

enum { LIMIT_DEFAULT = 500, LIMIT_MAX = 5000, VERSION_MAX = 48 };

static void add_pools(struct sl_grid *table, const struct sl_view *view)
{
    sl_fields_rows(table, sl_model_node, &sl_model_pools, view);
}

static bool view_is_upto(const void *item, const void *key)
{
    const struct sl_view *const *view = item;
    return strcmp((*view)->node->name, key) <= 0;
}

/* The place of the first view whose node stands behind that name. */
static size_t first_after(const struct sl_snapshot *snapshot, struct sl_str name)
{
    return name.len == 0 ? 0
                         : sl_lower_bound(snapshot->view, snapshot->n_nodes,
                                          sizeof(struct sl_view *), name.s, view_is_upto);
}

/* What a caller has seen: generations are counted anew by each process. */
static void version_text(const struct sl_request *request, uint64_t generation,
                         char out[VERSION_MAX])
{
    (void)snprintf(out, VERSION_MAX, "%lld-%llu", (long long)request->app->metrics.started_us,
                   (unsigned long long)generation);
}

/* Reads ?since=: the generation of that version in *out. 0: there is none, it is another process's,
 * or nodes have come or gone since, so that all are to be listed. -1 after sl_request_fail. */
static int since_generation(struct sl_request *request, uint64_t *out)
{
    struct sl_str since = sl_request_query(request, "since");
    struct sl_str rest = since;
    struct sl_str process = sl_str_cut(&rest, '-');
    int64_t started_us = 0;
    int64_t generation = 0;
    char ours[VERSION_MAX];
    *out = 0;
    if (since.len == 0) {
        return 0;
    }
    if (!sl_str_to_i64(process, &started_us) || !sl_str_to_i64(rest, &generation) ||
        generation < 0) {
        (void)sl_error_set(&request->err, SL_ERR_FIELD,
                           "\"%.*s\" is not the version of an earlier answer (NUMBER-NUMBER)",
                           (int)(since.len > VERSION_MAX ? VERSION_MAX : since.len), since.s);
        return sl_request_fail_query(request, "since");
    }
    version_text(request, (uint64_t)generation, ours);
    if (sl_str_eq(since, sl_str_of(ours)) &&
        (uint64_t)generation <= request->snapshot->generation &&
        (uint64_t)generation >= request->snapshot->nodes_generation) {
        *out = (uint64_t)generation;
    }
    return 0;
}

static void write_list(struct sl_request *request, size_t from, size_t to, uint64_t since)
{
    const struct sl_snapshot *snapshot = request->snapshot;
    struct sl_writer w = {.buf = &request->reply};
    char version[VERSION_MAX];
    version_text(request, snapshot->generation, version);
    sl_write_object(&w);
    sl_write_member_i64(&w, "generation", (int64_t)snapshot->generation);
    sl_write_member_text(&w, "version", version);
    sl_write_member_bool(&w, "complete", since == 0);
    sl_write_member_i64(&w, "total", (int64_t)snapshot->n_nodes);
    sl_write_member_text(&w, "continue",
                         to < snapshot->n_nodes && to > 0 ? snapshot->view[to - 1]->node->name
                                                          : NULL);
    sl_write_member_array(&w, "items");
    for (size_t i = from; i < to && request->reply.failed == SL_BUF_OK; i++) {
        if (since == 0 || snapshot->view[i]->shown > since) {
            sl_fields_item(&w, sl_model_node, SL_SEEN_IN_LISTS, snapshot->view[i]);
        }
    }
    sl_write_array_end(&w);
    sl_write_object_end(&w);
    sl_buf_putc(&request->reply, '\n');
}

static void write_list_table(struct sl_request *request, size_t from, size_t to)
{
    struct sl_grid table;
    sl_fields_grid(&table, sl_model_node, sl_model_pools.sub, request->reply.max);
    for (size_t i = from; i < to; i++) {
        add_pools(&table, request->snapshot->view[i]);
    }
    sl_grid_write(&table, &request->reply);
    sl_grid_free(&table);
    if (to < request->snapshot->n_nodes) {
        size_t more = request->snapshot->n_nodes - to;
        sl_buf_printf(&request->reply, "(%zu more node%s: ?continue=%s)\n", more,
                      more == 1 ? "" : "s",
                      to > 0 ? request->snapshot->view[to - 1]->node->name : "");
    }
}

void sl_api_nodes(struct sl_request *request)
{
    int64_t limit = 0;
    bool as_table = false;
    if (sl_request_only(request, "output, limit, continue, since") < 0 ||
        sl_request_number(request, "limit", LIMIT_DEFAULT, LIMIT_MAX, &limit) < 0 ||
        sl_request_output(request, &as_table) < 0) {
        return;
    }
    const struct sl_snapshot *snapshot = sl_app_snapshot(request);
    uint64_t since = 0;
    if (since_generation(request, &since) < 0) {
        return;
    }
    if (since > 0 && since == snapshot->generation) {
        request->code = 304;
        return;
    }
    size_t from = first_after(snapshot, sl_request_query(request, "continue"));
    size_t left = snapshot->n_nodes - from;
    size_t to = from + ((size_t)limit < left ? (size_t)limit : left);
    if (as_table) {
        write_list_table(request, from, to);
    } else {
        write_list(request, from, to, since);
    }
}

void sl_api_node(struct sl_request *request)
{
    bool as_table = false;
    if (sl_request_only(request, "output") < 0 || sl_request_output(request, &as_table) < 0) {
        return;
    }
    const struct sl_snapshot *snapshot = sl_app_snapshot(request);
    struct sl_str name = request->param[0];
    uint32_t place = sl_snapshot_find(snapshot, name, 0);
    if (place == SL_NODE_NONE) {
        (void)sl_error_set(&request->err, SL_ERR_NOTFOUND, "node %.*s is not known",
                           (int)(name.len > 253 ? 253 : name.len), name.s);
        (void)sl_request_fail(request, 404);
        return;
    }
    const struct sl_view *view = snapshot->view[place];
    struct sl_buf *out = &request->reply;
    if (!as_table) {
        struct sl_writer w = {.buf = out};
        sl_fields_item(&w, sl_model_node, SL_SEEN_IN_LISTS, view);
        sl_buf_putc(out, '\n');
        return;
    }
    struct sl_grid table;
    sl_fields_grid(&table, sl_model_node, sl_model_pools.sub, out->max);
    add_pools(&table, view);
    sl_grid_write(&table, out);
    sl_grid_free(&table);
    sl_buf_putc(out, '\n');
    sl_model_devices_table(view, out->max, out);
    if (view->n_residents > 0) {
        sl_buf_putc(out, '\n');
        sl_fields_grid(&table, NULL, sl_model_resident, out->max);
        sl_fields_rows(&table, NULL, &sl_model_residents, view);
        sl_grid_write(&table, out);
        sl_grid_free(&table);
    }
}
