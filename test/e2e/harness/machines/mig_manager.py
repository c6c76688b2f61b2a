"""Plays NVIDIA's mig-manager on a machine, by the rules of mig-parted 0.15. It
touches all that an entry of its file names, and asks nobody who uses it."""

import collections

import yaml

from ..cluster import ensure_namespace
from .hardware import InUse, NoPlace
from .machine import Agent, Mounted

CONFIG = "nvidia.com/mig.config"
STATE = "nvidia.com/mig.config.state"
NAMESPACE = "gpu-operator"
LABELS = {"app": "nvidia-mig-manager"}
AWAY = 8  # seconds


class MigManager(Agent):
    """It runs what the label names when the label's value changes, and when it starts anew.

    lag: seconds until its file shows what was written to the ConfigMap; nudged: the same after its pod
    was changed. seconds: how long a run keeps the device plugin away. back: seconds from the end of a run
    until the device plugin is back. mishaps:
      silent    it does nothing
      wedged    the state stays pending for ever, and the device plugin away
      failed    it fails before it has touched a GPU
      half      it fails with the instances destroyed and none made
      busy      somebody who is no pod has an instance: the walk fails with the free ones gone
      lying     it tells success and has done nothing
      late      the device plugin does not come back after success
      gone      the node goes while it cuts
      away      it comes back after some seconds, and does what the label names then"""

    def __init__(self, lag=60.0, nudged=0.2, seconds=1.0, back=0.2, config_map="sliced-mig-config"):
        super().__init__()
        self.nudged = nudged
        self.seconds = seconds
        self.back = back
        self.file = Mounted(NAMESPACE, config_map, lag)
        self.on_config = self.file.on_config
        self.runs = []           # (value of the label, how it ended; None: under way)
        self.annotations = None  # of its pod

    def begin(self, machine):
        self.pod = f"nvidia-mig-manager-{machine.name}"
        plane = machine.rack.plane
        ensure_namespace(plane, NAMESPACE)
        self.file.sync(plane)
        plane.create({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": self.pod, "namespace": NAMESPACE, "labels": LABELS},
            "spec": {"nodeName": machine.name, "terminationGracePeriodSeconds": 0,
                     "containers": [{"name": "mig-manager", "image": "mig-manager"}]}})
        self.wanted = machine.labels.get(CONFIG)
        super().begin(machine)

    def end(self):
        self.rack.plane.delete(f"/api/v1/namespaces/{NAMESPACE}/pods/{self.pod}", 0)
        self.file.remove(self.rack.plane)

    # ---- what it hears ----

    def on_node(self, node):
        self.want(node["metadata"]["labels"].get(CONFIG))

    def on_pod(self, kind, pod):
        """The kubelet looks after a pod whose annotations have changed, and after its volumes."""
        if pod["metadata"]["name"] == self.pod:
            annotations = pod["metadata"].get("annotations")
            if annotations != self.annotations:
                self.annotations = annotations
                self.file.sync(self.rack.plane, self.nudged)

    def entries(self):
        """The entries that its file has now."""
        text = self.file.data().get("config.yaml")
        return (yaml.safe_load(text) or {}).get("mig-configs", {}) if text else {}

    def restart(self):
        """A new pod's volume has the file as it is."""
        self.file.sync(self.rack.plane)
        super().restart()

    # ---- what it does ----

    def act(self, wanted, mishap):
        if mishap == "away" and (not self.pause(AWAY) or self.wanted != wanted):
            return
        if wanted is not None:
            self.runs.append((wanted, None))
            self.runs[-1] = (wanted, self._run(wanted, mishap))

    def _run(self, value, mishap):
        """Validates the entry, compares, and applies it with the device plugin away."""
        if mishap == "silent":
            return mishap
        with self.rack.lock:
            entry = self.entries().get(value)
        if entry is None or not valid(entry, self.machine):
            if mishap is not None:
                self.mishaps.appendleft(mishap)  # it goes wrong once it begins
            return self._tell("failed")
        with self.rack.lock:
            applied = all(applies(spec, gpu) for spec, gpu in self._pairs(entry))
        if applied or mishap == "lying":
            return self._tell("success")
        self._tell("pending")
        self.machine.withdraw()
        if mishap == "gone":
            self.rack.plane.delete(self.machine.path)
            return mishap
        if mishap == "wedged" or not self.pause(self.seconds):
            return mishap
        outcome = "failed" if mishap == "failed" or not self._apply(entry, mishap) else "success"
        self._tell(outcome)
        if self.pause(self.back) and mishap != "late":
            self.machine.advertise()
        return outcome

    def _tell(self, state):
        self.machine.patch(labels={STATE: state})
        return state

    def _pairs(self, entry):
        return [(spec, gpu) for spec in entry for gpu in self.machine.gpus
                if spec["devices"] == "all" or gpu.index in spec["devices"]]

    def _apply(self, entry, mishap):
        """Walks the GPUs that the entry names. Those which are as wanted it leaves alone."""
        with self.rack.lock:
            try:
                for spec, gpu in self._pairs(entry):
                    if not applies(spec, gpu):
                        self._cut(spec, gpu, mishap)
            except (InUse, NoPlace) as error:
                if mishap is None:
                    self.rack.faults.append(f"{self.machine.name} was to be cut by {entry}: {error}")
                return False
            finally:
                self.rack.observe()
        return True

    def _cut(self, spec, gpu, mishap):
        for each in sorted(gpu.instances, key=lambda each: each.pod is not None):
            if mishap == "busy" and len(gpu.instances) == 1:
                raise InUse(f"{each} has a process")
            gpu.destroy(each)
        if gpu.pod is not None:
            raise InUse(f"GPU {gpu.index} is {gpu.pod}'s")
        gpu.mig = spec["mig-enabled"]
        if mishap == "half":
            raise NoPlace(f"GPU {gpu.index} takes nothing")
        gpu.create(devices_of(spec).elements())


def devices_of(spec):
    return collections.Counter(spec.get("mig-devices") or {})


def applies(spec, gpu):
    return gpu.mig == spec["mig-enabled"] and gpu.counts() == devices_of(spec)


def valid(entry, machine):
    """As mig-parted checks a file: without looking at the hardware's placements."""
    return all(spec["devices"] == "all" or all(isinstance(each, int) for each in spec["devices"])
               for spec in entry) and all(
        profile in machine.model.profiles and count >= 0 and spec["mig-enabled"]
        for spec in entry for profile, count in devices_of(spec).items())
