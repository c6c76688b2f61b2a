#!/usr/bin/env python3
"""check_security.py finds what a page lacks and what it has too much."""

import unittest

import check_security as check

PAGE = """
| route | who |
|---|---|
| `GET /livez` | anybody |
| `POST /api/v1/embedded/pods` | nobody |

| right | why |
|---|---|
| `pods/status: patch` | nomination |
| `nodes: list, watch` | GPUs |
"""

ROLES = """
- apiGroups: [""]
  resources: [nodes]
  verbs: [list, watch]   # why
{{- if .Values.x }}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [sliced]
  verbs: [get, update]
{{- end }}
"""


class CheckSecurity(unittest.TestCase):
    def test_reads_routes_of_a_page_and_of_the_index(self):
        self.assertEqual(check.routes_of_page(PAGE), {"GET /livez", "POST /api/v1/embedded/pods"})
        self.assertEqual(check.routes_of_index("GET    /livez    the process is alive\nnothing\n"),
                         {"GET /livez"})

    def test_reads_rights_of_a_page_and_of_the_roles(self):
        self.assertEqual(check.rights_of_page(PAGE),
                         {("pods/status", "patch"), ("nodes", "list"), ("nodes", "watch")})
        self.assertEqual(check.rights_of_roles(ROLES),
                         {("nodes", "list"), ("nodes", "watch"), ("leases", "get"),
                          ("leases", "update")})

    def test_knows_the_tests_that_a_page_names(self):
        self.assertEqual(check.tests_of_page("| `core_place_fit`, `fuzz_view`, `test/e2e/x.py` |"),
                         {"core_place_fit", "fuzz_view"})
        self.assertLessEqual({"core_place_fit", "fuzz_view", "util_str"},
                             check.tests_of_tree(check.TESTS))

    def test_tells_what_is_missing_and_what_is_too_much(self):
        self.assertEqual(len(check.differences("right", {"a", "b"}, {"b", "c"})), 2)
        self.assertEqual(check.differences("right", {"a"}, {"a"}), [])


if __name__ == "__main__":
    unittest.main()
