"""The API group visibility.sliced.dev, as an API server forwards it: here on loopback, without one."""
import json
import re
import signal
import threading

import pytest

from sliced_daemon import EXAMPLES, eventually, pod_of

BASE = "/apis/visibility.sliced.dev/v1alpha1"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}
MIG = "nvidia.com/mig-1g.6gb"
NODE = "gpu-a30-1"


@pytest.fixture
def daemon(start):
    return start(EXAMPLES / "a30-mixed.yaml", config="queue: {enabled: true, holdSeconds: 3600}\n")


def add(daemon, name, namespace="default", count=8, labels=None, timeout="8h"):
    pod = pod_of(name, {MIG: count})
    pod["metadata"].update(namespace=namespace, labels=labels or {},
                           annotations={"sliced.dev/timeout": timeout})
    return daemon.add(pod)


def names(daemon, path):
    reply = daemon.get(BASE + path)
    assert reply.status == 200, reply.text
    return [each["metadata"]["name"] for each in reply.json["items"]]


def table(daemon, path):
    reply = daemon.get(BASE + path, headers=TABLE)
    assert reply.status == 200 and reply.json["kind"] == "Table", reply.text
    heads = [column["name"] for column in reply.json["columnDefinitions"]]
    return [dict(zip(heads, row["cells"])) for row in reply.json["rows"]]


class Watch:
    """Events of a watch, read on a thread of their own."""

    def __init__(self, daemon, path, headers=None):
        self.connection = daemon.connect(timeout=60)
        self.connection.request("GET", BASE + path, headers=headers or {})
        self.response = self.connection.getresponse()
        self.events, self.ended = [], False
        self.thread = threading.Thread(target=self._read, daemon=True)
        if self.response.status == 200:
            self.thread.start()

    def _read(self):
        try:
            for line in self.response:
                if line.strip():
                    self.events.append(json.loads(line))
        except (OSError, ValueError):
            pass
        self.ended = True

    def told(self):
        return [(each["type"], each["object"]["metadata"].get("name")) for each in self.events]


# ---- discovery ----

def test_kinds_are_there_where_what_they_show_is(start, daemon):
    def kinds(each):
        return [kind["name"] for kind in each.get(BASE).json["resources"]]
    assert kinds(daemon) == ["queuedpods", "runningpods", "slicenodes", "startestimates"]
    assert kinds(start(EXAMPLES / "a30-mixed.yaml")) == ["runningpods", "slicenodes"]
    assert daemon.get("/apis").json["groups"][0]["name"] == "visibility.sliced.dev"
    assert daemon.get("/apis/visibility.sliced.dev").json["preferredVersion"]["version"] == "v1alpha1"


# ---- tenants ----

@pytest.fixture
def shared(start):
    """Of eight instances each of two teams has four; team-a has six, and its third pod and team-b's wait."""
    daemon = start(EXAMPLES / "a30-mixed.yaml", config="""
queue: {enabled: true, holdSeconds: 3600}
tenants: {namespaces: [{namespace: "team-a*", tenant: first}, {namespace: team-b, tenant: second}]}
""")
    for name, namespace in ("a1", "team-a"), ("a2", "team-a2"):
        add(daemon, name, namespace, count=3)
    add(daemon, "a3", "team-a", count=3)
    add(daemon, "b1", "team-b", count=4)
    return daemon


def test_a_namespace_shows_its_own_tenant_alone(shared):
    def told():
        rows = table(shared, "/namespaces/team-a/tenantqueues")
        assert [(row["Name"], row["Tenant"], row["Resource"], row["Share"], row["Held"], row["Borrowed"], row["Waiting"])
                for row in rows] == [("nvidia.com.mig-1g.6gb", "first", MIG, "4.00", 6, "2.00", 1)]
        return True
    eventually(told)
    rows = table(shared, "/namespaces/team-b/tenantqueues")
    assert [(row["Tenant"], row["Held"], row["Lent"], row["Waiting"], row["Due"]) for row in rows] == [
        ("second", 0, "2.00", 1, 1)]
    assert "first" not in shared.get(BASE + "/namespaces/team-b/tenantqueues").text
    assert names(shared, "/namespaces/elsewhere/tenantqueues") == []
    one = shared.get(BASE + "/namespaces/team-b/tenantqueues/nvidia.com.mig-1g.6gb").json
    assert one["kind"] == "TenantQueue" and one["status"]["dueSince"] and one["status"]["shareMilli"] == 4000
    everywhere = [(each["metadata"]["namespace"], each["status"]["tenant"])
                  for each in shared.get(BASE + "/tenantqueues").json["items"]]
    assert everywhere == [("team-a", "first"), ("team-a2", "first"), ("team-b", "second")]


def test_operators_see_each_tenant_once(shared):
    eventually(lambda: names(shared, "/clustertenantqueues") == [
        "first.nvidia.com.mig-1g.6gb", "second.nvidia.com.mig-1g.6gb"])
    assert names(shared, "/clustertenantqueues?fieldSelector=status.tenant%3Dsecond") == ["second.nvidia.com.mig-1g.6gb"]
    assert names(shared, "/clustertenantqueues?labelSelector=a") == []
    assert shared.get(BASE + "/namespaces/team-a/clustertenantqueues").status == 404
    lines = shared.get("/api/v1/tenants?output=table").text.splitlines()
    assert [line.split()[:4] for line in lines] == [
        ["TENANT", "RESOURCE", "SHARE", "HELD"], ["first", MIG, "4.00", "6"], ["second", MIG, "4.00", "0"]]
    assert shared.metric(f'sliced_tenant_units{{tenant="first",resource="{MIG}",kind="borrowed"}}') == 2


def test_a_pod_tells_whose_it_is_and_whether_it_is_due(shared):
    def told():
        status = shared.get(BASE + "/namespaces/team-b/queuedpods/b1").json["status"]
        assert (status["tenant"], status["due"]) == ("second", True)
        return status["ownStart"]
    eventually(told)
    rows = {row["Name"]: (row["Tenant"], row["Due"]) for row in table(shared, "/namespaces/team-a/queuedpods")}
    assert rows == {"a1": ("first", "no"), "a3": ("first", "no")}
    assert shared.get("/api/v1/queue?output=table").text.splitlines()[0].split()[-2:] == ["TENANT", "DUE"]
    status = estimate(shared, asking(1), namespace="team-b").json["status"]
    assert (status["tenant"], status["due"]) == ("second", False) and status["ownStart"]


def test_without_tenants_nothing_tells_of_them(daemon):
    add(daemon, "one", count=8)
    add(daemon, "two", count=8)
    assert daemon.get(BASE + "/tenantqueues").status == 404
    assert daemon.get("/api/v1/tenants").json["items"] == []
    assert "There are no tenants" in daemon.get("/api/v1/tenants?output=table").text
    assert "tenant" not in daemon.get("/api/v1/queue").text
    assert "TENANT" not in daemon.get("/api/v1/queue?output=table").text


# ---- the group ----

def test_aggregated_discovery_says_the_same(daemon):
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    reply = daemon.get("/apis", headers={"Accept": accept})
    assert "as=APIGroupDiscoveryList" in reply.headers["content-type"]
    version, = reply.json["items"][0]["versions"]
    assert [(each["resource"], each["scope"]) for each in version["resources"]] == [
        ("queuedpods", "Namespaced"), ("runningpods", "Namespaced"), ("slicenodes", "Cluster"),
        ("startestimates", "Namespaced")]
    assert version["resources"][3]["verbs"] == ["create"]


# ---- get and list ----

def described(daemon):
    """The descriptions of the kinds, as the API server and kubectl fetch them."""
    paths = daemon.get("/openapi/v3").json["paths"]
    url = paths["apis/visibility.sliced.dev/v1alpha1"]["serverRelativeURL"]
    assert "?hash=" in url
    return daemon.get(url).json


def fields(properties, path=""):
    """All paths in a schema's properties."""
    for name, each in properties.items():
        yield path + name
        yield from fields((each.get("items") or each).get("properties", {}), f"{path}{name}.")


def members(value, path=""):
    """All paths in an object that are not null."""
    for name, each in value.items() if isinstance(value, dict) else ():
        if each is not None:
            yield path + name
        for part in each if isinstance(each, list) else [each]:
            yield from members(part, f"{path}{name}.")


def test_each_kind_that_is_there_is_described(start, daemon):
    document = described(daemon)
    assert document["openapi"].startswith("3.0")
    for path, kind in (("namespaces/{namespace}/queuedpods", "QueuedPod"), ("slicenodes", "SliceNode")):
        listed = document["paths"][f"{BASE}/{path}"]["get"]
        assert listed["x-kubernetes-group-version-kind"] == {
            "group": "visibility.sliced.dev", "version": "v1alpha1", "kind": kind}
        assert f"{BASE}/{path}/{{name}}" in document["paths"]
    references = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document)))
    assert references <= set(document["components"]["schemas"])
    assert not any("QueuedPod" in name for name in described(start(EXAMPLES / "a30-mixed.yaml"))[
        "components"]["schemas"])


def check_described(value, schema, path):
    """Everything in the value is described, in its type."""
    types = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}
    if value is None:
        return
    assert isinstance(value, types[schema["type"]]), (path, value, schema)
    for each in value if isinstance(value, list) else ():
        check_described(each, schema["items"], path)
    for name, each in value.items() if "properties" in schema else ():
        assert name in schema["properties"], f"{path}.{name} is not described"
        check_described(each, schema["properties"][name], f"{path}.{name}")


def test_what_is_written_is_described_and_what_is_described_is_written(daemon):
    runs = daemon.add_pod("runs", {MIG: 7})
    assert daemon.schedule(runs, [NODE]) == NODE
    add(daemon, "next", count=1)
    add(daemon, "waits")
    schemas = described(daemon)["components"]["schemas"]
    never = {"QueuedPod": {"status.latestStart", "status.tenant", "status.due", "status.ownStart"} | {f"status.nodes.uncut{each}" for each in ("", ".why", ".nodes", ".text")},
             "SliceNode": {"status.problem", "status.devices.uuid"},
             "RunningPod": {"status.devices.uuid", "status.startedAt", "status.endsBy"}}
    for plural, kind in (("queuedpods", "QueuedPod"), ("runningpods", "RunningPod"),
                         ("slicenodes", "SliceNode")):
        schema = schemas[f"dev.sliced.visibility.v1alpha1.{kind}"]
        items = daemon.get(f"{BASE}/{plural}").json["items"]
        if kind == "QueuedPod":
            items.append(daemon.get(f"{BASE}/namespaces/default/{plural}/waits").json)
        seen = {path for item in items for path in members(item)}
        for item in items:
            check_described({"apiVersion": "", "kind": "", **item}, schema, kind)
        assert set(fields(schema["properties"])) - seen <= never[kind] | {"apiVersion", "kind"}


def test_a_namespace_shows_its_own_pods_alone(daemon):
    add(daemon, "first", "theirs")
    add(daemon, "second", "theirs")
    add(daemon, "mine", "ours", labels={"team": "a"})
    assert names(daemon, "/queuedpods") == ["first", "second", "mine"]
    reply = daemon.get(f"{BASE}/namespaces/ours/queuedpods")
    pod, = reply.json["items"]
    assert pod["status"]["position"] == 3 and pod["status"]["ahead"] == 1
    assert "theirs" not in reply.text and "second" not in reply.text
    row, = table(daemon, "/namespaces/ours/queuedpods")
    assert row["Name"] == "mine" and row["Ahead"] == 1 and "second" not in json.dumps(row)
    assert daemon.get(f"{BASE}/namespaces/ours/queuedpods/first").status == 404
    assert daemon.get(f"{BASE}/namespaces/ours/queuedpods/mine").json["kind"] == "QueuedPod"
    row, = table(daemon, "/namespaces/theirs/queuedpods?fieldSelector=metadata.name=second")
    assert "it is theirs/first" not in row["Message"]  # that one is nominated, not ahead


def test_a_nominated_pod_names_its_node_and_devices_and_then_runs(daemon):
    pod = add(daemon, "train")
    row, = table(daemon, "/namespaces/default/queuedpods")
    assert (row["State"], row["Node"], row["Start-In"]) == ("Nominated", NODE, "0s")
    assert row["Devices"].startswith(f"{MIG}=0/0,")
    node, = table(daemon, "/slicenodes")
    assert (node["Used"], node["Set-Aside"], node["Free"]) == ("0", "mig-1g.6gb=8", "0")
    assert names(daemon, "/runningpods") == []
    assert daemon.post("/scheduler/bind", {"PodName": "train", "PodNamespace": "default",
                                           "PodUID": pod["uid"], "Node": NODE}).json["Error"] == ""
    eventually(lambda: names(daemon, "/runningpods") == ["train"])
    eventually(lambda: names(daemon, "/namespaces/default/queuedpods") == [])
    row, = table(daemon, "/namespaces/default/runningpods")
    assert (row["Node"], row["Picked-By"], row["Timeout"]) == (NODE, "devicePlugin", "8h")
    eventually(lambda: [(node["Used"], node["Set-Aside"]) for node in table(daemon, "/slicenodes")] == [
        ("mig-1g.6gb=8", "0")])


def test_one_pod_is_told_with_what_the_nodes_have_against_it(daemon):
    add(daemon, "secret", "theirs")
    add(daemon, "mine", "ours")
    listed, = daemon.get(f"{BASE}/namespaces/ours/queuedpods").json["items"]
    assert "nodes" not in listed["status"]  # told of one pod alone
    reply = daemon.get(f"{BASE}/namespaces/ours/queuedpods/mine")
    status = reply.json["status"]
    assert (status["reason"], "shorter sliced.dev/timeout" in status["remedy"]) == ("NoRoom", True)
    nodes = status["nodes"]
    assert (nodes["nodes"], nodes["fit"]) == (2, 0)
    assert [(each["reason"], each["nodes"], each["never"], each["nearest"]) for each in nodes["reasons"]] == [
        ("Insufficient", 1, False, f"{MIG}: 8 asked, 0 free of 8"),
        ("NotOffered", 1, True, f"{MIG}: not offered by this node")]
    assert [each["remedy"] is None for each in nodes["reasons"]] == [False, True]  # another is better
    assert NODE not in reply.text and "secret" not in reply.text
    row, = daemon.get(f"{BASE}/namespaces/ours/queuedpods/mine?includeObject=Object", headers=TABLE).json["rows"]
    assert row["object"]["status"]["nodes"] == nodes


def test_nodes_that_a_pod_excludes_are_not_counted(daemon):
    pod = pod_of("picky", {MIG: 9})
    pod["spec"]["nodeSelector"] = {"nvidia.com/gpu.product": "NVIDIA-A30"}
    daemon.add(pod)
    nodes = daemon.get(f"{BASE}/namespaces/default/queuedpods/picky").json["status"]["nodes"]
    assert (nodes["nodes"], nodes["excluded"], nodes["fit"]) == (2, 1, 0)
    assert {each["reason"]: each["nodes"] for each in nodes["reasons"]} == {"Excluded": 1, "ExceedsNode": 1}
    explained = daemon.get("/api/v1/pods/default/picky/explain").json
    assert [each["reason"] for each in explained["nodes"]].count("Excluded") == 1


def test_selectors_choose(daemon):
    add(daemon, "a", labels={"team": "red", "gone": ""})
    add(daemon, "b", labels={"team": "blue"})
    add(daemon, "c", labels={"team": "blue", "tier": "x"})
    for query, expected in [
            ("labelSelector=team=blue", ["b", "c"]), ("labelSelector=team!=blue", ["a"]),
            ("labelSelector=team in (red,blue),tier", ["c"]), ("labelSelector=!tier", ["a", "b"]),
            ("fieldSelector=metadata.name=b", ["b"]), ("fieldSelector=metadata.name!=b", ["a", "c"]),
            ("fieldSelector=status.state=Nominated", ["a"]),
            ("fieldSelector=status.state==Held,status.node!=x", ["b", "c"]),
            ("labelSelector=team=blue&fieldSelector=metadata.name=a", [])]:
        assert names(daemon, "/queuedpods?" + query.replace(" ", "%20")) == expected, query
    label = "nvidia.com/gpu.product=NVIDIA-A30"
    assert names(daemon, f"/slicenodes?labelSelector={label}") == [NODE]
    assert names(daemon, f"/slicenodes?labelSelector={label},no=such") == []


@pytest.mark.parametrize("query, field", [
    ("fieldSelector=spec.secret=x", "fieldSelector"), ("fieldSelector=status.state", "fieldSelector"),
    ("fieldSelector=" + ",".join(["status.state=Held"] * 9), "fieldSelector"),
    ("labelSelector=a%20in%20(b", "labelSelector"), ("labelSelector=" + "x" * 1001, "labelSelector"),
    ("limit=many", "limit"), ("limit=-1", "limit"), ("continue=x", "continue"),
    ("watch=true&resourceVersion=x", "resourceVersion"), ("watch=1&timeoutSeconds=x", "timeoutSeconds"),
    ("includeObject=All", "includeObject")])
def test_wrong_parameters_are_named(daemon, query, field):
    reply = daemon.get(f"{BASE}/queuedpods?{query}")
    assert reply.status == 400 and reply.json["details"]["causes"][0]["field"] == field


def test_what_is_not_served_is_refused(daemon):
    assert daemon.get(f"{BASE}/secrets").status == 404
    assert daemon.get(f"{BASE}/namespaces/default/slicenodes").status == 404
    assert daemon.get(f"{BASE}/queuedpods/x").status == 404
    assert daemon.get(f"{BASE}/queuedpods", headers={"Accept": "application/vnd.kubernetes.protobuf"}
                      ).status == 406
    assert daemon.request("POST", f"{BASE}/queuedpods", "{}").status == 405
    assert daemon.get(f"{BASE}/queuedpods", headers={"Host": "attacker.example"}).status == 403


# ---- when would a pod start? ----

def estimate(daemon, pod, namespace="default"):
    """The answer; asks again where estimates come too fast."""
    def ask():
        reply = daemon.post(f"{BASE}/namespaces/{namespace}/startestimates",
                            {"apiVersion": "visibility.sliced.dev/v1alpha1", "kind": "StartEstimate",
                             "spec": {"pod": pod}})
        assert reply.status != 429 or reply.headers["retry-after"] == "1"
        return None if reply.status == 429 else reply
    return eventually(ask)


def asking(count=8, timeout="8h", **meta):
    pod = pod_of("supposed", {MIG: count})
    pod["metadata"].update(annotations={"sliced.dev/timeout": timeout}, **meta)
    return pod


def test_an_estimate_is_described(daemon):
    name = "dev.sliced.visibility.v1alpha1.StartEstimate"
    schema = described(daemon)["components"]["schemas"][name]["properties"]
    starts = estimate(daemon, asking()).json["status"]
    add(daemon, "first")
    waits = estimate(daemon, asking()).json["status"]
    for status in (starts, waits):
        check_described(status, schema["status"], "status")
    tenants = {"tenant", "due", "ownStart"}
    assert set(fields(schema["status"]["properties"])) == {*members(starts), *members(waits)} | tenants
    assert list(schema["spec"]["properties"]) == ["pod"] and "metadata" not in schema


def test_a_pod_is_told_when_it_would_start_and_nothing_changes(daemon):
    reply = estimate(daemon, asking())
    assert reply.status == 201
    told = reply.json["status"]
    assert (told["position"], told["startsInSeconds"], told["estimateKind"], told["state"], told["node"]) == (
        1, 0, "now", "Nominated", NODE)
    assert told["devices"].startswith(f"{MIG}=0/0,") and told["delayed"] == 0
    assert reply.json["spec"]["pod"] == asking()
    add(daemon, "first", "theirs")
    add(daemon, "second", "theirs", timeout="7h")
    before = daemon.get("/api/v1/queue").json["items"]
    reply = estimate(daemon, asking(timeout="1h"), "ours")
    told = reply.json["status"]
    assert (told["position"], told["ahead"], told["reason"], told["delayed"]) == (2, 0, "NoRoom", 1)
    assert 8 * 3600 - 60 < told["startsInSeconds"] <= 8 * 3600 and told["estimateKind"] == "estimate"
    assert "theirs" not in reply.text and "second" not in reply.text
    after = daemon.get("/api/v1/queue").json["items"]
    assert [(each["name"], each["state"]) for each in after] == [
        (each["name"], each["state"]) for each in before]

    # it comes, and gets what it was told
    add(daemon, "supposed", "ours", timeout="1h")
    def row():  # estimates are made once a second
        found, = daemon.get("/api/v1/queue?namespace=ours").json["items"]
        return found if found["estimatedStart"]["sure"] != "none" else None
    row = eventually(row)
    assert (row["position"], row["ahead"], row["reason"]) == (2, 0, "NoRoom")
    assert abs(row["estimatedStart"]["inSeconds"] - told["startsInSeconds"]) < 60


def test_a_pod_that_is_not_there_takes_over_no_other(daemon):
    real = add(daemon, "supposed", "ours")
    before = daemon.get("/api/v1/queue").json["items"]
    told = estimate(daemon, asking(uid=real["uid"], namespace="ours"), "ours").json["status"]
    assert (told["position"], told["state"]) == (2, "Held")
    told = estimate(daemon, asking(namespace="ours", creationTimestamp="2000-01-01T00:00:00Z"),
                    "theirs").json["status"]
    assert told["position"] == 2  # it comes now, whatever it says
    pod = asking(timeout="1m")
    pod["metadata"]["annotations"].update({"sliced.dev/assignment": f"{MIG}=0/0", "sliced.dev/released": "yes"})
    pod["status"] = {"phase": "Running", "nominatedNodeName": NODE, "startTime": "2000-01-01T00:00:00Z"}
    assert estimate(daemon, pod).json["status"]["state"] == "Held"
    after = daemon.get("/api/v1/queue").json["items"]
    assert [(each["uid"], each["state"]) for each in after] == [(each["uid"], each["state"]) for each in before]


@pytest.mark.parametrize("change, field", [
    (lambda pod: pod["spec"].update(nodeName=NODE), "spec.pod.spec.nodeName"),
    (lambda pod: pod["spec"].update(priority="high"), "spec.pod.spec.priority"),
    (lambda pod: pod["spec"].update(containers=[{"name": "c"}]), "spec.pod.spec.containers")])
def test_what_cannot_wait_gets_no_estimate(daemon, change, field):
    pod = asking()
    change(pod)
    reply = estimate(daemon, pod)
    assert reply.status == 400 and reply.json["details"]["causes"][0]["field"] == field


def test_estimates_are_created_and_nothing_else(start, daemon):
    path = f"{BASE}/namespaces/default/startestimates"
    assert daemon.get(path).status == 405
    assert daemon.request("DELETE", path).status == 405
    assert daemon.request("POST", f"{BASE}/startestimates", "{}").status == 405
    for body in ("", "{", "[]", "null", '{"kind": "StartEstimate"}', "a: b"):
        assert daemon.request("POST", path, body).status == 400
    connection = daemon.connect()
    connection.putrequest("POST", path)
    connection.putheader("Content-Length", str(2 << 20))
    connection.endheaders()
    assert connection.getresponse().status == 413
    assert start(EXAMPLES / "a30-mixed.yaml").request("POST", path, json.dumps(
        {"apiVersion": "visibility.sliced.dev/v1alpha1", "kind": "StartEstimate",
         "spec": {"pod": asking()}})).status == 404


def test_one_of_a_user_waits_for_its_turn_and_others_are_refused(daemon):
    """Here nobody is named: all who ask are one."""
    refused = []

    def flood():
        while not refused:
            reply = daemon.post("/api/v1/estimates", asking())
            assert reply.status in (200, 429)
            if reply.status == 429:
                refused.append(reply)
    threads = [threading.Thread(target=flood, daemon=True) for _ in range(4)]
    for each in threads:
        each.start()
    eventually(lambda: refused)
    for each in threads:
        each.join()
    reply = refused[0]
    assert reply.headers["retry-after"] == "1" and reply.json["reason"] == "TooManyRequests"
    assert "another question at this port" in reply.json["message"]
    assert daemon.metric('sliced_limit_hits_total{limit="estimates"}') >= 1
    for _ in range(3):  # one after the other they wait, and are answered
        assert daemon.post("/api/v1/estimates", asking()).status == 200


def test_an_asker_that_hangs_up_holds_no_place(daemon):
    for _ in range(5):
        connection = daemon.connect()
        connection.request("POST", "/api/v1/estimates", json.dumps(asking()))
        connection.close()
    assert estimate(daemon, asking()).status == 201


def test_the_daemon_ends_in_order_though_estimates_wait(daemon):
    connections = [daemon.connect() for _ in range(4)]
    for each in connections:
        each.request("POST", "/api/v1/estimates", json.dumps(asking()))
    daemon.signal(signal.SIGTERM)
    assert daemon.process.wait(timeout=60) == 0


def test_estimates_are_asked_for_directly(daemon):
    def ask(query, body):
        def once():
            reply = daemon.request("POST", f"/api/v1/estimates{query}", body)
            return None if reply.status == 429 else reply
        return eventually(once)
    add(daemon, "first")
    told = ask("", json.dumps(asking())).json
    assert told["position"] == 2 and told["estimateKind"] == "estimate"
    text = ask("?output=table", f"""
apiVersion: v1
kind: Pod
metadata: {{name: train}}
spec: {{containers: [{{name: c, resources: {{limits: {{{MIG}: 1}}}}}}]}}
""").text
    assert text.splitlines()[0].split() == ["POS", "AHEAD", "STATE", "REASON", "START-IN", "SURE", "NODE",
                                            "DEVICES", "DELAYED"]
    assert "held: first for" in text.splitlines()[2]
    assert ask("?output=x", json.dumps(asking())).status == 400
    assert ask("", "kind: Node").status == 400


def test_odd_names_are_escaped(daemon):
    odd = 'a"\\\u202e\u001b[31m<script>'
    pod = pod_of("p", {MIG: 1})
    pod["metadata"].update(name=odd, namespace="n\n", annotations={"sliced.dev/timeout": odd})
    daemon.add(pod)
    reply = daemon.get(f"{BASE}/queuedpods", headers=TABLE)
    assert reply.json["rows"][0]["cells"][0] == odd
    message = dict(zip([c["name"] for c in reply.json["columnDefinitions"]],
                       reply.json["rows"][0]["cells"]))["Message"]
    assert "\u202e" not in message and "\u001b" not in message
    assert daemon.get(f"{BASE}/queuedpods").json["items"][0]["metadata"]["name"] == odd


def test_pages_of_many_pods_are_bounded_and_complete(daemon):
    for i in range(600):
        add(daemon, f"p{i:03}", count=1, namespace="big")
    path, found, pages = "/queuedpods?limit=250", [], 0
    while path:
        reply = daemon.get(BASE + path).json
        assert len(reply["items"]) <= 250
        found += [each["metadata"]["name"] for each in reply["items"]]
        more = reply["metadata"].get("continue")
        path, pages = more and f"/queuedpods?limit=250&continue={more}", pages + 1
    assert pages == 3 and sorted(found) == [f"p{i:03}" for i in range(600)]
    assert daemon.get(f"{BASE}/queuedpods?limit=600").json["metadata"].get("continue") is None
    assert daemon.get(f"{BASE}/queuedpods?continue=99999999").json["items"] == []


# ---- watch ----

def test_a_watch_tells_what_comes_changes_and_goes(daemon):
    add(daemon, "a")
    listed = daemon.get(f"{BASE}/namespaces/default/queuedpods").json
    version = listed["metadata"]["resourceVersion"]
    watch = Watch(daemon, f"/namespaces/default/queuedpods?watch=true&resourceVersion={version}")
    add(daemon, "b", count=1)
    add(daemon, "other", namespace="elsewhere", count=1)
    eventually(lambda: ("ADDED", "b") in watch.told())
    assert daemon.request("DELETE", "/api/v1/embedded/pods/default/a").status == 200
    eventually(lambda: ("DELETED", "a") in watch.told() and any(
        each["type"] == "MODIFIED" and each["object"]["status"]["state"] == "Nominated"
        for each in watch.events))
    assert ("ADDED", "a") not in watch.told()
    assert "elsewhere" not in json.dumps(watch.events)
    versions = [int(each["object"]["metadata"]["resourceVersion"]) for each in watch.events]
    assert min(versions) > int(version)


def test_a_watch_in_tables_sends_the_columns_once(daemon):
    add(daemon, "a")
    watch = Watch(daemon, "/queuedpods?watch=true", headers=TABLE)
    eventually(lambda: len(watch.events) >= 1)
    add(daemon, "b", count=1)
    eventually(lambda: len(watch.events) >= 2)
    assert [bool(each["object"]["columnDefinitions"]) for each in watch.events[:2]] == [True, False]
    assert [each["object"]["rows"][0]["cells"][0] for each in watch.events[:2]] == ["a", "b"]


def test_what_matches_no_more_is_deleted_from_the_watch(daemon):
    add(daemon, "a")
    add(daemon, "b")
    watch = Watch(daemon, "/queuedpods?watch=true&fieldSelector=status.state=Held")
    eventually(lambda: watch.told() == [("ADDED", "b")])
    assert daemon.request("DELETE", "/api/v1/embedded/pods/default/a").status == 200
    eventually(lambda: watch.told() == [("ADDED", "b"), ("DELETED", "b")])


def test_a_watch_tells_when_the_beginning_was_all(daemon):
    add(daemon, "a")
    watch = Watch(daemon, "/queuedpods?watch=true&sendInitialEvents=true&allowWatchBookmarks=true"
                          "&resourceVersionMatch=NotOlderThan")
    eventually(lambda: len(watch.events) >= 2)
    assert [each["type"] for each in watch.events[:2]] == ["ADDED", "BOOKMARK"]
    annotations = watch.events[1]["object"]["metadata"]["annotations"]
    assert annotations == {"k8s.io/initial-events-end": "true"}


def test_a_watch_ends_in_time_and_with_the_daemon(daemon):
    short = Watch(daemon, "/queuedpods?watch=true&timeoutSeconds=1")
    eventually(lambda: short.ended)
    long = Watch(daemon, "/queuedpods?watch=true")
    assert not long.ended
    daemon.process.terminate()
    eventually(lambda: long.ended)


def test_revisions_of_another_time_are_gone(daemon):
    for version in ("1", "9" * 18):
        reply = daemon.get(f"{BASE}/queuedpods?watch=true&resourceVersion={version}")
        assert reply.status == 410 and reply.json["reason"] == "Expired"


def test_watches_are_bounded_and_ended_ones_make_room(daemon):
    watches = [Watch(daemon, "/slicenodes?watch=true") for _ in range(64)]
    assert daemon.get(f"{BASE}/slicenodes?watch=true").status == 429
    eventually(lambda: all(len(each.events) == 1 for each in watches))
    assert names(daemon, "/slicenodes") == [NODE]
    for each in watches:
        each.connection.sock.shutdown(2)
    short = "/slicenodes?watch=true&timeoutSeconds=1"
    eventually(lambda: Watch(daemon, short).response.status == 200, deadline_s=60)


def test_a_namespace_takes_no_more_than_its_part_of_the_watches(daemon):
    mine = [Watch(daemon, "/namespaces/mine/queuedpods?watch=true") for _ in range(9)]
    assert [each.response.status for each in mine] == [200] * 8 + [429]
    others = [Watch(daemon, f"/namespaces/n{i}/queuedpods?watch=true") for i in range(41)]
    assert [each.response.status for each in others] == [200] * 40 + [429]
    assert Watch(daemon, "/queuedpods?watch=true").response.status == 200  # of all namespaces


def test_a_watch_that_broke_off_in_the_middle_is_told_the_rest(daemon):
    """What changed at the revision that it saw last may have been more than it was told."""
    for name in ("a", "b", "c"):
        add(daemon, name)
    eventually(lambda: len(names(daemon, "/queuedpods")) == 3)
    item = daemon.get(f"{BASE}/queuedpods").json["items"][0]["metadata"]
    again = Watch(daemon, f"/queuedpods?watch=true&resourceVersion={item['resourceVersion']}")
    eventually(lambda: again.told())
    assert item["name"] in [name for _, name in again.told()]


def version_of(daemon, path="/queuedpods"):
    return daemon.get(BASE + path).json["metadata"]["resourceVersion"]


def watch_since(daemon, version, query):
    """The status of a watch that goes on, and what it tells at once."""
    watch = Watch(daemon, f"/queuedpods?watch=true&timeoutSeconds=2&resourceVersion={version}&{query}")
    if watch.response.status != 200:
        return watch.response.status
    eventually(lambda: watch.ended)
    return watch.told()


def test_what_left_a_selection_meanwhile_has_to_be_listed_anew(daemon):
    """Once a change has taken a pod out of it (its state), once its end has (its label)."""
    add(daemon, "a")
    add(daemon, "b", labels={"team": "b"})
    add(daemon, "c", labels={"team": "c"})
    held = "fieldSelector=status.state=Held"
    Watch(daemon, "/queuedpods?watch=true")  # while somebody watches, nothing is forgotten
    before = version_of(daemon)
    assert watch_since(daemon, before, held) == []
    assert daemon.request("DELETE", "/api/v1/embedded/pods/default/a").status == 200
    eventually(lambda: "b" not in names(daemon, "/queuedpods?" + held))
    assert watch_since(daemon, before, held) == 410
    assert watch_since(daemon, before, "labelSelector=team") == 410  # was a one of them?
    assert watch_since(daemon, before, "fieldSelector=metadata.name=a") == [("DELETED", "a")]
    assert watch_since(daemon, before, "fieldSelector=metadata.name!=a") == [
        ("MODIFIED", "b"), ("MODIFIED", "c")]
    assert watch_since(daemon, before, f"sendInitialEvents=true&resourceVersionMatch=NotOlderThan&{held}")[
        0] == ("ADDED", "c")
    assert watch_since(daemon, version_of(daemon), held) == []


def test_nothing_is_told_while_nothing_happens(daemon):
    add(daemon, "a")
    add(daemon, "b")
    eventually(lambda: daemon.get(f"{BASE}/queuedpods").json["items"][1]["status"]["estimatedStart"]["at"])
    version = daemon.get(f"{BASE}/queuedpods").json["metadata"]["resourceVersion"]
    watch = Watch(daemon, f"/queuedpods?watch=true&resourceVersion={version}&timeoutSeconds=4")
    eventually(lambda: watch.ended)
    assert watch.told() == []
