/* The JSON tokenizer on a stream of texts, one after the other. */
#include "codec/stream/json.h"

#include "unit/codec/stream/record.h"

#include <stdlib.h>

#include "unit/test.h"

static const struct sl_text_limits roomy = {
    .max_bytes = 1 << 20, .max_string = 1 << 16, .max_depth = 64};

/* Feeds copies of step bytes, the first of cut bytes; a sanitizer sees reads beyond them. */
static int read_stream(const struct sl_text_limits *limits, const char *text, size_t cut,
                       size_t step, struct record *record, struct sl_error *err)
{
    struct sl_json *json = sl_json_new(limits, record_event, record);
    size_t len = strlen(text);
    int rc = 0;
    assert_non_null(json);
    sl_json_reset_stream(json, record_event, record);
    for (size_t at = 0; rc == 0 && at < len;) {
        size_t n = at == 0 && cut > 0 ? cut : step;
        n = n < len - at ? n : len - at;
        char *copy = malloc(n);
        assert_non_null(copy);
        memcpy(copy, text + at, n);
        rc = sl_json_feed(json, copy, n, err);
        free(copy);
        at += n;
    }
    if (rc == 0) {
        rc = sl_json_finish(json, err);
    }
    sl_json_free(json);
    return rc;
}

static void assert_stream(const char *text, bool places, const char *expected)
{
    size_t len = strlen(text);
    for (size_t cut = 0; cut <= len; cut++) {
        for (size_t step = 1; step <= len + 2; step += len + 1) {
            struct record record;
            struct sl_error err = {0};
            record_init(&record, places);
            int rc = read_stream(&roomy, text, cut, step, &record, &err);
            if (rc != 0) {
                fail_msg("%s cut at %zu: %s", text, cut, err.message);
            }
            assert_string_equal(record_text(&record), expected);
            record_free(&record);
        }
    }
}

TEST_THAT(reports_each_text_and_its_end)
{
    assert_stream("{\"a\":1}\n{\"b\":[true]}\n", false,
                  "{\nkey a\nnumber 1\n}\nend\n{\nkey b\n[\nbool true\n]\n}\nend\n");
    assert_stream("{}{}[]\"x\"null", false,
                  "{\n}\nend\n{\n}\nend\n[\n]\nend\nstring x\nend\nnull\nend\n");
    assert_stream("1 23\n4", false, "number 1\nend\nnumber 23\nend\nnumber 4\nend\n");
}

TEST_THAT(a_stream_may_have_no_text)
{
    assert_stream("", false, "");
    assert_stream(" \n\n ", false, "");
}

TEST_THAT(counts_lines_and_columns_from_each_text)
{
    assert_stream("{}\n\n  {\n \"a\":1}", true,
                  "1:1 {\n1:2 }\n3:3 end\n1:1 {\n2:2 key a\n2:6 number 1\n2:7 }\n2:8 end\n");
}

TEST_THAT(skips_within_one_text_only)
{
    assert_stream("{\"skip\":{\"x\":[1,2]},\"b\":1}{\"skip me\":1}{\"c\":2}", false,
                  "{\nkey skip\nkey b\nnumber 1\n}\nend\n{\nkey skip me\n}\nend\n"
                  "{\nkey c\nnumber 2\n}\nend\n");
}

TEST_THAT(limits_each_text_not_the_stream)
{
    static const struct sl_text_limits small = {.max_bytes = 8, .max_string = 8, .max_depth = 4};
    for (size_t step = 1; step < 40; step++) {
        struct record record;
        struct sl_error err = {0};
        record_init(&record, false);
        assert_int_equal(read_stream(&small, "{\"a\":12}\n\n\n\n\n\n\n\n\n\n\n{\"b\":12}\n[]", 0,
                                     step, &record, &err),
                         0);
        assert_string_equal(
            record_text(&record),
            "{\nkey a\nnumber 12\n}\nend\n{\nkey b\nnumber 12\n}\nend\n[\n]\nend\n");
        record_free(&record);
        record_init(&record, false);
        assert_int_equal(read_stream(&small, "{\"a\":1}\n{\"b\":123}\n", 0, step, &record, &err),
                         -1);
        assert_int_equal(err.code, SL_ERR_LIMIT);
        record_free(&record);
    }
}

TEST_THAT(fails_for_good_on_a_bad_text)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"{}\n{]", "expected a key in double quotes or '}', found ']'"},
        {"{} ,", "expected a value, found ','"},
        {"{}{\"a\"", "expected ':', found the end of the text"},
        {"{}[1", "expected ',' or ']', found the end of the text"},
        {"{} tru", "expected the rest of true, false or null, found the end of the text"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (size_t cut = 0; cut <= strlen(cases[i].text); cut++) {
            struct record record;
            struct sl_error err = {0};
            record_init(&record, false);
            assert_int_equal(read_stream(&roomy, cases[i].text, cut, 9, &record, &err), -1);
            assert_string_equal(err.message, cases[i].message);
            record_free(&record);
        }
    }
}

TEST_THAT(reset_goes_back_to_a_single_text)
{
    struct record record;
    struct sl_error err = {0};
    record_init(&record, false);
    struct sl_json *json = sl_json_new(&roomy, record_event, &record);
    assert_non_null(json);
    sl_json_reset_stream(json, record_event, &record);
    assert_int_equal(sl_json_feed(json, "{}{}", 4, &err), 0);
    sl_json_reset(json, record_event, &record);
    assert_int_equal(sl_json_feed(json, "{}{}", 4, &err), -1);
    sl_json_free(json);
    record_free(&record);
}
