/* Certificates from files, swapped whole when they change. */
#include "server/net/tls.h"

#include <errno.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { CHAIN_MAX = SL_TLS_CHAIN_MAX, FILE_MAX = 1 << 20 };

/* Differs when a file was replaced: mounted Secrets are swapped by a symbolic link. */
struct stamp {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified;
};

/* The files' content at one moment. */
struct content {
    gnutls_x509_crt_t cert[CHAIN_MAX];
    unsigned n_certs;
    gnutls_x509_privkey_t key;
    int64_t not_after;
    gnutls_x509_trust_list_t clients[SL_TLS_CALLERS]; /* on their way to the trust; NULL: not wanted
                                                       */
};

enum { FILE_CERT, FILE_KEY, FILE_CA, FILES = FILE_CA + SL_TLS_CALLERS };

struct sl_tls {
    char *path[FILES];                     /* NULL: not wanted */
    struct stamp stamp[FILES];             /* of content; used by the refreshing thread alone */
    struct sl_trust trust[SL_TLS_CALLERS]; /* without authorities when none are wanted */
    pthread_mutex_t lock;                  /* guards content */
    struct content *content;
};

/* gnutls_certificate_retrieve_function3 has no context */
static _Atomic(struct sl_tls *) the_tls;

/* ---- files ---- */

static int stamp_of(const char *path, struct stamp *out, struct sl_error *err)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        return sl_error_set(err, SL_ERR_SYSTEM, "%s: %s", path,
                            strerror(errno)); // NOLINT(concurrency-mt-unsafe)
    }
    *out = (struct stamp){info.st_dev, info.st_ino, info.st_size, info.st_mtim};
    return 0;
}

static bool stamp_equal(const struct stamp *a, const struct stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->modified.tv_sec == b->modified.tv_sec && a->modified.tv_nsec == b->modified.tv_nsec;
}

static int read_file(const char *path, gnutls_datum_t *out, struct sl_error *err)
{
    struct stat info;
    int code = GNUTLS_E_SUCCESS;
    if (path == NULL) {
        return sl_error_set(err, SL_ERR_FIELD, "a certificate needs its file and that of its key");
    }
    if (stat(path, &info) == 0 && info.st_size > FILE_MAX) {
        return sl_error_set(err, SL_ERR_LIMIT, "%s: longer than %d bytes", path, FILE_MAX);
    }
    code = gnutls_load_file(path, out);
    if (code < 0) {
        return sl_error_set(err, SL_ERR_SYSTEM, "%s: %s", path, gnutls_strerror(code));
    }
    return 0;
}

/* ---- content ---- */

static void content_free(struct content *content)
{
    if (content == NULL) {
        return;
    }
    for (unsigned i = 0; i < content->n_certs; i++) {
        gnutls_x509_crt_deinit(content->cert[i]);
    }
    if (content->key != NULL) {
        gnutls_x509_privkey_deinit(content->key);
    }
    for (unsigned i = 0; i < SL_TLS_CALLERS; i++) {
        if (content->clients[i] != NULL) {
            gnutls_x509_trust_list_deinit(content->clients[i], 1);
        }
    }
    free(content);
}

static int read_cert(struct content *content, const char *path, struct sl_error *err)
{
    gnutls_datum_t pem = {NULL, 0};
    unsigned n = CHAIN_MAX;
    if (read_file(path, &pem, err) < 0) {
        return -1;
    }
    int code = gnutls_x509_crt_list_import(content->cert, &n, &pem, GNUTLS_X509_FMT_PEM,
                                           GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED);
    gnutls_free(pem.data);
    if (code == GNUTLS_E_SHORT_MEMORY_BUFFER) {
        return sl_error_set(err, SL_ERR_LIMIT, "%s: more than %d certificates", path, CHAIN_MAX);
    }
    if (code < 1) {
        return sl_error_set(err, SL_ERR_FIELD, "%s: %s", path,
                            code == 0 ? "no certificate in it" : gnutls_strerror(code));
    }
    content->n_certs = n;
    content->not_after = (int64_t)gnutls_x509_crt_get_expiration_time(content->cert[0]);
    return 0;
}

static int read_key(struct content *content, const char *path, struct sl_error *err)
{
    gnutls_datum_t pem = {NULL, 0};
    if (read_file(path, &pem, err) < 0) {
        return -1;
    }
    int code = gnutls_x509_privkey_init(&content->key);
    if (code >= 0) {
        code = gnutls_x509_privkey_import2(content->key, &pem, GNUTLS_X509_FMT_PEM, NULL,
                                           GNUTLS_PKCS_PLAIN);
    }
    gnutls_memset(pem.data, 0, pem.size);
    gnutls_free(pem.data);
    return code < 0 ? sl_error_set(err, SL_ERR_FIELD, "%s: %s", path, gnutls_strerror(code)) : 0;
}

/* Do the key and the first certificate belong together? */
static int check_pair(const struct content *content, const char *path, struct sl_error *err)
{
    unsigned char of_cert[64];
    unsigned char of_key[64];
    size_t n_cert = sizeof(of_cert);
    size_t n_key = sizeof(of_key);
    int code =
        gnutls_x509_crt_get_key_id(content->cert[0], GNUTLS_KEYID_USE_SHA256, of_cert, &n_cert);
    if (code >= 0) {
        code =
            gnutls_x509_privkey_get_key_id(content->key, GNUTLS_KEYID_USE_SHA256, of_key, &n_key);
    }
    if (code < 0) {
        return sl_error_set(err, SL_ERR_FIELD, "%s: %s", path, gnutls_strerror(code));
    }
    if (n_cert != n_key || memcmp(of_cert, of_key, n_cert) != 0) {
        return sl_error_set(err, SL_ERR_FIELD, "%s: the key does not belong to the certificate",
                            path);
    }
    return 0;
}

static int read_clients(struct content *content, const struct sl_tls *tls, struct sl_error *err)
{
    for (unsigned i = 0; i < SL_TLS_CALLERS; i++) {
        const char *path = tls->path[FILE_CA + i];
        gnutls_datum_t pem = {NULL, 0};
        if (path == NULL) {
            continue;
        }
        if (read_file(path, &pem, err) < 0) {
            return -1;
        }
        content->clients[i] = sl_trust_read(&pem, path, err);
        gnutls_free(pem.data);
        if (content->clients[i] == NULL) {
            return -1;
        }
    }
    return 0;
}

static struct content *content_read(const struct sl_tls *tls, struct sl_error *err)
{
    struct content *content = calloc(1, sizeof(*content));
    if (content == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    if (read_cert(content, tls->path[FILE_CERT], err) < 0 ||
        read_key(content, tls->path[FILE_KEY], err) < 0 ||
        check_pair(content, tls->path[FILE_KEY], err) < 0 || read_clients(content, tls, err) < 0) {
        content_free(content);
        return NULL;
    }
    return content;
}

/* ---- life ---- */

static int read_stamps(const struct sl_tls *tls, struct stamp stamp[FILES], struct sl_error *err)
{
    memset(stamp, 0, FILES * sizeof(*stamp));
    for (int i = 0; i < FILES; i++) {
        if (tls->path[i] != NULL && stamp_of(tls->path[i], &stamp[i], err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* stamp is from before the reading: a change meanwhile is seen at the next refresh. */
static int load_files(struct sl_tls *tls, const struct stamp stamp[FILES], struct sl_error *err)
{
    struct content *fresh = content_read(tls, err);
    if (fresh == NULL) {
        return -1;
    }
    (void)pthread_mutex_lock(&tls->lock);
    struct content *old = tls->content;
    tls->content = fresh;
    (void)pthread_mutex_unlock(&tls->lock);
    for (unsigned i = 0; i < SL_TLS_CALLERS; i++) {
        sl_trust_put(&tls->trust[i], fresh->clients[i]);
        fresh->clients[i] = NULL;
    }
    content_free(old);
    memcpy(tls->stamp, stamp, sizeof(tls->stamp));
    return 0;
}

struct sl_tls *sl_tls_new(const struct sl_tls_options *options, struct sl_error *err)
{
    const char *given[FILES] = {options->cert_file, options->key_file,
                                options->ca_file[SL_TLS_SCHEDULER],
                                options->ca_file[SL_TLS_MONITORING]};
    struct stamp stamp[FILES];
    struct sl_tls *tls = calloc(1, sizeof(*tls));
    if (tls == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    (void)pthread_mutex_init(&tls->lock, NULL);
    for (int i = 0; i < SL_TLS_CALLERS; i++) {
        sl_trust_init(&tls->trust[i]);
    }
    for (int i = 0; i < FILES; i++) {
        tls->path[i] = given[i] == NULL ? NULL : strdup(given[i]);
        if (given[i] != NULL && tls->path[i] == NULL) {
            (void)sl_error_nomem(err);
            goto fail;
        }
    }
    if (read_stamps(tls, stamp, err) < 0 || load_files(tls, stamp, err) < 0) {
        goto fail;
    }
    atomic_store(&the_tls, tls);
    return tls;
fail:
    sl_tls_free(tls);
    return NULL;
}

void sl_tls_free(struct sl_tls *tls)
{
    if (tls == NULL) {
        return;
    }
    struct sl_tls *mine = tls;
    (void)atomic_compare_exchange_strong(&the_tls, &mine, NULL);
    content_free(tls->content);
    for (int i = 0; i < FILES; i++) {
        free(tls->path[i]);
    }
    for (int i = 0; i < SL_TLS_CALLERS; i++) {
        sl_trust_free(&tls->trust[i]);
    }
    (void)pthread_mutex_destroy(&tls->lock);
    free(tls);
}

int sl_tls_refresh(struct sl_tls *tls, struct sl_error *err)
{
    struct stamp stamp[FILES];
    bool same = true;
    if (read_stamps(tls, stamp, err) < 0) {
        return -1;
    }
    for (int i = 0; i < FILES; i++) {
        same = same && stamp_equal(&stamp[i], &tls->stamp[i]);
    }
    if (same) {
        return 0;
    }
    return load_files(tls, stamp, err) < 0 ? -1 : 1;
}

int64_t sl_tls_not_after(struct sl_tls *tls)
{
    (void)pthread_mutex_lock(&tls->lock);
    int64_t not_after = tls->content->not_after;
    (void)pthread_mutex_unlock(&tls->lock);
    return not_after;
}

/* ---- connections ---- */

void sl_tls_prepare(struct sl_tls *tls, enum sl_tls_callers who, gnutls_session_t session)
{
    if (tls->path[FILE_CA + who] != NULL) {
        gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUEST);
    }
}

/* Copies the certificates for a handshake, for gnutls to free; NULL when out of memory. */
static gnutls_pcert_st *copy_certs(const struct content *content)
{
    gnutls_pcert_st *copy = gnutls_calloc(content->n_certs, sizeof(*copy));
    unsigned n = 0;
    while (copy != NULL && n < content->n_certs &&
           gnutls_pcert_import_x509(&copy[n], content->cert[n], 0) >= 0) {
        n++;
    }
    if (copy != NULL && n < content->n_certs) {
        while (n > 0) {
            gnutls_pcert_deinit(&copy[--n]);
        }
        gnutls_free(copy);
        copy = NULL;
    }
    return copy;
}

static gnutls_privkey_t copy_key(const struct content *content)
{
    gnutls_privkey_t copy = NULL;
    if (gnutls_privkey_init(&copy) < 0) {
        return NULL;
    }
    if (gnutls_privkey_import_x509(copy, content->key, GNUTLS_PRIVKEY_IMPORT_COPY) < 0) {
        gnutls_privkey_deinit(copy);
        return NULL;
    }
    return copy;
}

/* Gives each handshake copies of its own: it may take as long as the client likes, while the files
 * change any number of times. */
int sl_tls_retrieve(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                    gnutls_pcert_st **certs, unsigned *n_certs, gnutls_ocsp_data_st **ocsp,
                    unsigned *n_ocsp, gnutls_privkey_t *key, unsigned *flags)
{
    struct sl_tls *tls = atomic_load(&the_tls);
    (void)session;
    (void)info;
    if (tls == NULL) {
        return -1;
    }
    (void)pthread_mutex_lock(&tls->lock);
    unsigned n = tls->content->n_certs;
    gnutls_pcert_st *cert_copy = copy_certs(tls->content);
    gnutls_privkey_t key_copy = cert_copy == NULL ? NULL : copy_key(tls->content);
    (void)pthread_mutex_unlock(&tls->lock);
    if (key_copy == NULL) {
        for (unsigned i = 0; cert_copy != NULL && i < n; i++) {
            gnutls_pcert_deinit(&cert_copy[i]);
        }
        gnutls_free(cert_copy);
        return -1;
    }
    *certs = cert_copy;
    *n_certs = n;
    *ocsp = NULL;
    *n_ocsp = 0;
    *key = key_copy;
    *flags = GNUTLS_CERT_RETR_DEINIT_ALL;
    return 0;
}

bool sl_tls_peer_ok(struct sl_tls *tls, enum sl_tls_callers who, gnutls_session_t session,
                    const struct sl_tls_names *names, struct sl_tls_peer *peer, char *why,
                    size_t size)
{
    return tls->path[FILE_CA + who] == NULL ||
           sl_trust_peer_ok(&tls->trust[who], session, names, peer, why, size);
}
