/* What Prometheus is asked, and what its figures mean. */
#include <stdio.h>
#include <stdlib.h>

#include "unit/test.h"

#include <math.h>

#include "telemetry/question.h"

#define SET(member, text) (void)snprintf(member, sizeof(member), "%s", text)

static void asks(const struct sl_config *config, int64_t range_s, const char *expected)
{
    struct sl_buf path;
    sl_buf_init(&path, 1 << 16);
    sl_question_put(&path, config, range_s);
    assert_int_equal(path.failed, SL_BUF_OK);
    sl_buf_putc(&path, '\0');
    assert_string_equal(path.data, expected);
    sl_buf_free(&path);
}

/* One metric alone, for short texts. */
static struct sl_config plain(void)
{
    struct sl_config config;
    sl_config_defaults(&config);
    SET(config.telemetry.memory_used, "used");
    SET(config.telemetry.busy_percent, "");
    SET(config.telemetry.busy_ratio, "");
    SET(config.telemetry.bandwidth_ratio, "");
    SET(config.telemetry.power_watts, "");
    return config;
}

TEST_THAT(raw_samples_of_the_window_are_asked)
{
    struct sl_config config;
    sl_config_defaults(&config);
    asks(&config, 25,
         "/api/v1/query?query=%7B__name__%3D~%22DCGM_FI_DEV_FB_USED%7CDCGM_FI_DEV_GPU_UTIL%7C"
         "DCGM_FI_PROF_GR_ENGINE_ACTIVE%7CDCGM_FI_PROF_DRAM_ACTIVE%7CDCGM_FI_DEV_POWER_USAGE%22%7D%"
         "5B"
         "25s%5D");
}

TEST_THAT(metrics_without_a_name_are_left_out)
{
    struct sl_config config = plain();
    asks(&config, 300, "/api/v1/query?query=%7B__name__%3D~%22used%22%7D%5B300s%5D");
    SET(config.telemetry.memory_used, "");
    SET(config.telemetry.busy_ratio, "job:busy_1");
    asks(&config, 1, "/api/v1/query?query=%7B__name__%3D~%22job%3Abusy_1%22%7D%5B1s%5D");
}

TEST_THAT(a_selector_narrows_it)
{
    struct sl_config config = plain();
    SET(config.telemetry.selector, "job=dcgm-exporter,cluster=a b");
    asks(&config, 1,
         "/api/v1/query?query=%7B__name__%3D~%22used%22%2Cjob%3D%22dcgm-exporter%22%2C"
         "cluster%3D%22a%20b%22%7D%5B1s%5D");
    SET(config.telemetry.selector, "job=a&b#c%+");
    asks(&config, 1,
         "/api/v1/query?query=%7B__name__%3D~%22used%22%2Cjob%3D%22a%26b%23c%25%2B%22%7D%5B1s%5D");
}

/* The name stands in a regular expression in a text: what is no letter of a name is left out. */
TEST_THAT(a_name_cannot_leave_its_place)
{
    struct sl_config config = plain();
    SET(config.telemetry.memory_used, ".*|us ed\\d}[1h]");
    asks(&config, 1, "/api/v1/query?query=%7B__name__%3D~%22usedd1h%22%7D%5B1s%5D");
}

static bool reads(const struct sl_config *config, const char *name, enum sl_figure_of figure,
                  double value, int64_t expected)
{
    struct sl_figure_kind kind = {.figure = SL_FIGURE_USED};
    return sl_question_kind(config, name, &kind) && kind.figure == figure &&
           sl_question_value(kind, value) == expected;
}

TEST_THAT(figures_have_the_units_of_a_series)
{
    struct sl_config config;
    sl_config_defaults(&config);
    assert_true(reads(&config, "DCGM_FI_DEV_FB_USED", SL_FIGURE_USED, 4000.4, 4000));
    assert_true(reads(&config, "DCGM_FI_DEV_FB_USED", SL_FIGURE_USED, 0, 0));
    assert_true(reads(&config, "DCGM_FI_DEV_GPU_UTIL", SL_FIGURE_BUSY, 55, 550));
    assert_true(reads(&config, "DCGM_FI_DEV_GPU_UTIL", SL_FIGURE_BUSY, 100, 1000));
    assert_true(reads(&config, "DCGM_FI_PROF_GR_ENGINE_ACTIVE", SL_FIGURE_BUSY, 0.1234, 123));
    assert_true(reads(&config, "DCGM_FI_PROF_DRAM_ACTIVE", SL_FIGURE_BANDWIDTH, 1.005, 1000));
    assert_true(reads(&config, "DCGM_FI_DEV_POWER_USAGE", SL_FIGURE_POWER, 73.4126, 73413));
}

TEST_THAT(memory_of_each_pod_is_asked_where_it_has_a_name)
{
    struct sl_config config = plain();
    SET(config.telemetry.pod_memory_used, "pod_mib");
    asks(&config, 1, "/api/v1/query?query=%7B__name__%3D~%22used%7Cpod_mib%22%7D%5B1s%5D");
    assert_true(reads(&config, "pod_mib", SL_FIGURE_POD_USED, 1500, 1500));
    SET(config.telemetry.pod_memory_used, "pod_memory_bytes");
    assert_true(reads(&config, "pod_memory_bytes", SL_FIGURE_POD_USED, 1572864000, 1500));
    assert_true(reads(&config, "pod_memory_bytes", SL_FIGURE_POD_USED, -1, -1));
    assert_true(reads(&config, "pod_memory_bytes", SL_FIGURE_POD_USED, 1e300, -1));
    SET(config.telemetry.memory_used, "used_bytes");
    assert_true(reads(&config, "used_bytes", SL_FIGURE_USED, 1048576, 1));
}

TEST_THAT(figures_out_of_range_are_none)
{
    static const double wrong[] = {-1, -0.001, 1e300, 2147483648.0};
    struct sl_config config;
    sl_config_defaults(&config);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_true(reads(&config, "DCGM_FI_DEV_FB_USED", SL_FIGURE_USED, wrong[i], -1));
    }
    assert_true(reads(&config, "DCGM_FI_DEV_FB_USED", SL_FIGURE_USED, NAN, -1));
    assert_true(reads(&config, "DCGM_FI_DEV_FB_USED", SL_FIGURE_USED, INFINITY, -1));
    assert_true(reads(&config, "DCGM_FI_DEV_GPU_UTIL", SL_FIGURE_BUSY, 100.5, -1));
    assert_true(reads(&config, "DCGM_FI_PROF_GR_ENGINE_ACTIVE", SL_FIGURE_BUSY, 55, -1));
    assert_true(reads(&config, "DCGM_FI_DEV_POWER_USAGE", SL_FIGURE_POWER, 10001, -1));
}

TEST_THAT(other_metrics_are_none_of_ours)
{
    struct sl_config config = plain();
    struct sl_figure_kind kind;
    assert_true(sl_question_kind(&config, "used", &kind));
    assert_false(sl_question_kind(&config, "used2", &kind));
    assert_false(sl_question_kind(&config, "DCGM_FI_DEV_FB_USED", &kind));
    assert_false(sl_question_kind(&config, "", &kind)); /* though some are configured as "" */
}

TEST_THAT(labels_of_nodes_are_read_in_their_order)
{
    struct sl_config config;
    struct sl_str label[SL_ANSWER_LABELS];
    sl_config_defaults(&config);
    sl_question_labels(config.telemetry.node_labels, label);
    assert_true(sl_str_eq(label[0], SL_STR("Hostname")));
    assert_true(sl_str_eq(label[3], SL_STR("kubernetes_node")));
    SET(config.telemetry.node_labels, "a,b,c,d,e");
    sl_question_labels(config.telemetry.node_labels, label);
    assert_true(sl_str_eq(label[3], SL_STR("d")));
    SET(config.telemetry.node_labels, "node");
    sl_question_labels(config.telemetry.node_labels, label);
    assert_true(sl_str_eq(label[0], SL_STR("node")));
    assert_int_equal(label[1].len, 0);
}
