/* Answers of Prometheus, as it writes them and as it must not. */
#include <stdio.h>
#include <stdlib.h>

#include "unit/telemetry/told.h"
#include "unit/test.h"

#define SERIES(labels, samples)                                                                    \
    "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[{\"metric\":{" labels \
    "},\"values\":[" samples "]}]}}"

/* What is told of the text, given in pieces of that size; ends with the error, if there is one. */
static const char *read_in(struct told *told, const char *text, size_t piece)
{
    struct sl_answer_options options = {.node_label = {SL_STR("Hostname"), SL_STR("hostname")},
                                        .pod_label = {SL_STR("pod"), SL_STR("pod_name")},
                                        .namespace_label = {SL_STR("namespace")},
                                        .series = told_series,
                                        .sample = told_sample,
                                        .context = told};
    struct sl_answer *answer = sl_answer_new(&options);
    struct sl_error err = {0};
    int rc = 0;
    told_begin(told);
    assert_non_null(answer);
    sl_answer_reset(answer);
    for (size_t at = 0; rc == 0 && at < strlen(text); at += piece) {
        size_t len = strlen(text) - at < piece ? strlen(text) - at : piece;
        rc = sl_answer_feed(answer, text + at, len, &err);
    }
    if (rc == 0) {
        rc = sl_answer_finish(answer, &err);
    }
    sl_answer_free(answer);
    if (rc < 0) {
        told_say(told, "! ", err.message);
    }
    return told->text;
}

static void says(const char *text, const char *expected)
{
    struct told told = {.refuse = false};
    assert_string_equal(read_in(&told, text, 1), expected);
    assert_string_equal(read_in(&told, text, 7), expected);
    assert_string_equal(read_in(&told, text, 4096), expected);
}

TEST_THAT(samples_of_a_matrix_come_with_their_labels)
{
    says(SERIES("\"__name__\":\"DCGM_FI_DEV_FB_USED\",\"Hostname\":\"n1\",\"gpu\":\"0\",\"UUID\":"
                "\"GPU-a\","
                "\"container\":\"x\",\"modelName\":\"T4\"",
                "[1700000000.25,\"12\"],[1700000001,\"13.5\"]"),
         "[DCGM_FI_DEV_FB_USED n1 gpu 0 GPU-a i ] 1700000000250000=12 1700000001000000=13.5");
    says(SERIES("\"GPU_I_ID\":\"3\",\"GPU_I_PROFILE\":\"1g.5gb\",\"hostname\":\"n2\"", ""),
         "[  gpu   i3 1g.5gb]2:n2");
}

TEST_THAT(whatever_may_name_a_pod_comes)
{
    says(SERIES("\"exported_pod\":\"train\",\"exported_namespace\":\"team\",\"pod\":\"exporter-x\","
                "\"namespace\":\"gpu-operator\"",
                ""),
         "[  gpu   i  pod train of team pod exporter-x of gpu-operator]");
    says(SERIES("\"pod\":\"train\",\"namespace\":\"team\",\"container\":\"c\"", ""),
         "[  gpu   i  pod train of team]");
    says(SERIES("\"pod_name\":\"train\",\"exported_pod_name\":\"victim\",\"exported_pod\":\"\","
                "\"exported_exported_exported_namespace\":\"team\",\"exported_\":\"x\","
                "\"exported_node\":\"x\",\"unexported_pod\":\"x\"",
                ""),
         "[  gpu   i  pod train of team pod victim]");
}

/* Labels of a pod must not crowd out the exporter's own unnoticed. */
TEST_THAT(more_names_than_are_kept_are_said)
{
    says(SERIES(
             "\"pod\":\"a\",\"pod\":\"b\",\"pod\":\"c\",\"pod\":\"d\",\"pod\":\"e\",\"pod\":\"f\"",
             ""),
         "[  gpu   i  pod a pod b pod c pod d pod e pod f]");
    says(SERIES(
             "\"pod\":\"a\",\"pod\":\"b\",\"pod\":\"c\",\"pod\":\"d\",\"pod\":\"e\",\"pod\":\"f\","
             "\"exported_pod\":\"g\"",
             ""),
         "[  gpu   i  pod a pod b pod c pod d pod e pod f and more]");
}

TEST_THAT(samples_of_a_vector_too)
{
    says("{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":["
         "{\"metric\":{\"gpu\":\"0\"},\"value\":[1.5,\"1\"]},"
         "{\"metric\":{\"gpu\":\"1\"},\"value\":[2,\"2\"]}]},\"warnings\":[\"w\"]}",
         "[  gpu 0  i ] 1500000=1[  gpu 1  i ] 2000000=2");
    says("{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[]}}", "");
}

TEST_THAT(numbers_that_are_none_are_passed_over)
{
    says(SERIES("",
                "[1,\"NaN\"],[2,\"+Inf\"],[3,\"-Inf\"],[4,\"x\"],[5,\"\"],[6,\"1e3\"],[7,\"12 \"]"),
         "[  gpu   i ] 6000000=1000");
    says(SERIES("", "[-1,\"1\"],[1e300,\"1\"],[7,\"-2\"]"), "[  gpu   i ] 7000000=-2");
}

TEST_THAT(numbers_are_read_as_the_c_library_reads_them)
{
    static const char *const texts[] = {"0",
                                        "7",
                                        "0.000001",
                                        ".5",
                                        "5.",
                                        "999999999999999",
                                        "99999999999999.9",
                                        "0.873214",
                                        "1e-3",
                                        "+12",
                                        "0x1p3",
                                        "-.5",
                                        "000.10",
                                        "1234567890123456789",
                                        "3.14159265358979323846"};
    char samples[1024];
    char expected[1024] = "[  gpu   i ]";
    char text[2048];
    size_t len = 0;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        len += (size_t)snprintf(samples + len, sizeof(samples) - len, "%s[%zu,\"%s\"]",
                                i == 0 ? "" : ",", i, texts[i]);
        snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), " %zu=%.17g",
                 i * 1000000, strtod(texts[i], NULL));
    }
    snprintf(text, sizeof(text), SERIES("", "%s"), samples);
    says(text, expected);
}

TEST_THAT(series_that_nobody_wants_cost_no_sample)
{
    struct told told = {.refuse = true};
    assert_string_equal(read_in(&told, SERIES("\"gpu\":\"7\"", "[1,\"1\"],[2,\"2\"]"), 5),
                        "[  gpu 7  i ]");
}

TEST_THAT(a_label_that_is_too_long_is_as_none)
{
    char text[2048];
    char label[400];
    memset(label, 'a', sizeof(label) - 1);
    label[sizeof(label) - 1] = '\0';
    snprintf(text, sizeof(text), SERIES("\"gpu\":\"%s\"", "[1,\"1\"]"), label);
    says(text, "[  gpu   i ] 1000000=1");
}

TEST_THAT(what_prometheus_refuses_is_said)
{
    says("{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"parse error at 3\"}",
         "! Prometheus has no answer: parse error at 3");
    says("{\"data\":null}", "! Prometheus has no answer: it gives no reason");
}

TEST_THAT(other_shapes_are_errors)
{
    static const char *const texts[] = {
        "[]",
        "{\"status\":[]}",
        "{\"data\":{\"result\":{}}}",
        "{\"data\":{\"result\":[[]]}}",
        "{\"data\":{\"result\":[{\"metric\":[]}]}}",
        "{\"data\":{\"result\":[{\"metric\":{\"gpu\":0}}]}}",
        "{\"data\":{\"result\":[{\"metric\":{},\"values\":[1]}]}}",
        "{\"data\":{\"result\":[{\"metric\":{},\"values\":[[\"1\",\"1\"]]}]}}",
        "{\"data\":{\"result\":[{\"metric\":{},\"values\":[[1,2]]}]}}",
        "{\"data\":{\"result\":[{\"metric\":{},\"values\":[[1,\"2\",\"3\"]]}]}}",
        "{\"data\":{\"result\":[{\"metric\":{},\"values\":[{}]}]}}",
        "{\"data\":{\"result\":[{\"metric\":{},\"values\":\"x\"}]}}",
        "{\"status\":true}",
        "{\"status\":\"success\"",
        "<html>",
        "",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct told told = {.refuse = false};
        const char *text = read_in(&told, texts[i], 3);
        if (strchr(text, '!') == NULL) {
            fail_msg("%s was taken: %s", texts[i], text);
        }
    }
}
