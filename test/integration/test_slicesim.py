"""slicesim as people call it: the commands of its page, traces, errors, reports in every form."""
import csv
import io
import json
import os
import subprocess
import sys
import xml.dom.minidom
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "deploy" / "examples"
sys.path.insert(0, str(ROOT / "test" / "docs"))

from check_readme import MARK, matches, read_commands  # noqa: E402
from simulator import SLICESIM, needs_data, play_published, run, runs_of, sharing_rows  # noqa: E402


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
    for command in ([], ["run"], ["reproduce"]):
        text = run(*command, "--help").stdout
        assert "Usage: slicesim" in text
    assert "Examples:" in run("run", "--help").stdout
    for name in ("short-tasks", "orders", "mig"):
        assert name in run("reproduce", "--help").stdout
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
    ([], "nothing to do: slicesim run or slicesim reproduce"),
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
    (["reproduce"], "reproduce what? One of short-tasks, orders, mig"),
    (["reproduce", "table-9"], "unknown experiment \"table-9\"; there are short-tasks"),
    (["reproduce", "mig", "-o", "svg"], "reproduce mig has no plot"),
    (["reproduce", "orders", "--policy", "fifo"], "--policy: only with reproduce openb"),
    (["reproduce", "mig", "--nodes", "a.csv"], "--nodes: only with reproduce openb"),
    (["reproduce", "mig", "--days", "short"], "--days: only with reproduce repartition"),
    (["reproduce", "repartition", "--days", "hot"], "--days: expected long or short, found \"hot\""),
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


@pytest.mark.parametrize("arguments", [
    ["run", "--generate", "tasks=30,namespace=a+b", "--gpus", "3", "--policy",
     "fifo,bounded:c=1.3", "--seeds", "3"],
    ["run", "--generate", "tasks=30,ask=nvidia.com/mig-1g.6gb:1+nvidia.com/mig-1g.6gb:2", "--gpus",
     "1x2:A30:1g.6gb*4", "--policy", "sjf"],
    ["reproduce", "short-tasks", "--seeds", "5"],
    ["reproduce", "orders", "--seeds", "1"],
])
def test_plots_are_well_formed_and_follow_the_pages_colours(arguments):
    text = run(*arguments, "-o", "svg").stdout
    root = xml.dom.minidom.parseString(text).documentElement
    assert root.tagName == "svg"
    assert "prefers-color-scheme:dark" in text
    for name in ("x", "y", "width", "height"):
        for rect in root.getElementsByTagName("rect"):
            assert float(rect.getAttribute(name) or 0) >= 0


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


def test_no_way_of_cutting_waits_for_less_than_the_bound_on_short_days():
    rows = json.loads(run("reproduce", "repartition", "--days", "short", "--seeds", "1", "-o",
                          "json").stdout)["rows"]
    for day in {row["day"] for row in rows}:
        ways = {row["way"]: row for row in rows if row["day"] == day}
        bound = ways.pop("no way is shorter")
        assert bound["wait_s"] <= min(way["wait_s"] for way in ways.values())
        assert bound["cuts"] is None
        assert not [way for way in ways.values() if way["never_started"] > 0]
        assert ways["sliced, nos' agent"]["wait_s"] < ways["nos' rule, nos' agent"]["wait_s"]


def test_mig_keeps_table_threes_shape():
    rows = json.loads(run("reproduce", "mig", "-o", "json").stdout)["rows"]
    for row in rows:
        assert row["here"] == pytest.approx(row["paper"], rel=0.15)
    mig = [r["here"] for r in rows if r["way"] == "MIG parallel"]
    assert max(mig) == min(mig)


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


SPEEDS = "model,batch,profile,speed_vs_7g\n"


def speeds(folder, text):
    (folder / "miso").mkdir()
    (folder / "miso" / "mig_iter_time.csv").write_text(SPEEDS + text)
    return folder


def test_miso_gives_slices_to_jobs_that_lose_nothing_on_them(tmp_path):
    data = speeds(tmp_path, "small,1,1g.5gb,1\nsmall,1,2g.10gb,1\nsmall,1,7g.40gb,1\n")
    rows = {r["scheme"]: r for r in json.loads(
        run("reproduce", "miso", "--data", data, "--seeds", "3", "-o", "json").stdout)["rows"]}
    assert rows["whole GPUs"]["ofWhole"] == rows["best static cut"]["ofStatic"] == 1
    assert rows["best static cut"]["ofWhole"] < 0.5  # seven slices, each as fast as the GPU
    assert 1 < rows["MISO's method"]["ofStatic"] < 1.1  # nothing to gain, and jobs stand still


def test_miso_gives_whole_gpus_to_jobs_that_run_nowhere_else(tmp_path):
    data = speeds(tmp_path, "large,1,7g.40gb,1\n")
    for row in json.loads(run("reproduce", "miso", "--data", data, "--seeds", "2", "-o",
                              "json").stdout)["rows"]:
        assert row["ofWhole"] == pytest.approx(row["ofStatic"])
        assert row["ofWhole"] == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("text,message", [
    ("a,1,1g.5gb,1\n", "a/1 has no speed on 7g.40gb"),
    ("a,1,5g.5gb,1\n", ":2:5: profile: expected a profile of the A100 40 GB, found \"5g.5gb\""),
    ("a,1,7g.40gb,fast\n", ":2:13: speed_vs_7g: expected a number"),
    ("", "no measured speed"),
])
def test_miso_tells_what_is_wrong_with_its_data(tmp_path, text, message):
    done = run("reproduce", "miso", "--data", speeds(tmp_path, text), status=2)
    assert message in done.stderr


@needs_data
def test_miso_keeps_what_it_published():
    rows = {r["scheme"]: r for r in json.loads(
        run("reproduce", "miso", "--seeds", "100", "-o", "json").stdout)["rows"]}
    assert rows["MISO's method"]["ofWhole"] <= 1 - 0.49
    assert rows["MISO's method"]["ofStatic"] <= 1 - 0.16


def test_cbp_pp_decides_on_the_windows_given(tmp_path):
    steady = {"pod": "a", "by": "CBP", "file": "OVERPROV_100_x.log", "cov": 0.1, "p80": 18000.0,
              "used": [18000.0] * 20}
    full = steady | {"pod": "b", "used": [25000.0] * 20}
    (tmp_path / "cbp_pp_accept_golden.json").write_text(json.dumps([steady, full]))
    rows = json.loads(run("reproduce", "cbp-pp", "--data", tmp_path, "-o", "json").stdout)["rows"]
    assert [(r["pod"], r["here"], r["samePercentile"]) for r in rows] == [
        ("a", "CBP", True), ("b", "no", False)]
    table = run("reproduce", "cbp-pp", "--data", tmp_path).stdout
    assert "All decisions alike: no" in table


def test_cbp_pp_takes_pods_that_were_not_accepted_and_numbers_that_were_not_logged(tmp_path):
    """As another run of the experiment may have them: members in any order, most windows full."""
    falling = [10000 - 20 * i for i in range(100)] + [8000 - 330 * i for i in range(24)]
    decisions = [
        {"used": [25000] * 20, "by": None, "pod": "full", "file": "OVERPROV_50_x.log", "p80": None, "pred": None},
        {"free": falling, "ac": None, "by": "no", "file": "OVERPROV_50_x.log", "pod": "falling", "pred": -6111},
    ]
    (tmp_path / "cbp_pp_accept_golden.json").write_text(json.dumps(decisions))
    rows = json.loads(run("reproduce", "cbp-pp", "--data", tmp_path, "-o", "json").stdout)["rows"]
    assert [(r["published"], r["here"], r["ask"]) for r in rows] == [("no", "no", 10491)] * 2
    assert [r["samePrediction"] for r in rows] == [None, True]
    assert {r[key] for r in rows for key in ("samePercentile", "sameCorrelation", "sameVariation")} == {None}


@pytest.mark.parametrize("text,message", [
    ("[]", "cbp_pp_accept_golden.json holds no decision"),
    ("", "found the end of the text"),
    ("[{\"pod\": 3}]", "golden.json:1:10: expected a string"),
    ("[{\"used\": [-1]}]", ":1:12: expected at most 4096 samples of 0 MiB and more"),
    ("[{\"used\": 7}]", ":1:11: expected a list of numbers"),
    ("[{\"used\": [null]}]", ":1:12: expected a number"),
    ("[{\"used\": [NaN]}]", ":1:12: expected a value"),
    ("[{\"cov\": \"0.1\"}]", ":1:10: expected a number"),
    ("[{\"by\": \"cbp\"}]", ":1:9: by: expected CBP, PP or no"),
    ("[{\"used\": [1]}]", ":1:14: by: expected CBP, PP or no, found nothing"),
    ("[{\"by\": \"CBP\"}]", ":1:14: expected the window, used or free"),
    ("[7]", ":1:2: expected a list of objects"),
    ("{}", ":1:1: expected a list of objects"),
    ("[{\"pod\": \"a\"", "expected ',' or '}', found the end of the text"),
])
def test_cbp_pp_tells_what_is_wrong_with_its_data(tmp_path, text, message):
    (tmp_path / "cbp_pp_accept_golden.json").write_text(text)
    assert message in run("reproduce", "cbp-pp", "--data", tmp_path, status=2).stderr


@needs_data
def test_cbp_pp_decides_as_published():
    rows = json.loads(run("reproduce", "cbp-pp", "-o", "json").stdout)["rows"]
    assert len(rows) >= 79
    for row in rows:
        assert row["here"] == row["published"], row
        assert False not in (row["samePercentile"], row["sameCorrelation"], row["samePrediction"]), row


def sharing_data(folder, lives=3, peak=8000.0):
    """Runs as Ferikoglou et al. published them: jobs one after the other, and what three schedulers made of them."""
    run_alone = "".join(f"{at},{mib}\n" for at, mib in enumerate(([0.0] * 5 + [300.0] * 5 + [peak] * 90) * lives))
    for percent in (0, 100, 200):
        for scheduler in ("DEFAULT", "ALIBABA", "CUSTSCHED"):
            name = f"OVERPROV_{percent}_dcgm_{{}}_combined_{scheduler}.csv"
            (folder / name.format("fb_used")).write_text(run_alone)
            (folder / name.format("gpu_utilization")).write_text(run_alone.replace(str(peak), "10.0"))
            (folder / name.format("power_usage")).write_text(run_alone.replace(str(peak), "41.0"))
            (folder / f"OVERPROV_{percent}_WORKLOAD_{scheduler}.txt").write_text(
                "Container Restart Count = 2\nPod_Start_Time - Pod_Creation_Timestamp = 0:01:05\n")
    (folder / "arrivals.csv").write_text("arrival_s,mem_request_mib_at_0pct\n" + "".join(
        f"{10 * i},{peak:.0f}\n" for i in range(lives)))
    return folder


def test_sharing_by_peaks_pushes_no_pod_out_and_gains_time(tmp_path):
    rows = sharing_rows("--data", sharing_data(tmp_path, lives=9), "--seeds", "1")
    assert len(rows) == 70
    engines = [f"{load}-{over}" for load in ("engines", "again") for over in (50, 100, 150, 250)]
    for load in ["published-1x", "published-2x", "published-3x", "generated", "repeated"] + engines:
        asks, peaks, oracle = (rows[load, name] for name in ("asks", "peaks", "oracle"))
        assert asks["pushed"] == oracle["pushed"] == 0
        # of a workload that never ran before several pods may grow late at once
        assert peaks["pushed"] <= (10 if load == "generated" else 0)
        assert oracle["beyond"] == 0
        assert oracle["pending"] <= peaks["pending"] <= asks["pending"]
    assert rows["published-3x", "peaks"]["pending"] < 0.7 * rows["published-3x", "asks"]["pending"]
    assert rows["repeated", "peaks"]["pending"] < 0.9 * rows["repeated", "asks"]["pending"]
    assert rows["generated", "cbp"]["pushed"] > 0
    for load, at_most in ("engines", 0.45), ("again", 0.35):  # of what they wait by asks, over all
        assert sum(rows[f"{load}-{over}", "peaks"]["pending"] for over in (50, 100, 150, 250)) < \
            at_most * sum(rows[f"{load}-{over}", "asks"]["pending"] for over in (50, 100, 150, 250))


@pytest.mark.parametrize("file,text,message", [
    ("arrivals.csv", "arrival_s\n1\n", "arrivals.csv:1:1: no column \"mem_request_mib_at_0pct\""),
    ("arrivals.csv", "arrival_s,mem_request_mib_at_0pct\n-1,5\n", "arrivals.csv:2:1: arrival_s: expected"),
    ("arrivals.csv", "arrival_s,mem_request_mib_at_0pct\n" + "1,5\n" * 5,
     "expected 5 jobs one after the other, found 3"),
    ("OVERPROV_100_dcgm_fb_used_combined_DEFAULT.csv", "0,1\n1;2\n",
     "combined_DEFAULT.csv:2: expected \"SECOND,VALUE\""),
    ("OVERPROV_0_dcgm_fb_used_combined_DEFAULT.csv", "0,40000\n", "a job of more than 32510 MiB"),
    ("OVERPROV_200_WORKLOAD_ALIBABA.txt", None, "no ferikoglou/OVERPROV_200_WORKLOAD_ALIBABA.txt in"),
])
def test_sharing_tells_what_is_wrong_with_its_data(tmp_path, file, text, message):
    path = sharing_data(tmp_path) / file
    path.unlink() if text is None else path.write_text(text)
    done = run("reproduce", "sharing", "--data", tmp_path, status=2)
    assert message in done.stderr, done.stderr


@needs_data
@pytest.mark.parametrize("trace", [
    "philly:philly/simulator_trace-data_trace1.csv", "adaptdl:philly/adaptdl_workload-1.csv"])
def test_published_traces_run(trace):
    play_published(trace, "--gpus", "64")


def test_the_manual_page_has_every_option():
    page = (ROOT / "docs" / "man" / "slicesim.1").read_text(encoding="utf-8").replace("\\-", "-")
    for command in ("run", "reproduce"):
        options = [word.rstrip(",") for line in run(command, "--help").stdout.splitlines()
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
