"""What goes wrong in clusters, on real control planes: nothing is lost, nothing is given twice."""

import json
import os
import shutil
import socket
import ssl

import pytest

from harness import chart, gpus, pki
from harness.api import Api, ApiError
from harness.cluster import write_token
from harness.process import wait_for
from harness.sliced import SHORT_LEASE

MIG = "nvidia.com/mig-1g.6gb"
# Without the queue: these stories hold the daemon's cable while the scheduler calls, and the queue would
# hold the pods of which the watch cannot tell.
ALONE = {"leaderElection": {"enabled": False}, "queue": {"enabled": False}}
HOLD = "example.com/hold"


def known(daemon, name):
    """Has the daemon's watch brought the pod?"""
    return daemon.get(f"/api/v1/pods/default/{name}/explain")[0] == 200


def reserved(daemon):
    return daemon.state()["cluster"]["reserved"]


@pytest.mark.both
def test_killed_twenty_times_between_reserve_and_bind(cluster):
    """Every other time the Binding never reaches the API server; else its answer never comes back."""
    cluster.add(*(gpus.a30_mixed(f"gpu-{i}") for i in range(3)))
    daemon = cluster.start_daemon(config=ALONE)
    names = []
    for i in range(20):
        name = f"pod-{i:02}"
        cluster.add(gpus.pod(name, {MIG: 1}, gates=[HOLD]))
        wait_for("the watch", lambda: known(daemon, name))
        direction = daemon.cable.to_server if i % 2 else daemon.cable.to_client
        direction.clear()
        cluster.ungate(name)
        if i % 2:
            wait_for("the reservation", lambda: reserved(daemon) >= 1)
        else:
            wait_for("the binding", lambda: cluster.pod(name)["spec"].get("nodeName"))
        daemon.kill()
        direction.set()
        daemon.cable.cut()
        daemon.start()
        names.append(name)
    cluster.wait_bound(*names, timeout=120)
    assert cluster.wrong() == []
    rest = [f"rest-{i}" for i in range(4)]
    cluster.add(*(gpus.pod(name, {MIG: 1}) for name in rest))
    cluster.wait_bound(*rest)
    assert daemon.metric("sliced_pool_units", resource=MIG, state="used") == 24
    wait_for("an empty ledger", lambda: reserved(daemon) == 0)


@pytest.mark.both
def test_a_binding_whose_answer_does_not_come_is_looked_up(cluster):
    cluster.add(gpus.a30_mixed("gpu-1", gpus=1))
    daemon = cluster.start_daemon(config={**ALONE, "kubernetes": {"bindTimeout": "500ms"}})
    for i, direction in enumerate((daemon.cable.to_client, daemon.cable.to_server)):
        name = f"pod-{i}"
        cluster.add(gpus.pod(name, {MIG: 2}, gates=[HOLD]))
        wait_for("the watch", lambda: known(daemon, name))
        direction.clear()
        cluster.ungate(name)
        wait_for("the reservation", lambda: reserved(daemon) >= 1)
        wait_for("the time is up", lambda: daemon.metric(
            "sliced_verb_duration_seconds_count", verb="bind", outcome="error") > i)
        direction.set()
        daemon.cable.cut()
        cluster.wait_bound(name, timeout=120)
        assert cluster.wrong() == []
    wait_for("an empty ledger", lambda: reserved(daemon) == 0)
    assert daemon.metric("sliced_pool_units", resource=MIG, state="used") == 4


@pytest.mark.both
def test_the_api_server_is_started_anew_while_pods_come(cluster):
    cluster.add(*(gpus.a30_mixed(f"gpu-{i}") for i in range(4)))
    daemon = cluster.start_daemon()
    first = [f"before-{i:02}" for i in range(12)]
    cluster.add(*(gpus.pod(name, {MIG: 1}) for name in first))
    cluster.plane.restart_apiserver()
    second = [f"after-{i:02}" for i in range(12)]
    cluster.add(*(gpus.pod(name, {MIG: 1}) for name in second))
    cluster.wait_bound(*first, *second, timeout=180)
    assert daemon.process.running()
    wait_for("all of it is seen", lambda: daemon.metric(
        "sliced_pool_units", resource=MIG, state="used") == 24)


def test_a_watch_that_is_cut_goes_on_where_it_was(cluster):
    cluster.add(gpus.a30_mixed("gpu-0"))
    daemon = cluster.start_daemon()
    for i in range(1, 5):
        daemon.cable.refuse()
        cluster.add(gpus.a30_mixed(f"gpu-{i}"))
        cluster.add(gpus.pod(f"pod-{i}", {MIG: 8}))
        daemon.cable.refuse(False)
        wait_for("the node", lambda: daemon.get(f"/api/v1/nodes/gpu-{i}")[0] == 200)
        cluster.wait_bound(f"pod-{i}", timeout=120)
    assert daemon.metric("sliced_reflector_lists_total") == 2, "nodes and pods, once each"


@pytest.mark.both
def test_a_watch_that_comes_back_too_late_lists_again(cluster):
    """A real 410: the API server no longer has what happened while the daemon was cut off."""
    cluster.add(gpus.a30_mixed("gpu-1"))
    daemon = cluster.start_daemon()
    cluster.add(gpus.pod("first", {MIG: 1}), gpus.pod("second", {MIG: 1}))
    cluster.wait_bound("first", "second")
    cluster.add(gpus.whole("gone"))
    wait_for("the watch", lambda: daemon.get("/api/v1/nodes/gone")[0] == 200)
    daemon.cable.refuse()
    cluster.delete_pod("first")
    cluster.plane.delete("/api/v1/nodes/gone")
    cluster.add(gpus.a30_mixed("gpu-2"))
    cluster.plane.compact()
    cluster.plane.restart_apiserver()
    daemon.cable.refuse(False)
    for path, status in (("/api/v1/nodes/gpu-2", 200), ("/api/v1/nodes/gone", 404),
                         ("/api/v1/pods/default/first/explain", 404)):
        wait_for(f"{path}: {status}", lambda: daemon.get(path)[0] == status, 120)
    assert daemon.metric("sliced_reflector_expired_total") >= 1, "there was no 410"
    cluster.add(gpus.pod("third", {MIG: 8}))
    cluster.wait_bound("third", timeout=120)


def holder(cluster):
    path = f"/apis/coordination.k8s.io/v1/namespaces/{chart.NAMESPACE}/leases/sliced"
    return cluster.plane.get(path)["spec"].get("holderIdentity")


@pytest.mark.both
def test_the_leader_is_killed_and_a_successor_takes_over(cluster):
    cluster.add(*(gpus.a30_mixed(f"gpu-{i}") for i in range(2)))
    leader = cluster.start_daemon(config=SHORT_LEASE)
    standby = cluster.new_daemon(config=SHORT_LEASE).launch().wait_up()
    assert not standby.check_ready(), "two lead"
    cluster.add(gpus.pod("first", {MIG: 1}))
    cluster.wait_bound("first")
    old = holder(cluster)

    status, text = standby.verb(
        "filter", {"Pod": cluster.pod("first"), "NodeNames": ["gpu-0"]})
    assert status != 200 or json.loads(text)["Error"], "a standby does not decide"

    leader.kill()
    names = [f"pod-{i}" for i in range(15)]
    cluster.add(*(gpus.pod(name, {MIG: 1}) for name in names))
    standby.wait_ready()
    assert holder(cluster) not in ("", old)
    cluster.wait_bound(*names, timeout=120)

    # the first comes back as a standby, and takes over when the other ends in peace
    leader.launch().wait_up()
    assert not leader.check_ready()
    new = holder(cluster)
    standby.stop()
    leader.wait_ready()
    assert holder(cluster) not in ("", new)


def test_a_leader_that_is_cut_off_stops_before_another_leads(cluster):
    cluster.add(gpus.a30_mixed("gpu-1"))
    leader = cluster.start_daemon(config=SHORT_LEASE)
    standby = cluster.new_daemon(config=SHORT_LEASE).launch().wait_up()
    cluster.add(gpus.pod("held", {MIG: 1}))
    cluster.wait_bound("held")
    leader.cable.refuse()

    def taken_over():
        second = standby.check_ready()  # in this order: who says so now was not ready before
        first = leader.check_ready()
        assert not (first and second), "two lead"
        return second
    wait_for("the successor", taken_over)
    wait_for("why is told", lambda: "the lease could not be" in leader.log())
    status, text = leader.verb(
        "bind", {"PodName": "held", "PodNamespace": "default", "Node": "gpu-1",
                 "PodUID": cluster.pod("held")["metadata"]["uid"]})
    assert status != 200 or json.loads(text)["Error"], "a deposed leader binds"
    leader.cable.refuse(False)
    cluster.add(gpus.pod("next", {MIG: 7}))
    cluster.wait_bound("next", timeout=120)


def test_a_token_that_ends_is_replaced_by_the_one_in_the_file(cluster):
    """The API server stops to take a token when the object that it is bound to goes."""
    cluster.add(gpus.a30_mixed("gpu-1"))
    daemon = cluster.new_daemon()
    secret = cluster.plane.create({"apiVersion": "v1", "kind": "Secret", "metadata": {
        "name": "token-holder", "namespace": chart.NAMESPACE}})
    write_token(daemon.token, cluster.plane.token(chart.NAMESPACE, "sliced",
                                                  bound_to={**secret, "kind": "Secret"}))
    daemon.start()
    cluster.add(gpus.pod("first", {MIG: 1}))
    cluster.wait_bound("first")

    with open(daemon.token, encoding="ascii") as file:
        old = file.read()
    cluster.plane.delete(f"/api/v1/namespaces/{chart.NAMESPACE}/secrets/token-holder")
    wait_for("the old token is refused", lambda: token_refused(cluster, old), 60, 0.5)
    write_token(daemon.token, cluster.plane.token(chart.NAMESPACE, "sliced"))
    cluster.add(gpus.pod("second", {MIG: 7}))
    cluster.wait_bound("second", timeout=120)
    daemon.wait_ready()


def token_refused(cluster, token):
    # without the administrator's certificate, which would speak before it
    context = ssl.create_default_context(cafile=cluster.plane.ca.crt)
    try:
        Api(cluster.plane.url, context, token).get("/api/v1/nodes?limit=1")
        return False
    except ApiError as error:
        assert error.code == 401, error
        return True


@pytest.mark.both
def test_a_certificate_that_is_renewed_is_shown_without_a_restart(cluster):
    folder = cluster.new_pki(f"renewed-{cluster.count}")
    cluster.add(gpus.a30_mixed("gpu-1"))
    daemon = cluster.start_daemon(folder=folder)
    before = daemon.certificate()
    cluster.renew_certificate(folder)
    wait_for("the new certificate", lambda: daemon.certificate() != before)
    cluster.service.cut()  # connections that stand keep theirs
    cluster.add(gpus.pod("first", {MIG: 1}))
    cluster.wait_bound("first")

    # one that is broken is not taken
    now = daemon.certificate()
    shutil.copy(os.path.join(folder, "client.crt"), os.path.join(folder, "tls.crt"))
    wait_for("it is told", lambda: daemon.metric("sliced_tls_reloads_total", outcome="failed") >= 1)
    assert daemon.certificate() == now
    cluster.service.cut()
    cluster.add(gpus.pod("second", {MIG: 7}))
    cluster.wait_bound("second")


@pytest.mark.both
def test_only_the_scheduler_is_served(cluster, tmp_path):
    """Strangers of every kind, at every port of a daemon that is as the chart has it."""
    cluster.add(gpus.a30_mixed("gpu-1"))
    daemon = cluster.start_daemon()
    others = pki.Authority(str(tmp_path / "others"), "sliced-client-ca")
    token = cluster.plane.token("default", "default")
    strangers = {
        "no certificate": None,
        "a certificate of the cluster": cluster.plane.ca.issue("admin-2", "admin", "system:masters"),
        "the right name of another authority": others.issue("forged", "sliced-scheduler"),
        "the daemon's own certificate": (f"{cluster.pki}/tls.crt", f"{cluster.pki}/tls.key"),
        "another name of the right authority": cluster.clients.issue("stranger", "node-1"),
    }
    pod = gpus.pod("mine", {MIG: 1})
    pod["spec"]["schedulerName"] = "nobody"  # only a stranger would bind it
    cluster.add(pod)
    uid = cluster.pod("mine")["metadata"]["uid"]
    asked = {
        "filter": {"Pod": cluster.pod("mine"), "NodeNames": ["gpu-1"]},
        "prioritize": {"Pod": cluster.pod("mine"), "NodeNames": ["gpu-1"]},
        "bind": {"PodName": "mine", "PodNamespace": "default", "PodUID": uid, "Node": "gpu-1"},
        "preempt": {"Pod": cluster.pod("mine"), "NodeNameToMetaVictims": {"gpu-1": {"Pods": []}}}}
    for who, pair in strangers.items():
        for verb, body in asked.items():
            for headers in ({}, {"Authorization": f"Bearer {token}"}):
                status, text = daemon.call("POST", f"/scheduler/{verb}", json.dumps(body), pair,
                                           headers=headers)
                assert status == 403 and "gpu-1" not in text, (who, verb, text)
    # the API answers at the pod's loopback and nowhere else, whoever asks
    for path in ("/api/v1/queue", "/api/v1/nodes", "/api/v1/state", "/metrics"):
        assert daemon.get(path)[0] == 200
        assert daemon.call("GET", path, cert=daemon.scheduler_pair())[0] == 404
        assert daemon.call("GET", path, port=daemon.webhook_port)[0] == 404
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", daemon.api_port), timeout=30)
    assert not cluster.pod("mine")["spec"].get("nodeName")
    # kube-scheduler itself is served
    cluster.add(gpus.pod("one", {MIG: 1}))
    cluster.wait_bound("one")
