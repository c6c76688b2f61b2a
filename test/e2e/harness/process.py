"""Child processes with a log file each, free ports, and waiting on conditions (never on time)."""

import os
import random
import signal
import socket
import subprocess
import threading
import time

# Nothing that is started here outlives the tests, however they end: this shell is told of each group
# of processes, and ends those that are left when its input closes.
REAPER = """
declare -A groups
while read -r what group; do
    if [ "$what" = + ]; then groups[$group]=1; else unset "groups[$group]"; fi
done
for group in "${!groups[@]}"; do kill -KILL -- "-$group" 2>/dev/null; done
"""


class Timeout(AssertionError):
    """A condition did not come true in time."""


class Ended(Exception):
    """A program is not running; no wait for it goes on."""


def wait_for(what, condition, timeout=60.0, interval=0.05):
    """Calls condition() until it returns something true, and returns that. A condition may raise what says
    that something is not there yet: a connection refused, an assertion, a key or an element that is missing,
    a null where an object will be.
    It is asked more rarely the longer it takes, as questions cost what is waited for its processor."""
    deadline = time.monotonic() + timeout
    last = None
    while True:
        try:
            value = condition()
            if value:
                return value
            last = value
        except (OSError, AssertionError, LookupError, StopIteration, TypeError) as error:
            last = error
        if time.monotonic() > deadline:
            raise Timeout(f"{what}: not within {timeout:g} s (last: {last!r})")
        time.sleep(interval)
        interval = max(interval, min(interval * 1.3, 0.25))


class Ports:
    """TCP ports for servers, each given once among all tests that run on this machine."""

    def __init__(self):
        # below those that the kernel gives to connections, which could be quicker than the server
        self.end = 32768
        try:
            with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
                self.end = max(int(file.read().split()[0]), 12000)
        except OSError:
            pass
        self.claims = []

    def free(self):
        for _ in range(1000):
            port = random.SystemRandom().randrange(10000, self.end)
            claim = socket.socket(type=socket.SOCK_DGRAM)
            try:
                # A port that nothing else uses: who holds it has claimed ours. Of UDP, as a server
                # may listen on all addresses.
                claim.bind(("127.83.76.73", port))
                with socket.socket() as probe:
                    probe.bind(("0.0.0.0", port))
            except OSError:
                claim.close()
                continue
            self.claims.append(claim)
            return port
        raise OSError("no free port")


PORTS = Ports()


def free_port():
    """A port that stays ours until the tests end."""
    return PORTS.free()


class Reaper:
    """Knows the groups of processes that run; see REAPER."""

    def __init__(self):
        self.shell = None
        self.lock = threading.Lock()

    def tell(self, what, group):
        with self.lock:
            if self.shell is None:
                self.shell = subprocess.Popen(
                    ["bash", "-c", REAPER], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                    bufsize=0, start_new_session=True)
            self.shell.stdin.write(f"{what} {group}\n".encode())


reaper = Reaper()


class Process:
    """A child whose output goes to <folder>/<name>.log; ended with its whole group."""

    def __init__(self, name, argv, folder, env=None):
        self.name = name
        self.argv = [str(arg) for arg in argv]
        self.log_path = os.path.join(folder, f"{name}.log")
        self.env = {**os.environ, **(env or {})}
        self.child = None
        self.ended = False

    def start(self, stdin=subprocess.DEVNULL):
        with open(self.log_path, "ab") as log:
            self.child = subprocess.Popen(
                self.argv, stdout=log, stderr=log, stdin=stdin, env=self.env,
                start_new_session=True)
        self.ended = False
        reaper.tell("+", self.child.pid)
        return self

    @property
    def pid(self):
        return self.child.pid

    def running(self):
        if self.child is None:
            return False
        if self.child.poll() is not None:
            self._ended()
            return False
        return True

    def _ended(self):
        if not self.ended:
            self.ended = True
            reaper.tell("-", self.child.pid)

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def assert_running(self):
        if not self.running():
            raise Ended(f"{self.name} ended with {self.child.returncode}:\n" + "\n".join(
                self.log().splitlines()[-30:]))

    def signal(self, number):
        if self.running():
            os.killpg(self.child.pid, number)

    def kill(self):
        """kill -9, as a crash would."""
        self.signal(signal.SIGKILL)
        self.child.wait()
        self._ended()

    def stop(self, timeout=60):
        if not self.running():
            return
        self.signal(signal.SIGTERM)
        try:
            self.child.wait(timeout)
            self._ended()
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
