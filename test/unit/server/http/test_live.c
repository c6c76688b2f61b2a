/* The configuration in force. */
#include "server/http/live.h"
#include "unit/test.h"

TEST_THAT(who_holds_a_configuration_keeps_it_over_a_reload)
{
    struct sl_config config;
    struct sl_live_slot slot;
    sl_config_defaults(&config);
    config.server.threads = 3;
    assert_int_equal(sl_live_init(&slot, &config, NULL), 0);
    const struct sl_live *held = sl_live_acquire(&slot);

    config.server.threads = 4;
    assert_int_equal(sl_live_replace(&slot, &config, NULL), 0);

    const struct sl_live *fresh = sl_live_acquire(&slot);
    assert_int_equal(held->config.server.threads, 3);
    assert_int_equal(fresh->config.server.threads, 4);
    assert_int_equal(held->serial, 1);
    assert_int_equal(fresh->serial, 2);
    sl_live_release(held);
    sl_live_free(&slot);
    assert_int_equal(fresh->config.server.threads, 4);
    sl_live_release(fresh);
}
