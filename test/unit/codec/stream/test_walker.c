/* The table-driven walker, on tables made for the test and real JSON. */
#include "codec/stream/walker.h"

#include "codec/stream/json.h"
#include "unit/codec/describe.h"

#include "unit/test.h"

struct item {
    struct sl_str name;
    int64_t size;
    struct item *next;
};

struct thing {
    struct sl_str name;
    int64_t big;
    int32_t small;
    bool on;
    struct sl_pair *labels;
    struct sl_pair *amounts;
    struct item *items;
    struct {
        struct sl_str name;
        int64_t size;
    } inner;
};

struct fixture {
    struct sl_arena arena;
    struct sl_walker walker;
    struct thing thing;
    struct sl_buf log; /* what hooks saw */
    struct sl_error err;
};

static struct sl_buf *log_of(struct sl_walker *walker)
{
    struct fixture *f = walker->context;
    return &f->log;
}

static int log_text(struct sl_walker *walker, void *target, const struct sl_event *event,
                    struct sl_error *err)
{
    (void)target;
    (void)err;
    sl_buf_puts(log_of(walker), "text ");
    sl_buf_append(log_of(walker), event->text.s, event->text.len);
    sl_buf_putc(log_of(walker), '\n');
    return SL_EVENT_GO;
}

static int log_begin(struct sl_walker *walker, void *target, const struct sl_event *event,
                     struct sl_error *err)
{
    (void)target;
    (void)event;
    (void)err;
    char path[64];
    sl_walk_path(walker, path, sizeof(path));
    sl_buf_printf(log_of(walker), "begin %s\n", path);
    return SL_EVENT_GO;
}

static int log_end(struct sl_walker *walker, void *target, const struct sl_event *event,
                   struct sl_error *err)
{
    (void)target;
    (void)event;
    (void)err;
    char path[64];
    sl_walk_path(walker, path, sizeof(path));
    sl_buf_printf(log_of(walker), "end %s\n", path);
    return SL_EVENT_GO;
}

static int pass_over(struct sl_walker *walker, void *target, const struct sl_event *event,
                     struct sl_error *err)
{
    (void)walker;
    (void)target;
    (void)event;
    (void)err;
    return SL_EVENT_SKIP;
}

static enum sl_walk_keep starts_with_keep(struct sl_str key)
{
    return !sl_str_starts(key, SL_STR("keep"))   ? SL_WALK_PASS
           : sl_str_eq(key, SL_STR("keep/must")) ? SL_WALK_KEEP_ALWAYS
                                                 : SL_WALK_KEEP;
}

static const struct sl_field item_fields[] = {
    {SL_FIELD_NAME("name"), .kind = SL_FIELD_STRING, .offset = offsetof(struct item, name)},
    {SL_FIELD_NAME("size"), .kind = SL_FIELD_I64, .offset = offsetof(struct item, size)},
};
static const struct sl_table item_table = {SL_TABLE_FIELDS(item_fields)};
static const struct sl_table logged_table = {SL_TABLE_FIELDS(item_fields), .begin = log_begin,
                                             .end = log_end};
static const struct sl_table free_table = {SL_TABLE_FIELDS(item_fields), .any_case = true};

static const struct sl_field more_fields[] = {
    {SL_FIELD_NAME("more"), .kind = SL_FIELD_TEXT, .value = log_text},
};
static const struct sl_table more_table = {SL_TABLE_FIELDS(more_fields)};

static const struct sl_field thing_fields[] = {
    {SL_FIELD_NAME("name"), .kind = SL_FIELD_STRING, .offset = offsetof(struct thing, name)},
    {SL_FIELD_NAME("big"), .kind = SL_FIELD_I64, .offset = offsetof(struct thing, big)},
    {SL_FIELD_NAME("small"), .kind = SL_FIELD_I32, .offset = offsetof(struct thing, small)},
    {SL_FIELD_NAME("on"), .kind = SL_FIELD_BOOL, .offset = offsetof(struct thing, on)},
    {SL_FIELD_NAME("text"), .kind = SL_FIELD_TEXT, .value = log_text},
    {SL_FIELD_NAME("scalar"), .kind = SL_FIELD_SCALAR, .value = log_text},
    {SL_FIELD_NAME("texts"), .kind = SL_FIELD_TEXTS, .value = log_text},
    {SL_FIELD_NAME("labels"), .kind = SL_FIELD_STRINGS, .offset = offsetof(struct thing, labels),
     .keep = starts_with_keep},
    {SL_FIELD_NAME("amounts"), .kind = SL_FIELD_QUANTITIES,
     .offset = offsetof(struct thing, amounts)},
    {SL_FIELD_NAME("items"), .kind = SL_FIELD_OBJECTS, .table = &item_table,
     .offset = offsetof(struct thing, items), .size = sizeof(struct item),
     .next = offsetof(struct item, next), .max = 3},
    {SL_FIELD_NAME("inner"), .kind = SL_FIELD_OBJECT, .table = &item_table,
     .offset = offsetof(struct thing, inner)},
    {SL_FIELD_NAME("free"), .kind = SL_FIELD_OBJECT, .table = &free_table,
     .offset = offsetof(struct thing, inner)},
    {SL_FIELD_NAME("visited"), .kind = SL_FIELD_OBJECTS, .table = &logged_table,
     .offset = offsetof(struct thing, inner)},
    {SL_FIELD_NAME("byName"), .kind = SL_FIELD_OBJECT_MAP, .table = &logged_table,
     .offset = offsetof(struct thing, inner), .value = log_text},
    {SL_FIELD_NAME("passed"), .kind = SL_FIELD_OBJECT, .table = &logged_table, .open = pass_over},
};
static const struct sl_table thing_table = {SL_TABLE_FIELDS(thing_fields), .also = &more_table};
static const struct sl_field root = {SL_FIELD_NAME(""), .kind = SL_FIELD_OBJECT,
                                     .table = &thing_table};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    if (f == NULL) {
        return -1;
    }
    sl_arena_init(&f->arena, 1 << 20);
    sl_buf_init(&f->log, 1 << 16);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    sl_arena_free(&f->arena);
    sl_buf_free(&f->log);
    free(f);
    return 0;
}

/* Walks the text in pieces of chunk bytes; the fixture holds what came out. */
static int walk_pieces(struct fixture *f, const char *text, size_t chunk, bool defer)
{
    const struct sl_text_limits limits = {
        .max_bytes = 1 << 20, .max_string = 4096, .max_depth = 64};
    size_t len = strlen(text);
    sl_arena_reset(&f->arena);
    sl_buf_free(&f->log);
    f->thing = (struct thing){0};
    f->err = (struct sl_error){0};
    sl_walk_init(&f->walker, &root, &f->thing, &f->arena, f);
    f->walker.defer = defer;
    struct sl_json *json = sl_json_new(&limits, sl_walk_receive, &f->walker);
    assert_non_null(json);
    int result = 0;
    for (size_t at = 0; at < len && result == 0; at += chunk) {
        size_t n = len - at < chunk ? len - at : chunk;
        result = sl_json_feed(json, text + at, n, &f->err);
    }
    if (result == 0) {
        result = sl_json_finish(json, &f->err);
    }
    sl_json_free(json);
    return result;
}

static int walk(struct fixture *f, const char *text)
{
    return walk_pieces(f, text, SIZE_MAX / 2, false);
}

static void assert_log(struct fixture *f, const char *expected)
{
    sl_buf_putc(&f->log, '\0');
    assert_string_equal(f->log.data, expected);
}

/* The walk fails with that error: "WrongType items[1].name: expected ... (1:20)". */
static void assert_fails(struct fixture *f, const char *text, const char *expected)
{
    struct sl_buf out;
    assert_int_equal(walk(f, text), -1);
    sl_buf_init(&out, 4096);
    describe_error(&out, &f->err);
    out.data[out.len - 1] = '\0';
    assert_string_equal(out.data, expected);
    sl_buf_free(&out);
}

TEST_FIXTURE(setup, teardown)

TEST_ON(struct fixture *f, scalars_go_where_the_table_says)
{
    assert_int_equal(walk(f, "{\"name\":\"a\\u00e9\",\"big\":-9223372036854775808,\"small\":-7,"
                             "\"on\":true,\"inner\":{\"size\":5,\"name\":\"in\"}}"),
                     0);
    assert_string_equal(f->thing.name.s, "a\xc3\xa9");
    assert_int_equal(f->thing.name.len, 3);
    assert_true(f->thing.big == INT64_MIN);
    assert_int_equal(f->thing.small, -7);
    assert_true(f->thing.on);
    assert_string_equal(f->thing.inner.name.s, "in");
    assert_int_equal(f->thing.inner.size, 5);
}

TEST_ON(struct fixture *f, any_cut_of_the_text_gives_the_same)
{
    const char *text = "{\"x\":[{\"y\":\"\\u00e9\"}],\"items\":[{\"name\":\"first\",\"size\":12},"
                       "{\"size\":34}],\"amounts\":{\"a\":12,\"b\":\"3Gi\"},\"text\":\"hello\"}";
    for (size_t chunk = 1; chunk < strlen(text); chunk++) {
        assert_int_equal(walk_pieces(f, text, chunk, false), 0);
        assert_string_equal(f->thing.items->name.s, "first");
        assert_int_equal(f->thing.items->size, 12);
        assert_int_equal(f->thing.items->next->size, 34);
        assert_null(f->thing.items->next->next);
        assert_string_equal(f->thing.amounts->value.s, "12");
        assert_string_equal(f->thing.amounts->next->value.s, "3Gi");
        assert_log(f, "text hello\n");
    }
}

TEST_ON(struct fixture *f, what_the_table_lacks_is_passed_over_whatever_it_is)
{
    assert_int_equal(walk(f, "{\"a\":{\"name\":[1,{\"big\":\"x\"}]},\"b\":[[],{}],\"c\":null,"
                             "\"d\":1e400,\"Name\":5,\"nam\":5,\"names\":5,\"\":5,\"a\":1,"
                             "\"name\":\"n\",\"e\":\"\"}"),
                     0);
    assert_string_equal(f->thing.name.s, "n");
    assert_int_equal(f->thing.big, 0);
}

TEST_ON(struct fixture *f, null_is_as_good_as_absent)
{
    assert_int_equal(walk(f, "{\"name\":null,\"big\":null,\"on\":null,\"text\":null,\"texts\":null,"
                             "\"labels\":null,\"items\":null,\"inner\":null,\"byName\":null,"
                             "\"amounts\":{\"a\":null,\"b\":\"1\"}}"),
                     0);
    assert_null(f->thing.name.s);
    assert_null(f->thing.items);
    assert_string_equal(f->thing.amounts->key.s, "b");
    assert_null(f->thing.amounts->next);
    assert_log(f, "");
}

TEST_ON(struct fixture *f, a_wrong_type_says_where_what_was_found_and_what_was_expected)
{
    static const struct {
        const char *text;
        const char *error;
    } cases[] = {
        {"[]", "WrongType expected an object, found an array (1:1)"},
        {"null", "WrongType expected an object, found null (1:1)"},
        {"3", "WrongType expected an object, found a number (1:1)"},
        {"{\"name\":1}", "WrongType name: expected a string, found a number (1:9)"},
        {"{\"big\":\"1\"}", "WrongType big: expected an integer, found a string (1:8)"},
        {"{\"small\":true}", "WrongType small: expected an integer, found a boolean (1:10)"},
        {"{\"big\":1.5}", "WrongType big: expected an integer, found 1.5 (1:8)"},
        {"{\"big\":1e3}", "WrongType big: expected an integer, found 1e3 (1:8)"},
        {"{\"on\":0}", "WrongType on: expected a boolean, found a number (1:7)"},
        {"{\"text\":{}}", "WrongType text: expected a string, found an object (1:9)"},
        {"{\"scalar\":[]}",
         "WrongType scalar: expected a string or a number, found an array (1:11)"},
        {"{\"texts\":\"a\"}",
         "WrongType texts: expected an array of strings, found a string (1:10)"},
        {"{\"texts\":[\"a\",1]}", "WrongType texts[1]: expected a string, found a number (1:15)"},
        {"{\"texts\":[null]}", "WrongType texts[0]: expected a string, found null (1:11)"},
        {"{\"labels\":[]}",
         "WrongType labels: expected an object of strings, found an array (1:11)"},
        {"{\"labels\":{\"keep/a\":1}}",
         "WrongType labels[keep/a]: expected a string, found a number (1:21)"},
        {"{\"amounts\":{\"a\":1,\"b\":true}}", "WrongType amounts[b]: expected a quantity (a "
                                               "string or a number), found a boolean (1:23)"},
        {"{\"items\":{}}", "WrongType items: expected an array of objects, found an object (1:10)"},
        {"{\"items\":[{},\n {\"name\":[]}]}",
         "WrongType items[1].name: expected a string, found an array (2:10)"},
        {"{\"items\":[{},null]}", "WrongType items[1]: expected an object, found null (1:14)"},
        {"{\"inner\":{\"size\":\"x\"}}",
         "WrongType inner.size: expected an integer, found a string (1:18)"},
        {"{\"byName\":{\"n1\":{},\"n2\":[]}}",
         "WrongType byName[n2]: expected an object, found an array (1:25)"},
        {"{\"byName\":{\"n1\":null}}",
         "WrongType byName[n1]: expected an object, found null (1:17)"},
        {"{\"byName\":{\"n1\":{\"size\":false}}}",
         "WrongType byName[n1].size: expected an integer, found a boolean (1:25)"},
        {"{\"more\":1}", "WrongType more: expected a string, found a number (1:9)"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_fails(f, cases[i].text, cases[i].error);
    }
}

TEST_ON(struct fixture *f, integers_are_checked_against_their_width)
{
    assert_int_equal(walk(f, "{\"small\":2147483647,\"big\":9223372036854775807}"), 0);
    assert_int_equal(f->thing.small, INT32_MAX);
    assert_true(f->thing.big == INT64_MAX);
    assert_fails(f, "{\"small\":2147483648}", "BadField small: 2147483648 is out of range (1:10)");
    assert_fails(f, "{\"small\":-2147483649}",
                 "BadField small: -2147483649 is out of range (1:10)");
    assert_fails(f, "{\"big\":9223372036854775808}",
                 "BadField big: 9223372036854775808 is out of range (1:8)");
}

TEST_ON(struct fixture *f, a_known_key_given_twice_is_an_error)
{
    assert_fails(f, "{\"name\":\"a\",\"big\":1,\"name\":\"a\"}",
                 "BadField name: is given twice (1:21)");
    assert_fails(f, "{\"name\":null,\"name\":\"a\"}", "BadField name: is given twice (1:14)");
    assert_fails(f, "{\"items\":[{\"size\":1,\"size\":2}]}",
                 "BadField items[0].size: is given twice (1:21)");
    assert_fails(f, "{\"more\":\"1\",\"more\":\"2\"}", "BadField more: is given twice (1:13)");
    /* the same key in another object is another key */
    assert_int_equal(walk(f, "{\"items\":[{\"size\":1},{\"size\":2}],\"name\":\"a\"}"), 0);
}

TEST_ON(struct fixture *f, keys_match_in_any_case_where_the_table_allows_it)
{
    assert_int_equal(walk(f, "{\"free\":{\"NAME\":\"x\",\"sIzE\":3}}"), 0);
    assert_string_equal(f->thing.inner.name.s, "x");
    assert_int_equal(f->thing.inner.size, 3);
    assert_fails(f, "{\"free\":{\"NAME\":\"x\",\"name\":\"y\"}}",
                 "BadField free.name: is given twice (1:21)");
    /* letters only: '@' and '`' differ in the same bit as 'A' and 'a' */
    assert_int_equal(walk(f, "{\"free\":{\"nam\\u0005\":\"x\",\"NA-E\":\"y\",\"name\":\"z\"}}"), 0);
    assert_string_equal(f->thing.inner.name.s, "z");
}

TEST_ON(struct fixture *f, a_map_keeps_what_matters_in_order)
{
    assert_int_equal(walk(f, "{\"labels\":{\"x\":1,\"keep/b\":\"1\",\"x\":[{}],\"keep\":\"\","
                             "\"kee\":\"no\",\"keep/a\":\"2\"}}"),
                     0);
    const struct sl_pair *pair = f->thing.labels;
    assert_string_equal(pair->key.s, "keep/b");
    assert_string_equal(pair->value.s, "1");
    pair = pair->next;
    assert_string_equal(pair->key.s, "keep");
    assert_string_equal(pair->value.s, "");
    pair = pair->next;
    assert_string_equal(pair->key.s, "keep/a");
    assert_null(pair->next);
    assert_fails(f, "{\"labels\":{\"keep\":\"1\",\"other\":\"2\",\"keep\":\"1\"}}",
                 "BadField labels[keep]: is given twice (1:35)");
}

TEST_ON(struct fixture *f, a_map_has_a_ceiling_of_entries)
{
    struct sl_buf text;
    sl_buf_init(&text, 1 << 16);
    sl_buf_puts(&text, "{\"labels\":{\"keep0\":\"\"");
    for (int i = 1; i < SL_WALK_MAP_MAX; i++) {
        sl_buf_printf(&text, ",\"keep%d\":\"\",\"not%d\":\"\"", i, i);
    }
    size_t at_ceiling = text.len;
    sl_buf_puts(&text, "}}");
    sl_buf_putc(&text, '\0');
    assert_int_equal(walk(f, text.data), 0);
    text.len = at_ceiling;
    sl_buf_puts(&text, ",\"keep-more\":\"\"}}");
    sl_buf_putc(&text, '\0');
    assert_int_equal(walk(f, text.data), -1);
    assert_int_equal(f->err.code, SL_ERR_LIMIT);
    assert_string_equal(f->err.field, "labels[keep-more]");
    sl_buf_free(&text);
}

TEST_ON(struct fixture *f, a_list_has_a_ceiling_of_elements)
{
    assert_int_equal(walk(f, "{\"items\":[{},{},{}]}"), 0);
    assert_fails(f, "{\"items\":[{},{},{},{}]}",
                 "LimitExceeded items[3]: more than 3 of them (1:20)");
}

TEST_ON(struct fixture *f, the_arenas_maximum_is_an_error_of_the_field)
{
    f->arena.max = 80;
    assert_fails(f, "{\"amounts\":{\"a\":\"1\",\"b\":\"2\"}}",
                 "LimitExceeded amounts[b]: more than 80 bytes of it would have to be kept (1:21)");
    assert_int_equal(walk(f, "{\"name\":\"still works\"}"), 0);
}

TEST_ON(struct fixture *f, a_nul_character_in_kept_text_is_refused)
{
    assert_fails(f, "{\"name\":\"a\\u0000b\"}", "BadField name: has a NUL character in it (1:9)");
    assert_fails(f, "{\"amounts\":{\"a\\u0000b\":\"1\"}}",
                 "BadField amounts[a]: has a NUL character in it (1:13)");
}

TEST_ON(struct fixture *f, hooks_see_elements_with_their_place)
{
    assert_int_equal(walk(f, "{\"visited\":[{},{\"size\":1}],\"byName\":{\"a\":{},\"b\":{\"x\":1}},"
                             "\"passed\":{\"size\":\"wrong\"},\"texts\":[\"t\"],\"scalar\":1.5}"),
                     0);
    assert_log(f, "begin visited[0]\nend visited[0]\nbegin visited[1]\nend visited[1]\n"
                  "text a\nbegin byName[a]\nend byName[a]\ntext b\nbegin byName[b]\nend byName[b]\n"
                  "text t\ntext 1.5\n");
    assert_int_equal(f->thing.inner.size, 1);
}

TEST_ON(struct fixture *f, long_keys_are_cut_in_an_errors_path_only)
{
    char text[400];
    char key[301];
    memset(key, 'k', sizeof(key) - 1);
    key[sizeof(key) - 1] = '\0';
    (void)snprintf(text, sizeof(text), "{\"amounts\":{\"%s\":1}}", key);
    assert_int_equal(walk(f, text), 0);
    assert_string_equal(f->thing.amounts->key.s, key);
    (void)snprintf(text, sizeof(text), "{\"amounts\":{\"%s\":[]}}", key);
    assert_int_equal(walk(f, text), -1);
    assert_int_equal(strlen(f->err.field), strlen("amounts[]") + SL_WALK_KEY_MAX - 1);
}

TEST_ON(struct fixture *f, deferred_faults_do_not_stop_the_walk_and_the_first_is_kept)
{
    assert_int_equal(walk_pieces(f,
                                 "{\"big\":\"x\",\"items\":{\"size\":[]},\"labels\":{\"keep\":{}},"
                                 "\"texts\":[1,\"t\",[]],\"name\":\"a\",\"name\":[1],\"on\":true}",
                                 SIZE_MAX / 2, true),
                     0);
    assert_string_equal(f->walker.deferred.field, "big");
    assert_int_equal(f->walker.deferred.code, SL_ERR_TYPE);
    assert_int_equal(f->walker.deferred.column, 8);
    assert_string_equal(f->thing.name.s, "a");
    assert_null(f->thing.labels);
    assert_true(f->thing.on);
    assert_log(f, "text t\n");
}

TEST_ON(struct fixture *f, ceilings_are_deferred_too)
{
    assert_int_equal(walk_pieces(f, "{\"items\":[{},{},{},{}],\"name\":\"a\"}", SIZE_MAX / 2, true),
                     0);
    assert_int_equal(f->walker.deferred.code, SL_ERR_LIMIT);
    assert_string_equal(f->thing.name.s, "a");
}

/* Nobody may push out what matters by what stands before it. */
TEST_ON(struct fixture *f, what_must_be_kept_is_kept_behind_any_number_of_entries)
{
    struct sl_buf text;
    size_t n = 0;
    sl_buf_init(&text, 1 << 20);
    sl_buf_puts(&text, "{\"labels\":{");
    for (int i = 0; i < SL_WALK_MAP_MAX + 50; i++) {
        sl_buf_printf(&text, "\"keep/%d\":\"v\",", i);
    }
    sl_buf_puts(&text, "\"keep/must\":\"last\"}}");
    sl_buf_putc(&text, '\0');
    assert_int_equal(walk_pieces(f, text.data, SIZE_MAX / 2, true), 0);
    assert_int_equal(f->walker.deferred.code, SL_ERR_LIMIT);
    for (const struct sl_pair *pair = f->thing.labels; pair != NULL; pair = pair->next) {
        n++;
    }
    assert_int_equal(n, SL_WALK_MAP_MAX + 1);
    assert_string_equal(sl_pair_find(f->thing.labels, SL_STR("keep/must"))->value.s, "last");
    sl_buf_free(&text);
}
