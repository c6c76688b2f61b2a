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


def take(browser, folder, name):
    path = folder / f"page-{name}.png"
    browser.picture(path)
    print(path)


def main(folder):
    daemon = Daemon(EXAMPLES / "stories.yaml", config="queue: {enabled: true, holdSeconds: 3600}\n")
    browser = Browser(width=1240, height=560)
    try:
        fill(daemon)
        browser.open(f"http://127.0.0.1:{daemon.port}/ui/")
        browser.until("return document.body.dataset.nodes")
        for view in ("cluster", "queue", "times", "ask", "state"):
            browser.click(f"#tab-{view}")
            if view == "ask":
                browser.run("document.querySelector('#ask input').value = 'nvidia.com/gpu'")
                browser.run("document.querySelector('#ask [name=timeout]').value = '30m'")
                browser.click("#ask button")
            time.sleep(3)  # news of the view
            take(browser, folder, view)
        browser.call("POST", "/window/rect", {"width": 1240, "height": 940})
        browser.click("#tab-queue")
        browser.click("#rows tr[data-position='9']")
        browser.until("return document.querySelector('#detail').innerText.includes('On the nodes')")
        take(browser, folder, "story")
    finally:
        browser.close()
        daemon.stop()


main(pathlib.Path(sys.argv[1]))
