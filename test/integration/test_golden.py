"""Golden files of the wire: bodies as kube-scheduler sends them, replies byte by byte."""
import json

import pytest

from sliced_daemon import GOLDEN, WIRE

CASES = sorted(p.stem for p in WIRE.glob("*.json") if not p.name.endswith(".reply.json"))


@pytest.mark.parametrize("case", CASES)
def test_reply_is_as_recorded(start, case):
    daemon = start(GOLDEN)
    verb = case.rsplit("-", 1)[1]
    reply = daemon.post(f"/scheduler/{verb}", (WIRE / f"{case}.json").read_bytes())
    assert reply.status == 200
    assert reply.headers["content-type"] == "application/json"
    assert int(reply.headers["content-length"]) == len(reply.body)
    assert reply.body == (WIRE / f"{case}.reply.json").read_bytes()


@pytest.mark.parametrize("case", CASES)
def test_reply_has_the_field_names_of_the_wire_types(case):
    fields = {
        "filter": {"Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes", "Error"},
        "bind": {"Error"},
        "preempt": {"NodeNameToMetaVictims"},
    }
    reply = json.loads((WIRE / f"{case}.reply.json").read_bytes())
    verb = case.rsplit("-", 1)[1]
    if verb == "prioritize":
        assert all(set(row) == {"Host", "Score"} for row in reply)
    else:
        assert set(reply) == fields[verb]
