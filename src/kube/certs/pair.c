/* Certificates by GnuTLS. */
#include "kube/certs/pair.h"

#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <time.h>

#include "util/time.h"

enum { DAYS = 3650, SERIAL_BYTES = 16, KEY_ID_BYTES = 64 };

/* Clocks of machines differ; a certificate may be used at once. */
static const int64_t early_s = SL_HOUR_S;

/* A certificate and its key while they are made. */
struct draft {
    gnutls_x509_crt_t crt;
    gnutls_x509_privkey_t key;
};

static int draft_init(struct draft *draft)
{
    int code = gnutls_x509_crt_init(&draft->crt);
    if (code >= 0) {
        code = gnutls_x509_privkey_init(&draft->key);
    }
    /* ECDSA: a stranger's handshake costs the daemon a tenth of what it does with RSA */
    return code < 0
               ? code
               : gnutls_x509_privkey_generate(draft->key, GNUTLS_PK_ECDSA,
                                              GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
}

static void draft_free(struct draft *draft)
{
    if (draft->crt != NULL) {
        gnutls_x509_crt_deinit(draft->crt);
    }
    if (draft->key != NULL) {
        gnutls_x509_privkey_deinit(draft->key);
    }
}

static int put_serial(gnutls_x509_crt_t crt)
{
    unsigned char serial[SERIAL_BYTES];
    int code = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof(serial));
    serial[0] = (serial[0] & 0x3F) | 0x40; /* positive, and of full length */
    return code < 0 ? code : gnutls_x509_crt_set_serial(crt, serial, sizeof(serial));
}

static int put_times(gnutls_x509_crt_t crt, int64_t now_s)
{
    int code = gnutls_x509_crt_set_activation_time(crt, (time_t)(now_s - early_s));
    return code < 0 ? code
                    : gnutls_x509_crt_set_expiration_time(crt, (time_t)(now_s + DAYS * SL_DAY_S));
}

static int put_common_name(gnutls_x509_crt_t crt, const char *name)
{
    return gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, name,
                                         (unsigned)strlen(name));
}

/* Its own key's name, and the issuer's: authorities of one name are told apart by it. */
static int put_key_ids(struct draft *draft, const struct draft *issuer)
{
    unsigned char id[KEY_ID_BYTES];
    size_t len = sizeof(id);
    int code = gnutls_x509_privkey_get_key_id(draft->key, 0, id, &len);
    if (code >= 0) {
        code = gnutls_x509_crt_set_subject_key_id(draft->crt, id, len);
    }
    len = sizeof(id);
    if (code >= 0) {
        code = gnutls_x509_privkey_get_key_id(issuer->key, 0, id, &len);
    }
    return code < 0 ? code : gnutls_x509_crt_set_authority_key_id(draft->crt, id, len);
}

static int put_use(gnutls_x509_crt_t crt, const struct sl_cert_wish *wish)
{
    if (wish == NULL) { /* an authority, of certificates alone and not of authorities */
        int code = gnutls_x509_crt_set_basic_constraints(crt, 1, 0);
        return code < 0 ? code : gnutls_x509_crt_set_key_usage(crt, GNUTLS_KEY_KEY_CERT_SIGN);
    }
    int code = gnutls_x509_crt_set_basic_constraints(crt, 0, -1);
    if (code >= 0) {
        code = gnutls_x509_crt_set_key_usage(crt, GNUTLS_KEY_DIGITAL_SIGNATURE);
    }
    if (code >= 0) {
        code = gnutls_x509_crt_set_key_purpose_oid(
            crt, wish->name == NULL ? GNUTLS_KP_TLS_WWW_SERVER : GNUTLS_KP_TLS_WWW_CLIENT, 0);
    }
    for (size_t i = 0; code >= 0 && i < SL_CERT_DNS_MAX && wish->dns[i] != NULL; i++) {
        code = gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, wish->dns[i],
                                                    (unsigned)strlen(wish->dns[i]),
                                                    GNUTLS_FSAN_APPEND);
    }
    return code;
}

/* wish NULL: an authority, which signs itself. */
static int draft_fill(struct draft *draft, const char *name, const struct sl_cert_wish *wish,
                      const struct draft *issuer, int64_t now_s)
{
    int code = draft_init(draft);
    if (code >= 0) {
        code = gnutls_x509_crt_set_version(draft->crt, 3);
    }
    if (code >= 0) {
        code = put_serial(draft->crt);
    }
    if (code >= 0) {
        code = put_times(draft->crt, now_s);
    }
    if (code >= 0) {
        code = put_common_name(draft->crt, name);
    }
    if (code >= 0) {
        code = put_use(draft->crt, wish);
    }
    if (code >= 0) {
        code = gnutls_x509_crt_set_key(draft->crt, draft->key);
    }
    if (code >= 0) {
        code = put_key_ids(draft, issuer);
    }
    return code < 0
               ? code
               : gnutls_x509_crt_sign2(draft->crt, issuer->crt, issuer->key, GNUTLS_DIG_SHA256, 0);
}

/* Takes the text over into the arena. */
static char *keep_pem(gnutls_datum_t *pem, int code, struct sl_arena *arena)
{
    char *kept = code < 0 ? NULL : sl_arena_strdup(arena, (const char *)pem->data, pem->size);
    if (code >= 0) {
        gnutls_memset(pem->data, 0, pem->size); /* may be a key */
        gnutls_free(pem->data);
    }
    return kept;
}

static int export_pair(const struct draft *ca, const struct draft *leaf, struct sl_arena *arena,
                       struct sl_cert_pair *out, struct sl_error *err)
{
    gnutls_datum_t pem = {NULL, 0};
    out->ca = keep_pem(&pem, gnutls_x509_crt_export2(ca->crt, GNUTLS_X509_FMT_PEM, &pem), arena);
    out->crt = keep_pem(&pem, gnutls_x509_crt_export2(leaf->crt, GNUTLS_X509_FMT_PEM, &pem), arena);
    out->key =
        keep_pem(&pem, gnutls_x509_privkey_export2(leaf->key, GNUTLS_X509_FMT_PEM, &pem), arena);
    return out->ca != NULL && out->crt != NULL && out->key != NULL ? 0 : sl_error_nomem(err);
}

int sl_cert_pair_make(const struct sl_cert_wish *wish, int64_t now_s, struct sl_arena *arena,
                      struct sl_cert_pair *out, struct sl_error *err)
{
    struct draft ca = {NULL, NULL};
    struct draft leaf = {NULL, NULL};
    const char *name = wish->name != NULL ? wish->name : wish->dns[0];
    if (wish->name == NULL && strlen(name) > SL_CERT_NAME_MAX) {
        name = "sliced"; /* the DNS names count */
    }
    int code = draft_fill(&ca, wish->authority, NULL, &ca, now_s);
    if (code >= 0) {
        code = draft_fill(&leaf, name, wish, &ca, now_s);
    }
    int result = code < 0
                     ? sl_error_set(err, SL_ERR_SYSTEM, "a certificate for %s cannot be made: %s",
                                    name, gnutls_strerror(code))
                     : export_pair(&ca, &leaf, arena, out, err);
    draft_free(&leaf);
    draft_free(&ca);
    return result;
}
