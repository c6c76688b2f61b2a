/* The command line of "sliced release". */
#include <stdio.h>
#include <string.h>

#include "daemon/options.h"
#include "util/term/option.h"

#define AT(member) .at = offsetof(struct sl_release_options, member)

static const struct sl_option options[] = {
    {"--all", NULL, "open the gates of all pods", AT(all)},
    {"--namespace", "NAMESPACE", "only of the pods of that namespace, with --all", AT(namespace),
     .kind = SL_OPTION_TEXT},
    {"--dry-run", NULL, "only say which would be opened", AT(dry_run)},
    {"--kubeconfig", "FILE",
     "access to the cluster; else $KUBECONFIG, the pod's service account, ~/.kube/config",
     AT(kubeconfig), .kind = SL_OPTION_TEXT},
    {"--context", "NAME", "context of the kubeconfig", AT(context), .kind = SL_OPTION_TEXT},
    {"--help", NULL, "print this and exit", AT(help), .letter = 'h'},
};

static const struct sl_option_table table = {
    .option = options, .n = sizeof(options) / sizeof(options[0]), .command = "sliced release"};

static int take_pod(const char *word, struct sl_release_options *out, struct sl_error *err)
{
    const char *slash = strchr(word, '/');
    size_t len = slash == NULL ? 0 : (size_t)(slash - word);
    if (out->name != NULL) {
        return sl_error_set(err, SL_ERR_FIELD, "%s: one pod at a time, or --all", word);
    }
    if (len == 0 || len >= sizeof(out->pod_namespace) || slash[1] == '\0' ||
        strchr(slash + 1, '/') != NULL) {
        return sl_error_set(err, SL_ERR_FIELD, "%s: a pod is NAMESPACE/POD", word);
    }
    (void)snprintf(out->pod_namespace, sizeof(out->pod_namespace), "%.*s", (int)len, word);
    out->name = slash + 1;
    return 0;
}

int sl_release_options_parse(int argc, char *const *argv, struct sl_release_options *out,
                             struct sl_error *err)
{
    *out = (struct sl_release_options){.name = NULL};
    for (int i = 1; i < argc; i++) {
        const char *value = NULL;
        bool taken = argv[i][0] == '-'
                         ? sl_option_take(&table, argc, argv, &i, out, &value, err) != NULL
                         : take_pod(argv[i], out, err) == 0;
        if (!taken) {
            return -1;
        }
    }
    if (out->help) {
        return 0;
    }
    if (out->all == (out->name != NULL)) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "say either --all or one pod, as NAMESPACE/POD; sliced release --help");
    }
    if (out->name != NULL && out->namespace != NULL) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "--namespace goes with --all; a pod is NAMESPACE/POD");
    }
    if (out->name != NULL) {
        out->namespace = out->pod_namespace;
    }
    return 0;
}

void sl_release_options_help(struct sl_buf *out)
{
    sl_buf_puts(out, "Opens the scheduling gate sliced.dev/queue of waiting pods, so that "
                     "kube-scheduler takes them in\n"
                     "its own order: before sliced is removed. First stop putting the gate on new "
                     "pods. Gates of\n"
                     "others stay.\n\n"
                     "Usage: sliced release --all [--namespace NAMESPACE] [--dry-run]\n"
                     "       sliced release NAMESPACE/POD [--dry-run]\n\nOptions:\n");
    sl_option_help(&table, 24, out);
    sl_buf_puts(out, "\nExit status: 0 all were opened, 1 some were not or the pods could not be "
                     "listed, 2 wrong option.\n");
}
