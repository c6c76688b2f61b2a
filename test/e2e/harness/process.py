"""Child processes with a log file each, free ports, and waiting on conditions (never on time)."""

import os
import signal
import socket
import subprocess
import time


class Timeout(AssertionError):
    """A condition did not come true in time."""


def wait_for(what, condition, timeout=30.0, interval=0.05):
    """Calls condition() until it returns something true, and returns that."""
    deadline = time.monotonic() + timeout
    last = None
    while True:
        try:
            value = condition()
            if value:
                return value
            last = value
        except (OSError, AssertionError) as error:
            last = error
        if time.monotonic() > deadline:
            raise Timeout(f"{what}: not within {timeout:g} s (last: {last!r})")
        time.sleep(interval)


def free_port():
    """A port that was free a moment ago on loopback."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Process:
    """A child whose output goes to <folder>/<name>.log; ended with its whole group."""

    def __init__(self, name, argv, folder, env=None):
        self.name = name
        self.argv = [str(arg) for arg in argv]
        self.log_path = os.path.join(folder, f"{name}.log")
        self.env = {**os.environ, **(env or {})}
        self.child = None

    def start(self, stdin=subprocess.DEVNULL):
        with open(self.log_path, "ab") as log:
            self.child = subprocess.Popen(
                self.argv, stdout=log, stderr=log, stdin=stdin, env=self.env,
                start_new_session=True)
        return self

    @property
    def pid(self):
        return self.child.pid

    def running(self):
        return self.child is not None and self.child.poll() is None

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def assert_running(self):
        assert self.running(), (
            f"{self.name} ended with {self.child.returncode}:\n" + "\n".join(
                self.log().splitlines()[-30:]))

    def signal(self, number):
        if self.running():
            os.killpg(self.child.pid, number)

    def kill(self):
        """kill -9, as a crash would."""
        self.signal(signal.SIGKILL)
        self.child.wait()

    def stop(self, timeout=20):
        if not self.running():
            return
        self.signal(signal.SIGTERM)
        try:
            self.child.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()

    def cpu_seconds(self):
        """User and system time so far."""
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_mib(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) / 1024
        return 0.0
