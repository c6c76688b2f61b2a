/* Exporters that hold back, and those that cannot be asked, take no turns of others. */
#include "telemetry_rig.h"

#define URL_OF_WELL "http://10.0.0.200:9400/metrics"

static struct sl_node *node_with(const char *name, const char *address)
{
    struct sl_address_facts at = {.type = SL_STR("InternalIP"), .address = sl_str_of(address)};
    struct sl_pair allocatable = pair_of(GPU, "1", NULL);
    struct sl_node_facts facts = {.name = sl_str_of(name),
                                  .allocatable = &allocatable,
                                  .capacity = &allocatable,
                                  .addresses = address == NULL ? NULL : &at};
    struct sl_node *node = sl_node_new(&facts, NULL);
    assert_non_null(node);
    return node;
}

static void begin(const char *url, unsigned others)
{
    rig_begin();
    (void)snprintf(rig.config.telemetry.exporters, sizeof(rig.config.telemetry.exporters), "%s",
                   url);
    rig.config.telemetry.interval_us = SL_SECOND_US;
    rig.config.telemetry.timeout_us = 10 * SL_SECOND_US;
    rig_start();
    for (unsigned i = 0; i < others; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "n%u", i);
        put_node(rig.store, node_with(name, NULL));
    }
    put_node(rig.store, node_with("n200", "10.0.0.200"));
    rig_pass(SL_ASK_SOON_US);
}

/* NULL: it is not asked now. */
static struct rig_call *call_to(const char *url)
{
    for (size_t i = 0; i < RIG_CALLS; i++) {
        if (rig.call[i].options.done != NULL && strcmp(rig.call[i].path, url) == 0) {
            return &rig.call[i];
        }
    }
    return NULL;
}

static bool answers(const char *url)
{
    struct rig_call *call = call_to(url);
    if (call != NULL) {
        assert_int_equal(rig_answer(call, "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 0\n"), 0);
    }
    return call != NULL;
}

TEST_THAT(nodes_without_an_address_take_no_place)
{
    begin("http://{address}:9400/metrics", 3);
    for (int i = 0; i < SL_EXPORTERS_AT_ONCE; i++) {
        assert_true(answers(URL_OF_WELL));
        rig_pass(SL_SECOND_US);
    }
    assert_true(answers(URL_OF_WELL));
    struct sl_usage_status status;
    struct sl_usage_reader reader = sl_telemetry_reader(rig.telemetry);
    reader.status(reader.context, &status);
    assert_non_null(strstr(status.error, "the node states no InternalIP"));
    assert_non_null(strstr(status.error, "(and 2 more)"));
    rig_end();
}

/* All others hang: whoever stays among the slow has a turn in half a minute or so. */
TEST_THAT(one_that_was_slow_once_is_asked_in_each_interval_again)
{
    enum { HANG = 150, ROUNDS = 400, ALWAYS = 20 };
    const char *const url = "http://n200:9400/metrics";
    int in_a_row = 0;
    begin("http://{node}:9400/metrics", HANG);
    for (int i = 0; call_to(url) == NULL; i++) {
        assert_true(i < ROUNDS);
        rig_pass(SL_SECOND_US);
    }
    rig_pass(2 * SL_SECOND_US);
    for (int i = 0; in_a_row < ALWAYS; i++) {
        assert_true(i < ROUNDS);
        in_a_row = answers(url) ? in_a_row + 1 : 0;
        rig_pass(SL_SECOND_US);
    }
    rig_end();
}
