/* The metrics' text form. */
#include "unit/server/rig.h"

#include <stdlib.h>

#include "server/metrics/metrics.h"

struct scrape {
    struct sl_metrics metrics;
    struct sl_store *store;
    struct sl_buf out;
};

static void begin(struct scrape *scrape, const char *cluster)
{
    sl_metrics_init(&scrape->metrics, 1700000000500000);
    scrape->store = rig_store(cluster);
    sl_buf_init(&scrape->out, 1 << 20);
}

static void end(struct scrape *scrape)
{
    sl_store_free(scrape->store);
    sl_buf_free(&scrape->out);
}

static const char *text_of(struct scrape *scrape)
{
    struct sl_store_stats stats;
    const struct sl_snapshot *snapshot = sl_store_acquire(scrape->store);
    sl_store_stats(scrape->store, &stats);
    sl_buf_free(&scrape->out);
    sl_metrics_write(&scrape->metrics, snapshot, &stats, &scrape->out);
    sl_store_release(scrape->store, snapshot);
    return rig_text(&scrape->out);
}

/* The value of the line that begins with that sample. */
static double value_of(const char *text, const char *sample)
{
    size_t len = strlen(sample);
    const char *at = text;
    while (at != NULL) {
        if (strncmp(at, sample, len) == 0 && at[len] == ' ') {
            return strtod(at + len + 1, NULL);
        }
        at = strchr(at, '\n');
        at = at == NULL ? NULL : at + 1;
    }
    fail_msg("no sample %s", sample);
    return 0;
}

TEST_FIXTURE_OF(struct scrape, NULL, end)

TEST_ON(struct scrape *s, requests_are_counted_by_verb_and_code)
{
    begin(s, RIG_NODE("n", "nvidia.com/gpu", "1"));
    sl_metrics_request(&s->metrics, SL_CLASS_FILTER, 200);
    sl_metrics_request(&s->metrics, SL_CLASS_FILTER, 200);
    sl_metrics_request(&s->metrics, SL_CLASS_API, 404);
    sl_metrics_request(&s->metrics, SL_CLASS_OTHER, 418);
    sl_metrics_request(&s->metrics, SL_CLASS_BIND, 0);

    const char *text = text_of(s);

    assert_true(value_of(text, "sliced_http_requests_total{verb=\"filter\",code=\"200\"}") == 2);
    assert_true(value_of(text, "sliced_http_requests_total{verb=\"api\",code=\"404\"}") == 1);
    assert_true(value_of(text, "sliced_http_requests_total{verb=\"other\",code=\"other\"}") == 1);
    assert_true(value_of(text, "sliced_http_requests_total{verb=\"bind\",code=\"none\"}") == 1);
    assert_true(value_of(text, "sliced_http_requests_total{verb=\"preempt\",code=\"200\"}") == 0);
}

TEST_ON(struct scrape *s, a_duration_falls_into_its_bucket_and_all_larger_ones)
{
    begin(s, RIG_NODE("n", "nvidia.com/gpu", "1"));
    sl_metrics_duration(&s->metrics, SL_CLASS_BIND, SL_OUTCOME_REFUSED, 25000);
    sl_metrics_duration(&s->metrics, SL_CLASS_BIND, SL_OUTCOME_REFUSED, 25001);
    sl_metrics_duration(&s->metrics, SL_CLASS_BIND, SL_OUTCOME_REFUSED, 60000000000);

    const char *text = text_of(s);

#define BIND "verb=\"bind\",outcome=\"refused\""
    assert_true(value_of(text, "sliced_verb_duration_seconds_bucket{" BIND ",le=\"2.5e-05\"}") ==
                1);
    assert_true(value_of(text, "sliced_verb_duration_seconds_bucket{" BIND ",le=\"5e-05\"}") == 2);
    assert_true(value_of(text, "sliced_verb_duration_seconds_bucket{" BIND ",le=\"5\"}") == 2);
    assert_true(value_of(text, "sliced_verb_duration_seconds_bucket{" BIND ",le=\"+Inf\"}") == 3);
    assert_true(value_of(text, "sliced_verb_duration_seconds_count{" BIND "}") == 3);
    double sum = value_of(text, "sliced_verb_duration_seconds_sum{" BIND "}");
    assert_true(sum > 60.00004 && sum < 60.00006);
}

TEST_ON(struct scrape *s, pools_are_summed_over_the_nodes)
{
    begin(s,
          RIG_NODE("a", "nvidia.com/mig-1g.6gb", "8") RIG_NODE("b", "nvidia.com/mig-1g.6gb", "4")
              RIG_NODE("c", "nvidia.com/gpu", "2") RIG_POD("p", "u", "nvidia.com/mig-1g.6gb", "3"));
    struct sl_bind_result result;
    sl_store_reserve(s->store, SL_STR("default"), SL_STR("p"), SL_STR("u"), SL_STR("a"), 1,
                     &result);
    assert_int_equal(result.code, SL_BIND_RESERVED);

    const char *text = text_of(s);

#define MIG "sliced_pool_units{resource=\"nvidia.com/mig-1g.6gb\",state="
    assert_true(value_of(text, "sliced_pool_capacity_units{resource=\"nvidia.com/mig-1g.6gb\"}") ==
                12);
    assert_true(value_of(text, MIG "\"used\"}") == 3);
    assert_true(value_of(text, MIG "\"free\"}") == 9);
    assert_true(value_of(text, "sliced_cluster_nodes") == 3);
    assert_true(value_of(text, "sliced_reservations") == 1);
    assert_true(value_of(text, "process_start_time_seconds") == 1700000000.5);
}

TEST_ON(struct scrape *s, resources_beyond_the_ceiling_are_left_out_and_counted)
{
    struct sl_buf cluster;
    sl_buf_init(&cluster, 1 << 20);
    for (int i = 0; i < SL_METRIC_RESOURCES_MAX + 5; i++) {
        sl_buf_printf(&cluster,
                      "---\napiVersion: v1\nkind: Node\nmetadata: {name: n%d}\n"
                      "status: {allocatable: {nvidia.com/mig-1g.%dgb: \"1\"}}\n",
                      i, i + 1);
    }
    sl_buf_putc(&cluster, '\0');
    begin(s, cluster.data);
    sl_buf_free(&cluster);

    (void)text_of(s);
    const char *text = text_of(s);

    size_t n = 0;
    for (const char *at = text; (at = strstr(at, ",state=\"free\"}")) != NULL; at++) {
        n++;
    }
    assert_int_equal(n, SL_METRIC_RESOURCES_MAX);
    assert_true(value_of(text, "sliced_limit_hits_total{limit=\"metric_resources\"}") >= 1);
}

TEST_ALONE(label_values_are_escaped)
{
    struct sl_buf out;
    sl_buf_init(&out, 64);

    sl_metric_label(&out, SL_STR("a\\b\"c\nd"));

    assert_string_equal(rig_text(&out), "a\\\\b\\\"c\\nd");
    sl_buf_free(&out);
}

/* Every line is a comment or a sample of a family that was announced just before. */
TEST_ON(struct scrape *s, each_family_has_help_and_type_before_its_samples)
{
    char family[128] = "";
    begin(s, RIG_NODE("n", "nvidia.com/gpu", "1"));

    const char *line = text_of(s);

    while (*line != '\0') {
        const char *next = strchr(line, '\n');
        assert_non_null(next);
        if (strncmp(line, "# HELP ", 7) == 0) {
            (void)snprintf(family, sizeof(family), "%.*s", (int)strcspn(line + 7, " "), line + 7);
            assert_true(next - (line + 7) > (long)strlen(family) + 1);
            assert_int_equal(strncmp(next + 1, "# TYPE ", 7), 0);
            assert_int_equal(strncmp(next + 8, family, strlen(family)), 0);
        } else if (line[0] != '#') {
            assert_int_equal(strncmp(line, family, strlen(family)), 0);
        }
        line = next + 1;
    }
}

TEST_ON(struct scrape *s, full_ledgers_are_not_counted_as_full_stores)
{
    struct sl_store_stats stats = {.limit_hits = 5};
    begin(s, RIG_NODE("n", "nvidia.com/gpu", "1"));
    sl_metrics_limit(&s->metrics, SL_LIMIT_RESERVATIONS);
    sl_metrics_limit(&s->metrics, SL_LIMIT_RESERVATIONS);

    assert_int_equal(sl_metrics_limit_hits(&s->metrics, &stats, SL_LIMIT_RESERVATIONS), 2);
    assert_int_equal(sl_metrics_limit_hits(&s->metrics, &stats, SL_LIMIT_OBJECTS), 3);
}
