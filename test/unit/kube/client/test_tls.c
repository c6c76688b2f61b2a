/* Whom the client trusts over HTTPS, and who it says it is: against a server with real
 * certificates.
 */
#include "unit/kube/calls.h"

#include <stdio.h>
#include <unistd.h>

#include "unit/kube/certs.h"
#include "unit/kube/folder.h"

enum { DAY_S = 86400 };

/* Two authorities: ours, and another. */
static struct {
    struct cert ca;
    struct cert other;
    struct cert client; /* of ours */
} g;

static int make_authorities(void **state)
{
    (void)state;
    g.ca = cert_make("ca", NULL, "ca", DAY_S);
    g.other = cert_make("other", NULL, "other", DAY_S);
    g.client = cert_make("sliced", &g.ca, "sliced", DAY_S);
    return 0;
}

static int free_authorities(void **state)
{
    (void)state;
    cert_free(&g.ca);
    cert_free(&g.other);
    cert_free(&g.client);
    return 0;
}

struct scene {
    struct rig rig;
    struct cert server;
    struct fake_tls tls;
    char folder[64];
};

/* A server with that certificate, which our authority signed. */
static void begin_with(struct scene *scene, struct cert server)
{
    (void)snprintf(scene->folder, sizeof(scene->folder), "/tmp/sliced-client-tls-XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    scene->server = server;
    scene->tls = (struct fake_tls){.cert = (const char *)scene->server.crt_pem.data,
                                   .key = (const char *)scene->server.key_pem.data,
                                   .client_ca = (const char *)g.ca.crt_pem.data};
    rig_prepare(&scene->rig, fake_api_start_tls(&scene->tls));
    fake_api_add(scene->rig.api, (struct fake_answer){.status = 200});
}

static void begin(struct scene *scene)
{
    begin_with(scene, cert_make("server", &g.ca, NULL, DAY_S));
}

static void end(struct scene *scene)
{
    rig_end(&scene->rig);
    cert_free(&scene->server);
    folder_remove(scene->folder);
}

/* A file in the scene's folder, written in one step. */
static const char *put(struct scene *scene, const char *name, const gnutls_datum_t *pem)
{
    static char path[4][128];
    static unsigned n;
    char *out = path[n++ % 4];
    char fresh[160];
    (void)snprintf(out, sizeof(path[0]), "%s/%s", scene->folder, name);
    (void)snprintf(fresh, sizeof(fresh), "%s.new", out);
    FILE *file = fopen(fresh, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(pem->data, 1, pem->size, file), pem->size);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(fresh, out), 0);
    return out;
}

static void assert_trusted(struct scene *scene)
{
    struct sl_reply reply = rig_wait(&scene->rig, rig_post("/x"));
    if (reply.status != 200) {
        fail_msg("%s", reply.err.message);
    }
}

/* Nothing of the request was sent. */
static void assert_refused(struct scene *scene, const char *why)
{
    struct sl_call_options call = rig_post("/x");
    call.max_tries = 1;
    struct sl_reply reply = rig_wait(&scene->rig, call);
    assert_int_equal(reply.status, 0);
    assert_false(reply.maybe_done);
    if (strstr(reply.err.message, why) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", reply.err.message, why);
    }
    assert_int_equal(fake_api_requests(scene->rig.api), 0);
}

/* ---- whom it trusts ---- */

TEST_PROGRAM(make_authorities, free_authorities)

TEST_FIXTURE_OF(struct scene, NULL, end)

TEST_ALONE(a_server_of_the_given_authority_is_trusted)
{
    struct scene scene;
    for (int from_file = 0; from_file < 2; from_file++) {
        begin(&scene);
        if (from_file == 1) {
            scene.rig.access.ca_file = put(&scene, "ca.crt", &g.ca.crt_pem);
        } else {
            scene.rig.access.ca_data = cert_str(&g.ca.crt_pem);
        }
        rig_start_client(&scene.rig);
        assert_trusted(&scene);
        end(&scene);
    }
}

TEST_ALONE(a_server_of_another_authority_is_refused)
{
    struct scene scene;
    for (int from_file = 0; from_file < 2; from_file++) {
        begin(&scene);
        if (from_file == 1) {
            scene.rig.access.ca_file = put(&scene, "ca.crt", &g.other.crt_pem);
        } else {
            scene.rig.access.ca_data = cert_str(&g.other.crt_pem);
        }
        rig_start_client(&scene.rig);
        assert_refused(&scene, "certificate");
        end(&scene);
    }
}

TEST_ON(struct scene *scene, without_an_authority_only_the_systems_are_trusted)
{
    begin(scene);
    rig_start_client(&scene->rig);
    assert_refused(scene, "certificate");
}

TEST_ON(struct scene *scene, who_does_not_verify_trusts_all)
{
    begin_with(scene, cert_make("server", &g.ca, "elsewhere.example", DAY_S));
    scene->rig.access.ca_data = cert_str(&g.other.crt_pem);
    scene->rig.access.insecure = true;
    rig_start_client(&scene->rig);
    assert_trusted(scene);
}

TEST_ON(struct scene *scene, a_certificate_for_another_name_is_refused)
{
    begin_with(scene, cert_make("127.0.0.1", &g.ca, "elsewhere.example", DAY_S));
    scene->rig.access.ca_data = cert_str(&g.ca.crt_pem);
    rig_start_client(&scene->rig);
    assert_refused(scene, "127.0.0.1");
}

TEST_ON(struct scene *scene, a_certificate_that_has_ended_is_refused)
{
    begin_with(scene, cert_make("server", &g.ca, NULL, -DAY_S));
    scene->rig.access.ca_data = cert_str(&g.ca.crt_pem);
    rig_start_client(&scene->rig);
    assert_refused(scene, "expired");
}

TEST_ON(struct scene *scene, an_authority_rotated_in_place_is_taken_with_the_next_connection)
{
    begin(scene);
    scene->rig.access.ca_file = put(scene, "ca.crt", &g.other.crt_pem);
    rig_start_client(&scene->rig);
    assert_refused(scene, "certificate");
    (void)put(scene, "ca.crt", &g.ca.crt_pem);
    assert_trusted(scene);
}

TEST_ON(struct scene *scene, an_authoritys_file_that_is_not_there_is_told_of)
{
    begin(scene);
    scene->rig.access.ca_file = "/nonexistent/ca.crt";
    rig_start_client(&scene->rig);
    assert_refused(scene, "/nonexistent/ca.crt");
}

/* ---- another server name ---- */

TEST_ON(struct scene *scene, another_server_name_is_asked_for_and_checked)
{
    begin_with(scene, cert_make("server", &g.ca, "kubernetes.default", DAY_S));
    scene->rig.access.ca_data = cert_str(&g.ca.crt_pem);
    scene->rig.access.tls_server_name = "kubernetes.default";
    rig_start_client(&scene->rig);
    assert_trusted(scene);
    const struct fake_request *request = fake_api_request(scene->rig.api, 0);
    assert_non_null(request->server_name);
    assert_string_equal(request->server_name, "kubernetes.default");
    assert_string_equal(request->host, fake_api_url(scene->rig.api) + sizeof("https://") - 1);
}

TEST_ON(struct scene *scene, a_certificate_without_the_server_name_is_refused)
{
    begin(scene); /* for the address */
    scene->rig.access.ca_data = cert_str(&g.ca.crt_pem);
    scene->rig.access.tls_server_name = "kubernetes.default";
    rig_start_client(&scene->rig);
    assert_refused(scene, "kubernetes.default");
}

/* ---- who it says it is ---- */

TEST_ALONE(a_client_certificate_is_shown)
{
    struct scene scene;
    for (int from_file = 0; from_file < 2; from_file++) {
        begin(&scene);
        struct sl_kube_access *access = &scene.rig.access;
        access->ca_data = cert_str(&g.ca.crt_pem);
        if (from_file == 1) {
            access->cert_file = put(&scene, "tls.crt", &g.client.crt_pem);
            access->key_file = put(&scene, "tls.key", &g.client.key_pem);
        } else {
            access->cert_data = cert_str(&g.client.crt_pem);
            access->key_data = cert_str(&g.client.key_pem);
        }
        rig_start_client(&scene.rig);
        assert_trusted(&scene);
        assert_non_null(fake_api_request(scene.rig.api, 0)->peer);
        assert_string_equal(fake_api_request(scene.rig.api, 0)->peer, "sliced");
        end(&scene);
    }
}

TEST_ON(struct scene *scene, who_has_no_certificate_shows_none)
{
    begin(scene);
    scene->rig.access.ca_data = cert_str(&g.ca.crt_pem);
    rig_start_client(&scene->rig);
    assert_trusted(scene);
    assert_null(fake_api_request(scene->rig.api, 0)->peer);
}

TEST_ON(struct scene *scene, a_key_of_another_certificate_is_told_of)
{
    begin(scene);
    scene->rig.access.ca_data = cert_str(&g.ca.crt_pem);
    scene->rig.access.cert_data = cert_str(&g.client.crt_pem);
    scene->rig.access.key_data = cert_str(&g.other.key_pem);
    rig_start_client(&scene->rig);
    assert_refused(scene, "key");
}
