"""HTTPS: rotation of the certificate, client certificates, old protocols, plain HTTP's limits."""
import http.client
import os
import shutil
import signal
import ssl

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
            config += f'    clientCAFile: "{at}/clients"\n'
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
        connection = http.client.HTTPSConnection("127.0.0.1", self.daemon.port, timeout=30,
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
    end = tls.metric("sliced_tls_certificate_not_after_seconds")
    tls.put(tls.ca.pair("second", days=60))
    eventually(lambda: tls.subject() == "second")  # without being told
    assert tls.get("/healthz", connection=old).status == 200
    assert tls.metric("sliced_tls_certificate_not_after_seconds") > end
    assert tls.metric('sliced_tls_reloads_total{result="ok"}') == 1
    assert "certificate replaced" in tls.daemon.log


def test_hup_looks_at_the_files_at_once_and_says_so(tls):
    tls.daemon.signal(signal.SIGHUP)
    eventually(lambda: "certificate unchanged" in tls.daemon.log)


def test_a_key_that_does_not_fit_is_refused_and_the_old_pair_stays(tls):
    second = tls.ca.pair("second")
    tls.put((second[0], tls.first[1]))  # half of it was replaced
    tls.daemon.signal(signal.SIGHUP)
    eventually(lambda: "the key does not belong to the certificate" in tls.daemon.log)
    assert tls.subject() == "first"
    assert tls.metric('sliced_tls_reloads_total{result="failed"}') >= 1
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


def test_plain_http_elsewhere_when_asked_for(start):
    daemon = start(A30, config="server:\n  insecure: true\n  listen: 0.0.0.0:0\n",
                   listen="0.0.0.0:0")
    assert daemon.get("/healthz").status == 200
