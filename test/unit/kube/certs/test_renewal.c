/* Certificates over decades: whoever trusted the Secret up to a year ago trusts what is shown now.
 */
#include "unit/test.h"
#include <gnutls/x509.h>
#include <string.h>

#include "kube/certs/renewal.h"
#include "util/time.h"

static char for_server[] = GNUTLS_KP_TLS_WWW_SERVER;
static char for_client[] = GNUTLS_KP_TLS_WWW_CLIENT;

static const int64_t start_s = INT64_C(1800000000);

static const struct sl_cert_wish server = {
    .authority = "sliced-ca", .dns = {"sliced.sys.svc", "sliced.sys.svc.cluster.local"}};
static const struct sl_cert_wish client = {.authority = "sliced-client-ca", .name = "scheduler"};

static gnutls_datum_t datum_of(char *text)
{
    return (gnutls_datum_t){(unsigned char *)text, (unsigned)strlen(text)};
}

/* Does someone who knows these authorities believe the certificate, at that time and for that use?
 */
static bool trusts(char *ca, char *crt, const char *purpose, int64_t now_s)
{
    gnutls_datum_t ca_text = datum_of(ca);
    gnutls_datum_t crt_text = datum_of(crt);
    gnutls_typed_vdata_st use = {GNUTLS_DT_KEY_PURPOSE_OID,
                                 (unsigned char *)(purpose == for_server ? for_server : for_client),
                                 0};
    gnutls_x509_trust_list_t list = NULL;
    gnutls_x509_crt_t one = NULL;
    unsigned status = 0;
    assert_true(gnutls_x509_trust_list_init(&list, 0) >= 0 && gnutls_x509_crt_init(&one) >= 0);
    assert_true(
        gnutls_x509_trust_list_add_trust_mem(list, &ca_text, NULL, GNUTLS_X509_FMT_PEM, 0, 0) > 0);
    assert_true(gnutls_x509_crt_import(one, &crt_text, GNUTLS_X509_FMT_PEM) >= 0);
    /* GnuTLS asks the machine's clock: ends are looked at here */
    assert_true(gnutls_x509_trust_list_verify_crt2(
                    list, &one, 1, &use, 1, GNUTLS_VERIFY_DISABLE_TIME_CHECKS, &status, NULL) >= 0);
    bool valid = (int64_t)gnutls_x509_crt_get_expiration_time(one) > now_s &&
                 (int64_t)gnutls_x509_crt_get_activation_time(one) <= now_s;
    gnutls_x509_crt_deinit(one);
    gnutls_x509_trust_list_deinit(list, 1);
    return status == 0 && valid;
}

static void renew(struct sl_cert_secret *secret, const struct sl_cert_wish *wish, int64_t now_s,
                  struct sl_arena *arena, enum sl_cert_change *change)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    int64_t until_s = 0;
    if (sl_cert_renew(secret, wish, now_s, arena, change, &until_s, &err) < 0) {
        fail_msg("%s", err.message);
    }
    assert_true(until_s > now_s);
}

TEST_FIXTURE_OF(struct sl_arena, NULL, sl_arena_free)

TEST_ON(struct sl_arena *arena, a_missing_certificate_is_made_and_kept)
{
    struct sl_cert_secret secret = {.ca = NULL};
    enum sl_cert_change change = SL_CERT_KEPT;
    sl_arena_init(arena, 1 << 20);
    renew(&secret, &server, start_s, arena, &change);
    assert_int_equal(change, SL_CERT_MADE);
    assert_true(trusts(secret.ca, secret.crt, for_server, start_s));
    assert_false(trusts(secret.ca, secret.crt, for_client, start_s));
    /* ECDSA: with RSA each stranger's handshake costs a millisecond of a processor */
    assert_int_equal(strncmp(secret.key, "-----BEGIN EC PRIVATE KEY-----", 30), 0);
    const struct sl_cert_secret before = secret;
    renew(&secret, &server, start_s + 2000 * SL_DAY_S, arena, &change);
    assert_int_equal(change, SL_CERT_KEPT);
    assert_memory_equal(&before, &secret, sizeof(secret));
}

/* Looks every so many days for 40 years; who starts at a look keeps what it read for a year. */
static void play_years(const struct sl_cert_wish *wish, const char *purpose, int64_t step_s)
{
    enum { LOOKS_MAX = 500 };
    const int64_t end_s = start_s + 14600 * SL_DAY_S;
    static struct sl_cert_secret seen[LOOKS_MAX];
    static int64_t at_s[LOOKS_MAX];
    struct sl_arena arena;
    struct sl_cert_secret secret = {.ca = NULL};
    unsigned changes[SL_CERT_NEXT_USED + 1] = {0};
    size_t n = 0;
    sl_arena_init(&arena, 64 << 20);
    for (int64_t now_s = start_s; now_s < end_s; now_s += step_s) {
        enum sl_cert_change change = SL_CERT_KEPT;
        renew(&secret, wish, now_s, &arena, &change);
        changes[change]++;
        assert_true(n < LOOKS_MAX);
        seen[n] = secret;
        at_s[n++] = now_s;
        for (size_t i = 0; i < n; i++) {
            if (at_s[i] < now_s - 330 * SL_DAY_S) {
                continue;
            }
            /* an old scheduler and the daemon of today, by either one's certificate */
            assert_true(trusts(seen[i].ca, secret.crt, purpose, now_s));
            assert_true(trusts(secret.ca, seen[i].crt, purpose, now_s));
        }
    }
    assert_int_equal(changes[SL_CERT_MADE], 1);
    assert_int_equal(changes[SL_CERT_RENAMED], 0);
    assert_true(changes[SL_CERT_NEXT_USED] >= 4 && changes[SL_CERT_NEXT_USED] <= 5);
    sl_arena_free(&arena);
}

TEST_ALONE(whoever_started_within_a_year_is_trusted_and_trusts)
{
    play_years(&server, for_server, 30 * SL_DAY_S);
    play_years(&client, for_client, 31 * SL_DAY_S);
}

TEST_ON(struct sl_arena *arena, after_years_without_a_look_the_steps_still_lie_apart)
{
    struct sl_cert_secret secret = {.ca = NULL};
    enum sl_cert_change change = SL_CERT_KEPT;
    int64_t late_s = start_s + 3500 * SL_DAY_S;
    sl_arena_init(arena, 1 << 20);
    renew(&secret, &server, start_s, arena, &change);
    renew(&secret, &server, late_s, arena, &change);
    assert_int_equal(change, SL_CERT_NEXT_MADE);
    renew(&secret, &server, late_s + 29 * SL_DAY_S, arena, &change);
    assert_int_equal(change, SL_CERT_KEPT);
    renew(&secret, &server, late_s + 31 * SL_DAY_S, arena, &change);
    assert_int_equal(change, SL_CERT_NEXT_USED);
    assert_null(secret.next_crt);
}

TEST_ON(struct sl_arena *arena, another_name_gets_a_certificate_and_the_old_one_stays_trusted)
{
    struct sl_cert_secret secret = {.ca = NULL};
    struct sl_cert_wish other = client;
    enum sl_cert_change change = SL_CERT_KEPT;
    other.name = "other";
    sl_arena_init(arena, 1 << 20);
    renew(&secret, &client, start_s, arena, &change);
    char *old = secret.crt;
    renew(&secret, &other, start_s + SL_DAY_S, arena, &change);
    assert_int_equal(change, SL_CERT_RENAMED);
    assert_string_not_equal(old, secret.crt);
    assert_true(trusts(secret.ca, old, for_client, start_s + SL_DAY_S));
    assert_true(trusts(secret.ca, secret.crt, for_client, start_s + SL_DAY_S));
}

TEST_ON(struct sl_arena *arena, what_is_no_certificate_is_told_and_left)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    char nothing[] = "-----BEGIN NOTHING-----";
    struct sl_cert_secret secret = {.crt = nothing};
    enum sl_cert_change change = SL_CERT_KEPT;
    int64_t until_s = 0;
    sl_arena_init(arena, 1 << 20);
    assert_int_equal(sl_cert_renew(&secret, &server, start_s, arena, &change, &until_s, &err), -1);
    assert_non_null(strstr(err.message, "tls.crt: expected a certificate in PEM"));
    assert_string_equal(secret.crt, "-----BEGIN NOTHING-----");
}

TEST_ON(struct sl_arena *arena, a_long_name_of_a_service_is_no_obstacle)
{
    static const char name[] =
        "gpu-slices-of-a-cluster.a-namespace-with-quite-a-long-name-by-all-means.svc";
    struct sl_cert_secret secret = {.ca = NULL};
    const struct sl_cert_wish wish = {.authority = "sliced-ca", .dns = {name}};
    enum sl_cert_change change = SL_CERT_KEPT;
    sl_arena_init(arena, 1 << 20);
    renew(&secret, &wish, start_s, arena, &change);
    renew(&secret, &wish, start_s, arena, &change);
    assert_int_equal(change, SL_CERT_KEPT);
}
