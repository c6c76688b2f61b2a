/* The certificate of the HTTPS ports, and the clients that may call them. Files are read again when
 * they change, so that a rotated certificate is shown without a restart; open connections go on. */
#ifndef SLICED_SERVER_TLS_H
#define SLICED_SERVER_TLS_H

#include <gnutls/abstract.h>

#include "server/net/trust.h"

struct sl_tls;

/* Whose certificates have an authority of their own. */
enum sl_tls_callers {
    SL_TLS_SCHEDULER,  /* server.tls.clientCAFile */
    SL_TLS_MONITORING, /* server.metricsClientCAFile */
    SL_TLS_CALLERS,
};

struct sl_tls_options {
    const char *cert_file;               /* PEM: the certificate, then its chain */
    const char *key_file;                /* PEM */
    const char *ca_file[SL_TLS_CALLERS]; /* PEM: sign clients' certificates; NULL: none are asked
                                            for */
};

/* Reads all files. A process has one such object at a time: the library calls back without a
 * context. NULL with *err set. */
struct sl_tls *sl_tls_new(const struct sl_tls_options *options, struct sl_error *err);
void sl_tls_free(struct sl_tls *tls); /* after the server was stopped; NULL is allowed */

/* Reads the files again if any of them changed; for one thread. 1: their content is in force; 0:
 * nothing changed; -1: *err says why the old content stays. A pair that does not match yet, because
 * one of two files was replaced, is read again at the next call. */
int sl_tls_refresh(struct sl_tls *tls, struct sl_error *err);

/* Seconds since 1970 at which the certificate in force ends. */
int64_t sl_tls_not_after(struct sl_tls *tls);

/* Asks the client for a certificate if there is an authority for it; to be called for each session
 * before its handshake. Tells no names of authorities, so that a client of a rotated one shows its
 * own. */
void sl_tls_prepare(struct sl_tls *tls, enum sl_tls_callers who, gnutls_session_t session);

/* sl_trust_peer_ok with their authority. Always true when no certificates are asked for. */
bool sl_tls_peer_ok(struct sl_tls *tls, enum sl_tls_callers who, gnutls_session_t session,
                    const struct sl_tls_names *names, struct sl_tls_peer *peer, char *why,
                    size_t size);

/* The HTTP library's callback for the certificate (gnutls_certificate_retrieve_function3). */
int sl_tls_retrieve(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                    gnutls_pcert_st **certs, unsigned *n_certs, gnutls_ocsp_data_st **ocsp,
                    unsigned *n_ocsp, gnutls_privkey_t *key, unsigned *flags);

#endif
