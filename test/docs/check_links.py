#!/usr/bin/env python3
"""Links between the repository's pages lead somewhere.

usage: check_links.py ROOT
"""

import re
import sys
from pathlib import Path


def anchor_of(heading):
    """The anchor that a heading gets where Markdown is shown."""
    text = re.sub(r"[`*]", "", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def without_code(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)


def broken_links(root):
    pages = [p for p in sorted(root.rglob("*.md")) if "build" not in p.relative_to(root).parts]
    anchors = {
        page: {anchor_of(h) for h in re.findall(r"^#+ (.*)$", without_code(page.read_text()), re.M)}
        for page in pages
    }
    for page in pages:
        for link in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
            if re.match(r"[a-z]+:", link):
                continue
            target, _, anchor = link.partition("#")
            path = (page.parent / target).resolve() if target else page
            if not path.exists():
                yield f"{page.relative_to(root)}: {link}: no such file"
            elif anchor and anchor not in anchors.get(path, {anchor}):
                yield f"{page.relative_to(root)}: {link}: no such heading"


def main(root):
    wrong = list(broken_links(Path(root).resolve()))
    for line in wrong:
        print(line)
    print(f"links: {len(wrong)} broken")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
