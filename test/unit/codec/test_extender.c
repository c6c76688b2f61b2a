/* The extender's bodies: what keys mean, what is wrong and where, ceilings, runs of names. */
#include "extender_rig.h"

/* ---- filter and prioritize ---- */

#define POD  "\"Pod\":{\"metadata\":{\"name\":\"p\"}}"
#define ARGS "{" POD ","

TEST_FIXTURE(setup, teardown)

TEST_ON(struct fixture *f, keys_match_in_any_case_and_order)
{
    static const char *const texts[] = {
        "{\"pod\":{\"metadata\":{\"name\":\"p\"}},\"nodenames\":[\"a\",\"b\"]}",
        "{\"NODENAMES\":[\"a\",\"b\"],\"NODES\":null,\"POD\":{\"metadata\":{\"name\":\"p\"}}}",
        "{\"nodeNames\":[\"a\",\"b\"],\"x\":[{\"Pod\":1}]," POD "}",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_decodes(f, SL_BODY_ARGS, texts[i], "node a\nnode b\nPod name=p\n");
    }
}

TEST_ON(struct fixture *f, keys_of_kubernetes_own_objects_match_exactly)
{
    assert_decodes(f, SL_BODY_ARGS, "{\"Pod\":{\"Metadata\":{\"name\":\"p\"}},\"NodeNames\":[]}",
                   "BadField Pod.metadata.name: is missing (0:0)\n");
}

TEST_ON(struct fixture *f, of_full_nodes_only_the_name_is_read)
{
    assert_decodes(f, SL_BODY_ARGS,
                   ARGS "\"Nodes\":{\"metadata\":5,\"items\":["
                        "{\"metadata\":{\"labels\":7,\"name\":\"a\",\"uid\":[]},\"spec\":1},"
                        "{\"status\":{\"metadata\":{\"name\":\"x\"}},\"metadata\":{\"name\":\"b\"}}"
                        "]},\"NodeNames\":null}",
                   "node a\nnode b\nby nodes\nPod name=p\n");
    size_t with_two = f->arena.used;
    (void)decode(f, SL_BODY_ARGS, sl_str_of(ARGS "\"NodeNames\":[]}"), 0);
    assert_int_equal(f->arena.used, with_two);
}

/* As Go reads them: what has the right letters is the field. */
TEST_ON(struct fixture *f, full_nodes_are_found_in_any_letter_case)
{
    assert_decodes(f, SL_BODY_ARGS, ARGS "\"nodes\":{\"ITEMS\":[{\"Metadata\":{\"NAME\":\"a\"}}]}}",
                   "node a\nby nodes\nPod name=p\n");
    assert_decodes(f, SL_BODY_PREEMPT,
                   ARGS
                   "\"nodeNameToVictims\":{\"n\":{\"pods\":[{\"METADATA\":{\"UID\":\"u\"}}]}}}",
                   "victims on n\n  victim u\n  violations 0\nPod name=p\n");
}

TEST_ON(struct fixture *f, no_candidates_at_all_are_candidates)
{
    assert_decodes(f, SL_BODY_ARGS, ARGS "\"NodeNames\":[]}", "Pod name=p\n");
    assert_decodes(f, SL_BODY_ARGS, ARGS "\"Nodes\":{\"items\":null}}", "by nodes\nPod name=p\n");
}

struct expectation {
    const char *text;
    const char *result;
};

static void assert_all(struct fixture *f, enum sl_body_kind kind, const struct expectation *e,
                       size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_decodes(f, kind, e[i].text, e[i].result);
    }
}

TEST_ON(struct fixture *f, faults_of_args_name_their_field)
{
    static const struct expectation cases[] = {
        {"[]", "WrongType expected an object, found an array (1:1)\n"},
        {"null", "WrongType expected an object, found null (1:1)\n"},
        {"{}", "BadField Pod: is missing (0:0)\n"},
        {"{\"Pod\":null,\"NodeNames\":[]}", "BadField Pod: is missing (0:0)\n"},
        {"{\"Pod\":{},\"NodeNames\":[]}", "BadField Pod.metadata.name: is missing (0:0)\n"},
        {"{\"Pod\":[]}", "WrongType Pod: expected an object, found an array (1:8)\n"},
        {"{" POD "}", "BadField NodeNames: is missing, and so is Nodes (0:0)\n"},
        {ARGS "\"Nodes\":null,\"NodeNames\":null}",
         "BadField NodeNames: is missing, and so is Nodes (0:0)\n"},
        {ARGS "\"Nodes\":{\"items\":[]},\"NodeNames\":[]}",
         "BadField NodeNames: is given beside Nodes (1:67)\n"},
        {ARGS "\"NodeNames\":[],\"Nodes\":{}}",
         "BadField Nodes: is given beside NodeNames (1:57)\n"},
        {ARGS POD "}", "BadField Pod: is given twice (1:34)\n"},
        {ARGS "\"pod\":{}}", "BadField Pod: is given twice (1:34)\n"},
        {ARGS "\"NodeNames\":[\"a\",2]}",
         "node a\nWrongType NodeNames[1]: expected a string, found a number (1:51)\n"},
        {ARGS "\"NodeNames\":[\"a\",null]}",
         "node a\nWrongType NodeNames[1]: expected a string, found null (1:51)\n"},
        {ARGS "\"NodeNames\":[\"a\",\"\"]}", "node a\nBadField NodeNames[1]: is empty (1:51)\n"},
        {ARGS "\"NodeNames\":{\"a\":1}}",
         "WrongType NodeNames: expected an array of strings, found an object (1:46)\n"},
        {ARGS "\"Nodes\":{}}", "BadField Nodes.items: is missing (1:43)\n"},
        {ARGS "\"Nodes\":{\"kind\":\"NodeList\"}}", "BadField Nodes.items: is missing (1:60)\n"},
        {ARGS "\"Nodes\":{\"items\":[],\"Items\":[]}}",
         "BadField Nodes.items: is given twice (1:54)\n"},
        {ARGS "\"Nodes\":[]}", "WrongType Nodes: expected an object, found an array (1:42)\n"},
        {ARGS "\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"a\"}},{}]}}",
         "node a\nBadField Nodes.items[1].metadata.name: is missing (1:79)\n"},
        {ARGS "\"Nodes\":{\"items\":[{\"metadata\":{\"name\":7}}]}}",
         "WrongType Nodes.items[0].metadata.name: expected a string, found a number (1:72)\n"},
        {ARGS "\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"a\",\"name\":\"b\"}}]}}",
         "node a\nBadField Nodes.items[0].metadata.name: is given twice (1:76)\n"},
        {"{\"Pod\":{\"spec\":{\"containers\":[{\"resources\":{\"limits\":5}}]}}}",
         "WrongType Pod.spec.containers[0].resources.limits: expected an object of quantities, "
         "found a number (1:54)\n"},
    };
    assert_all(f, SL_BODY_ARGS, cases, sizeof(cases) / sizeof(cases[0]));
}

TEST_ON(struct fixture *f, faults_of_the_text_name_the_field_they_are_in)
{
    static const struct {
        const char *text;
        const char *field;
    } cases[] = {
        {"{\"Pod\":{\"metadata\":{\"name\":\"\xc3(\"}}}", "Pod.metadata.name"},
        {"{\"Pod\":{\"metadata\":{\"name\":\"\\ud800\"}}}", "Pod.metadata.name"},
        {"{\"NodeNames\":[\"a\",\"\xff\"]}", "NodeNames[1]"},
        {"{\"NodeNames\":[\"a\",\"b\"\"c\"]}", "NodeNames[2]"},
        {"{\"Pod\":{\"spec\":{\"priority\":01}}}", "Pod.spec"},
        {"{\"Pod\":{\"status\":{\"phase\":tru}}}", "Pod.status.phase"},
        {"{\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"a\"}},]", "Nodes.items[1]"},
        {"\xef\xbb\xbf{}", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sl_error err = {0};
        const struct sl_body_sink none = {0};
        sl_body_begin(f->body, SL_BODY_ARGS, &none);
        assert_int_equal(sl_body_feed(f->body, cases[i].text, strlen(cases[i].text), &err), -1);
        assert_string_equal(err.field, cases[i].field);
        assert_int_equal(err.line, 1);
    }
}

TEST_ON(struct fixture *f, depth_length_and_strings_have_ceilings)
{
    struct sl_buf text;
    sl_buf_init(&text, 16 << 20);
    sl_buf_puts(&text, ARGS "\"Nodes\":{\"items\":[{\"status\":");
    for (int i = 0; i < 100000; i++) {
        sl_buf_putc(&text, '[');
    }
    assert_string_equal(decode(f, SL_BODY_ARGS, (struct sl_str){text.data, text.len}, 4096),
                        "Syntax Nodes.items[0]: expected a value, found the end of the text "
                        "(1:100062)\n");
    text.len = 0;
    sl_buf_puts(&text, "{\"NodeNames\":[\"");
    for (int i = 0; i < 5000; i++) {
        sl_buf_putc(&text, 'n');
    }
    sl_buf_puts(&text, "\"]}");
    assert_non_null(strstr(decode(f, SL_BODY_ARGS, (struct sl_str){text.data, text.len}, 0),
                           "BadField NodeNames[0]: is longer than what is read of a text"));
    text.len = 0;
    for (size_t i = 0; i <= limits.max_bytes; i++) {
        sl_buf_putc(&text, ' ');
    }
    assert_non_null(
        strstr(decode(f, SL_BODY_ARGS, (struct sl_str){text.data, text.len}, 0), "LimitExceeded "));
    sl_buf_free(&text);
}

/* ---- bind ---- */

TEST_ON(struct fixture *f, a_binding_needs_all_four_fields)
{
    static const struct expectation cases[] = {
        {"{\"node\":\"n\",\"podUid\":\"u\",\"PODNAME\":\"p\",\"podnamespace\":\"s\",\"x\":1}",
         "bind name=p namespace=s uid=u node=n\n"},
        {"{\"PodNamespace\":\"s\",\"PodUID\":\"u\",\"Node\":\"n\"}",
         "BadField PodName: is missing or empty (0:0)\n"},
        {"{\"PodName\":\"p\",\"PodNamespace\":null,\"PodUID\":\"u\",\"Node\":\"n\"}",
         "BadField PodNamespace: is missing or empty (0:0)\n"},
        {"{\"PodName\":\"p\",\"PodNamespace\":\"s\",\"PodUID\":\"\",\"Node\":\"n\"}",
         "BadField PodUID: is missing or empty (0:0)\n"},
        {"{\"PodName\":\"p\",\"PodNamespace\":\"s\",\"PodUID\":\"u\"}",
         "BadField Node: is missing or empty (0:0)\n"},
        {"{\"PodName\":{},\"PodNamespace\":\"s\"}",
         "WrongType PodName: expected a string, found an object (1:12)\n"},
        {"{\"Node\":\"a\",\"node\":\"b\"}", "BadField Node: is given twice (1:13)\n"},
        {"{\"Node\":\"a\\u0000b\"}", "BadField Node: has a NUL character in it (1:9)\n"},
        {"3", "WrongType expected an object, found a number (1:1)\n"},
    };
    assert_all(f, SL_BODY_BINDING, cases, sizeof(cases) / sizeof(cases[0]));
}

/* ---- preempt ---- */

TEST_ON(struct fixture *f, victims_may_come_before_the_pod_and_counts_before_victims)
{
    static const struct expectation cases[] = {
        {"{\"NodeNameToMetaVictims\":{\"a\":{\"NumPDBViolations\":3,\"Pods\":[{\"uid\":\"u\"}]},"
         "\"b\":{\"Pods\":null},\"c\":{}}," POD "}",
         "victims on a\n  victim u\n  violations 3\nvictims on b\n  violations 0\n"
         "victims on c\n  violations 0\nPod name=p\n"},
        {ARGS "\"nodeNameToVictims\":{\"a\":{\"numpdbviolations\":1,\"pods\":[{\"spec\":5,"
              "\"metadata\":{\"name\":8,\"uid\":\"u\"}}]}}}",
         "victims on a\n  victim u\n  violations 1\nPod name=p\n"},
        {ARGS "\"NodeNameToVictims\":{}}", "Pod name=p\n"},
    };
    assert_all(f, SL_BODY_PREEMPT, cases, sizeof(cases) / sizeof(cases[0]));
}

TEST_ON(struct fixture *f, faults_of_preempt_name_their_field)
{
    static const struct expectation cases[] = {
        {"{\"NodeNameToVictims\":{}}", "BadField Pod: is missing (0:0)\n"},
        {"{" POD "}",
         "BadField NodeNameToMetaVictims: is missing, and so is NodeNameToVictims (0:0)\n"},
        {ARGS "\"NodeNameToVictims\":{},\"NodeNameToMetaVictims\":{}}",
         "BadField NodeNameToMetaVictims: is given beside NodeNameToVictims (1:81)\n"},
        {ARGS "\"NodeNameToMetaVictims\":{},\"NodeNameToVictims\":{}}",
         "BadField NodeNameToVictims: is given beside NodeNameToMetaVictims (1:81)\n"},
        {ARGS "\"NodeNameToMetaVictims\":{\"a\":null}}",
         "victims on a\n"
         "WrongType NodeNameToMetaVictims[a]: expected an object, found null (1:63)\n"},
        {ARGS "\"NodeNameToMetaVictims\":{\"\":{}}}",
         "BadField NodeNameToMetaVictims[]: is empty (1:59)\n"},
        {ARGS "\"NodeNameToMetaVictims\":{\"a\":{\"Pods\":[{\"Uid\":\"u\"},{}]}}}",
         "victims on a\n  victim u\n"
         "BadField NodeNameToMetaVictims[a].Pods[1].UID: is missing (1:85)\n"},
        {ARGS "\"NodeNameToMetaVictims\":{\"a\":{\"Pods\":[{\"UID\":\"\"}]}}}",
         "victims on a\nBadField NodeNameToMetaVictims[a].Pods[0].UID: is empty (1:79)\n"},
        {ARGS "\"NodeNameToVictims\":{\"a\":{\"Pods\":[{\"metadata\":{}}]}}}",
         "victims on a\n"
         "BadField NodeNameToVictims[a].Pods[0].metadata.uid: is missing (1:82)\n"},
        {ARGS "\"NodeNameToVictims\":{\"a\":{\"Pods\":[null]}}}",
         "victims on a\n"
         "WrongType NodeNameToVictims[a].Pods[0]: expected an object, found null (1:68)\n"},
        {ARGS "\"NodeNameToVictims\":{\"a\":{\"NumPDBViolations\":\"1\"}}}",
         "victims on a\n"
         "WrongType NodeNameToVictims[a].NumPDBViolations: expected an integer, found a string "
         "(1:79)\n"},
        {ARGS "\"NodeNameToVictims\":{\"a\":{\"Pods\":[],\"pods\":[]}}}",
         "victims on a\nBadField NodeNameToVictims[a].Pods: is given twice (1:70)\n"},
    };
    assert_all(f, SL_BODY_PREEMPT, cases, sizeof(cases) / sizeof(cases[0]));
}

/* ---- the decoder itself ---- */

static int refuse_name(void *context, struct sl_str name, struct sl_error *err)
{
    (void)context;
    return sl_str_eq(name, SL_STR("bad"))
               ? sl_error_set(err, SL_ERR_FIELD, "is not known to the test")
               : 0;
}

TEST_ON(struct fixture *f, a_sink_that_refuses_stops_the_body_with_the_place)
{
    const struct sl_body_sink sink = {.node = refuse_name};
    struct sl_str text = SL_STR("{\"NodeNames\":[\"good\",\"bad\",\"good\"]}");
    struct sl_error err = {0};
    struct sl_error later = {0};
    sl_body_begin(f->body, SL_BODY_ARGS, &sink);
    assert_int_equal(sl_body_feed(f->body, text.s, text.len, &err), -1);
    assert_string_equal(err.field, "NodeNames[1]");
    assert_string_equal(err.message, "is not known to the test");
    assert_int_equal(err.column, 22);
    assert_int_equal(sl_body_feed(f->body, "{}", 2, &later), -1);
    assert_memory_equal(&err, &later, sizeof(err));
    assert_int_equal(sl_body_finish(f->body, &later), -1);
    assert_memory_equal(&err, &later, sizeof(err));
    assert_int_equal(sl_body_finish(f->body, NULL), -1);
}

struct taken {
    struct sl_buf log;
    size_t at_once; /* of a run */
};

/* Takes at most that many of a run, and none from one that begins with "odd". */
static size_t take_some(void *context, const struct sl_str *name, size_t n)
{
    struct taken *taken = context;
    size_t i = 0;
    for (; i < n && i < taken->at_once && !sl_str_starts(name[i], SL_STR("odd")); i++) {
        sl_buf_append(&taken->log, name[i].s, name[i].len);
        sl_buf_putc(&taken->log, '+');
        /* as the contract says: nothing but a comma between, in quotes */
        assert_int_equal(name[i].s[-1], '"');
        assert_true(i == 0 || name[i - 1].s + name[i - 1].len + 3 == name[i].s);
    }
    return i;
}

static int take_single(void *context, struct sl_str name, struct sl_error *err)
{
    struct taken *taken = context;
    sl_buf_append(&taken->log, name.s, name.len);
    sl_buf_putc(&taken->log, '.');
    return sl_str_eq(name, SL_STR("odd-bad")) ? sl_error_set(err, SL_ERR_FIELD, "is odd") : 0;
}

static void assert_taken(struct fixture *f, const char *names, size_t at_once, const char *log,
                         const char *field, unsigned column)
{
    struct taken taken = {.at_once = at_once};
    const struct sl_body_sink sink = {.context = &taken, .node = take_single, .nodes = take_some};
    struct sl_error err = {0};
    sl_buf_init(&taken.log, 1 << 12);
    sl_body_begin(f->body, SL_BODY_ARGS, &sink);
    int rc = sl_body_feed(f->body, names, strlen(names), &err);
    sl_buf_putc(&taken.log, '\0');
    assert_string_equal(taken.log.data, log);
    assert_int_equal(rc, field == NULL ? 0 : -1);
    assert_string_equal(err.field, field == NULL ? "" : field);
    assert_int_equal(err.column, column);
    sl_buf_free(&taken.log);
}

TEST_ON(struct fixture *f, names_in_a_run_go_to_the_sink_in_order_each_once)
{
    assert_taken(f, "{\"NodeNames\":[\"a\",\"b\",\"c\",\"d\"]}", 9, "a+b+c+d+", NULL, 0);
    assert_taken(f, "{\"NodeNames\":[\"a\",\"b\",\"c\",\"d\"]}", 1, "a+b.c+d.", NULL, 0);
    assert_taken(f, "{\"NodeNames\":[\"a\",\"b\",\"c\",\"d\"]}", 0, "a.b.c.d.", NULL, 0);
    assert_taken(f, "{\"NodeNames\":[\"a\", \"b\",\"\\u0063\",\"d\"]}", 9, "a+b+c.d+", NULL, 0);
    assert_taken(f, "{\"nodenames\":[\"odd\",\"a\",\"odd2\",\"b\"]}", 9, "odd.a+odd2.b+", NULL, 0);
}

TEST_ON(struct fixture *f, an_error_in_a_run_has_the_place_of_its_name)
{
    assert_taken(f, "{\"NodeNames\":[\"a\",\"bb\",\"odd-bad\",\"d\"]}", 9, "a+bb+odd-bad.",
                 "NodeNames[2]", 24);
    assert_taken(f, "{\"NodeNames\":[\"a\",\"odd\",\"odd-bad\"]}", 9, "a+odd.odd-bad.",
                 "NodeNames[2]", 25);
    assert_taken(f, "{\"NodeNames\":[\"a\",\"\"]}", 1, "a+", "NodeNames[1]", 19);
}

TEST_ON(struct fixture *f, a_sink_may_want_nothing)
{
    const struct sl_body_sink none = {0};
    static const struct {
        enum sl_body_kind kind;
        const char *text;
    } bodies[] = {
        {SL_BODY_ARGS, ARGS "\"NodeNames\":[\"a\"]}"},
        {SL_BODY_PREEMPT, ARGS "\"NodeNameToMetaVictims\":{\"a\":{\"Pods\":[{\"UID\":\"u\"}]}}}"},
    };
    for (size_t i = 0; i < 2; i++) {
        struct sl_error err = {0};
        sl_body_begin(f->body, bodies[i].kind, &none);
        assert_int_equal(sl_body_feed(f->body, bodies[i].text, strlen(bodies[i].text), &err), 0);
        assert_int_equal(sl_body_finish(f->body, &err), 0);
        assert_string_equal(sl_body_pod(f->body)->name.s, "p");
    }
}

TEST_ON(struct fixture *f, a_decoder_starts_over_after_anything)
{
    assert_decodes(f, SL_BODY_ARGS, ARGS "\"Nodes\":{\"items\":[]}}", "by nodes\nPod name=p\n");
    assert_decodes(f, SL_BODY_ARGS, "{\"NodeNames\":[\"a\"]}",
                   "node a\nBadField Pod: is missing (0:0)\n");
    assert_decodes(f, SL_BODY_BINDING, "{\"Node\":",
                   "Syntax Node: expected a value, found the end "
                   "of the text (1:9)\n");
    assert_decodes(f, SL_BODY_BINDING, "{\"Node\":\"n\"}",
                   "BadField PodName: is missing or empty (0:0)\n");
    assert_decodes(f, SL_BODY_ARGS, ARGS "\"NodeNames\":[\"a\"]}", "node a\nPod name=p\n");
}

TEST_ON(struct fixture *f, what_of_a_pod_does_not_fit_the_arena_is_passed_over_or_refused)
{
    f->arena.max = 400;
    const char *out =
        decode(f, SL_BODY_ARGS,
               sl_str_of("{\"Pod\":{\"metadata\":{\"labels\":{\"sliced.dev/a\":\"1\","
                         "\"sliced.dev/b\":\"2\",\"sliced.dev/c\":\"3\",\"sliced.dev/d\":\"4\","
                         "\"sliced.dev/e\":\"5\",\"sliced.dev/f\":\"6\"}},\"spec\":{"
                         "\"containers\":[{},{},{},{},{},{}]}}}"),
               0);
    assert_non_null(strstr(out, "LimitExceeded Pod.spec.containers["));
    assert_non_null(strstr(out, "more than 400 bytes of it would have to be kept"));
    f->arena.max = 500;
    out = decode(f, SL_BODY_ARGS,
                 sl_str_of("{\"Pod\":{\"metadata\":{\"name\":\"p\",\"labels\":{"
                           "\"sliced.dev/a\":\"1\",\"sliced.dev/b\":\"2\",\"sliced.dev/c\":\"3\","
                           "\"sliced.dev/d\":\"4\",\"sliced.dev/e\":\"5\",\"sliced.dev/f\":\"6\","
                           "\"sliced.dev/g\":\"7\",\"sliced.dev/h\":\"8\"}}},\"NodeNames\":[]}"),
                 0);
    assert_true(sl_str_starts(sl_str_of(out), SL_STR("Pod name=p\n")));
}

/* Whatever a user can write into a pod, the question about it is answered. */
TEST_ON(struct fixture *f, a_pod_may_hold_what_it_likes)
{
    struct sl_buf text;
    sl_buf_init(&text, 1 << 20);
    sl_buf_puts(&text, "{\"Pod\":{\"metadata\":{\"name\":\"p\",\"managedFields\":[");
    for (int i = 0; i < 5000; i++) {
        sl_buf_puts(&text, "{\"f:\\ud800\":");
    }
    sl_buf_puts(&text, "\"\xff\"");
    for (int i = 0; i < 5000; i++) {
        sl_buf_puts(&text, "}");
    }
    sl_buf_puts(&text, "],\"annotations\":{"
                       "\"sliced.dev/timeout\":\"\xff\"}},\"spec\":{\"priority\":99999999999,"
                       "\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":"
                       "{\"nvidia.com/gpu\":\"1\"}}}]}},\"NodeNames\":[\"a\"]}");
    for (size_t chunk = 0; chunk < 3; chunk++) {
        const char *out =
            decode(f, SL_BODY_ARGS, (struct sl_str){text.data, text.len}, chunk == 2 ? 777 : chunk);
        assert_non_null(strstr(out, "Pod name=p\n  problem Pod.metadata.annotations[sliced.dev/"
                                    "timeout] is not UTF-8, or has an escape that stands for no "
                                    "character: passed over\n"));
        assert_non_null(strstr(out, "nvidia.com/gpu =1\n"));
        assert_non_null(strstr(out, "node a\n"));
    }
    sl_buf_free(&text);
}

struct whole {
    struct sl_buf text;
    size_t end[3];
    size_t n;
};

static int end_whole(void *context, struct sl_error *err)
{
    struct whole *whole = context;
    (void)err;
    assert_true(whole->n < 3);
    whole->end[whole->n++] = whole->text.len;
    return 0;
}

TEST_ON(struct fixture *f, whole_nodes_are_kept_as_they_stand_however_they_are_cut)
{
    static const char *const node[] = {
        "{\"metadata\":{\"name\":\"a\",\"labels\":{\"}\":\"\\\"{\"}},\"spec\":[{}, [1e5]]}",
        "{\"x\":null , \"METADATA\" : {\"name\":\"b\"}\n}",
        "{\"metadata\":{\"name\":\"\\u0063\"}}"};
    char text[512];
    int len = snprintf(text, sizeof(text), "{\"Nodes\":{\"items\":[%s ,\t%s,%s]}," POD "}", node[0],
                       node[1], node[2]);
    for (size_t chunk = 1; chunk <= (size_t)len; chunk++) {
        struct whole whole = {.n = 0};
        struct sl_body_sink sink = {.context = &whole, .whole = &whole.text, .node_end = end_whole};
        size_t from = 0;
        sl_buf_init(&whole.text, sizeof(text));
        sl_arena_reset(&f->arena);
        sl_body_begin(f->body, SL_BODY_ARGS, &sink);
        for (size_t at = 0; at < (size_t)len; at += chunk) {
            size_t n = (size_t)len - at < chunk ? (size_t)len - at : chunk;
            assert_int_equal(sl_body_feed(f->body, text + at, n, NULL), 0);
        }
        assert_int_equal(sl_body_finish(f->body, NULL), 0);
        assert_int_equal(whole.n, 3);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(whole.end[i] - from, strlen(node[i]) + 1);
            assert_memory_equal(whole.text.data + from, node[i], strlen(node[i]));
            assert_int_equal(whole.text.data[whole.end[i] - 1], ',');
            from = whole.end[i];
        }
        sl_buf_free(&whole.text);
    }
}
