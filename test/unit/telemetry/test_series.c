/* The node, GPU and pod of a series. Its labels may be copies of a pod's, and say what the pod's
 * author likes. */
#include "telemetry_rig.h"

static struct sl_node *shared_node(const char *name)
{
    struct sl_pair label[4];
    label[0] = pair_of("nvidia.com/gpu.product", "Tesla-T4-SHARED", NULL);
    label[1] = pair_of("nvidia.com/gpu.count", "2", &label[0]);
    label[2] = pair_of("nvidia.com/gpu.memory", "15360", &label[1]);
    label[3] = pair_of("nvidia.com/gpu.replicas", "4", &label[2]);
    struct sl_pair allocatable = pair_of("nvidia.com/gpu.shared", "8", NULL);
    struct sl_node_facts facts = {.name = sl_str_of(name),
                                  .labels = &label[3],
                                  .allocatable = &allocatable,
                                  .capacity = &allocatable};
    struct sl_node *node = sl_node_new(&facts, NULL);
    assert_non_null(node);
    return node;
}

static void put_runs(const char *name, const char *node, const char *resource)
{
    put_pod(rig.store, (struct pod_spec){.name = name,
                                         .uid = name,
                                         .node = node,
                                         .resource = resource,
                                         .phase = "Running",
                                         .created_us = sl_clock_real_us() - SL_HOUR_US,
                                         .started_us = sl_clock_real_us() - SL_HOUR_US});
}

/* n0 and n1 have two whole GPUs, m0 four instances, s0 two GPUs that are shared. */
static void begin(const char *url)
{
    rig_begin();
    if (url == NULL) {
        rig_ask_exporters();
    } else {
        (void)snprintf(rig.config.telemetry.url, sizeof(rig.config.telemetry.url), "%s", url);
    }
    rig.config.telemetry.idle_us = SL_MINUTE_US;
    rig_start();
    put_node(rig.store, whole_node("n0", 2));
    put_node(rig.store, whole_node("n1", 2));
    put_runs("here", "n0", GPU);
    put_runs("there", "n1", GPU);
}

static size_t rows_of(const char *node, struct sl_usage_row *row, size_t max)
{
    struct sl_usage_reader reader = sl_telemetry_reader(rig.telemetry);
    return reader.node(reader.context, sl_str_of(node), row, max);
}

static struct sl_telemetry_stats stats_of(void)
{
    struct sl_telemetry_stats stats;
    sl_telemetry_stats(rig.telemetry, &stats);
    return stats;
}

/* Prometheus answers with a GPU that was so busy until two minutes ago, and then does nothing. */
static void told_busy(const char *labels, int percent)
{
    static const char *const names[] = {"FB_USED", "GPU_UTIL"};
    char text[4096] = "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[";
    size_t len = strlen(text);
    long long now_s = (long long)(sl_clock_real_us() / SL_SECOND_US);
    for (int k = 0; k < 2; k++) {
        len += (size_t)snprintf(text + len, sizeof(text) - len,
                                "%s{\"metric\":{\"__name__\":\"DCGM_FI_DEV_%s\",%s},\"values\":[",
                                k == 0 ? "" : ",", names[k], labels);
        for (int i = 30; i >= 0; i--) {
            len += (size_t)snprintf(text + len, sizeof(text) - len, "[%lld,\"%d\"]%s",
                                    now_s - 10LL * i, i > 12 ? percent : 0, i == 0 ? "]}" : ",");
        }
    }
    len += (size_t)snprintf(text + len, sizeof(text) - len, "]}}");
    assert_true(len < sizeof(text));
    assert_int_equal(rig_answer(&rig.call[0], text), 0);
    (void)rig_tick();
}

static void told(const char *labels)
{
    told_busy(labels, 0);
}

TEST_THAT(a_series_is_of_the_node_that_has_the_pod_where_labels_name_several)
{
    static const struct {
        const char *labels, *node; /* NULL: of none */
    } rows[] = {
        {"\"Hostname\":\"n0\"", "n0"},
        {"\"node\":\"n1\"", "n1"},
        {"\"Hostname\":\"nowhere\"", NULL},
        {"\"Hostname\":\"nowhere\",\"node\":\"n1\"", "n1"},
        {"\"Hostname\":\"n0\",\"node\":\"n0\"", "n0"},
        {"\"Hostname\":\"n0\",\"node\":\"n1\"", NULL},
        {"\"Hostname\":\"n0\",\"node\":\"n1\",\"pod\":\"there\",\"namespace\":\"default\"", "n1"},
        {"\"Hostname\":\"n1\",\"node\":\"n0\",\"pod\":\"there\",\"namespace\":\"default\"", "n1"},
        {"\"Hostname\":\"n0\",\"node\":\"n1\",\"kubernetes_node\":\"n1\",\"pod\":\"there\","
         "\"namespace\":\"default\"",
         "n1"},
        {"\"Hostname\":\"n0\",\"node\":\"n1\",\"pod\":\"both\",\"namespace\":\"default\","
         "\"exported_namespace\":\"other\"",
         NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char labels[256];
        struct sl_usage_row row[4];
        begin("http://prometheus");
        put_runs("both", "n0", GPU);
        put_pod(rig.store, (struct pod_spec){.name = "both",
                                             .uid = "other",
                                             .space = "other",
                                             .node = "n1",
                                             .resource = GPU,
                                             .phase = "Running"});
        (void)rig_tick();
        (void)snprintf(labels, sizeof(labels), "\"gpu\":\"1\",%s", rows[i].labels);
        told(labels);
        assert_int_equal(stats_of().strangers, rows[i].node == NULL ? 2 : 0); /* two figures */
        for (int k = 0; k < 2; k++) {
            const char *node = k == 0 ? "n0" : "n1";
            bool has = rows[i].node != NULL && strcmp(rows[i].node, node) == 0;
            assert_int_equal(rows_of(node, row, 4), has);
        }
        rig_end();
    }
}

/* Prometheus puts the name of the exporter's own pod beside; an exporter knows no such name. */
TEST_THAT(one_name_beside_the_pods_is_the_exporters_own_with_prometheus_alone)
{
    static const struct {
        const char *labels;
        bool named;
    } rows[] = {
        {"\"pod\":\"here\",\"namespace\":\"default\"", true},
        {"\"pod\":\"exporter\",\"exported_pod\":\"here\",\"namespace\":\"gpus\","
         "\"exported_namespace\":\"default\"",
         true},
        {"\"pod\":\"exporter\",\"exported_pod\":\"here\",\"pod_name\":\"third\","
         "\"namespace\":\"gpus\",\"exported_namespace\":\"default\"",
         false},
        {"\"pod\":\"stranger\",\"namespace\":\"default\"", false},
        /* more than anybody writes: which are left out is unknown */
        {"\"pod\":\"here\",\"pod_name\":\"here\",\"exported_pod\":\"here\","
         "\"exported_pod_name\":\"here\",\"exported_exported_pod\":\"here\","
         "\"exported_exported_pod_name\":\"here\",\"exported_exported_exported_pod\":\"x\","
         "\"namespace\":\"default\"",
         false},
    };
    struct sl_usage_row row;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char labels[512];
        begin("http://prometheus");
        (void)rig_tick();
        (void)snprintf(labels, sizeof(labels), "\"Hostname\":\"n0\",\"gpu\":\"0\",%s",
                       rows[i].labels);
        told(labels);
        assert_int_equal(rows_of("n0", &row, 1), 1);
        assert_int_equal(row.names.n, rows[i].named);
        rig_end();
    }
    begin(NULL);
    (void)rig_tick();
    assert_int_equal(rig_answer(&rig.call[0],
                                "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",pod=\"x\",pod_name=\"here\","
                                "namespace=\"default\"} 0\n"
                                "DCGM_FI_DEV_GPU_UTIL{gpu=\"1\",pod=\"here\","
                                "namespace=\"default\",Hostname=\"n1\"} 0\n"),
                     0);
    struct sl_usage_row both[2];
    assert_int_equal(rows_of("n1", both, 2), 0); /* whose exporter was asked, not what it says */
    assert_int_equal(rows_of("n0", both, 2), 2);
    assert_int_equal(both[0].names.n, 0);
    assert_int_equal(both[1].names.n, 1);
    rig_end();
}

/* Otherwise a pod that calls its label GPU_I_ID hides the GPU that it leaves idle. */
TEST_THAT(an_instance_counts_where_the_node_may_have_some)
{
    struct sl_usage_row row;
    for (int i = 0; i < 2; i++) {
        begin("http://prometheus");
        put_node(rig.store, sliced_node("m0", 4));
        (void)rig_tick();
        told(i == 0 ? "\"Hostname\":\"n0\",\"gpu\":\"0\",\"GPU_I_ID\":\"3\""
                    : "\"Hostname\":\"m0\",\"gpu\":\"0\",\"GPU_I_ID\":\"3\"");
        assert_int_equal(rows_of(i == 0 ? "n0" : "m0", &row, 1), 1);
        assert_int_equal(row.instance, i == 0 ? -1 : 3);
        rig_end();
    }
}

TEST_THAT(who_shares_idles_by_name_only_where_all_who_share_are_named)
{
    for (int others = 0; others < 2; others++) {
        begin("http://prometheus");
        put_node(rig.store, shared_node("s0"));
        put_runs("victim", "s0", "nvidia.com/gpu.shared");
        if (others > 0) {
            put_runs("other", "s0", "nvidia.com/gpu.shared");
        }
        (void)rig_tick();
        told("\"Hostname\":\"s0\",\"gpu\":\"0\",\"pod\":\"victim\",\"namespace\":\"default\"");
        assert_int_equal(stats_of().idle_pods, others == 0);
        rig_end();
    }
}

/* One sample of n0's first GPU; by how much it is thought to be ahead of the clock. */
static int64_t ahead_by(int seconds)
{
    char text[512];
    long long at_s = (long long)(sl_clock_real_us() / SL_SECOND_US) + seconds;
    (void)snprintf(text, sizeof(text),
                   "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[{"
                   "\"metric\":{\"__name__\":\"DCGM_FI_DEV_GPU_UTIL\",\"Hostname\":\"n0\","
                   "\"gpu\":\"0\"},\"values\":[[%lld,\"0\"]]}]}}",
                   at_s);
    while (rig.call[0].options.done == NULL) {
        (void)rig_tick();
    }
    assert_int_equal(rig_answer(&rig.call[0], text), 0);
    const struct sl_unit_node *node = sl_units_node(&rig.telemetry->units, sl_str_of("n0"));
    assert_non_null(node);
    return node->first->usage.ahead_us / SL_SECOND_US;
}

TEST_THAT(samples_of_a_time_to_come_say_by_how_much_the_clock_is_behind)
{
    begin("http://prometheus");
    assert_int_equal(ahead_by(-2), 0);
    assert_int_equal(ahead_by(3), 3);
    assert_int_equal(ahead_by(40), 40);
    assert_int_equal(ahead_by(1), 1);           /* it was set right slowly */
    assert_int_equal(ahead_by(24 * 3600), 300); /* a lie: nobody asks for more */
    rig_end();
}

/* GPUs that the pods of a namespace hold, by activity; -1: nothing is measured. */
static int64_t milli_of(const char *namespace)
{
    struct sl_usage_reader reader = sl_telemetry_reader(rig.telemetry);
    struct sl_used *used = NULL;
    size_t n = 0;
    int64_t milli = -1;
    assert_int_equal(reader.used(reader.context, &used, &n), 0);
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(namespace);
        bool same =
            strncmp(used[i].name, namespace, len) == 0 && strcmp(used[i].name + len, "/" GPU) == 0;
        milli = same ? used[i].milli : milli;
    }
    free(used);
    return milli;
}

TEST_THAT(units_that_a_pod_holds_count_as_much_as_its_gpus_were_busy_since_it_began)
{
    static const struct {
        const char *name; /* of the pod that the series names */
        int percent;
        int runs_s;
        int64_t milli;
    } rows[] = {
        {"it", 50, 3600, 500 * 18 / 31},
        {"it", 100, 175, 1000 * 5 / 18},
        {"it", 100, 100, 0},
        {"it", 0, 3600, 0},
        {"other", 50, 3600, -1},
        {"it", 50, 0, -1}, /* does not run yet */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char labels[128];
        begin("http://prometheus");
        put_node(rig.store, whole_node("n2", 2));
        put_pod(rig.store,
                (struct pod_spec){.name = "it",
                                  .uid = "it",
                                  .space = "ours",
                                  .node = "n2",
                                  .resource = GPU,
                                  .phase = "Running",
                                  .started_us =
                                      rows[i].runs_s == 0
                                          ? 0
                                          : sl_clock_real_us() - rows[i].runs_s * SL_SECOND_US});
        (void)rig_tick();
        (void)snprintf(labels, sizeof(labels),
                       "\"Hostname\":\"n2\",\"gpu\":\"0\",\"pod\":\"%s\",\"namespace\":\"ours\"",
                       rows[i].name);
        assert_int_equal(milli_of("ours"), -1);
        told_busy(labels, rows[i].percent);
        assert_int_equal(milli_of("ours"), rows[i].milli);
        assert_int_equal(milli_of("default"), -1);
        rig_end();
    }
}
