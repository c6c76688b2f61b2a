/* When telemetry asks. The client is the test's: nothing is sent, and time passes as told. */
#include "unit/cluster/fixture.h"

#include "telemetry/internal.h"
#include "util/time.h"

static struct {
    int64_t delay_us;
    void (*fn)(void *context);
    void *context;
    unsigned calls;
    char path[1024]; /* of the last call */
} fake;

struct sl_client *sl_client_new(const struct sl_client_options *options, struct sl_error *err)
{
    (void)options;
    (void)err;
    return (struct sl_client *)(void *)&fake;
}

void sl_client_free(struct sl_client *client)
{
    (void)client;
}

int sl_client_after(struct sl_client *client, int64_t delay_us, void (*fn)(void *context),
                    void *context)
{
    (void)client;
    fake.delay_us = delay_us;
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
    (void)snprintf(fake.path, sizeof(fake.path), "%s", options->path);
    return 0;
}

static bool pods_are_known;

static bool knows_all(void *context)
{
    (void)context;
    return pods_are_known;
}

static void wait_once(void)
{
    assert_int_equal(fake.delay_us, SL_ASK_SOON_US);
    fake.fn(fake.context);
    assert_int_equal(fake.calls, 0);
}

/* Asks until nodes and pods are there, for which it looks each second, and writes the first
 * question. */
static void ask_first(struct sl_config *config)
{
    struct sl_store *store = store_of(&roomy);
    struct sl_error err = {0};
    memset(&fake, 0, sizeof(fake));
    struct sl_telemetry *telemetry = sl_telemetry_new(config, store, &err);
    assert_non_null(telemetry);
    const struct sl_pod_watch watch = {.knows_all = knows_all};
    sl_telemetry_watch_pods(telemetry, &watch);
    assert_int_equal(sl_telemetry_start(telemetry, &err), 0);
    pods_are_known = true;
    wait_once();
    put_node(store, whole_node("n1", 1));
    pods_are_known = false;
    wait_once();
    wait_once();
    pods_are_known = true;
    fake.fn(fake.context);
    assert_int_equal(fake.calls, 1);
    sl_telemetry_free(telemetry);
    sl_store_free(store);
}

static struct sl_config config_of(const char *url, const char *exporters)
{
    struct sl_config config;
    sl_config_defaults(&config);
    config.telemetry.interval_us = SL_HOUR_US;
    (void)snprintf(config.telemetry.url, sizeof(config.telemetry.url), "%s", url);
    (void)snprintf(config.telemetry.exporters, sizeof(config.telemetry.exporters), "%s", exporters);
    return config;
}

static void prometheus_is_asked_for_the_past_once_nodes_and_pods_are_there(void **state)
{
    struct sl_config config = config_of("http://prometheus", "");
    (void)state;
    config.telemetry.interval_us = SL_MINUTE_US;
    ask_first(&config);
    assert_non_null(strstr(fake.path, "5B300s%5D"));
}

static void exporters_are_asked_once_nodes_and_pods_are_there(void **state)
{
    struct sl_config config = config_of("", "http://{node}:9400/metrics");
    (void)state;
    ask_first(&config);
    assert_string_equal(fake.path, "http://n1:9400/metrics");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prometheus_is_asked_for_the_past_once_nodes_and_pods_are_there),
        cmocka_unit_test(exporters_are_asked_once_nodes_and_pods_are_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
