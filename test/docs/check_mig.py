"""Holds the table of MIG models (src/core/mig/table.c) against lists that NVIDIA publishes, none of which is kept here.

usage: check_mig.py PRINT_MIG [FILE|FOLDER]...

A file is mig-parted's configuration (config-default.yaml, or the ConfigMap of the GPU operator), or the page
"Supported MIG Profiles" of the MIG User Guide, as text or HTML. Of a folder, such as a checkout of mig-parted, all
*.yaml files below it are read. Says what the table lacks and where it differs, and then exits with 1.
"""
import html
import pathlib
import re
import subprocess
import sys

PROFILE = r"\d+g\.\d+gb(?:[+-][a-z.]+)*"


def read_table(program):
    """{model: ({profile: count}, {PCI id})}"""
    models = {}
    for line in subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines():
        model, profile, count, ids = line.split("\t")
        profiles, known = models.setdefault(model, ({}, set()))
        profiles[profile] = int(count)
        known.update(each.upper() for each in ids.split())
    return models


def is_same(ours, theirs):
    """Drivers round the GB in a profile's name: sl_mig_profile_find() takes half a GB and 6 %."""
    a, b = (re.fullmatch(r"(\d+g)\.(\d+)gb(.*)", name).groups() for name in (ours, theirs))
    return a[0] == b[0] and a[2] == b[2] and 100 * abs(int(a[1]) - int(b[1])) <= 50 + 6 * int(a[1])


def count_of(profiles, name):
    """The nearest one's; None: it has no such profile."""
    gb = int(re.search(r"\.(\d+)gb", name)[1])
    found = [each for each in profiles if is_same(each, name)]
    found.sort(key=lambda each: abs(int(re.search(r"\.(\d+)gb", each)[1]) - gb))
    return profiles[found[0]] if found else None


# ---- mig-parted ----


def read_configuration(text):
    """[(entry, [PCI id], {profile: count})], one for each part of an entry. The format is a subset of YAML."""
    parts = []
    entry = None
    for line in text.splitlines():
        line = line.split("#")[0].rstrip()
        key = re.match(r'\s*(?:- )?"?([\w.+-]+)"?:\s*(.*)$', line)
        if key is None:
            continue
        name, value = key.groups()
        if re.fullmatch(PROFILE, name):
            if parts:
                parts[-1][2][name] = int(value)
        elif name.startswith("all-") or (value == "" and name not in ("mig-devices", "mig-configs", "data")):
            entry = name
        if line.lstrip().startswith("- "):
            parts.append((entry, [], {}))
        if name == "device-filter":
            parts[-1][1].extend(each.upper() for each in re.findall(r"0x[0-9A-Fa-f]{8}", value))
    return [part for part in parts if part[2]]


def check_configuration(models, text):
    for entry, ids, wanted in read_configuration(text):
        named = {each: [name for name, (_, known) in models.items() if each in known] for each in ids}
        yield from (f"{entry}: no model has the PCI id {each}" for each, found in named.items() if not found)
        of = {name for found in named.values() for name in found} if ids else set(models)
        for profile, count in wanted.items():
            most = {name: count_of(models[name][0], profile) for name in of}
            whole = len(wanted) == 1  # as many as there can be
            good = [name for name, n in most.items() if n is not None and (n == count if whole else n >= count)]
            missing = sorted(of - set(good)) if ids else [] if good else ["any model"]
            yield from (f"{entry}: {count} of {profile} is not what the table has of {name}" for name in missing)


# ---- the guide ----


def read_guide(text):
    """The tables of the page: [{profile: count}]"""
    text = html.unescape(re.sub(r"<(?:script|style).*?</(?:script|style)>|<[^>]*>", "\n", text, flags=re.S))
    tables = []
    for table in re.split(r"Profile\s+Name", text)[1:]:
        rows = {}
        for row in re.split(rf"(?=MIG {PROFILE}\s)", table)[1:]:
            name = re.match(rf"MIG ({PROFILE})", row)[1]
            cells = [cell.strip() for cell in re.split(r"[|\n]", row) if cell.strip()]
            counts = []
            for cell in cells[1:]:
                if not re.match(r"(?:\d|Full|N/A|~)", cell):
                    break  # what comes behind the table
                counts += [cell] if re.fullmatch(r"\d+(?: \(.*)?", cell) else []
            rows[name] = int(counts[-1].split()[0]) if counts else 0
        if rows:
            tables.append(rows)
    return tables


def differences(ours, theirs):
    return ([f"lacks {name}" for name in theirs if name not in ours] + [f"has {name}" for name in ours if name not in theirs] +
            [f"{theirs[name]} of {name}, not {ours[name]}" for name in theirs if ours.get(name, theirs[name]) != theirs[name]])


def check_guide(models, text):
    for table in read_guide(text):
        best = min(models, key=lambda name: len(differences(models[name][0], table)))
        found = differences(models[best][0], table)
        if found:
            yield f"the guide's table of {', '.join(table)}: {best} {'; '.join(found)}"


# ---- the lists ----


def files_of(path):
    return sorted(path.rglob("*.yaml")) if path.is_dir() else [path]


def main(program, *lists):
    models = read_table(program)
    lists = [pathlib.Path(each) for each in lists]
    if not lists or not all(each.exists() for each in lists):
        missing = [str(each) for each in lists if not each.exists()]
        print(f"skipped: {' and '.join(missing) + ' is not there' if missing else 'no list of NVIDIA is named'}; see --help")
        return 0
    wrong = read = 0
    for path in (each for one in lists for each in files_of(one)):
        text = path.read_text(encoding="utf-8", errors="replace")
        known = "mig-devices" in text or read_guide(text)
        read += bool(known)
        for problem in (check_configuration if "mig-devices" in text else check_guide)(models, text):
            print(f"{path}: {problem}")
            wrong += 1
    print(f"{read} lists read, {wrong} differences")
    return 1 if wrong or read == 0 else 0


if __name__ == "__main__":
    if len(sys.argv) < 2 or "--help" in sys.argv:
        print(__doc__)
        sys.exit(0 if "--help" in sys.argv else 2)
    sys.exit(main(*sys.argv[1:]))
