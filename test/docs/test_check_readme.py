#!/usr/bin/env python3
"""The page check reads blocks and compares as it says."""

import unittest

import check_readme

PAGE = """text
```sh
$ not this
```
```console
$ echo one
one
$ printf '%s\\n' a \\
>   b
a
b
```
"""


class Page(unittest.TestCase):
    def test_commands_and_their_output_are_read(self):
        self.assertEqual(
            check_readme.read_commands(PAGE),
            [(6, "echo one", ["one"]), (8, "printf '%s\\n' a \\\n  b", ["a", "b"])],
        )

    def test_commands_share_one_shell(self):
        commands = [(1, "x=5", []), (2, "echo $x", []), (3, "printf no-newline", [])]
        self.assertEqual(check_readme.run_commands(commands, "h:1"), ["", "5\n", "no-newline"])

    def test_the_address_is_replaced_and_put_back(self):
        commands = [(1, "echo http://127.0.0.1:8888/x", [])]
        self.assertEqual(
            check_readme.run_commands(commands, "127.0.0.1:5"), ["http://127.0.0.1:8888/x\n"]
        )


class Options(unittest.TestCase):
    def test_the_first_daemon_of_the_page_is_started(self):
        self.assertEqual(check_readme.options_of(
            "x\nbuild/run/sliced --cluster a.yaml --listen h:1\nbuild/run/sliced --cluster b.yaml"),
            ["--cluster", "a.yaml"])
        self.assertEqual(check_readme.options_of("`build/run/sliced --cluster a.yaml --config c.yaml`"),
                         ["--cluster", "a.yaml", "--config", "c.yaml"])
        self.assertEqual(check_readme.options_of("slicesim --cluster a.yaml")[1], check_readme.CLUSTER)


class Comparison(unittest.TestCase):
    def test_equal_text_matches_and_other_text_does_not(self):
        self.assertTrue(check_readme.matches(["a", "b"], "a\nb\n"))
        self.assertTrue(check_readme.matches(["a"], "a"))
        self.assertFalse(check_readme.matches(["a"], "a\nb\n"))
        self.assertFalse(check_readme.matches(["a.c"], "abc\n"))
        self.assertFalse(check_readme.matches([], "a\n"))

    def test_an_ellipsis_stands_for_text_within_a_line(self):
        self.assertTrue(check_readme.matches(["uid … end"], "uid 77 end\n"))
        self.assertFalse(check_readme.matches(["uid … end"], "uid 77\n end\n"))

    def test_a_duration_stands_for_any_duration(self):
        self.assertTrue(check_readme.matches(["starts in 7h59m"], "starts in 10m\n"))
        self.assertFalse(check_readme.matches(["starts in 7h59m"], "starts in -\n"))
        self.assertFalse(check_readme.matches(["8 of 8m5"], "8 of 9m5\n"))

    def test_columns_may_be_wider(self):
        self.assertTrue(check_readme.matches(["AGE   NODE"], "AGE     NODE\n"))
        self.assertFalse(check_readme.matches(["AGE   NODE"], "AGE NODE\n"))
        self.assertFalse(check_readme.matches(["AGE NODE"], "AGE  NODE\n"))

    def test_an_ellipsis_alone_stands_for_lines(self):
        self.assertTrue(check_readme.matches(["a", "…", "d"], "a\nb\nc\nd\n"))
        self.assertFalse(check_readme.matches(["a", "…", "d"], "a\nb\n"))


if __name__ == "__main__":
    unittest.main()
