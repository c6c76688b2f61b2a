"""Stages: pods that wait for others, by sliced.dev/after, on a real control plane."""

import calendar
import time

from harness import gpus
from harness.api import collection_path
from harness.process import wait_for
from test_queue import FIFO, GPU, row, rows, wait_state

AFTER = "sliced.dev/after"
OVER = {"sliced.dev/e2e-runs": "0s"}  # a pod that is told so has run for long enough


def unix(text):
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


def labelled(manifest, **labels):
    manifest["metadata"]["labels"] = labels
    return manifest


def wait_text(daemon, name, text, timeout=60):
    def there():
        found = row(daemon, name)["text"]
        assert text in found, found
        return found
    return wait_for(f"{name}: {text}", there, timeout)


def test_a_pipeline_of_three_stages_runs_in_order(cluster, gated):
    cluster.add(gpus.whole("gpu-1", gpus=4))
    daemon = gated(FIFO)
    prepare = gpus.job("prepare", {})
    # gone as soon as it is complete: that it was is remembered
    prepare["spec"]["ttlSecondsAfterFinished"] = 0
    train = gpus.job("train", {GPU: 1}, annotations={AFTER: "job/prepare"})
    evaluate = gpus.pod("evaluate", {GPU: 1}, runs="1s", annotations={AFTER: "job/train"})

    # the last first: what it waits for may come later
    cluster.add(evaluate)
    assert wait_text(daemon, "evaluate", "(not there)") == "held: it waits for job/train (not there)"
    cluster.add(train)
    wait_text(daemon, "evaluate", "job/train (running)")
    trains = wait_for("the pod of train", lambda: next(
        name for name in rows(daemon) if name.startswith("train-")))
    wait_text(daemon, trains, "job/prepare (not there)")
    cluster.add(prepare)
    wait_text(daemon, trains, "job/prepare (running)")
    told = cluster.wait_event(trains, "it waits for job/prepare", "sliced")
    assert told["reason"] == "Waiting" and told["type"] == "Normal"
    assert all(row(daemon, name)["state"] == "Staged" for name in (trains, "evaluate"))
    assert daemon.metric("sliced_stages_items") == 2

    cluster.annotate(next(name for name in cluster.pods() if name.startswith("prepare-")), **OVER)
    cluster.wait_bound(trains)
    assert row(daemon, "evaluate")["state"] == "Staged"
    cluster.annotate(trains, **OVER)
    cluster.wait_bound("evaluate")
    job = cluster.plane.get(f"{collection_path('Job')}/train")
    assert unix(job["status"]["completionTime"]) <= unix(cluster.pod("evaluate")["status"].get(
        "startTime", "2099-01-01T00:00:00Z"))
    cluster.wait_phase("evaluate", "Succeeded")
    wait_for("nobody is waited for", lambda: daemon.metric("sliced_stages_items") == 0)


def test_all_that_a_selector_matches_have_to_succeed(cluster, gated):
    cluster.add(gpus.whole("gpu-1", gpus=4))
    daemon = gated(FIFO)
    # there before anybody waits: it is read
    cluster.add(labelled(gpus.pod("one", {}, runs="1s"), stage="first"))
    cluster.wait_phase("one", "Succeeded")
    cluster.add(labelled(gpus.pod("two", {}), stage="first"),
                gpus.pod("next", {GPU: 1}, annotations={AFTER: "(stage in (first,none),!old), one"}))
    wait_text(daemon, "next", "(1 of 2 have succeeded)")
    cluster.wait_bound("two")
    cluster.annotate("two", **{"sliced.dev/e2e-runs": "1s"})
    cluster.wait_bound("next")


def test_a_failed_predecessor_and_a_cycle_are_told(cluster, gated):
    cluster.add(gpus.whole("gpu-1", gpus=4))
    daemon = gated(FIFO)
    broken = gpus.pod("broken", {}, annotations={"sliced.dev/e2e-fails": "yes"})
    cluster.add(gpus.pod("heir", {GPU: 1}, annotations={AFTER: "broken"}), broken)
    told = cluster.wait_event("heir", "pod/broken has failed", "sliced")
    assert told["type"] == "Warning" and told["reason"] == "Refused"
    assert row(daemon, "heir")["state"] == "Refused"
    assert row(daemon, "heir")["reason"] == "StageFailed"

    cluster.add(gpus.pod("hen", {GPU: 1}, annotations={AFTER: "kind=egg"}),
                labelled(gpus.pod("egg", {GPU: 1}, annotations={AFTER: "pod/hen"}), kind="egg"),
                gpus.pod("odd", {GPU: 1}, annotations={AFTER: "a,,b"}))
    for name in ("hen", "egg"):
        told = cluster.wait_event(name, "form a cycle: pod/", "sliced")
        assert told["type"] == "Warning" and told["reason"] == "Refused"
    told = cluster.wait_event("odd", 'annotation sliced.dev/after: "": ', "sliced")
    assert told["type"] == "Warning" and told["reason"] == "Refused"
    explained = daemon.json("/api/v1/pods/default/egg/explain")
    assert "form a cycle" in str(explained)
    assert not any(cluster.pod(name)["spec"].get("nodeName") for name in ("heir", "hen", "egg", "odd"))

    # mended, all of them run
    cluster.delete_pod("broken")
    wait_text(daemon, "heir", "pod/broken (not there)")
    cluster.add(gpus.pod("broken", {}, runs="1s"))
    cluster.annotate("egg", **{AFTER: None, "sliced.dev/e2e-runs": "1s"})
    cluster.annotate("odd", **{AFTER: "egg"})
    cluster.wait_bound("heir", "egg", "hen", "odd")


def test_a_new_leader_reads_what_has_happened_before(cluster, gated):
    cluster.add(gpus.whole("gpu-1", gpus=4))
    first = gated(FIFO)
    cluster.add(gpus.job("done", {}, runs="1s"), gpus.job("goes-on", {}),
                gpus.pod("waits", {GPU: 1}, annotations={AFTER: "job/done, job/goes-on"}))
    wait_text(first, "waits", "held: it waits for job/goes-on (running)")
    first.kill()
    second = cluster.start_daemon(config=FIFO)
    wait_text(second, "waits", "held: it waits for job/goes-on (running)", 120)
    wait_state(second, "waits", "Staged")
