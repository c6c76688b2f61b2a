/* The orders of waiting pods. */
#include "core/order/order.h"
#include "unit/core/plan/plan_defaults.h"
#include "unit/test.h"

static const int64_t s = 1000000; /* in microseconds */

static struct sl_order_config config_of(enum sl_order_kind kind)
{
    struct sl_order_config config = order_defaults;
    config.kind = kind;
    return config;
}

static struct sl_order_item item(int32_t priority, int64_t timeout_us, int64_t submit_us,
                                 const char *uid)
{
    return (struct sl_order_item){.timeout_us = timeout_us,
                                  .submit_us = submit_us,
                                  .uid = sl_str_of(uid),
                                  .priority = priority};
}

static bool before(enum sl_order_kind kind, struct sl_order_item a, struct sl_order_item b,
                   int64_t now_us)
{
    const struct sl_order_config config = config_of(kind);
    return sl_order_compare(&config, &a, &b, now_us) < 0;
}

TEST_THAT(every_order_is_found_by_its_name)
{
    for (unsigned i = 0; i < SL_ORDER_KINDS; i++) {
        enum sl_order_kind kind = SL_ORDER_KINDS;
        assert_true(sl_order_parse(sl_str_of(sl_order_name((enum sl_order_kind)i)), &kind));
        assert_int_equal(kind, i);
    }
    enum sl_order_kind kind = SL_ORDER_P;
    assert_false(sl_order_parse(SL_STR("lifo"), &kind));
    assert_false(sl_order_parse(SL_STR(""), &kind));
    assert_int_equal(kind, SL_ORDER_P);
}

TEST_THAT(only_hrrn_changes_with_time)
{
    for (unsigned i = 0; i < SL_ORDER_KINDS; i++) {
        assert_int_equal(sl_order_is_static((enum sl_order_kind)i), i != SL_ORDER_HRRN);
    }
}

TEST_THAT(fifo_goes_by_priority_then_submission)
{
    assert_true(before(SL_ORDER_FIFO, item(5, 9 * s, 20, "b"), item(4, 1 * s, 10, "a"), 0));
    assert_true(before(SL_ORDER_FIFO, item(4, 9 * s, 10, "b"), item(4, 1 * s, 20, "a"), 0));
    assert_true(before(SL_ORDER_FIFO, item(-1, 1, 10, "b"), item(INT32_MIN, 1, 1, "a"), 0));
}

TEST_THAT(shortest_first_goes_by_priority_then_timeout)
{
    const enum sl_order_kind kinds[] = {SL_ORDER_SJF, SL_ORDER_BOUNDED};
    for (size_t i = 0; i < 2; i++) {
        assert_true(before(kinds[i], item(1, 9 * s, 20, "b"), item(0, 1 * s, 10, "a"), 0));
        assert_true(before(kinds[i], item(0, 1 * s, 20, "b"), item(0, 1 * s + 1, 10, "a"), 0));
    }
}

TEST_THAT(p_weighs_timeout_and_submission_alike_by_default)
{
    /* 10 s of timeout outweigh 9 s of submission, not 11. */
    assert_true(before(SL_ORDER_P, item(0, 10 * s, 9 * s, "b"), item(0, 20 * s, 0, "a"), 0));
    assert_true(before(SL_ORDER_P, item(0, 20 * s, 0, "b"), item(0, 10 * s, 11 * s, "a"), 0));
    assert_true(before(SL_ORDER_P, item(1, 604800 * s, 9 * s, "b"), item(0, s, 0, "a"), 0));
}

TEST_THAT(p_takes_the_weights_of_the_pod_where_it_has_some)
{
    const struct sl_order_weights patient = {.alpha = 0, .beta = SL_ORDER_ONE, .gamma = 0};
    const struct sl_order_config config = config_of(SL_ORDER_P);
    struct sl_order_item a = item(0, 20 * s, 50 * s, "a"); /* P = -70 */
    struct sl_order_item b = item(0, 60 * s, 0, "b");      /* P = -60 */
    assert_true(sl_order_compare(&config, &a, &b, 0) > 0);
    a.weights = &patient; /* P = -20 */
    assert_true(sl_order_compare(&config, &a, &b, 0) < 0);
}

TEST_THAT(p_is_exact_where_64_bits_would_overflow)
{
    const int64_t timeout = INT64_C(2147483648) * s;
    const int64_t submit = (INT64_C(1) << 58) - 2;
    struct sl_order_config config = config_of(SL_ORDER_P);
    config.weights =
        (struct sl_order_weights){SL_ORDER_ALPHA_MAX, SL_ORDER_WEIGHT_MAX, SL_ORDER_WEIGHT_MAX};
    const struct sl_order_item a = item(INT32_MAX, timeout - 1, submit, "b");
    const struct sl_order_item b = item(INT32_MAX, timeout, submit, "a");
    const struct sl_order_item c = item(INT32_MIN, timeout, submit, "c");
    assert_true(sl_order_compare(&config, &a, &b, 0) < 0);
    assert_true(sl_order_compare(&config, &b, &a, 0) > 0);
    assert_true(sl_order_compare(&config, &b, &c, 0) < 0);
    config.weights.beta = 1; /* a millionth of a second times a microsecond */
    config.weights.gamma = 0;
    assert_true(sl_order_compare(&config, &a, &b, 0) < 0);
}

TEST_THAT(hrrn_puts_who_waited_long_for_its_length_first)
{
    const struct sl_order_item shorter = item(0, 10 * s, 100 * s, "s");
    const struct sl_order_item longer = item(0, 100 * s, 0, "l");
    /* At 101 s the ratios of wait to timeout are 0.1 and 1.01, at 200 s 10 and 2. */
    assert_true(before(SL_ORDER_HRRN, longer, shorter, 101 * s));
    assert_true(before(SL_ORDER_HRRN, shorter, longer, 200 * s));
    assert_true(before(SL_ORDER_HRRN, item(1, 100 * s, 199 * s, "x"), shorter, 200 * s));
}

TEST_THAT(hrrn_bears_a_clock_behind_and_no_timeout)
{
    const struct sl_order_item a = item(0, 0, 50 * s, "a");
    const struct sl_order_item b = item(0, 10 * s, 60 * s, "b");
    assert_true(before(SL_ORDER_HRRN, a, b, 40 * s)); /* nobody has waited: by submission */
    assert_true(before(SL_ORDER_HRRN, a, b, 70 * s));
}

TEST_THAT(equal_pods_go_by_submission_then_uid)
{
    for (unsigned i = 0; i < SL_ORDER_KINDS; i++) {
        const enum sl_order_kind kind = (enum sl_order_kind)i;
        const struct sl_order_config config = config_of(kind);
        const struct sl_order_item a = item(3, 7 * s, 9 * s, "pod-1");
        const struct sl_order_item b = item(3, 7 * s, 9 * s, "pod-10");
        assert_true(before(kind, a, b, 9 * s));
        assert_true(before(kind, item(3, 7 * s, 8 * s, "z"), a, 8 * s));
        assert_int_equal(sl_order_compare(&config, &a, &a, 9 * s), 0);
    }
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

TEST_THAT(every_order_is_total)
{
    uint32_t seed = 7;
    static const char *const uids[] = {"a", "b", "c", "d"};
    for (unsigned round = 0; round < 20000; round++) {
        const struct sl_order_config config =
            config_of((enum sl_order_kind)(round % SL_ORDER_KINDS));
        struct sl_order_item x[3];
        for (unsigned i = 0; i < 3; i++) {
            x[i] = item((int32_t)(next_random(&seed) % 2), (int64_t)(next_random(&seed) % 4) * s,
                        (int64_t)(next_random(&seed) % 4) * s, uids[next_random(&seed) % 4]);
        }
        const int64_t now = (int64_t)(next_random(&seed) % 8) * s;
        const int ab = sl_order_compare(&config, &x[0], &x[1], now);
        const int bc = sl_order_compare(&config, &x[1], &x[2], now);
        const int ac = sl_order_compare(&config, &x[0], &x[2], now);
        assert_int_equal(ab<0, sl_order_compare(&config, &x[1], &x[0], now)> 0);
        if (ab <= 0 && bc <= 0) {
            assert_true(ac <= 0);
            assert_true(ac < 0 || (ab == 0 && bc == 0));
        }
    }
}

TEST_THAT(weights_are_read_as_people_write_them)
{
    static const struct {
        const char *text;
        int64_t value; /* -1: refused */
    } cases[] = {
        {"1", 1000000},    {"0.25", 250000},   {"0", 0},
        {"0.000001", 1},   {"12.5", 12500000}, {"1000000", INT64_C(1000000000000)},
        {"", -1},          {".5", -1},         {"1.", -1},
        {"-1", -1},        {"+1", -1},         {"1e3", -1},
        {"0.0000001", -1}, {"1.2.3", -1},      {" 1", -1},
        {"1000000.1", -1}, {"1000001", -1},    {"99999999999999999999", -1},
        {"0x10", -1},      {"1 ", -1},         {"9223372036854775807", -1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t value = -1;
        const bool ok =
            sl_order_weight_parse(sl_str_of(cases[i].text), SL_ORDER_WEIGHT_MAX, &value);
        assert_int_equal(ok, cases[i].value >= 0);
        assert_int_equal(value, cases[i].value);
    }
}

static void assert_amount(struct sl_order_amount amount, const char *text)
{
    char out[SL_ORDER_AMOUNT_TEXT];
    sl_order_amount_print(amount, out);
    assert_string_equal(out, text);
}

TEST_THAT(an_amount_is_printed_without_zeros_that_say_nothing)
{
    assert_amount(((struct sl_order_amount){0, 0}), "0");
    assert_amount(((struct sl_order_amount){10, 0}), "10");
    assert_amount(((struct sl_order_amount){3, 500000}), "3.5");
    assert_amount(((struct sl_order_amount){0, 1}), "0.000001");
    assert_amount(((struct sl_order_amount){-1, 0}), "-1");
    assert_amount(((struct sl_order_amount){-1, 1}), "-0.999999");
    assert_amount(((struct sl_order_amount){-3601, 750000}), "-3600.25");
    assert_amount(((struct sl_order_amount){INT64_MIN, 0}), "-9223372036854775808");
}

TEST_THAT(an_explanation_has_p_and_its_parts)
{
    struct sl_order_config config = config_of(SL_ORDER_P);
    config.weights = (struct sl_order_weights){.alpha = 2000000, .beta = 500000, .gamma = 250001};
    const struct sl_order_item pod = item(-3, 3601 * s + 500000, 10 * s, "a");
    struct sl_order_parts parts;
    sl_order_explain(&config, &pod, &parts);
    assert_amount(parts.priority, "-6");
    assert_amount(parts.timeout, "1800.75");
    assert_amount(parts.submission, "2.50001");
    assert_amount(parts.p, "-1809.25001");
}

TEST_THAT(an_explanation_of_the_largest_values_is_right)
{
    struct sl_order_config config = config_of(SL_ORDER_P);
    config.weights =
        (struct sl_order_weights){SL_ORDER_ALPHA_MAX, SL_ORDER_WEIGHT_MAX, SL_ORDER_WEIGHT_MAX};
    const struct sl_order_item pod =
        item(2000001000, INT64_C(2147483648) * s, INT64_C(253402300799) * s + 999999, "a");
    struct sl_order_parts parts;
    sl_order_explain(&config, &pod, &parts);
    assert_amount(parts.priority, "2000001000000000000");
    assert_amount(parts.timeout, "2147483648000000");
    assert_amount(parts.submission, "253402300799999999");
    assert_amount(parts.p, "1744451215552000001");
}

TEST_THAT(amounts_are_printed_without_idle_zeros)
{
    assert_amount((struct sl_order_amount){0, 0}, "0");
    assert_amount((struct sl_order_amount){-1, 999999}, "-0.000001");
    assert_amount((struct sl_order_amount){-3601, 750000}, "-3600.25");
    assert_amount((struct sl_order_amount){100, 0}, "100");
    assert_amount((struct sl_order_amount){INT64_MIN, 0}, "-9223372036854775808");
}

TEST_THAT(uids_are_compared_as_far_as_they_go)
{
    const struct sl_order_config config = {.kind = SL_ORDER_FIFO};
    const struct sl_order_item ab = {.uid = {"abz", 2}}; /* "ab" of a longer text */
    const struct sl_order_item abc = {.uid = {"abc", 3}};
    const struct sl_order_item none = {.uid = {NULL, 0}};
    assert_true(sl_order_compare(&config, &ab, &abc, 0) < 0);
    assert_true(sl_order_compare(&config, &abc, &ab, 0) > 0);
    assert_true(sl_order_compare(&config, &none, &ab, 0) < 0);
    assert_int_equal(sl_order_compare(&config, &ab, &ab, 0), 0);
}
