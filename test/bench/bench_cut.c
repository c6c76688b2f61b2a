/* What a plan of cuts costs: 1,000 nodes of eight A100 whose cut does not suit the 10,000 pods that
 * wait. Prints medians of CPU time; --quick only sees that it runs. */
#include "bench.h"

#include "sliced/cut.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEVICES = 8, NAME = 40, ROUNDS = 31, PAIRS = 24, PLANS_AT_ONCE = 2 };

static struct {
    unsigned nodes;
    unsigned pods;
} size = {1000, 10000};

static const int64_t now_us = INT64_C(1700000000) * 1000000;

/* What GPUs hold: '*' in use. */
struct cluster_kind {
    const char *name;
    enum sl_actuator actuator;
    const char *gpu[DEVICES];
};

static const struct cluster_kind clusters[] = {
    {"free, whole cut",
     SL_ACTUATOR_MIG_MANAGER,
     {"7g.40gb", "7g.40gb", "7g.40gb", "7g.40gb", "7g.40gb", "7g.40gb", "7g.40gb", "7g.40gb"}},
    {"half in use",
     SL_ACTUATOR_MIG_MANAGER,
     {"2g.10gb* 2g.10gb*", "2g.10gb* 2g.10gb", "3g.20gb 3g.20gb", "2g.10gb* 2g.10gb*",
      "4g.20gb 3g.20gb", "7g.40gb", "3g.20gb 3g.20gb", "7g.40gb"}},
    {"nos, in pieces",
     SL_ACTUATOR_NOS_MIG,
     {"1g.5gb* 1g.5gb 2g.10gb*", "2g.10gb* 2g.10gb", "3g.20gb 3g.20gb*", "1g.5gb*",
      "4g.20gb* 3g.20gb", "7g.40gb*", "1g.5gb* 1g.5gb* 2g.10gb", "7g.40gb"}},
    {"all in use",
     SL_ACTUATOR_MIG_MANAGER,
     {"7g.40gb*", "7g.40gb*", "7g.40gb*", "7g.40gb*", "7g.40gb*", "7g.40gb*", "7g.40gb*",
      "7g.40gb*"}},
};

enum mix { ALIKE, TEN_KINDS, ALL_DIFFERENT, HOPELESS, MIXES };

static const char *const mixes[MIXES] = {"alike", "10 kinds", "different", "hopeless"};

struct cluster {
    struct sl_node **node;
    struct sl_pod **running;
    const struct sl_view **view;
    struct sl_cut_site *site;
    struct sl_pod **pod;
    struct sl_cut_pod *waiting;
};

static void *must(void *memory)
{
    if (memory == NULL) {
        bench_die("out of memory");
    }
    return memory;
}

/* ---- facts ---- */

struct pairs {
    struct sl_pair pair[PAIRS];
    char text[PAIRS][2][96];
    unsigned n;
};

static void pair_set(struct pairs *pairs, const char *key, const char *value)
{
    unsigned i = pairs->n;
    if (i == PAIRS) {
        bench_die("too many pairs");
    }
    (void)snprintf(pairs->text[i][0], sizeof(pairs->text[i][0]), "%s", key);
    (void)snprintf(pairs->text[i][1], sizeof(pairs->text[i][1]), "%s", value);
    pairs->pair[i] = (struct sl_pair){sl_str_of(pairs->text[i][0]), sl_str_of(pairs->text[i][1]),
                                      i > 0 ? &pairs->pair[i - 1] : NULL};
    pairs->n++;
}

static void pair_count(struct pairs *pairs, const char *key)
{
    for (unsigned i = 0; i < pairs->n; i++) {
        if (strcmp(pairs->text[i][0], key) == 0) {
            (void)snprintf(pairs->text[i][1], sizeof(pairs->text[i][1]), "%ld",
                           strtol(pairs->text[i][1], NULL, 10) + 1);
            pairs->pair[i].value = sl_str_of(pairs->text[i][1]);
            return;
        }
    }
    pair_set(pairs, key, "1");
}

static struct sl_pair *pairs_list(struct pairs *pairs)
{
    return pairs->n > 0 ? &pairs->pair[pairs->n - 1] : NULL;
}

static struct sl_pod *make_pod(unsigned i, const char *node, const struct pairs *limits)
{
    struct sl_error err;
    char name[NAME];
    struct pairs copy = *limits;
    struct pairs own = {.n = 0};
    for (unsigned k = 0; k < copy.n; k++) {
        pair_set(&own, copy.text[k][0], copy.text[k][1]);
    }
    (void)snprintf(name, sizeof(name), "pod-%u", i);
    struct sl_container_facts main = {.name = SL_STR("main"), .limits = pairs_list(&own)};
    struct sl_pod_facts facts = {.name = sl_str_of(name),
                                 .uid = sl_str_of(name),
                                 .containers = &main,
                                 .created_us = now_us,
                                 .deadline_s = 3600};
    if (node != NULL) {
        facts.node_name = sl_str_of(node);
        facts.phase = SL_STR("Running");
        facts.started_us = now_us;
    }
    struct sl_pod *pod = sl_pod_new(&facts, &err);
    if (pod == NULL) {
        bench_die("%s", err.message);
    }
    return pod;
}

/* ---- nodes ---- */

/* Reads a GPU's text. Devices of the mig-manager list their instances; nos' agent reports them. */
static struct sl_instance_facts *read_gpu(const char *text, unsigned gpu, bool nos,
                                          struct sl_instance_facts *instance,
                                          struct pairs *annotations, struct pairs *allocatable,
                                          struct pairs *used)
{
    struct sl_instance_facts *first = NULL;
    while (*text != '\0') {
        char key[96];
        size_t len = strcspn(text, " ");
        int name = (int)strcspn(text, " *");
        bool in_use = text[len - 1] == '*';
        *instance = (struct sl_instance_facts){{text, (size_t)name}, -1, first};
        first = instance;
        instance++;
        (void)snprintf(key, sizeof(key), "nvidia.com/mig-%.*s", name, text);
        pair_count(allocatable, key);
        if (in_use) {
            pair_count(used, key);
        }
        (void)snprintf(key, sizeof(key), "nos.nebuly.com/status-gpu-%u-%.*s-%s", gpu, name, text,
                       in_use ? "used" : "free");
        if (nos) {
            pair_count(annotations, key);
        }
        text += len;
        text += strspn(text, " ");
    }
    return first;
}

static void make_node(struct cluster *c, unsigned i, const struct cluster_kind *kind)
{
    static struct pairs labels;
    static struct pairs annotations;
    static struct pairs allocatable;
    static struct pairs used;
    struct sl_error err;
    struct sl_instance_facts instance[DEVICES][SL_MIG_INSTANCES_MAX];
    struct sl_device_facts device[DEVICES];
    char name[NAME];
    bool nos = kind->actuator == SL_ACTUATOR_NOS_MIG;
    labels.n = annotations.n = allocatable.n = used.n = 0;
    pair_set(&labels, "nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB");
    pair_set(&labels, "nvidia.com/gpu.count", "8");
    for (unsigned d = 0; d < DEVICES; d++) {
        /* Nodes differ: each has some of these, in no order. */
        const char *text = kind->gpu[((i * DEVICES + d) * 2654435761u) >> 13 & (DEVICES - 1)];
        device[d] = (struct sl_device_facts){.index = (int)d, .mig = true};
        device[d].instances =
            read_gpu(text, d, nos, instance[d], &annotations, &allocatable, &used);
        device[d].next = d > 0 ? &device[d - 1] : NULL;
    }
    (void)snprintf(name, sizeof(name), "node-%05u", i);
    struct sl_node_facts facts = {.name = sl_str_of(name),
                                  .labels = pairs_list(&labels),
                                  .annotations = pairs_list(&annotations),
                                  .allocatable = pairs_list(&allocatable),
                                  .devices = nos ? NULL : &device[DEVICES - 1],
                                  .actuator = kind->actuator};
    c->node[i] = sl_node_new(&facts, &err);
    if (c->node[i] == NULL) {
        bench_die("%s", err.message);
    }
    c->running[i] = used.n > 0 ? make_pod(1000000 + i, name, &used) : NULL;
    c->view[i] = must(sl_view_new(c->node[i], &c->running[i], used.n > 0));
    c->site[i] = (struct sl_cut_site){.seconds_us = 60000000};
}

/* ---- pods ---- */

static void make_waiting(struct cluster *c, unsigned i, enum mix mix)
{
    static const char *const profile[] = {"1g.5gb", "3g.20gb", "1g.10gb", "4g.20gb", "2g.10gb"};
    static struct pairs limits;
    char key[96];
    char count[24];
    unsigned n = mix == ALIKE ? 1 : mix == TEN_KINDS ? 1 + i / 5 % 2 : 1 + i % 4;
    limits.n = 0;
    (void)snprintf(key, sizeof(key), "nvidia.com/mig-%s", profile[mix == ALIKE ? 0 : i % 5]);
    (void)snprintf(count, sizeof(count), "%u", mix == HOPELESS ? 57 + i : n);
    pair_set(&limits, key, count);
    if (mix == ALL_DIFFERENT) {
        /* Every pod asks for something that no other asks for. */
        (void)snprintf(key, sizeof(key), "nvidia.com/mig-%s", profile[(i + 1 + i / 5 % 3) % 5]);
        (void)snprintf(count, sizeof(count), "%u", 1 + i / 20);
        pair_set(&limits, key, count);
    }
    c->pod[i] = make_pod(i, NULL, &limits);
    c->waiting[i] = (struct sl_cut_pod){.pod = c->pod[i], .timeout_us = INT64_C(3600) * 1000000};
}

static void set_up(struct cluster *c, const struct cluster_kind *kind, enum mix mix)
{
    c->node = must(calloc(size.nodes, sizeof(struct sl_node *)));
    c->running = must(calloc(size.nodes, sizeof(struct sl_pod *)));
    c->view = must(calloc(size.nodes, sizeof(struct sl_view *)));
    c->site = must(calloc(size.nodes, sizeof(struct sl_cut_site)));
    c->pod = must(calloc(size.pods, sizeof(struct sl_pod *)));
    c->waiting = must(calloc(size.pods, sizeof(struct sl_cut_pod)));
    for (unsigned i = 0; i < size.nodes; i++) {
        make_node(c, i, kind);
    }
    for (unsigned i = 0; i < size.pods; i++) {
        make_waiting(c, i, mix);
    }
}

static void tear_down(struct cluster *c)
{
    for (unsigned i = 0; i < size.nodes; i++) {
        sl_view_free((struct sl_view *)c->view[i]);
        sl_node_unref(c->node[i]);
        sl_pod_unref(c->running[i]);
    }
    for (unsigned i = 0; i < size.pods; i++) {
        sl_pod_unref(c->pod[i]);
    }
    free(c->node);
    free(c->running);
    free(c->view);
    free(c->site);
    free(c->pod);
    free(c->waiting);
}

/* ---- measuring ---- */

static uint64_t cpu_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void measure(struct sl_cutter *cutter, const struct cluster_kind *kind, enum mix mix)
{
    struct cluster c;
    struct sl_error err;
    struct sl_cut_output output = {0};
    double ms[ROUNDS];
    size_t served = 0;
    set_up(&c, kind, mix);
    struct sl_cut_input input = {.view = c.view,
                                 .site = c.site,
                                 .n_views = size.nodes,
                                 .pod = c.waiting,
                                 .n_pods = size.pods,
                                 .max_plans = PLANS_AT_ONCE,
                                 .drain = true,
                                 .now_us = now_us};
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t start = cpu_now_ns();
        if (sl_cutter_plan(cutter, &input, &output, &err) < 0) {
            bench_die("%s", err.message);
        }
        ms[i] = (double)(cpu_now_ns() - start) / 1e6;
    }
    for (size_t i = 0; i < output.n_plans; i++) {
        served += output.plan[i].n_pods;
    }
    (void)printf("%-16s %-10s %8.3f %8.3f %8zu %8zu %8zu\n", kind->name, mixes[mix],
                 bench_median(ms, ROUNDS), bench_quantile(ms, ROUNDS, 1.0), output.n_plans, served,
                 output.n_drains);
    tear_down(&c);
}

int main(int argc, char **argv)
{
    struct sl_error err;
    if (argc > 1 && strcmp(argv[1], "--quick") == 0) {
        size.nodes = 20;
        size.pods = 100;
    }
    struct sl_cutter *cutter = sl_cutter_new(&err);
    if (cutter == NULL) {
        bench_die("%s", err.message);
    }
    bench_print_environment();
    (void)printf("%u pods, %u nodes of %d A100, at most %d cut at once; ms of CPU\n", size.pods,
                 size.nodes, DEVICES, PLANS_AT_ONCE);
    (void)printf("%-16s %-10s %8s %8s %8s %8s %8s\n", "gpus", "pods", "median", "worst", "plans",
                 "started", "drains");
    for (unsigned k = 0; k < sizeof(clusters) / sizeof(clusters[0]); k++) {
        for (unsigned mix = 0; mix < MIXES; mix++) {
            measure(cutter, &clusters[k], (enum mix)mix);
        }
    }
    sl_cutter_free(cutter);
    return 0;
}
