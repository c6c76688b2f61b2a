/* The command line of sliced: one table of options, from which the help comes too. */
#ifndef SLICED_DAEMON_OPTIONS_H
#define SLICED_DAEMON_OPTIONS_H

#include <stddef.h>

#include "util/buf.h"
#include "util/error.h"

enum { SL_CLUSTER_FILES_MAX = 256 };

struct sl_options {
    const char *cluster[SL_CLUSTER_FILES_MAX]; /* files, folders, "-" */
    size_t n_cluster;
    const char *listen; /* NULL: as the configuration says */
    const char *config; /* NULL: built-in values */
    const char *kubeconfig;
    const char *context;
    const char *pod;
    bool check_config;
    bool print_config;
    bool print_config_reference;
    bool print_config_schema;
    bool version;
    bool help;
};

/* Text of the options is borrowed from argv. -1 with *err set: unknown option (with the nearest
 * known one), missing or surplus value. */
int sl_options_parse(int argc, char *const *argv, struct sl_options *out, struct sl_error *err);

void sl_options_help(struct sl_buf *out);

/* "sliced release": either all, perhaps of one namespace, or one pod of a namespace. */
struct sl_release_options {
    const char *namespace; /* NULL: all */
    const char *name;      /* of the pod; NULL: all */
    const char *kubeconfig;
    const char *context;
    bool all;
    bool dry_run;
    bool help;
    char pod_namespace[64]; /* where namespace points when a pod is named */
};

/* argv[0] is "release". *out must stay where it is. As sl_options_parse. */
int sl_release_options_parse(int argc, char *const *argv, struct sl_release_options *out,
                             struct sl_error *err);
void sl_release_options_help(struct sl_buf *out);

#endif
