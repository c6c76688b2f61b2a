#include "serve.h"

#include "config/config.h"

#include <stdio.h>
#include <unistd.h>

int bench_serve(const char *program, const struct sl_server_calls *calls)
{
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
    struct sl_server *server = sl_server_start(&options, calls, &err);
    if (server == NULL) {
        (void)fprintf(stderr, "%s: %s\n", program, err.message);
        return 1;
    }
    (void)printf("listening on http://%s\n", sl_server_address(server));
    (void)fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    sl_server_stop(server);
    return 0;
}
