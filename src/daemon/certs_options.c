/* The command line of "sliced certs". */
#include <stddef.h>
#include <string.h>

#include "daemon/certs.h"
#include "kube/certs/pair.h"
#include "util/term/option.h"

#define AT(member) .at = offsetof(struct sl_certs_options, member), .kind = SL_OPTION_TEXT

static const struct sl_option options[] = {
    {"--namespace", "NAMESPACE", "where the Secrets are", AT(namespace)},
    {"--server", "SECRET", "that of the daemon's certificate", AT(server)},
    {"--service", "NAME",
     "make or renew it for NAME.NAMESPACE.svc; without this it is only read, for its ca.crt",
     AT(service)},
    {"--client", "SECRET", "make or renew the certificate that kube-scheduler shows", AT(client)},
    {"--client-name", "NAME", "its common name, with --client", AT(client_name)},
    {"--webhook", "NAME", "let that MutatingWebhookConfiguration trust the authority of --server",
     AT(webhook)},
    {"--api-service", "NAME", "let that APIService trust the authority of --server",
     AT(api_service)},
    {"--kubeconfig", "FILE",
     "access to the cluster; else $KUBECONFIG, the pod's service account, ~/.kube/config",
     AT(kubeconfig)},
    {"--context", "NAME", "context of the kubeconfig", AT(context)},
    {"--help", NULL, "print this and exit", .at = offsetof(struct sl_certs_options, help),
     .letter = 'h'},
};

static const struct sl_option_table table = {
    .option = options, .n = sizeof(options) / sizeof(options[0]), .command = "sliced certs"};

/* Options that need another one. */
static int check_options(const struct sl_certs_options *given, struct sl_error *err)
{
    bool trust = given->webhook != NULL || given->api_service != NULL;
    if (given->namespace == NULL) {
        return sl_error_set(err, SL_ERR_FIELD, "--namespace NAMESPACE is missing");
    }
    if (given->server == NULL && (trust || given->service != NULL)) {
        return sl_error_set(err, SL_ERR_FIELD, "--server SECRET is missing");
    }
    if ((given->client == NULL) != (given->client_name == NULL)) {
        return sl_error_set(err, SL_ERR_FIELD, "--client and --client-name go together");
    }
    if (given->client_name != NULL && strlen(given->client_name) > SL_CERT_NAME_MAX) {
        return sl_error_set(err, SL_ERR_FIELD, "--client-name: expected at most %d characters",
                            SL_CERT_NAME_MAX);
    }
    if (given->service == NULL && given->client == NULL && !trust) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "nothing to do: say --service, --client, --webhook or --api-service; "
                            "sliced certs --help");
    }
    return 0;
}

int sl_certs_options_parse(int argc, char *const *argv, struct sl_certs_options *out,
                           struct sl_error *err)
{
    *out = (struct sl_certs_options){.namespace = NULL};
    for (int i = 1; i < argc; i++) {
        const char *value = NULL;
        if (argv[i][0] != '-') {
            return sl_error_set(err, SL_ERR_FIELD, "%s: expected an option; sliced certs --help",
                                argv[i]);
        }
        if (sl_option_take(&table, argc, argv, &i, out, &value, err) == NULL) {
            return -1;
        }
    }
    return out->help ? 0 : check_options(out, err);
}

void sl_certs_options_help(struct sl_buf *out)
{
    sl_buf_puts(out,
                "Makes the certificates of daemon and kube-scheduler where they are not there, "
                "renews them a year\n"
                "before they end, and tells the API server whom to trust. It may be run at any "
                "time; what is\n"
                "right stays as it is.\n\n"
                "Usage: sliced certs --namespace NAMESPACE [--server SECRET [--service NAME]]\n"
                "                    [--client SECRET --client-name NAME]\n"
                "                    [--webhook NAME] [--api-service NAME]\n\nOptions:\n");
    sl_option_help(&table, 26, out);
    sl_buf_puts(out, "\nExit status: 0 all is as it should be, 1 something could not be read or "
                     "written, 2 wrong option.\n");
}
