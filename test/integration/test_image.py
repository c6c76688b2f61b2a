"""The image's root file system, as deploy/image/collect makes it: all that its programs need is in it."""
import os
import pathlib
import subprocess

import pytest

from sliced_daemon import ENVIRON, EXAMPLES

ROOT = pathlib.Path(__file__).parents[2]
PROGRAMS = [os.environ["SLICED_BIN"], os.environ["CLI_BIN"]]


@pytest.fixture
def image(tmp_path):
    if os.environ.get("SLICED_SANITIZE"):
        pytest.skip("an image is made of programs without sanitizers")
    subprocess.run([ROOT / "deploy/image/collect", *PROGRAMS, tmp_path], check=True, timeout=120)
    return tmp_path


def run(image, program, *args):
    """With the image's own loader and libraries, as if it were the whole file system."""
    loader, = [each for each in image.rglob("ld-*.so*") if os.access(each, os.X_OK)]
    folders = {str(each.parent) for each in image.rglob("*.so*")}
    return subprocess.run([loader, "--inhibit-cache", "--library-path", ":".join(sorted(folders)),
                           image / "usr/bin" / program, *args],
                          capture_output=True, text=True, timeout=60, check=True, env=ENVIRON).stdout


def test_the_image_has_the_daemon_and_the_plugin_of_kubectl(image, start):
    assert sorted(each.name for each in (image / "usr/bin").iterdir()) == ["kubectl-sliced", "sliced"]
    assert run(image, "sliced", "--version").startswith("sliced ")
    assert run(image, "kubectl-sliced", "--version").startswith("kubectl-sliced ")
    daemon = start(EXAMPLES / "a30-mixed.yaml", config="queue: {enabled: true}\n")
    assert "gpu-a30-1" in run(image, "kubectl-sliced", "nodes", "--server", f"http://127.0.0.1:{daemon.port}")
