/* What Prometheus is asked about the last hour, when, and what is made of its answer. */
#include "unit/telemetry/telemetry_rig.h"

#include <math.h>

#include "telemetry/prometheus/hour.h"

static struct sl_hour *looked_at(const char *own)
{
    struct sl_history history;
    rig_begin();
    rig.least_us = SL_SECOND_US;
    (void)snprintf(rig.config.telemetry.own, sizeof(rig.config.telemetry.own), "%s", own);
    struct sl_hour *hour = sl_hour_new(NULL, &rig.config);
    assert_non_null(hour);
    (void)rig_tick();
    assert_int_equal(rig.n_calls, 0); /* nobody looks */
    sl_hour_read(hour, &history);
    assert_true(history.kept && history.end_us == 0 && isnan(history.line[0].value[0]));
    (void)rig_tick();
    assert_int_equal(rig.n_calls, 1);
    return hour;
}

static int64_t end_s(void)
{
    const char *end = strstr(rig.call[0].path, "&end=");
    assert_non_null(end);
    return strtoll(end + strlen("&end="), NULL, 10);
}

TEST_THAT(one_question_a_minute_is_asked_of_ones_own_series)
{
    struct sl_history history;
    struct sl_hour *hour = looked_at("job=sliced");
    assert_memory_equal(rig.call[0].path, "/api/v1/query_range?start=", 26);
    assert_non_null(
        strstr(rig.call[0].path, "max%28sliced_cluster_pods%7Bjob%3D%22sliced%22%2Cstate"));
    assert_non_null(strstr(rig.call[0].path, "wait_seconds_sum%7Bjob%3D%22sliced%22%2C%7D"));
    (void)rig_answer(&rig.call[0],
                     "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[]}}");
    for (int i = 0; i < 50; i++) {
        sl_hour_read(hour, &history);
        (void)rig_tick();
    }
    assert_int_equal(rig.n_calls, 1);
    assert_int_equal(rig.n_timers, 1 + 1 + 1 + 50); /* it goes on, and one at a time */
    sl_hour_free(hour);
}

TEST_THAT(samples_go_where_their_time_is)
{
    char text[1024];
    struct sl_history history;
    struct sl_hour *hour = looked_at("");
    int64_t end = end_s();
    (void)snprintf(text, sizeof(text),
                   "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":["
                   "{\"metric\":{\"of\":\"running\",\"namespace\":\"x\"},\"values\":[[%lld,\"1\"],"
                   "[%lld,\"2\"],[%lld,\"NaN\"],[%lld,\"4\"],[%lld,\"5\"],[%lld,\"6\"]]},"
                   "{\"metric\":{\"of\":\"stranger\"},\"values\":[[%lld,\"9\"]]},"
                   "{\"metric\":{},\"values\":[[%lld,\"9\"]]}]}}",
                   (long long)end - 3660, (long long)end - 3600, (long long)end - 120,
                   (long long)end - 60, (long long)end, (long long)end + 60, (long long)end,
                   (long long)end);
    (void)rig_answer(&rig.call[0], text);
    sl_hour_read(hour, &history);
    assert_int_equal(history.end_us, end * SL_SECOND_US);
    for (unsigned i = 0; i < SL_HISTORY_LINES; i++) {
        const double *value = history.line[i].value;
        bool running = strcmp(history.line[i].name, "running") == 0;
        for (unsigned k = 0; k < SL_HISTORY_POINTS; k++) {
            double want = !running ? NAN : k == 0 ? 2 : k == 59 ? 4 : k == 60 ? 5 : NAN;
            assert_true(isnan(want) ? isnan(value[k]) : value[k] == want);
        }
    }
    sl_hour_free(hour);
}

TEST_THAT(what_was_known_stays_when_an_answer_is_none)
{
    static const char *const broken[] = {
        "<html>gateway</html>",
        "{\"status\":\"error\",\"error\":\"too many samples\"}",
        "{\"status\":\"success\",\"data\":{\"result\":[{\"metric\":{\"of\":\"running\"},",
    };
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        struct sl_history history;
        struct sl_hour *hour = looked_at("");
        (void)rig_answer(&rig.call[0], broken[i]);
        sl_hour_read(hour, &history);
        assert_true(history.error[0] != '\0' && history.end_us == 0);
        assert_true(isnan(history.line[1].value[0]));
        sl_hour_free(hour);
    }
}
