"""What a story is told on: a control plane with the chart's objects in it, the scheduler that the chart
configures, and the daemons, reached by the scheduler through a Service."""

import base64
import concurrent.futures
import os
import shutil
import urllib.parse

from . import chart, gpus, pki
from . import sliced as daemons
from .api import ApiError, collection_path, object_path
from .checker import check
from .forwarder import Forwarder
from .process import free_port, wait_for

# The chart's Deployments are not started as pods: their programs run here, beside the API server.
# What puts the gate on pods is there for the stories that are about it: see Cluster.put_up_gate.
GATES = ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration")
NOT_CREATED = ("Deployment", "Job", "CronJob", "APIService", *GATES)
SCHEDULER = "sliced-scheduler"
# Of the namespace default: what makes pods or protects them.
WORKLOADS = (collection_path("Job"), collection_path("PodDisruptionBudget"),
             *(f"/apis/apps/v1/namespaces/default/{plural}"
               for plural in ("deployments", "replicasets", "daemonsets", "statefulsets")))


GATE = "sliced.dev/queue"
VISIBILITY = "sliced-visibility"  # a Service of the stories' own
SERVICE_END = chart.SERVICE.removeprefix("sliced")
GROUP_PATH = "/apis/visibility.sliced.dev/v1alpha1"


def gates_of(pod):
    return [each["name"] for each in pod["spec"].get("schedulingGates", [])]


def ensure_namespace(plane, name):
    """Until pods can be made there."""
    try:
        plane.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    except ApiError as error:
        assert error.code == 409, error
    wait_for("its service account",
             lambda: plane.get(f"/api/v1/namespaces/{name}/serviceaccounts/default"))


def write_token(path, token):
    """As the kubelet does when it renews a token: by a rename."""
    with open(f"{path}.new", "w", encoding="ascii") as file:
        file.write(token)
    os.rename(f"{path}.new", path)


class Cluster:
    def __init__(self, plane, helm):
        self.plane = plane
        self.helm = helm
        self.objects = helm.objects({"queue": {"gate": "none"}}, plane.minor)
        self.count = 0
        self.authority = pki.Authority(os.path.join(plane.folder, "authority"), "sliced-ca")
        self.clients = pki.Authority(os.path.join(plane.folder, "clients"), "sliced-client-ca")
        self.pki = self.new_pki("tls")
        self.count = 0
        self.replicas = []
        self.service = Forwarder(lambda: self._leader("port"))
        self.webhook = Forwarder(lambda: self._leader("webhook_port"))
        self.visibility = Forwarder(lambda: self._leader("visibility_port"))

    def start(self):
        plane = self.plane
        plane.create({"apiVersion": "v1", "kind": "Namespace",
                      "metadata": {"name": chart.NAMESPACE}})
        for each in self.objects:
            if each["kind"] not in NOT_CREATED:
                plane.create(each)
        self.scheduler_user = plane.service_account_kubeconfig(
            "sliced-scheduler", chart.NAMESPACE, "sliced-scheduler")
        self.start_scheduler()
        return self

    def stop(self):
        self.stop_daemons()
        self.service.close()
        self.webhook.close()
        self.visibility.close()
        self.plane.stop()

    def new_pki(self, name):
        """A folder as daemons.new_pki makes it, of the authorities of this cluster."""
        folder = os.path.join(self.plane.folder, name)
        os.makedirs(folder, exist_ok=True)
        shutil.copy(self.authority.crt, os.path.join(folder, "ca.crt"))
        self.renew_certificate(folder)
        shutil.copy(self.clients.crt, os.path.join(folder, "client-ca.crt"))
        for file in self.clients.issue(f"{name}-client", "sliced-scheduler"):
            shutil.copy(file, os.path.join(folder, "client" + os.path.splitext(file)[1]))
        return folder

    def renew_certificate(self, folder):
        """A fresh server certificate into the folder, file by file as a rename."""
        self.count += 1
        for file in self.authority.issue(f"server-{self.count}", chart.SERVICE, hosts=(
                chart.SERVICE, "127.0.0.1", "localhost", VISIBILITY + SERVICE_END)):
            path = os.path.join(folder, "tls" + os.path.splitext(file)[1])
            shutil.copy(file, f"{path}.new")
            os.rename(f"{path}.new", path)

    def _leader(self, port):
        """The endpoint of a port of the Service: a replica that is ready."""
        for replica in list(self.replicas):
            if replica.process and replica.process.running():
                try:
                    if replica.get("/readyz")[0] == 200:
                        return "127.0.0.1", getattr(replica, port)
                except OSError:
                    pass
        return None

    # ---- programs ----

    def start_scheduler(self, over=None, name="kube-scheduler", objects=None):
        """The chart's scheduler; over changes its extender's entry."""
        config = daemons.scheduler_config(
            objects or self.objects, f"https://127.0.0.1:{self.service.port}", self.pki, over)
        # not ten seconds, for which stories would wait
        config["podMaxBackoffSeconds"] = 3
        return self.plane.start_scheduler(config, name, self.scheduler_user)

    def new_daemon(self, name=None, config=None, folder=None):
        """A replica, not yet started."""
        self.count += 1
        name = name or f"sliced-{self.count}"
        # the way to the API server, which a story may cut
        cable = Forwarder(lambda: ("127.0.0.1", self.plane.port))
        token = os.path.join(self.plane.folder, f"{name}.token")
        write_token(token, self.plane.token(chart.NAMESPACE, "sliced"))
        kubeconfig = self.plane.write_kubeconfig(name, {"tokenFile": token},
                                                 f"https://127.0.0.1:{cable.port}")
        replica = daemons.Sliced(name, self.plane.folder, kubeconfig, self.objects,
                                 folder or self.pki, config, free_port())
        replica.cable = cable
        replica.token = token
        self.replicas.append(replica)
        return replica

    def start_daemon(self, **more):
        return self.new_daemon(**more).start()

    def stop_daemons(self):
        for replica in self.replicas:
            replica.stop()

    def allow(self, values):
        """Gives the daemon the further rights which the chart has with those values; returns the objects."""
        def named(objects):
            return {object_path(each): each for each in objects if "Role" in each["kind"]}
        more = named(self.helm.objects(values, self.plane.minor))
        more = [each for path, each in more.items() if path not in named(self.objects)]
        self.add(*more)
        return more

    # ---- the gate ----

    @property
    def gate(self):
        """queue.gate of the daemon, as the chart sets it for what put_up_gate puts up here."""
        objects = self.helm.objects({}, self.plane.minor)
        return {"queue": {"gate": chart.config_of(objects, "sliced")["queue"]["gate"]}}

    def put_up_gate(self, values=None):
        """What the chart has for this version to put the gate on pods; until it does. A webhook is
        called at the Service's forwarder, as nothing here resolves the Service's name. An earlier story's is
        waited for to be gone: else it would be seen in the place of this one, which pods that come next lack."""
        probe = gpus.pod("probe", {"nvidia.com/gpu": 1})
        wait_for("no gate is put on pods", lambda: not gates_of(self.plane.create(probe, dry_run=True)))
        made = [each for each in self.helm.objects(values or {}, self.plane.minor)
                if each["kind"] in GATES]
        for each in made:
            for webhook in each.get("webhooks", []):
                webhook["timeoutSeconds"] = 10  # a stall of the machine is to let no pod through
                path = webhook["clientConfig"]["service"]["path"]
                with open(self.authority.crt, "rb") as file:
                    webhook["clientConfig"] = {
                        "url": f"https://127.0.0.1:{self.webhook.port}{path}",
                        "caBundle": base64.b64encode(file.read()).decode()}
            self.plane.create(each)
        return {each["kind"] for each in made}

    def wait_gate(self, manifest):
        """Until the gate is put on such a pod."""
        wait_for("the gate is put on pods",
                 lambda: gates_of(self.plane.create(manifest, dry_run=True)) == [GATE])

    def take_down_gate(self):
        for kind in GATES:
            try:
                for each in self.list(kind):
                    self.plane.delete(object_path({**each, "kind": kind}))
            except ApiError as error:
                assert error.code == 404, error  # no such kind in this version

    # ---- what users see ----

    def put_up_visibility(self):
        """The chart's APIService, until it is available. Its Service leads to the leader's forwarder."""
        api_service = chart.one(self.objects, "APIService", "v1alpha1.visibility.sliced.dev")
        with open(self.authority.crt, "rb") as file:
            api_service = {**api_service, "spec": {
                **api_service["spec"], "caBundle": base64.b64encode(file.read()).decode(),
                "service": {"name": VISIBILITY, "namespace": chart.NAMESPACE,
                            "port": self.visibility.port}}}
        self.add({"apiVersion": "v1", "kind": "Service",
                  "metadata": {"name": VISIBILITY, "namespace": chart.NAMESPACE},
                  "spec": {"type": "ExternalName", "externalName": "localhost"}}, api_service)
        wait_for("the APIService", self.visibility_available, 90)

    def visibility_available(self):
        status = self.plane.get(object_path({"kind": "APIService", "metadata": {
            "name": "v1alpha1.visibility.sliced.dev"}})).get("status", {})
        state = {each["type"]: each for each in status.get("conditions", [])}.get("Available", {})
        assert state.get("status") == "True", state
        return self.plane.get(GROUP_PATH)

    def take_down_visibility(self):
        for kind, metadata in (("APIService", {"name": "v1alpha1.visibility.sliced.dev"}),
                               ("Service", {"name": VISIBILITY, "namespace": chart.NAMESPACE})):
            try:
                self.plane.delete(object_path({"kind": kind, "metadata": metadata}))
            except ApiError as error:
                assert error.code == 404, error  # it was not up

    # ---- objects ----

    def add(self, *manifests):
        """Creates them, in order when they are few."""
        if len(manifests) < 8:
            return [self.plane.create(each) for each in manifests]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            return list(pool.map(self.plane.create, manifests))

    def list(self, kind, namespace="default"):
        return self.plane.get(collection_path(kind, namespace))["items"]

    def nodes(self):
        return self.list("Node")

    def pods(self):
        """All pods of all namespaces, by name."""
        return {each["metadata"]["name"]: each for each in self.plane.get("/api/v1/pods")["items"]}

    def pod(self, name):
        return self.plane.get(f"{collection_path('Pod')}/{name}")

    def delete_pod(self, name, grace_seconds=0):
        return self.plane.delete(f"{collection_path('Pod')}/{name}", grace_seconds)

    def annotate(self, name, **annotations):
        return self.plane.patch(f"{collection_path('Pod')}/{name}",
                                {"metadata": {"annotations": annotations}})

    def ungate(self, name):
        return self.plane.patch(f"{collection_path('Pod')}/{name}",
                                {"spec": {"schedulingGates": None}})

    def wait_bound(self, *names, timeout=90):
        """Until all of those pods have a node; returns the pods, by name."""
        def bound():
            pods = self.pods()
            missing = [name for name in names if not pods.get(name, {}).get("spec", {}).get("nodeName")]
            assert not missing, f"{len(missing)} not bound: {missing[:5]} {self.why(missing[0])}"
            return pods
        return wait_for("pods bound", bound, timeout)

    def wait_phase(self, name, phase, timeout=60):
        return wait_for(f"{name} {phase}",
                        lambda: self.pod(name)["status"].get("phase") == phase, timeout)

    def events(self, name, reason=None):
        """The events on a pod, as kubectl describe shows them."""
        query = urllib.parse.quote(f"involvedObject.name={name}")
        found = self.plane.get(f"/api/v1/namespaces/default/events?fieldSelector={query}")["items"]
        return [each for each in found if reason is None or each["reason"] == reason]

    def why(self, name):
        """For messages of failed waits."""
        try:
            return [f"{each['reason']}: {each['message']}" for each in self.events(name)][-3:]
        except ApiError as error:
            return [str(error)]

    def wait_event(self, name, text, source=None, timeout=60):
        """Until an event on the pod has the text in its message; returns the event."""
        def found():
            for each in self.events(name):
                component = each.get("reportingComponent") or each["source"].get("component", "")
                if text in each["message"] and (source is None or source in component):
                    return each
            raise AssertionError(self.why(name))
        return wait_for(f"an event on {name} with {text!r}", found, timeout)

    # ---- between stories ----

    def wrong(self):
        """What the independent checker finds."""
        return check(self.nodes(), self.pods().values())

    def clear(self):
        """No daemons, workloads, pods, nodes, events: as new. What else a story makes, it removes: the
        next one stands on the same control plane."""
        for replica in self.replicas:
            if replica.process and replica.process.running():
                replica.kill()
            replica.cable.close()
        self.replicas.clear()
        for path in WORKLOADS:
            self.plane.delete(path, 0, "Background")
        for name, pod in self.pods().items():
            del name
            if pod["metadata"]["namespace"] == "default":
                self.plane.delete(collection_path("Pod"), 0)
                break
        for path in (collection_path("Node"), "/api/v1/namespaces/default/events",
                     f"/apis/coordination.k8s.io/v1/namespaces/{chart.NAMESPACE}/leases"):
            self.plane.delete(path, 0)
        for each in self.list("PriorityClass"):
            if not each["metadata"]["name"].startswith("system-"):
                self.plane.delete(object_path({**each, "kind": "PriorityClass"}))
        self.take_down_gate()
        wait_for("no pods left", lambda: not self.list("Pod"), 60)
