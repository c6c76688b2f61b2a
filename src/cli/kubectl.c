/* Commands that go on as kubectl itself, with its user's rights. */
#include "cli/commands.h"

#include <errno.h>
#include <unistd.h>

void sl_cli_run_kubectl(const struct sl_cli *cli, const char **argv, unsigned n)
{
    const struct sl_cli_options *options = cli->options;
    if (options->kubeconfig != NULL) {
        argv[n++] = "--kubeconfig";
        argv[n++] = options->kubeconfig;
    }
    if (options->context != NULL) {
        argv[n++] = "--context";
        argv[n++] = options->context;
    }
    argv[n] = NULL;
    (void)execvp(argv[0], (char *const *)argv);
    sl_cli_complain("kubectl cannot be run: %s", strerror(errno));
}
