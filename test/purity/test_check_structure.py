#!/usr/bin/env python3
"""The checks of the structure find what they are there to find."""

import tempfile
import unittest
from pathlib import Path

import structure

LIBRARIES = {
    "util": structure.Library("util", [], []),
    "core": structure.Library("core", ["util"], ["core/low", "core/high/in", "core/high"]),
    "codec": structure.Library("codec", ["core"], []),
    "kube": structure.Library("kube", ["codec"], []),
    "evidence": structure.Library("evidence", ["kube"], []),
}


def objects_of(text):
    """One object a line, "core/low/a defines x y needs z", as nm prints it."""
    lines = []
    for line in text.splitlines():
        source, _, rest = line.partition(" defines ")
        names, _, needed = rest.partition(" needs ")
        library, _, file = source.strip().partition("/")
        path = f"/b/src/{library}/CMakeFiles/sl_{library}.dir/./{file}.c.o"
        lines += [f"{path}:0000 T {name}" for name in names.split()]
        lines += [f"{path}:     U {name}" for name in needed.split()]
    return structure.read_symbols("\n".join(lines))


def graph_of(text):
    return structure.call_graph(objects_of(text))


class Libraries(unittest.TestCase):
    def test_orders_are_read_where_the_build_reads_them(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, text in {
                "src/CMakeLists.txt": "foreach(dir util core)\nendforeach()\n",
                "src/util/CMakeLists.txt": "sl_add_library(util LINK Threads::Threads)\n",
                "src/core/CMakeLists.txt": "sl_add_library(core LINK sl_util SUBFOLDERS low\n high)\n",
                "evidence/CMakeLists.txt": "sl_add_library(evidence LINK sl_core m)\n",
            }.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            libraries = structure.read_libraries(root)
        self.assertEqual(list(libraries), ["util", "core", "evidence"])
        self.assertEqual(libraries["core"].links, ["util"])
        self.assertEqual(libraries["core"].subfolders, ["core/low", "core/high"])

    def test_a_library_may_use_what_its_links_may(self):
        self.assertEqual(structure.may_use(LIBRARIES, "codec"), {"util", "core"})


class Owners(unittest.TestCase):
    def test_only_its_owner_touches_a_part_of_the_planner(self):
        base = "src/core/plan/"
        sources = {
            structure.PLANNER: "struct sl_plan_fleet fleet;  /* of nodes */\n"
                               "struct sl_list listed[4]; /* of state/settle.c; by time */\n"
                               "bool ready; /* a cluster is known */\n",
            base + "nodes/node.c": "planner->fleet.n; planner->ready;",
            base + "state/settle.c": "planner->listed[1];",
            base + "audit.c": "planner->listed[1]; planner->fleet.n;",
            base + "nodes/nodes.h": "planner->fleet.n;",
        }
        self.assertEqual(structure.wrong_owners(sources), [])
        sources[base + "decide/walk.c"] = "run->planner->fleet.n; planner->listed[2];"
        self.assertEqual(structure.wrong_owners(sources), [
            base + "decide/walk.c: touches planner->fleet, which is of nodes",
            base + "decide/walk.c: touches planner->listed, which is of state/settle.c"])


class Includes(unittest.TestCase):
    def judge(self, **files):
        """Names have "__" for "/", and end in _c or _h."""
        sources = {f"{name[:-2].replace('__', '/')}.{name[-1]}": text
                   for name, text in files.items()}
        return structure.wrong_includes(sources, LIBRARIES)

    def test_links_and_subfolders_go_one_way(self):
        self.assertEqual(self.judge(src__codec__a_c='#include "util/str.h"\n'), [])
        self.assertEqual(self.judge(src__core__high__a_c='#include "core/low/b.h"\n'), [])
        self.assertNotEqual(self.judge(src__core__low__a_c='#include "core/high/b.h"\n'), [])
        self.assertNotEqual(self.judge(src__core__high__in__a_c='#include "core/high/b.h"\n'), [])
        self.assertNotEqual(self.judge(src__core__low__a_c='#include "codec/json.h"\n'), [])
        self.assertNotEqual(self.judge(src__util__a_c='#include "core/low/b.h"\n'), [])
        self.assertNotEqual(self.judge(src__codec__a_c='#include "kube/b.h"\n'), [])
        self.assertEqual(self.judge(evidence__days__a_c='#include "kube/b.h"\n'), [])
        self.assertNotEqual(self.judge(src__kube__a_c='#include "evidence/b.h"\n'), [])

    def test_subfolders_of_a_library_include_each_other_in_no_circle(self):
        self.assertNotEqual(self.judge(src__kube__r__a_c='#include "kube/s/b.h"\n',
                                       src__kube__s__b_c='#include "kube/r/a.h"\n'), [])

    def test_a_header_of_a_library_that_is_not_there_is_found(self):
        self.assertNotEqual(self.judge(src__codec__a_c='#include "telemetry/b.h"\n'), [])

    def test_outside_core_only_its_face_is_seen(self):
        face = {"include__sliced__low_h": "int sl_low(void);\n",
                "src__core__low__low_c": "int sl_low(void)\n{\n    return 1;\n}\n"}
        self.assertEqual(self.judge(src__kube__a_c='#include "sliced/low.h"\n', **face), [])
        self.assertNotEqual(self.judge(src__kube__a_c='#include "core/low/low.h"\n', **face), [])

    def test_a_public_header_is_of_the_subfolder_that_defines_its_functions(self):
        face = {"include__sliced__high_h": "int sl_high(void);\n",
                "src__core__high__in__high_c": "int sl_high(void)\n{\n    return 1;\n}\n"}
        use = '#include "sliced/high.h"\n'
        self.assertNotEqual(self.judge(src__core__low__a_c=use, **face), [])
        self.assertEqual(self.judge(src__core__high__in__a_c=use, **face), [])
        self.assertEqual(self.judge(src__core__high__a_c=use, **face), [])

    def test_a_public_header_is_of_one_subfolder(self):
        self.assertNotEqual(self.judge(
            include__sliced__a_h="int sl_low(void);\nint sl_high(void);\n",
            src__core__low__a_c="int sl_low(void)\n{\n}\n",
            src__core__high__a_c="int sl_high(void)\n{\n}\n"), [])


class Calls(unittest.TestCase):
    def test_subfolders_call_downward(self):
        down = graph_of("core/low/a defines x\ncore/high/b defines y needs x")
        self.assertEqual(structure.wrong_calls(down, LIBRARIES), [])
        up = graph_of("core/low/a defines x needs y\ncore/high/b defines y")
        self.assertEqual(structure.wrong_calls(up, LIBRARIES),
                         ["core/low/a.c: core/low may not call y of core/high/b.c"])

    def judge(self, text):
        return structure.wrong_circles(graph_of(text))

    def test_files_that_call_each_other_are_found(self):
        self.assertEqual(self.judge("kube/a defines x\nkube/b defines y needs x"), [])
        circle = "kube/a defines x needs z\nkube/b defines y needs x\nkube/c defines z needs y"
        self.assertEqual(self.judge(circle), ["circle of files: kube/a.c kube/b.c kube/c.c"])

    def test_subfolders_of_a_library_form_no_circle(self):
        self.assertEqual(self.judge("kube/r/a defines x needs y\nkube/s/b defines y needs z\n"
                                    "kube/r/c defines z"),
                         ["circle of subfolders: kube/r kube/s"])


class Subfolders(unittest.TestCase):
    def judge(self, sources, notes):
        # the subfolders of LIBRARIES, so that only what a test adds is said of
        base = {f"src/{subfolder}/a.c": "" for subfolder in ("core/low", "core/high", "core/high/in")}
        told = {"util", "core", "codec", "kube", "evidence", "core/low", "core/high", "core/high/in"}
        return structure.wrong_subfolders(base | sources, LIBRARIES, told | notes)

    def test_a_subfolder_has_fewer_than_twenty_files_of_fewer_than_700_lines(self):
        self.assertEqual(self.judge({"src/kube/a.c": "\n" * 699}, set()), [])
        self.assertEqual(len(self.judge({"src/kube/a.c": "\n" * 700}, set())), 1)
        self.assertEqual(self.judge({f"src/kube/{i}.c": "" for i in range(19)}, set()), [])
        self.assertEqual(len(self.judge({f"src/kube/{i}.c": "" for i in range(20)}, set())), 1)

    def test_a_new_subfolder_says_what_it_is_for(self):
        self.assertEqual(self.judge({"src/kube/new/a.c": ""}, {"kube/new"}), [])
        self.assertEqual(self.judge({"src/kube/new/a.c": ""}, set()),
                         ["src/kube/new: has no README.md that says what it is for"])

    def test_a_new_folder_needs_its_place_in_the_order(self):
        self.assertEqual(len(self.judge({"src/newcomer/a.c": ""}, {"newcomer"})), 1)
        self.assertEqual(len(self.judge({"src/core/new/a.c": ""}, {"core/new"})), 1)

    def test_a_subfolder_that_is_gone_leaves_the_order(self):
        gone = structure.wrong_subfolders({}, {"core": structure.Library("core", [], ["core/low"])},
                                     {"core"})
        self.assertEqual(gone, ["src/core/low: is not there, but in src/core/CMakeLists.txt"])


if __name__ == "__main__":
    unittest.main()
