/* GET /gpushare-scheduler/inspect and /inspect/{node}: served beside the verbs for the tools of
 * gpushare's extender, in its shape and order of members. */
#include "server/api/handlers.h"

#include <stdio.h>

#include "codec/write.h"
#include "server/app/app.h"

static const struct sl_str resource = {"aliyun.com/gpu-mem", sizeof("aliyun.com/gpu-mem") - 1};

static int memory_pool(const struct sl_view *view)
{
    return sl_view_pool(view, sl_hash(resource.s, resource.len));
}

/* The units of the pool that the resident holds on a device; -1: on none that is known. */
static int64_t units_on(const struct sl_view *view, const struct sl_resident *resident,
                        unsigned pool, int device)
{
    int64_t units = 0;
    for (unsigned i = 0; i < resident->n_parts; i++) {
        const struct sl_assignment_part *part = &view->part[resident->first_part + i];
        bool of_pool = resident->pod->items[part->item].key == view->node->pool[pool].key;
        units += of_pool && part->device == device ? part->amount : 0;
    }
    return units;
}

static void write_device(struct sl_writer *w, const struct sl_view *view, unsigned pool, int device)
{
    const struct sl_node *node = view->node;
    bool known = device >= 0;
    sl_write_object(w);
    sl_write_member_i64(w, "id", known ? node->device[device].index : -1);
    sl_write_member_i64(w, "totalGPU",
                        known ? node->device[device].memory_units : node->pool[pool].capacity);
    sl_write_member_i64(w, "usedGPU",
                        known ? view->device[device].memory_units : view->pool_used[pool]);
    sl_write_member_array(w, "pods");
    for (unsigned i = 0; i < view->n_residents; i++) {
        const struct sl_resident *resident = &view->resident[i];
        int64_t units = units_on(view, resident, pool, device);
        if (units > 0) {
            sl_write_object(w);
            sl_write_member_text(w, "name", resident->pod->name);
            sl_write_member_text(w, "namespace", resident->pod->namespace);
            sl_write_member_i64(w, "usedGPU", units);
            sl_write_object_end(w);
        }
    }
    sl_write_array_end(w);
    sl_write_object_end(w);
}

/* Gives a node whose memory is not tied to devices one of index -1: so gpushare's tools show memory
 * on no GPU that they know. */
static void write_node(struct sl_writer *w, const struct sl_view *view, unsigned pool)
{
    const struct sl_node *node = view->node;
    sl_write_object(w);
    sl_write_member_text(w, "name", node->name);
    sl_write_member_i64(w, "totalGPU", node->pool[pool].capacity);
    sl_write_member_i64(w, "usedGPU", view->pool_used[pool]);
    sl_write_member_array(w, "devs");
    for (unsigned i = 0; node->pool[pool].on_devices && i < node->n_devices; i++) {
        if (node->device[i].memory_units > 0 || view->device[i].memory_units > 0) {
            write_device(w, view, pool, (int)i);
        }
    }
    if (!node->pool[pool].on_devices) {
        write_device(w, view, pool, -1);
    }
    sl_write_array_end(w);
    sl_write_object_end(w);
}

static void begin_reply(struct sl_request *request, struct sl_writer *w)
{
    *w = (struct sl_writer){.buf = &request->reply};
    sl_write_object(w);
    sl_write_member_array(w, "nodes");
}

static void end_reply(struct sl_request *request, struct sl_writer *w)
{
    sl_write_object_end(w);
    sl_buf_putc(&request->reply, '\n');
}

void sl_gpushare_inspect(struct sl_request *request)
{
    const struct sl_snapshot *snapshot = sl_app_snapshot(request);
    struct sl_writer w;
    begin_reply(request, &w);
    for (size_t i = 0; i < snapshot->n_nodes && request->reply.failed == SL_BUF_OK; i++) {
        int pool = memory_pool(snapshot->view[i]);
        if (pool >= 0) {
            write_node(&w, snapshot->view[i], (unsigned)pool);
        }
    }
    sl_write_array_end(&w);
    end_reply(request, &w);
}

/* gpushare answers 200 with an error's text, and its tools look for that. */
static void write_error(struct sl_writer *w, struct sl_str name, const char *why)
{
    char text[320];
    (void)snprintf(text, sizeof(text), "node %.*s %s", (int)(name.len > 253 ? 253 : name.len),
                   name.s, why);
    sl_write_member_text(w, "error", text);
}

void sl_gpushare_inspect_node(struct sl_request *request)
{
    const struct sl_snapshot *snapshot = sl_app_snapshot(request);
    struct sl_str name = request->param[0];
    uint32_t place = sl_snapshot_find(snapshot, name, 0);
    int pool = place == SL_NODE_NONE ? -1 : memory_pool(snapshot->view[place]);
    struct sl_writer w;
    begin_reply(request, &w);
    if (pool >= 0) {
        write_node(&w, snapshot->view[place], (unsigned)pool);
    }
    sl_write_array_end(&w);
    if (pool < 0) {
        write_error(&w, name,
                    place == SL_NODE_NONE ? "is not known" : "does not offer aliyun.com/gpu-mem");
    }
    end_reply(request, &w);
}
