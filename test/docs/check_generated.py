#!/usr/bin/env python3
"""A page that a program makes is what the program prints now.

usage: check_generated.py PAGE PROGRAM [ARGUMENT...]
"""

import difflib
import subprocess
import sys


def main(page_path, *command):
    fresh = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    try:
        with open(page_path, encoding="utf-8") as page:
            committed = page.read()
    except FileNotFoundError:
        committed = ""
    if fresh == committed:
        return 0
    sys.stdout.writelines(
        difflib.unified_diff(
            committed.splitlines(True), fresh.splitlines(True), page_path, "made now"
        )
    )
    print(f"{page_path} is out of date: run scripts/docs")
    return 1


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
