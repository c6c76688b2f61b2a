"""What users see: pods that ask for slices of GPUs, on real control planes."""

import random

import pytest

from harness import gpus
from harness.process import wait_for

MIG = "nvidia.com/mig-1g.6gb"
GPU = "nvidia.com/gpu"


def job_pod(cluster, job):
    """The pod of a Job of one."""
    for each in cluster.pods().values():
        if each["metadata"].get("labels", {}).get("job-name") == job:
            return each
    return None


def bound_jobs(cluster, names):
    """Those of the Jobs whose pods have a node."""
    pods = {name: job_pod(cluster, name) for name in names}
    return [name for name, pod in pods.items() if pod and pod["spec"].get("nodeName")]


@pytest.mark.both
@pytest.mark.parametrize("make_node, resource", [(gpus.a30_mixed, MIG), (gpus.a30_single, GPU)],
                         ids=["mixed", "single"])
def test_eight_jobs_run_at_once_and_a_ninth_starts_when_one_ends(cluster, make_node, resource):
    cluster.add(make_node("gpu-1"))
    cluster.start_daemon()

    first = [f"job-{i}" for i in range(8)]
    cluster.add(*(gpus.job(name, {resource: 1}) for name in first))
    wait_for("eight at once", lambda: len(bound_jobs(cluster, first)) == 8)
    cluster.add(gpus.job("ninth", {resource: 1}))
    ninth = wait_for("its pod", lambda: job_pod(cluster, "ninth"))["metadata"]["name"]
    cluster.wait_event(ninth, "nodes are available")
    assert not bound_jobs(cluster, ["ninth"]), "a ninth on eight instances"
    places = {each["metadata"]["annotations"]["sliced.dev/assignment"]
              for each in cluster.pods().values() if each["spec"].get("nodeName")}
    assert len(places) == 8, places

    ended = job_pod(cluster, "job-3")
    cluster.annotate(ended["metadata"]["name"], **{"sliced.dev/e2e-runs": "0s"})
    cluster.wait_phase(ended["metadata"]["name"], "Succeeded")
    wait_for("the ninth starts", lambda: bound_jobs(cluster, ["ninth"]))
    given = cluster.pod(ninth)["metadata"]["annotations"]["sliced.dev/assignment"]
    assert given == ended["metadata"]["annotations"]["sliced.dev/assignment"]


@pytest.mark.both
def test_a_profile_that_nobody_has_is_told_in_an_event(cluster):
    cluster.add(gpus.a30_mixed("gpu-1"), gpus.whole("gpu-2"))
    cluster.start_daemon()
    cluster.add(gpus.pod("dreamer", {"nvidia.com/mig-7g.80gb": 1}))
    told = cluster.wait_event("dreamer", "nvidia.com/mig-7g.80gb", source="sliced")
    assert told["type"] == "Warning", told
    assert not cluster.pod("dreamer")["spec"].get("nodeName")


def test_where_a_pod_went_and_why_is_told_in_an_event(cluster):
    cluster.add(gpus.a30_mixed("gpu-1"))
    cluster.start_daemon()
    cluster.add(gpus.pod("happy", {MIG: 2}))
    cluster.wait_bound("happy")
    told = cluster.wait_event("happy", "gpu-1", source="sliced")
    assert told["type"] == "Normal"
    assert "0/0" in told["message"], told["message"]


def mixed_nodes():
    return ([gpus.a30_mixed(f"mixed-{i}") for i in range(4)]
            + [gpus.a30_single(f"single-{i}") for i in range(2)]
            + [gpus.t4_shared(f"shared-{i}") for i in range(2)]
            + [gpus.gpushare(f"memory-{i}") for i in range(2)]
            + [gpus.a100_mixed("a100-1"), gpus.h100_mixed("h100-1")]
            + [gpus.whole(f"whole-{i}") for i in range(2)])


def mixed_asks(count):
    """Asks that come to a little more than there is."""
    choose = random.Random(20261121)
    kinds = ([{MIG: 1}] * 6 + [{MIG: 2}] * 2 + [{GPU: 1}] * 5 + [{GPU: 4}] + [{GPU: 2}]
             + [{"nvidia.com/gpu.shared": 1}] * 6 + [{"nvidia.com/gpu.shared": 3}]
             + [{"aliyun.com/gpu-mem": 8}] * 4 + [{"aliyun.com/gpu-mem": 20}]
             + [{"nvidia.com/mig-1g.5gb": 1}] * 2 + [{"nvidia.com/mig-3g.20gb": 1}]
             + [{"nvidia.com/mig-3g.40gb": 1}] + [{"nvidia.com/mig-1g.20gb": 1}])
    return [choose.choice(kinds) for _ in range(count)]


@pytest.mark.both
def test_two_hundred_pods_on_mixed_kinds_are_given_nothing_twice(cluster):
    cluster.add(*mixed_nodes())
    # without the queue, which keeps room for larger ones ahead: here whoever fits goes
    daemon = cluster.start_daemon(config={"queue": {"enabled": False}})
    asks = mixed_asks(200)
    cluster.add(*(gpus.pod(f"pod-{i:03}", ask) for i, ask in enumerate(asks)))

    settle(cluster, daemon, len(asks))
    bound = [pod for pod in cluster.pods().values() if pod["spec"].get("nodeName")]
    assert len(bound) > 100

    # a third of them end, and those that wait and others take their places
    for pod in bound[::3]:
        cluster.delete_pod(pod["metadata"]["name"])
    late = mixed_asks(60)
    cluster.add(*(gpus.pod(f"late-{i:03}", ask) for i, ask in enumerate(late)))
    settle(cluster, daemon, len(asks) - len(bound[::3]) + len(late))


def settle(cluster, daemon, count):
    """Waits until each of so many pods is bound, or waits and the daemon sees room on no node."""
    def settled():
        pods = cluster.pods()
        waiting = [name for name, pod in pods.items() if not pod["spec"].get("nodeName")]
        assert len(pods) == count
        assert daemon.state()["cluster"]["waiting"] == len(waiting), "not in sync yet"
        for name in waiting:
            assert fits_nowhere(daemon, name), f"{name} waits though it would fit"
        return True
    wait_for("all that fit are bound", settled, 300, 0.5)
    assert cluster.wrong() == []


def fits_nowhere(daemon, name):
    explained = daemon.json(f"/api/v1/pods/default/{name}/explain")
    return explained["state"] == "waiting" and not any(
        node["fits"] for node in explained["nodes"])


@pytest.mark.both
def test_a_deleted_pod_holds_its_devices_until_it_is_gone(cluster):
    cluster.add(gpus.a30_mixed("gpu-1", gpus=1))
    cluster.start_daemon()
    slow = gpus.pod("slow", {MIG: 4}, annotations={"sliced.dev/e2e-lingers": "yes"})
    cluster.add(slow)
    cluster.wait_bound("slow")
    cluster.delete_pod("slow", grace_seconds=300)
    cluster.add(gpus.pod("next", {MIG: 1}))
    cluster.wait_event("next", "nodes are available")
    assert "deletionTimestamp" in cluster.pod("slow")["metadata"]
    assert not cluster.pod("next")["spec"].get("nodeName")
    cluster.delete_pod("slow", grace_seconds=0)
    cluster.wait_bound("next")


def test_the_timeout_of_a_pod_becomes_its_deadline(cluster):
    cluster.add(gpus.a30_mixed("gpu-1"))
    cluster.start_daemon()
    cluster.add(gpus.pod("bounded", {MIG: 1}, annotations={"sliced.dev/timeout": "2s"}),
                gpus.pod("free", {MIG: 1}))
    cluster.wait_bound("bounded", "free")
    wait_for("the deadline", lambda: cluster.pod("bounded")["spec"].get("activeDeadlineSeconds") == 2)
    cluster.wait_phase("bounded", "Failed")
    assert cluster.pod("bounded")["status"]["reason"] == "DeadlineExceeded"
    assert "activeDeadlineSeconds" not in cluster.pod("free")["spec"]


@pytest.mark.both
@pytest.mark.parametrize("capable", [True, False], ids=["names", "whole nodes"])
def test_the_scheduler_may_send_names_or_whole_nodes(cluster, capable):
    cluster.add(*(gpus.a30_mixed(f"gpu-{i}") for i in range(3)), gpus.node("cpu-1", {}))
    daemon = cluster.start_daemon()
    if not capable:
        cluster.plane.stop_scheduler()
        cluster.start_scheduler({"nodeCacheCapable": False})
    try:
        names = [f"pod-{i}" for i in range(6)]
        cluster.add(*(gpus.pod(name, {MIG: 4}) for name in names))
        cluster.wait_bound(*names)
        looked_at = daemon.metric("sliced_verb_nodes_total", verb="filter")
        assert looked_at >= 6
        # a call counts once its answer is out
        wait_for("six binds", lambda: verb_calls(daemon, "bind") >= 6)
    finally:
        if not capable:
            cluster.plane.stop_scheduler()
            cluster.start_scheduler()


@pytest.mark.both
def test_who_matters_more_displaces_who_matters_less(cluster):
    for name, value in (("low", 10), ("high", 1000)):
        cluster.add({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                     "metadata": {"name": name}, "value": value})
    cluster.add(gpus.a30_mixed("gpu-1", gpus=1), gpus.a30_mixed("gpu-2", gpus=1))
    daemon = cluster.start_daemon()
    low = [f"low-{i}" for i in range(8)]
    cluster.add(*(gpus.pod(name, {MIG: 1}, priority="low") for name in low))
    cluster.wait_bound(*low)
    cluster.add(gpus.pod("vip", {MIG: 2}, priority="high"))
    pods = cluster.wait_bound("vip")
    calls = wait_for("a call counts", lambda: verb_calls(daemon, "preempt"))
    # The scheduler may try again on news that has not reached us yet, and preempt once more; of
    # those victims some may still be going.
    gone = sum(name not in pods for name in low)
    assert 2 <= gone <= 2 * calls, "two make room, and no more than two for each call"


@pytest.mark.both
def test_room_of_a_nominated_pod_is_kept_for_it(cluster):
    """Without a queue: kube-scheduler nominates a pod to the node on which it has preempted others. It is played
    here by another scheduler's pod, whose nomination ours does not count itself."""
    cluster.add({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                 "metadata": {"name": "high"}, "value": 1000})
    cluster.add(gpus.a30_mixed("gpu-1", gpus=1), gpus.pod("vip", {MIG: 3}, scheduler="nobody", priority="high"))
    daemon = cluster.start_daemon(config={"queue": {"enabled": False}})
    cluster.plane.patch("/api/v1/namespaces/default/pods/vip/status",
                        {"status": {"nominatedNodeName": "gpu-1"}})
    late = gpus.pod("late", {MIG: 2})
    late["metadata"]["uid"] = "asked-by-hand"
    wait_for("the daemon has heard of it", lambda: "nominated to this node" in daemon.verb(
        "filter", {"Pod": late, "NodeNames": ["gpu-1"]})[1])

    cluster.add(gpus.pod("late", {MIG: 2}), gpus.pod("small", {MIG: 1}), gpus.pod("vital", {MIG: 2}, priority="high"))
    cluster.wait_bound("small")
    told = cluster.wait_event("late", "nominated to this node")
    assert "room is kept" in told["message"], told
    cluster.wait_event("vital", "nominated to this node")  # of the same priority, and later
    assert not cluster.pod("late")["spec"].get("nodeName")
    cluster.delete_pod("vip")
    cluster.add(gpus.pod("next", {MIG: 3}, priority="high"))
    cluster.wait_bound("next")


@pytest.mark.both
def test_two_hundred_pods_that_ask_for_nothing_of_ours_never_reach_us(cluster):
    cluster.add(*(gpus.node(f"cpu-{i}", {}) for i in range(2)), gpus.a30_mixed("gpu-1"))
    daemon = cluster.start_daemon()
    names = [f"web-{i:03}" for i in range(200)]
    cluster.add(*(gpus.pod(name, {"memory": "1Mi"}) for name in names))
    cluster.wait_bound(*names, timeout=120)
    assert verb_calls(daemon) == 0


def verb_calls(daemon, *verbs):
    """Calls of those verbs so far, of all four when none is named."""
    return sum(daemon.metric("sliced_http_requests_total", verb=verb)
               for verb in verbs or ("filter", "prioritize", "bind", "preempt"))


def test_the_daemon_counts_the_calls_it_gets(cluster):
    """The story before would pass if the counter were never moved."""
    cluster.add(gpus.a30_mixed("gpu-1"))
    daemon = cluster.start_daemon()
    cluster.add(gpus.pod("one", {MIG: 1}))
    cluster.wait_bound("one")
    wait_for("filter and bind", lambda: verb_calls(daemon) >= 2)
