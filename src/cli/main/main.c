/* main of kubectl-sliced. */
#include "cli/cli.h"

int main(int argc, char **argv)
{
    return sl_cli_main(argc, argv);
}
