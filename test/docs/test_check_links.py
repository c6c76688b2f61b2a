#!/usr/bin/env python3
"""The check of links finds what leads nowhere."""

import tempfile
import unittest
from pathlib import Path

import check_links

PAGE = """# A page
[good](other.md#the-part) [bad](gone.md) [worse](other.md#no-part) [far](https://example.com/x)
`src/there.c` `src/gone.c` `src/t*.c` `src/<part>.c` `mysrc/x.c`
`is_there()` `is_gone()` `is_gone(x)`
```sh
scripts/gone --option
[no link](in-code.md)
```
"""


class Repository(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        for name, text in {
            "docs/page.md": PAGE,
            "docs/other.md": "## The `part`\n",
            "src/there.c": "/* docs/page.md, docs/lost.md */\nint is_there(void);\n",
            "build/x.md": "[bad](gone.md)",
        }.items():
            path = self.root / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        self.pages = {f: f.read_text() for f in check_links.files_of(self.root) if f.suffix == ".md"}

    def test_links_that_lead_nowhere_are_found(self):
        self.assertEqual(
            list(check_links.broken_links(self.root, self.pages)),
            ["docs/page.md: gone.md: no such file", "docs/page.md: other.md#no-part: no such heading"],
        )

    def test_names_of_files_that_are_not_there_are_found(self):
        self.assertEqual(
            list(check_links.missing_files(self.root, self.pages)),
            ["docs/page.md: src/gone.c: no such file", "docs/page.md: scripts/gone: no such file"],
        )

    def test_names_of_functions_that_are_not_there_are_found(self):
        self.assertEqual(
            list(check_links.missing_functions(self.root, self.pages)),
            ["docs/page.md: is_gone(): no such function"],
        )

    def test_pages_that_anything_names_have_to_be_there(self):
        self.assertEqual(
            list(check_links.missing_pages(self.root)), ["src/there.c: docs/lost.md: no such page"]
        )


if __name__ == "__main__":
    unittest.main()
