"""gpushare's own HTTP paths, on the handlers of sliced's."""
import json

from sliced_daemon import EXAMPLES, pod_of

MEM = "aliyun.com/gpu-mem"
PREFIX = "/gpushare-scheduler"


def inspect(daemon, node=""):
    reply = daemon.get(PREFIX + "/inspect" + node)
    assert reply.status == 200
    assert reply.headers["content-type"] == "application/json"
    return reply.json


def test_filter_and_bind_answer_where_gpushare_has_them(start):
    daemon = start(EXAMPLES / "gpushare.yaml")
    names = sorted(daemon.nodes())
    pod = daemon.add_pod("p", {MEM: 20})
    body = {"Pod": pod, "Nodes": None, "NodeNames": names}
    reply = daemon.post(PREFIX + "/filter", body)
    assert reply.json == daemon.filter(pod, names)
    assert reply.json["NodeNames"] == ["gpu-a10-1", "gpu-v100-1"]
    meta = pod["metadata"]
    binding = {"PodName": "p", "PodNamespace": "default", "PodUID": meta["uid"],
               "Node": "gpu-a10-1"}
    assert daemon.post(PREFIX + "/bind", binding).json == {"Error": ""}
    assert daemon.post(PREFIX + "/bind", binding).json == {"Error": ""}
    assert daemon.explain(pod)["assignment"]["annotation"] == MEM + "=0*20"


def test_filter_takes_whole_nodes_too(start):
    daemon = start(EXAMPLES / "gpushare.yaml")
    nodes = {"items": [{"metadata": {"name": "gpu-t4-1"}}, {"metadata": {"name": "gpu-v100-1"}}]}
    reply = daemon.post(PREFIX + "/filter",
                        {"Pod": pod_of("p", {MEM: 20}, "u"), "Nodes": nodes, "NodeNames": None})
    assert [n["metadata"]["name"] for n in reply.json["Nodes"]["items"]] == ["gpu-v100-1"]


def test_inspect_has_gpushares_shape(start):
    daemon = start(EXAMPLES / "gpushare.yaml")
    assert inspect(daemon, "/gpu-t4-1") == {"nodes": [{
        "name": "gpu-t4-1", "totalGPU": 30, "usedGPU": 16, "devs": [
            {"id": 0, "totalGPU": 15, "usedGPU": 10,
             "pods": [{"name": "ocr-0", "namespace": "serving", "usedGPU": 10}]},
            {"id": 1, "totalGPU": 15, "usedGPU": 6,
             "pods": [{"name": "ocr-1", "namespace": "serving", "usedGPU": 6}]}]}]}
    everything = inspect(daemon)
    assert [n["name"] for n in everything["nodes"]] == ["gpu-a10-1", "gpu-t4-1", "gpu-v100-1"]
    assert "error" not in everything
    for node in everything["nodes"]:
        assert node["usedGPU"] == sum(d["usedGPU"] for d in node["devs"])
        for dev in node["devs"]:
            assert dev["usedGPU"] == sum(p["usedGPU"] for p in dev["pods"])


def test_inspect_shows_a_bind_at_once(start):
    daemon = start(EXAMPLES / "gpushare.yaml")
    pod = daemon.add_pod("p", {MEM: 22})
    assert daemon.bind(pod, "gpu-a10-1") == ""
    node, = inspect(daemon, "/gpu-a10-1")["nodes"]
    assert node["devs"] == [{"id": 0, "totalGPU": 22, "usedGPU": 22, "pods": [
        {"name": "p", "namespace": "default", "usedGPU": 22}]}]


def test_inspect_of_a_node_without_it_is_an_error_in_words(start):
    daemon = start(EXAMPLES / "kinds.yaml")
    assert inspect(daemon, "/nowhere") == {"nodes": [], "error": "node nowhere is not known"}
    assert inspect(daemon, "/whole-1") == {
        "nodes": [], "error": "node whole-1 does not offer aliyun.com/gpu-mem"}
    assert daemon.get(PREFIX + "/bind").status == 405


def test_several_gpus_a_pod_where_the_node_says_so(start, tmp_path):
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
            "status": {"allocatable": {MEM: "32", "aliyun.com/gpu-count": "2"}}}
    other = {**node, "metadata": {"name": "m", "annotations": {
        "sliced.dev/gpushare-several-gpus": "true"}}}
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node, other]}),
                    encoding="utf-8")
    daemon = start(path)
    pod = daemon.add_pod("p", {MEM: 20}, labels={"aliyun.com/gpu-count": "2"})
    reply = daemon.filter(pod, ["m", "n"])
    assert reply["NodeNames"] == ["m"]
    assert reply["FailedAndUnresolvableNodes"] == {
        "n": MEM + ": 20 asked, one GPU of this node has at most 16"}
    assert daemon.bind(pod, "m") == ""
    assert daemon.explain(pod)["assignment"]["annotation"] == MEM + "=0*10,1*10"
    assert [d["usedGPU"] for d in inspect(daemon, "/m")["nodes"][0]["devs"]] == [10, 10]
    odd = daemon.add_pod("q", {MEM: 7}, labels={"aliyun.com/gpu-count": "2"})
    assert daemon.filter(odd, ["m"])["NodeNames"] == []
    assert daemon.filter(odd, ["n"])["NodeNames"] == ["n"]


def standing(name, limits, labels=None, assignment=None):
    """A pod that somebody has put on node n without asking anybody."""
    pod = pod_of(name, limits, "uid-" + name)
    pod["spec"]["nodeName"] = "n"
    pod["metadata"]["labels"] = labels or {}
    if assignment is not None:
        pod["metadata"]["annotations"] = {"sliced.dev/assignment": assignment}
    pod["status"] = {"phase": "Running"}
    return pod


def cluster_of(tmp_path, *pods, **allocatable):
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {
        "name": "n", "labels": {"nvidia.com/gpu.count": "8"}},
        "status": {"allocatable": {MEM: "64", "aliyun.com/gpu-count": "8", **allocatable}}}
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [
        node, *({"apiVersion": "v1", "kind": "Pod", **pod} for pod in pods)]}), encoding="utf-8")
    return path


def test_an_assignment_to_more_gpus_than_asked_does_no_harm(start, tmp_path):
    text = MEM + "=" + ",".join(str(i) for i in range(8))
    pods = [standing(f"p{i}", {MEM: 8}, {"aliyun.com/gpu-count": "2"}, text) for i in range(4)]
    daemon = start(cluster_of(tmp_path, *pods))
    node, = inspect(daemon, "/n")["nodes"]
    assert (node["usedGPU"], node["totalGPU"]) == (32, 64)
    assert daemon.filter(daemon.add_pod("q", {MEM: 8}), ["n"])["NodeNames"] == ["n"]


def test_what_stands_on_a_node_counts_however_odd_it_is(start, tmp_path):
    invented = {f"nvidia.com/mig-0{i:02}": 1 for i in range(20)}
    daemon = start(cluster_of(
        tmp_path,
        standing("names", {**invented, MEM: 16}),
        standing("fraction", {MEM: "3500m"}),
        standing("none-of-them", {**dict.fromkeys(invented, 0), MEM: 4})))
    node, = inspect(daemon, "/n")["nodes"]
    assert node["usedGPU"] == 16 + 4 + 4
    assert daemon.filter(daemon.add_pod("q", {MEM: 8}), ["n"])["NodeNames"] == ["n"]
    odd = daemon.add_pod("r", {**invented, MEM: 1})
    assert "more than 8 different GPU resources" in str(daemon.filter(odd, ["n"]))


def test_counts_beyond_all_reason_take_all_and_break_nothing(start, tmp_path):
    daemon = start(cluster_of(tmp_path, standing("a", {MEM: 2**63 - 1}),
                              standing("b", {MEM: 2**63 - 2**40, "cpu": "9Ei"})))
    reply = daemon.filter(daemon.add_pod("q", {MEM: 1}), ["n"])
    assert reply["NodeNames"] == []
    assert "0 free" in str(reply["FailedNodes"])
    huge = daemon.add_pod("r", {MEM: 2**31})
    assert "is too large: more than 2147483647" in str(daemon.filter(huge, ["n"]))


def test_several_containers_share_one_gpu(start):
    daemon = start(EXAMPLES / "gpushare.yaml")
    pod = pod_of("p", {MEM: 9})
    pod["spec"]["containers"].append(
        {"name": "d", "image": "x", "resources": {"limits": {MEM: "12"}}})
    pod["spec"]["initContainers"] = [
        {"name": "i", "image": "x", "resources": {"limits": {MEM: "20"}}}]
    pod["metadata"]["uid"] = daemon.add(pod)["uid"]
    reply = daemon.filter(pod, sorted(daemon.nodes()))
    assert reply["NodeNames"] == ["gpu-a10-1", "gpu-v100-1"]
    assert daemon.bind(pod, "gpu-a10-1") == ""
    assert daemon.explain(pod)["assignment"]["annotation"] == MEM + "=0*21"
