"""Nodes with GPUs as the device plugin and GPU feature discovery describe them, and pods."""

import json


def node(name, allocatable, labels=None, annotations=None, cpu=64, pods=110):
    """A ready node with those extended resources."""
    resources = {"cpu": str(cpu), "memory": "256Gi", "pods": str(pods),
                 **{key: str(count) for key, count in allocatable.items()}}
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "annotations": annotations or {},
                     "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux",
                                **(labels or {})}},
        "status": {"allocatable": resources, "capacity": resources,
                   "nodeInfo": {part: "" for part in (
                       "architecture", "bootID", "containerRuntimeVersion", "kernelVersion",
                       "kubeProxyVersion", "kubeletVersion", "machineID", "operatingSystem",
                       "osImage", "systemUUID")},
                   "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady",
                                   "message": "",
                                   "lastHeartbeatTime": "2026-01-01T00:00:00Z",
                                   "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}


def gpu_labels(product, count, memory, replicas=1, sharing="none", strategy=None):
    labels = {"nvidia.com/gpu.product": product, "nvidia.com/gpu.count": str(count),
              "nvidia.com/gpu.memory": str(memory), "nvidia.com/gpu.replicas": str(replicas),
              "nvidia.com/gpu.sharing-strategy": sharing, "nvidia.com/gpu.present": "true"}
    if strategy:
        labels["nvidia.com/mig.strategy"] = strategy
    return labels


def a30_mixed(name, gpus=2):
    """A30 cut into 1g.6gb, four each: strategy mixed."""
    return node(name, {"nvidia.com/gpu": 0, "nvidia.com/mig-1g.6gb": 4 * gpus},
                {**gpu_labels("NVIDIA-A30", gpus, 24576, 0, strategy="mixed"),
                 "nvidia.com/mig-1g.6gb.count": str(4 * gpus)})


def single(name, product, profile, memory, instances):
    """Strategy single: an instance is an nvidia.com/gpu; count and memory are those of instances."""
    return node(name, {"nvidia.com/gpu": instances},
                gpu_labels(f"{product}-MIG-{profile}", instances, memory, strategy="single"))


def a30_single(name, gpus=2):
    """The same GPUs under strategy single."""
    return single(name, "NVIDIA-A30", "1g.6gb", 5952, 4 * gpus)


def t4_shared(name, gpus=4, replicas=4):
    """Time-sliced T4, renamed: nvidia.com/gpu.shared."""
    return node(name, {"nvidia.com/gpu.shared": gpus * replicas},
                gpu_labels("Tesla-T4", gpus, 15360, replicas, "time-slicing"))


def gpushare(name, gpus=4, units=32):
    """Shared memory in the manner of gpushare: aliyun.com/gpu-mem."""
    return node(name, {"aliyun.com/gpu-count": gpus, "aliyun.com/gpu-mem": gpus * units},
                gpu_labels("Tesla-V100-SXM2-32GB", gpus, 32768))


def replicas(name, gpus=2, count=4, mps=False, one_each=False):
    """Time-sliced T4, or shared by MPS, not renamed: a replica is an nvidia.com/gpu."""
    labels = gpu_labels("Tesla-T4-SHARED", gpus, 15360, count, "mps" if mps else "time-slicing")
    if one_each:
        labels["sliced.dev/fail-requests-greater-than-one"] = "true"
    return node(name, {"nvidia.com/gpu": gpus * count}, labels)


def gpushare_of(name, sizes, unhealthy=()):
    """gpushare with GPUs of those sizes in GiB on one node."""
    devices = [{"index": index, "uuid": f"GPU-{name}-{index}", "memory": f"{gib}Gi",
                **({"healthy": False} if index in unhealthy else {})}
               for index, gib in enumerate(sizes)]
    return node(name, {"aliyun.com/gpu-count": len(sizes), "aliyun.com/gpu-mem": sum(sizes)},
                annotations={"sliced.dev/devices": json.dumps(devices)})


def whole(name, gpus=8):
    return node(name, {"nvidia.com/gpu": gpus},
                gpu_labels("NVIDIA-H100-80GB-HBM3", gpus, 81559))


def cut(name, product, memory, layout):
    """Strategy mixed with the instances of each GPU told: layout is [[(profile, start), ...], ...]."""
    counts = {}
    devices = []
    for index, instances in enumerate(layout):
        devices.append({"index": index, "uuid": f"GPU-{name}-{index}", "memory": memory, "mig": True,
                        "instances": [{"profile": profile, "start": start}
                                      for profile, start in instances]})
        for profile, _ in instances:
            resource = f"nvidia.com/mig-{profile.replace('+', '.')}"
            counts[resource] = counts.get(resource, 0) + 1
    labels = gpu_labels(product, len(layout), memory, 0, strategy="mixed")
    labels.update({f"{resource}.count": str(count) for resource, count in counts.items()})
    return node(name, {"nvidia.com/gpu": 0, **counts}, labels,
                {"sliced.dev/devices": json.dumps(devices)})


def a100_mixed(name):
    """Two A100 40 GB: 3g+2g+1g+1g on one, seven times 1g on the other."""
    return cut(name, "NVIDIA-A100-SXM4-40GB", 40960, [
        [("3g.20gb", 4), ("2g.10gb", 0), ("1g.5gb", 2), ("1g.5gb", 3)],
        [("1g.5gb", start) for start in range(7)]])


def a100_me(name):
    """Two A100 40 GB, on each one instance with media engines (1g.5gb+me)."""
    return cut(name, "NVIDIA-A100-SXM4-40GB", 40960, [
        [("3g.20gb", 0), ("1g.5gb", 4), ("1g.5gb", 5), ("1g.5gb+me", 6)],
        [("2g.10gb", 0), ("2g.10gb", 2), ("1g.5gb", 4), ("1g.5gb+me", 6)]])


def h100_mixed(name):
    """Two H100 80 GB, cut by halves and in pieces."""
    return cut(name, "NVIDIA-H100-80GB-HBM3", 81559, [
        [("3g.40gb", 0), ("3g.40gb", 4)],
        [("1g.20gb", 0), ("1g.20gb", 2), ("2g.20gb", 4), ("1g.10gb", 6)]])


def pod(name, asks=None, scheduler="sliced-scheduler", namespace="default", runs=None, priority=None,
        annotations=None, gates=(), containers=None):
    """A pod that asks for {resource: count}; runs="3s": it succeeds after so long."""
    annotations = dict(annotations or {})
    if runs:
        annotations["sliced.dev/e2e-runs"] = runs
    limits = {resource: str(count) for resource, count in (asks or {}).items()}
    spec = {"schedulerName": scheduler, "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": containers or [
                {"name": "main", "image": "train",
                 "resources": {"limits": limits, "requests": {"cpu": "100m", **limits}}}]}
    if priority:
        spec["priorityClassName"] = priority
    if gates:
        spec["schedulingGates"] = [{"name": gate} for gate in gates]
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
            "spec": spec}


def job(name, asks, runs=None, **more):
    """A Job of one such pod."""
    template = pod(name, asks, runs=runs, **more)
    return {"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "namespace": template["metadata"]["namespace"]},
            "spec": {"backoffLimit": 0, "template": {
                "metadata": {"annotations": template["metadata"]["annotations"]},
                "spec": template["spec"]}}}
