/* The verbs over HTTP beside a null server, in turn in one run, and the daemon's memory. */
#include "bench.h"
#include "bodies.h"
#include "cluster_files.h"
#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MAX = 15, BIG_NODES = 5000, BIG_CONNECTIONS = 4 };

struct options {
    char *sliced;
    char *null;
    bool quick;
};

struct body {
    size_t n;
    bool full;    /* nodes, not names */
    size_t calls; /* in one round */
    struct sl_buf text;
    char title[32];
};

static struct body bodies[] = {
    {.n = 1, .calls = 4000},
    {.n = 500, .calls = 2000},
    {.n = 5000, .calls = 400},
    {.n = 500, .full = true, .calls = 30},
};

static const char *const verbs[] = {"filter", "prioritize"};

enum { BODIES = sizeof(bodies) / sizeof(bodies[0]), VERBS = sizeof(verbs) / sizeof(verbs[0]) };

static void make_bodies(bool quick)
{
    for (size_t i = 0; i < BODIES; i++) {
        struct body *body = &bodies[i];
        sl_buf_init(&body->text, (size_t)1 << 28);
        if (quick) {
            body->calls = body->calls / 20 + 1;
            body->n = (body->n + 9) / 10;
        }
        (void)snprintf(body->title, sizeof(body->title), "%zu %s", body->n,
                       body->full ? "full nodes" : "names");
        if (body->full) {
            bench_body_nodes(&body->text, body->n);
        } else {
            bench_body_names(&body->text, body->n);
        }
        if (body->text.failed != SL_BUF_OK) {
            bench_die("out of memory");
        }
    }
}

/* ---- cost ---- */

/* A daemon that answers with an error is fast, so look once. */
static void check_reply(const struct bench_server *server, const struct bench_request *request)
{
    struct bench_client client;
    bench_client_open(&client, server->port);
    bench_client_call(&client, request);
    const char *error = strstr(client.reply, "\"Error\":\"");
    if (strstr(client.reply, "gpu-pool-a-node-00000") == NULL ||
        (error != NULL && error[strlen("\"Error\":\"")] != '"')) {
        bench_die("not the reply that was expected: %.2000s", client.reply);
    }
    bench_client_close(&client);
}

struct column {
    double p50[ROUNDS_MAX], p99[ROUNDS_MAX], cpu[ROUNDS_MAX];
};

static void keep(struct column *column, unsigned round, const struct bench_cost *cost)
{
    column->p50[round] = cost->p50_us;
    column->p99[round] = cost->p99_us;
    column->cpu[round] = cost->cpu_us;
}

/* Null and sliced in turn; the ratios are of the two that ran next to each other. */
static void compare(const struct bench_server *null, const struct bench_server *sliced,
                    const struct body *body, const char *verb, unsigned connections,
                    unsigned rounds)
{
    static struct column of_null;
    static struct column of_sliced;
    static struct column ratio;
    char path[64];
    struct bench_request request;
    (void)snprintf(path, sizeof(path), "/scheduler/%s", verb);
    bench_request_init(&request, path, body->text.data, body->text.len);
    check_reply(sliced, &request);
    for (unsigned round = 0; round < rounds; round++) {
        struct bench_cost a;
        struct bench_cost b;
        bench_load(null, &request, connections, body->calls, &a);
        bench_load(sliced, &request, connections, body->calls, &b);
        keep(&of_null, round, &a);
        keep(&of_sliced, round, &b);
        ratio.p50[round] = b.p50_us / a.p50_us;
        ratio.cpu[round] = b.cpu_us / a.cpu_us;
    }
    (void)printf("%-11s%-15s%5u %9.0f %9.0f %7.2f %9.0f %9.0f %9.0f %9.0f %7.2f\n", verb,
                 body->title, connections, bench_median(of_null.p50, rounds),
                 bench_median(of_sliced.p50, rounds), bench_median(ratio.p50, rounds),
                 bench_median(of_null.p99, rounds), bench_median(of_sliced.p99, rounds),
                 bench_median(of_null.cpu, rounds), bench_median(of_sliced.cpu, rounds),
                 bench_median(ratio.cpu, rounds));
    (void)fflush(stdout);
}

static void compare_all(const struct bench_server *null, const struct bench_server *sliced,
                        bool quick)
{
    static const unsigned connections[] = {1, BENCH_CONNECTIONS_MAX};
    unsigned rounds = quick ? 2 : 9;
    (void)printf("\n%u rounds, null and sliced in turn; microseconds\n", rounds);
    (void)printf("%-11s%-15s%5s %9s %9s %7s %9s %9s %9s %9s %7s\n", "verb", "body", "conn",
                 "null p50", "p50", "ratio", "null p99", "p99", "null CPU", "CPU", "ratio");
    for (size_t c = 0; c < 2; c++) {
        for (size_t b = 0; b < BODIES; b++) {
            for (size_t v = 0; v < VERBS; v++) {
                compare(null, sliced, &bodies[b], verbs[v], connections[c], rounds);
            }
        }
    }
}

/* ---- memory ---- */

static void print_memory(const struct bench_server *server, const char *when)
{
    (void)printf("%-42s VmRSS %7.1f MiB  VmHWM %7.1f MiB\n", when,
                 (double)bench_server_memory_kib(server, "VmRSS") / 1024,
                 (double)bench_server_memory_kib(server, "VmHWM") / 1024);
    (void)fflush(stdout);
}

static void measure_big_bodies(const struct bench_server *sliced, size_t nodes)
{
    struct bench_request request;
    struct bench_cost cost;
    struct sl_buf text;
    char title[80];
    sl_buf_init(&text, (size_t)1 << 28);
    bench_body_nodes(&text, nodes);
    bench_request_init(&request, "/scheduler/filter", text.data, text.len);
    if (bench_server_reset_peak(sliced) != 0) {
        (void)printf("(the peak could not be reset: VmHWM is of the daemon's whole life)\n");
    }
    bench_load(sliced, &request, BIG_CONNECTIONS, (size_t)2 * BIG_CONNECTIONS, &cost);
    (void)snprintf(title, sizeof(title), "while bodies of %.1f MB came in, %d at once",
                   (double)text.len / 1e6, BIG_CONNECTIONS);
    print_memory(sliced, title);
    (void)printf("%-42s CPU %.1f ms for one, median latency %.1f ms\n", "", cost.cpu_us / 1e3,
                 cost.p50_us / 1e3);
    sl_buf_free(&text);
}

/* ---- main ---- */

static bool read_options(int argc, char **argv, struct options *options)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) {
            options->quick = true;
        } else if (strcmp(argv[i], "--sliced") == 0 && i + 1 < argc) {
            options->sliced = argv[++i];
        } else if (strcmp(argv[i], "--null") == 0 && i + 1 < argc) {
            options->null = argv[++i];
        } else {
            return false;
        }
    }
    return options->sliced != NULL && options->null != NULL;
}

int main(int argc, char **argv)
{
    static char listen[] = "127.0.0.1:0";
    static char cluster_flag[] = "--cluster";
    static char listen_flag[] = "--listen";
    struct options options = {0};
    struct bench_cluster cluster;
    struct bench_server null;
    struct bench_server sliced;
    if (!read_options(argc, argv, &options)) {
        (void)fprintf(stderr, "usage: bench_http --sliced PROGRAM --null PROGRAM [--quick]\n");
        return 2;
    }
    size_t nodes = options.quick ? BIG_NODES / 10 : BIG_NODES;
    make_bodies(options.quick);
    bench_cluster_write(&cluster, nodes);
    char *null_argv[] = {options.null, NULL};
    char *sliced_argv[] = {options.sliced, cluster_flag, cluster.folder, listen_flag, listen, NULL};
    bench_server_start(&null, null_argv);
    bench_server_start(&sliced, sliced_argv);
    bench_cluster_remove(&cluster);

    bench_print_environment();
    (void)printf("cluster     %zu nodes with 8 GPUs each, %zu pods\n\n", nodes,
                 nodes * BENCH_PODS_PER_NODE);
    print_memory(&sliced, "after the cluster was read");
    compare_all(&null, &sliced, options.quick);
    (void)putchar('\n');
    print_memory(&sliced, "after all of the above");
    measure_big_bodies(&sliced, nodes);
    print_memory(&sliced, "afterwards");

    bench_server_stop(&null);
    bench_server_stop(&sliced);
    for (size_t i = 0; i < BODIES; i++) {
        sl_buf_free(&bodies[i].text);
    }
    return 0;
}
