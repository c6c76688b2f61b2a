"""The condition sliced.dev/Queued on waiting pods: place, reason and start, as kubectl get pod -o yaml shows them."""

import pytest

from harness import gpus
from harness.cluster import GATE, gates_of
from harness.process import wait_for
from harness.sliced import merge

GPU = "nvidia.com/gpu"
CONFIG = {"queue": {"order": "sjf"}, "leaderElection": {"enabled": False}}
QUEUED = "sliced.dev/Queued"


def conditions(cluster, name):
    return {each["type"]: each for each in cluster.pod(name)["status"].get("conditions", [])}


def wait_condition(cluster, name, *parts, status="True", reason="NoRoom"):
    """Until the pod's condition is that, with a message that has all parts."""
    def there():
        found = conditions(cluster, name).get(QUEUED)
        assert found is not None, f"{name} has no condition {QUEUED}"
        assert (found["status"], found["reason"]) == (status, reason), found
        assert all(part in found["message"] for part in parts), found
        return found
    return wait_for(f"the condition of {name}", there)


def bind_by_hand(cluster, name, node):
    """As if somebody else had opened the gate, and kube-scheduler had bound the pod."""
    path = f"/api/v1/namespaces/default/pods/{name}"
    cluster.plane.api.patch(path, {"spec": {"schedulingGates": [{"$patch": "delete", "name": GATE}]}},
                            "application/strategic-merge-patch+json")
    cluster.plane.api.post(path + "/binding", {
        "apiVersion": "v1", "kind": "Binding",
        "metadata": {"name": name, "annotations": {"sliced.dev/assignment": f"{GPU}=0"}},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node}})


@pytest.mark.both
def test_a_gated_pod_shows_its_place_until_its_turn(cluster):
    cluster.add(gpus.whole("gpu-1", gpus=1))
    daemon = cluster.start_daemon(config=CONFIG)

    def pod(name, timeout):
        return gpus.pod(name, {GPU: 1}, gates=[GATE], annotations={"sliced.dev/timeout": timeout})
    cluster.add(pod("runs", "1h"))
    cluster.wait_bound("runs")
    assert QUEUED not in conditions(cluster, "runs")  # it did not wait
    cluster.add(pod("next", "1h"), pod("last", "2h"))
    first = wait_condition(cluster, "next", "held: first for nvidia.com/gpu", "position 1", "starts by 20")
    behind = wait_condition(cluster, "last", "1 pod ahead", "position 2", "estimated start 20")
    assert "next" not in behind["message"]
    assert first["lastTransitionTime"] == cluster.pod("next")["metadata"]["creationTimestamp"]
    assert conditions(cluster, "next")["PodScheduled"]["reason"] == "SchedulingGated"
    plain = cluster.plane.kubectl("get", "pod", "next", "-n", "default", "-o", "yaml")
    assert f"type: {QUEUED}" in plain and "position 1 in the queue" in plain

    # one that was ahead ends
    cluster.delete_pod("runs")
    cluster.wait_bound("next")
    ended = wait_condition(cluster, "next", "its turn has come: node gpu-1", status="False",
                           reason="Nominated")
    assert ended["lastTransitionTime"] >= first["lastTransitionTime"]
    moved = wait_condition(cluster, "last", "held: first for nvidia.com/gpu", "position 1", "starts by 20")
    assert moved["lastTransitionTime"] == behind["lastTransitionTime"]
    assert conditions(cluster, "next")["PodScheduled"]["status"] == "True"
    assert daemon.metric("sliced_queue_conditions_total", outcome="failed") == 0

    def written():
        return daemon.metric("sliced_queue_conditions_total", outcome="written")
    wait_for("they count", lambda: written() >= 3)
    assert written() < 20


@pytest.mark.both
def test_no_condition_outlives_its_leader(cluster):
    """One pod is bound while nobody leads, and one waits on, until the condition is switched off."""
    cluster.add(gpus.whole("gpu-1", gpus=1), gpus.whole("gpu-2", gpus=1))
    daemon = cluster.start_daemon(config=CONFIG)
    cluster.add(*(gpus.pod(name, {GPU: 1}, gates=[GATE]) for name in ("runs", "too")))
    cluster.wait_bound("runs", "too")
    cluster.add(*(gpus.pod(name, {GPU: 1}, gates=[GATE]) for name in ("bound", "waits")))
    for name in ("bound", "waits"):
        wait_condition(cluster, name, "held: ")
    free = cluster.pod("runs")["spec"]["nodeName"]
    daemon.kill()
    cluster.delete_pod("runs")
    bind_by_hand(cluster, "bound", free)
    assert conditions(cluster, "bound")[QUEUED]["status"] == "True"
    daemon.start()
    wait_condition(cluster, "bound", "it is bound", status="False", reason="Bound")
    wait_condition(cluster, "waits", "held: first for nvidia.com/gpu", "position 1")
    assert gates_of(cluster.pod("waits")) == [GATE]
    daemon.write_config(merge(daemon.config, {"queue": {"condition": {"enabled": False}}}))
    daemon.reload()
    wait_condition(cluster, "waits", "queuedpods", status="Unknown", reason="NotKept")
