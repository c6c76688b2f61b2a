/* The mig-manager's file: which lines an edit changes, and which texts it leaves alone. */
#include "unit/test.h"
#include <stdio.h>
#include <stdlib.h>

#include "kube/cut/mig_file.h"

#define ONE  "[{devices: [0], mig-enabled: true, mig-devices: {\"1g.10gb\": 7}}]"
#define HEAD "version: v1\nmig-configs:\n"
#define OLD  "  sliced-0ld-1: [{devices: [1], mig-enabled: false, mig-devices: {}}]\n"
#define OLDA "  sliced-a01d-1: [{devices: [1], mig-enabled: false, mig-devices: {}}]\n"
#define NEW  "  sliced-5c3d-1: " ONE "\n"
#define ALL                                                                                        \
    "  # what we use by hand\n"                                                                    \
    "  all-disabled:\n"                                                                            \
    "    - devices: all\n"                                                                         \
    "      mig-enabled: false\n"

/* Keeps names that contain what context says. */
static bool keeps(void *context, struct sl_str name)
{
    const char *part = context;
    struct sl_str kept = sl_str_of(part);
    for (; part != NULL && name.len >= kept.len; name.s++, name.len--) {
        if (sl_str_starts(name, kept)) {
            return true;
        }
    }
    return false;
}

static int edit(const char *text, char *kept, struct sl_buf *out, struct sl_error *err)
{
    const struct sl_mig_entry entry = {"sliced-5c3d-1", SL_STR(ONE)};
    sl_buf_init(out, SL_MIG_FILE_MAX);
    return sl_mig_file_edit(sl_str_of(text), &entry, 1, keeps, kept, out, err);
}

static void assert_edit(const char *text, char *kept, const char *expected)
{
    struct sl_buf out;
    struct sl_error err = {.message = ""};
    int result = edit(text, kept, &out, &err);
    if (result != 1) {
        fail_msg("%d %s\n%s", result, err.message, text);
    }
    sl_buf_putc(&out, '\0');
    assert_string_equal(out.data, expected);
    sl_buf_free(&out);
    assert_int_equal(edit(expected, kept, &out, &err), 0); /* nothing is left to do */
    sl_buf_free(&out);
}

static void assert_refused(const char *text, const char *message)
{
    struct sl_buf out;
    struct sl_error err = {.message = ""};
    assert_int_equal(edit(text, NULL, &out, &err), -1);
    if (strstr(err.message, message) == NULL) {
        fail_msg("%s\n%s", err.message, text);
    }
    sl_buf_free(&out);
}

/* ---- names ---- */

TEST_THAT(a_name_of_ours_is_a_hash_and_an_attempt)
{
    struct sl_str stem;
    assert_true(sl_mig_entry_name(SL_STR("sliced-5c3d-12"), &stem));
    assert_true(sl_str_eq(stem, SL_STR("sliced-5c3d")));
    const char *const others[] = {"",          "sliced",         "sliced-",      "sliced--1",
                                  "sliced-5c", "sliced-5c-",     "sliced-5C-1",  "sliced-5c-1a",
                                  "sliced-1",  "sliced-large-1", "all-disabled", "sliced-5c-1-1"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_false(sl_mig_entry_name(sl_str_of(others[i]), &stem));
    }
}

/* ---- edits ---- */

TEST_THAT(a_file_is_begun_with_its_first_entry)
{
    assert_edit("", NULL, HEAD NEW);
    assert_edit(" \n\n", NULL, HEAD NEW);
}

TEST_THAT(an_entry_is_put_before_the_others_which_stay_as_they_are)
{
    assert_edit("# of operators\n" HEAD ALL, NULL,
                "# of operators\n" HEAD "  # what we use by hand\n" NEW
                "  all-disabled:\n    - devices: all\n      mig-enabled: false\n");
    assert_edit("mig-configs:\n  a: []\nversion: \"v1\" # old\n", NULL,
                "mig-configs:\n" NEW "  a: []\nversion: \"v1\" # old\n");
    assert_edit("---\nversion: v1\nmig-configs:\n  \"a b\": [{devices: all}]", NULL,
                "---\nversion: v1\nmig-configs:\n" NEW "  \"a b\": [{devices: all}]");
}

TEST_THAT(entries_stand_where_the_others_stand)
{
    assert_edit(HEAD "      a: []\n", NULL, HEAD "      sliced-5c3d-1: " ONE "\n      a: []\n");
}

TEST_THAT(an_entry_of_ours_goes_unless_it_is_kept)
{
    char kept[] = "a01d";
    assert_edit(HEAD OLDA ALL, NULL, HEAD NEW ALL);
    assert_edit(HEAD OLDA ALL, kept, HEAD NEW OLDA ALL);
    assert_edit(HEAD ALL OLDA, NULL,
                HEAD "  # what we use by hand\n" NEW
                     "  all-disabled:\n    - devices: all\n      mig-enabled: false\n");
    assert_edit(HEAD NEW OLDA, NULL, HEAD NEW);
}

TEST_THAT(what_only_looks_like_an_entry_of_ours_stays)
{
    assert_edit(HEAD OLD, NULL, HEAD NEW OLD); /* "l" is no digit */
    assert_edit(HEAD "  a: |\n    sliced-a01d-1: [x]\n  sliced-b0-1:\n  - devices: all\n", NULL,
                HEAD NEW "  a: |\n    sliced-a01d-1: [x]\n  sliced-b0-1:\n  - devices: all\n");
}

TEST_THAT(an_entry_that_was_changed_on_its_line_is_written_anew)
{
    assert_edit(HEAD "  sliced-5c3d-1: [{devices: all, mig-enabled: false}] # mine\n" ALL, NULL,
                HEAD NEW ALL);
    assert_edit(HEAD NEW NEW, NULL, HEAD NEW);
    assert_edit(HEAD "  \"sliced-5c3d-1\": " ONE "\n", NULL, HEAD NEW);
}

TEST_THAT(lines_may_end_in_two_characters)
{
    assert_edit("version: v1\r\nmig-configs:\r\n  a: []\r\n", NULL,
                "version: v1\r\nmig-configs:\r\n" NEW "  a: []\r\n");
}

/* ---- refusals ---- */

TEST_THAT(a_file_whose_entries_cannot_be_told_apart_is_left_alone)
{
    static const char *const texts[] = {
        "version: v1\nmig-configs: {}\n",
        "version: v1\nmig-configs:\n",
        "version: v1\n",
        "mig-configs:\n  a: []\n",
        "version: v2\nmig-configs:\n  a: []\n",
        "{\"version\": \"v1\", \"mig-configs\": {\"a\": []}}",
        "version: v1\nmig-configs: {\n  a: [],\n  b: []\n  }\n",
        "version: v1\nmig-configs:\n  {\n  a: [] }\n",
        "version: v1\nmig-configs:\n  ? a\n  : []\n",
        "version: v1\nmig-configs:\n  - a\n",
        "version: v1\nmig-configs:\n  a: []\n---\nversion: v1\nmig-configs:\n  b: []\n",
        "# nothing yet\n",
        "- version: v1\n",
        "version: v1\nmig-configs:\n  \"sliced-5c\\x33d-1\": []\n",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_refused(texts[i], "line by line");
    }
}

TEST_THAT(a_file_that_is_no_yaml_is_left_alone)
{
    assert_refused(HEAD "  a: [\n", "");
    assert_refused(HEAD "  a: &x []\n  b: *x\n", "anchors");
    assert_refused(HEAD "  a: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]\n", "nested");
    assert_refused("version: v1\rmig-configs:\r  a: []\r", "line breaks");
    assert_refused(HEAD "  a: [x\xe2\x80\xa8y]\n", "line breaks");
    assert_refused(HEAD "  a: [x\xc2\x85y]\n", "line breaks");
}

TEST_THAT(an_entry_of_that_name_on_several_lines_is_somebodys)
{
    assert_refused(HEAD "  sliced-5c3d-1:\n  - devices: all\n    mig-enabled: false\n",
                   "rewritten by somebody");
    assert_refused(HEAD "  sliced-5c3d-1: [{devices: all,\n    mig-enabled: false}]\n",
                   "rewritten by somebody");
    assert_refused(HEAD "  sliced-5c3d-1: |\n    x\n", "rewritten by somebody");
}

TEST_THAT(a_file_that_would_become_too_long_is_refused)
{
    struct sl_buf text;
    struct sl_buf out;
    struct sl_error err = {.message = ""};
    char kept[] = "sliced";
    sl_buf_init(&text, SL_MIG_FILE_MAX);
    sl_buf_puts(&text, HEAD);
    for (unsigned i = 0; text.len < SL_MIG_FILE_MAX - 50; i++) {
        sl_buf_printf(&text, "  sliced-%x-1: [{devices: [1], mig-enabled: false}] #%0200u\n", i, i);
    }
    sl_buf_putc(&text, '\0');
    assert_int_equal(edit(text.data, kept, &out, &err), -1);
    assert_non_null(strstr(err.message, "longer than 921600 bytes"));
    sl_buf_free(&out);
    assert_edit(text.data, NULL, HEAD NEW);
    sl_buf_free(&text);
}
