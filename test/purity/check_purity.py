#!/usr/bin/env python3
"""Checks rules of the sources that no compiler knows.

usage: check_purity.py symbols OBJECTS           what core's objects need, read from nm; OBJECTS lists
                                                 the object files of all libraries
       check_purity.py includes ROOT             who includes which headers of the system
       check_purity.py banned ROOT               functions that nobody calls

Each prints what breaks the rule, one a line, and exits 1 when there is any.
"""

import re
import sys
from pathlib import Path

import structure

# What core may need besides itself and util's PURE_UTIL. A list of what is allowed, not of what is
# forbidden: a symbol that nobody thought of fails the test, and is then judged.
ALLOWED = set(
    """
    calloc free malloc realloc
    memchr memcmp memcpy memmove memset
    strchr strcmp strcspn strlen strncmp strnlen strrchr strspn strstr
    snprintf vsnprintf __snprintf_chk __vsnprintf_chk
    bsearch qsort sqrt
    sl_check_failed
    __popcountdi2 __divti3 __assert_fail __stack_chk_fail __memcpy_chk __memset_chk __memmove_chk
    _GLOBAL_OFFSET_TABLE_
    """.split()
)
PURE_UTIL = {"str", "buf", "error", "show", "timestamp"}  # and the subfolder util/data
MAIN_ONLY = {"sl_hash_set_key"}  # for who starts a process

# Headers of the system that only some folders may use.
HEADER_HOMES = {
    "microhttpd.h": {"server"},
    "curl/curl.h": {"kube"},
    "yaml.h": {"codec"},
    # small answers of the API server, and the logs of experiments; what is large or frequent is streamed
    "jansson.h": {"kube", "evidence"},
    "gnutls/gnutls.h": {"server"},
    "pthread.h": {"cluster", "kube", "server", "telemetry", "daemon", "util", "sim", "cli"},
}
# Core decides: no input, output, clock, environment or threads.
CORE_HEADERS = {
    "assert.h", "errno.h", "inttypes.h", "limits.h", "math.h", "stdalign.h", "stdarg.h", "stdatomic.h",
    "stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h",
}  # stdio.h for snprintf, math.h for sqrt (exactly rounded); the symbols test keeps the rest out

# Nobody calls these.
BANNED = {
    "alloca": "unbounded stack",
    "asctime": "not thread safe",
    "ctime": "not thread safe",
    "gets": "no bound",
    "gmtime": "not thread safe: gmtime_r",
    "localtime": "not thread safe: localtime_r",
    "sprintf": "no bound: snprintf",
    "strcat": "no bound: struct sl_buf",
    "strcpy": "no bound: snprintf, memcpy",
    "strncat": "misleading bound",
    "strncpy": "leaves text without an end",
    "strtok": "not thread safe",
    "system": "runs a shell",
    "popen": "runs a shell",
    "tmpnam": "race",
    "vsprintf": "no bound: vsnprintf",
}
# Tests may, where their input is their own.
BANNED_IN_SRC = {
    "atof": "no error",
    "atoi": "no error: use strtol or sl_quantity_parse",
    "atol": "no error",
    "atoll": "no error",
    "rand": "not thread safe, not repeatable",
}


def impure_symbols(objects):
    """What core's objects, and util's as far as core may use them, need and may not."""
    pure = {
        source: symbols
        for source, symbols in objects.items()
        if source.startswith(("core/", "util/data/"))
        or source in {f"util/{name}.c" for name in PURE_UTIL}
    }
    known = set(ALLOWED)
    for defined, _ in pure.values():
        known |= defined - MAIN_ONLY
    return sorted(
        f"{source} needs {name}"
        for source, (_, undefined) in pure.items()
        for name in undefined - known
    )


def without_comments(text):
    """C text with comments and the insides of literals blanked; lines stay where they are."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)

    def blank(match):
        found = match.group(0)
        if found[0] == '"' or found[0] == "'":
            return found[0] * 2
        return re.sub(r"[^\n]", " ", found)

    return pattern.sub(blank, text)


def wrong_includes(path, text):
    """path: src/<home>/..., evidence/... or include/sliced/..., which is core's face."""
    home = "core" if path.parts[0] == "include" else structure.subfolder_of(path).split("/")[0]
    wrong = []
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r"\s*#\s*include\s+<([^>]+)>", line)
        if not match:
            continue
        header = match.group(1)
        if home not in HEADER_HOMES.get(header, {home}) or (
                home == "core" and header not in CORE_HEADERS):
            wrong.append(f"{path}:{number}: {home} may not use <{header}>")
    return wrong


def banned_calls(path, text):
    banned = BANNED if path.parts[0] == "test" else BANNED | BANNED_IN_SRC
    names = "|".join(banned)
    found = []
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        for match in re.finditer(rf"(?<![\w.>])({names})\s*\(", line):
            name = match.group(1)
            found.append(f"{path}:{number}: {name}: {banned[name]}")
    return found


def sources(root, folders):
    for folder in folders:
        for path in sorted((root / folder).rglob("*.[ch]")):
            yield path.relative_to(root), path.read_text(encoding="utf-8")


def check_symbols(listing):
    objects = structure.read_objects(listing)
    return impure_symbols(objects) if objects else ["no objects in " + listing]


def check_includes(root):
    files = list(sources(Path(root), ["include", *structure.FOLDERS]))
    return [line for path, text in files for line in wrong_includes(path, text)]


def check_banned(root):
    files = list(sources(Path(root), ["include", *structure.FOLDERS, "test"]))
    return [line for path, text in files for line in banned_calls(path, text)]


def main(arguments):
    checks = {"symbols": check_symbols, "includes": check_includes, "banned": check_banned}
    if not arguments or arguments[0] not in checks:
        sys.exit(__doc__)
    wrong = checks[arguments[0]](*arguments[1:])
    for line in wrong:
        print(line)
    print(f"{arguments[0]}: {len(wrong)} broken" if wrong else f"{arguments[0]}: clean")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
