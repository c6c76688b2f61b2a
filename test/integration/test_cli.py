"""kubectl-sliced against an embedded cluster, by --server: the same paths as an API server forwards."""
import http.server
import json
import os
import subprocess
import sys
import threading
import urllib.parse
import urllib.request

import pytest
import yaml

from prometheus import Fake
from sliced_daemon import ENVIRON, EXAMPLES, eventually, pod_of

CLI = os.environ["CLI_BIN"]
MIG = "nvidia.com/mig-1g.6gb"
NODE = "gpu-a30-1"


def add(daemon, name, namespace="default", count=6, timeout="8h"):
    pod = pod_of(name, {MIG: count})
    pod["metadata"].update(namespace=namespace, annotations={"sliced.dev/timeout": timeout})
    return daemon.add(pod)


@pytest.fixture
def daemon(start):
    """Six of eight instances run, "mine" waits for four of them."""
    made = start(EXAMPLES / "a30-mixed.yaml", config="queue: {enabled: true, order: sjf}\n")
    pod = add(made, "runs")
    assert made.post("/scheduler/bind", {"PodName": "runs", "PodNamespace": "default",
                                         "PodUID": pod["uid"], "Node": NODE}).json["Error"] == ""
    add(made, "mine", "ours", count=4)
    return made


def call(daemon, *args, status=0, text=None):
    """The output, with complaints behind it."""
    done = subprocess.run([CLI, *args, "--server", f"http://127.0.0.1:{daemon.port}"], input=text,
                          capture_output=True, text=True, timeout=60, check=False, env=ENVIRON)
    assert done.returncode == status, (args, done.stdout, done.stderr)
    return done.stdout + done.stderr


def rows(text):
    """Lines of a table by their head; an empty cell is a dash, so that blanks divide cells."""
    head, *lines = text.splitlines()
    return [dict(zip(head.split(), line.split())) for line in lines]


def test_the_queue_and_the_nodes_are_tables(daemon):
    add(daemon, "short", timeout="10m")
    first, second = rows(call(daemon, "queue", "-A"))
    assert (first["NAMESPACE"], first["NAME"], first["STATE"]) == ("default", "short", "Held")
    assert (second["NAME"], second["POSITION"], second["AHEAD"]) == ("mine", "2", "1")
    only, = rows(call(daemon, "queue", "-n", "ours"))
    assert only["NAME"] == "mine" and only["REASON"] == "NoRoom"
    assert "MESSAGE" in call(daemon, "queue", "-n", "ours", "-o", "wide")
    assert "No queuedpods found in none namespace." in call(daemon, "queue", "-n", "none")
    node, = rows(call(daemon, "nodes"))
    assert (node["NAME"], node["USED"], node["FREE"]) == (NODE, "mig-1g.6gb=6", "mig-1g.6gb=2")
    assert rows(call(daemon, "nodes", NODE)) == [node]
    assert "not found" in call(daemon, "nodes", "none", status=1)


def test_json_and_yaml_say_what_the_daemon_says(daemon):
    path = "/apis/visibility.sliced.dev/v1alpha1/namespaces/ours/queuedpods"

    def same(path, read, *args):
        """A look that is older than some seconds is made anew, with another resourceVersion."""
        eventually(lambda: daemon.get(path).json == read(call(daemon, *args, "-n", "ours")))
    same(path, json.loads, "queue", "-o", "json")
    same(path, yaml.safe_load, "queue", "-o", "yaml")
    same(path + "/mine", yaml.safe_load, "why", "mine", "-o", "yaml")


def test_why_tells_the_story_of_who_waits_and_who_runs(daemon):
    story = call(daemon, "why", "mine", "-n", "ours")
    assert "Reason:     NoRoom" in story and "\nMessage:    held: " in story
    assert "It fits on 0 of 2 nodes now." in story
    assert [line.split()[:3] for line in story.splitlines() if line.startswith("1 ")] == [
        ["1", "Insufficient", "not"], ["1", "NotOffered", "never"]]
    assert "4 asked, 2 free of 8" in story and "What would help:\n  - " in story
    story = call(daemon, "why", "runs")
    assert f"Node:       {NODE}\n" in story and "Phase:      Running" in story
    assert "it is on no node either" in call(daemon, "why", "nobody", status=1)


def test_what_the_daemon_has_not_is_said(daemon, start):
    assert "telemetry.url" in call(daemon, "top", status=1)
    assert "partitioning.enabled" in call(daemon, "partitions", status=1)
    off = start(EXAMPLES / "a30-mixed.yaml")
    assert "queue.enabled" in call(off, "queue", status=1)
    assert "has no startestimates here" in call(off, "when", "--ask", f"{MIG}=1", status=1)


def test_when_asks_for_a_pod_that_is_not_there(daemon):
    assert "Start-In:   now" in call(daemon, "when", "--ask", f"{MIG}=2", "--timeout", "30m")
    pod = yaml.safe_dump(pod_of("later", {MIG: 4}))
    assert "Start-In:   8h" in call(daemon, "when", "-f", "-", text=pod)
    assert "Start-In:   unknown" in call(daemon, "when", "--ask", f"{MIG}=9", status=3)
    assert "spec.pod" in call(daemon, "when", "--ask", "cpu=1", status=1)
    assert "later" not in call(daemon, "queue", "-A")
    assert "kubectl-sliced: <stdin>: the text is empty" in call(daemon, "when", "-f", "-", text="", status=2)


@pytest.mark.parametrize("server", ["127.0.0.1:8888", "ftp://a", "http://", "https:///path"])
def test_a_server_is_a_url_with_a_host(server):
    done = subprocess.run([CLI, "queue", "--server", server], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, "--server takes a URL" in done.stderr) == (2, True), done.stderr


def test_nothing_is_simulated_of_a_cluster_that_could_not_be_listed(tmp_path):
    for name, script in (("kubectl", "echo '{\"kind\": \"List\", \"items\": []}'; echo pods is forbidden >&2; exit 1"),
                         ("slicesim", "echo played")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "config").write_text(yaml.safe_dump({
        "kind": "Config", "current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}], "users": [{"name": "a", "user": {}}]}))
    done = subprocess.run([CLI, "simulate", "--kubeconfig", tmp_path / "config"], capture_output=True, text=True,
                          timeout=60, check=False, env={**ENVIRON, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert (done.returncode, done.stdout) == (1, ""), done
    assert "pods is forbidden\nkubectl-sliced: kubectl could not list the nodes and pods" in done.stderr


def test_a_watch_tells_what_comes_and_goes(daemon):
    with subprocess.Popen([CLI, "queue", "-A", "-w", "--server", f"http://127.0.0.1:{daemon.port}"],
                          stdout=subprocess.PIPE, text=True, env=ENVIRON) as process:
        lines = []
        threading.Thread(target=lambda: lines.extend(iter(process.stdout.readline, "")),
                         daemon=True).start()
        try:
            eventually(lambda: any("mine" in line for line in lines))
            pod = pod_of("later", {MIG: 1})
            daemon.add(pod)
            eventually(lambda: any("later" in line and "Nominated" in line for line in lines))
            daemon.end(pod)
            eventually(lambda: any("later" in line and "Gone" in line for line in lines))
        finally:
            process.terminate()
        assert [line.split()[0] for line in lines].count("NAMESPACE") == 1


def test_names_complete_in_bash(daemon):
    server = f"http://127.0.0.1:{daemon.port}"
    script = (f"source <({CLI} completion bash)\n"
              f"COMP_WORDS=(kubectl-sliced why -n ours --server {server} mi) COMP_CWORD=6\n"
              "_kubectl_sliced\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n"
              "COMP_WORDS=(kubectl-sliced wh) COMP_CWORD=1\n"
              "_kubectl_sliced\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n")
    path = os.path.dirname(CLI) + ":" + ENVIRON["PATH"]
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=True,
                          env={**ENVIRON, "PATH": path})
    assert done.stdout.split() == ["mine", "why", "when"], done.stderr
    done = subprocess.run([os.path.join(os.path.dirname(CLI), "kubectl_complete-sliced"), "queue", "-o", "w"],
                          capture_output=True, text=True, timeout=60, check=True,
                          env={**ENVIRON, "PATH": path})
    assert done.stdout == "wide\t\n:4\n"


def test_the_page_is_told(daemon):
    url = call(daemon, "ui").strip()
    assert url == f"http://127.0.0.1:{daemon.port}/ui/"
    assert daemon.get("/ui/").status == 200


PORT_FORWARD = """#!{python}
import socket, sys, threading
assert sys.argv[1:6] == ["port-forward", "--address", "127.0.0.1", "--namespace", "gpu"], sys.argv
assert sys.argv[6] == "pod/sliced-1", sys.argv
listener = socket.create_server(("127.0.0.1", int(sys.argv[7].split(":")[0])))
def pipe(a, b):
    while data := a.recv(65536):
        b.sendall(data)
    b.shutdown(socket.SHUT_WR)
while True:
    near, far = listener.accept()[0], socket.create_connection(("127.0.0.1", {port}))
    for pair in ((near, far), (far, near)):
        threading.Thread(target=pipe, args=pair, daemon=True).start()
"""


class ApiServer(http.server.BaseHTTPRequestHandler):
    """As much of one as is asked which pod leads."""
    asked = None

    def do_GET(self):  # pylint: disable=invalid-name
        type(self).asked = (self.path, self.headers["Authorization"])
        body = json.dumps({"kind": "PodList", "items": [{"metadata": {"name": "sliced-1"}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):  # pylint: disable=arguments-differ
        pass


def test_the_page_of_the_leader_comes_through_a_forwarded_port(daemon, tmp_path):
    """kubectl's part is played: no kubelet is here that could forward. It leads to a daemon that answers."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), ApiServer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(PORT_FORWARD.format(python=sys.executable, port=daemon.port))
    kubectl.chmod(0o755)
    config = tmp_path / "config"
    config.write_text(yaml.safe_dump({
        "apiVersion": "v1", "kind": "Config", "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "clusters": [{"name": "x", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
        "users": [{"name": "x", "user": {"token": "alice"}}]}))
    with subprocess.Popen([CLI, "ui", "-n", "gpu", "--kubeconfig", str(config)], stdout=subprocess.PIPE, text=True,
                          env={**ENVIRON, "PATH": f"{tmp_path}:{os.environ['PATH']}"}) as process:
        try:
            url = process.stdout.readline().strip()

            def page():
                try:
                    with urllib.request.urlopen(url, timeout=60) as answer:
                        return answer.read().decode()
                except OSError:
                    return None
            assert "<title>" in eventually(page)
            told = json.loads(urllib.request.urlopen(url.replace("/ui/", "/api/v1/queue"), timeout=60).read())
            assert [each["name"] for each in told["items"]] == ["mine"]
        finally:
            process.terminate()
            server.shutdown()
            server.server_close()
    path, token = ApiServer.asked
    assert path.startswith("/api/v1/namespaces/gpu/pods?") and "sliced.dev" in path
    assert token == "Bearer alice"


# ---- tenants ----

TENANTS = """queue: {enabled: true, holdSeconds: 3600}
tenants: {namespaces: [{namespace: default, tenant: first}, {namespace: ours, tenant: second}]}
"""
SPENT = " or ".join(f'label_replace(sum_over_time((max by (tenant,resource,kind) (sliced_tenant_units{{}}))[{days}d:{days * 120}s]),'
                    f'"since","{days}d","","")' for days in (1, 7, 30, 90))


def test_tenants_are_the_namespaces_own_or_all(start):
    made = start(EXAMPLES / "a30-mixed.yaml", config=TENANTS)
    add(made, "runs")
    add(made, "mine", "ours", count=4)
    eventually(lambda: len(rows(call(made, "tenants", "-A"))) == 2)
    first, second = rows(call(made, "tenants", "-A"))
    assert (first["TENANT"], first["SHARE"], first["HELD"], first["BORROWED"]) == ("first", "4.00", "6", "2.00")
    only, = rows(call(made, "tenants", "-n", "ours"))
    assert (only["NAME"], only["TENANT"], only["LENT"], only["DUE"]) == ("nvidia.com.mig-1g.6gb", "second", "2.00", "1")
    assert second["TENANT"] == only["TENANT"]
    assert "first" not in call(made, "tenants", "-n", "ours", "-o", "yaml")
    story = call(made, "why", "mine", "-n", "ours")
    assert "Tenant:     second\n" in story and "Due:        yes\n" in story and "it would have started" in story
    assert "Own-Start:" in call(made, "when", "-n", "ours", "--ask", f"{MIG}=1")
    assert "it has them with tenants and telemetry.url" in call(made, "usage", status=1)


def test_usage_of_tenants_is_prometheus_answer_to_one_question(start):
    fake = Fake()
    told = [{"metric": {"tenant": "first", "resource": MIG, "kind": kind, "since": since}, "value": [0, value]}
            for since, kind, value in (("30d", "held", "4320"), ("30d", "lent", "0.5"), ("7d", "held", "6"), ("7d", "used", "3"), ("8d", "held", "1"))]
    path = "/api/v1/query?query=" + urllib.parse.quote(SPENT, safe="")
    fake.by_path[path] = lambda: (200, "application/json", json.dumps(
        {"status": "success", "data": {"resultType": "vector", "result": told}}))
    try:
        made = start(EXAMPLES / "a30-mixed.yaml", config=TENANTS + f"telemetry: {{url: '{fake.url}'}}\n")
        url = f"http://127.0.0.1:{made.port}"
        assert path not in fake.paths, "nobody looks"

        def usage(*args):
            done = subprocess.run([CLI, "usage", *args, "--server", url], capture_output=True, text=True, timeout=60,
                                  check=False, env=ENVIRON)
            assert done.returncode in (0, 4), done.stderr
            return done.stdout if done.returncode == 0 else None  # 4: it is being asked
        assert eventually(lambda: usage("-o", "csv")) == (
            "NAME,TENANT,RESOURCE,SINCE,SHARE-HOURS,HELD-HOURS,USED-HOURS,BORROWED-HOURS,LENT-HOURS,WAITED-HOURS\n"
            f"first.nvidia.com.mig-1g.6gb.30d,first,{MIG},30d,0.00,4320.00,,0.00,0.50,0.00\n")
        week, = rows(usage("--since", "7d"))
        assert (week["HELD-HOURS"], week["USED-HOURS"]) == ("1.40", "0.70")
        assert " 0.70 " not in usage() and json.loads(usage("-o", "json"))["items"][0]["status"]["usedMilliHours"] is None
        assert json.loads(usage("--since", "7d", "-o", "json"))["items"][0]["status"]["usedMilliHours"] == 700
        assert "No clustertenantusages" in call(made, "usage", "--since", "90d")
        assert fake.paths.count(path) == 1
    finally:
        fake.stop()


def test_that_question_is_one_of_prometheus(tmp_path):
    """A tenant holds four units for three hours, of which the replica a leads two and b the last."""
    held = 'sliced_tenant_units{instance="%s",tenant="t",resource="r",kind="held"}'
    expected = {"1d": 91, "7d": 13, "30d": 4, "90d": 2}  # places at which the units are seen, by 2 minutes to 3 hours
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump({"evaluation_interval": "1m", "tests": [{
        "interval": "1m",
        "input_series": [{"series": held % "a", "values": "4x120 stale"}, {"series": held % "b", "values": "_x120 4x60"}],
        "promql_expr_test": [{"expr": SPENT, "eval_time": "180m", "exp_samples": [
            {"labels": f'{{tenant="t",resource="r",kind="held",since="{since}"}}', "value": 4 * n}
            for since, n in expected.items()]}]}]}), encoding="utf-8")
    done = subprocess.run(["promtool", "test", "rules", str(tmp_path / "tests.yaml")], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr
