/* One thread a connection; each warms its connection up before the clock runs. */
#include "load.h"

#include "bench.h"

#include <pthread.h>
#include <stdlib.h>

struct worker {
    pthread_t thread;
    const struct bench_server *server;
    const struct bench_request *request;
    pthread_barrier_t *begin;
    double *latency_us; /* borrowed: its part of all */
    size_t calls;
};

static void *work(void *context)
{
    struct worker *worker = context;
    struct bench_client client;
    bench_client_open(&client, worker->server->port);
    bench_client_call(&client, worker->request);
    (void)pthread_barrier_wait(worker->begin); /* all are warm */
    (void)pthread_barrier_wait(worker->begin); /* the CPU time has been read */
    for (size_t i = 0; i < worker->calls; i++) {
        uint64_t begin = bench_now_ns();
        bench_client_call(&client, worker->request);
        worker->latency_us[i] = (double)(bench_now_ns() - begin) / 1e3;
    }
    bench_client_close(&client);
    return NULL;
}

void bench_load(const struct bench_server *server, const struct bench_request *request,
                unsigned connections, size_t calls, struct bench_cost *out)
{
    struct worker workers[BENCH_CONNECTIONS_MAX];
    pthread_barrier_t begin;
    size_t each = calls / connections + 1;
    size_t n = each * connections;
    double *latency_us = calloc(n, sizeof(*latency_us));
    if (latency_us == NULL || pthread_barrier_init(&begin, NULL, connections + 1) != 0) {
        bench_die("out of memory");
    }
    for (unsigned i = 0; i < connections; i++) {
        workers[i] = (struct worker){.server = server,
                                     .request = request,
                                     .begin = &begin,
                                     .latency_us = latency_us + i * each,
                                     .calls = each};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            bench_die("cannot start a thread");
        }
    }
    (void)pthread_barrier_wait(&begin);
    uint64_t cpu_ns = bench_server_cpu_ns(server);
    (void)pthread_barrier_wait(&begin);
    for (unsigned i = 0; i < connections; i++) {
        (void)pthread_join(workers[i].thread, NULL);
    }
    out->cpu_us = (double)(bench_server_cpu_ns(server) - cpu_ns) / 1e3 / (double)n;
    out->p50_us = bench_quantile(latency_us, n, 0.5);
    out->p99_us = bench_quantile(latency_us, n, 0.99);
    (void)pthread_barrier_destroy(&begin);
    free(latency_us);
}
