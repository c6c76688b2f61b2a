"""Plays the kubelet of the node infra-1 for the pods of the chart: it really runs sliced and
kube-scheduler, with the ConfigMap, Secret and service account of their pods, and tells the API server
what became of them. Paths and addresses are made local, that is all."""

import base64
import http.client
import os
import shutil
import socket
import ssl
import subprocess
import threading
import time

from . import chart
from .api import ApiError
from .forwarder import Forwarder
from .process import Process, free_port
from .sliced import BIN

NODE = "infra-1"
PODS = f"/api/v1/namespaces/{chart.NAMESPACE}/pods"


def answers(port, path, scheme):
    """Does the container at that port say 200?"""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    connection = (http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=10)
                  if scheme == "HTTPS" else http.client.HTTPConnection("127.0.0.1", port, timeout=10))
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


class Refused(Exception):
    """An init container of a pod ended with an error."""


class Container:
    """The one container of a pod of ours, running."""
    count = 0

    def __init__(self, kubelet, pod):
        # nobody calls it there; EndpointSlices have no loopback, and tell endpoints apart by it
        Container.count += 1
        self.ip = f"10.244.{Container.count // 250}.{Container.count % 250 + 1}"
        self.name = pod["metadata"]["name"]
        self.labels = {}
        self.spec = pod["spec"]["containers"][0]
        # one here for each of the container's; the API's is not among them, as it is on loopback
        self.ports = {each["name"]: (each["containerPort"], free_port())
                      for each in self.spec.get("ports", [])}
        self.port = self.ports["https"][1] if "https" in self.ports else free_port()
        self.ready = None
        self.root = os.path.join(kubelet.folder, self.name)
        self.files = {}  # path in the container -> path here
        self._mount(kubelet, pod)
        token = kubelet.plane.service_account_kubeconfig(
            self.name, chart.NAMESPACE, pod["spec"]["serviceAccountName"])
        config = self.files[self.config_path()]
        with open(config, encoding="utf-8") as file:
            text = file.read()
        for inside, outside in sorted(self.files.items(), reverse=True):
            text = text.replace(inside, outside)
        for inside, outside in self.ports.values():
            text = text.replace(f"0.0.0.0:{inside}", f"0.0.0.0:{outside}")
        text = text.replace("server:\n", f"server:\n  apiListen: 127.0.0.1:{free_port()}\n")
        text = text.replace(f"https://{chart.SERVICE}/", f"https://127.0.0.1:{kubelet.service.port}/")
        text = text.replace("clientConnection:\n", f"clientConnection:\n  kubeconfig: {token}\n")
        with open(config, "w", encoding="utf-8") as file:
            file.write(text)
        for each in pod["spec"].get("initContainers", []):
            self._run_first(each)
        if self.spec["name"] == "sliced":
            more = [each.replace("$(POD_NAME)", self.name) for each in self.spec["args"]
                    if each.startswith("--pod=")]
            argv = [BIN, "--config", config, "--kubeconfig", token, *more]
        else:
            argv = [os.path.join(kubelet.plane.bin, "kube-scheduler"), f"--config={config}",
                    f"--secure-port={self.port}", "--bind-address=127.0.0.1",
                    f"--authentication-kubeconfig={token}", f"--authorization-kubeconfig={token}",
                    f"--cert-dir={self.root}"]
        self.process = Process(self.name, argv, kubelet.folder).start()

    def _run_first(self, container):
        """An init container, on the files of the main one; what it says goes on where it fails."""
        argv = [self.files.get(each, each) for each in container["args"]]
        done = subprocess.run([BIN, *argv], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Refused(container["name"], done.returncode, done.stderr)

    def config_path(self):
        """Of the file that --config names."""
        words = " ".join(self.spec.get("command", []) + self.spec.get("args", []))
        return words.split("--config", 1)[1].lstrip("= ").split()[0]

    def _mount(self, kubelet, pod):
        volumes = {each["name"]: each for each in pod["spec"]["volumes"]}
        for mount in self.spec["volumeMounts"]:
            volume = volumes[mount["name"]]
            if "configMap" in volume:
                files = kubelet.read("configmaps", volume["configMap"]["name"])
            elif "secret" in volume:
                files = {key: base64.b64decode(text) for key, text in
                         kubelet.read("secrets", volume["secret"]["secretName"]).items()}
            else:
                continue  # the service account's token
            items = volume.get("secret", {}).get("items")
            wanted = {each["key"]: each["path"] for each in items} if items else {k: k for k in files}
            folder = self.root + mount["mountPath"]
            os.makedirs(folder, exist_ok=True)
            for key, name in wanted.items():
                data = files[key]
                path = os.path.join(folder, name)
                with open(path, "wb") as file:
                    file.write(data.encode() if isinstance(data, str) else data)
                self.files[f"{mount['mountPath']}/{name}"] = path

    def probe(self):
        probe = self.spec["readinessProbe"]["httpGet"]
        port = self.ports[probe["port"]][1] if probe["port"] in self.ports else self.port
        return self.process.running() and answers(port, probe["path"], probe.get("scheme"))


class Task:
    """The one container of a pod of a Job, begun again until it ends well."""

    def __init__(self, kubelet, pod):
        self.name = pod["metadata"]["name"]
        self.labels = {}
        self.ready = False
        self.spec = pod["spec"]["containers"][0]
        token = kubelet.plane.service_account_kubeconfig(
            self.name, chart.NAMESPACE, pod["spec"]["serviceAccountName"])
        self.process = Process(self.name, [BIN, *self.spec["args"], "--kubeconfig", token], kubelet.folder).start()

    def outcome(self):
        """The phase of its pod."""
        if self.process.running():
            return "Running"
        if self.process.child.returncode == 0:
            return "Succeeded"
        self.process.start()
        return "Running"


class Kubelet:
    """start() makes the node; stop() ends what runs on it."""

    def __init__(self, plane, folder):
        self.plane = plane
        self.folder = os.path.join(folder, "kubelet")
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self.containers = {}  # uid of the pod -> Container
        self.ended = []
        self.service = Forwarder(self._endpoint)
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.trouble = []
        self.selector = {"no": "service"}

    def start(self):
        self.thread.start()
        return self

    def stop(self):
        self.ending.set()
        self.thread.join()
        for container in self.containers.values():
            container.process.stop()
        self.service.close()

    def read_selector(self):
        """Of the Service; before it is there nothing is found by it."""
        path = f"/api/v1/namespaces/{chart.NAMESPACE}/services/sliced"
        try:
            return self.plane.get(path)["spec"]["selector"]
        except ApiError as error:
            if error.code != 404:
                raise
            return {"no": "service"}

    def read(self, plural, name):
        return self.plane.get(f"/api/v1/namespaces/{chart.NAMESPACE}/{plural}/{name}")["data"]

    def _endpoint(self):
        for container in list(self.containers.values()):
            if container.ready and self.selector.items() <= container.labels.items():
                return "127.0.0.1", container.port
        return None

    def logs(self):
        """The ends of the logs of the daemons."""
        return "\n".join(f"---- {each.name}\n{each.process.log()[-3000:]}"
                         for each in [*self.ended, *self.containers.values()]
                         if each.spec["name"] == "sliced")

    def _run(self):
        while not self.ending.wait(0.2):
            try:
                self.selector = self.read_selector()
                for pod in self.plane.get(f"{PODS}?fieldSelector=spec.nodeName%3D{NODE}")["items"]:
                    self._try(pod)
            except (ApiError, OSError, socket.timeout) as error:
                self.trouble.append(str(error))

    def _try(self, pod):
        """What a pod mounts may not be there yet; others do not wait for it."""
        try:
            self._sync(pod)
        except (ApiError, OSError, socket.timeout) as error:
            self.trouble.append(f"{pod['metadata']['name']}: {error}")

    def _sync(self, pod):
        uid = pod["metadata"]["uid"]
        container = self.containers.get(uid)
        if "deletionTimestamp" in pod["metadata"]:
            if container is not None:
                container.process.stop()
                self.ended.append(self.containers.pop(uid))
            self.plane.delete(f"{PODS}/{pod['metadata']['name']}", 0)
            return
        if container is None:
            try:
                kind = Task if pod["spec"]["restartPolicy"] == "OnFailure" else Container
                container = self.containers[uid] = kind(self, pod)
            except Refused as why:
                self._tell_refused(pod, *why.args)
                return
        if isinstance(container, Task):
            self._sync_task(pod, container)
            return
        container.labels = pod["metadata"]["labels"]
        ready = container.probe()
        if ready != container.ready:
            container.ready = ready
            self._tell(pod, container)

    def _sync_task(self, pod, task):
        phase = task.outcome()
        if phase == pod["status"].get("phase"):
            return
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        state = ({"running": {"startedAt": now}} if phase == "Running" else
                 {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}})
        self.plane.patch(f"{PODS}/{task.name}/status", {"status": {
            "phase": phase, "startTime": now, "containerStatuses": [{
                "name": task.spec["name"], "image": task.spec["image"], "imageID": "", "ready": False,
                "restartCount": 0, "state": state}]}}, "application/strategic-merge-patch+json")

    def _tell_refused(self, pod, name, code, message):
        self.plane.patch(f"{PODS}/{pod['metadata']['name']}/status", {"status": {
            "phase": "Pending", "initContainerStatuses": [{
                "name": name, "image": "", "imageID": "", "ready": False, "restartCount": 0,
                "state": {"terminated": {"exitCode": code, "reason": "Error", "message": message}}}]}},
            "application/strategic-merge-patch+json")

    def _tell(self, pod, container):
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        says = "True" if container.ready else "False"
        self.plane.patch(f"{PODS}/{pod['metadata']['name']}/status", {"status": {
            "phase": "Running", "podIP": container.ip, "podIPs": [{"ip": container.ip}],
            "startTime": pod["status"].get("startTime", now),
            "conditions": [{"type": kind, "status": says if "Ready" in kind else "True",
                            "lastTransitionTime": now}
                           for kind in ("Initialized", "ContainersReady", "Ready")],
            "containerStatuses": [{
                "name": container.spec["name"], "image": container.spec["image"], "imageID": "",
                "ready": container.ready, "started": True, "restartCount": 0,
                "state": {"running": {"startedAt": now}}}]}},
            "application/strategic-merge-patch+json")
