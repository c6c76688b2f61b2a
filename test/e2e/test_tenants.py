"""Tenants on real control planes: what a tenant borrows, what it is told, and what comes between."""

import re
import time

import pytest

from harness import chart, gpus
from harness.api import ApiError, object_path
from harness.cluster import GATE, ensure_namespace
from harness.history import History
from harness.process import wait_for
from harness.sliced import SHORT_LEASE, merge
from test_queue import GPU, epoch, priority_class, row, rows
from test_stages import wait_text
from test_visibility import role_binding, run_plugin

LABEL = "example.com/team"
TENANTS = {"team-a": "vision", "team-b": "speech", "team-c": "vision"}  # by the label of the Namespace
BY_LABEL = {"tenants": {"namespaceLabel": LABEL}}
CAP = "its tenant has as many pods or units as it may have"

pytestmark = pytest.mark.usefixtures("teams")


def path_of(namespace, name=""):
    return f"/api/v1/namespaces/{namespace}/pods/{name}".rstrip("/")


def pod(name, namespace, seconds, count=1):
    """Ended by the kubelet after so long."""
    made = gpus.pod(name, {GPU: count}, namespace=namespace, gates=[GATE])
    made["spec"]["activeDeadlineSeconds"] = seconds
    return made


def is_gone(plane, path):
    try:
        plane.get(path)
    except ApiError as error:
        return error.code == 404
    return False


def placed(cluster):
    return {name for name, each in cluster.pods().items() if each["spec"].get("nodeName")}


@pytest.fixture
def teams(cluster):
    """The namespaces of TENANTS, and for the daemon the right to read their labels; afterwards all is gone."""
    plane = cluster.plane

    def give(values):
        objects = cluster.helm.objects(merge({"queue": {"gate": "none"}}, values), plane.minor)
        role = chart.one(objects, "ClusterRole", "sliced")
        plane.patch(object_path(role), {"rules": role["rules"]})
    for namespace, tenant in TENANTS.items():
        ensure_namespace(plane, namespace)
        plane.patch(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": {LABEL: tenant}}})
    give({"config": BY_LABEL})
    daemon = plane.acting_as(f"system:serviceaccount:{chart.NAMESPACE}:sliced")
    wait_for("the right to read Namespaces", lambda: daemon.get("/api/v1/namespaces"))
    yield
    cluster.stop_daemons()  # none is to miss its right
    cluster.take_down_visibility()  # a group that nobody serves keeps namespaces from ending
    give({})
    for namespace in TENANTS:
        if not is_gone(plane, f"/api/v1/namespaces/{namespace}"):
            plane.delete(path_of(namespace), 0)
            plane.delete(f"/api/v1/namespaces/{namespace}")
    for namespace in TENANTS:
        wait_for(f"{namespace} is gone", lambda: is_gone(plane, f"/api/v1/namespaces/{namespace}"), 120)


# ---- who borrows, and who comes back ----

# vision and speech have two of four GPUs each: speech by its guarantee alone, vision by weight, and it may
# borrow one more.
LENT = merge(SHORT_LEASE, merge(BY_LABEL, {"tenants": {
    "shares": [{"tenant": "vision"}, {"tenant": "speech", "weight": 0}, {"tenant": "others", "weight": 0}],
    "guarantees": [{"tenant": "speech", "resource": GPU, "units": 2}],
    "caps": [{"tenant": "vision", "resource": GPU, "units": 3}]}}))
DUE = re.compile(r"; due for (\S+): on the own share of tenant speech it would have started")


def due_seconds(daemon, name):
    """For how long the pod is said to be due."""
    parts = re.findall(r"(\d+)([hms])", DUE.search(row(daemon, name)["text"])[1])
    return sum(int(number) * {"h": 3600, "m": 60, "s": 1}[unit] for number, unit in parts)


def recorded(cluster):
    """The pods that have started on their shares, or run, by what the leader has left for the next one."""
    lease = cluster.plane.get(f"/apis/coordination.k8s.io/v1/namespaces/{chart.NAMESPACE}/leases/sliced")
    return [line for line in lease["metadata"]["annotations"]["sliced.dev/tenants"].splitlines()
            if line.startswith("p ")]


def most_held(history):
    """The most pods that had a node at the same time."""
    turns = sorted([(at, 1) for at in history.bound.values()] +
                   [(at, -1) for name, at in history.ended.items() if name in history.bound])
    held = [0]
    for _, change in turns:
        held.append(held[-1] + change)
    return max(held)


def user_of(cluster, user, namespace, name):
    """look(told, *ways) gives all that a user with the right to view the namespace reads of that pod's wait, once
    those ways tell that."""
    cluster.add(role_binding(user, namespace))
    config = cluster.plane.client_kubeconfig(user, user)

    def look(told, ways):
        seen = {"events": cluster.plane.kubectl("get", "events", "-n", namespace, kubeconfig=config),
                "table": cluster.plane.kubectl("get", "queuedpods", "-n", namespace, "-o", "wide", kubeconfig=config),
                "why": run_plugin(cluster, config, "why", name, "-n", namespace)[0]}
        assert all(told in seen[each] for each in ways), seen
        return "\n".join((*seen.values(), cluster.plane.kubectl(
            "get", "pod", name, "-n", namespace, "-o", "yaml", kubeconfig=config)))
    return lambda told, *ways: wait_for(f"{user} reads: {told}", lambda: look(told, ways))


@pytest.mark.both
def test_who_comes_back_is_told_when_it_starts_and_does_so_first(cluster):
    cluster.add(gpus.whole("gpu-1", gpus=4))
    leader = cluster.start_daemon(config=LENT)
    standby = cluster.new_daemon(config=LENT).launch().wait_up()
    cluster.put_up_visibility()
    runs = [f"vision-run-{i}" for i in range(3)]
    with History(cluster.plane, "team-a") as vision, History(cluster.plane, "team-b") as speech:
        # vision borrows what it may, and one GPU is left over
        cluster.add(*(pod(name, "team-a", 3600) for name in runs))
        cluster.wait_bound(*runs)
        cluster.add(pod("vision-short", "team-a", 300), pod("vision-next", "team-a", 600))
        for name in ("vision-short", "vision-next"):
            wait_text(leader, name, CAP)

        # speech comes back for all that is its own, and then for more
        cluster.add(pod("speech-back", "team-b", 7200, 2))
        wait_text(leader, "speech-back", " at the latest; due for ")
        told = row(leader, "speech-back")["estimatedStart"]
        cluster.add(pod("speech-more", "team-b", 3600, 2))
        wait_text(leader, "speech-more", "; on the own share of tenant speech it would start in ")
        assert told["sure"] == "reserved"
        by = epoch(told["at"])
        begun = wait_for("they run", lambda: [cluster.pods()[name]["status"]["startTime"] for name in runs])
        assert by <= epoch(max(begun)) + 3600 + 60, "later than what vision has borrowed must end"

        # both read it in words of their own
        alice = user_of(cluster, "alice", "team-a", "vision-next")
        bob = user_of(cluster, "bob", "team-b", "speech-back")
        seen = bob(": on the own share of tenant speech it would have started", "events", "table", "why")
        assert "vision" not in seen and "team-a" not in seen, seen
        seen = alice(CAP, "events", "table", "why")
        assert "speech" not in seen and "team-b" not in seen, seen

        # the next leader goes on with what is due
        wait_for("its record has the three that run and who is due", lambda: len(recorded(cluster)) == 4)
        killed = time.time()
        leader.kill()
        standby.wait_ready(120)
        wait_for("due since before it led", lambda: time.time() - due_seconds(standby, "speech-back") <= killed)
        wait_for("a start", lambda: row(standby, "speech-back")["estimatedStart"]["sure"] == "reserved")

        cluster.plane.delete(path_of("team-a", runs[0]), 0)
        cluster.wait_bound("speech-back")
        assert placed(cluster) == {*runs[1:], "speech-back"}, "a shorter one that was not due went with it"
        assert wait_for("it is seen", lambda: speech.bound.get("speech-back")) <= by
        wait_for("the APIService", cluster.visibility_available, 90)
        seen = alice(f"1 pod ahead for {GPU}; it is team-a/vision-short", "table", "why")
        assert "speech" not in seen and "team-b" not in seen, seen

        # the others follow, the shortest first
        cluster.plane.delete(path_of("team-a", runs[1]), 0)
        cluster.wait_bound("vision-short")
        assert placed(cluster) == {runs[2], "vision-short", "speech-back"}
        cluster.plane.delete(path_of("team-a", runs[2]), 0)
        cluster.wait_bound("vision-next")
        cluster.plane.delete(path_of("team-b", "speech-back"), 0)
        cluster.wait_bound("speech-more")
        wait_for("all is seen", lambda: len(vision.bound) == 5 and len(speech.bound) == 2)
    assert most_held(vision) == 3


RECLAIM = merge(BY_LABEL, {"queue": {"preemption": False}, "tenants": {
    "shares": [{"tenant": "vision"}, {"tenant": "speech"}, {"tenant": "others", "weight": 0}],
    "reclaim": True, "minRuntime": "2s"}})


@pytest.mark.both
def test_who_comes_back_preempts_what_is_borrowed_where_that_is_configured(cluster):
    cluster.add(priority_class("low", 10), priority_class("high", 1000))
    cluster.add(gpus.whole("gpu-1", gpus=4))
    daemon = cluster.start_daemon(config=RECLAIM)

    def add(name, namespace, priority):
        made = pod(name, namespace, 3600)
        made["spec"]["priorityClassName"] = priority
        cluster.add(made)
    runs = [f"vision-run-{i}" for i in range(4)]
    for name in runs:  # each begins after the one before
        add(name, "team-a", "low")
        cluster.wait_bound(name)
    began = time.time()
    add("vision-matters", "team-a", "high")
    wait_text(daemon, "vision-matters", "held: first for")
    wait_for("all have had minRuntime", lambda: time.time() > began + 3)

    for i in (1, 2):
        add(f"speech-{i}", "team-b", "high")
        cluster.wait_bound(f"speech-{i}")
        assert placed(cluster) == {*runs[:4 - i], *(f"speech-{k + 1}" for k in range(i))}, "the youngest has ended"
    add("speech-3", "team-b", "high")
    wait_text(daemon, "speech-3", "; on the own share of tenant speech it would start in ")
    assert placed(cluster) == {*runs[:2], "speech-1", "speech-2"}, "nobody ends for who is not due"


MODEL = "nvidia.com/gpu.product"
H100 = "NVIDIA-H100-80GB-HBM3"
BY_MODEL = merge(BY_LABEL, {"tenants": {
    "shares": [{"tenant": "vision"}, {"tenant": "speech", "weight": 0}, {"tenant": "others", "weight": 0}],
    "guarantees": [{"tenant": "speech", "resource": GPU, "model": H100, "units": 1}]}})


def test_a_model_comes_back_to_whom_it_is_guaranteed(cluster):
    other = gpus.whole("gpu-2", gpus=1)
    other["metadata"]["labels"][MODEL] = "NVIDIA-L4"
    cluster.add(gpus.whole("gpu-1", gpus=1), other)
    daemon = cluster.start_daemon(config=BY_MODEL)

    def add(name, namespace, seconds, **selector):
        made = pod(name, namespace, seconds)
        made["spec"]["nodeSelector"] = selector
        cluster.add(made)
    for i in (1, 2):
        add(f"vision-{i}", "team-a", 3600)
        cluster.wait_bound(f"vision-{i}")
    ends = next(name for name in placed(cluster) if cluster.pods()[name]["spec"]["nodeName"] == "gpu-1")

    add("speech-h100", "team-b", 7200, **{MODEL: H100})
    wait_text(daemon, "speech-h100", "; due for ")
    add("vision-short", "team-a", 60, **{MODEL: H100})
    wait_text(daemon, "vision-short", "held: ")
    cluster.plane.delete(path_of("team-a", ends), 0)
    cluster.wait_bound("speech-h100")
    assert "vision-short" not in placed(cluster), "it is shorter, and not due"


# ---- quotas, limit ranges, namespaces that go ----

def test_a_quota_refuses_pods_before_they_wait(cluster):
    """A quota of GPUs counts pods behind the gate: who is refused is in no queue."""
    plane = cluster.plane
    cluster.add(gpus.whole("gpu-1", gpus=1))
    daemon = cluster.start_daemon(config=BY_LABEL)
    cluster.add({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "gpus", "namespace": "team-a"},
                 "spec": {"hard": {f"requests.{GPU}": "2"}}})

    def used():
        return plane.get("/api/v1/namespaces/team-a/resourcequotas/gpus")["status"]["used"][f"requests.{GPU}"]
    wait_for("the quota counts", lambda: used() == "0")
    cluster.add(pod("runs", "team-a", 3600))
    cluster.wait_bound("runs")
    cluster.add(pod("waits", "team-a", 3600))
    wait_text(daemon, "waits", f"held: first for {GPU}")
    wait_for("both count", lambda: used() == "2")
    with pytest.raises(ApiError) as refused:
        cluster.add(pod("third", "team-a", 3600))
    assert refused.value.code == 403 and "exceeded quota: gpus" in refused.value.message
    cluster.add(gpus.job("batch", {GPU: 1}, namespace="team-a", gates=[GATE]))

    def told():
        events = [each for each in plane.get("/api/v1/namespaces/team-a/events")["items"]
                  if each["involvedObject"]["name"] == "batch"]
        assert any(each["reason"] == "FailedCreate" and "exceeded quota: gpus" in each["message"]
                   for each in events), [each["message"] for each in events]
        return True
    wait_for("the Job is told", told)
    assert set(rows(daemon)) == {"waits"}

    # the queue goes on, and the Job's pod comes when the quota has room
    plane.delete(path_of("team-a", "runs"), 0)
    cluster.wait_bound("waits")
    came = wait_for("the Job's pod", lambda: next(name for name in rows(daemon) if name.startswith("batch-")), 180)
    wait_text(daemon, came, f"held: first for {GPU}")


def test_what_a_limit_range_adds_counts_where_a_pod_may_go(cluster):
    """The pods state no CPU: the namespace's LimitRange has them ask for more than the small node has."""
    labels = gpus.gpu_labels("NVIDIA-H100-80GB-HBM3", 1, 81559)
    cluster.add(*(gpus.node(name, {GPU: 1}, labels, cpu=cpu) for name, cpu in (("small", 4), ("large", 64))))
    daemon = cluster.start_daemon(config=BY_LABEL)
    cluster.add({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "usual", "namespace": "team-a"},
                 "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "8", "memory": "16Gi"}}]}})

    def bare(name):
        made = pod(name, "team-a", 3600)
        made["spec"]["containers"][0]["resources"] = {"limits": {GPU: "1"}}
        return made
    wait_for("the LimitRange adds", lambda: cluster.plane.create(bare("probe"), dry_run=True)[
        "spec"]["containers"][0]["resources"]["requests"].get("cpu") == "8")
    cluster.add(bare("first"))
    assert cluster.wait_bound("first")["first"]["spec"]["nodeName"] == "large"
    cluster.add(bare("second"))
    wait_text(daemon, "second", "CPU or memory")
    cluster.add(pod("states-less", "team-a", 3600))
    assert cluster.wait_bound("states-less")["states-less"]["spec"]["nodeName"] == "small"
    cluster.plane.delete(path_of("team-a", "first"), 0)
    assert cluster.wait_bound("second")["second"]["spec"]["nodeName"] == "large"


def test_a_namespace_that_goes_gives_back_what_its_tenant_held(cluster):
    """team-a and team-c are of one tenant, which may hold one of two GPUs."""
    cluster.add(gpus.whole("gpu-1", gpus=2))
    daemon = cluster.start_daemon(config=merge(BY_LABEL, {"tenants": {
        "shares": [{"tenant": "vision"}], "caps": [{"tenant": "vision", "resource": GPU, "units": 1}]}}))
    runs = pod("runs", "team-a", 3600)
    runs["spec"]["terminationGracePeriodSeconds"] = 600
    runs["metadata"]["annotations"]["sliced.dev/e2e-lingers"] = "yes"
    cluster.add(runs)
    cluster.wait_bound("runs")
    cluster.add(pod("waits", "team-a", 600), pod("elsewhere", "team-c", 1200))
    for name in ("waits", "elsewhere"):
        wait_text(daemon, name, CAP)
    cluster.plane.delete("/api/v1/namespaces/team-a")
    wait_for("the queue forgets who waited", lambda: set(rows(daemon)) == {"elsewhere"})
    # what ends still holds its unit
    assert "deletionTimestamp" in wait_for("it is to end", lambda: cluster.pods()["runs"]["metadata"])
    assert CAP in row(daemon, "elsewhere")["text"]
    cluster.plane.delete(path_of("team-a", "runs"), 0)
    cluster.wait_bound("elsewhere")
    wait_for("team-a is gone", lambda: is_gone(cluster.plane, "/api/v1/namespaces/team-a"), 120)
    wait_for("its unit came back", lambda: daemon.metric("sliced_pool_units", resource=GPU, state="used") == 1)
    assert not rows(daemon)
