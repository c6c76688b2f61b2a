/* The table of names that nodes and pods share; see known.h. */
#include "core/request/known.h"

#include "util/data/search.h"

/* Sorted by length, then bytes: labels of Kubernetes, cloud providers, node feature discovery and
 * NVIDIA's GPU feature discovery and operator, their common values, and taints of the node
 * lifecycle. */
static const char *const known[] = {
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "6",
    "7",
    "8",
    "9",
    "04",
    "10",
    "16",
    "20",
    "22",
    "24",
    "AMD",
    "none",
    "spot",
    "true",
    "20.04",
    "22.04",
    "24.04",
    "Intel",
    "amd64",
    "arm64",
    "false",
    "linux",
    "mixed",
    "volta",
    "ampere",
    "hopper",
    "single",
    "turing",
    "ubuntu",
    "compute",
    "success",
    "Tesla-T4",
    "NVIDIA-L4",
    "blackwell",
    "on-demand",
    "NVIDIA-A10",
    "NVIDIA-A30",
    "NVIDIA-A10G",
    "NVIDIA-H200",
    "NVIDIA-L40S",
    "ada-lovelace",
    "all-disabled",
    "upgrade-done",
    "pre-installed",
    "nvidia.com/gpu",
    "NVIDIA-H100-PCIe",
    "kubernetes.io/os",
    "aliyun.com/gpu-mem",
    "kubernetes.io/arch",
    "nvidia.com/gpu.mode",
    "Tesla-V100-SXM2-16GB",
    "Tesla-V100-SXM2-32GB",
    "nvidia.com/gpu.count",
    "NVIDIA-A100-80GB-PCIe",
    "NVIDIA-A100-PCIE-40GB",
    "NVIDIA-A100-SXM4-40GB",
    "NVIDIA-A100-SXM4-80GB",
    "NVIDIA-H100-80GB-HBM3",
    "beta.kubernetes.io/os",
    "nvidia.com/gpu.family",
    "nvidia.com/gpu.memory",
    "nvidia.com/mig.config",
    "app.kubernetes.io/name",
    "kubernetes.io/hostname",
    "nvidia.com/gpu.machine",
    "nvidia.com/gpu.present",
    "nvidia.com/gpu.product",
    "nvidia.com/mig.capable",
    "nvidia.com/mps.capable",
    "beta.kubernetes.io/arch",
    "nvidia.com/gpu.replicas",
    "nvidia.com/mig.strategy",
    "nvidia.com/vgpu.present",
    "sliced.dev/partitioning",
    "nvidia.com/gfd.timestamp",
    "kubernetes.azure.com/mode",
    "app.kubernetes.io/instance",
    "nvidia.com/cuda.driver.rev",
    "nvidia.com/gpu.deploy.dcgm",
    "app.kubernetes.io/component",
    "eks.amazonaws.com/nodegroup",
    "node-role.kubernetes.io/gpu",
    "nvidia.com/mig.config.state",
    "topology.kubernetes.io/zone",
    "app.kubernetes.io/managed-by",
    "node.kubernetes.io/not-ready",
    "nvidia.com/cuda.driver.major",
    "nvidia.com/cuda.driver.minor",
    "nvidia.com/gpu.compute.major",
    "nvidia.com/gpu.compute.minor",
    "nvidia.com/gpu.deploy.driver",
    "cloud.google.com/gke-nodepool",
    "nvidia.com/cuda.runtime.major",
    "nvidia.com/cuda.runtime.minor",
    "topology.kubernetes.io/region",
    "cloud.google.com/gke-boot-disk",
    "eks.amazonaws.com/capacityType",
    "kubernetes.azure.com/agentpool",
    "node-role.kubernetes.io/master",
    "node-role.kubernetes.io/worker",
    "node.kubernetes.io/unreachable",
    "cloud.google.com/machine-family",
    "node.kubernetes.io/pid-pressure",
    "nos.nebuly.com/gpu-partitioning",
    "nvidia.com/gpu.sharing-strategy",
    "beta.kubernetes.io/instance-type",
    "cloud.google.com/gke-accelerator",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/instance-type",
    "node.kubernetes.io/unschedulable",
    "eks.amazonaws.com/nodegroup-image",
    "nvidia.com/gpu.deploy.mig-manager",
    "node.kubernetes.io/memory-pressure",
    "nvidia.com/cuda.driver-version.full",
    "nvidia.com/gpu-driver-upgrade-state",
    "nvidia.com/gpu.deploy.dcgm-exporter",
    "nvidia.com/gpu.deploy.device-plugin",
    "cloud.google.com/gke-os-distribution",
    "nvidia.com/cuda.driver-version.major",
    "nvidia.com/cuda.driver-version.minor",
    "nvidia.com/cuda.runtime-version.full",
    "node-role.kubernetes.io/control-plane",
    "nvidia.com/cuda.runtime-version.major",
    "nvidia.com/cuda.runtime-version.minor",
    "cloud.google.com/gke-accelerator-count",
    "cloud.google.com/gke-container-runtime",
    "failure-domain.beta.kubernetes.io/zone",
    "feature.node.kubernetes.io/memory-numa",
    "node.kubernetes.io/network-unavailable",
    "feature.node.kubernetes.io/cpu-model.id",
    "feature.node.kubernetes.io/rdma.capable",
    "nvidia.com/cuda.driver-version.revision",
    "nvidia.com/gpu.deploy.container-toolkit",
    "failure-domain.beta.kubernetes.io/region",
    "feature.node.kubernetes.io/cpu-cpuid.ADX",
    "feature.node.kubernetes.io/cpu-cpuid.AVX",
    "feature.node.kubernetes.io/cpu-cpuid.SHA",
    "feature.node.kubernetes.io/cpu-cpuid.SVM",
    "feature.node.kubernetes.io/cpu-cpuid.VMX",
    "feature.node.kubernetes.io/cpu-cpuid.X87",
    "nvidia.com/gpu.deploy.operator-validator",
    "feature.node.kubernetes.io/cpu-cpuid.AVX2",
    "feature.node.kubernetes.io/cpu-cpuid.FMA3",
    "feature.node.kubernetes.io/cpu-cpuid.FXSR",
    "feature.node.kubernetes.io/cpu-cpuid.GFNI",
    "feature.node.kubernetes.io/cpu-cpuid.IBPB",
    "feature.node.kubernetes.io/cpu-cpuid.LAHF",
    "feature.node.kubernetes.io/cpu-cpuid.SSE4",
    "feature.node.kubernetes.io/cpu-cpuid.VAES",
    "feature.node.kubernetes.io/rdma.available",
    "feature.node.kubernetes.io/cpu-cpuid.AESNI",
    "feature.node.kubernetes.io/cpu-cpuid.CETSS",
    "feature.node.kubernetes.io/cpu-cpuid.MOVBE",
    "feature.node.kubernetes.io/cpu-cpuid.SSE42",
    "feature.node.kubernetes.io/cpu-cpuid.SSE4A",
    "feature.node.kubernetes.io/cpu-cpuid.STIBP",
    "feature.node.kubernetes.io/cpu-cpuid.SYSEE",
    "feature.node.kubernetes.io/cpu-cpuid.XSAVE",
    "nvidia.com/gpu.deploy.node-status-exporter",
    "feature.node.kubernetes.io/cpu-cpuid.CETIBT",
    "feature.node.kubernetes.io/cpu-cpuid.XSAVEC",
    "feature.node.kubernetes.io/cpu-cpuid.XSAVES",
    "feature.node.kubernetes.io/cpu-model.family",
    "feature.node.kubernetes.io/pci-10de.present",
    "feature.node.kubernetes.io/pci-15b3.present",
    "nvidia.com/gpu.deploy.gpu-feature-discovery",
    "feature.node.kubernetes.io/cpu-cpuid.AMXBF16",
    "feature.node.kubernetes.io/cpu-cpuid.AMXINT8",
    "feature.node.kubernetes.io/cpu-cpuid.AMXTILE",
    "feature.node.kubernetes.io/cpu-cpuid.AVX512F",
    "feature.node.kubernetes.io/cpu-cpuid.AVXVNNI",
    "feature.node.kubernetes.io/cpu-cpuid.FXSROPT",
    "feature.node.kubernetes.io/cpu-cpuid.MOVDIRI",
    "feature.node.kubernetes.io/cpu-cpuid.OSXSAVE",
    "feature.node.kubernetes.io/cpu-cpuid.SYSCALL",
    "feature.node.kubernetes.io/cpu-cpuid.XGETBV1",
    "feature.node.kubernetes.io/cpu-cpuid.AVX512BW",
    "feature.node.kubernetes.io/cpu-cpuid.AVX512CD",
    "feature.node.kubernetes.io/cpu-cpuid.AVX512DQ",
    "feature.node.kubernetes.io/cpu-cpuid.AVX512VL",
    "feature.node.kubernetes.io/cpu-cpuid.CLDEMOTE",
    "feature.node.kubernetes.io/cpu-cpuid.CMPXCHG8",
    "feature.node.kubernetes.io/cpu-cpuid.WBNOINVD",
    "feature.node.kubernetes.io/cpu-cpuid.XSAVEOPT",
    "feature.node.kubernetes.io/cpu-cpuid.MOVDIR64B",
    "feature.node.kubernetes.io/cpu-model.vendor_id",
    "feature.node.kubernetes.io/kernel-config.NO_HZ",
    "feature.node.kubernetes.io/kernel-version.full",
    "node.cloudprovider.kubernetes.io/uninitialized",
    "feature.node.kubernetes.io/cpu-cpuid.AVX512BF16",
    "feature.node.kubernetes.io/cpu-cpuid.AVX512FP16",
    "feature.node.kubernetes.io/cpu-cpuid.AVX512IFMA",
    "feature.node.kubernetes.io/cpu-cpuid.AVX512VBMI",
    "feature.node.kubernetes.io/cpu-cpuid.AVX512VNNI",
    "feature.node.kubernetes.io/cpu-cpuid.HYPERVISOR",
    "feature.node.kubernetes.io/cpu-cpuid.VPCLMULQDQ",
    "feature.node.kubernetes.io/kernel-version.major",
    "feature.node.kubernetes.io/kernel-version.minor",
    "feature.node.kubernetes.io/system-os_release.ID",
    "feature.node.kubernetes.io/cpu-cpuid.AVX512VBMI2",
    "feature.node.kubernetes.io/network-sriov.capable",
    "feature.node.kubernetes.io/cpu-cpuid.AVX512BITALG",
    "feature.node.kubernetes.io/pci-10de.sriov.capable",
    "feature.node.kubernetes.io/pci-15b3.sriov.capable",
    "feature.node.kubernetes.io/kernel-version.revision",
    "feature.node.kubernetes.io/kernel-config.NO_HZ_FULL",
    "feature.node.kubernetes.io/cpu-cpuid.AVX512VPOPCNTDQ",
    "feature.node.kubernetes.io/storage-nonrotationaldisk",
    "feature.node.kubernetes.io/cpu-hardware_multithreading",
    "feature.node.kubernetes.io/system-os_release.VERSION_ID",
    "node.kubernetes.io/exclude-from-external-load-balancers",
    "feature.node.kubernetes.io/system-os_release.VERSION_ID.major",
    "feature.node.kubernetes.io/system-os_release.VERSION_ID.minor",
};

/* Returns < 0, 0 or > 0 as text sorts before, equals or sorts behind the known one. */
static int compare(struct sl_str text, const char *other)
{
    size_t len = strlen(other);
    if (text.len != len) {
        return text.len < len ? -1 : 1;
    }
    return memcmp(text.s, other, len);
}

/* The resource of a MIG profile and the labels of GPU feature discovery that go with it. */
#define MIG "nvidia.com/mig-"
#define PROFILE(p)                                                                                 \
    {                                                                                              \
        MIG p,                                                                                     \
        {                                                                                          \
            MIG p, MIG p ".product", MIG p ".count", MIG p ".replicas", MIG p ".memory",           \
                MIG p ".slices.gi", MIG p ".slices.ci", MIG p ".multiprocessors",                  \
                MIG p ".sharing-strategy", MIG p ".engines.copy", MIG p ".engines.decoder",        \
                MIG p ".engines.encoder", MIG p ".engines.jpeg", MIG p ".engines.ofa"              \
        }                                                                                          \
    }

static const struct {
    const char *resource;
    const char *text[14];
} profiles[] = {
    PROFILE("1g.5gb"),  PROFILE("2g.10gb"),  PROFILE("3g.20gb"), PROFILE("4g.20gb"),
    PROFILE("7g.40gb"), PROFILE("1g.10gb"),  PROFILE("1g.20gb"), PROFILE("2g.20gb"),
    PROFILE("3g.40gb"), PROFILE("4g.40gb"),  PROFILE("7g.80gb"), PROFILE("1g.6gb"),
    PROFILE("2g.12gb"), PROFILE("4g.24gb"),  PROFILE("1g.12gb"), PROFILE("1g.24gb"),
    PROFILE("2g.24gb"), PROFILE("3g.48gb"),  PROFILE("4g.48gb"), PROFILE("7g.96gb"),
    PROFILE("1g.18gb"), PROFILE("1g.35gb"),  PROFILE("2g.35gb"), PROFILE("3g.71gb"),
    PROFILE("4g.71gb"), PROFILE("7g.141gb"), PROFILE("1g.23gb"), PROFILE("1g.45gb"),
    PROFILE("2g.45gb"), PROFILE("3g.90gb"),  PROFILE("4g.90gb"), PROFILE("7g.180gb"),
};

static const char *find_profile(struct sl_str text)
{
    for (size_t p = 0; p < sizeof(profiles) / sizeof(profiles[0]); p++) {
        if (!sl_str_starts(text, sl_str_of(profiles[p].resource))) {
            continue;
        }
        for (size_t i = 0; i < sizeof(profiles[p].text) / sizeof(profiles[p].text[0]); i++) {
            if (compare(text, profiles[p].text[i]) == 0) {
                return profiles[p].text[i];
            }
        }
    }
    return NULL;
}

static bool known_is_before(const void *item, const void *text)
{
    return compare(*(const struct sl_str *)text, *(const char *const *)item) > 0;
}

const char *sl_known_text(struct sl_str text)
{
    const size_t n = text.len == 0 ? 0 : sizeof(known) / sizeof(known[0]);
    size_t at = sl_lower_bound(known, n, sizeof(known[0]), &text, known_is_before);
    if (at < n && compare(text, known[at]) == 0) {
        return known[at];
    }
    return sl_str_starts(text, SL_STR(MIG)) ? find_profile(text) : NULL;
}
