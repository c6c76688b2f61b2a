"""The independent checker: reads nodes and pods as the API server has them, and says what cannot be.
It shares nothing with sliced: the format of the annotation is from include/sliced/fit.h, the rules
from how GPUs work (docs/devices.md)."""

import collections
import json
import re

ASSIGNMENT = "sliced.dev/assignment"
OURS = re.compile(r"^(nvidia\.com/(gpu|gpu\.shared|mig-.+)|aliyun\.com/gpu-mem)$")
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
        product = labels.get("nvidia.com/gpu.product", "")
        self.single = "-MIG-" in product and product.split("-MIG-")[1]
        self.slices = 4 if "A30" in product else 8
        self.replicas = int(labels.get("nvidia.com/gpu.replicas", "1") or 1)
        self.count = int(labels.get("nvidia.com/gpu.count", "0"))
        if self.single:
            # count and memory are those of instances; gigabytes of the GPU are not in the labels
            self.gigabytes = 24 if "A30" in product else None
            self.count = None
        else:
            self.gigabytes = round(int(labels.get("nvidia.com/gpu.memory", "0")) / 1024)
        gpus = int(allocatable.get("aliyun.com/gpu-count", "0")) or self.count
        total = self.units.get("aliyun.com/gpu-mem", 0)
        self.memory_units = total // gpus if gpus and total else None
        annotation = node["metadata"].get("annotations", {}).get("sliced.dev/devices")
        self.starts = None  # {(device, start): profile}, where the annotation says it
        if annotation:
            self.starts = {(device["index"], instance["start"]): instance["profile"]
                           for device in json.loads(annotation)
                           for instance in device.get("instances", []) if "start" in instance}

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
        for resource, count in ask.items():
            self.used[node.name, resource] += count
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
        for resource, places in items:
            for device, place, amount in places:
                if device is not None:
                    self._place(name, node, resource, device, place, amount)
        return None

    def _place(self, pod, node, resource, device, place, amount):
        key = (node.name, device)
        profile = node.profile_of(resource)
        if node.count is not None and device >= node.count:
            self._say(pod, f"was given GPU {device} of {node.name}, which has {node.count}")
        if resource == "aliyun.com/gpu-mem":
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
            size = self.nodes[name].memory_units
            if size is not None and units > size:
                self.wrong.append(f"{name}/{device}: {units} of {size} units of memory are given")
        for key, pod in self.whole.items():
            for other in self.touched.get(key, set()) - {pod}:
                self.wrong.append(f"{pod}: has all of GPU {key[0]}/{key[1]}, and {other} a part")


def check(nodes, pods):
    """What is wrong, as sentences; an empty list is what is wanted."""
    return Checker(nodes, pods).wrong
