/* What it costs to know what GPUs do: 1,000 nodes of eight, each measured once a second, and an
 * answer of Prometheus every ten seconds. Measured is the memory in which samples are kept, the CPU
 * time from an answer's first byte to the snapshot that shows it, and how much longer filter then
 * takes. The answers are as Prometheus writes them; they come from memory, not from a socket. */
#include "bench.h"

#include "sliced/fit.h"
#include "telemetry/internal.h"
#include "util/clock.h"
#include "util/time.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    GPUS = 8,
    REPLICAS = 10,
    PODS = 2, /* on each GPU */
    MEMORY = 15360,
    INTERVAL_S = 10,
    PIECE = 16 << 10, /* as libcurl gives it */
    TEXT = 256,
    FIRST_S = 70, /* samples of the first answer: more than a window */
    ROUNDS_MAX = 201,
};

enum { OFF, ASKS, CBP, CBP_PP, PEAKS, HOUSES };

#define SHARED "nvidia.com/gpu"

static struct {
    unsigned nodes;
    unsigned answers; /* that are measured */
    unsigned filters;
} size = {1000, 11, 201};

/* One daemon's store and telemetry. */
struct house {
    struct sl_config config;
    struct sl_store *store;
    struct sl_telemetry *telemetry; /* NULL: off */
    double decode_ms[ROUNDS_MAX];
    double judge_ms[ROUNDS_MAX];
};

static double cpu_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void check(int rc, const struct sl_error *err)
{
    if (rc < 0) {
        bench_die("bench_telemetry: %s", err->message);
    }
}

static double resident_mib(void)
{
    char line[TEXT];
    long kib = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "VmRSS:", 6) == 0) {
            kib = strtol(line + 6, NULL, 10);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return (double)kib / 1024;
}

/* ---- the cluster ---- */

static void uuid_of(unsigned node, unsigned gpu, char out[TEXT])
{
    (void)snprintf(out, TEXT, "GPU-153bdcb7-df30-40e2-%04x-379902ba%04x", gpu, node);
}

static void put_node(struct sl_store *store, unsigned i)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    char name[TEXT];
    char uuid[GPUS][TEXT];
    char units[TEXT];
    struct sl_device_facts device[GPUS];
    (void)snprintf(name, sizeof(name), "gpu-node-%05u", i);
    (void)snprintf(units, sizeof(units), "%d", GPUS * REPLICAS);
    for (unsigned d = 0; d < GPUS; d++) {
        uuid_of(i, d, uuid[d]);
        device[d] = (struct sl_device_facts){.index = (int)d,
                                             .uuid = sl_str_of(uuid[d]),
                                             .next = d + 1 < GPUS ? &device[d + 1] : NULL};
    }
    struct sl_pair label[] = {
        {SL_STR("nvidia.com/gpu.product"), SL_STR("Tesla-T4-SHARED"), &label[1]},
        {SL_STR("nvidia.com/gpu.count"), SL_STR("8"), &label[2]},
        {SL_STR("nvidia.com/gpu.memory"), SL_STR("15360"), &label[3]},
        {SL_STR("nvidia.com/gpu.replicas"), SL_STR("10"), &label[4]},
        {SL_STR("nvidia.com/gpu.sharing-strategy"), SL_STR("time-slicing"), NULL}};
    struct sl_pair allocatable = {SL_STR(SHARED), sl_str_of(units), NULL};
    struct sl_node_facts facts = {.name = sl_str_of(name),
                                  .uid = sl_str_of(name),
                                  .labels = label,
                                  .allocatable = &allocatable,
                                  .capacity = &allocatable,
                                  .devices = device};
    struct sl_node *node = sl_node_new(&facts, &err);
    check(node == NULL ? -1 : sl_store_put_node(store, node, &err), &err);
}

/* stands: on which GPU of which node; node UINT32_MAX: it waits. */
static struct sl_pod *make_pod(unsigned node, unsigned gpu, unsigned i, const char *memory,
                               int64_t started_us)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    char name[TEXT];
    char home[TEXT];
    char assignment[TEXT];
    bool waits = node == UINT32_MAX;
    (void)snprintf(name, sizeof(name), "pod-%u-%u-%u", node, gpu, i);
    (void)snprintf(home, sizeof(home), "gpu-node-%05u", node);
    (void)snprintf(assignment, sizeof(assignment), SHARED "=%u", gpu);
    struct sl_pair annotation[] = {
        {SL_STR("sliced.dev/gpu-memory"), sl_str_of(memory), waits ? NULL : &annotation[1]},
        {SL_STR("sliced.dev/assignment"), sl_str_of(assignment), NULL}};
    struct sl_pair limit = {SL_STR(SHARED), SL_STR("1"), NULL};
    struct sl_container_facts container = {
        .name = SL_STR("main"), .image = SL_STR("registry.example/train:1"), .limits = &limit};
    struct sl_pod_facts facts = {.namespace = SL_STR("ml"),
                                 .name = sl_str_of(name),
                                 .uid = sl_str_of(name),
                                 .node_name = waits ? (struct sl_str){0} : sl_str_of(home),
                                 .phase = waits ? (struct sl_str){0} : SL_STR("Running"),
                                 .started_us = waits ? 0 : started_us,
                                 .created_us = started_us,
                                 .annotations = annotation,
                                 .containers = &container};
    struct sl_pod *pod = sl_pod_new(&facts, &err);
    check(pod == NULL ? -1 : 0, &err);
    return pod;
}

static void fill_store(struct house *house, int64_t started_us)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    sl_store_begin(house->store);
    for (unsigned i = 0; i < size.nodes; i++) {
        put_node(house->store, i);
        for (unsigned p = 0; p < GPUS * PODS; p++) {
            struct sl_pod *pod = make_pod(i, p / PODS, p % PODS, "6000Mi", started_us);
            check(sl_store_put_pod(house->store, pod, &err), &err);
        }
    }
    check(sl_store_end(house->store, &err), &err);
}

/* Former pods of the one workload have used seven tenths of what they declared. */
static void house_teach(struct house *house)
{
    struct sl_pod *pod = make_pod(UINT32_MAX, 0, 0, "6000Mi", 0);
    for (uint32_t node = 0; node < 3; node++) { /* of which two agree */
        sl_peaks_learn(house->telemetry->peaks, node, pod->items[0].workload, 700, 700);
    }
    sl_pod_unref(pod);
}

static void house_open(struct house *house, unsigned which, int64_t window, int64_t now_us)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    const struct sl_store_limits limits = {.max_nodes = size.nodes,
                                           .max_pods = (size_t)size.nodes * GPUS * PODS,
                                           .max_reservations = 1,
                                           .reservation_us = SL_MINUTE_US};
    house->telemetry = NULL;
    house->store = sl_store_new(&limits, &err);
    check(house->store == NULL ? -1 : 0, &err);
    fill_store(house, now_us - SL_HOUR_US);
    if (which == OFF) {
        return;
    }
    sl_config_defaults(&house->config);
    (void)snprintf(house->config.telemetry.url, sizeof(house->config.telemetry.url),
                   "http://127.0.0.1:9");
    house->config.telemetry.stale_us = SL_HOUR_US; /* rounds do not last ten seconds each */
    house->config.telemetry.sharing = (enum sl_sharing)(which - ASKS);
    house->config.telemetry.window = window;
    house->telemetry = sl_telemetry_new(&house->config, house->store, &err);
    check(house->telemetry == NULL ? -1 : 0, &err);
    house_teach(house);
}

static void house_close(struct house *house)
{
    sl_telemetry_free(house->telemetry);
    sl_store_free(house->store);
}

/* ---- an answer ---- */

static const char *const metrics[] = {"DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_GPU_UTIL",
                                      "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_DRAM_ACTIVE"};
enum { METRICS = sizeof(metrics) / sizeof(metrics[0]) };

static void put_labels(struct sl_buf *out, const char *metric, unsigned node, unsigned gpu)
{
    char uuid[TEXT];
    uuid_of(node, gpu, uuid);
    sl_buf_printf(out,
                  "{\"metric\":{\"__name__\":\"%s\",\"DCGM_FI_DRIVER_VERSION\":\"570.86.15\","
                  "\"Hostname\":\"gpu-node-%05u\",\"UUID\":\"%s\",\"container\":"
                  "\"nvidia-dcgm-exporter\",\"device\":\"nvidia%u\",\"endpoint\":\"gpu-metrics\","
                  "\"exported_container\":\"main\",\"exported_namespace\":\"ml\",",
                  metric, node, uuid, gpu);
    sl_buf_printf(
        out,
        "\"exported_pod\":\"pod-%u-%u-0\",\"gpu\":\"%u\",\"instance\":\"10.4.%u.%u:9400\","
        "\"job\":\"nvidia-dcgm-exporter\",\"modelName\":\"Tesla T4\",\"namespace\":"
        "\"gpu-operator\",\"pci_bus_id\":\"00000000:%02X:00.0\",\"pod\":"
        "\"nvidia-dcgm-exporter-%05u\",\"service\":\"nvidia-dcgm-exporter\"},",
        node, gpu, gpu, node / 250, node % 250, 16 + gpu, node);
}

/* Figures of a GPU in one second: all of them move. */
static void put_value(struct sl_buf *out, unsigned metric, unsigned node, unsigned gpu, int64_t s)
{
    unsigned some = (node * 7919U + gpu * 104729U + (unsigned)(s / INTERVAL_S) * 31U) % 1000;
    unsigned wave = (unsigned)s % 5;
    if (metric == 0) {
        sl_buf_printf(out, "\"%u\"", 6000 + 2 * some + wave);
    } else if (metric == 1) {
        sl_buf_printf(out, "\"%u\"", some / 10);
    } else {
        sl_buf_printf(out, "\"0.%03u%03u\"", some, 100 + wave);
    }
}

/* What /api/v1/query answers to the daemon's question about the last range_s seconds. */
static void put_answer(struct sl_buf *out, int64_t now_us, int64_t range_s)
{
    bool first = true;
    out->len = 0;
    sl_buf_puts(out, "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[");
    for (unsigned i = 0; i < size.nodes * GPUS * METRICS; i++) {
        unsigned metric = i % METRICS;
        unsigned gpu = i / METRICS % GPUS;
        unsigned node = i / METRICS / GPUS;
        sl_buf_puts(out, first ? "" : ",");
        first = false;
        put_labels(out, metrics[metric], node, gpu);
        sl_buf_puts(out, "\"values\":[");
        for (int64_t s = range_s - 1; s >= 0; s--) {
            int64_t at_us = now_us - s * SL_SECOND_US;
            sl_buf_printf(out, "[%lld.%03u,", (long long)(at_us / SL_SECOND_US), node % 1000);
            put_value(out, metric, node, gpu, at_us / SL_SECOND_US);
            sl_buf_puts(out, s > 0 ? "]," : "]");
        }
        sl_buf_puts(out, "]}");
    }
    sl_buf_puts(out, "]}}\n");
    if (out->failed != SL_BUF_OK) {
        bench_die("no memory for an answer");
    }
}

/* ---- measuring ---- */

/* Answers come one right after the other: as if the pods had been seen for as long as they tell. */
static void age_pods(struct sl_telemetry *telemetry)
{
    size_t at = 0;
    for (struct sl_unit_node *node = sl_map_next(&telemetry->units.nodes, &at); node != NULL;
         node = sl_map_next(&telemetry->units.nodes, &at)) {
        for (struct sl_unit *unit = node->first; unit != NULL; unit = unit->next) {
            unit->usage.since_us = 0;
            for (unsigned i = 0; i < unit->usage.n; i++) {
                unit->usage.life[i].since_us = 0;
            }
        }
    }
}

/* Takes the answer as the client's thread does. */
static void take(struct house *house, const struct sl_buf *text, unsigned round)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_telemetry *telemetry = house->telemetry;
    double begin = cpu_ms();
    if (!sl_telemetry_begin(telemetry, sl_telemetry_ask)) {
        bench_die("no nodes");
    }
    telemetry->latest_us = sl_clock_real_us();
    sl_answer_reset(telemetry->answer);
    for (size_t at = 0; at < text->len; at += PIECE) {
        size_t len = text->len - at < PIECE ? text->len - at : PIECE;
        check(sl_answer_feed(telemetry->answer, text->data + at, len, &err), &err);
    }
    check(sl_answer_finish(telemetry->answer, &err), &err);
    double decoded = cpu_ms();
    sl_telemetry_judge(telemetry);
    sl_store_release(house->store, telemetry->snapshot);
    telemetry->snapshot = NULL;
    house->judge_ms[round] = cpu_ms() - decoded;
    house->decode_ms[round] = decoded - begin;
    age_pods(telemetry);
}

/* Takes the answers, one every ten seconds, in all houses in turn; the first one fills their rings,
 * and shows what memory that takes. Returns how much more is resident after it. */
static double take_answers(struct house *house, struct sl_buf *text, int64_t now_us)
{
    double more_mib = 0;
    put_answer(text, now_us, FIRST_S);
    double before_mib = resident_mib();
    for (unsigned i = ASKS; i < HOUSES; i++) {
        take(&house[i], text, 0);
        more_mib = i == ASKS ? resident_mib() - before_mib : more_mib;
    }
    for (unsigned r = 0; r < size.answers; r++) {
        struct sl_telemetry *first = house[ASKS].telemetry;
        first->stats.answered_us = now_us;
        now_us += INTERVAL_S * SL_SECOND_US;
        put_answer(text, now_us, sl_telemetry_range_s(first, now_us));
        for (unsigned i = ASKS; i < HOUSES; i++) {
            take(&house[i], text, r);
        }
    }
    return more_mib;
}

static const char *name_of(unsigned which)
{
    return which == OFF ? "off" : sl_sharing_name((enum sl_sharing)(which - ASKS));
}

static void print_answer(struct house *house, unsigned which, int64_t window)
{
    struct sl_telemetry_stats stats;
    double decode_ms = bench_median(house->decode_ms, size.answers);
    double judge_ms = bench_median(house->judge_ms, size.answers);
    sl_telemetry_stats(house->telemetry, &stats);
    if (stats.by_state[SL_SERIES_GOOD] != (size_t)size.nodes * GPUS) {
        bench_die("only %zu series are good", stats.by_state[SL_SERIES_GOOD]);
    }
    (void)printf("%-8s %7lld %11.1f %10.1f %10.1f %8.2f %%\n", name_of(which), (long long)window,
                 (double)stats.bytes / 1048576, decode_ms, judge_ms,
                 (decode_ms + judge_ms) / (INTERVAL_S * 10));
}

/* ---- filter ---- */

static size_t fit_all(const struct sl_snapshot *snapshot, const struct sl_ask *ask)
{
    size_t n = 0;
    for (size_t i = 0; i < snapshot->n_nodes; i++) {
        struct sl_verdict verdict;
        n += sl_fit(snapshot->view[i], ask, &verdict);
    }
    return n;
}

static size_t score_all(const struct sl_snapshot *snapshot, const struct sl_ask *ask)
{
    struct sl_config config;
    struct sl_scorer scorer;
    size_t n = 0;
    sl_config_defaults(&config);
    sl_scorer_init(&scorer, ask, &snapshot->demand, &config.plan.score);
    for (size_t i = 0; i < snapshot->n_nodes; i++) {
        struct sl_score score;
        n += sl_scorer_score(&scorer, snapshot->view[i], &score);
    }
    return n;
}

typedef size_t (*judge_fn)(const struct sl_snapshot *snapshot, const struct sl_ask *ask);

static void print_verb(const char *what, judge_fn judge, const char *memory, struct house *house)
{
    static double us[HOUSES][ROUNDS_MAX];
    double median[HOUSES];
    size_t fits[HOUSES] = {0};
    struct sl_pod *pod = make_pod(UINT32_MAX, 0, 0, memory, 0);
    struct sl_ask ask;
    sl_pod_ask(pod, &ask);
    for (unsigned r = 0; r < size.filters; r++) {
        for (unsigned i = 0; i < HOUSES; i++) {
            const struct sl_snapshot *snapshot = sl_store_acquire(house[i].store);
            double begin = cpu_ms();
            fits[i] = judge(snapshot, &ask);
            us[i][r] = (cpu_ms() - begin) * 1e3;
            sl_store_release(house[i].store, snapshot);
        }
    }
    for (unsigned i = 0; i < HOUSES; i++) {
        median[i] = bench_median(us[i], size.filters);
        (void)printf("%-26s %-8s %6zu %9.1f %8.2f\n", what, name_of(i), fits[i], median[i],
                     median[i] / median[OFF]);
    }
    sl_pod_unref(pod);
}

/* first: no memory was freed yet that could be taken again. */
static void print_window(struct sl_buf *text, int64_t window, bool first)
{
    static struct house house[HOUSES];
    int64_t now_us = sl_clock_real_us() - SL_HOUR_US / 2; /* later than what is forgotten */
    for (unsigned i = 0; i < HOUSES; i++) {
        house_open(&house[i], i, window, now_us);
    }
    double more_mib = take_answers(house, text, now_us);
    if (first) {
        (void)printf("%.1f MB an answer; after the first one %.1f MiB more are resident\n",
                     (double)text->len / 1e6, more_mib);
    }
    (void)printf("\n%-8s %7s %11s %10s %10s %10s\n", "sharing", "window", "series MiB", "decode ms",
                 "judge ms", "of 10 s");
    for (unsigned i = ASKS; i < HOUSES; i++) {
        print_answer(&house[i], i, window);
    }
    if (first) {
        (void)printf("\n%-26s %-8s %6s %9s %8s\n", "verb", "sharing", "fits", "us", "of off");
        print_verb("filter, fits by asks", fit_all, "3000Mi", house);
        print_verb("filter, fits by use alone", fit_all, "4000Mi", house);
        print_verb("filter, no room", fit_all, "15000Mi", house);
        print_verb("filter, declares nothing", fit_all, "0", house);
        print_verb("score, fits by asks", score_all, "3000Mi", house);
        print_verb("score, declares nothing", score_all, "0", house);
    }
    for (unsigned i = 0; i < HOUSES; i++) {
        house_close(&house[i]);
    }
}

int main(int argc, char **argv)
{
    bool quick = argc == 2 && strcmp(argv[1], "--quick") == 0;
    struct sl_buf text;
    if (argc > 1 && !quick) {
        bench_die("usage: bench_telemetry [--quick]");
    }
    if (quick) {
        size.nodes = 20;
        size.answers = 3;
        size.filters = 3;
    }
    sl_buf_init(&text, (size_t)1 << 30);
    bench_print_environment();
    (void)printf("%u nodes of %d GPUs, %d pods on each, one sample a second; medians of CPU\n",
                 size.nodes, GPUS, PODS);
    print_window(&text, 20, true);
    print_window(&text, 60, false);
    sl_buf_free(&text);
    return 0;
}
