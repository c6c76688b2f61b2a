"""Many clients at once: nothing is given twice, and no answer is another's."""
import collections
import threading

from sliced_daemon import EXAMPLES

MIG = "nvidia.com/mig-1g.6gb"
NODE = "gpu-a30-1"
CLIENTS = 16


def together(work):
    """Runs work(i) in CLIENTS threads; the first failure fails the test."""
    failures = []
    barrier = threading.Barrier(CLIENTS)

    def body(i):
        try:
            barrier.wait(timeout=60)
            work(i)
        except Exception as failure:  # handed on to the test's own thread
            failures.append(failure)

    threads = [threading.Thread(target=body, args=(i,)) for i in range(CLIENTS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failures:
        raise failures[0]


def test_16_clients_bind_and_nothing_is_given_twice(start):
    daemon = start(EXAMPLES / "a30-mixed.yaml")
    pods = [daemon.add_pod(f"p{i}", {MIG: 1}) for i in range(CLIENTS)]
    errors = {}

    def bind(i):
        errors[i] = daemon.bind(pods[i], NODE)

    together(bind)
    bound = [i for i in range(CLIENTS) if errors[i] == ""]
    assert len(bound) == 8
    assert all("0 free of 8" in errors[i] for i in errors if errors[i])
    taken = collections.Counter()
    for i in bound:
        part, = daemon.explain(pods[i])["assignment"]["devices"]
        taken[part["device"], part["start"]] += 1
    assert len(taken) == 8 and set(taken.values()) == {1}


def test_16_clients_bind_the_same_pod_and_it_stands_once(start):
    daemon = start(EXAMPLES / "a30-mixed.yaml")
    pod = daemon.add_pod("p", {MIG: 3})
    answers = []
    together(lambda i: answers.append(daemon.bind(pod, NODE)))
    assert answers == [""] * CLIENTS
    assert daemon.nodes()[NODE]["pools"][0]["used"] == 3


def test_16_clients_play_stories_at_once_and_all_is_free_in_the_end(start):
    daemon = start(EXAMPLES / "a30-mixed.yaml")
    names = ["cpu-1", NODE]

    def story(i):
        connection = daemon.connect()
        for turn in range(10):
            pod = daemon.add_pod(f"p{i}-{turn}", {MIG: 1 + i % 2})
            fits = daemon.filter(pod, names)["NodeNames"]
            assert fits in ([], [NODE])
            if fits:
                daemon.bind(pod, NODE, connection=connection)
            used = daemon.nodes()[NODE]["pools"][0]["used"]
            assert 0 <= used <= 8
            assert daemon.end(pod).status == 200
        connection.close()

    together(story)
    assert daemon.nodes()[NODE]["pools"][0]["used"] == 0
    assert daemon.state["cluster"]["pods"] == 0


def test_answers_on_busy_connections_are_not_mixed_up(start):
    daemon = start(EXAMPLES / "a100-h100.yaml", config="server:\n  threads: 4\n")
    nodes = sorted(daemon.nodes())

    def ask(i):
        connection = daemon.connect()
        mine = [f"client-{i}-{k}" for k in range(i * 20)] + [nodes[i % len(nodes)]]
        pod = {"metadata": {"name": f"p{i}"}, "spec": {"containers": []}}
        for _ in range(20):
            body = {"Pod": pod, "NodeNames": mine}
            assert daemon.post("/scheduler/filter", body,
                               connection=connection).json["NodeNames"] == mine
        connection.close()

    together(ask)
