/* Options by their table: what is taken, what is refused with which words, and the help. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/test.h"
#include "util/term/option.h"

struct taken {
    const char *file;
    const char *name;
    const char *form;
    uint64_t count;
    bool quiet;
};

#define AT(member) .at = offsetof(struct taken, member)

static const struct sl_option options[] = {
    {"--file", "FILE", "what to read", AT(file), .kind = SL_OPTION_TEXT},
    {"--name", "NAME", "what it is called", AT(name), .kind = SL_OPTION_ONCE, .commands = 1U << 1},
    {"--name-of", "NAME", "another", AT(name), .kind = SL_OPTION_ONCE},
    {"--count", "N", "how many", AT(count), .min = 1, .max = 9, .kind = SL_OPTION_NUMBER},
    {"--more", "WORD", "the caller's", AT(file), .kind = SL_OPTION_OTHER},
    {"--quiet", NULL, "say nothing", AT(quiet), .letter = 'q'},
    {"--form", "FORM", "as what", AT(form), .kind = SL_OPTION_ONCE, .letter = 'o'},
};

static const struct sl_option_table table = {
    .option = options, .n = sizeof(options) / sizeof(options[0]), .command = "try", .which = 1};

enum { WORDS_MAX = 8 };

/* Takes all of a line; the name of the last option, or what was wrong. */
static const char *take(const struct sl_option_table *of, char *line, struct taken *out,
                        struct sl_error *err)
{
    char *argv[WORDS_MAX] = {NULL};
    char *next = NULL;
    const char *last = "";
    int argc = 0;
    for (char *word = strtok_r(line, " ", &next); word != NULL; word = strtok_r(NULL, " ", &next)) {
        argv[argc++] = word;
    }
    *out = (struct taken){.count = 0};
    for (int i = 0; i < argc; i++) {
        const char *value = NULL;
        const struct sl_option *option = sl_option_take(of, argc, argv, &i, out, &value, err);
        if (option == NULL) {
            return err->message;
        }
        last = option->kind == SL_OPTION_OTHER ? value : option->name;
    }
    return last;
}

TEST_THAT(values_stand_behind_a_space_or_an_equals_sign)
{
    char line[] = "--file a --file=b --name-of=-c --count 9 -q";
    struct sl_error err = {.code = SL_ERR_NONE};
    struct taken out;
    assert_string_equal(take(&table, line, &out, &err), "--quiet");
    assert_string_equal(out.file, "b");
    assert_string_equal(out.name, "-c");
    assert_int_equal(out.count, 9);
    assert_true(out.quiet);
}

TEST_THAT(a_letters_value_may_stand_right_behind_it)
{
    static const char *const lines[] = {"-o json", "-ojson", "-o=json", "--form=json"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char line[16];
        struct sl_error err = {.code = SL_ERR_NONE};
        struct taken out;
        (void)snprintf(line, sizeof(line), "%s", lines[i]);
        assert_string_equal(take(&table, line, &out, &err), "--form");
        assert_string_equal(out.form, "json");
    }
}

TEST_THAT(letters_of_flags_stand_in_one_word)
{
    static const char *const lines[] = {"-qo json", "-qqojson", "-qo=json"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char line[16];
        struct sl_error err = {.code = SL_ERR_NONE};
        struct taken out;
        (void)snprintf(line, sizeof(line), "%s", lines[i]);
        assert_string_equal(take(&table, line, &out, &err), "--form");
        assert_string_equal(out.form, "json");
        assert_true(out.quiet);
    }
}

TEST_THAT(what_is_the_callers_is_left_to_it)
{
    char line[] = "--more word";
    struct sl_error err = {.code = SL_ERR_NONE};
    struct taken out;
    assert_string_equal(take(&table, line, &out, &err), "word");
    assert_null(out.file);
}

TEST_THAT(what_is_wrong_is_said)
{
    static const char *const cases[][2] = {
        {"--fil x", "unknown option --fil; did you mean --file?"},
        {"--fiel=x", "unknown option --fiel=x; did you mean --file?"},
        {"--name x", "unknown option --name; did you mean --name-of?"}, /* another command's */
        {"-x", "unknown option -x; try --help lists them"},
        {"--file", "--file needs a value: --file FILE"},
        {"-o", "--form needs a value: --form FORM"},
        {"-o=", "--form needs a value: --form FORM"},
        {"-qx", "unknown option -qx; try --help lists them"},
        {"--file=", "--file needs a value: --file FILE"},
        {"--quiet=yes", "--quiet takes no value"},
        {"--name-of a --name-of b", "--name-of is given twice"},
        {"--count 0", "--count takes an integer in 1..9, not \"0\""},
        {"--count 10", "--count takes an integer in 1..9, not \"10\""},
        {"--count -1", "--count takes an integer in 1..9, not \"-1\""},
        {"--count x", "--count takes an integer in 1..9, not \"x\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sl_error err = {.code = SL_ERR_NONE};
        struct taken out;
        char line[64];
        (void)snprintf(line, sizeof(line), "%s", cases[i][0]);
        assert_string_equal(take(&table, line, &out, &err), cases[i][1]);
        assert_int_equal(err.code, SL_ERR_FIELD);
    }
}

TEST_THAT(an_option_belongs_to_its_commands)
{
    struct sl_option_table other = table;
    struct sl_error err = {.code = SL_ERR_NONE};
    struct taken out;
    char line[] = "--name x";
    other.which = 1U << 1;
    assert_string_equal(take(&other, line, &out, &err), "--name");
}

TEST_THAT(the_help_has_a_line_for_each_that_the_command_has)
{
    struct sl_buf out;
    sl_buf_init(&out, 4096);
    sl_option_help(&table, 16, &out);
    sl_buf_putc(&out, '\0');
    assert_string_equal(out.data, "  --file FILE      what to read\n"
                                  "  --name-of NAME   another\n"
                                  "  --count N        how many\n"
                                  "  --more WORD      the caller's\n"
                                  "  --quiet, -q      say nothing\n"
                                  "  --form, -o FORM  as what\n");
    sl_buf_free(&out);
}
