/* Fails the 1st, 2nd, 3rd ... allocation of each scenario, alone and with all that follow, until
 * the scenario runs through untouched. After each failure: it was reported as lack of memory, the
 * state is as before (or as after, when the operation got through), trying again succeeds, and
 * nothing has leaked. */
#include "unit/cluster/fixture.h"

#include "chaos/scenario.h"
#include "chaos/wrap.h"

enum { DIGEST_MAX = 1 << 20, TRIES_MAX = 100000 };

static char *digest(const struct scenario *scenario, void *context)
{
    struct sl_buf buf;
    sl_buf_init(&buf, DIGEST_MAX);
    scenario->digest(context, &buf);
    sl_buf_putc(&buf, '\0');
    assert_int_equal(buf.failed, SL_BUF_OK);
    return sl_buf_steal(&buf, &(size_t){0});
}

static void expect_digest(const struct scenario *scenario, void *context, const char *expected)
{
    char *text = digest(scenario, context);
    assert_string_equal(text, expected);
    free(text);
}

/* One try with the n-th allocation failing. False when the scenario needs fewer. */
static bool try_with(const struct scenario *scenario, size_t n, bool forever, const char *before,
                     const char *after)
{
    void *context = scenario->setup(scenario->given);
    size_t live = chaos_live();
    chaos_arm(n, forever);
    int rc = scenario->run(context);
    bool hit = chaos_disarm();
    if (rc == 0) {
        expect_digest(scenario, context, after);
    } else {
        assert_true(hit);
        assert_false(scenario->must_finish);
        if (!scenario->partial) {
            expect_digest(scenario, context, before);
            assert_int_equal(chaos_live(), live);
        }
        assert_int_equal(scenario->run(context), 0);
        expect_digest(scenario, context, after);
    }
    scenario->teardown(context);
    return hit;
}

static void fail_each(const struct scenario *scenario, bool forever)
{
    size_t live = chaos_live();
    void *context = scenario->setup(scenario->given);
    char *before = digest(scenario, context);
    assert_int_equal(scenario->run(context), 0);
    char *after = digest(scenario, context);
    scenario->teardown(context);
    size_t with_texts = chaos_live();
    assert_int_equal(with_texts, live + 2);
    size_t n = 1;
    while (try_with(scenario, n, forever, before, after)) {
        assert_int_equal(chaos_live(), with_texts);
        n++;
        assert_true(n < TRIES_MAX);
    }
    assert_int_equal(chaos_live(), with_texts);
    assert_int_equal(scenario->no_memory, n == 1);
    print_message("%s: %zu allocations, %s\n", scenario->name, n - 1,
                  forever ? "all from each on" : "each alone");
    free(before);
    free(after);
}

static void survives(void **state)
{
    const struct scenario *scenario = *state;
    fail_each(scenario, false);
    fail_each(scenario, true);
}

static size_t add(struct CMUnitTest *tests, const struct scenario *scenarios, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        tests[i] = (struct CMUnitTest){.name = scenarios[i].name,
                                       .test_func = survives,
                                       .initial_state = (void *)&scenarios[i]};
    }
    return n;
}

int main(void)
{
    enum { TESTS_MAX = 64 };
    struct CMUnitTest tests[TESTS_MAX] = {{0}};
    if (n_cluster_scenarios + n_text_scenarios + 1 > TESTS_MAX) {
        return 1;
    }
    size_t n = add(tests, cluster_scenarios, n_cluster_scenarios);
    n += add(tests + n, text_scenarios, n_text_scenarios);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(coming_and_going_leaves_nothing_behind);
    return _cmocka_run_group_tests("chaos", tests, n, NULL, NULL);
}
