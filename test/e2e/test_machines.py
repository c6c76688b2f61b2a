"""The stand-ins for GPUs that can be cut keep the rules of the real ones, and what watches them finds what
is planted."""

import collections

import pytest
import yaml

from harness import gpus
from harness.api import ApiError, object_path
from harness.checker import Untouched
from harness.history import Cuts
from harness.machines.hardware import A30, A100, A100_80, Gpu, InUse, Model, NoPlace, SEVEN
from harness.machines.machine import Machine, wait_cut
from harness.machines.mig_manager import CONFIG, NAMESPACE, STATE, MigManager
from harness.machines.mps_plugin import MpsPlugin
from harness.machines.nos_agent import SPEC_PLAN, STATUS_PLAN, NosAgent
from harness.process import wait_for

SHORT = 0.2
BASE = Model("base", 40960, {each: SEVEN[each] for each in ("1g", "2g", "3g", "4g", "7g")},
             (5, 10, 20, 20, 40))


def multisets(model):
    return {tuple(sorted(profile for _, profile in layout)) for layout in model.maximal()}


# ---- the hardware ----

@pytest.mark.parametrize("model, layouts, maximal, sets", [(BASE, 298, 19, 14), (A100, 723, 78, 38)],
                         ids=["five profiles", "with double memory"])
def test_a_gpu_takes_as_many_layouts_as_nvidia_lists(model, layouts, maximal, sets):
    assert len(model.layouts()) == layouts
    assert len(model.maximal()) == maximal
    assert len(multisets(model)) == sets


def test_the_driver_refuses_an_order_and_takes_another():
    one, two, three = "1g.5gb", "2g.10gb", "3g.20gb"
    gpu = Gpu(0, A100)
    for profile in (one, one, two):
        gpu.place(profile)
    with pytest.raises(NoPlace):
        gpu.place(three)
    gpu = Gpu(0, A100)
    for profile in (three, one, two, one):
        gpu.place(profile)


@pytest.mark.parametrize("model", [A100, A100_80, A30], ids=lambda each: each.product)
def test_whatever_fits_is_made_in_some_order(model):
    for profiles in multisets(model):
        assert Gpu(0, model, profiles).counts() == collections.Counter(profiles)
    with pytest.raises(NoPlace):
        Gpu(0, A100, ["4g.20gb", "4g.20gb"])


def test_an_instance_in_use_is_not_destroyed():
    gpu = Gpu(0, A100, ["7g.40gb"])
    gpu.instances[0].pod = "somebody"
    with pytest.raises(InUse):
        gpu.destroy(gpu.instances[0])


# ---- what watches them ----

def test_an_instance_that_was_made_anew_under_a_pod_is_found():
    untouched = Untouched()
    untouched.observe({"a": {("n", 0, 4, 1)}})
    untouched.observe({"a": {("n", 0, 4, 1)}, "b": {("n", 0, 0, 2)}})
    untouched.observe({"b": {("n", 0, 0, 2)}})
    assert untouched.wrong == []
    untouched.observe({"b": {("n", 0, 0, 3)}})
    assert len(untouched.wrong) == 1
    untouched.observe({"b": {("n", 0, 0, 3)}, "c": {("n", 0, 0, 3)}})
    assert len(untouched.wrong) == 2


def test_a_pod_bound_during_a_cut_is_found():
    def node(revision, **annotations):
        return {"metadata": {"name": "n", "resourceVersion": str(revision), "annotations": annotations}}

    def bound(name, revision):
        return {"metadata": {"name": name, "resourceVersion": str(revision)}, "spec": {"nodeName": "n"}}
    cuts = Cuts()
    for revision, annotations in ((10, {}), (20, {"sliced.dev/cut": "a"}), (30, {"sliced.dev/cut": "a"}),
                                  (40, {}), (50, {"sliced.dev/cut": "b"})):
        cuts.node("MODIFIED", node(revision, **annotations))
    for name, revision in (("early", 19), ("late", 41)):
        cuts.bound(bound(name, revision))
    assert cuts.wrong() == []
    cuts.bound(bound("in a", 31))
    cuts.bound(bound("in b", 51))
    assert cuts.wrong() == ["in a was bound to n during the cut a", "in b was bound to n during the cut b"]


# ---- on a control plane ----

def allocatable(cluster, name):
    found = cluster.plane.get(f"/api/v1/nodes/{name}")["status"]["allocatable"]
    return {resource: int(count) for resource, count in found.items()
            if resource.startswith("nvidia.com/") and int(count)}


def wait_allocatable(cluster, name, **counts):
    wanted = {f"nvidia.com/mig-{profile}": count for profile, count in counts.items()}

    def there():
        found = allocatable(cluster, name)
        assert found == wanted, found
        return True
    wait_for(f"{name} offers {wanted}", there)


def on(machine, name, resource, place="?"):
    """A pod that is on the machine, as if sliced had bound it."""
    pod = gpus.pod(name, {resource: 1}, annotations={"sliced.dev/assignment": f"{resource}={place}"})
    pod["spec"]["nodeName"] = machine.name
    return pod


def run(cluster, machine, name, resource):
    """Such a pod runs: the places that it got."""
    cluster.add(on(machine, name, resource))
    return wait_for("its instance", lambda: machine.where(cluster.pod(name)))


def write_data(cluster, file, data):
    """Writes to the ConfigMap that is mounted there."""
    found = {"apiVersion": "v1", "kind": "ConfigMap", "data": data,
             "metadata": {"name": file.name, "namespace": file.namespace}}
    try:
        cluster.plane.create(found)
    except ApiError:
        cluster.plane.patch(object_path(found), found)


def write_file(cluster, machine, **entries):
    write_data(cluster, machine.agent.file,
               {"config.yaml": yaml.safe_dump({"version": "v1", "mig-configs": entries})})


def entry(devices, **profiles):
    return [{"devices": devices, "mig-enabled": True, "mig-devices": profiles}]


def label(machine, value):
    machine.patch(labels={CONFIG: value})


def wait_state(cluster, machine, state, runs):
    def there():
        labels = cluster.plane.get(machine.path)["metadata"]["labels"]
        assert len([each for each in machine.agent.runs if each[1]]) == runs, machine.agent.runs
        assert labels.get(STATE) == state, labels.get(STATE)
        return True
    wait_for(f"{machine.name} {state}", there)


def managed(rack, cuts, model=A100_80, **more):
    return rack.add(Machine("gpu-1", model, cuts, MigManager(seconds=SHORT, **{"lag": 0, **more})))


SEVENTH, HALF, WHOLE = "1g.10gb", "3g.40gb", "7g.80gb"


def test_mig_manager_applies_the_entry_that_its_label_names(cluster, rack):
    machine = managed(rack, [[WHOLE], [HALF, HALF]])
    write_file(cluster, machine, cut=entry([0], **{SEVENTH: 7}))
    wait_for("its file", machine.agent.entries)
    label(machine, "cut")
    wait_state(cluster, machine, "success", 1)
    wait_allocatable(cluster, "gpu-1", **{SEVENTH: 7, HALF: 2})
    assert machine.cut() == [[SEVENTH] * 7, [HALF] * 2]
    labels = cluster.plane.get(machine.path)["metadata"]["labels"]
    assert labels[f"nvidia.com/mig-{SEVENTH}.count"] == "7"
    assert f"nvidia.com/mig-{WHOLE}.count" not in labels


def test_mig_manager_fails_at_an_entry_that_its_file_does_not_have_yet(cluster, rack):
    machine = managed(rack, [[WHOLE]], lag=3600)
    write_file(cluster, machine, first=entry([0], **{HALF: 2}), second=entry([0], **{HALF: 2}))
    label(machine, "first")
    wait_state(cluster, machine, "failed", 1)
    # its pod has changed, so the kubelet brings the file; that alone triggers nothing
    cluster.plane.patch(f"/api/v1/namespaces/{NAMESPACE}/pods/{machine.agent.pod}",
                        {"metadata": {"annotations": {"nudged": "yes"}}})
    wait_for("its file", machine.agent.entries)
    assert machine.agent.runs == [("first", "failed")]
    label(machine, "second")
    wait_state(cluster, machine, "success", 2)
    assert machine.cut() == [[HALF] * 2]


def test_mig_manager_applies_when_it_starts_what_its_label_names(cluster, rack):
    machine = managed(rack, [[WHOLE]], lag=3600)
    write_file(cluster, machine, late=entry([0], **{HALF: 2}))
    label(machine, "late")
    wait_state(cluster, machine, "failed", 1)
    machine.agent.restart()
    wait_state(cluster, machine, "success", 2)
    assert machine.cut() == [[HALF] * 2]


def test_mig_manager_skips_a_gpu_that_is_as_wanted_and_fails_at_one_in_use(cluster, rack):
    machine = managed(rack, [[HALF, SEVENTH], [HALF, SEVENTH], [WHOLE]])
    first = run(cluster, machine, "first", f"nvidia.com/mig-{HALF}")
    busy = next(iter(first))[1]
    write_file(cluster, machine, same=entry([busy], **{HALF: 1, SEVENTH: 1}), other=entry([2], **{HALF: 2}),
               fatal=entry("all", **{SEVENTH: 7}))
    wait_for("its file", machine.agent.entries)
    label(machine, "same")
    wait_state(cluster, machine, "success", 1)
    label(machine, "other")
    wait_state(cluster, machine, "success", 2)
    assert machine.where(cluster.pod("first")) == first
    assert machine.cut()[busy] == [SEVENTH, HALF] and not rack.wrong()
    label(machine, "fatal")
    wait_state(cluster, machine, "failed", 3)
    assert machine.cut()[busy] == [HALF], "the free one is gone"
    assert machine.where(cluster.pod("first")) == first
    assert len(rack.faults) == 1
    rack.faults.clear()


@pytest.mark.parametrize("mishap, state, cut", [
    ("wedged", "pending", [WHOLE]), ("failed", "failed", [WHOLE]), ("half", "failed", []), ("busy", "failed", [WHOLE]),
    ("lying", "success", [WHOLE]), ("late", "success", [HALF, HALF]), ("silent", None, [WHOLE])])
def test_mig_manager_goes_wrong_on_demand(cluster, rack, mishap, state, cut):
    machine = managed(rack, [[WHOLE]])
    machine.agent.mishaps.append(mishap)
    write_file(cluster, machine, cut=entry([0], **{HALF: 2}))
    wait_for("its file", machine.agent.entries)
    label(machine, "cut")
    wait_state(cluster, machine, state, 1)
    assert machine.cut() == [cut]
    if mishap in ("wedged", "late"):
        assert allocatable(cluster, "gpu-1") == {}


def test_a_node_may_go_while_mig_manager_cuts_it(cluster, rack):
    machine = managed(rack, [[WHOLE]])
    machine.agent.mishaps.append("gone")
    write_file(cluster, machine, cut=entry([0], **{HALF: 2}))
    wait_for("its file", machine.agent.entries)
    label(machine, "cut")
    wait_for("it is gone", lambda: not cluster.nodes())


def test_under_strategy_single_an_instance_is_a_gpu(cluster, rack):
    machine = rack.add(Machine("gpu-1", A100_80, [[HALF] * 2, [HALF] * 2], single=True,
                               agent=MigManager(seconds=SHORT, lag=0)))
    assert allocatable(cluster, "gpu-1") == {"nvidia.com/gpu": 4}
    write_file(cluster, machine, cut=entry("all", **{SEVENTH: 7}))
    wait_for("its file", machine.agent.entries)
    label(machine, "cut")
    wait_for("its instances", lambda: allocatable(cluster, "gpu-1") == {"nvidia.com/gpu": 14})
    labels = cluster.plane.get(machine.path)["metadata"]["labels"]
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"
    assert (labels["nvidia.com/gpu.count"], labels["nvidia.com/gpu.memory"]) == ("14", "10240")


def test_the_kubelet_gives_another_instance_than_was_forecast(cluster, rack):
    machine = rack.add(Machine("gpu-1", A100_80, [[HALF] * 2] * 2))
    cluster.add(on(machine, "pod", f"nvidia.com/mig-{HALF}", "1/4"))
    place, = wait_for("its instance", lambda: machine.where(cluster.pod("pod")))
    assert place[:3] != ("gpu-1", 1, 4)
    cluster.delete_pod("pod")
    wait_for("its end", lambda: not machine.admitted)


def test_a_pod_on_a_machine_that_has_nothing_for_it_is_found(cluster, rack):
    machine = rack.add(Machine("gpu-1", A100_80, [[WHOLE]]))
    resource = f"nvidia.com/mig-{WHOLE}"
    run(cluster, machine, "first", resource)
    cluster.add(on(machine, "second", resource))
    assert "second was bound to gpu-1, where 0 of 1" in wait_for("it is found", lambda: rack.faults)[0]
    rack.faults.clear()


# ---- nos ----

def annotations(cluster, machine):
    found = cluster.plane.get(machine.path)["metadata"]["annotations"]
    return {key.partition("/")[2]: text for key, text in found.items() if "status-" in key}


def spec(machine, plan, *counts):
    """counts: (GPU, profile, count)"""
    machine.patch(annotations={SPEC_PLAN: plan, **{
        f"nos.nebuly.com/spec-gpu-{gpu}-{profile}": str(count) for gpu, profile, count in counts}})


def wait_plan(cluster, machine, plan):
    wait_for(f"plan {plan}", lambda: annotations(cluster, machine).get(
        STATUS_PLAN.partition("/")[2]) == plan)


def test_nos_agent_makes_what_its_spec_says_of_what_is_free(cluster, rack):
    machine = rack.add(Machine("gpu-1", A100_80, [[HALF, HALF], [WHOLE]],
                               NosAgent(seconds=SHORT, every=0.1)))
    first = run(cluster, machine, "first", f"nvidia.com/mig-{HALF}")
    wait_for("the report", lambda: annotations(cluster, machine) == {
        f"status-gpu-0-{HALF}-used": "1", f"status-gpu-0-{HALF}-free": "1",
        f"status-gpu-1-{WHOLE}-free": "1"})
    spec(machine, "one", (0, HALF, 1), (0, SEVENTH, 3), (1, WHOLE, 1))
    wait_cut(machine, [[HALF, *[SEVENTH] * 3], [WHOLE]])
    wait_plan(cluster, machine, "one")
    wait_allocatable(cluster, "gpu-1", **{HALF: 1, SEVENTH: 3, WHOLE: 1})
    assert machine.where(cluster.pod("first")) == first
    assert not rack.wrong()

    spec(machine, "two", (0, HALF, 0), (0, SEVENTH, 7))
    wait_plan(cluster, machine, "two")
    assert machine.where(cluster.pod("first")) == first
    wait_cut(machine, [[HALF], [WHOLE]])  # the free ones go first, and seven do not fit beside it
    assert "leaves out {'3g.40gb': 1}" in wait_for("the fault", lambda: rack.faults)[0]
    rack.faults.clear()


def test_nos_agent_cannot_parse_names_with_more_dashes(cluster, rack):
    machine = rack.add(Machine("gpu-1", A100_80, [[WHOLE]], NosAgent(seconds=SHORT)))
    spec(machine, "one", (0, WHOLE, 1), (0, "1g.10gb-me", 1))
    wait_plan(cluster, machine, "one")
    assert "cannot parse" in rack.faults.pop()
    assert not rack.wrong()


@pytest.mark.parametrize("mishap, cut", [
    ("silent", [WHOLE]), ("failed", []), ("lying", [WHOLE]), ("late", [HALF, HALF])])
def test_nos_agent_goes_wrong_on_demand(cluster, rack, mishap, cut):
    machine = rack.add(Machine("gpu-1", A100_80, [[WHOLE]], NosAgent(seconds=SHORT, every=0.1)))
    machine.agent.mishaps.append(mishap)
    spec(machine, "one", (0, WHOLE, 0), (0, HALF, 2))
    wait_cut(machine, [cut])
    wait_for("it read the plan", lambda: machine.agent.plans == ["one"])
    if mishap != "silent":
        wait_plan(cluster, machine, "one")
    if mishap == "lying":
        wait_for("the lie", lambda: f"status-gpu-0-{HALF}-free" in annotations(cluster, machine))
    if mishap == "late":
        wait_for("no device plugin", lambda: allocatable(cluster, "gpu-1") == {})


# ---- slices of memory ----

def share(*resources):
    """The device plugin's configuration. resources: (GPU, GB, how many)"""
    return yaml.safe_dump({"version": "v1", "flags": {"migStrategy": "none"}, "sharing": {"mps": {
        "failRequestsGreaterThanOne": True, "resources": [
            {"name": "nvidia.com/gpu", "rename": f"gpu-{size}gb", "memoryGB": size, "replicas": count,
             "devices": [str(gpu)]} for gpu, size, count in resources]}}})


def test_the_device_plugin_shares_memory_as_its_file_says(cluster, rack):
    machine = rack.add(Machine("gpu-1", A100, [[], ["10gb"]], MpsPlugin(seconds=SHORT, every=0.1)))
    assert allocatable(cluster, "gpu-1") == {"nvidia.com/gpu": 1, "nvidia.com/gpu-10gb": 1}
    first = run(cluster, machine, "first", "nvidia.com/gpu-10gb")
    wait_for("the report", lambda: annotations(cluster, machine) == {"status-gpu-1-10gb-used": "1"})
    one = share((0, 10, 2), (0, 20, 1), (1, 10, 1), (1, 5, 6))
    write_data(cluster, machine.agent.file, {"gpu-1-one": one, "gpu-1-two": share((0, 40, 1))})
    wait_for("its file", machine.agent.file.data)
    machine.patch(labels={"nvidia.com/device-plugin.config": "gpu-1-one"})
    wait_for("the slices", lambda: allocatable(cluster, "gpu-1") == {
        "nvidia.com/gpu-5gb": 6, "nvidia.com/gpu-10gb": 3, "nvidia.com/gpu-20gb": 1})
    assert machine.where(cluster.pod("first")) == first
    assert not rack.wrong()
    machine.patch(labels={"nvidia.com/device-plugin.config": "gpu-1-two"})
    assert "GPU 1 with {'10gb': 1} in use" in wait_for("the fault", lambda: rack.faults)[0]
    rack.faults.clear()
    assert machine.where(cluster.pod("first")) == first


def test_the_device_plugin_ignores_what_its_file_does_not_have_yet(cluster, rack):
    machine = rack.add(Machine("gpu-1", A100, [["40gb"]], MpsPlugin(seconds=SHORT, lag=3600)))
    write_data(cluster, machine.agent.file, {"gpu-1-one": share((0, 10, 4))})
    machine.patch(labels={"nvidia.com/device-plugin.config": "gpu-1-one"})
    wait_for("it looked", lambda: machine.agent.runs == [("gpu-1-one", False)])
    assert machine.cut() == [["40gb"]] and allocatable(cluster, "gpu-1") == {"nvidia.com/gpu-40gb": 1}
