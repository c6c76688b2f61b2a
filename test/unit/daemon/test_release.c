/* The command line of "sliced release", and what it says at the end. */
#include <stdlib.h>

#include "unit/test.h"
#include <stdio.h>
#include <string.h>

#include "daemon/options.h"
#include "daemon/release.h"

enum { WORDS_MAX = 6 };

/* What *out borrows is good until the next call. */
static int parse(const char *const *words, struct sl_release_options *out, struct sl_error *err)
{
    static char text[WORDS_MAX + 1][64];
    char *argv[WORDS_MAX + 2] = {text[0]};
    int argc = 1;
    for (; argc <= WORDS_MAX && words[argc - 1] != NULL; argc++) {
        (void)snprintf(text[argc], sizeof(text[argc]), "%s", words[argc - 1]);
        argv[argc] = text[argc];
    }
    return sl_release_options_parse(argc, argv, out, err);
}

TEST_THAT(all_or_one_pod_is_asked_for)
{
    static const char *const all[] = {"--all", "--namespace=x", "--dry-run", "--kubeconfig", "/k",
                                      NULL};
    static const char *const one[] = {"x/a", NULL};
    struct sl_release_options options;
    struct sl_error err;
    assert_int_equal(parse(all, &options, &err), 0);
    assert_true(options.all && options.dry_run);
    assert_string_equal(options.namespace, "x");
    assert_string_equal(options.kubeconfig, "/k");
    assert_null(options.name);
    assert_int_equal(parse(one, &options, &err), 0);
    assert_string_equal(options.namespace, "x");
    assert_string_equal(options.name, "a");
    assert_false(options.all);
}

TEST_THAT(a_wrong_line_is_told)
{
    static const struct {
        const char *words[WORDS_MAX];
        const char *text;
    } cases[] = {
        {{NULL}, "say either --all or one pod"},
        {{"--all", "x/a", NULL}, "say either --all or one pod"},
        {{"x/a", "x/b", NULL}, "x/b: one pod at a time, or --all"},
        {{"a", NULL}, "a: a pod is NAMESPACE/POD"},
        {{"/a", NULL}, "/a: a pod is NAMESPACE/POD"},
        {{"x/", NULL}, "x/: a pod is NAMESPACE/POD"},
        {{"x/a/b", NULL}, "x/a/b: a pod is NAMESPACE/POD"},
        {{"x/a", "--namespace", "x", NULL}, "--namespace goes with --all"},
        {{"--all=yes", NULL}, "--all takes no value"},
        {{"--all", "--context", NULL}, "--context needs a value: --context NAME"},
        {{"--everything", NULL}, "unknown option --everything"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sl_release_options options;
        struct sl_error err = {.code = SL_ERR_NONE};
        assert_int_equal(parse(cases[i].words, &options, &err), -1);
        if (strstr(err.message, cases[i].text) == NULL) {
            fail_msg("\"%s\" and not \"%s\"", err.message, cases[i].text);
        }
    }
}

TEST_THAT(help_needs_nothing_else)
{
    static const char *const words[] = {"-h", NULL};
    struct sl_release_options options;
    struct sl_buf out;
    assert_int_equal(parse(words, &options, NULL), 0);
    assert_true(options.help);
    sl_buf_init(&out, 1 << 16);
    sl_release_options_help(&out);
    sl_buf_putc(&out, '\0');
    assert_non_null(strstr(out.data, "--dry-run"));
    sl_buf_free(&out);
}

TEST_THAT(the_summary_says_whether_gates_are_left)
{
    static const struct {
        struct sl_release_all_counts counts;
        bool dry_run;
        bool one;
        int status;
        const char *text;
    } cases[] = {
        {{3, {2, 0, 0, 0}}, false, false, 0, "3 pods looked at, 2 gates opened\n"},
        {{1, {1, 0, 0, 0}}, false, true, 0, "1 pod looked at, 1 gate opened\n"},
        {{9, {1, 0, 2, 3}}, false, false, 1, "9 pods looked at, 1 gate opened, 2 gone, 3 failed\n"},
        {{9, {0, 4, 0, 0}}, true, false, 0, "9 pods looked at, 4 gates would be opened\n"},
        {{0, {0, 0, 0, 0}},
         false,
         true,
         1,
         "0 pods looked at, 0 gates opened\nthere is no such pod\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sl_buf out;
        sl_buf_init(&out, 1 << 12);
        assert_int_equal(sl_release_summary(&cases[i].counts, cases[i].dry_run, cases[i].one, &out),
                         cases[i].status);
        sl_buf_putc(&out, '\0');
        assert_string_equal(out.data, cases[i].text);
        sl_buf_free(&out);
    }
}
