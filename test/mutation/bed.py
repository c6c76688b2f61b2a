"""Where faults are tried: a copy of the checkout, its libraries shared, and what each test runs.

A fault costs one compilation and the tests that run its function. Its object alone becomes a
library that is loaded before the module's, so that its functions stand in for the module's.
"""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

MEMORY_MIB = 2048
SANITIZE = ["-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
STRICT = ["-w", "-Werror=implicit-function-declaration", "-Werror=int-conversion"]


class Broken(Exception):
    """The sources do not build, or fail without a fault."""


@dataclass(frozen=True)
class Outcome:
    """What became of a fault: noticed, missed, unchanged or uncompilable; and by which test."""

    kind: str
    by: str = ""
    tests: int = 0


def checked(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise Broken(f"{shlex.join(map(str, command))}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


class Bed:
    def __init__(self, root, folder, module, jobs, also=()):
        self.root, self.folder, self.module, self.jobs = Path(root), Path(folder), module, jobs
        self.also = also
        self.tree, self.build = self.folder / "tree", self.folder / "build"
        self.tests = self._tests()
        self.leaks = self._suppress()
        self.sanitizers = ":".join(checked(["gcc", f"-print-file-name=lib{name}.so"]).strip()
                                   for name in ("asan", "ubsan"))

    def _tests(self):
        """Its unit tests: {program: folder}; test/CMakeLists.txt makes the names alike."""
        unit = self.root / "test/unit"
        found = {}
        for folder in (self.module, *self.also):
            for path in sorted((unit / folder).rglob("test_*.c")):
                at = path.parent.relative_to(unit)
                found["_".join([*at.parts, path.stem[5:]])] = at.as_posix()
        if not found:
            raise Broken(f"module {self.module} has no unit tests")
        return found

    def prepare(self):
        self._copy()
        checked(["cmake", "-G", "Ninja", "-S", self.tree, "-B", self.build,
                 "-DBUILD_SHARED_LIBS=ON", "-DCMAKE_BUILD_TYPE=", "-DCMAKE_C_FLAGS=-O2 -DSL_CHECKS_STOP",
                 "-DCMAKE_C_COMPILER=gcc"])
        checked(["ninja", "-C", self.build, f"-j{self.jobs}", *self.tests])
        self.flags = self._flags()
        self.digest = self._digest()
        self._measure()
        self.original = {}

    def _suppress(self):
        """What the limit on memory allocates for a thread of its own is no leak."""
        path = self.folder / "leaks.txt"
        path.write_text("leak:allocate_dtv\n")
        return f"suppressions={path}:print_suppressions=0"

    def _copy(self):
        """Copies what has changed, with the time of now, so that just that is built again."""
        listed = checked(["git", "-C", self.root, "ls-files", "-co", "--exclude-standard"])
        names = {name for name in listed.splitlines() if (self.root / name).is_file()}
        for name in names:
            source, target = self.root / name, self.tree / name
            if not target.exists() or target.read_bytes() != source.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
        for path in self.tree.rglob("*"):
            if path.is_file() and path.relative_to(self.tree).as_posix() not in names:
                path.unlink()

    def _flags(self):
        """{source: how the module's library compiles it}"""
        flags = {}
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            words = shlex.split(entry["command"])
            at = words.index("-o")
            if f"/sl_{self.module}.dir/" not in words[at + 1]:
                continue
            source = Path(entry["file"])
            if not source.is_relative_to(self.tree):  # made by the build
                continue
            kept = [word for word in words[:at] if not word.startswith("-W")]
            while not re.search(r"(^|/)gcc$", kept[0]):
                kept.pop(0)
            flags[source.relative_to(self.tree).as_posix()] = kept + STRICT
        return flags

    def _digest(self):
        digest = hashlib.sha256(json.dumps(self.flags).encode())
        for folder in ("include", "src", *(f"test/unit/{one}" for one in (self.module, *self.also))):
            for path in sorted((self.tree / folder).rglob("*.[ch]")):
                digest.update(path.read_bytes())
        return digest.hexdigest()

    def _measure(self):
        """Learns how long each test runs and which lines and functions of the module it reaches."""
        memory = self.folder / f"reached-{self.module}.json"
        if memory.exists():
            known = json.loads(memory.read_text())
            if known["digest"] == self.digest:
                self.reached = known["reached"]
                return
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch, \
                ThreadPoolExecutor(self.jobs) as pool:
            scratch = Path(scratch)
            objects = list(pool.map(lambda source: self._count_object(scratch, source), self.flags))
            library = scratch / "counted.so"
            checked(["gcc", "-shared", "--coverage", "-o", library, *objects])
            self.reached = dict(pool.map(lambda test: (test, self._reach(scratch, library, test)),
                                         self.tests))
        memory.write_text(json.dumps({"digest": self.digest, "reached": self.reached}))

    def _count_object(self, scratch, source):
        out = scratch / (source.replace("/", "-") + ".o")
        checked([*self.flags[source], "--coverage", "-O0", "-o", out, "-c", self.tree / source])
        return out

    def _reach(self, scratch, library, test):
        counts = scratch / test
        counts.mkdir()
        for notes in scratch.glob("*.gcno"):
            (counts / notes.name).symlink_to(notes)
        for preload in (self.sanitizers, str(library)):
            begin = time.monotonic()
            if self.run(test, preload, {"GCOV_PREFIX": str(counts), "GCOV_PREFIX_STRIP": "99"}):
                raise Broken(f"{test} fails without any fault")
        reached = {"seconds": time.monotonic() - begin, "lines": {}, "functions": {}}
        data = sorted(counts.glob("*.gcda"))
        for line in checked(["gcov", "-t", "-j", *data], cwd=counts).splitlines():
            for one in json.loads(line)["files"]:
                source = one["file"].removeprefix(f"{self.tree}/")
                if source not in self.flags:
                    continue
                reached["lines"][source] = sorted(
                    {row["line_number"] for row in one["lines"] if row["count"]})
                reached["functions"][source] = [
                    [row["start_line"], row["end_line"]] for row in one["functions"]
                    if row["execution_count"]]
        return reached

    def run(self, test, preload, environment=()):
        """Runs one test; whether it fails, passes its time or its memory, or crashes."""
        seconds = self.reached[test]["seconds"] if hasattr(self, "reached") else 60
        limits = f"ulimit -c 0; ulimit -t {int(5 * seconds) + 3}; "
        if "asan" not in preload:
            limits += f"ulimit -v {MEMORY_MIB * 1024}; "
        script = limits + 'LD_PRELOAD=$1 exec "$2"'
        child = subprocess.Popen(
            ["bash", "-c", script, "bash", preload, self.build / "test" / test], cwd=self.tree,
            env={**os.environ, **dict(environment), "UBSAN_OPTIONS": "halt_on_error=1",
                 "ASAN_OPTIONS": f"hard_rss_limit_mb={MEMORY_MIB}", "LSAN_OPTIONS": self.leaks},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)
        try:
            # The limit is on the processor's time: this one ends who sleeps forever.
            return child.wait(60 + 20 * seconds) != 0
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 9)
            child.wait()
            return True

    def likely_tests(self, fault):
        """The tests that run the fault's function: who reach the line first, then its subfolder's.

        What runs in a copy of the process alone leaves no trace: its subfolder's tests are tried.
        """
        folder = "/".join(Path(fault.path).parts[1:-1])
        def reaches(test):
            return any(first <= fault.line <= last for first, last in
                       self.reached[test]["functions"].get(fault.path, ()))

        def rank(test):
            here = f"src/{self.tests[test]}/"
            return (fault.line not in self.reached[test]["lines"].get(fault.path, ()),
                    not fault.path.startswith(here), self.reached[test]["seconds"])
        tests = list(filter(reaches, self.tests))
        return sorted(tests or (test for test in self.tests if self.tests[test] == folder), key=rank)

    def compile(self, path, text, out, *options):
        """Compiles a text in the place of a source; whether it is C."""
        command = [*self.flags[path], *options, "-iquote", (self.tree / path).parent,
                   "-x", "c", "-c", "-o", out, "-"]
        return subprocess.run(command, input=f'# 1 "{path}"\n{text}', text=True,
                              stderr=subprocess.DEVNULL).returncode == 0

    def original_object(self, path, scratch):
        if path not in self.original:
            out = scratch / "original.o"
            if not self.compile(path, (self.tree / path).read_text(), out):
                raise Broken(f"{path} does not compile by itself")
            self.original[path] = out.read_bytes()
        return self.original[path]

    def judge(self, fault):
        """Plants one fault and tells what became of it.

        Whom no test notices is tried once more under sanitizers, as scripts/test does.
        """
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            scratch = Path(scratch)
            text = fault.plant((self.tree / fault.path).read_text())
            out, library = scratch / "fault.o", scratch / "fault.so"
            if not self.compile(fault.path, text, out):
                return Outcome("uncompilable")
            if out.read_bytes() == self.original_object(fault.path, scratch):
                return Outcome("unchanged")
            tests = self.likely_tests(fault)
            for options, preload in (([], str(library)),
                                     (SANITIZE, f"{self.sanitizers}:{library}")):
                if options:
                    self.compile(fault.path, text, out, *options)
                checked(["gcc", "-shared", *options, "-o", library, out])
                for test in tests:
                    if self.run(test, preload):
                        if options:
                            self._check_sanitized(fault.path, scratch, test)
                        return Outcome("noticed", test)
            return Outcome("missed", tests=len(tests))

    def _check_sanitized(self, path, scratch, test):
        """Sanitizers that find something without the fault, too, say nothing of it."""
        out, library = scratch / "sound.o", scratch / "sound.so"
        self.compile(path, (self.tree / path).read_text(), out, *SANITIZE)
        checked(["gcc", "-shared", *SANITIZE, "-o", library, out])
        if self.run(test, f"{self.sanitizers}:{library}"):
            raise Broken(f"{test} fails under sanitizers without any fault")
