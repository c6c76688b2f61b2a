#include "adversary/machines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adversary/account.h"
#include "adversary/checks.h"
#include "adversary/kubelet.h"
#include "adversary/world.h"
#include "util/clock.h"

#define CONFIG "nvidia.com/mig.config"
#define STATE  "nvidia.com/mig.config.state"

enum { SLICES = 8, STARTS = 7, VERSIONS = 64, RESOURCE = 64 };

const char *const profile_names[PROFILES] = {"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"};

/* NVIDIA's MIG user guide: an A100 with 40 GB. */
static const struct {
    unsigned size, most, n_starts;
    unsigned start[STARTS];
} profiles[PROFILES] = {{1, 7, 7, {0, 1, 2, 3, 4, 5, 6}},
                        {2, 3, 3, {0, 2, 4}},
                        {4, 2, 2, {0, 4}},
                        {4, 1, 1, {0}},
                        {8, 1, 1, {0}}};

struct machine machines[MACHINES];
struct machines_counts machines_counts;

/* The ConfigMap as it was, a ring. */
static struct {
    json_t *map[VERSIONS];
    int64_t at_us[VERSIONS];
    size_t n;
} file;

/* ---- the hardware ---- */

struct layout gpu_layout(const struct gpu *gpu)
{
    struct layout layout = {{0}};
    for (unsigned i = 0; i < gpu->n; i++) {
        layout.n[gpu->instance[i].profile]++;
    }
    return layout;
}

bool layout_same(const struct layout *a, const struct layout *b)
{
    return memcmp(a->n, b->n, sizeof(a->n)) == 0;
}

static unsigned slices_of(const struct gpu *gpu)
{
    unsigned slices = 0;
    for (unsigned i = 0; i < gpu->n; i++) {
        const struct instance *instance = &gpu->instance[i];
        slices |= ((1U << profiles[instance->profile].size) - 1U) << instance->start;
    }
    return slices;
}

static bool place_fits(const struct gpu *gpu, unsigned profile, unsigned start)
{
    unsigned covers = ((1U << profiles[profile].size) - 1U) << start;
    return (slices_of(gpu) & covers) == 0 && gpu->n < GPU_INSTANCES &&
           gpu_layout(gpu).n[profile] < profiles[profile].most;
}

static void place(struct gpu *gpu, unsigned profile, unsigned start)
{
    gpu->instance[gpu->n++] = (struct instance){.profile = profile, .start = start};
}

/* In the first order that the driver takes: it puts each at the last place that is free, and looks
 * no further ahead. free_choice: at any place. */
static bool create(struct gpu *gpu, struct layout *left, bool free_choice)
{
    const struct gpu before = *gpu;
    bool any = false;
    for (unsigned p = 0; p < PROFILES; p++) {
        any = any || left->n[p] > 0;
        bool tried = false;
        for (unsigned s = profiles[p].n_starts; s > 0 && left->n[p] > 0; s--) {
            if (!place_fits(gpu, p, profiles[p].start[s - 1]) || (tried && !free_choice)) {
                continue;
            }
            tried = true;
            place(gpu, p, profiles[p].start[s - 1]);
            left->n[p]--;
            if (create(gpu, left, free_choice)) {
                return true;
            }
            left->n[p]++;
            *gpu = before;
        }
    }
    return !any;
}

bool layout_fits(const struct layout *layout)
{
    struct gpu gpu = {.n = 0};
    struct layout left = *layout;
    return create(&gpu, &left, true);
}

/* ---- the node ---- */

struct machine *machine_find(const char *name)
{
    for (unsigned i = 0; i < MACHINES; i++) {
        if (machines[i].name[0] != '\0' && strcmp(machines[i].name, name) == 0) {
            return &machines[i];
        }
    }
    return NULL;
}

static const char *text_of(const json_t *object, const char *part, const char *key)
{
    const char *text = json_string_value(json_object_get(json_object_get(object, part), key));
    return text == NULL ? "" : text;
}

static const char *label_of(const json_t *node, const char *key)
{
    return text_of(json_object_get(node, "metadata"), "labels", key);
}

static void resource_of(unsigned profile, char out[RESOURCE])
{
    (void)snprintf(out, RESOURCE, "nvidia.com/mig-%s", profile_names[profile]);
}

/* The kubelet tells what the device plugin does: nothing is left of a resource when it is away. */
static void set_allocatable(const struct machine *machine, json_t *node)
{
    json_t *status = json_object_get(node, "status");
    json_t *lists[] = {json_object_get(status, "allocatable"), json_object_get(status, "capacity")};
    for (unsigned p = 0; p < PROFILES; p++) {
        unsigned n = 0;
        char name[RESOURCE];
        char text[16];
        resource_of(p, name);
        for (unsigned g = 0; g < machine->n_gpus && machine->plugin; g++) {
            n += gpu_layout(&machine->gpu[g]).n[p];
        }
        (void)snprintf(text, sizeof(text), "%u", n);
        for (unsigned i = 0; i < 2; i++) {
            (void)json_object_set_new(lists[i], name, json_string(text));
        }
    }
}

static void tell(const struct machine *machine, const char *state)
{
    struct thing *thing = world_find(WORLD_NODES, "", machine->name);
    json_t *node = world_edit(thing);
    set_allocatable(machine, node);
    if (state != NULL) {
        json_t *labels = json_object_get(json_object_get(node, "metadata"), "labels");
        (void)json_object_set_new(labels, STATE, json_string(state));
    }
    world_put(WORLD_NODES, node);
}

/* "sliced.dev/devices", as an admin may write it. */
static json_t *devices_of(const struct machine *machine)
{
    json_t *list = json_array();
    for (unsigned g = 0; g < machine->n_gpus; g++) {
        json_t *instances = json_array();
        for (unsigned i = 0; i < machine->gpu[g].n; i++) {
            const char *profile = profile_names[machine->gpu[g].instance[i].profile];
            (void)json_array_append_new(instances, json_pack("{s:s}", "profile", profile));
        }
        (void)json_array_append_new(
            list, json_pack("{s:i, s:b, s:o}", "index", (int)g, "mig", 1, "instances", instances));
    }
    char *text = json_dumps(list, JSON_COMPACT);
    json_t *value = json_string(text);
    free(text);
    json_decref(list);
    return value;
}

static json_t *make_node(struct rng *rng, const struct machine *machine)
{
    char count[8];
    (void)snprintf(count, sizeof(count), "%u", machine->n_gpus);
    json_t *node = json_pack(
        "{s:{s:s, s:s, s:{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}, s:{}}, s:{}, s:{s:{s:s, s:s, "
        "s:s, s:s}, s:{s:s, s:s, s:s, s:s}}}",
        "metadata", "name", machine->name, "uid", machine->name, "labels", "kubernetes.io/hostname",
        machine->name, "nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB", "nvidia.com/gpu.count",
        count, "nvidia.com/gpu.memory", "40960", "nvidia.com/mig.strategy", "mixed",
        "sliced.dev/partitioning", "dynamic", CONFIG, "all-balanced", STATE, "success",
        "annotations", "spec", "status", "allocatable", "cpu", "64", "memory", "512Gi", "pods",
        "110", "nvidia.com/gpu", "0", "capacity", "cpu", "64", "memory", "512Gi", "pods", "110",
        "nvidia.com/gpu", "0");
    if (rng_chance(rng, 60)) {
        (void)json_object_set_new(json_object_get(json_object_get(node, "metadata"), "annotations"),
                                  "sliced.dev/devices", devices_of(machine));
    }
    set_allocatable(machine, node);
    return node;
}

void machine_add(struct rng *rng, struct machine *machine)
{
    static const struct layout cuts[] = {{{7, 0, 0, 0, 0}}, {{0, 0, 2, 0, 0}}, {{0, 0, 0, 0, 1}},
                                         {{1, 1, 0, 1, 0}}, {{1, 3, 0, 0, 0}}, {{2, 1, 1, 0, 0}},
                                         {{0, 0, 0, 0, 0}}};
    static const int64_t lags[] = {0, 1000000, 1000000, 20000000, 65000000};
    static const int64_t apart[] = {0, -2000000, 2000000, -1300000, 700000, 90000000, -3700000000};
    const unsigned number = (unsigned)(machine - machines);
    *machine = (struct machine){.n_gpus = 1 + rng_below(rng, MACHINE_GPUS),
                                .ahead_us = rng_pick(rng, apart),
                                .lag_us = rng_pick(rng, lags),
                                .cut_us = 1000000 + (int64_t)rng_below(rng, 20) * 1000000,
                                .back_us = (int64_t)rng_below(rng, 5) * 1000000,
                                .label = "all-balanced",
                                .plugin = true};
    (void)snprintf(machine->name, sizeof(machine->name), "m%u", number);
    struct layout same = rng_pick(rng, cuts);
    for (unsigned g = 0; g < machine->n_gpus; g++) {
        struct layout layout = rng_chance(rng, 50) ? same : rng_pick(rng, cuts);
        (void)create(&machine->gpu[g], &layout, false);
    }
    world_put(WORLD_NODES, make_node(rng, machine));
}

/* ---- the kubelet ---- */

static struct instance *find_free(struct rng *rng, struct machine *machine, unsigned profile)
{
    struct instance *found = NULL;
    unsigned n = 0;
    for (unsigned g = 0; g < machine->n_gpus; g++) {
        for (unsigned i = 0; i < machine->gpu[g].n; i++) {
            struct instance *instance = &machine->gpu[g].instance[i];
            if (instance->profile == profile && instance->pod[0] == '\0' &&
                rng_below(rng, ++n) == 0) {
                found = instance;
            }
        }
    }
    return found;
}

static void release(struct machine *machine, const char *uid)
{
    for (unsigned g = 0; g < machine->n_gpus; g++) {
        for (unsigned i = 0; i < machine->gpu[g].n; i++) {
            if (strcmp(machine->gpu[g].instance[i].pod, uid) == 0) {
                machine->gpu[g].instance[i].pod[0] = '\0';
            }
        }
    }
}

/* False: it lacks an instance. */
static bool take(struct rng *rng, struct machine *machine, const json_t *pod)
{
    for (unsigned p = 0; p < PROFILES; p++) {
        char resource[RESOURCE];
        resource_of(p, resource);
        for (int64_t n = account_ask(pod, resource); n > 0; n--) {
            struct instance *instance =
                machine->plugin && n <= GPU_INSTANCES ? find_free(rng, machine, p) : NULL;
            if (instance == NULL) {
                release(machine, text_of(pod, "metadata", "uid"));
                return false;
            }
            (void)snprintf(instance->pod, sizeof(instance->pod), "%s",
                           text_of(pod, "metadata", "uid"));
        }
    }
    return true;
}

static void admit(struct rng *rng, struct machine *machine, const struct thing *thing)
{
    bool there = take(rng, machine, thing->now);
    machines_counts.rejected += there ? 0 : 1;
    kubelet_tell(thing, there ? "Running" : "Failed", machine->ahead_us);
}

static void let_in(struct rng *rng)
{
    for (size_t i = 0; i < world.n[WORLD_PODS]; i++) {
        const struct thing *thing = &world.thing[WORLD_PODS][i];
        const char *node = thing->now == NULL ? "" : text_of(thing->now, "spec", "nodeName");
        struct machine *machine = machine_find(node);
        if (machine != NULL && strcmp(text_of(thing->now, "status", "phase"), "Pending") == 0 &&
            rng_chance(rng, 60)) {
            admit(rng, machine, thing);
        }
    }
}

static bool still_there(const struct machine *machine, const char *uid)
{
    for (size_t i = 0; i < world.n[WORLD_PODS]; i++) {
        const json_t *pod = world.thing[WORLD_PODS][i].now;
        if (account_stands(pod, machine->name) &&
            strcmp(text_of(pod, "metadata", "uid"), uid) == 0) {
            return true;
        }
    }
    return false;
}

static void let_go(struct machine *machine)
{
    for (unsigned g = 0; g < machine->n_gpus; g++) {
        for (unsigned i = 0; i < machine->gpu[g].n; i++) {
            char *pod = machine->gpu[g].instance[i].pod;
            if (pod[0] != '\0' && !still_there(machine, pod)) {
                pod[0] = '\0';
            }
        }
    }
}

/* ---- the file ---- */

const json_t *machines_file(void)
{
    return file.n == 0 ? NULL : file.map[(file.n - 1) % VERSIONS];
}

void machines_put_file(json_t *config_map)
{
    json_decref(file.map[file.n % VERSIONS]);
    file.at_us[file.n % VERSIONS] = sl_clock_monotonic_us();
    file.map[file.n++ % VERSIONS] = config_map;
}

/* As it has arrived there. */
static const json_t *file_at(const struct machine *machine)
{
    int64_t until_us = sl_clock_monotonic_us() - machine->lag_us;
    for (size_t i = file.n; i > 0 && i + VERSIONS > file.n; i--) {
        if (file.at_us[(i - 1) % VERSIONS] <= until_us) {
            return file.map[(i - 1) % VERSIONS];
        }
    }
    return NULL;
}

/* "{devices: [0], mig-enabled: true, mig-devices: {"3g.20gb": 2}}" */
static const char *read_group(const char *at, struct order *out)
{
    unsigned long gpu = 0;
    char *end = NULL;
    at = strstr(at, "devices: [");
    if (at == NULL) {
        return NULL;
    }
    gpu = strtoul(at + strlen("devices: ["), &end, 10);
    at = strstr(end, "mig-devices: {");
    const char *close = at == NULL ? NULL : strchr(at, '}');
    if (close == NULL || gpu >= MACHINE_GPUS) {
        return NULL;
    }
    out->named[gpu] = true;
    for (unsigned p = 0; p < PROFILES; p++) {
        char key[RESOURCE];
        (void)snprintf(key, sizeof(key), "\"%s\": ", profile_names[p]);
        const char *count = strstr(at, key);
        if (count != NULL && count < close) {
            out->layout[gpu].n[p] = (unsigned)strtoul(count + strlen(key), NULL, 10);
        }
    }
    return close;
}

bool machines_entry(const json_t *config_map, const char *name, struct order *out)
{
    char head[160];
    const char *text = text_of(config_map, "data", "config.yaml");
    (void)snprintf(head, sizeof(head), "\n  %s: [", name);
    const char *at = strstr(text, head);
    *out = (struct order){.named = {false}};
    if (at == NULL) {
        return false;
    }
    const char *end = strchr(at + 1, '\n');
    while (at != NULL && (end == NULL || at < end)) {
        const char *next = strstr(at, "devices: [");
        at = next == NULL || (end != NULL && next > end) ? NULL : read_group(at, out);
    }
    return true;
}

/* ---- the mig-manager ---- */

static bool is_applied(const struct machine *machine, const struct order *order)
{
    for (unsigned g = 0; g < machine->n_gpus; g++) {
        struct layout is = gpu_layout(&machine->gpu[g]);
        if (order->named[g] && !layout_same(&is, &order->layout[g])) {
            return false;
        }
    }
    return true;
}

/* The free ones go first; one in use makes the walk fail, unless nothing runs in its pod just now.
 */
static bool destroy_all(struct rng *rng, struct gpu *gpu)
{
    struct gpu left = {.n = 0};
    for (unsigned i = 0; i < gpu->n; i++) {
        if (gpu->instance[i].pod[0] != '\0' && rng_chance(rng, 50)) {
            left.instance[left.n++] = gpu->instance[i];
        }
    }
    *gpu = left;
    return left.n == 0;
}

static bool apply(struct rng *rng, struct machine *machine)
{
    const struct order *order = &machine->order;
    for (unsigned g = 0; g < machine->n_gpus; g++) {
        struct gpu *gpu = &machine->gpu[g];
        struct layout is = gpu_layout(gpu);
        struct layout left = order->layout[g];
        if (!order->named[g] || layout_same(&is, &order->layout[g])) {
            continue;
        }
        if (!destroy_all(rng, gpu) || machine->mishap == MISHAP_HALF ||
            !create(gpu, &left, false)) {
            return false;
        }
    }
    return true;
}

/* An order that has ended is carried out no more, whenever the mig-manager starts. One of which it
 * lied may seem done. */
static void check_under_way(const struct machine *machine, const char *label)
{
    const struct thing *thing = world_find(WORLD_NODES, "", machine->name);
    const json_t *meta = json_object_get(thing->now, "metadata");
    if (!machine->lied && strncmp(label, "sliced-", strlen("sliced-")) == 0 &&
        text_of(meta, "annotations", "sliced.dev/cut")[0] == '\0') {
        check_failed("%s carries out %s, which is not under way", machine->name, label);
    }
}

static void begin_cut(struct machine *machine, const char *label)
{
    struct order *order = &machine->order;
    enum mishap mishap = machine->mishap;
    machine->lied = mishap == MISHAP_LIES || (machine->lied && strcmp(machine->label, label) == 0);
    (void)snprintf(machine->label, sizeof(machine->label), "%s", label);
    if (mishap == MISHAP_SILENT) {
        machine->mishap = MISHAP_NONE;
        return;
    }
    if (!machines_entry(file_at(machine), label, order)) {
        machines_counts.early++;
        tell(machine, "failed");
    } else if (is_applied(machine, order) || mishap == MISHAP_LIES) {
        machine->mishap = MISHAP_NONE;
        tell(machine, "success");
    } else {
        check_under_way(machine, label);
        machine->plugin = false;
        machine->at = mishap == MISHAP_WEDGED ? AGENT_HANGS : AGENT_CUTS;
        machine->due_us = sl_clock_monotonic_us() + machine->cut_us;
        tell(machine, "pending");
    }
}

static void end_cut(struct rng *rng, struct machine *machine)
{
    bool good = machine->mishap != MISHAP_FAILS && apply(rng, machine);
    tell(machine, good ? "success" : "failed");
    machine->at = machine->mishap == MISHAP_LATE ? AGENT_RESTS : AGENT_ENDS;
    machine->mishap = MISHAP_NONE;
    machine->due_us = sl_clock_monotonic_us() + machine->back_us;
}

static void act(struct rng *rng, struct machine *machine)
{
    const struct thing *thing = world_find(WORLD_NODES, "", machine->name);
    if (thing == NULL) {
        machine->name[0] = '\0';
        return;
    }
    let_go(machine);
    bool due = sl_clock_monotonic_us() >= machine->due_us;
    const char *label = label_of(thing->now, CONFIG);
    if (machine->at == AGENT_CUTS && due) {
        end_cut(rng, machine);
    } else if (machine->at == AGENT_ENDS && due) {
        machine->plugin = true;
        machine->at = AGENT_RESTS;
        tell(machine, NULL);
    } else if ((machine->at == AGENT_RESTS || machine->at == AGENT_HANGS) &&
               (strcmp(label, machine->label) != 0 || rng_chance(rng, 1))) { /* or it starts anew */
        machine->at = AGENT_RESTS;
        begin_cut(machine, label);
    }
}

void machines_act(struct rng *rng)
{
    for (unsigned i = 0; i < MACHINES; i++) {
        if (machines[i].name[0] != '\0') {
            act(rng, &machines[i]);
        }
    }
    let_in(rng);
}

void machines_heal(void)
{
    for (unsigned i = 0; i < MACHINES; i++) {
        struct machine *machine = &machines[i];
        machine->mishap = MISHAP_NONE;
        if (machine->name[0] != '\0' && !machine->plugin && machine->at == AGENT_RESTS) {
            machine->plugin = true;
            tell(machine, NULL);
        }
    }
}

void machines_begin(void)
{
    memset(machines, 0, sizeof(machines));
    machines_counts = (struct machines_counts){0};
    memset(&file, 0, sizeof(file));
}

void machines_end(void)
{
    for (size_t i = 0; i < VERSIONS; i++) {
        json_decref(file.map[i]);
    }
    memset(&file, 0, sizeof(file));
}
