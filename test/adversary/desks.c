#include "adversary/desks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adversary/account.h"
#include "adversary/checks.h"
#include "adversary/fake_time.h"
#include "adversary/kubelet.h"
#include "adversary/verbs.h"
#include "util/clock.h"

enum {
    DESKS = 2,
    GPUS = 2,
    SHARERS = 4,
    SITTERS = GPUS * SHARERS,
    STEP_S = 10,
    PAGE_BYTES = 1 << 16
};

static const int64_t second_us = 1000000;

struct sitter {
    char name[24]; /* "": the place is free */
    char uid[48];
    unsigned gpu;
    bool works;
    int64_t came_us;
};

struct desk {
    char name[16]; /* "": there is none */
    bool shared;
    bool old;    /* the exporter's labels are pod_name and pod_namespace */
    bool target; /* Prometheus knows the exporter's own pod by these names, too */
    enum { EACH, ONE, NOBODY } names;
    /* INVENTS: tells of GPUs that it has not; POSES: as if it were another's, where it is asked */
    enum { HONEST, INVENTS, POSES } lies;
    struct rng rng;  /* of what it makes up */
    int64_t told_us; /* when its last answer was told */
    unsigned n_told; /* how many of the last ones, to their ends, of a node that is known */
    bool telling;    /* it is in the answer that is under way */
    struct sitter sitter[SITTERS];
};

static struct desk desks[DESKS];
static unsigned born;

void desks_begin(void)
{
    memset(desks, 0, sizeof(desks));
}

static struct desk *desk_of(struct rng *rng)
{
    return &desks[rng_below(rng, DESKS)];
}

void desk_add(struct rng *rng)
{
    struct desk *desk = desk_of(rng);
    if (desk->name[0] != '\0') {
        return;
    }
    static const unsigned names[] = {EACH, ONE, ONE, ONE, NOBODY};
    static const unsigned lies[] = {HONEST, HONEST, INVENTS, INVENTS, POSES};
    bool shared = rng_chance(rng, 70);
    *desk = (struct desk){.shared = shared,
                          .old = rng_chance(rng, 30),
                          .target = rng_chance(rng, 60),
                          .names = rng_pick(rng, names),
                          .lies = rng_pick(rng, lies),
                          .rng = {rng_next(rng)}};
    (void)snprintf(desk->name, sizeof(desk->name), "desk%u", (unsigned)(desk - desks));
    const char *count = shared ? "8" : "2";
    world_put(
        WORLD_NODES,
        json_pack(
            "{s:{s:s, s:s, s:{s:s, s:s, s:s, s:s, s:s, s:s}}, s:{}, s:{s:[{s:s, s:s}], s:{s:s, "
            "s:s, s:s, s:s}, s:{s:s, s:s, s:s, s:s}}}",
            "metadata", "name", desk->name, "uid", desk->name, "labels", "kubernetes.io/hostname",
            desk->name, "nvidia.com/gpu.product", shared ? "Tesla-T4-SHARED" : "Tesla-T4",
            "nvidia.com/gpu.count", "2", "nvidia.com/gpu.memory", "15360",
            "nvidia.com/gpu.replicas", shared ? "4" : "1", "nvidia.com/gpu.sharing-strategy",
            shared ? "time-slicing" : "none", "spec", "status", "addresses", "type", "InternalIP",
            "address", "10.0.0.9", "allocatable", "cpu", "64", "memory", "512Gi", "pods", "110",
            "nvidia.com/gpu", count, "capacity", "cpu", "64", "memory", "512Gi", "pods", "110",
            "nvidia.com/gpu", count));
}

static struct thing *thing_of(const struct sitter *sitter)
{
    struct thing *thing =
        sitter->name[0] == '\0' ? NULL : world_find(WORLD_PODS, "team-a", sitter->name);
    const char *uid =
        thing == NULL || thing->now == NULL
            ? ""
            : json_string_value(json_object_get(json_object_get(thing->now, "metadata"), "uid"));
    return uid != NULL && strcmp(uid, sitter->uid) == 0 ? thing : NULL;
}

/* Those that have ended make room. */
static void let_go(struct desk *desk)
{
    for (unsigned i = 0; i < SITTERS; i++) {
        const struct thing *thing = thing_of(&desk->sitter[i]);
        if (thing == NULL || !account_stands(thing->now, desk->name)) {
            desk->sitter[i] = (struct sitter){.name = ""};
        }
    }
}

void desk_lose(struct rng *rng)
{
    struct desk *desk = desk_of(rng);
    struct thing *node = desk->name[0] == '\0' ? NULL : world_find(WORLD_NODES, "", desk->name);
    for (unsigned i = 0; i < SITTERS && node != NULL; i++) {
        struct thing *thing = thing_of(&desk->sitter[i]);
        if (thing != NULL) {
            world_delete(WORLD_PODS, thing);
        }
    }
    if (node != NULL) {
        world_delete(WORLD_NODES, node);
    }
    *desk = (struct desk){.name = ""};
}

/* A label that says somebody else's name, or a namespace. */
static void put_lie(struct rng *rng, const struct desk *desk, json_t *labels)
{
    static const char *const keys[] = {
        "exported_pod", "exported.pod",      "exported-exported/pod", "pod",
        "pod-name",     "exported_pod_name", "exported_namespace",    "pod_namespace"};
    const char *key = rng_pick(rng, keys);
    const struct sitter *other = &desk->sitter[rng_below(rng, SITTERS)];
    for (unsigned i = 0; i < SITTERS && other->name[0] == '\0'; i++) {
        other = &desk->sitter[i];
    }
    const char *value = strstr(key, "namespace") != NULL ? "team-a"
                        : other->name[0] != '\0'         ? other->name
                                                         : "nobody";
    (void)json_object_set_new(labels, key, json_string(value));
}

static json_t *make_lies(struct rng *rng, const struct desk *desk)
{
    json_t *labels = json_pack("{s:s}", "app", "x");
    for (unsigned n = rng_chance(rng, 50) ? 0 : 1 + rng_below(rng, 4); n > 0; n--) {
        put_lie(rng, desk, labels);
    }
    return labels;
}

void desk_relabel(struct rng *rng)
{
    struct desk *desk = desk_of(rng);
    struct thing *thing = thing_of(&desk->sitter[rng_below(rng, SITTERS)]);
    if (thing != NULL) {
        json_t *pod = world_edit(thing);
        (void)json_object_set_new(json_object_get(pod, "metadata"), "labels", make_lies(rng, desk));
        world_put(WORLD_PODS, pod);
    }
}

/* The kubelet gives it whichever GPU has room. */
static bool take_seat(struct rng *rng, struct desk *desk, struct sitter **out)
{
    unsigned used[GPUS] = {0};
    unsigned most = desk->shared ? SHARERS : 1;
    *out = NULL;
    for (unsigned i = 0; i < SITTERS; i++) {
        struct sitter *sitter = &desk->sitter[i];
        used[sitter->gpu] += sitter->name[0] != '\0';
        *out = sitter->name[0] == '\0' ? sitter : *out;
    }
    unsigned gpu = rng_below(rng, GPUS);
    gpu = used[gpu] < most ? gpu : 1 - gpu;
    if (*out == NULL || used[gpu] >= most) {
        return false;
    }
    (*out)->gpu = gpu;
    return true;
}

void desk_sit(struct rng *rng)
{
    struct desk *desk = desk_of(rng);
    struct sitter *sitter = NULL;
    let_go(desk);
    if (desk->name[0] == '\0' || !take_seat(rng, desk, &sitter)) {
        return;
    }
    unsigned number = ++born;
    (void)snprintf(sitter->name, sizeof(sitter->name), "v%u", number % 300);
    (void)snprintf(sitter->uid, sizeof(sitter->uid), "11111111-0000-4000-a000-%012u", number);
    /* or both would be busy; who speaks for others says nothing right of its own */
    sitter->works = rng_chance(rng, sitter->gpu == 0 ? 60 : 5) && desk->lies != POSES;
    sitter->came_us = fake_time_world_us();
    moves_put_few(json_pack("{s:{s:s, s:s, s:s, s:s, s:o}, s:{s:s, s:i, s:[{s:s, s:s, s:{s:{s:s}, "
                            "s:{s:s}}}]}, s:{s:s}}",
                            "metadata", "name", sitter->name, "namespace", "team-a", "uid",
                            sitter->uid, "creationTimestamp", "2026-09-21T14:13:20Z", "labels",
                            make_lies(rng, desk), "spec", "schedulerName", "default-scheduler",
                            "activeDeadlineSeconds", 86400, "containers", "name", "c", "image", "i",
                            "resources", "limits", "nvidia.com/gpu", "1", "requests",
                            "nvidia.com/gpu", "1", "status", "phase", "Pending"),
                  false, desk->name);
    struct thing *thing = thing_of(sitter);
    if (thing != NULL) {
        kubelet_tell(thing, "Running", 0);
    } else {
        *sitter = (struct sitter){.name = ""};
    }
}

bool desk_works(const char *uid)
{
    bool works = false;
    for (unsigned i = 0; i < DESKS * SITTERS; i++) {
        const struct sitter *sitter = &desks[i / SITTERS].sitter[i % SITTERS];
        works = works || (sitter->works && strcmp(sitter->uid, uid) == 0);
    }
    return works;
}

bool desk_works_by_name(const char *name)
{
    bool works = false;
    for (unsigned i = 0; i < DESKS * SITTERS; i++) {
        const struct sitter *sitter = &desks[i / SITTERS].sitter[i % SITTERS];
        works =
            works || (sitter->works && thing_of(sitter) != NULL && strcmp(sitter->name, name) == 0);
    }
    return works;
}

/* ---- what the exporter tells ---- */

struct pair {
    char key[64], value[64];
};

/* The labels of one series in the order of its page. */
struct labels {
    struct pair pair[24];
    unsigned n;
};

static void add(struct labels *labels, const char *key, const char *value)
{
    if (labels->n < sizeof(labels->pair) / sizeof(labels->pair[0])) {
        struct pair *pair = &labels->pair[labels->n++];
        (void)snprintf(pair->key, sizeof(pair->key), "%s", key);
        (void)snprintf(pair->value, sizeof(pair->value), "%s", value);
    }
}

/* As dcgm-exporter does: the pod's labels, and then what it says itself. */
static void add_pod(const struct desk *desk, const struct sitter *sitter, struct labels *labels)
{
    const struct thing *thing = thing_of(sitter);
    const char *key = NULL;
    json_t *value = NULL;
    json_t *own =
        thing == NULL ? NULL : json_object_get(json_object_get(thing->now, "metadata"), "labels");
    json_object_foreach(own, key, value)
    {
        add(labels, key, json_string_value(value));
        for (char *c = labels->pair[labels->n - 1].key; *c != '\0'; c++) {
            *c = *c == '-' || *c == '.' || *c == '/' ? '_' : *c;
        }
    }
    add(labels, desk->old ? "container_name" : "container", "c");
    add(labels, desk->old ? "pod_namespace" : "namespace", "team-a");
    add(labels, desk->old ? "pod_name" : "pod", sitter->name);
}

static struct labels labels_of(const struct desk *desk, unsigned gpu, const struct sitter *sitter)
{
    struct labels labels = {.n = 0};
    char text[32];
    (void)snprintf(text, sizeof(text), "%u", gpu);
    add(&labels, "gpu", text);
    (void)snprintf(text, sizeof(text), "GPU-%s-%u", desk->name, gpu);
    add(&labels, "UUID", text);
    add(&labels, "Hostname", desk->name);
    if (sitter != NULL) {
        add_pod(desk, sitter, &labels);
    }
    return labels;
}

/* Finds the next pod that the exporter names on the GPU; there may be several. False: no more. */
static bool next_named(const struct desk *desk, unsigned gpu, unsigned *at,
                       const struct sitter **out)
{
    const struct sitter *on[SITTERS];
    unsigned n = 0;
    for (unsigned i = 0; i < SITTERS; i++) {
        if (desk->sitter[i].name[0] != '\0' && desk->sitter[i].gpu == gpu) {
            on[n++] = &desk->sitter[i];
        }
    }
    unsigned i = (*at)++;
    *out = n == 0 || desk->names == NOBODY ? NULL
           : desk->names == ONE            ? on[n - 1]
                                           : on[i < n ? i : 0];
    return i == 0 || (desk->names == EACH && i < n);
}

static bool is_busy(const struct desk *desk, unsigned gpu, int64_t at_us)
{
    bool busy = false;
    for (unsigned i = 0; i < SITTERS; i++) {
        const struct sitter *sitter = &desk->sitter[i];
        busy = busy || (sitter->name[0] != '\0' && sitter->gpu == gpu && sitter->works &&
                        at_us >= sitter->came_us);
    }
    return busy;
}

/* Prometheus' own names for its target come first; what the exporter says gets others. */
static json_t *scraped(const struct desk *desk, const struct labels *labels)
{
    json_t *metric = json_object();
    for (unsigned i = 0; i < labels->n; i++) {
        (void)json_object_set_new(metric, labels->pair[i].key, json_string(labels->pair[i].value));
    }
    static const char *const own[][2] = {{"pod", "dcgm-exporter-x"}, {"namespace", "gpus"}};
    for (unsigned i = 0; i < 2 && desk->target; i++) {
        json_t *before = json_incref(json_object_get(metric, own[i][0]));
        char key[80];
        (void)snprintf(key, sizeof(key), "%s", own[i][0]);
        (void)json_object_set_new(metric, own[i][0], json_string(own[i][1]));
        while (before != NULL && json_object_get(metric, key) != NULL) {
            char longer[80];
            (void)snprintf(longer, sizeof(longer), "exported_%.60s", key);
            memcpy(key, longer, sizeof(key));
        }
        if (before != NULL) {
            (void)json_object_set_new(metric, key, before);
        }
    }
    return metric;
}

static void add_series(const struct desk *desk, unsigned gpu, const struct labels *labels,
                       int64_t range_us, int64_t ahead_us, json_t *result)
{
    int64_t now_us = fake_time_world_us();
    for (unsigned busy = 0; busy < 2; busy++) {
        json_t *metric = scraped(desk, labels);
        json_t *values = json_array();
        int64_t at_us = now_us - range_us;
        at_us -= at_us % (STEP_S * second_us);
        for (; at_us <= now_us; at_us += STEP_S * second_us) {
            const char *value = busy == 0 ? "500" : is_busy(desk, gpu, at_us) ? "90" : "0";
            (void)json_array_append_new(
                values, json_pack("[f, s]", (double)(at_us + ahead_us) / 1e6, value));
        }
        (void)json_object_set_new(
            metric, "__name__",
            json_string(busy == 0 ? "DCGM_FI_DEV_FB_USED" : "DCGM_FI_DEV_GPU_UTIL"));
        (void)json_array_append_new(result,
                                    json_pack("{s:o, s:o}", "metric", metric, "values", values));
    }
}

/* ---- what it makes up ---- */

/* By how much the clock of a series is ahead. */
static int64_t apart(struct rng *rng)
{
    static const int64_t apart_s[] = {0, 0, 2, -2, 60, -60, 3600, -3600};
    return rng_pick(rng, apart_s) * second_us;
}

/* A series of a GPU that the node has not, which may name a pod of another node; or (poses) of a
 * GPU of another node, where that pod would sit idle. */
static struct labels make_up(struct desk *desk, bool poses)
{
    static const char *const gpus[] = {"2", "3", "17", "63", "64", "100000", "-1", ""};
    static const char *const others[] = {"t0", "t1", "t2", "nowhere"};
    struct rng *rng = &desk->rng;
    const struct desk *other = &desks[(desk - desks + 1) % DESKS];
    const struct sitter *sitter = &other->sitter[rng_below(rng, SITTERS)];
    const char *name =
        other->name[0] == '\0' || rng_chance(rng, 40) ? rng_pick(rng, others) : other->name;
    const char *gpu =
        poses ? rng_pick(rng, ((const char *const[]){"0", "1"})) : rng_pick(rng, gpus);
    struct labels labels = {.n = 0};
    char uuid[64];
    (void)snprintf(uuid, sizeof(uuid), "GPU-%s-%s", poses ? name : "none", gpu);
    add(&labels, "gpu", gpu);
    add(&labels, "UUID", uuid);
    add(&labels, "Hostname", poses ? name : desk->name);
    if (rng_chance(rng, 30)) {
        add(&labels, "GPU_I_ID", gpu);
        add(&labels, "GPU_I_PROFILE", "1g.5gb");
    }
    if (sitter->name[0] != '\0' && rng_chance(rng, 60)) {
        add(&labels, "namespace", "team-a");
        add(&labels, "pod", sitter->name);
    }
    return labels;
}

static void invent(struct desk *desk, int64_t range_us, json_t *result)
{
    for (unsigned n = desk->lies == INVENTS ? rng_below(&desk->rng, 4) : 0; n > 0; n--) {
        struct labels labels = make_up(desk, false);
        add_series(desk, GPUS, &labels, range_us, apart(&desk->rng), result);
    }
}

static bool is_known(const struct desk *desk)
{
    const struct thing *node = world_find(WORLD_NODES, "", desk->name);
    return node != NULL && node->seen != NULL;
}

void desks_told(bool whole)
{
    for (unsigned i = 0; i < DESKS; i++) {
        if (desks[i].telling) {
            desks[i].told_us = fake_time_world_us();
            desks[i].n_told = whole && is_known(&desks[i]) ? desks[i].n_told + 1 : 0;
        }
        desks[i].telling = false;
    }
}

void desks_forget(void)
{
    for (unsigned i = 0; i < DESKS; i++) {
        desks[i].n_told = 0;
    }
}

void desks_answer(json_t *result, int64_t range_us)
{
    for (unsigned i = 0; i < DESKS * GPUS; i++) {
        struct desk *desk = &desks[i / GPUS];
        const struct sitter *sitter = NULL;
        unsigned at = 0;
        let_go(desk);
        desk->telling = desk->name[0] != '\0';
        invent(desk, range_us, result);
        while (desk->telling && next_named(desk, i % GPUS, &at, &sitter)) {
            struct labels labels = labels_of(desk, i % GPUS, sitter);
            add_series(desk, i % GPUS, &labels, range_us, 0, result);
        }
        invent(desk, range_us, result);
    }
}

static size_t put_lines(const struct labels *labels, bool busy, int64_t ahead_us, char *out,
                        size_t size)
{
    size_t len = 0;
    for (unsigned metric = 0; metric < 2; metric++) {
        len += (size_t)snprintf(out + len, size - len, "%s{",
                                metric == 0 ? "DCGM_FI_DEV_FB_USED" : "DCGM_FI_DEV_GPU_UTIL");
        for (unsigned i = 0; i < labels->n; i++) {
            len += (size_t)snprintf(out + len, size - len, "%s%s=\"%s\"", i == 0 ? "" : ",",
                                    labels->pair[i].key, labels->pair[i].value);
        }
        len += (size_t)snprintf(out + len, size - len, "} %s",
                                metric == 0 ? "500"
                                : busy      ? "90"
                                            : "0");
        if (ahead_us != 0) {
            long long at_ms = (fake_time_world_us() + ahead_us) / 1000;
            len += (size_t)snprintf(out + len, size - len, " %lld", at_ms);
        }
        len += (size_t)snprintf(out + len, size - len, "\n");
    }
    return len;
}

enum { SERIES_BYTES = 2 * 24 * 140 };

static size_t put_lies(struct desk *desk, char *out, size_t size)
{
    size_t len = 0;
    unsigned n = desk->lies == HONEST ? 0 : rng_below(&desk->rng, 4);
    for (; n > 0 && len + SERIES_BYTES < size; n--) {
        struct labels labels = make_up(desk, desk->lies == POSES);
        len += put_lines(&labels, false, apart(&desk->rng), out + len, size - len);
    }
    return len;
}

char *desks_page(const char *path)
{
    for (unsigned d = 0; d < DESKS; d++) {
        desks[d].telling = false; /* an answer that was lost was never told */
    }
    for (unsigned d = 0; d < DESKS; d++) {
        struct desk *desk = &desks[d];
        char *text = NULL;
        size_t len = 0;
        let_go(desk);
        if (desk->name[0] == '\0' || strstr(path, desk->name) == NULL) {
            continue;
        }
        text = calloc(1, PAGE_BYTES);
        desk->telling = text != NULL;
        len += text == NULL ? 0 : put_lies(desk, text, PAGE_BYTES);
        for (unsigned gpu = 0; gpu < GPUS && text != NULL; gpu++) {
            const struct sitter *sitter = NULL;
            unsigned at = 0;
            while (len + SERIES_BYTES < PAGE_BYTES && next_named(desk, gpu, &at, &sitter)) {
                struct labels labels = labels_of(desk, gpu, sitter);
                len += put_lines(&labels, is_busy(desk, gpu, fake_time_world_us()), 0, text + len,
                                 PAGE_BYTES - len);
            }
        }
        (void)(text == NULL ? 0 : put_lies(desk, text + len, PAGE_BYTES - len));
        return text;
    }
    return NULL;
}

/* ---- what is known of it ---- */

void desks_check(const json_t *items)
{
    enum { SURE = 3 }; /* the first may have been passed over, for the node was news */
    /* else all that it hears is too old, or of a time to come, and holds no place */
    bool right = llabs(sl_clock_real_us() - fake_time_world_us()) < 3 * second_us;
    for (unsigned i = 0; i < DESKS; i++) {
        unsigned real = 0;
        unsigned all = 0;
        size_t k = 0;
        const json_t *item = NULL;
        json_array_foreach(items, k, item)
        {
            const char *node = json_string_value(json_object_get(item, "node"));
            json_int_t gpu = json_integer_value(json_object_get(item, "gpu"));
            bool here =
                node != NULL && desks[i].name[0] != '\0' && strcmp(node, desks[i].name) == 0;
            all += here;
            real += here && gpu >= 0 && gpu < GPUS;
        }
        bool fresh = is_known(&desks[i]) && right && desks[i].n_told >= SURE &&
                     desks[i].told_us > fake_time_world_us() - 60 * second_us;
        if (all > GPUS || (fresh && real < GPUS)) {
            check_failed("%s tells of its %u GPUs: %u are known, %u of them its own", desks[i].name,
                         (unsigned)GPUS, all, real);
        }
    }
}
