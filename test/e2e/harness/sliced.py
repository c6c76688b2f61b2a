"""The daemon under test: deploy's own configuration, with only addresses, paths and the lease's periods
made ours; the chart's rights, by a token of its service account."""

import copy
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl

import yaml

from . import chart, pki
from .process import Process, free_port, wait_for

BIN = os.environ.get("SLICED_BIN", os.path.join(chart.ROOT, "build/dev/src/daemon/sliced"))
# As shipped but for the retries: a machine under load, or an API server that starts anew, must not cost
# the lead. Stories in which a lease runs out take the shorter one.
LEASE = {"leaseDuration": "15s", "renewDeadline": "10s", "retryPeriod": "500ms"}
SHORT_LEASE = {"leaderElection": {"leaseDuration": "12s", "renewDeadline": "9s"}}


def merge(base, over):
    """over laid upon base, maps key by key."""
    out = copy.deepcopy(base)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(out.get(key), dict)
        out[key] = merge(out[key], value) if both else value
    return out


class Sliced:
    """One replica. name is also the name of its log."""

    def __init__(self, name, folder, kubeconfig, objects, pki, config=None, port=None):
        """objects: what the chart made; pki: a folder as new_pki makes it."""
        self.name = name
        self.folder = folder
        self.kubeconfig = kubeconfig
        self.pki = pki
        self.port = port or free_port()
        self.webhook_port, self.api_port = free_port(), free_port()
        self.visibility_port = free_port()
        # As shipped: not on loopback, so that the verbs are for kube-scheduler's certificate alone.
        own = {"server": {"listen": f"0.0.0.0:{self.port}",
                          "webhookListen": f"0.0.0.0:{self.webhook_port}",
                          "visibilityListen": f"0.0.0.0:{self.visibility_port}",
                          "probeListen": f"0.0.0.0:{free_port()}",
                          "metricsListen": f"0.0.0.0:{free_port()}",
                          "apiListen": f"127.0.0.1:{self.api_port}",
                          "tls": {"certFile": f"{pki}/tls.crt", "keyFile": f"{pki}/tls.key",
                                  "clientCAFile": f"{pki}/client-ca.crt"}},
               "leaderElection": LEASE}
        shipped = chart.config_of(objects, "sliced")
        self.config = merge(merge(shipped, own), config or {})
        self.config_path = os.path.join(folder, f"{name}.config.yaml")
        self.write_config(self.config)
        self.process = None

    def write_config(self, config):
        self.config = config
        with open(self.config_path, "w", encoding="utf-8") as file:
            yaml.safe_dump(config, file)

    # ---- life ----

    def launch(self):
        """Starts it and does not wait."""
        self.process = Process(self.name, [
            BIN, "--config", self.config_path, "--kubeconfig", self.kubeconfig], self.folder).start()
        return self

    def start(self):
        """Starts it and waits until it leads and is in sync."""
        return self.launch().wait_ready()

    def wait_ready(self, timeout=60):
        wait_for(f"{self.name} ready", self.check_ready, timeout)
        return self

    def wait_up(self, timeout=60):
        """Until it answers at all: a standby is alive and not ready."""
        wait_for(f"{self.name} alive", lambda: self.check("/livez"), timeout)
        return self

    def check(self, path):
        self.process.assert_running()
        try:
            return self.get(path)[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def check_ready(self):
        return self.check("/readyz")

    def kill(self):
        self.process.kill()

    def stop(self):
        """SIGTERM; it must end cleanly."""
        if self.process is None or not self.process.running():
            return
        self.process.stop()
        assert self.process.child.returncode == 0, (
            f"{self.name} ended with {self.process.child.returncode}:\n{self.process.log()[-3000:]}")

    def reload(self):
        self.process.signal(signal.SIGHUP)

    # ---- asking it ----

    def scheduler_pair(self):
        return f"{self.pki}/client.crt", f"{self.pki}/client.key"

    def connect(self, cert=None, verify=True, port=None):
        """A TLS connection to the verbs, with the certificate checked as kube-scheduler does."""
        context = ssl.create_default_context(cafile=f"{self.pki}/ca.crt")
        if not verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if cert:
            context.load_cert_chain(*cert)
        raw = socket.create_connection(("127.0.0.1", port or self.port), timeout=30)
        try:
            return context.wrap_socket(raw, server_hostname=chart.SERVICE)
        except BaseException:
            raw.close()
            raise

    def call(self, method, path, body=None, cert=None, port=None, headers=None):
        """By HTTPS, to the verbs unless a port is given; cert: (certificate, key)."""
        connection = http.client.HTTPConnection("127.0.0.1", timeout=30)
        connection.sock = self.connect(cert, port=port)
        return self._answer(connection, method, path, body, headers)

    def verb(self, name, body):
        """As kube-scheduler calls it."""
        return self.call("POST", f"/scheduler/{name}", json.dumps(body), self.scheduler_pair())

    def get(self, path):
        """From the API, as kubectl port-forward reaches it."""
        return self._answer(http.client.HTTPConnection("127.0.0.1", self.api_port, timeout=30), "GET",
                            path)

    @staticmethod
    def _answer(connection, method, path, body=None, headers=None):
        try:
            connection.request(method, path, body, {"Content-Type": "application/json", **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def json(self, path):
        status, text = self.get(path)
        assert status == 200, f"{path}: {status} {text}"
        return json.loads(text)

    def state(self):
        return self.json("/api/v1/state")

    def metrics(self):
        """{(name, frozenset of label pairs): value}"""
        found = {}
        for line in self.get("/metrics")[1].splitlines():
            match = re.match(r"^(\w+)(?:\{(.*)\})? (\S+)$", line)
            if match:
                labels = frozenset(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match[2] or ""))
                found[match[1], labels] = float(match[3])
        return found

    def metric(self, name, **labels):
        """The sum over all series of that name which have those labels."""
        wanted = set(labels.items())
        return sum(value for (each, has), value in self.metrics().items()
                   if each == name and wanted <= has)

    def certificate(self):
        """The certificate that it shows, in DER."""
        with self.connect(verify=False) as connection:
            return connection.getpeercert(binary_form=True)

    def log(self):
        return self.process.log()

    def log_count(self, message):
        """Lines of the log with that message."""
        return sum(json.loads(line).get("message") == message
                   for line in self.log().splitlines() if line.startswith("{"))


def new_pki(folder):
    """Certificates as the chart's Job makes them, in one folder: the daemon's tls.crt, tls.key and its
    authority ca.crt; kube-scheduler's client.crt, client.key and their authority client-ca.crt."""
    server = pki.Authority(os.path.join(folder, "server"), "sliced-ca")
    client = pki.Authority(os.path.join(folder, "client"), "sliced-client-ca")
    made = {"ca.crt": server.crt, "client-ca.crt": client.crt}
    made["tls.crt"], made["tls.key"] = server.issue("tls", chart.SERVICE, hosts=(
        chart.SERVICE, "127.0.0.1", "localhost"))
    made["client.crt"], made["client.key"] = client.issue("client", "sliced-scheduler")
    for name, path in made.items():
        shutil.copy(path, os.path.join(folder, name))
    return folder


def scheduler_config(objects, url, pki, over=None):
    """The chart's KubeSchedulerConfiguration, with the extender at url and its files at hand."""
    config = chart.config_of(objects, "sliced-scheduler")
    extender = config["extenders"][0]
    path = extender["urlPrefix"].split(chart.SERVICE, 1)[1]
    extender["urlPrefix"] = url + path
    extender["tlsConfig"]["caFile"] = f"{pki}/ca.crt"
    extender["tlsConfig"].update(certFile=f"{pki}/client.crt", keyFile=f"{pki}/client.key")
    extender.update(over or {})
    return config
