"""A real Prometheus, and a stand-in of dcgm-exporter that it scrapes: one endpoint for each node, in the
exporter's own text, with the use that a story sets."""

import http.server
import json
import os
import threading
import time
import urllib.parse
import urllib.request

import yaml

from .process import Process, free_port, wait_for

HELP = {"DCGM_FI_DEV_FB_USED": "Framebuffer memory used (in MiB).",
        "DCGM_FI_DEV_GPU_UTIL": "GPU utilization (in %).",
        "DCGM_FI_PROF_GR_ENGINE_ACTIVE": "Ratio of time the graphics engine is active.",
        "DCGM_FI_PROF_DRAM_ACTIVE": "Ratio of cycles the device memory interface is active."}


class Gpu:
    """What one GPU, or one instance (i_id, profile), does; each may be a number or a function of time."""

    def __init__(self, used=0, util=0, dram=None, uuid=None, i_id=None, profile=None, raw=None, pod=None):
        self.used, self.util, self.dram = used, util, dram
        self.uuid, self.i_id, self.profile = uuid, i_id, profile
        self.raw = raw  # text in place of the values: "NaN"
        self.pod = pod  # "namespace/name" of the pod that has it, where the exporter knows; it may be a function


def value(of):
    return of() if callable(of) else of


class Exporter:
    """nodes: {node: {gpu index or (index, GPU_I_ID): Gpu}}. /NODE/metrics tells of that node, /metrics of all;
    a node that is not there answers 404."""

    def __init__(self):
        self.nodes = {}
        self.skew = {}  # seconds by node that its own time stamps are off; none: no time stamps
        self.label = "Hostname"
        self.label_of = {}  # by node: the name in that label, if it is not the node's
        self.port = free_port()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                node = urllib.parse.unquote(self.path.strip("/").rpartition("/")[0])
                text = outer.text([node] if node else list(outer.nodes))
                self.send_response(404 if text is None else 200)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.end_headers()
                self.wfile.write((text or "").encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def use(self, node, gpu=0, **what):
        self.nodes.setdefault(node, {})[gpu] = Gpu(**what)

    def rows(self, node, key, gpu):
        index = key[0] if isinstance(key, tuple) else key
        labels = {"gpu": index, "UUID": gpu.uuid or f"GPU-{node}-{index}", "pci_bus_id": "00000000:18:00.0",
                  "device": f"nvidia{index}", "modelName": "Tesla T4"}
        if gpu.i_id is not None:
            labels.update({"GPU_I_PROFILE": gpu.profile, "GPU_I_ID": gpu.i_id})
        namespace, _, pod = (value(gpu.pod) or "").partition("/")
        labels.update({self.label: self.label_of.get(node, node), "DCGM_FI_DRIVER_VERSION": "570.86.15",
                       "container": "main" if pod else "", "namespace": namespace, "pod": pod})
        text = ",".join(f'{name}="{each}"' for name, each in labels.items())
        # MIG instances have no DCGM_FI_DEV_GPU_UTIL
        found = {"DCGM_FI_DEV_FB_USED": value(gpu.used)}
        if gpu.i_id is None:
            found["DCGM_FI_DEV_GPU_UTIL"] = value(gpu.util)
        else:
            found["DCGM_FI_PROF_GR_ENGINE_ACTIVE"] = value(gpu.util) / 100
        if gpu.dram is not None:
            found["DCGM_FI_PROF_DRAM_ACTIVE"] = value(gpu.dram)
        for name, number in found.items():
            yield name, text, gpu.raw or number

    def text(self, nodes):
        by_name = {}
        for node in nodes:
            if node not in self.nodes:
                return None
            skew = self.skew.get(node)
            stamp = "" if skew is None else f" {int((time.time() + skew) * 1000)}"
            for key, gpu in list(self.nodes[node].items()):
                for name, labels, number in self.rows(node, key, gpu):
                    by_name.setdefault(name, []).append(f"{name}{{{labels}}} {number}{stamp}")
        out = []
        for name, rows in by_name.items():
            out += [f"# HELP {name} {HELP[name]}", f"# TYPE {name} gauge", *rows]
        return "".join(f"{line}\n" for line in out)

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Prometheus:
    """Debian's; scrapes an exporter five times a second, so that stories need not wait. rules: a file of rules
    that it plays; jobs: {name: scrape config} for the daemons that it watches."""

    def __init__(self, exporter, folder, rules=None, jobs=None):
        self.exporter = exporter
        self.folder = folder
        self.port = free_port()
        self.config = os.path.join(folder, "prometheus.yaml")
        self.process = None
        self.rules = [rules] if rules else []
        self.replicas = os.path.join(folder, "replicas.yaml")
        self.jobs = jobs or {}
        self.daemons = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def watch(self, daemon, namespace):
        """Scrapes that replica too, in every job; within seconds."""
        self.daemons.append({
            "targets": [daemon.config["server"]["metricsListen"].replace("0.0.0.0", "127.0.0.1")],
            "labels": {"namespace": namespace, "pod": daemon.name}})
        with open(self.replicas + ".new", "w", encoding="utf-8") as file:
            yaml.safe_dump(self.daemons, file)
        os.replace(self.replicas + ".new", self.replicas)

    def ask(self, expression):
        """The series that answer it: [{"metric": labels, "value": [time, text]}]."""
        query = urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(f"{self.url}/api/v1/query?{query}", timeout=30) as answer:
            return json.load(answer)["data"]["result"]

    def failures(self):
        """What became of the last scrape of each target of the jobs that failed: {job: why}."""
        with urllib.request.urlopen(f"{self.url}/api/v1/targets?state=active", timeout=30) as answer:
            return {each["scrapePool"]: each["lastError"]
                    for each in json.load(answer)["data"]["activeTargets"] if each["health"] == "down"}

    def launch(self):
        """Starts it and does not wait."""
        found = {"file_sd_configs": [{"files": [self.replicas], "refresh_interval": "1s"}]}
        with open(self.config, "w", encoding="utf-8") as file:
            yaml.safe_dump({"global": {"scrape_interval": "200ms", "scrape_timeout": "200ms",
                                       "evaluation_interval": "500ms"}, "rule_files": self.rules, "scrape_configs": [
                {"job_name": "dcgm-exporter",
                 "static_configs": [{"targets": [f"127.0.0.1:{self.exporter.port}"]}]},
                *({"job_name": name, **job, **found} for name, job in self.jobs.items())]}, file)
        self.process = Process(f"prometheus-{self.port}", [
            "prometheus", f"--config.file={self.config}",
            f"--storage.tsdb.path={self.folder}/prometheus-{self.port}",
            f"--web.listen-address=127.0.0.1:{self.port}"], self.folder).start()
        return self

    def start(self):
        return self.launch().wait_ready()

    def wait_ready(self):
        def ready():
            self.process.assert_running()
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=5) as answer:
                return answer.status == 200
        wait_for("Prometheus is ready", ready)
        return self

    def wait_scraping(self):
        self.wait_ready()
        wait_for("Prometheus scrapes", lambda: self.ask('up{job="dcgm-exporter"} == 1'))

    def stop(self):
        if self.process is not None:
            self.process.stop()
