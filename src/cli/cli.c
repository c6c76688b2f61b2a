/* The program: its command line, then the command. */
#include "cli/cli.h"

#include <stdio.h>

#include "cli/commands.h"

enum { HELP_BYTES_MAX = 64 << 10, OFFER_BYTES_MAX = 4 << 20 };

static int print_help(const struct sl_cli_options *options)
{
    struct sl_buf text;
    sl_buf_init(&text, HELP_BYTES_MAX);
    if (options->version) {
        sl_buf_puts(&text, "kubectl-sliced " SL_VERSION "\n");
    } else {
        sl_cli_help(&sl_cli_commands, options->command, &text);
    }
    int status = sl_cli_print(&text);
    sl_buf_free(&text);
    return status;
}

static int complete_words(int n, char *const *words)
{
    struct sl_buf text;
    sl_buf_init(&text, OFFER_BYTES_MAX);
    sl_cli_complete(&sl_cli_commands, n, words, &text);
    int status = sl_cli_print(&text);
    sl_buf_free(&text);
    return status;
}

static int run(const struct sl_cli_options *options)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_cli cli = {.options = options};
    int status = SL_CLI_WRONG;
    if (options->command->run == sl_cli_completion) {
        return sl_cli_completion(&cli); /* asks nobody */
    }
    if (sl_cli_open(&cli, options, &err) < 0) {
        sl_cli_complain("%s%s%s", err.field, err.field[0] == '\0' ? "" : ": ", err.message);
    } else {
        status = options->command->run(&cli);
    }
    sl_cli_close(&cli);
    return status;
}

int sl_cli_main(int argc, char **argv)
{
    struct sl_cli_options options;
    struct sl_error err = {.code = SL_ERR_NONE};
    if (argc > 1 && strcmp(argv[1], "__complete") == 0) {
        return complete_words(argc - 2, argv + 2);
    }
    if (sl_cli_options_parse(&sl_cli_commands, argc, argv, &options, &err) < 0) {
        sl_cli_complain("%s", err.message);
        return SL_CLI_WRONG;
    }
    return options.help || options.version ? print_help(&options) : run(&options);
}
