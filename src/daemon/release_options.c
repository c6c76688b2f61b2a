/* The command line of "sliced release". */
#include <stdio.h>
#include <string.h>

#include "daemon/options.h"

static const struct {
    const char *name;
    const char *value; /* NULL: takes none */
    const char *help;
    size_t offset; /* in struct sl_release_options: a bool, or a text */
} table[] = {
    {"--all", NULL, "open the gates of all pods", offsetof(struct sl_release_options, all)},
    {"--namespace", "NAMESPACE", "only of the pods of that namespace, with --all",
     offsetof(struct sl_release_options, namespace)},
    {"--dry-run", NULL, "only say which would be opened",
     offsetof(struct sl_release_options, dry_run)},
    {"--kubeconfig", "FILE",
     "access to the cluster; else $KUBECONFIG, the pod's service account, ~/.kube/config",
     offsetof(struct sl_release_options, kubeconfig)},
    {"--context", "NAME", "context of the kubeconfig",
     offsetof(struct sl_release_options, context)},
    {"--help", NULL, "print this and exit", offsetof(struct sl_release_options, help)},
};

enum { OPTIONS = sizeof(table) / sizeof(table[0]) };

static void set(struct sl_release_options *out, size_t i, const char *value)
{
    char *at = (char *)out + table[i].offset;
    const bool yes = true;
    if (table[i].value == NULL) {
        memcpy(at, &yes, sizeof(yes));
    } else {
        memcpy(at, &value, sizeof(value));
    }
}

/* The option of that name, OPTIONS when there is none; *value points behind '=' when there is one.
 */
static size_t find(const char *word, const char **value)
{
    size_t i = 0;
    for (; i < OPTIONS; i++) {
        size_t len = strlen(table[i].name);
        if (strncmp(word, table[i].name, len) == 0 && (word[len] == '\0' || word[len] == '=')) {
            *value = word[len] == '=' ? word + len + 1 : NULL;
            break;
        }
    }
    return i;
}

static int take_option(int argc, char *const *argv, int *at, struct sl_release_options *out,
                       struct sl_error *err)
{
    const char *value = NULL;
    const char *word = strcmp(argv[*at], "-h") == 0 ? "--help" : argv[*at];
    size_t i = find(word, &value);
    if (i == OPTIONS) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "unknown option %s; sliced release --help lists them", word);
    }
    if (table[i].value == NULL && value != NULL) {
        return sl_error_set(err, SL_ERR_FIELD, "%s takes no value", table[i].name);
    }
    if (table[i].value != NULL && value == NULL && *at + 1 < argc) {
        value = argv[++*at];
    }
    if (table[i].value != NULL && (value == NULL || value[0] == '\0')) {
        return sl_error_set(err, SL_ERR_FIELD, "%s needs a value: %s %s", table[i].name,
                            table[i].name, table[i].value);
    }
    set(out, i, value);
    return 0;
}

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
        int result =
            argv[i][0] == '-' ? take_option(argc, argv, &i, out, err) : take_pod(argv[i], out, err);
        if (result < 0) {
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
                     "its own order: before sliced is removed. Remove first what puts the gate on "
                     "new pods. Gates of\n"
                     "others stay.\n\n"
                     "Usage: sliced release --all [--namespace NAMESPACE] [--dry-run]\n"
                     "       sliced release NAMESPACE/POD [--dry-run]\n\nOptions:\n");
    for (size_t i = 0; i < OPTIONS; i++) {
        char left[64];
        (void)snprintf(left, sizeof(left), "%s %s", table[i].name,
                       table[i].value == NULL ? "" : table[i].value);
        sl_buf_printf(out, "  %-24s %s\n", left, table[i].help);
    }
    sl_buf_puts(out, "\nExit status: 0 all were opened, 1 some were not or the pods could not be "
                     "listed, 2 wrong option.\n");
}
