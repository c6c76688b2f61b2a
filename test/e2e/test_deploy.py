"""What deploy/ makes: the same from chart and manifests, an image that runs, and taken by real API servers
and schedulers."""

import os
import re
import subprocess

import pytest

from harness import chart, gpus
from harness import sliced as daemons
from harness.api import ApiError, object_path
from harness.chart import CHART, MANIFESTS, NAMESPACE, ROOT
from harness.cluster import ensure_namespace
from harness.process import wait_for
from harness.values import OTHER_NAMES, VALUES


def test_the_manifests_are_what_the_chart_makes(tools):
    done = subprocess.run([os.path.join(ROOT, "scripts/render-manifests"), "--check"],
                          env={**os.environ, "HELM": os.path.join(tools, "helm")},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_image_holds_all_that_the_program_needs(tmp_path):
    """The image's root file system, made as its recipe does, runs the program in it."""
    root = tmp_path / "image"
    subprocess.run([os.path.join(ROOT, "deploy/image/collect"), daemons.BIN, root], check=True)
    ldd = subprocess.run(["ldd", daemons.BIN], capture_output=True, text=True, check=True).stdout
    for library in re.findall(r"(/\S+)", ldd):
        assert (root / library.lstrip("/")).is_file()
    assert not list(root.rglob("*sh"))
    if os.geteuid() == 0 and "libasan" not in ldd:
        said = subprocess.run(["chroot", "--userspec=65532:65532", root, "/usr/bin/sliced",
                               "--version"], capture_output=True, text=True, check=True).stdout
        assert said.startswith("sliced ")


def test_the_recipe_names_no_registry_and_no_root():
    with open(os.path.join(ROOT, "deploy/image/Dockerfile"), encoding="utf-8") as file:
        text = file.read()
    assert re.search(r"^USER 65532", text, re.M) and re.search(r"^FROM scratch", text, re.M)
    assert not re.search(r"^(FROM|ARG BASE).*[a-z0-9]\.[a-z]+/", text, re.M)


# ---- against real API servers ----

def fresh_namespace(plane):
    try:
        plane.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    except ApiError as error:
        assert error.code == 409


@pytest.mark.both
@pytest.mark.parametrize("values", [*VALUES.values(), OTHER_NAMES], ids=[*VALUES, "other names"])
def test_a_server_side_dry_run_takes_every_object(bare_plane, helm, values):
    fresh_namespace(bare_plane)
    ensure_namespace(bare_plane, "gpu-operator")  # partitioning's rights are there
    for each in helm.objects(values, bare_plane.minor):
        if not each["apiVersion"].startswith(("cert-manager.io/", "monitoring.coreos.com/")):
            bare_plane.create(each, dry_run=True)


@pytest.mark.both
def test_a_server_side_dry_run_takes_every_manifest(bare_plane):
    fresh_namespace(bare_plane)
    said = bare_plane.kubectl("apply", "--dry-run=server", "-f", MANIFESTS)
    assert said.count("(server dry run)") == len(chart.manifests())
    for each in chart.manifests():
        if each["kind"] != "Namespace":
            bare_plane.create(each, dry_run=True)  # strict: no unknown field
    for objects in chart.gate_manifests(bare_plane.minor).values():
        for each in objects:
            bare_plane.create(each, dry_run=True)


@pytest.mark.both
@pytest.mark.parametrize("mode", ["second", "config"])
def test_the_real_scheduler_takes_the_configuration(bare_plane, helm, tmp_path, mode):
    objects = helm.objects({"scheduler": {"mode": mode, "name": "some-scheduler"}}, bare_plane.minor)
    pki = daemons.new_pki(tmp_path)
    config = daemons.scheduler_config(objects, "https://127.0.0.1:9", pki)
    bare_plane.start_scheduler(config, "config-test")
    bare_plane.stop_scheduler("config-test")


def install(plane, helm, *more):
    run = chart.Helm(os.path.dirname(helm.program), plane.kubeconfig).run
    return run("upgrade", "--install", "sliced", CHART, "--namespace", NAMESPACE, *more)


def set_ready(plane, pod, status="True"):
    condition = {"status": status}
    plane.patch(object_path({**pod, "kind": "Pod"}) + "/status",
                {"status": {"conditions": [{"type": "Ready", **condition},
                                           {"type": "ContainersReady", **condition}]}},
                "application/strategic-merge-patch+json")


def daemons_of(plane):
    """The pods of the daemon that run."""
    path = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=app.kubernetes.io/component%3Ddaemon"
    return [each for each in plane.get(path)["items"]
            if each["status"].get("podIP") and "deletionTimestamp" not in each["metadata"]]


def two_daemons(plane):
    """Its pods, when there are two."""
    pods = daemons_of(plane)
    return pods if len(pods) == 2 else None


def evict(plane, pod):
    plane.post(object_path({**pod, "kind": "Pod"}) + "/eviction", {
        "apiVersion": "policy/v1", "kind": "Eviction",
        "metadata": {"name": pod["metadata"]["name"], "namespace": NAMESPACE}})


@pytest.mark.both
def test_installed_drained_and_upgraded_with_a_successor_at_hand(bare_plane, helm):
    """Standbys are ready, so a drain takes one replica at a time, and a roll-out keeps the old ones until the
    new ones are ready."""
    plane = bare_plane
    fresh_namespace(plane)
    plane.create(gpus.node("infra", {}))
    plane.start_scheduler({}, "install-test")
    budget = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets/sliced"

    def rolled_out():
        return "successfully rolled out" in plane.kubectl(
            "-n", NAMESPACE, "rollout", "status", "deployment", "sliced", "--timeout", "60s")
    try:
        install(plane, helm)
        assert rolled_out()

        # one at a time may be drained
        wait_for("the budget", lambda: plane.get(budget)["status"]["disruptionsAllowed"] == 1)
        first, second = two_daemons(plane)
        set_ready(plane, second, "False")
        wait_for("one is ready", lambda: plane.get(budget)["status"]["currentHealthy"] == 1)
        with pytest.raises(ApiError, match="disruption budget"):
            evict(plane, first)
        set_ready(plane, second)
        wait_for("the budget", lambda: plane.get(budget)["status"]["disruptionsAllowed"] == 1)
        evict(plane, first)
        wait_for("a new one", lambda: plane.get(budget)["status"]["disruptionsAllowed"] == 1)

        # an upgrade replaces both; while the new ones are not ready nothing goes
        old = {each["metadata"]["uid"] for each in wait_for("two", lambda: two_daemons(plane))}
        never = ["--set", "podAnnotations.sliced\\.dev/e2e-never-ready=yes"]
        install(plane, helm, *never)
        wait_for("new ones beside them", lambda: len(daemons_of(plane)) == 4)
        assert old <= {each["metadata"]["uid"] for each in daemons_of(plane)}
        install(plane, helm, "--set", "config.log.level=debug")
        assert rolled_out()

        def replaced():
            pods = two_daemons(plane)
            return pods and not old & {each["metadata"]["uid"] for each in pods}
        wait_for("the old ones are gone", replaced)
    finally:
        plane.stop_scheduler("install-test")
        chart.Helm(os.path.dirname(helm.program), plane.kubeconfig).run(
            "uninstall", "sliced", "--namespace", NAMESPACE)
        plane.delete("/api/v1/nodes/infra")
    left = plane.get("/apis/rbac.authorization.k8s.io/v1/clusterroles")["items"]
    assert not [each for each in left if each["metadata"]["name"].startswith("sliced")]
