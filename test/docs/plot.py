#!/usr/bin/env python3
"""Draws what slicesim and reproduce tell as CSV, and writes SVG. scripts/plot calls it.

usage: plot.py run REPORT [STARTS]    what slicesim run -o csv and --decisions wrote
       plot.py orders ORDERS          what reproduce orders -o csv wrote; - is standard input
"""

import csv
import re
import statistics
import sys
from collections import defaultdict

import matplotlib

matplotlib.use("svg")
GREY = "#808890"  # reads well on light pages and on dark ones
matplotlib.rcParams.update({
    "svg.hashsalt": "sliced", "svg.fonttype": "none", "figure.constrained_layout.use": True,
    "text.color": GREY, "axes.labelcolor": GREY, "axes.titlecolor": GREY, "axes.edgecolor": GREY,
    "xtick.color": GREY, "ytick.color": GREY, "axes.grid": True, "grid.alpha": 0.3, "font.size": 9})
import matplotlib.pyplot as plt  # noqa: E402

PANELS = {"response_mean": "mean response, s", "wait_max": "longest wait, s",
          "slowdown_mean": "mean slowdown", "utilisation": "utilisation"}
GANTT_ROWS_MAX = 64


def read(path):
    if path == "-":
        return list(csv.DictReader(sys.stdin))
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def percentile(values, p):
    """Between the two nearest values where it falls between them, as slicesim has it."""
    values = sorted(values)
    at = (len(values) - 1) * p / 100
    low = values[int(at)]
    return low + (values[min(int(at) + 1, len(values) - 1)] - low) * (at - int(at))


def draw_bars(axes, report, policies):
    for axis, (figure, title) in zip(axes, PANELS.items()):
        for at, policy in enumerate(policies):
            values = [float(row[figure]) for row in report if row["policy"] == policy]
            axis.barh(at, statistics.median(values), color=f"C{at % 10}")
            axis.plot([percentile(values, 5), percentile(values, 95)], [at, at], color=GREY)
        axis.set(title=title, yticks=range(len(policies)), yticklabels=policies)
        axis.invert_yaxis()


def draw_waits(axis, starts, policies):
    for at, policy in enumerate(policies):
        waits = sorted(float(row["wait"]) for row in starts if row["policy"] == policy)
        axis.step(waits, [(i + 1) / len(waits) for i in range(len(waits))], color=f"C{at % 10}", label=policy)
    axis.set(title="share of jobs that wait at most", xlabel="seconds", ylim=(0, 1))
    axis.legend(labelcolor=GREY, framealpha=0)


def lanes_of(bars):
    """Bars of one device that do not overlap lie in one lane: [(lane, begin, end, number)]."""
    ends, placed = [], []
    for begin, end, number in sorted(bars):
        lane = next((i for i, free in enumerate(ends) if free <= begin), len(ends))
        ends[lane:lane + 1] = [end]
        placed.append((lane, begin, end, number))
    return placed, len(ends)


def draw_gantt(axis, starts, policy):
    rows = defaultdict(list)
    for number, row in enumerate(row for row in starts if row["policy"] == policy):
        devices = re.findall(r"[=,](\d+|\?)", row["devices"]) or ["?"]
        for device in devices:
            rows[f'{row["node"]} / {device}'].append((float(row["time"]), float(row["end"]), number))
    names = sorted(rows)[:GANTT_ROWS_MAX]
    for at, name in enumerate(names):
        placed, lanes = lanes_of(rows[name])
        for lane, begin, end, number in placed:
            axis.barh(at + (lane + 0.5) / lanes - 0.5, end - begin, left=begin, height=0.9 / lanes,
                      color=f"C{number % 10}")
    axis.set(title=f"{policy}: which job ran where", xlabel="seconds", yticks=range(len(names)), yticklabels=names)
    axis.invert_yaxis()


def draw_run(report_path, starts_path=None):
    report = read(report_path)
    starts = read(starts_path) if starts_path else []
    policies = list(dict.fromkeys(row["policy"] for row in report))
    gantts = policies[:4] if starts else []
    heights = [0.8 + 0.3 * len(policies)] + [2.5] * bool(starts) + [3] * len(gantts)
    figure = plt.figure(figsize=(10, sum(heights)))
    grid = figure.add_gridspec(len(heights), len(PANELS), height_ratios=heights)
    draw_bars([figure.add_subplot(grid[0, i]) for i in range(len(PANELS))], report, policies)
    if starts:
        draw_waits(figure.add_subplot(grid[1, :]), starts, policies)
    for at, policy in enumerate(gantts):
        draw_gantt(figure.add_subplot(grid[2 + at, :]), starts, policy)
    return figure


def c_of(policy):
    return float(policy.partition("c=")[2] or 1.15)


def put_labels(axis, points):
    """Beside each point, above or below, where that covers no other label; else the point has none."""
    taken = []
    axis.figure.canvas.draw()  # lays out the axes
    for label, at in points.items():
        left, base = axis.transData.transform(at)
        right = left + 5 * len(label)
        for up in (5, -12):
            if not any(left < end and begin < right and abs(base + up - y) < 10 for begin, end, y in taken):
                taken.append((left, right, base + up))
                axis.annotate(label, at, xytext=(4, up), textcoords="offset points")
                break


def draw_orders(path):
    """Mean against longest wait, with the curve of bounded over c, under exact timeouts."""
    rows = [row for row in read(path) if row["timeouts"] == "exact"]
    settings = list(dict.fromkeys(row["setting"] for row in rows))
    figure, axes = plt.subplots(len(settings), figsize=(10, 3.2 * len(settings)))
    for axis, setting in zip(axes, settings):
        points = {row["policy"]: (float(row["longestOfFifo"]), float(row["responseOfSjf"]))
                  for row in rows if row["setting"] == setting}
        curve = sorted((name for name in points if name.startswith("bounded")), key=c_of)
        axis.plot(*zip(*(points[name] for name in curve)), "o-", color="C0")
        for name, at in points.items():
            axis.plot(*at, "o", color="C0" if name in curve else "C1")
        axis.set(title=setting, xlabel="longest wait / FIFO's", ylabel="mean response / SJF's")
        axis.margins(0.08, 0.12)
        put_labels(axis, {f"c={c_of(name):g}" if name in curve else name: points[name]
                          for name in sorted(points, key=lambda name: (name != "bounded", name in curve))})
    return figure


if __name__ == "__main__":
    drawings = {"run": draw_run, "orders": draw_orders}
    if len(sys.argv) < 3 or sys.argv[1] not in drawings:
        sys.exit(__doc__)
    drawings[sys.argv[1]](*sys.argv[2:]).savefig(sys.stdout.buffer, format="svg", transparent=True,
                                                  metadata={"Date": None})
