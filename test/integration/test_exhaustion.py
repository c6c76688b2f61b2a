"""Callers who take all they can get: the others are heard, and memory stays bounded."""
import json
import os
import re
import resource
import signal
import socket
import time

import pytest

from sliced_daemon import EXAMPLES, eventually, pod_of

A30 = EXAMPLES / "a30-mixed.yaml"
NODE = "gpu-a30-1"
POD = pod_of("p", {"nvidia.com/mig-1g.6gb": 1}, "u")
SPLIT = """server:
  probeListen: 127.0.0.1:0
  metricsListen: 127.0.0.1:0
  threads: 2
"""
HALF = b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nX-"
MIB = 1 << 20


@pytest.fixture(scope="module", autouse=True)
def many_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(16384, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Crowd:
    """Connections that are held open."""

    def __init__(self):
        self.sockets = []

    def come(self, port, n, data=b""):
        for i in range(n):
            # from many addresses: the whole of 127.0.0.0/8 is ours
            sock = socket.create_connection(("127.0.0.1", port), 30, (f"127.0.{i % 7}.{1 + i % 200}", 0))
            self.sockets.append(sock)
            try:
                sock.sendall(data)
            except OSError:
                pass  # it was ended already
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for sock in self.sockets:
            sock.close()


def port_of(daemon, name):
    return int(re.search(rf'"listening" for="{name}" address="\S+:(\d+)"', daemon.log)[1])


def status_at(port, path="/livez"):
    with socket.create_connection(("127.0.0.1", port), 30) as s:
        s.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        return int(s.recv(65536).split()[1])


def resident(daemon):
    return daemon.metric("process_resident_memory_bytes")


def hits(daemon, limit):
    return daemon.metric(f'sliced_limit_hits_total{{limit="{limit}"}}')


@pytest.mark.parametrize("n", [300, 3000])
@pytest.mark.parametrize("data", [b"", b"\x16", HALF], ids=["silent", "a byte", "half a header"])
def test_probes_are_answered_while_nobody_else_finishes_a_sentence(start, n, data):
    """None of the crowd's connections has ended by itself when the probe is answered: the patience
    with each is two seconds and more."""
    daemon = start(A30, config=SPLIT)
    begin = time.monotonic()
    with Crowd() as crowd:
        crowd.come(daemon.port, n, data).come(port_of(daemon, "probes"), n, data)
        crowd.come(port_of(daemon, "metrics"), n, data)
        for path in ("/livez", "/readyz"):
            assert status_at(port_of(daemon, "probes"), path) == 200
            assert status_at(daemon.port, path) == 200
        assert status_at(port_of(daemon, "metrics"), "/metrics") == 200
        assert daemon.filter(POD, [NODE])["NodeNames"] == [NODE]
        assert hits(daemon, "connections") >= n - 256
        assert hits(daemon, "header_time") == 0 or time.monotonic() - begin > 2
        assert daemon.metric("sliced_http_connections") <= 256 + 128 + 64 + 8 * 5


@pytest.mark.parametrize("name, path, others", [("probes", "/readyz", 120), ("metrics", "/metrics", 60)])
def test_who_speaks_late_is_heard_before_so_many_others_have_come(start, name, path, others):
    daemon = start(A30, config=SPLIT)
    port = port_of(daemon, name)

    def heard():
        with socket.create_connection(("127.0.0.1", port), 30) as s, Crowd() as crowd:
            crowd.come(port, others)
            try:
                s.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
                return s.recv(65536).startswith(b"HTTP/1.1 200")
            except OSError:
                return False  # this machine stood still: after two seconds its silence has ended it

    def alone():
        return daemon.metric("sliced_http_connections") <= 1
    eventually(lambda: eventually(alone) and heard())
    assert hits(daemon, "connections") == 0


@pytest.mark.skipif(int(open("/proc/sys/net/core/somaxconn", encoding="ascii").read()) < 2000,
                    reason="the kernel keeps fewer connections waiting")
def test_who_comes_with_a_thousand_others_waits_for_his_turn_and_is_not_dropped(start):
    """A connection that finds no place in the kernel's queue is tried again after one, two, four seconds."""
    daemon = start(A30)
    with Crowd() as crowd:
        daemon.signal(signal.SIGSTOP)  # it takes none meanwhile
        try:
            crowd.come(daemon.port, 1000)
        finally:
            daemon.signal(signal.SIGCONT)
        assert status_at(daemon.port) == 200


def test_a_request_that_is_answered_makes_no_room_for_a_crowd(start):
    """A reply that nobody reads may go, a body that still comes in may go; who has said all and
    waits for his answer may not."""
    daemon = start(A30, config="server: {maxConnections: 4, threads: 1}\n")
    body = json.dumps({"Pod": POD, "NodeNames": [NODE]}).encode()
    head = b"POST /scheduler/filter HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
    with Crowd() as crowd:
        for _ in range(20):
            crowd.come(daemon.port, 30)
            with daemon.socket() as s:
                s.sendall(head + body)
                assert s.recv(65536).startswith(b"HTTP/1.1 200")


def review(size):
    """Half of one, which says as much as it can of what is kept."""
    labels = ",".join(f'"k{i}": "{"x" * 4000}"' for i in range(size // 4000))
    text = ('{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u", '
            f'"object": {{"metadata": {{"name": "p", "labels": {{{labels}')
    return head_of("/admission/gate/any", 2 * len(text)) + text.encode()


def names(size):
    text = ('{"Pod": {"metadata": {"name": "p"}}, "NodeNames": ['
            + ",".join(f'"node-{i}-{"y" * 200}"' for i in range(size // 220)))
    return head_of("/scheduler/filter", 2 * len(text)) + text.encode()


def head_of(path, length):
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n".encode()


@pytest.mark.parametrize("half", [review(3 * MIB), names(4 * MIB)], ids=["review", "filter"])
def test_half_bodies_hold_a_bounded_part_of_the_memory(start, half):
    daemon = start(A30, config="server: {maxBufferedBytes: 32Mi, threads: 2}\n")
    before = resident(daemon)
    with Crowd() as crowd:
        crowd.come(daemon.port, 200, half)
        eventually(lambda: hits(daemon, "buffered_bytes") + hits(daemon, "decode") > 0)
        # a request that takes too much is counted before it is shed, one of each thread at a time
        assert daemon.metric("sliced_http_buffered_bytes") <= 48 * MIB
        eventually(lambda: daemon.metric("sliced_http_buffered_bytes") <= 33 * MIB)
        # what connections may hold beside it: 200 of 64 KiB, and what malloc keeps; a sanitizer keeps more
        assert os.environ.get("SLICED_SANITIZE") or resident(daemon) - before < 110 * MIB
        assert status_at(daemon.port) == 200
    eventually(lambda: daemon.metric("sliced_http_connections") == 1)
    eventually(lambda: daemon.metric("sliced_http_buffered_bytes") < 2 * MIB)
    assert daemon.filter(POD, [NODE])["NodeNames"] == [NODE]


def test_a_request_that_gets_no_memory_may_come_again(start):
    daemon = start(A30, config="server: {maxBufferedBytes: 1Mi}\n")
    body = json.dumps({"Pod": POD, "NodeNames": [f"node-{i}-{'y' * 200}" for i in range(10000)]})
    reply = daemon.post("/scheduler/filter", body)
    assert (reply.status, reply.headers["retry-after"]) == (503, "1")
    assert "server.maxBufferedBytes" in reply.json["message"] and reply.json["Error"]
    assert hits(daemon, "buffered_bytes") == 1
    assert daemon.filter(POD, [NODE])["NodeNames"] == [NODE]


def test_a_reply_of_names_may_have_what_others_have_given_back_meanwhile(start):
    daemon = start(A30, config="server: {maxBufferedBytes: 4Mi}\n")
    body = json.dumps({"Pod": pod_of("p", {"cpu": 1}, "u"), "NodeNames": [f"node-{i}-{'y' * 200}" for i in range(3000)]}).encode()
    with Crowd() as crowd, daemon.socket() as s:
        crowd.come(daemon.port, 1, names(3 * MIB // 2))
        eventually(lambda: daemon.metric("sliced_http_buffered_bytes") > 3 * MIB)
        s.sendall(head_of("/scheduler/filter", len(body)).replace(b"Host: x", b"Host: x\r\nConnection: close\r\nExpect: 100-continue"))
        assert s.recv(4096).startswith(b"HTTP/1.1 100")  # it has begun
        crowd.sockets[0].close()
        eventually(lambda: daemon.metric("sliced_http_buffered_bytes") < MIB)
        s.sendall(body)
        reply = b"".join(iter(lambda: s.recv(1 << 16), b""))
    assert len(json.loads(reply.partition(b"\r\n\r\n")[2])["NodeNames"]) == 3000


def test_an_estimate_whose_reply_gets_no_memory_may_come_again(start):
    """The body fits and the reply repeats it, which does not. A sanitizer sees what the request's end reads."""
    daemon = start(A30, config="server: {maxBufferedBytes: 1Mi}\nqueue: {enabled: true}\n")
    path = "/apis/visibility.sliced.dev/v1alpha1/namespaces/default/startestimates"
    body = json.dumps({"apiVersion": "visibility.sliced.dev/v1alpha1", "kind": "StartEstimate", "spec": {"pod": POD}})
    reply = daemon.request("POST", path, body.rjust(524000))
    assert (reply.status, reply.headers["retry-after"]) == (503, "1")
    assert "server.maxBufferedBytes" in reply.json["message"]
    assert hits(daemon, "buffered_bytes") == 1
    assert eventually(lambda: daemon.request("POST", path, body).status == 201)


def test_replies_that_nobody_reads_count_too(start):
    daemon = start(A30, config="server: {maxBufferedBytes: 8Mi}\n")
    body = json.dumps({"Pod": POD, "NodeNames": [f"node-{i}-{'y' * 200}" for i in range(8000)]}).encode()
    with Crowd() as crowd:
        for _ in range(20):
            crowd.come(daemon.port, 1, head_of("/scheduler/filter", len(body)) + body)
        eventually(lambda: hits(daemon, "buffered_bytes") > 0)
        eventually(lambda: daemon.metric("sliced_http_buffered_bytes") <= 9 * MIB)
        assert status_at(daemon.port) == 200


# ---- files ----


def test_the_limit_of_open_files_is_raised_as_far_as_it_may_be(start):
    daemon = start(A30, files=(64, 4096))
    assert daemon.metric("process_max_fds") == 4096
    assert "open files" not in daemon.log


def test_clients_leave_files_for_the_daemons_own_work(start):
    """Without them it could not read its configuration, nor call the API server."""
    daemon = start(A30, config="server: {maxConnections: 1000, threads: 2, requestTimeout: 10m}\n", files=(64, 256))
    assert re.search(r"limit of open files .* limit=256 needed=1276 connections=128\b", daemon.log), daemon.log
    with Crowd().come(daemon.port, 400, HALF):
        eventually(lambda: daemon.metric("sliced_http_connections") > 100)
        assert daemon.metric("process_open_fds") < 200
        assert status_at(daemon.port) == 200
        daemon.write_config("server: {maxConnections: 1000, threads: 2, requestTimeout: 10m}\nlog: {level: debug}\n")
        daemon.process.send_signal(signal.SIGHUP)
        eventually(lambda: "reloaded" in daemon.log)


# ---- pages ----


@pytest.mark.parametrize("headers", [{"Origin": "http://evil.example"}, {"Origin": "null"},
                                     {"Origin": "http://127.0.0.1:8888"}])
@pytest.mark.parametrize("method, path", [("POST", "/scheduler/bind"), ("GET", "/api/v1/queue"),
                                          ("POST", "/api/v1/embedded/pods"), ("GET", "/livez")])
def test_a_page_in_a_browser_may_not_ask(shared, method, path, headers):
    before = shared.generation
    reply = shared.request(method, path, body="{}" if method == "POST" else None, headers=headers)
    assert reply.status == 403 and "pages may not ask" in reply.text
    assert not [name for name in reply.headers if name.startswith("access-control")]
    assert shared.generation == before


@pytest.mark.parametrize("host, status", [
    ("evil.example:8888", 403), ("localhost.evil.example", 403), ("127.0.0.1.evil.example", 403),
    ("127.evil.example", 403), ("evil", 403), ("127.0.0.1:8888", 200), ("localhost", 200),
    ("localhost:8888", 200), ("[::1]:8888", 200), ("10.0.0.7:80", 200)])
def test_a_name_that_was_turned_to_loopback_is_not_believed(shared, host, status):
    assert shared.request("GET", "/api/v1/state", headers={"Host": host}).status == status


@pytest.mark.parametrize("lines", [
    "Content-Length: 2\r\nContent-Length: 2", "Content-Length: 2\r\nContent-Length: 40",
    "Content-Length: 2\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 2",
])
def test_a_length_that_is_given_twice_is_refused(shared, lines):
    with shared.socket() as s:
        s.sendall(f"POST /scheduler/bind HTTP/1.1\r\nHost: x\r\n{lines}\r\n\r\n{{}}".encode())
        said = s.recv(65536)
        assert said == b"" or b" 400 " in said.split(b"\r\n")[0]
        while said:
            said = s.recv(65536)  # and the connection ends: nothing behind it is taken for a request


SMUGGLED = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
LEN = len(SMUGGLED)


def all_said(sock):
    """What the daemon says until it ends the connection."""
    said = b""
    try:
        while piece := sock.recv(65536):
            said += piece
    except ConnectionResetError:
        pass  # it had not read all that was sent
    return said


@pytest.mark.parametrize("lines", [
    "Transfer-Encoding : chunked", "Transfer-Encoding\t: chunked", "Transfer-Encoding\v: chunked",
    "Transfer-Encoding\xa0: chunked", "Transfer-Encoding\0: chunked", "(X): y", f"Content-Length : {LEN}",
    " Transfer-Encoding: chunked", "X: y\r\n Transfer-Encoding: chunked", "X: y\r\n\tContent-Length: 5",
    "Transfer-Encoding:\r\n chunked", "Content-Length: 1\r\n 0", "Content-Len: 0\r\n gth", "Conten: 5\r\n t-Length",
    "X: y\rTransfer-Encoding: chunked", "X: y\nTransfer-Encoding: chunked", "X: \x01", "X: \x7f",
    "Transfer-Encoding: xchunked", "Transfer-Encoding: \x0bchunked", "Transfer-Encoding: gzip, chunked",
    "Transfer-Encoding: identity", 'Transfer-Encoding: "chunked"', "Transfer-Encoding:", "Transfer-Encoding: chunked;a",
    "Content-Length: +0", "Content-Length: -0", f"Content-Length: 0, {LEN}", "Content-Length: 0x0", "Content-Length:",
    "Content-Length: 0 0", "Content-Length: 18446744073709551615", "Content-Length: 0\r\ncontent-length: 0",
    "Host: y", "Authorization: a\r\nAuthorization: b", "X-Remote-User: a\r\nX-Remote-User: b",
    "x-remote-user: a\r\nX-Remote-User: a", "Origin: http://x\r\nOrigin: http://y",
    "Content-Encoding: identity\r\nContent-Encoding: gzip",
    ": a", ":", ": ", "::", "X: y\r\n: a", "X: y\r\n:\r\nTransfer-Encoding: chunked", f":\r\nContent-Length: {LEN}",
    ": a\nX: y", "X:\r\n:", "\0", "\0: a", "\0X: y", "X: y\r\n\0\r\nContent-Length: 5", "X: y\n", "X:\n",
    "Transfer-Encoding: chunked\0x", "Transfer-Encoding: chunked\0", f"Content-Length: {LEN}\0 9", f"Content-Length: {LEN}\0",
    "X: a\0b", "X: a\0", "X:\0", "X: a\0\0", "X\0y: z",
])
@pytest.mark.parametrize("path", ["/livez", "/scheduler/filter", "/nothing"])
def test_nothing_behind_a_request_whose_end_is_in_doubt_is_answered(shared, path, lines):
    with shared.socket() as s:
        s.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\n{lines}\r\n\r\n".encode("latin-1") + SMUGGLED)
        said = all_said(s)
        assert said == b"" or re.match(rb"HTTP/1.1 (400|413) ", said), said
        assert b"HTTP/1.1 200 " not in said, said


@pytest.mark.parametrize("head", [
    "GET /livez HTTP/1.1\r\n: a\r\n", "GET /livez HTTP/1.1\r\n:\r\n", "GET /livez HTTP/1.1\r\n\0x\r\n",
    "GET /livez HTTP/1.1\r\n\0\r\n", "GET /livez HTTP/1.1\n\r\n", "GET /livez HTTP/1.1\r\n\n", "GET\0 /livez HTTP/1.1\r\n\r\n",
    "GET\0x /livez HTTP/1.1\r\n\r\n", "GET  /livez HTTP/1.1\r\n\r\n", "GET /livez HTTP/1.1\0\r\n\r\n",
])
def test_nothing_behind_a_first_line_whose_end_is_in_doubt_is_answered(shared, head):
    with shared.socket() as s:
        s.sendall(head.encode() + SMUGGLED)
        said = all_said(s)
        assert said == b"" or re.match(rb"HTTP/1.1 400 ", said), said
        assert b"HTTP/1.1 200 " not in said, said


@pytest.mark.parametrize("target", ["/livez", "/%6civez", "/api/v1/nodes?output=%6as%6fn", "/api/v1/nodes?limit=5&output=json"])
def test_heads_that_come_byte_by_byte_are_taken(shared, target):
    with shared.socket() as s:
        for last in ("X-C: d", "Connection: close"):  # on one connection
            for byte in f"GET {target} HTTP/1.1\r\nHost: [::1]\r\nX-A: \r\nX-B:b \t\r\n{last}\r\n\r\n".encode():
                s.sendall(bytes([byte]))
        said = all_said(s)
        assert said.count(b"HTTP/1.1 200 ") == 2, said


@pytest.mark.parametrize("body", [
    "0\r\n\r\n", "0\r\nX: y\r\n: a\r\n", "0\r\n: a\r\n\r\n", "0\r\n\0x\r\n", "0;a\nb\r\n\r\n", "0\n\n", "1;\n{\r\n0\r\n\r\n"])
@pytest.mark.parametrize("path", ["/livez", "/scheduler/filter", "/nothing"])
def test_a_connection_ends_with_a_chunked_body(shared, path, body):
    with shared.socket() as s:
        s.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n{body}".encode() + SMUGGLED)
        said = all_said(s)
        assert said.count(b"HTTP/1.1 ") <= 1, said


def test_a_chunked_body_is_not_taken_with_http_1_0(shared):
    with shared.socket() as s:
        s.sendall(b"POST /scheduler/filter HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"
                  b"0\r\n\r\n" + SMUGGLED)
        said = all_said(s)
        assert re.match(rb"HTTP/1.. 400 ", said) and b"200 OK" not in said, said


@pytest.mark.parametrize("lines", ["Content-Length: 000", "X-A:\r\nX-B: a\tb", "!#$%&'*+-.^_`|~9z: \xe4"])
def test_headers_that_leave_no_doubt_are_taken(shared, lines):
    with shared.socket() as s:
        s.sendall(f"GET /livez HTTP/1.1\r\nHost: x\r\n{lines}\r\n\r\n".encode("latin-1"))
        assert s.recv(65536).startswith(b"HTTP/1.1 200 ")
        s.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert s.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_a_chunked_body_is_taken_whatever_the_case_of_its_name(shared):
    with shared.socket() as s:
        s.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\nTRANSFER-ENCODING: Chunked\r\n\r\n0\r\n\r\n")
        assert s.recv(65536).startswith(b"HTTP/1.1 200 ")
