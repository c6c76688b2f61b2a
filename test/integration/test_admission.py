"""The webhook that puts the gate sliced.dev/queue on new pods, as an API server calls it."""
import base64
import copy
import json

import pytest

from sliced_daemon import EXAMPLES, ROOT, Daemon

REVIEWS = ROOT / "test/data/admission"
PATH = "/admission/gate/sliced-scheduler"
GATE = {"name": "sliced.dev/queue"}
OTHER = {"name": "example.com/quota"}
MIG = "nvidia.com/mig-1g.6gb"
QUEUE = "queue:\n  enabled: true\n  gate: webhook\n"


@pytest.fixture(scope="module")
def shared():
    """One with a queue; for tests that change nothing."""
    daemon = Daemon(EXAMPLES / "a30-mixed.yaml", config=QUEUE)
    yield daemon
    daemon.stop()


def test_without_a_queue_nobody_gets_a_gate_that_nobody_would_open(start):
    assert ask(start(EXAMPLES / "a30-mixed.yaml"), review()) is None


def test_where_no_gate_is_wanted_a_webhook_that_was_left_behind_puts_none(start):
    config = QUEUE.replace("webhook", "none")
    assert ask(start(EXAMPLES / "a30-mixed.yaml", config=config), review()) is None


def review(name="job"):
    return json.loads((REVIEWS / f"{name}.json").read_text(encoding="utf-8"))


def ask(daemon, body, path=PATH):
    """The patch, or None; whatever it is, the pod is allowed."""
    reply = daemon.post(path, body)
    assert reply.status == 200, reply.text
    assert reply.headers["content-type"] == "application/json"
    assert (reply.json["kind"], reply.json["apiVersion"]) == ("AdmissionReview", "admission.k8s.io/v1")
    answer = reply.json["response"]
    assert answer["uid"] == body["request"]["uid"] and answer["allowed"] is True
    if "patch" not in answer:
        assert set(answer) == {"uid", "allowed"}
        return None
    assert set(answer) == {"uid", "allowed", "patchType", "patch"}
    assert answer["patchType"] == "JSONPatch"
    return json.loads(base64.b64decode(answer["patch"], validate=True))


def gated(pod, patch):
    """The pod's gates after the patch, as RFC 6902 has it."""
    gates = copy.deepcopy(pod["spec"].get("schedulingGates"))
    assert len(patch) == 1 and patch[0]["op"] == "add"
    if patch[0]["path"] == "/spec/schedulingGates":
        return patch[0]["value"]
    assert patch[0]["path"] == "/spec/schedulingGates/-" and isinstance(gates, list)
    return [*gates, patch[0]["value"]]


@pytest.mark.parametrize("name, after", [
    ("job", [GATE]), ("other-gate", [OTHER, GATE]), ("malformed-ask", [GATE])])
def test_a_new_pod_that_asks_for_a_gpu_gets_the_gate(shared, name, after):
    body = review(name)
    assert gated(body["request"]["object"], ask(shared, body)) == after


@pytest.mark.parametrize("name", ["gated", "daemonset", "bound", "no-gpu", "update", "deleted", "binding"])
def test_others_are_left_as_they_are(shared, name):
    assert ask(shared, review(name)) is None


def test_a_pod_of_another_scheduler_is_left_as_it_is(shared):
    assert ask(shared, review(), "/admission/gate/other-scheduler") is None
    assert ask(shared, review(), "/admission/gate/sliced-schedule") is None


def test_pods_that_name_no_scheduler_are_given_ours_where_that_is_wanted(shared):
    def assigned(body):
        patch = ask(shared, body, "/admission/assign/sliced-scheduler")
        return {each["path"]: each["value"] for each in patch or []}
    body = review()
    assert assigned(body) == {"/spec/schedulingGates": [GATE]}
    body["request"]["object"]["spec"]["schedulerName"] = "default-scheduler"
    assert ask(shared, body) is None
    ours = {"/spec/schedulerName": "sliced-scheduler"}
    assert assigned(body) == {**ours, "/spec/schedulingGates": [GATE]}
    body["request"]["object"]["spec"]["schedulingGates"] = [OTHER]
    assert assigned(body) == {**ours, "/spec/schedulingGates/-": GATE}
    body["request"]["object"]["spec"]["schedulingGates"] = [GATE]
    assert assigned(body) == ours
    body["request"]["object"]["spec"]["schedulerName"] = "another"
    assert assigned(body) == {}
    body = review("no-gpu")
    body["request"]["object"]["spec"]["schedulerName"] = "default-scheduler"
    assert assigned(body) == {}
    assert shared.post("/admission/assign/" + "x" * 3000, review()).status in (200, 400, 404, 414)


CONTROLLER = "system:serviceaccount:kube-system:daemon-set-controller"


@pytest.mark.parametrize("change, after", [
    ({}, None),
    ({"namespace": "monitoring"}, None),
    ({"namespace": "vision"}, [GATE]),  # anybody may make DaemonSets there, or pods that say so
    ({"namespace": None}, [GATE]),
    ({"userInfo": {"username": "system:serviceaccount:vision:default"}}, [GATE]),
    ({"userInfo": {"username": CONTROLLER + "s"}}, [GATE]),
    ({"userInfo": {}}, [GATE]),
    ({"userInfo": None}, [GATE]),
    ({"owner": {"apiVersion": "example.com/v1"}}, [GATE]),
    ({"owner": {"controller": False}}, [GATE]),
])
def test_only_the_controller_makes_pods_of_daemonsets_that_are_believed(start, change, after):
    daemon = start(EXAMPLES / "a30-mixed.yaml",
                   config=QUEUE + "  daemonSets:\n  - namespace: monitoring\n")
    body = review("daemonset")
    body["request"]["object"]["metadata"]["ownerReferences"][0].update(change.pop("owner", {}))
    body["request"].update(change)
    patch = ask(daemon, body)
    assert patch == after if after is None else gated(body["request"]["object"], patch) == after


def test_who_makes_the_pods_of_daemonsets_can_be_told(start):
    daemon = start(EXAMPLES / "a30-mixed.yaml",
                   config=QUEUE + "  daemonSetUser: system:kube-controller-manager\n")
    body = review("daemonset")
    assert gated(body["request"]["object"], ask(daemon, body)) == [GATE]
    body["request"]["userInfo"]["username"] = "system:kube-controller-manager"
    assert ask(daemon, body) is None


@pytest.mark.parametrize("gates, after", [(None, [GATE]), ([], [GATE]), ([OTHER], [OTHER, GATE])])
def test_a_list_of_gates_may_be_absent_null_or_empty(shared, gates, after):
    body = review()
    body["request"]["object"]["spec"]["schedulingGates"] = gates
    assert gated(body["request"]["object"], ask(shared, body)) == after


@pytest.mark.parametrize("place", ["limits of a container", "requests of an init container"])
@pytest.mark.parametrize("resource, ours", [
    (MIG, True), ("nvidia.com/gpu", True), ("nvidia.com/gpu.shared", True),
    ("aliyun.com/gpu-mem", True), ("amd.com/gpu", False), ("cpu", False)])
def test_what_is_asked_for_may_stand_in_any_container(shared, place, resource, ours):
    body = review("no-gpu")
    spec = body["request"]["object"]["spec"]
    if place.startswith("limits"):
        spec["containers"].append({"name": "second", "resources": {"limits": {resource: "2"}}})
    else:
        spec["initContainers"] = [{"name": "first", "resources": {"requests": {resource: "2"}}}]
    assert (ask(shared, body) is not None) == ours


def test_a_pod_that_asks_for_none_of_it_is_not_held_for_ever(shared):
    """The queue plans for pods that ask for something: nobody would open this one's gate."""
    body = review("no-gpu")
    body["request"]["object"]["spec"]["containers"][0]["resources"]["limits"][MIG] = "0"
    assert ask(shared, body) is None


@pytest.mark.parametrize("body", [
    b"", b"[]", b"{}", b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{}}',
    b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1","request":{"uid":"u"}}'])
def test_what_is_no_review_is_refused_as_a_whole(shared, body):
    reply = shared.post(PATH, body)
    assert reply.status == 400, reply.text
    assert reply.json["kind"] == "Status"


def test_a_body_of_wrong_types_names_the_field(shared):
    body = review()
    body["request"]["object"]["spec"]["containers"] = "none"
    reply = shared.post(PATH, body)
    assert reply.status == 400 and "request.object.spec.containers" in reply.text


def test_only_posts_and_only_with_a_name(shared):
    assert shared.get(PATH).status == 405
    assert shared.post("/admission/gate/", review()).status == 404


def test_calls_are_counted(shared):
    ask(shared, review())
    before = shared.metric('sliced_http_requests_total{verb="admission",code="200"}')
    ask(shared, review())
    assert shared.metric('sliced_http_requests_total{verb="admission",code="200"}') == before + 1
