/* Whose certificates are believed: authorities, and the check of a peer by them. */
#ifndef SLICED_SERVER_TRUST_H
#define SLICED_SERVER_TRUST_H

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdatomic.h>

#include "config/config.h"
#include "util/error.h"
#include "util/str.h"

enum { SL_TLS_CHAIN_MAX = 8 };

struct sl_trust {
    _Atomic uint64_t serial;              /* of the authorities; 0: there never were any */
    pthread_mutex_t lock;                 /* guards them */
    gnutls_x509_trust_list_t authorities; /* NULL: none */
};

void sl_trust_init(struct sl_trust *trust);
void sl_trust_free(struct sl_trust *trust);

/* Reads authorities in PEM; from says where they are from. NULL with *err set. */
gnutls_x509_trust_list_t sl_trust_read(const gnutls_datum_t *pem, const char *from,
                                       struct sl_error *err);
/* Takes them over in the place of those before; NULL: none. Any thread. */
void sl_trust_put(struct sl_trust *trust, gnutls_x509_trust_list_t authorities);

/* The clients that may call. */
struct sl_tls_names {
    const struct sl_config_client *client;
    size_t n;
    uint64_t serial;  /* changes whenever the names may have changed; not 0 */
    bool any;         /* whoever has a certificate of the authorities */
    bool common_only; /* alternative names do not count, as in Kubernetes' requestheader */
};

/* The check of a connection's peer; zeroed when the connection is new. */
struct sl_tls_peer {
    uint64_t serial; /* of the authorities that the peer was checked against; 0: not yet */
    uint64_t names;  /* serial of the names that it was checked against */
    int64_t until;   /* when its certificate ends, seconds since 1970 */
};

/* Has the peer shown a certificate which an authority signed, which is good for clients now, and
 * which has one of the names, letter by letter, as its common name or as a DNS name or URI among
 * its alternative names? Checks again only when the authorities or the names changed or the
 * certificate has ended. why (size bytes) says what is wrong. */
bool sl_trust_peer_ok(struct sl_trust *trust, gnutls_session_t session,
                      const struct sl_tls_names *names, struct sl_tls_peer *peer, char *why,
                      size_t size);

#endif
