/* A pod's story, and what is said of a start. */
#include "unit/cli/rig.h"

#include "cli/commands.h"

static const char *story(const char *status)
{
    char json[4096];
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_buf out;
    (void)snprintf(
        json, sizeof(json),
        "{\"kind\":\"Table\",\"columnDefinitions\":[{\"name\":\"Name\"},{\"name\":"
        "\"Node\"},{\"name\":\"Message\",\"priority\":1}],\"rows\":[{\"cells\":[\"train\","
        "\"\",\"held: \\u001b[1m\"],\"object\":{\"metadata\":{\"namespace\":\"ours\"},"
        "\"status\":%s}}]}",
        status);
    sl_buf_init(&out, 1 << 16);
    if (sl_cli_story(rig_value(json), &out, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return rig_text(&out);
}

TEST_PROGRAM(rig_begin, rig_end)

TEST_THAT(cells_stand_below_each_other_and_empty_ones_nowhere)
{
    assert_string_equal(story("{}"), "Namespace:  ours\n"
                                     "Name:       train\n"
                                     "Message:    held: \\u001b[1m\n");
}

TEST_THAT(nodes_are_told_by_reason_those_of_most_first)
{
    assert_string_equal(
        story("{\"remedy\":\"a shorter timeout\",\"nodes\":{\"nodes\":16,\"fit\":0,\"reasons\":["
              "{\"reason\":\"Insufficient\",\"nodes\":3,\"never\":false,\"nearest\":\"8 asked\","
              "\"remedy\":\"wait\"},"
              "{\"reason\":\"Fragmented\",\"nodes\":10,\"never\":false,\"nearest\":\"f\","
              "\"remedy\":\"ask for less\"},"
              "{\"reason\":\"NotOffered\",\"nodes\":3,\"never\":true,\"nearest\":\"\\u001b\","
              "\"remedy\":null}]}}"),
        "Namespace:  ours\n"
        "Name:       train\n"
        "Message:    held: \\u001b[1m\n"
        "\n"
        "It fits on 0 of 16 nodes now.\n"
        "\n"
        "NODES   REASON         WHEN      NEAREST\n"
        "10      Fragmented     not now   f\n"
        "3       Insufficient   not now   8 asked\n"
        "3       NotOffered     never     \\u001b\n"
        "\n"
        "What would help:\n"
        "  - a shorter timeout\n"
        "  - ask for less\n"
        "  - wait\n");
}

TEST_THAT(nodes_that_the_pod_excludes_are_not_counted)
{
    assert_string_equal(story("{\"nodes\":{\"nodes\":5,\"excluded\":4,\"fit\":0,\"reasons\":[],"
                              "\"uncut\":[{\"text\":\"node-7 cannot be cut: \\u001b\"}]}}"),
                        "Namespace:  ours\n"
                        "Name:       train\n"
                        "Message:    held: \\u001b[1m\n"
                        "\n"
                        "It fits on 0 of 1 nodes now; it excludes 4 more itself.\n"
                        "node-7 cannot be cut: \\u001b.\n");
}

TEST_THAT(odd_stories_are_told_as_far_as_they_go)
{
    rig_assert_tame(
        story("{\"remedy\":\"\\u001b[2J\\n\",\"nodes\":{\"reasons\":[{},{},7,{\"nodes\":"
              "\"x\"},{\"nodes\":9223372036854775807},{\"nodes\":-1}]}}"));
    rig_assert_tame(story("[1]"));
    rig_assert_tame(story("{\"nodes\":[]}"));
    rig_assert_tame(story("{\"nodes\":{\"excluded\":9e99,\"uncut\":[{},7,{\"text\":1}]}}"));
    rig_assert_tame(story("{\"nodes\":{\"excluded\":-9223372036854775807,\"uncut\":7}}"));
}

TEST_THAT(no_story_without_a_row)
{
    static const char *const texts[] = {
        "{}", "[]", "{\"kind\":\"Table\",\"rows\":[],\"columnDefinitions\":[]}",
        "{\"kind\":\"Table\",\"rows\":[{}],\"columnDefinitions\":[]}",
        "{\"kind\":\"QueuedPod\",\"rows\":[{\"cells\":[]}],\"columnDefinitions\":[]}"};
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_buf out;
    sl_buf_init(&out, 1 << 16);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(sl_cli_story(rig_value(texts[i]), &out, &err), -1);
    }
    sl_buf_free(&out);
}

static const char *start(const char *status, int expected)
{
    char json[1024];
    struct sl_buf out;
    (void)snprintf(json, sizeof(json), "{\"kind\":\"StartEstimate\",\"status\":%s}", status);
    sl_buf_init(&out, 1 << 16);
    assert_int_equal(sl_cli_when_text(rig_value(json), &out), expected);
    return rig_text(&out);
}

TEST_THAT(a_start_is_told_with_its_price)
{
    assert_string_equal(
        start(
            "{\"position\":3,\"ahead\":1,\"startsInSeconds\":250,\"estimatedStart\":"
            "\"2026-11-24T02:35:35Z\",\"estimateKind\":\"estimate\",\"state\":\"Held\",\"reason\":"
            "\"NoRoom\",\"node\":null,\"devices\":null,\"message\":\"held: 1 pod ahead\","
            "\"tenant\":\"a\",\"ownStart\":\"2026-11-24T03:00:00Z\","
            "\"delayed\":2}",
            SL_CLI_DONE),
        "Start-In:   4m10s, at 2026-11-24T02:35:35Z (estimate)\n"
        "Position:   3\n"
        "Ahead:      1\n"
        "State:      Held\n"
        "Reason:     NoRoom\n"
        "Tenant:     a\n"
        "Own-Start:  2026-11-24T03:00:00Z\n"
        "Message:    held: 1 pod ahead\n"
        "Delays:     2 pods that wait now would start later\n");
}

TEST_THAT(a_start_at_once_and_none_at_all)
{
    const char *now =
        start("{\"startsInSeconds\":0,\"estimateKind\":\"now\",\"node\":\"gpu-1\"}", SL_CLI_DONE);
    assert_non_null(strstr(now, "Start-In:   now\n"));
    assert_non_null(strstr(now, "Node:       gpu-1\n"));
    assert_non_null(strstr(start("{\"startsInSeconds\":null,\"delayed\":1}", SL_CLI_NEVER),
                           "Delays:     1 pod that waits now would start later\n"));
    rig_assert_tame(
        start("{\"startsInSeconds\":9223372036854775807,\"message\":\"\\u001b\"}", SL_CLI_DONE));
    rig_assert_tame(start("7", SL_CLI_NEVER));
}
