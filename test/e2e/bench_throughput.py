#!/usr/bin/env python3
"""Pods per second through a real kube-scheduler: without an extender, with a null extender, with sliced.

All on this machine: etcd, kube-apiserver, kube-scheduler, and the extender over loopback; no kubelet, so
a pod's way ends when it is bound. The pods are there before the scheduler starts; the time is from the
first pod bound to the last, CPU likewise. scripts/bench-e2e builds what it needs and runs it.
"""

import argparse
import concurrent.futures
import datetime
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from harness import chart, gpus
from harness import plane as planes
from harness import sliced as daemons
from harness.checker import check
from harness.process import Process, wait_for

RESOURCE = "nvidia.com/mig-1g.6gb"


def parallel(function, items):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return list(pool.map(function, items))


class BindTimes(threading.Thread):
    """One watch, which brings a pod when it has a node, until so many have one or end() is called."""

    def __init__(self, api, expected=None, on_first=lambda: None):
        super().__init__(daemon=True)
        self.api = api
        self.expected = expected
        self.on_first = on_first
        self.over = False
        self.when = {}
        self.spans = []  # seconds from a gate's opening to the binding's event
        self.since = api.get("/api/v1/pods?limit=1")["metadata"]["resourceVersion"]
        self.start()

    def run(self):
        # the API server ends a watch whose reader falls behind
        while not self._complete():
            try:
                self.api.watch("/api/v1/namespaces/default/pods?watch=1&fieldSelector=spec.nodeName!%3D"
                               f"&resourceVersion={self.since}", self._event, self._complete)
            except OSError:  # silent until the first is bound, or the API server of 2,000 pods refuses a connection
                time.sleep(0.1)

    def _event(self, kind, pod):
        self.since = pod["metadata"]["resourceVersion"]
        if kind == "ADDED":
            if not self.when:
                self.on_first()
            self.when.setdefault(pod["metadata"]["name"], time.monotonic())
            released = (pod["metadata"].get("annotations") or {}).get("sliced.dev/released")
            if released:
                self.spans.append(time.time() - datetime.datetime.fromisoformat(
                    released.replace("Z", "+00:00")).timestamp())

    def _complete(self):
        return self.over or (self.expected is not None and len(self.when) >= self.expected)

    def end(self):
        self.over = True


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.plane = planes.Plane(options.plane, folder)
        self.folder = folder
        self.extender = None
        self.url = None

    def prepare(self):
        plane = self.plane.start()
        # neither takes part in scheduling
        for name in ("kwok", "kube-controller-manager"):
            plane.processes.pop(name).stop()
        helm = chart.Helm(plane.tools)
        # pods come with the gate or without, as each part wants
        self.objects = helm.objects({"queue": {"gate": "none"}}, plane.minor)
        self.pki = daemons.new_pki(os.path.join(self.folder, "tls"))
        plane.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": chart.NAMESPACE}})
        for each in self.objects:
            if each["kind"] not in ("Deployment", "Job", "CronJob", "Namespace"):
                plane.create(each)
        parallel(plane.create, [gpus.a30_mixed(f"gpu-{i:04}") for i in range(self.options.nodes)])

    # ---- the extenders ----

    def start_none(self):
        return None

    def start_null(self):
        # it ends with its input, which is a pipe that stays open
        self.extender = Process("bench_extender", [self.options.null], self.folder).start(
            stdin=subprocess.PIPE)
        line = wait_for("the null extender", lambda: [
            each for each in self.extender.log().splitlines() if "listening" in each])
        return line[-1].split()[-1]

    def make_sliced(self, tls=False, more=None):
        """Its address; it does not run yet."""
        server = {} if tls else {"insecure": True, "webhookListen": "", "visibilityListen": "", "tls": {
            "certFile": "", "keyFile": "", "clientCAFile": "", "clients": []}}
        kubeconfig = self.plane.service_account_kubeconfig("sliced", chart.NAMESPACE, "sliced")
        self.sliced = daemons.Sliced("sliced", self.folder, kubeconfig, self.objects, self.pki, {
            "server": server, "log": {"level": "warn"},
            # the shipped periods: a machine this busy misses the stories' short ones
            "leaderElection": {"leaseDuration": "15s", "renewDeadline": "10s", "retryPeriod": "2s"},
            "kubernetes": {"qps": 0}, "events": {"enabled": self.options.events},
            **(more or {"queue": {"enabled": False}})})
        return f"{'https' if tls else 'http'}://127.0.0.1:{self.sliced.port}"

    def start_sliced(self, tls=False):
        url = self.make_sliced(tls)
        self.extender = self.sliced.launch().process
        self.sliced.wait_ready(60)  # the lease of a part before may have to run out
        return url

    def start_sliced_tls(self):
        return self.start_sliced(True)

    def scheduler_config(self, part, url):
        config = daemons.scheduler_config(self.objects, url or "https://127.0.0.1:1", self.pki)
        config["clientConnection"] = {"qps": 5000, "burst": 5000}
        extender = config["extenders"][0]
        extender["managedResources"] = [each for each in extender["managedResources"]
                                        if each["name"] == RESOURCE]
        if url is None:
            del config["extenders"]
        elif url.startswith("http://"):
            extender["enableHTTPS"] = False
            del extender["tlsConfig"]
        if part == "null":
            del extender["bindVerb"], extender["preemptVerb"]
        return config

    # ---- one part ----

    def cpu(self):
        """CPU seconds so far, by process."""
        found = {}
        for name in ("etcd", "kube-apiserver", "kube-scheduler"):
            if name in self.plane.processes:
                found[name] = self.plane.processes[name].cpu_seconds()
        if self.extender is not None:
            found["extender"] = self.extender.cpu_seconds()
        return found

    def run(self, part):
        options, plane = self.options, self.plane
        url = getattr(self, f"start_{part}")()
        asks = {RESOURCE: 1}
        parallel(plane.create, [gpus.pod(f"pod-{i:05}", asks) for i in range(options.pods)])
        before = {}
        times = BindTimes(plane.api, options.pods, lambda: before.update(self.cpu()))
        plane.start_scheduler(self.scheduler_config(part, url))
        times.join(600)
        after = self.cpu()
        assert len(times.when) == options.pods, f"{part}: only {len(times.when)} pods were bound"
        bound = sorted(times.when.values())
        row = {"part": part, "pods/s": (len(bound) - 1) / (bound[-1] - bound[0]),
               "cpu": {name: (after[name] - before[name]) / options.pods * 1000 for name in after},
               "scheduler MiB": plane.processes["kube-scheduler"].resident_mib()}
        if self.extender is not None:
            row["MiB"] = self.extender.resident_mib()
        if part.startswith("sliced"):
            row["delay"] = self.watch_delay()
            wrong = check(plane.get("/api/v1/nodes")["items"], plane.get("/api/v1/pods")["items"])
            assert not wrong, wrong[:5]
        plane.stop_scheduler()
        if self.extender is not None:
            self.extender.stop()
            self.extender = None
        plane.delete("/api/v1/namespaces/default/pods", 0)
        wait_for("pods gone", lambda: not plane.get("/api/v1/pods?limit=1")["items"], 120, 0.2)
        return row

    def end(self):
        if self.extender is not None:
            self.extender.stop()
        self.plane.stop()

    def watch_delay(self):
        """(p50, p99) in milliseconds, within the histogram's buckets."""
        buckets = {}
        for (name, labels), value in self.sliced.metrics().items():
            if name == "sliced_watch_delay_seconds_bucket":
                bound = float(dict(labels)["le"].replace("+Inf", "inf"))
                buckets[bound] = buckets.get(bound, 0) + value
        edges = sorted(buckets)
        if not edges or buckets[edges[-1]] == 0:
            return None

        def quantile(q):
            rank = q * buckets[edges[-1]]
            below, low = 0.0, 0.0
            for edge in edges:
                if buckets[edge] >= rank:
                    if edge == float("inf"):
                        return low
                    share = (rank - below) / max(buckets[edge] - below, 1)
                    return low + (edge - low) * share
                below, low = buckets[edge], edge
            return low
        return quantile(0.5) * 1000, quantile(0.99) * 1000


LABELS = {"none": "no extender", "null": "null extender", "sliced": "sliced",
          "sliced_tls": "sliced, HTTPS"}


def median_row(rows):
    middle = dict(rows[0])
    for key in ("pods/s", "scheduler MiB", "MiB"):
        if key in middle:
            middle[key] = statistics.median(row[key] for row in rows)
    middle["cpu"] = {name: statistics.median(row["cpu"][name] for row in rows) for name in middle["cpu"]}
    return middle


def print_table(rows):
    print("| | pods/s | of the null extender | CPU ms a pod: extender | scheduler | API server | etcd "
          "| resident MiB: extender | scheduler | watch to snapshot ms: p50 | p99 |")
    print("|---|" + "---|" * 10)
    null = next((row["pods/s"] for row in rows if row["part"] == "null"), None)
    for row in rows:
        delay = row.get("delay") or (None, None)
        cells = [LABELS[row["part"]], f"{row['pods/s']:.0f}",
                 f"{row['pods/s'] / null:.2f}" if null else "",
                 f"{row['cpu']['extender']:.2f}" if "extender" in row["cpu"] else "",
                 *(f"{row['cpu'][name]:.2f}" for name in ("kube-scheduler", "kube-apiserver", "etcd")),
                 f"{row['MiB']:.1f}" if "MiB" in row else "", f"{row['scheduler MiB']:.0f}",
                 *("" if each is None else f"{each:.2f}" for each in delay)]
        print("| " + " | ".join(cells) + " |")


def print_environment(options):
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = next((line.split(":", 1)[1].strip() for line in file if "model name" in line), "?")
    version = subprocess.run([daemons.BIN, "--version"], capture_output=True, text=True, check=False)
    print(f"{options.nodes} nodes of 8 {RESOURCE}, {options.pods} pods of one each, median of "
          f"{options.rounds} round(s); Kubernetes {chart.RELEASES[options.plane]}, "
          f"{version.stdout.strip()}; {len(os.sched_getaffinity(0))} cores for everything, {model}; "
          f"Linux {platform.release()}; percentageOfNodesToScore 100, names only, no kubelet, no limit on "
          f"the clients' calls; load before: {os.getloadavg()[0]:.2f}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--plane", default=chart.NEWEST)
    parser.add_argument("--parts", default="none,null,sliced,sliced_tls")
    parser.add_argument("--null", default=os.path.join(chart.ROOT, "build/release/test/bench/bench_extender"))
    parser.add_argument("--events", action="store_true", help="sliced writes Events too")
    options = parser.parse_args()
    print_environment(options)
    rows = {part: [] for part in options.parts.split(",")}
    with tempfile.TemporaryDirectory(prefix="sliced-bench-") as folder:
        bench = Bench(options, folder)
        try:
            bench.prepare()
            for _ in range(options.rounds):
                for part, found in rows.items():
                    found.append(bench.run(part))
                    print(f"# {LABELS[part]}: {found[-1]['pods/s']:.0f} pods/s", file=sys.stderr)
        finally:
            bench.end()
    print_table([median_row(found) for found in rows.values()])


if __name__ == "__main__":
    main()
