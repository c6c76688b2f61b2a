/* The null extender that sliced is measured against beside a real kube-scheduler: the daemon's own
 * HTTP server with the same options. Filter lets every node pass, prioritize gives all of them 0;
 * it knows nothing and binds nothing. Ends with its input. */
#include "serve.h"
#include "util/buf.h"

#include <stdlib.h>
#include <string.h>

enum { BODY_MAX = 64 << 20 };

/* The text of the array of names: NodeNames is the last key of the scheduler's body, and names of
 * nodes hold no brackets. */
static struct sl_str names_of(const struct sl_buf *body)
{
    static const char key[] = "\"NodeNames\":[";
    const size_t len = sizeof(key) - 1;
    for (size_t at = body->len; at >= len; at--) {
        const char *here = body->data + at - len;
        if (memcmp(here, key, len) == 0) {
            const char *end = memchr(here, ']', body->len - (at - len));
            return end == NULL ? (struct sl_str){0}
                               : (struct sl_str){here + len, (size_t)(end - here) - len};
        }
    }
    return (struct sl_str){0};
}

static void answer_filter(struct sl_buf *reply, struct sl_str names)
{
    sl_buf_printf(reply, "{\"NodeNames\":[");
    sl_buf_append(reply, names.s, names.len);
    sl_buf_printf(reply, "]}");
}

static void answer_prioritize(struct sl_buf *reply, struct sl_str names)
{
    const char *separator = "";
    sl_buf_putc(reply, '[');
    while (names.len > 0) {
        const char *comma = memchr(names.s, ',', names.len);
        size_t len = comma == NULL ? names.len : (size_t)(comma - names.s);
        sl_buf_printf(reply, "%s{\"Host\":%.*s,\"Score\":0}", separator, (int)len, names.s);
        separator = ",";
        names.s += len + (comma != NULL);
        names.len -= len + (comma != NULL);
    }
    sl_buf_putc(reply, ']');
}

static enum MHD_Result send_reply(struct MHD_Connection *connection, struct sl_buf *reply)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(reply->len, reply->data, MHD_RESPMEM_MUST_COPY);
    if (response == NULL) {
        return MHD_NO;
    }
    enum MHD_Result result =
        MHD_add_response_header(response, "Content-Type", "application/json") == MHD_YES
            ? MHD_queue_response(connection, MHD_HTTP_OK, response)
            : MHD_NO;
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer(struct MHD_Connection *connection, const char *url,
                              const struct sl_buf *body)
{
    struct sl_buf reply;
    sl_buf_init(&reply, BODY_MAX);
    if (strstr(url, "prioritize") != NULL) {
        answer_prioritize(&reply, names_of(body));
    } else {
        answer_filter(&reply, names_of(body));
    }
    enum MHD_Result result = reply.failed == SL_BUF_OK ? send_reply(connection, &reply) : MHD_NO;
    sl_buf_free(&reply);
    return result;
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *len, void **state)
{
    (void)context;
    (void)method;
    (void)version;
    struct sl_buf *body = *state;
    if (body == NULL) { /* the headers alone */
        body = malloc(sizeof(*body));
        if (body == NULL) {
            return MHD_NO;
        }
        sl_buf_init(body, BODY_MAX);
        *state = body;
        return MHD_YES;
    }
    if (*len > 0) {
        sl_buf_append(body, data, *len);
        *len = 0;
        return MHD_YES;
    }
    return answer(connection, url, body);
}

static void completed(void *context, struct MHD_Connection *connection, void **state,
                      enum MHD_RequestTerminationCode why)
{
    (void)context;
    (void)connection;
    (void)why;
    if (*state != NULL) {
        sl_buf_free(*state);
        free(*state);
        *state = NULL;
    }
}

int main(void)
{
    const struct sl_server_calls calls = {.handle = handle, .completed = completed};
    return bench_serve("bench_extender", &calls);
}
