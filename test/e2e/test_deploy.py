"""What deploy/ makes: valid, least in rights, the same from chart and manifests, and taken by real API
servers and schedulers."""

import base64
import os
import re
import subprocess

import pytest
import yaml

from harness import chart, gpus
from harness import sliced as daemons
from harness.api import ApiError, object_path
from harness.chart import CHART, MANIFESTS, NAMESPACE, ROOT, SERVICE, config_of, one
from harness.process import wait_for

VALUES = {
    "defaults": {},
    "own secret": {"tls": {"existingSecret": "from-cert-manager"}},
    "client certificates": {"tls": {"existingSecret": "ours", "clientSecret": "scheduler-tls"}},
    "own scheduler": {"scheduler": {"mode": "config"}, "service": {"clusterIP": "10.0.0.53"}},
    "all in": {
        "image": {"repository": "registry.example.com/sliced", "tag": "1"}, "replicas": 3,
        "imagePullSecrets": [{"name": "pull"}], "priorityClassName": "",
        "config": {"log": {"level": "debug"}, "leaderElection": {"name": "mine"}},
        "scheduler": {"name": "gpu-scheduler", "replicas": 1, "nodeCacheCapable": False,
                      "image": {"repository": "registry.example.com/kube-scheduler"}},
        "nodeSelector": {"role": "infra"}, "podAnnotations": {"team": "gpu"},
        "tolerations": [{"key": "infra", "operator": "Exists"}],
        "networkPolicy": {"from": [{"namespaceSelector": {}}]},
        "managedResources": ["nvidia.com/gpu"]},
    "webhook": {"queue": {"gate": "webhook"}},
    "ports for few": {"queue": {"gate": "webhook"}, "networkPolicy": {
        "from": [{"namespaceSelector": {}}], "apiServerFrom": [{"ipBlock": {"cidr": "10.0.0.7/32"}}],
        "metricsFrom": [{"namespaceSelector": {"matchLabels": {"role": "monitoring"}}}]}},
    "no queue": {"queue": {"enabled": False}},
    "strict": {"queue": {"daemonSetNamespaces": ["monitoring", "agents"],
                         "daemonSetUser": "system:kube-controller-manager"},
               "guard": {"otherSchedulers": False, "devicePlugins": []}},
    "no guard": {"guard": {"enabled": False}},
    "some namespaces": {"queue": {"namespaceSelector": {
        "matchLabels": {"gpus": "queued"},
        "matchExpressions": [{"key": "team", "operator": "Exists"}]}}},
    "bare": {"networkPolicy": {"enabled": False}, "podDisruptionBudget": {"enabled": False}},
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_the_linter_has_nothing_against_it(helm, values):
    said = helm.run("lint", "--strict", CHART, "-f", "-", text=yaml.safe_dump(values))
    assert "0 chart(s) failed" in said


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_every_pod_may_run_under_the_strictest_standard(helm, values):
    pods = [each["spec"]["template"]["spec"] for each in helm.objects(values)
            if each["kind"] == "Deployment"]
    assert pods
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] > 0
        for container in pod["containers"]:
            limits = container["securityContext"]
            assert limits["readOnlyRootFilesystem"] and not limits["allowPrivilegeEscalation"]
            assert limits["capabilities"] == {"drop": ["ALL"]}
            assert container["resources"]["limits"]["memory"]
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
    ({"queue": {"gate": "webhook"}, "tls": {"existingSecret": "ours"}}, "queue.caBundle"),
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
    assert secrets_of(objects, "sliced") == {tls: None, client: ["ca.crt"]}
    if values.get("scheduler", {}).get("mode") != "config":
        assert secrets_of(objects, "sliced-scheduler") == {tls: ["ca.crt"], client: ["tls.crt", "tls.key"]}


def test_the_scheduler_shows_a_certificate_that_the_daemon_lets_call(helm, tmp_path):
    objects = helm.objects()
    tls = config_of(objects, "sliced")["server"]["tls"]
    extender = config_of(objects, "sliced-scheduler")["extenders"][0]["tlsConfig"]
    mounts = {each["name"]: each["mountPath"] for each in one(objects, "Deployment", "sliced-scheduler")[
        "spec"]["template"]["spec"]["containers"][0]["volumeMounts"]}
    assert (extender["certFile"], extender["keyFile"]) == (f"{mounts['client']}/tls.crt",
                                                           f"{mounts['client']}/tls.key")
    assert extender["caFile"] == f"{mounts['ca']}/ca.crt"
    pki = daemons.write_pki(objects, tmp_path)

    def openssl(*args):
        return subprocess.run(["openssl", *args], capture_output=True, text=True, check=False)
    verify = ("verify", "-purpose", "sslclient", "-CAfile")
    assert openssl(*verify, f"{pki}/client-ca.crt", f"{pki}/client.crt").returncode == 0
    subject = openssl("x509", "-noout", "-subject", "-in", f"{pki}/client.crt").stdout
    assert tls["clients"] == [{"name": subject.split("CN = ")[1].strip()}]
    # no other certificate of the chart is one to call with
    assert openssl(*verify, f"{pki}/client-ca.crt", f"{pki}/tls.crt").returncode != 0
    assert openssl("verify", "-CAfile", f"{pki}/ca.crt", f"{pki}/client.crt").returncode != 0


def test_a_handshake_is_cheap_for_the_daemon(helm):
    """Whoever reaches a port may begin one: with RSA each costs a millisecond of a processor."""
    for name in ("sliced-tls", "sliced-client"):
        key = base64.b64decode(one(helm.objects(), "Secret", name)["data"]["tls.key"])
        assert key.startswith(b"-----BEGIN EC PRIVATE KEY-----")


def ingress(objects):
    """{port: from} of the daemon's NetworkPolicy; None: from everywhere."""
    return {port["port"]: rule.get("from") for rule in one(objects, "NetworkPolicy", "sliced")["spec"]["ingress"]
            for port in rule["ports"]}


def test_each_port_is_open_to_its_callers(helm):
    scheduler = {"podSelector": {"matchLabels": one(helm.objects(), "Deployment", "sliced-scheduler")[
        "spec"]["selector"]["matchLabels"]}}
    own = VALUES["ports for few"]["networkPolicy"]
    assert ingress(helm.objects()) == {"https": [scheduler]}
    assert ingress(helm.objects(VALUES["webhook"])) == {"https": [scheduler], "webhook": None}
    assert ingress(helm.objects(VALUES["own scheduler"])) == {"https": None}
    assert ingress(helm.objects(VALUES["ports for few"])) == {
        "https": [scheduler, *own["from"]], "webhook": own["apiServerFrom"], "metrics": own["metricsFrom"]}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_every_port_of_the_daemon_is_one_that_it_listens_on(helm, values):
    objects = helm.objects(values)
    server = config_of(objects, "sliced")["server"]
    listens = {server[key] for key in ("listen", "webhookListen", "probeListen", "metricsListen")
               if key in server}
    container = one(objects, "Deployment", "sliced")["spec"]["template"]["spec"]["containers"][0]
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert {f"0.0.0.0:{each}" for each in ports.values()} == listens
    assert "apiListen" not in server  # 127.0.0.1, which kubectl port-forward reaches
    probes = {container[f"{which}Probe"]["httpGet"]["port"] for which in ("liveness", "readiness")}
    assert probes == {"probes"}
    assert {each["targetPort"] for each in one(objects, "Service", "sliced")["spec"]["ports"]} <= set(ports)
    assert ("webhook" in ports) == ("MutatingWebhookConfiguration" in gates(objects))


def test_your_own_scheduler_gets_only_its_configuration(helm):
    objects = helm.objects(VALUES["own scheduler"])
    assert not [each for each in objects
                if each["kind"] != "ConfigMap" and each["metadata"]["name"].startswith("sliced-scheduler")]
    extender = config_of(objects, "sliced-scheduler")["extenders"][0]
    assert extender["urlPrefix"] == "https://10.0.0.53/scheduler"
    assert extender["tlsConfig"]["serverName"] == SERVICE
    assert one(objects, "Service", "sliced")["spec"]["clusterIP"] == "10.0.0.53"


def test_the_certificate_is_for_the_name_that_the_scheduler_checks(helm, tmp_path):
    objects = helm.objects()
    pki = daemons.write_pki(objects, tmp_path)
    name = config_of(objects, "sliced-scheduler")["extenders"][0]["tlsConfig"]["serverName"]
    subprocess.run(["openssl", "verify", "-CAfile", f"{pki}/ca.crt", "-verify_hostname", name,
                    f"{pki}/tls.crt"], check=True, capture_output=True)


def test_every_mig_profile_that_sliced_knows_is_managed(helm):
    with open(os.path.join(ROOT, "src/core/mig/table.c"), encoding="ascii") as file:
        suffixes = re.findall(r'PROFILE\("[^"]+", "([^"]+)"', file.read())
    assert len(suffixes) > 50
    managed = {each["name"] for each in
               config_of(helm.objects(), "sliced-scheduler")["extenders"][0]["managedResources"]}
    assert {f"nvidia.com/mig-{suffix}" for suffix in suffixes} <= managed
    assert {"nvidia.com/gpu", "nvidia.com/gpu.shared", "aliyun.com/gpu-mem"} <= managed


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_the_daemon_takes_the_configuration(helm, values, tmp_path):
    path = tmp_path / "sliced.yaml"
    path.write_text(one(helm.objects(values), "ConfigMap", "sliced")["data"]["config.yaml"])
    done = subprocess.run([daemons.BIN, "--config", path, "--check-config"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr


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

    def rights(kind):
        return {(group, resource, verb)
                for rule in one(objects, kind, "sliced")["rules"]
                for group in rule["apiGroups"] for resource in rule["resources"]
                for verb in rule["verbs"]}
    assert rights("ClusterRole") == {
        ("", "nodes", "list"), ("", "nodes", "watch"),
        ("", "pods", "get"), ("", "pods", "list"), ("", "pods", "watch"), ("", "pods", "patch"),
        ("", "pods/status", "patch"), ("", "pods/binding", "create"),
        ("batch", "jobs", "list"), ("batch", "jobs", "watch"),
        ("events.k8s.io", "events", "create"), ("events.k8s.io", "events", "patch")}
    assert rights("Role") == {("coordination.k8s.io", "leases", verb)
                              for verb in ("create", "get", "update")}


GATES = {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration"}


def gates(objects):
    return {each["kind"]: each for each in objects if each["kind"] in GATES}


def test_the_gate_comes_by_what_the_cluster_has(helm):
    policy = {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}
    for minor, values, kinds, said in (
            ("1.36", {}, policy, "policy"),
            ("1.31", {}, {"MutatingWebhookConfiguration"}, "webhook"),
            ("1.36", {"queue": {"gate": "webhook"}}, {"MutatingWebhookConfiguration"}, "webhook"),
            ("1.31", {"queue": {"gate": "policy"}}, policy, "policy"),
            ("1.36", {"queue": {"gate": "none"}}, set(), "none"),
            ("1.36", {"queue": {"enabled": False, "gate": "policy"}}, set(), "none"),
            # whose authority nobody knows before the Secret is there
            ("1.31", VALUES["own secret"], set(), "none"),
            ("1.31", {**VALUES["own secret"], "queue": {"caBundle": "Y2E="}},
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
    webhook = gates(helm.objects(values, "1.31"))["MutatingWebhookConfiguration"]["webhooks"][0]
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
        conditions = (found["MutatingAdmissionPolicy"]["spec"] if minor == "1.36"
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
            # it is no way to stop the cluster's own pods, or ours
            assert each["spec"]["matchConstraints"]["namespaceSelector"]["matchExpressions"] == [
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn",
                 "values": ["kube-system", NAMESPACE]}]
            assert each["spec"]["matchConditions"][0]["name"] == "not-by-sliced-or-a-node"


def test_the_api_server_trusts_the_certificate_that_the_daemon_shows(helm):
    objects = helm.objects({}, "1.31")
    webhook = gates(objects)["MutatingWebhookConfiguration"]["webhooks"][0]
    secret = one(objects, "Secret", "sliced-tls")["data"]
    assert webhook["clientConfig"]["caBundle"] == secret["ca.crt"]


def test_the_manifests_are_what_the_chart_makes(tools):
    done = subprocess.run([os.path.join(ROOT, "scripts/render-manifests"), "--check"],
                          env={**os.environ, "HELM": os.path.join(tools, "helm")},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_image_holds_all_that_the_program_needs(tmp_path):
    """The image's root file system, made as its recipe does, runs the program in it."""
    root = tmp_path / "image"
    subprocess.run([os.path.join(ROOT, "deploy/image/collect"), daemons.BIN, root], check=True)
    ldd = subprocess.run(["ldd", daemons.BIN], capture_output=True, text=True, check=True).stdout
    for library in re.findall(r"(/\S+)", ldd):
        assert (root / library.lstrip("/")).is_file()
    assert not list(root.rglob("*sh"))
    if os.geteuid() == 0 and "libasan" not in ldd:
        said = subprocess.run(["chroot", "--userspec=65532:65532", root, "/usr/bin/sliced",
                               "--version"], capture_output=True, text=True, check=True).stdout
        assert said.startswith("sliced ")


def test_the_recipe_names_no_registry_and_no_root():
    with open(os.path.join(ROOT, "deploy/image/Dockerfile"), encoding="utf-8") as file:
        text = file.read()
    assert re.search(r"^USER 65532", text, re.M) and re.search(r"^FROM scratch", text, re.M)
    assert not re.search(r"^(FROM|ARG BASE).*[a-z0-9]\.[a-z]+/", text, re.M)


# ---- against real API servers ----

def fresh_namespace(plane):
    try:
        plane.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    except ApiError as error:
        assert error.code == 409


@pytest.mark.both
@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_a_server_side_dry_run_takes_every_object(bare_plane, helm, values):
    fresh_namespace(bare_plane)
    for each in helm.objects(values, bare_plane.minor):
        bare_plane.create(each, dry_run=True)


@pytest.mark.both
def test_a_server_side_dry_run_takes_every_manifest(bare_plane):
    fresh_namespace(bare_plane)
    said = bare_plane.kubectl("apply", "--dry-run=server", "-f", MANIFESTS)
    assert said.count("(server dry run)") == len(chart.manifests())
    for each in chart.manifests():
        if each["kind"] != "Namespace":
            bare_plane.create(each, dry_run=True)  # strict: no unknown field
    for name, objects in chart.gate_manifests(bare_plane.minor).items():
        for each in objects:
            if name == "webhook":
                client = each["webhooks"][0]["clientConfig"]
                assert client["caBundle"] == "CA_BUNDLE"
                with open(bare_plane.ca.crt, "rb") as file:
                    client["caBundle"] = base64.b64encode(file.read()).decode()
            bare_plane.create(each, dry_run=True)


@pytest.mark.both
@pytest.mark.parametrize("mode", ["second", "config"])
def test_the_real_scheduler_takes_the_configuration(bare_plane, helm, tmp_path, mode):
    objects = helm.objects({"scheduler": {"mode": mode}}, bare_plane.minor)
    pki = daemons.write_pki(objects, tmp_path)
    config = daemons.scheduler_config(objects, "https://127.0.0.1:9", pki)
    bare_plane.start_scheduler(config, "config-test")
    bare_plane.stop_scheduler("config-test")


def install(plane, helm, *more):
    run = chart.Helm(os.path.dirname(helm.program), plane.kubeconfig).run
    return run("upgrade", "--install", "sliced", CHART, "--namespace", NAMESPACE, *more)


def set_ready(plane, pod):
    condition = {"status": "True"}
    plane.patch(object_path({**pod, "kind": "Pod"}) + "/status",
                {"status": {"conditions": [{"type": "Ready", **condition},
                                           {"type": "ContainersReady", **condition}]}},
                "application/strategic-merge-patch+json")


def two_daemons(plane):
    """The pods of the daemon, when there are two that run."""
    path = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=app.kubernetes.io/component%3Ddaemon"
    pods = [each for each in plane.get(path)["items"]
            if each["status"].get("podIP") and "deletionTimestamp" not in each["metadata"]]
    return pods if len(pods) == 2 else None


def evict(plane, pod):
    plane.post(object_path({**pod, "kind": "Pod"}) + "/eviction", {
        "apiVersion": "policy/v1", "kind": "Eviction",
        "metadata": {"name": pod["metadata"]["name"], "namespace": NAMESPACE}})


@pytest.mark.both
def test_installed_drained_and_upgraded_while_one_alone_is_ever_ready(bare_plane, helm):
    """Readiness is leadership, so Kubernetes never sees more than one replica available. A drain must
    get past that, and a roll-out come to its end."""
    plane = bare_plane
    fresh_namespace(plane)
    plane.create(gpus.node("infra", {}))
    never = ["--set", "podAnnotations.sliced\\.dev/e2e-never-ready=yes"]
    plane.start_scheduler({}, "install-test")
    secrets = [f"/api/v1/namespaces/{NAMESPACE}/secrets/{name}" for name in ("sliced-tls", "sliced-client")]
    budget = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets/sliced"
    try:
        install(plane, helm, *never)
        leader, standby = wait_for("two replicas", lambda: two_daemons(plane))
        certificates = [plane.get(each)["data"] for each in secrets]

        # the leader may be drained, and then nobody until another leads
        set_ready(plane, leader)
        wait_for("the budget", lambda: plane.get(budget)["status"]["disruptionsAllowed"] == 1)
        evict(plane, leader)
        wait_for("nobody leads", lambda: plane.get(budget)["status"]["currentHealthy"] == 0)
        with pytest.raises(ApiError, match="disruption budget"):
            evict(plane, standby)
        wait_for("a new standby", lambda: two_daemons(plane))
        set_ready(plane, standby)
        wait_for("it leads", lambda: plane.get(budget)["status"]["disruptionsAllowed"] == 1)

        # an upgrade replaces both, though the new ones are not ready either
        old = {each["metadata"]["uid"] for each in two_daemons(plane)}
        install(plane, helm, *never, "--set", "config.log.level=debug")

        def replaced():
            pods = two_daemons(plane)
            return pods and not old & {each["metadata"]["uid"] for each in pods}
        wait_for("the roll-out", replaced)
        assert [plane.get(each)["data"] for each in secrets] == certificates, "they changed"

        # who is let in under another name is given a certificate for it
        install(plane, helm, *never, "--set", "tls.clientNames={other}")
        mine, theirs = [plane.get(each)["data"] for each in secrets]
        assert mine == certificates[0] and theirs != certificates[1]
        subject = subprocess.run(["openssl", "x509", "-noout", "-subject"], check=True, capture_output=True,
                                 input=base64.b64decode(theirs["tls.crt"])).stdout
        assert b"CN = other" in subject
    finally:
        plane.stop_scheduler("install-test")
        chart.Helm(os.path.dirname(helm.program), plane.kubeconfig).run(
            "uninstall", "sliced", "--namespace", NAMESPACE)
        plane.delete("/api/v1/nodes/infra")
    left = plane.get("/apis/rbac.authorization.k8s.io/v1/clusterroles")["items"]
    assert not [each for each in left if each["metadata"]["name"].startswith("sliced")]
