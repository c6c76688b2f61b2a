/* Certificates, made and replaced in time. */
#include "kube/certs/renewal.h"

#include <gnutls/x509.h>

#include "util/buf.h"
#include "util/time.h"

enum { CA_BYTES_MAX = 256 << 10 };

static const int64_t next_made_s = 730 * SL_DAY_S;
static const int64_t next_used_s = 365 * SL_DAY_S;
/* Where nobody looked for years the two steps lie closer together, but not at one time. */
static const int64_t apart_s = 30 * SL_DAY_S;

static gnutls_datum_t datum_of(char *text)
{
    gnutls_datum_t datum = {(unsigned char *)text, 0};
    datum.size = text == NULL ? 0 : (unsigned)strlen(text);
    return datum;
}

/* The first certificate of the PEM; the caller frees it. */
static int crt_read(char *pem, const char *key, gnutls_x509_crt_t *out, struct sl_error *err)
{
    gnutls_datum_t text = datum_of(pem);
    int code = gnutls_x509_crt_init(out);
    if (code < 0) {
        return sl_error_nomem(err);
    }
    code = gnutls_x509_crt_import(*out, &text, GNUTLS_X509_FMT_PEM);
    if (code < 0) {
        gnutls_x509_crt_deinit(*out);
        return sl_error_set(err, SL_ERR_FIELD, "%s: expected a certificate in PEM: %s", key,
                            gnutls_strerror(code));
    }
    return 0;
}

static bool is_for(gnutls_x509_crt_t crt, const struct sl_cert_wish *wish)
{
    char name[256];
    size_t len = sizeof(name);
    if (wish->name != NULL) {
        return gnutls_x509_crt_get_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name, &len) >=
                   0 &&
               strcmp(name, wish->name) == 0;
    }
    for (size_t i = 0; i < SL_CERT_DNS_MAX && wish->dns[i] != NULL; i++) {
        if (gnutls_x509_crt_check_hostname(crt, wish->dns[i]) == 0) {
            return false;
        }
    }
    return true;
}

/* What is known of the certificate in use, and of the next. */
struct ages {
    int64_t left_s;  /* of the one in use */
    int64_t since_s; /* that the next is there; negative: it is not */
    int64_t until_s;
    bool fits; /* it is for whom it is wanted */
};

static int read_ages(const struct sl_cert_secret *secret, const struct sl_cert_wish *wish,
                     int64_t now_s, struct ages *out, struct sl_error *err)
{
    gnutls_x509_crt_t crt = NULL;
    if (crt_read(secret->crt, "tls.crt", &crt, err) < 0) {
        return -1;
    }
    *out = (struct ages){.since_s = -1, .fits = is_for(crt, wish)};
    out->until_s = (int64_t)gnutls_x509_crt_get_expiration_time(crt);
    out->left_s = out->until_s - now_s;
    gnutls_x509_crt_deinit(crt);
    if (secret->next_crt == NULL || secret->next_key == NULL) {
        return 0;
    }
    if (crt_read(secret->next_crt, "next.crt", &crt, err) < 0) {
        return -1;
    }
    int64_t since_s = now_s - (int64_t)gnutls_x509_crt_get_activation_time(crt);
    out->since_s = since_s < 0 ? 0 : since_s;
    gnutls_x509_crt_deinit(crt);
    return 0;
}

/* The authorities of pem that have not ended yet, behind first (NULL: none). */
static int join_authorities(const char *first, char *pem, int64_t now_s, struct sl_arena *arena,
                            char **out, struct sl_error *err)
{
    gnutls_datum_t text = datum_of(pem);
    gnutls_x509_crt_t *list = NULL;
    unsigned n = 0;
    struct sl_buf all;
    if (pem != NULL && gnutls_x509_crt_list_import2(&list, &n, &text, GNUTLS_X509_FMT_PEM, 0) < 0) {
        return sl_error_set(err, SL_ERR_FIELD, "ca.crt: expected certificates in PEM");
    }
    sl_buf_init(&all, CA_BYTES_MAX);
    sl_buf_puts(&all, first == NULL ? "" : first);
    for (unsigned i = 0; i < n; i++) {
        gnutls_datum_t one = {NULL, 0};
        if ((int64_t)gnutls_x509_crt_get_expiration_time(list[i]) > now_s &&
            gnutls_x509_crt_export2(list[i], GNUTLS_X509_FMT_PEM, &one) >= 0) {
            sl_buf_append(&all, (const char *)one.data, one.size);
            gnutls_free(one.data);
        }
        gnutls_x509_crt_deinit(list[i]);
    }
    gnutls_free(list);
    *out = all.failed == SL_BUF_OK ? sl_arena_strdup(arena, all.data, all.len) : NULL;
    sl_buf_free(&all);
    return *out == NULL ? sl_error_nomem(err) : 0;
}

/* With the pair in use, at once, or as the next. */
static int take_pair(struct sl_cert_secret *secret, const struct sl_cert_wish *wish, bool at_once,
                     int64_t now_s, struct sl_arena *arena, struct sl_error *err)
{
    struct sl_cert_pair pair;
    char *ca = NULL;
    if (sl_cert_pair_make(wish, now_s, arena, &pair, err) < 0 ||
        join_authorities(pair.ca, secret->ca, now_s, arena, &ca, err) < 0) {
        return -1;
    }
    secret->ca = ca;
    secret->next_crt = at_once ? NULL : pair.crt;
    secret->next_key = at_once ? NULL : pair.key;
    if (at_once) {
        secret->crt = pair.crt;
        secret->key = pair.key;
    }
    return 0;
}

static int use_next(struct sl_cert_secret *secret, int64_t now_s, struct sl_arena *arena,
                    struct sl_error *err)
{
    char *ca = NULL;
    if (join_authorities(NULL, secret->ca, now_s, arena, &ca, err) < 0) {
        return -1;
    }
    secret->ca = ca;
    secret->crt = secret->next_crt;
    secret->key = secret->next_key;
    secret->next_crt = NULL;
    secret->next_key = NULL;
    return 0;
}

static enum sl_cert_change choose_change(const struct ages *ages)
{
    if (!ages->fits) {
        return SL_CERT_RENAMED;
    }
    if (ages->since_s < 0) {
        return ages->left_s < next_made_s ? SL_CERT_NEXT_MADE : SL_CERT_KEPT;
    }
    bool known = ages->since_s >= apart_s || ages->left_s < apart_s;
    return ages->left_s < next_used_s && known ? SL_CERT_NEXT_USED : SL_CERT_KEPT;
}

int sl_cert_renew(struct sl_cert_secret *secret, const struct sl_cert_wish *wish, int64_t now_s,
                  struct sl_arena *arena, enum sl_cert_change *change, int64_t *until_s,
                  struct sl_error *err)
{
    struct ages ages = {.fits = true};
    *change = SL_CERT_MADE;
    if (secret->crt != NULL) {
        if (read_ages(secret, wish, now_s, &ages, err) < 0) {
            return -1;
        }
        *change = choose_change(&ages);
    }
    if (*change == SL_CERT_KEPT) {
        *until_s = ages.until_s;
        return 0;
    }
    bool at_once = *change == SL_CERT_MADE || *change == SL_CERT_RENAMED;
    if ((*change == SL_CERT_NEXT_USED ? use_next(secret, now_s, arena, err)
                                      : take_pair(secret, wish, at_once, now_s, arena, err)) < 0 ||
        read_ages(secret, wish, now_s, &ages, err) < 0) {
        return -1;
    }
    *until_s = ages.until_s;
    return 0;
}
