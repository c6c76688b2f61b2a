/* The null server that the verbs are measured against: the daemon's own HTTP server with the same
 * options, and a handler that reads the body, drops it and answers "{}". Ends with its input. */
#include "serve.h"

#include <stdio.h>

static struct MHD_Response *reply;

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *len, void **state)
{
    static int begun;
    (void)context;
    (void)url;
    (void)method;
    (void)version;
    (void)data;
    if (*state == NULL) { /* the headers alone */
        *state = &begun;
        return MHD_YES;
    }
    if (*len > 0) {
        *len = 0;
        return MHD_YES;
    }
    return MHD_queue_response(connection, MHD_HTTP_OK, reply);
}

int main(void)
{
    static char text[] = "{}";
    const struct sl_server_calls calls = {.handle = handle};
    reply = MHD_create_response_from_buffer(2, text, MHD_RESPMEM_PERSISTENT);
    if (reply == NULL ||
        MHD_add_response_header(reply, "Content-Type", "application/json") != MHD_YES) {
        (void)fprintf(stderr, "bench_null: out of memory\n");
        return 1;
    }
    int status = bench_serve("bench_null", &calls);
    MHD_destroy_response(reply);
    return status;
}
