/* The daemon's present credentials: the Authorization header and the client certificate, from a
 * fixed token, a token file that rotates, or an exec credential plugin. Used by one thread (the
 * client's). */
#ifndef SLICED_KUBE_AUTH_H
#define SLICED_KUBE_AUTH_H

#include "kube/access/kubeconfig.h"

struct sl_auth;

/* Credentials for one request; text is valid until the next call for the same auth. */
struct sl_credentials {
    const char *authorization; /* "Bearer ...", "Basic ..." or NULL */
    struct sl_str cert;        /* PEM of a client certificate that a plugin gave; empty: none */
    struct sl_str key;
    uint64_t serial; /* names these credentials when they are refused; never 0 */
};

/* access is borrowed. wake(context) is called on another thread when sl_auth_get, having answered
 * SL_AUTH_WAIT, should be asked again. NULL when out of memory. */
struct sl_auth *sl_auth_new(const struct sl_kube_access *access, void (*wake)(void *context),
                            void *context, struct sl_error *err);

/* Ends a plugin that runs. NULL is allowed. */
void sl_auth_free(struct sl_auth *auth);

enum { SL_AUTH_READY = 0, SL_AUTH_WAIT = 1 };

/* The credentials at now_us (Unix microseconds). A token file is read again every minute (as
 * client-go); one that cannot be read now leaves the last token in force. A plugin runs beside us,
 * never on this thread, when there are no credentials, when they expire within 30 s (they stay in
 * force meanwhile) and when they were refused. SL_AUTH_READY, SL_AUTH_WAIT while a plugin runs and
 * nothing is in force, or -1: *err says what went wrong. A plugin that failed is not run again for
 * a second: the error stands for so long. */
int sl_auth_get(struct sl_auth *auth, int64_t now_us, struct sl_credentials *out,
                struct sl_error *err);

/* The server answered 401 to the credentials with that serial: unless newer ones are in force, the
 * next sl_auth_get gets new ones. */
void sl_auth_refused(struct sl_auth *auth, uint64_t serial);

#endif
