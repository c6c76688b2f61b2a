"""The extender's verbs as kube-scheduler calls them."""
import json
import uuid

import pytest

from sliced_daemon import EXAMPLES, eventually, pod_of

MIG = "nvidia.com/mig-1g.6gb"
NODE = "gpu-a30-1"


@pytest.fixture
def daemon(start):
    return start(EXAMPLES / "a30-mixed.yaml")


def some_uid():
    return str(uuid.uuid4())


def test_filter_by_names_says_which_fit_and_why_not(shared):
    reply = shared.filter(pod_of("p", {MIG: 2}, some_uid()), ["cpu-1", NODE])
    assert reply["NodeNames"] == [NODE]
    assert reply["Nodes"] is None
    assert reply["FailedNodes"] == {}
    assert list(reply["FailedAndUnresolvableNodes"]) == ["cpu-1"]
    assert MIG in reply["FailedAndUnresolvableNodes"]["cpu-1"]
    assert reply["Error"] == ""


def test_filter_by_nodes_answers_with_nodes(shared):
    nodes = {"items": [{"metadata": {"name": "cpu-1"}}, {"metadata": {"name": NODE}}]}
    body = {"Pod": pod_of("p", {MIG: 1}, some_uid()), "Nodes": nodes, "NodeNames": None}
    reply = shared.post("/scheduler/filter", body).json
    assert [n["metadata"]["name"] for n in reply["Nodes"]["items"]] == [NODE]
    assert reply["NodeNames"] is None


MEM = "aliyun.com/gpu-mem"
T4X2 = """apiVersion: v1
kind: Node
metadata:
  name: t4x2
  labels: {nvidia.com/gpu.count: '2', nvidia.com/gpu.memory: '15360', nvidia.com/gpu.product: Tesla-T4}
status:
  allocatable: {cpu: '32', memory: 64Gi, pods: '110', aliyun.com/gpu-mem: '30', aliyun.com/gpu-count: '2'}
"""


def preempted(start, tmp_path, **pods):
    """A daemon of which kube-scheduler thinks so: name=(units, priority, device or None: nominated, more fields)."""
    text = T4X2
    for name, (units, priority, device, more) in pods.items():
        pod = pod_of(name, {MEM: units}, f"uid-{name}")
        pod["spec"]["priority"] = priority
        pod["status"] = {"phase": "Running"} if device is not None else {"phase": "Pending", "nominatedNodeName": "t4x2"}
        if device is not None:
            pod["spec"]["nodeName"] = "t4x2"
            pod["metadata"]["annotations"] = {"sliced.dev/assignment": f"{MEM}={device}*{units}"}
        for field, value in more.items():
            pod[field] = {**pod.get(field, {}), **value}
        text += "---\n" + json.dumps({"apiVersion": "v1", "kind": "Pod", **pod}) + "\n"
    path = tmp_path / "cluster.yaml"
    path.write_text(text)
    return start(path)


def passes(daemon, units, priority=0, uid=None):
    pod = pod_of("p", {MEM: units}, uid or some_uid())
    pod["spec"]["priority"] = priority
    reply = daemon.filter(pod, ["t4x2"])
    if not reply["NodeNames"] and "kept" not in reply["FailedNodes"]["t4x2"]:
        raise AssertionError(reply)
    return reply["NodeNames"] == ["t4x2"]


def test_the_room_of_a_nominated_pod_is_kept_from_those_of_no_higher_priority(start, tmp_path):
    daemon = preempted(start, tmp_path, urgent=(12, 1000, None, {}), other=(10, 0, 1, {}))
    assert passes(daemon, 5) and not passes(daemon, 6)
    assert not passes(daemon, 6, priority=1000) and passes(daemon, 6, priority=1001)
    assert passes(daemon, 12, priority=1000, uid="uid-urgent")


def test_its_room_is_kept_while_its_victims_go(start, tmp_path):
    going = {"metadata": {"name": "victim", "namespace": "default", "uid": "uid-victim", "deletionTimestamp": "2026-11-20T08:00:00Z",
                          "annotations": {"sliced.dev/assignment": f"{MEM}=0*9"}}}
    daemon = preempted(start, tmp_path, urgent=(12, 1000, None, {}), victim=(9, 0, 0, going), other=(10, 2000, 1, {}))
    assert passes(daemon, 5) and not passes(daemon, 6)


def test_it_is_kept_before_its_victims_are_seen_going(start, tmp_path):
    daemon = preempted(start, tmp_path, urgent=(12, 1000, None, {}), victim=(9, 0, 0, {}), other=(10, 2000, 1, {}))
    assert passes(daemon, 5) and not passes(daemon, 6)


def test_pods_that_will_not_come_keep_nothing(start, tmp_path):
    daemon = preempted(
        start, tmp_path, large=(16, 1000, None, {}), gated=(12, 1000, None, {"spec": {"schedulingGates": [{"name": "x"}]}}),
        elsewhere=(12, 1000, None, {"status": {"phase": "Pending", "nominatedNodeName": "other"}}), done=(12, 1000, None, {
            "status": {"phase": "Failed", "nominatedNodeName": "t4x2"}}), wrong=("1.5", 1000, None, {}), other=(10, 0, 1, {}))
    assert passes(daemon, 15)


def test_a_crowd_of_nominated_pods_is_bounded_and_the_highest_count(start, tmp_path):
    crowd = {f"n{i}": (1, 10 + i % 3, None, {}) for i in range(200)}
    daemon = preempted(start, tmp_path, **crowd, urgent=(12, 1000, None, {}))
    assert not passes(daemon, 6) and passes(daemon, 30 // 2, priority=2000)


def test_each_node_of_many_keeps_the_room_of_its_nominated_pod(start, tmp_path):
    names = [f"t4-{i}" for i in range(100)]
    pods = [{"apiVersion": "v1", "kind": "Pod", **pod_of(f"on-{name}", {MEM: 15}), "status": {
        "phase": "Pending", "nominatedNodeName": name}} for name in names]
    path = tmp_path / "cluster.yaml"
    one = T4X2.replace("'2'", "'1'").replace("'30'", "'15'")
    path.write_text("---\n".join([one.replace("t4x2", name) for name in names] + [json.dumps(pod) + "\n" for pod in pods]))
    daemon = start(path)
    low = daemon.add_pod("low", {MEM: 1})
    reply = daemon.filter(low, names)
    assert reply["NodeNames"] == [] and sorted(reply["FailedNodes"]) == sorted(names)
    assert all("kept" in reason for reason in reply["FailedNodes"].values())
    assert all("kept" in daemon.bind(low, name) for name in names)


def test_bind_leaves_the_room_as_well(start, tmp_path):
    daemon = preempted(start, tmp_path, urgent=(12, 1000, None, {}), other=(10, 0, 1, {}))
    assert "kept" in daemon.bind(daemon.add_pod("low", {MEM: 6}), "t4x2")
    assert daemon.bind(daemon.add_pod("tiny", {MEM: 3}), "t4x2") == ""
    assert passes(daemon, 12, priority=1000, uid="uid-urgent"), "tiny got a share of the GPU that the room is not on"


def whole(name, **more):
    return {"metadata": {"name": name, "labels": {"zone": "w\u00e4st", "}": "{[\\\""}}, "spec": {"taints": [{"key": name}]},
            "status": {"images": [{"names": [f"reg/{name}:1"], "sizeBytes": 9000000000}], **more}}


@pytest.mark.parametrize("path", ["/scheduler/filter", "/gpushare-scheduler/filter"])
def test_whole_nodes_come_back_as_they_came(daemon, path):
    """kube-scheduler scores, and hands to the next extender, the nodes that it is given back."""
    connection = daemon.connect()
    for ask, names, passing in (
            (MIG, ["cpu-1", NODE, "nowhere"], [NODE]), (MIG, [NODE, "cpu-1"], [NODE]), (MIG, ["cpu-1", "x"], []),
            (MIG, [], []), ("cpu", ["x", NODE, "cpu-1", "y"], ["x", NODE, "cpu-1", "y"])):
        nodes = [whole(name, pad="y" * 3000) for name in names]
        body = {"Pod": pod_of("p", {ask: 1}, some_uid()), "Nodes": {"metadata": {}, "items": nodes}, "NodeNames": None}
        reply = daemon.post(path, body, connection=connection).json
        assert reply["Error"] == "" and reply["NodeNames"] is None
        assert reply["Nodes"]["items"] == [node for node in nodes if node["metadata"]["name"] in passing]
        assert {*reply["FailedNodes"], *reply["FailedAndUnresolvableNodes"]} == {*names} - {*passing}
    daemon.bind(daemon.add_pod("a", {MIG: 8}), NODE)  # a full node and names alone, on the same connection
    assert daemon.filter(pod_of("p", {"cpu": 1}, some_uid()), [NODE])["NodeNames"] == [NODE]


def test_more_whole_nodes_than_there_is_room_for_are_refused_by_name(start):
    daemon = start(EXAMPLES / "a30-mixed.yaml", config="server: {maxReplyBytes: 64Ki}\n")
    body = {"Pod": pod_of("p", {"cpu": 1}, some_uid()),
            "Nodes": {"items": [whole(f"node-{i}", pad="y" * 1000) for i in range(100)]}, "NodeNames": None}
    reply = daemon.post("/scheduler/filter", body)
    assert reply.status == 200 and reply.json["Nodes"] is None
    assert "nodeCacheCapable: true" in reply.json["Error"] and "server.maxReplyBytes" in reply.json["Error"]
    assert daemon.metric('sliced_limit_hits_total{limit="reply_bytes"}') == 1
    assert daemon.filter(pod_of("p", {"cpu": 1}, some_uid()), ["node-1"])["NodeNames"] == ["node-1"]


def test_filter_keeps_the_order_asked(shared):
    pod = pod_of("p", {"cpu": 1}, some_uid())
    assert shared.filter(pod, [NODE, "zz", "cpu-1", "aa"])["NodeNames"] == [NODE, "zz", "cpu-1",
                                                                            "aa"]


def test_a_pod_that_asks_for_no_gpu_fits_everywhere_and_scores_nothing(shared):
    pod = pod_of("p", {"cpu": 1}, some_uid())
    assert shared.filter(pod, ["cpu-1", NODE, "unknown"])["NodeNames"] == ["cpu-1", NODE, "unknown"]
    assert shared.prioritize(pod, ["cpu-1", NODE]) == {"cpu-1": 0, NODE: 0}


def test_an_unknown_node_fails_with_a_reason_and_scores_nothing(shared):
    pod = pod_of("p", {MIG: 1}, some_uid())
    reply = shared.filter(pod, ["nowhere", NODE])
    assert reply["NodeNames"] == [NODE]
    assert "not known" in reply["FailedNodes"]["nowhere"]
    assert shared.prioritize(pod, ["nowhere", NODE]) == {"nowhere": 0, NODE: 10}


def test_names_that_json_must_escape_come_back_as_they_were(shared):
    odd = ['qu"ote', "back\\slash", "ünï", "tab\t", "\U0001f600"]
    reply = shared.filter(pod_of("p", {"cpu": 1}, some_uid()), odd)
    assert reply["NodeNames"] == odd
    assert set(shared.filter(pod_of("p", {MIG: 1}, some_uid()), odd)["FailedNodes"]) == set(odd)


def test_too_much_for_the_node_is_unresolvable_and_too_much_for_now_is_not(daemon):
    names = [NODE]
    assert NODE in daemon.filter(pod_of("p", {MIG: 9}, some_uid()), names)[
        "FailedAndUnresolvableNodes"]
    daemon.bind(daemon.add_pod("a", {MIG: 8}), NODE)
    assert NODE in daemon.filter(pod_of("p", {MIG: 1}, some_uid()), names)["FailedNodes"]


def test_a_malformed_ask_fits_nowhere_and_says_so(shared):
    reply = shared.filter(pod_of("p", {MIG: "1.5"}, some_uid()), [NODE])
    assert reply["NodeNames"] == []
    assert MIG in reply["FailedAndUnresolvableNodes"][NODE]


def test_empty_list_of_candidates_is_answered(shared):
    pod = pod_of("p", {MIG: 1}, some_uid())
    assert shared.filter(pod, [])["NodeNames"] == []
    assert shared.prioritize(pod, []) == {}


def test_keys_are_taken_in_any_case_in_any_order(shared):
    body = {"nodeNAMES": [NODE], "pod": pod_of("p", {MIG: 1}, some_uid())}
    assert shared.post("/scheduler/filter", body).json["NodeNames"] == [NODE]


def test_bind_takes_the_devices_and_is_idempotent(daemon):
    pod = daemon.add_pod("a", {MIG: 3})
    assert daemon.bind(pod, NODE) == ""
    generation = daemon.generation
    used = [p["used"] for p in daemon.nodes()[NODE]["pools"] if p["resource"] == MIG]
    assert used == [3]
    assert daemon.bind(pod, NODE) == ""
    assert daemon.generation == generation


def test_bind_to_another_node_is_refused_and_changes_nothing(daemon):
    pod = daemon.add_pod("a", {MIG: 3})
    assert daemon.bind(pod, NODE) == ""
    generation = daemon.generation
    assert NODE in daemon.bind(pod, "cpu-1")
    assert daemon.generation == generation
    assert daemon.explain(pod)["assignment"]["node"] == NODE


@pytest.mark.parametrize("change, text", [
    ({"PodName": "nobody"}, "not known"),
    ({"PodUID": "another"}, "UID"),
    ({"Node": "nowhere"}, "not known"),
    ({"Node": "cpu-1"}, MIG),
])
def test_bind_that_cannot_be_is_an_error_with_status_200(daemon, change, text):
    pod = daemon.add_pod("a", {MIG: 1})
    body = {"PodName": "a", "PodNamespace": "default", "PodUID": pod["metadata"]["uid"],
            "Node": NODE}
    generation = daemon.generation
    reply = daemon.post("/scheduler/bind", {**body, **change})
    assert reply.status == 200
    assert text in reply.json["Error"]
    assert daemon.generation == generation
    assert daemon.explain(pod)["state"] == "waiting"


def test_bind_without_room_is_refused(daemon):
    assert daemon.bind(daemon.add_pod("a", {MIG: 6}), NODE) == ""
    late = daemon.add_pod("b", {MIG: 3})
    generation = daemon.generation
    assert "3 asked, 2 free of 8" in daemon.bind(late, NODE)
    assert daemon.generation == generation
    assert daemon.metric('sliced_bind_calls_total{code="NoRoom"}') == 1


def test_devices_are_never_given_twice(daemon):
    taken = []
    for i in range(8):
        pod = daemon.add_pod(f"p{i}", {MIG: 1})
        assert daemon.bind(pod, NODE) == ""
        part, = daemon.explain(pod)["assignment"]["devices"]
        taken.append((part["device"], part["start"]))
    assert sorted(taken) == [(d, s) for d in range(2) for s in range(4)]
    assert daemon.schedule(daemon.add_pod("p8", {MIG: 1}), [NODE]) is None


def test_preempt_keeps_only_victims_that_make_room(daemon):
    small = daemon.add_pod("small", {MIG: 2})
    large = daemon.add_pod("large", {MIG: 6})
    for pod in (small, large):
        assert daemon.bind(pod, NODE) == ""
    uids = [p["metadata"]["uid"] for p in (small, large)]
    meta = {NODE: {"Pods": [{"UID": u} for u in uids], "NumPDBViolations": 1},
            "unknown": {"Pods": [{"UID": "x"}], "NumPDBViolations": 0}}
    body = {"Pod": pod_of("vip", {MIG: 5}, some_uid()), "NodeNameToMetaVictims": meta}
    reply = daemon.post("/scheduler/preempt", body).json
    assert reply == {"NodeNameToMetaVictims": {
        NODE: {"Pods": [{"UID": uids[1]}], "NumPDBViolations": 1}}}


def test_a_due_pod_ends_what_others_borrow_and_nothing_else(start):
    """borrower holds 6 instances of a share of 4, the last two of the same priority as the pod."""
    daemon = start(EXAMPLES / "a30-mixed.yaml", config="""queue: {enabled: true, holdSeconds: 3600, preemption: false}
tenants:
  namespaces: [{namespace: lender, tenant: lender}, {namespace: default, tenant: borrower}]
  reclaim: true
  minRuntime: 0s
""")

    def add(name, namespace, count, priority):
        pod = pod_of(name, {MIG: count}, namespace=namespace)
        pod["spec"]["priority"] = priority
        pod["metadata"]["uid"] = daemon.add(pod)["uid"]
        return pod
    runs = [add(f"run-{i}", "default", 1, 0) for i in range(4)]
    runs.append(add("matters", "default", 2, 100))
    own = add("own", "lender", 2, 0)
    for pod in (*runs, own):
        assert daemon.bind(pod, NODE) == ""
    uids = [pod["metadata"]["uid"] for pod in (*runs, own)]

    def ends(pod):
        body = {"Pod": pod, "NodeNameToMetaVictims": {
            NODE: {"Pods": [{"UID": uid} for uid in uids[:4] + uids[5:]], "NumPDBViolations": 0}}}
        answer = daemon.post("/scheduler/preempt", body).json["NodeNameToMetaVictims"]
        return {uid["UID"] for uid in answer.get(NODE, {"Pods": []})["Pods"]}
    due = add("due", "lender", 2, 100)
    eventually(lambda: ends(due) == set(uids[2:4]))
    for pod in (add("further", "lender", 1, 100), add("more", "default", 1, 100)):
        assert ends(pod) == set(), "it is not due"


def test_preempt_answers_full_victims_in_the_meta_form(daemon):
    pod = daemon.add_pod("a", {MIG: 8})
    assert daemon.bind(pod, NODE) == ""
    body = {"Pod": pod_of("vip", {MIG: 1}, some_uid()),
            "NodeNameToVictims": {NODE: {"Pods": [pod], "NumPDBViolations": 0}}}
    reply = daemon.post("/scheduler/preempt", body).json
    assert reply["NodeNameToMetaVictims"][NODE]["Pods"] == [{"UID": pod["metadata"]["uid"]}]


def test_preempt_leaves_a_node_out_where_no_room_can_be_made(shared):
    body = {"Pod": pod_of("vip", {MIG: 9}, some_uid()),
            "NodeNameToMetaVictims": {NODE: {"Pods": [], "NumPDBViolations": 0}}}
    assert shared.post("/scheduler/preempt", body).json == {"NodeNameToMetaVictims": {}}


def test_preempt_never_answers_a_node_without_victims(daemon):
    """kube-scheduler: "expected at least one victim pod on node", for the whole call."""
    pod = daemon.add_pod("a", {MIG: 2})
    assert daemon.bind(pod, NODE) == ""
    victims = [{"UID": pod["metadata"]["uid"]}]
    for pods, expected in ((victims, {NODE: {"Pods": victims, "NumPDBViolations": 0}}), ([], {})):
        body = {"Pod": pod_of("vip", {MIG: 1, "cpu": 9}, some_uid()),
                "NodeNameToMetaVictims": {NODE: {"Pods": pods, "NumPDBViolations": 0}}}
        assert daemon.post("/scheduler/preempt", body).json["NodeNameToMetaVictims"] == expected


def test_preempt_for_a_pod_that_asks_for_no_gpu_changes_nothing(shared):
    body = {"Pod": pod_of("vip", {"cpu": 9}, some_uid()),
            "NodeNameToMetaVictims": {NODE: {"Pods": [{"UID": "u"}], "NumPDBViolations": 2}}}
    assert shared.post("/scheduler/preempt", body).json["NodeNameToMetaVictims"] == {
        NODE: {"Pods": [{"UID": "u"}], "NumPDBViolations": 2}}


def test_scores_are_integers_of_0_to_10_and_one_node_is_best(start):
    daemon = start(EXAMPLES / "a100-h100.yaml")
    names = sorted(daemon.nodes())
    pod = pod_of("p", {"nvidia.com/mig-1g.5gb": 1}, some_uid())
    fits = daemon.filter(pod, names)["NodeNames"]
    scores = daemon.prioritize(pod, names)
    assert fits
    assert all(isinstance(s, int) and 0 <= s <= 10 for s in scores.values())
    assert [s for s in scores.values()].count(10) == 1
    assert all(scores[n] == 0 for n in names if n not in fits)


def test_prioritize_repeats_itself(start):
    daemon = start(EXAMPLES / "a100-h100.yaml")
    names = sorted(daemon.nodes())
    pod = pod_of("p", {"nvidia.com/gpu": 1}, some_uid())
    assert len({json.dumps(daemon.prioritize(pod, names)) for _ in range(5)}) == 1


def test_paths_of_the_verbs_are_configuration(start):
    daemon = start(EXAMPLES / "a30-mixed.yaml",
                   config='extender:\n  pathPrefix: "/x/y"\n  filterVerb: "sieve"\n')
    body = {"Pod": pod_of("p", {MIG: 1}, some_uid()), "NodeNames": [NODE]}
    assert daemon.post("/x/y/sieve", body).json["NodeNames"] == [NODE]
    assert daemon.post("/scheduler/filter", body).status == 404
    assert "/x/y/bind" in daemon.get("/").text
