/* Certificates made for a test: authorities, servers, clients. */
#ifndef SLICED_TEST_CERTS_H
#define SLICED_TEST_CERTS_H

#include <arpa/inet.h>
#include <gnutls/x509.h>
#include <string.h>
#include <time.h>

#include "fake_api.h"

/* A key and its certificate; text is PEM. */
struct cert {
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t crt;
    gnutls_datum_t key_pem;
    gnutls_datum_t crt_pem;
};

static inline void cert_ok(int code)
{
    if (code < 0) {
        fail_msg("%s", gnutls_strerror(code));
    }
}

/* For the address 127.0.0.1 when dns is NULL, else for that name. */
static inline void cert_for(struct cert *cert, const char *dns)
{
    struct in_addr loopback = {.s_addr = htonl(INADDR_LOOPBACK)};
    cert_ok(dns == NULL
                ? gnutls_x509_crt_set_subject_alt_name(cert->crt, GNUTLS_SAN_IPADDRESS, &loopback,
                                                       sizeof(loopback), GNUTLS_FSAN_SET)
                : gnutls_x509_crt_set_subject_alt_name(cert->crt, GNUTLS_SAN_DNSNAME, dns,
                                                       (unsigned)strlen(dns), GNUTLS_FSAN_SET));
}

/* Signed by ca; by itself, as an authority, when that is NULL. ends_s: from now on. */
static inline struct cert cert_make(const char *name, const struct cert *ca, const char *dns,
                                    time_t ends_s)
{
    static unsigned char serial = 0;
    const time_t day_s = 86400;
    struct cert cert;
    serial++;
    cert_ok(gnutls_x509_privkey_init(&cert.key));
    cert_ok(gnutls_x509_privkey_generate(cert.key, GNUTLS_PK_ECDSA,
                                         GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0));
    cert_ok(gnutls_x509_crt_init(&cert.crt));
    cert_ok(gnutls_x509_crt_set_version(cert.crt, 3));
    cert_ok(gnutls_x509_crt_set_serial(cert.crt, &serial, 1));
    cert_ok(gnutls_x509_crt_set_dn_by_oid(cert.crt, GNUTLS_OID_X520_COMMON_NAME, 0, name,
                                          (unsigned)strlen(name)));
    cert_ok(gnutls_x509_crt_set_activation_time(cert.crt, time(NULL) - 2 * day_s));
    cert_ok(gnutls_x509_crt_set_expiration_time(cert.crt, time(NULL) + ends_s));
    cert_ok(gnutls_x509_crt_set_basic_constraints(cert.crt, ca == NULL, -1));
    cert_for(&cert, dns);
    cert_ok(gnutls_x509_crt_set_key(cert.crt, cert.key));
    cert_ok(gnutls_x509_crt_sign2(cert.crt, ca == NULL ? cert.crt : ca->crt,
                                  ca == NULL ? cert.key : ca->key, GNUTLS_DIG_SHA256, 0));
    cert_ok(gnutls_x509_crt_export2(cert.crt, GNUTLS_X509_FMT_PEM, &cert.crt_pem));
    cert_ok(gnutls_x509_privkey_export2(cert.key, GNUTLS_X509_FMT_PEM, &cert.key_pem));
    return cert;
}

static inline void cert_free(struct cert *cert)
{
    gnutls_x509_crt_deinit(cert->crt);
    gnutls_x509_privkey_deinit(cert->key);
    gnutls_free(cert->crt_pem.data);
    gnutls_free(cert->key_pem.data);
}

static inline struct sl_str cert_str(const gnutls_datum_t *pem)
{
    return (struct sl_str){(const char *)pem->data, pem->size};
}

#endif
