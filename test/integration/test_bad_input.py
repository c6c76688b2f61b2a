"""Bad input: a status, an error that names the field, no change of state, and the daemon lives."""
import gzip
import itertools
import json
import select
import socket
import time

import pytest

from sliced_daemon import EXAMPLES, eventually, pod_of

MIG = "nvidia.com/mig-1g.6gb"
NODE = "gpu-a30-1"
POD = pod_of("p", {MIG: 1}, "11111111-1111-4111-8111-111111111111")
ARGS = {"Pod": POD, "Nodes": None, "NodeNames": [NODE]}
BINDING = {"PodName": "p", "PodNamespace": "default", "PodUID": "u", "Node": NODE}
PREEMPT = {"Pod": POD, "NodeNameToMetaVictims": {NODE: {"Pods": [{"UID": "u"}]}}}


@pytest.fixture(autouse=True)
def nothing_changes(shared):
    before = shared.generation
    yield
    assert shared.alive()
    assert shared.get("/readyz").status == 200
    assert shared.generation == before


def refused(shared, verb, body, status=400):
    reply = shared.post(f"/scheduler/{verb}", body)
    assert reply.status == status, reply.text
    assert reply.headers["content-type"] == "application/json"
    error = reply.json
    assert error["kind"] == "Status" and error["status"] == "Failure"
    assert error["code"] == status
    assert error["Error"] == error["message"] and error["message"]
    cause, = error["details"]["causes"]
    return cause


def with_(base, **changes):
    return {**base, **changes}


def pod_with(**spec):
    return {"metadata": {"name": "p"}, "spec": spec}


@pytest.mark.parametrize("verb, body, field", [
    ("filter", with_(ARGS, Pod=7), "Pod"),
    ("filter", with_(ARGS, Pod=None), "Pod"),
    ("filter", with_(ARGS, NodeNames="a"), "NodeNames"),
    ("filter", with_(ARGS, NodeNames=[1]), "NodeNames[0]"),
    ("filter", with_(ARGS, NodeNames=["a", None]), "NodeNames[1]"),
    ("filter", with_(ARGS, NodeNames=["a", ""]), "NodeNames[1]"),
    ("filter", with_(ARGS, NodeNames=["a", "b", "a"]), "NodeNames[2]"),
    ("filter", with_(ARGS, NodeNames=[NODE, NODE]), "NodeNames[1]"),
    ("filter", with_(ARGS, NodeNames=None, Nodes=[]), "Nodes"),
    ("filter", with_(ARGS, NodeNames=None, Nodes={"items": 1}), "Nodes.items"),
    ("filter", with_(ARGS, NodeNames=None, Nodes={}), "Nodes.items"),
    ("filter", with_(ARGS, NodeNames=None, Nodes={"items": [{}]}), "Nodes.items[0].metadata.name"),
    ("filter", with_(ARGS, NodeNames=None), "Node"),
    ("filter", {"NodeNames": ["a"]}, "Pod"),
    ("filter", with_(ARGS, Pod=pod_with(containers=5)), "Pod.spec.containers"),
    ("filter", with_(ARGS, Pod=pod_with(containers=[{"resources": {"limits": {MIG: [1]}}}])),
     "Pod.spec.containers[0].resources.limits"),
    ("filter", with_(ARGS, Pod={"metadata": {"name": 5}}), "Pod.metadata.name"),
    ("prioritize", with_(ARGS, NodeNames={"a": 1}), "NodeNames"),
    ("prioritize", with_(ARGS, NodeNames=["x", "x"]), "NodeNames[1]"),
    ("bind", with_(BINDING, Node=5), "Node"),
    ("bind", with_(BINDING, PodName=None), "PodName"),
    ("bind", {"PodName": "p"}, "Pod"),
    ("bind", with_(BINDING, PodUID=""), "PodUID"),
    ("preempt", with_(PREEMPT, NodeNameToMetaVictims=[]), "NodeNameToMetaVictims"),
    ("preempt", with_(PREEMPT, NodeNameToMetaVictims={NODE: {"Pods": [{"UID": 1}]}}),
     "NodeNameToMetaVictims"),
    ("preempt", {"Pod": POD}, "NodeNameTo"),
    ("preempt", '{"Pod": {"metadata": {"name": "p"}}, "NodeNameToMetaVictims": '
                '{"gpu-a30-1": {}, "gpu-a30-1": {}}}', "NodeNameToMetaVictims[gpu-a30-1]"),
    ("preempt", '{"Pod": {"metadata": {"name": "p"}}, "NodeNameToVictims": '
                '{"x": {}, "gpu-a30-1": {}, "x": {}}}', "NodeNameToVictims[x]"),
])
def test_wrong_types_and_missing_fields_name_the_field(shared, verb, body, field):
    cause = refused(shared, verb, body)
    assert cause["field"].startswith(field), cause
    assert cause["message"]


@pytest.mark.parametrize("verb", ["filter", "prioritize", "bind", "preempt"])
@pytest.mark.parametrize("body", [
    b"", b" ", b"null", b"[]", b"7", b'"x"', b"{", b'{"Pod"', b'{"Pod":', b"{}}", b"{} {}", b"nonsense",
    b'{"Pod":{"metadata":{"name":"a\xff"}},"NodeNames":[]}', b'{"Pod":"\\ud800"}', b'{"a":01}',
    b'{"a":tru}', b"{'a':1}", b'{"a":1,}', b"\xef\xbb\xbf{}", b"\x00", b'{"a":"\n"}',
])
def test_what_is_not_the_json_of_a_body_is_refused(shared, verb, body):
    refused(shared, verb, body)


@pytest.mark.parametrize("verb, body", [("filter", ARGS), ("prioritize", ARGS), ("bind", BINDING),
                                        ("preempt", PREEMPT)])
def test_a_body_cut_anywhere_is_refused(shared, verb, body):
    text = json.dumps(body).encode()
    connection = shared.connect()
    for end in range(0, len(text) - 1, 7):
        reply = shared.post(f"/scheduler/{verb}", text[:end], connection=connection)
        assert reply.status == 400, text[:end]
    connection.close()


@pytest.mark.parametrize("key", ["Pod", "NodeNames"])
def test_a_key_given_twice_is_refused(shared, key):
    text = json.dumps(ARGS)
    twice = text[:-1] + f', "{key}": ' + json.dumps(ARGS[key]) + "}"
    cause = refused(shared, "filter", twice)
    assert key in cause["field"] + cause["message"]


def test_keys_that_differ_in_case_only_are_the_same_key(shared):
    refused(shared, "bind", json.dumps(BINDING)[:-1] + ', "node": "cpu-1"}')


@pytest.mark.parametrize("opening, closing", [("[", "]"), ('{"a":', "}")])
def test_deep_nesting_costs_no_answer(shared, opening, closing):
    deep = opening * 100000 + "1" + closing * 100000
    body = json.dumps(ARGS).replace('"metadata": {', '"metadata": {"managedFields": ' + deep + ", ", 1)
    assert deep in body
    assert shared.post("/scheduler/filter", body).status == 200


def test_a_string_that_is_too_long_is_refused(shared):
    cause = refused(shared, "filter", with_(ARGS, NodeNames=["a" * (2 << 20)]))
    assert cause["field"].startswith("NodeNames")


def test_numbers_beyond_everything_do_not_matter_where_nobody_looks(shared):
    body = json.dumps(ARGS)[:-1] + ', "Other": 1e999999, "More": ' + "9" * 5000 + "}"
    assert shared.post("/scheduler/filter", body).status == 200


@pytest.mark.parametrize("name", ["a" * 300, "a" * 100000], ids=["300", "100000"])
def test_a_pods_name_that_is_too_long_is_refused(shared, name):
    cause = refused(shared, "filter", with_(ARGS, Pod=pod_of(name, {MIG: 1})))
    assert "name" in cause["field"] + cause["message"]


@pytest.mark.parametrize("quantity", ["x", "", "-1", "1e99", "1.5", "99999999999999999999"])
def test_quantities_that_cannot_be_are_a_reason_not_a_crash(shared, quantity):
    pod = pod_of("p", {MIG: quantity}, "u")
    reply = shared.post("/scheduler/filter", with_(ARGS, Pod=pod))
    assert reply.status in (200, 400)
    if reply.status == 200:
        assert NODE in reply.json["FailedAndUnresolvableNodes"]


@pytest.mark.parametrize("method, path, allow", [
    ("GET", "/scheduler/filter", "POST"),
    ("PUT", "/scheduler/bind", "POST"),
    ("DELETE", "/healthz", "GET, HEAD"),
    ("POST", "/metrics", "GET, HEAD"),
    ("GET", "/api/v1/embedded/pods", "POST"),
    ("GET", "/api/v1/embedded/pods/default/x", "DELETE"),
    ("PATCH", "/api/v1/nodes/x", "GET, HEAD"),
])
def test_a_wrong_method_is_405_with_allow(shared, method, path, allow):
    reply = shared.request(method, path, body="{}")
    assert reply.status == 405
    assert reply.headers["allow"] == allow
    assert reply.json["reason"] == "MethodNotAllowed"


@pytest.mark.parametrize("path", [
    "/nothing", "/scheduler", "/scheduler/", "/scheduler/filter/", "/scheduler/filterx", "//",
    "/api/v1/nodes/", "/api/v1/pods/a/b", "/api/v1/pods//b/explain", "/../etc/passwd",
    "/api/v1/nodes/a/b", "/%00", "/%2e%2e/",
])
def test_an_unknown_path_is_404_and_says_where_to_look(shared, path):
    reply = shared.get(path)
    assert reply.status == 404
    assert reply.json["reason"] == "NotFound"


def test_unknown_things_are_404(shared):
    for path in ("/api/v1/nodes/nowhere", "/api/v1/pods/default/nobody/explain"):
        assert shared.get(path).json["reason"] == "NotFound"
    assert shared.request("DELETE", "/api/v1/embedded/pods/default/nobody").status == 404


@pytest.mark.parametrize("limit", ["0", "-1", "x", "99999999999999999999", "1.5"])
def test_a_wrong_number_in_the_query_names_the_parameter(shared, limit):
    reply = shared.get(f"/api/v1/nodes?limit={limit}")
    assert reply.status == 400
    assert reply.json["details"]["causes"][0]["field"] == "limit"


@pytest.mark.parametrize("path, query, known", [
    ("/api/v1/nodes", "limit=1&page=2", "one of output, limit, continue, since"),
    ("/api/v1/nodes/gpu-a30-1", "limit=1", "output"),
    ("/api/v1/queue", "namespaces=vision", "one of output, limit, skip, find, namespace, resource"),
    ("/api/v1/queue", "Limit=1", "one of output, limit, skip, find, namespace, resource"),
    ("/api/v1/pods/default/p/explain", "namespace=x&output=table", "one of output, limit"),
    ("/api/v1/state", "output=table", "none"),
    ("/api/v1/usage", "nodes=gpu-a30-1", "one of output, limit, by, namespace, node"),
])
def test_an_unknown_parameter_of_the_query_is_named(shared, path, query, known):
    reply = shared.get(f"{path}?{query}")
    assert reply.status == 400, reply.text
    cause = reply.json["details"]["causes"][0]
    assert cause["field"] in query
    assert cause["message"] == f"found an unknown parameter, expected {known}"


@pytest.mark.parametrize("query, field", [("by=nodes", "by"), ("by=POD", "by"), ("by=%00", "by"),
                                          ("limit=0", "limit"), ("limit=5001", "limit"), ("output=yaml", "output")])
def test_a_wrong_word_in_the_query_of_usage_names_the_parameter(shared, query, field):
    reply = shared.get(f"/api/v1/usage?{query}")
    assert reply.status == 400, reply.text
    assert reply.json["details"]["causes"][0]["field"] == field


# ---- below HTTP ----


@pytest.mark.parametrize("junk", [
    b"\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET / HTTP/9.9\r\n\r\n", b"POST /scheduler/filter HTTP/1.1\r\nHost: x\r\n"
    b"Content-Length: -5\r\n\r\n", b"POST /scheduler/filter HTTP/1.1\r\nHost: x\r\n"
    b"Content-Length: 99999999999999999999999\r\n\r\n", b"\x00" * 1000,
    b"POST /scheduler/filter HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X: " + b"a" * 300000 + b"\r\n\r\n",
    b"GET /" + b"a" * 300000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
], ids=lambda junk: repr(junk[:40]))
def test_junk_ends_the_connection_and_nothing_else(shared, junk):
    with shared.socket() as s:
        try:
            s.sendall(junk)
            s.shutdown(socket.SHUT_WR)
            while s.recv(65536):
                pass
        except OSError:
            pass  # it was closed before all of the junk was sent
    assert shared.get("/healthz").status == 200


def head_of(verb, length):
    return (f"POST /scheduler/{verb} HTTP/1.1\r\nHost: x\r\n"
            f"Content-Length: {length}\r\n\r\n").encode()


def test_a_client_that_goes_away_in_mid_body_leaves_nothing_behind(shared):
    body = json.dumps(ARGS).encode()
    for end in (0, 1, len(body) // 2, len(body) - 1):
        with shared.socket() as s:
            s.sendall(head_of("filter", len(body)) + body[:end])
    eventually(lambda: shared.metric("sliced_http_connections") == 1)


def test_a_half_closed_connection_still_gets_its_answer(shared):
    body = json.dumps(ARGS).encode()
    with shared.socket() as s:
        s.sendall(head_of("filter", len(body)) + body)
        s.shutdown(socket.SHUT_WR)
        reply = b""
        while True:
            piece = s.recv(65536)
            if not piece:
                break
            reply += piece
    assert reply.startswith(b"HTTP/1.1 200") and NODE.encode() in reply


def test_a_body_that_comes_byte_by_byte_is_understood(shared):
    body = json.dumps(ARGS).encode()
    with shared.socket() as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        s.sendall(head_of("filter", len(body)))
        for i in range(len(body)):
            s.sendall(body[i:i + 1])
        assert s.recv(65536).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("path", ["/scheduler/filter", "/scheduler/bind", "/api/v1/embedded/pods"])
def test_a_packed_body_is_415_and_says_why(shared, path):
    packed = gzip.compress(json.dumps(ARGS).encode())
    reply = shared.post(path, packed, headers={"Content-Encoding": "gzip"})
    cause, = reply.json["details"]["causes"]
    assert (reply.status, cause["field"]) == (415, "Content-Encoding")
    assert reply.json["reason"] == "UnsupportedMediaType"
    assert '"gzip"' in cause["message"] and "identity" in cause["message"]


def test_a_body_as_it_is_may_say_so(shared):
    reply = shared.post("/scheduler/filter", ARGS, headers={"Content-Encoding": "Identity"})
    assert (reply.status, reply.json["NodeNames"]) == (200, [NODE])


# ---- limits ----

def limits(timeout):
    """timeout: how long a connection may be silent."""
    return f"""server:
  maxBodyBytes: 4Ki
  maxConnections: 4
  requestTimeout: {timeout}
  connectionMemory: 16Ki
  threads: 1
extender:
  maxNodeNames: 5
"""


@pytest.fixture
def small(start):
    return start(EXAMPLES / "a30-mixed.yaml", config=limits("1m"))


@pytest.fixture
def hasty(start):
    return start(EXAMPLES / "a30-mixed.yaml", config=limits("1s"))


def test_a_body_declared_too_long_is_413_before_it_is_sent(small):
    with small.socket() as s:
        s.sendall(head_of("filter", 1 << 30))
        reply = s.recv(65536)
    assert reply.startswith(b"HTTP/1.1 413")
    assert b"server.maxBodyBytes" in reply
    assert small.metric('sliced_limit_hits_total{limit="body_bytes"}') == 1


def test_a_chunked_body_is_counted(small):
    connection = small.connect()
    connection.request("POST", "/scheduler/filter", body=iter([b" " * 1000] * 6),
                       encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
    response = connection.getresponse()
    assert response.status == 413
    assert b"server.maxBodyBytes" in response.read()
    connection.close()


def test_a_chunked_body_without_end_is_cut_off(small):
    with small.socket() as s:
        s.sendall(b"POST /scheduler/filter HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            for _ in range(1000000):
                s.sendall(b"400\r\n" + b" " * 1024 + b"\r\n")
    assert small.get("/healthz").status == 200


def test_more_candidates_than_configured_are_refused(small):
    args = with_(ARGS, NodeNames=[f"n{i}" for i in range(6)])
    cause = refused(small, "filter", args, status=413)
    assert "maxNodeNames" in cause["message"] and cause["field"] == "NodeNames[5]"
    assert small.metric('sliced_limit_hits_total{limit="node_names"}') == 1
    assert small.filter(POD, [f"n{i}" for i in range(5)])["Error"] == ""


def test_more_victims_than_a_node_can_run_are_refused(shared):
    def body(n):
        return {"Pod": POD, "NodeNameToMetaVictims": {NODE: {"Pods": [{"UID": f"u{i}"}
                                                                      for i in range(n)]}}}
    assert shared.post("/scheduler/preempt", body(10000)).status == 200
    cause = refused(shared, "preempt", body(10001))
    assert cause["field"] == f"NodeNameToMetaVictims[{NODE}].Pods[10000].UID"
    assert "10000" in cause["message"]


def test_more_connections_than_configured_wait_for_their_turn(small):
    held = [small.socket() for _ in range(4)]
    late = small.socket()
    late.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    for s in held:
        s.close()
    assert late.recv(65536).startswith(b"HTTP/1.1 200")
    late.close()


def test_an_idle_connection_is_closed(hasty):
    with hasty.socket() as s:
        assert s.recv(10) == b""


def dripped(sock, data, every_s=0.1):
    """Sends data byte by byte, over and over, until the other side has closed; the longest time between
    two bytes, in seconds."""
    begin = last = time.monotonic()
    longest = 0
    for at in itertools.count():
        try:
            sock.sendall(data[at % len(data):at % len(data) + 1])
            over = select.select([sock], [], [], every_s)[0] and sock.recv(65536) == b""
        except OSError:
            over = True
        now = time.monotonic()
        longest, last = max(longest, now - last), now
        if over:
            return longest
        assert now - begin < 60, "it was never closed"


@pytest.mark.parametrize("first", [b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"],
                         ids=["new", "used before"])
def test_headers_that_drip_in_are_cut_off(hasty, first):
    begin = time.monotonic()
    with hasty.socket() as s:
        if first:
            s.sendall(first)
            assert s.recv(65536).startswith(b"HTTP/1.1 200")
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
        longest = dripped(s, b"x-a: b\r\n")
    assert time.monotonic() - begin >= 1, "not before its time"
    # where this machine stood still for as long, the connection was closed as idle
    assert longest > 0.8 or hasty.metric('sliced_limit_hits_total{limit="header_time"}') == 1
    assert hasty.get("/healthz").status == 200


def test_a_connection_that_is_used_now_and_then_is_kept(start):
    small = start(EXAMPLES / "a30-mixed.yaml", config=limits("5s"))
    connection = small.connect()
    connection.connect()
    sock = connection.sock
    end = time.monotonic() + 11  # longer than the patience with one request
    while time.monotonic() < end:
        assert small.get("/healthz", connection=connection).status == 200
        select.select([], [], [], 0.4)
    assert connection.sock is sock
    connection.close()
    assert small.metric('sliced_limit_hits_total{limit="header_time"}') == 0


def test_a_slow_client_does_not_hold_up_the_others(small):
    body = json.dumps(ARGS).encode()
    with small.socket() as slow:
        slow.sendall(head_of("filter", len(body)) + body[:10])
        assert small.filter(POD, [NODE])["NodeNames"] == [NODE]
        while slow.recv(65536):  # it is closed without an answer in the end
            pass


def test_a_reply_beyond_its_maximum_is_an_error_that_says_so(start):
    daemon = start(EXAMPLES / "a30-mixed.yaml", config="server:\n  maxReplyBytes: 1Ki\n")
    reply = daemon.get("/api/v1/nodes")
    assert reply.status == 500
    assert "server.maxReplyBytes" in reply.json["message"]
    assert daemon.get("/healthz").status == 200
