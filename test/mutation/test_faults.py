#!/usr/bin/env python3
"""The faults that scripts/mutate plants are the ones it says, and only where it says."""

import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

import bed
import faults
import mutate


def after(body, head="int f(int a, int b)"):
    """What becomes of the body of a function, one text for each fault."""
    source = f"{head}\n{{\n{body}\n}}\n"
    return [fault.plant(source).split("\n", 2)[2].removesuffix("\n}\n")
            for place in faults.places("f.c", source) for fault in place]


class Kinds(unittest.TestCase):
    def becomes(self, body, *expected):
        self.assertEqual(sorted(after(body)), sorted(expected))

    def test_comparisons_are_turned_and_moved_by_one(self):
        self.becomes("return a < b;", "return a <= b;", "return a > b;", "return a >= b;")
        self.becomes("return a == b;", "return a != b;")

    def test_logic_is_swapped(self):
        self.becomes("return a && b;", "return a || b;")
        self.becomes("return !a;", "return a;")

    def test_sums_become_differences_and_signs_go(self):
        self.becomes("return a + b;", "return a - b;")
        self.becomes("return -a;", "return a;")
        self.becomes("return (int64_t)-a;", "return (int64_t)a;")
        self.becomes("return (a) - b;", "return (a) + b;")

    def test_conditions_are_inverted(self):
        self.becomes("if (a) {}", "if (!(a)) {}")
        self.becomes("while (a) {}", "while (!(a)) {}")
        self.becomes("return a ? b : a;", "return !(a) ? b : a;")

    def test_answers_are_swapped(self):
        self.becomes("return true;", "return false;")

    def test_numbers_are_one_more_or_less(self):
        self.becomes("return 7u;", "return 8u;", "return 6u;")
        self.becomes("return 0;", "return 1;")
        self.becomes("return a[2];", "return a[3];", "return a[1];")

    def test_no_more_is_allocated(self):
        self.assertNotIn("return calloc(2, a);", after("return calloc(1, a);"))

    def test_the_ones_of_a_comparison_grow_no_larger(self):
        self.assertEqual([text for text in after("return a ? -1 : 1;") if "2" in text], [])

    def test_a_failure_is_no_larger_one(self):
        self.becomes("return -1;", "return 1;", "return -0;")

    def test_calls_and_assignments_are_left_out(self):
        self.becomes("g(a);", ";")
        self.becomes("a = b;", ";")
        self.becomes("a += b;", "a -= b;", ";")
        self.becomes("a++;", "a--;", ";")
        self.becomes("done:\n    free(x);", "done:\n    ;")

    def test_least_and_most_are_swapped_where_both_are_known(self):
        self.becomes("return min(a, max);", "return max(a, max);", "return min(a, min);")
        self.becomes("return min(a, b);")

    def test_a_fault_of_two_lines_keeps_the_lines_below_in_place(self):
        self.assertEqual(after("g(a,\n  b);\nreturn a;"), [";\n\nreturn a;"])


class Exceptions(unittest.TestCase):
    def unharmed(self, body):
        self.assertEqual(after(body), [])

    def test_no_faults_in_comments_and_literals(self):
        self.unharmed('/* a < b */ // a + b\nconst char *t = "a && b"; char c = \'+\';')

    def test_no_faults_outside_of_functions(self):
        self.assertEqual(faults.places("f.c", "#define N (1 + 2)\nenum { A = 3 };\n"
                                              "static const int t[] = {4, 5};\n"), [])

    def test_no_faults_in_assertions_and_sizes(self):
        self.unharmed("assert(a < b && f(3));\nreturn sizeof(int[4]);")

    def test_no_other_sizes_of_buffers_and_first_values(self):
        self.unharmed("char text[64 + 1];\nint sum = 0;\nstruct s s = {0};")

    def test_no_faults_in_tables_of_a_function(self):
        self.unharmed("static const int t[] = {1 + 2, 3};")


class Lists(unittest.TestCase):
    def test_a_list_that_was_written_is_read_again(self):
        fault = faults.places("src/f.c", "int f(void)\n{\n    return 2;\n}\n")[0][0]
        text = mutate.shown(fault, bed.Outcome("missed", tests=3))
        self.assertIn("src/f.c:3: 3 tests run it", text)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "passed.txt"
            path.write_text(f"# why\n{text}\n", encoding="utf-8")
            self.assertEqual(mutate.read_list(path), [("src/f.c", "return 2;", "return 1;")])


if __name__ == "__main__":
    unittest.main()
