/* Pages of lists and watch streams, cut anywhere, with what a server should not send. */
#include "codec/watch.h"
#include "unit/codec/describe.h"

#include "unit/test.h"

static const struct sl_text_limits limits = {
    .max_bytes = 64 << 20, .max_string = 1 << 20, .max_depth = 64};

struct story {
    struct sl_buf out;
    size_t stop_after; /* items; 0: never */
    size_t items;
};

static int tell(void *context, const struct sl_watch_item *item, struct sl_error *err)
{
    static const char *const names[] = {"+ ", "~ ", "- ", "bookmark", "error"};
    struct story *story = context;
    struct sl_buf *out = &story->out;
    story->items++;
    if (story->items == story->stop_after) {
        return sl_error_set(err, SL_ERR_CONFLICT, "enough");
    }
    if (item->problem != NULL) {
        assert_null(item->object);
        assert_null(item->status);
        sl_buf_puts(out, "skipped");
        describe_text(out, "namespace", item->namespace);
        describe_text(out, "name", item->name);
        describe_text(out, "rv", item->resource_version);
        sl_buf_printf(out, " %s: %s\n", item->problem->field, item->problem->message);
        return 0;
    }
    sl_buf_puts(out, names[item->event]);
    if (item->event == SL_WATCH_ERROR) {
        describe_number(out, "code", item->status->code);
        describe_text(out, "reason", item->status->reason);
        describe_text(out, "message", item->status->message);
        sl_buf_putc(out, '\n');
    } else if (item->event == SL_WATCH_BOOKMARK) {
        describe_text(out, "rv", item->resource_version);
        sl_buf_putc(out, '\n');
    } else {
        return describe_object(out, item->object, err);
    }
    return 0;
}

/* The whole story: a first piece of cut bytes, then pieces of step. */
static void read_text(struct sl_watch *watch, struct story *story, enum sl_watch_form form,
                      const char *text, size_t len, size_t cut, size_t step)
{
    struct sl_error err = {0};
    struct sl_list_meta meta = {{NULL, 0}, {NULL, 0}, 0};
    int rc = 0;
    story->out.len = 0;
    story->items = 0;
    sl_watch_reset(watch);
    for (size_t at = 0; at < len && rc == 0;) {
        size_t n = at == 0 && cut > 0 ? cut : step;
        n = n < len - at ? n : len - at;
        char *piece = malloc(n); /* of its own, so that a read beyond its end is seen */
        assert_non_null(piece);
        memcpy(piece, text + at, n);
        rc = sl_watch_feed(watch, piece, n, &err);
        free(piece);
        at += n;
    }
    if (rc == 0) {
        rc = sl_watch_finish(watch, &meta, &err);
    }
    if (rc != 0) {
        struct sl_error again = {0};
        err.line = 0; /* finish has no place to point at */
        err.column = 0;
        describe_error(&story->out, &err);
        assert_int_equal(sl_watch_feed(watch, "{}", 2, &again), -1);
        assert_string_equal(again.message, err.message);
    } else if (form == SL_WATCH_LIST) {
        sl_buf_puts(&story->out, "end");
        describe_text(&story->out, "rv", meta.resource_version);
        describe_text(&story->out, "next", meta.next);
        describe_number(&story->out, "remaining", meta.remaining);
        sl_buf_putc(&story->out, '\n');
    }
    sl_buf_putc(&story->out, '\0');
}

static void assert_story(enum sl_watch_form form, enum sl_object_kind kind, const char *text,
                         const char *expected)
{
    size_t len = strlen(text);
    struct story story = {.stop_after = 0};
    sl_buf_init(&story.out, 1 << 20);
    struct sl_watch *watch = sl_watch_new(form, kind, &limits, tell, &story);
    assert_non_null(watch);
    for (size_t cut = 0; cut <= len; cut++) {
        read_text(watch, &story, form, text, len, cut, cut == 0 ? 1 : len);
        assert_string_equal(story.out.data, expected);
    }
    sl_watch_free(watch);
    sl_buf_free(&story.out);
}

static void assert_list(const char *text, const char *expected)
{
    assert_story(SL_WATCH_LIST, SL_OBJECT_POD, text, expected);
}

static void assert_watch(const char *text, const char *expected)
{
    assert_story(SL_WATCH_STREAM, SL_OBJECT_POD, text, expected);
}

/* ---- lists ---- */

TEST_THAT(a_page_tells_each_object_and_where_it_goes_on)
{
    assert_list("{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":"
                "\"77\",\"continue\":\"abc\",\"remainingItemCount\":12},\"items\":["
                "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"resourceVersion\":\"5\","
                "\"managedFields\":[{\"fieldsV1\":{\"f:x\":{}}}]},\"spec\":{\"nodeName\":\"m\"}},"
                "{\"metadata\":{\"name\":\"b\"},\"status\":{\"phase\":\"Running\"}}]}\n",
                "+ Pod namespace=n name=a rv=5 node=m\n+ Pod name=b phase=Running\n"
                "end rv=77 next=abc remaining=12\n");
    assert_story(
        SL_WATCH_LIST, SL_OBJECT_NODE,
        "{\"items\":[{\"metadata\":{\"name\":\"a\"},\"status\":{\"allocatable\":"
        "{\"nvidia.com/gpu\":\"8\",\"cpu\":\"4\"}}}],\"kind\":\"NodeList\","
        "\"metadata\":{\"resourceVersion\":\"7\"}}",
        "+ Node name=a\n  allocatable nvidia.com/gpu =8\n  allocatable cpu =4\nend rv=7\n");
}

TEST_THAT(a_page_may_be_empty)
{
    assert_list("{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}",
                "end rv=1\n");
    assert_list("{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":null}",
                "end rv=1\n");
}

TEST_THAT(what_is_no_list_is_never_an_empty_one)
{
    assert_list("{}", "BadField List.kind: is missing (0:0)\n");
    assert_list("{\"kind\":\"PodList\",\"items\":[]}",
                "BadField List.metadata.resourceVersion: is missing (0:0)\n");
    assert_list("{\"kind\":\"NodeList\"}",
                "BadField List.kind: expected PodList, found \"NodeList\" (0:0)\n");
    assert_list("{\"kind\":\"Status\"}",
                "BadField List.kind: expected PodList, found \"Status\" (0:0)\n");
    assert_list("", "Syntax expected a value, found the end of the text (0:0)\n");
    assert_list("{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[",
                "Syntax expected a value or ']', found the end of the text (0:0)\n");
}

TEST_THAT(a_bad_object_of_a_list_is_passed_over)
{
    assert_list("{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":["
                "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"nodeName\":[{\"x\":1}]}},"
                "{\"metadata\":{\"namespace\":\"q\"}},"
                "{\"metadata\":{\"name\":\"c\"},\"metadata\":{\"name\":\"d\"}},"
                "{\"metadata\":{\"name\":\"b\"}}]}",
                "skipped name=a Pod.spec.nodeName: expected a string, found an array\n"
                "skipped namespace=q Pod.metadata.name: is missing\n"
                "skipped name=c Pod.metadata: is given twice\n"
                "+ Pod name=b\nend rv=1\n");
}

/* ---- watches ---- */

TEST_THAT(a_watch_tells_each_event)
{
    assert_watch("{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\","
                 "\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"}}}\n"
                 "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\","
                 "\"resourceVersion\":\"2\"},\"spec\":{\"nodeName\":\"m\"}}}\n"
                 "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":{"
                 "\"resourceVersion\":\"9\",\"creationTimestamp\":null},\"spec\":{\"containers\":"
                 "null},\"status\":{}}}\n"
                 "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n",
                 "+ Pod name=a rv=1\n~ Pod name=a rv=2 node=m\nbookmark rv=9\n- Pod name=a\n");
    assert_watch("", "");
}

TEST_THAT(the_type_may_come_after_the_object)
{
    assert_watch("{\"object\":{\"metadata\":{\"name\":\"a\"}},\"type\":\"DELETED\"}"
                 "{\"object\":{\"status\":\"Failure\",\"code\":410,\"reason\":\"Expired\","
                 "\"kind\":\"Status\",\"message\":\"too old\"},\"type\":\"ERROR\"}",
                 "- Pod name=a\nerror code=410 reason=Expired message=too old\n");
}

TEST_THAT(an_error_carries_its_status)
{
    assert_watch("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\","
                 "\"metadata\":{},\"status\":\"Failure\",\"message\":\"too old resource version: "
                 "1 (2)\",\"reason\":\"Expired\",\"details\":{\"x\":[1]},\"code\":410}}\n",
                 "error code=410 reason=Expired message=too old resource version: 1 (2)\n");
    assert_watch("{\"type\":\"ERROR\",\"object\":{}}", "error\n");
}

TEST_THAT(a_bad_event_is_passed_over)
{
    assert_watch(
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"3\"},"
        "\"spec\":{\"containers\":{\"name\":1}}}}\n"
        "{\"type\":\"GROWN\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n"
        "{\"type\":\"ADDED\"}\n"
        "{\"object\":{\"metadata\":{\"name\":\"a\"}}}\n"
        "{\"type\":\"ADDED\",\"object\":null}\n"
        "{\"type\":7,\"object\":{\"metadata\":{\"name\":\"a\"}}}\n"
        "{\"type\":\"ADDED\",\"object\":[{\"name\":\"a\"}]}\n"
        "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Table\",\"metadata\":{\"name\":\"a\"}}}\n"
        "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n"
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"b\"}}}\n",
        "skipped name=a rv=3 Pod.spec.containers: expected an array of objects, found an object\n"
        "skipped Event.type: \"GROWN\" is no event\n"
        "skipped Event.object: is missing\n"
        "skipped Event.type: is missing\n"
        "skipped Event.object: is missing\n"
        "skipped Event.type: expected a string, found a number\n"
        "skipped Event.object: expected an object, found an array\n"
        "skipped name=a Pod.kind: is another kind\n"
        "skipped name=a Pod.metadata.resourceVersion: is missing\n"
        "+ Pod name=b\n");
}

TEST_THAT(a_deletion_needs_no_more_than_a_name)
{
    assert_watch(
        "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"a\"},\"spec\":5}}\n"
        "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":6},\"spec\":{}}}\n",
        "- Pod name=a\n  problem Pod.spec expected an object, found a number: passed over\n"
        "skipped Pod.metadata.name: expected a string, found a number\n");
}

/* The API server ends each event with a line feed. */
TEST_THAT(what_is_not_json_costs_its_own_line)
{
    assert_watch("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"b\"}}}\n<html>",
                 "+ Pod name=b\nskipped : expected a value, found '<'\n");
    assert_watch("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"b\",}}}\n"
                 "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"c\"}}}\n"
                 "<html>\n<body>\n\n"
                 "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"d\"}}}\n"
                 "[]\n"
                 "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"managedFields\":[[{\"x\":\"\n"
                 "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"e\"}}}\n",
                 "skipped : expected a key in double quotes, found '}'\n"
                 "+ Pod name=c\n"
                 "skipped : expected a value, found '<'\n"
                 "+ Pod name=d\n"
                 "skipped : expected an object, found an array\n"
                 "skipped : an event is cut off\n"
                 "+ Pod name=e\n");
    assert_watch("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"b\"",
                 "Syntax expected ',' or '}', found the end of the text (0:0)\n");
}

/* ---- what users write ---- */

/* Of each the pod is kept, and what it holds. */
TEST_THAT(what_a_user_writes_costs_no_pod)
{
    static const struct {
        const char *meta; /* after the name */
        const char *spec; /* before the containers */
        const char *told;
    } cases[] = {
        {",\"annotations\":{\"sliced.dev/timeout\":\"\\ud800\"}", "",
         "  problem Pod.metadata.annotations[sliced.dev/timeout] is not UTF-8, or has an escape "
         "that "
         "stands for no character: passed over\n"},
        {",\"annotations\":{\"x\":\"\xff\xff\\ud800\\\"\"}", "", ""},
        {",\"managedFields\":[{\"fieldsV1\":{\"f:\xff\":{\"}\\\"\":[{}]}}}]", "", ""},
        {",\"labels\":{\"a\":5}", "",
         "  problem Pod.metadata.labels[a] expected a string, found a number: passed over\n"},
        {",\"creationTimestamp\":\"soon\"", "",
         "  problem Pod.metadata.creationTimestamp \"soon\" is not a time such as "
         "2026-11-21T12:38:09Z: passed over\n"},
        {"", "\"priority\":99999999999,\"activeDeadlineSeconds\":1e99,",
         "  problem Pod.spec.priority 99999999999 is out of range: passed over\n"},
        {"", "\"tolerations\":7,\"affinity\":[],\"nodeSelector\":{\"a\":[]},",
         "  problem Pod.spec.tolerations expected an array of objects, found a number: passed "
         "over\n"},
        {"",
         "\"initContainers\":[{\"resources\":{\"limits\":{\"x.com/y\":\"1\","
         "\"nvidia.com/mig-1g.5gb\":\"0\"}}}],",
         "  init\n"},
    };
    char text[1024];
    char expected[1024];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        (void)snprintf(
            text, sizeof(text),
            "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"p\"%s},\"spec\":{%s"
            "\"nodeName\":\"m\",\"containers\":[{\"resources\":{\"limits\":{\"nvidia.com/gpu\":"
            "\"1\"}}}]}}}\n{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"q\"}}}\n",
            cases[i].meta, cases[i].spec);
        (void)snprintf(expected, sizeof(expected),
                       "+ Pod name=p node=m\n%s  container\n    limit nvidia.com/gpu =1\n- Pod "
                       "name=q\n",
                       cases[i].told);
        assert_watch(text, expected);
    }
}

static void put_deep(struct sl_buf *text, unsigned levels)
{
    for (unsigned i = 0; i < levels; i++) {
        sl_buf_puts(text, i % 2 == 0 ? "{\"f:\\\"]\":" : "[0,");
    }
    sl_buf_puts(text, "null");
    for (unsigned i = levels; i > 0; i--) {
        sl_buf_puts(text, i % 2 == 0 ? "]" : "}");
    }
}

TEST_THAT(what_is_skipped_may_be_of_any_depth)
{
    struct story story = {.stop_after = 0};
    struct sl_buf text;
    sl_buf_init(&story.out, 1 << 20);
    for (int form = SL_WATCH_LIST; form <= SL_WATCH_STREAM; form++) {
        bool list = form == SL_WATCH_LIST;
        sl_buf_init(&text, 8 << 20);
        sl_buf_puts(&text, list ? "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"1\"},"
                                  "\"items\":["
                                : "{\"type\":\"ADDED\",\"object\":");
        sl_buf_puts(&text, "{\"metadata\":{\"managedFields\":[{\"fieldsV1\":");
        put_deep(&text, 300000);
        sl_buf_puts(&text, "}],\"labels\":");
        put_deep(&text, 300);
        sl_buf_puts(&text, ",\"name\":\"a\"}}");
        sl_buf_puts(&text, list ? "]}" : "}\n");
        struct sl_watch *watch =
            sl_watch_new((enum sl_watch_form)form, SL_OBJECT_POD, &limits, tell, &story);
        assert_non_null(watch);
        for (size_t step = 61; step < text.len; step *= 50) {
            read_text(watch, &story, (enum sl_watch_form)form, text.data, text.len, 0, step);
            assert_string_equal(story.out.data,
                                list ? "+ Pod name=a\n  problem Pod.metadata.labels[f:\"]] "
                                       "expected a string, found an array: passed over\nend rv=1\n"
                                     : "+ Pod name=a\n  problem Pod.metadata.labels[f:\"]] "
                                       "expected a string, found an array: passed over\n");
        }
        sl_watch_free(watch);
        sl_buf_free(&text);
    }
    sl_buf_free(&story.out);
}

static int note_value(void *context, const struct sl_watch_item *item, struct sl_error *err)
{
    const struct sl_pair *after =
        sl_pair_find(item->object->pod->annotations, SL_STR("sliced.dev/after"));
    (void)err;
    *(size_t *)context = after->value.len;
    return 0;
}

/* The core judges it: one that cannot be read is not one that is not there. */
TEST_THAT(a_text_with_a_nul_is_kept_whole)
{
    static const char text[] = "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"p\","
                               "\"annotations\":{\"sliced.dev/after\":\"a\\u0000b\"}}}}\n";
    struct sl_error err = {0};
    size_t len = 0;
    struct sl_watch *watch =
        sl_watch_new(SL_WATCH_STREAM, SL_OBJECT_POD, &limits, note_value, &len);
    assert_non_null(watch);
    assert_int_equal(sl_watch_feed(watch, text, sizeof(text) - 1, &err), 0);
    assert_int_equal(len, 3);
    sl_watch_free(watch);
}

/* Everything there may be many of, before what matters. */
TEST_THAT(many_of_anything_push_nothing_out)
{
    struct story story = {.stop_after = 0};
    struct sl_buf text;
    sl_buf_init(&story.out, 64 << 20);
    sl_buf_init(&text, 64 << 20);
    sl_buf_puts(&text, "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"p\",\"labels\":{");
    for (int i = 0; i < 40000; i++) {
        sl_buf_printf(&text, "\"a%d\":\"\",", i);
    }
    sl_buf_puts(&text, "\"aliyun.com/gpu-count\":\"2\"},\"annotations\":{");
    for (int i = 0; i < 9000; i++) {
        sl_buf_printf(&text, "\"sliced.dev/a%d\":\"\",", i);
    }
    sl_buf_puts(&text, "\"sliced.dev/assignment\":\"nvidia.com/gpu=1\"},\"ownerReferences\":[");
    for (int i = 0; i < 9000; i++) {
        sl_buf_puts(&text, "{\"kind\":\"K\"},");
    }
    sl_buf_puts(&text, "{}]},\"spec\":{\"containers\":[");
    for (int i = 0; i < 15000; i++) {
        sl_buf_puts(&text, "{\"name\":\"c\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"},"
                           "\"requests\":{\"nvidia.com/gpu\":\"1\"}}},");
    }
    sl_buf_puts(&text, "{\"name\":\"last\",\"resources\":{\"limits\":{");
    for (int i = 0; i < 9000; i++) {
        sl_buf_printf(&text, "\"nvidia.com/mig-%d\":\"%d\",", i, i % 2);
    }
    sl_buf_puts(&text,
                "\"nvidia.com/mig-9g.9gb\":\"0\",\"nvidia.com/gpu\":\"7\"}}}],\"tolerations\":[");
    for (int i = 0; i < 200000; i++) {
        sl_buf_puts(&text, "{\"operator\":\"Exists\"},");
    }
    sl_buf_puts(&text,
                "{}],\"schedulingGates\":[{\"name\":\"sliced.dev/queue\"}],\"nodeName\":\"m\"},"
                "\"status\":{\"phase\":\"Running\"}}}\n");
    struct sl_watch *watch = sl_watch_new(SL_WATCH_STREAM, SL_OBJECT_POD, &limits, tell, &story);
    assert_non_null(watch);
    read_text(watch, &story, SL_WATCH_STREAM, text.data, text.len, 0, 16384);
    const char *out = story.out.data;
    assert_true(sl_str_starts(sl_str_of(out),
                              SL_STR("+ Pod name=p node=m phase=Running\n  problem Pod.metadata."
                                     "labels[a512] more than 512 entries that matter: passed "
                                     "over\n")));
    assert_non_null(strstr(out, "  label aliyun.com/gpu-count =2\n"));
    assert_non_null(strstr(out, "  annotation sliced.dev/assignment =nvidia.com/gpu=1\n"));
    assert_non_null(strstr(out, "  container name=last\n"));
    assert_non_null(strstr(out, "nvidia.com/gpu =7\n"));
    assert_non_null(strstr(out, "  gate sliced.dev/queue"));
    size_t n = 0;
    for (const char *at = strstr(out, "limit nvidia.com/gpu =1"); at != NULL;
         at = strstr(at + 1, "limit nvidia.com/gpu =1")) {
        n++;
    }
    assert_int_equal(n, 15000);
    sl_watch_free(watch);
    sl_buf_free(&story.out);
    sl_buf_free(&text);
}

/* ---- sizes ---- */

/* A pod whose kept annotations have n entries of 64 KiB. */
static void put_fat_pod(struct sl_buf *text, const char *name, unsigned n)
{
    char *value = malloc(1 << 16);
    assert_non_null(value);
    memset(value, 'x', 1 << 16);
    sl_buf_printf(text, "{\"metadata\":{\"name\":\"%s\",\"annotations\":{", name);
    for (unsigned i = 0; i < n; i++) {
        sl_buf_printf(text, "%s\"sliced.dev/%u\":\"", i == 0 ? "" : ",", i);
        sl_buf_append(text, value, 1 << 16);
        sl_buf_puts(text, "\"");
    }
    sl_buf_puts(text, "}},\"spec\":{\"nodeName\":\"m\",\"containers\":[{\"name\":\"c\"}]}}");
    free(value);
}

TEST_THAT(of_an_object_that_is_too_large_a_part_is_passed_over)
{
    struct sl_buf list;
    struct sl_buf stream;
    struct story story = {.stop_after = 0};
    sl_buf_init(&story.out, 64 << 20);
    sl_buf_init(&list, 64 << 20);
    sl_buf_init(&stream, 64 << 20);
    sl_buf_puts(&list,
                "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[");
    put_fat_pod(&list, "fat", 300);
    sl_buf_puts(&list, ",{\"metadata\":{\"name\":\"b\"}}]}");
    sl_buf_puts(&stream, "{\"type\":\"ADDED\",\"object\":");
    put_fat_pod(&stream, "fat", 300);
    sl_buf_puts(&stream, "}{\"type\":\"DELETED\",\"object\":");
    put_fat_pod(&stream, "fat", 300);
    sl_buf_puts(&stream, "}{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"b\"}}}");
    struct sl_watch *watch = sl_watch_new(SL_WATCH_LIST, SL_OBJECT_POD, &limits, tell, &story);
    assert_non_null(watch);
    for (size_t step = 1000; step < 1 << 20; step *= 30) {
        read_text(watch, &story, SL_WATCH_LIST, list.data, list.len, 0, step);
        assert_true(
            sl_str_starts(sl_str_of(story.out.data),
                          SL_STR("+ Pod name=fat node=m\n  problem Pod.metadata.annotations["
                                 "sliced.dev/255] more than 16777216 bytes of it would have "
                                 "to be kept: passed over\n")));
        assert_non_null(strstr(story.out.data, "\n  container name=c\n"));
        assert_true(sl_str_ends(sl_str_of(story.out.data), SL_STR("\n+ Pod name=b\nend rv=1\n")));
    }
    sl_watch_free(watch);
    watch = sl_watch_new(SL_WATCH_STREAM, SL_OBJECT_POD, &limits, tell, &story);
    assert_non_null(watch);
    read_text(watch, &story, SL_WATCH_STREAM, stream.data, stream.len, 0, 4096);
    assert_true(story.out.len > 0 && sl_str_starts((struct sl_str){story.out.data, story.out.len},
                                                   SL_STR("+ Pod name=fat ")));
    assert_non_null(strstr(story.out.data, "\n- Pod name=fat node=m\n"));
    assert_true(sl_str_ends((struct sl_str){story.out.data, story.out.len - 1},
                            SL_STR("\n+ Pod name=b\n")));
    sl_watch_free(watch);
    sl_buf_free(&story.out);
    sl_buf_free(&list);
    sl_buf_free(&stream);
}

TEST_THAT(a_watch_may_be_longer_than_any_one_event)
{
    static const char *const event = "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{"
                                     "\"resourceVersion\":\"1\"}}}\n";
    static const struct sl_text_limits small = {
        .max_bytes = 100, .max_string = 100, .max_depth = 9};
    struct story story = {.stop_after = 0};
    struct sl_error err = {0};
    sl_buf_init(&story.out, 1 << 20);
    struct sl_watch *watch = sl_watch_new(SL_WATCH_STREAM, SL_OBJECT_POD, &small, tell, &story);
    assert_non_null(watch);
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(sl_watch_feed(watch, event, strlen(event), &err), 0);
    }
    assert_int_equal(sl_watch_finish(watch, NULL, &err), 0);
    assert_int_equal(story.items, 100);
    sl_watch_free(watch);
    sl_buf_free(&story.out);
}

TEST_THAT(the_receiver_may_end_it)
{
    struct story story = {.stop_after = 2};
    static const char *const text =
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"b\"}}}"
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"c\"}}}";
    sl_buf_init(&story.out, 1 << 20);
    struct sl_watch *watch = sl_watch_new(SL_WATCH_STREAM, SL_OBJECT_POD, &limits, tell, &story);
    assert_non_null(watch);
    read_text(watch, &story, SL_WATCH_STREAM, text, strlen(text), 0, 7);
    assert_string_equal(story.out.data, "+ Pod name=b\nConflict enough (0:0)\n");
    sl_watch_free(watch);
    sl_buf_free(&story.out);
}

/* ---- Jobs ---- */

TEST_THAT(a_job_has_ended_by_its_last_conditions_alone)
{
    assert_story(
        SL_WATCH_STREAM, SL_OBJECT_JOB,
        "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Job\",\"apiVersion\":\"batch/"
        "v1\",\"metadata\":{"
        "\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"1\"},\"spec\":{"
        "\"completions\":1},\"status\":{\"active\":1}}}\n"
        "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"a\"},\"status\":{"
        "\"conditions\":[{"
        "\"type\":\"SuccessCriteriaMet\",\"status\":\"True\"},{\"type\":\"Complete\",\"status\":"
        "\"False\"}]}}}\n"
        "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"a\"},\"status\":{"
        "\"conditions\":[{"
        "\"type\":\"SuccessCriteriaMet\",\"status\":\"True\"},{\"status\":\"True\",\"type\":"
        "\"Complete\"}]}}}\n"
        "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"b\"},\"status\":{"
        "\"conditions\":[{"
        "\"type\":\"FailureTarget\",\"status\":\"True\"},{\"type\":\"Failed\",\"status\":\"True\"},"
        "{"
        "\"type\":\"Failed\"}]}}}\n"
        "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"b\"},\"status\":7}}\n"
        "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"c\"},\"status\":{"
        "\"conditions\":7}}}"
        "\n"
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":410,"
        "\"reason\":\"Expired\"}}\n",
        "+ Job namespace=n name=a uid=u\n"
        "~ Job name=a\n"
        "~ Job name=a complete\n"
        "~ Job name=b failed\n"
        "- Job name=b\n"
        "skipped name=c Job.status.conditions: expected an array of objects, found a number\n"
        "error code=410 reason=Expired\n");
    assert_story(
        SL_WATCH_LIST, SL_OBJECT_JOB,
        "{\"kind\":\"JobList\",\"apiVersion\":\"batch/v1\",\"metadata\":{\"resourceVersion\":"
        "\"9\"},\"items\":[{\"metadata\":{\"name\":\"a\"},\"status\":{\"conditions\":[{\"type\":"
        "\"Complete\",\"status\":\"True\"}]}},{\"metadata\":{\"name\":\"b\"}}]}",
        "+ Job name=a complete\n+ Job name=b\nend rv=9\n");
}

TEST_THAT(a_namespace_is_told_with_its_labels)
{
    assert_story(SL_WATCH_STREAM, SL_OBJECT_NAMESPACE,
                 "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Namespace\",\"metadata\":{\"name\":"
                 "\"a\",\"labels\":{\"team\":\"x\"}},\"spec\":{\"finalizers\":[\"kubernetes\"]},"
                 "\"status\":{\"phase\":\"Active\"}}}\n"
                 "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"a\",\"labels\":7}}}\n"
                 "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":7}}\n"
                 "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n"
                 "{\"type\":\"ERROR\",\"object\":{\"status\":\"Failure\",\"code\":410}}\n",
                 "+ Other Namespace name=a\n  label team =x\n"
                 "~ Other Namespace name=a\n"
                 "skipped Namespace.metadata: expected an object, found a number\n"
                 "- Other Namespace name=a\n"
                 "error code=410\n");
}
