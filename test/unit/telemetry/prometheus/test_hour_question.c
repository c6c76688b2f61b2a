/* What is asked about the last hour: one expression that Prometheus can read, of one hour, only
 * while somebody looks. */
#include "unit/telemetry/telemetry_rig.h"

#include "telemetry/prometheus/hour.h"

#define NOTHING "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[]}}"

TEST_THAT(the_question_joins_all_lines_of_an_hour)
{
    struct sl_history history;
    rig_begin();
    (void)snprintf(rig.config.telemetry.own, sizeof(rig.config.telemetry.own), "job=a,team=b");
    struct sl_hour *hour = sl_hour_new(NULL, &rig.config);
    assert_non_null(hour);
    sl_hour_read(hour, &history);
    (void)rig_tick();
    assert_int_equal(rig.n_calls, 1);
    const char *path = rig.call[0].path;
    const char *start = strstr(path, "?start=");
    const char *end = strstr(path, "&end=");
    assert_true(start != NULL && end != NULL);
    assert_int_equal(strtoll(end + 5, NULL, 10) - strtoll(start + 7, NULL, 10), 3600);
    assert_non_null(strstr(path, "&step=60&query=label_replace%28max%28"));
    assert_non_null(strstr(path, "%7D%29%2C%22of%22%2C%22waiting%22%2C%22%22%2C%22%22%29"
                                 "%20or%20label_replace%28max%28"));
    assert_non_null(strstr(path, "%7Bjob%3D%22a%22%2Cteam%3D%22b%22%2C"));
    assert_int_equal(rig.call[0].options.timeout_us, rig.config.telemetry.timeout_us);
    (void)rig_answer(&rig.call[0], NOTHING);
    sl_hour_free(hour);
}

TEST_THAT(nothing_is_asked_once_nobody_looks)
{
    struct sl_history history;
    rig_begin();
    struct sl_hour *hour = sl_hour_new(NULL, &rig.config);
    assert_non_null(hour);
    sl_hour_read(hour, &history);
    (void)rig_tick();
    (void)rig_answer(&rig.call[0], NOTHING);
    rig.monotonic_us += 2 * SL_MINUTE_US;
    (void)rig_tick();
    assert_int_equal(rig.n_calls, 1);
    sl_hour_read(hour, &history);
    (void)rig_tick();
    assert_int_equal(rig.n_calls, 2);
    (void)rig_answer(&rig.call[0], NOTHING);
    sl_hour_free(hour);
}
