/* The JSON reader's interface: its life, its limits on the whole, its failures. */
#include "codec/stream/json.h"

#include "codec/stream/json_internal.h"

#include <stdlib.h>

struct sl_json *sl_json_new(const struct sl_text_limits *limits, sl_event_fn receive, void *context)
{
    struct sl_json *json = calloc(1, sizeof(*json));
    if (json == NULL) {
        return NULL;
    }
    json->limits = *limits;
    json->in_object = calloc(limits->max_depth + (size_t)1, 1);
    if (json->in_object == NULL) {
        free(json);
        return NULL;
    }
    sl_buf_init(&json->scratch, limits->max_string);
    sl_json_reset(json, receive, context);
    return json;
}

void sl_json_free(struct sl_json *json)
{
    if (json != NULL) {
        sl_buf_free(&json->scratch);
        free(json->in_object);
        free(json);
    }
}

size_t sl_json_bytes(const struct sl_json *json)
{
    return sizeof(*json) + json->limits.max_depth + json->scratch.cap;
}

void sl_json_reset(struct sl_json *json, sl_event_fn receive, void *context)
{
    struct sl_json fresh = {
        .receive = receive,
        .context = context,
        .limits = json->limits,
        .place = SL_JSON_VALUE,
        .in_object = json->in_object,
        .line = 1,
        .scratch = json->scratch,
    };
    fresh.scratch.failed = SL_BUF_OK;
    *json = fresh;
}

void sl_json_reset_stream(struct sl_json *json, sl_event_fn receive, void *context)
{
    sl_json_reset(json, receive, context);
    json->stream = true;
}

bool sl_json_between(const struct sl_json *json)
{
    bool before = json->place == SL_JSON_VALUE && json->depth == 0 && !json->skipping;
    return json->token == SL_JSON_TOKEN_NONE && (before || json->place == SL_JSON_DONE);
}

void sl_json_keep(struct sl_json *json, struct sl_buf *out)
{
    json->kept = out;
    json->kept_to = json->event;
}

void sl_json_keep_end(struct sl_json *json)
{
    sl_json_keep_to(json, json->event + 1);
    json->kept = NULL;
}

static int give_failure(const struct sl_json *json, struct sl_error *err)
{
    if (err != NULL) {
        *err = json->error;
    }
    return -1;
}

/* How much of the text may still come. Up to there it is read, so that the same is reported however
 * it is cut. */
static size_t bytes_left(struct sl_json *json)
{
    if (json->stream && json->place == SL_JSON_DONE && json->offset >= json->limits.max_bytes) {
        json->line_start -= json->offset; /* what follows is white space, or another text */
        json->offset = 0;
    }
    return json->limits.max_bytes - json->offset;
}

int sl_json_feed(struct sl_json *json, const char *data, size_t len, struct sl_error *err)
{
    while (len > 0 && !json->failed) {
        size_t most = bytes_left(json);
        size_t take = len < most ? len : most;
        if (take == 0) {
            (void)sl_error_set(&json->error, SL_ERR_LIMIT, "the text is longer than %zu bytes",
                               json->limits.max_bytes);
            (void)sl_json_fail(json, json->offset);
        } else if (sl_json_read(json, data, take)) {
            data += take;
            len -= take;
        }
    }
    return json->failed ? give_failure(json, err) : 0;
}

int sl_json_finish(struct sl_json *json, struct sl_error *err)
{
    if (!json->failed && !json->finished) {
        json->finished = sl_json_read_end(json);
    }
    return json->failed ? give_failure(json, err) : 0;
}

int sl_json_parse(struct sl_str text, const struct sl_text_limits *limits, sl_event_fn receive,
                  void *context, struct sl_error *err)
{
    struct sl_json *json = sl_json_new(limits, receive, context);
    if (json == NULL) {
        return sl_error_nomem(err);
    }
    int rc = sl_json_feed(json, text.s, text.len, err);
    rc = rc == 0 ? sl_json_finish(json, err) : rc;
    sl_json_free(json);
    return rc;
}
