"""Where it goes: a story for each kind of slice, with the queue behind gates. What the queue nominates for a
pod is what the scores chose, and is what the pod gets."""

import contextlib
import functools
import random
import signal
import threading

import pytest

from harness import gpus
from harness.api import object_path
from harness.checker import ask_of
from harness.cluster import gates_of
from harness.gpushare_plugin import GpusharePlugin
from harness.process import wait_for

GPU = "nvidia.com/gpu"
SHARED = "nvidia.com/gpu.shared"
MEMORY = "aliyun.com/gpu-mem"
MIG = "nvidia.com/mig-"
ASSIGNMENT = "sliced.dev/assignment"


@contextlib.contextmanager
def scheduler_halted(cluster):
    """kube-scheduler does nothing meanwhile: what is nominated stays nominated."""
    scheduler = cluster.plane.processes["kube-scheduler"]
    scheduler.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        scheduler.signal(signal.SIGCONT)


def pod(name, asks, node=None, product=None, **says):
    """says: gpu_memory="4Gi" becomes the annotation sliced.dev/gpu-memory."""
    made = gpus.pod(name, asks, annotations={
        f"sliced.dev/{key.replace('_', '-')}": text for key, text in says.items()})
    if MEMORY in asks:
        made["metadata"]["annotations"]["sliced.dev/e2e-gpushare"] = "yes"
    selector = {"kubernetes.io/hostname": node, "nvidia.com/gpu.product": product}
    made["spec"]["nodeSelector"] = {key: text for key, text in selector.items() if text}
    return made


def nominations_of(daemon):
    """{name: (node, assignment)} of those that the queue has set devices aside for."""
    return {row["name"]: (row["nomination"]["node"], row["nomination"]["assignment"])
            for row in daemon.json("/api/v1/queue")["items"] if row["nomination"]}


def place_of(found):
    return found["spec"].get("nodeName"), found["metadata"]["annotations"].get(ASSIGNMENT)


def place(cluster, daemon, *pods):
    """Adds the pods, one after the other, and returns {name: (node, assignment)}. Each must have been
    nominated and explained exactly so before kube-scheduler came to it."""
    names = [each["metadata"]["name"] for each in pods]

    def has_nomination(name):
        assert name in nominations_of(daemon), daemon.get("/api/v1/queue?output=table")[1]
        return True

    def all_are_let_go():
        found = cluster.pods()
        return not any(gates_of(found[name]) for name in names)
    with scheduler_halted(cluster):
        for each in pods:
            cluster.add(each)
            name = each["metadata"]["name"]
            wait_for("it is nominated", functools.partial(has_nomination, name), 20)  # before a nomination expires
        nominations = nominations_of(daemon)
        wait_for("all are nominated and let go", all_are_let_go)
        for name in names:
            told = daemon.json(f"/api/v1/pods/default/{name}/explain")["queue"]["nomination"]
            assert (told["node"], told["assignment"]) == nominations[name]
    found = cluster.wait_bound(*names)
    places = {name: place_of(found[name]) for name in names}
    assert places == {name: nominations[name] for name in names}
    return places


def held(cluster, daemon, made, text):
    """Adds a pod that has to wait behind its gate, and is told why."""
    name = made["metadata"]["name"]
    cluster.add(made)

    def waits():
        rows = {row["name"]: row for row in daemon.json("/api/v1/queue")["items"]}
        assert name in rows and rows[name]["state"] != "Nominated", rows
        explained = daemon.json(f"/api/v1/pods/default/{name}/explain")
        reasons = [row["text"] for row in explained["nodes"]]
        assert any(text in each for each in reasons), reasons
        return True
    wait_for(f"{name} waits", waits)
    assert gates_of(cluster.pod(name)) == ["sliced.dev/queue"]


def on(node, resource, *parts):
    return node, f"{resource}={','.join(parts)}"


# ---- MIG ----

def test_single_strategy_gives_each_pod_the_smallest_instance_it_accepts(cluster, gated):
    """The resource does not say how large an instance is: the pod does."""
    cluster.add(gpus.single("a30-1g", "NVIDIA-A30", "1g.6gb", 5952, 4),
                gpus.single("a30-2g", "NVIDIA-A30", "2g.12gb", 12032, 2),
                gpus.single("a100-3g", "NVIDIA-A100-SXM4-40GB", "3g.20gb", 20096, 2))
    daemon = gated()
    places = place(cluster, daemon,
                   pod("wants-10g", {GPU: 1}, min_gpu_memory="10Gi"),
                   pod("wants-4g", {GPU: 1}, min_gpu_memory="4Gi"),
                   pod("wants-16g", {GPU: 1}, min_gpu_memory="16Gi"),
                   pod("says-nothing", {GPU: 1}))
    assert places == {"wants-10g": on("a30-2g", GPU, "0/0"), "wants-4g": on("a30-1g", GPU, "0/0"),
                      "wants-16g": on("a100-3g", GPU, "0/0"), "says-nothing": on("a30-1g", GPU, "0/1")}
    # a larger one only when there is no other
    places = place(cluster, daemon,
                   *(pod(f"more-4g-{i}", {GPU: 1}, min_gpu_memory="4Gi") for i in range(3)))
    assert sorted(node for node, _ in places.values()) == ["a30-1g", "a30-1g", "a30-2g"]
    assert place(cluster, daemon, pod("more-10g", {GPU: 1}, min_gpu_memory="10Gi")) == {
        "more-10g": on("a100-3g", GPU, "0/4")}
    held(cluster, daemon, pod("last-4g", {GPU: 1}, min_gpu_memory="4Gi"), "0 free of")
    held(cluster, daemon, pod("wants-40g", {GPU: 1}, min_gpu_memory="40Gi"), "the largest has 20096 MiB")


def test_mixed_strategy_knows_media_engines_from_other_slices(cluster, gated):
    """The profile is 1g.5gb+me, the resource and its labels are spelled 1g.5gb.me."""
    me, one, three = MIG + "1g.5gb.me", MIG + "1g.5gb", MIG + "3g.20gb"
    cluster.add(gpus.a100_me("a100-me"), gpus.a100_mixed("a100"), gpus.h100_mixed("h100"))
    daemon = gated()
    places = place(cluster, daemon, pod("video", {me: 1}), pod("both", {me: 1, three: 1}),
                   pod("pair", {MIG + "2g.10gb": 2}), pod("half", {MIG + "3g.40gb": 1}))
    assert places["video"] == on("a100-me", me, "0/6")
    assert places["both"] == ("a100-me", f"{me}=1/6;{three}=0/0")
    assert places["pair"] == on("a100-me", MIG + "2g.10gb", "1/0", "1/2")
    assert places["half"][0] == "h100"
    held(cluster, daemon, pod("more-video", {me: 1}), f"{me}: 1 asked, 0 free of 2")
    # those without are there still, and are given to who asks for no more
    places = place(cluster, daemon, *(pod(f"plain-{i}", {one: 3}) for i in range(4)))
    assert sorted(node for node, _ in places.values()) == ["a100", "a100", "a100", "a100-me"]
    cluster.delete_pod("video")
    cluster.wait_bound("more-video")
    assert place_of(cluster.pod("more-video")) == on("a100-me", me, "0/6")


# ---- replicas ----

def test_replicas_share_a_gpu_by_the_memory_their_pods_declare(cluster, gated):
    """Time-slicing isolates no memory: a replica is free, and its GPU may still be full."""
    cluster.add(gpus.t4_shared("renamed", gpus=2), gpus.replicas("plain"))
    daemon = gated()
    for resource, node in ((SHARED, "renamed"), (GPU, "plain")):
        name = node.replace("named", "")
        places = place(cluster, daemon,
                       *(pod(f"{name}-10g-{i}", {resource: 1}, gpu_memory="10Gi") for i in range(2)))
        assert set(places.values()) == {on(node, resource, "0"), on(node, resource, "1")}
        held(cluster, daemon, pod(f"{name}-10g-2", {resource: 1}, gpu_memory="10Gi"),
             "1 asked with 10240 MiB of GPU memory each, 0 can be had with that now")
        places = place(cluster, daemon,
                       pod(f"{name}-5000", {resource: 1}, gpu_memory="5000Mi"),
                       pod(f"{name}-pair", {resource: 2}, gpu_memory="100"),
                       pod(f"{name}-silent", {resource: 1}))
        assert places[f"{name}-pair"] == on(node, resource, "0", "1")
        cluster.delete_pod(f"{name}-10g-1")
        cluster.wait_bound(f"{name}-10g-2")


def test_mps_and_plugins_that_give_one_replica_a_request(cluster, gated):
    cluster.add(gpus.replicas("mps", gpus=2, mps=True), gpus.replicas("strict", one_each=True))
    daemon = gated()
    # a client of MPS has a fourth of 15360 MiB, and no more
    places = place(cluster, daemon,
                   *(pod(f"client-{i}", {GPU: 1}, "mps", gpu_memory="3840") for i in range(8)))
    assert sorted(text for _, text in places.values()) == [f"{GPU}=0"] * 4 + [f"{GPU}=1"] * 4
    held(cluster, daemon, pod("ninth", {GPU: 1}, "mps"), "0 free of 8")
    held(cluster, daemon, pod("big-client", {GPU: 1}, "mps", gpu_memory="4Gi"),
         "the largest has 3840 MiB")
    held(cluster, daemon, pod("two", {GPU: 2}), "gives a container one replica at most")
    pair = pod("pair", {GPU: 1}, "strict")  # each container is judged alone
    pair["spec"]["containers"].append({**pair["spec"]["containers"][0], "name": "side"})
    places = place(cluster, daemon, pair, *(pod(f"one-{i}", {GPU: 1}, "strict") for i in range(2)))
    assert set(places) == {"pair", "one-0", "one-1"}


def test_what_a_device_class_offers_is_said_to_be_so(cluster, gated):
    classes = "/apis/resource.k8s.io/v1/deviceclasses"
    cluster.plane.post(classes, {
        "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "e2e-mig"},
        "spec": {"extendedResourceName": f"{MIG}1g.5gb", "selectors": [{"cel": {"expression": "true"}}]}})
    try:
        cluster.add(gpus.whole("whole"))
        daemon = gated()
        held(cluster, daemon, pod("by-class", {f"{MIG}1g.5gb": 1}), "a DeviceClass offers it (DRA)")
        held(cluster, daemon, pod("by-nobody", {f"{MIG}2g.10gb": 1}), "not offered by this node")
        wait_for("the queue says so", lambda: {
            row["name"]: row["reason"] for row in daemon.json("/api/v1/queue")["items"]} == {
                "by-class": "DeviceClass", "by-nobody": "Never"})
    finally:
        cluster.plane.delete(f"{classes}/e2e-mig")


# ---- shares of memory ----

def chosen_gpus(places):
    """{name: (node, GPU)} of those that share memory."""
    return {name: (node, int(text.partition("=")[2].partition("*")[0]))
            for name, (node, text) in places.items() if text.startswith(MEMORY)}


def serve(cluster, plugin, count):
    """Lets kubelet start all that are bound, so many at least."""
    wait_for("the plugin knows all", lambda: len(plugin.bound) >= count)

    def run():
        plugin.serve()  # the queue may let some more go meanwhile
        pods = cluster.pods()
        waiting = [name for _, name, _, _ in plugin.bound if pods[name]["status"]["phase"] != "Running"]
        assert not waiting, {name: plugin.given.get(name, "not served") for name in waiting}
        return pods
    return wait_for("they run", run)


def test_shares_of_memory_go_to_the_gpu_that_the_device_plugin_gives(cluster, gated):
    """Beside gpushare's device plugin, which is told nothing but what stands on the pods."""
    cluster.add(gpus.gpushare_of("mixed-sizes", (16, 24, 32)), gpus.gpushare_of("alike", (16, 16)))
    daemon = gated()
    with GpusharePlugin(cluster.plane) as plugin:
        two = pod("two-parts", {MEMORY: 0})
        two["spec"]["containers"] = [
            {"name": name, "image": "train", "resources": {"limits": {MEMORY: units}}}
            for name, units in (("main", "10"), ("none", "0"))]
        places = place(cluster, daemon, pod("s20", {MEMORY: 20}), pod("s30", {MEMORY: 30}),
                       pod("s14", {MEMORY: 14}), two)
        assert places["s20"] == on("mixed-sizes", MEMORY, "1*20")
        assert places["s30"] == on("mixed-sizes", MEMORY, "2*30")
        serve(cluster, plugin, 4)
        assert plugin.given == {name: gpu for name, (_, gpu) in chosen_gpus(places).items()}

        # equal asks, all bound before the kubelet starts one: the plugin cannot tell them apart
        equal = place(cluster, daemon, *(pod(f"equal-{i}", {MEMORY: 2}) for i in range(8)))
        places.update(equal)
        serve(cluster, plugin, len(places))
        given = sorted((node, plugin.given[name]) for name, (node, _) in equal.items())
        assert given == sorted(chosen_gpus(equal).values()), "a GPU has another sum than was chosen"
    held(cluster, daemon, pod("s33", {MEMORY: 33}), "one GPU of this node has at most 32")
    held(cluster, daemon, pod("s25", {MEMORY: 25}), "25 asked, one GPU of this node has at most 16")


def test_equal_shares_get_each_its_own_gpu_when_bound_one_after_the_other(cluster, gated):
    cluster.add(gpus.gpushare("v100", gpus=3, units=32))
    daemon = gated({"gpushare": {"oneEqualShare": True}})
    names = [f"equal-{i}" for i in range(3)]
    with GpusharePlugin(cluster.plane) as plugin:
        cluster.add(*(pod(name, {MEMORY: 20}) for name in names))
        wait_for("one is bound", lambda: len(plugin.bound) == 1)
        cluster.wait_event(next(name for name in names if name != plugin.bound[0][1]), "plugin")
        assert len(plugin.bound) == 1, "the next was bound before the plugin had taken the first"

        def all_run():
            plugin.serve()
            return len(plugin.given) == 3
        wait_for("all have their GPUs", all_run)
    places = {name: place_of(cluster.pod(name)) for name in names}
    assert plugin.given == {name: gpu for name, (_, gpu) in chosen_gpus(places).items()}
    assert sorted(plugin.given.values()) == [0, 1, 2]


def test_a_share_goes_to_two_gpus_where_the_nodes_plugin_takes_a_list(cluster, gated):
    several = gpus.gpushare("several", gpus=2, units=16)
    several["metadata"]["labels"]["sliced.dev/gpushare-several-gpus"] = "true"
    cluster.add(several, gpus.gpushare("one", gpus=2, units=8))
    daemon = gated()
    wide = pod("wide", {MEMORY: 24})
    wide["metadata"]["labels"] = {"aliyun.com/gpu-count": "2"}
    assert place(cluster, daemon, wide) == {"wide": on("several", MEMORY, "0*12", "1*12")}
    marks = cluster.pod("wide")["metadata"]["annotations"]
    assert {key: marks[f"ALIYUN_COM_GPU_MEM_{key}"] for key in ("IDX", "DEV", "POD")} == {
        "IDX": "0,1", "DEV": "16", "POD": "24"}
    held(cluster, daemon, pod("narrow", {MEMORY: 9}), "one GPU of this node has at most 8")


@pytest.fixture
def allowed_to_watch(cluster):
    """What the chart adds for gpushare.unhealthyGpus, for as long as the story goes on."""
    names = {(each["kind"], each["metadata"]["name"]) for each in cluster.objects}
    values = {"gpushare": {"unhealthyGpus": True}, "queue": {"gate": "none"}}  # see cluster.objects
    added = [each for each in cluster.helm.objects(values, cluster.plane.minor)
             if (each["kind"], each["metadata"]["name"]) not in names]
    cluster.add(*added)
    yield added
    for each in added:
        cluster.plane.delete(object_path(each))


def test_nothing_goes_to_gpus_that_gpushares_configmap_lists(cluster, gated, allowed_to_watch):
    assert {each["kind"] for each in allowed_to_watch} == {"Role", "RoleBinding"}
    cluster.add(gpus.gpushare("v100", gpus=2, units=32))
    daemon = gated({"gpushare": {"unhealthyGpus": True}})
    listed = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"gpus": "0"},
              "metadata": {"name": "unhealthy-gpu-v100", "namespace": "kube-system"}}
    cluster.add(listed)
    try:
        wait_for("it is known",
                 lambda: not daemon.json("/api/v1/nodes/v100")["devices"][0]["healthy"])
        assert place(cluster, daemon, pod("s4", {MEMORY: 4})) == {"s4": on("v100", MEMORY, "1*4")}
        held(cluster, daemon, pod("s30", {MEMORY: 30}), "on healthy GPUs")
    finally:
        cluster.plane.delete(object_path(listed))
    cluster.wait_bound("s30")
    assert place_of(cluster.pod("s30")) == on("v100", MEMORY, "0*30")


# ---- whole GPUs ----

def test_whole_gpus_are_kept_together_for_those_who_want_many(cluster, gated):
    cluster.add(*(gpus.whole(f"h100-{i}") for i in range(2)),
                gpus.node("v100", {GPU: 4}, gpus.gpu_labels("Tesla-V100-SXM2-16GB", 4, 16384)))
    daemon = gated()
    eight = {GPU: 8}
    place(cluster, daemon, pod("all-eight", eight))
    cluster.delete_pod("all-eight")
    # few want eight: those who want one or two leave a node of eight alone
    places = place(cluster, daemon, *(pod(f"one-{i}", {GPU: 1}) for i in range(4)))
    assert {node for node, _ in places.values()} == {"v100"}
    places = place(cluster, daemon, pod("two", {GPU: 2}), pod("three", {GPU: 3}),
                   pod("one-more", {GPU: 1}), pod("large", {GPU: 1}, min_gpu_memory="40Gi"))
    broken = {node for node, _ in places.values()}
    assert len(broken) == 1, f"two nodes of eight are broken: {places}"
    untouched = ({"h100-0", "h100-1"} - broken).pop()
    assert place(cluster, daemon, pod("again-eight", eight)) == {
        "again-eight": on(untouched, GPU, *map(str, range(8)))}
    held(cluster, daemon, pod("late-eight", eight), "1 free of 8")
    held(cluster, daemon, pod("v100-only", {GPU: 1}, product="Tesla-V100-SXM2-16GB"), "0 free of 4")
    held(cluster, daemon, pod("huge", {GPU: 1}, min_gpu_memory="90Gi"), "the largest has 81559 MiB")
    cluster.delete_pod("one-2")
    cluster.wait_bound("v100-only")


# ---- all of them ----

def everything():
    return [gpus.a30_mixed("a30-mixed"), gpus.a30_single("a30-single"), gpus.a100_me("a100-me"),
            gpus.a100_mixed("a100"), gpus.h100_mixed("h100-mig"), gpus.t4_shared("t4-renamed"),
            gpus.replicas("t4-plain", gpus=3), gpus.replicas("t4-mps", mps=True),
            gpus.gpushare("v100-share", gpus=3), gpus.gpushare_of("share-sizes", (16, 24, 24, 32)),
            gpus.whole("h100-whole"), gpus.whole("h100-half", gpus=4)]


def anything(draw, number):
    """A pod of a kind drawn at random."""
    name = f"pod-{number:03}"
    kind = draw.choice(("mig", "mig", "me", "single", "renamed", "renamed", "plain", "mps", "share",
                        "share", "share", "whole", "whole"))
    if kind == "mig":
        asks = [{MIG + "1g.6gb": 1}, {MIG + "1g.6gb": 2}, {MIG + "1g.5gb": 1}, {MIG + "2g.10gb": 1},
                {MIG + "3g.20gb": 1}, {MIG + "3g.40gb": 1}, {MIG + "1g.20gb": 1},
                {MIG + "1g.5gb": 1, MIG + "2g.10gb": 1}]
        return pod(name, draw.choice(asks))
    if kind == "me":
        return pod(name, {MIG + "1g.5gb.me": 1})
    if kind == "single":
        return pod(name, {GPU: 1}, "a30-single", min_gpu_memory="5000")
    if kind == "renamed":
        return pod(name, {SHARED: draw.choice((1, 1, 2))}, gpu_memory=draw.choice(("2Gi", "6Gi")))
    if kind in ("plain", "mps"):
        return pod(name, {GPU: 1}, f"t4-{kind}", gpu_memory=draw.choice(("1Gi", "3Gi")))
    if kind == "share":
        return pod(name, {MEMORY: draw.choice((2, 4, 4, 8, 12, 20, 30))})
    return pod(name, {GPU: draw.choice((1, 1, 2, 4))}, min_gpu_memory="40Gi")


class Nominations:
    """Asks for the nominations all the time, and keeps the last one of each pod."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.last = {}
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()

    def _run(self):
        while not self.ending.wait(0.01):
            with contextlib.suppress(Exception):  # it asks again: an end of the thread would see no more
                self.last.update(nominations_of(self.daemon))


def settled(cluster, daemon, count):
    """Each of so many pods is bound, or waits: no node that it may go to has room, or starting it would
    delay a pod that waits for more."""
    def check():
        pods = cluster.pods()
        assert len(pods) == count
        waiting = [name for name, each in pods.items() if not each["spec"].get("nodeName")]
        state = daemon.state()["cluster"]
        assert state["waiting"] == len(waiting), state
        for name in waiting:
            allowed = pods[name]["spec"].get("nodeSelector", {}).get("kubernetes.io/hostname")
            told = daemon.json(f"/api/v1/pods/default/{name}/explain")
            assert "nodes" in told, "bound meanwhile"
            fits = [row["name"] for row in told["nodes"]
                    if row["fits"] and allowed in (None, row["name"])]
            assert not fits or told["queue"]["reason"] in ("Behind", "Promise"), (
                f"{name} would fit on {fits}: {told['queue']['text']}")
        return pods
    return wait_for("all that fit are bound", check, 120, 0.3)


@pytest.mark.both
def test_pods_of_every_kind_at_once_are_given_nothing_twice(cluster, gated):
    """Two rounds of pods; who was there in the first and ended makes room for who waits."""
    draw = random.Random(20261121)
    made = [anything(draw, number) for number in range(150)]
    cluster.add(*everything())
    daemon = gated()
    with GpusharePlugin(cluster.plane) as plugin, Nominations(daemon) as nominations:
        cluster.add(*made[:110])
        first = settled(cluster, daemon, 110)
        assert cluster.wrong() == []
        bound = [name for name, each in sorted(first.items()) if each["spec"].get("nodeName")]
        assert len(bound) > 60
        pods = serve(cluster, plugin, sum(MEMORY in ask_of(first[name]) for name in bound))
        chosen = chosen_gpus({name: place_of(pods[name]) for name in plugin.given})
        given = [(chosen[name][0], gpu) for name, gpu in plugin.given.items()]
        assert sorted(given) == sorted(chosen.values())
        for name in bound[::3]:
            cluster.delete_pod(name)
        cluster.add(*made[110:])
        last = settled(cluster, daemon, 150 - len(bound[::3]))
    assert cluster.wrong() == []
    kinds = {resource for each in last.values() if each["spec"].get("nodeName")
             for resource in ask_of(each)}
    assert {GPU, SHARED, MEMORY, MIG + "1g.5gb.me", MIG + "1g.6gb"} <= kinds
    seen = {name: nomination for name, nomination in nominations.last.items() if name in last and place_of(last[name])[0]}
    assert len(seen) > 20, "too few nominations were seen to say anything"
    assert seen == {name: place_of(last[name]) for name in seen}
    print(f"{len(bound)} bound in the first round, {len(seen)} seen nominated before")
