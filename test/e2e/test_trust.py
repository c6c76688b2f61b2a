"""What users write to get ahead of others: refused by the chart's policies in the real API server, and
of no use where these are not there."""

import contextlib

import pytest

from harness import chart, gpus
from harness.api import ApiError, collection_path, object_path
from harness.cluster import GATE, ensure_namespace, gates_of
from harness.process import wait_for
from harness.sliced import merge
from harness.values import VALUES

GPU = "nvidia.com/gpu"
MEM = "aliyun.com/gpu-mem"
MARK = "ALIYUN_COM_GPU_MEM_"
FIFO = {"queue": {"order": "fifo"}}
CONTROLLER = "system:serviceaccount:kube-system:daemon-set-controller"
PLUGIN = "system:serviceaccount:kube-system:gpushare-device-plugin"
TENANT = "tenant"
RIGHTS = [("pods", ["get", "list", "create", "patch", "update", "delete"]),
          ("pods/status", ["patch"]), ("pods/ephemeralcontainers", ["patch"]), ("pods/binding", ["create"])]


@pytest.fixture
def tenant(cluster):
    """A user who may do with pods whatever RBAC can allow, in all namespaces."""
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    role = {**kind, "kind": "ClusterRole", "metadata": {"name": TENANT}, "rules": [
        {"apiGroups": [""], "resources": [resource], "verbs": verbs} for resource, verbs in RIGHTS]}
    binding = {**kind, "kind": "ClusterRoleBinding", "metadata": {"name": TENANT},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": TENANT},
               "subjects": [{"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"}
                            for name in (TENANT, PLUGIN)]}
    cluster.add(role, binding)
    api = cluster.plane.acting_as(TENANT)
    wait_for("the tenant's rights", lambda: api.get("/api/v1/namespaces/default/pods"))
    yield api
    for each in (binding, role):
        cluster.plane.delete(object_path(each))


def guard(cluster):
    return [each for each in cluster.objects if each["kind"].startswith("ValidatingAdmissionPolicy")]


def wait_guard(cluster, tenant, there):
    """Policies are in force a moment after they were made."""
    def in_force():
        try:
            tenant.create(owned(gpus.pod("probe", {GPU: 1}, annotations={
                "sliced.dev/assignment": "x"})), dry_run=True)
            return not there
        except ApiError as error:
            assert error.code == 403, error
            return there
    wait_for("the guard", in_force)


@contextlib.contextmanager
def unguarded(cluster, tenant):
    for each in guard(cluster):
        cluster.plane.delete(object_path(each))
    wait_guard(cluster, tenant, False)
    try:
        yield
    finally:
        for each in guard(cluster):
            cluster.plane.create(each)
        wait_guard(cluster, tenant, True)


def denied(why, call, *args, **more):
    with pytest.raises(ApiError) as caught:
        call(*args, **more)
    assert caught.value.code == 403 and why in caught.value.message, caught.value


def owned(pod, **over):
    """Said to be of a DaemonSet."""
    pod["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "1", "controller": True,
         **over}]
    return pod


def placed(pod, node="gpu-1"):
    pod["spec"]["nodeName"] = node
    return pod


def annotated(**annotations):
    return {"metadata": {"annotations": annotations}}


def at(name, end=""):
    return f"{collection_path('Pod')}/{name}{end}"


def row(daemon, name):
    return {each["name"]: each for each in daemon.json("/api/v1/queue")["items"]}.get(name)


def wait_held(daemon, name):
    return wait_for(f"{name} is held", lambda: (row(daemon, name) or {}).get("state") == "Held")


# ---- with the chart's policies ----

@pytest.mark.both
def test_a_forged_owner_is_gated_like_anybody(cluster, tenant):
    monitoring = "/api/v1/namespaces/monitoring"
    cluster.add(gpus.whole("gpu-1", gpus=1),
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "monitoring"}})
    values = {"queue": {"daemonSetNamespaces": ["monitoring"]}}
    config = chart.config_of(cluster.helm.objects(values, cluster.plane.minor), "sliced")["queue"]
    daemon = cluster.start_daemon(config=merge(FIFO, {"queue": {
        "gate": config["gate"], "daemonSets": config["daemonSets"]}}))
    try:
        cluster.put_up_gate(values)
        cluster.wait_gate(gpus.pod("probe", {GPU: 1}))
        wait_for("the namespace", lambda: cluster.plane.get(f"{monitoring}/serviceaccounts/default"))
        controller = cluster.plane.acting_as(CONTROLLER)

        def gets(api, namespace, **over):
            pod = owned(gpus.pod("agent", {GPU: 1}, namespace=namespace), **over)
            return gates_of(api.create(pod, dry_run=True))
        for namespace in ("default", "monitoring"):
            assert gets(tenant, namespace) == [GATE], namespace
            assert gets(tenant, namespace, apiVersion="example.com/v1") == [GATE], namespace
        assert gets(controller, "default") == [GATE]
        assert gets(controller, "monitoring", apiVersion="example.com/v1") == [GATE]
        assert gets(controller, "monitoring") == []

        # so a forged one waits for its turn behind others, and the controller's own does not
        cluster.add(gpus.pod("runs", {GPU: 1}))
        cluster.wait_bound("runs")
        cluster.add(gpus.pod("first", {GPU: 1}))
        wait_held(daemon, "first")
        # of a group that there is not: Kubernetes' own controllers remove those of their kinds
        tenant.create(owned(gpus.pod("forged", {GPU: 1}), apiVersion="example.com/v1"))
        wait_held(daemon, "forged")
        template = gpus.pod("agent", {GPU: 1})["spec"]
        del template["restartPolicy"]
        cluster.add({"apiVersion": "apps/v1", "kind": "DaemonSet",
                     "metadata": {"name": "agent", "namespace": "monitoring"},
                     "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": {
                         "metadata": {"labels": {"app": "agent"}}, "spec": template}}})
        agent = wait_for("its pod", lambda: next(
            (pod for name, pod in cluster.pods().items() if name.startswith("agent-")), None))
        assert gates_of(agent) == [] and row(daemon, agent["metadata"]["name"]) is None
    finally:
        cluster.take_down_gate()
        for each in ("daemonsets", "pods"):
            group = "/apis/apps/v1" if each == "daemonsets" else "/api/v1"
            cluster.plane.delete(f"{group}/namespaces/monitoring/{each}", 0, "Background")
        cluster.plane.delete(monitoring)


@pytest.mark.both
def test_what_decides_is_written_by_nobody_else(cluster, gated, tenant):
    cluster.add(gpus.whole("gpu-1", gpus=1), gpus.gpushare("mem-1", gpus=2, units=16))
    daemon = gated(FIFO)
    wait_guard(cluster, tenant, True)
    tenant.create(gpus.pod("runs", {GPU: 1}))
    tenant.create(gpus.pod("share", {MEM: 4}))
    cluster.wait_bound("runs", "share")
    tenant.create(gpus.pod("waits", {GPU: 1}))
    wait_held(daemon, "waits")

    # the gate
    shut = "opened by sliced alone"
    denied(shut, tenant.patch, at("waits"), {"spec": {"schedulingGates": None}})
    denied(shut, tenant.patch, at("waits"), [{"op": "remove", "path": "/spec/schedulingGates"}],
           "application/json-patch+json")
    assert gates_of(cluster.pod("waits")) == [GATE]

    # what sliced wrote, wherever it is written
    for key in ("sliced.dev/assignment", "sliced.dev/released"):
        for change in ({key: "1"}, {key: None}):
            denied("written by sliced alone", tenant.patch, at("runs"), annotated(**change))
            denied("written by sliced alone", tenant.patch, at("runs", "/status"), annotated(**change))
        denied("written by sliced alone", tenant.create, gpus.pod("new", {GPU: 1}, annotations={key: "1"}),
               dry_run=True)
        denied("written by sliced alone", tenant.patch, at("waits"), annotated(**{key: "1"}))
    denied("put on bindings by sliced alone", tenant.post, at("waits", "/binding"), {
        "apiVersion": "v1", "kind": "Binding",
        "metadata": {"name": "waits", "annotations": {"sliced.dev/assignment": f"{GPU}=0"}},
        "target": {"kind": "Node", "name": "gpu-1"}})
    denied("once the pod has a node", tenant.patch, at("runs"), annotated(**{"sliced.dev/timeout": "1m"}))
    denied("once the pod has a node", tenant.patch, at("share"),
           {"metadata": {"labels": {"aliyun.com/gpu-count": "2"}}})

    # what gpushare's device plugin writes
    for key, value in ((MARK + "IDX", "1"), (MARK + "ASSIGNED", "true")):
        denied("device plugin", tenant.patch, at("share"), annotated(**{key: value}))
        denied("device plugin", tenant.create, gpus.pod("new", {MEM: 1}, annotations={key: value}),
               dry_run=True)
    plugin = cluster.plane.acting_as(PLUGIN)
    plugin.patch(at("share"), annotated(**{MARK + "ASSIGNED": "true"}))

    # the node
    denied("not by spec.nodeName", tenant.create, placed(gpus.pod("new", {GPU: 1})), dry_run=True)

    # and what they may: their own annotations, whatever asks for no GPU, the rest while it waits
    tenant.patch(at("runs"), annotated(**{"example.com/note": "1"}))
    tenant.patch(at("waits"), annotated(**{"sliced.dev/timeout": "1m"}))
    tenant.create(placed(gpus.pod("web", {"memory": "1Mi"}, annotations={"sliced.dev/released": "1"})))

    # who is trusted may all of it
    manager = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
               "metadata": {"name": "managers"},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                           "name": "sliced-manager"},
               "subjects": [{"kind": "User", "name": TENANT, "apiGroup": "rbac.authorization.k8s.io"}]}
    cluster.add(manager)
    try:
        wait_for("the manager's right", lambda: tenant.create(
            placed(gpus.pod("new", {GPU: 1})), dry_run=True))
        tenant.patch(at("waits"), {"spec": {"schedulingGates": None}})
    finally:
        cluster.plane.delete(object_path(manager))


# ---- devices without a request ----

VISIBLE = "NVIDIA_VISIBLE_DEVICES"
UNASKED = "did not ask for"
DEVICES_POLICY = "sliced-guard-devices"


def given(resources=None, env=(), annotations=None, **spec):
    """A pod whose container has those variables: name=value, or name alone for one of a ConfigMap."""
    pod = gpus.pod("sly", resources or {"memory": "1Mi"}, annotations=annotations)
    pod["spec"]["containers"][0]["env"] = [
        {"name": name, "value": value} if equals else
        {"name": name, "valueFrom": {"configMapKeyRef": {"name": "x", "key": "y"}}}
        for name, equals, value in (each.partition("=") for each in env)]
    pod["spec"].update(spec)
    return pod


def beside(pod, other, kind):
    """Both containers in one pod."""
    container = {**other["spec"]["containers"][0], "name": "other"}
    pod["spec"].setdefault(kind, []).append(container)
    return pod


def mounted(path, resources=None):
    pod = given(resources, volumes=[{"name": "null", "hostPath": {"path": "/dev/null"}}])
    pod["spec"]["containers"][0]["volumeMounts"] = [{"name": "null", "mountPath": path}]
    return pod


def wait_refused(tenant, pod, refused):
    def in_force():
        try:
            tenant.create(pod, dry_run=True)
            return not refused
        except ApiError as error:
            assert error.code == 403, error
            return refused
    wait_for("the guard of devices", in_force)


@pytest.fixture
def nvidia_class(cluster, tenant):
    """Kubernetes refuses pods of a class that there is not."""
    made = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"},
            "handler": "nvidia"}
    cluster.add(made)
    wait_refused(tenant, given({GPU: 1}, runtimeClassName="nvidia"), False)
    yield
    cluster.plane.delete(object_path(made))


@pytest.mark.both
def test_devices_come_only_with_a_request(tenant, nvidia_class):
    """NVIDIA's runtime gives what variables, mounts and annotations name, and asks nobody."""
    del nvidia_class
    wait_refused(tenant, given(env=[f"{VISIBLE}=all"]), True)

    def refused(why, pod):
        denied(why, tenant.create, pod, dry_run=True)
    asks = {GPU: 1}
    for value in ("=all", "=0", "=GPU-1f", "=void,all", "=none,0", "=$(X)", ""):
        refused(UNASKED, given(env=[VISIBLE + value]))
    for zero in (0, "00", "0k", "0Mi", "0e3", "0.0", "0m"):
        refused(UNASKED, given({GPU: zero}, env=[f"{VISIBLE}=all"]))
    refused(UNASKED, given(env=[f"{VISIBLE}=void", f"{VISIBLE}=all"]))  # the last one counts
    refused(UNASKED, given(env=["NVIDIA_IMEX_CHANNELS=0"]))
    for kind in ("containers", "initContainers"):  # the plugin gives each container its own
        refused(UNASKED, beside(given(asks), given(env=[f"{VISIBLE}=all"]), kind))
    for resources in (None, asks):
        refused("cut or watch", given(resources, env=["NVIDIA_MIG_CONFIG_DEVICES=all"]))
        refused("cut or watch", given(resources, env=["NVIDIA_MIG_MONITOR_DEVICES"]))
    refused(f"without {VISIBLE}", given(env=["CUDA_VERSION=10.0"]))
    for path in ("/var/run/nvidia-container-devices/all",
                 "/var/run//x/../nvidia-container-devices/cdi/nvidia.com/gpu/0"):
        refused("a mount at", mounted(path))
    for key in ("nvidia.cdi.k8s.io/container.main", "cdi.k8s.io/x", "devices.nri.io/pod",
                "devices.noderesource.dev", "cdi-devices.noderesource.dev/container.main"):
        refused("annotations of", given(annotations={key: "management.nvidia.com/gpu=all"}))
    refused("under this runtimeClassName", given(runtimeClassName="nvidia"))

    none = [f"{VISIBLE}=void"]
    for pod in (given(), given(env=["NVIDIA_DRIVER_CAPABILITIES=all", f"MY_{VISIBLE}=all"]),
                *(given(env=[f"{VISIBLE}={value}", "NVIDIA_MIG_CONFIG_DEVICES=", "CUDA_VERSION=10.0"])
                  for value in ("", "void", "none")),
                *(given({resource: 1}, env=[f"{VISIBLE}=all"]) for resource in (
                    GPU, "nvidia.com/gpu.shared", "nvidia.com/mig-1g.6gb", "nvidia.com/gpu-10gb", MEM)),
                given(asks, env=["CUDA_VERSION=10.0"]), mounted("/var/run/other"),
                mounted("/var/run/nvidia-container-devices/all", asks),
                given(annotations={"example.com/cdi.k8s.io": "x"}),
                given(asks, runtimeClassName="nvidia"), given(env=none, runtimeClassName="nvidia"),
                beside(given(asks, runtimeClassName="nvidia"), given(), "containers")):
        tenant.create(pod, dry_run=True)
    # a large pod is judged like others
    large = given()
    for i in range(100):
        beside(large, given(env=[f"V{j}=1" for j in range(200)]), "containers")
        large["spec"]["containers"][-1]["name"] = f"c{i}"
    tenant.create(large, dry_run=True)
    large["spec"]["containers"][-1]["env"].append({"name": VISIBLE, "value": "all"})
    refused(UNASKED, large)


@pytest.mark.both
def test_devices_are_not_added_later(cluster, tenant):
    cluster.add(gpus.whole("gpu-1", gpus=1))
    # of a time before the guard: such pods can still be edited, and end
    with unguarded(cluster, tenant):
        wait_refused(tenant, given(env=[f"{VISIBLE}=all"]), False)
        tenant.create(given(env=[f"{VISIBLE}=all"], annotations={"cdi.k8s.io/old": "nvidia.com/gpu=0"}))
    wait_refused(tenant, given(env=[f"{VISIBLE}=all"]), True)
    tenant.patch(at("sly"), annotated(**{"example.com/note": "1"}))
    for end in ("", "/status"):
        denied("annotations of", tenant.patch, at("sly", end), annotated(**{"cdi.k8s.io/old": "nvidia.com/gpu=all"}))
        denied("annotations of", tenant.patch, at("sly", end), annotated(**{"nvidia.cdi.k8s.io/container.main": "x"}))
        tenant.patch(at("sly", end), annotated(**{"cdi.k8s.io/old": None}))
    denied("put on bindings", tenant.post, at("sly", "/binding"), {
        "apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": "gpu-1"},
        "metadata": {"name": "sly", "annotations": {"cdi.k8s.io/x": "nvidia.com/gpu=all"}}})

    def debug(*env, name="debug"):
        return {"spec": {"ephemeralContainers": [
            {"name": name, "image": "train", "env": given(env=env)["spec"]["containers"][0]["env"]}]}}
    strategic = "application/strategic-merge-patch+json"
    denied(UNASKED, tenant.patch, at("sly", "/ephemeralcontainers"), debug(f"{VISIBLE}=all"), strategic)
    tenant.patch(at("sly", "/ephemeralcontainers"), debug(f"{VISIBLE}=void"), strategic)
    second = debug(f"{VISIBLE}=all", name="second")  # beside one that is there
    denied(UNASKED, tenant.patch, at("sly", "/ephemeralcontainers"), second, strategic)


@pytest.mark.both
def test_the_guard_of_devices_is_for_the_namespaces_that_values_say(cluster, tenant):
    pod = given(env=[f"{VISIBLE}=all"])
    asking = given({GPU: 1}, env=[f"{VISIBLE}=all"])
    wait_refused(tenant, pod, True)
    ensure_namespace(cluster.plane, "gpu-operator")
    pod["metadata"]["namespace"] = "gpu-operator"
    tenant.create(pod, dry_run=True)
    del pod["metadata"]["namespace"]

    # and other values take effect as helm writes them
    def put(values):
        objects = cluster.helm.objects(values, cluster.plane.minor)
        policy = chart.one(objects, "ValidatingAdmissionPolicy", DEVICES_POLICY)
        cluster.plane.patch(object_path(policy), {"spec": policy["spec"]})
    put(VALUES["devices always"])
    try:
        wait_refused(tenant, asking, True)
        wait_refused(tenant, pod, True)
    finally:
        put({})
    wait_refused(tenant, asking, False)


def test_what_an_image_says_is_overridden_where_that_is_set(cluster, tenant):
    """An image's own variable is not seen by admission, but the container's counts before it."""
    if not chart.has_policies(cluster.plane.minor):
        pytest.skip("Kubernetes has what sets it since 1.36")
    objects = cluster.helm.objects({"guard": {"devices": {"void": True}}}, cluster.plane.minor)
    made = [each for each in objects if each["kind"].startswith("Mutating") and
            each["metadata"]["name"] == DEVICES_POLICY]

    def variables(pod, kind="containers"):
        found = tenant.create(pod, dry_run=True)["spec"][kind]
        return [[(env["name"], env.get("value", "")) for env in each.get("env", [])] for each in found]
    void = (VISIBLE, "void")
    cluster.add(*made)
    try:
        wait_for("the variable is set", lambda: variables(given()) == [[void]])
        others = ["A=1", "B", "A=2"]  # one name may be there twice
        assert [set(each) for each in variables(given(env=others))] == [{("A", "1"), ("B", ""), ("A", "2"), void}]
        assert variables(beside(given({GPU: 1}), given(), "containers")) == [[], [void]]
        assert variables(beside(given({GPU: 1}), given(), "initContainers"), "initContainers") == [[void]]
        assert variables(given(env=[f"{VISIBLE}="])) == [[(VISIBLE, "")]]
        assert variables(given({"nvidia.com/mig-1g.6gb": 1}, env=others[:1])) == [[("A", "1")]]
    finally:
        for each in made:
            cluster.plane.delete(object_path(each))
    wait_for("no variable is set", lambda: variables(given()) == [[]])


# ---- without them ----

@pytest.mark.both
def test_a_gate_that_its_owner_takes_off_gains_nothing(cluster, gated, tenant):
    cluster.add(gpus.whole("gpu-1", gpus=2))
    daemon = gated({"queue": {"order": "sjf"}})
    cluster.add(gpus.pod("runs", {GPU: 1}))
    cluster.wait_bound("runs")
    cluster.add(gpus.pod("first", {GPU: 2}))
    wait_held(daemon, "first")
    # last by its timeout; there is room for it, which would make the first wait for longer
    cluster.add(gpus.pod("sly", {GPU: 1}, annotations={"sliced.dev/timeout": "30d"}))
    wait_held(daemon, "sly")
    with unguarded(cluster, tenant):
        tenant.patch(at("sly"), {"spec": {"schedulingGates": None}})
        tenant.patch(at("sly"), annotated(**{"sliced.dev/released": "now"}))
        cluster.wait_event("sly", "held: ", "sliced-scheduler")
        cluster.delete_pod("runs")
        cluster.wait_bound("first")
        wait_held(daemon, "sly")
        assert not cluster.pod("sly")["spec"].get("nodeName")
        cluster.delete_pod("first")
        cluster.wait_bound("sly")  # its turn has come


@pytest.mark.both
def test_an_edited_assignment_moves_nothing(cluster, gated, tenant):
    cluster.add(gpus.gpushare("mem-1", gpus=2, units=16))
    daemon = gated(FIFO)
    cluster.add(gpus.pod("liar", {MEM: 10}))
    cluster.wait_bound("liar")
    cluster.add(gpus.pod("honest", {MEM: 12}))
    given = cluster.wait_bound("honest")["liar"]["metadata"]["annotations"]["sliced.dev/assignment"]
    other = given.replace("=0*", "=2*").replace("=1*", "=0*").replace("=2*", "=1*")
    with unguarded(cluster, tenant):
        tenant.patch(at("liar"), annotated(**{"sliced.dev/assignment": other}))
        tenant.patch(at("liar"), {"metadata": {"labels": {"aliyun.com/gpu-count": "2"}}})
        told = "/api/v1/pods/default/liar/explain"
        assert daemon.json(told)["assignment"]["annotation"] == given
        # would find room where the liar is, if that was believed
        cluster.add(gpus.pod("third", {MEM: 16}, annotations={"sliced.dev/timeout": "1m"}))
        wait_held(daemon, "third")
        tenant.patch(at("liar"), annotated(**{"sliced.dev/assignment": given}))
        tenant.patch(at("liar"), {"metadata": {"labels": {"aliyun.com/gpu-count": None}}})
    cluster.delete_pod("liar")
    cluster.wait_bound("third")
