/* The command line: what is taken, and what is said of what is not. */
#include "cli/commands.h"
#include "unit/test.h"

enum { WORDS_MAX = 16 };

static struct sl_cli_options parsed;
static struct sl_error error;

/* Splits the line at blanks; the words live until the next call. */
static int parse(const char *line)
{
    static char text[256];
    static char program[] = "kubectl-sliced";
    static char *argv[WORDS_MAX];
    int argc = 0;
    assert_true(strlen(line) < sizeof(text));
    memcpy(text, line, strlen(line) + 1);
    argv[argc++] = program;
    struct sl_str rest = sl_str_of(text);
    while (rest.len > 0 && argc < WORDS_MAX) {
        struct sl_str word = sl_str_cut(&rest, ' ');
        argv[argc] = &text[word.s - text];
        argv[argc++][word.len] = '\0';
    }
    error = (struct sl_error){.code = SL_ERR_NONE};
    return sl_cli_options_parse(&sl_cli_commands, argc, argv, &parsed, &error);
}

static void assert_taken(const char *line)
{
    if (parse(line) < 0) {
        fail_msg("%s: %s", line, error.message);
    }
}

static void assert_refused(const char *line, const char *why)
{
    assert_int_equal(parse(line), -1);
    if (strstr(error.message, why) == NULL) {
        fail_msg("%s: %s", line, error.message);
    }
}

TEST_THAT(lists_take_kubectls_options)
{
    assert_taken("queue -n ours -w -o wide");
    assert_string_equal(parsed.command->name, "queue");
    assert_string_equal(parsed.namespace, "ours");
    assert_true(parsed.watch && parsed.output == SL_CLI_WIDE && parsed.name == NULL);
    assert_taken("queue train --namespace=ours -oyaml");
    assert_string_equal(parsed.name, "train");
    assert_int_equal(parsed.output, SL_CLI_YAML);
    assert_taken("queue -Aw");
    assert_true(parsed.all && parsed.watch);
    assert_taken("tenants -A -o wide");
    assert_taken("usage --since 7d -o csv");
    assert_refused("usage --since 8d", "1d, 7d, 30d or 90d, not \"8d\"");
    assert_refused("tenants -o csv", "not \"csv\"");
    assert_taken("nodes --context a --kubeconfig b");
    assert_taken("top -o json --server http://127.0.0.1:1");
}

TEST_THAT(asks_are_collected)
{
    assert_taken("when --ask nvidia.com/gpu=1 --ask a=b=2 --timeout 30m");
    assert_int_equal(parsed.n_asks, 2);
    assert_string_equal(parsed.ask[1], "a=b=2");
    assert_refused("when --ask nvidia.com/gpu", "RESOURCE=N");
    assert_refused("when --ask =1", "RESOURCE=N");
    assert_refused("when --ask nvidia.com/gpu=0", "RESOURCE=N");
    assert_refused("when --ask nvidia.com/gpu=-1", "RESOURCE=N");
    assert_refused("when --ask nvidia.com/gpu=many", "RESOURCE=N");
}

TEST_THAT(what_is_wrong_is_named)
{
    assert_refused("", "kubectl sliced --help");
    assert_refused("que", "unknown command \"que\"; there are queue, why");
    assert_refused("-n ours queue", "the command goes first");
    assert_refused("queue --watsh", "did you mean --watch?");
    assert_refused("queue -o csv", "table, wide, json or yaml, not \"csv\"");
    assert_refused("queue a b", "one word too many");
    assert_refused("when pod", "one word too many");
    assert_refused("why", "needs a POD");
    assert_refused("why pod/train", "POD: expected a name, which holds no '/', not \"pod/train\"");
    assert_refused("queue -n a/b", "--namespace: expected a name");
    assert_refused("queue -A -n ours", "--all-namespaces goes with no --namespace");
    assert_refused("queue train -A", "--all-namespaces goes with no name");
    assert_refused("queue --server http://a --context b", "asks as nobody");
    assert_refused("nodes -A", "unknown option -A");
    assert_refused("why train -w", "unknown option -w");
    assert_refused("release train --server http://a", "unknown option --server");
}

TEST_THAT(help_asks_for_nothing_else)
{
    assert_taken("--help");
    assert_taken("help");
    assert_taken("why --help");
    assert_true(parsed.help && parsed.command != NULL);
    assert_taken("--version");
}

/* An option's bits are the commands' places: each help shows what the command is about. */
TEST_THAT(each_command_has_its_own_options)
{
    static const struct {
        const char *command;
        const char *has;
        const char *has_not;
    } rows[] = {
        {"queue", "--all-namespaces", "--ask"}, {"why", "--output", "--watch"},
        {"when", "--ask", "--dry-run"},         {"tenants", "--all-namespaces", "--file"},
        {"usage", "--since", "--watch"},        {"nodes", "--watch", "--namespace"},
        {"partitions", "--watch", "--file"},    {"top", "--output", "--all-namespaces"},
        {"simulate", "--order", "--server"},    {"ui", "--open", "--output"},
        {"release", "--dry-run", "--server"},   {"completion", "--help", "--context"},
    };
    assert_int_equal(sizeof(rows) / sizeof(rows[0]), sl_cli_commands.n);
    for (unsigned i = 0; i < sl_cli_commands.n; i++) {
        struct sl_buf help;
        sl_buf_init(&help, 1 << 16);
        sl_cli_help(&sl_cli_commands, &sl_cli_commands.row[i], &help);
        sl_buf_putc(&help, '\0');
        assert_int_equal(help.failed, SL_BUF_OK);
        assert_string_equal(rows[i].command, sl_cli_commands.row[i].name);
        const char *options = strstr(help.data, "\nOptions:");
        assert_non_null(strstr(options, rows[i].has));
        assert_null(strstr(options, rows[i].has_not));
        sl_buf_free(&help);
    }
}
