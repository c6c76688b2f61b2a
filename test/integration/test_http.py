"""HTTP as such: probes, index, keep-alive, chunked bodies, tables, metrics."""
import json
import re
import shutil
import subprocess

import pytest

from sliced_daemon import EXAMPLES, eventually, pod_of

MIG = "nvidia.com/mig-1g.6gb"
NODE = "gpu-a30-1"
POD = pod_of("p", {MIG: 1}, "u")


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/syncz"])
def test_probes_answer_ok(shared, path):
    reply = shared.get(path)
    assert (reply.status, reply.text) == (200, "ok\n")


def test_version_is_that_of_the_program(shared):
    assert shared.get("/version").json["version"] in shared.line


def test_index_lists_every_route_with_its_method(shared):
    text = shared.get("/").text
    for route in ("POST   /scheduler/filter ", "GET    /metrics ", "GET    /api/v1/nodes/{name} ",
                  "DELETE /api/v1/embedded/pods/{namespace}/{name} "):
        assert route in text


@pytest.mark.parametrize("path", ["/", "/healthz", "/metrics", "/api/v1/nodes", "/api/v1/state"])
def test_head_has_the_headers_of_get_and_no_body(shared, path):
    reply = shared.request("HEAD", path)
    assert reply.status == 200
    assert reply.body == b""
    assert int(reply.headers["content-length"]) > 0


def test_one_connection_serves_200_calls(shared):
    connection = shared.connect()
    connection.connect()
    sock = connection.sock
    args = {"Pod": POD, "NodeNames": [NODE, "cpu-1"]}
    for i in range(200):
        verb = ("filter", "prioritize")[i % 2]
        reply = shared.post(f"/scheduler/{verb}", args, connection=connection)
        assert reply.status == 200
        assert int(reply.headers["content-length"]) == len(reply.body)
        assert connection.sock is sock
    connection.close()


def test_a_connection_outlives_a_refused_body(shared):
    connection = shared.connect()
    connection.connect()
    sock = connection.sock
    for body, status in ((b"{", 400), (b"nonsense" * 1000, 400), (b"{}", 400)):
        assert shared.post("/scheduler/filter", body, connection=connection).status == status
    assert shared.post("/nothing", b"x" * 10000, connection=connection).status == 404
    assert shared.get("/scheduler/bind", connection=connection).status == 405
    assert connection.sock is sock
    connection.close()


@pytest.mark.parametrize("size", [1, 2, 7, 100, 100000])
def test_a_chunked_body_is_understood_wherever_it_is_cut(shared, size):
    body = json.dumps({"Pod": POD, "NodeNames": [NODE, "ünï\U0001f600"]}).encode()
    pieces = [body[i:i + size] for i in range(0, len(body), size)]
    connection = shared.connect()
    connection.request("POST", "/scheduler/filter", body=iter(pieces), encode_chunked=True,
                       headers={"Transfer-Encoding": "chunked"})
    reply = connection.getresponse()
    assert reply.status == 200
    assert json.loads(reply.read())["NodeNames"] == [NODE]
    connection.close()


def test_a_client_that_expects_continue_is_told_to(shared):
    body = json.dumps({"Pod": POD, "NodeNames": [NODE]}).encode()
    with shared.socket() as s:
        s.sendall(b"POST /scheduler/filter HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                  b"Content-Length: %d\r\n\r\n" % len(body))
        assert s.recv(1000).startswith(b"HTTP/1.1 100")
        s.sendall(body)
        assert s.recv(65536).startswith(b"HTTP/1.1 200")


def test_5000_names_are_answered(shared):
    names = [f"node-{i:05d}.example.internal" for i in range(5000)] + [NODE]
    reply = shared.filter(POD, names)
    assert reply["NodeNames"] == [NODE]
    assert len(reply["FailedNodes"]) == 5000


def test_tables_are_aligned(shared):
    reply = shared.get("/api/v1/nodes?output=table")
    assert reply.headers["content-type"].startswith("text/plain")
    lines = reply.text.splitlines()
    assert lines[0].split() == ["NODE", "PRODUCT", "RESOURCE", "KIND", "CAPACITY", "USED",
                                "SET-ASIDE", "FREE", "LAYOUT", "PROBLEM"]
    starts = [m.start() for m in re.finditer(r"\S+", lines[0])]
    for line in lines[1:]:
        assert all(line[at - 1] == " " and line[at] != " " for at in starts[1:])
    one = shared.get(f"/api/v1/nodes/{NODE}?output=table").text
    assert "1g.6gb" in one and MIG in one


@pytest.mark.parametrize("path", ["/api/v1/nodes", f"/api/v1/nodes/{NODE}",
                                  "/api/v1/pods/default/running/explain"])
def test_another_output_than_json_and_table_is_refused(start, path):
    daemon = start(EXAMPLES / "a30-mixed.yaml")
    daemon.add_pod("running", {MIG: 1})
    assert daemon.get(path + "?output=json").json == daemon.get(path).json
    reply = daemon.get(path + "?output=yaml")
    cause, = reply.json["details"]["causes"]
    assert (reply.status, cause["field"]) == (400, "output")
    assert '"yaml"' in cause["message"] and "table" in cause["message"]


def test_lists_of_nodes_come_in_pages(start):
    daemon = start(EXAMPLES / "a100-h100.yaml")
    whole = [n["name"] for n in daemon.get("/api/v1/nodes").json["items"]]
    assert whole == sorted(whole) and len(whole) > 2
    seen, after = [], ""
    while after is not None:
        page = daemon.get(f"/api/v1/nodes?limit=1&continue={after}").json
        assert len(page["items"]) == 1 and page["total"] == len(whole)
        seen += [n["name"] for n in page["items"]]
        after = page["continue"]
    assert seen == whole


def test_state_tells_what_the_daemon_is_doing(start):
    daemon = start(EXAMPLES / "a30-mixed.yaml")
    before = daemon.state
    assert before["mode"] == "embedded" and before["ready"] is True
    assert before["cluster"] == {"nodes": 2, "pods": 0, "waiting": 0, "bound": 0, "reserved": 0}
    assert before["config"] == {"path": None, "lastReload": None}
    assert before["uptimeSeconds"] >= 0
    a, b = daemon.add_pod("a", {MIG: 1}), daemon.add_pod("b", {MIG: 1})
    assert daemon.bind(a, NODE) == ""
    after = daemon.state
    assert after["generation"] > before["generation"]
    assert after["cluster"] == {"nodes": 2, "pods": 2, "waiting": 1, "bound": 1, "reserved": 0}
    assert [row["resource"] for row in after["demand"]] == [MIG]
    daemon.add_pod("c", {"nvidia.com/mig-9g.99gb": 1})  # what no node offers
    demand = {row["resource"]: row["weight"] for row in daemon.state["demand"]}
    assert demand["nvidia.com/mig-9g.99gb"] == 1 and None not in demand
    assert after["ledger"]["binds"] == 1
    assert daemon.explain(b)["state"] == "waiting"


# ---- metrics ----


def parse(text):
    """Families and samples of the text format; the strict form that sliced writes."""
    families, samples = {}, {}
    for line in text.splitlines():
        if line.startswith("# "):
            _, what, name, rest = line.split(" ", 3)
            families.setdefault(name, {})[what] = rest
            continue
        match = re.fullmatch(r'([a-z_]+)((?:\{[^{}]*\})?) ([-+.0-9e]+|\+Inf)', line)
        assert match, line
        assert match[1] + match[2] not in samples, "given twice: " + line
        samples[match[1] + match[2]] = float(match[3])
    return families, samples


def test_metrics_are_in_the_text_format(shared):
    shared.filter(POD, [NODE])
    reply = shared.get("/metrics")
    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    families, samples = parse(reply.text)
    for name, family in families.items():
        assert family["HELP"] and family["TYPE"] in ("counter", "gauge", "histogram")
        assert any(s.split("{")[0] in (name, name + "_bucket", name + "_sum", name + "_count")
                   for s in samples), name
    for sample in samples:
        base = re.sub(r"_(bucket|sum|count)$", "", sample.split("{")[0])
        assert sample.split("{")[0] in families or base in families


def test_histograms_are_cumulative(shared):
    shared.filter(POD, [NODE])
    _, samples = parse(shared.get("/metrics").text)
    for verb in ("filter", "prioritize", "bind", "preempt"):
        for outcome in ("ok", "refused", "error"):
            labels = f'verb="{verb}",outcome="{outcome}"'
            name = "sliced_verb_duration_seconds"
            buckets = [v for k, v in samples.items() if k.startswith(f"{name}_bucket{{{labels},")]
            assert buckets == sorted(buckets)
            assert buckets[-1] == samples[f"{name}_count{{{labels}}}"]


def test_calls_are_counted_by_verb_code_and_outcome(start):
    daemon = start(EXAMPLES / "a30-mixed.yaml")
    daemon.filter(POD, [NODE])
    daemon.filter(POD, ["cpu-1"])
    daemon.post("/scheduler/filter", b"{")
    _, samples = parse(daemon.get("/metrics").text)
    assert samples['sliced_http_requests_total{verb="filter",code="200"}'] == 2
    assert samples['sliced_http_requests_total{verb="filter",code="400"}'] == 1
    for outcome in ("ok", "refused", "error"):
        key = f'sliced_verb_duration_seconds_count{{verb="filter",outcome="{outcome}"}}'
        assert samples[key] == 1
    assert samples['sliced_verb_nodes_total{verb="filter"}'] == 2


def test_the_cluster_is_in_the_metrics(start):
    daemon = start(EXAMPLES / "a30-mixed.yaml")
    assert daemon.bind(daemon.add_pod("a", {MIG: 3}), NODE) == ""
    _, samples = parse(daemon.get("/metrics").text)
    assert samples["sliced_cluster_nodes"] == 2
    assert samples['sliced_cluster_pods{state="bound"}'] == 1
    units = {s: samples[f'sliced_pool_units{{resource="{MIG}",state="{s}"}}']
             for s in ("used", "free")}
    assert units == {"used": 3, "free": 5}
    assert samples[f'sliced_pool_capacity_units{{resource="{MIG}"}}'] == 8
    assert samples["sliced_snapshot_generation"] == daemon.generation
    assert samples["process_resident_memory_bytes"] > 0
    assert samples["process_start_time_seconds"] > 1e9


def test_connections_are_counted(start):
    daemon = start(EXAMPLES / "a30-mixed.yaml")
    held = [daemon.socket() for _ in range(3)]
    eventually(lambda: daemon.metric("sliced_http_connections") == 4)
    for s in held:
        s.close()
    eventually(lambda: daemon.metric("sliced_http_connections") == 1)


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_accepts_the_metrics(shared):
    done = subprocess.run(["promtool", "check", "metrics"], input=shared.get("/metrics").text,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
