#!/usr/bin/env python3
"""The purity checks find what they are there to find."""

import unittest
from pathlib import Path

import check_purity as purity
import structure


class Symbols(unittest.TestCase):
    def judge(self, **objects):
        lines = [f"/b/src/{library}/CMakeFiles/sl_{library}.dir/{file}.c.o:{line}"
                 for name, text in objects.items() for line in text.splitlines()
                 for library, file in [name.replace("_", "/").split("/", 1)]]
        return purity.impure_symbols(structure.read_symbols("\n".join(lines)))

    def test_core_may_allocate_and_use_itself(self):
        self.assertEqual(self.judge(core_fit="0000 T sl_fit\n     U malloc\n",
                                    core_score="     U sl_fit\n"), [])

    def test_core_hashes_and_sets_no_key(self):
        self.assertEqual(self.judge(core_ask="     U sl_hash\n     U sl_hash_set_key\n",
                                    util_data_hash="0000 T sl_hash\n0010 T sl_hash_set_key\n"),
                         ["core/ask.c needs sl_hash_set_key"])

    def test_core_may_not_read_the_clock_print_or_log(self):
        for name in ("clock_gettime", "time", "fprintf", "printf", "stderr", "getenv", "open",
                     "pthread_mutex_lock", "json_loads", "MHD_start_daemon", "yaml_parser_parse",
                     "curl_easy_init", "sl_log", "anything_new"):
            with self.subTest(name):
                self.assertEqual(self.judge(core_fit=f"     U {name}\n",
                                            util_log="0000 T sl_log\n"),
                                 [f"core/fit.c needs {name}"])

    def test_util_that_core_may_use_is_judged_too(self):
        self.assertEqual(self.judge(core_fit="     U sl_map_get\n",
                                    util_data_map="0000 T sl_map_get\n     U write\n"),
                         ["util/data/map.c needs write"])

    def test_what_another_library_has_core_may_not_use(self):
        self.assertEqual(self.judge(core_fit="     U sl_json\n", codec_json="0000 T sl_json\n"),
                         ["core/fit.c needs sl_json"])


class Includes(unittest.TestCase):
    def judge(self, path, text):
        return purity.wrong_includes(Path(path), text)

    def test_core_uses_no_header_of_the_system_for_io(self):
        self.assertEqual(self.judge("src/core/a.c", "#include <string.h>\n"), [])
        self.assertNotEqual(self.judge("src/core/a.c", "#include <time.h>\n"), [])
        self.assertNotEqual(self.judge("src/core/a.c", "#include <unistd.h>\n"), [])
        self.assertNotEqual(self.judge("include/sliced/a.h", "#include <time.h>\n"), [])

    def test_a_library_stays_in_its_home(self):
        self.assertEqual(self.judge("src/server/a.c", "#include <microhttpd.h>\n"), [])
        self.assertNotEqual(self.judge("src/cluster/a.c", "#include <microhttpd.h>\n"), [])


class Banned(unittest.TestCase):
    def judge(self, text):
        return purity.banned_calls(Path("src/core/a.c"), text)

    def test_calls_are_found_with_their_line(self):
        self.assertEqual(len(self.judge("int x;\nstrcpy(a, b);\n")), 1)
        self.assertIn("a.c:2", self.judge("int x;\nstrcpy(a, b);\n")[0])

    def test_what_only_tests_may_call_is_found_in_src(self):
        self.assertEqual(len(self.judge("atoi(x);\n")), 1)
        self.assertEqual(purity.banned_calls(Path("test/unit/a.c"), "atoi(x);\n"), [])

    def test_comments_literals_and_longer_names_are_not(self):
        self.assertEqual(self.judge('/* strcpy(a, b) */ puts("atoi(1)"); // system(x)\n'), [])
        self.assertEqual(self.judge("sl_system(x); snprintf(a, 1, b); s->rand(1);\n"), [])


if __name__ == "__main__":
    unittest.main()
