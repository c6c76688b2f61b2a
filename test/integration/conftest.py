"""Fixtures: a daemon of the test's own, and one that a module's tests share."""
import pytest

from sliced_daemon import EXAMPLES, Daemon


@pytest.fixture
def start():
    """start(*cluster files, config=...): daemons that end with the test."""
    daemons = []

    def make(*cluster, **more):
        daemons.append(Daemon(*cluster, **more))
        return daemons[-1]

    yield make
    for daemon in daemons:
        daemon.stop()


@pytest.fixture(scope="module")
def shared():
    """One on the first example; for tests that change nothing."""
    daemon = Daemon(EXAMPLES / "a30-mixed.yaml")
    yield daemon
    daemon.stop()
