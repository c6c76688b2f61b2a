"""The independent checker: reads nodes and pods as the API server has them, and says what cannot be.
It shares nothing with sliced: the format of the annotation is from include/sliced/fit.h, the rules
from how GPUs work (docs/devices.md)."""

import collections
import json
import re

ASSIGNMENT = "sliced.dev/assignment"
DYNAMIC = "sliced.dev/partitioning"
BY_USE = "sliced.dev/e2e-by-use"  # on a node whose GPUs are shared by what is used, not by what is declared
GPU_MEM = "aliyun.com/gpu-mem"
MARK = "ALIYUN_COM_GPU_MEM_"
OURS = re.compile(r"^(nvidia\.com/(gpu|gpu\.shared|gpu-\d+gb|mig-.+)|aliyun\.com/gpu-mem)$")
PART = re.compile(r"^(?:(?P<unknown>\?)|(?P<device>\d+)(?:/(?:(?P<start>\d+)|#(?P<nth>\d+)))?)"
                  r"(?:\*(?P<amount>[1-9]\d*))?$")


def ask_of(pod):
    """Units of each of our resources that the pod holds: max(containers and sidecars, the largest
    step of the init containers) + overhead, per resource."""
    spec = pod["spec"]
    ask = {}

    def of(container):
        resources = container.get("resources", {})
        merged = {**resources.get("limits", {}), **resources.get("requests", {})}
        return {name: int(count) for name, count in merged.items() if OURS.match(name)}

    names = set()
    for container in spec.get("containers", []) + spec.get("initContainers", []):
        names |= set(of(container))
    for name in names:
        sidecars, peak = 0, 0
        for container in spec.get("initContainers", []):
            count = of(container).get(name, 0)
            if container.get("restartPolicy") == "Always":
                sidecars += count
                peak = max(peak, sidecars)
            else:
                peak = max(peak, sidecars + count)
        running = sidecars + sum(of(each).get(name, 0) for each in spec["containers"])
        total = max(peak, running) + int(spec.get("overhead", {}).get(name, 0))
        if total > 0:
            ask[name] = total
    return ask


def mib_of(text):
    """A quantity of bytes, or a number of MiB, in MiB; None without one."""
    if text is None:
        return None
    match = re.match(r"^(\d+)(Mi|Gi)?$", str(text))
    if not match:
        raise ValueError(f"{text!r} is no amount of memory that the stories use")
    return int(match[1]) * (1024 if match[2] == "Gi" else 1)


def holds(pod):
    """Does it hold what it was given? One that is being deleted does, until it is gone."""
    return bool(pod["spec"].get("nodeName")) and \
        pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")


def parse(text):
    """[(resource, [(device, place, amount)])]; place: None, ("start", n) or ("nth", n); device None
    where the node tells only counts. ValueError when it is not of the format."""
    items = []
    for item in text.split(";"):
        resource, equals, parts = item.partition("=")
        if not equals:
            raise ValueError(f"no '=' in {item!r}")
        places = []
        for part in parts.split(","):
            match = PART.match(part)
            if not match:
                raise ValueError(f"{part!r} is no part")
            place = None
            if match["start"] is not None:
                place = ("start", int(match["start"]))
            elif match["nth"] is not None:
                place = ("nth", int(match["nth"]))
            device = None if match["unknown"] else int(match["device"])
            places.append((device, place, int(match["amount"] or 1)))
        items.append((resource, places))
    if len({resource for resource, _ in items}) != len(items):
        raise ValueError("a resource twice")
    return items


class NodeFacts:
    """What a node's own object says of its GPUs."""

    def __init__(self, node):
        labels = node["metadata"].get("labels", {})
        allocatable = node["status"].get("allocatable", {})
        self.name = node["metadata"]["name"]
        self.units = {name: int(count) for name, count in allocatable.items() if OURS.match(name)}
        annotations = node["metadata"].get("annotations", {})
        product = labels.get("nvidia.com/gpu.product", "")
        self.labels = labels
        self.single = "-MIG-" in product and product.split("-MIG-")[1]
        self.slices = 4 if "A30" in product else 8
        self.replicas = int(labels.get("nvidia.com/gpu.replicas", "1") or 1)
        self.mps = labels.get("nvidia.com/gpu.sharing-strategy") == "mps"
        said = [each.get("sliced.dev/fail-requests-greater-than-one") for each in (labels, annotations)]
        self.one_each = "true" in said or (self.mps and "false" not in said)
        # cut anew while pods run: what they have there, harness/machines knows
        self.cuts = labels.get(DYNAMIC) == "dynamic"
        self.by_use = BY_USE in annotations
        self.count = int(labels.get("nvidia.com/gpu.count", "0"))
        self.mib = int(labels.get("nvidia.com/gpu.memory", "0"))  # of a GPU; single: of an instance
        if self.single:
            self.count = None  # of instances
            named = re.search(r"(\d+)GB", product)
            self.gigabytes = 24 if "A30" in product else int(named[1]) if named else None
        else:
            self.gigabytes = round(self.mib / 1024)
        self._read_devices(annotations.get("sliced.dev/devices"))
        gpus = int(allocatable.get("aliyun.com/gpu-count", "0")) or self.count
        self._share_out(self.units.get(GPU_MEM, 0), gpus)

    def _read_devices(self, annotation):
        """starts: {(device, start): profile}; sizes: {device: MiB}; cut: devices with instances. None
        where the annotation does not say it."""
        self.starts = self.sizes = None
        self.cut = set()
        if annotation:
            devices = json.loads(annotation)
            self.starts = {(device["index"], instance["start"]): instance["profile"]
                           for device in devices
                           for instance in device.get("instances", []) if "start" in instance}
            self.sizes = {device["index"]: mib_of(device.get("memory")) or self.mib
                          for device in devices}
            self.cut = {device["index"] for device in devices
                        if device.get("instances") or device.get("mig")}

    def _share_out(self, total, gpus):
        """memory_units: {device: units of memory to share}, or one number for all. A unit is a MiB, or a
        GiB counted down; else each GPU has its part by size."""
        self.memory_units = total // gpus if gpus and total else None
        if total and self.sizes:
            shared = {device: mib for device, mib in self.sizes.items() if device not in self.cut}
            all_mib = sum(shared.values())
            gibs = {device: mib // 1024 for device, mib in shared.items()}
            if total == all_mib:
                self.memory_units = shared
            elif total == sum(gibs.values()):
                self.memory_units = gibs
            else:
                self.memory_units = {device: total * mib // all_mib for device, mib in shared.items()}

    def units_of(self, device):
        """Units of memory on a GPU; None where nothing says it."""
        if isinstance(self.memory_units, dict):
            return self.memory_units.get(device, 0)
        return self.memory_units

    def mib_of_gpu(self, device):
        return self.sizes[device] if self.sizes and device in self.sizes else self.mib

    def mib_of_unit(self, resource, device):
        """GPU memory of what is given with one unit; None where nothing says it."""
        profile = self.profile_of(resource)
        if self.single:
            return self.mib
        if profile:
            told = self.labels.get(f"nvidia.com/mig-{profile}.memory")
            return int(told) if told else int(re.search(r"\.(\d+)gb", profile)[1]) * 1024
        whole = self.mib_of_gpu(device) if device is not None else self.mib
        return whole // self.replicas if self.mps and self.shared(resource) else whole

    def profile_of(self, resource):
        """The MIG profile of a unit, or None."""
        if resource.startswith("nvidia.com/mig-"):
            name = resource[len("nvidia.com/mig-"):]
            return name[:-len(".shared")] if name.endswith(".shared") else name
        return self.single or None

    def span(self, profile):
        """Memory slices of an instance of the profile."""
        gigabytes = int(re.search(r"\.(\d+)gb", profile)[1])
        if not self.gigabytes:
            return 1
        return max(1, round(gigabytes / (self.gigabytes / self.slices)))

    def shared(self, resource):
        """Is a unit a replica?"""
        return resource.endswith(".shared") or (resource == "nvidia.com/gpu" and self.replicas > 1)


class Checker:
    """Collects what is wrong; wrong is a list of sentences."""

    def __init__(self, nodes, pods):
        self.wrong = []
        self.nodes = {node["metadata"]["name"]: NodeFacts(node) for node in nodes}
        self.used = collections.Counter()       # (node, resource) -> units
        self.whole = {}                         # (node, device) -> pod
        self.slices = {}                        # (node, device, slice or "#nth") -> pod
        self.replicas = collections.Counter()   # (node, resource, device, place) -> units
        self.memory = collections.Counter()     # (node, device) -> units
        self.declared = collections.Counter()   # (node, device or None) -> MiB of replicas' pods
        self.assumed = {}                       # (node, time stamp for gpushare's plugin) -> pod
        self.touched = collections.defaultdict(set)  # (node, device) -> pods, other than whole
        self.holding = 0
        for pod in pods:
            if holds(pod) and ask_of(pod):
                self.holding += 1
                self._pod(pod)
        self._sums()

    def _say(self, pod, text):
        self.wrong.append(f"{pod}: {text}")

    def _pod(self, pod):
        name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        node = self.nodes.get(pod["spec"]["nodeName"])
        if node is None:
            return self._say(name, f"is on {pod['spec']['nodeName']}, which is no node")
        ask = ask_of(pod)
        if not node.cuts:
            self.used.update({(node.name, resource): count for resource, count in ask.items()})
        text = pod["metadata"].get("annotations", {}).get(ASSIGNMENT)
        if text is None:
            return self._say(name, "is bound without an assignment")
        try:
            items = parse(text)
        except ValueError as error:
            return self._say(name, f"assignment {text!r}: {error}")
        given = {resource: sum(amount for _, _, amount in places) for resource, places in items}
        if given != ask:
            self._say(name, f"asks for {ask} and was given {given}")
        for resource, places in [] if node.cuts else items:
            for device, place, amount in places:
                self._memory_of(name, node, pod, resource, device, amount)
                if device is not None:
                    self._place(name, node, resource, device, place, amount)
            if resource == GPU_MEM:
                self._marks(name, node, pod, places)
            if node.one_each and node.shared(resource):
                self._one_each(name, node, pod, resource)
        return None

    def _memory_of(self, name, node, pod, resource, device, amount):
        """What the pod says of GPU memory: the least of each unit, the part that it uses of replicas."""
        annotations = pod["metadata"].get("annotations", {})
        least = mib_of(annotations.get("sliced.dev/min-gpu-memory"))
        uses = mib_of(annotations.get("sliced.dev/gpu-memory"))
        if resource == GPU_MEM:
            return
        there = node.mib_of_unit(resource, device)
        if least is not None and there < least:
            self._say(name, f"accepts {least} MiB and was given {there} on {node.name}")
        if uses is None:
            return
        if uses > there:
            self._say(name, f"uses {uses} MiB and was given {there} on {node.name}")
        if node.shared(resource) and not node.profile_of(resource) and not node.by_use:
            self.declared[node.name, device] += uses * amount

    def _marks(self, name, node, pod, places):
        """What gpushare's device plugin reads says the same as our own annotation."""
        annotations = pod["metadata"].get("annotations", {})
        marks = {key[len(MARK):]: text for key, text in annotations.items() if key.startswith(MARK)}
        devices = [device for device, _, _ in places]
        if None in devices:
            if marks:
                self._say(name, f"is on no GPU that is known and says {marks}")
            return
        wanted = {"IDX": ",".join(map(str, devices)), "DEV": str(node.units_of(devices[0])),
                  "POD": str(sum(amount for _, _, amount in places))}
        found = {key: marks.get(key) for key in wanted}
        if found != wanted:
            self._say(name, f"has {wanted} and says {found} to the device plugin")
        stamp = (node.name, marks.get("ASSUME_TIME"))
        if stamp in self.assumed:
            self._say(name, f"has the time stamp of {self.assumed[stamp]}")
        self.assumed[stamp] = name
        if not re.match(r"^\d{19}$", marks.get("ASSUME_TIME", "")) or \
                marks.get("ASSIGNED") not in ("true", "false"):
            self._say(name, f"cannot be read by the device plugin: {marks}")

    def _one_each(self, name, node, pod, resource):
        spec = pod["spec"]
        for container in spec.get("containers", []) + spec.get("initContainers", []):
            count = int(container.get("resources", {}).get("limits", {}).get(resource, "0"))
            if count > 1:
                self._say(name, f"asks {node.name} for {count} {resource} at once, which it refuses")

    def _place(self, pod, node, resource, device, place, amount):
        key = (node.name, device)
        profile = node.profile_of(resource)
        if node.sizes is None and node.count is not None and device >= node.count:
            self._say(pod, f"was given GPU {device} of {node.name}, which has {node.count}")
        if node.sizes is not None and device not in node.sizes:
            self._say(pod, f"was given GPU {device} of {node.name}, which is not in its list")
        if resource == GPU_MEM:
            self.memory[key] += amount
            self.touched[key].add(pod)
        elif node.shared(resource):
            self.replicas[node.name, resource, device, place] += amount
            self.touched[key].add(pod)
        elif profile:
            self.touched[key].add(pod)
            self._instance(pod, node, device, place, profile, amount)
        else:
            if amount != 1:
                self._say(pod, f"was given GPU {device} of {node.name} {amount} times")
            if key in self.whole:
                self._say(pod, f"was given GPU {device} of {node.name}, as was {self.whole[key]}")
            if device in node.cut:
                self._say(pod, f"was given GPU {device} of {node.name} whole, which is partitioned")
            self.whole[key] = pod

    def _instance(self, pod, node, device, place, profile, amount):
        if place is None or amount != 1:
            return self._say(pod, f"{profile} on GPU {device} names no one instance")
        how, number = place
        if how == "nth":
            taken = [f"#{number}"]
        else:
            size = node.span(profile)
            taken = range(number, number + size)
            if number + size > node.slices:
                self._say(pod, f"{profile} cannot start at {number} of {node.name}/{device}")
            if node.starts is not None:
                there = node.starts.get((device, number), "nothing").replace("+", ".")
                if there != profile:
                    self._say(pod, f"{profile} at {node.name}/{device}/{number}, "
                                   f"where {there} is")
        for each in taken:
            key = (node.name, device, each)
            if key in self.slices:
                self._say(pod, f"slice {each} of {node.name}/{device} is {self.slices[key]}'s too")
            self.slices[key] = pod
        return None

    def _sums(self):
        for (name, resource), units in self.used.items():
            there = self.nodes[name].units.get(resource, 0)
            if units > there:
                self.wrong.append(f"{name}: {units} of {there} {resource} are given")
        for (name, resource, device, place), units in self.replicas.items():
            if units > self.nodes[name].replicas:
                self.wrong.append(f"{name}/{device}{place or ''}: {units} replicas of "
                                  f"{self.nodes[name].replicas} {resource} are given")
        for (name, device), units in self.memory.items():
            size = self.nodes[name].units_of(device)
            if size is not None and units > size:
                self.wrong.append(f"{name}/{device}: {units} of {size} units of memory are given")
        for (name, device), mib in self.declared.items():
            node = self.nodes[name]
            there = node.mib * (node.count or 1) if device is None else node.mib_of_gpu(device)
            if mib > there:
                self.wrong.append(f"{name}/{device}: {mib} of {there} MiB are declared")
        for key, pod in self.whole.items():
            for other in self.touched.get(key, set()) - {pod}:
                self.wrong.append(f"{pod}: has all of GPU {key[0]}/{key[1]}, and {other} a part")


def check(nodes, pods):
    """What is wrong, as sentences; an empty list is what is wanted."""
    return Checker(nodes, pods).wrong


class Untouched:
    """Compares which instances pods have, from one observation to the next."""

    def __init__(self):
        self.before = {}  # pod -> places
        self.wrong = []

    def observe(self, held):
        """held: {pod: the places that it has}; a place names one instance, of all that ever were."""
        for pod in held.keys() & self.before.keys():
            if held[pod] != self.before[pod]:
                self.wrong.append(f"{pod} had {sorted(self.before[pod])} and has {sorted(held[pod])}")
        places = [place for each in held.values() for place in each]
        self.wrong += [f"{place} is given {count} times"
                       for place, count in collections.Counter(places).items() if count > 1]
        self.before = {pod: set(each) for pod, each in held.items()}
