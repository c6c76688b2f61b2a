/* What pods cost of which no two are alike: 10,000 that differ in every field that their creator
 * writes, beside an ordinary tenant's 100, on 1,000 nodes of eight GPUs. Beside them a queue of as
 * many ordinary pods. Measured is what the others wait for: the store's change, the plan made anew,
 * an arrival, an end, a changed pod, the queue's rows, stages, filter and explain of one pod.
 * Prints medians of CPU time and how many times the ordinary queue's they are. */
#include "bench.h"

#include "cluster/store.h"
#include "core/plan/state/calls.h"
#include "server/model/explain.h"
#include "sliced/stage.h"
#include "unit/core/plan/plan_defaults.h"
#include "util/data/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    DEVICES = 8,
    TENANT = 100,
    ROUNDS_MAX = 200,
    TEXT = 512,
    NOMINATIONS = 64,
    TERMS = 16,
    VALUES = 24,
    ARENA = 64 << 20,
    STEPS = 12,
};

#define GPU "nvidia.com/gpu"

static struct {
    unsigned nodes;
    unsigned pods;
    unsigned rounds;
} size = {1000, 10000, 21};

enum mix { ORDINARY, NAMES, COUNTS, CONSTRAINTS, STAGES, ONE_TENANT, EVERYTHING, MIXES };

static const char *const mixes[MIXES] = {"ordinary", "names",      "counts",    "constraints",
                                         "stages",   "one tenant", "everything"};

struct bench {
    struct sl_store *store;
    struct sl_planner *planner;
    struct sl_stages *stages;
    struct sl_arena arena; /* of one object's facts */
    const struct sl_snapshot *snapshot;
    int64_t now_us;
};

static double cost[MIXES][STEPS];
static const char *const steps[STEPS] = {"put",    "begin",  "arrival",   "change",
                                         "end",    "round",  "estimates", "rows",
                                         "stages", "filter", "explain",   "relabel"};
enum step {
    PUT,
    BEGIN,
    ARRIVAL,
    CHANGE,
    END,
    ROUND,
    ESTIMATES,
    ROWS,
    STAGED,
    FILTER,
    EXPLAIN,
    RELABEL
};

/* What the processor spent, in ms. */
static double cpu_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void *must(void *memory)
{
    if (memory == NULL) {
        bench_die("out of memory");
    }
    return memory;
}

static void check(int rc, const struct sl_error *err)
{
    if (rc < 0) {
        bench_die("bench_different: %s", err->message);
    }
}

/* ---- facts ---- */

__attribute__((format(printf, 2, 3))) static struct sl_str text(struct bench *b, const char *format,
                                                                ...)
{
    char out[TEXT];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(out, sizeof(out), format, args);
    va_end(args);
    return sl_str_of(must(sl_arena_strdup(&b->arena, out, strlen(out))));
}

static void *make(struct bench *b, size_t bytes)
{
    void *memory = must(sl_arena_alloc(&b->arena, bytes));
    memset(memory, 0, bytes);
    return memory;
}

static void add_pair(struct bench *b, struct sl_pair **list, struct sl_str key, struct sl_str value)
{
    struct sl_pair *pair = make(b, sizeof(*pair));
    *pair = (struct sl_pair){key, value, *list};
    *list = pair;
}

/* As many terms and values as are kept of a pod; the last one admits nothing either. */
static void add_affinity(struct bench *b, struct sl_pod_facts *facts, unsigned i)
{
    facts->affinity = true;
    for (unsigned t = 0; t < TERMS; t++) {
        struct sl_term_facts *term = make(b, sizeof(*term));
        struct sl_expression_facts *e = make(b, sizeof(*e));
        e->key = SL_STR("zone");
        e->op = SL_STR("In");
        for (unsigned v = 0; v < VALUES; v++) {
            struct sl_text_facts *value = make(b, sizeof(*value));
            value->text = text(b, "z%x%u%u", i, t, v);
            value->next = e->values;
            e->values = value;
        }
        term->expressions = e;
        term->next = facts->terms;
        facts->terms = term;
    }
    struct sl_toleration_facts *toleration = make(b, sizeof(*toleration));
    toleration->key = text(b, "key-%u", i);
    toleration->op = SL_STR("Exists");
    facts->tolerations = toleration;
}

static void set_ask(struct bench *b, struct sl_pod_facts *facts, enum mix mix, unsigned i)
{
    struct sl_container_facts *container = make(b, sizeof(*container));
    bool all = mix == EVERYTHING;
    container->name = SL_STR("main");
    add_pair(b, &container->requests, SL_STR("cpu"),
             text(b, "%um", mix == ORDINARY ? 1000 : 1 + i));
    if (mix == NAMES || (all && i % 2 == 0)) {
        for (unsigned n = 0; n < 7; n++) {
            add_pair(b, &container->limits, text(b, "nvidia.com/mig-x%u.%ugb", i, n),
                     text(b, "%u", 1 + i % 7));
        }
    }
    if (mix != NAMES) {
        unsigned count = mix == COUNTS ? 1 + i : all ? 1 + i % 9 : 1 + i % 4;
        add_pair(b, &container->limits, SL_STR(GPU), text(b, "%u", count));
    }
    facts->containers = container;
    if (mix == COUNTS || all) {
        add_pair(b, &facts->annotations, SL_STR("sliced.dev/min-gpu-memory"),
                 text(b, "%uMi", 1000 + i));
    }
}

/* stands: on which node; NULL: waits. */
static struct sl_pod *make_pod(struct bench *b, enum mix mix, unsigned i, const char *stands,
                               unsigned device)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    bool different = mix != ORDINARY;
    struct sl_pod_facts facts = {
        .namespace = mix == ONE_TENANT ? SL_STR("greedy")
                     : different       ? text(b, "ns-%u", i % 500)
                                       : SL_STR("tenant"),
        .name = text(b, "pod-%u", i),
        .uid = text(b, "%08x-0000-4000-8000-%012x", i * 2654435761u, i),
        .created_us = b->now_us - (int64_t)(1 + i % 3600) * 1000000,
        .priority = mix == EVERYTHING ? (int32_t)i : 0,
    };
    set_ask(b, &facts, mix, i);
    add_pair(b, &facts.annotations, SL_STR("sliced.dev/timeout"),
             mix == EVERYTHING && i % 3 == 0 ? text(b, "nonsense-%u", i)
                                             : text(b, "%us", 60 + i * 7919u % 36000));
    if (mix == CONSTRAINTS || (mix == EVERYTHING && i % 2 == 1)) {
        add_affinity(b, &facts, i);
        add_pair(b, &facts.node_selector, text(b, "label-%u", i), text(b, "v%u", i));
    }
    if (mix == STAGES || mix == ONE_TENANT || mix == EVERYTHING) {
        for (unsigned l = 0; l < 16; l++) {
            add_pair(b, &facts.labels, text(b, "l%u", l), text(b, "v%u", i + l));
        }
        add_pair(b, &facts.annotations, SL_STR("sliced.dev/after"),
                 text(b, "pod/x%u, job/y%u, (l0!=v%u), (l1 in (v%u,w%u))", i, i, i, i, i));
    }
    if (stands != NULL) {
        facts.node_name = sl_str_of(stands);
        facts.phase = SL_STR("Running");
        facts.started_us = b->now_us - (int64_t)device * 1000000;
        add_pair(b, &facts.annotations, SL_STR("sliced.dev/assignment"),
                 text(b, GPU "=%u", device));
    } else {
        add_pair(b, &facts.gates, SL_STR("sliced.dev/queue"), SL_STR(""));
    }
    struct sl_pod *pod = sl_pod_new(&facts, &err);
    check(pod == NULL ? -1 : 0, &err);
    sl_arena_reset(&b->arena);
    return pod;
}

static void node_name(unsigned i, char out[32])
{
    (void)snprintf(out, 32, "node-%05u", i);
}

/* Every node has a label of its own, as most have. */
static void put_node(struct bench *b, unsigned i, unsigned version)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    char name[32];
    node_name(i, name);
    struct sl_node_facts facts = {.name = sl_str_of(name)};
    add_pair(b, &facts.labels, SL_STR("zone"), text(b, "zone-%u", i % 4));
    add_pair(b, &facts.labels, SL_STR("serial"), text(b, "%u-%u", i, version));
    add_pair(b, &facts.labels, SL_STR("nvidia.com/gpu.product"), SL_STR("NVIDIA-H100-80GB-HBM3"));
    add_pair(b, &facts.labels, SL_STR("nvidia.com/gpu.memory"), SL_STR("81559"));
    add_pair(b, &facts.labels, SL_STR("nvidia.com/gpu.count"), SL_STR("8"));
    add_pair(b, &facts.allocatable, SL_STR(GPU), SL_STR("8"));
    add_pair(b, &facts.allocatable, SL_STR("cpu"), SL_STR("128"));
    add_pair(b, &facts.allocatable, SL_STR("pods"), SL_STR("110"));
    struct sl_node *node = sl_node_new(&facts, &err);
    check(node == NULL ? -1 : 0, &err);
    sl_arena_reset(&b->arena);
    check(sl_store_put_node(b->store, node, &err), &err);
}

/* ---- the parts at work ---- */

static void ignore(void *context, const struct sl_plan_action *action)
{
    (void)context;
    (void)action;
}

static void plan(struct bench *b)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    const struct sl_snapshot *old = b->snapshot;
    b->now_us += 100000;
    b->snapshot = sl_store_acquire(b->store);
    check(sl_planner_cluster(b->planner, b->snapshot->view, b->snapshot->n_nodes, b->now_us, &err),
          &err);
    check(sl_planner_run(b->planner, &b->snapshot->demand, NOMINATIONS, b->now_us, ignore, NULL,
                         &err),
          &err);
    if (old != NULL) {
        sl_store_release(b->store, old);
    }
}

static void set_stage(void *context, struct sl_str uid, enum sl_hold_reason stage, const char *why)
{
    struct bench *b = context;
    sl_planner_set_stage(b->planner, uid, stage, why, b->now_us);
}

static void put(struct bench *b, struct sl_pod *pod)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    check(sl_planner_put(b->planner, pod, b->now_us, &err), &err);
}

static void let_go(void *context, const struct sl_pod *pod)
{
    struct bench *b = context;
    sl_planner_set_stage(b->planner, sl_str_of(pod->uid), SL_HOLD_NONE, NULL, b->now_us);
}

static void put_waiting(void *context, const struct sl_pod *pod)
{
    put(context, (struct sl_pod *)pod);
}

static void count_row(void *context, const struct sl_queue_row *row)
{
    char sentence[SL_PLAN_TEXT_MAX];
    *(size_t *)context += sl_queue_text(row, 0, sentence, sizeof(sentence));
}

/* ---- one queue ---- */

static void set_up(struct bench *b)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    const struct sl_store_limits limits = {10000, 200000, 10000, INT64_C(60000000)};
    struct sl_plan_config config;
    memset(b, 0, sizeof(*b));
    sl_arena_init(&b->arena, ARENA);
    b->now_us = INT64_C(1700000000) * 1000000;
    b->store = must(sl_store_new(&limits, &err));
    b->stages = must(sl_stages_new(20000, &err));
    plan_defaults(&config);
    config.order.kind = SL_ORDER_BOUNDED;
    b->planner = must(sl_planner_new(&config, &err));
    sl_store_begin(b->store);
    for (unsigned i = 0; i < size.nodes; i++) {
        char name[32];
        node_name(i, name);
        put_node(b, i, 0);
        for (unsigned d = 0; d < (i % 2 == 0 ? DEVICES : 5u); d++) {
            check(sl_store_put_pod(b->store,
                                   make_pod(b, ORDINARY, 1000000 + i * DEVICES + d, name, d), &err),
                  &err);
        }
    }
    check(sl_store_end(b->store, &err), &err);
}

static void tear_down(struct bench *b)
{
    sl_planner_free(b->planner);
    sl_stages_free(b->stages);
    sl_store_release(b->store, b->snapshot);
    sl_store_free(b->store);
    sl_arena_free(&b->arena);
}

/* All pods into the store one by one, as a watch brings them; what the last of them cost. */
static void fill(struct bench *b, enum mix mix)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    double times[ROUNDS_MAX];
    unsigned n = 0;
    sl_store_begin(b->store);
    for (unsigned i = 0; i < size.pods + TENANT; i++) {
        struct sl_pod *pod = make_pod(b, i < size.pods ? mix : ORDINARY, i, NULL, 0);
        bool measured = i + size.rounds >= size.pods + TENANT;
        if (i + size.rounds == size.pods + TENANT) {
            check(sl_store_end(b->store, &err), &err);
        }
        double start = cpu_ms();
        check(sl_store_put_pod(b->store, pod, &err), &err);
        times[n] = cpu_ms() - start;
        n += measured;
    }
    cost[mix][PUT] = bench_median(times, n);
}

static void begin(struct bench *b, enum mix mix)
{
    double start = cpu_ms();
    (void)sl_store_visit_waiting(b->store, SIZE_MAX, put_waiting, b);
    (void)sl_store_visit_waiting(b->store, SIZE_MAX, let_go, b);
    plan(b);
    cost[mix][BEGIN] = cpu_ms() - start;
}

static void come_and_go(struct bench *b, enum mix mix)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    double arrival[ROUNDS_MAX];
    double change[ROUNDS_MAX];
    double end[ROUNDS_MAX];
    double round[ROUNDS_MAX];
    double relabel[ROUNDS_MAX];
    for (unsigned r = 0; r < size.rounds; r++) {
        char name[32];
        char gone[32];
        unsigned fresh = size.pods + TENANT + r;
        struct sl_pod *pod = make_pod(b, ORDINARY, fresh, NULL, 0);
        double start = cpu_ms();
        put(b, pod);
        plan(b);
        arrival[r] = cpu_ms() - start;
        sl_pod_unref(pod);

        /* another pod of the same UID: its creator has made other fields of it */
        pod = make_pod(b, mix, r, NULL, 0);
        struct sl_pod *other = make_pod(b, mix, r + 4000000, NULL, 0);
        other->name = pod->name;
        other->uid = pod->uid;
        start = cpu_ms();
        put(b, other);
        sl_planner_set_stage(b->planner, sl_str_of(pod->uid), SL_HOLD_NONE, NULL, b->now_us);
        plan(b);
        change[r] = cpu_ms() - start;
        put(b, pod);
        sl_pod_unref(other);
        sl_pod_unref(pod);
        plan(b);

        node_name(r * 2, name);
        (void)snprintf(gone, sizeof(gone), "pod-%u", 1000000 + r * 2 * DEVICES);
        start = cpu_ms();
        check(sl_store_delete_pod(b->store, SL_STR("tenant"), sl_str_of(gone),
                                  (struct sl_str){NULL, 0}, &err),
              &err);
        plan(b);
        end[r] = cpu_ms() - start;

        start = cpu_ms();
        put_node(b, r * 2 + 1, r + 1);
        plan(b);
        relabel[r] = cpu_ms() - start;

        start = cpu_ms();
        plan(b);
        round[r] = cpu_ms() - start;
    }
    cost[mix][ARRIVAL] = bench_median(arrival, size.rounds);
    cost[mix][CHANGE] = bench_median(change, size.rounds);
    cost[mix][END] = bench_median(end, size.rounds);
    cost[mix][ROUND] = bench_median(round, size.rounds);
    cost[mix][RELABEL] = bench_median(relabel, size.rounds);
}

static void tell(struct bench *b, enum mix mix)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    size_t bytes = 0;
    double start = cpu_ms();
    check(sl_planner_estimate(b->planner, b->now_us, &err), &err);
    cost[mix][ESTIMATES] = cpu_ms() - start;
    start = cpu_ms();
    (void)sl_planner_visit(b->planner, b->now_us, SIZE_MAX, count_row, &bytes);
    cost[mix][ROWS] = cpu_ms() - start;
}

static void stage_pod(void *context, const struct sl_pod *pod)
{
    struct bench *b = context;
    struct sl_error err = {.code = SL_ERR_NONE};
    sl_stages_pod(b->stages, pod);
    check(sl_stages_put(b->stages, (struct sl_pod *)pod, &err), &err);
}

static void stage(struct bench *b, enum mix mix)
{
    double start = cpu_ms();
    (void)sl_store_visit_waiting(b->store, SIZE_MAX, stage_pod, b);
    sl_stages_collect(b->stages, set_stage, b);
    (void)sl_store_visit_waiting(b->store, SIZE_MAX, let_go, b);
    cost[mix][STAGED] = cpu_ms() - start;
}

/* As the verb does: every node, then one pod explained. */
static void ask(struct bench *b, enum mix mix)
{
    struct sl_score_config score = {.weight = {[SL_TERM_AVAILABILITY] = 100}};
    double filters[ROUNDS_MAX];
    double explains[ROUNDS_MAX];
    for (unsigned r = 0; r < size.rounds; r++) {
        struct sl_pod *pod = make_pod(b, mix, r, NULL, 0);
        struct sl_ask asked;
        struct sl_explain explain;
        char sentence[SL_EXPLAIN_TEXT_MAX];
        double start = cpu_ms();
        sl_pod_ask(pod, &asked);
        for (size_t i = 0; i < b->snapshot->n_nodes; i++) {
            struct sl_verdict verdict;
            (void)sl_fit(b->snapshot->view[i], &asked, &verdict);
        }
        filters[r] = cpu_ms() - start;
        start = cpu_ms();
        check(sl_explain_init(&explain, b->snapshot, pod, &score, NULL), NULL);
        sl_explain_why(&explain, sentence, sizeof(sentence));
        sl_explain_free(&explain);
        explains[r] = cpu_ms() - start;
        sl_pod_unref(pod);
    }
    cost[mix][FILTER] = bench_median(filters, size.rounds);
    cost[mix][EXPLAIN] = bench_median(explains, size.rounds);
}

static void measure(enum mix mix)
{
    struct bench b;
    set_up(&b);
    fill(&b, mix);
    begin(&b, mix);
    come_and_go(&b, mix);
    tell(&b, mix);
    stage(&b, mix);
    ask(&b, mix);
    tear_down(&b);
}

int main(int argc, char **argv)
{
    unsigned only = MIXES;
    if (argc > 1 && strcmp(argv[1], "--quick") == 0) {
        size.nodes = 50;
        size.pods = 300;
        size.rounds = 3;
    }
    for (unsigned m = 0; argc > 1 && m < MIXES; m++) {
        only = strcmp(argv[1], mixes[m]) == 0 ? m : only;
    }
    bench_print_environment();
    (void)printf(
        "%u pods, %u nodes of %d GPUs; ms of CPU, in parentheses times the ordinary queue's\n",
        size.pods, size.nodes, DEVICES);
    (void)printf("%-12s", "queue");
    for (unsigned s = 0; s < STEPS; s++) {
        (void)printf(" %17s", steps[s]);
    }
    (void)printf("\n");
    for (unsigned m = 0; m < MIXES; m++) {
        if (only != MIXES && m != only && m != ORDINARY) {
            continue;
        }
        measure((enum mix)m);
        (void)printf("%-12s", mixes[m]);
        for (unsigned s = 0; s < STEPS; s++) {
            double times = cost[ORDINARY][s] > 0 ? cost[m][s] / cost[ORDINARY][s] : 0;
            (void)printf(" %9.3f (%5.1f)", cost[m][s], times);
        }
        (void)printf("\n");
        (void)fflush(stdout);
    }
    return 0;
}
