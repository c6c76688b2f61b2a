/* A certificate's Secret in the API server. */
#ifndef SLICED_KUBE_CERTS_SECRET_H
#define SLICED_KUBE_CERTS_SECRET_H

#include "kube/certs/renewal.h"
#include "kube/client/ask.h"

/* Reads ca.crt of a Secret into the asker's arena. -1 where it is not there. */
int sl_cert_secret_ca(const struct sl_asker *asker, const char *namespace, const char *name,
                      const char **ca, struct sl_error *err);

struct sl_cert_outcome {
    const char *ca; /* in the asker's arena */
    enum sl_cert_change change;
    int64_t until_s; /* Unix seconds */
};

/* Makes the Secret (kubernetes.io/tls) where it is not there, else renews what it holds when that
 * is due. Others may write it at the same time: then it is read again. Keys of others are left. */
int sl_cert_secret_keep(const struct sl_asker *asker, const char *namespace, const char *name,
                        const struct sl_cert_wish *wish, int64_t now_s, struct sl_cert_outcome *out,
                        struct sl_error *err);

#endif
