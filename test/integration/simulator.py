"""Calls slicesim and reads what it says."""
import json
import os
import subprocess

import pytest

SLICESIM = os.environ["SLICESIM_BIN"]

needs_data = pytest.mark.skipif("SLICED_DATA" not in os.environ, reason="SLICED_DATA: no published traces here")


def run(*arguments, stdin="", status=0):
    done = subprocess.run([SLICESIM, *map(str, arguments)], input=stdin, capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == status, done.stderr
    return done


def runs_of(*arguments):
    return json.loads(run("run", *arguments, "-o", "json").stdout)["runs"]


def sharing_rows(*arguments):
    rows = json.loads(run("reproduce", "sharing", "-o", "json", *arguments).stdout)["rows"]
    return {(row["load"], row["sharing"]): row for row in rows}


def play_published(trace, *nodes):
    """trace, and each of nodes that has a colon: FORMAT:FILE, the file below SLICED_DATA."""
    def below(text):
        name, path = text.split(":", 1)
        return f"{name}:{os.environ['SLICED_DATA']}/{path}"

    nodes = [below(word) if ":" in word else word for word in nodes]
    found = runs_of("--trace", below(trace), *nodes, "--policy", "fifo,sjf", "--quiet")
    assert all(r["jobs"] > 0 and r["neverStarted"] == 0 for r in found)
    assert found[1]["wait"]["mean"] <= found[0]["wait"]["mean"]
