"""Who goes next: the queue behind gates, on real control planes."""

import calendar
import csv
import json
import os
import random
import subprocess
import time

import pytest

from harness import chart, gpus
from harness.api import ApiError, object_path
from harness.cluster import GATE, gates_of
from harness.history import History
from harness.process import wait_for
from harness.sliced import BIN, SHORT_LEASE, merge

GPU = "nvidia.com/gpu"
FIFO = {"queue": {"order": "fifo"}}
HOLD = "example.com/hold"
POLICY = {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}
WEBHOOK = {"MutatingWebhookConfiguration"}


def priority_class(name, value):
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
            "value": value}


def rows(daemon):
    """The queue as the daemon tells it, by name."""
    return {each["name"]: each for each in daemon.json("/api/v1/queue")["items"]}


def row(daemon, name):
    found = rows(daemon).get(name)
    assert found is not None, f"{name} is not in the queue"
    return found


def wait_state(daemon, name, state, timeout=60):
    def there():
        found = row(daemon, name)
        assert found["state"] == state, found["text"]
        return found
    return wait_for(f"{name} {state}", there, timeout)


def filter_calls(daemon):
    return daemon.metric("sliced_http_requests_total", verb="filter")


# ---- the gate ----

@pytest.mark.both
def test_the_gate_comes_to_pods_that_ask_for_gpus_and_to_no_others(cluster):
    chosen = {"metadata": {"labels": {"gpus": "queued"}}}
    default = "/api/v1/namespaces/default"
    far = "/api/v1/namespaces/elsewhere/pods/far"
    cluster.add(gpus.whole("gpu-1"))
    daemon = cluster.start_daemon(config=merge(cluster.gate, {
        "queue": {"order": "sjf", "daemonSets": [{"namespace": "default"}]}}))
    try:
        cluster.plane.patch(default, chosen)
        cluster.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}})
        put_up = cluster.put_up_gate({"queue": {
            "daemonSetNamespaces": ["default"],
            "namespaceSelector": {"matchLabels": {"gpus": "queued"}}}})
        assert put_up == (POLICY if chart.has_policies(cluster.plane.minor) else WEBHOOK)
        cluster.wait_gate(gpus.pod("probe", {GPU: 1}))
        wait_for("the namespace", lambda: cluster.plane.get(
            "/api/v1/namespaces/elsewhere/serviceaccounts/default"))

        def gets(pod):
            return gates_of(cluster.plane.create(pod, dry_run=True))
        init = gpus.pod("init", {"memory": "1Mi"})
        init["spec"]["initContainers"] = [
            {"name": "first", "image": "x", "resources": {"limits": {"nvidia.com/mig-1g.6gb": "1"}}}]
        assert gets(init) == [GATE]
        assert gets(gpus.pod("two", {GPU: 1}, gates=[HOLD])) == [HOLD, GATE]
        assert gets(gpus.pod("own", {GPU: 1}, gates=[GATE, HOLD])) == [GATE, HOLD]

        placed = gpus.pod("placed", {GPU: 1})
        placed["spec"]["nodeName"] = "gpu-1"
        for pod in (gpus.pod("web", {"memory": "1Mi"}), gpus.pod("none", {GPU: 0}), placed,
                    gpus.pod("theirs", {GPU: 1}, scheduler="default-scheduler"),
                    gpus.pod("far", {GPU: 1}, namespace="elsewhere"),
                    gpus.pod("system", {GPU: 1}, namespace="kube-system")):
            assert gets(pod) == [], pod["metadata"]["name"]

        # and that is how they live: the queue opens its gates, and nobody else waits for it
        cluster.add(gpus.pod("queued", {GPU: 1}), placed)
        cluster.wait_bound("queued", "placed")
        big = [f"big-{i}" for i in range(5)]
        cluster.add(*(gpus.pod(name, {GPU: 8}, annotations={"sliced.dev/timeout": "1m"})
                      for name in big))
        for name in big:
            wait_state(daemon, name, "Held")
        template = gpus.pod("agent", {GPU: 1})
        del template["spec"]["restartPolicy"]
        cluster.add({"apiVersion": "apps/v1", "kind": "DaemonSet",
                     "metadata": {"name": "agent", "namespace": "default"},
                     "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": {
                         "metadata": {"labels": {"app": "agent"}}, "spec": template["spec"]}}},
                    # the longest timeout: last wherever it is queued, and too long to be let in ahead
                    gpus.pod("far", {GPU: 1}, namespace="elsewhere",
                             annotations={"sliced.dev/timeout": "30d"}))
        wait_for("the DaemonSet's pod runs", lambda: any(
            name.startswith("agent-") and pod["status"].get("phase") == "Running"
            for name, pod in cluster.pods().items()))
        if put_up == POLICY:
            wait_for("who is not chosen is bound", lambda: cluster.plane.get(far)["spec"].get(
                "nodeName"))
            assert set(rows(daemon)) == set(big)
        else:  # the webhook may just not have answered
            wait_state(daemon, "far", "Held")
            assert set(rows(daemon)) == {"far", *big}
        for name, pod in cluster.pods().items():
            released = "sliced.dev/released" in pod["metadata"].get("annotations", {})
            assert gates_of(pod) == ([GATE] if name in big else []), name
            assert released == (name == "queued"), name
        cluster.delete_pod("placed")  # the checker wants an assignment of those that the queue let go
    finally:
        cluster.take_down_gate()
        cluster.plane.delete(far, 0)
        cluster.plane.delete("/api/v1/namespaces/elsewhere")
        cluster.plane.patch(default, {"metadata": {"labels": {"gpus": None}}})


@pytest.mark.both
def test_pods_that_name_no_scheduler_are_given_ours_where_that_is_set(cluster):
    cluster.add(gpus.whole("gpu-1"))
    cluster.start_daemon(config=cluster.gate)

    def made(pod):
        spec = cluster.plane.create(pod, dry_run=True)["spec"]
        return spec["schedulerName"], gates_of({"spec": spec})
    unnamed = gpus.pod("unnamed", {GPU: 1})
    del unnamed["spec"]["schedulerName"]
    try:
        assert made(unnamed) == ("default-scheduler", [])
        cluster.put_up_gate({"queue": {"assignScheduler": True}})
        wait_for("the policy", lambda: made(unnamed) == ("sliced-scheduler", [GATE]))
        assert made(gpus.pod("named", {GPU: 1}, "default-scheduler")) == ("sliced-scheduler", [GATE])
        assert made(gpus.pod("gated", {GPU: 1}, "default-scheduler", gates=[HOLD, GATE])) == (
            "sliced-scheduler", [HOLD, GATE])
        assert made(gpus.pod("ours", {GPU: 1})) == ("sliced-scheduler", [GATE])
        assert made(gpus.pod("third", {GPU: 1}, "volcano")) == ("volcano", [])
        assert made(gpus.pod("no-gpu", {}, "default-scheduler")) == ("default-scheduler", [])
        assert made(gpus.pod("none-of-it", {GPU: 0}, "default-scheduler")) == ("default-scheduler", [])
        assert made(gpus.pod("system", {GPU: 1}, "default-scheduler", "kube-system")) == ("default-scheduler", [])
        cluster.add(unnamed)
        pod = cluster.wait_bound("unnamed")["unnamed"]
        assert pod["metadata"]["annotations"]["sliced.dev/assignment"]
    finally:
        cluster.take_down_gate()


# ---- what the user sees ----

def test_who_waits_is_told_why_and_for_how_long(cluster, gated):
    cluster.add(gpus.whole("gpu-1", gpus=1))
    daemon = gated({"queue": {"order": "fifo", "limits": [{"resource": GPU, "maxTimeout": "1h"}]}})
    cluster.add(gpus.pod("runs", {GPU: 1}, annotations={"sliced.dev/timeout": "10m"}))
    cluster.wait_bound("runs")
    cluster.add(gpus.pod("first", {GPU: 1}, annotations={"sliced.dev/timeout": "20m"}))
    wait_state(daemon, "first", "Held")
    time.sleep(1.1)  # submission is told in whole seconds
    cluster.add(gpus.pod("second", {GPU: 1}, annotations={"sliced.dev/timeout": "5m"}),
                gpus.pod("greedy", {GPU: 1}, annotations={"sliced.dev/timeout": "2h"}))

    told = cluster.wait_event("second", f"1 pod ahead for {GPU}; it is default/first", "sliced")
    assert told["type"] == "Normal" and told["reason"] == "Waiting"
    assert "estimated start in " in told["message"], told["message"]
    told = cluster.wait_event("first", f"first for {GPU}", "sliced")
    assert "starts in " in told["message"] and "at the latest" in told["message"], told["message"]
    told = cluster.wait_event("greedy", f"its timeout, 2h, is over the limit of 1h for {GPU}", "sliced")
    assert told["type"] == "Warning" and told["reason"] == "Refused"
    assert "state a shorter activeDeadlineSeconds" in told["message"]

    found = row(daemon, "second")
    assert (found["position"], found["ahead"], found["state"]) == (2, 1, "Held")
    assert found["first"] == {"namespace": "default", "name": "first"}
    assert 20 * 60 < found["estimatedStart"]["inSeconds"] <= 30 * 60
    assert row(daemon, "greedy")["reason"] == "Limit"
    table = daemon.get("/api/v1/queue?output=table")[1].splitlines()
    assert [line.split()[2] for line in table[1:]][:2] == ["first", "second"], "\n".join(table)
    assert all(gates_of(cluster.pod(name)) == [GATE] for name in ("first", "second", "greedy"))


def test_two_hundred_that_wait_cost_the_scheduler_nothing(cluster, gated):
    cluster.add(*(gpus.whole(f"gpu-{i}") for i in range(2)))
    daemon = gated(FIFO)
    first = [f"first-{i:02}" for i in range(16)]
    cluster.add(*(gpus.pod(name, {GPU: 1}) for name in first))
    cluster.wait_bound(*first)
    wait_for("all is settled", lambda: not rows(daemon))
    before = filter_calls(daemon)
    waiting = [f"wait-{i:03}" for i in range(200)]
    cluster.add(*(gpus.pod(name, {GPU: 1}) for name in waiting))
    wait_for("all are in the queue", lambda: len(rows(daemon)) == 200)
    for _ in range(5):  # events that would have the scheduler try whom it knows
        cluster.add(gpus.node("passing", {}))
        cluster.plane.delete("/api/v1/nodes/passing")
    assert filter_calls(daemon) == before, "a pod that waits was tried"

    with History(cluster.plane) as history:
        gaps = []
        for i in range(10):
            cluster.delete_pod(first[i])
            wait_for("the next is bound", lambda: len(history.bound) == i + 1)
            gone = wait_for("the end", lambda: history.ended.get(first[i]))
            gaps.append(max(history.bound.values()) - gone)
    # one that was opened for each that ended, tried once or, if the news crossed, once more
    assert before + 10 <= filter_calls(daemon) <= before + 30
    print(f"an end to the next pod bound: median {sorted(gaps)[5] * 1000:.0f} ms, "
          f"longest {max(gaps) * 1000:.0f} ms")


# ---- who goes first ----

# Twelve jobs on two GPUs as in Table II of "GPU Scheduling for Short Tasks in Private Cloud": gaps of 25 s
# on average, run times log-uniform in 10-1000 s, stated as timeouts. Played in compressed time, 40 ms for
# a second. (Of the queues that a seed gives one in which no two events are close calls in any order.)
SCALE = 0.04
SUBMITTED = range(12)  # real seconds: Kubernetes tells submissions in whole ones
RUNS = (13, 282, 318, 118, 205, 76, 15, 14, 93, 67, 24, 35)
# P = -T - t in seconds of the paper: one of ours is as many of its
ORDERS = {"fifo": {}, "sjf": {}, "p": {"gamma": 1 / SCALE}}
SLICESIM = os.environ.get("SLICESIM_BIN") or os.path.join(
    os.path.dirname(os.path.dirname(BIN)), "sim", "slicesim")


def simulate(folder, order, jobs):
    """(order of starts, mean response) of {name: (submit, duration, timeout)}, as slicesim has it."""
    trace, decisions = folder / "jobs.csv", folder / "decisions.csv"
    trace.write_text("name,submit,duration,timeout\n" + "".join(
        f"{name},{submit:.3f},{duration:.3f},{timeout}\n"
        for name, (submit, duration, timeout) in jobs.items()))
    policy = order + "".join(f":{key}={value:g}" for key, value in ORDERS[order].items())
    done = subprocess.run(
        [SLICESIM, "run", "--trace", f"csv:{trace}", "--gpus", "2", "--policy", policy, "--quiet",
         "--decisions", decisions, "-o", "json"], capture_output=True, text=True, check=True)
    with open(decisions, encoding="utf-8", newline="") as file:
        starts = [each["pod"].removeprefix("default/") for each in csv.DictReader(file)]
    return starts, json.loads(done.stdout)["runs"][0]["response"]["mean"]


def play(cluster, history):
    """Submits the twelve, each in a second of its own, and waits until they have run."""
    names = [f"job-{i:02}" for i in range(len(RUNS))]
    begin = int(time.time()) + 1
    for name, submit, seconds in zip(names, SUBMITTED, RUNS):
        time.sleep(max(0, begin + submit - time.time()))
        made = cluster.add(gpus.pod(name, {GPU: 1}, runs=f"{seconds * SCALE:.3f}s",
                                    annotations={"sliced.dev/timeout": f"{seconds}s"}))[0]
        begin = max(begin, int(epoch(made["metadata"]["creationTimestamp"])) - submit)
    wait_for("all have run", lambda: set(history.ended) >= set(names), 120)


def as_measured(history, early):
    """What the simulator has to be told so that its GPUs are free when the real ones were: a job takes
    its GPU from the moment at which it could, until it was seen over. All come that much early, as
    the daemon decides a blink after an end and knows by then of who came meanwhile."""
    begin = min(history.made.values()) - 1
    free = [begin, begin]
    jobs = {}
    for name in history.starts():
        free.sort()
        made = history.made[name] - early
        start = max(free[0], made)
        free[0] = history.ended[name]
        jobs[name] = (made - begin, history.ended[name] - start, RUNS[int(name[-2:])])
    return dict(sorted(jobs.items()))


def replayed(starts):
    """The mean response had all started in that order and run for as long as they say: what a stall of the
    machine adds to a run speaks for no order."""
    free, total = [0.0, 0.0], 0.0
    for i in (int(name[-2:]) for name in starts):
        free.sort()
        free[0] = max(free[0], SUBMITTED[i]) + RUNS[i] * SCALE
        total += free[0] - SUBMITTED[i]
    return total / len(starts)


def others_first(history, order):
    """Pairs of which the second was bound first. Where both GPUs are free at once two pods are released
    side by side, and either may be bound a blink before the other."""
    return [(first, second) for i, first in enumerate(order) for second in order[i + 1:]
            if history.bound[first] > history.bound[second] + 0.3]


def test_the_papers_queue_starts_in_the_order_that_the_simulator_says(cluster, gated, tmp_path):
    cluster.add(gpus.whole("gpu-1", gpus=2))
    daemon = gated()
    nominal = {f"job-{i:02}": (submit, seconds * SCALE, seconds)
               for i, (submit, seconds) in enumerate(zip(SUBMITTED, RUNS))}
    measured, replays, told = {}, {}, {}
    for order, gate in (("fifo", True), ("sjf", True), ("p", True), ("sjf", False)):
        config = merge(daemon.config, {"queue": {"order": order, **ORDERS[order],
                                                 **({} if gate else {"gate": "none"})}})
        daemon.write_config(config)
        daemon.reload()
        wait_for("the order", lambda: daemon.json("/api/v1/queue")["order"] == order)
        if not gate:
            cluster.take_down_gate()
            wait_for("no gate", lambda: not gates_of(
                cluster.plane.create(gpus.pod("probe", {GPU: 1}), dry_run=True)))
        with History(cluster.plane) as history:
            play(cluster, history)
        assert not gate or all("sliced.dev/released" in pod["metadata"]["annotations"]
                               for pod in cluster.pods().values())
        orders = [simulate(tmp_path, order, as_measured(history, early))[0]
                  for early in (0, 0.05, 0.15, 0.3, 0.6, 1)]
        assert any(not others_first(history, each) for each in orders), (
            f"{order}: {history.starts()} is none of {orders}")
        measured[order, gate] = sum(history.ended[name] - made
                                    for name, made in history.made.items()) / len(RUNS)
        replays[order, gate] = replayed(history.starts())
        told[order] = simulate(tmp_path, order, nominal)[1]
        cluster.plane.delete("/api/v1/namespaces/default/pods", 0)
        wait_for("no pods left", lambda: not cluster.list("Pod"))
    for (order, gate), mean in measured.items():
        print(f"{order}, {'gated' if gate else 'not gated'}: mean response {mean / SCALE:.0f} s of the "
              f"paper's, {mean / measured['fifo', True]:.2f} of fifo's; simulated "
              f"{told[order] / told['fifo']:.2f}")
    assert replays["sjf", True] < replays["p", True] < replays["fifo", True]


def test_a_long_pod_in_a_stream_of_short_ones_starts_by_its_bound(cluster, gated):
    """One GPU, and a new short pod for each that ends: shortest first would let the long one wait for
    ever."""
    cluster.add(gpus.whole("gpu-1", gpus=1))
    daemon = gated({"queue": {"order": "bounded"}})

    def short(number):
        return gpus.pod(f"short-{number:02}", {GPU: 1}, runs="700ms",
                        annotations={"sliced.dev/timeout": "2s"})
    bound = stalled = 0
    ahead, ran = [], None

    def look(number):
        """Keeps the stream going until the long pod starts; notes what it was promised, who waited with it, who had
        a node when the bound passed, and for how long the machine stood still."""
        nonlocal bound, stalled, ahead, ran
        last = time.monotonic()
        while "long" not in history.bound and len(history.ended) < number - 4:
            there = rows(daemon)
            if there.get("long") and there["long"]["latestStart"]:
                bound = epoch(there["long"]["latestStart"])
                ahead = [name for name in there if name.startswith("short-")]
            if ran is None and 0 < bound < time.time():
                ran = {name for name, pod in cluster.pods().items() if pod["spec"].get("nodeName")}
            time.sleep(0.05)
            stalled += max(0, time.monotonic() - last - 0.5)
            last = time.monotonic()
        return "long" not in history.bound
    with History(cluster.plane) as history:
        cluster.add(*(short(number) for number in range(5)),
                    gpus.pod("long", {GPU: 1}, runs="2s", annotations={"sliced.dev/timeout": "8s"}))
        number = 5
        while look(number):
            assert number < 60, "the long pod starves"
            cluster.add(short(number))
            number += 1
        started = history.bound["long"]
        before = {name for name, at in history.bound.items() if at < started}
    assert bound > 0, "no bound was ever told"
    # whoever was nominated by then may be bound a moment later, and runs on: then the long one is next
    assert ran is None or len(before - ran) <= 1, f"{before - ran} went ahead of it after its bound"
    # That takes 2 s, and until an end and two bindings are known. 10 s, because a busy machine is late by a little in
    # each process on the way, which stalled does not count: it is the GPU left to nobody that this finds.
    assert started <= bound + 10 + stalled, f"{started - bound:.1f} s after its bound"
    assert ahead, "there was no stream left to starve in"
    print(f"after {number} short pods, {bound - started:.1f} s before the latest start it was promised, "
          f"ahead of {len(ahead)} short ones")


def epoch(text):
    """RFC 3339 in UTC to seconds."""
    whole, _, rest = text.rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float(f"0.{rest or 0}")


@pytest.mark.both
def test_a_pod_that_never_comes_for_its_gpu_blocks_nobody_for_long(cluster, gated):
    hold = 3
    cluster.add(gpus.whole("gpu-1", gpus=1))
    daemon = gated({"queue": {"order": "fifo", "holdSeconds": hold}})
    lonely = gpus.pod("lonely", {GPU: 1})
    lonely["spec"]["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"app": "nobody"}}, "topologyKey": "kubernetes.io/hostname"}]}}
    huge = gpus.pod("huge", {GPU: 1})
    huge["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1000"
    with History(cluster.plane) as history:
        cluster.add(huge, lonely)
        wait_state(daemon, "lonely", "Nominated")
        begin = time.time()
        cluster.add(gpus.pod("next", {GPU: 1}))
        cluster.wait_bound("next")
        bound = wait_for("it is seen", lambda: history.bound.get("next"))
        assert bound - begin < hold + 20, "a hold of 30 s, the default, would do as well"
    cluster.wait_event("lonely", "kube-scheduler did not place it there", "sliced")
    assert row(daemon, "lonely")["expiries"] >= 1
    assert row(daemon, "huge")["expiries"] == 0, "no node has the CPU, which the plan knows"
    # and it is not forgotten: when what it waits for comes, so does its turn
    cluster.delete_pod("next")
    friend = gpus.pod("friend", {"memory": "1Mi"})
    friend["metadata"]["labels"] = {"app": "nobody"}
    cluster.add(friend)
    cluster.wait_bound("friend", "lonely")


@pytest.mark.both
def test_who_matters_more_preempts_from_behind_its_gate(cluster, gated):
    cluster.add(priority_class("low", 10), priority_class("high", 1000))
    cluster.add(gpus.whole("gpu-1", gpus=2), gpus.whole("gpu-2", gpus=2))
    daemon = gated()
    low = [f"low-{i}" for i in range(4)]
    cluster.add(*(gpus.pod(name, {GPU: 1}, priority="low") for name in low))
    cluster.wait_bound(*low)
    cluster.add(gpus.pod("more-low", {GPU: 1}, priority="low"))
    wait_state(daemon, "more-low", "Held")
    cluster.add(gpus.pod("vip", {GPU: 2}, priority="high"))
    pods = cluster.wait_bound("vip")
    assert daemon.metric("sliced_http_requests_total", verb="preempt") >= 1
    assert sum(name not in pods for name in low) >= 2
    if sum(name not in cluster.pods() for name in low) == 2:  # kube-scheduler may preempt once more
        assert gates_of(cluster.pod("more-low")) == [GATE], "who cannot preempt has nothing to try"


# ---- what goes wrong ----

@pytest.mark.both
def test_nobody_is_blamed_while_the_scheduler_is_away(cluster, gated):
    hold = 8
    cluster.add(*(gpus.whole(f"gpu-{i}", gpus=2) for i in range(2)))
    daemon = gated({"queue": {"order": "fifo", "holdSeconds": hold}})
    cluster.add(gpus.pod("before", {GPU: 1}))
    cluster.wait_bound("before")
    cluster.delete_pod("before")
    cluster.plane.stop_scheduler()
    names = [f"pod-{i}" for i in range(7)]
    try:
        for name in names[:4]:
            cluster.add(gpus.pod(name, {GPU: 1}))
            wait_state(daemon, name, "Nominated")
        time.sleep(1.1)  # submission is told in whole seconds
        cluster.add(gpus.pod(names[4], {GPU: 2}))
        time.sleep(1.1)  # those behind may not take one GPU of each node
        cluster.add(*(gpus.pod(name, {GPU: 1}) for name in names[5:]))
        time.sleep(3 * hold)
        found = rows(daemon)
        assert all(found[name]["state"] == "Nominated" for name in names[:4]), found
        assert all(found[name]["state"] == "Held" for name in names[4:]), found
        text = found[names[0]]["text"]
        assert "kube-scheduler has not been heard from for " in text, text
        assert daemon.metric("sliced_queue_scheduler_silent_seconds") >= 2 * hold
        assert daemon.log_count(
            "kube-scheduler has not been heard from: nominations are held until it is") == 1
    finally:
        begin = time.time()
        cluster.start_scheduler()
    cluster.wait_bound(*names[:4])
    print(f"all bound {time.time() - begin:.1f} s after the scheduler was started")
    assert daemon.metric("sliced_queue_nominations_ended_total", outcome="expired") == 0
    assert daemon.metric("sliced_queue_scheduler_silent_seconds") == 0
    for name in names[:4]:
        cluster.delete_pod(name)
    cluster.wait_bound(*names[4:])
    assert daemon.metric("sliced_queue_nominations_ended_total", outcome="expired") == 0


OPENS = "has(oldObject.spec.schedulingGates) && !has(object.spec.schedulingGates)"
BROKEN = {"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "away"}}
DENIED = [{"kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "keep-shut"}},
          {"kind": "ValidatingAdmissionPolicy", "metadata": {"name": "keep-shut"}}]


def break_opening(cluster):
    """Whoever takes the last gate off a pod gets no better answer than 500."""
    cluster.add(BROKEN | {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "webhooks": [{
            "name": "away.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "failurePolicy": "Fail", "clientConfig": {"url": "https://127.0.0.1:1/"},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"],
                       "operations": ["UPDATE"]}],
            "matchConditions": [{"name": "opens", "expression": OPENS}]}]})


def refuse_opening(cluster):
    """Nobody may take the last gate off a pod whose name begins with "denied"."""
    cluster.add({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "keep-shut"},
        "spec": {"failurePolicy": "Fail",
                 "matchConstraints": {"resourceRules": [{
                     "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"],
                     "operations": ["UPDATE"]}]},
                 "validations": [{"message": "kept shut by a test", "expression":
                                  "!object.metadata.name.startsWith('denied') || "
                                  f"!({OPENS})"}]}},
                {"apiVersion": "admissionregistration.k8s.io/v1",
                 "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "keep-shut"},
                 "spec": {"policyName": "keep-shut", "validationActions": ["Deny"]}})


def allow_opening(cluster):
    for each in [*DENIED, BROKEN]:
        try:
            cluster.plane.delete(object_path(each))
        except ApiError as error:
            assert error.code == 404


def wait_shut(cluster, probe, shut=True):
    """Until the API server keeps to what it was just told of openings."""
    opened = {"spec": {"schedulingGates": None}}
    wait_for("gates stay shut" if shut else "gates may be opened", lambda: shut == refused(
        lambda: cluster.plane.patch(object_path(probe | {"kind": "Pod"}) + "?dryRun=All", opened)))


@pytest.mark.both
def test_pods_whose_gate_may_not_be_opened_keep_nobody_waiting(cluster, gated):
    cluster.add(gpus.whole("gpu-1", gpus=2))
    daemon = gated(FIFO)
    probe = cluster.add(gpus.pod("denied-probe", {GPU: 1}, gates=[HOLD]))[0]
    denied = [f"denied-{i}" for i in range(4)]
    try:
        refuse_opening(cluster)
        wait_shut(cluster, probe)
        cluster.add(*(gpus.pod(name, {GPU: 1}) for name in denied))
        for name in denied:
            told = cluster.wait_event(name, "the API server refused to open its gate: ", "sliced")
            assert told["type"] == "Warning" and told["reason"] == "ReleaseRefused"
            assert "kept shut by a test" in told["message"]
        slowest = 0
        for i in range(3):
            begin = time.time()
            cluster.add(gpus.pod(f"other-{i}", {GPU: 2}, runs="200ms"))
            cluster.wait_bound(f"other-{i}")
            slowest = max(slowest, time.time() - begin)
        for name in denied:
            assert "kube-scheduler did not place it" not in cluster.why(name)
            assert gates_of(cluster.pod(name)) == [GATE]
        assert "nominatedNodeName" not in cluster.pod("denied-0")["status"]
        assert daemon.metric("sliced_queue_releases_total", outcome="refused") >= 4
        assert daemon.metric("sliced_queue_releases_total", outcome="failed") == 0
        # a hold is 30 s, and it is the first word of a pause of the releases that was as long
        assert slowest < 28, f"a pod waited {slowest:.1f} s for devices that were free"
        print(f"slowest of the others to be bound: {slowest:.2f} s")
    finally:
        allow_opening(cluster)
    wait_shut(cluster, probe, False)
    for name in denied:  # what is changed about a pod ends its time-out
        cluster.annotate(name, **{"sliced.dev/timeout": "5m"})
    wait_for("two are bound", lambda: sum(
        "nodeName" in pod["spec"] for name, pod in cluster.pods().items() if name in denied) == 2)
    cluster.delete_pod("denied-probe")


def test_a_standby_says_who_leads_and_shows_no_empty_queue(cluster, gated):
    cluster.add(gpus.whole("gpu-1", gpus=1))
    leader = gated(SHORT_LEASE)
    standby = cluster.new_daemon(config=merge(cluster.gate, SHORT_LEASE)).launch().wait_up()
    cluster.add(gpus.pod("runs", {GPU: 1}))
    cluster.wait_bound("runs")
    cluster.add(gpus.pod("waits", {GPU: 1}))
    wait_state(leader, "waits", "Held")
    paths = ("/api/v1/queue", "/api/v1/pods/default/waits/explain")
    for path in paths:
        # before it has read the lease it says that nobody leads
        wait_for("the standby knows the pod, and who leads", lambda: "another replica leads, " in standby.get(path)[1])
        assert standby.get(path)[0] == 503
    assert standby.json("/api/v1/pods/default/runs/explain")["state"]
    leader.stop()
    standby.wait_ready()
    wait_for("its first plan", lambda: rows(standby)["waits"])
    assert all(standby.get(path)[0] == 200 for path in paths)


@pytest.mark.both
def test_killed_between_the_nomination_and_the_opening(cluster, gated):
    cluster.add(gpus.whole("gpu-1", gpus=1))
    daemon = gated({"leaderElection": {"enabled": False}, "queue": {"nominateFrom": 0}})
    probe = cluster.add(gpus.pod("probe", {GPU: 1}, gates=[HOLD]))[0]
    assert gates_of(probe) == [HOLD, GATE]
    try:
        break_opening(cluster)
        wait_shut(cluster, probe)
        cluster.add(gpus.pod("next", {GPU: 1}))
        wait_for("the nomination", lambda: cluster.pod("next")["status"].get("nominatedNodeName"))
        daemon.kill()
        assert gates_of(cluster.pod("next")) == [GATE]
    finally:
        allow_opening(cluster)
    daemon.start()
    cluster.wait_bound("next")
    assert cluster.wrong() == []
    cluster.delete_pod("probe")


def refused(call):
    try:
        call()
    except ApiError as error:
        return error.code in (403, 422, 500)
    return False


@pytest.mark.both
def test_killed_between_the_opening_and_the_binding(cluster, gated):
    cluster.add(gpus.whole("gpu-1", gpus=2))
    daemon = gated({"leaderElection": {"enabled": False}, **FIFO})
    cluster.plane.stop_scheduler()
    try:
        names = [f"pod-{i}" for i in range(3)]
        for name in names:
            cluster.add(gpus.pod(name, {GPU: 1}))
            time.sleep(1.1)
        wait_for("two are open", lambda: [gates_of(cluster.pod(each)) for each in names]
                 == [[], [], [GATE]])
        # a cluster this small needs no name on the pod: what is set aside is in the ledger alone
        assert all("nominatedNodeName" not in cluster.pod(each)["status"] for each in names)
        daemon.kill()
        daemon.start()
        wait_state(daemon, "pod-1", "Nominated")
        time.sleep(1)
        assert gates_of(cluster.pod("pod-2")) == [GATE], "what was set aside was forgotten"
    finally:
        cluster.start_scheduler()
    cluster.wait_bound("pod-0", "pod-1")
    assert cluster.wrong() == []
    cluster.delete_pod("pod-0")
    cluster.wait_bound("pod-2")


@pytest.mark.both
def test_killed_at_any_moment_while_pods_come_and_go(cluster, gated):
    """Nothing is lost, nothing is given twice, nobody starts twice."""
    choose = random.Random(20261121)
    cluster.add(*(gpus.whole(f"gpu-{i}", gpus=2) for i in range(2)))
    daemon = gated({"leaderElection": {"enabled": False}})
    names = [f"pod-{i:02}" for i in range(40)]
    with History(cluster.plane) as history:
        for i, name in enumerate(names):
            cluster.add(gpus.pod(name, {GPU: choose.choice([1, 1, 1, 2])},
                                 runs=f"{choose.randrange(200, 900)}ms",
                                 annotations={"sliced.dev/timeout": f"{choose.randrange(30, 90)}s"}))
            if i % 8 == 7:
                time.sleep(choose.uniform(0, 1.0))
                daemon.kill()
                assert cluster.wrong() == []
                daemon.start()
        def over():
            left = sorted(set(names) - set(history.ended))
            assert not left, [(name, cluster.pod(name)["spec"].get("nodeName"), rows(daemon).get(name))
                              for name in left]
            return True
        wait_for("all have run", over, 90)
    assert cluster.wrong() == []
    assert all(len(history.uids[name]) == 1 for name in names)
    assert all(pod["status"]["phase"] == "Succeeded" for pod in cluster.pods().values())
    wait_for("nothing is kept", lambda: not rows(daemon) and daemon.metric(
        "sliced_pool_units", resource=GPU, state="used") == 0)


# ---- the end ----

def says_queued(pod):
    return any((each["type"], each["status"]) == ("sliced.dev/Queued", "True")
               for each in pod["status"].get("conditions", []))


def release_all(cluster):
    """sliced release --all, as the administrator; what it said."""
    done = subprocess.run([BIN, "release", "--all", "--kubeconfig", cluster.plane.kubeconfig],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.both
def test_removed_by_the_documented_steps_no_pod_is_stuck(cluster, gated):
    """docs/install.md, "Removing it", on a cluster whose own scheduler asks sliced: it goes on alone."""
    cluster.add(gpus.whole("gpu-1", gpus=2))
    daemon = gated(FIFO)
    cluster.add(gpus.pod("runs", {GPU: 1}))
    cluster.wait_bound("runs")
    names = [f"pod-{i}" for i in range(4)]
    cluster.add(*(gpus.pod(name, {GPU: 2}) for name in names),
                gpus.pod("held", {GPU: 1}, gates=[HOLD]))
    for name in names:
        wait_state(daemon, name, "Held")
    wait_for("their conditions", lambda: all(says_queued(cluster.pod(name)) for name in names))
    try:
        cluster.take_down_gate()
        wait_for("no more gates", lambda: not gates_of(
            cluster.plane.create(gpus.pod("probe", {GPU: 1}), dry_run=True)))
        daemon.stop()  # it may have stopped before: the steps do without it
        said = release_all(cluster)
        assert said.rstrip().splitlines()[-1].endswith(" 5 gates opened"), said
        assert release_all(cluster).rstrip().endswith(" 0 gates opened")
        pods = cluster.pods()
        assert all(gates_of(pods[name]) == [] and not says_queued(pods[name]) for name in names)
        assert gates_of(pods["held"]) == [HOLD], "another's gate is not ours to open"

        cluster.plane.stop_scheduler()
        cluster.plane.start_scheduler({"profiles": [{"schedulerName": "sliced-scheduler"}]})
        cluster.delete_pod("runs")
        for _ in names:  # two GPUs for one at a time
            placed = wait_for("the next is placed", lambda: [
                name for name, pod in cluster.pods().items() if pod["spec"].get("nodeName")])
            assert len(placed) == 1
            cluster.delete_pod(placed[0])
            wait_for("it is gone", lambda: placed[0] not in cluster.pods())
        assert set(cluster.pods()) == {"held"}
    finally:
        cluster.plane.stop_scheduler()
        cluster.start_scheduler()


# ---- what is usual ----

def test_what_is_usual_for_an_owner_is_said_and_decides_nothing(cluster, gated):
    """A Job of that name has run before, thrice and shortly; its pods and those behind them are told so."""
    cluster.add(gpus.node("n1", {GPU: 1}, gpus.gpu_labels("Tesla-T4", 1, 15360)))
    daemon = gated(merge(FIFO, {"queue": {"learnRuntime": True}}))
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    short = gpus.job("usual", {GPU: 1}, runs="3s")
    short["spec"].update({"completions": 3, "parallelism": 1})
    cluster.add(short)
    wait_for("three have run", lambda: cluster.plane.get(f"{jobs}/usual").get("status", {}).get("succeeded") == 3, 90)
    cluster.plane.delete(f"{jobs}/usual", 0, "Background")
    wait_for("they are gone", lambda: not cluster.pods())
    longer = gpus.job("usual", {GPU: 1})  # runs on
    longer["spec"].update({"completions": 2, "parallelism": 2})
    cluster.add(longer)
    wait_for("one runs", lambda: any(pod["status"].get("phase") == "Running" for pod in cluster.pods().values()))
    cluster.add(gpus.pod("behind", {GPU: 1}))

    def told():
        found = {name.split("-")[0]: each for name, each in rows(daemon).items()}
        assert set(found) == {"usual", "behind"}, found.keys()
        assert 2 <= found["usual"]["usualRuntimeSeconds"] <= 30, found["usual"]
        assert "; usually ends after " in found["usual"]["text"], found["usual"]["text"]
        assert found["behind"]["usualRuntimeSeconds"] is None
        assert " if pods run as long as usual" in found["behind"]["text"], found["behind"]["text"]
        start = found["behind"]["estimatedStart"]
        assert start["inSeconds"] > 2 * 86400 and start["usuallyAt"] < start["at"], start
        return True
    wait_for("what is usual is said", told)
    time.sleep(3)
    assert not cluster.pod("behind")["spec"].get("nodeName")
