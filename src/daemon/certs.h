/* "sliced certs": certificates in Secrets, made once and renewed in time, and the API server told
 * whom to trust. */
#ifndef SLICED_DAEMON_CERTS_H
#define SLICED_DAEMON_CERTS_H

#include "util/buf.h"
#include "util/error.h"

struct sl_certs_options {
    const char *namespace;
    const char *server;      /* the daemon's Secret */
    const char *service;     /* of whose name the certificate is made; NULL: none is made */
    const char *client;      /* kube-scheduler's Secret; NULL: none is made */
    const char *client_name; /* the common name there */
    const char *webhook;     /* MutatingWebhookConfiguration; NULL: none */
    const char *api_service; /* NULL: none */
    const char *kubeconfig;
    const char *context;
    bool help;
};

/* argv[0] is "certs". As sl_options_parse. */
int sl_certs_options_parse(int argc, char *const *argv, struct sl_certs_options *out,
                           struct sl_error *err);
void sl_certs_options_help(struct sl_buf *out);

/* argv[0] is "certs". Exit status: 0 all is as it should be, 1 something could not be written, 2 a
 * wrong option. */
int sl_certs_main(int argc, char **argv);

#endif
