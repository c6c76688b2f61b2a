/* Plays the pods that wait now in other orders: kubectl reads the cluster with its user's rights,
 * and slicesim plays it. */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { ARGS = 12 };

static void run_kubectl(const struct sl_cli *cli, int out)
{
    const char *argv[ARGS] = {"kubectl", "get", "nodes,pods", "--all-namespaces", "-o", "json"};
    if (dup2(out, STDOUT_FILENO) >= 0) {
        sl_cli_run_kubectl(cli, argv, 6);
    }
    _exit(SL_CLI_REFUSED);
}

static int run_slicesim(const struct sl_cli_options *options, int in)
{
    const char *argv[ARGS] = {
        "slicesim", "run",      "--live",
        "-",        "--policy", options->order == NULL ? "bounded,fifo,sjf" : options->order};
    unsigned n = 6;
    if (options->play_for != NULL) {
        argv[n++] = "--for";
        argv[n++] = options->play_for;
    }
    argv[n] = NULL;
    if (dup2(in, STDIN_FILENO) >= 0) {
        (void)execvp(argv[0], (char *const *)argv);
    }
    sl_cli_complain("slicesim cannot be run: %s; it comes with sliced and has to be in $PATH",
                    strerror(errno));
    return SL_CLI_REFUSED;
}

int sl_cli_simulate(struct sl_cli *cli)
{
    int pipes[2];
    sl_client_free(cli->client); /* before processes are made */
    cli->client = NULL;
    if (pipe(pipes) < 0) {
        sl_cli_complain("no pipe: %s", strerror(errno));
        return SL_CLI_REFUSED;
    }
    pid_t child = fork();
    if (child == 0) {
        (void)close(pipes[0]);
        run_kubectl(cli, pipes[1]);
    }
    (void)close(pipes[1]);
    if (child < 0) {
        sl_cli_complain("no process for kubectl: %s", strerror(errno));
        (void)close(pipes[0]);
        return SL_CLI_REFUSED;
    }
    return run_slicesim(cli->options, pipes[0]);
}
