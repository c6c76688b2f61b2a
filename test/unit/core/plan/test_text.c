/* The sentence for a pod's owner. */
#include "plan_rig.h"

static const struct sl_ask_item gpus = {.resource = GPU, .count = 6};

static struct sl_pod a_pod(void)
{
    return (struct sl_pod){
        .namespace = "ns", .name = "p", .items = (struct sl_ask_item *)&gpus, .n_items = 1};
}

static void check_text(const struct sl_queue_row *row, const char *expected)
{
    char text[512];
    size_t len = sl_queue_text(row, SECONDS(1000), text, sizeof text);
    assert_string_equal(text, expected);
    assert_int_equal(len, strlen(expected));
}

TEST_THAT(a_held_pod_reads_who_is_ahead)
{
    const struct sl_pod pod = a_pod();
    const struct sl_pod nothing = {.namespace = "ns", .name = "q"};
    struct sl_queue_row row = {.pod = &pod, .state = SL_QUEUE_HELD, .reason = SL_HOLD_NO_ROOM};
    check_text(&row, "held: first for " GPU);
    row.ahead = 1;
    check_text(&row, "held: 1 pod ahead for " GPU);
    row.first = &nothing;
    check_text(&row, "held: 1 pod ahead for " GPU "; it is ns/q");
    row.ahead = 2;
    check_text(&row, "held: 2 pods ahead for " GPU "; first is ns/q");
    row.pod = &nothing;
    row.first = NULL;
    check_text(&row, "held: 2 pods ahead for GPUs");
}

TEST_THAT(no_pod_of_another_namespace_is_named)
{
    const struct sl_pod pod = a_pod();
    const struct sl_pod theirs = {.namespace = "theirs", .name = "secret"};
    const struct sl_queue_row row = {.pod = &pod,
                                     .state = SL_QUEUE_HELD,
                                     .reason = SL_HOLD_NO_ROOM,
                                     .ahead = 2,
                                     .first = &theirs};
    check_text(&row, "held: 2 pods ahead for " GPU);
}

TEST_THAT(a_held_pod_reads_why_and_until_when)
{
    struct sl_pod pod = a_pod();
    struct sl_queue_row row = {.pod = &pod,
                               .state = SL_QUEUE_HELD,
                               .reason = SL_HOLD_BEHIND,
                               .estimate = SL_ESTIMATE_NOW,
                               .start_us = SECONDS(1250)};
    check_text(&row, "held: first for " GPU "; it would delay a pod ahead");
    row.estimate = SL_ESTIMATE_LAID_OUT;
    check_text(&row,
               "held: first for " GPU "; it would delay a pod ahead; estimated start in 4m10s");
    row.estimate = SL_ESTIMATE_RESERVED;
    check_text(&row, "held: first for " GPU
                     "; it would delay a pod ahead; starts in 4m10s at the latest");
    row.usual_us = SECONDS(720);
    check_text(&row, "held: first for " GPU "; it would delay a pod ahead; starts in 4m10s at the "
                     "latest; usually ends after 12m");
    row.usual_start_us = SECONDS(1060);
    check_text(&row, "held: first for " GPU "; it would delay a pod ahead; starts in 4m10s at the "
                     "latest, in 1m if pods run as long as usual; usually ends after 12m");
    row.usual_us = 0;
    row.usual_start_us = 0;
    row.reason = SL_HOLD_EXPIRED;
    row.estimate = SL_ESTIMATE_NONE;
    check_text(&row, "held: it did not take the node set aside for it, and is tried again later");
    row.why = "the API server would not have it";
    pod.problem = "label x: ignored";
    check_text(&row, "held: the API server would not have it; label x: ignored");
}

TEST_THAT(times_are_rounded_up_to_the_last_unit_shown)
{
    static const struct {
        int64_t us;
        const char *text;
    } cases[] = {
        {-SECONDS(5), "0s"},
        {0, "0s"},
        {1, "1s"},
        {SECONDS(1), "1s"},
        {SECONDS(1) + 1, "2s"},
        {SECONDS(59), "59s"},
        {SECONDS(60), "1m"},
        {SECONDS(61), "1m1s"},
        {SECONDS(3600), "1h"},
        {SECONDS(3605), "1h1m"},
        {SECONDS(7500), "2h5m"},
        {SECONDS(8 * 3600 - 59), "8h"},
        {SECONDS(86400), "1d"},
        {SECONDS(86400 * 3 + 4 * 3600), "3d4h"},
        {SECONDS(86400 - 1), "1d"},
        {SECONDS(86400 * 40 + 1), "40d1h"},
    };
    const struct sl_pod pod = a_pod();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char expected[64];
        const struct sl_queue_row row = {.pod = &pod,
                                         .state = SL_QUEUE_HELD,
                                         .estimate = SL_ESTIMATE_LAID_OUT,
                                         .start_us = SECONDS(1000) + cases[i].us};
        (void)snprintf(expected, sizeof expected, "held: first for " GPU "; estimated start in %s",
                       cases[i].text);
        check_text(&row, expected);
    }
}

TEST_THAT(a_nominated_pod_reads_where_and_who_is_silent)
{
    struct sl_pod pod = a_pod();
    struct sl_queue_row row = {.pod = &pod, .state = SL_QUEUE_NOMINATED};
    check_text(&row, "its turn has come: node unknown");
    row.node = "n1";
    check_text(&row, "its turn has come: node n1");
    row.silent_us = SECONDS(900);
    check_text(&row, "its turn has come: node n1; "
                     "kube-scheduler has not been heard from for 1m40s");
    row.silent_us = 1; /* long ago */
    check_text(&row, "its turn has come: node n1; "
                     "kube-scheduler has not been heard from for 16m40s");
}

TEST_THAT(a_refused_pod_reads_what_to_state_instead)
{
    struct sl_pod pod = a_pod();
    struct sl_queue_row row = {.pod = &pod,
                               .state = SL_QUEUE_REFUSED,
                               .reason = SL_HOLD_LIMIT,
                               .timeout_us = SECONDS(168 * 3600),
                               .limit = {.max_timeout_us = SECONDS(5400)}};
    check_text(&row, "refused: its timeout, 168h (the default: it states none), is over the limit "
                     "of 1h30m; state a shorter activeDeadlineSeconds or the annotation "
                     "sliced.dev/timeout");
    pod.timeout_s = 1;
    pod.problem = "label x: ignored"; /* has other worries */
    row.timeout_us = SECONDS(3661);
    row.limit.max_timeout_us = 1; /* any limit at all */
    (void)snprintf(row.limit.resource, sizeof row.limit.resource, "%s", GPU);
    check_text(&row, "refused: its timeout, 1h1m1s, is over the limit of  for " GPU
                     "; state a shorter activeDeadlineSeconds or the annotation "
                     "sliced.dev/timeout");
}

TEST_THAT(a_pod_over_headroom_reads_what_is_left)
{
    const struct sl_pod pod = a_pod();
    struct sl_queue_row row = {
        .pod = &pod,
        .state = SL_QUEUE_REFUSED,
        .reason = SL_HOLD_OVER_HEADROOM,
        .over = {.units = 3, .max_timeout_us = SECONDS(3600), .capacity = 8, .item = &gpus}};
    check_text(&row,
               "refused: it asks for 6 of " GPU ", and of the 8 that there are headroom keeps "
               "3 for pods of up to 1h; ask for 5 at most, or state a timeout of at most 1h");
    row.over.units = 8;
    check_text(&row,
               "refused: it asks for 6 of " GPU ", and of the 8 that there are headroom keeps "
               "8 for pods of up to 1h; state a timeout of at most 1h");
    row.over.units = 1;
    row.over.capacity = 2;
    check_text(&row,
               "refused: it asks for 6 of " GPU ", and of the 2 that there are headroom keeps "
               "1 for pods of up to 1h; ask for 1 at most, or state a timeout of at most 1h");
}

TEST_THAT(a_malformed_pod_reads_what_is_wrong)
{
    struct sl_pod pod = a_pod();
    struct sl_queue_row row = {.pod = &pod, .state = SL_QUEUE_REFUSED, .reason = SL_HOLD_MALFORMED};
    check_text(&row, "refused: its request is malformed");
    pod.malformed = "half a GPU";
    check_text(&row, "refused: its request is malformed: half a GPU");
    row.reason = SL_HOLD_STAGE_FAILED;
    check_text(&row, "refused: something that sliced.dev/after names has failed");
}

TEST_THAT(names_are_known_and_others_are_not)
{
    assert_string_equal(sl_queue_state_name(SL_QUEUE_REFUSED), "Refused");
    assert_string_equal(sl_queue_state_name(SL_QUEUE_STATES), "Unknown");
    assert_string_equal(sl_hold_reason_name(SL_HOLD_GATES), "Gates");
    assert_string_equal(sl_hold_reason_name(SL_HOLD_REASONS), "Unknown");
    assert_string_equal(sl_hold_reason_help(SL_HOLD_REASONS), "");
    assert_string_equal(sl_estimate_name(SL_ESTIMATE_NONE), "none");
    assert_string_equal(sl_estimate_name(SL_ESTIMATE_LAID_OUT), "estimate");
    assert_string_equal(sl_estimate_name((enum sl_estimate)(SL_ESTIMATE_LAID_OUT + 1)), "none");
}
