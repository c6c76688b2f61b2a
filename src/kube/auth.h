/* Who we are, as of now: the Authorization header and the client certificate, from a fixed token, a
 * token file that rotates, or an exec credential plugin. Used by the client's thread alone. */
#ifndef SLICED_KUBE_AUTH_H
#define SLICED_KUBE_AUTH_H

#include "kube/kubeconfig.h"

struct sl_auth;

/* What a request carries; text is valid until the next call for the same auth. */
struct sl_credentials {
    const char *authorization; /* "Bearer ...", "Basic ..." or NULL */
    struct sl_str cert;        /* PEM of a client certificate that a plugin gave; empty: none */
    struct sl_str key;
    uint64_t serial; /* changes when the certificate does: connections must not be reused */
};

/* access is borrowed. NULL when out of memory. */
struct sl_auth *sl_auth_new(const struct sl_kube_access *access, struct sl_error *err);
void sl_auth_free(struct sl_auth *auth); /* NULL is allowed */

/* The credentials at now_us (Unix microseconds). A token file is read again every minute (as
 * client-go), and at once when refused says that the server answered 401 to the last ones; a plugin
 * runs again when its credentials expire within 30 s or are refused. -1: *err says what went wrong;
 * a token file that cannot be read now leaves the last token in force. */
int sl_auth_get(struct sl_auth *auth, int64_t now_us, bool refused, struct sl_credentials *out,
                struct sl_error *err);

#endif
