"""Pods that hold more than their node has, or that are on a node nobody knows: it is said."""
import json

from sliced_daemon import pod_of

MIG = "nvidia.com/mig-1g.6gb"
GAUGE = "sliced_cluster_nodes_overcommitted"


def node_of(name, **allocatable):
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"nvidia.com/mig.strategy": "mixed",
                                                  "nvidia.com/gpu.product": "NVIDIA-A30"}},
            "status": {"allocatable": allocatable, "capacity": allocatable}}


def cluster(tmp_path, *objects):
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}),
                    encoding="utf-8")
    return path


def running(name, node, units):
    pod = pod_of(name, {MIG: units}, uid=name)
    pod["spec"]["nodeName"] = node
    pod["status"] = {"phase": "Running"}
    return pod


def explained(daemon, name):
    return daemon.get(f"/api/v1/pods/default/{name}/explain?output=table").text


def test_a_node_says_that_more_is_in_use_than_it_has(start, tmp_path):
    daemon = start(cluster(tmp_path, node_of("full", **{MIG: "2"}), node_of("fine", **{MIG: "4"}),
                           running("a", "full", 2), running("b", "full", 3),
                           running("c", "fine", 4)))
    problem = "5 in use of 2 " + MIG
    nodes = daemon.nodes()
    assert nodes["full"]["problem"] == problem
    assert nodes["fine"]["problem"] is None
    table = daemon.get("/api/v1/nodes?output=table").text
    assert [problem in line for line in table.splitlines()[1:]] == [False, True]
    assert daemon.metric(GAUGE) == 1


def devices(daemon, name):
    line, = [line for line in explained(daemon, name).splitlines() if line.startswith("Devices:")]
    return line.removeprefix("Devices:").strip()


def test_devices_of_a_pod_are_never_left_empty(start, tmp_path):
    gpu = "nvidia.com/gpu"
    whole = node_of("whole", **{gpu: "2"})
    whole["metadata"]["labels"] = {"nvidia.com/gpu.count": "2", "nvidia.com/gpu.product": "T4"}
    pods = [running("a", "whole", 0), running("b", "whole", 0), running("k", "counts", 1)]
    for pod, units in zip(pods, (2, 1)):
        pod["spec"]["containers"][0]["resources"]["limits"] = {gpu: str(units)}
    daemon = start(cluster(tmp_path, whole, node_of("counts", **{MIG: "2"}), *pods))
    assert devices(daemon, "a") == "0 1 (assumed)"
    assert devices(daemon, "b") == "unknown: the node has no place left that it could hold"
    assert devices(daemon, "k") == "unknown: the kubelet chose"


def test_a_pod_on_a_node_that_is_not_known_says_so(start, tmp_path):
    daemon = start(cluster(tmp_path, node_of("here", **{MIG: "2"}), running("lost", "gone", 1)))
    pod = pod_of("lost", {})
    assert daemon.explain(pod)["why"] == "it is bound to node gone, which is not known"
    assert "which is not known" in explained(daemon, "lost")
    assert daemon.metric(GAUGE) == 0
