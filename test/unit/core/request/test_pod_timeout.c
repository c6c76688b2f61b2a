/* How long a pod says that it runs. */
#include "pod_rig.h"

#include "sliced/timeout.h"

TEST_FIXTURE(set_up, tear_down)

TEST_THAT(durations_are_read_as_go_does_and_rounded_up)
{
    const struct {
        const char *text;
        int64_t seconds;
    } cases[] = {
        {"1h30m", 5400},
        {"90s", 90},
        {"90", 90},
        {"1", 1},
        {"500ms", 1},
        {"1500ms", 2},
        {"1ns", 1},
        {"1us", 1},
        {"1\xc2\xb5s", 1},
        {"1\xce\xbcs", 1},
        {"2.5h", 9000},
        {"1.5s", 2},
        {".5m", 30},
        {"5.m", 300},
        {"1h0m0.000000001s", 3601},
        {"1m1m", 120},
        {"0.1s0.9s", 1},
        {"2147483647", 2147483647},
        {"2147483647s", 2147483647},
        {"1.99999999999999999999999999s", 2},
        {"0.000000001h", 1},
        {"0.999999999h", 3600},
        {"0.5ms", 1},
        {"1d", 86400},
        {"1.5d", 129600},
        {"1d12h", 129600},
        {"24855d", 2147472000},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t seconds = -1;
        if (!sl_timeout_parse(sl_str_of(cases[i].text), &seconds) || seconds != cases[i].seconds) {
            fail_msg("\"%s\" gave %lld", cases[i].text, (long long)seconds);
        }
    }
}

TEST_THAT(other_text_is_no_timeout)
{
    const char *texts[] = {"",
                           ".s",
                           ".h",
                           "1s.m",
                           "0",
                           "0s",
                           "-1",
                           "-1h",
                           "+1h",
                           "d",
                           "1day",
                           "2w",
                           "90min",
                           "1h 30m",
                           "596524h",
                           "24856d",
                           "h",
                           ".s",
                           "1 h",
                           "1h ",
                           "1.5",
                           "1h30",
                           "s1",
                           "0.0000000001s",
                           "1hh",
                           "1..5s",
                           "1e3s",
                           "2147483648",
                           "2147483648s",
                           "99999999999999999h",
                           "99999999999999999999",
                           "9223372036s9223372036s"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        int64_t seconds = -1;
        if (sl_timeout_parse(sl_str_of(texts[i]), &seconds)) {
            fail_msg("\"%s\" gave %lld", texts[i], (long long)seconds);
        }
        assert_int_equal(seconds, -1);
    }
}

TEST_ON(struct pod_rig *rig, the_deadline_goes_before_the_annotation)
{
    annotate(rig, "sliced.dev/timeout", "1h30m");
    assert_int_equal(make(rig)->timeout_s, 5400);
    assert_false(make(rig)->has_deadline);
    rig->pod.deadline_s = 60;
    assert_int_equal(make(rig)->timeout_s, 60);
    assert_true(make(rig)->has_deadline);
    rig->pod.deadline_s = INT64_MAX;
    assert_int_equal(make(rig)->timeout_s, INT32_MAX);
}

TEST_ON(struct pod_rig *rig, a_malformed_timeout_is_none_and_told)
{
    asks(rig, "nvidia.com/gpu=1");
    annotate(rig, "sliced.dev/timeout", "soon");
    const struct sl_pod *pod = make(rig);
    assert_int_equal(pod->timeout_s, 0);
    assert_null(pod->malformed);
    assert_int_equal(pod->n_items, 1);
    assert_string_equal(pod->problem,
                        "annotation sliced.dev/timeout: \"soon\" cannot be read, expected such as "
                        "90m, 2h30m, 1d, of less than 24856 days: the default timeout counts");
}
