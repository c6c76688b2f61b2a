/* Certificates that change under handshakes, and peers that are asked for theirs. */
#include <stdlib.h>

#include "unit/test.h"
#include <gnutls/x509.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "server/net/front_proxy.h"
#include "server/net/tls.h"

enum { PATH_SIZE = 128, DAY_S = 86400 };

/* A key, its certificate, and who signed it. */
struct pair {
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t cert;
};

struct folder {
    char path[64];
    char cert[PATH_SIZE];
    char key[PATH_SIZE];
    char clients[PATH_SIZE];
};

static void ok(int code)
{
    if (code < 0) {
        fail_msg("%s", gnutls_strerror(code));
    }
}

/* Signed by ca, or by itself when that is NULL. */
static struct pair make_pair(const char *name, const struct pair *ca, const char *purpose,
                             int64_t not_after)
{
    static unsigned char serial = 0;
    struct pair pair;
    serial++;
    ok(gnutls_x509_privkey_init(&pair.key));
    ok(gnutls_x509_privkey_generate(pair.key, GNUTLS_PK_ECDSA,
                                    GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0));
    ok(gnutls_x509_crt_init(&pair.cert));
    ok(gnutls_x509_crt_set_version(pair.cert, 3));
    ok(gnutls_x509_crt_set_serial(pair.cert, &serial, 1));
    ok(gnutls_x509_crt_set_dn_by_oid(pair.cert, GNUTLS_OID_X520_COMMON_NAME, 0, name,
                                     (unsigned)strlen(name)));
    ok(gnutls_x509_crt_set_activation_time(pair.cert, time(NULL) - 2 * (time_t)DAY_S));
    ok(gnutls_x509_crt_set_expiration_time(pair.cert, (time_t)not_after));
    ok(gnutls_x509_crt_set_basic_constraints(pair.cert, ca == NULL, -1));
    if (purpose != NULL) {
        ok(gnutls_x509_crt_set_key_purpose_oid(pair.cert, purpose, 0));
    }
    ok(gnutls_x509_crt_set_key(pair.cert, pair.key));
    ok(gnutls_x509_crt_sign2(pair.cert, ca == NULL ? pair.cert : ca->cert,
                             ca == NULL ? pair.key : ca->key, GNUTLS_DIG_SHA256, 0));
    return pair;
}

static void free_pair(struct pair *pair)
{
    gnutls_x509_crt_deinit(pair->cert);
    gnutls_x509_privkey_deinit(pair->key);
}

/* Puts a file in one step, as a new one. */
static void put_file(const char *path, const gnutls_datum_t *text)
{
    char fresh[PATH_SIZE + 8];
    (void)snprintf(fresh, sizeof(fresh), "%s.new", path);
    FILE *file = fopen(fresh, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text->data, 1, text->size, file), text->size);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(fresh, path), 0);
}

static void put_cert(const char *path, const struct pair *pair)
{
    gnutls_datum_t text;
    ok(gnutls_x509_crt_export2(pair->cert, GNUTLS_X509_FMT_PEM, &text));
    put_file(path, &text);
    gnutls_free(text.data);
}

static void put_key(const char *path, const struct pair *pair)
{
    gnutls_datum_t text;
    ok(gnutls_x509_privkey_export2(pair->key, GNUTLS_X509_FMT_PEM, &text));
    put_file(path, &text);
    gnutls_free(text.data);
}

static void put_pair(const struct folder *folder, const struct pair *pair)
{
    put_cert(folder->cert, pair);
    put_key(folder->key, pair);
}

static int set_up(void **state)
{
    static struct folder folder;
    (void)snprintf(folder.path, sizeof(folder.path), "/tmp/sliced-tls-XXXXXX");
    assert_non_null(mkdtemp(folder.path));
    (void)snprintf(folder.cert, sizeof(folder.cert), "%s/tls.crt", folder.path);
    (void)snprintf(folder.key, sizeof(folder.key), "%s/tls.key", folder.path);
    (void)snprintf(folder.clients, sizeof(folder.clients), "%s/ca.crt", folder.path);
    *state = &folder;
    return 0;
}

static int tear_down(void **state)
{
    const struct folder *folder = *state;
    (void)unlink(folder->cert);
    (void)unlink(folder->key);
    (void)unlink(folder->clients);
    return rmdir(folder->path);
}

static struct sl_tls *open_tls(const struct folder *folder, bool clients)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    const struct sl_tls_options options = {.cert_file = folder->cert,
                                           .key_file = folder->key,
                                           .ca_file = {clients ? folder->clients : NULL}};
    struct sl_tls *tls = sl_tls_new(&options, &err);
    if (tls == NULL) {
        fail_msg("%s", err.message);
    }
    return tls;
}

/* What a handshake that begins now is given. */
struct given {
    gnutls_pcert_st *cert;
    unsigned n;
    gnutls_privkey_t key;
};

static struct given retrieve(void)
{
    struct given given = {NULL, 0, NULL};
    gnutls_ocsp_data_st *ocsp = NULL;
    unsigned n_ocsp = 7;
    unsigned flags = 0;
    assert_int_equal(
        sl_tls_retrieve(NULL, NULL, &given.cert, &given.n, &ocsp, &n_ocsp, &given.key, &flags), 0);
    assert_int_equal(n_ocsp, 0);
    assert_int_equal(flags, GNUTLS_CERT_RETR_DEINIT_ALL);
    return given;
}

static bool is_of(const struct given *given, const struct pair *pair)
{
    gnutls_x509_crt_t cert = NULL;
    ok(gnutls_pcert_export_x509(&given->cert[0], &cert));
    bool same = gnutls_x509_crt_equals(cert, pair->cert) != 0;
    gnutls_x509_crt_deinit(cert);
    return same;
}

/* As gnutls does after the handshake. */
static void free_given(struct given *given)
{
    for (unsigned i = 0; i < given->n; i++) {
        gnutls_pcert_deinit(&given->cert[i]);
    }
    gnutls_free(given->cert);
    gnutls_privkey_deinit(given->key);
}

TEST_FIXTURE(set_up, tear_down)

TEST_ON(const struct folder *folder, what_a_handshake_was_given_outlives_any_number_of_rotations)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    const gnutls_datum_t text = {(unsigned char *)"x", 1};
    gnutls_datum_t signature;
    struct pair first = make_pair("first", NULL, NULL, time(NULL) + DAY_S);
    put_pair(folder, &first);
    struct sl_tls *tls = open_tls(folder, false);
    struct given slow = retrieve();

    for (int i = 0; i < 10; i++) {
        const int64_t end = time(NULL) + DAY_S + i;
        struct pair next = make_pair("next", NULL, NULL, end);
        put_pair(folder, &next);
        assert_int_equal(sl_tls_refresh(tls, &err), 1);
        assert_int_equal(sl_tls_refresh(tls, &err), 0);
        assert_int_equal(sl_tls_not_after(tls), end);
        struct given fresh = retrieve();
        assert_true(is_of(&fresh, &next));
        free_given(&fresh);
        free_pair(&next);
    }

    assert_true(is_of(&slow, &first));
    ok(gnutls_privkey_sign_data(slow.key, GNUTLS_DIG_SHA256, 0, &text, &signature));
    gnutls_free(signature.data);
    sl_tls_free(tls);
    free_given(&slow);
    free_pair(&first);
}

TEST_ON(const struct folder *folder, half_a_pair_changes_nothing_until_the_other_half_is_there)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    struct pair first = make_pair("first", NULL, NULL, time(NULL) + DAY_S);
    struct pair second = make_pair("second", NULL, NULL, time(NULL) + DAY_S);
    put_pair(folder, &first);
    struct sl_tls *tls = open_tls(folder, false);

    put_cert(folder->cert, &second);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sl_tls_refresh(tls, &err), -1);
        assert_non_null(strstr(err.message, "tls.key: the key does not belong"));
    }
    struct given given = retrieve();
    assert_true(is_of(&given, &first));
    free_given(&given);

    put_key(folder->key, &second);
    assert_int_equal(sl_tls_refresh(tls, &err), 1);
    given = retrieve();
    assert_true(is_of(&given, &second));
    free_given(&given);
    sl_tls_free(tls);
    free_pair(&first);
    free_pair(&second);
}

TEST_ON(const struct folder *folder, files_that_hold_nothing_or_too_much_are_told_by_name)
{
    static unsigned char much[(1 << 20) + 1];
    const gnutls_datum_t bad[] = {
        {(unsigned char *)"", 0}, {(unsigned char *)"rubbish", 7}, {much, sizeof(much)}};
    struct pair pair = make_pair("pair", NULL, NULL, time(NULL) + DAY_S);
    const char *const paths[] = {folder->cert, folder->key, folder->clients};
    put_pair(folder, &pair);
    put_cert(folder->clients, &pair);
    for (size_t p = 0; p < 3; p++) {
        for (size_t i = 0; i < 3; i++) {
            struct sl_error err = {.code = SL_ERR_NONE};
            struct sl_tls_options options = {.cert_file = folder->cert, .key_file = folder->key};
            options.ca_file[i % SL_TLS_CALLERS] = folder->clients;
            put_file(paths[p], &bad[i]);
            assert_null(sl_tls_new(&options, &err));
            assert_non_null(strstr(err.message, paths[p]));
            assert_int_equal(err.code, i == 2 ? SL_ERR_LIMIT : err.code);
        }
        put_pair(folder, &pair);
    }
    free_pair(&pair);
}

/* ---- peers ---- */

/* Both ends of a connection, after the handshake. */
struct link {
    int fd[2];
    gnutls_certificate_credentials_t of_client;
    gnutls_certificate_credentials_t of_server;
    gnutls_session_t client;
    gnutls_session_t server;
};

static void connect_as(struct link *link, struct sl_tls *tls, struct pair *client)
{
    int at_client = GNUTLS_E_AGAIN;
    int at_server = GNUTLS_E_AGAIN;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, link->fd), 0);
    ok(gnutls_certificate_allocate_credentials(&link->of_client));
    ok(gnutls_certificate_allocate_credentials(&link->of_server));
    gnutls_certificate_set_retrieve_function3(link->of_server, sl_tls_retrieve);
    if (client != NULL) {
        ok(gnutls_certificate_set_x509_key(link->of_client, &client->cert, 1, client->key));
    }
    ok(gnutls_init(&link->client, GNUTLS_CLIENT | GNUTLS_NONBLOCK));
    ok(gnutls_init(&link->server, GNUTLS_SERVER | GNUTLS_NONBLOCK));
    ok(gnutls_set_default_priority(link->client));
    ok(gnutls_set_default_priority(link->server));
    ok(gnutls_credentials_set(link->client, GNUTLS_CRD_CERTIFICATE, link->of_client));
    ok(gnutls_credentials_set(link->server, GNUTLS_CRD_CERTIFICATE, link->of_server));
    gnutls_transport_set_int(link->client, link->fd[0]);
    gnutls_transport_set_int(link->server, link->fd[1]);
    sl_tls_prepare(tls, SL_TLS_SCHEDULER, link->server);
    for (int i = 0; i < 100 && (at_client != 0 || at_server != 0); i++) {
        at_client = at_client == 0 ? 0 : gnutls_handshake(link->client);
        at_server = at_server == 0 ? 0 : gnutls_handshake(link->server);
    }
    assert_int_equal(at_client, 0);
    assert_int_equal(at_server, 0);
}

static void disconnect(struct link *link)
{
    gnutls_deinit(link->client);
    gnutls_deinit(link->server);
    gnutls_certificate_free_credentials(link->of_client);
    gnutls_certificate_free_credentials(link->of_server);
    (void)close(link->fd[0]);
    (void)close(link->fd[1]);
}

static const struct sl_config_client clients[] = {{"good"},    {"client"},  {"sliced-scheduler"},
                                                  {"foreign"}, {"expired"}, {"other"}};
static const struct sl_tls_names anybody = {
    .client = clients, .n = sizeof(clients) / sizeof(clients[0]), .serial = 1};

static bool peer_ok(struct sl_tls *tls, struct pair *client, char *why, size_t size)
{
    struct link link;
    struct sl_tls_peer peer = {0};
    connect_as(&link, tls, client);
    bool good = sl_tls_peer_ok(tls, SL_TLS_SCHEDULER, link.server, &anybody, &peer, why, size);
    disconnect(&link);
    return good;
}

TEST_ON(const struct folder *folder, peers_are_judged_by_authority_purpose_and_time)
{
    const int64_t tomorrow = time(NULL) + DAY_S;
    struct pair server = make_pair("server", NULL, NULL, tomorrow);
    struct pair ca = make_pair("ca", NULL, NULL, tomorrow);
    struct pair namesake = make_pair("ca", NULL, NULL, tomorrow);
    struct pair good = make_pair("good", &ca, GNUTLS_KP_TLS_WWW_CLIENT, tomorrow);
    struct pair foreign = make_pair("foreign", &namesake, GNUTLS_KP_TLS_WWW_CLIENT, tomorrow);
    struct pair expired = make_pair("expired", &ca, GNUTLS_KP_TLS_WWW_CLIENT, time(NULL) - 60);
    struct pair other = make_pair("other", &ca, GNUTLS_KP_TLS_WWW_SERVER, tomorrow);
    char why[256] = "";
    put_pair(folder, &server);
    put_cert(folder->clients, &ca);
    struct sl_tls *tls = open_tls(folder, true);
    assert_true(peer_ok(tls, &good, why, sizeof(why)));
    assert_string_equal(why, "");
    assert_false(peer_ok(tls, &foreign, why, sizeof(why)));
    assert_non_null(strstr(why, "trusted"));
    assert_false(peer_ok(tls, &expired, why, sizeof(why)));
    assert_non_null(strstr(why, "expired"));
    assert_false(peer_ok(tls, &other, why, sizeof(why)));
    assert_non_null(strstr(why, "purpose"));
    assert_false(peer_ok(tls, NULL, why, sizeof(why)));
    assert_non_null(strstr(why, "none was shown"));
    sl_tls_free(tls);
    tls = open_tls(folder, false);
    assert_true(peer_ok(tls, NULL, why, sizeof(why)));
    assert_true(peer_ok(tls, &foreign, why, sizeof(why)));
    sl_tls_free(tls);
    struct pair *all[] = {&server, &ca, &namesake, &good, &foreign, &expired, &other};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        free_pair(all[i]);
    }
}

TEST_THAT(a_good_peer_is_checked_again_when_its_time_is_over_or_the_authority_changed)
{
    const struct folder *folder = *state;
    const int64_t tomorrow = time(NULL) + DAY_S;
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_tls_peer peer = {0};
    struct link link;
    char why[256] = "";
    struct pair server = make_pair("server", NULL, NULL, tomorrow);
    struct pair ca = make_pair("ca", NULL, NULL, tomorrow);
    struct pair client = make_pair("client", &ca, GNUTLS_KP_TLS_WWW_CLIENT, tomorrow - 100);
    put_pair(folder, &server);
    put_cert(folder->clients, &ca);
    struct sl_tls *tls = open_tls(folder, true);
    connect_as(&link, tls, &client);

    assert_true(
        sl_tls_peer_ok(tls, SL_TLS_SCHEDULER, link.server, &anybody, &peer, why, sizeof(why)));
    assert_int_equal(peer.until, tomorrow - 100);
    /* what is known is enough: the session is not even looked at */
    assert_true(sl_tls_peer_ok(tls, SL_TLS_SCHEDULER, NULL, &anybody, &peer, why, sizeof(why)));
    peer.until = time(NULL);
    assert_true(
        sl_tls_peer_ok(tls, SL_TLS_SCHEDULER, link.server, &anybody, &peer, why, sizeof(why)));
    assert_int_equal(peer.until, tomorrow - 100);

    put_cert(folder->clients, &server);
    assert_int_equal(sl_tls_refresh(tls, &err), 1);
    assert_false(
        sl_tls_peer_ok(tls, SL_TLS_SCHEDULER, link.server, &anybody, &peer, why, sizeof(why)));
    disconnect(&link);
    sl_tls_free(tls);
    free_pair(&server);
    free_pair(&ca);
    free_pair(&client);
}

/* Signed anew, with an alternative name. */
static void add_name(struct pair *pair, const struct pair *ca, gnutls_x509_subject_alt_name_t type,
                     const char *name, size_t len)
{
    ok(gnutls_x509_crt_set_subject_alt_name(pair->cert, type, name, (unsigned)len,
                                            GNUTLS_FSAN_APPEND));
    ok(gnutls_x509_crt_sign2(pair->cert, ca->cert, ca->key, GNUTLS_DIG_SHA256, 0));
}

TEST_ON(struct folder *folder, a_certificate_calls_by_its_name_letter_by_letter)
{
    int64_t tomorrow = time(NULL) + DAY_S;
    struct pair server = make_pair("server", NULL, NULL, tomorrow);
    struct pair ca = make_pair("clients", NULL, NULL, tomorrow);
    static const struct {
        const char *common;
        const char *alternative; /* NULL: none */
        size_t len;
        gnutls_x509_subject_alt_name_t type;
        bool good;
    } rows[] = {
        {"sliced-scheduler", NULL, 0, GNUTLS_SAN_DNSNAME, true},
        {"Sliced-scheduler", NULL, 0, GNUTLS_SAN_DNSNAME, false},
        {"sliced-schedule", NULL, 0, GNUTLS_SAN_DNSNAME, false},
        {"sliced-scheduler2", NULL, 0, GNUTLS_SAN_DNSNAME, false},
        {"node-1", NULL, 0, GNUTLS_SAN_DNSNAME, false},
        {"node-1", "sliced-scheduler", 16, GNUTLS_SAN_DNSNAME, true},
        {"node-1", "spiffe://a/sliced", 17, GNUTLS_SAN_URI, true},
        {"node-1", "sliced-scheduler", 16, GNUTLS_SAN_RFC822NAME, false},
        {"node-1", "sliced-scheduler.x", 18, GNUTLS_SAN_DNSNAME, false},
        {"node-1", "*", 1, GNUTLS_SAN_DNSNAME, false},
    };
    static const struct sl_config_client allowed[] = {
        {"sliced-scheduler"}, {"spiffe://a/sliced"}, {""}};
    const struct sl_tls_names names = {.client = allowed, .n = 3, .serial = 7};
    put_pair(folder, &server);
    put_cert(folder->clients, &ca);
    struct sl_tls *tls = open_tls(folder, true);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pair client = make_pair(rows[i].common, &ca, GNUTLS_KP_TLS_WWW_CLIENT, tomorrow);
        struct sl_tls_peer peer = {0};
        struct link link;
        char why[256] = "";
        if (rows[i].alternative != NULL) {
            add_name(&client, &ca, rows[i].type, rows[i].alternative, rows[i].len);
        }
        connect_as(&link, tls, &client);
        bool good =
            sl_tls_peer_ok(tls, SL_TLS_SCHEDULER, link.server, &names, &peer, why, sizeof(why));
        if (good != rows[i].good) {
            fail_msg("row %zu: %s", i, why);
        }
        if (good) { /* and no more when the names are others */
            const struct sl_tls_names others = {.client = clients, .n = 1, .serial = 8};
            assert_false(sl_tls_peer_ok(tls, SL_TLS_SCHEDULER, link.server, &others, &peer, why,
                                        sizeof(why)));
            assert_non_null(strstr(why, "may not call"));
            const struct sl_tls_names common = {
                .client = allowed, .n = 3, .serial = 9, .common_only = true};
            bool by_common = sl_tls_peer_ok(tls, SL_TLS_SCHEDULER, link.server, &common, &peer, why,
                                            sizeof(why));
            assert_int_equal(by_common, strcmp(rows[i].common, "node-1") != 0);
        }
        disconnect(&link);
        free_pair(&client);
    }
    sl_tls_free(tls);
    free_pair(&server);
    free_pair(&ca);
}

static struct sl_str pem_of(const struct pair *pair, gnutls_datum_t *pem)
{
    ok(gnutls_x509_crt_export2(pair->cert, GNUTLS_X509_FMT_PEM, pem));
    return (struct sl_str){(const char *)pem->data, pem->size};
}

/* Is a client with that certificate believed? */
static bool is_proxy(struct sl_front_proxy *proxy, struct sl_tls *tls, struct pair *client,
                     bool *known, char why[256])
{
    struct link link;
    struct sl_tls_peer peer = {0};
    connect_as(&link, tls, client);
    bool good = sl_front_proxy_ok(proxy, link.server, &peer, known, why, 256);
    disconnect(&link);
    return good;
}

TEST_ON(struct folder *folder, a_front_proxy_is_whom_the_cluster_names_now)
{
    int64_t tomorrow = time(NULL) + DAY_S;
    struct pair ca = make_pair("front-proxy-ca", NULL, NULL, tomorrow);
    struct pair users = make_pair("users-ca", NULL, NULL, tomorrow);
    struct pair good = make_pair("front-proxy-client", &ca, GNUTLS_KP_TLS_WWW_CLIENT, tomorrow);
    struct pair other = make_pair("other", &ca, GNUTLS_KP_TLS_WWW_CLIENT, tomorrow);
    struct pair user = make_pair("front-proxy-client", &users, GNUTLS_KP_TLS_WWW_CLIENT, tomorrow);
    const struct sl_str name = SL_STR("front-proxy-client");
    const struct sl_str none = SL_STR("");
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_front_proxy proxy;
    gnutls_datum_t pem = {NULL, 0};
    char why[256] = "";
    bool known = true;
    put_pair(folder, &ca);
    put_cert(folder->clients, &users); /* so that certificates are asked for */
    struct sl_tls *tls = open_tls(folder, true);
    sl_front_proxy_init(&proxy);
    assert_false(is_proxy(&proxy, tls, &good, &known, why));
    assert_false(known);

    assert_int_equal(sl_front_proxy_set(&proxy, pem_of(&ca, &pem), &name, 1, &err), 0);
    assert_true(is_proxy(&proxy, tls, &good, &known, why));
    assert_true(known);
    assert_false(is_proxy(&proxy, tls, &other, &known, why));
    assert_non_null(strstr(why, "may not call"));
    assert_false(is_proxy(&proxy, tls, &user, &known, why));
    assert_false(is_proxy(&proxy, tls, NULL, &known, why));

    /* what cannot be read changes nothing */
    assert_true(sl_front_proxy_set(&proxy, SL_STR("no certificate"), &name, 1, &err) < 0);
    assert_true(sl_front_proxy_set(&proxy, (struct sl_str){(char *)pem.data, pem.size}, &none, 1,
                                   &err) < 0);
    assert_true(is_proxy(&proxy, tls, &good, &known, why));

    /* no names: whoever has a certificate of the authority */
    assert_int_equal(
        sl_front_proxy_set(&proxy, (struct sl_str){(char *)pem.data, pem.size}, NULL, 0, &err), 0);
    assert_true(is_proxy(&proxy, tls, &other, &known, why));
    assert_false(is_proxy(&proxy, tls, &user, &known, why));
    gnutls_free(pem.data);

    /* another authority takes the place of the first */
    assert_int_equal(sl_front_proxy_set(&proxy, pem_of(&users, &pem), &name, 1, &err), 0);
    assert_false(is_proxy(&proxy, tls, &good, &known, why));
    assert_true(is_proxy(&proxy, tls, &user, &known, why));
    gnutls_free(pem.data);
    sl_front_proxy_free(&proxy);
    sl_tls_free(tls);
    free_pair(&ca);
    free_pair(&users);
    free_pair(&good);
    free_pair(&other);
    free_pair(&user);
}
