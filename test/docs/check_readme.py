#!/usr/bin/env python3
"""Runs the console blocks of a page against a fresh daemon and compares what comes back.

usage: check_readme.py PAGE SLICED PROGRAM...

In a block ```console a line "$ ..." is a command, "> ..." goes on with it, and the lines after it
are its output, in which "…" stands for any text, a line of "…" alone for any lines, a duration such
as 7h59m for any other, and two spaces or more for as many as the columns need. All commands run in
one bash, in order. The daemon is started as the page's first `build/run/sliced --cluster FILE` says,
else on the README's example cluster with its queue; its address takes the place of 127.0.0.1:8888, and the
programs that of build/run/sliced and the like.
"""

import os
import re
import subprocess
import sys
import tempfile

ADDRESS = "127.0.0.1:8888"
CLUSTER = "deploy/examples/a30-mixed.yaml"
CONFIG = "deploy/examples/queue/sliced.yaml"
PROGRAMS = "build/run/"
MARK = "@@end-of-command@@"


def read_commands(page):
    """[(line number, command, expected lines)] of all console blocks."""
    commands = []
    inside = False
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith("```"):
            inside = not inside and line.strip() == "```console"
        elif not inside:
            continue
        elif line.startswith("$ "):
            commands.append((number, line[2:], []))
        elif line.startswith("> "):
            start, command, expected = commands[-1]
            commands[-1] = (start, command + "\n" + line[2:], expected)
        else:
            commands[-1][2].append(line)
    return commands


DURATION = r"(?:\d+[dhms])+"
ANY = {"…": ".*?", " ": " {2,}"}  # by its first character; a duration else


def pattern_of(expected):
    """A regular expression for the expected lines."""
    parts = []
    for line in expected:
        if line.strip() == "…":
            parts.append(r"(?:.*\n)*?")
            continue
        for piece in re.split(rf"(…| {{2,}}|\b{DURATION}\b)", line.rstrip()):
            varies = re.fullmatch(rf"…| {{2,}}|{DURATION}", piece)
            parts.append(ANY.get(piece[0], DURATION) if varies else re.escape(piece))
        parts.append(r"[ \t]*\n")
    return re.compile("".join(parts))


def matches(expected, actual):
    if actual and not actual.endswith("\n"):
        actual += "\n"
    return pattern_of(expected).fullmatch(actual) is not None


def options_of(page):
    """Of the daemon that the page is about."""
    found = re.search(rf"{PROGRAMS}sliced (--cluster \S+\.yaml(?: --config \S+\.yaml)?)", page)
    return found[1].split() if found else ["--cluster", CLUSTER, "--config", CONFIG]


def start_daemon(program, options, log):
    """The running daemon and its address, read from the line that it prints when it is ready."""
    daemon = subprocess.Popen(
        [program, *options, "--listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )
    ready = daemon.stdout.readline()
    match = re.search(r"http://(\S+)", ready)
    if not match:
        daemon.kill()
        log.seek(0)
        sys.exit(f"no address in the daemon's first line {ready!r}\n{log.read()}")
    return daemon, match.group(1)


def run_commands(commands, address):
    """The output of each command, all run in one bash."""
    script = ["exec 2>&1"]
    for _, command, _ in commands:
        script += [command.replace(ADDRESS, address), f"printf '\\n{MARK}\\n'"]
    done = subprocess.run(
        ["bash"], input="\n".join(script) + "\n", capture_output=True, text=True, timeout=600
    )
    outputs = done.stdout.replace(address, ADDRESS).split(f"\n{MARK}\n")
    if len(outputs) != len(commands) + 1:
        sys.exit(f"the commands ended early:\n{done.stdout}{done.stderr}")
    return outputs[:-1]


def main(page_path, program, *others):
    with open(page_path, encoding="utf-8") as page:
        text = page.read()
    commands = read_commands(text)
    if not commands:
        sys.exit(f"{page_path}: no console blocks")
    with tempfile.TemporaryFile("w+") as log, tempfile.TemporaryDirectory() as folder:
        for path in (program, *others):
            os.symlink(os.path.abspath(path), os.path.join(folder, os.path.basename(path)))
        daemon, address = start_daemon(program, options_of(text), log)
        try:
            outputs = run_commands(
                [(at, command.replace(PROGRAMS, folder + "/"), lines)
                 for at, command, lines in commands], address)
        finally:
            daemon.terminate()
            status = daemon.wait(timeout=120)
    wrong = 0
    for (number, command, expected), actual in zip(commands, outputs):
        if not matches(expected, actual):
            wrong += 1
            shown = "\n".join(expected)
            print(f"{page_path}:{number}: $ {command}\n-- the page says\n{shown}")
            print(f"-- the daemon says\n{actual.rstrip()}\n")
    print(f"{len(commands)} commands, {wrong} answered otherwise; the daemon's status: {status}")
    return 1 if wrong or status != 0 else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
