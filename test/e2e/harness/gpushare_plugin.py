"""Stands in for kubelet and gpushare's device plugin on all nodes: which GPU does each container really
get? The kubelet starts pods in the order in which they are bound. It tells the plugin how many units it
needs, never which pod it is for; the plugin takes the oldest Pending pod of the node (ASSUME_TIME) that
has not got its GPU (ASSIGNED "false") and whose units add up to that number. That is the real one's
matching. The pods say sliced.dev/e2e-gpushare: KWOK lets them run when they have their GPU."""

import time
import urllib.parse

from .api import collection_path, object_path
from .checker import GPU_MEM, MARK, ask_of
from .watch import Watch


class GpusharePlugin:
    """Notes from now on who is bound; serve() hands out GPUs to those."""

    def __init__(self, plane, namespace="default"):
        self.plane = plane
        self.path = collection_path("Pod", namespace)
        self.bound = []   # (uid, name, node, units), in the order of the bindings
        self.served = 0   # of these
        self.given = {}   # name -> the GPU that its container got; None: the plugin found no pod
        self.seen = set()
        self.watch = Watch(plane, self.path, self._event)

    def __enter__(self):
        self.watch.start()
        return self

    def __exit__(self, *_):
        self.watch.stop()

    def _event(self, kind, pod):
        units = ask_of(pod).get(GPU_MEM) if kind != "DELETED" else None
        uid = pod["metadata"]["uid"]
        if units and pod["spec"].get("nodeName") and uid not in self.seen:
            self.seen.add(uid)
            self.bound.append((uid, pod["metadata"]["name"], pod["spec"]["nodeName"], units))

    def serve(self):
        """Starts all pods that were bound so far; returns how many."""
        end = len(self.bound)
        for _, name, node, units in self.bound[self.served:end]:
            self.given[name] = self._allocate(node, units)
        started, self.served = end - self.served, end
        return started

    def _allocate(self, node, units):
        query = urllib.parse.quote(f"spec.nodeName={node}")
        candidates = [pod for pod in self.plane.get(f"{self.path}?fieldSelector={query}")["items"]
                      if pod["status"].get("phase") == "Pending" and self._mark(pod, "ASSUME_TIME")
                      and self._mark(pod, "ASSIGNED") == "false"]
        for pod in sorted(candidates, key=lambda each: int(self._mark(each, "ASSUME_TIME"))):
            if ask_of(pod).get(GPU_MEM) == units:
                self.plane.patch(object_path({**pod, "kind": "Pod"}), {"metadata": {"annotations": {
                    MARK + "ASSIGNED": "true", MARK + "ASSUME_TIME": str(time.time_ns())}}})
                return int(self._mark(pod, "IDX"))
        return None

    @staticmethod
    def _mark(pod, key):
        return pod["metadata"].get("annotations", {}).get(MARK + key)
