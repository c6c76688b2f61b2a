/* What Prometheus is asked about the last hour, when, and what is made of its answer. The client is
 * the test's: nothing is sent, and each tick comes when the test says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>

#include "telemetry/hour.h"
#include "util/clock.h"
#include "util/time.h"

static struct {
    void (*fn)(void *context);
    void *context;
    unsigned ticks, calls;
    struct sl_call_options call;
    char path[4096];
} fake;

int sl_client_after(struct sl_client *client, int64_t delay_us, void (*fn)(void *context),
                    void *context)
{
    (void)client;
    assert_true(delay_us >= SL_SECOND_US);
    fake.ticks++;
    fake.fn = fn;
    fake.context = context;
    return 0;
}

int sl_client_call(struct sl_client *client, const struct sl_call_options *options, uint64_t *id,
                   struct sl_error *err)
{
    (void)client;
    (void)err;
    fake.calls++;
    if (id != NULL) {
        *id = fake.calls;
    }
    fake.call = *options;
    (void)snprintf(fake.path, sizeof(fake.path), "%s", options->path);
    return 0;
}

static struct sl_hour *looked_at(const char *own)
{
    struct sl_config config;
    struct sl_history history;
    sl_config_defaults(&config);
    (void)snprintf(config.telemetry.own, sizeof(config.telemetry.own), "%s", own);
    memset(&fake, 0, sizeof(fake));
    struct sl_hour *hour = sl_hour_new(NULL, &config);
    assert_non_null(hour);
    fake.fn(fake.context);
    assert_int_equal(fake.calls, 0); /* nobody looks */
    sl_hour_read(hour, &history);
    assert_true(history.kept && history.end_us == 0 && isnan(history.line[0].value[0]));
    fake.fn(fake.context);
    assert_int_equal(fake.calls, 1);
    return hour;
}

static void answers(const char *text)
{
    struct sl_reply reply = {.status = 200};
    struct sl_error err = {0};
    int rc = fake.call.data(fake.call.context, text, strlen(text), &err);
    if (rc < 0) {
        reply.err = err;
    }
    fake.call.done(fake.call.context, &reply);
}

static int64_t end_s(void)
{
    const char *end = strstr(fake.path, "&end=");
    assert_non_null(end);
    return strtoll(end + strlen("&end="), NULL, 10);
}

static void one_question_a_minute_is_asked_of_ones_own_series(void **state)
{
    struct sl_history history;
    (void)state;
    struct sl_hour *hour = looked_at("job=sliced");
    assert_memory_equal(fake.path, "/api/v1/query_range?start=", 26);
    assert_non_null(strstr(fake.path, "max%28sliced_cluster_pods%7Bjob%3D%22sliced%22%2Cstate"));
    assert_non_null(strstr(fake.path, "wait_seconds_sum%7Bjob%3D%22sliced%22%2C%7D"));
    answers("{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[]}}");
    for (int i = 0; i < 50; i++) {
        sl_hour_read(hour, &history);
        fake.fn(fake.context);
    }
    assert_int_equal(fake.calls, 1);
    assert_int_equal(fake.ticks, 1 + 1 + 1 + 50); /* it goes on, and one at a time */
    sl_hour_free(hour);
}

static void samples_go_where_their_time_is(void **state)
{
    char text[1024];
    struct sl_history history;
    (void)state;
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
    answers(text);
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

static void what_was_known_stays_when_an_answer_is_none(void **state)
{
    static const char *const broken[] = {
        "<html>gateway</html>",
        "{\"status\":\"error\",\"error\":\"too many samples\"}",
        "{\"status\":\"success\",\"data\":{\"result\":[{\"metric\":{\"of\":\"running\"},",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        struct sl_history history;
        struct sl_hour *hour = looked_at("");
        answers(broken[i]);
        sl_hour_read(hour, &history);
        assert_true(history.error[0] != '\0' && history.end_us == 0);
        assert_true(isnan(history.line[1].value[0]));
        sl_hour_free(hour);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_question_a_minute_is_asked_of_ones_own_series),
        cmocka_unit_test(samples_go_where_their_time_is),
        cmocka_unit_test(what_was_known_stays_when_an_answer_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
