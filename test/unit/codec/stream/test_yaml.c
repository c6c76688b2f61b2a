/* YAML as events: the core schema, documents, places, what is refused, what is skipped. */
#include "codec/stream/json.h"
#include "codec/stream/yaml.h"

#include "unit/codec/stream/reads.h"

#include <stdlib.h>

static int read_whole(const struct sl_text_limits *limits, struct sl_str text,
                      struct record *record, struct sl_error *err)
{
    return sl_yaml_parse(text.s, text.len, limits, record_event, record, err);
}

/* ---- what is reported ---- */

TEST_THAT(reports_collections_in_block_and_flow_style)
{
    assert_events("a:\n- 1\n- b: [x, {c: ~}]\nd: {}\n", false,
                  "{\nkey a\n[\nnumber 1\n{\nkey b\n[\nstring x\n{\nkey c\nnull\n}\n]\n}\n]\n"
                  "key d\n{\n}\n}\nend\n");
}

TEST_THAT(resolves_plain_scalars_by_the_core_schema)
{
    static const struct {
        const char *text;
        const char *event;
    } cases[] = {
        {"~", "null"},
        {"null", "null"},
        {"Null", "null"},
        {"NULL", "null"},
        {"nULL", "string nULL"},
        {"true", "bool true"},
        {"True", "bool true"},
        {"TRUE", "bool true"},
        {"false", "bool false"},
        {"False", "bool false"},
        {"FALSE", "bool false"},
        {"yes", "string yes"},
        {"on", "string on"},
        {"No", "string No"},
        {"y", "string y"},
        {"tRue", "string tRue"},
        {"0", "number 0"},
        {"-12", "number -12"},
        {"+12", "number +12"},
        {"007", "number 007"},
        {"0o17", "number 0o17"},
        {"0o18", "string 0o18"},
        {"0o", "string 0o"},
        {"0x1fA", "number 0x1fA"},
        {"0xg", "string 0xg"},
        {"0x", "string 0x"},
        {"1_000", "string 1_000"},
        {"0b1", "string 0b1"},
        {"12:30:45", "string 12:30:45"},
        {"1.5", "number 1.5"},
        {"1.", "number 1."},
        {".5", "number .5"},
        {"-.5e-3", "number -.5e-3"},
        {"1e3", "number 1e3"},
        {"1E+3", "number 1E+3"},
        {"1e", "string 1e"},
        {"1e+", "string 1e+"},
        {".", "string ."},
        {"-", "string -"},
        {"+", "string +"},
        {".inf", "number .inf"},
        {"-.Inf", "number -.Inf"},
        {"+.INF", "number +.INF"},
        {".nan", "number .nan"},
        {"-.nan", "string -.nan"},
        {"inf", "string inf"},
        {"1.5.2", "string 1.5.2"},
        {"v1", "string v1"},
        {"64Gi", "string 64Gi"},
        {"100m", "string 100m"},
        {"2026-11-21", "string 2026-11-21"},
        {"2026-11-21T12:38:09Z", "string 2026-11-21T12:38:09Z"},
        {"<<", "string <<"},
        {"=", "string ="},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[64];
        char expected[64];
        (void)snprintf(text, sizeof(text), "[%s]", cases[i].text);
        (void)snprintf(expected, sizeof(expected), "[\n%s\n]\nend\n", cases[i].event);
        if (strcmp(cases[i].text, "-") != 0) { /* alone it would be an entry */
            assert_events(text, false, expected);
        }
    }
    assert_events("a:\nb: ''\n", false, "{\nkey a\nnull\nkey b\nstring \n}\nend\n");
}

TEST_THAT(keeps_what_is_quoted_or_in_a_block_a_string)
{
    assert_events("- '1'\n- \"true\"\n- |\n  null\n- >-\n  1\n  2\n", false,
                  "[\nstring 1\nstring true\nstring null\n\nstring 1 2\n]\nend\n");
}

TEST_THAT(reports_keys_as_they_are_written)
{
    assert_events("1: a\ntrue: b\n'x y': c\n<<: d\na: 1\na: 2\n", false,
                  "{\nkey 1\nstring a\nkey true\nstring b\nkey x y\nstring c\nkey <<\nstring d\n"
                  "key a\nnumber 1\nkey a\nnumber 2\n}\nend\n");
}

TEST_THAT(ends_each_document)
{
    assert_events("a: 1\n---\n- 2\n...\n---\n3\n", false,
                  "{\nkey a\nnumber 1\n}\nend\n[\nnumber 2\n]\nend\nnumber 3\nend\n");
    assert_events("---\n---\n", false, "null\nend\nnull\nend\n");
}

TEST_THAT(reports_nothing_for_an_empty_text)
{
    struct record record;
    struct sl_error err = {0};
    record_init(&record, false);
    assert_int_equal(sl_yaml_parse(NULL, 0, &roomy, record_event, &record, &err), 0);
    assert_int_equal(sl_yaml_parse("# x\n", 4, &roomy, record_event, &record, &err), 0);
    assert_int_equal(record.events, 0);
    record_free(&record);
}

TEST_THAT(tells_lines_and_columns)
{
    assert_events("a:\n  b: 1\n  c:\n  - x\n", true,
                  "1:1 {\n1:1 key a\n2:3 {\n2:3 key b\n2:6 number 1\n3:3 key c\n4:3 [\n"
                  "4:5 string x\n5:1 ]\n5:1 }\n5:1 }\n5:1 end\n");
}

TEST_THAT(reads_json_as_json_does)
{
    static const char text[] =
        "{\"a\": [1, -2.5e3, true, false, null, \"x\\n\\u00e4\\\"\\/\"],\n \"b\": {}, \"c\": [],\n"
        " \"skip\": {\"d\": [1]}, \"pass\": [{}], \"e\": \"true\"}\n";
    struct record json_record;
    struct sl_error err = {0};
    record_init(&json_record, false);
    struct sl_json *json = sl_json_new(&roomy, record_event, &json_record);
    assert_int_equal(sl_json_feed(json, text, sizeof(text) - 1, &err), 0);
    assert_int_equal(sl_json_finish(json, &err), 0);
    sl_json_free(json);
    assert_events(text, false, record_text(&json_record));
    record_free(&json_record);
}

/* ---- skipping ---- */

TEST_THAT(skips_what_the_receiver_passes_over)
{
    assert_events("skip:\n  a: [1]\n  b: {c: 2}\nd: 1\nskip: x\npass:\n- 1\n- [2]\ne:\n", false,
                  "{\nkey skip\nkey d\nnumber 1\nkey skip\nkey pass\n[\nkey e\nnull\n}\nend\n");
    assert_events("- skip: {}\n- 2\n", false, "[\n{\nkey skip\n}\nnumber 2\n]\nend\n");
    assert_events("skip: []\n---\nx: 1\n", false,
                  "{\nkey skip\n}\nend\n{\nkey x\nnumber 1\n}\nend\n");
}

TEST_THAT(checks_what_it_skips)
{
    const struct sl_text_limits shallow = {.max_bytes = 99, .max_string = 9, .max_depth = 3};
    assert_syntax_error("skip: [1, &a 2]\n", 1, 11, "anchors are not supported");
    assert_syntax_error("skip: [1, !!str 2]\n", 1, 11, "tags are not supported");
    assert_syntax_error("skip: {? [a] : b}\n", 1, 10, "expected a key, found a sequence");
    assert_fails_with(&shallow, SL_STR("skip: [[[]]]\n"), SL_ERR_LIMIT, 1, 9,
                      "nested deeper than 3 levels");
}

/* ---- what is refused ---- */

TEST_THAT(refuses_anchors_aliases_and_tags)
{
    assert_syntax_error("a: &x 1\n", 1, 4, "anchors are not supported");
    assert_syntax_error("a: &x {b: 1}\n", 1, 4, "anchors are not supported");
    assert_syntax_error("a: &x [1]\n", 1, 4, "anchors are not supported");
    assert_syntax_error("a: *x\n", 1, 4, "aliases are not supported");
    assert_syntax_error("a: !!int '1'\n", 1, 4, "tags are not supported");
    assert_syntax_error("a: !x {}\n", 1, 4, "tags are not supported");
    assert_syntax_error("- !!binary aGk=\n", 1, 3, "tags are not supported");
    assert_syntax_error("!!map {}\n", 1, 1, "tags are not supported");
}

TEST_THAT(refuses_keys_that_are_no_scalars)
{
    assert_syntax_error("? [a]\n: b\n", 1, 3, "expected a key, found a sequence");
    assert_syntax_error("? {a: 1}\n: b\n", 1, 3, "expected a key, found a mapping");
}

TEST_THAT(passes_on_what_the_parser_says)
{
    assert_syntax_error("a: 1\n b: 2\n", 2, 3, "mapping values are not allowed in this context");
    assert_syntax_error("a: [1\nb: 2\n", 2, 2,
                        "while parsing a flow sequence: did not find expected ',' or ']'");
    assert_syntax_error("a: \"x\n", 2, 1,
                        "while scanning a quoted scalar: found unexpected end of stream");
    assert_syntax_error("\ta: 1\n", 1, 1,
                        "while scanning for the next token: found character that cannot start any "
                        "token");
}

TEST_THAT(finds_the_place_of_bytes_that_are_no_text)
{
    assert_syntax_error("a: 1\nb: \xff\n", 2, 4, "invalid leading UTF-8 octet");
    assert_fails_with(&roomy, SL_STR("a: 1\n\nb: \x01\n"), SL_ERR_SYNTAX, 3, 4,
                      "control characters are not allowed");
    assert_fails_with(&roomy,
                      SL_STR("\xff\xfe"
                             "a\0"),
                      SL_ERR_SYNTAX, 1, 1, "invalid leading UTF-8 octet");
}

TEST_THAT(gives_the_receivers_failure_a_place)
{
    struct record record;
    struct sl_error err = {0};
    record_init(&record, false);
    record.fail_after = 3;
    assert_int_equal(sl_yaml_parse("a:\n  1\n", 7, &roomy, record_event, &record, &err), -1);
    assert_string_equal(err.message, "refused by the receiver");
    assert_int_equal(err.code, SL_ERR_FIELD);
    assert_int_equal(err.line, 2);
    assert_int_equal(err.column, 3);
    assert_int_equal(record.events, 3);
    record_free(&record);
}

/* ---- limits ---- */

TEST_THAT(limits_text_strings_and_nesting)
{
    const struct sl_text_limits tight = {.max_bytes = 20, .max_string = 4, .max_depth = 2};
    struct record record;
    record_init(&record, false);
    assert_int_equal(
        sl_yaml_parse("abcd: [1234]\nskip: x\n", 20, &tight, record_event, &record, NULL), 0);
    record_free(&record);
    assert_fails_with(&tight, SL_STR("a: 1\nb: 2\nc: 3\nd: 4\ne"), SL_ERR_LIMIT, 0, 0,
                      "the text is longer than 20 bytes");
    assert_fails_with(&tight, SL_STR("a: 12345\n"), SL_ERR_LIMIT, 1, 4,
                      "a key, string or number is longer than 4 bytes");
    assert_fails_with(&tight, SL_STR("abcde: 1\n"), SL_ERR_LIMIT, 1, 1,
                      "a key, string or number is longer than 4 bytes");
    assert_fails_with(&tight, SL_STR("[[[1]]]\n"), SL_ERR_LIMIT, 1, 3,
                      "nested deeper than 2 levels");
}

TEST_THAT(survives_nesting_that_never_ends)
{
    enum { LEVELS = 100000 };
    struct sl_text_limits limits = roomy;
    char *text = malloc(LEVELS);
    struct record record;
    struct sl_error err = {0};
    record_init(&record, false);
    memset(text, '[', LEVELS);
    assert_int_equal(sl_yaml_parse(text, LEVELS, &limits, record_event, &record, &err), -1);
    assert_int_equal(err.code, SL_ERR_LIMIT);
    record_free(&record);
    free(text);
}
