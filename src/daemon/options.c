/* Command line. */
#include "daemon/options.h"

#include "server/metrics/version.h"
#include "util/term/option.h"

#define AT(member) .at = offsetof(struct sl_options, member)

static const struct sl_option options[] = {
    {"--cluster", "FILE...",
     "embedded cluster, without an API server, from the output of \"kubectl get nodes,pods -A -o "
     "yaml\" (or json); files, folders, - for standard input",
     AT(cluster), .kind = SL_OPTION_OTHER},
    {"--config", "FILE", "configuration; it is read again on SIGHUP", AT(config),
     .kind = SL_OPTION_TEXT},
    {"--kubeconfig", "FILE",
     "access to the cluster; else kubernetes.kubeconfig, $KUBECONFIG, the pod's service account, "
     "~/.kube/config",
     AT(kubeconfig), .kind = SL_OPTION_TEXT},
    {"--context", "NAME", "context of the kubeconfig", AT(context), .kind = SL_OPTION_TEXT},
    {"--pod", "NAME",
     "the pod that this runs in: while it leads it has the label sliced.dev/leader=true", AT(pod),
     .kind = SL_OPTION_TEXT},
    {"--listen", "ADDRESS:PORT", "where to serve HTTP or HTTPS; port 0 picks a free one",
     AT(listen), .kind = SL_OPTION_TEXT},
    {"--check-config", NULL, "check the file of --config and exit", AT(check_config)},
    {"--print-config", NULL, "print the configuration in force, with comments, and exit",
     AT(print_config)},
    {"--print-config-reference", NULL, "print a table of all configuration keys and exit",
     AT(print_config_reference)},
    {"--print-config-schema", NULL, "print a JSON Schema of the configuration and exit",
     AT(print_config_schema)},
    {"--version", NULL, "print the version and exit", AT(version)},
    {"--help", NULL, "print this and exit", AT(help), .letter = 'h'},
};

static const struct sl_option_table table = {
    .option = options, .n = sizeof(options) / sizeof(options[0]), .command = "sliced"};

static int add_cluster(struct sl_options *out, const char *file, struct sl_error *err)
{
    if (out->n_cluster == SL_CLUSTER_FILES_MAX) {
        return sl_error_set(err, SL_ERR_LIMIT, "more than %d cluster files; put them into a folder",
                            SL_CLUSTER_FILES_MAX);
    }
    out->cluster[out->n_cluster++] = file;
    return 0;
}

int sl_options_parse(int argc, char *const *argv, struct sl_options *out, struct sl_error *err)
{
    memset(out, 0, sizeof(*out));
    bool files = false; /* words without dashes are further files of --cluster */
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        const char *value = NULL;
        if (i == 1 && strcmp(word, "help") == 0) {
            out->help = true;
            continue;
        }
        if (i == 1 && strcmp(word, "version") == 0) {
            out->version = true;
            continue;
        }
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
        const struct sl_option *option = sl_option_take(&table, argc, argv, &i, out, &value, err);
        files = option != NULL && option->kind == SL_OPTION_OTHER;
        if (option == NULL || (files && add_cluster(out, value, err) < 0)) {
            return -1;
        }
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
                  "--check-config | --print-config\n       sliced release --all | NAMESPACE/POD\n"
                  "       sliced certs --namespace NAMESPACE ...\n\n"
                  "Commands:\n  release                    open the gates of waiting pods, before "
                  "sliced is removed; sliced release --help\n"
                  "  certs                      make and renew the certificates of daemon and "
                  "kube-scheduler; sliced certs --help\n\nOptions:\n",
                  SL_VERSION);
    sl_option_help(&table, 26, out);
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
        "  curl http://127.0.0.1:8888/api/v1/queue?output=table      waiting pods in their "
        "order, and why they wait\n"
        "  curl http://127.0.0.1:8888/api/v1/pods/NAMESPACE/NAME/explain?output=table\n"
        "\nSIGHUP reads the configuration again, SIGTERM ends it after the requests in flight.\n"
        "Exit status: 0 done, 1 the system refused something, 2 wrong option, configuration or\n"
        "manifest.\n"
        "\nTo try a configuration of the queue on a trace first: slicesim --help.\n");
}
