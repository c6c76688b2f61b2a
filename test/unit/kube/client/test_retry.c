/* What the client sends again and what it does not, and with which credentials. */
#include "unit/kube/calls.h"

#include "unit/kube/fake_clock.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

TEST_FIXTURE_OF(struct rig, rig_start, rig_end)

/* ---- what is repeated ---- */

TEST_ALONE(what_may_not_be_repeated_is_sent_once_when_it_may_have_been_done)
{
    static const enum fake_kind kinds[] = {FAKE_CLOSE, FAKE_HANG};
    struct rig rig;
    rig_start(&rig);
    for (unsigned i = 0; i < 2; i++) {
        struct pending pending = PENDING_INIT;
        struct sl_call_options call = rig_post("/bind");
        call.timeout_us = 3600000 * MS;
        fake_api_clear(rig.api);
        fake_api_add(rig.api, (struct fake_answer){.path = "/bind", .kind = kinds[i]});

        rig_call(&rig, call, &pending);
        fake_api_wait(rig.api, i + 1);
        if (kinds[i] == FAKE_HANG) {
            fake_clock_advance(rig.client, call.timeout_us);
        }

        pending_wait(&pending, 1);
        assert_int_equal(pending.reply.status, 0);
        assert_true(pending.reply.maybe_done);
        assert_int_equal(fake_api_count(rig.api, "POST", NULL), i + 1);
    }
    rig_end(&rig);
}

/* libcurl by itself sends a request anew when a connection that it used before dies under it. */
TEST_ON(struct rig *rig, a_post_is_sent_once_on_a_connection_that_was_used_before)
{
    static const char *const methods[] = {"POST", "DELETE"};
    fake_api_add(rig->api, (struct fake_answer){.path = "/ok"});
    fake_api_add(rig->api, (struct fake_answer){.path = "/bind", .kind = FAKE_CLOSE});
    for (int i = 0; i < 2; i++) {
        struct sl_call_options call = rig_post("/bind");
        call.method = methods[i];
        call.body.len = i == 0 ? call.body.len : 0;
        assert_int_equal(rig_wait(rig, rig_get("/ok")).status, 200);

        struct sl_reply reply = rig_wait(rig, call);

        assert_int_equal(reply.status, 0);
        assert_true(reply.maybe_done);
        assert_int_equal(fake_api_count(rig->api, methods[i], "/bind"), 1);
    }
}

TEST_ON(struct rig *rig, what_may_be_repeated_is_until_it_is_answered)
{
    static const struct fake_answer bad[] = {{.kind = FAKE_CLOSE},
                                             {.status = 500},
                                             {.status = 502},
                                             {.status = 503},
                                             {.status = 504},
                                             {.status = 429},
                                             {.body = "{\"long\":1}", .cut = true, .cut_at = 4}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sl_call_options call = rig_post("/status");
        struct fake_answer answer = bad[i];
        call.method = "PATCH";
        call.repeatable = true;
        answer.times = 1;
        fake_api_clear(rig->api);
        fake_api_add(rig->api, answer);
        fake_api_add(rig->api, (struct fake_answer){.status = 200});

        assert_int_equal(rig_wait(rig, call).status, 200);
    }
    assert_int_equal(fake_api_requests(rig->api), 2 * sizeof(bad) / sizeof(bad[0]));
    for (unsigned i = 0; i < fake_api_requests(rig->api); i++) {
        assert_string_equal(fake_api_request(rig->api, i)->body, "{\"kind\":\"Binding\"}");
    }
}

TEST_ON(struct rig *rig, tries_are_bounded_and_the_last_answer_is_told)
{
    struct sl_client_stats stats;
    struct sl_call_options call = rig_get("/x");
    call.max_tries = 3;
    fake_api_add(rig->api, (struct fake_answer){.status = 503});

    assert_int_equal(rig_wait(rig, call).status, 503);

    sl_client_stats(rig->client, &stats);
    assert_int_equal(fake_api_requests(rig->api), 3);
    assert_int_equal(stats.retries, 2);
    assert_int_equal(stats.failures, 1);
}

TEST_ON(struct rig *rig, other_refusals_are_not_repeated)
{
    static const unsigned status[] = {400, 403, 404, 409, 410, 422};
    struct sl_call_options call = rig_get("/x");
    call.max_tries = 3;
    for (unsigned i = 0; i < sizeof(status) / sizeof(status[0]); i++) {
        fake_api_clear(rig->api);
        fake_api_add(rig->api, (struct fake_answer){.status = status[i]});
        assert_int_equal(rig_wait(rig, call).status, status[i]);
        assert_int_equal(fake_api_requests(rig->api), i + 1);
    }
}

TEST_ON(struct rig *rig, a_server_error_of_what_may_not_be_repeated_is_told)
{
    fake_api_add(rig->api, (struct fake_answer){.status = 500});
    assert_int_equal(rig_wait(rig, rig_post("/bind")).status, 500);
    assert_int_equal(fake_api_requests(rig->api), 1);
}

TEST_ON(struct rig *rig, a_call_that_was_not_sent_is_not_maybe_done_and_is_tried_again)
{
    sl_client_free(rig->client);
    rig->access.server = "http://127.0.0.1:1";
    rig_start_client(rig);
    struct sl_client_stats stats;

    struct sl_reply reply = rig_wait(rig, rig_post("/bind"));

    sl_client_stats(rig->client, &stats);
    assert_int_equal(reply.status, 0);
    assert_false(reply.maybe_done);
    assert_int_equal(stats.retries, 2);
}

TEST_ON(struct rig *rig, maybe_done_of_an_earlier_try_is_not_forgotten)
{
    struct sl_call_options call = rig_post("/x");
    call.repeatable = true;
    call.max_tries = 2;
    fake_api_add(rig->api, (struct fake_answer){.times = 1, .kind = FAKE_CLOSE});
    fake_api_add(rig->api, (struct fake_answer){.status = 409});

    struct sl_reply reply = rig_wait(rig, call);

    assert_int_equal(reply.status, 409);
    assert_true(reply.maybe_done);
}

TEST_ON(struct rig *rig, retry_after_is_waited_for_even_by_what_may_not_be_repeated)
{
    fake_api_add(rig->api, (struct fake_answer){.times = 1, .status = 429, .retry_after = "1"});
    fake_api_add(rig->api, (struct fake_answer){.status = 201});

    struct sl_reply reply = rig_wait(rig, rig_post("/bind"));

    assert_int_equal(reply.status, 201);
    assert_int_equal(fake_api_requests(rig->api), 2);
    assert_true(fake_api_request(rig->api, 1)->at_us - fake_api_request(rig->api, 0)->at_us >=
                1000 * MS);
}

TEST_ON(struct rig *rig, a_retry_after_of_many_minutes_is_the_callers_to_wait)
{
    fake_api_add(rig->api, (struct fake_answer){.status = 429, .retry_after = "600"});
    struct sl_reply reply = rig_wait(rig, rig_post("/bind"));
    assert_int_equal(reply.status, 429);
    assert_int_equal(reply.retry_after_us, 600000 * MS);
    assert_int_equal(fake_api_requests(rig->api), 1);
}

TEST_ALONE(a_storm_of_429_is_weathered)
{
    enum { CALLS = 50 };
    struct rig rig;
    struct pending pending = PENDING_INIT;
    rig_start(&rig);
    fake_api_add(rig.api, (struct fake_answer){.times = CALLS, .status = 429});
    fake_api_add(rig.api, (struct fake_answer){.status = 201});
    struct sl_call_options call = rig_post("/bind");
    call.max_tries = 20;
    for (int i = 0; i < CALLS; i++) {
        rig_call(&rig, call, &pending);
    }
    pending_wait(&pending, CALLS);
    assert_int_equal(pending.reply.status, 201);
    assert_int_equal(fake_api_requests(rig.api), 2 * CALLS);
    rig_end(&rig);
}

/* ---- credentials ---- */

TEST_ALONE(after_401_the_token_file_is_read_anew)
{
    char path[] = "/tmp/sliced-token-XXXXXX";
    struct rig rig;
    int file = mkstemp(path);
    assert_true(file >= 0 && write(file, "old\n", 4) == 4);
    rig_start(&rig);
    sl_client_free(rig.client);
    rig.access.token_file = path;
    rig_start_client(&rig);
    fake_api_add(rig.api, (struct fake_answer){.times = 1});
    fake_api_add(rig.api, (struct fake_answer){.times = 1, .status = 401});
    fake_api_add(rig.api, (struct fake_answer){.status = 201});
    assert_int_equal(rig_wait(&rig, rig_get("/a")).status, 200);
    assert_true(pwrite(file, "new\n", 4, 0) == 4);

    struct sl_reply reply = rig_wait(&rig, rig_post("/bind"));

    assert_int_equal(reply.status, 201);
    assert_int_equal(fake_api_requests(rig.api), 3);
    assert_string_equal(fake_api_request(rig.api, 1)->authorization, "Bearer old");
    assert_string_equal(fake_api_request(rig.api, 2)->authorization, "Bearer new");
    rig_end(&rig);
    (void)close(file);
    (void)unlink(path);
}

TEST_ON(struct rig *rig, a_second_401_is_the_answer)
{
    sl_client_free(rig->client);
    rig->access.token = "bad";
    rig_start_client(rig);
    fake_api_add(rig->api, (struct fake_answer){.status = 401});
    assert_int_equal(rig_wait(rig, rig_get("/a")).status, 401);
    assert_int_equal(fake_api_requests(rig->api), 2);
}

TEST_ON(struct rig *rig, without_credentials_a_call_is_not_sent)
{
    sl_client_free(rig->client);
    rig->access.token_file = "/nonexistent/token";
    rig_start_client(rig);
    struct sl_reply reply = rig_wait(rig, rig_get("/a"));
    assert_int_equal(reply.status, 0);
    assert_non_null(strstr(reply.err.message, "/nonexistent/token"));
    assert_int_equal(fake_api_requests(rig->api), 0);
}

/* A plugin that answers when a file is there. */
static const char waiting_plugin[] =
    "while ! test -e $0.go; do sleep 0.01; done\n"
    "echo run >>$0.runs\n"
    "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\","
    "\"status\":{\"token\":\"t\"}}'\n";

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void let_plugin_go(void *context)
{
    write_file(context, "");
}

TEST_ALONE(calls_wait_for_a_plugin_while_the_clients_thread_goes_on)
{
    enum { CALLS = 10 };
    char script[] = "/tmp/sliced-plugin-XXXXXX";
    char go[64];
    char runs[64];
    const char *const none[] = {NULL};
    const char *args[] = {script, NULL};
    struct rig rig;
    struct pending pending = PENDING_INIT;
    struct stat ran;
    int file = mkstemp(script);
    assert_true(file >= 0);
    (void)close(file);
    write_file(script, waiting_plugin);
    (void)snprintf(go, sizeof(go), "%s.go", script);
    (void)snprintf(runs, sizeof(runs), "%s.runs", script);
    rig_start(&rig);
    sl_client_free(rig.client);
    rig.access.exec = (struct sl_kube_exec){.api_version = "client.authentication.k8s.io/v1",
                                            .command = "sh",
                                            .args = args,
                                            .env = (const char **)none};
    rig_start_client(&rig);
    fake_api_add(rig.api, (struct fake_answer){.status = 200});
    for (int i = 0; i < CALLS; i++) {
        rig_call(&rig, rig_get("/x"), &pending);
    }
    assert_int_equal(fake_api_requests(rig.api), 0);

    /* it runs on the client's thread, which therefore does not wait for the plugin */
    assert_int_equal(sl_client_after(rig.client, 0, let_plugin_go, go), 0);

    pending_wait(&pending, CALLS);
    assert_int_equal(pending.reply.status, 200);
    assert_string_equal(fake_api_request(rig.api, CALLS - 1)->authorization, "Bearer t");
    assert_int_equal(stat(runs, &ran), 0);
    assert_int_equal(ran.st_size, 4);
    rig_end(&rig);
    (void)unlink(go);
    (void)unlink(runs);
    (void)unlink(script);
}

/* The tls_server_name is for certificates; over plain HTTP it shows what is sent where. */
TEST_ON(struct rig *rig, another_server_name_changes_neither_the_address_nor_the_host_header)
{
    sl_client_free(rig->client);
    rig->access.tls_server_name = "kubernetes.default";
    rig_start_client(rig);
    fake_api_add(rig->api, (struct fake_answer){.status = 200});
    assert_int_equal(rig_wait(rig, rig_get("/api?x=1")).status, 200);
    assert_string_equal(fake_api_request(rig->api, 0)->path, "/api?x=1");
    assert_string_equal(fake_api_request(rig->api, 0)->host,
                        fake_api_url(rig->api) + sizeof("http://") - 1);
}
