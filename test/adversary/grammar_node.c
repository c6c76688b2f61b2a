/* Nodes. Whoever writes them is trusted more, but not to be consistent. The label adversary/places
 * tells the account that no two pods may be given the same place there, or how many units of memory
 * each GPU has; adversary/plain that what is free there follows from what stands there. */
#include <stdio.h>
#include <string.h>

#include "adversary/grammar.h"

static json_t *label_set(json_t *node)
{
    return json_object_get(json_object_get(node, "metadata"), "labels");
}

static void label(json_t *node, const char *key, const char *value)
{
    (void)json_object_set_new(label_set(node), key, json_string(value));
}

static void amount(json_t *node, const char *resource, unsigned n)
{
    char text[16];
    json_t *status = json_object_get(node, "status");
    (void)snprintf(text, sizeof(text), "%u", n);
    (void)json_object_set_new(json_object_get(status, "allocatable"), resource, json_string(text));
    (void)json_object_set_new(json_object_get(status, "capacity"), resource, json_string(text));
}

static void whole(struct rng *rng, json_t *node)
{
    unsigned n = 1 + rng_below(rng, 8);
    char count[16];
    (void)snprintf(count, sizeof(count), "%u", n);
    label(node, "nvidia.com/gpu.product", "Tesla-T4");
    label(node, "nvidia.com/gpu.count", count);
    label(node, "nvidia.com/gpu.memory", "15360");
    label(node, "nvidia.com/gpu.replicas", "1");
    label(node, "adversary/places", "1");
    amount(node, "nvidia.com/gpu", n);
}

static void mixed(struct rng *rng, json_t *node)
{
    static const char devices[] =
        "[{\"index\":0,\"instances\":[{\"profile\":\"3g.20gb\",\"start\":0},{\"profile\":\"2g.10gb"
        "\",\"start\":4},{\"profile\":\"1g.5gb\",\"start\":6}]},{\"index\":1,\"instances\":[{"
        "\"profile\":\"1g.5gb\",\"start\":0},{\"profile\":\"1g.5gb\",\"start\":1},{\"profile\":"
        "\"1g.5gb\",\"start\":2},{\"profile\":\"3g.20gb\",\"start\":4}]}]";
    label(node, "nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB");
    label(node, "nvidia.com/gpu.count", "2");
    label(node, "nvidia.com/gpu.memory", "40960");
    label(node, "nvidia.com/mig.strategy", "mixed");
    label(node, "adversary/places", "1");
    amount(node, "nvidia.com/gpu", 0);
    amount(node, "nvidia.com/mig-1g.5gb", 4);
    amount(node, "nvidia.com/mig-2g.10gb", 1);
    amount(node, "nvidia.com/mig-3g.20gb", 2);
    if (rng_chance(rng, 70)) {
        (void)json_object_set_new(json_object_get(json_object_get(node, "metadata"), "annotations"),
                                  "sliced.dev/devices", json_string(devices));
    }
}

static void shared(struct rng *rng, json_t *node)
{
    label(node, "nvidia.com/gpu.product", "Tesla-T4");
    label(node, "nvidia.com/gpu.count", "2");
    label(node, "nvidia.com/gpu.memory", "15360");
    label(node, "nvidia.com/gpu.replicas", "4");
    label(node, "nvidia.com/gpu.sharing-strategy", rng_chance(rng, 50) ? "mps" : "time-slicing");
    amount(node, rng_chance(rng, 50) ? "nvidia.com/gpu.shared" : "nvidia.com/gpu", 8);
}

static void memory(struct rng *rng, json_t *node)
{
    unsigned n = 1 + rng_below(rng, 4);
    if (rng_chance(rng, 60)) {
        label(node, "nvidia.com/gpu.product", "Tesla-T4");
        label(node, "nvidia.com/gpu.memory", "16384");
    }
    label(node, "adversary/units", "16");
    amount(node, "aliyun.com/gpu-mem", 16 * n);
    amount(node, "aliyun.com/gpu-count", n);
    if (rng_chance(rng, 30)) {
        label(node, "sliced.dev/gpushare-several-gpus", "true");
    }
}

static void slices(struct rng *rng, json_t *node)
{
    json_t *notes = json_object_get(json_object_get(node, "metadata"), "annotations");
    label(node, "nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB");
    label(node, "nvidia.com/gpu.memory", "40960");
    label(node, "nos.nebuly.com/gpu-partitioning", "mps");
    label(node, "adversary/units", "3");
    amount(node, "nvidia.com/gpu-10gb", 6);
    if (rng_chance(rng, 70)) {
        (void)json_object_set_new(notes, "nos.nebuly.com/status-gpu-0-10gb-free", json_string("3"));
        (void)json_object_set_new(notes, "nos.nebuly.com/status-gpu-1-10gb-used", json_string("1"));
        (void)json_object_set_new(notes, "nos.nebuly.com/status-gpu-1-10gb-free", json_string("2"));
    }
}

json_t *grammar_node(struct rng *rng, unsigned number)
{
    static void (*const kinds[])(struct rng * rng, json_t * node) = {whole,  whole,  mixed, shared,
                                                                     memory, memory, slices};
    char name[32];
    (void)snprintf(name, sizeof(name), "n%u", number);
    json_t *node = json_pack(
        "{s:{s:s, s:s, s:{s:s, s:s}, s:{}}, s:{}, s:{s:{s:s, s:s, s:s}, s:{s:s, s:s, s:s}}}",
        "metadata", "name", name, "uid", name, "labels", "kubernetes.io/hostname", name, "zone",
        rng_chance(rng, 50) ? "a" : "b", "annotations", "spec", "status", "allocatable", "cpu",
        "64", "memory", "512Gi", "pods", "110", "capacity", "cpu", "64", "memory", "512Gi", "pods",
        "110");
    rng_pick(rng, kinds)(rng, node);
    label(node, "adversary/plain", "true");
    return node;
}

/* What the account knows of places does not hold any more. */
static void make_odd(json_t *node)
{
    (void)json_object_del(label_set(node), "adversary/places");
    (void)json_object_del(label_set(node), "adversary/units");
    (void)json_object_del(label_set(node), "adversary/plain");
}

static void cordon(struct rng *rng, json_t *node)
{
    (void)json_object_set_new(json_object_get(node, "spec"), "unschedulable",
                              json_boolean(rng_chance(rng, 50)));
}

static void taint(struct rng *rng, json_t *node)
{
    json_t *taints = json_array();
    unsigned n = rng_below(rng, 4);
    for (unsigned i = 0; i < n; i++) {
        (void)json_array_append_new(taints, json_pack("{s:s, s:o, s:s}", "key", "gpu", "value",
                                                      grammar_text(rng), "effect", "NoSchedule"));
    }
    (void)json_object_set_new(json_object_get(node, "spec"), "taints", taints);
}

static void change_amount(struct rng *rng, json_t *node)
{
    char resource[GRAMMAR_NAME];
    json_t *allocatable = json_object_get(json_object_get(node, "status"), "allocatable");
    const char *name =
        rng_chance(rng, 80) ? grammar_real_resource(rng) : grammar_resource(rng, resource);
    make_odd(node);
    if (rng_chance(rng, 20)) {
        (void)json_object_del(allocatable, name);
    } else {
        (void)json_object_set_new(allocatable, name, grammar_quantity(rng));
    }
}

static void change_label(struct rng *rng, json_t *node)
{
    static const char *const keys[] = {"nvidia.com/gpu.product",
                                       "nvidia.com/gpu.count",
                                       "nvidia.com/gpu.memory",
                                       "nvidia.com/gpu.replicas",
                                       "nvidia.com/mig.strategy",
                                       "zone",
                                       "nvidia.com/mig.config",
                                       "sliced.dev/partitioning",
                                       "nos.nebuly.com/gpu-partitioning",
                                       "nvidia.com/gpu.present",
                                       "nvidia.com/mig-1g.5gb.count",
                                       "nvidia.com/gpu.sharing-strategy",
                                       "cloud.google.com/gke-accelerator",
                                       "cloud.google.com/gke-max-shared-clients-per-gpu",
                                       "cloud.google.com/gke-gpu-partition-size",
                                       "k8s.amazonaws.com/accelerator"};
    static const char *const values[] = {"Tesla-T4",
                                         "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb",
                                         "single",
                                         "mixed",
                                         "2",
                                         "8",
                                         "4",
                                         "mig",
                                         "dynamic",
                                         "all-balanced",
                                         "true",
                                         "24146608128",
                                         "nvidia-tesla-t4",
                                         "1g.5gb"};
    make_odd(node);
    (void)json_object_set_new(label_set(node), rng_pick(rng, keys),
                              rng_chance(rng, 80) ? json_string(rng_pick(rng, values))
                                                  : grammar_text(rng));
}

static void change_devices(struct rng *rng, json_t *node)
{
    static const char *const texts[] = {
        "[]",
        "[{}]",
        "[{\"index\":0,\"healthy\":false},{\"index\":1}]",
        "{",
        "[[[[[[[[",
        "[{\"index\":63,\"memory\":\"1Ei\"}]",
        "[{\"index\":0,\"instances\":[{\"profile\":\"1g.5gb\",\"start\":127}]}]"};
    json_t *annotations = json_object_get(json_object_get(node, "metadata"), "annotations");
    make_odd(node);
    if (rng_chance(rng, 30)) {
        (void)json_object_del(annotations, "sliced.dev/devices");
    } else if (rng_chance(rng, 70)) {
        (void)json_object_set_new(annotations, "sliced.dev/devices",
                                  rng_chance(rng, 80) ? json_string(rng_pick(rng, texts))
                                                      : grammar_text(rng));
    } else {
        (void)json_object_set_new(annotations, "nos.nebuly.com/status-gpu-0-1g.5gb-free",
                                  grammar_quantity(rng));
    }
}

void grammar_touch_node(struct rng *rng, json_t *node)
{
    static void (*const changes[])(struct rng * rng, json_t * node) = {
        cordon, cordon, taint, change_amount, change_label, change_devices};
    rng_pick(rng, changes)(rng, node);
}
