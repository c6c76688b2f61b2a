"""When pods were made, placed and over, as a watch on the API server sees it."""

import http.client
import threading
import time

from .api import collection_path

OVER = ("Succeeded", "Failed")


class History:
    """Watches the pods of a namespace from now on; times are of this machine's clock, in seconds."""

    def __init__(self, plane, namespace="default"):
        self.plane = plane
        self.path = collection_path("Pod", namespace)
        self.made = {}     # name -> when it was first seen
        self.bound = {}    # name -> when a node was first seen
        self.ended = {}    # name -> when it was first seen over, or gone
        self.uids = {}     # name -> all UIDs that were seen bound
        self.before = set()  # UIDs that were bound when this began: not in bound
        self.ending = False
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        pods = self.plane.get(self.path)
        self.version = pods["metadata"]["resourceVersion"]
        self.before = {each["metadata"]["uid"] for each in pods["items"]
                       if each["spec"].get("nodeName")}
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ending = True

    def _run(self):
        while not self.ending:
            try:
                self.plane.api.watch(f"{self.path}?watch=1&resourceVersion={self.version}",
                                     self._event, lambda: self.ending)
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.1)

    def _event(self, kind, pod):
        now = time.time()
        if kind not in ("ADDED", "MODIFIED", "DELETED"):
            return
        name = pod["metadata"]["name"]
        self.version = pod["metadata"]["resourceVersion"]
        self.made.setdefault(name, now)
        if pod["spec"].get("nodeName") and pod["metadata"]["uid"] not in self.before:
            self.bound.setdefault(name, now)
            self.uids.setdefault(name, set()).add(pod["metadata"]["uid"])
        if kind == "DELETED" or pod["status"].get("phase") in OVER:
            self.ended.setdefault(name, now)

    def starts(self):
        """Names in the order in which they were bound."""
        return sorted(self.bound, key=self.bound.get)
