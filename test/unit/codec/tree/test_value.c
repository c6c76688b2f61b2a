/* The tree: what goes in comes out, as JSON and as YAML, and nothing that a terminal obeys. */
#include <stdlib.h>

#include "unit/test.h"
#include <stdio.h>

#include "codec/tree/value.h"

static struct sl_arena arena;

static int begin(void **state)
{
    (void)state;
    sl_arena_init(&arena, 1 << 20);
    return 0;
}

static int end(void **state)
{
    (void)state;
    sl_arena_free(&arena);
    return 0;
}

static struct sl_value *read_text(struct sl_str text)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_value *value = NULL;
    if (sl_value_read(text, &arena, &value, &err) < 0) {
        fail_msg("%.*s: %s", (int)text.len, text.s, err.message);
    }
    return value;
}

typedef void (*print_fn)(const struct sl_value *value, struct sl_buf *out);

/* NUL-terminated, in the arena. */
static const char *printed(const struct sl_value *value, print_fn print)
{
    struct sl_buf out;
    sl_buf_init(&out, 1 << 20);
    print(value, &out);
    assert_int_equal(out.failed, SL_BUF_OK);
    const char *copy = sl_arena_strdup(&arena, out.data, out.len);
    sl_buf_free(&out);
    return copy;
}

static const char *as_json(const char *text)
{
    return printed(read_text(sl_str_of(text)), sl_value_to_json);
}

static const char *as_yaml(const char *text)
{
    return printed(read_text(sl_str_of(text)), sl_value_to_yaml);
}

TEST_PROGRAM(begin, end)

TEST_THAT(json_is_indented_as_kubectl_does)
{
    assert_string_equal(as_json("{\"a\":{\"b\":[1,true,null,\"x\"]},\"c\":{},\"d\":[]}"),
                        "{\n"
                        "    \"a\": {\n"
                        "        \"b\": [\n"
                        "            1,\n"
                        "            true,\n"
                        "            null,\n"
                        "            \"x\"\n"
                        "        ]\n"
                        "    },\n"
                        "    \"c\": {},\n"
                        "    \"d\": []\n"
                        "}\n");
}

TEST_THAT(yaml_stands_as_kubectl_writes_it)
{
    assert_string_equal(
        as_yaml("{\"a\":{\"b\":[{\"x\":1,\"z\":2},2.5]},\"c\":{},\"d\":[],\"e\":null,"
                "\"f\":\"held: 1 pod ahead\",\"g\":\"2026-11-21T12:00:00Z\",\"h\":\"train-1\"}"),
        "a:\n"
        "  b:\n"
        "  - x: 1\n"
        "    z: 2\n"
        "  - 2.5\n"
        "c: {}\n"
        "d: []\n"
        "e: null\n"
        "f: 'held: 1 pod ahead'\n"
        "g: \"2026-11-21T12:00:00Z\"\n"
        "h: train-1\n");
}

/* A string stays one in every reader of YAML, whatever it looks like. */
TEST_THAT(strings_stay_strings_in_yaml)
{
    static const char *const texts[] = {
        "true",   "Yes",     "no",  "ON",   "n",          "null", "~",    "12",   "0x1f", "1e3",
        ".inf",   "-1",      "+1",  "",     " lead",      "-",    "- a",  "a: b", "a #b", "#",
        "{a}",    "[a]",     "*a",  "&a",   "!a",         "%a",   "@a",   "`a",   "|",    ">",
        "'quote", "\\\"two", "? ",  "a\\n", "2026-11-21", "=",    "<<",   "nan",  "None", "trail ",
        "a\\tb",  "---",     "...", "0o7",  "1_000",      "1:30", "off.", "y",    "nul"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char json[128];
        (void)snprintf(json, sizeof(json), "{\"k\":\"%s\",\"%s\":[\"%s\"]}", texts[i], texts[i],
                       texts[i]);
        const struct sl_value *again = read_text(sl_str_of(as_yaml(json)));
        assert_string_equal(printed(again, sl_value_to_json), as_json(json));
    }
}

/* C0, DEL and C1 controls, marks of direction, no width. */
TEST_THAT(nothing_that_a_terminal_obeys_comes_out)
{
    static const char hostile[] =
        "{\"\\u001b[2J\":\"\\u001b]0;x\\u0007 \\u009b1m \\u202e \\u200b \\u007f \\u2028 \\ue000\"}";
    const char *all[] = {as_json(hostile), as_yaml(hostile)};
    for (int i = 0; i < 2; i++) {
        for (const char *p = all[i]; *p != '\0'; p++) {
            unsigned char c = (unsigned char)*p;
            assert_true(c == '\n' || (c >= 0x20 && c != 0x7f));
        }
        assert_null(strstr(all[i], "\xe2\x80\xae"));
        assert_null(strstr(all[i], "\xc2\x9b"));
        assert_null(strstr(all[i], "\xe2\x80\x8b"));
    }
    const struct sl_value *again = read_text(sl_str_of(as_yaml(hostile)));
    assert_string_equal(printed(again, sl_value_to_json), as_json(hostile));
}

TEST_THAT(yaml_becomes_json)
{
    assert_string_equal(as_json("a: 0x1f\nb: .5\nc: +3\nd: 0o17\ne: .inf\nf: 1.\ng: -0.25\nh: 1e3\n"
                                "i: 007\nj: yes\n"),
                        "{\n"
                        "    \"a\": 31,\n"
                        "    \"b\": 0.5,\n"
                        "    \"c\": 3,\n"
                        "    \"d\": 15,\n"
                        "    \"e\": null,\n"
                        "    \"f\": 1,\n"
                        "    \"g\": -0.25,\n"
                        "    \"h\": 1e3,\n"
                        "    \"i\": 7,\n"
                        "    \"j\": \"yes\"\n"
                        "}\n");
}

TEST_THAT(paths_lead_to_values)
{
    const struct sl_value *value =
        read_text(SL_STR("{\"a\":{\"b\":\"x\",\"n\":7,\"r\":1.5},\"s\":\"7\"}"));
    assert_true(sl_str_eq(sl_value_text(value, "a.b"), SL_STR("x")));
    assert_int_equal(sl_value_i64(value, "a.n", -1), 7);
    assert_int_equal(sl_value_i64(value, "a.r", -1), -1);
    assert_int_equal(sl_value_i64(value, "s", -1), -1);
    assert_null(sl_value_at(value, "a.b.c"));
    assert_null(sl_value_at(NULL, "a"));
    assert_int_equal(sl_value_text(value, "a").len, 0);
}

TEST_THAT(pages_are_joined)
{
    struct sl_value *first = read_text(SL_STR("{\"items\":[1],\"m\":{}}"));
    struct sl_value *second = read_text(SL_STR("{\"items\":[2,3],\"m\":{}}"));
    sl_value_join(first, second, "items");
    sl_value_join(first, second, "none");
    sl_value_join(first, first, "items");
    assert_string_equal(printed(first, sl_value_to_json),
                        "{\n    \"items\": [\n        1,\n        2,\n        3\n    ],\n"
                        "    \"m\": {}\n}\n");
}

static void assert_refused(struct sl_str text, struct sl_arena *in, enum sl_error_code code)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_value *value = NULL;
    assert_int_equal(sl_value_read(text, in, &value, &err), -1);
    assert_int_equal(err.code, code);
}

TEST_THAT(what_is_no_text_is_refused)
{
    char deep[2 * SL_VALUE_DEPTH_MAX + 2];
    struct sl_arena small;
    memset(deep, '[', sizeof(deep));
    sl_arena_init(&small, 64);
    assert_refused(SL_STR(""), &arena, SL_ERR_SYNTAX);
    assert_refused(SL_STR("{\"a\":1"), &arena, SL_ERR_SYNTAX);
    assert_refused(SL_STR("{\"a\":1}{}"), &arena, SL_ERR_SYNTAX);
    assert_refused(SL_STR("a: 1\n---\nb: 2\n"), &arena, SL_ERR_SYNTAX);
    assert_refused(SL_STR("a: &x 1\nb: *x\n"), &arena, SL_ERR_SYNTAX);
    assert_refused(SL_STR("{\"a\":\"\xff\"}"), &arena, SL_ERR_SYNTAX);
    assert_refused((struct sl_str){deep, sizeof(deep)}, &arena, SL_ERR_LIMIT);
    assert_refused(SL_STR("[1,2,3,4,5,6,7,8,9]"), &small, SL_ERR_LIMIT);
    sl_arena_free(&small);
}

TEST_THAT(a_small_buffer_fails)
{
    const struct sl_value *value = read_text(SL_STR("{\"a\":\"long enough to fail\"}"));
    struct sl_buf out;
    sl_buf_init(&out, 8);
    sl_value_to_yaml(value, &out);
    assert_int_equal(out.failed, SL_BUF_FULL);
    sl_buf_free(&out);
}
