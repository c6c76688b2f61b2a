"""The rules for Prometheus: each alert fires on what it is for, and on nothing else. Played by promtool, in
virtual time."""

import os
import re
import subprocess

import pytest
import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RULES = os.path.join(ROOT, "deploy/chart/sliced/rules.yaml")

# What a healthy installation of two replicas shows for three hours, a minute apart.
HEALTHY = {
    'sliced_build_info{pod="a"}': "1x200",
    'sliced_leader{pod="a"}': "1x200",
    'sliced_leader{pod="b"}': "0x200",
    'sliced_reflector_last_news_timestamp_seconds{pod="a",resource="nodes"}': "0+60x200",
    'sliced_synced{pod="a"}': "1x200",
    'sliced_synced{pod="b"}': "0x4 1x196",
    'sliced_kube_requests_total{pod="a"}': "0+100x200",
    'sliced_kube_request_failures_total{pod="a"}': "0+10x200",
    'sliced_http_requests_total{pod="a",verb="filter",code="200"}': "0+300x200",
    'sliced_http_requests_total{pod="a",verb="bind",code="200"}': "0+100x200",
    'sliced_queue_scheduler_silent_seconds{pod="a"}': "0x200",
    'sliced_queue_nominations_total{pod="a",kind="in_turn"}': "0+9x200",
    'sliced_queue_nominations_total{pod="a",kind="backfilled"}': "0+1x200",
    'sliced_queue_nominations_ended_total{pod="a",outcome="bound"}': "0+9.4x200",
    'sliced_queue_nominations_ended_total{pod="a",outcome="bound_elsewhere"}': "0+0.5x200",
    'sliced_queue_nominations_ended_total{pod="a",outcome="expired"}': "0+0.1x200",
    'sliced_tenant_pods{pod="a",tenant="a",resource="nvidia.com/gpu",state="due"}': "3x200",
    'sliced_tenant_pods{pod="a",tenant="a",resource="nvidia.com/gpu",state="overdue"}': "0x60 1x10 0x130",
    'sliced_queue_releases_total{pod="a",outcome="released"}': "0+10x200",
    'sliced_queue_releases_total{pod="a",outcome="failed"}': "1x200",
    'sliced_queue_releases_total{pod="a",outcome="refused"}': "0+0.1x200",
    'sliced_bindings_total{pod="a",outcome="unknown"}': "2x200",
    'sliced_ledger_events_total{pod="a",event="expired"}': "0x200",
    'sliced_cluster_nodes_overcommitted{pod="a"}': "0x200",
    'sliced_tls_certificate_not_after_timestamp_seconds{pod="a"}': "2000000x200",
    'sliced_tls_client_certificate_not_after_timestamp_seconds{pod="a"}': "2000000x200",
    'sliced_tls_client_certificate_not_after_timestamp_seconds{pod="b"}': "1000x200",
    'sliced_config_reloads_total{pod="a",outcome="failed"}': "0x200",
    'sliced_tls_reloads_total{pod="a",outcome="failed"}': "0x200",
    'sliced_log_lines_lost_total{pod="a"}': "1x200",
    'sliced_checks_failed_total{pod="a"}': "0x200",
    'sliced_limit_hits_total{pod="a",limit="connections"}': "3x200",
    'sliced_verb_duration_seconds_bucket{pod="a",verb="filter",le="0.1"}': "0+100x200",
    'sliced_verb_duration_seconds_bucket{pod="a",verb="filter",le="5"}': "0+100x200",
    'sliced_verb_duration_seconds_bucket{pod="a",verb="filter",le="+Inf"}': "0+100x200",
    'sliced_partition_cuts_total{pod="a",outcome="Done"}': "0+1x200",
    'sliced_partition_cuts_total{pod="a",outcome="Failed"}': "0x60 1x140",
    'sliced_partition_gpus{pod="a",state="LeftOut"}': "0x200",
    'sliced_telemetry_last_answer_timestamp_seconds{pod="a"}': "0+60x200",
    'sliced_telemetry_last_answer_timestamp_seconds{pod="b"}': "0x200",
    'sliced_telemetry_units{pod="a",state="Good"}': "100x200",
    'sliced_telemetry_units{pod="a",state="Stale"}': "2x200",
    'sliced_telemetry_units{pod="b",state="Good"}': "100x200",
    'sliced_telemetry_strangers_total{pod="a"}': "0+1x200",
}

# Each alert, what is otherwise than in health, and the minute in which it fires for the first time at the
# latest. None: there is no such series.
ALERTS = {
    "SlicedAbsent": ({'sliced_build_info{pod="a"}': None}, 6),
    "SlicedNoLeader": ({'sliced_leader{pod="a"}': "1x60 0x140"}, 63),
    "SlicedManyLeaders": ({'sliced_leader{pod="b"}': "0x60 1x140"}, 63),
    "SlicedNewsOld": ({
        'sliced_reflector_last_news_timestamp_seconds{pod="a",resource="nodes"}': "0+60x60 3600x140"}, 65),
    "SlicedNotInSync": ({'sliced_synced{pod="b"}': "1x60 0x140"}, 67),
    "SlicedApiCallsFail": ({'sliced_kube_request_failures_total{pod="a"}': "0+60x200"}, 12),
    "SlicedTriedInVain": ({'sliced_http_requests_total{pod="a",verb="filter",code="200"}': "0+3000x200"}, 45),
    "SlicedSchedulerSilent": ({'sliced_queue_scheduler_silent_seconds{pod="a"}': "0x60 15+60x140"}, 63),
    "SlicedNominationsExpire": ({
        'sliced_queue_nominations_ended_total{pod="a",outcome="expired"}': "0+2x200"}, 45),
    "SlicedTenantOverdue": ({
        'sliced_tenant_pods{pod="a",tenant="a",resource="nvidia.com/gpu",state="overdue"}': "0x60 1x140"}, 77),
    "SlicedPlacedElsewhere": ({
        'sliced_queue_nominations_ended_total{pod="a",outcome="bound_elsewhere"}': "0+2x200"}, 75),
    "SlicedReleasesFail": ({'sliced_queue_releases_total{pod="a",outcome="failed"}': "0+1x200"}, 20),
    "SlicedReleasesRefused": ({'sliced_queue_releases_total{pod="a",outcome="refused"}': "0+1x200"}, 45),
    "SlicedBindingsUnknown": ({'sliced_bindings_total{pod="a",outcome="unknown"}': "0x60 1x140"}, 62),
    "SlicedReservationsExpire": ({'sliced_ledger_events_total{pod="a",event="expired"}': "0x60 1x140"}, 62),
    "SlicedNodesOvercommitted": ({'sliced_cluster_nodes_overcommitted{pod="a"}': "0x60 1x140"}, 67),
    "SlicedCertificateEnds": ({'sliced_tls_certificate_not_after_timestamp_seconds{pod="a"}': "600000x200"}, 12),
    "SlicedSchedulerCertificateEnds": (
        {'sliced_tls_client_certificate_not_after_timestamp_seconds{pod="a"}': "600000x200"}, 12),
    "SlicedFilesWrong": ({'sliced_tls_reloads_total{pod="a",outcome="failed"}': "0x60 1x140"}, 62),
    "SlicedLogLost": ({'sliced_log_lines_lost_total{pod="a"}': "0x60 1x140"}, 62),
    "SlicedCheckFailed": ({'sliced_checks_failed_total{pod="a"}': "0x60 1x140"}, 62),
    "SlicedLimitHit": ({'sliced_limit_hits_total{pod="a",limit="connections"}': "0x60 0+1x140"}, 68),
    "SlicedVerbSlow": ({
        'sliced_verb_duration_seconds_bucket{pod="a",verb="filter",le="0.1"}': "0+90x200"}, 20),
    "SlicedCutsFail": ({'sliced_partition_cuts_total{pod="a",outcome="Failed"}': "0x60 1x10 2x130"}, 75),
    "SlicedGpusLeftOut": ({'sliced_partition_gpus{pod="a",state="LeftOut"}': "0x60 8x140"}, 122),
    "SlicedTelemetrySilent": ({
        'sliced_telemetry_last_answer_timestamp_seconds{pod="a"}': "0+60x60 3600x140"}, 67),
    "SlicedTelemetryStale": ({'sliced_telemetry_units{pod="a",state="Stale"}': "0x60 20x140"}, 72),
    "SlicedTelemetryOfStrangers": ({
        **{f'sliced_telemetry_units{{{rest}}}': None for rest in (
            'pod="a",state="Good"', 'pod="b",state="Good"')},
        'sliced_telemetry_units{pod="a",state="Stale"}': "0x200"}, 25),
}


def series(changes):
    told = {**HEALTHY, **changes}
    return [{"series": name.replace("{", '{namespace="sliced-system",'), "values": values}
            for name, values in told.items() if values is not None]


def firing(pattern, minute, alerts):
    """A question of promtool: are just these alerts firing in that minute?"""
    return {"expr": f'count by (alertname) (ALERTS{{alertname=~"{pattern}",alertstate="firing"}})',
            "eval_time": f"{minute}m",
            "exp_samples": [{"labels": f'{{alertname="{each}"}}', "value": 1} for each in alerts]}


def play(folder, tests):
    path = folder / "tests.yaml"
    path.write_text(yaml.safe_dump({"rule_files": [RULES], "evaluation_interval": "1m", "tests": [
        {"interval": "1m", **each} for each in tests]}), encoding="utf-8")
    done = subprocess.run(["promtool", "test", "rules", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]


@pytest.fixture(scope="module")
def rules():
    with open(RULES, encoding="utf-8") as file:
        return [rule for group in yaml.safe_load(file)["groups"] for rule in group["rules"]]


def test_the_rules_are_right_for_prometheus():
    subprocess.run(["promtool", "check", "rules", "--lint-fatal", RULES], check=True, capture_output=True)


def test_in_health_nothing_fires(tmp_path):
    play(tmp_path, [{"input_series": series({}), "promql_expr_test": [
        firing(".*", minute, []) for minute in range(0, 200, 10)]}])


def test_each_alert_fires_alone_on_what_it_is_for(rules, tmp_path):
    assert {each["alert"] for each in rules if "alert" in each} == set(ALERTS)
    play(tmp_path, [{"name": name, "input_series": series(changes), "promql_expr_test": [
        firing(name, 0, []), firing(".*", minute, [name])]}
        for name, (changes, minute) in ALERTS.items()])


def test_a_summary_says_what_was_seen(tmp_path):
    play(tmp_path, [{"input_series": series(ALERTS["SlicedGpusLeftOut"][0]), "alert_rule_test": [{
        "alertname": "SlicedGpusLeftOut", "eval_time": "130m", "exp_alerts": [{
            "exp_labels": {"severity": "warning", "namespace": "sliced-system"},
            "exp_annotations": {
                "summary": "8 GPUs have been left out of cutting for an hour.",
                "description": "Cuts of their nodes failed again and again: GET /api/v1/partitions?output=table "
                               "says why."}}]}]}])


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def test_every_metric_of_a_rule_is_one_of_the_daemon(rules):
    known = set(re.findall(r"^\| `(\w+)` \|", read("docs/metrics.md"), re.M))
    assert len(known) > 50
    for rule in rules:
        for name in re.findall(r"\bsliced_\w+", rule["expr"]):
            assert re.sub(r"_(bucket|sum|count)$", "", name) in known or name in known, rule


def test_the_page_for_operators_tells_of_every_alert(rules):
    told = re.findall(r"^\| `(Sliced\w+)` \|", read("docs/operations.md"), re.M)
    assert told == [each["alert"] for each in rules if "alert" in each]


def test_there_is_an_alert_for_each_metric_that_is_to_be_watched(rules):
    """Those that the page for operators names, and those of which their own meaning says that they alarm. "How it is"
    lists what there is to read, whether or not it is to be watched."""
    alarms = re.findall(r"^\| `(\w+)` \|.* is an alarm[. ]", read("docs/metrics.md"), re.M)
    page = re.sub(r"^## How it is\n.*?(?=^## )", "", read("docs/operations.md"), flags=re.M | re.S)
    told = set(re.findall(r"`(sliced_[a-z_]*[a-z])", page)) | set(alarms)
    assert len(alarms) >= 3 and len(told) > 8
    told.remove("sliced_http_buffered_bytes")  # SlicedLimitHit tells when they are too many
    told.discard("sliced_log_lines_left_out_total")  # a user's own doing, which harms nobody else
    exprs = " ".join(each["expr"] for each in rules)
    assert {each for each in told if each not in exprs} == set()
