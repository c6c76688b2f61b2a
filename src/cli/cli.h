/* kubectl-sliced: the queue for its users, by the API server and with their own rights, or from a
 * daemon directly. */
#ifndef SLICED_CLI_CLI_H
#define SLICED_CLI_CLI_H

int sl_cli_main(int argc, char **argv);

#endif
