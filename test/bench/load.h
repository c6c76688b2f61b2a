/* The same request over and over on some connections, and what it cost. */
#ifndef SLICED_BENCH_LOAD_H
#define SLICED_BENCH_LOAD_H

#include "client.h"
#include "server_process.h"

enum { BENCH_CONNECTIONS_MAX = 16 };

struct bench_cost {
    double p50_us; /* latency as the client sees it */
    double p99_us;
    double cpu_us; /* of the server, for one request */
};

/* calls: on all connections together. */
void bench_load(const struct bench_server *server, const struct bench_request *request,
                unsigned connections, size_t calls, struct bench_cost *out);

#endif
