#!/usr/bin/env python3
"""What the repository says is where it says: links between pages lead somewhere, files and functions
that pages name are there, and so are the pages that anything names (help texts, scripts, comments).

usage: check_links.py ROOT
"""

import os
import re
import sys
from pathlib import Path

LEFT_OUT = {"build", ".git", "corpus", "data", "__pycache__", ".cache"}
TEXT = {".md", ".c", ".h", ".py", ".txt", ".yaml", ".tpl", ".cmake", ".8", ".1", ""}
FOLDERS = "cmake|deploy|docs|evidence|include|scripts|src|test"


def files_of(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - LEFT_OUT)
        yield from (Path(folder) / name for name in sorted(names))


def anchor_of(heading):
    """The anchor that a heading gets where Markdown is shown."""
    text = re.sub(r"[`*]", "", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def without_code(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)


def broken_links(root, pages):
    anchors = {
        page: {anchor_of(h) for h in re.findall(r"^#+ (.*)$", without_code(text), re.M)}
        for page, text in pages.items()
    }
    for page, text in pages.items():
        for link in re.findall(r"\]\(([^)\s]+)\)", without_code(text)):
            if re.match(r"[a-z]+:", link):
                continue
            target, _, anchor = link.partition("#")
            path = (page.parent / target).resolve() if target else page
            if not path.exists():
                yield f"{page.relative_to(root)}: {link}: no such file"
            elif anchor and anchor not in anchors.get(path, {anchor}):
                yield f"{page.relative_to(root)}: {link}: no such heading"


def named_files(text):
    """Paths from the root: code by itself, or words of commands; a * stands for any text, and what has
    <names> in it is none."""
    spans = re.findall(r"`([^`\n]+)`", without_code(text))
    blocks = re.findall(r"^```[a-z]*\n(.*?)^```", text, re.S | re.M)
    for words in spans + blocks:
        start = r"(?:^|(?<=[\s'\"=:(]))"
        yield from re.findall(rf"{start}(?!\S*<)(?:{FOLDERS})/[\w./*-]*[\w*]", words)


def missing_files(root, pages):
    for page, text in pages.items():
        for path in dict.fromkeys(named_files(text)):
            if not any(root.glob(path)):
                yield f"{page.relative_to(root)}: {path}: no such file"


def missing_functions(root, pages):
    """Of `name()`: some file of C has that word."""
    words = set()
    for folder in ("include", "src", "test"):
        for file in (root / folder).rglob("*.[ch]"):
            words.update(re.findall(r"[A-Za-z_]\w+", file.read_text(encoding="utf-8")))
    for page, text in pages.items():
        for name in dict.fromkeys(re.findall(r"`(\w+)\(\)`", without_code(text))):
            if name not in words:
                yield f"{page.relative_to(root)}: {name}(): no such function"


def missing_pages(root):
    for file in files_of(root):
        if file.suffix not in TEXT or "check_links" in file.name or file.is_symlink():
            continue
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for name in sorted(set(re.findall(r"\bdocs/[\w-]+\.md\b", text))):
            if not (root / name).exists():
                yield f"{file.relative_to(root)}: {name}: no such page"


def main(root):
    root = Path(root).resolve()
    pages = {f: f.read_text(encoding="utf-8") for f in files_of(root) if f.suffix == ".md"}
    wrong = [*broken_links(root, pages), *missing_files(root, pages),
             *missing_functions(root, pages), *missing_pages(root)]
    for line in wrong:
        print(line)
    print(f"{len(pages)} pages, {len(wrong)} broken links and names")
    return 1 if wrong or not pages else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
