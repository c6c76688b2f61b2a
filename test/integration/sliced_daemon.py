"""Starts the real program and talks to it: nothing but the standard library."""
import http.client
import json
import os
import pathlib
import re
import resource
import select
import signal
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = os.environ.get("SLICED_BIN", str(ROOT / "build/dev/src/daemon/sliced"))
EXAMPLES = ROOT / "deploy/examples"
GOLDEN = pathlib.Path(__file__).resolve().parent / "data/golden.yaml"
WIRE = ROOT / "test/data/wire"
START_DEADLINE_S = 60  # sanitizers are slow


# No API server of the machine's own is ever found.
ENVIRON = {key: value for key, value in os.environ.items()
           if key != "KUBECONFIG" and not key.startswith("KUBERNETES_")}
ENVIRON["HOME"] = "/nonexistent"


def run(*args, stdin=None, env=None):
    """The program to its end: (status, stdout, stderr)."""
    done = subprocess.run([BIN, *map(str, args)], input=stdin, capture_output=True, text=True,
                          timeout=START_DEADLINE_S, check=False, env={**ENVIRON, **(env or {})})
    return done.returncode, done.stdout, done.stderr


def eventually(check, deadline_s=120):
    """Waits until check() returns something true, and returns it."""
    end = time.monotonic() + deadline_s
    while True:
        value = check()
        if value:
            return value
        assert time.monotonic() < end, "it did not come true in time"
        select.select([], [], [], 0.01)


class Reply:
    def __init__(self, response, body):
        self.status = response.status
        self.headers = {k.lower(): v for k, v in response.getheaders()}
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def text(self):
        return self.body.decode()


class Daemon:
    def __init__(self, *cluster, config=None, stdin=None, args=(), listen="127.0.0.1:0", files=None):
        """files: (soft, hard) limit of open files."""
        self.folder = tempfile.TemporaryDirectory()
        self.config_path = None
        command = [BIN, "--cluster", *map(str, cluster), "--listen", listen, *args]
        if config is not None:
            self.config_path = pathlib.Path(self.folder.name) / "sliced.yaml"
            self.write_config(config)
            command += ["--config", str(self.config_path)]
        self.log_path = pathlib.Path(self.folder.name) / "log"
        with open(self.log_path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log, text=True,
                preexec_fn=files and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, files)))
        if stdin is not None:
            self.process.stdin.write(stdin)
            self.process.stdin.close()
        ready, _, _ = select.select([self.process.stdout], [], [], START_DEADLINE_S)
        assert ready, "it said nothing: " + self.log
        self.line = self.process.stdout.readline()
        match = re.search(r"listening on https?://[^ ]*:(\d+) ", self.line)
        assert match, f"{self.line!r}; {self.log}"
        self.port = int(match.group(1))

    def write_config(self, text):
        """text: what follows apiVersion and kind."""
        head = "apiVersion: sliced.dev/v1alpha1\nkind: SlicedConfiguration\n"
        self.config_path.write_text(head + text, encoding="utf-8")

    @property
    def log(self):
        return self.log_path.read_text(encoding="utf-8")

    def connect(self, timeout=120):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def socket(self, timeout=120):
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def request(self, method, path, body=None, headers=None, connection=None, **more):
        """One call; body: bytes, text, or what becomes JSON."""
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode()
        own = connection is None
        connection = connection or self.connect()
        try:
            connection.request(method, path, body=body, headers=headers or {}, **more)
            response = connection.getresponse()
            return Reply(response, response.read())
        finally:
            if own:
                connection.close()

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, body, **more):
        return self.request("POST", path, body, **more)

    @property
    def state(self):
        return self.get("/api/v1/state").json

    @property
    def generation(self):
        return self.state["generation"]

    def metric(self, name):
        """The value of a sample, as the text has its name and labels."""
        for line in self.get("/metrics").text.splitlines():
            if line.startswith(name + " "):
                return float(line.rsplit(" ", 1)[1])
        raise AssertionError(f"no metric {name}")

    # ---- a scheduler's calls ----

    def filter(self, pod, names):
        return self.post("/scheduler/filter", {"Pod": pod, "Nodes": None, "NodeNames": names}).json

    def prioritize(self, pod, names):
        body = {"Pod": pod, "Nodes": None, "NodeNames": names}
        reply = self.post("/scheduler/prioritize", body).json
        return {row["Host"]: row["Score"] for row in reply}

    def bind(self, pod, node, uid=None, connection=None):
        meta = pod["metadata"]
        body = {"PodName": meta["name"], "PodNamespace": meta.get("namespace", "default"),
                "PodUID": uid or meta["uid"], "Node": node}
        reply = self.post("/scheduler/bind", body, connection=connection)
        assert reply.status == 200, reply.text
        return reply.json["Error"]

    def schedule(self, pod, names):
        """Filter, prioritize, bind, as kube-scheduler does: the node, or None."""
        fits = self.filter(pod, names)["NodeNames"]
        if not fits:
            return None
        scores = self.prioritize(pod, fits)
        node = max(scores, key=scores.get)
        error = self.bind(pod, node)
        assert error == "", error
        return node

    def add(self, manifest):
        reply = self.post("/api/v1/embedded/pods", manifest)
        assert reply.status == 201, reply.text
        return reply.json

    def end(self, pod):
        meta = pod["metadata"]
        path = f"/api/v1/embedded/pods/{meta.get('namespace', 'default')}/{meta['name']}"
        return self.request("DELETE", path)

    def explain(self, pod):
        meta = pod["metadata"]
        path = f"/api/v1/pods/{meta.get('namespace', 'default')}/{meta['name']}/explain"
        return self.get(path).json

    def nodes(self):
        return {n["name"]: n for n in self.get("/api/v1/nodes").json["items"]}

    def add_pod(self, name, resources, **meta):
        """Adds a pod and returns it as the scheduler would send it."""
        manifest = pod_of(name, resources, **meta)
        manifest["metadata"]["uid"] = self.add(manifest)["uid"]
        return manifest

    # ---- the end ----

    def signal(self, which):
        self.process.send_signal(which)

    def alive(self):
        return self.process.poll() is None

    def stop(self):
        """Ends it in order; a complaint of a sanitizer fails the test."""
        if self.alive():
            self.signal(signal.SIGTERM)
        status = self.process.wait(timeout=60)
        log = self.log
        self.process.stdout.close()
        self.folder.cleanup()
        assert "Sanitizer" not in log and "runtime error" not in log, log
        assert status == 0, f"exit status {status}: {log}"


def pod_of(name, resources, uid=None, namespace="default", **meta):
    """A pod with one container that asks for resources."""
    limits = {key: str(value) for key, value in resources.items()}
    metadata = {"name": name, "namespace": namespace, **meta}
    if uid is not None:
        metadata["uid"] = uid
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
            "spec": {"containers": [{"name": "c", "image": "x", "resources": {"limits": limits}}]}}
