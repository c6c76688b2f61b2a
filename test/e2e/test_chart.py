"""What the chart makes of its values: least in rights, of one mind with itself, and wrong values are
refused by name. Nothing runs but helm."""

import base64
import os
import re
import subprocess

import pytest
import yaml

from harness import chart
from harness import sliced as daemons
from harness.chart import CHART, NAMESPACE, ROOT, SERVICE, config_of, one
from harness.values import OTHER_NAMES, VALUES

ALL = {**VALUES, "other names": OTHER_NAMES}
AUTHORITY = base64.b64encode(b"-----BEGIN CERTIFICATE-----").decode()
WORKLOADS = ("Deployment", "Job", "CronJob")


def pod_of(workload):
    spec = workload["spec"]
    return spec.get("jobTemplate", {}).get("spec", spec)["template"]["spec"]


@pytest.mark.parametrize("values", ALL.values(), ids=ALL)
def test_the_linter_has_nothing_against_it(helm, values):
    said = helm.run("lint", "--strict", CHART, "-f", "-", text=yaml.safe_dump(values))
    assert "0 chart(s) failed" in said


@pytest.mark.parametrize("values", ALL.values(), ids=ALL)
def test_every_pod_may_run_under_the_strictest_standard(helm, values):
    pods = [pod_of(each) for each in helm.objects(values) if each["kind"] in WORKLOADS]
    assert pods
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] > 0
        for container in [*pod.get("initContainers", []), *pod["containers"]]:
            limits = container["securityContext"]
            assert limits["readOnlyRootFilesystem"] and not limits["allowPrivilegeEscalation"]
            assert limits["capabilities"] == {"drop": ["ALL"]}
            assert container["resources"]["limits"]["memory"]
        for container in pod["containers"] if pod.get("restartPolicy") != "OnFailure" else []:
            assert container["livenessProbe"] and container["readinessProbe"]


@pytest.mark.parametrize("values, why", [
    ({"replicas": 0}, "replicas"),
    ({"replica": 2}, "replica"),
    ({"scheduler": {"mode": "third"}}, "mode"),
    ({"scheduler": {"name": "Not A Name"}}, "name"),
    ({"scheduler": {"percentageOfNodesToScore": 101}}, "percentageOfNodesToScore"),
    ({"scheduler": {"httpTimeout": "soon"}}, "httpTimeout"),
    ({"scheduler": {"tlsFolder": "relative"}}, "tlsFolder"),
    ({"managedResources": []}, "managedResources"),
    ({"managedResources": ["nvidia.com/*"]}, "managedResources"),
    # with the policy its pods would wait behind the gate for ever
    ({"managedResources": ["nvidia.com/gpu", "amd.com/gpu"]}, "managedResources"),
    ({"managedResources": ["nvidia.com/gpu-0gb"]}, "managedResources"),
    ({"scheduler": {"tlsFolder": "/etc/a: b"}}, "tlsFolder"),
    ({"scheduler": {"kubeconfig": "/etc/a b"}}, "kubeconfig"),
    ({"config": {"kind": "Pod"}}, "kind"),
    ({"image": {"pullPolicy": "Sometimes"}}, "pullPolicy"),
    ({"tls": {"secret": "x"}}, "secret"),
    ({"tls": {"clientNames": []}}, "clientNames"),
    ({"tls": {"clientNames": [""]}}, "clientNames"),
    ({"tls": {"clientNames": ['the "one"']}}, "clientNames"),
    ({"config": {"queue": {"schedulerName": "other"}}}, "schedulerName"),
    ({"networkPolicy": {"metricsFrom": "all"}}, "metricsFrom"),
    ({"service": {"clusterIP": "a name"}}, "clusterIP"),
    ({"networkPolicy": {"apiServerPorts": [0]}}, "apiServerPorts"),
    ({"queue": {"gate": "always"}}, "gate"),
    ({"queue": {"gates": "none"}}, "gates"),
    ({"queue": {"namespaceSelector": {"gpus": "queued"}}}, "namespaceSelector"),
    ({"config": {"queue": {"enabled": False}}}, "enabled"),
    ({"config": {"queue": {"gate": "none"}}}, "gate"),
    ({"config": {"queue": {"daemonSets": []}}}, "daemonSets"),
    ({"queue": {"daemonSetNamespaces": ["it's"]}}, "daemonSetNamespaces"),
    ({"queue": {"daemonSetUser": "me' || 'x' == 'x"}}, "daemonSetUser"),
    ({"guard": {"devicePlugins": ["a'"]}}, "devicePlugins"),
    ({"guard": {"devices": False}}, "devices"),
    ({"guard": {"devices": {"enable": False}}}, "enable"),
    ({"guard": {"devices": {"exemptNamespaces": ["it's"]}}}, "exemptNamespaces"),
    ({"guard": {"devices": {"runtimeClasses": ["a b"]}}}, "runtimeClasses"),
    ({"guard": {"devices": {"namespaceSelector": {"gpus": "all"}}}}, "namespaceSelector"),
    ({"queue": {"caBundle": "-----BEGIN CERTIFICATE-----"}}, "caBundle"),
    ({"queue": {"assignScheduler": "yes"}}, "assignScheduler"),
    # the daemon's configuration, by the schema that the daemon prints
    ({"config": {"queue": {"ordr": "fifo"}}}, "ordr"),
    ({"config": {"quue": {"order": "fifo"}}}, "quue"),
    ({"config": {"queue": {"order": "fifoo"}}}, "order"),
    ({"config": {"queue": {"maxReleases": 0}}}, "maxReleases"),
    ({"config": {"queue": {"maxReleases": "many"}}}, "maxReleases"),
    ({"config": {"queue": {"defaultTimeout": 3600}}}, "defaultTimeout"),
    ({"config": {"queue": {"defaultTimeout": "90min"}}}, "defaultTimeout"),
    ({"config": {"queue": {"limits": [{"resource": "nvidia.com/gpu"}]}}}, "maxTimeout"),
    ({"config": {"queue": {"backfill": "yes"}}}, "backfill"),
    ({"config": {"server": {"maxBodyBytes": "12 MB"}}}, "maxBodyBytes"),
    ({"config": {"telemetry": {"url": "prometheus:9090"}}}, "url"),
    ({"config": {"telemetry": {"margin": 11}}}, "margin"),
    ({"config": {"partitioning": {"nodeSelector": "sliced.dev/partitioning"}}}, "nodeSelector"),
    ({"config": {"tenants": {"shares": [{"weight": 1}]}}}, "tenant"),
    ({"config": {"log": None}}, "log"),
    # parts of pods and policies: the API server would drop an unknown field without a word
    ({"affinity": {"nodeAfinity": {}}}, "nodeAfinity"),
    ({"scheduler": {"affinity": {"podAffinity": {"required": []}}}}, "required"),
    ({"tolerations": [{"keys": "x"}]}, "keys"),
    ({"resources": {"limit": {}}}, "limit"),
    ({"resources": {"limits": {"memory": "256MB"}}}, "256MB"),
    ({"topologySpreadConstraints": [{"maxSkew": 1}]}, "topologyKey"),
    ({"scheduler": {"topologySpreadConstraints": [{"maxSkw": 1}]}}, "maxSkw"),
    ({"env": [{"name": "A", "vaule": "b"}]}, "vaule"),
    ({"imagePullSecrets": ["pull"]}, "imagePullSecrets"),
    ({"imagePullSecrets": [{"nam": "pull"}]}, "nam"),
    ({"image": {"repository": "registry.example.com/sliced:1"}}, "repository"),
    ({"image": {"tag": 1.0}}, "tag"),
    ({"image": {"tag": "a tag"}}, "tag"),
    ({"podLabels": {"a b": "c"}}, "podLabels"),
    ({"podLabels": {"a": "b c"}}, "podLabels"),
    ({"podAnnotations": {"a": 1}}, "podAnnotations"),
    ({"podAnnotations": {"checksum/config": "x"}}, "podAnnotations"),
    ({"nodeSelector": {"a": True}}, "nodeSelector"),
    ({"priorityClassName": "A B"}, "priorityClassName"),
    ({"nameOverride": "Sliced"}, "nameOverride"),
    ({"serviceAccount": {"names": "x"}}, "names"),
    ({"tls": {"existingSecret": "Not A Name"}}, "existingSecret"),
    ({"tls": {"clientSecret": "a/b"}}, "clientSecret"),
    ({"telemetry": {"secret": "A"}}, "secret"),
    ({"tls": {"certManager": {"enabled": True, "issuerRef": {"kind": "ClusterIssuer"}}}}, "'name' required"),
    ({"networkPolicy": {"from": [{"namespaceSelectors": {}}]}}, "namespaceSelectors"),
    ({"networkPolicy": {"apiServerFrom": [{}]}}, "apiServerFrom"),
    ({"queue": {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Inn"}]}}}, "operator"),
    ({"queue": {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}}, "'values'"),
    ({"queue": {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}}},
     "values"),
    ({"queue": {"namespaceSelector": {"matchLabels": {"a b": "c"}}}}, "matchLabels"),
    ({"service": {"clusterIP": "10.0.0"}}, "clusterIP"),
    ({"service": {"clusterIP": "10.0.0.999"}}, "clusterIP"),
    ({"extraArgs": ["verbose"]}, "extraArgs"),
    # what the chart itself does
    ({"config": {"server": {"tls": {"certFile": ""}}}}, "config.server.tls: leave it out, the chart mounts"),
    ({"config": {"server": {"insecure": True}}}, "config.server.insecure: leave it out"),
    ({"config": {"leaderElection": {"namespace": "other"}}}, "the release's namespace alone"),
    ({"config": {"extender": {"filterVerb": "f"}}}, "the scheduler's configuration of the chart names it filter"),
    ({"config": {"kubernetes": {"kubeconfig": "/x"}}}, "the daemon has its service account"),
    ({"config": {"gpushare": {"unhealthyGpus": True}}}, "set gpushare.unhealthyGpus"),
    ({"extraArgs": ["--listen=127.0.0.1:1"]}, "extraArgs: --listen=127.0.0.1:1 is the chart's own"),
    ({"scheduler": {"extraArgs": ["--config=/x"]}}, "scheduler.extraArgs: --config=/x is the chart's own"),
    ({"env": [{"name": "POD_NAME", "value": "x"}]}, "env: POD_NAME is the chart's own"),
    # what cannot work
    ({"config": {"partitioning": {"enabled": True}}, "queue": {"enabled": False}}, "set queue.enabled to true"),
    ({"config": {"tenants": {"namespaceLabel": "team"}}, "queue": {"enabled": False}}, "set queue.enabled to true"),
    ({"scheduler": {"httpTimeout": "4s"}}, "expected more than config.kubernetes.bindTimeout, 4s"),
    ({"config": {"kubernetes": {"bindTimeout": "5000ms"}}}, "scheduler.httpTimeout: found 5s"),
    ({"config": {"kubernetes": {"bindTimeout": "1s4.5s"}}}, "scheduler.httpTimeout: found 5s"),
    ({"config": {"server": {"shutdownTimeout": "30s"}}}, "the 40 s that a pod has to end"),
    ({"config": {"server": {"shutdownTimeout": "1h"}}}, "the 40 s that a pod has to end"),
    ({"config": {"server": {"visibilityListen": "0.0.0.0:8445"}}, "visibility": {"enabled": False}},
     "set visibility.enabled"),
    ({"guard": {"devices": {"void": True, "enabled": False}}}, "set guard.enabled and guard.devices.enabled"),
    ({"guard": {"enabled": False, "otherSchedulers": False}}, "guard.otherSchedulers false: nobody would refuse"),
    ({"scheduler": {"name": "sliced"}}, "would both lead by the lease sliced"),
    ({"nameOverride": "sliced-scheduler"}, "would both lead by the lease sliced-scheduler"),
    ({"config": {"leaderElection": {"name": "sliced-scheduler"}}}, "would both lead by the lease"),
    ({"queue": {"caBundle": "Y2E="}}, "queue.caBundle: expected certificates in PEM"),
    ({"config": {"server": {"listen": "0.0.0.0:84430"}}}, "server.listen"),
    ({"tls": {"existingSecret": "one", "clientSecret": "one"}}, "use one that signs nothing else"),
    ({"tls": {"existingSecret": "sliced-client"}}, "use one that signs nothing else"),
    ({"monitoring": {"https": True, "clientSecret": "sliced-client"}}, "is kube-scheduler's"),
    ({"monitoring": {"https": True, "clientSecret": "mine"}, "tls": {"existingSecret": "mine"}}, "is the daemon's"),
    ({"tls": {"certManager": {"issuerRef": {"name": "x"}}}}, "set tls.certManager.enabled"),
    ({"config": {"leaderElection": {"enabled": False}}}, "replicas to 1"),
    ({"config": {"server": {"probeListen": ""}}}, "server.probeListen"),
    ({"config": {"server": {"probeListen": "127.0.0.1:8081"}}}, "server.probeListen"),
    ({"config": {"server": {"listen": "[::1]:8443"}}}, "server.listen"),
    ({"config": {"server": {"metricsListen": "0.0.0.0:0"}}}, "server.metricsListen"),
    ({"config": {"server": {"metricsListen": "0.0.0.0:8081"}}}, "port 8081"),
    ({"scheduler": {"mode": "config"}}, "scheduler.name"),
    ({"scheduler": {"mode": "config", "name": "x"}, "queue": {"assignScheduler": True}}, "no second scheduler"),
    ({"queue": {"assignScheduler": True, "gate": "none"}}, "queue.gate to policy or webhook"),
    ({"queue": {"assignScheduler": True, "enabled": False}}, "queue.enabled to true"),
    ({"tls": {"clientNames": ["n" * 65]}}, "64 characters"),
    ({"scheduler": {"name": "default-scheduler"}}, "default-scheduler"),
    ({"serviceAccount": {"create": False}}, "serviceAccount.name"),
    ({"podLabels": {"app.kubernetes.io/name": "x"}}, "podLabels"),
    ({"config": {"telemetry": {"tokenFile": "/etc/sliced/telemetry/token"}}}, "telemetry.secret"),
    ({"monitoring": {"enabled": True}}, "networkPolicy.metricsFrom"),
    ({"monitoring": {"monitor": "Pod"}}, "monitor"),
    ({"monitoring": {"tokenSecret": "x"}}, "monitoring.https"),
    ({"monitoring": {"clientSecret": "x"}}, "monitoring.https"),
    ({"monitoring": {"clientNames": []}}, "clientNames"),
    ({"monitoring": {"tokenSecret": "A b"}}, "tokenSecret"),
    ({"monitoring": {"labels": {"app.kubernetes.io/name": "x"}}}, "labels"),
    ({"monitoring": {"interval": "30s5m"}}, "interval"),
    ({"config": {"server": {"metricsTls": True}}}, "metricsTls"),
    ({"config": {"server": {"metricsClients": [{"name": "x"}]}}}, "metricsClients"),
])
def test_a_mistake_in_the_values_is_refused_by_name(helm, values, why):
    code, said = helm.template(values, check=False)
    assert code != 0 and why in said, said


def secrets_of(objects, name):
    """The Secrets of a Deployment's pods: {name: keys, or None for all}."""
    volumes = one(objects, "Deployment", name)["spec"]["template"]["spec"]["volumes"]
    return {each["secret"]["secretName"]: [item["key"] for item in each["secret"].get("items", [])] or None
            for each in volumes if "secret" in each}


def test_existing_secrets_are_mounted_and_none_is_made(helm):
    objects = helm.objects(VALUES["client certificates"])
    assert not [each for each in objects if each["kind"] == "Secret"]
    assert set(secrets_of(objects, "sliced")) == set(secrets_of(objects, "sliced-scheduler")) == {
        "ours", "scheduler-tls"}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_nobody_is_given_the_private_key_of_another(helm, values):
    objects = helm.objects(values)
    tls = values.get("tls", {}).get("existingSecret", "sliced-tls")
    client = values.get("tls", {}).get("clientSecret", "sliced-client")
    given = {values["telemetry"]["secret"]: None} if "telemetry" in values else {}
    if "tokenSecret" in values.get("monitoring", {}):
        given["metrics-token"] = ["token"]
    if "clientSecret" in values.get("monitoring", {}):
        given["prometheus-tls"] = ["ca.crt"]
    assert secrets_of(objects, "sliced") == {tls: None, client: ["ca.crt"], **given}
    if values.get("scheduler", {}).get("mode") != "config":
        assert secrets_of(objects, "sliced-scheduler") == {tls: ["ca.crt"], client: ["tls.crt", "tls.key"]}


def test_the_scheduler_shows_the_certificate_that_is_made_for_it(helm):
    objects = helm.objects({"tls": {"clientNames": ["0x1", "old"]}})
    tls = config_of(objects, "sliced")["server"]["tls"]
    extender = config_of(objects, "sliced-scheduler")["extenders"][0]["tlsConfig"]
    mounts = {each["name"]: each["mountPath"] for each in one(objects, "Deployment", "sliced-scheduler")[
        "spec"]["template"]["spec"]["containers"][0]["volumeMounts"]}
    assert (extender["certFile"], extender["keyFile"]) == (f"{mounts['client']}/tls.crt",
                                                           f"{mounts['client']}/tls.key")
    assert extender["caFile"] == f"{mounts['ca']}/ca.crt"
    assert tls["clients"] == [{"name": "0x1"}, {"name": "old"}]
    said = certs_of(objects)
    assert said["client"] == "sliced-client" and said["client-name"] == "0x1"
    assert f"{said['service']}.{said['namespace']}.svc" == extender["serverName"] == SERVICE


# ---- the Job that makes certificates ----

def certs_of(objects):
    """What the Job, and the CronJob after it, tell sliced certs; None where there is no Job."""
    pods = [pod_of(each) for each in objects if each["kind"] in ("Job", "CronJob")]
    if not pods:
        return None
    assert len(pods) == 2 and pods[0] == pods[1]
    command, *options = pods[0]["containers"][0]["args"]
    assert command == "certs"
    return dict(each.removeprefix("--").split("=", 1) for each in options)


MADE = {"namespace": NAMESPACE, "server": "sliced-tls", "service": "sliced", "client": "sliced-client",
        "client-name": "sliced-scheduler"}
GROUP = {"api-service": "v1alpha1.visibility.sliced.dev"}
WEBHOOK = {"webhook": "sliced-queue"}


@pytest.mark.parametrize("values, said", [
    ({}, {**MADE, **GROUP}),
    (VALUES["webhook"], {**MADE, **GROUP, **WEBHOOK}),
    ({"visibility": {"enabled": False}}, MADE),
    (VALUES["own secret"], {"namespace": NAMESPACE, "server": "from-cert-manager", "client": "sliced-client",
                            "client-name": "sliced-scheduler", **GROUP}),
    (VALUES["client certificates"], {"namespace": NAMESPACE, "server": "ours", **GROUP}),
    ({**VALUES["client certificates"], "visibility": {"enabled": False}}, None),
    ({**VALUES["client certificates"], "queue": {"caBundle": AUTHORITY}}, None),
    (VALUES["cert-manager"], None),
    ({"tls": {"existingSecret": "ours", "certManager": {"enabled": True}}},
     {"namespace": NAMESPACE, "server": "ours", **GROUP})])
def test_a_job_makes_what_nobody_else_does(helm, values, said):
    assert certs_of(helm.objects(values)) == said


@pytest.mark.parametrize("values", ALL.values(), ids=ALL)
def test_that_job_may_do_what_it_is_told_and_no_more(helm, values):
    objects = helm.objects(values)
    said = certs_of(objects)
    name = values.get("nameOverride", "sliced") + "-certs"
    rules = {kind: [rule for each in objects if (each["kind"], each["metadata"]["name"]) == (kind, name)
                    for rule in each["rules"]] for kind in ("Role", "ClusterRole")}
    if said is None:
        assert not rules["Role"] and not rules["ClusterRole"]
        return
    made = ([said["server"]] if "service" in said else []) + ([said["client"]] if "client" in said else [])
    expected = [] if not made else [(["secrets"], None, ["create"]), (["secrets"], made, ["get", "patch"])]
    if "service" not in said and {"webhook", "api-service"} & set(said):
        expected += [(["secrets"], [said["server"]], ["get"])]
    assert [(rule["resources"], rule.get("resourceNames"), rule["verbs"]) for rule in rules["Role"]] == expected
    expected = [(["mutatingwebhookconfigurations"], said.get("webhook")), (["apiservices"], said.get("api-service"))]
    assert [(rule["resources"], rule["resourceNames"], rule["verbs"]) for rule in rules["ClusterRole"]] == [
        (resources, [named], ["patch"]) for resources, named in expected if named]


def test_another_task_is_another_job_as_jobs_cannot_be_changed(helm):
    def name(values):
        return next(each["metadata"]["name"] for each in helm.objects(values) if each["kind"] == "Job")
    assert name({}) == name({"replicas": 3}) == name({"config": {"log": {"level": "debug"}}})
    assert len({name({}), name(VALUES["webhook"]), name({"image": {"tag": "2"}}),
                name({"tls": {"clientNames": ["other"]}})}) == 4


def ingress(objects):
    """{port: from} of the daemon's NetworkPolicy; None: from everywhere."""
    return {port["port"]: rule.get("from") for rule in one(objects, "NetworkPolicy", "sliced")["spec"]["ingress"]
            for port in rule["ports"]}


def test_each_port_is_open_to_its_callers(helm):
    scheduler = {"podSelector": {"matchLabels": one(helm.objects(), "Deployment", "sliced-scheduler")[
        "spec"]["selector"]["matchLabels"]}}
    own = VALUES["ports for few"]["networkPolicy"]
    seen = {"visibility": None}
    assert ingress(helm.objects()) == {"https": [scheduler], **seen}
    assert ingress(helm.objects({"visibility": {"enabled": False}})) == {"https": [scheduler]}
    assert ingress(helm.objects(VALUES["webhook"])) == {"https": [scheduler], "webhook": None, **seen}
    assert ingress(helm.objects(VALUES["own scheduler"])) == {"https": None, **seen}
    assert ingress(helm.objects(VALUES["ports for few"])) == {
        "https": [scheduler, *own["from"]], "webhook": own["apiServerFrom"], "metrics": own["metricsFrom"],
        "visibility": own["apiServerFrom"]}


def egress(objects):
    """The TCP ports to which the daemon may go."""
    return {port["port"] for rule in one(objects, "NetworkPolicy", "sliced")["spec"]["egress"]
            for port in rule["ports"] if port["protocol"] == "TCP"}


@pytest.mark.parametrize("url, port", [
    ("http://prometheus-operated.monitoring:9090", 9090), ("https://thanos.example.com", 443),
    ("http://prometheus/path", 80), ("https://[fd00::1]:8443/p?q=x:1", 8443)])
def test_what_measures_can_be_reached(helm, url, port):
    always = egress(helm.objects())
    assert always == {53, 443, 6443}
    values = {"config": {"telemetry": {"url": url}}}
    assert egress(helm.objects(values)) == always | {port}
    values["networkPolicy"] = {"egressPorts": [3128, port]}
    assert egress(helm.objects(values)) == always | {port, 3128}


def test_credentials_for_prometheus_lie_where_the_configuration_says(helm):
    objects = helm.objects(VALUES["telemetry"])
    pod = one(objects, "Deployment", "sliced")["spec"]["template"]["spec"]
    volumes = {each["name"]: each.get("secret", {}).get("secretName") for each in pod["volumes"]}
    folders = {each["mountPath"]: volumes[each["name"]] for each in pod["containers"][0]["volumeMounts"]}
    telemetry = config_of(objects, "sliced")["telemetry"]
    for key in ("tokenFile", "caFile"):
        assert folders[os.path.dirname(telemetry[key])] == "prometheus-access"
    assert {"name": "HTTPS_PROXY", "value": "http://proxy:3128"} in pod["containers"][0]["env"]


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_every_port_of_the_daemon_is_one_that_it_listens_on(helm, values):
    objects = helm.objects(values)
    server = config_of(objects, "sliced")["server"]
    listens = {server[key] for key in ("listen", "webhookListen", "visibilityListen", "probeListen",
                                       "metricsListen") if key in server}
    container = one(objects, "Deployment", "sliced")["spec"]["template"]["spec"]["containers"][0]
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert {str(each) for each in ports.values()} == {each.rsplit(":", 1)[1] for each in listens}
    assert "apiListen" not in server  # 127.0.0.1, which kubectl port-forward reaches
    probes = {container[f"{which}Probe"]["httpGet"]["port"] for which in ("liveness", "readiness")}
    assert probes == {"probes"}
    assert {each["targetPort"] for each in one(objects, "Service", "sliced")["spec"]["ports"]} <= set(ports)
    assert ("webhook" in ports) == ("MutatingWebhookConfiguration" in gates(objects))


def test_users_see_the_queue_unless_that_is_turned_off(helm):
    def group(values):
        objects = helm.objects(values)
        found = [each for each in objects if each["kind"] == "APIService"]
        assert bool(found) == ("visibilityListen" in config_of(objects, "sliced")["server"])
        return found
    known, = group({})
    assert "caBundle" not in known["spec"]  # the Job puts it there
    port, = [each for each in one(helm.objects(), "Service", "sliced")["spec"]["ports"]
             if each["port"] == known["spec"]["service"]["port"]]
    assert port["name"] == "visibility"
    assert not group({"visibility": {"enabled": False}})
    own, = group({"tls": {"existingSecret": "ours"}, "queue": {"caBundle": AUTHORITY}})
    assert own["spec"]["caBundle"] == AUTHORITY


def test_your_own_scheduler_gets_only_its_configuration(helm):
    objects = helm.objects(VALUES["own scheduler"])
    assert not [each for each in objects
                if each["kind"] != "ConfigMap" and each["metadata"]["name"].startswith("sliced-scheduler")]
    extender = config_of(objects, "sliced-scheduler")["extenders"][0]
    assert extender["urlPrefix"] == "https://10.0.0.53/scheduler"
    assert extender["tlsConfig"]["serverName"] == SERVICE
    assert one(objects, "Service", "sliced")["spec"]["clusterIP"] == "10.0.0.53"


@pytest.mark.parametrize("percentage, wanted", [(100, None), (50, 101), (0, 101)])
def test_pods_name_their_node_where_the_scheduler_may_not_show_it(helm, percentage, wanted):
    objects = helm.objects({"scheduler": {"percentageOfNodesToScore": percentage}})
    assert config_of(objects, "sliced")["queue"].get("nominateFrom") == wanted


def test_every_mig_profile_that_sliced_knows_is_managed(helm):
    with open(os.path.join(ROOT, "src/core/mig/table.c"), encoding="ascii") as file:
        suffixes = re.findall(r'PROFILE\("[^"]+", "([^"]+)"', file.read())
    assert len(suffixes) > 50
    managed = {each["name"] for each in
               config_of(helm.objects(), "sliced-scheduler")["extenders"][0]["managedResources"]}
    assert {f"nvidia.com/mig-{suffix}" for suffix in suffixes} <= managed
    assert {"nvidia.com/gpu", "nvidia.com/gpu.shared", "aliyun.com/gpu-mem"} <= managed


def test_every_value_of_the_configuration_may_be_set(helm, tmp_path):
    """What the daemon prints as its defaults, all keys spelled out, is let through as it is."""
    said = subprocess.run([daemons.BIN, "--print-config"], check=True, capture_output=True, text=True).stdout
    config = yaml.safe_load(said)
    for key in ("listen", "webhookListen", "probeListen", "metricsListen", "metricsTls", "metricsTokenFile",
                "metricsClientCAFile", "metricsClients", "visibilityListen", "tls"):
        del config["server"][key]
    for key in ("enabled", "gate", "schedulerName", "daemonSets", "daemonSetUser"):
        del config["queue"][key]
    for section, keys in (("server", ["insecure"]), ("leaderElection", ["namespace"]),
                          ("kubernetes", ["kubeconfig", "context"]), ("gpushare", ["unhealthyGpus", "namespace"]),
                          ("extender", ["pathPrefix", "filterVerb", "prioritizeVerb", "bindVerb", "preemptVerb"])):
        for key in keys:
            del config[section][key]
    path = tmp_path / "sliced.yaml"
    path.write_text(one(helm.objects({"config": config}), "ConfigMap", "sliced")["data"]["config.yaml"])
    merged = yaml.safe_load(path.read_text())
    for section, keys in config.items():
        if isinstance(keys, dict):
            assert {key: merged[section][key] for key in keys} == keys
    subprocess.run([daemons.BIN, "--config", path, "--check-config"], check=True)


def test_a_pod_begins_by_checking_the_configuration(helm, tmp_path):
    objects = helm.objects({"extraArgs": ["--kubeconfig=/x"]})
    pod = one(objects, "Deployment", "sliced")["spec"]["template"]["spec"]
    first, main = pod["initContainers"][0], pod["containers"][0]
    assert first["args"] == [*main["args"][:2], "--kubeconfig=/x", "--check-config"] and first["image"] == main["image"]
    assert first["volumeMounts"] == [each for each in main["volumeMounts"] if each["name"] == "config"]


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_the_daemon_takes_the_configuration(helm, values, tmp_path):
    path = tmp_path / "sliced.yaml"
    path.write_text(one(helm.objects(values), "ConfigMap", "sliced")["data"]["config.yaml"])
    done = subprocess.run([daemons.BIN, "--config", path, "--check-config"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_options_reach_the_pods(helm):
    objects = helm.objects(OTHER_NAMES)
    for name, options in (("gpu-slices", OTHER_NAMES), ("gpu-slices-scheduler", OTHER_NAMES["scheduler"])):
        deployment = one(objects, "Deployment", name)["spec"]
        template = deployment["template"]
        assert template["spec"]["affinity"] == options["affinity"]
        labels = template["metadata"]["labels"]
        assert labels["team"] == "gpu" and deployment["selector"]["matchLabels"].items() <= labels.items()
        container = template["spec"]["containers"][0]
        assert [*container.get("command", []), *container.get("args", [])][-1:] == options["extraArgs"]
    pod = one(objects, "Deployment", "gpu-slices")["spec"]["template"]["spec"]
    assert pod["topologySpreadConstraints"] == OTHER_NAMES["topologySpreadConstraints"]


def test_every_pod_is_pulled_and_placed_as_the_values_say(helm):
    values = VALUES["all in"]
    pods = [pod_of(each) for each in helm.objects(values) if each["kind"] in WORKLOADS]
    assert len(pods) == 4
    for pod in pods:
        for key in ("imagePullSecrets", "nodeSelector", "tolerations"):
            assert pod[key] == values[key]
        assert "priorityClassName" not in pod
        for container in [*pod.get("initContainers", []), *pod["containers"]]:
            if container["name"] != "kube-scheduler":
                assert container["image"] == "registry.example.com/sliced:1"


def test_the_second_scheduler_is_kubernetes_own_of_the_clusters_version(helm):
    def image(values, minor):
        objects = helm.objects(values, minor)
        return one(objects, "Deployment", "sliced-scheduler")["spec"]["template"]["spec"]["containers"][0]["image"]
    for minor, release in chart.RELEASES.items():
        assert image({}, minor) == f"registry.k8s.io/kube-scheduler:v{release}"
        assert image(VALUES["all in"], minor) == f"registry.example.com/kube-scheduler:v{release}"
    assert image({"scheduler": {"image": {"tag": "v1.36.0"}}}, chart.NEWEST).endswith(":v1.36.0")
    managed = helm.run("template", "sliced", CHART, "--kube-version", "v1.33.4-gke.1134000",
                       "--show-only", "templates/scheduler.yaml")
    assert "kube-scheduler:v1.33.4\"" in managed


def test_the_page_on_installing_names_the_releases_that_are_tested():
    with open(os.path.join(chart.ROOT, "docs/install.md"), encoding="utf-8") as page:
        said = re.search(r"`scripts/e2e` tests it on Kubernetes ([0-9.]+) and ([0-9.]+)\.\n", page.read())
    assert set(said.groups()) <= set(chart.RELEASES.values())


def test_a_changed_configuration_is_other_pods(helm):
    def template(name, values):
        return one(helm.objects(values), "Deployment", name)["spec"]["template"]
    other = {"config": {"queue": {"order": "sjf"}}}
    assert template("sliced", {}) == template("sliced", {"podDisruptionBudget": {"enabled": False}})
    assert template("sliced", {}) != template("sliced", other)
    assert template("sliced-scheduler", {}) == template("sliced-scheduler", other)
    assert template("sliced-scheduler", {}) != template("sliced-scheduler", {"scheduler": {"weight": 5}})


def test_two_installations_share_no_name(helm):
    """Whatever is named by the chart is named by its own name, and who is meant by it is the same one."""
    mine, theirs = ({(each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"])
                     for each in helm.objects({**OTHER_NAMES, "nameOverride": name, "visibility": {"enabled": seen}})}
                    for name, seen in (("one", True), ("two", False)))  # a cluster has one group of a name
    shared = {name for _, _, name in mine & theirs}
    assert shared == {"slicer"}, shared
    objects = helm.objects(OTHER_NAMES)
    account = one(objects, "ServiceAccount", "slicer")
    assert account["metadata"]["annotations"] == {"team": "gpu"}
    bound = [subject["name"] for each in objects if each["kind"].endswith("RoleBinding")
             for subject in each["subjects"]]
    assert set(bound) == {"slicer", "gpu-slices-scheduler", "gpu-slices-certs"}
    assert one(objects, "Deployment", "gpu-slices")["spec"]["template"]["spec"]["serviceAccountName"] == "slicer"
    guards = [each for each in objects if each["kind"] == "ValidatingAdmissionPolicy"]
    for each in guards:
        assert f"serviceaccount:{NAMESPACE}:slicer'" in each["spec"]["matchConditions"][0]["expression"]
    service = one(objects, "Service", "gpu-slices")["metadata"]["name"]
    extender = config_of(objects, "gpu-slices-scheduler")["extenders"][0]
    assert extender["urlPrefix"] == f"https://{service}.{NAMESPACE}.svc/scheduler"


def test_one_replica_that_needs_no_lease_is_never_two(helm):
    assert one(helm.objects(VALUES["one replica"]), "Deployment", "sliced")["spec"]["strategy"] == {
        "type": "Recreate"}


@pytest.mark.parametrize("values", ALL.values(), ids=ALL)
def test_what_is_rendered_again_is_the_same_to_the_byte(helm, values):
    """As Argo CD renders it, without a look at the cluster; certificates are made there."""
    for minor in chart.RELEASES:
        text = helm.template(values, minor)
        assert text == helm.template(values, minor)
        assert "PRIVATE KEY" not in text and "kind: Secret\n" not in text


def test_cert_manager_makes_what_is_mounted(helm):
    objects = helm.objects(VALUES["cert-manager"])
    made = {each["spec"]["secretName"]: each["spec"] for each in objects if each["kind"] == "Certificate"}
    issuers = {each["metadata"]["name"]: each["spec"] for each in objects if each["kind"] == "Issuer"}
    assert {"sliced-tls", "sliced-client"} <= set(made)
    assert not [each for each in objects if each["kind"] == "Secret"]
    assert SERVICE in made["sliced-tls"]["dnsNames"]
    assert made["sliced-client"]["commonName"] == config_of(objects, "sliced")["server"]["tls"]["clients"][0]["name"]
    authorities = [issuers[made[name]["issuerRef"]["name"]]["ca"]["secretName"]
                   for name in ("sliced-tls", "sliced-client")]
    assert len(set(authorities)) == 2 and all(made[each]["isCA"] for each in authorities)
    webhook = gates(objects)["MutatingWebhookConfiguration"]
    assert webhook["metadata"]["annotations"] == {
        "cert-manager.io/inject-ca-from": f"{NAMESPACE}/sliced-tls"}
    assert "caBundle" not in webhook["webhooks"][0]["clientConfig"]
    other = helm.objects(VALUES["own issuer"])
    assert one(other, "Certificate", "sliced-tls")["spec"]["issuerRef"] == VALUES["own issuer"]["tls"][
        "certManager"]["issuerRef"]


def test_names_that_look_like_numbers_stay_names(helm):
    names = ["010", "0x10", "true"]
    queue = config_of(helm.objects({"queue": {"daemonSetNamespaces": names, "daemonSetUser": "0x1"},
                                    "scheduler": {"name": "0x10"}}), "sliced")["queue"]
    assert [each["namespace"] for each in queue["daemonSets"]] == names
    assert (queue["daemonSetUser"], queue["schedulerName"]) == ("0x1", "0x10")


def test_the_lease_may_have_another_name(helm):
    rules = one(helm.objects(VALUES["all in"]), "Role", "sliced")["rules"]
    assert [each["resourceNames"] for each in rules if "resourceNames" in each] == [["mine"]]


def test_the_daemon_writes_only_what_it_must(helm):
    """The whole of the rights, spelled out a second time: a new one has to be argued for here."""
    objects = helm.objects()

    def rights(kind, objects=objects):
        return {(group, resource, verb)
                for rule in one(objects, kind, "sliced")["rules"]
                for group in rule["apiGroups"] for resource in rule["resources"]
                for verb in rule["verbs"]}
    assert rights("ClusterRole") == {
        ("", "nodes", "list"), ("", "nodes", "watch"),
        ("", "pods", "get"), ("", "pods", "list"), ("", "pods", "watch"), ("", "pods", "patch"),
        ("", "pods/status", "patch"), ("", "pods/binding", "create"),
        ("batch", "jobs", "list"), ("batch", "jobs", "watch"),
        ("resource.k8s.io", "deviceclasses", "list"),  # which resources they offer
        ("events.k8s.io", "events", "create"), ("events.k8s.io", "events", "patch")}
    assert rights("Role") == {("coordination.k8s.io", "leases", verb)
                              for verb in ("create", "get", "update")}
    assert rights("ClusterRole", helm.objects(VALUES["tenants"])) - rights("ClusterRole") == {
        ("", "namespaces", "list"), ("", "namespaces", "watch")}  # whose each is


GATES = {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration"}


def gates(objects):
    return {each["kind"]: each for each in objects if each["kind"] in GATES}


def test_the_gate_comes_by_what_the_cluster_has(helm):
    policy = {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}
    for minor, values, kinds, said in (
            ("1.36", {}, policy, "policy"),
            ("1.35", {}, {"MutatingWebhookConfiguration"}, "webhook"),
            ("1.36", {"queue": {"gate": "webhook"}}, {"MutatingWebhookConfiguration"}, "webhook"),
            ("1.35", {"queue": {"gate": "policy"}}, policy, "policy"),
            ("1.36", {"queue": {"gate": "none"}}, set(), "none"),
            ("1.36", {"queue": {"enabled": False, "gate": "policy"}}, set(), "none"),
            ("1.35", VALUES["own secret"], {"MutatingWebhookConfiguration"}, "webhook"),
            ("1.35", {**VALUES["own secret"], "queue": {"caBundle": AUTHORITY}},
             {"MutatingWebhookConfiguration"}, "webhook")):
        objects = helm.objects(values, minor)
        assert set(gates(objects)) == kinds, (minor, values)
        queue = config_of(objects, "sliced")["queue"]
        assert (queue["enabled"], queue["gate"]) == (values.get("queue", {}).get("enabled", True), said)


def test_nobody_is_gated_while_nobody_opens(helm):
    """The gate and the queue that opens it are turned on and off by one value."""
    for values in VALUES.values():
        for minor in chart.RELEASES:
            objects = helm.objects(values, minor)
            assert not gates(objects) or config_of(objects, "sliced")["queue"]["enabled"]


def test_the_gate_is_put_on_no_more_pods_than_the_values_say(helm):
    values = {**VALUES["some namespaces"], "managedResources": ["nvidia.com/gpu", "aliyun.com/gpu-mem"],
              "scheduler": {"name": "gpu-scheduler"}}
    policy = gates(helm.objects(values))["MutatingAdmissionPolicy"]["spec"]
    webhook = gates(helm.objects(values, "1.35"))["MutatingWebhookConfiguration"]["webhooks"][0]
    # with the policy a pod without the gate passes filter; with the webhook filter holds it
    assert (policy["failurePolicy"], webhook["failurePolicy"]) == ("Fail", "Ignore")
    assert policy["matchConditions"] == webhook["matchConditions"]
    assert policy["matchConstraints"]["resourceRules"] == webhook["rules"]
    assert policy["matchConstraints"]["namespaceSelector"] == webhook["namespaceSelector"] == {
        "matchLabels": {"gpus": "queued"},
        "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn",
                              "values": ["kube-system", NAMESPACE]},
                             {"key": "team", "operator": "Exists"}]}
    said = " ".join(each["expression"] for each in webhook["matchConditions"])
    assert "'gpu-scheduler'" in said and "'nvidia.com/gpu'" in said and "mig-" not in said
    assert webhook["clientConfig"]["service"] == {
        "name": "sliced", "namespace": NAMESPACE, "port": 8444, "path": "/admission/gate/gpu-scheduler"}


def test_the_daemon_the_policy_and_the_webhook_believe_the_same_daemonsets(helm):
    for minor in chart.RELEASES:
        objects = helm.objects(VALUES["strict"], minor)
        queue = config_of(objects, "sliced")["queue"]
        assert queue["daemonSets"] == [{"namespace": "monitoring"}, {"namespace": "agents"}]
        assert queue["daemonSetUser"] == "system:kube-controller-manager"
        found = gates(objects)
        conditions = (found["MutatingAdmissionPolicy"]["spec"] if chart.has_policies(minor)
                      else found["MutatingWebhookConfiguration"]["webhooks"][0])["matchConditions"]
        said = next(each["expression"] for each in conditions if each["name"] == "not-of-a-daemonset")
        assert "['kube-system', 'monitoring', 'agents']" in said
        assert "request.userInfo.username != 'system:kube-controller-manager'" in said


def test_the_guard_is_there_where_kubernetes_has_what_it_needs(helm):
    kinds = {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}

    def has(objects):
        return kinds <= {each["kind"] for each in objects}
    for minor in chart.RELEASES:
        assert has(helm.objects({}, minor)) and has(helm.objects(VALUES["no queue"], minor))
        assert not has(helm.objects(VALUES["no guard"], minor))
    old = helm.run("template", "sliced", CHART, "--kube-version", "1.29.0")
    assert not has([each for each in yaml.safe_load_all(old) if each])
    for each in helm.objects():
        if each["kind"] == "ValidatingAdmissionPolicy":
            # it is no way to stop the cluster's own pods, or ours, or those that bring the GPUs
            more = ["gpu-operator", "nvidia-device-plugin", "nvidia-dra-driver-gpu", "nebuly-nos",
                    "nebuly-nvidia"] if each["metadata"]["name"] == "sliced-guard-devices" else []
            assert each["spec"]["matchConstraints"]["namespaceSelector"]["matchExpressions"] == [
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn",
                 "values": ["kube-system", NAMESPACE, *more]}]
            assert each["spec"]["matchConditions"][0]["name"] == "not-by-sliced-or-a-node"


def test_the_guard_of_devices_is_turned_off_and_narrowed_by_values(helm):
    def made(values):
        return {each["kind"]: each["spec"] for each in helm.objects(values)
                if each["metadata"]["name"] == "sliced-guard-devices"}
    kinds = {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
    for values in ({}, VALUES["no queue"], VALUES["devices always"]):
        assert set(made(values)) == kinds
    for values in (VALUES["no guard"], VALUES["no guard of devices"]):
        assert not made(values)
    assert "cdi" not in str(helm.objects(VALUES["no guard of devices"]))
    mutating = {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}
    assert set(made({"guard": {"devices": {"void": True}}})) == kinds | mutating
    code, said = helm.run("template", "sliced", CHART, "--kube-version", "1.35.0",
                          "--set", "guard.devices.void=true", check=False)
    assert code != 0 and "needs MutatingAdmissionPolicy" in said
    narrowed = made(VALUES["devices always"])["ValidatingAdmissionPolicy"]
    assert narrowed["matchConstraints"]["namespaceSelector"] == {"matchExpressions": [
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn",
         "values": ["kube-system", NAMESPACE, "gpu-operator", "monitoring"]},
        {"key": "gpus", "operator": "NotIn", "values": ["all"]}]}
    assert "runtimeClassName" not in str(narrowed)


def test_pods_of_no_scheduler_are_given_ours_where_that_is_set(helm):
    values = {"queue": {"assignScheduler": True}, "scheduler": {"name": "gpus"}}
    policy = gates(helm.objects(values))["MutatingAdmissionPolicy"]["spec"]
    webhook = gates(helm.objects(values, "1.35"))["MutatingWebhookConfiguration"]["webhooks"][0]
    assert policy["matchConditions"] == webhook["matchConditions"]
    first = policy["matchConditions"][0]["expression"]
    assert first == "object.spec.schedulerName in ['gpus', 'default-scheduler']"
    assert 'schedulerName: "gpus"' in policy["mutations"][0]["applyConfiguration"]["expression"]
    assert webhook["clientConfig"]["service"]["path"] == "/admission/assign/gpus"
    for minor in chart.RELEASES:
        assert "default-scheduler'" not in str(gates(helm.objects({}, minor)))
