"""docs/install.md, followed word for word: its console blocks are run in order against a real control
plane, where the pods of the chart are really run, and answer what the page says."""

import os
import re
import subprocess
import sys


from harness import gpus
from harness.chart import ROOT
from harness.kubelet import NODE, Kubelet
from harness.plane import Plane
from harness.sliced import BIN

sys.path.insert(0, os.path.join(ROOT, "test", "docs"))
import check_readme as pages  # noqa: E402  (the README's test reads console blocks the same way)

MARK = "@@end-of-command@@"
# kubectl 1.36 may log the end of a watch that it ends itself, having seen what it waited for
NOISE = re.compile(r'^E\d{4} .*"Failed to watch".*context canceled.*\n', re.M)


def follow(commands, folder, path, kubeconfig):
    """The output of each command, all in one bash, to the first that fails."""
    script = ["exec 2>&1"]
    for _, command, _ in commands:
        script += [command, "status=$?", f"printf '\\n{MARK}\\n'", "[ $status = 0 ] || exit 0"]
    home = str(folder / "home")
    done = subprocess.run(
        ["bash"], input="\n".join(script) + "\n", capture_output=True, text=True, timeout=600,
        cwd=folder, check=False,
        env={"PATH": path + ":" + os.environ["PATH"], "HOME": home, "KUBECONFIG": kubeconfig})
    return NOISE.sub("", done.stdout).split(f"\n{MARK}\n")[:-1]


def test_the_page_on_installing_holds_word_for_word(minor, tools, tmp_path):
    with open(os.path.join(ROOT, "docs/install.md"), encoding="utf-8") as page:
        commands = pages.read_commands(page.read())
    assert len(commands) > 30
    os.symlink(os.path.join(ROOT, "deploy"), tmp_path / "deploy")
    plane = Plane(minor, tmp_path / "plane", tools)
    kubelet = None
    try:
        plane.start({})
        gpu = gpus.a30_mixed("gpu-1")
        gpu["status"]["allocatable"]["cpu"] = "0"  # the chart's pods ask for some
        plane.create(gpu)
        plane.create(gpus.node(NODE, {}))
        kubelet = Kubelet(plane, plane.folder).start()
        (tmp_path / "bin").mkdir()
        os.symlink(BIN, tmp_path / "bin" / "sliced")
        outputs = follow(commands, tmp_path, f"{plane.bin}:{tools}:{tmp_path / 'bin'}",
                         plane.kubeconfig)
        wrong = [f"docs/install.md:{number}: $ {command}\n-- the page says\n" + "\n".join(expected)
                 + f"\n-- it was\n{actual.rstrip()}\n"
                 for (number, command, expected), actual in zip(commands, outputs)
                 if not pages.matches(expected, actual)]
        if len(outputs) < len(commands):
            number, command, _ = commands[max(len(outputs) - 1, 0)]
            wrong.append(f"docs/install.md:{number}: $ {command}\n-- failed, and the rest was left out")
        assert not wrong, "\n".join(wrong) + kubelet.logs() + "\n".join(kubelet.trouble[-5:])
    finally:
        if kubelet is not None:
            kubelet.stop()
        plane.stop()
