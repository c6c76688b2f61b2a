/* The client against a server that misbehaves: what is sent, how often, and what the caller hears.
 */
#include "unit/kube/calls.h"

#include "unit/kube/fake_clock.h"

/* ---- plain calls ---- */

TEST_THAT(an_answer_comes_with_its_status_and_body)
{
    struct rig rig;
    struct pending pending = PENDING_INIT;
    rig_start(&rig);
    fake_api_add(rig.api, (struct fake_answer){.path = "/api", .body = "{\"a\":1}"});

    rig_call(&rig, rig_get("/api/v1/pods?limit=5"), &pending);

    pending_wait(&pending, 1);
    assert_int_equal(pending.reply.status, 200);
    assert_string_equal(pending.body, "{\"a\":1}");
    assert_string_equal(fake_api_request(rig.api, 0)->path, "/api/v1/pods?limit=5");
    assert_null(fake_api_request(rig.api, 0)->authorization);
    rig_end(&rig);
}

TEST_THAT(a_body_is_sent_with_its_type)
{
    static const char *const methods[] = {"POST", "PUT", "PATCH", "DELETE"};
    struct rig rig;
    rig_start(&rig);
    fake_api_add(rig.api, (struct fake_answer){.status = 201});
    for (unsigned i = 0; i < 4; i++) {
        struct sl_call_options call = rig_post("/x");
        call.method = methods[i];
        call.content_type = "application/merge-patch+json";

        assert_int_equal(rig_wait(&rig, call).status, 201);

        const struct fake_request *request = fake_api_request(rig.api, i);
        assert_string_equal(request->method, methods[i]);
        assert_string_equal(request->body, "{\"kind\":\"Binding\"}");
        assert_string_equal(request->content_type, "application/merge-patch+json");
    }
    rig_end(&rig);
}

TEST_THAT(two_hundred_calls_need_one_connection)
{
    struct rig rig;
    rig_start(&rig);
    fake_api_add(rig.api, (struct fake_answer){.status = 200});
    for (int i = 0; i < 200; i++) {
        struct sl_call_options call = i % 2 == 0 ? rig_get("/a") : rig_post("/b");
        assert_int_equal(rig_wait(&rig, call).status, 200);
    }
    assert_int_equal(fake_api_requests(rig.api), 200);
    assert_int_equal(fake_api_connections(rig.api), 1);
    rig_end(&rig);
}

TEST_THAT(a_refusal_has_the_servers_words)
{
    struct rig rig;
    rig_start(&rig);
    fake_api_add(rig.api,
                 (struct fake_answer){.status = 409,
                                      .body = "{\"kind\":\"Status\",\"message\":\"pod p is bound\","
                                              "\"reason\":\"Conflict\"}"});

    struct sl_reply reply = rig_wait(&rig, rig_post("/x"));

    assert_int_equal(reply.status, 409);
    assert_string_equal(reply.reason, "Conflict");
    assert_string_equal(reply.err.message, "pod p is bound");
    assert_int_equal(reply.err.code, SL_ERR_CONFLICT);
    assert_false(reply.maybe_done);
    assert_int_equal(fake_api_requests(rig.api), 1);
    rig_end(&rig);
}

TEST_THAT(wrong_types_in_a_refusal_do_no_harm)
{
    static const char *const bodies[] = {"",   "null",  "[]",    "{\"message\":1,\"reason\":{}}",
                                         "{{", "\"x\"", "<html>"};
    struct rig rig;
    rig_start(&rig);
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        fake_api_clear(rig.api);
        fake_api_add(rig.api, (struct fake_answer){.status = 404, .body = bodies[i]});

        struct sl_reply reply = rig_wait(&rig, rig_get("/x"));

        assert_int_equal(reply.status, 404);
        assert_int_equal(reply.err.code, SL_ERR_NOTFOUND);
        assert_string_equal(reply.err.message, "the server answered 404");
    }
    rig_end(&rig);
}

TEST_THAT(an_answer_may_be_as_long_as_the_maximum_and_no_longer)
{
    struct rig rig;
    struct sl_reply reply;
    rig_start(&rig);
    sl_client_free(rig.client);
    rig.options.max_reply = 1000;
    rig_start_client(&rig);
    char *body = calloc(1, 1002);
    assert_non_null(body);
    memset(body, ' ', 1001);
    fake_api_add(rig.api, (struct fake_answer){.path = "/fits", .body = body, .body_len = 1000});
    fake_api_add(rig.api, (struct fake_answer){.path = "/long", .body = body, .body_len = 1001});
    struct sl_call_options call = rig_get("/long");
    call.max_tries = 3;

    assert_int_equal(rig_wait(&rig, rig_get("/fits")).status, 200);
    reply = rig_wait(&rig, call);

    assert_int_equal(reply.status, 0);
    assert_int_equal(reply.err.code, SL_ERR_LIMIT);
    assert_int_equal(fake_api_count(rig.api, NULL, "/long"), 1);
    rig_end(&rig);
    free(body);
}

/* ---- streams ---- */

struct stream {
    struct pending pending; /* first */
    char data[256];
    size_t len;
    size_t fail_at; /* the receiver gives up then; 0: never */
    struct sl_client *client;
    int64_t advance_us; /* the clock, after each piece */
};

static int receive(void *context, const char *data, size_t len, struct sl_error *err)
{
    struct stream *stream = context;
    (void)pthread_mutex_lock(&stream->pending.lock);
    assert_true(stream->len + len <= sizeof(stream->data));
    memcpy(stream->data + stream->len, data, len);
    stream->len += len;
    (void)pthread_cond_broadcast(&stream->pending.changed);
    (void)pthread_mutex_unlock(&stream->pending.lock);
    if (stream->advance_us > 0) {
        fake_clock_advance(stream->client, stream->advance_us);
    }
    return stream->fail_at > 0 && stream->len >= stream->fail_at
               ? sl_error_set(err, SL_ERR_SYNTAX, "not what was expected")
               : 0;
}

/* Waits until so many bytes were received. */
static void stream_wait(struct stream *stream, size_t len)
{
    (void)pthread_mutex_lock(&stream->pending.lock);
    while (stream->len < len) {
        (void)pthread_cond_wait(&stream->pending.changed, &stream->pending.lock);
    }
    (void)pthread_mutex_unlock(&stream->pending.lock);
}

static struct sl_call_options watch(const char *path)
{
    struct sl_call_options call = rig_get(path);
    call.priority = SL_CALL_STREAM;
    call.timeout_us = 0;
    call.data = receive;
    call.max_tries = 5;
    return call;
}

#define STREAM_INIT                                                                                \
    {                                                                                              \
        .pending = PENDING_INIT                                                                    \
    }

TEST_THAT(a_stream_cut_at_any_byte_is_told_so_and_never_told_twice)
{
    static const char body[] = "{\"type\":\"ADDED\",\"object\":{}}\n";
    struct rig rig;
    rig_start(&rig);
    for (size_t cut = 1; cut < sizeof(body) - 1; cut++) {
        struct stream stream = STREAM_INIT;
        fake_api_clear(rig.api);
        fake_api_add(rig.api, (struct fake_answer){
                                  .body = body, .piece = 1 + cut % 5, .cut = true, .cut_at = cut});

        rig_call(&rig, watch("/watch"), &stream.pending);

        pending_wait(&stream.pending, 1);
        assert_int_equal(stream.pending.reply.status, 0);
        assert_int_equal(stream.len, cut);
        assert_memory_equal(stream.data, body, cut);
    }
    assert_int_equal(fake_api_requests(rig.api), sizeof(body) - 2);
    rig_end(&rig);
}

TEST_THAT(a_stream_that_was_not_begun_is_tried_again)
{
    struct rig rig;
    struct stream stream = STREAM_INIT;
    rig_start(&rig);
    fake_api_add(rig.api, (struct fake_answer){.times = 2, .kind = FAKE_CLOSE});
    fake_api_add(rig.api, (struct fake_answer){.body = "abc", .piece = 1});

    rig_call(&rig, watch("/watch"), &stream.pending);

    pending_wait(&stream.pending, 1);
    assert_int_equal(stream.pending.reply.status, 200);
    assert_int_equal(stream.len, 3);
    assert_int_equal(fake_api_requests(rig.api), 3);
    rig_end(&rig);
}

TEST_THAT(a_receiver_that_gives_up_ends_its_stream)
{
    struct rig rig;
    struct stream stream = STREAM_INIT;
    rig_start(&rig);
    stream.fail_at = 3;
    fake_api_add(rig.api,
                 (struct fake_answer){.body = "abcdef", .piece = 1, .hang = true, .cut_at = 4});

    rig_call(&rig, watch("/watch"), &stream.pending);

    pending_wait(&stream.pending, 1);
    assert_int_equal(stream.pending.reply.status, 0);
    assert_int_equal(stream.pending.reply.err.code, SL_ERR_SYNTAX);
    assert_int_equal(fake_api_requests(rig.api), 1);
    rig_end(&rig);
}

TEST_THAT(the_refusal_of_a_stream_is_collected)
{
    struct rig rig;
    struct stream stream = STREAM_INIT;
    rig_start(&rig);
    fake_api_add(rig.api,
                 (struct fake_answer){.status = 410,
                                      .body = "{\"message\":\"too old\",\"reason\":\"Expired\"}"});

    rig_call(&rig, watch("/watch"), &stream.pending);

    pending_wait(&stream.pending, 1);
    assert_int_equal(stream.pending.reply.status, 410);
    assert_string_equal(stream.pending.reply.reason, "Expired");
    assert_int_equal(stream.len, 0);
    rig_end(&rig);
}

TEST_THAT(a_silent_stream_is_ended)
{
    struct rig rig;
    struct stream stream = STREAM_INIT;
    struct sl_call_options call = watch("/watch");
    rig_start(&rig);
    call.silence_us = 3600000 * MS;
    fake_api_add(rig.api,
                 (struct fake_answer){.body = "abcdef", .piece = 1, .hang = true, .cut_at = 4});
    rig_call(&rig, call, &stream.pending);
    stream_wait(&stream, 4);

    fake_clock_advance(rig.client, call.silence_us);

    pending_wait(&stream.pending, 1);
    assert_int_equal(stream.pending.reply.status, 0);
    assert_string_equal(stream.pending.reply.err.message, "nothing heard for 3600000 ms");
    assert_int_equal(stream.len, 4);
    rig_end(&rig);
}

TEST_THAT(a_slow_stream_is_not_silent)
{
    struct rig rig;
    struct stream stream = STREAM_INIT;
    struct sl_call_options call = watch("/watch");
    rig_start(&rig);
    call.silence_us = 3600000 * MS;
    stream.client = rig.client;
    stream.advance_us = call.silence_us / 10 * 9;
    fake_api_add(rig.api, (struct fake_answer){.body = "abcdefghij", .piece = 1, .pause_ms = 5});

    rig_call(&rig, call, &stream.pending);

    pending_wait(&stream.pending, 1);
    assert_int_equal(stream.pending.reply.status, 200);
    assert_int_equal(stream.len, 10);
    rig_end(&rig);
}

TEST_THAT(streams_take_no_place_of_other_calls)
{
    struct rig rig;
    struct stream stream[4] = {STREAM_INIT, STREAM_INIT, STREAM_INIT, STREAM_INIT};
    rig_start(&rig);
    sl_client_free(rig.client);
    rig.options.max_in_flight = 1;
    rig_start_client(&rig);
    fake_api_add(rig.api,
                 (struct fake_answer){
                     .path = "/watch", .body = "abc", .piece = 1, .hang = true, .cut_at = 1});
    fake_api_add(rig.api, (struct fake_answer){.path = "/x"});
    for (int i = 0; i < 4; i++) {
        rig_call(&rig, watch("/watch"), &stream[i].pending);
    }
    fake_api_wait(rig.api, 4);

    assert_int_equal(rig_wait(&rig, rig_get("/x")).status, 200);

    rig_end(&rig);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(stream[i].pending.done, 1);
    }
}
