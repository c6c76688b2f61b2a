/* "sliced certs" against an API server: what it writes, when, and what it says of what it cannot.
 */
#include "unit/test.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kube/access/file.h"
#include "kube/certs/secret.h"
#include "unit/kube/fake_api.h"
#include "util/time.h"

static const int64_t now_s = INT64_C(1800000000);
static const struct sl_cert_wish wish = {.authority = "sliced-ca", .dns = {"sliced.sys.svc"}};

struct rig {
    struct fake_api *api;
    struct sl_arena arena;
    struct sl_kube_access access;
    struct sl_asker asker;
};

static void rig_start(struct rig *rig)
{
    struct sl_error err;
    rig->api = fake_api_start();
    rig->access = fake_api_access(rig->api);
    rig->asker = (struct sl_asker){.arena = &rig->arena, .tries = 1, .call_us = 30 * SL_SECOND_US};
    const struct sl_client_options options = {.access = &rig->access,
                                              .user_agent = "test",
                                              .max_in_flight = 2,
                                              .burst = 1,
                                              .max_queued = 16,
                                              .connect_timeout_us = 5 * SL_SECOND_US,
                                              .max_reply = 1 << 20};
    sl_arena_init(&rig->arena, 16 << 20);
    rig->asker.client = sl_client_new(&options, &err);
    assert_non_null(rig->asker.client);
}

static void rig_stop(struct rig *rig)
{
    sl_client_free(rig->asker.client);
    sl_arena_free(&rig->arena);
    fake_api_stop(rig->api);
}

static int keep(struct rig *rig, int64_t at_s, struct sl_cert_outcome *out, struct sl_error *err)
{
    *err = (struct sl_error){.code = SL_ERR_NONE};
    return sl_cert_secret_keep(&rig->asker, "sys", "sliced-tls", &wish, at_s, out, err);
}

/* The Secret as the API server has it once it took that body. */
static char *stored(const struct fake_request *request)
{
    json_t *body = json_loadb(request->body, request->body_len, 0, NULL);
    assert_non_null(body);
    assert_int_equal(
        json_object_set_new(json_object_get(body, "metadata"), "resourceVersion", json_string("7")),
        0);
    char *text = json_dumps(body, JSON_COMPACT);
    json_decref(body);
    return text;
}

TEST_THAT(a_secret_is_made_where_there_is_none_and_then_left_alone)
{
    struct rig rig;
    struct sl_cert_outcome out;
    struct sl_error err;
    rig_start(&rig);
    fake_api_add(rig.api, (struct fake_answer){.method = "POST", .status = 201});
    assert_int_equal(keep(&rig, now_s, &out, &err), 0);
    assert_int_equal(out.change, SL_CERT_MADE);
    const struct fake_request *post = fake_api_request(rig.api, 1);
    assert_string_equal(post->path, "/api/v1/namespaces/sys/secrets");
    assert_non_null(strstr(post->body, "\"type\":\"kubernetes.io/tls\""));
    char *text = stored(post);
    fake_api_clear(rig.api);
    fake_api_add(rig.api, (struct fake_answer){.method = "GET", .body = text});
    assert_int_equal(keep(&rig, now_s + 100 * SL_DAY_S, &out, &err), 0);
    assert_int_equal(out.change, SL_CERT_KEPT);
    assert_non_null(strstr(out.ca, "-----BEGIN CERTIFICATE-----"));
    assert_int_equal(fake_api_requests(rig.api), 3);
    rig_stop(&rig);
    free(text);
}

TEST_THAT(a_change_is_for_the_version_that_was_read)
{
    struct rig rig;
    struct sl_cert_outcome out;
    struct sl_error err;
    rig_start(&rig);
    /* someone else makes it in between */
    fake_api_add(rig.api, (struct fake_answer){.method = "GET", .status = 404, .times = 1});
    fake_api_add(rig.api, (struct fake_answer){.method = "POST", .status = 409, .times = 1});
    fake_api_add(rig.api, (struct fake_answer){.method = "GET", .status = 404, .times = 1});
    fake_api_add(rig.api, (struct fake_answer){.method = "POST", .status = 201, .times = 1});
    assert_int_equal(keep(&rig, now_s, &out, &err), 0);
    assert_int_equal(err.code, SL_ERR_NONE);
    char *text = stored(fake_api_request(rig.api, 3));
    fake_api_add(rig.api, (struct fake_answer){.method = "GET", .body = text});
    fake_api_add(rig.api, (struct fake_answer){.method = "PATCH", .status = 409, .times = 1});
    fake_api_add(rig.api, (struct fake_answer){.method = "PATCH", .status = 200});
    assert_int_equal(keep(&rig, now_s + 3000 * SL_DAY_S, &out, &err), 0);
    assert_int_equal(out.change, SL_CERT_NEXT_MADE);
    assert_int_equal(fake_api_count(rig.api, "PATCH", "/api/v1/namespaces/sys/secrets/sliced-tls"),
                     2);
    const struct fake_request *patch = fake_api_request(rig.api, 5);
    assert_non_null(strstr(patch->body, "\"metadata\":{\"resourceVersion\":\"7\"}"));
    assert_non_null(strstr(patch->body, "\"next.crt\":\""));
    rig_stop(&rig);
    free(text);
}

TEST_THAT(what_cannot_be_read_is_not_written)
{
    static const struct {
        struct fake_answer answer;
        const char *text;
    } cases[] = {
        {{.status = 403, .body = "{\"kind\":\"Status\",\"message\":\"not for you\"}"},
         "Secret sys/sliced-tls: "},
        {{.body = "[]"}, "the API server's answer is no Secret"},
        {{.body = "{\"metadata\":{\"resourceVersion\":\"1\"},\"data\":{\"tls.crt\":\"eA==\"}}"},
         "tls.crt: expected a certificate in PEM"},
        {{.body = "{\"metadata\":{\"resourceVersion\":\"1\"},\"data\":{\"tls.crt\":\"?\"}}"},
         "tls.crt"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig rig;
        struct sl_cert_outcome out;
        struct sl_error err;
        rig_start(&rig);
        fake_api_add(rig.api, cases[i].answer);
        assert_int_equal(keep(&rig, now_s, &out, &err), -1);
        if (strstr(err.message, cases[i].text) == NULL) {
            fail_msg("\"%s\" and not \"%s\"", err.message, cases[i].text);
        }
        assert_int_equal(fake_api_requests(rig.api), 1);
        rig_stop(&rig);
    }
}

TEST_THAT(a_secret_that_others_make_is_only_read)
{
    struct rig rig;
    struct sl_error err = {.code = SL_ERR_NONE};
    const char *ca = NULL;
    rig_start(&rig);
    assert_int_equal(sl_cert_secret_ca(&rig.asker, "sys", "ours", &ca, &err), -1);
    assert_non_null(strstr(err.message, "Secret sys/ours: it is not there; make it"));
    fake_api_add(rig.api, (struct fake_answer){.body = "{\"metadata\":{\"resourceVersion\":\"1\"}}",
                                               .times = 1});
    assert_int_equal(sl_cert_secret_ca(&rig.asker, "sys", "ours", &ca, &err), -1);
    assert_non_null(strstr(err.message, "it lacks the key ca.crt"));
    fake_api_add(rig.api, (struct fake_answer){.body = "{\"metadata\":{\"resourceVersion\":\"1\"},"
                                                       "\"data\":{\"ca.crt\":\"Y2E=\"}}"});
    assert_int_equal(sl_cert_secret_ca(&rig.asker, "sys", "ours", &ca, &err), 0);
    assert_string_equal(ca, "ca");
    rig_stop(&rig);
}
