/* Makes a certificate with an authority of its own. The authority signs nothing else: its key is
 * gone when the function returns, so that nobody can make another certificate which it vouches for.
 */
#ifndef SLICED_KUBE_CERTS_PAIR_H
#define SLICED_KUBE_CERTS_PAIR_H

#include "util/data/arena.h"
#include "util/error.h"

enum { SL_CERT_DNS_MAX = 2, SL_CERT_NAME_MAX = 64 /* RFC 5280, ub-common-name */ };

/* For whom a certificate is. */
struct sl_cert_wish {
    const char *authority;            /* the authority's common name */
    const char *name;                 /* of a client: its common name; NULL: of a server */
    const char *dns[SL_CERT_DNS_MAX]; /* of a server; NULL: no more */
};

/* PEM, NUL-terminated, in the arena that it was made in. */
struct sl_cert_pair {
    char *ca;
    char *crt;
    char *key;
};

/* A certificate that begins at now (Unix seconds) and ends with its authority, 10 years later. */
int sl_cert_pair_make(const struct sl_cert_wish *wish, int64_t now_s, struct sl_arena *arena,
                      struct sl_cert_pair *out, struct sl_error *err);

#endif
