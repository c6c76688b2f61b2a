#!/usr/bin/env python3
"""Prints docs/architecture.md with its tables and drawings of the sources made anew: from the README.md of
each subfolder, the orders that the build reads, and what the sources include.

usage: write_structure.py ROOT
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "purity"))
import structure  # noqa: E402

BEGIN = "<!-- from here on written by scripts/docs -->\n"
END = "<!-- until here -->\n"


def purpose(root, subfolder):
    """The paragraph behind the title."""
    text = (root / structure.folder_of(subfolder) / "README.md").read_text(encoding="utf-8")
    return " ".join(text.split("\n\n")[1].split())


def reduced(uses):
    """The graph without the edges that others imply."""
    def reach(node):
        found, rest = set(), {node}
        while rest:
            rest = set().union(*(uses.get(other, ()) for other in rest)) - found
            found |= rest
        return found
    return {node: {other for other in others
                   if not any(other in reach(third) for third in others - {other})}
            for node, others in uses.items()}


def row(name, text, uses):
    return f"| {name} | {text} | {', '.join(f'`{other}`' for other in uses)} |"


def drawing(uses):
    lines = ["```mermaid", "graph TD"]
    lines += [f"    {node} --> {other}"
              for node, others in reduced(uses).items() for other in sorted(others)]
    return lines + ["```"]


def subfolders_of(library, used):
    """A library's subfolders in their order, the lowest first, where none is given by what they use."""
    if library.subfolders:
        return library.subfolders
    rest = sorted(subfolder for subfolder in used if subfolder.split("/")[0] == library.name
                  and subfolder != library.name and not subfolder.endswith("/main"))
    ordered = []
    while rest:
        low = next((r for r in rest if not used[r] & (set(rest) - {r})), rest[0])
        ordered.append(low)
        rest.remove(low)
    return ordered


def page_part(root):
    libraries = structure.read_libraries(root)
    sources = structure.read_sources(root)
    edges, _ = structure.include_edges(sources, libraries)
    used = {structure.subfolder_of(path): set() for path in sources if not path.startswith("include/")}
    between = {name: set() for name in libraries}
    for _, home, other, _ in edges:
        if home.split("/")[0] == other.split("/")[0]:
            used[home].add(other)
        else:
            between[home.split("/")[0]].add(other.split("/")[0])
    lines = ["", "Each library with the libraries that it uses:",
             "", *drawing(between), "", "| library, subfolder | what it does, what it does not | uses |",
             "|---|---|---|"]
    for name, library in libraries.items():
        lines.append(row(f"**`{structure.folder_of(name)}`**", purpose(root, name), library.links))
        lines += [row(f"`{subfolder}`", purpose(root, subfolder), sorted(reduced(used)[subfolder] - {name}))
                  for subfolder in subfolders_of(library, used)]
    core = {subfolder: used[subfolder] for subfolder in reversed(libraries["core"].subfolders)}
    lines += ["", "Each subfolder of `src/core` with the subfolders that it uses:", "",
              *drawing(core), ""]
    return "\n".join(lines) + "\n"


def main(root):
    page = (Path(root) / "docs/architecture.md").read_text(encoding="utf-8")
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    sys.stdout.write(head + BEGIN + page_part(Path(root)) + END + tail)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
