/* The certificate of the HTTPS port, and who may call it. Files are read again when they change, so
 * that a rotated certificate is shown without a restart; connections that are open go on. */
#ifndef SLICED_SERVER_TLS_H
#define SLICED_SERVER_TLS_H

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>

#include "config/config.h"
#include "util/error.h"
#include "util/str.h"

struct sl_tls;

struct sl_tls_options {
    const char *cert_file;      /* PEM: the certificate, then its chain */
    const char *key_file;       /* PEM */
    const char *client_ca_file; /* PEM: who signs clients' certificates; NULL: none are asked for */
};

/* Reads all files. The library calls back without a context, so there is one such object in a
 * process at a time. NULL with *err set. */
struct sl_tls *sl_tls_new(const struct sl_tls_options *options, struct sl_error *err);
void sl_tls_free(struct sl_tls *tls); /* after the server was stopped; NULL is allowed */

/* Reads the files again if any of them changed; for one thread. 1: what they say is in force; 0:
 * nothing changed; -1: *err says why the old files' content stays. A pair that does not match yet,
 * because one of two files was replaced, is looked at again at the next call. */
int sl_tls_refresh(struct sl_tls *tls, struct sl_error *err);

/* Seconds since 1970 at which the certificate in force ends. */
int64_t sl_tls_not_after(struct sl_tls *tls);

/* Must be called for each session before its handshake: asks for a certificate if there is a client
 * CA. The names of authorities are not told, so that a client of a rotated one shows its own. */
void sl_tls_prepare(struct sl_tls *tls, gnutls_session_t session);

/* Who may call. */
struct sl_tls_names {
    const struct sl_config_client *client;
    size_t n;
    uint64_t serial; /* another one whenever the names may be others; not 0 */
};

/* What is known of a connection's peer; zeroed when it is new. */
struct sl_tls_peer {
    uint64_t serial; /* of the files' content that it was checked against; 0: not yet */
    uint64_t names;  /* serial of the names that it was checked against */
    int64_t until;   /* seconds since 1970: its certificate ends */
};

/* Has the peer shown a certificate that the client CA signed, good for clients and at this time,
 * and with one of the names: as its common name, or as a DNS name or URI among its alternative
 * names, letter by letter? Always true when none are wanted. Checks anew when the CA or the names
 * changed or the certificate has ended; else it costs nothing. why (size bytes) says what is wrong.
 */
bool sl_tls_peer_ok(struct sl_tls *tls, gnutls_session_t session, const struct sl_tls_names *names,
                    struct sl_tls_peer *peer, char *why, size_t size);

/* The HTTP library's callback for the certificate (gnutls_certificate_retrieve_function3). */
int sl_tls_retrieve(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                    gnutls_pcert_st **certs, unsigned *n_certs, gnutls_ocsp_data_st **ocsp,
                    unsigned *n_ocsp, gnutls_privkey_t *key, unsigned *flags);

#endif
