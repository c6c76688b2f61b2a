/* The JSON tokenizer: what it reports, that chunks do not matter, what it skips, its limits. */
#include "codec/stream/json.h"

#include "unit/codec/stream/reads.h"

#include <stdlib.h>

/* Every chunk is a copy of its own that is gone after the call: a sanitizer sees any read beyond it
 * or after it. */
static int feed_copy(struct sl_json *json, const char *data, size_t len, struct sl_error *err)
{
    char *copy = malloc(len == 0 ? 1 : len);
    assert_non_null(copy);
    memcpy(copy, data, len);
    int rc = sl_json_feed(json, copy, len, err);
    free(copy);
    return rc;
}

/* Reads text in pieces: [0, cut), [cut, cut + step), [cut + step, ...) ... */
static int read_cut(const struct sl_text_limits *limits, struct sl_str text, size_t cut,
                    size_t step, struct record *record, struct sl_error *err)
{
    struct sl_json *json = sl_json_new(limits, record_event, record);
    assert_non_null(json);
    int rc = feed_copy(json, text.s, cut, err);
    for (size_t at = cut; rc == 0 && at < text.len; at += step) {
        size_t len = text.len - at < step ? text.len - at : step;
        rc = feed_copy(json, text.s + at, len, err);
    }
    if (rc == 0) {
        rc = sl_json_finish(json, err);
    }
    sl_json_free(json);
    return rc;
}

static int read_whole(const struct sl_text_limits *limits, struct sl_str text,
                      struct record *record, struct sl_error *err)
{
    return read_cut(limits, text, text.len, 1, record, err);
}

/* ---- what is reported ---- */

TEST_THAT(reports_every_kind_of_token_in_order)
{
    assert_events("{\"a\":[1,-2.5e3,true,false,null,\"x\"],\"b\":{}}", false,
                  "{\nkey a\n[\nnumber 1\nnumber -2.5e3\nbool true\nbool false\nnull\nstring x\n]\n"
                  "key b\n{\n}\n}\nend\n");
}

TEST_THAT(reports_a_scalar_alone)
{
    assert_events("12", false, "number 12\nend\n");
    assert_events(" \"x\" ", false, "string x\nend\n");
    assert_events("null", false, "null\nend\n");
}

TEST_THAT(counts_lines_from_newlines_and_columns_in_bytes)
{
    assert_events("{\n  \"\xc3\xa4\": 1,\r\n\t\"b\" :\n\n[ ]}", true,
                  "1:1 {\n2:3 key \xc3\xa4\n2:9 number 1\n3:2 key b\n5:1 [\n5:3 ]\n5:4 }\n"
                  "5:5 end\n");
}

TEST_THAT(resolves_escapes_and_surrogate_pairs)
{
    assert_events(
        "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\",\"\\u0041\\u00e4\\u20AC\\ud83d\\ude00\"]", false,
        "[\nstring \"\\/\b\f\n\r\t\nstring A\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\n]\nend\n");
}

TEST_THAT(keeps_a_nul_that_was_escaped)
{
    struct record record;
    struct sl_error err = {0};
    record_init(&record, false);
    assert_int_equal(read_whole(&roomy, SL_STR("\"a\\u0000b\""), &record, &err), 0);
    assert_int_equal(record.lines.len, sizeof("string a?b\nend\n") - 1);
    assert_memory_equal(record.lines.data, "string a\0b\nend\n", record.lines.len);
    record_free(&record);
}

TEST_THAT(reports_duplicate_keys_both)
{
    assert_events("{\"a\":1,\"a\":2}", false, "{\nkey a\nnumber 1\nkey a\nnumber 2\n}\nend\n");
}

static int points_into(void *context, const struct sl_event *event, struct sl_error *err)
{
    const struct sl_str *chunk = context;
    if (event->type == SL_EVENT_STRING || event->type == SL_EVENT_KEY) {
        bool within = event->text.s >= chunk->s && event->text.s < chunk->s + chunk->len;
        return within ? 0 : sl_error_set(err, SL_ERR_INTERNAL, "copied");
    }
    return 0;
}

TEST_THAT(does_not_copy_a_string_that_lies_in_one_chunk)
{
    struct sl_str text =
        SL_STR("{\"key\":\"plain and \xc3\xa4\xe2\x82\xac, longer than one step\"}");
    struct sl_error err = {0};
    struct sl_json *json = sl_json_new(&roomy, points_into, &text);
    assert_int_equal(sl_json_feed(json, text.s, text.len, &err), 0);
    assert_int_equal(sl_json_finish(json, &err), 0);
    sl_json_free(json);
}

/* ---- chunks ---- */

// NOLINTBEGIN(bugprone-suspicious-missing-comma): long texts go over two lines
static const char *const documents[] = {
    "{\"Pod\":{\"metadata\":{\"name\":\"p\"}},\"Nodes\":null,\"NodeNames\":[\"n-1\",\"n-2\",\"n-"
    "3\"]}",
    "  {\n \"a\" : [ 1 , -0.5e+10 , true ,\r\n false, null ] }\n\n",
    "[\"\\u00e4\\ud83d\\ude00\\n\\\\\",\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\",\"\"]",
    "{\"skipped\":{\"a\":[1,2,{\"b\":\"\\ud83d\\ude00\"}]},\"b\":1,\"skip\":\"\xf0\x9f\x98\x80\","
    "\"c\":[]}",
    "{\"pass\":[1,[2],{\"a\":null}],\"pass2\":{\"x\":[\"y\"]},\"pass3\":4,\"skip\":-1.5e3,\"skip\":"
    "true}",
    "{\"a long key, longer than two steps of the scanner\":\"and a value that is as long as that, "
    "with an escape \\t in it, and more behind it\"}",
    "123456789",
    "-1.25E-7",
    "false",
    "\"\\u0000\"",
    "[\"a\",\"bb\",\n\"c\",\"d\",[\"e\",\"f\"],\"g\",{\"h\":\"i\",\"skip\":[\"j\",\"k\"]},\"l\"]",
    /* not JSON: the same failure in the same place wherever it is cut */
    "{\"a\":tru3}",
    "[1,2",
    "[\"\\ud83dx\"]",
    "[\"a\x01\"]",
    "[\"a\",\"b\"\"c\"]",
    "[\"a\",\"b\",]",
    "[\"\xe2\x82\"]",
    "[\"plain \xf0\x9f\x98\"",
    "{\"skip\":[\"\xff\"]}",
    "{\"skip\":[1,}]}",
    "[-]",
    "[1.]",
    "{} x",
    "12 34",
    "\"\\u12g4\"",
    "nul",
    "-",
    "",
};
// NOLINTEND(bugprone-suspicious-missing-comma)

static void assert_same_however_cut(const struct sl_text_limits *limits, struct sl_str text)
{
    struct record whole;
    struct sl_error whole_err = {0};
    record_init(&whole, true);
    int whole_rc = read_cut(limits, text, text.len, 1, &whole, &whole_err);
    for (size_t i = 0; i < 6 * (text.len + 1); i++) {
        size_t cut = i / 6;
        static const size_t steps[] = {(size_t)1 << 20, 1, 7};
        struct record record;
        struct sl_error err = {0};
        record_init(&record, true);
        record.runs = i % 2 == 1;
        int rc = read_cut(limits, text, cut, steps[i % 3], &record, &err);
        assert_string_equal(record_text(&record), record_text(&whole));
        assert_int_equal(rc, whole_rc);
        assert_string_equal(err.message, whole_err.message);
        assert_int_equal(err.line, whole_err.line);
        assert_int_equal(err.column, whole_err.column);
        record_free(&record);
    }
    record_free(&whole);
}

static int count_runs(void *context, const struct sl_event *event, struct sl_error *err)
{
    size_t *runs = context;
    (void)err;
    if (event->type == SL_EVENT_STRINGS) {
        runs[event->run.n]++;
    }
    assert_true(event->type != SL_EVENT_STRINGS || event->run.n > 0);
    return event->type == SL_EVENT_ARRAY ? SL_EVENT_RUNS : SL_EVENT_GO;
}

/* How the strings of the array came: how many runs of one, of two, and so on. */
static void count_runs_of(const char *text, size_t runs[80])
{
    struct sl_error err = {0};
    struct sl_json *json = sl_json_new(&roomy, count_runs, runs);
    memset(runs, 0, 80 * sizeof(*runs));
    assert_int_equal(sl_json_feed(json, text, strlen(text), &err), 0);
    assert_int_equal(sl_json_finish(json, &err), 0);
    sl_json_free(json);
}

TEST_THAT(strings_that_follow_each_other_come_in_runs)
{
    size_t runs[80];
    count_runs_of("[\"a\",\"\",\"ccc\"]", runs);
    assert_int_equal(runs[3], 1);
    count_runs_of("[\"a\",\"b\", \"c\",\"d\\n\",\"e\",1,\"f\"]", runs);
    assert_int_equal(runs[1], 3);
    assert_int_equal(runs[2], 1);
    count_runs_of("{\"a\":[[\"a\",\"b\"],\"c\",\"d\"],\"k\":\"v\"}", runs);
    assert_int_equal(runs[2], 1); /* c and d stand in an array that has something else in it */
    count_runs_of("\"alone\"", runs);
    assert_int_equal(runs[1], 0);
}

TEST_THAT(long_runs_come_in_pieces)
{
    size_t runs[80];
    struct sl_buf text;
    size_t sum = 0;
    sl_buf_init(&text, 1 << 12);
    for (int i = 0; i < 200; i++) {
        sl_buf_puts(&text, i == 0 ? "[\"n\"" : ",\"n\"");
    }
    sl_buf_append(&text, "]", 2);
    count_runs_of(text.data, runs);
    for (size_t i = 0; i < 80; i++) {
        sum += i * runs[i];
    }
    assert_int_equal(sum, 200);
    assert_int_equal(runs[1], 0);
    sl_buf_free(&text);
}

TEST_THAT(reports_the_same_wherever_chunks_are_cut)
{
    for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
        assert_same_however_cut(&roomy, sl_str_of(documents[i]));
    }
}

TEST_THAT(meets_limits_in_the_same_place_wherever_chunks_are_cut)
{
    const struct sl_text_limits tight = {.max_bytes = 60, .max_string = 5, .max_depth = 2};
    for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
        assert_same_however_cut(&tight, sl_str_of(documents[i]));
    }
    assert_same_however_cut(&tight, SL_STR("[\"12345\",12345,\"123456\"]"));
    assert_same_however_cut(&tight, SL_STR("[\"1\xe2\x82\xac\",123456]"));
    assert_same_however_cut(&tight, SL_STR("[\"1234\xc3\xa4\"]"));
    assert_same_however_cut(&tight, SL_STR("[\"12345\x01\",1]"));
    assert_same_however_cut(&tight, SL_STR("[\"123456\x01\",1]"));
    assert_same_however_cut(&tight, SL_STR("[12345x]"));
    assert_same_however_cut(&tight, SL_STR("[123456x]"));
}

/* ---- skipping ---- */

TEST_THAT(skips_the_value_after_a_key)
{
    assert_events("{\"skip\":1,\"a\":2}", false, "{\nkey skip\nkey a\nnumber 2\n}\nend\n");
    assert_events("{\"skip\":\"x\\n\",\"a\":2}", false, "{\nkey skip\nkey a\nnumber 2\n}\nend\n");
    assert_events("{\"skip\":{\"b\":[{}]}}", false, "{\nkey skip\n}\nend\n");
    assert_events("[{\"skip\":[[],{}]},3]", false, "[\n{\nkey skip\n}\nnumber 3\n]\nend\n");
}

TEST_THAT(skips_the_rest_of_an_object_or_array)
{
    assert_events("{\"pass\":{\"b\":[{}]},\"pass\":[],\"a\":2}", false,
                  "{\nkey pass\n{\nkey pass\n[\nkey a\nnumber 2\n}\nend\n");
}

static int skip_all(void *context, const struct sl_event *event, struct sl_error *err)
{
    (void)err;
    int *events = context;
    (*events)++;
    return event->type == SL_EVENT_OBJECT ? SL_EVENT_SKIP : SL_EVENT_GO;
}

TEST_THAT(skips_a_whole_text)
{
    int events = 0;
    struct sl_error err = {0};
    struct sl_json *json = sl_json_new(&roomy, skip_all, &events);
    struct sl_str text = SL_STR("{\"a\":{\"b\":1}} ");
    assert_int_equal(sl_json_feed(json, text.s, text.len, &err), 0);
    assert_int_equal(sl_json_finish(json, &err), 0);
    assert_int_equal(events, 2); /* the object, the end of the document */
    sl_json_free(json);
}

TEST_THAT(checks_what_it_skips)
{
    assert_syntax_error("{\"skip\":[1 2]}", 1, 12, "expected ',' or ']', found '2'");
    assert_syntax_error("{\"skip\":{\"a\" 2}}", 1, 14, "expected ':', found '2'");
    assert_syntax_error("{\"skip\":\"\xc0\x80\"}", 1, 10, "a string is not UTF-8 at byte 0xc0");
    assert_syntax_error("{\"skip\":\"\\x\"}", 1, 11,
                        "expected one of \"\\/bfnrtu after a backslash, found 'x'");
    assert_syntax_error("{\"skip\":01}", 1, 10, "expected ',' or '}', found '1'");
    assert_syntax_error("{\"skip\":[nulx]}", 1, 13, "expected null, found 'x'");
}

TEST_THAT(does_not_hold_what_it_skips)
{
    const struct sl_text_limits small = {.max_bytes = 1000, .max_string = 8, .max_depth = 4};
    struct record record;
    struct sl_error err = {0};
    record_init(&record, false);
    struct sl_str text = SL_STR("{\"skip\":\"longer than eight bytes \\n\",\"skip\":123456789012}");
    assert_int_equal(read_cut(&small, text, 0, 1, &record, &err), 0);
    assert_string_equal(record_text(&record), "{\nkey skip\nkey skip\n}\nend\n");
    record_free(&record);
}

/* ---- failures ---- */

TEST_THAT(names_the_place_and_what_was_expected)
{
    assert_syntax_error("", 1, 1, "expected a value, found the end of the text");
    assert_syntax_error("{\"a\":1,\n  }", 2, 3, "expected a key in double quotes, found '}'");
    assert_syntax_error("{a:1}", 1, 2, "expected a key in double quotes or '}', found 'a'");
    assert_syntax_error("[1,]", 1, 4, "expected a value, found ']'");
    assert_syntax_error("[,1]", 1, 2, "expected a value or ']', found ','");
    assert_syntax_error("{\"a\"}", 1, 5, "expected ':', found '}'");
    assert_syntax_error("{\"a\":1 \"b\":2}", 1, 8, "expected ',' or '}', found a string");
    assert_syntax_error("[1}", 1, 3, "expected ',' or ']', found '}'");
    assert_syntax_error("[\"a\tb\"]", 1, 4,
                        "a string has control character 0x09, which must be escaped");
    assert_syntax_error("[1,2", 1, 5, "expected ',' or ']', found the end of the text");
    assert_syntax_error("[\"abc", 1, 6, "expected the rest of a string, found the end of the text");
    assert_syntax_error("tru", 1, 4,
                        "expected the rest of true, false or null, found the end of the text");
    assert_syntax_error("-", 1, 2, "expected the rest of a number, found the end of the text");
    assert_syntax_error("[1.x]", 1, 4, "expected a digit in a number, found 'x'");
    assert_syntax_error("[\"\\ud800\"]", 1, 9,
                        "\\ud800 is half of a surrogate pair without the other half");
    assert_syntax_error("[\"\\udc00\"]", 1, 8,
                        "\\udc00 is half of a surrogate pair without the other half");
}

TEST_THAT(refuses_what_stands_behind_the_value)
{
    assert_syntax_error("{}\n{}", 2, 1, "expected the end of the text after its value, found '{'");
    assert_syntax_error("1 2", 1, 3, "expected the end of the text after its value, found '2'");
}

TEST_THAT(refuses_a_byte_order_mark_by_name)
{
    assert_syntax_error("\xef\xbb\xbf{}", 1, 1,
                        "expected a value, found a byte order mark or no UTF-8 (byte 0xef)");
}

TEST_THAT(stops_for_good_when_the_receiver_fails)
{
    struct record record;
    struct sl_error err = {0};
    record_init(&record, false);
    record.fail_after = 3;
    struct sl_json *json = sl_json_new(&roomy, record_event, &record);
    assert_int_equal(sl_json_feed(json, "{\"a\":\n 1,", 9, &err), -1);
    assert_string_equal(err.message, "refused by the receiver");
    assert_int_equal(err.line, 2);
    assert_int_equal(err.column, 2);
    err = (struct sl_error){0};
    assert_int_equal(sl_json_feed(json, "\"b\":2}", 6, &err), -1);
    assert_int_equal(err.code, SL_ERR_FIELD);
    assert_int_equal(sl_json_finish(json, NULL), -1);
    assert_int_equal(record.events, 3);
    sl_json_free(json);
    record_free(&record);
}

TEST_THAT(begins_anew_after_a_reset)
{
    struct record record;
    struct sl_error err = {0};
    record_init(&record, true);
    struct sl_json *json = sl_json_new(&roomy, record_event, &record);
    assert_int_equal(sl_json_feed(json, "{\"a\":[\"\\u00", 11, &err), 0);
    sl_json_reset(json, record_event, &record);
    record.lines.len = 0;
    assert_int_equal(sl_json_feed(json, "7", 1, &err), 0);
    assert_int_equal(sl_json_finish(json, &err), 0);
    assert_string_equal(record_text(&record), "1:1 number 7\n1:2 end\n");
    assert_int_equal(sl_json_finish(json, &err), 0); /* and does not report the end twice */
    assert_string_equal(record_text(&record), "1:1 number 7\n1:2 end\n");
    sl_json_free(json);
    record_free(&record);
}

/* ---- limits ---- */

TEST_THAT(limits_the_text)
{
    const struct sl_text_limits limits = {.max_bytes = 5, .max_string = 9, .max_depth = 9};
    struct record record;
    record_init(&record, false);
    assert_int_equal(read_cut(&limits, SL_STR("[1,2]"), 5, 1, &record, NULL), 0);
    record_free(&record);
    assert_fails_with(&limits, SL_STR("[1,2] "), SL_ERR_LIMIT, 1, 6,
                      "the text is longer than 5 bytes");
}

TEST_THAT(limits_strings_and_numbers_that_are_reported)
{
    const struct sl_text_limits limits = {.max_bytes = 99, .max_string = 4, .max_depth = 9};
    const char *message = "a key, string or number is longer than 4 bytes";
    struct record record;
    record_init(&record, false);
    assert_int_equal(read_cut(&limits, SL_STR("[\"1234\",1234]"), 6, 1, &record, NULL), 0);
    record_free(&record);
    assert_fails_with(&limits, SL_STR("[\"12345\"]"), SL_ERR_LIMIT, 1, 2, message);
    assert_fails_with(&limits, SL_STR("{\"12345\":1}"), SL_ERR_LIMIT, 1, 2, message);
    assert_fails_with(&limits, SL_STR("[\"123\\n5\"]"), SL_ERR_LIMIT, 1, 2, message);
    assert_fails_with(&limits, SL_STR("[12345]"), SL_ERR_LIMIT, 1, 2, message);
}

TEST_THAT(limits_nesting_also_in_what_it_skips)
{
    const struct sl_text_limits limits = {.max_bytes = 99, .max_string = 9, .max_depth = 3};
    struct record record;
    record_init(&record, false);
    assert_int_equal(read_cut(&limits, SL_STR("[[[1]],{\"a\":{}}]"), 6, 1, &record, NULL), 0);
    record_free(&record);
    assert_fails_with(&limits, SL_STR("[[[[1]]]]"), SL_ERR_LIMIT, 1, 4,
                      "nested deeper than 3 levels");
    assert_fails_with(&limits, SL_STR("{\"skip\":[[{}]]}"), SL_ERR_LIMIT, 1, 11,
                      "nested deeper than 3 levels");
}

TEST_THAT(reads_a_scalar_when_no_nesting_is_allowed)
{
    const struct sl_text_limits limits = {.max_bytes = 99, .max_string = 9, .max_depth = 0};
    struct record record;
    record_init(&record, false);
    assert_int_equal(read_cut(&limits, SL_STR("1"), 1, 1, &record, NULL), 0);
    record_free(&record);
    assert_fails_with(&limits, SL_STR("[]"), SL_ERR_LIMIT, 1, 1, "nested deeper than 0 levels");
}
