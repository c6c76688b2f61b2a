#!/usr/bin/env python3
"""Checks that programs are hardened as cmake/SlicedHelpers.cmake wants it: where the daemon has a fault all the same,
it ends and obeys nobody.

usage: check_hardening.py debug|optimised PROGRAM...

Prints what a program lacks, one a line, and exits 1 when there is any. Not seen in a program: protection against stack
clash, which is code of the compiler's in functions with large frames.
"""

import re
import subprocess
import sys

# what readelf -hldW and nm -D of a hardened program show: (what it is, pattern)
MARKS = [
    ("runs at any address (PIE)", r"^ *Type: +DYN\b.*"),
    ("binds all symbols at the start", r"\(FLAGS_1\).*\bNOW\b"),
    ("makes its table of symbols read-only (RELRO)", r"^ *GNU_RELRO\b"),
    ("has a stack that cannot be run", r"^ *GNU_STACK .* RW +0x"),
    ("guards its stack", r"\b__stack_chk_fail\b"),
]
# _FORTIFY_SOURCE works in optimised code alone
OPTIMISED = [("has calls checked (_FORTIFY_SOURCE)", r"\b__(?!stack)\w+_chk\b")]


def lacks(text, optimised):
    marks = MARKS + OPTIMISED if optimised else MARKS
    return [what for what, pattern in marks if not re.search(pattern, text, re.M)]


def read(program):
    calls = (["readelf", "-hldW", program], ["nm", "-D", program])
    return "".join(subprocess.run(call, check=True, capture_output=True, text=True).stdout for call in calls)


def main(arguments):
    if len(arguments) < 2 or arguments[0] not in ("debug", "optimised"):
        sys.exit(__doc__)
    wrong = [f"{program}: not so: {what}" for program in arguments[1:]
             for what in lacks(read(program), arguments[0] == "optimised")]
    print("\n".join(wrong) if wrong else f"{len(arguments) - 1} programs: hardened")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
