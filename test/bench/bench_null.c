/* The null server that the verbs are measured against: the daemon's own HTTP server with the same
 * options, and a handler that reads the body, drops it and answers "{}". Ends with its input. */
#include "config/config.h"
#include "server/net/server.h"

#include <stdio.h>
#include <unistd.h>

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
    char byte;
    struct sl_error err;
    struct sl_config config;
    sl_config_defaults(&config);
    const struct sl_server_options options = {
        .listen = "127.0.0.1:0",
        .threads = (unsigned)config.server.threads,
        .max_connections = (unsigned)config.server.max_connections,
        .connection_memory = (size_t)config.server.connection_memory,
        .idle_timeout_s = (unsigned)(config.server.request_timeout_us / 1000000),
    };
    const struct sl_server_calls calls = {.handle = handle};
    reply = MHD_create_response_from_buffer(2, text, MHD_RESPMEM_PERSISTENT);
    if (reply == NULL ||
        MHD_add_response_header(reply, "Content-Type", "application/json") != MHD_YES) {
        (void)fprintf(stderr, "bench_null: out of memory\n");
        return 1;
    }
    struct sl_server *server = sl_server_start(&options, &calls, &err);
    if (server == NULL) {
        (void)fprintf(stderr, "bench_null: %s\n", err.message);
        return 1;
    }
    (void)printf("listening on http://%s\n", sl_server_address(server));
    (void)fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    sl_server_stop(server);
    MHD_destroy_response(reply);
    return 0;
}
