"""check_mig.py finds what differs, and nothing else. usage: test_check_mig.py PRINT_MIG"""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

import check_mig

PROGRAM = None

CONFIGURATION = """version: v1
mig-configs:
  all-disabled:
    - devices: all
      mig-enabled: false
  # a comment
  all-1g.6gb:
    - devices: all
      mig-enabled: true
      mig-devices:
        "1g.6gb": 4
  all-3g.95gb:
    - device-filter: ["0x294110DE"]
      devices: all
      mig-devices:
        "3g.95gb": 2
  all-balanced:
    - device-filter: "0x20B710DE"
      devices: all
      mig-devices:
        "1g.6gb": 2
        "2g.12gb": 1
"""

GUIDE = """## A board MIG Profiles
Profile Name |
Number of Instances |
MIG 1g.16gb |
1/2 |
1 |
2 |
MIG 1g.16gb+gfx |
1/2 |
1 |
2 |
MIG 1g.16gb+me.all |
1/2 |
1 (one can have all) |
MIG 1g.16gb-me |
1/2 |
2 |
MIG 2g.32gb |
Full |
1 |
MIG 2g.32gb+gfx |
Full |
1 |

Note

There are 9 of something else.
"""

PAGE = "<table><tr><th>Profile Name</th></tr>" + "".join(
    f"<tr><td>MIG {name}</td><td>1/4</td><td>{count}</td></tr>" for name, count in (
        ("1g.6gb", 4), ("1g.6gb+me", 1), ("2g.12gb", 2), ("2g.12gb+me", 1), ("4g.24gb", 1))) + "</table><p>2 words</p>"


def told(*texts):
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder) / f"list-{i}.yaml" for i in range(len(texts))]
        for file, text in zip(files, texts):
            file.write_text(text, encoding="utf-8")
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = check_mig.main(PROGRAM, *files)
        return status, out.getvalue()


class Lists(unittest.TestCase):
    def test_what_agrees_is_no_difference(self):
        status, text = told(CONFIGURATION, GUIDE, PAGE)
        self.assertEqual((status, text), (0, "3 lists read, 0 differences\n"))

    def test_a_configuration_that_differs_is_told(self):
        for old, new, said in (
                ('"1g.6gb": 4', '"1g.6gb": 5', "all-1g.6gb: 5 of 1g.6gb is not what the table has of any model"),
                ('"1g.6gb": 4', '"9g.9gb": 1', "1 of 9g.9gb is not what the table has of any model"),
                ("0x20B710DE", "0x12345678", "all-balanced: no model has the PCI id 0X12345678"),
                ("0x20B710DE", "0x294110DE", "2 of 1g.6gb is not what the table has of GB200-186GB"),
                ('"2g.12gb": 1', '"2g.12gb": 3', "3 of 2g.12gb is not what the table has of A30-24GB")):
            status, text = told(CONFIGURATION.replace(old, new))
            self.assertEqual(status, 1, new)
            self.assertIn(said, text)

    def test_a_table_that_differs_is_told(self):
        for old, new, said in (
                ("1g.16gb-me", "1g.16gb+me", "lacks 1g.16gb+me; has 1g.16gb-me"),
                ("Full |\n1 |\nMIG", "Full |\n7 |\nMIG", "7 of 2g.32gb, not 1"),
                ("MIG 2g.32gb+gfx |\nFull |\n1 |\n", "", "has 2g.32gb+gfx")):
            status, text = told(GUIDE.replace(old, new))
            self.assertEqual(status, 1, new)
            self.assertIn(said, text)

    def test_no_list_is_said(self):
        self.assertEqual(told(), (0, "skipped: no list of NVIDIA is named; see --help\n"))
        self.assertEqual(told("nothing of it"), (1, "0 lists read, 0 differences\n"))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
