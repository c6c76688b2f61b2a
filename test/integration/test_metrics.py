"""Names and labels of metrics, by the conventions of Prometheus (https://prometheus.io/docs/practices/naming):
of every metric that the code's tables have, and as a daemon shows them."""
import pathlib
import re
import subprocess

import pytest

from sliced_daemon import EXAMPLES, eventually, pod_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLUSTER = EXAMPLES / "a30-mixed.yaml"
MIG = "nvidia.com/mig-1g.6gb"
NODE = "gpu-a30-1"
# Labels that a scrape gives each series, and such whose values users make up without end.
FOREIGN = {"job", "instance", "namespace", "pod", "container", "node", "uid", "name", "le", "quantile"}
# Words for a whole: a label's value must not count again what other values count.
WHOLES = {"all", "total", "sum", "any", "capacity", "made", "begun", "calls", "attempts"}


def table():
    """Every metric: (name, type, {label: its values, if they are fixed}, meaning)."""
    text = (ROOT / "docs/metrics.md").read_text(encoding="utf-8")  # made from the code's tables
    for name, kind, labels, meaning in re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) \| (.*) \|$", text, re.M):
        names, _, values = labels.partition(":")
        yield name, kind, {each.strip(): set(re.findall(r"`(.*?)`", values))
                           for each in names.split(",") if each.strip()}, meaning


def test_every_metric_is_named_by_convention():
    told = list(table())
    assert len(told) > 80 and len({name for name, *_ in told}) == len(told)
    for name, kind, labels, meaning in told:
        assert re.fullmatch(r"(sliced|process)(_[a-z0-9]+)+", name), name
        assert name.endswith("_total") == (kind == "counter"), name
        assert not re.search(r"_(ms|us|ns|milliseconds|microseconds|minutes|hours|kib|mib|kb|mb|percent|permille)"
                             r"(_|$)|_(counter|gauge|histogram|count|bucket|info_total)$", name), name
        if kind == "histogram":
            assert re.search(r"_(seconds|bytes)$", name), name
        if "Unix time" in meaning:
            assert name.endswith("_timestamp_seconds"), name
        assert ("_timestamp_" in name) == name.endswith("_timestamp_seconds"), name
        assert meaning.endswith(".") and not meaning.startswith("Help"), name
        for label, values in labels.items():
            assert re.fullmatch(r"[a-z_]+", label) and not label.startswith("_"), name
            assert label not in FOREIGN, name
            assert not {each.lower() for each in values} & WHOLES, name


def test_promtool_finds_nothing_wrong(queued):
    done = subprocess.run(["promtool", "check", "metrics"], input=queued.get("/metrics").text, text=True,
                          capture_output=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def samples(daemon, name):
    """{labels as text: value} of that metric."""
    return {labels: float(value) for labels, value in re.findall(
        rf"^{name}(\{{.*\}})? (\S+)$", daemon.get("/metrics").text, re.M)}


def total(daemon, name):
    return sum(samples(daemon, name).values())


@pytest.fixture
def queued(start):
    return start(CLUSTER, config="""queue:
  enabled: true
  holdSeconds: 3600
  namespaceClasses:
  - {namespace: "team-*", class: teams}
  - {namespace: prod, class: prod}
""")


def place(daemon, pod):
    """As kube-scheduler binds a pod whose turn has come."""
    eventually(lambda: daemon.filter(pod, [NODE])["NodeNames"] == [NODE])
    assert daemon.bind(pod, NODE) == ""


def test_a_sum_counts_each_thing_once(queued):
    """What is shown of the cluster, and what happened, is the sum of the states and outcomes."""
    pods = [queued.add_pod(f"p{i}", {MIG: 3}) for i in range(5)]  # two fit at a time
    for pod in pods[:2]:
        place(queued, pod)
    eventually(lambda: total(queued, "sliced_queue_bind_seconds_count") == 2)
    queued.end(pods[0])
    eventually(lambda: len(queued.get("/api/v1/queue").json["items"]) == 3)
    eventually(lambda: total(queued, "sliced_queue_outstanding") == 1)
    assert total(queued, "sliced_pool_units") == total(queued, "sliced_pool_capacity_units") == 8
    assert samples(queued, "sliced_pool_units") == {
        f'{{resource="{MIG}",state="{state}"}}': n for state, n in (("used", 3), ("set_aside", 3), ("free", 2))}
    assert total(queued, "sliced_queue_pods") == 3
    assert total(queued, "sliced_cluster_pods") == 4
    assert total(queued, "sliced_queue_nominations_total") == 3
    eventually(lambda: total(queued, "sliced_queue_nominations_ended_total") == 2)
    assert total(queued, "sliced_queue_bind_seconds_count") == 2
    assert total(queued, "sliced_queue_wait_seconds_count") == 2
    assert total(queued, "sliced_ledger_events_total") == samples(queued, "sliced_bind_calls_total")[
        '{code="Reserved"}'] == 2


def test_waits_are_told_by_class_and_by_no_namespace(queued):
    for namespace in ("team-a", "team-b", "prod", "default"):
        place(queued, queued.add_pod("p", {MIG: 1}, namespace=namespace))
    counts = {'{class="teams"}': 2, '{class="prod"}': 1, '{class="other"}': 1}
    eventually(lambda: samples(queued, "sliced_queue_wait_seconds_count") == counts)


def test_whoever_makes_namespaces_and_names_up_makes_no_series(queued):
    """Hundreds of namespaces, each with a class in its reach, a resource and labels of its own."""
    def add(i):
        pod = pod_of(f"p-{i}", {f"nvidia.com/mig-1g.{i}gb": 1}, namespace=f"team-{i}",
                     labels={"class": f"c-{i}"}, annotations={"sliced.dev/timeout": f"{i + 1}s"})
        queued.add(pod)
    for i in range(1000, 1050):
        add(i)
    eventually(lambda: total(queued, "sliced_queue_pods") == 50)
    before = queued.get("/metrics").text.count("\n")
    for i in range(2000, 2350):
        add(i)
    eventually(lambda: total(queued, "sliced_queue_pods") == 400)
    text = queued.get("/metrics").text
    assert text.count("\n") <= before + 10  # a code or a limit that had not been met before
    assert text.count("\n") < 1500
    assert "team-" not in text and "p-1" not in text
