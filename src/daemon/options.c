/* Command line. */
#include "daemon/options.h"

#include <stdio.h>

#include "server/version.h"

enum option_kind {
    OPTION_CLUSTER,
    OPTION_LISTEN,
    OPTION_CONFIG,
    OPTION_KUBECONFIG,
    OPTION_CONTEXT,
    OPTION_CHECK,
    OPTION_PRINT,
    OPTION_REFERENCE,
    OPTION_VERSION,
    OPTION_HELP,
};

static const struct option {
    const char *name;
    const char *value; /* NULL: takes none */
    const char *help;
    enum option_kind kind;
} table[] = {
    {"--cluster", "FILE...",
     "embedded cluster, no API server: what \"kubectl get nodes,pods -A -o yaml\" prints (or "
     "json); files, folders, - for standard input",
     OPTION_CLUSTER},
    {"--config", "FILE", "configuration; it is read again on SIGHUP", OPTION_CONFIG},
    {"--kubeconfig", "FILE",
     "access to the cluster; else kubernetes.kubeconfig, $KUBECONFIG, the pod's service account, "
     "~/.kube/config",
     OPTION_KUBECONFIG},
    {"--context", "NAME", "context of the kubeconfig", OPTION_CONTEXT},
    {"--listen", "ADDRESS:PORT", "where to serve HTTP or HTTPS; port 0 picks a free one",
     OPTION_LISTEN},
    {"--check-config", NULL, "check the file of --config and exit", OPTION_CHECK},
    {"--print-config", NULL, "print the configuration in force, with comments, and exit",
     OPTION_PRINT},
    {"--print-config-reference", NULL, "print a table of all configuration keys and exit",
     OPTION_REFERENCE},
    {"--version", NULL, "print the version and exit", OPTION_VERSION},
    {"--help", NULL, "print this and exit", OPTION_HELP},
};

enum { OPTIONS = sizeof(table) / sizeof(table[0]) };

static size_t common_prefix(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] != '\0' && a[n] == b[n]) {
        n++;
    }
    return n;
}

static int unknown(const char *word, struct sl_error *err)
{
    const char *nearest = NULL;
    size_t most = 3; /* two dashes and one letter say nothing */
    for (size_t i = 0; i < OPTIONS; i++) {
        size_t n = common_prefix(word, table[i].name);
        if (n > most) {
            most = n;
            nearest = table[i].name;
        }
    }
    if (nearest != NULL) {
        return sl_error_set(err, SL_ERR_FIELD, "unknown option %s; did you mean %s?", word,
                            nearest);
    }
    return sl_error_set(err, SL_ERR_FIELD, "unknown option %s; sliced --help lists them", word);
}

static int add_cluster(struct sl_options *out, const char *file, struct sl_error *err)
{
    if (out->n_cluster == SL_CLUSTER_FILES_MAX) {
        return sl_error_set(err, SL_ERR_LIMIT, "more than %d cluster files; put them into a folder",
                            SL_CLUSTER_FILES_MAX);
    }
    out->cluster[out->n_cluster++] = file;
    return 0;
}

static int apply(struct sl_options *out, const struct option *option, const char *value,
                 struct sl_error *err)
{
    switch (option->kind) {
    case OPTION_CLUSTER:
        return add_cluster(out, value, err);
    case OPTION_LISTEN:
        out->listen = value;
        break;
    case OPTION_CONFIG:
        out->config = value;
        break;
    case OPTION_KUBECONFIG:
        out->kubeconfig = value;
        break;
    case OPTION_CONTEXT:
        out->context = value;
        break;
    case OPTION_CHECK:
        out->check_config = true;
        break;
    case OPTION_PRINT:
        out->print_config = true;
        break;
    case OPTION_REFERENCE:
        out->print_config_reference = true;
        break;
    case OPTION_VERSION:
        out->version = true;
        break;
    case OPTION_HELP:
        out->help = true;
        break;
    }
    return 0;
}

/* The option of that name; *value points behind '=' when there is one. */
static const struct option *find(const char *word, const char **value)
{
    for (size_t i = 0; i < OPTIONS; i++) {
        size_t len = strlen(table[i].name);
        if (strncmp(word, table[i].name, len) == 0 && (word[len] == '\0' || word[len] == '=')) {
            *value = word[len] == '=' ? word + len + 1 : NULL;
            return &table[i];
        }
    }
    return NULL;
}

int sl_options_parse(int argc, char *const *argv, struct sl_options *out, struct sl_error *err)
{
    memset(out, 0, sizeof(*out));
    bool files = false; /* words without dashes are further files of --cluster */
    for (int i = 1; i < argc; i++) {
        const char *word = strcmp(argv[i], "-h") == 0 ? "--help" : argv[i];
        const char *value = NULL;
        if (word[0] != '-' || strcmp(word, "-") == 0) {
            if (!files) {
                return sl_error_set(err, SL_ERR_FIELD, "%s: did you mean --cluster %s?", word,
                                    word);
            }
            if (add_cluster(out, word, err) < 0) {
                return -1;
            }
            continue;
        }
        const struct option *option = find(word, &value);
        if (option == NULL) {
            return unknown(word, err);
        }
        if (option->value == NULL && value != NULL) {
            return sl_error_set(err, SL_ERR_FIELD, "%s takes no value", option->name);
        }
        if (option->value != NULL && value == NULL && i + 1 < argc) {
            value = argv[++i];
        }
        if (option->value != NULL && (value == NULL || value[0] == '\0')) {
            return sl_error_set(err, SL_ERR_FIELD, "%s needs a value: %s %s", option->name,
                                option->name, option->value);
        }
        if (apply(out, option, value, err) < 0) {
            return -1;
        }
        files = option->kind == OPTION_CLUSTER;
    }
    return 0;
}

void sl_options_help(struct sl_buf *out)
{
    sl_buf_printf(out,
                  "sliced %s: schedules slices of GPUs on Kubernetes, as an extender of "
                  "kube-scheduler\n\nUsage: sliced [--config FILE] [--kubeconfig FILE] "
                  "[--context NAME] [--listen ADDRESS:PORT]\n       sliced --cluster FILE... "
                  "[--config FILE] [--listen ADDRESS:PORT]\n       sliced [--config FILE] "
                  "--check-config | --print-config\n       sliced release --all | NAMESPACE/POD\n\n"
                  "Commands:\n  release                    open the gates of waiting pods, before "
                  "sliced is removed; sliced release --help\n\nOptions:\n",
                  SL_VERSION);
    for (size_t i = 0; i < OPTIONS; i++) {
        char left[64];
        (void)snprintf(left, sizeof(left), "%s %s", table[i].name,
                       table[i].value == NULL ? "" : table[i].value);
        sl_buf_printf(out, "  %-26s %s\n", left, table[i].help);
    }
    sl_buf_puts(
        out,
        "\nExamples:\n"
        "  sliced --config sliced.yaml                               in a cluster, or with access "
        "to one\n"
        "  sliced --cluster deploy/examples/a30-mixed.yaml --config "
        "deploy/examples/queue/sliced.yaml\n"
        "  kubectl get nodes,pods -A -o yaml | sliced --cluster - --listen 127.0.0.1:0\n"
        "  sliced --config sliced.yaml --check-config\n"
        "\nOnce it runs:\n"
        "  curl http://127.0.0.1:8888/                               what there is\n"
        "  curl http://127.0.0.1:8888/api/v1/nodes?output=table      nodes and what is free\n"
        "  curl http://127.0.0.1:8888/api/v1/queue?output=table      who waits, in their order, "
        "and "
        "why\n"
        "  curl http://127.0.0.1:8888/api/v1/pods/NAMESPACE/NAME/explain?output=table\n"
        "\nSIGHUP reads the configuration again, SIGTERM ends it after the requests in flight.\n"
        "Exit status: 0 done, 1 the system refused something, 2 wrong option, configuration or\n"
        "manifest.\n"
        "\nTo try a configuration of the queue on a trace first: slicesim --help.\n");
}
