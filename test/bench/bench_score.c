/* What it costs to score one ask over a cluster, and what makes that grow: CPU time of one scorer
 * over all nodes, its tables included. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "config/config.h"
#include "sim/input/fleet.h"
#include "sim/input/rng.h"
#include "sliced/score.h"

enum { UNITS = 1000, ROUNDS = 41, QUICK_ROUNDS = 3, TEXT = 32, PODS = 12 };

#define GPU "nvidia.com/gpu"
#define MEM "aliyun.com/gpu-mem"
#define MIG "nvidia.com/mig-1g.6gb"

struct cluster {
    struct sl_fleet fleet;
    struct sl_view **view;
    size_t n;
};

static void check(int rc, const struct sl_error *err)
{
    if (rc < 0) {
        bench_die("bench_score: %s", err->message);
    }
}

static struct sl_pod *pod_of(const char *node, const char *resource, int64_t count, int64_t cpu)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    char of_cpu[TEXT];
    char of_gpu[TEXT];
    (void)snprintf(of_cpu, sizeof(of_cpu), "%lldm", (long long)cpu);
    (void)snprintf(of_gpu, sizeof(of_gpu), "%lld", (long long)count);
    struct sl_pair request = {SL_STR("cpu"), sl_str_of(of_cpu), NULL};
    struct sl_pair limit = {sl_str_of(resource), sl_str_of(of_gpu), NULL};
    struct sl_container_facts container = {
        .name = SL_STR("main"), .requests = &request, .limits = &limit};
    struct sl_pod_facts facts = {.namespace = SL_STR("bench"),
                                 .name = SL_STR("pod"),
                                 .uid = SL_STR("pod"),
                                 .node_name = sl_str_of(node),
                                 .phase = SL_STR("Running"),
                                 .containers = &container};
    struct sl_pod *pod = sl_pod_new(&facts, &err);
    check(pod == NULL ? -1 : 0, &err);
    return pod;
}

/* different: every node has other pods; else all have the same. */
static void make_views(struct cluster *cluster, const char *resource, bool different)
{
    struct sl_rng rng;
    sl_rng_seed(&rng, 1, 0);
    cluster->n = cluster->fleet.n;
    cluster->view = calloc(cluster->n, sizeof(struct sl_view *));
    for (size_t i = 0; i < cluster->n; i++) {
        struct sl_pod *pod[PODS];
        const char *name = cluster->fleet.node[i]->name;
        size_t n = different ? sl_rng_below(&rng, PODS) : 2;
        for (size_t p = 0; p < n; p++) {
            bool mig = strcmp(resource, MIG) == 0;
            int64_t units = mig ? 1 : different ? 10 * (1 + (int64_t)sl_rng_below(&rng, 99)) : 300;
            int64_t cpu = different ? 1 + (int64_t)sl_rng_below(&rng, 9000) : 4000;
            pod[p] = pod_of(name, resource, units, cpu);
        }
        cluster->view[i] = sl_view_new(cluster->fleet.node[i], pod, n);
        if (cluster->view[i] == NULL) {
            bench_die("bench_score: out of memory");
        }
        for (size_t p = 0; p < n; p++) {
            sl_pod_unref(pod[p]);
        }
    }
}

static void make(struct cluster *cluster, size_t nodes, int gpus, bool different)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    sl_fleet_init(&cluster->fleet);
    for (size_t i = 0; i < nodes; i++) {
        char name[TEXT];
        (void)snprintf(name, sizeof(name), "node-%05zu", i);
        struct sl_fleet_node node = {.name = name,
                                     .product = "NVIDIA-L40S",
                                     .gpus = gpus,
                                     .share_units = UNITS,
                                     .cpu_milli = 96000,
                                     .memory_mib = 1 << 20};
        check(sl_fleet_add(&cluster->fleet, &node, &err), &err);
    }
    check(sl_fleet_finish(&cluster->fleet, &err), &err);
    make_views(cluster, MEM, different);
}

static void make_mig(struct cluster *cluster, size_t nodes, bool different)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    char text[64];
    (void)snprintf(text, sizeof(text), "%zux8:A30:1g.6gb*4", nodes);
    sl_fleet_init(&cluster->fleet);
    check(sl_fleet_gpus(&cluster->fleet, text, &err), &err);
    check(sl_fleet_finish(&cluster->fleet, &err), &err);
    make_views(cluster, MIG, different);
}

static void unmake(struct cluster *cluster)
{
    for (size_t i = 0; i < cluster->n; i++) {
        sl_view_free(cluster->view[i]);
    }
    free(cluster->view);
    sl_fleet_free(&cluster->fleet);
}

/* ---- measuring ---- */

static struct sl_ask ask_of(const char *resource, int64_t count)
{
    struct sl_resource parsed;
    struct sl_ask ask = {.n = 1, .cpu_milli = 4000};
    (void)sl_resource_parse(sl_str_of(resource), &parsed);
    ask.item[0] = (struct sl_ask_item){.resource = resource,
                                       .key = parsed.key,
                                       .count = count,
                                       .kind = parsed.kind,
                                       .shape = parsed.shape};
    return ask;
}

static void demand_of(struct sl_demand *demand, unsigned rows)
{
    struct sl_ask mem = ask_of(MEM, 1);
    struct sl_ask gpu = ask_of(GPU, 1);
    memset(demand, 0, sizeof(*demand));
    for (unsigned i = 0; i < rows; i++) {
        const struct sl_ask_item *item = i % 8 == 0 ? &gpu.item[0] : &mem.item[0];
        demand->typical[i] = (struct sl_typical){.key = item->key,
                                                 .count = i % 8 == 0 ? 1 + i / 16 : 10 * (i + 1),
                                                 .cpu_milli = 1000 + 100 * (int64_t)i,
                                                 .weight = (int32_t)(rows - i),
                                                 .kind = item->kind};
    }
    demand->n_typical = (uint8_t)rows;
}

static double cpu_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int32_t sink;

static double measure(const struct cluster *cluster, const struct sl_ask *ask,
                      const struct sl_demand *demand, unsigned rounds)
{
    double took[ROUNDS];
    struct sl_config config;
    sl_config_defaults(&config);
    for (unsigned r = 0; r < rounds; r++) {
        struct sl_scorer scorer;
        double start = cpu_us();
        sl_scorer_init(&scorer, ask, demand, &config.plan.score);
        for (size_t i = 0; i < cluster->n; i++) {
            struct sl_score score;
            (void)sl_scorer_score(&scorer, cluster->view[i], &score);
            sink += score.total;
        }
        took[r] = cpu_us() - start;
    }
    return bench_median(took, rounds);
}

static void line(const char *what, size_t nodes, unsigned gpus, unsigned rows, double us)
{
    (void)printf("%-34s %6zu %5u %5u %9.0f %8.0f\n", what, nodes, gpus, rows, us,
                 us * 1000 / (double)nodes);
}

static void shared(size_t nodes, int gpus, bool different, const unsigned *rows, size_t n_rows,
                   unsigned rounds)
{
    struct cluster cluster;
    struct sl_demand demand;
    struct sl_ask mem = ask_of(MEM, 300);
    struct sl_ask gpu = ask_of(GPU, 1);
    make(&cluster, nodes, gpus, different);
    for (size_t i = 0; i < n_rows; i++) {
        demand_of(&demand, rows[i]);
        line(different ? "share of memory, nodes differ" : "share of memory, nodes alike", nodes,
             (unsigned)gpus, rows[i], measure(&cluster, &mem, &demand, rounds));
        line(different ? "whole GPU, nodes differ" : "whole GPU, nodes alike", nodes,
             (unsigned)gpus, rows[i], measure(&cluster, &gpu, &demand, rounds));
    }
    unmake(&cluster);
}

static void instances(size_t nodes, bool different, unsigned rounds)
{
    struct cluster cluster;
    struct sl_ask mig = ask_of(MIG, 1);
    make_mig(&cluster, nodes, different);
    line(different ? "MIG instance, nodes differ" : "MIG instance, nodes alike", nodes, 8, 0,
         measure(&cluster, &mig, NULL, rounds));
    unmake(&cluster);
}

int main(int argc, char **argv)
{
    static const unsigned all[] = {4, 16, 64};
    bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    unsigned rounds = quick ? QUICK_ROUNDS : ROUNDS;
    size_t nodes = quick ? 100 : 5000;
    if (argc > 1 && !quick) {
        bench_die("usage: bench_score [--quick]");
    }
    bench_print_environment();
    (void)printf("\nCPU time to score one ask, median of %u\n\n", rounds);
    (void)printf("%-34s %6s %5s %5s %9s %8s\n", "ask", "nodes", "GPUs", "rows", "us", "ns/node");
    shared(nodes, 8, false, all + 1, 1, rounds);
    shared(nodes, 8, true, all, 3, rounds);
    shared(nodes / 5, 8, true, all + 1, 1, rounds);
    shared(nodes, 2, true, all + 1, 1, rounds);
    instances(nodes, false, rounds);
    instances(nodes, true, rounds);
    return sink == INT32_MIN ? EXIT_FAILURE : EXIT_SUCCESS;
}
