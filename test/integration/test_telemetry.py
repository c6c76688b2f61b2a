"""A Prometheus that does what a real one cannot be told to: each fault is a known state, GPUs are then judged
as if nothing were measured, and afterwards all is as before. The stories with a real one stand in test/e2e."""
import json
import threading
import time

import pytest

from prometheus import NODE, Cut, Fake, matrix, samples, series, well
from sliced_daemon import Daemon, eventually, pod_of, run

GPU = "nvidia.com/gpu"
CLUSTER = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE, "labels": {
    "nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.count": "1", "nvidia.com/gpu.memory": "15360",
    "nvidia.com/gpu.replicas": "8", "nvidia.com/gpu.sharing-strategy": "time-slicing"}},
    "status": {"allocatable": {GPU: "8", "cpu": "64", "memory": "64Gi", "pods": "110"},
               "capacity": {GPU: "8", "cpu": "64", "memory": "64Gi", "pods": "110"}}}


CONFIG = """telemetry:
  url: %s
  interval: 200ms
  timeout: 1s
  staleAfter: 2s
  maxGap: 5s
  window: 60
  sharing: cbp
  %s
"""


def pod(name, memory):
    return pod_of(name, {GPU: 1}, uid=name, annotations={"sliced.dev/gpu-memory": memory})


def measuring(fake, more=""):
    daemon = Daemon("-", stdin=json.dumps(CLUSTER), config=CONFIG % (fake.url, more))
    first = pod("first", "12000Mi")
    daemon.add(first)
    assert daemon.bind(first, NODE) == ""
    return daemon


@pytest.fixture(scope="module")
def rig():
    fake = Fake()
    daemon = measuring(fake)
    yield fake, daemon
    daemon.stop()
    fake.stop()


def row(daemon):
    found = [each for each in daemon.get("/api/v1/usage").json["items"] if each["gpu"] == 0]
    return found[0] if found else {"state": "Absent"}


def fits(daemon, memory="8000Mi"):
    return daemon.filter(pod("second", memory), [NODE])["NodeNames"] == [NODE]


def slow():
    time.sleep(1.5)
    return well()


def refusal(status, kind, text):
    return lambda: (status, "application/json", json.dumps({"status": "error", "errorType": kind, "error": text}))


# what it answers, and what is said of that: in the API, the log, and by the metric of failed questions
FAILURES = {
    "a question that it cannot parse": (refusal(400, "bad_data", "parse error at char 5"),
                                        "HTTP 400: parse error at char 5"),
    "a question that it cannot carry out": (refusal(422, "execution", "query timed out"), "HTTP 422: query timed out"),
    "an error with status 200": (refusal(200, "internal", "no space left"), "no space left"),
    "no service": (lambda: (503, "text/html", "<html>gateway</html>"), "HTTP 503: the server answered 503"),
    "a login page elsewhere": (lambda: (302, "text/html", "see /login"), "HTTP 302"),
    "no right": (lambda: (401, "text/plain", "Unauthorized"), "HTTP 401"),
    "HTML": (lambda: (200, "text/html", "<html><body>Sign in</body></html>"), "no answer of Prometheus"),
    "nothing": (lambda: (200, "application/json", ""), "no answer of Prometheus"),
    "slowness": (slow, "within 1000 ms"),
    "half an answer": (lambda: (200, "application/json", Cut(well()[2][:200])), "remaining"),
    "a list": (lambda: (200, "application/json", "[]"), "no answer of Prometheus"),
    "numbers for texts": (lambda: matrix(series([[time.time(), 4000]])), "no answer of Prometheus"),
    "texts for numbers": (lambda: matrix(series([[str(time.time()), "4000"]])), "no answer of Prometheus"),
    "a scalar": (lambda: (200, "application/json", '{"status": "success", "data": {"resultType": "scalar", '
                                                   '"result": [1700000000, "1"]}}'), "no answer of Prometheus"),
    "nesting": (lambda: (200, "application/json", '{"data": {"result": ' + "[" * 100000), "no answer of Prometheus"),
}


@pytest.mark.parametrize("fault", FAILURES)
def test_what_is_no_answer_is_said_and_over_when_it_is_over(rig, fault):
    fake, daemon = rig
    answer, said = FAILURES[fault]
    eventually(lambda: row(daemon)["state"] == "Good" and fits(daemon))
    failed = 'sliced_telemetry_questions_total{outcome="failed"}'
    before = daemon.metric(failed)
    fake.answer = answer
    try:
        eventually(lambda: row(daemon)["state"] == "Stale")
        status = daemon.get("/api/v1/usage").json
        assert not status["answered"] and said in status["error"], status["error"]
        assert said in daemon.get("/api/v1/usage?output=table").text
        assert said.replace('"', "") in daemon.log.replace("\\", "")
        assert daemon.metric(failed) > before
        assert daemon.metric('sliced_telemetry_units{state="Stale"}') == 1
        assert not fits(daemon) and fits(daemon, "3000Mi")  # as by asks: 12000 of 15360 MiB are taken
    finally:
        fake.answer = None
    eventually(lambda: row(daemon)["state"] == "Good" and fits(daemon))
    assert daemon.get("/api/v1/usage").json["error"] is None


# answers that tell of nothing that counts: (what is told, the outcome that counts its samples)
WORTHLESS = {
    "a clock that is late": (lambda: matrix(series(samples(ago=120))), None),
    "a clock that is ahead": (lambda: matrix(series(samples(ago=-120))), "future"),
    "a clock that is years ahead": (lambda: matrix(series(samples(ago=-1e8))), "future"),
    "NaN": (lambda: matrix(series(samples("NaN"))), None),
    "infinity": (lambda: matrix(series(samples("+Inf"))), None),
    "less than nothing": (lambda: matrix(series(samples(-5))), "refused"),
    "too much": (lambda: matrix(series(samples("1e300"))), "refused"),
    "no series": (matrix, None),
    "a node that nobody knows": (lambda: matrix(series(samples(), Hostname="elsewhere")), None),
    "a GPU without a number": (lambda: matrix(series(samples(), gpu="x")), None),
    "another metric": (lambda: matrix(series(samples(), name="DCGM_FI_DEV_GPU_TEMP")), None),
}


@pytest.mark.parametrize("fault", WORTHLESS)
def test_samples_that_are_worth_nothing_count_as_none(rig, fault):
    fake, daemon = rig
    answer, outcome = WORTHLESS[fault]
    eventually(lambda: row(daemon)["state"] == "Good" and fits(daemon))
    counted = outcome and f'sliced_telemetry_samples_total{{outcome="{outcome}"}}'
    before = daemon.metric(counted) if counted else 0
    fake.answer = answer
    try:
        eventually(lambda: row(daemon)["state"] == "Stale")
        assert daemon.get("/api/v1/usage").json["answered"]
        assert not fits(daemon) and fits(daemon, "3000Mi")
        assert not counted or daemon.metric(counted) > before
    finally:
        fake.answer = None
    eventually(lambda: row(daemon)["state"] == "Good" and fits(daemon))


def test_an_answer_without_its_end_is_said_and_its_samples_count(rig):
    fake, daemon = rig
    fake.answer = lambda: (200, "application/json", well()[2][:-1])
    try:
        eventually(lambda: "no answer of Prometheus" in (daemon.get("/api/v1/usage").json["error"] or ""))
        assert row(daemon)["state"] == "Good"
    finally:
        fake.answer = None
    eventually(lambda: daemon.get("/api/v1/usage").json["answered"])


def test_what_is_told_twice_counts_once(rig):
    fake, daemon = rig

    def twice():
        once = samples(5000)
        return matrix(series(once), series(once), series([[at, "9000"] for at, _ in once]))
    fake.answer = twice
    try:
        eventually(lambda: row(daemon).get("usedMiB") == 5000)
        assert row(daemon)["state"] == "Good"
    finally:
        fake.answer = None


def running(name, memory="2000Mi"):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {
        "name": name, "namespace": "default", "uid": name, "annotations": {"sliced.dev/gpu-memory": memory}},
        "spec": {"nodeName": NODE, "containers": [{"name": "c", "resources": {"limits": {GPU: "1"}}}]},
        "status": {"phase": "Running", "startTime": "2026-11-20T08:00:05Z"}}


def both(gpu, used, busy, **labels):
    of = {"gpu": str(gpu), "UUID": f"GPU-{gpu}", **labels}
    return series(samples(used), **of), series(samples(busy), name="DCGM_FI_DEV_GPU_UTIL", **of)


def by_pod(daemon):
    return {each["name"]: each for each in daemon.get("/api/v1/usage?by=pod").json["items"]}


def test_each_pod_that_the_exporter_names_on_a_gpu_is_known():
    """Its virtual GPUs: a copy of each series for each pod. a and b share the idle GPU, c is alone on the busy one."""
    fake = Fake()
    fake.answer = lambda: matrix(
        *both(0, 900, 0, pod="a", namespace="default", vgpu="0"), *both(0, 900, 0, pod="b", namespace="default", vgpu="1"),
        *both(1, 5000, 97, exported_pod="c", exported_namespace="default", pod="dcgm-exporter", namespace="gpus"))
    node = node_of(NODE)
    node["metadata"]["labels"].update({"nvidia.com/gpu.count": "2", "nvidia.com/gpu.replicas": "4"})
    daemon = Daemon("-", stdin=cluster_of(node, running("a"), running("b"), running("c")), config=CONFIG % (fake.url, ""))
    try:
        def seen():
            pods = by_pod(daemon)
            return [(pods[name]["idleSeconds"] or 0) > 0 for name in "abc"]
        eventually(lambda: seen() == [True, True, False])
        assert [by_pod(daemon)[name]["usedMiB"] for name in "abc"] == [None, None, 5000]
    finally:
        daemon.stop()
        fake.stop()


SCRAPED = {"pod": "dcgm-exporter-x", "namespace": "gpus", "exported_namespace": "default"}  # by Prometheus


@pytest.mark.parametrize("also_named, labels, idles", [
    (["victim", "other"], {"exported_pod": "victim"}, {"victim": False, "other": False, "liar": True}),  # each
    (["victim", "other"], {}, {"victim": False, "other": False, "liar": True}),  # it has taken the label away
    (["other"], {"exported_pod": "victim"}, {"victim": False, "other": False, "liar": False}),  # one of two
])
def test_a_label_of_a_pod_makes_no_other_pod_idle_nor_hides_its_own_idleness(also_named, labels, idles):
    """dcgm-exporter copies labels of pods. Prometheus then calls the exporter's own label exported_exported_pod."""
    fake = Fake()
    fake.answer = lambda: matrix(
        *(each for name in also_named for each in both(0, 5000, 97, exported_pod=name, **SCRAPED)),
        *both(1, 900, 0, exported_pod="victim", exported_exported_pod="liar", **SCRAPED))
    node = node_of(NODE)
    node["metadata"]["labels"].update({"nvidia.com/gpu.count": "2", "nvidia.com/gpu.replicas": "4"})
    liar = running("liar")
    liar["metadata"]["labels"] = labels
    daemon = Daemon("-", stdin=cluster_of(node, running("victim"), running("other"), liar), config=CONFIG % (fake.url, ""))
    try:
        eventually(lambda: len(daemon.get("/api/v1/usage").json["items"]) == 2 and row(daemon)["state"] == "Good")
        eventually(lambda: {name: (each["idleSeconds"] or 0) > 0 for name, each in by_pod(daemon).items()} == idles)
    finally:
        daemon.stop()
        fake.stop()


@pytest.mark.parametrize("label", [{"hostname": "t4-2"}, {"GPU_I_ID": "3", "GPU_I_PROFILE": "1g.5gb"}])
def test_a_label_of_a_pod_takes_its_gpu_neither_to_another_node_nor_away(label):
    """The exporter does not know the node's name, and Prometheus does."""
    fake = Fake()
    of = {"Hostname": "dcgm-exporter-x", "exported_pod": "liar", **SCRAPED}
    fake.answer = lambda: matrix(*both(0, 900, 0, node=NODE, **of, **label), *both(0, 700, 0, node="t4-2", Hostname="y"))
    liar = running("liar")
    liar["metadata"]["labels"] = label
    daemon = Daemon("-", stdin=cluster_of(CLUSTER, node_of("t4-2"), liar), config=CONFIG % (fake.url, ""))

    def used():
        return {(each["node"], each["gpu"], each["instance"]): each["usedMiB"]
                for each in daemon.get("/api/v1/usage").json["items"]}
    try:
        eventually(lambda: used() == {(NODE, 0, None): 900, ("t4-2", 0, None): 700})
    finally:
        daemon.stop()
        fake.stop()


@pytest.mark.parametrize("labels", [
    {"pod_name": "a", "pod_namespace": "default"},  # an exporter with its older names
    {"exported_pod_name": "a", "exported_pod_namespace": "default", "pod_name": "dcgm-exporter-x"},
    {"k8s_pod": "a", "ns": "default"},
])
def test_the_labels_that_name_pods_are_configured(labels):
    fake = Fake()
    fake.answer = lambda: matrix(*both(0, 900, 0, **labels), *both(1, 5000, 97))
    node = node_of(NODE)
    node["metadata"]["labels"].update({"nvidia.com/gpu.count": "2", "nvidia.com/gpu.replicas": "4"})
    more = "podLabels: k8s_pod\n  namespaceLabels: ns" if "ns" in labels else ""
    daemon = Daemon("-", stdin=cluster_of(node, running("a")), config=CONFIG % (fake.url, more))
    try:
        eventually(lambda: (by_pod(daemon)["a"]["idleSeconds"] or 0) > 0)
    finally:
        daemon.stop()
        fake.stop()


def test_what_each_sharer_uses_is_known_where_a_series_tells_it():
    fake = Fake()

    def own(name, mib, **labels):
        return {"metric": {"__name__": "pod_gpu_memory_bytes", "node": NODE, "gpu": "0", "exported_namespace": "default",
                           "exported_pod": name, "pod": "agent", "namespace": "gpus", **labels},
                "values": samples(mib << 20)}
    fake.answer = lambda: matrix(series(samples(7500)), own("a", 1500), own("b", 6000), own("nobody", 20000))
    daemon = Daemon("-", stdin=cluster_of(CLUSTER, running("a"), running("b")),
                    config=CONFIG % (fake.url, "metrics: {podMemoryUsed: pod_gpu_memory_bytes}"))
    try:
        eventually(lambda: [by_pod(daemon)[name]["usedMiB"] for name in "ab"] == [1500, 6000])
        assert [by_pod(daemon)[name]["overMiB"] for name in "ab"] == [0, 4000]
        eventually(lambda: daemon.metric("sliced_telemetry_over_pods") == 1)
        assert "pod_gpu_memory_bytes" in fake.paths[-1]
    finally:
        daemon.stop()
        fake.stop()


@pytest.mark.parametrize("named", [{}, {"pod": "first", "namespace": "default"}])
def test_a_pod_alone_on_a_replica_is_told_what_it_uses_named_or_not(named):
    fake = Fake()  # what is used beyond the asks is told in steps of 32 MiB
    fake.answer = lambda: matrix(series(samples(5200), **named))
    daemon = Daemon("-", stdin=cluster_of(CLUSTER, running("first")), config=CONFIG % (fake.url, ""))
    try:
        eventually(lambda: by_pod(daemon)["first"]["usedMiB"] == 5200)
        eventually(lambda: by_pod(daemon)["first"]["overMiB"] == 3200)
        eventually(lambda: daemon.metric("sliced_telemetry_over_pods") == 1)
        # by the asks there would be room
        second = pod("second", "11000Mi")
        failed = daemon.filter(second, [NODE])["FailedNodes"][NODE]
        assert failed == (f"{GPU}: 1 asked, but pods use more GPU memory than they ask for: 5200 of 15360 MiB in use on "
                          "the GPU with most left, 2000 asked there, 10160 left")
        daemon.add(second)
        assert daemon.explain(second)["why"] == f"{failed} (node {NODE}); waits for pods there to end"
        assert [each["reason"] for each in daemon.explain(second)["nodes"]] == ["MemoryInUse"]
    finally:
        daemon.stop()
        fake.stop()


def test_series_beyond_the_ceiling_are_passed_over_and_counted():
    fake = Fake()
    fake.answer = lambda: matrix(*(series(samples(), Hostname=f"t4-{i}") for i in range(1, 41)))
    daemon = Daemon("-", stdin=cluster_of(*(node_of(f"t4-{i}") for i in range(1, 41))),
                    config=CONFIG % (fake.url, "maxUnits: 3"))
    try:
        eventually(lambda: daemon.metric("sliced_telemetry_units_over_total") >= 37)
        eventually(lambda: sorted(states(daemon).values()) == ["Good"] * 3)
    finally:
        daemon.stop()
        fake.stop()


def test_the_first_question_goes_back_minutes_the_next_ones_to_the_last_answer(rig):
    fake, daemon = rig
    eventually(lambda: row(daemon)["state"] == "Good")

    def ranges():
        return [path[path.index("%5B") + 3:path.index("%5D")] for path in fake.paths]
    assert ranges()[0] == "300s", ranges()
    eventually(lambda: ranges()[-1] in ("6s", "7s"))


POWER = "DCGM_FI_DEV_POWER_USAGE"


def test_power_is_read_and_adds_up_to_energy_once_though_each_instance_tells_it():
    """Where a GPU is cut, dcgm-exporter may tell the whole GPU's power once for each instance."""
    fake = Fake()
    begun = time.time()

    def cut():
        drawn = samples(1000)
        return matrix(series(drawn, POWER), *(series(drawn, POWER, GPU_I_ID=str(i), GPU_I_PROFILE="1g.5gb")
                                              for i in range(3)))
    fake.answer = cut
    daemon = measuring(fake)
    try:
        eventually(lambda: row(daemon).get("powerWatts") == 1000)
        eventually(lambda: row(daemon)["energyJoules"] > 1000)
        assert row(daemon)["energyJoules"] <= 1000 * (time.time() - begun)  # none from before the daemon
        assert row(daemon)["profile"] is None and len(daemon.get("/api/v1/usage").json["items"]) == 1
        assert "POWER W   ENERGY kJ" in daemon.get("/api/v1/usage?output=table").text
        fake.answer = lambda: matrix(series(samples("NaN"), POWER), series(samples("1e300"), POWER, UUID="GPU-2"),
                                     series(samples(-5), POWER), series(samples()))
        eventually(lambda: row(daemon).get("powerWatts", 0) is None)
        before = row(daemon)["energyJoules"]
        answered = daemon.metric('sliced_telemetry_questions_total{outcome="answered"}')
        eventually(lambda: daemon.metric('sliced_telemetry_questions_total{outcome="answered"}') > answered + 1)
        assert row(daemon)["energyJoules"] == before
    finally:
        daemon.stop()
        fake.stop()


def energy(daemon, by, name):
    found = {each["name" if by == "pod" else by]: each["energyJoules"]
             for each in daemon.get(f"/api/v1/usage?by={by}").json["items"]}
    return found.get(name)


def energy_of(daemon, namespace):
    return daemon.metric(f'sliced_telemetry_energy_joules_total{{pod_namespace="{namespace}"}}')


def add_second(daemon):
    """A pod of another namespace that shares the GPU."""
    second = pod_of("second", {GPU: 1}, uid="second", namespace="other", annotations={"sliced.dev/gpu-memory": "100Mi"})
    daemon.add(second)
    assert daemon.bind(second, NODE) == ""
    return second


def test_energy_is_charged_to_pods_and_namespaces_that_hold_the_gpu():
    """Two pods of two namespaces share a GPU. Then one ends, and all is the other's."""
    fake = Fake()
    fake.answer = lambda: matrix(series(samples(1000), POWER), series(samples()))
    daemon = measuring(fake)
    try:
        eventually(lambda: (energy(daemon, "pod", "first") or 0) > 0)
        second = add_second(daemon)
        eventually(lambda: (energy(daemon, "pod", "second") or 0) > 500)
        assert energy(daemon, "namespace", "other") >= 500 and energy_of(daemon, "other") >= 500
        assert energy(daemon, "pod", "first") >= 500 and energy_of(daemon, "default") >= 500
        assert "USED MiB   ENERGY kJ" in daemon.get("/api/v1/usage?by=pod&output=table").text
        assert "USED MiB   ENERGY kJ" in daemon.get("/api/v1/usage?by=namespace&output=table").text
        daemon.end(second)
        eventually(lambda: energy(daemon, "pod", "second") is None)
        # what the namespace drew is still told, and does not grow
        before = energy_of(daemon, "default")
        eventually(lambda: energy_of(daemon, "default") > before + 500)
        other = energy_of(daemon, "other")
        before = energy_of(daemon, "default")
        eventually(lambda: energy_of(daemon, "default") > before + 500)
        assert energy_of(daemon, "other") == other >= 500
        assert energy_of(daemon, "default") + other + energy_of(daemon, "") <= row(daemon)["energyJoules"] + 1
    finally:
        daemon.stop()
        fake.stop()


def test_units_that_tenants_use_are_told_of_those_whose_gpus_are_measured():
    """a keeps its GPU busy for half of the time; nothing is told of the node of b."""
    fake = Fake()
    fake.answer = lambda: matrix(*both(0, 900, 50))
    theirs = running("b")
    theirs["metadata"]["namespace"] = "ours"
    theirs["spec"]["nodeName"] = "t4-2"
    daemon = Daemon("-", stdin=cluster_of(node_of(NODE), node_of("t4-2"), running("a"), theirs), config=CONFIG % (fake.url, "") + (
        "queue: {enabled: true}\n"
        "tenants: {namespaces: [{namespace: default, tenant: first}, {namespace: ours, tenant: second}]}\n"))
    units = f'sliced_tenant_units{{tenant="%s",resource="{GPU}",kind="%s"}}'
    try:
        daemon.add(pod("comes", "2000Mi"))  # tenants are told of from the first pod on that the queue has had
        eventually(lambda: units % ("first", "used") in daemon.get("/metrics").text)
        assert daemon.metric(units % ("first", "used")) == 0.5 and daemon.metric(units % ("second", "held")) == 1
        assert units % ("second", "used") not in daemon.get("/metrics").text
    finally:
        daemon.stop()
        fake.stop()


def test_a_workload_that_suffers_from_neighbours_is_learned_and_told():
    """Ten samples a second. Alone or not, its pods keep the GPU busy for 11 %."""
    fake = Fake()

    def quick(value, n=60):
        now = time.time()
        return [[now - (n - 1 - i) / 10, str(value)] for i in range(n)]
    fake.answer = lambda: matrix(series(quick(4000)), series(quick(11), "DCGM_FI_DEV_GPU_UTIL"))
    daemon = Daemon("-", stdin=json.dumps(CLUSTER), config=CONFIG % (fake.url, ""))

    def explained():
        return daemon.get("/api/v1/pods/default/probe/explain?output=table").text
    daemon.add(pod("probe", "100Mi"))
    try:
        pods = {}
        for come, go, n in (("a", None, 1), ("b", "a", 1), ("c", None, 2), ("d", "b", 2)):
            pods[come] = pod(come, "100Mi")
            daemon.add(pods[come])
            if go:
                daemon.end(pods[go])
            assert daemon.bind(pods[come], NODE) == ""
            eventually(lambda n=n: f"neighbours on GPU 0: {n}, busy 12 %" in explained(), 60)
        eventually(lambda: "but its workload, busy 11 % alone, runs at 33 % beside them" in explained())
        assert "contention 33" in explained()
    finally:
        daemon.stop()
        fake.stop()


def test_without_telemetry_usage_says_that_nothing_is_measured(shared):
    for query in ("", "?by=pod", "?by=device&namespace=x&limit=1"):
        assert shared.get(f"/api/v1/usage{query}").json == {"enabled": False, "items": [], "total": 0, "omitted": 0}
    table = shared.get("/api/v1/usage?output=table")
    assert table.status == 200 and "Nothing is measured" in table.text
    assert "sliced_telemetry" not in shared.get("/metrics").text


def test_no_prometheus_stops_the_daemon():
    fake = Fake()
    fake.stop()
    daemon = measuring(fake)
    try:
        eventually(lambda: daemon.get("/api/v1/usage").json["error"])
        assert daemon.get("/readyz").status == 200
        assert not fits(daemon) and fits(daemon, "3000Mi")
    finally:
        daemon.stop()


# ---- straight from exporters ----


EXPORTERS = """telemetry:
  exporters: %s
  interval: %s
  timeout: %s
  staleAfter: 4s
  maxGap: 3s
  sharing: cbp
  %s
"""


def page(used=4000, node="whoever", gpu=0):
    labels = f'gpu="{gpu}",UUID="GPU-{gpu}",modelName="Tesla T4",Hostname="{node}"'
    return 200, "text/plain; version=0.0.4", (
        "# HELP DCGM_FI_DEV_FB_USED Framebuffer memory used (in MiB).\n# TYPE DCGM_FI_DEV_FB_USED gauge\n"
        f"DCGM_FI_DEV_FB_USED{{{labels}}} {used}\nDCGM_FI_DEV_GPU_UTIL{{{labels}}} 30\n"
        f"DCGM_FI_DEV_GPU_TEMP{{{labels}}} 41\n")


def node_of(name, address=None):
    node = json.loads(json.dumps(CLUSTER))
    node["metadata"]["name"] = name
    if address:
        node["status"]["addresses"] = [{"type": "Hostname", "address": name},
                                       {"type": "InternalIP", "address": address}]
    return node


def cluster_of(*nodes):
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(nodes)})


def states(daemon):
    return {each["node"]: each["state"] for each in daemon.get("/api/v1/usage").json["items"]}


def exporting(pattern, *nodes, more="", timeout="1s", interval="200ms"):
    return Daemon("-", stdin=cluster_of(*nodes), config=EXPORTERS % (pattern, interval, timeout, more))


def test_each_exporter_tells_of_its_own_node_whatever_its_labels_say():
    """Two nodes by name. One exporter says that it is the other's, with less memory in use."""
    fake = Fake()
    fake.by_path = {"/t4-1/metrics": lambda: page(9000, "t4-1"), "/t4-2/metrics": lambda: page(1000, "t4-1")}
    cpu = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "cpu-1"}, "status": {"allocatable": {"cpu": "8"}}}
    daemon = exporting(fake.url + "/{node}/metrics", node_of("t4-1"), node_of("t4-2"), cpu)
    try:
        for name in ("t4-1", "t4-2"):
            first = pod(f"first-{name}", "12000Mi")
            daemon.add(first)
            assert daemon.bind(first, name) == ""
        eventually(lambda: states(daemon) == {"t4-1": "Good", "t4-2": "Good"}, 60)
        used = {each["node"]: each["usedMiB"] for each in daemon.get("/api/v1/usage").json["items"]}
        assert used == {"t4-1": 9000, "t4-2": 1000}
        second = pod("second", "8000Mi")
        eventually(lambda: daemon.filter(second, ["t4-1", "t4-2"])["NodeNames"] == ["t4-2"], 60)
        assert set(fake.paths) == {"/t4-1/metrics", "/t4-2/metrics"}  # a node without GPUs is not asked
        # one of two fails
        fake.by_path["/t4-2/metrics"] = lambda: (503, "text/plain", "busy")
        eventually(lambda: states(daemon) == {"t4-1": "Good", "t4-2": "Stale"})
        status = daemon.get("/api/v1/usage").json
        assert status["answered"] and "t4-2: HTTP 503" in status["error"]
        assert "No telemetry: t4-2: HTTP 503" in daemon.get("/api/v1/usage?output=table").text
        assert "t4-2: HTTP 503" in daemon.log
        assert daemon.filter(pod("second", "8000Mi"), ["t4-1", "t4-2"])["NodeNames"] == []
        fake.by_path["/t4-2/metrics"] = lambda: page(1000)
        eventually(lambda: states(daemon) == {"t4-1": "Good", "t4-2": "Good"}, 60)
        assert daemon.get("/api/v1/usage").json["error"] is None
    finally:
        daemon.stop()
        fake.stop()


def test_a_label_that_an_exporter_copies_to_its_page_names_nobody():
    """On the page it stands before the exporter's own of that name."""
    def lines(gpu, busy, names):
        labels = f'gpu="{gpu}",UUID="GPU-{gpu}",Hostname="x"' + "".join(f',pod="{name}"' for name in names)
        return "".join(f'{metric}{{{labels},namespace="default"}} {value}\n'
                       for metric, value in (("DCGM_FI_DEV_FB_USED", 900), ("DCGM_FI_DEV_GPU_UTIL", busy)))
    fake = Fake()
    fake.answer = lambda: (200, "text/plain", lines(0, 97, []) + lines(1, 0, ["victim", "liar"]))
    node = node_of(NODE)
    node["metadata"]["labels"].update({"nvidia.com/gpu.count": "2", "nvidia.com/gpu.replicas": "1",
                                       "nvidia.com/gpu.product": "Tesla-T4", "nvidia.com/gpu.sharing-strategy": "none"})
    node["status"]["allocatable"][GPU] = node["status"]["capacity"][GPU] = "2"
    liar = running("liar")
    liar["metadata"]["labels"] = {"pod": "victim"}
    daemon = exporting(fake.url + "/{node}/metrics", node, running("victim"), liar)
    try:
        eventually(lambda: (by_pod(daemon)["liar"]["idleSeconds"] or 0) > 0)
        assert by_pod(daemon)["victim"]["idleSeconds"] is None
    finally:
        daemon.stop()
        fake.stop()


def test_exporters_are_found_by_the_addresses_of_nodes():
    """The same port at two addresses of this machine; a third node states none."""
    first = Fake()
    second = Fake(("127.0.0.2", first.server.server_port))
    first.answer = lambda: page(1000)
    second.answer = lambda: page(2000)
    daemon = exporting("http://{address}:%d/metrics" % first.server.server_port,
                       node_of("t4-1", "127.0.0.1"), node_of("t4-2", "127.0.0.2"), node_of("t4-3"))
    try:
        def used():
            return {each["node"]: each["usedMiB"] for each in daemon.get("/api/v1/usage").json["items"]}
        eventually(lambda: used() == {"t4-1": 1000, "t4-2": 2000})
        eventually(lambda: daemon.get("/api/v1/usage").json["error"] == "t4-3: the node states no InternalIP")
    finally:
        daemon.stop()
        first.stop()
        second.stop()


PAGES = {
    "a page that is cut": (lambda: (200, "text/plain", page()[2][:-40]), "cut in line"),
    "a page of something else": (lambda: (200, "text/plain", "up 1\n"), "none of the metrics"),
    "no page": (lambda: (200, "text/plain", ""), "none of the metrics"),
    "HTML": (lambda: (200, "text/html", "<html>Sign in</html>\n"), "no page of an exporter: line 1"),
    "JSON": (lambda: (200, "application/json", well()[2] + "\n"), "no page of an exporter: line 1"),
    "half an answer": (lambda: (200, "text/plain", Cut(page()[2])), "remaining"),
    "no such path": (lambda: (404, "text/plain", "404 page not found"), "HTTP 404"),
    "slowness": (lambda: time.sleep(1.5) or page(), "within 1000 ms"),
    "a page without end": (lambda: (200, "text/plain", "# " + "x" * (17 << 20)), "longer than"),
}


def test_what_is_no_page_of_an_exporter_is_said():
    fake = Fake()
    daemon = exporting(fake.url + "/{node}", node_of(NODE))
    try:
        for answer, said in PAGES.values():
            fake.answer = answer
            eventually(lambda said=said: said in (daemon.get("/api/v1/usage").json["error"] or ""))
            assert not daemon.get("/api/v1/usage").json["answered"]
            fake.answer = page
            eventually(lambda: daemon.get("/api/v1/usage").json["answered"] and row(daemon).get("usedMiB") == 4000)
    finally:
        daemon.stop()
        fake.stop()


def test_an_exporter_takes_no_more_places_than_its_node_has_gpus():
    """One that invents instances and GPUs leaves the other nodes their places, and its own real GPUs."""
    fake = Fake()
    fake.by_path = {"/t4-1": lambda: (200, "text/plain", "".join(
        f'DCGM_FI_DEV_FB_USED{{gpu="{i % 64}",GPU_I_ID="{i}"}} 1\n' for i in range(1, 5000))), "/t4-2": page}
    daemon = exporting(fake.url + "/{node}", node_of("t4-1"), node_of("t4-2"), more="maxUnits: 200")
    try:
        eventually(lambda: "t4-2" in states(daemon))
        eventually(lambda: daemon.metric("sliced_telemetry_units_over_total") >= 5000 - 128)
        assert len(daemon.get("/api/v1/usage?limit=5000").json["items"]) <= 1 + 8
        fake.by_path["/t4-1"] = page
        eventually(lambda: ("t4-1", 0, 4000) in [(each["node"], each["gpu"], each.get("usedMiB"))
                                                 for each in daemon.get("/api/v1/usage").json["items"]])
    finally:
        daemon.stop()
        fake.stop()


def test_a_hundred_exporters_are_asked_some_at_a_time():
    fake = Fake()
    fake.answer = page
    daemon = exporting(fake.url + "/{node}", *(node_of(f"t4-{i}") for i in range(100)), timeout="30s")
    try:
        eventually(lambda: len(states(daemon)) == 100)
        assert daemon.get("/api/v1/usage").json["error"] is None
        assert fake.most <= 64
        fake.answer = lambda: (404, "text/plain", "")
        eventually(lambda: "HTTP 404: the server answered 404 (and 99 more)" in (
            daemon.get("/api/v1/usage").json["error"] or ""))
    finally:
        daemon.stop()
        fake.stop()


@pytest.mark.parametrize("hanging", [1, 64, 100])
def test_exporters_that_hang_keep_no_other_waiting(hanging):
    """Each is asked an interval after its own answer; those that hang are asked again after their deadline. A good one
    that a busy machine makes slow loses its place to them, and has it back when it has answered quickly again."""
    fake = Fake()
    over = threading.Event()

    def hang():
        over.wait()
        return page()
    names = [f"bad-{i}" for i in range(hanging)]
    fake.by_path = {f"/{name}": hang for name in names}
    fake.answer = page
    daemon = exporting(fake.url + "/{node}", *(node_of(name) for name in [*names, "good"]), timeout="6s", interval="1s")
    try:
        eventually(lambda: "good" in states(daemon), 300)
        eventually(lambda: any(asked.count("/good") > 3 for asked in "".join(fake.paths).split("/bad-0")[1:]), 300)

        def told():
            status = daemon.get("/api/v1/usage").json
            return status["answered"] and "within 6000 ms" in (status["error"] or "")
        eventually(told, 300)
    finally:
        over.set()
        daemon.stop()
        fake.stop()


@pytest.mark.parametrize("config, said", [
    ("exporters: http://exporter:9400/metrics", "{address} or {node}"),
    ("exporters: '{address}:9400'", "http://"),
    ("url: http://x\n  exporters: http://{node}", "not both"),
    ("sharing: cbp", "telemetry.url or telemetry.exporters"),
])
def test_what_the_configuration_gets_wrong_is_said(tmp_path, config, said):
    file = tmp_path / "sliced.yaml"
    file.write_text(f"apiVersion: sliced.dev/v1alpha1\nkind: SlicedConfiguration\ntelemetry:\n  {config}\n")
    status, _, error = run("--config", file, "--check-config")
    assert status != 0 and said in error, error
