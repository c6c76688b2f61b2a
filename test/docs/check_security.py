#!/usr/bin/env python3
"""docs/security.md speaks of each route that the daemon serves and of each right that the chart gives it,
and of no other; the unit and fuzz tests that it names are there.

usage: check_security.py PAGE SLICED ROLES

A row of a table of the page is about a route when its first cell is `METHOD /path`, about a right when
it is `resource: verb, verb`. The routes are those that GET / of a daemon on an embedded cluster lists,
the rights those of ROLES, the chart's template of them.
"""

import re
import sys
from pathlib import Path

from check_readme import start_daemon
import tempfile
import urllib.request

TESTS = Path(__file__).resolve().parent.parent
METHODS = "GET|POST|PUT|PATCH|DELETE"


def first_cells(page):
    """The first cell of each row of the page's tables, without its backquotes."""
    return [line.split("|")[1].strip().strip("`") for line in page.splitlines()
            if line.startswith("|")]


def routes_of_page(page):
    return {cell for cell in first_cells(page) if re.match(rf"({METHODS}) /", cell)}


def rights_of_page(page):
    found = set()
    for cell in first_cells(page):
        match = re.fullmatch(r"([a-z/.]+): ([a-z]+(?:, [a-z]+)*)", cell)
        if match:
            found |= {(match[1], verb) for verb in match[2].split(", ")}
    return found


def routes_of_index(index):
    """The daemon's own list: a method, a path, what it is."""
    return {" ".join(line.split()[:2]) for line in index.splitlines()
            if re.match(rf"({METHODS}) +/", line)}


def rights_of_roles(template):
    """Each resource with each verb that its rule names; the template is not YAML yet."""
    found = set()
    resources = []
    for key, names in re.findall(r"^\s*(?:- )?(resources|verbs): \[([^\]]*)\]", template, re.M):
        if key == "resources":
            resources = names.split(", ")
        else:
            found |= {(resource, verb) for resource in resources for verb in names.split(", ")}
    return found


def tests_of_page(page):
    """What looks like the name of a ctest: `module_subfolder_part`."""
    return set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", page))


def tests_of_tree(root):
    """unit/MODULE/SUBFOLDER/test_PART.c is MODULE_SUBFOLDER_PART; fuzz/fuzz_PART.c is fuzz_PART."""
    units = (path.relative_to(root / "unit") for path in (root / "unit").rglob("test_*.c"))
    found = {"_".join((*path.parts[:-1], path.stem.removeprefix("test_"))) for path in units}
    return found | {path.stem for path in (root / "fuzz").glob("fuzz_*.c")}


def differences(what, page, truth):
    lines = [f"the page lacks the {what} {each}" for each in sorted(truth - page)]
    return lines + [f"the page has the {what} {each}, which is not there" for each in sorted(page - truth)]


def fetch_index(program):
    with tempfile.TemporaryFile("w+") as log:
        daemon, address = start_daemon(program, ["--cluster", "deploy/examples/a30-mixed.yaml"], log)
        try:
            with urllib.request.urlopen(f"http://{address}/", timeout=60) as reply:
                return reply.read().decode()
        finally:
            daemon.terminate()
            daemon.wait()


def main(page_path, program, roles_path):
    with open(page_path, encoding="utf-8") as file:
        page = file.read()
    with open(roles_path, encoding="utf-8") as file:
        rights = rights_of_roles(file.read())
    routes = routes_of_index(fetch_index(program))
    wrong = differences("route", routes_of_page(page), routes)
    wrong += differences("right", {f"{r}: {v}" for r, v in rights_of_page(page)},
                         {f"{r}: {v}" for r, v in rights})
    wrong += [f"the page names the test {name}, which is not there"
              for name in sorted(tests_of_page(page) - tests_of_tree(TESTS))]
    print(*wrong, sep="\n")
    print(f"{page_path}: {len(routes)} routes, {len(rights)} rights, {len(wrong)} differences")
    return 1 if wrong or len(routes) < 10 or len(rights) < 10 else 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
