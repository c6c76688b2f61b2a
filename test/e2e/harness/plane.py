"""A real control plane on loopback: etcd, kube-apiserver, kube-controller-manager, kube-scheduler,
and KWOK in the kubelet's place. Every port is free-picked; everything lies in one folder."""

import json
import os
import shutil
import ssl
import subprocess
import urllib.request

import yaml

from . import pki
from .api import Api
from .process import Process, free_port, wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
CONTROLLERS = ("job-controller,serviceaccount-controller,serviceaccount-token-controller,"
               "garbage-collector-controller,namespace-controller,root-ca-certificate-publisher-controller,"
               "disruption-controller,deployment-controller,replicaset-controller,"
               "daemonset-controller,endpointslice-controller,clusterrole-aggregation-controller,"
               "resourcequota-controller")


def tools():
    """The folder of the binaries that test/e2e/build-tools made."""
    script = os.path.join(os.path.dirname(HERE), "build-tools")
    return subprocess.run([script], check=True, stdout=subprocess.PIPE,
                          text=True).stdout.strip()


class Plane:
    """One cluster. start() waits until it is ready; stop() ends all of it."""

    def __init__(self, minor, folder, tools_dir=None):
        self.minor = minor
        self.folder = str(folder)
        self.tools = tools_dir or tools()
        self.bin = os.path.join(self.tools, minor)
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.processes = {}
        self.restarts = 0
        os.makedirs(self.folder, exist_ok=True)

    # ---- life ----

    def start(self, scheduler_config=None):
        """scheduler_config: a KubeSchedulerConfiguration as a dict, or None for no scheduler."""
        self._make_credentials()
        self._start_etcd()
        self.start_apiserver()
        self._start_controllers()
        self._start_kwok()
        if scheduler_config is not None:
            self.start_scheduler(scheduler_config)
        wait_for("service account default", lambda: self.get(
            "/api/v1/namespaces/default/serviceaccounts/default"), timeout=120)
        return self

    def stop(self):
        """At once: nobody wants its data, only the logs."""
        for process in self.processes.values():
            process.kill()
        self.processes.clear()
        shutil.rmtree(os.path.join(self.folder, "etcd"), ignore_errors=True)

    def _run(self, name, argv):
        # etcd 3.4 cannot tell the progress of a watch, which streamed lists need
        process = Process(name, argv, self.folder,
                          {"KUBE_FEATURE_WatchListClient": "false"}).start()
        self.processes[name] = process
        return process

    def _make_credentials(self):
        self.ca = pki.Authority(os.path.join(self.folder, "pki"))
        self.serving = self.ca.issue("apiserver", "kube-apiserver",
                                     hosts=("127.0.0.1", "localhost", "kubernetes.default.svc"))
        # by which it shows other API servers, to which it forwards requests, who it is
        self.front_proxy = pki.Authority(os.path.join(self.folder, "pki"), "front-proxy-ca")
        self.front_proxy_pair = self.front_proxy.issue("front-proxy", "front-proxy-client")
        self.sa_key, self.sa_pub = pki.signing_key(os.path.join(self.folder, "pki", "sa"))
        self.kubeconfigs = {
            "admin": self.client_kubeconfig("admin", "admin", "system:masters"),
            "scheduler": self.client_kubeconfig("scheduler", "system:kube-scheduler"),
            "controllers": self.client_kubeconfig("controllers", "system:kube-controller-manager"),
            "kwok": self.client_kubeconfig("kwok", "kwok", "system:masters"),
        }
        self.kubeconfig = self.kubeconfigs["admin"]
        self.context = ssl.create_default_context(cafile=self.ca.crt)
        self.context.load_cert_chain(*self._pair("admin"))
        self.api = Api(self.url, self.context)

    def _pair(self, name):
        return (os.path.join(self.folder, "pki", f"{name}.crt"),
                os.path.join(self.folder, "pki", f"{name}.key"))

    def write_kubeconfig(self, name, user, server=None):
        """A kubeconfig file with that user entry (as in a kubeconfig's users[].user)."""
        path = os.path.join(self.folder, f"{name}.kubeconfig")
        with open(path, "w", encoding="utf-8") as file:
            yaml.safe_dump({
                "apiVersion": "v1", "kind": "Config", "current-context": "e2e",
                "clusters": [{"name": "e2e", "cluster": {
                    "server": server or self.url, "certificate-authority": self.ca.crt}}],
                "users": [{"name": name, "user": user}],
                "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": name}}],
            }, file)
        return path

    def client_kubeconfig(self, name, common_name, organisation=None):
        crt, key = self.ca.issue(name, common_name, organisation)
        return self.write_kubeconfig(name, {"client-certificate": crt, "client-key": key})

    def service_account_kubeconfig(self, name, namespace, account, seconds=3600):
        """A kubeconfig whose token is what a pod of that service account would get."""
        token = self.token(namespace, account, seconds)
        path = os.path.join(self.folder, f"{name}.token")
        with open(path, "w", encoding="ascii") as file:
            file.write(token)
        return self.write_kubeconfig(name, {"tokenFile": path})

    def token(self, namespace, account, seconds=3600, bound_to=None):
        """bound_to: an object with whose end the token ends."""
        answer = self.post(
            f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
             "spec": {"expirationSeconds": seconds, "boundObjectRef": bound_to and {
                 "apiVersion": "v1", "kind": bound_to["kind"], "name": bound_to["metadata"]["name"],
                 "uid": bound_to["metadata"]["uid"]}}})
        return answer["status"]["token"]

    # ---- parts ----

    def _start_etcd(self):
        client, peer = free_port(), free_port()
        self.etcd_url = f"http://127.0.0.1:{client}"
        self._run("etcd", [
            "etcd", "--data-dir", os.path.join(self.folder, "etcd"), "--unsafe-no-fsync",
            "--listen-client-urls", self.etcd_url, "--advertise-client-urls", self.etcd_url,
            "--listen-peer-urls", f"http://127.0.0.1:{peer}",
            "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
            "--initial-cluster", f"default=http://127.0.0.1:{peer}",
            "--log-level", "warn"])
        wait_for("etcd", lambda: urllib.request.urlopen(
            f"{self.etcd_url}/health", timeout=5).status == 200)

    def start_apiserver(self, extra=()):
        crt, key = self.serving
        self._run("kube-apiserver", [
            os.path.join(self.bin, "kube-apiserver"),
            f"--etcd-servers={self.etcd_url}", f"--secure-port={self.port}",
            "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
            # since 1.37 no endpoint may be a loopback address: the Service kubernetes has none
            "--endpoint-reconciler-type=none",
            f"--cert-dir={self.folder}/pki", f"--tls-cert-file={crt}",
            f"--tls-private-key-file={key}", f"--client-ca-file={self.ca.crt}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self.sa_pub}",
            f"--service-account-signing-key-file={self.sa_key}",
            f"--requestheader-client-ca-file={self.front_proxy.crt}",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={self.front_proxy_pair[0]}",
            f"--proxy-client-key-file={self.front_proxy_pair[1]}",
            "--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/24",
            "--enable-admission-plugins=NodeRestriction",
            # without it a new node stays tainted not-ready until a node controller comes along
            "--disable-admission-plugins=TaintNodesByCondition", "--profiling=false",
            # with etcd 3.4 the API server would refuse the watches that KWOK begins at version 0
            "--feature-gates=WatchList=false",
            "--max-requests-inflight=3000", "--max-mutating-requests-inflight=1000", *extra])
        self.wait_apiserver()

    def wait_apiserver(self):
        def ready():
            self.processes["kube-apiserver"].assert_running()
            return self.get("/readyz", raw=True) == "ok"
        wait_for("kube-apiserver", ready, timeout=120)

    def restart_apiserver(self):
        """As after a crash."""
        self.processes["kube-apiserver"].kill()
        self.restarts += 1
        self.start_apiserver()

    def _start_controllers(self):
        self._run("kube-controller-manager", [
            os.path.join(self.bin, "kube-controller-manager"),
            f"--kubeconfig={self.kubeconfigs['controllers']}",
            f"--authentication-kubeconfig={self.kubeconfigs['controllers']}",
            f"--authorization-kubeconfig={self.kubeconfigs['controllers']}",
            f"--secure-port={free_port()}", "--bind-address=127.0.0.1", "--leader-elect=false",
            f"--cert-dir={self.folder}/pki/controllers",
            f"--service-account-private-key-file={self.sa_key}", f"--root-ca-file={self.ca.crt}",
            "--use-service-account-credentials=true", f"--controllers={CONTROLLERS}",
            "--kube-api-qps=500", "--kube-api-burst=1000"])

    def start_scheduler(self, config, name="kube-scheduler", kubeconfig=None, elects=False):
        """config: KubeSchedulerConfiguration; what concerns this harness is filled in. elects: it
        keeps its leader election."""
        port = free_port()
        kubeconfig = kubeconfig or self.kubeconfigs["scheduler"]
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"qps": 5000, "burst": 5000}, **config}
        config["clientConnection"] = {**config["clientConnection"], "kubeconfig": kubeconfig}
        if not elects:
            config["leaderElection"] = {"leaderElect": False}
        path = os.path.join(self.folder, f"{name}.yaml")
        with open(path, "w", encoding="utf-8") as file:
            yaml.safe_dump(config, file)
        process = self._run(name, [
            os.path.join(self.bin, "kube-scheduler"), f"--config={path}",
            f"--secure-port={port}", "--bind-address=127.0.0.1",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            f"--cert-dir={self.folder}/pki/{name}"])

        def ready():
            process.assert_running()
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            return urllib.request.urlopen(f"https://127.0.0.1:{port}/readyz", context=context,
                                          timeout=10).status == 200
        wait_for(name, ready, timeout=120)
        return process

    def stop_scheduler(self, name="kube-scheduler"):
        self.processes.pop(name).stop()

    def _start_kwok(self):
        self._run("kwok", [
            os.path.join(self.tools, "kwok"), f"--kubeconfig={self.kubeconfigs['kwok']}",
            f"--config={HERE}/stages.yaml", "--manage-all-nodes",
            "--node-lease-duration-seconds=0", f"--server-address=127.0.0.1:{free_port()}"])

    # ---- the API, by the administrator ----

    def get(self, path, raw=False):
        return self.api.get(path, raw)

    def post(self, path, body):
        return self.api.post(path, body)

    def patch(self, path, body, content_type="application/merge-patch+json"):
        return self.api.patch(path, body, content_type)

    def delete(self, path, grace_seconds=None, propagation=None):
        return self.api.delete(path, grace_seconds, propagation)

    def create(self, manifest, dry_run=False):
        return self.api.create(manifest, dry_run)

    def acting_as(self, user):
        """The API as that user sees it."""
        return Api(self.url, self.context, user=user)

    def compact(self):
        """Makes etcd forget all but the present; an API server that starts after it cannot tell what
        happened before."""
        def call(path, body):
            request = urllib.request.Request(self.etcd_url + path, json.dumps(body).encode())
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        revision = call("/v3/kv/range", {"key": "AA=="})["header"]["revision"]
        call("/v3/kv/compaction", {"revision": revision, "physical": True})

    def kubectl_command(self, *args, kubeconfig=None):
        return [os.path.join(self.bin, "kubectl"), f"--kubeconfig={kubeconfig or self.kubeconfig}",
                f"--cache-dir={self.folder}/kubectl-cache", *args]

    def kubectl(self, *args, text=None, check=True, kubeconfig=None):
        """Runs the real kubectl; returns its output, or what it complains of."""
        done = subprocess.run(
            self.kubectl_command(*args, kubeconfig=kubeconfig),
            input=text, capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, f"kubectl {' '.join(args)}: {done.stderr}"
        return done.stdout or done.stderr if not check else done.stdout
