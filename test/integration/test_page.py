"""The page in a real browser: what it shows is what the API says; whoever names pods writes no markup."""
import json
import re
import time
import urllib.parse

import pytest
import yaml

from browser import Browser
from prometheus import NODE as MEASURED, Fake, matrix, samples, series
from sliced_daemon import EXAMPLES, eventually, pod_of
from test_telemetry import measuring

CLUSTER = EXAMPLES / "stories.yaml"
QUEUE = "queue: {enabled: true, holdSeconds: 3600}\n"
TENANTS = "tenants: {namespaces: [{namespace: team-0, tenant: zero}, {namespace: 'team-*', tenant: rest}]}\n"


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
    browser.until("return document.querySelector('#health').innerText.split('\\n')[0] == 'ready'")
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


def test_tenants_stand_with_the_queue_where_there_are_any(start, browser):
    daemon = start(CLUSTER, config=QUEUE)
    trains(daemon, 30)
    opened(browser, daemon, "queue")
    browser.until("return document.querySelectorAll('#rows tr[data-pod]').length > 0")
    assert browser.run("return document.querySelector('#tenants').hidden")
    daemon = start(CLUSTER, config=QUEUE + TENANTS)
    trains(daemon, 30)
    opened(browser, daemon, "queue")
    browser.until("return !document.querySelector('#tenants').hidden")
    assert browser.text("#tenants summary").startswith("3 tenants; ")  # with those others whose pods the cluster has
    browser.click("#tenants summary")
    told = daemon.get("/api/v1/tenants").json["items"]
    shown = browser.run("return [...document.querySelectorAll('#tenants tr')].slice(1).map(r => [...r.cells].slice(0, 5).map(c => c.textContent))")
    assert [row[:2] for row in shown] == [[row["tenant"], row["resource"]] for row in told]
    assert [float(row[2]) for row in shown] == pytest.approx([row["shareMilli"] / 1000 for row in told], abs=0.01)
    assert [row[3] for row in shown] == [str(row["held"]) for row in told]
    assert browser.complaints() == []


def row_of(browser, what):
    """How the health view says that it is: (mark, text); None: it has no such row."""
    return browser.run("""const row = [...document.querySelectorAll('#how tr')].find(r => r.cells[0].textContent === arguments[0]);
        return row ? [row.cells[1].textContent, row.cells[2].textContent] : null""", what)


def test_health_is_as_the_api_says(start, browser):
    daemon = start(CLUSTER, config=QUEUE)
    trains(daemon, 6)
    opened(browser, daemon, "state")
    browser.until("return document.querySelectorAll('#how tr').length > 5")
    assert row_of(browser, "Ready") == ["✓ good", "it decides"]
    assert row_of(browser, "Telemetry") == ["", "not configured"]
    state = daemon.state
    assert row_of(browser, "Nodes with problems") == ["✓ good", f"0 of {state['cluster']['nodes']}"]
    queue = state["queue"]
    assert queue["plans"] and queue["planSeconds"]["of"] == min(queue["planned"], 128) > 0
    assert 0 <= queue["planSeconds"]["median"] <= queue["planSeconds"]["worst"]
    assert "of the last" in row_of(browser, "Plans")[1]

    def is_same():
        ended = daemon.state["queue"]["nominationsEnded"]
        told = ", ".join(f"{count} {outcome.replace('_', ' ')}" for outcome, count in ended.items() if count > 0)
        counted = [daemon.metric(f'sliced_queue_nominations_ended_total{{outcome="{outcome}"}}') for outcome in ended]
        return ended["bound"] > 0 and counted == list(ended.values()) and row_of(browser, "Nominations ended") == ["✓ good", told]
    eventually(is_same, 60)
    # every row names a metric that there is
    named = browser.run("return [...document.querySelectorAll('#how tr td:nth-child(4)')].map(c => c.textContent)")
    page = daemon.get("/metrics").text
    absent = [name for name in named if name and f"\n# TYPE {name} " not in page]
    assert absent == ["sliced_synced", "sliced_leader", "sliced_telemetry_last_answer_timestamp_seconds", "sliced_partition_gpus"], \
        "without an API server, telemetry and cutting there are none of these"
    assert browser.complaints() == []


def test_what_is_broken_is_to_be_looked_at(start, browser):
    daemon = start(CLUSTER, config=QUEUE)
    opened(browser, daemon)
    evil = "nvidia.com/mig-<img src=x onerror=document.title='owned'>"
    for i, resource in enumerate(("nvidia.com/gpu", evil, "nvidia.com/mig-9g.99gb")):
        pod = pod_of(f"too-many-{i}", {resource: 64, "nvidia.com/gpu": 1})
        pod["spec"]["nodeName"] = "h100-1"
        daemon.add(pod)
    broken = eventually(lambda: daemon.state["broken"]["nodes"]["items"])
    assert [one["node"] for one in broken] == ["h100-1"]
    assert daemon.state["broken"]["cuts"] == {"items": [], "total": 0}
    assert "too-many" not in str(broken), "health names nodes, no pods"
    browser.until("return document.querySelector('#health').innerText.includes('1 to look at')")
    browser.click("#health button")
    assert browser.run("return !document.querySelector('#state').hidden")
    assert row_of(browser, "Nodes with problems")[0] == "! look"
    problem = daemon.nodes()["h100-1"]["problem"]
    browser.until("return document.querySelector('#how').innerText.includes(arguments[0])", problem)
    browser.click("#how button")
    browser.until("return document.querySelector('#detail').innerText.includes('Resources')")
    assert browser.text("#detail h2") == "h100-1"
    assert problem in browser.text("#detail")
    browser.press("Escape")
    assert browser.run("return document.querySelectorAll('#how img, #detail img').length") == 0
    assert not browser.run("return document.title").startswith("owned")
    assert browser.complaints() == []


def test_a_pods_story_says_what_was_tried(start, browser):
    daemon = start(CLUSTER, config="queue: {enabled: true, holdSeconds: 1}\n")
    pod = pod_of("shy", {"nvidia.com/mig-1g.5gb.me": 1})   # nobody binds it
    daemon.add(pod)

    def tried():
        return (daemon.explain(pod)["queue"] or {}).get("tried")
    first = eventually(tried)[0]
    assert (first["outcome"], first["node"], first["why"]) == ("Expired", "a100-mixed", None)
    table = daemon.get("/api/v1/pods/default/shy/explain?output=table").text
    assert "\nTried:     a100-mixed: Expired, after " in table
    opened(browser, daemon, "queue")
    browser.until("return document.querySelector('#rows tr[data-pod=\"default/shy\"]')")
    browser.click("#rows tr[data-pod='default/shy']")
    browser.until("return document.querySelector('#detail').innerText.includes('What was tried')")
    told = browser.text("#detail")
    assert "a100-mixed\tExpired\t" in told and "kube-scheduler did not bind it in time" in told
    summary = daemon.explain(pod)["summary"]
    assert f"It fits on {summary['fit']} of {summary['nodes']}." in told
    for reason in summary["reasons"]:
        assert f"{reason['nodes']}\t{reason['reason']}\t{reason['nearest']}" in told
    # news leaves alone what is the same: a selection and the focus stay
    browser.run("document.querySelector('#detail h2').marked = document.querySelector('#detail table').marked = true")
    waited = "return [...document.querySelectorAll('#detail tr')].find(r => r.cells[0].textContent === 'Waited').cells[1].textContent"
    before = browser.run(waited)
    browser.until(waited + " !== arguments[0]", before)
    assert browser.run("return document.querySelector('#detail h2').marked && document.querySelector('#detail table').marked")
    browser.press("Escape")
    # another replica may have led when it was tried
    daemon.add(pod_of("new", {"nvidia.com/gpu": 64}))
    browser.until("return document.querySelector('#rows tr[data-pod=\"default/new\"]')")
    browser.click("#rows tr[data-pod='default/new']")
    browser.until("return document.querySelector('#detail').innerText.includes('Nothing that this replica knows of.')")
    browser.press("Escape")
    assert browser.complaints() == []


def test_everything_is_reached_by_the_keyboard(start, browser):
    daemon = start(CLUSTER, config=QUEUE)
    trains(daemon, 30)
    opened(browser, daemon)
    nodes = sorted(name for name, node in daemon.nodes().items() if node["devices"])
    browser.run("document.querySelector('#tab-cluster').focus()")
    for tab in ("queue", "times", "ask", "state", "cluster"):   # arrow keys move among tabs, round
        browser.press("ArrowRight")
        assert browser.run("return document.activeElement.id") == f"tab-{tab}"
        assert browser.run("return !document.getElementById(arguments[0]).hidden", tab)
        assert browser.run("return [...document.querySelectorAll('[role=tab]')].filter(t => t.tabIndex === 0).length") == 1
    reached = []
    while "picture" not in reached:
        browser.press("Tab")
        reached.append(browser.run("return document.activeElement.id || document.activeElement.dataset.namespace"))
        shown = browser.run("return getComputedStyle(document.activeElement).outlineStyle")
        assert shown != "none", f"nobody sees that {reached[-1]} has the focus"
        assert len(reached) < 20, reached
    assert "find" in reached and "team-0" in reached
    browser.press("ArrowRight", "ArrowRight")
    assert browser.text("#said").startswith(nodes[1] + ", ")
    browser.press("Enter")
    browser.until("return document.querySelector('#detail').innerText.includes('Resources')")
    assert browser.text("#detail h2") == nodes[1]
    browser.press("Escape")
    assert browser.run("return document.activeElement.id") == "picture"
    browser.press("3")
    browser.until("return document.querySelector('#lines [data-id=\"waiting pods\"]')")
    browser.run("document.querySelector('#lines').focus()")
    browser.press("ArrowDown")
    assert browser.text("#said").startswith(f"{daemon.get('/api/v1/queue').json['total']} wait: ")
    browser.press("ArrowRight", "ArrowDown")
    first = browser.run("return document.querySelector('#lines [aria-selected=true]').dataset.id.split('/').slice(1).join('/')")
    assert browser.text("#said").startswith(f"{first} should start ")
    browser.press("ArrowLeft", "ArrowLeft")   # to what it is part of, which is folded
    assert browser.run("return document.querySelector('#lines [aria-selected=true]').ariaExpanded") == "false"
    browser.press("ArrowRight", "ArrowDown", "Enter")
    browser.until("return document.querySelector('#detail').innerText.includes('Timeout')")
    assert browser.text("#detail h2") == first
    browser.press("Escape", "2")
    browser.run("document.querySelector('#rows').focus()")
    browser.until("return document.querySelectorAll('#rows tr[data-pod]').length")
    browser.press("ArrowDown")
    first = daemon.get("/api/v1/queue?limit=1").json["items"][0]
    assert browser.text("#said").startswith(f"{first['namespace']}/{first['name']}, 1 of the queue, ")


def test_a_namespace_is_found_without_its_colour(start, browser):
    daemon = start(CLUSTER, config=QUEUE)
    trains(daemon, 30)
    opened(browser, daemon)
    browser.click("#legend button[data-namespace=team-0]")
    assert browser.run("return document.querySelector('#find').value") == "team-0/"
    assert browser.run("return document.activeElement.getAttribute('aria-pressed')") == "true"
    browser.press("2")
    browser.until("const rows = [...document.querySelectorAll('#rows tr[data-pod]')];"
                  "return rows.length && rows.every(r => r.dataset.pod.startsWith('team-0/'))")
    browser.press("1")
    browser.click("#legend button[data-namespace=team-0]")
    assert browser.run("return document.querySelector('#find').value") == ""
    letters = browser.run("return import('/ui/draw.js').then(d => ['team-2', 'team-12', 'vision'].map(d.lettersOf))")
    assert letters == ["t2", "t12", "vi"]


def test_a_start_is_one_number_everywhere(start, browser):
    """The page rounds as the daemon's sentence does."""
    daemon = start(CLUSTER, config=QUEUE)
    opened(browser, daemon)
    told = browser.run("return import('/ui/draw.js').then(d => [0, 59, 3600, 3601, 86399, 86400, 86401, 604795].map(d.until))")
    assert told == ["0s", "59s", "1h", "1h1m", "1d", "1d", "1d1h", "7d"]


def test_a_long_queue_is_fetched_by_what_is_in_sight(start, browser):
    daemon = start(CLUSTER, config=QUEUE)
    for i in range(700):
        daemon.add(pod_of(f"w-{i:03}", {"nvidia.com/gpu": 8}))
    opened(browser, daemon, "queue")
    browser.until("return document.querySelectorAll('#rows tr[data-pod]').length > 0")
    assert browser.run("return document.querySelectorAll('#rows tr[data-pod]').length") < 100
    last = browser.until("""const at = document.querySelector('#rows');
        at.scrollTop = at.scrollHeight * 610 / 700;
        return [...at.querySelectorAll('tr[data-position]')].find(r => r.dataset.position === '610')?.dataset.pod""")
    row = daemon.get("/api/v1/queue?skip=609&limit=1").json
    assert last == f"{row['items'][0]['namespace']}/{row['items'][0]['name']}"
    assert (row["skipped"], row["items"][0]["position"]) == (609, 610)


# Elements of which a part lies beside the window, or whose text is cut off at their side; in the time line names may be.
BESIDE = """return [...document.querySelectorAll('body *')].filter(e => {
    const box = e.getBoundingClientRect(), style = getComputedStyle(e);
    return box.width > 1 && (box.right > innerWidth + 0.5 || box.left < -0.5 ||
        (e.scrollWidth > e.clientWidth + 1 && style.display !== 'inline' && style.overflowX !== 'visible' && e.tagName !== 'INPUT' &&
            e.parentElement.className !== 'name'));
}).map(e => e.tagName + '#' + e.id + '.' + e.className + ' ' + e.textContent.slice(0, 40))"""


@pytest.fixture(name="narrow")
def resized(browser):
    yield browser
    browser.resize(1280, 800)


@pytest.mark.parametrize("width", [360, 390, 768, 1280])
def test_nothing_is_cut_off_or_beside_the_window(start, narrow, width):
    daemon = start(CLUSTER, config=QUEUE)
    trains(daemon, 12)
    long = pod_of("long-" + 240 * "n", {"nvidia.com/gpu": 8}, namespace="space-" + 57 * "s")
    daemon.add(long)
    narrow.resize(width, 740)
    opened(narrow, daemon)
    for view in ("cluster", "queue", "times", "ask", "state"):
        narrow.click(f"#tab-{view}")
        narrow.until("return !document.getElementById(arguments[0]).hidden", view)
        if view == "queue":
            narrow.until("return document.querySelector('#rows tr[data-pod^=\"space-\"]')")
        assert narrow.run("return document.documentElement.scrollWidth") <= width, view
        assert narrow.run(BESIDE) == [], view
    narrow.click("#tab-queue")
    def all_told():
        """Numbers change between two answers; that nothing of a row is hidden holds at all times."""
        shown = narrow.run("""return Object.fromEntries([...document.querySelectorAll('#rows tr[data-pod]')].map(row => [row.dataset.pod,
            [...row.cells].map(c => [c.innerText.trim(), c.scrollWidth <= c.clientWidth + 1, c.clientHeight > 0])]))""")
        assert all(whole and seen for cells in shown.values() for _, whole, seen in cells), shown
        told = {key: (texts[0], texts[1], texts[5], texts[7].split(":")[0], bool(texts[6]))
                for key, cells in shown.items() for texts in [[text for text, _, _ in cells]]}
        return told == {key: (str(row["position"]), key, row["state"], row["text"].split(":")[0], True)
                        for row in daemon.get("/api/v1/queue").json["items"] for key in [f"{row['namespace']}/{row['name']}"]}
    eventually(all_told)
    narrow.click("#rows tr[data-pod^='space-']")
    narrow.until("return document.querySelector('#detail').innerText.includes('On the nodes')")
    assert narrow.run(BESIDE) == []
    narrow.press("Escape", "1")
    narrow.run("document.querySelector('#picture').focus()")
    narrow.press("ArrowRight", "Enter")
    narrow.until("return document.querySelector('#detail').innerText.includes('Resources')")
    assert narrow.run(BESIDE) == []
    narrow.press("Escape")


def test_rows_stay_where_they_are_when_those_above_change(start, narrow):
    daemon = start(CLUSTER, config=QUEUE)
    for i in range(300):
        daemon.add(pod_of(f"w-{i:03}", {"nvidia.com/gpu": 8}))
    narrow.resize(360, 740)
    opened(narrow, daemon, "queue")
    narrow.until("return document.querySelectorAll('#rows tr[data-pod]').length > 0")
    first = """const edge = document.querySelector('#rows').getBoundingClientRect();
        const rows = [...document.querySelectorAll('#rows tr[data-pod]')].map(r => [Number(r.dataset.position), r.getBoundingClientRect()]);
        const row = rows.find(([, box]) => box.bottom > edge.top);
        return row && rows[rows.length - 1][1].bottom >= edge.bottom && row[1].top <= edge.top + 60 ? row[0] : null"""
    at = narrow.until(first)
    for _ in range(40):   # as a finger does, through rows that are fetched on the way
        before = at
        narrow.run("document.querySelector('#rows').scrollBy(0, 400)")
        at = narrow.until(first)
        assert before < at <= before + 9
    looked = "const at = document.querySelector('#rows'); const ms = at.dataset.lookMs; delete at.dataset.lookMs; return ms"
    for _ in range(3):
        narrow.until(looked)
    assert abs(narrow.until(first) - at) <= 1


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
    assert browser.run("return document.title") == "Queue · sliced"
    assert browser.run("return document.querySelectorAll('#rows img, #detail img, #rows script').length") == 0


LINES = "[...document.querySelectorAll('#lines [role=treeitem]')]"


def lines(browser):
    return browser.run(f"return {LINES}.map(r => r.dataset.id)")


def test_the_time_line_is_folded_by_node_and_gpu(start, browser):
    nodes = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n-{i:02}", "labels": {
        "nvidia.com/gpu.count": "8", "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.memory": "81559",
        "nvidia.com/gpu.replicas": "1"}}, "status": {"allocatable": {"nvidia.com/gpu": "8", "cpu": "96", "memory": "1Ti", "pods": "110"}}}
        for i in range(32)]
    daemon = start("-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}),
                   config=QUEUE)
    for i in range(257):
        pod = pod_of(f"p-{i:03}", {"nvidia.com/gpu": 1}, namespace=f"team-{i % 3}", annotations={
            "sliced.dev/timeout": "2h", "sliced.dev/assignment": f"nvidia.com/gpu={i % 8}"})
        if i < 256:
            pod["spec"]["nodeName"] = f"n-{i // 8:02}"
        daemon.add(pod)
    opened(browser, daemon, "times")
    names = ["waiting pods"] + [f"n-{i:02}" for i in range(32)]
    browser.until(f"return {LINES}.length >= 20 && {LINES}[1].ariaLabel.includes('8 run')")
    shown = lines(browser)
    assert shown == names[:len(shown)], "one row a node, not one a pod"
    browser.click("#lines [data-id=n-00]")
    gpus = [f"n-00/GPU {i}" for i in range(8)]
    browser.until(f"return {LINES}.some(r => r.ariaLevel === '2')")
    assert lines(browser)[1:10] == ["n-00", *gpus]
    browser.click("#lines [data-id='n-00/GPU 3']")
    browser.until(f"return {LINES}.some(r => r.ariaLevel === '3')")
    held = [pod for pod in daemon.nodes()["n-00"]["pods"] if [part["device"] for part in pod["devices"]] == [3]]
    key = f"{held[0]['namespace']}/{held[0]['name']}"
    assert lines(browser)[5:7] == ["n-00/GPU 3", f"n-00/GPU 3/{key}"]
    browser.click(f"#lines [data-id='n-00/GPU 3/{key}']")
    browser.until("return !document.querySelector('#panel').hidden")
    assert browser.text("#detail h2") == key
    browser.press("Escape")
    # the last row is reached, and only the rows in sight are made
    browser.run("document.querySelector('#lines').focus()")
    browser.press("End")
    browser.until(f"return {LINES}.some(r => r.dataset.id === 'n-31' && r.ariaSelected === 'true')")
    assert browser.run("return document.getElementById(document.querySelector('#lines').getAttribute('aria-activedescendant')).dataset.id") == "n-31"
    assert browser.text("#said").startswith("n-31: 8 run, next end in 1h")
    # what is unfolded stays so, however many there are by then
    browser.press("Home", "ArrowRight")
    daemon.add(pod_of("late", {"nvidia.com/gpu": 1}))
    browser.until(f"return {LINES}[0].ariaLabel.startsWith('2 wait')")
    browser.until(f"return {LINES}.some(r => r.dataset.id === 'waiting pods/default/late')")
    # what is looked for is unfolded
    browser.press("/", *key)
    browser.until(f"return {LINES}.length === 3")
    assert lines(browser) == ["n-00", "n-00/GPU 3", f"n-00/GPU 3/{key}"]
    assert browser.complaints() == []


def fill(browser, stage, **fields):
    browser.run("""const set = document.querySelectorAll('#stages fieldset')[arguments[0]];
        for (const [name, value] of Object.entries(arguments[1])) { set.elements[name].value = value; }
        set.dispatchEvent(new Event('input', { bubbles: true }))""", stage, {name.strip("_"): value for name, value in fields.items()})


def manifest(browser):
    return [] if browser.run("return document.querySelector('#manifest').parentElement.hidden") else \
        list(yaml.safe_load_all(browser.run("return document.querySelector('#manifest').textContent")))


def asking(start, browser, **more):
    daemon = start(CLUSTER, config=QUEUE)
    trains(daemon, 30)
    opened(browser, daemon)
    browser.press("4")
    browser.until("return document.querySelectorAll('#ask [name=resource] option').length > 1")
    fill(browser, 0, resource="nvidia.com/gpu", count=2, timeout="30m", **more)
    return daemon


def test_what_if_tells_what_the_api_tells_and_changes_nothing(start, browser):
    daemon = asking(start, browser)
    fill(browser, 0, count=8)
    waiting = daemon.get("/api/v1/queue").json["total"]
    browser.click("#ask form > button:last-child")
    browser.until("return document.querySelector('#answer').getAttribute('aria-busy') === 'false'")

    def estimated(count, timeout):
        def told():
            reply = daemon.post("/api/v1/estimates", pod_of("other", {"nvidia.com/gpu": count}, annotations={"sliced.dev/timeout": timeout}))
            return reply.json if reply.status == 200 else None
        return eventually(told)
    told = estimated(8, "30m")
    shown = browser.text("#answer")
    assert shown.startswith("job-1 would start in ")
    assert f"Place in the queue\t{told['position']}\n" in shown and told["state"] in shown
    assert f"Pods that would start later\t{told['delayed']}" in shown
    # and what would change it
    rows = browser.run("""return [...document.querySelector('#answer h3 + table').rows].slice(1).map(r => [...r.cells].map(c => c.innerText))""")
    assert [what for what, _, _ in rows] == [
        "With a timeout of 15m", "With 4 nvidia.com/gpu", "With a timeout of 15m and 4 nvidia.com/gpu"]
    for (_, start_in, gain), variant in zip(rows, ((8, "15m"), (4, "30m"), (4, "15m"))):
        easier = estimated(*variant)
        assert start_in and gain
        assert abs(easier["startsInSeconds"] - told["startsInSeconds"]) < 60 or gain.endswith((" earlier", " later"))
    assert daemon.get("/api/v1/queue").json["total"] == waiting

    # what is wrong is said by the daemon's own words
    browser.run("""const select = document.querySelector('#ask [name=resource]'), cpu = new Option('cpu', 'cpu');
        select.append(cpu); select.value = 'cpu'""")
    browser.click("#ask form > button:last-child")
    browser.until("return document.querySelector('#answer .bad')")
    assert "asks for no GPU resource" in browser.text("#answer")
    complaints = browser.complaints()  # the refusal, and perhaps 429s
    assert complaints and all("/api/v1/estimates" in line for line in complaints), complaints


def test_stages_become_jobs_that_follow_each_other(start, browser):
    asking(start, browser)
    assert manifest(browser) == [] and "has a good name and an image" in browser.text("#copied")
    fill(browser, 0, name="prepare", image="a/b:1", command="python prepare.py", retries=3)
    for name in ("train", "test", "report"):
        browser.click("[data-act=add]")
        fill(browser, -1 + browser.run("return document.querySelectorAll('#stages fieldset').length"), name=name)

    def after():
        return {job["metadata"]["name"]: (job["spec"]["template"]["metadata"]["annotations"]).get("sliced.dev/after") for job in manifest(browser)}
    assert after() == {"prepare": None, "train": "job/prepare", "test": "job/train", "report": "job/test"}
    job = manifest(browser)[0]
    assert job == {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "prepare", "namespace": "default"}, "spec": {
        "backoffLimit": 3, "template": {"metadata": {"annotations": {"sliced.dev/timeout": "30m"}}, "spec": {
            "restartPolicy": "Never", "containers": [{"name": "main", "image": "a/b:1", "command": ["/bin/sh", "-c", "python prepare.py"],
                                                      "resources": {"limits": {"nvidia.com/gpu": 2}}}]}}}}
    label = "return document.querySelector('#graph svg').getAttribute('aria-label')"
    assert browser.run(label) == "prepare, train after prepare, test after train, report after test"
    # one of the middle goes: who followed it follows what it followed
    browser.click("#stages fieldset:nth-child(2) [data-act=remove]")
    assert after() == {"prepare": None, "test": "job/prepare", "report": "job/test"}
    first = browser.run("return document.querySelectorAll('#stages fieldset')[0].dataset.id")
    fill(browser, 2, after=first)
    assert browser.run(label) == "prepare, test after prepare, report after prepare"
    fill(browser, 2, name="test")
    assert manifest(browser) == [], "two of one name"
    assert not browser.run("return document.querySelector('#ask form').checkValidity()")
    fill(browser, 2, name="report")
    for _ in range(5):
        browser.click("[data-act=add]")
    assert browser.run("return document.querySelector('[data-act=add]').disabled")
    assert len(manifest(browser)) == 8
    # a number typed into a field is no key of the page's
    browser.run("document.querySelector('#stages textarea').focus()")
    browser.press("1", "/", "2")
    assert browser.run("return document.querySelector('#stages textarea').value").count("1/2") == 1
    assert browser.run("return !document.querySelector('#ask').hidden")


EVIL = ['"', "'", "\\", ": #&*!|>%@`{}[],?-", "--- \n---\nkind: Pod\n", "\t\u0000\u0001\u001f\u007f\u0085\u009f\u2028\u2029\ufeff\uffff",
        "null", "~", "yes", "0x10", "<img src=x onerror=document.title='owned'>", "\U0001f600 ü 漢", "$(date) $$ $HOME $$(x) $", "a\r\nb"]


def test_whatever_is_typed_stays_in_its_place_of_the_manifest(start, browser):
    asking(start, browser)
    for text in EVIL + ["".join(EVIL)]:
        fill(browser, 0, image="x" + text.replace("\n", " ").replace("\r", " "), command=text)
        command, image = browser.run("const set = document.querySelector('#stages fieldset'); return [set.elements.command.value, set.elements.image.value]")
        jobs = manifest(browser)
        container, = jobs[0]["spec"]["template"]["spec"]["containers"]
        assert len(jobs) == 1 and sorted(jobs[0]) == ["apiVersion", "kind", "metadata", "spec"], text
        assert container["image"] == image.strip()
        # as Kubernetes expands it, where no variable has such a name
        assert re.sub(r"\$\$", "$", container["command"][2]) == command if "$" in text else container["command"][2] == command, text
    lone = browser.run("return import('/ui/job.js').then(j => j.quoted('a\\ud800b'))")
    assert yaml.safe_load(lone) == "a\ufffdb"
    assert browser.run("return document.title") == "What if · sliced"
    assert browser.run("return document.querySelectorAll('#ask img').length") == 0
    for name in ("-a", "A", "a_b", "a.b", 64 * "a", "a: b"):   # the API server would refuse the Job, or what follows it would be misread
        fill(browser, 0, name=name)
        assert manifest(browser) == [], name
    fill(browser, 0, name="job-1", timeout="soon")
    assert manifest(browser) == []


def test_the_manifest_is_downloaded_as_it_stands(start, browser, tmp_path):
    asking(start, browser, image="a/b:1")
    browser.call("POST", "/goog/cdp/execute", {"cmd": "Browser.setDownloadBehavior", "params": {
        "behavior": "allow", "downloadPath": str(tmp_path)}})
    text = browser.run("return document.querySelector('#manifest').textContent")
    browser.click("#save")
    eventually(lambda: (tmp_path / "jobs.yaml").exists() and (tmp_path / "jobs.yaml").read_text() == text)
    browser.click("[data-act=copy]")
    browser.until("return /Copied|selected/.test(document.querySelector('#copied').innerText)")
    assert browser.complaints() == []


def test_instances_lie_on_their_boards(start, browser):
    daemon = start(EXAMPLES / "a100-h100.yaml")
    opened(browser, daemon)
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
        browser.click_at("#picture", 10, 20)
        browser.until("return document.querySelector('#detail').innerText.includes('Measured')")
        row = daemon.get(f"/api/v1/usage?node={MEASURED}").json["items"][0]
        assert f"4000 of {row['memoryMiB']}\t40 %" in browser.text("#detail")
        assert daemon.get("/api/v1/usage?node=other").json["items"] == []
        browser.press("Escape", "5")
        browser.until("return document.querySelector('#how').innerText.includes('last answer: ')")
        assert row_of(browser, "Telemetry")[0] == "✓ good"
        fake.answer = lambda: (503, "text/html", "<html>gateway</html>")
        browser.until("return [...document.querySelectorAll('#how tr')].some(r => r.innerText.startsWith('Telemetry\\t! look'))")
        assert daemon.state["telemetry"]["error"] in row_of(browser, "Telemetry")[1]
        assert browser.complaints() == []
    finally:
        daemon.stop()
        fake.stop()


def tiles(browser):
    """The cluster in numbers: {what: [number, how it went]}."""
    told = browser.run("""return [...document.querySelectorAll('#summary li')].map(li => [li.childNodes[1].textContent.trim(),
        li.querySelector('strong').textContent, li.querySelector('svg')?.getAttribute('aria-label') ?? null])""")
    return {what: [number, went] for what, number, went in told}


def test_the_cluster_is_summed_up_without_prometheus(start, browser):
    daemon = start(CLUSTER, config=QUEUE)
    trains(daemon, 6)
    opened(browser, daemon)
    browser.until("return document.querySelectorAll('#summary li').length === 6")

    def is_same():
        cluster, shown = daemon.state["cluster"], tiles(browser)
        return shown["pods wait"] == [str(cluster["waiting"]), None] and shown["pods run"] == [str(cluster["bound"]), None]
    eventually(is_same)
    assert tiles(browser)["ended by timeout"] == ["0", None]
    browser.until("return document.querySelector('#source').innerText.includes('names no Prometheus')")
    assert daemon.get("/api/v1/history").json == {
        "kept": False, "endsAt": None, "stepSeconds": 60, "error": None, "lines": {}}
    assert "team-" not in browser.text("#summary")
    assert browser.complaints() == []


def an_hour(query):
    """As Prometheus answers it: two lines that we know and one that we do not."""
    end = int(query["end"][0])
    line = [[end - 60 * (60 - i), str(40 - i % 30) if i > 20 else "NaN"] for i in range(61)]
    return [{"metric": {"of": "waiting"}, "values": line}, {"metric": {"of": "<img src=x>", "namespace": "secret"}, "values": line},
            {"metric": {"of": "meanWaitSeconds"}, "values": [[end, "90.5"], [end + 60, "1"], [end - 36000, "1"]]}]


def test_how_the_last_hour_went_is_prometheus_answer_to_one_question(browser):
    fake, begin = Fake(), time.monotonic()
    asked = lambda: [urllib.parse.parse_qs(urllib.parse.urlsplit(path).query) for path in fake.paths if "query_range" in path]  # noqa: E731
    fake.range = lambda: matrix(*an_hour(asked()[-1]))
    daemon = measuring(fake, "ownSelector: job=ns/sliced,cluster=a")
    try:
        # nobody looks, so nothing is asked; nor may anybody else say what is asked
        for query in ("query=up", "query_range=up", "start=0"):
            assert daemon.get(f"/api/v1/history?{query}").status == 400
        daemon.get("/api/v1/usage")
        assert asked() == []
        opened(browser, daemon)
        browser.until("return document.querySelector('#summary svg')")
        assert tiles(browser)["pods wait"][1] == "pods wait over the last hour: least 11, most 40, at last 40"
        assert daemon.get("/api/v1/history").json["lines"]["meanWaitSeconds"] == 60 * [None] + [90.5]
        assert sorted(daemon.get("/api/v1/history").json["lines"]) == [
            "freeUnits", "meanWaitSeconds", "running", "timeouts", "usedUnits", "waiting"]
        for _ in range(50):
            daemon.get("/api/v1/history")
        assert len(asked()) <= 1 + (time.monotonic() - begin) // 60, "once a minute"
        assert asked()[0]["query"][0].count('{job="ns/sliced",cluster="a",') == 7, "whoever else serves the same metrics is not asked"
        assert int(asked()[0]["end"][0]) - int(asked()[0]["start"][0]) == 3600
        assert browser.complaints() == []
    finally:
        daemon.stop()
        fake.stop()


def test_a_prometheus_that_does_not_tell_the_hour_is_named(browser):
    fake = Fake()
    fake.range = lambda: (503, "text/html", "<html>gateway</html>")
    daemon = measuring(fake)
    try:
        opened(browser, daemon)
        browser.until("return document.querySelector('#source').innerText.startsWith('Prometheus does not tell')")
        told = daemon.get("/api/v1/history").json
        assert told["error"] in browser.text("#source") and told["lines"] == {}
        assert len(tiles(browser)) > 3, "the numbers are there"
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


def test_only_nodes_that_have_changed_are_read_again(start):
    daemon = start(CLUSTER)   # without a queue nothing else changes
    names = sorted(daemon.nodes())

    def changed(version):
        reply = daemon.get(f"/api/v1/nodes?since={version}")
        if reply.status == 304:
            return []
        assert reply.json["total"] == len(names)
        return [node["name"] for node in reply.json["items"]] if not reply.json["complete"] else None

    version = daemon.get("/api/v1/nodes").json["version"]
    pod = pod_of("late", {"nvidia.com/gpu": 1})
    pod["spec"]["nodeName"] = "h100-1"
    daemon.add(pod)
    assert changed(version) == ["h100-1"]
    version = daemon.get("/api/v1/nodes").json["version"]
    assert daemon.get(f"/api/v1/nodes?since={version}").status == 304
    daemon.add(pod_of("waits", {"nvidia.com/gpu": 64}))
    assert changed(version) == []
    # what this process has not said is no reason to leave anything out
    started, _, generation = version.partition("-")
    for other in ("", f"{started}-{10 ** 18}", f"{started}-0{generation}", f"{int(started) - 1}-{generation}"):
        reply = daemon.get(f"/api/v1/nodes?since={other}")
        assert (reply.status, reply.json["complete"], len(reply.json["items"])) == (200, True, len(names)), other
    for forged in ("-", generation, f"{started}-", f"{started}--1", f"-{generation}", f"{started}-{10 ** 30}", f"{started}-x",
                   "x" * 300):
        reply = daemon.get(f"/api/v1/nodes?since={forged}")
        assert reply.status == 400 and "version of an earlier answer" in reply.json["message"], forged
        assert reply.json["details"]["causes"][0]["field"] == "since"


def test_the_page_may_load_nothing_from_elsewhere(start):
    daemon = start(CLUSTER)
    for name in ("", "index.html", "main.js", "worker.js", "health.js", "summary.js", "style.css"):
        reply = daemon.get("/ui/" + name)
        assert reply.status == 200
        assert reply.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert "http:" not in reply.text and "https:" not in reply.text
    assert daemon.get("/ui/../main.c").status == 404
    assert daemon.get("/ui/none.js").status == 404
    own = f"127.0.0.1:{daemon.port}"
    asked = {"http://" + own: 200, "http://127.0.0.1:1": 403, "http://evil.example": 403}
    for origin, status in asked.items():
        assert daemon.get("/ui/main.js", headers={"Host": own, "Origin": origin}).status == status
    evil = {"Host": "evil.example", "Origin": "http://evil.example"}
    assert daemon.get("/ui/main.js", headers=evil).status == 403
