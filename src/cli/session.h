/* One run of the program: where it asks, as whom, and how it tells what went wrong. */
#ifndef SLICED_CLI_SESSION_H
#define SLICED_CLI_SESSION_H

#include "cli/options.h"
#include "codec/tree/value.h"
#include "kube/client/client.h"

/* Exit statuses, as the help and the manual state them. */
enum {
    SL_CLI_DONE = 0,
    SL_CLI_REFUSED = 1, /* the server said no, or could not be asked */
    SL_CLI_WRONG = 2,   /* the command line, the kubeconfig or a file */
    SL_CLI_NEVER = 3,   /* when: no start can be told */
    SL_CLI_LATER = 4,   /* the server cannot answer now: the same may succeed later */
};

enum { SL_CLI_TEXT_MAX = 512 << 20, SL_CLI_PATH_MAX = 8 << 10 };

struct sl_cli {
    const struct sl_cli_options *options;
    const char *namespace; /* NULL: all */
    struct sl_kube_access access;
    struct sl_arena arena; /* of access, and of answers' trees */
    struct sl_client *client;
    bool unserved; /* sl_cli_fail() found that the server does not have sliced's group at all */
};

/* Finds the server and makes the client. -1 with *err. */
int sl_cli_open(struct sl_cli *cli, const struct sl_cli_options *options, struct sl_error *err);
void sl_cli_close(struct sl_cli *cli);

struct sl_cli_call {
    const char *method; /* NULL: GET */
    struct sl_buf path; /* of SL_CLI_PATH_MAX; the call frees it */
    struct sl_str body;
    enum sl_call_form form;
    sl_call_data data; /* NULL: the answer is collected */
    void *context;     /* of data */
};

/* How a call ended; text is in the session's arena. */
struct sl_cli_answer {
    int status;             /* 0: there was none */
    struct sl_value *value; /* of a 2xx, when it was collected */
    struct sl_error err;
    char reason[64];
};

/* Calls, and waits for the end. -1 when there was no 2xx, or no JSON in it. */
int sl_cli_ask(struct sl_cli *cli, struct sl_cli_call *call, struct sl_cli_answer *answer);

/* Begins the path with "/apis/visibility.sliced.dev/v1alpha1[/namespaces/NS]/KIND[/NAME]". */
void sl_cli_path(struct sl_buf *path, const char *namespace, const char *kind, const char *name);

/* Prints what went wrong, as kubectl does, with what can be done about it. kind: of sliced's that
 * was asked for; NULL: something else was. Returns the exit status. */
int sl_cli_fail(struct sl_cli *cli, const struct sl_cli_answer *answer, const char *kind);

/* Writes the text to standard output, which empties it. Returns the exit status. */
int sl_cli_print(struct sl_buf *text);
/* Prints the value as -o says: JSON or YAML. */
int sl_cli_print_value(const struct sl_cli *cli, const struct sl_value *value);

/* Prints a line on standard error, with escapes for what a terminal would obey. */
void sl_cli_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
