/* What a plan costs: 10,000 waiting pods over 1,000 nodes of eight GPUs. Measured are a plan made
 * anew (all pods ordered, all nodes changed), and what one arrival and one end take, with the
 * change told and the plan run; then an estimate for one more pod in a copy of the process. Prints
 * medians, for all orders or the one named, and for 200 tenants under bounded; --quick only sees
 * that it runs. */
#include "bench.h"

#include "core/plan/state/calls.h"
#include "unit/core/plan/plan_defaults.h"
#include "util/process/copy.h"
#include "util/time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char gpu[] = "nvidia.com/gpu";

enum { DEVICES = 8, NAME = 40, ROUNDS_MAX = 1000, PLANS = 7, NOMINATIONS = 64 };

static struct {
    unsigned nodes;
    unsigned pods;
    unsigned rounds;
} size = {1000, 10000, 200};

struct bench_pod {
    struct sl_pod pod;
    struct sl_constraints constraints;
    struct sl_ask_item item;
    char uid[NAME];
};

struct bench_node {
    struct sl_node node;
    struct sl_device device[DEVICES];
    struct sl_pool pool;
    struct sl_host host;
    char name[NAME];
};

struct cluster {
    struct bench_node *node;
    const struct sl_view **view;
    struct sl_pod **running; /* DEVICES for each node; NULL: free */
    struct bench_pod *pod;   /* pods waiting, and as many more as arrive */
    struct sl_planner *planner;
    int64_t now_us;
};

enum mix { ALIKE, TEN_KINDS, ALL_DIFFERENT };

/* Each pod is of one of so many namespaces, each of which is a tenant; NULL: they share one. */
enum { TENANTS = 200 };
static struct sl_tenants *tenants;

static struct sl_tenants *make_tenants(void)
{
    struct sl_tenants *made = calloc(1, sizeof(*made));
    for (unsigned i = 0; made != NULL && i < TENANTS; i++) {
        (void)snprintf(made->space[i].namespace, SL_TENANT_NAME_MAX, "tenant-%u", i);
        (void)snprintf(made->space[i].tenant, SL_TENANT_NAME_MAX, "tenant-%u", i);
        made->n_spaces++;
    }
    return made;
}

static void *must(void *memory)
{
    if (memory == NULL) {
        bench_die("out of memory");
    }
    return memory;
}

static void make_node(struct bench_node *n, unsigned i)
{
    (void)snprintf(n->name, sizeof(n->name), "node-%05u", i);
    n->node = (struct sl_node){.name = n->name,
                               .layout = SL_LAYOUT_ANNOTATED,
                               .n_devices = DEVICES,
                               .n_pools = 1,
                               .device = n->device,
                               .pool = &n->pool,
                               .host = {128000, INT64_C(1) << 40, 110},
                               .site_digest = i % 4,
                               .refs = 1u << 30};
    n->pool = (struct sl_pool){.resource = gpu,
                               .key = sl_hash(gpu, strlen(gpu)),
                               .kind = SL_KIND_WHOLE,
                               .capacity = DEVICES,
                               .replicas = 1,
                               .on_devices = true};
    for (unsigned d = 0; d < DEVICES; d++) {
        n->device[d] = (struct sl_device){.index = (int16_t)d, .healthy = true};
    }
}

static void make_pod(struct bench_pod *p, unsigned i, enum mix mix, int64_t now_us)
{
    (void)snprintf(p->uid, sizeof(p->uid), "%08x-0000-4000-8000-%012x", i * 2654435761u, i);
    unsigned kind = mix == ALIKE ? 0 : mix == TEN_KINDS ? i % 10 : i;
    p->item = (struct sl_ask_item){.resource = gpu,
                                   .key = sl_hash(gpu, strlen(gpu)),
                                   .count = mix == TEN_KINDS ? 1 + kind % 4 : 1};
    p->constraints = (struct sl_constraints){.cpu_milli = 1000, .digest = kind + 1};
    p->pod = (struct sl_pod){.namespace =
                                 tenants == NULL ? "bench" : tenants->space[i % TENANTS].namespace,
                             .name = p->uid,
                             .uid = p->uid,
                             .gate = SL_GATE_OURS,
                             .constraints = &p->constraints,
                             .created_us = now_us - (int64_t)(i % 3600) * 1000000,
                             .timeout_s = 60 + (int64_t)(i * 7919u % 36000),
                             .items = &p->item,
                             .n_items = 1,
                             .refs = 1u << 30};
}

static void make_view(struct cluster *c, unsigned i)
{
    struct sl_pod *pods[DEVICES];
    size_t n = 0;
    for (unsigned d = 0; d < DEVICES; d++) {
        if (c->running[i * DEVICES + d] != NULL) {
            pods[n] = c->running[i * DEVICES + d];
            n++;
        }
    }
    c->view[i] = must(sl_view_new(&c->node[i].node, pods, n));
}

static void run_pod(struct cluster *c, unsigned node, unsigned device)
{
    struct bench_pod shape;
    char text[NAME];
    make_pod(&shape, 1000000 + node * DEVICES + device, ALIKE, c->now_us);
    (void)snprintf(text, sizeof(text), "%s=%u", gpu, device);
    struct sl_pod *pod =
        must(sl_pod_bound_to(&shape.pod, c->node[node].name, text, SL_POD_RUNNING));
    pod->started_us = c->now_us - (int64_t)device * 1000000;
    c->running[node * DEVICES + device] = pod;
}

static void ignore(void *context, const struct sl_plan_action *action)
{
    (void)action;
    if (context != NULL) {
        (*(size_t *)context)++;
    }
}

static size_t run(struct cluster *c, size_t max_nominations)
{
    struct sl_error err;
    size_t actions = 0;
    if (sl_planner_run(c->planner, NULL, max_nominations, c->now_us, ignore, &actions, &err) < 0) {
        bench_die("%s", err.message);
    }
    return actions;
}

static void tell(struct cluster *c)
{
    struct sl_error err;
    if (sl_planner_cluster(c->planner, c->view, size.nodes, c->now_us, &err) < 0) {
        bench_die("%s", err.message);
    }
}

static void put(struct cluster *c, unsigned i)
{
    struct sl_error err;
    if (sl_planner_put(c->planner, &c->pod[i].pod, c->now_us, &err) < 0) {
        bench_die("%s", err.message);
    }
}

static void set_up(struct cluster *c, enum sl_order_kind order, enum mix mix, bool full)
{
    struct sl_error err;
    struct sl_plan_config config;
    memset(c, 0, sizeof(*c));
    c->now_us = INT64_C(1700000000) * 1000000;
    c->node = must(calloc(size.nodes, sizeof(*c->node)));
    c->view = must(calloc(size.nodes, sizeof(struct sl_view *)));
    c->running = must(calloc((size_t)size.nodes * DEVICES, sizeof(struct sl_pod *)));
    c->pod = must(calloc((size_t)size.pods + ROUNDS_MAX, sizeof(*c->pod)));
    plan_defaults(&config);
    config.order.kind = order;
    config.tenants = tenants;
    c->planner = must(sl_planner_new(&config, &err));
    for (unsigned i = 0; i < size.nodes; i++) {
        make_node(&c->node[i], i);
        for (unsigned d = 0; d < DEVICES; d++) {
            if (full || i % 2 == 0) {
                run_pod(c, i, d);
            }
        }
        make_view(c, i);
    }
    for (unsigned i = 0; i < size.pods + ROUNDS_MAX; i++) {
        make_pod(&c->pod[i], i, mix, c->now_us);
    }
}

static void tear_down(struct cluster *c)
{
    sl_planner_free(c->planner);
    for (unsigned i = 0; i < size.nodes; i++) {
        sl_view_free((struct sl_view *)c->view[i]);
    }
    for (size_t i = 0; i < (size_t)size.nodes * DEVICES; i++) {
        sl_pod_unref(c->running[i]);
    }
    free(c->node);
    free(c->view);
    free(c->running);
    free(c->pod);
}

/* What the processor spent: the plan neither waits nor has threads, and so others on the machine do
 * not count. */
static uint64_t cpu_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static double since_ms(uint64_t start)
{
    return (double)(cpu_now_ns() - start) / 1e6;
}

/* One pod ends, its node's view is another; the plan gives the devices to the next. */
static double one_end(struct cluster *c, unsigned round)
{
    unsigned node = round * 17 % size.nodes;
    unsigned device = round % DEVICES;
    struct sl_pod **at = &c->running[node * DEVICES + device];
    if (*at == NULL) {
        return 0;
    }
    const struct sl_view *old = c->view[node];
    struct sl_pod *gone = *at;
    *at = NULL;
    make_view(c, node);
    uint64_t start = cpu_now_ns();
    tell(c);
    (void)run(c, NOMINATIONS);
    double ms = since_ms(start);
    sl_view_free((struct sl_view *)old);
    sl_pod_unref(gone);
    return ms;
}

/* A planner that knows nothing yet: all pods put and one plan made. Then one made anew because all
 * nodes have changed. */
static void one_plan(enum sl_order_kind order, enum mix mix, bool full, double *begin, double *plan)
{
    struct cluster c;
    set_up(&c, order, mix, full);
    const struct sl_view **old = must(calloc(size.nodes, sizeof(struct sl_view *)));
    uint64_t start = cpu_now_ns();
    for (unsigned i = 0; i < size.pods; i++) {
        put(&c, i);
    }
    tell(&c);
    (void)run(&c, NOMINATIONS);
    *begin = since_ms(start);
    for (unsigned i = 0; i < size.nodes; i++) {
        old[i] = c.view[i];
        make_view(&c, i);
    }
    c.now_us += 1000000;
    start = cpu_now_ns();
    tell(&c);
    (void)run(&c, NOMINATIONS);
    *plan = since_ms(start);
    for (unsigned i = 0; i < size.nodes; i++) {
        sl_view_free((struct sl_view *)old[i]);
    }
    free(old);
    tear_down(&c);
}

/* ---- an estimate in a copy ---- */

struct what_if {
    double ms;
    double own_mib; /* memory that is the copy's alone */
    bool failed;
};

/* The kernel's own account: pages that no other process has. */
static double own_mib(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "re");
    char line[256];
    double kib = 0;
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "Private_Dirty:", 14) == 0 || strncmp(line, "Private_Clean:", 14) == 0) {
            kib += strtod(line + 14, NULL);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kib / 1024;
}

static void what_if_work(void *context, void *out)
{
    struct cluster *c = context;
    struct what_if *what_if = out;
    struct sl_plan_what_if found;
    struct sl_error err;
    uint64_t start = cpu_now_ns();
    what_if->failed = sl_planner_what_if(c->planner, &c->pod[size.pods + size.rounds].pod, NULL,
                                         NOMINATIONS, c->now_us, &found, &err) < 0;
    what_if->ms = since_ms(start);
    what_if->own_mib = own_mib();
}

static struct what_if what_if_measure(struct cluster *c)
{
    struct what_if what_if = {.failed = true};
    struct sl_copy copy;
    struct sl_error err;
    c->pod[size.pods + size.rounds].pod.created_us = c->now_us;
    if (sl_copy_begin(&copy, what_if_work, c, &what_if, sizeof(what_if), &err) < 0 ||
        sl_copy_end(&copy, &what_if, sizeof(what_if), SL_MINUTE_US, &err) < 0) {
        bench_die("%s", err.message);
    }
    if (what_if.failed) {
        bench_die("no estimate in a copy");
    }
    return what_if;
}

static void measure(enum sl_order_kind order, enum mix mix, bool full)
{
    static const char *const mixes[] = {"alike", "10 kinds", "different"};
    static double ends[ROUNDS_MAX];
    static double arrivals[ROUNDS_MAX];
    double begins[PLANS];
    double plans[PLANS];
    struct sl_error err;
    struct cluster c;
    size_t n = 0;
    for (unsigned i = 0; i < PLANS; i++) {
        one_plan(order, mix, full, &begins[i], &plans[i]);
    }
    set_up(&c, order, mix, full);
    for (unsigned i = 0; i < size.pods; i++) {
        put(&c, i);
    }
    tell(&c);
    (void)run(&c, NOMINATIONS);
    for (unsigned i = 0; i < size.rounds; i++) {
        c.now_us += 100000;
        c.pod[size.pods + i].pod.created_us = c.now_us;
        uint64_t start = cpu_now_ns();
        put(&c, size.pods + i);
        (void)run(&c, full ? NOMINATIONS : 0);
        arrivals[i] = since_ms(start);
    }
    for (unsigned i = 0; i < size.rounds; i++) {
        c.now_us += 100000;
        ends[n] = one_end(&c, i);
        n += ends[n] > 0;
    }
    uint64_t start = cpu_now_ns();
    if (sl_planner_estimate(c.planner, c.now_us, &err) < 0) {
        bench_die("%s", err.message);
    }
    double estimate = since_ms(start);
    struct what_if what_if = what_if_measure(&c);
    (void)printf("%-8s %-10s %-5s %8.2f %8.3f %10.4f %10.4f %10.2f %8.2f %8.2f\n",
                 tenants == NULL ? sl_order_name(order) : "tenants", mixes[mix],
                 full ? "full" : "half", bench_median(begins, PLANS), bench_median(plans, PLANS),
                 bench_median(arrivals, size.rounds), bench_median(ends, n), estimate, what_if.ms,
                 what_if.own_mib);
    tear_down(&c);
}

int main(int argc, char **argv)
{
    enum sl_order_kind only = SL_ORDER_KINDS;
    bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    if (quick) {
        size.nodes = 50;
        size.pods = 300;
        size.rounds = 20;
    } else if (argc > 1 && strcmp(argv[1], "tenants") != 0 &&
               !sl_order_parse(sl_str_of(argv[1]), &only)) {
        bench_die("usage: bench_plan [--quick | fifo | sjf | p | hrrn | bounded | tenants]");
    }
    bench_print_environment();
    (void)printf("%u pods, %u nodes of %d GPUs, full or half of them empty; medians, ms of CPU\n",
                 size.pods, size.nodes, DEVICES);
    (void)printf("%-8s %-10s %-5s %8s %8s %10s %10s %10s %8s %8s\n", "order", "pods", "gpus",
                 "begin", "plan", "arrival", "end", "estimates", "what-if", "own MiB");
    static const enum sl_order_kind orders[] = {SL_ORDER_FIFO, SL_ORDER_SJF,     SL_ORDER_P,
                                                SL_ORDER_HRRN, SL_ORDER_BOUNDED, SL_ORDER_KINDS};
    bool shared = argc > 1 && strcmp(argv[1], "tenants") == 0;
    for (unsigned o = 0; o < sizeof(orders) / sizeof(orders[0]); o++) {
        bool sharing = orders[o] == SL_ORDER_KINDS;
        if (only != SL_ORDER_KINDS ? only != orders[o] : shared && !sharing) {
            continue;
        }
        tenants = sharing ? must(make_tenants()) : NULL;
        for (enum mix mix = ALIKE; mix <= ALL_DIFFERENT; mix++) {
            measure(sharing ? SL_ORDER_BOUNDED : orders[o], mix, true);
            measure(sharing ? SL_ORDER_BOUNDED : orders[o], mix, false);
        }
        free(tenants);
        tenants = NULL;
    }
    return 0;
}
