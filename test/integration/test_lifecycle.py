"""Command line, configuration, signals, the end."""
import json
import signal
import socket

import pytest

from sliced_daemon import EXAMPLES, ROOT, eventually, pod_of, run

A30 = EXAMPLES / "a30-mixed.yaml"
PATIENT = "server: {shutdownTimeout: 5m}\n"
MIG = "nvidia.com/mig-1g.6gb"
NODE = "gpu-a30-1"

NODE_YAML = """apiVersion: v1
kind: Node
metadata: {name: n}
status: {allocatable: {nvidia.com/gpu: "1"}}
"""


# ---- command line ----


def test_help_teaches_by_example():
    status, out, _ = run("--help")
    assert status == 0
    for word in ("--cluster FILE", "Examples:", "curl ", "SIGHUP", "Exit status"):
        assert word in out


def test_version_is_one_line():
    assert run("--version")[:2] == (0, "sliced 0.1.0\n")


@pytest.mark.parametrize("args, text", [
    (["--clutser", "x"], "did you mean --cluster?"),
    (["--frobnicate"], "sliced --help"),
    (["x.yaml"], "did you mean --cluster x.yaml?"),
    (["--cluster"], "--cluster FILE"),
    (["--listen="], "--listen ADDRESS:PORT"),
    (["--version=2"], "takes no value"),
    (["--check-config"], "--config FILE"),
    ([], "kubectl get nodes,pods -A -o yaml"),
    (["--listen", "127.0.0.1:0"], "--cluster FILE"),
    ([], "KUBECONFIG is not set"),
    (["--kubeconfig", "/nonexistent/kc"], "/nonexistent/kc"),
    (["--cluster", A30, "--kubeconfig", "x"], "leave out --kubeconfig"),
    (["--cluster", A30, "--context", "x"], "leave out --kubeconfig"),
    (["--cluster", A30, "--listen", "nonsense"], "ADDRESS:PORT"),
    (["--cluster", A30, "--listen", "127.0.0.1:99999"], "99999"),
    (["--cluster", A30, "--listen", "127.0.0.1:http"], "from 0 to 65535"),
])
def test_a_wrong_command_line_is_exit_2_with_a_hint(args, text):
    status, out, err = run(*args)
    assert status == 2
    assert out == ""
    assert text in err


@pytest.mark.parametrize("listen, status, text", [
    ("127.0.0.1:http", 2, "from 0 to 65535"),
    ("127.0.0.256:1", 1, "cannot listen on 127.0.0.256:1"),
])
def test_a_wrong_address_is_noticed_before_manifests_are_read(tmp_path, listen, status, text):
    config = tmp_path / "sliced.yaml"
    config.write_text("apiVersion: sliced.dev/v1alpha1\nkind: SlicedConfiguration\n"
                      "server: {insecure: true}\n", encoding="utf-8")
    done, out, err = run("--cluster", A30, "--config", config, "--listen", listen)
    assert (done, out) == (status, "")
    assert text in err and "manifest" not in err


@pytest.mark.parametrize("text", [
    "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n", "# nothing\n",
    '{"apiVersion": "v1", "kind": "List", "items": []}', "",
], ids=["other kind", "comment", "empty list", "empty file"])
def test_a_manifest_without_node_and_pod_is_warned_of(start, tmp_path, text):
    path = tmp_path / "odd.yaml"
    path.write_text(text, encoding="utf-8")
    daemon = start(path)
    assert "0 nodes, 0 pods" in daemon.line
    warning, = [line for line in daemon.log.splitlines() if "WARN" in line.upper()]
    assert str(path) in warning


def test_a_port_in_use_is_exit_1_and_says_so(start):
    daemon = start(A30)
    status, out, err = run("--cluster", A30, "--listen", f"127.0.0.1:{daemon.port}")
    assert (status, out) == (1, "")
    assert "Address already in use" in err and str(daemon.port) in err


def test_one_line_says_where_it_listens(start):
    daemon = start(A30)
    expected = (f"sliced 0.1.0 listening on http://127.0.0.1:{daemon.port} "
                "(embedded cluster: 2 nodes, 1 pod)\n")
    assert daemon.line == expected


# ---- manifests ----


def test_clusters_come_from_files_folders_and_standard_input(start, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "b.yml").write_text(NODE_YAML.replace("name: n", "name: b"), encoding="utf-8")
    (folder / "a.json").write_text(json.dumps({
        "apiVersion": "v1", "kind": "NodeList",
        "items": [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}]}),
        encoding="utf-8")
    (folder / "ignored.txt").write_text("not: [yaml", encoding="utf-8")
    daemon = start(folder, "-", A30, stdin=NODE_YAML)
    assert sorted(daemon.nodes()) == ["a", "b", "cpu-1", NODE, "n"]


@pytest.mark.parametrize("text, where, what", [
    ("a: [", "2:1", ""),
    (NODE_YAML + "---\n" + NODE_YAML, "6:1", "given twice"),
    (NODE_YAML.replace('"1"', "[1]"), "4:", "allocatable"),
    ("kind: Node\nmetadata: {name: n}\n", "1:1", "apiVersion"),
])
def test_a_wrong_manifest_is_exit_2_with_its_place(tmp_path, text, where, what):
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf-8")
    status, out, err = run("--cluster", path)
    assert (status, out) == (2, "")
    assert f"sliced: {path}:{where}" in err and what in err


@pytest.mark.parametrize("name", ["missing.yaml", ""])
def test_files_that_are_not_there_are_named(tmp_path, name):
    status, _, err = run("--cluster", tmp_path / name)
    assert status == 2
    assert str(tmp_path) in err


# ---- configuration ----


def test_configuration_errors_have_a_place_a_field_and_exit_2(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("apiVersion: sliced.dev/v1alpha1\nkind: SlicedConfiguration\n"
                    "server:\n  threads: many\n", encoding="utf-8")
    for args in (["--check-config"], ["--cluster", A30]):
        status, out, err = run("--config", path, *args)
        assert (status, out) == (2, "")
        assert f"{path}:4:12: server.threads: " in err


def test_what_a_configuration_sets_in_vain_is_warned_of(tmp_path, start):
    path = tmp_path / "c.yaml"
    queue = "queue:\n  order: sjf\n  bound: 2\n"
    path.write_text("apiVersion: sliced.dev/v1alpha1\nkind: SlicedConfiguration\n" + queue,
                    encoding="utf-8")
    status, out, err = run("--config", path, "--check-config")
    assert status == 0 and "valid" in out
    assert err == (f"sliced: warning: {path}:5:3: queue.bound: has no effect: it is of the order "
                   "bounded, and queue.order is sjf\n")
    daemon = start(A30, config=queue)
    assert daemon.log.count("queue.bound: has no effect") == 1


def test_a_right_configuration_is_said_to_be_right(tmp_path):
    path = tmp_path / "c.yaml"
    status, out, _ = run("--print-config")
    assert status == 0
    path.write_text(out, encoding="utf-8")
    status, again, err = run("--config", path, "--check-config")
    assert status == 0 and "valid" in again, err
    assert run("--config", path, "--print-config")[1] == out


def test_the_command_line_goes_before_the_file(start):
    daemon = start(A30, config='server:\n  listen: "127.0.0.1:1"\n')
    assert daemon.get("/healthz").status == 200


# ---- SIGHUP ----


def reloaded(daemon, before=None):
    def changed():
        note = daemon.state["config"]["lastReload"]
        return note if note is not None and note["at"] != (before or {}).get("at") else None
    daemon.signal(signal.SIGHUP)
    return eventually(changed)


def test_hup_takes_over_a_new_configuration(start):
    daemon = start(A30, config="extender:\n  maxNodeNames: 10\n")
    body = {"Pod": pod_of("p", {MIG: 1}), "NodeNames": ["a", "b", "c"]}
    connection = daemon.connect()
    assert daemon.post("/scheduler/filter", body, connection=connection).status == 200
    daemon.write_config('extender:\n  maxNodeNames: 2\n  filterVerb: "sieve"\n')
    note = reloaded(daemon)
    assert note["result"] == "ok"
    assert daemon.post("/scheduler/filter", body, connection=connection).status == 404
    assert daemon.post("/scheduler/sieve", body, connection=connection).status == 413
    connection.close()
    assert daemon.metric('sliced_config_reloads_total{outcome="ok"}') == 1


def test_hup_keeps_the_old_configuration_when_the_new_one_is_wrong(start):
    daemon = start(A30, config="extender:\n  maxNodeNames: 2\n")
    daemon.write_config("extender:\n  maxNodeNames: 0\n")
    note = reloaded(daemon)
    assert note["result"] == "failed"
    assert f"{daemon.config_path}:4:17: extender.maxNodeNames" in note["message"]
    assert note["message"] in daemon.log
    body = {"Pod": pod_of("p", {MIG: 1}), "NodeNames": ["a", "b", "c"]}
    assert daemon.post("/scheduler/filter", body).status == 413
    daemon.write_config("extender:\n  maxNodeNames: 3\n")
    assert reloaded(daemon, note)["result"] == "ok"
    assert daemon.post("/scheduler/filter", body).status == 200


def test_hup_names_what_needs_a_restart_and_takes_the_rest(start):
    daemon = start(A30, config="extender:\n  maxNodeNames: 3\n")
    daemon.write_config("server:\n  threads: 3\nextender:\n  maxNodeNames: 2\n")
    note = reloaded(daemon)
    assert note["result"] == "ok" and "server.threads" in note["message"]
    body = {"Pod": pod_of("p", {MIG: 1}), "NodeNames": ["a", "b", "c"]}
    assert daemon.post("/scheduler/filter", body).status == 413


GATED = "queue:\n  enabled: true\n  gate: webhook\n  schedulerName: %s\n"
REVIEW = ROOT / "test/data/admission/job.json"


def gates(daemon):
    """Does the webhook put the gate on a new pod?"""
    reply = daemon.post("/admission/gate/sliced-scheduler", json.loads(REVIEW.read_text("utf-8")))
    return "patch" in reply.json["response"]


def test_hup_does_not_turn_the_queue_half_on(start):
    """Its webhook would put a gate on pods that nobody opens."""
    daemon = start(A30, config="queue:\n  gate: webhook\n")
    assert not gates(daemon)
    daemon.write_config(GATED % "other")
    note = reloaded(daemon)
    assert note["result"] == "ok"
    assert "needs a restart: queue.enabled, queue.schedulerName" in note["message"]
    assert not gates(daemon)
    assert daemon.get("/api/v1/queue").status == 404
    passed = daemon.filter(pod_of("p", {MIG: 1}), [NODE])
    assert passed["NodeNames"] == [NODE]


def test_hup_does_not_turn_the_queue_half_off(start):
    daemon = start(A30, config=GATED % "sliced-scheduler")
    daemon.write_config("queue:\n  gate: webhook\n")
    assert "queue.enabled" in reloaded(daemon)["message"]
    assert gates(daemon)
    assert daemon.get("/api/v1/queue").status == 200


def test_hup_does_not_make_filter_hold_pods_that_the_queue_never_sees(start):
    """The scheduler's name: of filter as of the queue it is what the daemon was started with."""
    daemon = start(A30, config=GATED % "sliced-scheduler")
    pod = pod_of("p", {MIG: 1})
    assert daemon.filter(pod, [NODE])["NodeNames"] == [NODE]
    daemon.write_config(GATED % '""')
    assert "queue.schedulerName" in reloaded(daemon)["message"]
    assert daemon.filter(pod, [NODE])["NodeNames"] == [NODE]


def test_hup_without_a_file_changes_nothing(start):
    daemon = start(A30)
    assert "without --config" in reloaded(daemon)["message"]


def test_hup_changes_what_is_logged(start):
    daemon = start(A30, config="log:\n  level: error\n")
    daemon.add_pod("a", {MIG: 1})
    assert "pod added" not in daemon.log
    daemon.write_config("log:\n  level: info\n  format: json\n")
    reloaded(daemon)
    daemon.add_pod("b", {MIG: 1})
    lines = [json.loads(line) for line in daemon.log.splitlines()]
    assert lines[-1]["message"] == "pod added" and lines[-1]["pod"] == "default/b"


# ---- the end ----


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_0(start, which):
    daemon = start(A30)
    idle = daemon.socket()
    daemon.signal(which)
    assert daemon.process.wait(timeout=120) == 0
    idle.close()


def half_sent(daemon):
    """A filter call of which half the body is sent, and what is left of it."""
    body = json.dumps({"Pod": pod_of("p", {MIG: 1}), "NodeNames": [NODE]}).encode()
    s = daemon.socket()
    s.sendall(b"POST /scheduler/filter HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
              % len(body) + body[:20])
    eventually(lambda: daemon.metric("sliced_http_requests_in_flight") == 2)
    return s, body[20:]


def refused(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except ConnectionRefusedError:
        return True
    return False


def test_term_answers_what_is_in_flight(start):
    daemon = start(A30, config=PATIENT)
    s, rest = half_sent(daemon)
    others = [daemon.connect() for _ in range(3)]
    for other in others:
        assert daemon.get("/readyz", connection=other).status == 200
    daemon.signal(signal.SIGTERM)

    def ready():
        reply = daemon.get("/readyz", connection=others[0])
        if reply.status == 200 and reply.headers.get("connection", "").lower() == "close":
            others.pop(0).close()  # the end began between the answer and its header
        return None if reply.status == 200 else reply

    reply = eventually(ready)
    assert reply.status == 503 and "shutting down" in reply.json["message"]
    assert reply.headers["connection"].lower() == "close"
    for other in others:
        other.close()
    eventually(lambda: refused(daemon.port))
    assert daemon.alive()
    s.sendall(rest)
    answer = s.recv(65536)
    assert answer.startswith(b"HTTP/1.1 200") and NODE.encode() in answer
    assert daemon.process.wait(timeout=120) == 0
    s.close()
    assert "cut off" not in daemon.log


def test_term_does_not_wait_for_ever(start):
    daemon = start(A30, config="server:\n  shutdownTimeout: 1s\n")
    s, _ = half_sent(daemon)
    daemon.signal(signal.SIGTERM)
    assert daemon.process.wait(timeout=120) == 0
    assert "cut off" in daemon.log
    s.close()


def test_no_new_connection_is_served_after_the_end_has_begun(start):
    daemon = start(A30, config=PATIENT)
    s, rest = half_sent(daemon)
    daemon.signal(signal.SIGTERM)
    eventually(lambda: "shutting down" in daemon.log)
    s.sendall(rest)
    assert s.recv(65536).startswith(b"HTTP/1.1 200")
    s.close()
    assert daemon.process.wait(timeout=120) == 0
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", daemon.port), timeout=5)

