"""GPUs are shared by what they really do: a real Prometheus, which scrapes a stand-in of dcgm-exporter five
times a second. A T4 has 15360 MiB; what pods use is what the story says. It says so when they run: what is in
use before a pod is there is somebody else's, and the pod comes on top."""

import time

import pytest

from harness import gpus
from harness.checker import BY_USE, GPU_MEM, MARK
from harness.gpushare_plugin import GpusharePlugin
from harness.process import wait_for
from harness.sliced import merge
from harness.telemetry import Exporter, Prometheus

SHARED = "nvidia.com/gpu"
T4 = 15360


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """next() gives an exporter and its Prometheus, of no other story. A Prometheus takes five seconds and more
    until it scrapes: the next story's starts while this one is told."""
    def start():
        exporter = Exporter()
        return exporter, Prometheus(exporter, str(tmp_path_factory.mktemp("prometheus"))).launch()

    def take():
        waiting = [start()]
        try:
            while True:
                waiting.append(start())
                yield waiting.pop(0)
        finally:
            for exporter, prometheus in waiting:
                prometheus.stop()
                exporter.stop()
    made = take()
    yield made
    made.close()


@pytest.fixture
def pair(pairs):
    exporter, prometheus = next(pairs)
    prometheus.wait_scraping()
    yield exporter, prometheus
    prometheus.stop()
    exporter.stop()


@pytest.fixture
def exporter(pair):
    return pair[0]


@pytest.fixture
def prometheus(pair):
    return pair[1]


@pytest.fixture
def measuring(prometheus, gated):
    """start(sharing, config) gives the daemon, which asks Prometheus every second."""
    return lambda sharing="cbp", config=None: gated(merge({"telemetry": {
        "url": prometheus.url, "interval": "250ms", "timeout": "2s", "staleAfter": "4s", "maxGap": "3s",
        "window": 20, "sharing": sharing, "horizon": "10s", "idleAfter": "3s"}}, config or {}))


@pytest.fixture
def asking(exporter, gated):
    """The same without a Prometheus: it asks the exporters."""
    return lambda sharing="cbp": gated({"telemetry": {
        "exporters": f"http://127.0.0.1:{exporter.port}/{{node}}/metrics", "interval": "250ms", "timeout": "2s",
        "staleAfter": "4s", "maxGap": "3s", "window": 20, "sharing": sharing}})


def t4(name, by_use=True):
    """One T4 that is given to eight pods at once."""
    made = gpus.replicas(name, gpus=1, count=8)
    if by_use:
        made["metadata"]["annotations"][BY_USE] = "yes"
    return made


def pod(name, memory, node=None, **more):
    made = gpus.pod(name, {SHARED: 1}, annotations={"sliced.dev/gpu-memory": memory}, **more)
    if node:
        made["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
    return made


def for_ever(made):
    """The pod waits for ever, and explain judges all nodes for it: it excludes none."""
    made["spec"].setdefault("schedulingGates", []).append({"name": "example.com/later"})
    return made


def usage(daemon, node, gpu=0, instance=None):
    for row in daemon.json("/api/v1/usage")["items"]:
        if (row["node"], row["gpu"], row["instance"]) == (node, gpu, instance):
            return row
    raise AssertionError(f"nothing is measured of GPU {gpu} of {node} yet")


def wait_usage(daemon, node, timeout=60, **wanted):
    def as_wanted():
        row = usage(daemon, node)
        assert all(row[key] == each for key, each in wanted.items()), row
        return row
    return wait_for(f"{node} is {wanted}", as_wanted, timeout)


def explained(daemon, name, node):
    """What explain says of that pod and node."""
    for row in daemon.json(f"/api/v1/pods/default/{name}/explain?limit=50")["nodes"]:
        if row["name"] == node:
            return row["text"]
    return ""


def wait_explained(daemon, name, node, *texts):
    wait_for(f"{name} on {node}: {texts}", lambda: all(
        text in explained(daemon, name, node) for text in texts))


def still_waits(cluster, name, seconds=3):
    """A pod that must not be bound: looked at for as long as some answers and plans take."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert not cluster.pod(name)["spec"].get("nodeName"), f"{name} was bound"
        time.sleep(0.2)


def test_pods_share_a_gpu_as_far_as_they_really_use_it(cluster, exporter, measuring):
    """CBP: what is asked for does not fit together, what is used does."""
    cluster.add(t4("t4-1"))
    begin = time.monotonic()
    exporter.use("t4-1", used=0)
    daemon = measuring("cbp")
    cluster.add(pod("first", "12000Mi"))
    cluster.wait_bound("first")
    exporter.use("t4-1", used=4000, util=60)
    cluster.add(pod("second", "8000Mi"))

    def seen():
        return ("short" if "Short" in explained(daemon, "second", "t4-1") else
                "bound" if cluster.pod("second")["spec"].get("nodeName") else None)
    # not before there are 20 samples, five a second: a slow story may find it bound
    assert wait_for("it waits for samples", seen) == "short" or time.monotonic() - begin >= 4
    cluster.wait_bound("second")
    cluster.add(pod("large", "12000Mi"))  # of two that come in one second chance would say which is first
    row = wait_usage(daemon, "t4-1", pods=2)
    assert row["usedMiB"] == 4000 and row["memoryMiB"] == T4
    exporter.use("t4-1", used=7040, util=90)
    wait_usage(daemon, "t4-1", state="Good", timeout=90)
    wait_explained(daemon, "large", "t4-1", "7040 of 15360 MiB used", "by cbp")
    still_waits(cluster, "large")
    table = daemon.get("/api/v1/usage?output=table&by=pod")[1]
    assert "first" in table and "8000" in table, table


def test_pp_gives_what_it_foresees_where_cbp_gives_nothing(cluster, exporter, measuring):
    """Memory that is given back evenly varies too much for CBP, and is foreseen by PP."""
    cluster.add(t4("t4-1"))
    begin = None

    def falls():
        return 0 if begin is None else max(15000 - 840 * (time.time() - begin), 1200)
    exporter.use("t4-1", used=falls)
    daemon = measuring("cbp-pp", {"telemetry": {"window": 60}})
    cluster.add(pod("first", "15000Mi"))
    cluster.wait_bound("first")
    begin = time.time()

    def by_pp():
        nonlocal begin
        if time.time() - begin > 30:  # a stall left a gap in the samples: it falls once more
            begin = time.time()
        row = usage(daemon, "t4-1")
        return row["roomBy"] == "cbp-pp" and row["roomMiB"] > 4000
    wait_for("PP gives room", by_pp, timeout=150)
    cluster.add(pod("second", "4000Mi"))
    cluster.wait_bound("second")


def test_a_leak_stops_further_sharing(cluster, exporter, measuring):
    """Use beyond all asks is taken, whatever the rule."""
    cluster.add(t4("t4-1", by_use=False))
    exporter.use("t4-1", used=2000)
    daemon = measuring("asks")
    cluster.add(pod("leaks", "3000Mi"))
    cluster.wait_bound("leaks")
    exporter.use("t4-1", used=13000)
    wait_for("the leak is seen", lambda: usage(daemon, "t4-1")["overMiB"] >= 10000)
    cluster.add(pod("neighbour", "4000Mi"))
    still_waits(cluster, "neighbour")
    assert daemon.json("/api/v1/nodes/t4-1")["devices"][0]["used"]["overMiB"] >= 10000
    exporter.use("t4-1", used=2500)
    cluster.wait_bound("neighbour")


def test_without_prometheus_pods_share_by_asks(cluster, exporter, prometheus, measuring):
    """Down, stopped in the middle of an answer, and back: nothing is guessed meanwhile."""
    cluster.add(t4("t4-1"))
    exporter.use("t4-1", used=0)
    daemon = measuring("cbp")
    cluster.add(pod("first", "12000Mi"))
    cluster.wait_phase("first", "Running")
    exporter.use("t4-1", used=1000)
    # until twenty samples have shown the pod it may come on top of that; without samples that stays so
    wait_for("the pod's use is its own", lambda: (usage(daemon, "t4-1")["roomMiB"] or 0) > 12000)
    prometheus.process.signal(19)  # SIGSTOP: it takes connections and never answers
    wait_usage(daemon, "t4-1", state="Stale")

    def why():
        state = daemon.json("/api/v1/usage")
        return not state["answered"] and state["error"]
    wait_for("why is told", why)
    cluster.add(pod("by-use", "8000Mi"), pod("by-asks", "3000Mi"))
    cluster.wait_bound("by-asks")
    still_waits(cluster, "by-use")
    assert "No telemetry: " in daemon.get("/api/v1/usage?output=table")[1]
    prometheus.process.signal(18)  # SIGCONT
    cluster.wait_bound("by-use")
    prometheus.process.kill()
    wait_usage(daemon, "t4-1", state="Stale")
    prometheus.start()
    wait_usage(daemon, "t4-1", state="Good", timeout=90)


def test_an_exporter_that_is_gone_or_lies_costs_its_node_alone(cluster, exporter, measuring):
    """One node without its exporter, one whose clock is off, one that counts NaN, one that is well."""
    names = ["t4-gone", "t4-skew", "t4-nan", "t4-well"]
    cluster.add(*(t4(name) for name in names))
    for name in names:
        exporter.use(name, used=0)
    daemon = measuring("cbp")
    for name in names:
        cluster.add(pod(f"first-{name}", "12000Mi", node=name))
    cluster.wait_bound(*(f"first-{name}" for name in names))
    for name in names:
        exporter.use(name, used=1000)
    for name in names:
        wait_usage(daemon, name, state="Good", usedMiB=1000)
    del exporter.nodes["t4-gone"]
    exporter.skew["t4-skew"] = -120
    exporter.use("t4-nan", used=1000, raw="NaN")
    for name in names[:3]:
        wait_usage(daemon, name, state="Stale")
    for name in names:
        cluster.add(pod(f"second-{name}", "8000Mi", node=name))
    cluster.wait_bound("second-t4-well")
    for name in names[:3]:
        still_waits(cluster, f"second-{name}", 1)
        assert "Stale" in explained(daemon, f"second-{name}", name)


def test_without_a_prometheus_exporters_are_asked(cluster, exporter, asking):
    """Two exporters, one of which calls itself by the other's name; then one is gone, and comes back."""
    cluster.add(t4("t4-full"), t4("t4-free"))
    for name in ("t4-full", "t4-free"):
        exporter.use(name, used=0)
    exporter.label_of = {"t4-free": "t4-full"}
    daemon = asking()
    for name in ("t4-full", "t4-free"):
        cluster.add(pod(f"first-{name}", "12000Mi", node=name))
    cluster.wait_bound("first-t4-full", "first-t4-free")
    exporter.use("t4-full", used=13000, util=90)
    exporter.use("t4-free", used=1000, util=20)
    wait_usage(daemon, "t4-full", state="Good", usedMiB=13000)
    wait_usage(daemon, "t4-free", state="Good", usedMiB=1000)
    cluster.add(pod("second", "8000Mi"))
    cluster.wait_bound("second")
    assert cluster.pod("second")["spec"]["nodeName"] == "t4-free"
    gone = exporter.nodes.pop("t4-free")
    wait_usage(daemon, "t4-free", state="Stale")
    state = daemon.json("/api/v1/usage")
    assert state["answered"] and state["error"].startswith("t4-free: HTTP 404"), state
    cluster.add(pod("third", "6000Mi", node="t4-free"))
    still_waits(cluster, "third")
    assert "Stale" in explained(daemon, "third", "t4-free")
    exporter.nodes["t4-free"] = gone
    cluster.wait_bound("third")


def test_what_a_user_writes_on_a_pod_makes_no_room(cluster, exporter, measuring):
    """peaks trusts no word: a workload without a past counts with its asks, whatever it says of itself."""
    cluster.add(t4("t4-1"))
    exporter.use("t4-1", used=500)
    daemon = measuring("peaks")
    cluster.add(pod("first", "12000Mi"))
    cluster.wait_bound("first")
    wait_usage(daemon, "t4-1", state="Good")
    assert usage(daemon, "t4-1")["roomMiB"] <= T4 - 12000
    cluster.add(pod("silent", "0"), pod("second", "8000Mi"))
    still_waits(cluster, "second")


def test_workloads_that_have_shown_their_peaks_share_by_them(cluster, exporter, measuring):
    """Three pods of a workload end after using a quarter of what they declare; then four fit where one did."""
    cluster.add(t4("t4-1"))
    exporter.use("t4-1", used=0)
    daemon = measuring("peaks")
    for life in range(3):
        name = f"life-{life}"
        cluster.add(pod(name, "12000Mi"))
        cluster.wait_bound(name)
        exporter.use("t4-1", used=3000, util=80)
        wait_usage(daemon, "t4-1", state="Good", pods=1)
        cluster.plane.delete(f"/api/v1/namespaces/default/pods/{name}", 0)
        exporter.use("t4-1", used=0)
        wait_usage(daemon, "t4-1", pods=0)
    cluster.add(pod("a", "12000Mi"))
    cluster.wait_bound("a")
    exporter.use("t4-1", used=3000, util=80)
    cluster.add(pod("b", "8000Mi"))
    cluster.wait_bound("b")
    assert usage(daemon, "t4-1")["state"] in ("Good", "Short")


def test_usage_of_mig_instances_and_who_idles(cluster, exporter, measuring):
    """Instances have memory and activity of their own; a GPU on which nothing runs says since when."""
    cluster.add(gpus.a100_mixed("a100-1"), t4("t4-1", by_use=False))
    exporter.use("a100-1", (0, 2), used=9000, util=70, i_id=2, profile="3g.20gb")
    exporter.use("t4-1", used=800, util=0)
    daemon = measuring("asks")
    cluster.add(pod("idles", "3000Mi"))
    cluster.wait_bound("idles")
    wait_for("the instance is seen", lambda: usage(daemon, "a100-1", 0, 2))
    row = usage(daemon, "a100-1", 0, 2)
    assert (row["profile"], row["usedMiB"], row["busyPermille"]) == ("3g.20gb", 9000, 700)

    def idle():
        rows = daemon.json("/api/v1/usage?by=pod")["items"]
        return [each for each in rows if each["name"] == "idles" and each["idle"]]
    assert wait_for("it is seen to idle", idle)[0]["usedMiB"] == 800
    exporter.use("t4-1", used=800, util=50)
    wait_for("it is busy", lambda: not idle())
    good = ("sliced_telemetry_units", frozenset({("state", "Good")}))
    assert daemon.metrics()[good] == 2


def told(cluster, name, reason="GPUIdle"):
    """How often the pod's owner was told."""
    return sum(each.get("series", {}).get("count", 1) for each in cluster.events(name, reason))


def space(daemon, name="default"):
    return {row["namespace"]: row for row in daemon.json("/api/v1/usage?by=namespace")["items"]}[name]


def test_an_owner_is_told_once_that_a_pod_does_nothing(cluster, exporter, measuring):
    """Not while data is loaded for less than the grace, not again after a restart, never of a busy pod beside it."""
    cluster.add(t4("t4-idle", by_use=False), t4("t4-busy", by_use=False))
    exporter.use("t4-idle", used=800, util=0)
    exporter.use("t4-busy", used=0, util=80)
    daemon = measuring("asks")
    cluster.add(pod("idles", "3000Mi", node="t4-idle"), pod("works", "9000Mi", node="t4-busy"))
    cluster.wait_bound("idles", "works")
    exporter.use("t4-busy", used=9000, util=80)
    event = cluster.wait_event("idles", "GPU 0, since 20")
    assert "on what it holds of node t4-idle" in event["message"], event
    assert event["type"] == "Normal" and event["reason"] == "GPUIdle"
    wait_for("it counts", lambda: space(daemon)["idlePods"] == 1)
    assert (space(daemon)["pods"], space(daemon)["devices"], space(daemon)["gpuPermille"]) == (2, 2, 250)
    table = daemon.get("/api/v1/usage?output=table&by=namespace")[1].splitlines()
    assert table[0].split()[:3] == ["NAMESPACE", "PODS", "DEVICES"] and table[1].split()[:4] == [
        "default", "2", "2", "0.25"], table
    assert daemon.metrics()[("sliced_telemetry_idle_pods", frozenset())] == 1
    assert daemon.metrics()[("sliced_telemetry_idle_gpus", frozenset())] == 1
    daemon.stop()
    daemon.start()
    wait_for("it idles to the new process", lambda: space(daemon)["idlePods"] == 1)
    time.sleep(3)
    assert told(cluster, "idles") == 1 and told(cluster, "works") == 0
    exporter.use("t4-idle", used=800, util=40)
    wait_for("it works", lambda: space(daemon)["idlePods"] == 0)


def test_nobody_is_told_of_what_was_not_seen(cluster, exporter, measuring):
    """A gap in the samples ends a spell, and stale samples are no spell."""
    cluster.add(t4("t4-gaps", by_use=False), t4("t4-gone", by_use=False))
    begin = time.time()
    exporter.use("t4-gaps", used=800, util=0)
    exporter.use("t4-gone", used=800, util=0)
    daemon = measuring("asks", {"telemetry": {"idleAfter": "8s", "staleAfter": "13s", "maxGap": "2s"}})
    cluster.add(pod("gaps", "3000Mi", node="t4-gaps"), pod("gone", "3000Mi", node="t4-gone"))
    cluster.wait_bound("gaps", "gone")
    wait_usage(daemon, "t4-gone", pods=1)
    del exporter.nodes["t4-gone"]
    while time.time() - begin < 24:  # seen for two seconds, then not for four
        exporter.use("t4-gaps", used=800, util=0)
        time.sleep(2)
        del exporter.nodes["t4-gaps"]
        time.sleep(4)
    assert told(cluster, "gaps") == 0 and told(cluster, "gone") == 0
    exporter.use("t4-gaps", used=800, util=0)
    cluster.wait_event("gaps", "nothing has run")
    assert told(cluster, "gone") == 0


def test_among_several_gpus_the_exporter_says_who_idles(cluster, exporter, measuring):
    """The kubelet gives pods other GPUs than they were assigned; without its word nobody is told."""
    cluster.add(gpus.node("whole", {"nvidia.com/gpu": 2}, gpus.gpu_labels("Tesla-T4", 2, T4)))
    exporter.use("whole", 0, used=9000, util=80)
    exporter.use("whole", 1, used=800, util=0)
    daemon = measuring("asks")
    cluster.add(gpus.pod("first", {SHARED: 1}))
    cluster.wait_bound("first")
    cluster.add(gpus.pod("second", {SHARED: 1}))
    cluster.wait_bound("second")
    wait_for("GPU 1 idles", lambda: (usage(daemon, "whole", 1)["idleSeconds"] or 0) >= 7)
    assert told(cluster, "first") == 0 and told(cluster, "second") == 0
    exporter.use("whole", 0, used=9000, util=80, pod="default/second")
    exporter.use("whole", 1, used=800, util=0, pod="default/first")
    cluster.wait_event("first", "GPU 1, since")
    assert told(cluster, "second") == 0


def test_use_beyond_what_a_pod_declares_is_told(cluster, exporter, measuring):
    cluster.add(t4("t4-1", by_use=False))
    exporter.use("t4-1", used=2000, util=50)
    daemon = measuring("asks")
    cluster.add(pod("leaks", "3000Mi"))
    cluster.wait_bound("leaks")
    exporter.use("t4-1", used=13000, util=50)
    event = cluster.wait_event("leaks", "it uses 13000 MiB of GPU memory and declares 3000")
    assert event["type"] == "Warning" and event["reason"] == "GPUMemoryExceeded"
    assert daemon.metrics()[("sliced_telemetry_over_pods", frozenset())] == 1
    exporter.use("t4-1", used=2000, util=50)
    wait_for("it is well", lambda: daemon.metrics()[("sliced_telemetry_over_pods", frozenset())] == 0)
    exporter.use("t4-1", used=13000, util=50)
    wait_for("it leaks again", lambda: daemon.metrics()[("sliced_telemetry_over_pods", frozenset())] == 1)
    time.sleep(2)
    assert told(cluster, "leaks", "GPUMemoryExceeded") == 1


def test_a_pod_that_states_a_timeout_and_idles_on_after_a_warning_is_ended(cluster, exporter, measuring):
    """Off unless it is asked for; a pod without a timeout stays, and one that works after its warning."""
    names = ["batch", "service", "saved"]
    cluster.add(*(t4(f"t4-{name}", by_use=False) for name in names))
    for name in names:
        exporter.use(f"t4-{name}", used=800, util=0)
    daemon = measuring("asks", {"telemetry": {"idleDeadline": "15s"}})
    for name in names:
        made = pod(name, "3000Mi", node=f"t4-{name}")
        if name != "service":
            made["spec"]["activeDeadlineSeconds"] = 3600
        cluster.add(made)
    cluster.wait_bound(*names)
    for name in ("batch", "saved"):
        event = cluster.wait_event(name, "if nothing runs there, the pod is ended at 20")
        assert event["type"] == "Warning" and event["reason"] == "GPUIdle"
    exporter.use("t4-saved", used=800, util=60)
    assert cluster.pod("batch")["spec"]["activeDeadlineSeconds"] == 3600
    cluster.wait_phase("batch", "Failed", timeout=120)
    assert cluster.pod("batch")["spec"]["activeDeadlineSeconds"] < 120
    assert cluster.pod("batch")["status"]["reason"] == "DeadlineExceeded"
    assert daemon.metrics()[("sliced_deadlines_total", frozenset({("outcome", "shortened")}))] >= 1
    assert cluster.pod("saved")["spec"]["activeDeadlineSeconds"] == 3600
    assert "activeDeadlineSeconds" not in cluster.pod("service")["spec"]
    assert cluster.pod("service")["status"]["phase"] == "Running"
    assert cluster.events("service", "GPUIdle")[0]["type"] == "Normal"


# ---- contention ----

def score_of(daemon, name, node):
    for row in daemon.json(f"/api/v1/pods/default/{name}/explain?limit=50")["nodes"]:
        if row["name"] == node:
            return row["score"]
    raise AssertionError(f"{node} is not explained")


def test_a_newcomer_lands_beside_the_idle_neighbour(cluster, exporter, measuring):
    """Two T4s with a pod each, one of which works all the time; then they change."""
    nodes = ["t4-busy", "t4-idle"]
    cluster.add(*(t4(name, by_use=False) for name in nodes))
    exporter.use("t4-busy", used=1000, util=96, dram=0.3)
    exporter.use("t4-idle", used=1000, util=2, dram=0.0)
    daemon = measuring("asks")
    cluster.add(pod("works", "1000Mi", node="t4-busy"), pod("idles", "1000Mi", node="t4-idle"))
    cluster.wait_bound("works", "idles")
    cluster.add(for_ever(pod("looks", "1000Mi")))
    wait_explained(daemon, "looks", "t4-busy", "neighbours on GPU 0: 1, busy 96 %, leave 50 %")
    wait_explained(daemon, "looks", "t4-idle", "neighbours on GPU 0: 1, busy 2 %, leave 98 %")
    assert [score_of(daemon, "looks", node)["contention"] for node in nodes] == [50, 98]
    assert "neighbours on GPU 0: 1, busy 96 %" in daemon.get(
        "/api/v1/pods/default/looks/explain?output=table")[1]
    cluster.add(pod("first", "1000Mi"))
    cluster.wait_bound("first")
    assert cluster.pod("first")["spec"]["nodeName"] == "t4-idle"

    exporter.use("t4-busy", used=1000, util=0, dram=0.0)
    exporter.use("t4-idle", used=2000, util=40, dram=0.9)  # little to compute, much to read
    wait_explained(daemon, "looks", "t4-busy", "neighbours on GPU 0: 1, busy 0 %, leave 100 %")
    wait_explained(daemon, "looks", "t4-idle", "neighbours on GPU 0: 2, busy 90 %, leave 33 %")
    cluster.add(pod("second", "1000Mi"))
    cluster.wait_bound("second")
    assert cluster.pod("second")["spec"]["nodeName"] == "t4-busy"

    del exporter.nodes["t4-idle"]  # nothing is known of it any longer: the term does not count
    wait_explained(daemon, "looks", "t4-idle", "neighbours on GPU 0: Stale")
    assert score_of(daemon, "looks", "t4-idle")["contention"] is None


def test_shares_of_memory_keep_off_a_busy_gpu(cluster, exporter, measuring):
    """gpushare: the smallest sufficient share, but not beside a pod that works all the time."""
    cluster.add(gpus.gpushare("v100", gpus=2, units=32))
    daemon = measuring("asks")

    def does(first, second):
        exporter.use("v100", 0, used=8000, util=first)
        exporter.use("v100", 1, used=28000, util=second)

    def settled(gpu, busy):
        """A share goes to that GPU; the other one is that busy, as every answer says by now."""
        def as_wanted():
            text = explained(daemon, "looks", "v100")
            return f"neighbours on GPU {gpu}" in text and f"busy {busy} %" in text
        wait_for(f"shares go to GPU {gpu}, which is busy {busy} %", as_wanted)

    def place(plugin, name, units):
        made = gpus.pod(name, {GPU_MEM: units}, annotations={"sliced.dev/e2e-gpushare": "yes"})
        cluster.add(made)
        cluster.wait_bound(name)
        wait_for(f"{name} has its GPU", lambda: plugin.serve() >= 0 and name in plugin.given)
        assert str(plugin.given[name]) == cluster.pod(name)["metadata"]["annotations"][MARK + "IDX"]
        return plugin.given[name]

    for gpu in (0, 1):
        exporter.use("v100", gpu, used=0, util=0)
    with GpusharePlugin(cluster.plane) as plugin:
        assert [place(plugin, "small", 8), place(plugin, "large", 28)] == [0, 1]
        does(0, 0)
        looks = gpus.pod("looks", {GPU_MEM: 2})
        cluster.add(for_ever(looks))
        settled(1, 0)
        does(4, 98)
        settled(0, 4)
        assert place(plugin, "apart", 2) == 0
        config = merge(daemon.config, {"score": {"byKind": {"memory": {"contention": 0}}}})
        daemon.write_config(config)
        daemon.reload()
        wait_for("shares go to the smallest gap again",
                 lambda: "neighbours on GPU 1" in explained(daemon, "looks", "v100"))
        assert place(plugin, "together", 2) == 1
