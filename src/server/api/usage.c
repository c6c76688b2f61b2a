/* GET /api/v1/usage: what GPUs were measured to do, by device, by pod or by namespace. */
#include "server/model/usage.h"
#include "server/api/api.h"
#include "server/api/handlers.h"
#include "util/clock.h"
#include "util/data/map.h"

#include <stdio.h>
#include <stdlib.h>

enum { LIMIT_DEFAULT = 500, LIMIT_MAX = 5000 };

enum by { BY_DEVICE, BY_POD, BY_NAMESPACE };

struct writing {
    struct sl_request *request;
    struct sl_writer *w;   /* NULL: a table */
    struct sl_grid *table; /* NULL: JSON */
    struct sl_str ns;      /* only its pods; empty: all */
    struct sl_str node;    /* only that node; empty: all */
    enum by by;
    int64_t idle_us;      /* a pod that idles for that long counts as idle */
    struct sl_map spaces; /* struct sl_model_space by name */
    bool failed;          /* out of memory */
    size_t limit;
    size_t total;
    size_t shown;
    int64_t now_us;
    struct sl_usage_row row[SL_USAGE_ROWS_MAX]; /* of the node that is written */
    size_t n_rows;
};

static bool may_show(struct writing *out)
{
    out->total++;
    out->shown += out->shown < out->limit;
    return out->total <= out->limit;
}

static const struct sl_field *const fields_of[] = {
    [BY_DEVICE] = sl_model_usage,
    [BY_POD] = sl_model_pod_use,
    [BY_NAMESPACE] = sl_model_space,
};

static void put_row(struct writing *out, const void *record)
{
    if (out->table != NULL) {
        sl_fields_cells(out->table, fields_of[out->by], record, NULL, NULL);
    } else {
        sl_fields_item(out->w, fields_of[out->by], SL_SEEN_IN_LISTS, record);
    }
}

static void write_device(struct writing *out, const struct sl_view *view,
                         const struct sl_usage_row *row)
{
    struct sl_model_usage usage;
    if (may_show(out)) {
        sl_model_usage_now(view, row, &usage);
        put_row(out, &usage);
    }
}

static int64_t joules_of(const struct writing *out, const char *uid, const char *namespace)
{
    const struct sl_usage_reader *reader = &out->request->app->usage;
    return reader->joules(reader->context, uid, namespace);
}

static void write_pod(struct writing *out, const struct sl_view *view,
                      const struct sl_resident *resident, const struct sl_pod_use *use)
{
    struct sl_model_pod_use pod;
    if (may_show(out)) {
        sl_model_resident_of(view, resident, out->now_us, &pod.resident);
        pod.use = use;
        pod.joules = joules_of(out, resident->pod->uid, NULL);
        pod.since_us = use->idle_us > 0 ? use->since_us : 0;
        pod.idle = use->idle_us >= out->idle_us;
        put_row(out, &pod);
    }
}

/* ---- by namespace ---- */

/* NULL: out of memory. */
static struct sl_model_space *space_of(struct writing *out, const char *name)
{
    struct sl_model_space *space = sl_map_get(&out->spaces, name, strlen(name));
    if (space != NULL) {
        return space;
    }
    space = calloc(1, sizeof(*space));
    if (space == NULL || sl_map_put(&out->spaces, name, strlen(name), space, NULL) < 0) {
        free(space);
        out->failed = true;
        return NULL;
    }
    space->name = name;
    space->used_mib = -1;
    return space;
}

static void count_pod(struct writing *out, const struct sl_view *view, const struct sl_pod *pod,
                      const struct sl_pod_use *use)
{
    struct sl_model_space *space = space_of(out, pod->namespace);
    if (space == NULL) {
        return;
    }
    space->held = space->view == view ? space->held : 0;
    space->view = view;
    space->devices += __builtin_popcountll(use->held & ~space->held);
    space->held |= use->held;
    space->pods++;
    space->share += use->share;
    space->declared_mib += use->declared_mib < 0 ? 0 : use->declared_mib;
    space->used_mib = use->used_mib < 0     ? space->used_mib
                      : space->used_mib < 0 ? use->used_mib
                                            : space->used_mib + use->used_mib;
    if (use->idle_us >= out->idle_us) {
        space->idle_pods++;
        space->idle_share += use->share;
        space->idle_us += use->idle_us / 1000 * use->share;
    }
}

static void write_space(struct writing *out, struct sl_model_space *space)
{
    if (may_show(out)) {
        space->joules = joules_of(out, NULL, space->name);
        put_row(out, space);
    }
}

static int by_name(const void *a, const void *b)
{
    const struct sl_model_space *const *x = a;
    const struct sl_model_space *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static void write_spaces(struct writing *out)
{
    size_t n = out->spaces.len;
    struct sl_model_space **list = n == 0 ? NULL : calloc(n, sizeof(struct sl_model_space *));
    size_t at = 0;
    size_t i = 0;
    out->failed = out->failed || (n > 0 && list == NULL);
    for (; list != NULL && i < n; i++) {
        list[i] = sl_map_next(&out->spaces, &at);
    }
    if (list != NULL) {
        qsort(list, n, sizeof(struct sl_model_space *), by_name);
    }
    for (i = 0; list != NULL && i < n; i++) {
        write_space(out, list[i]);
    }
    free(list);
}

static void spaces_free(struct writing *out)
{
    size_t at = 0;
    for (struct sl_model_space *space = sl_map_next(&out->spaces, &at); space != NULL;
         space = sl_map_next(&out->spaces, &at)) {
        free(space);
    }
    sl_map_free(&out->spaces);
}

/* ---- the walk ---- */

static void write_node(struct writing *out, const struct sl_view *view)
{
    const struct sl_usage_reader *reader = &out->request->app->usage;
    out->n_rows =
        reader->node(reader->context, sl_str_of(view->node->name), out->row, SL_USAGE_ROWS_MAX);
    sl_usage_agree(view, out->row, out->n_rows);
    for (size_t i = 0; out->by == BY_DEVICE && i < out->n_rows; i++) {
        write_device(out, view, &out->row[i]);
    }
    for (unsigned i = 0; out->by != BY_DEVICE && i < view->n_residents; i++) {
        const struct sl_resident *resident = &view->resident[i];
        struct sl_pod_use use;
        if (out->ns.len > 0 && !sl_str_eq(out->ns, sl_str_of(resident->pod->namespace))) {
            continue;
        }
        sl_usage_pod(view, resident, out->row, out->n_rows, out->now_us, &use);
        if (out->by == BY_POD) {
            write_pod(out, view, resident, &use);
        } else {
            count_pod(out, view, resident->pod, &use);
        }
    }
}

static void walk(struct writing *out)
{
    const struct sl_snapshot *snapshot = out->request->snapshot;
    for (size_t i = 0; i < snapshot->n_nodes; i++) {
        if (out->node.len == 0 || sl_str_eq(out->node, sl_str_of(snapshot->view[i]->node->name))) {
            write_node(out, snapshot->view[i]);
        }
    }
    write_spaces(out);
}

static void write_json(struct writing *out)
{
    const struct sl_usage_reader *reader = &out->request->app->usage;
    struct sl_writer w = {.buf = &out->request->reply};
    struct sl_usage_status status = {.answered = false};
    out->w = &w;
    sl_write_object(&w);
    sl_write_member_bool(&w, "enabled", reader->node != NULL);
    if (reader->node != NULL) {
        reader->status(reader->context, &status);
        sl_write_member_bool(&w, "answered", status.answered);
        sl_write_key(&w, "answeredAt");
        sl_api_time(&w, status.answered_us);
        sl_write_member_text(&w, "error", status.error[0] == '\0' ? NULL : status.error);
    }
    sl_write_member_array(&w, "items");
    if (reader->node != NULL) {
        walk(out);
    }
    sl_write_array_end(&w);
    sl_write_member_i64(&w, "total", (int64_t)out->total);
    sl_write_member_i64(&w, "omitted", (int64_t)(out->total - out->shown));
    sl_write_object_end(&w);
    sl_buf_putc(&out->request->reply, '\n');
}

static void write_table(struct writing *out)
{
    const struct sl_usage_reader *reader = &out->request->app->usage;
    struct sl_buf *reply = &out->request->reply;
    struct sl_usage_status status;
    struct sl_grid table;
    if (reader->node == NULL) {
        sl_buf_puts(reply,
                    "Nothing is measured: telemetry.url and telemetry.exporters are empty.\n");
        return;
    }
    reader->status(reader->context, &status);
    if (!status.answered || status.error[0] != '\0') {
        sl_buf_printf(reply, "No telemetry%s%s\n", status.error[0] == '\0' ? " yet." : ": ",
                      status.error);
    }
    sl_fields_grid(&table, fields_of[out->by], NULL, reply->max);
    out->table = &table;
    walk(out);
    sl_grid_write(&table, reply);
    sl_grid_free(&table);
    if (out->shown < out->total) {
        sl_buf_printf(reply, "(%zu more: ?limit=)\n", out->total - out->shown);
    }
}

static bool by_of(struct sl_str text, enum by *out)
{
    static const struct {
        struct sl_str text;
        enum by by;
    } words[] = {{{"", 0}, BY_DEVICE},
                 {{"device", 6}, BY_DEVICE},
                 {{"pod", 3}, BY_POD},
                 {{"namespace", 9}, BY_NAMESPACE}};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (sl_str_eq(text, words[i].text)) {
            *out = words[i].by;
            return true;
        }
    }
    return false;
}

void sl_api_usage(struct sl_request *request)
{
    struct sl_str by = sl_request_query(request, "by");
    struct writing *out = NULL;
    enum by kind = BY_DEVICE;
    int64_t limit = 0;
    bool as_table = false;
    if (sl_request_only(request, "output, limit, by, namespace, node") < 0 ||
        sl_request_number(request, "limit", LIMIT_DEFAULT, LIMIT_MAX, &limit) < 0 ||
        sl_request_output(request, &as_table) < 0) {
        return;
    }
    if (!by_of(by, &kind)) {
        (void)sl_error_set(&request->err, SL_ERR_FIELD,
                           "expected device, pod or namespace, found \"%.*s\"",
                           (int)(by.len < 64 ? by.len : 64), by.s);
        (void)snprintf(request->err.field, sizeof(request->err.field), "by");
        (void)sl_request_fail_err(request);
        return;
    }
    out = calloc(1, sizeof(*out));
    if (out == NULL) {
        (void)sl_error_nomem(&request->err);
        (void)sl_request_fail_err(request);
        return;
    }
    *out = (struct writing){.request = request,
                            .ns = sl_request_query(request, "namespace"),
                            .node = sl_request_query(request, "node"),
                            .by = kind,
                            .idle_us = request->live->config.telemetry.idle_us,
                            .limit = (size_t)limit,
                            .now_us = sl_clock_real_us()};
    (void)sl_app_snapshot(request);
    if (as_table) {
        write_table(out);
    } else {
        write_json(out);
    }
    if (out->failed) {
        (void)sl_error_nomem(&request->err);
        (void)sl_request_fail_err(request);
    }
    spaces_free(out);
    free(out);
}
