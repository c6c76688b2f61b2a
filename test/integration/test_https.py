"""HTTPS: rotation of the certificate, client certificates, old protocols, plain HTTP's limits."""
import contextlib
import http.client
import os
import re
import shutil
import signal
import socket
import ssl
import time

import pytest

from certificates import Authority
from sliced_daemon import EXAMPLES, Daemon, Reply, eventually, run

A30 = EXAMPLES / "a30-mixed.yaml"


class Secret:
    """A folder as a mounted Secret is: files are links through ..data, swapped all at once."""

    def __init__(self, folder):
        self.folder = folder
        self.versions = 0
        folder.mkdir()

    def put(self, **files):
        self.versions += 1
        version = self.folder / f"..{self.versions}"
        version.mkdir()
        for name, source in files.items():
            shutil.copy(source, version / name)
            if not (self.folder / name).is_symlink():
                (self.folder / name).symlink_to(f"..data/{name}")
        (self.folder / "..new").symlink_to(version.name)
        os.rename(self.folder / "..new", self.folder / "..data")


class Tls:
    """A daemon with a certificate, and what is needed to call it."""

    def __init__(self, folder, clients=False):
        self.ca = Authority(folder, "servers")
        self.first = self.ca.pair("first")
        self.secret = Secret(folder / "secret")
        self.clients = Authority(folder, "clients") if clients else None
        self.put(self.first)
        at = self.secret.folder
        config = (f'server:\n  tls:\n    certFile: "{at}/cert"\n    keyFile: "{at}/key"\n')
        if clients:
            config += (f'    clientCAFile: "{at}/clients"\n'
                       '    clients: [{name: scheduler}, {name: old}, {name: new}, {name: x}, '
                       '{name: y}, {name: z}]\n')
        self.daemon = Daemon(A30, config=config)

    def put(self, pair, clients=None):
        files = {"cert": pair[0], "key": pair[1]}
        if self.clients is not None:
            files["clients"] = (clients or self.clients).cert
        self.secret.put(**files)

    def context(self, client=None, **more):
        context = ssl.create_default_context(cafile=self.ca.cert)
        if client is not None:
            context.load_cert_chain(*client)
        for key, value in more.items():
            setattr(context, key, value)
        return context

    def connect(self, **more):
        connection = http.client.HTTPSConnection("127.0.0.1", self.daemon.port, timeout=120,
                                                 context=self.context(**more))
        connection.connect()
        return connection

    def get(self, path, connection=None, **more):
        connection = connection or self.connect(**more)
        connection.request("GET", path)
        response = connection.getresponse()
        return Reply(response, response.read())

    def subject(self):
        """Who a new connection finds."""
        connection = self.connect()
        name = dict(part[0] for part in connection.sock.getpeercert()["subject"])["commonName"]
        connection.close()
        return name

    def metric(self, name, **more):
        for line in self.get("/metrics", **more).text.splitlines():
            if line.startswith(name + " "):
                return float(line.rsplit(" ", 1)[1])
        raise AssertionError(name)


@pytest.fixture
def tls(tmp_path):
    made = Tls(tmp_path)
    yield made
    made.daemon.stop()


@pytest.fixture
def mutual(tmp_path):
    made = Tls(tmp_path, clients=True)
    yield made
    made.daemon.stop()


# ---- the certificate ----


def test_all_is_served_over_https(tls):
    assert tls.daemon.line.startswith("sliced 0.1.0 listening on https://127.0.0.1:")
    assert tls.get("/readyz").text == "ok\n"
    assert tls.get("/api/v1/state").json["mode"] == "embedded"
    connection = tls.connect()
    body = b'{"Pod":{"metadata":{"name":"p"}},"NodeNames":["gpu-a30-1"]}'
    for _ in range(3):
        connection.request("POST", "/scheduler/filter", body=body)
        response = connection.getresponse()
        assert response.status == 200 and b"gpu-a30-1" in response.read()


def test_a_body_of_many_records_arrives_whole(tls):
    names = [f"node-{i:05}" for i in range(20000)]
    connection = tls.connect()
    reply = tls.daemon.request("POST", "/scheduler/filter", connection=connection,
                               body={"Pod": {"metadata": {"name": "p"}}, "NodeNames": names})
    assert reply.json["NodeNames"] == names


def test_a_rotated_certificate_is_shown_and_open_connections_go_on(tls):
    old = tls.connect()
    assert tls.get("/healthz", connection=old).status == 200
    end = tls.metric("sliced_tls_certificate_not_after_timestamp_seconds")
    tls.put(tls.ca.pair("second", days=60))
    eventually(lambda: tls.subject() == "second")  # without being told
    assert tls.get("/healthz", connection=old).status == 200
    eventually(lambda: tls.metric("sliced_tls_certificate_not_after_timestamp_seconds") > end)
    eventually(lambda: tls.metric('sliced_tls_reloads_total{outcome="ok"}') == 1)
    eventually(lambda: "certificate replaced" in tls.daemon.log)


def test_hup_looks_at_the_files_at_once_and_says_so(tls):
    tls.daemon.signal(signal.SIGHUP)
    eventually(lambda: "certificate unchanged" in tls.daemon.log)


def test_a_key_that_does_not_fit_is_refused_and_the_old_pair_stays(tls):
    second = tls.ca.pair("second")
    tls.put((second[0], tls.first[1]))  # half of it was replaced
    tls.daemon.signal(signal.SIGHUP)
    eventually(lambda: "the key does not belong to the certificate" in tls.daemon.log)
    assert tls.subject() == "first"
    assert tls.metric('sliced_tls_reloads_total{outcome="failed"}') >= 1
    tls.put(second)  # and now the other half
    tls.daemon.signal(signal.SIGHUP)
    eventually(lambda: tls.subject() == "second")


@pytest.mark.parametrize("name", ["cert", "key"])
def test_a_file_of_rubbish_or_none_at_all_is_refused(tls, name):
    path = tls.secret.folder / "..data" / name
    good = path.read_text(encoding="utf-8")
    path.write_text("rubbish\n", encoding="utf-8")
    tls.daemon.signal(signal.SIGHUP)
    eventually(lambda: "certificate kept" in tls.daemon.log)
    path.unlink()
    tls.daemon.signal(signal.SIGHUP)
    eventually(lambda: "No such file" in tls.daemon.log)
    assert tls.subject() == "first"
    path.write_text(good, encoding="utf-8")
    assert tls.get("/readyz").status == 200


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_tls_1_2_and_1_3_are_served(tls, version):
    assert tls.get("/healthz", minimum_version=version, maximum_version=version).status == 200


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
def test_older_protocols_are_refused(tls, version):
    context = tls.context()
    context.set_ciphers("ALL:@SECLEVEL=0")  # or the client would not even try
    context.minimum_version = version
    context.maximum_version = version
    with tls.daemon.socket() as plain, pytest.raises(ssl.SSLError) as error:
        context.wrap_socket(plain, server_hostname="127.0.0.1")
    # from the server, which closes with or without a word, and not the client's own refusal
    assert error.value.reason in (None, "UNEXPECTED_EOF_WHILE_READING",
                                  "TLSV1_ALERT_PROTOCOL_VERSION")
    assert error.value.reason is not None or isinstance(error.value, ssl.SSLZeroReturnError)


def test_plain_http_to_the_https_port_gets_no_answer(tls):
    with pytest.raises((http.client.HTTPException, OSError)):
        tls.daemon.get("/healthz")
    assert tls.get("/healthz").status == 200


@pytest.mark.parametrize("which, text", [("cert", "No such file"), ("key", "does not belong")])
def test_a_wrong_pair_at_the_start_is_exit_2(tmp_path, which, text):
    ca = Authority(tmp_path, "servers")
    cert, key = ca.pair("a")
    files = {"cert": cert, "key": key}
    files[which] = ca.pair("b")[1] if which == "key" else tmp_path / "none"
    path = tmp_path / "c.yaml"
    path.write_text("apiVersion: sliced.dev/v1alpha1\nkind: SlicedConfiguration\nserver:\n  tls:\n"
                    f'    certFile: "{files["cert"]}"\n    keyFile: "{files["key"]}"\n',
                    encoding="utf-8")
    status, out, err = run("--cluster", A30, "--listen", "127.0.0.1:0", "--config", path)
    assert (status, out) == (2, "")
    assert text in err and str(files[which]) in err


# ---- clients ----


def refused(reply, text):
    assert reply.status == 403
    assert reply.json["reason"] == "Forbidden"
    assert text in reply.json["message"].lower()


def test_without_a_client_certificate_there_are_the_probes_and_nothing_else(mutual):
    for path in ("/healthz", "/livez", "/readyz"):
        assert mutual.get(path).status == 200
    for path in ("/metrics", "/api/v1/state", "/", "/nothing-here"):
        refused(mutual.get(path), "a client certificate is needed, none was shown")
    for verb in ("filter", "prioritize", "bind", "preempt"):
        reply = mutual.daemon.request("POST", f"/scheduler/{verb}", body="{}",
                                      connection=mutual.connect())
        refused(reply, "a client certificate is needed")
        assert reply.json["Error"]


def test_the_webhook_needs_no_client_certificate(mutual):
    """API servers come without one. That nothing is asked of them is told by the answer: a 400."""
    reply = mutual.daemon.request("POST", "/admission/gate/any", body="{}",
                                  connection=mutual.connect())
    assert reply.status == 400 and "apiVersion" in reply.text


def test_a_good_client_certificate_opens_all(mutual):
    good = mutual.clients.pair("scheduler", usage="clientAuth")
    connection = mutual.connect(client=good)
    for path in ("/metrics", "/api/v1/state", "/", "/healthz"):
        assert mutual.get(path, connection=connection).status == 200
    assert mutual.get("/nothing-here", connection=connection).status == 404


def test_foreign_expired_and_server_certificates_are_refused(mutual, tmp_path):
    (tmp_path / "other").mkdir()
    foreign = Authority(tmp_path / "other", "clients").pair("x", usage="clientAuth")
    expired = mutual.clients.pair("y", usage="clientAuth", days=-1)
    server = mutual.clients.pair("z", usage="serverAuth")
    for client, text in ((foreign, "not trusted"), (expired, "expired"), (server, "purpose")):
        refused(mutual.get("/metrics", client=client), text)
        assert mutual.get("/healthz", client=client).status == 200


def test_the_clients_authority_rotates_too(mutual, tmp_path):
    (tmp_path / "next").mkdir()
    other = Authority(tmp_path / "next", "successors")
    old = mutual.clients.pair("old", usage="clientAuth")
    new = other.pair("new", usage="clientAuth")
    connection = mutual.connect(client=old)
    assert mutual.get("/metrics", connection=connection).status == 200
    refused(mutual.get("/metrics", client=new), "not trusted")
    mutual.put(mutual.first, clients=other)
    mutual.daemon.signal(signal.SIGHUP)
    eventually(lambda: mutual.get("/metrics", client=new).status == 200)
    # a connection that was good is asked again
    refused(mutual.get("/metrics", connection=connection), "not trusted")


# ---- plain HTTP ----


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", ":0"])
def test_plain_http_is_for_loopback(address):
    status, out, err = run("--cluster", A30, "--listen", address)
    assert (status, out) == (2, "")
    assert "other machines can reach" in err and "server.insecure" in err


def test_the_verbs_by_plain_http_elsewhere_when_asked_for(start):
    daemon = start(A30, listen="0.0.0.0:0",
                   config="server: {insecure: true, apiListen: \"127.0.0.1:0\"}\n")
    assert daemon.filter(POD, ["gpu-a30-1"])["NodeNames"] == ["gpu-a30-1"]
    assert daemon.get("/api/v1/nodes").status == 404


# ---- who is served where ----

POD = {"metadata": {"name": "p"}, "spec": {}}
HARD = """server:
  webhookListen: 0.0.0.0:0
  probeListen: 0.0.0.0:0
  metricsListen: 0.0.0.0:0
  apiListen: 127.0.0.1:0
  tls:
    certFile: "{at}/cert"
    keyFile: "{at}/key"
    clientCAFile: "{at}/clients"
    clients: [{{name: sliced-scheduler}}]
queue: {{enabled: true, gate: webhook}}
"""
ROUTES = {  # by whom they are asked
    "verbs": [("POST", f"/scheduler/{verb}") for verb in ("filter", "prioritize", "bind", "preempt")]
    + [("POST", f"/gpushare-scheduler/{verb}") for verb in ("filter", "bind")],
    "webhook": [("POST", "/admission/gate/any")],
    "probes": [("GET", "/livez"), ("GET", "/readyz"), ("GET", "/syncz"), ("GET", "/healthz")],
    "metrics": [("GET", "/metrics")],
    "api": [("GET", path) for path in (
        "/", "/version", "/api/v1/nodes", "/api/v1/nodes/cpu-1", "/api/v1/queue", "/api/v1/state",
        "/api/v1/pods/default/p/explain", "/gpushare-scheduler/inspect",
        "/gpushare-scheduler/inspect/cpu-1")]
    + [("POST", "/api/v1/embedded/pods"), ("DELETE", "/api/v1/embedded/pods/default/p")],
}
SERVED = {"verbs": ["verbs"], "webhook": ["webhook"], "probes": ["probes"], "metrics": ["metrics"],
          "api": ["api", "probes", "metrics"]}


class Hard(Tls):
    """A daemon as the chart has it: an address for each kind of callers, none of them loopback but
    the API's."""

    def __init__(self, folder, more=""):
        self.ca = Authority(folder, "servers")
        self.first = self.ca.pair("first")
        self.secret = Secret(folder / "secret")
        self.clients = Authority(folder, "clients")
        self.put(self.first)
        config = HARD.format(at=self.secret.folder).replace("server:\n", "server:\n" + more)
        self.daemon = Daemon(A30, listen="0.0.0.0:0", config=config)
        self.client = self.clients.pair("sliced-scheduler", usage="clientAuth")
        self.ports = dict(re.findall(r'"listening" for="(\w+)" address="\S+:(\d+)"', self.daemon.log))

    def open(self, where, client=None, host="127.0.0.1"):
        if where in ("verbs", "webhook"):
            return http.client.HTTPSConnection(host, self.ports[where], timeout=120,
                                               context=self.context(client=client))
        return http.client.HTTPConnection(host, self.ports[where], timeout=120)

    def ask(self, where, method, path, client=None, body=None, headers=None):
        return self.daemon.request(method, path, body=body, headers=headers,
                                   connection=self.open(where, client))


@pytest.fixture(scope="module")
def hard(tmp_path_factory):
    made = Hard(tmp_path_factory.mktemp("hard"))
    yield made
    made.daemon.stop()


@pytest.mark.parametrize("where", ROUTES)
def test_a_route_is_served_to_its_callers_and_nowhere_else(hard, where):
    for whose, routes in ROUTES.items():
        for method, path in routes:
            reply = hard.ask(where, method, path, hard.client, "{}" if method == "POST" else None)
            served = whose in SERVED[where]
            nothing = reply.status == 404 and "there is nothing at" in reply.text
            assert nothing != served, (where, method, path, reply.text)


def test_an_api_server_is_heard_though_many_strangers_come_during_its_handshake(hard):
    """It shows no certificate, so it goes last only by its turn."""
    with contextlib.ExitStack() as crowd:
        def come(i):
            return crowd.enter_context(socket.create_connection(
                ("127.0.0.1", int(hard.ports["webhook"])), 30, (f"127.0.1.{1 + i}", 0)))
        first = come(0)
        for i in range(1, 240):
            come(i)
        with hard.context().wrap_socket(first, server_hostname="localhost") as s:
            s.sendall(b"POST /admission/gate/any HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
            assert s.recv(65536).startswith(b"HTTP/1.1 400")


def test_the_metrics_by_https_to_who_has_the_token(tmp_path):
    """As Prometheus asks with authorization and tlsConfig; a new token counts at once."""
    token = tmp_path / "token"
    token.write_text("first\n")
    made = Hard(tmp_path, f"  metricsTls: true\n  metricsTokenFile: {token}\n")

    def scrape(**headers):
        connection = http.client.HTTPSConnection("127.0.0.1", made.ports["metrics"], timeout=120,
                                                 context=made.context())
        return made.daemon.request("GET", "/metrics", headers=headers, connection=connection)
    try:
        assert scrape(Authorization="Bearer first").text.startswith("# HELP sliced_")
        token.write_text("second")
        for wrong in ({}, {"Authorization": "Bearer first"}, {"Authorization": "Bearer "},
                      {"Authorization": "Basic second"}, {"Authorization": "Bearer second2"},
                      {"Authorization": "second"}):
            reply = scrape(**wrong)
            assert reply.status == 403 and "bearer token" in reply.text, wrong
        assert scrape(Authorization="Bearer second").status == 200
        for nothing in ("", "\n"):
            token.write_text(nothing)
            assert scrape(Authorization="Bearer ").status == 403
        token.unlink()
        assert scrape(Authorization="Bearer second").status == 403
        assert made.ask("api", "GET", "/metrics").status == 200  # loopback needs none
    finally:
        made.daemon.stop()


METRICS_BY_CERT = """  metricsTls: true
  metricsClientCAFile: {ca}
  metricsClients: [{{name: prometheus}}]
"""


@pytest.mark.parametrize("token", [False, True])
def test_the_metrics_by_https_to_who_has_a_certificate_of_their_authority(tmp_path, token):
    """Not to kube-scheduler, whose authority is another one; a token, where there is one, does as well."""
    (tmp_path / "other").mkdir()
    monitors, other = Authority(tmp_path, "monitors"), Authority(tmp_path / "other", "monitors")
    (tmp_path / "token").write_text("secret\n")
    made = Hard(tmp_path, METRICS_BY_CERT.format(ca=monitors.cert)
                + (f"  metricsTokenFile: {tmp_path / 'token'}\n" if token else ""))

    def scrape(client=None, **headers):
        connection = http.client.HTTPSConnection("127.0.0.1", made.ports["metrics"], timeout=120,
                                                 context=made.context(client=client))
        return made.daemon.request("GET", "/metrics", headers=headers, connection=connection)
    try:
        prometheus = monitors.pair("prometheus", usage="clientAuth")
        assert scrape(prometheus).text.startswith("# HELP sliced_")
        assert scrape(prometheus, Authorization="Bearer wrong").status == 200
        assert scrape(Authorization="Bearer secret").status == (200 if token else 403)
        wrong = {"none was shown": None, "may not call": monitors.pair("somebody", usage="clientAuth"),
                 "not trusted": other.pair("prometheus", usage="clientAuth"),
                 "purpose": monitors.pair("serving", usage="serverAuth", common="prometheus"),
                 "expired": monitors.pair("old", usage="clientAuth", days=-1, common="prometheus")}
        for text, client in {**wrong, "trusted": made.client}.items():
            reply = scrape(client)
            refused(reply, text)
            assert ("bearer token" in reply.text) == token
        refused(made.ask("verbs", "POST", "/scheduler/filter", prometheus, {}), "not trusted")
        assert made.ask("api", "GET", "/metrics").status == 200  # loopback needs none
    finally:
        made.daemon.stop()


def test_the_index_lists_what_is_served_there(hard):
    text = hard.ask("api", "GET", "/").text
    assert "/api/v1/queue" in text and "/metrics" in text
    assert "/scheduler/bind" not in text and "/admission" not in text


def test_the_api_is_on_the_pods_own_loopback_only(hard):
    port = int(hard.ports["api"])
    assert hard.ask("api", "GET", "/api/v1/state").status == 200
    with pytest.raises(ConnectionRefusedError):  # the others are on all addresses, this one is not
        socket.create_connection(("127.0.0.2", port), timeout=120)
    with socket.create_connection(("127.0.0.2", int(hard.ports["probes"])), timeout=120):
        pass


def test_only_the_scheduler_calls_the_verbs(hard, tmp_path):
    other = Authority(tmp_path, "clients")  # another one of the same name
    stranger = hard.clients.pair("node-1", usage="clientAuth")
    foreign = other.pair("sliced-scheduler", usage="clientAuth")
    serving = hard.clients.pair("serving", usage="serverAuth", common="sliced-scheduler")
    expired = hard.clients.pair("expired", usage="clientAuth", days=-1, common="sliced-scheduler")
    body = {"Pod": POD, "NodeNames": ["gpu-a30-1"]}
    token = {"Authorization": "Bearer eyJhbGciOiJSUzI1NiJ9.e30.c2ln"}
    for verb in ("filter", "prioritize", "bind", "preempt"):
        for client, text in ((None, "none was shown"), (stranger, '"node-1", which may not call'),
                             (foreign, "not trusted"), (serving, "purpose"), (expired, "expired")):
            for path in (f"/scheduler/{verb}", "/nothing-here"):
                reply = hard.ask("verbs", "POST", path, client, body, token)
                refused(reply, text)
                assert reply.headers["connection"] == "close"
    reply = hard.ask("verbs", "POST", "/scheduler/filter", hard.client, body)
    assert reply.json["NodeNames"] == ["gpu-a30-1"]
    # kube-scheduler's log has the status alone; strangers do not fill ours
    assert 0 < hard.daemon.log.count("a caller of the verbs was refused") < 20


def test_strangers_do_not_hide_why_the_scheduler_is_refused(tmp_path):
    made = Tls(tmp_path, clients=True)
    expired = made.clients.pair("expired", usage="clientAuth", days=-1, common="sliced-scheduler")
    try:
        for client in (None, None, expired, None, expired):
            connection = made.connect(client=client)
            assert made.daemon.request("POST", "/scheduler/filter", body="{}", connection=connection).status == 403

        def told():
            lines = [line for line in made.daemon.log.splitlines() if "a caller of the verbs was refused" in line]
            return lines if len(lines) >= 2 else None
        shy, known = eventually(told)
        assert "none was shown" in shy and "expired" in known
        assert all('"127.0.0.1"' in line or "from=127.0.0.1" in line for line in (shy, known)), (shy, known)
    finally:
        made.daemon.stop()


def test_when_the_schedulers_certificate_ends_is_told(tmp_path):
    made = Tls(tmp_path, clients=True)
    name = "sliced_tls_client_certificate_not_after_timestamp_seconds"
    try:
        good = made.clients.pair("scheduler", usage="clientAuth", days=9)
        assert name not in made.get("/metrics", client=good).text
        connection = made.connect(client=good)
        made.daemon.request("POST", "/scheduler/filter", body="{}", connection=connection)
        ends = re.search(rf"^{name} (\S+)$", made.get("/metrics", client=good).text, re.M)
        assert 8 * 86400 < float(ends[1]) - time.time() <= 9 * 86400
    finally:
        made.daemon.stop()


def test_names_change_without_a_restart_and_open_connections_are_asked_again(hard):
    other = hard.clients.pair("system:kube-scheduler", usage="clientAuth")
    body = {"Pod": POD, "NodeNames": ["gpu-a30-1"]}
    old = hard.open("verbs", hard.client)
    assert hard.daemon.request("POST", "/scheduler/filter", body, connection=old).status == 200
    text = HARD.format(at=hard.secret.folder)
    hard.daemon.write_config(text.replace("sliced-scheduler", '"system:kube-scheduler"'))
    hard.daemon.signal(signal.SIGHUP)
    eventually(lambda: hard.ask("verbs", "POST", "/scheduler/filter", other, body).status == 200)
    refused(hard.daemon.request("POST", "/scheduler/filter", body, connection=old), "may not call")
    hard.daemon.write_config(text)
    hard.daemon.signal(signal.SIGHUP)
    eventually(lambda: hard.ask("verbs", "POST", "/scheduler/filter", hard.client, body).status == 200)


@pytest.mark.parametrize("where", ["webhook", "probes", "metrics", "api"])
def test_the_other_addresses_want_no_certificate_and_take_small_bodies_only(hard, where):
    method, path = ROUTES[where][0]
    assert hard.ask(where, method, path, body="{}" if method == "POST" else None).status in (200, 400)
    connection = hard.open(where)
    connection.putrequest(method, path)
    connection.putheader("Content-Length", str((32 << 20) + 1 if where == "webhook" else 4097))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


def test_a_verb_with_few_words_takes_a_small_body_only(hard):
    connection = hard.open("verbs", hard.client)
    connection.putrequest("POST", "/scheduler/bind")
    connection.putheader("Content-Length", str((16 << 10) + 1))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()
