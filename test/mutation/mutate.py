#!/usr/bin/env python3
"""Plants small faults in a module's sources, one at a time, and says which of them its unit tests
let pass; scripts/mutate runs it and says how."""

import argparse
import os
import random
import sys
import time
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bed import Bed, Broken
from faults import places

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def read_list(path):
    """{(file, line before, line after)} of a list of faults, as this program writes them."""
    found, name, before = [], None, None
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        if line.startswith("    - "):
            before = line[6:]
        elif line.startswith("    + "):
            found.append((name, before, line[6:]))
        elif line and line[0] not in " #":
            name = line.split(":")[0]
    return found


def shown(fault, outcome):
    ran = f"{outcome.tests} tests run it" if outcome.tests else "no test runs it"
    return f"{fault.path}:{fault.line}: {ran}\n    - {fault.before}\n    + {fault.after}"


def draw(bed, subfolders, seed):
    """The faults of some subfolders in the order of their lot: one for each place."""
    lot = random.Random(seed)
    found = []
    for path in sorted(bed.flags):
        if any(f"{path}/".startswith(f"src/{subfolder.rstrip('/')}/") for subfolder in subfolders):
            found += places(path, (bed.tree / path).read_text(encoding="utf-8"))
    lot.shuffle(found)
    return [lot.choice(faults) for faults in found]


def again(bed, listed):
    """The faults of a list, wherever their lines have gone."""
    found = []
    for path in sorted({name for name, _, _ in listed} & set(bed.flags)):
        for faults in places(path, (bed.tree / path).read_text(encoding="utf-8")):
            found += [fault for fault in faults if (path, fault.before, fault.after) in listed]
    return found


def tell_stale(bed, harmless):
    """Names what is listed as harmless and is no longer there."""
    there = {(fault.path, fault.before, fault.after) for fault in again(bed, harmless)}
    for path, before, after in harmless:
        if path in bed.flags and (path, before, after) not in there:
            print(f"mutate: harmless.txt: cannot be planted in {path}:\n    - {before}\n"
                  f"    + {after}", file=sys.stderr)


class Progress:
    def __init__(self, count):
        self.count, self.begin, self.last = count, time.monotonic(), 0

    def show(self, counted, noticed):
        now = time.monotonic()
        if now - self.last < (1 if sys.stderr.isatty() else 30):
            return
        self.last = now
        left = (now - self.begin) * (self.count - counted) / max(counted, 1)
        line = f"mutate: {counted} of {self.count}, {noticed} noticed, {left:.0f} s to go"
        print(f"\r{line:<60}" if sys.stderr.isatty() else line, file=sys.stderr, flush=True,
              end="" if sys.stderr.isatty() else "\n")


def judged(bed, faults, jobs):
    """(fault, outcome) of each, in their order, some of them tried at the same time."""
    with ThreadPoolExecutor(jobs) as pool:
        waiting = deque()
        try:
            for fault in faults:
                waiting.append((fault, pool.submit(bed.judge, fault)))
                if len(waiting) > 2 * jobs:
                    first, outcome = waiting.popleft()
                    yield first, outcome.result()
            for fault, outcome in waiting:
                yield fault, outcome.result()
        finally:
            for _, outcome in waiting:
                outcome.cancel()


def play(bed, faults, count, jobs):
    """Tries faults until so many have changed something: (how many had which outcome, missed)."""
    harmless = read_list(HERE / "harmless.txt")
    outcomes, missed = Counter(), []
    tried = []
    for fault in faults:
        if (fault.path, fault.before, fault.after) in harmless:
            outcomes["harmless"] += 1
        else:
            tried.append(fault)
    progress = Progress(min(count, len(tried)))
    for fault, outcome in judged(bed, tried, jobs):
        outcomes[outcome.kind] += 1
        if outcome.kind == "missed":
            missed.append(shown(fault, outcome))
            print(missed[-1], flush=True)
        counted = outcomes["noticed"] + outcomes["missed"]
        progress.show(counted, outcomes["noticed"])
        if counted == count:
            break
    return outcomes, missed


def arguments(argv):
    parser = argparse.ArgumentParser(prog="scripts/mutate")
    parser.add_argument("--module", action="append", metavar="MODULE[/SUBFOLDER]")
    parser.add_argument("--also", action="append", default=[], metavar="MODULE[/SUBFOLDER]")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--at-least", type=float, default=0)
    parser.add_argument("--list", metavar="FILE")
    parser.add_argument("--again", metavar="FILE")
    return parser.parse_args(argv)


def main(argv):
    options = arguments(argv)
    subfolders = options.module or ["core"]
    modules = {subfolder.split("/")[0] for subfolder in subfolders}
    if len(modules) != 1:
        sys.exit("mutate: the subfolders must be of one module")
    for subfolder in [*subfolders, *options.also]:
        if not (ROOT / "src" / subfolder).is_dir():
            sys.exit(f"mutate: no folder src/{subfolder}")
    os.nice(10)
    seed = int(time.time()) if options.seed is None else options.seed
    try:
        bed = Bed(ROOT, ROOT / "build/mutate", modules.pop(), options.jobs, options.also)
        print("mutate: building, and learning which test runs what", file=sys.stderr, flush=True)
        bed.prepare()
        tell_stale(bed, read_list(HERE / "harmless.txt"))
        faults = again(bed, read_list(options.again)) if options.again else draw(bed, subfolders, seed)
        outcomes, missed = play(bed, faults, options.count, options.jobs)
    except Broken as broken:
        sys.exit(f"mutate: {broken}")
    if options.list:
        Path(options.list).write_text("\n".join(missed) + "\n", encoding="utf-8")
    counted = outcomes["noticed"] + outcomes["missed"]
    share = 100 * outcomes["noticed"] / max(counted, 1)
    print(f"mutate: {' '.join(subfolders)}, seed {seed}: {outcomes['noticed']} of {counted} faults "
          f"noticed ({share:.1f} %); {outcomes['unchanged'] + outcomes['harmless']} more changed "
          f"nothing, {outcomes['uncompilable']} did not compile")
    return 1 if counted == 0 or share < options.at_least else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
