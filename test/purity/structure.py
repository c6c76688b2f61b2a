"""The structure of the sources as they and the objects have it, and the rules that it keeps.

A library is a folder of src, or evidence, a subfolder a folder below it with .c or .h files. Both orders are stated once,
where the build reads them: sl_add_library(NAME LINK lib... SUBFOLDERS subfolder...) says what a library may
use, and its subfolders with each behind those it uses. Subfolders are named by their path below src,
those of evidence by theirs from the root.
"""

import re
import subprocess
from collections import defaultdict
from pathlib import Path

FOLDERS = ("src", "evidence")  # that hold our C; what is public of it is in include
FILES_MAX = 20  # files of a subfolder are fewer
LINES_MAX = 700  # lines of a file are fewer


class Library:
    def __init__(self, name, links, subfolders):
        self.name = name
        self.links = links
        self.subfolders = subfolders


def read_libraries(root):
    """{name: Library} in the order in which src/CMakeLists.txt adds them, then evidence."""
    text = (root / "src/CMakeLists.txt").read_text(encoding="utf-8")
    libraries = {}
    names = re.search(r"foreach\(\w+ ([^)]*)\)", text).group(1).split()
    for name in names + [name for name in FOLDERS if name != "src" and (root / name).is_dir()]:
        text = (root / folder_of(name) / "CMakeLists.txt").read_text(encoding="utf-8")
        words = re.search(rf"sl_add_library\({name}\b([^)]*)\)", text).group(1).split()
        subfolders = words[words.index("SUBFOLDERS") + 1:] if "SUBFOLDERS" in words else []
        links = [word[3:] for word in words if word.startswith("sl_")]
        libraries[name] = Library(name, links, [f"{name}/{subfolder}" for subfolder in subfolders])
    return libraries


def folder_of(subfolder):
    """src/core/place of core/place"""
    return subfolder if subfolder.split("/")[0] in FOLDERS else f"src/{subfolder}"


def may_use(libraries, name):
    """The libraries that this one may use, itself not among them."""
    found = set()
    for link in libraries[name].links:
        found |= {link} | may_use(libraries, link)
    return found


def read_sources(root):
    """{path: text} of our C, tests aside, and of the public headers."""
    paths = [p for folder in ("include", *FOLDERS) for p in sorted((root / folder).rglob("*.[ch]"))]
    return {str(p.relative_to(root)): p.read_text(encoding="utf-8") for p in paths}


def subfolder_of(path):
    """core/place of src/core/place/fit.c"""
    return str(Path(path).parent).removeprefix("src/")


def notes_of(root):
    """The subfolders that have a README.md."""
    return {subfolder_of(p.relative_to(root)) for folder in FOLDERS for p in (root / folder).rglob("README.md")}


def circles(graph):
    """The strongly connected parts of {node: {node}} with more than one node (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            part = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(part) > 1:
                found.append(sorted(part))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


# ---- what includes what ----


def includes_of(text):
    return re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M)


def declared(text):
    """Functions that a header declares and does not define itself."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return set(re.findall(r"^\w[^;{}()#]*\b(sl_\w+)\([^;{}]*\);", text, re.M))


def defined(text):
    return set(re.findall(r"^\w[^;{}()#=]*\b(sl_\w+)\([^;{}]*\)\s*\{", text, re.M))


def public_subfolders(sources, libraries):
    """({header of include/sliced: subfolder}, complaints). It is of the subfolder that defines its functions;
    without any, of the lowest subfolder that includes it. Subfolders of a subfolder have one face."""
    owner = {}
    for path, text in sources.items():
        if path.startswith("src/core/") and path.endswith(".c"):
            owner.update(dict.fromkeys(defined(text), subfolder_of(path)))
    order = libraries["core"].subfolders
    subfolders, wrong = {}, []
    for path, text in sources.items():
        if not path.startswith("include/"):
            continue
        name = path.removeprefix("include/")
        homes = {"/".join(owner[f].split("/")[:2]) for f in declared(text) if f in owner}
        if not homes:
            users = {subfolder_of(p) for p, t in sources.items()
                     if p.startswith("src/core/") and name in includes_of(t)}
            homes = set([subfolder for subfolder in order if subfolder in users][:1])
        if len(homes) == 1:
            subfolders[name] = homes.pop()
        else:
            wrong.append(f"{path}: is of no one subfolder, but of {', '.join(sorted(homes)) or 'none'}")
    return subfolders, wrong


def include_edges(sources, libraries):
    """([(path, subfolder, subfolder that it includes from, header)], complaints)"""
    public, wrong = public_subfolders(sources, libraries)
    edges = []
    for path, text in sources.items():
        name = path.removeprefix("include/")
        home = public.get(name) if path.startswith("include/") else subfolder_of(path)
        for header in includes_of(text):
            if header.startswith("sliced/"):
                other = public.get(header)
                if other and home and home.startswith(other + "/"):
                    other = home
            elif "/" in header:
                other = str(Path(header).parent)
            else:
                other = home
            if home and other and home != other:
                edges.append((path, home, other, header))
    return edges, wrong


# ---- what calls what ----


def source_of(path):
    """core/place/fit.c of .../src/core/CMakeFiles/sl_core.dir/place/fit.c.o"""
    match = re.search(r"/sl_(\w+)\.dir/(.+)\.o$", path)
    return match.group(1) + "/" + match.group(2).removeprefix("./")


def read_symbols(nm_text):
    """{source: (defined, undefined)} from the output of nm -A."""
    objects = {}
    for line in nm_text.splitlines():
        path, _, rest = line.partition(":")
        fields = rest.split()
        if len(fields) >= 2:
            symbols = objects.setdefault(source_of(path), (set(), set()))
            symbols[1 if fields[-2] in "Uvw" else 0].add(fields[-1])
    return objects


def read_objects(listing):
    paths = Path(listing).read_text(encoding="utf-8").split()
    done = subprocess.run(["nm", "-A", *paths], check=True, capture_output=True, text=True)
    return read_symbols(done.stdout)


def call_graph(objects):
    """{source: {source that defines something it needs: names}}"""
    owner = {name: source for source, (names, _) in objects.items() for name in names}
    graph = {source: defaultdict(set) for source in objects}
    for source, (_, needed) in objects.items():
        for name in needed:
            if owner.get(name, source) != source:
                graph[source][owner[name]].add(name)
    return graph


# ---- rules ----


def subfolder_circles(edges):
    """Circles among pairs of subfolders, those of one library alone."""
    subfolders = defaultdict(set)
    for home, other in edges:
        if home != other and home.split("/")[0] == other.split("/")[0]:
            subfolders[home].add(other)
    return circles(subfolders)


def subfolder_calls(graph):
    return [(str(Path(source).parent), str(Path(target).parent))
            for source, others in graph.items() for target in others]


def upward(libraries, home, other):
    """Does a subfolder use one that stands beside or above it in its library's order?"""
    subfolders = libraries[home.split("/")[0]].subfolders
    return home in subfolders and other in subfolders and subfolders.index(other) > subfolders.index(home)


PLANNER = "src/core/plan/state/planner.h"


def wrong_owners(sources):
    """What touches a part of the planner beside its owner: behind a member, struct sl_planner says
    "of FILE" or "of FOLDER". planner.c frees all parts, audit.c checks them; headers have questions."""
    base = "src/core/plan/"
    owners = dict(re.findall(r"\b(\w+)(?:\[\w+\])?;\s*/\* of ([\w/.]+)", sources.get(PLANNER, "")))
    wrong = []
    for path, text in sources.items():
        if (not path.startswith(base) or not path.endswith(".c")
                or path in (base + "planner.c", base + "audit.c")):
            continue
        for part in sorted(set(re.findall(r"planner->(\w+)", text)) & set(owners)):
            owner = base + owners[part]
            if path != owner and not path.startswith(owner + "/"):
                wrong.append(f"{path}: touches planner->{part}, which is of {owners[part]}")
    return wrong


def wrong_subfolders(sources, libraries, notes):
    """notes: the folders that have a README.md."""
    files, wrong = defaultdict(list), []
    for path, text in sources.items():
        if not path.startswith("include/"):
            files[subfolder_of(path)].append(path)
        lines = text.count("\n")
        if lines >= LINES_MAX:
            wrong.append(f"{path}: {lines} lines, fewer than {LINES_MAX} expected")
    for subfolder, paths in files.items():
        library = subfolder.split("/")[0]
        ordered = libraries[library].subfolders if library in libraries else None
        if ordered is None:
            wrong.append(f"{folder_of(subfolder)}: src/CMakeLists.txt does not add it")
        elif ordered and subfolder not in ordered and subfolder not in (library, library + "/main"):
            wrong.append(f"{folder_of(subfolder)}: {folder_of(library)}/CMakeLists.txt has no such subfolder")
        if len(paths) >= FILES_MAX:
            wrong.append(f"{folder_of(subfolder)}: {len(paths)} files, fewer than {FILES_MAX} expected")
    told = {subfolder for subfolder in files if not subfolder.endswith("/main")} | set(libraries)
    wrong += [f"{folder_of(subfolder)}: has no README.md that says what it is for" for subfolder in told - notes]
    for library in libraries.values():
        wrong += [f"{folder_of(subfolder)}: is not there, but in {folder_of(library.name)}/CMakeLists.txt"
                  for subfolder in library.subfolders if subfolder not in files]
    return sorted(wrong)


def wrong_includes(sources, libraries):
    edges, wrong = include_edges(sources, libraries)
    for path, home, other, header in edges:
        library, target = home.split("/")[0], other.split("/")[0]
        if target not in libraries:
            wrong.append(f'{path}: "{header}" is of no library')
        elif library == target:
            if upward(libraries, home, other):
                wrong.append(f'{path}: {home} may not include "{header}" of {other}')
        elif target not in may_use(libraries, library):
            wrong.append(f'{path}: {library} may not include "{header}" of {target}')
        elif header.startswith("core/"):
            wrong.append(f'{path}: "{header}" is private to core: sliced/ has its face')
    # What a library's own folder has is its face, which its subfolders may include too.
    within = ((home, other) for _, home, other, _ in edges if other not in libraries)
    return wrong + [f"subfolders include each other: {' '.join(circle)}"
                    for circle in subfolder_circles(within)]


def wrong_calls(graph, libraries):
    return [
        f"{source}: {subfolder} may not call {', '.join(sorted(names))} of {target}"
        for source, others in graph.items()
        for target, names in others.items()
        for subfolder in [str(Path(source).parent)]
        if upward(libraries, subfolder, str(Path(target).parent))
    ]


def wrong_circles(graph):
    """Files that call each other, and subfolders of one library."""
    return ([f"circle of files: {' '.join(circle)}" for circle in circles(graph)]
            + [f"circle of subfolders: {' '.join(circle)}"
               for circle in subfolder_circles(subfolder_calls(graph))])
