"""Plays nebuly's device plugin with nos' agent in MPS mode on a machine: it cuts the memory of GPUs into
slices as its file says, which is a ConfigMap."""

import collections

import yaml

from ..cluster import ensure_namespace
from .hardware import Instance
from .machine import Agent, Mounted
from .nos_agent import PARTITIONING, PREFIX, Reporter

CONFIG = "nvidia.com/device-plugin.config"
NAMESPACE = "nebuly-nvidia"
CONFIG_MAP = "nebuly-device-plugin-configs"


class MpsPlugin(Reporter):
    """It takes the configuration which the label names when the label's value changes; what its file
    does not have it ignores.

    lag: seconds until its file shows what was written to the ConfigMap. seconds: how long it takes to
    restart. mishaps: silent, late"""
    labels = {PARTITIONING: "mps"}
    shares = True

    def __init__(self, lag=0.0, seconds=1.0, every=0.3):
        super().__init__(every)
        self.seconds = seconds
        self.file = Mounted(NAMESPACE, CONFIG_MAP, lag)
        self.on_config = self.file.on_config
        self.runs = []  # (value of the label, whether its file had that)

    def begin(self, machine):
        ensure_namespace(machine.rack.plane, NAMESPACE)
        self.wanted = machine.labels.get(CONFIG)
        super().begin(machine)

    def end(self):
        self.file.remove(self.rack.plane)

    def on_node(self, node):
        self.want(node["metadata"]["labels"].get(CONFIG))

    def act(self, wanted, mishap):
        with self.rack.lock:
            text = self.file.data().get(wanted)
        self.runs.append((wanted, text is not None))
        if text is None or mishap == "silent":
            return
        self.machine.withdraw()
        if not self.pause(self.seconds):
            return
        with self.rack.lock:
            for gpu in self.machine.gpus:
                self._cut(gpu, slices_of(yaml.safe_load(text), gpu))
            self.rack.observe()
        if mishap != "late":
            self.machine.advertise()
        self.report()

    def _cut(self, gpu, wanted):
        used = collections.Counter(each.profile for each in gpu.instances if each.pod)
        sizes = [int(size.removesuffix("gb")) for size in wanted.elements()]
        if sum(sizes) > -(-gpu.model.mib // 1000) or not all(sizes) or used - wanted:
            self.rack.faults.append(f"{self.machine.name}: GPU {gpu.index} with {dict(used)} in use was to "
                                    f"be shared as {dict(wanted)}")
        gpu.instances = [each for each in gpu.instances if each.pod] + [
            Instance(gpu, size, None) for size in (wanted - used).elements()]


def slices_of(config, gpu):
    """{"10gb": how many}, of that GPU."""
    found = collections.Counter()
    for each in config["sharing"]["mps"]["resources"]:
        assert (each["name"], each["rename"]) == ("nvidia.com/gpu", f"gpu-{each['memoryGB']}gb"), each
        if str(gpu.index) in each["devices"]:
            found[f"{each['memoryGB']}gb"] += each["replicas"]
    return found
