#!/usr/bin/env python3
"""Checks what structure.py knows of the structure of the sources.

usage: check_structure.py sources ROOT            subfolders, their sizes and notes, and what includes what
       check_structure.py calls ROOT OBJECTS      what calls what; OBJECTS lists the object files

Prints what breaks a rule, one a line, and exits 1 when there is any.
"""

import sys
from pathlib import Path

import structure


def check_sources(root):
    libraries = structure.read_libraries(root)
    sources = structure.read_sources(root)
    return (structure.wrong_subfolders(sources, libraries, structure.notes_of(root))
            + structure.wrong_includes(sources, libraries)
            + structure.wrong_owners(sources))


def check_calls(root, listing):
    graph = structure.call_graph(structure.read_objects(listing))
    if not graph:
        return ["no objects in " + listing]
    return (structure.wrong_calls(graph, structure.read_libraries(root))
            + structure.wrong_circles(graph))


def main(arguments):
    checks = {"sources": check_sources, "calls": check_calls}
    if not arguments or arguments[0] not in checks:
        sys.exit(__doc__)
    wrong = checks[arguments[0]](Path(arguments[1]), *arguments[2:])
    for line in wrong:
        print(line)
    print(f"{arguments[0]}: {len(wrong)} broken" if wrong else f"{arguments[0]}: clean")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
