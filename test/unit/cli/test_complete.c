/* Words that need no server. */
#include "unit/cli/rig.h"

#include "cli/commands.h"

enum { WORDS_MAX = 16 };

static const char *complete(const char *line)
{
    static char text[256];
    char *words[WORDS_MAX];
    int n = 0;
    struct sl_buf out;
    assert_true(strlen(line) < sizeof(text));
    memcpy(text, line, strlen(line) + 1);
    struct sl_str rest = sl_str_of(text);
    while (rest.s != NULL && n < WORDS_MAX) {
        struct sl_str word = sl_str_cut(&rest, ' ');
        words[n] = &text[word.s - text];
        words[n++][word.len] = '\0';
    }
    sl_buf_init(&out, 1 << 16);
    sl_cli_complete(&sl_cli_commands, n, words, &out);
    return rig_text(&out);
}

TEST_PROGRAM(rig_begin, rig_end)

TEST_THAT(commands_come_first)
{
    assert_non_null(strstr(complete(""), "queue\tpods that wait"));
    assert_string_equal(complete("wh"), "why\twhat keeps a pod, and what would help\n"
                                        "when\twhen a pod would start that is not there yet\n:4\n");
    assert_string_equal(complete("nothing"), ":4\n");
}

TEST_THAT(options_are_the_commands_own)
{
    assert_string_equal(complete("queue --a"), "--all-namespaces\t\n:4\n");
    assert_string_equal(complete("why x --a"), ":4\n");
    assert_string_equal(complete("queue -n ours --w"), "--watch\t\n:4\n");
}

TEST_THAT(values_are_those_of_the_option)
{
    assert_string_equal(complete("queue -o y"), "yaml\t\n:4\n");
    assert_string_equal(complete("queue --output "), "table\t\nwide\t\njson\t\nyaml\t\n:4\n");
    assert_string_equal(complete("queue -n "), ":4\n");
    assert_string_equal(complete("when --timeout "), ":4\n");
    assert_string_equal(complete("when -f po"), ":0\n");
    assert_string_equal(complete("queue --kubeconfig "), ":0\n");
    assert_string_equal(complete("completion "), "bash\t\nzsh\t\n:4\n");
}

TEST_THAT(odd_lines_complete_to_nothing)
{
    struct sl_buf out;
    sl_buf_init(&out, 1 << 16);
    sl_cli_complete(&sl_cli_commands, 0, NULL, &out);
    assert_string_equal(rig_text(&out), ":4\n");
    assert_string_equal(complete("queue --watsh --out"), "--output\t\n:4\n");
}
