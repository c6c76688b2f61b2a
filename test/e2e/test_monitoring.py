"""What operators watch: the chart's objects for an operator of Prometheus, the dashboards and the alerts, on
the real daemon's metrics in a real Prometheus."""

import json
import os
import re
import subprocess

import pytest
import yaml

from harness import gpus
from harness.api import object_path
from harness.chart import CHART, NAMESPACE, ROOT, SERVICE, config_of, one
from harness.cluster import ensure_namespace
from harness.machines.hardware import A100_80
from harness.machines.machine import Machine
from harness.machines.mig_manager import NAMESPACE as OPERATOR
from harness.machines.mig_manager import MigManager
from harness.pki import Authority
from harness.process import wait_for
from harness.sliced import SHORT_LEASE, merge
from harness.telemetry import Exporter, Prometheus
from harness.values import VALUES

RULES = os.path.join(CHART, "rules.yaml")
GPU = "nvidia.com/gpu"


def dashboards():
    folder = os.path.join(CHART, "dashboards")
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            yield name, json.load(file)


# ---- what the chart makes ----

def test_the_operator_is_given_rules_dashboards_and_what_to_scrape(helm):
    objects = helm.objects(VALUES["monitored"])
    with open(RULES, encoding="utf-8") as file:
        assert one(objects, "PrometheusRule", "sliced")["spec"] == yaml.safe_load(file)
    for name, dashboard in dashboards():
        data = one(objects, "ConfigMap", f"sliced-dashboard-{name[:-5]}")["data"]
        assert json.loads(data[f"sliced-{name}"]) == dashboard
    monitor = one(objects, "PodMonitor", "sliced")
    deployment = one(objects, "Deployment", "sliced")["spec"]["template"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= deployment["metadata"]["labels"].items()
    ports = {each["name"] for each in deployment["spec"]["containers"][0]["ports"]}
    assert {each["port"] for each in monitor["spec"]["podMetricsEndpoints"]} <= ports
    for kind in ("PodMonitor", "PrometheusRule"):
        assert one(objects, kind, "sliced")["metadata"]["labels"]["release"] == "prometheus"


def test_a_service_monitor_has_a_service_of_each_replica(helm):
    objects = helm.objects(VALUES["monitored by service"])
    monitor = one(objects, "ServiceMonitor", "sliced")["spec"]
    service = one(objects, "Service", "sliced-metrics")
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert not monitor["selector"]["matchLabels"].items() <= one(
        objects, "Service", "sliced")["metadata"]["labels"].items()
    assert service["spec"]["publishNotReadyAddresses"] and service["spec"]["clusterIP"] == "None"
    assert monitor["endpoints"][0]["port"] == service["spec"]["ports"][0]["name"]


def test_prometheus_checks_the_daemon_and_the_daemon_prometheus(helm):
    objects = helm.objects(VALUES["monitored by service"])
    endpoint = one(objects, "ServiceMonitor", "sliced")["spec"]["endpoints"][0]
    pod = one(objects, "Deployment", "sliced")["spec"]["template"]["spec"]
    server = config_of(objects, "sliced")["server"]
    secrets = {each["name"]: each["secret"]["secretName"] for each in pod["volumes"] if "secret" in each}
    mounts = {each["mountPath"]: secrets.get(each["name"]) for each in pod["containers"][0]["volumeMounts"]}
    assert server["metricsTls"] and endpoint["scheme"] == "https"
    assert endpoint["tlsConfig"] == {"serverName": SERVICE, "ca": {"secret": {
        "name": mounts[os.path.dirname(server["tls"]["certFile"])], "key": "ca.crt"}}}
    folder, key = os.path.split(server["metricsTokenFile"])
    assert endpoint["authorization"]["credentials"] == {"name": mounts[folder], "key": key}


def test_prometheus_shows_a_certificate_of_which_the_daemon_knows_the_authority(helm):
    objects = helm.objects(VALUES["monitored by certificate"])
    endpoint = one(objects, "PodMonitor", "sliced")["spec"]["podMetricsEndpoints"][0]
    server = config_of(objects, "sliced")["server"]
    pod = one(objects, "Deployment", "sliced")["spec"]["template"]["spec"]
    mounts = {each["mountPath"]: each["name"] for each in pod["containers"][0]["volumeMounts"]}
    volume = mounts[os.path.dirname(server["metricsClientCAFile"])]
    assert [each["secret"]["secretName"] for each in pod["volumes"] if each["name"] == volume] == ["prometheus-tls"]
    assert server["metricsClients"] == [{"name": "prometheus"}, {"name": "agent"}]
    assert endpoint["tlsConfig"]["cert"]["secret"] == {"name": "prometheus-tls", "key": "tls.crt"}
    assert endpoint["tlsConfig"]["keySecret"] == {"name": "prometheus-tls", "key": "tls.key"}
    assert "authorization" not in endpoint


def test_nothing_of_it_is_there_unless_it_is_asked_for(helm):
    assert not [each for each in helm.objects() if each["apiVersion"].startswith("monitoring.coreos.com/")]


# ---- with a real Prometheus ----

@pytest.fixture
def exporter():
    made = Exporter()
    yield made
    made.stop()


def job_of(endpoint, files):
    """What an operator of Prometheus makes of that endpoint; files: {(secret, key): path}."""
    def path(ref):
        return files[ref["name"], ref["key"]]
    tls = endpoint["tlsConfig"]
    return {"scheme": endpoint["scheme"], "tls_config": {
        "server_name": tls["serverName"], "ca_file": path(tls["ca"]["secret"]),
        "cert_file": path(tls["cert"]["secret"]), "key_file": path(tls["keySecret"])}}


@pytest.fixture
def monitors(tmp_path):
    """Who signs Prometheus' certificate."""
    return Authority(str(tmp_path / "monitors"), "monitors")


@pytest.fixture
def prometheus(cluster, helm, exporter, monitors, tmp_path):
    """It plays the chart's rules, but waits a second only before an alert fires. It scrapes as the chart's
    PodMonitor says, and tries without a certificate, with another's, and with kube-scheduler's."""
    with open(RULES, encoding="utf-8") as file:
        text = re.sub(r"^( +for:) \w+$", r"\1 1s", file.read(), flags=re.M)
    rules = tmp_path / "rules.yaml"
    rules.write_text(text, encoding="utf-8")
    monitor = one(helm.objects(VALUES["monitored by certificate"]), "PodMonitor", "sliced")["spec"]
    pairs = {"own": monitors.issue("own", "prometheus"), "other": monitors.issue("other", "grafana"),
             "scheduler": cluster.clients.issue("monitor", "prometheus")}
    jobs = {name: job_of(monitor["podMetricsEndpoints"][0], {
        ("sliced-tls", "ca.crt"): cluster.authority.crt,
        ("prometheus-tls", "tls.crt"): crt, ("prometheus-tls", "tls.key"): key})
        for name, (crt, key) in pairs.items()}
    jobs["none"] = {"scheme": "https", "tls_config": {
        key: jobs["own"]["tls_config"][key] for key in ("server_name", "ca_file")}}
    jobs[f"{NAMESPACE}/sliced"] = jobs.pop("own")
    made = Prometheus(exporter, str(tmp_path), str(rules), jobs)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def all_on(helm, prometheus, monitors):
    """The configuration of a daemon with all that it can do turned on."""
    shipped = config_of(helm.objects(VALUES["monitored by certificate"]), "sliced")["server"]
    server = {key: shipped[key] for key in ("metricsTls", "metricsClients")}
    return {"server": {**server, "metricsClientCAFile": monitors.crt},
            "queue": {"holdSeconds": 2}, "tenants": {"namespaces": [{"namespace": "*", "tenant": "all"}]},
            "partitioning": {"enabled": True, "batchWindow": "200ms"},
            "telemetry": {"url": prometheus.url, "interval": "1s", "staleAfter": "6s", "maxGap": "4s"}}


@pytest.fixture
def measured(cluster, rack, gated, exporter, prometheus, all_on):
    """That daemon, scraped."""
    ensure_namespace(cluster.plane, OPERATOR)
    rights = cluster.allow({"config": {"partitioning": {"enabled": True}}})
    cluster.add(gpus.replicas("t4-1", gpus=1, count=8))
    exporter.use("t4-1", used=100, util=10)
    daemon = gated(merge(all_on, SHORT_LEASE))
    prometheus.watch(daemon, NAMESPACE)
    wait_for("the daemon is scraped", lambda: prometheus.ask("sliced_leader"))
    yield daemon
    for each in rights:
        cluster.plane.delete(object_path(each))


def firing(prometheus):
    return {each["metric"]["alertname"] for each in prometheus.ask('ALERTS{alertstate="firing"}')}


def test_every_query_of_every_dashboard_is_answered(cluster, prometheus, measured):
    cluster.add(gpus.pod("runs", {GPU: 1}, annotations={"sliced.dev/gpu-memory": "1Gi"}))
    cluster.wait_bound("runs")
    cluster.add(gpus.pod("waits", {GPU: 9}))
    queries = {(name, panel["title"], target["expr"]) for name, dashboard in dashboards()
               for panel in dashboard["panels"] for target in panel["targets"]}
    assert len(queries) > 50

    def answered():
        dumb = [each for each in queries if not prometheus.ask(each[2].replace("$namespace", ".*"))]
        assert not dumb, "\n".join(map(str, dumb))
        return True
    wait_for("every panel shows something", answered, 60)
    for name, dashboard in dashboards():
        asked = [each["query"] for each in dashboard["templating"]["list"] if each["type"] == "query"]
        assert asked == ["label_values(sliced_build_info, namespace)"], name
    assert prometheus.ask("count by (namespace) (sliced_build_info)")[0]["metric"] == {"namespace": NAMESPACE}


def test_the_daemon_shows_every_metric_of_the_page_and_no_other_and_to_prometheus_alone(prometheus, measured):
    def refused():
        failed = prometheus.failures()
        assert set(failed) == {"none", "other", "scheduler"}, failed
        return all("403 Forbidden" in why for why in failed.values())
    wait_for("the others are refused", refused)
    wait_for("its own is served", lambda: prometheus.ask(f'up{{job="{NAMESPACE}/sliced"}} == 1'))
    # the hour ends at a whole second, so a first sample may come after it; the question is asked once a minute
    wait_for("a sample is seconds old", lambda: prometheus.ask('sliced_pool_units{state="free"} offset 2s'))

    def last():
        lines = measured.json("/api/v1/history")["lines"]
        return [lines[name][-1] for name in ("waiting", "running", "usedUnits", "freeUnits")] if lines else None
    wait_for("it tells how the last hour went", lambda: last() == [0, 0, 0, 8], 180)
    measured.verb("filter", {})  # from then on it knows when the scheduler's certificate ends
    text = measured.get("/metrics")[1]
    with open(os.path.join(ROOT, "docs/metrics.md"), encoding="utf-8") as file:
        told = re.findall(r"^\| `(\w+)` \|", file.read(), re.M)
    assert sorted(re.findall(r"^# TYPE (\w+) ", text, re.M)) == sorted(told)
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True,
                             check=False)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def test_alerts_fire_when_things_go_wrong_and_end_with_it(cluster, rack, exporter, prometheus, measured, all_on):
    def quiet():
        assert not firing(prometheus), firing(prometheus)
        return True
    wait_for("nothing is wrong", quiet)

    # cuts of GPUs fail
    for i in range(2):
        machine = rack.add(Machine(f"bad-{i}", A100_80, [["7g.80gb"]], MigManager(seconds=0.2)))
        machine.agent.mishaps.append("failed")
        made = gpus.pod(f"cut-{i}", {"nvidia.com/mig-3g.40gb": 1})
        made["spec"]["nodeSelector"] = {"kubernetes.io/hostname": machine.name}
        cluster.add(made)
    wait_for("cuts fail", lambda: {"SlicedCutsFail", "SlicedGpusLeftOut"} <= firing(prometheus))

    # dcgm-exporter is gone on a node
    use = exporter.nodes.pop("t4-1")
    wait_for("telemetry is stale", lambda: "SlicedTelemetryStale" in firing(prometheus))
    exporter.nodes["t4-1"] = use
    wait_for("it is fresh again", lambda: "SlicedTelemetryStale" not in firing(prometheus))

    # kube-scheduler is gone
    cluster.plane.stop_scheduler()
    try:
        cluster.add(gpus.pod("stays", {GPU: 1}, annotations={"sliced.dev/gpu-memory": "1Gi"}))
        wait_for("it is silent", lambda: "SlicedSchedulerSilent" in firing(prometheus))
    finally:
        cluster.start_scheduler()
    cluster.wait_bound("stays")
    wait_for("it is heard", lambda: "SlicedSchedulerSilent" not in firing(prometheus))

    # the leader is gone, and its lease keeps the other replica waiting
    standby = cluster.new_daemon(config=merge(merge(cluster.gate, all_on), SHORT_LEASE)).launch().wait_up()
    prometheus.watch(standby, NAMESPACE)
    wait_for("both are scraped", lambda: len(prometheus.ask("sliced_leader")) == 2)
    wait_for("all is well with the lead", lambda: not firing(prometheus) & {
        "SlicedNoLeader", "SlicedManyLeaders", "SlicedAbsent"})
    measured.kill()
    wait_for("nobody leads", lambda: "SlicedNoLeader" in firing(prometheus))
    standby.wait_ready()
    wait_for("somebody leads", lambda: "SlicedNoLeader" not in firing(prometheus))
    standby.stop()
    wait_for("nobody is there", lambda: "SlicedAbsent" in firing(prometheus))
