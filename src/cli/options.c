/* One table of options, with the commands that have each. */
#include "cli/options.h"

#include <stdio.h>

#include "util/term/option.h"

enum { HELP_COLUMN = 28 };

enum {
    LISTS = SL_CLI_QUEUE | SL_CLI_NODES | SL_CLI_PARTITIONS | SL_CLI_TOP | SL_CLI_TENANTS |
            SL_CLI_USAGE,
    ASKS = LISTS | SL_CLI_WHY | SL_CLI_WHEN | SL_CLI_UI, /* of sliced, and not of pods */
    ALL = ASKS | SL_CLI_RELEASE | SL_CLI_SIMULATE,
};

#define AT(member) .at = offsetof(struct sl_cli_options, member)

static const struct sl_option rows[] = {
    {"--namespace", "NAMESPACE", "else that of the kubeconfig's context; of ui: where sliced runs",
     AT(namespace), .kind = SL_OPTION_TEXT,
     .commands =
         SL_CLI_QUEUE | SL_CLI_WHY | SL_CLI_WHEN | SL_CLI_TENANTS | SL_CLI_RELEASE | SL_CLI_UI,
     .letter = 'n'},
    {"--all-namespaces", NULL, "the pods of all namespaces; all tenants", AT(all),
     .commands = SL_CLI_QUEUE | SL_CLI_TENANTS, .letter = 'A'},
    {"--watch", NULL, "stay, and print what changes", AT(watch),
     .commands = LISTS & ~(unsigned)SL_CLI_USAGE, .letter = 'w'},
    {"--since", "TIME", "over the last 1d, 7d, 30d or 90d (30d)", AT(since), .kind = SL_OPTION_ONCE,
     .commands = SL_CLI_USAGE},
    {"--output", "FORMAT", "table, wide, json or yaml; of usage csv, too", .kind = SL_OPTION_OTHER,
     .commands = LISTS | SL_CLI_WHY | SL_CLI_WHEN, .letter = 'o'},
    {"--file", "FILE", "the pod, as YAML or JSON; - is standard input", AT(file),
     .kind = SL_OPTION_ONCE, .commands = SL_CLI_WHEN, .letter = 'f'},
    {"--ask", "RESOURCE=N", "a pod that asks for that, instead of a file; may be repeated",
     .kind = SL_OPTION_OTHER, .commands = SL_CLI_WHEN},
    {"--timeout", "DURATION", "with --ask: how long the pod runs at most, as 30m or 8h",
     AT(timeout), .kind = SL_OPTION_ONCE, .commands = SL_CLI_WHEN},
    {"--order", "ORDER[,ORDER...]", "the orders to compare (bounded,fifo,sjf)", AT(order),
     .kind = SL_OPTION_ONCE, .commands = SL_CLI_SIMULATE},
    {"--for", "DURATION", "how long to play, as 7d (until all have ended)", AT(play_for),
     .kind = SL_OPTION_ONCE, .commands = SL_CLI_SIMULATE},
    {"--open", NULL, "open the browser too (xdg-open)", AT(open), .commands = SL_CLI_UI},
    {"--dry-run", NULL, "only say what would be done", AT(dry_run), .commands = SL_CLI_RELEASE},
    {"--server", "URL", "ask a daemon directly, as nobody: an embedded cluster, a forwarded port",
     AT(server), .kind = SL_OPTION_TEXT, .commands = ASKS},
    {"--kubeconfig", "FILE",
     "access to the cluster; else $KUBECONFIG, the pod's service account, ~/.kube/config",
     AT(kubeconfig), .kind = SL_OPTION_TEXT, .commands = ALL},
    {"--context", "NAME", "context of the kubeconfig", AT(context), .kind = SL_OPTION_TEXT,
     .commands = ALL},
    {"--version", NULL, "print the version and exit", AT(version)},
    {"--help", NULL, "print this and exit", AT(help), .letter = 'h'},
};

static struct sl_option_table table_of(const struct sl_cli_command *command)
{
    return (struct sl_option_table){
        .option = rows,
        .n = sizeof(rows) / sizeof(rows[0]),
        .command = "kubectl sliced",
        .which = command == NULL ? 0 : command->bit,
    };
}

/* ---- values ---- */

static int take_output(const char *value, struct sl_cli_options *out, struct sl_error *err)
{
    static const char *const names[] = {[SL_CLI_TABLE] = "table",
                                        [SL_CLI_WIDE] = "wide",
                                        [SL_CLI_JSON] = "json",
                                        [SL_CLI_YAML] = "yaml",
                                        [SL_CLI_CSV] = "csv"};
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        bool other = i == SL_CLI_CSV && out->command->bit != SL_CLI_USAGE;
        if (strcmp(value, names[i]) == 0 && !other) {
            out->output = (enum sl_cli_output)i;
            return 0;
        }
    }
    return sl_error_set(err, SL_ERR_FIELD, "--output takes table, wide, json or yaml, not \"%s\"",
                        value);
}

static int take_ask(const char *value, struct sl_cli_options *out, struct sl_error *err)
{
    const char *sign = strrchr(value, '=');
    int64_t count = 0;
    if (sign == NULL || sign == value || !sl_str_to_i64(sl_str_of(sign + 1), &count) ||
        count <= 0) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "--ask takes RESOURCE=N, as nvidia.com/mig-1g.6gb=2, not \"%s\"",
                            value);
    }
    if (out->n_asks == SL_CLI_ASKS_MAX) {
        return sl_error_set(err, SL_ERR_LIMIT, "more than %d --ask", (int)SL_CLI_ASKS_MAX);
    }
    out->ask[out->n_asks++] = value;
    return 0;
}

static int take_option(const struct sl_option_table *table, int argc, char *const *argv, int *at,
                       struct sl_cli_options *out, struct sl_error *err)
{
    const char *value = NULL;
    const struct sl_option *option = sl_option_take(table, argc, argv, at, out, &value, err);
    if (option == NULL && out->command == NULL) {
        return sl_error_wrap(err, "the command goes first");
    }
    if (option == NULL) {
        return -1;
    }
    if (option->kind != SL_OPTION_OTHER) {
        return 0;
    }
    return option->letter == 'o' ? take_output(value, out, err) : take_ask(value, out, err);
}

/* ---- the line ---- */

static int fail_unknown(const struct sl_cli_commands *commands, const char *word,
                        struct sl_error *err)
{
    struct sl_buf names;
    sl_buf_init(&names, 512);
    for (unsigned i = 0; i < commands->n; i++) {
        sl_buf_printf(&names, "%s%s", i == 0 ? "" : ", ", commands->row[i].name);
    }
    (void)sl_error_set(err, SL_ERR_FIELD, "unknown command \"%s\"; there are %.*s", word,
                       (int)names.len, names.len == 0 ? "" : names.data);
    sl_buf_free(&names);
    return -1;
}

static int find_command(const struct sl_cli_commands *commands, const char *word,
                        struct sl_cli_options *out, struct sl_error *err)
{
    for (unsigned i = 0; i < commands->n; i++) {
        if (strcmp(word, commands->row[i].name) == 0) {
            out->command = &commands->row[i];
            return 0;
        }
    }
    return fail_unknown(commands, word, err);
}

static int take_operand(const struct sl_cli_commands *commands, const char *word,
                        struct sl_cli_options *out, struct sl_error *err)
{
    const struct sl_cli_command *command = out->command;
    if (command == NULL) {
        return strcmp(word, "help") == 0 ? (out->help = true, 0)
                                         : find_command(commands, word, out, err);
    }
    if (out->name != NULL || command->takes == SL_CLI_NONE) {
        return sl_error_set(err, SL_ERR_FIELD, "%s: one word too many for kubectl sliced %s", word,
                            command->name);
    }
    out->name = word;
    return 0;
}

/* Names become parts of a path, so what is no name may not get there. */
static int check_name(const char *what, const char *name, struct sl_error *err)
{
    if (name == NULL || (name[0] != '\0' && strchr(name, '/') == NULL)) {
        return 0;
    }
    return sl_error_set(err, SL_ERR_FIELD, "%s: expected a name, which holds no '/', not \"%s\"",
                        what, name);
}

static int check_options(const struct sl_cli_options *line, struct sl_error *err)
{
    const struct sl_cli_command *command = line->command;
    if (line->help || line->version) {
        return 0;
    }
    if (command == NULL) {
        return sl_error_set(err, SL_ERR_FIELD, "what shall be done? kubectl sliced --help tells");
    }
    if (command->takes == SL_CLI_REQUIRED && line->name == NULL) {
        return sl_error_set(err, SL_ERR_FIELD, "kubectl sliced %s needs a %s", command->name,
                            command->operand);
    }
    if (check_name("--namespace", line->namespace, err) < 0 ||
        check_name(command->operand, line->name, err) < 0) {
        return -1;
    }
    if (line->all && (line->namespace != NULL || line->name != NULL)) {
        return sl_error_set(err, SL_ERR_FIELD, "--all-namespaces goes with no %s",
                            line->name != NULL ? "name" : "--namespace");
    }
    static const char *const times[] = {"1d", "7d", "30d", "90d"};
    bool known = line->since == NULL;
    for (unsigned i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        known = known || strcmp(line->since, times[i]) == 0;
    }
    if (!known) {
        return sl_error_set(err, SL_ERR_FIELD, "--since takes 1d, 7d, 30d or 90d, not \"%s\"",
                            line->since);
    }
    if (line->server != NULL && (line->kubeconfig != NULL || line->context != NULL)) {
        return sl_error_set(err, SL_ERR_FIELD, "--server asks as nobody: without --%s",
                            line->kubeconfig != NULL ? "kubeconfig" : "context");
    }
    return 0;
}

int sl_cli_options_parse(const struct sl_cli_commands *commands, int argc, char *const *argv,
                         struct sl_cli_options *out, struct sl_error *err)
{
    *out = (struct sl_cli_options){.command = NULL};
    for (int i = 1; i < argc; i++) {
        const struct sl_option_table table = table_of(out->command);
        int rc = argv[i][0] == '-' ? take_option(&table, argc, argv, &i, out, err)
                                   : take_operand(commands, argv[i], out, err);
        if (rc < 0) {
            return -1;
        }
    }
    return check_options(out, err);
}

void sl_cli_options_each(const struct sl_cli_command *command,
                         void (*tell)(void *context, const char *name, bool takes_value),
                         void *context)
{
    const unsigned which = table_of(command).which;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].commands == 0 || (rows[i].commands & which) != 0) {
            tell(context, rows[i].name, rows[i].value != NULL);
        }
    }
}

/* ---- help ---- */

/* "why POD", "queue [POD]" */
static void usage_text(const struct sl_cli_command *command, char out[64])
{
    bool optional = command->takes == SL_CLI_OPTIONAL;
    (void)snprintf(out, 64, "%s%s%s%s%s", command->name, command->operand == NULL ? "" : " ",
                   optional ? "[" : "", command->operand == NULL ? "" : command->operand,
                   optional ? "]" : "");
}

static void help_of(const struct sl_cli_command *command, struct sl_buf *out)
{
    const struct sl_option_table table = table_of(command);
    char usage[64];
    usage_text(command, usage);
    sl_buf_printf(out, "%s\n\nUsage: kubectl sliced %s [OPTION...]\n\nOptions:\n", command->help,
                  usage);
    sl_option_help(&table, HELP_COLUMN, out);
}

void sl_cli_help(const struct sl_cli_commands *commands, const struct sl_cli_command *command,
                 struct sl_buf *out)
{
    if (command != NULL) {
        help_of(command, out);
        return;
    }
    sl_buf_printf(out,
                  "kubectl-sliced %s: the queue of sliced for its users, with their own rights\n\n"
                  "Usage: kubectl sliced COMMAND [OPTION...]\n\nCommands:\n",
                  SL_VERSION);
    for (unsigned i = 0; i < commands->n; i++) {
        const struct sl_cli_command *each = &commands->row[i];
        char left[64];
        usage_text(each, left);
        sl_buf_printf(out, "  %-*s %s\n", HELP_COLUMN, left, each->brief);
    }
    sl_buf_puts(
        out,
        "\nExamples:\n"
        "  kubectl sliced queue                             who waits in your namespace, and why\n"
        "  kubectl sliced queue -w                          the same, and what changes\n"
        "  kubectl sliced why train-1                       what keeps that pod, and what would "
        "help\n"
        "  kubectl sliced when --ask nvidia.com/gpu=8 --timeout 30m\n"
        "  kubectl sliced queue --server http://127.0.0.1:8888    of an embedded cluster\n"
        "\nkubectl sliced COMMAND --help tells more. Put the program into a folder of $PATH.\n"
        "Exit status: 0 done; 1 the server refused, or could not be asked; 2 wrong option, file "
        "or\n"
        "kubeconfig; 3 when: no start can be told; 4 not now, the same may succeed later.\n");
}
