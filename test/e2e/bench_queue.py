#!/usr/bin/env python3
"""The queue behind gates on a real kube-scheduler: how fast gated pods get bound, and how soon the next
pod starts when one ends while thousands wait.

  throughput  pods that all fit: plain kube-scheduler (no extender, no gates) beside sliced's queue (each
              pod nominated, its gate opened, bound through the extender; all writes counted), and beside
              the writes of such a pod alone, without scheduler and sliced: what the API server and etcd
              take of the processors, and so the most pods a second that any queue behind gates can reach
  turns       a full cluster, thousands of gated pods waiting, pods ending one after another: from the end
              of one to the binding of the next, and how often filter was called for those that wait
  condition   the same cluster: what it costs to write the condition sliced.dev/Queued on all that wait, and
              how many are written anew for each pod that ends

All on this machine, no kubelet. scripts/bench-e2e queue builds what it needs and runs it.
"""

import argparse
import functools
import os
import statistics
import sys
import tempfile
import time

import bench_throughput as throughput
from harness import chart, gpus
from harness.checker import check
from harness.process import wait_for
from harness.sliced import merge

GATE = "sliced.dev/queue"


class Bench(throughput.Bench):
    def start_scheduler_for_queue(self, over=None, nominate_from=None):
        """The scheduler is up and knows all nodes; the daemon does not run yet."""
        queue = {"enabled": True, "gate": "none", "order": self.options.order}
        if nominate_from is not None:
            queue["nominateFrom"] = nominate_from
        url = self.make_sliced(more=merge({"queue": queue}, over or {}))
        self.plane.start_scheduler(self.scheduler_config("queue", url))
        self.plane.create(gpus.pod("first"))
        wait_for("the first pod bound", lambda: self.plane.get(
            "/api/v1/namespaces/default/pods/first")["spec"].get("nodeName"), 120, 0.2)

    def gated(self, name, i):
        annotations = {"sliced.dev/timeout": f"{600 + (i if self.options.different else 0)}s"}
        return gpus.pod(name, {throughput.RESOURCE: 1}, gates=[GATE], annotations=annotations)

    def fill(self, names):
        throughput.parallel(self.plane.create, [self.gated(name, i) for i, name in enumerate(names)])

    def clear(self):
        plane = self.plane
        if "kube-scheduler" in plane.processes:
            plane.stop_scheduler()
        if self.extender is not None:
            self.extender.stop()
            self.extender = None
        plane.delete("/api/v1/namespaces/default/pods", 0)
        wait_for("pods gone", lambda: not plane.get("/api/v1/pods?limit=1")["items"], 300, 0.5)

    def run_queue(self, nominate_from=None):
        """Gated pods that all fit, there before the daemon starts."""
        options, plane = self.options, self.plane
        self.start_scheduler_for_queue(nominate_from=nominate_from)
        self.fill([f"pod-{i:05}" for i in range(options.pods)])
        before = {}
        times = throughput.BindTimes(plane.api, options.pods, lambda: before.update(self.cpu()))
        self.extender = self.sliced.launch().process
        times.join(600)
        after = self.cpu()
        assert len(times.when) == options.pods, f"only {len(times.when)} pods were bound"
        spans = sorted(1000 * each for each in times.spans)
        bound = sorted(times.when.values())
        row = {"part": "queue", "pods/s": (len(bound) - 1) / (bound[-1] - bound[0]),
               "cpu": {name: (after[name] - before[name]) / options.pods * 1000 for name in after},
               "MiB": self.extender.resident_mib(),
               "span": (spans[len(spans) // 2], spans[len(spans) * 99 // 100])}
        if self.options.verbose:
            for (name, labels), value in sorted(self.sliced.metrics().items()):
                if not name.endswith("_bucket") and value and name.startswith(
                        ("sliced_queue", "sliced_http_requests", "sliced_kube", "sliced_events",
                         "sliced_binder")):
                    print("#", name, dict(labels), value, file=sys.stderr)
        wrong = check(plane.get("/api/v1/nodes")["items"], plane.get("/api/v1/pods")["items"])
        assert not wrong, wrong[:5]
        self.clear()
        return row

    def run_writes(self):
        """What is written for a gated pod, and nothing else: nobody decides, nobody watches."""
        names = [f"pod-{i:05}" for i in range(self.options.pods)]
        self.fill(names)
        before = self.cpu()
        throughput.parallel(self.write_one, names)
        after = self.cpu()
        self.clear()
        cpu = {name: (after[name] - before[name]) / len(names) * 1000 for name in after}
        return {"part": "writes", "pods/s": os.cpu_count() * 1000 / sum(cpu.values()), "cpu": cpu}

    def write_one(self, name):
        api = self.plane.api
        pod = f"/api/v1/namespaces/default/pods/{name}"
        api.patch(f"{pod}/status", {"status": {"nominatedNodeName": "gpu-0001"}})
        api.patch(pod, {"metadata": {"annotations": {"sliced.dev/released": "2026-01-01T00:00:00Z"}},
                        "spec": {"schedulingGates": [{"$patch": "delete", "name": GATE}],
                                 "activeDeadlineSeconds": 600}},
                  "application/strategic-merge-patch+json")
        api.post(f"{pod}/binding", {
            "apiVersion": "v1", "kind": "Binding",
            "metadata": {"name": name, "annotations": {"sliced.dev/assignment": f"{throughput.RESOURCE}=0/0"}},
            "target": {"kind": "Node", "name": "gpu-0001"}})
        api.post("/apis/events.k8s.io/v1/namespaces/default/events", {
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"generateName": f"{name}-", "namespace": "default"},
            "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "bench",
            "reportingInstance": "bench", "action": "Binding", "reason": "Scheduled", "type": "Normal",
            "regarding": {"apiVersion": "v1", "kind": "Pod", "name": name, "namespace": "default"},
            "note": f"Successfully assigned default/{name} to gpu-0001"})

    def start_full(self, over=None):
        """A full cluster of few nodes, many waiting; returns the pods that run."""
        options, plane = self.options, self.plane
        self.start_scheduler_for_queue(over)
        self.extender = self.sliced.launch().process
        room = options.nodes * 8
        running = [f"run-{i:05}" for i in range(room)]
        self.fill(running)
        wait_for("a full cluster", lambda: len(
            [1 for each in plane.get("/api/v1/namespaces/default/pods")["items"]
             if each["spec"].get("nodeName")]) >= room, 300, 1)
        self.fill([f"wait-{i:05}" for i in range(options.waiting)])
        wait_for("all pods in the queue",
                 lambda: self.sliced.metric("sliced_queue_pods", state="Held") >= options.waiting, 300, 1)
        return running

    def run_turns(self):
        """Pods end one after another."""
        options, plane = self.options, self.plane
        running = self.start_full()
        seen = throughput.BindTimes(plane.api)
        calls = self.sliced.metric("sliced_http_requests_total", verb="filter")
        spans = []
        for i in range(options.ends):
            known = len(seen.when)
            start = time.monotonic()
            plane.delete(f"/api/v1/namespaces/default/pods/{running[i]}", 0)
            wait_for("the next pod bound", lambda want=known + 1: len(seen.when) >= want, 60, 0.002)
            spans.append(1000 * (max(seen.when.values()) - start))
            time.sleep(0.05)
        seen.end()
        filters = self.sliced.metric("sliced_http_requests_total", verb="filter") - calls
        memory = self.extender.resident_mib()
        self.clear()
        spans.sort()
        return {"ends": options.ends, "waiting": options.waiting, "p50": spans[len(spans) // 2],
                "p99": spans[len(spans) * 99 // 100], "filters": filters, "MiB": memory}

    def written(self):
        return self.sliced.metric("sliced_queue_conditions_total", outcome="written")

    def spend(self, over):
        """CPU seconds of each process, and seconds, until over(); the daemon's plans meanwhile."""
        plans = self.sliced.metric("sliced_queue_plans_total")
        before, start = self.cpu(), time.monotonic()
        wait_for("the end of what is measured", over, 900, 0.5)
        seconds, after = time.monotonic() - start, self.cpu()
        return ({name: after[name] - before[name] for name in after}, seconds,
                self.sliced.metric("sliced_queue_plans_total") - plans)

    def run_condition(self):
        """First nothing is written, then all that wait get their condition, then pods end."""
        options, plane = self.options, self.plane
        config = {"queue": {"condition": {"enabled": False, "perSecond": 50, "maxPods": 1000000}},
                  "events": {"enabled": False}}
        running = self.start_full(config)
        quiet_until = time.monotonic() + 20
        quiet, quiet_s, quiet_plans = self.spend(lambda: time.monotonic() > quiet_until)
        self.sliced.write_config(merge(self.sliced.config, {"queue": {"condition": {"enabled": True}}}))
        self.sliced.reload()
        wait_for("the first condition", lambda: self.written() > 0, 60, 0.1)
        first = self.written()
        busy, busy_s, busy_plans = self.spend(lambda: self.written() >= options.waiting)
        n = self.written() - first
        cpu = {name: (busy[name] - quiet[name] / quiet_s * busy_s) / n * 1000 for name in busy}
        before = self.written()
        for name in running[:options.ends]:
            plane.delete(f"/api/v1/namespaces/default/pods/{name}", 0)
            time.sleep(0.5)
        time.sleep(90)  # a place that moved is written a minute after it was written last
        return {"waiting": options.waiting, "cpu": cpu, "n": n, "seconds": busy_s,
                "plans": (quiet_plans / quiet_s, busy_plans / busy_s),
                "anew": (self.written() - before) / options.ends, "ends": options.ends}


def print_condition(row):
    cpu = row["cpu"]
    print(f"\n{row['waiting']} gated pods waiting: {row['n']:.0f} conditions in {row['seconds']:.0f} s; CPU ms a "
          f"condition: API server {cpu['kube-apiserver']:.2f}, etcd {cpu['etcd']:.2f}, "
          f"kube-scheduler {cpu['kube-scheduler']:.2f}, sliced {cpu['extender']:.2f}; "
          f"plans a second before and meanwhile: {row['plans'][0]:.1f}, {row['plans'][1]:.1f}; "
          f"{row['anew']:.1f} conditions for each of {row['ends']} pods that ended")


def label_of(part):
    labels = {"none": "plain kube-scheduler", "queue": "sliced's queue, gated pods",
              "writes": "the writes of a gated pod alone, at most"}
    name, _, nominate_from = part.partition(" ")
    return labels[name] + (f", nominateFrom {nominate_from}" if nominate_from else "")


def print_throughput(rows):
    print("| | pods/s | of plain | CPU ms a pod: all | of plain | scheduler | of plain | sliced | API server | etcd "
          "| released to bound ms: p50 | p99 | resident MiB: sliced |")
    print("|---|" + "---|" * 12)
    plain = rows.get("none")
    for part, row in rows.items():
        cells = [label_of(part), f"{row['pods/s']:.0f}",
                 f"{row['pods/s'] / plain['pods/s']:.2f}" if plain else "",
                 f"{sum(row['cpu'].values()):.2f}",
                 f"{sum(row['cpu'].values()) / sum(plain['cpu'].values()):.2f}" if plain else "",
                 *((f"{row['cpu']['kube-scheduler']:.2f}",
                    f"{row['cpu']['kube-scheduler'] / plain['cpu']['kube-scheduler']:.2f}")
                   if "kube-scheduler" in row["cpu"] else ("", "")),
                 f"{row['cpu']['extender']:.2f}" if "extender" in row["cpu"] else "",
                 f"{row['cpu']['kube-apiserver']:.2f}", f"{row['cpu']['etcd']:.2f}",
                 *(f"{each:.0f}" for each in row.get("span", ())), *([] if "span" in row else ["", ""]),
                 f"{row['MiB']:.1f}" if "MiB" in row else ""]
        print("| " + " | ".join(cells) + " |")


def print_turns(row):
    print(f"\n{row['waiting']} gated pods waiting, {row['ends']} pods ending one after another: next pod "
          f"bound after {row['p50']:.0f} ms (median), {row['p99']:.0f} ms (p99); "
          f"{row['filters']:.0f} calls of filter, one for each pod that started; "
          f"sliced {row['MiB']:.1f} MiB resident")


def median(rows):
    middle = throughput.median_row([{"scheduler MiB": 0, **row} for row in rows])
    if "span" in middle:
        middle["span"] = tuple(statistics.median(row["span"][i] for row in rows) for i in (0, 1))
    return middle


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=2000)
    parser.add_argument("--waiting", type=int, default=10000, help="pods that wait in the parts turns and condition")
    parser.add_argument("--ends", type=int, default=100, help="pods that end in these parts")
    parser.add_argument("--turn-nodes", type=int, default=25, help="nodes in these parts")
    parser.add_argument("--nominate-from", default="", help="values of queue.nominateFrom, separated by commas: "
                        "a row for each of them, in turn (default: as shipped)")
    parser.add_argument("--different", action="store_true", help="every pod states another timeout")
    parser.add_argument("--order", default="bounded")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--plane", default=chart.NEWEST)
    parser.add_argument("--parts", default="throughput,turns")
    parser.add_argument("--verbose", action="store_true", help="print the daemon's counters too")
    options = parser.parse_args()
    options.events = True
    throughput.print_environment(options)
    parts = options.parts.split(",")
    if "throughput" in parts:
        values = [int(value) for value in options.nominate_from.split(",") if value]
        runs = {"none": lambda bench: bench.run("none"),
                **({f"queue {value}": functools.partial(Bench.run_queue, nominate_from=value)
                    for value in values} or {"queue": Bench.run_queue}),
                "writes": Bench.run_writes}
        rows = {part: [] for part in runs}
        with tempfile.TemporaryDirectory(prefix="sliced-bench-") as folder:
            bench = Bench(options, folder)
            try:
                bench.prepare()
                for _ in range(options.rounds):
                    for part, found in rows.items():
                        found.append(runs[part](bench))
                        print(f"# {part}: {found[-1]['pods/s']:.0f} pods/s", file=sys.stderr)
            finally:
                bench.end()
        print_throughput({part: median(found) for part, found in rows.items()})
    for part, run, show in (("turns", Bench.run_turns, print_turns),
                            ("condition", Bench.run_condition, print_condition)):
        if part in parts:
            options.nodes = options.turn_nodes
            with tempfile.TemporaryDirectory(prefix="sliced-bench-") as folder:
                bench = Bench(options, folder)
                try:
                    bench.prepare()
                    show(run(bench))
                finally:
                    bench.end()


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    main()
