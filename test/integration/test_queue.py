"""The queue by HTTP and in the simulator: the same trace, the same decisions, to the device."""
import heapq
import json
import os
import random
import signal
import subprocess
import time

import pytest

from prometheus import Fake, matrix, samples, series
from sliced_daemon import EXAMPLES, eventually, pod_of

SLICESIM = os.environ["SLICESIM_BIN"]
MIG = "nvidia.com/mig-1g.6gb"
CLUSTER = EXAMPLES / "a30-mixed.yaml"
NODES = ["cpu-1", "gpu-a30-1"]


def trace_of(seed, counts):
    """40 jobs: (submit in whole seconds, run time, timeout, priority, count, those that it waits for)."""
    choose = random.Random(seed)
    jobs, submit = [], 0
    for i in range(40):
        run = round(10 ** choose.uniform(1, 2.5), 3) + 0.0007 * i  # no two events at one moment
        # for some that come later: here a pod that has ended is gone, and then it counts for nothing
        after = sorted({i + choose.randrange(1, 4) for _ in range(2)}) if i < 36 and choose.randrange(4) == 0 else []
        jobs.append((submit, run, int(run) + choose.randrange(1, 60), choose.choice([0, 0, 0, 5]),
                     choose.choice(counts), after))
        submit += choose.randrange(1, 12)
    return jobs


def simulated(folder, jobs, policy):
    """[(second, command)] in order. A job's name is its number, as the simulator's stages have it."""
    trace, written = folder / "jobs.csv", folder / "commands.txt"
    lines = ["name,submit,duration,timeout,priority,resource,count,after"]
    lines += [f"{i},{submit},{run},{timeout},{priority},{MIG},{count},{'|'.join(map(str, after))}"
              for i, (submit, run, timeout, priority, count, after) in enumerate(jobs)]
    trace.write_text("\n".join(lines) + "\n", encoding="utf-8")
    subprocess.run([SLICESIM, "run", "--trace", f"csv:{trace}", "--cluster", CLUSTER, "--policy",
                    policy, "--quiet", "--commands", written], check=True, capture_output=True)
    rows = [line.split("\t") for line in written.read_text(encoding="utf-8").splitlines()]
    return [(float(second), command) for _, second, command in rows]


def commands_of(daemon):
    lines = [json.loads(line) for line in daemon.log.splitlines() if '"message":"command"' in line]
    return [line["line"] for line in lines]


def job_of(number, job, base):
    submit, _, timeout, priority, count, after = job
    pod = pod_of(str(number), {MIG: count})
    pod["metadata"]["creationTimestamp"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(base + submit))
    pod["metadata"]["annotations"] = {"sliced.dev/timeout": f"{timeout}s"}
    if after:
        pod["metadata"]["annotations"]["sliced.dev/after"] = ",".join(map(str, after))
    pod["spec"]["priority"] = priority
    return pod


class Measured:
    """A Prometheus that tells other figures of all eight instances with each answer."""

    def __init__(self):
        self.fake = Fake()
        self.asked = 0
        self.fake.answer = self.answer
        self.fake.range = matrix  # of the page's last hour: nothing

    def answer(self):
        self.asked += 1
        return matrix(*(series(samples(used=100 * (self.asked % 50)), Hostname="gpu-a30-1", gpu=str(gpu),
                               UUID=f"GPU-{gpu}", GPU_I_ID=str(3 + i), GPU_I_PROFILE="1g.6gb")
                        for gpu in range(2) for i in range(4)))

    def again(self):
        """Waits until what was asked for from now on has been taken in."""
        asked = self.asked
        eventually(lambda: self.asked > asked + 1)


@pytest.fixture(name="measured")
def measured_gpus():
    measured = Measured()
    yield measured
    measured.fake.stop()


def played(daemon, jobs, wanted, reload, measured=None):
    """The same by HTTP: pods come and end in the order of virtual time, and a scheduler asks for each
    whose turn has come. Halfway the daemon reads its configuration again. Returns its commands."""
    base = int(time.time()) - 100000
    pods = {}
    events = [(job[0], i, None) for i, job in enumerate(jobs)]
    heapq.heapify(events)
    while events:
        now, i, ends = heapq.heappop(events)
        if ends is not None:
            assert daemon.end(pods[i]).status == 200
        else:
            pods[i] = job_of(i, jobs[i], base)
            pods[i]["metadata"]["uid"] = daemon.add(pods[i])["uid"]
            if i == len(jobs) // 2:
                reload()
        if measured is not None:
            measured.again()
        due = sum(second <= now + 1e-6 for second, _ in wanted)
        eventually(lambda due=due: len(commands_of(daemon)) >= due)
        for row in daemon.get("/api/v1/queue").json["items"]:
            number = int(row["name"])
            if row["state"] != "Nominated":
                reply = daemon.filter(pods[number], NODES)
                assert reply["NodeNames"] == [] and reply["FailedNodes"] == {}
                assert row["text"].startswith("held: ")
                continue
            node = row["nomination"]["node"]
            assert daemon.filter(pods[number], NODES)["NodeNames"] == [node]
            assert daemon.bind(pods[number], node) == ""
            assert daemon.explain(pods[number])["assignment"]["annotation"] == row["nomination"]["assignment"]
            heapq.heappush(events, (now + jobs[number][1], number, True))
    return commands_of(daemon)


# Where several units are asked for, backfill looks at the clock, which is not the same in both.
# What is measured of exclusive instances is shown, and decides nothing: it changes no command.
@pytest.mark.parametrize("order, backfill, counts, telemetry", [
    ("fifo", True, [1], False), ("sjf", True, [1], False), ("p", True, [1], True),
    ("fifo", False, [1, 1, 2, 4], False), ("sjf", False, [1, 1, 2, 4], True), ("p", False, [1, 1, 2, 4, 8], False)])
def test_a_day_gives_the_same_commands_by_http_and_in_the_simulator(
        start, tmp_path, measured, order, backfill, counts, telemetry):
    jobs = trace_of(7, counts)
    policy = f"{order}:backfill={str(backfill).lower()}"
    config = ("log: {level: debug, format: json}\nqueue:\n  enabled: true\n  preemption: false\n  holdSeconds: 3600\n"
              f"  order: {order}\n  backfill: {str(backfill).lower()}\n")
    if telemetry:
        config += f"telemetry: {{url: '{measured.fake.url}', interval: 100ms, maxGap: 5s, sharing: cbp}}\n"
    daemon = start(CLUSTER, config=config)

    def reload():
        daemon.write_config(config.replace("3600", "7200"))
        daemon.signal(signal.SIGHUP)
        eventually(lambda: "configuration reloaded" in daemon.log)

    wanted = simulated(tmp_path, jobs, policy)
    assert len(wanted) == len(jobs)
    assert played(daemon, jobs, wanted, reload, measured if telemetry else None) == [command for _, command in wanted]
    if telemetry:
        assert [row["state"] for row in daemon.get("/api/v1/usage").json["items"]] == ["Good"] * 8


TWINS = "".join(f"""---
apiVersion: v1
kind: Node
metadata: {{name: twin-{i}, labels: {{nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB, nvidia.com/gpu.count: "4"}}}}
status: {{allocatable: {{nvidia.com/gpu: "4"}}}}
""" for i in (1, 2))


def test_the_nominated_node_alone_passes_and_is_best_though_the_nomination_fills_it(start, tmp_path):
    cluster = tmp_path / "twins.yaml"
    cluster.write_text(TWINS, encoding="utf-8")
    daemon = start(cluster, config="queue: {enabled: true}\n")
    pod = pod_of("train", {"nvidia.com/gpu": 4})
    pod["metadata"]["uid"] = daemon.add(pod)["uid"]
    row, = daemon.get("/api/v1/queue").json["items"]
    nominated = row["nomination"]["node"]
    other, = {"twin-1", "twin-2"} - {nominated}
    found = daemon.filter(pod, ["twin-1", "twin-2"])
    assert found["NodeNames"] == [nominated]
    assert not found["FailedNodes"] and not found["FailedAndUnresolvableNodes"]
    assert daemon.filter(pod, [other])["NodeNames"] == [other]  # kube-scheduler cannot use the other one
    scores = daemon.prioritize(pod, ["twin-1", "twin-2"])
    assert scores[nominated] == 10
    assert scores[other] < 10


def test_what_is_set_aside_is_the_pods_own_and_told_apart_from_what_is_used(start, tmp_path):
    cluster = tmp_path / "twins.yaml"
    cluster.write_text(TWINS, encoding="utf-8")
    daemon = start(cluster, config="queue: {enabled: true}\n")
    runs = daemon.add_pod("runs", {"nvidia.com/gpu": 1})
    assert daemon.bind(runs, daemon.explain(runs)["queue"]["nomination"]["node"]) == ""
    train = daemon.add_pod("train", {"nvidia.com/gpu": 4})
    told = daemon.explain(train)
    node = told["queue"]["nomination"]["node"]
    assert told["assignment"]["node"] == node and told["assignment"]["setAside"]
    assert told["assignment"]["pickedBy"] == "devicePlugin"
    assert [part["device"] for part in told["assignment"]["devices"]] == [0, 1, 2, 3]
    assert told["nodes"][0]["name"] == node and told["nodes"][0]["fits"]
    assert told["nodes"][0]["devices"] == told["assignment"]["devices"]
    table = daemon.get("/api/v1/pods/default/train/explain?output=table").text
    assert "Devices:   0 1 2 3 (set aside)" in table and "Picked by: the device plugin" in table
    pools = {name: shown["pools"][0] for name, shown in daemon.nodes().items()}
    assert (pools[node]["used"], pools[node]["setAside"], pools[node]["free"]) == (0, 4, 0)
    units = {state: daemon.metric(f'sliced_pool_units{{resource="nvidia.com/gpu",state="{state}"}}')
             for state in ("used", "set_aside", "free")}
    assert units == {"used": 1, "set_aside": 4, "free": 3}
    assert daemon.bind(train, node) == ""
    assert daemon.nodes()[node]["pools"][0]["setAside"] == 0
    assert not daemon.explain(train)["assignment"]["setAside"]


def test_a_start_is_one_number_everywhere(start, tmp_path):
    cluster = tmp_path / "twins.yaml"
    cluster.write_text(TWINS, encoding="utf-8")
    daemon = start(cluster, config="queue: {enabled: true}\n")
    for name in ("one", "two"):
        pod = daemon.add_pod(name, {"nvidia.com/gpu": 4}, annotations={"sliced.dev/timeout": "8h"})
        assert daemon.bind(pod, daemon.explain(pod)["queue"]["nomination"]["node"]) == ""
    daemon.add_pod("waits", {"nvidia.com/gpu": 4}, annotations={"sliced.dev/timeout": "8h"})
    eventually(lambda: daemon.get("/api/v1/queue").json["items"][0]["estimatedStart"]["at"])
    row, = daemon.get("/api/v1/queue").json["items"]
    assert "in 8h" in row["text"]
    assert 8 * 3600 - 60 < row["estimatedStart"]["inSeconds"] <= 8 * 3600
    cells = daemon.get("/api/v1/queue?output=table").text.splitlines()[1].split()
    assert cells[5] == "8h" and cells[10] == "8h"
    nobody = daemon.get("/api/v1/queue?output=table&namespace=elsewhere").text
    assert nobody == "Pods wait, but none that you ask for.\n"


@pytest.mark.parametrize("gate", ["webhook", "none"])
def test_bind_refuses_what_filter_holds_whoever_asks(start, tmp_path, gate):
    cluster = tmp_path / "twins.yaml"
    cluster.write_text(TWINS, encoding="utf-8")
    daemon = start(cluster, config=f"queue: {{enabled: true, gate: {gate}, order: fifo, "
                                   "limits: [{maxTimeout: 1000h}]}\n")
    first = daemon.add_pod("first", {"nvidia.com/gpu": 4})
    wide = daemon.add_pod("wide", {"nvidia.com/gpu": 4})
    behind = daemon.add_pod("behind", {"nvidia.com/gpu": 3})  # leaves room for either of the others
    long = daemon.add_pod("long", {"nvidia.com/gpu": 1}, annotations={"sliced.dev/timeout": "9000h"})
    stage = daemon.add_pod("stage", {"nvidia.com/gpu": 1}, annotations={"sliced.dev/after": "wide"})
    assert daemon.bind(first, "twin-1") == "" and daemon.bind(wide, "twin-2") == ""
    assert daemon.end(first).status == 200
    nomination = daemon.explain(behind)["queue"]["nomination"]
    for pod in (long, stage):
        held = daemon.filter(pod, ["twin-1", "twin-2"])["FailedAndUnresolvableNodes"]["twin-1"]
        before = daemon.generation
        for node in ("twin-1", "twin-2"):
            assert daemon.bind(pod, node) == held
        assert daemon.generation == before
    assert daemon.metric('sliced_bind_calls_total{code="Held"}') == 4
    assert daemon.bind(behind, nomination["node"]) == ""
    assert daemon.bind(behind, nomination["node"]) == ""  # again: it stands


def test_the_log_tells_the_story_of_one_pod(start):
    daemon = start(CLUSTER, config="queue: {enabled: true}\nlog: {format: json, pod: default/told}\n")
    for name in ("told", "other"):
        pod = daemon.add_pod(name, {MIG: 1})
        assert daemon.schedule(pod, NODES) == "gpu-a30-1"
    rows = [json.loads(line) for line in daemon.log.splitlines()]
    story = [(row["level"], row["message"]) for row in rows if row.get("pod") == "default/told"]
    assert sorted(story[:2]) == [("info", "pod added"), ("info", "pod nominated")]  # two threads
    assert story[2:] == [("debug", "filter"), ("debug", "prioritize"), ("info", "pod bound")]
    judged = next(row for row in rows if row["message"] == "filter")
    assert (judged["nodes"], judged["passed"], judged["nominated"]) == (2, 1, "gpu-a30-1")
    assert {row["message"] for row in rows if row.get("pod") == "default/other"} == {
        "pod added", "pod nominated", "pod bound"}


def test_many_malformed_pods_of_a_namespace_write_its_share_of_lines(start):
    daemon = start(CLUSTER, config="queue: {enabled: true}\n")
    pods = [daemon.add_pod(f"bad-{i}", {MIG: "1500m"}, namespace="team-a") for i in range(100)]

    def told():
        left_out = daemon.metric("sliced_log_lines_left_out_total")
        lines = daemon.log.count('"pod refused" pod="team-a/')
        assert lines + left_out <= len(pods)
        return lines + left_out == len(pods) and lines
    assert eventually(told) < len(pods)


# ---- pods of another profile of the same kube-scheduler ----


OURS = "sliced-scheduler"


def outsider(name, created, resource=MIG, priority=0, **meta):
    pod = pod_of(name, {resource: 1}, f"uid-{name}", creationTimestamp=created, **meta)
    pod["spec"] |= {"schedulerName": "default-scheduler", "priority": priority}
    if created is None:
        del pod["metadata"]["creationTimestamp"]
    return pod


def waiting(daemon, name, count, created="2026-11-20T08:00:00Z", **spec):
    pod = pod_of(name, {MIG: count}, creationTimestamp=created)
    pod["spec"] |= {"schedulerName": OURS, **spec}
    pod["metadata"]["uid"] = daemon.add(pod)["uid"]
    eventually(lambda: [row for row in daemon.get("/api/v1/queue").json["items"] if row["name"] == name])
    return pod


@pytest.mark.parametrize("gate", ["none", "policy"])
@pytest.mark.parametrize("order", ["fifo", "bounded"])
def test_a_pod_of_another_profile_goes_behind_those_that_wait(start, gate, order):
    daemon = start(CLUSTER, config=f"queue: {{enabled: true, gate: {gate}, order: {order}, schedulerName: {OURS}}}\n")
    early = outsider("early", "2026-11-20T07:00:00Z", annotations={"sliced.dev/timeout": "2h"})
    daemon.add(early)
    assert daemon.filter(early, NODES)["NodeNames"] == [NODES[1]] and daemon.bind(early, NODES[1]) == ""
    gated = {"schedulingGates": [{"name": "sliced.dev/queue"}]} if gate == "policy" else {}
    pod = waiting(daemon, "waits", 8, **gated)
    for late in (outsider("late", "2026-11-20T09:00:00Z"), outsider("same", "2026-11-20T08:00:00Z"), outsider("ageless", None)):
        reply = daemon.filter(late, NODES)
        assert reply["NodeNames"] == [] and reply["FailedNodes"] == {}
        assert "wait for nvidia.com/mig-1g.6gb" in reply["FailedAndUnresolvableNodes"][NODES[1]]
        assert OURS in reply["FailedAndUnresolvableNodes"][NODES[1]]
    daemon.add(late := outsider("late", "2026-11-20T09:00:00Z"))
    assert "in the queue" in daemon.bind(late, NODES[1])
    free = [outsider("earlier", "2026-11-20T07:59:59Z"), outsider("higher", "2026-11-20T09:00:00Z", priority=1),
            outsider("agent", "2026-11-20T09:00:00Z", namespace="kube-system",
                     ownerReferences=[{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}])]
    for other in free:
        assert daemon.filter(other, NODES)["NodeNames"] == [NODES[1]], other["metadata"]["name"]
    liar = outsider("liar", "2026-11-20T09:00:00Z", ownerReferences=[
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}])
    liar["metadata"]["annotations"] = {"sliced.dev/released": "true", "sliced.dev/timeout": "1s"}
    assert daemon.filter(liar, NODES)["NodeNames"] == []
    assert daemon.end(pod).status == 200
    eventually(lambda: daemon.filter(late, NODES)["NodeNames"] == [NODES[1]])
    assert daemon.bind(late, NODES[1]) == ""


def test_who_waits_for_something_else_than_units_keeps_nobody_from_them(start):
    daemon = start(CLUSTER, config=f"queue: {{enabled: true, order: fifo, schedulerName: {OURS}}}\n")
    waiting(daemon, "nowhere", 1, nodeSelector={"no": "node"})
    waiting(daemon, "gated", 1, schedulingGates=[{"name": "other"}])
    waiting(daemon, "never", 9)
    assert daemon.filter(outsider("late", "2026-11-20T09:00:00Z"), NODES)["NodeNames"] == [NODES[1]]


GPU = "nvidia.com/gpu"
MIG7 = "nvidia.com/mig-7g.80gb"


def node_with(name, gpus, product="NVIDIA-A100-SXM4-80GB", memory=81920, counted=None, **labels):
    """gpus of the allocatable GPUs; counted: those that its labels state."""
    labels |= {"nvidia.com/gpu.product": product, "nvidia.com/gpu.memory": str(memory),
               "nvidia.com/gpu.count": str(counted or gpus)}
    units = {GPU: str(gpus)} if gpus else {}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
            "status": {"allocatable": units, "capacity": units}}


def runs_on(node, gpus, **annotations):
    pod = pod_of(f"runs-{node}", {GPU: gpus}, uid=f"runs-{node}", annotations=annotations)
    pod["spec"]["nodeName"] = node
    pod["status"] = {"phase": "Running"}
    return pod


ENDS = {"sliced.dev/timeout": "1h"}
CUT = {"nvidia.com/mig.strategy": "mixed", "nvidia.com/mig-7g.80gb.count": "1"}
# what is there, who waits for what, and where a pod of another profile may go then
FRONTS = {
    "its units are absent": (
        [node_with("x", 8), node_with("y", 0, counted=16)], {GPU: 16}, {}, {}, ["x"]),
    "the free GPUs are too small": (
        [node_with("x", 2), node_with("y", 4, "Tesla-T4", 15360), runs_on("x", 2, **ENDS)],
        {GPU: 1}, {"annotations": {"sliced.dev/min-gpu-memory": "70Gi"}}, {}, ["y"]),
    "its selector does not admit the node": (
        [node_with("x", 8, a="x"), node_with("y", 4, a="y"), runs_on("x", 1, **ENDS)],
        {GPU: 8}, {}, {"nodeSelector": {"a": "x"}}, ["y"]),
    "one of its resources is absent": (
        [node_with("x", 4), node_with("y", 0, counted=1, **CUT)], {GPU: 1, MIG7: 1}, {}, {}, ["x"]),
    "nothing says when its units come free": (
        [node_with("x", 8), node_with("y", 4), runs_on("x", 1)], {GPU: 8}, {}, {}, ["x", "y"]),
    "it can start soon": (
        [node_with("x", 8), node_with("y", 4), runs_on("x", 1, **ENDS)], {GPU: 8}, {}, {}, ["y"]),
}


@pytest.mark.parametrize("order", ["fifo", "bounded"])
@pytest.mark.parametrize("case", FRONTS)
def test_who_waits_holds_only_nodes_where_it_can_start(start, tmp_path, case, order):
    there, asks, meta, spec, free = FRONTS[case]
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": there}), encoding="utf-8")
    daemon = start(path, config=f"queue: {{enabled: true, order: {order}, schedulerName: {OURS}}}\n")
    pod = pod_of("waits", asks, creationTimestamp="2026-11-20T08:00:00Z", **meta)
    pod["spec"] |= {"schedulerName": OURS, **spec}
    daemon.add(pod)
    assert [row["name"] for row in daemon.get("/api/v1/queue").json["items"]] == ["waits"]
    late = outsider("late", "2026-11-20T09:00:00Z", GPU)
    assert sorted(daemon.filter(late, ["x", "y"])["NodeNames"]) == free
    system = outsider("system", "2026-11-20T09:00:00Z", GPU, namespace="kube-system")
    assert set(free) <= set(daemon.filter(system, ["x", "y"])["NodeNames"])
    daemon.add(late)
    if case == "it can start soon":
        assert daemon.filter(system, ["x"])["NodeNames"] == ["x"]
        assert "in the queue" in daemon.bind(late, "x")
    assert daemon.bind(late, free[-1]) == ""
