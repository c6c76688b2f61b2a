/* The functions behind the commands, and those of their parts that tests look at. */
#ifndef SLICED_CLI_COMMANDS_H
#define SLICED_CLI_COMMANDS_H

#include "cli/session.h"

extern const struct sl_cli_commands sl_cli_commands;

/* Each returns the exit status. */
int sl_cli_list(struct sl_cli *cli); /* queue, tenants, usage, nodes, partitions, top */
int sl_cli_why(struct sl_cli *cli);
int sl_cli_when(struct sl_cli *cli);
int sl_cli_release(struct sl_cli *cli);
int sl_cli_ui(struct sl_cli *cli);
int sl_cli_simulate(struct sl_cli *cli);
int sl_cli_completion(struct sl_cli *cli);

/* Becomes kubectl with those n arguments, its name the first, and the user's choice of cluster;
 * argv has room for five more. Returns after a complaint when kubectl cannot be run. */
void sl_cli_run_kubectl(const struct sl_cli *cli, const char **argv, unsigned n);

/* Appends "Head:      text" and a line's end, with escapes; nothing when the text is empty. */
void sl_cli_line(struct sl_buf *out, struct sl_str head, struct sl_str text);

/* Appends the story of a pod that the server told as a table of one row: a line for each cell, then
 * what the nodes have against it, folded by reason, and what would help. -1 with *err when the
 * value is no such table. */
int sl_cli_story(const struct sl_value *table, struct sl_buf *out, struct sl_error *err);

/* Appends what an answered StartEstimate says, for people. Returns the exit status. */
int sl_cli_when_text(const struct sl_value *answer, struct sl_buf *out);

/* Appends what may stand for the last of the words, one a line with a tab and what it means behind
 * it, then ":4", or ":0" where files may stand: the protocol of kubectl and its plugins. Asks the
 * server for names where these are wanted, and is silent about its complaints. */
void sl_cli_complete(const struct sl_cli_commands *commands, int n, char *const *words,
                     struct sl_buf *out);

#endif
