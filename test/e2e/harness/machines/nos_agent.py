"""Plays nos' MIG agent on a machine: it makes the instances that the node's spec annotations say, and
deletes none that is in use."""

import collections

from .hardware import NoPlace
from .machine import Agent

PREFIX = "nos.nebuly.com/"
PARTITIONING = f"{PREFIX}gpu-partitioning"
SPEC_PLAN = f"{PREFIX}spec-partitioning-plan"
STATUS_PLAN = f"{PREFIX}status-partitioning-plan"


def parse_spec(annotations):
    """{(GPU, profile): count} and the names that its parser cannot read: it splits them at dashes."""
    found, strange = {}, []
    for key, text in annotations.items():
        if key.startswith(f"{PREFIX}spec-gpu-"):
            parts = key[len(PREFIX):].split("-")
            if len(parts) == 4 and "+" not in key:
                found[int(parts[2]), parts[3]] = int(text)
            else:
                strange.append(key)
    return found, strange


class Reporter(Agent):
    """Tells what of each GPU is in use, every so many seconds."""

    def __init__(self, every):
        super().__init__()
        self.every = every
        self.plans = []      # the ids of those that it read
        self.claims = None   # the report that it makes up
        self.reported = {}   # its annotations as they stand
        self.silent = False

    def begin(self, machine):
        super().begin(machine)
        self.report()
        self.rack.work(self._report_on)

    def status(self):
        """What it reports, as annotations."""
        counts = collections.Counter()
        for gpu in self.machine.gpus:
            for each in gpu.instances:
                state = "used" if each.pod is not None else "free"
                counts[f"{PREFIX}status-gpu-{gpu.index}-{each.profile}-{state}"] += 1
        return {key: str(count) for key, count in counts.items()}

    def report(self):
        """The plan's id is that of the plan which it read last, however it went."""
        with self.rack.lock:
            status = dict(self.claims if self.claims is not None else self.status())
            if self.plans:
                status[STATUS_PLAN] = self.plans[-1]
            changes = {key: status.get(key) for key in {*self.reported, *status}
                       if self.reported.get(key) != status.get(key)}
            if changes and not self.silent:
                self.machine.patch(annotations=changes)
                self.reported = status

    def _report_on(self):
        while self.pause(self.every):
            self.report()


class NosAgent(Reporter):
    """seconds: how long its deletions, its creations and the restart of the device plugin take. every:
    seconds between two reports of what is in use. mishaps:
      silent    it does nothing and reports nothing any more
      failed    it creates nothing of what is missing, and reports so
      lying     it reports the plan and what the spec says, and has done nothing
      late      the device plugin does not come back"""
    labels = {PARTITIONING: "mig"}

    def __init__(self, seconds=1.0, every=0.3):
        super().__init__(every)
        self.seconds = seconds

    def on_node(self, node):
        annotations = node["metadata"].get("annotations", {})
        plan = annotations.get(SPEC_PLAN)
        if plan is not None and (self.wanted is None or plan != self.wanted[0]):
            spec, strange = parse_spec(annotations)
            self.rack.faults += [f"{self.machine.name}: nos cannot parse {each}" for each in strange]
            self.want((plan, spec))

    def act(self, wanted, mishap):
        plan, spec = wanted
        self.silent = mishap == "silent"
        self.plans.append(plan)
        if self.silent:
            return
        if mishap == "lying":
            self.claims = {f"{PREFIX}status-gpu-{gpu}-{profile}-free": str(count)
                           for (gpu, profile), count in spec.items() if count}
        elif self._differs(spec):
            if not self.pause(self.seconds / 2):
                return
            self._cut(spec, mishap)
            self.machine.withdraw()
            if not self.pause(self.seconds / 2):
                return
            if mishap != "late":
                self.machine.advertise()
        self.report()

    def _differs(self, spec):
        with self.rack.lock:
            return any(self._counts(spec, gpu) != gpu.counts() for gpu in self.machine.gpus)

    def _counts(self, spec, gpu):
        return +collections.Counter({profile: count for (index, profile), count in spec.items()
                                     if index == gpu.index})

    def _cut(self, spec, mishap):
        """Where instances are to be made, it makes all free ones of that GPU anew."""
        with self.rack.lock:
            for gpu in self.machine.gpus:
                wanted = self._counts(spec, gpu)
                used = collections.Counter(each.profile for each in gpu.instances if each.pod)
                if used - wanted:
                    self.rack.faults.append(f"{self.machine.name}: the spec of GPU {gpu.index} leaves "
                                            f"out {dict(used - wanted)}, in use")
                going = gpu.counts() - wanted
                if wanted - gpu.counts():
                    going = gpu.counts()
                for each in list(gpu.instances):
                    if each.pod is None and going[each.profile] > 0:
                        going[each.profile] -= 1
                        gpu.destroy(each)
                try:
                    if mishap != "failed":
                        gpu.create((wanted - gpu.counts()).elements())
                except NoPlace as error:
                    if not used:  # else nobody could know which places are taken
                        self.rack.faults.append(f"{self.machine.name}: {error}")
            self.rack.observe()
