"""slicesim as people call it: the commands of its page, traces, errors, reports in every form."""
import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "deploy" / "examples"
sys.path.insert(0, str(ROOT / "test" / "docs"))

from check_readme import MARK, matches, read_commands  # noqa: E402
from simulator import SLICESIM, needs_data, play_published, run, runs_of  # noqa: E402


def test_the_pages_commands_answer_as_the_page_says(tmp_path):
    commands = read_commands((ROOT / "docs" / "simulator.md").read_text(encoding="utf-8"))
    assert len(commands) >= 8
    (tmp_path / "deploy").symlink_to(ROOT / "deploy")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "slicesim").symlink_to(SLICESIM)
    script = "exec 2>&1\n" + "".join(
        f"{command}\nprintf '\\n{MARK}\\n'\n" for _, command, _ in commands)
    done = subprocess.run(["bash"], input=script, cwd=tmp_path, capture_output=True, text=True,
                          timeout=300,
                          env={**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"})
    outputs = done.stdout.split(f"\n{MARK}\n")
    assert len(outputs) == len(commands) + 1, done.stdout + done.stderr
    for (line, command, expected), actual in zip(commands, outputs):
        assert matches(expected, actual), f"docs/simulator.md:{line}: $ {command}\n{actual}"


def test_help_teaches_with_examples():
    for command in ([], ["run"]):
        text = run(*command, "--help").stdout
        assert "Usage: slicesim" in text
    assert "Examples:" in run("run", "--help").stdout
    assert run("--version").stdout.startswith("slicesim ")
    assert run("version").stdout == run("--version").stdout
    assert run("help").stdout == run("--help").stdout


def test_jobs_that_never_start_are_counted_and_the_first_is_named():
    text = "name,submit,duration,count\na,0,5,1\nwide,0,5,9\nwider,0,5,99\n"
    done = run("run", "--trace", "csv:-", "--gpus", "8", "--policy", "fifo", stdin=text)
    assert done.stderr == ("slicesim: 2 of 3 jobs never started: 2 Never; the first is default/wide, "
                           "which asks for 9 of nvidia.com/gpu: refused: no node of the cluster could ever take "
                           "it\n")


def test_columns_that_nobody_reads_are_named():
    text = "submit,duration,timout,note\n0,1h30m,2h,x\n"
    done = run("run", "--trace", "csv:-", "--gpus", "1", "--policy", "fifo", "-o", "json", stdin=text)
    assert done.stderr == "slicesim: columns of the trace that nobody reads: timout, note\n"
    assert json.loads(done.stdout)["runs"][0]["makespan"] == 5400


@pytest.mark.parametrize("gpus,pods", [("16", 3), ("4x4", 5), ("8x1", 18), ("12", 3)])
def test_jobs_wider_than_the_largest_node_become_several_pods(gpus, pods):
    text = "job_id,num_gpu,submit_time,duration\n1,16,0,1000\n2,2,0,1000\n"
    arguments = ["run", "--trace", "philly:-", "--gpus", gpus, "--policy", "bounded", "-o", "json"]
    done = run(*arguments, stdin=text)
    assert json.loads(done.stdout)["runs"][0]["jobs"] == pods
    assert done.stderr == ""


def test_a_trace_whose_run_times_are_drawn_may_come_from_standard_input():
    text = "name,time,application,num_replicas\na,0,ncf,1\nb,5,bert,2\n"
    arguments = ["run", "--trace", "adaptdl:-", "--gpus", "8", "--policy", "fifo,sjf",
                 "--seeds", "4", "-o", "json"]
    runs = json.loads(run(*arguments, stdin=text).stdout)["runs"]
    assert [one["jobs"] for one in runs] == [2] * 8
    assert len({one["makespan"] for one in runs}) == 4


@pytest.mark.parametrize("arguments,message", [
    ([], "nothing to do: slicesim run, which slicesim run --help explains"),
    (["run"], "which jobs: give one of --trace FORMAT:FILE, --generate SPEC, --live FILE"),
    (["run", "--live", "x", "--gpus", "2", "--policy", "fifo"], "--gpus: not with --live, which has it all"),
    (["run", "--live", "/nonexistent", "--policy", "fifo"], "/nonexistent: No such file or directory"),
    (["run", "--live", "-", "--policy", "fifo", "--at", "noon"], "--at \"noon\": expected a time"),
    (["run", "--live", "-", "--policy", "fifo", "--for", "soon"], "--for \"soon\": expected a duration"),
    (["run", "--live", EXAMPLES / "a30-mixed.yaml", "--policy", "fifo"], "no pod waits for a GPU"),
    (["run", "--generate", "tasks=2", "--gpus", "1", "--policy", "fifo", "--for", "1d"], "--for: only with --live"),
    (["run", "--generate", "tasks=2", "--gpus", "1"], "which policies: --policy"),
    (["run", "--generate", "tasks=2", "--policy", "fifo"], "which nodes: give one of --cluster"),
    (["run", "--generate", "tasks=2", "--policy", "fifo", "--gpus", "1", "--nodes", "csv:x"],
     "which nodes: only one of"),
    (["run", "--generate", "tasks=two", "--policy", "fifo", "--gpus", "1"],
     "--generate: tasks: \"two\": expected an integer"),
    (["run", "--generate", "tasks=2", "--policy", "fifo", "--gpus", "1", "--partitioning", "static:1g"],
     "--partitioning: no node has GPUs of a known model that can be cut"),
    (["run", "--generate", "tasks=2", "--policy", "fifo", "--gpus", "1", "--partitioning", "often"],
     "--partitioning: \"often\": expected none, static:CUT, best-static or dynamic"),
    (["run", "--trace", "csv:/nonexistent", "--policy", "fifo", "--gpus", "1"],
     "/nonexistent: No such file or directory"),
    (["run", "--generate", "tasks=2", "--policy", "shortest", "--gpus", "1"],
     "there is no policy \"shortest\"; there are fifo, sjf, p, hrrn, bounded"),
])
def test_what_is_wrong_is_told(arguments, message):
    done = run(*arguments, status=2)
    assert message in done.stderr
    assert done.stdout == ""


# ---- a live cluster ----

NOW = "2026-11-21T12:00:00Z"


def live_pod(name, created, timeout, count=1, node=None, started=None, meta=(), **spec):
    """What kubectl prints of a pod."""
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "a", "uid": f"u-{name}", "creationTimestamp": created,
                         **dict(meta)},
            "spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": str(count)}}}],
                     **({"activeDeadlineSeconds": timeout} if timeout else {}),
                     **({"nodeName": node} if node else {}), **spec},
            "status": {"phase": "Running", "startTime": started} if node else {"phase": "Pending"}}


def live(*pods, gpus=2):
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"zone": "a"}},
            "status": {"allocatable": {"nvidia.com/gpu": str(gpus)}}}
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [*reversed(pods), node]})


QUEUE = [live_pod("runs", "2026-11-21T10:00:00Z", 7200, 2, "n1", "2026-11-21T11:00:00Z"),
         live_pod("long", "2026-11-21T11:00:00Z", 14400, 2), live_pod("short", "2026-11-21T11:30:00Z", 600),
         live_pod("elsewhere", "2026-11-21T11:31:00Z", 600, nodeSelector={"zone": "b"})]


def play_live(tmp_path, text, *options, policy="fifo,sjf", at=NOW):
    """(runs, starts): starts[policy] is [(seconds from now, pod)]."""
    starts = tmp_path / "starts.csv"
    done = run("run", "--live", "-", "--at", at, "--policy", policy, "--decisions", starts, "-o", "json", *options,
               stdin=text)
    rows = list(csv.DictReader(starts.open(encoding="utf-8")))
    return json.loads(done.stdout)["runs"], {name: [(float(row["time"]), row["pod"]) for row in rows
                                                    if row["policy"] == name] for name in policy.split(",")}


def test_another_policy_is_played_on_what_waits_now(tmp_path):
    runs, starts = play_live(tmp_path, live(*QUEUE))
    # the running pod ends an hour from now; whoever waits already has waited since it came
    assert starts == {"fifo": [(3600, "a/long"), (18000, "a/short")], "sjf": [(3600, "a/short"), (4200, "a/long")]}
    assert [each["wait"]["max"] for each in runs] == [1800 + 18000, 3600 + 4200]
    assert [each["makespan"] for each in runs] == [18600, 18600]
    assert all(each["neverStarted"] == 1 and 0.9 < each["utilisation"] <= 1 for each in runs)
    assert play_live(tmp_path, live(*QUEUE)) == (runs, starts)


def test_a_live_cluster_is_played_for_a_time(tmp_path):
    runs, starts = play_live(tmp_path, live(*QUEUE), "--for", "65m")
    assert starts == {"fifo": [(3600, "a/long")], "sjf": [(3600, "a/short")]}
    assert [(each["jobs"], each["neverStarted"]) for each in runs] == [(1, 2), (1, 2)]
    assert [each["makespan"] for each in runs] == [3900, 3900]


def test_pods_without_a_timeout_stay_and_late_ones_run_on(tmp_path):
    stays = live_pod("stays", "2026-11-21T10:00:00Z", 0, 1, "n1", "2026-11-21T10:00:00Z")
    late = live_pod("late", "2026-11-21T10:00:00Z", 3600, 1, "n1", "2026-11-21T10:30:00Z")
    waits = [live_pod("a", "2026-11-21T11:00:00Z", 60), live_pod("b", "2026-11-21T11:00:00Z", 60, 2)]
    _, starts = play_live(tmp_path, live(stays, late, *waits), policy="fifo")
    assert starts == {"fifo": [(1800, "a/a")]}  # half an hour late: as long again


def test_what_users_write_on_pods_stops_no_simulation(tmp_path):
    liars = [live_pod("old", "1970-01-01T00:00:01Z", 60), live_pod("new", "2999-01-01T00:00:00Z", 60),
             live_pod("timeless", "2026-11-21T11:00:00Z", 0, meta={"annotations": {"sliced.dev/timeout": "soon"}}),
             live_pod("staged", "2026-11-21T11:00:00Z", 60, meta={"annotations": {"sliced.dev/after": "old"}}),
             live_pod("wide", "2026-11-21T11:00:00Z", 2**31 - 1, 10**15),
             live_pod("malformed", "2026-11-21T11:00:00Z", 60, "many"),
             live_pod("gone", "2026-11-21T11:00:00Z", 60, 1, "n1", "2999-01-01T00:00:00Z"),
             live_pod("nowhere", "2026-11-21T11:00:00Z", 60, 1, "n9", "1970-01-01T00:00:01Z"),
             live_pod("old", "2026-11-21T11:00:00Z", 60)]
    runs, starts = play_live(tmp_path, live(*liars), "--for", "7d", policy="bounded,p,hrrn")
    assert all(each["jobs"] + each["neverStarted"] == 4 for each in runs)
    assert all((0, "a/old") in each for each in starts.values())


def test_a_trace_that_nothing_is_drawn_from_is_the_same_for_every_seed():
    trace = f"csv:{EXAMPLES / 'simulator' / 'jobs.csv'}"
    options = ["run", "--trace", trace, "--gpus", "1x2:A30:1g.6gb*4", "--policy", "sjf,fifo", "--seeds",
               3, "-o", "json"]
    done = run(*options)
    assert "the same for every seed" in done.stderr
    runs = json.loads(done.stdout)["runs"]
    assert [one.pop("seed") for one in runs] == [1, 1, 2, 2, 3, 3]
    assert runs[:2] == runs[2:4] == runs[4:] and runs[0] != runs[1]
    drawn = run(*options, "--estimate", "factor:1:5")
    assert drawn.stderr == ""
    assert len({one["wait"]["mean"] for one in json.loads(drawn.stdout)["runs"]}) > 2


def test_a_manifests_error_has_its_place(tmp_path):
    broken = tmp_path / "nodes.yaml"
    broken.write_text("apiVersion: v1\nkind: Node\nmetadata:\n  name: [a]\n")
    done = run("run", "--generate", "tasks=2", "--policy", "fifo", "--cluster", broken, status=2)
    assert f"{broken}:4:" in done.stderr


def test_pods_bound_in_manifests_keep_their_devices():
    jobs = "tasks=40,gap=constant:0,runtime=constant:100,ask=aliyun.com/gpu-mem:4"
    found = runs_of("--generate", jobs, "--policy", "fifo", "--cluster", EXAMPLES / "gpushare.yaml")
    assert 0 < found[0]["utilisation"] <= 1
    assert found[0]["jobs"] == 40
    assert found[0]["wait"]["max"] > 0  # 40 shares of 4 GiB and the residents do not fit at once


def test_every_form_tells_the_same():
    options = ["--generate", "tasks=30", "--gpus", "3", "--policy", "fifo,sjf", "--seeds", "2"]
    found = runs_of(*options)
    rows = list(csv.DictReader(io.StringIO(run("run", *options, "-o", "csv").stdout)))
    assert [(r["policy"], r["seed"]) for r in found] == \
        [("fifo", 1), ("sjf", 1), ("fifo", 2), ("sjf", 2)]
    for one, row in zip(found, rows):
        assert (row["policy"], int(row["seed"])) == (one["policy"], one["seed"])
        for group in ("response", "wait", "slowdown"):
            assert set(one[group]) == {"mean", "p50", "p95", "p99", "max"}
            for member, value in one[group].items():
                assert float(row[f"{group}_{member}"]) == pytest.approx(value, abs=2e-6)
        assert one["response"]["mean"] > one["wait"]["mean"] >= 0
        assert 0 < one["utilisation"] <= one["allocation"] <= 1
        assert one["makespan"] >= one["response"]["max"]


def test_results_do_not_depend_on_threads():
    options = ["run", "--generate", "tasks=50,estimate=factor:1:4", "--gpus", "4", "--policy",
               "fifo,sjf,p,hrrn,bounded", "--seeds", "10", "-o", "json"]
    texts = {run(*options, "--threads", n).stdout for n in (1, 2, 5)}
    assert len(texts) == 1


def test_decisions_name_every_start_once(tmp_path):
    path = tmp_path / "starts.csv"
    run("run", "--generate", "tasks=40", "--gpus", "2x2", "--policy", "sjf,bounded", "--decisions",
        path)
    rows = list(csv.DictReader(path.open()))
    assert len(rows) == 80
    assert all(float(r["end"]) > float(r["time"]) and r["outcome"] == "done" for r in rows)
    for policy in ("sjf", "bounded"):
        mine = [r for r in rows if r["policy"] == policy]
        assert len({r["pod"] for r in mine}) == 40
        assert [float(r["time"]) for r in mine] == sorted(float(r["time"]) for r in mine)
        assert all(r["devices"].startswith("nvidia.com/gpu=") for r in mine)
        assert all(0 <= float(r["wait"]) <= float(r["time"]) for r in mine)


SLICES = ["--generate", "tasks=120,gap=exp:20,ask=nvidia.com/mig-1g.5gb:1@3+nvidia.com/mig-3g.20gb:1",
          "--policy", "bounded"]


def test_dynamic_partitioning_starts_what_the_gpus_as_they_are_cannot():
    options = [*SLICES, "--gpus", "1x4:A100-SXM4-40GB:7g.40gb"]
    as_they_are = runs_of(*options, "--partitioning", "none", "--quiet")[0]
    dynamic = runs_of(*options, "--partitioning", "dynamic,seconds=20")[0]
    assert as_they_are["neverStarted"] == 120 and as_they_are["cuts"] == 0
    assert dynamic["neverStarted"] == 0 and dynamic["cuts"] > 0


def test_the_best_static_cut_is_told_and_does_as_well_when_it_is_asked_for():
    options = ["--generate", "tasks=60,gap=exp:5,ask=nvidia.com/mig-2g.10gb:1", "--policy", "fifo",
               "--gpus", "1x2:A100-SXM4-40GB"]
    best = runs_of(*options, "--partitioning", "best-static")[0]
    assert best.pop("cut") == "2g.10gb*3"
    assert best == runs_of(*options, "--partitioning", "static:2g.10gb*3")[0]
    text = run("run", *options, "--partitioning", "best-static").stdout
    assert "best static cut, fifo, seed 1: 2g.10gb*3\n" in text


def test_partitioned_runs_do_not_depend_on_threads():
    for how in ("best-static", "dynamic,actuator=nos"):
        options = ["run", *SLICES, "--gpus", "2x2:A100-SXM4-40GB:7g.40gb", "--partitioning", how,
                   "--seeds", 3, "-o", "json"]
        assert run(*options, "--threads", 1).stdout == run(*options, "--threads", 3).stdout


@needs_data
@pytest.mark.parametrize("trace", [
    "philly:philly/simulator_trace-data_trace1.csv", "adaptdl:philly/adaptdl_workload-1.csv"])
def test_published_traces_run(trace):
    play_published(trace, "--gpus", "64")


def test_the_manual_page_has_every_option():
    page = (ROOT / "docs" / "man" / "slicesim.1").read_text(encoding="utf-8").replace("\\-", "-")
    options = [word.rstrip(",") for line in run("run", "--help").stdout.splitlines()
               for word in line.split()[:1] if line.startswith("  --")]
    assert len(options) > 5
    assert [option for option in options if option not in page] == []


# ---- the simulator against the daemon ----

GOLDEN_MIXES = {
    "a100-h100.yaml": ["nvidia.com/mig-1g.10gb", "nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.20gb",
                       "nvidia.com/mig-3g.20gb", "nvidia.com/gpu"],
    "a30-mixed.yaml": ["nvidia.com/mig-1g.6gb"],
    "gpushare.yaml": ["aliyun.com/gpu-mem"],
    "t4-timeslicing.yaml": ["nvidia.com/gpu.shared", "nvidia.com/gpu"],
}


def without_waiting(path):
    """The manifest, less the pods that wait: to the daemon they are demand, to the simulator none."""
    objects = yaml.safe_load(path.read_text())
    objects["items"] = [o for o in objects["items"]
                        if o["kind"] != "Pod" or o["spec"].get("nodeName")]
    return objects


def parts_of(text):
    """"nvidia.com/gpu=0,3" or "...=1/2*3": (device, start, amount) of each part; None: unknown."""
    parts = []
    for part in text.split("=", 1)[1].split(","):
        place, _, amount = part.partition("*")
        device, _, start = place.partition("/")
        known = int(device) if device != "?" else None
        parts.append((known, int(start) if start.isdigit() else None, int(amount or 1)))
    return parts


def parts_held(daemon, name, node):
    """The same of what the pod holds on that node."""
    pod, = (p for p in daemon.nodes()[node]["pods"] if p["name"] == name)
    return [(p["device"], p.get("start"), p["amount"]) for p in pod["devices"]]


def golden_jobs(resources, count):
    """Jobs from a little generator of the test's own: (name, submit, duration, resource, count)."""
    state = 12345
    at = 0
    for number in range(count):
        picks = []
        for _ in range(4):
            state = (state * 1103515245 + 12345) % 2**31
            picks.append(state >> 8)
        at += picks[0] % 20
        units = 1 + picks[3] % 3
        yield (f"job-{number}", at, 30 + picks[1] % 200, resources[picks[2] % len(resources)], units)


@pytest.mark.parametrize("cluster,resources", GOLDEN_MIXES.items())
def test_the_daemon_decides_by_http_as_the_simulator_does(cluster, resources, start, tmp_path):
    jobs = {name: (submit, duration, resource, count)
            for name, submit, duration, resource, count in golden_jobs(resources, 120)}
    trace = tmp_path / "jobs.csv"
    trace.write_text("name,submit,duration,resource,count\n" + "".join(
        f"{name},{','.join(map(str, job))}\n" for name, job in jobs.items()))
    starts = tmp_path / "starts.csv"
    nodes = tmp_path / "cluster.yaml"
    nodes.write_text(yaml.safe_dump(without_waiting(EXAMPLES / cluster)))
    # with no backfill: a reservation would keep pods off nodes that the scheduler may take
    run("run", "--trace", f"csv:{trace}", "--cluster", nodes, "--policy", "fifo:backfill=false",
        "--decisions", starts, "--quiet")
    rows = list(csv.DictReader(starts.open()))
    assert len(rows) > 50
    first = min(job[0] for job in jobs.values())
    # at one moment: ends, then submissions, then starts
    events = [(job[0] - first, 1, number, name) for number, (name, job) in enumerate(jobs.items())]
    for number, row in enumerate(rows):
        name = row["pod"].split("/")[1]
        events.append((float(row["time"]), 2, number, name))
        events.append((float(row["time"]) + jobs[name][1], 0, number, name))
    decided = {row["pod"].split("/")[1]: row for row in rows}
    daemon = start(nodes)
    names = sorted(daemon.nodes())
    pods = {}
    for _, kind, _, name in sorted(events):
        if kind == 0:
            assert daemon.end(pods[name]).status == 200
        elif kind == 1:
            pods[name] = daemon.add_pod(name, {jobs[name][2]: jobs[name][3]})
        else:
            node = daemon.schedule(pods[name], names)
            assert node == decided[name]["node"], name
            assert parts_held(daemon, name, node) == parts_of(decided[name]["devices"]), name


def test_tenants_are_due_by_their_own_shares(tmp_path):
    """a holds all four GPUs, one of which is b's: b's pod is due while it waits, and goes before a's shorter one."""
    (tmp_path / "jobs.csv").write_text("submit,duration,count,tenant\n" + "0,3600,1,a\n" * 4 +
                                       "10,500,1,b-1\n20,400,1,a\n")
    config = {"apiVersion": "sliced.dev/v1alpha1", "kind": "SlicedConfiguration", "queue": {"enabled": True},
              "tenants": {"shares": [{"tenant": "a", "weight": 3}, {"tenant": "b"}],
                          "namespaces": [{"namespace": "a", "tenant": "a"}, {"namespace": "b-*", "tenant": "b"}]}}

    call = ["run", "--trace", f"csv:{tmp_path / 'jobs.csv'}", "--gpus", "4", "--policy",
            f"config:{tmp_path / 'sliced.yaml'}"]
    (tmp_path / "sliced.yaml").write_text(yaml.safe_dump(config))
    run(*call, "--audit", "--commands", tmp_path / "commands.tsv")
    names = [line.split()[3] for line in (tmp_path / "commands.tsv").read_text().splitlines()]
    assert names[4:] == ["b-1/job-4", "a/job-5"]
    config["tenants"]["guarantees"] = [{"tenant": name, "resource": "nvidia.com/gpu", "units": 3} for name in "ab"]
    (tmp_path / "sliced.yaml").write_text(yaml.safe_dump(config))
    told = run(*call, status=2).stderr
    assert "tenants.guarantees: 6 of nvidia.com/gpu are guaranteed in all, and the nodes have 4" in told
