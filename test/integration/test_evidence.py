"""Published experiments, run again: what they tell, and what is wrong with their data or options."""
import csv
import io
import json

import pytest

from simulator import needs_data, reproduce, rows_of, sharing_data


def test_help_names_the_experiments():
    text = reproduce("--help").stdout
    assert text.startswith("Usage: reproduce EXPERIMENT")
    for name in ("short-tasks", "orders", "mig", "--days"):
        assert name in text


@pytest.mark.parametrize("arguments,message", [
    ([], "reproduce what? There are short-tasks, orders, mig"),
    (["table-9"], "reproduce table-9? There are short-tasks"),
    (["mig", "-o", "svg"], "--output \"svg\": expected table, csv or json"),
    (["orders", "--policy", "fifo"], "--policy: only with openb"),
    (["mig", "--nodes", "a.csv"], "--nodes: only with openb"),
    (["mig", "--days", "short"], "--days: only with repartition"),
    (["mig", "orders"], "unexpected \"orders\""),
    (["repartition", "--days", "hot"], "--days: expected long or short, found \"hot\""),
])
def test_what_is_wrong_is_told(arguments, message):
    done = reproduce(*arguments, status=2)
    assert message in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("arguments", [["short-tasks", "--seeds", "5"], ["orders", "--seeds", "1"], ["mig"]])
def test_csv_and_json_tell_the_same(arguments):
    told = rows_of(*arguments)
    lines = list(csv.DictReader(io.StringIO(reproduce(*arguments, "-o", "csv").stdout)))
    assert len(lines) == len(told)
    for line, row in zip(lines, told):
        flat = {}
        for key, value in row.items():
            flat |= {f"{key}_{part}": each for part, each in value.items()} if isinstance(value, dict) else {key: value}
        assert list(line) == list(flat)
        for key, value in flat.items():
            if isinstance(value, (bool, type(None))):
                assert line[key] == {None: "", True: "true", False: "false"}[value]
            else:
                assert line[key] == value or float(line[key]) == value


def test_no_way_of_cutting_waits_for_less_than_the_bound_on_short_days():
    rows = rows_of("repartition", "--days", "short", "--seeds", "1")
    for day in {row["day"] for row in rows}:
        ways = {row["way"]: row for row in rows if row["day"] == day}
        bound = ways.pop("no way is shorter")
        assert bound["wait_s"] <= min(way["wait_s"] for way in ways.values())
        assert bound["cuts"] is None
        assert not [way for way in ways.values() if way["never_started"] > 0]
        assert ways["sliced, nos' agent"]["wait_s"] < ways["nos' rule, nos' agent"]["wait_s"]


def test_mig_keeps_table_threes_shape():
    rows = rows_of("mig")
    for row in rows:
        assert row["here"] == pytest.approx(row["paper"], rel=0.15)
    mig = [r["here"] for r in rows if r["way"] == "MIG parallel"]
    assert max(mig) == min(mig)


SPEEDS = "model,batch,profile,speed_vs_7g\n"


def speeds(folder, text):
    (folder / "miso").mkdir()
    (folder / "miso" / "mig_iter_time.csv").write_text(SPEEDS + text)
    return folder


def test_miso_gives_slices_to_jobs_that_lose_nothing_on_them(tmp_path):
    data = speeds(tmp_path, "small,1,1g.5gb,1\nsmall,1,2g.10gb,1\nsmall,1,7g.40gb,1\n")
    rows = {r["scheme"]: r for r in rows_of("miso", "--data", data, "--seeds", "3")}
    assert rows["whole GPUs"]["ofWhole"] == rows["best static cut"]["ofStatic"] == 1
    assert rows["best static cut"]["ofWhole"] < 0.5  # seven slices, each as fast as the GPU
    assert 1 < rows["MISO's method"]["ofStatic"] < 1.1  # nothing to gain, and jobs stand still


def test_miso_gives_whole_gpus_to_jobs_that_run_nowhere_else(tmp_path):
    data = speeds(tmp_path, "large,1,7g.40gb,1\n")
    for row in rows_of("miso", "--data", data, "--seeds", "2"):
        assert row["ofWhole"] == pytest.approx(row["ofStatic"])
        assert row["ofWhole"] == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("text,message", [
    ("a,1,1g.5gb,1\n", "a/1 has no speed on 7g.40gb"),
    ("a,1,5g.5gb,1\n", ":2:5: profile: expected a profile of the A100 40 GB, found \"5g.5gb\""),
    ("a,1,7g.40gb,fast\n", ":2:13: speed_vs_7g: expected a number"),
    ("", "no measured speed"),
])
def test_miso_tells_what_is_wrong_with_its_data(tmp_path, text, message):
    done = reproduce("miso", "--data", speeds(tmp_path, text), status=2)
    assert message in done.stderr


@needs_data
def test_miso_keeps_what_it_published():
    rows = {r["scheme"]: r for r in rows_of("miso", "--seeds", "100")}
    assert rows["MISO's method"]["ofWhole"] <= 1 - 0.49
    assert rows["MISO's method"]["ofStatic"] <= 1 - 0.16


def test_cbp_pp_decides_on_the_windows_given(tmp_path):
    steady = {"pod": "a", "by": "CBP", "file": "OVERPROV_100_x.log", "cov": 0.1, "p80": 18000.0,
              "used": [18000.0] * 20}
    full = steady | {"pod": "b", "used": [25000.0] * 20}
    (tmp_path / "cbp_pp_accept_golden.json").write_text(json.dumps([steady, full]))
    rows = rows_of("cbp-pp", "--data", tmp_path)
    assert [(r["pod"], r["here"], r["samePercentile"]) for r in rows] == [
        ("a", "CBP", True), ("b", "no", False)]
    table = reproduce("cbp-pp", "--data", tmp_path).stdout
    assert "All decisions alike: no" in table


def test_cbp_pp_takes_pods_that_were_not_accepted_and_numbers_that_were_not_logged(tmp_path):
    """As another run of the experiment may have them: members in any order, most windows full."""
    falling = [10000 - 20 * i for i in range(100)] + [8000 - 330 * i for i in range(24)]
    decisions = [
        {"used": [25000] * 20, "by": None, "pod": "full", "file": "OVERPROV_50_x.log", "p80": None, "pred": None},
        {"free": falling, "ac": None, "by": "no", "file": "OVERPROV_50_x.log", "pod": "falling", "pred": -6111},
    ]
    (tmp_path / "cbp_pp_accept_golden.json").write_text(json.dumps(decisions))
    rows = rows_of("cbp-pp", "--data", tmp_path)
    assert [(r["published"], r["here"], r["ask"]) for r in rows] == [("no", "no", 10491)] * 2
    assert [r["samePrediction"] for r in rows] == [None, True]
    assert {r[key] for r in rows for key in ("samePercentile", "sameCorrelation", "sameVariation")} == {None}


@pytest.mark.parametrize("text,message", [
    ("[]", "golden.json: expected a list of 1 to 100000 decisions"),
    ("{}", "golden.json: expected a list of 1 to 100000 decisions"),
    ("[{\"pod\": \"a\"", "golden.json:1:"),
    ("[{\"used\": [-1]}]", "decision 1: used: expected samples of 0 MiB and more"),
    ("[{\"used\": [null]}]", "decision 1: used: expected samples of 0 MiB and more"),
    ("[{\"used\": 7}]", "used: expected a list of at most 4096 numbers"),
    ("[{\"by\": \"cbp\"}]", "by: expected CBP, PP or no"),
    ("[{\"used\": [1]}]", "by: expected CBP, PP or no"),
    ("[{\"by\": \"CBP\"}]", "expected the window, used or free"),
    ("[7]", "decision 1: by: expected"),
])
def test_cbp_pp_tells_what_is_wrong_with_its_data(tmp_path, text, message):
    (tmp_path / "cbp_pp_accept_golden.json").write_text(text)
    assert message in reproduce("cbp-pp", "--data", tmp_path, status=2).stderr


@needs_data
def test_cbp_pp_decides_as_published():
    rows = rows_of("cbp-pp")
    assert len(rows) >= 79
    for row in rows:
        assert row["here"] == row["published"], row
        assert False not in (row["samePercentile"], row["sameCorrelation"], row["samePrediction"]), row


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
    done = reproduce("sharing", "--data", tmp_path, status=2)
    assert message in done.stderr, done.stderr


def philly(tmp_path, text):
    folder = tmp_path / "data"
    (folder / "philly").mkdir(parents=True)
    (folder / "philly" / "vc.csv").write_text("submit_s,duration_s,gpus,tenant\n" + text)
    return folder


# Tenant a fills the cluster with long jobs; b, with as much of it, comes back with short ones.
BORROWED = ("".join(f"{i},40000,1,a\n" for i in range(20)) + "".join(f"{60 + i},8000,1,b\n" for i in range(100)) +
            "200000,10,1,b\n")


def test_no_tenant_is_later_than_by_what_others_borrowed(tmp_path):
    rows = [r for r in rows_of("tenants", "--data", philly(tmp_path, BORROWED)) if not r["tenant"]]
    orders = [r["order"] for r in rows if (r["load"], r["sharesByLoadTo"]) == (0.94, 0.5)]
    assert orders == ["each alone (bounded)", "fifo", "sjf", "DRF, then sjf", "decayed usage, then sjf", "bounded",
                      "tenants"]
    assert {r["beyondR"] for r in rows if r["order"] == "tenants"} == {0}


def test_no_order_waits_less_than_the_bound_that_knows_the_future(tmp_path):
    """Two pods of a node each, which come together, and small ones: one node, or two."""
    day = 86400
    jobs = "0,10,1,a\n" + "".join(f"{at * day + i},{run},{gpus},a\n" for at in (6, 12) for i, (run, gpus) in
                   enumerate([(200000, 16), (200000, 16)] + [(20000, 1)] * 40))
    rows = rows_of("widths", "--data", philly(tmp_path, jobs))
    games = {(r["span"], r["load"]) for r in rows}
    assert len(games) == 6
    for game in games:
        waits = {r["order"]: r["longestWait"] for r in rows if (r["span"], r["load"]) == game}
        assert 0 < waits.pop("no order waits less") <= min(waits.values()), (game, waits)


def test_tenants_need_the_column(tmp_path):
    folder = philly(tmp_path, "")
    (folder / "philly" / "vc.csv").write_text("submit_s,duration_s,gpus\n1,2,3\n")
    assert "tenant" in reproduce("tenants", "--data", folder, status=2).stderr
