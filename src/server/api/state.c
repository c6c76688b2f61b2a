/* GET /api/v1/state: the daemon's own state in one page. */
#include <stdio.h>

#include "server/api/api.h"
#include "server/api/handlers.h"
#include "server/metrics/version.h"
#include "server/model/node.h"
#include "util/clock.h"
#include "util/time.h"

static void write_counts(struct sl_writer *w, const struct sl_snapshot *snapshot)
{
    sl_write_member_object(w, "cluster");
    sl_write_member_i64(w, "nodes", (int64_t)snapshot->n_nodes);
    sl_write_member_i64(w, "pods", (int64_t)snapshot->n_pods);
    sl_write_member_i64(w, "waiting", (int64_t)snapshot->n_waiting);
    sl_write_member_i64(w, "bound", (int64_t)snapshot->n_bound);
    sl_write_member_i64(w, "reserved", (int64_t)snapshot->n_reserved);
    sl_write_object_end(w);
}

/* The resource's name on some node; NULL when no node offers it. */
static const char *resource_of(const struct sl_snapshot *snapshot, uint64_t key)
{
    for (size_t i = 0; i < snapshot->n_nodes; i++) {
        int pool = sl_node_pool(snapshot->view[i]->node, key);
        if (pool >= 0) {
            return snapshot->view[i]->node->pool[pool].resource;
        }
    }
    return NULL;
}

enum { RESOURCE_MAX = 128, VISITED_MAX = 10000 };

/* Resources in demand that no node offers, and their names by the pods that wait for them. */
struct unoffered {
    unsigned n;
    uint64_t key[SL_DEMAND_MAX];
    char name[SL_DEMAND_MAX][RESOURCE_MAX];
};

static void take_names(void *context, const struct sl_pod *pod)
{
    struct unoffered *unoffered = context;
    for (uint32_t i = 0; i < pod->n_items; i++) {
        for (unsigned k = 0; k < unoffered->n; k++) {
            if (unoffered->key[k] == pod->items[i].key) {
                (void)snprintf(unoffered->name[k], RESOURCE_MAX, "%s", pod->items[i].resource);
            }
        }
    }
}

static void write_demand(struct sl_writer *w, struct sl_store *store,
                         const struct sl_snapshot *snapshot)
{
    struct unoffered unoffered = {0};
    for (unsigned i = 0; i < snapshot->demand.n; i++) {
        uint64_t key = snapshot->demand.row[i].key;
        if (resource_of(snapshot, key) == NULL) {
            unoffered.key[unoffered.n++] = key;
        }
    }
    if (unoffered.n > 0) {
        (void)sl_store_visit_waiting(store, VISITED_MAX, take_names, &unoffered);
    }
    unsigned next = 0;
    sl_write_member_array(w, "demand");
    for (unsigned i = 0; i < snapshot->demand.n; i++) {
        const struct sl_demand_row *row = &snapshot->demand.row[i];
        const char *name = resource_of(snapshot, row->key);
        if (name == NULL) {
            name = unoffered.name[next][0] == '\0' ? NULL : unoffered.name[next];
            next++;
        }
        sl_write_object(w);
        sl_write_member_text(w, "resource", name);
        sl_write_member_text(w, "kind", sl_kind_name(row->kind));
        sl_write_member_i64(w, "weight", row->weight);
        sl_write_object_end(w);
    }
    sl_write_array_end(w);
}

static void write_ledger(struct sl_writer *w, const struct sl_store_stats *stats)
{
    sl_write_member_object(w, "ledger");
    sl_write_member_i64(w, "binds", (int64_t)stats->binds);
    sl_write_member_i64(w, "conflicts", (int64_t)stats->conflicts);
    sl_write_member_i64(w, "expiries", (int64_t)stats->expiries);
    sl_write_member_i64(w, "rollbacks", (int64_t)stats->rollbacks);
    sl_write_object_end(w);
}

static void write_limits(struct sl_writer *w, const struct sl_app *app,
                         const struct sl_store_stats *stats)
{
    sl_write_member_object(w, "limitHits");
    for (unsigned i = 0; i < SL_LIMIT_COUNT; i++) {
        sl_write_member_i64(w, sl_limit_name((enum sl_limit)i),
                            (int64_t)sl_metrics_limit_hits(&app->metrics, stats, (enum sl_limit)i));
    }
    sl_write_object_end(w);
}

/* ---- what is broken ---- */

enum { BROKEN_MAX = 50 }; /* of a kind are named, the rest are counted */

/* A member of an open object: {"total":1,"items":[...]}. */
struct broken {
    struct sl_writer *w;
    int64_t total;
};

static struct broken broken_begin(struct sl_writer *w, const char *key)
{
    sl_write_member_object(w, key);
    sl_write_member_array(w, "items");
    return (struct broken){.w = w};
}

/* Writes the begin of an item, if there is room for one more. */
static bool broken_next(struct broken *broken, const struct sl_node *node)
{
    bool shown = broken->total++ < BROKEN_MAX;
    if (shown) {
        sl_write_object(broken->w);
        sl_write_member_text(broken->w, "node", node->name);
    }
    return shown;
}

static void broken_end(struct broken *broken)
{
    sl_write_array_end(broken->w);
    sl_write_member_i64(broken->w, "total", broken->total);
    sl_write_object_end(broken->w);
}

static unsigned count_broken_gpus(const struct sl_node *node)
{
    unsigned n = 0;
    for (unsigned i = 0; i < node->n_devices; i++) {
        n += node->device[i].healthy ? 0 : 1;
    }
    return n;
}

static void write_broken_nodes(struct sl_writer *w, const struct sl_snapshot *snapshot)
{
    struct broken broken = broken_begin(w, "nodes");
    for (size_t i = 0; i < snapshot->n_nodes; i++) {
        char text[SL_FIELD_TEXT_MAX];
        const struct sl_view *view = snapshot->view[i];
        const char *problem = sl_model_problem(view, text);
        unsigned gpus = count_broken_gpus(view->node);
        if ((problem != NULL || gpus > 0) && broken_next(&broken, view->node)) {
            sl_write_member_text(w, "problem", problem);
            sl_write_member_i64(w, "brokenGpus", gpus);
            sl_write_object_end(w);
        }
    }
    broken_end(&broken);
}

/* Names no pod. */
static void write_failed_cut(struct sl_writer *w, const struct sl_partition_status *status)
{
    sl_write_member_text(w, "why", status->why);
    sl_write_member_i64(w, "failures", status->failures);
    sl_write_key(w, "since");
    sl_api_time(w, status->since_us);
    sl_write_key(w, "until");
    sl_api_time(w, status->until_us);
    sl_write_object_end(w);
}

/* Nodes that are left out, since their last cut failed. */
static void write_failed_cuts(struct sl_writer *w, const struct sl_app *app,
                              const struct sl_snapshot *snapshot)
{
    const struct sl_partition_reader *reader = &app->partitions;
    struct broken broken = broken_begin(w, "cuts");
    int64_t now_us = sl_clock_real_us();
    for (size_t i = 0; i < snapshot->n_nodes && reader->status != NULL; i++) {
        const struct sl_node *node = snapshot->view[i]->node;
        struct sl_partition_status status;
        if (node->partition.actuator == SL_ACTUATOR_NONE) {
            continue;
        }
        reader->status(reader->context, snapshot->view[i], now_us, &status);
        if (status.phase == SL_PHASE_OUT && broken_next(&broken, node)) {
            write_failed_cut(w, &status);
        }
    }
    broken_end(&broken);
}

/* ---- parts that not every daemon has ---- */

static void write_telemetry(struct sl_writer *w, const struct sl_app *app)
{
    struct sl_usage_status status;
    sl_write_key(w, "telemetry");
    if (app->usage.status == NULL) {
        sl_write_null(w);
        return;
    }
    app->usage.status(app->usage.context, &status);
    sl_write_object(w);
    sl_write_member_bool(w, "answered", status.answered);
    sl_write_key(w, "lastAnswerAt");
    sl_api_time(w, status.answered_us);
    sl_write_member_i64(w, "units", (int64_t)status.units);
    sl_write_member_text(w, "error", status.error[0] == '\0' ? NULL : status.error);
    sl_write_object_end(w);
}

static void write_queue(struct sl_writer *w, const struct sl_app *app)
{
    if (app->queue.state == NULL) {
        sl_write_key(w, "queue");
        sl_write_null(w);
    } else {
        app->queue.state(app->queue.context, w);
    }
}

static void write_config(struct sl_writer *w, struct sl_app *app)
{
    struct sl_reload_note note;
    sl_app_last_reload(app, &note);
    sl_write_member_object(w, "config");
    sl_write_member_text(w, "path", app->config_path);
    sl_write_key(w, "lastReload");
    if (note.at_us == 0) {
        sl_write_null(w);
    } else {
        sl_write_object(w);
        sl_write_key(w, "at");
        sl_api_time(w, note.at_us);
        sl_write_member_text(w, "result", note.ok ? "ok" : "failed");
        sl_write_member_text(w, "message", note.text);
        sl_write_object_end(w);
    }
    sl_write_object_end(w);
}

void sl_api_state(struct sl_request *request)
{
    struct sl_app *app = request->app;
    const struct sl_snapshot *snapshot = NULL;
    struct sl_store_stats stats;
    if (sl_request_only(request, "") < 0) {
        return;
    }
    snapshot = sl_app_snapshot(request);
    sl_store_stats(app->store, &stats);
    struct sl_writer w = {.buf = &request->reply};
    sl_write_object(&w);
    sl_write_member_text(&w, "version", SL_VERSION);
    sl_write_member_text(&w, "mode", app->http.embedded ? "embedded" : "cluster");
    const char *scheduler = request->live->config.queue.scheduler;
    sl_write_member_text(&w, "schedulerName", scheduler[0] == '\0' ? NULL : scheduler);
    const char *missing =
        atomic_load(&app->http.draining) ? "it is shutting down" : sl_app_missing(app);
    sl_write_member_bool(&w, "ready", missing == NULL);
    sl_write_member_text(&w, "missing", missing);
    sl_write_key(&w, "startedAt");
    sl_api_time(&w, app->metrics.started_us);
    sl_write_member_i64(&w, "uptimeSeconds",
                        (sl_clock_real_us() - app->metrics.started_us) / SL_SECOND_US);
    sl_write_member_i64(&w, "generation", (int64_t)snapshot->generation);
    write_counts(&w, snapshot);
    write_demand(&w, app->store, snapshot);
    write_ledger(&w, &stats);
    write_limits(&w, app, &stats);
    write_config(&w, app);
    write_queue(&w, app);
    write_telemetry(&w, app);
    sl_write_member_object(&w, "broken");
    write_broken_nodes(&w, snapshot);
    write_failed_cuts(&w, app, snapshot);
    sl_write_object_end(&w);
    if (app->hooks.state != NULL) {
        app->hooks.state(app->hooks.context, &w);
    }
    sl_write_object_end(&w);
    sl_buf_putc(&request->reply, '\n');
}
