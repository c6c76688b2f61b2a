#!/usr/bin/env python3
"""The check of hardened programs finds what a program lacks."""

import unittest

from check_hardening import lacks

HARDENED = """\
  Type:                              DYN (Position-Independent Executable file)
  GNU_STACK      0x000000 0x0000000000000000 0x0000000000000000 0x000000 0x000000 RW  0x10
  GNU_RELRO      0x137cb0 0x0000000000138cb0 0x0000000000138cb0 0x014350 0x014350 R   0x1
 0x000000006ffffffb (FLAGS_1)            Flags: NOW PIE
                 U __memcpy_chk@GLIBC_2.3.4
                 U __stack_chk_fail@GLIBC_2.4
"""


class Lacks(unittest.TestCase):
    def test_a_hardened_program_lacks_nothing(self):
        self.assertEqual(lacks(HARDENED, True), [])

    def test_what_is_otherwise_is_named(self):
        for before, after, what in (
                ("DYN (Position-Independent", "EXEC (", "PIE"), ("NOW PIE", "PIE", "at the start"),
                ("GNU_RELRO", "LOAD", "RELRO"), ("RW  0x10", "RWE 0x10", "cannot be run"),
                ("__stack_chk_fail", "abort", "guards"), ("__memcpy_chk", "memcpy", "FORTIFY")):
            with self.subTest(what):
                found = lacks(HARDENED.replace(before, after), True)
                self.assertEqual([what in each for each in found], [True])

    def test_calls_are_checked_in_optimised_programs_alone(self):
        self.assertEqual(lacks(HARDENED.replace("__memcpy_chk", "memcpy"), False), [])


if __name__ == "__main__":
    unittest.main()
