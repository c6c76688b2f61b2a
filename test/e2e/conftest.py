"""Fixtures: a control plane of each version, what a story stands on, and the check after it."""

import pytest

from harness import chart
from harness import plane as planes
from harness.cluster import Cluster


def pytest_addoption(parser):
    parser.addoption("--planes", default="1.36,1.31",
                     help="minor versions of Kubernetes; stories that are not about versions are "
                          "told on the first alone")


def pytest_configure(config):
    config.addinivalue_line("markers", "both: told on every version of Kubernetes")


def pytest_generate_tests(metafunc):
    if "minor" in metafunc.fixturenames:
        minors = metafunc.config.getoption("--planes").split(",")
        if metafunc.definition.get_closest_marker("both") is None:
            minors = minors[:1]
        # a session's scope lets pytest put the stories of one version together
        metafunc.parametrize("minor", minors, indirect=True, scope="session")


@pytest.fixture(scope="session")
def minor(request):
    return request.param


@pytest.fixture(scope="session")
def tools():
    return planes.tools()


@pytest.fixture(scope="session")
def helm(tools):
    return chart.Helm(tools)


@pytest.fixture(scope="session")
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
        # an API server that starts refuses everybody until it has read the roles
        assert "forbidden" not in log or story_cluster.plane.restarts > restarts, (
            f"{replica.name} lacks a right that the chart should give")
        assert "AddressSanitizer" not in log and "runtime error:" not in log, log[-4000:]
    assert not wrong, "\n".join(wrong)
