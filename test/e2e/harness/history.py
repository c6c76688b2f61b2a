"""When pods were made, placed and over, and nodes were being cut, as watches on the API server see it."""

import time

from .api import collection_path
from .watch import Watch

OVER = ("Succeeded", "Failed")
CUT = "sliced.dev/cut"  # on a node: the name of the cut under way


class History:
    """Watches the pods of a namespace from now on; times are of this machine's clock, in seconds."""

    def __init__(self, plane, namespace="default"):
        self.watch = Watch(plane, collection_path("Pod", namespace), self._event)
        self.made = {}     # name -> when it was first seen
        self.bound = {}    # name -> when a node was first seen
        self.ended = {}    # name -> when it was first seen over, or gone
        self.uids = {}     # name -> all UIDs that were seen bound
        # UIDs that were bound when this began: not in bound
        self.before = {each["metadata"]["uid"] for each in self.watch.existing
                       if each["spec"].get("nodeName")}

    def __enter__(self):
        self.watch.start()
        return self

    def __exit__(self, *_):
        self.watch.stop()

    def _event(self, kind, pod):
        now = time.time()
        name = pod["metadata"]["name"]
        self.made.setdefault(name, now)
        if pod["spec"].get("nodeName") and pod["metadata"]["uid"] not in self.before:
            self.bound.setdefault(name, now)
            self.uids.setdefault(name, set()).add(pod["metadata"]["uid"])
        if kind == "DELETED" or pod["status"].get("phase") in OVER:
            self.ended.setdefault(name, now)

    def starts(self):
        """Names in the order in which they were bound."""
        return sorted(self.bound, key=self.bound.get)


class Cuts:
    """When nodes were being cut, and which pods were bound, by the revisions of the API server: they
    count all its writes in their order."""

    def __init__(self):
        self.began = {}     # node -> (name of the cut, revision)
        self.over = []      # (node, name of the cut, its first revision, its last)
        self.bindings = []  # (pod, node, revision)

    def node(self, kind, node):
        """A change of a node."""
        name, revision = node["metadata"]["name"], int(node["metadata"]["resourceVersion"])
        cut = node["metadata"].get("annotations", {}).get(CUT) if kind != "DELETED" else None
        before = self.began.get(name, (None, 0))
        if before[0] not in (None, cut):
            self.over.append((name, *before, revision))
        if cut is None:
            self.began.pop(name, None)
        elif cut != before[0]:
            self.began[name] = (cut, revision)

    def bound(self, pod):
        """The change by which a pod got its node."""
        self.bindings.append((pod["metadata"]["name"], pod["spec"]["nodeName"],
                              int(pod["metadata"]["resourceVersion"])))

    def wrong(self):
        """Pods that were bound to a node which was being cut, as sentences."""
        spans = self.over + [(node, *begin, float("inf")) for node, begin in self.began.items()]
        return [f"{pod} was bound to {node} during the cut {cut}"
                for pod, at, revision in self.bindings for node, cut, first, last in spans
                if at == node and first < revision < last]
