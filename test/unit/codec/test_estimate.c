/* StartEstimates: what is read, and which word each mistake gets. */
#include <stdio.h>

#include "codec/estimate.h"
#include "unit/test.h"
#include "util/buf.h"

#define HEAD "{\"apiVersion\":\"visibility.sliced.dev/v1alpha1\",\"kind\":\"StartEstimate\","

static const struct sl_text_limits limits = {
    .max_bytes = 1 << 16, .max_string = 64, .max_depth = 20};

/* "priority" of the pod, or "field: message". */
static const char *decode(const char *text)
{
    static char out[1024];
    struct sl_pod_facts facts;
    struct sl_error err = {0};
    struct sl_arena arena;
    sl_arena_init(&arena, 1 << 16);
    int result = sl_estimate_decode(sl_str_of(text), &limits, &arena, &facts, &err);
    if (result == 0) {
        (void)snprintf(out, sizeof(out), "%s/%s %d",
                       facts.namespace.len > 0 ? facts.namespace.s : "-",
                       facts.name.len > 0 ? facts.name.s : "-", (int)facts.priority);
    } else {
        (void)snprintf(out, sizeof(out), "%s: %s", err.field, err.message);
    }
    sl_arena_free(&arena);
    return out;
}

TEST_THAT(the_pod_is_read_with_or_without_a_name)
{
    assert_string_equal(decode(HEAD "\"spec\":{\"pod\":{\"spec\":{\"priority\":3}}}}"), "-/- 3");
    assert_string_equal(decode(HEAD
                               "\"status\":null,\"spec\":{\"pod\":{\"metadata\":{\"name\":\"a\","
                               "\"namespace\":\"b\"},\"kind\":\"Pod\"}}} \n"),
                        "b/a 0");
}

TEST_THAT(mistakes_are_named)
{
    static const struct {
        const char *text;
        const char *says;
    } rows[] = {
        {HEAD "\"spec\":{}}", "spec.pod: is missing"},
        {HEAD "\"spec\":{\"pod\":null}}", "spec.pod: is missing"},
        {HEAD "\"spec\":{\"pod\":[]}}", "spec.pod: expected an object, found an array"},
        {HEAD "\"spec\":{\"pod\":{}},\"status\":{}}",
         "status: is the answer's, not the question's"},
        {HEAD "\"spec\":{\"pod\":{\"spec\":{\"priority\":\"high\"}}}}",
         "spec.pod.spec.priority: expected an integer, found a string"},
        {"{\"kind\":\"StartEstimate\",\"spec\":{\"pod\":{}}}",
         "apiVersion: is not visibility.sliced.dev/v1alpha1"},
        {"{\"apiVersion\":\"visibility.sliced.dev/v1alpha1\",\"kind\":\"Pod\"}",
         "kind: is not StartEstimate"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_string_equal(decode(rows[i].text), rows[i].says);
    }
}

/* The answer repeats the text: what no table names must be JSON, too. */
TEST_THAT(what_is_passed_over_is_checked)
{
    static const char *const texts[] = {
        HEAD "\"metadata\":{\"x\":tru},\"spec\":{\"pod\":{}}}",
        HEAD "\"spec\":{\"pod\":{\"x\":[1,]}}}",
        HEAD "\"spec\":{\"pod\":{}}}}",
        HEAD "\"spec\":{\"pod\":{}}",
        "",
        "[]",
        "null",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_non_null(strchr(decode(texts[i]), ':'));
    }
}
