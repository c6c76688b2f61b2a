"""A Prometheus that does what a real one cannot be told to."""
import http.server
import json
import threading
import time

NODE = "t4-1"


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128


class Fake:
    """Answers each question with what answer() gives, or by_path[path](): (status, type, body)."""

    def __init__(self, address=("127.0.0.1", 0)):
        self.answer = None
        self.by_path = {}
        self.range = None  # answers questions about a range of time
        self.paths = []
        self.now = self.most = 0  # questions at the same time
        self.lock = threading.Lock()
        self.server = Server(address, self.handler())
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def handler(self):
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                with fake.lock:
                    fake.paths.append(self.path)
                    fake.now += 1
                    fake.most = max(fake.most, fake.now)
                status, kind, body = (fake.by_path.get(self.path) or (self.path.startswith("/api/v1/query_range?") and fake.range)
                                      or fake.answer or well)()
                with fake.lock:
                    fake.now -= 1
                cut = isinstance(body, Cut)
                data = (body.text if cut else body).encode()
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", kind)
                    self.send_header("Content-Length", str(len(data) + (100 if cut else 0)))
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    return  # it waited no longer
                self.close_connection = cut

            def log_message(self, *_):
                pass
        return Handler

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Cut:
    def __init__(self, text):
        self.text = text


def series(values, name="DCGM_FI_DEV_FB_USED", **labels):
    return {"metric": {"__name__": name, "Hostname": NODE, "gpu": "0", "UUID": "GPU-1", **labels}, "values": values}


def matrix(*result):
    return 200, "application/json", json.dumps(
        {"status": "success", "data": {"resultType": "matrix", "result": list(result)}})


def samples(used=4000, ago=0.0, n=30):
    """One a second, the last one so long ago."""
    now = time.time() - ago
    return [[now - n + 1 + i, str(used)] for i in range(n)]


def well():
    return matrix(series(samples()))
