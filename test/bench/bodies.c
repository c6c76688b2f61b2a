/* Bodies and manifests for the benchmarks. */
#include "bodies.h"

#include <stdio.h>

struct label {
    const char *key;
    const char *value;
};

/* What GPU feature discovery 0.17 puts on a node with MIG strategy "mixed", and the cluster's own.
 */
static const struct label labels[] = {
    {"beta.kubernetes.io/arch", "amd64"},
    {"beta.kubernetes.io/os", "linux"},
    {"kubernetes.io/arch", "amd64"},
    {"kubernetes.io/os", "linux"},
    {"node.kubernetes.io/instance-type", "gpu.a100.8x"},
    {"topology.kubernetes.io/region", "region-1"},
    {"topology.kubernetes.io/zone", "region-1a"},
    {"nvidia.com/cuda.driver-version.full", "570.124.06"},
    {"nvidia.com/cuda.driver-version.major", "570"},
    {"nvidia.com/cuda.driver-version.minor", "124"},
    {"nvidia.com/cuda.runtime-version.full", "12.8"},
    {"nvidia.com/cuda.runtime-version.major", "12"},
    {"nvidia.com/cuda.runtime-version.minor", "8"},
    {"nvidia.com/gfd.timestamp", "1763728689"},
    {"nvidia.com/gpu.compute.major", "8"},
    {"nvidia.com/gpu.compute.minor", "0"},
    {"nvidia.com/gpu.count", "8"},
    {"nvidia.com/gpu.deploy.container-toolkit", "true"},
    {"nvidia.com/gpu.deploy.dcgm-exporter", "true"},
    {"nvidia.com/gpu.deploy.device-plugin", "true"},
    {"nvidia.com/gpu.deploy.driver", "true"},
    {"nvidia.com/gpu.deploy.mig-manager", "true"},
    {"nvidia.com/gpu.family", "ampere"},
    {"nvidia.com/gpu.machine", "AS-4124GO-NART"},
    {"nvidia.com/gpu.memory", "40960"},
    {"nvidia.com/gpu.mode", "compute"},
    {"nvidia.com/gpu.present", "true"},
    {"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB"},
    {"nvidia.com/gpu.replicas", "0"},
    {"nvidia.com/gpu.sharing-strategy", "none"},
    {"nvidia.com/mig.capable", "true"},
    {"nvidia.com/mig.config", "all-balanced"},
    {"nvidia.com/mig.config.state", "success"},
    {"nvidia.com/mig.strategy", "mixed"},
    {"nvidia.com/mps.capable", "false"},
};

struct profile {
    const char *name;
    const char *product;
    const char *count; /* per node: 2, 1 and 1 on each of 8 GPUs */
    const char *memory;
    const char *slices;
};

static const struct profile profiles[] = {
    {"1g.5gb", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "16", "4864", "1"},
    {"2g.10gb", "NVIDIA-A100-SXM4-40GB-MIG-2g.10gb", "8", "9856", "2"},
    {"3g.20gb", "NVIDIA-A100-SXM4-40GB-MIG-3g.20gb", "8", "19968", "3"},
};

static const char *const profile_labels[] = {"product",         "count",           "replicas",
                                             "memory",          "slices.gi",       "slices.ci",
                                             "multiprocessors", "sharing-strategy"};

static const char *const conditions[][3] = {
    {"NetworkUnavailable", "FlannelIsUp", "Flannel is running on this node"},
    {"MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"},
    {"DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
    {"PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
    {"Ready", "KubeletReady", "kubelet is posting ready status"},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { IMAGES = 50 };

static const char created[] = "2026-11-21T12:38:09Z";

static void field(struct sl_writer *w, const char *key, const char *value)
{
    sl_write_key(w, key);
    sl_write_text(w, value);
}

static void open_field(struct sl_writer *w, const char *key)
{
    sl_write_key(w, key);
    sl_write_object(w);
}

static void open_list(struct sl_writer *w, const char *key)
{
    sl_write_key(w, key);
    sl_write_array(w);
}

/* "f:key":{} as in managedFields */
static void mark(struct sl_writer *w, const char *key)
{
    char text[160];
    (void)snprintf(text, sizeof(text), "f:%s", key);
    sl_write_key(w, text);
    sl_write_object(w);
    sl_write_object_end(w);
}

static void uid(struct sl_writer *w, const char *key, unsigned kind, size_t i)
{
    char text[40];
    (void)snprintf(text, sizeof(text), "%08zx-%04x-4b1d-8f00-%012zx", i * 2654435761U % 0xffffffffU,
                   kind, i);
    field(w, key, text);
}

void bench_node_name(size_t i, char out[BENCH_NAME_MAX])
{
    (void)snprintf(out, BENCH_NAME_MAX, "gpu-pool-a-node-%05zu.cluster", i);
}

static void profile_label(size_t profile, size_t label, char key[96], const char **value)
{
    const struct profile *p = &profiles[profile];
    const char *const values[] = {p->product, p->count,  "1",  p->memory,
                                  p->slices,  p->slices, "14", "none"};
    (void)snprintf(key, 96, "nvidia.com/mig-%s.%s", p->name, profile_labels[label]);
    *value = values[label];
}

static void write_labels(struct sl_writer *w, const char *name)
{
    char key[96];
    const char *value = NULL;
    open_field(w, "labels");
    for (size_t i = 0; i < COUNT(labels); i++) {
        field(w, labels[i].key, labels[i].value);
    }
    field(w, "kubernetes.io/hostname", name);
    for (size_t i = 0; i < COUNT(profiles) * COUNT(profile_labels); i++) {
        profile_label(i / COUNT(profile_labels), i % COUNT(profile_labels), key, &value);
        field(w, key, value);
    }
    sl_write_object_end(w);
}

static void open_manager(struct sl_writer *w, const char *manager, const char *subresource)
{
    sl_write_object(w);
    field(w, "manager", manager);
    field(w, "operation", "Update");
    field(w, "apiVersion", "v1");
    field(w, "time", created);
    field(w, "fieldsType", "FieldsV1");
    open_field(w, "fieldsV1");
    if (subresource != NULL) {
        open_field(w, subresource);
    }
}

static void close_manager(struct sl_writer *w, const char *subresource)
{
    if (subresource != NULL) {
        sl_write_object_end(w);
    }
    sl_write_object_end(w);
    if (subresource != NULL && strcmp(subresource, "f:status") == 0) {
        field(w, "subresource", "status");
    }
    sl_write_object_end(w);
}

static void write_managed_labels(struct sl_writer *w)
{
    char key[96];
    const char *value = NULL;
    open_manager(w, "nfd-master", "f:metadata");
    open_field(w, "f:annotations");
    mark(w, "nfd.node.kubernetes.io/feature-labels");
    sl_write_object_end(w);
    open_field(w, "f:labels");
    for (size_t i = 0; i < COUNT(labels); i++) {
        mark(w, labels[i].key);
    }
    for (size_t i = 0; i < COUNT(profiles) * COUNT(profile_labels); i++) {
        profile_label(i / COUNT(profile_labels), i % COUNT(profile_labels), key, &value);
        mark(w, key);
    }
    sl_write_object_end(w);
    close_manager(w, "f:metadata");
}

static void write_managed_status(struct sl_writer *w)
{
    open_manager(w, "kubelet", "f:status");
    open_field(w, "f:allocatable");
    mark(w, "nvidia.com/gpu");
    for (size_t i = 0; i < COUNT(profiles); i++) {
        mark(w, profiles[i].name);
    }
    sl_write_object_end(w);
    open_field(w, "f:conditions");
    for (size_t i = 0; i < COUNT(conditions); i++) {
        char key[64];
        (void)snprintf(key, sizeof(key), "k:{\"type\":\"%s\"}", conditions[i][0]);
        sl_write_key(w, key);
        sl_write_object(w);
        mark(w, "lastHeartbeatTime");
        mark(w, "lastTransitionTime");
        mark(w, "message");
        sl_write_object_end(w);
    }
    sl_write_object_end(w);
    mark(w, "images");
    close_manager(w, "f:status");
}

static void write_metadata(struct sl_writer *w, size_t i, const char *name)
{
    open_field(w, "metadata");
    field(w, "name", name);
    uid(w, "uid", 1, i);
    field(w, "resourceVersion", "48211907");
    field(w, "creationTimestamp", created);
    write_labels(w, name);
    open_field(w, "annotations");
    field(w, "csi.volume.kubernetes.io/nodeid", "{\"csi.example.com\":\"i-0a1b2c3d4e5f60718\"}");
    field(w, "node.alpha.kubernetes.io/ttl", "0");
    field(w, "volumes.kubernetes.io/controller-managed-attach-detach", "true");
    sl_write_object_end(w);
    open_list(w, "managedFields");
    write_managed_labels(w);
    write_managed_status(w);
    sl_write_array_end(w);
    sl_write_object_end(w);
}

static void write_amounts(struct sl_writer *w, const char *key)
{
    char resource[64];
    open_field(w, key);
    field(w, "cpu", "127610m");
    field(w, "ephemeral-storage", "1700158304Ki");
    field(w, "hugepages-1Gi", "0");
    field(w, "memory", "2113448368Ki");
    field(w, "nvidia.com/gpu", "0");
    for (size_t i = 0; i < COUNT(profiles); i++) {
        (void)snprintf(resource, sizeof(resource), "nvidia.com/mig-%s", profiles[i].name);
        field(w, resource, profiles[i].count);
    }
    field(w, "pods", "110");
    sl_write_object_end(w);
}

static void write_images(struct sl_writer *w, size_t node)
{
    char text[160];
    open_list(w, "images");
    for (size_t i = 0; i < IMAGES; i++) {
        unsigned long long digest = (i + 1) * 0x9e3779b97f4a7c15ULL + node;
        sl_write_object(w);
        open_list(w, "names");
        (void)snprintf(text, sizeof(text),
                       "registry.example.com/ml/app-%02zu@sha256:%016llx%016llx%016llx%016llx", i,
                       digest, digest * 3, digest * 5, digest * 7);
        sl_write_text(w, text);
        (void)snprintf(text, sizeof(text), "registry.example.com/ml/app-%02zu:v1.%zu", i, i * 7);
        sl_write_text(w, text);
        sl_write_array_end(w);
        sl_write_key(w, "sizeBytes");
        sl_write_i64(w, (int64_t)(1000000 + digest % 8000000000ULL));
        sl_write_object_end(w);
    }
    sl_write_array_end(w);
}

static void write_conditions(struct sl_writer *w)
{
    open_list(w, "conditions");
    for (size_t i = 0; i < COUNT(conditions); i++) {
        sl_write_object(w);
        field(w, "type", conditions[i][0]);
        field(w, "status", i + 1 == COUNT(conditions) ? "True" : "False");
        field(w, "lastHeartbeatTime", created);
        field(w, "lastTransitionTime", created);
        field(w, "reason", conditions[i][1]);
        field(w, "message", conditions[i][2]);
        sl_write_object_end(w);
    }
    sl_write_array_end(w);
}

static void write_status(struct sl_writer *w, size_t i, const char *name)
{
    open_field(w, "status");
    write_amounts(w, "capacity");
    write_amounts(w, "allocatable");
    write_conditions(w);
    open_list(w, "addresses");
    sl_write_object(w);
    field(w, "type", "Hostname");
    field(w, "address", name);
    sl_write_object_end(w);
    sl_write_array_end(w);
    open_field(w, "nodeInfo");
    uid(w, "machineID", 2, i);
    uid(w, "bootID", 3, i);
    field(w, "kernelVersion", "6.8.0-60-generic");
    field(w, "osImage", "Ubuntu 24.04.2 LTS");
    field(w, "containerRuntimeVersion", "containerd://1.7.27");
    field(w, "kubeletVersion", "v1.33.1");
    sl_write_object_end(w);
    write_images(w, i);
    sl_write_object_end(w);
}

static void write_node(struct sl_writer *w, size_t i, bool with_kind)
{
    char name[BENCH_NAME_MAX];
    char id[96];
    bench_node_name(i, name);
    sl_write_object(w);
    if (with_kind) {
        field(w, "apiVersion", "v1");
        field(w, "kind", "Node");
    }
    write_metadata(w, i, name);
    open_field(w, "spec");
    field(w, "podCIDR", "10.42.7.0/24");
    (void)snprintf(id, sizeof(id), "example:///region-1a/i-%016zx", i);
    field(w, "providerID", id);
    sl_write_object_end(w);
    write_status(w, i, name);
    sl_write_object_end(w);
}

/* ---- pods ---- */

static void write_container(struct sl_writer *w, const char *resource)
{
    open_list(w, "containers");
    sl_write_object(w);
    field(w, "name", "main");
    field(w, "image", "registry.example.com/ml/app-07:v1.49");
    open_list(w, "command");
    sl_write_text(w, "python");
    sl_write_text(w, "-m");
    sl_write_text(w, "train");
    sl_write_array_end(w);
    open_field(w, "resources");
    const char *const parts[] = {"limits", "requests"};
    for (size_t i = 0; i < COUNT(parts); i++) {
        open_field(w, parts[i]);
        field(w, "cpu", "4");
        field(w, "memory", "16Gi");
        if (resource != NULL) {
            field(w, resource, "1");
        }
        sl_write_object_end(w);
    }
    sl_write_object_end(w);
    field(w, "terminationMessagePath", "/dev/termination-log");
    field(w, "imagePullPolicy", "IfNotPresent");
    sl_write_object_end(w);
    sl_write_array_end(w);
}

/* node: NULL for a pod that is not bound */
static void write_pod(struct sl_writer *w, size_t i, const char *node, const char *resource)
{
    char name[BENCH_NAME_MAX];
    (void)snprintf(name, sizeof(name), "train-%06zu-x7k2p", i);
    sl_write_object(w);
    field(w, "apiVersion", "v1");
    field(w, "kind", "Pod");
    open_field(w, "metadata");
    field(w, "name", name);
    field(w, "namespace", "team-a");
    uid(w, "uid", 4, i);
    field(w, "creationTimestamp", created);
    open_field(w, "labels");
    field(w, "app.kubernetes.io/name", "train");
    field(w, "batch.kubernetes.io/job-name", name);
    sl_write_object_end(w);
    open_list(w, "managedFields");
    open_manager(w, "kube-controller-manager", "f:spec");
    mark(w, "containers");
    mark(w, "restartPolicy");
    mark(w, "schedulerName");
    close_manager(w, "f:spec");
    sl_write_array_end(w);
    sl_write_object_end(w);
    open_field(w, "spec");
    write_container(w, resource);
    field(w, "restartPolicy", "Never");
    field(w, "schedulerName", "default-scheduler");
    sl_write_key(w, "priority");
    sl_write_i64(w, 0);
    if (node != NULL) {
        field(w, "nodeName", node);
    }
    sl_write_object_end(w);
    open_field(w, "status");
    field(w, "phase", node == NULL ? "Pending" : "Running");
    field(w, "startTime", created);
    sl_write_object_end(w);
    sl_write_object_end(w);
}

/* ---- whole texts ---- */

static void open_args(struct sl_writer *w)
{
    sl_write_object(w);
    sl_write_key(w, "Pod");
    write_pod(w, 999999, NULL, "nvidia.com/mig-1g.5gb");
}

void bench_body_names(struct sl_buf *out, size_t n)
{
    struct sl_writer w = {.buf = out};
    char name[BENCH_NAME_MAX];
    open_args(&w);
    sl_write_key(&w, "Nodes");
    sl_write_null(&w);
    open_list(&w, "NodeNames");
    for (size_t i = 0; i < n; i++) {
        bench_node_name(i, name);
        sl_write_text(&w, name);
    }
    sl_write_array_end(&w);
    sl_write_object_end(&w);
}

void bench_body_nodes(struct sl_buf *out, size_t n)
{
    struct sl_writer w = {.buf = out};
    open_args(&w);
    open_field(&w, "Nodes");
    open_field(&w, "metadata");
    sl_write_object_end(&w);
    open_list(&w, "items");
    for (size_t i = 0; i < n; i++) {
        write_node(&w, i, false);
    }
    sl_write_array_end(&w);
    sl_write_object_end(&w);
    sl_write_key(&w, "NodeNames");
    sl_write_null(&w);
    sl_write_object_end(&w);
}

static void open_manifest(struct sl_writer *w)
{
    sl_write_object(w);
    field(w, "apiVersion", "v1");
    field(w, "kind", "List");
    open_list(w, "items");
}

static void close_manifest(struct sl_writer *w)
{
    sl_write_array_end(w);
    sl_write_object_end(w);
}

void bench_manifest_nodes(struct sl_buf *out, size_t first, size_t n)
{
    struct sl_writer w = {.buf = out};
    open_manifest(&w);
    for (size_t i = first; i < first + n; i++) {
        write_node(&w, i, true);
    }
    close_manifest(&w);
}

void bench_manifest_pods(struct sl_buf *out, size_t first, size_t n)
{
    struct sl_writer w = {.buf = out};
    char node[BENCH_NAME_MAX];
    open_manifest(&w);
    for (size_t i = first; i < first + n; i++) {
        bench_node_name(i / BENCH_PODS_PER_NODE, node);
        write_pod(&w, i, node, i % 2 == 0 ? "nvidia.com/mig-1g.5gb" : NULL);
    }
    close_manifest(&w);
}
