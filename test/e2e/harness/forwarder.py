"""A TCP forwarder on loopback: the cable between two programs, which a story may cut, hold or turn
to somebody else. Bytes pass through as they are, so TLS stays between the two ends."""

import select
import socket
import threading


class Link:
    """One connection, and what has been accepted but not passed on."""

    def __init__(self, near, far):
        self.near = near
        self.far = far

    def close(self):
        for sock in (self.near, self.far):
            try:
                # a reset, as a cable that is pulled out leads to in the end
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            except OSError:
                pass
            sock.close()


class Forwarder:
    """Listens on port (0: a free one) and forwards to the address that pick() gives, or refuses when
    it gives None."""

    def __init__(self, pick, port=0):
        self.pick = pick
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        self.lock = threading.Lock()
        self.links = []
        self.refusing = False
        # set: bytes flow in that direction
        self.to_server = threading.Event()
        self.to_client = threading.Event()
        self.to_server.set()
        self.to_client.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(near,), daemon=True).start()

    def _connect(self, near):
        address = None if self.refusing else self.pick()
        try:
            far = None if address is None else socket.create_connection(address, timeout=30)
        except OSError:
            far = None
        if far is None:
            near.close()
            return
        far.settimeout(None)
        for sock in (near, far):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link = Link(near, far)
        with self.lock:
            if self.refusing:
                link.close()
                return
            self.links.append(link)
        threading.Thread(target=self._pump, args=(link, near, far, self.to_server),
                         daemon=True).start()
        self._pump(link, far, near, self.to_client)

    def _pump(self, link, source, sink, open_gate):
        try:
            while True:
                select.select([source], [], [])
                open_gate.wait()
                data = source.recv(65536)
                if not data:
                    break
                sink.sendall(data)
        except (OSError, ValueError):
            pass
        with self.lock:
            if link in self.links:
                self.links.remove(link)
        for sock in (source, sink):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()

    def cut(self):
        """Resets every connection; returns how many there were."""
        with self.lock:
            links, self.links = self.links, []
        for link in links:
            # wakes the two pumps as well
            for sock in (link.near, link.far):
                try:
                    sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            link.close()
        return len(links)

    def refuse(self, refusing=True):
        """Cuts what there is and refuses what comes; refuse(False) lets through again."""
        self.refusing = refusing
        if refusing:
            self.cut()

    def close(self):
        self.listener.close()
        self.to_server.set()
        self.to_client.set()
        self.cut()
