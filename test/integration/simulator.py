"""Calls slicesim and reproduce, and reads what they say."""
import json
import os
import subprocess

import pytest

SLICESIM = os.environ["SLICESIM_BIN"]

needs_data = pytest.mark.skipif("SLICED_DATA" not in os.environ, reason="SLICED_DATA: no published traces here")


def run(*arguments, stdin="", status=0, program=SLICESIM):
    done = subprocess.run([program, *map(str, arguments)], input=stdin, capture_output=True,
                          text=True, timeout=850)
    assert done.returncode == status, done.stderr
    return done


def runs_of(*arguments):
    return json.loads(run("run", *arguments, "-o", "json").stdout)["runs"]


def reproduce(*arguments, status=0):
    return run(*arguments, status=status, program=os.environ["REPRODUCE_BIN"])


def rows_of(*arguments):
    return json.loads(reproduce(*arguments, "-o", "json").stdout)["rows"]


def sharing_rows(*arguments):
    return {(row["load"], row["sharing"]): row for row in rows_of("sharing", *arguments)}


def sharing_data(folder, lives=3, peak=8000.0):
    """Runs as Ferikoglou et al. published them: jobs one after the other, and what three schedulers made of them."""
    run_alone = "".join(f"{at},{mib}\n" for at, mib in enumerate(([0.0] * 5 + [300.0] * 5 + [peak] * 90) * lives))
    for percent in (0, 100, 200):
        for scheduler in ("DEFAULT", "ALIBABA", "CUSTSCHED"):
            name = f"OVERPROV_{percent}_dcgm_{{}}_combined_{scheduler}.csv"
            (folder / name.format("fb_used")).write_text(run_alone)
            (folder / name.format("gpu_utilization")).write_text(run_alone.replace(str(peak), "10.0"))
            (folder / name.format("power_usage")).write_text(run_alone.replace(str(peak), "41.0"))
            (folder / f"OVERPROV_{percent}_WORKLOAD_{scheduler}.txt").write_text(
                "Container Restart Count = 2\nPod_Start_Time - Pod_Creation_Timestamp = 0:01:05\n")
    (folder / "arrivals.csv").write_text("arrival_s,mem_request_mib_at_0pct\n" + "".join(
        f"{10 * i},{peak:.0f}\n" for i in range(lives)))
    return folder


def play_published(trace, *nodes):
    """trace, and each of nodes that has a colon: FORMAT:FILE, the file below SLICED_DATA."""
    def below(text):
        name, path = text.split(":", 1)
        return f"{name}:{os.environ['SLICED_DATA']}/{path}"

    nodes = [below(word) if ":" in word else word for word in nodes]
    found = runs_of("--trace", below(trace), *nodes, "--policy", "fifo,sjf", "--quiet")
    assert all(r["jobs"] > 0 and r["neverStarted"] == 0 for r in found)
    assert found[1]["wait"]["mean"] <= found[0]["wait"]["mean"]
