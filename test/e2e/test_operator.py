"""An operator's evening: the chart installed by Helm on a real control plane where its pods are really run,
upgraded under load, broken on purpose, its leader killed."""

import base64
import os
import subprocess
import threading
import time

import pytest
import yaml

from harness import chart, gpus
from harness.api import ApiError
from harness.chart import CHART, NAMESPACE, SERVICE
from harness.checker import check
from harness.kubelet import NODE, Kubelet, answers
from harness.plane import Plane
from harness.process import wait_for

MIG = "nvidia.com/mig-1g.6gb"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/sliced"
# A lease that soon runs out, for stories in which it does.
BASE = {"nodeSelector": {"kubernetes.io/hostname": NODE}, "queue": {"gate": "none"},
        "config": {"leaderElection": {"leaseDuration": "12s", "renewDeadline": "9s", "retryPeriod": "500ms"}}}


class Evening:
    """A cluster with two nodes of GPUs and one on which the chart's pods run."""

    def __init__(self, plane, helm):
        self.plane = plane
        self.kubelet = Kubelet(plane, plane.folder)
        self.helm = chart.Helm(os.path.dirname(helm.program), plane.kubeconfig)

    def install(self, *more, check=True):
        """helm upgrade --install with BASE; more: what --set takes."""
        sets = [word for each in more for word in ("--set", each)]
        return self.helm.run("upgrade", "--install", "sliced", CHART, "--namespace", NAMESPACE,
                             "--create-namespace", "-f", "-", *sets, text=yaml.safe_dump(BASE), check=check)

    def rolled_out(self, name="sliced"):
        said = self.plane.kubectl("-n", NAMESPACE, "rollout", "status", "deployment", name, "--timeout", "120s")
        assert "successfully rolled out" in said

    def pods(self, component="daemon"):
        """{name: pod} of those that nobody deletes."""
        query = f"?labelSelector=app.kubernetes.io/component%3D{component}"
        return {each["metadata"]["name"]: each for each in self.plane.get(PODS + query)["items"]
                if "deletionTimestamp" not in each["metadata"]}

    def marked(self):
        """The names of the pods with the leader's label."""
        return [name for name, pod in self.pods().items()
                if pod["metadata"]["labels"].get("sliced.dev/leader") == "true"]

    def container(self, name):
        return next(each for each in self.kubelet.containers.values() if each.name == name)

    def leads(self, name):
        """Does that pod's daemon say so?"""
        container = self.container(name)
        return container.process.running() and answers(container.ports["probes"][1], "/readyz", None)

    def served(self):
        """The pods to which the Service leads, as its EndpointSlices say."""
        slices = self.plane.get(f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
                                "?labelSelector=kubernetes.io/service-name%3Dsliced")["items"]
        return {each["targetRef"]["name"] for one in slices for each in one["endpoints"] or []
                if each["conditions"].get("ready")}

    def wait_leader(self):
        """Until one pod has the label, leads, and is the only one that the Service leads to."""
        def found():
            names = self.marked()
            assert len(names) == 1, f"marked: {names}"
            assert self.leads(names[0]) and self.served() == {names[0]}, self.served()
            return names[0]
        return wait_for("one leader, marked and served", found, 120)

    def secret(self, name):
        data = self.plane.get(f"/api/v1/namespaces/{NAMESPACE}/secrets/{name}")["data"]
        return {key: base64.b64decode(text).decode() for key, text in data.items()}


@pytest.fixture(scope="module")
def installed(minor, tools, helm, tmp_path_factory):
    plane = Plane(minor, tmp_path_factory.mktemp(f"evening-{minor}"), tools)
    evening = None
    try:
        plane.start({})
        for each in (gpus.a30_mixed("gpu-1"), gpus.a30_mixed("gpu-2"), gpus.node(NODE, {})):
            plane.create(each)
        evening = Evening(plane, helm)
        evening.kubelet.start()
        evening.install()
        evening.rolled_out()
        evening.rolled_out("sliced-scheduler")
        yield evening
    finally:
        if evening is not None:
            evening.kubelet.stop()
        plane.stop()


@pytest.fixture
def evening(installed, request):
    """As it was installed; after the story nothing may be given twice."""
    failed_before = request.session.testsfailed
    installed.install()
    installed.rolled_out()
    yield installed
    if request.session.testsfailed > failed_before:
        print(installed.kubelet.logs(), "\n".join(installed.kubelet.trouble[-5:]))
    pods = installed.plane.get("/api/v1/pods")["items"]
    assert not check(installed.plane.get("/api/v1/nodes")["items"], pods)
    installed.plane.delete("/api/v1/namespaces/default/pods", 0)
    wait_for("no pods left", lambda: not installed.plane.get("/api/v1/namespaces/default/pods")["items"])


def create_until_bound(evening, name):
    evening.plane.create(gpus.pod(name, {MIG: 1}))
    wait_for(f"{name} bound", lambda: evening.plane.get(
        f"/api/v1/namespaces/default/pods/{name}")["spec"].get("nodeName"), 90)


# ---- certificates ----

def openssl(*args, text=None):
    return subprocess.run(["openssl", *args], input=text, capture_output=True, text=True, check=False)


def test_certificates_are_made_once_and_kept(evening, tmp_path):
    server, client = evening.secret("sliced-tls"), evening.secret("sliced-client")
    for name, text in (("ca", server["ca.crt"]), ("crt", server["tls.crt"]), ("client-ca", client["ca.crt"]),
                       ("client", client["tls.crt"])):
        (tmp_path / name).write_text(text)

    def verify(ca, crt, *more):
        return openssl("verify", "-CAfile", tmp_path / ca, *more, tmp_path / crt).returncode == 0
    assert verify("ca", "crt", "-purpose", "sslserver", "-verify_hostname", SERVICE)
    assert verify("client-ca", "client", "-purpose", "sslclient")
    # no other certificate of the chart is one to call with
    assert not verify("client-ca", "crt") and not verify("ca", "client")
    assert not verify("client-ca", "client", "-purpose", "sslserver")
    assert "CN = sliced-scheduler" in openssl("x509", "-noout", "-subject", text=client["tls.crt"]).stdout

    # the API server is told whom to trust, and an upgrade leaves that
    group = "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.visibility.sliced.dev"
    webhook = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/sliced-queue"
    evening.install("queue.gate=webhook")
    ca = base64.b64encode(server["ca.crt"].encode()).decode()

    def trusted():
        return (evening.plane.get(group)["spec"].get("caBundle") ==
                evening.plane.get(webhook)["webhooks"][0]["clientConfig"].get("caBundle") == ca)
    wait_for("webhook and group trust the authority", trusted, 120)
    evening.install("queue.gate=webhook", "config.log.level=debug")
    assert trusted()
    evening.install("queue.gate=none")
    assert (evening.secret("sliced-tls"), evening.secret("sliced-client")) == (server, client)
    assert evening.plane.get(group)["spec"]["caBundle"] == ca


def test_what_is_rendered_apart_and_applied_again_changes_nothing(evening):
    """As Argo CD does it: helm template, without a look at the cluster, and server-side apply."""
    def seen():
        group = evening.plane.get("/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.visibility.sliced.dev")
        return (evening.secret("sliced-tls"), evening.secret("sliced-client"), group["spec"],
                evening.plane.get(DEPLOYMENT)["metadata"]["generation"], set(evening.pods()),
                set(evening.pods("scheduler")), set(evening.pods("certs")))
    text = evening.helm.run("template", "sliced", CHART, "--namespace", NAMESPACE, "--kube-version",
                            chart.RELEASES[evening.plane.minor], "-f", "-", text=yaml.safe_dump(BASE))
    before = seen()
    assert before[2]["caBundle"]
    for _ in range(2):
        evening.plane.kubectl("apply", "--server-side", "--force-conflicts", "--field-manager", "argocd", "-f", "-",
                              text=text)
        assert seen() == before


def test_whom_the_daemon_knows_may_change_its_name(evening):
    before = evening.secret("sliced-client")
    evening.install("tls.clientNames={other,sliced-scheduler}")

    def renamed():
        found = evening.secret("sliced-client")
        return found if found["tls.crt"] != before["tls.crt"] else None
    after = wait_for("a certificate for the new name", renamed)
    assert "CN = other" in openssl("x509", "-noout", "-subject", text=after["tls.crt"]).stdout
    # what was signed before is still believed: the scheduler has not been restarted
    assert before["ca.crt"].strip() in after["ca.crt"]
    evening.rolled_out()
    create_until_bound(evening, "renamed")
    wait_for("the Job", lambda: [each for each in evening.plane.get(
        f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs")["items"] if each["status"].get("succeeded")])


def test_a_secret_that_is_missing_is_told_by_the_job(evening):
    """With Secrets of one's own: the Job that reads ca.crt says which is not there, and what it needs."""
    evening.install("tls.existingSecret=ours", "tls.clientSecret=theirs")
    logs = wait_for("the complaint", lambda: [
        each.process.log() for each in list(evening.kubelet.containers.values())
        if "ours" in " ".join(each.spec.get("args", [])) and "make it" in each.process.log()])
    assert "Secret sliced-system/ours: it is not there; make it, with the keys ca.crt, tls.crt and tls.key" in logs[0]
    # and nothing has stopped
    create_until_bound(evening, "meanwhile")


# ---- upgrades ----

class Load(threading.Thread):
    """Pods that come all the time, each for two seconds."""

    def __init__(self, plane):
        super().__init__(daemon=True)
        self.plane = plane
        self.ending = threading.Event()
        self.names = []

    def run(self):
        while not self.ending.wait(0.2):
            name = f"load-{len(self.names):03}"
            self.plane.create(gpus.pod(name, {MIG: 1}, runs="2s"))
            self.names.append(name)

    def bound(self):
        """Those with a node, and that all of them have one."""
        pods = {each["metadata"]["name"]: each for each in
                self.plane.get("/api/v1/namespaces/default/pods")["items"]}
        missing = [name for name in self.names if not pods[name]["spec"].get("nodeName")]
        assert not missing, f"{len(missing)} of {len(self.names)} not bound: {missing[:5]}"
        return pods


@pytest.mark.both
def test_upgraded_under_load(evening):
    load = Load(evening.plane)
    load.start()
    old = set(evening.pods())
    try:
        wait_for("load", lambda: len(load.names) > 5)
        evening.install("config.log.level=debug", "config.queue.order=fifo")
        evening.rolled_out()
        assert not old & set(evening.pods())
        seen = len(load.names)
        wait_for("more load", lambda: len(load.names) > seen + 5)
    finally:
        load.ending.set()
        load.join()
    pods = wait_for("all bound", load.bound, 120)
    waits = sorted(span_of(each)[0] - created_of(each) for each in pods.values())
    print(f"{len(waits)} pods came during the upgrade; the longest waits, in seconds: {waits[-3:]}")
    evening.wait_leader()
    # at no moment do two hold one instance: each pod's whole time on its node is looked at
    held = {}
    for pod in pods.values():
        place = (pod["spec"]["nodeName"], pod["metadata"]["annotations"]["sliced.dev/assignment"])
        held.setdefault(place, []).append(pod)
    for place, found in held.items():
        spans = sorted(span_of(each) for each in found)
        for (_, end), (begin, _) in zip(spans, spans[1:]):
            assert end <= begin, f"{place} held by two: {spans}"


def seconds(text):
    return time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


def created_of(pod):
    return seconds(pod["metadata"]["creationTimestamp"])


def span_of(pod):
    """From its binding to its end, in whole seconds as the API server has them."""
    conditions = {each["type"]: each for each in pod["status"]["conditions"]}
    ended = [each["state"]["terminated"].get("finishedAt") for each in pod["status"].get("containerStatuses", [])
             if "terminated" in each["state"]]
    end = seconds(ended[0]) if ended and ended[0] else float("inf")
    return seconds(conditions["PodScheduled"]["lastTransitionTime"]), end


def test_what_helm_cannot_see_the_init_container_refuses_and_nothing_stops(evening):
    """Two keys that contradict each other: the new pods do not begin, the old ones go on."""
    old = set(evening.pods())
    leader = evening.wait_leader()
    evening.install("config.leaderElection.renewDeadline=20s")

    def refused():
        for name, pod in evening.pods().items():
            for each in pod["status"].get("initContainerStatuses", []) if name not in old else []:
                return each["state"].get("terminated", {}).get("message")
        return None
    said = wait_for("a refusal", refused)
    assert "leaderElection.renewDeadline" in said and "less than" in said, said
    assert old <= set(evening.pods()) and evening.marked() == [leader]
    create_until_bound(evening, "meanwhile")
    evening.install()
    evening.rolled_out()
    assert evening.marked() == [leader], "the pods that were there are as wanted again"


@pytest.mark.parametrize("typo, why", [
    ("config.queue.ordr=fifo", "ordr"),
    ("config.queue.order=fifoo", "order"),
    ("replica=3", "replica"),
    ("scheduler.mode=thrid", "mode"),
    ("config.leaderElection.enabled=false", "replicas to 1"),
    ("config.server.probeListen=127.0.0.1:8081", "probeListen"),
    ("scheduler.name=default-scheduler", "default-scheduler"),
    ("serviceAccount.create=false", "serviceAccount.name")])
def test_a_typo_changes_nothing(evening, typo, why):
    before = evening.plane.get(DEPLOYMENT)["metadata"]["generation"], set(evening.pods())
    code, said = evening.install(typo, check=False)
    assert code != 0 and why in said, said
    assert (evening.plane.get(DEPLOYMENT)["metadata"]["generation"], set(evening.pods())) == before


# ---- the leader's label ----

@pytest.mark.both
def test_the_label_goes_where_the_lead_goes(evening):
    first = evening.wait_leader()
    evening.container(first).process.kill()
    second = evening.wait_leader()
    assert second != first
    # as the kubelet does; it comes back as a standby
    evening.container(first).process.start()
    wait_for("ready again", lambda: evening.container(first).ready)
    assert evening.wait_leader() == second
    # a container that is back at once has its pod's label still, and does not lead by it
    evening.container(second).process.kill()
    evening.container(second).process.start()
    leader = evening.wait_leader()
    create_until_bound(evening, "after-two-leaders")
    assert evening.wait_leader() == leader


def test_a_label_that_someone_else_writes_does_not_stay(evening):
    """Whoever may write pods of that namespace could send the scheduler to a standby."""
    leader = evening.wait_leader()
    other, = set(evening.pods()) - {leader}
    evening.plane.patch(f"{PODS}/{other}", {"metadata": {"labels": {"sliced.dev/leader": "true"}}})
    evening.plane.patch(f"{PODS}/{leader}", {"metadata": {"labels": {"sliced.dev/leader": None}}})
    assert evening.wait_leader() == leader


# ---- the other way round ----

def test_uninstalled_nothing_is_left_but_the_certificates(evening):
    evening.helm.run("uninstall", "sliced", "--namespace", NAMESPACE)
    left = evening.plane.get("/apis/rbac.authorization.k8s.io/v1/clusterroles")["items"]
    assert not [each for each in left if each["metadata"]["name"].startswith("sliced")]
    server = evening.secret("sliced-tls")
    wait_for("no pods", lambda: not evening.pods() and not evening.pods("scheduler"))
    with pytest.raises(ApiError):
        evening.plane.get(DEPLOYMENT)
    # installed again it goes on with the same
    evening.install()
    evening.rolled_out()
    assert evening.secret("sliced-tls") == server
