/* When telemetry asks. */
#include "telemetry_rig.h"

static void wait_once(void)
{
    assert_int_equal(rig_tick(), SL_ASK_SOON_US);
    assert_int_equal(rig.n_calls, 0);
}

/* Asks until nodes and pods are there, for which it looks each second, and writes the first
 * question. */
static void ask_first(void)
{
    rig_start();
    wait_once();
    rig_node(1);
    rig.knows_pods = false;
    wait_once();
    wait_once();
    rig.knows_pods = true;
    (void)rig_tick();
    assert_int_equal(rig.n_calls, 1);
    rig_end();
}

TEST_THAT(prometheus_is_asked_for_the_past_once_nodes_and_pods_are_there)
{
    rig_begin();
    rig.config.telemetry.interval_us = SL_MINUTE_US;
    (void)snprintf(rig.config.telemetry.url, sizeof(rig.config.telemetry.url), "http://prometheus");
    ask_first();
    assert_non_null(strstr(rig.call[0].path, "5B300s%5D"));
}

TEST_THAT(exporters_are_asked_once_nodes_and_pods_are_there)
{
    rig_begin();
    rig.config.telemetry.interval_us = SL_HOUR_US;
    rig_ask_exporters();
    ask_first();
    assert_string_equal(rig.call[0].path, "http://n1:9400/metrics");
}
