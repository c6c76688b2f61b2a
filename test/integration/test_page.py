"""The page in a real browser: what it shows is what the API says; whoever names pods writes no markup."""
import pytest

from browser import Browser
from sliced_daemon import EXAMPLES, eventually, pod_of
from test_telemetry import NODE as MEASURED, Fake, matrix, measuring, samples, series

CLUSTER = EXAMPLES / "stories.yaml"
QUEUE = "queue: {enabled: true, holdSeconds: 3600}\n"


@pytest.fixture(name="browser", scope="module")
def browser_of_the_module():
    browser = Browser()
    yield browser
    browser.close()


def trains(daemon, count, **meta):
    """Pods of 4 GPUs each, of four teams; the first ones run."""
    nodes = list(daemon.nodes())
    for i in range(count):
        pod = pod_of(f"train-{i}", {"nvidia.com/gpu": 4}, namespace=f"team-{i % 4}",
                     annotations={"sliced.dev/timeout": f"{i + 1}h"}, **meta)
        pod["metadata"]["uid"] = daemon.add(pod)["uid"]
        daemon.schedule(pod, nodes)


def opened(browser, daemon, view="cluster"):
    browser.open("about:blank")
    browser.open(f"http://127.0.0.1:{daemon.port}/ui/#{view}")
    browser.until("return document.body.dataset.nodes")


def test_the_cluster_is_drawn_as_the_api_says(start, browser):
    daemon = start(CLUSTER, config=QUEUE)
    trains(daemon, 6)
    opened(browser, daemon)
    nodes = daemon.nodes()
    gpus = sum(len(node["devices"]) for node in nodes.values())
    told = browser.text("#told")
    assert told.startswith(f"{len(nodes)} nodes, {gpus} GPUs, ")
    assert browser.text("#health").split("\n")[0] == "ready"
    assert "team-0" in browser.text("#legend")
    browser.click_at("#picture", 20, 30)  # the first GPU of the first node
    browser.until("return document.querySelector('#detail').innerText.includes('Resources')")
    assert browser.text("#detail h2") == sorted(nodes)[0]
    browser.press("Escape")
    assert browser.run("return document.querySelector('#panel').hidden")
    assert browser.complaints() == []


def test_the_queue_has_the_rows_of_the_api_and_a_pods_story(start, browser):
    daemon = start(CLUSTER, config=QUEUE)
    trains(daemon, 30)
    opened(browser, daemon, "queue")
    rows = daemon.get("/api/v1/queue").json["items"]
    browser.until("return document.querySelectorAll('#rows tr[data-pod]').length === arguments[0]", len(rows))
    shown = browser.run("return [...document.querySelectorAll('#rows tr[data-pod]')].map(r => r.dataset.pod)")
    assert shown == [f"{row['namespace']}/{row['name']}" for row in rows]
    browser.press("ArrowDown", "Enter")  # nothing has the focus yet: no row is opened
    assert browser.run("return document.querySelector('#panel').hidden")
    browser.run("document.querySelector('#rows').focus()")
    browser.press("ArrowDown", "Enter")
    browser.until("return document.querySelector('#detail').innerText.includes('On the nodes')")
    assert browser.text("#detail h2") == shown[0]
    assert rows[0]["state"] in browser.text("#detail")
    browser.press("Escape")
    browser.press("/", *"team-3/")
    browser.until("return [...document.querySelectorAll('#rows tr[data-pod]')]"
                  ".every(r => r.dataset.pod.startsWith('team-3/'))")
    found = [row for row in rows if row["namespace"] == "team-3"]
    assert f"{len(rows)} pods wait, in the order bounded; {len(found)} match." == browser.text("#counted")
    assert browser.complaints() == []


def test_a_long_queue_is_fetched_by_what_is_in_sight(start, browser):
    daemon = start(CLUSTER, config=QUEUE)
    for i in range(700):
        daemon.add(pod_of(f"w-{i:03}", {"nvidia.com/gpu": 8}))
    opened(browser, daemon, "queue")
    browser.until("return document.querySelectorAll('#rows tr[data-pod]').length > 0")
    assert browser.run("return document.querySelectorAll('#rows tr[data-pod]').length") < 100
    browser.run("document.querySelector('#rows').scrollTop = 27 * 600")
    last = browser.until("return [...document.querySelectorAll('#rows tr[data-position]')]"
                         ".find(r => r.dataset.position === '610')?.dataset.pod")
    row = daemon.get("/api/v1/queue?skip=609&limit=1").json
    assert last == f"{row['items'][0]['namespace']}/{row['items'][0]['name']}"
    assert (row["skipped"], row["items"][0]["position"]) == (609, 610)


def test_what_users_write_is_shown_as_text(start, browser):
    daemon = start(CLUSTER, config=QUEUE)
    evil = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>"
    for i, key in enumerate(("sliced.dev/timeout", "sliced.dev/gpu-memory", "sliced.dev/after")):
        daemon.add(pod_of(f"evil-{i}", {"nvidia.com/gpu": 1}, annotations={key: evil}))
    opened(browser, daemon, "queue")
    browser.until("return document.querySelectorAll('#rows tr[data-pod*=evil]').length === 3")
    for i in range(3):
        browser.click(f"#rows tr[data-pod='default/evil-{i}']")
        browser.until("return document.querySelector('#detail').innerText.includes('Created')")
        browser.press("Escape")
    assert browser.run("return document.title") == "sliced"
    assert browser.run("return document.querySelectorAll('#rows img, #detail img, #rows script').length") == 0


def test_the_time_line_shows_who_runs_and_who_is_to_start(start, browser):
    daemon = start(CLUSTER, config=QUEUE)
    trains(daemon, 8)
    opened(browser, daemon, "times")
    browser.until("return document.querySelector('#lines').clientHeight > 200")
    browser.click_at("#lines", 300, 22 + 9)  # the bar that ends first
    browser.until("return !document.querySelector('#panel').hidden")
    assert browser.text("#detail h2") == "team-0/train-0"
    browser.press("Escape")


def test_what_if_tells_what_the_api_tells_and_changes_nothing(start, browser):
    daemon = start(CLUSTER, config=QUEUE)
    trains(daemon, 30)
    waiting = daemon.get("/api/v1/queue").json["total"]
    opened(browser, daemon)
    browser.complaints()  # of the daemon before
    browser.press("4")
    browser.until("return document.querySelectorAll('#resources option').length > 1")
    browser.run("document.querySelector('#ask [name=resource]').focus()")
    browser.press(*"nvidia.com/gpu", "Tab", "2", "Tab", *"30m", "Enter")
    browser.until("return document.querySelector('#answer table')")
    body = pod_of("other", {"nvidia.com/gpu": 2}, annotations={"sliced.dev/timeout": "30m"})

    def told():
        reply = daemon.post("/api/v1/estimates", body)
        return reply.json if reply.status == 200 else None
    told = eventually(told)
    shown = browser.text("#answer")
    assert f"Place in the queue\t{told['position']}\n" in shown and told["state"] in shown
    assert f"Pods that would start later\t{told['delayed']}" in shown
    assert daemon.get("/api/v1/queue").json["total"] == waiting

    # what is wrong is said by the daemon's own words
    browser.run("document.querySelector('#ask [name=resource]').value = 'cpu'")
    browser.click("#ask button")
    browser.until("return document.querySelector('#answer .bad')")
    assert "asks for no GPU resource" in browser.text("#answer")
    complaints = browser.complaints()  # the refusal, and perhaps 429s
    assert complaints and all("/api/v1/estimates" in line for line in complaints), complaints


def test_instances_lie_on_their_boards(start, browser):
    daemon = start(EXAMPLES / "a100-h100.yaml")
    opened(browser, daemon)
    browser.complaints()  # of the daemon before
    for name, node in daemon.nodes().items():
        for device in node["devices"]:
            for instance in device["instances"]:
                assert device["memorySlices"] == (4 if "A30" in device["model"] else 8), name
                assert 1 <= instance["memorySlices"] <= device["memorySlices"]
                if instance["start"] is not None:
                    assert instance["start"] + instance["memorySlices"] <= device["memorySlices"]
    assert browser.complaints() == []


def test_what_gpus_were_measured_to_do_is_shown(browser):
    fake = Fake()
    fake.answer = lambda: matrix(series(samples()), series(samples(used=40), name="DCGM_FI_DEV_GPU_UTIL"))
    daemon = measuring(fake)
    try:
        eventually(lambda: (daemon.nodes()[MEASURED]["devices"][0]["measured"] or {}).get("busyPermille") == 400)
        opened(browser, daemon)
        browser.complaints()  # of the daemon before
        browser.click_at("#picture", 10, 20)
        browser.until("return document.querySelector('#detail').innerText.includes('Measured')")
        row = daemon.get(f"/api/v1/usage?node={MEASURED}").json["items"][0]
        assert f"4000 of {row['memoryMiB']}\t40 %" in browser.text("#detail")
        assert daemon.get("/api/v1/usage?node=other").json["items"] == []
        assert browser.complaints() == []
    finally:
        daemon.stop()
        fake.stop()


def test_the_page_says_when_the_daemon_is_gone(start, browser):
    daemon = start(CLUSTER)
    opened(browser, daemon, "queue")
    browser.until("return document.querySelector('#counted').innerText.includes('queue.enabled')")
    daemon.process.terminate()
    browser.until("return !document.querySelector('#trouble').hidden")
    assert "nodes cannot be read" in browser.text("#trouble")


def test_the_page_may_load_nothing_from_elsewhere(start):
    daemon = start(CLUSTER)
    for name in ("", "index.html", "main.js", "worker.js", "style.css"):
        reply = daemon.get("/ui/" + name)
        assert reply.status == 200
        assert reply.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert "http:" not in reply.text and "https:" not in reply.text
    assert daemon.get("/ui/../main.c").status == 404
    assert daemon.get("/ui/none.js").status == 404
    generation = eventually(lambda: daemon.get("/api/v1/nodes").json["generation"])
    same = daemon.get(f"/api/v1/nodes?unless={generation}")
    assert (same.status, same.body) == (304, b"")
    own = f"127.0.0.1:{daemon.port}"
    asked = {"http://" + own: 200, "http://127.0.0.1:1": 403, "http://evil.example": 403}
    for origin, status in asked.items():
        assert daemon.get("/ui/main.js", headers={"Host": own, "Origin": origin}).status == status
    evil = {"Host": "evil.example", "Origin": "http://evil.example"}
    assert daemon.get("/ui/main.js", headers=evil).status == 403
