"""GPUs are cut by demand: stand-ins of the agents which keep the real ones' rules, on a control plane. After
each story the rack has checked that no instance in use was touched and none was given twice, and that no pod
was bound to a node during a cut."""

import statistics
import threading

import pytest

from harness import gpus
from harness.api import object_path
from harness.checker import DYNAMIC
from harness.cluster import ensure_namespace
from harness.history import CUT, History
from harness.machines.hardware import A100, A100_80
from harness.machines.machine import STRANGER, Machine
from harness.machines import mps_plugin
from harness.machines.mig_manager import CONFIG, NAMESPACE, STATE, MigManager
from harness.machines.mps_plugin import MpsPlugin
from harness.machines.nos_agent import STATUS_PLAN, NosAgent
from harness.process import wait_for
from harness.sliced import SHORT_LEASE, merge
from harness.watch import Watch

SEVENTH, QUARTER, HALF, WHOLE = "1g.10gb", "2g.20gb", "3g.40gb", "7g.80gb"
SHORT = 0.2  # seconds for which a stand-in cuts, where how long it takes does not matter
AGENTS = {"mig-manager": MigManager, "nos": NosAgent, "nos-mps": MpsPlugin}
# the stand-in's file has what was written as soon as its watch tells it
ENABLED = {"partitioning": {"enabled": True, "nosReportInterval": "1s", "migManager": {"delay": "500ms"}, "nosMps": {"namespace": mps_plugin.NAMESPACE,
                                                        "delay": "500ms"}}}
# pods come one by one here: nobody else is to be waited for
AT_ONCE = merge(ENABLED, {"partitioning": {"batchWindow": "200ms"}})
# A successor does not know what was ordered, and waits for so long until it believes what it sees. Nor can it
# repeat an order that failed because the agent's file was behind: it leaves the node out for a while.
PATIENCE = {"partitioning": {"timeout": "5s", "backoff": "1s"}}

each_agent = pytest.mark.parametrize("agent", AGENTS)


@pytest.fixture
def cutting(cluster, rack, gated):
    """start(config) gives the daemon, which may cut."""
    for namespace in (NAMESPACE, mps_plugin.NAMESPACE):
        ensure_namespace(cluster.plane, namespace)
    rights = cluster.allow({"config": ENABLED})
    yield lambda config=AT_ONCE: gated(config)
    cluster.stop_daemons()  # none is to miss its rights
    for each in rights:
        cluster.plane.delete(object_path(each))


# Slices of the sizes that the chart has kube-scheduler ask about, on a GPU of 40 GB.
SLICES = {SEVENTH: "5gb", QUARTER: "10gb", HALF: "20gb", WHOLE: "40gb"}


def made_by(agent, profile):
    """What the agent makes in the profile's place, on a GPU of model_of(agent)."""
    return SLICES[profile] if agent == "nos-mps" else profile


def model_of(agent):
    return A100 if agent == "nos-mps" else A100_80


def resource(profile):
    return f"nvidia.com/{'mig' if '.' in profile else 'gpu'}-{profile}"


def pod(name, profile, node=None, **more):
    made = gpus.pod(name, {resource(profile): 1}, **more)
    if node:
        made["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
    return made


def node_of(cluster, machine):
    return cluster.plane.get(machine.path)["metadata"]


def wait_rest(cluster, *machines):
    """Until no cut is under way."""
    wait_for("no cut is under way", lambda: not any(
        CUT in node_of(cluster, each).get("annotations", {}) for each in machines))


def successes(machine):
    """How often its GPUs were cut."""
    agent = machine.agent
    if isinstance(agent, MigManager):  # a run ends after its last instance is offered
        wait_for("its runs are over", lambda: all(outcome is not None for _, outcome in agent.runs))
    return len(agent.plans) if isinstance(agent, NosAgent) else sum(
        outcome in (True, "success") for _, outcome in agent.runs)


# ---- what it is for ----

@each_agent
def test_five_small_pods_start_on_a_gpu_that_is_one_large_instance(cluster, rack, cutting, agent):
    """nos' tutorial; under nos in MPS mode one large slice of memory."""
    small, large = made_by(agent, SEVENTH), made_by(agent, WHOLE)
    machine = rack.add(Machine("gpu-1", model_of(agent), [[large]], AGENTS[agent](seconds=4)))
    daemon = cutting(ENABLED)
    names = [f"pod-{i}" for i in range(5)]
    with History(cluster.plane) as history:
        cluster.add(*(pod(name, small) for name in names))
        for name in names:
            wait_for("it is explained", lambda: "GPU 0 of gpu-1 is being cut into" in daemon.get(
                f"/api/v1/pods/default/{name}/explain?output=table")[1])
        cluster.wait_bound(*names)
        wait_for("it is seen", lambda: set(history.bound) >= set(names))
    print(f"{agent}: the last of five bound after {max(map(waited(history), names)):.2f} s")
    assert machine.cut()[0].count(small) >= 5
    assert successes(machine) == 1


def waited(history):
    """Gives for a pod the seconds from its creation to its binding."""
    return lambda name: history.bound[name] - history.made[name]


def test_each_layout_of_an_a100_is_cut_when_it_is_asked_for(cluster, rack, cutting):
    """All 14 maximal multisets. Prints how long pods wait, of some that come one after another."""
    five = [profile for profile in A100.profiles if profile != "1g.10gb"]
    multisets = sorted({tuple(sorted(profile for _, profile in layout)) for layout in A100.maximal()
                        if all(profile in five for _, profile in layout)})
    assert len(multisets) == 14
    cutting(ENABLED)

    def ask(i, agent):
        # nothing of what it is cut into is of use
        before = ["1g.5gb"] * 7 if multisets[i] == ("7g.40gb",) else ["7g.40gb"]
        machine = rack.add(Machine(f"gpu-{i}", A100, [before], agent))
        names = [f"pod-{i}-{j}" for j in range(len(multisets[i]))]
        cluster.add(*(pod(name, profile, machine.name) for name, profile in zip(names, multisets[i])))
        return machine, names
    waits = []
    with History(cluster.plane) as history:
        for i in range(5):
            _, names = ask(i, MigManager())
            cluster.wait_bound(*names)
            wait_for("it is seen", lambda: set(history.bound) >= set(names))
            waits += map(waited(history), names)
    print(f"cuts of 1 s: from a pod's creation to its binding, median {statistics.median(waits):.2f} s, "
          f"at most {max(waits):.2f} s")
    rest = [ask(i, MigManager(seconds=SHORT)) for i in range(5, 14)]
    cluster.wait_bound(*(name for _, names in rest for name in names))
    assert {successes(machine) for machine in rack.machines.values()} == {1}


@each_agent
def test_small_to_large_and_back_while_a_pod_runs_on(cluster, rack, cutting, agent):
    """A pod runs all the while on one of the GPUs."""
    small, quarter, half, large = (made_by(agent, each) for each in (SEVENTH, QUARTER, HALF, WHOLE))
    machines = [Machine(f"gpu-{i}", model_of(agent), [[half, small], [large]],
                        AGENTS[agent](seconds=SHORT), told=agent == "mig-manager") for i in range(2)]
    rack.add(*machines)
    cutting()
    cluster.add(pod("stays", half, "gpu-0"))
    stays = cluster.wait_bound("stays")["stays"]
    place = wait_for("the kubelet lets it run", lambda: machines[0].where(stays))
    for wave, (profile, count) in enumerate([(small, 16), (large, 2), (quarter, 7), (small, 16)]):
        names = [f"wave-{wave}-{i}" for i in range(count)]
        # the first two go to one machine each: neither may leave all cuts to the other
        cluster.add(*(pod(name, profile, f"gpu-{i}" if i < 2 else None, runs="300ms")
                      for i, name in enumerate(names)))

        def over():
            pods = cluster.pods()
            return sum(pods[name]["status"].get("phase") == "Succeeded" for name in names)
        wait_for("half have run", lambda: over() >= count / 2, 60)
    wait_for("all have run", lambda: over() == count, 60)
    assert machines[0].where(stays) == place
    assert all(map(successes, machines))


@each_agent
def test_a_node_drains_for_a_large_instance_under_a_stream_of_small_ones(cluster, rack, cutting, agent):
    """What comes free is kept for it, and given to nobody who would run longer than those that must go."""
    small, large = made_by(agent, SEVENTH), made_by(agent, WHOLE)

    def timed(name, profile, seconds, runs):
        made = pod(name, profile, runs=runs)
        made["spec"]["activeDeadlineSeconds"] = seconds
        return made
    machine = rack.add(Machine("gpu-1", model_of(agent), [[small] * 7], AGENTS[agent](seconds=SHORT),
                               told=agent == "mig-manager"))
    cutting(merge(AT_ONCE, {"queue": {"order": "fifo"}}))  # no promise to a small one ends the drain
    early = [timed(f"early-{i}", small, 60, f"{2 + i}s") for i in range(7)]
    cluster.add(*early)
    cluster.wait_bound(*(each["metadata"]["name"] for each in early))
    cluster.add(timed("large", large, 600, "5s"))
    cluster.wait_event("large", resource(large), source="sliced")
    late = [timed(f"late-{i}", small, 3600, "300ms") for i in range(7)]
    cluster.add(*late)
    cluster.wait_bound("large")
    pods = cluster.pods()
    assert not [each for each in late if pods[each["metadata"]["name"]]["spec"].get("nodeName")]
    assert machine.cut() == [[large]]
    cluster.wait_bound(*(each["metadata"]["name"] for each in late))


def test_slices_of_memory_mix_on_one_gpu_and_those_in_use_stay(cluster, rack, cutting):
    """GPUs that were never cut; then slices come and go beside some that are in use."""
    machine = rack.add(Machine("gpu-1", A100_80, [[], []], MpsPlugin(seconds=SHORT)))
    daemon = cutting(ENABLED)
    cluster.add(gpus.pod("two-of-one-size", {resource("5gb"): 2}))
    cluster.add(pod("a", "10gb"), pod("b", "40gb"), pod("c", "20gb"))
    pods = cluster.wait_bound("a", "b", "c")
    assert machine.cut() == [["10gb", "10gb", "20gb", "40gb"], []]
    cluster.add(pod("d", "40gb"))
    pods.update(cluster.wait_bound("d"))
    assert machine.cut() == [["10gb", "10gb", "20gb", "40gb"], ["40gb", "40gb"]]
    places = {name: wait_for("the kubelet lets it run", lambda: machine.where(pods[name])) for name in "acd"}
    cluster.delete_pod("b")
    cluster.add(pod("e", "20gb"), pod("f", "20gb"))
    cluster.wait_bound("e", "f")
    assert {name: machine.where(pods[name]) for name in places} == places
    assert successes(machine) == daemon.metric("sliced_partition_cuts_total", outcome="Done") == 3
    # of earlier orders only what the label named when this one was written
    assert len(cluster.plane.get(machine.agent.file.path)["data"]) <= 3 + 1  # the attempts of the last order


def test_under_strategy_single_all_gpus_of_a_node_are_cut_alike(cluster, rack, cutting):
    machine = rack.add(Machine("gpu-1", A100_80, [[SEVENTH] * 7, [SEVENTH] * 7], single=True,
                               agent=MigManager(seconds=SHORT)))
    cutting()
    names = [f"pod-{i}" for i in range(3)]
    cluster.add(*(gpus.pod(name, {"nvidia.com/gpu": 1}, annotations={"sliced.dev/min-gpu-memory": "30Gi"})
                  for name in names))
    cluster.wait_bound(*names)
    assert machine.cut() == [[HALF] * 2] * 2
    assert successes(machine) == 1


def test_a_node_that_is_not_chosen_is_not_touched(cluster, rack, cutting):
    machine = rack.add(Machine("gpu-1", A100_80, [[WHOLE]], MigManager(seconds=SHORT),
                               labels={DYNAMIC: "never"}))
    other = rack.add(Machine("gpu-2", A100_80, [[WHOLE]], MigManager(seconds=SHORT)))
    cutting()
    cluster.add(pod("large", WHOLE, "gpu-2"), pod("here", HALF, "gpu-1"))
    cluster.wait_bound("large")
    cluster.wait_event("here", resource(HALF), source="sliced")
    cluster.add(pod("first", HALF), pod("second", SEVENTH))
    cluster.delete_pod("large")
    cluster.wait_bound("first", "second")
    assert not machine.agent.runs and successes(other) == 1
    assert not any(key.startswith("sliced.dev/") and key != DYNAMIC
                   for key in {**node_of(cluster, machine)["labels"],
                               **node_of(cluster, machine).get("annotations", {})})


# ---- when the daemon goes away ----

class Stroke:
    """Kills a daemon as soon as the nodes or the ConfigMap are seen to be as is looked for."""

    def __init__(self, cluster):
        self.lock = threading.Lock()
        self.seen = {}
        self.passed = []  # since the last stroke: a step may be over before the daemon is there again
        self.daemon = self.looked_for = None
        self.watches = [Watch(cluster.plane, path, self._event) for path in (
            "/api/v1/nodes", f"/api/v1/namespaces/{NAMESPACE}/configmaps",
            f"/api/v1/namespaces/{mps_plugin.NAMESPACE}/configmaps")]

    def __enter__(self):
        for watch in self.watches:
            for found in watch.existing:
                self._event("ADDED", found)
            watch.start()
        return self

    def __exit__(self, *_):
        for watch in self.watches:
            watch.stop()

    def _event(self, kind, found):
        with self.lock:
            self.seen[found["metadata"]["uid"]] = found if kind != "DELETED" else None
            if kind != "DELETED":
                self.passed.append(found)
            self._strike()

    def _strike(self):
        found = [*filter(None, self.seen.values()), *self.passed]
        if self.looked_for and any(map(self.looked_for, found)):
            self.daemon.kill()
            self.looked_for = None
            self.passed.clear()

    def strike(self, daemon, looked_for):
        """Returns when the daemon is dead."""
        with self.lock:
            self.daemon, self.looked_for = daemon, looked_for
            self._strike()
        wait_for("the stroke", lambda: not self.looked_for)


def parts(found):
    """A node's labels and annotations; nothing of a ConfigMap."""
    metadata = found["metadata"] if "status" in found else {}
    return metadata.get("labels", {}), metadata.get("annotations", {})


def ordered(found):
    return CUT in parts(found)[1]


def is_ordered(agent, node):
    """Has the agent been told? All but nos' MIG agent hear of it by the label."""
    label = mps_plugin.CONFIG if agent == "nos-mps" else CONFIG
    return ordered(node) and (agent == "nos" or parts(node)[0].get(label, "").endswith(parts(node)[1][CUT]))


def steps(agent, profile, before):
    """What can be seen of a cut, in order. before: what was seen of the one before."""
    def offers(node, name):
        return int(node["status"]["allocatable"].get(name, "0")) > 0

    def name_of(node):
        labels, annotations = parts(node)
        return {"mig-manager": labels.get(CONFIG), "nos": annotations.get(STATUS_PLAN),
                "nos-mps": labels.get(mps_plugin.CONFIG)}[agent]

    def written(found):
        return "status" not in found and found["metadata"]["name"] in (
            "sliced-mig-config", mps_plugin.CONFIG_MAP) and \
            found["metadata"]["resourceVersion"] not in before

    def away(node):
        return ordered(node) and not any(offers(node, resource(made_by(agent, each)))
                                         for each in (HALF, WHOLE))

    def told(node):
        return ordered(node) and (name_of(node) or "").endswith(parts(node)[1][CUT]) and \
            parts(node)[0].get(STATE) in (None, "success")

    def offered(node):
        """Then the cut is over soon, maybe before the daemon is there again."""
        return name_of(node) not in (None, *before) and offers(node, resource(profile))

    def finished(node):
        return not ordered(node) and name_of(node) not in (None, *before)
    return [written] * (agent != "nos") + [ordered, away, told, offered, finished]


@each_agent
def test_the_daemon_is_killed_at_each_step_of_a_cut(cluster, rack, cutting, agent):
    """Of two cuts, there and back: 10 or 12 times under each agent."""
    half, large = made_by(agent, HALF), made_by(agent, WHOLE)
    machine = rack.add(Machine("gpu-1", model_of(agent), [[large]], AGENTS[agent]()))
    daemon = cutting({**merge(AT_ONCE, PATIENCE), "leaderElection": {"enabled": False}})
    with Stroke(cluster) as stroke:
        for name, profile in (("half", half), ("whole", large)):
            before = {text for found in stroke.seen.values() if found for text in (
                found["metadata"]["resourceVersion"], *parts(found)[0].values(), *parts(found)[1].values())}
            stroke.passed.clear()
            cluster.add(pod(name, profile))
            for step in steps(agent, profile, before):
                stroke.strike(daemon, step)
                daemon.start()
            cluster.wait_bound(name)
            cluster.delete_pod(name)
            wait_rest(cluster, machine)
    assert successes(machine) == 2, "one cut was ordered twice"


def test_a_leader_is_killed_during_a_cut_and_its_successor_ends_it(cluster, rack, cutting):
    machine = rack.add(Machine("gpu-1", A100_80, [[WHOLE]], MigManager(seconds=2)))
    config = merge(merge(AT_ONCE, PATIENCE), SHORT_LEASE)
    leader = cutting(config)
    standby = cluster.new_daemon(config=merge(cluster.gate, config)).launch().wait_up()
    with Stroke(cluster) as stroke:
        cluster.add(pod("first", HALF), pod("second", HALF))
        stroke.strike(leader, steps("mig-manager", HALF, ())[2])
    standby.wait_ready()
    cluster.wait_bound("first", "second")
    wait_rest(cluster, machine)
    assert successes(machine) == len(machine.agent.runs) == 1


@each_agent
def test_switched_off_during_a_cut_it_leaves_the_cut_to_the_agent(cluster, rack, cutting, agent):
    half, large = made_by(agent, HALF), made_by(agent, WHOLE)
    machine = rack.add(Machine("gpu-1", model_of(agent), [[large]], AGENTS[agent](seconds=4)))
    daemon = cutting()
    cluster.add(pod("first", half))
    wait_for("the order", lambda: is_ordered(agent, cluster.plane.get(machine.path)))
    daemon.stop()
    rack.cuts.node = lambda kind, node: None  # the mark on the node stays: the agent tells when it is over
    rack.cuts.began.clear()
    daemon.write_config(merge(daemon.config, {"partitioning": {"enabled": False}}))
    daemon.start()
    cluster.wait_bound("first")
    assert machine.cut() == [[half] * 2]
    cluster.add(pod("large", large))
    cluster.wait_event("large", resource(large), source="sliced")
    assert successes(machine) == 1


# ---- when the agent goes wrong ----

MISHAPS = {
    # the order itself says pending: of silence nothing else is seen
    "mig-manager": {"failed": "Failed", "half": "HalfApplied", "wedged": "Wedged", "silent": "Wedged",
                    "lying": "NotFollowed", "late": "NotFollowed"},
    "nos": {"silent": "Silent", "failed": "HalfApplied", "lying": "HalfApplied", "late": "HalfApplied"},
    "nos-mps": {"silent": "Silent", "late": "NotFollowed"}}


def test_a_node_whose_cut_fails_is_left_out_and_its_pod_goes_elsewhere(cluster, rack, cutting):
    wrong = {f"{agent}-{mishap}": (agent, mishap, outcome)
             for agent, mishaps in MISHAPS.items() for mishap, outcome in mishaps.items()}
    daemon = cutting(merge(AT_ONCE, {"partitioning": {"timeout": "10s", "backoff": "10m",
                                                          "maxNodes": 2 * len(wrong)}}))
    for name, (agent, mishap, _) in wrong.items():
        machine = rack.add(Machine(f"bad-{name}", model_of(agent), [[made_by(agent, WHOLE)]],
                                   AGENTS[agent](seconds=SHORT), labels={"pair": name}))
        machine.agent.mishaps.append(mishap)
        made = pod(name, made_by(agent, HALF))
        made["spec"]["nodeSelector"] = {"pair": name}
        cluster.add(made)
    for name, (_, _, outcome) in wrong.items():
        def told():
            rows = {each["node"]: each for each in daemon.json("/api/v1/partitions")["items"]}
            assert rows[f"bad-{name}"]["why"] == outcome, rows[f"bad-{name}"]
            return True
        wait_for(f"{name} is told", told)
        cluster.wait_event(f"bad-{name}", outcome, source="sliced")
        assert daemon.metric("sliced_partition_cuts_total", outcome=outcome) >= 1
    rows = daemon.get("/api/v1/partitions?output=table")[1].splitlines()
    assert rows[0].split() == ["NODE", "ACTUATOR", "GPU", "INSTANCES", "STATE", "CUT", "PODS", "WHY", "TEXT"]
    assert len(rows) == 1 + len(wrong)
    for name, (_, _, outcome) in wrong.items():
        row, = (each for each in rows if each.startswith(f"bad-{name} "))
        assert f" its last cut ended ({outcome}), and it is left out until " in row, row

    def in_health():
        out = {each["node"]: each["why"] for each in daemon.json("/api/v1/partitions")["items"] if each["state"] == "LeftOut"}
        cuts = daemon.state()["broken"]["cuts"]
        return out and {each["node"]: each["why"] for each in cuts["items"]} == out and cuts["total"] == len(out)
    wait_for("the state names those that are left out", in_health)
    rack.add(*(Machine(f"good-{name}", model_of(agent), [[made_by(agent, WHOLE)]],
                       AGENTS[agent](seconds=SHORT), labels={"pair": name}) for name, (agent, _, _) in wrong.items()))
    pods = cluster.wait_bound(*wrong)
    nodes = {name: pods[name]["spec"]["nodeName"] for name in wrong}
    # its order is taken back to what it says that it has made: now it does that
    assert nodes.pop("nos-lying") in ("bad-nos-lying", "good-nos-lying")
    assert nodes == {name: f"good-{name}" for name in nodes}


def test_a_node_that_goes_during_its_cut_is_forgotten_and_its_pod_goes_elsewhere(cluster, rack, cutting):
    machine = rack.add(Machine("gpu-1", A100_80, [[WHOLE]], MigManager(seconds=SHORT)))
    machine.agent.mishaps.append("gone")
    daemon = cutting()
    cluster.add(pod("first", HALF))
    wait_for("it is noted", lambda: daemon.metric("sliced_partition_cuts_total", outcome="Gone") == 1)
    rack.add(Machine("gpu-2", A100_80, [[WHOLE]], MigManager(seconds=SHORT)))
    assert cluster.wait_bound("first")["first"]["spec"]["nodeName"] == "gpu-2"


def test_a_cut_whose_pods_are_gone_is_not_begun(cluster, rack, cutting):
    first, second = (rack.add(Machine(f"gpu-{i}", A100_80, [[WHOLE]], MigManager(seconds=SHORT)))
                     for i in range(2))
    daemon = cutting(merge(ENABLED, {"partitioning": {"batchWindow": "20s"}}))
    cluster.add(pod("passing", HALF, first.name))
    wait_for("it waits", lambda: daemon.json("/api/v1/queue")["items"])
    cluster.delete_pod("passing")
    cluster.add(pod("stays", HALF, second.name))
    cluster.wait_bound("stays")
    assert not first.agent.runs


def test_the_first_label_finds_its_entry(cluster, rack, cutting):
    """The file would be an hour behind, but that the kubelet is told of a change of the mig-manager's pod."""
    machine = rack.add(Machine("gpu-1", A100_80, [[WHOLE]], MigManager(seconds=SHORT, lag=3600)))
    daemon = cutting(merge(AT_ONCE, {"partitioning": {"migManager": {"delay": "5s"}}}))
    cluster.add(pod("first", HALF))
    cluster.wait_bound("first")
    assert successes(machine) == len(machine.agent.runs) == 1
    assert daemon.metric("sliced_partition_cuts_total", outcome="Done") == 1


def test_a_file_that_stays_behind_costs_an_attempt_and_no_cut(cluster, rack, cutting):
    machine = rack.add(Machine("gpu-1", A100_80, [[WHOLE]], MigManager(seconds=SHORT, nudged=3)))
    daemon = cutting(merge(AT_ONCE, {"partitioning": {"migManager": {"delay": "0s"}}}))
    cluster.add(pod("first", HALF))
    cluster.wait_bound("first")
    assert successes(machine) == 1
    names, outcomes = zip(*machine.agent.runs)
    assert outcomes[0] == "failed" and len(set(names)) == len(names)
    assert daemon.metric("sliced_partition_cuts_total", outcome="Done") == 1


def test_a_pod_of_another_scheduler_that_comes_during_a_cut_keeps_its_instance(cluster, rack, cutting):
    """It comes when the first label has failed, and its kubelet says that it started before: the second
    label would destroy all that it uses."""
    machine = Machine("gpu-1", A100_80, [[SEVENTH] * 7], MigManager(seconds=SHORT, nudged=3600))
    machine.clock = -2
    rack.add(machine)
    daemon = cutting()
    cluster.add(pod("large", WHOLE))
    wait_for("the first label fails", lambda: machine.agent.runs and machine.agent.runs[0][1] == "failed")
    stranger = pod("stranger", SEVENTH)
    stranger["spec"].update(nodeName=machine.name, schedulerName=STRANGER)
    cluster.add(stranger)
    wait_for("it is given up", lambda: daemon.metric("sliced_partition_cuts_total", outcome="Taken"))
    cluster.wait_event(machine.name, "Taken", source="sliced")
    assert machine.cut() == [[SEVENTH] * 7]

    def failed(times):
        """What the label names now is in no file."""
        return [outcome for value, outcome in machine.agent.runs if value.endswith("-0")] == ["failed"] * times
    wait_for("the order is taken back", lambda: failed(1))
    machine.agent.restart()
    wait_for("a mig-manager that starts anew does nothing", lambda: failed(2))
    assert machine.cut() == [[SEVENTH] * 7]
    machine.agent.nudged = 0
    cluster.delete_pod("stranger")
    cluster.wait_bound("large")
    assert machine.cut() == [[WHOLE]]


def test_an_order_is_taken_back_from_a_mig_manager_that_was_away_when_a_pod_came(cluster, rack, cutting):
    machine = rack.add(Machine("gpu-1", A100_80, [[SEVENTH] * 7], MigManager(seconds=SHORT)))
    machine.agent.mishaps.append("away")
    daemon = cutting()
    cluster.add(pod("large", WHOLE))
    wait_for("the label", lambda: is_ordered("mig-manager", cluster.plane.get(machine.path)))
    stranger = pod("stranger", SEVENTH)
    stranger["spec"].update(nodeName=machine.name, schedulerName=STRANGER)
    cluster.add(stranger)
    wait_for("it is given up", lambda: daemon.metric("sliced_partition_cuts_total", outcome="Taken"))
    wait_for("the mig-manager is back", lambda: [each[1] for each in machine.agent.runs] == ["failed"])
    assert machine.cut() == [[SEVENTH] * 7]
    cluster.delete_pod("stranger")
    cluster.wait_bound("large")


def test_after_a_walk_that_failed_half_way_the_other_gpus_keep_what_they_have(cluster, rack, cutting):
    machine = rack.add(Machine("gpu-1", A100_80, [[HALF, HALF] for _ in range(4)], MigManager(seconds=SHORT)))
    machine.agent.mishaps.append("busy")
    daemon = cutting(merge(AT_ONCE, {"partitioning": {"backoff": "1s"}}))
    cluster.add(pod("large", WHOLE))
    cluster.wait_bound("large")
    assert daemon.metric("sliced_partition_cuts_total", outcome="HalfApplied") == 1
    assert sorted(machine.cut()) == [[HALF, HALF]] * 3 + [[WHOLE]]
