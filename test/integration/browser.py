"""A real browser by the WebDriver protocol: Debian's chromium and its driver, nothing but the standard library."""
import base64
import http.client
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

DEADLINE_S = 60
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the protocol's own name for one
KEYS = {"Escape": "\ue00c", "Enter": "\ue007", "Tab": "\ue004", "ArrowDown": "\ue015", "ArrowRight": "\ue014",
        "ArrowLeft": "\ue012", "End": "\ue010", "Home": "\ue011", "Shift": "\ue008"}


class Browser:
    def __init__(self, width=1280, height=800, dark=False):
        self.home = tempfile.TemporaryDirectory()
        self.driver = subprocess.Popen(
            [shutil.which("chromedriver"), "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, env={**os.environ, "HOME": self.home.name})
        self.port = None
        for line in self.driver.stdout:
            match = re.search(r"started successfully on port (\d+)", line)
            if match:
                self.port = int(match.group(1))
                break
        assert self.port, "chromedriver has not started"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                     "--disable-dev-shm-usage", f"--window-size={width},{height}", "--force-device-scale-factor=1",
                     f"--user-data-dir={self.home.name}/profile"]
        if dark:
            arguments.append("--blink-settings=preferredColorScheme=0")
        self.session = None
        made = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.session = made["sessionId"]
        self.origin = None  # of the page that is open
        self.version = made["capabilities"]["browserName"] + " " + made["capabilities"]["browserVersion"]

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        prefix = f"/session/{self.session}" if self.session else ""
        connection.request(method, prefix + path, None if body is None else json.dumps(body))
        value = json.loads(connection.getresponse().read())["value"]
        connection.close()
        if isinstance(value, dict) and "error" in value:
            raise AssertionError(f"{path}: {value['error']}: {value['message'][:500]}")
        return value

    def open(self, url):
        self.origin = url.partition("/ui/")[0]
        self.call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """What the script returns; it is the body of a function."""
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def until(self, script, *arguments):
        """Waits until the script returns something true, and returns it."""
        end = time.monotonic() + DEADLINE_S
        while True:
            value = self.run(script, *arguments)
            if value:
                return value
            assert time.monotonic() < end, f"never true: {script}; {self.complaints()}"
            time.sleep(0.02)

    def resize(self, width, height):
        """The page's own size: a window cannot be as narrow as a telephone."""
        self.call("POST", "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 700}})

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.innerText ?? null", selector)

    def click(self, selector):
        found = self.call("POST", "/element", {"using": "css selector", "value": selector})
        self.call("POST", f"/element/{found[ELEMENT]}/click", {})

    def click_at(self, selector, x, y):
        """x, y: from the element's upper left corner."""
        box = self.run("const b = document.querySelector(arguments[0]).getBoundingClientRect(); return [b.left, b.top]", selector)
        move = {"type": "pointerMove", "duration": 0, "x": round(box[0] + x), "y": round(box[1] + y)}
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": [
            move, {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]}]})

    def press(self, *keys):
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def complaints(self):
        """What the browser's console has of the page that is open: refused loads and errors among it. A page
        that was open before may have asked a daemon that had ended by then."""
        said = [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})
                if entry["level"] == "SEVERE"]
        return [line for line in said if f"{self.origin}/" in line or "http://127.0.0.1:" not in line]

    def picture(self, path):
        pathlib.Path(path).write_bytes(base64.b64decode(self.call("GET", "/screenshot")))

    def close(self):
        try:
            self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.driver.stdout.close()
            self.home.cleanup()
