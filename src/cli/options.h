/* The command line: which command, with what. */
#ifndef SLICED_CLI_OPTIONS_H
#define SLICED_CLI_OPTIONS_H

#include "util/buf.h"
#include "util/error.h"

enum { SL_CLI_ASKS_MAX = 16 };

enum sl_cli_output { SL_CLI_TABLE, SL_CLI_WIDE, SL_CLI_JSON, SL_CLI_YAML, SL_CLI_CSV };

struct sl_cli;

struct sl_cli_options {
    const struct sl_cli_command *command; /* NULL: none was named */
    const char *name;                     /* the operand; NULL: none */
    const char *namespace;
    const char *kubeconfig;
    const char *context;
    const char *server;
    const char *file;
    const char *timeout;
    const char *since;                /* NULL: 30d */
    const char *order;                /* orders, separated by commas; NULL: the usual ones */
    const char *play_for;             /* NULL: until all have ended */
    const char *ask[SL_CLI_ASKS_MAX]; /* "RESOURCE=COUNT" */
    unsigned n_asks;
    enum sl_cli_output output;
    bool all;
    bool watch;
    bool dry_run;
    bool open;
    bool help;
    bool version;
};

/* The commands, as bits of a table of options. */
enum {
    SL_CLI_QUEUE = 1 << 0,
    SL_CLI_WHY = 1 << 1,
    SL_CLI_WHEN = 1 << 2,
    SL_CLI_NODES = 1 << 3,
    SL_CLI_PARTITIONS = 1 << 4,
    SL_CLI_TOP = 1 << 5,
    SL_CLI_UI = 1 << 6,
    SL_CLI_RELEASE = 1 << 7,
    SL_CLI_COMPLETION = 1 << 8,
    SL_CLI_SIMULATE = 1 << 9,
    SL_CLI_TENANTS = 1 << 10,
    SL_CLI_USAGE = 1 << 11,
};

enum sl_cli_operand { SL_CLI_NONE, SL_CLI_OPTIONAL, SL_CLI_REQUIRED };

/* A command: all that is known of it, its help included. */
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): members in the order of a row
struct sl_cli_command {
    unsigned bit;
    const char *name;
    const char *operand; /* "POD" */
    enum sl_cli_operand takes;
    const char *brief;
    const char *help;               /* what it prints, with examples */
    int (*run)(struct sl_cli *cli); /* the exit status */
    const char *kind;               /* of the group, that it lists; NULL: it lists none */
    bool namespaced;                /* kind is */
    const char *kind_of_all;        /* that it lists of the whole cluster instead; NULL: the same */
};

/* All commands, in the order of the help. */
struct sl_cli_commands {
    const struct sl_cli_command *row;
    unsigned n;
};

/* Texts are borrowed from argv. -1 with *err: an unknown command or option (with the nearest known
 * one), a missing or surplus value. */
int sl_cli_options_parse(const struct sl_cli_commands *commands, int argc, char *const *argv,
                         struct sl_cli_options *out, struct sl_error *err);

/* The help of a command; NULL: of all. */
void sl_cli_help(const struct sl_cli_commands *commands, const struct sl_cli_command *command,
                 struct sl_buf *out);

/* Calls tell with the name of each option that the command has. */
void sl_cli_options_each(const struct sl_cli_command *command,
                         void (*tell)(void *context, const char *name, bool takes_value),
                         void *context);

#endif
