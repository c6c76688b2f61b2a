/* Whose turn it is among exporters, and how clocks that are set are borne. The client and the
 * clocks are the test's: nothing is sent, and time passes as told. */
#include "unit/cluster/fixture.h"

#include "telemetry/internal.h"
#include "util/clock.h"
#include "util/time.h"

enum { CALLS = 256, TIMERS = 64 };

static const int64_t interval_us = SL_SECOND_US;
static const int64_t timeout_us = 10 * SL_SECOND_US;

struct call {
    struct sl_call_options options; /* done NULL: the place is free */
    char path[64];
    int64_t ends_us;
};

struct timer {
    void (*fn)(void *context); /* NULL: the place is free */
    void *context;
    int64_t due_us;
};

static struct {
    int64_t monotonic_us;
    int64_t ahead_us;
    struct call call[CALLS];
    struct timer timer[TIMERS];
    unsigned asked[CALLS]; /* by the number of the node */
    unsigned most;         /* calls at the same time */
} fake;

int64_t sl_clock_monotonic_us(void)
{
    return fake.monotonic_us;
}

int64_t sl_clock_monotonic_ns(void)
{
    return fake.monotonic_us * 1000;
}

int64_t sl_clock_real_us(void)
{
    return fake.monotonic_us + fake.ahead_us;
}

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
    size_t i = 0;
    (void)client;
    while (fake.timer[i].fn != NULL) {
        i++;
        assert_true(i < TIMERS);
    }
    fake.timer[i] = (struct timer){fn, context, fake.monotonic_us + delay_us};
    return 0;
}

int sl_client_call(struct sl_client *client, const struct sl_call_options *options, uint64_t *id,
                   struct sl_error *err)
{
    size_t i = 0;
    unsigned n = 1;
    (void)client;
    (void)err;
    while (fake.call[i].options.done != NULL) {
        i++;
        assert_true(i < CALLS);
    }
    struct call *call = &fake.call[i];
    if (id != NULL) {
        *id = i + 1;
    }
    call->options = *options;
    call->ends_us = fake.monotonic_us + options->timeout_us;
    (void)snprintf(call->path, sizeof(call->path), "%s", options->path);
    fake.asked[strtoul(strstr(call->path, "//n") + 3, NULL, 10)]++;
    for (size_t k = 0; k < CALLS; k++) {
        n += k != i && fake.call[k].options.done != NULL;
    }
    fake.most = n > fake.most ? n : fake.most;
    return 0;
}

/* ---- what exporters do ---- */

static struct call *call_of(unsigned node)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "http://n%u:9400/metrics", node);
    for (size_t i = 0; i < CALLS; i++) {
        if (fake.call[i].options.done != NULL && strcmp(fake.call[i].path, path) == 0) {
            return &fake.call[i];
        }
    }
    return NULL;
}

static void end_call(struct call *call, int status)
{
    struct sl_reply reply = {.status = status};
    struct sl_call_options options = call->options;
    if (status == 0) {
        (void)sl_error_set(&reply.err, SL_ERR_SYSTEM, "no answer within a while");
    }
    call->options.done = NULL;
    options.done(options.context, &reply);
}

/* False: it is not asked now. */
static bool answer(unsigned node, const char *page)
{
    struct sl_error err = {0};
    struct call *call = call_of(node);
    if (call == NULL) {
        return false;
    }
    assert_int_equal(call->options.data(call->options.context, page, strlen(page), &err), 0);
    end_call(call, 200);
    return true;
}

static bool answer_well(unsigned node, int mib)
{
    char page[256];
    (void)snprintf(page, sizeof(page),
                   "DCGM_FI_DEV_FB_USED{gpu=\"0\"} %d\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 0\n"
                   "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 100\n",
                   mib);
    return answer(node, page);
}

static void pass(int64_t us)
{
    fake.monotonic_us += us;
    for (size_t i = 0; i < TIMERS; i++) {
        struct timer timer = fake.timer[i];
        if (timer.fn != NULL && timer.due_us <= fake.monotonic_us) {
            fake.timer[i].fn = NULL;
            timer.fn(timer.context);
        }
    }
    for (size_t i = 0; i < CALLS; i++) {
        if (fake.call[i].options.done != NULL && fake.call[i].ends_us <= fake.monotonic_us) {
            end_call(&fake.call[i], 0);
        }
    }
}

/* ---- the rig ---- */

struct world {
    struct sl_config config;
    struct sl_store *store;
    struct sl_telemetry *telemetry;
};

static bool knows_all(void *context)
{
    (void)context;
    return true;
}

/* That many nodes with a GPU, whose exporters are about to be asked. */
static struct world *world_new(unsigned nodes)
{
    static struct world world;
    struct sl_error err = {0};
    const struct sl_pod_watch watch = {.knows_all = knows_all};
    memset(&fake, 0, sizeof(fake));
    fake.monotonic_us = SL_HOUR_US;
    fake.ahead_us = INT64_C(1790000000) * SL_SECOND_US;
    sl_config_defaults(&world.config);
    (void)snprintf(world.config.telemetry.exporters, sizeof(world.config.telemetry.exporters),
                   "http://{node}:9400/metrics");
    world.config.telemetry.interval_us = interval_us;
    world.config.telemetry.timeout_us = timeout_us;
    world.store = store_of(&roomy);
    for (unsigned i = 0; i < nodes; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "n%u", i);
        put_node(world.store, whole_node(name, 1));
    }
    world.telemetry = sl_telemetry_new(&world.config, world.store, &err);
    assert_non_null(world.telemetry);
    sl_telemetry_watch_pods(world.telemetry, &watch);
    assert_int_equal(sl_telemetry_start(world.telemetry, &err), 0);
    pass(SL_ASK_SOON_US);
    return &world;
}

static void world_free(struct world *world)
{
    sl_telemetry_free(world->telemetry);
    sl_store_free(world->store);
}

static struct sl_usage_row row_of(const struct world *world, const char *node)
{
    struct sl_usage_row row = {.gpu = -1};
    struct sl_usage_reader reader = sl_telemetry_reader(world->telemetry);
    (void)reader.node(reader.context, sl_str_of(node), &row, 1);
    return row;
}

static struct sl_usage_status status_of(const struct world *world)
{
    struct sl_usage_status status;
    struct sl_usage_reader reader = sl_telemetry_reader(world->telemetry);
    reader.status(reader.context, &status);
    return status;
}

/* ---- turns ---- */

static void one_that_hangs_keeps_nobody_waiting(void **state)
{
    struct world *world = world_new(3);
    (void)state;
    for (int i = 0; i < 9; i++) {
        assert_true(answer_well(1, 100 + i));
        assert_true(answer_well(2, 100 + i));
        pass(interval_us);
        assert_int_equal(row_of(world, "n1").measured.used_mib, 100 + i);
    }
    assert_int_equal(fake.asked[0], 1);
    assert_string_equal(status_of(world).error, "");
    pass(interval_us);
    pass(interval_us);
    assert_string_equal(status_of(world).error, "n0: no answer within a while");
    assert_true(status_of(world).answered);
    world_free(world);
}

static void any_number_that_hang_leave_turns_to_one_that_answers(void **state)
{
    enum { HANG = 200, GOOD = HANG };
    struct world *world = world_new(HANG + 1);
    (void)state;
    while (!answer_well(GOOD, 1)) { /* each of them takes a place once, for as long as it may */
        pass(interval_us);
        assert_true(fake.monotonic_us < SL_HOUR_US + HANG / 48 * timeout_us + 2 * timeout_us);
    }
    unsigned before = fake.asked[GOOD];
    for (int i = 0; i < 60; i++) {
        pass(interval_us);
        assert_true(answer_well(GOOD, 2 + i));
    }
    assert_int_equal(fake.asked[GOOD], before + 60);
    assert_true(fake.most <= SL_EXPORTERS_AT_ONCE);
    unsigned least = HANG;
    for (unsigned i = 0; i < HANG; i++) {
        least = fake.asked[i] < least ? fake.asked[i] : least;
    }
    assert_true(least >= 2); /* each of them has its turn, too */
    world_free(world);
}

/* Answers well every other time, and hangs in between. */
static void who_answers_now_and_then_takes_no_turns_of_one_that_always_does(void **state)
{
    enum { FLAP = 200, GOOD = FLAP, AT_FIRST = 60 };
    struct world *world = world_new(FLAP + 1);
    (void)state;
    for (int i = 0; i < 2 * AT_FIRST; i++) {
        for (unsigned k = 0; k < FLAP; k++) {
            (void)(fake.asked[k] % 2 == 0 && answer_well(k, 1));
        }
        bool answers = answer_well(GOOD, 1);
        assert_true(answers || i < AT_FIRST);
        pass(interval_us);
    }
    world_free(world);
}

static void one_that_was_slow_is_as_quick_as_others_once_it_answers(void **state)
{
    struct world *world = world_new(2);
    (void)state;
    pass(timeout_us);
    pass(interval_us);
    for (int i = 0; i < 5; i++) {
        assert_true(answer_well(0, 1));
        assert_true(answer_well(1, 1));
        pass(interval_us);
    }
    assert_string_equal(status_of(world).error, "");
    world_free(world);
}

static void a_node_that_is_gone_is_asked_no_more_and_a_new_one_soon(void **state)
{
    struct world *world = world_new(2);
    (void)state;
    assert_true(answer_well(0, 1));
    end_call(call_of(1), 0);
    pass(interval_us);
    assert_string_equal(status_of(world).error, "n1: no answer within a while");
    end_call(call_of(1), 0);
    assert_int_equal(sl_store_delete_node(world->store, SL_STR("n1"), NULL), 0);
    put_node(world->store, whole_node("n5", 1));
    pass(interval_us);
    pass(interval_us);
    assert_non_null(call_of(5));
    assert_null(call_of(1));
    (void)answer_well(0, 1);
    (void)answer_well(5, 1);
    pass(interval_us);
    assert_string_equal(status_of(world).error, "");
    world_free(world);
}

/* ---- clocks ---- */

static void live(struct world *world, int seconds, int mib)
{
    for (int i = 0; i < seconds; i++) {
        assert_true(answer_well(0, mib));
        pass(interval_us);
    }
    assert_int_equal(row_of(world, "n0").measured.used_mib, mib);
}

static void after_a_clock_that_was_ahead_samples_count_at_once(void **state)
{
    enum { AHEAD = 600 };
    struct world *world = world_new(1);
    (void)state;
    live(world, 5, 1000);
    fake.ahead_us += AHEAD * SL_SECOND_US;
    live(world, 25, 2000);
    int64_t drawn = row_of(world, "n0").joules;
    fake.ahead_us -= AHEAD * SL_SECOND_US;
    live(world, 3, 3000);
    struct sl_usage_row row = row_of(world, "n0");
    assert_int_equal(row.measured.state, SL_SERIES_GOOD);
    assert_int_equal(row.watts, 100);
    assert_true(row.joules > drawn);
    assert_true(row.idle_us >= SL_SECOND_US && row.idle_us < 60 * SL_SECOND_US);
    world_free(world);
}

static void a_clock_that_was_ahead_at_the_start_keeps_no_energy_out(void **state)
{
    struct world *world = world_new(1);
    (void)state;
    fake.ahead_us -= SL_HOUR_US;
    live(world, 5, 1000);
    assert_true(row_of(world, "n0").joules >= 200);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_hangs_keeps_nobody_waiting),
        cmocka_unit_test(any_number_that_hang_leave_turns_to_one_that_answers),
        cmocka_unit_test(who_answers_now_and_then_takes_no_turns_of_one_that_always_does),
        cmocka_unit_test(one_that_was_slow_is_as_quick_as_others_once_it_answers),
        cmocka_unit_test(a_node_that_is_gone_is_asked_no_more_and_a_new_one_soon),
        cmocka_unit_test(after_a_clock_that_was_ahead_samples_count_at_once),
        cmocka_unit_test(a_clock_that_was_ahead_at_the_start_keeps_no_energy_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
