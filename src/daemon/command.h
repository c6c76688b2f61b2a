/* Shared by the commands beside the daemon: access to the cluster, a client, help. */
#ifndef SLICED_DAEMON_COMMAND_H
#define SLICED_DAEMON_COMMAND_H

#include "kube/client/ask.h"

/* Exit statuses. */
enum {
    SL_COMMAND_DONE = 0,
    SL_COMMAND_FAILED = 1, /* the system or the API server refused something */
    SL_COMMAND_WRONG = 2,  /* a wrong option, or no access to a cluster */
};

struct sl_command {
    struct sl_arena arena; /* also of its caller, until sl_command_end() */
    struct sl_kube_access access;
    struct sl_asker asker; /* has the client */
};

/* Finds the access and begins a client of so many calls at once. *command must stay where it is;
 * sl_command_end() after a failure too. */
int sl_command_begin(struct sl_command *command, const char *kubeconfig, const char *context,
                     unsigned at_once, struct sl_error *err);
void sl_command_end(struct sl_command *command);

/* Writes what help makes to standard output; the exit status. */
int sl_command_help(void (*help)(struct sl_buf *out));

#endif
