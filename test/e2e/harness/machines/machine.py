"""Plays the kubelet, the device plugin and GPU feature discovery of nodes whose GPUs can be cut. The
kubelet gives a pod which is bound an instance that is free: by preference not the one that its
annotation tells, as the real one knows nothing of that. KWOK lets the pods run."""

import collections
import datetime
import json
import random
import threading
import time
import traceback

from .. import gpus
from ..api import ApiError, collection_path, object_path
from ..checker import ASSIGNMENT, DYNAMIC, Untouched, ask_of, holds, parse
from ..history import Cuts
from ..process import wait_for
from ..watch import Watch
from .hardware import Gpu, Instance


STRANGER = "stranger"  # a scheduler that nobody tells of cuts


class Rack:
    """The machines of a story; nodes, their pods and ConfigMaps are watched while it is entered. wrong
    is what nobody may have done, as sentences."""

    def __init__(self, plane, seed=1):
        self.plane = plane
        self.random = random.Random(seed)
        self.lock = threading.RLock()  # of all machines
        self.machines = {}
        self.untouched = Untouched()
        self.cuts = Cuts()
        self.faults = []    # what agents and kubelets met that nobody may ask of them
        self.trouble = []   # faults of these stand-ins themselves
        self.ending = threading.Event()
        self.workers = []
        self.watches = [Watch(plane, path, self._guarded(tell)) for path, tell in (
            (collection_path("Node"), self._node), ("/api/v1/pods", self._pod),
            ("/api/v1/configmaps", self._config))]

    def __enter__(self):
        for watch in self.watches:
            watch.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        for watch in self.watches:
            watch.stop()
        for worker in self.workers:
            worker.join()
        for machine in self.machines.values():
            machine.agent.end()

    def add(self, *machines):
        """Creates their nodes."""
        for machine in machines:
            with self.lock:
                self.machines[machine.name] = machine
                machine.rack = self
                self.plane.create(machine.manifest())
                machine.agent.begin(machine)
        return machines[0]

    def work(self, target, *args):
        """On a thread of its own."""
        def guarded():
            try:
                target(*args)
            except Exception:  # what it is, the story's end tells
                if not self.ending.is_set():
                    self.trouble.append(traceback.format_exc())
        worker = threading.Thread(target=guarded, daemon=True)
        self.workers.append(worker)
        worker.start()

    def wrong(self):
        with self.lock:
            return [*self.trouble, *self.faults, *self.untouched.wrong, *self.cuts.wrong()]

    def _guarded(self, tell):
        def on_event(kind, found):
            try:
                with self.lock:
                    tell(kind, found)
            except Exception:
                self.trouble.append(traceback.format_exc())
        return on_event

    def _node(self, kind, node):
        self.cuts.node(kind, node)
        machine = self.machines.get(node["metadata"]["name"])
        if machine is not None and kind != "DELETED":
            machine.agent.on_node(node)

    def _pod(self, kind, pod):
        machine = self.machines.get(pod["spec"].get("nodeName"))
        if machine is None:
            return
        machine.agent.on_pod(kind, pod)
        uid = pod["metadata"]["uid"]
        if kind == "DELETED" or not holds(pod):
            machine.release(uid)
        elif uid not in machine.admitted and ask_of(pod):
            if pod["spec"]["schedulerName"] != STRANGER:
                self.cuts.bound(pod)
            machine.admit(pod)
        if kind != "DELETED" and ask_of(pod):
            machine.start(pod)
        self.observe()

    def _config(self, kind, found):
        for machine in self.machines.values():
            machine.agent.on_config(kind, found)

    def observe(self):
        """Lets the checker look at who has what."""
        self.untouched.observe({each: place for machine in self.machines.values()
                                for each, place in machine.held().items()})


class Agent:
    """What a machine's agent hears, with the rack's lock; the kinds of agents do something then. It acts
    when what is wanted of it changes and at no other time, one after the other: what comes while it
    acts, after that, and of several the last.

    mishaps: of the acts to come, in order; None where nothing goes wrong."""
    labels = {}     # of its node
    shares = False  # does it cut memory, by MPS?

    def __init__(self):
        self.wanted = None
        self.mishaps = collections.deque()
        self.changed = threading.Condition()

    def begin(self, machine):
        self.machine = machine
        self.rack = machine.rack
        self.rack.work(self._work)

    def end(self):
        """Removes what it made beside the node."""

    def on_node(self, node):
        pass

    def on_pod(self, kind, pod):
        pass

    def on_config(self, kind, found):
        pass

    def act(self, wanted, mishap):
        """Without the lock, on a thread of its own."""

    def restart(self):
        """It starts anew, and does what is wanted of it then, whatever came of that before."""
        with self.changed:
            self.done = object()
            self.changed.notify()

    def want(self, wanted):
        with self.changed:
            if wanted != self.wanted:
                self.wanted = wanted
                self.changed.notify()

    def _work(self):
        self.done = self.wanted
        while True:
            with self.changed:
                while self.wanted == self.done:
                    if self.rack.ending.is_set():
                        return
                    self.changed.wait(0.2)
                self.done = wanted = self.wanted
            self.act(wanted, self.mishaps.popleft() if self.mishaps else None)

    def pause(self, seconds):
        """False when the story ended meanwhile."""
        return not self.rack.ending.wait(seconds)


class Mounted:
    """A ConfigMap in a volume of a pod: what is written to it arrives lag seconds later."""

    def __init__(self, namespace, name, lag):
        self.namespace, self.name, self.lag = namespace, name, lag
        self.path = f"{collection_path('ConfigMap', namespace)}/{name}"
        self.versions = [(0, {})]  # (from when on, its data), in order

    def on_config(self, kind, found):
        if (found["metadata"]["namespace"], found["metadata"]["name"]) == (self.namespace, self.name):
            data = found.get("data", {}) if kind != "DELETED" else {}
            self.versions.append((time.monotonic() + self.lag, data))

    def sync(self, plane, after=0.0):
        """The kubelet brings it up to date now, which takes it so many seconds."""
        try:
            self.versions.append((time.monotonic() + after, plane.get(self.path).get("data", {})))
        except ApiError as error:
            assert error.code == 404, error

    def remove(self, plane):
        try:
            plane.delete(self.path)
        except ApiError as error:
            assert error.code == 404, error

    def data(self):
        return [data for since, data in self.versions if since <= time.monotonic()][-1]


class Machine:
    """A node. cuts: the profiles of each GPU, or the sizes of the slices of its memory; None: MIG mode is
    off. single: the strategy; else mixed. told: it is known which GPU has what, by sliced.dev/devices."""

    clock = None  # seconds by which its kubelet's is ahead; None: some, within two

    def __init__(self, name, model, cuts, agent=None, single=False, told=False, labels=None):
        self.name = name
        self.model = model
        self.single = single
        self.agent = agent or Agent()
        self.gpus = [Gpu(index, model) for index in range(len(cuts))]
        for gpu, cut in zip(self.gpus, cuts):
            gpu.mig = cut is not None and not self.agent.shares
            if self.agent.shares:
                gpu.instances = [Instance(gpu, size, None) for size in cut]
            else:
                gpu.create(cut or ())
        self.labels = labels or {}
        self.annotations = {"sliced.dev/devices": json.dumps([
            {"index": gpu.index, "mig": gpu.mig,
             "instances": [{"profile": each.profile} for each in gpu.instances]}
            for gpu in self.gpus])} if told else {}
        self.rack = None
        self.admitted = {}     # uid -> the instances and GPUs that the pod has
        self.started = set()   # uids of pods that the kubelet has told to have started, by its clock
        self.offered = set()   # resources that were ever offered: they stay, with 0
        self.plugin = True     # does the device plugin run?

    # ---- what the device plugin and GPU feature discovery tell ----

    def resource(self, profile):
        if self.agent.shares:
            return f"nvidia.com/gpu-{profile}"
        return "nvidia.com/gpu" if self.single else f"nvidia.com/mig-{profile}"

    def units(self):
        """{resource: those of the instances and whole GPUs}"""
        found = {"nvidia.com/gpu": []}
        for gpu in self.gpus:
            if not gpu.mig and not gpu.instances:
                found["nvidia.com/gpu"].append(gpu)
            for each in gpu.instances:
                found.setdefault(self.resource(each.profile), []).append(each)
        return found

    def discovered(self):
        """The labels of GPU feature discovery."""
        strategy = "none" if self.agent.shares else "single" if self.single else "mixed"
        replicas = 0 if all(gpu.mig for gpu in self.gpus) else 1
        labels = gpus.gpu_labels(self.model.product, len(self.gpus), self.model.mib, replicas,
                                 strategy=strategy)
        profiles = [each.profile for gpu in self.gpus for each in gpu.instances]
        if self.single and profiles:
            alike = len({tuple(sorted(gpu.counts().items())) for gpu in self.gpus}) == 1
            if alike and len(set(profiles)) == 1:
                size = self.model.profiles[profiles[0]].size
                mib = self.model.mib * size // max(
                    place.size for place in self.model.profiles.values())
                labels.update(gpus.gpu_labels(f"{self.model.product}-MIG-{profiles[0]}", len(profiles),
                                              mib, strategy=strategy))
            else:
                labels.update(gpus.gpu_labels(f"{self.model.product}-MIG-INVALID", 0, 0, 0,
                                              strategy=strategy))
        elif profiles and not self.agent.shares:
            labels.update({f"nvidia.com/mig-{profile}.count": str(profiles.count(profile))
                           for profile in profiles})
        return labels

    def manifest(self):
        counts = {resource: len(units) for resource, units in self.units().items()}
        self.offered = set(counts)
        self.labels_told = self.discovered()
        labels = {**self.labels_told, DYNAMIC: "dynamic", **self.agent.labels, **self.labels}
        return gpus.node(self.name, counts, labels, self.annotations)

    @property
    def path(self):
        return f"{collection_path('Node')}/{self.name}"

    def patch(self, labels=None, annotations=None):
        """None as a value removes the key."""
        return self.rack.plane.patch(self.path, {"metadata": {
            "labels": labels or {}, "annotations": annotations or {}}})

    def advertise(self):
        """The device plugin is back: it registers one resource after the other."""
        with self.rack.lock:
            counts = {resource: len(units) for resource, units in self.units().items()}
            self.offered |= set(counts)
            labels = self.discovered()
            self.patch(labels={**{key: None for key in set(self.labels_told) - set(labels)}, **labels})
            self.labels_told = labels
            names = sorted(self.offered)
            self.rack.random.shuffle(names)
            self.plugin = True
            for each in names:
                self._offer({each: counts.get(each, 0)})

    def withdraw(self):
        """The device plugin goes away; what pods have stays theirs."""
        with self.rack.lock:
            self.plugin = False
            self._offer(dict.fromkeys(self.offered, 0))

    def _offer(self, counts):
        texts = {resource: str(count) for resource, count in counts.items()}
        self.rack.plane.patch(f"{self.path}/status", {"status": {"allocatable": texts,
                                                                 "capacity": texts}})

    # ---- what the kubelet does ----

    def admit(self, pod):
        """The kubelet lets the pod run, with instances that it chooses."""
        uid, name = pod["metadata"]["uid"], pod["metadata"]["name"]
        told = pod["metadata"].get("annotations", {}).get(ASSIGNMENT)
        forecast = {(device, place and place[1]) for _, places in (parse(told) if told else ())
                    for device, place, _ in places}
        self.admitted[uid] = []
        if not self.plugin:
            self.rack.faults.append(f"{name} was bound to {self.name} while its device plugin was away")
        for resource, count in ask_of(pod).items():
            free = [each for each in self.units().get(resource, ()) if each.pod is None]
            self.rack.random.shuffle(free)
            free.sort(key=lambda each: self.place_of(each)[1:3] in forecast)
            if len(free) < count:
                self.rack.faults.append(f"{name} was bound to {self.name}, where {len(free)} of "
                                        f"{count} {resource} are free")
            for each in free[:count]:
                each.pod = uid
                self.admitted[uid].append(each)

    def start(self, pod):
        """The kubelet tells when the pod has started: in whole seconds, of a clock of its own."""
        uid, started = pod["metadata"]["uid"], pod["status"].get("startTime")
        if started is None or uid in self.started:
            return
        self.started.add(uid)
        if self.clock is None:
            self.clock = self.rack.random.choice((-2, -1, 1, 2))
        moved = datetime.datetime.fromisoformat(started.rstrip("Z")) + datetime.timedelta(seconds=self.clock)
        path = object_path({"kind": "Pod", "metadata": pod["metadata"]})
        try:
            self.rack.plane.patch(f"{path}/status", {"status": {"startTime": f"{moved.isoformat()}Z"}})
        except ApiError as error:
            assert error.code == 404, error

    def release(self, uid):
        for each in self.admitted.pop(uid, ()):
            each.pod = None

    def place_of(self, unit):
        """(node, GPU, start or None, number): an instance which was made anew has another number."""
        if isinstance(unit, Gpu):
            return self.name, unit.index, None, 0
        return self.name, unit.gpu.index, unit.start, unit.number

    def held(self):
        """{uid: the places that the pod has, as the hardware is now}"""
        found = {uid: set() for uid in self.admitted}
        for units in self.units().values():
            for each in units:
                if each.pod is not None:
                    found[each.pod].add(self.place_of(each))
        return found

    def cut(self):
        """The profiles of each GPU, sorted; None where MIG mode is off."""
        with self.rack.lock:
            return [sorted(gpu.counts().elements()) if gpu.mig or self.agent.shares else None
                    for gpu in self.gpus]

    def where(self, pod):
        """The places of a pod of the API server."""
        with self.rack.lock:
            return self.held().get(pod["metadata"]["uid"])


def wait_cut(machine, cuts, timeout=60):
    """Until the hardware is cut so."""
    wanted = [sorted(each) if each is not None else None for each in cuts]

    def there():
        found = machine.cut()
        assert found == wanted, found
        return True
    return wait_for(f"{machine.name} is cut into {wanted}", there, timeout)
