/* The text of sliced.dev/after: what it means, and what is refused. */
#include "stage_rig.h"

#include "core/stage/after.h"

TEST_THAT(items_are_pods_jobs_and_selectors)
{
    static const struct {
        const char *text;
        const char *expected; /* p pod, j job, s selector with its number of requirements */
    } cases[] = {
        {"a", "p:a"},
        {"pod/a", "p:a"},
        {"job/a", "j:a"},
        {" pod/a ,\tb.c-1\n", "p:a p:b.c-1"},
        {"app=x", "s1:app=x"},
        {"app == x", "s1:app == x"},
        {"app!=x", "s1:app!=x"},
        {"!app", "s1:!app"},
        {"app in (x,y), b", "s1:app in (x,y) p:b"},
        {"app notin(x , y)", "s1:app notin(x , y)"},
        {"(app)", "s1:app"},
        {"(app=x,tier in (a,b), !old),job/j", "s3:app=x,tier in (a,b), !old j:j"},
        {"example.com/app=x", "s1:example.com/app=x"},
        {"app=", "s1:app="},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sl_after after;
        struct sl_error err = {.code = SL_ERR_NONE};
        char found[256] = "";
        size_t len = 0;
        if (sl_after_parse(sl_str_of(cases[i].text), &after, &err) < 0) {
            fail_msg("%s: %s", cases[i].text, err.message);
        }
        for (unsigned n = 0; n < after.n; n++) {
            const struct sl_stage_item *item = &after.item[n];
            char rules[8] = "";
            if (item->kind == SL_STAGE_SELECTOR) {
                (void)snprintf(rules, sizeof(rules), "%u", item->n_rules);
            }
            len +=
                (size_t)snprintf(found + len, sizeof(found) - len, "%s%c%s:%.*s", n > 0 ? " " : "",
                                 "pjs"[item->kind], rules, (int)item -> text.len, item->text.s);
        }
        assert_string_equal(found, cases[i].expected);
    }
}

TEST_THAT(what_cannot_be_read_is_refused_with_the_item)
{
    static const struct {
        const char *text;
        const char *problem;
    } cases[] = {
        {"a,,b", "\"\": there is nothing between two commas"},
        {"a,", "\"\": there is nothing between two commas"},
        {" ", "\"\": there is nothing between two commas"},
        {"A", "\"A\": neither pod/NAME, job/NAME, a pod's name nor a selector in parentheses"},
        {"deployment/a", "\"deployment/a\": neither pod/NAME"},
        {"pod/", "\"pod/\": neither pod/NAME"},
        {"pod/../x", "\"pod/../x\": neither pod/NAME"},
        {"job.batch/a", "\"job.batch/a\": neither pod/NAME"},
        {"()", "\"()\": a requirement does not begin with a label's key"},
        {"(a=b", "\"(a=b\": parentheses do not match"},
        {"a=b)", "\"a=b)\": parentheses do not match"},
        {"(a=b) in (c)", "\"(a=b) in (c)\": parentheses do not match"},
        {"a>1", "\"a>1\": a selector has key=value, key!=value, key in (a,b), key notin (a,b), key "
                "or !key"},
        {"a in b", "\"a in b\": in and notin are followed by values in parentheses"},
        {"a in (b", "\"a in (b\": parentheses do not match"},
        {"a in ()", "\"a in ()\": there are no values in the parentheses"},
        {"a=b=c", "\"a=b=c\": what it compares with is not a label's value"},
        {"a=b c", "\"a=b c\": what it compares with is not a label's value"},
        {"!a=b", "\"!a=b\": nothing may follow !key"},
        {"a/b/c=d", "\"a/b/c=d\": a requirement does not begin with a label's key"},
        {"=b", "\"=b\": a requirement does not begin with a label's key"},
        {"(a=b,)", "\"(a=b,)\": a requirement does not begin with a label's key"},
        {"a b", "\"a b\": a selector has key=value"},
        {"a no (b)", "\"a no (b)\": a selector has key=value"},
        {"a into (b)", "\"a into (b)\": a selector has key=value"},
        {"?", "\"?\": neither pod/NAME"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sl_after after;
        struct sl_error err = {.code = SL_ERR_NONE};
        char expected[512];
        (void)snprintf(expected, sizeof(expected), "annotation sliced.dev/after: %s",
                       cases[i].problem);
        if (sl_after_parse(sl_str_of(cases[i].text), &after, &err) == 0) {
            fail_msg("%s was taken", cases[i].text);
        }
        if (strncmp(err.message, expected, strlen(expected)) != 0) {
            fail_msg("%s: %s", cases[i].text, err.message);
        }
    }
}

static bool parses(const char *text, size_t len)
{
    struct sl_after after;
    char *copy = malloc(len + 1); /* of that size exactly, so that sanitizers see more */
    assert_non_null(copy);
    memcpy(copy, text, len);
    copy = realloc(copy, len == 0 ? 1 : len);
    bool good = sl_after_parse((struct sl_str){copy, len}, &after, NULL) == 0;
    free(copy);
    return good;
}

static bool is_letter_or_digit(int c)
{
    return c > 0 && strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", c);
}

TEST_THAT(values_and_names_have_the_characters_that_kubernetes_allows)
{
    for (int c = 1; c < 256; c++) {
        bool lower = is_letter_or_digit(c) && !(c >= 'A' && c <= 'Z');
        bool space = strchr(" \t\r\n", c) != NULL;
        const char last[] = {'a', '=', 'x', (char)c};
        const char inner[] = {'a', '=', 'x', (char)c, 'y'};
        const char name[] = {'p', 'o', 'd', '/', 'x', (char)c, 'y'};
        assert_int_equal(parses(last, 4), is_letter_or_digit(c) || space);
        assert_int_equal(parses(inner, 5), is_letter_or_digit(c) || strchr("-_.,", c) != NULL);
        assert_int_equal(parses(name, 7), lower || strchr("-.,=", c) != NULL); /* x=y is a label */
        assert_int_equal(parses(name, 6), lower || space || c == '=');
    }
}

TEST_THAT(every_beginning_of_a_text_is_read_within_its_length)
{
    static const char text[] = "a in (x1, y) ,!b,(c != d,e notin( f)),pod/g , job/h.i  ";
    unsigned good = 0;
    for (size_t len = 0; len < sizeof(text); len++) {
        good += parses(text, len);
    }
    assert_int_equal(good, 18);
}

TEST_THAT(all_of_it_is_bounded)
{
    struct sl_after after;
    struct sl_error err = {.code = SL_ERR_NONE};
    char text[2048];
    size_t len = 0;
    for (int i = 0; i <= SL_STAGE_ITEMS_MAX; i++) {
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%sa", i > 0 ? "," : "");
    }
    assert_int_equal(sl_after_parse(sl_str_of(text), &after, &err), -1);
    assert_string_equal(err.message, "annotation sliced.dev/after: more than 16 items");
    assert_int_equal(sl_after_parse((struct sl_str){text, len - 2}, &after, &err), 0);

    len = (size_t)snprintf(text, sizeof(text), "a in (b");
    for (int i = 0; i < SL_STAGE_HASHES_MAX; i++) {
        len += (size_t)snprintf(text + len, sizeof(text) - len, ",b");
    }
    (void)snprintf(text + len, sizeof(text) - len, ")");
    assert_int_equal(sl_after_parse(sl_str_of(text), &after, &err), -1);
    assert_non_null(strstr(err.message, "too many values in selectors"));

    len = (size_t)snprintf(text, sizeof(text), "(a");
    for (int i = 0; i < SL_STAGE_RULES_MAX; i++) {
        len += (size_t)snprintf(text + len, sizeof(text) - len, ",a");
    }
    (void)snprintf(text + len, sizeof(text) - len, ")");
    assert_int_equal(sl_after_parse(sl_str_of(text), &after, &err), -1);
    assert_non_null(strstr(err.message, "too many requirements in selectors"));

    memset(text, 'a', sizeof(text));
    text[1] = '=';
    assert_true(parses(text, 2 + 63));
    assert_false(parses(text, 2 + 64));
    text[1] = 'a';
    assert_true(parses(text, 253));
    assert_false(parses(text, 254));
    assert_int_equal(sl_after_parse((struct sl_str){text, 1025}, &after, &err), -1);
    assert_string_equal(err.message, "annotation sliced.dev/after: longer than 1024 bytes");
}

/* As Kubernetes says: != and notin also match pods without the label. */
TEST_THAT(selectors_match_as_in_kubernetes)
{
    static const struct {
        const char *selector;
        const char *labels;
        bool matches;
    } cases[] = {
        {"a=1", "a=1", true},
        {"a=1", "a=2", false},
        {"a=1", "b=1", false},
        {"a=1", NULL, false},
        {"a!=1", "a=1", false},
        {"a!=1", "a=2", true},
        {"a!=1", NULL, true},
        {"a in (1,2)", "a=2 b=3", true},
        {"a in (1,2)", "a=3", false},
        {"a notin (1,2)", "a=2", false},
        {"a notin (1,2)", "a=3", true},
        {"a notin (1,2)", "b=1", true},
        {"(a)", "a=7", true},
        {"(a)", "b=7", false},
        {"!a", "a=7", false},
        {"!a", "b=7", true},
        {"(a=1,b=2)", "a=1 b=2 c=3", true},
        {"(a=1,b=2)", "a=1 b=3", false},
        {"(a=1,!b)", "a=1", true},
        {"(a=1,!b)", "a=1 b=2", false},
        {"x.io/a=1", "x.io/a=1", true},
        {"x.io/a=1", "a=1", false},
        {"a=", "a=", true},
        {"a=", "a=1", false},
    };
    struct stage_rig *rig = stage_rig_new(100);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sl_after after;
        assert_int_equal(sl_after_parse(sl_str_of(cases[i].selector), &after, NULL), 0);
        struct sl_pod *pod = stage_rig_make(rig, "a", "a", cases[i].labels, NULL, "");
        if (sl_stage_matches(after.rule, after.item[0].n_rules, after.hash, pod->label,
                             pod->n_labels) != cases[i].matches) {
            fail_msg("%s of %s", cases[i].selector,
                     cases[i].labels == NULL ? "nothing" : cases[i].labels);
        }
        sl_pod_unref(pod);
    }
    stage_rig_free(rig);
}

TEST_THAT(a_selector_alone_reads_as_kubectl_writes_it)
{
    const uint64_t red = sl_hash("team=red", 8);
    const uint64_t team = sl_hash("team", 4);
    const uint64_t label[] = {red < team ? red : team, red < team ? team : red};
    static const struct {
        const char *text;
        bool matches;
    } good[] = {{"", true},           {" team = red ", true},   {"team=blue", false},
                {"team", true},       {"!team", false},         {"team in (blue,red)", true},
                {"team!=red", false}, {"team=red,tier", false}, {"team=red,!tier", true}};
    static const char *const bad[] = {"team in (red",   "team)", "a),(b",
                                      "team=red,,tier", "=",     "a=b=c"};
    struct sl_selector selector;
    struct sl_error err = {.code = SL_ERR_NONE};
    char longer[SL_SELECTOR_TEXT_MAX + 2];
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(sl_selector_parse(sl_str_of(good[i].text), &selector, &err), 0);
        if (sl_selector_matches(&selector, label, 2) != good[i].matches) {
            fail_msg("%s", good[i].text);
        }
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (sl_selector_parse(sl_str_of(bad[i]), &selector, &err) == 0) {
            fail_msg("%s was taken", bad[i]);
        }
        assert_true(strncmp(err.message, "selector: ", 10) == 0);
    }
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_true(sl_selector_parse(sl_str_of(longer), &selector, &err) < 0);
    assert_int_equal(err.code, SL_ERR_LIMIT);
}
