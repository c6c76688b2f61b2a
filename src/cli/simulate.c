/* Plays the pods that wait now in other orders: kubectl reads the cluster with its user's rights,
 * and slicesim plays it. */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
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

/* What kubectl lists, in a file without a name: all of it, or nothing is played. NULL after a
 * complaint. */
static FILE *cluster_list(const struct sl_cli *cli)
{
    int status = 0;
    FILE *file = tmpfile();
    pid_t child = file == NULL ? -1 : fork();
    if (child == 0) {
        run_kubectl(cli, fileno(file));
    }
    if (child < 0) {
        sl_cli_complain("no %s for kubectl: %s", file == NULL ? "file" : "process",
                        strerror(errno));
    } else if (waitpid(child, &status, 0) != child || status != 0) {
        sl_cli_complain("kubectl could not list the nodes and pods of the whole cluster");
    } else if (lseek(fileno(file), 0, SEEK_SET) == 0) {
        return file;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return NULL;
}

int sl_cli_simulate(struct sl_cli *cli)
{
    sl_client_free(cli->client); /* before processes are made */
    cli->client = NULL;
    FILE *listed = cluster_list(cli);
    if (listed == NULL) {
        return SL_CLI_REFUSED;
    }
    int status = run_slicesim(cli->options, fileno(listed));
    (void)fclose(listed);
    return status;
}
