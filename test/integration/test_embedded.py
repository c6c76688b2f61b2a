"""Pods of the embedded cluster: added, bound, ended, explained."""
import json
import re
import threading

import pytest
import yaml

from sliced_daemon import EXAMPLES, pod_of

MIG = "nvidia.com/mig-1g.6gb"
NODE = "gpu-a30-1"
PODS = "/api/v1/embedded/pods"


@pytest.fixture
def daemon(start):
    return start(EXAMPLES / "a30-mixed.yaml")


def test_a_story_from_the_first_pod_to_one_that_waits_and_gets_its_turn(daemon):
    names = ["cpu-1", NODE]
    running = [daemon.add_pod(f"job-{i}", {MIG: 1}) for i in range(8)]
    assert [daemon.schedule(p, names) for p in running] == [NODE] * 8
    late = daemon.add_pod("late", {MIG: 1})
    assert daemon.schedule(late, names) is None
    explained = daemon.explain(late)
    assert explained["state"] == "waiting"
    assert explained["why"] == f"8 of 8 {MIG} are in use; waits for one to end"
    assert daemon.end(running[3]).status == 200
    assert daemon.schedule(late, names) == NODE
    devices = daemon.explain(late)["assignment"]["devices"]
    assert [(d["device"], d["start"], d["profile"]) for d in devices] == [(0, 3, "1g.6gb")]
    assert f'pod="default/late" node="{NODE}"' in daemon.log


def test_posting_fills_in_uid_and_time(daemon):
    summary = daemon.add(pod_of("a", {MIG: 2}))
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
                        summary["uid"])
    assert summary["createdAt"].startswith("20")
    assert summary["phase"] == "Pending" and summary["node"] is None
    assert summary["ask"] == [{"resource": MIG, "count": 2, "kind": "mig"}]


def test_posting_keeps_the_uid_and_time_that_are_there(daemon):
    summary = daemon.add(pod_of("a", {MIG: 1}, "my-uid", creationTimestamp="2026-01-02T03:04:05Z"))
    assert summary["uid"] == "my-uid"
    assert summary["createdAt"] == "2026-01-02T03:04:05Z"


@pytest.mark.parametrize("headers", [{}, {"Content-Type": "application/yaml"},
                                     {"Content-Type": "application/x-www-form-urlencoded"}])
def test_yaml_is_taken_as_well_as_json(daemon, headers):
    text = yaml.safe_dump(pod_of("a", {MIG: 1}))
    reply = daemon.post(PODS, "# a comment\n---\n" + text, headers=headers)
    assert reply.status == 201, reply.text
    assert daemon.post(PODS, json.dumps(pod_of("b", {MIG: 1})), headers=headers).status == 201


def test_a_name_that_exists_is_409(daemon):
    daemon.add_pod("a", {MIG: 1})
    generation = daemon.generation
    reply = daemon.post(PODS, pod_of("a", {MIG: 1}))
    assert reply.status == 409 and reply.json["reason"] == "AlreadyExists"
    assert daemon.generation == generation
    assert daemon.post(PODS, pod_of("a", {MIG: 1}, namespace="other")).status == 201


def test_a_uid_that_exists_is_409(daemon):
    daemon.add_pod("a", {MIG: 1})
    uid = daemon.explain(pod_of("a", {}))["pod"]["uid"]
    assert daemon.post(PODS, pod_of("b", {MIG: 1}, uid)).status == 409


def test_of_many_who_post_one_name_one_succeeds(daemon):
    codes = []

    def post():
        codes.append(daemon.post(PODS, pod_of("a", {MIG: 1})).status)

    threads = [threading.Thread(target=post) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(codes) == [201] + [409] * 7


@pytest.mark.parametrize("body, status, text", [
    (b"", 400, "empty"),
    (b"{", 400, ""),
    (b"a: [", 400, ""),
    (b"- 1\n", 400, ""),
    (b"a: &x 1\nb: *x\n", 400, ""),
    ({"kind": "Pod"}, 400, "apiVersion"),
    ({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}, 400, "Pod is expected"),
    ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n"}}, 400, "Pod is expected"),
    ({"apiVersion": "v1", "kind": "Pod", "metadata": {}}, 400, "name"),
    ({"apiVersion": "v1", "kind": "List", "items": []}, 400, "no Pod"),
    ({"apiVersion": "v1", "kind": "List",
      "items": [pod_of("a", {MIG: 1}), pod_of("b", {MIG: 1})]}, 400, "second"),
    (pod_of("a", {"cpu": 1}), 400, "no GPU"),
    (b'{"x":"' + b"a" * (2 << 20) + b'"}', 413, "bytes"),
], ids=lambda value: repr(value)[:40])
def test_what_is_not_one_pod_is_refused(daemon, body, status, text):
    generation = daemon.generation
    reply = daemon.post(PODS, body)
    assert reply.status == status, reply.text
    assert text in reply.json["message"]
    assert daemon.generation == generation


def test_a_malformed_ask_is_added_and_explained(daemon):
    pod = daemon.add_pod("a", {MIG: "1500m"})
    explained = daemon.explain(pod)
    assert explained["pod"]["malformed"]
    assert "has to be changed" in explained["why"]


def test_what_of_a_pod_cannot_be_read_is_explained(daemon):
    pod = pod_of("a", {MIG: 1})
    pod["metadata"]["annotations"] = {"sliced.dev/timeout": "90min"}
    daemon.add(pod)
    problem = daemon.explain(pod)["pod"]["problem"]
    assert problem.startswith('annotation sliced.dev/timeout: "90min" cannot be read'), problem
    table = daemon.get("/api/v1/pods/default/a/explain?output=table").text
    assert f"Problem:   {problem}\n" in table
    assert daemon.explain(daemon.add_pod("b", {MIG: 1}))["pod"]["problem"] is None


def test_no_more_pods_than_configured(start):
    daemon = start(EXAMPLES / "a30-mixed.yaml", config="cluster:\n  maxPods: 2\n")
    for name in ("a", "b"):
        daemon.add_pod(name, {MIG: 1})
    reply = daemon.post(PODS, pod_of("c", {MIG: 1}))
    assert reply.status == 403 and reply.json["reason"] == "Forbidden"
    assert daemon.metric('sliced_limit_hits_total{limit="objects"}') == 1


def test_ending_a_pod_frees_its_devices_and_its_name(daemon):
    pod = daemon.add_pod("a", {MIG: 8})
    assert daemon.schedule(pod, [NODE]) == NODE
    assert daemon.end(pod).status == 200
    assert daemon.end(pod).status == 404
    again = daemon.add_pod("a", {MIG: 8})
    assert "UID" in daemon.bind(again, NODE, uid=pod["metadata"]["uid"])
    assert daemon.schedule(again, [NODE]) == NODE


def test_explain_ranks_nodes_as_prioritize_does(start):
    daemon = start(EXAMPLES / "a100-h100.yaml")
    names = sorted(daemon.nodes())
    pod = daemon.add_pod("a", {"nvidia.com/mig-1g.5gb": 1})
    explained = daemon.explain(pod)
    wire = daemon.prioritize(pod, names)
    fits = daemon.filter(pod, names)["NodeNames"]
    rows = {row["name"]: row for row in explained["nodes"]}
    assert set(rows) == set(names)
    assert sorted(n for n in names if rows[n]["fits"]) == fits
    assert {n: rows[n]["score"]["wire"] for n in fits} == {n: wire[n] for n in fits}
    assert explained["nodes"][0]["score"]["wire"] == 10
    assert explained["summary"]["fit"] == len(fits)
    assert sum(r["nodes"] for r in explained["summary"]["reasons"]) == len(names) - len(fits)
    terms = {"availability", "packing", "spreading", "fragmentation", "whole", "contention"}
    assert set(explained["weights"]) == terms


def test_explain_names_the_devices_that_bind_then_takes(start):
    daemon = start(EXAMPLES / "a100-h100.yaml")
    pod = daemon.add_pod("a", {"nvidia.com/mig-2g.10gb": 1})
    best = daemon.explain(pod)["nodes"][0]
    assert daemon.bind(pod, best["name"]) == ""
    assert daemon.explain(pod)["assignment"]["devices"] == best["devices"]


def test_explain_is_bounded_and_a_table_when_asked(daemon):
    pod = daemon.add_pod("a", {MIG: 1})
    path = "/api/v1/pods/default/a/explain"
    short = daemon.get(path + "?limit=1").json
    assert len(short["nodes"]) == 1 and short["omitted"] == 1
    text = daemon.get(path + "?output=table").text
    assert "State:     waiting" in text and NODE in text
    daemon.schedule(pod, [NODE])
    assert "Devices:   0/0" in daemon.get(path + "?output=table").text


@pytest.mark.parametrize("resources, text", [
    ({"nvidia.com/mig-7g.80gb": 1}, "no node offers nvidia.com/mig-7g.80gb"),
    ({MIG: 9}, f"9 {MIG} asked, the largest node has 8"),
    ({MIG: 1}, "fits on 1 of 2 nodes, best on " + NODE),
])
def test_why_is_a_sentence_for_the_pods_owner(daemon, resources, text):
    assert text in daemon.explain(daemon.add_pod("a", resources))["why"]


def test_nodes_show_who_uses_what(daemon):
    pod = daemon.add_pod("a", {MIG: 2})
    daemon.schedule(pod, [NODE])
    node = daemon.get(f"/api/v1/nodes/{NODE}").json
    users = [(d["index"], i["start"], [p["name"] for p in i["pods"]])
             for d in node["devices"] for i in d["instances"] if i["pods"]]
    assert users == [(0, 0, ["a"]), (0, 1, ["a"])]
    assert [p["name"] for p in node["pods"]] == ["a"]
    assert node["pools"][0]["used"] == 2
