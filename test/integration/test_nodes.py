"""Nodes as operators have them: labels that lag or lie, plugins that restart, clouds that have labels of their own."""
import json

import pytest
from sliced_daemon import eventually, pod_of

GPU = "nvidia.com/gpu"
SHARED = "nvidia.com/gpu.shared"
DECLARED = "sliced.dev/gpu-memory"
LEAST = "sliced.dev/min-gpu-memory"
H100 = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.memory": "81559"}


@pytest.fixture
def cluster(start, tmp_path):
    """cluster(node, ..., config=...): a daemon that knows these nodes."""
    def make(*nodes, config=None):
        file = tmp_path / "cluster.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}), encoding="utf-8")
        return start(file, config=config)
    return make


def node(name, labels, allocatable, capacity=None):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
            "status": {"allocatable": allocatable, "capacity": allocatable if capacity is None else capacity}}


def judged(daemon, resources, at):
    """The reason by which a node does not take a pod, and whether it is for good."""
    reply = daemon.filter(pod_of("judged", resources, "uid-judged"), [at])
    assert reply["NodeNames"] == []
    never = at in reply["FailedAndUnresolvableNodes"]
    return (reply["FailedAndUnresolvableNodes"] if never else reply["FailedNodes"])[at], never


def test_replicas_of_one_gpu_share_its_memory_once_though_their_label_lags(cluster):
    labels = {"nvidia.com/gpu.product": "NVIDIA-A10G", "nvidia.com/gpu.memory": "23028",
              "nvidia.com/gpu.count": "1", "nvidia.com/gpu.replicas": "1"}
    daemon = cluster(node("a10g", labels, {SHARED: "50"}))
    assert len(daemon.nodes()["a10g"]["devices"]) == 1
    first = daemon.add_pod("first", {SHARED: 1}, annotations={DECLARED: "20Gi"})
    assert daemon.schedule(first, ["a10g"]) == "a10g"
    second = daemon.add_pod("second", {SHARED: 1}, annotations={DECLARED: "20Gi"})
    assert daemon.schedule(second, ["a10g"]) is None
    small = daemon.add_pod("small", {SHARED: 1}, annotations={DECLARED: "1Gi"})
    assert daemon.schedule(small, ["a10g"]) == "a10g"


def test_the_memory_of_gpus_that_the_labels_do_not_count_is_unknown(cluster):
    daemon = cluster(node("two", {**H100, "nvidia.com/gpu.count": "1"}, {GPU: "2"}))
    told = daemon.nodes()["two"]
    assert [device["memoryMiB"] for device in told["devices"]] == [81559, None]
    assert [device["product"] for device in told["devices"]] == [H100["nvidia.com/gpu.product"], None]
    assert told["pools"][0]["memoryMiB"] is None
    pods = [daemon.add_pod(f"p{i}", {GPU: 1}, annotations={LEAST: "60Gi"}) for i in range(2)]
    assert [daemon.schedule(pod, ["two"]) for pod in pods] == ["two", None]
    assert daemon.schedule(daemon.add_pod("any", {GPU: 1}), ["two"]) == "two"


@pytest.mark.parametrize("label, memory", [("85519761408", 81558), ("80GiB", 81920), ("0", None), ("-5", None),
                                           ("1e30", None), ("80", None)])
def test_memory_is_converted_or_called_unknown(cluster, label, memory):
    labels = {"nvidia.com/gpu.product": "Board-X", "nvidia.com/gpu.count": "1", "nvidia.com/gpu.memory": label}
    daemon = cluster(node("n", labels, {GPU: "1"}))
    told = daemon.nodes()["n"]
    assert told["devices"][0]["memoryMiB"] == told["pools"][0]["memoryMiB"] == memory
    assert (label in (told["problem"] or "")) == (memory is None)
    pod = daemon.add_pod("p", {GPU: 1}, annotations={LEAST: "40Gi"})
    assert (daemon.schedule(pod, ["n"]) == "n") == (memory is not None)
    if memory is None:
        told = daemon.explain(pod)["nodes"][0]
        assert "how much they have is unknown" in told["text"] and told["largest"] is None


def test_gke_shares_and_cuts_gpus_by_labels_of_its_own(cluster):
    gke = "cloud.google.com/gke-"
    shared = {gke + "accelerator": "nvidia-tesla-t4", gke + "gpu-sharing-strategy": "time-sharing",
              gke + "max-shared-clients-per-gpu": "3"}
    cut = {gke + "accelerator": "nvidia-tesla-a100", gke + "gpu-partition-size": "1g.5gb"}
    daemon = cluster(node("shared", shared, {GPU: "3"}), node("cut", cut, {GPU: "7"}))
    told = daemon.nodes()
    assert [told[name]["pools"][0]["kind"] for name in ("shared", "cut")] == ["replica", "mig"]
    assert [len(told[name]["devices"]) for name in ("shared", "cut")] == [1, 1]
    assert [told[name]["pools"][0]["memoryMiB"] for name in ("shared", "cut")] == [15360, 4864]
    at = ["cut", "shared"]
    pods = [daemon.add_pod(f"p{i}", {GPU: 1}, annotations={DECLARED: "10Gi"}) for i in range(2)]
    assert [daemon.schedule(pod, at) for pod in pods] == ["shared", None]
    assert judged(daemon, {GPU: 2}, "shared") == (
        "nvidia.com/gpu: 2 asked, this node's device plugin gives a container one replica at most", True)


def test_what_a_device_class_offers_is_not_called_offered_by_nobody(cluster):
    by_class = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"},
                "spec": {"extendedResourceName": GPU, "selectors": [{"cel": {"expression": "true"}}]}}
    daemon = cluster(node("bare", {}, {"cpu": "8"}), by_class, node("plugin", H100, {GPU: "1"}))
    assert judged(daemon, {GPU: 1}, "bare") == (
        "nvidia.com/gpu: a DeviceClass offers it (DRA), whose devices sliced does not schedule", False)
    assert judged(daemon, {"nvidia.com/mig-1g.5gb": 1}, "bare")[1]
    assert daemon.schedule(daemon.add_pod("p", {GPU: 1}), ["bare", "plugin"]) == "plugin"


AWAY = node("away", {**H100, "nvidia.com/gpu.count": "8"}, {GPU: "0"}, {GPU: "8"})
SOME = node("some", {**H100, "nvidia.com/gpu.count": "8"}, {GPU: "2"}, {GPU: "8"})
FRESH = node("fresh", {"nvidia.com/gpu.present": "true"}, {"cpu": "8"})


def test_units_that_are_out_of_service_are_not_offered_now(cluster):
    daemon = cluster(AWAY, SOME, FRESH, node("cpu", {}, {"cpu": "8"}))
    text = "nvidia.com/gpu: 8 asked, this node offers %d now of the %d that it has"
    assert judged(daemon, {GPU: 8}, "away") == (text % (0, 8), False)
    assert judged(daemon, {GPU: 8}, "some") == (text % (2, 8), False)
    assert judged(daemon, {GPU: 8}, "fresh") == (text % (0, 16), False)
    assert judged(daemon, {GPU: 9}, "some") == ("nvidia.com/gpu: 9 asked, this node has 8 in all", True)
    assert judged(daemon, {GPU: 1}, "cpu") == ("nvidia.com/gpu: not offered by this node", True)
    assert daemon.nodes()["away"]["problem"] == "nvidia.com/gpu: 8 in capacity, allocatable now 0"
    why = daemon.explain(daemon.add_pod("train", {GPU: 8}))["why"]
    assert why.startswith("3 nodes have nvidia.com/gpu, but do not offer enough now")


@pytest.mark.parametrize("there", [AWAY, SOME, FRESH])
def test_the_queue_holds_who_waits_for_units_that_are_out_of_service(cluster, there):
    daemon = cluster(there, config="queue: {enabled: true}\n")
    train = daemon.add_pod("train", {GPU: 8})
    eventually(lambda: (daemon.explain(train)["queue"] or {}).get("reason") == "NoRoom")
    told = daemon.explain(train)
    assert told["queue"]["state"] == "Held"
    assert told["nodes"][0]["reason"] == "OutOfService" and not told["nodes"][0]["never"]
