"""Follows a collection of the API server on a thread of its own."""

import http.client
import threading
import time


class Watch:
    """From start() to stop() each change goes to on_event(kind, object), kind being ADDED, MODIFIED or
    DELETED. existing: the objects that were there before."""

    def __init__(self, plane, path, on_event):
        self.plane = plane
        self.path = path
        self.on_event = on_event
        self.ending = False
        self.thread = threading.Thread(target=self._run, daemon=True)
        listed = plane.get(path)
        self.existing = listed["items"]
        self.version = listed["metadata"]["resourceVersion"]

    def start(self):
        self.thread.start()
        return self

    def stop(self):
        self.ending = True

    def _run(self):
        while not self.ending:
            try:
                self.plane.api.watch(f"{self.path}?watch=1&resourceVersion={self.version}",
                                     self._event, lambda: self.ending)
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.1)

    def _event(self, kind, found):
        if kind in ("ADDED", "MODIFIED", "DELETED") and not self.ending:
            self.version = found["metadata"]["resourceVersion"]
            self.on_event(kind, found)
