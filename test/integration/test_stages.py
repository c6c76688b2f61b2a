"""Stages on an embedded cluster: pods that wait for others of the store."""
import pytest

from sliced_daemon import EXAMPLES, eventually, pod_of

MIG = "nvidia.com/mig-1g.6gb"
AFTER = "sliced.dev/after"


@pytest.fixture
def daemon(start):
    return start(EXAMPLES / "a30-mixed.yaml", config="queue:\n  enabled: true\n  order: fifo\n")


def add(daemon, name, after=None, **labels):
    pod = pod_of(name, {MIG: 1}, labels=labels,
                 annotations={} if after is None else {AFTER: after})
    pod["metadata"]["uid"] = daemon.add(pod)["uid"]
    return pod


def row(daemon, name):
    return next(each for each in daemon.get("/api/v1/queue").json["items"] if each["name"] == name)


def wait_text(daemon, name, text):
    eventually(lambda: row(daemon, name)["text"] == text)


def bind(daemon, pod):
    node = row(daemon, pod["metadata"]["name"])["nomination"]["node"]
    assert daemon.bind(pod, node) == ""


def test_a_pod_waits_until_those_before_it_have_run(daemon):
    waits = add(daemon, "waits", "one, (stage=first)")
    wait_text(daemon, "waits",
              "held: it waits for pod/one (not there), pods (stage=first) (none is there)")
    assert daemon.filter(waits, ["gpu-a30-1"])["NodeNames"] == []
    one, two = add(daemon, "one"), add(daemon, "two", stage="first")
    wait_text(daemon, "waits",
              "held: it waits for pod/one (pending), pods (stage=first) (0 of 1 have succeeded)")
    bind(daemon, one)
    bind(daemon, two)
    wait_text(daemon, "waits",
              "held: it waits for pod/one (running), pods (stage=first) (0 of 1 have succeeded)")
    assert daemon.end(one).status == 200
    assert daemon.end(two).status == 200
    eventually(lambda: row(daemon, "waits")["state"] == "Nominated")
    bind(daemon, waits)


def test_what_goes_before_it_ran_has_not_succeeded(daemon):
    add(daemon, "waits", "one")
    one = add(daemon, "one")
    wait_text(daemon, "waits", "held: it waits for pod/one (pending)")
    assert daemon.end(one).status == 200
    wait_text(daemon, "waits", "held: it waits for pod/one (not there)")


def test_cycles_and_texts_that_say_nothing_are_refused(daemon):
    add(daemon, "hen", "egg")
    add(daemon, "egg", "hen")
    add(daemon, "odd", "deployment/x")
    for name, reason, text in (
            ("hen", "StageCycle", "form a cycle: pod/egg after pod/hen after pod/egg"),
            ("egg", "StageCycle", "form a cycle: pod/egg after pod/hen after pod/egg"),
            ("odd", "StageFailed", 'refused: annotation sliced.dev/after: "deployment/x": neither')):
        eventually(lambda name=name: row(daemon, name)["state"] == "Refused")
        found = row(daemon, name)
        assert found["reason"] == reason and text in found["text"], found
    assert daemon.metric('sliced_stages_waiting_pods') == 3
