/* Completion, from the tables of commands and options, and from what the server lists. */
#include "cli/commands.h"

#include <stdio.h>

enum { WORDS_MAX = 64 };

/* ---- scripts ---- */

static const char bash_script[] =
    "_kubectl_sliced() {\n"
    "    local told directive line\n"
    "    told=$(kubectl-sliced __complete \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
    "    directive=${told##*$'\\n'}\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do\n"
    "        [ \"$line\" = \"$directive\" ] || COMPREPLY+=(\"${line%%$'\\t'*}\")\n"
    "    done <<<\"$told\"\n"
    "    if [ \"$directive\" = :0 ]; then\n"
    "        compopt -o default\n"
    "    fi\n"
    "}\n"
    "complete -F _kubectl_sliced kubectl-sliced\n";

static const char zsh_script[] =
    "#compdef kubectl-sliced\n"
    "_kubectl_sliced() {\n"
    "    local -a told items\n"
    "    local line\n"
    "    told=(\"${(@f)$(kubectl-sliced __complete \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\")\n"
    "    for line in \"${(@)told[1,-2]}\"; do\n"
    "        items+=(\"${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}\")\n"
    "    done\n"
    "    if [[ ${told[-1]} == :0 ]]; then\n"
    "        _files\n"
    "    else\n"
    "        _describe kubectl-sliced items\n"
    "    fi\n"
    "}\n"
    "compdef _kubectl_sliced kubectl-sliced\n";

int sl_cli_completion(struct sl_cli *cli)
{
    const char *shell = cli->options->name;
    bool zsh = strcmp(shell, "zsh") == 0;
    if (!zsh && strcmp(shell, "bash") != 0) {
        sl_cli_complain("completion takes bash or zsh, not \"%s\"", shell);
        return SL_CLI_WRONG;
    }
    return fputs(zsh ? zsh_script : bash_script, stdout) >= 0 && fflush(stdout) == 0
               ? SL_CLI_DONE
               : SL_CLI_REFUSED;
}

/* ---- words ---- */

struct offer {
    struct sl_buf *out;
    struct sl_str begins; /* what is there of the word */
    const char *after;    /* the option before the word */
    bool takes_value;     /* it does */
};

static void offer_word(const struct offer *offer, struct sl_str word, const char *meaning)
{
    if (sl_str_starts(word, offer->begins)) {
        sl_buf_append(offer->out, word.s, word.len);
        sl_buf_printf(offer->out, "\t%s\n", meaning);
    }
}

static void offer_option(void *context, const char *name, bool takes_value)
{
    (void)takes_value;
    offer_word(context, sl_str_of(name), "");
}

static void see_option(void *context, const char *name, bool takes_value)
{
    struct offer *offer = context;
    bool same = strcmp(name, offer->after) == 0;
    offer->takes_value = offer->takes_value || (same && takes_value);
}

/* Names are words of the shell: what is none is no name of Kubernetes either. */
static bool is_name(struct sl_str text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";
    for (size_t i = 0; i < text.len; i++) {
        if (text.s[i] == '\0' || strchr(plain, text.s[i]) == NULL) {
            return false;
        }
    }
    return text.len > 0;
}

static void offer_names(const struct offer *offer, struct sl_cli *cli, const char *kind,
                        bool namespaced)
{
    struct sl_cli_answer answer;
    struct sl_cli_call call = {.form = SL_FORM_TABLE};
    sl_cli_path(&call.path, namespaced ? cli->namespace : NULL, kind, NULL);
    sl_buf_puts(&call.path, "?limit=500&includeObject=None");
    if (sl_cli_ask(cli, &call, &answer) == 0) {
        const struct sl_value *row = sl_value_at(answer.value, "rows");
        for (row = row == NULL ? NULL : row->first; row != NULL; row = row->next) {
            const struct sl_value *cells = sl_value_at(row, "cells");
            struct sl_str name = {NULL, 0};
            if (cells != NULL && cells->first != NULL) {
                name = cells->first->text;
            }
            if (is_name(name)) {
                offer_word(offer, name, "");
            }
        }
    }
}

/* The objects that the command may be about. */
static void offer_objects(const struct offer *offer, const struct sl_cli_options *options)
{
    const struct sl_cli_command *command = options->command;
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_cli cli;
    if (strcmp(command->name, "completion") == 0) {
        offer_word(offer, SL_STR("bash"), "");
        offer_word(offer, SL_STR("zsh"), "");
        return;
    }
    if (sl_cli_open(&cli, options, &err) == 0) {
        bool pods = command->kind == NULL;
        offer_names(offer, &cli, pods ? "queuedpods" : command->kind, command->namespaced);
        if (strcmp(command->name, "why") == 0) {
            offer_names(offer, &cli, "runningpods", true);
        }
    }
    sl_cli_close(&cli);
}

static void offer_values(const struct offer *offer)
{
    static const char *const formats[] = {"table", "wide", "json", "yaml"};
    bool output = strcmp(offer->after, "--output") == 0 || strcmp(offer->after, "-o") == 0;
    for (size_t i = 0; output && i < sizeof(formats) / sizeof(formats[0]); i++) {
        offer_word(offer, sl_str_of(formats[i]), "");
    }
}

static bool is_one_of(const char *word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(word, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Returns the directive: 0 where a file may stand, else 4. */
static int offer_all(struct offer *offer, const struct sl_cli_commands *commands,
                     const struct sl_cli_options *options)
{
    static const char *const files[] = {"-f", "--file", "--kubeconfig"};
    static const char *const valued[] = {"-n", "-o"};
    if (is_one_of(offer->after, files, sizeof(files) / sizeof(files[0]))) {
        return 0;
    }
    if (options->command != NULL) {
        sl_cli_options_each(options->command, see_option, offer);
    }
    if (offer->takes_value || is_one_of(offer->after, valued, sizeof(valued) / sizeof(valued[0]))) {
        offer_values(offer);
    } else if (options->command == NULL) {
        for (unsigned i = 0; i < commands->n; i++) {
            offer_word(offer, sl_str_of(commands->row[i].name), commands->row[i].brief);
        }
    } else if (sl_str_starts(offer->begins, SL_STR("-"))) {
        sl_cli_options_each(options->command, offer_option, offer);
    } else if (options->command->takes != SL_CLI_NONE && options->name == NULL) {
        offer_objects(offer, options);
    }
    return 4;
}

void sl_cli_complete(const struct sl_cli_commands *commands, int n, char *const *words,
                     struct sl_buf *out)
{
    char program[] = "kubectl-sliced";
    char *argv[WORDS_MAX] = {program};
    struct sl_cli_options options;
    struct sl_error err = {.code = SL_ERR_NONE};
    if (n < 1 || n > WORDS_MAX - 1) {
        sl_buf_puts(out, ":4\n");
        return;
    }
    for (int i = 0; i + 1 < n; i++) {
        argv[i + 1] = words[i];
    }
    (void)sl_cli_options_parse(commands, n, argv, &options, &err); /* what is whole of it counts */
    struct offer offer = {
        .out = out, .begins = sl_str_of(words[n - 1]), .after = n > 1 ? words[n - 2] : ""};
    int directive = offer_all(&offer, commands, &options);
    sl_buf_printf(out, ":%d\n", directive);
}
