#!/usr/bin/env python3
"""A manual page names every command and option that the program's help names.

usage: check_manuals.py PAGE PROGRAM [COMMAND...]
"""

import re
import subprocess
import sys


def help_of(program, *command):
    done = subprocess.run([program, *command, "--help"], check=True, capture_output=True, text=True)
    return done.stdout


def main(page_path, program, *commands):
    with open(page_path, encoding="utf-8") as file:
        page = file.read().replace("\\-", "-")
    names = set(commands)
    for command in ([], *([each] for each in commands)):
        names.update(re.findall(r"^  (--[a-z-]+)", help_of(program, *command), re.M))
    missing = sorted(name for name in names if not re.search(rf"{name}\b", page))
    for name in missing:
        print(f"{page_path}: {name} is missing")
    print(f"{page_path}: {len(names)} commands and options, {len(missing)} missing")
    return 1 if missing or len(names) < 5 else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
