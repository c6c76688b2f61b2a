"""The pictures of the page: usage: pictures.py FOLDER."""
import pathlib
import sys
import time

from browser import Browser
from sliced_daemon import EXAMPLES, Daemon, pod_of

TEAMS = ("vision", "speech", "robots", "course-7")


def fill(daemon):
    """Pods of four teams: some run, some have been given devices, most wait."""
    nodes = list(daemon.nodes())
    for i in range(26):
        asks = ({"nvidia.com/gpu": (4, 2, 8, 1)[i % 4]}, {"nvidia.com/mig-2g.10gb": 1}, {"nvidia.com/gpu.shared": 2})
        pod = pod_of(f"train-{i}", asks[0 if i % 3 else i % 9 // 3], namespace=TEAMS[i % 4],
                     annotations={"sliced.dev/timeout": f"{i * 7 % 23 + 1}h"})
        pod["metadata"]["uid"] = daemon.add(pod)["uid"]
        if i < 18:
            daemon.schedule(pod, nodes)


def fill_in(browser):
    """Two stages of a student's."""
    browser.run("""const [first] = document.querySelectorAll('#stages fieldset');
        const type = (set, fields) => { Object.entries(fields).forEach(([name, value]) => { set.elements[name].value = value; });
            set.dispatchEvent(new Event('input', { bubbles: true })); };
        type(first, { name: 'prepare', image: 'registry.example/course:7', command: 'python prepare.py', resource: 'nvidia.com/gpu',
            count: 4, timeout: '30m' });
        document.querySelector('[data-act=add]').click();
        type(first.nextElementSibling, { name: 'train', command: 'python train.py', timeout: '8h', retries: 2 });
        document.querySelector('#ask form').requestSubmit(); scrollTo(0, 0)""")
    browser.until("return document.querySelector('#answer').getAttribute('aria-busy') === 'false'")


def take(browser, folder, name):
    path = folder / f"page-{name}.png"
    browser.picture(path)
    print(path)


def main(folder):
    daemon = Daemon(EXAMPLES / "stories.yaml", config="queue: {enabled: true, holdSeconds: 3600}\n")
    browser = Browser(width=1240, height=640)
    try:
        fill(daemon)
        browser.open(f"http://127.0.0.1:{daemon.port}/ui/")
        browser.until("return document.body.dataset.nodes")
        for view in ("cluster", "queue", "times", "ask", "state"):
            browser.click(f"#tab-{view}")
            if view == "ask":
                browser.resize(1240, 1240)
                fill_in(browser)
            time.sleep(3)  # news of the view
            take(browser, folder, view)
            browser.call("POST", "/goog/cdp/execute", {"cmd": "Emulation.clearDeviceMetricsOverride", "params": {}})
        browser.call("POST", "/window/rect", {"width": 1240, "height": 940})
        browser.click("#tab-queue")
        browser.click("#rows tr[data-position='9']")
        browser.until("return document.querySelector('#detail').innerText.includes('On the nodes')")
        take(browser, folder, "story")
    finally:
        browser.close()
        daemon.stop()


main(pathlib.Path(sys.argv[1]))
