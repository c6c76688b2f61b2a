/* What readers and metrics are told of tenants: copies, which stay what they were. */
#include "queue_rig.h"

TEST_FIXTURE_OF(struct queue_rig, rig_begin, rig_end)

/* Two tenants with even shares of two GPUs. The first has both: one borrowed. */
static void begin_with_tenants(struct queue_rig *rig)
{
    static const struct sl_tenants tenants = {
        .n_spaces = 2, .space = {{.namespace = "a-*", .tenant = "a"}, {"b", "b"}}};
    rig->config.tenants = tenants;
    rig->config.plan.default_timeout_us = HOUR;
    rig_start_on(rig, 2);
    rig_put(rig, (struct rig_pod){.name = "a1", .namespace = "a-1", .gated = true});
    rig_put(rig, (struct rig_pod){.name = "a2", .namespace = "a-2", .gated = true});
    (void)rig_round(rig);
    rig_put(rig, (struct rig_pod){.name = "b1", .namespace = "b", .gated = true});
    (void)rig_later(rig, SECOND);
}

static void list_all(struct queue_rig *rig, struct sl_queue_list *list)
{
    assert_int_equal(rig->queue.list(rig->queue.context, 100, list, NULL), 0);
}

static void assert_row(const struct sl_tenant_row *row, const char *tenant, int64_t held,
                       int64_t borrowed, size_t due)
{
    assert_string_equal(row->tenant, tenant);
    assert_string_equal(row->resource, GPU);
    assert_int_equal(row->share, SL_TENANT_WEIGHT_ONE);
    assert_int_equal(row->held, held);
    assert_int_equal(row->borrowed, borrowed);
    assert_int_equal(row->pods_due, due);
}

static void assert_told(const struct sl_queue_list *list)
{
    assert_int_equal(list->n_tenants, 2);
    assert_int_equal(list->tenants_omitted, 0);
    assert_row(&list->tenant[0], "a", 2, SL_TENANT_WEIGHT_ONE, 0);
    assert_row(&list->tenant[1], "b", 0, 0, 1);
    assert_int_equal(list->tenant[1].lent, SL_TENANT_WEIGHT_ONE);
    for (size_t i = 0; i < list->n; i++) {
        const struct sl_queue_row *row = &list->row[i];
        assert_int_equal(row->tenant[0], row->pod->namespace[0]);
    }
}

/* AddressSanitizer sees where a row still leads into the planner. */
TEST_ON(struct queue_rig *rig, rows_of_tenants_outlive_what_they_are_of)
{
    struct sl_queue_list list;
    struct sl_queue_list later;
    begin_with_tenants(rig);
    list_all(rig, &list);
    assert_told(&list);
    rig->config.tenants = (struct sl_tenants){.n_spaces = 0};
    sl_queue_worker_configure(rig->worker, &rig->config);
    (void)rig_later(rig, 2 * SECOND);
    assert_told(&list);
    rig->worker->listed_us = 0; /* made anew */
    list_all(rig, &later);
    assert_int_equal(later.n_tenants, 0);
    assert_null(later.row[0].tenant);
    sl_queue_list_free(&later);
    sl_queue_list_free(&list);
}

TEST_ON(struct queue_rig *rig, namespaces_have_the_tenants_of_their_pods)
{
    struct sl_queue_space space[] = {{"a-2", ""}, {"b", ""}, {"nobody's", "x"}};
    begin_with_tenants(rig);
    rig->queue.tenants_of(rig->queue.context, space, 3);
    assert_string_equal(space[0].tenant, "a");
    assert_string_equal(space[1].tenant, "b");
    assert_string_equal(space[2].tenant, "");
    rig->leadership = 0;
    (void)rig_round(rig);
    rig->queue.tenants_of(rig->queue.context, space, 3);
    assert_string_equal(space[0].tenant, "");
}

static void count_run(void *to, const struct sl_pod *run)
{
    (void)run;
    *(unsigned *)to += 1;
}

/* The worker's side; core chooses whom. */
TEST_ON(struct queue_rig *rig, who_ends_for_a_pod_is_asked_of_the_plan)
{
    unsigned visited = 0;
    rig->config.plan.preemption = false;
    begin_with_tenants(rig);
    void *worker = rig->queue.context;
    assert_int_equal(rig->queue.reclaim(worker, sl_str_of("u-b1"), "n1", count_run, &visited), 0);
    assert_int_equal(rig->queue.reclaim(worker, sl_str_of("-"), "n1", count_run, &visited), -1);
    rig->leadership = 0;
    (void)rig_round(rig);
    assert_int_equal(rig->queue.reclaim(worker, sl_str_of("-"), "n1", count_run, &visited), 0);
    assert_int_equal(visited, 0);
}

TEST_ON(struct queue_rig *rig, rows_beyond_the_ceiling_are_counted)
{
    struct sl_queue_list list;
    const struct sl_tenant_row row = {.tenant = "a", .resource = GPU};
    (void)rig;
    assert_int_equal(sl_queue_list_init(&list, 0, NULL), 0);
    for (unsigned i = 0; i < SL_QUEUE_TENANTS_MAX + 3; i++) {
        assert_int_equal(sl_queue_list_tenant(&list, &row, NULL), 0);
    }
    assert_int_equal(list.n_tenants, SL_QUEUE_TENANTS_MAX);
    assert_int_equal(list.tenants_omitted, 3);
    sl_queue_list_free(&list);
    rig_start(rig);
}

TEST_ON(struct queue_rig *rig, a_pod_that_is_not_there_has_a_tenant)
{
    struct sl_queue_what_if told;
    begin_with_tenants(rig);
    struct sl_pod *pod =
        rig_pod_new(rig, &(struct rig_pod){.name = "x", .namespace = "c", .gated = true});
    assert_int_equal(rig->queue.what_if(rig->queue.context, pod, &told, NULL), 0);
    assert_string_equal(told.list.row[0].tenant, SL_TENANT_OTHERS); /* the copy's first of them */
    sl_queue_list_free(&told.list);
    sl_pod_unref(pod);
}

/* Pods of two namespaces of the first tenant are measured, and of others that count for no row. */
static int read_used(void *context, struct sl_used **out, size_t *n)
{
    static const struct sl_used rows[] = {{"a-1/" GPU, 250},
                                          {"b/nvidia.com/gpu.shared", 9000},
                                          {"a-2/" GPU, 500},
                                          {"nobody's/" GPU, 9000}};
    (void)context;
    *n = sizeof(rows) / sizeof(rows[0]);
    *out = malloc(sizeof(rows));
    assert_non_null(*out);
    memcpy(*out, rows, sizeof(rows));
    return 0;
}

TEST_ON(struct queue_rig *rig, metrics_tell_of_tenants)
{
    static const char late_of_b[] =
        "\nsliced_tenant_late_seconds{tenant=\"b\",resource=\"nvidia.com/gpu\"} ";
    static const char *const lines[] = {
        "sliced_tenant_units{tenant=\"a\",resource=\"nvidia.com/gpu\",kind=\"share\"} 1\n",
        "sliced_tenant_units{tenant=\"a\",resource=\"nvidia.com/gpu\",kind=\"held\"} 2\n",
        "sliced_tenant_units{tenant=\"a\",resource=\"nvidia.com/gpu\",kind=\"used\"} 0.75\n",
        "sliced_tenant_units{tenant=\"a\",resource=\"nvidia.com/gpu\",kind=\"borrowed\"} 1\n",
        "sliced_tenant_units{tenant=\"b\",resource=\"nvidia.com/gpu\",kind=\"lent\"} 1\n",
        "sliced_tenant_units{tenant=\"b\",resource=\"nvidia.com/gpu\",kind=\"waiting\"} 1\n",
        "sliced_tenant_pods{tenant=\"a\",resource=\"nvidia.com/gpu\",state=\"running\"} 2\n",
        "sliced_tenant_pods{tenant=\"b\",resource=\"nvidia.com/gpu\",state=\"due\"} 1\n",
        "sliced_tenant_late_seconds{tenant=\"a\",resource=\"nvidia.com/gpu\"} 0\n",
        "sliced_tenant_nominations_total{tenant=\"a\",start=\"early\"} 1\n",
        "sliced_tenant_rows_omitted 0\n",
    };
    const struct sl_usage_reader usage = {.used = read_used};
    struct sl_buf page;
    begin_with_tenants(rig);
    (void)rig_later(rig, 9 * SECOND); /* before nominations expire */
    sl_buf_init(&page, 1 << 20);
    rig_metrics(rig, &usage, &page);
    assert_int_equal(page.failed, SL_BUF_OK);
    sl_buf_putc(&page, '\0');
    for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        if (strstr(page.data, lines[i]) == NULL) {
            fail_msg("%s is not in\n%s", lines[i], strstr(page.data, "sliced_tenant"));
        }
    }
    assert_null(strstr(page.data, "tenant=\"b\",resource=\"nvidia.com/gpu\",kind=\"used\""));
    const char *late = strstr(page.data, late_of_b);
    assert_non_null(late);
    assert_true(strtod(late + sizeof(late_of_b) - 1, NULL) >= 9);
    sl_buf_free(&page);
}

TEST_ON(struct queue_rig *rig, guarantees_beyond_what_there_is_are_told_until_they_are_not)
{
    struct sl_tenant_units *units = &rig->config.tenants.guarantee[0];
    begin_with_tenants(rig);
    assert_string_equal(rig->worker->overgiven, "");
    rig->config.tenants.n_guarantees = 1;
    *units = (struct sl_tenant_units){.tenant = "a", .resource = GPU, .units = 3};
    sl_queue_worker_configure(rig->worker, &rig->config);
    (void)rig_later(rig, 61 * SECOND);
    assert_string_equal(rig->worker->overgiven, "tenants.guarantees: 3 of " GPU
                                                " are guaranteed in all, and the nodes have 2");
    units->units = 2;
    sl_queue_worker_configure(rig->worker, &rig->config);
    (void)rig_later(rig, 61 * SECOND);
    assert_string_equal(rig->worker->overgiven, "");
}
