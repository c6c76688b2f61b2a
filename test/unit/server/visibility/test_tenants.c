/* Whom tenants are shown to: a namespace's users see their own tenant, operators all. */
#include "unit/server/rig.h"

#include "server/app/app.h"
#include "server/visibility/kinds.h"

#include <stdlib.h>

#define GPU "nvidia.com/gpu"
#define MIG "nvidia.com/mig-1g.5gb"

static struct sl_tenant_row tenants[] = {
    {.tenant = "a", .resource = GPU, .model = "", .share = 1500000, .held = 2, .borrowed = 500000},
    {.tenant = "a", .resource = GPU, .model = "H100", .share = 1000000},
    {.tenant = "a", .resource = MIG, .model = "", .share = 7000000},
    {.tenant = "b", .resource = GPU, .model = "", .share = 1500000, .lent = 500000, .pods_due = 1},
};
static struct sl_queue_row waiting;

static int list(void *context, size_t max, struct sl_queue_list *out, struct sl_error *err)
{
    (void)context;
    (void)max;
    (void)err;
    *out = (struct sl_queue_list){.row = &waiting,
                                  .n = 1,
                                  .tenant = tenants,
                                  .n_tenants = sizeof(tenants) / sizeof(tenants[0]),
                                  .tenants_omitted = 1};
    return 0;
}

/* A namespace's tenant is its first letter; nobody's else. */
static void tenants_of(void *context, struct sl_queue_space *space, size_t n)
{
    (void)context;
    for (size_t i = 0; i < n; i++) {
        bool known = space[i].namespace[0] == 'a' || space[i].namespace[0] == 'b';
        (void)snprintf(space[i].tenant, sizeof(space[i].tenant), "%.*s", known ? 1 : 0,
                       space[i].namespace);
    }
}

static const struct sl_vis_kind *kind_of(const char *plural)
{
    unsigned i = 0;
    while (strcmp(sl_vis_kinds[i].plural, plural) != 0) {
        i++;
        assert_true(i < SL_VIS_KINDS);
    }
    return &sl_vis_kinds[i];
}

/* "namespace/name tenant resource model" of each row, sorted by nothing but the look. */
static void assert_seen(const char *plural, const char *expected)
{
    static struct sl_app app;
    const struct sl_vis_kind *kind = kind_of(plural);
    struct sl_vis_look look;
    struct sl_buf out;
    app.store = rig_store(
        RIG_NODE("n", GPU, "3") "---\napiVersion: v1\nkind: Pod\n"
                                "metadata: {name: r, uid: r, namespace: a-2}\n"
                                "spec: {nodeName: n, containers: [{name: c, resources: {limits: "
                                "{nvidia.com/gpu: \"1\"}}}]}\n---\napiVersion: v1\nkind: Pod\n"
                                "metadata: {name: s, uid: s, namespace: c}\n"
                                "spec: {nodeName: n, containers: [{name: c, resources: {limits: "
                                "{nvidia.com/gpu: \"1\"}}}]}\n");
    app.queue = (struct sl_queue_reader){.list = list, .tenants_of = tenants_of};
    waiting.pod = &(const struct sl_pod){.namespace = "b", .name = "w", .uid = "w"};
    atomic_store(&app.metrics.limits[SL_LIMIT_TENANTS], 0);
    sl_vis_look_init(&look, &app);
    look.snapshot = sl_store_acquire(app.store);
    assert_int_equal(kind->collect(&look, NULL), 0);
    sl_buf_init(&out, 4096);
    for (size_t i = 0; i < look.n; i++) {
        const struct sl_vis_row *row = &look.row[i];
        char text[SL_FIELD_TEXT_MAX];
        sl_buf_printf(&out, "%.*s/%s ", (int)row->namespace.len,
                      row->namespace.len == 0 ? "" : row->namespace.s, row->name.s);
        sl_buf_printf(&out, "%s ", sl_vis_field(kind, &look, row, SL_STR("status.tenant"), text));
        sl_buf_printf(&out, "%s ", sl_vis_field(kind, &look, row, SL_STR("status.resource"), text));
        const char *model = sl_vis_field(kind, &look, row, SL_STR("status.model"), text);
        sl_buf_printf(&out, "%s\n", model == NULL ? "-" : model);
    }
    assert_string_equal(rig_text(&out), expected);
    assert_int_equal(app.metrics.limits[SL_LIMIT_TENANTS], 1);
    sl_buf_free(&out);
    look.queue = (struct sl_queue_list){.n = 0}; /* ours */
    sl_vis_look_free(&look);
    sl_store_free(app.store);
}

TEST_THAT(a_namespace_shows_the_tenant_whose_it_is_and_no_other)
{
    assert_seen("tenantqueues", "a-2/nvidia.com.gpu a nvidia.com/gpu -\n"
                                "a-2/nvidia.com.gpu.H100 a nvidia.com/gpu H100\n"
                                "a-2/nvidia.com.mig-1g.5gb a nvidia.com/mig-1g.5gb -\n"
                                "b/nvidia.com.gpu b nvidia.com/gpu -\n");
}

TEST_THAT(the_cluster_shows_all_tenants_once)
{
    assert_seen("clustertenantqueues", "/a.nvidia.com.gpu a nvidia.com/gpu -\n"
                                       "/a.nvidia.com.gpu.H100 a nvidia.com/gpu H100\n"
                                       "/a.nvidia.com.mig-1g.5gb a nvidia.com/mig-1g.5gb -\n"
                                       "/b.nvidia.com.gpu b nvidia.com/gpu -\n");
}
