"""Fixtures: a control plane of each version, what a story stands on, and the check after it."""

import signal

import pytest

from harness import chart, gpus
from harness import plane as planes
from harness.cluster import Cluster
from harness.machines.machine import Rack
from harness.sliced import merge


# The lane of what is not told on every version; the other lanes have the versions' names.
ONCE = "once"
# Files of stories that are told once, which those lanes take beside their own, so that all end at about
# the same time: the place of the lane's version in --planes. Told on the first version all the same.
TAKEN = {"test_telemetry.py": 0, "test_partitioning.py": 1, "test_install.py": 1}


def pytest_addoption(parser):
    parser.addoption("--planes", default=chart.NEWEST,
                     help="minor versions of Kubernetes, with a comma between; stories that are not "
                          "about versions are told on the first alone")
    parser.addoption("--lane", help="only a part, which can run beside the others on planes of its "
                                    "own: a version (what is told on every version, told on that "
                                    f"one) or '{ONCE}' (what is told on the first alone)")


def pytest_configure(config):
    # once: pytest takes another string of the same text for another parameter, and starts a new plane
    config.minors = config.getoption("--planes").split(",")
    config.addinivalue_line("markers", "both: told on every version of Kubernetes, not once")
    # Both end the tests in order, fixtures included; a shell's child in the background would not see
    # the first.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)


def pytest_generate_tests(metafunc):
    if "minor" in metafunc.fixturenames:
        minors = metafunc.config.minors
        if metafunc.definition.get_closest_marker("both") is None:
            minors = minors[:1]
        # a session's scope lets pytest put the stories of one version together
        metafunc.parametrize("minor", minors, indirect=True, scope="session")


def lane_of(item, minors):
    if item.get_closest_marker("both") is not None:
        return item.callspec.params["minor"]
    place = TAKEN.get(item.path.name)
    return ONCE if place is None else minors[min(place, len(minors) - 1)]


def pytest_collection_modifyitems(config, items):
    lane = config.getoption("--lane")
    if lane is not None:
        config.hook.pytest_deselected(items=[each for each in items if lane_of(each, config.minors) != lane])
        items[:] = [each for each in items if lane_of(each, config.minors) == lane]


@pytest.fixture(scope="session")
def minor(request):
    return request.param


@pytest.fixture(scope="session")
def tools():
    return planes.tools()


@pytest.fixture(scope="session")
def helm(tools):
    return chart.Helm(tools)


@pytest.fixture(scope="module")
def bare_plane(minor, tools, tmp_path_factory):
    """A control plane with nothing in it and no scheduler."""
    plane = planes.Plane(minor, tmp_path_factory.mktemp(f"bare-{minor}"), tools)
    try:
        yield plane.start()
    finally:
        plane.stop()


@pytest.fixture(scope="session")
def story_cluster(minor, tools, helm, tmp_path_factory):
    plane = planes.Plane(minor, tmp_path_factory.mktemp(f"plane-{minor}"), tools)
    cluster = None
    try:
        cluster = Cluster(plane.start(), helm).start()
        yield cluster
    finally:
        if cluster is not None:
            cluster.stop()
        plane.stop()


@pytest.fixture
def cluster(story_cluster, request):
    """The cluster, empty; after the story nothing may be given twice, and no right was missing."""
    story_cluster.clear()
    failed_before = request.session.testsfailed
    restarts = story_cluster.plane.restarts
    yield story_cluster
    wrong = story_cluster.wrong()
    for replica in story_cluster.replicas:
        if replica.process is None:
            continue
        log = replica.log()
        if request.session.testsfailed > failed_before:
            print(f"---- {replica.name}\n" + "\n".join(log.splitlines()[-60:]))
        # an API server that starts refuses everybody until it has read the roles; what a story's own
        # policy denies is no right that lacks
        lacking = [line for line in log.splitlines()
                   if "forbidden" in line and "ValidatingAdmissionPolicy" not in line]
        assert not lacking or story_cluster.plane.restarts > restarts, (
            f"{replica.name} lacks a right that the chart should give: {lacking[0]}")
        assert "AddressSanitizer" not in log and "runtime error:" not in log, log[-4000:]
    assert not wrong, "\n".join(wrong)


@pytest.fixture
def rack(cluster):
    """Machines whose GPUs can be cut; after the story nothing may have been done that is not allowed."""
    with Rack(cluster.plane) as made:
        yield made
    wrong = made.wrong()
    assert not wrong, "\n".join(wrong)


@pytest.fixture
def gated(cluster):
    """The cluster puts the gate on pods by what the chart has for its version: start(config) gives the
    daemon, once it does."""
    def start(config=None):
        daemon = cluster.start_daemon(config=merge(cluster.gate, config or {}))
        cluster.put_up_gate()
        cluster.wait_gate(gpus.pod("probe", {"nvidia.com/gpu": 1}))
        return daemon
    yield start
    cluster.take_down_gate()
