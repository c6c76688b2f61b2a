"""How much GPU memory a unit has, for every way to give a GPU or a part of it."""
import pytest

from sliced_daemon import EXAMPLES, pod_of

GPU = "nvidia.com/gpu"
SHARED = "nvidia.com/gpu.shared"
MEM = "aliyun.com/gpu-mem"
SLICE = "nvidia.com/gpu-10gb"
LARGE = "nvidia.com/gpu-20gb"
DECLARED = "sliced.dev/gpu-memory"
LEAST = "sliced.dev/min-gpu-memory"


@pytest.fixture
def daemon(start):
    return start(EXAMPLES / "kinds.yaml")


def asking(daemon, name, resources, **notes):
    """Adds a pod with annotations; gpu_memory and min_gpu_memory in short."""
    keys = {"gpu_memory": DECLARED, "min_gpu_memory": LEAST}
    return daemon.add_pod(name, resources,
                          annotations={keys[key]: value for key, value in notes.items()})


def devices(daemon, pod):
    return [(d["device"], d["amount"]) for d in daemon.explain(pod)["assignment"]["devices"]]


def refused(daemon, pod, node):
    """The reason of a node, and whether it is for good."""
    reply = daemon.filter(pod, [node])
    assert reply["NodeNames"] == []
    never = node in reply["FailedAndUnresolvableNodes"]
    return (reply["FailedAndUnresolvableNodes"] if never else reply["FailedNodes"])[node], never


def test_the_example_shows_what_a_unit_has(daemon):
    pools = {(name, p["resource"]): p for name, node in daemon.nodes().items()
             for p in node["pools"]}
    memory = {key: pool["memoryMiB"] for key, pool in pools.items()}
    assert memory["single-1", GPU] == 9856
    assert memory["balanced-1", "nvidia.com/mig-2g.10gb"] == 9856
    assert memory["slicing-1", SHARED] == 15360
    assert [pools[n, SHARED]["equalMemory"] for n in ("slicing-1", "mps-1")] == [False, True]
    assert [key for key, pool in pools.items() if pool["oneEach"]] == [
        ("mps-1", SHARED), ("single-requests-1", GPU), ("slices-1", SLICE), ("slices-1", LARGE)]
    assert [memory["slices-1", name] for name in (SLICE, LARGE)] == [10240, 20480]


# ---- whole GPUs and instances: the least that will do ----


def test_a_minimum_keeps_a_pod_off_small_units_and_big_gpus_for_others(daemon):
    names = ["single-1", "single-requests-1", "whole-1"]
    pod = asking(daemon, "p", {GPU: 1}, min_gpu_memory="20Gi")
    reply = daemon.filter(pod, names)
    assert reply["NodeNames"] == ["whole-1"]
    assert reply["FailedAndUnresolvableNodes"] == {
        "single-1": "nvidia.com/gpu: 1 asked with 20480 MiB of GPU memory each, 0 of this node's "
                    "have that, the largest has 9856 MiB",
        "single-requests-1": "nvidia.com/gpu: 1 asked with 20480 MiB of GPU memory each, 0 of "
                             "this node's have that, the largest has 15360 MiB"}
    assert daemon.bind(pod, "whole-1") == ""
    assert devices(daemon, pod) == [(1, 1)]  # an L4, not the A100
    big = asking(daemon, "big", {GPU: 1}, min_gpu_memory="40Gi")
    assert daemon.bind(big, "whole-1") == ""
    assert devices(daemon, big) == [(0, 1)]


def test_several_whole_gpus_of_a_size(daemon):
    pod = asking(daemon, "p", {GPU: 2}, min_gpu_memory="24000")
    text, never = refused(daemon, pod, "whole-1")
    assert never and "2 asked with 24000 MiB of GPU memory each, 1 of this node's" in text
    pod = asking(daemon, "q", {GPU: 2}, min_gpu_memory="23034")
    assert daemon.bind(pod, "whole-1") == ""
    assert devices(daemon, pod) == [(1, 1), (2, 1)]
    third = asking(daemon, "r", {GPU: 2}, min_gpu_memory="20000")
    assert refused(daemon, third, "whole-1") == (
        "nvidia.com/gpu: 2 asked, 1 free of 3", False)


def test_an_instance_has_what_its_label_says(daemon):
    fits = asking(daemon, "p", {"nvidia.com/mig-1g.5gb": 1}, min_gpu_memory="4864")
    assert daemon.filter(fits, ["balanced-1"])["NodeNames"] == ["balanced-1"]
    big = asking(daemon, "q", {"nvidia.com/mig-1g.5gb": 1}, min_gpu_memory="5Gi")
    assert refused(daemon, big, "balanced-1")[1]


def test_a_balanced_configuration_tells_the_devices(daemon):
    node = daemon.nodes()["balanced-1"]
    assert node["layout"] == "inferred" and node["problem"] is None
    assert [[i["profile"] for i in d["instances"]] for d in node["devices"]] == [
        ["2g.10gb", "1g.5gb", "1g.5gb", "3g.20gb"]] * 2


# ---- replicas ----


def test_declared_shares_are_accounted_by_device(daemon):
    first = asking(daemon, "a", {SHARED: 1}, gpu_memory="9Gi")
    second = asking(daemon, "b", {SHARED: 1}, gpu_memory="9Gi")
    third = asking(daemon, "c", {SHARED: 1}, gpu_memory="9Gi")
    small = asking(daemon, "d", {SHARED: 2}, gpu_memory="6000")
    silent = asking(daemon, "e", {SHARED: 1})
    assert daemon.bind(first, "slicing-1") == "" and devices(daemon, first) == [(0, 1)]
    assert daemon.bind(second, "slicing-1") == "" and devices(daemon, second) == [(1, 1)]
    assert refused(daemon, third, "slicing-1") == (
        "nvidia.com/gpu.shared: 1 asked with 9216 MiB of GPU memory each, 0 can be had with that "
        "now", False)
    assert "MemoryTaken" in [r["reason"] for r in daemon.explain(third)["summary"]["reasons"]]
    assert daemon.bind(small, "slicing-1") == "" and devices(daemon, small) == [(0, 1), (1, 1)]
    assert [d["used"]["declaredMiB"] for d in daemon.nodes()["slicing-1"]["devices"]] == [15216] * 2
    assert daemon.filter(silent, ["slicing-1"])["NodeNames"] == ["slicing-1"]
    assert daemon.end(first).status == 200
    assert daemon.filter(third, ["slicing-1"])["NodeNames"] == ["slicing-1"]
    assert daemon.explain(third)["pod"]["gpuMemoryMiB"] == 9216


def test_never_more_than_replicas_however_little_memory_they_need(daemon):
    for i in range(8):
        assert daemon.bind(asking(daemon, f"p{i}", {SHARED: 1}, gpu_memory="10"), "slicing-1") == ""
    last = asking(daemon, "last", {SHARED: 1}, gpu_memory="10")
    assert refused(daemon, last, "slicing-1") == (
        "nvidia.com/gpu.shared: 1 asked, 0 free of 8", False)


def test_an_mps_replica_has_its_equal_part(daemon):
    fits = asking(daemon, "p", {SHARED: 1}, gpu_memory="7678")
    assert daemon.filter(fits, ["mps-1"])["NodeNames"] == ["mps-1"]
    much = asking(daemon, "q", {SHARED: 1}, gpu_memory="7679")
    assert refused(daemon, much, "mps-1") == (
        "nvidia.com/gpu.shared: 1 asked with 7679 MiB of GPU memory each, 0 of this node's have "
        "that, the largest has 7678 MiB", True)
    assert daemon.filter(much, ["slicing-1"])["NodeNames"] == ["slicing-1"]


@pytest.mark.parametrize("node, resource", [("mps-1", SHARED), ("single-requests-1", GPU)])
def test_more_than_one_replica_is_never_where_the_plugin_refuses_it(daemon, node, resource):
    pod = asking(daemon, "p", {resource: 2})
    assert refused(daemon, pod, node) == (
        f"{resource}: 2 asked, this node's device plugin gives a container one replica at most",
        True)
    assert daemon.bind(pod, node) != ""
    one = asking(daemon, "q", {resource: 1})
    assert daemon.bind(one, node) == ""


def test_containers_get_one_replica_each_where_the_plugin_refuses_one_more(daemon):
    pod = pod_of("p", {SHARED: 1}, "u")
    pod["spec"]["containers"].append({**pod["spec"]["containers"][0], "name": "side"})
    pod["spec"]["initContainers"] = [{**pod["spec"]["containers"][0], "name": "first"}]
    pod["metadata"]["uid"] = daemon.add(pod)["uid"]
    assert daemon.filter(pod, ["mps-1"])["NodeNames"] == ["mps-1"]
    assert daemon.bind(pod, "mps-1") == ""


def test_why_says_that_no_node_has_the_memory(daemon):
    pod = asking(daemon, "p", {SHARED: 1}, gpu_memory="16Gi")
    assert daemon.explain(pod)["why"] == (
        "no node has 1 nvidia.com/gpu.shared with 16384 MiB of GPU memory each, the largest has "
        "15360 MiB: it cannot start in this cluster as it is")


# ---- shares of memory ----


def test_shares_know_the_real_size_of_each_gpu(daemon):
    names = ["share-1"]
    assert refused(daemon, pod_of("p", {MEM: 33}, "u"), "share-1") == (
        "aliyun.com/gpu-mem: 33 asked, one GPU of this node has at most 32", True)
    for name, units, device in (("a", 10, 1), ("b", 6, 0), ("c", 5, 1), ("d", 26, 0)):
        pod = asking(daemon, name, {MEM: units})
        assert daemon.schedule(pod, names) == "share-1"
        assert devices(daemon, pod) == [(device, units)]
    assert refused(daemon, pod_of("p", {MEM: 1}, "u"), "share-1")[1] is False


# ---- slices of memory that nos makes ----


def test_slices_of_several_sizes_are_given_on_the_gpu_that_has_them(daemon):
    large = daemon.add_pod("large", {LARGE: 1})
    assert daemon.bind(large, "slices-1") == ""
    assert devices(daemon, large) == [(0, 1)]
    small = [daemon.add_pod(f"small-{i}", {SLICE: 1}) for i in range(6)]
    for pod in small:
        assert daemon.bind(pod, "slices-1") == ""
    assert sorted(devices(daemon, pod) for pod in small) == [[(0, 1)]] * 2 + [[(1, 1)]] * 4
    gpus = daemon.nodes()["slices-1"]["devices"]
    assert [[(i["resource"], i["used"], i["units"]) for i in gpu["instances"]]
            for gpu in gpus] == [[(SLICE, 2, 2), (LARGE, 1, 1)], [(SLICE, 4, 4)]]
    more = daemon.add_pod("more", {SLICE: 1})
    assert refused(daemon, more, "slices-1") == (
        "nvidia.com/gpu-10gb: 1 asked, 0 free of 6", False)


def test_slices_go_one_to_a_pod_and_in_the_sizes_that_there_are(daemon):
    several = daemon.add_pod("several", {SLICE: 2})
    assert refused(daemon, several, "slices-1")[1]
    other = daemon.add_pod("other", {"nvidia.com/gpu-15gb": 1})
    assert refused(daemon, other, "slices-1") == (
        "nvidia.com/gpu-15gb: not offered by this node", True)
    for pod, least, fits in (("p", "10Gi", True), ("q", "11Gi", False)):
        reply = daemon.filter(asking(daemon, pod, {SLICE: 1}, min_gpu_memory=least), ["slices-1"])
        assert (reply["NodeNames"] == ["slices-1"]) == fits


def test_pods_declare_memory_of_their_own_slice(daemon):
    pods = [asking(daemon, f"p{i}", {SLICE: 1}, gpu_memory="10Gi") for i in range(6)]
    for pod in pods:
        assert daemon.bind(pod, "slices-1") == ""
