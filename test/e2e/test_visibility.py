"""A user's morning: the queue by plain kubectl, with the user's own rights, through the real API server."""

import collections
import json
import os
import re
import subprocess
import threading

import pytest
import yaml

from harness import chart, gpus, sliced
from harness.api import ApiError, object_path
from harness.cluster import GATE, GROUP_PATH, ensure_namespace
from harness.machines.hardware import A100
from harness.machines.machine import Machine
from harness.machines.mig_manager import NAMESPACE as MIG_NAMESPACE
from harness.machines.mig_manager import MigManager
from harness.process import wait_for
from harness.sliced import SHORT_LEASE, merge
from harness.telemetry import Exporter, Prometheus

GPU = "nvidia.com/gpu"
SJF = {"queue": {"order": "sjf"}}
USERS = {"alice": "ours", "bob": "theirs"}  # and the namespace that each may view


def role_binding(user, namespace):
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": {"name": f"view-{user}", "namespace": namespace},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
            "subjects": [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}]}


def waiting(name, namespace, count=8, timeout="8h", labels=None):
    pod = gpus.pod(name, {GPU: count}, namespace=namespace, gates=[GATE],
                   annotations={"sliced.dev/timeout": timeout})
    pod["metadata"]["labels"] = labels or {}
    return pod


def start_estimate(pod):
    return {"apiVersion": "visibility.sliced.dev/v1alpha1", "kind": "StartEstimate", "spec": {"pod": pod}}


@pytest.fixture
def users(cluster):
    """kubectl for each user: users[name](arguments)."""
    plane = cluster.plane
    for namespace in USERS.values():
        ensure_namespace(plane, namespace)
    bindings = [role_binding(*each) for each in USERS.items()]
    cluster.add(*bindings)
    configs = {name: plane.client_kubeconfig(name, name) for name in USERS}

    def kubectl(name):
        return lambda *args, **more: plane.kubectl(*args, kubeconfig=configs[name], **more)
    yield {**{name: kubectl(name) for name in USERS}, "configs": configs}
    for namespace in USERS.values():
        plane.delete(f"/api/v1/namespaces/{namespace}/pods", 0)
    for each in bindings:
        plane.delete(object_path(each))
    cluster.take_down_visibility()
    wait_for("no pods left", lambda: not cluster.pods())


def cells(table):
    """Rows of kubectl's table as maps."""
    lines = table.splitlines() or [""]  # there are none
    head = lines[0]
    starts = [head.index(name) for name in head.split()]
    return [{head[a:b].strip(): line[a:b].strip() for a, b in zip(starts, starts[1:] + [None])}
            for line in lines[1:]]


def wait_rows(kubectl, namespace, check, *args):
    """Until the user's table is so."""
    def there():
        rows = cells(kubectl("get", "queuedpods", "-n", namespace, *args))
        assert check(rows), rows
        return rows
    return wait_for("the queue as the user sees it", there)


class Watch:
    """kubectl get -w, whose output is in a file."""

    def __init__(self, cluster, config, *args):
        self.path = f"{cluster.plane.folder}/watch.out"
        with open(self.path, "w", encoding="utf-8") as out:
            self.process = subprocess.Popen(
                cluster.plane.kubectl_command("get", *args, "-w", kubeconfig=config),
                stdout=out, stderr=subprocess.STDOUT)

    def text(self):
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def wait(self, *parts):
        """Until a line has all of that."""
        def there():
            assert any(all(part in line for part in parts) for line in self.text().splitlines()), (
                self.text()[-2000:])
            return True
        wait_for(f"a line with {parts}", there)

    def stop(self):
        self.process.terminate()
        self.process.wait()


@pytest.mark.both
def test_users_see_their_own_queue_by_plain_kubectl(cluster, users):
    cluster.add(gpus.whole("gpu-1"))
    cluster.start_daemon(config=SJF)
    cluster.put_up_visibility()
    alice, bob = users["alice"], users["bob"]

    cluster.add(waiting("secret-1", "theirs"))
    cluster.wait_bound("secret-1")
    cluster.add(waiting("secret-2", "theirs", timeout="1m"))
    wait_rows(bob, "theirs", lambda rows: [each["NAME"] for each in rows] == ["secret-2"])
    cluster.add(waiting("train", "ours", labels={"team": "a"}), waiting("test", "ours", timeout="10m"))

    # what is there
    resources = alice("api-resources", "--api-group=visibility.sliced.dev", "-o", "name").split()
    assert resources == ["queuedpods.visibility.sliced.dev", "runningpods.visibility.sliced.dev",
                         "slicenodes.visibility.sliced.dev", "startestimates.visibility.sliced.dev"]
    rows = wait_rows(alice, "ours", lambda rows: len(rows) == 2 and all(
        each["START-IN"] for each in rows))
    assert [(each["NAME"], each["POSITION"], each["STATE"], each["REASON"], each["AHEAD"])
            for each in rows] == [
                ("test", "2", "Held", "NoRoom", "1"), ("train", "3", "Held", "NoRoom", "2")]
    assert rows[1]["ASK"] == f"{GPU}=8" and rows[1]["TIMEOUT"] == "8h"

    def told():
        events = alice("get", "events", "-n", "ours")
        assert f"ahead for {GPU}" in events
        return events
    assert "secret" not in wait_for("why a pod of hers waits", told)
    wide = alice("get", "qp", "-n", "ours", "-o", "wide")
    assert "MESSAGE" in wide and "held: 1 pod ahead for nvidia.com/gpu" in wide
    assert "secret" not in wide

    # as JSON, by selectors, by pages, one of them
    listed = json.loads(alice("get", "queuedpods", "-n", "ours", "-o", "json"))
    assert [each["status"]["position"] for each in listed["items"]] == [2, 3]
    assert "secret" not in json.dumps(listed)
    assert alice("get", "queuedpods", "-n", "ours", "-l", "team=a", "-o", "name").split() == [
        "queuedpod.visibility.sliced.dev/train"]
    assert alice("get", "queuedpods", "-n", "ours", "--field-selector", "metadata.name=test", "-o",
                 "name").split() == ["queuedpod.visibility.sliced.dev/test"]
    assert len(cells(alice("get", "queuedpods", "-n", "ours", "--chunk-size=1"))) == 2
    assert "estimatedStart" in alice("get", "queuedpod", "train", "-n", "ours", "-o", "yaml")
    sorted_names = alice("get", "queuedpods", "-n", "ours", "--sort-by=.metadata.name", "-o", "name")
    assert sorted_names.split()[0].endswith("/test")

    # when would one more pod start?
    def when(kubectl, namespace, **more):
        """kubectl create --raw answers what the server does; 429 where estimates come too fast."""
        body = json.dumps(start_estimate(waiting("supposed", namespace, **more)))

        def answer():
            out = kubectl("create", "--raw", f"{GROUP_PATH}/namespaces/{namespace}/startestimates", "-f", "-",
                          text=body, check=False)
            assert "as may be" not in out and "being made" not in out
            return out
        return wait_for("an estimate", answer)
    told = json.loads(when(alice, "ours", timeout="5m"))
    assert (told["status"]["position"], told["status"]["ahead"], told["status"]["delayed"]) == (2, 1, 2)
    assert told["status"]["estimateKind"] == "estimate" and "secret" not in json.dumps(told)
    assert "forbidden" in when(alice, "theirs").lower()
    assert len(cells(alice("get", "queuedpods", "-n", "ours"))) == 2
    assert "supposed" not in cluster.pods()

    # what is not hers
    for args in (("queuedpods", "-n", "theirs"), ("runningpods", "-n", "theirs"),
                 ("queuedpods", "-A"), ("slicenodes",)):
        assert "forbidden" in alice("get", *args, check=False), args
    assert "secret-1" in bob("get", "runningpods", "-n", "theirs")
    assert "NotFound" in alice("get", "queuedpod", "secret-2", "-n", "ours", check=False)
    nodes = cells(cluster.plane.kubectl("get", "slicenodes"))
    assert (nodes[0]["NAME"], nodes[0]["USED"], nodes[0]["FREE"]) == ("gpu-1", "gpu=8", "0")


def test_users_see_their_own_tenant_and_no_other(cluster, users):
    cluster.add(gpus.whole("gpu-1"))
    cluster.start_daemon(config={**SJF, "tenants": {"namespaces": [
        {"namespace": "ours", "tenant": "left"}, {"namespace": "theirs", "tenant": "right"}]}})
    cluster.put_up_visibility()
    cluster.add(waiting("secret-1", "theirs", count=6))
    cluster.wait_bound("secret-1")
    cluster.add(waiting("train", "ours", count=4))

    def own(user, *wanted):
        heads = ("TENANT", "SHARE", "HELD", "BORROWED", "LENT", "WAITING", "DUE")

        def there():
            rows = cells(users[user]("get", "tenantqueues", "-n", USERS[user]))
            assert [tuple(row[head] for head in heads) for row in rows] == [wanted], rows
            return True
        wait_for(f"the tenant of {user}", there)
    own("alice", "left", "4.00", "0", "0.00", "2.00", "1", "1")
    own("bob", "right", "4.00", "6", "2.00", "0.00", "0", "0")
    told = users["alice"]("get", "tenantqueues,queuedpods", "-n", "ours", "-o", "yaml")
    assert "due: true" in told and "right" not in told and "secret" not in told
    for args in (("tenantqueues", "-n", "theirs"), ("tenantqueues", "-A"), ("clustertenantqueues",)):
        assert "forbidden" in users["alice"]("get", *args, check=False), args
    rows = cells(cluster.plane.kubectl("get", "clustertenantqueues"))
    assert [(row["NAME"], row["RESOURCE"]) for row in rows] == [
        ("left.nvidia.com.gpu", GPU), ("right.nvidia.com.gpu", GPU)]


def test_a_watch_follows_a_pod_to_its_node(cluster, users):
    cluster.add(gpus.whole("gpu-1"))
    cluster.start_daemon(config=SJF)
    cluster.put_up_visibility()
    cluster.add(waiting("secret", "theirs"))
    cluster.wait_bound("secret")
    cluster.add(waiting("train", "ours", timeout="10m"))
    wait_rows(users["alice"], "ours", lambda rows: len(rows) == 1)
    watch = Watch(cluster, users["configs"]["alice"], "queuedpods", "-n", "ours")
    try:
        watch.wait("train", "Held", "NoRoom")
        cluster.add(waiting("later", "ours"))
        watch.wait("later", "Held")
        cluster.plane.delete("/api/v1/namespaces/theirs/pods/secret", 0)
        watch.wait("train", "Gone")  # it has left the queue for its node
        cluster.wait_bound("train")
        assert "train" in users["alice"]("get", "runningpods", "-n", "ours")
        assert "secret" not in watch.text()
        assert watch.process.poll() is None
    finally:
        watch.stop()


# ---- the plugin ----

CLI = os.environ.get("CLI_BIN") or os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(sliced.BIN))), "cli", "kubectl-sliced")

SIM = os.path.join(os.path.dirname(os.path.dirname(CLI)), "sim", "slicesim")


def run_plugin(cluster, config, *args, status=0, program=("kubectl", "sliced")):
    """As a user runs it: kubectl finds the plugin on the PATH. Returns output and complaints."""
    path = os.pathsep.join([os.path.dirname(CLI), os.path.dirname(SIM), cluster.plane.bin, os.environ["PATH"]])
    done = subprocess.run([*program, *args], capture_output=True, text=True, check=False, timeout=120,
                          env={**os.environ, "PATH": path, "KUBECONFIG": config})
    assert done.returncode == status, (args, done.stdout, done.stderr)
    return done.stdout, done.stderr


@pytest.mark.both
def test_users_ask_the_plugin_with_their_own_rights(cluster, users):
    cluster.add(gpus.whole("gpu-1"))
    cluster.start_daemon(config=SJF)
    cluster.put_up_visibility()
    configs = users["configs"]

    def alice(*args, **more):
        return run_plugin(cluster, configs["alice"], *args, **more)
    cluster.add(waiting("secret-1", "theirs"))
    cluster.wait_bound("secret-1")
    cluster.add(waiting("secret-2", "theirs", timeout="1m"))
    wait_rows(users["bob"], "theirs", lambda rows: len(rows) == 1)
    cluster.add(waiting("train", "ours"))
    wait_rows(users["alice"], "ours", lambda rows: len(rows) == 1 and rows[0]["AHEAD"] == "1")

    # the same table as kubectl's, and the same story for all who ask
    row, = cells(alice("queue", "-n", "ours")[0])
    assert (row["NAME"], row["POSITION"], row["STATE"], row["REASON"]) == ("train", "2", "Held", "NoRoom")
    def same():
        told = json.loads(users["alice"]("get", "queuedpod", "train", "-n", "ours", "-o", "json"))
        assert json.loads(alice("queue", "train", "-n", "ours", "-o", "json")[0]) == told
        assert yaml.safe_load(alice("why", "train", "-n", "ours", "-o", "yaml")[0]) == told
        return True
    wait_for("nothing changes between two looks", same)
    story = alice("why", "train", "-n", "ours")[0]
    assert "held: 1 pod ahead for nvidia.com/gpu" in story
    assert "It fits on 0 of 1 nodes now." in story and "8 asked, 0 free of 8" in story
    assert "What would help:" in story and "secret" not in story and "gpu-1" not in story
    assert "secret-1" in run_plugin(cluster, configs["bob"], "why", "secret-1", "-n", "theirs")[0]

    # what is not hers
    for args in (("queue", "-n", "theirs"), ("why", "secret-1", "-n", "theirs"), ("queue", "-A"),
                 ("nodes",), ("queue", "-A", "-w")):
        out, err = alice(*args, status=1)
        assert out == "" and "Error from server (Forbidden)" in err and "sliced-visibility" in err, args
    assert "secret" not in "".join(alice("why", "secret-2", "-n", "ours", status=1)).replace(
        "secret-2", "")
    admin = cluster.plane.kubeconfig
    row, = cells(run_plugin(cluster, admin, "nodes")[0])
    assert (row["NAME"], row["USED"], row["FREE"]) == ("gpu-1", "gpu=8", "0")
    assert "telemetry.url" in run_plugin(cluster, admin, "top", status=1)[1]

    # what waits, in other orders: for who may list the cluster
    table = run_plugin(cluster, admin, "simulate", "--order", "fifo,bounded", "--for", "1d")[0]
    jobs, = (line.split() for line in table.splitlines() if line.startswith("jobs run "))
    assert jobs[2:] == ["2", "2"]
    assert "forbidden" in alice("simulate", status=1)[1]

    # completion, as kubectl asks for it
    out = run_plugin(cluster, configs["alice"], "__complete", "sliced", "why", "-n", "ours", "tr",
                     program=("kubectl",))[0]
    assert "train" in out

    # a gate by hand: the right is the user's own
    out, err = alice("release", "train", "-n", "ours", status=1)
    assert "forbidden" in err
    assert "would be opened" in run_plugin(cluster, admin, "release", "train", "-n", "ours", "--dry-run")[1]
    assert "opened" in run_plugin(cluster, admin, "release", "train", "-n", "ours")[1]
    assert not cluster.pods()["train"]["spec"].get("schedulingGates")

    # without the group
    cluster.take_down_visibility()
    wait_for("the group is gone", lambda: "is not served there" in run_plugin(
        cluster, admin, "queue", status=1)[1])


def test_the_plugin_finds_the_page_of_the_leader(cluster, users):
    """No kubelet is here to forward to the pod: kubectl says so."""
    admin = cluster.plane.kubeconfig
    _, err = run_plugin(cluster, admin, "ui", status=1)
    assert f"no pod in namespace {chart.NAMESPACE} leads sliced" in err
    pod = gpus.pod("leads", {}, namespace=chart.NAMESPACE, gates=["test/never"])
    pod["metadata"]["labels"] = {"sliced.dev/leader": "true"}
    cluster.add(pod)
    try:
        out, err = run_plugin(cluster, admin, "ui", status=1)
        assert re.match(r"http://127.0.0.1:\d+/ui/\n", out) and "pod is not running" in err
        _, err = run_plugin(cluster, users["configs"]["alice"], "ui", status=1)
        assert "Forbidden" in err and "pods/portforward" in err and "sliced-visibility" not in err
    finally:
        cluster.plane.delete(object_path(pod), 0)


def test_who_asks_on_and_on_keeps_nobody_from_an_estimate(cluster, users):
    """alice makes service accounts in her namespace, which all ask as fast as they can; bob asks now and then."""
    del users
    plane = cluster.plane
    cluster.start_daemon(config=SJF)
    cluster.put_up_visibility()
    bots = [f"system:serviceaccount:ours:bot-{i}" for i in range(6)]
    bindings = [role_binding(bot, "ours") for bot in bots]
    cluster.add(*bindings)
    bob = plane.acting_as("bob")

    def ask(api, namespace):
        return api.post(f"{GROUP_PATH}/namespaces/{namespace}/startestimates",
                        start_estimate(waiting("supposed", namespace)))["status"]
    wait_for("an answer for bob", lambda: ask(bob, "theirs"))
    codes, over = collections.Counter(), threading.Event()

    def flood(api):
        while not over.is_set():
            try:
                ask(api, "ours")
                codes[201] += 1
            except ApiError as error:
                codes[error.code] += 1
    threads = [threading.Thread(target=flood, args=(plane.acting_as(bot),), daemon=True) for bot in bots]
    for each in threads:
        each.start()
    try:
        wait_for("a flood", lambda: codes[429] > 10 and codes[201] > 0)
        for _ in range(10):
            assert ask(bob, "theirs")["position"] == 1  # each at the first try
    finally:
        over.set()
        for each in threads:
            each.join()
        for each in bindings:
            plane.delete(object_path(each))


def test_only_the_front_proxy_is_believed(cluster, users):
    del users
    daemon = cluster.start_daemon(config=SJF)
    cluster.put_up_visibility()
    path = GROUP_PATH + "/queuedpods"
    pairs = {"the front proxy": cluster.plane.front_proxy_pair, "nobody": None,
             "the scheduler": daemon.scheduler_pair(),
             "another of its authority": cluster.plane.front_proxy.issue("other", "other"),
             "a user": cluster.plane.ca.issue("mallory", "front-proxy-client")}
    codes = {}
    for who, pair in pairs.items():
        codes[who] = daemon.call("GET", path, cert=pair, port=daemon.visibility_port,
                                 headers={"X-Remote-User": "system:admin"})[0]
    assert codes == {who: 200 if who == "the front proxy" else 403 for who in pairs}
    # and the front proxy is nobody elsewhere
    assert daemon.call("POST", "/scheduler/filter", "{}", cert=pairs["the front proxy"])[0] == 403


def test_the_queue_is_seen_through_a_change_of_leader(cluster, users):
    cluster.add(gpus.whole("gpu-1"))
    config = merge(SJF, SHORT_LEASE)
    first = cluster.start_daemon(config=config)
    second = cluster.new_daemon(config=config).launch().wait_up()
    cluster.put_up_visibility()
    cluster.add(waiting("runs", "theirs"))
    cluster.wait_bound("runs")
    cluster.add(waiting("train", "ours"))
    wait_rows(users["alice"], "ours", lambda rows: len(rows) == 1)
    proxy = cluster.plane.front_proxy_pair

    # a standby answers discovery, and says who leads
    code, text = second.call("GET", GROUP_PATH, cert=proxy, port=second.visibility_port)
    assert code == 200 and "queuedpods" in text
    code, text = second.call("GET", GROUP_PATH + "/queuedpods", cert=proxy, port=second.visibility_port)
    assert code == 503 and json.loads(text)["reason"] == "ServiceUnavailable"
    assert first.state()["leader"]["identity"] in text
    code, text = second.call("POST", GROUP_PATH + "/namespaces/ours/startestimates", json.dumps(start_estimate(
        waiting("supposed", "ours"))), cert=proxy, port=second.visibility_port)
    assert code == 503 and first.state()["leader"]["identity"] in text

    first.kill()
    second.wait_ready()
    wait_for("the APIService", cluster.visibility_available, 90)
    rows = wait_rows(users["alice"], "ours", lambda rows: len(rows) == 1 and rows[0]["START-IN"])
    assert rows[0]["STATE"] == "Held"
    with pytest.raises(ApiError) as gone:
        cluster.plane.get(f"{GROUP_PATH}/queuedpods?watch=true&resourceVersion=1")
    assert gone.value.code == 410


@pytest.fixture
def prometheus(tmp_path):
    exporter = Exporter()
    made = Prometheus(exporter, str(tmp_path))
    exporter.use("t4-1", used=4000, util=60)
    made.start()
    yield made
    made.stop()
    exporter.stop()


def test_operators_see_cuts_and_what_gpus_do(cluster, users, rack, prometheus):
    ensure_namespace(cluster.plane, MIG_NAMESPACE)
    rights = cluster.allow({"config": {"partitioning": {"enabled": True}}})
    rack.add(Machine("a100-1", A100, [["7g.40gb"]], MigManager()))
    cluster.add(gpus.replicas("t4-1", gpus=1, count=8))
    cluster.start_daemon(config=merge(SJF, {
        "partitioning": {"enabled": True, "batchWindow": "200ms"},
        "telemetry": {"url": prometheus.url, "interval": "1s", "timeout": "2s"}}))
    cluster.put_up_visibility()
    kubectl = cluster.plane.kubectl

    def first(kind, *args):
        def there():
            rows = cells(kubectl("get", kind, *args))
            assert rows, kind
            return rows[0]
        return wait_for(kind, there)
    try:
        # the aggregator asks for the kinds a moment after it calls the group available
        wait_for("the kinds", lambda: "partitions" in kubectl(
            "api-resources", "--api-group=visibility.sliced.dev"))
        row = first("partitions")
        assert (row["NAME"], row["STATE"], row["INSTANCES"]) == ("a100-1", "Idle", "1x 7g.40gb")
        row = first("usages")
        assert (row["NAME"], row["USED-MIB"]) == ("t4-1.gpu0", "4000")
        pod = gpus.pod("slice", {"nvidia.com/mig-1g.5gb": 1}, namespace="ours", gates=[GATE])
        cluster.add(pod)
        cluster.wait_bound("slice")
        wait_for("the cut is seen", lambda: "1g.5gb" in first("partitions")["INSTANCES"])
        assert "slice" not in kubectl("get", "partitions,usages,slicenodes", "-o", "json").replace(
            "slicenode", "").replace("SliceNode", "").replace("sliced", "")
    finally:
        for each in rights:
            cluster.plane.delete(object_path(each))


@pytest.mark.both
def test_kubectl_explains_the_kinds(cluster, users):
    """The API server takes the descriptions over within a minute or so."""
    cluster.add(gpus.whole("gpu-1"))
    cluster.start_daemon(config=SJF)
    cluster.put_up_visibility()

    def explained(*args):
        text = users["alice"]("explain", *args, check=False)
        assert "DESCRIPTION" in text, text
        return text
    pods = wait_for("kubectl explain", lambda: explained("queuedpods"), 180, 1)
    assert "KIND:       QueuedPod" in pods and "its place in the queue" in pods and "status\t<Object>" in pods
    status = explained("qp.status")
    assert "position\t<integer>" in status and "Place in the whole queue, from 1." in status
    assert "now: it is nominated" in explained("queuedpods.status.estimatedStart.sure")
    assert "setAside\t<integer>" in explained("slicenodes.status.resources")
    assert "devices\t<[]Object>" in explained("runningpods", "--recursive")
    document = json.loads(cluster.plane.kubectl(
        "get", "--raw", f"/openapi/v3{GROUP_PATH}"))
    assert all("visibility" in name for name in document["components"]["schemas"])
    assert '"visibility.sliced.dev"' not in cluster.plane.kubectl("get", "--raw", "/openapi/v2")
