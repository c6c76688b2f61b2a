"""The checker finds what is planted, and nothing in what is right. Needs no cluster."""

import pytest

from harness import gpus
from harness.checker import ask_of, check


def bound(name, node, asks, assignment, phase="Running", deleting=False):
    made = gpus.pod(name, asks)
    made["spec"]["nodeName"] = node
    made["status"] = {"phase": phase}
    if assignment is not None:
        made["metadata"]["annotations"]["sliced.dev/assignment"] = assignment
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


def test_a_full_cluster_that_is_right_has_nothing_wrong():
    pods = [bound(f"m{i}", "a30", {MIG: 1}, f"{MIG}={i // 4}/{i % 4}") for i in range(8)]
    pods += [bound(f"s{i}", "single", {"nvidia.com/gpu": 2},
                   f"nvidia.com/gpu={i // 2}/{i % 2 * 2},{i // 2}/{i % 2 * 2 + 1}")
             for i in range(4)]
    pods += [bound("w", "whole", {"nvidia.com/gpu": 8},
                   "nvidia.com/gpu=" + ",".join(map(str, range(8))))]
    pods += [bound(f"t{i}", "t4", {"nvidia.com/gpu.shared": 4},
                   f"nvidia.com/gpu.shared={i}*4") for i in range(4)]
    pods += [bound("g", "memory", {"aliyun.com/gpu-mem": 32}, "aliyun.com/gpu-mem=3*32"),
             bound("b", "a100", {"nvidia.com/mig-3g.20gb": 1, "nvidia.com/mig-1g.5gb": 2},
                   "nvidia.com/mig-1g.5gb=0/2,1/6;nvidia.com/mig-3g.20gb=0/4")]
    assert check([A30, SINGLE, A100, WHOLE, T4, MEMORY], pods) == []


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


def test_a_gpu_given_whole_and_in_part_is_found():
    node = gpus.node("both", {"nvidia.com/gpu": 2, "aliyun.com/gpu-mem": 16, "aliyun.com/gpu-count": 2},
                     gpus.gpu_labels("Tesla-V100", 2, 8192))
    pods = [bound("all", "both", {"nvidia.com/gpu": 1}, "nvidia.com/gpu=0"),
            bound("part", "both", {"aliyun.com/gpu-mem": 4}, "aliyun.com/gpu-mem=0*4")]
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
