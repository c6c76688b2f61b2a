"""The page at night: what an operator is shown while kube-scheduler is away, a policy keeps gates shut, and the leader
changes."""

import os
import sys

import pytest

from harness import gpus
from harness.api import collection_path
from harness.process import wait_for
from harness.sliced import SHORT_LEASE, merge
from test_queue import FIFO, GPU, HOLD, allow_opening, refuse_opening, row, rows, wait_shut
from test_stages import OVER, wait_text

# last: files of that folder have names like those of this one
sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "integration"))
from browser import Browser  # noqa: E402


@pytest.fixture(name="browser")
def a_browser():
    browser = Browser()
    yield browser
    browser.close()


def opened(browser, daemon, view):
    browser.open("about:blank")
    browser.open(f"http://127.0.0.1:{daemon.api_port}/ui/#{view}")


def row_of(browser, what):
    """How the health view says that it is: "! look: silent for 5s"."""
    return browser.run("""const row = [...document.querySelectorAll('#how tr')].find(r => r.cells[0].textContent === arguments[0]);
        return row ? row.cells[1].textContent + ': ' + row.cells[2].textContent : ''""", what)


def wait_row(browser, what, begin):
    return wait_for(f"{what} is '{begin}'", lambda: row_of(browser, what).startswith(begin), 120)


def test_an_operator_sees_what_is_wrong(cluster, gated, browser):
    cluster.add(gpus.whole("gpu-1", gpus=2))
    config = merge(merge(FIFO, SHORT_LEASE), {"queue": {"holdSeconds": 4}})
    leader = gated(config)
    standby = cluster.new_daemon(config=merge(cluster.gate, config)).launch().wait_up()
    identity = leader.state()["leader"]["identity"]

    opened(browser, leader, "state")
    wait_row(browser, "Leader", f"✓ good: this replica, {identity}")
    for what in ("Ready", "News of nodes", "News of pods", "kube-scheduler"):
        wait_row(browser, what, "✓ good: ")
    age = leader.state()["watch"]["pods"]
    assert age["synced"] and age["lastNewsAt"] is not None

    # kube-scheduler goes away
    cluster.plane.stop_scheduler()
    try:
        cluster.add(gpus.pod("left", {GPU: 1}))
        wait_row(browser, "kube-scheduler", "! look: silent for ")
        assert leader.state()["queue"]["schedulerSilentSeconds"] > 0
        wait_for("the head line says it", lambda: "kube-scheduler" in (browser.run(
            "return document.querySelector('#health button')?.title") or ""))
    finally:
        cluster.start_scheduler()
    cluster.wait_bound("left")
    wait_row(browser, "kube-scheduler", "✓ good: ")

    # a policy keeps gates shut, and says so in words of its author
    probe = cluster.add(gpus.pod("denied-probe", {GPU: 1}, gates=[HOLD]))[0]
    try:
        refuse_opening(cluster)
        wait_shut(cluster, probe)
        cluster.add(gpus.pod("denied-0", {GPU: 1}))
        tried = wait_for("it is tried", lambda: leader.json(
            "/api/v1/pods/default/denied-0/explain")["queue"]["tried"])[0]
        assert (tried["outcome"], tried["node"]) == ("ReleaseRefused", "gpu-1")
        assert "kept shut by a test" in tried["why"]
        opened(browser, leader, "queue")
        browser.until("return document.querySelector('#rows tr[data-pod=\"default/denied-0\"]')")
        browser.click("#rows tr[data-pod='default/denied-0']")
        browser.until("return document.querySelector('#detail').innerText.includes('ReleaseRefused')")
        assert "kept shut by a test" in browser.text("#detail")
    finally:
        allow_opening(cluster)
    wait_shut(cluster, probe, False)
    cluster.delete_pod("denied-probe")

    # a standby knows the cluster and who leads, and says that it does not plan
    opened(browser, standby, "state")
    other = standby.state()["leader"]["identity"]
    wait_row(browser, "Leader", f"✓ good: {identity} leads; this one, {other}, stands by")
    wait_row(browser, "Ready", ": no: another replica leads")
    told = browser.text("#health")
    assert told.startswith("stands by\n") and identity in told and "to look at" not in told, told
    wait_row(browser, "News of pods", "✓ good: ")
    assert row_of(browser, "Plans") == ": made by the leader"
    leader.kill()
    wait_row(browser, "Leader", f"✓ good: this replica, {other}")
    wait_row(browser, "Ready", "✓ good: ")


HOSTILE = """python -c 'print("a: b")' # $(date) $$ {x} ü
--- |
kind: Pod"""


def test_what_a_student_put_together_is_applied_as_it_stands(cluster, gated, browser):
    cluster.add(gpus.whole("gpu-1", gpus=2))
    daemon = gated(FIFO)
    opened(browser, daemon, "ask")
    browser.until("return document.querySelector('#ask [name=resource]').value === arguments[0]", GPU)
    browser.until("return document.querySelector('#ask [name=scheduler]').value")
    browser.run("""const type = (i, fields) => { const set = document.querySelectorAll('#stages fieldset')[i];
        Object.entries(fields).forEach(([name, value]) => { set.elements[name].value = value; });
        set.dispatchEvent(new Event('input', { bubbles: true })); };
        type(0, { name: 'prepare', image: 'registry.example/course:7', command: arguments[0], count: 2, timeout: '30m', retries: 1 });
        document.querySelector('[data-act=add]').click();
        type(1, { name: 'train', count: 1, timeout: '1h30m' });""", HOSTILE)
    browser.click("#ask form > button:last-child")
    browser.until("return document.querySelector('#answer').innerText.startsWith('prepare would start now')")
    manifest = browser.run("return document.querySelector('#manifest').textContent")
    assert manifest.count('schedulerName: "sliced-scheduler"') == 2, "as the daemon's configuration says"
    assert cluster.list("Job") == [] and rows(daemon) == {}, "nothing was created by asking"

    said = cluster.plane.kubectl("apply", "-f", "-", text=manifest)
    assert said.splitlines() == ["job.batch/prepare created", "job.batch/train created"]
    job = cluster.plane.get(f"{collection_path('Job')}/prepare")
    container, = job["spec"]["template"]["spec"]["containers"]
    assert (job["spec"]["backoffLimit"], container["image"]) == (1, "registry.example/course:7")
    assert container["command"][2].replace("$$", "$") == HOSTILE, "as Kubernetes expands it"

    def pod_of(name):
        return wait_for(f"the pod of {name}", lambda: next(pod for pod in cluster.pods() if pod.startswith(f"{name}-")))
    first, second = pod_of("prepare"), pod_of("train")
    cluster.wait_bound(first)
    wait_text(daemon, second, "it waits for job/prepare (running)")
    assert row(daemon, second)["state"] == "Staged"
    assert cluster.pod(first)["metadata"]["annotations"]["sliced.dev/timeout"] == "30m"
    cluster.annotate(first, **OVER)
    cluster.wait_bound(second)
    cluster.annotate(second, **OVER)
