"""A Prometheus that does what a real one cannot be told to: each fault is a known state, GPUs are then judged
as if nothing were measured, and afterwards all is as before. The stories with a real one stand in test/e2e."""
import http.server
import json
import threading
import time

import pytest

from sliced_daemon import Daemon, eventually, pod_of

GPU = "nvidia.com/gpu"
NODE = "t4-1"
CLUSTER = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE, "labels": {
    "nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.count": "1", "nvidia.com/gpu.memory": "15360",
    "nvidia.com/gpu.replicas": "8", "nvidia.com/gpu.sharing-strategy": "time-slicing"}},
    "status": {"allocatable": {GPU: "8", "cpu": "64", "memory": "64Gi", "pods": "110"},
               "capacity": {GPU: "8", "cpu": "64", "memory": "64Gi", "pods": "110"}}}


class Fake:
    """Answers each question with what answer(fake) gives: (status, type, body), or writes by itself."""

    def __init__(self):
        self.answer = None
        self.paths = []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def handler(self):
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                fake.paths.append(self.path)
                status, kind, body = (fake.answer or well)()
                cut = isinstance(body, Cut)
                data = (body.text if cut else body).encode()
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", kind)
                    self.send_header("Content-Length", str(len(data) + (100 if cut else 0)))
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    return  # it waited no longer
                self.close_connection = cut

            def log_message(self, *_):
                pass
        return Handler

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Cut:
    def __init__(self, text):
        self.text = text


def series(values, name="DCGM_FI_DEV_FB_USED", **labels):
    return {"metric": {"__name__": name, "Hostname": NODE, "gpu": "0", "UUID": "GPU-1", **labels}, "values": values}


def matrix(*result):
    return 200, "application/json", json.dumps(
        {"status": "success", "data": {"resultType": "matrix", "result": list(result)}})


def samples(used=4000, ago=0.0, n=30):
    """One a second, the last one so long ago."""
    now = time.time() - ago
    return [[now - n + 1 + i, str(used)] for i in range(n)]


def well():
    return matrix(series(samples()))


CONFIG = """telemetry:
  url: %s
  interval: 1s
  timeout: 1s
  staleAfter: 2s
  maxGap: 5s
  window: 60
  sharing: cbp
  %s
"""


def pod(name, memory):
    return pod_of(name, {GPU: 1}, uid=name, annotations={"sliced.dev/gpu-memory": memory})


def measuring(fake, more=""):
    daemon = Daemon("-", stdin=json.dumps(CLUSTER), config=CONFIG % (fake.url, more))
    first = pod("first", "12000Mi")
    daemon.add(first)
    assert daemon.bind(first, NODE) == ""
    return daemon


@pytest.fixture(scope="module")
def rig():
    fake = Fake()
    daemon = measuring(fake)
    yield fake, daemon
    daemon.stop()
    fake.stop()


def row(daemon):
    found = [each for each in daemon.get("/api/v1/usage").json["items"] if each["gpu"] == 0]
    return found[0] if found else {"state": "Absent"}


def fits(daemon, memory="8000Mi"):
    return daemon.filter(pod("second", memory), [NODE])["NodeNames"] == [NODE]


def slow():
    time.sleep(1.5)
    return well()


def refusal(status, kind, text):
    return lambda: (status, "application/json", json.dumps({"status": "error", "errorType": kind, "error": text}))


# what it answers, and what is said of that: in the API, the log, and by the metric of failed questions
FAILURES = {
    "a question that it cannot parse": (refusal(400, "bad_data", "parse error at char 5"),
                                        "HTTP 400: parse error at char 5"),
    "a question that it cannot carry out": (refusal(422, "execution", "query timed out"), "HTTP 422: query timed out"),
    "an error with status 200": (refusal(200, "internal", "no space left"), "no space left"),
    "no service": (lambda: (503, "text/html", "<html>gateway</html>"), "HTTP 503: the server answered 503"),
    "a login page elsewhere": (lambda: (302, "text/html", "see /login"), "HTTP 302"),
    "no right": (lambda: (401, "text/plain", "Unauthorized"), "HTTP 401"),
    "HTML": (lambda: (200, "text/html", "<html><body>Sign in</body></html>"), "no answer of Prometheus"),
    "nothing": (lambda: (200, "application/json", ""), "no answer of Prometheus"),
    "slowness": (slow, "within 1000 ms"),
    "half an answer": (lambda: (200, "application/json", Cut(well()[2][:200])), "remaining"),
    "a list": (lambda: (200, "application/json", "[]"), "no answer of Prometheus"),
    "numbers for texts": (lambda: matrix(series([[time.time(), 4000]])), "no answer of Prometheus"),
    "texts for numbers": (lambda: matrix(series([[str(time.time()), "4000"]])), "no answer of Prometheus"),
    "a scalar": (lambda: (200, "application/json", '{"status": "success", "data": {"resultType": "scalar", '
                                                   '"result": [1700000000, "1"]}}'), "no answer of Prometheus"),
    "nesting": (lambda: (200, "application/json", '{"data": {"result": ' + "[" * 100000), "no answer of Prometheus"),
}


@pytest.mark.parametrize("fault", FAILURES)
def test_what_is_no_answer_is_said_and_over_when_it_is_over(rig, fault):
    fake, daemon = rig
    answer, said = FAILURES[fault]
    eventually(lambda: row(daemon)["state"] == "Good" and fits(daemon))
    failed = 'sliced_telemetry_questions_total{outcome="failed"}'
    before = daemon.metric(failed)
    fake.answer = answer
    try:
        eventually(lambda: row(daemon)["state"] == "Stale")
        status = daemon.get("/api/v1/usage").json
        assert not status["answered"] and said in status["error"], status["error"]
        assert said in daemon.get("/api/v1/usage?output=table").text
        assert said.replace('"', "") in daemon.log.replace("\\", "")
        assert daemon.metric(failed) > before
        assert daemon.metric('sliced_telemetry_units{state="Stale"}') == 1
        assert not fits(daemon) and fits(daemon, "3000Mi")  # as by asks: 12000 of 15360 MiB are taken
    finally:
        fake.answer = None
    eventually(lambda: row(daemon)["state"] == "Good" and fits(daemon))
    assert daemon.get("/api/v1/usage").json["error"] is None


# answers that tell of nothing that counts: (what is told, the outcome that counts its samples)
WORTHLESS = {
    "a clock that is late": (lambda: matrix(series(samples(ago=120))), None),
    "a clock that is ahead": (lambda: matrix(series(samples(ago=-120))), "future"),
    "a clock that is years ahead": (lambda: matrix(series(samples(ago=-1e8))), "future"),
    "NaN": (lambda: matrix(series(samples("NaN"))), None),
    "infinity": (lambda: matrix(series(samples("+Inf"))), None),
    "less than nothing": (lambda: matrix(series(samples(-5))), "refused"),
    "too much": (lambda: matrix(series(samples("1e300"))), "refused"),
    "no series": (matrix, None),
    "a node that nobody knows": (lambda: matrix(series(samples(), Hostname="elsewhere")), None),
    "a GPU without a number": (lambda: matrix(series(samples(), gpu="x")), None),
    "another metric": (lambda: matrix(series(samples(), name="DCGM_FI_DEV_GPU_TEMP")), None),
}


@pytest.mark.parametrize("fault", WORTHLESS)
def test_samples_that_are_worth_nothing_count_as_none(rig, fault):
    fake, daemon = rig
    answer, outcome = WORTHLESS[fault]
    eventually(lambda: row(daemon)["state"] == "Good" and fits(daemon))
    counted = outcome and f'sliced_telemetry_samples_total{{outcome="{outcome}"}}'
    before = daemon.metric(counted) if counted else 0
    fake.answer = answer
    try:
        eventually(lambda: row(daemon)["state"] == "Stale")
        assert daemon.get("/api/v1/usage").json["answered"]
        assert not fits(daemon) and fits(daemon, "3000Mi")
        assert not counted or daemon.metric(counted) > before
    finally:
        fake.answer = None
    eventually(lambda: row(daemon)["state"] == "Good" and fits(daemon))


def test_an_answer_without_its_end_is_said_and_its_samples_count(rig):
    fake, daemon = rig
    fake.answer = lambda: (200, "application/json", well()[2][:-1])
    try:
        eventually(lambda: "no answer of Prometheus" in (daemon.get("/api/v1/usage").json["error"] or ""))
        assert row(daemon)["state"] == "Good"
    finally:
        fake.answer = None
    eventually(lambda: daemon.get("/api/v1/usage").json["answered"])


def test_what_is_told_twice_counts_once(rig):
    fake, daemon = rig

    def twice():
        once = samples(5000)
        return matrix(series(once), series(once), series([[at, "9000"] for at, _ in once]))
    fake.answer = twice
    try:
        eventually(lambda: row(daemon).get("usedMiB") == 5000)
        assert row(daemon)["state"] == "Good"
    finally:
        fake.answer = None


def test_series_beyond_the_ceiling_are_passed_over_and_counted():
    fake = Fake()
    fake.answer = lambda: matrix(series(samples()), *(series(samples(), gpu=str(gpu)) for gpu in range(1, 40)))
    daemon = measuring(fake, "maxUnits: 3")
    try:
        eventually(lambda: daemon.metric("sliced_telemetry_units_over_total") >= 37)
        assert len(daemon.get("/api/v1/usage").json["items"]) == 3
        eventually(lambda: row(daemon)["state"] == "Good")
    finally:
        daemon.stop()
        fake.stop()


def test_the_first_question_goes_back_minutes_the_next_ones_to_the_last_answer(rig):
    fake, daemon = rig
    eventually(lambda: row(daemon)["state"] == "Good")
    ranges = [path[path.index("%5B") + 3:path.index("%5D")] for path in fake.paths]
    assert ranges[0] == "300s" and ranges[-1] in ("8s", "9s"), ranges


def test_without_telemetry_usage_says_that_nothing_is_measured(shared):
    for query in ("", "?by=pod", "?by=device&namespace=x&limit=1"):
        assert shared.get(f"/api/v1/usage{query}").json == {"enabled": False, "items": [], "total": 0, "omitted": 0}
    table = shared.get("/api/v1/usage?output=table")
    assert table.status == 200 and "Nothing is measured" in table.text
    assert "sliced_telemetry" not in shared.get("/metrics").text


def test_no_prometheus_stops_the_daemon():
    fake = Fake()
    fake.stop()
    daemon = measuring(fake)
    try:
        eventually(lambda: daemon.get("/api/v1/usage").json["error"])
        assert daemon.get("/readyz").status == 200
        assert not fits(daemon) and fits(daemon, "3000Mi")
    finally:
        daemon.stop()
