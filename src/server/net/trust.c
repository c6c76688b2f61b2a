/* Authorities, and the check of a peer's certificate by them. */
#include "server/net/trust.h"

#include <stdio.h>
#include <time.h>

void sl_trust_init(struct sl_trust *trust)
{
    *trust = (struct sl_trust){.serial = 0};
    (void)pthread_mutex_init(&trust->lock, NULL);
}

void sl_trust_free(struct sl_trust *trust)
{
    sl_trust_put(trust, NULL);
    (void)pthread_mutex_destroy(&trust->lock);
}

gnutls_x509_trust_list_t sl_trust_read(const gnutls_datum_t *pem, const char *from,
                                       struct sl_error *err)
{
    gnutls_x509_trust_list_t list = NULL;
    int code = gnutls_x509_trust_list_init(&list, 0);
    if (code >= 0) {
        code = gnutls_x509_trust_list_add_trust_mem(list, pem, NULL, GNUTLS_X509_FMT_PEM, 0, 0);
    }
    if (code > 0) {
        return list;
    }
    if (list != NULL) {
        gnutls_x509_trust_list_deinit(list, 1);
    }
    (void)sl_error_set(err, SL_ERR_FIELD, "%s: %s", from,
                       code == 0 ? "no certificate in it" : gnutls_strerror(code));
    return NULL;
}

void sl_trust_put(struct sl_trust *trust, gnutls_x509_trust_list_t authorities)
{
    (void)pthread_mutex_lock(&trust->lock);
    gnutls_x509_trust_list_t old = trust->authorities;
    trust->authorities = authorities;
    (void)atomic_fetch_add(&trust->serial, 1);
    (void)pthread_mutex_unlock(&trust->lock);
    if (old != NULL) {
        gnutls_x509_trust_list_deinit(old, 1);
    }
}

/* Reads the peer's certificates, the first its own; returns how many. */
static unsigned import_peer(gnutls_session_t session, gnutls_x509_crt_t chain[SL_TLS_CHAIN_MAX])
{
    unsigned n_raw = 0;
    unsigned n = 0;
    const gnutls_datum_t *raw = gnutls_certificate_get_peers(session, &n_raw);
    for (; raw != NULL && n < n_raw && n < SL_TLS_CHAIN_MAX; n++) {
        if (gnutls_x509_crt_init(&chain[n]) < 0) {
            break;
        }
        if (gnutls_x509_crt_import(chain[n], &raw[n], GNUTLS_X509_FMT_DER) < 0) {
            gnutls_x509_crt_deinit(chain[n]);
            break;
        }
    }
    return n;
}

static void explain_status(unsigned status, char *why, size_t size)
{
    gnutls_datum_t text = {NULL, 0};
    if (gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0) >= 0) {
        (void)snprintf(why, size, "%s", (const char *)text.data);
        gnutls_free(text.data);
    } else {
        (void)snprintf(why, size, "the client's certificate is not trusted");
    }
}

/* When the first certificate of the chain ends. */
static int64_t chain_until(const gnutls_x509_crt_t *chain, unsigned n)
{
    int64_t until = INT64_MAX;
    for (unsigned i = 0; i < n; i++) {
        int64_t end = (int64_t)gnutls_x509_crt_get_expiration_time(chain[i]);
        until = end < until ? end : until;
    }
    return until;
}

static bool verify_chain(struct sl_trust *trust, gnutls_x509_crt_t *chain, unsigned n,
                         struct sl_tls_peer *peer, char *why, size_t size)
{
    static char client_purpose[] = GNUTLS_KP_TLS_WWW_CLIENT;
    gnutls_typed_vdata_st purpose = {
        .type = GNUTLS_DT_KEY_PURPOSE_OID, .data = (unsigned char *)client_purpose, .size = 0};
    unsigned status = 0;
    (void)pthread_mutex_lock(&trust->lock);
    uint64_t serial = atomic_load(&trust->serial);
    int code = trust->authorities == NULL
                   ? GNUTLS_E_NO_CERTIFICATE_FOUND
                   : gnutls_x509_trust_list_verify_crt2(trust->authorities, chain, n, &purpose, 1,
                                                        0, &status, NULL);
    (void)pthread_mutex_unlock(&trust->lock);
    if (code < 0) {
        (void)snprintf(why, size, "%s", gnutls_strerror(code));
        return false;
    }
    if (status != 0) {
        explain_status(status, why, size);
        return false;
    }
    *peer = (struct sl_tls_peer){.serial = serial, .until = chain_until(chain, n)};
    return true;
}

static bool is_allowed(const struct sl_tls_names *names, const char *name, size_t len)
{
    for (size_t i = 0; i < names->n; i++) {
        const char *each = names->client[i].name;
        if (len > 0 && strlen(each) == len && memcmp(each, name, len) == 0) {
            return true;
        }
    }
    return false;
}

/* Passes over a name that does not fit: it is longer than any that is allowed. */
static bool has_name(gnutls_x509_crt_t cert, const struct sl_tls_names *names)
{
    char name[SL_CONFIG_TEXT_MAX];
    size_t len = sizeof(name);
    if (gnutls_x509_crt_get_dn_by_oid(cert, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name, &len) >= 0 &&
        is_allowed(names, name, len)) {
        return true;
    }
    for (unsigned i = 0; !names->common_only; i++) {
        len = sizeof(name);
        int type = gnutls_x509_crt_get_subject_alt_name(cert, i, name, &len, NULL);
        if (type == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE) {
            return false;
        }
        if (type < 0 && type != GNUTLS_E_SHORT_MEMORY_BUFFER) {
            return false;
        }
        if ((type == GNUTLS_SAN_DNSNAME || type == GNUTLS_SAN_URI) &&
            is_allowed(names, name, len)) {
            return true;
        }
    }
    return false;
}

static bool check_name(gnutls_x509_crt_t cert, const struct sl_tls_names *names, char *why,
                       size_t size)
{
    char name[SL_CONFIG_TEXT_MAX];
    size_t len = sizeof(name);
    if (names->any || has_name(cert, names)) {
        return true;
    }
    if (gnutls_x509_crt_get_dn_by_oid(cert, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name, &len) < 0) {
        len = 0;
    }
    (void)snprintf(why, size, "the client's certificate is for \"%.*s\", which may not call",
                   (int)(len > 128 ? 128 : len), name);
    return false;
}

bool sl_trust_peer_ok(struct sl_trust *trust, gnutls_session_t session,
                      const struct sl_tls_names *names, struct sl_tls_peer *peer, char *why,
                      size_t size)
{
    gnutls_x509_crt_t chain[SL_TLS_CHAIN_MAX];
    if (peer->serial != 0 && peer->serial == atomic_load(&trust->serial) &&
        peer->names == names->serial && (int64_t)time(NULL) < peer->until) {
        return true;
    }
    unsigned n = import_peer(session, chain);
    if (n == 0) {
        (void)snprintf(why, size, "a client certificate is needed, none was shown");
        return false;
    }
    bool ok =
        verify_chain(trust, chain, n, peer, why, size) && check_name(chain[0], names, why, size);
    peer->names = ok ? names->serial : 0;
    for (unsigned i = 0; i < n; i++) {
        gnutls_x509_crt_deinit(chain[i]);
    }
    return ok;
}
