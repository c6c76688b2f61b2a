/* The table of kinds. */
#include "server/visibility/kinds.h"

#include "server/model/explain.h"
#include "server/model/node.h"

/* ---- what is there ---- */

static bool is_always(const struct sl_app *app, const struct sl_config *config)
{
    (void)app;
    (void)config;
    return true;
}

static bool is_queued_there(const struct sl_app *app, const struct sl_config *config)
{
    return app->queue.list != NULL && config->queue.enabled;
}

static bool are_tenants_there(const struct sl_app *app, const struct sl_config *config)
{
    return is_queued_there(app, config) && sl_tenants_on(&config->tenants);
}

static bool are_spent_there(const struct sl_app *app, const struct sl_config *config)
{
    return are_tenants_there(app, config) && app->usage.spent != NULL;
}

static bool are_partitions_there(const struct sl_app *app, const struct sl_config *config)
{
    return app->partitions.status != NULL && config->partitioning.enabled;
}

static bool are_usages_there(const struct sl_app *app, const struct sl_config *config)
{
    (void)config;
    return app->usage.node != NULL;
}

/* ---- records ---- */

static const void *queued_of(const struct sl_vis_look *look, const struct sl_vis_row *row,
                             union sl_vis_record *out)
{
    sl_model_queued_of(row->queued, look->now_us, row->position, &out->queued);
    return &out->queued;
}

static const void *resident_of(const struct sl_vis_look *look, const struct sl_vis_row *row,
                               union sl_vis_record *out)
{
    sl_model_resident_of(row->view, row->resident, look->now_us, &out->resident);
    return &out->resident;
}

static const void *view_of(const struct sl_vis_look *look, const struct sl_vis_row *row,
                           union sl_vis_record *out)
{
    (void)look;
    (void)out;
    return row->view;
}

static const void *partition_of(const struct sl_vis_look *look, const struct sl_vis_row *row,
                                union sl_vis_record *out)
{
    sl_model_partition_of(&look->app->partitions, row->view, look->now_us, &out->partition);
    return &out->partition;
}

static const void *usage_of(const struct sl_vis_look *look, const struct sl_vis_row *row,
                            union sl_vis_record *out)
{
    (void)look;
    sl_model_usage_of(row->view, row->usage, &out->usage);
    return &out->usage;
}

static const void *tenant_of(const struct sl_vis_look *look, const struct sl_vis_row *row,
                             union sl_vis_record *out)
{
    (void)look;
    sl_model_tenant_of(row->tenant, &out->tenant);
    return &out->tenant;
}

static const void *spent_of(const struct sl_vis_look *look, const struct sl_vis_row *row,
                            union sl_vis_record *out)
{
    (void)look;
    sl_model_spent_of(row->spent, &out->spent);
    return &out->spent;
}

/* ---- the kinds ---- */

const struct sl_vis_kind sl_vis_kinds[SL_VIS_KINDS] = {
    {"queuedpods", "queuedpod", "QueuedPod", "qp", true, is_queued_there, sl_vis_queued_collect,
     queued_of, sl_model_queued, "How it stands in the queue.",
     "metadata.name, metadata.namespace, status.state, status.reason, status.node",
     "Name of the pod.",
     "QueuedPod is a pod that waits: its place in the queue, why it waits, and when it should "
     "start."},
    {"runningpods", "runningpod", "RunningPod", "rp", true, is_always, sl_vis_running_collect,
     resident_of, sl_model_resident, "Where it is, and until when.",
     "metadata.name, metadata.namespace, status.node, status.phase", "Name of the pod.",
     "RunningPod is a pod that has GPUs: where it is, and until when."},
    {"slicenodes", "slicenode", "SliceNode", "sn", false, is_always, sl_vis_nodes_collect, view_of,
     sl_model_node, "What the node has, and who uses it.", "metadata.name, status.node",
     "Name of the node.",
     "SliceNode is a node with GPUs: its slices, and how many are used, set aside and free."},
    {"partitions", "partition", "Partition", "part", false, are_partitions_there,
     sl_vis_partitions_collect, partition_of, sl_model_partition, "How the node's GPUs are cut.",
     "metadata.name, status.node", "Name of the node.",
     "Partition is a node whose GPUs may be cut: how they are cut, and what is under way."},
    {"usages", "usage", "Usage", "gu", false, are_usages_there, sl_vis_usages_collect, usage_of,
     sl_model_usage, "What was measured of the GPU, or of the MIG instance.",
     "metadata.name, status.node", "Node, GPU and instance.",
     "Usage is a GPU or MIG instance: what it was measured to do."},
    {"tenantqueues", "tenantqueue", "TenantQueue", "tq", true, are_tenants_there,
     sl_vis_tenants_in_collect, tenant_of, sl_model_tenant,
     "What the tenant whose the namespace is has of the resource.",
     "metadata.name, metadata.namespace, status.tenant, status.resource", "The resource.",
     "TenantQueue is a resource as the tenant whose the namespace is has it: its own share, what "
     "it "
     "holds, borrows and lends, and how many of its pods wait."},
    {"clustertenantqueues", "clustertenantqueue", "ClusterTenantQueue", "ctq", false,
     are_tenants_there, sl_vis_tenants_collect, tenant_of, sl_model_tenant,
     "What the tenant has of the resource.", "metadata.name, status.tenant, status.resource",
     "Tenant and resource.",
     "ClusterTenantQueue is a tenant and a resource: its own share, what it holds, borrows and "
     "lends, and how many of its pods wait."},
    {"clustertenantusages", "clustertenantusage", "ClusterTenantUsage", "ctu", false,
     are_spent_there, sl_vis_spent_collect, spent_of, sl_model_spent,
     "What the tenant had of the resource over that time.",
     "metadata.name, status.tenant, status.resource, status.since", "Tenant, resource and time.",
     "ClusterTenantUsage is a tenant and a resource over the last 1d, 7d, 30d or 90d, as "
     "Prometheus "
     "has it: what it held, borrowed and lent, and what its pods waited for, in hours of a unit."},
};

const struct sl_vis_kind sl_vis_estimate_kind = {
    .plural = "startestimates",
    .singular = "startestimate",
    .kind = "StartEstimate",
    .namespaced = true,
    .is_there = is_queued_there,
    .status = sl_model_estimate,
    .status_help = "The answer: where the pod would stand if it came now.",
    .help =
        "StartEstimate asks when a pod would start that does not exist. It is answered, not kept.",
};

int sl_vis_kind_find(const struct sl_app *app, const struct sl_config *config, struct sl_str plural)
{
    for (int i = 0; i < SL_VIS_KINDS; i++) {
        if (sl_str_eq(plural, sl_str_of(sl_vis_kinds[i].plural))) {
            return sl_vis_kinds[i].is_there(app, config) ? i : -1;
        }
    }
    return -1;
}

/* ---- a row ---- */

/* What the nodes have against a pod costs time in proportion to the cluster: only one who asks for
 * one pod is told. */
void sl_vis_write_members(struct sl_writer *w, const struct sl_vis_kind *kind,
                          const struct sl_vis_look *look, const struct sl_vis_row *row)
{
    union sl_vis_record record;
    struct sl_explain explain = {.row = NULL};
    const void *shown = kind->record(look, row, &record);
    if (look->detail != NULL && row->queued != NULL) {
        if (sl_explain_init(&explain, look->snapshot, row->pod, look->detail, NULL) < 0) {
            w->buf->failed = SL_BUF_NOMEM;
            return;
        }
        sl_explain_cuts(&explain, &look->app->partitions, look->now_us);
        record.queued.explain = &explain;
    }
    if (row->pod != NULL) {
        sl_write_key(w, "spec");
        sl_fields_item(w, sl_model_pod, SL_SEEN_BY_USERS, row->pod);
    }
    sl_write_key(w, "status");
    sl_fields_item(w, kind->status, SL_SEEN_BY_USERS, shown);
    sl_explain_free(&explain);
}

const char *sl_vis_field(const struct sl_vis_kind *kind, const struct sl_vis_look *look,
                         const struct sl_vis_row *row, struct sl_str name,
                         char out[SL_FIELD_TEXT_MAX])
{
    struct sl_str rest = name;
    union sl_vis_record record;
    bool meta = sl_str_eq(sl_str_cut(&rest, '.'), SL_STR("metadata"));
    if (meta) {
        return sl_str_eq(rest, SL_STR("name")) ? row->name.s : row->namespace.s;
    }
    if (row->view != NULL && !kind->namespaced) {
        return row->view->node->name; /* the one field of its status to select by */
    }
    return sl_fields_text(kind->status, rest, kind->record(look, row, &record), out);
}

/* ---- texts ---- */

void sl_vis_say_all(struct sl_writer *w, const char *text, const char *const *value)
{
    char last = '\0';
    if (w->comma && text[0] != ']' && text[0] != '}') {
        sl_buf_putc(w->buf, ',');
    }
    for (const char *at = text; *at != '\0'; at++) {
        last = *at == '\'' ? '"' : *at;
        if (*at == '%') {
            sl_buf_puts(w->buf, *value++);
        } else {
            sl_buf_putc(w->buf, last);
        }
    }
    w->comma = last != '[' && last != '{' && last != ':';
}
