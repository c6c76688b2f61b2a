"""The checker finds what is planted, and nothing in what is right. Needs no cluster."""

import pytest

from harness import gpus
from harness.checker import ask_of, check


def marks(index, of, units, stamp):
    """What gpushare's device plugin reads."""
    return {f"ALIYUN_COM_GPU_MEM_{key}": str(value) for key, value in {
        "IDX": index, "DEV": of, "POD": units, "ASSIGNED": "false",
        "ASSUME_TIME": 1_800_000_000_000_000_000 + stamp}.items()}


def bound(name, node, asks, assignment, phase="Running", deleting=False, annotations=None):
    made = gpus.pod(name, asks)
    made["spec"]["nodeName"] = node
    made["status"] = {"phase": phase}
    if assignment is not None:
        made["metadata"]["annotations"]["sliced.dev/assignment"] = assignment
    made["metadata"]["annotations"].update(annotations or {})
    if deleting:
        made["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return made


MIG = "nvidia.com/mig-1g.6gb"
A30 = gpus.a30_mixed("a30")
SINGLE = gpus.a30_single("single")
A100 = gpus.a100_mixed("a100")
WHOLE = gpus.whole("whole")
T4 = gpus.t4_shared("t4")
MEMORY = gpus.gpushare("memory")
SIZES = gpus.gpushare_of("sizes", (16, 24))
REPLICAS = gpus.replicas("replicas")
MPS = gpus.replicas("mps", mps=True)
ME = gpus.a100_me("me")


def test_a_full_cluster_that_is_right_has_nothing_wrong():
    pods = [bound(f"m{i}", "a30", {MIG: 1}, f"{MIG}={i // 4}/{i % 4}") for i in range(8)]
    pods += [bound(f"s{i}", "single", {"nvidia.com/gpu": 2},
                   f"nvidia.com/gpu={i // 2}/{i % 2 * 2},{i // 2}/{i % 2 * 2 + 1}")
             for i in range(4)]
    pods += [bound("w", "whole", {"nvidia.com/gpu": 8},
                   "nvidia.com/gpu=" + ",".join(map(str, range(8))))]
    pods += [bound(f"t{i}", "t4", {"nvidia.com/gpu.shared": 4},
                   f"nvidia.com/gpu.shared={i}*4") for i in range(4)]
    pods += [bound("g", "memory", {"aliyun.com/gpu-mem": 32}, "aliyun.com/gpu-mem=3*32",
                   annotations=marks(3, 32, 32, 0)),
             bound("s0", "sizes", {"aliyun.com/gpu-mem": 24}, "aliyun.com/gpu-mem=1*24",
                   annotations=marks(1, 24, 24, 1)),
             bound("s1", "sizes", {"aliyun.com/gpu-mem": 16}, "aliyun.com/gpu-mem=0*16",
                   annotations=marks(0, 16, 16, 2)),
             bound("r0", "replicas", {"nvidia.com/gpu": 2}, "nvidia.com/gpu=0,1",
                   annotations={"sliced.dev/gpu-memory": "10Gi"}),
             bound("r1", "replicas", {"nvidia.com/gpu": 3}, "nvidia.com/gpu=0*3"),
             bound("mps", "mps", {"nvidia.com/gpu": 1}, "nvidia.com/gpu=0",
                   annotations={"sliced.dev/gpu-memory": "3840", "sliced.dev/min-gpu-memory": "3Gi"}),
             bound("me", "me", {"nvidia.com/mig-1g.5gb.me": 1}, "nvidia.com/mig-1g.5gb.me=1/6",
                   annotations={"sliced.dev/min-gpu-memory": "4Gi"}),
             bound("b", "a100", {"nvidia.com/mig-3g.20gb": 1, "nvidia.com/mig-1g.5gb": 2},
                   "nvidia.com/mig-1g.5gb=0/2,1/6;nvidia.com/mig-3g.20gb=0/4")]
    assert check([A30, SINGLE, A100, WHOLE, T4, MEMORY, SIZES, REPLICAS, MPS, ME], pods) == []


def test_who_has_ended_holds_nothing_and_who_is_deleting_holds_on():
    first = bound("first", "a30", {MIG: 1}, f"{MIG}=0/0", phase="Succeeded")
    second = bound("second", "a30", {MIG: 1}, f"{MIG}=0/0")
    assert check([A30], [first, second]) == []
    first["status"]["phase"] = "Running"
    first["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert len(check([A30], [first, second])) == 1


@pytest.mark.parametrize("what, node, pods", [
    ("slice 1 of a30/0 is default/p0's too", A30, [({MIG: 1}, f"{MIG}=0/1"), ({MIG: 1}, f"{MIG}=0/1")]),
    ("slice 2 of a30/1 is default/p0's too", A30, [({MIG: 2}, f"{MIG}=1/2,1/2")]),
    ("slice #1 of a30/0", A30, [({MIG: 1}, f"{MIG}=0/#1"), ({MIG: 1}, f"{MIG}=0/#1")]),
    ("9 of 8 nvidia.com/mig-1g.6gb are given", A30, [({MIG: 9}, f"{MIG}=?*9")]),
    ("was given GPU 2 of a30", A30, [({MIG: 1}, f"{MIG}=2/0")]),
    ("cannot start at 4", A30, [({MIG: 1}, f"{MIG}=0/4")]),
    ("names no one instance", A30, [({MIG: 1}, f"{MIG}=0")]),
    ("and was given", A30, [({MIG: 2}, f"{MIG}=0/0")]),
    ("and was given", A30, [({MIG: 1}, f"{MIG}=0/0;nvidia.com/gpu=1")]),
    ("without an assignment", A30, [({MIG: 1}, None)]),
    ("is no part", A30, [({MIG: 1}, f"{MIG}=zero")]),
    ("no '='", A30, [({MIG: 1}, MIG)]),
    ("a resource twice", A30, [({MIG: 2}, f"{MIG}=0/0;{MIG}=0/1")]),
    ("slice 3 of single/1", SINGLE, [({"nvidia.com/gpu": 1}, "nvidia.com/gpu=1/3")] * 2),
    ("slice 6 of a100/0", A100, [({"nvidia.com/mig-3g.20gb": 1}, "nvidia.com/mig-3g.20gb=0/4"),
                                 ({"nvidia.com/mig-1g.5gb": 1}, "nvidia.com/mig-1g.5gb=0/6")]),
    ("where nothing is", A100, [({"nvidia.com/mig-3g.20gb": 1}, "nvidia.com/mig-3g.20gb=0/1")]),
    ("where 2g.10gb is", A100, [({"nvidia.com/mig-1g.5gb": 1}, "nvidia.com/mig-1g.5gb=0/0")]),
    ("as was default/p0", WHOLE, [({"nvidia.com/gpu": 1}, "nvidia.com/gpu=7")] * 2),
    ("2 times", WHOLE, [({"nvidia.com/gpu": 2}, "nvidia.com/gpu=3*2")]),
    ("9 of 8 nvidia.com/gpu are given", WHOLE, [({"nvidia.com/gpu": 9}, "nvidia.com/gpu=?*9")]),
    ("5 replicas of 4", T4, [({"nvidia.com/gpu.shared": 3}, "nvidia.com/gpu.shared=0*3"),
                             ({"nvidia.com/gpu.shared": 2}, "nvidia.com/gpu.shared=0*2")]),
    ("40 of 32 units of memory", MEMORY, [({"aliyun.com/gpu-mem": 20}, "aliyun.com/gpu-mem=2*20")] * 2),
    ("129 of 128 aliyun.com/gpu-mem are given", MEMORY,
     [({"aliyun.com/gpu-mem": 129}, "aliyun.com/gpu-mem=?*129")]),
])
def test_a_planted_fault_is_found(what, node, pods):
    name = node["metadata"]["name"]
    made = [bound(f"p{i}", name, asks, text) for i, (asks, text) in enumerate(pods)]
    assert any(what in each for each in check([node], made)), check([node], made)


SHARE = "aliyun.com/gpu-mem"


@pytest.mark.parametrize("what, node, pods", [
    ("17 of 16 units of memory", SIZES, [({SHARE: 17}, f"{SHARE}=0*17", marks(0, 16, 17, 0))]),
    ("which is not in its list", SIZES, [({SHARE: 1}, f"{SHARE}=2*1", marks(2, 0, 1, 0))]),
    ("says {'IDX': None", SIZES, [({SHARE: 1}, f"{SHARE}=1*1", {})]),
    ("says {'IDX': '0'", SIZES, [({SHARE: 1}, f"{SHARE}=1*1", marks(0, 24, 1, 0))]),
    ("'DEV': '16'", SIZES, [({SHARE: 1}, f"{SHARE}=1*1", marks(1, 16, 1, 0))]),
    ("'POD': '2'", SIZES, [({SHARE: 1}, f"{SHARE}=1*1", marks(1, 24, 2, 0))]),
    ("has the time stamp of default/p0", SIZES, [({SHARE: 1}, f"{SHARE}=1*1", marks(1, 24, 1, 5))] * 2),
    ("cannot be read by the device plugin", SIZES, [
        ({SHARE: 1}, f"{SHARE}=1*1", {**marks(1, 24, 1, 0), "ALIYUN_COM_GPU_MEM_ASSIGNED": "no"})]),
    ("cannot be read by the device plugin", SIZES, [
        ({SHARE: 1}, f"{SHARE}=1*1", {**marks(1, 24, 1, 0), "ALIYUN_COM_GPU_MEM_ASSUME_TIME": "1"})]),
    ("20480 of 15360 MiB are declared", REPLICAS, [
        ({"nvidia.com/gpu": 1}, "nvidia.com/gpu=1", {"sliced.dev/gpu-memory": "10Gi"})] * 2),
    ("40960 of 30720 MiB are declared", REPLICAS, [
        ({"nvidia.com/gpu": 2}, "nvidia.com/gpu=?*2", {"sliced.dev/gpu-memory": "10Gi"})] * 2),
    ("uses 4096 MiB and was given 3840", MPS, [
        ({"nvidia.com/gpu": 1}, "nvidia.com/gpu=1", {"sliced.dev/gpu-memory": "4Gi"})]),
    ("for 2 nvidia.com/gpu at once, which it refuses", MPS, [
        ({"nvidia.com/gpu": 2}, "nvidia.com/gpu=0,1", {})]),
    ("for 2 nvidia.com/gpu at once, which it refuses", gpus.replicas("strict", one_each=True), [
        ({"nvidia.com/gpu": 2}, "nvidia.com/gpu=0,1", {})]),
    ("accepts 6144 MiB and was given 5952", SINGLE, [
        ({"nvidia.com/gpu": 1}, "nvidia.com/gpu=0/0", {"sliced.dev/min-gpu-memory": "6Gi"})]),
    ("accepts 10241 MiB and was given 10240", A100, [
        ({"nvidia.com/mig-2g.10gb": 1}, "nvidia.com/mig-2g.10gb=0/0",
         {"sliced.dev/min-gpu-memory": "10241"})]),
    ("where 1g.5gb.me is", ME, [({"nvidia.com/mig-1g.5gb": 1}, "nvidia.com/mig-1g.5gb=0/6", {})]),
])
def test_a_fault_in_memory_is_found(what, node, pods):
    name = node["metadata"]["name"]
    made = [bound(f"p{i}", name, asks, text, annotations=more)
            for i, (asks, text, more) in enumerate(pods)]
    assert any(what in each for each in check([node], made)), check([node], made)


def test_a_partitioned_gpu_given_whole_is_found():
    node = gpus.a100_me("half")
    node["status"]["allocatable"]["nvidia.com/gpu"] = "1"
    wrong = check([node], [bound("all", "half", {"nvidia.com/gpu": 1}, "nvidia.com/gpu=1")])
    assert wrong == ["default/all: was given GPU 1 of half whole, which is partitioned"]


def test_a_gpu_given_whole_and_in_part_is_found():
    node = gpus.node("both", {"nvidia.com/gpu": 2, "aliyun.com/gpu-mem": 16, "aliyun.com/gpu-count": 2},
                     gpus.gpu_labels("Tesla-V100", 2, 8192))
    pods = [bound("all", "both", {"nvidia.com/gpu": 1}, "nvidia.com/gpu=0"),
            bound("part", "both", {"aliyun.com/gpu-mem": 4}, "aliyun.com/gpu-mem=0*4",
                  annotations=marks(0, 8, 4, 0))]
    assert check([node], pods) == ["default/all: has all of GPU both/0, and default/part a part"]


def test_a_pod_on_no_node_is_found():
    assert "which is no node" in check([], [bound("lost", "gone", {MIG: 1}, f"{MIG}=0/0")])[0]


def test_an_ask_is_counted_as_kubernetes_counts():
    def container(count, **more):
        return {"name": "c", "resources": {"limits": {MIG: str(count)}}, **more}
    made = gpus.pod("p", containers=[container(1), container(2)])
    made["spec"]["initContainers"] = [container(1, restartPolicy="Always"), container(4)]
    made["spec"]["overhead"] = {MIG: "1"}
    assert ask_of(made) == {MIG: 6}  # the sidecar and the init step of 4 are the peak, and overhead
    assert ask_of(gpus.pod("cpu", {"cpu": 1})) == {}
