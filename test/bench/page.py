"""How fast the page is in Chromium with a large cluster: usage: page.py [--quick].

It prints medians and the worst of its runs. "first picture" counts from the begin of the navigation
to the first picture of the cluster; "update" from the page's question for news to the picture that
shows them, after one pod came or ended; "busy" is the part of it in which the page's own thread could
not have answered a key. Then how long a scrolled picture, scrolled rows and a scrolled time line take to be drawn.
"""
import json
import os
import pathlib
import platform
import statistics
import sys
import tempfile
import time

from browser import Browser
from sliced_daemon import Daemon, eventually, pod_of

NODES, GPUS, WAITING, NAMESPACES, RUNS = 1000, 8, 10000, 40, 15
CONFIG = "queue: {enabled: true, holdSeconds: 3600}\n"


def node_of(i):
    amount = {"cpu": "96", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": str(GPUS)}
    labels = {"nvidia.com/gpu.count": str(GPUS), "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
              "nvidia.com/gpu.memory": "81559", "nvidia.com/gpu.replicas": "1"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"gpu-{i:04}", "labels": labels},
            "status": {"allocatable": amount, "capacity": amount}}


def pods_of(nodes, waiting):
    """One of eight GPUs is idle; what waits asks for a whole node, so that it stays so."""
    for i in range(nodes * (GPUS - 1)):
        pod = pod_of(f"run-{i}", {"nvidia.com/gpu": 1}, uid=f"r{i}", namespace=f"team-{i % NAMESPACES}",
                     annotations={"sliced.dev/timeout": f"{i % 47 + 1}h"})
        pod["spec"]["nodeName"] = f"gpu-{i // (GPUS - 1):04}"
        pod["status"] = {"phase": "Running", "startTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        yield pod
    for i in range(waiting):
        yield pod_of(f"wait-{i}", {"nvidia.com/gpu": GPUS}, uid=f"w{i}", namespace=f"team-{i * 7 % NAMESPACES}",
                     annotations={"sliced.dev/timeout": f"{i % 23 + 1}h"})


def write_cluster(folder, nodes, waiting):
    """Files of some MiB each: the daemon bounds what it reads at a time."""
    items = [node_of(i) for i in range(nodes)] + list(pods_of(nodes, waiting))
    paths = []
    for first in range(0, len(items), 2000):
        path = pathlib.Path(folder) / f"{first:06}.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items[first:first + 2000]}))
        paths.append(path)
    return paths


def print_environment(browser):
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                  if line.startswith("model name")), platform.machine())
    print(f"processor   {os.cpu_count()} x {model}")
    print(f"kernel      {platform.system()} {platform.release()}")
    print(f"browser     {browser.version}, headless, without a GPU")
    print(f"load        {os.getloadavg()[0]:.1f}")
    print(f"date        {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())}\n")


class Table:
    def __init__(self):
        print(f"{'MS':<34}{'MEDIAN':>9}{'WORST':>9}{'RUNS':>6}{'AIM':>7}")

    def row(self, name, values, aim=""):
        print(f"{name:<34}{statistics.median(values):>9.1f}{max(values):>9.1f}{len(values):>6}{aim:>7}", flush=True)


def first_pictures(browser, url, runs):
    values = []
    for _ in range(runs):
        browser.open("about:blank")
        browser.open(url)
        values.append(float(browser.until("return document.body.dataset.firstMs")))
    return values


def updates(browser, daemon, runs):
    """Of each round: from question to picture, and what the page's thread was busy for."""
    rounds, busy = [], []
    for i in range(runs):
        before = browser.run("return document.body.dataset.pictures")
        if i % 2 == 0:
            pod = pod_of("extra", {"nvidia.com/gpu": 1}, namespace="team-1")
            pod["spec"]["nodeName"] = "gpu-0007"
            daemon.add(pod)
        else:
            daemon.end(pod_of("extra", {}, namespace="team-1"))
        browser.until("return document.body.dataset.pictures !== arguments[0]", before)
        rounds.append(float(browser.run("return document.body.dataset.updateMs")))
        busy.append(float(browser.run("return document.body.dataset.drawnMs")))
    return rounds, busy


def frames(browser, script, runs):
    """How long the page takes to come to the second frame after a scroll, less than what two frames take anyway."""
    values = []
    for i in range(runs):
        values.append(browser.call("POST", "/execute/async", {"args": [i], "script": """
            const [i, done] = arguments, begin = performance.now();
            %s
            requestAnimationFrame(() => { const channel = new MessageChannel();
                channel.port1.onmessage = () => done(performance.now() - begin); channel.port2.postMessage(0); });""" % script}))
    return values


def main(quick):
    nodes, waiting, runs = (100, 500, 3) if quick else (NODES, WAITING, RUNS)
    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon(*write_cluster(folder, nodes, waiting), config=CONFIG)
    browser = Browser(width=1600, height=1000)
    try:
        eventually(lambda: daemon.get("/api/v1/queue?limit=1").json["total"] == waiting, 300)
        url = f"http://127.0.0.1:{daemon.port}/ui/"
        print_environment(browser)
        print(f"{nodes} nodes, {nodes * GPUS} GPUs, {waiting} pods wait, {nodes * (GPUS - 1)} run\n")
        table = Table()
        table.row("first picture of the cluster", first_pictures(browser, url, runs), "1000")
        rounds, busy = updates(browser, daemon, runs)
        table.row("update, from question to picture", rounds, "100")
        table.row("  of it the page's thread is busy", busy)
        table.row("scroll the cluster, a frame", frames(browser, "scrollTo(0, i * 400 % 3000);", runs), "100")
        browser.open(url + "#queue")
        browser.until("return document.querySelectorAll('#rows tr[data-pod]').length > 0")
        looks = []
        for i in range(runs):
            browser.run("document.querySelector('#rows').scrollTop = arguments[0]", 27 * (i + 1) * (waiting // (runs + 2)))
            looks.append(float(browser.until("const at = document.querySelector('#rows'); const ms = at.dataset.lookMs;"
                                             "delete at.dataset.lookMs; return ms;")))
        table.row("scroll the queue, until rows stand", looks, "100")
        browser.open("about:blank")
        browser.open(url + "#times")
        browser.until("return document.querySelectorAll('#lines [data-row]').length > 5")
        scroll = "document.querySelector('#lines').scrollTop = (i + 1) * 2000;"
        table.row("scroll the time line, a frame", frames(browser, scroll, runs), "100")
        browser.run("const find = document.querySelector('#find'); find.value = 'gpu-'; find.dispatchEvent(new Event('input'))")
        browser.until("return document.querySelector('#lines [aria-level=\"3\"]')")
        table.row("the same with all nodes unfolded", frames(browser, scroll, runs), "100")
    finally:
        browser.close()
        daemon.stop()


main("--quick" in sys.argv[1:])
