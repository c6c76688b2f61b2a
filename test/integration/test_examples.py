"""Every cluster in deploy/examples: it loads, fills up, and empties again; and a story on each."""
import pytest

from sliced_daemon import EXAMPLES, pod_of

FILES = sorted(EXAMPLES.glob("*.yaml"))
MEM = "aliyun.com/gpu-mem"
GPU = "nvidia.com/gpu"


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def any_example(request, start):
    return start(request.param)


def totals(daemon, key):
    sums = {}
    for node in daemon.nodes().values():
        for pool in node["pools"]:
            sums[pool["resource"]] = sums.get(pool["resource"], 0) + pool[key]
    return sums


def test_there_are_examples():
    assert {"a30-mixed", "a30-single", "a100-h100", "t4-timeslicing",
            "gpushare"} <= {path.stem for path in FILES}


def test_it_loads_without_problems(any_example):
    nodes = any_example.nodes()
    assert nodes
    assert [n["problem"] for n in nodes.values()] == [None] * len(nodes)
    assert "warn" not in any_example.log
    assert all(0 <= p["used"] <= p["capacity"] for n in nodes.values() for p in n["pools"])


def test_it_takes_exactly_what_is_free_and_gets_it_back(any_example):
    daemon = any_example
    names = sorted(daemon.nodes())
    before = {name: node["pools"] for name, node in daemon.nodes().items()}
    free = totals(daemon, "free")
    added = []
    for number, (resource, units) in enumerate(sorted(free.items())):
        for i in range(units + 1):
            pod = daemon.add_pod(f"p{number}-{i}", {resource: 1})
            added.append(pod)
            assert (daemon.schedule(pod, names) is not None) == (i < units), (resource, i)
        why = daemon.explain(added[-1])["why"]
        assert resource in why
        assert "waits for one to end" in why or "could be cut" in why
    assert set(totals(daemon, "free").values()) == {0}
    for pod in added:
        assert daemon.end(pod).status == 200
    assert {name: node["pools"] for name, node in daemon.nodes().items()} == before


def test_running_pods_stand_on_devices_where_devices_are_known(any_example):
    for node in any_example.nodes().values():
        tied = {p["resource"]: p["onDevices"] for p in node["pools"]}
        for pod in node["pods"]:
            assert pod["devices"], pod["name"]
            asked = {i["resource"]: i["count"] for i in pod["ask"]}
            given = {}
            for part in pod["devices"]:
                assert (part["device"] is not None) == tied[part["resource"]], (pod["name"], part)
                given[part["resource"]] = given.get(part["resource"], 0) + part["amount"]
            assert given == asked


# ---- stories ----


def play(daemon, name, resources):
    """Schedules a new pod: (node, devices)."""
    pod = daemon.add_pod(name, resources)
    node = daemon.schedule(pod, sorted(daemon.nodes()))
    if node is None:
        return None, daemon.explain(pod)["why"]
    return node, daemon.explain(pod)["assignment"]["devices"]


def test_a30_mixed_two_instances_share_a_device(start):
    daemon = start(EXAMPLES / "a30-mixed.yaml")
    node, devices = play(daemon, "a", {"nvidia.com/mig-1g.6gb": 2})
    assert node == "gpu-a30-1"
    assert [(d["device"], d["profile"], d["start"]) for d in devices] == [(0, "1g.6gb", 0),
                                                                          (0, "1g.6gb", 1)]


def test_a30_single_one_name_is_an_instance_here_and_a_gpu_there(start):
    daemon = start(EXAMPLES / "a30-single.yaml")
    got = {}
    for i in range(7):
        node, devices = play(daemon, f"p{i}", {GPU: 1})
        got.setdefault(node, []).extend(d.get("profile") for d in devices)
    assert got == {"gpu-a30-1": ["1g.6gb"] * 6, "gpu-a30-2": [None]}


def test_a100_h100_each_profile_finds_its_node(start):
    daemon = start(EXAMPLES / "a100-h100.yaml")
    assert play(daemon, "a", {"nvidia.com/mig-7g.80gb": 1})[0] == "gpu-h100-1"
    assert play(daemon, "b", {"nvidia.com/mig-2g.20gb": 1})[0] == "gpu-a100-80-1"
    node, devices = play(daemon, "c", {"nvidia.com/mig-3g.20gb": 1})
    assert node == "gpu-a100-40-1" and devices[0]["uuid"].startswith("GPU-")
    assert play(daemon, "d", {"nvidia.com/mig-1g.5gb.me": 1}) == (
        None, "1 of 1 nvidia.com/mig-1g.5gb.me are in use; waits for one to end")
    node, devices = play(daemon, "e", {GPU: 1})
    assert node == "gpu-h100-1" and len(devices) == 1


def test_t4_replicas_are_spread_over_the_devices_and_renamed_ones_are_another_resource(start):
    daemon = start(EXAMPLES / "t4-timeslicing.yaml")
    node, devices = play(daemon, "a", {"nvidia.com/gpu.shared": 4})
    assert node == "gpu-t4-2"
    assert sum(d["amount"] for d in devices) == 4
    used = [d["used"]["replicas"] for d in daemon.nodes()["gpu-t4-2"]["devices"]]
    assert sum(used) == 7 and max(used) - min(used) <= 1
    reply = daemon.filter(pod_of("b", {GPU: 2}, "u"), sorted(daemon.nodes()))
    assert reply["NodeNames"] == ["gpu-t4-1", "gpu-t4-3"]
    assert list(reply["FailedAndUnresolvableNodes"]) == ["gpu-t4-2"]


def test_gpushare_memory_comes_from_one_gpu(start):
    daemon = start(EXAMPLES / "gpushare.yaml")
    names = sorted(daemon.nodes())
    node, devices = play(daemon, "a", {MEM: 15})
    assert node is not None and [d["amount"] for d in devices] == [15]
    reply = daemon.filter(pod_of("b", {MEM: 33}, "u"), names)
    assert reply["NodeNames"] == [] and set(reply["FailedAndUnresolvableNodes"]) == set(names)
    reply = daemon.filter(pod_of("c", {MEM: 30}, "u"), names)
    assert reply["NodeNames"] == ["gpu-v100-1"]
