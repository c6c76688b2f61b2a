#!/usr/bin/env python3
"""The purity checks find what they are there to find."""

import unittest
from pathlib import Path

import check_purity as purity


class Symbols(unittest.TestCase):
    def judge(self, core, util=""):
        return purity.impure_symbols(purity.read_symbols(core), purity.read_symbols(util))

    def test_core_may_allocate_and_use_itself(self):
        core = "fit.c.o:\n0000 T sl_fit\n     U malloc\n\nscore.c.o:\n     U sl_fit\n"
        self.assertEqual(self.judge(core), [])

    def test_core_hashes_and_sets_no_key(self):
        core = "ask.c.o:\n     U sl_hash\n     U sl_hash_set_key\n"
        util = "hash.c.o:\n0000 T sl_hash\n0010 T sl_hash_set_key\n"
        self.assertEqual(self.judge(core, util), ["ask.c.o needs sl_hash_set_key"])

    def test_core_may_not_read_the_clock_print_or_log(self):
        for name in ("clock_gettime", "time", "fprintf", "printf", "stderr", "getenv", "open",
                     "pthread_mutex_lock", "json_loads", "MHD_start_daemon", "yaml_parser_parse",
                     "curl_easy_init", "sl_log", "anything_new"):
            with self.subTest(name):
                core = f"fit.c.o:\n     U {name}\n"
                util = "log.c.o:\n0000 T sl_log\n"
                self.assertEqual(self.judge(core, util), [f"fit.c.o needs {name}"])

    def test_util_that_core_may_use_is_judged_too(self):
        core = "fit.c.o:\n     U sl_map_get\n"
        util = "map.c.o:\n0000 T sl_map_get\n     U write\n"
        self.assertEqual(self.judge(core, util), ["map.c.o needs write"])


class Includes(unittest.TestCase):
    def judge(self, path, text):
        return purity.wrong_includes(Path(path), text)

    def test_the_link_direction_holds(self):
        self.assertEqual(self.judge("src/codec/a.c", '#include "sliced/pod.h"\n'), [])
        self.assertEqual(self.judge("src/config/a.c", '#include "codec/yaml.h"\n'), [])
        self.assertNotEqual(self.judge("src/core/a.c", '#include "codec/json.h"\n'), [])
        self.assertNotEqual(self.judge("src/cluster/a.c", '#include "codec/json.h"\n'), [])
        self.assertNotEqual(self.judge("src/util/a.c", '#include "sliced/pod.h"\n'), [])
        self.assertNotEqual(self.judge("include/sliced/a.h", '#include "server/server.h"\n'), [])

    def test_core_uses_no_header_of_the_system_for_io(self):
        self.assertEqual(self.judge("src/core/a.c", "#include <string.h>\n"), [])
        self.assertNotEqual(self.judge("src/core/a.c", "#include <time.h>\n"), [])
        self.assertNotEqual(self.judge("src/core/a.c", "#include <unistd.h>\n"), [])

    def test_a_library_stays_in_its_home(self):
        self.assertEqual(self.judge("src/server/a.c", "#include <microhttpd.h>\n"), [])
        self.assertNotEqual(self.judge("src/cluster/a.c", "#include <microhttpd.h>\n"), [])

    def test_a_new_folder_needs_a_row(self):
        self.assertNotEqual(self.judge("src/newcomer/a.c", ""), [])


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
