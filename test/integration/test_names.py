"""Lists of names as Go writes them, without a space: they are taken in runs, and mixed at random
with all that ends a run, the answer is the one that a list of single names would get."""
import json
import random

import pytest
import yaml

from sliced_daemon import pod_of

GPU = "nvidia.com/gpu"
HAVE = [f"gpu-node-{i:03}" for i in range(150)]
LACK = [f"cpu-node-{i:03}" for i in range(30)]
UNKNOWN = [f"later-{i}" for i in range(5)] + ["ünknown", 'qu"oted', "x"]


def node(name, gpus):
    amount = {"cpu": "8", **({GPU: str(gpus)} if gpus else {})}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
            "status": {"capacity": amount, "allocatable": dict(amount)}}


@pytest.fixture(scope="module")
def cluster_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("cluster") / "nodes.yaml"
    nodes = [node(name, 1) for name in HAVE] + [node(name, 0) for name in LACK]
    path.write_text(yaml.safe_dump_all(nodes), encoding="utf-8")
    return path


@pytest.fixture
def daemon(start, cluster_file):
    return start(cluster_file)


def body_of(names, separators=(",", ":")):
    return json.dumps({"Pod": pod_of("p", {GPU: 1}, "u"), "Nodes": None, "NodeNames": names},
                      separators=separators, ensure_ascii=False)


def random_names(source):
    """Mostly in order, as nodes are listed, here and there something else."""
    names = sorted(HAVE + LACK)
    begin = source.randrange(len(names))
    names = names[begin:] + names[:begin]
    names = names[:source.randrange(1, len(names))]
    for name in source.sample(UNKNOWN, source.randrange(len(UNKNOWN))):
        names.insert(source.randrange(len(names) + 1), name)
    if source.random() < 0.3:
        source.shuffle(names)
    return names


def test_names_in_runs_are_judged_each_for_itself(daemon):
    source = random.Random(5)
    for _ in range(100):
        names = random_names(source)
        reply = daemon.post("/scheduler/filter", body_of(names)).json
        assert reply["Error"] == ""
        assert reply["NodeNames"] == [n for n in names if n in HAVE]
        assert list(reply["FailedNodes"]) == [n for n in names if n in UNKNOWN]
        assert list(reply["FailedAndUnresolvableNodes"]) == [n for n in names if n in LACK]


def test_spaces_between_names_change_nothing(daemon):
    source = random.Random(6)
    for _ in range(50):
        names = random_names(source)
        for verb in ("filter", "prioritize"):
            compact = daemon.post(f"/scheduler/{verb}", body_of(names))
            spaced = daemon.post(f"/scheduler/{verb}", body_of(names, (" , ", " : ")))
            assert compact.status == spaced.status == 200
            assert compact.body == spaced.body


def test_scores_come_for_every_name_in_the_order_asked(daemon):
    names = random_names(random.Random(7))
    scores = daemon.post("/scheduler/prioritize", body_of(names)).json
    assert [row["Host"] for row in scores] == names
    assert sum(row["Score"] == 10 for row in scores) == 1
    assert all(row["Score"] == 0 for row in scores if row["Host"] not in HAVE)


def test_the_second_of_two_equal_names_is_refused_where_it_stands(daemon):
    source = random.Random(8)
    for _ in range(50):
        names = random_names(source)
        first = source.randrange(len(names))
        second = source.randrange(first + 1, len(names) + 1)
        names.insert(second, names[first])
        reply = daemon.post("/scheduler/filter", body_of(names))
        assert reply.status == 400
        cause, = reply.json["details"]["causes"]
        assert cause["field"] == f"NodeNames[{second}]"
        assert "twice" in cause["message"]


def test_one_name_too_many_is_refused_where_it_stands(start, cluster_file):
    daemon = start(cluster_file, config="extender: {maxNodeNames: 70}\n")
    assert daemon.post("/scheduler/filter", body_of(HAVE[:70])).status == 200
    reply = daemon.post("/scheduler/filter", body_of(HAVE[:90]))
    assert reply.status == 413
    cause, = reply.json["details"]["causes"]
    assert cause["field"] == "NodeNames[70]"


def test_a_table_obeys_no_name_that_a_user_has_chosen(start, tmp_path):
    pod = pod_of("p", {"nvidia.com/gpu": 1}, "uid-p")
    pod["spec"]["nodeName"] = "n\r\nState:     gone\x1b[2J"
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Pod", **pod}), encoding="utf-8")
    text = start(path).get("/api/v1/pods/default/p/explain?output=table").text
    assert [line for line in text.splitlines() if line.startswith("State:")] == ["State:     bound"]
    assert text.replace("\n", "").isprintable()
