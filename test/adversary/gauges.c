#include "adversary/gauges.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adversary/account.h"
#include "adversary/desks.h"
#include "adversary/fake_time.h"
#include "adversary/kubelet.h"
#include "util/clock.h"

enum { RANGE_MAX_S = 3600 };

static const int64_t second_us = 1000000;
static const int64_t future_us = 5000000; /* by which a sample may be ahead of the daemon's clock */

struct gauge gauges[GAUGES];
bool gauges_lived[GAUGES][GAUGE_WORKLOADS];
int64_t gauges_judged_us;
size_t gauges_window;
int64_t gauges_clock_set_us;

/* What the last answer has of each gauge. */
static struct {
    struct sample sample[GAUGE_SAMPLES];
    size_t n;
} told[GAUGES];

void gauges_begin(void)
{
    memset(gauges, 0, sizeof(gauges));
    memset(gauges_lived, 0, sizeof(gauges_lived));
    memset(told, 0, sizeof(told));
    gauges_judged_us = 0;
    desks_begin();
    gauges_clock_set_us = 0;
}

static const char *text_of(const json_t *object, const char *part, const char *key)
{
    const char *text = json_string_value(json_object_get(json_object_get(object, part), key));
    return text == NULL ? "" : text;
}

struct gauge *gauge_find(const char *node)
{
    for (unsigned i = 0; i < GAUGES; i++) {
        if (gauges[i].name[0] != '\0' && strcmp(gauges[i].name, node) == 0) {
            return &gauges[i];
        }
    }
    return NULL;
}

/* ---- nodes ---- */

static json_t *make_node(const struct gauge *gauge)
{
    json_t *node = json_pack(
        "{s:{s:s, s:s, s:{s:s, s:s, s:s, s:s, s:s, s:s}, s:{}}, s:{}, s:{s:[{s:s, s:s}], s:{s:s, "
        "s:s, s:s}, s:{s:s, s:s, s:s}}}",
        "metadata", "name", gauge->name, "uid", gauge->name, "labels", "kubernetes.io/hostname",
        gauge->name, "nvidia.com/gpu.product", "Tesla-T4", "nvidia.com/gpu.count", "1",
        "nvidia.com/gpu.memory", "15360", "nvidia.com/gpu.replicas", gauge->units ? "1" : "8",
        "nvidia.com/gpu.sharing-strategy", gauge->units ? "none" : "time-slicing", "annotations",
        "spec", "status", "addresses", "type", "InternalIP", "address", "10.0.0.1", "allocatable",
        "cpu", "64", "memory", "512Gi", "pods", "110", "capacity", "cpu", "64", "memory", "512Gi",
        "pods", "110");
    json_t *status = json_object_get(node, "status");
    json_t *lists[] = {json_object_get(status, "allocatable"), json_object_get(status, "capacity")};
    for (unsigned i = 0; i < 2; i++) {
        if (gauge->units) {
            (void)json_object_set_new(lists[i], "aliyun.com/gpu-mem", json_string("15"));
            (void)json_object_set_new(lists[i], "aliyun.com/gpu-count", json_string("1"));
        } else {
            (void)json_object_set_new(lists[i], "nvidia.com/gpu.shared", json_string("8"));
        }
    }
    return node;
}

void gauge_add(struct rng *rng, struct gauge *gauge)
{
    static const int64_t apart[] = {0, 0, -2000000, 2000000, 900000, -40000000};
    static const int64_t intervals[] = {1000000, 1000000, 5000000, 30000000};
    static const int64_t lags[] = {0, 0, 500000, 15000000};
    static const int64_t overheads[] = {0, 300, 650};
    const unsigned number = (unsigned)(gauge - gauges);
    *gauge = (struct gauge){.units = rng_chance(rng, 25),
                            .ahead_us = rng_pick(rng, apart),
                            .interval_us = rng_pick(rng, intervals),
                            .lag_us = rng_pick(rng, lags),
                            .overhead_mib = rng_pick(rng, overheads),
                            .names = (unsigned)rng_below(rng, 4)};
    (void)snprintf(gauge->name, sizeof(gauge->name), "t%u", number);
    world_put(WORLD_NODES, make_node(gauge));
}

void gauge_lose(struct gauge *gauge)
{
    struct thing *node = world_find(WORLD_NODES, "", gauge->name);
    for (size_t i = 0; i < world.n[WORLD_PODS] && node != NULL; i++) {
        if (account_stands(world.thing[WORLD_PODS][i].now, gauge->name)) {
            world_delete(WORLD_PODS, &world.thing[WORLD_PODS][i]);
        }
    }
    if (node != NULL) {
        world_delete(WORLD_NODES, node);
    }
    gauge->name[0] = '\0';
}

/* ---- pods ---- */

int64_t gauge_ask(const struct gauge *gauge, const json_t *pod)
{
    const json_t *meta = json_object_get(pod, "metadata");
    if (gauge->units) {
        return account_ask(pod, "aliyun.com/gpu-mem") * GAUGE_UNIT_MIB;
    }
    return account_ask(pod, "nvidia.com/gpu.shared") == 0
               ? 0
               : strtoll(text_of(meta, "annotations", "sliced.dev/gpu-memory"), NULL, 10);
}

unsigned gauge_workload(const json_t *pod)
{
    return (unsigned)(strtoul(text_of(json_object_get(pod, "metadata"), "labels", "workload"), NULL,
                              10) %
                      GAUGE_WORKLOADS);
}

struct tenant *gauge_tenant(struct gauge *gauge, const char *uid)
{
    for (unsigned i = 0; i < GAUGE_TENANTS; i++) {
        if (strcmp(gauge->tenant[i].uid, uid) == 0) {
            return &gauge->tenant[i];
        }
    }
    return NULL;
}

/* Its place, or a free one, or that of one that has ended. */
static struct tenant *place_of(struct gauge *gauge, const char *uid)
{
    struct tenant *tenant = gauge_tenant(gauge, uid);
    tenant = tenant == NULL ? gauge_tenant(gauge, "") : tenant;
    for (unsigned i = 0; i < GAUGE_TENANTS && tenant == NULL; i++) {
        tenant = gauge->tenant[i].gone ? &gauge->tenant[i] : NULL;
    }
    if (tenant == NULL) {
        abort();
    }
    return tenant;
}

struct tenant *gauge_place(struct gauge *gauge, const json_t *pod)
{
    static const unsigned parts[] = {100, 200, 400, 500, 950, 1000, 1000, 2500};
    const char *uid = text_of(pod, "metadata", "uid");
    struct tenant *tenant = place_of(gauge, uid);
    struct rng rng = {strtoull(uid + strlen(uid) - 8, NULL, 10)};
    *tenant = (struct tenant){.workload = gauge_workload(pod),
                              .ask_mib = gauge_ask(gauge, pod),
                              .came_us = fake_time_world_us(),
                              .late_us = (int64_t)rng_below(&rng, 200) * second_us,
                              .part = rng_pick(&rng, parts),
                              .busy = rng_chance(&rng, 50) ? 0 : 400,
                              .late_busy = rng_chance(&rng, 50) ? 0 : 400};
    tenant->late_part = rng_chance(&rng, 60) ? tenant->part : rng_pick(&rng, parts);
    (void)snprintf(tenant->uid, sizeof(tenant->uid), "%s", uid);
    return tenant;
}

static bool is_there(const struct gauge *gauge, const char *uid)
{
    for (size_t i = 0; i < world.n[WORLD_PODS]; i++) {
        const json_t *pod = world.thing[WORLD_PODS][i].now;
        if (account_stands(pod, gauge->name) && strcmp(text_of(pod, "metadata", "uid"), uid) == 0) {
            return true;
        }
    }
    return false;
}

static void let_go(struct gauge *gauge)
{
    for (unsigned i = 0; i < GAUGE_TENANTS; i++) {
        struct tenant *tenant = &gauge->tenant[i];
        if (tenant->uid[0] != '\0' && tenant->running && !is_there(gauge, tenant->uid)) {
            tenant->running = false;
            tenant->gone = true;
        }
    }
}

static void let_in(struct rng *rng)
{
    for (size_t i = 0; i < world.n[WORLD_PODS]; i++) {
        const struct thing *thing = &world.thing[WORLD_PODS][i];
        const char *node = thing->now == NULL ? "" : text_of(thing->now, "spec", "nodeName");
        struct gauge *gauge = gauge_find(node);
        if (gauge == NULL || strcmp(text_of(thing->now, "status", "phase"), "Pending") != 0 ||
            !rng_chance(rng, 60)) {
            continue;
        }
        struct tenant *tenant = gauge_tenant(gauge, text_of(thing->now, "metadata", "uid"));
        if (tenant == NULL) {
            tenant = gauge_place(gauge, thing->now);
        }
        tenant->running = true;
        gauges_lived[gauge - gauges][tenant->workload] = true;
        kubelet_tell(thing, "Running", gauge->ahead_us);
    }
}

/* ---- samples ---- */

static struct sample measure(const struct gauge *gauge, int64_t at_us)
{
    struct sample sample = {.taken_us = at_us, .stamp_us = at_us + gauge->ahead_us};
    for (unsigned i = 0; i < GAUGE_TENANTS; i++) {
        const struct tenant *tenant = &gauge->tenant[i];
        bool late = at_us - tenant->came_us >= tenant->late_us;
        if (tenant->uid[0] != '\0' && tenant->running && at_us >= tenant->came_us) {
            unsigned part = late ? tenant->late_part : tenant->part;
            sample.used_mib += tenant->ask_mib * part / 1000 + gauge->overhead_mib;
            sample.busy += late ? tenant->late_busy : tenant->busy;
        }
    }
    sample.used_mib = sample.used_mib > GAUGE_MIB ? GAUGE_MIB : sample.used_mib;
    sample.busy = sample.busy > 1000 ? 1000 : sample.busy;
    return sample;
}

/* Those that were due since the last one. */
static void take_samples(struct rng *rng, struct gauge *gauge)
{
    int64_t now_us = fake_time_world_us();
    int64_t first_us = now_us - (GAUGE_SAMPLES - 1) * gauge->interval_us;
    int64_t at_us =
        gauge->n == 0 ? now_us - now_us % gauge->interval_us
                      : gauge->sample[(gauge->n - 1) % GAUGE_SAMPLES].taken_us + gauge->interval_us;
    first_us -= first_us % gauge->interval_us;
    for (at_us = at_us < first_us ? first_us : at_us; at_us <= now_us;
         at_us += gauge->interval_us) {
        struct sample sample = measure(gauge, at_us);
        sample.odd = rng_chance(rng, 1);
        if (at_us >= gauge->quiet_us || gauge->n == 0) {
            gauge->sample[gauge->n++ % GAUGE_SAMPLES] = sample;
        }
    }
}

void gauges_act(struct rng *rng)
{
    for (unsigned i = 0; i < GAUGES; i++) {
        if (gauges[i].name[0] != '\0') {
            take_samples(rng, &gauges[i]);
            let_go(&gauges[i]);
        }
    }
    let_in(rng);
}

/* ---- answers ---- */

/* A pod's name as the exporter says it; "": it says none. which: of several. */
static void name_pod(struct rng *rng, const struct gauge *gauge, unsigned which, char *out,
                     size_t size)
{
    unsigned n = 0;
    out[0] = '\0';
    if (gauge->names == NAMES_WRONG) {
        (void)snprintf(out, size, "u%u", rng_below(rng, 200));
    }
    for (size_t i = 0; i < world.n[WORLD_PODS] && gauge->names != NAMES_WRONG; i++) {
        const json_t *pod = world.thing[WORLD_PODS][i].now;
        if (gauge->names != NAMES_NONE && account_stands(pod, gauge->name) && n++ == which) {
            (void)snprintf(out, size, "%s", text_of(pod, "metadata", "name"));
        }
    }
}

static void put_value(const struct sample *sample, bool busy, char out[40])
{
    if (busy) {
        (void)snprintf(out, 40, "%d", sample->busy / 10);
    } else if (sample->odd && sample->used_mib % 2 == 0) {
        (void)snprintf(out, 40, "NaN");
    } else {
        (void)snprintf(out, 40, "%lld",
                       (long long)sample->used_mib * (sample->odd ? 1048576000LL : 1));
    }
}

static json_t *make_labels(const struct gauge *gauge, const char *metric, const char *pod)
{
    char uuid[32];
    (void)snprintf(uuid, sizeof(uuid), "GPU-%.15s", gauge->name);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "__name__", metric, "Hostname", gauge->name,
                     "gpu", "0", "UUID", uuid, "namespace", pod[0] == '\0' ? "" : "team-a", "pod",
                     pod);
}

static const char *const metrics[] = {"DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_GPU_UTIL"};

static void note_told(size_t i, const struct sample *sample)
{
    if (told[i].n < GAUGE_SAMPLES) {
        told[i].sample[told[i].n++] = *sample;
    }
}

static size_t first_sample(const struct gauge *gauge)
{
    return gauge->n > GAUGE_SAMPLES ? gauge->n - GAUGE_SAMPLES : 0;
}

static json_t *make_values(size_t which, bool busy, int64_t range_us)
{
    const struct gauge *gauge = &gauges[which];
    json_t *values = json_array();
    int64_t now_us = fake_time_world_us();
    for (size_t i = first_sample(gauge); i < gauge->n; i++) {
        const struct sample *sample = &gauge->sample[i % GAUGE_SAMPLES];
        char text[40];
        if (sample->stamp_us <= now_us - range_us || sample->taken_us + gauge->lag_us > now_us) {
            continue;
        }
        put_value(sample, busy, text);
        (void)json_array_append_new(values,
                                    json_pack("[f, s]", (double)sample->stamp_us / 1e6, text));
        if (!busy) {
            note_told(which, sample);
        }
    }
    return values;
}

static int64_t range_of(const char *path)
{
    const char *at = strstr(path, "%5B");
    long long seconds = at == NULL ? 0 : strtoll(at + strlen("%5B"), NULL, 10);
    return (seconds > RANGE_MAX_S ? RANGE_MAX_S : seconds) * second_us;
}

static char *answer_question(struct rng *rng, const char *path)
{
    json_t *result = json_array();
    for (size_t i = 0; i < GAUGES; i++) {
        const struct gauge *gauge = &gauges[i];
        unsigned n = gauge->names == NAMES_MANY ? 3 : 1;
        for (unsigned k = 0; k < 2 * n && gauge->name[0] != '\0'; k++) {
            char pod[32];
            name_pod(rng, gauge, k / 2, pod, sizeof(pod));
            size_t before = told[i].n;
            json_t *values = make_values(i, k % 2 == 1, range_of(path));
            told[i].n = k > 0 ? before : told[i].n; /* the same once more */
            (void)json_array_append_new(result, json_pack("{s:o, s:o}", "metric",
                                                          make_labels(gauge, metrics[k % 2], pod),
                                                          "values", values));
        }
    }
    desks_answer(result, range_of(path));
    json_t *root = json_pack("{s:s, s:{s:s, s:o}}", "status", "success", "data", "resultType",
                             "matrix", "result", result);
    char *text = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    return text;
}

/* The newest sample that can be read; the daemon takes it as of now. */
static const struct sample *newest_of(const struct gauge *gauge)
{
    for (size_t i = gauge->n; i > first_sample(gauge); i--) {
        const struct sample *sample = &gauge->sample[(i - 1) % GAUGE_SAMPLES];
        if (sample->taken_us + gauge->lag_us <= fake_time_world_us()) {
            return sample;
        }
    }
    return NULL;
}

static char *answer_page(struct rng *rng, const char *path)
{
    enum { PAGE_BYTES = 4096 };
    size_t len = 0;
    size_t i = 0;
    while (i < GAUGES && (gauges[i].name[0] == '\0' || strstr(path, gauges[i].name) == NULL)) {
        i++;
    }
    const struct sample *newest = i == GAUGES ? NULL : newest_of(&gauges[i]);
    char *text = newest == NULL ? NULL : malloc(PAGE_BYTES);
    unsigned n = text != NULL && gauges[i].names == NAMES_MANY ? 3 : 1;
    for (unsigned k = 0; k < 2 * n && text != NULL; k++) {
        char pod[32];
        char value[40];
        name_pod(rng, &gauges[i], k / 2, pod, sizeof(pod));
        put_value(newest, k % 2 == 1, value);
        len += (size_t)snprintf(text + len, PAGE_BYTES - len,
                                "%s{gpu=\"0\",UUID=\"GPU-%s\",Hostname=\"%s\",namespace=\"%s\","
                                "pod=\"%s\"} %s\n",
                                metrics[k % 2], gauges[i].name, gauges[i].name,
                                pod[0] == '\0' ? "" : "team-a", pod, value);
    }
    if (text != NULL) {
        struct sample sample = *newest; /* which is as of now, for nobody says of when it is */
        sample.stamp_us = sl_clock_real_us();
        sample.taken_us = fake_time_world_us();
        note_told(i, &sample);
    }
    return text;
}

char *gauges_answer(struct rng *rng, const char *path)
{
    for (size_t i = 0; i < GAUGES; i++) {
        told[i].n = 0;
    }
    if (path[0] == '/') {
        return answer_question(rng, path);
    }
    char *page = desks_page(path);
    return page != NULL ? page : answer_page(rng, path);
}

static struct sample *last_read(struct gauge *gauge)
{
    return gauge->n_read <= gauge->n_lost ? NULL
                                          : &gauge->read[(gauge->n_read - 1) % GAUGE_SAMPLES];
}

/* An odd one says nothing of memory, but how busy the GPU is. */
static void take(struct gauge *gauge, const struct sample *sample)
{
    struct sample *last = last_read(gauge);
    int64_t at_us = sample->stamp_us;
    if (at_us > sl_clock_real_us() + future_us || (last != NULL && at_us <= last->stamp_us)) {
        return;
    }
    if (sample->odd) {
        gauge->odd_us = gauge->odd_us == 0 ? at_us : gauge->odd_us;
        if (last != NULL) {
            last->till_us = at_us;
        }
        return;
    }
    struct sample *read = &gauge->read[gauge->n_read++ % GAUGE_SAMPLES];
    *read = *sample;
    read->read_us = fake_time_world_us();
    read->from_us = gauge->odd_us == 0 ? at_us : gauge->odd_us;
    read->till_us = at_us;
    gauge->odd_us = 0;
}

/* Of other nodes it passes over what it reads. */
static bool is_known(const struct gauge *gauge)
{
    const struct thing *node = world_find(WORLD_NODES, "", gauge->name);
    return node != NULL && node->seen != NULL;
}

void gauges_told(bool whole)
{
    desks_told(whole);
    for (size_t i = 0; i < GAUGES; i++) {
        for (size_t k = 0; k < told[i].n && whole && is_known(&gauges[i]); k++) {
            take(&gauges[i], &told[i].sample[k]);
        }
        gauges[i].unsure = told[i].n > 0 ? !whole : gauges[i].unsure;
    }
}

const struct sample *gauge_read(const struct gauge *gauge, size_t i)
{
    size_t n = gauge->n_read;
    size_t first = n > GAUGE_SAMPLES ? n - GAUGE_SAMPLES : 0;
    first = first < gauge->n_lost ? gauge->n_lost : first;
    while (n > first && gauge->read[(n - 1) % GAUGE_SAMPLES].read_us > gauges_judged_us) {
        n--;
    }
    return n > first && i < n - first ? &gauge->read[(n - 1 - i) % GAUGE_SAMPLES] : NULL;
}

void gauges_clock_set(void)
{
    desks_forget();
    gauges_clock_set_us = fake_time_world_us();
    for (unsigned i = 0; i < GAUGES; i++) {
        if (gauges[i].n_read > gauges_window) { /* those before have left its window */
            gauges[i].n_lost = gauges[i].n_read - gauges_window;
        }
        for (const struct sample *last = last_read(&gauges[i]);
             last != NULL && last->stamp_us > sl_clock_real_us() + future_us;
             last = last_read(&gauges[i])) {
            gauges[i].n_read--;
        }
    }
}

void gauges_forget(void)
{
    desks_forget();
    for (unsigned i = 0; i < GAUGES; i++) {
        gauges[i].n_read = 0;
        gauges[i].n_lost = 0;
        gauges[i].unsure = false;
    }
}
