#!/usr/bin/env python3
"""Runs the console blocks of a page against a fresh daemon and compares what comes back.

usage: check_readme.py SLICED PAGE

In a block ```console a line "$ ..." is a command, "> ..." goes on with it, and the lines after it
are its output, in which "…" stands for any text, and a line of "…" alone for any lines. All
commands run in one bash, in order. The daemon is started on the page's first example cluster; its
address takes the place of 127.0.0.1:8888.
"""

import re
import subprocess
import sys
import tempfile

ADDRESS = "127.0.0.1:8888"
CLUSTER = "deploy/examples/a30-mixed.yaml"
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


def pattern_of(expected):
    """A regular expression for the expected lines."""
    parts = []
    for line in expected:
        if line.strip() == "…":
            parts.append(r"(?:.*\n)*?")
        else:
            pieces = (re.escape(piece) for piece in line.rstrip().split("…"))
            parts.append(".*?".join(pieces) + r"[ \t]*\n")
    return re.compile("".join(parts))


def matches(expected, actual):
    if actual and not actual.endswith("\n"):
        actual += "\n"
    return pattern_of(expected).fullmatch(actual) is not None


def start_daemon(program, log):
    """The running daemon and its address, read from the line that it prints when it is ready."""
    daemon = subprocess.Popen(
        [program, "--cluster", CLUSTER, "--listen", "127.0.0.1:0"],
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


def main(program, page_path):
    with open(page_path, encoding="utf-8") as page:
        commands = read_commands(page.read())
    if not commands:
        sys.exit(f"{page_path}: no console blocks")
    with tempfile.TemporaryFile("w+") as log:
        daemon, address = start_daemon(program, log)
        try:
            outputs = run_commands(commands, address)
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
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
